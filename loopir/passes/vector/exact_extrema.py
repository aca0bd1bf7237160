"""Bit-exact float extrema: which of several equal zeros is kept, and the result with a NaN.

A minimum over lanes may return another zero than Python's sequential order: of 0.0 and -0.0, which
compare equal, Python keeps a certain one. `is_order_independent` recognises reductions for which
the order does not matter. If that is only so of the terms, the lanes start anew (`starts_anew`).
For the others `exact_extremum_result` corrects the vector result later, in the rare cases: a result
of zero is replaced by the zero that a scalar loop finds, and after a NaN the scalar reduction runs
again.

Only a reduction that restarts after a NaN (`Reduction.restarts`) needs the second run. Python's
``min(value, acc)`` is one: if ``value`` is NaN it returns that NaN, which is ``acc`` in the next
iteration, and there it returns ``value``, whatever that is. All other reductions either keep a NaN
to the end (``np.maximum``) or never take one (``if x > m``), and so do lanes.
`Reduction.takes_last` tells which of equal values is kept: the last one, else the first.
"""
from __future__ import annotations

from collections.abc import Container, Mapping
from types import MappingProxyType

from ...algebra.constant_folding import index_const, literal
from ...analysis.loop_reductions import Reduction
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, names_read, rename_names, substitute
from ...nodes import Accum, Assign, Call, Const, Expr, If, Interval, Loop, Stmt, Var, Yield
from ...statement_blocks import backward_slice

__all__ = [
    "feeding_accumulator", "can_recompute", "is_order_independent", "exact_extremum_result",
    "starts_anew",
]


def is_order_independent(f: Reduction, unsigned_zeros: Container[str] = ()) -> bool:
    """Whether the result of `f` over lanes needs no correction (`exact_extremum_result`). True of
    everything but a float extremum. (Whether a float sum may change its bits is another question:
    `vectorize_legality._check_order`.) True of a float extremum that does not restart after a NaN,
    and of which one of these holds:

    - every zero among its initial value and its terms is positive;
    - a zero result can only be the initial value;
    - nothing observes the sign of its zero.

    `unsigned_zeros`: names for which the sign of a zero is unobserved (`analysis.signed_zeros`).
    """
    is_extremum = f.op in ("min", "max", "minimum", "maximum")
    if not is_extremum or DTYPES[f.dtype].kind != "f":
        return True
    is_positive = _is_positive_zero(f.acc.init) and _is_positive_zero(f.value)
    return (
        is_positive or _keeps_initial_zero(f) or f.acc.name in unsigned_zeros
    ) and not f.restarts


def starts_anew(f: Reduction, loop: Loop) -> bool:
    """Whether `f`, a float extremum of `loop`, has only positive zeros among its terms, and
    possibly another one as its initial value. The lanes may then start with the value that all
    others are better than, and the initial value is compared with their result, in Python's order::

        for j in loop(0, n, m=m_0): m = step(max(m, abs(x[j])))     m_0: the maximum of other rows
        →
        for j in loop(0, n, m_1=-inf): m_1 = step(max(m_1, abs(x[j])))
        m = max(m_0, m_1)
    """
    if is_order_independent(f) or f.restarts or (f.takes_last and f.op in ("min", "max")):
        return False
    values = {s.name: s.value for s in loop.body if isinstance(s, Assign)}
    return _is_positive_zero(f.value, values)


def _keeps_initial_zero(f: Reduction) -> bool:
    """Whether a zero result can only be the initial value."""
    match f.acc.init:
        case Const(value) if not f.takes_last:
            return value >= 0 if f.op == "max" else value <= 0 if f.op == "min" else False
        case _:
            return False


def _is_positive_zero(e: Expr, values: Mapping[str, Expr] = MappingProxyType({})) -> bool:
    """Whether `e` is positive if it is zero. ``values``: of names in `e`."""
    match e:
        case Const():
            return e != literal(-0.0, e.dtype)
        case Var(name) if name in values:
            return _is_positive_zero(values[name], values)
        case Call(op="abs"):
            return True
        case Call(op="mul", args=(a, b)):
            return a == b
        case Call(op="cast", args=(x,)):
            return DTYPES[x.dtype].kind != "f"
        case _:
            return False


def _term_slice(f: Reduction, loop: Loop) -> tuple[Assign, ...]:
    """The assignments of the body that the value and condition of `f` depend on."""
    return backward_slice(loop.body, f.value, *((f.cond,) if f.cond else ()))


def exact_extremum_result(
    f: Reduction, result: Expr, loop: Loop, fresh: FreshNames
) -> tuple[Stmt, ...]:
    """Statements that bind the accumulator of `f` to `result`, what the vector lanes gave,
    corrected to the bits that Python's order gives:

        if result == 0.0: the first zero among the terms (or the last), with its sign, by a search
        if isnan(result): the scalar reduction runs again, for a fold that a NaN restarts

    Both are rare, and cost a second pass over the terms; other results are right in any order.
    Called by `vectorize_loop` for reductions that are not order-independent. Assumes that the loop
    has not overwritten the terms (`can_recompute`).
    """
    with_zero = Var(fresh.name(f.acc.name) if f.restarts else f.acc.name, f.dtype)
    search_for_zero = _last_zero(f, loop) if f.takes_last else _first_zero(f, loop)
    search, zero = _renamed_loop(search_for_zero, f, fresh)
    is_zero = Call("eq", (result, literal(0, f.dtype)), "bool")
    zero_corrected = If(is_zero, (search,), (), (Yield(with_zero.name, zero, result),))
    if not f.restarts:
        return (zero_corrected,)
    scalar_reduction, recomputed = _renamed_loop(_recompute(f, loop), f, fresh)
    is_nan = Call("isnan", (result,), "bool")
    value = Yield(f.acc.name, recomputed, with_zero)
    return zero_corrected, If(is_nan, (scalar_reduction,), (), (value,))


def _renamed_loop(loop: Loop, f: Reduction, fresh: FreshNames) -> tuple[Loop, Var]:
    """`loop` with fresh names, and its result."""
    names = fresh.names(loop)
    return rename_names(loop, names), Var(names[f.acc.name], f.dtype)


def _recompute(f: Reduction, loop: Loop) -> Loop:
    """A scalar loop that computes `f` alone, in the order of the source."""
    return Loop(loop.var, loop.range, backward_slice(loop.body, f.acc.step), (f.acc,))


_HIT = "hit"


def _first_zero(f: Reduction, loop: Loop) -> Loop:
    """The scalar reduction, which is left as soon as its value is a zero. No later term replaces
    that one: the result is known to be zero, and of equal values the first is kept.
    """
    acc = Var(f.acc.name, f.dtype)
    is_zero = Call("eq", (acc, literal(0, f.dtype)), "bool")
    step = Accum(acc.name, f.acc.init, f.step(acc))
    return Loop(loop.var, loop.range, _term_slice(f, loop), (step,), is_zero)


def _last_zero(f: Reduction, loop: Loop) -> Loop:
    """A search backward from the end for the last term that is zero."""
    acc, hit = Var(f.acc.name, f.dtype), Var(_HIT, "bool")
    assert isinstance(loop.range, Interval)
    end = Call("sub", (Call("add", (loop.range.lo, loop.range.hi), INDEX), index_const(1)), INDEX)
    mirrored = {loop.var: Call("sub", (end, Var(loop.var, INDEX)), INDEX)}
    is_zero: Expr = Call("eq", (f.value, literal(0, f.dtype)), "bool")
    if f.cond is not None:
        is_zero = Call("and", (f.cond, is_zero), "bool")
    body: tuple[Stmt, ...] = tuple(substitute(s, mirrored) for s in _term_slice(f, loop))
    is_zero, value = substitute(is_zero, mirrored), substitute(f.value, mirrored)
    accs = (
        Accum(acc.name, f.acc.init, Call("select", (is_zero, value, acc), f.dtype)),
        Accum(hit.name, literal(False, "bool"), is_zero),
    )
    return Loop(loop.var, loop.range, body, accs, hit)


def can_recompute(f: Reduction, loop: Loop, memory: AliasInfo) -> bool:
    """Whether the loop does not overwrite the terms of `f`, so that they can be read again after
    it.
    """
    return not memory.overlap(
        arrays_read((f.value, *_term_slice(f, loop))), arrays_written((loop,))
    )


def feeding_accumulator(f: Reduction, loop: Loop) -> str | None:
    """An accumulator of `loop` on which the terms of `f` depend, so that they cannot be computed
    again after it; None if they depend on none.
    """
    names = names_read(f.value, *_term_slice(f, loop), *((f.cond,) if f.cond else ()))
    return next((a.name for a in loop.accs if a.name in names), None)
