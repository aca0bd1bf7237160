"""Compensated sum: what Python's ``sum`` of floats computes from Python 3.12 on.

`builtin_folds.sum_fold` asks for the step of its loop: `compensated_step` where all items are known
to be floats, `step_by_type` where lowering must find out.
"""
from __future__ import annotations

import ast
import sys
from collections.abc import Mapping

from ...analysis.type_inference.binding_facts import item_fact
from ...types.value_types import ScalarType
from ..ast_names import rename_names
from ..fold_branches import constant_bindings
from ..macros.macro_context import Context

__all__ = ["SUMS_ARE_COMPENSATED", "compensated_step", "may_be_compensated", "step_by_type"]

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
        case _, [ast.comprehension(target=target, iter=iterable)] if (
            turns := constant_bindings(target, iterable)
        ):  # such as the axis of a call
            facts = [cx.fact(rename_names(items.elt, _as_nodes(known))) for known in turns]
    return frozenset(t for fact in facts for t in fact.types or (None,))


def _as_nodes(known: Mapping[str, object]) -> dict[str, str | ast.expr]:
    return {name: ast.Constant(value) for name, value in known.items()}  # type: ignore[arg-type]


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
    """Whether Python's ``sum`` may be compensated here: Python is 3.12 or later, an item may be a
    Python float (or its type is unknown), and the start is not surely a NumPy scalar.
    """
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


def step_by_type(total: str, item: ast.expr, cx: Context) -> list[ast.stmt]:
    """The step of a sum whose items may be of any types, as Python 3.12 and 3.13 compute it
    (``builtin_sum_impl`` in ``Python/bltinmodule.c``). Python 3.14 differs for complex numbers
    alone, whose sums it compensates, too::

        _item = item
        if _core.is_float(total):
            if _core.is_float(_item):
                …                                # the step of `compensated_step`
            elif _core.is_int(_item):
                _partial = _partial + _item      # without a correction of its own
                total = _partial + _lost if … else _partial
            else:                                # a NumPy scalar: all additions are plain then
                total = total + _item
                _lost = 0.0
        else:
            total = total + _item
            if _core.is_float(total):            # the first float among ints
                _partial = total

    Lowering knows most types, and then lowers one branch alone of an ``if`` on them. ``total``,
    which the caller has set to the start, is the sum so far after each step. If the start is a
    bool, Python adds plainly: ``_lost`` starts as NaN, and remains NaN, so it is never added. As
    each step reads ``_lost``, the loop is no reduction, and the additions keep their order.
    """
    parts = {
        "TOTAL": total, "PARTIAL": cx.fresh("partial"), "LOST": cx.fresh("lost"),
        "ITEM": cx.fresh("item"), "NEXT": cx.fresh("next"),
    }
    start = """
        PARTIAL = 0.0
        LOST = 0.0
        if _core.is_float(TOTAL): PARTIAL = TOTAL
        if _core.is_bool(TOTAL): LOST = NAN
    """
    cx.before(*cx.code(start, NAN=cx.expr("1e999 - 1e999"), **parts))
    corrected = "PARTIAL + LOST if LOST != 0.0 and LOST - LOST == 0.0 else PARTIAL"
    text = f"""
        ITEM = E
        if _core.is_float(TOTAL):
            if _core.is_float(ITEM):
                NEXT = PARTIAL + ITEM
                LOST = LOST + ((PARTIAL - NEXT) + ITEM if ABS(PARTIAL) >= ABS(ITEM) else
                               (ITEM - NEXT) + PARTIAL)
                PARTIAL = NEXT
                TOTAL = {corrected}
            elif _core.is_int(ITEM):
                PARTIAL = PARTIAL + ITEM
                TOTAL = {corrected}
            else:
                TOTAL = TOTAL + ITEM
                LOST = 0.0
        else:
            TOTAL = TOTAL + ITEM
            if _core.is_float(TOTAL): PARTIAL = TOTAL
    """
    return cx.code(text, **parts, E=item, ABS=cx.expr("NP.abs", NP=cx.numpy))
