"""Mod/ref analysis: which arrays code reads and writes, and whether a load may move past it.

`arrays_read` and `arrays_written` are syntactic; `AliasInfo` adds which arrays may overlap, by the
guards of the kernel. `AliasInfo.crosses` answers whether a value may be computed after some code
instead of before it. (LLVM: ModRefInfo of alias analysis; here a whole array is one location.)
"""
from __future__ import annotations

from collections.abc import Iterable

from ..ir_names import names_read
from ..ir_traversal import advanced_accums, children, memoized_per_node
from ..nodes import Append, Const, Dim, Expr, Kernel, Load, Node, Scan, Store, Stream, Var
from .dependence import Alias, alias_table

__all__ = ["AliasInfo", "arrays_accessed", "arrays_read", "arrays_written"]


def arrays_read(code: Iterable[Node]) -> frozenset[str]:
    """The arrays that `code` loads from."""
    return frozenset[str]().union(*(_read_and_written(part)[0] for part in code))


def arrays_written(code: Iterable[Node]) -> frozenset[str]:
    """The arrays that `code` stores to."""
    return frozenset[str]().union(*(_read_and_written(part)[1] for part in code))


def arrays_accessed(code: Iterable[Node]) -> frozenset[str]:
    """The arrays that `code` loads from or stores to."""
    return frozenset[str]().union(*(a for part in code for a in _read_and_written(part)))


@memoized_per_node
def _read_and_written(code: Node) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays that `code` reads, and those that it writes."""
    reads, writes = set[str](), set[str]()
    if isinstance(code, (Load, Stream)):
        reads.add(code.array)
    elif isinstance(code, (Store, Append, Scan)):
        writes.add(code.array)
    for child in children(code):
        if type(child) is not Var and type(child) is not Const and type(child) is not Dim:
            read, written = _read_and_written(child)
            reads |= read
            writes |= written
    return frozenset(reads) if reads else _NONE, frozenset(writes) if writes else _NONE


_NONE: frozenset[str] = frozenset()


class AliasInfo:
    """Alias queries on the arrays of a kernel, answered from its guards."""

    def __init__(self, kernel: Kernel) -> None:
        self.table = alias_table(kernel)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AliasInfo) and self.table is other.table

    def __hash__(self) -> int:
        return hash(self.table)

    def shared(self, a: str, b: str) -> bool:
        """Whether arrays `a` and `b` may have an element in common."""
        return self.table.relation(a, b) is not Alias.DISJOINT

    def overlap(self, some: Iterable[str], others: Iterable[str]) -> bool:
        """Whether one of `some` may share an element with one of `others`."""
        others = tuple(others)
        return any(self.shared(a, b) for a in some for b in others)

    def crosses(self, value: Expr, code: Iterable[Node]) -> bool:
        """Whether `code` may write an element that `value` loads, or advance a counter that it
        reads: then `value` must not be computed after `code` instead of before it, or the other way
        round.

            value x[i] + 1, code y[i] = 0.0    →    whether x and y may overlap (`shared`)

        Elements are not told apart, so that ``x[i]`` crosses a store to ``x[i + 1]``. Passes that
        move loads ask it: `propagate_copies`, `carry_indexed`, `prefix_scans`.
        """
        code, arrays, names = tuple(code), arrays_read((value,)), names_read(value)
        if any(not names.isdisjoint(advanced_accums(s)) for s in code):
            return True
        return bool(arrays) and self.overlap(arrays, arrays_written(code))

    def changes(self, value: Expr, stores: Iterable[str]) -> bool:
        """Whether writing the arrays `stores` may change an element that `value` loads."""
        return self.overlap(arrays_read((value,)), stores)
