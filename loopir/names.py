"""Names in a piece of code: those it binds, those it mentions, and renaming both."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .nodes import (
    Accum,
    Append,
    Assign,
    Bits,
    Load,
    Local,
    Loop,
    Node,
    PredLoop,
    Prefix,
    Scan,
    Store,
    Stream,
    Var,
    VecAccum,
    VecLoop,
    Yield,
    Zip,
)
from .tree import N, bottom_up, children, kept

__all__ = ["bound", "fresh", "rename", "used"]


def bound(*nodes: Node) -> frozenset[str]:
    """Every name that is bound somewhere in `nodes`: assigned, yielded, accumulated or counted."""
    return _union([_names(n)[0] for n in nodes])


def used(*nodes: Node) -> frozenset[str]:
    """Every scalar name that is read somewhere in `nodes`, its own ones included."""
    return _union([_names(n)[1] for n in nodes])


def fresh(base: str, taken: Iterable[str]) -> str:
    """`base`, or `base` with the least number that makes it a name not in `taken`."""
    names = frozenset(taken)
    name, count = base, 0
    while name in names:
        count += 1
        name = f"{base}_{count}"
    return name


def rename(node: N, names: Mapping[str, str]) -> N:
    """`node` with names replaced all at once, where they are bound and where they are read."""
    renamed: N = bottom_up(node, lambda n: _rename(n, names)) if names else node
    return renamed


@kept
def _names(n: Node) -> tuple[frozenset[str], frozenset[str]]:
    """Those bound and those read in `n`."""
    below = [_names(c) for c in children(n)]
    binds, reads = frozenset(_binds(n)), frozenset(_reads(n))
    return _union([binds, *(b for b, _ in below)]), _union([reads, *(r for _, r in below)])


def _union(sets: list[frozenset[str]]) -> frozenset[str]:
    some = [s for s in sets if s]
    return some[0].union(*some[1:]) if some else _NONE


_NONE: frozenset[str] = frozenset()


def _binds(n: Node) -> tuple[str, ...]:
    match n:
        case Assign(name=name) | Yield(name=name) | Stream(name=name) | Local(name=name):
            return (name,)
        case Bits(name=name):
            return (name,)
        case Accum(name=name) | VecAccum(name=name):
            return (name,)
        case Scan(var=var, acc=acc):
            return var, acc
        case Prefix(name=name, before=before):
            return (name, before) if before else (name,)
        case Loop(var=var) | Zip(var=var) | VecLoop(var=var) | PredLoop(var=var):
            return (var,)
    return ()


def _reads(n: Node) -> tuple[str, ...]:
    match n:
        case Var(name=name) | Append(count=name) | Prefix(acc=name):
            return (name,)
    return ()


_NAMES = ("name", "before", "var", "acc", "count", "array")


def _rename(n: Any, names: Mapping[str, str]) -> Any:
    if not (_binds(n) or _reads(n) or isinstance(n, Load | Store)):
        return n
    old = {f: getattr(n, f) for f in _NAMES if hasattr(n, f)}
    new = {f: names[name] for f, name in old.items() if name in names}
    return replace(n, **new) if new else n
