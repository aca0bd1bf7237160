"""Cache blocking with packing: long sums of a matrix product (gemm) run in strips for all rows.

This is the loop structure of GotoBLAS: the operands that all rows share in a strip (a panel) are
copied once, contiguously, and stay in the L2 cache while every row uses them. `_match_sum_nest`
recognises the nest, `_is_legal` decides, `_CacheBlocking` rewrites. Between two strips the partial
sums are in memory; their order is unchanged. Only the sum loop (the k of gemm) is blocked: columns
are the lanes of the enclosing vector loop, and all rows run over each strip. Only nests of sums are
blocked, here and in `block_rows`: a map over two axes runs row by row.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_add, index_max, is_nonempty
from ...analysis.mod_ref import AliasInfo
from ...analysis.uniformity import Uniformity, first_lane_code
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, substitute
from ...ir_traversal import bottom_up, counted_range, map_children, range_bounds, walk
from ...lazy_dataclass import record, replace
from ...machine_model import DEFAULT_MACHINE, Machine, best_register_tile, strip_length
from ...nodes import (
    Accum,
    Assign,
    Broadcast,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    Range,
    Stmt,
    Store,
    Var,
    VecLoop,
)
from ..loop_splitting import max_trips_of_strip, strip_mine
from ..vector.vectorize_outer import can_run_in_lockstep
from ..vector.widen import WIDTH

__all__ = ["block_cache"]


def block_cache(kernel: Kernel, *, machine: Machine = DEFAULT_MACHINE) -> Kernel:
    """Split the sums of a matrix product into strips, and run one strip for all rows before the
    next. What all rows load in a strip is first packed into a local array (a panel), which is
    contiguous and stays in the L2 cache while every row uses it.

    This is done for sums that may be longer than one strip (`_CacheBlocking.is_long`), since a
    panel is copied for each strip. Each sum continues from memory, in Python's order, so its bits
    do not change. Before::

        def k(n: i64, a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for j in vec(0, n, width=W):
                for i in loop(0, n):
                    for k in loop(0, n, s=c[i, j:W]):
                        s = step(s + broadcast(a[i, k], W) * b[k, j:W])
                    c[i, j:W] = s

    after::

        def k(n: i64, a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for j in vec(0, n, width=W):
                if 0 < n:
                    b_1 = local(f64, 1024, W)
                    for k_1 in loop(range(0, max(n, 1), 1024)):
                        for k_2 in loop(k_1, min(k_1 + 1024, n)):
                            b_1[k_2 - k_1, 0:W] = b[k_2, j:W]
                        for i in loop(0, n):
                            for k in loop(k_1, min(k_1 + 1024, n), s=c[i, j:W]):
                                s = step(s + broadcast(a[i, k], W) * b_1[k - k_1, 0:W])
                            c[i, j:W] = s
    """
    if kernel.stops:  # stores would come before checks of earlier rows: see `Kernel`
        return kernel
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def block_nest(n: Any) -> Any:
        """`n` blocked if it is a nest where that is legal and the sum is long; else with the nests
        in it. Loops in a loop are not searched: their panels would be packed in each iteration.
        """
        if isinstance(n, Loop):
            nest = _match_sum_nest(n)
            if nest and _is_legal(nest, memory, kernel):
                work = _CacheBlocking(nest, machine, fresh)
                return work.stmt() if work.is_long else n
        return map_children(n, block_nest) if isinstance(n, VecLoop | If) else n

    def block_in_vector_loops(n: Any) -> Any:
        """`n` with the nests inside its outermost vector loops blocked: only there are the sums
        vectors of columns, which share what they load.
        """
        return block_nest(n) if isinstance(n, VecLoop) else map_children(n, block_in_vector_loops)

    return map_children(
        kernel, lambda n: block_in_vector_loops(n) if isinstance(n, _ENCLOSING) else n
    )


_ENCLOSING = (Loop, VecLoop, If)


@record(frozen=True, slots=True)
class _SumNest:
    """A loop over rows that computes sums and stores each of them."""

    rows: Loop  # its body: `before`, `sum_loop`, and the stores
    sum_loop: Loop
    conditions: tuple[Expr, ...]  # of branches between the loop over rows and its body; all hold
    before: tuple[Assign, ...]
    store_of: dict[str, Store]  # where each accumulator is stored after `sum_loop`, by its name

    def shared_loads(self) -> list[Load]:
        """The vectors that `sum_loop` loads in each iteration, the same for all rows."""
        varying = Uniformity(first_lane_code(self.rows))
        row_names = bound_names(self.rows) - {self.sum_loop.var}
        nodes = walk(self.sum_loop)
        loads = dict.fromkeys(n for n in nodes if isinstance(n, Load) and n.lanes != 1)
        return [
            n for n in loads
            if not varying.varies(*n.index)
            and not row_names & names_read(*n.index)
            and self.sum_loop.var in names_read(*n.index)
        ]

    def initial_value(self, name: str) -> Expr:
        """The value that the accumulator `name` starts with. Where that is a name that is used for
        nothing else, the value assigned to it, so that a load of the stored element is recognised.
        """
        init = next(a.init for a in self.sum_loop.accs if a.name == name)
        if not isinstance(init, Var) or sum(n == init for n in walk(self.rows)) > 1:
            return init
        return next((s.value for s in self.before if s.name == init.name), init)


def _match_sum_nest(rows: Loop) -> _SumNest | None:
    """`rows` as a _SumNest; None if it is not one.

    Required: no accumulators or exit of its own, exactly one inner counted loop whose accumulators
    are all vectors, only assignments around and inside it, and after it one unmasked store of each
    accumulator, in order, and nothing else.
    """
    body, conditions = rows.body, []
    while len(body) == 1 and isinstance(body[0], If) and not (body[0].orelse or body[0].yields):
        conditions.append(body[0].cond)
        body = body[0].then
    position = next((k for k, s in enumerate(body) if isinstance(s, Loop)), None)
    if position is None or rows.accs or rows.until is not None:
        return None
    before, sum_loop, after = body[:position], body[position], body[position + 1 :]
    assert isinstance(sum_loop, Loop)
    is_counted = counted_range(sum_loop) is not None
    only_assigns = all(isinstance(s, Assign) for s in (*before, *sum_loop.body))
    sums_vectors = bool(sum_loop.accs) and all(a.init.lanes != 1 for a in sum_loop.accs)
    store_of = {
        s.value.name: s for s in after
        if isinstance(s, Store) and isinstance(s.value, Var) and s.mask is None
    }
    stores_all = list(store_of) == [a.name for a in sum_loop.accs] and len(after) == len(store_of)
    if not (is_counted and only_assigns and sums_vectors and stores_all):
        return None
    rows = replace(rows, body=body)
    return _SumNest(rows, sum_loop, tuple(conditions), before, store_of)  # type: ignore[arg-type]  # Assigns


def _is_legal(n: _SumNest, memory: AliasInfo, kernel: Kernel) -> bool:
    """Whether the nest may be blocked. All of this must hold:

    - the range of the sums, and the conditions around them, are the same for all rows;
    - there are loads that all rows share, else blocking would gain nothing;
    - rows may be interleaved (`can_run_in_lockstep`);
    - only the nest's own stores, and loads of initial values from the same elements, access the
      partial sums, which are in memory between two strips.
    """
    assert isinstance(n.sum_loop.range, Interval)
    if bound_names(n.rows) & names_read(n.sum_loop.range, *n.conditions) or not n.shared_loads():
        return False
    # Two rows are enough: they are only interleaved, not run in lanes.
    if not can_run_in_lockstep(first_lane_code(n.rows), kernel, min_trips=2):
        return False
    stores = Counter(s.array for s in n.store_of.values())
    loads = [x for part in (n.rows, *n.conditions) for x in walk(part) if isinstance(x, Load)]
    for name, store in n.store_of.items():
        if n.initial_value(name) == _stored_value(store):
            loads.remove(_stored_value(store))
    accessed = [*(x.array for x in loads), *stores]
    return all(accessed.count(a) == 1 for a in stores) and not any(
        a != b and memory.shared(a, b) for a in stores for b in accessed
    )


def _stored_value(s: Store) -> Load:
    """A load of the element that `s` stores to."""
    return Load(s.array, s.index, s.value.dtype, s.value.lanes, s.axis, s.step)


class _CacheBlocking:
    """The rewriting of one nest. ``length``: iterations of a strip, by the L2 cache; ``strip``: the
    first iteration of the current one; ``panels``: the local array for each packed load.
    """

    def __init__(self, nest: _SumNest, machine: Machine, fresh: FreshNames) -> None:
        self.nest, self.fresh = nest, fresh
        self.panels = {n: fresh.name(n.array) for n in nest.shared_loads()}
        tile = best_register_tile(machine, len(nest.sum_loop.accs))
        iteration_bytes = tile.columns * len(self.panels) * machine.bytes
        self.length = strip_length(machine.caches[1], iteration_bytes)
        self.strip = Var(fresh.name(nest.sum_loop.var), INDEX)

    @property
    def is_long(self) -> bool:
        """Whether the sums may be longer than one strip."""
        assert isinstance(self.nest.sum_loop.range, Interval)
        count = max_trips_of_strip(self.nest.sum_loop.range)
        return count is None or count > self.length

    def stmt(self) -> Stmt:
        """The panels, and the loop over strips around packing and rows, in branches that test the
        conditions of the nest and that there are rows. The loop over strips runs at least once, so
        that a sum without terms is stored.
        """
        sum_loop, rows = self.nest.sum_loop, self.nest.rows
        assert isinstance(sum_loop.range, Interval)
        assert isinstance(rows.range, Interval)
        lo, hi = sum_loop.range.lo, sum_loop.range.hi
        nonempty_end = index_max(hi, index_add(lo, 1))
        strips, strip_range = strip_mine(sum_loop.range, self.length, self.strip)
        strips = replace(strips, end=nonempty_end)
        body = (*self.packed(strip_range), self.rows_over_strip(strip_range))
        locals_ = [Local(p, n.dtype, self.length, WIDTH) for n, p in self.panels.items()]
        loop = Loop(self.strip.name, strips, body, span=sum_loop.span)
        statements: tuple[Stmt, ...] = (*locals_, loop)
        for cond in (*reversed(self.nest.conditions), is_nonempty(rows.range)):
            statements = (If(cond, statements, span=rows.span),)
        return statements[0]

    def packed(self, strip: Range) -> Iterator[Loop]:
        """Loops that copy the strip's operands into the panels."""
        var = self.nest.sum_loop.var
        for load, panel in self.panels.items():
            k = Var(self.fresh.name(var), INDEX)
            store = Store(panel, self.place_in_panel(k), substitute(load, {var: k}), axis=1)
            yield Loop(k.name, strip, (store,))

    def place_in_panel(self, k: Var) -> tuple[Expr, Expr]:
        """The subscripts, in a panel, of the vector that iteration `k` of the sum loop loads."""
        return Call("sub", (k, self.strip), INDEX), index_const(0)

    def rows_over_strip(self, strip: Range) -> Loop:
        """The loop over rows, with the sum loop over this strip only, continuing its sums."""
        nest = self.nest
        lo, _ = range_bounds(nest.sum_loop.range)
        is_later_strip = Broadcast(Call("lt", (lo, self.strip), "bool"), WIDTH)

        def from_panel(n: Any) -> Any:
            """A packed load, from its panel."""
            if not isinstance(n, Load) or n not in self.panels:
                return n
            place = self.place_in_panel(Var(nest.sum_loop.var, INDEX))
            return Load(self.panels[n], place, n.dtype, n.lanes, axis=1)

        def with_initial_value(a: Accum) -> Accum:
            """The accumulator: in the first strip it starts as before, in later ones from memory.
            """
            stored = _stored_value(nest.store_of[a.name])
            if nest.initial_value(a.name) == stored:
                return a
            init = Call("select", (is_later_strip, stored, a.init), stored.dtype, stored.lanes)
            return replace(a, init=init)

        sum_loop = bottom_up(nest.sum_loop, from_panel)
        accs = tuple(with_initial_value(a) for a in sum_loop.accs)
        sum_loop = replace(sum_loop, range=strip, accs=accs)
        body = tuple(sum_loop if s is nest.sum_loop else s for s in nest.rows.body)
        return replace(nest.rows, body=body)
