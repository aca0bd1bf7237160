"""A loop that each iteration of another leaves on its own, as one that lanes can run together."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..algebra.index import both, either, less, negated, plus
from ..algebra.rules import rewrite
from ..names import Fresh, reads
from ..nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    Expr,
    If,
    Interval,
    Loop,
    Node,
    Stmt,
    Var,
    While,
)
from ..tree import bottom_up, walk
from ..types import DTYPES, INDEX

__all__ = ["waiting"]


def waiting(s: Loop | While, fresh: Fresh) -> While | None:
    """`s` as a straight ``while`` on one name; None where lanes cannot run it together.

    What it checks is checked of the lanes that have not left it.
    """
    below = [n for part in s.body for n in walk(part) if isinstance(n, Stmt)]
    if any(map(_may_trap, walk(s))):
        return None
    if isinstance(s, Loop):
        plain = all(isinstance(n, Assign | If) for n in below)
        return _counted(replace(s, body=tuple(_open(s.body))), fresh) if plain else None
    if not all(_is_plain(n) for n in below):
        return None
    cond = s.cond
    if not isinstance(cond, Var) or all(a.name != cond.name for a in s.accs):
        return None
    return replace(s, body=tuple(_open(s.body, negated(cond))))


def _is_plain(n: Stmt) -> bool:
    return isinstance(n, Assign | If) or (isinstance(n, Check) and n.code == "replay")


def _may_trap(n: Node) -> bool:
    """Whether `n` divides integers by what may be zero in a lane that has left."""
    match n:
        case Call("floordiv" | "mod", (_, divisor), dtype) if DTYPES[dtype].kind in "iu":
            return not (isinstance(divisor, Const) and divisor.value)
        case _:
            return False


def _open(stmts: Iterable[Stmt], idle: Expr | None = None) -> Iterator[Stmt]:
    """`stmts` with both sides of each branch computed. A check holds where a lane is `idle`."""
    for s in stmts:
        match s:
            case Check(cond) if idle is not None:
                yield replace(s, cond=either(idle, cond))
            case If():
                for cond, side in ((negated(s.cond), s.then), (s.cond, s.orelse)):
                    yield from _open(side, None if idle is None else either(idle, cond))
                for y in s.yields:
                    chosen = Call("select", (s.cond, y.then, y.orelse), y.then.dtype)
                    yield Assign(y.name, bottom_up(chosen, rewrite), span=s.span)
            case _:
                yield s


def _counted(body: Loop, fresh: Fresh) -> While | None:
    """A counted loop with an exit: it goes on until the exit, or the end of its range."""
    until = body.until
    if not isinstance(body.range, Interval) or not isinstance(until, Var):
        return None
    lo, hi = body.range.lo, body.range.hi
    left = next((a for a in body.accs if a.name == until.name), None)
    if left is None or left.name in reads(*body.body, *(a.step for a in body.accs)):
        return None
    k, go = Var(body.var, INDEX), Var(fresh.name("go"), "bool")
    on = plus(k, 1)
    stays = both(negated(left.step), less(on, hi))
    accs = (*body.accs, Accum(go.name, less(lo, hi), stays), Accum(k.name, lo, on))
    return While(go, body.body, accs, span=body.span)
