"""Alias states: which arrays several names stand for together, by the path taken."""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from loopir.analysis.conditions import condition_terms
from loopir.analysis.intervals import LENGTH
from loopir.lazy_dataclass import record
from loopir.nodes import Expr

from ...analysis.liveness import names_assigned, names_read
from ...call_plan import Allocated
from ...types.typed_values import FALSE, TRUE, Num, bool_op
from ..scalars.tagged_unions import feasible_cases
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_object
from ..state.symbol_values import Absent, ArrayRef, Unbound, UnionCase, UnionValue, Value
from ..state.value_ranges import linear_form
from .array_allocators import is_allocator

__all__ = [
    "MAX_ALIAS_STATES", "AliasGroup", "AliasState", "NewAliasStates", "alias_states",
    "ambiguous_read", "array_if_loop_ran", "array_of_common_shape", "arrays_made_in_loop",
    "deciding_condition", "end_of_ambiguous", "first_ambiguous_array", "may_be_array",
    "names_needing_alias", "values_by_name",
]

MAX_ALIAS_STATES = 6
"""States that names of arrays may have together."""

AliasState: TypeAlias = "tuple[ArrayRef | Absent, ...]"
"""What each of some names stands for."""


def _array_cases(v: Value | None) -> tuple[UnionCase, ...] | None:
    """The arrays that `v` may be; None where it is another thing."""
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
    """The value of the first of `names` that is one of several arrays, by the path taken."""
    for name in names:
        v = b.env.get(name)
        if isinstance(v, UnionValue) and sum(isinstance(c.value, ArrayRef) for c in v.cases) > 1:
            return v
    return None


def array_of_common_shape(v: Value | None) -> ArrayRef | None:
    """One of the arrays that `v` may be, if all of them have the same lengths; else None."""
    arrays = [c.value for c in v.cases] if isinstance(v, UnionValue) else []
    known = [a for a in arrays if isinstance(a, ArrayRef) and not a.kinds]
    shapes = {tuple(n.ir for n in a.shape) for a in known}
    return known[0] if known and len(known) == len(arrays) and len(shapes) == 1 else None


def alias_states(
    b: IRBuilder, env: Mapping[str, Value], names: Sequence[str]
) -> dict[AliasState, Expr] | None:
    """The alias states of `names` (which array each of them is, on one path), with the condition of
    each state.

    None where a name is no array, where an array is not known outside of its block, or where there
    are too many states.
    """
    cases = [_loop_invariant_cases(b, _array_cases(env.get(name)) or ()) for name in names]
    if not all(cases):
        return None
    out: dict[AliasState, Expr] = {}
    for when, state in _joint_states(cases, TRUE):
        out[state] = bool_op("or", out.get(state, FALSE), when)
        if len(out) > MAX_ALIAS_STATES:
            return None
    return out


def _joint_states(
    cases: Sequence[Sequence[UnionCase]], known: Expr
) -> Iterator[tuple[Expr, AliasState]]:
    """One of each of `cases`, and that which holds together with `known` where these do."""
    left = [feasible_cases(of, known) for of in cases]
    open_ = next((of for of in left if len(of) > 1), None)
    if open_ is None:
        values = [of[0].value for of in left]
        yield known, tuple(v for v in values if not isinstance(v, Num))
        return
    atom = deciding_condition(open_)
    for fact in (atom, bool_op("not", atom)):
        yield from _joint_states(left, bool_op("and", known, fact))


def _loop_invariant_cases(b: IRBuilder, cases: Iterable[UnionCase]) -> tuple[UnionCase, ...]:
    """`cases`, if they are the same wherever they are spoken of, as what is said of them all over.
    """
    out: list[UnionCase] = []
    for c in cases:
        of = c.value
        if isinstance(of, ArrayRef):
            if of.base_index or of.kinds or not all(b.invariant(n.ir) for n in of.shape):
                return ()
            lengths = tuple(
                Num(n.ir, weak="i64", linear=linear_form(b, n.ir), interval=LENGTH)
                for n in of.shape
            )
            c = replace(c, value=replace(of, shape=lengths))
        out.append(c)
    return tuple(out)


def arrays_made_in_loop(b: IRBuilder, names: Iterable[str]) -> dict[str, ArrayRef]:
    """Those of `names` that are bound, at the end of an iteration, to arrays made in the loop, and
    may still be so after it.
    """
    cases = {n: _loop_invariant_cases(b, _array_cases(b.env.get(n)) or ()) for n in names}
    only = {n: of[0].value for n, of in cases.items() if len(of) == 1}
    return {n: of for n, of in only.items() if isinstance(of, ArrayRef)}


def array_if_loop_ran(array: ArrayRef, some: Expr) -> Value:
    """The value of a name after a loop that binds it to `array`: `array` if the loop ran (`some`),
    else unbound.
    """
    never = UnionCase(Absent.UNBOUND, bool_op("not", some))
    return array if some == TRUE else UnionValue((UnionCase(array, some), never))


def values_by_name(names: Sequence[str], whens: Mapping[AliasState, Expr]) -> dict[str, Value]:
    """The value of each of `names`, given the condition of each alias state."""
    out: dict[str, Value] = {}
    for k, name in enumerate(names):
        grouped: dict[ArrayRef | Absent, Expr] = {}
        for state, when in whens.items():
            grouped[state[k]] = bool_op("or", grouped.get(state[k], FALSE), when)
        cases = [UnionCase(value, when) for value, when in grouped.items()]
        first = cases[0].value
        if len(cases) > 1 or first is Absent.NONE:
            out[name] = UnionValue(tuple(cases))
        else:
            out[name] = first if isinstance(first, ArrayRef) else Unbound()
    return out


def deciding_condition(cases: Iterable[UnionCase]) -> Expr:
    """A condition on which it depends which of `cases` is active."""
    return next(e for c in cases for e in condition_terms(c.when))


class NewAliasStates(Exception):
    """Names of arrays are these in a loop, too; None: other things."""

    def __init__(self, b: IRBuilder, whens: Mapping[AliasState, Expr] | None) -> None:
        super().__init__()
        self.states = tuple(whens) if whens is not None else None
        self._made = dict(b.buffers.arrays_of_call)
        self._params, self._bindings = dict(b.params), dict(b.bindings)

    def keep(self, b: IRBuilder) -> bool:
        """Of what was built until then, keeps the arrays that the names stand for. Whether it can:
        of those made in the loop there are as many as it takes.
        """
        arrays = {v.name for s in self.states or () for v in s if isinstance(v, ArrayRef)}
        new = arrays - b.params.keys()
        fresh = {n for n in new if isinstance(self._bindings[n], Allocated)}
        if not fresh <= {of.name for made in self._made.values() for of in made}:
            return False
        for name in sorted(new):
            b.params[name], b.bindings[name] = self._params[name], self._bindings[name]
        b.buffers.fresh |= fresh
        b.names |= new
        for call, made in self._made.items():
            b.buffers.arrays_of_call[call] = tuple(of for of in made if of.name in b.params)
        return True


@record(frozen=True, slots=True)
class AliasGroup:
    """Names of arrays that a loop rebinds, with their alias states.

    n states are lowered to n - 1 bool variables that select the active one. Generated names start
    with a character that no Python name can have.
    """

    array_names: tuple[str, ...]
    states: tuple[AliasState, ...]

    @property
    def accumulators(self) -> list[str]:
        """The names of the bool variables, one for each state but the last."""
        return [f"#{'_'.join(self.array_names)}_{k}" for k in range(len(self.states) - 1)]

    def spread(self, b: IRBuilder, env: Mapping[str, Value]) -> dict[str, Num]:
        """The bool variables that select the state which `env` is in. Raises NewAliasStates where
        that is a state which the group does not have.
        """
        whens = alias_states(b, env, self.array_names)
        if whens is None or not whens.keys() <= set(self.states):
            raise NewAliasStates(b, whens)
        flags = (whens.get(s, FALSE) for s in self.states)
        pairs = zip(self.accumulators, flags, strict=False)
        return {n: Num(when, weak="bool") for n, when in pairs}

    def gather(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The arrays that the names stand for, given the `values` of the bool variables."""
        whens: dict[AliasState, Expr] = {}
        rest: Expr = TRUE
        for name, state in zip(self.accumulators, self.states, strict=False):
            flag = values[name]
            assert isinstance(flag, Num)
            whens[state] = bool_op("and", rest, flag.ir)
            rest = bool_op("and", rest, bool_op("not", flag.ir))
        return values_by_name(self.array_names, whens | {self.states[-1]: rest})


def ambiguous_read(ctx: Lowering, stmt: ast.stmt) -> UnionValue | None:
    """A value that `stmt` reads and that is one of several arrays; None where there is none."""
    match stmt:
        case ast.Assign(targets=[ast.Name()], value=ast.Name()):
            return None
        case ast.Assign(value=ast.Call(func=func)) if (
            ctx.b.path.frames and is_allocator(resolve_object(ctx, func))
        ):
            return first_ambiguous_array(ctx.b, sorted(ctx.b.env))
    return first_ambiguous_array(ctx.b, names_needing_alias(ctx, stmt))


def names_needing_alias(ctx: Lowering, node: ast.AST) -> list[str]:
    """The names that `node` reads, but for those of arrays of which it reads lengths that are
    the same for each.
    """
    nodes = list(ast.walk(node))
    measured = Counter(map(_length_of_name, nodes))
    others = Counter(n.id for n in nodes if isinstance(n, ast.Name)) - measured
    alike = {
        n for n in measured if n not in others and array_of_common_shape(ctx.b.env.get(n))
    }
    return sorted(names_read([node]) - alike)


def end_of_ambiguous(ctx: Lowering, block: Sequence[ast.stmt], k: int) -> int:
    """Where the statements from `k` on end that read such arrays, or what is made here."""
    bound: set[str] = set()
    for s in block[k:]:
        if not (
            ambiguous_read(ctx, s)
            or bound & names_read([s])
            or first_ambiguous_array(ctx.b, names_needing_alias(ctx, s))
        ):
            break
        bound |= names_assigned([s])
        k += 1
    return k


def _length_of_name(n: ast.AST) -> str:
    """The name of the array of which `n` is a length, or all of them; "" for other nodes."""
    match n:
        case ast.Attribute(value=ast.Name(id=name), attr="shape" | "ndim" | "size") | ast.Call(
            func=ast.Name(id="len"), args=[ast.Name(id=name)]
        ):
            return name
    return ""
