"""Flattening of groups: one loop over the blocks of a long sum, where no thread takes a group.

`blocked_summation` sums in blocks, and in groups of blocks. For the sum of a row, which mostly fits
in one block, two loops around the block are a tenth to a quarter of its time.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from ...algebra.constant_folding import index_const, neutral_element
from ...algebra.index_builder import index_add, index_sub
from ...dtypes import INDEX
from ...ir_names import FreshNames, rename_names
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Call, Expr, If, Kernel, Loop, RangeDesc, Stmt, Var, Yield
from ...statement_blocks import map_statements
from .split_folds import blocks_of_groups

__all__ = ["flatten_groups"]


def flatten_groups(kernel: Kernel) -> Kernel:
    """Make one loop of the two over groups of blocks and their blocks (`blocks_of_groups`), with an
    accumulator more for each fold: what the blocks of a group have given so far. The bits stay.

    Before::

        def k(x: f64[:, ::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in parallel_loop(0, x.shape[0]):
                for g in loop(range(0, x.shape[1], 262144), s=0.0):
                    for b in loop(range(g, min(g + 262144, x.shape[1]), 4096), t=-0.0):
                        for j in vec(b, min(b + 4096, x.shape[1]), width=W, group=32, v=-0.0):
                            v = step(v + x[i, j:W])
                        t = step(t + hreduce("add", v))
                    s = step(s + t)
                y[i] = s

    after::

        def k(x: f64[:, ::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in parallel_loop(0, x.shape[0]):
                for b in loop(range(0, x.shape[1], 4096), s_1=0.0, t=-0.0):
                    for j in vec(b, min(b + 4096, x.shape[1]), width=W, group=32, v=-0.0):
                        v = step(v + x[i, j:W])
                    t_1 = t + hreduce("add", v)
                    if b + 4096 & 262143 == 0:
                        s_2 = give(s_1 + t_1)
                        t_2 = give(-0.0)
                    else:
                        s_2 = give(s_1)
                        t_2 = give(t_1)
                    s_1 = step(s_2)
                    t = step(t_2)
                s = s_1 + t
                y[i] = s
    """
    fresh = FreshNames(kernel)
    return map_statements(kernel, lambda s: _flattened(s, fresh) or s, Loop)


def _flattened(s: Any, fresh: FreshNames) -> tuple[Stmt, ...] | None:
    """`s` as a loop over all blocks, and what binds its accumulators after it; None if `s` is no
    loop over groups of blocks, or not as `blocked_summation` makes it.
    """
    blocks = blocks_of_groups(s)
    if blocks is None or blocks.parallel or s.parallel or blocks.until is not None:
        return None
    of_block = {a.name: a for a in blocks.accs}
    body, accs, after = [*blocks.body], list[Accum](), list[Stmt]()
    renamed, yields = dict[str, str](), list[Yield]()
    for a in s.accs:
        match a.step:
            case Var(name=name) if name in of_block and of_block[name].init == a.current:
                renamed[name] = a.name
                accs.append(replace(of_block[name], name=a.name, init=a.init))
            case Call(op, (Var(name=total), Var(name=name))) if (
                total == a.name and name in of_block
                and of_block[name].init == neutral_element(op, a.init.dtype)
            ):
                fold = _fold_of_groups(a, of_block[name], op, fresh)
                body.append(fold.new)
                yields += fold.yields
                accs += fold.accs
                after.append(fold.after)
            case _:
                return None
    assert isinstance(s.range, RangeDesc)
    assert isinstance(blocks.range, RangeDesc)
    if len(of_block) != len(s.accs) or not after or s.range.step & (s.range.step - 1):
        return None
    body.append(If(_is_last(blocks.var, s.range, blocks.range.step), (), (), tuple(yields)))
    all_blocks = replace(s.range, step=blocks.range.step)
    flat = Loop(blocks.var, all_blocks, tuple(body), tuple(accs), span=s.span)
    return (rename_names(flat, renamed), *after)


class _Fold(NamedTuple):
    """What becomes of a fold: what the group has given so far, ``new``, and what follows the other
    statements of the body; its two accumulators; what binds its result after the loop.
    """
    new: Assign
    yields: tuple[Yield, Yield]
    accs: tuple[Accum, Accum]
    after: Assign


def _fold_of_groups(a: Accum, of_block: Accum, op: str, fresh: FreshNames) -> _Fold:
    """The fold by `op` with the accumulator `a` of the loop over groups, and `of_block` of that
    over the blocks of a group.
    """
    dtype = a.init.dtype
    total, group, next_total, next_group = (
        Var(fresh.name(n), dtype) for n in (a.name, of_block.name, a.name, of_block.name)
    )
    return _Fold(
        Assign(group.name, of_block.step, span=of_block.span),
        (
            Yield(next_total.name, Call(op, (total, group), dtype), total),
            Yield(next_group.name, of_block.init, group),
        ),
        (replace(a, name=total.name, step=next_total), replace(of_block, step=next_group)),
        Assign(a.name, Call(op, (total, of_block.current), dtype), span=a.span),
    )


def _is_last(block: str, groups: RangeDesc, size: int) -> Expr:
    """Whether the block that begins at `block` is the last one of a whole group."""
    behind = index_sub(index_add(Var(block, INDEX), index_const(size)), groups.start)
    within = Call("bitand", (behind, index_const(groups.step - 1)), INDEX)
    return Call("eq", (within, index_const(0)), "bool")
