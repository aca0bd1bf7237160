"""Splitting: once a flag has become true it stays so, and the rest of the loop need not ask."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..algebra.rules import rewrite
from ..algebra.values import integer, literal
from ..names import Fresh, bound, reads, rename, substitute
from ..nodes import Accum, Assign, Call, Const, Expr, Interval, Kernel, Loop, Stmt, Var
from ..record import record
from ..tree import bottom_up, map_children
from ..types import INDEX
from .blocks import map_inner, map_stmts
from .forward import tidier
from .if_convert import straight
from .legality import explain

__all__ = ["split"]


def split(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """A loop with such a flag becomes a scalar one until it is true, and a vectorisable one.

    Accumulators that are constant from then on stay as they are. Before::

        def k(x: f64[::1], out: mut(f64[()]), some: mut(bool[()])):
            disjoint(x, out)
            disjoint(x, some)
            for i in loop(0, x.shape[0], best=0.0, seen=False):
                v = x[i]
                best = step(select(v > 0.0, select(seen, max(best, v), v), best))
                seen = step(seen | (v > 0.0))
            out[()] = best
            some[()] = seen

    after::

        def k(x: f64[::1], out: mut(f64[()]), some: mut(bool[()])):
            disjoint(x, out)
            disjoint(x, some)
            for i_1 in loop(0, x.shape[0], best_1=0.0, seen_1=False, next=0):
                v_1 = x[i_1]
                best_1 = step(select(v_1 > 0.0, select(seen_1, max(best_1, v_1), v_1), best_1))
                seen_1 = step(seen_1 | (v_1 > 0.0))
                next = step(i_1 + 1)
                until(seen_1)
            for i in loop(next, x.shape[0], best=best_1):
                v = x[i]
                best = step(select(v > 0.0, max(best, v), best))
            seen = seen_1
            out[()] = best
            some[()] = seen
    """
    fresh = Fresh(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        if not isinstance(s, Loop) or not isinstance(s.range, Interval) or s.until:
            return s
        flat = straight(s, kernel, fresh) or s
        flag = next((f for a in flat.accs if (f := _flag(a, flat)) is not None), None)
        if flag is None or explain(flat, kernel, reassociate=reassociate) is None:
            return s
        rest, settled = _rest(flat, flag, kernel)
        if explain(rest, kernel, reassociate=reassociate) is not None:
            return s
        return _two(s, flag, rest, settled, fresh)

    return map_stmts(kernel, edit)


@record(frozen=True, slots=True)
class _Flag:
    """A bool that starts false and is true from the first iteration on where ``cond`` holds."""

    name: str
    cond: Expr


def _flag(acc: Accum, loop: Loop) -> _Flag | None:
    """`acc` as a flag that the loop asks for; None where it is none."""
    match acc:
        case Accum(init=Const(value=False, dtype="bool"), step=Call(op="or", args=(a, b))):
            me = Var(acc.name, "bool")
            cond = b if a == me else a if b == me else None
        case _:
            return None
    others = (*loop.body, *(a.step for a in loop.accs if a is not acc))
    if cond is None or acc.name in reads(cond) or acc.name not in reads(*others):
        return None
    return _Flag(acc.name, cond)


def _rest(loop: Loop, flag: _Flag, kernel: Kernel) -> tuple[Loop, frozenset[str]]:
    """`loop` where the flag is true, and the accumulators that do not change there."""
    settled: dict[str, Expr] = {flag.name: literal(True, "bool")}
    first = {flag.name: literal(False, "bool")}
    for a in loop.accs:
        step = _simplest(_assuming(substitute(a.step, first), flag.cond))
        if isinstance(step, Const) and a.name != flag.name:
            settled[a.name] = step
    while (moving := _moving(loop, settled)) is not None:
        del settled[moving]
    accs = tuple(
        replace(a, step=substitute(a.step, settled)) for a in loop.accs if a.name not in settled
    )
    body = tuple(substitute(s, settled) for s in loop.body)
    rest = bottom_up(replace(loop, body=body, accs=accs), rewrite)
    return bottom_up(map_inner(rest, tidier(kernel)), rewrite), frozenset(settled)


def _moving(loop: Loop, settled: Mapping[str, Expr]) -> str | None:
    """One of `settled` that would change after all."""
    for a in loop.accs:
        if a.name in settled and _simplest(substitute(a.step, settled)) != settled[a.name]:
            return a.name
    return None


def _assuming(e: Any, cond: Expr) -> Any:
    """`e` where `cond` holds."""
    return literal(True, "bool") if e == cond else map_children(e, lambda c: _assuming(c, cond))


def _simplest(e: Expr) -> Expr:
    done: Expr = bottom_up(e, rewrite)
    return done


def _two(
    loop: Loop, flag: _Flag, rest: Loop, settled: frozenset[str], fresh: Fresh
) -> tuple[Stmt, ...]:
    """The loop until the flag is true, the one from there on, and what did not change in it."""
    assert isinstance(loop.range, Interval)
    until = Var(fresh.name("next"), INDEX)
    after = Call("add", (Var(loop.var, INDEX), integer(1)), INDEX)
    accs = (*loop.accs, Accum(until.name, loop.range.lo, after))
    names = {n: fresh.name(n) for n in sorted(bound(loop))}
    search = replace(loop, accs=accs, until=Var(flag.name, "bool"))
    search = rename(search, names)
    carried = tuple(
        replace(a, init=Var(names[a.name], a.init.dtype)) for a in rest.accs
    )
    rest = replace(rest, range=Interval(until, loop.range.hi), accs=carried)
    kept = (a for a in loop.accs if a.name in settled)
    same = tuple(Assign(a.name, Var(names[a.name], a.init.dtype), span=a.span) for a in kept)
    return (search, rest, *same)
