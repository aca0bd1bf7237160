"""Operations under both Python's and NumPy's semantics, selected by the operand's type.

In ``s = 0; for i in range(n): s = max(s, x[i])`` the value of ``s`` is the Python int 0 until some
element is greater, and a NumPy scalar after that. An operation on it that Python and NumPy compute
differently is lowered twice, for each type, and the operand's type flag selects the result.
"""
from __future__ import annotations

from collections.abc import Callable

from loopir.dtypes import DTYPES

from ...types.phi import join_values
from ...types.typed_values import Num, bool_op, cast
from ..state.float_exceptions import note_speculative
from ..state.ir_builder import IRBuilder
from ..state.path_conditions import used_only_where

__all__ = ["as_python_scalar", "in_both_semantics"]


def in_both_semantics(
    b: IRBuilder, operands: tuple[Num, ...], operate: Callable[..., Num]
) -> Num | None:
    """``operate(*operands)``, computed for Python operands and for NumPy operands, and selected by
    their type flag. Called by `binary_operation` and `compare_numbers`, where the dtype of the
    result depends on the flag.

        s * 0.1      s: the Python int 0, or NumPy's float32 items
        →            select(s_py, f64(i64(s)) * 0.1, f64(s * f32(0.1)))
                     a Python float where s_py holds, else a NumPy float32

    The flag is that of the first operand that is of either type; the other operands with the same
    flag change with it. The result that is not selected may raise floating-point flags, so warnings
    are not certain. None, and the caller tries to require that the operands are NumPy's
    (`as_numpy_if_loops_ran`), where

    - the flag is known at kernel entry: then a guard on it is cheaper;
    - the Python value of an operand is not known (`as_python_scalar`);
    - no value can hold both results (`phi.join_values`).
    """
    is_weak = next(n.weak_now for n in operands if n.either)
    if b.known_at_entry(is_weak):
        return None
    python_operands, numpy_operands = [], []
    for n in operands:
        has_flag = n.either and n.weak_now == is_weak
        python = as_python_scalar(b, n) if has_flag else n
        if python is None:
            return None
        python_operands.append(python)
        numpy_operands.append(
            Num(cast(n.ir, n.strong), strong=n.strong) if has_flag and n.strong else n
        )
    sources_before = len(b.warnings.sources)
    with used_only_where(b, is_weak):
        python_result = operate(*python_operands)
    with used_only_where(b, bool_op("not", is_weak)):
        numpy_result = operate(*numpy_operands)
    note_speculative(b, sources_before)
    result = join_values(b.bind(is_weak, "py"), python_result, numpy_result)
    if result is not None and result.either:
        b.numbers.python_values[result.ir] = python_result
    return result


def as_python_scalar(b: IRBuilder, n: Num) -> Num | None:
    """The Python scalar that `n` is wherever it is Python's and not NumPy's. None if that is not
    known, since the variable's dtype is of another kind or does not hold it exactly.
    """
    if not n.either:
        return n
    if n.ir in b.numbers.python_values:
        return as_python_scalar(b, b.numbers.python_values[n.ir])
    assert n.weak is not None
    same_kind = {DTYPES[n.dtype].kind, DTYPES[n.weak].kind} in ({"f"}, {"i"}, {"i", "u"})
    return Num(cast(n.ir, n.weak), weak=n.weak) if n.exact and same_kind else None
