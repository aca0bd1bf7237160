"""Compensated sum: what Python's ``sum`` of floats computes from Python 3.12 on.

`builtin_folds.sum_fold` asks for the step of its loop.
"""
from __future__ import annotations

import ast
import sys

from ...analysis.expression_facts import item_fact
from ...types.value_types import ScalarType
from ..macros.macro_context import Context

__all__ = ["SUMS_ARE_COMPENSATED", "compensated_step", "may_be_compensated"]

SUMS_ARE_COMPENSATED = sys.version_info >= (3, 12)
"""Whether Python's `sum` of floats carries a correction along."""

_PYTHON_FLOAT = ScalarType("f64", weak=True)


def _item_types(items: ast.GeneratorExp | ast.ListComp, cx: Context) -> frozenset[object]:
    """The types that an item may have; with None if they are not known."""
    facts = [item_fact(cx.facts, ast.ListComp(items.elt, items.generators))]
    match items.elt, items.generators:
        case ast.Name(id=name), [ast.comprehension(
            target=ast.Name(id=target), iter=ast.Tuple(elts=parts) | ast.List(elts=parts)
        )] if name == target:
            facts = [cx.fact(part) for part in parts]
    return frozenset(t for fact in facts for t in fact.types or (None,))


def _is_numpys(start: ast.expr, cx: Context) -> bool:
    """Whether `start` is a NumPy scalar: Python then adds plainly."""
    types = cx.fact(start).types
    return bool(types) and all(isinstance(t, ScalarType) and not t.weak for t in types)


def _is_zero_or_float(start: ast.expr, cx: Context) -> bool:
    """Whether `start` is the literal 0, or a Python float."""
    is_zero = isinstance(start, ast.Constant) and type(start.value) is int and start.value == 0
    return is_zero or set(cx.fact(start).types) == {_PYTHON_FLOAT}


def may_be_compensated(
    start: ast.expr, items: ast.GeneratorExp | ast.ListComp, cx: Context
) -> bool:
    """Whether Python may carry a correction along: items, and the start, may be Python floats."""
    if not SUMS_ARE_COMPENSATED or _is_numpys(start, cx):
        return False
    return bool(_item_types(items, cx) & {_PYTHON_FLOAT, None})


def compensated_step(
    total: str, start: ast.expr, items: ast.GeneratorExp | ast.ListComp, cx: Context
) -> list[ast.stmt] | None:
    """The step of a compensated sum of `items` from `start` on, as Python 3.12 and later compute it
    (Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, ZAMM 54,
    1974). None if not all items are known to be Python floats, or the start is neither one nor 0::

        _next = _partial + item
        _lost = _lost + ((_partial - _next) + item if abs(_partial) >= abs(item) else
                         (item - _next) + _partial)          # what all additions have rounded off
        _partial = _next                                     # the plain sum
        total = _partial + _lost if _lost != 0.0 and _lost - _lost == 0.0 else _partial

    What is rounded off is not added where it is infinite or NaN. ``total``, which the caller has
    set to the start, may be the int 0 as long as there was no item.
    """
    if not SUMS_ARE_COMPENSATED or not _is_zero_or_float(start, cx):
        return None
    if _item_types(items, cx) != {_PYTHON_FLOAT}:
        return None
    names = {"PARTIAL": cx.fresh("partial"), "LOST": cx.fresh("lost")}
    is_float = set(cx.fact(start).types) == {_PYTHON_FLOAT}
    first = ast.Name(total, ast.Load()) if is_float else ast.Constant(0.0)
    cx.before(*cx.code("PARTIAL = FIRST; LOST = 0.0", FIRST=first, **names))
    text = """
        ITEM = E
        NEXT = PARTIAL + ITEM
        LOST = LOST + ((PARTIAL - NEXT) + ITEM if ABS(PARTIAL) >= ABS(ITEM) else
                       (ITEM - NEXT) + PARTIAL)
        PARTIAL = NEXT
        TOTAL = NEXT + LOST if LOST != 0.0 and LOST - LOST == 0.0 else NEXT
    """
    return cx.code(
        text, TOTAL=total, E=items.elt, ITEM=cx.fresh("item"), NEXT=cx.fresh("next"), **names,
        ABS=cx.expr("NP.abs", NP=cx.numpy),
    )
