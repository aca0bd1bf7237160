"""State of lists under construction: which append once an iteration, their lengths, counters."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from loopir.algebra.constant_folding import index_const
from loopir.analysis.intervals import LENGTH
from loopir.nodes import Var

from ...frontend.ast_walk import walk_nodes
from ...frontend.refusal import refuse_unknown_length
from ...types.typed_values import Num, constant
from ..state.generated_names import counter_name
from ..state.lowering_state import Lowering
from ..state.symbol_values import ArrayRef, ListRef
from ..state.value_ranges import integer_num

__all__ = [
    "appended_counters", "appended_names", "appends_once", "finished_list", "length_of_list",
    "note_lengths", "start_counter",
]


def appended_counters(ctx: Lowering, block: Sequence[ast.stmt]) -> set[str]:
    """The counters of the lists that `block` appends to."""
    names = appended_names(block)
    return {counter_name(n) for n in names if n in ctx.lists.builders and not appends_once(ctx, n)}


def appended_names(block: Sequence[ast.stmt]) -> set[str]:
    """The names on which `block` calls ``append``."""
    return {
        n.func.value.id
        for n in walk_nodes(*block)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "append"
        and isinstance(n.func.value, ast.Name)
    }


def appends_once(ctx: Lowering, name: str) -> bool:
    """Whether every iteration of one loop appends exactly one element."""
    return name in ctx.lists.append_once


def length_of_list(ctx: Lowering, node: ast.expr) -> Num | None:
    """The length so far of a list under construction; None for anything else."""
    got = ctx.b.env.get(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(got, ListRef):
        return None
    if not appends_once(ctx, got.name):
        counter = ctx.b.env.get(counter_name(got.name))
        return counter if isinstance(counter, Num) else None
    length = ctx.lists.builders[got.name].length
    if got.name in ctx.lists.open:
        refuse_unknown_length(
            got.name, f"the length of `{got.name}` is asked while it grows", node
        )
    return length if length is not None else constant(0)


def finished_list(ctx: Lowering, name: str) -> ArrayRef | None:
    """A list that grows no more and whose length is known, as an array; None for others."""
    built = ctx.lists.builders[name]
    length = built.length if appends_once(ctx, name) else ctx.b.env.get(counter_name(name))
    if name in ctx.lists.open or not isinstance(length, Num):
        return None
    if built.dtype is None or built.flags:
        return None
    return ArrayRef(built.buffer, built.dtype, 0, (length,), weak=built.weak)


def note_lengths(ctx: Lowering, names: set[str]) -> None:
    """Notes that the lengths of these lists are lengths."""
    for name in names:
        n = ctx.b.env.get(counter_name(name))
        if isinstance(n, Num) and isinstance(n.ir, Var):
            ctx.b.env[counter_name(name)] = integer_num(ctx.b, n.ir, LENGTH)


def start_counter(ctx: Lowering, name: str) -> None:
    """Starts counting the elements of a list."""
    ctx.lists.counters.add(counter_name(name))
    ctx.b.env[counter_name(name)] = Num(index_const(0), weak="i64")
