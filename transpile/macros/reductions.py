"""``np.sum`` and its kin, over some axes or all → loop nests."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from loopir.record import record

from ..types import ArrayType, ScalarType
from .context import Context
from .firing import fires_on, named
from .integers import integer_constant
from .nests import allocated, dtype, indices, product, unless
from .starts import may_start
from .views import View, element, unique, unlike, view

__all__ = ["FOLDS", "MOMENTS", "Fold", "array_fold", "fold_of"]

FOLDS: dict[str, tuple[str, int | None]] = {
    "sum": ("add", 0), "prod": ("multiply", 1), "mean": ("add", 0),
    "any": ("logical_or", 0), "all": ("logical_and", 1),
    "min": ("minimum", None), "max": ("maximum", None),
    "amin": ("minimum", None), "amax": ("maximum", None),
}
"""The function that takes in one element, and what it starts from: None for the first element."""

_NUMBERS = ("sum", "prod", "min", "max", "amin", "amax")

MOMENTS = ("ptp", "count_nonzero", "var", "std")
"""What is made of them."""

_ON_BOOLS = {"minimum": "logical_and", "maximum": "logical_or"}


@record(frozen=True, slots=True)
class Fold:
    """A call ``np.name(array, axis, keepdims=…, …)``; ``where`` chooses the elements."""

    name: str
    array: ast.expr
    axes: tuple[int, ...]
    rank: int
    keepdims: bool = False
    ddof: int = 0
    initial: ast.expr | None = None
    where: ast.expr | None = None


@fires_on(ast.Call, calls=named(FOLDS))
def array_fold(node: ast.AST, cx: Context) -> ast.expr | None:
    """One result after the other; a minimum of nothing is NumPy's to answer.

        s = np.sum(x * y)
        u = X.max(axis=0)
        w = np.mean(X, axis=1, keepdims=True)
        p = x.max(initial=0, where=x < y)
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            _sum = np.sum(x * y)
        else:
            _sum = np.float64(0)
            for _i in range(x.shape[0]):
                _sum = np.add(_sum, np.multiply(x[_i], y[_i]))
        s = _sum
        if X.shape[0] < 1:
            "Python's to answer"
            _max = X.max(axis=0)
        else:
            _max = np.empty(X.shape[1], np.float64)
            for _i_2 in range(X.shape[1]):
                _acc = X[0, _i_2]
                for _i_1 in range(X.shape[0]):
                    _acc = np.maximum(_acc, X[_i_1, _i_2])
                _max[_i_2] = _acc
        u = _max
        if X.shape[1] < 1:
            "Python's to answer"
            _mean = np.mean(X, axis=1, keepdims=True)
        else:
            _mean = np.empty((X.shape[0], 1), np.float64)
            for _i_3 in range(X.shape[0]):
                _acc_1 = np.float64(0)
                for _i_4 in range(X.shape[1]):
                    _acc_1 = np.add(_acc_1, X[_i_3, _i_4])
                _mean[_i_3, 0] = np.divide(_acc_1, X.shape[1])
        w = _mean
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            _max_1 = x.max(initial=0, where=x < y)
        else:
            _max_1 = np.float64(0)
            for _i_5 in range(x.shape[0]):
                if np.less(x[_i_5], y[_i_5]):
                    _max_1 = np.maximum(_max_1, x[_i_5])
        p = _max_1
    """
    fold = fold_of(node, cx)
    if fold is None or fold.name not in FOLDS or not isinstance(node, ast.expr):
        return None
    name = cx.fresh(fold.name)
    return cx.made(name, lambda: _lines(fold, name, node, cx))


def fold_of(node: ast.AST, cx: Context) -> Fold | None:
    """The fold that `node` calls, by function or by method, with arguments that are known."""
    match node:
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=args) if (
            cx.resolve(node.func) is None and cx.fact(array).array
        ):
            pass
        case ast.Call(func=func, args=[array, *args]):
            name = getattr(cx.resolve(func), "__name__", "")
            if not cx.is_numpy(func, name):
                return None
        case _:
            return None
    rank = cx.fact(array).rank
    if name not in (*FOLDS, *MOMENTS) or not cx.fact(array).array or not rank or len(args) > 1:
        return None
    given = {k.arg: k.value for k in node.keywords}
    given |= dict(zip(["axis"], args, strict=False))
    axes = _axes(given.pop("axis", None), rank)
    keepdims = given.pop("keepdims", ast.Constant(False))
    ddof = integer_constant(given.pop("ddof", None), 0) if name in ("var", "std") else 0
    known = isinstance(keepdims, ast.Constant) and isinstance(keepdims.value, bool)
    initial = given.pop("initial", None) if name in _NUMBERS else None
    where = given.pop("where", None) if name in FOLDS and name != "mean" else None
    if given or axes is None or not known or ddof is None or ddof < 0:
        return None
    assert isinstance(keepdims, ast.Constant)
    return Fold(name, array, axes, rank, bool(keepdims.value), ddof, initial, where)


def _axes(given: ast.expr | None, rank: int) -> tuple[int, ...] | None:
    """Which axes are folded, in order; None where that is not known, or wrong."""
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return tuple(range(rank))
    several = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
    axes = [integer_constant(a, None) for a in several]
    if any(a is None or not -rank <= a < rank for a in axes):
        return None
    found = {a % rank for a in axes if a is not None}
    return tuple(sorted(found)) if len(found) == len(axes) else None


def _lines(fold: Fold, name: str, node: ast.expr, cx: Context) -> list[ast.stmt] | None:
    """Statements that leave the result of `fold` under `name`."""
    of, ty, types = view(fold.array, cx), cx.fact(fold.array).array, cx.fact(node).types
    if of is None or ty is None or len(types) != 1:
        return None
    (out,) = types
    if isinstance(out, ArrayType) and out.rank > 1 and of.order == "?":
        return None
    wider = out.dtype == "f16" and fold.name in ("sum", "prod", "mean")  # NumPy's partial sums
    if wider or (fold.initial is not None and not may_start(fold.initial, out.dtype, cx)):
        return None
    folded = [of.shape[k] for k in fold.axes]
    checks = [*of.checks]
    from_first = FOLDS[fold.name][1] is None and fold.initial is None
    mask = view(fold.where, cx) if fold.where is not None else None
    if fold.where is not None:
        fact = cx.fact(fold.where).array
        if not mask or not fact or (fact.dtype, fact.rank) != ("bool", ty.rank) or from_first:
            return None
        checks = unique([*checks, *unlike(of.shape, mask.shape, cx), *mask.checks])
    if from_first or fold.name == "mean":
        unsure = [n for n in folded if (integer_constant(n, None) or 0) < 1]
        checks += [cx.expr("N < 1", N=n) for n in unsure]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    if fold.name in ("sum", "prod", "mean"):
        cx.folds(out.dtype)
    nests = _Nests(fold, of, mask, ty, out, cx)
    lines = nests.scalar(name) if isinstance(out, ScalarType) else nests.array(name, out)
    return unless(checks, original, lines, cx)


class _Nests:
    """The loops of one fold, in the order of memory."""

    def __init__(
        self, fold: Fold, of: View, mask: View | None, ty: ArrayType, out: ArrayType | ScalarType,
        cx: Context,
    ) -> None:
        self.fold, self.of, self.mask, self.cx, self.dtype = fold, of, mask, cx, out.dtype
        self.names = indices(of.shape, cx)
        self.at = [n or ast.Constant(0) for n in self.names]
        self.back = ty.rank > 1 and (of.order == "F" or (of.order == "C+F" and ty.unit == 0))
        self.order = list(range(ty.rank))[:: -1 if self.back else 1]

    def scalar(self, name: str) -> list[ast.stmt]:
        """Over all axes."""
        acc = ast.Name(name, ast.Load())
        lines = [self._set(acc, self._start()), *self._loops(self.order, self._step(acc))]
        end = self._end(acc)
        return lines if end is acc else [*lines, self._set(acc, end)]

    def array(self, name: str, ty: ArrayType) -> list[ast.stmt]:
        """Over some axes, one result after the other."""
        fold, one = self.fold, ast.Constant(1)
        kept = [k for k in range(fold.rank) if fold.keepdims or k not in fold.axes]
        shape = [one if k in fold.axes else self.of.shape[k] for k in kept]
        places = [ast.Constant(0) if k in fold.axes else self.at[k] for k in kept]
        place = element(ast.Name(name, ast.Load()), places, self.cx)
        acc = ast.Name(self.cx.fresh("acc"), ast.Load())
        body = [
            self._set(acc, self._start()),
            *self._loops([k for k in self.order if k in fold.axes], self._step(acc)),
            self._set(place, self._end(acc)),
        ]
        back = self.back and ty.rank > 1
        outer = [k for k in self.order if k not in fold.axes]
        return [
            allocated(name, shape, self.dtype, self.cx, backward=back), *self._loops(outer, body)
        ]

    def _set(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        (line,) = self.cx.code("TARGET = E", TARGET=target, E=value)
        return line

    def _start(self) -> ast.expr:
        value = FOLDS[self.fold.name][1]
        if self.fold.initial is not None:
            return self.cx.expr("T(V)", T=dtype(self.dtype, self.cx), V=self.fold.initial)
        if value is None:
            zero = ast.Constant(0)
            at = [zero if k in self.fold.axes else i for k, i in enumerate(self.at)]
            return self.of.at(at)
        given = ast.Constant(bool(value) if self.dtype == "bool" else value)
        return self.cx.expr("T(V)", T=dtype(self.dtype, self.cx), V=given)

    def _step(self, acc: ast.expr) -> list[ast.stmt]:
        function = FOLDS[self.fold.name][0]
        if self.dtype == "bool":
            function = _ON_BOOLS.get(function, function)
        text = f"NP.{function}(ACC, E)"
        e = self.cx.expr(text, NP=self.cx.numpy, ACC=acc, E=self.of.at(self.at))
        step = [self._set(acc, e)]
        where = self.mask and self.mask.at(self.at)
        return self.cx.code("if C: BODY", C=where, BODY=step) if where else step

    def _end(self, acc: ast.expr) -> ast.expr:
        if self.fold.name != "mean":
            return acc
        count = product([self.of.shape[k] for k in self.fold.axes], self.cx)
        return self.cx.expr("NP.divide(ACC, N)", NP=self.cx.numpy, ACC=acc, N=count)

    def _loops(self, axes: Sequence[int], body: list[ast.stmt]) -> list[ast.stmt]:
        for k in reversed(axes):
            name = self.names[k]
            if name is not None:
                text = "for I in range(N): BODY"
                body = self.cx.code(text, I=name, N=self.of.shape[k], BODY=body)
        return body
