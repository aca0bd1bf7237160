"""Lane narrowing: counters of divergent loops are as narrow as the floats beside them.

`WhileBounds` bounds how far each 64-bit lane value grows in n iterations of the ``while``, and so
the number of iterations for which 32 bits suffice. It is compared with the counted exit of the
``while``, at compile time or, by a version of the loop, at run time. With 64-bit counters a
register would hold half as many lanes.
"""
from __future__ import annotations

from collections import Counter
from typing import Any

from ...algebra.constant_folding import fold_constants, index_const
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.while_bounds import WhileBounds
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames
from ...ir_traversal import bottom_up, children, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    If,
    Kernel,
    Node,
    Stmt,
    Var,
    VecLoop,
    While,
)
from ...statement_blocks import map_statements

__all__ = ["narrow_lanes"]

_NARROW_DTYPE = "i32"
TRUE_LANES = Broadcast(Const(True, "bool"), "W")
_MAX_NARROW = DTYPES[_NARROW_DTYPE].high - 1
_COMPARED = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def narrow_lanes(kernel: Kernel) -> Kernel:
    """Use 32-bit lanes in place of 64-bit ones for the counters of a ``while`` in a vector loop, if
    the ``while`` ends before they overflow. Where that is known at run time only, the loop gets a
    version for it.

    Other lanes of the loop must not be wider than 32 bits: they would fix the number of lanes
    anyway. `_versions` decides. Before::

        def k(x: f32[::1], y: mut(i32[::1])):
            disjoint(x, y)
            for i in vec(0, x.shape[0], width=W):
                v = x[i:W]
                while loop(hreduce("or", go) & on, t=broadcast(0, W), go=v > v, k=0, on=True):
                    t = step(select(go, broadcast(k + 1, W), t))
                    go = step(go & (v > v))
                    k = step(k + 1)
                    on = step(k + 1 < 200)
                y[i:W] = i32(t)

    after::

        def k(x: f32[::1], y: mut(i32[::1])):
            disjoint(x, y)
            for i in vec(0, x.shape[0], width=W):
                v = x[i:W]
                while loop(hreduce("or", go) & on, t=broadcast(i32(0), W), go=v > v, k=0, on=True):
                    t = step(select(go, broadcast(i32(k + 1), W), t))
                    go = step(go & (v > v))
                    k = step(k + 1)
                    on = step(k + 1 < 200)
                y[i:W] = t
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` narrowed, if it is a vector loop."""
        return _versions(s, fresh) if isinstance(s, VecLoop) else s

    return map_statements(kernel, edit, VecLoop)


def _versions(loop: VecLoop, fresh: FreshNames) -> Stmt:
    """The narrowed loop; a branch between both versions where the bound is known at run time only;
    `loop` unchanged where narrowing is impossible.

        k grows by 1 in an iteration, so 32 bits suffice for N iterations, a little less than 2**31.
        If the ``while`` ends after at most m: if m <= N: narrow lanes, else 64-bit lanes
    """
    inner = [s for s in loop.body if isinstance(s, While)]
    binders = Counter(n.name for n in walk(loop) if isinstance(n, Assign | Accum))
    if len(inner) != 1 or max(binders.values()) > 1 or not all(map(_accepts_narrow, walk(loop))):
        return loop
    if not _wide_nodes(loop):
        return loop
    # how far each 64-bit value grows in n iterations, and so how many iterations 32 bits allow
    bounds, decided = WhileBounds(loop, inner[0]), bottom_up(loop, _decide_out_of_range)
    computed = [n for n in _wide_nodes(loop) if not _is_number(n)]
    growth_bounds = [bounds.of(n) for n in (*computed, *_wide_nodes(decided))]
    max_trips = min(0 if r is None else r.max_iterations_within(_MAX_NARROW) for r in growth_bounds)
    ends_in_time = bounds.ends_within(max_trips) if max_trips > 0 else None
    if ends_in_time is None or ends_in_time == Const(False, "bool"):
        return loop
    narrowed: VecLoop = bottom_up(decided, _narrowed)
    if isinstance(ends_in_time, Const):
        return narrowed
    original = fresh.copy(loop)
    return If(ends_in_time, (narrowed,), (original,), span=loop.span)


# -- matching and rewriting


def _wide_nodes(loop: VecLoop) -> list[Any]:
    """The nodes with 64-bit integer lanes."""
    return [n for n in walk(loop) if _is_wide(n)]


def _is_wide(n: Node) -> bool:
    """Whether `n` has 64-bit integer lanes."""
    return getattr(n, "lanes", 1) != 1 and n.dtype == INDEX  # type: ignore[union-attr]  # has one


def _is_narrow(n: Node) -> bool:
    """Whether `n` is scalar, or its lanes are at most 32 bits wide."""
    return getattr(n, "lanes", 1) == 1 or DTYPES[n.dtype].bits <= DTYPES[_NARROW_DTYPE].bits  # type: ignore[union-attr]


def _accepts_narrow(n: Node) -> bool:
    """Whether `n` means the same with 32-bit lanes in place of its 64-bit ones, or has none."""
    match n:
        case Call(op) if op in _COMPARED or op == "cast":
            return n.lanes == 1 or _is_narrow(n)
        case Assign() | Accum():
            return True
        case Call() | Broadcast() | Var() if _is_wide(n):
            return True
        case _:
            return _is_narrow(n) and not any(map(_is_wide, children(n)))


def _decide_out_of_range(n: Any) -> Any:
    """`n` with each comparison decided whose constant is outside the 32-bit range: 0 compares with
    it as all lanes do, whose values fit in 32 bits.
    """
    match n:
        case Call(op, (_, Broadcast(Const(int(value)) as constant, lanes))) if _is_wide(n.args[0]):
            decided = (
                fold_constants(op, (index_const(0), constant), "bool") if op in _COMPARED else None
            )
            return Broadcast(decided, lanes) if decided and abs(value) > _MAX_NARROW else n
        case Call("and", (a, b)) if TRUE_LANES in (a, b):
            return b if a == TRUE_LANES else a
        case Check(cond) if cond == TRUE_LANES:
            return ()
        case _:
            return n


def _narrowed(n: Any) -> Any:
    """`n` in narrow lanes; its operands are narrow already."""
    if not _is_wide(n):
        return n.args[0] if _is_cast_of_same(n) else n
    if isinstance(n, Broadcast):
        return replace(n, value=rewrite(Call("cast", (n.value,), _NARROW_DTYPE)))
    return replace(n, dtype=_NARROW_DTYPE)


def _is_number(n: Node) -> bool:
    """Whether `n` is a constant in all lanes."""
    return isinstance(n, Broadcast) and isinstance(n.value, Const)


def _is_cast_of_same(n: Node) -> bool:
    """Whether `n` is a cast that changes nothing."""
    return isinstance(n, Call) and n.op == "cast" and n.args[0].dtype == n.dtype
