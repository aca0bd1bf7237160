"""Code under a mask: evaluated in every lane, it raises flags only where the mask holds."""
from __future__ import annotations

from ..algebra.rules import rewrite
from ..algebra.values import evaluated, literal, may_raise, unit
from ..nodes import Call, Const, Expr
from ..ops import OPS

__all__ = ["Masked", "either_way", "in_common"]


class Masked:
    """Rewrites the expressions of code that runs where ``mask`` holds (None: everywhere).

    In other lanes an operation that may raise is given 1 for an operand: none of the table's
    raises on it. ``idle`` maps names to what they are in those lanes, where that is known.
    """

    def __init__(self, mask: Expr | None) -> None:
        self.mask = mask
        self.idle: dict[str, Const] = {}

    def __call__(self, e: Expr) -> Expr:
        return e if self.mask is None else self.guarded(e)[0]

    def under(self, cond: Expr) -> Masked:
        """Code that runs where `cond` holds too."""
        return Masked(self.mask_with(cond))

    def mask_with(self, cond: Expr | None) -> Expr | None:
        if self.mask is None or cond is None:
            return cond or self.mask
        return rewrite(Call("and", (self.mask, cond), "bool"))

    def bind(self, name: str, e: Expr) -> Expr:
        """`e` guarded, as the value of `name`."""
        if self.mask is None:
            return e
        value, idle = self.guarded(e)
        if idle is not None:
            self.idle[name] = idle
        return value

    def guarded(self, e: Expr) -> tuple[Expr, Const | None]:
        """`e` so that it raises nothing in idle lanes, and its value there if that is known."""
        match e:
            case Const():
                return e, e
            case Call(op="select", args=(mask, a, b)) if mask == self.mask:
                value, idle = self.guarded(b)
                return Call("select", (mask, self(a), value), e.dtype), idle
            case Call():
                return self.call(e)
            case _:
                return e, self.idle.get(getattr(e, "name", ""))

    def call(self, e: Call) -> tuple[Expr, Const | None]:
        parts = [self.guarded(a) for a in e.args]
        args, idle = [a for a, _ in parts], [v for _, v in parts]
        value = _value(e, idle)
        if value is None and may_raise(e):
            unknown = [k for k, v in enumerate(idle) if v is None]
            if len({args[k] for k in unknown}) == 1:  # all lanes idle with what they are given
                idle = [v or literal(1, e.args[k].dtype) for k, v in enumerate(idle)]
                value = _value(e, idle)
            for k in OPS[e.op].guards if value is None else unknown:
                args[k] = self.one(args[k])
        return Call(e.op, tuple(args), e.dtype), value

    def one(self, e: Expr) -> Expr:
        """`e`, but 1 in idle lanes."""
        assert self.mask is not None
        return Call("select", (self.mask, e, literal(1, e.dtype)), e.dtype)


def _value(e: Call, args: list[Const | None]) -> Const | None:
    known = tuple(a for a in args if a is not None)
    return evaluated(e.op, known, e.dtype) if len(known) == len(args) else None


def either_way(cond: Expr, a: Expr, b: Expr, then: Masked, orelse: Masked) -> Expr:
    """``a`` where `cond` holds, else ``b``; what they have in common is computed for both.

    ``s + x`` or ``s`` is ``s + select(cond, x, -0.0)``: a fold remains one.
    """
    shared = in_common(cond, a, b, then, orelse)
    return shared or rewrite(Call("select", (cond, then(a), orelse(b)), a.dtype))


def in_common(cond: Expr, a: Expr, b: Expr, then: Masked, orelse: Masked) -> Expr | None:
    """As `either_way`, where both have an operation in common; else None."""
    if a == b:
        return a
    a, b = _added(a, b), _added(b, a)
    if isinstance(a, Call) and isinstance(b, Call) and (a.op, a.dtype) == (b.op, b.dtype):
        differ = [k for k, (x, y) in enumerate(zip(a.args, b.args, strict=True)) if x != y]
        if len(differ) == 1 and a.args[differ[0]].dtype == b.args[differ[0]].dtype:
            (k,) = differ
            arm = either_way(cond, a.args[k], b.args[k], then, orelse)
            return Call(a.op, (*a.args[:k], arm, *a.args[k + 1 :]), a.dtype)
    for whole, part, flip in ((a, b, False), (b, a, True)):
        step = _step(whole, part)
        if step is not None:
            op, value, none = step
            taken, other = (none, value) if flip else (value, none)
            chosen = either_way(cond, taken, other, then, orelse)
            return Call(op, (part, chosen), part.dtype)
    return None


def _added(e: Expr, other: Expr) -> Expr:
    """``s - x`` as ``s + -x`` beside an `other` that is added to `s`."""
    match e, other:
        case Call(op="sub", args=(s, x)), Call(op="add", args=(t, _)) if s == t:
            return Call("add", (s, rewrite(Call("neg", (x,), x.dtype))), e.dtype)
        case _:
            return e


def _step(whole: Expr, part: Expr) -> tuple[str, Expr, Const] | None:
    """``whole`` as ``op(part, value)``, and the value that would leave ``part`` as it is."""
    if not isinstance(whole, Call) or len(whole.args) != 2 or whole.dtype != part.dtype:
        return None
    a, b = whole.args
    none = literal(0, whole.dtype) if whole.op == "sub" else unit(whole.op, whole.dtype)
    if none is None or OPS[whole.op].result != OPS[whole.op].operands[0]:
        return None
    if a == part:
        return whole.op, b, none
    return (whole.op, a, none) if b == part and whole.op != "sub" else None
