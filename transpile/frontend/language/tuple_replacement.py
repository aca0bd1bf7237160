"""Scalar replacement of tuples: a name for each item; comparisons of tuples item by item.

The front end's SROA. `tuple_types` finds the items of tuple expressions; the macros here bind each
item of a local tuple to a name of its own, and replace reads of items by these names. The tuple
itself is still bound as a display of these names, for whatever reads it as a whole;
`drop_dead_tuples` removes it in the end if nothing does.
"""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...analysis.liveness import upward_exposed
from ...analysis.type_inference.tuple_types import (
    MAX_TUPLE_ITEMS,
    is_repeatable,
    is_scalarized_value,
    item_names,
    items_of_tuple,
    popped_width,
    tuple_display,
)
from ...types.value_types import ScalarType
from ..ast_names import names_used
from ..ast_walk import child_blocks, child_nodes, copy_tree, integer_constant, walk_nodes
from ..core_nodes import ReplayIf, copy_location
from ..macros.bind_operands import bind_fresh, bind_unless_repeatable
from ..macros.firing_conditions import (
    assigns_known_tuple,
    has_known_tuple_argument,
    has_starred_argument,
    is_constant_tuple,
    is_known_tuple,
    reads_item_of_tuple,
    returns_shape,
)
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on, other_than
from ..macros.replay_guards import guarded

__all__ = [
    "indexable_tuple", "tuple_fold", "tuple_item", "constant_tuple", "tuple_assignment",
    "tuple_expression", "tuple_subscript", "starred_tuple", "drop_dead_tuples",
    "tuple_comparison",
]


@fires_on(ast.Assign, targets=ast.Name, when=assigns_known_tuple)
def tuple_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A tuple that is assigned to a name is bound item by item (scalar replacement).

        p = (i, s)
        p = (p[0] + 1, p[1])
        s = p[1] + p[0]
    →
        _p_0 = i
        _p_1 = s
        _t = _p_0 + 1
        _t_1 = _p_1
        _p_0 = _t
        _p_1 = _t_1
        s = _p_1 + _p_0

    The items must be known (`items_of_tuple`: how many, and an expression for each), and the name
    one that `tuple_types.unscalarizable_names` does not exclude. All values are computed before any
    name is bound, as the new tuple may read items of the old one. `tuple_item` replaces the reads.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in cx.facts.scalarizable:
            if width := popped_width(cx.facts, value):
                return _bind_items(name, value, width, node, cx)
            items = items_of_tuple(cx.facts, value)
            if items is None or is_scalarized_value(cx.facts, name, value):
                return None
            if name in names_used(value):  # the items may read the names that are bound
                return cx.with_before(
                    lambda: _bind_items(
                        name, tuple_display([bind_fresh(e, "t", cx) for e in items], node),
                        len(items), node, cx,
                    )
                )
            return _bind_items(name, tuple_display(items, node), len(items), node, cx)
    return None


def _bind_items(
    name: str, value: ast.expr, width: int, at: ast.Assign, cx: Context
) -> list[ast.stmt]:
    """``t_0, t_1 = value`` and ``t = (t_0, t_1)``, for the tuple `name` of ``width`` items."""
    names = item_names(cx.facts, name, width)
    targets = [ast.Name(n, ast.Store()) for n in names]
    display = ast.Tuple([ast.Name(n, ast.Load()) for n in names], ast.Load())
    return [
        copy_location(ast.Assign([ast.Tuple([*targets], ast.Store())], value), at),
        copy_location(ast.Assign([ast.Name(name, ast.Store())], display), at),
    ]


def drop_dead_tuples(body: list[ast.stmt], names: set[str]) -> None:
    """Removes from `body`, in place, the bindings of those tuples of `names` that nothing reads."""
    dead = names - _names_read(body)
    for s in body:
        for node in walk_nodes(s):
            for block in child_blocks(node):
                _drop_bindings(block, dead)
    _drop_bindings(body, dead)


def _names_read(body: list[ast.stmt]) -> set[str]:
    """The names that `body` reads. Of the original code in a `ReplayIf`, which replays the whole
    call, only the names that it reads before it binds them.
    """
    names: set[str] = set()
    rest: list[ast.AST] = [*body]
    while rest:
        match rest.pop():
            case ReplayIf(test=test, body=replayed, orelse=compiled):
                names |= upward_exposed(replayed)
                rest += [test, *compiled]
            case ast.Name(id=name, ctx=ast.Load()):
                names.add(name)
            case node:
                rest += child_nodes(node)
    return names


def _drop_bindings(block: list[ast.stmt], dead: set[str]) -> None:
    """Removes the statements of `block` that bind one of ``dead`` to a tuple display, in place."""
    remaining = [s for s in block if not _binds_tuple(s, dead)]
    block[:] = remaining or (block[:1] and [copy_location(ast.Pass(), block[0])])


def _binds_tuple(s: ast.stmt, names: set[str]) -> bool:
    match s:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple()):
            return name in names
    return False


@fires_on(ast.Subscript, ctx=ast.Load, slice=other_than(ast.Slice), when=reads_item_of_tuple)
def tuple_item(node: ast.AST, cx: Context) -> ast.expr | None:
    """An item of a tuple of known items is read from its name; the other items are evaluated too.

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
            position, items = integer_constant(index, None), items_of_tuple(cx.facts, value)
        case _:
            return None
    if items is None or isinstance(index, ast.Slice):
        return None
    if position is None:
        scalars = all(cx.fact(e).rank == 0 for e in (index, *items))
        return cx.expr("LIST[I]", LIST=indexable_tuple(items, cx), I=index) if scalars else None
    if isinstance(value, ast.Attribute) or not -len(items) <= position < len(items):
        return None
    if isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Slice):
        # w[i][k] of a list of tuples is core Python for k >= 0
        return items[position] if position < 0 else None
    return [bind_unless_repeatable(e, "t", cx) for e in items][position]


def indexable_tuple(items: Sequence[ast.expr], cx: Context) -> ast.expr:
    """A name that is bound to the tuple of the scalars `items`, to be read at computed indices: at
    the start of the function if all are constants, else before the current statement.
    """
    display = ast.Tuple([*items], ast.Load())
    fixed = all(
        isinstance(e, ast.Constant) or (is_repeatable(e) and not names_used(e)) for e in items
    )
    return cx.bind_constants(display) if fixed else bind_fresh(display, "list", cx)


@fires_on(ast.Call, when=has_starred_argument)
def starred_tuple(node: ast.AST, cx: Context) -> ast.expr | None:
    """``*t`` in a call becomes the items of the tuple as arguments.

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
        items = items_of_tuple(cx.facts, a.value) if isinstance(a, ast.Starred) else [a]
        if items is None:
            return None
        args += items
    return copy_location(ast.Call(node.func, args, node.keywords), node)


@fires_on(ast.AugAssign, target=ast.Subscript)
def tuple_subscript(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The subscript of an element that is updated becomes a display, if it is a tuple with a name.

        p = (i, j)
        X[p] += s
    →
        _p_0 = i
        _p_1 = j
        X[_p_0, _p_1] = X[_p_0, _p_1] + s
    """
    match node:
        case ast.AugAssign(
            target=ast.Subscript(value=ast.Name() as array, slice=ast.Name() as index) as target,
            op=op, value=value,
        ) if items := items_of_tuple(cx.facts, index):
            element = ast.Subscript(array, tuple_display(items, index), ast.Store())
            copy_location(element, target)
            return [copy_location(ast.AugAssign(element, op, value), node)]
    return None


@fires_on(ast.Name, ast.Tuple, ctx=ast.Load, when=is_known_tuple)
@fires_on(ast.BinOp, op=ast.Add, when=is_known_tuple)
@fires_on(ast.Subscript, slice=ast.Slice, ctx=ast.Load, when=is_known_tuple)
@fires_on(ast.Attribute, value=ast.Name, when=returns_shape)
def tuple_expression(node: ast.AST, cx: Context) -> ast.expr | None:
    """A tuple that has a name, or is composed of others, becomes a display of its items.

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
            items = items_of_tuple(cx.facts, node)
            is_display = isinstance(node, ast.Tuple) and items == node.elts
            # a name that is returned twice must be one object
            is_shared = isinstance(node, ast.Name) and cx.result_uses(node.id) > 1
            if items is None or is_display or is_shared:
                return None
            return tuple_display(items, node)
        case ast.Attribute(attr="shape", value=ast.Name(id=name)) if (
            name in cx.facts.local_names
            and cx.result_uses()
            and (items := items_of_tuple(cx.facts, node))
        ):
            # of an array that the function makes, and does not return itself
            return tuple_display([copy_tree(e) for e in items], node)
    return None


@fires_on(ast.Name, ctx=ast.Load, when=is_constant_tuple)
@fires_on(ast.Attribute, when=is_constant_tuple)
def constant_tuple(node: ast.AST, cx: Context) -> ast.expr | None:
    """A global tuple of numbers becomes a display; the global is guarded. One that is read at
    computed indices stays, and is read as an array. One that is returned stays, too: the result
    must be the same object.

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
            scalarized = isinstance(node, ast.Attribute) or node.id not in cx.facts.unscalarizable
            scalarized = scalarized and not cx.result_uses()  # the result must be the same object
            if scalarized and type(value) is tuple and _is_numbers(value):
                cx.guard(node)
                return copy_location(_display_of(value), node)
    return None


def _is_numbers(value: object) -> bool:
    """Whether `value` is an int, a bool, a finite float, or a short tuple of such values."""
    if type(value) is tuple:
        return 0 < len(value) <= MAX_TUPLE_ITEMS and all(map(_is_numbers, value))
    return type(value) in (int, bool) or (type(value) is float and value - value == 0)


def _display_of(value: Any) -> ast.expr:
    """The literal of a number, or the display of a tuple."""
    if type(value) is tuple:
        return ast.Tuple([*map(_display_of, value)], ast.Load())
    negative = str(value).startswith("-")
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if negative else ast.Constant(value)


@fires_on(ast.Call, calls=[len, max, min, sum, tuple], when=has_known_tuple_argument)
def tuple_fold(node: ast.AST, cx: Context) -> ast.expr | None:
    """``len``, ``min``, ``max``, ``sum`` and ``tuple`` of a tuple of known items are written out.

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
        case ("len" | "min" | "max" | "sum" | "tuple") as builtin, ast.Call(
            args=[e], keywords=[]
        ):
            items = items_of_tuple(cx.facts, e)
        case _:
            return None
    if items is None or not isinstance(node, ast.Call):
        return None
    if builtin == "tuple":
        return tuple_display(items, e)
    if builtin == "len":
        return ast.Constant(len(items)) if all(map(is_repeatable, items)) else None
    if builtin == "sum":
        ints = all(cx.fact(i).is_int for i in items)
        return _sum(items, cx) if ints else None
    scalars = all(cx.fact(i).rank == 0 for i in items) and len(items) > 1
    return copy_location(ast.Call(node.func, items, []), node) if scalars else None


def _sum(items: Sequence[ast.expr], cx: Context) -> ast.expr:
    """``0 + a + b + …``"""
    total: ast.expr = ast.Constant(0)
    for item in items:
        total = cx.expr("A + B", A=total, B=item)
    return total


_ORDER: dict[type[ast.cmpop], tuple[ast.cmpop, Callable[[int, int], bool]]] = {
    ast.Lt: (ast.Lt(), operator.lt), ast.LtE: (ast.Lt(), operator.le),
    ast.Gt: (ast.Gt(), operator.gt), ast.GtE: (ast.Gt(), operator.ge),
}
"""For each operator: the comparison of the first items that differ, and that of the lengths if all
items of the shorter tuple are equal.
"""

_FLOAT = (ScalarType("f64"),)


@fires_on(ast.Compare, ops=(*_ORDER, ast.Eq, ast.NotEq))
def tuple_comparison(node: ast.AST, cx: Context) -> ast.expr | None:
    """Tuples are compared item by item, up to the first items that differ. With a NaN the call is
    replayed, since Python takes identical objects for equal.

        t = (i, j) < (n, 2)
    →
        _t = i < n if i != n else j < 2 if j != 2 else False
        t = _t
    """
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if (
            type(op) in _ORDER or isinstance(op, (ast.Eq, ast.NotEq))
        ):
            first, second = items_of_tuple(cx.facts, left), items_of_tuple(cx.facts, right)
        case _:
            return None
    if not first or not second or any(cx.fact(e).rank != 0 for e in (*first, *second)):
        return None
    name = cx.fresh("t")

    def lines() -> list[ast.stmt]:
        a, b = (
            [bind_unless_repeatable(e, "t", cx) for e in x] for x in (first, second)
        )
        rewritten = cx.code("NAME = E", NAME=name, E=_compare_items(op, a, b, cx))
        comparison = ast.Compare(tuple_display(a, left), [op], [tuple_display(b, right)])
        (original,) = cx.code("NAME = E", NAME=name, E=comparison)
        nans = [cx.expr("V != V", V=v) for v in a if _may_be_nan(v, cx)]
        return guarded(nans, original, rewritten, cx)

    return cx.bound_name(name, lines)


def _may_be_nan(e: ast.expr, cx: Context) -> bool:
    """Whether `e` may be a float or complex number, by its types; a literal is no NaN."""
    types = cx.fact(e).types
    return not isinstance(e, ast.Constant) and any(t.dtype[0] in "fc" for t in types or _FLOAT)


def _compare_items(
    op: ast.cmpop, a: Sequence[ast.expr], b: Sequence[ast.expr], cx: Context
) -> ast.expr:
    """The comparison of two tuples as a chain of conditionals over the items, built from the last
    item to the first.
    """
    if isinstance(op, (ast.Eq, ast.NotEq)):
        is_not_equal = isinstance(op, ast.NotEq)
        if_items_differ = ast.Constant(is_not_equal)
        chain: ast.expr = ast.Constant(is_not_equal is (len(a) != len(b)))
        for x, y in reversed([*zip(a, b, strict=False)]) if len(a) == len(b) else ():
            chain = cx.expr(
                "REST if X == Y else DIFFER", X=x, Y=y, REST=chain, DIFFER=if_items_differ
            )
        return chain
    compare_items, compare_lengths = _ORDER[type(op)]
    chain = ast.Constant(compare_lengths(len(a), len(b)))
    for x, y in reversed([*zip(a, b, strict=False)]):
        first = ast.Compare(x, [compare_items], [y])
        chain = cx.expr("FIRST if X != Y else REST", FIRST=first, X=x, Y=y, REST=chain)
    return chain
