"""What a condition says of integers: linear forms that are not negative where it holds."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from loopir.nodes import Call, Const, Expr, Var
from loopir.ops import OPPOSITE

from ..infer import FALSE, TRUE, logic
from ..ranges import Linear

if TYPE_CHECKING:
    from .conditions import Conditions

__all__ = ["atoms", "extreme", "fails_somewhere", "given", "implied", "is_sure", "literals"]

_ONE = Linear({}, 1)


def implied(b: Conditions, cond: Expr, holds: bool = True) -> Iterator[Linear]:
    """Those that are at least 0 where `cond` holds, or where it does not."""
    match cond:
        case Var(name) if name in b.values:
            yield from implied(b, b.values[name], holds)
        case Call("not", (inner,)):
            yield from implied(b, inner, not holds)
        case Call("and" | "or" as op, (p, q)) if (op == "and") == holds:
            yield from implied(b, p, holds)
            yield from implied(b, q, holds)
        case Call(op, (p, q)) if op in OPPOSITE and p.dtype == "i64":
            more = b.linear(p) - b.linear(q)
            match op if holds else OPPOSITE[op]:
                case "gt":
                    yield more - _ONE
                case "ge":
                    yield more
                case "lt":
                    yield more * -1 - _ONE
                case "le":
                    yield more * -1
                case "eq":
                    yield from (more, more * -1)
                case "ne":
                    yield from (m - _ONE for m in (more, more * -1) if is_sure(b, m))
        case _:
            return


def is_sure(b: Conditions, margin: Linear) -> bool:
    """Whether `margin` is provably >= 0 all over the enclosing loops."""
    return _never_negative(b, extreme(b, margin, False))


def fails_somewhere(b: Conditions, fact: Linear) -> bool:
    """Whether the enclosing loops certainly come to where `fact`, a condition, is negative."""
    return b.high(extreme(b, fact, False)) < 0


def _never_negative(b: Conditions, margin: Linear) -> bool:
    """Whether `margin` is provably >= 0; ``-min(p, q)`` is at least ``-p`` and at least ``-q``."""
    if b.low(margin) >= 0:
        return True
    for atom, c in margin.terms.items():
        match atom:
            case Call("min" | "max" as op, (p, q), "i64") if (c < 0) == (op == "min"):
                if any(
                    _never_negative(b, margin.substitute(atom, b.linear(side))) for side in (p, q)
                ):
                    return True
    return False


def extreme(b: Conditions, linear: Linear, highest: bool) -> Linear:
    """The greatest (or least) value over all enclosing loops and spans, with no variable of theirs
    in it but within an atom.
    """
    for atom, c in linear.terms.items():
        if atom in b.spans:
            lowest, most = b.spans[atom]
            linear = linear.substitute(atom, most if (c > 0) == highest else lowest)
    for frame in reversed(b.frames):
        c = linear.terms.get(frame.var, 0)
        if c:
            last = frame.linear + Linear({}, -1)
            linear = linear.substitute(frame.var, last if (c > 0) == highest else Linear())
    return linear


def literals(cond: Expr) -> Iterator[Expr]:
    """What all has to hold for `cond` to."""
    match cond:
        case Call("and", args):
            for e in args:
                yield from literals(e)
        case Call("not", (Call("or", args),)):
            for e in args:
                yield from literals(logic("not", e))
        case _:
            yield cond


def given(cond: Expr, known: set[Expr]) -> Expr:
    """What `cond` comes to where all of `known` holds."""
    match cond:
        case _ if cond in known:
            return TRUE
        case _ if logic("not", cond) in known:
            return FALSE
        case Call("and" | "or" | "not" as op, args):
            return logic(op, *(given(e, known) for e in args))
        case _:
            return cond


def atoms(cond: Expr) -> Iterator[Expr]:
    """What it depends on whether `cond` holds."""
    match cond:
        case Call("and" | "or" | "not", args):
            for e in args:
                yield from atoms(e)
        case Const():
            return
        case _:
            yield cond
