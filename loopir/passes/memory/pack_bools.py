"""Boolean packing: private bool arrays too large for the caches are stored as bits.

`_min_length` decides from which length on that pays, by the cache sizes of the machine; the code
that uses the array is versioned on its length (`_split_around`). A private array is one that the
caller allocates for the kernel, so that its layout is free.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import element_count
from ...analysis.mod_ref import arrays_read, arrays_written
from ...dtypes import DTYPES, MIN_PACKED_BOOLS
from ...ir_names import FreshNames, bound_names, names_read, rename_names
from ...ir_traversal import children, contains, is_innermost, walk
from ...lazy_dataclass import replace
from ...machine_model import DEFAULT_MACHINE, Machine
from ...nodes import (
    Assign,
    Bits,
    Call,
    Const,
    Dim,
    Expr,
    If,
    Kernel,
    Load,
    Local,
    Loop,
    LoopLike,
    Node,
    Param,
    Stmt,
    Store,
    Var,
)

__all__ = ["pack_bools"]

_FAR_STRIDE = 8
"""Least stride in elements of an access for which packed bools touch fewer cache lines."""


def pack_bools(kernel: Kernel, machine: Machine = DEFAULT_MACHINE) -> Kernel:
    """Version code on the length of an owned bool array: long ones are packed to bits, of which an
    eighth of the memory is moved. Short ones are in the caches anyway, where unpacking bits costs
    more than it saves (`_min_length`). Before::

        def k(t: u8, x: u8[::1], m: own(bool[::1]), y: mut(u8[::1])):
            for i in vec(0, x.shape[0], width=W):
                m[i:W] = x[i:W] > broadcast(t, W)
            for i in vec(0, x.shape[0], width=W):
                y[i:W] = select(m[i:W], x[i:W], broadcast(u8(0), W))

    after::

        def k(t: u8, x: u8[::1], m: own(bool[::1]), y: mut(u8[::1])):
            if m.shape[0] >= 2097152:
                m_1 = bits(m)
                for i in vec(0, x.shape[0], width=W):
                    m_1[i:W] = x[i:W] > broadcast(t, W)
                for i in vec(0, x.shape[0], width=W):
                    y[i:W] = select(m_1[i:W], x[i:W], broadcast(u8(0), W))
            else:
                for i in vec(0, x.shape[0], width=W):
                    m[i:W] = x[i:W] > broadcast(t, W)
                for i in vec(0, x.shape[0], width=W):
                    y[i:W] = select(m[i:W], x[i:W], broadcast(u8(0), W))
    """
    if contains(kernel, Bits):
        return kernel
    owned = (p for p in kernel.params if p.owned and p.rank and p.dtype == "bool")
    min_lengths = {p: _min_length(kernel, p, machine) for p in owned if _can_pack(kernel, p)}
    packed = {
        p: max(MIN_PACKED_BOOLS, min_length)
        for p, min_length in min_lengths.items()
        if min_length is not None
    }
    before, using, after = _split_around(kernel.body, {p.name for p in packed})
    if not using:
        return kernel
    fresh = FreshNames(kernel)
    names = {p.name: fresh.name(p.name) for p in packed}
    bit_arrays = [Bits(new, old) for old, new in names.items()]
    conditions = [
        Call("ge", (element_count(p), index_const(min_length)), "bool")
        for p, min_length in packed.items()
    ]
    cond = reduce(lambda a, b: Call("and", (a, b), "bool"), conditions)
    branch = If(cond, (*bit_arrays, *(rename_names(s, names) for s in using)), using)
    return replace(kernel, body=(*before, branch, *after))


def _split_around(
    body: tuple[Stmt, ...], names: set[str]
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...], tuple[Stmt, ...]]:
    """`body` before, within and after the statements that access the arrays `names`.

    If the middle part binds names that the rest reads, it extends to the end.
    """
    users = [k for k, s in enumerate(body) if names & (arrays_read((s,)) | arrays_written((s,)))]
    if not users:
        return body, (), ()
    first, last = users[0], users[-1] + 1
    if bound_names(*body[first:last]) & names_read(*body[last:]):
        last = len(body)
    return body[:first], body[first:last], body[last:]


# -- profitability


def _can_pack(kernel: Kernel, p: Param) -> bool:
    """Whether every use of the array has a packed form."""
    uses = (n for n in walk(kernel) if getattr(n, "array", None) == p.name)
    return all(isinstance(n, Dim | Load | Store) for n in uses)


def _min_length(kernel: Kernel, p: Param, machine: Machine) -> int | None:
    """The least number of elements of the bool array `p` from which on bits are faster than bytes;
    None if they never are. `pack_bools` versions the code on it.

    =============================  =================================================================
    accesses to `p`                bits are faster from
    =============================  =================================================================
    all contiguous, by vectors     4 times the L2 cache: a shorter array is in that cache as bytes,
                                   and bits must be unpacked; never on vectors of 16 bytes, or where
                                   the bits of a vector are no whole bytes
    some far apart                 a quarter of the L3 cache, which other data shares; never on
    (`_FAR_STRIDE`)                machines without vectors
    some near, not contiguous      never: neighbours share a cache line anyway
    =============================  =================================================================
    """
    accesses = [(loop, n) for loop, n in _innermost_accesses(kernel, None) if n.array == p.name]
    scattered = [(loop, n) for loop, n in accesses if not _is_contiguous(n, p)]
    if not accesses or not all(_is_strided(n, loop, p, kernel) for loop, n in scattered):
        return None
    if scattered:
        return machine.caches[2] // 4 if machine.bytes >= 16 else None
    # the mask of a register must be whole bytes, and be unpacked in few steps: not on 16 bytes
    have_whole_bytes = all(_widest_lane_bytes(loop) * 8 <= machine.bytes for loop, _ in accesses)
    return 4 * machine.caches[1] if have_whole_bytes and machine.bytes >= 32 else None


def _is_contiguous(n: Load | Store, p: Param) -> bool:
    """Whether the lanes of an access are contiguous."""
    lanes = n.value.lanes if isinstance(n, Store) else n.lanes
    return lanes != 1 and n.axis == p.unit and n.step == 1


def _widest_lane_bytes(loop: LoopLike) -> int:
    """Bytes of the widest lane in `loop`."""
    lanes = (n for n in walk(loop) if getattr(n, "lanes", 1) != 1)
    return max(DTYPES[n.dtype].bytes for n in lanes)  # type: ignore[union-attr]


def _innermost_accesses(n: Node, loop: LoopLike | None) -> Iterator[tuple[LoopLike, Load | Store]]:
    """The accesses in innermost loops, each with its loop."""
    if isinstance(n, LoopLike):
        loop = n if is_innermost(n) else None
    if isinstance(n, Load | Store) and loop is not None:
        yield loop, n
    for c in children(n):
        yield from _innermost_accesses(c, loop)


# -- strides


def _is_strided(n: Load | Store, loop: LoopLike, p: Param, kernel: Kernel) -> bool:
    """Whether consecutive lanes or iterations access elements at least `_FAR_STRIDE` apart in
    memory.
    """
    lanes = n.value.lanes if isinstance(n, Store) else n.lanes
    if lanes != 1:
        return n.axis != p.unit or abs(n.step) >= _FAR_STRIDE
    if not isinstance(loop, Loop):
        return False
    index_stride = _IndexStride(loop, kernel)
    strides = [index_stride.of(e) for e in n.index]
    if None in strides:
        return False
    return any(x and (k != p.unit or abs(x) >= _FAR_STRIDE) for k, x in enumerate(strides))


class _IndexStride:
    """The change of expressions from one iteration of a loop to the next.

    Infinite for a data-dependent value (a load), None where it is unknown.
    """

    def __init__(self, loop: Loop, kernel: Kernel) -> None:
        assigned = (n for n in walk(loop) if isinstance(n, Assign))
        self._values: dict[str, Expr | None] = dict.fromkeys(bound_names(loop))
        self._values |= {n.name: n.value for n in assigned}
        self._var = loop.var
        self._local = {n.name for n in walk(kernel) if isinstance(n, Local)}

    def of(self, e: Expr) -> float | None:
        """The change of `e`: inf for a load whose subscripts vary, None for one of a local array
        and for names without a value.
        """
        match e:
            case Var(name) if name == self._var:
                return 1
            case Var(name) if name in self._values:
                value = self._values[name]
                return None if value is None else self.of(value)
            case Load(array=array):
                strides = [self.of(i) for i in e.index]
                return 0 if not any(strides) and None not in strides else (
                    None if array in self._local else math.inf
                )
            case Call("select", (_, *args)):
                return self._call("either", [self.of(a) for a in args], e.args)
            case Call(op, args):
                return self._call(op, [self.of(a) for a in args], args)
        return 0

    def _call(self, op: str, strides: list[float | None], args: tuple[Expr, ...]) -> float | None:
        """The change of a call whose operands change by `strides`."""
        nonzero = [x for x in strides if x != 0]
        if not nonzero or None in nonzero:
            return None if nonzero else 0
        match op, args:
            case ("add", _):
                return sum(x for x in nonzero if x)
            case ("either" | "cast" | "min" | "max", _):
                return nonzero[0] if len(set(nonzero)) == 1 else None
            case ("sub", _):
                return (
                    (strides[0] or 0) - (strides[1] or 0) if math.inf not in nonzero else math.inf
                )
            case ("mul", (Const(value), _) | (_, Const(value))):
                return value * (nonzero[0] or 0)
            case ("mul", _) if len(nonzero) == 1:
                return math.inf
        return None
