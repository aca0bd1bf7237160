"""A loop in two: iterations of which something is known, and the others."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..algebra.values import integer
from ..names import Fresh, bound, rename
from ..nodes import Append, Break, Interval, Loop, LoopLike, Return, Var
from ..tree import walk

__all__ = ["divide", "is_divisible"]


def is_divisible(loop: Loop) -> bool:
    """Whether `loop`, which has not been divided yet, runs to its end and has no others in it."""
    nodes = (n for s in loop.body for n in walk(s))
    plain = not any(isinstance(n, LoopLike | Break | Return | Append) for n in nodes)
    whole = isinstance(loop.range, Interval) and loop.range.lo == integer(0)
    return plain and whole and not loop.until


def divide(
    loop: Loop, at: Var, known: Callable[[Any], Any], fresh: Fresh
) -> tuple[Loop, Loop]:
    """The iterations before `at`, as `known` makes them, and those from it on."""
    assert isinstance(loop.range, Interval)
    names = {old: fresh.name(old) for old in sorted(bound(loop))}
    first = rename(known(replace(loop, range=Interval(loop.range.lo, at))), names)
    accs = tuple(replace(a, init=Var(names[a.name], a.init.dtype)) for a in loop.accs)
    return first, replace(loop, range=Interval(at, loop.range.hi), accs=accs)
