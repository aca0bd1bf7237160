"""Lower `if`: both branches, and the join (phi) of the values that names have after them."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from loopir.analysis.affine import LinearForm
from loopir.analysis.conditions import condition_terms
from loopir.dtypes import DTYPES
from loopir.nodes import Assign, Call, Const, Expr, If, Stmt, Var, Yield

from ..analysis.liveness import names_assigned
from ..frontend.refusal import NoValue, refuse
from ..frontend.source import span_of
from ..types.phi import common_dtype, make_select, with_joined_type
from ..types.typed_values import FALSE, TRUE, Num, bool_op, cast
from ..types.value_types import ArrayType, ScalarType
from .arrays.alias_states import (
    MAX_ALIAS_STATES,
    AliasState,
    alias_states,
    may_be_array,
    values_by_name,
)
from .arrays.storage_coalescing import arrays_made_since, same_storage
from .lists.list_builders import appended_counters
from .loops.loop_carried import growth_from
from .lower_names import lower_name
from .scalars.lower_expressions import lower_test
from .scalars.tagged_unions import CaseType, align_cases, narrowed_unions, zero_of_type
from .state.dispatch import lower_block
from .state.guards_and_checks import require
from .state.ir_builder import IRBuilder
from .state.lowering_state import Lowering
from .state.path_conditions import assuming
from .state.symbol_values import Absent, ArrayRef, Unbound, UnionCase, UnionValue, Value
from .state.value_ranges import integer_num

__all__ = [
    "CONTINUE_FLAG", "keep_captured_names", "lower_branch", "lower_branches", "lower_if",
    "merge_arrays", "merge_name", "note_growth",
]


def merge_name(
    ctx: Lowering,
    name: str,
    cond: Expr,
    a: Value | None,
    c: Value | None,
    yields: list[Yield],
    live: bool,
    stmt: ast.stmt,
) -> None:
    """The value of `name` after both branches."""
    b = ctx.b
    if a is not None and (a == c or same_storage(a, c)):
        b.env[name] = a
        return
    if not (isinstance(a, Num) and isinstance(c, Num)):
        b.env[name] = (
            _merge_maybe_unbound(ctx, name, cond, a, c, yields, stmt) if live else Unbound()
        )
        return
    dtype = common_dtype(a, c)
    if dtype is None:
        b.env[name] = _merge_union(ctx, name, cond, a, c, yields, stmt) if live else Unbound()
        return
    y = Yield(b.name(name), cast(a.ir, dtype), cast(c.ir, dtype))
    yields.append(y)
    merged = with_joined_type(Var(y.name, dtype), cond, a, c)
    if a.is_weak is not None or c.is_weak is not None:  # told by names of the branches
        flag = Yield(b.name(f"{name}_py"), a.weak_now, c.weak_now)
        yields.append(flag)
        merged = replace(merged, is_weak=Var(flag.name, "bool"))
    if merged.python_int:
        merged = integer_num(b, merged.ir, merged.interval)
    b.env[name] = b.note_constant(merged, a, c)


def _merge_maybe_unbound(
    ctx: Lowering, name: str, cond: Expr, a: Value | None, c: Value | None, yields: list[Yield],
    stmt: ast.stmt,
) -> Value:
    """A name that not every path has bound, or to a number: its value, and whether it has one.
    """
    sides = [_value_and_presence(v) for v in (a, c)]
    values = [value for value, _ in sides if value is not None]
    if not values and not (isinstance(a, UnionValue) or isinstance(c, UnionValue)):
        return Unbound()
    like = values[0] if values and not any(isinstance(v, UnionValue) for v in (a, c)) else None
    if like is None or any(v.types != like.types or v.dtype != like.dtype for v in values):
        return _merge_union(ctx, name, cond, a, c, yields, stmt)
    if like.boxed or not like.exact:
        return Unbound()
    zero = Const(DTYPES[like.dtype].numpy.type(0).item(), like.dtype)
    then, orelse = (zero if value is None else value.ir for value, _ in sides)
    y = Yield(ctx.b.name(name), then, orelse)
    (_, bound), (_, otherwise) = sides
    flag = Yield(ctx.b.name(f"{name}_set"), bound, otherwise)
    yields += [y, flag]
    value = Num(Var(y.name, like.dtype), like.strong, like.weak)
    if like.either:
        weak = [FALSE if v is None else v.weak_now for v, _ in sides]
        yields.append(Yield(ctx.b.name(f"{name}_py"), *weak))
        value = replace(value, is_weak=Var(yields[-1].name, "bool"))
    if value.python_int:
        spans = [v.interval for v in values]
        span = min(lo for lo, _ in spans), max(hi for _, hi in spans)
        value = integer_num(ctx.b, value.ir, (min(0, span[0]), max(0, span[1])))
    return Unbound(value, Var(flag.name, "bool"))


def _merge_union(
    ctx: Lowering, name: str, cond: Expr, a: Value | None, c: Value | None, yields: list[Yield],
    stmt: ast.stmt,
) -> Value:
    """A name that has another type, or none, in each branch."""
    b = ctx.b
    sides = align_cases(b, a, c) if b.allows_unions else None
    if sides is None:
        return refuse("LOWER_JOIN", f"`{name}` has a different type in each branch", stmt)
    out: list[UnionCase] = []
    rest: Expr = TRUE
    for kind, (then, other) in sides.items():
        when = rest
        if len(out) + 1 < len(sides):
            flag = _merged_flag(b, f"{name}_is", cond, then.when, other.when, yields)
            when, rest = bool_op("and", rest, flag), bool_op("and", rest, bool_op("not", flag))
        out.append(UnionCase(_value_of_type(b, name, kind, then, other, yields), when))
    return UnionValue(tuple(out))


def merge_arrays(
    ctx: Lowering,
    names: Set[str],
    cond: Expr,
    then: Mapping[str, Value],
    other: Mapping[str, Value],
    yields: list[Yield],
) -> set[str]:
    """Those of `names` that are another array after each branch, or one after one of them;
    they are known from now on.
    """
    b = ctx.b
    pairs = [(n, then.get(n), other.get(n)) for n in sorted(names)]
    apart = [
        n for n, v, w in pairs
        if v != w and (may_be_array(v) or may_be_array(w)) and not (v and same_storage(v, w))
    ]
    sides = alias_states(b, then, apart), alias_states(b, other, apart)
    if not apart or sides[0] is None or sides[1] is None:
        return set()
    kinds = dict.fromkeys((*sides[0], *sides[1]))
    if len(kinds) > MAX_ALIAS_STATES:
        return set()
    whens: dict[AliasState, Expr] = {}
    rest: Expr = TRUE
    for state in kinds:
        when, ends = rest, [side.get(state, FALSE) for side in sides if side is not None]
        if len(whens) + 1 < len(kinds):
            flag = _merged_flag(b, f"{apart[0]}_is", cond, ends[0], ends[1], yields)
            when, rest = bool_op("and", rest, flag), bool_op("and", rest, bool_op("not", flag))
        whens[state] = when
    b.env.update(values_by_name(apart, whens))
    return set(apart)


def _value_and_presence(v: Value | None) -> tuple[Num | None, Expr]:
    """The value that a name has if it has one, and whether it does."""
    match v:
        case Num():
            return v, TRUE
        case Unbound(value=Num() as value, needed=needed) if needed is not None:
            return value, needed
        case _:
            return None, FALSE


def _merged_flag(
    b: IRBuilder, hint: str, cond: Expr, then: Expr, other: Expr, yields: list[Yield]
) -> Expr:
    """A bool that is another one in each branch."""
    around = (c for v in b.env.values() if isinstance(v, UnionValue) for c in v.cases)
    known = {e for c in around for e in condition_terms(c.when)}
    if known.issuperset(
        (*condition_terms(then), *condition_terms(other))
    ):  # as the names around are told apart
        return bool_op(
            "or", bool_op("and", cond, then), bool_op("and", bool_op("not", cond), other)
        )
    yields.append(Yield(b.name(hint), then, other))
    return Var(yields[-1].name, "bool")


def _value_of_type(
    b: IRBuilder, name: str, kind: CaseType, then: UnionCase, other: UnionCase, yields: list[Yield]
) -> Num | ArrayRef | Absent:
    """What a name is that is of this type."""
    x, y = then.value, other.value
    if not (isinstance(x, Num) and isinstance(y, Num)):
        return x
    for n, m in ((x, other), (y, then)):
        if m.when == FALSE and isinstance(n.ir, Const):
            return n
    yields.append(Yield(b.name(name), x.ir, y.ir))
    value = replace(zero_of_type(kind), ir=Var(yields[-1].name, x.dtype))
    ends = (*x.interval, *y.interval)
    return integer_num(b, value.ir, (min(ends), max(ends))) if value.python_int else value


CONTINUE_FLAG = "#go"
"""What the names after a branch say of a loop that is to go on."""


def lower_if(ctx: Lowering, stmt: ast.If, live: frozenset[str]) -> None:
    """``if test: body else: orelse``; only the branch that is taken where the test is known."""
    raw = lower_test(ctx, stmt.test)
    if isinstance(raw, Const):
        lower_block(ctx, stmt.body if raw.value else stmt.orelse, live)
    else:
        lower_branches(ctx, raw, stmt.body, stmt.orelse, stmt, live)


def lower_branches(
    ctx: Lowering,
    raw: Expr,
    body: Sequence[ast.stmt],
    orelse: Sequence[ast.stmt],
    stmt: ast.stmt,
    live: frozenset[str],
) -> None:
    """`body` where `raw` holds, `orelse` elsewhere."""
    b = ctx.b
    cond = b.bind(raw, "cond")
    _bind_params_before(ctx, names_assigned(body) | names_assigned(orelse), live, stmt)
    for holds, side, rest in ((raw, body, orelse), (bool_op("not", raw), orelse, body)):
        if _branch_raises(ctx, side, live, holds):
            require(b, bool_op("not", holds), "GUARD_RAISES", stmt)
            b.env.update(narrowed_unions(b.env, bool_op("not", holds)))
            lower_block(ctx, rest, live)
            return
    outer = dict(b.env)
    fresh, others = frozenset(b.buffers.fresh), dict(b.buffers.of_sibling_branch)
    with assuming(b, raw):
        then, then_env = lower_branch(ctx, body, live, outer, raw)
    b.buffers.of_sibling_branch = others | arrays_made_since(b, fresh, then_env)
    with assuming(b, bool_op("not", raw)):
        other, other_env = lower_branch(ctx, orelse, live, outer, bool_op("not", raw))
    b.buffers.of_sibling_branch = others
    yields: list[Yield] = []
    changed = names_assigned(body) | names_assigned(orelse)
    arrays = merge_arrays(ctx, changed & live, cond, then_env, other_env, yields)
    counters = appended_counters(ctx, [*body, *orelse])
    for name in sorted((changed | counters) - arrays):
        merge_name(
            ctx, name, cond, then_env.get(name), other_env.get(name), yields, name in live, stmt
        )
    if _emit_as_extrema(ctx, raw, then, other, yields):
        return
    keep_captured_names(ctx, then_env, other_env)
    if then or other or yields:
        b.block.append(If(cond, tuple(then), tuple(other), tuple(yields), span=span_of(stmt)))
    for y in yields:
        note_growth(ctx, y, then_env, other_env)


def _branch_raises(
    ctx: Lowering, block: Sequence[ast.stmt], live: frozenset[str], cond: Expr
) -> bool:
    """Whether `block` raises where `cond` holds, for a name of it has no value then."""
    b = ctx.b
    known = narrowed_unions(b.env, cond)
    if not any(isinstance(v, UnionValue) and len(v.cases) == 1 for v in known.values()):
        return False
    try:
        with ctx.trial():
            lower_branch(ctx, block, live, dict(b.env), cond)
    except NoValue:
        return True
    return False


def _bind_params_before(
    ctx: Lowering, names: frozenset[str], live: frozenset[str], stmt: ast.stmt
) -> None:
    """Of `names`, those that are parameters are known from now on."""
    for name in sorted(names & live & ctx.arguments.keys() - ctx.b.env.keys()):
        if isinstance(ctx.arguments[name], (ScalarType, ArrayType)):
            lower_name(ctx, name, stmt)


def keep_captured_names(ctx: Lowering, *envs: Mapping[str, Value]) -> None:
    """Globals that were first read in a branch are known from now on."""
    for name in ctx.b.params:
        for env in envs:
            if name not in ctx.b.env and name in env and ctx.b.is_param(name, env[name]):
                ctx.b.env[name] = env[name]


def lower_branch(
    ctx: Lowering,
    block: Sequence[ast.stmt],
    live: frozenset[str],
    outer: dict[str, Value],
    cond: Expr,
    again: ast.expr | None = None,
) -> tuple[list[Stmt], dict[str, Value]]:
    """The statements of `block`, which run where `cond` holds, and the names after it; under
    `CONTINUE_FLAG`, whether `again` holds.
    """
    b = ctx.b
    out: list[Stmt] = []
    b.path.branches += 1
    b.env.update(narrowed_unions(b.env, cond))
    with b.into(out):
        lower_block(ctx, block, live)
        if again is not None:
            b.env[CONTINUE_FLAG] = Num(lower_test(ctx, again), weak="bool")
    b.path.branches -= 1
    env = dict(b.env)
    b.env.clear()
    b.env.update(outer)
    return out, env


def _emit_as_extrema(
    ctx: Lowering, cond: Expr, then: list[Stmt], other: list[Stmt], yields: list[Yield]
) -> bool:
    """``if v > m: m = v`` is ``m = max(m, v)``; a flag beside it is chosen without a branch."""
    if not all(isinstance(s, Assign) for s in (*then, *other)):
        return False
    defined = {s.name: s.value for s in (*then, *other) if isinstance(s, Assign)}
    found = [_extremum_or_flag(cond, y, defined) for y in yields]
    chosen = [e for e in found if e is not None]
    if len(chosen) < len(yields) or not any(e.dtype != "bool" for e in chosen):
        return False
    for y, e in zip(yields, chosen, strict=True):
        if not _replace_type_flag(ctx, y.name, e):
            ctx.b.emit(Assign(y.name, e))
    return True


def _replace_type_flag(ctx: Lowering, flag: str, told: Expr) -> bool:
    """Whether `flag` says of a name that it is a Python scalar; `told` does so in its place."""
    env = ctx.b.env
    for name, n in env.items():
        if isinstance(n, Num) and n.is_weak == Var(flag, "bool"):
            env[name] = replace(n, is_weak=told)
            return True
    return False


def note_growth(
    ctx: Lowering, y: Yield, then_env: dict[str, Value], other_env: dict[str, Value]
) -> None:
    """Keeps track of how far a conditional update moves an integer accumulator."""
    b = ctx.b
    var = Var(y.name, y.then.dtype)
    if var.dtype != "i64":
        return
    sides = [LinearForm.of(e) for e in (y.then, y.orelse)]
    for env in (then_env, other_env):
        for v in env.values():
            if isinstance(v, Num) and v.linear is not None:
                sides = [
                    v.linear if v.ir == e else s
                    for s, e in zip(sides, (y.then, y.orelse), strict=True)
                ]
    for base in {a for s in sides for a in s.terms}:
        grown = [growth_from(ctx, s, base) for s in sides]
        if all(g is not None for g in grown):
            lows, highs = zip(*(g for g in grown if g is not None), strict=True)
            b.ranges.deltas[var] = (base, (min(lows), max(highs)))
            return


def _extremum_or_flag(cond: Expr, y: Yield, defined: Mapping[str, Expr]) -> Expr | None:
    """`y` as an extremum or a flag; None where it is neither."""
    sides = [defined.get(e.name, e) if isinstance(e, Var) else e for e in (y.then, y.orelse)]
    best = make_select(cond, *sides)
    if y.then.dtype != "bool":
        return best if isinstance(best, Call) and best.op in ("max", "min") else None
    outer = (isinstance(e, Const) or (isinstance(e, Var) and e.name not in defined) for e in sides)
    return best if all(outer) else None
