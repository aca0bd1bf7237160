"""Macro driver: applies macros to the statements of a function, until none fires.

It walks over the statements in order, and keeps the facts about the local names. The first macro
that fires on a node replaces it; the replacement is expanded in turn. `transpile.expand` makes one
for the macros of its table, and calls `MacroDriver.block`.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...analysis.type_inference.flow_facts import (
    bind_within,
    enter_loop,
    join_environments,
    loop_iteration,
    record_facts,
)
from ..core_nodes import ReplayIf
from .lift_statements import LiftedExpression, lift_statement
from .macro_context import Context, Macro
from .macro_index import MacroIndex
from .macro_trace import active_trace

__all__ = ["MacroDriver"]

_TERMINATORS = ast.Return, ast.Raise, ast.Break, ast.Continue


class MacroDriver:
    """Applies macros to the statements of one function, in order, to a fixpoint.

    ``cx.facts.known`` are the facts that hold before the statement that is being expanded.
    """

    def __init__(self, macros: Sequence[Macro], cx: Context) -> None:
        self.index = MacroIndex(macros)
        self.cx = cx
        self.trace = active_trace()
        cx.expand = self.block
        cx.close()

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements` expanded. Those after a ``return``, ``raise``, ``break`` or ``continue`` are
        dropped: they are unreachable, for example where the types have decided a test.
        """
        out: list[ast.stmt] = []
        for s in statements:
            out += self.statement(s)
            if out and isinstance(out[-1], _TERMINATORS):
                break
        return out

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """`s` expanded until no macro fires on it: the replacement by the first macro that fires,
        expanded in turn (`block`), or else `s` with its blocks expanded (`_descend`). Updates the
        facts to those after `s`.
        """
        if not self.cx.open(s):
            return self._statement(s)
        try:
            return self._statement(s)
        finally:
            self.cx.close(s)

    def _statement(self, s: ast.stmt) -> list[ast.stmt]:
        """As `statement`, for a statement that is open (`Context.open`)."""
        facts = self.cx.facts
        before, rebound = dict(facts.known), bind_within(facts, s)
        replacement = self._replace(s)
        if replacement is not None:
            # the walruses of `s` are in the replacement, and are bound there: undo bind_within
            for name in rebound:
                facts.known.pop(name, None)
            facts.known |= {n: before[n] for n in rebound if n in before}
            return self.block(replacement)
        self._descend(s)
        return [s]

    def _replace(self, s: ast.stmt) -> list[ast.stmt] | None:
        """The replacement of `s` by the first macro that fires on it. If none does, `s` with its
        expressions rewritten once by the macros that fire on them, after the statements that these
        need (`lift_statement`). None if nothing is rewritten.
        """
        self.cx.at = self.cx.within = s
        trace = self.trace
        if trace is not None:
            if trace.exhausted:
                return None
            text = trace.before(s)
        for candidate in self.index.candidates(s, self.cx):
            new = candidate(s, self.cx)
            if isinstance(new, list):
                if trace is not None:
                    trace.fired(candidate, s, text, new)
                return new
        return lift_statement(s, self.cx, self._rewrite)

    def _rewrite(self, e: ast.expr) -> LiftedExpression | None:
        """The replacement of `e` by the first macro that fires on it, and the statements that the
        macro gave to `Context.before`; None if none fires.
        """
        outer, self.cx.at = self.cx.at, e
        trace = self.trace
        if trace is not None:
            if trace.exhausted:
                return None
            text = trace.before(e)
        try:
            for candidate in self.index.candidates(e, self.cx):
                new = candidate(e, self.cx)
                if isinstance(new, ast.expr):
                    before = self.cx.take_before()
                    if trace is not None:
                        trace.fired(candidate, e, text, [*before, new])
                    return LiftedExpression(before, new)
        finally:
            self.cx.at = outer
        return None

    def _descend(self, s: ast.stmt) -> None:
        """Expands the blocks of `s` in place. Updates the facts along each path: a loop body starts
        with the facts at the head of every iteration; paths that meet join their facts. The
        original code of a `ReplayIf` is not expanded.
        """
        facts = self.cx.facts
        match s:
            case ast.For() | ast.AsyncFor() | ast.While():
                before = dict(facts.known)
                enter_loop(facts, s)
                with loop_iteration(facts) as at_breaks:
                    s.body = self._nested(s.body)
                facts.known = join_environments(before, facts.known)
                s.orelse = self.block(s.orelse)
                facts.known = join_environments(facts.known, at_breaks)
            case ReplayIf():
                s.orelse = self.block(s.orelse)
            case ast.If():
                before = dict(facts.known)
                s.body = self._nested(s.body)
                after_body, facts.known = facts.known, before
                s.orelse = self._nested(s.orelse)
                facts.known = join_environments(after_body, facts.known)
            case ast.With() | ast.AsyncWith():
                record_facts(facts, s)
                s.body = self.block(s.body)
            case _:
                record_facts(facts, s)

    def _nested(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`block`, the body of a loop or branch, expanded."""
        self.cx.depth += 1
        out = self.block(block)
        self.cx.depth -= 1
        return out
