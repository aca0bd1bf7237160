"""Prefix scans and arg-reductions along an axis: ``np.cumsum``, ``np.argmin`` and their kin.

Two macros: `array_scan` for rows with ``scan``, `array_arg_reduction` for rows with ``search``.
Both make a loop along one axis inside a nest over the other axes (`_axis_loops`); an arg-reduction
of a whole array of several axes numbers the elements in C order (`_flat_arg_reduction`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

import numpy as np

from loopir.lazy_dataclass import record

from ...analysis.type_inference.type_lattice import UNKNOWN_ORDER
from ...frontend.ast_walk import integer_constant, is_none
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ELEMENTS, PARTS
from ..array_nests import allocate_array, dtype_expr, loop_nest, row_major_index, unit_length_tests
from ..array_views import View, element_at, is_unit_length, note_unknown_order, view_of
from ..function_row import Fold
from ..function_table import FUNCTIONS, is_array_method
from ..numpy_errors import note_missing_axis
from .arg_reduction_nests import search_all_columns, search_by_rows
from .axis_reductions import ON_BOOLS

__all__ = ["array_arg_reduction", "array_scan"]

_SCANS: dict[str, Fold] = {name: row.scan for name, row in FUNCTIONS.items() if row.scan}
"""By the function: how it combines elements."""

_ARG_REDUCTIONS = {name: row.search for name, row in FUNCTIONS.items() if row.search}
"""By the function: the comparison of a later element with the best so far that makes it the best.
"""


@fires_on(ast.Call, calls=numpy_callees(_SCANS))
def array_scan(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.cumsum(x, axis)`` and its kin → a loop that stores the accumulator at each element. Sums
    of floats start from -0.0, the identity of addition.

        y = np.cumsum(x)
        y = np.maximum.accumulate(x)
    →
        _cumsum = np.empty(x.shape[0], np.float64)
        _acc = np.float64(-0.0)
        for _i in range(x.shape[0]):
            _acc = np.add(_acc, x[_i])
            _cumsum[_i] = _acc
        y = _cumsum
        if x.shape[0] < 1:
            "Python's to answer"
            _accumulate = np.maximum.accumulate(x)
        else:
            _accumulate = np.empty(x.shape[0], np.float64)
            _acc_1 = x[0]
            for _i_1 in range(x.shape[0]):
                _acc_1 = np.maximum(_acc_1, x[_i_1])
                _accumulate[_i_1] = _acc_1
        y = _accumulate

    The column ``scan`` of the function's row (`function_table`) has the ufunc and the start. Where
    that is None, as an extremum has no identity, the first element is the start.

    `_parse_call` reads the axis, which must be a constant. `_axis_loops` puts the nest over the
    other axes around the loop: of ``np.cumsum(X, axis=1)``, ``for _i in range(X.shape[0])``, in
    which ``_acc`` starts anew.
    """
    return _expand_call(node, _SCANS, _scan_loop, cx)


@fires_on(ast.Call, calls=numpy_callees(_ARG_REDUCTIONS))
def array_arg_reduction(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.argmin(x, axis)`` and ``argmax`` → a loop: the index of the first NaN, else of the first
    smallest (largest) element. The call is replayed for an empty array, for which NumPy raises.

        i = np.argmin(x)
    →
        if x.shape[0] < 1:
            "Python's to answer"
            _argmin = np.argmin(x)
        else:
            _best = x[0]
            _at = 0
            _nan = False
            for _i in range(x.shape[0]):
                _v = x[_i]
                if _v < _best:
                    _best = _v
                    _at = _i
                if _v != _v:
                    _nan = True
            if _nan:
                _at = -1
                for _i_1 in range(x.shape[0]):
                    _v = x[_i_1]
                    if _at < 0 and _v != _v:
                        _at = _i_1
            _argmin = np.int64(_at)
        i = _argmin
    """
    return _expand_call(node, _ARG_REDUCTIONS, _arg_reduction_loop, cx)


@record(frozen=True, slots=True)
class _AxisLoop:
    """One run of a scan or arg-reduction along an axis, at fixed subscripts of the other axes."""

    name: str  # the function, as in `_SCANS` or `_ARG_REDUCTIONS`
    length: ast.expr  # of the axis
    at: Callable[[ast.expr], ast.expr]  # the element at a subscript of the axis
    nans: bool  # whether elements may be NaN
    dtype: str  # of the result
    place: Callable[[ast.expr], ast.expr]  # where the result for a subscript of the axis is stored


def _expand_call(
    node: ast.AST, names: Container[str], make: Callable[[_AxisLoop, Context], list[ast.stmt]],
    cx: Context,
) -> ast.expr | None:
    """The fresh name of the result of the call `node`, if it calls one of `names`; `make` makes the
    loop along the axis. None for other calls.
    """
    call = _parse_call(node, cx) if isinstance(node, ast.Call) else None
    if call is None or call.name not in names:
        return None
    assert isinstance(node, ast.Call)
    name, array, axis = call
    out = cx.fresh(name.rpartition(".")[2])
    if axis is None:
        return cx.bound_name(out, lambda: _flat_arg_reduction(node, name, array, out, cx))
    return cx.bound_name(out, lambda: _axis_loops(node, name, array, axis, out, make, cx))


def _axis_loops(
    node: ast.Call, name: str, array: ast.expr, axis: int, result_name: str,
    make: Callable[[_AxisLoop, Context], list[ast.stmt]], cx: Context,
) -> list[ast.stmt] | None:
    """Statements that bind `result_name` to the result: a nest over the other axes around the loop
    that `make` makes. `node` is replayed for an empty axis where the loop needs a first element.
    None where `array` has no view, or a memory order is not known.
    """
    source, fact = view_of(array, cx), cx.fact(node)
    result_dtypes, element_dtypes = ([t.dtype for t in cx.fact(e).types] for e in (node, array))
    if source is None or len(result_dtypes) != 1:
        return None
    if (fact.rank or 0) > 1 and UNKNOWN_ORDER in (source.order, fact.order):
        note_unknown_order(node, cx)
        return None
    nans = any(ELEMENTS[t].kind == "f" for t in element_dtypes)
    checks = [*source.checks]
    if name not in _SCANS or _SCANS[name].start is None or result_dtypes[0] in PARTS:
        checks.append(cx.expr("N < 1", N=source.shape[axis]))
    other_lengths = (*source.shape[:axis], *source.shape[axis + 1 :])
    result = ast.Name(result_name, ast.Load())

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        def along(i: ast.expr) -> list[ast.expr]:
            return [*at[:axis], i, *at[axis:]]

        def place(i: ast.expr) -> ast.expr:
            subscripts = along(i) if name in _SCANS else at
            return element_at(result, subscripts, cx) if subscripts else result

        def scalar(i: ast.expr) -> ast.expr:
            return _element_of_types(source.at(along(i)), element_dtypes, cx)

        return make(_AxisLoop(name, source.shape[axis], scalar, nans, result_dtypes[0], place), cx)

    if _searches_columns(name, axis, source, element_dtypes):
        lines = search_all_columns(
            _ARG_REDUCTIONS[name] or "", source.shape, axis, result, element_dtypes[0],
            lambda at: _element_of_types(source.at(at), element_dtypes, cx), nans, cx,
        )
    else:
        lines = loop_nest(other_lengths, body, cx, source.order == "F")
    if fact.rank:
        shape = source.shape if name in _SCANS else other_lengths
        in_f, dtype = fact.order == "F" and len(shape) > 1, result_dtypes[0]
        if in_f and any(map(is_unit_length, shape)):
            if len(shape) > 2:
                return None
            in_f = False  # see `unit_length_tests`
        checks += unit_length_tests(shape, cx) if in_f else []
        lines.insert(0, allocate_array(result_name, shape, dtype, cx, fortran_order=in_f))
    (original,) = cx.code("OUT = E", OUT=result_name, E=node)
    return guarded(checks, original, lines, cx)


def _searches_columns(name: str, axis: int, source: View, element_dtypes: Sequence[str]) -> bool:
    """Whether the arg-reduction `name` along `axis` runs along rows (`search_all_columns`)."""
    is_inner_axis = axis == len(source.shape) - 1
    if name not in _ARG_REDUCTIONS or is_inner_axis or source.order != "C":
        return False
    return len(element_dtypes) == 1 and ELEMENTS[element_dtypes[0]].bytes > 1


def _element_of_types(e: ast.expr, types: Sequence[str], cx: Context) -> ast.expr:
    """The element `e` as a scalar of the array's dtype: ``np.where`` of scalars gives a 0-d array,
    which is converted.
    """
    is_where = isinstance(e, ast.Call) and cx.is_numpy(e.func, "where") and len(types) == 1
    return cx.expr("T(E)", T=dtype_expr(types[0], cx), E=e) if is_where else e


class _ParsedCall(NamedTuple):
    """A call of a scan or an arg-reduction."""

    name: str  # of the NumPy function or method; "add.accumulate" for that of a ufunc
    array: ast.expr
    axis: int | None  # from 0; None: an arg-reduction of the flat array


def _parse_call(node: ast.Call, cx: Context) -> _ParsedCall | None:
    """`node` as a call of some function of an array along one axis; the caller compares the name.
    None where it is no such call, has other arguments than ``axis``, or the axis is no constant, or
    is missing where the function needs one. A constant axis that there is not is noted, for the
    report (`note_missing_axis`).
    """
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="accumulate"), args=[array, *args]) if (
            isinstance(ufunc := cx.resolve(owner), np.ufunc)
        ):
            name = f"{ufunc.__name__}.accumulate" if cx.is_numpy(owner, ufunc.__name__) else ""
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=args) if (
            cx.resolve(node.func) is None
        ):
            if not is_array_method(name):
                return None
        case ast.Call(func=func, args=[array, *args]):
            name = getattr(cx.resolve(func), "__name__", "")
            name = name if cx.is_numpy(func, name) else ""
        case _:
            return None
    axis_arguments = [*args, *(k.value for k in node.keywords if k.arg == "axis")]
    along_first = name in FUNCTIONS and FUNCTIONS[name].without_axis == "first"
    axes = [e for e in axis_arguments if not is_none(e) or along_first]
    one_axis = len(axis_arguments) == len(args) + len(node.keywords) < 2
    understood = one_axis and cx.fact(array).array is not None
    rank = cx.fact(array).rank or 0
    default = 0 if rank == 1 or along_first else None
    axis = integer_constant(axes[0] if axes else None, default)
    if understood and not axes and name in _ARG_REDUCTIONS and rank > 1:
        return _ParsedCall(name, array, None)
    if understood:
        note_missing_axis(node, axes, rank)
    if not understood or axis is None or not -rank <= axis < rank:
        return None
    return _ParsedCall(name, array, axis % rank)


def _scan_loop(call: _AxisLoop, cx: Context) -> list[ast.stmt]:
    """The loop of a scan: starts with the start value, or the first element where there is none (it
    is then combined with itself); for complex numbers with the first element stored as it is.
    """
    function, start = _SCANS[call.name].function, _SCANS[call.name].start
    if call.dtype == "bool":
        function = ON_BOOLS.get(function, function)
    initial, loop_head = call.at(ast.Constant(0)), "for I in range(N):"
    if call.dtype in PARTS:  # addition of complex numbers has no identity: zeros have two signs
        loop_head = "FIRST_PLACE = ACC\n        for I in range(1, N):"
    elif start is not None:
        zero = -0.0 if ELEMENTS[call.dtype].kind == "f" and not start else start
        initial = cx.expr("T(V)", T=dtype_expr(call.dtype, cx), V=cx.expr(repr(zero)))
    text = f"""
        ACC = FIRST
        {loop_head}
            ACC = NP.{function}(ACC, E)
            PLACE = ACC
    """
    i = ast.Name(cx.fresh("i"), ast.Load())
    return cx.code(
        text, NP=cx.numpy, N=call.length, ACC=cx.fresh("acc"), FIRST=initial, I=i, E=call.at(i),
        PLACE=call.place(i), FIRST_PLACE=call.place(ast.Constant(0)),
    )


def _arg_reduction_loop(call: _AxisLoop, cx: Context) -> list[ast.stmt]:
    """The search along the axis, and the store of the index."""
    def at(index: Sequence[ast.expr]) -> ast.expr:
        return call.at(index[0])

    lines, place = _arg_reduction_search(call.name, [call.length], at, call.nans, cx)
    text = "PLACE = T(AT)"
    return [*lines, *cx.code(text, PLACE=call.place(place), T=dtype_expr(call.dtype, cx), AT=place)]


def _flat_arg_reduction(
    node: ast.Call, name: str, array: ast.expr, result_name: str, cx: Context
) -> list[ast.stmt] | None:
    """Statements for ``np.argmin(array)`` without an axis, of an array of several axes: the index
    counts elements in C order, whatever the memory order is.
    """
    source, fact = view_of(array, cx), cx.fact(node)
    if source is None or len(fact.types) != 1:
        return None
    element_dtypes = [t.dtype for t in cx.fact(array).types]
    nans = any(ELEMENTS[t].kind == "f" for t in element_dtypes)

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return _element_of_types(source.at(index), element_dtypes, cx)

    kinds = {ELEMENTS[t].kind for t in element_dtypes}
    if len(kinds) == 1 and sum(not is_unit_length(n) for n in source.shape) > 1:
        search = search_by_rows(_ARG_REDUCTIONS[name] or "", source.shape, at, kinds.pop(), cx)
    else:
        search = _arg_reduction_search(name, source.shape, at, nans, cx)
    lines, place = search
    (dtype,) = (t.dtype for t in fact.types)
    lines += cx.code("OUT = T(AT)", OUT=result_name, T=dtype_expr(dtype, cx), AT=place)
    (original,) = cx.code("OUT = E", OUT=result_name, E=node)
    may_be_empty = [cx.expr("N < 1", N=n) for n in source.shape if not is_unit_length(n)]
    return guarded([*source.checks, *may_be_empty], original, lines, cx)


def _arg_reduction_search(
    name: str, shape: Sequence[ast.expr], at: Callable[[Sequence[ast.expr]], ast.expr],
    nans: bool, cx: Context,
) -> tuple[list[ast.stmt], ast.expr]:
    """Statements that search an array of `shape`, and the name to which they bind the index in C
    order. With `nans`, a second search finds the first NaN if there was one.
    """
    nan, position, v, best = (ast.Name(cx.fresh(n), ast.Load()) for n in ("nan", "at", "v", "best"))

    def code(text: str, index: Sequence[ast.expr]) -> list[ast.stmt]:
        i = row_major_index(index, shape, cx)
        return cx.code(text, V=v, E=at(index), I=i, AT=position, BEST=best, NAN=nan)

    def step(index: Sequence[ast.expr]) -> list[ast.stmt]:
        return code(_BEST_STEP.format(_ARG_REDUCTIONS[name]) + (_NAN_STEP if nans else ""), index)

    def seek(index: Sequence[ast.expr]) -> list[ast.stmt]:
        return code(_FIRST_NAN_STEP, index)

    lines = cx.code(
        "BEST = FIRST\nAT = 0", BEST=best, FIRST=at([ast.Constant(0)] * len(shape)), AT=position
    )
    if nans:
        lines += cx.code("NAN = False", NAN=nan)
    lines += loop_nest(shape, step, cx)
    if nans:
        text = "if NAN:\n    AT = -1\n    SEEK"
        lines += cx.code(text, NAN=nan, AT=position, SEEK=loop_nest(shape, seek, cx))
    return lines, position


_BEST_STEP = """
V = E
if V {} BEST:
    BEST = V
    AT = I
"""
_NAN_STEP = """
if V != V:
    NAN = True
"""
_FIRST_NAN_STEP = """
V = E
if AT < 0 and V != V:
    AT = I
"""
