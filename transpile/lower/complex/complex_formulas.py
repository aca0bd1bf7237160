"""Complex functions as formulas over real and imaginary parts, with Python's and NumPy's bits.

The formulas give the same bits as the library that they stand for, so their order of operations
must not be changed::

    do = ComplexSteps(b)
    re = do("sub", do("mul", a.re, c.re), do("mul", a.im, c.im))        # of a product, `_mul`
    im = do("add", do("mul", a.re, c.im), do("mul", a.im, c.re))

A formula applies real operations through `ComplexSteps`, which remembers them: NumPy gives one
warning for a whole complex operation, if one of its steps has raised an exception.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr
from loopir.op_table import OPS

from ...types.typed_values import FALSE, TRUE, bool_op
from ..state.float_exceptions import check_warning, note_warning, status_raised
from ..state.ir_builder import IRBuilder
from ..state.path_conditions import apply_op

__all__ = [
    "COMPLEX_FUNCTIONS", "COMPLEX_OPS", "ComplexExpr", "ComplexSteps", "complex_function",
    "complex_power", "is_nonzero", "numpy_complex_power", "python_complex_power",
    "python_real_power", "reciprocal", "select_parts",
]


class ComplexExpr(NamedTuple):
    """A complex number as Loop IR: its real and its imaginary part."""

    re: Expr
    im: Expr


class ComplexSteps:
    """Applies the real operations of one complex operation, and records which exceptions they
    raise.

    ``_applied``: each operation with its operands and value. ``_nan_compares``: bools, whether a
    number that is compared by a signaling comparison (which raises "invalid" for NaN) is a NaN.
    """

    def __init__(self, b: IRBuilder) -> None:
        self.b = b
        self._applied: list[tuple[str, tuple[Expr, ...], Expr]] = []
        self._nan_compares: list[Expr] = []

    def __call__(self, op: str, *operands: Expr) -> Expr:
        """``op`` on `operands`. In a recording kernel all of them are bound to names, since the
        test of the exception uses them, too.
        """
        b = self.b
        if b.warnings.raised_array is not None:
            operands = tuple(map(b.bind, operands))
        value = apply_op(b, op, *operands)
        if b.warnings.raised_array is not None:
            value = b.bind(value)
        self._applied.append((op, operands, value))
        return value

    def signaling_compare(self, e: Expr) -> None:
        """Records that the library compares `e` by an instruction that raises "invalid" for a NaN.
        The kernel's own comparison does not, so a check reports it.
        """
        if not isinstance(e, Const):
            is_nan = Call("isnan", (e,), "bool")
            check_warning(self.b, bool_op("not", is_nan), "invalid")
            self._nan_compares.append(is_nan)

    def note_warnings(self, op: str, spelled: str, node: ast.AST, *, certain: bool) -> None:
        """Records one source of warnings for each exception that the complex operation `op` may
        raise; see `note_warning` for the other parameters.
        """
        for status in OPS[op].raises:
            raised: Expr = FALSE
            for step_raised in self._steps_raised(status):
                raised = bool_op("or", raised, step_raised)
            note_warning(self.b, status, spelled, node, raised, certain=certain)

    def _steps_raised(self, status: str) -> list[Expr]:
        """Bools, one of which is true if a step has raised `status`; only a recording kernel tests
        the steps.
        """
        if self.b.warnings.raised_array is None:
            return [TRUE]
        raised = [
            status_raised(status, op, operands, value)
            for op, operands, value in self._applied if status in OPS[op].raises
        ]
        return raised + self._nan_compares if status == "invalid" else raised


# The formulas: functions of the parts of both operands and of the steps. ``python``: as Python
# computes it, rather than NumPy.


def _add(a: ComplexExpr, c: ComplexExpr, do: ComplexSteps, *, python: bool) -> ComplexExpr:
    return ComplexExpr(do("add", a.re, c.re), do("add", a.im, c.im))


def _sub(a: ComplexExpr, c: ComplexExpr, do: ComplexSteps, *, python: bool) -> ComplexExpr:
    return ComplexExpr(do("sub", a.re, c.re), do("sub", a.im, c.im))


def _mul(a: ComplexExpr, c: ComplexExpr, do: ComplexSteps, *, python: bool) -> ComplexExpr:
    """The product by the schoolbook formula. With an infinity it may be NaN, as NumPy and Python
    before 3.14 have it. Newer Pythons correct it by C99's annex G: there Python's own products stay
    Python (`complex_arithmetic._require_old_complex_rules`).
    """
    re = do("sub", do("mul", a.re, c.re), do("mul", a.im, c.im))
    im = do("add", do("mul", a.re, c.im), do("mul", a.im, c.re))
    return ComplexExpr(re, im)


def _fused_mul(a: ComplexExpr, c: ComplexExpr, do: ComplexSteps, *, python: bool) -> ComplexExpr:
    """The product with fused multiply-adds, as NumPy's array loops compute it on machines with FMA
    (`numpy_fuses_complex_products`).
    """
    im_product = do("mul", a.im, c.im)
    re = do("fma", a.re, c.re, Call("neg", (im_product,), im_product.dtype))
    return ComplexExpr(re, do("fma", a.re, c.im, do("mul", a.im, c.re)))


def _div(a: ComplexExpr, c: ComplexExpr, do: ComplexSteps, *, python: bool) -> ComplexExpr:
    """Smith's algorithm (R. L. Smith, CACM 5(8), 1962): ``a / c`` without overflow in between.

    Let ``large`` be the part of ``c`` with the larger magnitude, ``small`` the other one, ``ratio =
    small / large`` and ``scale = large + small * ratio``. If ``large`` is ``c.re``::

        re = (a.re + a.im * ratio) / scale        im = (a.im - a.re * ratio) / scale

    else with the parts of ``a`` exchanged, and the sign of the imaginary part changed. Python
    divides twice by ``scale``, NumPy multiplies by its reciprocal. For ``c == 0`` NumPy divides
    both parts by ``abs(c.re)``, and its comparison of the magnitudes raises "invalid" for a NaN.
    """
    b, one, zero = do.b, Const(1.0, a.re.dtype), Const(0.0, a.re.dtype)
    magnitudes = [_abs(c.re), _abs(c.im)]
    re_is_larger = b.bind(_folded(operator.ge, "ge", *magnitudes), "large")
    is_zero = FALSE if python else b.bind(bool_op("not", is_nonzero(c)), "null")
    for part in () if python else c:
        do.signaling_compare(part)
    large = b.bind(select_parts(re_is_larger, c.re, c.im), "large")
    small = b.bind(select_parts(re_is_larger, c.im, c.re), "small")
    ratio = b.bind(do("div", small, select_parts(is_zero, one, large)), "ratio")
    scale = b.bind(do("add", large, do("mul", small, ratio)), "scale")
    first = b.bind(select_parts(is_zero, zero, select_parts(re_is_larger, a.re, a.im)))
    second = b.bind(select_parts(is_zero, zero, select_parts(re_is_larger, a.im, a.re)))
    re = b.bind(do("add", first, do("mul", second, ratio)))
    product = b.bind(do("mul", first, ratio))
    im = b.bind(select_parts(re_is_larger, do("sub", second, product), do("sub", product, second)))
    if python:
        return ComplexExpr(do("div", re, scale), do("div", im, scale))
    reciprocal = b.bind(do("div", one, select_parts(is_zero, one, scale)), "inverse")
    zero_divisor = b.bind(select_parts(is_zero, magnitudes[0], one), "whole")
    return ComplexExpr(
        select_parts(is_zero, do("div", a.re, zero_divisor), do("mul", re, reciprocal)),
        select_parts(is_zero, do("div", a.im, zero_divisor), do("mul", im, reciprocal)),
    )


def complex_power(a: ComplexExpr, n: int, do: ComplexSteps) -> ComplexExpr:
    """``a ** n`` for n from 2 to 99, in NumPy's order: ``a * a``; ``a * (a * a)``; above that by
    repeated squaring, starting with 1.
    """
    def times(x: ComplexExpr, y: ComplexExpr) -> ComplexExpr:
        return ComplexExpr(*map(do.b.bind, _mul(x, y, do, python=False)))

    if n == 2:
        return times(a, a)
    if n == 3:
        return times(a, times(a, a))
    value = ComplexExpr(Const(1.0, a.re.dtype), Const(0.0, a.re.dtype))
    while True:
        if n & 1:
            value = times(value, a)
        n >>= 1
        if not n:
            return value
        a = times(a, a)


def python_complex_power(a: ComplexExpr, n: int, do: ComplexSteps) -> ComplexExpr:
    """``a ** n`` of Python's complex numbers for n from -100 to 100, in Python's order: repeated
    squaring that starts with 1, and 1 divided by that for n < 1.
    """
    one = ComplexExpr(Const(1.0, "f64"), Const(0.0, "f64"))
    value, left = one, abs(n)
    while left:
        if left & 1:
            value = ComplexExpr(*map(do.b.bind, _mul(value, a, do, python=True)))
        left >>= 1
        if left:
            a = ComplexExpr(*map(do.b.bind, _mul(a, a, do, python=True)))
    return value if n > 0 else _div(one, value, do, python=True)


def python_real_power(a: ComplexExpr, exponent: float, do: ComplexSteps) -> ComplexExpr:
    """``a ** exponent`` of Python's complex numbers for a real exponent that is no whole number, by
    magnitude and phase; `a` is not 0.
    """
    power = Const(exponent, "f64")
    size = do.b.bind(do("pow", do.b.bind(do("hypot", *a)), power), "size")
    phase = do.b.bind(do("mul", do.b.bind(do("atan2", a.im, a.re)), power), "phase")
    return ComplexExpr(do("mul", size, do("cos", phase)), do("mul", size, do("sin", phase)))


def numpy_complex_power(
    b: IRBuilder, x: ComplexExpr, y: ComplexExpr, node: ast.AST
) -> ComplexExpr:
    """``x ** y`` of NumPy's complex numbers, by the operation of the op table. Where it raises an
    exception, NumPy decides what to warn of.
    """
    operands = tuple(map(b.bind, (*x, *y)))
    values = [b.bind(apply_op(b, f"cpow_{part}", *operands)) for part in ("re", "im")]
    for status in OPS["cpow_re"].raises:
        raised = (_complex_status_raised(b, status, "cpow_re", operands, v) for v in values)
        note_warning(b, status, None, node, bool_op("or", *raised), certain=False)
    return ComplexExpr(*values)


def reciprocal(a: ComplexExpr, do: ComplexSteps) -> ComplexExpr:
    """``np.reciprocal(a)``: Smith's algorithm for the numerator 1, without products by 0."""
    b, one = do.b, Const(1.0, a.re.dtype)
    re_is_larger = b.bind(Call("le", (_abs(a.im), _abs(a.re)), "bool"), "large")
    for part in a:
        do.signaling_compare(part)
    large = b.bind(select_parts(re_is_larger, a.re, a.im), "large")
    small = b.bind(select_parts(re_is_larger, a.im, a.re), "small")
    ratio = b.bind(do("div", small, large), "ratio")
    scale = b.bind(do("add", large, do("mul", small, ratio)), "scale")
    inverse, turned = b.bind(do("div", one, scale)), b.bind(do("div", ratio, scale))
    re = select_parts(re_is_larger, inverse, turned)
    im = b.bind(select_parts(re_is_larger, turned, inverse))
    return ComplexExpr(re, Call("neg", (im,), im.dtype))


COMPLEX_OPS = {"add": _add, "sub": _sub, "mul": _mul, "fused mul": _fused_mul, "div": _div}
"""The formula of each complex operation: makes the parts of the result of those of the operands::

    COMPLEX_OPS["add"](a, c, steps, python=False)   →   ComplexExpr(a.re + c.re, a.im + c.im)

It applies each real operation by `steps`, a `ComplexSteps`, which remembers them for warnings.
``python``: as Python computes it, else as NumPy does; only quotients differ.

There are two products, "mul" and "fused mul". The second has fused multiply-adds, as NumPy's loops
over arrays have on some machines. `complex_arithmetic.apply_operator` chooses one, and calls it.
Powers have functions of their own (`complex_power` and the three below it).
"""


def _abs(e: Expr) -> Expr:
    """``abs(e)``, folded."""
    return Const(abs(e.value), e.dtype) if isinstance(e, Const) else Call("abs", (e,), e.dtype)


def _folded(function: Callable[..., Any], op: str, a: Expr, c: Expr) -> Expr:
    """``op(a, c)``; folded by its Python `function` where both are constants."""
    compares = op in ("ge", "ne")
    if isinstance(a, Const) and isinstance(c, Const):
        value = function(a.value, c.value)
        return Const(value, "bool" if compares else a.dtype)
    return Call(op, (a, c), "bool" if compares else a.dtype)


def is_nonzero(c: ComplexExpr) -> Expr:
    """A bool: whether a part of the complex number is not 0."""
    sides = (_folded(operator.ne, "ne", e, Const(0.0, e.dtype)) for e in c)
    return bool_op("or", *sides)


def select_parts(cond: Expr, a: Expr, c: Expr) -> Expr:
    """``a if cond else c``, folded."""
    if isinstance(cond, Const):
        return a if cond == TRUE else c
    return Call("select", (cond, a, c), a.dtype)


class _Rotation(Enum):
    """How a function of z is computed by a function of i z: whether the operand is rotated only, or
    operand and result.
    """

    NONE = "f(z)"
    OPERAND = "cosh z = cos(-i z)"
    BOTH = "sinh z = -i sin(i z)"


class _ComplexFormula(NamedTuple):
    """A NumPy function by operations of the op table.

    ``op``: the operations ``op_re`` and ``op_im`` give the parts of the function. ``rotation``: how
    the parts of operand and result are exchanged. ``scale``: a factor of the result.
    """

    op: str
    rotation: _Rotation = _Rotation.NONE
    scale: float = 1.0


COMPLEX_FUNCTIONS: dict[Any, _ComplexFormula] = {
    np.exp: _ComplexFormula("cexp"),
    np.log: _ComplexFormula("clog"),
    np.log2: _ComplexFormula("clog", scale=1.4426950408889634),
    np.log10: _ComplexFormula("clog", scale=0.4342944819032518),
    np.sqrt: _ComplexFormula("csqrt"),
    np.sin: _ComplexFormula("csin"),
    np.cos: _ComplexFormula("ccos"),
    np.tan: _ComplexFormula("ctan"),
    np.sinh: _ComplexFormula("csin", _Rotation.BOTH),
    np.cosh: _ComplexFormula("ccos", _Rotation.OPERAND),
    np.tanh: _ComplexFormula("ctan", _Rotation.BOTH),
}
"""NumPy's functions that give the same bits as libm's."""


def complex_function(
    b: IRBuilder, function: Any, x: ComplexExpr, node: ast.AST, *, certain: bool
) -> ComplexExpr:
    """``function(x)`` for one of `COMPLEX_FUNCTIONS`, with its sources of warnings.

    libm may raise "invalid" for a NaN operand, too, where NumPy may or may not warn: that is never
    ``certain``.
    """
    formula = COMPLEX_FUNCTIONS[function]
    re, im = map(b.bind, x)
    operands = (re, im)
    if formula.rotation is _Rotation.BOTH:
        operands = (im, re)
    elif formula.rotation is _Rotation.OPERAND:
        operands = (im, b.bind(Call("neg", (re,), re.dtype)))
    values = tuple(b.bind(apply_op(b, f"{formula.op}_{part}", *operands)) for part in ("re", "im"))
    op = f"{formula.op}_re"
    for status in OPS[op].raises:
        sides = (_complex_status_raised(b, status, op, operands, v) for v in values)
        raised = bool_op("or", *sides)
        is_certain = certain and status != "invalid"
        note_warning(b, status, function.__name__, node, raised, certain=is_certain)
    parts = ComplexExpr(*(reversed(values) if formula.rotation is _Rotation.BOTH else values))
    if formula.scale == 1.0:
        return parts
    scale = Const(float(DTYPES[re.dtype].numpy.type(formula.scale)), re.dtype)
    return ComplexExpr(*(apply_op(b, "mul", e, scale) for e in parts))


def _complex_status_raised(
    b: IRBuilder, status: str, op: str, operands: tuple[Expr, ...], value: Expr
) -> Expr:
    """A bool: whether `op`, a part of a complex function, raised `status`; as `status_raised`, but
    "invalid" for any NaN. Only a recording kernel tests it.
    """
    if b.warnings.raised_array is None:
        return TRUE
    if status == "invalid":
        return Call("isnan", (value,), "bool")
    return status_raised(status, op, operands, value)
