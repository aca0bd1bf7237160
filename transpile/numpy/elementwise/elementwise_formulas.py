"""Elementwise formulas: NumPy functions defined by an expression of scalars, a rule each.

A formula is a template over the elements of the operands (holes A, B, …; T is the dtype of the
result). For example ``np.clip(x, low, high)`` has the formula ``NP.clip(A, B, C)``, and
``np.fix(x)`` has ``NP.trunc(A)``. A rule (column ``formula`` of `function_table`) makes it from
the arguments of a call. Of ``np.select``, ``np.isin`` and ``np.polyval`` one argument is a list
display, and the formula has a term for each of its items.

`formula_view` is a view rule, used by `elementwise_ops`: the formula of each element, with the
operands broadcast. `scalar_formula` is the macro that expands calls on scalars.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from loopir.lazy_dataclass import record, replace

from ...frontend.ast_walk import integer_constant, same_tree, walk_nodes
from ...frontend.core_nodes import location_node
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context, expression_from
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...frontend.macros.replay_guards import unique_nodes
from ...types.int_limits import EXACT_POWER_OF_TEN_F64
from ...types.numpy_probes import orders_zeros
from ...types.value_types import ELEMENTS, PARTS, ScalarType, is_weak
from ..array_nests import dtype_expr
from ..array_views import (
    View,
    broadcast_views,
    is_viewable,
    operands_by_index,
    operands_to_materialize,
    scalar_overflow_checks,
)
from ..call_arguments import BoundArguments, bind_arguments, constant_flag
from ..function_table import FUNCTIONS, expansion_rule, signatures

__all__ = [
    "ElementFormula", "isin_formula", "polyval_formula", "select_formula", "FORMULA_NAMES",
    "formula_of", "formula_rule", "formula_view", "formula_by_name", "scalar_formula",
    "astype_rule", "array_copy_rule", "asarray_rule", "round_rule", "clip_rule",
    "nan_to_num_rule", "isclose_rule",
    "conjugate_rule", "angle_rule", "sinc_rule", "to_radians_rule", "to_degrees_rule", "fix_rule",
    "fmax_rule", "fmin_rule", "float_power_rule", "heaviside_rule", "is_complex_element_rule",
    "is_real_element_rule", "is_negative_infinity_rule", "is_positive_infinity_rule",
    "positive_rule", "reciprocal_rule",
]

_MAX_DISPLAY_LENGTH = 12
"""The greatest number of constants in a display that a formula unrolls."""

_HOLES = "ABCDEFGHIJKLM"
"""The names of the operands in a formula, in order."""


@record(frozen=True, slots=True)
class ElementFormula:
    """How an element of the result is computed from the elements of the operands."""

    text: str | None
    """An expression with the holes A, B, … for the elements of the operands, T for the dtype of
    the result and NP for NumPy; None: the result is a copy of the only operand."""
    operands: list[ast.expr]
    """Arrays and scalars, broadcast together, in the order of the holes."""


def select_formula(e: ast.Call, cx: Context) -> ElementFormula | None:
    """The formula of ``np.select([c, …], [a, …], default)``: nested ``np.where``. Needs displays of
    at most 6 bool conditions and of as many choices, whose arrays are all in C order; else None.
    """
    bound = bind_arguments(e, cx, {"select": "condlist choicelist default"})
    if bound is None or "choicelist" not in bound.arguments:
        return None
    match bound["condlist"], bound["choicelist"]:
        case (ast.List(elts=tests) | ast.Tuple(elts=tests)), (
            ast.List(elts=choices) | ast.Tuple(elts=choices)
        ) if len(tests) == len(choices) <= 6:
            pass
        case _:
            return None
    bools = all({t.dtype for t in cx.fact(t).types} == {"bool"} for t in tests)
    bools = bools and all(cx.fact(x).order == "C" for x in (*tests, *choices) if cx.fact(x).array)
    if not bools or cx.fact(e).array is None:
        return None
    text = f"T({_HOLES[2 * len(tests)]})"
    for k in reversed(range(len(tests))):
        text = f"NP.where({_HOLES[2 * k]}, T({_HOLES[2 * k + 1]}), {text})"
    pairs = [x for pair in zip(tests, choices, strict=True) for x in pair]
    return ElementFormula(text, [*pairs, bound.get("default") or ast.Constant(0)])


def isin_formula(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """The formula of ``np.isin(x, [1, 2])``: a disjunction of comparisons. Needs an array `x` of
    ints (not uint64) or floats, in C order, and a display of constants (`_constant_items`); else
    None.
    """
    ty, constants = cx.fact(bound["x"]).array, _constant_items(bound.get("among"))
    if ty is None or not constants or not bound.only("x", "among"):
        return None
    if ty.rank > 1 and cx.fact(bound["x"]).order != "C":
        return None  # NumPy's result is in C order
    kind = ELEMENTS[ty.dtype].kind
    if kind not in "iuf" or ty.dtype == "u64":
        return None
    constant_type = "float64" if any(isinstance(v, float) for v in constants) else "int64"
    text = " | ".join(f"NP.equal(A, NP.{constant_type}({v!r}))" for v in constants)
    return ElementFormula(text, [bound["x"]])


def polyval_formula(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """The formula of ``np.polyval([c, …], x)``: Horner's scheme from the highest power, starting
    with 0 as NumPy does. Needs constant coefficients, none of which is -0.0, to which NumPy may
    have added the int 0; else None.
    """
    coefficients, x = _constant_items(bound["p"]), bound.get("x")
    if x is None:
        return None
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(x).types}
    if not coefficients or not kinds <= set("iuf") or dtype not in ("i64", "f32", "f64"):
        return None
    if any(c == 0 and math.copysign(1, c) < 0 for c in coefficients):
        return None
    text = "T(0)"
    for c in coefficients:
        text = f"NP.add(NP.multiply({text}, T(A)), T({c!r}))"
    return ElementFormula(text, [x])


def _constant_items(e: ast.expr | None) -> list[int | float]:
    """The values of a display of int and float literals; empty where `e` is another expression,
    has other items, or has more than `_MAX_DISPLAY_LENGTH` of them.
    """
    if not isinstance(e, (ast.List, ast.Tuple)) or len(e.elts) > _MAX_DISPLAY_LENGTH:
        return []
    values: list[int | float] = []
    for item in e.elts:
        match item:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                values.append(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                values.append(-value)
            case _:
                return []
    return values if all(abs(v) < 1 << 62 for v in values) else []


_PYTHON_FLOAT = {ScalarType("f64", weak=True)}
_FormulaRule: TypeAlias = "Callable[[BoundArguments, Context, str], ElementFormula | None]"
"""From the arguments and the result's dtype to the formula; None: the call is not expanded."""


def formula_rule(
    text: str | None, *names: str, kinds: str = "fiub"
) -> _FormulaRule:
    """The rule, for the column ``formula`` of the function table, that gives a call the formula
    `text`.

        fix_rule = formula_rule("NP.trunc(A)", "x", kinds="f")

        np.fix(y)   →   ElementFormula("NP.trunc(A)", [y])     each element is np.trunc(y[i])

    `names` are the parameters, in the order of the holes A, B, …; the call must give all of them,
    and no other. The rule returns None, so that the call stays, where an operand has a dtype of
    another NumPy kind than `kinds` ("f" floats, "i" and "u" ints, "b" bools): for these the formula
    would be another function. `text` None: the result is a copy of the operand.
    """

    def rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
        if not bound.only(*names) or any(n not in bound.arguments for n in names):
            return None
        operands = [bound[n] for n in names]
        return ElementFormula(text, operands) if _kinds(operands, cx) <= set(kinds) else None

    return rule


def _kinds(operands: Iterable[ast.expr], cx: Context) -> set[str]:
    """The NumPy kinds of the dtypes of `operands`."""
    return {ELEMENTS[t.dtype].kind for e in operands for t in cx.fact(e).types}


def _skips_nan(comparison: str, of_integers: str) -> _FormulaRule:
    """The rule of ``np.fmax`` (`comparison` is ``>=``) or ``np.fmin`` (``<=``): NaN only if both
    operands are. If they compare equal, the first, or the zero that NumPy's order of zeros tells
    (`orders_zeros`). None for complex dtypes.

    If one operand is a float, the other is converted to a float first: NaN is never greater than an
    int. The ufunc `of_integers` serves ints and bools.
    """
    of_floats = f"T(A) if A {comparison} B or B != B else T(B)"
    of_a_float = f"T(A) if T(A) {comparison} T(B) or T(B) != T(B) else T(B)"
    of_others = f"NP.{of_integers}(A, B)"
    of_ordered_zeros = f"T(B) if A != A else T(A) if B != B else NP.{of_integers}(T(A), T(B))"

    def rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
        operands = [bound[n] for n in ("a", "b") if n in bound.arguments]
        kinds = _kinds(operands, cx)
        if not bound.only("a", "b") or len(operands) != 2 or "c" in kinds:
            return None
        text = of_floats if kinds == {"f"} else of_a_float if "f" in kinds else of_others
        if "f" in kinds and orders_zeros(dtype):
            text = of_ordered_zeros
        return ElementFormula(text, operands)

    return rule


def astype_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``x.astype(T)``: a conversion of each element, or a copy. None for a conversion from or to a
    complex dtype (from one, NumPy warns that a part is lost), and for ``copy=False`` where the
    dtype is the same.
    """
    source = cx.fact(bound["x"]).array
    copies = constant_flag(bound.get("copy"), True)
    if source is None or not bound.only("x", "dtype", "copy") or copies is None:
        return None
    if source.dtype == dtype:
        return ElementFormula(None, [bound["x"]]) if copies else None
    return None if source.dtype in PARTS or dtype in PARTS else ElementFormula("T(A)", [bound["x"]])


def array_copy_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.array(x, T)`` of an array: as `astype_rule`."""
    return astype_rule(bound, cx, dtype) if bound.only("x", "dtype", "copy") else None


def asarray_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.asarray(x, T)``: a conversion of each element; None where the dtype is the same, for
    then the result is `x` itself.
    """
    source = cx.fact(bound["x"]).array
    other = source is not None and source.dtype != dtype and bound.only("x", "dtype")
    return astype_rule(bound, cx, dtype) if other else None


def round_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.round(a, decimals)``: scaled, rounded to nearest even, scaled back, as NumPy does it.
    Ints are copied. None for

    - negative decimals of ints, and float16;
    - decimals other than 0 of an array not in C order: the order of the result may be another;
    - more decimals than `EXACT_POWER_OF_TEN_F64`: NumPy multiplies 10 with itself, so that its
      greater powers are rounded in another way than ``10.0 ** n``.
    """
    places = integer_constant(bound.get("decimals"), 0)
    kind = ELEMENTS[dtype].kind
    if places is None or not bound.only("a", "decimals") or kind not in "fiu" or dtype == "f16":
        return None
    if abs(places) > EXACT_POWER_OF_TEN_F64:
        return None
    if kind != "f":
        return ElementFormula(None, [bound["a"]]) if places >= 0 else None
    if not places:
        return ElementFormula("NP.rint(A)", [bound["a"]])
    if cx.fact(bound["a"]).rank and cx.fact(bound["a"]).order != "C":
        return None  # NumPy's result is in F order only if the array is contiguous
    first, last = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    by = repr(10.0 ** abs(places))
    return ElementFormula(f"NP.{last}(NP.rint(NP.{first}(A, {by})), {by})", [bound["a"]])


def clip_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.clip(a, low, high)``; with one bound, maximum or minimum. None without a bound.

    NumPy clips floats to scalar bounds by comparisons (as `lower_clip` of lowering does), which
    keep a zero where the bound is the zero of the other sign; to bounds of which one is an array,
    by a maximum and minimum that put the bound in its place, on any machine.
    """
    low, high = (bound.get(n) or bound.get(m) for n, m in (("a_min", "min"), ("a_max", "max")))
    if not bound.only("a", "a_min", "a_max", "min", "max"):
        return None
    if low is not None and high is not None:
        of_arrays = ELEMENTS[dtype].kind == "f" and any(cx.fact(b).rank != 0 for b in (low, high))
        text = "NP.minimum(NP.maximum(A, B), C)" if of_arrays else "NP.clip(A, B, C)"
        if of_arrays and orders_zeros(dtype):
            raised = "(T(A) if A != A or A > B else T(B))"
            text = "R if R != R or R < C else T(C)".replace("R", raised)
        return ElementFormula(text, [bound["a"], low, high])
    limit, text = (low, "NP.maximum(A, B)") if low is not None else (high, "NP.minimum(A, B)")
    return None if limit is None else ElementFormula(text, [bound["a"], limit])


def nan_to_num_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.nan_to_num(x)``: replacements for NaN and infinities, by default 0 and the largest
    finite numbers. Ints are copied. None for complex dtypes and ``copy=False``.
    """
    copies = constant_flag(bound.get("copy"), True)
    if not copies or dtype in PARTS:
        return None
    if ELEMENTS[dtype].kind != "f":
        return ElementFormula(None, [bound["x"]])
    most = float(np.finfo(ELEMENTS[dtype].numpy).max)
    none, high, low = (bound.get(n) or ast.Constant(v) for n, v in
                       (("nan", 0.0), ("posinf", most), ("neginf", -most)))
    if not all(cx.fact(e).rank == 0 for e in (none, high, low)):
        return None
    text = "T(B) if A != A else T(C) if A == NP.inf else T(D) if A == -NP.inf else A"
    return ElementFormula(text, [bound["x"], none, high, low])


def isclose_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.isclose(a, b)``: ``abs(a - b) <= atol + rtol * abs(b)`` for finite `b`, else equality;
    ints are converted to float64 first. None for dtypes that NumPy compares in another precision.
    """
    operands = [bound[n] for n in ("a", "b") if n in bound.arguments]
    if len(operands) < 2:
        return None
    types = {t for e in operands for t in cx.fact(e).types}
    plain = {t.dtype for t in types if not is_weak(t)}
    in_float64 = all(ELEMENTS[t].kind in "iub" or t == "f64" for t in plain)
    if not in_float64 and plain != {"f32"}:
        return None
    bounds = [bound.get("rtol") or ast.Constant(1e-5), bound.get("atol") or ast.Constant(1e-8)]
    nan = constant_flag(bound.get("equal_nan"), False)
    if nan is None or not all(cx.fact(e).types == _PYTHON_FLOAT for e in bounds):
        return None
    same = "A == B or A != A and B != B" if nan else "A == B"
    text = f"(abs(A - B) <= D + C * abs(B)) or {same} if NP.isfinite(B) else {same}"
    return ElementFormula(
        text.replace("B", "NP.float64(B)") if in_float64 else text, [*operands, *bounds]
    )


def _imaginary_is_zero(expected: bool) -> _FormulaRule:
    """The rule of ``np.isreal`` (`expected`) or ``np.iscomplex`` (not `expected`)."""

    def rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
        ty = cx.fact(bound["x"]).array
        text = f"NP.imag(A) {'==' if expected else '!='} 0"
        if ty is None or (ty.rank > 1 and cx.fact(bound["x"]).order != "C"):
            return None  # NumPy's result is in C order
        return ElementFormula(text if ty.dtype in PARTS else f"T({expected})", [bound["x"]])

    return rule


def conjugate_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.conjugate(x)``; a copy of real numbers."""
    text = "NP.conjugate(A)" if dtype in PARTS else None
    return ElementFormula(text, [bound["x"]]) if bound.only("x") else None


def angle_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.angle(z, deg)``; ``arctan2(0, z)`` of real numbers. None for float16."""
    ty, degrees = cx.fact(bound["z"]).array, constant_flag(bound.get("deg"), False)
    if ty is None or ty.dtype == "f16" or degrees is None:
        return None
    text = "NP.angle(A)" if ty.dtype in PARTS else "NP.arctan2(0, A)"
    if degrees:
        text = f"NP.multiply({text}, {180 / math.pi!r})"
    return ElementFormula(text, [bound["z"]])


def sinc_rule(bound: BoundArguments, cx: Context, dtype: str) -> ElementFormula | None:
    """``np.sinc(x)``: ``sin(y) / y`` for ``y = pi * x``, where NumPy replaces 0 by the machine
    epsilon. None for float16 and complex dtypes.
    """
    if dtype == "f16" or dtype in PARTS:
        return None
    least = float(np.finfo(ELEMENTS[dtype].numpy).eps)
    y = f"(T({math.pi!r}) * T(A) if A != 0 else T({least!r}))"
    return ElementFormula(f"NP.divide(NP.sin({y}), {y})", [bound["x"]])


def _scaled_by(numerator: float, denominator: float) -> _FormulaRule:
    """The rule of a function that multiplies by ``numerator / denominator``: by the quotient that
    NumPy computes in the precision of the dtype. For float16 the product is computed in float32.
    """
    single = np.float32(numerator) / np.float32(denominator)
    half = formula_rule(f"T(NP.multiply(NP.float32(T(A)), NP.float32({single})))", "x")
    rules = {"f16": half, "f32": formula_rule(f"NP.multiply(A, T({single}))", "x")}
    double = formula_rule(f"NP.multiply(A, T({numerator / denominator}))", "x")
    return lambda bound, cx, dtype: rules.get(dtype, double)(bound, cx, dtype)


to_radians_rule = _scaled_by(math.pi, 180)
to_degrees_rule = _scaled_by(180, math.pi)
fix_rule = formula_rule("NP.trunc(A)", "x", kinds="f")
fmax_rule = _skips_nan(">=", "maximum")
fmin_rule = _skips_nan("<=", "minimum")
float_power_rule = formula_rule("NP.power(NP.float64(A), NP.float64(B))", "a", "b", kinds="iuf")
heaviside_rule = formula_rule(
    "T(A) if A != A else T(B) if A == 0 else T(0) if A < 0 else T(1)", "x", "h", kinds="f"
)
is_complex_element_rule = _imaginary_is_zero(False)
is_real_element_rule = _imaginary_is_zero(True)
is_negative_infinity_rule = formula_rule("NP.equal(A, -NP.inf)", "x", kinds="f")
is_positive_infinity_rule = formula_rule("NP.equal(A, NP.inf)", "x", kinds="f")
positive_rule = formula_rule(None, "x")
reciprocal_rule = formula_rule("NP.divide(T(1), A)", "x", kinds="f")

_SIGNATURES = signatures("formula")

FORMULA_NAMES = frozenset(_SIGNATURES)
"""The callees of all rows with a formula."""

_SCALAR_CLASSES = {d.numpy.type for d in ELEMENTS.values()}
"""NumPy's scalar classes, whose call converts an array: ``np.float32(x)``."""


def formula_of(e: ast.expr, cx: Context) -> ElementFormula | None:
    """The formula of the array expression `e`; None where it is no call of a function with a
    formula, its rule refuses the arguments, or an operand is not surely an array or a scalar.
    """
    formula = _formula(e, cx)
    all_viewable = formula is not None and all(is_viewable(cx.fact(x)) for x in formula.operands)
    return formula if all_viewable else None


def _formula(e: ast.expr, cx: Context) -> ElementFormula | None:
    """The formula of `e`, by the first that applies: a conversion ``np.float32(x)``, ``np.select``,
    a ufunc with ``dtype=``, the rule of the function's row.
    """
    result = cx.fact(e).array
    match e:
        case ast.Call(func=func, args=[x], keywords=[]) if result is not None and (
            cx.resolve(func) in _SCALAR_CLASSES and cx.fact(x).array
        ):
            return asarray_rule(BoundArguments("asarray", {"x": x}), cx, result.dtype)
    if (
        isinstance(e, ast.Call)
        and (formula := select_formula(e, cx) or _with_dtype(e, cx)) is not None
    ):
        return formula
    bound = bind_arguments(e, cx, _SIGNATURES)
    if bound is None or result is None:
        return None
    name = bound.name
    method = isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and (
        cx.resolve(e.func) is None)
    return formula_by_name(
        f".{name}" if method and f".{name}" in _SIGNATURES else name, bound, cx, result.dtype
    )


def formula_by_name(
    name: str, bound: BoundArguments, cx: Context, dtype: str
) -> ElementFormula | None:
    """The formula that the rule of row `name` makes of the arguments and the result's dtype; None
    where the rule refuses. If the row ``warns``, the code that follows is marked as parts of one
    operation (`mark_operation_parts`): a warning names the function, and no ufunc of the formula.
    """
    if name in FUNCTIONS and FUNCTIONS[name].warns:
        cx.mark_operation_parts()
    formula: ElementFormula | None = expansion_rule("formula", name)(bound, cx, dtype)
    return formula


def _with_dtype(e: ast.Call, cx: Context) -> ElementFormula | None:
    """The formula of a ufunc with ``dtype=`` float32 or float64: the operands are converted to it
    first. None for other calls.
    """
    function, result = cx.resolve(e.func), cx.fact(e).array
    match e.keywords:
        case [ast.keyword(arg="dtype")] if isinstance(function, np.ufunc):
            pass
        case _:
            return None
    name = function.__name__
    is_ufunc_call = cx.is_numpy(e.func, name) and function.nin == len(e.args) and function.nout == 1
    if not is_ufunc_call or name in FORMULA_NAMES:
        return None
    if result is None or result.dtype not in ("f32", "f64"):
        return None
    operands = ", ".join(f"T({hole})" for hole in "AB"[: len(e.args)])
    return ElementFormula(f"NP.{name}({operands})", e.args)


def formula_view(e: ast.expr, cx: Context) -> View | None:
    """The view of `e` by its formula; None where it has none, or is only a copy. An operand that
    the formula uses several times is computed before the statement. A Python int that does not fit
    in the dtype of the result is checked: NumPy raises, even if there are no elements.
    """
    formula, result = formula_of(e, cx), cx.fact(e).array
    if formula is None or formula.text is None or result is None:
        return None
    text, operands, dtype = formula.text, formula.operands, dtype_expr(result.dtype, cx)
    used = [n.id for n in walk_nodes(ast.parse(text)) if isinstance(n, ast.Name)]
    pairs = enumerate(zip(_HOLES, operands, strict=False))
    repeated = {k for k, (hole, x) in pairs if used.count(hole) > 1 and _is_computed(x)}
    views = operands_by_index(operands, cx, repeated | operands_to_materialize(operands, cx))

    def combine(elements: list[ast.expr]) -> ast.expr:
        holes = dict(zip(_HOLES, elements, strict=False))
        return expression_from(text, location_node(e, cx.at), {"NP": cx.numpy, "T": dtype, **holes})

    view = broadcast_views(views, combine, cx)
    overflows = [
        check
        for operand, of_operand in zip(operands, views, strict=True)
        for check in scalar_overflow_checks(operand, of_operand, result.dtype, cx)
    ]
    return replace(view, checks=tuple(unique_nodes((*overflows, *view.checks))))


def _is_computed(e: ast.expr) -> bool:
    """Whether the evaluation of `e` does more than read a name, an attribute or an element."""
    while isinstance(e, (ast.Subscript, ast.Attribute)):
        e = e.value
    return not isinstance(e, (ast.Name, ast.Constant))


_ARRAYS_ONLY = ("angle", "array", "asarray", "conjugate")
"""Functions whose formula is not that of a scalar: they return an array, or lowering knows them."""

_SCALAR_SIGNATURES = {n: names for n, names in _SIGNATURES.items() if n not in _ARRAYS_ONLY}


@fires_on(ast.Call, calls=[".astype", ".clip", ".round", *numpy_callees(_SCALAR_SIGNATURES)])
def scalar_formula(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call on scalars → the formula of the function, converted to the dtype of the result. An
    argument that occurs twice in it is computed once, before the statement.

        s = np.fmin(s, t)
        t = np.round(x[0], 2)
    →
        s = np.float64(np.float64(s) if s <= t or t != t else np.float64(t))
        t = np.float64(np.divide(np.rint(np.multiply(x[0], 100.0)), 100.0))
    """
    fact = cx.fact(node) if isinstance(node, ast.Call) else None
    (out, *others) = fact.types if fact is not None and fact.rank == 0 and fact.types else (None,)
    if others or not isinstance(out, ScalarType) or out.weak or not isinstance(node, ast.Call):
        return None
    if (bound := _scalar_arguments(node, cx)) is None:
        return None
    if bound.name == "astype":
        return cx.expr("T(X)", T=dtype_expr(out.dtype, cx), X=bound["x"])
    formula = formula_by_name(bound.name, bound, cx, out.dtype)
    if formula is None or any(cx.fact(e).rank != 0 for e in formula.operands):
        return None
    text = formula.text or "A"
    uses = [n.id for n in walk_nodes(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)]
    holes = {
        hole: e if isinstance(e, (ast.Name, ast.Constant)) or uses.count(hole) == 1 else
        bind_fresh(e, "a", cx) for hole, e in zip("ABCD", formula.operands, strict=False)
    }
    new = cx.expr(f"T({text})", NP=cx.numpy, T=dtype_expr(out.dtype, cx), **holes)
    unchanged = isinstance(new, ast.Call) and same_tree(new.args[0], node)
    return None if unchanged else new


def _scalar_arguments(node: ast.Call, cx: Context) -> BoundArguments | None:
    """The arguments of a call of a formula's function; also of the methods astype, clip and round
    of a NumPy scalar, which `bind_arguments` binds for arrays only. None for other calls.
    """
    match node.func:
        case ast.Attribute(value=x, attr="astype" | "clip" | "round" as name) if (
            cx.resolve(node.func) is None and cx.fact(x).rank == 0
        ):
            entry = f".{name}" if f".{name}" in _SIGNATURES else name
            names = _SIGNATURES[entry].split()
            positional = dict(zip(names, [x, *node.args], strict=False))
            by_keyword = {k.arg: k.value for k in node.keywords if k.arg in names}
            valid = len(node.args) < len(names) and len(by_keyword) == len(node.keywords)
            return BoundArguments(entry, positional | by_keyword) if (
                valid and not positional.keys() & by_keyword.keys()) else None
    return bind_arguments(node, cx, _SCALAR_SIGNATURES)
