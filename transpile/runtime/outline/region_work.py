"""Estimate of a region's work: the most operations that it may do, where that is known beforehand.

Known are the types of what it reads, and numbers of iterations that are in the source. A region
that can never do enough to outweigh a call of compiled code need not be compiled. What is not known
here is measured at run time (`call_selection`).
"""
from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from ...analysis.type_facts import Fact
from ...frontend.ast_walk import walk_nodes
from ...frontend.macros.macro_context import Context

__all__ = ["FEW_OPERATIONS", "most_operations"]

FEW_OPERATIONS = 8
"""Operations that Python does in less time than a call of compiled code takes, with a return to
Python and the construction of the results (about 150 ns)."""

_UNKNOWN = math.inf
_OF_NUMPY = 3
"""How many operations of Python's scalars take as long as one of NumPy's scalars or of elements."""

_SHORT_CALLS = (
    abs, bool, float, int, len, max, min, math.sqrt, math.sin, math.cos, math.tan, math.exp,
    math.log, math.floor, math.ceil, math.fabs, math.hypot, math.atan2,
)
"""Functions that take little time for scalars."""

_OPERATIONS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Attribute,
    ast.Call,
)
_FREE = (ast.Name, ast.Constant, ast.Tuple, ast.expr_context, ast.operator, ast.unaryop, ast.boolop)
_SHORT_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot)
_LONG_OPERATORS = (ast.Pow, ast.LShift, ast.MatMult)
"""Their results may be large ints, or arrays."""


def most_operations(
    run: Sequence[ast.stmt], before: Mapping[ast.stmt, Mapping[str, Fact]], cx: Context
) -> float:
    """The largest number of operations of scalars that the statements `run` may do; infinite if it
    is not known. `before`: the facts before each statement.
    """
    outer = cx.facts.known
    try:
        return sum(_of_statement(s, before, cx) for s in run)
    finally:
        cx.facts.known = outer


def _of_statement(
    s: ast.stmt, before: Mapping[ast.stmt, Mapping[str, Fact]], cx: Context
) -> float:
    """As `most_operations`, of one statement."""

    def of(*parts: ast.expr) -> float:
        cx.facts.known = dict(before.get(s, {}))
        return sum(_of_expression(e, cx) for e in parts)

    match s:
        case ast.Assign(targets=targets, value=value):
            return of(*targets, value)
        case ast.AugAssign(target=ast.Name() as name, op=operator, value=value):
            return of(ast.BinOp(ast.Name(name.id, ast.Load()), operator, value))
        case ast.If(test=test, body=body, orelse=orelse):
            branches = (most_operations(b, before, cx) for b in (body, orelse))
            return of(test) + max(branches)
        case ast.For(target=ast.Name(), iter=iterable, body=body, orelse=[]):
            cx.facts.known = dict(before.get(s, {}))
            trips = _iterations(iterable, cx.resolve)
            return trips * most_operations(body, before, cx) if trips else 0
        case ast.Pass() | ast.Break() | ast.Continue():
            return 0
    return _UNKNOWN


def _iterations(iterable: ast.expr, resolve: Callable[[ast.expr], object]) -> float:
    """The number of items, if it is in the source."""
    match iterable:
        case ast.Tuple(elts=items) | ast.List(elts=items) if all(map(_is_number, items)):
            return len(items)
        case ast.Call(func=f, args=[_, *_] as args, keywords=[]) if resolve(f) is builtins.range:
            try:
                return len(range(*map(ast.literal_eval, args)))
            except (TypeError, ValueError, OverflowError):
                pass  # an argument that is no constant, or a step of 0
    return _UNKNOWN


def _is_number(e: ast.expr) -> bool:
    """Whether `e` is a literal number."""
    return isinstance(e, ast.Constant) and isinstance(e.value, (int, float))


def _of_expression(e: ast.expr, cx: Context) -> float:
    """The number of operations in `e`, each of NumPy's counted `_OF_NUMPY` times."""
    return sum(_weights(e, cx))


def _weights(e: ast.expr, cx: Context) -> Iterator[float]:
    """The weight of each operation in `e`."""
    for n in walk_nodes(e):
        if isinstance(n, _OPERATIONS):
            yield _weight(n, cx)
        elif not isinstance(n, (*_FREE, ast.cmpop)):
            yield _UNKNOWN


def _weight(n: ast.expr, cx: Context) -> float:
    """The weight of one operation, without its operands."""
    match n:
        case ast.BinOp(op=operator) if isinstance(operator, _LONG_OPERATORS):
            return _UNKNOWN
        case ast.Compare(ops=ops) if not all(isinstance(op, _SHORT_COMPARISONS) for op in ops):
            return _UNKNOWN
        case ast.Call(func=f, args=args, keywords=[]) if _is_short_call(cx.resolve(f)):
            operands: Sequence[ast.expr] = args
        case ast.Call():
            return _UNKNOWN
        case ast.Attribute() if cx.resolve(n) is not None:
            return 1  # of a module
        case ast.Subscript(ctx=ast.Store()):
            return _OF_NUMPY
        case ast.Subscript(ctx=ast.Load()):
            operands = [n]
        case ast.Attribute():
            return _UNKNOWN  # which may be a property
        case _:
            operands = [x for x in ast.iter_child_nodes(n) if isinstance(x, ast.expr)]
    return max((_of_value(cx.fact(x)) for x in operands), default=1)


def _is_short_call(function: object) -> bool:
    """Whether a call of `function` takes little time for scalars."""
    return any(function is known for known in _SHORT_CALLS)


def _of_value(fact: Fact) -> float:
    """The weight of an operation of a value that is so."""
    if fact.rank != 0 or not fact.types:
        return _UNKNOWN
    return 1 if all(getattr(t, "weak", False) for t in fact.types) else _OF_NUMPY
