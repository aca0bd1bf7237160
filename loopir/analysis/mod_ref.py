"""Mod/ref analysis: which arrays code reads and writes, and whether a load may move past it."""
from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial

from ..ir_traversal import memoized_per_node, walk
from ..nodes import Append, Expr, Kernel, Load, Node, Scan, Store, Stream
from .dependence import may_alias

__all__ = ["AliasInfo", "arrays_read", "arrays_written"]


def arrays_read(code: Iterable[Node]) -> frozenset[str]:
    """The arrays that `code` loads from."""
    return frozenset[str]().union(*(_read_and_written(part)[0] for part in code))


def arrays_written(code: Iterable[Node]) -> frozenset[str]:
    """The arrays that `code` stores to."""
    return frozenset[str]().union(*(_read_and_written(part)[1] for part in code))


@memoized_per_node
def _read_and_written(code: Node) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays that are read and those that are written."""
    nodes = list(walk(code))
    reads = (n.array for n in nodes if isinstance(n, (Load, Stream)))
    return frozenset(reads), frozenset(
        n.array for n in nodes if isinstance(n, (Store, Append, Scan))
    )


class AliasInfo:
    """Alias queries on the arrays of a kernel, answered from its guards."""

    def __init__(self, kernel: Kernel) -> None:
        self._shared = cache(partial(may_alias, kernel))

    def shared(self, a: str, b: str) -> bool:
        """Whether arrays `a` and `b` may have an element in common."""
        return self._shared(a, b)

    def overlap(self, some: Iterable[str], others: Iterable[str]) -> bool:
        """Whether one of `some` may share an element with one of `others`."""
        others = tuple(others)
        return any(self._shared(a, b) for a in some for b in others)

    def crosses(self, value: Expr, code: Iterable[Node]) -> bool:
        """Whether `code` may write an element that `value` loads."""
        arrays = arrays_read((value,))
        return bool(arrays) and self.overlap(arrays, arrays_written(code))

    def changes(self, value: Expr, stores: Iterable[str]) -> bool:
        """Whether writing the arrays `stores` may change an element that `value` loads."""
        return self.overlap(arrays_read((value,)), stores)
