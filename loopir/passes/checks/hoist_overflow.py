"""Overflow check hoisting (index-set splitting): most iterations of a histogram need no checks.

A loop that adds to elements of an array checks each addition. If the largest element is m, the
limit L, and an iteration adds at most d, then the first (L - m) / d iterations cannot overflow. The
loop is split there: the first part runs without checks. The maximum costs a pass over the array, so
it is computed only where the array is no longer than the loop.
"""
from __future__ import annotations

from functools import reduce
from typing import Any

from ...algebra.constant_folding import index_const, literal
from ...algebra.index_builder import (
    index_add,
    index_floordiv,
    index_max,
    index_min,
    index_mul,
    index_sub,
)
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import AliasInfo, arrays_written
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames
from ...ir_traversal import map_children, walk
from ...nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    Yield,
)
from ...statement_blocks import map_statements
from ..loop_splitting import can_split_loop, split_loop_at
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["hoist_overflow"]


def hoist_overflow(kernel: Kernel) -> Kernel:
    """Run the iterations that cannot overflow a counter array without overflow checks.

    This is done for a loop that adds constants to elements, each addition checked, and that stays
    scalar: a vector loop has cheap checks. The largest element m is computed first; with the limit
    L and at most d added an iteration, the first (L - m) / d iterations are safe, of several arrays
    the least number of these. Where the arrays have more elements than the loop has iterations, the
    search would cost more than the checks: no iteration counts as safe. Before::

        def k(b: i32[::1], h: mut(i32[::1])):
            disjoint(b, h)
            for i in loop(0, b.shape[0]):
                count = h[i64(b[i])]
                check(count <= i32(2147483646), "over")
                h[i64(b[i])] = count + i32(1)

    after::

        def k(b: i32[::1], h: mut(i32[::1])):
            disjoint(b, h)
            if h.shape[0] <= b.shape[0]:
                for h_1 in loop(0, h.shape[0], most=i32(0)):
                    most = step(max(most, h[h_1]))
                safe = give(min(b.shape[0], max(2147483646 - i64(most), 0)))
            else:
                safe = give(0)
            for i_1 in loop(0, safe):
                count_1 = h[i64(b[i_1])]
                h[i64(b[i_1])] = count_1 + i32(1)
            for i in loop(safe, b.shape[0]):
                count = h[i64(b[i])]
                check(count <= i32(2147483646), "over")
                h[i64(b[i])] = count + i32(1)
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)
    ranks = {p.name: p.rank or 0 for p in kernel.params}

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` split, if it is a scalar loop that increments elements."""
        is_scalar = isinstance(s, Loop) and vectorization_obstacle(s, kernel) is not None
        names = _incremented_arrays(s, memory) if isinstance(s, Loop) and is_scalar else ()
        if not isinstance(s, Loop) or not names:
            return s
        return _split_at_headroom(s, {name: ranks[name] for name in names}, fresh)

    return map_statements(kernel, edit, Loop)


# -- matching


def _incremented_arrays(loop: Loop, memory: AliasInfo) -> tuple[str, ...]:
    """The arrays whose elements `loop` only increments, with an overflow check each time."""
    if not can_split_loop(loop):
        return ()
    elements, nodes = _element_names(loop), (n for s in loop.body for n in walk(s))
    checked = (_checked_counter(c, elements) for c in nodes if isinstance(c, Check))
    names = {elements[c[0]] for c in checked if c is not None}
    written = arrays_written(loop.body)
    return tuple(
        name for name in sorted(names)
        if [a for a in written if memory.shared(a, name)] == [name]
        and _max_increment(loop, name, elements) is not None
    )


def _element_names(loop: Loop) -> dict[Expr, str]:
    """Expressions that are array elements, with their array: loads, and names of loads."""
    nodes = [n for s in loop.body for n in walk(s)]
    loaded_names = [n for n in nodes if isinstance(n, Assign) and isinstance(n.value, Load)]
    elements: dict[Expr, str] = {n: n.array for n in nodes if isinstance(n, Load)}
    elements |= {Var(n.name, n.value.dtype): elements[n.value] for n in loaded_names}
    return elements


def _checked_counter(s: Check, elements: dict[Expr, str]) -> tuple[Expr, int] | None:
    """The element (a key of `elements`) of which `s` checks that it does not overflow, and the
    greatest value that it allows; None if it is another check. A u64 has none: its limit does not
    fit in an i64.

        check(count <= 2147483646, "over")         count, 2147483646: of NumPy's scalars
        check(~add_over(count, 1), "replay")       count, 2 ** 63 - 2: of Python's ints
    """
    match s.cond:
        case Call("le", (element, Const(limit, dtype))) if s.code == "over":
            pass
        case Call("not", (Call("add_over", (element, Const(added, dtype))),)) if added > 0:
            limit = DTYPES[dtype].high - added
        case _:
            return None
    is_counter = element in elements and DTYPES[dtype].kind in "iu" and dtype != "u64"
    return (element, int(limit)) if is_counter and limit >= 0 else None


def _max_increment(loop: Loop, name: str, elements: dict[Expr, str]) -> int | None:
    """The most that an iteration adds to an element of `name`; None if it is unknown."""
    total = 0
    for n in (n for s in loop.body for n in walk(s) if isinstance(n, Store) and n.array == name):
        match n.value:
            case Call(op="add", args=(x, Const(value=increment))) if (
                elements.get(x) == name and increment > 0
            ):
                total += int(increment)
            case _:
                return None
    return total or None


# -- rewriting


def _split_at_headroom(
    loop: Loop, ranks: dict[str, int], fresh: FreshNames
) -> tuple[Stmt, ...]:
    """The search for the largest elements, the loop without checks, and the loop with checks.

    ``ranks``: of the arrays whose checks are dropped in the first loop.
    """
    assert isinstance(loop.range, Interval)
    elements, safe = _element_names(loop), Var(fresh.name("safe"), INDEX)
    limits: dict[str, int] = {}

    def without_checks(n: Any) -> Any:
        """`n` without the checks of these arrays; their limits are recorded."""
        counter = _checked_counter(n, elements) if isinstance(n, Check) else None
        if counter is None or elements[counter[0]] not in ranks:
            return map_children(n, without_checks)
        name, limit = elements[counter[0]], counter[1]
        limits[name] = min(limits.get(name, limit), limit)
        return ()

    loops = split_loop_at(loop, safe, without_checks, fresh)
    searches: list[Stmt] = []
    safe_end: Expr = loop.range.hi
    all_elements: Expr = index_const(0)
    for name, rank in ranks.items():
        dtype = next(n.dtype for n in elements if elements[n] == name)
        dims: list[Expr] = [Dim(name, k) for k in range(rank)]
        all_elements = index_add(all_elements, reduce(index_mul, dims))
        search, largest = _largest_element(name, dtype, rank, fresh)
        searches.append(search)
        headroom = index_sub(index_const(limits[name]), rewrite(Call("cast", (largest,), INDEX)))
        trips = index_floordiv(headroom, _max_increment(loop, name, elements) or 1)
        safe_end = index_min(safe_end, index_max(trips, 0))
    is_worthwhile = Call("le", (all_elements, loop.range.hi), "bool")
    ends = Yield(safe.name, safe_end, index_const(0))
    return If(is_worthwhile, tuple(searches), (), (ends,), span=loop.span), *loops


def _largest_element(name: str, dtype: str, rank: int, fresh: FreshNames) -> tuple[Stmt, Var]:
    """Nested loops over all elements, and the name of the maximum of these and 0. Each level
    continues the maximum of the level around it.
    """
    indices = [Var(fresh.name(name), INDEX) for _ in range(rank)]
    maxima = [Var(fresh.name("most"), dtype) for _ in range(rank)]
    step: Expr = Call("max", (maxima[-1], Load(name, tuple(indices), dtype)), dtype)
    body: tuple[Stmt, ...] = ()
    for axis in reversed(range(rank)):
        start = maxima[axis - 1] if axis else literal(0, dtype)
        acc = Accum(maxima[axis].name, start, step)
        interval = Interval(index_const(0), Dim(name, axis))
        body, step = (Loop(indices[axis].name, interval, body, (acc,)),), maxima[axis]
    return body[0], maxima[0]
