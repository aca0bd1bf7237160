"""User macros: registration, and rewrite rules that are a pattern and an expansion in Python.

A rule is matched by unification of trees. A name in capitals is a hole: it matches any expression,
or as the only statement of a block the whole block, and the same text wherever it occurs again::

    macro("scipy.special.expit(A)", "1.0 / (1.0 + np.exp(-A))")

    y = expit(x[i])    →    y = 1.0 / (1.0 + np.exp(-x[i]))

All other names are matched by what they mean, not by spelling. An expression that fills a hole is
first bound to a name if the expansion would otherwise evaluate it a different number of times than
the source, or in another order.
"""
from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from loopir.process.signal_exceptions import failures

from ..ast_names import COMPREHENSIONS
from ..ast_walk import walk_nodes
from ..core_nodes import copy_location
from ..source import read_source
from .macro_context import Context, Macro
from .macro_index import fires_on

__all__ = ["macro", "pattern_macro", "register", "registered"]

class _Match:
    """The result of matching a pattern."""

    def __init__(self) -> None:
        self.holes: dict[str, Any] = {}
        """hole -> the expression, or the statements, that fill it"""
        self.globals: list[ast.expr] = []
        """Names and attribute chains of the function that matched by their meaning."""


class _PatternMacro:
    """A rule as a macro. ``pattern`` and ``expansion`` are both expressions, or both statements;
    ``names`` has what names mean where the rule was written.
    """

    def __init__(self, pattern: ast.AST, expansion: ast.AST, names: Mapping[str, Any]) -> None:
        self.pattern, self.expansion, self.names = pattern, expansion, names

    def __call__(self, node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
        """The expansion for `node`; None if it does not match, or if a name of the expansion means
        something else in the function.
        """
        matched = _Match()
        if not self._unify(self.pattern, node, matched, cx) or not self._has_same_names(cx):
            return None
        for chain in matched.globals:
            cx.guard(chain)
        if isinstance(node, ast.expr):
            return cx.expr(ast.unparse(self.expansion), **self._parts(matched, cx))
        text = ast.unparse(self.expansion)
        return cx.with_before(lambda: cx.code(text, **self._parts(matched, cx)))

    def _parts(self, matched: _Match, cx: Context) -> dict[str, Any]:
        """What fills each hole of the expansion: the part that it matched, if the expansion
        evaluates each hole exactly once, in the order of the pattern; else a name that is bound to
        the part before the current statement.
        """
        conditional = (ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda, *COMPREHENSIONS)
        unconditional = not any(isinstance(n, conditional) for n in walk_nodes(self.expansion))
        in_order = [*_holes(self.expansion)] == [*_holes(self.pattern)]
        parts = matched.holes
        if not (unconditional and in_order):
            parts = {name: _evaluated_once(name, part, cx) for name, part in parts.items()}
        return parts | {"np": cx.numpy}

    def _unify(self, pattern: Any, node: Any, matched: _Match, cx: Context) -> bool:
        """Whether `node` matches `pattern`; fills `matched`, also where it returns False."""
        match pattern:
            case ast.Name(id=name) if _is_hole(name):
                if not isinstance(node, ast.expr):
                    return False
                return ast.unparse(matched.holes.setdefault(name, node)) == ast.unparse(node)
            case [ast.Expr(value=ast.Name(id=name))] if _is_hole(name):
                matched.holes[name] = node
                return isinstance(node, list)
            case ast.Name() | ast.Attribute() if (value := self._value(pattern)) is not None:
                matched.globals.append(node)
                return isinstance(node, ast.expr) and cx.resolve(node) is value
            case ast.expr_context():
                return True
            case ast.AST():
                return type(node) is type(pattern) and all(
                    self._unify(getattr(pattern, f, None), getattr(node, f, None), matched, cx)
                    for f in pattern._fields
                )
            case list():
                return len(node) == len(pattern) and all(
                    self._unify(p, n, matched, cx) for p, n in zip(pattern, node, strict=True)
                )
        return type(node) is type(pattern) and bool(node == pattern)

    def _value(self, e: ast.expr) -> Any:
        """The object that a name or attribute chain means where the rule was written; None if it
        means nothing.
        """
        match e:
            case ast.Name(id=name):
                return self.names.get(name, getattr(builtins, name, None))
            case ast.Attribute(value=of, attr=name):
                return getattr(self._value(of), name, None)
        return None

    def _has_same_names(self, cx: Context) -> bool:
        """Whether all free names of the expansion mean the same in the function as in the rule."""
        return all(
            cx.resolve(ast.Name(n, ast.Load())) is self._value(ast.Name(n, ast.Load()))
            for n in _free_names(self.expansion)
        )


def pattern_macro(
    pattern: str, expansion: str | Callable[..., Any], depth: int = 1
) -> Callable[[ast.AST, Context], Any]:
    """The macro that replaces `pattern` by `expansion`: text, or a function of the holes that
    returns one expression. The names of an expansion in text are those of the caller's frame,
    `depth` frames up. Raises ValueError if pattern and expansion are not both one expression or
    both one statement, or if the expansion has a hole that the pattern has not.
    """
    names: Mapping[str, Any]
    before = _parsed(pattern)
    if isinstance(expansion, str):
        frame = sys._getframe(depth)
        names, after = {**frame.f_globals, **frame.f_locals}, _parsed(expansion)
    else:
        names, after = _names_in(expansion), _returned_expression(expansion)
    if isinstance(before, ast.expr) is not isinstance(after, ast.expr):
        raise ValueError(f"{pattern!r} and its expansion are not both expressions")
    unknown = {*_holes(after)} - {*_holes(before)}
    if unknown:
        raise ValueError(f"{pattern!r} has no {', '.join(sorted(unknown))}")
    rule = _PatternMacro(before, after, names)
    match before:
        case ast.Name(id=name) if _is_hole(name):
            return rule
        case ast.Name() | ast.Attribute():  # a function may have the object under another name
            return fires_on(ast.Name, ast.Attribute)(rule)
    return fires_on(type(before))(rule)


def _parsed(text: str) -> ast.AST:
    """The only statement of `text`, or its expression. Raises ValueError if there are others."""
    try:
        body = ast.parse(text).body
    except failures(SyntaxError) as error:
        raise ValueError(f"{text!r} is not Python: {error.msg}") from None
    if len(body) != 1:
        raise ValueError(f"{text!r} is not one expression or statement")
    (statement,) = body
    return statement.value if isinstance(statement, ast.Expr) else statement


def _returned_expression(function: Callable[..., Any]) -> ast.expr:
    """The expression that `function` returns. Raises ValueError if it does anything else."""
    match read_source(function).tree.body:
        case [*before, ast.Return(value=ast.expr() as value)] if all(map(_is_docstring, before)):
            return value
    raise ValueError(f"`{getattr(function, '__name__', function)}` is not one returned expression")


def _is_docstring(s: ast.stmt) -> bool:
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)


def _names_in(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The globals of `function`, and what it closes over."""
    return {**function.__globals__, **inspect.getclosurevars(function).nonlocals}


def _is_hole(name: str) -> bool:
    return name.isupper()


def _holes(node: ast.AST) -> Iterator[str]:
    """Every occurrence of a hole in `node`, in the order of the text."""
    holes = [n for n in walk_nodes(node) if isinstance(n, ast.Name) and _is_hole(n.id)]
    yield from (n.id for n in sorted(holes, key=lambda n: (n.lineno, n.col_offset)))


def _free_names(node: ast.AST) -> set[str]:
    """The names that `node` reads and does not bind; ``np`` is not one, as `Context.numpy` fills
    it.
    """
    names = [n for n in walk_nodes(node) if isinstance(n, ast.Name) and not _is_hole(n.id)]
    bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return {n.id for n in names} - bound - {"np"}


def _evaluated_once(name: str, part: ast.expr | list[ast.stmt], cx: Context) -> Any:
    """What to put into the hole `name` for `part`: a fresh name that is bound to its value before
    the current statement; `part` itself if it is a name, a constant or statements.
    """
    if not isinstance(part, ast.expr) or isinstance(part, (ast.Name, ast.Constant)):
        return part
    variable = cx.fresh(name.lower())
    cx.before(*cx.code("NAME = E", NAME=variable, E=part))
    return copy_location(ast.Name(variable, ast.Load()), part)


_registered: list[Macro] = []
"""The macros of the user, in the order registered."""


def registered() -> tuple[Macro, ...]:
    """The macros that the user has registered, in that order."""
    return (*_registered,)


def register(macro: Macro) -> Macro:
    """Registers a macro; usable as a decorator. It is tried twice: by the stage ``user_macros``, on
    the function as it was written, before calls are inlined; and by the stage ``expand``, before
    the built-in macros, on what these have made. A call that it expands is not inlined.

    It is called with each statement and each expression of a function, and a Context. It returns
    None, or the replacement: a list of statements for a statement, an expression for an expression
    (`Context.before` takes statements that must run first). The replacement must mean the same in
    Python, and is expanded in turn. Functions that are already compiled are not compiled again.
    With `fires_on` the macro is called on the declared nodes only::

        @macros.register
        @macros.fires_on(ast.Call)
        def square(node, cx):
            match node:
                case ast.Call(func=ast.Name(id="square"), args=[a]):
                    return cx.expr("A * A", A=a)
    """
    _registered.append(macro)
    return macro


def macro(
    pattern: str | Macro, expansion: str | None = None
) -> Macro | Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a rewrite rule: a pattern of Python, and the expansion that replaces it.

    Names in capitals are holes. The expansion is text, or a function of the holes that returns one
    expression. Where the pattern is a statement, the expansion must be one, too; a hole that is the
    only statement of a block matches the whole block. All other names have the meaning that they
    have where the macro is written; in a function where one of them means something else, the rule
    does not apply::

        @macro("scipy.special.expit(A)")
        def expit(A):
            return 1.0 / (1.0 + np.exp(-A))

        macro("for I in pairs(N): BODY", "for I in range(0, N, 2): BODY")

    What matches a hole is evaluated once, and in the order of the pattern. Called with a function
    of a node and a Context, this is `register`. Raises ValueError if the expansion is of another
    kind than the pattern, or has a hole that the pattern has not.
    """
    if not isinstance(pattern, str):
        return register(pattern)
    if expansion is not None:
        return register(pattern_macro(pattern, expansion, 2))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        register(pattern_macro(pattern, function))
        return function

    return decorate
