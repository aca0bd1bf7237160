"""How long an array may turn out whose length is computed: a bound known before the first loop."""
from __future__ import annotations

from loopir.analysis.memory import written
from loopir.nodes import Call, Const, Expr, Load, Var
from loopir.tree import walk
from loopir.types import DTYPES

from ..bindings import Argument
from ..ranges import Linear, integer
from .builder import Builder
from .implied import extreme
from .pytext import known_ahead

__all__ = ["GREATEST", "LEAST", "UNKNOWN", "is_guess", "is_tried", "most", "room"]

GREATEST = "greatest"
"""The greatest element of an array that is given, as it is before the first statement."""

LEAST = "least"
"""Likewise the least."""

UNKNOWN = Call("room", (), "i64")
"""As much as is tried first, and more at each call that had too little."""


def room(b: Builder, length: Expr) -> Expr | None:
    """At least `length` wherever the loops around it are, and invariant; None where none is known.

    ``max(n - i, 0)`` for ``i in range(n)`` → ``max(n, 0)``.
    """
    above = most(b, length)
    return None if above is None else Call("max", (above, integer(0)), "i64")


def most(b: Builder, e: Expr) -> Expr | None:
    """What `e` is at most."""
    return _bound(b, e, True)


def is_guess(room: Expr) -> bool:
    """Whether it holds only as long as nothing is written into the arrays that it speaks of."""
    return any(isinstance(e, Call) and e.op in (GREATEST, LEAST, UNKNOWN.op) for e in walk(room))


def is_tried(room: Expr) -> bool:
    """Whether it is no more than what is tried."""
    return UNKNOWN in walk(room)


def _bound(b: Builder, e: Expr, up: bool) -> Expr | None:
    """An upper bound of `e`, or a lower one."""
    if (origin := known_ahead(e, b)) is not None:
        return origin
    if up and e in b.most:
        return b.most[e]
    match e:
        case Var(name) if name in b.values:
            return _bound(b, b.values[name], up)
        case Load(array) if DTYPES[e.dtype].kind in "biu":
            of = b.reshaped.get(array, array)
            given = isinstance(b.bindings.get(of), Argument) and of not in written(b.block)
            return Call(GREATEST if up else LEAST, (Var(of, e.dtype),), "i64") if given else None
        case Call("cast", (p,)) if DTYPES[p.dtype].kind in "biu" and e.dtype == "i64" != p.dtype:
            return _bound(b, p, up) if p.dtype != "u64" else None
        case Call("max" | "min" | "select" as op, (*_, p, q)):
            sides = [s for s in (_bound(b, p, up), _bound(b, q, up)) if s is not None]
            if len(sides) == 2:
                either = "max" if up else "min"
                return Call(either if op == "select" else op, tuple(sides), "i64")
            return sides[0] if sides and (op == "min") == up and op != "select" else None
        case Call("floordiv", (p, Const(value))) if value > 0:
            whole = _bound(b, p, up)
            return None if whole is None else Call("floordiv", (whole, integer(int(value))), "i64")
    linear = extreme(b, b.linear(e), up)
    if e in linear.terms:
        return None
    out = Linear({}, linear.constant)
    for atom, c in linear.terms.items():
        side = _bound(b, atom, up == (c > 0))
        if side is None:
            return None
        out = out + Linear.of(side) * c
    return out.expr()
