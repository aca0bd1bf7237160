"""Ways out of statements: ``break``, ``continue``, ``return``."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["NotStructured", "leaves", "exits", "irregular", "plain_break", "ways_of"]

_LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class NotStructured(Exception):
    """A way out leads through a statement that is Python's own."""


def exits(s: ast.stmt) -> frozenset[str]:
    """The ways out of `s`: some of break, continue and return."""
    match s:
        case ast.Break() | ast.Continue() | ast.Return():
            return frozenset((type(s).__name__.lower(),))
        case ast.If(body=body, orelse=orelse):
            return ways_of(body) | ways_of(orelse)
        case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
            return (ways_of(body) & {"return"}) | ways_of(orelse)
        case _ if isinstance(s, _SCOPES):
            return frozenset()
    if any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in _here(s)):
        raise NotStructured
    return frozenset()


def ways_of(block: Iterable[ast.stmt]) -> frozenset[str]:
    """Those of all statements of `block`."""
    return frozenset(way for s in block for way in exits(s))


def _here(s: ast.AST) -> Iterator[ast.AST]:
    yield s
    for child in ast.iter_child_nodes(s):
        if not isinstance(child, _SCOPES):
            yield from _here(child)


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether every path through `block` leaves it."""
    for s in block:
        match s:
            case ast.Break() | ast.Continue() | ast.Return():
                return True
            case ast.If(body=body, orelse=orelse) if leaves(body) and leaves(orelse):
                return True
    return False


def plain_break(s: ast.stmt) -> bool:
    """``if …: break``"""
    return isinstance(s, ast.If) and not s.orelse and isinstance(s.body[0], ast.Break)


def irregular(n: ast.AST) -> bool:
    """Whether `n` is a loop that needs rewriting for its own sake."""
    if not isinstance(n, _LOOPS):
        return False
    breaking = [s for s in n.body if "break" in exits(s)]
    simple = not breaking or (len(breaking) == 1 and plain_break(breaking[0]))
    return bool(n.orelse) or "continue" in ways_of(n.body) or not simple
