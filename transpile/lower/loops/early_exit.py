"""Lower an iteration of a loop with an early exit: what runs in it, and whether it is the last."""
from __future__ import annotations

import ast

from loopir.nodes import Const, Expr, If, Var, Yield

from ...analysis.liveness import names_assigned, names_read
from ...frontend.source import span_of
from ...types.typed_values import FALSE, Num, bool_op, cast
from ..lower_if import CONTINUE_FLAG, Branches
from ..state.symbol_values import Value
from .loop_exits import break_index

__all__ = ["Leaving"]


class Leaving(Branches):
    """Lowers the bodies of loops."""

    def iteration(
        self, node: ast.For | ast.While, live: frozenset[str]
    ) -> tuple[Expr | None, dict[str, Value]]:
        """Whether this was the last iteration (None: only the trip count says), and the names as
        they are where it was not.
        """
        b, at = self.b, break_index(node.body)
        again = node.test if isinstance(node, ast.While) else None
        live = live | names_read([again]) if again else live
        if at is None:
            self.statements(node.body, live)
            last = None if again is None else bool_op("not", b.bind(self.test(again), "go"))
            return last, dict(b.env)
        way, rest = node.body[at], node.body[at + 1 :]
        assert isinstance(way, ast.If)
        self.statements(node.body[:at], live | names_read([way.test, *rest]))
        left = b.bind(self.test(way.test), "left")
        if not rest and again is None:
            return left, dict(b.env)
        return self._unless(left, rest, again, live, way)

    def _unless(
        self,
        left: Expr,
        rest: list[ast.stmt],
        again: ast.expr | None,
        live: frozenset[str],
        way: ast.If,
    ) -> tuple[Expr, dict[str, Value]]:
        """What follows the way out, and the loop's own condition behind it."""
        b = self.b
        if isinstance(left, Const) and left.value:
            return left, dict(b.env)
        cond = b.bind(bool_op("not", left), "stays")
        then, env = self._branch(rest, live, dict(b.env), cond, again)
        yields: list[Yield] = []
        outer = dict(b.env)
        arrays = self._merge_arrays(names_assigned(rest) & live, cond, env, outer, yields)
        for name in sorted(names_assigned(rest) - arrays):
            self._merge(name, cond, env.get(name), outer.get(name), yields, name in live, way)
        self._first_read(env)
        go = env.pop(CONTINUE_FLAG, None)
        if isinstance(go, Num):
            y = Yield(b.name("go"), cast(go.ir, "bool"), FALSE)
            yields.append(y)
            left = bool_op("not", Var(y.name, "bool"))
        b.block.append(If(cond, tuple(then), (), tuple(yields), span=span_of(way)))
        for y in yields:
            self._note_growth(y, env, outer)
        return left, env
