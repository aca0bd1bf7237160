"""Lower operators on complex numbers, which are pairs of floats.

The result type may be complex or real, Python's or NumPy's; products and quotients follow
the algorithm of that library.
"""
from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from loopir.nodes import Call, Const, Expr
from loopir.op_table import OPS

from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...types.fma_probe import numpy_fuses_complex_products
from ...types.phi import join_values
from ...types.typed_values import TRUE, ComplexPair, Num, bool_op, constant, probe_result
from ...types.value_types import ELEMENTS, PARTS, ScalarType
from ..scalars.integer_arithmetic import SCALAR_PREFIX
from ..scalars.scalar_arithmetic import (
    BINARY,
    binary_operation,
    negate_real,
    require_exact_as_float,
)
from ..scalars.scalar_operands import convert_operand, truth_value, with_result_type
from ..state.guards_and_checks import require
from ..state.ir_builder import SilentException
from ..state.lowering_state import Lowering
from ..state.path_conditions import apply_op
from .complex_formulas import (
    COMPLEX_OPS,
    ComplexParts,
    ComplexSteps,
    complex_power,
    is_nonzero,
    select_parts,
)

__all__ = [
    "apply_operator", "as_complex_parts", "compare_complex", "complex_literal", "complex_magnitude",
    "complex_truth", "complex_where", "conjugate_complex", "is_reassociated_fold", "negate",
    "select_complex", "with_complex_type",
]


def _may_be_real(n: Num | ComplexPair) -> bool:
    """Whether it may be complex, and may be real."""
    return isinstance(n, ComplexPair) and n.mixed


def _as_python_complex(n: Num | ComplexPair) -> Num | ComplexPair:
    """`n` with Python's complex type where it may be real."""
    if isinstance(n, ComplexPair) and n.mixed and n.strong:
        re, im = (Num(p.ir, p.strong, "f64", p.is_weak) for p in (n.re, n.im))
        return ComplexPair(re, im)
    return n


def _as_python_or_numpy(n: Num | ComplexPair, weak: bool) -> Num | ComplexPair:
    """`n` as Python's number, or as NumPy's, where it may be either."""
    if isinstance(n, ComplexPair):
        return ComplexPair(_with_one_type(n.re, weak), _with_one_type(n.im, weak))
    return _with_one_type(n, weak)


def _with_one_type(n: Num, weak: bool) -> Num:
    if not n.either:
        return n
    return Num(n.ir, weak=n.weak) if weak else Num(n.ir, strong=n.strong)


def _small_exponent(n: Num | ComplexPair) -> int:
    """The number from 2 to 99 that `n`, a constant int of Python's, is; else 0."""
    if isinstance(n, Num) and n.weak == "i64" and n.strong is None and isinstance(n.ir, Const):
        return int(n.ir.value) if 2 <= n.ir.value < 100 else 0
    return 0


def _uses_ufunc(x: Num | ComplexPair, y: Num | ComplexPair, ty: ScalarType) -> bool:
    """Whether NumPy's scalars leave the operation to the function for arrays: where the type of
    neither operand can hold the other's.
    """
    if ty.weak:
        return False
    a, c = x.strong, y.strong
    if a and c:
        one, other = ELEMENTS[a].numpy, ELEMENTS[c].numpy
        return not (np.can_cast(one, other) or np.can_cast(other, one))
    return isinstance(x if a else y, Num)


def _product_depends_on_type(x: Num | ComplexPair, y: Num | ComplexPair) -> bool:
    """Whether a product with a real number of NumPy's is an array's, but only if the other operand
    is Python's.
    """
    for n, m in ((x, y), (y, x)):
        if isinstance(n, ComplexPair) and n.strong and n.weak and not n.simple:
            return isinstance(m, Num) and m.strong is not None
    return False


def _component_numbers(*given: Num | ComplexPair) -> list[Num]:
    """The numbers that these consist of."""
    return [p for n in given for p in ((n.re, n.im) if isinstance(n, ComplexPair) else (n,))]


def _python_if_either(
    function: Callable[..., Any], x: Num | ComplexPair, y: Num | ComplexPair
) -> bool:
    """Whether the result may be Python's where just one of two numbers is, which both may be."""
    if not all(any(n.either for n in _component_numbers(of)) for of in (x, y)):
        return False
    types = (
        probe_result(function, _as_python_or_numpy(x, weak), _as_python_or_numpy(y, not weak))
        for weak in (True, False)
    )
    return any(ty is None or ty.weak for ty in types)


_UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}

_OLD_RULES = sys.version_info < (3, 14)
"""Python takes real operands for complex ones, and products of infinities as they come."""


def complex_literal(value: complex) -> ComplexPair:
    """A complex constant of Python's."""
    return ComplexPair(constant(value.real), constant(value.imag))


def apply_operator(
    ctx: Lowering,
    op: type[ast.operator],
    x: Num | ComplexPair,
    y: Num | ComplexPair,
    node: ast.AST,
    *,
    ufunc: str = "",
) -> Num | ComplexPair:
    """``x op y``; or by NumPy's function of the name `ufunc`."""
    if isinstance(x, Num) and isinstance(y, Num):
        return binary_operation(ctx, op, x, y, node, ufunc=bool(ufunc))
    if op is ast.Pow:
        return _complex_power_operation(ctx, x, y, node, spelled=ufunc or "scalar power")
    name, function, spelled = BINARY[op]
    if name not in COMPLEX_OPS:
        refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    boxed = any(n.boxed for n in _component_numbers(x, y))
    function = _UFUNCS[name] if ufunc or boxed else function
    ty, open_ = _complex_result_type(ctx, function, x, y, node)
    if boxed or _uses_ufunc(x, y, ty):
        spelled = spelled.removeprefix(SCALAR_PREFIX)
    elif name == "mul" and _product_depends_on_type(x, y):
        refuse("LOWER_JOIN", "NumPy or Python multiplies, depending on the data", node)
    spelled = ufunc or spelled
    by_loop = name == "mul" and not spelled.startswith(SCALAR_PREFIX) and ufunc != "square"
    fused = by_loop and numpy_fuses_complex_products()
    a, c = as_complex_parts(ctx, x, ty, node), as_complex_parts(ctx, y, ty, node)
    if ty.weak:
        _require_old_complex_rules(ctx, x, y, name, node)
    if name == "div" and ty.weak:
        require(ctx.b, is_nonzero(c), "GUARD_DIVISION", node)
    steps = ComplexSteps(ctx.b)
    parts = COMPLEX_OPS["fused mul" if fused else name](a, c, steps, python=ty.weak)
    if not ty.weak or open_:
        certain = not (open_ or is_reassociated_fold(ctx, x, y))
        parts = steps.warned(name, parts, spelled, node, certain=certain)
    if ty.weak or open_:
        ctx.b.warnings.silent += map(SilentException, OPS[name].raises)
    return with_complex_type(ctx, parts, ty, open_, name, x, y, node)


def is_reassociated_fold(ctx: Lowering, *numbers: Num | ComplexPair) -> bool:
    """Whether a fold that may be reassociated goes on: it may raise where Python does not."""
    parts = [part.ir for n in numbers if isinstance(n, ComplexPair) for part in (n.re, n.im)]
    return ctx.b.warnings.raised_array is None and any(
        e in ctx.b.numbers.accumulators for e in parts
    )


def _complex_result_type(
    ctx: Lowering,
    function: Callable[..., Any],
    x: Num | ComplexPair,
    y: Num | ComplexPair,
    node: ast.AST,
) -> tuple[ScalarType, list[Num]]:
    """The type of the result; a weak one where it is Python's only if these numbers are."""
    operands = [_as_python_complex(n) for n in (x, y)]
    ty, open_ = probe_result(function, *operands), list[Num]()
    if ty is None and function is not operator.truediv:
        sides = ([_as_python_or_numpy(n, weak) for n in operands] for weak in (False, True))
        strong, weak = (probe_result(function, *side) for side in sides)
        simple = all(n.simple for n in (x, y) if isinstance(n, ComplexPair) and n.weak)
        if strong and weak and weak.weak and (strong.dtype == weak.dtype or simple):
            ty = ScalarType(strong.dtype, weak=True)
            open_ = [n for n in _component_numbers(x, y) if n.either]
            if _python_if_either(function, *operands):
                refuse("LOWER_JOIN", "the result is Python's or NumPy's, by the data", node)
    if ty is None or ty.dtype not in PARTS:
        kinds = ", ".join(str(n.strong or n.weak) for n in (x, y))
        return refuse("LOWER_COMPLEX", f"the operation on {kinds} is not compiled", node)
    return ty, open_


def _require_old_complex_rules(
    ctx: Lowering, x: Num | ComplexPair, y: Num | ComplexPair, name: str, node: ast.AST
) -> None:
    if not _OLD_RULES and (isinstance(x, Num) or isinstance(y, Num) or name == "mul"):
        refuse("LOWER_COMPLEX", "Python's complex numbers are computed by newer rules", node)


def as_complex_parts(
    ctx: Lowering, n: Num | ComplexPair, ty: ScalarType, node: ast.AST
) -> ComplexParts:
    """`n` as a complex number of type `ty`."""
    dtype = PARTS[ty.dtype]
    if isinstance(n, Num):
        return ComplexParts(
            ctx.b.bind(convert_operand(ctx.b, n, dtype, node)), Const(0.0, dtype)
        )
    return ComplexParts(
        *(ctx.b.bind(convert_operand(ctx.b, p, dtype, node)) for p in (n.re, n.im))
    )


def with_complex_type(
    ctx: Lowering,
    parts: ComplexParts,
    ty: ScalarType,
    open_: list[Num],
    name: str,
    x: Num | ComplexPair,
    y: Num | ComplexPair,
    node: ast.AST,
) -> ComplexPair:
    """The result; of two that may be real it may be real, too."""
    dtype, weak = PARTS[ty.dtype], "f64" if ty.weak else None
    pairs = [n for n in (x, y) if isinstance(n, ComplexPair)]
    strong = dtype if not ty.weak or open_ else None
    flag: Expr = TRUE
    for n in open_:
        flag = bool_op("and", flag, n.weak_now)
    is_weak = flag if strong and weak else None
    if not (len(pairs) == 2 and pairs[0].mixed and pairs[1].mixed):
        re, im = (Num(e, strong, weak, is_weak) for e in parts)
        return ComplexPair(re, im)
    real = {n.re.weak for n in pairs}
    if name not in ("add", "mul") or len(real) > 1 or pairs[0].doubtful != pairs[1].doubtful:
        return refuse("LOWER_JOIN", "the operands may be real, depending on the data", node)
    if pairs[0].doubtful:
        return ComplexPair(Num(parts.re, weak="f64"), Num(parts.im, weak="f64"), doubtful=True)
    re, im = Num(parts.re, dtype, real.pop(), flag), Num(parts.im, dtype, "i64", flag)
    return ComplexPair(re, im)


def _complex_power_operation(
    ctx: Lowering, x: Num | ComplexPair, y: Num | ComplexPair, node: ast.AST, *, spelled: str
) -> ComplexPair:
    """``x ** 2``: Python's begins with 1, NumPy's is a product but for zeros, of scalars."""
    n = _small_exponent(y) if not any(n.boxed for n in _component_numbers(x)) else 0
    either = isinstance(x, ComplexPair) and x.strong is not None and x.weak is not None
    fits = isinstance(x, ComplexPair) and (n == 2 or (n > 2 and x.weak is None))
    if (
        not fits
        or not isinstance(x, ComplexPair)
        or not _OLD_RULES
        or (either and not x.simple)
    ):
        return refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    (ty, open_), do = _complex_result_type(ctx, operator.pow, x, y, node), ComplexSteps(ctx.b)
    a, zero = as_complex_parts(ctx, x, ty, node), Const(0.0, PARTS[ty.dtype])
    square = complex_power(a, n, do)
    if ty.weak and not either:
        one = ComplexParts(Const(1.0, "f64"), zero)
        out = ComplexParts(*map(ctx.b.bind, COMPLEX_OPS["mul"](one, square, do, python=True)))
        infinite = bool_op("or", *(Call("isinf", (e,), "bool") for e in out))
        require(ctx.b, bool_op("not", infinite), "GUARD_RAISES", node)
        return with_complex_type(ctx, out, ty, open_, "mul", x, x, node)
    certain = not (either or is_reassociated_fold(ctx, x))
    square = do.warned("mul", square, spelled, node, certain=certain)
    null = ctx.b.bind(bool_op("not", is_nonzero(a)), "null")
    out = ComplexParts(*(select_parts(null, zero, e) for e in square))
    return with_complex_type(ctx, out, ty, open_, "mul", x, x, node)


def negate(ctx: Lowering, x: Num | ComplexPair, node: ast.AST) -> Num | ComplexPair:
    """``-x`` of a real or complex number."""
    if isinstance(x, Num):
        return negate_real(ctx, x, node)
    if x.mixed:
        return refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    return ComplexPair(negate_real(ctx, x.re, node), negate_real(ctx, x.im, node))


def conjugate_complex(ctx: Lowering, x: ComplexPair, ty: ScalarType, node: ast.AST) -> ComplexPair:
    """``x.conjugate()``, of result type `ty`. Raises Refused where `x` may be real."""
    re, im = as_complex_parts(ctx, x, ty, node)
    if x.mixed:
        return refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    turned = ComplexParts(re, Call("neg", (im,), im.dtype))
    return with_complex_type(ctx, turned, ty, [], "conj", x, x, node)


def complex_magnitude(
    ctx: Lowering, x: ComplexPair, node: ast.AST, *, compared: bool = False
) -> Num:
    """``abs(x)``. Python raises where it overflows, and must answer then."""
    if x.doubtful and not compared:
        refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
    dtype = PARTS[x.strong or "c128"]
    if x.strong and x.weak and dtype != "f64" and not x.simple:
        refuse("LOWER_JOIN", "the operand has one of two types, depending on the data", node)
    parts = [ctx.b.bind(convert_operand(ctx.b, p, dtype, node)) for p in (x.re, x.im)]
    size = apply_op(ctx.b, "hypot", *parts)
    if x.weak == "c128" and ctx.b.warnings.raised_array is not None:
        size, inf = ctx.b.bind(size, "size"), Const(math.inf, dtype)
        given = (Call("eq", (Call("abs", (p,), dtype), inf), "bool") for p in parts)
        fits = bool_op("or", Call("ne", (size, inf), "bool"), bool_op("or", *given))
        require(ctx.b, fits, "GUARD_RAISES", node)
    elif x.weak == "c128":
        ctx.b.strict.add("over")
    weak = "f64" if x.weak == "c128" else x.weak
    is_weak = x.im.is_weak if x.strong else None
    return Num(size, PARTS.get(x.strong or ""), weak, is_weak)


def compare_complex(
    ctx: Lowering,
    name: str,
    function: Callable[..., Any],
    x: Num | ComplexPair,
    y: Num | ComplexPair,
    node: ast.AST,
) -> Num:
    """``x == y`` and ``x != y``."""
    for n in (x, y):
        if isinstance(n, Num):
            require_exact_as_float(ctx, n, n, node)
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


def complex_truth(ctx: Lowering, x: ComplexPair) -> Expr:
    """``bool(x)``."""
    return is_nonzero(ComplexParts(x.re.ir, x.im.ir))


def select_complex(
    ctx: Lowering, cond: Expr, x: Num | ComplexPair, y: Num | ComplexPair, node: ast.AST
) -> ComplexPair:
    """``x if cond else y``."""
    if isinstance(x, ComplexPair) and isinstance(y, ComplexPair):
        re, im = join_values(cond, x.re, y.re), join_values(cond, x.im, y.im)
        if re is not None and im is not None:
            return ComplexPair(re, im)
    return refuse("LOWER_JOIN", f"`{source_text(node)}` has values of two types", node)


def complex_where(
    ctx: Lowering, args: Sequence[Num | ComplexPair], ty: ScalarType, node: ast.AST
) -> ComplexPair:
    """``np.where(cond, x, y)``"""
    cond, *given = args
    test = ctx.b.bind(
        complex_truth(ctx, cond) if isinstance(cond, ComplexPair) else truth_value(cond)
    )
    if ty.dtype not in PARTS or any(map(_may_be_real, given)):
        return refuse("LOWER_COMPLEX", f"`{source_text(node)}` is not compiled", node)
    both = zip(*(as_complex_parts(ctx, n, ty, node) for n in given), strict=True)
    re, im = (Num(select_parts(test, a, c), PARTS[ty.dtype], boxed=True) for a, c in both)
    return ComplexPair(re, im)
