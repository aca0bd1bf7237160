"""Typed scalar and complex values of lowering, and type promotion under NEP 50.

A `Num` is an IR expression with the type that the value has in Python. NumPy's scalars are
"strong", Python's "weak": in ``np.float32(1) + 2.0`` the weak float takes the dtype of the strong
one. After paths meet, a value may be either, and IR tells which at run time::

    x[i]                    x: float32 array    Num(load, strong="f32")
    k + 1                   k: Python int       Num(k + 1, weak="i64", linear=…, interval=…)
    x[i] if c else 0.0                          Num(select(…), strong="f32", weak="f64",
                                                    is_weak=not c)
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import Bounds
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Const, Expr

from .int_limits import INT64
from .result_types import result_type
from .value_types import COMPLEX, ScalarType

__all__ = [
    "FALSE", "TRUE", "HasType", "Num", "cast", "constant", "converts_exactly", "fits_dtype",
    "bool_op", "probe_result", "probe_results", "ComplexPair",
]

TRUE, FALSE = Const(True, "bool"), Const(False, "bool")


@record(frozen=True, slots=True)
class Num:
    """A scalar in lowering: its IR, and its type in Python."""

    ir: Expr
    """The value. Its dtype is the carrier, which holds the value of either type."""
    strong: str | None = None
    """The dtype if it may be a NumPy scalar; None: it is a Python scalar."""
    weak: str | None = None
    """"i64", "f64" or "bool" if it may be a Python int, float or bool; None: it is NumPy's. "u64":
    it is a word (`is_word`).
    """
    is_weak: Expr | None = None
    """Where it may be either: whether it is a Python scalar, as a bool of the IR. Else None."""
    exact: bool = True
    """Whether the carrier has Python's value exactly; False: it may be rounded."""
    boxed: bool = False
    """Whether NumPy has a 0-d array here, and no scalar."""
    linear: LinearForm | None = None
    """A linear form of an int; None: unknown."""
    interval: Bounds = INT64
    """An interval of an int; INT64: unknown."""

    @property
    def dtype(self) -> str:
        """The carrier: the dtype of the IR."""
        return self.ir.dtype

    @property
    def either(self) -> bool:
        """Whether it may be a NumPy or a Python scalar, by the path taken."""
        return self.strong is not None and self.weak is not None

    @property
    def python_int(self) -> bool:
        """Whether it is a Python int on every path: no bool, and no NumPy integer on any path. Then
        overflow must be replayed, and the value has a linear form. In the front end, the question
        is `fact.Fact.is_int`.
        """
        return self.weak == "i64" and self.strong is None

    @property
    def is_word(self) -> bool:
        """Whether it is a Python int of 0 … 2**64 - 1, in a uint64: such as what a mask of 64 ones
        leaves (`word_arithmetic.py`).
        """
        return self.weak == "u64"

    @property
    def weak_now(self) -> Expr:
        """Whether the value is a Python scalar, as a bool of the IR, often a constant."""
        if self.is_weak is not None:
            return self.is_weak
        return TRUE if self.strong is None else FALSE

    @property
    def range(self) -> Bounds:
        """An interval of an integer or bool, within the bounds of its carrier."""
        d = DTYPES[self.dtype]
        if d.kind == "f":
            return self.interval
        if isinstance(self.ir, Const):
            return int(self.ir.value), int(self.ir.value)
        if self.interval == INT64:  # unknown; and INT64 does not bound a uint64
            return d.low, d.high
        return max(self.interval[0], d.low), min(self.interval[1], d.high)

    @property
    def types(self) -> tuple[str | None, str | None]:
        """Both types, to compare with those of another value."""
        return self.strong, self.weak


def constant(value: float | int | bool) -> Num:
    """The Num of a number in the source, a Python scalar. An int must fit 64 bits: those above the
    greatest int64 are words (`Num.is_word`).
    """
    match value:
        case bool():
            return Num(Const(value, "bool"), weak="bool")
        case int() if value > INT64[1]:
            return Num(Const(value, "u64"), weak="u64", interval=(value, value))
        case int():
            return Num(
                Const(value, "i64"),
                weak="i64",
                linear=LinearForm({}, value),
                interval=(value, value),
            )
        case _:
            return Num(Const(value, "f64"), weak="f64")


class HasType(Protocol):
    """A value with a NumPy type, a Python type, or both, as `Num` and `ComplexPair`."""

    @property
    def strong(self) -> str | None: ...
    @property
    def weak(self) -> str | None: ...


def probe_result(operation: Callable[..., Any], *operands: HasType) -> ScalarType | None:
    """The type of ``operation(*operands)``, an operator or a NumPy function; None if that is no
    scalar type, or if it depends on which of its two types an operand has.

        operator.mul, NumPy's float32 and Python's float                  →    NumPy's float32
        operator.mul, an int of either, by the path, and Python's float   →    None: a float of
                                                                               either, by the path

    For lowering, whose operands are scalars. The front end uses `type_probe.probe_types`, which
    also takes arrays, constants and keyword arguments; both probe by `result_types.result_type`.
    """
    answers = probe_results(operation, *operands)
    return answers.pop() if len(answers) == 1 else None


def probe_results(operation: Callable[..., Any], *operands: HasType) -> set[ScalarType | None]:
    """The types of ``operation(*operands)`` for all combinations of the operands' types; None among
    them for a result that is no scalar.
    """
    results = (result_type(operation, types) for types in _type_combinations(operands))
    return {ty if isinstance(ty, ScalarType) else None for ty in results}


def _type_combinations(operands: tuple[HasType, ...]) -> list[tuple[ScalarType, ...]]:
    """All combinations of one type for each operand."""
    combinations: list[tuple[ScalarType, ...]] = [()]
    for operand in operands:
        types = [ScalarType(operand.strong)] if operand.strong else []
        types += [ScalarType(operand.weak, weak=True)] if operand.weak else []
        combinations = [(*c, ty) for c in combinations for ty in types]
    return combinations


def bool_op(op: str, *args: Expr) -> Expr:
    """``not a``, ``a and b`` or ``a or b`` in IR, folded where an operand is a constant."""
    if op == "not":
        match args[0]:
            case Const(value):
                return Const(not value, "bool")
            case Call("not", (inner,)):
                return inner
            case _:
                return Call("not", args, "bool")
    a, b = args
    neutral = op == "and"
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Const):
            return y if bool(x.value) is neutral else x
    return a if a == b else Call(op, (a, b), "bool")


def cast(e: Expr, dtype: str) -> Expr:
    """`e` converted to `dtype`; a constant that fits becomes a constant of `dtype`."""
    if e.dtype == dtype:
        return e
    if isinstance(e, Const) and fits_dtype(e, dtype):
        with np.errstate(all="ignore"):
            return Const(DTYPES[dtype].numpy.type(e.value).item(), dtype)
    return Call("cast", (e,), dtype)


def fits_dtype(e: Expr, dtype: str) -> bool:
    """Whether `e` is a constant that converts to `dtype` without an error or a warning: to an
    integer dtype an integer within its bounds; to a float dtype a number that does not overflow
    there.
    """
    if not isinstance(e, Const):
        return False
    to = DTYPES[dtype]
    if to.kind in "iu":
        is_integer = _is_finite(e) and float(e.value).is_integer()
        return is_integer and to.low <= int(e.value) <= to.high
    return not (to.kind == "f" and _is_finite(e) and abs(e.value) > float(np.finfo(to.numpy).max))


def _is_finite(e: Const) -> bool:
    return DTYPES[e.dtype].kind != "f" or bool(np.isfinite(float(e.value)))


def converts_exactly(e: Expr, dtype: str) -> bool:
    """Whether `e` is a constant that is the same number in `dtype`, the sign of zero included."""
    if not (isinstance(e, Const) and fits_dtype(e, dtype)):
        return False
    converted = DTYPES[dtype].numpy.type(e.value).item()
    if DTYPES[e.dtype].kind == "f" != DTYPES[dtype].kind:
        return bool(converted == e.value and (converted or not np.signbit(e.value)))
    return bool(converted == e.value) or e.value != e.value  # equal, or NaN


@record(frozen=True, slots=True)
class ComplexPair:
    """A complex number in lowering: its two parts, which have one type."""

    re: Num
    im: Num
    """The imaginary part. On a path on which its type is Python's int, it is 0, and the value is no
    complex number but the real number ``re``.
    """
    simple: bool = False
    """Whether it is 0 or 1, of any type, on every path on which it is a Python number."""
    doubtful: bool = False
    """Whether it is a Python number that may be real or complex, and no value at run time tells
    which of the two it is.
    """

    @property
    def strong(self) -> str | None:
        """The complex dtype if it may be a NumPy scalar; else None."""
        return COMPLEX[self.im.strong] if self.im.strong else None

    @property
    def weak(self) -> str | None:
        """The dtype if it may be a Python number: "c128", or that of ``re`` if it may be real."""
        if self.im.weak == "i64":
            return self.re.weak
        return "c128" if self.im.weak else None

    @property
    def mixed(self) -> bool:
        """Whether it may be a real number."""
        return self.im.weak == "i64" or self.doubtful
