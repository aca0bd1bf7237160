"""Search vectorisation: a loop that ends at the first hit skips, in vectors, blocks without one."""
from __future__ import annotations

from collections.abc import Mapping

from ...algebra.constant_folding import constant_trip_count
from ...algebra.may_raise import possible_flags
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, substitute, substitute_bounded
from ...ir_traversal import walk
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Call, Const, Expr, If, Interval, Kernel, Loop, Stmt, Var
from ...statement_blocks import map_statements

__all__ = ["vectorize_search", "search_condition"]

BLOCK_ITERATIONS = 256
"""Elements of a block, after which the result is tested."""


def vectorize_search(kernel: Kernel) -> Kernel:
    """Skip blocks in which the exit condition of a search is never true.

    At least one iteration is left to the original loop, which binds the names after the last one.
    Before::

        def k(x: f64[::1], t: f64, at: mut(i64[()])):
            for i in loop(0, x.shape[0], left=False, k=-1):
                left = step(x[i] > t)
                k = step(i)
                until(left)
            at[()] = k

    after::

        def k(x: f64[::1], t: f64, at: mut(i64[()])):
            for block in loop(0, (x.shape[0] - 1) // 256, start=0, hit=False):
                for i_1 in loop(start, start + 256, some=False):
                    some = step(some | (x[i_1] > t))
                start = step(select(some, start, start + 256))
                hit = step(some)
                until(hit)
            for i in loop(start, x.shape[0], left=False, k=-1):
                left = step(x[i] > t)
                k = step(i)
                until(left)
            at[()] = k
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        cond = search_condition(s) if isinstance(s, Loop) else None
        return s if cond is None or not isinstance(s, Loop) else _skipping_blocks(s, cond, fresh)

    return map_statements(kernel, edit)


def search_condition(loop: Loop) -> Expr | None:
    """The condition of a pure search over its loop variable; None for any other loop."""
    accs = {a.name: a for a in loop.accs}
    if not (isinstance(loop.until, Var) and isinstance(loop.range, Interval)) or len(accs) < 2:
        return None
    parts = [n for s in loop.body for n in walk(s) if isinstance(n, Stmt)]
    if not all(isinstance(s, Assign | If) for s in parts):
        return None
    if names_read(*loop.body, *(a.step for a in loop.accs)) & set(accs):
        return None
    cond = substitute_bounded(accs[loop.until.name].step, _assigned_values(loop))
    names = names_read(cond)
    if loop.var not in names or names & bound_names(loop) - {loop.var} or possible_flags(cond):
        return None
    return cond if _may_fill_block(loop.range) else None


def _may_fill_block(r: Interval) -> bool:
    """Whether there may be at least one block, and the loop has not been rewritten yet."""
    count = constant_trip_count(r)
    return r.lo == Const(0, INDEX) and (count is None or count > BLOCK_ITERATIONS)


def _assigned_values(loop: Loop) -> Mapping[str, Expr]:
    values: dict[str, Expr] = {}
    for s in loop.body:
        if isinstance(s, Assign):
            values[s.name] = substitute_bounded(s.value, values)
        elif isinstance(s, If):
            chosen = ((y.name, _condition_of_choice(y.then, y.orelse, s.cond)) for y in s.yields)
            values.update(
                (name, substitute_bounded(c, values)) for name, c in chosen if c is not None
            )
    return values


def _condition_of_choice(then: Expr, orelse: Expr, cond: Expr) -> Expr | None:
    """The condition of ``True if cond else False``, else None."""
    match then, orelse:
        case Const(True, "bool"), Const(False, "bool"):
            return cond
        case _:
            return None


def _skipping_blocks(loop: Loop, cond: Expr, fresh: FreshNames) -> tuple[Stmt, ...]:
    assert isinstance(loop.range, Interval)
    lo, hi = loop.range.lo, loop.range.hi
    block, one = Const(BLOCK_ITERATIONS, INDEX), Const(1, INDEX)
    start, i = Var(fresh.name("start"), INDEX), Var(fresh.name(loop.var), INDEX)
    some, hit = Var(fresh.name("some"), "bool"), Var(fresh.name("hit"), "bool")
    end = Call("add", (start, block), INDEX)
    here = substitute(cond, {loop.var: i})
    no = Const(False, "bool")
    found = Accum(some.name, no, Call("or", (some, here), "bool"))
    inner = Loop(i.name, Interval(start, end), (), (found,), span=loop.span)
    others = Call("sub", (hi, one), INDEX)
    blocks = Interval(Const(0, INDEX), Call("floordiv", (others, block), INDEX))
    accs = (
        Accum(start.name, lo, Call("select", (some, start, end), INDEX)),
        Accum(hit.name, no, some),
    )
    outer = Loop(fresh.name("block"), blocks, (inner,), accs, hit, span=loop.span)
    return outer, replace(loop, range=Interval(start, hi))
