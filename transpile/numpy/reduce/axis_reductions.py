"""Reductions over axes: ``np.sum`` and its kin, var, std and ptp, as loop nests.

`array_reduction` is the macro for the functions and methods whose row has ``reduction``: an outer
nest over the axes that stay, an accumulator, and an inner nest over the reduced axes, both in the
order of memory. `derived_reduction` rewrites var, std, ptp and count_nonzero as expressions over
reductions. `reduction_identity` rewrites ``np.add.reduce(x)`` as ``np.sum(x)``, and calls with
``dtype=``. `reduction_of` parses the arguments for all of them.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from loopir.lazy_dataclass import record

from ...analysis.type_inference.type_lattice import UNKNOWN_ORDER
from ...frontend.ast_walk import integer_constant, is_none
from ...frontend.macros.bind_operands import bind_fresh, bind_operand, bind_unless_repeatable
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...frontend.macros.replay_guards import guarded, unique_nodes
from ...types.value_types import ELEMENTS, PARTS, ArrayType, ScalarType
from ..array_nests import allocate_array, dtype_expr, fresh_indices, product_of, unit_length_tests
from ..array_views import (
    View,
    element_at,
    is_unit_length,
    length_mismatches,
    note_unknown_order,
    view_of,
)
from ..call_arguments import BoundArguments, bind_arguments, representable_constant
from ..function_row import Fold
from ..function_table import FUNCTIONS, REDUCE_ARGUMENTS, is_array_method
from ..numpy_errors import note_missing_axis

__all__ = [
    "ON_BOOLS", "REDUCTIONS", "Reduction", "array_reduction", "reduction_of", "derived_reduction",
    "reduction_identity",
]

REDUCTIONS: dict[str, Fold] = {n: row.reduction for n, row in FUNCTIONS.items() if row.reduction}
"""By the function: how it combines elements."""

_DERIVED = frozenset(name for name, row in FUNCTIONS.items() if row.derived)
"""Functions that are expressions over reductions."""

_ROUNDED = frozenset(n for n, fold in REDUCTIONS.items() if fold.function in ("add", "multiply"))
"""Reductions of floats that round, so that their order matters: sum, prod, mean."""

ON_BOOLS = {"minimum": "logical_and", "maximum": "logical_or"}
"""The ufunc that equals another one on bools."""


@record(frozen=True, slots=True)
class Reduction:
    """A call ``np.name(array, axis, keepdims=…, …)`` with its arguments."""

    name: str
    array: ast.expr
    axes: tuple[int, ...]  # the reduced axes, ascending, from 0
    rank: int  # of the array
    keepdims: bool = False  # whether reduced axes stay, with length 1
    ddof: ast.expr | None = None  # of var and std, if given: an int
    initial: ast.expr | None = None  # the first accumulator; None: that of the function
    where: ast.expr | None = None  # the mask of the elements to combine; None: all


@fires_on(ast.Call, calls=numpy_callees(REDUCTIONS))
def array_reduction(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.sum(X, axis)`` and its kin → a loop nest with an accumulator for each result. The
    call is replayed where NumPy raises or warns: for an extremum or a mean of nothing, and for
    operands of different lengths.

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

    `reduction_of` reads the arguments, `_reduction_loops` decides what is left to NumPy, and
    `_ReductionNests` makes the loops: outside those over the axes that stay, inside those over the
    reduced axes, both in the order of memory. So above, ``axis=0`` goes down each column; the pass
    `interchange_reductions` may make that a sweep over rows. A sum, product or mean of floats is
    marked as a fold (`Context.mark_folds`), since NumPy adds in another order, pairwise:
    ``reassociate=False`` refuses it.
    """
    reduction = reduction_of(node, cx)
    if reduction is None or reduction.name not in REDUCTIONS or not isinstance(node, ast.expr):
        return None
    name = cx.fresh(reduction.name)
    return cx.bound_name(name, lambda: _reduction_loops(reduction, name, node, cx))


def reduction_of(node: ast.AST, cx: Context) -> Reduction | None:
    """The reduction that `node` calls, as a function or method. None

    - for other calls;
    - where the operand is not surely an array whose rank is known;
    - where ``axis`` or ``keepdims`` is no constant, or ``ddof`` no int;
    - with other arguments. ``initial`` is taken where the row says so (`Fold.initial`), ``where``
      of all but ``mean`` and the derived functions.

    A constant axis that there is not is noted, for the report (`note_missing_axis`).
    """
    match node:
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=args) if (
            cx.resolve(node.func) is None and cx.fact(array).array
        ):
            if not is_array_method(name):
                return None
        case ast.Call(func=func, args=[array, *args]):
            name = getattr(cx.resolve(func), "__name__", "")
            if not cx.is_numpy(func, name):
                return None
        case _:
            return None
    rank = cx.fact(array).rank
    if name not in REDUCTIONS and name not in _DERIVED:
        return None
    if not cx.fact(array).array or not rank or len(args) > 1:
        return None
    arguments = {k.arg: k.value for k in node.keywords}
    arguments |= dict(zip(["axis"], args, strict=False))
    axis = arguments.pop("axis", None)
    axes = _reduced_axes(axis, rank)
    if axes is None:
        note_missing_axis(node, _listed_axes(axis), rank)
    keepdims = arguments.pop("keepdims", ast.Constant(False))
    ddof = arguments.pop("ddof", None) if name in ("var", "std") else None
    is_constant = isinstance(keepdims, ast.Constant) and isinstance(keepdims.value, bool)
    takes_initial = name in REDUCTIONS and REDUCTIONS[name].initial
    initial = arguments.pop("initial", None) if takes_initial else None
    where = arguments.pop("where", None) if name in REDUCTIONS and name != "mean" else None
    if arguments or axes is None or not is_constant or not (ddof is None or cx.fact(ddof).is_int):
        return None
    assert isinstance(keepdims, ast.Constant)
    return Reduction(name, array, axes, rank, bool(keepdims.value), ddof, initial, where)


def _reduced_axes(argument: ast.expr | None, rank: int) -> tuple[int, ...] | None:
    """The axes that the argument ``axis`` names, ascending and from 0; all for None. None where one
    is no constant, is out of range, or occurs twice.
    """
    if argument is None or is_none(argument):
        return tuple(range(rank))
    axes = [integer_constant(a, None) for a in _listed_axes(argument)]
    if any(a is None or not -rank <= a < rank for a in axes):
        return None
    normalized = {a % rank for a in axes if a is not None}
    return tuple(sorted(normalized)) if len(normalized) == len(axes) else None


def _listed_axes(argument: ast.expr | None) -> list[ast.expr]:
    """The axes in the argument ``axis``, as expressions: the items of a display, or itself."""
    if argument is None:
        return []
    return argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else [argument]


def _reduction_loops(
    reduction: Reduction, name: str, node: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to the result of `reduction`; `node` is replayed where NumPy
    would raise. None where

    - the array or mask has no view, or the memory order of the result is not known;
    - a sum, product or mean is computed in float16 (NumPy's partial sums are wider);
    - ``initial`` is no constant of the result's dtype;
    - ``where`` is given, and is no mask of the array's rank, or the reduction starts with the first
      element, as an extremum without ``initial``.
    """
    source, ty = view_of(reduction.array, cx), cx.fact(reduction.array).array
    types = cx.fact(node).types
    if source is None or ty is None or len(types) != 1:
        return None
    (result,) = types
    if isinstance(result, ArrayType) and result.rank > 1 and source.order == UNKNOWN_ORDER:
        note_unknown_order(node, cx)
        return None
    if result.dtype == "f16" and reduction.name in _ROUNDED:
        return None
    initial = reduction.initial
    if initial is not None and not representable_constant(initial, result.dtype, cx):
        return None
    reduced_lengths = [source.shape[k] for k in reduction.axes]
    checks = [*source.checks]
    from_first = REDUCTIONS[reduction.name].start is None and initial is None
    mask = None
    if reduction.where is not None:
        mask = _mask_view(reduction.where, ty.rank, cx)
        if mask is None or from_first:
            return None
        mismatches = length_mismatches(source.shape, mask.shape, cx)
        checks = unique_nodes([*checks, *mismatches, *mask.checks])
    # NumPy's result has the memory order of an empty array, which is taken to be in C order
    has_order = isinstance(result, ArrayType) and result.rank > 1 and source.order != "C"
    if from_first or reduction.name == "mean" or has_order:
        may_be_empty = [n for n in reduced_lengths if (integer_constant(n, None) or 0) < 1]
        checks += [cx.expr("N < 1", N=n) for n in may_be_empty]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    if reduction.name in _ROUNDED:
        cx.mark_folds(result.dtype)
    nests = _ReductionNests(reduction, source, mask, ty, result, cx)
    if isinstance(result, ArrayType) and result.rank > 1 and nests.fortran_order:
        kept = (n for k, n in enumerate(source.shape) if k not in reduction.axes)
        lengths = source.shape if reduction.keepdims else [*kept]
        if any(map(is_unit_length, lengths)):
            if ty.rank > 2:
                return None
            nests.allocates_in_f = False  # see `unit_length_tests`
        else:
            checks += unit_length_tests(lengths, cx)
    lines = nests.scalar(name) if isinstance(result, ScalarType) else nests.array(name, result)
    return guarded(checks, original, lines, cx)


def _mask_view(where: ast.expr, rank: int, cx: Context) -> View | None:
    """The view of the argument ``where``; None if it has none, or is no mask of that rank."""
    ty = cx.fact(where).array
    is_mask = ty is not None and (ty.dtype, ty.rank) == ("bool", rank)
    return view_of(where, cx) if is_mask else None


class _ReductionNests:
    """Makes the loops of one reduction, in the order in which its array lies in memory.

    ``nest_axes`` are the axes from the outermost to the innermost loop, ``at`` the subscripts of an
    element, ``dtype`` the dtype of the result.
    """

    def __init__(
        self,
        reduction: Reduction,
        source: View,
        mask: View | None,
        ty: ArrayType,
        result: ArrayType | ScalarType,
        cx: Context,
    ) -> None:
        self.reduction, self.source, self.mask, self.cx = reduction, source, mask, cx
        self.dtype = result.dtype
        self.names = fresh_indices(source.shape, cx)
        self.at = [n or ast.Constant(0) for n in self.names]
        in_f = source.order == "F" or (source.order == "C+F" and ty.unit == 0)
        self.fortran_order = self.allocates_in_f = ty.rank > 1 and in_f
        self.nest_axes = list(range(ty.rank))[:: -1 if self.fortran_order else 1]

    def scalar(self, name: str) -> list[ast.stmt]:
        """Statements that reduce all axes to the scalar `name`."""
        acc = ast.Name(name, ast.Load())
        lines = [self._set(acc, self._start()), *self._loops(self.nest_axes, self._step(acc))]
        end = self._end(acc)
        return lines if end is acc else [*lines, self._set(acc, end)]

    def array(self, name: str, ty: ArrayType) -> list[ast.stmt]:
        """Statements that allocate the array `name` and compute its elements one by one."""
        reduction, one = self.reduction, ast.Constant(1)
        kept = [k for k in range(reduction.rank) if reduction.keepdims or k not in reduction.axes]
        shape = [one if k in reduction.axes else self.source.shape[k] for k in kept]
        places = [ast.Constant(0) if k in reduction.axes else self.at[k] for k in kept]
        place = element_at(ast.Name(name, ast.Load()), places, self.cx)
        acc = ast.Name(self.cx.fresh("acc"), ast.Load())
        body = [
            self._set(acc, self._start()),
            *self._loops([k for k in self.nest_axes if k in reduction.axes], self._step(acc)),
            self._set(place, self._end(acc)),
        ]
        fortran_order = self.allocates_in_f and ty.rank > 1
        outer = [k for k in self.nest_axes if k not in reduction.axes]
        return [
            allocate_array(name, shape, self.dtype, self.cx, fortran_order=fortran_order),
            *self._loops(outer, body),
        ]

    def _set(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        """The statement ``target = value``."""
        (line,) = self.cx.code("TARGET = E", TARGET=target, E=value)
        return line

    def _start(self) -> ast.expr:
        """The first accumulator: ``initial``, the start of the function, or the first element."""
        value, initial = REDUCTIONS[self.reduction.name].start, self.reduction.initial
        if initial is not None:
            return self.cx.expr("T(V)", T=dtype_expr(self.dtype, self.cx), V=initial)
        if value is None:
            zero = ast.Constant(0)
            at = [zero if k in self.reduction.axes else i for k, i in enumerate(self.at)]
            return self.source.at(at)
        start = ast.Constant(bool(value) if self.dtype == "bool" else value)
        return self.cx.expr("T(V)", T=dtype_expr(self.dtype, self.cx), V=start)

    def _step(self, acc: ast.expr) -> list[ast.stmt]:
        """The statement that combines the accumulator with the element, under the mask if any."""
        function = REDUCTIONS[self.reduction.name].function
        if self.dtype == "bool":
            function = ON_BOOLS.get(function, function)
        text = f"NP.{function}(ACC, E)"
        e = self.cx.expr(text, NP=self.cx.numpy, ACC=acc, E=self.source.at(self.at))
        step = [self._set(acc, e)]
        where = self.mask and self.mask.at(self.at)
        return self.cx.code("if C: BODY", C=where, BODY=step) if where else step

    def _end(self, acc: ast.expr) -> ast.expr:
        """The result: the accumulator, divided by the number of elements for a mean."""
        if self.reduction.name != "mean":
            return acc
        count = product_of([self.source.shape[k] for k in self.reduction.axes], self.cx)
        return self.cx.expr("NP.divide(ACC, N)", NP=self.cx.numpy, ACC=acc, N=count)

    def _loops(self, axes: Sequence[int], body: list[ast.stmt]) -> list[ast.stmt]:
        """`body` in loops over `axes`, the first outermost."""
        for k in reversed(axes):
            name = self.names[k]
            if name is not None:
                text = "for I in range(N): BODY"
                body = self.cx.code(text, I=name, N=self.source.shape[k], BODY=body)
        return body


@fires_on(ast.Call, calls=numpy_callees(_DERIVED))
def derived_reduction(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.var``, ``std``, ``ptp`` and ``count_nonzero`` → expressions over other reductions.

        s = np.count_nonzero(x)
    →
        _sum = np.int64(0)
        for _i in range(x.shape[0]):
            _sum = np.add(_sum, np.not_equal(x[_i], 0))
        s = _sum
    """
    reduction = reduction_of(node, cx)
    if reduction is None or reduction.name not in _DERIVED:
        return None
    x = bind_operand(reduction.array, cx)
    axes = ast.Tuple([ast.Constant(k) for k in reduction.axes], ast.Load())
    parts = {"NP": cx.numpy, "X": x, "A": axes, "K": ast.Constant(reduction.keepdims)}
    if reduction.name == "ptp":
        text = "NP.subtract(NP.max(X, axis=A, keepdims=K), NP.min(X, axis=A, keepdims=K))"
        return cx.expr(text, **parts)
    if reduction.name == "count_nonzero":
        call = cx.expr("NP.sum(NP.not_equal(X, 0), axis=A, keepdims=K)", **parts)
        weak = ScalarType("i64", weak=True) in cx.fact(node).types  # type: ignore[arg-type]
        return cx.expr("int(E)", E=call) if weak else call
    mean = bind_fresh(cx.expr("NP.mean(X, axis=A, keepdims=True)", **parts), "mean", cx)
    square = _squared_magnitude(cx.expr("NP.subtract(X, M)", M=mean, **parts), cx)
    lengths = [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in reduction.axes]
    count = product_of(lengths, cx)
    text = "NP.divide(NP.sum(S, axis=A, keepdims=K), N - D)"
    if reduction.name == "std":
        text = f"NP.sqrt({text})"
    if reduction.ddof is None:
        return cx.expr(text.replace("N - D", "N"), S=square, N=count, **parts)
    ddof = bind_unless_repeatable(reduction.ddof, "ddof", cx)
    result = cx.expr(text, S=square, N=count, D=ddof, **parts)
    name, warns = cx.fresh(reduction.name), cx.expr("N <= D", N=count, D=ddof)

    def lines() -> list[ast.stmt]:
        assert isinstance(node, ast.Call)
        (original,) = cx.code("NAME = E", NAME=name, E=node)
        return guarded([warns], original, cx.code("NAME = E", NAME=name, E=result), cx)

    return cx.bound_name(name, lines)


def _squared_magnitude(x: ast.expr, cx: Context) -> ast.expr:
    """The expression of the squared absolute values of `x`."""
    ty = cx.fact(x).array
    if ty is None or ty.dtype not in PARTS:
        return cx.expr("NP.square(X)", NP=cx.numpy, X=x)
    parts = {"NP": cx.numpy, "X": bind_fresh(x, "from_mean", cx)}
    return cx.expr("NP.add(NP.square(X.real), NP.square(X.imag))", **parts)


_UFUNC_REDUCTIONS = {name: row.same_as for name, row in FUNCTIONS.items() if row.same_as}
"""By ``add.reduce`` and the like: the function that computes the same. The ``reduce`` of a ufunc
without such a function becomes a loop in `function_loops.ufunc_reduce_rule`.
"""

_SIGNATURES = {
    name: row.accumulator or REDUCE_ARGUMENTS
    for name, row in FUNCTIONS.items() if row.accumulator or row.same_as
}

_WIDE_DTYPES = ("i64", "u64", "f32", "f64", "c64", "c128")
"""Dtypes whose sums and products have the same dtype."""


@fires_on(ast.Call, calls=numpy_callees(_SIGNATURES))
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
    """A ``reduce`` of a ufunc as a call of the function that equals it; its default axis is 0. None
    for any and all with a dtype.
    """
    arguments = {"axis": ast.Constant(0), **bound.arguments}
    del arguments["a"]
    name = _UFUNC_REDUCTIONS[bound.name]
    if name in ("any", "all") and "dtype" in arguments:
        return None
    return _reduction_call(name, bound["a"], arguments, cx)


def _with_accumulator_dtype(bound: BoundArguments, node: ast.expr, cx: Context) -> ast.expr | None:
    """A reduction with ``dtype=`` as one without it, of the converted elements; these are not
    converted if they have that dtype. None where NumPy computes in another way: a dtype in which
    the sum would be widened again, an integer mean, a variance in a narrower dtype.
    """
    types, array = cx.fact(node).types, cx.fact(bound["a"]).array
    arguments = {k: e for k, e in bound.arguments.items() if k not in ("a", "dtype")}
    if len(types) != 1 or array is None:
        return None
    (result,) = types
    target, source = ELEMENTS[result.dtype].numpy, ELEMENTS[array.dtype].numpy
    if result.dtype not in _WIDE_DTYPES or (bound.name == "mean" and target.kind == "i"):
        return None
    wider = source.kind == "f" == target.kind and source.itemsize <= target.itemsize
    if bound.name in ("var", "std") and not (wider or target.char == "d"):
        return None
    if array.dtype == result.dtype:
        return _reduction_call(bound.name, bound["a"], arguments, cx)
    parts = {"X": bound["a"], "T": bound["dtype"], "NP": cx.numpy}
    return _reduction_call(bound.name, cx.expr("NP.asarray(X, dtype=T)", **parts), arguments, cx)


def _reduction_call(
    name: str, x: ast.expr, arguments: dict[str, ast.expr], cx: Context
) -> ast.expr:
    """The call ``np.name(x, **arguments)``."""
    call = cx.expr(f"NP.{name}(X)", NP=cx.numpy, X=x)
    assert isinstance(call, ast.Call)
    call.keywords = [ast.keyword(k, e) for k, e in arguments.items()]
    return call
