"""Built calls: a call of a kernel as data, which a package that was built ahead of time has.

`native_call` describes a call as a `CallSpec`, full of objects of one process. A `BuiltCall` is
the same in names: `kernel_units` makes it when a package is built, and `bound_call` makes the
CallSpec again in a process that uses the package, if all names are bound to what they meant then.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record, replace
from targets.abi.native_entry import (
    AT,
    CLASS,
    CODE,
    DEFAULTS,
    ENTRY,
    GLOBALS,
    HAS,
    MEMBER,
    NAMED_DEFAULTS,
    CallSpec,
    DerivedValue,
    NameBinding,
    ParameterList,
    Pointer,
    Program,
    Word,
)
from targets.abi.parameter_specs import ParameterSpec
from targets.abi.sequence_conversion import SequenceSpec, converter_words

from ..runtime.cache.object_descriptions import description
from ..runtime.kernel_call.status_judgement import OnStatus, judged_in_c

__all__ = [
    "BuiltCall", "BuiltName", "BuiltWarning", "NameChanged", "OwnCode", "bound_call", "bound_name",
    "bound_warnings", "built_name", "called", "reached",
]

_OWN = "own"
"""The first item of a description of code or globals of the package's own source."""


class NameChanged(Exception):
    """A name is bound to something else than when the package was built."""


@record(frozen=True, slots=True)
class OwnCode:
    """What is the package's own: the same while it is built, and in a process that uses it."""

    file_of: Callable[[str], str | None]
    """The path in the package of the source file of this name; None if there is none, or its text
    is another one now."""
    wrapper: type
    """The class of what `fuse` returns."""


@record(frozen=True, slots=True)
class BuiltName:
    """A `NameBinding`, without objects."""

    root: str
    steps: tuple[tuple[int, str | int | None], ...]
    is_cell: bool
    """Whether the root is a free variable of the function."""
    fixed: bool
    """Whether the root is one of `_FIXED`, and no name of the program."""
    description: tuple[Any, ...] | None
    """What the steps must lead to; None: anything."""
    wrapper: tuple[tuple[int, str | int | None], ...] | None = None
    """If the steps begin at the function in what `fuse` returned: the steps to that."""


@record(frozen=True, slots=True)
class BuiltWarning:
    """An operation that may warn (`call_plan.StatusSource`)."""

    status: str
    message: str
    line: int
    certain: bool
    guard: int | None
    """The number of the guarded name that leads to the inlined function whose line it is (by
    `called`); None: it is a line of the function itself.
    """
    helper: Any = None
    """That function, in a process that uses the package (`bound_warnings`)."""


@record(frozen=True, slots=True)
class BuiltCall:
    """A call of one kernel: the fields of `CallSpec` that are no objects of one process, the
    specifications of the kernel's parameters (``rows``), and what judges its status.
    """

    rows: tuple[ParameterSpec, ...]
    constants: tuple[tuple[int, Pointer], ...]
    guarded_names: tuple[BuiltName, ...]
    captured: tuple[BuiltName, ...]
    derived: tuple[DerivedValue, ...]
    items: tuple[SequenceSpec | None, ...]
    """For each derived value that is an array of the items of a list, what the items must be."""
    allocated: tuple[int, ...]
    sources: tuple[int, ...]
    program: tuple[Word, ...]
    needs_quiet_state: bool
    written: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    most_copied: int | None
    """The most bytes that are copied before a call; None: nothing is."""
    params: tuple[str, ...]
    in_place: tuple[tuple[str, str], ...]
    rewrites: bool
    strict: tuple[str, ...]
    warnings: tuple[BuiltWarning, ...]
    keeps_gil: bool


def built_name(name: NameBinding, function: FunctionType, own: OwnCode) -> BuiltName | None:
    """`name`, of a call of `function`, without objects; None if what it must be bound to has no
    description.
    """
    described = None
    if name.expected is not None:
        described = _described(name.expected.value, function, own)
        if described is None:
            return None
    in_module = name.wrapper is None
    return BuiltName(
        name.root, name.steps, name.root in function.__code__.co_freevars,
        in_module and name.fixed is not None, described, name.wrapper,
    )


def _described(value: object, function: FunctionType, own: OwnCode) -> tuple[Any, ...] | None:
    """As `description`; but code of the package's own files by its place, the globals of these
    files by the file (those of `function` are the file it is in), and what `fuse` returned by the
    code of the function: the package checks that its source is as it was.
    """
    if isinstance(value, CodeType):
        file = own.file_of(value.co_filename)
        if file is not None:
            return _OWN, file, value.co_name, value.co_firstlineno
    if value is function.__globals__:
        return (_OWN,)
    if issubclass(type(value), own.wrapper):
        wrapped = _described(_wrapped(value).__code__, function, own)
        return (*wrapped, "fused") if wrapped and wrapped[0] == _OWN else None
    described = description(value)
    if described and type(value) is dict and isinstance(path := value.get("__file__"), str):
        file = own.file_of(path)
        return described if file is None else (_OWN, file)
    return described


def _wrapped(value: Any) -> FunctionType:
    """The function in what `fuse` returned."""
    wrapped: FunctionType = value.__wrapped__
    return wrapped


_FIXED: dict[str, object] = {"math": sys.modules.get("math"), "modules": sys.modules, "np": np}


def reached(name: BuiltName, function: FunctionType, end: int | None = None) -> Any:
    """What `name` is bound to in `function` after the steps before `end`; raises NameChanged where
    there is no such object.
    """
    try:
        value = _root(name, function)
        if name.wrapper is not None:
            for kind, key in name.wrapper:
                value = _step(value, kind, key)
            value = value.__wrapped__
        for kind, key in name.steps[:end]:
            value = _step(value, kind, key)
    except (LookupError, AttributeError, ValueError) as error:
        raise NameChanged(name.root) from error
    return value


def _root(name: BuiltName, function: FunctionType) -> Any:
    """The object that the root of `name` is bound to. Raises LookupError and ValueError."""
    if name.fixed:
        return _FIXED[name.root]
    if name.is_cell:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        return cells[name.root].cell_contents
    names = function.__globals__
    return names[name.root] if name.root in names else _builtins(function)[name.root]


def _builtins(function: FunctionType) -> dict[str, Any]:
    """The builtins of a function, as a dict."""
    found: Any = getattr(function, "__builtins__", None)
    return found if isinstance(found, dict) else vars(found)


_OF_FUNCTIONS = {
    CODE: "__code__", GLOBALS: "__globals__", DEFAULTS: "__defaults__",
    NAMED_DEFAULTS: "__kwdefaults__",
}


def _step(value: Any, kind: int, key: str | int | None) -> Any:
    """What one step leads to, as `follow` of values.c. Raises AttributeError and LookupError."""
    if kind == CLASS:
        return type(value)
    if kind in _OF_FUNCTIONS:
        if type(value) is not FunctionType:
            raise LookupError(key)
        return getattr(value, _OF_FUNCTIONS[kind])
    if kind == AT:
        if type(value) is not tuple:
            raise LookupError(key)
        return value[int(key or 0)]
    if kind == MEMBER:
        if type(value) is not ModuleType:
            raise LookupError(key)
        return vars(value)[str(key)]
    assert kind in (ENTRY, HAS)
    if type(value) is not dict:
        raise LookupError(key)
    return value[key] if kind == ENTRY else key in value


def called(name: BuiltName, function: FunctionType, own: OwnCode) -> Any:
    """The function that `name` guards, by its class or by what `fuse` made of it; None for other
    names. Raises NameChanged.
    """
    if name.steps and name.steps[-1][0] == CLASS:
        return reached(name, function, -1)
    value = reached(name, function)
    return _wrapped(value) if issubclass(type(value), own.wrapper) else None


def bound_name(name: BuiltName, function: FunctionType, own: OwnCode) -> NameBinding:
    """The `NameBinding` for `function`. Raises NameChanged if it is bound to something else than
    its description says.
    """
    expected = None
    if name.description is not None:
        value = reached(name, function)
        if _described(value, function, own) != name.description:
            raise NameChanged(name.root)
        expected = Pointer(value)
    if name.wrapper is not None:
        wrapped = Pointer(reached(name, function, 0))
        return NameBinding(name.root, name.steps, None, wrapped, expected)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cell: CellType | None = cells[name.root] if name.is_cell else None
    fixed = Pointer(_FIXED[name.root]) if name.fixed else None
    return NameBinding(name.root, name.steps, cell, fixed, expected)


def bound_warnings(
    call: BuiltCall, function: FunctionType, own: OwnCode
) -> tuple[BuiltWarning, ...]:
    """The operations that may warn, with the functions whose lines they are. Raises NameChanged."""
    return tuple(
        w if w.guard is None
        else replace(w, helper=called(call.guarded_names[w.guard], function, own))
        for w in call.warnings
    )


def bound_call(
    call: BuiltCall, function: FunctionType, python: Callable[..., Any], on_status: OnStatus,
    calls: np.ndarray, silent: np.ndarray, own: OwnCode,
) -> CallSpec:
    """The `CallSpec` of a call of `function`. Raises NameChanged.

    ``python``, ``on_status``, ``calls``, ``silent``: see `CallSpec`; ``own``: what the descriptions
    of names mean.
    """
    parameters, program = ParameterList.of(function), Program()
    assert parameters is not None  # others are not built
    program.words.extend(call.program)
    copying, on_raw_status = judged_in_c(
        call.sources, call.written, call.pairs, call.most_copied or 0, on_status
    )
    derived = [
        value if items is None else replace(value, of=Pointer(converter_words(items)))
        for value, items in zip(call.derived, call.items, strict=True)
    ]
    return CallSpec(
        name=function.__name__,
        parameters=parameters,
        constants=call.constants,
        names=function.__globals__,
        builtins=_builtins(function),
        guarded_names=[bound_name(name, function, own) for name in call.guarded_names],
        captured=[bound_name(name, function, own) for name in call.captured],
        derived=derived,
        allocated=call.allocated,
        sources=call.sources,
        program=program,
        needs_quiet_state=call.needs_quiet_state,
        python=python,
        on_status=on_raw_status,
        copying=None if call.most_copied is None else copying,
        calls=calls,
        capacity=np.zeros(1, np.int64),
        silent=silent,
    )
