"""``try`` → explicit tests of whether the body would raise, ahead of each of its statements."""
from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from loopir.lazy_dataclass import record

from ...types.value_types import ELEMENTS
from ..ast_names import binding_pairs
from ..ast_walk import copy_tree
from ..core_nodes import copy_location
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on

__all__ = ["try_statement"]


@record(frozen=True, slots=True)
class _Risk:
    """That ``raises`` is raised where ``test`` holds."""

    test: ast.expr
    raises: type[Exception]


class _Unknown(Exception):
    """Of what is asked nothing is known."""


_MATH: dict[object, str] = {
    math.log: "X <= 0", math.log2: "X <= 0", math.log10: "X <= 0", math.log1p: "X <= -1",
    math.sqrt: "X < 0", math.asin: "X < -1 or X > 1", math.acos: "X < -1 or X > 1",
    math.acosh: "X < 1", math.atanh: "X <= -1 or X >= 1",
}
"""Where these raise a ValueError."""

_SAFE_CALLS: tuple[object, ...] = (
    math.fabs, math.atan, math.atan2, math.tanh, math.asinh, math.isnan, math.isinf, math.isfinite,
    math.copysign, abs, float, bool, len,
)
"""What raises nothing, of numbers that are no larger than a float."""

_MOST = 6
"""Questions of one ``try``; each has a handler of its own."""


@fires_on(ast.Try)
def try_statement(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``try`` → an ``if`` for each statement that may raise: the handler runs where the test holds.

        try:
            t = 1 / n
        except ZeroDivisionError:
            t = 0.0
    →
        if n == 0:
            t = 0.0
        else:
            t = 1 / n
    """
    if not isinstance(node, ast.Try) or node.finalbody:
        return None
    if any(h.name or any(map(_raises_again, ast.walk(h))) for h in node.handlers):
        return None
    known = dict(cx.facts.known)
    try:
        return _Attempt(node, cx).of(node.body)
    except _Unknown:
        cx.facts.known = known
        return None


def _raises_again(n: ast.AST) -> bool:
    return isinstance(n, ast.Raise) and n.exc is None


class _Attempt:
    def __init__(self, node: ast.Try, cx: Context) -> None:
        self.cx, self.orelse, self.asked = cx, node.orelse, 0
        self.handlers = [(self._caught(h.type), h.body) for h in node.handlers]

    def _caught(self, e: ast.expr | None) -> tuple[type[BaseException], ...]:
        if e is None:
            return (BaseException,)
        found = [self.cx.resolve(t) for t in (e.elts if isinstance(e, ast.Tuple) else [e])]
        known = tuple(t for t in found if isinstance(t, type) and issubclass(t, BaseException))
        if len(known) < len(found):
            raise _Unknown
        return known

    def of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of the body, and what is asked ahead of each."""
        if not body:
            return [copy_tree(s) for s in self.orelse]
        s, rest = body[0], body[1:]
        known = dict(self.cx.facts.known)
        risks = [(r, h) for r in self._risks(s) if (h := self._handler(r.raises)) is not None]
        self.asked += len(risks)
        if self.asked > _MOST:
            raise _Unknown
        if isinstance(s, ast.If):
            if rest:
                raise _Unknown  # what a handler ends is all of it
            new = copy_tree(s)
            new.body, new.orelse = self.of(s.body), self.of(s.orelse)
            lines: list[ast.stmt] = [new]
        else:
            self.cx.facts.record(s)
            lines = [copy_tree(s), *self.of(rest)]
        self.cx.facts.known = known
        for risk, handler in reversed(risks):
            text = "if TEST: HANDLER\nelse: LINES"
            lines = self.cx.code(text, TEST=risk.test, LINES=lines,
                                 HANDLER=[copy_tree(h) for h in handler])
        return lines

    def _handler(self, raised: type[Exception]) -> list[ast.stmt] | None:
        return next((body for types, body in self.handlers if issubclass(raised, types)), None)

    def _never(self, *raised: type[Exception]) -> None:
        """What may be raised, nobody knows when, no handler may catch."""
        if any(self._handler(r) is not None for r in raised):
            raise _Unknown

    def _risks(self, s: ast.stmt) -> Iterator[_Risk]:
        match s:
            case ast.Assign(targets=[ast.Name()], value=value):
                yield from self._of(value)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                yield from self._of(value)
                yield from self._stored(target, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                left = copy_location(ast.Name(name, ast.Load()), s)
                yield from self._of(copy_location(ast.BinOp(left, op, value), s))
            case ast.AugAssign(target=ast.Subscript(value=x, slice=at) as target, op=op):
                read = copy_location(ast.Subscript(x, at, ast.Load()), target)
                made = copy_location(ast.BinOp(read, op, s.value), s)
                yield from self._of(made)
                yield from self._stored(target, made)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                                         args=[value], keywords=[])) if self._is(name, ast.List):
                yield from self._of(value)
            case ast.Return(value=ast.expr() as value):
                yield from self._of(value)
            case ast.If(test=test):
                yield from self._of(test)
            case ast.Pass() | ast.Break() | ast.Continue() | ast.Return():
                pass
            case _:
                raise _Unknown

    def _of(self, e: ast.expr) -> Iterator[_Risk]:
        """What may be raised, in the order in which it is."""
        match e:
            case ast.Name(id=name):
                if name in self.cx.may_be_unbound:
                    self._never(UnboundLocalError)
                return
            case ast.Constant():
                return
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._of(left)
                yield from self._of(right)
                yield from self._operated(left, op, right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
                yield from self._of(operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if not isinstance(
                op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)
            ):
                yield from self._of(left)
                yield from self._of(right)
                self._number(left)
                self._number(right)
            case ast.Tuple(elts=elts):
                for x in elts:
                    yield from self._of(x)
            case ast.Attribute(value=ast.Name() as x, attr="size" | "ndim") if (
                self.cx.fact(x).array
            ):
                return
            case ast.Subscript(value=ast.Attribute(value=ast.Name() as x, attr="shape"),
                               slice=ast.Constant()) if self.cx.fact(x).array:
                return
            case ast.Subscript():
                yield from self._read(e)
            case ast.Call(args=[*args, x], keywords=[]):
                for a in (*args, x):
                    yield from self._of(a)
                yield from self._called(e, x)
            case _:
                raise _Unknown
        if isinstance(e, (ast.BinOp, ast.UnaryOp)):
            self._number(e)

    def _number(self, e: ast.expr) -> None:
        if self.cx.fact(e).rank != 0 or not self.cx.fact(e).types:
            self._never(TypeError, ValueError, OverflowError, ZeroDivisionError, AttributeError)

    def _operated(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Iterator[_Risk]:
        self._number(left)
        self._number(right)
        if isinstance(op, (ast.Pow, ast.MatMult, ast.LShift, ast.RShift)):
            self._never(ValueError, OverflowError, ZeroDivisionError)
        elif isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod)):
            types = [self.cx.fact(x).types for x in (left, right)]
            weak = [{getattr(t, "weak", False) for t in of} for of in types]
            if {True} == weak[0] == weak[1]:
                yield _Risk(self.cx.expr("B == 0", B=right), ZeroDivisionError)
            elif {False} not in weak:
                self._never(ZeroDivisionError)

    def _called(self, e: ast.Call, x: ast.expr) -> Iterator[_Risk]:
        function = self.cx.resolve(e.func)
        if function is len:
            if not (self.cx.fact(x).array or self.cx.fact(x).listed):
                raise _Unknown
            return
        for a in e.args:
            self._number(a)
        known = next((t for f, t in _MATH.items() if f is function), None)
        if known is not None and len(e.args) == 1:
            yield _Risk(self.cx.expr(known, X=x), ValueError)
        elif function is int and len(e.args) == 1:
            if any(ELEMENTS[t.dtype].kind == "f" for t in self.cx.fact(x).types):
                yield _Risk(self.cx.expr("X != X", X=x), ValueError)
                infinite = self.cx.expr("X == INF or X == -INF", X=x, INF=ast.Constant(math.inf))
                yield _Risk(infinite, OverflowError)
        elif not any(f is function for f in _SAFE_CALLS):
            raise _Unknown

    def _read(self, e: ast.Subscript) -> Iterator[_Risk]:
        """An element: a place that is none raises."""
        match e.value, e.slice:
            case ast.Name(id=name) as x, at if self._is(name, ast.Dict):
                yield from self._of(at)
                yield _Risk(self.cx.expr("K not in D", K=at, D=x), KeyError)
            case ast.Name() as x, at:
                places = at.elts if isinstance(at, ast.Tuple) else [at]
                for i in places:
                    yield from self._of(i)
                    kinds = {ELEMENTS[t.dtype].kind for t in self.cx.fact(i).types}
                    if self.cx.fact(i).rank != 0 or not kinds or kinds - {"i", "u"}:
                        raise _Unknown
                yield from self._within(x, places)
            case _:
                raise _Unknown

    def _within(self, x: ast.Name, places: Sequence[ast.expr]) -> Iterator[_Risk]:
        fact = self.cx.fact(x)
        known = fact.rank if fact.array or fact.listed else 1 if self._is(x.id, ast.List) else 0
        if not known or known != len(places):
            raise _Unknown
        for k, i in enumerate(places):
            n = "X.shape[K]" if k else "len(X)"
            text = f"I < -{n} or I >= {n}"
            yield _Risk(self.cx.expr(text, X=x, I=i, K=ast.Constant(k)), IndexError)

    def _stored(self, target: ast.Subscript, value: ast.expr) -> Iterator[_Risk]:
        """An element that is stored: floats take all numbers, ints those that are not too large."""
        match target:
            case ast.Subscript(value=ast.Name(id=name), slice=at) if self._is(name, ast.Dict):
                yield from self._of(at)
                return
            case ast.Subscript(value=ast.Name(id=name) as x) if not self._is(name, ast.List):
                of = self.cx.fact(x).array
                if of is None:
                    raise _Unknown
                self._number(value)
                if ELEMENTS[of.dtype].kind != "f":
                    self._never(OverflowError)
                    if {ELEMENTS[t.dtype].kind for t in self.cx.fact(value).types} - {*"biu"}:
                        self._never(ValueError)
        yield from self._read(target)

    def _is(self, name: str, display: type[ast.expr]) -> bool:
        """Whether a name stands for nothing but displays that are made here."""
        made = [v for s in ast.walk(self.cx.tree) for t, v in binding_pairs(s)
                if isinstance(t, ast.Name) and t.id == name]
        stores = [n for n in ast.walk(self.cx.tree) if isinstance(n, ast.Name) and n.id == name
                  and not isinstance(n.ctx, ast.Load)]
        given = any(isinstance(n, ast.arg) and n.arg == name for n in ast.walk(self.cx.tree.args))
        return bool(made) and not given and len(made) == len(stores) and all(
            isinstance(v, display) for v in made)
