"""Elementwise operations on whole arrays as ufunc calls on their elements.

`elementwise_view` is the view rule for operators, comparisons and ufunc calls (``x * 2.0 + y`` at
i is ``np.add(np.multiply(x[i], 2.0), y[i])``), and, through the modules that it calls, for
formulas, data movement, arange, linspace and reshaped arrays. `is_elementwise` tells whether an
expression makes a new array that a loop nest can fill; `array_assignment` asks it.
"""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import accumulate, combinations, pairwise

import numpy as np

from loopir.lazy_dataclass import replace

from ... import ops
from ...analysis.alias_analysis import NEW_ARRAY
from ...analysis.type_inference.expression_facts import unpacked_lengths
from ...analysis.type_inference.shape_rules import reshaping
from ...frontend.ast_walk import integer_constant, subscript_items, tree_key
from ...frontend.core_nodes import copy_location, location_node
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context
from ...frontend.macros.replay_guards import unique_nodes
from ...types.numpy_probes import (
    numpy_fuses_complex_products,
    numpy_replaces_float_powers,
    numpy_squares_by_products,
)
from ...types.value_types import ELEMENTS, PARTS
from ..array_nests import product_of, row_major_index
from ..array_views import (
    View,
    broadcast_views,
    is_unit_length,
    is_viewable,
    operands_by_index,
    operands_to_materialize,
    scalar_overflow_checks,
    view_of,
)
from ..gather_scatter import is_gathered
from .arange_linspace import is_numeric_sequence
from .data_movement import is_data_movement, movement_view
from .elementwise_formulas import FORMULA_NAMES, formula_of, formula_view

__all__ = [
    "augmented_element", "one_element_rounds_differently", "reshaped_view",
    "is_reshaped_expression", "ELEMENTWISE", "elementwise_view", "is_elementwise", "ufunc_for",
]

_OPERATION_NODES = ast.BinOp, ast.UnaryOp, ast.Compare
"""Expressions that make a new array, if one of arrays."""


def is_reshaped_expression(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is ``v.reshape(…)`` of an array that is computed there, so that the result is no
    view of an array of the program.
    """
    call = _reshape_call(e, cx)
    if call is None or isinstance(call[0], ast.Name) or _split_axes(*call, cx) is None:
        return False
    return isinstance(call[0], _OPERATION_NODES) or cx.fact(call[0]).owner == NEW_ARRAY


def _reshape_call(e: ast.expr, cx: Context) -> tuple[ast.expr, Sequence[ast.expr]] | None:
    """The array and the new lengths of a reshape call, of method or function. None for other
    expressions, for a name of an array of several axes (`lower_reshape` has these), and for lengths
    that are not surely ints.
    """
    match e:
        case ast.Call(func=func):
            call = reshaping(e, cx.resolve(func))
        case _:
            return None
    if call is None or cx.fact(call[0]).array is None:
        return None
    if cx.fact(call[0]).rank != 1 and isinstance(call[0], ast.Name):
        return None
    lengths = unpacked_lengths(cx.facts, call[1])
    return (call[0], lengths) if all(cx.fact(n).is_int for n in lengths) else None


def reshaped_view(e: ast.expr, cx: Context) -> View | None:
    """The view of a reshaped array whose axes are split: of a vector, or of an array each of whose
    axes becomes one or several (`_split_axes`)::

        x[:h * s, :w * s].reshape(h, s, w, s)   →   shape (h, s, w, s),
                                                    at(i, j, k, l) = x[i * s + j, k * s + l]

    The element at subscripts is that at their position in C order. Checks that the numbers of
    elements of each axis agree and no length is negative (with a -1 among them, none may be 0).
    None where `e` is no such call (`_reshape_call`).
    """
    call = _reshape_call(e, cx)
    groups = _split_axes(*call, cx) if call else None
    source = view_of(call[0], cx) if call and groups else None
    if call is None or groups is None or source is None:
        return None
    if not call[1]:
        return source
    checks, shape = [*source.checks], list[ast.expr]()
    for lengths, total in zip(groups, source.shape, strict=True):
        parts = _reshape_lengths(lengths, total, cx)
        shape += parts
        if len(parts) > 1 or integer_constant(lengths[0]) != -1:
            checks.append(cx.expr("A != B", A=product_of(parts, cx), B=total))
    is_inferred = [integer_constant(n, None) == -1 for n in call[1]]
    invalid = "N < 1" if any(is_inferred) else "N < 0"
    explicit = [n for n, inferred in zip(shape, is_inferred, strict=True) if not inferred]
    checks += [cx.expr(invalid, N=n) for n in explicit if (integer_constant(n, None) or 0) < 1]
    sizes = [*map(len, groups)]

    def at(index: Sequence[ast.expr]) -> ast.expr:
        parts = zip(_grouped(index, sizes), _grouped(shape, sizes), strict=True)
        return source.at([row_major_index(i, n, cx) for i, n in parts])

    return View(tuple(shape), at, tuple(checks), source.order if len(groups) > 1 else "C")


def _split_axes(
    array: ast.expr, lengths: Sequence[ast.expr], cx: Context
) -> list[Sequence[ast.expr]] | None:
    """`lengths`, of a reshape of `array`, in groups: those that each axis of `array` is split into.
    A -1 stands for what is missing in its group. The groups are a guess, which the checks of
    `reshaped_view` compare with the lengths at run time. None where there are fewer lengths than
    axes, or two are -1.

    That split is taken in which most axes have the product of their lengths (`_likely_length`);
    of several, the one that gives all axes as many, or the first one the most.
    """
    rank, count = cx.fact(array).rank or 0, len(lengths)
    if [integer_constant(n, None) for n in lengths].count(-1) > 1:
        return None
    if rank == 1:
        return [lengths]
    totals = [_likely_length(array, k, cx) for k in range(rank)]
    wanted = [None if n is None else _factors([n]) for n in totals]

    def likelihood(sizes: Sequence[int]) -> tuple[int, bool, int]:
        groups = _grouped(lengths, sizes)
        fitting = sum(_factors(g) == n for g, n in zip(groups, wanted, strict=True))
        return fitting, len({*sizes}) == 1, sizes[0]

    cuts = combinations(range(1, count), rank - 1)
    splits = [[b - a for a, b in pairwise((0, *cut, count))] for cut in cuts]
    return _grouped(lengths, max(splits, key=likelihood)) if splits else None


def _grouped(items: Sequence[ast.expr], sizes: Sequence[int]) -> list[Sequence[ast.expr]]:
    """`items` in groups of these `sizes`."""
    return [items[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


def _likely_length(array: ast.expr, axis: int, cx: Context) -> ast.expr | None:
    """The length of an axis if each slice ``:n`` has n elements; None where that is not seen."""
    match array:
        case ast.Name():
            return cx.expr("X.shape[K]", X=array, K=ast.Constant(axis))
        case ast.Subscript(value=value):
            items = subscript_items(array)
            if axis >= len(items):
                return _likely_length(value, axis, cx)
            match items[axis]:
                case ast.Slice(lower=None, upper=None, step=None):
                    return _likely_length(value, axis, cx)
                case ast.Slice(lower=None, upper=upper, step=None):
                    return upper
    return None


def _factors(lengths: Iterable[ast.expr | None]) -> Counter[Hashable]:
    """How often each factor is in the product of `lengths`, and the product of the constants."""
    factors, rest, constant = Counter[Hashable](), [*lengths], 1
    while rest:
        match rest.pop():
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                rest += [left, right]
            case ast.Constant(value=int(value)):
                constant *= value
            case ast.expr() as n:
                factors[tree_key(n)] += 1
    factors[""] = constant
    return factors


def _reshape_lengths(
    lengths: Sequence[ast.expr], total: ast.expr, cx: Context
) -> list[ast.expr]:
    """`lengths` with a -1 replaced by the length that makes `total` elements. Computed lengths are
    bound to fresh names.
    """
    inferred = [k for k, n in enumerate(lengths) if integer_constant(n, None) == -1]
    atoms = (ast.Constant, ast.Name, ast.UnaryOp)
    shape = [n if isinstance(n, atoms) else bind_fresh(n, "n", cx) for n in lengths]
    if inferred:
        explicit = [n for k, n in enumerate(shape) if k != inferred[0]]
        if all(map(is_unit_length, explicit)):
            shape[inferred[0]] = total
        else:
            length = cx.expr("T // max(N, 1)", T=total, N=product_of(explicit, cx))
            shape[inferred[0]] = bind_fresh(length, "n", cx)
    return shape


_OPERATORS = {
    "Add": "add", "Sub": "subtract", "Mult": "multiply", "Div": "divide",
    "FloorDiv": "floor_divide", "Mod": "remainder", "Pow": "power", "LShift": "left_shift",
    "RShift": "right_shift", "BitOr": "bitwise_or", "BitXor": "bitwise_xor",
    "BitAnd": "bitwise_and", "USub": "negative", "Invert": "invert",
    "Lt": "less", "LtE": "less_equal", "Gt": "greater", "GtE": "greater_equal",
    "Eq": "equal", "NotEq": "not_equal",
}
"""By the class of a Python operator: the ufunc that it calls on arrays, which warnings name."""

ELEMENTWISE = (ast.BinOp, ast.Call, ast.Compare, ast.Subscript, ast.UnaryOp)
"""The node types for which `is_elementwise` may be true."""

_OPS_FUNCTIONS = {getattr(ops, name) for name in ops.__all__} - {ops.to_bitmask, ops.from_bitmask}
"""The elementwise functions of ``transpile.ops``."""


def is_elementwise(e: ast.expr, cx: Context) -> bool:
    """Whether `e` makes a new array each of whose elements is a scalar expression of elements of
    its operands: an operator or ufunc, a formula, data movement, a vector that is computed and
    reshaped, arange or linspace, or a gather. Views of an array, such as slices, are not.
    """
    if cx.fact(e).array is None:
        return False
    return (
        _elementwise_operands(e, cx) is not None or formula_of(e, cx) is not None
        or is_data_movement(e, cx) or is_reshaped_expression(e, cx)
        or is_numeric_sequence(e, cx) or is_gathered(e, cx)
    )


def _elementwise_operands(
    e: ast.expr, cx: Context
) -> tuple[ast.expr | None, Sequence[ast.expr]] | None:
    """The function and the operands of `e`, an operator or ufunc call whose operands are arrays or
    scalars. None for any other expression, and where NumPy may round in another way than its
    operation on scalars (`_rounds_differently`). The function is None for a copy and for ``+x``,
    whose elements are those of the only operand.
    """
    operation = _ufunc_operands(e, cx)
    if operation is None:
        formula = formula_of(e, cx)
        return (None, formula.operands) if formula is not None and formula.text is None else None
    if not all(map(is_viewable, map(cx.fact, operation[1]))):
        return None
    function, operands = _square_as_product(*operation, e, cx)
    return None if _rounds_differently(function, operands, e, cx) else (function, operands)


def _rounds_differently(
    function: ast.expr | None, operands: Sequence[ast.expr], e: ast.expr, cx: Context
) -> bool:
    """Whether NumPy's loop over complex arrays may round a product in another way than its product
    of scalars: for complex64, unless all arrays are vectors of unit stride; and for squares, where
    `_square_as_product` has not made a product of one.
    """
    name, ty = function.attr if isinstance(function, ast.Attribute) else "", cx.fact(e).array
    if ty is None or ty.dtype not in PARTS or name not in ("multiply", "square"):
        return False
    arrays = [fact for fact in map(cx.fact, operands) if fact.rank != 0]
    contiguous = all(f.array and (f.array.rank, f.array.unit) == (1, 0) for f in arrays)
    return name == "square" or (ty.dtype == "c64" and not contiguous)


def _square_as_product(
    function: ast.expr | None, operands: Sequence[ast.expr], e: ast.expr, cx: Context
) -> tuple[ast.expr | None, Sequence[ast.expr]]:
    """`function` and `operands`, or for the square of a complex array the product that NumPy's loop
    computes; `np.square` of a scalar is rounded otherwise.
    """
    ty = cx.fact(e).array
    is_square = isinstance(function, ast.Attribute) and function.attr == "square"
    if not (is_square and ty and ty.dtype in PARTS and numpy_squares_by_products()):
        return function, operands
    cx.mark_operation_parts()  # a warning speaks of a square
    return cx.expr("NP.multiply", NP=cx.numpy), [operands[0], operands[0]]


def augmented_element(
    target: ast.expr, op: ast.operator, value: ast.expr, cx: Context
) -> Callable[[ast.expr, ast.expr], ast.expr] | None:
    """For ``target op= value`` of arrays: the function that makes the new element, an expression,
    from an element of `target` and one of `value`. None where NumPy's loop may round differently
    than its operation on scalars (`_rounds_differently`), and where `op` is no ufunc.
    """
    e = copy_location(ast.BinOp(target, op, value), cx.at)
    operation = _elementwise_operands(e, cx)
    if operation is None or operation[0] is None:
        return None
    function, operands = operation
    assert function is not None
    return lambda place, other: ast.Call(
        function, [place if operand is target else other for operand in operands], []
    )


def one_element_rounds_differently(e: ast.expr, cx: Context) -> bool:
    """Whether NumPy rounds `e` in another way where its result is stored in one of its operands and
    both have one element: they seem to overlap then, so that NumPy computes a complex product
    without the fused multiply-add that it uses for longer arrays.
    """
    ty, operation = cx.fact(e).array, _elementwise_operands(e, cx)
    if operation is None or ty is None or ty.dtype not in PARTS:
        return False
    is_product = isinstance(operation[0], ast.Attribute) and operation[0].attr == "multiply"
    return is_product and numpy_fuses_complex_products()


def elementwise_view(e: ast.expr, cx: Context) -> View | None:
    """The view of an elementwise operation; one of `macro_table.VIEW_RULES`. None for others.

        x * 2 + y   →   shape (x.shape[0],), at(i) = np.add(np.multiply(x[i], 2), y[i])

    - An operator or ufunc call: its operands are views, too, which are broadcast; so no part of a
      nested expression is an array. Only the operands of `operands_to_materialize` are computed
      into arrays before the statement. A Python scalar that does not fit in the dtype of the result
      is checked: NumPy raises, even if there are no elements.
    - A copy, ``x.copy()``: the view of `x`.
    - Else the first that applies: a formula (``np.clip``: `formula_view`), data movement
      (``np.roll``), a reshaped array.
    """
    operation = _elementwise_operands(e, cx)
    if operation is None:
        return formula_view(e, cx) or movement_view(e, cx) or reshaped_view(e, cx)
    function, operands = operation
    if function is None:  # a copy, whose elements are those of its only operand
        source = view_of(operands[0], cx)
        is_method = isinstance(e, ast.Call) and len(e.args) == 0  # x.copy() is in C order
        return replace(source, order="C") if source and is_method else source
    views = operands_by_index(operands, cx, operands_to_materialize(operands, cx))
    result = broadcast_views(views, lambda elements: _ufunc_call(function, elements, e, cx), cx)
    ty = cx.fact(e).array
    if ty is None or cx.resolve(function) is np.where:
        return result
    overflows = [
        check
        for operand, view in zip(operands, views, strict=True)
        for check in scalar_overflow_checks(operand, view, ty.dtype, cx)
    ]
    return replace(result, checks=tuple(unique_nodes((*overflows, *result.checks))))


def ufunc_for(op: ast.AST, operands: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The ufunc that Python's operator `op` calls on arrays, as an expression: ``np.add`` for
    ``+``, ``np.square`` for ``** 2``, ``np.logical_not`` for ``~`` of bools. For ``** -1``, which
    NumPy computes by another ufunc than `power`, the code that follows is marked as parts of one
    operation (`mark_operation_parts`), as a warning does not speak of a power.
    """
    name = _OPERATORS[type(op).__name__]
    if isinstance(op, ast.Pow) and _is_minus_one(operands[1]):
        name = _power(operands[0], -1, cx)
        if name == "power":
            cx.mark_operation_parts()  # NumPy takes reciprocals
    if isinstance(op, ast.Pow) and isinstance(operands[1], ast.Constant):
        name = _power(operands[0], operands[1].value, cx)
    if name == "invert" and cx.fact(operands[0]).is_bool:
        name = "logical_not"
    return cx.expr(f"NP.{name}", NP=cx.numpy)


def _power(base: ast.expr, exponent: object, cx: Context) -> str:
    """The ufunc that computes ``base ** exponent``. NumPy replaces some powers:

        x ** 2       square, unless `base` is of bools; x ** 2.0 too, by `_replaces_float_powers`
        x ** 0.5     sqrt, of floats or complex numbers
        x ** -1      reciprocal, of complex numbers
    """
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(base).types}
    is_replaced = type(exponent) is int or _replaces_float_powers(kinds)
    if exponent == 2 and "b" not in kinds and is_replaced:
        return "square"
    if exponent == -1 and kinds == {"c"}:
        return "reciprocal"
    return "sqrt" if exponent == 0.5 and kinds in ({"f"}, {"c"}) else "power"


def _replaces_float_powers(kinds: set[str]) -> bool:
    """Whether NumPy replaces powers of 2.0 and -1.0 of arrays of these kinds, too."""
    return kinds in ({"f"}, {"c"}) and numpy_replaces_float_powers()


def _is_minus_one(exponent: ast.expr) -> bool:
    """Whether `exponent` is -1, or -1.0 where NumPy treats that in the same way."""
    match exponent:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float(value))):
            return value == 1 and numpy_replaces_float_powers()
    return integer_constant(exponent) == -1


def _is_unknown_power(base: ast.expr, exponent: ast.expr, cx: Context) -> bool:
    """Whether `base` may be complex, and `exponent` is a real scalar that is no constant."""
    number = exponent.operand if isinstance(exponent, ast.UnaryOp) else exponent
    is_constant = isinstance(number, ast.Constant) or integer_constant(exponent) is not None
    of_base, of_exponent = (
        {ELEMENTS[t.dtype].kind for t in cx.fact(e).types} for e in (base, exponent)
    )
    is_real = of_exponent != {"c"}
    return "c" in of_base and is_real and not is_constant and cx.fact(exponent).rank == 0


def _ufunc_operands(e: ast.expr, cx: Context) -> tuple[ast.expr | None, list[ast.expr]] | None:
    """The ufunc (an expression) and its operands, for an operator, comparison, ``abs``,
    ``np.where`` or call of a ufunc; the function is None for a copy and ``+x``. None for other
    expressions, for ufuncs that have a formula, and for those with several results or a core
    signature.
    """
    match e:
        case ast.BinOp(left=left, op=ast.Pow()) if cx.fact(left).is_bool:
            return None  # the result's dtype depends on the exponent
        case ast.BinOp(left=left, op=ast.Pow(), right=right) if _is_unknown_power(left, right, cx):
            return None  # NumPy replaces some powers of complex numbers
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            function = ufunc_for(op, [left, right], cx)
            is_unary = getattr(cx.resolve(function), "nin", 2) == 1  # ``x ** 2`` is ``square(x)``
            return function, [left] if is_unary else [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.Invert() as op, operand=operand):
            return ufunc_for(op, [operand], cx), [operand]
        case ast.Compare(left=left, ops=[op], comparators=[right]) if (
            type(op).__name__ in _OPERATORS
        ):
            return ufunc_for(op, [left, right], cx), [left, right]
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return None, [operand]
        case ast.Call(func=ast.Attribute(value=array, attr="copy") as func, args=[], keywords=[]):
            return (None, [array]) if cx.resolve(func) is None else None
        case ast.Call(func=func, args=[array], keywords=[]) if cx.is_numpy(func, "copy"):
            return None, [array]
        case ast.Call(func=func, args=args, keywords=[]) if args:
            callee = cx.resolve(func)
            if cx.builtin(e) == "abs":
                return cx.expr("NP.absolute", NP=cx.numpy), args
            of_complex = callee is np.reciprocal and _all_complex(args[0], cx)
            if isinstance(callee, np.ufunc) and callee.nin == len(args) and (
                callee.__name__ not in FORMULA_NAMES or of_complex
            ):
                return (func, args) if callee.nout == 1 and not callee.signature else None
            if (callee is np.where and len(args) == 3) or any(callee is f for f in _OPS_FUNCTIONS):
                return func, args
    return None


def _ufunc_call(
    function: ast.expr, elements: list[ast.expr], e: ast.expr, cx: Context
) -> ast.expr:
    """``function(*elements)`` at the location of `e`, which its warnings name."""
    return copy_location(ast.Call(function, elements, []), location_node(e, cx.at))


def _all_complex(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is surely complex, or an array of complex numbers."""
    types = cx.fact(e).types
    return bool(types) and all(t.dtype in PARTS for t in types)
