"""What a loop can run over by index: arrays, ranges, and enumerate, zip and reversed of those."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from loopir.record import record

from .context import Context
from .integers import integer_constant, minus, plus
from .names import free_of
from .ranges import arguments, as_int, numpy_range
from .tuples import listed, tuple_known

__all__ = ["Element", "Stream", "extent", "stream"]

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


def stream(it: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """The stream of an iterable, None where it is not one of these.

    The names in `rebound` change while it is read; what depends on them is held in a fresh name.
    """
    if not cx.means("len", "range", "min"):
        return None
    if (numbers := numpy_range(it, cx)) is not None:
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
            return stream(a, cx, rebound)
        case "reversed", ast.Call(args=[a], keywords=[]):
            return _reversed(a, cx, rebound)
        case _, ast.Subscript(slice=ast.Slice()):
            return _slice(it, cx, rebound) or _array(it, cx, rebound)
        case _, ast.Attribute(value=ast.Name() as x, attr="flat") if (
            cx.fact(x).rank == 1 and cx.fact(x).array
        ):
            it = x
    known = tuple_known(it, cx) or it
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
    lists = [listed(column, cx) for column in zip(*rows, strict=True)]

    def at(i: ast.expr) -> Element:
        parts = tuple(cx.expr("X[I]", X=x, I=i) for x in lists)
        return parts[0] if whole else parts

    return Stream(tuple(cx.take_before()), ast.Constant(len(items)), at)


def _array(it: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``x`` → element ``x[i]`` of ``len(x)``."""
    if not cx.fact(it).rank:
        return None
    x, setup = _held(it, cx, rebound)
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
    return Stream(whole.setup, minus(length, shift, cx), lambda i: whole.at(plus(i, shift, cx)))


def _range(call: ast.Call, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``range(a, b, c)`` → element ``a + i * c``; of what are surely integers."""
    found = [as_int(e, cx) for e in arguments(call) or ()]
    start, stop, step = found if len(found) == 3 else (None,) * 3
    if start is None or stop is None or step is None or integer_constant(step) == 0:
        return None
    by = integer_constant(step)
    low, setup = _held(start, cx, rebound)
    if by is None:
        size, also = _held(step, cx, rebound)
        trips = cx.expr("len(range(A, B, C))", A=low, B=stop, C=size)
        return Stream(
            (*setup, *also), trips, lambda i: plus(low, cx.expr("I * C", I=i, C=size), cx)
        )
    trips = minus(stop, low, cx) if by > 0 else minus(low, stop, cx)
    if abs(by) > 1:
        up, size = ast.Constant(abs(by) - 1), ast.Constant(abs(by))
        trips = cx.expr("(N + UP) // SIZE", N=trips, UP=up, SIZE=size)

    def at(i: ast.expr) -> ast.expr:
        if by == -1:
            return minus(low, i, cx)
        return plus(low, i if by == 1 else cx.expr("I * C", I=i, C=step), cx)

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
    s = stream(inner, cx, rebound)
    if s is None or not cx.fact(first).is_int:
        return None
    start, setup = _held(first, cx, rebound)
    return Stream((*s.setup, *setup), s.length, lambda i: (plus(start, i, cx), s.at(i)), s.checks)


def _zip(
    args: Iterable[ast.expr], strict: bool, cx: Context, rebound: Collection[str]
) -> Stream | None:
    """``zip(s, t)`` → element ``(s[i], t[i])`` of ``min(len(s), len(t))``."""
    streams = [stream(a, cx, rebound) for a in args]
    known = [s for s in streams if s is not None]
    if len(known) < len(streams):
        return None
    lengths = list({ast.dump(s.length): s.length for s in known}.values())
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
    s = stream(a, cx, rebound)
    if s is None:
        return None
    n, setup = _held(minus(s.length, ast.Constant(1), cx), cx, rebound)
    return Stream((*s.setup, *setup), s.length, lambda i: s.at(minus(n, i, cx)))


def _held(
    e: ast.expr, cx: Context, rebound: Collection[str]
) -> tuple[ast.expr, tuple[ast.stmt, ...]]:
    """`e`, or a fresh name for its value now, and the statement that takes it."""
    match e:
        case ast.Constant():
            return e, ()
        case ast.Name(id=hint) if free_of(e, rebound):
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


def extent(length: ast.expr, cx: Context) -> ast.expr:
    """`length`, or 0 where that is negative."""
    match length:
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return length
    never = (integer_constant(length) or -1) >= 0 or cx.builtin(length) == "len"
    return length if never else cx.expr("max(N, 0)", N=length)
