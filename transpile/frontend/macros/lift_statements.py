"""Lift statements out of expressions (A-normal form), in Python's order of evaluation."""
from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ...ops import OF_LISTS
from ..ast_names import COMPREHENSIONS, bound_names, names_used
from ..ast_walk import copy_tree
from ..core_nodes import copy_location
from .macro_context import Context

__all__ = ["LiftedExpression", "Rewrite", "lift_statement"]


class LiftedExpression(NamedTuple):
    """An expression, and the statements that must run before it."""

    before: list[ast.stmt]
    value: ast.expr


_N = TypeVar("_N", bound=ast.AST)

Rewrite: TypeAlias = Callable[[ast.expr], "LiftedExpression | None"]
"""The macros on one expression; None where none applies."""


def lift_statement(s: ast.stmt, cx: Context, rewrite: Rewrite) -> list[ast.stmt] | None:
    """Apply `rewrite` to the expressions of `s`, in Python's order of evaluation.

    Statements that a rewrite needs are put in front of `s`, and what Python evaluates before them
    is bound to fresh names first. Returns None if nothing was rewritten.
    """
    return _Lifter(cx, rewrite).statement(s)


class _Lifter:
    def __init__(self, cx: Context, rewrite: Rewrite) -> None:
        self.cx = cx
        self.rewrite = rewrite

    def statement(self, s: ast.stmt) -> list[ast.stmt] | None:
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BoolOp() as value) if (
                _begins_with(value, name)
            ):
                return self._search(name, value) or self._fields(s, ["value"])
            case ast.Assign():
                return self._fields(s, ["value", "targets"])
            case ast.AnnAssign(target=ast.Name(), value=ast.expr()):
                return self._fields(s, ["value"])
            case ast.AugAssign(target=target, value=value) if names_used(target) & (
                bound_names(value) | self.cx.facts.changed_by([value])
            ):
                return None  # the target is read before its name is bound
            case ast.AugAssign(target=ast.Name(id=name)):
                lifted = self._fields(s, ["value"])
                return lifted if lifted and name not in self._bound(lifted[:-1]) else None
            case ast.Return(value=ast.expr()) | ast.Expr():
                return self._fields(s, ["value"])
            case ast.If() | ast.Assert():
                return self._fields(s, ["test"])
            case ast.For():
                return self._fields(s, ["iter"])
            case ast.While(orelse=[]):
                return self._while(s)
        return None

    def _while(self, s: ast.While) -> list[ast.stmt] | None:
        """What comes before its test comes before each."""
        cx, known = self.cx, dict(self.cx.facts.known)
        cx.facts.enter(s)
        cx.depth += 1
        found = self.lift(s.test)
        cx.depth -= 1
        cx.facts.known = known
        if not found.before:
            if found.value is s.test:
                return None
            new: ast.While = _shallow_copy(s)
            new.test = found.value
            return [new]
        asked = cx.code("BEFORE\nGO = E", GO=cx.fresh("go"), BEFORE=found.before, E=found.value)
        assert isinstance(asked[-1], ast.Assign)
        body = [*s.body, *map(copy_tree, asked)]
        return [*asked, *cx.code("while GO: BODY", GO=asked[-1].targets[0], BODY=body)]

    def _fields(self, s: ast.stmt, names: list[str]) -> list[ast.stmt] | None:
        lifted = self._operands(s, lambda slots: [slot for slot in slots if slot.field in names])
        return None if lifted is None else [*lifted[0], lifted[1]]

    def _search(self, name: str, value: ast.BoolOp) -> list[ast.stmt] | None:
        """``a = a or E`` → ``if not a: …; a = E``"""
        found = self.lift(_rest(value))
        if not found.before:
            return None
        return self.cx.code(
            "if TEST:\n    BEFORE\n    NAME = E",
            TEST=self._goes_on(value.op, ast.Name(name, ast.Load())),
            BEFORE=found.before,
            NAME=name,
            E=found.value,
        )

    def lift(self, e: ast.expr) -> LiftedExpression:
        before: list[ast.stmt] = []
        while (found := self.rewrite(e)) is not None:
            before += found.before
            e = found.value
        inside = self._inside(e)
        return LiftedExpression(before + inside.before, inside.value)

    def _inside(self, e: ast.expr) -> LiftedExpression:
        match e:
            case ast.BoolOp():
                return self._bool(e)
            case ast.IfExp():
                return self._if(e)
            case ast.Lambda() | ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return LiftedExpression([], e)
            case _ if isinstance(e, COMPREHENSIONS):
                return LiftedExpression([], e)
        # a < b < c: what follows `b` may not be reached
        reached = slice(2) if isinstance(e, ast.Compare) else slice(None)
        lifted = self._operands(e, lambda slots: slots[reached])
        return LiftedExpression([], e) if lifted is None else LiftedExpression(*lifted)

    def _operands(
        self, node: _N, chosen: Callable[[list[_Slot]], list[_Slot]]
    ) -> tuple[list[ast.stmt], _N] | None:
        """The statements lifted from the `chosen` operands of `node`, and a copy of `node` without
        them; None if nothing was rewritten. What precedes lifted statements is computed before
        them.
        """
        parts = [(s, self.lift(s.get())) for s in chosen(_slots(node))]
        if all(not p.before and p.value is s.get() for s, p in parts):
            return None
        new: _N = _shallow_copy(node)
        return self._in_order(chosen(_slots(new)), [p for _, p in parts]), new

    def _in_order(
        self, slots: Sequence[_Slot], parts: Sequence[LiftedExpression]
    ) -> list[ast.stmt]:
        """Puts the values of `parts` in `slots`, and returns the statements that come before."""
        last = max((k for k, p in enumerate(parts) if p.before), default=-1)
        before: list[ast.stmt] = []
        for k, (slot, part) in enumerate(zip(slots, parts, strict=True)):
            before += part.before
            value = part.value
            if k < last and slot.field != "func":
                later = self._bound([s for p in parts[k + 1 :] for s in p.before])
                value = self._bind(value, before, later)
            slot.set(value)
        return before

    def _bound(self, before: Sequence[ast.stmt]) -> set[str]:
        return bound_names(*before) | self.cx.facts.changed_by(before)

    def _bind(self, e: ast.expr, before: list[ast.stmt], later: set[str]) -> ast.expr:
        """`e` computed now; the names of `later` are bound anew."""
        match e:
            case ast.Constant() | ast.Lambda():
                return e
            case ast.Name(id=name) if name not in later:
                return e
            case ast.Slice() | ast.Tuple() | ast.Dict() | ast.Starred():
                new: ast.expr = _shallow_copy(e)
                for slot in _slots(new):
                    slot.set(self._bind(slot.get(), before, later))
                return new
            case ast.Attribute() if self.cx.resolve(e) is not None:
                return e
            case ast.Call(func=func) if any(self.cx.resolve(func) is f for f in OF_LISTS):
                return e  # which is the lists, whatever comes to them
        name = self.cx.fresh("t")
        before += self.cx.code("NAME = E", NAME=name, E=e)
        return ast.Name(name, ast.Load())

    def _bool(self, e: ast.BoolOp) -> LiftedExpression:
        after = _rest(e)
        first, rest = self.lift(e.values[0]), self.lift(after)
        if not rest.before:
            if not first.before and first.value is e.values[0] and rest.value is after:
                return LiftedExpression([], e)
            values = [first.value, rest.value]
            return LiftedExpression(first.before, copy_location(ast.BoolOp(e.op, values), e))
        name = self.cx.fresh("t")
        lines = self.cx.code(
            "NAME = A\nif TEST:\n    BEFORE\n    NAME = B",
            NAME=name,
            A=first.value,
            TEST=self._goes_on(e.op, ast.Name(name, ast.Load())),
            BEFORE=rest.before,
            B=rest.value,
        )
        return LiftedExpression(first.before + lines, ast.Name(name, ast.Load()))

    def _goes_on(self, op: ast.boolop, value: ast.expr) -> ast.expr:
        """Whether the operand after `value` is evaluated."""
        return value if isinstance(op, ast.And) else self.cx.expr("not A", A=value)

    def _if(self, e: ast.IfExp) -> LiftedExpression:
        test, body, orelse = self.lift(e.test), self.lift(e.body), self.lift(e.orelse)
        if not (body.before or orelse.before):
            if (test.value, body.value, orelse.value) == (e.test, e.body, e.orelse):
                return LiftedExpression(test.before, e)
            new = ast.IfExp(test.value, body.value, orelse.value)
            return LiftedExpression(test.before, copy_location(new, e))
        name = self.cx.fresh("t")
        lines = self.cx.code(
            "if TEST:\n    THEN\n    NAME = A\nelse:\n    ELSE\n    NAME = B",
            TEST=test.value,
            THEN=body.before,
            ELSE=orelse.before,
            NAME=name,
            A=body.value,
            B=orelse.value,
        )
        return LiftedExpression(test.before + lines, ast.Name(name, ast.Load()))


class _Slot(NamedTuple):
    """A place of an operand: ``holder.key``, or ``holder[key]``."""

    field: str
    holder: Any
    key: str | int

    def get(self) -> ast.expr:
        at = self.key
        value = self.holder[at] if isinstance(at, int) else getattr(self.holder, at)
        assert isinstance(value, ast.expr)
        return value

    def set(self, value: ast.expr) -> None:
        if isinstance(self.key, int):
            self.holder[self.key] = value
        else:
            setattr(self.holder, self.key, value)


def _shallow_copy(node: Any) -> Any:
    """A copy of `node` whose operands can be replaced without changing `node`."""
    new = copy.copy(node)
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            parts = [copy.copy(v) if isinstance(v, ast.keyword) else v for v in value]
            setattr(new, field, parts)
    return new


def _slots(node: ast.AST) -> list[_Slot]:
    """The operands of `node`, in the order of evaluation."""
    slots: list[_Slot] = []
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            slots.append(_Slot(field, node, field))
        elif isinstance(value, list):
            for k, v in enumerate(value):
                if isinstance(v, ast.expr):
                    slots.append(_Slot(field, value, k))
                elif isinstance(v, ast.keyword):
                    slots.append(_Slot(field, v, "value"))
    if isinstance(node, ast.Assign):
        slots.sort(key=lambda s: s.field != "value")
    return slots


def _begins_with(value: ast.BoolOp, name: str) -> bool:
    return isinstance(value.values[0], ast.Name) and value.values[0].id == name


def _rest(e: ast.BoolOp) -> ast.expr:
    """The operands after the first."""
    if len(e.values) == 2:
        return e.values[1]
    return copy_location(ast.BoolOp(e.op, e.values[1:]), e.values[1])
