"""What a report proposes can be followed: each refused function beside the one that follows it."""
from __future__ import annotations

import enum
import json
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from transpile import fuse
from transpile.report.loop_report import Report

X = np.arange(4.0)
C = X * 1j


def counter() -> Callable[[], int]:
    n = 0

    def count() -> int:
        nonlocal n
        n += 1
        return n

    return count


COUNT = counter()
LOG: list[float] = []
SEEN: set[float] = set()
COUNTS: dict[int, float] = {}


class Level(enum.IntEnum):
    LOW = 1


LOW = int(Level.LOW)


class Kept:
    def __init__(self) -> None:
        self.values = np.arange(3.0)
        self.log: list[float] = []


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
    followed_x: Any = None
    """The argument of `followed`; None: `x`."""


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

    def summed_rows(x):
        s = 0.0
        for _ in range(3):
            s += x
        return s

    def summed_rows_from_array(x):
        s = 0.0
        s = s + np.zeros_like(x)
        for _ in range(3):
            s += x
        return s

    message = "`s` is a number, and `s += x` makes an array of it"
    yield Pair(summed_rows, summed_rows_from_array, X, message, "`s = s + np.zeros_like(x)`")

    def halved(x):
        s = 1.0
        for _ in range(3):
            s = x * 0.5 - s
        return s

    def halved_from_array(x):
        s = np.ones(len(x))
        for _ in range(3):
            s = x * 0.5 - s
        return s

    message = "`s` is a number, and `s = x * 0.5 - s` makes an array of it"
    yield Pair(halved, halved_from_array, X, message, "such as by `np.zeros`")

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

    def quotient_of_either(x):
        z = 0j
        for c in x:
            z = z / (z + 1) + c
        return z

    def quotient_of_numpy(x):
        z = np.complex128(0)
        for c in x:
            z = z / (z + 1) + c
        return z

    message = "an operand of `z / (z + 1)` is Python's or NumPy's number, by the data"
    yield Pair(quotient_of_either, quotient_of_numpy, C, message, "`np.complex128(...)`")

    def stationary(x):
        v = np.full(len(x), 1 / len(x))
        for k in range(100):
            w = v @ x
            if np.abs(w - v).max() < 1e-9:
                return w, k
            if w[0] > 0.3:
                v = w
        return v, k

    def stationary_in_place(x):
        v = np.full(len(x), 1 / len(x))
        for k in range(100):
            w = v @ x
            if np.abs(w - v).max() < 1e-9:
                return w, k
            if w[0] > 0.3:
                v[:] = w
        return v, k

    matrix = np.array([[0.5, 0.5], [0.25, 0.75]])
    message = "what `v` is bound to here is not known: it changes in a loop or a branch"
    yield Pair(stationary, stationary_in_place, matrix, message, "`v[:] = w`")

    def list_of_arrays(x):
        out = [x.copy()]
        for _ in range(3):
            x = x * 2
            out.append(x)
        return out

    def rows_of_array(x):
        out = np.empty((4, len(x)))
        out[0] = x
        for k in range(3):
            x = x * 2
            out[k + 1] = x
        return out

    message = "`x.copy()` is an array, and is put into a list"
    yield Pair(list_of_arrays, rows_of_array, X, message, "`out[k] = v`")

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

    def appended_to_global(x):
        for v in x:
            LOG.append(v)  # noqa: PERF402

    def appended_here(x):
        out = []
        for v in x:
            out.append(v)  # noqa: PERF402
        return out

    message = "`LOG` is not a list of numbers made here"
    yield Pair(appended_to_global, appended_here, X, message, "extend `LOG` with it")

    def appended_to_member(x):
        for v in x.values:
            x.log.append(v)

    message = "the argument `x.log` is made longer"
    pair = Pair(appended_to_member, appended_here, Kept(), message, "extend `x.log` with it")
    yield pair._replace(followed_x=X)

    def added_to_global(x):
        for v in x:
            SEEN.add(v)

    message = "`SEEN.add` is a method of something that is not made here"
    yield Pair(added_to_global, appended_here, X, message, "made here")

    def stored_in_global(x):
        for i in range(len(x)):
            COUNTS[i] = x[i]

    def stored_here(x):
        counts = {}
        for i in range(len(x)):
            counts[i] = x[i]
        return counts

    yield Pair(stored_in_global, stored_here, X, "`COUNTS` is not an array here", "is made in the")

    def nonempty(x):
        if x:
            return 1
        return 0

    def nonempty_told(x):
        if len(x) > 0:
            return sum(x)
        return 0

    message = "`x` is of type list[int], and is used as a whole, not item by item"
    yield Pair(nonempty, nonempty_told, [1, 2], message, "`len(x) > 0`")

    def doubled(x):
        return x * 2

    def doubled_in_loop(x):
        return [v for _ in range(2) for v in x]

    yield Pair(doubled, doubled_in_loop, [1, 2], message, "to a new list")

    def bytes_as_whole(x):
        return sum(x), x.hex()

    def items_of_bytes(x):
        return sum(x)

    message = "`x` is of type bytes, and is used as a whole, not item by item"
    yield Pair(bytes_as_whole, items_of_bytes, b"ab", message, "`np.frombuffer(x, np.uint8)`")

    def all_in_range(x):
        return [v * v for v in x]

    def all_to_end(x):
        return [v * v for v in range(x)]

    ends = Pair(all_in_range, all_to_end, range(3), "`x` is of type range", "make the range in")
    yield ends._replace(followed_x=3)
    items = Pair(all_in_range, all_in_range, frozenset((1, 2)), "`x` is of type frozenset", "as an")
    yield items._replace(followed_x=[1, 2])

    def grown_tuple(x):
        out = ()
        for v in x:
            out += (v,)
        return out

    def tuple_of_list(x):
        out = []
        for v in x:
            out.append(v)  # noqa: PERF402
        return tuple(out)

    yield Pair(grown_tuple, tuple_of_list, X, "`()` is an empty tuple", "`tuple(...)`")

    def filled_with_none(x):
        out = [None] * len(x)
        for i in range(len(x)):
            if x[i] < math.inf:
                out[i] = x[i]
        return out

    def filled_with_numbers(x):
        out = [math.nan] * len(x)
        for i in range(len(x)):
            if x[i] < math.inf:
                out[i] = float(x[i])
        return out

    message = "the items of `out` are None at first, and no list of None is compiled"
    yield Pair(filled_with_none, filled_with_numbers, X, message, "`math.nan`")

    def sorted_by_match(x):
        n = 0
        for v in x:
            match v:
                case int():
                    n += 1
        return n

    def sorted_by_if(x):
        n = 0
        for v in x:
            if isinstance(v, int):
                n += 1
        return n

    message = "the pattern `int()` is not compiled"
    yield Pair(sorted_by_match, sorted_by_if, [1, 2], message, "as `if` and `elif`")

    def shrinking(x):
        while True:
            x = x[1:]
            if len(x) < 2:
                break
        return x

    def shrinking_by_subscript(x):
        k = 0
        while True:
            k += 1
            if len(x) - k < 2:
                break
        return x[k:]

    message = "what `x` is bound to here is not known: it changes in a loop or a branch"
    yield Pair(shrinking, shrinking_by_subscript, X, message, "subscripts in place of views")

    def joined_arrays(x):
        out = np.zeros(0)
        for v in x:
            if v > 1:
                out = np.append(out, v)
        return out

    def joined_items(x):
        out = []
        for v in x:
            if v > 1:
                out.append(v)  # noqa: PERF401
        return np.array(out)

    message = "`out` is another array on this path than on others"
    yield Pair(joined_arrays, joined_items, X, message, "append to a list")

    def times_inverse(x):
        a = np.eye(len(x))
        for _ in range(3):
            x = a @ x
            x = np.linalg.inv(a) @ x
        return x

    def times_reciprocals(x):
        a, b = np.eye(len(x)), np.zeros((len(x), len(x)))
        for _ in range(3):
            x = a @ x
            for i in range(len(x)):
                b[i, i] = 1 / a[i, i]
            x = b @ x
        return x

    message = "`np.linalg.inv` is LAPACK's to compute and stays a NumPy call"
    yield Pair(times_inverse, times_reciprocals, X, message, "write what it computes as loops")

    def times_determinant(x):
        a = np.eye(len(x))
        for _ in range(3):
            x = 0.5 * x
            x = x * np.linalg.det(a)
        return x

    def times_diagonal(x):
        a = np.eye(len(x))
        for _ in range(3):
            x = 0.5 * x
            d = 1.0
            for i in range(len(x)):
                d *= a[i, i]
            x = x * d
        return x

    message = "`0.5 * x` of whole arrays is not compiled here"
    yield Pair(times_determinant, times_diagonal, X, message, "write what it computes as loops")

    def with_two_names(x):
        order = list(range(len(x)))
        at = order
        s = 0.0
        for i in range(len(x)):
            s += x[at[i]]
        return s

    def with_one_name(x):
        order = list(range(len(x)))
        s = 0.0
        for i in range(len(x)):
            s += x[order[i]]
        return s

    message = "the list `order` gets another name, `at`"
    yield Pair(with_two_names, with_one_name, X, message, "use `order` alone")

    def rows_in_turn(x):
        now = [[0.0] * 3 for _ in range(3)]
        for _ in range(3):
            new = [[0.0] * 3 for _ in range(3)]
            for i in range(3):
                for j in range(3):
                    new[i][j] = now[j][i] + x[i]
            now = new
        return now[0][1]

    def rows_that_are_copied(x):
        now = [[0.0] * 3 for _ in range(3)]
        for _ in range(3):
            new = [[0.0] * 3 for _ in range(3)]
            for i in range(3):
                for j in range(3):
                    new[i][j] = now[j][i] + x[i]
            for i in range(3):
                for j in range(3):
                    now[i][j] = new[i][j]
        return now[0][1]

    message = "the list `new` gets another name, `now`"
    yield Pair(rows_in_turn, rows_that_are_copied, X, message, "`now[i][j] = new[i][j]`")

    def rows_that_are_sorted(x):
        m = [[0.0] * 3 for _ in range(4)]
        for i in range(4):
            m[i][0] = x[i]
        m.sort()
        return m[0][0]

    def rows_that_are_read(x):
        m = [[0.0] * 3 for _ in range(4)]
        for i in range(4):
            m[i][0] = x[i]
        least = m[0][0]
        for i in range(4):
            least = min(least, m[i][0])
        return least

    message = "not all that is done with the list `m` is compiled"
    yield Pair(rows_that_are_sorted, rows_that_are_read, X, message, "read and store single items")

    def of_words(x):
        n = 0
        for word in x.split():
            n += len(word)
        return n

    def of_numbers(x):
        n = 0
        for count in x:
            n += count
        return n

    message = "a loop over `x.split()`, a method of a str, is not compiled"
    pair = Pair(of_words, of_numbers, "a b", message, "make numbers of the string")
    yield pair._replace(followed_x=np.array([1, 1]))

    def sorted_by_key(x):
        s = 0.0
        for v in sorted(x, key=lambda v: -v):
            s = s * 0.5 + v
        return s

    def by_order_of_keys(x):
        s = 0.0
        for i in np.argsort(-x, kind="stable"):
            s = s * 0.5 + x[i]
        return s

    message = "a loop over `sorted(x, key=lambda v: -v)` is not compiled"
    yield Pair(sorted_by_key, by_order_of_keys, X, message, "np.argsort(keys")

    def lists_by_key(x):
        return {int(v): [v] for v in x}

    def grown_by_key(x):
        d = defaultdict(list)
        for v in x:
            d[int(v)].append(v)
        return d

    message = "the values of a dict are lists, which are compiled where they grow"
    yield Pair(lists_by_key, grown_by_key, X, message, "defaultdict(list)")

    def empty_lists_by_key(x):
        d = {int(v): [] for v in x}
        for v in x:
            d[int(v)].append(v)
        return d

    yield Pair(empty_lists_by_key, grown_by_key, X, message, "defaultdict(list)")

    def by_enum(x):
        return [v + Level.LOW for v in x]

    def by_number(x):
        return [v + LOW for v in x]

    message = "`Level.LOW` is not known to be a number"
    yield Pair(by_enum, by_number, X, message, "`int(Level.LOW)`")


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
    x = pair.x if pair.followed_x is None else pair.followed_x
    assert report_of(pair.followed, x).accepted


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


def sorted_by_size(x):
    return sorted(x, key=abs)


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


def powers(x):
    return pow(2, -1, 5)


class Compared:
    """A callable whose comparison is the user's code."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    def __call__(self, v: float) -> float:
        return v


COMPARED = Compared()
WEIGHTS = np.ones(3)


def of_called_array(x):
    return WEIGHTS(0) + x[0]


def of_called_list(x):
    return [LOG(v) for v in x]


def of_compared(x):
    return [COMPARED(v) for v in x]


def misspelt_method(x):
    return x.appendd(1)


def with_list_and_number(x):
    return x + 1


def repeated_with_name(x):
    out = [0.0] * 3
    return out + [1.0]  # noqa: RUF005


@pytest.mark.share(1)
@pytest.mark.parametrize(("function", "x", "message", "help"), [
    (of_module, X, "`math` is a module, and is used as a value", "a function or a number of it"),
    (of_class, X, "`str` is a class, and is used as a value", "outside of the function"),
    (of_function, X, "`print` is a function, and is used as a value", "where its result is needed"),
    (as_text, X, "the method `astype` is not compiled with these arguments", "outside of"),
    (as_class, X, "the method `astype` is not compiled with these arguments", "outside of"),
    (dumped, X, "`json.dumps` is not a function that can be compiled", "function of your own"),
    (formatted, X, '`f"{v}"` is of type str, which is not compiled', "after the loops"),
    (joined, X, "the method `join` of a str is not compiled here", "after the loops"),
    (mapped, X, "`np.vectorize(two)` is not a function that can be compiled", "outside of"),
    (sorted_by_size, X, "`sorted` is not compiled with an array", "outside of the function"),
    (steps_of_times, np.array([1, 3], "M8[s]"), "`x` is of type array of datetime64[s]",
     "`x.astype(np.int64)`"),
    (updated, X, "`total_` is not defined; did you mean `totl`?", "assign `total_`"),
    (powers, X, "`pow` is not compiled with these arguments", "the optional arguments"),
    (of_called_array, X, "`WEIGHTS` is not a function that can be compiled", "outside of"),
    (of_called_list, X, "`LOG` is not a function that can be compiled", "function of your own"),
    (of_compared, X, "`COMPARED` is not a function that can be compiled", "function of your own"),
    (misspelt_method, [1], "a list has no attribute `appendd`: Python raises AttributeError",
     "did you mean `append`?"),
    (with_list_and_number, [1],
     "`x` is of type list[int], and is used as a whole, not item by item", "to a new list"),
    (repeated_with_name, X, "not all that is done with the list `out` is compiled", "append to it"),
    (listed([1]), X, "`names` is a closure variable of type dict", "if the keys of `names`"),
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


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_an_exception_for_all_values_is_told_beside_a_help_of_its_own() -> None:
    fused = fuse(with_list_and_number)
    with pytest.raises(TypeError):
        fused([1])
    rejection, *_ = fused.report().rejections
    assert "TypeError was raised here: can only concatenate list" in (rejection.note or "")


def counted_by_dict(x, d):
    n = 0
    for k in x:
        try:
            n += d[k]
        except KeyError as error:  # noqa: PERF203
            n -= len(str(error))
    return n


def looked_up_in_dict(x, d):
    n = 0
    for k in x:
        if k in d:
            n += d[k]
    return n


def looked_up_in_dict_of_lists(x, keys, values):
    d = dict(zip(keys, values))  # noqa: B905
    n = 0
    for k in x:
        if k in d:
            n += d[k]
    return n


@pytest.mark.parametrize("function", [counted_by_dict, looked_up_in_dict])
def test_a_dict_argument_can_be_made_in_the_function(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is read in a `try`, which would be refused as well."""
    x, d = [1, 2, 300], {k: 2 * k for k in range(100)}
    rejection, *_ = fuse(function).report(x, d).rejections
    made = "only dicts that the function makes are compiled"
    assert rejection.message == f"`d` is of type dict, and {made}"
    assert "ints" in (rejection.help or "")
    assert "`dict(zip(keys, values))`" in (rejection.help or "")
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    followed = fuse(looked_up_in_dict_of_lists)
    assert followed(x, [*d], [*d.values()]) == looked_up_in_dict(x, d)


def shifted_by_first_row(x):
    for i in range(len(x)):
        for j in range(len(x)):
            x[i, j] = x[i, j] * 2
    for i in range(len(x)):
        for j in range(len(x)):
            x[i, j] += x[0, j]


def shifted_by_row_made_before(x):
    row = x[0] * 2
    for i in range(len(x)):
        for j in range(len(x)):
            x[i, j] = x[i, j] * 2
    for i in range(len(x)):
        for j in range(len(x)):
            x[i, j] += row[j]


def roots_of_gathered(x, k, out):
    for i in range(len(k)):
        out[i] = np.sqrt(x[k[i]]) * 2 + 1 / x[k[i]]


def roots_of_collected(x, k, out):
    y = np.empty(len(k))
    for i in range(len(k)):
        y[i] = x[k[i]]
    for i in range(len(k)):
        out[i] = np.sqrt(y[i]) * 2 + 1 / y[i]


@pytest.mark.parametrize(("refused", "followed", "arguments", "code", "help"), [
    (shifted_by_first_row, shifted_by_row_made_before, (np.ones((9, 9)),),
     "FUSE_REJECT_BROADCAST_ND", "made before both nests"),
    (roots_of_gathered, roots_of_collected, (np.ones(50), np.arange(50), np.ones(50)),
     "VECTOR_SUBSCRIPT", "collect the elements in an array first"),
])
def test_the_help_on_loops_can_be_followed(
    refused: Callable[..., Any], followed: Callable[..., Any], arguments: Any, code: str, help: str
) -> None:
    before, after = (fuse(f).report(*arguments) for f in (refused, followed))
    (rejection,) = [r for r in before.rejections if r.code == code]
    assert help in (rejection.help or "")
    assert (after.fused, after.vectorized) > (before.fused, before.vectorized)


def no_loop(xs):
    s = sorted(xs)
    return s[0]


def no_loop_and_call(x):
    return x + os.nice(0)


def drawn_by_system(x):
    t = 0
    for _ in x:
        t += os.getpid()
    return t


def called_with_constant(x):
    t = 0.0
    for v in x:
        t += os.nice(0) * v
    return t


def padded(x):
    t = 0.0
    for v in np.pad(x, 1, mode="empty"):
        t += v
    return t


def added_rows(x):
    s = 0.0
    for row in x:
        s += row
    return s


def sums_of_none(x):
    return [sum(x[k] * 1j for k in range(j)) for j in range(len(x))]


def looped_over_unknown(x):
    c = x[:2]
    for _ in range(3):
        t = 0.0
        for i, v in enumerate(c):
            t += v * i
        c = [t, t] if t > 1 else x
    return c


@pytest.mark.share(1)
@pytest.mark.parametrize(("function", "x", "message", "note", "help"), [
    (no_loop, [1.0], "used as a whole", "`no_loop` has no loop of its own", "np.array"),
    (no_loop_and_call, 3.0, "`os.nice` is not a function that", "has no loop of its own",
     "decorate the function that has the loop"),
    (drawn_by_system, X, "`os.getpid` is not", "", "in a Python function of your own"),
    (called_with_constant, X, "`os.nice` is not", "", "before or after the loop"),
    (padded, X, "`np.pad` is not compiled with these arguments", "", "as a loop"),
    (added_rows, [[1.0]], "`s` is a number, and `row` a list", "", "the items of `row`, too"),
    (sums_of_none, [1.0], "have different types", "`sum` of no items", "by `complex(...)`"),
    (looped_over_unknown, X, "what `c` is bound to here is not known",
     "`c` is bound in lines", "`v[0] = a` of lists"),
])
def test_the_help_fits_the_place(
    function: Callable[..., Any], x: Any, message: str, note: str, help: str
) -> None:
    """What no call in a loop can do is not proposed, and notes name what the messages leave out."""
    rejection, *_ = report_of(function, x).rejections
    assert message in rejection.message
    assert note in (rejection.note or "")
    assert help in (rejection.help or "")


def histogram(x, out):
    for v in x:
        out[int(v)] += 1.0


def logistic(x, out):
    u = 0.5
    for i in range(len(x)):
        u = 3.0 * u * (1.0 - u)
        out[i] = u


def up_to_limit(x, out):
    for i in range(len(x)):
        out[i] = x[i]
    for i in range(len(x)):
        if x[i] > 2.0:
            break
        out[i] = out[i] + 1.0


@pytest.mark.parametrize(("function", "code"), [
    (histogram, "VECTOR_SUBSCRIPT"),
    (logistic, "VECTOR_CARRIED"),
    (up_to_limit, "FUSE_REJECT_CONTROL_FLOW"),
])
def test_a_loop_that_has_to_be_as_it_is_may_stay(function: Callable[..., Any], code: str) -> None:
    reasons = fuse(function).report(X, X.copy()).rejections
    (told,) = [r for r in reasons if r.code == code]
    assert (told.help or "").startswith("nothing needs to be done if")
