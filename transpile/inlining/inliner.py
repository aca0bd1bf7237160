"""Puts the bodies of Python functions in the place of their calls, in Python's order."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..below import below
from ..macros.context import Context
from ..macros.driver import Macro
from ..macros.env import Env
from ..macros.exits import regular
from ..macros.lifting import lift_statement
from ..macros.names import bound, rename
from ..options import Options
from ..plan import Home, Ref
from ..rejections import Refused
from ..scope import Scope
from ..source import Source
from ..types import ArgType, Function
from .calls import Calls
from .excluded import less
from .methods import is_property

__all__ = ["Inliner"]


class Inliner(Calls):
    """Inlines the calls of one function, under one call signature."""

    def __init__(
        self, source: Source, env: Env, scope: Scope, types: Mapping[str, ArgType],
        others: Sequence[Macro] = (), options: Options | None = None,
    ) -> None:
        super().__init__(source, env, scope, types, others, options)
        self._types = types

    def found(self) -> tuple[tuple[Home, ...], tuple[Ref, ...]]:
        """Names that are read ahead, and what must hold at each call."""
        return self.homes.found()

    def whole(self) -> ast.FunctionDef:
        """The function with its calls inlined; those in comprehensions come later."""
        self._name_functions()
        self.tree.body = self.block(self.tree.body)
        return self.tree

    def late(self, node: ast.AST, cx: Context) -> ast.expr | None:
        """As a macro: calls that have come to stand where they can be inlined."""
        if not isinstance(node, ast.expr):
            return None
        outer, self.cx = self.cx, cx
        self._loops += cx.depth
        try:
            found = self._rewrite(node)
        finally:
            self._loops -= cx.depth
            self.cx = outer
        if found is None:
            return None
        before = regular(found.before, cx)
        cx.bind(bound(*before))
        cx.before(*before)
        return found.value

    def _name_functions(self) -> None:
        """Arguments that are functions get names that can be asked what they are."""
        changed = bound(*self.tree.body)
        names: dict[str, str | ast.expr] = {
            name: self.homes.name(name, name, ty.value)
            for name, ty in self._types.items()
            if isinstance(ty, Function) and name not in changed
        }
        if names:
            self.tree.body = [rename(s, names) for s in self.tree.body]

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements` with calls inlined."""
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            self.cx.at = s
            if (defined := self._defined(s, statements, k)) is not None:
                out += defined
            else:
                out += self._statement(s)
        return out

    def _defined(
        self, s: ast.stmt, block: Sequence[ast.stmt], k: int
    ) -> list[ast.stmt] | None:
        """For a function that is defined in `block` and only called there."""
        match s:
            case ast.FunctionDef(name=name, decorator_list=[]):
                tree: ast.FunctionDef | ast.Lambda = s
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as tree):
                pass
            case _:
                return None
        there = {n for t in (*self.bodies[-1], *block) for n in below(t)}
        here = {n for t in block[k:] for n in below(t)}
        elsewhere = (n for n in there - here if isinstance(n, (ast.Name, ast.FunctionDef)))
        if name in {getattr(n, "id", getattr(n, "name", "")) for n in elsewhere}:
            return None
        given = {a.arg for a in below(self.tree.args) if isinstance(a, ast.arg)}
        if name in bound(*block[k + 1 :]) | self.written | given:
            return None
        return self._define(name, tree)

    def _statement(self, s: ast.stmt) -> list[ast.stmt]:
        match s:
            case ast.While(test=test, body=body, orelse=[]) if self._has_calls(test):
                ends = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
                for node in below(ends):
                    if not hasattr(node, "lineno"):
                        ast.copy_location(node, test)
                new = ast.While(ast.copy_location(ast.Constant(True), test), [ends, *body], [])
                s = ast.copy_location(new, s)
            case ast.Expr(value=ast.IfExp(test=test, body=body, orelse=orelse)):
                then, other = (ast.copy_location(ast.Expr(e), e) for e in (body, orelse))
                s = ast.copy_location(ast.If(test, [then], [other]), s)
            case ast.AugAssign(target=ast.Subscript()):
                return self._augmented(s)
            case ast.AugAssign(target=ast.Attribute() as target, value=value) if (
                self._has_calls(value)
            ):
                return self.block(self._read_first(s, target))
        *before, last = self._lifted(s)
        self._descend(last)
        return [*before, *_needed(last, s)]

    def _lifted(self, s: ast.stmt) -> list[ast.stmt]:
        return lift_statement(s, self.cx, self._rewrite) or [s]

    def _read_first(self, s: ast.AugAssign, target: ast.Attribute) -> list[ast.stmt]:
        """An attribute is read, changed in place and set."""
        text = "NAME = TARGET\nNAME += E\nTARGET = NAME"
        lines = self.cx.code(text, NAME=self._fresh(target.attr), TARGET=target, E=s.value)
        assert isinstance(lines[1], ast.AugAssign)
        lines[1].op = s.op
        return lines

    def _augmented(self, s: ast.AugAssign) -> list[ast.stmt]:
        """The element is read before the value is computed: the call must not write any."""
        assert isinstance(s.target, ast.Subscript)
        if self._has_calls(s.target.slice) and not self._has_calls(s.target.value):
            return self.block(self._placed_first(s, s.target))
        *before, last = self._lifted(s)
        stores = (n for b in before for n in below(b) if isinstance(n, ast.Subscript))
        return [s] if any(not isinstance(n.ctx, ast.Load) for n in stores) else [*before, last]

    def _placed_first(self, s: ast.AugAssign, target: ast.Subscript) -> list[ast.stmt]:
        """Subscripts are computed once, before the element is read."""
        indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        lines: list[ast.stmt] = []
        for k, index in enumerate(indices):
            if not isinstance(index, (ast.Slice, ast.Constant)):
                name = self._fresh("i")
                lines += self.cx.code("NAME = E", NAME=name, E=index)
                indices[k] = ast.copy_location(ast.Name(name, ast.Load()), index)
        if not isinstance(target.slice, ast.Tuple):
            target.slice = indices[0]
        return [*lines, s]

    def _descend(self, s: ast.stmt) -> None:
        match s:
            case ast.For() | ast.While():
                self._loops += 1
                s.body = self.block(s.body)
                self._loops -= 1
                s.orelse = self.block(s.orelse)
            case ast.If():
                outer, fact = self.facts, less(s.test)
                if fact and not fact.names & (bound(*s.body) | self.written):
                    self.facts = [*outer, fact]
                s.body = self.block(s.body)
                self.facts = outer
                s.orelse = self.block(s.orelse)

    def _has_calls(self, e: ast.expr) -> bool:
        inner = [*below(e)]
        calls = (n for n in inner if isinstance(n, ast.Call))
        read = (isinstance(n, ast.Attribute) and is_property(n, self._objects) for n in inner)
        return any(read) or any(self._is_inlined(n) for n in calls)

    def _is_inlined(self, call: ast.Call) -> bool:
        try:
            return not is_property(call.func, self._objects) and self._callee(call) is not None
        except Refused:
            return False


def _needed(last: ast.stmt, s: ast.stmt) -> list[ast.stmt]:
    """`last`, unless it is the value of a call that nobody takes."""
    if last is s or not isinstance(last, ast.Expr):
        return [last]
    return [] if isinstance(last.value, (ast.Constant, ast.Name)) else [last]
