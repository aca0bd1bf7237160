"""Rectangular lists of lists: rows copied, swapped, made one array; rows only read → tuples.

Macros for lists of lists whose items are assigned, which lowering keeps as arrays: `copy_rows`
(``[row[:] for row in rows]``), `swap_rows` (``a[i], a[j] = a[j], a[i]``) and `table_to_array`
(``np.array(rows)``). Two functions run before macros: `repeat_constants` writes ``[0, 0]`` as ``[0]
* 2`` in rows that are assigned to; `row_lists_to_tuples` makes rows that are short displays and
only read tuples, which scalar replacement takes apart.
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from ..analysis.type_inference.tuple_types import MAX_TUPLE_ITEMS, appended_items, is_repeatable
from ..analysis.type_inference.type_lattice import int_or_float64
from ..frontend.ast_names import binding_pairs
from ..frontend.ast_walk import NodeTransformer, copy_tree, tree_key, walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.macros.firing_conditions import has_number_tables
from ..frontend.macros.list_kind import is_list_of_lists
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded
from ..numpy.array_nests import allocate_array, replay_if_all_ints, store_noting_ints
from ..numpy.function_table import ARRAY_OF_LIST
from .numpy_list_operands import array_dtype, widened_dtype

__all__ = ["copy_rows", "repeat_constants", "swap_rows", "row_lists_to_tuples", "table_to_array"]


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
            replacement = _by_items(value, cx)
            return replacement and cx.code("TO = E", TO=node.targets[0], E=replacement)
        case ast.expr():
            return _by_items(node, cx)
    return None


def _by_items(e: ast.expr, cx: Context) -> ast.expr | None:
    """A comprehension of copied rows with each copy written as a comprehension of its items; None
    for other expressions.
    """
    match e:
        case ast.ListComp(
            elt=elt, generators=[ast.comprehension(target=ast.Name(id=row), iter=rows, ifs=[])]
        ) if _copy_of(elt, cx) == row and is_list_of_lists(rows, cx):
            inner = cx.expr("[V for V in ROW]", V=cx.fresh("v"), ROW=row)
            return copy_location(ast.ListComp(inner, e.generators), e)
    return None


def _copy_of(e: ast.expr, cx: Context) -> str:
    """The name ``v`` where `e` is ``v[:]``, ``v.copy()`` or ``list(v)``; else ""."""
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
    """``a[i], a[j] = a[j], a[i]`` → a loop that swaps item by item. Only for a list that the
    function makes and whose rows have no other names, so that no reference can tell the difference.

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
    swap = _row_swap(node)
    if swap is None or not isinstance(node, ast.Assign) or not cx.is_builtin("len", "range"):
        return None
    name, i, j = swap
    fact = cx.facts.known.get(name)
    is_local_list = fact is not None and fact.list_depth == 1 and name in cx.facts.local_names
    if not is_local_list or not (is_repeatable(i) and is_repeatable(j)):
        return None
    if _rows_escape(name, cx.tree):
        return None
    text = """
        for K in range(len(X[I])):
            T = X[I][K]
            X[I][K] = X[J][K]
            X[J][K] = T
    """
    lines = cx.code(text, K=cx.fresh("k"), T=cx.fresh("t"), X=name, I=i, J=j)
    return guarded([cx.expr("len(X[I]) < 1", X=name, I=i)], node, lines, cx)


def _row_swap(node: ast.AST) -> tuple[str, ast.expr, ast.expr] | None:
    """The name and the two indices of ``a[i], a[j] = a[j], a[i]``; None for other nodes."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            match [*targets, *values]:
                case [
                    ast.Subscript(value=ast.Name(id=a), slice=i),
                    ast.Subscript(value=ast.Name(id=b), slice=j),
                    ast.Subscript(value=ast.Name(id=c), slice=j_again),
                    ast.Subscript(value=ast.Name(id=d), slice=i_again),
                ] if a == b == c == d:
                    is_swap = [tree_key(i), tree_key(j)] == [tree_key(i_again), tree_key(j_again)]
                    return (a, i, j) if is_swap else None
    return None


def _rows_escape(name: str, tree: ast.AST) -> bool:
    """Whether a row of the list of lists `name` may get another name: the list is used in another
    way than for items, lengths, swaps of rows, and its return.
    """
    def allowed_uses() -> Iterator[ast.expr]:
        for n in walk_nodes(tree):
            match n:
                case ast.Subscript(value=ast.Subscript(value=operand)):
                    yield operand
                case ast.Call(
                    func=ast.Name(id="len"), args=[ast.Subscript(value=operand) | operand]
                ):
                    yield operand
                case ast.Return(value=ast.Name() as operand):
                    yield operand
                case ast.Assign(targets=[ast.Tuple(elts=a)], value=ast.Tuple(elts=b)):
                    if _row_swap(n):
                        yield from (e.value for e in (*a, *b) if isinstance(e, ast.Subscript))

    allowed = set(allowed_uses())
    loads = (n for n in walk_nodes(tree) if isinstance(n, ast.Name) and n.id == name)
    return any(n not in allowed for n in loads if isinstance(n.ctx, ast.Load))


@fires_on(ast.Call, calls=ARRAY_OF_LIST, when=has_number_tables)
def table_to_array(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.array`` of a list of rows that the function makes → an array that loops fill. The call
    is replayed for no rows, and for rows without items unless these are floats; and for items that
    may be ints or floats, if all are ints.

        w = [[0.0] * 2 for _ in range(n)]
        w[0][0] = s
        u = np.array(w)
    →
        w = [[0.0] * 2 for _ in range(n)]
        w[0][0] = s
        if len(w) < 1:
            "Python's to answer"
            _a = np.array(w)
        else:
            _a = np.empty((len(w), len(w[0])), np.float64)
            for _i in range(len(w)):
                for _j in range(len(w[0])):
                    _a[_i, _j] = w[_i][_j]
        u = _a
    """
    match node:
        case ast.Call(func=func, args=[ast.Name(id=name) as table, *rest], keywords=keywords) if (
            name in cx.facts.number_tables and cx.resolve(func) in ARRAY_OF_LIST
            and all(k.arg == "dtype" for k in keywords) and cx.is_builtin("len", "range")
        ):
            types = cx.facts.number_tables[name]
        case _:
            return None
    dtype, dtype_arguments = array_dtype(types), [*rest, *(k.value for k in keywords)]
    new_dtype = widened_dtype(dtype, dtype_arguments, cx)
    if new_dtype is None:
        return None
    array = cx.fresh("a")
    lengths = [cx.expr(text, W=table) for text in ("len(W)", "len(W[0])")]
    checks = [cx.expr("N < 1", N=n) for n in (lengths[:1] if dtype == "f64" else lengths)]
    i, j = cx.fresh("i"), cx.fresh("j")
    ints = cx.fresh("ints") if int_or_float64(types) and not dtype_arguments else None
    place, item = cx.expr("A[I, J]", A=array, I=i, J=j), cx.expr("W[I][J]", W=table, I=i, J=j)
    text = """
        for I in range(len(W)):
            for J in range(len(W[0])):
                BODY
    """
    loops = cx.code(text, I=i, J=j, W=table, BODY=store_noting_ints(place, item, ints, cx))
    (original,) = cx.code("A = E", A=array, E=node)
    lines = [allocate_array(array, lengths, new_dtype, cx), *loops]
    if ints is not None:
        lines[1:1] = cx.code("INTS = True", INTS=ints)
        lines += replay_if_all_ints(ints, lengths[1], original, [], cx)
    return cx.bound_name(array, lambda: guarded(checks, original, lines, cx))


def repeat_constants(tree: ast.FunctionDef) -> ast.FunctionDef:
    """`tree` with rows of one constant written as ``[c] * k``, in tables whose items are stored to:
    these are the rows that lowering keeps as an array.

        r = [[0, 0] for _ in range(n)]        r = [[0] * 2 for _ in range(n)]
        r[i][1] = s                      →    r[i][1] = s

    A row may have a name, ``row = r[i]; row[1] = s``.
    """
    stored, stored_rows, rows = set[str](), set[str](), dict[str, str]()
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Subscript(value=ast.Subscript(value=ast.Name(id=name)), ctx=ast.Store()):
                stored.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                stored_rows.add(name)
            case ast.Assign(
                targets=[ast.Name(id=alias)], value=ast.Subscript(value=ast.Name(id=name))
            ):
                rows[alias] = name
    stored |= {name for alias, name in rows.items() if alias in stored_rows}
    if not any(_rows_of_a_constant(n, stored) for n in walk_nodes(*tree.body)):
        return tree
    tree = copy_tree(tree)
    for n in walk_nodes(*tree.body):
        if (table := _rows_of_a_constant(n, stored)) and isinstance(table.elt, ast.List):
            row = table.elt
            one = copy_location(ast.List(row.elts[:1], ast.Load()), row)
            count = copy_location(ast.Constant(len(row.elts)), row)
            table.elt = copy_location(ast.BinOp(one, ast.Mult(), count), row)
    return tree


def _rows_of_a_constant(n: ast.AST, names: Collection[str]) -> ast.ListComp | None:
    """The comprehension of an assignment ``name = [[c, c] for …]`` to one of `names`, in which all
    items are the same constant; None for other nodes.
    """
    match n:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.ListComp(elt=ast.List(elts=[ast.Constant(), _, *_] as items)) as table,
        ) if name in names and len({tree_key(e) for e in items}) == 1:
            return table
    return None


def row_lists_to_tuples(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A copy of `tree` in which rows, displays of lists inside of a list, are tuples; `tree` itself
    where there are none.

        w = []                                w = []
        w.append([i, x[i]])            →      w.append((i, x[i]))
        s = w[0][1]                           s = w[0][1]

    All rows of a list must be displays of one length (`_are_short_displays`), and each use of the
    list one for which a tuple serves as well (`_uses_as_tuples`): items of rows are read, rows are
    appended or popped, an array is made of the list.
    """
    if not any(
        isinstance(e, ast.List) for n in walk_nodes(tree) for _, es in _rows_added(n) for e in es
    ):
        return tree
    copy = copy_tree(tree)
    excluded = {a.arg for a in walk_nodes(copy.args) if isinstance(a, ast.arg)}
    read_only = {e for n in walk_nodes(*copy.body) for e in _uses_as_tuples(n)}
    names = (n for n in walk_nodes(*copy.body) if isinstance(n, ast.Name))
    excluded |= {n.id for n in names if n not in read_only}
    rows: dict[str, list[ast.expr]] = {}
    for n in walk_nodes(*copy.body):
        for name, items in _rows_added(n):
            rows.setdefault(name, []).extend(items)
    tuple_rows = [
        e for name, items in rows.items()
        if name not in excluded and _are_short_displays(items) for e in items
    ]
    return _Tuples(tuple_rows).visit(copy) if tuple_rows else tree


class _Tuples(NodeTransformer):
    """Replaces the displays of lists in `rows` by tuples."""

    def __init__(self, rows: Collection[ast.expr]) -> None:
        self.rows = set(rows)

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        row = ast.Tuple(node.elts, node.ctx)
        return copy_location(row, node) if node in self.rows else node


def _are_short_displays(rows: Collection[ast.expr]) -> bool:
    """Whether all rows are displays of lists of the same length, at least 1 and at most
    `MAX_TUPLE_ITEMS`.
    """
    displays = [e.elts for e in rows if isinstance(e, ast.List)]
    no_starred = not any(isinstance(e, ast.Starred) for elts in displays for e in elts)
    lengths = set(map(len, displays))
    one_length = len(displays) == len(rows) and len(lengths) == 1
    return no_starred and one_length and 0 < lengths.pop() <= MAX_TUPLE_ITEMS


def _rows_added(n: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """For each list to which the node `n` adds rows: its name, and expressions of the rows."""
    for target, value in binding_pairs(n):
        if isinstance(target, ast.Name) and isinstance(value, (ast.List, ast.ListComp)):
            yield target.id, value.elts if isinstance(value, ast.List) else [value.elt]
    match n:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")):
            yield name, list(appended_items(n, name))


def _uses_as_tuples(n: ast.AST) -> Iterator[ast.expr]:
    """The operands of the node `n` that, if they are lists of rows, are used in a way in which rows
    that are tuples give the same as rows that are lists.
    """
    yield from (to for to, e in binding_pairs(n) if isinstance(e, (ast.List, ast.ListComp)))
    match n:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Subscript(value=rows, slice=index)) | (
            ast.Subscript(value=ast.Subscript(value=rows, slice=index), ctx=ast.Load())
        ) if not isinstance(index, ast.Slice):
            yield rows
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(value=rows, attr=attr)))
            | ast.Assign(
                targets=[ast.Tuple()],
                value=ast.Call(func=ast.Attribute(value=rows, attr="pop" as attr)),
            )
        ) if attr in ("append", "clear", "pop"):
            yield rows
        case ast.Call(func=ast.Name(id="len"), args=[rows]) | ast.Call(
            func=ast.Attribute(attr="array" | "asarray"), args=[rows, *_]
        ):
            yield rows
        case (
            ast.For(target=ast.Tuple(), iter=rows)
            | ast.comprehension(target=ast.Tuple(), iter=rows)
        ):
            yield rows
        case ast.If(test=rows) | ast.While(test=rows) | ast.UnaryOp(op=ast.Not(), operand=rows):
            yield rows
