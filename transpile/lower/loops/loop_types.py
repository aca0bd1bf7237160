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

from loopir.ir_traversal import walk
from loopir.nodes import Accum, Expr, Stmt, Var

from ...analysis.liveness import is_only_counted, names_assigned, upward_exposed
from ...diagnostics import Refused
from ...frontend.refusal import refuse
from ...types.linear_form import LinearForm
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
from ..scalars.tagged_unions import MAX_CASES, CarriedUnion, NewCarriedTypes, case_type, union_cases
from ..state.ir_builder import Trial
from ..state.path_conditions import facts_from
from ..state.symbol_values import ArrayRef, ListRef, LoopFrame, Unbound, UnionValue, Value
from .loop_carried import LoopCarried, induction_value
from .loop_exits import Endings, resolve_extremum

__all__ = ["CarriedGroup", "Groups", "Bodies"]

CarriedGroup: TypeAlias = "CarriedUnion | AliasGroup"


class Groups(Endings):
    """Knows such names, by what they are before a loop and at its end."""

    def groups(self, carried: Iterable[str], node: ast.For | ast.While) -> list[CarriedGroup]:
        """Those that are so before the loop."""
        first = {n: self._before(n, node) for n in carried}
        arrays = tuple(n for n, v in first.items() if may_be_array(v))
        out: list[CarriedGroup] = [
            self._several(n, node) for n, v in first.items()
            if isinstance(v, UnionValue) and not may_be_array(v)
        ]
        whens = alias_states(self.b, self.b.env, arrays) if arrays else None
        return out if whens is None else [*out, AliasGroup(arrays, tuple(whens))]

    def _before(self, name: str, node: ast.AST) -> Value | None:
        if name not in self.b.env and name in self.arguments:
            self.array(ast.Name(name, ast.Load()))
        return self.b.env.get(name)

    def inits(
        self, carried: Iterable[str], groups: Sequence[CarriedGroup], node: ast.For | ast.While
    ) -> dict[str, Num | Unbound]:
        """What the accumulators start with."""
        out: dict[str, Num | Unbound] = {}
        grouped = {n for g in groups for n in (g.arrays if isinstance(g, AliasGroup) else [g.name])}
        for name in carried:
            if name not in grouped:
                first = self._initial(name, node)
                out[name] = Unbound() if isinstance(first, UnionValue) else first
        for group in groups:
            out |= group.spread(self.b, self.b.env)
        return out

    def wider(
        self, groups: Sequence[CarriedGroup], more: NewCarriedTypes | NewAliasStates, node: ast.AST
    ) -> list[CarriedGroup]:
        """`groups` with what turned out at the end of an iteration."""
        if isinstance(more, NewCarriedTypes):
            rest = [g for g in groups if isinstance(g, AliasGroup) or g.name != more.name]
            known = next((g for g in groups if g not in rest), None)
            known = known or self._several(more.name, node)
            assert isinstance(known, CarriedUnion)
            wide = known.with_more(more.kinds)
            if len(wide.kinds) > MAX_CASES:
                refuse("LOWER_JOIN", f"`{more.name}` has too many types in the loop", node)
            return [*rest, wide]
        rest = [g for g in groups if isinstance(g, CarriedUnion)]
        (arrays,) = (g for g in groups if isinstance(g, AliasGroup))
        several = tuple(dict.fromkeys((*arrays.states, *(more.states or ()))))
        if more.states is None or len(several) > MAX_ALIAS_STATES or not more.keep(self.b):
            return rest
        return [*rest, AliasGroup(arrays.arrays, several)]

    def _several(self, name: str, node: ast.AST) -> CarriedUnion:
        """A name with the types that it has before a loop."""
        cases = None if self.b.one_type else union_cases(self.b, self.b.env.get(name))
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


class Bodies(Groups):
    """Lowers the bodies of loops. ``before``: what loops that were lowered before carried, by what
    they began with.
    """

    before: dict[tuple[ast.AST, bool], tuple[dict[str, Num | Unbound], dict[str, LoopCarried]]]

    def body(self, frame: LoopFrame, live: frozenset[str]) -> None:
        """Lowers the loop of `frame`."""
        node = frame.node
        names = names_assigned(node.body) | self.appended(node.body)
        first = upward_exposed(node.body)
        carried = sorted(n for n in names if n in live or n in first or n in self.counters)
        target = _loop_target(node)
        carried = [n for n in carried if n != target]
        if frame.exits and target is not None and target in live:
            carried.append(target)
        inside = live | first
        groups = self.groups(carried, node)
        while True:
            inits = self.inits(carried, groups, node)
            try:
                carries, turn = self._settle(frame, inits, inside, groups)
                turn = turn or self._standing(frame, carries, inits, inside, groups)
            except (NewCarriedTypes, NewAliasStates) as more:
                groups = self.wider(groups, more, node)
            else:
                break
        self._build(frame, turn, inits, names - set(carried), groups)

    def _settle(
        self, frame: LoopFrame, inits: dict[str, Num | Unbound], live: frozenset[str],
        groups: Sequence[CarriedGroup],
    ) -> _Fixpoint:
        """The types of what the loop carries: those before it if they stay so, else a NumPy type
        that absorbs a Python constant. Raises MoreTypes for a name that has none of both.
        """
        b = self.b
        problem: Refused | None = None
        more: NewCarriedTypes | None = None
        python = {n for n in inits if n in self.counters or is_only_counted(n, frame.node.body)}
        dtypes = (None, *dict.fromkeys(p.dtype for p in b.params.values() if p.rank))
        several = any(isinstance(g, CarriedUnion) for g in groups)
        strictly = (True,) if b.one_type else (False,) if several else (True, False)
        for one_type, dtype in (*self._as_before(frame, inits, groups, strictly),
                                *itertools.product(strictly, dtypes)):
            known = isinstance(dtype, dict)
            guess = dtype if isinstance(dtype, dict) else {
                n: self._first_guess(n, init, None if n in python or n[0] == "#" else dtype)
                for n, init in inits.items()
            }
            outer, b.one_type = b.one_type, one_type
            try:
                keep = one_type == outer
                settled = self._fixpoint(guess, frame, inits, live, groups, keep=keep)
            except Refused as refused:
                if refused.rejection.code != "LOWER_JOIN" and not known:
                    raise
                problem = problem if known else problem or refused
            except NewCarriedTypes as found:
                more = more if known else more or found
            else:
                self.before[frame.node, one_type] = inits, settled[0]
                return settled
            finally:
                b.one_type = outer
        if more is not None:
            raise more
        assert problem is not None
        raise problem

    def _as_before(
        self, frame: LoopFrame, inits: dict[str, Num | Unbound], groups: Sequence[CarriedGroup],
        strictly: Sequence[bool],
    ) -> Iterator[tuple[bool, dict[str, LoopCarried]]]:
        """What the types settled on when the loop was lowered before, with the same names: loops
        around it are lowered several times.
        """
        for one_type in strictly:
            first, carries = self.before.get((frame.node, one_type), (None, {}))
            if first == inits and not groups:
                yield one_type, carries

    def _fixpoint(
        self, carries: dict[str, LoopCarried], frame: LoopFrame, inits: dict[str, Num | Unbound],
        live: frozenset[str], groups: Sequence[CarriedGroup], *, keep: bool,
    ) -> _Fixpoint:
        """``keep``: the last iteration that was lowered stands."""
        for _ in range(6):
            with self.b.trial() as tried, self.tried_lists() as lists:
                turn = self._turned_once(frame, carries, inits, live, groups)
                better = {
                    n: self._refine(n, c, inits[n], turn.ends[n], turn.stays[n], frame)
                    for n, c in turn.carries.items()
                }
                settled = better == turn.carries
                tried.holds = lists.holds = keep and settled
            if settled:
                return carries, turn if keep else None
            carries = better
        return refuse(
            "LOWER_JOIN", "the types of the names that the loop carries do not settle", frame.node
        )

    def _turned_once(
        self, frame: LoopFrame, carries: dict[str, LoopCarried], inits: dict[str, Num | Unbound],
        live: frozenset[str], groups: Sequence[CarriedGroup],
    ) -> _Turn:
        """The body lowered once, with names of its own for what is carried."""
        b = self.b
        named = {n: self._with_own_names(n, c) for n, c in carries.items()}
        body: list[Stmt] = []
        outer = dict(b.env)
        entries = {n: self._entry(c, inits[n], frame) for n, c in named.items()}
        b.env.update(entries)
        for group in groups:
            b.env.update(group.gather(entries))
        with b.iteration(frame), b.into(body):
            target = _loop_target(frame.node)
            if target is not None and frame.element is not None:
                b.env[target] = frame.element(LinearForm.of(frame.var))
            with self._turn(frame, named):
                left, stays = self.iteration(frame.node, live)
        ends = self._ends(inits, groups, b.env, frame.node)
        others = self._ends(inits, groups, stays, frame.node)
        arrays = arrays_made_in_loop(b, [n for n in inits if outer.get(n, Unbound()) == Unbound()])
        added = {k: v for k, v in b.env.items() if k not in outer and b.is_param(k, v)}
        b.env.clear()
        b.env.update(outer | added)
        return _Turn(named, body, ends, others, left, arrays)

    def _standing(
        self, frame: LoopFrame, carries: dict[str, LoopCarried], inits: dict[str, Num | Unbound],
        live: frozenset[str], groups: Sequence[CarriedGroup],
    ) -> _Turn:
        """The iteration that stands, unless it shows that there are more types."""
        with self.b.trial() as tried, self.tried_lists() as lists:
            turn = self._turned_once(frame, carries, inits, live, groups)
            tried.holds = lists.holds = True
        return turn

    def _ends(
        self,
        inits: dict[str, Num | Unbound],
        groups: Sequence[CarriedGroup],
        env: dict[str, Value],
        node: ast.AST,
    ) -> dict[str, Num | Unbound]:
        """What the accumulators end with."""
        out = {n: env.get(n) for n in inits}
        for n, v in out.items():
            if isinstance(v, UnionValue):
                self.more_types(n, (v,), f"the type of `{n}` depends on the data", node)
            if isinstance(inits[n], Num) and not isinstance(v, Num):
                refuse("LOWER_JOIN", f"`{n}` is a number before the loop, and none after it", node)
        for group in groups:
            out |= group.spread(self.b, env)
        return {n: v if isinstance(v, (Num, Unbound)) else Unbound() for n, v in out.items()}

    def _turn(
        self, frame: LoopFrame, carries: dict[str, LoopCarried]
    ) -> AbstractContextManager[None]:
        """What the condition of a ``while`` says of the names at the start of an iteration."""
        b, node = self.b, frame.node
        if isinstance(node, ast.For):
            return nullcontext()
        facts: list[LinearForm] = []
        names = set(b.names)
        with b.trial(), self.tried_lists(), suppress(Refused):
            facts = [
                f
                for f in facts_from(b, self.test(node.test))
                if not _names_in_linear(f, b.names - names)
            ]
        return b.turn(facts, frozenset({frame.var, *(c.var for c in carries.values())}))

    def _with_own_names(self, name: str, carry: LoopCarried) -> LoopCarried:
        """`carry` under a name that is new, as are those of its flags."""
        names = self.b.names
        while True:
            own = replace(carry, var=replace(carry.var, name=self.b.name(name)))
            flags = {own.flag.name, own.bound.name}
            if not flags & names:
                names |= flags
                return own

    def _build(
        self, frame: LoopFrame, turn: _Turn, inits: dict[str, Num | Unbound],
        forgotten: frozenset[str], groups: Sequence[CarriedGroup],
    ) -> None:
        b = self.b
        named, body, ends, left = turn.carries, turn.body, turn.ends, turn.left
        accs: list[Accum] = []
        after: dict[str, Value] = {}
        for name, c in named.items():
            if c.step is not None:
                init = inits[name]
                assert isinstance(init, Num)
                if frame.exits:
                    after[name] = self.reached(c, init, ends[name], frame, accs)
                    continue
                after[name] = b.from_linear(induction_value(init, c.step, b.linear(frame.trips)))
                continue
            end = resolve_extremum(ends[name], body, b.name)
            accs += self._accumulators(c, inits[name], end, frame)
            after[name] = self._after(name, c, inits[name], end, frame)
        if left is not None:
            until: Expr | None = self.leaves(left, accs, frame)
        else:
            until = self._stop(frame, {n: c for n, c in named.items() if c.step is None}, accs)
        self.emit_loop(frame, body, accs, until)
        for name in forgotten:
            if not isinstance(b.env.get(name), ListRef):
                b.env[name] = Unbound()
        apart = {n for group in groups for n in group.names}
        b.env.update({n: v for n, v in after.items() if n not in apart})
        b.env.update({n: array_if_loop_ran(of, frame.some) for n, of in turn.arrays.items()})
        for group in groups:
            b.env.update(group.gather(after))

    def statements(self, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
        raise NotImplementedError

    def iteration(
        self, node: ast.For | ast.While, live: frozenset[str]
    ) -> tuple[Expr | None, dict[str, Value]]:
        raise NotImplementedError

    def tried_lists(self) -> AbstractContextManager[Trial]:
        """What is learnt inside of the elements of lists is forgotten, unless it holds."""
        raise NotImplementedError

    def appended(self, block: Sequence[ast.stmt]) -> set[str]:
        raise NotImplementedError


def _loop_target(node: ast.For | ast.While) -> str | None:
    if isinstance(node, ast.While):
        return None
    assert isinstance(node.target, ast.Name)
    return node.target.id


def _names_in_linear(linear: LinearForm, names: set[str]) -> bool:
    """Whether some of `names` occur in `linear`."""
    return any(isinstance(n, Var) and n.name in names for a in linear.terms for n in walk(a))
