"""Calls and comparisons of numbers → plainer ones: ``pow``, ``math.gcd``, ``in (1, 2)``."""
from __future__ import annotations

import ast
import builtins
import math

from ..types import ELEMENTS, ScalarType
from .context import Context
from .firing import fires_on
from .names import bound
from .nests import unless
from .tupled import is_steady
from .views import held

__all__ = ["asserted", "number_called", "number_in"]

_LARGEST_ROOT = 1 << 52
"""Roots of ints below it are those of floats, rounded down."""

_SHORT = 1 << 11
"""Ints below it are the same in every dtype of floats."""

_MOST = 16

_WHOLE: tuple[tuple[object, str, str], ...] = (
    (math.factorial, "A < 0", "NAME = 1\nfor I in range(2, A + 1): NAME = NAME * I"),
    (math.comb, "A < 0 or B < 0",
     "NAME = 1\nfor I in range(B): NAME = NAME * (A - I) // (I + 1)"),
    (math.gcd, "",
     "NAME = A if A >= 0 else -A\nT = B if B >= 0 else -B\n"
     "while T != 0:\n    S = NAME % T\n    NAME = T\n    T = S"),
    (math.isqrt, f"A < 0 or A >= {_LARGEST_ROOT}", "NAME = int(NP.sqrt(A))"),
)
"""What is Python's, and the other values as plain Python."""


@fires_on(ast.Assert)
def asserted(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The message is Python's to make.

        assert s > 0, "s"
    →
        if not s > 0:
            assert False, 's'
    """
    match node:
        case ast.Assert(test=test, msg=msg) if getattr(test, "value", True) is not False:
            if not __debug__:
                return [ast.copy_location(ast.Pass(), node)]
            (line,) = cx.code("if not TEST: assert False", TEST=test)
            assert isinstance(line, ast.If)
            assert isinstance(line.body[0], ast.Assert)
            line.body[0].msg = msg
            return [line]
    return None


@fires_on(ast.Call, calls=[divmod, pow, *(row[0] for row in _WHOLE)])
def number_called(node: ast.AST, cx: Context) -> ast.expr | None:
    """What has no value, or none of 64 bits, is Python's.

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
    if function is divmod and len(node.args) == 2 and all(_is_python(a, cx) for a in node.args):
        pair = [ast.Name(cx.fresh("t"), ast.Load()) for _ in range(2)]
        a, b = (e if is_steady(e) else held(e, "t", cx) for e in node.args)
        cx.before(*cx.code("Q = A // B; R = A % B", Q=pair[0], R=pair[1], A=a, B=b))
        return ast.copy_location(ast.Tuple([*pair], ast.Load()), node)
    if function is builtins.pow and len(node.args) == 2:
        return cx.expr("A ** B", A=node.args[0], B=node.args[1])
    known = next((spelled for f, *spelled in _WHOLE if f is function), None)
    ints = all(cx.fact(a).is_int for a in node.args)
    if known is None or not ints or not cx.means("range", "int"):
        return None
    test, text = known
    if text.count("B") and len(node.args) != 2:
        return None
    name = cx.fresh("n")

    def lines() -> list[ast.stmt]:
        steady = [a if isinstance(a, (ast.Name, ast.Constant)) else held(a, "t", cx)
                  for a in node.args]
        parts = dict(zip("AB", steady, strict=False))
        fresh = {hole: cx.fresh(hint) for hole, hint in (("I", "i"), ("T", "t"), ("S", "t"))}
        made = cx.code(text, NAME=name, NP=cx.numpy, **parts, **fresh)
        original = cx.code("NAME = E", NAME=name, E=ast.Call(node.func, list(steady), []))
        checks = [cx.expr(test, **parts)] if test else []
        return unless(checks, original[0], made, cx)

    return cx.made(name, lines)


@fires_on(ast.Compare, ops=(ast.In, ast.NotIn), comparators=(ast.Tuple, ast.List, ast.Set))
def number_in(node: ast.AST, cx: Context) -> ast.expr | None:
    """Of ints and constants, none of them a NaN, which is equal to nothing and yet in a tuple.

        t = i in (1, n - 1)
    →
        _t = n - 1
        t = True if i == 1 or i == _t else False
    """
    match node:
        case ast.Compare(
            left=left, ops=[ast.In() | ast.NotIn() as op],
            comparators=[ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) as of],
        ) if 0 < len(items) <= _MOST and cx.fact(left).rank == 0 and not bound(*items):
            hashed = isinstance(of, ast.Set)
            if not all(_is_plain(x, hashed) or _is_whole(x, cx) for x in items):
                return None
        case _:
            return None
    x, *values = (e if is_steady(e) else held(e, "t", cx) for e in (left, *items))
    tests = [cx.expr("X == V", X=x, V=v) for v in values]
    test = ast.BoolOp(ast.Or(), tests) if len(tests) > 1 else tests[0]
    text = "True if TEST else False" if isinstance(op, ast.In) else "False if TEST else True"
    return cx.expr(text, TEST=test)


def _is_plain(e: ast.expr, hashed: bool) -> bool:
    match e:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            return _is_plain(operand, hashed)
        case ast.Constant(value=int() as value):
            return abs(value) < (_SHORT if hashed else 1 << 63)
        case ast.Constant(value=float() as value):
            return not hashed and value == value
    return False


def _is_whole(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return bool(types) and all(
        isinstance(t, ScalarType) and t.dtype in ELEMENTS and ELEMENTS[t.dtype].numpy.kind in "iub"
        for t in types
    )


def _is_python(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return bool(types) and all(isinstance(t, ScalarType) and t.weak for t in types)
