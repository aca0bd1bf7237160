"""Lower operators on complex numbers, which are pairs of floats.

`apply_operator` is the entry for every binary operator, on real numbers too. With a complex
operand it works in three steps:

1. the result type, by probing the operator on samples of the operand types (`_result_type`);
2. the formula, over real and imaginary parts: Python and NumPy have different ones for quotients
   and powers, and NumPy's array loops another one for products (`complex_formulas.py`);
3. a check for each condition under which Python raises, and a source of warnings for each one
   under which NumPy warns.

An operand may be complex on some paths and real on others, as in ``z = 0; for …: z = z + 1j``: then
its imaginary part is a Python int where it is real (`ComplexPair.mixed`). And it may be Python's on
some paths and NumPy's on others, like any scalar. An operator is refused where its formula would
depend on the path.
"""
from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from loopir.ir_traversal import walk
from loopir.nodes import Call, Const, Expr
from loopir.op_table import OPS

from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...types.numpy_probes import numpy_fuses_complex_products
from ...types.phi import join_values
from ...types.typed_values import TRUE, ComplexPair, Num, bool_op, constant, probe_result
from ...types.value_types import ELEMENTS, PARTS, ScalarType
from ..scalars.scalar_arithmetic import (
    BINARY,
    binary_operation,
    negate_real,
    require_exact_as_float,
)
from ..scalars.scalar_operands import convert_operand, truth_value, with_result_type
from ..state.float_exceptions import WarningName
from ..state.guards_and_checks import require
from ..state.ir_builder import SilentException
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op
from .complex_formulas import (
    COMPLEX_OPS,
    ComplexExpr,
    ComplexSteps,
    complex_power,
    is_nonzero,
    numpy_complex_power,
    python_complex_power,
    python_real_power,
    reciprocal,
    select_parts,
)

__all__ = [
    "apply_operator", "as_complex_parts", "compare_complex", "complex_literal", "complex_magnitude",
    "complex_reciprocal", "complex_truth", "complex_where", "conjugate_complex",
    "is_reassociated_fold", "negate", "select_complex", "with_complex_type",
]


_Number: TypeAlias = "Num | ComplexPair"


def _may_be_real(n: _Number) -> bool:
    """Whether `n` is a complex or a real number, depending on the data."""
    return isinstance(n, ComplexPair) and n.mixed


def _as_python_complex(n: _Number) -> _Number:
    """`n`, with the type by which operators are probed: if it is a NumPy complex number on some
    paths and may be a real Python number on others, its Python type is complex.
    """
    if isinstance(n, ComplexPair) and n.mixed and n.strong:
        re, im = (Num(p.ir, p.strong, "f64", p.is_weak) for p in (n.re, n.im))
        return ComplexPair(re, im)
    return n


def _as_python_or_numpy(n: _Number, weak: bool) -> _Number:
    """`n` typed as the Python number (``weak``) or the NumPy number that it is on some paths."""
    if isinstance(n, ComplexPair):
        return ComplexPair(_with_one_type(n.re, weak), _with_one_type(n.im, weak))
    return _with_one_type(n, weak)


def _with_one_type(n: Num, weak: bool) -> Num:
    """As `_as_python_or_numpy`, for a real number or a part."""
    if not n.either:
        return n
    return Num(n.ir, weak=n.weak) if weak else Num(n.ir, strong=n.strong)


def _required_of_numpy(ctx: Lowering, n: _Number, node: ast.AST) -> _Number:
    """`n` as the NumPy number that it is on some paths; if it is Python's, the call is replayed.
    For an operator whose formula depends on that, as of quotients::

        p = 0j
        for a in c: p = p * z + a     # then `p` is NumPy's, unless `c` is empty
        q = z / p                     # requires that it is

    Raises Refused in the loop itself, in whose first iteration it is always Python's.
    """
    counters = {frame.var for frame in ctx.b.path.frames}
    for part in _component_numbers(n):
        if part.either and not counters.isdisjoint(walk(part.weak_now)):
            shown = source_text(node)
            message = f"an operand of `{shown}` is Python's or NumPy's number, by the data"
            help = "make it one of both before, by `complex(...)` or `np.complex128(...)`"
            refuse("LOWER_COMPLEX", message, node, help=help)
        if part.either:
            require(ctx.b, bool_op("not", part.weak_now), "GUARD_DTYPE", node)
    return _as_python_or_numpy(n, weak=False)


def _small_exponent(n: _Number) -> int:
    """The value of `n` if it is a constant Python int from 2 to 99; else 0."""
    if isinstance(n, Num) and n.weak == "i64" and n.strong is None and isinstance(n.ir, Const):
        return int(n.ir.value) if 2 <= n.ir.value < 100 else 0
    return 0


def _uses_ufunc(x: _Number, y: _Number, ty: ScalarType) -> bool:
    """Whether the operator of NumPy's scalars leaves the operation to the ufunc. The ufunc warns
    under another name, and may fuse multiply-adds. ``ty``: the result type. It does so where

    - both operands are NumPy's, and neither dtype can be cast to the other, as complex64 and
      float64;
    - one is a real number of NumPy, the other a complex number of Python.

    Never where the result is Python's (on some paths, at least).
    """
    if ty.weak:
        return False
    if x.strong and y.strong:
        x_dtype, y_dtype = ELEMENTS[x.strong].numpy, ELEMENTS[y.strong].numpy
        return not (np.can_cast(x_dtype, y_dtype) or np.can_cast(y_dtype, x_dtype))
    return isinstance(x if x.strong else y, Num)


def _product_depends_on_type(x: _Number, y: _Number) -> bool:
    """Whether one operand is a NumPy real number, and the other a complex number that is Python's
    or NumPy's, depending on the data, and not always 0 or 1 where it is Python's. Where the complex
    one is Python's, the ufunc computes the product, by another formula than where it is NumPy's.
    """
    for n, other in ((x, y), (y, x)):
        if isinstance(n, ComplexPair) and n.strong and n.weak and not n.simple:
            return isinstance(other, Num) and other.strong is not None
    return False


def _component_numbers(*numbers: _Number) -> list[Num]:
    """The real numbers among `numbers`, and the parts of the complex ones."""
    return [p for n in numbers for p in ((n.re, n.im) if isinstance(n, ComplexPair) else (n,))]


def _is_python_for_mixed_pair(
    function: Callable[..., Any], x: _Number, y: _Number
) -> bool:
    """Whether each operand may be Python's or NumPy's, depending on the data, and ``function`` of a
    Python and a NumPy operand gives a Python number, or no known type. `_result_type` refuses such
    operands: its result counts as Python's only where both operands are.
    """
    if not all(any(n.either for n in _component_numbers(operand)) for operand in (x, y)):
        return False
    types = (
        probe_result(function, _as_python_or_numpy(x, weak), _as_python_or_numpy(y, not weak))
        for weak in (True, False)
    )
    return any(ty is None or ty.weak for ty in types)


_MAX_PYTHON_EXPONENT = 100
"""The largest magnitude of a whole exponent for which Python multiplies; for others it uses
magnitude and phase.
"""

_UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}

_OLD_RULES = sys.version_info < (3, 14)
"""Whether this Python converts real operands to complex ones, and does not correct products of
infinities. Newer versions follow C99's annex G, which is not compiled.
"""


def complex_literal(value: complex) -> ComplexPair:
    """The Python complex constant `value`."""
    return ComplexPair(constant(value.real), constant(value.imag))


def apply_operator(
    ctx: Lowering,
    op: type[ast.operator],
    x: _Number,
    y: _Number,
    node: ast.AST,
    *,
    ufunc: str = "",
) -> _Number:
    """``x op y`` of two numbers, real or complex, each of one type.

        z * w    →   z.re * w.re - z.im * w.im,  z.re * w.im + z.im * w.re      (two expressions)

    `lower_expressions.lower_binary` and augmented assignments call it for each operator, through
    `for_each_case`; `complex_calls` for NumPy's functions on complex numbers. ``ufunc`` is then the
    name of the NumPy function; "" for an operator.

    Two real numbers go to `binary_operation`, powers to `_complex_power_operation`. The steps of
    all else are numbered as in the module's docstring. Raises Refused for operators that complex
    numbers do not have (``//``, ``%``, bit operations), and where the result type or the formula
    depends on the data.
    """
    if isinstance(x, Num) and isinstance(y, Num):
        return binary_operation(ctx, op, x, y, node, ufunc=bool(ufunc))
    if op is ast.Pow:
        return _complex_power_operation(ctx, x, y, node, ufunc=ufunc)
    name, function, _ = BINARY[op]
    if name not in COMPLEX_OPS:
        refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    # 1. The result type. NumPy uses the ufunc if it was called, and for an operand that is a 0-d
    # array.
    boxed = any(n.boxed for n in _component_numbers(x, y))
    function = _UFUNCS[name] if ufunc or boxed else function
    if name == "div" and probe_result(function, *map(_as_python_complex, (x, y))) is None:
        x, y = (_required_of_numpy(ctx, n, node) for n in (x, y))
    ty, either_parts = _result_type(function, x, y, node)
    # 2. The formula.
    spelled, formula = _spelling_and_formula(op, x, y, ty, node, ufunc=ufunc, boxed=boxed)
    a, c = as_complex_parts(ctx, x, ty, node), as_complex_parts(ctx, y, ty, node)
    # 3. Checks where Python raises, sources of warnings where NumPy warns.
    if ty.weak:
        _require_old_complex_rules(x, y, name, node)
    if name == "div" and ty.weak:
        require(ctx.b, is_nonzero(c), "GUARD_DIVISION", node)
    steps = ComplexSteps(ctx.b)
    parts = COMPLEX_OPS[formula](a, c, steps, python=ty.weak)
    if not ty.weak or either_parts:  # NumPy's, at least on some paths: it may warn
        certain = not (either_parts or is_reassociated_fold(ctx, x, y))
        steps.note_warnings(name, str(spelled), node, certain=certain)
    if ty.weak or either_parts:  # Python's, at least on some paths: nobody warns
        ctx.b.warnings.silent += map(SilentException, OPS[name].raises)
    return with_complex_type(parts, ty, either_parts, name, (x, y), node)


def _spelling_and_formula(
    op: type[ast.operator], x: _Number, y: _Number, ty: ScalarType, node: ast.AST, *, ufunc: str,
    boxed: bool,
) -> tuple[WarningName, str]:
    """NumPy's name of the operation in warnings, and the key of its formula in `COMPLEX_OPS`.

        z * w of NumPy's scalars, or Python's         "scalar multiply", "mul"
        np.multiply(z, w), elements of arrays         "multiply", "fused mul" if NumPy fuses
        np.square(z)                                  "square", "mul"

    A ufunc runs NumPy's loop over arrays, which on some machines fuses the multiply-adds of a
    product (`numpy_fuses_complex_products`); an operator of scalars never does. ``boxed``: an
    operand is a 0-d array, for which an operator calls the ufunc. Raises Refused for a product that
    is computed by either, depending on the data.
    """
    name, _, ufunc_name = BINARY[op]
    spelled = WarningName(ufunc or ufunc_name, of_scalars=not ufunc)
    if boxed or _uses_ufunc(x, y, ty):
        spelled = spelled._replace(of_scalars=False)
    elif name == "mul" and _product_depends_on_type(x, y):
        refuse("LOWER_JOIN", "NumPy or Python multiplies, depending on the data", node)
    uses_array_loop = name == "mul" and not spelled.of_scalars and ufunc != "square"
    return spelled, "fused mul" if uses_array_loop and numpy_fuses_complex_products() else name


def is_reassociated_fold(ctx: Lowering, *numbers: _Number) -> bool:
    """Whether one of `numbers` is an accumulator of a loop. The operation then continues a
    reduction that passes may reassociate, which may raise exceptions that Python's order does not.
    Never in a recording kernel, which keeps the order.
    """
    parts = [part.ir for n in numbers if isinstance(n, ComplexPair) for part in (n.re, n.im)]
    return ctx.b.warnings.raised_array is None and any(
        e in ctx.b.numbers.accumulators for e in parts
    )


def _result_type(
    function: Callable[..., Any], x: _Number, y: _Number, node: ast.AST
) -> tuple[ScalarType, list[Num]]:
    """The complex type of ``function(x, y)``, and the parts of the operands that are Python's or
    NumPy's, depending on the data.

        complex64 of NumPy, float of Python                 →    complex64 of NumPy, no parts
        complex128 of either, complex of Python             →    complex128, weak, and the parts of
                                                                 the first operand

    If there are any parts, the type is Python's (``weak``) where all of them are Python's, else
    NumPy's, with the same dtype. Raises Refused where the result is not complex, or its dtype
    depends on the data.
    """
    operands = [_as_python_complex(n) for n in (x, y)]
    ty = probe_result(function, *operands)
    either_parts: list[Num] = []
    if ty is None and function is not operator.truediv:
        variants = ([_as_python_or_numpy(n, weak) for n in operands] for weak in (False, True))
        strong, weak = (probe_result(function, *variant) for variant in variants)
        simple = all(n.simple for n in (x, y) if isinstance(n, ComplexPair) and n.weak)
        if strong and weak and weak.weak and (strong.dtype == weak.dtype or simple):
            ty = ScalarType(strong.dtype, weak=True)
            either_parts = [n for n in _component_numbers(x, y) if n.either]
            if _is_python_for_mixed_pair(function, *operands):
                refuse("LOWER_JOIN", "the result is Python's or NumPy's, by the data", node)
    if ty is None or ty.dtype not in PARTS:
        kinds = ", ".join(str(n.strong or n.weak) for n in (x, y))
        return refuse("LOWER_COMPLEX", f"the operation on {kinds} is not compiled", node)
    return ty, either_parts


def _require_old_complex_rules(
    x: _Number, y: _Number, name: str, node: ast.AST
) -> None:
    """Refuses an operation on Python numbers that newer Pythons compute differently: a product, and
    any with a real operand.
    """
    if not _OLD_RULES and (isinstance(x, Num) or isinstance(y, Num) or name == "mul"):
        refuse("LOWER_COMPLEX", "Python's complex numbers are computed by newer rules", node)


def as_complex_parts(
    ctx: Lowering, n: _Number, ty: ScalarType, node: ast.AST
) -> ComplexExpr:
    """The parts of `n`, converted to the complex type `ty`, and bound to names."""
    dtype = PARTS[ty.dtype]
    if isinstance(n, Num):
        return ComplexExpr(
            ctx.b.bind(convert_operand(ctx.b, n, dtype, node)), Const(0.0, dtype)
        )
    return ComplexExpr(
        *(ctx.b.bind(convert_operand(ctx.b, p, dtype, node)) for p in (n.re, n.im))
    )


def with_complex_type(
    parts: ComplexExpr,
    ty: ScalarType,
    either_parts: Sequence[Num],
    name: str,
    operands: Sequence[_Number],
    node: ast.AST,
) -> ComplexPair:
    """`parts` with the type `ty` and `either_parts` that `_result_type` gave for the operation
    `name` on `operands`.

    If both operands may be real, depending on the data, so may the result. Raises Refused then,
    unless the operation is a sum or a product, and both would be real numbers of the same type.
    """
    dtype, weak = PARTS[ty.dtype], "f64" if ty.weak else None
    strong = dtype if not ty.weak or either_parts else None
    all_python: Expr = TRUE
    for n in either_parts:
        all_python = bool_op("and", all_python, n.weak_now)
    pairs = [n for n in operands if isinstance(n, ComplexPair)]
    if not (len(pairs) == 2 and pairs[0].mixed and pairs[1].mixed):
        is_weak = all_python if strong and weak else None
        re, im = (Num(e, strong, weak, is_weak) for e in parts)
        return ComplexPair(re, im)
    real_types = {n.re.weak for n in pairs}
    if (
        name not in ("add", "mul")
        or len(real_types) > 1
        or pairs[0].doubtful != pairs[1].doubtful
    ):
        return refuse("LOWER_JOIN", "the operands may be real, depending on the data", node)
    if pairs[0].doubtful:
        return ComplexPair(Num(parts.re, weak="f64"), Num(parts.im, weak="f64"), doubtful=True)
    re = Num(parts.re, dtype, real_types.pop(), all_python)
    return ComplexPair(re, Num(parts.im, dtype, "i64", all_python))


def _complex_power_operation(
    ctx: Lowering, x: _Number, y: _Number, node: ast.AST, *, ufunc: str
) -> ComplexPair:
    """``x ** y`` where one is complex; ``ufunc``: as in `apply_operator`. By the types, in order:

    - both Python's: `_python_power`;
    - a base of NumPy with a constant int from 2 to 99 as exponent, or the square of a base that is
      NumPy's, or 0 or 1 of Python: products. The power of 0 is 0, as NumPy's scalars give it;
    - others of NumPy: the operation ``cpow`` (`numpy_complex_power`).

    Raises Refused for 0-d arrays, for any power where Python follows newer rules (`_OLD_RULES`),
    and for operands whose type depends on the data, except for the squares above.
    """
    boxed = any(n.boxed for n in _component_numbers(x, y))
    is_either = isinstance(x, ComplexPair) and x.strong is not None and x.weak is not None
    exponent = _small_exponent(y) if isinstance(x, ComplexPair) else 0
    is_square = isinstance(x, ComplexPair) and x.simple and exponent == 2
    if is_either and not is_square:
        message = f"the base of `{source_text(node)}` is Python's or NumPy's number, by the data"
        help = "make it one of both before, by `complex(...)` or `np.complex128(...)`"
        return refuse("LOWER_COMPLEX", message, node, help=help)
    if boxed or not _OLD_RULES:
        return refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    function = np.power if ufunc else operator.pow
    ty, either_parts = _result_type(function, x, y, node)
    if ty.weak and not is_either:
        return _python_power(ctx, x, y, node)
    if not (exponent == 2 or (exponent > 2 and not is_either)):
        if either_parts or any(map(_may_be_real, (x, y))):
            return refuse("LOWER_JOIN", "the operands have several types, by the data", node)
        base, exponent_parts = (as_complex_parts(ctx, n, ty, node) for n in (x, y))
        power = numpy_complex_power(ctx.b, base, exponent_parts, node)
        return with_complex_type(power, ty, [], "pow", (x, y), node)
    steps = ComplexSteps(ctx.b)
    base, zero = as_complex_parts(ctx, x, ty, node), Const(0.0, PARTS[ty.dtype])
    power = complex_power(base, exponent, steps)
    certain = not (is_either or is_reassociated_fold(ctx, x))
    steps.note_warnings("mul", ufunc or str(WarningName("power")), node, certain=certain)
    is_zero = ctx.b.bind(bool_op("not", is_nonzero(base)), "null")
    power = ComplexExpr(*(select_parts(is_zero, zero, e) for e in power))
    return with_complex_type(power, ty, either_parts, "mul", (x, x), node)


def _python_power(ctx: Lowering, x: _Number, y: _Number, node: ast.AST) -> ComplexPair:
    """``x ** y`` of a Python complex number and a real constant. Requires that Python does not
    raise: the result is finite, and 0 has no negative power. Raises Refused for other exponents.
    """
    exponent = y.ir.value if isinstance(y, Num) and y.weak and isinstance(y.ir, Const) else None
    if not isinstance(x, ComplexPair):
        message = f"`{source_text(node)}`, a real number to a complex power, is not compiled"
        return refuse("LOWER_COMPLEX", message, node)
    if exponent is None:
        message = f"`{source_text(node)}` is compiled only with an exponent that is a constant"
        help = "write the exponent as a constant, or the power as products in a loop"
        return refuse("LOWER_COMPLEX", message, node, help=help)
    value = float(exponent)
    is_whole = value.is_integer()
    if not math.isfinite(value) or (is_whole and abs(value) > _MAX_PYTHON_EXPONENT):
        message = f"`{source_text(node)}` has an exponent that is too large to be compiled"
        return refuse("LOWER_COMPLEX", message, node)
    ty, either_parts = _result_type(operator.pow, x, y, node)
    base, steps = as_complex_parts(ctx, x, ty, node), ComplexSteps(ctx.b)
    if value < 0 or not is_whole:
        require(ctx.b, is_nonzero(base), "GUARD_RAISES", node)
    power = (
        python_complex_power(base, int(value), steps) if is_whole
        else python_real_power(base, value, steps)
    )
    power = ComplexExpr(*map(ctx.b.bind, power))
    for name in ("mul", "div") if is_whole else ("pow", "hypot"):
        ctx.b.warnings.silent += map(SilentException, OPS[name].raises)
    # Python raises for an infinite result, and for 1 divided by a power that underflows to 0, which
    # is NaN here.
    for condition in ("isinf", "isnan") if value < 0 else ("isinf",):
        is_bad = bool_op("or", *(Call(condition, (e,), "bool") for e in power))
        require(ctx.b, bool_op("not", is_bad), "GUARD_RAISES", node)
    return with_complex_type(power, ty, either_parts, "mul", (x, x), node)


def negate(ctx: Lowering, x: _Number, node: ast.AST) -> _Number:
    """``-x`` of a real or complex number. Raises Refused where a complex one may be real."""
    if isinstance(x, Num):
        return negate_real(ctx, x, node)
    if x.mixed:
        return refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    return ComplexPair(negate_real(ctx, x.re, node), negate_real(ctx, x.im, node))


def complex_reciprocal(
    ctx: Lowering, x: ComplexPair, ty: ScalarType, node: ast.AST
) -> ComplexPair:
    """``np.reciprocal(x)``, of result type `ty`. Raises Refused where `x` may be real, or is never
    NumPy's.
    """
    if x.mixed or x.strong is None:
        return refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    steps = ComplexSteps(ctx.b)
    parts = reciprocal(as_complex_parts(ctx, x, ty, node), steps)
    steps.note_warnings("div", "reciprocal", node, certain=not is_reassociated_fold(ctx, x))
    return with_complex_type(parts, ty, [], "div", (x, x), node)


def conjugate_complex(ctx: Lowering, x: ComplexPair, ty: ScalarType, node: ast.AST) -> ComplexPair:
    """``x.conjugate()``, of result type `ty`. Raises Refused where `x` may be real."""
    re, im = as_complex_parts(ctx, x, ty, node)
    if x.mixed:
        return refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    conjugate = ComplexExpr(re, Call("neg", (im,), im.dtype))
    return with_complex_type(conjugate, ty, [], "conj", (x, x), node)


def complex_magnitude(
    ctx: Lowering, x: ComplexPair, node: ast.AST, *, compared: bool = False
) -> Num:
    """``abs(x)``. ``compared``: the result is only compared, so that its type does not matter.

    Python's ``abs`` raises where finite parts have an infinite magnitude. A recording kernel checks
    that; any other kernel is replayed after an overflow (`IRBuilder.strict`). Raises Refused where
    nothing tells whether `x` is real, unless it is ``compared``; and for a number that is Python's
    or NumPy's complex64, depending on the data, unless it is 0 or 1 where it is Python's.
    """
    if x.doubtful and not compared:
        refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    dtype = PARTS[x.strong or "c128"]
    if x.strong and x.weak and dtype != "f64" and not x.simple:
        refuse("LOWER_JOIN", "the operand has one of two types, depending on the data", node)
    parts = [ctx.b.bind(convert_operand(ctx.b, p, dtype, node)) for p in (x.re, x.im)]
    size = apply_op(ctx.b, "hypot", *parts)
    if x.weak == "c128" and ctx.b.warnings.raised_array is not None:
        size, inf = ctx.b.bind(size, "size"), Const(math.inf, dtype)
        infinite_parts = (Call("eq", (Call("abs", (p,), dtype), inf), "bool") for p in parts)
        no_overflow = bool_op(
            "or", Call("ne", (size, inf), "bool"), bool_op("or", *infinite_parts)
        )
        require(ctx.b, no_overflow, "GUARD_RAISES", node)
    elif x.weak == "c128":
        ctx.b.strict.add("over")
    weak = "f64" if x.weak == "c128" else x.weak
    is_weak = x.im.is_weak if x.strong else None
    return Num(size, PARTS.get(x.strong or ""), weak, is_weak)


def compare_complex(
    ctx: Lowering,
    name: str,
    function: Callable[..., Any],
    x: _Number,
    y: _Number,
    node: ast.AST,
) -> Num:
    """``x == y`` or ``x != y``, as `name` says, where one operand at least is complex.

    ``function``: the comparison in Python. Raises Refused for other comparisons and where an
    operand may be real.
    """
    for n in (x, y):
        if isinstance(n, Num):
            require_exact_as_float(ctx, n, node)
    ty, truth = (
        probe_result(operator.add, _as_python_complex(x), _as_python_complex(y)),
        probe_result(function, x, y),
    )
    if (
        name not in ("eq", "ne")
        or ty is None
        or truth is None
        or _may_be_real(x)
        or _may_be_real(y)
    ):
        return refuse("LOWER_COMPLEX", "of complex numbers only `==` and `!=` compare", node)
    a, c = as_complex_parts(ctx, x, ty, node), as_complex_parts(ctx, y, ty, node)
    sides = (Call(name, pair, "bool") for pair in zip(a, c, strict=True))
    return with_result_type(bool_op("and" if name == "eq" else "or", *sides), truth)


def complex_truth(x: ComplexPair) -> Expr:
    """``bool(x)``: whether a part is not 0."""
    return is_nonzero(ComplexExpr(x.re.ir, x.im.ir))


def select_complex(
    cond: Expr, x: _Number, y: _Number, node: ast.AST
) -> ComplexPair:
    """``x if cond else y``. Raises Refused unless both are complex and of types that can be joined.
    """
    if isinstance(x, ComplexPair) and isinstance(y, ComplexPair):
        re, im = join_values(cond, x.re, y.re), join_values(cond, x.im, y.im)
        if re is not None and im is not None:
            return ComplexPair(re, im)
    return refuse("LOWER_JOIN", f"`{source_text(node)}` has values of two types", node)


def complex_where(
    ctx: Lowering, args: Sequence[_Number], ty: ScalarType, node: ast.AST
) -> ComplexPair:
    """``np.where(cond, x, y)`` for `args`, with the result type `ty`. Raises Refused where that is
    not complex, or an operand may be real.
    """
    cond, *values = args
    test = ctx.b.bind(
        complex_truth(cond) if isinstance(cond, ComplexPair) else truth_value(cond)
    )
    if ty.dtype not in PARTS or any(map(_may_be_real, values)):
        return refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    pairs = zip(*(as_complex_parts(ctx, n, ty, node) for n in values), strict=True)
    re, im = (Num(select_parts(test, a, c), PARTS[ty.dtype], boxed=True) for a, c in pairs)
    return ComplexPair(re, im)
