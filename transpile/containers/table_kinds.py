"""Table kinds: which expressions make dicts and sets, of which kind, and how names use them."""
from __future__ import annotations

import ast
import builtins
import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from ..analysis.tuple_types import tuple_width
from ..analysis.type_facts import Kind
from ..frontend.ast_names import name_bindings, values_bound_to
from ..frontend.ast_walk import comprehension_results, display_leaves, walk_nodes
from ..frontend.macros.macro_context import Context
from .method_table import DICT_METHODS, METHODS, SET_METHODS, TableUse

__all__ = [
    "TABLES", "TABLE_TYPES", "value_tuple_width", "table_kind",
    "local_tables", "grown_while_iterated", "has_method", "is_dict",
    "source_position", "truth_tests", "table_uses",
]

_T = TypeVar("_T")

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


def table_kind(e: ast.expr, cx: Context) -> tuple[Kind, ast.expr | None] | None:
    """The kind of table that `e` makes, and the value of missing keys (``defaultdict``,
    ``Counter``).
    """
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


def _of(types: Mapping[type, _T], e: ast.expr, cx: Context) -> _T | None:
    """What belongs to the type that `e` stands for, which may stand for anything."""
    made = cx.resolve(e)
    return types.get(made) if isinstance(made, type) and made in types else None


def value_tuple_width(name: str, tree: ast.FunctionDef) -> int:
    """The number of items of the tuples that are the table's values; 0 where they are no tuples of
    one width.
    """
    values: list[ast.expr] = []
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Assign([ast.Subscript(ast.Name(id=of), _)], value) if of == name:
                values.append(value)
            case ast.Call(ast.Attribute(ast.Name(id=of), "setdefault"), [_, value], []) if (
                of == name
            ):
                values.append(value)
    for made in values_bound_to(name, *walk_nodes(*tree.body)):
        values += made.values if isinstance(made, ast.Dict) else ()
        values += [made.value] if isinstance(made, ast.DictComp) else ()
    shown = {tuple_width(e) for e in values}
    return shown.pop() if len(shown) == 1 else 0


def local_tables(tree: ast.FunctionDef, cx: Context) -> Iterator[str]:
    """The names that tables are bound to."""
    for n in walk_nodes(*tree.body):
        yield from (to.id for to, value in name_bindings(n) if table_kind(value, cx) is not None)


_VIEWS = ("keys", "values", "items")

_WALKING = ("all", "any", "list", "sum", "tuple")

_ORDERING = ("max", "min", "sorted")

_AT: dict[type[ast.expr_context], TableUse] = {
    ast.Load: "asked", ast.Store: "set", ast.Del: "removed",
}


def table_uses(n: ast.AST, kind: Kind, cx: Context) -> Iterator[tuple[ast.expr, TableUse]]:
    """The expressions in `n` that may be tables which it reads or changes."""
    yield from ((to, "made") for to, _ in name_bindings(n))
    match n:
        case ast.Subscript(value=of, ctx=ctx) if kind != "set":
            yield of, _AT[type(ctx)]
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[of]):
            yield of, "asked"
        case ast.Call(ast.Attribute(of, method), args, []) if has_method(kind, method, len(args)):
            use = METHODS[method].use
            assert use is not None
            yield of, use
        case ast.Call(args=args, keywords=keywords):
            said = cx.builtin(n)
            for a in args:
                if said in ("len", "bool") and len(args) == 1:
                    yield a, "counted"
                elif said in _ORDERING and len(args) == 1 and (
                    not keywords or (said == "sorted" and keywords[0].arg == "reverse")
                ):
                    yield _viewed(a, "keys", "values"), "ordered"
                elif said in ("enumerate", "zip"):
                    yield _viewed(a, *_VIEWS), "walked"
                elif said in _WALKING:
                    yield _viewed(a, "keys", "values"), "walked"
            match args, keywords:
                case [ast.Name(id=name)], [
                    ast.keyword("key", ast.Attribute(ast.Name() as of, "get"))
                ] if of.id == name and said in ("max", "min"):
                    yield of, "walked"
        case ast.For(iter=of) | ast.comprehension(iter=of):
            yield _viewed(of, *_VIEWS), "walked"
        case ast.Return(value=ast.expr() as value):
            yield from ((e, "returned") for e in display_leaves(value))
            for e in display_leaves(value):
                match e:
                    case ast.Call(args=[of], keywords=[]) if cx.builtin(e) == "dict":
                        yield of, "returned"
        case ast.If(test=of) | ast.While(test=of) | ast.IfExp(test=of) | ast.UnaryOp(
            op=ast.Not(), operand=of
        ):
            yield from ((e, "counted") for e in truth_tests(of))


def has_method(kind: Kind, method: str, count: int) -> bool:
    """Whether tables of that kind have a compiled method of that name, with `count` arguments."""
    row = (SET_METHODS if kind == "set" else DICT_METHODS).get(method)
    return row is not None and row.use is not None and count in row.arguments


def is_dict(name: str, cx: Context) -> bool:
    """Whether it is the name of a table whose keys have values."""
    return name in cx.facts.tables and cx.facts.tables[name].kind != "set"


def truth_tests(test: ast.expr) -> Iterator[ast.expr]:
    """The expressions of which `test` only asks the truth value."""
    if isinstance(test, ast.BoolOp):
        for e in test.values:
            yield from truth_tests(e)
    else:
        yield test


def _viewed(e: ast.expr, *views: str) -> ast.expr:
    """What `e` is a view of, if it is one of these."""
    match e:
        case ast.Call(ast.Attribute(of, view), [], []) if view in views:
            return of
    return e


def source_position(n: ast.expr) -> tuple[int, int]:
    """The position of `n` in the source, by which a use of a name is recognised after it was
    copied.
    """
    return n.lineno, n.col_offset


def grown_while_iterated(name: str, kind: Kind, n: ast.AST, cx: Context) -> list[ast.Name]:
    """The name of the table, if `n` iterates over its keys and may insert or remove keys meanwhile;
    else None.
    """
    match n:
        case ast.For(target=target, iter=over, body=body):
            inside: list[ast.AST] = [*body]
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
            over, target = n.generators[0].iter, n.generators[0].target
            inside = [*n.generators[1:], *n.generators[0].ifs, *comprehension_results(n)]
        case _:
            return []
    walked = [e for e in walk_nodes(over) if isinstance(e, ast.Name) and e.id == name]
    if not walked or cx.builtin(over) in ("sorted", "list", "range"):
        return []
    match over, target:
        case (ast.Name(), ast.Name(id=key)) | (
            ast.Call(ast.Attribute(attr="items")), ast.Tuple(elts=[ast.Name(id=key), _])
        ):
            kept = None if _rebinds(key, inside) else key
        case _:
            kept = None
    changing = {"set", "removed", "cleared", "made"}
    changing |= {"asked"} if kind == "defaultdict" else set()
    for part in walk_nodes(*inside):
        for of, use in table_uses(part, kind, cx):
            if not (isinstance(of, ast.Name) and of.id == name) or use not in changing:
                continue
            at = part.slice if isinstance(part, ast.Subscript) else None
            if use == "removed" or not (isinstance(at, ast.Name) and at.id == kept):
                return walked
    return []


def _rebinds(name: str, body: Sequence[ast.AST]) -> bool:
    stores = (n for n in walk_nodes(*body) if isinstance(n, ast.Name) and n.id == name)
    return any(not isinstance(n.ctx, ast.Load) for n in stores)
