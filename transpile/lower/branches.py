"""``if``: branches, and the values of names after them."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from loopir.nodes import Assign, Call, Const, Expr, If, Stmt, Var, Yield

from ..infer import Num, logic
from ..join import choose
from ..macros.liveness import assigned
from ..ranges import Linear
from ..source import span_of
from ..types import ArrayType, ScalarType
from .beside import made_since
from .cases import narrowed
from .merging import Merging
from .refusal import NoValue
from .values import Cases, Value

__all__ = ["GO", "Branches"]

GO = "#go"
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
        self._first_asked(assigned(body) | assigned(orelse), live, stmt)
        for holds, side, rest in ((raw, body, orelse), (logic("not", raw), orelse, body)):
            if self._raises_there(side, live, holds):
                b.require(logic("not", holds), "GUARD_RAISES", stmt)
                b.env.update(narrowed(b.env, logic("not", holds)))
                self.statements(rest, live)
                return
        outer = dict(b.env)
        fresh, others = frozenset(b.fresh), dict(b.others)
        with b.where(raw):
            then, then_env = self._branch(body, live, outer, raw)
        b.others = others | made_since(b, fresh, then_env)
        with b.where(logic("not", raw)):
            other, other_env = self._branch(orelse, live, outer, logic("not", raw))
        b.others = others
        yields: list[Yield] = []
        changed = assigned(body) | assigned(orelse)
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
        known = narrowed(b.env, cond)
        if not any(isinstance(v, Cases) and len(v.cases) == 1 for v in known.values()):
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
        `GO`, whether `again` holds.
        """
        b = self.b
        out: list[Stmt] = []
        b.branches += 1
        b.env.update(narrowed(b.env, cond))
        with b.into(out):
            self.statements(block, live)
            if again is not None:
                b.env[GO] = Num(self.test(again), weak="bool")
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
