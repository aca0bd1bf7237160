"""Which names a block of Python assigns, and which it reads before it has assigned them.

What stays Python's beside what is compiled does neither.
"""
from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..below import below

__all__ = [
    "PYTHON", "assigned", "counting", "exposed", "left_to_python", "raises", "reads", "reads_on",
]

PYTHON = "Python's to answer"
"""Stands first in a branch that macros leave as it was, beside one that is compiled."""

_OF_SUMS = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp)


def left_to_python(s: ast.If) -> bool:
    """Whether the branch that `s` takes stays as it was."""
    match s.body:
        case [ast.Expr(value=ast.Constant(value=said)), *_]:
            return said == PYTHON
    return False


class _Names(NamedTuple):
    """The names that a node reads, binds, may read before it has surely bound them, and binds on
    every path.
    """

    reads: frozenset[str]
    assigned: frozenset[str]
    exposed: frozenset[str]
    certain: frozenset[str]


_known: weakref.WeakKeyDictionary[ast.AST, _Names] = weakref.WeakKeyDictionary()
"""Of nodes that no longer change: each is asked again whenever a loop around it is lowered."""


def _of(node: ast.AST) -> _Names:
    found = _known.get(node)
    if found is None:
        _known[node] = found = _found(node)
    return found


def _found(node: ast.AST) -> _Names:
    match node:
        case ast.If(test=test, orelse=orelse) if left_to_python(node):
            asked, then = _of(test), _block(orelse)
            return _together((asked, then), asked.reads | then.exposed, then.certain)
        case ast.If(test=test, body=body, orelse=orelse):
            asked, then, other = _of(test), _block(body), _block(orelse)
            exposed = asked.reads | then.exposed | other.exposed
            return _together((asked, then, other), exposed, then.certain & other.certain)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            taken, over, inside = _of(target), _of(iterable), _block(body)
            exposed = over.reads | (inside.exposed - taken.assigned)
            return _together((taken, over, inside, _block(orelse)), exposed, frozenset())
        case ast.While(test=test, body=body, orelse=orelse):
            asked, inside = _of(test), _block(body)
            exposed = asked.reads | inside.exposed
            return _together((asked, inside, _block(orelse)), exposed, frozenset())
    names = [n for n in below(node) if isinstance(n, ast.Name)]
    read = frozenset(n.id for n in names if not isinstance(n.ctx, ast.Store))
    bound = frozenset(n.id for n in names if isinstance(n.ctx, ast.Store))
    gone = frozenset(n.id for n in names if isinstance(n.ctx, ast.Del))
    changed = _of(node.target).assigned if isinstance(node, ast.AugAssign) else frozenset[str]()
    return _Names(read, bound | gone, read | changed, bound)


def _block(block: Iterable[ast.AST]) -> _Names:
    every = [_of(s) for s in block]
    exposed, certain = set[str](), set[str]()
    for one in every:
        exposed |= one.exposed - certain
        certain |= one.certain
    return _together(every, frozenset(exposed), frozenset(certain))


def _together(
    parts: Sequence[_Names], exposed: frozenset[str], certain: frozenset[str]
) -> _Names:
    return _Names(
        _union(p.reads for p in parts), _union(p.assigned for p in parts), exposed, certain
    )


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def reads(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Every name read anywhere in `nodes`."""
    return _union(_of(n).reads for n in nodes)


def reads_on(block: Sequence[ast.AST]) -> list[frozenset[str]]:
    """For each statement of `block`, and its end, every name that is read from there on."""
    out = [frozenset[str]()]
    for s in reversed(block):
        out.append(out[-1] | _of(s).reads)
    return out[::-1]


def assigned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Every name that `nodes` bind."""
    return _union(_of(n).assigned for n in nodes)


def exposed(block: Iterable[ast.AST]) -> frozenset[str]:
    """Names that `block` may read before it has certainly assigned them."""
    return _block(block).exposed


def counting(name: str, block: Iterable[ast.AST]) -> bool:
    """Whether `block` changes `name` by sums of it and constants alone."""
    for node in below(*block):
        match node:
            case ast.Assign(targets=targets, value=value) if name in assigned(targets):
                steps = value
            case ast.AugAssign(target=ast.Name(id=changed), value=value) if changed == name:
                steps = value
            case ast.For(target=target) if name in assigned([target]):
                return False
            case _:
                continue
        if reads([steps]) - {name} or not all(isinstance(n, _OF_SUMS) for n in below(steps)):
            return False
    return True


def raises(block: Sequence[ast.stmt]) -> bool:
    """Whether every path through `block` raises."""
    for s in block:
        match s:
            case ast.Raise() | ast.Assert(test=ast.Constant(value=False)):
                return True
            case ast.If(body=body, orelse=orelse) if raises(body) and raises(orelse):
                return True
            case ast.If() | ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Pass():
                continue
        return False
    return False
