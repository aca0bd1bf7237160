"""Lifting: moves the statements that a rewritten expression needs in front of it (A-normal form).

A macro, or the inliner, replaces an expression by a value and statements that must run before it.
What Python evaluates before that expression is bound to names first, and what Python may not
evaluate at all stays conditional::

    y = g(x) + sum(v for v in a)           if c and any(v > 0 for v in a):
→                                      →
    _t = g(x)                              _t = c
    _s = 0                                 if _t:
    for v in a: _s += v                        …            # computes _any
    y = _t + _s                                _t = _any
                                           if _t:

`MacroDriver` and the inliner call `lift_statement` on one statement.
"""
from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ...analysis.type_inference.flow_facts import enter_loop, names_changed_by
from ...core_functions import RESULT_FUNCTIONS
from ..ast_names import COMPREHENSIONS, bound_names, names_used
from ..ast_walk import copy_tree, fields_with_children
from ..core_nodes import copy_location
from .macro_context import Context

__all__ = ["LiftedExpression", "Rewrite", "lift_statement"]


class LiftedExpression(NamedTuple):
    """An expression, and the statements that must run before it."""

    before: list[ast.stmt]
    value: ast.expr


_N = TypeVar("_N", bound=ast.AST)

Rewrite: TypeAlias = Callable[[ast.expr], "LiftedExpression | None"]
"""The replacement of one expression, without looking into its operands; None if there is none."""


def lift_statement(s: ast.stmt, cx: Context, rewrite: Rewrite) -> list[ast.stmt] | None:
    """`s` with its expressions rewritten by `rewrite`, after the statements that they need; None if
    nothing was rewritten. `s` itself is not changed, and the blocks in it are not visited.

        y = g(x) + f(x)        # rewrite: f(x) → _r, after the statements of f's body
    →
        _t = g(x)              # bound first: the body of f could change what g(x) returns
        …                      # the body of f, which binds _r
        y = _t + _r

    An expression is rewritten before the expressions in it (`_Lifter.lift`). Then its operands are
    lifted in the order in which Python evaluates them. An operand is bound to a name if statements
    of a later operand could change its value (`_Lifter._fill_slots`). Operands that Python may not
    evaluate (of ``and``, ``or``, ``if … else``) keep their condition (`_bool_op`, `_conditional`).
    `_Lifter.statement` lists what is lifted out of each kind of statement, and of which kinds
    nothing is.

    The inliner passes a `rewrite` of calls; the driver of the macros one that tries the macros.
    """
    return _Lifter(cx, rewrite).statement(s)


class _Lifter:
    """Lifts out of one statement. No method changes the tree that it is given."""

    def __init__(self, cx: Context, rewrite: Rewrite) -> None:
        self.cx = cx
        self.rewrite = rewrite

    def statement(self, s: ast.stmt) -> list[ast.stmt] | None:
        """See `lift_statement`. By the kind of statement:

        - an assignment: its value, then the subscripts of its target; of several targets only the
          value, until they are split
        - ``a = a or E``: see `_update_by_bool`
        - ``x += E``: its value, if that binds nothing that the target reads; Python reads the
          target first
        - ``while``: see `_while`
        - ``return``, an expression, ``if``, ``assert``, ``for``: its value, test or iterable
        - all others: None
        """
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BoolOp() as value) if (
                _begins_with(value, name)
            ):
                return self._update_by_bool(name, value) or self._fields(s, ["value"])
            case ast.Assign(targets=[ast.Name() | ast.Subscript() | ast.Attribute()]):
                return self._fields(s, ["value", "targets"])
            case ast.Assign():  # a target is evaluated when those before it have been stored to
                return self._fields(s, ["value"])
            case ast.AugAssign(target=target, value=value) if names_used(target) & (
                bound_names(value) | names_changed_by(self.cx.facts, [value])
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
        """``while E: BODY`` → ``BEFORE; go = E; while go: BODY; BEFORE; go = E``: the statements
        that its test needs run before each evaluation of the test.
        """
        cx, known = self.cx, dict(self.cx.facts.known)
        enter_loop(cx.facts, s)
        cx.depth += 1
        test = self.lift(s.test)
        cx.depth -= 1
        cx.facts.known = known
        if not test.before:
            if test.value is s.test:
                return None
            new: ast.While = _shallow_copy(s)
            new.test = test.value
            return [new]
        lines = cx.code("BEFORE\nGO = E", GO=cx.fresh("go"), BEFORE=test.before, E=test.value)
        assert isinstance(lines[-1], ast.Assign)
        body = [*s.body, *map(copy_tree, lines)]
        return [*lines, *cx.code("while GO: BODY", GO=lines[-1].targets[0], BODY=body)]

    def _fields(self, s: ast.stmt, names: list[str]) -> list[ast.stmt] | None:
        """`s` with the expressions in its fields `names` lifted; None if nothing changes."""
        lifted = self._lift_slots(s, lambda slots: [slot for slot in slots if slot.field in names])
        return None if lifted is None else [*lifted[0], lifted[1]]

    def _update_by_bool(self, name: str, value: ast.BoolOp) -> list[ast.stmt] | None:
        """``a = a or E`` → ``if not a: BEFORE; a = E``, and the same for ``and``. None if E needs
        no statements.
        """
        rest = self.lift(_rest(value))
        if not rest.before:
            return None
        return self.cx.code(
            "if TEST:\n    BEFORE\n    NAME = E",
            TEST=self._evaluates_rest(value.op, ast.Name(name, ast.Load())),
            BEFORE=rest.before,
            NAME=name,
            E=rest.value,
        )

    def lift(self, e: ast.expr) -> LiftedExpression:
        """`e` rewritten, until no rewrite applies, and then its operands."""
        before: list[ast.stmt] = []
        while (replacement := self.rewrite(e)) is not None:
            before += replacement.before
            e = replacement.value
        if isinstance(e, (ast.Name, ast.Constant)):  # most are, and have no operands
            return LiftedExpression(before, e)
        operands = self._lift_operands(e)
        return LiftedExpression(before + operands.before, operands.value)

    def _lift_operands(self, e: ast.expr) -> LiftedExpression:
        """`e` with its operands lifted. Expressions that evaluate their operands later, or several
        times, are left alone: ``lambda``, comprehensions, walrus, ``await``, ``yield``.
        """
        match e:
            case ast.BoolOp():
                return self._bool_op(e)
            case ast.IfExp():
                return self._conditional(e)
            case ast.Lambda() | ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return LiftedExpression([], e)
            case _ if isinstance(e, COMPREHENSIONS):
                return LiftedExpression([], e)
        # a < b < c: c may not be evaluated
        evaluated = slice(2) if isinstance(e, ast.Compare) else slice(None)
        lifted = self._lift_slots(e, lambda slots: slots[evaluated])
        return LiftedExpression([], e) if lifted is None else LiftedExpression(*lifted)

    def _lift_slots(
        self, node: _N, choose: Callable[[list[_Slot]], list[_Slot]]
    ) -> tuple[list[ast.stmt], _N] | None:
        """The statements that the operands of `node` which `choose` selects need, and a copy of
        `node` with the operands lifted; None if nothing was rewritten.
        """
        operands = [slot.get() for slot in choose(_slots(node))]
        parts = [*map(self.lift, operands)]
        if not any(p.before or p.value is not e for p, e in zip(parts, operands, strict=True)):
            return None
        new: _N = _shallow_copy(node)
        return self._fill_slots(choose(_slots(new)), parts), new

    def _fill_slots(
        self, slots: Sequence[_Slot], parts: Sequence[LiftedExpression]
    ) -> list[ast.stmt]:
        """Puts the values of `parts` into `slots`, which are in the order of evaluation; returns
        the statements before. An operand is bound to a name if a later one has statements, unless
        these cannot change it (`_bind`): it must be evaluated before they run::

            f(i) + g(x)    where g(x) becomes statements    →    t = f(i); …; t + _g

        The function of a call (``func``) stays: by it macros and lowering find what is called. But
        the object of a method is bound where it is an array, a number, or the result of an
        operation or call: ``(x + 1).clip(0, g(x))``, ``x[k].clip(0, g(x))``.
        """
        last_lifted = max((k for k, p in enumerate(parts) if p.before), default=-1)
        before: list[ast.stmt] = []
        for k, (slot, part) in enumerate(zip(slots, parts, strict=True)):
            before += part.before
            value = part.value
            if k < last_lifted:
                rebound = self._bound([s for p in parts[k + 1 :] for s in p.before])
                if slot.field != "func":
                    value = self._bind(value, before, rebound)
                elif isinstance(value, ast.Attribute) and self._may_differ_later(
                    value.value, rebound
                ):
                    value = _shallow_copy(value)
                    value.value = self._bind(value.value, before, rebound)
            slot.set(value)
        return before

    def _bound(self, statements: Sequence[ast.stmt]) -> set[str]:
        """The names that `statements` may bind, also by calls of local functions."""
        return bound_names(*statements) | names_changed_by(self.cx.facts, statements)

    def _bind(self, e: ast.expr, before: list[ast.stmt], rebound: set[str]) -> ast.expr:
        """An expression that has the current value of `e` after statements that bind the names
        ``rebound``. `e` itself, if it is

        - a constant, a lambda, or a name that is not in ``rebound``;
        - an attribute that resolves to an object of the program, such as ``np.pi``;
        - a call of one of `RESULT_FUNCTIONS`: it stands for its lists, also if their items change.

        The shape or dtype of an array, slices and displays are bound part by part. Anything else
        becomes a fresh name, which a statement added to `before` binds.
        """
        match e:
            case ast.Constant() | ast.Lambda():
                return e
            case ast.Name(id=name) if name not in rebound:
                return e
            case ast.Attribute(array, "shape" | "dtype") if self._is_array(array):
                # compiled code has no name for a tuple or a dtype
                return copy_location(
                    ast.Attribute(self._bind(array, before, rebound), e.attr, ast.Load()), e
                )
            case ast.Slice() | ast.Tuple() | ast.Dict() | ast.Starred():
                new: ast.expr = _shallow_copy(e)
                for slot in _slots(new):
                    slot.set(self._bind(slot.get(), before, rebound))
                return new
            case ast.Attribute() if self.cx.resolve(e) is not None:
                return e
            case ast.Call(func=func) if any(self.cx.resolve(func) is f for f in RESULT_FUNCTIONS):
                return e
        name = self.cx.fresh("t")
        before += self.cx.code("NAME = E", NAME=name, E=e)
        return ast.Name(name, ast.Load())

    def _may_differ_later(self, e: ast.expr, rebound: set[str]) -> bool:
        """Whether `e`, the object of a method, may have another value after statements that bind
        the names ``rebound`` and store to arrays: an array or a number, the result of an operation
        or call, or what a name in ``rebound`` stands for. Not a list, a module or a random number
        generator that has a name, or is a part of such: macros and lowering know it by that.
        """
        fact, root = self.cx.fact(e), e
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        is_kept = isinstance(root, ast.Name) and root.id not in rebound
        return not is_kept or fact.array is not None or fact.rank == 0

    def _is_array(self, e: ast.expr) -> bool:
        """Whether `e` is an array, or an attribute or item of one that statements of macros have
        made.
        """
        root = e
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        is_ours = isinstance(root, ast.Name) and root.id in self.cx.generated
        return is_ours or self.cx.fact(e).array is not None

    def _bool_op(self, e: ast.BoolOp) -> LiftedExpression:
        """``A or B`` with its operands lifted: if B needs statements, ``_t = A; if not _t: BEFORE;
        _t = B``, and ``_t``.
        """
        original_rest = _rest(e)
        first, rest = self.lift(e.values[0]), self.lift(original_rest)
        if not rest.before:
            if not first.before and first.value is e.values[0] and rest.value is original_rest:
                return LiftedExpression([], e)
            values = [first.value, rest.value]
            return LiftedExpression(first.before, copy_location(ast.BoolOp(e.op, values), e))
        name = self.cx.fresh("t")
        lines = self.cx.code(
            "NAME = A\nif TEST:\n    BEFORE\n    NAME = B",
            NAME=name,
            A=first.value,
            TEST=self._evaluates_rest(e.op, ast.Name(name, ast.Load())),
            BEFORE=rest.before,
            B=rest.value,
        )
        return LiftedExpression(first.before + lines, ast.Name(name, ast.Load()))

    def _evaluates_rest(self, op: ast.boolop, value: ast.expr) -> ast.expr:
        """The condition under which Python evaluates the operand after one that has `value`."""
        return value if isinstance(op, ast.And) else self.cx.expr("not A", A=value)

    def _conditional(self, e: ast.IfExp) -> LiftedExpression:
        """``A if C else B`` with its operands lifted: if A or B needs statements, an ``if``
        statement that binds ``_t``, and ``_t``.
        """
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
    """The place of an operand in a node: ``holder.key``, or ``holder[key]`` if ``key`` is an int.
    """

    field: str
    """The node's field that has the operand, itself or in a list."""
    holder: Any
    """The node, a keyword argument of it, or a list of operands."""
    key: str | int

    def get(self) -> ast.expr:
        """The operand."""
        key = self.key
        value = self.holder[key] if isinstance(key, int) else getattr(self.holder, key)
        assert isinstance(value, ast.expr)
        return value

    def set(self, value: ast.expr) -> None:
        """Replaces the operand, in place."""
        if isinstance(self.key, int):
            self.holder[self.key] = value
        else:
            setattr(self.holder, self.key, value)


def _shallow_copy(node: Any) -> Any:
    """A copy of `node` whose operands can be replaced without changing `node`."""
    new = copy.copy(node)
    for field, value in fields_with_children(node):
        if isinstance(value, list):
            parts = [copy.copy(v) if isinstance(v, ast.keyword) else v for v in value]
            setattr(new, field, parts)
    return new


def _slots(node: ast.AST) -> list[_Slot]:
    """The places of the operands of `node`, in Python's order of evaluation."""
    slots: list[_Slot] = []
    for field, value in fields_with_children(node):
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
    elif isinstance(node, ast.Dict):  # each key before its value
        slots.sort(key=lambda s: s.key)
    return slots


def _begins_with(value: ast.BoolOp, name: str) -> bool:
    """Whether the first operand of `value` is the name `name`."""
    return isinstance(value.values[0], ast.Name) and value.values[0].id == name


def _rest(e: ast.BoolOp) -> ast.expr:
    """The operands of `e` after the first, as one expression."""
    if len(e.values) == 2:
        return e.values[1]
    return copy_location(ast.BoolOp(e.op, e.values[1:]), e.values[1])
