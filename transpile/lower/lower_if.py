"""Lower `if`: both branches, and the join (phi) of the values that names have after them.

    if c:                  if c:
        y = x[i]               y = x[i]
    else:            →         y_1 = give(y)       (`Yield`: y_1 is the phi, the value of y after
        y = 0.0            else:                   the ``if``; here as Loop IR is printed)
                               y_1 = give(0.0)

Each branch is lowered into its own block, with its own `IRBuilder.env`. Then each name that a
branch assigns gets a value for both paths (`merge_name`): one variable where both values have a
common type, else a union with a bool that selects the type (`_merge_union`), or for names of arrays
bools that select the array (`merge_arrays`). A branch of assignments alone that computes a
maximum or minimum becomes ``max`` or ``min`` without a branch (`_emit_as_extrema`).
`loop_exits.py` uses the same functions for the statements after a ``break``.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set

from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.implied_conditions import condition_terms
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Assign, Call, Const, Expr, If, Stmt, Var, Yield

from ..analysis.liveness import names_assigned
from ..frontend.ast_names import name_bindings
from ..frontend.ast_walk import walk_nodes
from ..frontend.refusal import NoValue, refuse
from ..frontend.source import span_of
from ..types.phi import common_dtype, make_select, with_joined_type
from ..types.typed_values import FALSE, TRUE, Num, bool_op, cast
from ..types.value_types import ArrayType, ScalarType
from .arrays.alias_states import MAX_ALIAS_STATES, alias_states, may_be_array, values_by_name
from .arrays.storage_coalescing import arrays_made_since, same_storage
from .lists.list_builders import appended_counters
from .loops.loop_carried import growth_from
from .lower_names import lower_name
from .scalars.lower_expressions import lower_test
from .scalars.scalar_operands import joined_words
from .scalars.tagged_unions import CaseType, align_cases, narrowed_unions, zero_of_type
from .state.generated_names import CONTINUE_FLAG
from .state.guards_and_checks import require
from .state.ir_builder import IRBuilder
from .state.lowering_state import Lowering
from .state.node_dispatch import lower_block
from .state.path_conditions import assuming
from .state.symbol_values import (
    Absent,
    ArrayRef,
    Unbound,
    UnionCase,
    UnionValue,
    Value,
    conditions_of_flags,
)
from .state.value_ranges import integer_num

__all__ = [
    "keep_new_params", "lower_branch", "lower_branches", "lower_if",
    "merge_arrays", "merge_name", "note_growth",
]


def merge_name(
    ctx: Lowering,
    name: str,
    cond: Expr,
    then: Value | None,
    other: Value | None,
    yields: list[Yield],
    live: bool,
    stmt: ast.stmt,
) -> None:
    """Binds `name` to its value after both branches of an ``if`` on `cond` (SSA: makes its phi).

    `then` and `other` are its values at the end of each branch, None for a name without a value.
    Phis are appended to `yields`, which become part of the `If`. `lower_branches` calls it for each
    name that a branch assigns, except those of `merge_arrays`; `loop_exits` for the statements
    after a ``break``. The first case that applies decides::

           the branches               the value after the ``if``
        1  a = p     | a = p          a = p
        2  y = 1     | pass           y = 1 if cond, else unbound
        3  y = 1     | y = 0.5        a union of int and float
        4  y = x[i]  | y = 0.0        y = x[i] if cond, else 0.0

    1. The same value, or an array with the same storage: that value, without a phi.
    2. One side is no number, such as a union, or has no value: `_merge_maybe_unbound`.
    3. Two numbers without a common dtype (`phi.common_dtype`), such as an int and a float: a union
       (`_merge_union`).
    4. Two numbers with a common dtype: a phi. If one side is Python's and the other NumPy's, `cond`
       tells which the merged number is. If already one side may be either, a second phi tells
       which: the bool ``NAME_py``, true for Python's.

    A name that is not ``live`` after the ``if`` becomes unbound in cases 2 and 3, since nobody
    reads it. Raises Refused (`_merge_union`) where no union can hold both values, or where
    lowering must do without unions (`IRBuilder.allows_unions`).
    """
    b = ctx.b
    if then is not None and (then == other or same_storage(then, other)):
        b.env[name] = then
        return
    if not (isinstance(then, Num) and isinstance(other, Num)):
        b.env[name] = (
            _merge_maybe_unbound(ctx, name, cond, then, other, yields, stmt) if live else Unbound()
        )
        return
    if then.is_word is not other.is_word:
        before = b.env.get(name)
        then, other = joined_words(b, cond, then, other, stmt, known=lambda n: n == before)
    dtype = common_dtype(then, other)
    if dtype is None:
        b.env[name] = (
            _merge_union(ctx, name, cond, then, other, yields, stmt) if live else Unbound()
        )
        return
    y = Yield(b.name(name), cast(then.ir, dtype), cast(other.ir, dtype))
    yields.append(y)
    b.numbers.phis[y.name] = y.then, y.orelse
    _note_condition(ctx, name, cond, y)
    merged = with_joined_type(Var(y.name, dtype), cond, then, other)
    if then.is_weak is not None or other.is_weak is not None:
        # `merged.is_weak` may use names that only one branch has defined: a phi replaces it.
        flag = Yield(b.name(f"{name}_py"), then.weak_now, other.weak_now)
        yields.append(flag)
        b.numbers.phis[flag.name] = flag.then, flag.orelse
        merged = replace(merged, is_weak=Var(flag.name, "bool"))
    if merged.python_int:
        merged = integer_num(b, merged.ir, merged.interval)
    b.env[name] = b.note_constant(merged, then, other)


def _note_condition(ctx: Lowering, name: str, cond: Expr, y: Yield) -> None:
    """Records the condition for which the phi `y` of `name` stands, if it is a bool, so that facts
    follow from a later test of `name`::

        if len(x) == 0: returned = True     # returned: len(x) == 0 or returned

    Nothing is recorded where a side has no value that is known after the branches.
    """
    if y.then.dtype != "bool":
        return
    before = ctx.b.env.get(name)
    is_outer = [isinstance(before, Num) and before.ir == e for e in (y.then, y.orelse)]
    # A name bound in a branch does not exist after it: use its value in terms of what is known at
    # kernel entry, if it has one.
    sides = [
        e if outer else ctx.b.at_entry(e)
        for e, outer in zip((y.then, y.orelse), is_outer, strict=True)
    ]
    then, orelse = sides
    if then is None or orelse is None:
        return
    if then == TRUE:
        value = bool_op("or", cond, orelse)
    elif orelse == TRUE:
        value = bool_op("or", bool_op("not", cond), then)
    else:
        value = make_select(cond, then, orelse)
    ctx.b.values[y.name] = value


def _merge_maybe_unbound(
    ctx: Lowering, name: str, cond: Expr, then: Value | None, other: Value | None,
    yields: list[Yield], stmt: ast.stmt,
) -> Value:
    """The value after both branches of a name of which one side at least is no plain number.

        if c: y = x[i]    →    y_1 = x[i] if c, else 0.0;  y_set = c       Unbound(y_1, y_set)
        z = y             →    check(y_set), since Python raises UnboundLocalError; then z = y_1

    The first case that applies decides:

    - no number on either side, such as a list: unbound, and a read is refused;
    - numbers of several types, or unions: a union, unbound being one of its cases;
    - a 0-d array (`Num.boxed`), or a number that may be rounded (not `Num.exact`): unbound, and a
      read is refused;
    - a number of one type where it is bound: `Unbound` with that value, and a bool phi that tells
      whether it is bound. The value on the other path is 0, which is never read.
    """
    sides = [_value_and_presence(v) for v in (then, other)]
    values = [value for value, _ in sides if value is not None]
    has_union = isinstance(then, UnionValue) or isinstance(other, UnionValue)
    if not values and not has_union:
        return Unbound()
    if has_union or any(
        v.types != values[0].types or v.dtype != values[0].dtype for v in values
    ):
        return _merge_union(ctx, name, cond, then, other, yields, stmt)
    model = values[0]
    if model.boxed or not model.exact:
        return Unbound()
    zero = Const(DTYPES[model.dtype].numpy.type(0).item(), model.dtype)
    then_ir, other_ir = (zero if value is None else value.ir for value, _ in sides)
    y = Yield(ctx.b.name(name), then_ir, other_ir)
    (_, then_bound), (_, other_bound) = sides
    is_bound = Yield(ctx.b.name(f"{name}_set"), then_bound, other_bound)
    yields += [y, is_bound]
    value = Num(Var(y.name, model.dtype), model.strong, model.weak)
    if model.either:
        weak = [FALSE if v is None else v.weak_now for v, _ in sides]
        yields.append(Yield(ctx.b.name(f"{name}_py"), *weak))
        value = replace(value, is_weak=Var(yields[-1].name, "bool"))
    if value.python_int:
        lo, hi = min(v.interval[0] for v in values), max(v.interval[1] for v in values)
        value = integer_num(ctx.b, value.ir, (min(0, lo), max(0, hi)))
    return Unbound(value, Var(is_bound.name, "bool"))


def _merge_union(
    ctx: Lowering, name: str, cond: Expr, then: Value | None, other: Value | None,
    yields: list[Yield], stmt: ast.stmt,
) -> Value:
    """A union of the types that `name` has after either branch, with the values `then` and `other`.
    Appended to `yields` are a phi for the value of each type, and a bool phi for each type but the
    last that tells whether it is the active one.

    Raises Refused where unions are not allowed (`IRBuilder.allows_unions`), or a side can be no
    case of one (`tagged_unions.union_cases`).
    """
    b = ctx.b
    pairs = align_cases(b, then, other) if b.allows_unions else None
    if pairs is None:
        if may_be_array(then) and may_be_array(other):
            message = f"`{name}` is another array on this path than on others"
            help = "store to one array that is made before, or append to a list"
            return refuse("LOWER_JOIN", message, _binding_in_branch(ctx, name, stmt), help=help)
        return refuse("LOWER_JOIN", f"`{name}` has a different type in each branch", stmt)
    flags = (
        _merged_flag(b, f"{name}_is", cond, then_case.when, other_case.when, yields)
        for then_case, other_case in [*pairs.values()][:-1]
    )
    cases: list[UnionCase] = []
    for (kind, (then_case, other_case)), when in zip(
        pairs.items(), conditions_of_flags(flags), strict=True
    ):
        value = _merged_case_value(b, name, kind, then_case, other_case, yields)
        cases.append(UnionCase(value, when))
    return UnionValue(tuple(cases))


def _binding_in_branch(ctx: Lowering, name: str, stmt: ast.stmt) -> ast.stmt:
    """The last assignment that binds `name` in `stmt`, or else in an ``if`` of the function: `stmt`
    may be a statement that is lowered once for each of several arrays (`ambiguous_read`). `stmt`
    itself where there is none.
    """
    branches = (n for n in walk_nodes(ctx.tree) if isinstance(n, ast.If))
    for around in (stmt, *branches):
        assigned = (n for n in walk_nodes(around) if isinstance(n, ast.Assign))
        found = [n for n in assigned if any(t.id == name for t, _ in name_bindings(n))]
        if found:
            return found[-1]
    return stmt


def merge_arrays(
    ctx: Lowering,
    names: Set[str],
    cond: Expr,
    then: Mapping[str, Value],
    other: Mapping[str, Value],
    yields: list[Yield],
) -> set[str]:
    """Binds those of `names` that are other arrays after one branch than after the other, and
    returns these names; `merge_name` has the other ones.

        if c:                      states of (a, b): (q, p) where c, (p, q) where not c
            a, b = b, a      →     a: p where not c, q where c         (`UnionValue` of arrays)
        (before: a = p, b = q)     b: q where not c, p where c

    No phi can select an array: it is a parameter of the kernel, not a value. So a bool selects the
    *alias state*, the combination of arrays that the names are bound to together. n states need
    n - 1 bools: each state but the last gets a phi, appended to `yields` (`_merged_flag`). The
    names are bound together since one condition decides about all of them.

    `then` and `other` are the values of names after each branch; `lower_branches` calls it with the
    names that are live after the ``if``. Binds nothing, and returns no names, where the states are
    not known (`alias_states`) or more than `MAX_ALIAS_STATES`: `merge_name` then leaves such a name
    unbound, so that a read of it is refused, and refuses a union of arrays.
    """
    b = ctx.b
    values = [(n, then.get(n), other.get(n)) for n in sorted(names)]
    differing = [
        n for n, v, w in values
        if v != w and (may_be_array(v) or may_be_array(w)) and not (v and same_storage(v, w))
    ]
    then_states = alias_states(b, then, differing)
    other_states = alias_states(b, other, differing)
    if not differing or then_states is None or other_states is None:
        return set()
    states = dict.fromkeys((*then_states, *other_states))
    if len(states) > MAX_ALIAS_STATES:
        return set()
    flags = (
        _merged_flag(
            b, f"{differing[0]}_is", cond, then_states.get(s, FALSE), other_states.get(s, FALSE),
            yields,
        )
        for s in [*states][:-1]
    )
    whens = dict(zip(states, conditions_of_flags(flags), strict=True))
    b.env.update(values_by_name(differing, whens))
    return set(differing)


def _value_and_presence(v: Value | None) -> tuple[Num | None, Expr]:
    """The number that `v` is where it is bound, and a bool that tells whether it is; (None, false)
    for other values.
    """
    match v:
        case Num():
            return v, TRUE
        case Unbound(value=Num() as value, is_bound=is_bound) if is_bound is not None:
            return value, is_bound
        case _:
            return None, FALSE


def _merged_flag(
    b: IRBuilder, hint: str, cond: Expr, then: Expr, other: Expr, yields: list[Yield]
) -> Expr:
    """A bool that is `then` after the first branch and `other` after the second one. In general it
    is a phi, added to `yields`. If `then` and `other` consist of conditions of unions that are
    bound outside of the branches, it is the expression ``cond and then or not cond and other``:
    unlike a phi, that can be simplified together with these conditions.
    """
    outer_cases = (c for v in b.env.values() if isinstance(v, UnionValue) for c in v.cases)
    outer_terms = {e for c in outer_cases for e in condition_terms(c.when)}
    if outer_terms.issuperset((*condition_terms(then), *condition_terms(other))):
        return bool_op(
            "or", bool_op("and", cond, then), bool_op("and", bool_op("not", cond), other)
        )
    yields.append(Yield(b.name(hint), then, other))
    return Var(yields[-1].name, "bool")


def _merged_case_value(
    b: IRBuilder, name: str, kind: CaseType, then: UnionCase, other: UnionCase, yields: list[Yield]
) -> Num | ArrayRef | Absent:
    """The value of `name` after both branches where it is of the type `kind`, from its cases of
    that type, `then` and `other`, after each branch: a phi for a number. A constant of one branch
    needs none, if the name never has this type after the other branch.
    """
    x, y = then.value, other.value
    if not (isinstance(x, Num) and isinstance(y, Num)):
        return x
    for value, case_of_other_branch in ((x, other), (y, then)):
        if case_of_other_branch.when == FALSE and isinstance(value.ir, Const):
            return value
    yields.append(Yield(b.name(name), x.ir, y.ir))
    merged = replace(zero_of_type(kind), ir=Var(yields[-1].name, x.dtype))
    bounds = (*x.interval, *y.interval)
    return integer_num(b, merged.ir, (min(bounds), max(bounds))) if merged.python_int else merged


def lower_if(ctx: Lowering, stmt: ast.If, live: frozenset[str]) -> None:
    """Lowers ``if test: body else: orelse``; where the test is a constant, only the branch taken.
    """
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
    """Lowers and emits both branches, `body` where `raw` holds and `orelse` elsewhere, and binds
    the names that they assign; `live` are the names that are live after `stmt`. `raw` is the
    condition as it was lowered, from which facts follow; the `If` tests the name it is bound to.

    1. A branch in which a name is read that certainly has no value there is not lowered
       (`_branch_raises`): it is required that it is not taken, and the other one is lowered alone.
    2. Each branch is lowered into its own block, under the facts of its condition (`assuming`).
       The second may use arrays that the first has allocated (`BufferState.of_sibling_branch`).
    3. The names that a branch assigns are merged: arrays together, then each other name, and the
       counters of the lists to which a branch appends.
    4. The `If` is emitted with the phis, or its maximum or minimum without a branch.

    `lower_if` calls it, and `lower_statements` for statements that are lowered for several arrays.
    """
    b = ctx.b
    cond = b.bind(raw, "cond")
    _bind_params_before(ctx, names_assigned(body) | names_assigned(orelse), live, stmt)
    not_raw = bool_op("not", raw)
    for side_cond, side, other_side in ((raw, body, orelse), (not_raw, orelse, body)):
        if _branch_raises(ctx, side, live, side_cond):
            require(b, bool_op("not", side_cond), "GUARD_RAISES", stmt)
            b.env.update(narrowed_unions(b.env, bool_op("not", side_cond)))
            lower_block(ctx, other_side, live)
            return
    outer = dict(b.env)
    fresh, reusable_outside = frozenset(b.buffers.fresh), dict(b.buffers.of_sibling_branch)
    with assuming(b, raw):
        then, then_env = lower_branch(ctx, body, live, outer, raw)
    b.buffers.of_sibling_branch = reusable_outside | arrays_made_since(b, fresh, then_env)
    with assuming(b, not_raw):
        other, other_env = lower_branch(ctx, orelse, live, outer, not_raw)
    b.buffers.of_sibling_branch = reusable_outside
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
    keep_new_params(ctx, then_env, other_env)
    if then or other or yields:
        b.block.append(If(cond, tuple(then), tuple(other), tuple(yields), span=span_of(stmt)))
    for y in yields:
        note_growth(ctx, y, then_env, other_env)


def _branch_raises(
    ctx: Lowering, block: Sequence[ast.stmt], live: frozenset[str], cond: Expr
) -> bool:
    """Whether `block` certainly raises where `cond` holds, since it uses a name that is then None
    or unbound: lowering it, in a trial, raises NoValue. The trial is only made if `cond` leaves a
    single case of some union.
    """
    b = ctx.b
    narrowed = narrowed_unions(b.env, cond)
    if not any(isinstance(v, UnionValue) and len(v.cases) == 1 for v in narrowed.values()):
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
    """Makes parameters of the scalar and array arguments among `names`, which a branch assigns, if
    they are live after it: on the other path they keep the argument's value, which `merge_name`
    needs.
    """
    for name in sorted(names & live & ctx.arguments.keys() - ctx.b.env.keys()):
        if isinstance(ctx.arguments[name], (ScalarType, ArrayType)):
            lower_name(ctx, name, stmt)


def keep_new_params(ctx: Lowering, *envs: Mapping[str, Value]) -> None:
    """Binds in ``env``, which is again as before the branches, the arguments and captured objects
    that a branch was the first to read: they are parameters of the kernel from then on. `envs`: the
    values of names after each branch.
    """
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
    loop_test: ast.expr | None = None,
) -> tuple[list[Stmt], dict[str, Value]]:
    """Lowers `block`, a branch that runs where `cond` holds. Returns its statements and the values
    of the names after it; `IRBuilder.env` is set to `outer` again.

    ``loop_test``: the test of an enclosing ``while``, which is lowered at the end of the branch; it
    is returned among the values as `CONTINUE_FLAG`.
    """
    b = ctx.b
    statements: list[Stmt] = []
    b.path.branches += 1
    b.env.update(narrowed_unions(b.env, cond))
    with b.into(statements):
        lower_block(ctx, block, live)
        if loop_test is not None:
            b.env[CONTINUE_FLAG] = Num(lower_test(ctx, loop_test), weak="bool")
    b.path.branches -= 1
    env = dict(b.env)
    b.env.clear()
    b.env.update(outer)
    return statements, env


def _emit_as_extrema(
    ctx: Lowering, cond: Expr, then: list[Stmt], other: list[Stmt], yields: list[Yield]
) -> bool:
    """Emits the ``if`` without a branch if it computes maxima or minima, and returns True; else
    returns False and emits nothing. `then` and `other`: the branches, lowered; `yields`: the phis.

        if v > m: m = v    →    m = max(m, v)

    A reduction by ``max`` can be vectorised, one by a branch cannot. The conditions:

    - the branches consist of assignments: they may be dropped, since they have no effect;
    - each phi is a maximum or minimum, or a bool without computation, such as the flag that tells
      whether ``m`` is a Python scalar: an expression of any other kind would be computed on both
      paths, and could raise where Python does not compute it;
    - one phi at least is no bool: without an extremum nothing is gained.
    """
    if not all(isinstance(s, Assign) for s in (*then, *other)):
        return False
    definitions = {s.name: s.value for s in (*then, *other) if isinstance(s, Assign)}
    exprs = [e for y in yields if (e := _extremum_or_flag(cond, y, definitions)) is not None]
    if len(exprs) < len(yields) or not any(e.dtype != "bool" for e in exprs):
        return False
    for y, e in zip(yields, exprs, strict=True):
        ctx.b.numbers.phis[y.name] = e, e
        if not _replace_type_flag(ctx, y.name, e):
            ctx.b.emit(Assign(y.name, e))
    return True


def _replace_type_flag(ctx: Lowering, flag: str, replacement: Expr) -> bool:
    """If the variable `flag` is the type flag of a name's value, puts the bool `replacement` in its
    place, and returns True. So the flag needs no variable.
    """
    env = ctx.b.env
    for name, n in env.items():
        if isinstance(n, Num) and n.is_weak == Var(flag, "bool"):
            env[name] = replace(n, is_weak=replacement)
            return True
    return False


def note_growth(
    ctx: Lowering, y: Yield, then_env: dict[str, Value], other_env: dict[str, Value]
) -> None:
    """Records in `RangeState.deltas` how far the phi `y`, an int64, is from some value before the
    branches, if both branches only add bounded values to that: after ``if c: k = k + 1`` it is 0 or
    1. `loop_carried.growth_from` then knows what an iteration adds to ``k`` at most. ``then_env``,
    ``other_env``: the values of names at the end of each branch.
    """
    b = ctx.b
    var = Var(y.name, y.then.dtype)
    if var.dtype != "i64":
        return
    # The linear form of a side, if a name has the side's value at the end of some branch.
    linear_forms = {
        v.ir: v.linear
        for env in (then_env, other_env) for v in env.values()
        if isinstance(v, Num) and v.linear is not None
    }
    sides = [linear_forms.get(e, LinearForm.of(e)) for e in (y.then, y.orelse)]
    for base in {atom for side in sides for atom in side.terms}:
        grown = [growth_from(ctx, side, base) for side in sides]
        if all(g is not None for g in grown):
            lows, highs = zip(*(g for g in grown if g is not None), strict=True)
            b.ranges.deltas[var] = (base, (min(lows), max(highs)))
            return


def _extremum_or_flag(cond: Expr, y: Yield, definitions: Mapping[str, Expr]) -> Expr | None:
    """The phi `y` of an ``if`` on `cond` as an expression without a branch: a ``max`` or ``min``,
    or a bool of constants and names from outside of the branches; None where it is neither.

    ``definitions``: the expressions that names are assigned in the branches.
    """
    sides = [definitions.get(e.name, e) if isinstance(e, Var) else e for e in (y.then, y.orelse)]
    selected = make_select(cond, *sides)
    if y.then.dtype != "bool":
        is_extremum = isinstance(selected, Call) and selected.op in ("max", "min")
        return selected if is_extremum else None
    from_outside = (
        isinstance(e, Const) or (isinstance(e, Var) and e.name not in definitions) for e in sides
    )
    return selected if all(from_outside) else None
