"""Which names a block of Python assigns, and which it reads before it has assigned them.

What stays Python's beside what is compiled does neither.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from ..below import below
from .left import left_to_python

__all__ = ["assigned", "counting", "exposed", "raises", "reads"]


_OF_SUMS = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp)


def _ours(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """`nodes` and what is below them, but for what is left to Python."""
    for n in nodes:
        match n:
            case ast.If(test=test, orelse=orelse) if left_to_python(n):
                yield from below(test)
                yield from _ours(orelse)
            case ast.If(test=test, body=body, orelse=orelse):
                yield from below(test)
                yield from _ours([*body, *orelse])
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                yield from below(target, iterable)
                yield from _ours([*body, *orelse])
            case ast.While(test=test, body=body, orelse=orelse):
                yield from below(test)
                yield from _ours([*body, *orelse])
            case _:
                yield from below(n)


def reads(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name read anywhere in `nodes`."""
    return {
        n.id
        for n in _ours(nodes)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }


def assigned(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name that `nodes` bind."""
    return {
        n.id
        for n in _ours(nodes)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


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


def exposed(block: Sequence[ast.stmt], bound: frozenset[str] = frozenset()) -> set[str]:
    """Names that `block` may read before it has certainly assigned them."""
    out: set[str] = set()
    have = set(bound)
    for stmt in block:
        match stmt:
            case ast.If(test=test, orelse=orelse) if left_to_python(stmt):
                out |= (reads([test]) | exposed(orelse, frozenset(have))) - have
                have |= _certain(orelse)
            case ast.If(test=test, body=body, orelse=orelse):
                out |= reads([test]) - have
                out |= exposed(body, frozenset(have)) | exposed(orelse, frozenset(have))
                have |= _certain(body) & _certain(orelse)
            case ast.For(target=target, iter=iterable, body=body):
                out |= reads([iterable]) - have
                out |= exposed(body, frozenset(have | assigned([target])))
            case ast.While(test=test, body=body):
                out |= reads([test]) - have
                out |= exposed(body, frozenset(have))
            case ast.Assign(targets=targets, value=value):
                out |= reads([value, *targets]) - have
                have |= assigned(targets)
            case ast.AugAssign(target=target, value=value):
                out |= (reads([value, target]) | assigned([target])) - have
                have |= assigned([target])
            case _:
                out |= reads([stmt]) - have
                have |= assigned([stmt])
    return out


def _certain(block: Sequence[ast.stmt]) -> set[str]:
    """Names that `block` assigns on every path."""
    out: set[str] = set()
    for stmt in block:
        match stmt:
            case ast.If(orelse=orelse) if left_to_python(stmt):
                out |= _certain(orelse)
            case ast.If(body=body, orelse=orelse):
                out |= _certain(body) & _certain(orelse)
            case ast.For() | ast.While():
                pass
            case _:
                out |= assigned([stmt])
    return out
