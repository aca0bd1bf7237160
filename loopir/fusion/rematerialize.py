"""Rematerialisation: a cheap element of a temporary array is computed again, not stored and loaded.

    for j: d[j] = x[j] - mu; q = step(q + d[j] * d[j])
    for j: out[j] = d[j] / s                            →    out[j] = (x[j] - mu) / s

Such loops are not joined, since ``s`` depends on the whole sum. `forward_stores` leaves the load in
the second one. It becomes the expression that the first one has stored, if that is a few additions,
and what it loads has not been written since: the same operation on the same operands gives the same
bits and float flags. (Register allocators rematerialise values in place of spilling them; Halide:
``compute_inline`` in place of ``compute_root``.)
"""
from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property, partial
from typing import Any

from ..analysis.integers.affine import AffineBindings, affine_form
from ..analysis.mod_ref import AliasInfo, arrays_read
from ..analysis.work_estimate import weight_of_calls
from ..dtypes import DTYPES
from ..ir_names import FreshNames, names_read
from ..ir_traversal import (
    advanced_accums,
    bottom_up,
    walk,
    walk_statements,
)
from ..lazy_dataclass import record, replace
from ..nodes import (
    Append,
    Assign,
    Expr,
    If,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Scan,
    Stmt,
    Store,
    Var,
)
from ..statement_blocks import Block, map_nested_blocks
from .iteration_domains import affine_bindings
from .stored_elements import Definition, Level, single_stores, store_levels

__all__ = ["rematerialize"]

_MAX_WEIGHT = 3.0
"""How much it may cost to compute an element again, in additions: about a store and a load."""


def rematerialize(kernel: Kernel, temporaries: Iterable[str], fresh: FreshNames) -> Kernel:
    """`kernel` without those of the `temporaries` whose elements it is cheaper to compute again;
    `contract_arrays` then removes the arrays. `fresh`: makes new names.

        for i in loop(0, n, q=0.0):                    for i in loop(0, n, q=0.0):
            t = x[i] - mu                                  t = x[i] - mu
            d[i] = t                                       q = step(q + t * t)
            q = step(q + t * t)                  →     s = sqrt(q)
        s = sqrt(q)                                    for i_1 in loop(0, n):
        for i_1 in loop(0, n):                             d_again = x[i_1] - mu
            out[i_1] = d[i_1] / s                          out[i_1] = d_again / s

    An array goes if

    - one store writes it, in all iterations of the loops that its subscripts name;
    - each load comes after the store, with its subscripts, in loops over the same ranges, and is
      evaluated in all their iterations (`Definition.at`, `_Uses.block`): the flags are the same;
    - what the value loads is not written in between (`_Uses.is_unchanged`);
    - the value is cheap (`_Uses.cheap_value`).
    """
    arrays = frozenset(temporaries) & arrays_read((kernel,))
    if not arrays:
        return kernel
    for store in single_stores(kernel):
        if store.array in arrays:
            kernel = _Rematerializer(kernel, store, fresh).kernel()
    return kernel


class _Rematerializer:
    """The rewriting of the loads of one array, to which only `store` stores."""

    def __init__(self, kernel: Kernel, store: Store, fresh: FreshNames) -> None:
        self.source, self.store, self.array, self.fresh = kernel, store, store.array, fresh
        self.params = {p.name: p for p in kernel.params}
        self.memory = AliasInfo(kernel)
        self.counts = advanced_accums(kernel)
        self.saved = 2 * DTYPES[store.value.dtype].bytes
        """Bytes an element that are not moved any more; a store first loads the line it writes."""

    @cached_property
    def bindings(self) -> AffineBindings:
        """The affine forms of the kernel's names, by which ranges are compared."""
        return affine_bindings(self.source)

    def kernel(self) -> Kernel:
        """The kernel without the array's loads and its store; as it was if a load must stay."""
        levels = store_levels(self.source.body, self.array)
        new = replace(self.source, body=self.rewritten(levels))
        if self.array in arrays_read((new,)) or self.saved < 0:
            return self.source
        operands = {name for x in levels if x.definition for name in x.definition.operands}
        return self.without_store(new, operands)

    def rewritten(self, levels: Iterable[Level]) -> tuple[Stmt, ...]:
        """The outermost block of `levels` with the loads after the store replaced in all of them.
        """
        inner: tuple[Stmt, ...] = ()
        new: tuple[Stmt, ...] = ()
        for level in levels:
            before, s = level.stmts[: level.place], level.stmts[level.place]
            s = map_nested_blocks(s, partial(_with_statements, old=inner, new=new))
            places = range(level.place + 1, len(level.stmts))
            later = (t for k in places for t in self.without_loads(level, k))
            inner, new = level.stmts, (*before, s, *later)
        return new

    def without_loads(self, level: Level, k: int) -> tuple[Stmt, ...]:
        """The statements that replace statement `k` of a block, which comes after the store; only
        itself where its loads may read other values, or not all of them are sure to be evaluated.
        """
        s, definition = level.stmts[k], level.definition
        if self.array not in arrays_read((s,)) or definition is None or level.may_end(k):
            return (s,)
        local = self.counts | level.local(k)
        names = names_read(definition.value) - {x.var for x in definition.loops}
        if names & local or self.memory.crosses(definition.value, level.stmts[level.place : k]):
            return (s,)
        return _Uses(self, definition, s, local).block(Block((s,)), ()).stmts

    def without_store(self, kernel: Kernel, operands: set[str]) -> Kernel:
        """`kernel` without the store, and without those of its `operands` that were computed for it
        alone: each load that was replaced now computes them.
        """
        kernel = _without(kernel, self.array, frozenset())
        while unread := operands - names_read(kernel):
            operands -= unread
            kernel = _without(kernel, self.array, unread)
        return kernel


@record(frozen=True, slots=True)
class _Uses:
    """The loads of the array in the statement `s`, which comes after the store in its block."""

    of: _Rematerializer
    definition: Definition
    s: Stmt
    local: frozenset[str]  # as in `Definition.at`

    def block(self, b: Block, loops: tuple[Loop, ...]) -> Block:
        """`b`, the body of the last of `loops`, with each load of the array replaced by a name, to
        which the value is assigned before. A load in a branch stays: there the value's operands
        might need a mask.
        """
        stmts: list[Stmt] = []
        names: dict[Load, Var] = {}

        def named(n: Any) -> Any:
            """The name for `n`, if it is a load of the array, and its value is known and cheap."""
            if not isinstance(n, Load) or n.array != self.of.array:
                return n
            if n not in names:
                value = self.cheap_value(n, loops)
                if value is None or not self.is_unchanged(value, loops, stmts):
                    return n
                names[n] = Var(self.of.fresh.name(f"{n.array}_again"), n.dtype)
                stmts.append(Assign(names[n].name, value, span=self.of.store.span))
            return names[n]

        for s in b.stmts:
            if isinstance(s, Loop) and s.until is None:
                stmts.append(map_nested_blocks(s, partial(self.block, loops=(*loops, s))))
            else:
                stmts.append(s if isinstance(s, (If, LoopLike)) else bottom_up(s, named))
        results = tuple(bottom_up(e, named) for e in b.results)
        return replace(b, stmts=tuple(stmts), results=results)

    def cheap_value(self, load: Load, loops: tuple[Loop, ...]) -> Expr | None:
        """The value of the element that `load` reads, inside `loops`; None if it is not known or
        not cheap. Cheap is a value of a few additions, whose loads walk through memory as `load`
        does, or stay where they are meanwhile::

            d[i, j] of x[i, j] - mu[i]    is cheap, if the last axis of d and x has unit stride
            d[i, j] of x[j, i], x[k[j]]   is not: another stride, and an index that is loaded

        `saved` is told how many bytes are loaded less; it gets negative if they are more than what
        the array would cost. What `s` loads anyway is not counted.
        """
        value = self.definition.at(load.index, loops, self.local, self.of.bindings)
        unit = self.of.params[load.array].unit
        if value is None or unit is None or weight_of_calls(value) > _MAX_WEIGHT:
            return None
        loads = {n for n in walk(value) if isinstance(n, Load)}
        fastest = load.index[unit]
        varying = {n for n in loads if names_read(fastest) & names_read(*n.index)}
        if not all(self.is_contiguous(n, fastest) for n in varying):
            return None
        known = arrays_read((self.s,))
        loaded = sum(DTYPES[n.dtype].bytes for n in varying if n.array not in known)
        self.of.saved += DTYPES[load.dtype].bytes - loaded
        return value

    def is_contiguous(self, load: Load, fastest: Expr) -> bool:
        """Whether `load` walks through memory by steps of one element, as `fastest` does, a
        subscript of an axis with unit stride.
        """
        axis = self.of.params[load.array].unit
        if axis is None:
            return False
        forms = affine_form(load.index[axis]), affine_form(fastest)
        others = (e for k, e in enumerate(load.index) if k != axis)
        return (
            forms[0] is not None
            and forms[1] is not None
            and (forms[0] - forms[1]).number is not None
            and names_read(fastest).isdisjoint(names_read(*others))
        )

    def is_unchanged(self, value: Expr, loops: tuple[Loop, ...], before: list[Stmt]) -> bool:
        """Whether the elements that `value` loads in the body of the last of `loops`, after the
        statements `before`, have not been written yet in `s`. Another statement may write them in
        the same iteration: it has their subscripts, which name the variables of all loops.

            for j: x[i, j] = d[i, j] / s      x[i, j] - mu may be computed in place of d[i, j]
        """
        memory = self.of.memory
        if memory.crosses(value, before):
            return False
        variables = {x.var for x in loops}
        loads = [n for n in walk(value) if isinstance(n, Load)]
        return all(
            isinstance(w, Store)
            and w.index == n.index
            and variables <= {e.name for e in w.index if isinstance(e, Var)}
            for w in walk_statements(self.s)
            if isinstance(w, (Store, Append, Scan))
            for n in loads
            if memory.shared(w.array, n.array)
        )


def _without(kernel: Kernel, array: str, names: Collection[str]) -> Kernel:
    """`kernel` without the stores to `array`, the assignments to `names`, and without loops that
    are then empty.
    """

    def kept(n: Any) -> Any:
        """`n`, or nothing in its place."""
        match n:
            case Store(array=stored) if stored == array:
                return ()
            case Assign(name=name) if name in names:
                return ()
            case Loop(body=(), accs=(), until=None):
                return ()
        return n

    new: Kernel = bottom_up(kernel, kept)
    return new


def _with_statements(b: Block, old: tuple[Stmt, ...], new: tuple[Stmt, ...]) -> Block:
    """The block `b`, with the statements `new` if it has the statements `old`."""
    return replace(b, stmts=new) if b.stmts is old else b
