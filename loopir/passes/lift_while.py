"""A ``while`` of each lane as one of all: lanes that have left it wait for the others."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from ..analysis.varying import Varying
from ..names import Fresh, substitute
from ..nodes import Accum, Assign, Broadcast, Call, Const, Expr, HReduce, Loop, Stmt, Var, While
from .lift import WIDTH, Lift

__all__ = ["LiftWhile"]

_TRUE = Const(True, "bool")


class LiftWhile(Lift):
    """Lifts a ``while`` too: a lane's names stay as they are once it has left."""

    def __init__(self, loop: Loop, kept: Iterable[str], varying: Varying, fresh: Fresh) -> None:
        super().__init__(loop, {name: name for name in kept}, varying)
        self.fresh = fresh

    def stmt(self, s: Stmt) -> Stmt:
        if not isinstance(s, While):
            return super().stmt(s)
        go = self.expr(s.cond)
        assert isinstance(go, Var)
        accs, body = [self._acc(a) for a in s.accs], [*self.block(s.body)]
        held: dict[str, Expr] = {}
        for k, a in enumerate(accs):
            old = Var(a.name, a.step.dtype, WIDTH)
            if a.step.lanes != 1 and a.step != old and old != go:
                name = self.fresh.name(a.name)
                body.append(Assign(name, Call("select", (go, a.step, old), old.dtype, WIDTH)))
                accs[k] = replace(a, step=replace(old, name=name))
                if isinstance(a.step, Var):
                    held[a.step.name] = accs[k].step
        steps = [substitute(e, held) for a in accs if a.name == go.name for e in _all_of(a.step)]
        more = Var(self.fresh.name("more"), "bool")
        shared = [e.value if isinstance(e, Broadcast) else e for e in steps if _is_shared(e)]
        own: list[Expr] = [go, *(e for e in steps if not _is_shared(e))]
        stays = reduce(_and, own)
        accs = [replace(a, step=stays) if a.name == go.name else a for a in accs]
        cond: Expr = HReduce("or", go)
        if shared:
            accs.append(Accum(more.name, _TRUE, reduce(_and, shared)))
            cond = _and(cond, more)
        return While(cond, tuple(body), tuple(accs), span=s.span)


def _all_of(e: Expr) -> list[Expr]:
    """What all must hold for `e` to hold."""
    if isinstance(e, Call) and e.op == "and":
        return [x for a in e.args for x in _all_of(a)]
    return [e]


def _is_shared(e: Expr) -> bool:
    """Whether `e` is the same in all lanes."""
    return e.lanes == 1 or isinstance(e, Broadcast)


def _and(a: Expr, b: Expr) -> Expr:
    return Call("and", (a, b), "bool", a.lanes)
