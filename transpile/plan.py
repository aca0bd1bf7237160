"""What lowering hands to dispatch: a kernel, its parameters' sources, and what is returned."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopir.record import record

from .bindings import Binding, Fresh, Slot
from .returned import Returned

if TYPE_CHECKING:
    from loopir.nodes import Kernel

__all__ = ["ALL_BYTES", "FEW_BYTES", "Home", "Plan", "Ref", "Shape", "StatusSource"]

ALL_BYTES = (1 << 63) - 1
FEW_BYTES = 1 << 15
"""What is copied beside its being computed, hardly noticed, whatever is done to it."""


@record(frozen=True, slots=True)
class Ref:
    """A name of the source that must still mean ``value``, by identity: ``np.sqrt``, ``len``."""

    expr: str
    value: object


@record(frozen=True, slots=True)
class Home:
    """``name`` stands for what the Python ``expr`` gives at each call: something that an inlined
    function knows by a name of its own. It may be the state of a ``generator``, in Python, of this
    ``family``. In the end comes what ``after`` says.
    """

    name: str
    expr: str
    generator: str | None = None
    family: str | None = None
    after: str | None = None


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
    ``writes`` are copied before each call. ``copied_up_to``: what the kernel overwrites and reads
    is copied if it is no more bytes, for only Python knows which of several operations warns first,
    or whether any does. ``temporaries``: fresh arrays that do not escape. ``told``: an array in
    which element k + 1 says when ``sources[k]`` raised first, as the how-manieth of them; 0: it did
    not. ``homes``: names that are read before all else, in order. ``short``: the slot that tells
    that a list had too little room; the call is then done again with more. ``typed``: names that
    the function binds, each with the types that it has, in words.
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
    copied_up_to: int = 0
    temporaries: frozenset[str] = frozenset()
    sources: tuple[StatusSource, ...] = ()
    told: str | None = None
    homes: tuple[Home, ...] = ()
    short: str | None = None
    typed: tuple[tuple[str, str], ...] = ()

    @property
    def made(self) -> frozenset[str]:
        """Arrays that the function makes: nobody sees them if a call ends in an exception."""
        return frozenset(b.name for b in self.bindings if isinstance(b, (Fresh, Slot)))

    @property
    def drawn(self) -> frozenset[str]:
        """The parts of the states of random generators."""
        states = {h.name for h in self.homes if h.generator}
        return frozenset(h.name for h in self.homes if h.expr.partition("[")[0] in states)

    @property
    def wordless(self) -> bool:
        """Whether it may warn in words that only Python knows."""
        return any(not s.message for s in self.sources)
