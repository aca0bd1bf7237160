"""Operations under both Python's and NumPy's semantics, selected by the operand's type."""

from __future__ import annotations

from collections.abc import Callable

from loopir.dtypes import DTYPES

from ...types.phi import join_values
from ...types.typed_values import Num, bool_op, cast
from ..state.float_exceptions import note_in_vain
from ..state.ir_builder import IRBuilder
from ..state.path_conditions import under

__all__ = ["as_python_scalar", "in_both_semantics"]


def in_both_semantics(
    b: IRBuilder, operands: tuple[Num, ...], operate: Callable[..., Num]
) -> Num | None:
    """`operate` of the operands as Python's where they are, else as NumPy's; None where that cannot
    be had, or a guard can tell which they are. One of the two is computed in vain, so that a
    floating-point condition is not certain to be Python's.
    """
    is_weak = next(n.weak_now for n in operands if n.either)
    if b.invariant(is_weak):
        return None
    python, numpy = [], []
    for n in operands:
        asked = n.either and n.weak_now == is_weak
        weak = as_python_scalar(b, n) if asked else n
        if weak is None:
            return None
        python.append(weak)
        numpy.append(Num(cast(n.ir, n.strong), strong=n.strong) if asked and n.strong else n)
    before = len(b.warnings.sources)
    with under(b, is_weak):
        first = operate(*python)
    with under(b, bool_op("not", is_weak)):
        later = operate(*numpy)
    note_in_vain(b, before)
    out = join_values(b.bind(is_weak, "py"), first, later)
    if out is not None and out.either:
        b.numbers.python_values[out.ir] = first
    return out


def as_python_scalar(b: IRBuilder, n: Num) -> Num | None:
    """`n` where it is a Python scalar."""
    if not n.either:
        return n
    if n.ir in b.numbers.python_values:
        return as_python_scalar(b, b.numbers.python_values[n.ir])
    assert n.weak is not None
    same = {DTYPES[n.dtype].kind, DTYPES[n.weak].kind} in ({"f"}, {"i"}, {"i", "u"})
    return Num(cast(n.ir, n.weak), weak=n.weak) if n.exact and same else None
