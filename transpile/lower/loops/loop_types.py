"""Lower a loop body to a fixpoint of the types of its loop-carried values.

A name with several types, or names of arrays that change, take more than one accumulator.
"""
from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from loopir.analysis.affine import LinearForm
from loopir.ir_traversal import walk
from loopir.nodes import Accum, Expr, Stmt, Var

from ...analysis.liveness import is_only_counted, names_assigned, upward_exposed
from ...diagnostics import Refused
from ...frontend.refusal import refuse
from ...types.typed_values import Num
from ..arrays.alias_states import (
    MAX_ALIAS_STATES,
    AliasGroup,
    NewAliasStates,
    alias_states,
    array_if_loop_ran,
    arrays_made_in_loop,
    may_be_array,
)
from ..lists.list_builders import appended_counters
from ..scalars.lower_expressions import lower_test
from ..scalars.tagged_unions import MAX_CASES, CarriedUnion, NewCarriedTypes, case_type, union_cases
from ..state.dispatch import lower_array
from ..state.lowering_state import Lowering
from ..state.path_conditions import facts_from, in_iteration, in_while_iteration
from ..state.symbol_values import (
    ArrayRef,
    ListRef,
    LoopCarried,
    LoopFrame,
    Unbound,
    UnionValue,
    Value,
)
from ..state.value_ranges import linear_form, linear_num
from .loop_carried import (
    entry_value,
    first_guess,
    induction_value,
    initial_value,
    raise_new_types,
    refine_carried,
)
from .loop_exit_values import make_accumulators, search_stop_condition, value_after_loop
from .loop_exits import (
    emit_loop,
    exit_flag,
    induction_value_at_exit,
    lower_iteration,
    resolve_extremum,
)

__all__ = ["CarriedGroup", "infer_carried_types", "lower_loop_body"]

CarriedGroup: TypeAlias = "CarriedUnion | AliasGroup"


def _carried_groups(
    ctx: Lowering, carried: Iterable[str], node: ast.For | ast.While
) -> list[CarriedGroup]:
    """Those that are so before the loop."""
    first = {n: _value_before_loop(ctx, n, node) for n in carried}
    arrays = tuple(n for n, v in first.items() if may_be_array(v))
    out: list[CarriedGroup] = [
        _union_before_loop(ctx, n, node) for n, v in first.items()
        if isinstance(v, UnionValue) and not may_be_array(v)
    ]
    whens = alias_states(ctx.b, ctx.b.env, arrays) if arrays else None
    return out if whens is None else [*out, AliasGroup(arrays, tuple(whens))]


def _value_before_loop(ctx: Lowering, name: str, node: ast.AST) -> Value | None:
    if name not in ctx.b.env and name in ctx.arguments:
        lower_array(ctx, ast.Name(name, ast.Load()))
    return ctx.b.env.get(name)


def _initial_values(
    ctx: Lowering, carried: Iterable[str], groups: Sequence[CarriedGroup], node: ast.For | ast.While
) -> dict[str, Num | Unbound]:
    """What the accumulators start with."""
    out: dict[str, Num | Unbound] = {}
    grouped = {n for g in groups for n in (g.arrays if isinstance(g, AliasGroup) else [g.name])}
    for name in carried:
        if name not in grouped:
            first = initial_value(ctx, name, node)
            out[name] = Unbound() if isinstance(first, UnionValue) else first
    for group in groups:
        out |= group.spread(ctx.b, ctx.b.env)
    return out


def _widen_groups(
    ctx: Lowering,
    groups: Sequence[CarriedGroup],
    more: NewCarriedTypes | NewAliasStates,
    node: ast.AST,
) -> list[CarriedGroup]:
    """`groups` with what turned out at the end of an iteration."""
    if isinstance(more, NewCarriedTypes):
        rest = [g for g in groups if isinstance(g, AliasGroup) or g.name != more.name]
        known = next((g for g in groups if g not in rest), None)
        known = known or _union_before_loop(ctx, more.name, node)
        assert isinstance(known, CarriedUnion)
        wide = known.with_more(more.kinds)
        if len(wide.kinds) > MAX_CASES:
            refuse("LOWER_JOIN", f"`{more.name}` has too many types in the loop", node)
        return [*rest, wide]
    rest = [g for g in groups if isinstance(g, CarriedUnion)]
    (arrays,) = (g for g in groups if isinstance(g, AliasGroup))
    several = tuple(dict.fromkeys((*arrays.states, *(more.states or ()))))
    if more.states is None or len(several) > MAX_ALIAS_STATES or not more.keep(ctx.b):
        return rest
    return [*rest, AliasGroup(arrays.arrays, several)]


def _union_before_loop(ctx: Lowering, name: str, node: ast.AST) -> CarriedUnion:
    """A name with the types that it has before a loop."""
    cases = union_cases(ctx.b, ctx.b.env.get(name)) if ctx.b.allows_unions else None
    if cases is None:
        refuse("LOWER_JOIN", f"the type of `{name}` depends on the data", node)
    return CarriedUnion(name, tuple(case_type(c.value) for c in cases))


class _Turn(NamedTuple):
    """An iteration that was lowered: what is carried, under names of its own, the statements, the
    values at the end, and where that is not the last time; whether it was; and the arrays that
    names stand for at the end, and for nothing before the loop.
    """

    carries: dict[str, LoopCarried]
    body: list[Stmt]
    ends: dict[str, Num | Unbound]
    stays: dict[str, Num | Unbound]
    left: Expr | None
    arrays: dict[str, ArrayRef]


_Fixpoint: TypeAlias = "tuple[dict[str, LoopCarried], _Turn | None]"
"""The types that were found; and the iteration that has them, if it stands."""


def lower_loop_body(ctx: Lowering, frame: LoopFrame, live: frozenset[str]) -> None:
    """Lowers the loop of `frame`."""
    node = frame.node
    names = names_assigned(node.body) | appended_counters(ctx, node.body)
    first = upward_exposed(node.body)
    carried = sorted(n for n in names if n in live or n in first or n in ctx.lists.counters)
    target = _loop_target(node)
    carried = [n for n in carried if n != target]
    if frame.exits and target is not None and target in live:
        carried.append(target)
    inside = live | first
    groups = _carried_groups(ctx, carried, node)
    while True:
        inits = _initial_values(ctx, carried, groups, node)
        try:
            carries, turn = infer_carried_types(ctx, frame, inits, inside, groups)
            turn = turn or _lower_final_iteration(ctx, frame, carries, inits, inside, groups)
        except (NewCarriedTypes, NewAliasStates) as more:
            groups = _widen_groups(ctx, groups, more, node)
        else:
            break
    _build_loop(ctx, frame, turn, inits, names - set(carried), groups)


def infer_carried_types(
    ctx: Lowering, frame: LoopFrame, inits: dict[str, Num | Unbound], live: frozenset[str],
    groups: Sequence[CarriedGroup],
) -> _Fixpoint:
    """The types of what the loop carries: those before it if they stay so, else a NumPy type
    that absorbs a Python constant. Raises NewCarriedTypes where a name has neither: its types
    cannot be kept in one accumulator.
    """
    b = ctx.b
    problem: Refused | None = None
    more: NewCarriedTypes | None = None
    python = {n for n in inits if n in ctx.lists.counters or is_only_counted(n, frame.node.body)}
    dtypes = (None, *dict.fromkeys(p.dtype for p in b.params.values() if p.rank))
    several = any(isinstance(g, CarriedUnion) for g in groups)
    strictly = (True,) if b.one_type else (False,) if several else (True, False)
    b.one_type_mattered |= b.one_type and several
    for one_type, dtype in (*_types_settled_before(ctx, frame, inits, groups, strictly),
                            *itertools.product(strictly, dtypes)):
        known = isinstance(dtype, dict)
        guess = dtype if isinstance(dtype, dict) else {
            n: first_guess(ctx, n, init, None if n in python or n[0] == "#" else dtype)
            for n, init in inits.items()
        }
        outer, b.one_type = b.one_type, one_type
        outer_mattered, b.one_type_mattered = b.one_type_mattered, False
        try:
            settled = _carried_types_fixpoint(ctx, guess, frame, inits, live, groups, outer=outer)
        except Refused as refused:
            if refused.rejection.code != "LOWER_JOIN" and not known:
                raise
            problem = problem if known else problem or refused
        except NewCarriedTypes as found:
            more = more if known else more or found
        else:
            ctx.settled_loops[frame.node, one_type] = inits, settled[0]
            return settled
        finally:
            b.one_type = outer
            b.one_type_mattered = outer_mattered or (outer and b.one_type_mattered)
    b.one_type_mattered |= b.one_type
    if more is not None:
        raise more
    assert problem is not None
    raise problem


def _types_settled_before(
    ctx: Lowering,
    frame: LoopFrame,
    inits: dict[str, Num | Unbound],
    groups: Sequence[CarriedGroup],
    strictly: Sequence[bool],
) -> Iterator[tuple[bool, dict[str, LoopCarried]]]:
    """What the types settled on when the loop was lowered before, with the same names: loops
    around it are lowered several times.
    """
    for one_type in strictly:
        first, carries = ctx.settled_loops.get((frame.node, one_type), (None, {}))
        if first == inits and not groups:
            yield one_type, carries


def _carried_types_fixpoint(
    ctx: Lowering,
    carries: dict[str, LoopCarried],
    frame: LoopFrame,
    inits: dict[str, Num | Unbound],
    live: frozenset[str],
    groups: Sequence[CarriedGroup],
    *,
    outer: bool,
) -> _Fixpoint:
    """The types after as many iterations as they need to stay the same, from the guess `carries`.

    ``outer`` is ``one_type`` of the code around the loop. The last iteration is kept if it was
    lowered with the same ``one_type``, or if that made no difference.
    """
    for _ in range(6):
        with ctx.trial() as trial:
            turn = _lower_iteration_once(ctx, frame, carries, inits, live, groups)
            better = {
                n: refine_carried(ctx, n, c, inits[n], turn.ends[n], turn.stays[n], frame)
                for n, c in turn.carries.items()
            }
            settled = better == turn.carries
            keep = ctx.b.one_type == outer or not ctx.b.one_type_mattered
            trial.holds = keep and settled
        if settled:
            return carries, turn if keep else None
        carries = better
    return refuse(
        "LOWER_JOIN", "the types of the names that the loop carries do not settle", frame.node
    )


def _lower_iteration_once(
    ctx: Lowering,
    frame: LoopFrame,
    carries: dict[str, LoopCarried],
    inits: dict[str, Num | Unbound],
    live: frozenset[str],
    groups: Sequence[CarriedGroup],
) -> _Turn:
    """The body lowered once, with names of its own for what is carried."""
    b = ctx.b
    named = {n: _with_fresh_names(ctx, n, c) for n, c in carries.items()}
    body: list[Stmt] = []
    outer = dict(b.env)
    entries = {n: entry_value(ctx, c, inits[n], frame) for n, c in named.items()}
    b.env.update(entries)
    for group in groups:
        b.env.update(group.gather(entries))
    with in_iteration(b, frame), b.into(body):
        target = _loop_target(frame.node)
        if target is not None and frame.element is not None:
            b.env[target] = frame.element(LinearForm.of(frame.var))
        with _while_condition_facts(ctx, frame, named):
            left, stays = lower_iteration(ctx, frame.node, live)
    ends = _iteration_end_values(ctx, inits, groups, b.env, frame.node)
    others = _iteration_end_values(ctx, inits, groups, stays, frame.node)
    arrays = arrays_made_in_loop(b, [n for n in inits if outer.get(n, Unbound()) == Unbound()])
    added = {k: v for k, v in b.env.items() if k not in outer and b.is_param(k, v)}
    b.env.clear()
    b.env.update(outer | added)
    return _Turn(named, body, ends, others, left, arrays)


def _lower_final_iteration(
    ctx: Lowering,
    frame: LoopFrame,
    carries: dict[str, LoopCarried],
    inits: dict[str, Num | Unbound],
    live: frozenset[str],
    groups: Sequence[CarriedGroup],
) -> _Turn:
    """The iteration that stands, unless it shows that there are more types."""
    with ctx.trial() as trial:
        turn = _lower_iteration_once(ctx, frame, carries, inits, live, groups)
        trial.holds = True
    return turn


def _iteration_end_values(
    ctx: Lowering,
    inits: dict[str, Num | Unbound],
    groups: Sequence[CarriedGroup],
    env: dict[str, Value],
    node: ast.AST,
) -> dict[str, Num | Unbound]:
    """What the accumulators end with."""
    out = {n: env.get(n) for n in inits}
    for n, v in out.items():
        if isinstance(v, UnionValue):
            raise_new_types(ctx, n, (v,), f"the type of `{n}` depends on the data", node)
        if isinstance(inits[n], Num) and not isinstance(v, Num):
            refuse("LOWER_JOIN", f"`{n}` is a number before the loop, and none after it", node)
    for group in groups:
        out |= group.spread(ctx.b, env)
    return {n: v if isinstance(v, (Num, Unbound)) else Unbound() for n, v in out.items()}


def _while_condition_facts(
    ctx: Lowering, frame: LoopFrame, carries: dict[str, LoopCarried]
) -> AbstractContextManager[None]:
    """What the condition of a ``while`` says of the names at the start of an iteration."""
    b, node = ctx.b, frame.node
    if isinstance(node, ast.For):
        return nullcontext()
    facts: list[LinearForm] = []
    names = set(b.names)
    with ctx.trial(), suppress(Refused):
        facts = [
            f
            for f in facts_from(b, lower_test(ctx, node.test))
            if not _names_in_linear(f, b.names - names)
        ]
    return in_while_iteration(b, facts, frozenset({frame.var, *(c.var for c in carries.values())}))


def _with_fresh_names(ctx: Lowering, name: str, carry: LoopCarried) -> LoopCarried:
    """`carry` under a name that is new, as are those of its flags."""
    names = ctx.b.names
    while True:
        own = replace(carry, var=replace(carry.var, name=ctx.b.name(name)))
        flags = {own.flag.name, own.bound.name}
        if not flags & names:
            names |= flags
            return own


def _build_loop(
    ctx: Lowering, frame: LoopFrame, turn: _Turn, inits: dict[str, Num | Unbound],
    forgotten: frozenset[str], groups: Sequence[CarriedGroup],
) -> None:
    b = ctx.b
    named, body, ends, left = turn.carries, turn.body, turn.ends, turn.left
    accs: list[Accum] = []
    after: dict[str, Value] = {}
    for name, c in named.items():
        if c.step is not None:
            init = inits[name]
            assert isinstance(init, Num)
            if frame.exits:
                after[name] = induction_value_at_exit(ctx, c, init, ends[name], frame, accs)
                continue
            after[name] = linear_num(b, induction_value(init, c.step, linear_form(b, frame.trips)))
            continue
        end = resolve_extremum(ends[name], body, b.name)
        accs += make_accumulators(ctx, c, inits[name], end, frame)
        after[name] = value_after_loop(ctx, name, c, inits[name], end, frame)
    if left is not None:
        until: Expr | None = exit_flag(ctx, left, accs, frame)
    else:
        until = search_stop_condition(
            frame, {n: c for n, c in named.items() if c.step is None}, accs
        )
    emit_loop(ctx, frame, body, accs, until)
    for name in forgotten:
        if not isinstance(b.env.get(name), ListRef):
            b.env[name] = Unbound()
    apart = {n for group in groups for n in group.names}
    b.env.update({n: v for n, v in after.items() if n not in apart})
    b.env.update({n: array_if_loop_ran(of, frame.some) for n, of in turn.arrays.items()})
    for group in groups:
        b.env.update(group.gather(after))


def _loop_target(node: ast.For | ast.While) -> str | None:
    if isinstance(node, ast.While):
        return None
    assert isinstance(node.target, ast.Name)
    return node.target.id


def _names_in_linear(linear: LinearForm, names: set[str]) -> bool:
    """Whether some of `names` occur in `linear`."""
    return any(isinstance(n, Var) and n.name in names for a in linear.terms for n in walk(a))
