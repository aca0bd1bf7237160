"""``try`` → explicit tests of whether the body would raise, before each of its statements.

Compiled code has no exceptions. For each statement of the body, the exceptions that its expressions
may raise are listed with the condition of each (`_Risk`): ``1 / n`` raises ZeroDivisionError where
``n == 0``. Each risk that a handler catches becomes an ``if`` before the statement. Expressions
about which nothing is known make the macro give up (`_Unsupported`): lowering then refuses the
``try``. Risks that no handler catches need no test: they raise in Python too, on replay.

A ``raise`` whose handler is in the same ``try`` is control flow (local exception handling): the
handler takes its place, or, where loops are left or code follows a branch, a number tells which
handler runs::

    try:                                  _caught = 0
        for v in x:                       for v in x:
            if v > 3:                         if v > 3:
                raise ValueError   →              _caught = 1
            s += v                                break
    except ValueError:                        s += v
        s = -1.0                          if _caught == 1:
                                              s = -1.0

A ``try`` with a ``finally`` block is another macro's (`finally_block.finally_statement`), unless
it is in the body of one with handlers: `_TryRewriter._final_block`.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Sequence

from loopir.lazy_dataclass import record

from ...analysis.definite_assignment import unassigned_names
from ...types.value_types import ELEMENTS
from ..ast_names import binding_pairs
from ..ast_walk import copy_tree, is_none, walk_nodes
from ..core_nodes import copy_location
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from ..name_resolution import is_python_class
from .structure_exits import NotStructured, exits_of_block

__all__ = ["try_statement"]


@record(frozen=True, slots=True)
class _Risk:
    """An exception that an expression may raise."""

    test: ast.expr
    """The condition under which it is raised."""
    raises: type[Exception]
    """The class of the exception."""


class _Unsupported(Exception):
    """Raised where it is unknown what the body may raise, or when: the ``try`` stays."""


_DOMAIN_ERRORS: dict[object, str] = {
    math.log: "X <= 0", math.log2: "X <= 0", math.log10: "X <= 0", math.log1p: "X <= -1",
    math.sqrt: "X < 0", math.asin: "X < -1 or X > 1", math.acos: "X < -1 or X > 1",
    math.acosh: "X < 1", math.atanh: "X <= -1 or X >= 1",
}
"""The conditions under which these functions of X raise ValueError. They agree with those of
`lower.state.float_exceptions.in_domain`, which is about Loop IR.
"""

_SAFE_CALLS: tuple[object, ...] = (
    math.fabs, math.atan, math.atan2, math.tanh, math.asinh, math.isnan, math.isinf, math.isfinite,
    math.copysign, abs, float, bool, len,
)
"""Functions that raise nothing if their arguments are numbers no larger than a float."""

_EXITS = (ast.Raise, ast.Return, ast.Break, ast.Continue)

_PLAIN_EXCEPTIONS = frozenset((
    ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, Exception,
    FloatingPointError, IndexError, KeyError, LookupError, NotImplementedError, OverflowError,
    RecursionError, RuntimeError, StopIteration, TypeError, ValueError, ZeroDivisionError,
))
"""Classes of exceptions that take any arguments, and do nothing with them."""

_MAX_TESTS = 6
"""How many tests `_TryRewriter.rewrite` makes of one ``try``: each has a copy of a handler."""


@fires_on(ast.Try)
def try_statement(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``try`` becomes an ``if`` before each statement that may raise, whose branch is the handler.

        try:
            t = 1 / n
        except ZeroDivisionError:
            t = 0.0
    →
        if n == 0:
            t = 0.0
        else:
            t = 1 / n

    Two rewrites are tried. In the first, what follows a test is its ``else`` branch, as above
    (`_TryRewriter.rewrite`). Where that does not fit, as in a loop that has to be left, a number
    tells which handler runs (`rewrite_with_number`; the example at the top of this module).

    None, so that lowering refuses the ``try``, if neither fits, as it is not known when a statement
    raises (`_Unsupported`), or if a handler reads the exception, an object that compiled code does
    not make. Macros for the expressions in the body fire afterwards.
    """
    if not isinstance(node, ast.Try) or node.finalbody:
        return None
    if any(_reads_exception(h, cx) for h in node.handlers):
        return None
    lines = _rewritten(node, cx, _TryRewriter.rewrite)
    return lines or _rewritten(node, cx, _TryRewriter.rewrite_with_number)


def _rewritten(
    node: ast.Try, cx: Context,
    rewrite: Callable[[_TryRewriter, Sequence[ast.stmt]], list[ast.stmt]],
) -> list[ast.stmt] | None:
    """What `rewrite` makes of the body of `node`; None where it raises _Unsupported."""
    known = dict(cx.facts.known)
    try:
        return rewrite(_TryRewriter(node, cx), node.body)
    except _Unsupported:
        cx.facts.known = known
        return None


def _reads_exception(handler: ast.ExceptHandler, cx: Context) -> bool:
    """Whether the exception that `handler` catches is read, or raised again."""
    names = (n.id for n in walk_nodes(*cx.tree.body) if isinstance(n, ast.Name))
    return any(map(_is_bare_raise, ast.walk(handler))) or (
        handler.name is not None and handler.name in names
    )


def _is_bare_raise(n: ast.AST) -> bool:
    return isinstance(n, ast.Raise) and n.exc is None


class _TryRewriter:
    """Rewrites one ``try``. Methods raise _Unsupported where it must stay as it is."""

    def __init__(self, node: ast.Try, cx: Context) -> None:
        self.cx, self.orelse = cx, node.orelse
        self.test_count = 0
        self._unbound = cx.may_be_unbound | unassigned_names(node.body, cx.parameters)
        # the exception classes that each handler catches, and its statements
        self.handlers = [(self._caught_classes(h.type), h.body) for h in node.handlers]

    def _caught_classes(self, e: ast.expr | None) -> tuple[type[BaseException], ...]:
        """The classes that ``except e`` catches; a bare ``except`` catches all."""
        if e is None:
            return (BaseException,)
        objects = [self.cx.resolve(t) for t in (e.elts if isinstance(e, ast.Tuple) else [e])]
        classes = tuple(t for t in objects if isinstance(t, type) and issubclass(t, BaseException))
        if len(classes) < len(objects):
            raise _Unsupported
        return classes

    def rewrite(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`body` and the ``else`` block, with the tests before each statement; what follows a test
        is its ``else`` branch. Raises _Unsupported for more than `_MAX_TESTS` tests, where `_risks`
        does, and for an ``if`` before other statements, unless it ends by leaving and has no else.
        """
        if not body:
            return [copy_tree(s) for s in self.orelse]
        s, rest = body[0], body[1:]
        if isinstance(s, ast.Try):
            return self.rewrite([*self._inner(s), *rest])
        known = dict(self.cx.facts.known)
        risks = [(r, h) for r in self._risks(s) if (h := self._handler(r.raises)) is not None]
        self.test_count += len(risks)
        if self.test_count > _MAX_TESTS:
            raise _Unsupported
        if isinstance(s, ast.Raise):
            handler = self._handler(self._raised_class(s))
            self.test_count += handler is not None
            lines: list[ast.stmt] = [copy_tree(h) for h in ([s] if handler is None else handler)]
        elif isinstance(s, ast.If) and rest and isinstance(s.body[-1], _EXITS) and not s.orelse:
            new = copy_tree(s)
            new.body, new.orelse = self.rewrite(s.body), self.rewrite(rest)
            lines = [new]
        elif isinstance(s, ast.If):
            if rest:
                raise _Unsupported  # a handler in a branch would have to skip the rest
            new = copy_tree(s)
            new.body, new.orelse = self.rewrite(s.body), self.rewrite(s.orelse)
            lines = [new]
        else:
            self.cx.facts.record(s)
            lines = [copy_tree(s), *self.rewrite(rest)]
        self.cx.facts.known = known
        for risk, handler in reversed(risks):
            text = "if TEST: HANDLER\nelse: LINES"
            lines = self.cx.code(text, TEST=risk.test, LINES=lines,
                                 HANDLER=[copy_tree(h) for h in handler])
        return lines

    def rewrite_with_number(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`body`, which is left where it raises; then the handler whose number the variable has, or
        the ``else`` block.
        """
        number = self.cx.fresh("caught")
        lines, leaves = self._block(body, number, in_loop=False)
        if not leaves:
            raise _Unsupported  # nothing in it is caught: `rewrite` has failed for another reason
        rest = [copy_tree(s) for s in self.orelse]
        for k, (_, handler) in reversed([*enumerate(self.handlers, 1)]):
            text = "if N == K: HANDLER\nelse: REST" if rest else "if N == K: HANDLER"
            rest = self.cx.code(text, N=number, K=ast.Constant(k), REST=rest,
                                HANDLER=[copy_tree(s) for s in handler])
        return [*self.cx.code("N = 0", N=number), *lines, *rest]

    def _block(
        self, block: Sequence[ast.stmt], number: str, *, in_loop: bool
    ) -> tuple[list[ast.stmt], bool]:
        """The statements of `block`, which set `number` and leave where an exception is caught: the
        innermost loop (``in_loop``), or the block. And whether one may be.
        """
        if not block:
            return [], False
        s, rest = block[0], block[1:]
        if isinstance(s, ast.Try) and s.finalbody:
            return self._final_block(s, rest, number, in_loop=in_loop)
        if isinstance(s, ast.Try):
            return self._block([*self._inner(s), *rest], number, in_loop=in_loop)
        risks = [(r, k) for r in self._risks_of_any(s) if (k := self._handler_number(r.raises))]
        lines, leaves = self._statement(s, number, in_loop=in_loop)
        after, after_leaves = self._block(rest, number, in_loop=in_loop)
        if leaves and in_loop and isinstance(s, (ast.For, ast.While)):
            lines += self.cx.code("if N != 0: break", N=number)
        if leaves and not in_loop and after:
            after = self.cx.code("if N == 0: AFTER", N=number, AFTER=after)
        lines = [*lines, *after]
        for risk, k in reversed(risks):
            text = "if TEST:\n    N = K\n    break" if in_loop else "if TEST: N = K\nelse: LINES"
            test = self.cx.code(text, TEST=risk.test, N=number, K=ast.Constant(k), LINES=lines)
            lines = [*test, *lines] if in_loop else test
        return lines, leaves or after_leaves or bool(risks)

    def _final_block(
        self, s: ast.Try, rest: Sequence[ast.stmt], number: str, *, in_loop: bool
    ) -> tuple[list[ast.stmt], bool]:
        """As `_block`, for `s`, a ``try`` in this one that has a ``finally`` block, and `rest`.

        The ``finally`` block runs also where an exception of the body of `s` has been noted, before
        the handler of this ``try`` that catches it. One that the block raises itself replaces it.
        """
        attempt: list[ast.stmt] = [*s.body, *s.orelse]
        if s.handlers:
            attempt = self._inner(copy_location(ast.Try(s.body, s.handlers, s.orelse, []), s))
        try:
            if exits_of_block([*attempt, *s.finalbody]):
                raise _Unsupported  # the block would be copied into the body, and caught there
        except NotStructured:
            raise _Unsupported from None
        facts, later_number = self.cx.facts, self.cx.fresh("caught")
        at_exceptions = facts.at_exceptions(attempt)
        lines, leaves = self._block(attempt, number, in_loop=False)
        at_end, facts.known = facts.known, at_exceptions
        final, replaces = self._block(s.finalbody, later_number, in_loop=False)
        facts.known = at_end
        for part in s.finalbody:
            facts.record(part)
        if replaces:
            text = "LATER = 0\nFINAL\nif LATER != 0: N = LATER"
            final = self.cx.code(text, LATER=later_number, FINAL=final, N=number)
        leaves = leaves or replaces
        after, after_leaves = self._block(rest, number, in_loop=in_loop)
        if leaves and in_loop:
            after = [*self.cx.code("if N != 0: break", N=number), *after]
        elif leaves and after:
            after = self.cx.code("if N == 0: AFTER", N=number, AFTER=after)
        return [*lines, *final, *after], leaves or after_leaves

    def _inner(self, s: ast.Try) -> list[ast.stmt]:
        """The statements that replace the ``try`` inside of this one. Raises _Unsupported for a
        ``finally`` block: the handlers of this one must not run before it.
        """
        lines = try_statement(s, self.cx)
        if lines is None:
            raise _Unsupported
        return lines

    def _statement(
        self, s: ast.stmt, number: str, *, in_loop: bool
    ) -> tuple[list[ast.stmt], bool]:
        """As `_block`, for the statement `s` without the risks of its own expressions."""
        facts, new, leaves = self.cx.facts, copy_tree(s), False
        known = dict(facts.known)
        match s, new:
            case ast.Raise(), _:
                k = self._handler_number(self._raised_class(s))
                text = "N = K\nbreak" if in_loop else "N = K"
                return ([new], False) if k is None else (
                    self.cx.code(text, N=number, K=ast.Constant(k)), True)
            case ast.If(), ast.If():
                new.body, in_body = self._block(s.body, number, in_loop=in_loop)
                facts.known = dict(known)
                new.orelse, in_else = self._block(s.orelse, number, in_loop=in_loop)
                leaves = in_body or in_else
            case ast.For() | ast.While() as loop, ast.For() | ast.While():
                facts.enter_loop(loop)
                new.body, in_body = self._block(loop.body, number, in_loop=True)
                facts.known = dict(known)
                new.orelse, in_else = self._block(loop.orelse, number, in_loop=in_loop)
                leaves = in_body or in_else
        facts.known = dict(known)
        facts.record(s)
        return [new], leaves

    def _risks_of_any(self, s: ast.stmt) -> Iterator[_Risk]:
        """As `_risks`, also for loops. Their range or condition must have no risk that is caught.
        """
        match s:
            case ast.For(iter=ast.Call(func=func, args=args, keywords=[])) if any(
                self.cx.resolve(func) is f for f in (range, enumerate, zip, reversed)
            ):
                risks = [r for a in args for r in self._risks_of_iterable(a)]
            case ast.For(iter=iterable):
                risks = [*self._risks_of_iterable(iterable)]
            case ast.While(test=test):
                risks = [*self._risks_of(test)]
            case _:
                yield from self._risks(s)
                return
        if any(self._handler(r.raises) is not None for r in risks):
            raise _Unsupported

    def _risks_of_iterable(self, e: ast.expr) -> Iterator[_Risk]:
        """The risks of an argument of ``range``, ``zip`` and such, or of what a loop runs over."""
        fact = self.cx.fact(e)
        if not (isinstance(e, ast.Name) and (fact.array or fact.list_type)):
            yield from self._risks_of(e)
            if not fact.is_int:
                raise _Unsupported

    def _raised_class(self, s: ast.Raise) -> type[Exception]:
        """The class of the exception that `s` raises. Raises _Unsupported where making it may do
        anything else: run code of the user's, or raise another one.
        """
        match s.exc:
            case ast.Call(func=func, args=args, keywords=[]):
                named: ast.expr = func
            case ast.Name() | ast.Attribute() as named:
                args = []
            case _:
                raise _Unsupported
        cls = self.cx.resolve(named)
        is_caused = s.cause is not None and not is_none(s.cause)
        if is_caused or not isinstance(cls, type) or not issubclass(cls, Exception):
            raise _Unsupported
        own = [c for c in cls.__mro__ if is_python_class(c)]
        makes_itself = any(not {"__init__", "__new__"}.isdisjoint(vars(c)) for c in own)
        caught = [c for classes, _ in self.handlers for c in classes]
        is_os_error = issubclass(cls, OSError) and not any(issubclass(c, OSError) for c in caught)
        if makes_itself or not (is_os_error or cls.__mro__[len(own)] in _PLAIN_EXCEPTIONS):
            raise _Unsupported  # an OSError may become one of its subclasses
        for argument in args:
            self._require_plain(argument)
        return cls

    def _require_plain(self, e: ast.expr, *, formatted: bool = False) -> None:
        """Raises _Unsupported unless the argument `e` of an exception is a constant, a name that is
        bound, or a text of such; ``formatted``: of numbers and arrays.
        """
        match e:
            case ast.Constant():
                pass
            case ast.Name(id=name) if name not in self._unbound and (
                not formatted or self.cx.fact(e).types
            ):
                if not self.cx.is_local(name):
                    if self.cx.resolve_unguarded(e) is None:
                        raise _Unsupported  # it may not be defined
                    self.cx.guard(e)
            case ast.JoinedStr(values=parts) | ast.Tuple(elts=parts):
                for part in parts:
                    self._require_plain(part)
            case ast.FormattedValue(value=value, format_spec=None):
                self._require_plain(value, formatted=True)
            case _:
                raise _Unsupported

    def _handler_number(self, raised: type[Exception]) -> int | None:
        """The number, from 1, of the first handler that catches `raised`; None if none does."""
        numbers = enumerate((types for types, _ in self.handlers), 1)
        return next((k for k, types in numbers if issubclass(raised, types)), None)

    def _handler(self, raised: type[Exception]) -> list[ast.stmt] | None:
        """The statements of the first handler that catches `raised`; None if none does."""
        return next((body for types, body in self.handlers if issubclass(raised, types)), None)

    def _require_uncaught(self, *raised: type[Exception]) -> None:
        """For exceptions that may be raised under unknown conditions: raises _Unsupported if a
        handler catches one.
        """
        if any(self._handler(r) is not None for r in raised):
            raise _Unsupported

    def _risks(self, s: ast.stmt) -> Iterator[_Risk]:
        """The risks of the statement `s` itself, not of its blocks, in the order of evaluation."""
        match s:
            case ast.Assign(targets=[ast.Name()], value=value):
                yield from self._risks_of(value)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                yield from self._risks_of(value)
                yield from self._store_risks(target, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                left = copy_location(ast.Name(name, ast.Load()), s)
                yield from self._risks_of(copy_location(ast.BinOp(left, op, value), s))
            case ast.AugAssign(target=ast.Subscript(value=x, slice=at) as target, op=op):
                read = copy_location(ast.Subscript(x, at, ast.Load()), target)
                combined = copy_location(ast.BinOp(read, op, s.value), s)
                yield from self._risks_of(combined)
                yield from self._store_risks(target, combined)
            case ast.Expr(value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                args=[value], keywords=[],
            )) if self._is_display(name, ast.List):
                yield from self._risks_of(value)
            case ast.Return(value=ast.expr() as value):
                yield from self._risks_of(value)
            case ast.If(test=test):
                yield from self._risks_of(test)
            case ast.Pass() | ast.Break() | ast.Continue() | ast.Return() | ast.Raise():
                pass
            case _:
                raise _Unsupported

    def _risks_of(self, e: ast.expr) -> Iterator[_Risk]:
        """The exceptions that evaluating `e` may raise, each with the condition under which it
        does. They are in the order of evaluation: of two that would be raised, Python raises the
        first. The caller puts a test before the statement for each one that a handler catches.

            x[i] / n   →   _Risk(<i < -len(x) or i >= len(x)>, IndexError),
                           _Risk(<n == 0>, ZeroDivisionError)

        An exception whose condition is not known is no matter if no handler catches it: then Python
        raises it in the replay. If one does, `_require_uncaught` raises _Unsupported, and the
        ``try`` is not compiled. The same holds for operands of unknown type (`_require_number`),
        and always for a form of `e` that is not listed here, since it may raise anything.
        """
        match e:
            case ast.Name(id=name):
                if name in self.cx.may_be_unbound:
                    self._require_uncaught(UnboundLocalError)
                return
            case ast.Constant():
                return
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._risks_of(left)
                yield from self._risks_of(right)
                yield from self._operator_risks(left, op, right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
                yield from self._risks_of(operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if not isinstance(
                op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)
            ):
                yield from self._risks_of(left)
                yield from self._risks_of(right)
                self._require_number(left)
                self._require_number(right)
            case ast.Tuple(elts=elts):
                for x in elts:
                    yield from self._risks_of(x)
            case ast.Attribute(value=ast.Name() as x, attr="size" | "ndim") if (
                self.cx.fact(x).array
            ):
                return
            case ast.Subscript(value=ast.Attribute(value=ast.Name() as x, attr="shape"),
                               slice=ast.Constant()) if self.cx.fact(x).array:
                return
            case ast.Subscript():
                yield from self._subscript_risks(e)
            case ast.Call(args=[*args, x], keywords=[]):
                for a in (*args, x):
                    yield from self._risks_of(a)
                yield from self._call_risks(e, x)
            case _:
                raise _Unsupported
        if isinstance(e, (ast.BinOp, ast.UnaryOp)):
            self._require_number(e)

    def _require_number(self, e: ast.expr) -> None:
        """Raises _Unsupported if `e` may be no scalar of known type, and a handler catches what an
        operation on such a value may raise.
        """
        if self.cx.fact(e).rank != 0 or not self.cx.fact(e).types:
            self._require_uncaught(
                TypeError, ValueError, OverflowError, ZeroDivisionError, AttributeError
            )

    def _operator_risks(
        self, left: ast.expr, op: ast.operator, right: ast.expr
    ) -> Iterator[_Risk]:
        """The risks of the operator itself. A division of two Python numbers raises for 0; one with
        a NumPy scalar warns instead.
        """
        self._require_number(left)
        self._require_number(right)
        if isinstance(op, (ast.Pow, ast.MatMult, ast.LShift, ast.RShift)):
            self._require_uncaught(ValueError, OverflowError, ZeroDivisionError)
        elif isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod)):
            types = [self.cx.fact(x).types for x in (left, right)]
            is_python = [{getattr(t, "weak", False) for t in of_operand} for of_operand in types]
            both_are_python = all(kinds == {True} for kinds in is_python)
            one_is_numpy = any(kinds == {False} for kinds in is_python)
            if both_are_python:
                yield _Risk(self.cx.expr("B == 0", B=right), ZeroDivisionError)
            elif not one_is_numpy:
                self._require_uncaught(ZeroDivisionError)

    def _call_risks(self, e: ast.Call, x: ast.expr) -> Iterator[_Risk]:
        """The risks of the call itself, whose last argument is `x`."""
        function = self.cx.resolve(e.func)
        if function is len:
            if not (self.cx.fact(x).array or self.cx.fact(x).list_type):
                raise _Unsupported
            return
        for a in e.args:
            self._require_number(a)
        condition = next((t for f, t in _DOMAIN_ERRORS.items() if f is function), None)
        if condition is not None and len(e.args) == 1:
            yield _Risk(self.cx.expr(condition, X=x), ValueError)
        elif function is int and len(e.args) == 1:
            if any(ELEMENTS[t.dtype].kind == "f" for t in self.cx.fact(x).types):
                yield _Risk(self.cx.expr("X != X", X=x), ValueError)
                infinite = self.cx.expr("X == INF or X == -INF", X=x, INF=ast.Constant(math.inf))
                yield _Risk(infinite, OverflowError)
        elif not any(f is function for f in _SAFE_CALLS):
            raise _Unsupported

    def _subscript_risks(self, e: ast.Subscript) -> Iterator[_Risk]:
        """The risks of reading the item `e` of a dict, list or array: a missing key, an index out
        of bounds.
        """
        match e.value, e.slice:
            case ast.Name(id=name) as x, index if self._is_display(name, ast.Dict):
                yield from self._risks_of(index)
                yield _Risk(self.cx.expr("K not in D", K=index, D=x), KeyError)
            case ast.Name() as x, index:
                indices = index.elts if isinstance(index, ast.Tuple) else [index]
                for i in indices:
                    yield from self._risks_of(i)
                    kinds = {ELEMENTS[t.dtype].kind for t in self.cx.fact(i).types}
                    if self.cx.fact(i).rank != 0 or not kinds or kinds - {"i", "u"}:
                        raise _Unsupported
                yield from self._bounds_risks(x, indices)
            case _:
                raise _Unsupported

    def _bounds_risks(self, x: ast.Name, indices: Sequence[ast.expr]) -> Iterator[_Risk]:
        """An IndexError for each of the int `indices` of `x`, one for each axis."""
        fact = self.cx.fact(x)
        is_list = self._is_display(x.id, ast.List)
        rank = fact.rank if fact.array or fact.list_type else 1 if is_list else 0
        if not rank or rank != len(indices):
            raise _Unsupported
        for axis, i in enumerate(indices):
            n = "X.shape[K]" if axis else "len(X)"
            text = f"I < -{n} or I >= {n}"
            yield _Risk(self.cx.expr(text, X=x, I=i, K=ast.Constant(axis)), IndexError)

    def _store_risks(self, target: ast.Subscript, value: ast.expr) -> Iterator[_Risk]:
        """The risks of storing `value` to `target`. A float array takes every number; an int array
        raises for numbers that are too large, and for NaN.
        """
        match target:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if (
                self._is_display(name, ast.Dict)
            ):
                yield from self._risks_of(index)
                return
            case ast.Subscript(value=ast.Name(id=name) as x) if (
                not self._is_display(name, ast.List)
            ):
                array = self.cx.fact(x).array
                if array is None:
                    raise _Unsupported
                self._require_number(value)
                if ELEMENTS[array.dtype].kind != "f":
                    self._require_uncaught(OverflowError)
                    if {ELEMENTS[t.dtype].kind for t in self.cx.fact(value).types} - {*"biu"}:
                        self._require_uncaught(ValueError)
        yield from self._subscript_risks(target)

    def _is_display(self, name: str, display: type[ast.expr]) -> bool:
        """Whether the local `name` is only ever bound to displays of that node type."""
        values = [v for s in ast.walk(self.cx.tree) for t, v in binding_pairs(s)
                  if isinstance(t, ast.Name) and t.id == name]
        stores = [n for n in ast.walk(self.cx.tree) if isinstance(n, ast.Name) and n.id == name
                  and not isinstance(n.ctx, ast.Load)]
        arguments = (n.arg for n in ast.walk(self.cx.tree.args) if isinstance(n, ast.arg))
        is_local = bool(values) and name not in arguments
        return is_local and len(values) == len(stores) and all(
            isinstance(v, display) for v in values)
