"""Capacity bounds: upper bounds, known before the first loop, of lengths computed in the kernel."""
from __future__ import annotations

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.analysis.mod_ref import arrays_written
from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.nodes import Call, Const, Expr, Load, Var

from ...call_plan import Argument
from ..state.ir_builder import IRBuilder
from ..state.path_conditions import loop_extremum
from ..state.value_ranges import linear_form
from .host_expressions import known_before_kernel

__all__ = [
    "ARRAY_MAXIMUM", "ARRAY_MINIMUM", "UNKNOWN_CAPACITY", "capacity_bound", "is_speculative",
    "is_unknown_capacity", "upper_bound",
]

ARRAY_MAXIMUM = "greatest"
"""The greatest element of an array that is given, as it is before the first statement."""

ARRAY_MINIMUM = "least"
"""Likewise the least."""

UNKNOWN_CAPACITY = Call("room", (), "i64")
"""As much as is tried first, and more at each call that had too little."""


def capacity_bound(b: IRBuilder, length: Expr) -> Expr | None:
    """At least `length` wherever the loops around it are, and invariant; None where none is known.

    ``max(n - i, 0)`` for ``i in range(n)`` → ``max(n, 0)``.
    """
    above = upper_bound(b, length)
    return None if above is None else Call("max", (above, index_const(0)), "i64")


def upper_bound(b: IRBuilder, e: Expr) -> Expr | None:
    """An upper bound of `e`, invariant and known before the first loop; None where there is none.
    """
    return _bound(b, e, True)


def is_speculative(room: Expr) -> bool:
    """Whether the bound `room` holds only while the arrays that it reads are not written."""
    return any(
        isinstance(e, Call) and e.op in (ARRAY_MAXIMUM, ARRAY_MINIMUM, UNKNOWN_CAPACITY.op)
        for e in walk(room)
    )


def is_unknown_capacity(room: Expr) -> bool:
    """Whether `room` is only a guess; where it is too small, the call is repeated with a larger
    one.
    """
    return UNKNOWN_CAPACITY in walk(room)


def _bound(b: IRBuilder, e: Expr, up: bool) -> Expr | None:
    """An upper bound of `e`, or a lower one."""
    if (origin := known_before_kernel(e, b)) is not None:
        return origin
    if up and e in b.numbers.upper_bounds:
        return b.numbers.upper_bounds[e]
    match e:
        case Var(name) if name in b.values:
            return _bound(b, b.values[name], up)
        case Load(array) if DTYPES[e.dtype].kind in "biu":
            of = b.buffers.reshaped.get(array, array)
            given = isinstance(b.bindings.get(of), Argument) and of not in arrays_written(b.block)
            return (
                Call(ARRAY_MAXIMUM if up else ARRAY_MINIMUM, (Var(of, e.dtype),), "i64")
                if given
                else None
            )
        case Call("cast", (p,)) if DTYPES[p.dtype].kind in "biu" and e.dtype == "i64" != p.dtype:
            return _bound(b, p, up) if p.dtype != "u64" else None
        case Call("max" | "min" | "select" as op, (*_, p, q)):
            sides = [s for s in (_bound(b, p, up), _bound(b, q, up)) if s is not None]
            if len(sides) == 2:
                either = "max" if up else "min"
                return Call(either if op == "select" else op, tuple(sides), "i64")
            return sides[0] if sides and (op == "min") == up and op != "select" else None
        case Call("floordiv", (p, Const(value))) if value > 0:
            whole = _bound(b, p, up)
            return (
                None
                if whole is None
                else Call("floordiv", (whole, index_const(int(value))), "i64")
            )
    linear = loop_extremum(b, linear_form(b, e), up)
    if e in linear.terms:
        return None
    out = LinearForm({}, linear.constant)
    for atom, c in linear.terms.items():
        side = _bound(b, atom, up == (c > 0))
        if side is None:
            return None
        out = out + LinearForm.of(side) * c
    return out.expr()
