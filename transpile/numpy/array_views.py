"""Array views: an array expression as a shape, checks, and a function from subscripts to elements.

A `View` delays the computation of an array expression (as a ``Func`` of Halide): it computes no
array, but gives for subscripts the scalar expression of the element there. A macro
(`elementwise.array_assignment`; for reductions `reduce.axis_reductions`) makes the view of a whole
expression and emits one loop nest that evaluates it::

    x * 2.0 + y   →   shape: (x.shape[0],)   checks: x.shape[0] != y.shape[0]
                      at(i): np.add(np.multiply(x[i], 2.0), y[i])

`view_of` tries the rules of ``cx.view_rules`` in order (`macro_table` has the list:
subscripts, elementwise operations, formulas, movements …). A subexpression without a rule is
computed before the statement and bound to a fresh name. The statements that do so are in NumPy's
order of evaluation.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from loopir.lazy_dataclass import record, replace
from loopir.op_table import OPS

from ..analysis.alias_analysis import Owner, owners_may_alias
from ..analysis.type_inference.type_lattice import UNIT_LENGTH, UNKNOWN_ORDER, Fact
from ..diagnostics import Rejection
from ..frontend.ast_walk import integer_constant, same_tree, walk_nodes
from ..frontend.core_nodes import mark_operation_part, note_obstacle, source_text
from ..frontend.macros.bind_operands import bind_fresh
from ..frontend.macros.macro_context import Context
from ..frontend.macros.replay_guards import unique_nodes
from ..frontend.source import span_of
from ..host_nodes import to_ast
from ..types.effects import stores_to_out
from ..types.value_types import ELEMENTS, ScalarType

__all__ = [
    "View", "broadcast_views", "element_at", "broadcast_subscripts", "is_unit_length",
    "is_viewable", "named_array_view", "materialized_view", "note_unknown_order",
    "scalar_overflow_checks",
    "may_read_array", "scalar_view", "length_mismatches", "view_of", "operands_by_index",
    "operands_to_materialize",
]


@record(frozen=True, slots=True)
class View:
    """An array expression as a function from subscripts to its elements."""

    shape: tuple[ast.expr, ...]
    """The length of each axis, in core Python; ``()`` for a scalar."""
    at: Callable[[Sequence[ast.expr]], ast.expr]
    """The element at non-negative subscripts below ``shape``, one for each axis."""
    checks: tuple[ast.expr, ...] = ()
    """Conditions under which NumPy raises or the view is wrong: where one of them is true at run
    time, the call is replayed as Python. The macro that uses the view guards its code by them."""
    order: str = "C"
    """The memory order of the array that NumPy would compute: "C", "F", "C+F" where NumPy decides
    between both by the strides of operands of both orders, or `UNKNOWN_ORDER`."""


def view_of(e: ast.expr, cx: Context) -> View | None:
    """The view of `e`, from which a macro makes the loops over its elements: its shape, and the
    element at each subscript. Macros call it for the expression of a statement, and view rules for
    their operands. None where `e` is not surely an array or a scalar.

        x * 2.0 + y    →    shape (x.shape[0],),  at(i) = np.add(np.multiply(x[i], 2.0), y[i]),
                            checks (x.shape[0] != y.shape[0],): then the call is replayed

    1. A scalar is the same at all subscripts.
    2. A name of an array is read at the subscripts.
    3. Each of ``cx.view_rules`` (`macro_table.VIEW_RULES`) knows some forms of expressions.
    4. What no rule knows is computed by a statement before the current one, which binds it to a
       fresh name.
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
    """Whether an expression with this fact is surely an array or a scalar, so that `view_of`
    succeeds.
    """
    return fact.rank == 0 or fact.array is not None


def scalar_view(e: ast.expr, cx: Context) -> View:
    """The view of rank 0 of a scalar; an expression is evaluated once, before the statement."""
    if not isinstance(e, (ast.Constant, ast.Name)) and integer_constant(e, None) is None:
        e = bind_fresh(e, "s", cx)
    return View((), lambda _: e)


def named_array_view(e: ast.expr, cx: Context) -> View:
    """The view of the array that the name `e` is bound to. Lengths that may change before they are
    used are bound to fresh names.
    """
    fact = cx.fact(e)
    rank = fact.rank or 0
    shape = tuple(
        cx.expr("X.shape[K]", X=e, K=ast.Constant(k)) if n is None else cx.expr("N", N=to_ast(n))
        for k, n in enumerate(fact.shape or [None] * rank)
    )
    if not all(map(cx.facts.is_invariant, shape)):
        shape = tuple(n if isinstance(n, ast.Constant) else bind_fresh(n, "n", cx) for n in shape)
    return View(shape, lambda at: element_at(e, at, cx), order=fact.order)


def element_at(array: ast.expr, at: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The expression ``array[at]``."""
    index = at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())
    return cx.expr("X[I]", X=array, I=index)


def materialized_view(e: ast.expr, cx: Context) -> View:
    """The view of a fresh name to which `e` is bound, before the current statement."""
    return named_array_view(bind_fresh(e, "a", cx), cx)


def broadcast_views(
    operands: Sequence[View], combine: Callable[[list[ast.expr]], ast.expr], cx: Context
) -> View:
    """The view whose elements are `combine` of the operands' elements, under NumPy's broadcasting.

        a of shape (n, m), b of shape (m,)   →   shape (n, m), at(i, j) = combine([a[i, j], b[j]])

    An axis is stretched only where its length is the constant 1: that of a new axis, as in ``X[:,
    None]``, or one of an argument by its type (`Facts.assumed_unit_length_axes`). All other lengths
    of an axis must be equal, which the view's checks compare at run time. A length that turns out
    to be 1 fails the check, and NumPy broadcasts it in the replay: for both cases in one loop, each
    subscript would need a test. Lengths with the same text need no check.
    """
    rank = max(len(operand.shape) for operand in operands)
    checks = [c for operand in operands for c in operand.checks]
    shape: list[ast.expr] = []
    for axis in range(-rank, 0):
        lengths = [v.shape[axis] for v in operands if len(v.shape) >= -axis]
        first, *others = unique_nodes([n for n in lengths if not is_unit_length(n)] or lengths[:1])
        shape.append(first)
        checks += [cx.expr("A != B", A=first, B=n) for n in others]

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return combine([v.at(broadcast_subscripts(v.shape, index)) for v in operands])

    return View(tuple(shape), at, tuple(unique_nodes(checks)), _broadcast_order(operands, shape))


def _broadcast_order(operands: Sequence[View], shape: Sequence[ast.expr]) -> str:
    """The memory order that NumPy gives to the result, of `shape`, of an elementwise operation; the
    loop that fills the array must follow it. NumPy (``order="K"``) sorts the axes by the strides of
    the operands; here:

        C, C → "C"      F, F → "F"      C, F → "C+F" (by the strides)      F, C of fewer axes → "?"

    - Only operands with two or more axes that are not stretched decide: a vector has no order.
    - If some of these have all axes of the result, their common order is that of the result. If it
      is F, operands with fewer axes must be in F, too: else their strides decide between axes.
    - If none has all axes, the order is known only where all of them are in C.
    """
    def unstretched_axes(lengths: Sequence[ast.expr]) -> set[int]:
        return {k for k in range(-len(lengths), 0) if not is_unit_length(lengths[k])}

    deciding = [v for v in operands if len(unstretched_axes(v.shape)) > 1]
    axes = unstretched_axes(shape)
    with_all_axes = {v.order for v in deciding if unstretched_axes(v.shape) == axes}
    with_fewer_axes = {v.order for v in deciding if unstretched_axes(v.shape) != axes}
    if not with_all_axes:
        return "C" if with_fewer_axes <= {"C"} else UNKNOWN_ORDER
    order = _common_order(with_all_axes)
    return order if order != "F" or with_fewer_axes <= {"F"} else UNKNOWN_ORDER


def _common_order(orders: set[str]) -> str:
    """The order of a result of operands that have these orders; "C+F" where they differ, for then
    NumPy decides by the strides.
    """
    if len(orders) == 1:
        return orders.pop()
    return UNKNOWN_ORDER if UNKNOWN_ORDER in orders else "C+F"


def note_unknown_order(e: ast.expr, cx: Context) -> None:
    """Notes with `e` that a macro leaves it as it is since the memory order of the array that NumPy
    would make depends on strides: in the report, of the arguments in `e` whose order is not known.
    """
    text = source_text(e)
    names = dict.fromkeys(
        n.id for n in walk_nodes(e) if isinstance(n, ast.Name) and (cx.fact(n).rank or 0) > 1
        and cx.fact(n).order == UNKNOWN_ORDER and n.id in text
    )
    of = " and ".join(f"`{name}`" for name in names) or "its operands"
    message = f"the memory order of `{text}` depends on the strides of {of}"
    help = "pass arrays in C order, for instance those that `np.ascontiguousarray` returns"
    note_obstacle(e, Rejection("LOWER_UNSUPPORTED", message, span_of(e), help=help))


def length_mismatches(
    lengths: Iterable[ast.expr], others: Iterable[ast.expr], cx: Context
) -> list[ast.expr]:
    """Conditions that an axis has different lengths in `lengths` and in `others`, axis by axis from
    the first, as far as the shorter of the two goes. Lengths with the same text need none.
    """
    pairs = zip(lengths, others, strict=False)
    return [cx.expr("A != B", A=a, B=b) for a, b in pairs if not same_tree(a, b)]


def broadcast_subscripts(shape: Sequence[ast.expr], index: Sequence[ast.expr]) -> list[ast.expr]:
    """The subscripts of an operand of `shape`, for the element at `index` of the broadcast result:
    the last ones of `index`, and 0 along stretched axes.
    """
    trailing = index[len(index) - len(shape) :]
    pairs = zip(shape, trailing, strict=True)
    return [ast.Constant(0) if is_unit_length(n) else i for n, i in pairs]


def scalar_overflow_checks(e: ast.expr, view: View, dtype: str, cx: Context) -> list[ast.expr]:
    """Conditions that the scalar `e`, whose view is `view`, does not fit in the integer `dtype`.
    NumPy tests this once, before it visits elements, even if there are none.

    Empty where there is nothing to test: `dtype` is no integer; `e` is an array, a bool, a NumPy
    integer or a constant that fits; or it is a Python int and `dtype` is int64, as which lowering
    computes such ints.
    """
    element, fact = ELEMENTS[dtype].numpy, cx.fact(e)
    integral = fact.types and all(ELEMENTS[t.dtype].kind in "iub" for t in fact.types)
    if fact.rank != 0 or element.kind not in "iu" or (integral and not fact.is_int):
        return []
    info, value, constant = np.iinfo(element), view.at(()), integer_constant(e, None)
    if constant is not None and int(info.min) <= constant <= int(info.max):
        return []
    if not integral:
        low, high = (ast.Constant(float(n)) for n in (int(info.min) - 1, int(info.max) + 1))
        return [cx.expr("not LOW < E < HIGH", LOW=low, E=value, HIGH=high)]
    if dtype == "i64":
        return []
    below = cx.expr("E < LEAST", E=value, LEAST=ast.Constant(int(info.min)))
    above = cx.expr("E > MOST", E=value, MOST=ast.Constant(int(info.max)))
    return [below] if dtype == "u64" else [below, above]


def may_read_array(e: ast.expr, owner: Owner | None, cx: Context) -> bool:
    """Whether an array that `e` names may share memory with the array of `owner`."""
    names = (n for n in walk_nodes(e) if isinstance(n, ast.Name))
    return any(f.array and owners_may_alias(owner, f.owner) for f in map(cx.fact, names))


def is_unit_length(length: ast.expr) -> bool:
    """Whether `length` is the constant 1, so that broadcasting stretches the axis."""
    return isinstance(length, ast.Constant) and length.value == 1


_EXPENSIVE_OPERATIONS = {op.run for op in OPS.values() if op.weight > 3}
"""Functions that take longer than a load of their result from memory."""

_CALLS_WITHOUT_WARNINGS = {"abs", "bool", "float", "int", "len", "max", "min"}
"""Builtins that raise no floating-point condition of which NumPy would warn."""


def operands_by_index(
    operands: Sequence[ast.expr], cx: Context, materialized: Collection[int] = ()
) -> list[View]:
    """The views of `operands`, each of which is viewable; the operands whose positions are in
    `materialized` are computed before the statement.

    NumPy computes operands, and warns, from left to right. Here an operand that is computed before
    the statement comes earlier than the operands to its left that stay views, whose elements the
    statement computes. So if it may warn, the operations of these views are marked as parts of one
    operation (`mark_operation_part`): where one raises a floating-point condition, a replay gives
    Python's warnings in Python's order.

    An operand that stands in several positions (the same node) is computed once. Operands before
    one that stores to an array (``out=``) are computed before it does.
    """
    stores = [k for k, e in enumerate(operands) if _stores(e, cx)]
    if stores:
        atoms = (ast.Name, ast.Constant)
        earlier = {k for k, e in enumerate(operands[: stores[-1]]) if not isinstance(e, atoms)}
        materialized = earlier | {*materialized}
    views: list[View] = []
    for k, operand in enumerate(operands):
        same = next((n for n, earlier in enumerate(operands[:k]) if earlier is operand), None)
        if same is not None:
            views.append(views[same])
            continue
        lines_ahead = cx.before_count
        view = view_of(bind_fresh(operand, "a", cx) if k in materialized else operand, cx)
        assert view is not None
        if cx.before_count > lines_ahead and _may_warn(operand, cx):
            views = [_marked_as_parts(earlier) for earlier in views]
        views.append(view)
    return views


def operands_to_materialize(operands: Sequence[ast.expr], cx: Context) -> set[int]:
    """The positions of operands of an elementwise operation that are computed into an array before
    the operation, since as a part of its loop nest they would be computed again for each row.
    `elementwise_ops` and `elementwise_formulas` pass them to `operands_by_index`.

        X / np.exp(y)     of a matrix and a vector: {1}, so that there is one exp for each column
    →
        _a = np.exp(y)
        … X[i, j] / _a[j] …              not X[i, j] / np.exp(y[j]), which is one for each element

    That is worth an array only if the operand

    - is an array: a scalar is computed before the statement anyhow;
    - is broadcast along the first axis of the result, so that each of its elements is needed for
      each row: it has fewer axes, or length 1 along the first;
    - has an operation that takes longer than to load its result (`_is_expensive`).
    """
    rank = max(cx.fact(e).rank or 0 for e in operands)

    def is_worth_an_array(e: ast.expr) -> bool:
        operand_rank, shape = cx.fact(e).rank or 0, cx.fact(e).shape
        unit_first = operand_rank > 1 and shape is not None and shape[0] == UNIT_LENGTH
        stretched = operand_rank < rank or unit_first
        return operand_rank > 0 and stretched and any(_is_expensive(n, cx) for n in walk_nodes(e))

    return {k for k, e in enumerate(operands) if is_worth_an_array(e)}


def _is_expensive(n: ast.AST, cx: Context) -> bool:
    """Whether the single operation `n` takes longer than a load of its result from memory."""
    match n:
        case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod()):
            return True
        case ast.BinOp(op=ast.Pow(), right=exponent):
            return not (isinstance(exponent, ast.Constant) and exponent.value == 2)
        case ast.Call(func=func):
            return cx.resolve(func) in _EXPENSIVE_OPERATIONS
    return False


def _may_warn(e: ast.expr, cx: Context) -> bool:
    """Whether the evaluation of `e` may warn: it computes more than arithmetic on Python numbers
    and calls of `_CALLS_WITHOUT_WARNINGS`.
    """
    def never_warns(n: ast.AST) -> bool:
        types = cx.fact(n).types if isinstance(n, (ast.BinOp, ast.UnaryOp)) else ()
        weak = all(isinstance(t, ScalarType) and t.weak for t in types)
        return weak and (not isinstance(n, ast.Call) or cx.builtin(n) in _CALLS_WITHOUT_WARNINGS)

    return not all(map(never_warns, walk_nodes(e)))


def _stores(e: ast.expr, cx: Context) -> bool:
    """Whether `e` has a call that stores its result to an array (`stores_to_out`)."""
    return any(isinstance(n, ast.Call) and stores_to_out(n, cx.resolve) for n in walk_nodes(e))


def _marked_as_parts(view: View) -> View:
    """`view` with all operations of its elements marked as parts of another operation
    (`mark_operation_part`): they run later than NumPy runs them, so no warning may name them.
    """
    def at(index: Sequence[ast.expr]) -> ast.expr:
        e = view.at(index)
        for n in walk_nodes(e):
            if isinstance(n, (ast.BinOp, ast.UnaryOp, ast.Call)):
                mark_operation_part(n)
        return e

    return replace(view, at=at)
