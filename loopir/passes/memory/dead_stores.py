"""Dead store elimination: a store that the same block overwrites before any read is removed.

Stores to a temporary that nothing reads any more are removed by `fusion.array_contraction`.
"""
from __future__ import annotations

from collections.abc import Sequence

from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, changed_names, names_read
from ...ir_traversal import advanced_accums, contains, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Append,
    Assign,
    Break,
    Call,
    Expr,
    Kernel,
    Load,
    Loop,
    Return,
    Scan,
    Stmt,
    Store,
    Var,
    Zip,
)
from ...statement_blocks import Block, map_blocks

__all__ = ["dead_stores", "without_dead_stores"]


def dead_stores(kernel: Kernel) -> Kernel:
    """Remove a store that a later store of the same block overwrites, before anything may read the
    element; where the later store is masked, merge both into one with a select. If both are masked,
    as those of ``if`` and ``elif`` are, the one stores where either mask is true.

    If-conversion makes such pairs: of ``y[i] = a`` and ``if c: y[i] = b`` the second becomes a
    masked store. The value of a removed store is still computed, since that may raise a float flag;
    `simplify` removes it if not. `_StoreTracker.overwriting_store` decides. Before::

        def k(x: f64[::1], y: mut(f64[::1]), z: mut(f64[::1])):
            disjoint(x, y)
            disjoint(x, z)
            disjoint(y, z)
            for i in loop(0, x.shape[0]):
                y[i] = x[i] * 2.0
                y[i] = where(x[i] > 1.0, 1.0)
                z[i] = where(x[i] > 2.0, 0.0)
                z[i] = where(x[i] < 0.0, x[i])

    after::

        def k(x: f64[::1], y: mut(f64[::1]), z: mut(f64[::1])):
            disjoint(x, y)
            disjoint(x, z)
            disjoint(y, z)
            for i in loop(0, x.shape[0]):
                y_1 = x[i] * 2.0
                y[i] = select(x[i] > 1.0, 1.0, y_1)
                z_1 = 0.0
                z[i] = where((x[i] > 2.0) | (x[i] < 0.0), select(x[i] < 0.0, x[i], z_1))
    """
    tracker = _StoreTracker(AliasInfo(kernel), FreshNames(kernel), advanced_accums(kernel))
    return map_blocks(kernel, tracker.block, vectors=False)


def without_dead_stores(kernel: Kernel, loop: Loop) -> Loop:
    """`loop`, which will be inserted into `kernel`, without dead stores in its body."""
    names = FreshNames(replace(kernel, body=(*kernel.body, loop)))
    tracker = _StoreTracker(AliasInfo(kernel), names, advanced_accums(loop), merges=False)
    body = tracker.without_dead(loop.body)
    return loop if body is loop.body else replace(loop, body=body)


@record(frozen=True, slots=True)
class _StoreTracker:
    """Finds dead stores in blocks.

    ``counts``: names whose value changes at an append. ``merges``: whether a masked store is merged
    with the one before.
    """

    memory: AliasInfo
    fresh: FreshNames
    counts: frozenset[str]
    merges: bool = True

    def block(self, b: Block) -> Block:
        """`b` without dead stores."""
        stmts = self.without_dead(b.stmts)
        return b if stmts is b.stmts else replace(b, stmts=stmts)

    def without_dead(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """`stmts` in which each dead store is an assignment of its value; the same object if there
        is none.
        """
        new = list(stmts)
        for k in range(len(new)):
            s, rest = new[k], new[k + 1 :]
            overwriter = self.overwriting_store(s, rest) if isinstance(s, Store) else None
            if not isinstance(s, Store) or overwriter is None:
                continue
            later = rest[overwriter]
            assert isinstance(later, Store)
            value = Var(self.fresh.name(s.array), s.value.dtype)
            new[k] = Assign(value.name, s.value, span=s.span)
            if later.mask not in (None, s.mask):
                merged = Call("select", (later.mask, later.value, value), value.dtype)
                mask = s.mask and rewrite(Call("or", (s.mask, later.mask), "bool"))
                new[k + 1 + overwriter] = replace(later, value=merged, mask=mask)
        return stmts if all(a is b for a, b in zip(new, stmts, strict=True)) else tuple(new)

    def overwriting_store(self, s: Store, rest: Sequence[Stmt]) -> int | None:
        """The index in `rest`, the statements of the block after `s`, of the store that overwrites
        `s` or is merged with it; None if there is none, or something may read the element before.

            y[i] = a      `s`
            z[i] = 0.0    0: not that element, and no read of `y`
            y[i] = b      1: overwrites it; if only where(c, b) is stored, it is merged with `s`

        Two stores count as stores to one element if their subscripts are the same expressions; so
        these must have the same value in both places: they read no memory and no counter of
        appends. Masks are compared likewise, but may read memory that no statement between writes.
        A masked store is merged with `s` only if no statement between writes memory that `s`
        writes: the value of `s` would be stored after that, at the place of the later store.
        """
        is_indexed_by_load = any(isinstance(n, Load) for e in s.index for n in walk(e))
        if is_indexed_by_load or names_read(*s.index) & self.counts:
            return None
        can_merge, keeps_mask = self.merges, True
        read_by_mask = () if s.mask is None else arrays_read((s.mask,))
        for k, later in enumerate(rest):
            if self.may_observe(later, s):
                return None
            if isinstance(later, Store) and _same_element(s, later):
                is_covered = later.mask is None or (keeps_mask and later.mask == s.mask)
                return k if (can_merge and keeps_mask) or is_covered else None
            written = arrays_written((later,))
            can_merge = can_merge and not self.memory.overlap((s.array,), written)
            keeps_mask = keeps_mask and not self.memory.overlap(read_by_mask, written)
        return None

    def may_observe(self, later: Stmt, s: Store) -> bool:
        """Whether `later` may read the element that `s` stores, or leave the block early. A failing
        check does not count: the call is replayed then, which writes the element again.
        """
        if contains(later, (Break, Return)):
            return True
        read = arrays_read((later,))
        return self.memory.overlap((s.array,), read) and (
            self.memory.overlap((s.array,), read - {s.array}) or not _reads_other_elements(later, s)
        )


def _reads_other_elements(later: Stmt, s: Store) -> bool:
    """Whether all elements of the array of `s` that `later` reads are others than that of `s`."""
    if contains(later, (Append, Scan, Zip)) or names_read(*s.index) & changed_names(later):
        return False
    loads = [n for n in walk(later) if isinstance(n, Load) and n.array == s.array]
    return all(load.lanes == 1 and _are_apart(s.index, load.index) for load in loads)


def _are_apart(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Whether the subscripts of two elements differ by a constant in some axis: ``t[i, j]`` is not
    ``t[i - 1, k]``.
    """
    for p, q in zip(a, b, strict=True):
        first, second = affine_form(p), affine_form(q)
        if first is not None and second is not None and (first - second).number:
            return True
    return False


def _same_element(a: Store, b: Store) -> bool:
    """Whether both store to the same element, with equal subscripts."""
    return (a.array, a.index) == (b.array, b.index)
