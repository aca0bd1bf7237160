"""Value ranges of integer expressions: an interval for each, and linear forms."""
from __future__ import annotations

from dataclasses import replace
from functools import partial

from loopir.analysis.affine import LinearForm, linearize
from loopir.analysis.intervals import Bounds, expression_bounds
from loopir.dtypes import INDEX
from loopir.nodes import Call, Const, Expr, Var

from ...types.int_limits import ARGUMENT
from ...types.typed_values import Num
from .ir_builder import IRBuilder

__all__ = [
    "bind_num", "integer_num", "interval_of", "learn_bound", "linear_form", "linear_num",
    "max_value", "min_value", "narrow_ranges",
]

_UNBOUNDED = frozenset(("add", "sub", "mul", "neg", "min", "max"))
"""Results of these are Python's integers: lowering proves, or checks, that they do not overflow."""


def interval_of(b: IRBuilder, atom: Expr) -> Bounds:
    """An interval of an i64 expression."""
    if atom in b.ranges.intervals:
        return b.ranges.intervals[atom]
    if isinstance(atom, Var) and atom.name in b.params and atom.dtype == INDEX:
        b.ranges.relied.add(atom.name)
        return ARGUMENT
    return expression_bounds(atom, partial(interval_of, b), _UNBOUNDED)


def linear_form(b: IRBuilder, e: Expr) -> LinearForm:
    """The linear form of an i64 expression made of sums and multiples, also of named ones."""
    form = linearize(e, partial(_linear_atom, b))
    assert form is not None
    return form


def _linear_atom(b: IRBuilder, e: Expr) -> LinearForm:
    """The linear form of what is no sum or multiple; the name of one stands for that."""
    value = b.values.get(e.name) if isinstance(e, Var) else None
    if isinstance(value, Call) and value.op in ("add", "sub", "mul"):
        return linear_form(b, value)
    return LinearForm.of(e)


def min_value(b: IRBuilder, linear: LinearForm) -> int:
    """The least value that `linear` can have."""
    return linear.bounds(partial(interval_of, b))[0]


def max_value(b: IRBuilder, linear: LinearForm) -> int:
    """The greatest value that `linear` can have."""
    return linear.bounds(partial(interval_of, b))[1]


def learn_bound(b: IRBuilder, cond: Expr) -> None:
    """Notes what a lower bound of an integer, which holds from the start, says of it."""
    match cond:
        case Call("not", (Call("lt", (e, Const(least, "i64"))),)):
            pass
        case Call("ge", (e, Const(least, "i64"))):
            pass
        case _:
            return
    linear = linear_form(b, e)
    match [*linear.terms.items()]:
        case [(atom, 1)]:
            lo, hi = interval_of(b, atom)
            b.ranges.intervals[atom] = max(lo, int(least) - linear.constant), hi


def narrow_ranges(b: IRBuilder, fact: LinearForm, atoms: frozenset[Expr]) -> None:
    """Notes what `fact`, which is at least 0, says of each of `atoms` by itself."""
    for atom, c in ((a, c) for a, c in fact.terms.items() if a in atoms):
        lo, hi = interval_of(b, atom)
        most = max_value(b, fact.substitute(atom, LinearForm()))
        b.ranges.intervals[atom] = (
            (max(lo, -(most // c)), hi) if c > 0 else (lo, min(hi, most // -c))
        )


def linear_num(b: IRBuilder, linear: LinearForm) -> Num:
    """A Python int with a known linear form."""
    lo, hi = linear.bounds(partial(interval_of, b))
    return Num(linear.expr(), weak="i64", linear=linear, interval=(lo, hi))


def integer_num(b: IRBuilder, e: Expr, interval: Bounds | None = None) -> Num:
    """A Python int with `e` as its only atom."""
    if interval is not None:
        b.ranges.intervals[e] = interval
    return Num(e, weak="i64", linear=LinearForm.of(e), interval=interval_of(b, e))


def bind_num(b: IRBuilder, n: Num, hint: str) -> Num:
    """`n` under a name of its own; a Python int keeps its linear form."""
    e = b.bind(n.ir, hint)
    if e is not n.ir and n.python_int and n.linear is None:
        return integer_num(b, e, n.interval)
    return replace(n, ir=e)
