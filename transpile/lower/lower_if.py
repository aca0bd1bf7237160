"""Lower `if`: both branches, and the join (phi) of the values that names have after them."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from loopir.analysis.conditions import condition_terms
from loopir.dtypes import DTYPES
from loopir.nodes import Assign, Call, Const, Expr, If, Stmt, Var, Yield

from ..analysis.liveness import names_assigned
from ..frontend.refusal import NoValue, refuse
from ..frontend.source import span_of
from ..types.linear_form import LinearForm
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
from .lists.append_only_lists import Lists
from .scalars.tagged_unions import CaseType, align_cases, narrowed_unions, zero_of_type
from .state.ir_builder import IRBuilder
from .state.symbol_values import Absent, ArrayRef, Unbound, UnionCase, UnionValue, Value

__all__ = ["Merging", "CONTINUE_FLAG", "Branches"]


class Merging(Lists):
    """Joins what names are after each of two branches."""

    def _merge(
        self,
        name: str,
        cond: Expr,
        a: Value | None,
        c: Value | None,
        yields: list[Yield],
        live: bool,
        stmt: ast.stmt,
    ) -> None:
        """The value of `name` after both branches."""
        b = self.b
        if a is not None and (a == c or same_storage(a, c)):
            b.env[name] = a
            return
        if not (isinstance(a, Num) and isinstance(c, Num)):
            b.env[name] = self._perhaps(name, cond, a, c, yields, stmt) if live else Unbound()
            return
        dtype = common_dtype(a, c)
        if dtype is None:
            b.env[name] = self._by_case(name, cond, a, c, yields, stmt) if live else Unbound()
            return
        y = Yield(b.name(name), cast(a.ir, dtype), cast(c.ir, dtype))
        yields.append(y)
        merged = with_joined_type(Var(y.name, dtype), cond, a, c)
        if a.is_weak is not None or c.is_weak is not None:  # told by names of the branches
            flag = Yield(b.name(f"{name}_py"), a.weak_now, c.weak_now)
            yields.append(flag)
            merged = replace(merged, is_weak=Var(flag.name, "bool"))
        if merged.python_int:
            merged = b.integer_num(merged.ir, merged.interval)
        b.env[name] = b.note_constant(merged, a, c)

    def _perhaps(
        self, name: str, cond: Expr, a: Value | None, c: Value | None, yields: list[Yield],
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
            return self._by_case(name, cond, a, c, yields, stmt)
        if like.boxed or not like.exact:
            return Unbound()
        zero = Const(DTYPES[like.dtype].numpy.type(0).item(), like.dtype)
        then, orelse = (zero if value is None else value.ir for value, _ in sides)
        y = Yield(self.b.name(name), then, orelse)
        (_, bound), (_, otherwise) = sides
        flag = Yield(self.b.name(f"{name}_set"), bound, otherwise)
        yields += [y, flag]
        value = Num(Var(y.name, like.dtype), like.strong, like.weak)
        if like.either:
            weak = [FALSE if v is None else v.weak_now for v, _ in sides]
            yields.append(Yield(self.b.name(f"{name}_py"), *weak))
            value = replace(value, is_weak=Var(yields[-1].name, "bool"))
        if value.python_int:
            spans = [v.interval for v in values]
            span = min(lo for lo, _ in spans), max(hi for _, hi in spans)
            value = self.b.integer_num(value.ir, (min(0, span[0]), max(0, span[1])))
        return Unbound(value, Var(flag.name, "bool"))

    def _by_case(
        self, name: str, cond: Expr, a: Value | None, c: Value | None, yields: list[Yield],
        stmt: ast.stmt,
    ) -> Value:
        """A name that has another type, or none, in each branch."""
        b = self.b
        sides = None if b.one_type else align_cases(b, a, c)
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

    def _merge_arrays(
        self, names: Set[str], cond: Expr, then: Mapping[str, Value], other: Mapping[str, Value],
        yields: list[Yield],
    ) -> set[str]:
        """Those of `names` that are another array after each branch, or one after one of them;
        they are known from now on.
        """
        b = self.b
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
    return b.integer_num(value.ir, (min(ends), max(ends))) if value.python_int else value


CONTINUE_FLAG = "#go"
"""What the names after a branch say of a loop that is to go on."""


class Branches(Merging):
    """Lowers ``if``."""

    def _if(
        self,
        test: ast.expr,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        stmt: ast.If,
        live: frozenset[str],
    ) -> None:
        raw = self.test(test)
        if isinstance(raw, Const):
            self.statements(body if raw.value else orelse, live)
        else:
            self.either_way(raw, body, orelse, stmt, live)

    def either_way(
        self,
        raw: Expr,
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
        stmt: ast.stmt,
        live: frozenset[str],
    ) -> None:
        """`body` where `raw` holds, `orelse` elsewhere."""
        b = self.b
        cond = b.bind(raw, "cond")
        self._first_asked(names_assigned(body) | names_assigned(orelse), live, stmt)
        for holds, side, rest in ((raw, body, orelse), (bool_op("not", raw), orelse, body)):
            if self._raises_there(side, live, holds):
                b.require(bool_op("not", holds), "GUARD_RAISES", stmt)
                b.env.update(narrowed_unions(b.env, bool_op("not", holds)))
                self.statements(rest, live)
                return
        outer = dict(b.env)
        fresh, others = frozenset(b.fresh), dict(b.others)
        with b.where(raw):
            then, then_env = self._branch(body, live, outer, raw)
        b.others = others | arrays_made_since(b, fresh, then_env)
        with b.where(bool_op("not", raw)):
            other, other_env = self._branch(orelse, live, outer, bool_op("not", raw))
        b.others = others
        yields: list[Yield] = []
        changed = names_assigned(body) | names_assigned(orelse)
        arrays = self._merge_arrays(changed & live, cond, then_env, other_env, yields)
        counters = self.appended([*body, *orelse])
        for name in sorted((changed | counters) - arrays):
            self._merge(
                name, cond, then_env.get(name), other_env.get(name), yields, name in live, stmt
            )
        if self._extrema(raw, then, other, yields):
            return
        self._first_read(then_env, other_env)
        if then or other or yields:
            b.block.append(If(cond, tuple(then), tuple(other), tuple(yields), span=span_of(stmt)))
        for y in yields:
            self._note_growth(y, then_env, other_env)

    def _raises_there(
        self, block: Sequence[ast.stmt], live: frozenset[str], cond: Expr
    ) -> bool:
        """Whether `block` raises where `cond` holds, for a name of it has no value then."""
        b = self.b
        known = narrowed_unions(b.env, cond)
        if not any(isinstance(v, UnionValue) and len(v.cases) == 1 for v in known.values()):
            return False
        try:
            with b.trial(), self.tried_lists():
                self._branch(block, live, dict(b.env), cond)
        except NoValue:
            return True
        return False

    def _first_asked(self, names: frozenset[str], live: frozenset[str], stmt: ast.stmt) -> None:
        """Of `names`, those that are parameters are known from now on."""
        for name in sorted(names & live & self.arguments.keys() - self.b.env.keys()):
            if isinstance(self.arguments[name], (ScalarType, ArrayType)):
                self._name(name, stmt)

    def _first_read(self, *envs: Mapping[str, Value]) -> None:
        """Globals that were first read in a branch are known from now on."""
        for name in self.b.params:
            for env in envs:
                if name not in self.b.env and name in env and self.b.is_param(name, env[name]):
                    self.b.env[name] = env[name]

    def _branch(
        self,
        block: Sequence[ast.stmt],
        live: frozenset[str],
        outer: dict[str, Value],
        cond: Expr,
        again: ast.expr | None = None,
    ) -> tuple[list[Stmt], dict[str, Value]]:
        """The statements of `block`, which run where `cond` holds, and the names after it; under
        `CONTINUE_FLAG`, whether `again` holds.
        """
        b = self.b
        out: list[Stmt] = []
        b.branches += 1
        b.env.update(narrowed_unions(b.env, cond))
        with b.into(out):
            self.statements(block, live)
            if again is not None:
                b.env[CONTINUE_FLAG] = Num(self.test(again), weak="bool")
        b.branches -= 1
        env = dict(b.env)
        b.env.clear()
        b.env.update(outer)
        return out, env

    def _extrema(
        self, cond: Expr, then: list[Stmt], other: list[Stmt], yields: list[Yield]
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
            if not self._tells_type(y.name, e):
                self.b.emit(Assign(y.name, e))
        return True

    def _tells_type(self, flag: str, told: Expr) -> bool:
        """Whether `flag` says of a name that it is a Python scalar; `told` does so in its place."""
        env = self.b.env
        for name, n in env.items():
            if isinstance(n, Num) and n.is_weak == Var(flag, "bool"):
                env[name] = replace(n, is_weak=told)
                return True
        return False

    def _note_growth(
        self, y: Yield, then_env: dict[str, Value], other_env: dict[str, Value]
    ) -> None:
        """Keeps track of how far a conditional update moves an integer accumulator."""
        b = self.b
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
            grown = [self.growth_from(s, base) for s in sides]
            if all(g is not None for g in grown):
                lows, highs = zip(*(g for g in grown if g is not None), strict=True)
                b.deltas[var] = (base, (min(lows), max(highs)))
                return


def _extremum_or_flag(cond: Expr, y: Yield, defined: Mapping[str, Expr]) -> Expr | None:
    """`y` as an extremum or a flag; None where it is neither."""
    sides = [defined.get(e.name, e) if isinstance(e, Var) else e for e in (y.then, y.orelse)]
    best = make_select(cond, *sides)
    if y.then.dtype != "bool":
        return best if isinstance(best, Call) and best.op in ("max", "min") else None
    outer = (isinstance(e, Const) or (isinstance(e, Var) and e.name not in defined) for e in sides)
    return best if all(outer) else None
