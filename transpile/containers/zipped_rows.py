"""Columns of rows: loops and comprehensions over ``zip(*rows)`` → loops over the columns' indices.

``zip(*rows)`` transposes a list of lists or a matrix, whose rows have one length: each of its items
is a tuple, a column. No column is made: its items are read from the rows (`_Column`). So a column
may only be used where a list gives the same as a tuple, and nothing may write to the rows in the
loop (`_may_change`).
"""
from __future__ import annotations

import ast
from typing import TypeVar

import numpy as np

from ..analysis.type_inference.flow_facts import record_facts
from ..frontend.ast_names import binding_pairs, bound_names, rename_names
from ..frontend.ast_walk import NodeTransformer, child_nodes, copy_tree, walk_nodes
from ..frontend.defining_modules import is_of_math
from ..frontend.macros.list_kind import is_list_of_lists
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded

__all__ = ["columns_of_rows", "loop_over_columns"]

_COMPREHENSIONS = ast.ListComp, ast.GeneratorExp


@fires_on(ast.ListComp, ast.GeneratorExp)
def columns_of_rows(node: ast.AST, cx: Context) -> ast.expr | None:
    """``[f(v) for v in zip(*rows)]``, also inside of another comprehension → loops over the
    columns. Only where each column is iterated over, read at an index, or an argument of a builtin
    that gives the same result for a list as for a tuple (``sum``, ``max`` …).

        u = [sum(v) for v in zip(*X)]
    →
        if len(X) < 1:
            "Python's to answer"
            _n = 0
        else:
            _n = len(X[0])
        _list = []
        for _j_1 in range(_n):
            _sum = 0
            for _i_1 in range(len(X)):
                _sum = _sum + X[_i_1, _j_1]
            _list.append(_sum)
        u = _list
    """
    if not isinstance(node, _COMPREHENSIONS) or not cx.is_builtin("len", "range"):
        return None
    clauses = [g for n in walk_nodes(node) if isinstance(n, _COMPREHENSIONS) for g in n.generators]
    if not any(isinstance(g.iter, ast.Call) for g in clauses):
        return None
    variables = bound_names(*(g.target for g in clauses))
    replacement = copy_tree(node)
    counts: list[ast.stmt] = []
    for n in [*walk_nodes(replacement)]:
        for k, g in enumerate(n.generators if isinstance(n, _COMPREHENSIONS) else ()):
            rows = _zipped_rows(g.iter, cx)
            if rows is None or rows.id in variables or not isinstance(g.target, ast.Name):
                continue
            assert isinstance(n, _COMPREHENSIONS)
            column = _Column(g.target.id, rows, cx)
            g.target = ast.Name(column.index, ast.Store())
            g.iter = cx.expr("range(N)", N=column.count)
            n.elt = column.visit(n.elt)
            g.ifs = [column.visit(e) for e in g.ifs]
            n.generators[k + 1:] = [column.visit(later) for later in n.generators[k + 1:]]
            if column.escapes:
                return None
            counts += column.counted()
    if not counts:
        return None
    cx.before(*counts)
    # the node itself, of which macros know that it is what the function returns
    node.elt, node.generators = replacement.elt, replacement.generators
    return node


@fires_on(ast.For, calls=[zip, enumerate])
def loop_over_columns(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``for v in zip(*rows)`` → a loop over the indices of the columns.

        for j, v in enumerate(zip(*X)):
            s = s + v[0] * j
    →
        if len(X) < 1:
            "Python's to answer"
            _n = 0
        else:
            _n = len(X[0])
        for _j in range(_n):
            j = _j
            s = s + X[0, _j] * j

    For the same uses of a column as in `columns_of_rows`. None, too, where the body may write to
    the rows (`_may_change`), and where the column is read outside of the loop.
    """
    counter: ast.expr | None = None
    match node:
        case ast.For(target=ast.Name(id=name), iter=zipped):
            pass
        case ast.For(
            target=ast.Tuple(elts=[ast.Name() as counter, ast.Name(id=name)]),
            iter=ast.Call(args=[zipped], keywords=[]),
        ) if cx.builtin(node.iter) == "enumerate":
            pass
        case _:
            return None
    rows = _zipped_rows(zipped, cx)
    if rows is None or not cx.is_builtin("len", "range") or _is_read_elsewhere(name, cx.tree):
        return None
    if rows.id in {name, *bound_names(node.target, *node.body)} or _may_change(rows, node.body, cx):
        return None
    column = _Column(name, rows, cx)
    body = [column.visit(s) for s in copy_tree(node).body]
    if column.escapes:
        return None
    bind = [] if counter is None else cx.code("TO = J", TO=counter, J=column.index)
    text = "for J in range(N): BODY"
    (loop,) = cx.code(text, J=column.index, N=column.count, BODY=[*bind, *body])
    assert isinstance(loop, ast.For)
    loop.orelse = node.orelse
    return [*column.counted(), loop]


def _zipped_rows(e: ast.expr, cx: Context) -> ast.Name | None:
    """The rows of ``zip(*rows)``, the name of a list of lists or of a matrix; None for others."""
    match e:
        case ast.Call(args=[ast.Starred(value=ast.Name() as rows)], keywords=[]) if (
            cx.builtin(e) == "zip"
        ):
            array = cx.fact(rows).array
            is_matrix = array is not None and array.rank == 2
            return rows if is_matrix or is_list_of_lists(rows, cx) else None
    return None


def _is_read_elsewhere(name: str, tree: ast.AST) -> bool:
    """Whether `name` is read in `tree` other than in the bodies of loops that bind it."""
    if isinstance(tree, ast.Name):
        return tree.id == name and isinstance(tree.ctx, ast.Load)
    parts = child_nodes(tree)
    if isinstance(tree, ast.For) and name in bound_names(tree.target):
        parts = [tree.iter, *tree.orelse]
    return any(_is_read_elsewhere(name, part) for part in parts)


def _may_change(rows: ast.Name, body: list[ast.stmt], cx: Context) -> bool:
    """Whether `body` may write to `rows`, or to what may share memory with them. It does not if it
    stores only to lists that the function makes, or to arrays where `rows` is a list of lists, and
    calls only functions that change none of their arguments (`_changes_nothing`).
    """
    is_matrix = cx.fact(rows).array is not None
    for n in walk_nodes(*body):
        match n:
            case ast.Subscript(value=ast.Name() as to, ctx=ast.Store()):
                is_apart = not is_matrix and cx.fact(to).array is not None
                if not is_apart and not _is_bound_to(_NEW_LISTS, to.id, cx):
                    return True
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store()):
                return True
            case ast.Call() if not _changes_nothing(n, cx):
                return True
            case ast.AugAssign(target=ast.Name() as to) if (
                cx.fact(to).rank != 0 and not _is_bound_to(_NEW_VALUES, to.id, cx)
            ):
                return True
            case ast.With() | ast.Try() | ast.FunctionDef() | ast.Delete() | ast.Lambda():
                return True
    return False


_NEW_VALUES = ast.Constant, ast.BinOp, ast.UnaryOp
_NEW_LISTS = ast.List, ast.ListComp
"""Expressions whose value no other name has; that of ``[0] * n`` is among both."""


def _is_bound_to(kinds: tuple[type[ast.expr], ...], name: str, cx: Context) -> bool:
    """Whether all that the function binds `name` to are expressions of these `kinds`."""
    stores = 0
    values: list[ast.expr] = []
    for n in cx.names.nodes(name):
        if isinstance(n, ast.arg) and n.arg == name:
            return False
        stores += isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        stores -= isinstance(n, ast.AugAssign) and getattr(n.target, "id", "") == name
        values += [e for to, e in binding_pairs(n) if isinstance(to, ast.Name) and to.id == name]
    return stores == len(values) and all(
        isinstance(e, kinds) or (isinstance(e, ast.BinOp) and isinstance(e.left, ast.List))
        for e in values
    )


def _changes_nothing(call: ast.Call, cx: Context) -> bool:
    """Whether `call` changes no array or list but the new one that it appends to: builtins,
    functions of `math`, and ufuncs without ``out``.
    """
    match call.func:
        case ast.Attribute(value=ast.Name(id=to), attr="append"):
            return _is_bound_to(_NEW_LISTS, to, cx)
    function = cx.resolve(call.func)
    is_ufunc = isinstance(function, np.ufunc) and len(call.args) <= function.nin
    number_type = isinstance(function, type) and issubclass(function, (float, int, np.number))
    is_pure = cx.builtin(call) in _PURE or is_of_math(function) or number_type
    return is_pure or (is_ufunc and not call.keywords)


_SAME_FOR_LISTS = frozenset({"all", "any", "max", "min", "sorted", "sum"})
"""Builtins that give the same for a list as for a tuple, their only argument."""

_PURE = _SAME_FOR_LISTS | {
    "abs", "bool", "divmod", "enumerate", "isinstance", "len", "list", "pow", "range", "reversed",
    "round", "tuple", "zip",
}
"""Builtins that change none of their arguments."""


_C = TypeVar("_C", bound=ast.ListComp | ast.GeneratorExp)


class _Column(NodeTransformer):
    """Replaces uses of a column, by its `name`, by items of the `rows`, in the column ``index`` of
    ``count``. ``escapes`` tells whether the name is used in another way.
    """

    def __init__(self, name: str, rows: ast.Name, cx: Context) -> None:
        self.name, self.rows, self.cx, self.escapes = name, rows, cx, False
        self.index, self.count = cx.fresh("j"), cx.fresh("n")

    def counted(self) -> list[ast.stmt]:
        """Statements that bind ``count``. Without any row there are no columns."""
        (none,) = self.cx.code("N = 0", N=self.count)
        lines = self.cx.code("N = len(X[0])", N=self.count, X=self.rows)
        record_facts(self.cx.facts, lines[0])
        return guarded([self.cx.expr("len(X) < 1", X=self.rows)], none, lines, self.cx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``len(column)``; the column as an argument of ``list``, ``zip``, ``enumerate``, or of a
        builtin in `_SAME_FOR_LISTS`: a list or generator of its items.
        """
        function = self.cx.builtin(node)
        match node:
            case ast.Call(args=[only], keywords=keywords) if self._is_column(only):
                if function == "list" and not keywords:
                    return self._list()
                if function == "len" and not keywords:
                    return self.cx.expr("len(X)", X=self.rows)
                if function in _SAME_FOR_LISTS:
                    node.args = [self._list()]
            case ast.Call(args=[first, start], keywords=[]) if (
                function == "sum" and self._is_column(first)
            ):
                node.args = [self._list(), start]
        if function in ("zip", "enumerate"):
            # zip takes an item of its last argument only if all others have one
            for k, e in enumerate(node.args):
                if self._is_column(e):
                    node.args[k] = self._items() if e is node.args[-1] else self._list()
        return self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self.generic_visit(self._over_places(node))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self.generic_visit(self._over_places(node))

    def _over_places(self, node: _C) -> _C:
        """``[f(v) for v in column]`` → ``[f(X[i][j]) for i in range(len(X))]``."""
        for k, g in enumerate(node.generators):
            if not self._is_column(g.iter) or not isinstance(g.target, ast.Name):
                continue
            row, later = self.cx.fresh("i"), node.generators[k + 1:]
            names: dict[str, str | ast.expr] = {
                g.target.id: self.cx.expr("X[I][J]", X=self.rows, I=row, J=self.index)
            }
            if g.target.id in bound_names(node.elt, *g.ifs, *(after.target for after in later)):
                continue
            g.target = ast.Name(row, ast.Store())
            g.iter = self.cx.expr("range(len(X))", X=self.rows)
            g.ifs = [rename_names(e, names) for e in g.ifs]
            node.elt = rename_names(node.elt, names)
            node.generators[k + 1:] = [rename_names(after, names) for after in later]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """``for v in column``: a loop over the rows, which binds ``v`` to the item of each."""
        if self._is_column(node.iter):
            row = self.cx.fresh("i")
            item = self.cx.expr("X[I][J]", X=self.rows, I=row, J=self.index)
            node.body = [*self.cx.code("TO = E", TO=node.target, E=item), *node.body]
            node.target = ast.Name(row, ast.Store())
            node.iter = self.cx.expr("range(len(X))", X=self.rows)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """``column[k]``: the item of row ``k``."""
        if self._is_column(node.value) and isinstance(node.ctx, ast.Load) and self._is_place(node):
            place = self.visit(node.slice)
            return self.cx.expr("X[K][J]", X=self.rows, K=place, J=self.index)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.escapes = self.escapes or node.id == self.name
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        self.escapes = self.escapes or node.arg == self.name
        return node

    def _is_column(self, e: ast.expr) -> bool:
        return isinstance(e, ast.Name) and e.id == self.name

    def _is_place(self, node: ast.Subscript) -> bool:
        """Whether the index of `node` is a number."""
        match node.slice:
            case ast.Slice() | ast.Tuple():
                return False
            case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
                return True
        return self.cx.fact(self.rows).array is None or self.cx.fact(node.slice).rank == 0

    def _list(self) -> ast.expr:
        """The column as a list."""
        text = "[X[I][J] for I in range(len(X))]"
        return self.cx.expr(text, X=self.rows, I=self.cx.fresh("i"), J=self.index)

    def _items(self) -> ast.expr:
        """The items of the column, as a generator."""
        text = "(X[I][J] for I in range(len(X)))"
        return self.cx.expr(text, X=self.rows, I=self.cx.fresh("i"), J=self.index)
