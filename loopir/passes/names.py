"""Fresh names, and putting expressions in the place of names."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..names import bound, rename, used
from ..nodes import Accum, Assign, Expr, Kernel, Node, Stream, Var, VecAccum, Yield
from ..tree import N, kept, map_children, walk

__all__ = ["Fresh", "reads", "rebound", "substitute"]


def reads(*code: Node | None) -> frozenset[str]:
    """Every name that `code` mentions as a value, where there is code."""
    return used(*(part for part in code if part is not None))


@kept
def rebound(code: Node) -> frozenset[str]:
    """Names that stand for different values in different places of `code`."""
    binders = (Assign, Yield, Accum, VecAccum, Stream)
    seen = Counter(n.name for n in walk(code) if isinstance(n, binders))
    return frozenset(name for name, times in seen.items() if times > 1)


class Fresh:
    """A supply of names that a kernel does not use yet."""

    def __init__(self, kernel: Kernel) -> None:
        self._taken = {p.name for p in kernel.params} | bound(kernel) | used(kernel)

    def name(self, like: str) -> str:
        """`like`, or `like` with the lowest number that makes it new (instead of any it has)."""
        name, base, number = like, re.sub(r"_\d+$", "", like), 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def names(self, *code: Node) -> dict[str, str]:
        """A new name for each that `code` binds."""
        return {name: self.name(name) for name in sorted(bound(*code))}

    def copy(self, n: N) -> N:
        """`n` with names of its own."""
        return rename(n, self.names(n))


def substitute(n: N, values: Mapping[str, Expr]) -> N:
    """`n` with each name of `values` replaced by its expression; `n` itself where there is none."""
    if not values:
        return n

    def go(x: Any) -> Any:
        return values.get(x.name, x) if isinstance(x, Var) else map_children(x, go)

    done: N = go(n)
    return done
