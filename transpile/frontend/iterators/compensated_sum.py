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


_PYTHON_TYPES = {_PYTHON_FLOAT, ScalarType("i64", weak=True), ScalarType("bool", weak=True), None}

_STEP = """
NEXT = PARTIAL + ITEM
LOST = LOST + ((PARTIAL - NEXT) + ITEM if ABS(PARTIAL) >= ABS(ITEM) else (ITEM - NEXT) + PARTIAL)
PARTIAL = NEXT
TOTAL = PARTIAL + LOST if LOST != 0.0 and LOST - LOST == 0.0 else PARTIAL
"""

_STEP_BY_TYPE = """
if not _core.may_be_python_float(ITEM):
    TOTAL = TOTAL + ITEM
    ADDED = False
elif _core.is_python_float(ITEM):
    VALUE = ITEM * 1.0
    NEXT = (PARTIAL if ADDED else TOTAL * 1.0) + VALUE
    if ADDED:
        LOST = LOST + (
            (PARTIAL - NEXT) + VALUE if ABS(PARTIAL) >= ABS(VALUE) else (VALUE - NEXT) + PARTIAL
        )
    PARTIAL = NEXT
    ADDED = True
elif ADDED:
    PARTIAL = PARTIAL + ITEM
else:
    TOTAL = TOTAL + ITEM
"""
"""The step for items of unknown types. Ints are added exactly before the first float; what its
addition, and those of ints after it, round off is lost. Lowering knows the types, and drops the
branches that are not taken.
"""

_RESULT_BY_TYPE = """
if ADDED:
    TOTAL = PARTIAL + LOST if LOST != 0.0 and LOST - LOST == 0.0 else PARTIAL
"""


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


def _is_python_number(start: ast.expr, cx: Context) -> bool:
    """Whether `start` is an int or float of Python, and which one is known."""
    types = set(cx.fact(start).types)
    return len(types) == 1 and types < _PYTHON_TYPES


def may_be_compensated(
    start: ast.expr, items: ast.GeneratorExp | ast.ListComp, cx: Context
) -> bool:
    """Whether it is not known here if Python carries a correction along: some items, and the start,
    may be Python floats.
    """
    if not SUMS_ARE_COMPENSATED or _is_numpys(start, cx):
        return False
    types = _item_types(items, cx)
    is_settled = types <= _PYTHON_TYPES - {None} and _is_python_number(start, cx)
    return not is_settled and bool(types & {_PYTHON_FLOAT, None})


def compensated_step(
    total: str, start: ast.expr, items: ast.GeneratorExp | ast.ListComp, cx: Context
) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """The step of a compensated sum of `items` from `start` on, as Python 3.12 and later compute
    it, and the statements after the last step (Neumaier, Rundungsfehleranalyse einiger Verfahren
    zur Summation endlicher Summen, ZAMM 54, 1974). None if no item can be a Python float, or the
    type of the start is not known::

        _next = _partial + item
        _lost = _lost + ((_partial - _next) + item if abs(_partial) >= abs(item) else
                         (item - _next) + _partial)          # what all additions have rounded off
        _partial = _next                                     # the plain sum
        total = _partial + _lost if _lost != 0.0 and _lost - _lost == 0.0 else _partial

    What is rounded off is not added where it is infinite or NaN. ``total``, which the caller has
    set to the start, may be the int 0 as long as there was no item.

    The step is `_STEP_BY_TYPE`, and `_RESULT_BY_TYPE` follows, if the start is an int other than 0;
    if an item may also be an int; or if lowering alone knows the type of an item, as of those of a
    list that the function has made.
    """
    if not SUMS_ARE_COMPENSATED or not _is_python_number(start, cx):
        return None
    types = _item_types(items, cx)
    if not types & {_PYTHON_FLOAT, None} or not types <= _PYTHON_TYPES:
        return None
    names = {name: cx.fresh(name.lower()) for name in ("PARTIAL", "LOST", "ITEM", "NEXT")}
    names["TOTAL"] = total
    abs_of = cx.expr("NP.abs", NP=cx.numpy)
    is_float = set(cx.fact(start).types) == {_PYTHON_FLOAT}
    is_simple = _is_zero_or_float(start, cx)
    first = cx.expr("TOTAL" if is_float else "0.0" if is_simple else "TOTAL * 1.0", **names)
    cx.before(*cx.code("PARTIAL = FIRST; LOST = 0.0", FIRST=first, **names))
    item = cx.code("ITEM = E", E=items.elt, **names)
    if is_simple and types == {_PYTHON_FLOAT}:
        return [*item, *cx.code(_STEP, ABS=abs_of, **names)], []
    names |= {"ADDED": cx.fresh("added_float"), "VALUE": cx.fresh("value")}
    cx.before(*cx.code("ADDED = START", START=ast.Constant(is_float), **names))
    step = cx.code(_STEP_BY_TYPE, ABS=abs_of, **names)
    return [*item, *step], cx.code(_RESULT_BY_TYPE, **names)
