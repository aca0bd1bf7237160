"""Small programs that once went wrong, found by random ones."""
# ruff: noqa: B905 (as people write them)
from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from forked_programs import run_program
from random_cases import Wanted, ran
from written import written

from targets.isa.target_registry import runnable_targets
from transpile import fuse

TARGETS = [t.name for t in runnable_targets()]
EXAMPLES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = []


def example(make: Callable[[], tuple[Any, ...]]) -> Callable[..., Any]:
    """The decorated function must be compiled for these arguments, and do as Python does."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        EXAMPLES.append((function, make))
        return function

    return keep


def numbers(dtype: str = "f8", low: int = -4, high: int = 20) -> np.ndarray:
    return np.arange(low, high).astype(dtype)


@example(lambda: (numbers()[::-1] % 7, numbers() % 5, np.zeros(24)))
def an_element_that_is_loaded_after_the_branch(x, y, out):
    best, total = 0, 0.0
    for i in range(1, x.shape[0]):
        if x[best] < y[i]:
            out[i] = 1.0
            best = i
        v = x[i]
        total += v
        out[i] += v * v
    return best, total


@example(lambda: (numbers(),))
def a_list_under_a_name(x):
    doubled = [v * 2 for v in x]
    return doubled, len(doubled)


@example(lambda: (0b1011010110011, numbers("f8", 1, 9)))
def what_both_arms_store_last_is_read(bits, x):
    m = len(x)
    out = np.full(2 * m, 7.0)
    total = 0.0
    for start, stop in [(0, m), (m, 2 * m)]:
        for i in range(start, stop):
            if bits & 1 == 0:
                out[i] = 0
            else:
                out[i] = x[i - start] * 2
                total += out[i]
            bits = bits >> 1
    return total


@example(lambda: (numbers(),))
def a_filtered_list_under_a_name(x):
    positive = count = [v for v in x if v > 0]
    return positive, len(count)


@example(lambda: (numbers("i4"), numbers("i4", 1, 25)))
def maximum_of_some_quotients(x, y):
    return max(np.ceil(v // y[i]) for i, v in enumerate(x) if x[i])


@example(lambda: (numbers(), 3))
def truth_of_two_types(x, k):
    s = 0.0
    for v in x:
        if (k and v > 0) or v:
            s = s + v
        if np.abs(v) < v + k <= v * v:
            s = s - k
    return s


@example(lambda: (numbers(), np.True_))
def size_of_a_numpy_bool(x, flag):
    for i in range(len(x)):
        x[i] = abs(flag)


@example(lambda: (numbers("i8"), numbers("i1"), numbers() * 2.0**338))
def small_powers(x, y, z):
    squares = [v**2.0 for v in x]
    cubes = [v**3 for v in y]
    return squares, cubes, [v**3 + v**2 for v in z]


@example(lambda: (numbers(),))
def sum_and_list_of_the_rest(x):
    rest = []
    s = 0
    count = 0
    for v in x:
        if v > 3:
            s += v
            count += 1
        else:
            rest.append(v)
    return rest, s, count


@example(lambda: (numbers("i8") * (2**58 + 1),))
def ceiling_of_wide_integers(x):
    return [math.ceil(v) for v in x], [math.floor(v) for v in x], [round(v) for v in x]


@example(lambda: (numbers("f4"), 3))
def functions_of_python_numbers(x, k):
    return [v + np.abs(3) for v in x], [v * np.negative(k) for v in x], [np.abs(k) for _ in x]


@example(lambda: (numbers("i4"), numbers()))
def signs_of_zeros(x, y):
    return [0.0 - float(v) for v in x], [0.0 - abs(v) for v in y]


@example(lambda: (numbers(),))
def rounded_in_half_a_register(x):
    p = 1.0
    s = 0.0
    for v in x:
        p *= np.trunc(np.float32(v))
        s += np.ceil(v * 0.25) / 4
    return p, s


def _kept(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return args, tuple(a for a in args if isinstance(a, np.ndarray))

def table(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(rows).integers(-9, 9, (rows, columns)).astype("f8")


@example(lambda: (table(7, 45), np.zeros(45), np.zeros(45), np.ones(45)))
def means_and_maxima_of_columns(a, mean, top, scale):
    for j in range(a.shape[1]):
        s, m = 0.0, -1.0
        for i in range(a.shape[0]):
            if a[i, j] > 0.0:
                s += a[i, j] * scale[j]
            m = max(m, a[i, j])
        mean[j] = s / a.shape[0]
        top[j] = m


@example(lambda: (np.where(table(9, 40) > 7.0, np.nan, table(9, 40)), np.zeros(40), np.zeros(40)))
def extremes_of_columns(a, low, high):
    for j in range(a.shape[1]):
        lo, hi = 0.0, 1.0
        for i in range(a.shape[0]):
            if a[i, j] < lo:
                lo = a[i, j]
            hi = max(a[i, j], hi)
        low[j] = lo
        high[j] = hi


@example(lambda: (table(0, 5), np.full(5, 3.0)))
def sums_of_empty_columns(a, out):
    for j in range(a.shape[1]):
        s = 1.0
        for i in range(a.shape[0]):
            s += a[i, j]
        out[j] = s


def every_other(x, y, out):
    for i in range(len(x)):
        out[2 * i] = x[i]
        out[2 * i + 1] = y[i]
    for i in range(3, len(out), 3):
        out[i] = out[i] * 2
    for i in range(0, len(x), 2):
        x[i] = y[i] * 3


@example(lambda: (numbers("f8", 1, 20), numbers("f8", 0, 19)))
def an_array_of_numpy_and_python_numbers(x, y):
    return np.array([a / b if b != 0 else 0.0 for a, b in zip(x, y)])


@example(lambda: (numbers("f4"), 2.0))
def an_array_of_another_dtype(x, t):
    kept = [v * 2 for v in x if v > t]
    return np.array(kept, dtype=np.float64), np.asarray([v if v > t else t for v in x], "f4")


@example(lambda: (numbers("i4"),))
def generators_into_an_array(x):
    odd = np.fromiter((v for v in x if v % 2 == 1), dtype=x.dtype)
    return odd, np.fromiter((v / 4 for v in x), dtype=np.float32)


@example(lambda: (numbers(), 2.5))
def lists_of_two_types(x, t):
    held = [v if v > t else t for v in x]
    whole = [v if v > t else 2 for v in x]
    return held, whole


@example(lambda: (numbers(), 2.5))
def what_a_filter_kept(x, t):
    kept = [v for v in x if v > t]
    total = 0.0
    for v in kept:
        total += v * v
    return total, max(kept), min(kept), sum(kept) / len(kept), kept[0]


@example(lambda: (numbers("f8", 5, 25)[::-1].copy(), np.arange(20.0)))
def extrema_of_what_is_then_overwritten(x, y):
    low, high, top = x[0], 0.0, y[0]
    for i in range(len(x)):
        if x[i] < low:
            low = x[i]
        high = y[i] if y[i] > high else high
        top = max(top, y[i])
        x[i] = x[i] - 50
        y[i] = y[i] * 3
    return low, high, top


@example(lambda: (numbers("i4"), numbers("i4", 0, 24), np.zeros(24)))
def counters_beside_the_loop(x, y, out):
    k, back = 0, len(out)
    for a, b in zip(x, y):
        back -= 1
        out[k] = a * b + back
        k += 1
    return k, back


@example(lambda: (np.arange(30.0).reshape(5, 6),))
def a_triangle(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(min(i, x.shape[1])):
            s += x[i, j]
    return [s, x.shape[0]]


@example(lambda: (numbers(), numbers(), 3.0))
def all_of_it_by_hand(x, y, t):
    ok, found = True, False
    for a, b in zip(x, y):
        ok = ok and a <= b
        found = found or a > t
    return ok, found


@example(lambda: (numbers("i1", -50, 77), numbers("u1", 0, 150), numbers("i2", -99, 40)))
def what_is_kept_of_narrow_integers(x, y, z):
    small = np.array([v for v in x if v > 5])
    return small, [v for v in y if v % 3 == 0], np.array([v for v in z if v < 0])


EXAMPLES.extend(
    (every_other, lambda d=dtype: (numbers(d, 0, 39), numbers(d, 1, 40), np.zeros(78, d)))
    for dtype in ("f4", "f8", "i1", "u2", "i4", "u8", "?")
)


@pytest.mark.share(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "make"), EXAMPLES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_python(
    function: Callable[..., Any],
    make: Callable[[], tuple[Any, ...]],
    target: str,
) -> None:
    fused = fuse(function, target=target, on_reject="raise")
    for mode in ("ignore", "warn"):
        wanted = Wanted(ran(function, lambda: _kept(make()), mode), [])
        difference = wanted.difference(ran(fused, lambda: _kept(make()), mode))
        assert difference is None, difference
        assert fused.stats.compiled >= 1, "Python may only answer where it warns"


def _by_branch(x):
    low, high = math.inf, 0.0
    for v in x:
        if v < low:
            low = v
        if high < v:
            high = v
    return low, high


def _by_choice(x):
    low, high = 1024.0, -math.inf
    for i in range(len(x)):
        low = x[i] if x[i] < low else low
        high = x[i] if high < x[i] else high
    return low, high


def _by_builtin(x):
    low, high = float("inf"), x[0]
    for v in x:
        low, high = min(low, v), max(high, v)
    return low, high


@pytest.mark.share(4, each="dtype")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
@pytest.mark.parametrize("function", [_by_branch, _by_choice, _by_builtin])
def test_an_extremum_is_a_fold_however_it_is_written(
    function: Callable[..., Any], dtype: str
) -> None:
    x = numbers(dtype, 3, 60)
    fused = fuse(function, on_reject="raise")
    for given in (x, x[:1], x + x.dtype.type(100)):
        got, wanted = fused(given), function(given)
        assert [(type(v), v) for v in got] == [(type(v), v) for v in wanted]
    assert fused.report(x).vectorized == 1
    assert not fused.stats.replays


def _descents(x, first):
    kept = []
    for i in range(first, len(x)):
        if x[i] < x[i - 1]:
            kept.append(x[i])  # noqa: PERF401 (it is what is tested)
    return kept, [x[i - 1] for i in range(first, len(x))]


def test_room_for_a_list_does_not_depend_on_what_the_user_calls_max() -> None:
    names = {**_descents.__globals__, "max": lambda *a: 0, "min": lambda *a: 0}
    shadowed = FunctionType(_descents.__code__, names)
    x = numbers(low=0, high=2000)[::-1].copy()
    fused = fuse(shadowed, on_reject="raise")
    assert fused(x, 1) == shadowed(x, 1)
    assert fused.stats.compiled == 1


def _visited(a, b, k):
    seen, i = 0, -7
    for i in range(a, b, k):
        seen = seen * 31 + i
    return seen, i, len(range(a, b, k))


def test_a_range_goes_where_python_goes() -> None:
    fused = fuse(_visited, on_reject="raise")
    for a, b, k in itertools.product((-3, 0, 2, 9), (-4, -1, 0, 3, 10), (-5, -2, -1, 1, 2, 3, 7)):
        assert fused(a, b, k) == _visited(a, b, k), (a, b, k)
    assert fused.stats.replays == {}
    with pytest.raises(ValueError, match="must not be zero"):
        fused(0, 3, 0)
    assert fused.stats.replays == {"GUARD_RAISES": 1}


_ON_A_SMALL_STACK = """
import threading
import numpy as np
from transpile import fuse

@fuse(on_reject="raise")
def product(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]

a, c = np.ones((40, 40)), np.zeros((40, 40))
product(a, a, c)
threading.stack_size(64 << 10)
thread = threading.Thread(target=product, args=(a, a, c))
thread.start()
thread.join()
assert (c == 80.0).all() and product.stats.compiled == 2
"""


def test_panels_do_not_need_the_stack_of_a_thread(tmp_path: Path) -> None:
    program = tmp_path / "small_stack.py"
    program.write_text(_ON_A_SMALL_STACK, encoding="utf-8")
    run_program(program)


def test_a_load_follows_the_store_of_an_array_that_may_be_the_same() -> None:
    """Also where the kernel stops at a failed check, before which it makes no stores."""
    def marked(b, c, d):
        s = 0
        for i in range(len(c)):
            c[i] = 1
            d[i] = 2
            s += int(b[i])
        return s

    def rewritten(b, c, d):
        for i in range(len(c)):
            c[i] = 1
            b[i] = int(b[i]) + 2
            d[i] = math.sqrt(b[i])

    for f in (marked, rewritten):
        g = fuse(f)
        for same in ([0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 0, 0], [0, 1, 2]):
            x, y = ([np.arange(k, k + 70) for k in range(3)] for _ in range(2))
            assert g(*(x[k] for k in same)) == f(*(y[k] for k in same)), same
            assert np.array_equal(x, y)
        assert g.stats.compiled >= 2, g.stats


_FAR = (1 << 61, -(1 << 61), 1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63), (1 << 63) - 3)


@pytest.mark.share(45)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("form", ["i + 5 {op} {far}", "i - 5 {op} {far}", "{far} {op} n - i",
                                  "np.int64({far}) {op} np.add(i, 2)", "n + i {op} k"])
@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "==", "!="])
def test_places_are_compared_with_what_is_far(
    form: str, op: str, part: int, tmp_path: Path
) -> None:
    """Where a loop is split lies out of all ints, or of those of 64 bits."""
    for far in _FAR[part::3]:
        asked = form.format(op=op, far=far)
        f = written(tmp_path, (
            f"import numpy as np\ndef f(x, n, k):\n    s = 0.0\n    for i in range(n):\n"
            f"        if {asked}:\n            s += x[i]\n        else:\n            s -= 1.0\n"
            f"    return s\n")).f
        g = fuse(f, on_reject="silent")
        for n in (0, 3, 9):
            assert g(np.arange(9.0), n, far) == f(np.arange(9.0), n, far), (asked, n)
        assert not {"BUILD_FAILED", "LOWER_UNSUPPORTED"} & g.stats.replays.keys(), asked
