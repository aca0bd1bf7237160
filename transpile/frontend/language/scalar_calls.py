"""Scalar functions (``pow``, ``math.gcd``, ``operator``), methods of numbers, ``in``, ``assert``.

Each is written out with the operators of core Python. Where the result would not fit in 64 bits or
Python would raise, a replay guard leaves the call to Python.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from loopir.process.signal_exceptions import failures

from ...types.value_types import ELEMENTS, ScalarType
from ..ast_names import bound_names
from ..core_nodes import copy_location
from ..macros.bind_operands import bind_fresh, bind_unless_repeatable
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from ..macros.replay_guards import guarded
from .type_tests import residual_statements, static_value

__all__ = [
    "assert_statement", "constant_power", "scalar_call", "in_constants", "is_real", "number_method",
    "scalar_identity",
]

_MAX_ISQRT = 1 << 52
"""For smaller ints, ``math.isqrt`` is the float root rounded down."""

_EXACT_IN_FLOATS = 1 << 11
"""Smaller ints are exact in every float dtype."""

_MAX_ITEMS = 16
"""The maximal number of items of a display that ``in`` is expanded for."""

_INT_FUNCTIONS: tuple[tuple[object, str, str], ...] = (
    (math.factorial, "A < 0", "NAME = 1\nfor I in range(2, A + 1): NAME = NAME * I"),
    (math.comb, "A < 0 or B < 0",
     "S = B if B < A - B else A - B\nNAME = 1 if S >= 0 else 0\n"
     "for I in range(S): NAME = NAME * (A - I) // (I + 1)"),
    (math.gcd, "",
     "NAME = A if A >= 0 else -A\nT = B if B >= 0 else -B\n"
     "while T != 0:\n    S = NAME % T\n    NAME = T\n    T = S"),
    (math.lcm, "",
     "NAME = A if A >= 0 else -A\nT = B if B >= 0 else -B\n"
     "while T != 0:\n    S = NAME % T\n    NAME = T\n    T = S\n"
     "if NAME != 0: NAME = A // NAME * B\nif NAME < 0: NAME = -NAME"),
    (builtins.pow, "B < 0 or C == 0",
     "NAME = 1 % C\nS = A % C\nT = B\n"
     "while T > 0:\n    if T & 1 == 1: NAME = NAME * S % C\n"
     "    T = T >> 1\n    if T > 0: S = S * S % C"),
    (math.isqrt, f"A < 0 or A >= {_MAX_ISQRT}", "NAME = int(NP.sqrt(A))"),
)
"""Each function of an int A, or of ints A and B, or A, B and C, the condition under which the call
is left to Python ("": never), and a template that computes NAME. In it I, T and S become fresh
names, and NP is NumPy. A new function needs a row here, and nothing else.
"""

_FOLDED = (math.gcd, math.lcm)
"""Functions of any number of ints: those of more than two are calls of two, one in another."""


@fires_on(ast.Assert)
def assert_statement(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``assert`` becomes an ``if``: the kernel has only the test, and Python makes the message on
    replay.

        assert s > 0, "s"
    →
        if not s > 0:
            assert False, 's'

    Lowering makes a check of an ``if`` whose branch is ``assert False``. The message is kept for
    Python alone: it may call anything. With ``python -O`` there are no assertions.
    """
    match node:
        case ast.Assert(test=test, msg=msg) if getattr(test, "value", True) is not False:
            if not __debug__:
                return [copy_location(ast.Pass(), node)]
            (line,) = cx.code("if not TEST: assert False", TEST=test)
            assert isinstance(line, ast.If)
            assert isinstance(line.body[0], ast.Assert)
            line.body[0].msg = msg
            return [line]
    return None


@fires_on(ast.Call, calls=[divmod, pow, *(row[0] for row in _INT_FUNCTIONS)])
def scalar_call(node: ast.AST, cx: Context) -> ast.expr | None:
    """Functions of Python numbers are written out. Where Python raises, or the result has more than
    64 bits, the call is replayed.

        s = pow(s, 2)
        i, j = divmod(n, 3)
        i = math.factorial(n)
    →
        s = s ** 2
        _t = n // 3
        _t_1 = n % 3
        i = _t
        j = _t_1
        if n < 0:
            "Python's to answer"
            _n = math.factorial(n)
        else:
            _n = 1
            for _i in range(2, n + 1):
                _n = _n * _i
        i = _n
    """
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    function = cx.resolve(node.func)
    is_weak = all(_is_python_scalar(a, cx) for a in node.args)
    if function is divmod and len(node.args) == 2 and is_weak:
        pair = [ast.Name(cx.fresh("t"), ast.Load()) for _ in range(2)]
        a, b = (bind_unless_repeatable(e, "t", cx) for e in node.args)
        cx.before(*cx.code("Q = A // B; R = A % B", Q=pair[0], R=pair[1], A=a, B=b))
        return copy_location(ast.Tuple([*pair], ast.Load()), node)
    if function is builtins.pow and len(node.args) == 2:
        return cx.expr("A ** B", A=node.args[0], B=node.args[1])
    row = next(((test, text) for f, test, text in _INT_FUNCTIONS if f is function), None)
    if row is None or not cx.is_builtin("range", "int"):
        return None
    args = _as_ints(node.args, function is not builtins.pow, cx)
    if args is None:
        return None
    if function in _FOLDED and len(args) > 2:
        *rest, last = args
        inner = copy_location(ast.Call(node.func, rest, []), node)
        return cx.expr("F(A, B)", F=node.func, A=inner, B=last)
    test, text = row
    holes = [hole for hole in "ABC" if hole in re.findall(r"\b[A-Z]\b", text)]
    if len(args) != len(holes) or _is_inverse(function, args):
        return None
    name = cx.fresh("n")

    def lines() -> list[ast.stmt]:
        arguments = [a if isinstance(a, (ast.Name, ast.Constant)) else bind_fresh(a, "t", cx)
                     for a in args]
        parts = dict(zip(holes, arguments, strict=True))
        fresh = {hole: cx.fresh(hint) for hole, hint in (("I", "i"), ("T", "t"), ("S", "t"))}
        rewritten = cx.code(text, NAME=name, NP=cx.numpy, **parts, **fresh)
        original = cx.code("NAME = E", NAME=name, E=ast.Call(node.func, list(arguments), []))
        checks = [cx.expr(test, **parts)] if test else []
        return guarded(checks, original[0], rewritten, cx)

    return cx.bound_name(name, lines)


def _as_ints(
    args: Sequence[ast.expr], converts: bool, cx: Context
) -> list[ast.expr] | None:
    """The arguments as Python ints: those that are NumPy integers converted, as the functions of
    `math` convert them (`converts`). None where one may be anything else.
    """
    facts = [cx.fact(a) for a in args]
    if not all(f.is_int or (converts and f.is_integer) for f in facts):
        return None
    return [
        a if f.is_int else cx.expr("int(A)", A=a) for a, f in zip(args, facts, strict=True)
    ]


def _is_inverse(function: object, args: Sequence[ast.expr]) -> bool:
    """Whether the call is ``pow(a, -1, m)``, an inverse modulo m, which Python computes."""
    match args:
        case [_, ast.UnaryOp(op=ast.USub(), operand=ast.Constant()), _]:
            return function is builtins.pow
    return False


_SPREAD = "".join(f"NAME = NAME | NAME >> {k}\n" for k in (1, 2, 4, 8, 16, 32))
"""Sets all bits below the highest one that is set in NAME, which is not negative."""

_COUNT = (
    f"NAME = NAME - (NAME >> 1 & {0x5555555555555555})\n"
    f"NAME = (NAME & {0x3333333333333333}) + (NAME >> 2 & {0x3333333333333333})\n"
    f"NAME = NAME + (NAME >> 4) & {0x0f0f0f0f0f0f0f0f}\n"
    "NAME = NAME + (NAME >> 8)\nNAME = NAME + (NAME >> 16)\nNAME = NAME + (NAME >> 32) & 127"
)
"""Counts the bits that are set in NAME, which is not negative: the counts of neighbouring fields of
1, 2, 4 … bits are added. No sum overflows. It is no loop, so that one around it can be vectorised.
"""

_INT_METHODS = {"bit_count": _COUNT, "bit_length": _SPREAD + _COUNT}
"""Methods of an int, as a template that turns its absolute value NAME into the result."""


@fires_on(
    ast.Call,
    calls=[".conjugate", ".count", ".is_integer", *(f".{name}" for name in _INT_METHODS)],
)
def number_method(node: ast.AST, cx: Context) -> ast.expr | None:
    """Methods of Python's ints and floats are written out; a number is its own conjugate.

        t = float(s).conjugate()
        j = n.bit_count()
        t = float(s).is_integer()
    →
        t = +float(s)
        _n = n if n >= 0 else -n
        …
        j = _n
        t = float(s) % 1.0 == 0.0

    The ones among the digits, ``bin(i).count("1")``, are ``int(i).bit_count()``.
    """
    match node:
        case ast.Call(
            func=ast.Attribute(attr="count", value=ast.Call(args=[i], keywords=[]) as digits),
            args=[ast.Constant("1")], keywords=[],
        ) if cx.builtin(digits) == "bin" and cx.fact(i).is_integer:
            return cx.expr("int(I).bit_count()", I=i)
        case ast.Call(func=ast.Attribute(attr=method, value=x), args=[], keywords=[]):
            pass
        case _:
            return None
    if method == "conjugate":
        is_number = _is_python_scalar(x, cx) and is_real(x, cx)
        return cx.expr("+A", A=x) if is_number else None  # of a bool it is an int, as its conjugate
    if method == "is_integer":
        is_float = {t.dtype for t in _reals(x, cx)} == {"f64"}
        is_known = is_float and _is_python_scalar(x, cx)  # a 0-d array has no such method
        return cx.expr("A % 1.0 == 0.0", A=x) if is_known else None
    if method not in _INT_METHODS or not cx.fact(x).is_int:
        return None
    name = cx.fresh("n")

    def lines() -> list[ast.stmt]:
        size = "NAME = A if A >= 0 else -A\n"
        a = bind_unless_repeatable(x, "t", cx)
        return cx.code(size + _INT_METHODS[method], NAME=name, A=a)

    return cx.bound_name(name, lines)


@fires_on(ast.BinOp, op=ast.Pow, left=ast.Constant, right=(ast.Constant, ast.UnaryOp))
def constant_power(node: ast.AST, cx: Context) -> ast.expr | None:
    """A power of constants that is a float is computed, as Python's compiler does.

        t = s * 2**-3
    →
        t = s * 0.125
    """
    sign = 1
    match node:
        case ast.BinOp(ast.Constant(base), ast.Pow(), ast.Constant(exponent)):
            pass
        case ast.BinOp(
            ast.Constant(base), ast.Pow(), ast.UnaryOp(ast.USub(), ast.Constant(exponent))
        ):
            sign = -1
        case _:
            return None
    if not isinstance(base, (int, float)) or not isinstance(exponent, (int, float)):
        return None
    is_float = sign * exponent < 0 or float in (type(base), type(exponent))
    try:
        value: object = base ** (sign * exponent) if is_float else None
    except failures(OverflowError, ZeroDivisionError):
        return None
    return copy_location(ast.Constant(value), node) if type(value) is float else None


@fires_on(ast.Compare, ops=(ast.In, ast.NotIn), comparators=(ast.Tuple, ast.List, ast.Set))
def in_constants(node: ast.AST, cx: Context) -> ast.expr | None:
    """``in`` a display of ints and constants becomes comparisons. Not of other items: they may be
    NaNs, and a NaN is in a display that has the same object, although it does not equal itself.

        t = i in (1, n - 1)
    →
        _t = n - 1
        t = True if i == 1 or i == _t else False
    """
    match node:
        case ast.Compare(
            left=left, ops=[ast.In() | ast.NotIn() as op],
            comparators=[
                ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) as display
            ],
        ) if 0 < len(items) <= _MAX_ITEMS and cx.fact(left).rank == 0 and not bound_names(*items):
            in_set = isinstance(display, ast.Set)
            if not all(_compares_by_value(x, in_set) or _is_integer(x, cx) for x in items):
                return None
        case _:
            return None
    x, *values = (bind_unless_repeatable(e, "t", cx) for e in (left, *items))
    tests = [cx.expr("X == V", X=x, V=v) for v in values]
    test = ast.BoolOp(ast.Or(), tests) if len(tests) > 1 else tests[0]
    text = "True if TEST else False" if isinstance(op, ast.In) else "False if TEST else True"
    return cx.expr(text, TEST=test)


def _compares_by_value(e: ast.expr, in_set: bool) -> bool:
    """Whether `e` is a number of which ``x in (e,)`` means ``x == e``; in a set the hash must agree
    too, so only ints that are exact in all dtypes.
    """
    match e:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            return _compares_by_value(operand, in_set)
        case ast.Constant(value=int() as value):
            return abs(value) < (_EXACT_IN_FLOATS if in_set else 1 << 63)
        case ast.Constant(value=float() as value):
            return not in_set and value == value
    return False


def _is_integer(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is an integer or bool, of Python or NumPy, on every path."""
    types = cx.fact(e).types
    return bool(types) and all(
        isinstance(t, ScalarType) and t.dtype in ELEMENTS and ELEMENTS[t.dtype].numpy.kind in "iub"
        for t in types
    )


def _is_python_scalar(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a Python scalar on every path."""
    types = cx.fact(e).types
    return bool(types) and all(isinstance(t, ScalarType) and t.weak for t in types)


_ANGLES: dict[Any, float] = {math.degrees: 180.0 / math.pi, math.radians: math.pi / 180.0}
"""Functions that multiply by a constant."""

_OPERATORS: dict[Any, str] = {
    operator.add: "A + B", operator.sub: "A - B", operator.mul: "A * B", operator.truediv: "A / B",
    operator.floordiv: "A // B", operator.mod: "A % B", operator.pow: "A ** B",
    operator.lt: "A < B", operator.le: "A <= B", operator.gt: "A > B", operator.ge: "A >= B",
    operator.eq: "A == B", operator.ne: "A != B", operator.and_: "A & B", operator.or_: "A | B",
    operator.xor: "A ^ B", operator.neg: "-A", operator.not_: "not A",
}
"""Functions of the module ``operator``, as templates of A and B."""

_LIMITS = {
    np.iinfo: ("max", "min", "bits"),
    np.finfo: ("max", "min", "eps", "epsneg", "tiny", "smallest_normal", "resolution", "bits"),
}
"""The attributes of ``np.iinfo`` and ``np.finfo`` that become constants."""

_CLASSES = {"f": "float", "i": "int", "u": "int", "b": "bool"}
"""Python's class for the elements of a dtype, by its kind."""


@fires_on(ast.Attribute, value=ast.Call, calls=[np.finfo, np.iinfo])
@fires_on(ast.Call, calls=[".item", math.isclose, math.log, *_ANGLES, *_OPERATORS])
def scalar_identity(node: ast.AST, cx: Context) -> ast.expr | None:
    """Functions that are an operator, a conversion or a constant become that.

        i = np.iinfo(np.int16).max
        s = s + math.degrees(t)
        t = operator.mul(s, t)
        e = x[0].item()
    →
        np.iinfo
        np.int16
        i = 32767
        s = s + float(t) * 57.29577951308232
        t = s * t
        e = float(x[0])
    """
    match node:
        case ast.Attribute(attr=limit, value=ast.Call(func=func, args=[dtype], keywords=[])):
            return _limit(limit, func, dtype, cx)
        case ast.Call(func=ast.Attribute(attr="item", value=x), args=[], keywords=[]):
            return _item(x, cx)
        case ast.Call(func=ast.Attribute(attr="item", value=x), args=[index], keywords=[]) if (
            cx.fact(x).rank == 1 and cx.fact(index).is_int
        ):
            return _item(cx.expr("X[I]", X=x, I=index), cx)
        case ast.Call(func=func, args=[a, *rest], keywords=keywords):
            function = cx.resolve(func)
            if function is math.isclose and len(rest) == 1:
                return _isclose(a, rest[0], keywords, cx)
            if function is math.log and len(rest) == 1 and not keywords:
                operands = (bind_unless_repeatable(e, "t", cx) for e in (a, *rest))
                parts = dict(zip("AB", operands, strict=True))
                return cx.expr("LOG(A) / LOG(B)", LOG=func, **parts)
            if keywords or function is None:
                return None
            if not rest and (by := _look_up(function, _ANGLES)) is not None:
                return _scaled_angle(a, by, cx)
            template = _look_up(function, _OPERATORS)
            if template is not None and len(rest) == ("B" in template):
                return cx.expr(template, A=a, B=rest[0] if rest else a)
    return None


def _look_up(function: object, table: dict[Any, Any]) -> Any:
    """The entry of `table` for `function`, by identity; None if there is none."""
    return next((v for f, v in table.items() if f is function), None)


def _limit(limit: str, func: ast.expr, dtype: ast.expr, cx: Context) -> ast.expr | None:
    """The attribute `limit` of ``np.iinfo(dtype)`` or ``np.finfo(dtype)`` as a constant: an int, or
    a call ``np.float32(…)``. None if the dtype is not known, or Python would raise. The dtype None
    is float64 for NumPy, which warns: that is left to it.
    """
    info: Any = cx.resolve(func)
    if info not in (np.iinfo, np.finfo) or limit not in _LIMITS[info]:
        return None
    static = static_value(dtype, cx)
    kind: Any = static.value if static else cx.resolve(dtype)
    if kind is None:
        return None
    try:
        value = getattr(info(kind), limit)
    except failures(TypeError, ValueError):
        return None
    cx.before(*residual_statements(func, cx), *residual_statements(dtype, cx))
    if isinstance(value, int):
        return cx.expr("-A - 1" if value < 0 else "A", A=ast.Constant(value ^ -(value < 0)))
    if type(value) not in (np.float64, np.float32):
        return None
    return cx.expr("NP.T(E)".replace("T", type(value).__name__), NP=cx.numpy,
                   E=ast.parse(repr(float(value)), mode="eval").body)


def _reals(e: ast.expr, cx: Context) -> list[ScalarType]:
    """The types that `e` may have, if all are of real scalars; else none."""
    types = [t for t in cx.fact(e).types if isinstance(t, ScalarType)]
    are_real = all(t.dtype != "c128" and t.dtype in ELEMENTS for t in types)
    return types if are_real and len(types) == len(cx.fact(e).types) else []


def is_real(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a real scalar on every path."""
    return bool(_reals(e, cx))


def _scaled_angle(a: ast.expr, by: float, cx: Context) -> ast.expr | None:
    """``float(a) * by`` for a real scalar; else None."""
    is_known = _reals(a, cx) and cx.is_builtin("float")
    return cx.expr("float(A) * B", A=a, B=ast.Constant(by)) if is_known else None


def _item(x: ast.expr, cx: Context) -> ast.expr | None:
    """``x.item()`` of a NumPy scalar as ``float(x)``, ``int(x)`` or ``bool(x)``; None for others.
    """
    types = _reals(x, cx)
    names = {_CLASSES.get(ELEMENTS[t.dtype].numpy.kind, "") for t in types if not t.weak}
    (name,) = names if len(names) == 1 and not any(t.weak for t in types) else ("",)
    return cx.expr(f"{name}(A)", A=x) if name and cx.is_builtin(name) else None


def _isclose(
    a: ast.expr, b: ast.expr, keywords: list[ast.keyword], cx: Context
) -> ast.expr | None:
    """``math.isclose(a, b)`` written out as CPython does it; None unless the tolerances are
    constants that are not negative, and the operands real scalars.
    """
    tolerances = {"rel_tol": 1e-09, "abs_tol": 0.0}
    for keyword in keywords:
        value = getattr(keyword.value, "value", None)
        if keyword.arg not in tolerances or not isinstance(value, (int, float)) or not value >= 0:
            return None
        tolerances[keyword.arg] = float(value)
    if not (_reals(a, cx) and _reals(b, cx) and cx.is_builtin("float", "abs")):
        return None
    p, q = (bind_fresh(cx.expr("float(E)", E=e), "t", cx) for e in (a, b))
    gap = bind_fresh(cx.expr("abs(Q - P)", P=p, Q=q), "t", cx)
    return cx.expr(
        "P == Q or (abs(P) < 1e999 and abs(Q) < 1e999 and"
        " (D <= abs(R * Q) or D <= abs(R * P) or D <= T))",
        P=p, Q=q, D=gap, R=ast.Constant(tolerances["rel_tol"]),
        T=ast.Constant(tolerances["abs_tol"]),
    )
