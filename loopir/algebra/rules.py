"""The rewrites of scalar calls, by operation: every one keeps value and flags exactly."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..nodes import Call, Expr
from ..ops import OPPOSITE, OPS
from . import arithmetic, choices
from .values import evaluated

__all__ = ["rewrite"]

Rule: TypeAlias = "Callable[[Call], Expr | None]"


def rewrite(e: Expr) -> Expr:
    """`e` in its simplest form; what stands below it already is."""
    while isinstance(e, Call) and e.lanes == 1:
        better = evaluated(e.op, e.args, e.dtype) or _first(e)
        if better is None:
            return e
        e = better
    return e


def _first(e: Call) -> Expr | None:
    for rule in _RULES.get(e.op, ()):
        better = rule(e)
        if better is not None:
            return better
    return None


def _cast_of_select(e: Call) -> Expr | None:
    return choices.cast_of_select(e, rewrite)


_REDUCING: tuple[Rule, ...] = (arithmetic.neutral, arithmetic.idempotent, arithmetic.absorbing)
_RULES: dict[str, tuple[Rule, ...]] = {
    **{op.name: _REDUCING for op in OPS.values() if op.unit is not None},
    **{op: (arithmetic.idempotent,) for op in ("min", "max", "minimum", "maximum")},
    **{op: (arithmetic.itself, arithmetic.narrow_compare) for op in OPPOSITE},
    **{op: (arithmetic.by_one,) for op in ("div", "floordiv", "mod")},
    **{op: (arithmetic.twice,) for op in ("neg", "abs", "invert")},
    "add": (*_REDUCING, arithmetic.signs, arithmetic.offsets),
    "sub": (arithmetic.minus_zero, arithmetic.signs, arithmetic.offsets),
    "pow": (arithmetic.power,),
    "not": (arithmetic.twice, arithmetic.negation),
    "select": (choices.choice, choices.same_choice, choices.extremum),
    "cast": (choices.casts, _cast_of_select),
}
