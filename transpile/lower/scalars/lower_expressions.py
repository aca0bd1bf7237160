"""Lower scalar expressions: constants, comparisons, boolean logic and conditional expressions.

Loop IR evaluates both operands of ``and``, ``or`` and a conditional expression. So an operand that
Python evaluates conditionally is lowered under its condition (`used_only_where`): operations that
could raise elsewhere get safe operands, and checks hold only where the operand is used. ::

    a / b if b != 0 else 0.0      →   select(b != 0, a / select(b != 0, b, 1.0), 0.0)

`lower_test` lowers a condition, of which only the truth matters; `lower_boolean` the value of
``and`` and ``or``, which is one of the operands. Operations on values of several types go through
`for_each_case`.
"""
from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from loopir.algebra.constant_folding import fold_constants, is_lossless_cast
from loopir.analysis.integers.intervals import decide_comparison
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Const, Expr, Load, Var
from loopir.op_table import SWAPPED_COMPARISON
from loopir.process.lazy_function import lazy_function

from ...call_plan import Captured
from ...codes.lowering_codes import HELP_FOR_OPERANDS
from ...frontend.ast_walk import walk_nodes
from ...frontend.core_nodes import copy_location, fix_missing_locations, source_text
from ...frontend.name_resolution import NameScope
from ...frontend.refusal import refuse
from ...host_nodes import HostName
from ...types.int_limits import INT64, WORD, help_for_long_int
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op, cast, constant, fits_dtype
from ..arrays.alias_states import first_ambiguous_read
from ..complex.complex_arithmetic import (
    apply_operator,
    compare_complex,
    complex_literal,
    complex_magnitude,
    negate,
)
from ..state.generated_names import TEST_NAME
from ..state.lowering_state import Lowering
from ..state.node_dispatch import (
    lower_array,
    lower_block,
    lower_scalar,
    refuse_expression,
    refuse_number,
)
from ..state.outer_names import resolve_guarded, resolve_object
from ..state.path_conditions import used_only_where
from ..state.symbol_values import Absent, Scalar, UnionCase, UnionValue
from .callable_ops import refuse_library_behind
from .dual_semantics import in_both_semantics
from .scalar_arithmetic import BINARY, bitwise_invert, require_exact_as_float, unary_plus
from .scalar_operands import (
    as_int64,
    as_numpy_if_loops_ran,
    constant_int,
    long_constant,
    refuse_either,
    scalar_result_type,
    to_operand_dtype,
    with_result_type,
)
from .tagged_unions import (
    bind_scalar,
    for_each_case,
    is_none_condition,
    lower_number,
    operate_on_pair,
    select_scalar,
    truth_of_scalar,
)

lower_masked = lazy_function(__package__, "word_arithmetic:lower_masked")

__all__ = [
    "BY_CONSTANTS", "compare_numbers", "lower_binary", "lower_boolean", "lower_comparison",
    "lower_conditional", "lower_constant", "lower_test", "lower_unary",
]

_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[..., Any]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}
_NONE = UnionValue((UnionCase(Absent.NONE, TRUE),))

_UNARY: dict[type[ast.unaryop], Callable[..., Scalar]] = {
    ast.USub: negate,
    ast.UAdd: unary_plus,
    ast.Invert: bitwise_invert,
}


def lower_constant(ctx: Lowering, node: ast.Constant) -> Scalar:
    """A constant that is a number or None. Raises Refused for others, and ints beyond 64 bits."""
    match node.value:
        case None:
            return _NONE
        case complex() as value:
            return complex_literal(value)
        case bool() | int() | float() as value:
            if isinstance(value, int) and not INT64[0] <= value <= WORD[1]:
                text = str(value) if value.bit_length() <= 128 else f"of {value.bit_length()} bits"
                message = f"the int {text} does not fit an int of 64 bits"
                refuse("LOWER_TYPE", message, node, help=help_for_long_int(value))
            return constant(value)
    return refuse_expression(node)


def lower_binary(ctx: Lowering, node: ast.BinOp) -> Scalar:
    """``a op b`` of scalars. Raises Refused for ``@``."""
    if type(node.op) not in BINARY:
        _refuse_matrix_product(ctx, node)
    by = long_constant(ctx, node.right)
    if isinstance(node.op, (ast.BitAnd, ast.Mod)) and (by or _has_word(ctx, node)):
        masked: Num | None = lower_masked(ctx, node)
        if masked is not None:
            return masked
    if (value := constant_int(node)) is not None and INT64[0] <= value <= WORD[1]:
        return constant(value)
    operate = partial(apply_operator, ctx, type(node.op), node=node)
    left = lower_scalar(ctx, node.left, operand_of=node)
    if isinstance(node.op, ast.Div) and by.bit_count() == 1 and _is_python_number(left):
        resolve_guarded(ctx, node.right)
        right: Scalar = constant(float(by))  # exact, so that the quotient is rounded once
    elif isinstance(node.op, BY_CONSTANTS) and (fixed := _fixed_global(ctx, node.right)):
        right = constant(fixed)
    else:
        right = lower_scalar(ctx, node.right, operand_of=node)
    return operate_on_pair(ctx, operate, node, left, right)


BY_CONSTANTS = ast.Mod, ast.FloorDiv, ast.BitAnd, ast.LShift, ast.RShift
"""The operators that take much less by a constant: no division, no check of what is masked."""


def _fixed_global(ctx: Lowering, e: ast.expr) -> int:
    """The int of 64 bits that the global `e` is, which each call checks; 0 for other expressions.

        for v in xs: s = (s * 31 + v) % MOD      the remainder by 1000000007
    """
    if not isinstance(e, ast.Name) or not ctx.fixes_globals or e.id in ctx.types:
        return 0
    if e.id in ctx.b.env and not isinstance(ctx.b.bindings.get(e.id), Captured):
        return 0  # a local name, such as one of an inlined function
    origin, value = ctx.scope.find(e.id)
    is_outer = origin in (NameScope.GLOBAL, NameScope.CLOSURE)
    if not is_outer or type(value) is not int or not INT64[0] <= value <= WORD[1]:
        return 0
    ctx.guarded_objects[HostName(e.id)] = value
    return value


def _has_word(ctx: Lowering, node: ast.BinOp) -> bool:
    """Whether `node` reads a name of a word (`Num.is_word`), or masks by an int as long as one."""
    known = (ctx.b.env.get(n.id) for n in walk_nodes(node) if isinstance(n, ast.Name))
    return any(isinstance(n, Num) and n.is_word for n in known) or long_constant(ctx, node.left) > 0


def _is_python_number(n: Scalar) -> bool:
    """Whether `n` is an int, a float or a bool of Python's."""
    if isinstance(n, UnionValue):
        return all(isinstance(c.value, Num) and _is_python_number(c.value) for c in n.cases)
    return isinstance(n, Num) and n.strong is None and not n.boxed


def _refuse_matrix_product(ctx: Lowering, node: ast.BinOp) -> NoReturn:
    """Refuses `node`, ``a @ b``, which no macro has expanded. The first reason of: an operand is
    refused itself, as where its array is not known; one is a number; in a loop, one is bound by a
    call that is not compiled, of which the macros do not know what it returns; the product of such
    arrays is not compiled.
    """
    ranks = []
    for operand in (node.left, node.right):
        if (array := lower_array(ctx, operand)) is None:
            lower_scalar(ctx, operand)
            message = f"`{source_text(operand)}` is a number, and `@` multiplies arrays"
            refuse("LOWER_UNSUPPORTED", message, operand, help="multiply numbers by `*`")
        ranks.append(array.rank)
    message = f"`{source_text(node)}` is a matrix product that is not compiled for these arrays"
    help = "write it as loops over the elements"
    if (frames := ctx.b.path.frames) and max(ranks) <= 2:
        refuse_library_behind(node, frames[0].node, partial(resolve_object, ctx))
        message = f"what `{source_text(node)}` multiplies in later iterations is not known"
        help = HELP_FOR_OPERANDS
    refuse("LOWER_UNSUPPORTED", message, node, help=help)


def lower_unary(ctx: Lowering, node: ast.UnaryOp) -> Scalar:
    """``-a``, ``+a``, ``~a`` and ``not a``."""
    if isinstance(node.op, ast.Not):
        return Num(bool_op("not", lower_test(ctx, node.operand)), weak="bool")
    if (value := constant_int(node)) is not None and INT64[0] <= value <= WORD[1]:
        return constant(value)
    operate = partial(_UNARY[type(node.op)], ctx, node=node)
    operand = lower_scalar(ctx, node.operand, operand_of=node)
    takes_words = isinstance(node.op, ast.UAdd)
    return for_each_case(ctx, operate, node, operand, takes_words=takes_words)


def lower_comparison(ctx: Lowering, node: ast.Compare, *, only_truth: bool = False) -> Scalar:
    """``a < b < c``. Each operand is evaluated once, and later ones only where the comparisons
    before hold. ``only_truth``: the result is used as a condition; then it is one bool, also where
    the comparisons have results of several types, which as a value would be a union.
    """
    left = _lower_comparison_operand(ctx, node.left)
    if len(node.ops) > 1:
        left = bind_scalar(ctx, left, "left")
    rest = list(zip(node.ops, node.comparators, strict=True))
    return _chained_comparison(ctx, left, rest, node, only_truth)


def _chained_comparison(
    ctx: Lowering,
    left: Scalar,
    rest: list[tuple[ast.cmpop, ast.expr]],
    node: ast.AST,
    only_truth: bool,
) -> Scalar:
    """The comparison of `left` with the operands of `rest`, each with its operator, in a chain."""
    (op, right_node), *more = rest
    right = _lower_comparison_operand(ctx, right_node)
    if more:
        right = bind_scalar(ctx, right, "middle")
    first = _compare_scalars(ctx, op, left, right, node)
    if not more:
        return first
    holds = truth_of_scalar(ctx, first, node)
    with used_only_where(ctx.b, holds):
        second = _chained_comparison(ctx, right, more, node, only_truth)
    if only_truth:
        return Num(bool_op("and", holds, truth_of_scalar(ctx, second, node)), weak="bool")
    return _select_operand(ctx, "and", first, second, node)


def _compare_scalars(ctx: Lowering, op: ast.cmpop, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
    """``x op y``; also ``x is None`` and ``x is not None``."""
    none = next((n for n in (y, x) if n == _NONE), None)
    if none is None or not isinstance(op, (ast.Is, ast.IsNot)):
        compare = partial(compare_numbers, ctx, op, node=node)
        return operate_on_pair(ctx, compare, node, x, y)
    is_none = is_none_condition(ctx, x if none is y else y, node)
    return Num(is_none if isinstance(op, ast.Is) else bool_op("not", is_none), weak="bool")


def compare_numbers(
    ctx: Lowering, op: ast.cmpop, x: Num | ComplexPair, y: Num | ComplexPair, node: ast.AST
) -> Num:
    """``x op y`` of two numbers, as Python or NumPy compares them. Where an operand is of either
    type, and Python and NumPy compare in different dtypes, it is computed for both
    (`in_both_semantics`), or required that this makes no difference (`_require_same_comparison`).
    Raises Refused for ``is`` and ``in``, and (LOWER_JOIN) where neither is possible: then
    `for_each_case`, by which this is called, compares each of the two types.
    """
    if type(op) not in _COMPARE:
        if isinstance(op, (ast.In, ast.NotIn)) and isinstance(node, ast.Compare):
            place, help = node.comparators[-1], "write `==` to compare two numbers"
            refuse_number(ctx, place, "LOWER_UNSUPPORTED", "has no items", help=help)
        refuse("LOWER_UNSUPPORTED", "`is` and `in` are not compiled", node)
    name, function = _COMPARE[type(op)]
    if isinstance(x, ComplexPair) or isinstance(y, ComplexPair):
        return compare_complex(ctx, name, function, x, y, node)
    if x.is_word and DTYPES[y.dtype].kind == "f":
        x, y = _word_beside_float(ctx, x, y, node)
    elif y.is_word and DTYPES[x.dtype].kind == "f":
        y, x = _word_beside_float(ctx, y, x, node)
    is_ambiguous = _has_ambiguous_dtype(x, y) or _has_ambiguous_dtype(y, x)
    if not (x.exact and y.exact) or is_ambiguous:
        value = in_both_semantics(ctx.b, (x, y), lambda p, q: compare_numbers(ctx, op, p, q, node))
        if value is not None:
            return value
        x, y = as_numpy_if_loops_ran(ctx.b, x, node), as_numpy_if_loops_ran(ctx.b, y, node)
        _require_same_comparison(ctx, x, y, node)
    ty = scalar_result_type(function, (x, y), node)
    dtype = _comparison_dtype(ctx, x, y, node)
    if dtype is None:
        return with_result_type(_compare_with_uint64(ctx, name, x, y, node), ty, x, y)
    a, c = to_operand_dtype(ctx.b, x, dtype, node), to_operand_dtype(ctx.b, y, dtype, node)
    return with_result_type(Call(name, (a, c), "bool"), ty, x, y)


def _word_beside_float(ctx: Lowering, word: Num, x: Num, node: ast.AST) -> tuple[Num, Num]:
    """A word and the float `x`, with which it is compared. Python compares their exact values: a
    constant without a fraction is taken as an int, of which only the order matters if no word is as
    large; beside any other float the word must fit an int64.
    """
    if isinstance(x.ir, Const) and float(x.ir.value).is_integer():
        value = int(x.ir.value)
        return (word, constant(max(value, -1))) if value <= WORD[1] else (constant(0), constant(1))
    return as_int64(ctx.b, word, node), x


def _require_same_comparison(ctx: Lowering, x: Num, y: Num, node: ast.AST) -> None:
    """Requires that Python and NumPy compare `x` and `y` with the same result, whichever type they
    have: beside a NumPy float64 a Python int must be exact as one. Raises Refused (LOWER_JOIN) for
    other operands whose dtype depends on the data.

        s > k        s: the Python int 0, or a float64; k: an int    →    require abs(k) <= 2**53
        s < 1e-50    s: the Python int 0, or a float32               →    Refused: True, or False
    """
    for n, other in ((x, y), (y, x)):
        if _has_ambiguous_dtype(n, other):
            if not (n.dtype == n.strong == "f64" and other.python_int):
                message = "Python or NumPy compares, in different dtypes, depending on the data"
                refuse("LOWER_JOIN", message, node)
            require_exact_as_float(ctx, other, node)


def _compare_with_uint64(ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST) -> Expr:
    """The comparison `name` of a uint64 and a signed integer, by their exact values, as Python and
    NumPy compare them::

        x < k     x: uint64; k: int64   →   k >= 0 and x < cast(max(k, 0), "u64")
        x != k                          →   k < 0 or x != cast(max(k, 0), "u64")
    """
    if x.dtype != "u64":
        x, y, name = y, x, SWAPPED_COMPARISON.get(name, name)
    known = decide_comparison(name, "u64", x.range, y.range)
    if x.is_word and known is not None:
        return TRUE if known else FALSE
    unsigned, signed = x.ir, to_operand_dtype(ctx.b, y, "i64", node)
    if y.range[0] >= 0:
        return Call(name, (unsigned, cast(signed, "u64")), "bool")
    zero = Const(0, "i64")
    magnitude = Call("cast", (Call("max", (signed, zero), "i64"),), "u64")
    holds = Call(name, (unsigned, magnitude), "bool")
    if name in ("eq", "lt", "le"):
        return bool_op("and", Call("ge", (signed, zero), "bool"), holds)
    return bool_op("or", Call("lt", (signed, zero), "bool"), holds)


def _comparison_dtype(ctx: Lowering, x: Num, y: Num, node: ast.AST) -> str | None:
    """The dtype in which `x` and `y` are compared with the same result as in Python or NumPy. For
    `compare_numbers`, which converts both to it. The first row that applies decides:

    ============================================  ==================================================
    operands                                      dtype
    ============================================  ==================================================
    a NumPy float, a Python number                the NumPy float's: NumPy converts the other one
    a NumPy integer, a Python constant that fits  the NumPy integer's: narrower lanes, same result
    two of one dtype                              that
    a uint64, a signed integer                    None: no dtype holds both (`_compare_with_uint64`)
    a uint64, another unsigned integer or a bool  uint64
    two other integers                            int64, which holds both exactly
    a Python int, a Python float                  float64; Python compares exactly, so the int is
                                                  required to be exact as a float64
    an integer of 32 bits at most and a float,    float64, in which both are exact
    of which one is Python's or NumPy's
    all else                                      that of their sum, as NumPy promotes
    ============================================  ==================================================

    Raises Refused for a value that was rounded to a dtype other than that of the other operand
    (`Num.exact`).
    """
    for n, other in ((x, y), (y, x)):
        if not n.exact and other.dtype != n.dtype:
            refuse_either(node)
        if (dtype := _dtype_beside_python_number(n, other)) is not None:  # rows 1 and 2
            return dtype
    if x.dtype == y.dtype:
        return x.dtype
    kinds = {DTYPES[x.dtype].kind, DTYPES[y.dtype].kind}
    if "f" not in kinds:
        if "u64" in (x.dtype, y.dtype):
            return None if "i" in kinds else "u64"
        return "i64"
    if {x.dtype, y.dtype} & {"i64", "u64"} and x.weak and y.weak:  # a Python int and float
        require_exact_as_float(ctx, x, node)
        require_exact_as_float(ctx, y, node)
    if kinds in ({"f", "i"}, {"f", "u"}):
        integer = x if DTYPES[x.dtype].kind != "f" else y
        is_exact_in_float64 = DTYPES[integer.dtype].bytes <= 4
        if (x.either or y.either) and is_exact_in_float64:
            return "f64"
    return scalar_result_type(operator.add, (x, y), node).dtype


def _dtype_beside_python_number(n: Num, other: Num) -> str | None:
    """Rows 1 and 2 of `_comparison_dtype`, for a NumPy number `n` and a Python number `other`: the
    NumPy dtype of `n` if it is a float, or an integer in which the constant `other` fits. None
    where the rows do not apply.
    """
    if n.strong is None or other.weak is None or other.strong is not None:
        return None
    kind = DTYPES[n.strong].kind
    if kind == "f":
        return n.strong
    has_numpy_dtype = n.dtype == n.strong  # not a wider one, since it may be Python's, too
    is_int_that_fits = other.weak != "f64" and fits_dtype(other.ir, n.strong)
    return n.strong if kind in "iu" and has_numpy_dtype and is_int_that_fits else None


def lower_test(ctx: Lowering, node: ast.expr) -> Expr:
    """``bool(node)`` as a bool of Loop IR: the condition of an ``if``, a ``while`` or a conditional
    expression.

        k and x[i] > 0.0    →    left = k != 0;  left and x[i] > 0.0

    The operands of ``and`` and ``or`` may be of any two types, since only their truth matters. A
    later operand is lowered under the condition that the earlier ones do not decide
    (`used_only_where`). If a name in `node` may be one of several arrays, ``#test = not not node``
    is lowered as a statement, which is done once for each array (`first_ambiguous_read`).
    """
    if first_ambiguous_read(ctx, node) is None:
        return _lower_unambiguous_test(ctx, node)
    as_bool = ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), node))
    assignment = ast.Assign([ast.Name(TEST_NAME, ast.Store())], as_bool)
    copy_location(assignment, node)
    lower_block(ctx, [fix_missing_locations(assignment)], frozenset({TEST_NAME}))
    name = copy_location(ast.Name(TEST_NAME, ast.Load()), node)
    return _lower_unambiguous_test(ctx, name)


def _lower_unambiguous_test(ctx: Lowering, node: ast.expr) -> Expr:
    """`lower_test` for a node in which each name is bound to one array at most."""
    if isinstance(node, ast.Compare):
        return truth_of_scalar(ctx, lower_comparison(ctx, node, only_truth=True), node)
    if not isinstance(node, ast.BoolOp):
        return truth_of_scalar(ctx, lower_scalar(ctx, node), node)
    name = "and" if isinstance(node.op, ast.And) else "or"
    test = lower_test(ctx, node.values[0])
    for operand in node.values[1:]:
        if test == (FALSE if name == "and" else TRUE):
            break
        test = ctx.b.bind(test, "left")
        with used_only_where(ctx.b, test if name == "and" else bool_op("not", test)):
            right = lower_test(ctx, operand)
        test = bool_op(name, test, right)
    return test


def lower_boolean(ctx: Lowering, node: ast.BoolOp) -> Scalar:
    """``a and b`` or ``a or b`` as a value: the first operand that decides, else the last one. The
    rule for `ast.BoolOp`; a condition, of which only the truth matters, goes to `lower_test`.

        k or n               →    select(k != 0, k, n)
        b and x[i] / b       →    select(b != 0, x[i] / select(b != 0, b, 1.0), b)

    All operands are computed. Python evaluates a later one only where the earlier ones do not
    decide, so it is lowered under that condition (`used_only_where`): it must not raise elsewhere.
    Where an operand decides at compile time, the later ones are not lowered.
    """
    name = "and" if isinstance(node.op, ast.And) else "or"
    value = lower_scalar(ctx, node.values[0])
    for operand in node.values[1:]:
        value = bind_scalar(ctx, value, "left")
        holds = truth_of_scalar(ctx, value, node)
        if holds == (FALSE if name == "and" else TRUE):
            break
        with used_only_where(ctx.b, holds if name == "and" else bool_op("not", holds)):
            right = lower_scalar(ctx, operand)
        value = _select_operand(ctx, name, value, right, node)
    return value


def _select_operand(ctx: Lowering, name: str, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
    """``x and y`` or ``x or y``, as `name` says, of two values that are both computed. Of two bools
    it is the bool operation.
    """
    where_true, where_false = (y, x) if name == "and" else (x, y)
    value = select_scalar(ctx, truth_of_scalar(ctx, x, node), where_true, where_false, node)
    if not (isinstance(x, Num) and isinstance(y, Num) and isinstance(value, Num)):
        return value
    if x.dtype == y.dtype == "bool":
        return replace(value, ir=bool_op(name, x.ir, y.ir))
    return value


def lower_conditional(ctx: Lowering, node: ast.IfExp) -> Scalar:
    """``a if test else b``. The rule for `ast.IfExp`.

        x[i] / b if b != 0 else 0.0    →    select(b != 0, x[i] / select(b != 0, b, 1.0), 0.0)
        v if v > m else m              →    max(m, v)                 (`phi.make_select`)

    Both operands are computed, each under the condition that selects it (`used_only_where`), since
    it must not raise elsewhere. Where the test is a constant, only one is lowered. Operands of two
    types give a union (`select_scalar`). An ``if`` statement, which has branches, is in
    ``lower_if.py``.
    """
    cond = lower_test(ctx, node.test)
    if isinstance(cond, Const):
        return lower_scalar(ctx, node.body if cond.value else node.orelse)
    if not _is_cheap_comparison(cond):
        cond = ctx.b.bind(cond, "cond")
    with used_only_where(ctx.b, cond):
        then = lower_scalar(ctx, node.body)
    with used_only_where(ctx.b, bool_op("not", cond)):
        other = lower_scalar(ctx, node.orelse)
    return select_scalar(ctx, cond, then, other, node)


def _has_ambiguous_dtype(n: Num, other: Num) -> bool:
    """Whether it depends on the data in which dtype `n` is compared with `other`, and the dtype may
    decide the result:

    - `n` is a Python number or a NumPy float, depending on the data;
    - `other` is surely Python's: beside a NumPy float, NumPy converts it to that one's dtype;
    - that dtype may round: the Loop IR of `n` has another one, or `other` is not exact in it.

        max(x[i], 0.0) < 1e-50    x of float32: 1e-50 is 0.0 beside x[i], but not beside 0.0
    """
    if not n.either or n.strong is None or DTYPES[n.strong].kind != "f" or other.strong is not None:
        return False
    return n.dtype != n.strong or not _is_exact_in(other.ir, n.strong)


def _is_exact_in(e: Expr, dtype: str) -> bool:
    """Whether the float `dtype` has the value of `e`, as far as its dtype or a constant tells."""
    converted = fold_constants("cast", (e,), dtype)
    if converted is None:
        return is_lossless_cast(e.dtype, dtype)
    return fold_constants("cast", (converted,), e.dtype) == e


def _is_cheap_comparison(cond: Expr) -> bool:
    """Whether all operands of `cond` are variables, constants or loads. Then it is not bound to a
    name: it may become a ``max`` or ``min`` together with the selected values.
    """
    return isinstance(cond, Call) and all(map(_is_cheap, cond.args))


def _is_cheap(e: Expr) -> bool:
    """Whether `e` is a variable, a constant or a load, or a conversion of one of a variable or
    load.
    """
    match e:
        case Call("cast", (inner,)):
            return isinstance(inner, (Var, Load))
        case _:
            return isinstance(e, (Var, Const, Load))


def _lower_comparison_operand(ctx: Lowering, node: ast.expr) -> Scalar:
    """An operand of a comparison. Here, and nowhere else, ``abs(z)`` is compiled for a number of
    which nothing tells whether it is complex or real: the comparison is the same for both.
    """
    match node:
        case ast.Call(func=func, args=[arg], keywords=[]) if (
            resolve_guarded(ctx, func) is builtins.abs
        ):
            x = lower_number(ctx, arg)
            if isinstance(x, ComplexPair) and x.doubtful:
                return complex_magnitude(ctx, x, node, compared=True)
    return lower_scalar(ctx, node)
