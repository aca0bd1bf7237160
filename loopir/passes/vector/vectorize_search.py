"""Search vectorisation: a loop that ends at the first hit skips, in vectors, blocks without one.

The new loop over blocks of `BLOCK_ITERATIONS` only computes whether the condition is true anywhere
in the block, which is a reduction that `vectorize` takes. The original loop starts at the block
with the hit. This needs a pure search: evaluating the condition past the hit must have no effect
(`search_condition`).
"""
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
    """Skip, in vectors, the blocks of a search in which its exit condition is never true; the
    original loop starts at the block with the hit, if there is one.

    This is for searches that `vectorize` does not take: those that carry another value, such as the
    index of the hit, and those whose exit does not read itself (``return True`` in a loop). At
    least one iteration is left to the original loop, whose last iteration binds the names that are
    read after it. `search_condition` says which loops are searches. Before::

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
        """`s` with blocks skipped, if it is a pure search."""
        cond = search_condition(s) if isinstance(s, Loop) else None
        return s if cond is None or not isinstance(s, Loop) else _skipping_blocks(s, cond, fresh)

    return map_statements(kernel, edit, Loop)


def search_condition(loop: Loop) -> Expr | None:
    """The exit condition of a pure search, over its loop variable and names bound outside; None for
    any other loop.

    A pure search

    - has an exit on an accumulator, and only assignments and branches;
    - reads an accumulator only to keep its value where there is no hit (``if x[i] > t: k = i;
      break``), so that ``r = step(r | x[i] > t); until(r)`` is left to `vectorize`;
    - has a condition that depends on its loop variable, on no other name that it binds, and raises
      no flag;
    - runs from 0, and not certainly for at most one block.
    """
    accs = {a.name: a for a in loop.accs}
    if not (isinstance(loop.until, Var) and isinstance(loop.range, Interval)):
        return None
    if loop.until.name not in accs:
        return None
    statements = [n for s in loop.body for n in walk(s) if isinstance(n, Stmt)]
    if not all(isinstance(s, Assign | If) for s in statements):
        return None
    values = _assigned_values(loop)
    cond = substitute_bounded(accs[loop.until.name].step, values)
    steps = {a.step.name: a for a in loop.accs if isinstance(a.step, Var)}
    body = (_without_kept(s, cond, values, steps) for s in loop.body)
    if names_read(*body, *(a.step for a in loop.accs)) & set(accs):
        return None
    names = names_read(cond)
    if loop.var not in names or names & bound_names(loop) - {loop.var} or possible_flags(cond):
        return None
    return cond if _may_fill_block(loop.range) else None


def _without_kept(
    s: Stmt, cond: Expr, values: Mapping[str, Expr], steps: Mapping[str, Accum]
) -> Stmt:
    """`s` without the reads of accumulators that keep their values where `cond` is false.
    ``steps``: the accumulators by the names that they step to.
    """
    if not isinstance(s, If) or substitute_bounded(s.cond, values) != cond:
        return s
    yields = tuple(
        replace(y, orelse=y.then)
        if y.name in steps and y.orelse == steps[y.name].current else y
        for y in s.yields
    )
    return replace(s, yields=yields)


def _may_fill_block(r: Interval) -> bool:
    """Whether there may be at least one block, and the loop has not been rewritten yet."""
    count = constant_trip_count(r)
    return r.lo == Const(0, INDEX) and (count is None or count > BLOCK_ITERATIONS)


def _assigned_values(loop: Loop) -> Mapping[str, Expr]:
    """The values of the names that the body assigns, over names bound outside. A yielded name is
    among them only if it is a condition: ``True`` on one side of a branch, ``False`` on the other.
    """
    values: dict[str, Expr] = {}
    for s in loop.body:
        if isinstance(s, Assign):
            values[s.name] = substitute_bounded(s.value, values)
        elif isinstance(s, If):
            conditions = (
                (y.name, _condition_of_choice(y.then, y.orelse, s.cond)) for y in s.yields
            )
            values.update(
                (name, substitute_bounded(c, values)) for name, c in conditions if c is not None
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
    """The loop over blocks, and the original loop from the block with the hit on."""
    assert isinstance(loop.range, Interval)
    lo, hi = loop.range.lo, loop.range.hi
    block_size, unit = Const(BLOCK_ITERATIONS, INDEX), Const(1, INDEX)
    start, i = Var(fresh.name("start"), INDEX), Var(fresh.name(loop.var), INDEX)
    hit_in_block, hit = Var(fresh.name("some"), "bool"), Var(fresh.name("hit"), "bool")
    end = Call("add", (start, block_size), INDEX)
    hit_at_i = substitute(cond, {loop.var: i})
    false = Const(False, "bool")
    any_hit = Accum(hit_in_block.name, false, Call("or", (hit_in_block, hit_at_i), "bool"))
    inner = Loop(i.name, Interval(start, end), (), (any_hit,), span=loop.span)
    all_but_last = Call("sub", (hi, unit), INDEX)
    blocks = Interval(Const(0, INDEX), Call("floordiv", (all_but_last, block_size), INDEX))
    accs = (
        Accum(start.name, lo, Call("select", (hit_in_block, start, end), INDEX)),
        Accum(hit.name, false, hit_in_block),
    )
    outer = Loop(fresh.name("block"), blocks, (inner,), accs, hit, span=loop.span)
    return outer, replace(loop, range=Interval(start, hi))
