"""Lazy dataclasses: `record` is `dataclasses.dataclass` whose methods are compiled on first use.

``dataclasses.dataclass`` compiles six methods for each class when the class is defined. A process
whose kernels are already in the disk cache would spend most of its first call on methods that it
never calls. Here ``__init__`` is compiled when the first object is created; the other methods are
shared by all classes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["construction", "record", "replace"]

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
    dataclass_: Any = dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    if slots:
        dataclass_ = _slotted(dataclass_)

    def compile_init(self: object, *args: object, **named: object) -> None:
        """The first ``__init__``: it replaces itself by the compiled one."""
        dataclass_.__init__ = _init(dataclass_)
        dataclass_.__init__(self, *args, **named)

    dataclass_.__init__ = compile_init
    if "__repr__" not in vars(dataclass_):
        dataclass_.__repr__ = _repr
    if eq:
        _compare(dataclass_, frozen)
        if not frozen:
            dataclass_.__hash__ = None
    return dataclass_  # type: ignore[no-any-return]


_CACHES = "_hash", "_kept"


def _slotted(cls: Any) -> Any:
    """`cls` with a slot for each field, and two for caches of an immutable object.

    ``_hash`` caches its hash, ``_kept`` is used by `ir_traversal.memoized_per_node`; both are None
    in a new object, since to find a slot unset costs an exception. Neither is compared or printed,
    and a pickled object or copy has new ones.
    """
    names = [f.name for f in fields(cls)]
    body = {k: v for k, v in vars(cls).items() if k not in {*names, "__dict__", "__weakref__"}}
    inherited = {name for base in cls.__mro__[1:] for name in vars(base).get("__slots__", ())}
    body["__slots__"] = tuple(name for name in (*names, *_CACHES) if name not in inherited)
    body["__getstate__"] = lambda self: (
        None, {**{name: getattr(self, name) for name in names}, **dict.fromkeys(_CACHES)}
    )
    slotted = type(cls)(cls.__name__, cls.__bases__, body)
    slotted.__qualname__ = cls.__qualname__
    return slotted


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
