"""Local names of ranges → the bounds of these ranges, and a range wherever the name is read.

    rows = range(1, n - 1)              _start, _stop = 1, n - 1
    s = len(rows)                       _length = len(range(_start, _stop))
    for i in rows:                 →    s = _length
        for j in rows: …                for i in range(_start, _stop):
                                            for j in range(_start, _stop): …

A range never changes, so one with the same bounds serves for it wherever it is not compared by
identity. Later macros then see the calls of ``range`` that they know.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from loopir.lazy_dataclass import record

from ..ast_names import INNER_SCOPES, binding_pairs, declared_outer, fresh_name, names_used
from ..ast_walk import NodeTransformer, copy_tree, integer_constant, walk_nodes
from ..core_nodes import copy_location, fix_missing_locations
from ..macros.macro_context import expression_from, statements_from
from .iterables import range_arguments

__all__ = ["ranges_as_calls"]

Resolve: TypeAlias = Callable[[ast.expr], object | None]


def ranges_as_calls(tree: ast.FunctionDef, resolve: Resolve) -> ast.FunctionDef:
    """A copy of `tree` in which the local names of ranges are replaced; `tree` itself if there are
    none. A local name, no parameter, is replaced if all its bindings are assignments of a call of
    ``range`` with one constant step, and no inner function and no ``is`` has the name. ``resolve``:
    what a name means.
    """
    nodes = [*walk_nodes(*tree.body)]
    steps: dict[str, list[int]] = {}  # of the ranges that each name is bound to
    for to, value in (pair for n in nodes for pair in binding_pairs(n)):
        if isinstance(to, ast.Name) and (bounds := _bounds(value, resolve)) is not None:
            steps.setdefault(to.id, []).append(bounds[2])
    if not steps:
        return tree
    stores = [n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    excluded = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    excluded |= declared_outer(tree) | {name for n in nodes for name in _excluded_by(n)}
    used, replaced = names_used(tree), dict[str, _NamedRange]()
    for name, found in steps.items():
        if name not in excluded and stores.count(name) == len(found) and len({*found}) == 1:
            start, stop, length = (fresh_name(f"_{s}", used) for s in ("start", "stop", "length"))
            used |= {start, stop, length}
            replaced[name] = _NamedRange(start, stop, length, found[0])
    if not replaced:
        return tree
    changed = _Replacement(replaced, resolve).visit(copy_tree(tree))
    return fix_missing_locations(changed)  # type: ignore[no-any-return]


def _bounds(e: ast.expr, resolve: Resolve) -> tuple[ast.expr, ast.expr, int] | None:
    """Start, stop and step of the call of ``range`` `e`; None for others, and where the step is no
    constant.
    """
    if not isinstance(e, ast.Call) or resolve(e.func) is not range:
        return None
    bounds = range_arguments(e)
    if bounds is None or any(isinstance(a, ast.Starred) for a in bounds):
        return None
    start, stop, by = bounds
    step = integer_constant(by)
    return (start, stop, step) if step else None


def _excluded_by(n: ast.AST) -> Iterator[str]:
    """The names that the node `n` uses in a way in which another range cannot serve."""
    if isinstance(n, INNER_SCOPES):
        yield from names_used(n)
    if isinstance(n, ast.Assign) and len(n.targets) > 1:
        yield from (t.id for t in n.targets if isinstance(t, ast.Name))
    if isinstance(n, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in n.ops):
        yield from (e.id for e in (n.left, *n.comparators) if isinstance(e, ast.Name))


@record(frozen=True, slots=True)
class _NamedRange:
    """The new names for the bounds and the length of the ranges of one name, and their step."""

    start: str
    stop: str
    length: str
    step: int

    def call(self, at: ast.AST) -> ast.expr:
        """A call of ``range`` that makes the range again."""
        text = "range(START, STOP)" if self.step == 1 else "range(START, STOP, STEP)"
        step = ast.Constant(self.step)
        return expression_from(text, at, {"START": self.start, "STOP": self.stop, "STEP": step})


class _Replacement(NodeTransformer):
    """Replaces the names in `ranges`, where they are bound and where they are read."""

    def __init__(self, ranges: dict[str, _NamedRange], resolve: Resolve) -> None:
        self._ranges, self._resolve = ranges, resolve

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """Binds the bounds in place of the range, and then its length, which raises for bounds that
        are no ints, as making the range does.
        """
        pairs = [*binding_pairs(node)]
        bound = [t.id for t, _ in pairs if isinstance(t, ast.Name) and t.id in self._ranges]
        if not bound:
            return self.generic_visit(node)
        targets, values = list[ast.expr](), list[ast.expr]()
        for target, value in pairs:
            bounds = _bounds(value, self._resolve) if _name_of(target) in bound else None
            if bounds is None:
                targets.append(self.visit(target))
                values.append(self.visit(value))
            else:
                names = self._ranges[_name_of(target)]
                targets += (ast.Name(n, ast.Store()) for n in (names.start, names.stop))
                values += (self.visit(e) for e in bounds[:2])
        line = ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load()))
        lines: list[ast.stmt] = [copy_location(line, node)]
        for name in bound:
            names = self._ranges[name]
            parts: dict[str, str | ast.expr] = {"LENGTH": names.length, "RANGE": names.call(node)}
            lines += statements_from("LENGTH = len(RANGE)", node, parts)
        return lines

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=func, args=[ast.Name(id=name)], keywords=[]) if (
                name in self._ranges and self._resolve(func) is len
            ):
                return copy_location(ast.Name(self._ranges[name].length, ast.Load()), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        is_read = node.id in self._ranges and isinstance(node.ctx, ast.Load)
        return self._ranges[node.id].call(node) if is_read else node


def _name_of(e: ast.expr) -> str:
    return e.id if isinstance(e, ast.Name) else ""
