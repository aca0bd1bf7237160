"""Conditional stores: a store in a branch that the same block overwrites becomes a value."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from ...algebra.may_raise import is_overflow_check
from ...algebra.rewrite_rules import select_to_extremum
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, bound_names, names_read
from ...ir_traversal import advanced_accums, bottom_up, walk
from ...lazy_dataclass import record, replace
from ...nodes import Assign, Call, Check, If, Kernel, Load, Stmt, Store, Var, Yield
from ...statement_blocks import Block, map_blocks

__all__ = ["conditional_stores"]


def conditional_stores(kernel: Kernel) -> Kernel:
    """Replace a store in a branch by a value that the branch yields, if the same block stores to
    that element afterwards, whatever the condition is: the element exists, and is stored anyway.
    Loads of it in between read the value; an extremum needs no branch then.
    `_Merger.overwriting_store` decides. Before::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0] - 1):
                if y[i] < y[i + 1]:
                    y[i + 1] = y[i]
                y[i + 1] = y[i + 1] + x[i]

    after::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0] - 1):
                y_1 = min(y[i + 1], y[i])
                y[i + 1] = y_1 + x[i]

    A kernel that stops at a failed check is not changed.
    """
    if kernel.stops:
        return kernel
    merger = _Merger(AliasInfo(kernel), FreshNames(kernel), advanced_accums(kernel))
    return map_blocks(kernel, merger.block, vectors=False)


@record(frozen=True, slots=True)
class _Merger:
    """Merges stores of blocks. ``counts``: names whose value changes at an append."""

    memory: AliasInfo
    fresh: FreshNames
    counts: frozenset[str]

    def block(self, b: Block) -> Block:
        """`b` with its conditional stores merged."""
        stmts = list(b.stmts)
        for k, s in enumerate(b.stmts):
            for store in _last_stores(s) if isinstance(s, If) else ():
                branch = stmts[k]
                assert isinstance(branch, If)
                last = self.overwriting_store(branch, store, stmts[k + 1 :])
                if last is None:
                    continue
                value = Var(self.fresh.name(store.array), store.value.dtype)
                element = Load(store.array, store.index, value.dtype)
                places, yields = range(k + 1, k + 2 + last), branch.yields
                if any(n == element for j in places for n in walk(stmts[j])):
                    yields = (*yields, Yield(value.name, store.value, element))
                then = tuple(x for x in branch.then if x is not store)
                stmts[k] = replace(branch, then=then, yields=yields)
                for j in places:
                    stmts[j] = _with_value(stmts[j], element, value)
        stmts = [x for s in stmts for x in _as_extrema(s)]
        return b if tuple(stmts) == b.stmts else replace(b, stmts=tuple(stmts))

    def overwriting_store(self, branch: If, store: Store, rest: Sequence[Stmt]) -> int | None:
        """The index in `rest`, the statements after `branch`, of the store that overwrites the
        element of `store` at its end; None if

        - the subscripts do not mean the same in both places, or the branch has another store that
          may change the element, or what is stored;
        - something in between may read or write the element by another name, or is anything but an
          assignment, a store or a check of overflow: another one may tell that the element exists.
        """
        names = names_read(*store.index)
        if names & (bound_names(*branch.then) | self.counts) or arrays_read(store.index):
            return None
        others = arrays_written([x for x in (*branch.then, *branch.orelse) if x is not store])
        if self.memory.overlap(others, (store.array, *arrays_read((store.value,)))):
            return None
        for k, s in enumerate(rest):
            if not isinstance(s, Assign | Store) and not _is_of_overflow(s):
                return None
            if isinstance(s, Store) and s.mask is not None:
                return None
            loads = [n for n in walk(s) if isinstance(n, Load) and self.meets(n.array, store)]
            if any(not _is_same(n, store) and not _is_apart(n, store) for n in loads):
                return None
            if isinstance(s, Store) and self.meets(s.array, store):
                if _is_same(s, store):
                    return k
                if not _is_apart(s, store):
                    return None
        return None

    def meets(self, array: str, store: Store) -> bool:
        """Whether `array` may share memory with that of `store`."""
        return self.memory.overlap((array,), (store.array,))


def _is_of_overflow(s: Stmt) -> bool:
    """Whether `s` only checks that a number does not overflow."""
    return isinstance(s, Check) and is_overflow_check(s)


def _last_stores(s: If) -> list[Store]:
    """The stores at the end of the first side of `s`."""
    stores = takewhile(lambda x: isinstance(x, Store) and x.mask is None, reversed(s.then))
    return [x for x in stores if isinstance(x, Store)][::-1]


def _as_extrema(s: Stmt) -> tuple[Stmt, ...]:
    """`s`, if it is a branch that only yields extrema of what it compares, as assignments::

        if y[i] < y[j]: t = give(y[i])
        else: t = give(y[j])                  →    t = min(y[j], y[i])
    """
    if not isinstance(s, If) or s.then or s.orelse or not s.yields:
        return (s,)  # one that is empty now, too: `simplify` knows whether its condition raises
    extrema = [
        select_to_extremum(Call("select", (s.cond, y.then, y.orelse), y.then.dtype))
        for y in s.yields
    ]
    pairs = zip(s.yields, extrema, strict=True)
    assigned = tuple(Assign(y.name, e, span=s.span) for y, e in pairs if e is not None)
    return assigned if len(assigned) == len(s.yields) else (s,)


def _is_same(a: Load | Store, b: Store) -> bool:
    """Whether both are of one element of one array."""
    return (a.array, a.index) == (b.array, b.index)


def _is_apart(a: Load | Store, b: Store) -> bool:
    """Whether both are of one array, with subscripts that differ by a number along an axis."""
    if a.array != b.array:
        return False
    for x, y in zip(a.index, b.index, strict=True):
        p, q = affine_form(x), affine_form(y)
        if p is not None and q is not None and (p - q).number not in (None, 0):
            return True
    return False


def _with_value(s: Stmt, element: Load, value: Var) -> Any:
    """`s` with loads of `element` replaced by its `value`."""
    return bottom_up(s, lambda n: value if n == element else n)
