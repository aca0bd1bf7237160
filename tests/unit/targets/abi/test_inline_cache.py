"""The inline cache: which row gets a call, by the types, the identity and the size of arguments."""
from __future__ import annotations

import functools
import sys
import time
from pathlib import Path
from types import MethodDescriptorType, MethodType
from typing import Any

import numpy as np
import pytest
from forked_programs import run_program
from hypothesis import given
from hypothesis import strategies as st

from targets.abi.inline_cache import (
    SIZE_LIMIT,
    ArgumentKey,
    CacheRow,
    argument_key,
    inline_cache,
    original_test,
    size_of_call,
)
from targets.abi.native_entry import ParameterList
from targets.abi.trampoline import trampoline
from transpile import fuse
from transpile.runtime.fuse_decorator import Fused

pytestmark = pytest.mark.skipif(trampoline(None) is None, reason="no native calls here")


def one(x: Any) -> Any:
    return "one", x


def miss(x: Any) -> Any:
    return "miss", x


def several(a: Any, /, b: Any, c: Any = 3, *, d: Any, e: Any = 5) -> Any:
    return "several", a, b, c, d, e


def missed(*args: Any, **named: Any) -> Any:
    return "missed", args, named


def cache_of(*rows: CacheRow) -> Any:
    return inline_cache("one", ParameterList.of(one), rows, miss)  # type: ignore[arg-type]


RECORD = np.dtype([("a", "f8")])
VALUES: list[Any] = [
    1, 2.0, True, None, "a", b"a", 1j, np.float64(1), np.int32(1), {}, set(), range(3), one, missed,
    object, len,
    [], [1], [2.0], [[1]], [[]], [[2.0], 1], [None], (), (1,), (1.0, 2), ([1],), ((),),
    np.ones(3), np.ones(3, np.float32), np.ones((2, 3)), np.ones((2, 3)).T, np.ones((2, 3, 4))[::2],
    np.ones(4, ">f8"), np.zeros(25, np.uint8)[1:].view("f8"), np.ones(2, object), np.ones(()),
    np.ma.masked_array(np.ones(3)), np.zeros(2, RECORD), np.zeros(2, [("b", "f8")]),
    np.array(["a"]), np.array(["ab"]), np.array(0, "M8[s]"),
]


@pytest.mark.parametrize("own", range(len(VALUES)))
def test_a_row_is_for_arguments_with_its_key(own: int) -> None:
    key = argument_key(VALUES[own])
    f = cache_of(CacheRow(one, (key,)))
    for value in VALUES:
        assert f(value)[0] == ("one" if argument_key(value) == key else "miss"), value
    assert sum(argument_key(value) == key for value in VALUES) == 1, "the values differ in kind"


def test_the_key_of_a_tuple_may_count_all_items() -> None:
    tuples: list[Any] = [(), (1,), (1, 2), (1, 2.0), (1.0, 2), (1.0, 2.0), (1.0, 2.0, 3.0), ((1,),)]
    for own in tuples:
        f = cache_of(CacheRow(one, (argument_key(own, all_items=True),)))
        assert [f(t)[0] for t in [*tuples, [1], 1]] == [
            "one" if t is own else "miss" for t in [*tuples, [1], 1]
        ]


def test_a_read_only_array_is_another_kind() -> None:
    frozen = np.ones(3)
    frozen.flags.writeable = False
    f = cache_of(CacheRow(one, (argument_key(np.ones(3)),)))
    assert f(frozen)[0] == "miss"
    assert f(np.zeros(8))[0] == "one"


class Named(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "equal", "others"),
    [
        ("".join(["fa", "st"]), "".join(["fas", "t"]), ("slow", Named("fast"), None)),
        (2**40, 2**39 * 2, (2**41, float(2**40), True)),
        (np.dtype([("a", "f8")]), np.dtype([("a", "f8")]), (np.dtype([("b", "f8")]), float)),
        (np.dtype("M8[s]"), np.dtype("M8[s]"), (np.dtype("M8[ms]"),)),
        (Named("fast"), None, (Named("fast"), "fast")),  # whose equality may be the user's
        ((1, 2), None, ((1, 2 * len("a")),)),
    ],
)
def test_a_key_by_identity(value: Any, equal: Any, others: tuple[Any, ...]) -> None:
    f = cache_of(CacheRow(one, (argument_key(value, by_identity=True),)))
    assert f(value)[0] == "one"
    assert equal is None or f(equal)[0] == "one"
    assert [f(other)[0] for other in others] == ["miss"] * len(others)


@pytest.mark.parametrize("dtype", ["M8[D]", "m8[s]", "<U1", [("m", "f8"), ("v", "i4")]])
def test_arrays_with_an_equal_dtype(dtype: Any) -> None:
    f = cache_of(CacheRow(one, (argument_key(np.zeros(3, dtype)),)))
    assert f(np.zeros(4, np.dtype(dtype)))[0] == "one"
    for other in ("M8[ms]", "<U2", [("m", "f8"), ("w", "i4")]):
        assert f(np.zeros(3, other))[0] == "miss"


def test_the_first_row_that_fits() -> None:
    def two(x: Any) -> Any:
        return "two", x

    f = cache_of(
        CacheRow(two, (argument_key(1),), low=4, high=9), CacheRow(one, (argument_key(1),), high=20)
    )
    assert [f(n)[0] for n in (3, 4, 9, 10, 20, 21, -10, -11)] == [
        "one", "two", "two", "one", "one", "miss", "two", "one"
    ]


def test_a_row_for_a_size_of_some_arguments() -> None:
    def pair(x: Any, n: int) -> Any:
        return "pair"

    def miss(*args: Any) -> Any:
        return "miss"

    keys = argument_key([1.0]), argument_key(1)
    row = CacheRow(pair, keys, low=100, part=(1,), part_low=3, part_high=31)
    f: Any = inline_cache("pair", ParameterList.of(pair), [row], miss)  # type: ignore[arg-type]
    long = [1.0] * 200
    served = [f(long, n) for n in (2, 3, 31, 32, -4, -33)]
    assert served == ["miss", "pair", "pair", "miss", "pair", "miss"]
    assert f([1.0], 31) == "miss", "the whole size is in a range, too"
    assert not row.serves_all


def test_any_arguments() -> None:
    f = cache_of(CacheRow(one, None))
    assert {f(value)[0] for value in VALUES} == {"one"}


def test_calls_are_counted_and_limited() -> None:
    row = CacheRow(one, (argument_key(1),), counters=np.array([0, 3], np.int64))
    f = cache_of(row)
    assert [f(1)[0] for _ in range(5)] == ["one"] * 3 + ["miss"] * 2
    assert row.counters.tolist() == [3, 0]


def test_the_row_is_changed_in_the_call() -> None:
    """As where a trial ends: the cache that runs is dropped by its own target."""
    holder: list[Any] = []

    def ends(x: Any) -> Any:
        holder.clear()
        return "ended", x

    holder.append(cache_of(CacheRow(ends, (argument_key(1),))))
    assert holder[0](1) == ("ended", 1)


@pytest.mark.parametrize("row_fits", [True, False])
@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((1, 2), {"d": 4}), ((1, 2, 3), {"d": 4, "e": 5}), ((1,), {"b": 2, "d": 4}),
        ((1,), {"d": 4, "c": 3, "b": 2}), ((1,), {"d": 4}), ((1, 2, 3, 4), {"d": 4}), ((), {}),
        ((1, 2), {}), ((1, 2), {"d": 4, "z": 1}), ((1, 2), {"d": 4, "b": 2}), ((), {"a": 1}),
    ],
)
def test_all_ways_to_pass_arguments(args: Any, named: Any, *, row_fits: bool) -> None:
    """Arguments are passed on as they came; those that do not fit the parameters miss."""
    keys = (argument_key(1 if row_fits else "no"), *[argument_key(1)] * 4)
    f: Any = inline_cache("several", ParameterList.of(several), [CacheRow(several, keys)], missed)  # type: ignore[arg-type]
    try:
        expected = several(*args, **named)
    except TypeError:
        expected = None
    found = f(*args, **named)
    assert found == (expected if row_fits and expected else ("missed", args, named))


def test_exceptions_pass() -> None:
    def fails(x: Any) -> Any:
        raise KeyError(x)

    with pytest.raises(KeyError, match="7"):
        cache_of(CacheRow(fails, None))(7)


NUMBERS = st.integers(-(2**70), 2**70) | st.integers(-40, 40)
LISTS = st.lists(NUMBERS, max_size=5) | st.lists(st.lists(st.floats(), max_size=3), max_size=4)
ARRAYS = st.lists(st.integers(0, 5), max_size=4).map(lambda shape: np.zeros(shape))


@given(NUMBERS | LISTS | LISTS.map(tuple) | ARRAYS | st.text() | st.booleans(), st.data())
def test_sizes_are_the_same_in_c(value: Any, data: Any) -> None:
    size = size_of_call([value])
    assert 0 <= size <= SIZE_LIMIT
    low = data.draw(st.integers(0, size), label="low")
    key = (argument_key(value),)
    rows = [CacheRow(one, key, low=size, high=size), CacheRow(miss, key, low=low)]
    assert cache_of(*rows)(value)[0] == "one"
    if size:
        assert cache_of(CacheRow(one, key, high=size - 1))(value)[0] == "miss"
    if size < SIZE_LIMIT:
        assert cache_of(CacheRow(one, key, low=size + 1))(value)[0] == "miss"


def optional(a: Any, /, b: Any = 2, *, c: Any = 3, **more: Any) -> Any:
    return "optional", a, b, c, more


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((1,), {}), ((1, 2), {"c": 4}), ((1,), {"b": 2, "z": 1}), ((1,), {"a": 5, "z": 1}),
        ((1, 2), {"z": 1, "y": 2, "c": 0}), ((1, 2, 3), {}), ((), {"a": 1}), ((1, 2), {"b": 2}),
    ],
)
def test_further_keywords_are_passed_on(args: Any, named: Any) -> None:
    """They have no key; where the arguments do not fit, the target or ``miss`` raises."""
    parameters = ParameterList.of(optional, takes_further=True)  # type: ignore[arg-type]
    assert parameters is not None
    row = CacheRow(optional, (argument_key(1),) * 3)
    f: Any = inline_cache("optional", parameters, [row], missed)
    try:
        expected = optional(*args, **named)
    except TypeError:
        with pytest.raises(TypeError):
            missed(optional(*f(*args, **named)[1], **named))
    else:
        assert f(*args, **named) == expected


def rest(a: Any, b: Any = 2, *more: Any, c: Any = 3, **named: Any) -> Any:
    return "rest", a, b, more, c, named


def all_of(*items: Any) -> Any:
    return "all_of", items


MOST_BORROWED = 12
"""Of so many further arguments inline_cache.c makes no tuple to look at them."""


@pytest.mark.parametrize("more", [
    (), (1,), (1, 2), (1.0, 2), ([1],), (np.ones(3), 1),
    *((*range(n - 1), [n]) for n in (MOST_BORROWED - 1, MOST_BORROWED, MOST_BORROWED + 1, 40)),
])
def test_further_arguments_count_as_one_tuple(more: tuple[Any, ...]) -> None:
    for function, first in ((all_of, ()), (rest, (1, 2))):
        parameters = ParameterList.of(function, takes_further=True)  # type: ignore[arg-type]
        assert parameters is not None
        named = (argument_key(3), argument_key({})) if first else ()
        keys = [*map(argument_key, first), *named[:1], argument_key(more, all_items=True)]
        row = CacheRow(function, (*keys, *named[1:]), high=sum(first) + 3 + len(more))
        f: Any = inline_cache("f", parameters, [row], missed)
        objects = [item for item in more if not isinstance(item, (int, float))]
        before = [sys.getrefcount(item) for item in objects]
        for _ in range(3):
            assert f(*first, *more) == function(*first, *more)
        assert before == [sys.getrefcount(item) for item in objects]
        assert f(*first, *more, None)[0] == "missed"
        assert f(*first, *(str(item) for item in more), "")[0] == "missed"
        assert row.counters[0] == 3


@pytest.mark.parametrize(
    ("args", "named"),
    [((1,), {}), ((1,), {"c": 5}), ((), {"a": 1}), ((1,), {"b": 7, "z": 1}), ((), {"b": 1}),
     ((1, 2, 3), {"c": 4}), ((1, 2, 3), {"b": 4}), ((1, 2, 3), {"z": 4})],
)
def test_defaults_and_keywords_beside_further_arguments(args: Any, named: Any) -> None:
    parameters = ParameterList.of(rest, takes_further=True)  # type: ignore[arg-type]
    assert parameters is not None
    f: Any = inline_cache("rest", parameters, [CacheRow(rest, None)], missed)
    try:
        expected = rest(*args, **named)
    except TypeError:
        with pytest.raises(TypeError):
            missed(rest(*f(*args, **named)[1], **named))
    else:
        assert f(*args, **named) == expected


def plain_count(value: Any, levels: int = 64) -> float:
    """How many items tell that a value is plain (`CacheRow.asks_plain`); infinite: it is not."""
    if value is None or type(value) in (bool, int, float, str):
        return 0
    if type(value) not in (list, tuple, dict) or levels == 0:
        return float("inf")
    if isinstance(value, dict):
        return sum(1 + plain_count(v, levels - 1) for pair in value.items() for v in pair)
    inner = sum(plain_count(v, levels - 1) for v in value[:-1])
    return len(value) + inner + (plain_count(value[-1], levels) if value else 0)


class OfFloats(float):
    pass


LEAVES = st.one_of(
    st.integers(), st.floats(), st.text(max_size=2), st.none(), st.booleans(),
    st.sampled_from([1j, b"a", np.float64(1), OfFloats(), {1}, object(), np.ones(2), len]),
)
PLAIN = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple)
    | st.dictionaries(st.text(max_size=1), inner, max_size=3), max_leaves=12,
)


@given(value=PLAIN, room=st.integers(0, 40))
def test_a_row_may_ask_for_plain_arguments(value: Any, room: int) -> None:
    limit = np.array([room], np.int64)
    f = cache_of(CacheRow(one, None, asks_plain=True, limit=limit))
    assert (f(value)[0] == "one") == (plain_count(value) <= room)


def test_plain_arguments_are_looked_at_up_to_a_limit() -> None:
    """The limit follows the time of calls, so that a small part of it is spent on that."""
    def called(x: Any) -> Any:
        time.sleep(0.001)
        return "called"

    itself: list[Any] = [1]
    itself.append(itself)
    linked: Any = None
    for k in range(5000):
        linked = (k, linked)
    deep: Any = []
    for _ in range(100):
        deep = [deep, 1]
    for value, objects in (([1.0] * 3000, 3000), (linked, 10_000), ({"a": [1] * 700}, 702)):
        for room, serves in ((objects, True), (objects - 1, False)):
            limit = np.array([room], np.int64)
            f = cache_of(CacheRow(called, None, asks_plain=True, limit=limit))
            assert (f(value) == "called") == serves
            assert limit[0] == room if not serves else 1_000_000 // 32 <= limit[0] < 10**8
    for value in (itself, deep):
        limit = np.array([10**6], np.int64)
        f = cache_of(CacheRow(called, None, asks_plain=True, limit=limit))
        assert f(value)[0] == "miss"
    limit = np.array([0], np.int64)
    rows = [CacheRow(one, None, asks_plain=True, limit=limit), CacheRow(called, None, limit=limit)]
    f = cache_of(*rows)
    assert [f([1.0] * 9) for _ in range(3)] == ["called", ("one", [1.0] * 9), ("one", [1.0] * 9)]


def test_whether_the_original_serves_a_call() -> None:
    """The test counts a call that it says yes to, as often as the row allows."""
    rows = [
        CacheRow(miss, (argument_key(1),), low=8, high=15),
        CacheRow(one, (argument_key(1),), high=31, counters=np.array([0, 2], np.int64)),
    ]
    f: Any = inline_cache("one", ParameterList.of(one), rows, miss, one)  # type: ignore[arg-type]
    test: Any = original_test(f)
    assert [test(n) for n in (8, 32, 3, 4, 5)] == [False, False, True, True, False]
    assert rows[1].counters.tolist() == [2, 0]
    assert [test(), test(1, 2), test(None)] == [False] * 3
    assert original_test(cache_of(CacheRow(one, None)))(1) is False, "it is for no original"
    del f
    assert test(3) is False, "the test keeps the rows alive"


def test_calls_of_a_row_are_timed() -> None:
    """The shortest one that does not raise counts; the original's test leaves them to the cache."""
    def works(x: Any) -> Any:
        if x < 0:
            raise ValueError(x)
        return sum(range(x))

    shortest = np.array([1 << 62], np.int64)
    counters = np.array([0, 7], np.int64)
    row = CacheRow(works, (argument_key(1),), counters=counters, shortest=shortest)
    f: Any = inline_cache("one", ParameterList.of(one), [row], miss, works)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(ValueError, match="-1"):
            f(-1)
    assert shortest[0] == 1 << 62
    times = []
    for n in (20_000, 200_000, 10, 100_000):
        assert f(n) == sum(range(n))
        times.append(int(shortest[0]))
    assert times[0] >= times[1] > times[2] == times[3] > 0
    assert original_test(f)(1) is False
    assert row.counters.tolist() == [6, 1]


def test_variadic_functions_have_none() -> None:
    assert ParameterList.of(missed) is None  # type: ignore[arg-type]
    assert ParameterList.of(optional) is None  # type: ignore[arg-type]
    assert ArgumentKey(int) == argument_key(3)


def test_methods_are_bound_by_a_builtin() -> None:
    """As by the Python function that it replaces: to an instance, or to nothing for a class; also
    where it is called by name, as by `functools.partialmethod`.
    """
    class Counter:
        @fuse
        def total(self, x):
            s = self.start
            for v in x:
                s += v
            return s

        def __init__(self) -> None:
            self.start = 1.0

    counter, other = Counter(), Counter()
    assert [counter.total(np.ones(4)) for _ in range(3)] == [5.0] * 3
    assert type(Fused.__get__) is MethodDescriptorType
    bound = counter.total
    assert type(bound) is MethodType
    assert bound.__func__ is Counter.total is Counter.__dict__["total"]
    assert bound.__self__ is counter
    assert bound == counter.total != other.total
    Counter.of_two = functools.partialmethod(Counter.total, np.ones(2))  # type: ignore[attr-defined]
    assert counter.of_two() == 3.0  # type: ignore[attr-defined]
    assert Counter.total.__get__(counter)(np.ones(2)) == 3.0
    assert Counter.total.__get__(None, Counter) is Counter.total
    with pytest.raises(TypeError):
        Fused.__get__(len, counter)  # type: ignore[arg-type]
    references = sys.getrefcount(counter)
    for _ in range(1000):
        counter.total  # noqa: B018
    assert sys.getrefcount(counter) == references


ENDLESS = """
import sys
from transpile import fuse
from targets.abi.trampoline import trampoline

assert trampoline(None)

@fuse(on_reject="silent")
def even(n):
    return odd(n + 1)

@fuse(on_reject="silent")
def odd(n):
    return even(n + 1)

class Walk:
    @fuse(on_reject="silent")
    def step(self, n):
        return [self.step(n + 1) for _ in range(1)]

sys.setrecursionlimit(1_000_000)
for call in (even, Walk().step) * 2:
    try:
        call(0)
    except RecursionError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the end of the stack is known on Linux alone")
def test_a_recursion_ends_before_the_stack_does(tmp_path: Path) -> None:
    path = tmp_path / "endless.py"
    path.write_text(ENDLESS)
    shown = run_program("-W", "ignore", path, timeout=240.0, start_python=True).stdout
    lines = shown.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("maximum recursion depth exceeded") for line in lines)
