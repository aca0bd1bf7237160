"""Room: elements that a loop only counts up are watched where they may run out of numbers, only."""
from __future__ import annotations

from functools import reduce
from typing import Any

from ..algebra.index import least, minus, most, over, times
from ..algebra.rules import rewrite
from ..algebra.values import integer, literal
from ..analysis.memory import Memory, written
from ..names import Fresh
from ..nodes import (
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
from ..tree import map_children, walk
from ..types import DTYPES, INDEX
from .blocks import map_stmts
from .divide import divide, is_divisible
from .legality import explain

__all__ = ["room"]


def room(kernel: Kernel) -> Kernel:
    """A scalar loop that adds constants to elements asks for the largest first, where they are no
    more than its iterations: as many as that has room for need no check of each sum. Before::

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
    memory, fresh = Memory(kernel), Fresh(kernel)
    ranks = {p.name: p.rank or 0 for p in kernel.params}

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        is_scalar = isinstance(s, Loop) and explain(s, kernel) is not None
        name = _counted(s, memory) if isinstance(s, Loop) and is_scalar else None
        return _divided(s, name, ranks[name], fresh) if isinstance(s, Loop) and name else s

    return map_stmts(kernel, edit)


# -- what is counted


def _counted(loop: Loop, memory: Memory) -> str | None:
    """The array whose elements `loop` only counts up, with a check each time."""
    if not is_divisible(loop):
        return None
    elements, nodes = _elements(loop), (n for s in loop.body for n in walk(s))
    checked = [c for c in nodes if isinstance(c, Check) and _limit(c, elements) is not None]
    names = {elements[c.cond.args[0]] for c in checked if isinstance(c.cond, Call)}
    for name in sorted(names):
        shared = [a for a in written(loop.body) if memory.shared(a, name)]
        if shared == [name] and _steps(loop, name, elements) is not None:
            return name
    return None


def _elements(loop: Loop) -> dict[Expr, str]:
    """Expressions that are elements of arrays: loads, and names of them."""
    nodes = [n for s in loop.body for n in walk(s)]
    named = [n for n in nodes if isinstance(n, Assign) and isinstance(n.value, Load)]
    found: dict[Expr, str] = {n: n.array for n in nodes if isinstance(n, Load)}
    found |= {Var(n.name, n.value.dtype): found[n.value] for n in named}
    return found


def _limit(s: Check, elements: dict[Expr, str]) -> int | None:
    """The number that an element is held against."""
    match s.cond:
        case Call(op="le", args=(element, Const(value=limit, dtype=dtype))) if element in elements:
            small = s.code == "over" and DTYPES[dtype].kind in "iu" and dtype != "u64"
            return int(limit) if small and limit >= 0 else None
        case _:
            return None


def _steps(loop: Loop, name: str, elements: dict[Expr, str]) -> int | None:
    """What an iteration adds to an element of `name` at most; None where that is not known."""
    total = 0
    for n in (n for s in loop.body for n in walk(s) if isinstance(n, Store) and n.array == name):
        match n.value:
            case Call(op="add", args=(x, Const(value=by))) if elements.get(x) == name and by > 0:
                total += int(by)
            case _:
                return None
    return total or None


# -- the two loops


def _divided(loop: Loop, name: str, rank: int, fresh: Fresh) -> tuple[Stmt, ...]:
    """What asks for the largest element, and both loops."""
    assert isinstance(loop.range, Interval)
    elements, safe = _elements(loop), Var(fresh.name("safe"), INDEX)
    limits: list[int] = []

    def trusted(n: Any) -> Any:
        limit = _limit(n, elements) if isinstance(n, Check) else None
        if limit is None or elements[n.cond.args[0]] != name:
            return map_children(n, trusted)
        limits.append(limit)
        return ()

    both = divide(loop, safe, trusted, fresh)
    dtype = next(n.dtype for n in elements if elements[n] == name)
    dims: list[Expr] = [Dim(name, k) for k in range(rank)]
    size = reduce(times, dims)
    search, largest = _largest(name, dtype, rank, fresh)
    left = minus(integer(min(limits)), rewrite(Call("cast", (largest,), INDEX)))
    turns = most(over(left, _steps(loop, name, elements) or 1), 0)
    fits = least(loop.range.hi, turns)
    asks = Call("le", (size, loop.range.hi), "bool")
    asked = If(asks, (search,), (), (Yield(safe.name, fits, integer(0)),), span=loop.span)
    return asked, *both


def _largest(name: str, dtype: str, rank: int, fresh: Fresh) -> tuple[Stmt, Var]:
    """Loops over all elements, and the name of the largest of them and zero."""
    places = [Var(fresh.name(name), INDEX) for _ in range(rank)]
    most = [Var(fresh.name("most"), dtype) for _ in range(rank)]
    step: Expr = Call("max", (most[-1], Load(name, tuple(places), dtype)), dtype)
    body: tuple[Stmt, ...] = ()
    for axis in reversed(range(rank)):
        start = most[axis - 1] if axis else literal(0, dtype)
        acc = Accum(most[axis].name, start, step)
        rng = Interval(integer(0), Dim(name, axis))
        body, step = (Loop(places[axis].name, rng, body, (acc,)),), most[axis]
    return body[0], most[0]
