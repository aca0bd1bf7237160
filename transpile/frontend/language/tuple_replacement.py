"""Scalar replacement of tuples: a name for each item; comparisons of tuples item by item."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...analysis.tuple_types import MOST, is_repeatable, tuple_display
from ...types.value_types import ScalarType
from ..ast_names import names_used
from ..ast_walk import child_blocks, copy_tree
from ..core_nodes import copy_location
from ..int_exprs import integer_constant
from ..macros.firing_conditions import (
    asks_made_array,
    assigns_apart,
    has_starred,
    is_constant_tuple,
    is_taken_apart,
    of_taken_apart,
    picks_of_tuple,
)
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on, other_than
from ..macros.replay_guards import bind_fresh, guarded

__all__ = [
    "indexable_tuple", "tuple_fold", "tuple_item", "constant_tuple", "tuple_assignment",
    "tuple_expression", "starred_tuple", "drop_dead_tuples", "tuple_comparison",
]


@fires_on(ast.Assign, targets=ast.Name, when=assigns_apart)
def tuple_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The tuple itself stays only for what asks for it as a whole.

        t = (i, s)
        t = (t[0] + 1, t[1])
        s = t[1] + t[0]
    →
        _t_0 = i
        _t_1 = s
        _t = _t_0 + 1
        _t_2 = _t_1
        _t_0 = _t
        _t_1 = _t_2
        s = _t_1 + _t_0
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in cx.facts.apart:
            items = cx.facts.items(value)
            if items is None or cx.facts.is_apart(name, value):
                return None
            if name in names_used(value):
                return cx.whole(
                    lambda: _named(name, [bind_fresh(e, "t", cx) for e in items], node, cx)
                )
            return _named(name, items, node, cx)
    return None


def _named(name: str, items: Sequence[ast.expr], at: ast.Assign, cx: Context) -> list[ast.stmt]:
    names = cx.facts.item_names(name, len(items))
    apart = [ast.Name(n, ast.Store()) for n in names]
    whole = ast.Tuple([ast.Name(n, ast.Load()) for n in names], ast.Load())
    return [
        copy_location(
            ast.Assign([ast.Tuple([*apart], ast.Store())], tuple_display(items, at)), at
        ),
        copy_location(ast.Assign([ast.Name(name, ast.Store())], whole), at),
    ]


def drop_dead_tuples(body: list[ast.stmt], names: set[str]) -> None:
    """Tuples of `names` that nobody asks for are not made."""
    loads = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Name))
    gone = names - {n.id for n in loads if isinstance(n.ctx, ast.Load)}
    for s in body:
        for node in ast.walk(s):
            for block in child_blocks(node):
                _drop(block, gone)
    _drop(body, gone)


def _drop(block: list[ast.stmt], gone: set[str]) -> None:
    kept = [s for s in block if not _makes(s, gone)]
    block[:] = kept or (block[:1] and [copy_location(ast.Pass(), block[0])])


def _makes(s: ast.stmt, names: set[str]) -> bool:
    match s:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple()):
            return name in names
    return False


@fires_on(ast.Subscript, ctx=ast.Load, slice=other_than(ast.Slice), when=picks_of_tuple)
def tuple_item(node: ast.AST, cx: Context) -> ast.expr | None:
    """All items are evaluated.

        i = (n, n + 1)[0]
        j = (1, 0, -1)[i]
        s = x[X.shape[::-1][0] - 1]
    →
        _list = (1, 0, -1)
        _t = n + 1
        i = n
        j = _list[i]
        s = x[X.shape[1] - 1]
    """
    match node:
        case ast.Subscript(value=value, slice=index, ctx=ast.Load()):
            at, items = integer_constant(index, None), cx.facts.items(value)
        case _:
            return None
    if items is None or isinstance(index, ast.Slice):
        return None
    if at is None:
        scalars = all(cx.fact(e).rank == 0 for e in (index, *items))
        return cx.expr("LIST[I]", LIST=indexable_tuple(items, cx), I=index) if scalars else None
    if isinstance(value, ast.Attribute) or not -len(items) <= at < len(items):
        return None
    if isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Slice):
        return items[at] if at < 0 else None  # an item of a list of tuples
    return [e if is_repeatable(e) else bind_fresh(e, "t", cx) for e in items][at]


def indexable_tuple(items: Sequence[ast.expr], cx: Context) -> ast.expr:
    """A name for a tuple of scalars, which is read by subscripts."""
    display = ast.Tuple([*items], ast.Load())
    fixed = all(
        isinstance(e, ast.Constant) or (is_repeatable(e) and not names_used(e)) for e in items
    )
    return cx.constants(display) if fixed else bind_fresh(display, "list", cx)


@fires_on(ast.Call, when=has_starred)
def starred_tuple(node: ast.AST, cx: Context) -> ast.expr | None:
    """The items of a tuple, as arguments.

        t = (1, n)
        for i in range(*t):
            s = s + i
    →
        _t_0 = 1
        _t_1 = n
        for i in range(_t_0, _t_1):
            s = s + i
    """
    if not isinstance(node, ast.Call) or not any(isinstance(a, ast.Starred) for a in node.args):
        return None
    args: list[ast.expr] = []
    for a in node.args:
        items = cx.facts.items(a.value) if isinstance(a, ast.Starred) else [a]
        if items is None:
            return None
        args += items
    return copy_location(ast.Call(node.func, args, node.keywords), node)


@fires_on(ast.Name, ast.Tuple, ctx=ast.Load, when=is_taken_apart)
@fires_on(ast.BinOp, op=ast.Add, when=is_taken_apart)
@fires_on(ast.Subscript, slice=ast.Slice, ctx=ast.Load, when=is_taken_apart)
@fires_on(ast.Attribute, value=ast.Name, when=asks_made_array)
def tuple_expression(node: ast.AST, cx: Context) -> ast.expr | None:
    """A tuple that has a name, or is made of others, as a display.

        t = (i, j)
        for n in t + (0,):
            s = s + n
    →
        _t_0 = i
        _t_1 = j
        _x = (_t_0, _t_1, 0)
        for _i in range(len(_x)):
            n = _x[_i]
            s = s + n
    """
    match node:
        case (
            ast.Name(ctx=ast.Load()) | ast.BinOp()
            | ast.Subscript(slice=ast.Slice(), ctx=ast.Load()) | ast.Tuple(ctx=ast.Load())
        ):
            items = cx.facts.items(node)
            display = isinstance(node, ast.Tuple) and items == node.elts
            twice = isinstance(node, ast.Name) and cx.returned(node.id) > 1  # one object
            return None if items is None or display or twice else tuple_display(items, node)
        case ast.Attribute(attr="shape", value=ast.Name(id=name)) if (
            name in cx.facts.own and cx.returned() and (items := cx.facts.items(node))
        ):
            return tuple_display(
                [copy_tree(e) for e in items], node
            )  # of an array that is made here
    return None


@fires_on(ast.Name, ctx=ast.Load, when=is_constant_tuple)
@fires_on(ast.Attribute, when=is_constant_tuple)
def constant_tuple(node: ast.AST, cx: Context) -> ast.expr | None:
    """A tuple of numbers that is free in the function, for as long as the name is bound to it. One
    that is read by computed subscripts is taken for an array.

        i, j, n = MOVES
    →
        MOVES
        i = 1
        j = 0
        n = -1
    """
    match node:
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
            value = cx.resolve(node)
            taken = isinstance(node, ast.Attribute) or node.id not in cx.facts.whole
            taken = taken and not cx.returned()  # it is that very tuple
            if taken and type(value) is tuple and _is_plain(value):
                cx.ask(node)
                return copy_location(_constant(value), node)
    return None


def _is_plain(value: object) -> bool:
    if type(value) is tuple:
        return 0 < len(value) <= MOST and all(map(_is_plain, value))
    return type(value) in (int, bool) or (type(value) is float and value - value == 0)


def _constant(value: Any) -> ast.expr:
    if type(value) is tuple:
        return ast.Tuple([*map(_constant, value)], ast.Load())
    negative = str(value).startswith("-")
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if negative else ast.Constant(value)


@fires_on(ast.Call, calls=[len, max, min, sum, tuple], when=of_taken_apart)
def tuple_fold(node: ast.AST, cx: Context) -> ast.expr | None:
    """Its length, its least and its largest item; ints are added.

        i = len((n, j))
        j = min(X.shape)
        n = sum((i, j))
    →
        n
        i = 2
        j = min(X.shape[0], X.shape[1])
        n = 0 + i + j
    """
    match cx.builtin(node), node:
        case ("len" | "min" | "max" | "sum" | "tuple") as asked, ast.Call(args=[e], keywords=[]):
            items = cx.facts.items(e)
        case _:
            return None
    if items is None or not isinstance(node, ast.Call):
        return None
    if asked == "tuple":
        return tuple_display(items, e)
    if asked == "len":
        return ast.Constant(len(items)) if all(map(is_repeatable, items)) else None
    if asked == "sum":
        ints = all(cx.fact(i).is_int for i in items)
        return _sum(items, cx) if ints else None
    scalars = all(cx.fact(i).rank == 0 for i in items) and len(items) > 1
    return copy_location(ast.Call(node.func, items, []), node) if scalars else None


def _sum(items: Sequence[ast.expr], cx: Context) -> ast.expr:
    total: ast.expr = ast.Constant(0)
    for item in items:
        total = cx.expr("A + B", A=total, B=item)
    return total


_ORDER: dict[type[ast.cmpop], tuple[ast.cmpop, Callable[[int, int], bool]]] = {
    ast.Lt: (ast.Lt(), operator.lt), ast.LtE: (ast.Lt(), operator.le),
    ast.Gt: (ast.Gt(), operator.gt), ast.GtE: (ast.Gt(), operator.ge),
}
"""How the first items that differ compare; how the lengths do where none differs."""

_FLOAT = (ScalarType("f64"),)


@fires_on(ast.Compare, ops=(*_ORDER, ast.Eq, ast.NotEq))
def tuple_comparison(node: ast.AST, cx: Context) -> ast.expr | None:
    """By the first items that differ. What is identical is equal, even a NaN: that is Python's.

        t = (i, j) < (n, 2)
    →
        _t = i < n if i != n else j < 2 if j != 2 else False
        t = _t
    """
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if (
            type(op) in _ORDER or isinstance(op, (ast.Eq, ast.NotEq))
        ):
            first, second = cx.facts.items(left), cx.facts.items(right)
        case _:
            return None
    if not first or not second or any(cx.fact(e).rank != 0 for e in (*first, *second)):
        return None
    name = cx.fresh("t")

    def lines() -> list[ast.stmt]:
        a, b = (
            [e if is_repeatable(e) else bind_fresh(e, "t", cx) for e in x] for x in (first, second)
        )
        made = cx.code("NAME = E", NAME=name, E=_compare_items(op, a, b, cx))
        original = ast.Compare(tuple_display(a, left), [op], [tuple_display(b, right)])
        (left_to,) = cx.code("NAME = E", NAME=name, E=original)
        nans = [cx.expr("V != V", V=v) for v in a if _may_be_nan(v, cx)]
        return guarded(nans, left_to, made, cx)

    return cx.made(name, lines)


def _may_be_nan(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return not isinstance(e, ast.Constant) and any(t.dtype[0] in "fc" for t in types or _FLOAT)


def _compare_items(
    op: ast.cmpop, a: Sequence[ast.expr], b: Sequence[ast.expr], cx: Context
) -> ast.expr:
    if isinstance(op, (ast.Eq, ast.NotEq)):
        differ = isinstance(op, ast.NotEq)
        known = ast.Constant(differ)
        out: ast.expr = ast.Constant(differ is (len(a) != len(b)))
        for x, y in reversed([*zip(a, b, strict=False)]) if len(a) == len(b) else ():
            out = cx.expr("REST if X == Y else DIFFER", X=x, Y=y, REST=out, DIFFER=known)
        return out
    of_items, of_lengths = _ORDER[type(op)]
    out = ast.Constant(of_lengths(len(a), len(b)))
    for x, y in reversed([*zip(a, b, strict=False)]):
        first = ast.Compare(x, [of_items], [y])
        out = cx.expr("FIRST if X != Y else REST", FIRST=first, X=x, Y=y, REST=out)
    return out
