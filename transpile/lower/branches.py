"""``if``: branches, and the values of names after them."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from loopir.nodes import Assign, Call, Const, Expr, If, Stmt, Var, Yield
from loopir.types import DTYPES

from ..infer import FALSE, TRUE, Num, cast, logic
from ..join import carrier, choose, joined
from ..ranges import Linear
from ..source import span_of
from .beside import is_one_array, made_since
from .lists import Lists
from .liveness import assigned
from .refusal import refuse
from .values import Unbound, Value

__all__ = ["GO", "Branches"]

GO = "#go"
"""What the names after a branch say of a loop that is to go on."""


class Branches(Lists):
    """Lowers ``if``."""

    def _if(
        self,
        test: ast.expr,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        stmt: ast.If,
        live: frozenset[str],
    ) -> None:
        b = self.b
        raw = self.test(test)
        if isinstance(raw, Const):
            self.statements(body if raw.value else orelse, live)
            return
        cond = b.bind(raw, "cond")
        outer = dict(b.env)
        fresh, others = frozenset(b.fresh), dict(b.others)
        with b.where(raw):
            then, then_env = self._branch(body, live, outer)
        b.others = others | made_since(b, fresh, then_env)
        with b.where(logic("not", raw)):
            other, other_env = self._branch(orelse, live, outer)
        b.others = others
        yields: list[Yield] = []
        for name in sorted(assigned(body) | assigned(orelse)):
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

    def _first_read(self, *envs: Mapping[str, Value]) -> None:
        """Globals that were first read in a branch are known from now on."""
        for name in self.b.params:
            for env in envs:
                if name in env and name not in self.b.env:
                    self.b.env[name] = env[name]

    def _branch(
        self,
        block: list[ast.stmt],
        live: frozenset[str],
        outer: dict[str, Value],
        again: ast.expr | None = None,
    ) -> tuple[list[Stmt], dict[str, Value]]:
        """The statements of `block`, and the names after it; under `GO`, whether `again` holds."""
        b = self.b
        out: list[Stmt] = []
        b.branches += 1
        with b.into(out):
            self.statements(block, live)
            if again is not None:
                b.env[GO] = Num(self.test(again), weak="bool")
        b.branches -= 1
        env = dict(b.env)
        b.env.clear()
        b.env.update(outer)
        return out, env

    def _merge(
        self,
        name: str,
        cond: Expr,
        a: Value | None,
        c: Value | None,
        yields: list[Yield],
        live: bool,
        stmt: ast.If,
    ) -> None:
        """The value of `name` after both branches."""
        b = self.b
        if a is not None and (a == c or is_one_array(a, c)):
            b.env[name] = a
            return
        if not (isinstance(a, Num) and isinstance(c, Num)):
            b.env[name] = self._perhaps(name, cond, a, c, yields) if live else Unbound()
            return
        dtype = carrier(a, c)
        if dtype is None:
            if live:
                refuse("LOWER_JOIN", f"`{name}` has a different type in each branch", stmt)
            b.env[name] = Unbound()
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
        b.env[name] = merged

    def _perhaps(
        self, name: str, cond: Expr, a: Value | None, c: Value | None, yields: list[Yield]
    ) -> Unbound:
        """A name that not every path has bound: its value, and whether it has one."""
        sides = [_known(v) for v in (a, c)]
        values = [value for value, _ in sides if value is not None]
        like = values[0] if values else None
        if like is None or any(v.types != like.types or v.dtype != like.dtype for v in values):
            return Unbound()
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

    def _extrema(
        self, cond: Expr, then: list[Stmt], other: list[Stmt], yields: list[Yield]
    ) -> bool:
        """``if v > m: m = v`` is ``m = max(m, v)``; a flag beside it is chosen without a branch."""
        if not all(isinstance(s, Assign) for s in (*then, *other)):
            return False
        defined = {s.name: s.value for s in (*then, *other) if isinstance(s, Assign)}
        found = [_chosen(cond, y, defined) for y in yields]
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
        sides = [Linear.of(e) for e in (y.then, y.orelse)]
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


def _known(v: Value | None) -> tuple[Num | None, Expr]:
    """The value that a name has if it has one, and whether it does."""
    match v:
        case Num():
            return v, TRUE
        case Unbound(value=Num() as value, needed=needed) if needed is not None:
            return value, needed
        case _:
            return None, FALSE


def _chosen(cond: Expr, y: Yield, defined: Mapping[str, Expr]) -> Expr | None:
    """`y` as an extremum or a flag; None where it is neither."""
    sides = [defined.get(e.name, e) if isinstance(e, Var) else e for e in (y.then, y.orelse)]
    best = choose(cond, *sides)
    if y.then.dtype != "bool":
        return best if isinstance(best, Call) and best.op in ("max", "min") else None
    outer = (isinstance(e, Const) or (isinstance(e, Var) and e.name not in defined) for e in sides)
    return best if all(outer) else None
