"""Extrema that others follow: where a better term comes, accumulators take what goes with it."""
from __future__ import annotations

from ..algebra.rules import rewrite
from ..algebra.values import literal
from ..names import reads, substitute
from ..nodes import Accum, Assign, Call, Expr, Loop, Var
from ..record import record
from ..tree import bottom_up
from ..types import DTYPES
from .blocks import needed

__all__ = ["Place", "place_of"]

_TESTS = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}  # and what they are, turned around


@record(frozen=True, slots=True)
class Place:
    """Where ``cond`` holds and ``value`` beats ``acc``, what follows takes new values.

    ``loose``: an equal one does too, so that the last of several stays.
    """

    acc: Accum
    mask: str
    op: str
    loose: bool
    value: Expr
    cond: Expr | None
    followers: tuple[tuple[Accum, Expr], ...]

    @property
    def best(self) -> Var:
        return Var(self.acc.name, self.value.dtype)

    @property
    def worst(self) -> Expr:
        """What no term beats, and what beats no term."""
        d = DTYPES[self.value.dtype]
        if d.kind == "f":
            return literal(float("inf") if self.op == "min" else float("-inf"), d.name)
        return literal(d.high if self.op == "min" else d.low, d.name)

    @property
    def may_be_empty(self) -> bool:
        """Whether a block's extremum may be the worst because no term of it takes part."""
        return self.loose and (self.cond is not None or DTYPES[self.value.dtype].kind == "f")

    def where(self, test: Expr) -> Expr:
        return test if self.cond is None else Call("and", (self.cond, test), "bool")


def place_of(mask: Assign, loop: Loop) -> Place | None:
    """What the accumulators do where `mask` holds, if one of them is an extremum."""
    test = _test(mask.value, loop)
    if test is None:
        return None
    op, value, acc, cond = test
    followers = []
    for a in loop.accs:
        if mask.name in reads(a.step):
            off, on = (_assuming(a.step, mask.name, x) for x in (False, True))
            if off != a.current or _is_moving(on, loop):
                return None
            followers.append((a, on))
    if (acc, value) not in followers or len(followers) < 2:
        return None
    followers.remove((acc, value))
    which = "min" if op in ("lt", "le") else "max"
    return Place(acc, mask.name, which, op in ("le", "ge"), value, cond, tuple(followers))


def _test(cond: Expr, loop: Loop) -> tuple[str, Expr, Accum, Expr | None] | None:
    """``value op acc`` with the condition beside it, if that is what `cond` is."""
    match cond:
        case Call(op="and", args=(a, b)):
            for test, other in ((b, a), (a, b)):
                found = _test(test, loop)
                if found and found[3] is None and not _is_moving(other, loop):
                    return (*found[:3], other)
        case Call(op=op, args=(a, b)) if op in _TESTS and a.dtype != "bool":
            for name, value, rel in ((b, a, op), (a, b, _TESTS[op])):
                acc = next((x for x in loop.accs if x.current == name), None)
                if acc and not _is_moving(value, loop):
                    return rel, value, acc, None
    return None


def _is_moving(e: Expr, loop: Loop) -> bool:
    """Whether `e` depends on an accumulator of `loop`."""
    accs = {a.name for a in loop.accs}
    return bool(accs & reads(e, *needed(loop.body, e)))


def _assuming(e: Expr, name: str, value: bool) -> Expr:
    done: Expr = bottom_up(substitute(e, {name: literal(value, "bool")}), rewrite)
    return done
