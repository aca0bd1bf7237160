"""Names after two branches: one value for both, or one of each type and which it is."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from dataclasses import replace

from loopir.nodes import Const, Expr, Var, Yield
from loopir.types import DTYPES

from ..infer import FALSE, TRUE, Num, cast, logic
from ..join import carrier, joined
from .beside import is_one_array
from .builder import Builder
from .cases import Kind, split, zero_of
from .implied import atoms
from .joint import JOINT, State, by_name, has_array, states
from .lists import Lists
from .refusal import refuse
from .values import Absent, ArrayRef, Case, Cases, Unbound, Value

__all__ = ["Merging"]


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
        if a is not None and (a == c or is_one_array(a, c)):
            b.env[name] = a
            return
        if not (isinstance(a, Num) and isinstance(c, Num)):
            b.env[name] = self._perhaps(name, cond, a, c, yields, stmt) if live else Unbound()
            return
        dtype = carrier(a, c)
        if dtype is None:
            b.env[name] = self._by_case(name, cond, a, c, yields, stmt) if live else Unbound()
            return
        y = Yield(b.name(name), cast(a.ir, dtype), cast(c.ir, dtype))
        yields.append(y)
        merged = joined(Var(y.name, dtype), cond, a, c)
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
        sides = [_known(v) for v in (a, c)]
        values = [value for value, _ in sides if value is not None]
        if not values and not (isinstance(a, Cases) or isinstance(c, Cases)):
            return Unbound()
        like = values[0] if values and not any(isinstance(v, Cases) for v in (a, c)) else None
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
        sides = None if b.one_type else split(b, a, c)
        if sides is None:
            return refuse("LOWER_JOIN", f"`{name}` has a different type in each branch", stmt)
        out: list[Case] = []
        rest: Expr = TRUE
        for kind, (then, other) in sides.items():
            when = rest
            if len(out) + 1 < len(sides):
                flag = _flag(b, f"{name}_is", cond, then.when, other.when, yields)
                when, rest = logic("and", rest, flag), logic("and", rest, logic("not", flag))
            out.append(Case(_given(b, name, kind, then, other, yields), when))
        return Cases(tuple(out))

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
            if v != w and (has_array(v) or has_array(w)) and not (v and is_one_array(v, w))
        ]
        sides = states(b, then, apart), states(b, other, apart)
        if not apart or sides[0] is None or sides[1] is None:
            return set()
        kinds = dict.fromkeys((*sides[0], *sides[1]))
        if len(kinds) > JOINT:
            return set()
        whens: dict[State, Expr] = {}
        rest: Expr = TRUE
        for state in kinds:
            when, ends = rest, [side.get(state, FALSE) for side in sides if side is not None]
            if len(whens) + 1 < len(kinds):
                flag = _flag(b, f"{apart[0]}_is", cond, ends[0], ends[1], yields)
                when, rest = logic("and", rest, flag), logic("and", rest, logic("not", flag))
            whens[state] = when
        b.env.update(by_name(apart, whens))
        return set(apart)


def _known(v: Value | None) -> tuple[Num | None, Expr]:
    """The value that a name has if it has one, and whether it does."""
    match v:
        case Num():
            return v, TRUE
        case Unbound(value=Num() as value, needed=needed) if needed is not None:
            return value, needed
        case _:
            return None, FALSE


def _flag(
    b: Builder, hint: str, cond: Expr, then: Expr, other: Expr, yields: list[Yield]
) -> Expr:
    """A bool that is another one in each branch."""
    around = (c for v in b.env.values() if isinstance(v, Cases) for c in v.cases)
    known = {e for c in around for e in atoms(c.when)}
    if known.issuperset((*atoms(then), *atoms(other))):  # as the names around are told apart
        return logic("or", logic("and", cond, then), logic("and", logic("not", cond), other))
    yields.append(Yield(b.name(hint), then, other))
    return Var(yields[-1].name, "bool")


def _given(
    b: Builder, name: str, kind: Kind, then: Case, other: Case, yields: list[Yield]
) -> Num | ArrayRef | Absent:
    """What a name is that is of this type."""
    x, y = then.value, other.value
    if not (isinstance(x, Num) and isinstance(y, Num)):
        return x
    for n, m in ((x, other), (y, then)):
        if m.when == FALSE and isinstance(n.ir, Const):
            return n
    yields.append(Yield(b.name(name), x.ir, y.ir))
    value = replace(zero_of(kind), ir=Var(yields[-1].name, x.dtype))
    ends = (*x.interval, *y.interval)
    return b.integer_num(value.ir, (min(ends), max(ends))) if value.python_int else value
