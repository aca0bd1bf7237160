"""Stores that nobody reads: an overwritten one, and all to a temporary that lives in a register."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from loopir.access import accesses
from loopir.dependence import may_share
from loopir.names import bound, fresh, used
from loopir.nodes import (
    Append,
    Assign,
    Dim,
    Disjoint,
    If,
    Kernel,
    Load,
    Loop,
    Scan,
    Stmt,
    Store,
    Stream,
)
from loopir.tree import bottom_up, counters, walk

__all__ = ["contract", "loads", "overwritten"]


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


def overwritten(kernel: Kernel, loop: Loop) -> Loop:
    """`loop` without stores that the same iteration overwrites before anything reads them.

    Their values are still computed, for that may raise a flag.
    """
    body, counts = loop.body, counters(loop)
    taken = {*bound(*kernel.body, loop), *(p.name for p in kernel.params)}
    live = tuple(
        _computed(s, taken) if _dies(kernel, s, body[k + 1 :], counts) else s
        for k, s in enumerate(body)
    )
    return loop if live == body else replace(loop, body=live)


def _computed(s: Stmt, taken: set[str]) -> Stmt:
    """A store's value without the store."""
    assert isinstance(s, Store)
    name = fresh(f"{s.array}_unread", taken)
    taken.add(name)
    return Assign(name, s.value, span=s.span)


def _dies(kernel: Kernel, store: Stmt, rest: Iterable[Stmt], counts: frozenset[str]) -> bool:
    if not isinstance(store, Store) or store.mask is not None:
        return False
    if used(*store.index) & counts:  # the same subscript may be another element by then
        return False
    for s in rest:
        if any(may_share(kernel, a.array, store.array) for a in accesses((s,)) if not a.is_write):
            return False
        if isinstance(s, Store) and (s.array, s.index, s.mask) == (store.array, store.index, None):
            return True
    return False
