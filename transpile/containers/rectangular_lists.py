"""Rectangular lists of lists: row copies, row swaps, columns; constant rows → tuples."""
from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from ..analysis.tuple_types import MOST, appended_items, is_repeatable
from ..frontend.ast_names import binding_pairs
from ..frontend.ast_walk import copy_tree, tree_key, walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.macros.list_kind import is_list_of_lists
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded

__all__ = ["columns_of_rows", "copy_rows", "swap_rows", "row_lists_to_tuples"]

_TAKING = frozenset({
    "all", "any", "enumerate", "len", "list", "max", "min", "sorted", "sum", "zip",
})
"""Builtins to which a list is as good as a tuple."""


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp)
@fires_on(ast.ListComp)
def copy_rows(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``[row[:] for row in rows]`` → loops that copy item by item.

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
        ) if _copy_of(elt, cx) == row and is_list_of_lists(of, cx):
            inner = cx.expr("[V for V in ROW]", V=cx.fresh("v"), ROW=row)
            return copy_location(ast.ListComp(inner, e.generators), e)
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
def swap_rows(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``a[i], a[j] = a[j], a[i]`` → a loop that swaps item by item, where the rows of a list made
    here have no names of their own.

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
    if not own or not (is_repeatable(i) and is_repeatable(j)) or _rows_named(name, cx.tree):
        return None
    text = """
        for K in range(len(X[I])):
            T = X[I][K]
            X[I][K] = X[J][K]
            X[J][K] = T
    """
    lines = cx.code(text, K=cx.fresh("k"), T=cx.fresh("t"), X=name, I=i, J=j)
    return guarded([cx.expr("len(X[I]) < 1", X=name, I=i)], node, lines, cx)


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
                    same = [tree_key(i), tree_key(j)] == [tree_key(i_again), tree_key(j_again)]
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
def columns_of_rows(node: ast.AST, cx: Context) -> ast.expr | None:
    """``[f(v) for v in zip(*rows)]`` → loops over the columns. Only where the columns are given to
    builtins that take each item, for which a list is as good as the tuple that Python makes.

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
    if not is_list_of_lists(rows, cx) and (array is None or array.rank != 2):
        return None
    new = copy_tree(node)
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
    return cx.made(name, lambda: guarded([none], original, lines, cx))


class _Column(ast.NodeTransformer):
    """Puts `items` in the place of a name, where builtins take it."""

    def __init__(self, name: str, items: ast.expr, cx: Context) -> None:
        self.name, self.items, self.cx, self.escapes = name, items, cx, False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(args=[ast.Name(id=name)]) if name == self.name and (
                self.cx.builtin(node) == "list"
            ):
                return copy_tree(self.items)
        if self.cx.builtin(node) in _TAKING:
            node.args = [
                copy_tree(self.items) if isinstance(a, ast.Name) and a.id == self.name else a
                for a in node.args
            ]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.escapes = self.escapes or node.id == self.name
        return node


def row_lists_to_tuples(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A copy of `tree` in which rows, displays of lists inside of a list, are tuples; `tree` itself
    where there are none.

    Only rows whose items alone are read, or of which an array is made, are changed.
    """
    if not any(
        isinstance(e, ast.List) for n in walk_nodes(tree) for _, es in _arguments_of(n) for e in es
    ):
        return tree
    new = copy_tree(tree)
    others = {a.arg for a in walk_nodes(new.args) if isinstance(a, ast.arg)}
    known = {e for n in walk_nodes(*new.body) for e in _is_read_only(n)}
    others |= {n.id for n in walk_nodes(*new.body) if isinstance(n, ast.Name) and n not in known}
    rows: dict[str, list[ast.expr]] = {}
    for n in walk_nodes(*new.body):
        for name, items in _arguments_of(n):
            rows.setdefault(name, []).extend(items)
    found = [e for name, items in rows.items() if name not in others and _alike(items)
             for e in items]
    return _Tuples(found).visit(new) if found else tree


class _Tuples(ast.NodeTransformer):
    def __init__(self, rows: Collection[ast.expr]) -> None:
        self.rows = set(rows)

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        row = ast.Tuple(node.elts, node.ctx)
        return copy_location(row, node) if node in self.rows else node


def _alike(rows: Collection[ast.expr]) -> bool:
    """Whether all are displays of lists of one length."""
    shown = [e.elts for e in rows if isinstance(e, ast.List)]
    plain = not any(isinstance(e, ast.Starred) for elts in shown for e in elts)
    lengths = set(map(len, shown))
    return plain and len(shown) == len(rows) and len(lengths) == 1 and 0 < lengths.pop() <= MOST


def _arguments_of(n: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """The lists to which `n` gives items."""
    for to, value in binding_pairs(n):
        if isinstance(to, ast.Name) and isinstance(value, (ast.List, ast.ListComp)):
            yield to.id, value.elts if isinstance(value, ast.List) else [value.elt]
    match n:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")):
            yield name, list(appended_items(n, name))


def _is_read_only(n: ast.AST) -> Iterator[ast.expr]:
    """Names in `n` of what may be a list, of which it is the same whether its items are tuples."""
    yield from (to for to, e in binding_pairs(n) if isinstance(e, (ast.List, ast.ListComp)))
    match n:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Subscript(value=of, slice=at)) | (
            ast.Subscript(value=ast.Subscript(value=of, slice=at), ctx=ast.Load())
        ) if not isinstance(at, ast.Slice):
            yield of
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=of, attr=attr))) | ast.Assign(
            targets=[ast.Tuple()], value=ast.Call(func=ast.Attribute(value=of, attr="pop" as attr))
        ) if attr in ("append", "clear", "pop"):
            yield of
        case ast.Call(func=ast.Name(id="len"), args=[of]) | ast.Call(
            func=ast.Attribute(attr="array" | "asarray"), args=[of, *_]
        ):
            yield of
        case ast.For(target=ast.Tuple(), iter=of) | ast.comprehension(target=ast.Tuple(), iter=of):
            yield of
        case ast.If(test=of) | ast.While(test=of) | ast.UnaryOp(op=ast.Not(), operand=of):
            yield of
