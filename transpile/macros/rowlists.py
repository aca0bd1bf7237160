"""Lists of lists of one length: rows that are copied, or swapped, and columns."""
from __future__ import annotations

import ast
from collections.abc import Iterator

from .context import Context
from .copying import copied
from .firing import fires_on
from .listlike import holds_lists
from .nests import unless
from .tupled import is_steady

__all__ = ["columns_walked", "rows_copied", "rows_swapped"]

_TAKING = frozenset({
    "all", "any", "enumerate", "len", "list", "max", "min", "sorted", "sum", "zip",
})
"""Builtins to which a list is as good as a tuple."""


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp)
@fires_on(ast.ListComp)
def rows_copied(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """Item by item.

        w = [[0.0] * 2 for _ in range(n)]
        u = [v[:] for v in w]
    →
        w = [[0.0] * 2 for _ in range(n)]
        _list_1 = []
        for _i_4 in range(len(w)):
            _v_5 = w[_i_4]
            _list_2 = []
            for _i_5 in range(len(_v_5)):
                _v_6 = _v_5[_i_5]
                _list_2.append(_v_6)
            _list_1.append(_list_2)
        u = _list_1
    """
    match node:
        case ast.Assign(targets=[ast.Name()], value=value):
            new = _by_items(value, cx)
            return new and cx.code("TO = E", TO=node.targets[0], E=new)
        case ast.expr():
            return _by_items(node, cx)
    return None


def _by_items(e: ast.expr, cx: Context) -> ast.expr | None:
    match e:
        case ast.ListComp(
            elt=elt, generators=[ast.comprehension(target=ast.Name(id=row), iter=of, ifs=[])]
        ) if _copy_of(elt, cx) == row and holds_lists(of, cx):
            inner = cx.expr("[V for V in ROW]", V=cx.fresh("v"), ROW=row)
            return ast.copy_location(ast.ListComp(inner, e.generators), e)
    return None


def _copy_of(e: ast.expr, cx: Context) -> str:
    """The name of the list of which it is a copy."""
    match e:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(None, None, None)):
            return name
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="copy"), args=[], keywords=[]
        ):
            return name
        case ast.Call(args=[ast.Name(id=name)], keywords=[]) if cx.builtin(e) == "list":
            return name
    return ""


@fires_on(ast.Assign, targets=ast.Tuple, value=ast.Tuple)
def rows_swapped(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Item by item, where the rows of a list that is made here have no names of their own.

        u = [[0.0] * 2 for _ in range(n)]
        u[i], u[j] = u[j], u[i]
    →
        u = [[0.0] * 2 for _ in range(n)]
        if len(u[i]) < 1:
            "Python's to answer"
            u[i], u[j] = (u[j], u[i])
        else:
            for _k in range(len(u[i])):
                _t = u[i][_k]
                u[i][_k] = u[j][_k]
                u[j][_k] = _t
    """
    found = _swapped(node)
    if found is None or not isinstance(node, ast.Assign) or not cx.means("len", "range"):
        return None
    name, i, j = found
    fact = cx.facts.known.get(name)
    own = fact is not None and fact.rows == 1 and name in cx.facts.own
    if not own or not (is_steady(i) and is_steady(j)) or _rows_named(name, cx.tree):
        return None
    text = """
        for K in range(len(X[I])):
            T = X[I][K]
            X[I][K] = X[J][K]
            X[J][K] = T
    """
    lines = cx.code(text, K=cx.fresh("k"), T=cx.fresh("t"), X=name, I=i, J=j)
    return unless([cx.expr("len(X[I]) < 1", X=name, I=i)], node, lines, cx)


def _swapped(node: ast.AST) -> tuple[str, ast.expr, ast.expr] | None:
    """The list, and the places in it, of two rows that change places."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            match [*targets, *values]:
                case [
                    ast.Subscript(value=ast.Name(id=a), slice=i),
                    ast.Subscript(value=ast.Name(id=b), slice=j),
                    ast.Subscript(value=ast.Name(id=c), slice=j_again),
                    ast.Subscript(value=ast.Name(id=d), slice=i_again),
                ] if a == b == c == d:
                    same = [ast.dump(i), ast.dump(j)] == [ast.dump(i_again), ast.dump(j_again)]
                    return (a, i, j) if same else None
    return None


def _rows_named(name: str, tree: ast.AST) -> bool:
    """Whether more is done to a list of lists than to ask for items and lengths, to swap rows, and
    to return it.
    """
    def plain() -> Iterator[ast.expr]:
        for n in ast.walk(tree):
            match n:
                case ast.Subscript(value=ast.Subscript(value=of)):
                    yield of
                case ast.Call(func=ast.Name(id="len"), args=[ast.Subscript(value=of) | of]):
                    yield of
                case ast.Return(value=ast.Name() as of):
                    yield of
                case ast.Assign(targets=[ast.Tuple(elts=a)], value=ast.Tuple(elts=b)):
                    if _swapped(n):
                        yield from (e.value for e in (*a, *b) if isinstance(e, ast.Subscript))

    allowed = set(plain())
    loads = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name)
    return any(n not in allowed for n in loads if isinstance(n.ctx, ast.Load))


@fires_on(ast.ListComp, ast.GeneratorExp)
def columns_walked(node: ast.AST, cx: Context) -> ast.expr | None:
    """A column is a list where a tuple is no better: to builtins that take each item.

        u = [sum(v) for v in zip(*X)]
    →
        if len(X) < 1:
            "Python's to answer"
            _list = [sum(v) for v in zip(*X)]
        else:
            _list_1 = []
            for _j_1 in range(len(X[0])):
                _sum = 0
                for _i_1 in range(len(X)):
                    _sum = _sum + X[_i_1, _j_1]
                _list_1.append(_sum)
            _list = _list_1
        u = _list
    """
    match node:
        case ast.ListComp(generators=[of, *_]) | ast.GeneratorExp(generators=[of, *_]):
            pass
        case _:
            return None
    match of:
        case ast.comprehension(
            target=ast.Name(id=column), iter=ast.Call(args=[ast.Starred(value=ast.Name() as rows)])
        ) if cx.builtin(of.iter) == "zip" and cx.means("len", "range"):
            pass
        case _:
            return None
    array = cx.fact(rows).array
    if not holds_lists(rows, cx) and (array is None or array.rank != 2):
        return None
    new = copied(node)
    assert isinstance(new, (ast.ListComp, ast.GeneratorExp))
    place, each = cx.fresh("j"), cx.fresh("i")
    items = cx.expr("[X[I][J] for I in range(len(X))]", X=rows, I=each, J=place)
    head = new.generators[0]
    head.target = ast.Name(place, ast.Store())
    head.iter = cx.expr("range(len(X[0]))", X=rows)
    filled = _Column(column, items, cx)
    filled.visit(new)
    if filled.escapes:
        return None
    name, none = cx.fresh("list"), cx.expr("len(X) < 1", X=rows)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = cx.code("NAME = E", NAME=name, E=new)
    return cx.made(name, lambda: unless([none], original, lines, cx))


class _Column(ast.NodeTransformer):
    """Puts `items` in the place of a name, where builtins take it."""

    def __init__(self, name: str, items: ast.expr, cx: Context) -> None:
        self.name, self.items, self.cx, self.escapes = name, items, cx, False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(args=[ast.Name(id=name)]) if name == self.name and (
                self.cx.builtin(node) == "list"
            ):
                return copied(self.items)
        if self.cx.builtin(node) in _TAKING:
            node.args = [
                copied(self.items) if isinstance(a, ast.Name) and a.id == self.name else a
                for a in node.args
            ]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.escapes = self.escapes or node.id == self.name
        return node
