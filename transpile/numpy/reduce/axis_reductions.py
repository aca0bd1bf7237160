"""Reductions over axes: ``np.sum`` and its kin, var, std and ptp, as loop nests.

Also in other words and with ``dtype=``: ``np.add.reduce`` is ``np.sum``.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from loopir.lazy_dataclass import record

from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, named
from ...frontend.macros.replay_guards import bind_fresh, guarded, unique_nodes
from ...types.value_types import ELEMENTS, PARTS, ArrayType, ScalarType
from ..array_nests import allocate_array, dtype_expr, fresh_indices, product_of
from ..array_views import View, element_at, length_mismatches, view_of
from ..call_arguments import BoundArguments, bind_arguments, representable_constant
from ..function_table import FUNCTIONS, REDUCE_ARGUMENTS, Fold

__all__ = [
    "REDUCTIONS", "Reduction", "array_reduction", "reduction_of", "array_moment",
    "reduction_identity",
]

REDUCTIONS: dict[str, Fold] = {n: row.reduction for n, row in FUNCTIONS.items() if row.reduction}

_MOMENTS = frozenset(name for name, row in FUNCTIONS.items() if row.moment)
"""What is made of reductions."""

_ON_BOOLS = {"minimum": "logical_and", "maximum": "logical_or"}


@record(frozen=True, slots=True)
class Reduction:
    """A call ``np.name(array, axis, keepdims=…, …)``; ``where`` chooses the elements."""

    name: str
    array: ast.expr
    axes: tuple[int, ...]
    rank: int
    keepdims: bool = False
    ddof: int = 0
    initial: ast.expr | None = None
    where: ast.expr | None = None


@fires_on(ast.Call, calls=named(REDUCTIONS))
def array_reduction(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.sum(X, axis)`` and its kin → a loop nest with an accumulator for each result. NumPy
    itself is called for the minimum or maximum of nothing.

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
    fold = reduction_of(node, cx)
    if fold is None or fold.name not in REDUCTIONS or not isinstance(node, ast.expr):
        return None
    name = cx.fresh(fold.name)
    return cx.made(name, lambda: _reduction_loops(fold, name, node, cx))


def reduction_of(node: ast.AST, cx: Context) -> Reduction | None:
    """The reduction that `node` calls, as a function or method with known arguments; None for other
    calls.
    """
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
    if name not in REDUCTIONS and name not in _MOMENTS:
        return None
    if not cx.fact(array).array or not rank or len(args) > 1:
        return None
    given = {k.arg: k.value for k in node.keywords}
    given |= dict(zip(["axis"], args, strict=False))
    axes = _reduced_axes(given.pop("axis", None), rank)
    keepdims = given.pop("keepdims", ast.Constant(False))
    ddof = integer_constant(given.pop("ddof", None), 0) if name in ("var", "std") else 0
    known = isinstance(keepdims, ast.Constant) and isinstance(keepdims.value, bool)
    takes_initial = name in REDUCTIONS and REDUCTIONS[name].initial
    initial = given.pop("initial", None) if takes_initial else None
    where = given.pop("where", None) if name in REDUCTIONS and name != "mean" else None
    if given or axes is None or not known or ddof is None or ddof < 0:
        return None
    assert isinstance(keepdims, ast.Constant)
    return Reduction(name, array, axes, rank, bool(keepdims.value), ddof, initial, where)


def _reduced_axes(given: ast.expr | None, rank: int) -> tuple[int, ...] | None:
    """Which axes are folded, in order; None where that is not known, or wrong."""
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return tuple(range(rank))
    several = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
    axes = [integer_constant(a, None) for a in several]
    if any(a is None or not -rank <= a < rank for a in axes):
        return None
    found = {a % rank for a in axes if a is not None}
    return tuple(sorted(found)) if len(found) == len(axes) else None


def _reduction_loops(
    fold: Reduction, name: str, node: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """Statements that leave the result of `fold` under `name`."""
    of, ty, types = view_of(fold.array, cx), cx.fact(fold.array).array, cx.fact(node).types
    if of is None or ty is None or len(types) != 1:
        return None
    (out,) = types
    if isinstance(out, ArrayType) and out.rank > 1 and of.order == "?":
        return None
    wider = out.dtype == "f16" and fold.name in ("sum", "prod", "mean")  # NumPy's partial sums
    if wider or (
        fold.initial is not None and not representable_constant(fold.initial, out.dtype, cx)
    ):
        return None
    folded = [of.shape[k] for k in fold.axes]
    checks = [*of.checks]
    from_first = REDUCTIONS[fold.name].start is None and fold.initial is None
    mask = view_of(fold.where, cx) if fold.where is not None else None
    if fold.where is not None:
        fact = cx.fact(fold.where).array
        if not mask or not fact or (fact.dtype, fact.rank) != ("bool", ty.rank) or from_first:
            return None
        checks = unique_nodes([*checks, *length_mismatches(of.shape, mask.shape, cx), *mask.checks])
    if from_first or fold.name == "mean":
        unsure = [n for n in folded if (integer_constant(n, None) or 0) < 1]
        checks += [cx.expr("N < 1", N=n) for n in unsure]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    if fold.name in ("sum", "prod", "mean"):
        cx.folds(out.dtype)
    nests = _ReductionNests(fold, of, mask, ty, out, cx)
    lines = nests.scalar(name) if isinstance(out, ScalarType) else nests.array(name, out)
    return guarded(checks, original, lines, cx)


class _ReductionNests:
    """The loops of one fold, in the order of memory."""

    def __init__(
        self,
        fold: Reduction,
        of: View,
        mask: View | None,
        ty: ArrayType,
        out: ArrayType | ScalarType,
        cx: Context,
    ) -> None:
        self.fold, self.of, self.mask, self.cx, self.dtype = fold, of, mask, cx, out.dtype
        self.names = fresh_indices(of.shape, cx)
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
        place = element_at(ast.Name(name, ast.Load()), places, self.cx)
        acc = ast.Name(self.cx.fresh("acc"), ast.Load())
        body = [
            self._set(acc, self._start()),
            *self._loops([k for k in self.order if k in fold.axes], self._step(acc)),
            self._set(place, self._end(acc)),
        ]
        back = self.back and ty.rank > 1
        outer = [k for k in self.order if k not in fold.axes]
        return [
            allocate_array(name, shape, self.dtype, self.cx, fortran_order=back),
            *self._loops(outer, body),
        ]

    def _set(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        (line,) = self.cx.code("TARGET = E", TARGET=target, E=value)
        return line

    def _start(self) -> ast.expr:
        value = REDUCTIONS[self.fold.name].start
        if self.fold.initial is not None:
            return self.cx.expr("T(V)", T=dtype_expr(self.dtype, self.cx), V=self.fold.initial)
        if value is None:
            zero = ast.Constant(0)
            at = [zero if k in self.fold.axes else i for k, i in enumerate(self.at)]
            return self.of.at(at)
        given = ast.Constant(bool(value) if self.dtype == "bool" else value)
        return self.cx.expr("T(V)", T=dtype_expr(self.dtype, self.cx), V=given)

    def _step(self, acc: ast.expr) -> list[ast.stmt]:
        function = REDUCTIONS[self.fold.name].function
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
        count = product_of([self.of.shape[k] for k in self.fold.axes], self.cx)
        return self.cx.expr("NP.divide(ACC, N)", NP=self.cx.numpy, ACC=acc, N=count)

    def _loops(self, axes: Sequence[int], body: list[ast.stmt]) -> list[ast.stmt]:
        for k in reversed(axes):
            name = self.names[k]
            if name is not None:
                text = "for I in range(N): BODY"
                body = self.cx.code(text, I=name, N=self.of.shape[k], BODY=body)
        return body


@fires_on(ast.Call, calls=named(_MOMENTS))
def array_moment(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.var``, ``std``, ``ptp`` and ``count_nonzero`` → expressions over other reductions.

        s = np.count_nonzero(x)
    →
        _sum = np.int64(0)
        for _i in range(x.shape[0]):
            _sum = np.add(_sum, np.not_equal(x[_i], 0))
        s = _sum
    """
    fold = reduction_of(node, cx)
    if fold is None or fold.name not in _MOMENTS:
        return None
    x = fold.array if isinstance(fold.array, ast.Name) else bind_fresh(fold.array, "a", cx)
    axes = ast.Tuple([ast.Constant(k) for k in fold.axes], ast.Load())
    parts = {"NP": cx.numpy, "X": x, "A": axes, "K": ast.Constant(fold.keepdims)}
    if fold.name == "ptp":
        text = "NP.subtract(NP.max(X, axis=A, keepdims=K), NP.min(X, axis=A, keepdims=K))"
        return cx.expr(text, **parts)
    if fold.name == "count_nonzero":
        call = cx.expr("NP.sum(NP.not_equal(X, 0), axis=A, keepdims=K)", **parts)
        weak = ScalarType("i64", weak=True) in cx.fact(node).types  # type: ignore[arg-type]
        return cx.expr("int(E)", E=call) if weak else call
    mean = bind_fresh(cx.expr("NP.mean(X, axis=A, keepdims=True)", **parts), "mean", cx)
    square = _squared_magnitude(cx.expr("NP.subtract(X, M)", M=mean, **parts), cx)
    lengths = [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in fold.axes]
    count = product_of(lengths, cx)
    if fold.ddof:
        count = cx.expr("max(N - D, 0)", N=count, D=ast.Constant(fold.ddof))
    text = "NP.divide(NP.sum(S, axis=A, keepdims=K), N)"
    variance = cx.expr(text, S=square, N=count, **parts)
    return variance if fold.name == "var" else cx.expr("NP.sqrt(V)", NP=cx.numpy, V=variance)


def _squared_magnitude(x: ast.expr, cx: Context) -> ast.expr:
    """The square of what is real; of complex numbers that of their size."""
    of = cx.fact(x).array
    if of is None or of.dtype not in PARTS:
        return cx.expr("NP.square(X)", NP=cx.numpy, X=x)
    parts = {"NP": cx.numpy, "X": bind_fresh(x, "from_mean", cx)}
    return cx.expr("NP.add(NP.square(X.real), NP.square(X.imag))", **parts)


_UFUNC_REDUCTIONS = {name: row.same_as for name, row in FUNCTIONS.items() if row.same_as}
_SIGNATURES = {
    name: row.accumulator or REDUCE_ARGUMENTS
    for name, row in FUNCTIONS.items() if row.accumulator or row.same_as
}

_WIDE_DTYPES = ("i64", "u64", "f32", "f64", "c64", "c128")
"""What sums of these are, too."""


@fires_on(ast.Call, calls=named(_SIGNATURES))
def reduction_identity(node: ast.AST, cx: Context) -> ast.expr | None:
    """Other spellings of a reduction, ``np.add.reduce(x)``, → the reduction, ``np.sum(x)``.

        s = np.sum(k, dtype=np.float64)
        t = np.maximum.reduce(x)
    →
        _sum = np.float64(0)
        for _i in range(k.shape[0]):
            _sum = np.add(_sum, np.float64(k[_i]))
        s = _sum
        if x.shape[0] < 1:
            "Python's to answer"
            _max = np.max(x, axis=0)
        else:
            _max = x[0]
            for _i_1 in range(x.shape[0]):
                _max = np.maximum(_max, x[_i_1])
        t = _max
    """
    bound = bind_arguments(node, cx, _SIGNATURES)
    if bound is None or not isinstance(node, ast.expr) or cx.fact(bound["a"]).array is None:
        return None
    if bound.name in _UFUNC_REDUCTIONS:
        return _canonical_name(bound, cx)
    return _with_accumulator_dtype(bound, node, cx) if bound.get("dtype") is not None else None


def _canonical_name(bound: BoundArguments, cx: Context) -> ast.expr | None:
    rest = {"axis": ast.Constant(0), **bound.arguments}
    del rest["a"]
    name = _UFUNC_REDUCTIONS[bound.name]
    if name in ("any", "all") and "dtype" in rest:
        return None
    return _reduction_call(name, bound["a"], rest, cx)


def _with_accumulator_dtype(bound: BoundArguments, node: ast.expr, cx: Context) -> ast.expr | None:
    """The elements are converted first; where the result is of that type anyway, nothing is."""
    types, of = cx.fact(node).types, cx.fact(bound["a"]).array
    rest = {k: e for k, e in bound.arguments.items() if k not in ("a", "dtype")}
    if len(types) != 1 or of is None:
        return None
    (out,) = types
    to, source = ELEMENTS[out.dtype].numpy, ELEMENTS[of.dtype].numpy
    if out.dtype not in _WIDE_DTYPES or (bound.name == "mean" and to.kind == "i"):
        return None
    wider = source.kind == "f" == to.kind and source.itemsize <= to.itemsize
    if bound.name in ("var", "std") and not (wider or to.char == "d"):
        return None
    if of.dtype == out.dtype:
        return _reduction_call(bound.name, bound["a"], rest, cx)
    parts = {"X": bound["a"], "T": bound["dtype"], "NP": cx.numpy}
    return _reduction_call(bound.name, cx.expr("NP.asarray(X, dtype=T)", **parts), rest, cx)


def _reduction_call(
    name: str, x: ast.expr, rest: dict[str, ast.expr], cx: Context
) -> ast.expr:
    call = cx.expr(f"NP.{name}(X)", NP=cx.numpy, X=x)
    assert isinstance(call, ast.Call)
    call.keywords = [ast.keyword(k, e) for k, e in rest.items()]
    return call
