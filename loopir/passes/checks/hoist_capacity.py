"""Capacity check hoisting: a loop that appends in each iteration looks for room once, before it.

Java's HotSpot: loop predication, of the checks that a list's `add` makes.
"""
from __future__ import annotations

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_add, index_sub
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import arrays_read, arrays_written
from ...dtypes import INDEX
from ...ir_names import FreshNames, names_read
from ...ir_traversal import contains, range_bounds
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Append,
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    If,
    Interval,
    Kernel,
    Loop,
    Stmt,
    Store,
    Var,
    Yield,
)
from ...statement_blocks import map_statements

__all__ = ["hoist_capacity"]


def hoist_capacity(kernel: Kernel) -> Kernel:
    """Test before a loop whether all that it appends has room, if it appends in each iteration: it
    then stores at positions that are even, and carries no counter. Before::

        def k(x: f64[::1], short: mut(bool[()]), out: mut(f64[::1]), n: mut(i64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], k=0):
                fits = k < out.shape[0]
                if fits:
                    out[k] = x[i] * 2.0
                else:
                    short[()] = True
                check(fits, "replay")
                k = step(k + select(fits, 1, 0))
            n[()] = k

    after::

        def k(x: f64[::1], short: mut(bool[()]), out: mut(f64[::1]), n: mut(i64[()])):
            disjoint(x, out)
            fits_1 = x.shape[0] <= out.shape[0]
            if fits_1:
                for i_1 in loop(0, x.shape[0]):
                    out[i_1] = x[i_1] * 2.0
                k_1 = x.shape[0]
                k = give(k_1)
            else:
                short[()] = True
                k = give(0)
            check(fits_1, "replay")
            n[()] = k

    Where there is no room, the call is made again with more: nothing of it is kept.
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` with one test of its room, if it is a loop that appends in each iteration."""
        pushes = _pushes(s) if isinstance(s, Loop) else None
        return s if pushes is None else _with_one_test(pushes, fresh)

    return map_statements(kernel, edit, Loop)


@record(frozen=True, slots=True)
class _Pushes:
    """A loop that appends: its counter, the test for room, and what it does with room or without.
    """

    loop: Loop
    counter: Accum
    test: Assign  # fits = k < out.shape[0]
    capacity: Dim
    branch: If
    check: Check


def _pushes(loop: Loop) -> _Pushes | None:
    """The appends of `loop`, if it appends once in each iteration, and nothing else reads the
    counter or the arrays. Else None.
    """
    if loop.until is not None or not isinstance(loop.range, Interval) or contains(loop, Append):
        return None
    for s, branch, check in zip(loop.body, loop.body[1:], loop.body[2:], strict=False):
        match s, branch, check:
            case (
                Assign(fits, Call("lt", (Var(k), Dim() as capacity))),
                If(Var(a), stores, (Store(_, (), Const(True)),), ()),
                Check(Var(b)),
            ) if a == b == fits:
                break
    else:
        return None
    counter = next((c for c in loop.accs if c.name == k), None)
    one_more = Call("select", (Var(fits, "bool"), index_const(1), index_const(0)), INDEX)
    if counter is None or not isinstance(counter.init, Var | Const):
        return None
    if counter.step != Call("add", (counter.current, one_more), INDEX):
        return None
    place = (counter.current,)
    if not stores or not all(
        isinstance(t, Store) and t.index == place and t.mask is None
        and not {k, fits} & names_read(t.value) for t in stores
    ):
        return None
    arrays = arrays_written(stores)
    others = [t for t in loop.body if t is not s and t is not branch and t is not check]
    steps = [c.step for c in loop.accs if c is not counter]
    uses = {k, fits} & names_read(*others, *steps, *(c.init for c in loop.accs))
    if uses or arrays & (arrays_read((loop,)) | arrays_written(others)):
        return None
    return _Pushes(loop, counter, s, capacity, branch, check)


def _with_one_test(p: _Pushes, fresh: FreshNames) -> tuple[Stmt, ...]:
    """The loop of `p` with one test before it."""
    loop, start = p.loop, p.counter.init
    lo, hi = range_bounds(loop.range)
    trips: Expr = index_sub(hi, lo)
    if not isinstance(hi, Dim) or lo != index_const(0):
        trips = rewrite(Call("max", (trips, index_const(0)), INDEX))
    room = index_sub(p.capacity, start)
    fits = Assign(fresh.name("fits"), rewrite(Call("le", (trips, room), "bool")), span=loop.span)
    place = index_add(start, index_sub(Var(loop.var, INDEX), lo))
    stores = tuple(
        replace(s, index=(place,)) for s in p.branch.then if isinstance(s, Store)
    )
    body = [s for s in loop.body if s is not p.test and s is not p.check]
    body[body.index(p.branch) : body.index(p.branch) + 1] = stores
    kept = tuple(c for c in loop.accs if c is not p.counter)
    names = {c.name: fresh.name(c.name) for c in loop.accs}
    return fits, *_versions(p, kept, tuple(body), names, trips, fits, fresh)


def _versions(
    p: _Pushes, kept: tuple[Accum, ...], body: tuple[Stmt, ...], names: dict[str, str],
    trips: Expr, fits: Assign, fresh: FreshNames,
) -> tuple[Stmt, ...]:
    """The branch on ``fits``, and the check of it."""
    loop: Loop = fresh.copy(replace(p.loop, accs=kept, body=body))
    end = Assign(names[p.counter.name], index_add(p.counter.init, trips), span=p.loop.span)
    renamed = {c.name: new.current for c, new in zip(kept, loop.accs, strict=True)}
    renamed[p.counter.name] = Var(end.name, INDEX)
    yields = tuple(Yield(c.name, renamed[c.name], c.init) for c in p.loop.accs)
    cond = Var(fits.name, "bool")
    branch = If(cond, (loop, end), p.branch.orelse, yields, span=p.loop.span)
    return branch, replace(p.check, cond=cond)
