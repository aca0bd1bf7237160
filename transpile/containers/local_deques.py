"""Local deques that are only queues → lists with the index of the first item.

    q = deque([s])                 q = [s]; _first = 0
    while q:                       while len(q) - _first > 0:
        u = q.popleft()       →        _first += 1; u = q[_first - 1]
        q.append(u + 1)                q.append(u + 1)

Items that were taken stay in the list, so it grows by all that are ever appended; a ``rotate`` to
the right puts items in their places, if there are enough. Where Python raises IndexError for an
empty deque, a test raises it first: compiled code replays the call there.
"""
from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator

from ..analysis.type_inference.tuple_types import appended_by, tuple_width
from ..frontend.ast_names import declared_outer, fresh_name, names_used
from ..frontend.ast_walk import (
    NodeTransformer,
    child_nodes,
    copy_tree,
    integer_constant,
    replace_node,
    walk_nodes,
)
from ..frontend.core_nodes import copy_location, fix_missing_locations
from ..frontend.macros.macro_context import expression_from, statements_from

__all__ = ["deques_as_lists"]

_EMPTY = "pop from an empty deque"
"""Python's message."""
_NOT_EXACTLY_ONCE = (
    ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.NamedExpr,
)
"""Expressions that may evaluate an operand not at all, or several times: a ``popleft`` in one
cannot be moved before the statement."""

_ROTATE = """
SHIFT = +COUNT
if SHIFT > 9223372036854775807: raise OverflowError("Python int too large to convert to C ssize_t")
SHIFT = SHIFT % max(len(Q) - FIRST, 1)
if SHIFT > 0:
    if FIRST < SHIFT or SHIFT > len(Q) - FIRST - SHIFT:
        for STEP in range(len(Q) - FIRST - SHIFT):
            FIRST = FIRST + 1
            ITEM = Q[FIRST - 1]
            Q.append(ITEM)
    else:
        for STEP in range(SHIFT):
            FIRST = FIRST - 1
            Q[FIRST] = Q[-1]
            Q.pop()
"""
"""``q.rotate(COUNT)``, as `_Queue._rotate` explains it. ``rotate`` itself takes no bool of
NumPy, which has no unary plus, no float, which ``range`` refuses, and no larger ``uint64``."""


def deques_as_lists(
    tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None]
) -> ast.FunctionDef:
    """A copy of `tree` in which local deques are lists; `tree` itself if there are none. A local
    name, no parameter, is replaced if all its bindings are ``deque()`` or ``deque`` of a display of
    a list or tuple, and `_Queue` rewrites all its uses. ``resolve``: what a name means.
    """
    made: dict[str, list[ast.Assign]] = {}
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                _items_of_deque(value, resolve) is not None
            ):
                made.setdefault(name, []).append(n)
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    used, new = names_used(tree), tree
    for name in sorted(made.keys() - parameters - declared_outer(tree)):
        copy = copy_tree(new)
        queue = _Queue(copy, name, fresh_name("_first", used), resolve, used)
        copy.body = [s for line in copy.body for s in _as_list(queue.visit(line))]
        if not queue.unhandled:
            used.add(queue.first)
            new = fix_missing_locations(copy)
    return new


def _as_list(visited: ast.AST | list[ast.stmt]) -> list[ast.stmt]:
    """The statements that a visit gave for one: one node, or a list of them."""
    return visited if isinstance(visited, list) else [visited]  # type: ignore[list-item]


def _items_of_deque(
    value: ast.expr, resolve: Callable[[ast.expr], object | None]
) -> ast.List | None:
    """The items of the call ``deque()`` or ``deque([a, b])`` as a display; None for others."""
    match value:
        case ast.Call(func=func, args=[], keywords=[]) if resolve(func) is deque:
            return copy_location(ast.List([], ast.Load()), value)
        case ast.Call(func=func, args=[ast.List(elts) | ast.Tuple(elts) as items], keywords=[]) if (
            resolve(func) is deque and not any(isinstance(e, ast.Starred) for e in elts)
        ):
            return copy_location(ast.List(elts, ast.Load()), items)
    return None


class _Queue(NodeTransformer):
    """Rewrites the uses of the deque `name` in the function `tree`. ``first``: the name for the
    index of its first item. ``unhandled``: the occurrences of `name` that no method has rewritten
    so far; if one is left, the deque has a use that a list cannot serve. ``used``: all names of the
    function; those that are made up are added.
    """

    def __init__(
        self, tree: ast.FunctionDef, name: str, first: str,
        resolve: Callable[[ast.expr], object | None], used: set[str],
    ) -> None:
        self.name, self.first, self.resolve, self.used = name, first, resolve, used
        self.unhandled = {n for n in walk_nodes(tree) if isinstance(n, ast.Name) and n.id == name}
        self.width = self._width_of_items(tree)

    def _width_of_items(self, tree: ast.FunctionDef) -> int:
        """The number of items of the tuples in the deque; 0 where it has no tuples, or where their
        displays differ, in which case the list is not compiled.
        """
        items: list[ast.expr] = []
        for n in walk_nodes(tree):
            match n:
                case ast.Assign(targets=[ast.Name(id=self.name)], value=value):
                    made = _items_of_deque(value, self.resolve)
                    items += made.elts if made is not None else []
            items += [e for name, added in appended_by(n) if name == self.name for e in added]
        widths = set(map(tuple_width, items))
        return widths.pop() if len(widths) == 1 else 0

    def _is(self, e: ast.AST) -> bool:
        """Whether `e` is an occurrence of the deque's name in the source, which counts as rewritten
        from now on.
        """
        is_deque = e in self.unhandled
        self.unhandled -= {e}
        return is_deque

    def _code(self, text: str, at: ast.AST, **parts: str | ast.expr) -> list[ast.stmt]:
        return statements_from(text, at, {"Q": self.name, "FIRST": self.first, **parts})

    def _expr(self, text: str, at: ast.AST) -> ast.expr:
        return expression_from(text, at, {"Q": self.name, "FIRST": self.first})

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """A binding of the deque; or as all simple statements."""
        items = _items_of_deque(node.value, self.resolve)
        if items is not None and len(node.targets) == 1 and self._is(node.targets[0]):
            return self._code("Q = ITEMS\nFIRST = 0", node, ITEMS=items)
        return self._simple(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        """``q.append(v)``, ``q.clear()``, ``q.rotate(n)``; or as all simple statements."""
        match node.value:
            case ast.Call(
                func=ast.Attribute(value=ast.Name() as receiver, attr="append" | "clear" as method)
            ) if self._is(receiver):
                lines = self._simple(node)
                reset = self._code("FIRST = 0", node) if method == "clear" else []
                return [*(lines if isinstance(lines, list) else [lines]), *reset]
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="popleft")) if (
                name == self.name
            ):
                lines = self._simple(node)  # the item itself is not read
                return lines[:-1] if isinstance(lines, list) else lines
            case ast.Call(
                func=ast.Attribute(value=ast.Name() as receiver, attr="rotate"),
                args=[] | [_] as args, keywords=[],
            ) if not any(isinstance(a, ast.Starred) for a in args) and self._is(receiver):
                count = self.visit(args[0]) if args else ast.Constant(1)
                return self._rotate(count, node)
        return self._simple(node)

    def _rotate(self, count: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        """``q.rotate(count)``: items are moved one by one, in the direction that is shorter. Those
        that go to the left end take the places of items that were taken, if there are enough; else
        the others go to the right end, which makes such places::

            q.rotate(n)
            →
            _shift = +n
            if _shift > 9223372036854775807: raise OverflowError(…)
            _shift = _shift % max(len(q) - _first, 1)
            if _shift > 0:
                if _first < _shift or _shift > len(q) - _first - _shift:
                    for _step in range(len(q) - _first - _shift):
                        _first = _first + 1
                        _item = q[_first - 1]
                        q.append(_item)
                else:
                    for _step in range(_shift):
                        _first = _first - 1
                        q[_first] = q[-1]
                        q.pop()

        A tuple is unpacked to ``_item``, ``_item_1``, …, of which a display is appended: lists of
        tuples take no others (`tuple_types.appended_by`).
        """
        parts = ", ".join(self._fresh("_item") for _ in range(max(self.width, 1)))
        item = f"({parts},)" if self.width else parts
        names = {
            "Q": self.name, "FIRST": self.first, "SHIFT": self._fresh("_shift"),
            "STEP": self._fresh("_step"),
        }
        text = _ROTATE.replace("ITEM", item)
        return statements_from(text, at, {**names, "COUNT": count}, internal=True)

    def _fresh(self, stem: str) -> str:
        """A name that the function does not use yet."""
        name = fresh_name(stem, self.used)
        self.used.add(name)
        return name

    def _simple(self, node: ast.stmt) -> ast.AST | list[ast.stmt]:
        """A statement with one ``popleft()`` or ``pop()`` that is evaluated exactly once. Before it
        come the test for an empty deque and, of ``popleft``, the increment of the index, by which
        the item is read::

            t = q.popleft() + 1
            →
            if _first >= len(q): raise IndexError("pop from an empty deque")
            _first = _first + 1
            t = q[_first - 1] + 1
        """
        mentions = [n for n in walk_nodes(node) if isinstance(n, ast.Name) and n.id == self.name]
        call = next(self._calls(node), None)
        if call is None or len(mentions) > 1:
            return self.generic_visit(node)
        self.unhandled.difference_update(mentions)
        before = self._code(f"if FIRST >= len(Q): raise IndexError({_EMPTY!r})", call)
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr == "pop":
            return [*before, node]
        before += self._code("FIRST = FIRST + 1", call)
        new = replace_node(node, call, self._expr("Q[FIRST - 1]", call))
        return [*before, new]

    visit_AugAssign = visit_Return = _simple

    def _calls(self, node: ast.AST) -> Iterator[ast.Call]:
        """The calls of ``popleft()`` and ``pop()`` in `node` that are evaluated once."""
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="popleft" | "pop"), args=[],
                keywords=[],
            ) if name == self.name:
                yield node
        if not isinstance(node, _NOT_EXACTLY_ONCE):
            for child in child_nodes(node):
                yield from self._calls(child)

    def visit_While(self, node: ast.While | ast.If | ast.IfExp | ast.Assert) -> ast.AST:
        """The truth of the deque in a test."""
        node.test = self._truth(node.test)
        return self.generic_visit(node)

    visit_If = visit_IfExp = visit_Assert = visit_While

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """``not q``."""
        if isinstance(node.op, ast.Not):
            node.operand = self._truth(node.operand)
        return self.generic_visit(node)

    def _truth(self, e: ast.expr) -> ast.expr:
        """The test `e` with the number of items in place of the deque."""
        if self._is(e):
            return self._expr("len(Q) - FIRST > 0", e)
        if isinstance(e, ast.BoolOp):
            e.values = [self._truth(v) for v in e.values]
        return e

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``len(q)``."""
        match node:
            case ast.Call(func=func, args=[ast.Name() as of], keywords=[]) if (
                self.resolve(func) is len and self._is(of)
            ):
                return self._expr("len(Q) - FIRST", node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """``q[0]`` and ``q[-1]``; of an empty deque a place behind the list, which raises."""
        match node:
            case ast.Subscript(value=ast.Name() as of, slice=index, ctx=ast.Load()) if (
                integer_constant(index) in (0, -1) and self._is(of)
            ):
                if integer_constant(index) == 0:
                    return self._expr("Q[FIRST]", node)
                return self._expr("Q[len(Q) - 1 if len(Q) > FIRST else len(Q)]", node)
        return self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Left alone, so that a deque in it has another use."""
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda
