"""Applies macros to a function until none has anything left to do."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from types import MappingProxyType
from typing import TypeAlias

from ..below import below
from ..types import ArrayType, ScalarType
from .attempts import attempted
from .attributes import Stored, with_stores
from .contents import contents
from .context import Context
from .copying import copied
from .deciding import decided, may_decide
from .env import Env
from .exits import structured
from .firing import Firing
from .flow import joined
from .itemtypes import know_items
from .lifting import Lifted, lift_statement
from .liveness import PYTHON, assigned, exposed, left_to_python, reads
from .matching import matched
from .names import COMPREHENSIONS, rename, used
from .newlists import know_nested
from .tablekinds import TABLE_TYPES, TABLES
from .tables import know_tables
from .tuples import untupled
from .walrus import asked_within

__all__ = ["Macro", "expand_only", "expand_with", "without_attempts"]

Macro: TypeAlias = Callable[[ast.AST, Context], "list[ast.stmt] | ast.expr | None"]
"""From a statement the statements, or from an expression the expression, that replace it."""


def expand_with(
    macros: Sequence[Macro], tree: ast.FunctionDef, env: Env, stored: Stored = MappingProxyType({}),
    changed: Collection[str] = (),
) -> ast.FunctionDef:
    """A copy of `tree` with `macros` applied, the earlier ones first, and attributes `stored` in
    the end; positions are kept. What local functions bind that are still called is ``changed``.
    """
    given, tree, holds = _given(tree, env), copied(tree), contents(tree)
    if holds.has(ast.While) and holds.has(ast.NamedExpr):
        asked_within(tree)
    asked: dict[str, ast.stmt] = {}
    # before ways out become flags, for some may be gone
    first = [m for m in (decided, matched, attempted) if m in macros]
    if first and (may_decide(holds, env) or holds.has(ast.Match, ast.Try)):
        tree.body = _Driver(first, Context(tree, env, asked, changed)).block(tree.body)
    cx = Context(tree, env, asked, changed)
    if holds.has(*TABLES) or holds.may_call(TABLE_TYPES, cx.resolve):
        know_tables(tree, cx, lambda look: expand_only([look], tree, env))
    lists = holds.has(ast.List, ast.ListComp) or "append" in holds.methods
    if lists:
        know_nested(tree, cx)
    if lists or holds.called & {"list", "sorted"} or cx.facts.tuple_lists:
        know_items(tree, cx, lambda look: expand_only([look], tree, env))
    if holds.leaving:
        structured(tree, cx)
    cx.facts.learn(tree)
    tree.body = _Driver(macros, cx).block(tree.body)
    if cx.facts.taken_apart:
        untupled(tree.body, cx.facts.taken_apart)
    if stored:
        with_stores(tree, stored)
    for name in sorted(given - reads(tree.body)):  # what was made of it goes by its type
        cx.ask(ast.Name(name, ast.Load()))
    tree.body[:0] = [*asked.values(), *_lengths(cx)]
    return ast.fix_missing_locations(tree)


def _lengths(cx: Context) -> list[ast.stmt]:
    """Leaves to Python the calls where an axis is not of length 1 as it was taken to be."""
    axes = ((cx.expr(name), ast.Constant(k)) for name, ks in cx.facts.ones.items() for k in ks)
    text = f"if X.shape[K] != 1:\n    {PYTHON!r}"
    asked = [ast.dump(s) for s in cx.tree.body]
    made = (s for x, k in axes for s in cx.code(text, X=x, K=k))
    return [s for s in made if ast.dump(s) not in asked]


def _given(tree: ast.FunctionDef, env: Env) -> set[str]:
    """The parameters, and the free arrays and numbers, that `tree` reads."""
    given = {a.arg for a in below(tree.args) if isinstance(a, ast.arg)}
    read = exposed(tree.body)
    within = [n for n in below(*tree.body) if isinstance(n, (*COMPREHENSIONS, ast.Lambda))]
    inner = {name for n in within for name in used(n)}
    given = {n for n in given & read if n not in inner or _is_read(n, tree.body)}
    types = {n: env.type(ast.Name(n, ast.Load())) for n in read - inner - assigned(tree.body)}
    return given | {n for n, ty in types.items() if isinstance(ty, (ArrayType, ScalarType))}


def _is_read(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether `body` reads `name`, which may be another one in an inner scope."""
    return "" in exposed([rename(s, {name: ""}) for s in body])


def expand_only(macros: Sequence[Macro], tree: ast.FunctionDef, env: Env) -> ast.FunctionDef:
    """A copy of `tree` with nothing but `macros` applied: its ways out stay what they are."""
    tree = copied(tree)
    asked: dict[str, ast.stmt] = {}
    body = _Driver(macros, Context(tree, env, asked)).block(tree.body)
    tree.body = [*asked.values(), *body]
    return ast.fix_missing_locations(tree)


def without_attempts(
    body: list[ast.stmt], before: Sequence[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """`body`, which runs behind `before`, with each ``try`` that is known as questions."""
    if not any(isinstance(n, ast.Try) for n in below(*body)):
        return body
    outer, known = cx.expand, dict(cx.facts.known)
    try:
        for s in before:
            cx.facts.record(s)
        return _Driver([attempted], cx).block([copied(s) for s in body])
    finally:
        cx.expand, cx.facts.known = outer, known


_ENDS = ast.Return, ast.Raise, ast.Break, ast.Continue


class _Driver:
    def __init__(self, macros: Sequence[Macro], cx: Context) -> None:
        self.firing = Firing(macros)
        self.cx = cx
        cx.expand = self.block

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            out += self.statement(s)
            if out and isinstance(out[-1], _ENDS):  # of what types decide, the rest is gone
                break
        return out

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        facts = self.cx.facts
        before, names = dict(facts.known), facts.bind_within(s)
        new = self._replaced(s)
        if new is not None:  # what is left binds them in its turn
            for name in names:
                facts.known.pop(name, None)
            facts.known |= {n: before[n] for n in names if n in before}
            return self.block(new)
        self._descend(s)
        return [s]

    def _replaced(self, s: ast.stmt) -> list[ast.stmt] | None:
        self.cx.at = self.cx.within = s
        for macro in self.firing.asked(s, self.cx):
            new = macro(s, self.cx)
            if isinstance(new, list):
                return new
        return lift_statement(s, self.cx, self._rewrite)

    def _rewrite(self, e: ast.expr) -> Lifted | None:
        outer, self.cx.at = self.cx.at, e
        try:
            for macro in self.firing.asked(e, self.cx):
                new = macro(e, self.cx)
                if isinstance(new, ast.expr):
                    return Lifted(self.cx.take_before(), new)
        finally:
            self.cx.at = outer
        return None

    def _descend(self, s: ast.stmt) -> None:
        """Expands the blocks of a compound statement; facts follow the flow."""
        facts = self.cx.facts
        match s:
            case ast.For() | ast.AsyncFor() | ast.While():
                before = dict(facts.known)
                facts.enter(s)
                with facts.turn() as left:
                    s.body = self._inside(s.body)
                facts.known = joined(before, facts.known)
                s.orelse = self.block(s.orelse)
                facts.known = joined(facts.known, left)
            case ast.If() if left_to_python(s):
                s.orelse = self.block(s.orelse)
            case ast.If():
                before = dict(facts.known)
                s.body = self._inside(s.body)
                after, facts.known = facts.known, before
                s.orelse = self._inside(s.orelse)
                facts.known = joined(after, facts.known)
            case ast.With() | ast.AsyncWith():
                facts.record(s)
                s.body = self.block(s.body)
            case _:
                facts.record(s)

    def _inside(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`block`, which stands in a loop or branch."""
        self.cx.depth += 1
        out = self.block(block)
        self.cx.depth -= 1
        return out
