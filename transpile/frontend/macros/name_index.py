"""Name index: the statements of a function that mention a name, found without a walk over all.

A macro often asks how the whole function uses one name. To walk over the function each time takes
time that grows with the square of its size; the index remembers which names each statement has.
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from ..ast_names import names_bound_by
from ..ast_walk import all_blocks, child_nodes, walk_nodes

__all__ = ["NameIndex"]


class NameIndex:
    """The names that the statements of `tree` mention, while macros rewrite it in place.

    ``being_changed``: the statements that macros are expanding (`Context.open`). No others are
    changed, so that what is known of them stays right; where there are none, nothing is remembered.
    """

    def __init__(self, tree: ast.FunctionDef, being_changed: Collection[ast.stmt]) -> None:
        self._tree, self._open = tree, being_changed
        self._names: dict[ast.stmt, frozenset[str]] = {}

    def forget(self, s: ast.stmt | None = None) -> None:
        """Forgets what is known of `s`, which was changed; None: of all statements."""
        if s is None:
            self._names.clear()
        else:
            self._names.pop(s, None)

    def nodes(self, name: str, block: Sequence[ast.stmt] | None = None) -> Iterator[ast.AST]:
        """All nodes of the simple statements that mention `name`; of compound statements that
        mention it these statements, the nodes that are outside of their blocks, and so on in their
        blocks. The first node is the function, followed by its parameters; with a `block` there are
        the nodes in that block alone.

            for i in x:                      for x = f(y): the loop, ``i`` and ``x``; not ``y = 1``
                y = 1           →
                s += x[i]                    the statement and its parts
        """
        if block is None:
            yield self._tree
            yield from walk_nodes(self._tree.args)
            block = self._tree.body
        for s in block:
            if name in self._names_of(s):
                inner = [*all_blocks(s)]
                if not inner:
                    yield from walk_nodes(s)
                    continue
                yield from _nodes_outside_of_blocks(s)
                for part in inner:
                    yield from self.nodes(name, part)

    def blocks(self, name: str) -> Iterator[list[ast.stmt]]:
        """The blocks that have statements which mention `name`, and the function's body."""
        waiting = [self._tree.body]
        for block in waiting:
            yield block
            for s in block:
                if name in self._names_of(s):
                    waiting += all_blocks(s)

    def _names_of(self, s: ast.stmt) -> frozenset[str]:
        """The names that `s` mentions, in any scope, also in its blocks."""
        known = self._names.get(s)
        if known is not None and s not in self._open:
            return known
        names: set[str] = set()
        blocks = [*all_blocks(s)]
        for n in _nodes_outside_of_blocks(s) if blocks else walk_nodes(s):
            match n:
                case ast.Name(id=name) | ast.arg(arg=name):
                    names.add(name)
                case ast.Global(names=several) | ast.Nonlocal(names=several):
                    names.update(several)
                case _:
                    names.update(names_bound_by(n))
        for block in blocks:
            for inner in block:
                names |= self._names_of(inner)
        found = frozenset(names)
        if self._open:  # outside of the driver anything may change
            self._names[s] = found
        return found


def _nodes_outside_of_blocks(s: ast.stmt) -> Iterator[ast.AST]:
    """The compound statement `s` itself, and the nodes in it that are outside of its blocks."""
    yield s
    for part in child_nodes(s):
        if isinstance(part, (ast.ExceptHandler, ast.match_case)):
            yield part
            outside = [n for n in child_nodes(part) if not isinstance(n, ast.stmt)]
            yield from walk_nodes(*outside)
        elif not isinstance(part, ast.stmt):
            yield from walk_nodes(part)
