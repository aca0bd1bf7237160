"""Compress-stores: a store at a counter that the same branch increments becomes an append."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet

from ...algebra.index_builder import index_add
from ...analysis.dependence import may_alias
from ...analysis.mod_ref import arrays_written
from ...dtypes import INDEX
from ...ir_names import FreshNames, names_read
from ...ir_traversal import contains
from ...lazy_dataclass import replace
from ...nodes import Accum, Append, Break, If, Kernel, Loop, Return, Stmt, Store, Var
from ...statement_blocks import map_statements

__all__ = ["compress_stores"]


def compress_stores(kernel: Kernel, *, blank: Collection[str] = ()) -> Kernel:
    """Turn a store at a counter, which the same branch increments, into an append, which a vector
    loop can execute for all active lanes together. `_as_compress_store` decides: the counter must
    have no other use in the loop.

    The append has ``only=True``: it writes no more elements than it appends, since what is behind
    them belongs to the caller. (The ``append`` of a list is an `Append` from lowering on, and may
    write whole registers, since its buffer has room behind the items.) In one of the ``blank``
    arrays, which start without values, nothing is behind them before the first loop that stores to
    it. Before::

        def k(x: f64[::1], out: mut(f64[::1]), n: mut(i64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], k=0):
                if x[i] > 0.0:
                    out[k] = x[i]
                    k_1 = give(k + 1)
                else:
                    k_1 = give(k)
                k = step(k_1)
            n[()] = k

    after::

        def k(x: f64[::1], out: mut(f64[::1]), n: mut(i64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], k=0):
                if x[i] > 0.0:
                    append(out, k, x[i], only=True)
            n[()] = k
    """
    fresh = FreshNames(kernel)
    vectors = {p.name for p in kernel.params if p.rank == 1 and p.unit == 0}
    blank_in = dict(_loops_with_blank(kernel.body, frozenset(blank), kernel)) if blank else {}

    def edit(s: Stmt) -> Stmt:
        """`s` with the stores at its counters as appends. A loop that is left by a `Break` or
        `Return` stays as it is: a `Break` skips the steps, so its iteration counts no store.
        """
        loop = s
        if isinstance(s, Loop) and not any(contains(x, (Break, Return)) for x in s.body):
            for acc in s.accs:
                s = _as_compress_store(s, acc, vectors, blank_in.get(id(loop), ()), fresh) or s
        return s

    return map_statements(kernel, edit, Loop)


def _loops_with_blank(
    stmts: Iterable[Stmt], blank: AbstractSet[str], kernel: Kernel
) -> Iterator[tuple[int, AbstractSet[str]]]:
    """The identity of each loop among `stmts`, in no other loop, with those of the arrays `blank`
    to which nothing has stored before it.
    """
    for s in stmts:
        if isinstance(s, Loop):
            yield id(s), blank
        elif isinstance(s, If):
            yield from _loops_with_blank(s.then, blank, kernel)
            yield from _loops_with_blank(s.orelse, blank, kernel)
        written = arrays_written((s,))
        blank = {a for a in blank if not any(may_alias(kernel, a, w) for w in written)}


def _as_compress_store(
    loop: Loop, acc: Accum, vectors: AbstractSet[str], blank: Collection[str], fresh: FreshNames
) -> Loop | None:
    """`loop` with appends, if `acc` only counts the stores of one branch, as ``k`` in the example
    of `compress_stores`; else None. That is:

    - a branch of the body increments it on one side, where the stores are, and keeps it on the
      other (`_is_counting_branch`). Nothing else reads it, not even what is stored;
    - the stores are unmasked; each array is one of `vectors`, the parameters of rank 1 whose
      elements lie side by side in memory, and gets no other store in the loop. Of several arrays
      each has a counter of its own then;
    - the loop does not end at a condition (``until``).
    """
    position = next((k for k, s in enumerate(loop.body) if _is_counting_branch(s, acc)), None)
    if position is None or acc.init.dtype != INDEX or loop.until is not None:
        return None
    s, count = loop.body[position], acc.current
    assert isinstance(s, If)
    count_yield = next(y for y in s.yields if Var(y.name, INDEX) == acc.step)
    stores = [x for x in s.then if isinstance(x, Store) and x.index == (count,)]
    other_then = [x for x in s.then if x not in stores]
    others = [*loop.body[:position], *loop.body[position + 1 :], *other_then, *s.orelse]
    steps = [a.step for a in loop.accs if a is not acc]
    other_yields = [e for y in s.yields if y is not count_yield for e in (y.then, y.orelse)]
    counter_names = {acc.name, count_yield.name}
    if not stores or counter_names & names_read(
        *others, *steps, *other_yields, s.cond, *(x.value for x in stores)
    ):
        return None
    arrays = [x.array for x in stores]
    are_only_stores = len(set(arrays)) == len(arrays) and not set(arrays) & arrays_written(others)
    if not are_only_stores or not vectors >= {*arrays} or any(x.mask for x in stores):
        return None
    counts = [count, *(Var(fresh.name(acc.name), INDEX) for _ in arrays[1:])]
    names = dict(zip(arrays, counts, strict=True))
    then = tuple(
        Append(
            x.array, names[x.array].name, x.value, only=True, blank=x.array in blank, span=x.span,
        )
        if isinstance(x, Store) and x in stores else x
        for x in s.then
    )
    branch = replace(s, then=then, yields=tuple(y for y in s.yields if y is not count_yield))
    accs = [replace(a, step=count) if a is acc else a for a in loop.accs]
    accs += [Accum(c.name, acc.init, c, span=acc.span) for c in counts[1:]]
    return replace(
        loop, body=(*loop.body[:position], branch, *loop.body[position + 1 :]), accs=tuple(accs)
    )


def _is_counting_branch(s: Stmt, acc: Accum) -> bool:
    """Whether `s` is a branch that increments the counter on one side and keeps it on the other."""
    incremented, unchanged = index_add(acc.current, 1), acc.current
    return isinstance(s, If) and any(
        Var(y.name, INDEX) == acc.step and (y.then, y.orelse) == (incremented, unchanged)
        for y in s.yields
    )
