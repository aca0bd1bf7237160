"""``np.arange`` of ints and ``np.linspace`` as functions of the index, without an array.

A view rule: ``np.arange(a, b, k)`` is ``a + i * k`` at i, as Python's ``range``; ``np.linspace`` of
doubles is ``i * step + start``.
"""
from __future__ import annotations

import ast

import numpy as np

from ...frontend.ast_walk import integer_constant
from ...frontend.iterators.iterables import arange_as_range, clamped_length, stream_of
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context, subtract_ints
from ...types.value_types import ScalarType
from ..array_views import View

__all__ = ["is_numeric_sequence", "sequence_view"]

_PYTHON_NUMBERS = {ScalarType("i64", weak=True), ScalarType("f64", weak=True), ScalarType("f64")}
_LINSPACE_PARAMETERS = ("start", "stop", "num", "endpoint")


def is_numeric_sequence(e: ast.expr, cx: Context) -> bool:
    """Whether `sequence_view` knows the elements of `e`."""
    return arange_as_range(e, cx) is not None or _linspace_arguments(e, cx) is not None


def sequence_view(e: ast.expr, cx: Context) -> View | None:
    """``np.arange`` or ``np.linspace`` as a function of the index; None for other expressions."""
    if arange_as_range(e, cx) is not None:
        return _arange(e, cx)
    arguments = _linspace_arguments(e, cx)
    return None if arguments is None else _linspace(arguments, cx)


def _arange(e: ast.expr, cx: Context) -> View | None:
    """The view of ``np.arange``, by the elements of the same range of Python."""
    stream = stream_of(e, cx, ())
    if stream is None:
        return None
    cx.before(*stream.setup)
    length = clamped_length(stream.length, cx)

    def at(i: ast.expr) -> ast.expr:
        element = stream.at(i)
        assert isinstance(element, ast.expr)
        return element

    return View((length,), lambda index: at(index[0]))


def _linspace_arguments(e: ast.expr, cx: Context) -> dict[str, ast.expr] | None:
    """The arguments of a call of linspace by parameter, with defaults; None for other expressions,
    an `endpoint` that is no constant, a `num` that is not surely an int, and ends that are not
    surely Python numbers or doubles.
    """
    match e:
        case ast.Call(func=func, args=args) if cx.resolve(func) is np.linspace and len(args) <= 4:
            arguments = dict(zip(_LINSPACE_PARAMETERS, args, strict=False))
            arguments |= {k.arg: k.value for k in e.keywords if k.arg}
        case _:
            return None
    end = arguments.setdefault("endpoint", ast.Constant(True))
    num = arguments.setdefault("num", ast.Constant(50))
    valid = isinstance(end, ast.Constant) and isinstance(end.value, bool) and cx.fact(num).is_int
    if not valid or set(arguments) != set(_LINSPACE_PARAMETERS):
        return None
    types = cx.fact(arguments["start"]).types, cx.fact(arguments["stop"]).types
    return arguments if all(t and t <= _PYTHON_NUMBERS for t in types) else None


def _linspace(arguments: dict[str, ast.expr], cx: Context) -> View:
    """The view of linspace, with the rounding of NumPy: the step is computed first, then
    ``i * step + start``; with the endpoint, the last element is `stop`.

    NumPy uses other formulas for fewer than two points (with `endpoint` False: fewer than one), and
    for a step of zero. Checks leave such calls to Python.
    """
    num, closed = arguments["num"], getattr(arguments["endpoint"], "value", False)
    start, stop = (
        bind_fresh(cx.expr("NP.float64(E)", NP=cx.numpy, E=arguments[k]), k, cx)
        for k in ("start", "stop")
    )
    last = subtract_ints(num, ast.Constant(1), cx)
    intervals = last if closed else num
    fewest = ast.Constant(2 if closed else 1)
    checks = [cx.expr("N < K", N=num, K=fewest)] if (integer_constant(num) or 0) < 2 else []
    if checks:
        intervals = cx.expr("max(N, 1)", N=intervals)
    text = "NP.divide(NP.subtract(B, A), N)"
    step = bind_fresh(cx.expr(text, NP=cx.numpy, A=start, B=stop, N=intervals), "step", cx)
    checks.append(cx.expr("STEP == 0.0", STEP=step))
    text = "NP.add(NP.multiply(I, STEP), A)"
    if closed:
        text = f"B if I == LAST else {text}"

    def at(i: ast.expr) -> ast.expr:
        return cx.expr(text, NP=cx.numpy, I=i, STEP=step, A=start, B=stop, LAST=last)

    return View((num,), lambda index: at(index[0]), tuple(checks))
