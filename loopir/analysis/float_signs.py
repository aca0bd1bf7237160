"""Sign analysis of floats: values that are never less than zero, whatever their operands are.

    t = x - y
    s = t * t + 1.0        t * t ≥ 0, or NaN; so s < 0.0 is false

Such a value may be NaN or -0.0: neither is less than zero. But ``1.0 / -0.0`` is: a quotient is
only known if the divisor is never -0.0 either.

Names may depend on each other in loops. So all float names are first assumed to have only such
values, and those bound to another value are removed until nothing changes (the greatest fixpoint).
An accumulator stays if its initial value and its step are such values. `check_elimination` removes
tests such as ``x < 0.0`` before a square root by it.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from math import copysign

from ..dtypes import DTYPES
from ..ir_names import own_bindings
from ..ir_traversal import memoized_per_node, walk_statements
from ..nodes import Call, Const, Expr, Kernel, Stmt, Var

__all__ = ["is_never_negative", "names_never_negative"]

_OF_ANYTHING = frozenset(("abs", "exp", "exp2", "sqrt", "cosh", "hypot"))
"""Operations whose result is never negative: the square root of a negative number is NaN."""

_OF_SUCH = frozenset(
    ("add", "mul", "min", "max", "minimum", "maximum", "floor", "ceil", "trunc", "rint",
     "cast", "log1p", "expm1", "cbrt", "sinh", "tanh", "atan", "asinh")
)
"""Operations whose result is never negative if no operand is."""


@memoized_per_node
def names_never_negative(kernel: Kernel) -> frozenset[str]:
    """The float names of `kernel` whose values are never less than zero."""
    values: dict[str, set[Expr]] = defaultdict(set)
    for s in (n for part in kernel.body for n in walk_statements(part)):
        if isinstance(s, Stmt):
            for name, bound in own_bindings(s):
                values[name].update(bound)
    names = {n for n, bound in values.items() if all(DTYPES[e.dtype].kind == "f" for e in bound)}
    while wrong := {n for n in names if not all(is_never_negative(e, names) for e in values[n])}:
        names -= wrong
    return frozenset(names)


def is_never_negative(e: Expr, names: Container[str]) -> bool:
    """Whether the float `e` is never less than zero, given that the names in `names` never are."""
    match e:
        case Const(value):
            return not value < 0
        case Var(name):
            return name in names
        case Call("mul", (a, b)) if a == b:
            return True
        case Call("max" | "maximum", (a, Const(value)) | (Const(value), a)) if value >= 0:
            return True
        case Call("div", (a, b)):
            are_known = is_never_negative(a, names) and is_never_negative(b, names)
            return are_known and _is_never_negative_zero(b)
        case Call("select", (_, a, b)):
            return is_never_negative(a, names) and is_never_negative(b, names)
        case Call("cast", (a,)) if DTYPES[a.dtype].kind in "ub":
            return True
        case Call("cast", (a,)) if DTYPES[a.dtype].kind != "f":
            return False
        case Call(op, args):
            return op in _OF_ANYTHING or (
                op in _OF_SUCH and all(is_never_negative(a, names) for a in args)
            )
    return False


def _is_never_negative_zero(e: Expr) -> bool:
    """Whether the float `e`, which is never less than zero, is not -0.0 either."""
    match e:
        case Const(value):
            return copysign(1.0, value) > 0
        case Call("mul", (a, b)):
            return a == b
        case Call("add", (a, b)):  # a sum is -0.0 only if both terms are
            return _is_never_negative_zero(a) or _is_never_negative_zero(b)
        case Call(op):
            return op in _OF_ANYTHING and op != "sqrt"  # sqrt(-0.0) is -0.0
    return False
