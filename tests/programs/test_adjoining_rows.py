"""Rows that adjoin run as one (`adjoining_rows`): Python's answers for every layout and shape."""
from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from example_counts import hurried_flags, with_flags

from targets.abi import thread_pool
from targets.isa.target_registry import runnable_targets
from transpile import fuse


def scaled(a, b):
    return a * 2 + b


def in_place(a, b):
    a += b


def into(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = b[i, j] - a[i, j]


def by_columns(a, b):
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = b[i, j] * 3


def masked(a, b):
    a[b > 1] = 2
    return a


def largest(a, b):
    return abs(np.max(a)), abs(b.min())  # NumPy may take either zero


def first_largest(a, b):
    m = a[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > m:
                m = a[i, j]
    return m


def smallest_by_min(a, b):
    m = b[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = min(m, a[i, j])
    return m


def last_smallest(a, b):
    m = b[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = min(a[i, j], m)
    return m


def last_largest_of_negatives(a, b):
    m = -b[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = max(-a[i, j], m)
    return m


def numpys_smallest(a, b):
    m = b[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = np.minimum(m, a[i, j])
    return m


def first_and_last(a, b):
    low, high = a[0, 0], a[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] < low:
                low = a[i, j]
            high = max(a[i, j], high)
    return low, high


def minus_row(a, b):
    c = b[0] * 2
    return a - c


def minus_row_in_place(a, b):
    c = b[-1] + 1
    d = b[0] * c
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = (a[i, j] - c[j]) * d[j]


def minus_its_own_row(a, b):
    a -= a[0]


def largest_of_difference(a, b):
    c = b[0] * 1
    m = a[0, 0] - c[0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = max(m, a[i, j] - c[j])
    return m


def row_before(a, b):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i - 1, j] + b[i, j]


def other_row(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = b[0, j] + a[i, j]


def row_number(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] + i


def half_rows(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] // 2):
            a[i, j] = b[i, j]


def from_second(a, b):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = b[i, j] + b[i, j]


def row_maxima(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        m = a[i, 0]
        for j in range(a.shape[1]):
            m = max(m, a[i, j])
        s += m
    return s


def raised(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 100 // int(b[i, j])


def length_is_a_value(a, b):
    n = a.shape[1]
    for i in range(a.shape[0]):
        for j in range(n):
            a[i, j] = b[i, j] + n


def normalised(a, b):
    c = np.abs(a)  # has no -0.0
    m = c.max()
    return (c - c.min()) / (m - c.min() + 1), np.abs(c - b).max()


PROGRAMS = [
    last_smallest, last_largest_of_negatives, numpys_smallest, first_and_last,
    minus_row, minus_row_in_place, minus_its_own_row, largest_of_difference,
    scaled, in_place, into, by_columns, masked, largest, first_largest, smallest_by_min, row_before,
    other_row, row_number, half_rows, from_second, row_maxima, raised, length_is_a_value,
    normalised,
]

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x.copy(),
    "columns left out": lambda x: np.repeat(x, 2, axis=1)[:, : x.shape[1]],
    "rows left out": lambda x: np.repeat(x, 2, axis=0)[::2],
    "fortran": np.asfortranarray,
    "upside down": lambda x: x[::-1].copy()[::-1],
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[:, ::-1].copy()[:, ::-1],
    "one row again": lambda x: np.lib.stride_tricks.as_strided(x.copy(), x.shape, (0, x.itemsize)),
}
SHAPES = ((1, 1), (1, 7), (40, 1), (500, 2), (13, 3), (70, 5), (9, 33), (3, 70))


def arrays(shape: tuple[int, int], dtype: str, layouts: tuple[str, str]) -> tuple[Any, Any]:
    """Two arrays of these layouts; the first one with zeros of both signs, and NaN or inf."""
    rng = np.random.default_rng(7)
    x, y = rng.integers(0, 5, shape).astype(dtype), rng.integers(0, 3, shape).astype(dtype)
    if dtype[0] == "f":
        x.ravel()[::5] = -0.0
        x.ravel()[3::7] = np.inf if shape[1] % 2 else np.nan
    return LAYOUTS[layouts[0]](x), LAYOUTS[layouts[1]](y)


@pytest.fixture(autouse=True)
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls and chunks are due after few rows."""
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", *hurried_flags()))


def result(f: Callable[..., Any], a: Any, b: Any) -> Any:
    """What `f` gives, or its exception, and the elements of both arrays after it."""
    with np.errstate(all="ignore"):
        try:
            value = f(a, b)
        except (ZeroDivisionError, OverflowError) as error:
            value = str(error)
    values = value if isinstance(value, tuple) else (value,)
    return [bits(x) if x is not None else None for x in (*values, a, b)]


def bits(x: Any) -> Any:
    """The bits of `x` and its dtype, all NaNs alike."""
    x = np.array(x)
    if x.dtype.kind != "f":
        return x.dtype, x.tobytes()
    x = np.where(np.isnan(x), np.nan, x)
    return x.dtype, x.tobytes()


@pytest.mark.share(4, each="f")
@pytest.mark.parametrize("target", [t.name for t in runnable_targets() if t.bits])
@pytest.mark.parametrize("f", PROGRAMS)
def test_every_layout_has_pythons_answer(f: Callable[..., Any], target: str) -> None:
    reads_only = f.__name__.startswith(("first", "last", "large", "numpys", "small", "scaled"))
    compiled = fuse(f, target=target)
    for dtype, shape in product(("f8", "f4", "i8", "u1"), SHAPES):
        for layouts in product(LAYOUTS, ("contiguous", "columns left out")):
            if layouts[0] == "one row again" and not reads_only:
                continue  # its rows are in one place
            want = result(f, *arrays(shape, dtype, layouts))
            for threads in (1, 3):
                with thread_pool.forced(threads):
                    got = result(compiled, *arrays(shape, dtype, layouts))
                assert got == want, (dtype, shape, layouts, threads)


def test_rows_of_contiguous_arrays_run_as_one() -> None:
    """The text of the kernel compares strides; of what must not, it does not."""
    a, b = np.ones((20, 3)), np.ones((20, 3))
    for f in (scaled, in_place, into, largest, first_largest, from_second):
        assert "most_rows" in fuse(f).emit("c", a, b), f.__name__
    for f in (minus_row, minus_row_in_place):
        assert "repeated" in fuse(f).emit("c", a, b), f.__name__
    for f in (row_before, other_row, row_number, row_maxima):
        assert "most_rows" not in fuse(f).emit("c", a, b), f.__name__


def last_largest(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] >= m:
                m = a[i, j]
    return m


def last_smallest(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] <= m:
                m = a[i, j]
    return m


def first_above(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > m:
                m = a[i, j]
    return m


def new_after_nan(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = max(a[i, j], m)
    return m


def both_after_nan(a, m):
    low = m
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = max(m, a[i, j])
            low = min(a[i, j], low)
    return m, low


def unless_above(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if not (m > a[i, j]):
                m = a[i, j]
    return m


def by_maximum(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = np.maximum(m, a[i, j])
    return m


def root_after_row(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = max(m, a[i, j])
        m = np.sqrt(m)
    return m


def one_more_after_row(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            m = max(m, a[i, j])
        m = np.float64(m) + 1.0
    return m


EXTREMA = [
    last_largest, last_smallest, first_above, new_after_nan, both_after_nan, unless_above,
    by_maximum, root_after_row, one_more_after_row,
]
VALUES = ((0.0, -0.0), (0.0, -0.0, -1.0, 1.0), (np.nan, 1, 2, 3), (np.nan, -0.0, 0.0), (np.nan,),
          (np.nan, -np.inf, np.inf), (-np.inf,))


@pytest.mark.parametrize("f", EXTREMA)
def test_extrema_keep_the_zero_and_the_nan_that_python_keeps(f: Callable[..., Any]) -> None:
    """Also over several blocks of rows."""
    rng = np.random.default_rng(5)
    compiled = fuse(f)
    starts = (0.0, -0.0, np.nan, -np.inf, 1.0)
    shapes = ((0, 3), (5, 3), (17, 2), (40, 3), (9, 1), (70, 9), (9, 40))
    for values, shape, start in product(VALUES, shapes, starts):
        common = np.full(shape, float(values[-1]))
        common.ravel()[:3] = values[0]
        for a in (rng.choice(np.array(values), shape), common, common[::-1].copy()):
            with np.errstate(all="ignore"):
                want = repr(f(a, np.float64(start)))
                for threads in (1, 3):
                    with thread_pool.forced(threads):
                        got = repr(compiled(a, np.float64(start)))
                    assert got == want, (values, shape, start, threads)
