"""Lower `for i in range(...)` and `while` to canonical loops."""
from __future__ import annotations

import ast
import builtins
from typing import NoReturn

from loopir.nodes import Call, Var

from ...frontend.refusal import refuse
from ...types.linear_form import ENDLESS, LENGTH, LinearForm, int_constant
from ...types.typed_values import TRUE, Num
from ...types.value_types import Opaque
from ..scalars.lower_expressions import lower_test
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_guarded
from ..state.symbol_values import LoopFrame, Unbound
from ..state.value_ranges import integer_num, max_value, min_value
from .loop_exits import break_index
from .loop_types import lower_loop_body
from .trip_counts import lower_range

__all__ = ["lower_loop"]


def _refuse_iterable(ctx: Lowering, over: ast.expr) -> NoReturn:
    """Refuses; a name in it whose type has no loops is to blame before all else."""
    for name in (node for node in ast.walk(over) if isinstance(node, ast.Name)):
        ty = ctx.arguments.get(name.id)
        if isinstance(ty, Opaque):
            refuse(ty.code, f"`{name.id}` is of type {ty}", name)
    ty = ctx.arguments.get(over.id) if isinstance(over, ast.Name) else None
    which = f", which is of type {ty}," if ty else ""
    refuse(
        "LOWER_UNSUPPORTED", f"a loop over `{ast.unparse(over)}`{which} is not compiled", over
    )


def lower_loop(ctx: Lowering, node: ast.For | ast.While, live: frozenset[str]) -> None:
    """Lowers a ``for`` over a range, or a ``while``. Raises Refused for an ``else``."""
    if node.orelse:
        refuse("LOWER_UNSUPPORTED", "an `else` of this loop is not compiled", node)
    if isinstance(node, ast.While):
        _lower_while(ctx, node, live)
    else:
        _lower_for(ctx, node, live)


def _lower_while(ctx: Lowering, node: ast.While, live: frozenset[str]) -> None:
    """Its condition is known before each iteration: before the loop, and at an iteration's end.
    """
    b = ctx.b
    go = b.bind(lower_test(ctx, node.test), "go")
    trips = Var(b.name("trips"), "i64")
    var = Var(b.name("k"), "i64")
    b.ranges.intervals[trips] = b.ranges.intervals[var] = ENDLESS
    lower_loop_body(
        ctx, LoopFrame(node, var, None, trips, LinearForm.of(trips), go, exits=True), live
    )


def _lower_for(ctx: Lowering, node: ast.For, live: frozenset[str]) -> None:
    if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
        _refuse_iterable(ctx, node.iter)
    if resolve_guarded(ctx, node.iter.func) is not builtins.range or node.iter.keywords:
        _refuse_iterable(ctx, node.iter)
    domain = lower_range(ctx, node.iter)
    b, trips, count = ctx.b, domain.trips, domain.count
    var = Var(b.name(node.target.id), "i64")
    b.ranges.intervals[var] = (0, max(0, min(max_value(b, count), LENGTH[1]) - 1))
    some = TRUE if min_value(b, count) >= 1 else Call("gt", (trips, int_constant(0)), "bool")
    exits = break_index(node.body) is not None
    lower_loop_body(ctx, LoopFrame(node, var, domain.at, trips, count, some, exits), live)
    if exits:
        if node.target.id not in live:
            b.env[node.target.id] = Unbound()
        return
    last = domain.at(count + LinearForm({}, -1))
    before = b.env.get(node.target.id)
    if some == TRUE:
        b.env[node.target.id] = last
    elif isinstance(before, Num) and before.python_int:
        ir = b.bind(Call("select", (some, last.ir, before.ir), "i64"), node.target.id)
        ends = (*last.interval, *before.interval)
        b.env[node.target.id] = integer_num(b, ir, (min(ends), max(ends)))
    else:
        b.env[node.target.id] = Unbound(last, some)
