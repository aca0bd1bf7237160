"""Loop exits: by trip count, by the condition, or by the one `break` that core Python has."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from loopir.analysis.mod_ref import arrays_read, arrays_written
from loopir.ir_traversal import walk
from loopir.nodes import (
    Accum,
    Assign,
    Call,
    Const,
    Expr,
    If,
    Interval,
    Loop,
    Stmt,
    Var,
    While,
    Yield,
)
from loopir.passes.checks.hoist_checks import hoistable_checks

from ...analysis.liveness import names_assigned, names_read
from ...frontend.core_nodes import is_atomic
from ...frontend.source import span_of
from ...types.linear_form import INT64, LinearForm, int_constant
from ...types.typed_values import FALSE, Num, bool_op, cast
from ..lower_if import (
    CONTINUE_FLAG,
    keep_captured_names,
    lower_branch,
    merge_arrays,
    merge_name,
    note_growth,
)
from ..scalars.lower_expressions import lower_test
from ..state.dispatch import lower_block
from ..state.lowering_state import Lowering
from ..state.symbol_values import LoopCarried, LoopFrame, Unbound, Value
from ..state.value_ranges import integer_num, interval_of

__all__ = [
    "break_index", "emit_loop", "exit_flag", "induction_value_at_exit", "lower_iteration",
    "resolve_extremum",
]


def break_index(block: Sequence[ast.stmt]) -> int | None:
    """Where ``if …: break`` stands in the body of a loop, the one way out that core Python has."""
    for k, s in enumerate(block):
        if isinstance(s, ast.If) and not s.orelse and isinstance(s.body[0], ast.Break):
            return k
    return None


def resolve_extremum(
    end: Num | Unbound, body: list[Stmt], name: Callable[[str], str]
) -> Num | Unbound:
    """`end` as ``max``/``min`` itself, where it is a name for one that `body` computes last.

    What that one loads, a store behind it may change: it gets a name where it stands.
    """
    if isinstance(end, Unbound):
        return end
    assigns = {s.name: s for s in body if isinstance(s, Assign)}
    ir, last = end.ir, None
    while isinstance(ir, Var) and ir.name in assigns:
        last = assigns[ir.name]
        ir = last.value
    if not (isinstance(ir, Call) and ir.op in ("max", "min")):
        return end
    if last is not None and arrays_read((ir,)) and arrays_written(body[body.index(last) :]):
        early = {a: Assign(name("now"), a) for a in ir.args if arrays_read((a,))}
        args = tuple(Var(early[a].name, a.dtype) if a in early else a for a in ir.args)
        ir, place = replace(ir, args=args), body.index(last)
        body[place : place + 1] = [*early.values(), replace(last, value=ir)]
    return replace(end, ir=ir)


def induction_value_at_exit(
    ctx: Lowering,
    c: LoopCarried,
    init: Num,
    end: Num | Unbound,
    frame: LoopFrame,
    accs: list[Accum],
) -> Num:
    """The value of a progression that is broken off."""
    assert isinstance(end, Num)
    assert c.step is not None
    accs.append(Accum(c.var.name, init.ir, end.ir))
    reach = interval_of(ctx.b, frame.trips)[1] * c.step
    (lo, hi), (low, high) = init.interval, end.interval
    span = min(lo, lo + reach, low), max(hi, hi + reach, high)
    return integer_num(ctx.b, c.var, (max(span[0], INT64[0]), min(span[1], INT64[1])))


def exit_flag(ctx: Lowering, left: Expr, accs: list[Accum], frame: LoopFrame) -> Expr:
    """The last step of a loop: it ends where `left` holds, which gets a name."""
    if isinstance(frame.node, ast.While):
        go = Var(ctx.b.name("go"), "bool")
        accs.append(Accum(go.name, frame.some, bool_op("not", left)))
        return go
    same = next((a.name for a in accs if a.step == left), None)
    name = same or ctx.b.name("left")
    if same is None:
        accs.append(Accum(name, FALSE, left))
    return Var(name, "bool")


def _with_hoisted_checks(ctx: Lowering, loop: Loop) -> tuple[Stmt, ...]:
    """`loop`, which NumPy does at once: where it raises, it has written nothing."""
    if arrays_written((loop,)) <= ctx.b.buffers.fresh:
        return (loop,)
    checks = hoistable_checks(loop, lambda p, q: not p.isdisjoint(q), ctx.b.name)
    ctx.b.buffers.copied = ctx.b.buffers.copied or checks is None
    if checks:
        ctx.b.hoisted_loops.add(loop)
    return (*(checks or ()), loop)


def emit_loop(
    ctx: Lowering, frame: LoopFrame, body: list[Stmt], accs: list[Accum], until: Expr | None
) -> None:
    """Emits the loop of `frame`. ``until``: where it ends early (``while``: where it goes on)."""
    place = span_of(frame.node)
    if isinstance(frame.node, ast.For):
        domain = Interval(int_constant(0), frame.trips)
        loop = Loop(frame.var.name, domain, tuple(body), tuple(accs), until, span=place)
        whole = is_atomic(frame.node) and not any(is_atomic(f.node) for f in ctx.b.path.frames)
        ctx.b.block += _with_hoisted_checks(ctx, loop) if whole else (loop,)
    else:
        counted = any(n == frame.var for part in (*body, *accs) for n in walk(part))
        k = Accum(
            frame.var.name,
            int_constant(0),
            (LinearForm.of(frame.var) + LinearForm({}, 1)).expr(),
        )
        assert until is not None
        carried = (*accs, k) if counted else tuple(accs)
        ctx.b.emit(While(until, tuple(body), carried, span=place))


def lower_iteration(
    ctx: Lowering, node: ast.For | ast.While, live: frozenset[str]
) -> tuple[Expr | None, dict[str, Value]]:
    """Whether this was the last iteration (None: only the trip count says), and the names as
    they are where it was not.
    """
    b, at = ctx.b, break_index(node.body)
    again = node.test if isinstance(node, ast.While) else None
    live = live | names_read([again]) if again else live
    if at is None:
        lower_block(ctx, node.body, live)
        last = None if again is None else bool_op("not", b.bind(lower_test(ctx, again), "go"))
        return last, dict(b.env)
    way, rest = node.body[at], node.body[at + 1 :]
    assert isinstance(way, ast.If)
    lower_block(ctx, node.body[:at], live | names_read([way.test, *rest]))
    left = b.bind(lower_test(ctx, way.test), "left")
    if not rest and again is None:
        return left, dict(b.env)
    return _lower_after_exit(ctx, left, rest, again, live, way)


def _lower_after_exit(
    ctx: Lowering,
    left: Expr,
    rest: list[ast.stmt],
    again: ast.expr | None,
    live: frozenset[str],
    way: ast.If,
) -> tuple[Expr, dict[str, Value]]:
    """What follows the way out, and the loop's own condition behind it."""
    b = ctx.b
    if isinstance(left, Const) and left.value:
        return left, dict(b.env)
    cond = b.bind(bool_op("not", left), "stays")
    then, env = lower_branch(ctx, rest, live, dict(b.env), cond, again)
    yields: list[Yield] = []
    outer = dict(b.env)
    arrays = merge_arrays(ctx, names_assigned(rest) & live, cond, env, outer, yields)
    for name in sorted(names_assigned(rest) - arrays):
        merge_name(ctx, name, cond, env.get(name), outer.get(name), yields, name in live, way)
    keep_captured_names(ctx, env)
    go = env.pop(CONTINUE_FLAG, None)
    if isinstance(go, Num):
        y = Yield(b.name("go"), cast(go.ir, "bool"), FALSE)
        yields.append(y)
        left = bool_op("not", Var(y.name, "bool"))
    b.block.append(If(cond, tuple(then), (), tuple(yields), span=span_of(way)))
    for y in yields:
        note_growth(ctx, y, env, outer)
    return left, env
