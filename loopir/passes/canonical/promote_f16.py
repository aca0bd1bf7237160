"""float16 promotion: storage-only dtypes are computed in the wider dtype and rounded once."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...algebra.constant_folding import is_lossless_cast
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames
from ...ir_traversal import map_children, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Append,
    Assign,
    Broadcast,
    Call,
    Const,
    Expr,
    HReduce,
    Kernel,
    Load,
    Loop,
    Scan,
    Store,
    Var,
    Zip,
)
from ...op_table import OPS

__all__ = ["promote_f16"]

_TIES_DIFFER_BY_WIDTH = ("minimum", "maximum")
"""Of two equal operands (0.0 and -0.0) NumPy returns the first in float16, and the second in
float32. The operands of these operations are swapped, so that float32 returns the one that float16
would."""


def promote_f16(kernel: Kernel) -> Kernel:
    """Compute float16 in float32, and round each result to float16, as NumPy does: no target has
    arithmetic in float16.

    A result is rounded by a cast to f16, and widened again by one to f32; a result that is always
    one of the operands (`Op.exact`, such as ``max``) needs no rounding. Operations that would give
    another result this way, such as ``nextafter``, do not exist on float16 (`Op.excluded`).
    Before::

        def k(a: f16, x: f16[::1], out: mut(f16[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], peak=f16("-inf")):
                out[i] = a * x[i]
                peak = step(max(peak, x[i]))

    after::

        def k(a: f16, x: f16[::1], out: mut(f16[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], peak=f32("-inf")):
                out[i] = f16(f32(a) * f32(x[i]))
                peak = step(max(peak, f32(x[i])))
    """
    if not any(_is_storage_only(getattr(n, "dtype", None)) for n in walk(kernel)):
        return kernel
    return _Promoter(kernel).kernel(kernel)


def _is_storage_only(dtype: object) -> bool:
    """Whether `dtype` is computed in a wider one."""
    return isinstance(dtype, str) and DTYPES[dtype].wide is not None


def _compute_dtype(dtype: str) -> str:
    """The dtype in which operations on `dtype` are computed."""
    return DTYPES[dtype].wide or dtype


class _Promoter:
    """Rewrites values of storage-only dtypes to the wider dtype.

    ``stored``: names that keep their dtype, since they are parameters or elements of streams.
    """

    def __init__(self, kernel: Kernel) -> None:
        zips = (n for n in walk(kernel) if isinstance(n, Zip))
        self.stored = {p.name for p in kernel.params if p.rank is None}
        self.stored |= {x.name for z in zips for x in z.streams}
        self.fresh = FreshNames(kernel)

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel rewritten; the same object where nothing changed."""
        guards = tuple(map_children(g, self.node) for g in kernel.guards)
        body = tuple(self.node(s) for s in kernel.body)
        new = replace(kernel, guards=guards, body=body)
        return kernel if new == kernel else new

    def node(self, n: Any) -> Any:
        """Rewrite a node of a kernel; an expression becomes its value in the wider dtype."""
        match n:
            case Store() | Append() if _is_storage_only(n.value.dtype):
                rest = map_children(n, lambda x: x if x is n.value else self.node(x))
                value = _as_stored(self.node(n.value), n.value.dtype)
                return rest if value == n.value else replace(rest, value=value)
            case Scan(value=value) if _is_storage_only(value.dtype):
                return self.node(self.scan_as_loop(n))
            case HReduce(op, value) if _is_storage_only(value.dtype):
                assert OPS[op].exact, "folds that round stay in Python's order"
                return map_children(n, self.node)
            case Const(value, dtype) if _is_storage_only(dtype):
                with np.errstate(over="ignore"):
                    return Const(float(DTYPES[dtype].numpy.type(value)), _compute_dtype(dtype))
            case Var(name, dtype) if _is_storage_only(dtype):
                return (
                    _promoted(n) if name in self.stored else replace(n, dtype=_compute_dtype(dtype))
                )
            case Load() if _is_storage_only(n.dtype):
                return _promoted(map_children(n, self.node))
            case Call():
                return self.call(map_children(n, self.node), n)
            case _:
                return map_children(n, self.node)

    def scan_as_loop(self, s: Scan) -> Loop:
        """A scan as a loop that rounds each value."""
        dtype, name = s.value.dtype, self.fresh.name(s.acc)
        new = Call(s.op, (Var(s.acc, dtype), s.value), dtype)
        store = Store(s.array, (Var(s.var, INDEX),), Var(name, dtype), span=s.span)
        step = Accum(s.acc, s.init, Var(name, dtype))
        return Loop(s.var, s.range, (Assign(name, new), store), (step,), span=s.span)

    def call(self, e: Call, old: Call) -> Expr:
        """Rewrite `old`, whose operands have been rewritten to those of `e`."""
        if e.op == "cast":
            return _cast(e, old)
        if not any(_is_storage_only(a.dtype) for a in old.args):
            return e
        args = e.args[::-1] if e.op in _TIES_DIFFER_BY_WIDTH else e.args
        wide = replace(e, args=args, dtype=_compute_dtype(e.dtype))
        return wide if e.dtype == "bool" or OPS[e.op].exact else _rounded_to(wide, e.dtype)


def _cast(e: Call, old: Call) -> Expr:
    """The cast `old`, whose operand has been rewritten to that of `e`. A cast from float16 is free;
    one to float16 rounds.
    """
    (x,) = e.args
    if not _is_storage_only(e.dtype):
        changed = x.dtype != old.args[0].dtype
        return x if x.dtype == e.dtype and changed else e
    if _is_storage_only(old.args[0].dtype):
        return x
    if DTYPES[x.dtype].kind == "f":
        return _rounded_to(x, e.dtype)
    wide = replace(e, dtype=_compute_dtype(e.dtype))  # as NumPy does: through the wider dtype
    return wide if is_lossless_cast(x.dtype, e.dtype) else _rounded_to(wide, e.dtype)


def _promoted(e: Expr) -> Call:
    """`e` widened to the dtype in which it is computed."""
    return Call("cast", (e,), _compute_dtype(e.dtype), e.lanes)


def _as_stored(e: Expr, dtype: str) -> Expr:
    """`e` in the storage dtype."""
    match e:
        case Call("cast", (inner,)) if inner.dtype == dtype:
            return inner
        case Const(value):
            return Const(value, dtype)
        case Broadcast(Const(value)):
            return replace(e, value=Const(value, dtype))
        case _:
            return Call("cast", (e,), dtype, e.lanes)


def _rounded_to(e: Expr, dtype: str) -> Call:
    """`e` rounded to `dtype` and widened again."""
    return _promoted(Call("cast", (e,), dtype, e.lanes))
