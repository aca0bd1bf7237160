"""AST traversal, copying, comparison: ``ast.walk`` and ``copy.deepcopy``, several times faster.

The walks of ``ast`` pass over a field if reading it raises AttributeError, which a signal handler
may have raised (`loopir.process.signal_exceptions`). So the compiler uses none of them.
"""
from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeGuard, TypeVar

__all__ = [
    "NodeTransformer", "all_blocks", "breaks_of_loop", "child_blocks", "child_nodes",
    "comprehension_results", "contains_walrus", "copy_tree", "display_leaves", "exits_of_loop",
    "fields_with_children", "integer_constant", "is_name", "is_none", "is_suspending",
    "replace_node", "same_tree", "subscript_items", "tree_key", "truth_operands", "walk_nodes",
    "walk_statements",
]

_LEAVES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment"}
"""Fields that are not followed: they hold contexts, operators, or no nodes."""


class _ChildFields(dict[type[ast.AST], tuple[str, ...]]):
    """By the type of a node, its fields that may hold other nodes; found when first asked for."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        names = () if kind is ast.Constant else kind._fields
        self[kind] = found = tuple(f for f in names if f not in _LEAVES)
        return found


_FIELDS = _ChildFields()


def fields_with_children(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The fields of `node` that may hold other nodes than contexts and operators, with their
    values, in their order.
    """
    values = node.__dict__
    for field in _FIELDS[type(node)]:
        yield field, values.get(field)


def walk_nodes(*nodes: ast.AST) -> Iterator[ast.AST]:
    """`nodes` and all their descendants breadth first, without contexts and operators. The children
    of a node are looked up after it was yielded.
    """
    waiting = list(nodes)
    for n in waiting:
        yield n
        if fields := _FIELDS[type(n)]:  # as `child_nodes`, without a call for each node
            values = n.__dict__
            for field in fields:
                value = values.get(field)
                if type(value) is list:
                    waiting += [v for v in value if isinstance(v, ast.AST)]
                elif isinstance(value, ast.AST):
                    waiting.append(value)


def child_blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that are fields of `node` itself. The handlers of a ``try`` and the
    cases of a ``match`` are nodes themselves: their blocks are not among these (`all_blocks`).
    """
    for field in ("body", "orelse", "finalbody"):
        if isinstance(block := getattr(node, field, None), list):
            yield block


def all_blocks(s: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of the statement `s` in the order of the source: as `child_blocks`, and those of
    the handlers of a ``try`` and the cases of a ``match``.
    """
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        if isinstance(block := getattr(s, field, None), list):
            yield from [part.body for part in block] if field in ("handlers", "cases") else [block]


def walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """`tree` and all statements in its blocks (`child_blocks`), breadth first; not those in
    handlers of a ``try`` and cases of a ``match``.
    """
    waiting = [tree]
    for n in waiting:
        yield n
        for block in child_blocks(n):
            waiting += block


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """The children of `node`, without contexts and operators."""
    found: list[ast.AST] = []
    values = node.__dict__
    for field in _FIELDS[type(node)]:
        value = values.get(field)
        if type(value) is list:
            found += [v for v in value if isinstance(v, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


class NodeTransformer:
    """As ``ast.NodeTransformer``, faster: a subclass has methods ``visit_CLASS`` that return what
    replaces a node, in place: a node, a list of statements, or None. Contexts and operators are not
    visited.
    """

    def visit(self, node: ast.AST) -> Any:
        """What replaces `node`: by the method of its class, else by `generic_visit`."""
        method = getattr(self, f"visit_{type(node).__name__}", None)
        return self.generic_visit(node) if method is None else method(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """`node` itself, its children replaced."""
        values = node.__dict__
        for field in _FIELDS[type(node)]:
            value = values.get(field)
            if type(value) is list:
                new: list[Any] = []
                for item in value:
                    replacement = self.visit(item) if isinstance(item, ast.AST) else item
                    if type(replacement) is list:
                        new += replacement
                    elif replacement is not None or item is None:
                        new.append(replacement)
                value[:] = new
            elif isinstance(value, ast.AST):
                values[field] = self.visit(value)
        return node


def breaks_of_loop(body: Iterable[ast.stmt]) -> Iterator[ast.Break]:
    """The ``break`` statements in the `body` of a loop that leave this loop and not an inner one,
    also those in handlers of a ``try``, cases of a ``match`` and the ``else`` of an inner loop.
    """
    for s in body:
        if isinstance(s, ast.Break):
            yield s
        for block in [s.orelse] if isinstance(s, (ast.For, ast.While)) else all_blocks(s):
            yield from breaks_of_loop(block)


def exits_of_loop(body: Iterable[ast.stmt]) -> Iterator[ast.Break | ast.Continue]:
    """As `breaks_of_loop`, with the ``continue`` statements that end an iteration of this loop."""
    for s in body:
        if isinstance(s, (ast.Break, ast.Continue)):
            yield s
        for block in [s.orelse] if isinstance(s, (ast.For, ast.While)) else all_blocks(s):
            yield from exits_of_loop(block)


def comprehension_results(n: ast.AST) -> list[ast.AST]:
    """The expressions that the comprehension `n` evaluates for each item: E of ``[E for …]``, K and
    V of ``{K: V for …}``.
    """
    return [n.key, n.value] if isinstance(n, ast.DictComp) else [getattr(n, "elt", n)]


def truth_operands(test: ast.expr) -> Iterator[ast.expr]:
    """The operands of `test` of which only the truth value is used: those of ``and`` and ``or``, or
    `test` itself.
    """
    if isinstance(test, ast.BoolOp):
        for e in test.values:
            yield from truth_operands(e)
    else:
        yield test


def display_leaves(e: ast.expr) -> Iterator[ast.expr]:
    """The items of a display `e`, those of displays in it one by one: ``(a, [b, c])`` → a, b, c; of
    a dict the values; `e` itself if it is no display.
    """
    match e:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from display_leaves(part)
        case _:
            yield e


_Tree = TypeVar("_Tree", bound=ast.AST)


def copy_tree(node: _Tree) -> _Tree:
    """A deep copy of a tree. Contexts and operators are shared, since they hold nothing."""
    kind = type(node)
    new = kind.__new__(kind)
    values = new.__dict__
    values.update(node.__dict__)
    for field in _FIELDS[kind]:
        value = values.get(field)
        if type(value) is list:
            values[field] = [copy_tree(v) if isinstance(v, ast.AST) else v for v in value]
        elif isinstance(value, ast.AST):
            values[field] = copy_tree(value)
    if kind is ast.Compare:
        values["ops"] = [*values["ops"]]
    return new


_POSITIONS = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def same_tree(a: ast.AST, b: ast.AST, *, positions: bool = False) -> bool:
    """Whether two trees have the same nodes, contexts and constants; with `positions`, also the
    same positions.
    """
    return a is b or (type(a) is type(b) and tree_key(a, positions) == tree_key(b, positions))


def tree_key(node: ast.AST, positions: bool = False) -> Hashable:
    """A hashable key: equal for two trees if and only if they are the `same_tree`."""
    names = (*node._fields, *_POSITIONS) if positions else node._fields
    values = (getattr(node, name, None) for name in names)
    return type(node), *(_key_of(value, positions) for value in values)


def _key_of(value: object, positions: bool) -> Hashable:
    """The part of a `tree_key` for the value of one field."""
    if isinstance(value, ast.AST):
        return tree_key(value, positions)
    if isinstance(value, list):
        return tuple(_key_of(v, positions) for v in value)
    if isinstance(value, str) or value is None:
        return value
    # not by ==, for which 1, 1.0 and True are the same, as 0.0 and -0.0, and NaN differs from NaN
    return type(value), repr(value)


def integer_constant(e: ast.expr | None, default: int | None = None) -> int | None:
    """The value of the integer constant `e`, also of a negative one; None where `e` is another
    expression, `default` where `e` is None (no argument).
    """
    match e:
        case None:
            return default
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def is_none(e: ast.expr) -> bool:
    """Whether `e` is the constant None."""
    return isinstance(e, ast.Constant) and e.value is None


def is_name(n: ast.AST, name: str) -> TypeGuard[ast.Name]:
    """Whether `n` is an occurrence of `name`."""
    return isinstance(n, ast.Name) and n.id == name


def contains_walrus(e: ast.expr) -> bool:
    """Whether `e` contains a walrus (``:=``)."""
    return any(isinstance(n, ast.NamedExpr) for n in walk_nodes(e))


def subscript_items(e: ast.Subscript) -> list[ast.expr]:
    """The items of a subscript, one for each axis: i and j of ``X[i, j]``, i of ``x[i]``."""
    return e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]


def replace_node(tree: _Tree, old: ast.AST, new: ast.AST) -> _Tree:
    """`tree`, changed in place, with the node `old` (found by identity) replaced by `new`; `new`
    itself if `tree` is `old`.
    """
    replaced: _Tree = _NodeReplacer(old, new).visit(tree)
    return replaced


class _NodeReplacer(NodeTransformer):
    """See `replace_node`."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def is_suspending(node: ast.AST) -> bool:
    """Whether `node` contains ``await``, ``yield`` or ``async for``."""
    banned = (ast.Await, ast.Yield, ast.YieldFrom)
    return any(
        isinstance(n, banned) or (isinstance(n, ast.comprehension) and n.is_async)
        for n in walk_nodes(node)
    )
