"""Alias and escape analysis: which names may share memory, and who may retain an array.

`AliasAnalysis` is flow-insensitive and unification-based (Steensgaard): two names that one
assignment may make share an array are in one set. Array macros ask `AliasAnalysis.stays` before
they evaluate an expression later than Python does. `EscapeAnalysis` asks whether a name's array has
any other reference when the name is bound again, so that its memory can be reused
(`Facts.is_alone`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

import numpy as np

from ..containers.method_table import RESIZING
from ..frontend.ast_names import binding_pairs, bound_names, declared_outer
from ..frontend.ast_walk import child_blocks, child_nodes, walk_nodes
from ..numpy.function_table import function_row, method_row, result_may_be_argument
from .shape_rules import is_numpy_function, is_one_of

__all__ = ["AliasAnalysis", "EscapeAnalysis"]

_OUTSIDE = ""
"""The representative of all arrays from outside of the function: any two may share memory."""


class AliasAnalysis:
    """Which names of `tree` may share memory, as disjoint sets of names (union-find)."""

    def __init__(
        self, tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None]
    ) -> None:
        self._tree, self._resolve = tree, resolve
        self._parents: dict[str, str] = {}  # of the union-find forest
        local = bound_names(*tree.body)
        for n in walk_nodes(*tree.body):
            if isinstance(n, ast.Name) and n.id not in local:
                self._union(_OUTSIDE, n.id)
        for a in walk_nodes(tree.args):
            if isinstance(a, ast.arg):
                self._union(_OUTSIDE, a.arg)
        for n in walk_nodes(*tree.body):
            for target, value in _bindings(n):
                for name in [] if self.is_new(value) else _names(value):
                    for bound in _names(target):
                        self._union(bound, name)
        # each node that writes an array in place, with the name by which it does
        self._writes = [(n, name) for n in walk_nodes(*tree.body) for name in self._written_by(n)]

    def stays(self, e: ast.expr, at: ast.stmt) -> bool:
        """Whether the array `e`, used by the statement `at`, is never written afterwards.

        It is so if the array is new at `at`, or if neither it nor a view of it is written, except
        between its creation and `at` where both are statements of one block.
        """
        if self.is_new(e):
            return True
        sets = {self._find(name) for name in _names(e)}
        writes = [(n, name) for n, name in self._writes if self._find(name) in sets]
        if not writes or not isinstance(e, ast.Name):
            return not writes
        filling = {n for s in self._since_creation(e, at) for n in walk_nodes(s)}
        return all(n in filling and name == e.id for n, name in writes)

    def _since_creation(self, e: ast.Name, at: ast.stmt) -> list[ast.stmt]:
        """The statements between the one that binds `e` to a new array and `at`; none if the last
        binding of `e` in the block of `at` binds it to anything else.
        """
        block = next(b for n in walk_nodes(self._tree) for b in child_blocks(n) if at in b)
        end = block.index(at)
        for k in reversed(range(end)):
            match block[k]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == e.id:
                    return block[k + 1 : end] if self.is_new(value) else []
            if e.id in bound_names(block[k]):
                break
        return []

    def is_new(self, e: ast.expr) -> bool:
        """Whether the value of `e` surely shares no memory with an array that has a name."""
        match e:
            case ast.Constant() | ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.JoinedStr():
                return True
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_new(body) and self.is_new(orelse)
            case ast.BoolOp(values=values):
                return all(map(self.is_new, values))
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                return all(map(self.is_new, elts))
            case ast.ListComp(elt=elt):
                return self.is_new(elt)
            case ast.Call(func=ast.Attribute(attr=name) as func, args=args, keywords=keywords):
                function = self._resolve(func)
                may_share = {k.arg for k in keywords} & {"out", "copy", None}
                return not may_share and (
                    isinstance(function, np.ufunc) or _returns_new(name, function, len(args))
                )
        return False

    def _written_by(self, n: ast.AST) -> Iterator[str]:
        """The names whose arrays the node `n` itself, not its operands, may write in place: by a
        store, an augmented assignment, a call as a statement (of anything but ``append`` and its
        kin), ``out=``, or a positional argument behind those that are read.
        """
        match n:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(
                ctx=ast.Store() | ast.Del()
            ):
                yield from _names(n.value)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.Expr(value=ast.Call(func=func, args=args)):
                resizes = isinstance(func, ast.Attribute) and func.attr in RESIZING
                for e in (func, *args) if not resizes else ():
                    yield from _names(e)
            case ast.Call(func=func, args=args, keywords=keywords):
                function = self._resolve(func)
                read = function.nin if isinstance(function, np.ufunc) else _MAX_INPUTS
                for e in (*args[read:], *(k.value for k in keywords if k.arg == "out")):
                    yield from _names(e)

    def _find(self, name: str) -> str:
        """The representative of the set of `name`."""
        while (parent := self._parents.get(name, name)) != name:
            name = parent
        return name

    def _union(self, a: str, b: str) -> None:
        """Makes one set of the sets of `a` and `b`."""
        self._parents[self._find(b)] = self._find(a)


def _bindings(n: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets that `n` binds, each with the expression of which it gets the value or a part."""
    yield from binding_pairs(n)
    match n:
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(
            target=target, value=value
        ):
            yield target, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value


def _names(e: ast.AST) -> Iterator[str]:
    return (n.id for n in walk_nodes(e) if isinstance(n, ast.Name))


_MAX_INPUTS = 3
"""Positional arguments that a call of an unknown function or method only reads; the next may be
``out``.
"""

_METADATA = frozenset({"shape", "size", "ndim", "dtype", "itemsize", "nbytes"})
"""Attributes of an array that share no memory with it."""

_VIEWS = frozenset({"T", "real", "imag", "flat"})
"""Attributes that are views."""

_BUILTINS = (abs, len, sum, min, max, float, int, sorted, list, tuple, all, any)
"""Builtins that read their argument and retain nothing of it but its items."""

_ITERATORS = (enumerate, zip, reversed)
"""Builtins whose result retains their arguments."""


class EscapeAnalysis:
    """Which arrays of the names of `tree` may be retained by something else.

    ``arrays``: the parameters that are arrays. ``sliced``: whether a subscript that is a name may
    be a slice, since parameters of unknown type exist.
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
        self._alone: dict[tuple[str, int], bool] = {}  # cache of `alone`

    def alone(self, name: str, rank: int) -> bool:
        """Whether the local `name`, of arrays of that rank, is the only reference to its array or
        any part of it when it is bound again: each of its bindings binds a new array, and no read
        of it is retained (`_is_transient`). The array's memory can then be reused.
        """
        if (name, rank) not in self._alone:
            occurrences = self._occurrences.get(name, [])
            is_bound = any(isinstance(n.ctx, ast.Store) for n in occurrences)
            self._alone[name, rank] = is_bound and name not in self._not_local and all(
                self._is_transient(n, rank) if isinstance(n.ctx, ast.Load) else self._binds_new(n)
                for n in occurrences
            )
        return self._alone[name, rank]

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

        - a subscript or attribute that is a view: by that in turn; a single element, a number such
          as ``x.size``, or a method that returns no view: yes
        - an operand, a test, an expression statement, a result of the function: yes
        - an argument: see `_is_transient_in_call`
        - the value of a store to an array: yes, its elements are copied
        - of rank 1, unpacked or iterated over: yes, as its items are scalars
        - all else: no
        """
        match self._parent[n]:
            case ast.Subscript(value=value, slice=index) as view:
                items = index.elts if isinstance(index, ast.Tuple) else [index]
                is_view = len(items) < rank or any(map(self._may_select_many, items))
                return value is not n or not is_view or self._is_transient(view, rank)
            case ast.Attribute(attr=attr) as attribute:
                call = self._parent[attribute]
                is_method = (
                    isinstance(call, ast.Call) and call.func is attribute and not call.keywords
                )
                if attr in _VIEWS:
                    return self._is_transient(attribute, rank)
                row = method_row(attr) if is_method else None
                return attr in _METADATA or (row is not None and row.result != "view")
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
                comprehension = self._parent[generator]
                call = self._parent[comprehension]
                runs_later = isinstance(comprehension, ast.GeneratorExp) and not (
                    isinstance(call, ast.Call) and is_one_of(self._resolve(call.func), _BUILTINS)
                )
                return rank == 1 and not runs_later
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                return self._is_array(name)
            case ast.For(iter=iterable, body=body, orelse=orelse):
                # the loop retains the array, so the body must not bind its name again
                names = {x.id for x in walk_nodes(iterable) if isinstance(x, ast.Name)}
                return rank == 1 and names.isdisjoint(bound_names(*body, *orelse))
        return False

    def _is_transient_in_call(self, function: object, call: ast.Call, rank: int) -> bool:
        """Whether `call` of `function` retains no argument, an array of `rank`, and returns no view
        of it.
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


def _returns_new(name: str, function: object, count: int) -> bool:
    """Whether `function`, or a method `name` where that is None, returns an array that shares no
    memory with its `count` arguments.
    """
    row = method_row(name) if function is None else function_row(function)
    if row is None or row.result != "new":
        return False
    return not result_may_be_argument(name, count + (function is None))


def _is_slice_maker(n: ast.AST) -> bool:
    """Whether `n` names ``slice``, ``np.s_`` or ``np.index_exp``."""
    return (isinstance(n, ast.Name) and n.id == "slice") or (
        isinstance(n, ast.Attribute) and n.attr in ("s_", "index_exp", "slice")
    )
