"""Macro index: macros declare the node types and callees they fire on; a table lookup selects them.

Without an index, each of some hundred macros would be called on each node. `fires_on` declares, at
import, on which nodes a macro can fire. For a node, `MacroIndex.candidates` (which `MacroDriver`
asks) computes a `_Key`: the node's type, the types of some parts, and what it calls. The
macros whose declarations accept the key are cached by the key; of these, each macro whose ``when``
condition also holds is called. An index only saves time: a macro that is left out would have
returned None.

Most macros are imported when they are first called (`lazy_function`): compiling one function needs
few. Until then an index knows the declarations of their row in ``MACROS`` (`declared`), which may
accept more nodes than those of the macro itself.
"""
from __future__ import annotations

import ast
import builtins
import functools
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from loopir.process.lazy_function import LazyFunction

from ..core_nodes import ReplayIf
from ..defining_modules import is_builtin, is_numpys
from .macro_context import Context

__all__ = [
    "ALLOCATOR", "ARRAY_METHOD", "BOUND", "CALLED", "EXPRESSIONS", "METHOD", "NUMPY", "OTHER",
    "UFUNC", "Declaration", "MacroIndex", "declarations_of", "declared", "fires_on",
    "is_declared_callee", "kind_of_callee", "numpy_callees", "on", "other_than",
]

When: TypeAlias = Callable[[Any, Context], object]
"""A further condition on the node and the facts; it must not change anything."""

Callee: TypeAlias = "str | int"
"""What a call calls: ``.name`` for a method, the ``id`` of a declared function, one of the kinds
below, or "" for what no macro declares.
"""

_M = TypeVar("_M", bound=Callable[..., Any])

METHOD, ARRAY_METHOD, CALLED = ".", ".array", "()"
NUMPY, ALLOCATOR, UFUNC, BOUND, OTHER = "numpy", "allocator", "ufunc", "bound", "other"
"""Kinds of callees:

- METHOD: a method of a value of the function, ``v.item``; ARRAY_METHOD: one with a name that a
  method of arrays has, ``x.sum``. A declaration with METHOD means both;
- CALLED: the result of a call, ``f()()``;
- UFUNC: a ufunc of NumPy; ALLOCATOR: `np.empty` and its kin; NUMPY: another function or class of
  NumPy;
- BOUND: a builtin method of a global object, ``rng.random``;
- OTHER: what is none of these, no builtin of Python's, and was not made by ``def``: ``math.sqrt``.
"""

EXPRESSIONS: tuple[type[ast.AST], ...] = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict,
    ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.JoinedStr, ast.Lambda, ast.List, ast.ListComp,
    ast.Name, ast.NamedExpr, ast.Set, ast.SetComp, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple,
    ast.UnaryOp,
)
"""The types of expressions on which macros fire."""

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
"""The fields of each node type that are part of a `_Key`. A list of one item counts as the item."""

_CALL_FIELDS = ("value", "iter")
"""The fields of a statement whose call is the callee of its `_Key`."""


class _Key(NamedTuple):
    """The properties of a node by which macros are selected."""

    kind: type[ast.AST]
    """Its type; ``ast.If`` for a `ReplayIf`."""
    parts: tuple[type[Any], ...]
    """The types of its fields of `_PARTS`, in that order."""
    callee: Callee
    """The declared function or method that it, or its field of `_CALL_FIELDS`, calls; "" if there
    is none."""
    callee_kind: str
    """One of the kinds of callees; "" if there is none."""


class Declaration(NamedTuple):
    """One `fires_on` of a macro. All of its conditions must hold."""

    kinds: frozenset[type[ast.AST]]
    """The node's type is one of these."""
    parts: dict[str, tuple[type[Any], ...]]
    """Each of these fields has one of these types."""
    calls: frozenset[Callee] | None
    """The node, or the ``value`` or ``iter`` of a statement, calls one of these. None: it may call
    anything, or nothing."""
    when: When | None
    """A further condition; None: there is none."""

    def accepts(self, key: _Key) -> bool:
        """Whether a node with that key meets all conditions but ``when``."""
        if key.kind not in self.kinds:
            return False
        if self.calls is not None and self.calls.isdisjoint((key.callee, key.callee_kind)):
            return False
        types_of_parts = dict(zip(_PARTS.get(key.kind, ()), key.parts, strict=True))
        return all(types_of_parts[name] in types for name, types in self.parts.items())


_declared: dict[int, tuple[Callable[..., Any], tuple[Declaration, ...]]] = {}
"""The declarations of each macro, by the macro's ``id``: it need not be hashable. The macro itself
is stored with them, so that the id is not used again.
"""

_functions: dict[int, object] = {}
"""All functions that are declared as callees, by their ``id``."""

_methods: set[str] = set()
"""All ``.name`` that are declared as callees."""


def fires_on(
    *kinds: type[ast.AST], calls: Iterable[object] | None = None, when: When | None = None,
    **parts: type[Any] | tuple[type[Any], ...],
) -> Callable[[_M], _M]:
    """Declares that a macro fires only on nodes of `kinds` that meet all further conditions. If a
    macro has several declarations, it is called on nodes that meet any of them; one without
    declarations is called on every node::

        @fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[np.array])
        @fires_on(ast.Call, calls=[np.array, ".copy"])
        def macro(node, cx): ...

    ``parts``: types of the node's fields; a list of one item counts as the item. ``calls``: what
    must be called, by the node itself or, of a statement, by its ``value`` or ``iter``: one of
    these functions, ``.methods`` or kinds of callees. ``when``: a condition of
    `firing_conditions`. A declaration only saves time: `macro` must return None on all other nodes
    itself, and so must ask what is called (`Context.resolve`, `Context.builtin`). Raises ValueError
    for a field that is not in `_PARTS`.
    """
    declaration = on(*kinds, calls=calls, when=when, **parts)
    return lambda macro: declared(macro, declaration)


def declared(macro: _M, *declarations: Declaration) -> _M:
    """`macro` itself, which now has these declarations besides those that it has."""
    _declared[id(macro)] = macro, (*declarations, *(declarations_of(macro) or ()))
    return macro


def on(
    *kinds: type[ast.AST], calls: Iterable[object] | None = None, when: When | None = None,
    **parts: type[Any] | tuple[type[Any], ...],
) -> Declaration:
    """The declaration of `fires_on` with these arguments."""
    fields = {n: t if isinstance(t, tuple) else (t,) for n, t in parts.items()}
    for kind in kinds:
        unknown = fields.keys() - _PARTS.get(kind, ())
        if unknown:
            raise ValueError(f"{kind.__name__} is not selected by its {', '.join(sorted(unknown))}")
    callees = None
    if calls is not None:
        replaced = _replaced()
        callees = frozenset(_register_callee(replaced.get(id(c), c)) for c in calls)
    if callees and METHOD in callees:
        callees |= {ARRAY_METHOD}
    return Declaration(frozenset(kinds), fields, callees, when)


def declarations_of(macro: Callable[..., Any]) -> tuple[Declaration, ...] | None:
    """The declarations of `macro`; None if it has none, and is called on every node. Of a macro
    that is not imported yet: those of its row.
    """
    if isinstance(macro, LazyFunction) and macro.is_imported:
        return declarations_of(macro.__wrapped__)
    return _declared[id(macro)][1] if id(macro) in _declared else None


def is_declared_callee(function: object) -> bool:
    """Whether a macro fires on calls of `function`. Imports all macros."""
    for macro, _ in [*_declared.values()]:
        inspect.unwrap(macro)
    return function is not None and _functions.get(id(function)) is function


def numpy_callees(names: Iterable[str]) -> list[object]:
    """The callees for ``calls=``, by the `names` of `numpy.call_arguments`: for ``"linalg.norm"``
    the method ``.norm`` and the function ``np.linalg.norm``, for ``".sum"`` the method alone.
    """
    callees: list[object] = []
    for name in names:
        function: Any = np
        for part in name.split("."):
            function = getattr(function, part, None) if part else None
        callees.append("." + name.rpartition(".")[2])
        if function is not None:
            callees.append(function)
    return callees


def other_than(*kinds: type[ast.AST]) -> tuple[type[ast.AST], ...]:
    """The types of expressions except `kinds`."""
    return tuple(k for k in EXPRESSIONS if k not in kinds)


_ORIGINALS = [
    (vars(m), {name: f for name, f in vars(m).items() if callable(f)})
    for m in (np, math, builtins, itertools, functools, operator)
]
"""Modules, and their functions when the compiler was imported. A macro may be imported while a
program has others in their place, as mocks in tests do: it does not fire on these.
"""


def _replaced() -> dict[int, object]:
    """The originals of the functions that are replaced now, by the ``id`` of what is in place."""
    return {
        id(now[name]): f for now, then in _ORIGINALS for name, f in then.items()
        if name in now and now[name] is not f
    }


def _register_callee(callee: object) -> Callee:
    """Adds a function, ``.method`` or kind to those that a `_Key` distinguishes."""
    if isinstance(callee, str):
        _methods.add(callee)
        return callee
    _functions[id(callee)] = callee
    return id(callee)


class MacroIndex:
    """Selects, of a sequence of macros, those that can fire on a node; keeps their order."""

    def __init__(self, macros: Sequence[Callable[..., Any]]) -> None:
        # user macros without declarations come first, and are called on every node
        first_declared = next((k for k, m in enumerate(macros) if declarations_of(m)), len(macros))
        self._on_every_node = (*macros[:first_declared],)
        self._indexed = (*macros[first_declared:],)
        ids = tuple(map(id, self._indexed))
        all_declared = all(map(_declared.__contains__, ids))  # so none is freed, and ids are unique
        self._rows_by_key: dict[_Key, _Rows] = _tables.setdefault(ids, {}) if all_declared else {}

    def candidates(self, node: ast.AST, cx: Context) -> Iterator[Callable[..., Any]]:
        """The macros that may fire on `node`, in the order of ``MACROS``; all others would return
        None. `MacroDriver` calls them in turn, until one fires.

            np.sum(x)   →   the key (Call, callee np.sum)
                        →   array_reduction, reduction_identity, …: 14 of more than 100 macros

        The key is all that declarations depend on but ``when``, so the macros that accept it are
        looked up (`_rows`), and only their ``when`` conditions are evaluated, each at most once for
        a node. User macros without a declaration come first, on every node.
        """
        yield from self._on_every_node
        key = _key(node, cx)
        rows = self._rows_by_key.get(key)
        if rows is None or rows.were_imported():
            rows = self._rows_by_key[key] = _Rows(_rows(self._indexed, key))
        results: dict[When, bool] = {}  # several macros have the same condition
        for macro, conditions in rows:
            if not conditions or _one_holds(conditions, node, cx, results):
                yield macro


def _one_holds(
    conditions: Sequence[When], node: ast.AST, cx: Context, results: dict[When, bool]
) -> bool:
    """Whether one of `conditions` holds for `node`. Those already evaluated for it are in
    `results`, which come first, as they cost nothing; the others are evaluated and added.
    """
    for when in conditions:
        if results.get(when):
            return True
    for when in conditions:
        if when not in results:
            results[when] = holds = bool(when(node, cx))
            if holds:
                return True
    return False


class _Rows(list[tuple[Callable[..., Any], tuple[When, ...]]]):
    """Macros, each with conditions of which one must hold; no conditions: always."""

    def __init__(self, rows: Iterable[tuple[Callable[..., Any], tuple[When, ...]]]) -> None:
        super().__init__(rows)
        lazy = (macro for macro, _ in self if isinstance(macro, LazyFunction))
        self.unknown = [macro for macro in lazy if not macro.is_imported]

    def were_imported(self) -> bool:
        """Whether a macro of these tells more now than when they were selected."""
        return any(macro.is_imported for macro in self.unknown)


_tables: dict[tuple[int, ...], dict[_Key, _Rows]] = {}
"""A cache for the whole process: by the ids of a sequence of declared macros, the rows by key."""


def _rows(
    macros: Collection[Callable[..., Any]], key: _Key
) -> Iterator[tuple[Callable[..., Any], tuple[When, ...]]]:
    """The row of each macro that has no declaration, or one that accepts `key`. If one of those has
    no ``when``, the row has no conditions.
    """
    for macro in macros:
        declarations = declarations_of(macro)
        if declarations is None:
            yield macro, ()
        elif accepting := [d for d in declarations if d.accepts(key)]:
            conditions = tuple(d.when for d in accepting if d.when is not None)
            yield macro, conditions if len(conditions) == len(accepting) else ()


def _key(node: ast.AST, cx: Context) -> _Key:
    """The key of `node`. Of a statement, the callee is that of the call that is its ``value`` or
    ``iter``, if one is.
    """
    kind = ast.If if isinstance(node, ReplayIf) else type(node)
    call = node if isinstance(node, ast.Call) else None
    parts: list[type[Any]] = []
    for name in _PARTS.get(kind, ()):
        part = getattr(node, name)
        if type(part) is list:
            part = part[0] if len(part) == 1 else part
        parts.append(type(part))
        if type(part) is ast.Call and name in _CALL_FIELDS:
            call = part
    callee, callee_kind = ("", "") if call is None else _callee(call.func, cx)
    return _Key(kind, tuple(parts), callee, callee_kind)


def _callee(func: ast.expr, cx: Context) -> tuple[Callee, str]:
    """The declared function or method that a call of `func` calls, "" if it is none; and the kind
    of callee, "" if it is of none.
    """
    value = cx.resolve(func)
    if value is None:
        if isinstance(func, ast.Attribute):
            name = "." + func.attr
            return name if name in _methods else "", kind_of_callee(name)
        return "", CALLED if isinstance(func, ast.Call) else ""
    return id(value) if id(value) in _functions else "", kind_of_callee(value)


_ARRAY_METHODS = frozenset(f".{name}" for kind in (np.ndarray, np.ufunc) for name in dir(kind))
"""The names of methods of arrays, and of ufuncs, as ``.sum``."""


_ALLOCATORS = (
    np.empty, np.zeros, np.ones, np.full,
    np.empty_like, np.zeros_like, np.ones_like, np.full_like,
)


def kind_of_callee(callee: Any) -> str:
    """The kind of a function or ``.method``; "" if it is of none."""
    if isinstance(callee, str):
        return ARRAY_METHOD if callee in _ARRAY_METHODS else METHOD
    if isinstance(callee, np.ufunc):
        return UFUNC
    is_bound = isinstance(callee, (BuiltinFunctionType, MethodType))
    if is_bound and not isinstance(callee.__self__, ModuleType):
        return BOUND
    if is_numpys(callee):
        return ALLOCATOR if any(callee is f for f in _ALLOCATORS) else NUMPY
    return "" if is_builtin(callee) or isinstance(callee, FunctionType) else OTHER
