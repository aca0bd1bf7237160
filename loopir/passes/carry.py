"""What the iteration before has stored is carried in a name, not read back from memory."""
from __future__ import annotations

from dataclasses import replace

from ..algebra.index import minus, runs
from ..algebra.rules import rewrite
from ..analysis.affine import affine
from ..analysis.memory import Memory
from ..names import Fresh, reads, substitute
from ..nodes import (
    Accum,
    Assign,
    Check,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
)
from ..tree import bottom_up, walk
from ..types import INDEX
from .blocks import map_stmts

__all__ = ["carry"]


def carry(kernel: Kernel) -> Kernel:
    """A load of the element that the iteration before has stored becomes an accumulator. Before::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0] - 1):
                y[i + 1] = y[i] + x[i + 1]

    after::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            if 0 < x.shape[0] - 1:
                y_1 = y[0]
                for i in loop(0, x.shape[0] - 1, y_2=y_1):
                    y_3 = y_2 + x[i + 1]
                    y[i + 1] = y_3
                    y_2 = step(y_3)
    """
    memory, fresh = Memory(kernel), Fresh(kernel)

    def edit(s: Stmt) -> Stmt:
        found = _found(s, memory) if isinstance(s, Loop) else None
        return _carried(s, *found, fresh) if isinstance(s, Loop) and found else s

    return map_stmts(kernel, edit)


def _found(loop: Loop, memory: Memory) -> tuple[Store, Load] | None:
    """A store of every iteration, and a load of what it has stored in the one before."""
    plain = all(isinstance(s, Assign | Check | Store) for s in loop.body)
    if not plain or loop.accs or loop.until or not isinstance(loop.range, Interval):
        return None
    stores = [s for s in loop.body if isinstance(s, Store)]
    for store in stores:
        alone = sum(memory.shared(s.array, store.array) for s in stores) == 1
        if not alone or store.mask is not None or _varies(store.index, loop):
            continue
        loads = [n for s in loop.body for n in walk(s) if isinstance(n, Load)]
        ahead = [n for n in loads if n.array == store.array and _is_previous(store, n, loop.var)]
        if ahead:
            return store, ahead[0]
    return None


def _varies(index: tuple[Expr, ...], loop: Loop) -> bool:
    """Whether subscripts depend on more than the loop variable and what is fixed in the loop."""
    own = {s.name for s in loop.body if isinstance(s, Assign)}
    return any(reads(e) & own or any(isinstance(n, Load) for n in walk(e)) for e in index)


def _is_previous(store: Store, load: Load, var: str) -> bool:
    """Whether `load` reads what `store` has written one iteration ago, and not in this one."""
    before = {var: minus(Var(var, INDEX), 1)}
    pairs = list(zip(store.index, load.index, strict=True))
    forms = [(affine(substitute(a, before), (var,)), affine(b, (var,))) for a, b in pairs]
    moves = [affine(a, (var,)) for a, _ in pairs]
    same = all(a is not None and a == b for a, b in forms)
    return same and any(m is not None and m.coefficient(var) for m in moves)


def _carried(loop: Loop, store: Store, load: Load, fresh: Fresh) -> If:
    assert isinstance(loop.range, Interval)
    dtype = load.dtype
    first, acc, now = (Var(fresh.name(load.array), dtype) for _ in range(3))
    held = (load.array, load.index)

    def named(n: object) -> object:
        return acc if isinstance(n, Load) and (n.array, n.index) == held else n

    body: list[Stmt] = []
    for s in loop.body:
        new = bottom_up(s, named)
        if s is store:
            body += [Assign(now.name, new.value, span=s.span), replace(new, value=now)]
        else:
            body.append(new)
    at_start = (substitute(e, {loop.var: loop.range.lo}) for e in load.index)
    start = tuple(bottom_up(e, rewrite) for e in at_start)
    before = Assign(first.name, replace(load, index=start))
    accs = (Accum(acc.name, first, now, span=store.span),)
    carried = replace(loop, body=tuple(body), accs=accs)
    return If(runs(loop.range), (before, carried), span=loop.span)
