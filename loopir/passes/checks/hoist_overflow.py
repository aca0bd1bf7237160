"""Overflow check hoisting (guard widening): counters are checked only near their largest value."""
from __future__ import annotations

from functools import reduce
from typing import Any

from ...algebra.constant_folding import index_const, literal
from ...algebra.index_builder import index_floordiv, index_max, index_min, index_mul, index_sub
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

    For a scalar loop that adds constants to elements. The largest element is computed first, where
    the array has at most as many elements as the loop has iterations; its distance to the limit
    gives the number of safe iterations. Before::

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
        is_scalar = isinstance(s, Loop) and vectorization_obstacle(s, kernel) is not None
        name = _incremented_array(s, memory) if isinstance(s, Loop) and is_scalar else None
        return (
            _split_at_headroom(s, name, ranks[name], fresh) if isinstance(s, Loop) and name else s
        )

    return map_statements(kernel, edit, Loop)


# -- matching


def _incremented_array(loop: Loop, memory: AliasInfo) -> str | None:
    """The array whose elements `loop` only increments, with an overflow check each time; or None.
    """
    if not can_split_loop(loop):
        return None
    elements, nodes = _element_names(loop), (n for s in loop.body for n in walk(s))
    checked = [c for c in nodes if isinstance(c, Check) and _checked_limit(c, elements) is not None]
    names = {elements[c.cond.args[0]] for c in checked if isinstance(c.cond, Call)}
    for name in sorted(names):
        shared = [a for a in arrays_written(loop.body) if memory.shared(a, name)]
        if shared == [name] and _max_increment(loop, name, elements) is not None:
            return name
    return None


def _element_names(loop: Loop) -> dict[Expr, str]:
    """Expressions that are array elements, with their array: loads, and names of loads."""
    nodes = [n for s in loop.body for n in walk(s)]
    named = [n for n in nodes if isinstance(n, Assign) and isinstance(n.value, Load)]
    found: dict[Expr, str] = {n: n.array for n in nodes if isinstance(n, Load)}
    found |= {Var(n.name, n.value.dtype): found[n.value] for n in named}
    return found


def _checked_limit(s: Check, elements: dict[Expr, str]) -> int | None:
    """The constant that an element is checked against, else None."""
    match s.cond:
        case Call(op="le", args=(element, Const(value=limit, dtype=dtype))) if element in elements:
            small = s.code == "over" and DTYPES[dtype].kind in "iu" and dtype != "u64"
            return int(limit) if small and limit >= 0 else None
        case _:
            return None


def _max_increment(loop: Loop, name: str, elements: dict[Expr, str]) -> int | None:
    """The most that an iteration adds to an element of `name`; None if it is unknown."""
    total = 0
    for n in (n for s in loop.body for n in walk(s) if isinstance(n, Store) and n.array == name):
        match n.value:
            case Call(op="add", args=(x, Const(value=by))) if elements.get(x) == name and by > 0:
                total += int(by)
            case _:
                return None
    return total or None


# -- rewriting


def _split_at_headroom(loop: Loop, name: str, rank: int, fresh: FreshNames) -> tuple[Stmt, ...]:
    """The search for the largest element, the loop without checks, and the loop with checks."""
    assert isinstance(loop.range, Interval)
    elements, safe = _element_names(loop), Var(fresh.name("safe"), INDEX)
    limits: list[int] = []

    def trusted(n: Any) -> Any:
        limit = _checked_limit(n, elements) if isinstance(n, Check) else None
        if limit is None or elements[n.cond.args[0]] != name:
            return map_children(n, trusted)
        limits.append(limit)
        return ()

    both = split_loop_at(loop, safe, trusted, fresh)
    dtype = next(n.dtype for n in elements if elements[n] == name)
    dims: list[Expr] = [Dim(name, k) for k in range(rank)]
    size = reduce(index_mul, dims)
    search, largest = _largest_element(name, dtype, rank, fresh)
    left = index_sub(index_const(min(limits)), rewrite(Call("cast", (largest,), INDEX)))
    turns = index_max(index_floordiv(left, _max_increment(loop, name, elements) or 1), 0)
    fits = index_min(loop.range.hi, turns)
    asks = Call("le", (size, loop.range.hi), "bool")
    guard = If(asks, (search,), (), (Yield(safe.name, fits, index_const(0)),), span=loop.span)
    return guard, *both


def _largest_element(name: str, dtype: str, rank: int, fresh: FreshNames) -> tuple[Stmt, Var]:
    """Loops over all elements, and the name of the maximum of these and 0."""
    places = [Var(fresh.name(name), INDEX) for _ in range(rank)]
    most = [Var(fresh.name("most"), dtype) for _ in range(rank)]
    step: Expr = Call("max", (most[-1], Load(name, tuple(places), dtype)), dtype)
    body: tuple[Stmt, ...] = ()
    for axis in reversed(range(rank)):
        start = most[axis - 1] if axis else literal(0, dtype)
        acc = Accum(most[axis].name, start, step)
        rng = Interval(index_const(0), Dim(name, axis))
        body, step = (Loop(places[axis].name, rng, body, (acc,)),), most[axis]
    return body[0], most[0]
