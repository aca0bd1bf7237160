"""Programs whose loops carry something: places of extrema, running folds."""
from __future__ import annotations

import numpy as np

from .programs import F32, F64, one, program, real, two, whole, wild


def tripled(fill, *more):
    """One array of 3 n elements: several blocks of a search at the largest size."""
    return lambda n, rng: (fill(3 * n, rng, *more),)


@program(
    python_at=(0,),
    f32=tripled(wild, F32),
    i16=tripled(whole, np.int16),
)
def places_of_extrema(x):
    lo = hi = x[0]
    first = last = -1
    total = 0
    for i in range(len(x)):
        total += i
        if x[i] < lo:
            lo = x[i]
            first = i
        if hi <= x[i]:
            hi, last = x[i], i
    return lo, hi, first, last, total


@program(
    python_at=(0,),
    f64=tripled(wild),
    f32=tripled(wild, F32),
    i8=tripled(whole, np.int8),
)
def both_extrema(x):
    lo = hi = x[0]
    for v in x:
        if v > hi:
            hi = v
        elif v < lo:
            lo = v
    first = last = x[-1]
    for v in x:
        if first >= v:
            if v < first:
                first = v
        elif last <= v:
            last = v
    low = high = x[0]
    for v in x:
        if low > v:
            low = v
        elif v >= high:
            high = v
    return lo, hi, first, last, low, high


def ascending(dtype):
    """The numbers from 0 to n - 1, and each of them, and one that is none of them, in any order."""
    return lambda n, rng: (np.arange(n).astype(dtype), rng.permutation(n + 1).astype(dtype))


BLOCKS = (0, 1, 2, 31, 32, 33, 34, 65, 255, 256, 257, 258, 289, 321, 513, 546)
"""Lengths around those of the blocks of a search."""


@program(sizes=BLOCKS, f64=ascending(np.float64), f32=ascending(F32), i16=ascending(np.int16))
def first_hits(x, wanted):
    places = np.zeros(len(wanted), np.int64)
    for k in range(len(wanted)):
        at = -1
        for i in range(len(x)):
            if x[i] >= wanted[k]:
                at = i
                break
        places[k] = at
    return places


@program(sizes=BLOCKS, f64=ascending(np.float64), i32=ascending(np.int32))
def first_hit(x, wanted):
    last = wanted[-1]
    for i in range(len(x)):
        if x[i] == last:
            return i
    return None


def one_or_two(fill, *more):
    """An array, and another one for what is stored, or the same one."""
    def make(n, rng):
        x = fill(n, rng, *more)
        return x, x if rng.random() < 0.5 else np.zeros_like(x)
    return make


LONG = (0, 1, 2, 17, 63, 64, 65, 319, 320, 321, 700)
"""Lengths around those of the blocks that a running extremum may skip."""


@program(
    sizes=LONG, python_at=(0,),
    f64=one_or_two(wild), real=one_or_two(real), f32=one_or_two(wild, F32),
    i64=one_or_two(whole, np.int64), u8=one_or_two(whole, np.uint8),
    rising=lambda n, rng: (np.arange(n, dtype=np.int32), np.zeros(n, np.int32)),
)
def running_maximum(x, out):
    m = x[0]
    for i in range(len(x)):
        if x[i] > m:
            m = x[i]
        out[i] = m
    return m


@program(sizes=LONG, python_at=(0,), f64=one_or_two(wild), real=one_or_two(real))
def drawdown(x, out):
    peak = x[0]
    worst = 0.0
    since = 0
    for i in range(len(x)):
        if x[i] >= peak:
            peak, since = x[i], i
        out[i] = peak - x[i]
        worst = max(worst, out[i] / 2)
    return peak, worst, since


@program(
    sizes=LONG, python_at=(0,),
    f64=tripled(wild), f32=tripled(wild, F32), i16=tripled(whole, np.int16),
)
def accumulated_extrema(x):
    return np.maximum.accumulate(x), np.minimum.accumulate(x)


@program(f64=lambda n, rng: (wild(n, rng), *rng.choice([np.nan, -np.inf, 0.0, 1.0, np.inf], 2)))
def extrema_that_start_apart(x, lo, hi):
    for v in x:
        if v > hi:
            hi = v
        elif v < lo:
            lo = v
    return lo, hi


@program(f64=lambda n, rng: (wild(3 * n, rng), wild(3 * n, rng), rng.random(3 * n) < 0.1))
def nearest_of_some(x, y, on):
    best = float("inf")
    latest = best
    k = j = -1
    v = 0.0
    for i in range(len(x)):
        d = abs(x[i] - 0.5)
        if on[i] and d < best:
            best, k, v = d, i, y[i]
        if on[i] and y[i] <= latest:
            latest, j = y[i], i
    return best, k, v, latest, j


# -- running folds


def halves(n, rng, dtype=np.float64):
    """Zeros of both signs and whole numbers, now and then nothing to add to: sums are exact."""
    odd = np.array([np.nan, np.inf, -np.inf])
    x = rng.choice(np.array([0.0, -0.0, 1.0, -2.0, 8.0, 1024.0]), n)
    return np.where(rng.random(n) < rng.choice([0, 0.01]), rng.choice(odd, n), x).astype(dtype)


def into(fill, *more):
    """An array, and another for what comes of it."""
    return lambda n, rng: ((x := fill(n, rng, *more)), np.zeros_like(x))


@program(f32=into(halves, F32))
def running_sums(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        y[i] = total
    up = 1.0
    for i in range(len(x) - 1, -1, -1):
        y[i] = y[i] + up
        if x[i] > 0:
            up = up + x[i] / 2
    return total, up


@program(python_at=(0,), f64=into(halves))
def running_extrema(x, y):
    low = x[0]
    least = x[0]
    seen = 0
    for i in range(len(x)):
        low = min(low, x[i])
        least = np.minimum(least, x[i])
        if x[i] != 0:
            seen += 1
        y[i] = low + least * seen
    return low, least, seen


@program(same=lambda n, rng: (lambda x: (x, x))(whole(n, rng, np.int32)))
def exclusive_sums(x, y):
    s = 0
    products = 1
    for i in range(len(x)):
        v = x[i]
        y[i] = s
        s += v
        products = products * (1 - v % 2 * 2)
        s += products
    return s, products


@program(
    f32=lambda n, rng: (halves(n + 1, rng, F32), np.zeros(n + 1, F32)),
)
def from_the_element_before(x, y):
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]
    for i in range(1, len(x)):
        x[i] += x[i - 1]
    for i in range(len(x) - 2, -1, -1):
        x[i] = max(x[i + 1], x[i])
    for i in range(1, len(x)):
        y[i] = 2 - y[i - 1]
    return y


@program(f64=one(whole), wild=one(wild), f32=one(real, F32, 1.0, 2.0))
def largest_drop(x):
    high = 1.0
    worst = 0.0
    for v in x:
        high = max(high, v)
        worst = max(worst, v - high)
    return worst, high


# -- recurrences: positive, so that their rounding errors stay small


def levels(dtype=F64):
    return lambda n, rng: (real(n + 1, rng, dtype, 0.1, 2.0), real(n + 1, rng, dtype, 0.0, 1.2))


@program(ulps=64, f64=levels(), f32=levels(F32))
def smoothed(x, w):
    fast = slow = x[0]
    worth = w[0]
    for i in range(len(x)):
        fast = 0.25 * x[i] + 0.75 * fast
        before = slow
        if x[i] < 1:
            slow = slow * w[i] + x[i]
        worth = x[i] + worth * 0.5
        x[i] = fast + before
    return fast, slow, worth


@program(ulps=64, f64=levels(), f32=levels(F32))
def decaying(x, w):
    for i in range(1, len(x)):
        w[i] = w[i - 1] * x[i] + w[i]
    for i in range(len(x) - 2, -1, -1):
        x[i] += x[i + 1] * 0.5
    return w


@program(f64=lambda n, rng: (rng.random(n) < 0.7, halves(n, rng), np.zeros(n)))
def sums_of_stretches(on, x, y):
    s = 0.0
    for i in range(len(x)):
        s = s * on[i] + x[i]
        y[i] = s


# -- as NumPy says them


@program(f32=one(halves, F32), i8=one(whole, np.int8), bool=lambda n, rng: (rng.random(n) < 0.5,))
def cumulative(x):
    y = np.cumsum(x)
    z = (x * 0 - 1).cumprod(axis=0) + np.add.accumulate(x[::-1])
    return y, z, np.multiply.accumulate(x > 0)


@program(
    python_at=(0,), f64=two(wild), u16=lambda n, rng: (whole(n, rng, np.uint16, 0), real(n, rng))
)
def cumulative_extrema(x, y):
    return np.maximum.accumulate(x), np.minimum.accumulate(x - y) + np.cumsum(y > 0)


@program(
    python_at=(0,), f64=tripled(wild), f32=tripled(whole, F32), i32=tripled(whole, np.int32),
    bool=lambda n, rng: (rng.random(n) < 0.5,),
)
def places_by_name(x):
    i = np.argmin(x)
    nearest = np.argmax(abs(np.cumsum(x) - 3)) + 1
    return i, x[x.argmax(axis=-1)], nearest


# -- histograms


def bins(dtype, counts, low, high, top=0):
    """Subscripts of 16 elements, which hold at most `top`."""
    return lambda n, rng: (
        rng.integers(low, high, n).astype(dtype),
        whole(n, rng),
        rng.integers(0, top + 1, 16).astype(counts),
    )


@program(
    u8=bins(np.uint8, np.int64, 0, 16),
    i32=bins(np.int32, np.int32, -16, 16),
    f64=bins(np.int64, F64, -16, 16),
    full=bins(np.int16, np.int8, 0, 16, 127),
    bytes=bins(np.uint8, np.uint8, 0, 16, 240),
)
def histogram(b, w, h):
    for i in range(len(b)):
        h[b[i]] += 1
    return h[-1]


def costs(dtype):
    return lambda n, rng: (rng.integers(-9, 9, (5, n)).astype(dtype), n)


@program(python_at=(0,), f64=costs(np.float64), i32=costs(np.int32), u8=costs(np.uint8))
def cheapest_path(a, n):
    row = np.zeros(n, a.dtype)
    seen = [0.5] * n
    for i in range(len(a)):
        row[0] += a[i, 0]
        for j in range(1, n):
            if row[j - 1] < row[j]:
                row[j] = row[j - 1]
                seen[j] = seen[j - 1]
            row[j] += a[i, j]
            seen[j] = seen[j] + a[i, j]
            if a[i, j] > 3:
                row[j] = a[i, j]
            row[j] = row[j] // 2
    return row, seen[-1], sum(seen)


@program(f64=bins(np.int64, np.int64, -16, 16), full=bins(np.int16, np.int8, 0, 16, 126))
def guarded_histogram(b, w, h):
    missed = 0
    for i in range(len(b)):
        k = int(w[i] * b[i])
        if 0 <= k < len(h):
            h[k] += 1
        elif -4 < k < 0:
            h[k] -= 1
        else:
            missed += 1
    return missed


@program(f32=bins(np.int8, F32, -16, 16), f64=bins(np.uint16, F64, 0, 16))
def weights_by_bin(b, w, h):
    for i in range(len(b)):
        h[b[i]] += w[i]


def outside(dtype, value):
    """Subscripts of which the last is outside."""

    def make(n, rng):
        b, w, h = bins(dtype, np.int64, 0, 16)(n, rng)
        b[-1:] = value
        return b, w, h

    return make


@program(
    python_at=(1, 33, 1000),
    sizes=(0, 1, 33, 1000),
    above=outside(np.int32, 16),
    below=outside(np.int8, -17),
    u8=outside(np.uint8, 255),
    i64=outside(np.int64, -(2**63)),
)
def bins_outside(b, w, h):
    for i in range(len(b)):
        h[b[i]] += 2


@program(
    i16=lambda n, rng: (
        rng.integers(-3, 3, n), rng.integers(0, 4, n).astype(np.int8), rng.random(n) < 0.5,
        rng.integers(32760, 32764, (3, 4)).astype(np.int16), np.zeros(1, np.int32),
    ),
)
def counts_of_pairs(a, b, on, h, twice):
    last = 0
    for i in range(len(a)):
        last = h[a[i], b[i]]
        h[a[i], b[i]] += 1
        if on[i]:
            twice[0] += 3
            h[a[i], b[i]] += 2
    return last


@program(i64=lambda n, rng: (rng.integers(-100, 100, (n, 3)), np.zeros((8, 3), np.int64)))
def bins_of_rows(b, h):
    for i in range(len(b)):
        for j in range(b.shape[1]):
            if b[i, j] >= 0:
                h[b[i, j] >> 4, j] += b[i, j]


@program(
    down=lambda n, rng: (rng.choice([np.nan, 0.0, -0.0, -1.0], n),),
    up=lambda n, rng: (rng.choice([np.nan, 0.0, -0.0, 1.0], n).astype(F32),),
    sizes=(0, 1, 2, 9, 33, 64, 1000),
)
def extrema_from_zero(x):
    """Each zero is the one that it started as; the highest so far is seen on the way."""
    top, bottom, peak, deepest = -0.0, 0.0, -0.0, 0.0
    for v in x:
        if v > peak:
            peak = v
        deepest = max(deepest, peak - v)
        top = max(top, v)
        bottom = min(bottom, v)
    return top, bottom, deepest


@program(
    python_at=(0,), wild=one(wild), f64=one(real), f32=one(real, F32), i64=one(whole, np.int64),
)
def falls_where_nothing_rises(x):
    """Extrema on one path of a branch alone, and whether they are Python's number still."""
    peak, deepest, least = x[0], 0.0, 7
    for v in x:
        if v > peak:
            peak = v
        elif peak - v > deepest:
            deepest = peak - v
        elif v < least:
            least = v
    return peak, deepest, least


@program(
    python_at=(0,), wild=tripled(wild), f32=tripled(wild, F32), i16=tripled(whole, np.int16),
)
def places_by_conditional_expressions(x):
    top = low = x[0]
    first = last = 0
    for i in range(len(x)):
        first = i if x[i] > top else first
        top = x[i] if x[i] > top else top
        last = i if x[i] <= low else last
        low = x[i] if x[i] <= low else low
    return first, last, top, low


@program(f64=one(whole), f32=one(whole, F32), wild=one(wild), i64=one(whole, np.int64))
def folds_from_the_end(x):
    s, t, count, i = 0.0, 0.0, 0, len(x)
    while i > 0:
        i -= 1
        s += x[i] * i
    for k in range(len(x) - 1, -1, -1):
        count += x[k] > 0
    for v in x[::-1]:
        t = max(t, v)
    return s, count, t


@program(
    sizes=LONG, f64=one(wild), f32=one(wild, F32), i64=one(whole, np.int64), u8=one(whole, np.uint8)
)
def extrema_in_a_copy(x):
    a, b = x.copy(), x.copy()
    for i in range(1, len(a)):
        if a[i] < a[i - 1]:
            a[i] = a[i - 1]
    for i in range(len(b) - 1):
        if b[i] > b[i + 1]:
            b[i], b[i + 1] = b[i + 1], b[i]
        if x[i] < x[i + 1]:
            x[i + 1] = x[i]
    return a, b


@program(sizes=LONG, f64=one(wild), f32=one(wild, F32))
def last_known(x):
    out = np.zeros(len(x) + 1, x.dtype)
    for i in range(len(x)):
        if np.isnan(x[i]):
            out[i + 1] = out[i]
        else:
            out[i + 1] = x[i]
    return out


@program(
    sizes=LONG, python_at=(0,), f64=two(wild), real=two(real), f32=two(wild, F32),
    i64=two(whole, np.int64),
)
def extrema_of_several(x, y):
    low, high = y[0], 0.0
    for i in range(len(x)):
        low = min(low, x[i], y[i], 7.0)
        high = max(max(high, x[i]), -y[i])
    return low, high
