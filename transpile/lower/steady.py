"""Slices of lists that may be read in the lists themselves: while they are, nothing changes either.

A slice of a list is a copy. What is set in the list later, or in the slice, is not in the other.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .fixed import outside

__all__ = ["steady_slices"]


def steady_slices(tree: ast.FunctionDef) -> set[ast.Subscript]:
    """Such slices in `tree`, among those that names are given to; of arrays, too."""
    out: set[ast.Subscript] = set()
    for block in _blocks(tree):
        for k, s in enumerate(block):
            match s:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Subscript(value=of, slice=ast.Slice()) as value,
                ) if (base := _root(of)) and _is_steady(name, base, of, block[k + 1 :], tree):
                    out.add(value)
    return out


def _is_steady(
    name: str, base: str, of: ast.expr, rest: Sequence[ast.stmt], tree: ast.FunctionDef
) -> bool:
    if outside(name, tree) or name in _set_in([tree]):
        return False
    reads = [k for k, s in enumerate(rest) if _loads(name, [s])]
    near = rest[: reads[-1] + 1] if reads else []
    where: Sequence[ast.AST] = near if _loads(name, near) == _loads(name, [tree]) else [tree]
    changed = _set_in(where)
    own = isinstance(of, ast.Name) and not _is_row(base, tree)
    names = (n for node in where for n in ast.walk(node) if isinstance(n, ast.Name) and _stored(n))
    bound = {n.id for n in names} & {base, f"#{base}"}
    return not bound and not (changed & {base} if own else changed)


def _loads(name: str, nodes: Sequence[ast.AST]) -> int:
    names = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return sum(n.id == name and not _stored(n) for n in names)


def _is_row(name: str, tree: ast.AST) -> bool:
    """Whether that name may be given to what lies in another list."""
    values = (n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and _binds(n, name))
    return any(isinstance(v, (ast.Name, ast.Subscript, ast.IfExp)) for v in values)


def _binds(s: ast.Assign, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for t in s.targets for n in ast.walk(t))


def _set_in(nodes: Sequence[ast.AST]) -> set[str]:
    """The names of what has items that are set."""
    inside = (n for node in nodes for n in ast.walk(node))
    return {_root(n) for n in inside if isinstance(n, ast.Subscript) and _stored(n)}


def _stored(n: ast.Name | ast.Subscript) -> bool:
    return not isinstance(n.ctx, ast.Load)


def _root(e: ast.expr) -> str:
    while isinstance(e, ast.Subscript):
        e = e.value
    return e.id if isinstance(e, ast.Name) else ""


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for n in ast.walk(tree):
        for block in (getattr(n, "body", None), getattr(n, "orelse", None)):
            if isinstance(block, list):
                yield block
