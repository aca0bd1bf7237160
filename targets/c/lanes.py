"""Statements that act on the lanes of a register, as C."""
from __future__ import annotations

from loopir import nodes as ir
from loopir.exhaustive import unhandled
from loopir.types import DTYPES, INDEX

from ..target import Vec, mask_type, stored
from .expressions import expr, place, pointer, stride
from .masks import any_lane, as_width, bits_of, both, negated
from .scope import Scope
from .text import plain

__all__ = ["stored_together", "vector_statement"]


def vector_statement(n: ir.Store | ir.Append | ir.Check, s: Scope) -> str:
    """The statement for the lanes of the scope's register that act."""
    match n:
        case ir.Store():
            return _store(n, s)
        case ir.Append():
            return _append(n, s)
        case ir.Check():
            return _check(n, s)
        case _:
            return unhandled(n)


def _acting(mask: ir.Expr | None, lanes: int, s: Scope) -> str | None:
    """Where the register's lanes act and `mask` holds; None: everywhere."""
    assert s.region
    return both((s.region.on, expr(mask, s) if mask else None), lanes, s.target)


def _stored(value: ir.Expr, s: Scope) -> tuple[Vec, str]:
    """A value as it lies in memory: bools are bytes."""
    assert isinstance(value.lanes, int)
    text = expr(value, s)
    if value.dtype == "bool":
        text = f"tp_tobytes_{mask_type(s.target, value.lanes)}({text})"
    return stored(value.dtype, value.lanes), text


def _store_bits(n: ir.Store, s: Scope) -> str:
    lanes = n.value.lanes
    assert isinstance(lanes, int)
    at = f"{s.use(n.array)}, {place(n.array, n.index, s)}"
    value, on = bits_of(expr(n.value, s), lanes, s.target), _acting(n.mask, lanes, s)
    where = "~(uint64_t)0" if on is None else bits_of(on, lanes, s.target)
    if (apart := stride(n.array, n.axis, n.step, s)) != "1":
        return f"tp_spreadbits_bool({at}, {apart}, {value}, {where}, {lanes});"
    if on is None:
        return f"tp_putbits_bool({at}, {value}, {lanes});"
    return f"tp_maskbits_bool({at}, {value}, {where}, {lanes});"


def _store(n: ir.Store, s: Scope) -> str:
    if n.array in s.bits:
        return _store_bits(n, s)
    v, text = _stored(n.value, s)
    on = _acting(n.mask, v.lanes, s)
    at = pointer(n.array, n.index, s)
    unit = s.arrays[n.array].unit == n.axis
    if unit and n.step == 1 and on:
        mask = as_width(on, v.lanes, DTYPES[v.dtype].bits, s.target)
        return f"tp_storemask_{v.name}({at}, {text}, {mask});"
    if unit and n.step == 1 and s.region and s.region.streamed == n:
        place, register = f'"=m"(*({v.name} *)({at}))', f'"{s.target.register}"({plain(text)})'
        return f'__asm__ volatile("{s.target.stream} %1, %0" : {place} : {register});'
    if unit and n.step == 1:
        return f"*({v.name}_u *)({at}) = {plain(text)};"
    if unit and n.step == -1 and on is None:
        return f"*({v.name}_u *)({at} - {v.lanes - 1}) = tp_reverse_{v.name}({text});"
    if unit and n.step == 2 and on is None:
        return f"tp_everyother_{v.name}({at}, {text});"
    if on is None:
        return f"tp_spread_{v.name}((char *)({at}), {stride(n.array, n.axis, n.step, s)}, {text});"
    bits = bits_of(on, v.lanes, s.target)
    apart = stride(n.array, n.axis, n.step, s)
    return f"tp_scatter_{v.name}((char *)({at}), {apart}, {text}, {bits});"


def stored_together(first: ir.Store, then: ir.Store, s: Scope) -> str:
    """The statement for two stores that are side by side."""
    (v, a), (_, b) = _stored(first.value, s), _stored(then.value, s)
    on = _acting(first.mask, v.lanes, s)
    at = f"(char *)({pointer(first.array, first.index, s)})"
    apart = stride(first.array, first.axis, first.step, s)
    if on is None:
        return f"tp_spread2_{v.name}({at}, {apart}, {a}, {b});"
    return f"tp_scatter2_{v.name}({at}, {apart}, {a}, {b}, {bits_of(on, v.lanes, s.target)});"


def _append(n: ir.Append, s: Scope) -> str:
    v, text = _stored(n.value, s)
    on = _acting(n.mask, v.lanes, s) or f"tp_fill_{mask_type(s.target, v.lanes)}(1)"
    at = pointer(n.array, (ir.Var(n.count, INDEX),), s)
    mask = as_width(on, v.lanes, DTYPES[v.dtype].bits, s.target)
    function = "tp_appendonly" if n.only else "tp_append"
    return f"{s.use(n.count)} += {function}_{v.name}({at}, {text}, {mask});"


def _check(n: ir.Check, s: Scope) -> str:
    assert s.region
    assert isinstance(n.cond.lanes, int)
    lanes = n.cond.lanes
    failed = negated(expr(n.cond, s), lanes, s.target)
    failed = both((s.region.on, failed), lanes, s.target) or failed
    return f"if ({any_lane(failed, lanes, s.target)}) {s.failed(n.code)}"
