"""Stores that nobody reads: all to a temporary that lives in a register."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from loopir.nodes import (
    Append,
    Dim,
    Disjoint,
    If,
    Kernel,
    Load,
    Loop,
    Scan,
    Store,
    Stream,
)
from loopir.tree import bottom_up, walk

from .filtering import without_appends

__all__ = ["contract", "loads"]


def loads(kernel: Kernel) -> frozenset[str]:
    """The arrays that `kernel` reads."""
    return frozenset(
        n.array for n in walk(kernel) if isinstance(n, Load | Stream)
    )


def contract(kernel: Kernel, temporaries: Iterable[str]) -> tuple[Kernel, tuple[str, ...]]:
    """`kernel` without those of `temporaries` that it only writes, and their names.

        for i in loop(0, n):               for i in loop(0, n):
            t[i] = t_here             →        out[i] = t_here + 1.0
            out[i] = t_here + 1.0
    """
    read = loads(kernel)
    kernel = without_appends(kernel, frozenset(temporaries) - read)
    other = {n.array for n in walk(kernel) if isinstance(n, Append | Scan)}
    gone = frozenset(temporaries) - read - other
    kernel = bottom_up(kernel, lambda n: _without(n, gone))
    sized = {n.array for n in walk(kernel) if isinstance(n, Dim)}
    names = tuple(p.name for p in kernel.params if p.name in gone - sized)
    return replace(
        kernel,
        params=tuple(p for p in kernel.params if p.name not in names),
        guards=tuple(
            g for g in kernel.guards if not (isinstance(g, Disjoint) and {g.a, g.b} & set(names))
        ),
    ), names


def _without(n: Any, gone: frozenset[str]) -> Any:
    match n:
        case Store(array=array) if array in gone:
            return ()
        case If(then=(), orelse=(), yields=()) | Loop(body=(), accs=()):
            return ()
    return n
