"""Value specialization: arguments whose values, not only types, select the code to compile.

Those are axes, steps and other static arguments. Their values are substituted for the names.
"""
from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from ...diagnostics import Refused
from ...numpy.function_table import STATIC_PARAMETERS, function_row
from ...types.value_types import ArgType, ArrayType, Constant, ScalarType, WrappedFunction
from ..ast_names import bound_names, rename_names
from ..ast_walk import copy_tree, display_leaves, walk_nodes
from ..core_nodes import copy_location, fix_missing_locations
from ..name_resolution import Scope
from ..source import Source, read_source
from .fold_branches import fold_branches, literal_source, rank_key

__all__ = ["specialized_parameters", "substitute_values", "value_signature"]

_MAX_CALL_DEPTH = 3
"""Calls of functions in functions."""

_INTERNED_INTS = range(-5, 257)
"""Ints of which Python has one each."""

_NOTHING = frozenset[str]()


def specialized_parameters(function: FunctionType) -> frozenset[str]:
    """The parameters of `function` whose values decide where they are ints or bools: what NumPy's
    functions take as an axis and its like, there or in functions that it calls, and the steps of
    views that it returns.
    """
    return _SpecializedParameters().of(function, _MAX_CALL_DEPTH)


class _SpecializedParameters:
    """Looks at each function once."""

    def __init__(self) -> None:
        self._known: dict[FunctionType, frozenset[str]] = {}

    def of(self, function: FunctionType, deep: int) -> frozenset[str]:
        """The parameters of `function` that decide, in so many calls of functions in functions."""
        if function not in self._known and deep:
            self._known[function] = _NOTHING  # of itself
            try:
                tree = read_source(function).tree
            except Refused:
                return _NOTHING
            self._known[function] = self._within(tree, Scope.of(function), deep)
        return self._known.get(function, _NOTHING)

    def _within(self, tree: ast.FunctionDef, scope: Scope, deep: int) -> frozenset[str]:
        given = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
        local = {s.name: s for s in walk_nodes(*tree.body) if isinstance(s, ast.FunctionDef)}
        places = self._places(tree, scope, local, deep)
        asked = {n.id for e in places for n in walk_nodes(e) if isinstance(n, ast.Name)}
        return frozenset(given & asked)

    def _places(
        self, tree: ast.FunctionDef, scope: Scope, local: Mapping[str, ast.FunctionDef], deep: int
    ) -> Iterator[ast.expr]:
        """Expressions of which the value has to be known."""
        for node in walk_nodes(*tree.body):
            match node:
                case ast.Subscript(value=ast.Attribute(attr="shape"), slice=at):
                    yield at
                case ast.Return(value=ast.expr() as value):
                    views = (e.slice for e in display_leaves(value) if isinstance(e, ast.Subscript))
                    items = (i for at in views for i in (
                        at.elts if isinstance(at, ast.Tuple) else [at]))
                    yield from (i.step for i in items if isinstance(i, ast.Slice) and i.step)
                case ast.Call(func=func, args=args, keywords=keywords):
                    names, wanted = self._called(func, scope, local, deep)
                    yield from (e for n, e in zip(names, args, strict=False) if n in wanted)
                    yield from (k.value for k in keywords if k.arg in wanted)

    def _called(
        self, func: ast.expr, scope: Scope, local: Mapping[str, ast.FunctionDef], deep: int
    ) -> tuple[list[str], frozenset[str]]:
        """The parameters of what is called, and those of them that decide."""
        if isinstance(func, ast.Name) and func.id in local:
            tree = local[func.id]
            names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
            return names, self._within(tree, scope, deep - 1) if deep else _NOTHING
        found: Any = scope.resolve(func)
        found = found.__wrapped__ if isinstance(found, WrappedFunction) else found
        if isinstance(found, FunctionType) and not _is_numpy_function(found):
            code = found.__code__
            return [*code.co_varnames[: code.co_argcount]], self.of(found, deep - 1)
        if isinstance(func, ast.Attribute) and func.attr in ("reduce", "accumulate"):
            return ["array", "axis"], STATIC_PARAMETERS
        method = func.attr if found is None and isinstance(func, ast.Attribute) else ""
        found = vars(np).get(method) if method else found
        if found is None or not _is_numpy_function(found):
            return [], STATIC_PARAMETERS if method else _NOTHING
        row = function_row(found)
        try:
            names = [*inspect.signature(found).parameters]
        except (TypeError, ValueError):
            names = []
        own = row.static.split() if row is not None else ()
        return names[bool(method):], STATIC_PARAMETERS.union(own)


def _is_numpy_function(function: Any) -> bool:
    home = getattr(function, "__module__", None) or type(function).__module__
    return home.partition(".")[0] == "numpy"


def value_signature(
    types: tuple[ArgType, ...], names: tuple[str, ...], values: tuple[object, ...],
    wanted: frozenset[str],
) -> tuple[ArgType, ...]:
    """`types`, with the values of those that decide in the place of the types of ints and bools."""
    known = zip(types, names, values, strict=True)
    return tuple(_value_type(t, v) if n in wanted else t for t, n, v in known)


def _value_type(ty: ArgType, value: object) -> ArgType:
    single = ty == ScalarType("bool", weak=True) or (
        ty == ScalarType("i64", weak=True) and value in _INTERNED_INTS
    )
    return Constant(value, type(value)) if single else ty


def substitute_values(source: Source, types: Mapping[str, ArgType]) -> Source:
    """`source` for the ints and bools among `types` that are known, which stand in the place of
    their names.

        if axis < 0:
            axis += x.ndim
        return np.sum(x, axis=axis)
    → with axis = -1, and x a matrix
        x
        return np.sum(x, axis=1)
    """
    known: dict[str, object] = {
        n: t.value for n, t in types.items()
        if isinstance(t, Constant) and isinstance(t.value, int) and t.kind in (int, bool)
    }
    if not known:
        return source
    tree = copy_tree(source.tree)
    changed = bound_names(*tree.body)
    moved = [
        ast.Assign([ast.Name(n, ast.Store())], literal_source(v))
        for n, v in known.items()
        if n in changed
    ]
    asked = {n.value.id for n in walk_nodes(*tree.body) if isinstance(n, ast.Attribute)
             and n.attr == "ndim" and isinstance(n.value, ast.Name)}
    ranks = {n: t.rank for n, t in types.items() if isinstance(t, ArrayType) and n in asked}
    first: list[ast.stmt] = [*moved, *(ast.Expr(ast.Name(n, ast.Load())) for n in ranks)]
    for node in walk_nodes(*first):
        copy_location(node, tree.body[0])
    fixed = {n: v for n, v in known.items() if n not in changed}
    constants = {**fixed, **{rank_key(n): rank for n, rank in ranks.items()}}
    texts: dict[str, str | ast.expr] = {n: literal_source(v) for n, v in fixed.items()}
    body = [
        rename_names(s, texts) for s in fold_branches([*first, *tree.body], constants)
    ]  # in functions
    tree.body = body or [copy_location(ast.Pass(), tree.body[0])]
    return replace(source, tree=fix_missing_locations(tree))
