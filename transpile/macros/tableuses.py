"""What is done with tables, and where names of tables stand for more than keys and values."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from ..below import below, results
from .context import Context
from .fact import Kind
from .tablekinds import bound_by

__all__ = ["Use", "given_by", "grown_under", "has_method", "is_dict", "position", "truths", "uses"]

Use: TypeAlias = Literal[
    "made", "asked", "set", "removed", "cleared", "walked", "ordered", "counted", "returned",
]

_VIEWS = ("keys", "values", "items")

_WALKING = ("all", "any", "list", "sum", "tuple")

_ORDERING = ("max", "min", "sorted")

_METHODS = {
    "get": (1, 2), "setdefault": (2,), "add": (1,), "discard": (1,), "remove": (1,), "pop": (1, 2),
    "clear": (0,),
}
"""Methods, and how many arguments they may have."""

_METHOD_USES: dict[str, Use] = {
    "get": "asked", "setdefault": "set", "add": "set", "discard": "removed", "remove": "removed",
    "pop": "removed", "clear": "cleared",
}

KEYED = frozenset({"get", "setdefault", "add", "discard", "remove", "pop"})
"""Methods that take a key."""
_OF_SETS = frozenset({"add", "discard", "remove", "clear"})

_OF_DICTS = frozenset({"get", "setdefault", "pop", "clear"})

_AT: dict[type[ast.expr_context], Use] = {
    ast.Load: "asked", ast.Store: "set", ast.Del: "removed",
}


def uses(n: ast.AST, kind: Kind, cx: Context) -> Iterator[tuple[ast.expr, Use]]:
    """What may be tables that `n` makes use of."""
    yield from ((to, "made") for to, _ in bound_by(n))
    match n:
        case ast.Subscript(value=of, ctx=ctx) if kind != "set":
            yield of, _AT[type(ctx)]
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[of]):
            yield of, "asked"
        case ast.Call(ast.Attribute(of, method), args, []) if has_method(kind, method, len(args)):
            yield of, _METHOD_USES[method]
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
            yield from ((e, "returned") for e in results(value))
            for e in results(value):
                match e:
                    case ast.Call(args=[of], keywords=[]) if cx.builtin(e) == "dict":
                        yield of, "returned"
        case ast.If(test=of) | ast.While(test=of) | ast.IfExp(test=of) | ast.UnaryOp(
            op=ast.Not(), operand=of
        ):
            yield from ((e, "counted") for e in truths(of))


def has_method(kind: Kind, method: str, count: int) -> bool:
    """Whether such a table has a method that is known, with so many arguments."""
    return method in (_OF_SETS if kind == "set" else _OF_DICTS) and count in _METHODS[method]


def is_dict(name: str, cx: Context) -> bool:
    """Whether it is the name of a table whose keys have values."""
    return name in cx.facts.tables and cx.facts.tables[name].kind != "set"


def truths(test: ast.expr) -> Iterator[ast.expr]:
    """That of which only the truth is asked."""
    if isinstance(test, ast.BoolOp):
        for e in test.values:
            yield from truths(e)
    else:
        yield test


def _viewed(e: ast.expr, *views: str) -> ast.expr:
    """What `e` is a view of, if it is one of these."""
    match e:
        case ast.Call(ast.Attribute(of, view), [], []) if view in views:
            return of
    return e


def position(n: ast.expr) -> tuple[int, int]:
    """Where the name stands in the source: so it is known wherever it is copied to."""
    return n.lineno, n.col_offset


def grown_under(name: str, kind: Kind, n: ast.AST, cx: Context) -> list[ast.Name]:
    """The name, where `n` goes over the keys of the table, and may change which these are."""
    match n:
        case ast.For(target=target, iter=over, body=body):
            inside: list[ast.AST] = [*body]
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
            over, target = n.generators[0].iter, n.generators[0].target
            inside = [*n.generators[1:], *n.generators[0].ifs, *given_by(n)]
        case _:
            return []
    walked = [e for e in below(over) if isinstance(e, ast.Name) and e.id == name]
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
    for part in below(*inside):
        for of, use in uses(part, kind, cx):
            if not (isinstance(of, ast.Name) and of.id == name) or use not in changing:
                continue
            at = part.slice if isinstance(part, ast.Subscript) else None
            if use == "removed" or not (isinstance(at, ast.Name) and at.id == kept):
                return walked
    return []


def given_by(n: ast.AST) -> list[ast.AST]:
    """What a comprehension gives."""
    return [n.key, n.value] if isinstance(n, ast.DictComp) else [getattr(n, "elt", n)]


def _rebinds(name: str, body: Sequence[ast.AST]) -> bool:
    stores = (n for n in below(*body) if isinstance(n, ast.Name) and n.id == name)
    return any(not isinstance(n.ctx, ast.Load) for n in stores)
