"""How long an array may turn out that is made inside loops: a bound known before the first."""
from __future__ import annotations

from loopir.nodes import Call, Const, Expr, Var

from ..ranges import Linear, integer
from .builder import Builder
from .implied import extreme

__all__ = ["room"]


def room(b: Builder, length: Expr) -> Expr | None:
    """At least `length` wherever the loops around it are, and invariant; None where none is known.

    ``max(n - i, 0)`` for ``i in range(n)`` → ``max(n, 0)``.
    """
    most = _bound(b, length, True)
    return None if most is None else Call("max", (most, integer(0)), "i64")


def _bound(b: Builder, e: Expr, up: bool) -> Expr | None:
    """An upper bound of `e`, or a lower one."""
    if (origin := b.foreseen(e)) is not None:
        return origin
    if up and e in b.most:
        return b.most[e]
    match e:
        case Var(name) if name in b.values:
            return _bound(b, b.values[name], up)
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
