"""Alias states: which arrays several names are bound to together, by the path taken.

    for k in range(n):
        …                          # reads a, writes b
        a, b = b, a                # states of (a, b) at the start of an iteration: (x, y) or (y, x)

An alias state tells to which array each name of a group is bound on one path. Bool accumulators of
a loop tell which state is active (`AliasGroup`), and after a branch phis select it (`lower_if.py`).
Statements that read such a name are lowered once for each array that it may be
(`lower_statements.py`); this module tells which statements those are (`ambiguous_read`). So each
load and store in Loop IR names one array, and passes need no points-to analysis.
"""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeGuard

from loopir.analysis.integers.implied_conditions import condition_terms
from loopir.analysis.integers.intervals import LENGTH
from loopir.lazy_dataclass import record, replace
from loopir.nodes import Expr

from ...analysis.liveness import names_assigned, names_read
from ...call_plan import Allocated
from ...frontend.ast_walk import walk_nodes
from ...types.typed_values import FALSE, TRUE, Num, bool_op
from ..scalars.tagged_unions import feasible_cases
from ..state.generated_names import alias_state_name
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_object
from ..state.symbol_values import (
    Absent,
    ArrayRef,
    Unbound,
    UnionCase,
    UnionValue,
    Value,
    conditions_of_flags,
)
from ..state.value_ranges import linear_form
from .numpy_allocators import is_allocator
from .storage_coalescing import may_use_own_storage

__all__ = [
    "MAX_ALIAS_STATES", "AliasGroup", "AliasState", "NewAliasStates", "alias_states",
    "ambiguous_read", "array_if_loop_ran", "array_of_common_shape", "arrays_made_in_loop",
    "deciding_condition", "end_of_ambiguous", "first_ambiguous_array", "may_be_array",
    "first_ambiguous_read", "values_by_name",
]

MAX_ALIAS_STATES = 6
"""The largest number of alias states at the start of an iteration; where there are more, the
function is refused. The body of the loop may be lowered once for each.
"""
_MAX_EXIT_STATES = 12
"""The largest number of alias states that there may only be after the last iteration."""

AliasState: TypeAlias = "tuple[ArrayRef | Absent, ...]"
"""The array to which each name of a group is bound, in the order of the names."""


def _array_cases(v: Value | None) -> tuple[UnionCase, ...] | None:
    """The arrays that `v` may be, or unbound or None, as cases of a union; None for other values.
    """
    match v:
        case ArrayRef():
            return (UnionCase(v, TRUE),)
        case None | Unbound(value=None):
            return (UnionCase(Absent.UNBOUND, TRUE),)
        case UnionValue(cases) if all(isinstance(c.value, (ArrayRef, Absent)) for c in cases):
            return cases
    return None


def may_be_array(v: Value | None) -> bool:
    """Whether `v` may be an array and, where it has a value, nothing else."""
    return any(isinstance(c.value, ArrayRef) for c in _array_cases(v) or ())


def first_ambiguous_array(b: IRBuilder, names: Iterable[str]) -> UnionValue | None:
    """The value of the first of `names` that is one of several arrays, by the path taken; None
    where no name is.
    """
    values = (b.env.get(name) for name in names)
    return next((v for v in values if _is_ambiguous_array(v)), None)


def _has_ambiguous_array(b: IRBuilder) -> bool:
    """Whether some name is one of several arrays, by the path taken."""
    unions = [v for v in b.env.values() if type(v) is UnionValue]  # few, of many names
    return any(map(_is_ambiguous_array, unions))


def _is_ambiguous_array(v: Value | None) -> TypeGuard[UnionValue]:
    """Whether `v` is one of several arrays, by the path taken."""
    return isinstance(v, UnionValue) and sum(isinstance(c.value, ArrayRef) for c in v.cases) > 1


def array_of_common_shape(v: Value | None) -> ArrayRef | None:
    """One of the arrays that the union `v` may be, if all of them have the same lengths; else None.
    None, too, where `v` may be a list, None or unbound.
    """
    arrays = [c.value for c in v.cases] if isinstance(v, UnionValue) else []
    numpy_arrays = [a for a in arrays if isinstance(a, ArrayRef) and not a.kinds]
    if not numpy_arrays or len(numpy_arrays) != len(arrays):
        return None
    shapes = {tuple(n.ir for n in a.shape) for a in numpy_arrays}
    return numpy_arrays[0] if len(shapes) == 1 else None


def alias_states(
    b: IRBuilder, env: Mapping[str, Value], names: Sequence[str]
) -> dict[AliasState, Expr] | None:
    """The alias states of `names`, whose values are `env`, with the condition of each state.

        a: p where c, q elsewhere;  b: q where c, p elsewhere
        →   (p, q): c;   (q, p): not c          two states, not four: one condition decides both

    Only combinations that are possible count (`_joint_states`). None where a name is no array, or a
    view, whose shape may differ in the next iteration; where an array's shape is not known at
    kernel entry; and where there are more states than `_MAX_EXIT_STATES`.
    """
    cases = [_loop_invariant_cases(b, _array_cases(env.get(name)) or ()) for name in names]
    if not all(cases):
        return None
    whens: dict[AliasState, Expr] = {}
    for when, state in _joint_states(cases, TRUE):
        whens[state] = bool_op("or", whens.get(state, FALSE), when)
        if len(whens) > _MAX_EXIT_STATES:
            return None
    return whens


def _joint_states(
    cases: Sequence[Sequence[UnionCase]], known: Expr
) -> Iterator[tuple[Expr, AliasState]]:
    """All combinations of one case of each name that are possible where `known` holds, each with
    its condition. ``cases``: the cases of each name.

    A decision tree: while some name has several feasible cases, one of the conditions that decide
    between them is assumed to be true, and then to be false.
    """
    feasible = [feasible_cases(cases_of_name, known) for cases_of_name in cases]
    undecided = next((of_name for of_name in feasible if len(of_name) > 1), None)
    if undecided is None:
        # no value is a Num, since `_array_cases` gives arrays and absent values only: the test
        # drops nothing, and narrows the type
        values = [of_name[0].value for of_name in feasible]
        yield known, tuple(v for v in values if not isinstance(v, Num))
        return
    cond = deciding_condition(undecided)
    for fact in (cond, bool_op("not", cond)):
        yield from _joint_states(feasible, bool_op("and", known, fact))


def _loop_invariant_cases(b: IRBuilder, cases: Iterable[UnionCase]) -> tuple[UnionCase, ...]:
    """`cases` with arrays in a canonical form, without facts about the lengths that hold on one
    path only, so that equal arrays compare equal. Empty, since the array may be another one in the
    next iteration, if one is a view, a list, or has a shape that is not known at kernel entry.
    """
    canonical: list[UnionCase] = []
    for c in cases:
        array = c.value
        if isinstance(array, ArrayRef):
            is_known = all(b.known_at_entry(n.ir) for n in array.shape)
            if array.base_index or array.kinds or not is_known:
                return ()
            lengths = tuple(
                Num(n.ir, weak="i64", linear=linear_form(b, n.ir), interval=LENGTH)
                for n in array.shape
            )
            c = replace(c, value=replace(array, shape=lengths))
        canonical.append(c)
    return tuple(canonical)


def arrays_made_in_loop(b: IRBuilder, names: Iterable[str]) -> dict[str, ArrayRef]:
    """The `names` that are bound to one known array at the end of an iteration, with that array.
    All `names` are unbound before the loop.
    """
    cases = {n: _loop_invariant_cases(b, _array_cases(b.env.get(n)) or ()) for n in names}
    single = {n: of_name[0].value for n, of_name in cases.items() if len(of_name) == 1}
    return {n: value for n, value in single.items() if isinstance(value, ArrayRef)}


def array_if_loop_ran(array: ArrayRef, runs: Expr) -> Value:
    """The value after a loop of a name that the loop binds to `array`: `array` if it had an
    iteration (`runs`), else unbound.
    """
    if runs == TRUE:
        return array
    no_trip = UnionCase(Absent.UNBOUND, bool_op("not", runs))
    return UnionValue((UnionCase(array, runs), no_trip))


def values_by_name(names: Sequence[str], whens: Mapping[AliasState, Expr]) -> dict[str, Value]:
    """The value of each of `names`, given the condition of each alias state."""
    values: dict[str, Value] = {}
    for k, name in enumerate(names):
        grouped: dict[ArrayRef | Absent, Expr] = {}
        for state, when in whens.items():
            grouped[state[k]] = bool_op("or", grouped.get(state[k], FALSE), when)
        cases = [UnionCase(value, when) for value, when in grouped.items()]
        first = cases[0].value
        if len(cases) > 1 or first is Absent.NONE:
            values[name] = UnionValue(tuple(cases))
        else:
            values[name] = first if isinstance(first, ArrayRef) else Unbound()
    return values


def deciding_condition(cases: Iterable[UnionCase]) -> Expr:
    """The first term of the conditions of `cases`, of which several are feasible.

    Any term serves: callers take it as true on one side and as false on the other, which removes it
    from the conditions (`feasible_cases`), and split again where several cases are still feasible.
    That ends at the latest when no term is left, since then one condition is true.
    """
    return next(e for c in cases for e in condition_terms(c.when))


class NewAliasStates(Exception):
    """Raised where the names of an AliasGroup are in a state at the end of an iteration that the
    group does not have. ``names``: these names, and one that has to join the group, if any.
    ``states``: the states there; None: they are unknown, or a name is no array.
    ``another_follows``: whether another iteration starts in them.

    It is raised inside a trial, which drops the arrays that the iteration has allocated. So the
    exception has the parameters and allocations of that moment, which `keep` adds again.
    """

    def __init__(
        self, b: IRBuilder, env: Mapping[str, Value], names: tuple[str, ...], *,
        another_follows: bool,
    ) -> None:
        super().__init__()
        whens = alias_states(b, env, names)
        self.names, self.another_follows = names, another_follows
        self.states = tuple(whens) if whens is not None else None
        self._arrays_of_call = dict(b.buffers.arrays_of_call)
        self._params, self._bindings = dict(b.params), dict(b.bindings)

    def keep(self, b: IRBuilder) -> bool:
        """Adds the parameters for the arrays of the new states to `b` again, after the trial has
        dropped them, and returns True. Returns False, and leaves `b` unchanged, if one of these
        arrays was allocated by no allocating call of the source, such as the buffer of a list.
        """
        arrays = {v.name for s in self.states or () for v in s if isinstance(v, ArrayRef)}
        new = arrays - b.params.keys()
        fresh = {n for n in new if isinstance(self._bindings[n], Allocated)}
        if not fresh <= {a.name for arrays in self._arrays_of_call.values() for a in arrays}:
            return False
        for name in sorted(new):
            b.params[name], b.bindings[name] = self._params[name], self._bindings[name]
        b.buffers.fresh |= fresh
        b.names |= new
        for call, allocated in self._arrays_of_call.items():
            kept = tuple(array for array in allocated if array.name in b.params)
            b.buffers.arrays_of_call[call] = kept
        return True


@record(frozen=True, slots=True)
class AliasGroup:
    """Names of arrays that a loop rebinds, with the alias states that they may have at the start of
    an iteration (`states`), and those that they may only have after the last one (`exit_states`),
    as after ``return b`` in the loop. The loop does not carry the arrays themselves. It carries the
    number of the active state, for n states as n - 1 bool accumulators: the first one that is true
    tells the state, and if none is true, it is the last state (`conditions_of_flags`).

        a, b = x, y
        for k in range(n):        array_names (a, b), states ((x, y), (y, x))
            …                     one accumulator: starts as True, the first state; its step is
            a, b = b, a           ``not`` itself

    `loop_types._carried_groups` makes it with the states before the loop; where an iteration ends
    in another state, `spread` raises NewAliasStates, and `_widen_groups` adds the state. Before the
    loop, and at the end of an iteration, `spread` gives the values of the accumulators; at the
    start of an iteration, and after the loop, `gather` gives the names their arrays.
    """

    array_names: tuple[str, ...]
    states: tuple[AliasState, ...]
    exit_states: tuple[AliasState, ...] = ()

    @staticmethod
    def before_loop(b: IRBuilder, names: tuple[str, ...]) -> AliasGroup | None:
        """A group of `names` with the states before the loop; None if these are unknown or too
        many, or there are no names.
        """
        states = alias_states(b, b.env, names) if names else None
        if states is None or len(states) > MAX_ALIAS_STATES:
            return None
        return AliasGroup(names, tuple(states))

    def widened(self, b: IRBuilder, new: NewAliasStates) -> AliasGroup | None:
        """This group with the states of `new`; if a name has to join it, one that has the states
        before the loop and these. None where states are unknown or too many, or have an array that
        no allocating call has made (`NewAliasStates.keep`).
        """
        group = self if new.names == self.array_names else AliasGroup.before_loop(b, new.names)
        if group is None or new.states is None or not new.keep(b):
            return None
        starts, exits = dict.fromkeys(group.states), dict.fromkeys(group.exit_states)
        (starts if new.another_follows else exits).update(dict.fromkeys(new.states))
        exits = {s: None for s in exits if s not in starts}
        if len(starts) > MAX_ALIAS_STATES or len(exits) > _MAX_EXIT_STATES:
            return None
        return AliasGroup(new.names, tuple(starts), tuple(exits))

    @property
    def accumulators(self) -> list[str]:
        """The names of the bool accumulators, one for each state but the last."""
        count = len(self.states) + len(self.exit_states) - 1
        return [alias_state_name(self.array_names, k) for k in range(count)]

    def spread(
        self, b: IRBuilder, env: Mapping[str, Value], *, another_follows: bool = True
    ) -> dict[str, Num]:
        """The values of the accumulators where the names have the values `env`: before the loop, or
        at the end of an iteration which another one follows, or may follow. Raises NewAliasStates
        where that may be a state which the group does not have.
        """
        whens = alias_states(b, env, self.array_names)
        states = self.states if another_follows else (*self.states, *self.exit_states)
        if whens is None or not whens.keys() <= set(states):
            raise NewAliasStates(b, env, self.array_names, another_follows=another_follows)
        flags = (whens.get(s, FALSE) for s in (*self.states, *self.exit_states))
        pairs = zip(self.accumulators, flags, strict=False)
        return {n: Num(when, weak="bool") for n, when in pairs}

    def gather(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The values of the names at the start of an iteration where the accumulators have
        `values`; the inverse of `spread`.
        """
        return self._gather(values, self.states)

    def gather_after_loop(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """As `gather`, after the loop."""
        return self._gather(values, (*self.states, *self.exit_states))

    def _gather(
        self, values: Mapping[str, Value], states: Sequence[AliasState]
    ) -> dict[str, Value]:
        """The values of the names, which are in one of `states`."""
        numbers = [values[name] for name in self.accumulators[: len(states) - 1]]
        flags = [flag.ir for flag in numbers if isinstance(flag, Num)]
        whens = dict(zip(states, conditions_of_flags(flags), strict=True))
        return values_by_name(self.array_names, whens)


def ambiguous_read(ctx: Lowering, stmt: ast.stmt) -> UnionValue | None:
    """Decides whether `stmt` must be lowered once for each of several arrays, and returns the value
    that may be any of them, by which the caller splits it; None if `stmt` is lowered once.

        b[i] = a[i]      a: x or y, by the path   →   if a_is: b[i] = x[i]   else: b[i] = y[i]

    A load or store names one parameter of the kernel, so that each array needs its own code. Of a
    statement that reads several such names, the first is returned, and `lower_statements` asks
    again in each branch. The first case that applies decides:

    - no name is one of several arrays: None;
    - a name is assigned to a name: None, since the value is passed on as it is;
    - an allocation in a loop, if each array that it has made may still be in use: the first of all
      names that are one of several arrays. Which array is free, and can be used again, differs from
      path to path (`storage_coalescing.reusable_storage`);
    - else the first such name that `stmt` reads (`first_ambiguous_read`).
    """
    if not _has_ambiguous_array(ctx.b):
        return None
    match stmt:
        case ast.Assign(targets=[ast.Name()], value=ast.Name()):
            return None
        case ast.Assign(value=ast.Call(func=func) as call) if (
            ctx.b.path.frames and is_allocator(resolve_object(ctx, func))
        ) and not may_use_own_storage(ctx.b, call):
            return first_ambiguous_array(ctx.b, sorted(ctx.b.env))
    return first_ambiguous_read(ctx, stmt)


def first_ambiguous_read(ctx: Lowering, node: ast.AST) -> UnionValue | None:
    """The value of the first name that `node` reads and that is one of several arrays; None where
    there is none. A name does not count if `node` reads only its shape, and all arrays that it may
    be have the same shape.
    """
    if not _has_ambiguous_array(ctx.b):
        return None
    nodes = list(walk_nodes(node))
    shape_reads = Counter(map(_name_of_shape_read, nodes))
    other_reads = Counter(n.id for n in nodes if isinstance(n, ast.Name)) - shape_reads
    same_shape = {
        n for n in shape_reads
        if n not in other_reads and array_of_common_shape(ctx.b.env.get(n))
    }
    return first_ambiguous_array(ctx.b, sorted(names_read([node]) - same_shape))


def end_of_ambiguous(ctx: Lowering, block: Sequence[ast.stmt], k: int) -> int:
    """The end of the run of statements that are lowered together for each array: those of `block`
    from number `k` on, as long as each

    - must be lowered once for each array (`ambiguous_read`);
    - or reads a name that the run has bound;
    - or reads a name that may be one of several arrays, also as ``b = a``, which alone would not
      be split.
    """
    bound: set[str] = set()
    for s in block[k:]:
        if not (
            ambiguous_read(ctx, s)
            or bound & names_read([s])
            or first_ambiguous_read(ctx, s)
        ):
            break
        bound |= names_assigned([s])
        k += 1
    return k


def _name_of_shape_read(n: ast.AST) -> str:
    """The name ``a`` if `n` is ``a.shape``, ``a.ndim``, ``a.size`` or ``len(a)``; "" for other
    nodes.
    """
    match n:
        case ast.Attribute(value=ast.Name(id=name), attr="shape" | "ndim" | "size") | ast.Call(
            func=ast.Name(id="len"), args=[ast.Name(id=name)]
        ):
            return name
    return ""
