"""Constants: exact folding, units, and which calls may leave a floating-point flag behind."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import numpy as np

from ..nodes import Call, Const, Expr, Interval, Node
from ..ops import OPS, evaluate
from ..tree import walk
from ..types import DTYPES, INDEX

__all__ = [
    "MANTISSA", "answered", "evaluated", "integer", "is_const", "is_lossless", "literal",
    "may_raise", "most_trips", "raised", "raising", "rounded", "terms", "trips", "unit",
]


def integer(value: int) -> Const:
    """A subscript or length."""
    return Const(value, INDEX)


def is_const(e: Expr, value: float) -> bool:
    """Whether `e` is the constant `value`; of two zeros, either."""
    return isinstance(e, Const) and e.value == value


def literal(value: float, dtype: str) -> Const:
    """`value` in `dtype`; integers wrap."""
    match DTYPES[dtype].kind:
        case "f":
            return Const(float(value), dtype)
        case "b":
            return Const(bool(value), dtype)
        case "u":
            return Const(int(value) % (DTYPES[dtype].high + 1), dtype)
        case _:
            return Const(int(value), dtype)


def unit(op: str, dtype: str) -> Const | None:
    """The neutral element of `op`, None where it has none."""
    value = OPS[op].unit
    return None if value is None else literal(value, dtype)


def evaluated(op: str, args: tuple[Expr, ...], dtype: str) -> Const | None:
    """The value of a call on constants; None where an operand is none, or it raises a flag."""
    if not _constants(args):
        return None
    values = tuple(DTYPES[a.dtype].numpy.type(a.value) for a in args)
    try:
        with np.errstate(all="raise"):
            return Const(evaluate(op, values, dtype).item(), dtype)
    except FloatingPointError:
        return None


def _constants(args: tuple[Expr, ...]) -> TypeGuard[tuple[Const, ...]]:
    return all(isinstance(a, Const) for a in args)


def _flags(e: Call) -> tuple[str, ...]:
    """The classes of floating-point flags that some operands make `e` raise."""
    if e.op == "cast":
        source = e.args[0].dtype
        calm = DTYPES[source].kind != "f" and DTYPES[e.dtype].wide is None
        return () if calm or is_lossless(source, e.dtype) else ("over", "under", "invalid")
    return OPS[e.op].raises if any(DTYPES[a.dtype].kind == "f" for a in e.args) else ()


def may_raise(e: Call) -> bool:
    """Whether some operands make `e` raise a floating-point flag."""
    return bool(_flags(e))


def raised(*code: Node) -> frozenset[str]:
    """The classes of floating-point flags that `code` may raise."""
    calls = (n for part in code for n in walk(part) if isinstance(n, Call))
    return frozenset(c for call in calls for c in _flags(call))


def raising(n: Node) -> bool:
    """Whether evaluating `n` may raise a floating-point flag."""
    return bool(raised(n))


def answered(e: Call, answer: bool) -> Expr:
    """The `answer` to a question of integers, with what may raise a flag in it computed all the
    same.
    """
    out: Expr = Const(answer, "bool")
    for part in (p for a in e.args for p in _raising_parts(a)):
        test = part if part.dtype == "bool" else Call("eq", (part, Const(0.0, part.dtype)), "bool")
        out = Call("or" if answer else "and", (test, out), "bool")
    return out


def _raising_parts(e: Expr) -> Iterator[Expr]:
    """The bools and floats that integers are made of and that may raise a flag."""
    if raising(e) and (e.dtype == "bool" or DTYPES[e.dtype].kind == "f"):
        yield e
    elif isinstance(e, Call):
        for a in e.args:
            yield from _raising_parts(a)


def terms(e: Expr) -> list[Expr]:
    """What a condition is the logic of."""
    if isinstance(e, Call) and e.op in ("and", "or", "not"):
        return [term for a in e.args for term in terms(a)]
    return [e]


MANTISSA = {"f16": 11, "f32": 24, "f64": 53}


def is_lossless(source: str, target: str) -> bool:
    """Whether every value of dtype `source` is one of `target`."""
    a, b = DTYPES[source], DTYPES[target]
    match a.kind, b.kind:
        case _ if source == target or a.kind == "b":
            return True
        case "f", "f":
            return a.bits <= b.bits
        case "i" | "u", "f":
            return a.bits - (a.kind == "i") <= MANTISSA[target]
        case "i" | "u", "i" | "u":
            return b.low <= a.low and a.high <= b.high
        case _:
            return False


def rounded(e: Expr) -> tuple[Expr, int] | None:
    """Of ``n - (n & 15)``, a multiple of 16, `n` and 15."""
    match e:
        case Call("sub", (n, Call("bitand", (m, Const(int(mask)))))) if n == m and mask >= 0:
            return n, mask
        case _:
            return None


def most_trips(r: Interval) -> int | None:
    """How often a loop runs at most, where that is a plain number: in ``[n - (n & 15), n)``, 15
    times.
    """
    known = rounded(r.lo)
    return known[1] if known and known[0] == r.hi else trips(r)


def trips(r: Interval) -> int | None:
    """The trip count of an interval, where it is a plain number."""
    if isinstance(r.lo, Const) and isinstance(r.hi, Const):
        return max(0, int(r.hi.value) - int(r.lo.value))
    return None
