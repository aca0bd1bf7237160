"""What a report proposes can be followed: each refused function beside the one that follows it."""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from transpile import fuse
from transpile.report.loop_report import Report

X = np.arange(4.0)
C = X * 1j
BIG = 0xCBF29CE484222325


class Limits:
    big = BIG


def counter() -> Callable[[], int]:
    n = 0

    def count() -> int:
        nonlocal n
        n += 1
        return n

    return count


COUNT = counter()


def with_names(**names: float) -> float:
    return names["a"]


def two(a: float, b: float) -> float:
    return a + b


class Pair(NamedTuple):
    """A refused function, what is said of it, and a function that does as the help says."""

    refused: Callable[..., Any]
    followed: Callable[..., Any]
    x: Any
    message: str
    help: str


def pairs() -> Iterator[Pair]:
    def count_of_closure(x):
        count = counter()
        return [count() for _ in x]

    def count_in_function(x):
        n = 0

        def count():
            nonlocal n
            n += 1
            return n

        return [count() for _ in x]

    message = "`count` binds names by `nonlocal`, and is used other than in a call"
    yield Pair(count_of_closure, count_in_function, X, message, "call `count` in the function")

    def count_of_other(x):
        return [COUNT() for _ in x]

    message = "`COUNT` binds names of its closure by `nonlocal`"
    yield Pair(count_of_other, count_in_function, X, message, "as an argument")

    def named(x):
        return [with_names(a=v) for v in x]

    def positional(x):
        return [two(v, 1.0) for v in x]

    yield Pair(named, positional, X, "`with_names` takes `**names`", "a parameter for each")

    def starred(x):
        return [two(*x) for _ in x]

    yield Pair(starred, positional, [1.0, 2.0], "`two` is called with `*`", "write each argument")

    def of_literal(x):
        h = np.uint64(1)
        for v in x:
            h ^= v & 0xCBF29CE484222325
        return h

    def of_numpy_literal(x):
        h, mask = np.uint64(1), np.uint64(0xCBF29CE484222325)
        for v in x:
            h ^= v & mask
        return h

    ints = np.arange(3, dtype=np.uint64)
    message = f"the int {BIG} does not fit an int of 64 bits"
    yield Pair(of_literal, of_numpy_literal, ints, message, "`np.uint64(...)` of it")

    def of_attribute(x):
        return [v & Limits.big for v in x]

    def of_numpy_attribute(x):
        mask = np.uint64(Limits.big)
        return [v & mask for v in x]

    message = "`Limits.big` does not fit an int of 64 bits"
    yield Pair(of_attribute, of_numpy_attribute, ints, message, "`np.uint64(...)` of it")

    def of_long_literal(x):
        return [v * 0x10000000000000000000000000 for v in x]

    def of_float(x):
        return [v * 1.2676506002282294e30 for v in x]

    message = f"the int {1 << 100} does not fit an int of 64 bits"
    yield Pair(of_long_literal, of_float, X, message, "compute with floats")

    def half_sum(x):
        return np.sum(x)

    def single_sum(x):
        return np.sum(x.astype(np.float32))

    half = X.astype(np.float16)
    message = "`np.sum` of an array of float16 is not compiled here"
    yield Pair(half_sum, single_sum, half, message, "`.astype(np.float32)`")

    def half_mean(x):
        return x.mean()

    message = "the method `mean` of an array of float16 is not compiled here"
    yield Pair(half_mean, single_sum, half, message, "`.astype(np.float32)`")

    def common(x):
        return len(set(x) & set(x))

    def common_of_named(x):
        s = set(x)
        t = set(x[1:])
        return len(s & t)

    message = "the length of `set(x) & set(x)` is not compiled"
    yield Pair(common, common_of_named, [1, 2], message, "an assignment of its own")

    def any_above(x):
        if x > 1:
            return 1
        return 0

    def any_above_told(x):
        if np.any(x > 1):
            return 1
        return 0

    message = "`x > 1` is not a number but an array with 1 axis"
    yield Pair(any_above, any_above_told, X, message, "`np.any`")

    def empty_or_all(x):
        chosen = np.array([])
        if x[0] > 1:
            chosen = x
        return chosen

    def empty_array_or_all(x):
        chosen = np.empty(0)
        if x[0] > 1:
            chosen = x
        return chosen

    message = "`[]` is an empty list without a name, whose items have no type"
    yield Pair(empty_or_all, empty_array_or_all, X, message, "`np.empty(0)`")

    def power_of_bool(x):
        return [v ** 0 for v in x]

    def power_of_int(x):
        return [int(v) ** 0 for v in x]

    message = "a power of Python's bools is not compiled"
    yield Pair(power_of_bool, power_of_int, [True], message, "`int(...)`")

    def power_of_either(x):
        z = 0
        for c in x:
            z = z ** 0 + c
        return z

    def power_of_numpy(x):
        z = np.complex128(0)
        for c in x:
            z = z ** 0 + c
        return z

    message = "the base of `z ** 0` is Python's or NumPy's number, by the data"
    yield Pair(power_of_either, power_of_numpy, C, message, "`np.complex128(...)`")

    def power_by_index(x):
        return [complex(c) ** k for k, c in enumerate(x)]

    def power_by_constant(x):
        return [complex(c) ** 3 for c in x]

    message = "`complex(c) ** k` is compiled only with an exponent that is a constant"
    yield Pair(power_by_index, power_by_constant, C, message, "as a constant")

    def sum_from_real(x):
        s = 0.0
        for c in x:
            s += complex(c)
        return s

    def sum_from_complex(x):
        s = 0j
        for c in x:
            s += complex(c)
        return s

    message = "`s` is a real or a complex number, depending on the data"
    yield Pair(sum_from_real, sum_from_complex, C, message, "start with `0j`")


def report_of(function: Callable[..., Any], x: Any) -> Report:
    return fuse(function, on_reject="silent").report(x)


PAIRS = [*pairs()]


@pytest.mark.share(1)
@pytest.mark.parametrize("pair", PAIRS, ids=[p.refused.__name__ for p in PAIRS])
def test_the_help_can_be_followed(pair: Pair) -> None:
    refused = report_of(pair.refused, pair.x)
    assert not refused.accepted
    rejection, *_ = refused.rejections
    assert (rejection.message, pair.help in (rejection.help or "")) == (pair.message, True)
    assert report_of(pair.followed, pair.x).accepted


def of_module(x):
    return [math for _ in x]


def of_class(x):
    return [str for _ in x]


def of_function(x):
    return [print for _ in x]


def as_text(x):
    return x.astype("U8")


def as_class(x):
    return x.astype(str)


def dumped(x):
    return [json.dumps(v) for v in x]


def formatted(x):
    return [f"{v}" for v in x]


def joined(x):
    return "; ".join(x)


def mapped(x):
    return np.vectorize(two)(x, x)


def sorted_down(x):
    return sorted(x, reverse=True)


def steps_of_times(x):
    return np.diff(x).astype("timedelta64[s]").sum()


def updated(x):
    totl = 0.0
    for v in x:
        total_ += v  # noqa: F821, F841
    return totl


def total(x):
    return two(x, x)


def listed(x):
    names = {"a": 1}

    def inner(x):
        return [names for _ in x]

    return inner


@pytest.mark.share(1)
@pytest.mark.parametrize(("function", "x", "message", "help"), [
    (of_module, X, "`math` is a module, and no number", "a function or a number of it"),
    (of_class, X, "`str` is a class, and no number", "outside of the function"),
    (of_function, X, "`print` is a function, and no number", "where its result is needed"),
    (as_text, X, "the method `astype` is not compiled with these arguments", "outside of"),
    (as_class, X, "the method `astype` is not compiled with these arguments", "outside of"),
    (dumped, X, "`json.dumps` is not a function that can be compiled", "before or after the loop"),
    (formatted, X, '`f"{v}"` is of type str, which is not compiled', "after the loops"),
    (joined, X, "the method `join` of a str is not compiled here", "after the loops"),
    (mapped, X, "`np.vectorize(two)` is not a function that can be compiled", "outside of"),
    (sorted_down, X, "`sorted` is not compiled with an array", "outside of the function"),
    (steps_of_times, np.array([1, 3], "M8[s]"), "`x` is of type array of datetime64[s]",
     "`x.astype(np.int64)`"),
    (updated, X, "`total_` is not defined; did you mean `totl`?", "assign `total_`"),
    (listed([1]), X, "`names` is a closure variable of type dict", "the keys and the values of"),
])
def test_the_reason_is_the_real_one(
    function: Callable[..., Any], x: Any, message: str, help: str
) -> None:
    rejection, *_ = report_of(function, x).rejections
    assert (rejection.message, help in (rejection.help or "")) == (message, True)


def of_many_digits(x):
    return [v * 0x100000000000000000000000000000000000000000000000000 for v in x]


def test_an_int_of_many_digits_is_told_by_its_bits() -> None:
    rejection, *_ = report_of(of_many_digits, X).rejections
    assert rejection.message == "the int of 201 bits does not fit an int of 64 bits"
