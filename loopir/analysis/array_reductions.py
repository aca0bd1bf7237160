"""Array reductions: arrays that a loop only adds to, whichever element an iteration selects.

    for i: h[k[i]] = h[k[i]] + 1       a histogram: integers, which may be added in any order

Each thread can add to a table of its own, which starts as 0, and the tables are added up (OpenMP:
reduction of an array section). The order matters for floats, which are rounded after each addition.
"""
from __future__ import annotations

from collections.abc import Iterable

from ..dtypes import DTYPES
from ..ir_traversal import contains, walk
from ..nodes import Bits, Call, Check, Expr, Kernel, Load, Loop, Node, Store
from .dependence import Alias, alias_table

__all__ = ["added_arrays", "adds_floats"]


def added_arrays(loop: Node, kernel: Kernel) -> frozenset[str]:
    """The arrays of `kernel` to which the scalar `loop` only adds integers (`_only_adds`), so that
    its iterations are independent but for the order of additions, which does not matter. Several
    threads may run it then: each adds to a table of its own, and the tables are added up.

        for i in loop(0, n): h[b[i]] = h[b[i]] + 1           {"h"}
        for i in loop(0, n): h[b[i]] = h[b[i]] + h[0]        none: it also reads an element of h

    - The array is contiguous and of rank 1: a table is an array of as many elements.
    - No other array that the loop accesses shares its memory.
    - The loop has no check: if one failed, additions of later iterations would remain.

    `parallel_obstacle` asks this; `c_regions` makes the tables.
    """
    if not isinstance(loop, Loop) or contains(loop, (Check, Bits)):
        return frozenset()
    nodes = [*walk(loop)]
    accessed = {n.array for n in nodes if isinstance(n, (Load, Store))}
    aliases, found = alias_table(kernel), set[str]()
    for p in kernel.params:
        is_table_like = p.rank == 1 and p.unit == 0 and DTYPES[p.dtype].kind in "iu"
        if p.name not in accessed or not is_table_like:
            continue
        others = accessed - {p.name}
        are_apart = all(aliases.relation(p.name, x) is Alias.DISJOINT for x in others)
        if _only_adds(nodes, p.name) and are_apart:
            found.add(p.name)
    return frozenset(found)


def adds_floats(loop: Node, array: str) -> bool:
    """Whether `loop` only adds floats to elements of `array`, so that only their order matters."""
    stores = [n for n in walk(loop) if isinstance(n, Store) and n.array == array]
    return _only_adds([*walk(loop)], array) and DTYPES[stores[0].value.dtype].kind == "f"


def _only_adds(nodes: Iterable[Node], array: str) -> bool:
    """Whether `nodes` access `array`, and each access is by scalar code of the form
    ``array[index] = array[index] + term``.
    """
    stores = [n for n in nodes if isinstance(n, Store) and n.array == array]
    loads = sum(isinstance(n, Load) and n.array == array for n in nodes)
    return loads == len(stores) > 0 and all(_is_addition(s) for s in stores)


def _is_addition(s: Store) -> bool:
    """Whether `s` adds to the element that it replaces."""
    match s.value:
        case Call("add", (a, b)) if s.value.lanes == 1:
            return _is_element(a, s) != _is_element(b, s)
    return False


def _is_element(e: Expr, s: Store) -> bool:
    """Whether `e` is the element that `s` replaces."""
    return isinstance(e, Load) and (e.array, e.index) == (s.array, s.index)
