"""Which expressions make tables, and of which kind."""
from __future__ import annotations

import ast
import builtins
import collections
from collections.abc import Iterator, Mapping
from typing import TypeVar

from ..below import below
from .context import Context
from .fact import Kind
from .names import bindings
from .tupled import width

__all__ = [
    "TABLES", "TABLE_TYPES", "bound_by", "given_to", "items_of_values", "kind_of", "made_here",
]

T = TypeVar("T")

_KINDS: dict[type, Kind] = {
    builtins.dict: "dict", builtins.set: "set", collections.Counter: "Counter",
    collections.defaultdict: "defaultdict",
}

TABLES = (ast.Dict, ast.DictComp, ast.Set, ast.SetComp)
TABLE_TYPES = (*_KINDS,)
"""What makes a table: displays and comprehensions, and what is called."""

_STARTS: dict[type, ast.expr] = {
    builtins.int: ast.Constant(0), builtins.float: ast.Constant(0.0),
    builtins.bool: ast.Constant(False), builtins.list: ast.List([], ast.Load()),
}
"""What a defaultdict of these begins with."""


def kind_of(e: ast.expr, cx: Context) -> tuple[Kind, ast.expr | None] | None:
    """The kind of table that `e` makes, and the value of keys that are not there."""
    match e:
        case ast.Dict(keys=keys) if None not in keys:
            return "dict", None
        case ast.DictComp():
            return "dict", None
        case ast.Set(elts=elts) if not any(isinstance(e, ast.Starred) for e in elts):
            return "set", None
        case ast.SetComp():
            return "set", None
        case ast.Call(ast.Attribute(of, "fromkeys"), [_] | [_, _], []) if (
            cx.resolve(of) is builtins.dict
        ):
            return "dict", None
        case ast.Call(func, [] | [_] as args, []) if not any(
            isinstance(a, ast.Starred) for a in args
        ):
            kind = _of(_KINDS, func, cx)
            if kind == "defaultdict" and args:
                return _defaultdict(args[0], cx)
            if kind == "Counter":
                return kind, ast.Constant(0)
            return (kind, None) if kind is not None and kind != "defaultdict" else None
    return None


def _defaultdict(factory: ast.expr, cx: Context) -> tuple[Kind, ast.expr] | None:
    start: ast.expr | None
    match factory:
        case ast.Lambda(args=ast.arguments(args=[], kwonlyargs=[], vararg=None, kwarg=None),
                        body=ast.Constant(value=bool() | int() | float()) as start):
            return "defaultdict", start
        case ast.Name() if (start := _of(_STARTS, factory, cx)) is not None:
            return "defaultdict", start
    return None


def _of(types: Mapping[type, T], e: ast.expr, cx: Context) -> T | None:
    """What belongs to the type that `e` stands for, which may stand for anything."""
    made = cx.resolve(e)
    return types.get(made) if isinstance(made, type) and made in types else None


def bound_by(n: ast.AST) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Names that `n` binds, and to what."""
    match n:
        case ast.AnnAssign(ast.Name() as to, _, ast.expr() as value):
            yield to, value
        case _:
            yield from ((t, e) for t, e in bindings(n) if isinstance(t, ast.Name))


def given_to(name: str, *nodes: ast.AST) -> list[ast.expr]:
    """What the name is bound to."""
    return [value for n in nodes for to, value in bound_by(n) if to.id == name]


def items_of_values(name: str, tree: ast.FunctionDef) -> int:
    """How many items all values of the table show, which are tuples; 0 where they are none."""
    values: list[ast.expr] = []
    for n in below(*tree.body):
        match n:
            case ast.Assign([ast.Subscript(ast.Name(id=of), _)], value) if of == name:
                values.append(value)
            case ast.Call(ast.Attribute(ast.Name(id=of), "setdefault"), [_, value], []) if (
                of == name
            ):
                values.append(value)
    for made in given_to(name, *below(*tree.body)):
        values += made.values if isinstance(made, ast.Dict) else ()
        values += [made.value] if isinstance(made, ast.DictComp) else ()
    shown = {width(e) for e in values}
    return shown.pop() if len(shown) == 1 else 0


def made_here(tree: ast.FunctionDef, cx: Context) -> Iterator[str]:
    """The names that tables are bound to."""
    for n in below(*tree.body):
        yield from (to.id for to, value in bound_by(n) if kind_of(value, cx) is not None)
