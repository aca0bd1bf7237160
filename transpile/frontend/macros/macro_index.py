"""Macro index: macros declare node types and callees; the driver asks only those that can fire."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from ..core_nodes import ReplayIf
from .macro_context import Context

__all__ = [
    "BOUND", "CALLED", "EXPRESSIONS", "METHOD", "UFUNC", "Declared", "Firing", "declared",
    "fires_on", "named", "other_than",
]

When: TypeAlias = Callable[[Any, Context], object]
"""Whether a macro can fire on such a node here; it changes nothing."""

Callee: TypeAlias = "str | int"
"""``.name`` of a method, the id of a function that a macro declares, or a kind of callees."""

_M = TypeVar("_M", bound=Callable[..., Any])

METHOD, CALLED, UFUNC, BOUND = ".", "()", "ufunc", "bound"
"""Kinds of callees: an attribute of what is computed, what a call gives, a ufunc, and a function
that is bound to an object which is no module.
"""

EXPRESSIONS = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict,
    ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.JoinedStr, ast.Lambda, ast.List, ast.ListComp,
    ast.Name, ast.NamedExpr, ast.Set, ast.SetComp, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple,
    ast.UnaryOp,
)

_PARTS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Assign: ("targets", "value"),
    ast.AugAssign: ("target", "op", "value"),
    ast.Delete: ("targets",),
    ast.Expr: ("value",),
    ast.Return: ("value",),
    ast.For: ("iter",),
    ast.If: ("test",),
    ast.While: ("test",),
    ast.Attribute: ("value",),
    ast.BinOp: ("left", "op", "right"),
    ast.BoolOp: (),
    ast.Compare: ("ops", "comparators"),
    ast.IfExp: ("test",),
    ast.ListComp: ("elt",),
    ast.Name: ("ctx",),
    ast.Subscript: ("value", "slice", "ctx"),
    ast.Tuple: ("ctx",),
    ast.UnaryOp: ("op", "operand"),
}
"""The fields of a node whose types tell which macros are asked; of a list, its only item's."""

_CALLING = ("value", "iter")
"""The fields that may hold the call which a macro on a larger node is about."""


class _Key(NamedTuple):
    """What is looked at of a node: its type, the types of parts, and what it calls."""

    kind: type[ast.AST]
    parts: tuple[type[Any], ...]
    callee: Callee
    sort: str


class Declared(NamedTuple):
    """Nodes of one of ``kinds`` whose ``parts`` are of these types, which call one of ``calls``
    (None: anything, or nothing), where ``when`` holds.
    """

    kinds: frozenset[type[ast.AST]]
    parts: dict[str, tuple[type[Any], ...]]
    calls: frozenset[Callee] | None
    when: When | None

    def takes(self, key: _Key) -> bool:
        """Whether nodes with that key are among them."""
        if key.kind not in self.kinds:
            return False
        if self.calls is not None and self.calls.isdisjoint((key.callee, key.sort)):
            return False
        found = dict(zip(_PARTS.get(key.kind, ()), key.parts, strict=True))
        return all(found[name] in types for name, types in self.parts.items())


_declared: dict[int, tuple[Callable[..., Any], tuple[Declared, ...]]] = {}
"""What each macro declares, by its id, for it need not be hashable."""

_functions: dict[int, object] = {}
"""Those that are declared as callees, by their ids."""
_methods: set[str] = set()


def fires_on(
    *kinds: type[ast.AST], calls: Iterable[object] | None = None, when: When | None = None,
    **parts: type[Any] | tuple[type[Any], ...],
) -> Callable[[_M], _M]:
    """Declares that a macro can fire on nodes of `kinds`, and on no others; more than once, on any.

    ``parts``: types of the fields of the node (of a list of one item, that of the item). ``calls``:
    the functions, ``.methods`` and kinds of callees that are called, by the node or by its
    ``value`` or ``iter``. The driver does not ask the macro where none of its declarations holds; a
    macro without any is asked everywhere::

        @fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[np.array])
        @fires_on(ast.Call, calls=[np.array, ".copy"])
        def macro(node, cx): ...

    ``when``: a condition of `firing_conditions`, which is asked before the macro's file is entered.
    """
    fields = {n: t if isinstance(t, tuple) else (t,) for n, t in parts.items()}
    for kind in kinds:
        unknown = fields.keys() - _PARTS.get(kind, ())
        if unknown:
            raise ValueError(f"{kind.__name__} is not told by its {', '.join(sorted(unknown))}")
    callees = None if calls is None else frozenset(map(_noted, calls))

    def declare(macro: _M) -> _M:
        one = Declared(frozenset(kinds), fields, callees, when)
        _declared[id(macro)] = macro, (one, *(declared(macro) or ()))
        return macro

    return declare


def declared(macro: Callable[..., Any]) -> tuple[Declared, ...] | None:
    """What `macro` declares; None where it is asked everywhere."""
    return _declared[id(macro)][1] if id(macro) in _declared else None


def named(names: Iterable[str]) -> list[object]:
    """The callees that `arguments` and its kin know by `names`: of NumPy, and methods."""
    found: list[object] = []
    for name in names:
        function: Any = np
        for part in name.split("."):
            function = getattr(function, part, None) if part else None
        found.append("." + name.rpartition(".")[2])
        if function is not None:
            found.append(function)
    return found


def other_than(*kinds: type[ast.AST]) -> tuple[type[ast.AST], ...]:
    """The types of expressions but for `kinds`."""
    return tuple(k for k in EXPRESSIONS if k not in kinds)


def _noted(callee: object) -> Callee:
    if isinstance(callee, str):
        _methods.add(callee)
        return callee
    _functions[id(callee)] = callee
    return id(callee)


class Firing:
    """Of `macros`, those that can fire on a node, in their order."""

    def __init__(self, macros: Sequence[Callable[..., Any]]) -> None:
        free = next((k for k, m in enumerate(macros) if declared(m)), len(macros))
        self._first, self._rest = (*macros[:free],), (*macros[free:],)
        ids = tuple(map(id, self._rest))
        lasting = all(map(_declared.__contains__, ids))
        self._known: dict[_Key, _Rows] = _tables.setdefault(ids, {}) if lasting else {}

    def asked(self, node: ast.AST, cx: Context) -> Iterator[Callable[..., Any]]:
        """The macros that can fire on `node`; the others would give None."""
        yield from self._first
        key = _key(node, cx)
        rows = self._known.get(key)
        if rows is None:
            rows = self._known[key] = [*_rows(self._rest, key)]
        held: dict[When, object] = {}  # several macros ask the same
        for macro, whens in rows:
            if not whens or any(map(held.get, whens)):
                yield macro
                continue
            for when in whens:
                if when not in held:
                    held[when] = when(node, cx)
                    if held[when]:
                        yield macro
                        break


_Rows: TypeAlias = "list[tuple[Callable[..., Any], tuple[When, ...]]]"

_tables: dict[tuple[int, ...], dict[_Key, _Rows]] = {}
"""Of each sequence of macros, which are all declared and so stay: those to ask, by the key of a
node.
"""


def _rows(
    macros: Collection[Callable[..., Any]], key: _Key
) -> Iterator[tuple[Callable[..., Any], tuple[When, ...]]]:
    for macro in macros:
        every = declared(macro)
        fitting = None if every is None else [d for d in every if d.takes(key)]
        if fitting is None:
            yield macro, ()
        elif fitting:
            whens = tuple(d.when for d in fitting if d.when is not None)
            yield macro, whens if len(whens) == len(fitting) else ()


def _key(node: ast.AST, cx: Context) -> _Key:
    kind = ast.If if isinstance(node, ReplayIf) else type(node)
    call = node if isinstance(node, ast.Call) else None
    parts: list[type[Any]] = []
    for name in _PARTS.get(kind, ()):
        part = getattr(node, name)
        if type(part) is list:
            part = part[0] if len(part) == 1 else part
        parts.append(type(part))
        if type(part) is ast.Call and name in _CALLING:
            call = part
    callee, sort = ("", "") if call is None else _callee(call.func, cx)
    return _Key(kind, tuple(parts), callee, sort)


def _callee(func: ast.expr, cx: Context) -> tuple[Callee, str]:
    """What `func` is, as far as macros declare it, and its kind."""
    value = cx.resolve(func)
    if value is None:
        if isinstance(func, ast.Attribute):
            name = "." + func.attr
            return name if name in _methods else "", METHOD
        return "", CALLED if isinstance(func, ast.Call) else ""
    known: Callee = id(value) if id(value) in _functions else ""
    if isinstance(value, np.ufunc):
        return known, UFUNC
    if isinstance(value, (BuiltinFunctionType, MethodType)):
        return known, "" if isinstance(value.__self__, ModuleType) else BOUND
    return known, ""
