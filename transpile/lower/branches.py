"""``if``: branches, and the values of names after them."""

from __future__ import annotations

import ast
from dataclasses import replace

from loopir.nodes import Assign, Call, Const, Expr, If, Stmt, Var, Yield

from ..infer import Num, cast, choose, exactly, joined
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
        if self._extremum(raw, then, other, yields):
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
        carrier = self._carrier(a, c)
        if carrier is None:
            if live:
                refuse("LOWER_JOIN", f"`{name}` has a different type in each branch", stmt)
            b.env[name] = Unbound()
            return
        y = Yield(b.name(name), cast(a.ir, carrier), cast(c.ir, carrier))
        yields.append(y)
        merged = joined(Var(y.name, carrier), cond, a, c)
        if a.is_weak is not None or c.is_weak is not None:  # told by names of the branches
            flag = Yield(b.name(f"{name}_py"), a.weak_now, c.weak_now)
            yields.append(flag)
            merged = replace(merged, is_weak=Var(flag.name, "bool"))
        if merged.python_int:
            merged = b.integer_num(merged.ir, merged.interval)
        b.env[name] = merged

    def _extremum(
        self, cond: Expr, then: list[Stmt], other: list[Stmt], yields: list[Yield]
    ) -> bool:
        """``if v > m: m = v`` is ``m = max(m, v)``."""
        if len(yields) != 1 or not all(isinstance(s, Assign) for s in (*then, *other)):
            return False
        defined = {s.name: s.value for s in (*then, *other) if isinstance(s, Assign)}
        (y,) = yields
        sides = [defined.get(e.name, e) if isinstance(e, Var) else e for e in (y.then, y.orelse)]
        best = choose(cond, *sides)
        if not (isinstance(best, Call) and best.op in ("max", "min")):
            return False
        self.b.emit(Assign(y.name, best))
        return True

    @staticmethod
    def _carrier(a: Num, c: Num) -> str | None:
        if (a.strong and c.strong and a.strong != c.strong) or (
            a.weak and c.weak and a.weak != c.weak
        ):
            return None
        if a.dtype == c.dtype:
            return a.dtype if a.exact and c.exact else None
        for x, y in ((a, c), (c, a)):
            if exactly(y.ir, x.dtype) and x.strong and x.exact:
                return x.dtype
        return "f64" if a.exact and c.exact and {a.dtype, c.dtype} <= {"f32", "f64"} else None

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
