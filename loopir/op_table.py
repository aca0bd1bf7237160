"""The operation table: one row an operation, used by the front end, interpreter, C and tests.

``run`` is the reference semantics of a row, on NumPy scalars or arrays that already have the
operand dtypes; ``c`` is the same in scalar C. ``tests/unit/loopir/test_op_table.py`` compares the
two on every dtype and target.

Integer operations wrap. Where Python or NumPy would warn or raise (overflow, division by zero),
lowering adds a `Check`; the ``*_over`` rows are the predicates for it. Float rows leave the
hardware's exception flags as NumPy's scalar operation would: divide, over, under, invalid.
Comparisons, ``min`` and ``max`` raise no flag on a NaN.
"""
from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import op_semantics
from .dtypes import DTYPES
from .lazy_dataclass import record

__all__ = [
    "NEGATED_COMPARISON", "OPS", "SWAPPED_COMPARISON", "Op", "evaluate",
]

NEGATED_COMPARISON = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
"""The negation of each comparison, valid for integers only: on a NaN, ``<`` and ``>=`` are both false."""

SWAPPED_COMPARISON = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""The comparison that is the same with its operands swapped; ``eq`` and ``ne`` are their own."""


@record(frozen=True, slots=True, kw_only=True)
class Op:
    """One operation: its types, its meaning in NumPy and in C, and what passes need to know of it.

        Op(name="div", sig="aa:a", run=np.divide, c="({0} / {1})", spellings=("/", "numpy.divide"),
           kinds="f", raises=("divide", "over", "under", "invalid"), masked_operands=(1,), weight=4)

    ``div`` takes two operands of one float dtype and returns that dtype. Lowering makes it of ``/``
    and of ``np.divide``. It may raise four floating-point flags; where its result is not used, 1.0
    (`safe`) in place of its second operand keeps it from raising any. It costs four additions.
    """

    name: str
    sig: str
    """A letter for each operand, a colon, one for the result. ``a`` is the common dtype, ``m`` a
    bool (a mask in vectors), ``*`` any dtype."""
    run: Callable[..., Any]  # the reference semantics, on NumPy operands
    c: str
    """A template of C: ``{0}`` … are the operands, ``{t}`` the C type of ``a``, ``{d}`` its name,
    ``{f}`` the suffix of libm's function for it (``f`` in ``sqrtf``), ``{r}`` the C type of the
    result. A function ``tp_…`` is defined in ``targets/c/headers``."""
    spellings: tuple[str, ...] = ()
    """The Python operators (``u-`` is the unary minus), builtins and functions that mean it."""
    kinds: str = "iuf"
    """The kinds that ``a`` may have, as in `dtypes.DType.kind`: b bool, i signed, u unsigned, f
    float."""
    excluded: tuple[str, ...] = ()
    """Dtypes of these kinds on which the operation does not exist: lowering refuses it there. Such
    a dtype is float16, where computing in float32 and rounding once gives another result."""
    unit: float | None = None
    """The neutral element of a reduction by it; None if there is none. That of ``add`` is -0.0,
    since 0.0 + -0.0 is 0.0: with 0.0 a sum of terms that are all -0.0 would lose its sign."""
    idempotent: bool = False
    """Whether x op x is x: a reduction by it can start at any of its terms, without a `unit`."""
    raises: tuple[str, ...] = ()
    """Float flags that it may raise. NumPy's warning for a flag that is not listed is lost."""
    safe: float = 1.0
    """What replaces an operand where the result is not used: ``a / select(used, b, 1.0)``. The
    operation raises no flag if its `masked_operands` are this, whatever the other operands are.
    `path_conditions.apply_op` puts it into expressions that Python does not evaluate,
    `if_convert.MaskedRewriter` into inactive lanes of a branch."""
    masked_operands: tuple[int, ...] = (0,)
    """The operands that `safe` replaces where the result is not used."""
    masked_in_expressions: bool = True
    """Whether `apply_op` replaces them. It does not in plain arithmetic, such as the product in
    ``x * x if x < 1e100 else 0.0``: a select for each operation would cost more than the rare replay
    of a call in which an unused value overflows. The recording kernel, which is compiled after such
    a replay, replaces them."""
    exact: bool = False  # a float result is never rounded
    ulps: float = 0
    """How far a float result may be from the correctly rounded one, in units of the last place; 0:
    it has the same bits as NumPy's. The tests of each target and the list of functions in
    ``transpile/README.md`` use it; no pass reads it."""
    weight: float = 1.0
    """The cost model: its time in vector code, in float additions. A rough number, the same on every
    machine, since decisions that fix the order of a sum (and so its bits) are made by it, such as
    `LoopSet.cost`. `vector_cost` and `work_estimate.work_of` add up these weights as well."""

    @property
    def operands(self) -> str:
        """One letter for each operand."""
        return self.sig.split(":")[0]

    @property
    def result(self) -> str:
        return self.sig.split(":")[1]

    @property
    def arity(self) -> int:
        return len(self.operands)

    @property
    def libm(self) -> str:
        """The function of C's math library that the row is a call of, on its operands in their order:
        its name without the suffix of the dtype. Empty if the row is anything else.
        """
        given = ", ".join(f"{{{k}}}" for k in range(self.arity))
        found = re.fullmatch(rf"__builtin_(\w+){{f}}\({re.escape(given)}\)", self.c)
        return found[1] if found else ""

    def accepts(self, dtype: str) -> bool:
        """Whether the operation exists on operands of `dtype`."""
        return DTYPES[dtype].kind in self.kinds and dtype not in self.excluded

    def operand_dtype(self, args: Sequence[Any]) -> str:
        """The common dtype of the operands `args`, expressions of Loop IR, masks left out; bool if
        all are masks.
        """
        typed = [a.dtype for a, letter in zip(args, self.operands, strict=True) if letter != "m"]
        return typed[0] if typed else "bool"

    @property
    def is_rounded_sum(self) -> bool:
        """Whether the order of its terms changes the rounding of a reduction of floats by it."""
        return self.unit is not None and not self.exact

    @property
    def reduces(self) -> bool:
        """Whether a vector reduction may use it: it has a neutral element, or x op x is x."""
        return self.arity == 2 and (self.unit is not None or self.idempotent)


def _first_operand_extremum(wins: Callable[..., Any]) -> Callable[..., Any]:
    """Python's min and max: the first operand unless the second is strictly better."""
    return lambda a, b: np.where(wins(b, a), b, a)


def _nan_propagating_extremum(wins: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's minimum and maximum: a NaN wins; a tie returns the second operand (float16: the
    first).
    """

    def run(a: Any, b: Any) -> Any:
        """The elementwise extremum of `a` and `b`."""
        ties = (a == b) & (np.asarray(a).dtype == np.float16)
        return np.where(np.isnan(a) | wins(a, b) | ties, a, b)

    return run


def _ieee_extremum(wins: Callable[..., Any], negative: bool) -> Callable[..., Any]:
    """``minimum`` and ``maximum`` of IEEE 754-2019: a NaN wins, and -0.0 is less than 0.0, so that
    the result does not depend on the order of the operands. ``negative``: whether -0.0 wins a tie.
    """

    def run(a: Any, b: Any) -> Any:
        """The elementwise extremum of `a` and `b`."""
        ties = (a == b) & (np.signbit(a) == negative)
        return np.where(np.isnan(a) | wins(a, b) | ties, a, b)

    return run


def _overflow_predicate(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Whether the exact integer result of `op` does not fit the operands' dtype."""

    def over(a: Any, b: Any) -> Any:
        """Whether each exact result is out of range."""
        info = np.iinfo(np.asarray(a).dtype)
        exact = op(np.asarray(a).astype(object), np.asarray(b).astype(object))
        return (exact < info.min) | (exact > info.max)

    return lambda a, b: np.asarray(over(a, b), dtype=bool)


def _integer_power(a: Any, b: Any) -> Any:
    """Integer power, which wraps; 1 for a negative exponent, where NumPy would raise."""
    return np.power(a, np.maximum(b, 0))


def _complex_rows(name: str, function: Callable[[Any], Any], *raises: str) -> tuple[Op, Op]:
    """The rows of the real and imaginary part of libm's complex `name`, tested against `function`.
    """
    re, im = (
        Op(name=f"{name}_{part}", sig="aa:a", run=op_semantics.complex_part(function, part), c=f"__builtin_c{c}{{f}}(tp_{name}_both_{{d}}({{0}}, {{1}}))", kinds="f", raises=raises, masked_operands=(0, 1), ulps=4, weight=20)
        for part, c in (("re", "real"), ("im", "imag"))
    )
    return re, im


def _complex_power_rows() -> tuple[Op, Op]:
    """The rows of the real and imaginary part of NumPy's power of two complex numbers. libm computes
    it as ``exp(y * log(x))``: the bits are those of NumPy if NumPy calls the same libm.
    """
    re, im = (
        Op(name=f"cpow_{part}", sig="aaaa:a", run=op_semantics.complex_power_part(part), c=f"__builtin_c{c}{{f}}(tp_cpow_both_{{d}}({{0}}, {{1}}, {{2}}, {{3}}))", kinds="f", raises=("divide", "over", "under", "invalid"), masked_operands=(0, 1, 2, 3), ulps=4, weight=40)
        for part, c in (("re", "real"), ("im", "imag"))
    )
    return re, im


_ROWS = (
    # arithmetic
    Op(name="add", sig="aa:a", run=np.add, c="({t})({0} + {1})", spellings=("+", "numpy.add"), unit=-0.0, raises=("over", "invalid"), masked_in_expressions=False),
    Op(name="sub", sig="aa:a", run=np.subtract, c="({t})({0} - {1})", spellings=("-", "numpy.subtract"), raises=("over", "invalid"), masked_in_expressions=False),
    Op(name="mul", sig="aa:a", run=np.multiply, c="({t})({0} * {1})", spellings=("*", "numpy.multiply"), unit=1, raises=("over", "under", "invalid"), masked_in_expressions=False),
    Op(name="div", sig="aa:a", run=np.divide, c="({0} / {1})", spellings=("/", "numpy.divide", "numpy.true_divide"), kinds="f", raises=("divide", "over", "under", "invalid"), masked_operands=(1,), weight=4),
    Op(name="floordiv", sig="aa:a", run=np.floor_divide, c="tp_floordiv_{d}({0}, {1})", spellings=("//", "numpy.floor_divide"), raises=("divide", "over", "invalid"), masked_operands=(0, 1), weight=8),
    Op(name="mod", sig="aa:a", run=np.remainder, c="tp_mod_{d}({0}, {1})", spellings=("%", "numpy.mod", "numpy.remainder"), raises=("divide", "invalid"), masked_operands=(0, 1), weight=8),
    Op(name="pow", sig="aa:a", run=np.power, c="tp_pow_{d}({0}, {1})", spellings=("**", "numpy.power", "numpy.pow", "math.pow"), kinds="f", raises=("divide", "over", "under", "invalid"), ulps=1.5, weight=12),
    Op(name="ipow", sig="aa:a", run=_integer_power, c="tp_ipow_{d}({0}, {1})", kinds="iu", weight=24),
    Op(name="neg", sig="a:a", run=np.negative, c="({t})(-{0})", spellings=("u-", "numpy.negative"), exact=True),
    Op(name="abs", sig="a:a", run=np.abs, c="tp_abs_{d}({0})", spellings=("abs", "numpy.abs", "numpy.absolute", "numpy.fabs", "math.fabs"), exact=True),
    # minimum and maximum
    Op(name="min", sig="aa:a", run=_first_operand_extremum(np.less), c="tp_min_{d}({0}, {1})", spellings=("min",), idempotent=True, exact=True),
    Op(name="max", sig="aa:a", run=_first_operand_extremum(np.greater), c="tp_max_{d}({0}, {1})", spellings=("max",), idempotent=True, exact=True),
    Op(name="minimum", sig="aa:a", run=_nan_propagating_extremum(np.less), c="tp_minimum_{d}({0}, {1})", spellings=("numpy.minimum",), idempotent=True, exact=True),
    Op(name="maximum", sig="aa:a", run=_nan_propagating_extremum(np.greater), c="tp_maximum_{d}({0}, {1})", spellings=("numpy.maximum",), idempotent=True, exact=True),
    Op(name="ieee_minimum", sig="aa:a", run=_ieee_extremum(np.less, negative=True), c="tp_ieee_minimum_{d}({0}, {1})", kinds="f", excluded=("f16",), unit=math.inf, idempotent=True, exact=True),
    Op(name="ieee_maximum", sig="aa:a", run=_ieee_extremum(np.greater, negative=False), c="tp_ieee_maximum_{d}({0}, {1})", kinds="f", excluded=("f16",), unit=-math.inf, idempotent=True, exact=True),
    # comparison
    Op(name="lt", sig="aa:m", run=np.less, c="tp_lt_{d}({0}, {1})", spellings=("<", "numpy.less"), kinds="biuf"),
    Op(name="le", sig="aa:m", run=np.less_equal, c="tp_le_{d}({0}, {1})", spellings=("<=", "numpy.less_equal"), kinds="biuf"),
    Op(name="gt", sig="aa:m", run=np.greater, c="tp_lt_{d}({1}, {0})", spellings=(">", "numpy.greater"), kinds="biuf"),
    Op(name="ge", sig="aa:m", run=np.greater_equal, c="tp_le_{d}({1}, {0})", spellings=(">=", "numpy.greater_equal"), kinds="biuf"),
    Op(name="eq", sig="aa:m", run=np.equal, c="({0} == {1})", spellings=("==", "numpy.equal"), kinds="biuf"),
    Op(name="ne", sig="aa:m", run=np.not_equal, c="({0} != {1})", spellings=("!=", "numpy.not_equal"), kinds="biuf"),
    Op(name="not_lt", sig="aa:m", run=lambda a, b: np.logical_not(np.less(a, b)), c="(tp_lt_{d}({0}, {1}) ^ 1)", kinds="f"),
    Op(name="not_le", sig="aa:m", run=lambda a, b: np.logical_not(np.less_equal(a, b)), c="(tp_le_{d}({0}, {1}) ^ 1)", kinds="f"),
    # logic
    Op(name="and", sig="mm:m", run=np.logical_and, c="({0} & {1})", spellings=("numpy.logical_and",), kinds="b", unit=1, idempotent=True),
    Op(name="or", sig="mm:m", run=np.logical_or, c="({0} | {1})", spellings=("numpy.logical_or",), kinds="b", unit=0, idempotent=True),
    Op(name="xor", sig="mm:m", run=np.logical_xor, c="({0} ^ {1})", spellings=("numpy.logical_xor",), kinds="b", unit=0),
    Op(name="not", sig="m:m", run=np.logical_not, c="({0} ^ 1)", spellings=("not", "numpy.logical_not"), kinds="b"),
    Op(name="blend", sig="maa:a", run=np.where, c="tp_blend_{d}({0}, {1}, {2})", kinds="iuf", exact=True),
    Op(name="select", sig="maa:a", run=np.where, c="({0} ? {1} : {2})", spellings=("if", "numpy.where"), kinds="biuf", exact=True),
    # bits
    Op(name="bitand", sig="aa:a", run=np.bitwise_and, c="({t})({0} & {1})", spellings=("&", "numpy.bitwise_and"), kinds="iu", unit=-1, idempotent=True),
    Op(name="bitor", sig="aa:a", run=np.bitwise_or, c="({t})({0} | {1})", spellings=("|", "numpy.bitwise_or"), kinds="iu", unit=0, idempotent=True),
    Op(name="bitxor", sig="aa:a", run=np.bitwise_xor, c="({t})({0} ^ {1})", spellings=("^", "numpy.bitwise_xor"), kinds="iu", unit=0),
    Op(name="invert", sig="a:a", run=np.invert, c="({t})(~{0})", spellings=("~", "numpy.invert"), kinds="iu"),
    Op(name="shl", sig="aa:a", run=np.left_shift, c="tp_shl_{d}({0}, {1})", spellings=("<<", "numpy.left_shift", "numpy.bitwise_left_shift"), kinds="iu"),
    Op(name="shr", sig="aa:a", run=np.right_shift, c="tp_shr_{d}({0}, {1})", spellings=(">>", "numpy.right_shift", "numpy.bitwise_right_shift"), kinds="iu"),
    Op(name="rotl", sig="aa:a", run=op_semantics.bit_rotation(1), c="tp_rotl_{d}({0}, {1})", spellings=("transpile.ops.rotl",), kinds="iu"),
    Op(name="rotr", sig="aa:a", run=op_semantics.bit_rotation(-1), c="tp_rotr_{d}({0}, {1})", spellings=("transpile.ops.rotr",), kinds="iu"),
    Op(name="clmul", sig="aa:a", run=op_semantics.carryless_product, c="tp_clmul_{d}({0}, {1})", spellings=("transpile.ops.clmul",), kinds="iu", weight=4),
    Op(name="mul_high", sig="aa:a", run=op_semantics.high_product, c="tp_mul_high_{d}({0}, {1})", spellings=("transpile.ops.mul_high",), kinds="iu", weight=4),
    Op(name="short_mul", sig="aa:a", run=op_semantics.short_product, c="tp_short_mul_{d}({0}, {1})", kinds="iu", excluded=("i8", "u8", "i16", "u16", "i32", "u32")),
    Op(name="popcount", sig="a:a", run=op_semantics.popcount, c="tp_popcount_{d}({0})", spellings=("transpile.ops.popcount",), kinds="iu"),
    Op(name="first_set", sig="a:a", run=op_semantics.first_set, c="tp_first_set_{d}({0})", spellings=("transpile.ops.first_set",), kinds="iu"),
    Op(name="saturating_add", sig="aa:a", run=op_semantics.saturating(operator.add), c="tp_saturating_add_{d}({0}, {1})", spellings=("transpile.ops.saturating_add",), kinds="iu"),
    Op(name="saturating_sub", sig="aa:a", run=op_semantics.saturating(operator.sub), c="tp_saturating_sub_{d}({0}, {1})", spellings=("transpile.ops.saturating_sub",), kinds="iu"),
    Op(name="saturating_mul", sig="aa:a", run=op_semantics.saturating(operator.mul), c="tp_saturating_mul_{d}({0}, {1})", spellings=("transpile.ops.saturating_mul",), kinds="iu", weight=4),
    # rounding
    Op(name="floor", sig="a:a", run=np.floor, c="__builtin_floor{f}({0})", spellings=("numpy.floor", "math.floor"), kinds="f", exact=True),
    Op(name="ceil", sig="a:a", run=np.ceil, c="__builtin_ceil{f}({0})", spellings=("numpy.ceil", "math.ceil"), kinds="f", exact=True),
    Op(name="trunc", sig="a:a", run=np.trunc, c="__builtin_trunc{f}({0})", spellings=("numpy.trunc", "math.trunc"), kinds="f", exact=True),
    Op(name="rint", sig="a:a", run=np.rint, c="__builtin_rint{f}({0})", spellings=("numpy.rint", "round"), kinds="f", exact=True),
    # functions
    Op(name="sqrt", sig="a:a", run=np.sqrt, c="__builtin_sqrt{f}({0})", spellings=("numpy.sqrt", "math.sqrt"), kinds="f", raises=("invalid",), weight=4),
    Op(name="exp", sig="a:a", run=np.exp, c="tp_exp_{d}({0})", spellings=("numpy.exp", "math.exp"), kinds="f", raises=("over", "under"), safe=0.0, ulps=1.2, weight=8),
    Op(name="log", sig="a:a", run=np.log, c="tp_log_{d}({0})", spellings=("numpy.log", "math.log"), kinds="f", raises=("divide", "invalid"), ulps=1.2, weight=8),
    Op(name="sin", sig="a:a", run=np.sin, c="tp_sin_{d}({0})", spellings=("numpy.sin", "math.sin"), kinds="f", raises=("invalid",), safe=0.0, ulps=2.5, weight=8),
    Op(name="cos", sig="a:a", run=np.cos, c="tp_cos_{d}({0})", spellings=("numpy.cos", "math.cos"), kinds="f", raises=("invalid",), safe=0.0, ulps=2.5, weight=8),
    Op(name="tan", sig="a:a", run=np.tan, c="tp_tan_{d}({0})", spellings=("numpy.tan", "math.tan"), kinds="f", raises=("invalid",), safe=0.0, ulps=3.5, weight=8),
    Op(name="tanh", sig="a:a", run=np.tanh, c="tp_tanh_{d}({0})", spellings=("numpy.tanh", "math.tanh"), kinds="f", ulps=2.5, weight=8),
    Op(name="exp2", sig="a:a", run=np.exp2, c="__builtin_exp2{f}({0})", spellings=("numpy.exp2", "math.exp2"), kinds="f", raises=("over", "under"), safe=0.0, ulps=1.2, weight=8),
    Op(name="expm1", sig="a:a", run=np.expm1, c="__builtin_expm1{f}({0})", spellings=("numpy.expm1", "math.expm1"), kinds="f", raises=("over", "under"), safe=0.0, ulps=2, weight=8),
    Op(name="log2", sig="a:a", run=np.log2, c="__builtin_log2{f}({0})", spellings=("numpy.log2", "math.log2"), kinds="f", raises=("divide", "invalid"), ulps=1.6, weight=8),
    Op(name="log10", sig="a:a", run=np.log10, c="__builtin_log10{f}({0})", spellings=("numpy.log10", "math.log10"), kinds="f", raises=("divide", "invalid"), ulps=2.5, weight=8),
    Op(name="log1p", sig="a:a", run=np.log1p, c="__builtin_log1p{f}({0})", spellings=("numpy.log1p", "math.log1p"), kinds="f", raises=("divide", "under", "invalid"), safe=0.0, ulps=1.2, weight=8),
    Op(name="sinh", sig="a:a", run=np.sinh, c="__builtin_sinh{f}({0})", spellings=("numpy.sinh", "math.sinh"), kinds="f", raises=("over", "under"), safe=0.0, ulps=2.5, weight=8),
    Op(name="cosh", sig="a:a", run=np.cosh, c="__builtin_cosh{f}({0})", spellings=("numpy.cosh", "math.cosh"), kinds="f", raises=("over",), safe=0.0, ulps=2.5, weight=8),
    Op(name="asin", sig="a:a", run=np.arcsin, c="__builtin_asin{f}({0})", spellings=("numpy.arcsin", "math.asin"), kinds="f", raises=("under", "invalid"), safe=0.0, ulps=2, weight=10),
    Op(name="acos", sig="a:a", run=np.arccos, c="__builtin_acos{f}({0})", spellings=("numpy.arccos", "math.acos"), kinds="f", raises=("invalid",), safe=0.0, ulps=1.5, weight=10),
    Op(name="atan", sig="a:a", run=np.arctan, c="__builtin_atan{f}({0})", spellings=("numpy.arctan", "math.atan"), kinds="f", raises=("under",), safe=0.0, ulps=2.5, weight=10),
    Op(name="asinh", sig="a:a", run=np.arcsinh, c="__builtin_asinh{f}({0})", spellings=("numpy.arcsinh", "math.asinh"), kinds="f", raises=("under",), safe=0.0, ulps=2, weight=10),
    Op(name="acosh", sig="a:a", run=np.arccosh, c="__builtin_acosh{f}({0})", spellings=("numpy.arccosh", "math.acosh"), kinds="f", raises=("invalid",), ulps=2.5, weight=10),
    Op(name="atanh", sig="a:a", run=np.arctanh, c="__builtin_atanh{f}({0})", spellings=("numpy.arctanh", "math.atanh"), kinds="f", raises=("divide", "under", "invalid"), safe=0.0, ulps=2, weight=10),
    Op(name="cbrt", sig="a:a", run=np.cbrt, c="__builtin_cbrt{f}({0})", spellings=("numpy.cbrt", "math.cbrt"), kinds="f", ulps=3, weight=4),
    Op(name="atan2", sig="aa:a", run=np.arctan2, c="__builtin_atan2{f}({0}, {1})", spellings=("numpy.arctan2", "math.atan2"), kinds="f", raises=("under",), safe=0.0, ulps=2.5, weight=10),
    Op(name="hypot", sig="aa:a", run=np.hypot, c="__builtin_hypot{f}({0}, {1})", spellings=("numpy.hypot", "math.hypot"), kinds="f", raises=("over", "under"), safe=0.0, masked_operands=(0, 1), ulps=1.5, weight=6),
    Op(name="remainder", sig="aa:a", run=op_semantics.math_function(math.remainder), c="__builtin_remainder{f}({0}, {1})", spellings=("math.remainder",), kinds="f", excluded=("f16",), raises=("invalid",), masked_operands=(0, 1), exact=True, weight=2),
    Op(name="fmod", sig="aa:a", run=np.fmod, c="__builtin_fmod{f}({0}, {1})", spellings=("numpy.fmod", "math.fmod"), kinds="f", raises=("invalid",), masked_operands=(0, 1), exact=True, weight=2),
    Op(name="copysign", sig="aa:a", run=np.copysign, c="__builtin_copysign{f}({0}, {1})", spellings=("numpy.copysign", "math.copysign"), kinds="f", exact=True, weight=2),
    Op(name="nextafter", sig="aa:a", run=np.nextafter, c="__builtin_nextafter{f}({0}, {1})", spellings=("numpy.nextafter", "math.nextafter"), kinds="f", excluded=("f16",), raises=("over", "under"), masked_operands=(0, 1), exact=True, weight=6),
    Op(name="sign", sig="a:a", run=np.sign, c="tp_signum_{d}({0})", spellings=("numpy.sign",), exact=True),
    Op(name="erf", sig="a:a", run=op_semantics.math_function(math.erf), c="__builtin_erf{f}({0})", spellings=("math.erf", "transpile.ops.erf"), kinds="f", raises=("under",), safe=0.0, ulps=2.5, weight=10),
    Op(name="erfc", sig="a:a", run=op_semantics.math_function(math.erfc), c="__builtin_erfc{f}({0})", spellings=("math.erfc",), kinds="f", raises=("under",), safe=0.0, ulps=2.5, weight=10),
    Op(name="rsqrt", sig="a:a", run=op_semantics.rsqrt, c="(1 / __builtin_sqrt{f}({0}))", spellings=("transpile.ops.rsqrt",), kinds="f", raises=("divide", "invalid"), weight=4),
    Op(name="relu", sig="a:a", run=op_semantics.relu, c="tp_maximum_{d}({0}, 0)", spellings=("transpile.ops.relu",), exact=True),
    Op(name="sigmoid", sig="a:a", run=op_semantics.sigmoid, c="(1 / (1 + tp_exp_{d}(-{0})))", spellings=("transpile.ops.sigmoid",), kinds="f", raises=("over", "under"), safe=0.0, ulps=2.5, weight=10),
    Op(name="fma", sig="aaa:a", run=op_semantics.fma, c="__builtin_fma{f}({0}, {1}, {2})", spellings=("transpile.ops.fma",), kinds="f", raises=("over", "under", "invalid"), masked_operands=(0, 1), masked_in_expressions=False, weight=2),
    Op(name="clamp", sig="aaa:a", run=op_semantics.clamp, c="tp_min_{d}(tp_max_{d}({0}, {1}), {2})", spellings=("transpile.ops.clamp",), exact=True),
    # parts of functions of complex numbers
    *_complex_rows("cexp", np.exp, "over", "under", "invalid"),
    *_complex_rows("clog", np.log, "divide", "under"),
    *_complex_rows("csqrt", np.sqrt, "under"),
    *_complex_rows("csin", np.sin, "over", "under", "invalid"),
    *_complex_rows("ccos", np.cos, "over", "under", "invalid"),
    *_complex_rows("ctan", np.tan, "under", "invalid"),
    *_complex_power_rows(),
    # predicates
    Op(name="hypot_le", sig="aaa:m", run=lambda a, b, c: np.hypot(a, b) <= c, c="tp_le_{d}(__builtin_hypot{f}({0}, {1}), {2})", kinds="f", raises=("over", "under"), safe=0.0, masked_operands=(0, 1), ulps=1.5, weight=4),
    Op(name="hypot_gt", sig="aaa:m", run=lambda a, b, c: np.hypot(a, b) > c, c="tp_lt_{d}({2}, __builtin_hypot{f}({0}, {1}))", kinds="f", raises=("over", "under"), safe=0.0, masked_operands=(0, 1), ulps=1.5, weight=4),
    Op(name="isinf", sig="a:m", run=np.isinf, c="(__builtin_isinf({0}) != 0)", spellings=("numpy.isinf", "math.isinf"), kinds="f"),
    Op(name="isfinite", sig="a:m", run=np.isfinite, c="(__builtin_isfinite({0}) != 0)", spellings=("numpy.isfinite", "math.isfinite"), kinds="f"),
    Op(name="signbit", sig="a:m", run=np.signbit, c="(__builtin_copysign{f}(1, {0}) < 0)", spellings=("numpy.signbit",), kinds="f"),
    Op(name="isnan", sig="a:m", run=np.isnan, c="({0} != {0})", spellings=("numpy.isnan", "math.isnan"), kinds="f"),
    Op(name="add_over", sig="aa:m", run=_overflow_predicate(lambda a, b: a + b), c="tp_add_over_{d}({0}, {1})", kinds="iu"),
    Op(name="sub_over", sig="aa:m", run=_overflow_predicate(lambda a, b: a - b), c="tp_sub_over_{d}({0}, {1})", kinds="iu"),
    Op(name="mul_over", sig="aa:m", run=_overflow_predicate(lambda a, b: a * b), c="tp_mul_over_{d}({0}, {1})", kinds="iu", weight=4),
    # conversion
    Op(name="cast", sig="*:a", run=lambda x: x, c="(({r}){0})", kinds="biuf"),
)

OPS: dict[str, Op] = {op.name: op for op in _ROWS}
"""The row (`Op`) of each operation, by its name in `nodes.Call`. A new row stands in `_ROWS`."""
assert len(OPS) == len(_ROWS), "an op name stands twice"


def evaluate(op: str, args: tuple[Any, ...], dtype: str) -> Any:
    """The value of ``Call(op, args, dtype)`` on NumPy operands. The caller sets ``np.errstate``."""
    target = DTYPES[dtype].numpy
    if op == "cast" and dtype == "bool":
        return np.not_equal(args[0], 0)
    return np.asarray(OPS[op].run(*args)).astype(target)[()]
