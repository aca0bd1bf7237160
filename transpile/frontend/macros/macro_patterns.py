"""User-defined rewrite rules: a pattern with holes in Python, and its expansion."""
from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ..ast_names import COMPREHENSIONS
from ..ast_walk import walk_nodes
from ..core_nodes import copy_location
from ..source import read_source
from .macro_context import Context
from .macro_index import fires_on

__all__ = ["pattern_macro"]

_Found: TypeAlias = "dict[str, Any]"
"""What stands in each hole; and by "" the names of the function that have a meaning here."""


class _Macro:
    """`pattern` and `expansion` are an expression each, or a statement each."""

    def __init__(self, pattern: ast.AST, expansion: ast.AST, names: Mapping[str, Any]) -> None:
        self.pattern, self.expansion, self.names = pattern, expansion, names

    def __call__(self, node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
        found: _Found = {}
        if not self._fits(self.pattern, node, found, cx) or not self._means(cx):
            return None
        for chain in found.pop("", ()):
            cx.ask(chain)
        if isinstance(node, ast.expr):
            return cx.expr(ast.unparse(self.expansion), **self._parts(found, cx))
        return cx.whole(lambda: cx.code(ast.unparse(self.expansion), **self._parts(found, cx)))

    def _parts(self, found: _Found, cx: Context) -> dict[str, Any]:
        """What stands in the holes of the expansion: evaluated once, and in its turn."""
        maybe = (ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda, *COMPREHENSIONS)
        plain = not any(isinstance(n, maybe) for n in walk_nodes(self.expansion))
        in_order = [*_holes(self.expansion)] == [*_holes(self.pattern)]
        parts = {
            n: e if plain and in_order else _evaluated_once(n, e, cx) for n, e in found.items()
        }
        return parts | {"np": cx.numpy}

    def _fits(self, pattern: Any, node: Any, found: _Found, cx: Context) -> bool:
        """Whether `node` is `pattern`; what its holes stand for is then in `found`."""
        match pattern:
            case ast.Name(id=name) if _is_hole(name):
                if not isinstance(node, ast.expr):
                    return False
                return ast.unparse(found.setdefault(name, node)) == ast.unparse(node)
            case [ast.Expr(value=ast.Name(id=name))] if _is_hole(name):
                found[name] = node
                return isinstance(node, list)
            case ast.Name() | ast.Attribute() if (value := self._value(pattern)) is not None:
                found.setdefault("", []).append(node)
                return isinstance(node, ast.expr) and cx.resolve(node) is value
            case ast.expr_context():
                return True
            case ast.AST():
                return type(node) is type(pattern) and all(
                    self._fits(getattr(pattern, f, None), getattr(node, f, None), found, cx)
                    for f in pattern._fields
                )
            case list():
                return len(node) == len(pattern) and all(
                    self._fits(p, n, found, cx) for p, n in zip(pattern, node, strict=True)
                )
        return type(node) is type(pattern) and bool(node == pattern)

    def _value(self, e: ast.expr) -> Any:
        """What a name, or a chain of attributes, means where the macro is written."""
        match e:
            case ast.Name(id=name):
                return self.names.get(name, getattr(builtins, name, None))
            case ast.Attribute(value=of, attr=name):
                return getattr(self._value(of), name, None)
        return None

    def _means(self, cx: Context) -> bool:
        """Whether the names of the expansion mean in the function what they mean here."""
        return all(
            cx.resolve(ast.Name(n, ast.Load())) is self._value(ast.Name(n, ast.Load()))
            for n in _free(self.expansion)
        )


def pattern_macro(
    pattern: str, expansion: str | Callable[..., Any], depth: int = 1
) -> Callable[[ast.AST, Context], Any]:
    """The macro that puts `expansion` in the place of `pattern`.

    The expansion is text too, or a function of the holes that returns one expression. Raises
    ValueError where either is no single expression or statement, or has another's holes.
    """
    names: Mapping[str, Any]
    before = _parsed(pattern)
    if isinstance(expansion, str):
        frame = sys._getframe(depth)
        names, after = {**frame.f_globals, **frame.f_locals}, _parsed(expansion)
    else:
        names, after = _names(expansion), _returned(expansion)
    if isinstance(before, ast.expr) is not isinstance(after, ast.expr):
        raise ValueError(f"{pattern!r} and its expansion are not both expressions")
    unknown = {*_holes(after)} - {*_holes(before)}
    if unknown:
        raise ValueError(f"{pattern!r} has no {', '.join(sorted(unknown))}")
    made = _Macro(before, after, names)
    match before:
        case ast.Name(id=name) if _is_hole(name):
            return made
        case ast.Name() | ast.Attribute():  # by whatever name a function has it
            return fires_on(ast.Name, ast.Attribute)(made)
    return fires_on(type(before))(made)


def _parsed(text: str) -> ast.AST:
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise ValueError(f"{text!r} is not Python: {error.msg}") from None
    if len(body) != 1:
        raise ValueError(f"{text!r} is not one expression or statement")
    (statement,) = body
    return statement.value if isinstance(statement, ast.Expr) else statement


def _returned(function: Callable[..., Any]) -> ast.expr:
    match read_source(function).tree.body:
        case [*start, ast.Return(value=ast.expr() as value)] if all(map(_is_docstring, start)):
            return value
    raise ValueError(f"`{getattr(function, '__name__', function)}` is not one returned expression")


def _is_docstring(s: ast.stmt) -> bool:
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)


def _names(function: Callable[..., Any]) -> Mapping[str, Any]:
    return {**function.__globals__, **inspect.getclosurevars(function).nonlocals}


def _is_hole(name: str) -> bool:
    return name.isupper()


def _holes(node: ast.AST) -> Iterator[str]:
    """The holes in `node`, as often as they stand there, in the order of the text."""
    found = [n for n in walk_nodes(node) if isinstance(n, ast.Name) and _is_hole(n.id)]
    yield from (n.id for n in sorted(found, key=lambda n: (n.lineno, n.col_offset)))


def _free(node: ast.AST) -> set[str]:
    names = [n for n in walk_nodes(node) if isinstance(n, ast.Name) and not _is_hole(n.id)]
    own = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return {n.id for n in names} - own - {"np"}


def _evaluated_once(name: str, part: ast.expr | list[ast.stmt], cx: Context) -> Any:
    """`part`, evaluated once and in its turn."""
    if not isinstance(part, ast.expr) or isinstance(part, (ast.Name, ast.Constant)):
        return part
    held = cx.fresh(name.lower())
    cx.before(*cx.code("NAME = E", NAME=held, E=part))
    return copy_location(ast.Name(held, ast.Load()), part)
