"""Lower `for i in range(...)` and `while` to canonical loops.

A loop of Loop IR counts its iterations from 0. ``for i in range(2, n, 3): body`` becomes ::

    for k in 0..trips:                 # trips = max((n - 2 + 2) // 3, 0), that is max(n // 3, 0)
        body, where i is 2 + 3 * k

The trip count is in `trip_counts.py`, the body and what it carries in `loop_types.py`. A ``while``
has an iteration counter, too, with an upper bound that no run reaches, and ends by its condition.
"""
from __future__ import annotations

import ast
import builtins
from functools import partial
from typing import NoReturn

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import LENGTH
from loopir.nodes import Call, Var

from ...analysis.waiting_loops import names_waited_for
from ...codes.lowering_codes import HELP_FOR_ITERABLES
from ...frontend.ast_names import bound_names, names_used
from ...frontend.ast_walk import walk_nodes
from ...frontend.core_nodes import break_index, source_text
from ...frontend.refusal import refuse
from ...types.int_limits import ENDLESS
from ...types.typed_values import TRUE, Num
from ...types.value_types import ArgType, Constant, ObjectType, Opaque
from ..scalars.lower_expressions import lower_test
from ..state.generated_names import counter_name
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_scalar, refuse_iterated_number, refuse_number
from ..state.outer_names import refuse_member, resolve_guarded, resolve_object
from ..state.symbol_values import LoopFrame, Unbound
from ..state.value_ranges import integer_num, max_value, min_value
from .loop_types import lower_loop_body
from .trip_counts import lower_range

__all__ = ["lower_loop"]


def _refuse_iterable(ctx: Lowering, over: ast.expr) -> NoReturn:
    """Refuses a loop over `over`; the message names an argument in it of an unsupported type, if
    there is one.
    """
    for name in (node for node in walk_nodes(over) if isinstance(node, ast.Name)):
        ty = ctx.arguments.get(name.id)
        if isinstance(ty, Opaque):
            refuse(ty.code, f"`{name.id}` is of type {ty}", name)
    if isinstance(over, ast.Call):
        refuse_iterated_number(ctx, over, resolve_object(ctx, over.func))
    _refuse_unknown_local(ctx, over)
    refuse_number(ctx, over, "LOWER_UNSUPPORTED", "has no items", help=HELP_FOR_ITERABLES)
    for member in (node for node in walk_nodes(over) if isinstance(node, ast.Attribute)):
        part = _argument_part(ctx, member)
        if isinstance(part, Opaque) and part.name in ("list", "tuple"):
            refuse_member(ctx, member)
    ty = _argument_part(ctx, over)
    is_text = _is_of_text(ctx, over)
    kind = "str" if is_text else str(ty) if ty else ""
    type_clause = f", which is of type {kind}," if kind else ""
    if isinstance(over, ast.Call) and kind:
        type_clause = f", a method of a {kind},"
    help = _ITERABLE_HELP.get(kind, HELP_FOR_ITERABLES)
    if isinstance(over, ast.Call) and is_text:
        help = "make numbers of the string before the call, and loop over an array of these"
    if isinstance(over, ast.Call) and resolve_object(ctx, over.func) is sorted:
        help = _HELP_FOR_SORTED
    if isinstance(over, ast.Subscript) and kind:
        type_clause, help = f", an item of a {kind},", _HELP_FOR_ITEM.get(kind, help)
    message = f"a loop over `{source_text(over)}`{type_clause} is not compiled"
    refuse("LOWER_UNSUPPORTED", message, over, help=help)


def _refuse_unknown_local(ctx: Lowering, over: ast.expr) -> None:
    """Refuses a local in a loop over it, or over ``enumerate(v)`` and the like, of which no value
    is known: it may well be an array, but is bound anew in a loop.
    """
    for node in (over, *(over.args if isinstance(over, ast.Call) else ())):
        if (
            isinstance(node, ast.Name)
            and isinstance(ctx.b.env.get(node.id), Unbound | None)
            and node.id in bound_names(*ctx.tree.body)
        ):
            lower_scalar(ctx, node)


def _is_of_text(ctx: Lowering, over: ast.expr) -> bool:
    """Whether `over` is a string that is known, or a call of a method of one."""
    root = over
    while isinstance(root, (ast.Call, ast.Attribute)):
        root = root.func if isinstance(root, ast.Call) else root.value
    if isinstance(root, ast.Name):
        ty = ctx.arguments.get(root.id)
        return isinstance(ty, Constant) and isinstance(ty.value, str)
    return isinstance(root, ast.Constant) and isinstance(root.value, str)


def _argument_part(ctx: Lowering, node: ast.expr) -> ArgType | None:
    """The type that a message about `node` names: of the argument ``x`` for ``x``, ``x[k]`` and
    ``x.items()``, and of the attribute for ``x.rows``. None for other nodes.
    """
    match node:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return ctx.types.get(name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return ctx.types.get(name)
        case ast.Attribute(value=value, attr=attribute):
            owner = _argument_part(ctx, value)
            if isinstance(owner, ObjectType):
                return owner.part(attribute)
    return None


_ITERABLE_HELP = {
    "str": "loop over an array of its codes, `np.array([*map(ord, text)])`",
    "dict": "pass its keys and values as two arrays or lists, and loop over these",
    "set": "pass it as an array or list",
}
"""The help for a loop over a value of that type."""


_HELP_FOR_ITEM = {
    "dict": "pass the items of all keys in one array, and in another one where those of each begin",
}
"""The help for a loop over an item of an argument of that type."""


def lower_loop(ctx: Lowering, node: ast.For | ast.While, live: frozenset[str]) -> None:
    """Lowers the loop `node`; `live`: all names that are read later. Raises Refused for an
    ``else``, which macros remove where they can, and for a ``for`` over anything but a range.
    """
    if node.orelse:
        refuse("LOWER_UNSUPPORTED", "an `else` of this loop is not compiled", node)
    if isinstance(node, ast.While):
        _lower_while(ctx, node, live)
    else:
        _lower_for(ctx, node, live)


_HELP_FOR_SORTED = (
    "make an array of the keys, and loop over their order, `np.argsort(keys, kind=\"stable\")`"
)

_WAITING_HELP = "let Python wait; loops inside of this one are compiled"


def _lower_while(ctx: Lowering, node: ast.While, live: frozenset[str]) -> None:
    """Lowers a ``while`` to a `While` of Loop IR, which goes on as long as an accumulator is true.

        while lo < hi:           go = lo < hi
            lo = g(lo)      →    while loop(go_1, lo=lo, go_1=go):
                                     lo = step(g(lo));  go_1 = step(g(lo) < hi)

    The condition is lowered twice: before the loop, where it decides whether there is a first
    iteration, and at the end of the body, where it decides about the next. Proofs about the loop
    need a trip count, which is not known: a name that no statement assigns stands for it
    (`LoopFrame.trips`), and does not occur in the kernel. A ``while`` that counts
    was made a ``for`` before (`while_to_for`). Raises Refused for a loop that waits for something
    that another thread or a signal handler does.
    """
    b = ctx.b
    resolve, resized = partial(resolve_object, ctx), _resized_lists(ctx, node)
    if names := names_waited_for(node, ctx.tree, resolve, ctx.members.reads, resized):
        changed = " or ".join(f"`{name}`" for name in names)
        message = f"the loop waits until another thread or a signal handler changes {changed}"
        refuse("LOWER_UNSUPPORTED", message, node, help=_WAITING_HELP)
    go = b.bind(lower_test(ctx, node.test), "go")
    trips = Var(b.name("trips"), "i64")
    var = Var(b.name("k"), "i64")
    b.ranges.intervals[trips] = b.ranges.intervals[var] = ENDLESS
    frame = LoopFrame(
        node, var, element_at=None, trips=trips, last=LinearForm({trips: 1}, -1), runs=go,
        exits_early=True,
    )
    lower_loop_body(ctx, frame, live)


def _resized_lists(ctx: Lowering, loop: ast.While) -> set[str]:
    """The names by which the body of `loop` reads lists whose number of items it changes."""
    changed = ctx.lists.counters & bound_names(*loop.body)
    return {name for name in names_used(loop) if counter_name(name.partition(".")[0]) in changed}


def _lower_for(ctx: Lowering, node: ast.For, live: frozenset[str]) -> None:
    """Lowers a ``for`` over a call of ``range`` to a `Loop` that counts from 0, and binds its
    target to the last element. The module's docstring has an example.

    Macros have made ranges of all other iterables. `lower_range` gives the trip count and the
    element of an iteration, `lower_loop_body` lowers the body and emits the loop.

    The target after the loop: where there was no iteration, Python leaves it as it was. So if it
    was a Python int before a loop that may have none, its value is selected by the trip count; else
    it counts as unbound where there was none. Of a loop that may exit early, the target is carried
    if it is live (`loop_types._carried_names`), and else unbound.
    """
    if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
        _refuse_iterable(ctx, node.iter)
    if resolve_guarded(ctx, node.iter.func) is not builtins.range or node.iter.keywords:
        _refuse_iterable(ctx, node.iter)
    domain = lower_range(ctx, node.iter)
    b, target, trips, trip_form = ctx.b, node.target.id, domain.trips, domain.trip_form
    var = Var(b.name(target), "i64")
    b.ranges.intervals[var] = (0, max(0, min(max_value(b, trip_form), LENGTH[1]) - 1))
    runs = TRUE if min_value(b, trip_form) >= 1 else Call("gt", (trips, index_const(0)), "bool")
    exits_early = break_index(node.body) is not None
    last = trip_form + LinearForm({}, -1)
    frame = LoopFrame(node, var, domain.element_at, trips, last, runs, exits_early)
    lower_loop_body(ctx, frame, live)
    if exits_early:  # a target that is live is carried, and has its value already
        if target not in live:
            b.env[target] = Unbound()
        return
    after = domain.element_at(last)
    before = b.env.get(target)
    if runs == TRUE:
        b.env[target] = after
    elif isinstance(before, Num) and before.python_int:
        ir = b.bind(Call("select", (runs, after.ir, before.ir), "i64"), target)
        bounds = (*after.interval, *before.interval)
        b.env[target] = integer_num(b, ir, (min(bounds), max(bounds)))
    else:
        b.env[target] = Unbound(after, runs)
