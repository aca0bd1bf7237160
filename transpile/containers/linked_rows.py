"""Lists of growing rows (adjacency lists) → one flat list of items, linked by row.

The items of all rows are in one list, in the order in which they were appended; each has the
position of the next item of its row, and each row the positions of its first and last items
(`flat_containers.LinkedRows`). `infer_linked_rows` runs once for a function, before macros fire,
and records the names whose every occurrence this layout supports. `tables.multimaps` links the
lists that are values of a dict in the same way, by `link_item`, `follow_links`, `lists_of_rows`.

Rows that are appended whole, and are not changed after that, are in `ragged_lists`; rows whose
items are assigned in `rectangular_lists`.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..analysis.type_inference.tuple_types import is_repeatable, tuple_width
from ..frontend.ast_names import binding_pairs
from ..frontend.ast_walk import display_leaves, is_name, truth_operands, walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.macros.firing_conditions import has_linked_rows
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import EXPRESSIONS, fires_on
from ..types.flat_containers import LinkedRows

__all__ = [
    "follow_links", "infer_linked_rows", "link_item", "linked_row_read", "linked_row_update",
    "lists_of_rows",
]

_READING = ("len", "max", "min", "sorted", "sum")
"""Builtins that take a row, and keep nothing of it."""


def infer_linked_rows(tree: ast.FunctionDef, candidates: Sequence[str], cx: Context) -> None:
    """Records in ``cx.facts.linked_rows`` those of `candidates` that are lists of rows which begin
    empty and grow. `transpile.expand` calls it before macros fire.

        g = [[] for _ in range(n)]        _g_first = [-1] * n, _g_last = [-1] * n
        g[u].append(v)              →     an item in _g_item, and a link in _g_after

    Every occurrence of a name must be one that `_uses` lists; all items must be numbers, or tuples
    of one length.
    """
    nodes = [*walk_nodes(*tree.body)]
    bound = (pair for n in nodes for pair in binding_pairs(n))
    begin_empty = {
        to.id for to, value in bound
        if isinstance(to, ast.Name) and _number_of_rows(value, cx) is not None
    }
    for name in candidates:
        if name not in begin_empty:
            continue
        understood = {use for n in nodes for use in _uses(n, name, cx)}
        widths = {tuple_width(item) for n in nodes for item in _appended(n, name)}
        occurrences = (n for n in nodes if is_name(n, name))
        if len(widths) == 1 and all(n in understood for n in occurrences):
            counts = any(_is_row_length(n, name, cx) for n in nodes)
            rows = LinkedRows(
                items=cx.fresh(f"{name}_item"),
                next_item=cx.fresh(f"{name}_after"),
                first_item=cx.fresh(f"{name}_first"),
                last_item=cx.fresh(f"{name}_last"),
                counts=cx.fresh(f"{name}_count") if counts else "",
            )
            cx.facts.linked_rows[name] = rows
            if width := widths.pop():
                cx.facts.tuple_lists[rows.items] = width


def _uses(n: ast.AST, name: str, cx: Context) -> Iterator[ast.expr]:
    """The occurrences of `name` as operands of the node `n` that the layout supports:

    - ``name = [[] for … in range(n)]``, and ``len(name)``;
    - ``name[i].append(v)``;
    - ``for v in name[i]``, in a loop that neither appends to a row nor binds the name, and in a
      comprehension;
    - ``len(name[i])`` and the like, and ``name[i]`` as a condition;
    - ``name`` once in what the function returns.
    """
    for target, value in binding_pairs(n):
        if is_name(target, name) and _number_of_rows(value, cx) is not None:
            yield target
    match n:
        case ast.Expr(ast.Call(ast.Attribute(row, "append"), [_], [])):
            yield from _row_of(row, name)
        case ast.For(iter=row, body=body):
            parts = [*walk_nodes(*body)]
            if not any(is_name(to, name) for part in parts for to, _ in binding_pairs(part)) and (
                not any(True for part in parts for _ in _appended(part, name))
            ):
                yield from _row_of(row, name)
        case ast.comprehension(iter=row):
            yield from _row_of(row, name)
        case ast.Call(args=[ast.Name() as rows], keywords=[]) if cx.builtin(n) == "len":
            yield rows
        case ast.Call(args=[row], keywords=[]) if cx.builtin(n) in _READING:
            yield from _row_of(row, name)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.UnaryOp(
            op=ast.Not(), operand=test
        ):
            for operand in truth_operands(test):
                yield from _row_of(operand, name)
        case ast.Return(value=ast.expr() as value):
            returned = [e for e in display_leaves(value) if is_name(e, name)]
            yield from returned if len(returned) == 1 else ()


def _row_of(e: ast.expr, name: str) -> Iterator[ast.expr]:
    """The occurrence of `name` in ``name[i]``; nothing for other expressions."""
    match e:
        case ast.Subscript(ast.Name(id=rows) as occurrence, index) if rows == name:
            if not isinstance(index, (ast.Slice, ast.Tuple)):
                yield occurrence


def _appended(n: ast.AST, name: str) -> Iterator[ast.expr]:
    """The item that the statement `n` appends to a row of `name`."""
    match n:
        case ast.Expr(ast.Call(ast.Attribute(row, "append"), [item], [])) if [*_row_of(row, name)]:
            yield item


def _is_row_length(n: ast.AST, name: str, cx: Context) -> bool:
    """Whether `n` is the length of a row of `name`."""
    match n:
        case ast.Call(args=[row], keywords=[]) if cx.builtin(n) == "len":
            return any(True for _ in _row_of(row, name))
    return False


def _number_of_rows(e: ast.expr, cx: Context) -> ast.expr | None:
    """The number of rows of ``[[] for … in range(n)]`` and ``[[] for … in x]``, whose rows are
    empty lists; None for other expressions.
    """
    match e:
        case ast.ListComp(
            ast.List(elts=[]) | ast.Call(args=[], keywords=[]) as row,
            [ast.comprehension(target=ast.Name(), iter=of, ifs=[], is_async=0)],
        ) if isinstance(row, ast.List) or cx.builtin(row) == "list":
            match of:
                case ast.Call(args=[count], keywords=[]) if cx.builtin(of) == "range":
                    return count
                case ast.Name():
                    return cx.expr("len(X)", X=of)
    return None


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp, when=has_linked_rows)
@fires_on(ast.Expr, value=ast.Call, when=has_linked_rows)
@fires_on(ast.For, when=has_linked_rows)
def linked_row_update(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``g[u].append(v)``, and the creation of ``g`` and loops over its rows → the same on the flat
    list of items and its links.

        g = [[] for _ in range(n)]
        for i in range(n):
            g[i // 2].append(i)
        for j in g[0]:
            s += j
    →
        _g_first = [-1] * n
        _g_last = [-1] * n
        _g_item = []
        _g_after = []
        for i in range(n):
            _row = i // 2
            _g_item.append(i)
            _g_after.append(-1)
            if _g_last[_row] < 0:
                _g_first[_row] = len(_g_item) - 1
            else:
                _g_after[_g_last[_row]] = len(_g_item) - 1
            _g_last[_row] = len(_g_item) - 1
        _place = _g_first[0]
        while _place >= 0:
            j = _g_item[_place]
            _place = _g_after[_place]
            s = s + j

    A subscript that is out of range, or no int, is refused or checked where the lists of all rows,
    which have one entry each, are subscripted by it.
    """
    match node:
        case ast.Assign([ast.Name(id=name)], value) if name in cx.facts.linked_rows:
            count = _number_of_rows(value, cx)
            return None if count is None else _empty_rows(cx.facts.linked_rows[name], count, cx)
        case ast.Expr(ast.Call(ast.Attribute(
            ast.Subscript(ast.Name(id=name), index), "append"
        ), [item], [])) if name in cx.facts.linked_rows:
            return _append(cx.facts.linked_rows[name], index, item, cx)
        case ast.For(
            target=target, iter=ast.Subscript(ast.Name(id=name), index), body=body, orelse=orelse
        ) if name in cx.facts.linked_rows:
            rows, place = cx.facts.linked_rows[name], cx.fresh("place")
            text = """
            PLACE = FIRST[I]
            while PLACE >= 0:
                TARGET = ITEMS[PLACE]
                PLACE = AFTER[PLACE]
                BODY
            """
            lines = cx.code(
                text, PLACE=place, FIRST=rows.first_item, I=index, TARGET=target,
                ITEMS=rows.items, AFTER=rows.next_item, BODY=body,
            )
            assert isinstance(lines[-1], ast.While)
            lines[-1].orelse = orelse
            return lines
    return None


def _empty_rows(rows: LinkedRows, count: ast.expr, cx: Context) -> list[ast.stmt]:
    """Statements that make `count` rows without items."""
    lines: list[ast.stmt] = []
    if not is_repeatable(count):
        name = ast.Name(cx.fresh("n"), ast.Load())
        lines, count = cx.code("N = E", N=name, E=count), name
    text = "FIRST = [-1] * N\nLAST = [-1] * N\nITEMS = []\nAFTER = []"
    lines += cx.code(
        text, FIRST=rows.first_item, LAST=rows.last_item, ITEMS=rows.items,
        AFTER=rows.next_item, N=count,
    )
    return lines + (cx.code("COUNTS = [0] * N", COUNTS=rows.counts, N=count) if rows.counts else [])


def _append(
    rows: LinkedRows, index: ast.expr, item: ast.expr, cx: Context
) -> list[ast.stmt]:
    """Statements for ``g[index].append(item)``; the index is evaluated first."""
    lines: list[ast.stmt] = []
    if not isinstance(index, ast.Constant):
        row = ast.Name(cx.fresh("row"), ast.Load())
        lines, index = cx.code("ROW = E", ROW=row, E=index), row
    lines += link_item(rows, index, item, cx)
    if rows.counts:
        text = "COUNTS[ROW] = COUNTS[ROW] + 1"
        lines += cx.code(text, COUNTS=rows.counts, ROW=index)
    return lines


def link_item(
    rows: LinkedRows, at: ast.expr | str, item: ast.expr, cx: Context
) -> list[ast.stmt]:
    """Statements that append `item` to the items, and link it behind the last one of row `at`."""
    text = """
    ITEMS.append(E)
    AFTER.append(-1)
    if LAST[AT] < 0:
        FIRST[AT] = len(ITEMS) - 1
    else:
        AFTER[LAST[AT]] = len(ITEMS) - 1
    LAST[AT] = len(ITEMS) - 1
    """
    return cx.code(
        text, ITEMS=rows.items, AFTER=rows.next_item, FIRST=rows.first_item,
        LAST=rows.last_item, AT=at, E=item,
    )


def follow_links(rows: LinkedRows, name: str, first: ast.expr, cx: Context) -> list[ast.stmt]:
    """A loop that follows the links from position `first`, and appends the items to the list
    `name`.
    """
    text = """
    J = PLACE
    while J >= 0:
        NAME.append(ITEMS[J])
        J = AFTER[J]
    """
    return cx.internal_code(
        text, NAME=name, J=cx.fresh("j"), PLACE=first, ITEMS=rows.items, AFTER=rows.next_item,
    )


@fires_on(*EXPRESSIONS, when=has_linked_rows)
def linked_row_read(node: ast.AST, cx: Context) -> ast.expr | None:
    """``len(g)``, ``len(g[i])``, ``if g[i]`` and other reads of rows → reads of the lists that have
    an entry for each row; elsewhere a row is copied to a list.

        g = [[] for _ in range(n)]
        for i in range(n):
            g[i // 2].append(i)
        t = sum(g[0]) if g[0] else len(g)
    →
        …
        if _g_first[0] >= 0:
            _list = []
            _j = _g_first[0]
            while _j >= 0:
                _list.append(_g_item[_j])
                _j = _g_after[_j]
            _sum = 0
            for _i in range(len(_list)):
                _v = _list[_i]
                _sum = _sum + _v
            _t = _sum
        else:
            _t = len(_g_first)
        t = _t
    """
    rows_of = cx.facts.linked_rows
    match node:
        case ast.Name(id=name) if name in rows_of and cx.result_uses():
            return lists_of_rows(rows_of[name], cx)
        case ast.Call(args=[ast.Name(id=name)]) if name in rows_of and cx.builtin(node) == "len":
            return cx.expr("len(FIRST)", FIRST=rows_of[name].first_item)
        case ast.Call(args=[ast.Subscript(ast.Name(id=name), index)]) if (
            name in rows_of and cx.builtin(node) == "len"
        ):
            return cx.expr("COUNTS[I]", COUNTS=rows_of[name].counts, I=index)
        case ast.IfExp(test=test, body=body, orelse=orelse) if _tests_row(test, cx):
            return cx.expr("A if TEST else B", TEST=_row_test(test, cx), A=body, B=orelse)
        case ast.UnaryOp(ast.Not(), operand) if _tests_row(operand, cx):
            return cx.expr("not E", E=_row_test(operand, cx))
        case ast.expr() if (
            isinstance(cx.within, (ast.If, ast.While)) and cx.within.test is node
            and _tests_row(node, cx)
        ):
            return _row_test(node, cx)
        case ast.Subscript(ast.Name(id=name), index, ast.Load()) if name in rows_of:
            rows, copied = rows_of[name], cx.fresh("list")
            first = cx.expr("FIRST[I]", FIRST=rows.first_item, I=index)
            items = follow_links(rows, copied, first, cx)
            cx.before(*cx.code("NAME = []\nEACH", NAME=copied, EACH=items))
            return cx.expr("NAME", NAME=copied)
    return None


def _tests_row(test: ast.expr, cx: Context) -> bool:
    """Whether `test` uses the truth value of a row."""
    operands = truth_operands(test)
    return any(True for e in operands for name in cx.facts.linked_rows for _ in _row_of(e, name))


def _row_test(test: ast.expr, cx: Context) -> ast.expr:
    """`test` with each row in it replaced by the condition that it has items."""
    match test:
        case ast.BoolOp(op, values):
            return copy_location(ast.BoolOp(op, [_row_test(e, cx) for e in values]), test)
        case ast.Subscript(ast.Name(id=name), index) if name in cx.facts.linked_rows:
            first = cx.facts.linked_rows[name].first_item
            return cx.expr("FIRST[I] >= 0", FIRST=first, I=index)
    return test


def lists_of_rows(rows: LinkedRows, cx: Context) -> ast.expr:
    """The expression of the list of all rows, or of the lists of all keys of a dict in their order,
    for a return: the items by row, and the end offsets, are made before the statement.
    """
    items, ends, i = cx.fresh("items"), cx.fresh("ends"), cx.fresh("i")
    first = cx.expr("FIRST[I]", FIRST=rows.first_item, I=i)
    text = """
    NAME = []
    ENDS = [0]
    for I in range(len(FIRST)):
        EACH
        ENDS.append(len(NAME))
    """
    cx.before(*cx.internal_code(
        text, NAME=items, ENDS=ends, I=i, FIRST=rows.first_item,
        EACH=follow_links(rows, items, first, cx),
    ))
    return cx.expr("_core.lists_of(ITEMS, ENDS)", ITEMS=items, ENDS=ends)
