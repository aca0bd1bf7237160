"""Dead store elimination: a store that the same block overwrites before any read is removed."""
from __future__ import annotations

from collections.abc import Sequence

from ...analysis.access import accesses
from ...analysis.mod_ref import AliasInfo, arrays_written
from ...ir_names import FreshNames, names_read
from ...ir_traversal import advanced_accums, walk
from ...lazy_dataclass import record, replace
from ...nodes import Assign, Break, Call, Kernel, Load, Loop, Return, Stmt, Store, Var
from ...statement_blocks import Block, map_blocks

__all__ = ["dead_stores", "without_dead_stores"]


def dead_stores(kernel: Kernel) -> Kernel:
    """Remove a store that a later one overwrites; where that one is masked, merge both.

    The value is still computed, since that may raise a flag. Before::

        def k(x: f64[::1], y: mut(f64[::1]), z: mut(f64[::1])):
            disjoint(x, y)
            disjoint(x, z)
            disjoint(y, z)
            for i in loop(0, x.shape[0]):
                y[i] = x[i] * 2.0
                y[i] = where(x[i] > 1.0, 1.0)
                z[i] = 0.0
                z[i] = x[i]

    after::

        def k(x: f64[::1], y: mut(f64[::1]), z: mut(f64[::1])):
            disjoint(x, y)
            disjoint(x, z)
            disjoint(y, z)
            for i in loop(0, x.shape[0]):
                y_1 = x[i] * 2.0
                y[i] = select(x[i] > 1.0, 1.0, y_1)
                z_1 = 0.0
                z[i] = x[i]
    """
    work = _StoreTracker(AliasInfo(kernel), FreshNames(kernel), advanced_accums(kernel))
    return map_blocks(kernel, work.block, vectors=False)


def without_dead_stores(kernel: Kernel, loop: Loop) -> Loop:
    """`loop`, which will be inserted into `kernel`, without dead stores in its body."""
    names = FreshNames(replace(kernel, body=(*kernel.body, loop)))
    work = _StoreTracker(AliasInfo(kernel), names, advanced_accums(loop), merges=False)
    body = work.alive(loop.body)
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
        stmts = self.alive(b.stmts)
        return b if stmts is b.stmts else replace(b, stmts=stmts)

    def alive(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        new = list(stmts)
        for k in range(len(new)):
            s, rest = new[k], new[k + 1 :]
            at = self.covered(s, rest) if isinstance(s, Store) else None
            if not isinstance(s, Store) or at is None:
                continue
            later = rest[at]
            assert isinstance(later, Store)
            value = Var(self.fresh.name(s.array), s.value.dtype)
            new[k] = Assign(value.name, s.value, span=s.span)
            if later.mask not in (None, s.mask):
                chosen = Call("select", (later.mask, later.value, value), value.dtype)
                new[k + 1 + at] = replace(later, value=chosen, mask=None)
        return stmts if all(a is b for a, b in zip(new, stmts, strict=True)) else tuple(new)

    def covered(self, s: Store, rest: Sequence[Stmt]) -> int | None:
        """The index in `rest` of the store that overwrites `s`, or is merged with it; else None."""
        moves = any(isinstance(n, Load) for e in s.index for n in walk(e))
        if moves or names_read(*s.index) & self.counts:
            return None
        joins = self.merges and s.mask is None
        for at, later in enumerate(rest):
            if self.sees(later, s.array):
                return None
            if isinstance(later, Store) and _same_element(s, later):
                return at if joins or later.mask in (None, s.mask) else None
            joins = joins and not self.memory.overlap((s.array,), arrays_written((later,)))
        return None

    def sees(self, s: Stmt, array: str) -> bool:
        """Whether `s` may read `array`, or leave the block early."""
        read = (a.array for a in accesses((s,)) if not a.is_write)
        leaves = any(isinstance(n, Break | Return) for n in walk(s))
        return leaves or self.memory.overlap((array,), read)


def _same_element(a: Store, b: Store) -> bool:
    return (a.array, a.index) == (b.array, b.index)
