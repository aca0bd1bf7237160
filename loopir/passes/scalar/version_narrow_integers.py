"""Versioning for narrow integers: narrow lanes where integers from outside of a loop are small.

A weight that the caller gives has 64 bits, and widens the bytes that it is multiplied by. So the
loop gets a version for small weights, which `narrow_integers`, the next pass, narrows. (LLVM has
narrowing by demanded bits, which needs no version, since C's integers wrap around; Python's do
not.)
"""
from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import reduce

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_max, index_min, logical_and
from ...analysis.integers.intervals import Bounds
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, changed_names, names_read, substitute
from ...ir_traversal import children, contains, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    RangeDesc,
    Stmt,
    Store,
    Var,
    While,
    Yield,
)
from ...statement_blocks import map_statements
from .narrow_integers import before_widening, narrow_integers

__all__ = ["version_narrow_integers"]

_MAX_NODES = 400  # size limit of a loop that is copied
_MAX_COPIES = 4  # of loops in a kernel
_SMALL: tuple[Bounds, ...] = ((-(1 << 15), (1 << 15) - 1), (0, 1 << 8))
"""What is assumed of the integers, the wider first: signed 16 bits; or weights in units of 1/256,
whose products with bytes have 16 bits.
"""


def version_narrow_integers(kernel: Kernel) -> Kernel:
    """Version a loop over bytes or 16-bit elements for small values of the integers from outside of
    it that they are computed with: the version for small ones can have narrower lanes.

    `_narrowing_assumption` decides by trying: it narrows the loop as if these integers were in each
    range of `_SMALL`. Before::

        def k(a: u8[::1], w: i64, y: mut(i32[::1])):
            disjoint(a, y)
            for i in loop(0, a.shape[0]):
                t = i64(a[i]) * w
                check(~mul_over(i64(a[i]), w), "replay")
                check((t >= -2147483648) & (t <= 2147483647), "replay")
                y[i] = i32(t)

    after::

        def k(a: u8[::1], w: i64, y: mut(i32[::1])):
            disjoint(a, y)
            if (w >= -32768) & (w <= 32767):
                w_1 = i16(min(max(w, -32768), 32767))
                for i_1 in loop(0, a.shape[0]):
                    t_1 = i64(a[i_1]) * i64(w_1)
                    check(~mul_over(i64(a[i_1]), i64(w_1)), "replay")
                    check((t_1 >= -2147483648) & (t_1 <= 2147483647), "replay")
                    y[i_1] = i32(t_1)
            else:
                for i_2 in loop(0, a.shape[0]):
                    t_2 = i64(a[i_2]) * w
                    check(~mul_over(i64(a[i_2]), w), "replay")
                    check((t_2 >= -2147483648) & (t_2 <= 2147483647), "replay")
                    y[i_2] = i32(t_2)
    """
    if not any(_is_narrow_load(n) for n in walk(kernel)):
        return kernel
    fresh, copies = FreshNames(kernel), 0
    wide = {id(n.orelse[0]) for n in walk(kernel) if isinstance(n, If) and _is_versions(n)}

    def edit(s: Stmt) -> Stmt:
        """`s` in two versions, if it is a loop for which that pays."""
        nonlocal copies
        if not isinstance(s, Loop) or id(s) in wide or copies >= _MAX_COPIES:
            return s
        if contains(s, While) or sum(1 for _ in walk(s)) > _MAX_NODES:
            return s
        assumed = _narrowing_assumption(s, kernel)
        if assumed is None:
            return s
        copies += 1
        return _versions(s, assumed, fresh)

    return map_statements(kernel, edit, Loop)


def _is_versions(s: If) -> bool:
    """Whether `s` chooses between versions of a loop that `version_narrow_integers` has made."""
    match s:
        case If(then=(Assign(value=Call("cast", (Call("min"),))), *_, Loop()), orelse=(Loop(),)):
            return True
        case _:
            return False


def _is_narrow_load(n: Node) -> bool:
    """Whether `n` loads an integer of at most 16 bits."""
    return isinstance(n, Load) and DTYPES[n.dtype].kind in "iu" and DTYPES[n.dtype].bits <= 16


def _integers_from_outside(loop: Loop) -> tuple[str, ...]:
    """The 64-bit names from outside of `loop` that it reads, in their order; none that is a part of
    a subscript or of a range.
    """
    accesses = [n for n in walk(loop) if isinstance(n, Load | Store)]
    others = changed_names(loop) | names_read(*(x for n in accesses for x in n.index))
    read = (n for n in _parts(loop) if isinstance(n, Var))
    return tuple(
        dict.fromkeys(n.name for n in read if n.dtype == INDEX and n.name not in others)
    )


def _parts_outside_of_subscripts(n: Node, sums: Collection[str]) -> Iterator[Node]:
    """The nodes of `n` that are in no subscript and no range of a loop. Of additions to the
    accumulators `sums`, the terms before they were widened: sums of narrow terms have narrow lanes
    (`defer_overflow`).
    """
    below: tuple[Node, ...] = children(n)
    match n:
        case Load() | Interval() | RangeDesc():
            below = ()
        case Store(value=value):
            below = (value,)
        case Call("add" | "add_over", (Var(name), term)) if name in sums:
            yield from _parts_outside_of_subscripts(before_widening(term), sums)
            return
    yield n
    for part in below:
        yield from _parts_outside_of_subscripts(part, sums)


def _parts(loop: Stmt) -> Iterator[Node]:
    """The nodes of `loop` that decide how wide its values are."""
    sums = {acc.name for n in walk(loop) if isinstance(n, Loop) for acc in n.accs}
    return _parts_outside_of_subscripts(loop, sums)


@record(frozen=True, slots=True)
class _Assumption:
    """That `names`, integers from outside of a loop, are in a range."""

    names: tuple[str, ...]
    low: int
    high: int

    def condition(self) -> Expr:
        """That it holds."""
        ends: list[Expr] = [
            Call(op, (Var(name, INDEX), index_const(end)), "bool")
            for name in self.names
            for op, end in (("ge", self.low), ("le", self.high))
        ]
        return reduce(logical_and, ends)

    def applied(self, loop: Loop, fresh: FreshNames) -> tuple[Stmt, ...]:
        """`loop` with the names in the dtype of the range: they are clamped to it, which changes no
        value where the condition holds, and tells `narrow_integers` what they may be.
        """
        dtype = "u16" if self.low >= 0 else "i16"
        new_names = {name: fresh.name(name) for name in self.names}
        assigned = (
            Assign(new, Call("cast", (_clamped(Var(old, INDEX), self.low, self.high),), dtype))
            for old, new in new_names.items()
        )
        values = {old: Call("cast", (Var(new, dtype),), INDEX) for old, new in new_names.items()}
        return *assigned, substitute(loop, values)

    def width(self, loop: Loop, kernel: Kernel) -> int:
        """The bits of the widest values of `loop` that it leaves after narrowing."""
        body = self.applied(loop, FreshNames(kernel))
        return _widest(narrow_integers(replace(kernel, body=body)))


def _clamped(e: Expr, low: int, high: int) -> Expr:
    """`e`, or the end of the range from `low` to `high` that is nearest to it."""
    return index_min(index_max(e, low), high)


def _narrowing_assumption(loop: Loop, kernel: Kernel) -> _Assumption | None:
    """What to assume for `loop` to have narrower values: the range of `_SMALL` that makes them the
    narrowest, the wider of two that do equally well, for as few names as needed. None if nothing
    makes them narrower.
    """
    names = _integers_from_outside(loop)
    if not names:
        return None
    widths = {a: a.width(loop, kernel) for a in (_Assumption(names, *s) for s in _SMALL)}
    best, width = min(widths.items(), key=lambda item: item[1])
    if width >= _widest(narrow_integers(replace(kernel, body=(loop,)))):
        return None
    for name in names:
        fewer = replace(best, names=tuple(n for n in best.names if n != name))
        if fewer.names and fewer.width(loop, kernel) == width:
            best = fewer
    return best


def _widest(kernel: Kernel) -> int:
    """The bits of the widest value that the loop at the end of `kernel` computes, loads or stores,
    apart from subscripts: they decide how many lanes a register has.
    """
    loop = kernel.body[-1]
    inside = changed_names(loop)
    dtypes = set[str]()
    for n in _parts(loop):
        match n:
            case Call(args=args) if _varies(n, inside):
                dtypes |= {n.dtype, *(x.dtype for x in args if _varies(x, inside))}
            case Load():
                dtypes.add(n.dtype)
            case Store():
                dtypes.add(n.value.dtype)
    return max((DTYPES[d].bits for d in dtypes), default=64)


def _varies(e: Expr, inside: Collection[str]) -> bool:
    """Whether `e` may differ from iteration to iteration of the loop that binds the names `inside`.
    """
    return contains(e, Load) or not names_read(e).isdisjoint(inside)


def _versions(s: Loop, assumed: _Assumption, fresh: FreshNames) -> If:
    """The branch on the assumption: a copy of `s` to which it is applied, or another copy."""
    *assigned, narrow = assumed.applied(fresh.copy(s), fresh)
    wide = fresh.copy(s)
    assert isinstance(narrow, Loop)
    yields = tuple(
        Yield(a.name, p.current, q.current)
        for a, p, q in zip(s.accs, narrow.accs, wide.accs, strict=True)
    )
    return If(assumed.condition(), (*assigned, narrow), (wide,), yields, span=s.span)
