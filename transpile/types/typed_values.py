"""Typed scalar and complex values, and type promotion under NEP 50."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from loopir.analysis.affine import LinearForm
from loopir.analysis.intervals import Bounds
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
    """A scalar while lowering: its IR and its Python-level type.

    ``strong`` is the dtype where it is a NumPy scalar, ``weak`` the dtype ("i64", "f64", "bool")
    where it is a Python one; a value that may be either has both, and ``is_weak`` tells at run time
    which. ``exact`` is false where the Python value may have been rounded to the carrier's dtype.
    ``boxed``: NumPy gives a 0-d array, not a scalar. Python ints have a ``linear`` form where one
    is known, and an interval.
    """

    ir: Expr
    strong: str | None = None
    weak: str | None = None
    is_weak: Expr | None = None
    exact: bool = True
    boxed: bool = False
    linear: LinearForm | None = None
    interval: Bounds = INT64

    @property
    def dtype(self) -> str:
        """The carrier: what the IR computes in."""
        return self.ir.dtype

    @property
    def either(self) -> bool:
        return self.strong is not None and self.weak is not None

    @property
    def python_int(self) -> bool:
        return self.weak == "i64" and self.strong is None

    @property
    def weak_now(self) -> Expr:
        """Whether the value is a Python scalar, as IR."""
        if self.is_weak is not None:
            return self.is_weak
        return TRUE if self.strong is None else FALSE

    @property
    def range(self) -> Bounds:
        """An interval of an integer or bool."""
        d = DTYPES[self.dtype]
        if d.kind == "f":
            return self.interval
        if self.interval == INT64:  # nothing is known: of a uint64 not even that it is one
            return d.low, d.high
        return max(self.interval[0], d.low), min(self.interval[1], d.high)

    @property
    def types(self) -> tuple[str | None, str | None]:
        return self.strong, self.weak


def constant(value: float | int | bool) -> Num:
    """A literal of the source."""
    match value:
        case bool():
            return Num(Const(value, "bool"), weak="bool")
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
    """A value of a NumPy or a Python type, or of either."""

    @property
    def strong(self) -> str | None: ...
    @property
    def weak(self) -> str | None: ...


def probe_result(operation: Callable[..., Any], *operands: HasType) -> ScalarType | None:
    """The type that a Python operator or NumPy function gives; None where it is not one of ours, or
    depends on which of its types an operand has.

    For lowering, whose operands are scalars. The front end asks `type_probe.probe_types`, which
    also takes arrays, constants and keyword arguments; both probe by `result_types.result_type`.
    """
    answers = probe_results(operation, *operands)
    return answers.pop() if len(answers) == 1 else None


def probe_results(operation: Callable[..., Any], *operands: HasType) -> set[ScalarType | None]:
    """All types that it may give, whichever of its types each operand has."""
    found = (result_type(operation, types) for types in _alternatives(operands))
    return {ty if isinstance(ty, ScalarType) else None for ty in found}


def _alternatives(operands: tuple[HasType, ...]) -> list[tuple[ScalarType, ...]]:
    out: list[tuple[ScalarType, ...]] = [()]
    for n in operands:
        kinds = [ScalarType(n.strong)] if n.strong else []
        kinds += [ScalarType(n.weak, weak=True)] if n.weak else []
        out = [(*types, kind) for types in out for kind in kinds]
    return out


def bool_op(op: str, *args: Expr) -> Expr:
    """A bool operation, with constants folded away."""
    if op == "not":
        match args[0]:
            case Const(value):
                return Const(not value, "bool")
            case Call("not", (inner,)):
                return inner
            case _:
                return Call("not", args, "bool")
    a, b = args
    unit = op == "and"
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Const):
            return y if bool(x.value) is unit else x
    return a if a == b else Call(op, (a, b), "bool")


def cast(e: Expr, dtype: str) -> Expr:
    """`e` as `dtype`; constants are converted here."""
    if e.dtype == dtype:
        return e
    if isinstance(e, Const) and fits_dtype(e, dtype):
        with np.errstate(all="ignore"):
            return Const(DTYPES[dtype].numpy.type(e.value).item(), dtype)
    return Call("cast", (e,), dtype)


def fits_dtype(e: Expr, dtype: str) -> bool:
    """Whether a constant converts to `dtype` without an error or a warning."""
    if not isinstance(e, Const):
        return False
    to = DTYPES[dtype]
    if to.kind in "iu":
        return (
            float(e.value).is_integer() and to.low <= int(e.value) <= to.high
            if _finite(e)
            else False
        )
    return not (to.kind == "f" and _finite(e) and abs(e.value) > float(np.finfo(to.numpy).max))


def _finite(e: Const) -> bool:
    return DTYPES[e.dtype].kind != "f" or bool(np.isfinite(float(e.value)))


def converts_exactly(e: Expr, dtype: str) -> bool:
    """Whether a constant is the same number in `dtype`, and a zero has its sign."""
    if not (isinstance(e, Const) and fits_dtype(e, dtype)):
        return False
    back = DTYPES[dtype].numpy.type(e.value).item()
    if DTYPES[e.dtype].kind == "f" != DTYPES[dtype].kind:
        return bool(back == e.value and (back or not np.signbit(e.value)))
    return bool(back == e.value) or e.value != e.value


@record(frozen=True, slots=True)
class ComplexPair:
    """A complex number while lowering: its parts, of one type.

    Where ``im`` may be a Python int, which is 0, the number may be the real number ``re``.
    ``simple``: where it is Python's, it is 0 or 1, whatever its type. ``doubtful``: it is Python's
    complex or real number, and nothing tells which.
    """

    re: Num
    im: Num
    simple: bool = False
    doubtful: bool = False

    @property
    def strong(self) -> str | None:
        return COMPLEX[self.im.strong] if self.im.strong else None

    @property
    def weak(self) -> str | None:
        if self.im.weak == "i64":
            return self.re.weak
        return "c128" if self.im.weak else None

    @property
    def mixed(self) -> bool:
        """Whether it may be a real number."""
        return self.im.weak == "i64" or self.doubtful
