"""Capacity bounds: upper bounds, known at kernel entry, of lengths that the kernel computes.

An array whose length the kernel computes is allocated before the kernel, with a capacity: an upper
bound of the length that Python can evaluate before the kernel. Bounds are built bottom-up
(`_bound`):

    n - i                     in a loop over i in range(n)  →  n
    max(int(counts[i]), 1)    for an array argument counts  →  max(greatest(counts), 1)
    counts[i] // 2                                          →  greatest(counts) // 2

``greatest(a)`` is the maximum of the array argument `a` before the call, a pass over its elements.
Where no bound is known at all, as for items of a list argument, `UNKNOWN_CAPACITY` is tried; the
kernel reports if it was too small. The capacity of a list that ``append`` fills is not found here,
but in `lists.append_only_lists` and `lists.dynamic_lists`.
"""
from __future__ import annotations

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
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
"""The operation for the greatest element of an array argument, before the kernel starts. It and the
two below occur in capacities only, which become host expressions (`host_expressions._host`).
"""

ARRAY_MINIMUM = "least"
"""The operation for the least element of an array argument, before the kernel starts."""

UNKNOWN_CAPACITY = Call("room", (), "i64")
"""A capacity that is tried, since no bound is known. Where it was too small, the call is repeated
with more (`runtime.kernel_call.list_capacity.grow_capacity`).
"""


def capacity_bound(b: IRBuilder, length: Expr) -> Expr | None:
    """An upper bound, >= 0, of `length` in all iterations of the enclosing loops, known at kernel
    entry; None where none is known. The module's docstring has examples; `_bound` has the cases.

        for i in range(n): t = np.empty(n - i)    →    capacity max(n, 0)

    An array, or the buffer of a list of fixed length, is allocated with it; where it is None, an
    array is allocated with `UNKNOWN_CAPACITY`. A bound that reads elements of an argument is
    speculative (`is_speculative`), since an earlier iteration may have changed them: the kernel
    checks the length of every array with such a bound.
    """
    bound = upper_bound(b, length)
    return None if bound is None else Call("max", (bound, index_const(0)), "i64")


def upper_bound(b: IRBuilder, e: Expr) -> Expr | None:
    """An upper bound of `e`, known at kernel entry; None where there is none."""
    return _bound(b, e, True)


def is_speculative(capacity: Expr) -> bool:
    """Whether `capacity` need not be an upper bound: it is tried, or computed from array elements
    that may have changed since. The kernel must then check that it is large enough.
    """
    return any(
        isinstance(e, Call) and e.op in (ARRAY_MAXIMUM, ARRAY_MINIMUM, UNKNOWN_CAPACITY.op)
        for e in walk(capacity)
    )


def is_unknown_capacity(capacity: Expr) -> bool:
    """Whether `capacity` is only tried; where it is too small, the call is repeated with more."""
    return UNKNOWN_CAPACITY in walk(capacity)


def _bound(b: IRBuilder, e: Expr, up: bool) -> Expr | None:
    """An upper bound of `e` (``up``) or a lower one, known at kernel entry; None: none is known.

    The first case that applies decides:

    - an expression that is known at kernel entry is its own bound;
    - an upper bound that is recorded (`NumberState.upper_bounds`);
    - a name is bounded as the expression that it was assigned;
    - a load of an int or bool from an array argument (or a reshaped view of one) that no statement
      before it in the same block writes, by the array's greatest or least element;
    - casts of ints and bools, but not of uint64, to int64, extrema, selects, and divisions by a
      positive constant, by the bounds of operands;
    - a linear form, by its extreme value over the enclosing loops, then by the bounds of its atoms.
    """
    if (entry_expr := known_before_kernel(e, b)) is not None:
        return entry_expr
    if up and e in b.numbers.upper_bounds:
        return b.numbers.upper_bounds[e]
    match e:
        case Var(name) if name in b.values:
            return _bound(b, b.values[name], up)
        case Load(array) if DTYPES[e.dtype].kind in "biu":
            base = b.buffers.reshaped.get(array, array)
            if not isinstance(b.bindings.get(base), Argument) or base in arrays_written(b.block):
                return None
            return Call(ARRAY_MAXIMUM if up else ARRAY_MINIMUM, (Var(base, e.dtype),), "i64")
        case Call("cast", (p,)) if DTYPES[p.dtype].kind in "biu" and e.dtype == "i64" != p.dtype:
            return _bound(b, p, up) if p.dtype != "u64" else None
        case Call("max" | "min" | "select" as op, (*_, p, q)):
            return _bound_of_one(op, _bound(b, p, up), _bound(b, q, up), up)
        case Call("floordiv", (p, Const(value))) if value > 0:
            dividend = _bound(b, p, up)
            return dividend and Call("floordiv", (dividend, index_const(int(value))), "i64")
    linear = loop_extremum(b, linear_form(b, e), up)
    if e in linear.terms:
        return None
    total = LinearForm({}, linear.constant)
    for atom, coefficient in linear.terms.items():
        atom_bound = _bound(b, atom, up == (coefficient > 0))
        if atom_bound is None:
            return None
        total = total + LinearForm.of(atom_bound) * coefficient
    return total.expr()


def _bound_of_one(op: str, p: Expr | None, q: Expr | None, up: bool) -> Expr | None:
    """The bound of a ``max``, ``min`` or ``select`` (`op`) of two values with the bounds `p` and
    `q`. One operand alone bounds a ``min`` from above, and a ``max`` from below.
    """
    if p is not None and q is not None:
        extremum = "max" if up else "min"
        return Call(extremum if op == "select" else op, (p, q), "i64")
    return (p or q) if op == ("min" if up else "max") else None
