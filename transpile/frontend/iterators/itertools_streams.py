"""Iterators of `itertools` by index: ``islice``, ``pairwise``, ``repeat``, ``count``, ``chain``.

    islice(x, 2, None)     →    length len(x) - 2, element i: x[i + 2]
    chain(x, y)            →    length len(x) + len(y), element i: x[i] if i < len(x) else y[i - …]

`iterables.stream_of` asks `itertools_stream` for calls of these functions, and passes itself as
``inner``, to make the streams of their arguments. ``repeat(v)`` and ``count()`` have no end, so
they are no streams; a ``zip`` of one with a stream is one (`endless_element`).
"""
from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection
from typing import TypeAlias

from loopir.lazy_dataclass import replace

from ..ast_names import mentions_none_of
from ..ast_walk import integer_constant, is_none
from ..macros.macro_context import Context, add_ints, subtract_ints
from .indexed_streams import Element, Stream

__all__ = ["ITERTOOLS", "endless_element", "is_itertools_call", "itertools_stream"]

Inner: TypeAlias = "Callable[[ast.expr], Stream | None]"
"""From an iterable to its stream, or None: `iterables.stream_of`, for the loop at hand."""

ITERTOOLS = (
    itertools.accumulate, itertools.chain, itertools.combinations,
    itertools.combinations_with_replacement, itertools.compress, itertools.count,
    itertools.cycle, itertools.dropwhile, itertools.islice, itertools.permutations,
    itertools.product, itertools.repeat, itertools.takewhile,
    *([itertools.pairwise] if hasattr(itertools, "pairwise") else ()),
)
"""The functions of `itertools` that have a macro, or a stream."""


def is_itertools_call(e: ast.expr, cx: Context) -> bool:
    """Whether `e` calls one of `ITERTOOLS`."""
    return isinstance(e, ast.Call) and any(cx.resolve(e.func) is f for f in ITERTOOLS)


def itertools_stream(
    it: ast.Call, inner: Inner, cx: Context, rebound: Collection[str]
) -> Stream | None:
    """The stream of a call of a function of `itertools`; None for other calls. ``inner``: the
    stream of an iterable. ``rebound``: as in `iterables.stream_of`; the bounds and counts among the
    arguments must not read these names.
    """
    function = cx.resolve(it.func)
    if not any(function is f for f in ITERTOOLS):
        return None
    others = it.args[:1] if function is itertools.repeat else it.args[1:]
    others = [] if function is itertools.chain else others
    if not all(mentions_none_of(e, rebound) for e in others):
        return None
    match it:
        case ast.Call(args=[a, *bounds], keywords=[]) if function is itertools.islice and bounds:
            return _islice(a, bounds, inner, cx)
        case ast.Call(args=[a], keywords=[]) if function is getattr(itertools, "pairwise", None):
            return _pairwise(inner(a), cx)
        case ast.Call(args=[_, times], keywords=[]) | ast.Call(
            args=[_], keywords=[ast.keyword(arg="times", value=times)]
        ) if function is itertools.repeat and cx.fact(times).is_int:
            element = endless_element(it, inner, cx)
            return element and Stream((), times, element)
        case ast.Call(args=[_, *_] as parts, keywords=[]) if function is itertools.chain:
            return _chain([inner(a) for a in parts], cx)
    return None


def endless_element(
    it: ast.expr, inner: Inner, cx: Context
) -> Callable[[ast.expr], Element] | None:
    """The function from an index to the element of an iterator without end: of ``repeat(v)``, where
    `v` is a number that a name or a constant gives; of ``count(start, step)`` of ints; or of
    ``cycle`` of a known number of elements, at least one. None for other expressions. ``inner``:
    the stream of an iterable.

        count(1, 2)       →   i: 1 + i * 2
        cycle((s, t))     →   i: (s, t)[i % 2]
    """
    if not isinstance(it, ast.Call):
        return None
    function = cx.resolve(it.func)
    match it:
        case ast.Call(args=[v, *_]) if function is itertools.repeat:
            is_fixed = isinstance(v, (ast.Name, ast.Constant)) and cx.fact(v).rank == 0
            return (lambda i: v) if is_fixed else None
        case ast.Call(args=[a], keywords=[]) if function is itertools.cycle:
            s = inner(a)
            length = integer_constant(s.length) if s else None
            if s is None or s.setup or s.checks or not length or length < 1:
                return None
            return lambda i: s.at(cx.expr("I % N", I=i, N=s.length))
        case ast.Call(args=args, keywords=[]) if function is itertools.count and len(args) < 3:
            start = args[0] if args else ast.Constant(0)
            step = args[1] if len(args) == 2 else ast.Constant(1)
            if integer_constant(step) is None or not cx.fact(start).is_int:
                return None
            if not isinstance(start, (ast.Name, ast.Constant)):
                return None
            by = integer_constant(step)
            return lambda i: add_ints(start, i if by == 1 else cx.expr("I * K", I=i, K=step), cx)
    return None


def _islice(a: ast.expr, bounds: list[ast.expr], inner: Inner, cx: Context) -> Stream | None:
    """``islice(a, *bounds)`` → element ``s[start + i * step]`` of the stream `s` of `a`. A negative
    bound raises ValueError, which is a check of the stream.
    """
    s = inner(a)
    start: ast.expr | None = None
    match bounds:
        case [stop]:
            step: ast.expr = ast.Constant(1)
        case [start, stop]:
            step = ast.Constant(1)
        case [start, stop, step]:
            pass
        case _:
            return None
    by = 1 if is_none(step) else integer_constant(step)
    first = ast.Constant(0) if start is None or is_none(start) else start
    given = [e for e in (first, stop) if not is_none(e)]
    if s is None or by is None or by < 1 or not all(_is_fixed_int(e, cx) for e in given):
        return None
    end = s.length if is_none(stop) else cx.expr("min(STOP, N)", STOP=stop, N=s.length)
    length = subtract_ints(end, first, cx)
    if by > 1:
        length = cx.expr("(N + UP) // BY", N=length, UP=ast.Constant(by - 1), BY=ast.Constant(by))
    checks = tuple(
        cx.expr("E < 0", E=e) for e in given if (integer_constant(e, None) or 0) < 0
        or integer_constant(e, None) is None
    )

    def at(i: ast.expr) -> Element:
        place = i if by == 1 else cx.expr("I * BY", I=i, BY=ast.Constant(by))
        return s.at(add_ints(first, place, cx))

    return replace(s, length=length, at=at, checks=s.checks + checks)


def _is_fixed_int(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is an int that a name or a constant gives, so that it can be read again."""
    return isinstance(e, (ast.Name, ast.Constant)) and cx.fact(e).is_int


def _pairwise(s: Stream | None, cx: Context) -> Stream | None:
    """``pairwise(s)`` → element ``(s[i], s[i + 1])``; Python reads ``s[i]`` an iteration before."""
    if s is None:
        return None
    one = ast.Constant(1)
    return replace(
        s, length=subtract_ints(s.length, one, cx),
        at=lambda i: (s.at(i), s.at(add_ints(i, one, cx))), reads_ahead=True,
    )


def _chain(streams: list[Stream | None], cx: Context) -> Stream | None:
    """``chain(s, t)`` → element ``s[i] if i < len(s) else t[i - len(s)]``."""
    known = [s for s in streams if s is not None]
    if len(known) < len(streams) or any(isinstance(s.at(ast.Constant(0)), tuple) for s in known):
        return None
    *before, last = known
    if not all(_is_length(s.length) for s in before):
        return None  # a range may have a negative length

    def at(i: ast.expr) -> Element:
        element, places, place = None, [], i
        for s in known:
            places.append(place)
            place = subtract_ints(place, s.length, cx)
        for s, k in reversed([*zip(known, places, strict=True)]):
            e = s.at(k)
            assert isinstance(e, ast.expr)
            element = e if element is None else cx.expr(
                "E if K < N else REST", E=e, K=k, N=s.length, REST=element)
        assert element is not None
        return element

    length = last.length
    for s in reversed(before):
        length = add_ints(s.length, length, cx)
    return Stream(
        tuple(line for s in known for line in s.setup), length, at,
        tuple(c for s in known for c in s.checks), any(s.reads_ahead for s in known),
    )


def _is_length(n: ast.expr) -> bool:
    """Whether `n` is the number of elements of an array or a list: not negative."""
    match n:
        case ast.Call(func=ast.Name(id="len")) | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
    return (integer_constant(n) or -1) >= 0
