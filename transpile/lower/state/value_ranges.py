"""Value ranges of integer expressions: an interval for each, and linear forms.

An int64 expression has a linear form, a sum of multiples of atoms and a constant; an atom is an
expression that is no sum or multiple, such as a parameter, a length or ``i // 2``. Intervals of
atoms are recorded in `RangeState.intervals` or follow from the operation; the interval of a linear
form follows from those of its atoms. `linear_num` and `integer_num` make Python ints that have
both. `learn_bound` and `learn_from_guard` record what guards imply.
"""
from __future__ import annotations

from functools import partial
from types import MappingProxyType

from loopir.analysis.integers.affine import LinearForm, linearize, nonnegative_margins
from loopir.analysis.integers.intervals import Bounds, expression_bounds
from loopir.dtypes import INDEX
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Const, Expr, Var
from loopir.op_table import NEGATED_COMPARISON

from ...types.int_limits import ARGUMENT, INT64
from ...types.typed_values import Num
from .ir_builder import IRBuilder, Required

__all__ = [
    "bind_num", "integer_num", "interval_of", "learn_bound", "learn_equality", "learn_from_guard",
    "linear_form", "linear_num", "margins_of", "max_value", "min_value", "narrow_ranges",
    "unclamped", "with_equal_atoms",
]

_UNBOUNDED = frozenset(("add", "sub", "mul", "neg", "min", "max"))
"""Operations whose int64 results are taken as exact, as of unbounded integers: where lowering makes
one, it proves, or checks, that there is no overflow.
"""


def interval_of(b: IRBuilder, atom: Expr) -> Bounds:
    """An interval that contains the int64 expression `atom`, an atom of linear forms. The first
    that there is:

    - the one that is recorded in `RangeState.intervals`, as for loop variables, accumulators,
      quotients, and what guards bound (`learn_bound`);
    - for a parameter `ARGUMENT`, which is an assumption: the parameter is noted in
      `assumed_params`, and `guard_int_params` adds a guard;
    - the one that follows from the operation (`expression_bounds`), as for ``i // 2``. Sums and
      products are taken as exact, since lowering proves or checks that they do not overflow
      (`_UNBOUNDED`).

    Of a sum, use `min_value` and `max_value` of its linear form, in which equal terms cancel.
    """
    if atom in b.ranges.intervals:
        return b.ranges.intervals[atom]
    if isinstance(atom, Var) and atom.name in b.params and atom.dtype == INDEX:
        b.ranges.assumed_params.add(atom.name)
        return ARGUMENT
    return expression_bounds(atom, partial(interval_of, b), _UNBOUNDED)


def linear_form(b: IRBuilder, e: Expr) -> LinearForm:
    """The linear form of the int64 expression `e`. Names that hold sums or products are expanded.
    """
    form = linearize(e, partial(_linear_atom, b))
    assert form is not None
    return form


def _linear_atom(b: IRBuilder, e: Expr) -> LinearForm:
    """The linear form of `e`, which is no sum or multiple itself: of the sum or product that it is
    the name of, else `e` as an atom.
    """
    value = b.values.get(e.name) if isinstance(e, Var) else None
    if isinstance(value, Call) and value.op in ("add", "sub", "mul"):
        return linear_form(b, value)
    return LinearForm.of(e)


def min_value(b: IRBuilder, linear: LinearForm) -> int:
    """A lower bound of `linear`, by the intervals of its atoms."""
    return linear.bounds(partial(interval_of, b))[0]


def max_value(b: IRBuilder, linear: LinearForm) -> int:
    """An upper bound of `linear`, by the intervals of its atoms."""
    return linear.bounds(partial(interval_of, b))[1]


def learn_bound(b: IRBuilder, cond: Expr) -> None:
    """Records the lower bound of an atom that `cond`, a guard, implies. Only a condition of the
    form ``e >= constant`` or ``not e < constant`` implies one, with ``e`` the sum of one atom and a
    constant::

        guard(n - 2 >= 1)    →    the interval of n starts at 3
    """
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
            _narrow(b, atom, int(least) - linear.constant, INT64[1])


def learn_from_guard(b: IRBuilder, required: Required) -> None:
    """Records what a guard implies in the iterations of the loops that are being lowered: that
    linear forms are >= 0, which makes other guards needless, and that two lengths are equal.
    """
    b.path.requirements = (*b.path.requirements, required)
    b.path.guarded = (*b.path.guarded, *margins_of(b, required.cond))
    match required.cond:
        case Call("eq", (p, q)) if p.dtype == INDEX:
            learn_equality(b, linear_form(b, p), linear_form(b, q))


def margins_of(b: IRBuilder, cond: Expr) -> list[LinearForm]:
    """Linear forms that are all >= 0 exactly where `cond`, a comparison of lengths or other int64,
    holds. Empty for other conditions.
    """
    match cond:
        case Call("not", (Call(op, (p, q)),)) if p.dtype == INDEX and op in NEGATED_COMPARISON:
            op = NEGATED_COMPARISON[op]
        case Call(op, (p, q)) if p.dtype == INDEX:
            pass
        case _:
            return []
    margins = nonnegative_margins(op, linear_form(b, p), linear_form(b, q))
    return [with_equal_atoms(b, margin) for margin in margins]


def learn_equality(b: IRBuilder, p: LinearForm, q: LinearForm) -> None:
    """Records that `p` and `q` are equal in the iterations of the loops that are being lowered.

    One atom of them is replaced by its value from now on (`with_equal_atoms`): a call, such as
    ``max(n - 2, 0)``, rather than a name or a length, which the loops are more likely to have. It
    must have the coefficient 1 or -1 in ``p - q``; else nothing is recorded. If the value is one
    other atom and a constant, the interval of that atom is narrowed, too, outside of all loops.
    """
    difference = with_equal_atoms(b, p - q)
    replaceable = [atom for atom, c in difference.terms.items() if abs(c) == 1]
    if not replaceable:
        return
    atom = next((a for a in replaceable if isinstance(a, Call)), replaceable[-1])
    value = difference.without((atom,)) * -difference.terms[atom]
    others = {a: form.substitute(atom, value) for a, form in b.path.equalities.items()}
    b.path.equalities = MappingProxyType({**others, atom: value})
    match [*value.terms.items()]:
        case [(other, 1)] if not b.path.frames:  # so that it holds everywhere
            low, high = interval_of(b, atom)
            _narrow(b, other, low - value.constant, high - value.constant)


def with_equal_atoms(b: IRBuilder, linear: LinearForm) -> LinearForm:
    """`linear` with each atom replaced that is known to equal a linear form of others
    (`learn_equality`), also in the operands of ``max`` and ``min``, so that forms that are known to
    be equal become the same.
    """
    known = b.path.equalities
    for atom in linear.terms if known else ():
        value = known.get(atom)
        if value is None and isinstance(atom, Call) and atom.op in ("max", "min"):
            operands = tuple(linear_form(b, a) for a in atom.args)
            changed = tuple(with_equal_atoms(b, form) for form in operands)
            if changed != operands:
                new = replace(atom, args=tuple(form.expr() for form in changed))
                value = known.get(new) or LinearForm.of(new)
        if value is not None:
            linear = linear.substitute(atom, value)
    return linear


def _narrow(b: IRBuilder, atom: Expr, low: int, high: int) -> None:
    """Intersects the interval of `atom` with these bounds, which hold everywhere in the kernel."""
    known = interval_of(b, atom)
    new = max(low, known[0]), min(high, known[1])
    if new[0] <= new[1]:  # else the kernel never starts
        b.ranges.intervals[atom] = new


def unclamped(b: IRBuilder, trip_form: LinearForm) -> LinearForm:
    """A linear form without a clamp that equals `trip_form` wherever that is positive; `trip_form`
    itself if it is not clamped. (Of a loop of Loop IR: `affine.unclamped_end`.)

        max(n - 2, 0)        →    n - 2
        max(n, 0) - 1        →    n - 1
    """
    match [*trip_form.terms.items()]:
        case [(Call("max", (inner, Const(int(least)))), 1)] if least + trip_form.constant <= 0:
            return unclamped(b, linear_form(b, inner) + LinearForm({}, trip_form.constant))
    return trip_form


def narrow_ranges(b: IRBuilder, fact: LinearForm, atoms: frozenset[Expr]) -> None:
    """Narrows the intervals of those of `atoms` that occur in `fact`, a linear form that is >= 0.

    From ``c * atom + rest >= 0`` follows ``atom >= -max(rest) / c`` for a positive c, and an upper
    bound for a negative one.
    """
    for atom, c in ((a, c) for a, c in fact.terms.items() if a in atoms):
        lo, hi = interval_of(b, atom)
        max_rest = max_value(b, fact.substitute(atom, LinearForm()))
        b.ranges.intervals[atom] = (
            (max(lo, -(max_rest // c)), hi) if c > 0 else (lo, min(hi, max_rest // -c))
        )


def linear_num(b: IRBuilder, linear: LinearForm) -> Num:
    """The Python int with the linear form `linear`."""
    lo, hi = linear.bounds(partial(interval_of, b))
    return Num(linear.expr(), weak="i64", linear=linear, interval=(lo, hi))


def integer_num(b: IRBuilder, e: Expr, interval: Bounds | None = None) -> Num:
    """The Python int `e`, with `e` itself, as an atom, for its linear form. ``interval``: recorded
    for `e`; None: it is computed.
    """
    if interval is not None:
        b.ranges.intervals[e] = interval
    return Num(e, weak="i64", linear=LinearForm.of(e), interval=interval_of(b, e))


def bind_num(b: IRBuilder, n: Num, hint: str) -> Num:
    """`n`, bound to a name. A Python int keeps its linear form; if it has none, its new linear form
    is the name, as an atom.
    """
    e = b.bind(n.ir, hint)
    if e is not n.ir and n.python_int and n.linear is None:
        return integer_num(b, e, n.interval)
    return replace(n, ir=e)
