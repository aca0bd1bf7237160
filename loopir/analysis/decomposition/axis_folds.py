"""Axis folds: whether an accumulator of a loop over a chunk axis is a fold, with a part a chunk.

    for i in loop(0, n, s=0.0): s = step(s + x[i])          by add
    for i in loop(0, n, m=x[0]): m = step(maximum(m, x[i])) by maximum: it starts at an item
    for i in loop(0, n, s=5.0): s = step(s + x[i])          none: each part would begin at 5.0
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from ...algebra.constant_folding import neutral_element
from ...dtypes import DTYPES
from ...ir_names import names_read
from ...lazy_dataclass import replace
from ...nodes import Call, Const, Expr, Load, Loop, Var
from .chunk_axes import Fold, FoldOrder
from .fold_steps import PlaceOfExtremum, definition, fold_step, inner_run
from .size_forms import ArrayAxis, SizeForms

__all__ = ["COMPUTED", "PARTS", "Flows", "fold_of"]

Flows: TypeAlias = "frozenset[tuple[ArrayAxis, str]]"
"""On which chunk axes a value depends other than by an element of the same iteration, and how:
``start`` or ``end``, on an element at a fixed distance from there; ``fold``."""

COMPUTED = "?"
"""`Fold.starts_at` of a fold that starts at a value that is computed."""

PARTS = frozenset((
    "add", "mul", "min", "max", "minimum", "maximum", "ieee_minimum", "ieee_maximum", "and", "or",
))
"""The operations by which parts of folds are combined."""


def fold_of(
    s: Loop, k: int, starts: Sequence[Flows], extremum: PlaceOfExtremum | None,
    chained: Collection[str], sizes: SizeForms,
) -> Fold | None:
    """The fold that accumulator `k` of the loop `s` is; None if it is none. Its result is not
    known yet. ``starts``: what the initial values of the accumulators depend on; ``chained``:
    the accumulators of loops around that go on in a loop inside.
    """
    a = s.accs[k]
    is_float = DTYPES[a.init.dtype].kind == "f"
    if extremum is not None and a.name in (extremum.place, extremum.best):
        best = next(x for x in s.accs if x.name == extremum.best)
        first: str | None = ""
        if starts[s.accs.index(best)]:
            first = _starts_at(best.init, extremum.value, [s], sizes)
            if first is not None:  # only floats have a NaN
                first = (first or COMPUTED) if DTYPES[best.init.dtype].kind == "f" else ""
        op = "place" if a.name == extremum.place else "extremum"
        return None if first is None else Fold("", op, a.init.dtype, first)
    found = fold_step(s, k)
    if found is None or found.op not in PARTS or found.restarts:
        return None
    order: FoldOrder = "blocks" if inner_run(a, s) is None else "items"
    fold = Fold("", found.op, a.init.dtype, order=order)
    if isinstance(a.init, Var) and a.init.name in chained:
        return fold
    unit = neutral_element(found.op, a.init.dtype)
    if isinstance(a.init, Const) and unit is not None and a.init.value == unit.value:
        return fold
    if found.op in ("add", "mul"):
        return None
    if not starts[k]:
        return fold
    loops = [s]
    while (run := inner_run(loops[-1].accs[k], loops[-1])) is not None:
        loops.append(run[0])
        k = run[1]
    value = definition(found.value, loops[-1].body)
    first = _starts_at(a.init, value, loops, sizes)
    if first is None or found.cond is not None:
        return None
    is_total = found.op not in ("min", "max") or not is_float
    return fold if is_total else replace(fold, starts_at=first or COMPUTED)


def _starts_at(init: Expr, value: Expr, loops: Sequence[Loop], sizes: SizeForms) -> str | None:
    """Whether a fold of `value` over `loops`, one inside the other, starts at its value for the
    first items, or those just before: then the array whose element it is, "" for a computed
    value; else None.
    """
    if isinstance(init, Load) and isinstance(value, Load):
        if init.array != value.array or len(init.index) != len(value.index):
            return None
        pairs = zip(init.index, value.index, strict=True)
        return init.array if all(_is_first(a, b, loops, sizes) for a, b in pairs) else None
    match init, value:
        case Call(op, args), Call(other, others) if op == other and len(args) == len(others):
            pairs = zip(args, others, strict=True)
            return None if None in [_starts_at(a, b, loops, sizes) for a, b in pairs] else ""
    return "" if init == value and names_read(value).isdisjoint(x.var for x in loops) else None


def _is_first(at: Expr, subscript: Expr, loops: Sequence[Loop], sizes: SizeForms) -> bool:
    """Whether `at` is the first value of a subscript, or the one before."""
    variable, offset = subscript, 0
    match subscript:
        case Call("add", (Var() as variable, Const(int(offset)))):
            pass
    loop = next((x for x in loops if variable == Var(x.var, "i64")), None)
    if loop is None:
        return at == subscript
    start, bounds = sizes.of(at), sizes.range_of(loop.range)
    if start is None or bounds is None or bounds[0].number is None:
        return False
    first = bounds[0].constant + offset
    return start.number in (first - 1, first)
