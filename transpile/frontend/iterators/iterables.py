"""Iterables by index: arrays, ranges, ``enumerate``, ``zip``, ``reversed``; range tests and items.

`stream_of` describes an iterable as a `Stream`: its length, and a function from an index to the
element. Streams compose, so that one index loop replaces any nest of iterators::

    zip(x, reversed(y))    →    length min(len(x), len(y)), element i: (x[i], y[n - 1 - i])

Loops (`for_loops`), reductions (`builtin_folds`) and comprehensions use streams.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import TypeAlias

import numpy as np

from ...analysis.type_inference.flow_facts import record_facts
from ...analysis.type_inference.tuple_types import items_of_tuple
from ...analysis.type_inference.type_lattice import INT_TYPES
from ...types.value_types import ScalarType
from ..ast_names import mentions_none_of, rename_names
from ..ast_walk import integer_constant, tree_key, walk_nodes
from ..language.tuple_replacement import constant_tuple, indexable_tuple
from ..macros.bind_operands import bind_unless_repeatable
from ..macros.firing_conditions import is_constant_tuple
from ..macros.macro_context import Context, add_ints, subtract_ints
from ..macros.macro_index import fires_on
from .indexed_streams import Element, Stream
from .itertools_streams import endless_element, is_itertools_call, itertools_stream

__all__ = [
    "range_arguments", "as_python_int", "in_range_test", "range_item", "arange_as_range",
    "clamped_length", "is_iterator", "paired_targets", "stream_of",
]

Bounds: TypeAlias = tuple[ast.expr, ast.expr, ast.expr]
"""Start, stop and step."""

_LONG = INT_TYPES | {ScalarType("i64")}
"""Argument types of which ``np.arange`` makes int64. With smaller NumPy ints, its own arithmetic
may overflow.
"""


def range_arguments(call: ast.Call) -> Bounds | None:
    """Start, stop and step of a call with the arguments of ``range``; None for other arguments."""
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
    """`e` as a Python int, as ``range`` converts its arguments; None unless it is an integer of
    Python or NumPy on every path.
    """
    fact = cx.fact(e)
    if fact.is_int:
        return e
    is_convertible = fact.rank == 0 and fact.is_integer and cx.is_builtin("int")
    return cx.expr("int(E)", E=e) if is_convertible else None


def arange_as_range(it: ast.expr, cx: Context) -> tuple[ast.expr, ast.Call] | None:
    """For ``np.arange(a, b, c)`` of 64-bit ints with a constant step: the expressions ``np`` and
    ``range(a, b, c)``; None for other iterables.
    """
    match it:
        case ast.Call(func=ast.Attribute(value=numpy) as f) if cx.resolve(f) is np.arange:
            bounds = range_arguments(it)
        case _:
            return None
    if bounds is None or not integer_constant(bounds[2]) or not cx.is_builtin("range"):
        return None
    if not all(cx.fact(e).types and cx.fact(e).types <= _LONG for e in bounds):
        return None
    numbers = cx.expr("range()")
    assert isinstance(numbers, ast.Call)
    numbers.args = list(it.args)
    return numpy, numbers


@fires_on(ast.Compare, ops=(ast.In, ast.NotIn), comparators=ast.Call)
def in_range_test(node: ast.AST, cx: Context) -> ast.expr | None:
    """``in range(…)`` of Python ints becomes comparisons, and a test of the remainder unless the
    step is 1.

        a = i in range(n)
        b = i not in range(1, n, 2)
        c = i in range(n, 0, -1)
    →
        a = 0 <= i < n
        b = not (1 <= i < n and (i - 1) % 2 == 0)
        c = 0 < i <= n
    """
    match node:
        case ast.Compare(left=x, ops=[ast.In() | ast.NotIn() as op], comparators=[r]):
            test = _range_test(x, r, cx)
        case _:
            return None
    if test is None or isinstance(op, ast.In):
        return test
    return cx.expr("not X", X=test)


def _range_test(x: ast.expr, r: ast.expr, cx: Context) -> ast.expr | None:
    """``x in r`` as comparisons, for a ``range`` of ints with a constant step; else None."""
    if cx.builtin(r) != "range" or not cx.fact(x).is_int:
        return None
    assert isinstance(r, ast.Call)
    bounds = range_arguments(r)
    by = integer_constant(bounds[2]) if bounds else None
    if bounds is None or not by:
        return None
    first, end = as_python_int(bounds[0], cx), as_python_int(bounds[1], cx)
    if first is None or end is None:
        return None
    # Python evaluates all three; the comparisons may end before the last one, or read one twice
    x, first, end = (bind_unless_repeatable(e, "bound", cx) for e in (x, first, end))
    text = "FIRST <= X < END" if by > 0 else "END < X <= FIRST"
    if abs(by) == 1:
        return cx.expr(text, X=x, FIRST=first, END=end)
    text = f"{text} and (X - FIRST) % BY == 0"
    return cx.expr(text, X=x, FIRST=first, END=end, BY=ast.Constant(abs(by)))


@fires_on(ast.Subscript, value=ast.Call)
def range_item(node: ast.AST, cx: Context) -> ast.expr | None:
    """An item of a range becomes a sum; an index that is out of range raises Python's IndexError.

        v = range(2, n, 3)[i]
    →
        _count = len(range(2, n, 3))
        if i < -_count or i >= _count:
            raise IndexError('range object index out of range')
        v = 2 + (i if i >= 0 else i + _count) * 3
    """
    match node:
        case ast.Subscript(value=ast.Call() as made, slice=k, ctx=ast.Load()) if (
            cx.builtin(made) == "range" and cx.is_builtin("len", "IndexError")
        ):
            bounds, index = range_arguments(made), as_python_int(k, cx)
        case _:
            return None
    parts = [as_python_int(e, cx) for e in bounds or ()]
    if index is None or not parts or None in parts:
        return None
    start, stop, step = (bind_unless_repeatable(e, "bound", cx) for e in parts if e is not None)
    index, count = bind_unless_repeatable(index, "k", cx), cx.fresh("count")
    lines = cx.code(
        """
        COUNT = len(range(START, STOP, STEP))
        if K < -COUNT or K >= COUNT:
            raise IndexError(MESSAGE)
        """,
        COUNT=count, START=start, STOP=stop, STEP=step, K=index, MESSAGE=ast.Constant(_NO_ITEM),
    )
    cx.before(*lines)
    text = "START + (K if K >= 0 else K + COUNT) * STEP"
    return cx.expr(text, START=start, STEP=step, K=index, COUNT=count)


_NO_ITEM = "range object index out of range"
"""Python's message."""


def stream_of(it: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """The stream of the iterable `it`: its length, and its element at an index. None if it is none
    of the forms below, and the loop or comprehension over it stays as it is.

        enumerate(zip(x, y))   →   Stream(length=<min(len(x), len(y))>, at(i)=(i, (x[i], y[i])))

    Arguments of ``zip``, ``enumerate``, ``reversed``, ``iter`` and functions of `itertools` are
    streams themselves, as is what a generator iterates over; the leaves are ranges, displays,
    arrays, lists, and lists of tuples.

    ``rebound``: names that the loop binds. Python evaluates the iterable once, before the loop, but
    its length and elements are computed in each iteration. So an expression that reads one of these
    names is bound to a fresh name in ``setup``.
    """
    if not cx.is_builtin("len", "range", "min"):
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
        case _, ast.Call() if (
            made := itertools_stream(it, lambda a: stream_of(a, cx, rebound), cx, rebound)
        ) is not None:
            return made
        case _, ast.GeneratorExp():
            return _generator(it, cx, rebound)
        case _, ast.Subscript(slice=ast.Slice()):
            return _slice(it, cx, rebound) or _array(it, cx, rebound)
        case _, ast.Attribute(value=ast.Name() as x, attr="flat") if (
            cx.fact(x).rank == 1 and cx.fact(x).array
        ):
            it = x  # the elements of a vector, in their order
    display = (constant_tuple(it, cx) if is_constant_tuple(it, cx) else None) or it
    return _display(display, cx) or _array(display, cx, rebound) or _tuples(it, cx)


# -- The stream of each form of iterable: ``it``, ``rebound`` and None are those of `stream_of`.


def _display(it: ast.expr, cx: Context) -> Stream | None:
    """``(3, 1)`` → element ``(3, 1)[i]`` of 2, and the same for ``X.shape``; ``((a, b), (c, d))`` →
    element ``((a, c)[i], (b, d)[i])`` of 2. None for displays of other items.
    """
    as_tuple = ast.Tuple(it.elts, ast.Load()) if isinstance(it, ast.List) else it
    if not isinstance(as_tuple, (ast.Tuple, ast.Attribute)):
        return None
    items = items_of_tuple(cx.facts, as_tuple)
    if items is None:
        return None
    numbers = [integer_constant(e, None) for e in items]
    is_flat = isinstance(it, ast.Attribute) or None not in numbers
    rows = [[e] if is_flat else items_of_tuple(cx.facts, e) or [] for e in items]
    if not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        return None
    if not all(cx.fact(e).rank == 0 for row in rows for e in row):
        return None
    columns = [indexable_tuple(column, cx) for column in zip(*rows, strict=True)]

    def at(i: ast.expr) -> Element:
        parts = tuple(cx.expr("X[I]", X=x, I=i) for x in columns)
        return parts[0] if is_flat else parts

    return Stream(tuple(cx.take_before()), ast.Constant(len(items)), at)


def _array(it: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``x`` → element ``x[i]`` of ``len(x)``."""
    if not cx.fact(it).rank:
        return None
    x, setup = _stable(it, cx, rebound)
    return Stream(setup, cx.expr("len(X)", X=x), lambda i: cx.expr("X[I]", X=x, I=i))


def _tuples(it: ast.expr, cx: Context) -> Stream | None:
    """``w``, a list of tuples → element ``(w[i][0], w[i][1])`` of ``len(w)``."""
    width = cx.facts.tuple_lists.get(it.id, 0) if isinstance(it, ast.Name) else 0

    def at(i: ast.expr) -> Element:
        return tuple(cx.expr("W[I][K]", W=it, I=i, K=ast.Constant(k)) for k in range(width))

    return Stream((), cx.expr("len(W)", W=it), at) if width else None


def _slice(it: ast.Subscript, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``x[1:]`` → element ``x[i + 1]`` of ``len(x) - 1``. None unless x is an array (a slice of a
    list is a copy) and the bounds are constants, the lower one not negative, without a step.
    """
    assert isinstance(it.slice, ast.Slice)
    if not cx.fact(it.value).types:
        return None
    low, high = integer_constant(it.slice.lower, 0), integer_constant(it.slice.upper, 0)
    if it.slice.step is not None or low is None or low < 0 or high is None:
        return None
    base = _array(it.value, cx, rebound)
    if base is None:
        return None
    length = base.length
    if it.slice.upper is not None:
        stop = cx.expr("N - K" if high < 0 else "min(N, K)", N=length, K=ast.Constant(abs(high)))
        length = stop
    shift: ast.expr = ast.Constant(low)
    return Stream(
        base.setup, subtract_ints(length, shift, cx), lambda i: base.at(add_ints(i, shift, cx))
    )


def _range(call: ast.Call, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``range(a, b, c)`` → element ``a + i * c``, if all are integers."""
    arguments = [as_python_int(e, cx) for e in range_arguments(call) or ()]
    start, stop, step = arguments if len(arguments) == 3 else (None,) * 3
    if start is None or stop is None or step is None or integer_constant(step) == 0:
        return None
    by = integer_constant(step)
    low, setup = _stable(start, cx, rebound)
    if by is None:
        size, step_setup = _stable(step, cx, rebound)
        trip_count = cx.expr("len(range(A, B, C))", A=low, B=stop, C=size)
        return Stream(
            (*setup, *step_setup), trip_count,
            lambda i: add_ints(low, cx.expr("I * C", I=i, C=size), cx),
        )
    trip_count = subtract_ints(stop, low, cx) if by > 0 else subtract_ints(low, stop, cx)
    if abs(by) > 1:
        up, size = ast.Constant(abs(by) - 1), ast.Constant(abs(by))
        trip_count = cx.expr("(N + UP) // SIZE", N=trip_count, UP=up, SIZE=size)

    def at(i: ast.expr) -> ast.expr:
        if by == -1:
            return subtract_ints(low, i, cx)
        return add_ints(low, i if by == 1 else cx.expr("I * C", I=i, C=step), cx)

    return Stream(setup, trip_count, at)


def _arange(
    numpy: ast.expr, numbers: ast.Call, cx: Context, rebound: Collection[str]
) -> Stream | None:
    """``np.arange(a, b, c)`` → element ``np.int64(a + i * c)``; ``numbers``: ``range(a, b, c)``."""
    stream = _range(numbers, cx, rebound)
    if stream is None:
        return None
    element = stream.at

    def at(i: ast.expr) -> ast.expr:
        number = element(i)
        assert isinstance(number, ast.expr)
        return cx.expr("NP.int64(E)", NP=numpy, E=number)

    return Stream(stream.setup, stream.length, at)


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
    start, setup = _stable(first, cx, rebound)
    return Stream(
        (*s.setup, *setup), s.length, lambda i: (add_ints(start, i, cx), s.at(i)), s.checks,
        s.reads_ahead,
    )


def _zip(
    args: list[ast.expr], strict: bool, cx: Context, rebound: Collection[str]
) -> Stream | None:
    """``zip(s, t)`` → element ``(s[i], t[i])`` of ``min(len(s), len(t))``. With ``strict=True``,
    that the lengths are equal is checked.
    """
    if any(isinstance(n, ast.GeneratorExp) for a in args[:-1] for n in walk_nodes(a)):
        return None  # zip may evaluate one more of its items, which may raise
    elements: list[Callable[[ast.expr], Element]] = []
    known: list[Stream] = []
    for a in args:
        if (s := stream_of(a, cx, rebound)) is not None:
            known.append(s)
            elements.append(s.at)
        elif mentions_none_of(a, rebound) and (
            endless := endless_element(a, lambda e: stream_of(e, cx, rebound), cx)
        ) is not None:
            elements.append(endless)
        else:
            return None
    if not known or (strict and len(known) < len(args)):
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
    reads_ahead = any(s.reads_ahead for s in known)
    return Stream(setup, length, lambda i: tuple(at(i) for at in elements), checks, reads_ahead)


def _generator(
    it: ast.GeneratorExp, cx: Context, rebound: Collection[str]
) -> Stream | None:
    """``(v * 2 for v in s)`` → element ``s[i] * 2`` of ``len(s)``. None for a generator with a
    condition, or a second ``for``, or whose value binds names or reads one that is `rebound`.
    """
    match it.generators:
        case [ast.comprehension(target=target, iter=source, ifs=[], is_async=0)]:
            pass
        case _:
            return None
    parts = [n for e in (it.elt, source) for n in walk_nodes(e)]
    if not mentions_none_of(it.elt, rebound) or any(isinstance(n, _SCOPES) for n in parts):
        return None  # an item of an inner generator may raise where the value does not read it
    s = stream_of(source, cx, rebound)
    pairs = paired_targets(target, s.at(ast.Constant(0))) if s else None
    if s is None or pairs is None or not all(isinstance(t, ast.Name) for t, _ in pairs):
        return None

    def at(i: ast.expr) -> ast.expr:
        pairs = paired_targets(target, s.at(i)) or ()
        return rename_names(it.elt, {t.id: e for t, e in pairs if isinstance(t, ast.Name)})

    return Stream(s.setup, s.length, at, s.checks, s.reads_ahead)


_SCOPES = (
    ast.NamedExpr, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Await,
    ast.Yield, ast.YieldFrom,
)


def paired_targets(target: ast.expr, element: Element) -> list[tuple[ast.expr, ast.expr]] | None:
    """Each target in `target` with the expression that is bound to it when `target` is bound to
    `element`; None if the numbers of items differ.
    """
    if not isinstance(element, tuple):
        return [(target, element)]
    if isinstance(target, ast.Name) and all(isinstance(e, ast.expr) for e in element):
        return [(target, ast.Tuple([*element], ast.Load()))]  # type: ignore[list-item]
    if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != len(element):
        return None
    parts = [paired_targets(t, e) for t, e in zip(target.elts, element, strict=True)]
    return None if None in parts else [pair for part in parts if part for pair in part]


def is_iterator(e: ast.expr, cx: Context) -> bool:
    """Whether `e` makes an iterator, of which Python's ``reversed`` raises TypeError."""
    makers = ("zip", "enumerate", "reversed", "iter")
    is_made = isinstance(e, ast.GeneratorExp) or cx.builtin(e) in makers
    return is_made or is_itertools_call(e, cx)


def _reversed(a: ast.expr, cx: Context, rebound: Collection[str]) -> Stream | None:
    """``reversed(s)`` → element ``s[n - 1 - i]``. None for iterators, of which Python raises."""
    if is_iterator(a, cx):
        return None
    s = stream_of(a, cx, rebound)
    if s is None:
        return None
    n, setup = _stable(subtract_ints(s.length, ast.Constant(1), cx), cx, rebound)
    return Stream((*s.setup, *setup), s.length, lambda i: s.at(subtract_ints(n, i, cx)))


def _stable(
    e: ast.expr, cx: Context, rebound: Collection[str]
) -> tuple[ast.expr, tuple[ast.stmt, ...]]:
    """An expression that has the current value of `e` throughout the loop, and the statement that
    it needs before: `e` itself if it is a constant or a name that is not `rebound`, else a fresh
    name.
    """
    match e:
        case ast.Constant():
            return e, ()
        case ast.Name(id=hint) if mentions_none_of(e, rebound):
            return e, ()
        case ast.Name(id=hint) | ast.Attribute(attr=hint):
            pass
        case ast.Subscript(value=ast.Name(id=hint)):
            pass
        case _:
            hint = "last" if isinstance(e, ast.BinOp) else "x"
    name = cx.fresh(hint)
    binding = cx.code("NAME = E", NAME=name, E=e)
    record_facts(cx.facts, binding[0])
    return ast.Name(name, ast.Load()), tuple(binding)


def clamped_length(length: ast.expr, cx: Context) -> ast.expr:
    """``max(length, 0)``; `length` itself if it cannot be negative, by its form."""
    match length:
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return length
    never_negative = (integer_constant(length) or -1) >= 0 or cx.builtin(length) == "len"
    return length if never_negative else cx.expr("max(N, 0)", N=length)
