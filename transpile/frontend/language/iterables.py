"""Iterables by index: arrays, ranges, and ``enumerate``, ``zip``, ``reversed``; ``in range(…)``."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

import numpy as np

from loopir.lazy_dataclass import record

from ...analysis.type_facts import INT_TYPES
from ...types.value_types import ScalarType
from ..ast_names import mentions_none
from ..ast_walk import tree_key
from ..int_exprs import integer_constant
from ..macros.firing_conditions import is_constant_tuple
from ..macros.macro_context import Context, add_ints, subtract_ints
from ..macros.macro_index import fires_on
from .tuple_replacement import constant_tuple, indexable_tuple

__all__ = [
    "range_arguments", "as_python_int", "in_range_test", "named_range", "arange_as_range",
    "Element", "Stream", "clamped_length", "stream_of",
]

Bounds: TypeAlias = tuple[ast.expr, ast.expr, ast.expr]

_LONG = INT_TYPES | {ScalarType("i64")}
"""Of what ``np.arange`` makes int64; lengths that it computes of smaller ones may overflow."""


def _bounds(call: ast.Call, cx: Context) -> Bounds | None:
    """Start, end and step of a call with range's arguments; None unless they are surely ints."""
    bounds = range_arguments(call)
    return bounds if bounds and all(cx.fact(e).is_int for e in bounds) else None


def range_arguments(call: ast.Call) -> Bounds | None:
    """Start, end and step, as they are given."""
    start: ast.expr = ast.Constant(0)
    step: ast.expr = ast.Constant(1)
    match call:
        case ast.Call(args=[stop], keywords=[]):
            pass
        case ast.Call(args=[start, stop], keywords=[]):
            pass
        case ast.Call(args=[start, stop, step], keywords=[]):
            pass
        case _:
            return None
    return start, stop, step


def as_python_int(e: ast.expr, cx: Context) -> ast.expr | None:
    """`e` as the Python int that a range makes of it; None where it is surely no integer."""
    fact = cx.fact(e)
    if fact.is_int:
        return e
    known = fact.rank == 0 and fact.is_integer and cx.means("int")
    return cx.expr("int(E)", E=e) if known else None


def arange_as_range(it: ast.expr, cx: Context) -> tuple[ast.expr, ast.Call] | None:
    """Of ``np.arange(a, b, c)`` of surely ints of 64 bits: ``np``, and ``range(a, b, c)``."""
    match it:
        case ast.Call(func=ast.Attribute(value=home) as f) if cx.resolve(f) is np.arange:
            bounds = range_arguments(it)
        case _:
            return None
    if bounds is None or not integer_constant(bounds[2]) or not cx.means("range"):
        return None
    if not all(cx.fact(e).types and cx.fact(e).types <= _LONG for e in bounds):
        return None
    numbers = cx.expr("range()")
    assert isinstance(numbers, ast.Call)
    numbers.args = list(it.args)
    return home, numbers


@fires_on(ast.Compare, ops=(ast.In, ast.NotIn), comparators=ast.Call)
def in_range_test(node: ast.AST, cx: Context) -> ast.expr | None:
    """Of Python ints: comparisons, and where the step is not 1 the remainder.

        a = i in range(n)
        b = i not in range(1, n, 2)
        c = i in range(n, 0, -1)
    →
        a = 0 <= i < n
        b = not (1 <= i < n and (i - 1) % 2 == 0)
        c = 0 < i <= n
    """
    match node:
        case ast.Compare(left=x, ops=[ast.In() | ast.NotIn() as how], comparators=[r]):
            found = _range_test(x, r, cx)
        case _:
            return None
    if found is None or isinstance(how, ast.In):
        return found
    return cx.expr("not X", X=found)


def _range_test(x: ast.expr, r: ast.expr, cx: Context) -> ast.expr | None:
    if cx.builtin(r) != "range" or not cx.fact(x).is_int:
        return None
    assert isinstance(r, ast.Call)
    bounds = _bounds(r, cx)
    by = integer_constant(bounds[2]) if bounds else None
    if bounds is None or not by:
        return None
    first, end, _ = bounds
    text = "FIRST <= X < END" if by > 0 else "END < X <= FIRST"
    if abs(by) == 1:
        return cx.expr(text, X=x, FIRST=first, END=end)
    if not isinstance(x, ast.Name) or not isinstance(first, ast.Name | ast.Constant):
        return None  # it would be evaluated twice
    whole = f"{text} and (X - FIRST) % BY == 0"
    return cx.expr(whole, X=x, FIRST=first, END=end, BY=ast.Constant(abs(by)))


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[range])
def named_range(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Bounds are taken where the range is made, once; its name stands for it from there on.

        r = range(1, n, 2)
        for i in r:
            s = s + x[i]
    →
        _end = n
        for i in range(1, _end, 2):
            s = s + x[i]
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as r):
            pass
        case _:
            return None
    if cx.builtin(r) != "range" or not cx.is_fixed(node, name):
        return None
    bounds = _bounds(r, cx)
    if bounds is None or not integer_constant(bounds[2]):
        return None
    setup: list[ast.stmt] = []
    held: list[ast.expr] = []
    for hint, e in zip(("first", "end", "step"), bounds, strict=True):
        if integer_constant(e) is not None:
            held.append(e)
            continue
        own = cx.fresh(hint)
        setup += cx.code("NAME = E", NAME=own, E=e)
        cx.facts.record(setup[-1])
        held.append(ast.Name(own, ast.Load()))
    cx.stands[name] = cx.expr("range(A, B, C)", A=held[0], B=held[1], C=held[2])
    return setup


Element: TypeAlias = "ast.expr | tuple[Element, ...]"


@record(frozen=True, slots=True)
class Stream:
    """``at(i)`` is element ``i`` for ``i`` in ``range(length)``, once ``setup`` has run; it is
    Python's where one of ``checks`` holds.
    """

    setup: tuple[ast.stmt, ...]
    length: ast.expr
    at: Callable[[ast.expr], Element]
    checks: tuple[ast.expr, ...] = ()


def stream_of(it: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """The stream of an iterable, None where it is not one of these.

    The names in `rebound` change while it is read; what depends on them is held in a fresh name.
    """
    if not cx.means("len", "range", "min"):
        return None
    if (numbers := arange_as_range(it, cx)) is not None:
        return _arange(*numbers, cx, rebound)
    match cx.builtin(it), it:
        case "range", ast.Call():
            return _range(it, cx, rebound)
        case "enumerate", ast.Call():
            return _enumerate(it, cx, rebound)
        case "zip", ast.Call(args=[_, *_] as args, keywords=[]):
            return _zip(args, False, cx, rebound)
        case "zip", ast.Call(
            args=[_, *_] as args,
            keywords=[ast.keyword(arg="strict", value=ast.Constant(value=bool(strict)))],
        ):
            return _zip(args, strict, cx, rebound)
        case "iter", ast.Call(args=[a], keywords=[]):
            return stream_of(a, cx, rebound)
        case "reversed", ast.Call(args=[a], keywords=[]):
            return _reversed(a, cx, rebound)
        case _, ast.Subscript(slice=ast.Slice()):
            return _slice(it, cx, rebound) or _array(it, cx, rebound)
        case _, ast.Attribute(value=ast.Name() as x, attr="flat") if (
            cx.fact(x).rank == 1 and cx.fact(x).array
        ):
            it = x
    known = (constant_tuple(it, cx) if is_constant_tuple(it, cx) else None) or it
    return _rows(known, cx) or _array(known, cx, rebound) or _tuples(it, cx)


def _rows(it: ast.expr, cx: Context) -> Stream | None:
    """``((a, b), (c, d))`` → element ``((a, c)[i], (b, d)[i])`` of 2; ``X.shape``, spelled out,
    and ints.
    """
    shown = ast.Tuple(it.elts, ast.Load()) if isinstance(it, ast.List) else it
    items = cx.facts.items(shown) if isinstance(shown, (ast.Tuple, ast.Attribute)) else None
    if items is None:
        return None
    numbers = [integer_constant(e, None) for e in items]
    whole = isinstance(it, ast.Attribute) or None not in numbers
    rows = [[e] if whole else cx.facts.items(e) or [] for e in items]
    if not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        return None
    if not all(cx.fact(e).rank == 0 for row in rows for e in row):
        return None
    lists = [indexable_tuple(column, cx) for column in zip(*rows, strict=True)]

    def at(i: ast.expr) -> Element:
        parts = tuple(cx.expr("X[I]", X=x, I=i) for x in lists)
        return parts[0] if whole else parts

    return Stream(tuple(cx.take_before()), ast.Constant(len(items)), at)


def _array(it: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``x`` → element ``x[i]`` of ``len(x)``."""
    if not cx.fact(it).rank:
        return None
    x, setup = _named_once(it, cx, rebound)
    return Stream(setup, cx.expr("len(X)", X=x), lambda i: cx.expr("X[I]", X=x, I=i))


def _tuples(it: ast.expr, cx: Context) -> Stream | None:
    """``w``, a list of tuples → element ``(w[i][0], w[i][1])`` of ``len(w)``."""
    width = cx.facts.tuple_lists.get(it.id, 0) if isinstance(it, ast.Name) else 0

    def at(i: ast.expr) -> Element:
        return tuple(cx.expr("W[I][K]", W=it, I=i, K=ast.Constant(k)) for k in range(width))

    return Stream((), cx.expr("len(W)", W=it), at) if width else None


def _slice(it: ast.Subscript, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``x[1:]`` → element ``x[i + 1]`` of ``len(x) - 1``; for constant bounds, and arrays: those
    of a list are copies.
    """
    assert isinstance(it.slice, ast.Slice)
    if not cx.fact(it.value).types:
        return None
    low, high = integer_constant(it.slice.lower, 0), integer_constant(it.slice.upper, 0)
    if it.slice.step is not None or low is None or low < 0 or high is None:
        return None
    whole = _array(it.value, cx, rebound)
    if whole is None:
        return None
    length = whole.length
    if it.slice.upper is not None:
        stop = cx.expr("N - K" if high < 0 else "min(N, K)", N=length, K=ast.Constant(abs(high)))
        length = stop
    shift: ast.expr = ast.Constant(low)
    return Stream(
        whole.setup, subtract_ints(length, shift, cx), lambda i: whole.at(add_ints(i, shift, cx))
    )


def _range(call: ast.Call, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``range(a, b, c)`` → element ``a + i * c``; of what are surely integers."""
    found = [as_python_int(e, cx) for e in range_arguments(call) or ()]
    start, stop, step = found if len(found) == 3 else (None,) * 3
    if start is None or stop is None or step is None or integer_constant(step) == 0:
        return None
    by = integer_constant(step)
    low, setup = _named_once(start, cx, rebound)
    if by is None:
        size, also = _named_once(step, cx, rebound)
        trips = cx.expr("len(range(A, B, C))", A=low, B=stop, C=size)
        return Stream(
            (*setup, *also), trips, lambda i: add_ints(low, cx.expr("I * C", I=i, C=size), cx)
        )
    trips = subtract_ints(stop, low, cx) if by > 0 else subtract_ints(low, stop, cx)
    if abs(by) > 1:
        up, size = ast.Constant(abs(by) - 1), ast.Constant(abs(by))
        trips = cx.expr("(N + UP) // SIZE", N=trips, UP=up, SIZE=size)

    def at(i: ast.expr) -> ast.expr:
        if by == -1:
            return subtract_ints(low, i, cx)
        return add_ints(low, i if by == 1 else cx.expr("I * C", I=i, C=step), cx)

    return Stream(setup, trips, at)


def _arange(home: ast.expr, it: ast.Call, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``np.arange(a, b, c)`` → element ``np.int64(a + i * c)``."""
    whole = _range(it, cx, rebound)  # its bounds are ints
    if whole is None:
        return None
    element = whole.at

    def at(i: ast.expr) -> ast.expr:
        number = element(i)
        assert isinstance(number, ast.expr)
        return cx.expr("NP.int64(E)", NP=home, E=number)

    return Stream(whole.setup, whole.length, at)


def _enumerate(it: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``enumerate(s, k)`` → element ``(k + i, s[i])``."""
    assert isinstance(it, ast.Call)
    match it:
        case ast.Call(args=[inner], keywords=[]):
            first: ast.expr = ast.Constant(0)
        case ast.Call(args=[inner, first], keywords=[]):
            pass
        case ast.Call(args=[inner], keywords=[ast.keyword(arg="start", value=first)]):
            pass
        case _:
            return None
    s = stream_of(inner, cx, rebound)
    if s is None or not cx.fact(first).is_int:
        return None
    start, setup = _named_once(first, cx, rebound)
    return Stream(
        (*s.setup, *setup), s.length, lambda i: (add_ints(start, i, cx), s.at(i)), s.checks
    )


def _zip(
    args: Iterable[ast.expr], strict: bool, cx: Context, rebound: Collection[str]
) -> Stream | None:
    """``zip(s, t)`` → element ``(s[i], t[i])`` of ``min(len(s), len(t))``."""
    streams = [stream_of(a, cx, rebound) for a in args]
    known = [s for s in streams if s is not None]
    if len(known) < len(streams):
        return None
    lengths = list({tree_key(s.length): s.length for s in known}.values())
    length = cx.expr("min(N, M)", N=lengths[0], M=lengths[-1]) if len(lengths) > 1 else lengths[0]
    if len(lengths) > 2:
        assert isinstance(length, ast.Call)
        length.args = list(lengths)
    setup = tuple(st for s in known for st in s.setup)
    checks = tuple(c for s in known for c in s.checks)
    if strict:
        checks += tuple(cx.expr("N != M", N=lengths[0], M=n) for n in lengths[1:])
    return Stream(setup, length, lambda i: tuple(s.at(i) for s in known), checks)


def _reversed(a: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``reversed(s)`` → element ``s[n - 1 - i]``; of an array or a range."""
    if cx.builtin(a) in ("zip", "enumerate", "reversed"):
        return None  # Python raises
    s = stream_of(a, cx, rebound)
    if s is None:
        return None
    n, setup = _named_once(subtract_ints(s.length, ast.Constant(1), cx), cx, rebound)
    return Stream((*s.setup, *setup), s.length, lambda i: s.at(subtract_ints(n, i, cx)))


def _named_once(
    e: ast.expr, cx: Context, rebound: Collection[str]
) -> tuple[ast.expr, tuple[ast.stmt, ...]]:
    """`e`, or a fresh name for its value now, and the statement that takes it."""
    match e:
        case ast.Constant():
            return e, ()
        case ast.Name(id=hint) if mentions_none(e, rebound):
            return e, ()
        case ast.Name(id=hint) | ast.Attribute(attr=hint):
            pass
        case ast.Subscript(value=ast.Name(id=hint)):
            pass
        case _:
            hint = "last" if isinstance(e, ast.BinOp) else "x"
    name = cx.fresh(hint)
    take = cx.code("NAME = E", NAME=name, E=e)
    cx.facts.record(take[0])
    return ast.Name(name, ast.Load()), tuple(take)


def clamped_length(length: ast.expr, cx: Context) -> ast.expr:
    """`length`, or 0 where that is negative."""
    match length:
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return length
    never = (integer_constant(length) or -1) >= 0 or cx.builtin(length) == "len"
    return length if never else cx.expr("max(N, 0)", N=length)
