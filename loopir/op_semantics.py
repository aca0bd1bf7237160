"""Reference semantics of the operations that NumPy has no function for, on NumPy operands."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .process.signal_exceptions import failures

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "carryless_product", "clamp", "first_set", "complex_power_part", "fma", "high_product",
    "complex_part", "math_function", "popcount", "relu", "bit_rotation", "rsqrt", "saturating",
    "short_product", "sigmoid",
]


def complex_power_part(part: str) -> Callable[..., Any]:
    """The real or imaginary part (``"re"``, ``"im"``) of NumPy's complex power, as a function of
    the parts of both operands.
    """

    def run(*parts: Any) -> Any:
        """The part of ``(a + bi) ** (c + di)``."""
        a, b, c, d = np.broadcast_arrays(*parts)
        kind = np.complex128 if a.itemsize == 8 else np.complex64
        x, y = np.empty(a.shape, kind), np.empty(a.shape, kind)
        x.real, x.imag, y.real, y.imag = a, b, c, d
        value = np.power(x, y)
        return value.real if part == "re" else value.imag

    return run


def complex_part(function: Callable[[Any], Any], part: str) -> Callable[..., Any]:
    """The real or imaginary part (``"re"``, ``"im"``) of NumPy's complex `function`, as a function
    of the real and imaginary parts of its argument.
    """

    def run(a: Any, b: Any) -> Any:
        """The part of `function` at ``a + bi``."""
        a, b = np.broadcast_arrays(a, b)
        z = np.empty(a.shape, np.complex128 if a.itemsize == 8 else np.complex64)
        z.real, z.imag = a, b
        value = function(z)
        return value.real if part == "re" else value.imag

    return run


def saturating(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Integer `op`, clamped to the bounds of the dtype."""

    def run(a: Any, b: Any) -> Any:
        """``op(a, b)`` in integers of any size, clamped."""
        info = np.iinfo(np.asarray(a).dtype)
        exact = op(np.asarray(a).astype(object), np.asarray(b).astype(object))
        return np.array(np.clip(exact, info.min, info.max), info.dtype)

    return run


def bit_rotation(direction: int) -> Callable[..., Any]:
    """Rotation of bits: to the left for ``direction=1``, to the right for -1."""

    def run(a: Any, by: Any) -> Any:
        """The bits of `a` rotated by `by`."""
        a = np.asarray(a)
        bits, unsigned = 8 * a.itemsize, np.dtype(f"u{a.itemsize}")
        x = a.view(unsigned).astype(object)
        shift = (direction * np.asarray(by).astype(object)) % bits
        return np.array((x << shift | x >> (bits - shift)) % (1 << bits), unsigned).view(a.dtype)

    return run


def carryless_product(a: Any, b: Any) -> Any:
    """The product of polynomials over GF(2), truncated to the dtype."""
    a, b = np.asarray(a), np.asarray(b)
    out = np.zeros_like(a)
    for k in range(8 * a.itemsize):
        out ^= np.where((b >> k) & 1, a << k, 0).astype(a.dtype)
    return out


def high_product(a: Any, b: Any) -> Any:
    """The high half of the double-width product."""
    a, b = np.asarray(a), np.asarray(b)
    product = a.astype(object) * b.astype(object)
    return np.asarray(product >> 8 * a.itemsize, dtype=object).astype(a.dtype)


def short_product(a: Any, b: Any) -> Any:
    """The product of the low halves, which has as many bits as an operand."""
    a, b = np.asarray(a), np.asarray(b)
    half = f"{a.dtype.kind}{a.itemsize // 2}"
    return a.astype(half).astype(a.dtype) * b.astype(half).astype(a.dtype)


def popcount(a: Any) -> Any:
    """The number of bits that are set, in the operand's dtype."""
    a = np.asarray(a)
    return np.bitwise_count(a.view(f"u{a.itemsize}")).astype(a.dtype)


def first_set(a: Any) -> Any:
    """The index of the lowest set bit; -1 if there is none (all bits set, in an unsigned dtype)."""
    a = np.asarray(a)
    one = a.dtype.type(1)
    with np.errstate(over="ignore"):  # NumPy's scalars would warn
        lower_bits = (a & (~a + one)) - one
        return np.where(a == 0, ~(a ^ a), popcount(lower_bits))


def _via_float32(run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`, with float16 computed as float32 and rounded at the end."""

    @functools.wraps(run)
    def wide(*args: Any) -> Any:
        """`run` on operands that are not float16, or were widened."""
        dtype = np.asarray(args[0]).dtype
        if dtype != np.float16:
            return run(*args)
        return np.asarray(run(*(np.asarray(x, np.float32) for x in args))).astype(dtype)

    return wide


@_via_float32
def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)``, with two roundings."""
    return 1 / np.sqrt(x)


@_via_float32
def relu(x: Any) -> Any:
    """``maximum(x, 0)``; a NaN is propagated."""
    return np.maximum(x, np.asarray(x).dtype.type(0))


@_via_float32
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return 1 / (1 + np.exp(-np.asarray(x)))


def clamp(x: Any, low: Any, high: Any) -> Any:
    """``min(max(x, low), high)`` with Python's min and max: on ties and NaNs the first operand."""
    raised = np.where(np.greater(low, x), low, x)
    return np.where(np.less(high, raised), high, raised)


@_via_float32
def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, with one rounding."""
    dtype = np.asarray(a).dtype

    def one(a: float, b: float, c: float) -> float:
        """The fused multiply-add of three numbers, exact before the one rounding."""
        if not (math.isfinite(a) and math.isfinite(b)):
            return a * b + c
        if not math.isfinite(c):
            return c
        from fractions import Fraction

        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        return a * b + c if exact == 0 else _nearest(exact, dtype)

    return np.vectorize(one, otypes=[np.float64])(a, b, c).astype(dtype)


def _nearest(exact: Fraction, dtype: np.dtype[Any]) -> float:
    """The value of `dtype` nearest to `exact`, ties to even; infinity on overflow."""
    info = np.finfo(dtype)
    numerator, denominator = abs(exact.numerator), exact.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    exponent -= numerator << max(0, -exponent) < denominator << max(0, exponent)
    exponent = max(exponent, int(info.minexp)) - int(info.nmant)
    units = round(exact / 2**exponent if exponent >= 0 else exact * 2**-exponent)
    if abs(units) >> max(0, int(info.maxexp) - exponent):
        return math.copysign(math.inf, units)
    return math.copysign(math.ldexp(abs(units), exponent), exact)


def math_function(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of `math` on the elements of NumPy operands; NaN where it raises ValueError."""

    def one(*args: float) -> float:
        """The function of numbers."""
        try:
            return function(*args)
        except failures(ValueError):
            return math.nan

    def run(*args: Any) -> Any:
        """The function of arrays, in the dtype of the first one."""
        values = np.vectorize(one, otypes=[np.float64])(*args)
        return values.astype(np.asarray(args[0]).dtype)

    return run
