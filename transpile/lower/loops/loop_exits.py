"""Loop exits: by trip count, by the condition, or by the one ``break`` that core Python has.

Core Python has at most one ``if cond: break`` in a loop, at the top level of the body
(`core_nodes.break_index`). Two nodes of Loop IR take all loops, with opposite conditions::

    for i in range(n):              →  Loop over n iterations
    for i in range(n):  …break…     →  Loop over n iterations, which ends early where `until` holds
    while c:  (with or without …)   →  While that goes on where `cond` holds

Statements after the ``break``, and the condition of a ``while`` with one, are lowered into a branch
that runs where the loop goes on (`_lower_after_break`). `loop_types.py` lowers an iteration
(`lower_iteration`), and emits the loop (`emit_for`, `emit_while`) when the carried types are
settled.
"""
from __future__ import annotations

import ast
from collections.abc import Callable

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.mod_ref import arrays_read, arrays_written
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import replace
from loopir.nodes import (
    Accum,
    Assign,
    Call,
    Const,
    Expr,
    If,
    Interval,
    Loop,
    Span,
    Stmt,
    Var,
    While,
    Yield,
)
from loopir.passes.checks.hoist_checks import hoistable_checks

from ...analysis.liveness import names_assigned, names_read
from ...frontend.core_nodes import break_index, is_atomic, is_internal
from ...frontend.source import span_of
from ...types.int_limits import INT64
from ...types.typed_values import FALSE, Num, bool_op, cast
from ..lower_if import keep_new_params, lower_branch, merge_arrays, merge_name, note_growth
from ..scalars.lower_expressions import lower_test
from ..state.generated_names import CONTINUE_FLAG
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_block
from ..state.symbol_values import LoopCarried, LoopFrame, Unbound, Value
from ..state.value_ranges import integer_num, interval_of

__all__ = [
    "continue_flag", "early_exit_flag", "emit_for", "emit_while", "induction_value_at_exit",
    "lower_iteration", "resolve_extremum",
]


def resolve_extremum(
    end: Num | Unbound, body: list[Stmt], name: Callable[[str], str]
) -> Num | Unbound:
    """`end`, the value of an accumulator at the end of an iteration, with a name that `body`
    assigns replaced by the ``max`` or ``min`` that it holds, so that passes see a max reduction.

        m1 = max(m, x[i])   and step m1   →   step max(m, x[i])

    Where a later store of the body may change what the ``max`` loads, its operands are bound to
    names before it (changing `body`). Any other `end` is returned as it is.
    """
    if isinstance(end, Unbound):
        return end
    assigns = {s.name: s for s in body if isinstance(s, Assign)}
    ir, definition = end.ir, None
    while isinstance(ir, Var) and ir.name in assigns:
        definition = assigns[ir.name]
        ir = definition.value
    if not (isinstance(ir, Call) and ir.op in ("max", "min")):
        return end
    if definition is not None:
        position = body.index(definition)
        if arrays_read((ir,)) and arrays_written(body[position:]):
            bound = {a: Assign(name("now"), a) for a in ir.args if arrays_read((a,))}
            args = tuple(Var(bound[a].name, a.dtype) if a in bound else a for a in ir.args)
            ir = replace(ir, args=args)
            body[position : position + 1] = [*bound.values(), replace(definition, value=ir)]
    return replace(end, ir=ir)


def induction_value_at_exit(
    ctx: Lowering,
    carry: LoopCarried,
    init: Num,
    end: Num | Unbound,
    frame: LoopFrame,
    accs: list[Accum],
) -> Num:
    """The value of an induction variable after a loop that may exit early: how many iterations have
    run is not known, so an accumulator is appended to `accs`, which starts as `init` and steps to
    `end`.
    """
    assert isinstance(end, Num)
    assert carry.step is not None
    accs.append(Accum(carry.var.name, init.ir, end.ir))
    max_growth = interval_of(ctx.b, frame.trips)[1] * carry.step
    (init_lo, init_hi), (end_lo, end_hi) = init.interval, end.interval
    lo = min(init_lo, init_lo + max_growth, end_lo)
    hi = max(init_hi, init_hi + max_growth, end_hi)
    return integer_num(ctx.b, carry.var, (max(lo, INT64[0]), min(hi, INT64[1])))


def early_exit_flag(ctx: Lowering, exit_condition: Expr, accs: list[Accum]) -> Var:
    """The ``until`` of a ``for`` that may exit early: a bool accumulator, appended to `accs`, that
    is true after the iteration in which `exit_condition` holds.

        for i in range(n):               for i in loop(0, n, …, left=False):
            s += x[i]               →        …
            if s > t: break                  left = step(exit_condition); until(left)

    `Loop.until` is evaluated after an iteration, from the new values of the accumulators: so the
    exit condition is made one of them. If a name of the source is one of `accs` with the same step
    (``found = x[i] == s; if found: break``), that one is returned, and none is appended.
    """
    existing = next((a.name for a in accs if a.step == exit_condition), None)
    name = existing or ctx.b.name("left")
    if existing is None:
        accs.append(Accum(name, FALSE, exit_condition))
    return Var(name, "bool")


def continue_flag(ctx: Lowering, runs: Expr, exit_condition: Expr, accs: list[Accum]) -> Var:
    """The condition by which a `While` of Loop IR goes on: a bool accumulator, appended to `accs`,
    that is true before each iteration that runs.

        while lo < hi:                     while loop(go, …, go=runs):
            if x[lo] > t: break     →          …
            lo = 2 * lo + 1                    go = step(not exit_condition)

    `runs` tells whether the first iteration runs, ``lo < hi`` before it; `exit_condition` is true
    in the last one, by the ``break``, or as the test of the ``while`` fails. `_build_loop` of
    `loop_types` calls this.
    """
    go = Var(ctx.b.name("go"), "bool")
    accs.append(Accum(go.name, runs, bool_op("not", exit_condition)))
    return go


def _with_hoisted_checks(ctx: Lowering, loop: Loop) -> tuple[Stmt, ...]:
    """`loop`, which stands for a whole-array operation of NumPy, with its checks in front of it.

    NumPy's operation writes nothing where it raises, so the checks are tested before the loop
    writes. Where they cannot be hoisted, the arrays that the kernel writes are copied before the
    call. Neither is needed if the loop writes only arrays that nobody sees after a failed call.
    """
    if arrays_written((loop,)) <= ctx.b.buffers.fresh:
        return (loop,)
    checks = hoistable_checks(loop, lambda a, b: not a.isdisjoint(b), ctx.b.name)
    ctx.b.buffers.needs_snapshot = ctx.b.buffers.needs_snapshot or checks is None
    if checks:
        ctx.b.hoisted_loops.add(loop)
    return (*(checks or ()), loop)


def _loop_span(node: ast.For | ast.While) -> Span | None:
    """The span of a loop, marked where it implements one operation of the source."""
    span = span_of(node)
    return span if span is None or not is_internal(node) else replace(span, internal=True)


def emit_for(
    ctx: Lowering, frame: LoopFrame, body: list[Stmt], accs: list[Accum], until: Expr | None
) -> None:
    """Emits the `Loop` of the ``for`` of `frame`. `until`: the bool that ends it before its trip
    count does, where it is true after an iteration; None: nothing does. The outermost loop of a
    whole-array operation gets its checks in front of it (`_with_hoisted_checks`).
    """
    domain = Interval(index_const(0), frame.trips)
    span = _loop_span(frame.node)
    loop = Loop(frame.var.name, domain, tuple(body), tuple(accs), until, span=span)
    outermost_atomic = is_atomic(frame.node) and not any(
        is_atomic(f.node) for f in ctx.b.path.frames
    )
    ctx.b.block += _with_hoisted_checks(ctx, loop) if outermost_atomic else (loop,)


def emit_while(
    ctx: Lowering, frame: LoopFrame, body: list[Stmt], accs: list[Accum], cond: Expr
) -> None:
    """Emits the `While` of `frame`. `cond`: the bool that is true before each iteration that runs.
    The loop counts its iterations only if the count is used.
    """
    uses_count = any(n == frame.var for part in (*body, *accs) for n in walk(part))
    next_count = (LinearForm.of(frame.var) + LinearForm({}, 1)).expr()
    count = Accum(frame.var.name, index_const(0), next_count)
    carried = (*accs, count) if uses_count else tuple(accs)
    ctx.b.emit(While(cond, tuple(body), carried, span=_loop_span(frame.node)))


def lower_iteration(
    ctx: Lowering, node: ast.For | ast.While, live: frozenset[str]
) -> tuple[Expr | None, dict[str, Value]]:
    """Lowers one iteration of the loop `node`, and finds when it is the last one. `loop_types.py`
    calls it with the carried names bound to their values at the start of the iteration.

        for i in range(n):                 the statements of s + x[i]
            s = s + x[i]            →      left = s > t                  # the exit condition
            if s > t: break                if not left: the statements of s * 0.5
            s = s * 0.5

    `live` are the names that are read after the iteration: by the next one, or after the loop.

    Returns the exit condition, a bool that is true in the last iteration (None if only the trip
    count ends the loop), and the values of the names in case another iteration follows. After the
    call `IRBuilder.env` has their values at the end of any iteration, the last one included: there,
    statements after the ``break`` have not run.
    """
    b, index = ctx.b, break_index(node.body)
    loop_test = node.test if isinstance(node, ast.While) else None
    live = live | names_read([loop_test]) if loop_test else live
    if index is None:
        lower_block(ctx, node.body, live)
        if loop_test is None:
            return None, dict(b.env)
        return bool_op("not", b.bind(lower_test(ctx, loop_test), "go")), dict(b.env)
    break_stmt, rest = node.body[index], node.body[index + 1 :]
    assert isinstance(break_stmt, ast.If)
    lower_block(ctx, node.body[:index], live | names_read([break_stmt.test, *rest]))
    left = b.bind(lower_test(ctx, break_stmt.test), "left")
    if not rest and loop_test is None:
        return left, dict(b.env)
    return _lower_after_break(ctx, left, rest, loop_test, live, break_stmt)


def _lower_after_break(
    ctx: Lowering,
    left: Expr,
    rest: list[ast.stmt],
    loop_test: ast.expr | None,
    live: frozenset[str],
    break_stmt: ast.If,
) -> tuple[Expr, dict[str, Value]]:
    """Lowers the statements `rest` that follow ``if left: break``, and then the test of a
    ``while``, into a branch that runs where the loop is not left. Called by `lower_iteration`, and
    returns the same.

        while c:                               stays = not left
            if …: break            →           if stays: s_1 = s * 0.5; go_1 = c
            s = s * 0.5                        else yields s, and False for `go`
    """
    b = ctx.b
    if isinstance(left, Const) and left.value:  # the loop is always left: `rest` never runs
        return left, dict(b.env)
    cond = b.bind(bool_op("not", left), "stays")
    then, then_env = lower_branch(ctx, rest, live, dict(b.env), cond, loop_test)
    # A name that `rest` assigns has, after the branch, the value of the branch or that from before.
    yields: list[Yield] = []
    break_env = dict(b.env)
    arrays = merge_arrays(ctx, names_assigned(rest) & live, cond, then_env, break_env, yields)
    for name in sorted(names_assigned(rest) - arrays):
        merge_name(
            ctx, name, cond, then_env.get(name), break_env.get(name), yields, name in live,
            break_stmt,
        )
    keep_new_params(ctx, then_env)
    exit_condition = left
    go = then_env.pop(CONTINUE_FLAG, None)  # the value of `loop_test`, if there is one
    if isinstance(go, Num):
        y = Yield(b.name("go"), cast(go.ir, "bool"), FALSE)
        yields.append(y)
        exit_condition = bool_op("not", Var(y.name, "bool"))
    b.block.append(If(cond, tuple(then), (), tuple(yields), span=span_of(break_stmt)))
    for y in yields:
        note_growth(ctx, y, then_env, break_env)
    return exit_condition, then_env
