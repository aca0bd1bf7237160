"""Array coalescing: a temporary is kept in the array that is computed from it.

    for j: e[j] = exp(x[j]); s = step(s + e[j])        for j: out[j] = exp(x[j]); …
    for j: out[j] = e[j] / s                      →    for j: out[j] = out[j] / s

The elements of the temporary are read for the last time where the result's are written, so that one
array serves for both: it is in the cache, and nothing is allocated for the other. For temporaries
that `rematerialize` leaves, since they are expensive. (Register allocation: coalescing of copies;
XLA: buffer sharing; Futhark: array short-circuiting.)
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..analysis.integers.affine import AffineBindings
from ..analysis.mod_ref import arrays_read, arrays_written
from ..dtypes import DTYPES
from ..ir_names import rename_names
from ..ir_traversal import advanced_accums, walk
from ..lazy_dataclass import replace
from ..nodes import Dim, Disjoint, If, Kernel, Load, Loop, LoopLike, Node, Param, Stmt, Store
from .iteration_domains import affine_bindings
from .stored_elements import Level, single_stores, store_levels

__all__ = ["coalesce_arrays"]


def coalesce_arrays(
    kernel: Kernel, temporaries: Iterable[str], fresh_arrays: Iterable[str]
) -> tuple[Kernel, tuple[str, ...]]:
    """`kernel` with each of the `temporaries` that can be kept in a result: one of the
    `fresh_arrays`, which the function allocates, so that nothing else has their memory. Returns
    also the names of the arrays that the kernel no longer takes.

        for i in loop(0, n, s=0.0):                    for i in loop(0, n, s=0.0):
            t = exp(x[i])                                  t = exp(x[i])
            e[i] = t                              →        out[i] = t
            s = step(s + t)                                s = step(s + t)
        for i_1 in loop(0, n):                         for i_1 in loop(0, n):
            out[i_1] = e[i_1] / s                          out[i_1] = out[i_1] / s

    Both arrays have one dtype and one order of axes, and

    - each is written by one store, and the result is not read;
    - in the block where the loops of both stores are, the result's writes exactly the elements that
      the temporary's has written before, in every iteration (`Definition.at`);
    - all loads of the temporary are in that block, after its store, of elements written there
      (`_can_replace`), and none after the result's element is written (`_reads_before_it_writes`).
    """
    removed: list[str] = []
    results = frozenset(fresh_arrays)
    for store in [*single_stores(kernel)]:
        if store.array not in temporaries or store.array not in arrays_read((kernel,)):
            continue
        result = _result_for(kernel, store.array, results)
        if result is not None:
            removed.append(store.array)
            kernel = _merged(kernel, store.array, result)
    return kernel, tuple(removed)


def _merged(kernel: Kernel, array: str, result: str) -> Kernel:
    """`kernel` with `result` in place of `array`."""
    return replace(
        kernel,
        params=tuple(p for p in kernel.params if p.name != array),
        body=tuple(rename_names(s, {array: result}) for s in kernel.body),
    )


def _result_for(kernel: Kernel, array: str, results: frozenset[str]) -> str | None:
    """The array among `results` in which the temporary `array` can be kept; None if there is none.
    """
    params = {p.name: p for p in kernel.params}
    guarded = {name for g in kernel.guards if isinstance(g, Disjoint) for name in (g.a, g.b)}
    with_length = {n.array for n in walk(kernel) if isinstance(n, Dim)}
    if array in guarded | with_length:
        return None
    read = arrays_read((kernel,))
    stores = [s for s in single_stores(kernel) if s.array in results - read - guarded]
    stores = [s for s in stores if _is_alike(params[s.array], params[array])]
    if not stores:
        return None
    bindings = affine_bindings(kernel)
    levels = store_levels(kernel.body, array)
    return next(
        (s.array for s in stores for x in levels if _can_replace(kernel, x, array, s, bindings)),
        None,
    )


def _is_alike(result: Param, temporary: Param) -> bool:
    """Whether two arrays have elements of one type, and one order of axes in memory. Large arrays
    of bools might be packed, if they are no results.
    """
    return (
        result.name != temporary.name
        and (result.dtype, result.rank, result.unit)
        == (temporary.dtype, temporary.rank, temporary.unit)
        and DTYPES[result.dtype].kind != "b"
    )


def _can_replace(
    kernel: Kernel, level: Level, array: str, store: Store, bindings: AffineBindings
) -> bool:
    """Whether `store` writes, in the block of `level`, the elements that the store to `array` has
    written before in that block, and all loads of `array` are between, of such elements.
    """
    places = range(level.place + 1, len(level.stmts))
    last = next((k for k in places if store.array in arrays_written((level.stmts[k],))), None)
    if level.definition is None or last is None or level.may_end(last):
        return False
    counts = advanced_accums(kernel)
    loads = 0
    for k in range(level.place + 1, last + 1):
        local = counts | level.local(k)
        found = [*_accesses((level.stmts[k],), (), array, store.array)]
        for access, loops in found:
            if loops is None or level.definition.at(access.index, loops, local, bindings) is None:
                return False
        loads += sum(isinstance(access, Load) for access, _ in found)
        if k == last and not _reads_before_it_writes([access for access, _ in found]):
            return False
    return loads == sum(isinstance(n, Load) and n.array == array for n in walk(kernel))


def _reads_before_it_writes(found: Sequence[Load | Store]) -> bool:
    """Whether each load among `found`, accesses in the order of evaluation, is of the element that
    the store, which is the last, writes.

        for k: out[i, k] = e[i, k] / s                     yes
        for k: (out[i, k] = q; r = step(r + e[i, k]))      no: e[i, k] is read after the store
        for j: for k: out[k, j] = e[j, k] / s              no: e[j, k] may be written before
    """
    *before, last = found
    return isinstance(last, Store) and all(access.index == last.index for access in before)


def _accesses(
    stmts: Iterable[Stmt], loops: tuple[Loop, ...], array: str, result: str
) -> Iterator[tuple[Load | Store, tuple[Loop, ...] | None]]:
    """The loads of `array` and stores to `result` in `stmts`, in the order of evaluation, each with
    the loops around it: `loops`, and those in `stmts`; None in a branch, or in a loop that is not
    sure to run its whole range. Loads in ranges and initial values are left out.
    """
    for s in stmts:
        if isinstance(s, Loop) and s.until is None:
            nest = (*loops, s)
            yield from _accesses(s.body, nest, array, result)
            for a in s.accs:
                yield from ((n, nest) for n in _own(a.step, array, result))
        else:
            is_sure = not isinstance(s, (If, LoopLike))
            yield from ((n, loops if is_sure else None) for n in _own(s, array, result))


def _own(n: Node, array: str, result: str) -> list[Load | Store]:
    """The loads of `array` in `n`, then the stores to `result`."""
    nodes = [x for x in walk(n) if isinstance(x, (Load, Store))]
    loads = (x for x in nodes if isinstance(x, Load) and x.array == array)
    return [*loads, *(x for x in nodes if isinstance(x, Store) and x.array == result)]
