"""``try`` → explicit tests of whether the body would raise, before each of its statements.

Compiled code has no exceptions. For each statement of the body, the exceptions that its expressions
may raise are listed with the condition of each (`Risk`): ``1 / n`` raises ZeroDivisionError where
``n == 0``. Each risk that a handler catches becomes an ``if`` before the statement. Expressions
about which nothing is known make the macro give up (`Unsupported`): lowering then refuses the
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
from collections.abc import Callable, Sequence

from ...analysis.definite_assignment import unassigned_names
from ...analysis.type_inference.flow_facts import enter_loop, facts_at_exceptions, record_facts
from ...diagnostics import Rejection
from ..ast_walk import copy_tree, is_none, replace_node, walk_nodes, walk_statements
from ..core_nodes import copy_location, fix_missing_locations, note_obstacle
from ..defining_modules import is_python_class
from ..macros.exception_risks import ExceptionRisks, Unsupported
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from ..source import span_of
from .structure_exits import NotStructured, exits_of_block

__all__ = ["try_statement"]


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
    raises (`Unsupported`), or if a handler reads the exception, an object that compiled code does
    not make. Macros for the expressions in the body fire afterwards.
    """
    if not isinstance(node, ast.Try) or node.finalbody:
        return None
    if __debug__ and cx.resolve(_ASSERTION_ERROR) is AssertionError:
        node = _with_raises(node)
    for handler in node.handlers:
        if _reads_exception(handler, cx):
            message = "the handler needs the exception, which compiled code does not make"
            help = "note in the loop what failed, such as its place, and make a message after it"
            place = span_of(handler)
            note_obstacle(node, Rejection("LOWER_UNSUPPORTED", message, place, help=help))
            return None
    lines = _rewritten(node, cx, _TryRewriter.rewrite)
    return lines or _rewritten(node, cx, _TryRewriter.rewrite_with_number)


_ASSERTION_ERROR = ast.Name("AssertionError", ast.Load())


def _with_raises(node: ast.Try) -> ast.Try:
    """`node` with an ``if`` and a ``raise`` in place of each ``assert`` of its body."""
    if not any(isinstance(n, ast.Assert) for s in node.body for n in walk_statements(s)):
        return node
    node = copy_tree(node)
    for old in [n for s in node.body for n in walk_statements(s) if isinstance(n, ast.Assert)]:
        call = ast.Call(_ASSERTION_ERROR, [old.msg], []) if old.msg else _ASSERTION_ERROR
        new: ast.stmt = ast.If(
            ast.UnaryOp(ast.Not(), old.test), [ast.Raise(copy_tree(call), None)], []
        )
        node = replace_node(node, old, fix_missing_locations(copy_location(new, old)))
    return node


def _rewritten(
    node: ast.Try, cx: Context,
    rewrite: Callable[[_TryRewriter, Sequence[ast.stmt]], list[ast.stmt]],
) -> list[ast.stmt] | None:
    """What `rewrite` makes of the body of `node`; None where it raises Unsupported."""
    known = dict(cx.facts.known)
    try:
        return rewrite(_TryRewriter(node, cx), node.body)
    except Unsupported:
        cx.facts.known = known
        return None


def _reads_exception(handler: ast.ExceptHandler, cx: Context) -> bool:
    """Whether `handler` needs the exception that it catches: the name of ``except … as name`` is
    read anywhere in the function, or a bare ``raise`` raises it again.
    """
    names = (n.id for n in walk_nodes(*cx.tree.body) if isinstance(n, ast.Name))
    return any(map(_is_bare_raise, walk_nodes(handler))) or (
        handler.name is not None and handler.name in names
    )


def _is_bare_raise(n: ast.AST) -> bool:
    return isinstance(n, ast.Raise) and n.exc is None


class _TryRewriter:
    """Rewrites one ``try``. Methods raise Unsupported where it must stay as it is."""

    def __init__(self, node: ast.Try, cx: Context) -> None:
        self.cx, self.orelse = cx, node.orelse
        self.risks = ExceptionRisks(cx, lambda raised: self._handler(raised) is not None)
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
            raise Unsupported
        return classes

    def rewrite(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`body` and the ``else`` block, with the tests before each statement; what follows a test
        is its ``else`` branch. Raises Unsupported

        - where `risks` or `_raised_class` does;
        - for more than `_MAX_TESTS` tests;
        - for an ``if`` with statements after it, since a handler in its branch would have to skip
          these; except an ``if`` without ``else`` whose branch ends with an exit (`_EXITS`).
        """
        if not body:
            return [copy_tree(s) for s in self.orelse]
        s, rest = body[0], body[1:]
        if isinstance(s, ast.Try):
            return self.rewrite([*self._inner(s), *rest])
        known = dict(self.cx.facts.known)
        found = self.risks.of_statement(s)
        risks = [(r, h) for r in found if (h := self._handler(r.raises)) is not None]
        self.test_count += len(risks)
        if self.test_count > _MAX_TESTS:
            raise Unsupported
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
                raise Unsupported  # a handler in a branch would have to skip the rest
            new = copy_tree(s)
            new.body, new.orelse = self.rewrite(s.body), self.rewrite(s.orelse)
            lines = [new]
        else:
            record_facts(self.cx.facts, s)
            lines = [copy_tree(s), *self.rewrite(rest)]
        self.cx.facts.known = known
        for risk, handler in reversed(risks):
            text = "if TEST: HANDLER\nelse: LINES"
            lines = self.cx.code(text, TEST=risk.test, LINES=lines,
                                 HANDLER=[copy_tree(h) for h in handler])
        return lines

    def rewrite_with_number(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`body`, in which a variable is set to the number of a handler, and the rest is skipped,
        where an exception would be raised that the handler catches; then the handler with that
        number, or the ``else`` block (the example at the top of this module).
        """
        number = self.cx.fresh("caught")
        lines, leaves = self._block(body, number, in_loop=False)
        rest = [copy_tree(s) for s in self.orelse]
        if not leaves:
            return [*lines, *rest]  # no handler runs
        for k, (_, handler) in reversed([*enumerate(self.handlers, 1)]):
            text = "if N == K: HANDLER\nelse: REST" if rest else "if N == K: HANDLER"
            rest = self.cx.code(text, N=number, K=ast.Constant(k), REST=rest,
                                HANDLER=[copy_tree(s) for s in handler])
        return [*self.cx.code("N = 0", N=number), *lines, *rest]

    def _block(
        self, block: Sequence[ast.stmt], number: str, *, in_loop: bool
    ) -> tuple[list[ast.stmt], bool]:
        """`block` rewritten for `rewrite_with_number`, and whether it may be left early.

        Where a statement would raise an exception that a handler catches, the variable `number` is
        set to the number of the handler, and the rest of `block` is skipped: by ``break`` if
        `block` is in a loop of the body of the ``try`` (``in_loop``), else by an ``if``.
        """
        if not block:
            return [], False
        s, rest = block[0], block[1:]
        if isinstance(s, ast.Try) and s.finalbody:
            return self._final_block(s, rest, number, in_loop=in_loop)
        if isinstance(s, ast.Try):
            return self._block([*self._inner(s), *rest], number, in_loop=in_loop)
        risks = [(r, k) for r in self.risks.of_any(s) if (k := self._handler_number(r.raises))]
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
                raise Unsupported  # the block would be copied into the body, and caught there
        except NotStructured:
            raise Unsupported from None
        facts, later_number = self.cx.facts, self.cx.fresh("caught")
        at_exceptions = facts_at_exceptions(facts, attempt)
        lines, leaves = self._block(attempt, number, in_loop=False)
        at_end, facts.known = facts.known, at_exceptions
        final, replaces = self._block(s.finalbody, later_number, in_loop=False)
        facts.known = at_end
        for part in s.finalbody:
            record_facts(facts, part)
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
        """The statements that replace `s`, a ``try`` inside of this one. Raises Unsupported where
        `try_statement` gives none, as for a ``finally`` block: it would run after a handler of this
        ``try``, and not before it.
        """
        lines = try_statement(s, self.cx)
        if lines is None:
            raise Unsupported
        return lines

    def _statement(
        self, s: ast.stmt, number: str, *, in_loop: bool
    ) -> tuple[list[ast.stmt], bool]:
        """As `_block`, for the statement `s` alone: rewrites its blocks, and a ``raise``. The tests
        for its own expressions are made by `_block`.
        """
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
                enter_loop(facts, loop)
                new.body, in_body = self._block(loop.body, number, in_loop=True)
                facts.known = dict(known)
                new.orelse, in_else = self._block(loop.orelse, number, in_loop=in_loop)
                leaves = in_body or in_else
        facts.known = dict(known)
        record_facts(facts, s)
        return [new], leaves

    def _raised_class(self, s: ast.Raise) -> type[Exception]:
        """The class of the exception that `s` raises. Raises Unsupported where making it may do
        anything else: run code of the user's, or raise another one.
        """
        match s.exc:
            case ast.Call(func=func, args=args, keywords=[]):
                named: ast.expr = func
            case ast.Name() | ast.Attribute() as named:
                args = []
            case _:
                raise Unsupported
        cls = self.cx.resolve(named)
        is_caused = s.cause is not None and not is_none(s.cause)
        if is_caused or not isinstance(cls, type) or not issubclass(cls, Exception):
            raise Unsupported
        own = [c for c in cls.__mro__ if is_python_class(c)]
        makes_itself = any(not {"__init__", "__new__"}.isdisjoint(vars(c)) for c in own)
        caught = [c for classes, _ in self.handlers for c in classes]
        is_os_error = issubclass(cls, OSError) and not any(issubclass(c, OSError) for c in caught)
        if makes_itself or not (is_os_error or cls.__mro__[len(own)] in _PLAIN_EXCEPTIONS):
            raise Unsupported  # an OSError may become one of its subclasses
        for argument in args:
            self._require_plain(argument)
        return cls

    def _require_plain(self, e: ast.expr, *, formatted: bool = False) -> None:
        """Raises Unsupported unless evaluating `e`, an argument of an exception, has no effect and
        cannot raise: it is a constant, a bound name, or an f-string or tuple of such.
        ``formatted``: `e` is in an f-string, where a name must be one of a number or array, as
        formatting another object may run any code.
        """
        match e:
            case ast.Constant():
                pass
            case ast.Name(id=name) if name not in self._unbound and (
                not formatted or self.cx.fact(e).types
            ):
                if not self.cx.is_local(name):
                    if self.cx.resolve_unguarded(e) is None:
                        raise Unsupported  # it may not be defined
                    self.cx.guard(e)
            case ast.JoinedStr(values=parts) | ast.Tuple(elts=parts):
                for part in parts:
                    self._require_plain(part)
            case ast.FormattedValue(value=value, format_spec=None):
                self._require_plain(value, formatted=True)
            case _:
                raise Unsupported

    def _handler_number(self, raised: type[Exception]) -> int | None:
        """The number, from 1, of the first handler that catches `raised`; None if none does."""
        numbers = enumerate((types for types, _ in self.handlers), 1)
        return next((k for k, types in numbers if issubclass(raised, types)), None)

    def _handler(self, raised: type[Exception]) -> list[ast.stmt] | None:
        """The statements of the first handler that catches `raised`; None if none does."""
        return next((body for types, body in self.handlers if issubclass(raised, types)), None)
