"""Lazy dataclasses: `record` is `dataclasses.dataclass` whose methods are compiled on first use.

``dataclasses.dataclass`` compiles six methods for each class when the class is defined. A process
whose kernels are already in the disk cache would spend most of its first call on methods that it
never calls. Here ``__init__`` is compiled after the first `UNCOMPILED_CALLS` objects of a class:
most classes have fewer in such a process, and compiling it takes as long as making 15 objects
without. The other methods are shared by all classes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["UNCOMPILED_CALLS", "construction", "record", "replace"]

UNCOMPILED_CALLS = 16
"""How many objects of a class are made before its ``__init__`` is compiled."""

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace
else:
    def replace(obj, /, **changes):
        """As ``dataclasses.replace``, but faster, by a function that is compiled once for each
        class: most of the nodes that passes make are made here.
        """
        cls = type(obj)
        copier = _COPIERS.get(cls) or _COPIERS.setdefault(cls, _copier(cls))
        return copier(obj, **changes)

    def record(cls=None, /, **options):
        """`cls` as a dataclass. ``frozen`` is checked by the type checker only, not at run time."""
        return _record(cls, **options) if cls else lambda cls: _record(cls, **options)


def _record(
    cls: type, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> type:
    """`cls` as a dataclass with these options of ``dataclasses.dataclass``."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # dataclass would build a slow one
    dataclass_: Any = _with_fields(cls, kw_only)
    if slots:
        dataclass_ = _slotted(dataclass_)
    calls = count()

    def first_init(self: object, *args: object, **named: object) -> None:
        """The ``__init__`` of the first objects. It replaces itself by the compiled one, which also
        tells what is wrong with arguments that do not fit.
        """
        if next(calls) >= UNCOMPILED_CALLS or not _set_fields(dataclass_, self, args, named):
            dataclass_.__init__ = _init(dataclass_)
            dataclass_.__init__(self, *args, **named)

    dataclass_.__init__ = first_init
    if "__repr__" not in vars(dataclass_):
        dataclass_.__repr__ = _repr
    if eq:
        _compare(dataclass_, frozen)
        if not frozen:
            dataclass_.__hash__ = None
    return dataclass_  # type: ignore[no-any-return]


_NO_FIELDS = "ClassVar", "InitVar", "KW_ONLY"
"""What annotates names in a dataclass that are no fields of its objects."""


def _with_fields(cls: type, kw_only: bool) -> type:
    """`cls` as a dataclass without any method. ``dataclass`` compares each annotation that is text
    with three regular expressions, to find `_NO_FIELDS`; so it gets texts only where one of these
    is named, which halves its time. Each field has its own annotation afterwards.
    """
    annotations = vars(cls).get("__annotations__", {})
    if annotations:  # no fields; or lazy ones (PEP 649), which are no texts
        cls.__annotations__ = {
            name: object if type(kind) is str and not any(n in kind for n in _NO_FIELDS) else kind
            for name, kind in annotations.items()
        }
    dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    if annotations:
        cls.__annotations__ = annotations
    known: Mapping[str, Field[Any]] = vars(cls)["__dataclass_fields__"]
    for name, kind in annotations.items():
        if name in known:
            known[name].type = kind
    return cls


_CACHES = "_hash", "_kept"


def _slotted(cls: Any) -> Any:
    """`cls` with a slot for each field, and two for caches of an immutable object.

    ``_hash`` caches its hash, ``_kept`` is used by `ir_traversal.memoized_per_node`; both are None
    in a new object, since to find a slot unset costs an exception. Neither is compared or printed,
    and a pickled object or copy has new ones.
    """
    names = [f.name for f in fields(cls)]
    left_out = {*names, "__dict__", "__weakref__"}
    body = {k: v for k, v in vars(cls).items() if k not in left_out}
    inherited = {name for base in cls.__mro__[1:] for name in vars(base).get("__slots__", ())}
    body["__slots__"] = tuple(name for name in (*names, *_CACHES) if name not in inherited)
    body["__getstate__"] = lambda self: (
        None, {**{name: getattr(self, name) for name in names}, **dict.fromkeys(_CACHES)}
    )
    slotted = type(cls)(cls.__name__, cls.__bases__, body)
    slotted.__qualname__ = cls.__qualname__
    return slotted


def _set_fields(cls: Any, made: Any, args: tuple[object, ...], named: dict[str, Any]) -> bool:
    """Set the fields of `made`, a new object of `cls`, as the compiled ``__init__`` does with these
    arguments; False where these do not fit.
    """
    at, used = 0, 0
    for f in fields(cls):
        if not f.init:
            continue
        name = f.name
        if not f.kw_only and at < len(args):
            value, at = args[at], at + 1
            if name in named:
                return False
        elif name in named:
            value, used = named[name], used + 1
        elif f.default is not MISSING:
            value = f.default
        elif f.default_factory is not MISSING:
            value = f.default_factory()
        else:
            return False
        setattr(made, name, value)
    if at < len(args) or used < len(named):
        return False
    if hasattr(cls, "_kept"):
        made._hash = made._kept = None
    if hasattr(cls, "__post_init__"):
        made.__post_init__()
    return True


def _init(cls: Any) -> Any:
    """The compiled ``__init__``: sets each field from a parameter, its default or its factory."""
    names: dict[str, object] = {"MISSING": MISSING}
    positional, keywords, body = ["self"], list[str](), list[str]()
    for f in fields(cls):
        if not f.init:
            continue
        parameter, value = f.name, f.name
        if f.default_factory is not MISSING:
            parameter += "=MISSING"
            names[f"make_{f.name}"] = f.default_factory
            value = f"make_{f.name}() if {f.name} is MISSING else {f.name}"
        elif f.default is not MISSING:
            parameter += f"=default_{f.name}"
            names[f"default_{f.name}"] = f.default
        (keywords if f.kw_only else positional).append(parameter)
        body.append(f"self.{f.name} = {value}")
    if hasattr(cls, "_kept"):
        body.append("self._hash = self._kept = None")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*positional, "*", *keywords] if keywords else positional)
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names)
    return names["__init__"]


_COPIERS: dict[type, Callable[..., Any]] = {}


def _copier(cls: Any) -> Callable[..., Any]:
    """The compiled ``replace`` of a class. It has a keyword for each field, whose default ``KEPT``
    stands for the value in ``obj``.
    """
    names = [f.name for f in fields(cls) if f.init]
    given = ", ".join(["obj", "/", *(["*"] if names else []), *(f"{n}=KEPT" for n in names)])
    lines = construction(cls, {n: f"obj.{n} if {n} is KEPT else {n}" for n in names})
    found: dict[str, Any] = {"cls": cls, "allocate": object.__new__, "KEPT": MISSING}
    exec(f"def copier({given}):\n " + "\n ".join(lines), found)
    copier: Callable[..., Any] = found["copier"]
    return copier


def construction(cls: Any, values: Mapping[str, str]) -> list[str]:
    """Source lines that make and return an object of `cls`. `values`: the source of the value of
    each field that ``__init__`` takes::

        new = allocate(cls)
        new.op = obj.op if op is KEPT else op
        new._hash = new._kept = None
        return new

    ``__init__``, which would take three times as long, is called only where it does more: for a
    class with ``__post_init__`` or with fields that are no parameters of it. The lines read the
    globals ``cls`` and ``allocate`` (``object.__new__``).
    """
    if hasattr(cls, "__post_init__") or not all(f.init for f in fields(cls)):
        return [f"return cls({', '.join(f'{n}={value}' for n, value in values.items())})"]
    lines = ["new = allocate(cls)", *(f"new.{n} = {value}" for n, value in values.items())]
    if hasattr(cls, "_kept"):
        lines.append("new._hash = new._kept = None")
    return [*lines, "return new"]


def _compare(cls: Any, frozen: bool) -> None:
    """Give `cls` its ``__eq__`` and ``__hash__``."""
    compared = _field_getter(f for f in fields(cls) if f.compare)
    hashed = _field_getter(f for f in fields(cls) if (f.compare if f.hash is None else f.hash))

    def equal(self: object, other: object) -> Any:
        """Whether both have one type and equal fields."""
        if self is other:
            return True
        if type(other) is not cls or type(self) is not cls:
            return NotImplemented
        return compared(self) == compared(other)

    def equal_with_hash(self: Any, other: Any) -> Any:
        """As `equal`. Hashes that were computed already, and differ, tell it at once."""
        if self is other:
            return True
        if type(other) is not cls or type(self) is not cls:
            return NotImplemented
        mine, others = self._hash, other._hash
        if mine != others and mine is not None and others is not None:
            return False
        return bool(compared(self) == compared(other))

    def hash_once(self: Any) -> int:
        """The hash of the fields, cached in the object."""
        value: int | None = self._hash
        if value is None:
            self._hash = value = hash(hashed(self))
        return value

    if frozen and hasattr(cls, "_hash"):
        cls.__eq__, cls.__hash__ = equal_with_hash, hash_once
    else:
        cls.__eq__, cls.__hash__ = equal, lambda self: hash(hashed(self))


def _field_getter(selected: Iterable[Field[Any]]) -> Callable[[object], object]:
    """A function that returns the values of the `selected` fields of an object."""
    names = [f.name for f in selected]
    return attrgetter(*names) if names else lambda _: ()


def _repr(self: Any) -> str:
    """``Name(field=value, …)``"""
    parts = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"
