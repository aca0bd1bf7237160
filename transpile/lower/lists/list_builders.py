"""Queries about append-only lists under construction: their lengths, counters and items.

The length of a list is the value of its counter, a variable that the appending loops carry. A list
that gets one item in each iteration of one loop needs none (`appends_once`): its length is the trip
count of that loop.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.intervals import LENGTH
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
    """The counters that `block` changes: of the append-only lists to which it appends, except those
    that need none.
    """
    names = appended_names(block) if ctx.lists.builders else set[str]()
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
    """Whether each iteration of one loop appends exactly one item to the list `name`, which then
    needs no counter.
    """
    return name in ctx.lists.append_once


def length_of_list(ctx: Lowering, node: ast.expr) -> Num | None:
    """``len(node)`` of an append-only list; None for anything else. Raises UnknownListLength in a
    loop that appends to a list without a counter.
    """
    ref = ctx.b.env.get(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(ref, ListRef):
        return None
    if not appends_once(ctx, ref.name):
        counter = ctx.b.env.get(counter_name(ref.name))
        return counter if isinstance(counter, Num) else None
    length = ctx.lists.builders[ref.name].length
    if ref.name in ctx.lists.open:
        refuse_unknown_length(
            ref.name, f"the length of `{ref.name}` is asked while it grows", node
        )
    return length if length is not None else constant(0)


def finished_list(ctx: Lowering, name: str) -> ArrayRef | None:
    """The items of the append-only list `name` as an array; None while a loop appends to it, where
    its length or item type is not known, and where NumPy scalars are among Python numbers.
    """
    built = ctx.lists.builders[name]
    length = built.length if appends_once(ctx, name) else ctx.b.env.get(counter_name(name))
    if name in ctx.lists.open or not isinstance(length, Num):
        return None
    if built.dtype is None or (built.flags and not built.weak):
        return None
    return ArrayRef(
        built.buffer, built.dtype, 0, (length,), weak=built.weak, flags=built.flags,
        python_dtype=built.python_dtype)


def note_lengths(ctx: Lowering, names: set[str]) -> None:
    """Records that the counters of the lists `names` lie in the range of lengths."""
    for name in names:
        n = ctx.b.env.get(counter_name(name))
        if isinstance(n, Num) and isinstance(n.ir, Var):
            ctx.b.env[counter_name(name)] = integer_num(ctx.b, n.ir, LENGTH)


def start_counter(ctx: Lowering, name: str) -> None:
    """Sets the counter of the append-only list `name` to 0."""
    ctx.lists.counters.add(counter_name(name))
    ctx.b.env[counter_name(name)] = Num(index_const(0), weak="i64")
