"""Elementwise formulas: NumPy functions defined by an expression of scalars, a row each.

Also those as long as a display (``np.select``, ``np.isin``, ``np.polyval``), and all of them
on scalars.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from loopir.lazy_dataclass import record

from ...frontend.ast_walk import same_tree
from ...frontend.core_nodes import location_node
from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context, expression_from
from ...frontend.macros.macro_index import fires_on, named
from ...frontend.macros.replay_guards import bind_fresh
from ...types.value_types import ELEMENTS, PARTS, ScalarType
from ..array_nests import dtype_expr
from ..array_views import View, broadcast_views, is_viewable, operands_by_index, recomputed_operands
from ..call_arguments import BoundArguments, bind_arguments, constant_flag
from ..function_table import FUNCTIONS, expansion_rule, signatures

__all__ = [
    "ElementFormula", "isin_formula", "polyval_formula", "select_formula", "FORMULA_NAMES",
    "formula_of", "formula", "formula_view", "formula_by_name", "scalar_formula", "astype_rule",
    "array_copy_rule", "asarray_rule", "round_rule", "clip_rule", "nan_to_num_rule", "isclose_rule",
    "conjugate_rule", "angle_rule", "sinc_rule", "to_radians_rule", "to_degrees_rule", "fix_rule",
    "fmax_rule", "fmin_rule", "float_power_rule", "heaviside_rule", "is_complex_element_rule",
    "is_real_element_rule", "is_negative_infinity_rule", "is_positive_infinity_rule",
    "positive_rule", "reciprocal_rule",
]

_MAX_DISPLAY_LENGTH = 12
"""So long a formula may be."""


@record(frozen=True, slots=True)
class ElementFormula:
    """``text`` of the elements of ``operands``, which go by A, B, … there, T by the dtype of the
    result; None: of the one operand a copy.
    """

    text: str | None
    operands: list[ast.expr]


def select_formula(e: ast.Call, cx: Context) -> ElementFormula | None:
    """``np.select``: the first choice whose condition holds."""
    given = bind_arguments(e, cx, {"select": "condlist choicelist default"})
    if given is None or "choicelist" not in given.given:
        return None
    match given["condlist"], given["choicelist"]:
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
    names = "ABCDEFGHIJKLM"
    text = f"T({names[2 * len(tests)]})"
    for k in reversed(range(len(tests))):
        text = f"NP.where({names[2 * k]}, T({names[2 * k + 1]}), {text})"
    pairs = [x for pair in zip(tests, choices, strict=True) for x in pair]
    return ElementFormula(text, [*pairs, given.get("default") or ast.Constant(0)])


def isin_formula(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """One of some constants; what is asked of a number is an array, which is NumPy's."""
    of, numbers = cx.fact(given["x"]).array, _constant_items(given.get("among"))
    if of is None or not numbers or not given.only("x", "among"):
        return None
    if of.rank > 1 and cx.fact(given["x"]).order != "C":
        return None  # the result lies as in C
    kind = ELEMENTS[of.dtype].kind
    if kind not in "iuf" or of.dtype == "u64":
        return None
    made = "float64" if any(isinstance(v, float) for v in numbers) else "int64"
    text = " | ".join(f"NP.equal(A, NP.{made}({v!r}))" for v in numbers)
    return ElementFormula(text, [given["x"]])


def polyval_formula(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """From the highest power down, as NumPy does it: from 0 times the number."""
    numbers, x = _constant_items(given["p"]), given.get("x")
    if x is None:
        return None
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(x).types}
    if not numbers or not kinds <= set("iuf") or to not in ("i64", "f32", "f64"):
        return None
    text = "T(0)"
    for v in numbers:
        text = f"NP.add(NP.multiply({text}, T(A)), T({v!r}))"
    return ElementFormula(text, [x])


def _constant_items(e: ast.expr | None) -> list[int | float]:
    """The constants of a display; none where there are others, or too many."""
    if not isinstance(e, (ast.List, ast.Tuple)) or len(e.elts) > _MAX_DISPLAY_LENGTH:
        return []
    found: list[int | float] = []
    for x in e.elts:
        match x:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                found.append(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                found.append(-value)
            case _:
                return []
    return found if all(abs(v) < 1 << 62 for v in found) else []


_PYTHON_FLOAT = {ScalarType("f64", weak=True)}
_FormulaRow: TypeAlias = "Callable[[BoundArguments, Context, str], ElementFormula | None]"


def formula(
    text: str | None, *names: str, kinds: str = "fiub", also: str | None = None
) -> _FormulaRow:
    """Of the arguments of these names, where all that are arrays are of the `kinds`; of other
    arrays than those of floats `also`, if anything.
    """

    def row(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
        if not given.only(*names) or any(n not in given.given for n in names):
            return None
        operands = [given[n] for n in names]
        of = {ELEMENTS[t.dtype].kind for e in operands for t in cx.fact(e).types}
        if of <= set(kinds):
            return ElementFormula(text, operands)
        return ElementFormula(also, operands) if also is not None and "c" not in of else None

    return row


def astype_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """To a dtype: complex numbers lose a part, of which NumPy warns."""
    of = cx.fact(given["x"]).array
    copies = constant_flag(given.get("copy"), True)
    if of is None or not given.only("x", "dtype", "copy") or copies is None:
        return None
    if of.dtype == to:
        return ElementFormula(None, [given["x"]]) if copies else None
    return None if of.dtype in PARTS or to in PARTS else ElementFormula("T(A)", [given["x"]])


def array_copy_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """``np.array(x)``: a copy, of whatever type."""
    return astype_rule(given, cx, to) if given.only("x", "dtype", "copy") else None


def asarray_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """``np.asarray(x, T)``: a copy, if it is of another type."""
    of = cx.fact(given["x"]).array
    other = of is not None and of.dtype != to and given.only("x", "dtype")
    return astype_rule(given, cx, to) if other else None


def round_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """To some decimals: of ints they have none."""
    places = integer_constant(given.get("decimals"), 0)
    kind = ELEMENTS[to].kind
    if places is None or not given.only("a", "decimals") or kind not in "fiu" or to == "f16":
        return None
    if kind != "f":
        return ElementFormula(None, [given["a"]]) if places >= 0 else None
    if not places:
        return ElementFormula("NP.rint(A)", [given["a"]])
    if cx.fact(given["a"]).rank and cx.fact(given["a"]).order != "C":
        return None  # in that of C, but where the elements are neighbours in that of F
    first, last = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    by = repr(10.0 ** abs(places))
    return ElementFormula(f"NP.{last}(NP.rint(NP.{first}(A, {by})), {by})", [given["a"]])


def clip_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """Between bounds, of which one may be missing."""
    low, high = (given.get(n) or given.get(m) for n, m in (("a_min", "min"), ("a_max", "max")))
    if not given.only("a", "a_min", "a_max", "min", "max"):
        return None
    if low is not None and high is not None:
        return ElementFormula("NP.clip(A, B, C)", [given["a"], low, high])
    bound, text = (low, "NP.maximum(A, B)") if low is not None else (high, "NP.minimum(A, B)")
    return None if bound is None else ElementFormula(text, [given["a"], bound])


def nan_to_num_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """In place of NaN and of infinities; of ints a copy."""
    copies = constant_flag(given.get("copy"), True)
    if not copies or to in PARTS:
        return None
    if ELEMENTS[to].kind != "f":
        return ElementFormula(None, [given["x"]])
    most = float(np.finfo(ELEMENTS[to].numpy).max)
    none, high, low = (given.get(n) or ast.Constant(v) for n, v in
                       (("nan", 0.0), ("posinf", most), ("neginf", -most)))
    if not all(cx.fact(e).rank == 0 for e in (none, high, low)):
        return None
    text = "T(B) if A != A else T(C) if A == NP.inf else T(D) if A == -NP.inf else A"
    return ElementFormula(text, [given["x"], none, high, low])


def isclose_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """Of floats; NumPy makes floats of ints first."""
    operands = [given[n] for n in ("a", "b") if n in given.given]
    if len(operands) < 2:
        return None
    types = {t for e in operands for t in cx.fact(e).types}
    plain = {t.dtype for t in types if not getattr(t, "weak", False)}
    whole = all(ELEMENTS[t].kind in "iub" or t == "f64" for t in plain)
    if not whole and plain != {"f32"}:
        return None
    bounds = [given.get("rtol") or ast.Constant(1e-5), given.get("atol") or ast.Constant(1e-8)]
    nan = constant_flag(given.get("equal_nan"), False)
    if nan is None or not all(cx.fact(e).types == _PYTHON_FLOAT for e in bounds):
        return None
    same = "A == B or A != A and B != B" if nan else "A == B"
    text = f"(abs(A - B) <= D + C * abs(B)) or {same} if NP.isfinite(B) else {same}"
    return ElementFormula(
        text.replace("B", "NP.float64(B)") if whole else text, [*operands, *bounds]
    )


def _imaginary_is_zero(yes: bool) -> _FormulaRow:
    """Whether the imaginary part is nothing."""

    def row(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
        of = cx.fact(given["x"]).array
        compared = f"NP.imag(A) {'==' if yes else '!='} 0"
        if of is None or (of.rank > 1 and cx.fact(given["x"]).order != "C"):
            return None  # the result lies as in C
        return ElementFormula(compared if of.dtype in PARTS else f"T({yes})", [given["x"]])

    return row


def conjugate_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """``np.conjugate(x)`` of each element."""
    text = "NP.conjugate(A)" if to in PARTS else None
    return ElementFormula(text, [given["x"]]) if given.only("x") else None


def angle_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """``np.angle(z, deg)`` of each element."""
    of, degrees = cx.fact(given["z"]).array, constant_flag(given.get("deg"), False)
    if of is None or of.dtype == "f16" or degrees is None:
        return None
    text = "NP.angle(A)" if of.dtype in PARTS else "NP.arctan2(0, A)"
    if degrees:
        text = f"NP.multiply({text}, {180 / math.pi!r})"
    return ElementFormula(text, [given["z"]])


def sinc_rule(given: BoundArguments, cx: Context, to: str) -> ElementFormula | None:
    """In place of zero there is almost zero."""
    if to == "f16" or to in PARTS:
        return None
    least = float(np.finfo(ELEMENTS[to].numpy).eps)
    y = f"(T({math.pi!r}) * T(A) if A != 0 else T({least!r}))"
    return ElementFormula(f"NP.divide(NP.sin({y}), {y})", [given["x"]])


def _scaled_by(over: float, under: float) -> _FormulaRow:
    """`over` / `under` as much, which are of the dtype; of half floats computed in single ones."""
    single = np.float32(over) / np.float32(under)
    half = formula(f"T(NP.multiply(NP.float32(T(A)), NP.float32({single})))", "x")
    rows = {"f16": half, "f32": formula(f"NP.multiply(A, T({single}))", "x")}
    double = formula(f"NP.multiply(A, T({over / under}))", "x")
    return lambda given, cx, to: rows.get(to, double)(given, cx, to)


to_radians_rule = _scaled_by(math.pi, 180)
to_degrees_rule = _scaled_by(180, math.pi)
fix_rule = formula("NP.trunc(A)", "x", kinds="f")
fmax_rule = formula(
    "T(A) if A >= B or B != B else T(B)", "a", "b", kinds="f", also="NP.maximum(A, B)"
)
fmin_rule = formula(
    "T(A) if A <= B or B != B else T(B)", "a", "b", kinds="f", also="NP.minimum(A, B)"
)
float_power_rule = formula("NP.power(NP.float64(A), NP.float64(B))", "a", "b", kinds="iuf")
heaviside_rule = formula(
    "T(A) if A != A else T(B) if A == 0 else T(0) if A < 0 else T(1)", "x", "h", kinds="f"
)
is_complex_element_rule = _imaginary_is_zero(False)
is_real_element_rule = _imaginary_is_zero(True)
is_negative_infinity_rule = formula("NP.equal(A, -NP.inf)", "x", kinds="f")
is_positive_infinity_rule = formula("NP.equal(A, NP.inf)", "x", kinds="f")
positive_rule = formula(None, "x")
reciprocal_rule = formula("NP.divide(T(1), A)", "x", kinds="f")

_SIGNATURES = signatures("formula")
FORMULA_NAMES = frozenset(_SIGNATURES)
_TYPES = {d.numpy.type for d in ELEMENTS.values()}



def formula_of(e: ast.expr, cx: Context) -> ElementFormula | None:
    """The formula that `e` is, of arrays and scalars; None where it is none."""
    found = _formula(e, cx)
    known = found is not None and all(is_viewable(cx.fact(x)) for x in found.operands)
    return found if known else None


def _formula(e: ast.expr, cx: Context) -> ElementFormula | None:
    to = cx.fact(e).array
    match e:
        case ast.Call(func=func, args=[x], keywords=[]) if to is not None and (
            cx.resolve(func) in _TYPES and cx.fact(x).array
        ):
            return asarray_rule(BoundArguments("asarray", {"x": x}), cx, to.dtype)
    if (
        isinstance(e, ast.Call)
        and (found := select_formula(e, cx) or _with_dtype(e, cx)) is not None
    ):
        return found
    given = bind_arguments(e, cx, _SIGNATURES)
    if given is None or to is None:
        return None
    name = given.name
    method = isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and (
        cx.resolve(e.func) is None)
    return formula_by_name(
        f".{name}" if method and f".{name}" in _SIGNATURES else name, given, cx, to.dtype
    )


def formula_by_name(
    name: str, given: BoundArguments, cx: Context, to: str
) -> ElementFormula | None:
    """The formula of the row of that name."""
    if name in FUNCTIONS and FUNCTIONS[name].warns:
        cx.steps()
    found: ElementFormula | None = expansion_rule("formula", name)(given, cx, to)
    return found


def _with_dtype(e: ast.Call, cx: Context) -> ElementFormula | None:
    """A function of numbers in a dtype of floats, of which all are first."""
    function, to = cx.resolve(e.func), cx.fact(e).array
    match e.keywords:
        case [ast.keyword(arg="dtype")] if isinstance(function, np.ufunc):
            pass
        case _:
            return None
    name = function.__name__
    known = cx.is_numpy(e.func, name) and function.nin == len(e.args) and function.nout == 1
    if not known or name in FORMULA_NAMES or to is None or to.dtype not in ("f32", "f64"):
        return None
    operands = ", ".join(f"T({hole})" for hole in "AB"[: len(e.args)])
    return ElementFormula(f"NP.{name}({operands})", e.args)


def formula_view(e: ast.expr, cx: Context) -> View | None:
    """`e` by its formula."""
    found, to = formula_of(e, cx), cx.fact(e).array
    if found is None or found.text is None or to is None:
        return None
    text, of = found.text, dtype_expr(to.dtype, cx)
    used = [n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)]
    pairs = enumerate(zip("ABCDEFGHIJKLM", found.operands, strict=False))
    again = {k for k, (name, e) in pairs if used.count(name) > 1 and _is_computed(e)}
    parts = operands_by_index(found.operands, cx, again | recomputed_operands(found.operands, cx))

    def combine(elements: list[ast.expr]) -> ast.expr:
        names = dict(zip("ABCDEFGHIJKLM", elements, strict=False))
        return expression_from(text, location_node(e, cx.at), {"NP": cx.numpy, "T": of, **names})

    return broadcast_views(parts, combine, cx)


def _is_computed(e: ast.expr) -> bool:
    """Whether `e` is more than the elements of an array, or a number."""
    while isinstance(e, (ast.Subscript, ast.Attribute)):
        e = e.value
    return not isinstance(e, (ast.Name, ast.Constant))


_ARRAYS = ("angle", "array", "asarray", "conjugate")
_SCALAR_SIGNATURES = {n: names for n, names in _SIGNATURES.items() if n not in _ARRAYS}


@fires_on(ast.Call, calls=[".astype", ".clip", ".round", *named(_SCALAR_SIGNATURES)])
def scalar_formula(node: ast.AST, cx: Context) -> ast.expr | None:
    """In plainer words; what these name twice is computed once.

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
    if (given := _scalar_arguments(node, cx)) is None:
        return None
    if given.name == "astype":
        return cx.expr("T(X)", T=dtype_expr(out.dtype, cx), X=given["x"])
    found = formula_by_name(given.name, given, cx, out.dtype)
    if found is None or any(cx.fact(e).rank != 0 for e in found.operands):
        return None
    text = ast.parse(found.text or "A", mode="eval")
    uses = [n.id for n in ast.walk(text) if isinstance(n, ast.Name)]
    parts = {
        name: e if isinstance(e, (ast.Name, ast.Constant)) or uses.count(name) == 1 else
        bind_fresh(e, "a", cx) for name, e in zip("ABCD", found.operands, strict=False)
    }
    new = cx.expr(f"T({found.text or 'A'})", NP=cx.numpy, T=dtype_expr(out.dtype, cx), **parts)
    return None if isinstance(new, ast.Call) and same_tree(new.args[0], node) else new


def _scalar_arguments(node: ast.Call, cx: Context) -> BoundArguments | None:
    """The arguments, also of a method of a scalar of NumPy's."""
    match node.func:
        case ast.Attribute(value=x, attr="astype" | "clip" | "round" as name) if (
            cx.resolve(node.func) is None and cx.fact(x).rank == 0
        ):
            known_as = f".{name}" if f".{name}" in _SIGNATURES else name
            names = _SIGNATURES[known_as].split()
            given = dict(zip(names, [x, *node.args], strict=False))
            more = {k.arg: k.value for k in node.keywords if k.arg in names}
            known = len(node.args) < len(names) and len(more) == len(node.keywords)
            return BoundArguments(known_as, given | more) if (
                known and not given.keys() & more.keys()) else None
    return bind_arguments(node, cx, _SCALAR_SIGNATURES)
