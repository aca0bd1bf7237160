"""Search vectorisation: a loop that ends at the first hit skips, in vectors, blocks without one.

The new loop over blocks of `BLOCK_ITERATIONS` computes only whether the condition is true anywhere
in the block, which is a reduction that `vectorize` takes. Another one does the same with blocks of
`SMALL_BLOCK`, in the block with the hit or in what is left. The original loop starts at the small
block with the hit. This needs a pure search: evaluating the condition past the hit must have no
effect (`search_condition`).
"""
from __future__ import annotations

from collections.abc import Mapping

from ...algebra.constant_folding import constant_trip_count, index_const
from ...algebra.index_builder import index_add, index_floordiv, index_min, index_sub
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

SMALL_BLOCK = 32
"""Elements of a block where less than a large one is left."""


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
            for part in loop(0, min(8, (x.shape[0] - 1 - start) // 32), start_1=start, hit_1=False):
                for i_2 in loop(start_1, start_1 + 32, some_1=False):
                    some_1 = step(some_1 | (x[i_2] > t))
                start_1 = step(select(some_1, start_1, start_1 + 32))
                hit_1 = step(some_1)
                until(hit_1)
            for i in loop(start_1, x.shape[0], left=False, k=-1):
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
    """The loops over blocks, and the original loop from the small block with the hit on."""
    assert isinstance(loop.range, Interval)
    last = index_sub(loop.range.hi, 1)
    large, start = _loop_over_blocks(
        loop, cond, fresh, loop.range.lo, index_floordiv(last, BLOCK_ITERATIONS), BLOCK_ITERATIONS
    )
    left = index_floordiv(index_sub(last, start), SMALL_BLOCK)
    most = index_min(index_const(BLOCK_ITERATIONS // SMALL_BLOCK), left)
    small, start = _loop_over_blocks(loop, cond, fresh, start, most, SMALL_BLOCK)
    return large, small, replace(loop, range=Interval(start, loop.range.hi))


def _loop_over_blocks(
    loop: Loop, cond: Expr, fresh: FreshNames, first: Expr, count: Expr, size: int
) -> tuple[Stmt, Expr]:
    """A loop over at most `count` blocks of `size` elements, from the element `first` on, which
    ends at a block with a hit; and where that begins, or the first element behind all of them.
    """
    start, i = Var(fresh.name("start"), INDEX), Var(fresh.name(loop.var), INDEX)
    hit_in_block, hit = Var(fresh.name("some"), "bool"), Var(fresh.name("hit"), "bool")
    end = index_add(start, size)
    false = Const(False, "bool")
    any_hit = Call("or", (hit_in_block, substitute(cond, {loop.var: i})), "bool")
    inner = Loop(
        i.name, Interval(start, end), (), (Accum(hit_in_block.name, false, any_hit),),
        span=loop.span,
    )
    accs = (
        Accum(start.name, first, Call("select", (hit_in_block, start, end), INDEX)),
        Accum(hit.name, false, hit_in_block),
    )
    name = fresh.name("block" if size == BLOCK_ITERATIONS else "part")
    blocks = Interval(index_const(0), count)
    return Loop(name, blocks, (inner,), accs, hit, span=loop.span), start
