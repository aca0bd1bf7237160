"""Alias and escape analysis: which names may share memory, and who may retain an array."""
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
"""Stands for what comes from outside of the function."""


class AliasAnalysis:
    """Which arrays the names of `tree` may share with each other."""

    def __init__(
        self, tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None]
    ) -> None:
        self._tree, self._resolve = tree, resolve
        self._first: dict[str, str] = {}
        own = bound_names(*tree.body)
        for n in walk_nodes(*tree.body):
            if isinstance(n, ast.Name) and n.id not in own:
                self._join(_OUTSIDE, n.id)
        for a in walk_nodes(tree.args):
            if isinstance(a, ast.arg):
                self._join(_OUTSIDE, a.arg)
        for n in walk_nodes(*tree.body):
            for target, value in _bindings(n):
                for name in [] if self.is_new(value) else _names(value):
                    for of in _names(target):
                        self._join(of, name)
        self._changes = [(n, name) for n in walk_nodes(*tree.body) for name in self._changed(n)]

    def stays(self, e: ast.expr, at: ast.stmt) -> bool:
        """Whether the array `e`, used by the statement `at`, is never written afterwards.

        It is so if the array is new at `at`, or if neither it nor a view of it is written, except
        between its creation and `at` where both are statements of one block.
        """
        if self.is_new(e):
            return True
        groups = {self._of(name) for name in _names(e)}
        changes = [(n, name) for n, name in self._changes if self._of(name) in groups]
        if not changes or not isinstance(e, ast.Name):
            return not changes
        made = {n for s in self._made(e, at) for n in walk_nodes(s)}
        return all(n in made and name == e.id for n, name in changes)

    def _made(self, e: ast.Name, at: ast.stmt) -> list[ast.stmt]:
        """What stands between the statement that makes the array `e` anew and `at`."""
        block = next(b for n in walk_nodes(self._tree) for b in child_blocks(n) if at in b)
        here = block.index(at)
        for k in reversed(range(here)):
            match block[k]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == e.id:
                    return block[k + 1 : here] if self.is_new(value) else []
            if e.id in bound_names(block[k]):
                break
        return []

    def is_new(self, e: ast.expr) -> bool:
        """Whether `e` is surely no view of an array that has a name."""
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
                named = {k.arg for k in keywords} & {"out", "copy", None}
                return not named and (
                    isinstance(function, np.ufunc) or _gives_new(name, function, len(args))
                )
        return False

    def _changed(self, n: ast.AST) -> Iterator[str]:
        """The names of what `n` itself changes in place."""
        match n:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(
                ctx=ast.Store() | ast.Del()
            ):
                yield from _names(n.value)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.Expr(value=ast.Call(func=func, args=args)):
                appends = isinstance(func, ast.Attribute) and func.attr in RESIZING
                for e in (func, *args) if not appends else ():
                    yield from _names(e)
            case ast.Call(func=func, args=args, keywords=keywords):
                function = self._resolve(func)
                most = function.nin if isinstance(function, np.ufunc) else 3
                for e in (*args[most:], *(k.value for k in keywords if k.arg == "out")):
                    yield from _names(e)

    def _of(self, name: str) -> str:
        while (first := self._first.get(name, name)) != name:
            name = first
        return name

    def _join(self, a: str, b: str) -> None:
        self._first[self._of(b)] = self._of(a)


def _bindings(n: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
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


_NUMBERS = frozenset({"shape", "size", "ndim", "dtype", "itemsize", "nbytes"})
_VIEWS = frozenset({"T", "real", "imag", "flat"})
_BUILTINS = (abs, len, sum, min, max, float, int, sorted, list, tuple, all, any)
_WALKS = (enumerate, zip, reversed)


class EscapeAnalysis:
    """Which arrays of the names of `tree` may be retained by something else.

    ``arrays`` are the array arguments; ``sliced``: whether slices may be retained, too.
    """

    def __init__(
        self, tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None],
        arrays: Collection[str], sliced: bool,
    ) -> None:
        self._resolve = resolve
        self._sharing = AliasAnalysis(tree, resolve)
        self._above = {c: n for n in walk_nodes(tree) for c in child_nodes(n)}
        self._given = arrays
        self._others = {a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)} | declared_outer(
            tree
        )
        self._slices = sliced or any(map(_names_slices, walk_nodes(tree)))
        self._names: dict[str, list[ast.Name]] = {}
        for n in walk_nodes(tree):
            if isinstance(n, ast.Name):
                self._names.setdefault(n.id, []).append(n)
        self._found: dict[tuple[str, int], bool] = {}

    def alone(self, name: str, rank: int) -> bool:
        """Whether the local `name`, of arrays of that rank, is the only reference to its array or
        any part of it at the time it is bound anew. Its memory can then be reused.
        """
        if (name, rank) not in self._found:
            found = self._names.get(name, [])
            own = any(isinstance(n.ctx, ast.Store) for n in found) and name not in self._others
            self._found[name, rank] = own and all(
                self._is_passing(n, rank) if isinstance(n.ctx, ast.Load) else self._is_new(n)
                for n in found
            )
        return self._found[name, rank]

    def _bound_to(self, n: ast.Name) -> ast.expr | None:
        """What alone is bound to the name alone."""
        above = self._above[n]
        assigned = self._above[above] if isinstance(above, ast.Tuple) else above
        if not isinstance(assigned, ast.Assign) or len(assigned.targets) > 1:
            return None
        return next((value for target, value in binding_pairs(assigned) if target is n), None)

    def _is_new(self, n: ast.Name) -> bool:
        """Whether what is bound here is an array that has no other name."""
        value = self._bound_to(n)
        augmented = isinstance(self._above[n], ast.AugAssign)
        return augmented or (value is not None and self._sharing.is_new(value))

    def _is_array(self, name: str) -> bool:
        """Whether `name` stands for arrays, which take elements, and nothing else."""
        bound_to = [n for n in self._names[name] if isinstance(n.ctx, ast.Store)]
        return name in self._given if not bound_to else all(map(self._is_made, bound_to))

    def _is_made(self, n: ast.Name) -> bool:
        match self._bound_to(n):
            case ast.Call(func=func) as made:
                return is_numpy_function(self._resolve(func)) and self._sharing.is_new(made)
        return False

    def _is_passing(self, n: ast.expr, rank: int) -> bool:
        """Whether nothing refers to `n`, a part of an array, after the statement it stands in."""
        match self._above[n]:
            case ast.Subscript(value=value, slice=at) as of:
                items = at.elts if isinstance(at, ast.Tuple) else [at]
                part = len(items) < rank or any(map(self._is_a_part, items))
                return value is not n or not part or self._is_passing(of, rank)
            case ast.Attribute(attr=attr) as of:
                call = self._above[of]
                method = isinstance(call, ast.Call) and call.func is of and not call.keywords
                if attr in _VIEWS:
                    return self._is_passing(of, rank)
                row = method_row(attr) if method else None
                return attr in _NUMBERS or (row is not None and row.result != "view")
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Slice() | ast.Expr():
                return True
            case ast.If() | ast.While() | ast.Assert():
                return True
            case ast.Call(func=func, args=args) as of if n in args:
                return self._is_read_by(self._resolve(func), of, rank)
            case ast.Return():
                return True
            case ast.Tuple() | ast.List() as of:
                return isinstance(self._above[of], ast.Return)
            case ast.AugAssign(value=value):
                return rank == 1 and value is n
            case ast.Assign(targets=[ast.Tuple()]):
                return rank == 1
            case ast.comprehension() as of:
                made = self._above[of]
                call = self._above[made]
                later = isinstance(made, ast.GeneratorExp) and not (
                    isinstance(call, ast.Call) and is_one_of(self._resolve(call.func), _BUILTINS)
                )
                return rank == 1 and not later
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                return self._is_array(name)
            case ast.For(iter=of, body=body, orelse=orelse):
                names = {x.id for x in walk_nodes(of) if isinstance(x, ast.Name)}
                return rank == 1 and names.isdisjoint(bound_names(*body, *orelse))
        return False

    def _is_read_by(self, function: object, e: ast.Call, rank: int) -> bool:
        """Whether a call takes an array for its elements, and gives no part of it."""
        if is_one_of(function, _WALKS):
            return self._is_passing(e, rank)
        if is_one_of(function, _BUILTINS):
            return len(e.args) == 1 and not e.keywords and (rank == 1 or function in (abs, len))
        row = function_row(function)
        new = self._sharing.is_new(e) or (row is not None and row.result == "new")
        return new and len(e.args) <= _most_read(function)

    def _is_a_part(self, at: ast.expr) -> bool:
        """Whether a subscript may choose more than one element without a copy of them."""
        if isinstance(at, ast.Constant):
            return not isinstance(at.value, int)
        if isinstance(at, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            return False
        value = self._resolve(at) if isinstance(at, (ast.Name, ast.Attribute)) else None
        return isinstance(at, (ast.Slice, ast.Starred)) or self._slices or (
            isinstance(at, ast.Attribute) and at.attr == "newaxis"
        ) or isinstance(value, (slice, tuple))


def _most_read(function: object) -> int:
    """How many arguments at most are read, of a function or a method; the next may be an array that
    takes the result.
    """
    if isinstance(function, np.ufunc):
        return function.nin
    row = function_row(function)
    return row.reads if row is not None else 1 if function is None else 2


def _gives_new(name: str, function: object, count: int) -> bool:
    """Whether ``np.name(…)``, or a method of that name where `function` is None, gives an array
    that shares no memory with its `count` arguments.
    """
    row = method_row(name) if function is None else function_row(function)
    if row is None or row.result != "new":
        return False
    return not result_may_be_argument(name, count + (function is None))


def _names_slices(n: ast.AST) -> bool:
    return (isinstance(n, ast.Name) and n.id == "slice") or (
        isinstance(n, ast.Attribute) and n.attr in ("s_", "index_exp", "slice")
    )
