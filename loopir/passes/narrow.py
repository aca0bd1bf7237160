"""Counts of loops that lanes run together: as narrow as the floats beside them."""
from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from ..algebra.rules import rewrite
from ..algebra.values import evaluated, integer
from ..analysis.reaches import Reaches
from ..names import Fresh
from ..nodes import (
    Accum,
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    If,
    Kernel,
    Node,
    Stmt,
    Var,
    VecLoop,
    While,
)
from ..tree import bottom_up, children, walk
from ..types import DTYPES, INDEX
from .blocks import map_stmts

__all__ = ["narrow"]

_TO = "i32"
TRUE = Broadcast(Const(True, "bool"), "W")
_HIGH = DTYPES[_TO].high - 1
_COMPARED = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def narrow(kernel: Kernel) -> Kernel:
    """Lanes that hold what a ``while`` has counted are of 32 bits, where it ends before they wrap,
    and nothing else in the loop is wider. Where its bound is known only as the kernel runs, there
    are two loops, and the bound decides. Before::

        def k(x: f32[::1], y: mut(i32[::1])):
            disjoint(x, y)
            for i in vec(0, x.shape[0], width=W):
                v = x[i:W]
                while loop(hreduce("or", go) & on, t=broadcast(0, W), go=v > v, k=0, on=True):
                    t = step(select(go, broadcast(k + 1, W), t))
                    go = step(go & (v > v))
                    k = step(k + 1)
                    on = step(k + 1 < 200)
                y[i:W] = i32(t)

    after::

        def k(x: f32[::1], y: mut(i32[::1])):
            disjoint(x, y)
            for i in vec(0, x.shape[0], width=W):
                v = x[i:W]
                while loop(hreduce("or", go) & on, t=broadcast(i32(0), W), go=v > v, k=0, on=True):
                    t = step(select(go, broadcast(i32(k + 1), W), t))
                    go = step(go & (v > v))
                    k = step(k + 1)
                    on = step(k + 1 < 200)
                y[i:W] = t
    """
    fresh = Fresh(kernel)

    def edit(s: Stmt) -> Stmt:
        return _versions(s, fresh) if isinstance(s, VecLoop) else s

    return map_stmts(kernel, edit)


def _versions(loop: VecLoop, fresh: Fresh) -> Stmt:
    inner = [s for s in loop.body if isinstance(s, While)]
    binders = Counter(n.name for n in walk(loop) if isinstance(n, Assign | Accum))
    if len(inner) != 1 or max(binders.values()) > 1 or not all(map(_takes, walk(loop))):
        return loop
    if not _wide(loop):
        return loop
    ranges, decided = Reaches(loop, inner[0]), bottom_up(loop, _decided)
    computed = [n for n in _wide(loop) if not _is_number(n)]
    reaches = [ranges.of(n) for n in (*computed, *_wide(decided))]
    turns = min(0 if r is None else r.turns_within(_HIGH) for r in reaches)
    fits = ranges.ends_within(turns) if turns > 0 else None
    if fits is None or fits == Const(False, "bool"):
        return loop
    done: VecLoop = bottom_up(decided, _thin)
    if isinstance(fits, Const):
        return done
    other = fresh.copy(loop)
    return If(fits, (done,), (other,), span=loop.span)


# -- what is narrowed


def _wide(loop: VecLoop) -> list[Any]:
    return [n for n in walk(loop) if _is_wide(n)]


def _is_wide(n: Node) -> bool:
    return getattr(n, "lanes", 1) != 1 and n.dtype == INDEX  # type: ignore[union-attr]  # has one


def _is_narrow(n: Node) -> bool:
    """Whether `n` has no lanes, or some that are no wider than what others become."""
    return getattr(n, "lanes", 1) == 1 or DTYPES[n.dtype].bits <= DTYPES[_TO].bits  # type: ignore[union-attr]


def _takes(n: Node) -> bool:
    """Whether `n` is no wider than it has to be, and means the same with narrow operands."""
    match n:
        case Call(op) if op in _COMPARED or op == "cast":
            return n.lanes == 1 or _is_narrow(n)
        case Assign() | Accum():
            return True
        case Call() | Broadcast() | Var() if _is_wide(n):
            return True
        case _:
            return _is_narrow(n) and not any(map(_is_wide, children(n)))


def _decided(n: Any) -> Any:
    """`n` without comparisons with numbers beyond all that lanes hold: so compares zero, too."""
    match n:
        case Call(op, (_, Broadcast(Const(int(value)) as c, lanes))) if _is_wide(n.args[0]):
            known = evaluated(op, (integer(0), c), "bool") if op in _COMPARED else None
            return Broadcast(known, lanes) if known and abs(value) > _HIGH else n
        case Call("and", (a, b)) if TRUE in (a, b):
            return b if a == TRUE else a
        case Check(cond) if cond == TRUE:
            return ()
        case _:
            return n


def _thin(n: Any) -> Any:
    """`n`, whose operands are narrow."""
    if not _is_wide(n):
        return n.args[0] if _is_cast_of_same(n) else n
    if isinstance(n, Broadcast):
        return replace(n, value=rewrite(Call("cast", (n.value,), _TO)))
    return replace(n, dtype=_TO)


def _is_number(n: Node) -> bool:
    return isinstance(n, Broadcast) and isinstance(n.value, Const)


def _is_cast_of_same(n: Node) -> bool:
    return isinstance(n, Call) and n.op == "cast" and n.args[0].dtype == n.dtype
