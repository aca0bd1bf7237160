"""``if``: branches, and the values of names after them."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from loopir.nodes import Assign, Call, Const, Expr, If, Stmt, Var, Yield

from ..infer import Num, carrier, cast, choose, joined
from ..ranges import Linear
from ..source import span_of
from .lists import Lists
from .liveness import assigned
from .refusal import refuse
from .values import Unbound, Value

__all__ = ["Branches"]


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
        then, then_env = self._branch(body, live, outer)
        other, other_env = self._branch(orelse, live, outer)
        yields: list[Yield] = []
        for name in sorted(assigned(body) | assigned(orelse)):
            self._merge(
                name, cond, then_env.get(name), other_env.get(name), yields, name in live, stmt
            )
        if self._extrema(raw, then, other, yields):
            return
        for name in b.params:  # globals first read in a branch
            for env in (then_env, other_env):
                if name in env and name not in b.env:
                    b.env[name] = env[name]
        if then or other or yields:
            b.block.append(If(cond, tuple(then), tuple(other), tuple(yields), span=span_of(stmt)))
        for y in yields:
            self._note_growth(y, then_env, other_env)

    def _branch(
        self, block: list[ast.stmt], live: frozenset[str], outer: dict[str, Value]
    ) -> tuple[list[Stmt], dict[str, Value]]:
        b = self.b
        out: list[Stmt] = []
        b.branches += 1
        with b.into(out):
            self.statements(block, live)
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
        if a == c and a is not None:
            b.env[name] = a
            return
        if not (isinstance(a, Num) and isinstance(c, Num)):
            b.env[name] = Unbound()
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


def _chosen(cond: Expr, y: Yield, defined: Mapping[str, Expr]) -> Expr | None:
    """`y` as an extremum or a flag; None where it is neither."""
    sides = [defined.get(e.name, e) if isinstance(e, Var) else e for e in (y.then, y.orelse)]
    best = choose(cond, *sides)
    if y.then.dtype != "bool":
        return best if isinstance(best, Call) and best.op in ("max", "min") else None
    outer = (isinstance(e, Const) or (isinstance(e, Var) and e.name not in defined) for e in sides)
    return best if all(outer) else None
