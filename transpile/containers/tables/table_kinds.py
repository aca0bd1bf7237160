"""Table kinds: which expressions make dicts and sets, of which kind, and how names use them.

A *table* is a dict or set whose keys are data. `table_kind` classifies the expressions that make
one; `table_uses` lists what a node does with tables. `table_inference` decides by these which names
become hash tables. All functions work on the tree as it was written, before macros fire.
"""
from __future__ import annotations

import ast
import builtins
import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from ...analysis.type_inference.tuple_types import tuple_width
from ...frontend.ast_names import name_bindings, values_bound_to
from ...frontend.ast_walk import comprehension_results, display_leaves, truth_operands, walk_nodes
from ...frontend.macros.macro_context import Context
from ...types.flat_containers import Kind
from ..method_table import DICT_METHODS, METHODS, SET_METHODS, TableUse

__all__ = [
    "TABLES", "TABLE_TYPES", "value_tuple_width", "table_kind", "local_tables",
    "grown_while_iterated", "has_method", "is_dict",
    "table_uses",
]

_T = TypeVar("_T")

_KINDS: dict[type, Kind] = {
    builtins.dict: "dict", builtins.set: "set", collections.Counter: "Counter",
    collections.defaultdict: "defaultdict",
}

TABLES = (ast.Dict, ast.DictComp, ast.Set, ast.SetComp)
"""The displays and comprehensions that make a table."""

TABLE_TYPES = (*_KINDS,)
"""The classes whose call makes a table."""

_FACTORY_VALUES: dict[type, ast.expr] = {
    builtins.int: ast.Constant(0), builtins.float: ast.Constant(0.0),
    builtins.bool: ast.Constant(False), builtins.list: ast.List([], ast.Load()),
}
"""By the factory of a ``defaultdict``: the value of a missing key."""


def table_kind(e: ast.expr, cx: Context) -> tuple[Kind, ast.expr | None] | None:
    """The kind of table that `e` makes, and the value of missing keys (None unless it is a
    ``defaultdict`` or ``Counter``). None where `e` makes no table, or one that is not compiled: by
    ``*`` or ``**`` in a display or call, by keyword arguments, or with another default factory
    than `_defaultdict` knows.
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
        case ast.Call(ast.Attribute(receiver, "fromkeys"), [_] | [_, _], []) if (
            cx.resolve(receiver) is builtins.dict
        ):
            return "dict", None
        case ast.Call(func, [] | [_] as args, []) if not any(
            isinstance(a, ast.Starred) for a in args
        ):
            kind = _by_class(_KINDS, func, cx)
            if kind == "defaultdict" and args:
                return _defaultdict(args[0], cx)
            if kind == "Counter":
                return kind, ast.Constant(0)
            return (kind, None) if kind is not None and kind != "defaultdict" else None
    return None


def _defaultdict(factory: ast.expr, cx: Context) -> tuple[Kind, ast.expr] | None:
    """`table_kind` of ``defaultdict(factory)``: a builtin class, or a lambda of a constant; None
    for other factories.
    """
    default: ast.expr | None
    match factory:
        case ast.Lambda(args=ast.arguments(args=[], kwonlyargs=[], vararg=None, kwarg=None),
                        body=ast.Constant(value=bool() | int() | float()) as default):
            return "defaultdict", default
        case ast.Name() if (default := _by_class(_FACTORY_VALUES, factory, cx)) is not None:
            return "defaultdict", default
    return None


def _by_class(types: Mapping[type, _T], e: ast.expr, cx: Context) -> _T | None:
    """The entry of the class that the name `e` refers to; None where it is none of `types`."""
    callee = cx.resolve(e)
    return types.get(callee) if isinstance(callee, type) and callee in types else None


def value_tuple_width(name: str, tree: ast.FunctionDef) -> int:
    """The number of items of the tuples that are the values of the dict `name`; 0 where not all
    are tuples of the same length.
    """
    values: list[ast.expr] = []
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Assign([ast.Subscript(ast.Name(id=table), _)], value) if table == name:
                values.append(value)
            case ast.Call(ast.Attribute(ast.Name(id=table), "setdefault"), [_, value], []) if (
                table == name
            ):
                values.append(value)
    for initial in values_bound_to(name, *walk_nodes(*tree.body)):
        values += initial.values if isinstance(initial, ast.Dict) else ()
        values += [initial.value] if isinstance(initial, ast.DictComp) else ()
    widths = {tuple_width(e) for e in values}
    return widths.pop() if len(widths) == 1 else 0


def local_tables(tree: ast.FunctionDef, cx: Context) -> Iterator[str]:
    """The names that some statement of `tree` binds to a new table."""
    for n in walk_nodes(*tree.body):
        for target, value in name_bindings(n):
            if table_kind(value, cx) is not None:
                yield target.id


_VIEWS = ("keys", "values", "items")
"""Methods of dicts that return a view of it."""

_ITERATING = ("all", "any", "list", "sum", "tuple")
"""Builtins that iterate over their argument, whose result may depend on the order."""

_ORDERING = ("max", "min", "sorted")
"""Builtins that iterate over their argument, whose result does not depend on the order."""

_SUBSCRIPT_USES: dict[type[ast.expr_context], TableUse] = {
    ast.Load: "lookup", ast.Store: "store", ast.Del: "remove",
}


def _uses_in_builtin_call(call: ast.Call, builtin: str) -> Iterator[tuple[ast.expr, TableUse]]:
    """`table_uses` of a call of the builtin of that name, such as ``len(d)``; "" gives none.

    ``max(d)``, ``min(d)`` and ``sorted(d)`` give the same in any order of the items ("any_order");
    with a ``key``, the first of equal items wins, so that the order matters ("iterate").
    """
    args, keywords = call.args, call.keywords
    for a in args:
        if builtin in ("len", "bool") and len(args) == 1:
            yield a, "count"
        elif builtin in _ORDERING and len(args) == 1 and (
            not keywords or (builtin == "sorted" and keywords[0].arg == "reverse")
        ):
            yield _table_of_view(a, "keys", "values"), "any_order"
        elif builtin in ("enumerate", "zip"):
            yield _table_of_view(a, *_VIEWS), "iterate"
        elif builtin in _ITERATING:
            yield _table_of_view(a, "keys", "values"), "iterate"
    match args, keywords:  # max(d, key=d.get): the key of the greatest value
        case [ast.Name(id=name)], [
            ast.keyword("key", ast.Attribute(ast.Name() as table, "get"))
        ] if table.id == name and builtin in ("max", "min"):
            yield table, "iterate"


def table_uses(n: ast.AST, kind: Kind, cx: Context) -> Iterator[tuple[ast.expr, TableUse]]:
    """The operands of the node `n`, not of its children, that would be used as a table of that kind
    if they were one, each with its use.

        d[k] = v             (d, "store")
        if k in d:           (d, "lookup")
        for k in d.items():  (d, "iterate")
        len(d), max(d)       (d, "count"), (d, "any_order"): the result does not depend on the order

    `table_inference` visits all nodes of the function: a name that occurs in a place which is not
    among these, such as ``g(d)``, escapes, and is no hash table.
    """
    yield from ((to, "bind") for to, _ in name_bindings(n))
    match n:
        case ast.Subscript(value=table, ctx=ctx) if kind != "set":
            yield table, _SUBSCRIPT_USES[type(ctx)]
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[table]):
            yield table, "lookup"
        case ast.Call(ast.Attribute(table, method), args, []) if (
            has_method(kind, method, len(args))
        ):
            use = METHODS[method].use
            assert use is not None
            yield table, use
        case ast.Call():
            yield from _uses_in_builtin_call(n, cx.builtin(n))
        case ast.For(iter=table) | ast.comprehension(iter=table):
            yield _table_of_view(table, *_VIEWS), "iterate"
        case ast.Return(value=ast.expr() as value):
            yield from ((e, "return") for e in display_leaves(value))
            for e in display_leaves(value):
                match e:
                    case ast.Call(args=[table], keywords=[]) if cx.builtin(e) == "dict":
                        yield table, "return"
        case ast.If(test=table) | ast.While(test=table) | ast.IfExp(test=table) | ast.UnaryOp(
            op=ast.Not(), operand=table
        ):
            yield from ((e, "count") for e in truth_operands(table))


def has_method(kind: Kind, method: str, count: int) -> bool:
    """Whether a call of that method of a table of that kind, with `count` arguments, is compiled.
    """
    row = (SET_METHODS if kind == "set" else DICT_METHODS).get(method)
    return row is not None and row.use is not None and count in row.arguments


def is_dict(name: str, cx: Context) -> bool:
    """Whether `name` stands for a table that is not a set."""
    return name in cx.facts.tables and cx.facts.tables[name].kind != "set"


def _table_of_view(e: ast.expr, *views: str) -> ast.expr:
    """The object ``d`` of ``d.keys()`` and the like, for a method in `views`; else `e`."""
    match e:
        case ast.Call(ast.Attribute(table, view), [], []) if view in views:
            return table
    return e


def grown_while_iterated(name: str, kind: Kind, n: ast.AST, cx: Context) -> list[ast.Name]:
    """The occurrences of `name` in the iterable of the loop or comprehension `n`, if its body may
    insert or remove keys of that table, for which Python raises; else an empty list. A store to
    the key of the current iteration inserts nothing.
    """
    match n:
        case ast.For(target=target, iter=iterable, body=body):
            body_nodes: list[ast.AST] = [*body]
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
            iterable, target = n.generators[0].iter, n.generators[0].target
            body_nodes = [*n.generators[1:], *n.generators[0].ifs, *comprehension_results(n)]
        case _:
            return []
    iterated = [e for e in walk_nodes(iterable) if isinstance(e, ast.Name) and e.id == name]
    if not iterated or cx.builtin(iterable) in ("sorted", "list", "range"):
        return []
    match iterable, target:
        case (ast.Name(), ast.Name(id=key)) | (
            ast.Call(ast.Attribute(attr="items")), ast.Tuple(elts=[ast.Name(id=key), _])
        ):
            current_key = None if _rebinds(key, body_nodes) else key
        case _:
            current_key = None
    changing = {"store", "remove", "clear", "bind"}
    changing |= {"lookup"} if kind == "defaultdict" else set()
    for node in walk_nodes(*body_nodes):
        for table, use in table_uses(node, kind, cx):
            if not (isinstance(table, ast.Name) and table.id == name) or use not in changing:
                continue
            key_expr = node.slice if isinstance(node, ast.Subscript) else None
            is_current = isinstance(key_expr, ast.Name) and key_expr.id == current_key
            if use == "remove" or not is_current:
                return iterated
    return []


def _rebinds(name: str, body: Sequence[ast.AST]) -> bool:
    """Whether a node in `body` binds or deletes `name`."""
    stores = (n for n in walk_nodes(*body) if isinstance(n, ast.Name) and n.id == name)
    return any(not isinstance(n.ctx, ast.Load) for n in stores)
