"""Array expressions as index functions: shape, checks and the element at given subscripts.

An expression is not computed as a whole but where a loop nest asks for an element (delayed
arrays, as Halide's functions). Operands are taken in NumPy's order of evaluation.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from loopir.lazy_dataclass import record
from loopir.op_table import OPS

from ..analysis.type_facts import Fact
from ..frontend.ast_walk import same_tree, walk_nodes
from ..frontend.core_nodes import mark_step
from ..frontend.int_exprs import integer_constant
from ..frontend.macros.macro_context import Context
from ..frontend.macros.replay_guards import bind_fresh, unique_nodes
from ..types.value_types import ELEMENTS, ScalarType

__all__ = [
    "View", "broadcast_views", "element_at", "broadcast_subscripts", "is_unit_length",
    "is_viewable", "named_array_view", "materialized_view", "may_alias", "scalar_overflow_checks",
    "may_read_array", "scalar_view", "length_mismatches", "view_of", "operands_by_index",
    "recomputed_operands",
]


@record(frozen=True, slots=True)
class View:
    """``at(i, …)`` is the element for `i` in ``range(shape[0])`` …; where one of ``checks`` holds,
    only Python knows. ``order``: C or F, as the elements lie in memory, C+F for
    NumPy to choose, or ? where not known.
    """

    shape: tuple[ast.expr, ...]
    at: Callable[[Sequence[ast.expr]], ast.expr]
    checks: tuple[ast.expr, ...] = ()
    order: str = "C"


def view_of(e: ast.expr, cx: Context) -> View | None:
    """`e` as an index function, by the first of ``cx.view_rules`` that knows it.

    Where none does, `e` is computed beforehand. None where it is neither an array nor a scalar.
    """
    fact = cx.fact(e)
    if fact.rank == 0:
        return scalar_view(e, cx)
    if not is_viewable(fact):
        return None
    if isinstance(e, ast.Name):
        return named_array_view(e, cx)
    for rule in cx.view_rules:
        if isinstance(view := rule(e, cx), View):
            return view
    return materialized_view(e, cx)


def is_viewable(fact: Fact) -> bool:
    """Whether `view_of` has one of what `fact` is of."""
    return fact.rank == 0 or fact.array is not None


def scalar_view(e: ast.expr, cx: Context) -> View:
    """One value for all elements, computed once."""
    if not isinstance(e, (ast.Constant, ast.Name)) and integer_constant(e, None) is None:
        e = bind_fresh(e, "s", cx)
    return View((), lambda _: e)


def named_array_view(e: ast.expr, cx: Context) -> View:
    """An array by its name."""
    fact = cx.fact(e)
    rank = fact.rank or 0
    shape = tuple(
        cx.expr(text) if text else cx.expr("X.shape[K]", X=e, K=ast.Constant(k))
        for k, text in enumerate(fact.shape or [""] * rank)
    )
    if not all(map(cx.facts.lasting, shape)):
        shape = tuple(n if isinstance(n, ast.Constant) else bind_fresh(n, "n", cx) for n in shape)
    return View(shape, lambda at: element_at(e, at, cx), order=fact.order)


def element_at(array: ast.expr, at: Sequence[ast.expr], cx: Context) -> ast.expr:
    """``array[at]``"""
    index = at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())
    return cx.expr("X[I]", X=array, I=index)


def materialized_view(e: ast.expr, cx: Context) -> View:
    """`e` computed beforehand, under a name of its own."""
    return named_array_view(bind_fresh(e, "a", cx), cx)


def broadcast_views(
    parts: Sequence[View], combine: Callable[[list[ast.expr]], ast.expr], cx: Context
) -> View:
    """``combine`` of the parts' elements, under NumPy's broadcasting.

    An axis is stretched where its length is 1 in the source; where it is only at the call, or
    lengths differ, Python knows.
    """
    rank = max(len(p.shape) for p in parts)
    checks = [c for p in parts for c in p.checks]
    shape: list[ast.expr] = []
    for axis in range(-rank, 0):
        lengths = [p.shape[axis] for p in parts if len(p.shape) >= -axis]
        first, *others = unique_nodes([n for n in lengths if not is_unit_length(n)] or lengths[:1])
        shape.append(first)
        checks += [cx.expr("A != B", A=first, B=n) for n in others]

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return combine([p.at(broadcast_subscripts(p.shape, index)) for p in parts])

    return View(tuple(shape), at, tuple(unique_nodes(checks)), _broadcast_order(parts, shape))


def _broadcast_order(parts: Sequence[View], shape: Sequence[ast.expr]) -> str:
    """The order of what is computed of `parts`, which has this shape. Two axes lie as in C where a
    part that has both does; axes that a part is stretched along do not matter to it.
    """
    def lengths(p: Sequence[ast.expr]) -> set[int]:
        return {k for k in range(-len(p), 0) if not is_unit_length(p[k])}

    telling = [p for p in parts if len(lengths(p.shape)) > 1]
    whole = [p.order for p in telling if lengths(p.shape) == lengths(shape)]
    rest = {p.order for p in telling if lengths(p.shape) != lengths(shape)}
    if not whole:
        return "C" if rest <= {"C"} else "?"
    order = _common_order({*whole})
    return order if order != "F" or rest <= {"F"} else "?"


def _common_order(orders: set[str]) -> str:
    """The order of what is computed of arrays in these; C+F where NumPy's choice is another."""
    return orders.pop() if len(orders) == 1 else "?" if "?" in orders else "C+F"


def length_mismatches(
    lengths: Iterable[ast.expr], others: Iterable[ast.expr], cx: Context
) -> list[ast.expr]:
    """Where axis for axis, as far as there are both, two lengths are not the same."""
    pairs = zip(lengths, others, strict=False)
    return [cx.expr("A != B", A=a, B=b) for a, b in pairs if not same_tree(a, b)]


def broadcast_subscripts(shape: Sequence[ast.expr], index: Sequence[ast.expr]) -> list[ast.expr]:
    """The subscripts of a part, whose axes of length 1 are stretched."""
    own = index[len(index) - len(shape) :]
    return [ast.Constant(0) if is_unit_length(n) else i for n, i in zip(shape, own, strict=True)]


def scalar_overflow_checks(e: ast.expr, of: View, dtype: str, cx: Context) -> list[ast.expr]:
    """Where `e`, whose view is `of`, is an int of Python's, or a float, that elements of `dtype` do
    not hold: NumPy asks that once, ahead of all elements, of which there may be none.
    """
    element, fact = ELEMENTS[dtype].numpy, cx.fact(e)
    exact = fact.types and all(ELEMENTS[t.dtype].kind in "iub" for t in fact.types)
    if fact.rank != 0 or element.kind not in "iu" or (exact and not fact.is_int):
        return []
    info, value = np.iinfo(element), of.at(())
    if not exact:
        low, high = (ast.Constant(float(n)) for n in (int(info.min) - 1, int(info.max) + 1))
        return [cx.expr("not LOW < E < HIGH", LOW=low, E=value, HIGH=high)]
    if dtype == "i64":
        return []
    below = cx.expr("E < LEAST", E=value, LEAST=ast.Constant(int(info.min)))
    above = cx.expr("E > MOST", E=value, MOST=ast.Constant(int(info.max)))
    return [below] if dtype == "u64" else [below, above]


def may_read_array(e: ast.expr, owner: str | None, cx: Context) -> bool:
    """Whether `e` may read the array that `owner` is the name of."""
    names = (n for n in walk_nodes(e) if isinstance(n, ast.Name))
    return any(f.array and may_alias(owner, f.owner) for f in map(cx.fact, names))


def may_alias(owner: str | None, other: str | None) -> bool:
    """Whether arrays of these owners, as facts have them, may be one: that of None is any but one
    that was just made.
    """
    return owner == other or (None in (owner, other) and "" not in (owner, other))


def is_unit_length(length: ast.expr) -> bool:
    """Whether an axis is stretched."""
    return isinstance(length, ast.Constant) and length.value == 1


_EXPENSIVE_OPERATIONS = {op.run for op in OPS.values() if op.weight > 3}
"""Functions that take longer than it does to load what they give."""

_CALLS_WITHOUT_WARNINGS = {"abs", "bool", "float", "int", "len", "max", "min"}


def operands_by_index(
    operands: Sequence[ast.expr], cx: Context, apart: Collection[int] = ()
) -> list[View]:
    """The views of `operands`, which are viewable; those at the places of `apart` are computed
    beforehand.

    Where what is computed beforehand may warn, what is computed of the operands ahead of it are
    steps: in NumPy their warnings come first.
    """
    found: list[View] = []
    for k, operand in enumerate(operands):
        ahead = cx.lines_ahead
        of = view_of(bind_fresh(operand, "a", cx) if k in apart else operand, cx)
        assert of is not None
        if cx.lines_ahead > ahead and _may_warn(operand, cx):
            found = [_evaluated_late(earlier) for earlier in found]
        found.append(of)
    return found


def recomputed_operands(operands: Sequence[ast.expr], cx: Context) -> set[int]:
    """Which of the operands of an elementwise operation are arrays that are dear to compute, and
    would be computed anew for each row of the result: they are stretched along its first axis.
    """
    rank = max(cx.fact(e).rank or 0 for e in operands)

    def recurs(e: ast.expr) -> bool:
        own, shape = cx.fact(e).rank or 0, cx.fact(e).shape
        stretched = own < rank or (own > 1 and shape is not None and shape[0] == "1")
        return own > 0 and stretched and any(_is_expensive(n, cx) for n in ast.walk(e))

    return {k for k, e in enumerate(operands) if recurs(e)}


def _is_expensive(n: ast.AST, cx: Context) -> bool:
    match n:
        case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod()):
            return True
        case ast.BinOp(op=ast.Pow(), right=exponent):
            return not (isinstance(exponent, ast.Constant) and exponent.value == 2)
        case ast.Call(func=func):
            return cx.resolve(func) in _EXPENSIVE_OPERATIONS
    return False


def _may_warn(e: ast.expr, cx: Context) -> bool:
    """Whether more is done in `e` than arithmetic of Python's numbers."""
    def quiet(n: ast.AST) -> bool:
        types = cx.fact(n).types if isinstance(n, (ast.BinOp, ast.UnaryOp)) else ()
        numbers = all(isinstance(t, ScalarType) and t.weak for t in types)
        return numbers and (not isinstance(n, ast.Call) or cx.builtin(n) in _CALLS_WITHOUT_WARNINGS)

    return not all(map(quiet, ast.walk(e)))


def _evaluated_late(of: View) -> View:
    """`of`, whose elements are computed later than NumPy computes them."""
    def at(index: Sequence[ast.expr]) -> ast.expr:
        e = of.at(index)
        for n in ast.walk(e):
            if isinstance(n, (ast.BinOp, ast.UnaryOp, ast.Call)):
                mark_step(n)
        return e

    return replace(of, at=at)
