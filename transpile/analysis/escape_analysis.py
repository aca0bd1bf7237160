"""Escape analysis of arrays: whether a name is the only reference to its array.

An array whose only reference is bound again is free: its memory can be used for the next one.
Syntactic and flow-insensitive: each occurrence of the name is judged by its parent nodes::

    t = x * 2.0          # binds a new array
    s += t.sum()         # reads it and retains nothing: still the only reference
    views.append(t)      # retains it: `t` is not the only reference any more

`Facts.is_sole_reference` asks it for the macros. Which names may refer to one array is the question
of `alias_analysis`; lists have their own analysis, `list_escapes`.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection

import numpy as np

from ..frontend.ast_names import binding_pairs, bound_names, declared_outer
from ..frontend.ast_walk import child_nodes, walk_nodes
from ..frontend.defining_modules import is_numpy_function
from ..frontend.name_resolution import is_one_of
from ..numpy.function_table import function_row, method_row
from .alias_analysis import AliasAnalysis

__all__ = ["EscapeAnalysis"]

_METADATA = frozenset({"shape", "size", "ndim", "dtype", "itemsize", "nbytes"})
"""Attributes of an array that share no memory with it."""

_VIEWS = frozenset({"T", "real", "imag", "flat"})
"""Attributes that are views."""

_BUILTINS = (abs, len, sum, min, max, float, int, sorted, list, tuple, all, any)
"""Builtins that read their argument and retain nothing of it but its items."""

_ITERATORS = (enumerate, zip, reversed)
"""Builtins whose result retains their arguments."""


class EscapeAnalysis:
    """Which arrays that have a name in `tree` may have another reference, too.

    ``resolve``: what a name or attribute means outside of the function; None: unknown or local.
    ``arrays``: the parameters that are arrays. ``sliced``: whether the ``i`` of ``x[i]`` may be a
    slice object, as parameters of unknown type exist.
    """

    def __init__(
        self, tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None],
        arrays: Collection[str], sliced: bool,
    ) -> None:
        self._resolve = resolve
        self._aliases = AliasAnalysis(tree, resolve)
        self._parent = {c: n for n in walk_nodes(tree) for c in child_nodes(n)}
        self._array_parameters = arrays
        self._not_local = {a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)}
        self._not_local |= declared_outer(tree)
        self._may_have_slices = sliced or any(map(_is_slice_maker, walk_nodes(tree)))
        self._occurrences: dict[str, list[ast.Name]] = {}
        for n in walk_nodes(tree):
            if isinstance(n, ast.Name):
                self._occurrences.setdefault(n.id, []).append(n)
        self._sole: dict[tuple[str, int], bool] = {}  # answers of `is_sole_reference`

    def is_sole_reference(self, name: str, rank: int) -> bool:
        """Whether the local `name`, of arrays of that rank, is the only reference to its array, or
        to a part of it, whenever it is bound again. Then the new array can be stored in the memory
        of the old one, as in ``t = a + t`` in a loop. Proved if

        - `name` is bound, and is neither a parameter nor a name of an outer or inner function;
        - each binding binds a new array (`_binds_new`): else another name may have the array, too;
        - no read of it is retained (`_is_transient`).

        Asked through `Facts.is_sole_reference`, by the macros for whole-array operations.
        """
        if (name, rank) not in self._sole:
            occurrences = self._occurrences.get(name, [])
            is_bound = any(isinstance(n.ctx, ast.Store) for n in occurrences)
            self._sole[name, rank] = is_bound and name not in self._not_local and all(
                self._is_transient(n, rank) if isinstance(n.ctx, ast.Load) else self._binds_new(n)
                for n in occurrences
            )
        return self._sole[name, rank]

    def _assigned_value(self, n: ast.Name) -> ast.expr | None:
        """The value that an assignment with one target, or with a tuple of targets and one of
        values, binds to the target `n`; None for other bindings.
        """
        parent = self._parent[n]
        assignment = self._parent[parent] if isinstance(parent, ast.Tuple) else parent
        if not isinstance(assignment, ast.Assign) or len(assignment.targets) > 1:
            return None
        return next((value for target, value in binding_pairs(assignment) if target is n), None)

    def _binds_new(self, n: ast.Name) -> bool:
        """Whether the target `n` gets an array that has no other name; ``+=`` keeps the array."""
        value = self._assigned_value(n)
        augmented = isinstance(self._parent[n], ast.AugAssign)
        return augmented or (value is not None and self._aliases.is_new(value))

    def _is_array(self, name: str) -> bool:
        """Whether `name` is an array wherever it is bound, and no list, which would retain what is
        stored into it.
        """
        targets = [n for n in self._occurrences[name] if isinstance(n.ctx, ast.Store)]
        if not targets:
            return name in self._array_parameters
        return all(map(self._binds_numpy_result, targets))

    def _binds_numpy_result(self, n: ast.Name) -> bool:
        """Whether the target `n` gets the new array that a NumPy function returns."""
        match self._assigned_value(n):
            case ast.Call(func=func) as call:
                return is_numpy_function(self._resolve(func)) and self._aliases.is_new(call)
        return False

    def _is_transient(self, n: ast.expr, rank: int) -> bool:
        """Whether nothing refers to `n`, an array of `rank` or a view of one, after the statement
        that contains it. Decided by the parent node:

        - a subscript or attribute that is a view: as the parent of the view says; a single element,
          a number such as ``x.size``, or a method that returns no view: yes
        - an operand, a test, an expression statement, a result of the function: yes
        - a positional argument: see `_is_transient_in_call`
        - the value of a store to an array: yes, its elements are copied
        - of rank 1, unpacked, iterated over, or the value of ``+=`` (of a list, perhaps): yes, as
          its items are scalars; but not in a generator that runs later, and not where the loop over
          it binds its name again
        - all else: no
        """
        match self._parent[n]:
            case ast.Subscript(value=value, slice=index) as view:
                items = index.elts if isinstance(index, ast.Tuple) else [index]
                is_view = len(items) < rank or any(map(self._may_select_many, items))
                return value is not n or not is_view or self._is_transient(view, rank)
            case ast.Attribute() as attribute:
                return self._is_transient_in_attribute(attribute, rank)
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Slice() | ast.Expr():
                return True
            case ast.If() | ast.While() | ast.Assert():
                return True
            case ast.Call(func=func, args=args) as call if n in args:
                return self._is_transient_in_call(self._resolve(func), call, rank)
            case ast.Return():
                return True
            case ast.Tuple() | ast.List() as display:
                return isinstance(self._parent[display], ast.Return)
            case ast.AugAssign(value=value):
                return rank == 1 and value is n
            case ast.Assign(targets=[ast.Tuple()]):
                return rank == 1
            case ast.comprehension() as generator:
                return rank == 1 and not self._runs_later(self._parent[generator])
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                return self._is_array(name)
            case ast.For(iter=iterable, body=body, orelse=orelse):
                # the loop retains the array, so the body must not bind its name again
                names = {x.id for x in walk_nodes(iterable) if isinstance(x, ast.Name)}
                return rank == 1 and names.isdisjoint(bound_names(*body, *orelse))
        return False

    def _is_transient_in_attribute(self, attribute: ast.Attribute, rank: int) -> bool:
        """Whether nothing refers to an array of `rank` after the statement that reads `attribute`
        of it, or calls that method.
        """
        if attribute.attr in _VIEWS:
            return self._is_transient(attribute, rank)
        if attribute.attr in _METADATA:
            return True
        call = self._parent[attribute]
        is_method = isinstance(call, ast.Call) and call.func is attribute and not call.keywords
        row = method_row(attribute.attr) if is_method else None
        return row is not None and row.result != "view"

    def _runs_later(self, comprehension: ast.AST) -> bool:
        """Whether `comprehension` is a generator that no builtin consumes at once: it retains what
        it iterates over.
        """
        if not isinstance(comprehension, ast.GeneratorExp):
            return False
        call = self._parent[comprehension]
        return not (isinstance(call, ast.Call) and is_one_of(self._resolve(call.func), _BUILTINS))

    def _is_transient_in_call(self, function: object, call: ast.Call, rank: int) -> bool:
        """Whether `call` of `function` retains no argument, an array of `rank`, and returns no view
        of it:

        - an iterator, as ``zip`` makes: as the parent of the call says;
        - a builtin with one argument: of a vector, whose items are scalars; ``abs`` and ``len``;
        - a function or ufunc that makes a new array, without a positional ``out``.
        """
        if is_one_of(function, _ITERATORS):
            return self._is_transient(call, rank)
        if is_one_of(function, _BUILTINS):
            plain = len(call.args) == 1 and not call.keywords
            return plain and (rank == 1 or function in (abs, len))
        row = function_row(function)
        is_new = self._aliases.is_new(call) or (row is not None and row.result == "new")
        return is_new and len(call.args) <= _input_count(function)

    def _may_select_many(self, index: ast.expr) -> bool:
        """Whether the subscript `index` may select several elements as a view."""
        if isinstance(index, ast.Constant):
            return not isinstance(index.value, int)
        if isinstance(index, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            return False
        value = self._resolve(index) if isinstance(index, (ast.Name, ast.Attribute)) else None
        return isinstance(index, (ast.Slice, ast.Starred)) or self._may_have_slices or (
            isinstance(index, ast.Attribute) and index.attr == "newaxis"
        ) or isinstance(value, (slice, tuple))


def _input_count(function: object) -> int:
    """How many positional arguments `function` (None: a method) only reads; the next may be the
    array for its result.
    """
    if isinstance(function, np.ufunc):
        return function.nin
    row = function_row(function)
    return row.reads if row is not None else 1 if function is None else 2


def _is_slice_maker(n: ast.AST) -> bool:
    """Whether `n` names ``slice``, ``np.s_`` or ``np.index_exp``."""
    return (isinstance(n, ast.Name) and n.id == "slice") or (
        isinstance(n, ast.Attribute) and n.attr in ("s_", "index_exp", "slice")
    )
