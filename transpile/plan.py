"""What lowering hands to dispatch: a kernel, its parameters' sources, and what is returned."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from loopir.record import record

from .types import ArrayType, ListType, RecordType, ScalarType

if TYPE_CHECKING:
    from loopir.nodes import Kernel

__all__ = [
    "Argument",
    "Binding",
    "Captured",
    "Chosen",
    "Field",
    "Filled",
    "Fresh",
    "Held",
    "Home",
    "Listed",
    "Literal",
    "Nothing",
    "Paired",
    "Part",
    "Plan",
    "Ref",
    "Returned",
    "Same",
    "Shape",
    "Slot",
    "StatusSource",
    "Taken",
    "Tupled",
    "Value",
    "Viewed",
    "Zipped",
    "in_tuple",
    "stored",
]


# -- where the parameter of the same name of the kernel comes from


@record(frozen=True, slots=True)
class Argument:
    """The function's own parameter ``name``."""

    name: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Captured:
    """A global or closure variable ``name``, read at each call under the type it had."""

    name: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Field:
    """``array["at"]["x"]`` of an array of records, a parameter of the function or ``captured``;
    ``path`` are the fields.
    """

    name: str
    array: str
    path: tuple[str, ...]
    type: ArrayType
    of: RecordType
    captured: bool = False


@record(frozen=True, slots=True)
class Held:
    """What an object holds that is an argument; ``text`` is Python that reads it."""

    name: str
    text: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Taken:
    """An array of what the list ``text`` holds at each call, a parameter of the function or
    ``captured``. What the kernel writes into it is put back into the list.
    """

    name: str
    text: str
    type: ListType
    captured: bool = False


@record(frozen=True, slots=True)
class Part:
    """The ``part`` (``"real"`` or ``"imag"``) of a complex number of this type."""

    name: str
    of: Argument | Captured
    part: str
    type: ScalarType


@record(frozen=True, slots=True)
class Fresh:
    """An array made for this call by ``expr``: Python source over the function's parameters and
    globals, ``_np`` being NumPy, ``_max`` and ``_min`` Python's own.
    """

    name: str
    expr: str
    type: ArrayType


@record(frozen=True, slots=True)
class Slot:
    """A rank-0 array that receives a scalar result."""

    name: str
    dtype: str


Binding: TypeAlias = Argument | Captured | Field | Held | Taken | Part | Fresh | Slot


# -- what the call returns


@record(frozen=True, slots=True)
class Nothing:
    """None."""


@record(frozen=True, slots=True)
class Literal:
    """A constant of the source."""

    value: object


@record(frozen=True, slots=True)
class Same:
    """The very object bound to ``name`` (argument, captured or fresh)."""

    name: str


@record(frozen=True, slots=True)
class Viewed:
    """A view of the array bound to ``name``. ``steps`` are those along each of its axes, None where
    the view is at one subscript of it; ``axes`` are the view's in order, each as the how-manieth of
    those, None for a new one. ``numbers``: for each axis of the array the subscript, or the first
    one and the length; what is no constant is in an i64 slot.
    """

    name: str
    steps: tuple[int | None, ...]
    axes: tuple[int | None, ...]
    numbers: tuple[int | str, ...]


@record(frozen=True, slots=True)
class Value:
    """The scalar in ``slot``: a NumPy scalar, or a Python one where ``weak``.

    With ``flag``, another (bool) slot decides: true means a Python scalar of dtype ``weak_dtype``,
    false a NumPy one of ``dtype``; the slot's own dtype holds both exactly.
    """

    slot: str
    weak: bool = False
    flag: str | None = None
    weak_dtype: str | None = None
    dtype: str | None = None


@record(frozen=True, slots=True)
class Paired:
    """The complex number of two scalars; ``re`` alone where ``im`` is an int."""

    re: Returned
    im: Returned


@record(frozen=True, slots=True)
class Listed:
    """A list of the first ``count`` elements (an i64 slot; all when None) of the fresh rank-1 array
    ``name``: NumPy scalars, or Python ones where ``weak``; with ``flags``, a bool array, Python
    ones of dtype ``weak_dtype`` where it holds.
    """

    name: str
    count: str | None = None
    weak: bool = False
    flags: str | None = None
    weak_dtype: str | None = None


@record(frozen=True, slots=True)
class Zipped:
    """A list of tuples of the elements of lists."""

    items: tuple[Listed, ...]


@record(frozen=True, slots=True)
class Filled:
    """``np.array`` of that list: the fresh array itself, shrunk to ``count``; float64 when empty,
    as np.array([]) is, unless ``dtype`` was given.
    """

    name: str
    count: str | None = None
    dtype: str | None = None


@record(frozen=True, slots=True)
class Tupled:
    """A tuple, a list, or what a class or a function makes that is called with the results."""

    items: tuple[Returned, ...]
    display: Callable[..., Any] = tuple


def in_tuple(items: list[Any]) -> tuple[Any, ...]:
    """What a list holds."""
    return tuple(items)


def stored(returned: Any, *settings: Any) -> Any:
    """`returned`, after objects have been set attributes: threes of object, name and value."""
    for k in range(0, len(settings), 3):
        setattr(settings[k], settings[k + 1], settings[k + 2])
    return returned


@record(frozen=True, slots=True)
class Chosen:
    """``then`` where the bool slot ``flag`` is true, else ``orelse``."""

    flag: str
    then: Returned
    orelse: Returned


Returned: TypeAlias = (
    Nothing | Literal | Same | Viewed | Value | Paired | Listed | Zipped | Filled | Tupled | Chosen
)


@record(frozen=True, slots=True)
class Ref:
    """A name of the source that must still mean ``value``, by identity: ``np.sqrt``, ``len``."""

    expr: str
    value: object


@record(frozen=True, slots=True)
class Home:
    """``name`` stands for what the Python ``expr`` gives at each call: something that an inlined
    function knows by a name of its own.
    """

    name: str
    expr: str


@record(frozen=True, slots=True)
class Shape:
    """An argument, or what it holds, must be of this very class; a tuple of so many items."""

    expr: str
    kind: type
    length: int | None = None


@record(frozen=True, slots=True)
class StatusSource:
    """An operation that may raise the class ``status`` of np.errstate, with NumPy's message and the
    line it stands on. Not ``certain``: it may not be raised when Python does the same, in order.
    Without a message only Python can tell what it says, if anything. ``of``: the function whose
    line it is, if that is another. ``place``: as `places.place_of` has it.
    """

    status: str
    message: str
    line: int
    certain: bool = True
    place: int = 0
    of: Any = None


@record(frozen=True, slots=True)
class Plan:
    """A compiled region's contract with its caller.

    ``kernel.params`` and ``bindings`` correspond one to one, by name. ``given``: arguments that
    must be these constants, or equal; ``objects``: what must be of these classes. ``writes``:
    parameters of the caller (arguments, captured) that the kernel writes. ``rewrites``: some of
    those are also read, so the original cannot be run again after the kernel unless they are
    restored. ``snapshot``: Python may have to take over after the kernel has written, so the
    ``writes`` are copied before each call. ``risky``: only Python knows which of several operations
    warns first, and copies cost little: they are made where the kernel overwrites what it reads.
    ``temporaries``: fresh arrays that do not escape. ``told``: an array in which element k + 1 says
    when ``sources[k]`` raised first, as the how-manieth of them; 0: it did not. ``homes``: names
    that are read before all else, in order. ``short``: the slot that tells that a list had too
    little room; the call is then done again with more.
    """

    kernel: Kernel
    bindings: tuple[Binding, ...]
    returned: Returned
    refs: tuple[Ref, ...] = ()
    given: tuple[Ref, ...] = ()
    objects: tuple[Shape, ...] = ()
    writes: tuple[str, ...] = ()
    rewrites: bool = False
    snapshot: bool = False
    risky: bool = False
    temporaries: frozenset[str] = frozenset()
    sources: tuple[StatusSource, ...] = ()
    told: str | None = None
    homes: tuple[Home, ...] = ()
    short: str | None = None

    @property
    def wordless(self) -> bool:
        """Whether it may warn in words that only Python knows."""
        return any(not s.message for s in self.sources)
