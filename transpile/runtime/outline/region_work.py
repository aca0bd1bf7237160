"""Estimate of a region's work: the most operations that it may do, where that is known beforehand.

The estimate uses the types of the names that the region reads, where they are known, and trip
counts that are constants in the source. A region that can never do enough to outweigh a call of
compiled code (`FEW_OPERATIONS`) stays Python. Whether any other region pays is measured at run time
(`call_selection`)::

    for d in (-1, 1):            # 2 iterations of 2 operations of Python's ints: 4
        k = k * 2 + d
"""
from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from loopir.process.signal_exceptions import failures

from ...analysis.type_inference.type_lattice import Fact
from ...frontend.ast_walk import child_nodes, walk_nodes
from ...frontend.macros.macro_context import Context
from ...types.value_types import is_weak

__all__ = ["FEW_OPERATIONS", "most_operations"]

FEW_OPERATIONS = 8
"""Operations that Python does in less time than a call of compiled code takes, with a return to
Python and the construction of the results (150 to 200 ns)."""

_UNKNOWN = math.inf
"""The work of code that may take long: more than any limit."""
_NUMPY_WEIGHT = 3
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
"""Nodes that are counted as an operation."""
_FREE = (ast.Name, ast.Constant, ast.Tuple, ast.expr_context, ast.operator, ast.unaryop, ast.boolop)
"""Nodes that take no time worth counting."""
_SHORT_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot)
_LONG_OPERATORS = (ast.Pow, ast.LShift, ast.MatMult)
"""Their results may be large ints, or arrays."""


def most_operations(
    run: Sequence[ast.stmt], before: Mapping[ast.stmt, Mapping[str, Fact]], cx: Context
) -> float:
    """An upper bound on the work of the statements `run`, in operations of Python's scalars (some
    20 ns each); infinite if there is none, so that a region is refused only if it is surely short.

    An expression counts its operations, those of NumPy's scalars `_NUMPY_WEIGHT` times; an ``if``
    its longer branch; a ``for`` its body times the trip count, if that is a constant in the source.
    Anything else, such as a ``while`` or a call of an unknown function, is infinite. ``before``:
    the facts (types) before each statement. `RegionFacts.is_too_short` compares the bound with
    `FEW_OPERATIONS`.
    """
    outer = cx.facts.known
    try:
        return sum(_operations_of_statement(s, before, cx) for s in run)
    finally:
        cx.facts.known = outer


def _operations_of_statement(
    s: ast.stmt, before: Mapping[ast.stmt, Mapping[str, Fact]], cx: Context
) -> float:
    """As `most_operations`, of one statement: its expressions, the longer branch of an ``if``, a
    ``for`` times its trip count. Infinite for any other statement.
    """

    def operations(*parts: ast.expr) -> float:
        """The operations in these expressions of `s`."""
        cx.facts.known = dict(before.get(s, {}))
        return sum(_operations_of_expression(e, cx) for e in parts)

    match s:
        case ast.Assign(targets=targets, value=value):
            return operations(*targets, value)
        case ast.AugAssign(target=ast.Name() as name, op=operator, value=value):
            return operations(ast.BinOp(ast.Name(name.id, ast.Load()), operator, value))
        case ast.If(test=test, body=body, orelse=orelse):
            branches = (most_operations(b, before, cx) for b in (body, orelse))
            return operations(test) + max(branches)
        case ast.For(target=ast.Name(), iter=iterable, body=body, orelse=[]):
            cx.facts.known = dict(before.get(s, {}))
            trips = _constant_trip_count(iterable, cx.resolve)
            return trips * most_operations(body, before, cx) if trips else 0
        case ast.Pass() | ast.Break() | ast.Continue():
            return 0
    return _UNKNOWN


def _constant_trip_count(iterable: ast.expr, resolve: Callable[[ast.expr], object]) -> float:
    """The number of items of a display of numbers or of a ``range`` of constants; else infinite.
    """
    match iterable:
        case ast.Tuple(elts=items) | ast.List(elts=items) if all(map(_is_number, items)):
            return len(items)
        case ast.Call(func=f, args=[_, *_] as args, keywords=[]) if resolve(f) is builtins.range:
            try:
                return len(range(*map(ast.literal_eval, args)))
            except failures(TypeError, ValueError, OverflowError):
                pass  # an argument that is no constant, or a step of 0
    return _UNKNOWN


def _is_number(e: ast.expr) -> bool:
    """Whether `e` is a literal number."""
    return isinstance(e, ast.Constant) and isinstance(e.value, (int, float))


def _operations_of_expression(e: ast.expr, cx: Context) -> float:
    """The number of operations in `e`, each of NumPy's counted `_NUMPY_WEIGHT` times."""
    return sum(_operation_weights(e, cx))


def _operation_weights(e: ast.expr, cx: Context) -> Iterator[float]:
    """The weight of each operation in `e`; infinite for a node that is not known to be short."""
    for n in walk_nodes(e):
        if isinstance(n, _OPERATIONS):
            yield _operation_weight(n, cx)
        elif not isinstance(n, (*_FREE, ast.cmpop)):
            yield _UNKNOWN


def _operation_weight(n: ast.expr, cx: Context) -> float:
    """The time of the operation `n`, without that of computing its operands, in operations of
    Python's scalars; infinite if it may be long or run the user's code.
    """
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
            return _NUMPY_WEIGHT
        case ast.Subscript(ctx=ast.Load()):
            operands = [n]
        case ast.Attribute():
            return _UNKNOWN  # which may be a property
        case _:
            operands = [x for x in child_nodes(n) if isinstance(x, ast.expr)]
    return max((_weight_of_operand(cx.fact(x)) for x in operands), default=1)


def _is_short_call(function: object) -> bool:
    """Whether a call of `function` takes little time for scalars."""
    return any(function is known for known in _SHORT_CALLS)


def _weight_of_operand(fact: Fact) -> float:
    """The weight of an operation on a value of which `fact` is known: 1 for a Python scalar,
    `_NUMPY_WEIGHT` for a NumPy scalar, infinite for anything else.
    """
    if fact.rank != 0 or not fact.types:
        return _UNKNOWN
    return 1 if all(is_weak(t) for t in fact.types) else _NUMPY_WEIGHT
