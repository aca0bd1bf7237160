"""Array reductions: arrays that a loop only adds to, whichever element an iteration selects.

    for i: h[k[i]] = h[k[i]] + 1       a histogram: integers, which may be added in any order

Each thread can add to a table of its own, which starts as 0, and the tables are added up (OpenMP:
reduction of an array section). The order matters for floats, which are rounded after each addition.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..dtypes import DTYPES
from ..ir_traversal import contains, walk
from ..nodes import Assign, Bits, Call, Expr, If, Kernel, Load, Loop, Node, Stmt, Store, Var, While
from .dependence import Alias, alias_table
from .mod_ref import arrays_read, arrays_written

__all__ = ["added_arrays", "adds_floats"]


def added_arrays(loop: Node, kernel: Kernel) -> frozenset[str]:
    """The arrays of `kernel` to which the scalar `loop` only adds integers (`_only_adds`), so that
    its iterations are independent but for the order of additions, which does not matter. Several
    threads may run it then: each adds to a table of its own, and the tables are added up.

        for i in loop(0, n): h[b[i]] = h[b[i]] + 1           {"h"}
        for i in loop(0, n): h[b[i]] = h[b[i]] + h[0]        none: it also reads an element of h

    - The array is contiguous and of rank 1: a table is an array of as many elements.
    - No other array that the loop accesses shares its memory.

    A check of the loop must not end the kernel, since additions of later iterations would remain
    (`undo_obstacle`). `parallel_obstacle` asks this; `c_regions` makes the tables.
    """
    if not isinstance(loop, Loop) or contains(loop, Bits):
        return frozenset()
    accessed = {n.array for n in walk(loop) if isinstance(n, (Load, Store))}
    aliases, found = alias_table(kernel), set[str]()
    for p in kernel.params:
        is_table_like = p.rank == 1 and p.unit == 0 and DTYPES[p.dtype].kind in "iu"
        if p.name not in accessed or not is_table_like:
            continue
        others = accessed - {p.name}
        are_apart = all(aliases.relation(p.name, x) is Alias.DISJOINT for x in others)
        if _only_adds(loop, p.name) and are_apart:
            found.add(p.name)
    return frozenset(found)


def adds_floats(loop: Node, array: str) -> bool:
    """Whether `loop` only adds floats to elements of `array`, so that only their order matters."""
    stores = [n for n in walk(loop) if isinstance(n, Store) and n.array == array]
    return _only_adds(loop, array) and DTYPES[stores[0].value.dtype].kind == "f"


def _only_adds(loop: Node, array: str) -> bool:
    """Whether `loop` accesses `array`, and each access is by scalar code of the form
    ``array[index] = array[index] + term``, or of ``old = array[index]; …; array[index] = old +
    term``, where nothing else reads ``old``, and nothing stores to `array` in between.
    """
    if not isinstance(loop, Loop):
        return False
    additions = [*_additions(loop.body, array, {})]
    nodes = [*walk(loop)]
    loads = sum(isinstance(n, Load) and n.array == array for n in nodes)
    stores = sum(isinstance(n, Store) and n.array == array for n in nodes)
    old = {x.name for x in additions if isinstance(x, Var)}
    reads = sum(isinstance(n, Var) and n.name in old for n in nodes)
    return len(additions) == loads == stores > 0 and reads == len(old)


def _additions(body: Iterable[Stmt], array: str, loaded: dict[str, Load]) -> Iterator[Expr]:
    """For each store in `body` that adds to an element of `array`: the element, or its name.
    ``loaded``: the elements that have been loaded before in the same iteration, by their names,
    since when nothing was stored to `array`. What `body` loads is added.
    """
    for s in body:
        match s:
            case Assign(name, Load(source) as element) if source == array:
                loaded[name] = element
            case Store(target, index, Call("add", (a, b))) if target == array:
                places = [_place(x, loaded) for x in (a, b)]
                is_a, is_b = (x == Load(array, index, s.value.dtype) for x in places)
                if is_a != is_b and s.value.lanes == 1:
                    yield a if is_a else b
            case If(then=then, orelse=orelse):
                for side in (then, orelse):
                    yield from _additions(side, array, {**loaded})
            case Loop() | While():
                yield from _additions(s.body, array, {})
        changed = arrays_written((s,))
        for name, element in [*loaded.items()] if changed else ():
            if array in changed or arrays_read(element.index):
                del loaded[name]


def _place(e: Expr, loaded: Mapping[str, Load]) -> Expr:
    """The element that `e` is, or of which it is the name; else `e`."""
    return loaded.get(e.name, e) if isinstance(e, Var) else e
