"""Views: an array read and written through the subscripts of another."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from loopir.nodes import Call, Const, Expr
from loopir.types import DTYPES

from ..infer import Num, cast
from ..ranges import LENGTH, Linear, integer
from ..types import PARTS
from .builder import Builder
from .implied import is_sure
from .refusal import refuse
from .values import Along, ArrayRef

__all__ = ["part_of", "places_of", "sliced", "transposed", "viewed", "whole"]


def places_of(b: Builder, array: ArrayRef, at: Sequence[Num]) -> tuple[Expr, ...]:
    """The subscripts, of the kernel's parameter, of an element of `array`."""
    if not array.places:
        return tuple(n.ir for n in at)
    found = (p if isinstance(p, Num) else _moved(b, p, at[p.axis]) for p in array.places)
    return tuple(n.ir for n in found)


def viewed(
    b: Builder, array: ArrayRef, axes: Sequence[Num | Along], shape: Sequence[Num]
) -> ArrayRef:
    """`array` with each of its axes at one subscript, or along an axis of the view."""
    own = array.places or tuple(Along(k, b.from_linear(Linear())) for k in range(array.rank))
    places: list[Num | Along] = []
    for p in own:
        if isinstance(p, Along):
            match axes[p.axis]:
                case Along(axis, start, step):
                    p = Along(axis, _moved(b, p, start), _product(b, p.step, step))
                case Num() as n:
                    p = _moved(b, p, n)
        places.append(p)
    kinds = array.kinds[array.rank - len(shape) :]  # of lists: they have no slices
    return replace(array, unit=None, shape=tuple(shape), places=tuple(places), kinds=kinds)


def transposed(b: Builder, array: ArrayRef, order: Sequence[int] | None = None) -> ArrayRef:
    """``array.T``, or ``array.transpose(*order)``"""
    order, start = order or range(array.rank)[::-1], b.from_linear(Linear())
    axes = [Along(order.index(k), start) for k in range(array.rank)]
    return viewed(b, array, axes, [array.shape[k] for k in order])


def part_of(b: Builder, array: ArrayRef, name: str) -> ArrayRef | None:
    """``array.real`` or ``array.imag``, if it is a view."""
    if array.dtype not in PARTS:
        return array if name == "real" else None
    own = array.places or tuple(Along(k, b.from_linear(Linear())) for k in range(array.rank))
    at = b.from_linear(Linear({}, int(name == "imag")))
    return replace(array, dtype=PARTS[array.dtype], unit=None, places=(*own, at))


def _moved(b: Builder, along: Along, n: Num) -> Num:
    return b.from_linear(_linear(b, along.start) + _times(b, _linear(b, n), along.step))


def _product(b: Builder, p: int | Num, q: int | Num) -> int | Num:
    """The step of a view of a view."""
    if isinstance(p, int):
        p, q = q, p
    if isinstance(p, int) and isinstance(q, int):
        return p * q
    assert isinstance(p, Num)
    return b.from_linear(_times(b, _linear(b, p), q))


def _times(b: Builder, n: Linear, step: int | Num) -> Linear:
    if isinstance(step, int):
        return n * step
    if not n.terms:
        return _linear(b, step) * n.constant
    return Linear.of(Call("mul", (n.expr(), step.ir), "i64"))


def sliced(
    b: Builder, n: Num, low: Num | None, high: Num | None, step: int | Num, node: ast.AST
) -> tuple[Num, Num]:
    """The length of a slice of an axis of length `n`, and its first element, if it has one. A step
    that is a number is not below 1.
    """
    size, up = _linear(b, n), not isinstance(step, int) or step > 0
    first, end = (Linear(), size) if up else (size + Linear({}, -1), Linear({}, -1))
    start = first if low is None else _bound(b, whole(b, low, node), size, up, up)
    stop = end if high is None else _bound(b, whole(b, high, node), size, not up, up)
    room = stop - start if up else start - stop
    length = _named(b, _most(b, room, Linear()), "size")
    by = Linear({}, abs(step)) if isinstance(step, int) else _linear(b, step)
    if by != Linear({}, 1):
        most = b.from_linear(length + by + Linear({}, -1)).ir
        count = Call("floordiv", (most, by.expr()), "i64")
        length = _named(b, b.integer_num(count, LENGTH).linear or Linear(), "size")
    return b.from_linear(length), b.from_linear(_named(b, start, "start"))


def _bound(b: Builder, v: Linear, size: Linear, floor: bool, up: bool) -> Linear:
    """A bound of a slice: a negative one counts from the end. It is kept from going too low, or
    too high; on the other side a slice without elements is one anyway.
    """
    least, most = (Linear(), size) if up else (Linear({}, -1), size + Linear({}, -1))
    wrapped, plain = v + size, v
    if floor:
        wrapped = _most(b, wrapped, least)
    else:
        plain = _least(b, plain, most)
    if b.low(v) >= 0:
        return plain
    if b.high(v) < 0:
        return wrapped
    negative = Call("lt", (v.expr(), integer(0)), "bool")
    e = Call("select", (negative, wrapped.expr(), plain.expr()), "i64")
    ends = [*b.from_linear(wrapped).interval, *b.from_linear(plain).interval]
    return b.integer_num(e, (min(ends), max(ends))).linear or Linear()


def _most(b: Builder, p: Linear, q: Linear) -> Linear:
    """The greater one."""
    return _one(b, "max", p, q, p - q)


def _least(b: Builder, p: Linear, q: Linear) -> Linear:
    """The lesser one."""
    return _one(b, "min", p, q, q - p)


def _one(b: Builder, op: str, p: Linear, q: Linear, margin: Linear) -> Linear:
    if is_sure(b, margin):
        return p
    if is_sure(b, margin * -1):
        return q
    return Linear.of(Call(op, (p.expr(), q.expr()), "i64"))


def _named(b: Builder, e: Linear, hint: str) -> Linear:
    """`e` computed now, if it is more than a sum and may change."""
    simple = all(not isinstance(atom, Call) for atom in e.terms)
    if simple or b.invariant(e.expr()):
        return e
    interval = b.from_linear(e).interval
    return b.integer_num(b.bind(e.expr(), hint), interval).linear or Linear()


def _linear(b: Builder, n: Num) -> Linear:
    return n.linear if n.linear is not None else Linear.of(b.bind(n.ir, "at"))


def whole(b: Builder, n: Num, node: ast.AST) -> Linear:
    """A bound, or a step, as an int."""
    kind = DTYPES[n.dtype].kind
    if n.weak in ("f64", "bool") or kind not in "iu" or n.dtype == "u64":
        refuse("LOWER_SUBSCRIPT", f"a bound of `{ast.unparse(node)}` is not an int", node)
    if n.linear is not None:
        return n.linear
    e = n.ir if isinstance(n.ir, Const) else b.bind(cast(n.ir, "i64"), "bound")
    return b.integer_num(e, n.range).linear or Linear()
