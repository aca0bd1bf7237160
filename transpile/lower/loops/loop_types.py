"""Type inference of loop-carried values: a loop body is lowered until their types are a fixpoint.

`lower_loop_body` lowers the loops of `lower_loops.py`. In ::

    s = 0
    for i in range(n):
        s += x[i]                       # x: array of float64

``s`` is a Python int before the loop and a NumPy float64 after an iteration. So the body cannot be
lowered before the types of the carried names are known, and they are only known from the body:

1. Guess a type for each carried name: its type before the loop (`first_guess`).
2. Lower the body in a trial, with an accumulator of the guessed type for each carried name.
3. Compare with the types at the end of the iteration (`refine_carried`). If they agree, keep the
   body that was lowered; else undo the trial, and continue at 2 with the refined types.
4. If the types do not settle, or the body is refused since types do not join (LOWER_JOIN), start
   again with another guess (`_initial_guesses`).
5. If one accumulator cannot hold a name's value in any guess, carry a union of types
   (`CarriedUnion`), or, for names of arrays, which array each one is (`AliasGroup`), and start
   again at 1. Each of these has several accumulators.

The exceptions NewCarriedTypes and NewAliasStates report what step 5 needs. They are raised while
the body is lowered, often deep inside, and caught in `lower_loop_body`.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TypeAlias

from loopir.analysis.integers.affine import LinearForm
from loopir.ir_names import substitute
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record, replace
from loopir.nodes import Accum, Expr, Stmt, Var

from ...analysis.liveness import is_only_counted, names_assigned, upward_exposed
from ...diagnostics import Refused
from ...frontend.refusal import refuse
from ...types.typed_values import Num
from ..arrays.alias_states import (
    AliasGroup,
    NewAliasStates,
    array_if_loop_ran,
    arrays_made_in_loop,
    may_be_array,
)
from ..lists.list_builders import appended_counters
from ..scalars.lower_expressions import lower_test
from ..scalars.tagged_unions import MAX_CASES, CarriedUnion, NewCarriedTypes, case_type, union_cases
from ..state.generated_names import is_generated
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array
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
    CarriedGroup,
    CarriedLoop,
    entry_value,
    first_guess,
    induction_value,
    initial_value,
    raise_new_types,
    refine_carried,
)
from .loop_exit_values import (
    flags_of_extrema,
    make_accumulators,
    search_stop_condition,
    value_after_loop,
)
from .loop_exits import (
    continue_flag,
    early_exit_flag,
    emit_for,
    emit_while,
    induction_value_at_exit,
    lower_iteration,
    resolve_extremum,
)
from .settled_types import remember_settled, settled_types

__all__ = ["infer_carried_types", "lower_loop_body"]


def _carried_groups(
    ctx: Lowering, carried: Iterable[str], node: ast.For | ast.While
) -> list[CarriedGroup]:
    """The groups that are needed already for the values of `carried` before the loop `node`.

    That is a CarriedUnion for each name that is a union of scalars, and one AliasGroup for all
    names of arrays. There is no AliasGroup if their alias states cannot be enumerated.
    """
    initial = {n: _value_before_loop(ctx, n) for n in carried}
    array_names = tuple(n for n, v in initial.items() if may_be_array(v))
    groups: list[CarriedGroup] = [
        _union_before_loop(ctx, n, node) for n, v in initial.items()
        if isinstance(v, UnionValue) and not may_be_array(v)
    ]
    arrays = AliasGroup.before_loop(ctx.b, array_names)
    return groups if arrays is None else [*groups, arrays]


def _value_before_loop(ctx: Lowering, name: str) -> Value | None:
    """The value of `name` before the loop; None: it has none, or is a scalar argument that nothing
    has read so far.

    An array argument that nothing has read so far becomes a parameter of the kernel.
    """
    if name not in ctx.b.env and name in ctx.arguments:
        lower_array(ctx, ast.Name(name, ast.Load()))
    return ctx.b.env.get(name)


def _initial_values(
    ctx: Lowering, carried: Iterable[str], groups: Sequence[CarriedGroup], node: ast.For | ast.While
) -> dict[str, Num | Unbound]:
    """The value before the loop of each carried name, and of each accumulator of a group in place
    of the group's names.

    Raises NeedsComplexSplit for a complex number, NewCarriedTypes or NewAliasStates where a group
    does not cover the value.
    """
    inits: dict[str, Num | Unbound] = {}
    grouped = {
        n for g in groups for n in (g.array_names if isinstance(g, AliasGroup) else [g.name])
    }
    for name in carried:
        if name not in grouped:
            value = initial_value(ctx, name, node)
            inits[name] = Unbound() if isinstance(value, UnionValue) else value
    for group in groups:
        inits |= group.spread(ctx.b, ctx.b.env)
    return inits


def _widen_groups(
    ctx: Lowering,
    groups: Sequence[CarriedGroup],
    new: NewCarriedTypes | NewAliasStates,
    node: ast.AST,
) -> list[CarriedGroup]:
    """`groups` extended by what an iteration needs, as the exception `new` tells.

    - New types of a name: its CarriedUnion gets them, or is created. Raises Refused where these are
      more than `MAX_CASES`.
    - New alias states: the AliasGroup gets them (`AliasGroup.widened`), or is dropped. Its names
      are then carried as unbound, so that a read is refused.
    """
    unions: list[CarriedGroup] = [g for g in groups if isinstance(g, CarriedUnion)]
    if isinstance(new, NewAliasStates):
        arrays = next((g for g in groups if isinstance(g, AliasGroup)), AliasGroup((), ()))
        widened = arrays.widened(ctx.b, new)
        return unions if widened is None else [*unions, widened]
    others = [g for g in groups if isinstance(g, AliasGroup) or g.name != new.name]
    union = next((g for g in groups if g not in others), None)
    union = union or _union_before_loop(ctx, new.name, node)
    assert isinstance(union, CarriedUnion)
    with_new = union.with_more(new.kinds)
    if len(with_new.kinds) > MAX_CASES:
        refuse("LOWER_JOIN", f"`{new.name}` has too many types in the loop", node)
    return [*others, with_new]


def _union_before_loop(ctx: Lowering, name: str, node: ast.AST) -> CarriedUnion:
    """A CarriedUnion of the types that `name` may have before the loop. Raises Refused where they
    are unknown, or the current guess allows no unions.
    """
    cases = union_cases(ctx.b, ctx.b.env.get(name)) if ctx.b.allows_unions else None
    if cases is None:
        refuse("LOWER_JOIN", f"the type of `{name}` depends on the data", node)
    return CarriedUnion(name, tuple(case_type(c.value) for c in cases))


@record(frozen=True, slots=True)
class _LoweredIteration:
    """A loop body, lowered once for one guess of the carried types.

    ``carries``: how each name is carried, with accumulators of names that are new in the kernel.
    ``body``: the statements.
    ``ends``: the value of each carried name at the end of the iteration.
    ``back_edge``: likewise, given that another iteration follows.
    ``exit_condition``: a bool, true in the last iteration; None: only the trip count ends the loop.
    ``arrays``: names that are unbound before the loop and bound to these arrays at the end.
    """

    carries: dict[str, LoopCarried]
    body: list[Stmt]
    ends: dict[str, Num | Unbound]
    back_edge: dict[str, Num | Unbound]
    exit_condition: Expr | None
    arrays: dict[str, ArrayRef]


_SettledTypes: TypeAlias = "tuple[Mapping[str, LoopCarried], _LoweredIteration | None]"
"""A fixpoint of the carried types, and the iteration lowered with them; None: it was undone."""


def lower_loop_body(ctx: Lowering, frame: LoopFrame, live: frozenset[str]) -> None:
    """Lowers the loop of `frame` and emits it; `live`: all names that are read later. Called by
    `lower_loops` for each ``for`` and ``while``, when the trip count is lowered.

        for i in range(n):
            t = x[i]             # t: assigned before it is read, and dead after the loop
            s = s + t            # s: read before it is assigned  →  carried: ["s"]

    A name that the body assigns is carried, if another iteration or the code after the loop may
    read the value (`_carried_names`). Carried types are then inferred, with a group for each name
    that needs several accumulators; where an iteration shows that a group lacks a type or an array,
    it is widened, and the inference starts again. That ends, since `MAX_CASES` and
    `MAX_ALIAS_STATES` bound the groups. Raises Refused where the types cannot be inferred.
    """
    node = frame.node
    assigned = names_assigned(node.body) | appended_counters(ctx, node.body)
    exposed = upward_exposed(node.body)
    carried = _carried_names(ctx, frame, assigned, exposed, live)
    groups, may_alias = _carried_groups(ctx, carried, node), True
    while True:
        inits = _initial_values(ctx, carried, groups, node)
        loop = CarriedLoop(frame, groups, inits, live | exposed, may_alias)
        try:
            carries, iteration = infer_carried_types(ctx, loop)
            iteration = iteration or _lower_final_iteration(ctx, loop, carries)
        except (NewCarriedTypes, NewAliasStates) as new:
            groups = _widen_groups(ctx, groups, new, node)
            if isinstance(new, NewAliasStates):
                may_alias = any(isinstance(g, AliasGroup) for g in groups)
        else:
            break
    _build_loop(ctx, loop, iteration, assigned - set(carried))


def _carried_names(
    ctx: Lowering, frame: LoopFrame, assigned: frozenset[str], exposed: frozenset[str],
    live: frozenset[str],
) -> list[str]:
    """The names that the loop of `frame` carries: of those that its body has `assigned`, the ones

    - that an iteration may read before it assigns them (``exposed``), or that are ``live`` after
      the loop;
    - that count the items of a list: each ``append`` reads and advances its counter;
    - but not the target of a ``for``, whose value follows from the number of the iteration. Where
      the loop may exit early, no trip count gives its last value: then it is carried, if ``live``.
    """
    target = _loop_target(frame.node)
    needed = live | exposed | ctx.lists.counters
    carried = sorted(assigned & needed - {target})
    if frame.exits_early and target is not None and target in live:
        carried.append(target)
    return carried


@record(frozen=True, slots=True)
class _Guess:
    """Carried types from which an inference starts.

    ``forbids_unions``: values whose type depends on the data are refused rather than made unions.
    ``carries``: how each name is carried. ``memoized``: these types were inferred before, for the
    same loop and values of the same types.
    """

    forbids_unions: bool
    carries: Mapping[str, LoopCarried]
    memoized: bool = False


def _initial_guesses(ctx: Lowering, loop: CarriedLoop) -> Iterator[_Guess]:
    """The guesses for the carried types of `loop`, in the order in which they are tried.

    1. The types that it settled on before, for values of the same types (`settled_types.py`). A
       loop inside a loop is lowered once for each guess of the outer one.
    2. Without unions: each name keeps its type before the loop.
    3. Without unions: a Python constant before the loop, such as 0, starts with the dtype of one of
       the kernel's array parameters; one guess for each dtype. Counters stay Python ints.
    4. As 2 and 3, with unions, which a name gets where its type depends on the data.

    Guesses without unions come first, since one accumulator is cheaper than several, and more such
    loops can be vectorised. They are the only ones inside a guess of an enclosing loop that forbids
    unions. If the loop has a CarriedUnion, only those with unions are tried.
    """
    b, node, inits = ctx.b, loop.frame.node, loop.inits
    stay_python = {
        n for n in inits
        if n in ctx.lists.counters or is_generated(n) or is_only_counted(n, node.body)
    }
    dtypes = (None, *dict.fromkeys(p.dtype for p in b.params.values() if p.rank))
    has_unions = any(isinstance(g, CarriedUnion) for g in loop.groups)
    if b.forbids_unions:  # the guess of an enclosing loop does
        modes: tuple[bool, ...] = (True,)
        b.forbidding_mattered |= has_unions
    else:
        modes = (False,) if has_unions else (True, False)
    for forbids_unions in modes:
        settled = settled_types(ctx, loop, forbids_unions=forbids_unions)
        if settled is not None:
            yield _Guess(forbids_unions, settled, memoized=True)
    for forbids_unions in modes:
        for dtype in dtypes:
            carries = {
                n: first_guess(n, init, None if n in stay_python else dtype)
                for n, init in inits.items()
            }
            yield _Guess(forbids_unions, carries)


def infer_carried_types(ctx: Lowering, loop: CarriedLoop) -> _SettledTypes:
    """The carried types of `loop`: the fixpoint of the first of `_initial_guesses` that has one.

        s = 0                    guess 1, s is a Python int:  after an iteration it is a float64
        for i in range(n):       refined, s is a float64 that is a Python int at the start only:
            s += x[i]            the end of the iteration agrees  →  settled

    A type inference by abstract interpretation, whose transfer function is lowering itself. Called
    by `lower_loop_body`, again each time that it has widened a group.

    If no guess has a fixpoint, raises the first NewCarriedTypes that a guess has raised, since a
    union of types may still have a fixpoint; if none has, the first refusal. A refusal that does
    not depend on the guess is raised at once (`_try_guess`).
    """
    b = ctx.b
    failures: list[Refused | NewCarriedTypes] = []
    for guess in _initial_guesses(ctx, loop):
        outcome = _try_guess(ctx, loop, guess)
        if isinstance(outcome, tuple):
            remember_settled(ctx, loop, outcome[0], forbids_unions=guess.forbids_unions)
            return outcome
        if not guess.memoized:  # a memoized guess is only a shortcut: its failure explains nothing
            failures.append(outcome)
    b.forbidding_mattered |= b.forbids_unions
    raise next((f for f in failures if isinstance(f, NewCarriedTypes)), failures[0])


def _try_guess(
    ctx: Lowering, loop: CarriedLoop, guess: _Guess
) -> _SettledTypes | Refused | NewCarriedTypes:
    """The fixpoint that is reached from `guess`; or, where another guess may succeed, the exception
    by which this one fails: NewCarriedTypes (the body needs a new union), Refused with LOWER_JOIN
    (types do not join or settle), any Refused of a memoized guess, whose types may be more general
    than needed. Any other Refused is raised, since no guess would avoid it; and NewAliasStates.
    """
    try:
        with _in_mode_of(guess, ctx.b) as outer_forbids:
            return _carried_types_fixpoint(
                ctx, loop, guess.carries, outer_forbids=outer_forbids
            )
    except Refused as refused:
        if refused.rejection.code != "LOWER_JOIN" and not guess.memoized:
            raise
        return refused
    except NewCarriedTypes as new:
        return new


@contextmanager
def _in_mode_of(guess: _Guess, b: IRBuilder) -> Iterator[bool]:
    """A context for lowering the loop with `guess`: without unions, if the guess forbids them, also
    in the loops inside. Yields whether the guess of the enclosing loop forbids them.

    `IRBuilder.forbidding_mattered` is collected for this guess alone. Afterwards the guess of the
    enclosing loop inherits it, if that forbids unions as well.
    """
    outer_forbids, b.forbids_unions = b.forbids_unions, guess.forbids_unions
    outer_mattered, b.forbidding_mattered = b.forbidding_mattered, False
    try:
        yield outer_forbids
    finally:
        b.forbids_unions = outer_forbids
        b.forbidding_mattered = outer_mattered or (outer_forbids and b.forbidding_mattered)


_MAX_ROUNDS = 6
"""How often a body is lowered for one guess before its types count as not settling."""


def _carried_types_fixpoint(
    ctx: Lowering, loop: CarriedLoop, carries: Mapping[str, LoopCarried], *, outer_forbids: bool
) -> _SettledTypes:
    """The fixpoint that is reached from the guess `carries`: the body is lowered, in a trial, and
    each guess is refined by what the iteration shows, until no guess changes.

    The iteration of the last round was lowered with the settled types. It is kept and returned if
    the guess of the enclosing loop forbids unions (``outer_forbids``) just as this one does, or if
    that changes nothing in the body; else it is undone, and the caller lowers it again. Raises
    Refused where the types do not settle in `_MAX_ROUNDS`, or the body is refused.
    """
    for _ in range(_MAX_ROUNDS):
        with ctx.trial() as trial:
            iteration = _lower_iteration_once(ctx, loop, carries)
            refined = {
                n: refine_carried(
                    ctx, n, c, loop.inits[n], iteration.ends[n], iteration.back_edge[n], loop.frame
                )
                for n, c in iteration.carries.items()
            }
            settled = refined == iteration.carries
            # The same under the guess of the enclosing loop: both forbid unions, or none does, or
            # nothing in the body has asked whether unions are allowed.
            is_valid_outside = (
                ctx.b.forbids_unions == outer_forbids or not ctx.b.forbidding_mattered
            )
            trial.keep = is_valid_outside and settled
        if settled:
            return carries, iteration if is_valid_outside else None
        carries = refined
    return refuse(
        "LOWER_JOIN", "the types of the names that the loop carries do not settle",
        loop.frame.node,
    )


def _lower_iteration_once(
    ctx: Lowering, loop: CarriedLoop, carries: Mapping[str, LoopCarried]
) -> _LoweredIteration:
    """Lowers the body once, with new accumulators for `carries`.

    Afterwards the names have their values before the loop again; new are only the parameters that
    the body was the first to read.
    """
    b, frame, inits = ctx.b, loop.frame, loop.inits
    accumulators = {n: _with_fresh_names(ctx, n, c) for n, c in carries.items()}
    body: list[Stmt] = []
    outer_env = dict(b.env)
    entries = {n: entry_value(ctx, c, inits[n], frame) for n, c in accumulators.items()}
    b.env.update(entries)
    for group in loop.groups:
        b.env.update(group.gather(entries))
    with in_iteration(b, frame), b.into(body):
        target = _loop_target(frame.node)
        if target is not None and frame.element_at is not None:
            b.env[target] = frame.element_at(LinearForm.of(frame.var))
        with _while_condition_facts(ctx, frame, accumulators):
            exit_condition, back_edge_env = lower_iteration(ctx, frame.node, loop.live)
    back_edge = _iteration_end_values(ctx, loop, back_edge_env, another_follows=True)
    ends = _iteration_end_values(ctx, loop, b.env, another_follows=False)
    unbound_before = [n for n in inits if outer_env.get(n, Unbound()) == Unbound()]
    arrays = arrays_made_in_loop(b, unbound_before)
    new_params = {k: v for k, v in b.env.items() if k not in outer_env and b.is_param(k, v)}
    b.env.clear()
    b.env.update(outer_env | new_params)
    return _LoweredIteration(accumulators, body, ends, back_edge, exit_condition, arrays)


def _lower_final_iteration(
    ctx: Lowering, loop: CarriedLoop, carries: Mapping[str, LoopCarried]
) -> _LoweredIteration:
    """Lowers the body again with the settled types `carries`, and keeps it: the iteration of the
    fixpoint was undone, as its guess forbade unions and that of the enclosing loop does not.
    """
    with ctx.trial() as trial:
        iteration = _lower_iteration_once(ctx, loop, carries)
        trial.keep = True
    return iteration


def _iteration_end_values(
    ctx: Lowering, loop: CarriedLoop, env: dict[str, Value], *, another_follows: bool
) -> dict[str, Num | Unbound]:
    """The values that the accumulators get at the end of an iteration, where names have `env`: one
    which another iteration follows, or any.

    Raises NewCarriedTypes for a name that has become a union, Refused for one that was a number and
    is none any more, and NewAliasStates.
    """
    node = loop.frame.node
    values = {n: env.get(n) for n in loop.inits}
    for n, v in values.items():
        if isinstance(v, UnionValue):
            if loop.may_alias and may_be_array(v):
                names = (n for g in loop.groups if isinstance(g, AliasGroup) for n in g.array_names)
                raise NewAliasStates(ctx.b, env, (*names, n), another_follows=another_follows)
            raise_new_types(ctx, n, (v,), f"the type of `{n}` depends on the data", node)
        if isinstance(loop.inits[n], Num) and not isinstance(v, Num):
            message = f"`{n}` is a number before the loop, and none after an iteration"
            refuse("LOWER_JOIN", message, node)
    for group in loop.groups:
        if isinstance(group, AliasGroup):
            values |= group.spread(ctx.b, env, another_follows=another_follows)
        else:
            values |= group.spread(ctx.b, env)
    return {n: v if isinstance(v, (Num, Unbound)) else Unbound() for n, v in values.items()}


def _while_condition_facts(
    ctx: Lowering, frame: LoopFrame, carries: dict[str, LoopCarried]
) -> AbstractContextManager[None]:
    """A context in which the condition of the ``while`` of `frame` is assumed to hold; for a
    ``for`` it does nothing.

    The condition is lowered in a trial, for its facts alone. Facts about names that only the trial
    has made are dropped.
    """
    b, node = ctx.b, frame.node
    if isinstance(node, ast.For):
        return nullcontext()
    facts: list[LinearForm] = []
    names_before = set(b.names)
    with ctx.trial(), suppress(Refused):
        facts = [
            f
            for f in facts_from(b, lower_test(ctx, node.test))
            if not _has_name_of(f, b.names - names_before)
        ]
    return in_while_iteration(b, facts, frozenset({frame.var, *(c.var for c in carries.values())}))


def _with_fresh_names(ctx: Lowering, name: str, carry: LoopCarried) -> LoopCarried:
    """`carry` with an accumulator whose name, and the names of its two flags, are new."""
    names = ctx.b.names
    while True:
        renamed = replace(carry, var=replace(carry.var, name=ctx.b.name(name)))
        flags = {renamed.flag.name, renamed.bound.name}
        if not flags & names:
            names |= flags
            return renamed


def _build_loop(
    ctx: Lowering, loop: CarriedLoop, iteration: _LoweredIteration, not_carried: frozenset[str]
) -> None:
    """Emits the loop with its accumulators, and gives the names their values after it. The last
    step of `lower_loop_body`: `iteration` is the body, lowered with the settled types.

    1. Each carried name gets its accumulators (`make_accumulators`) and its value after the loop
       (`value_after_loop`). An induction variable needs no accumulator, except where the loop may
       exit early, and the number of iterations is not known.
    2. The loop is emitted: a `While` with a flag that tells whether it goes on, or a `Loop`, with
       the condition ``until`` if it has a ``break``, or is the loop of ``any`` or ``all``.
    3. The names get their values. Those ``not_carried`` are assigned in the body and dead after the
       loop: they become unbound, lists excepted. A group makes the values of its names from its
       accumulators. A name that each iteration binds to one array has it if the loop has run.
    """
    b, frame = ctx.b, loop.frame
    accs: list[Accum] = []
    final: dict[str, Value] = {}
    flags: dict[str, Expr] = {}
    for name, c in iteration.carries.items():
        init, end = loop.inits[name], iteration.ends[name]
        if c.step is not None:
            assert isinstance(init, Num)
            if frame.exits_early:
                final[name] = induction_value_at_exit(ctx, c, init, end, frame, accs)
            else:
                trips = linear_form(b, frame.trips)
                final[name] = linear_num(b, induction_value(init, c.step, trips))
            continue
        end = resolve_extremum(end, iteration.body, b.name)
        accs += make_accumulators(ctx, c, init, end, frame)
        final[name] = value_after_loop(ctx, c, init, end, frame)
        flags |= flags_of_extrema(ctx, c, init, end, frame)
    exit_condition = iteration.exit_condition
    body = [substitute(s, flags) for s in iteration.body]
    accs = [substitute(acc, flags) for acc in accs]
    if isinstance(frame.node, ast.While):
        assert exit_condition is not None
        cond = continue_flag(ctx, frame.runs, exit_condition, accs)
        emit_while(ctx, frame, body, accs, cond)
    else:
        until: Expr | None
        if exit_condition is not None:
            until = early_exit_flag(ctx, exit_condition, accs)
        else:
            stepless = {n: c for n, c in iteration.carries.items() if c.step is None}
            until = search_stop_condition(frame, stepless, accs)
        emit_for(ctx, frame, body, accs, until)
    for name in not_carried:
        if not isinstance(b.env.get(name), ListRef):
            b.env[name] = Unbound()
    group_accumulators = {n for group in loop.groups for n in group.accumulators}
    b.env.update({n: v for n, v in final.items() if n not in group_accumulators})
    b.env.update(
        {n: array_if_loop_ran(array, frame.runs) for n, array in iteration.arrays.items()}
    )
    for group in loop.groups:
        b.env.update(group.gather_after_loop(final))


def _loop_target(node: ast.For | ast.While) -> str | None:
    """The target of a ``for``; None for a ``while``."""
    if isinstance(node, ast.While):
        return None
    assert isinstance(node.target, ast.Name)
    return node.target.id


def _has_name_of(linear: LinearForm, names: set[str]) -> bool:
    """Whether one of `names` occurs in `linear`."""
    return any(isinstance(n, Var) and n.name in names for a in linear.terms for n in walk(a))
