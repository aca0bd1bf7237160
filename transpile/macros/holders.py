"""What may hold on to an array that a name stands for."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection

import numpy as np

from ..below import below, children
from .calls import among, is_of_numpy
from .names import bindings, bound, declared
from .sharing import Sharing

__all__ = ["Holders"]

_NUMBERS = frozenset({"shape", "size", "ndim", "dtype", "itemsize", "nbytes"})
_VIEWS = frozenset({"T", "real", "imag", "flat"})
_METHODS = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "copy", "cumprod", "cumsum",
    "dot", "fill", "item", "max", "mean", "min", "nonzero", "prod", "ptp", "round", "sort", "std",
    "sum", "tolist", "trace", "var",
})
_FUNCTIONS = (
    np.allclose, np.any, np.all, np.argmax, np.argmin, np.argsort, np.array_equal, np.average,
    np.bincount, np.count_nonzero, np.flatnonzero, np.histogram, np.isclose, np.linalg.norm,
    np.median, np.nonzero, np.ptp, np.searchsorted, np.trace, np.vdot,
)
_BUILTINS = (abs, len, sum, min, max, float, int, sorted, list, tuple, all, any)
_OF_THREE = (np.where, np.clip, np.interp)
_WALKS = (enumerate, zip, reversed)


class Holders:
    """What may hold on to the arrays that names of `tree` stand for.

    ``arrays`` are given to it; ``sliced``: so may be slices.
    """

    def __init__(
        self, tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None],
        arrays: Collection[str], sliced: bool,
    ) -> None:
        self._resolve = resolve
        self._sharing = Sharing(tree, resolve)
        self._above = {c: n for n in below(tree) for c in children(n)}
        self._given = arrays
        self._others = {a.arg for a in below(tree) if isinstance(a, ast.arg)} | declared(tree)
        self._slices = sliced or any(map(_names_slices, below(tree)))
        self._names: dict[str, list[ast.Name]] = {}
        for n in below(tree):
            if isinstance(n, ast.Name):
                self._names.setdefault(n.id, []).append(n)
        self._found: dict[tuple[str, int], bool] = {}

    def alone(self, name: str, rank: int) -> bool:
        """Whether `name`, a local of arrays of that rank, is all that ever refers to any of them,
        or to a part of one, when it is bound to the next.
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
        return next((value for target, value in bindings(assigned) if target is n), None)

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
                return is_of_numpy(self._resolve(func)) and self._sharing.is_new(made)
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
                return attr in _NUMBERS or (method and attr in _METHODS)
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
                    isinstance(call, ast.Call) and among(self._resolve(call.func), _BUILTINS)
                )
                return rank == 1 and not later
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                return self._is_array(name)
            case ast.For(iter=of, body=body, orelse=orelse):
                names = {x.id for x in below(of) if isinstance(x, ast.Name)}
                return rank == 1 and names.isdisjoint(bound(*body, *orelse))
        return False

    def _is_read_by(self, function: object, e: ast.Call, rank: int) -> bool:
        """Whether a call takes an array for its elements, and gives no part of it."""
        if among(function, _WALKS):
            return self._is_passing(e, rank)
        if among(function, _BUILTINS):
            return len(e.args) == 1 and not e.keywords and (rank == 1 or function in (abs, len))
        new = self._sharing.is_new(e) or among(function, _FUNCTIONS)
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
    return 3 if among(function, _OF_THREE) else 1 if function is None else 2


def _names_slices(n: ast.AST) -> bool:
    return (isinstance(n, ast.Name) and n.id == "slice") or (
        isinstance(n, ast.Attribute) and n.attr in ("s_", "index_exp", "slice")
    )
