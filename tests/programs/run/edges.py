"""Programs that ask whether a neighbour is inside before they read or write it."""
# ruff: noqa: SIM102 (programs as people write them)
from __future__ import annotations

import numpy as np

from .nests import TALL, WIDE, shaped
from .programs import F32, Rng, program, whole

FEW = (0, 1, 2, 3, 9, 17, 65)


@program(
    sizes=FEW,
    f64=lambda n, rng: (whole(n, rng), whole(5, rng), np.zeros(n)),
    f32=lambda n, rng: (whole(n, rng, F32), whole(4, rng, F32), np.zeros(n, F32)),
)
def padded_with_zeros(x, w, out):
    r = len(w) // 2
    for i in range(len(x)):
        s = 0.0
        for k in range(-r, len(w) - r):
            if 0 <= i + k < len(x):
                s += x[i + k] * w[k + r]
        out[i] = s


@program(
    sizes=FEW,
    short=lambda n, rng: (whole(n, rng), whole(5, rng), np.zeros(n)),
    long=lambda n, rng: (whole(n, rng), whole(40, rng), np.zeros(n)),
)
def filtered(x, h, y):
    for i in range(len(x)):
        s = 0.0
        for k in range(len(h)):
            if i - k >= 0:
                s += h[k] * x[i - k]
        y[i] = s


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng), whole(n, rng), np.zeros(max(0, 2 * n - 1))))
def correlated(x, y, out):
    n = len(x)
    for lag in range(-n + 1, n):
        s = 0.0
        for i in range(n):
            if i + lag >= 0 and i + lag < n:
                s += x[i + lag] * y[i]
        out[lag + n - 1] = s


def image(n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """An image, small weights, and room for what comes of them."""
    x, out = shaped((TALL, WIDE), (TALL, WIDE), dtype=np.int32)(n, rng)
    return x, whole(9, rng, np.int32).reshape(3, 3), out


@program(sizes=FEW, i32=image)
def neighbours_that_there_are(x, w, out):
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            s = 0
            for p in range(-1, 2):
                for q in range(-1, 2):
                    ii, jj = i + p, j + q
                    if ii < 0 or ii >= n or jj < 0 or jj >= m:
                        continue
                    s += int(x[ii, jj]) * int(w[p + 1, q + 1])
            out[i, j] = s


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng), np.zeros(n)))
def zero_beyond_the_ends(x, out):
    for i in range(len(x)):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < len(x) - 1 else 0.0
        out[i] = left + right - 2 * x[i]


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng), np.zeros(n)))
def ends_as_they_are(x, out):
    for i in range(len(x)):
        if i == 0 or i == len(x) - 1:
            out[i] = x[i]
        else:
            out[i] = x[i - 1] + x[i] + x[i + 1]


@program(
    sizes=FEW,
    f64=lambda n, rng: (whole(n, rng), whole(n + 3, rng), 2),
    back=lambda n, rng: (whole(n, rng), whole(max(1, n - 3), rng), -2),
)
def shifted_overlap(x, y, k):
    s = 0.0
    for i in range(len(x)):
        j = i + k
        if j >= 0 and j < len(y):
            s += x[i] * y[j]
        else:
            s -= x[i]
    return s


@program(sizes=FEW, i64=lambda n, rng: (whole(n, rng, np.int64), whole(n + 1, rng, np.int64), 3))
def written_if_inside(x, out, k):
    for i in range(len(x)):
        if 0 <= i - k < len(out):
            out[i - k] = x[i]


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng), 0.5))
def followed_by_three(x, t):
    count = 0
    for i in range(len(x)):
        if i + 3 < len(x):
            if x[i] > t:
                for j in range(3):
                    count += x[i + j + 1] > x[i]
    return count


@program(sizes=FEW, f64=lambda n, rng: (whole(3 * n, rng).reshape(n, 3), np.zeros((n, 2))))
def sums_over_the_others(x, out):
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                out[i, 0] += x[j, 0] - x[i, 1]
                out[i, 1] += x[j, 2] * x[i, 0]


@program(
    sizes=FEW,
    f64=lambda n, rng: (whole(n, rng), n - 1, np.zeros(n)),
    i32=lambda n, rng: (whole(n, rng, np.int32), n - 1, np.zeros(n)),
    inner=lambda n, rng: (whole(n + 4, rng), n // 2, np.zeros(n)),
    strided=lambda n, rng: (whole(2 * n, rng)[::2], n - 1, np.zeros(n)),
)
def clamped_to_the_ends(x, last, out):
    """Clamps of either order, by names and not, forward and backward, by one and by more."""
    for i in range(len(out)):
        before = max(i - 1, 0)
        after = min(max(0, i + 3), last)
        out[i] = x[min(before, last)] - 2 * x[after] + x[max(min(last, i + 1), 0)]
    for i in range(len(out)):
        out[i] += x[min(last, max(len(out) - 1 - i, 0))] * x[max(0, min(2 * i, last))]


@program(
    sizes=FEW,
    f64=lambda n, rng: (whole(n + 9, rng)[:n], 4, np.zeros(n)),
    low=lambda n, rng: (whole(n + 9, rng)[:n], -2, np.zeros(n)),
    far=lambda n, rng: (whole(n + 9, rng)[:n], n + 3, np.zeros(n)),
)
def clamped_to_limits_that_cross(x, low, out):
    """The upper limit holds where the lower one is above it; behind `x` there are other items."""
    n = len(x)
    for i in range(n):
        out[i] = x[min(max(i, 3), n - 1)] + 2 * x[min(max(i, 5), n - 1)]
    for i in range(n):
        left, right = max(i - 1, low), max(i + 1, low + 1)
        out[i] += x[min(left, n - 1)] + 3 * x[min(right, n - 1)]
    for i in range(n):
        out[i] -= x[max(min(i + 1, n - 1), 0)] * x[max(min(i, n - 1 - abs(low)), 0)]


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng),))
def smoothed_in_place(x):
    """The element before has been changed, the one behind has not."""
    for i in range(len(x)):
        x[i] = (x[max(i - 1, 0)] + x[i] + x[min(i + 1, len(x) - 1)]) / 4


@program(
    sizes=FEW,
    f64=lambda n, rng: (whole(6 * n, rng).reshape(6, n), np.zeros((6, n))),
    tall=lambda n, rng: (whole(5 * n, rng).reshape(n, 5), np.zeros((n, 5))),
)
def least_around(x, out):
    h, w = x.shape
    for i in range(h):
        for j in range(w):
            least = 1e9
            for di in range(-2, 3):
                for dj in range(-2, 3):
                    p = min(max(i + di, 0), h - 1)
                    q = min(max(j + dj, 0), w - 1)
                    if x[p, q] < least:
                        least = x[p, q]
            out[i, j] = least


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng).tolist(), whole(n, rng), np.zeros(n)))
def clamped_under_a_condition(xs, x, out):
    for i in range(len(out)):
        if x[i] > 0:
            out[i] = x[min(i + 2, len(x) - 1)] + xs[max(i - 2, 0)]
        else:
            out[i] = xs[min(i + 1, len(xs) - 1)] - x[max(i - 1, 0)]


def in_bins(n: int, rng: Rng, *more: float) -> tuple[np.ndarray, int]:
    """Numbers of which most are in [0, 1), and a number of bins."""
    return np.array([*rng.random(max(n - len(more), 0)), *more]), 8


@program(
    sizes=(2, 9, 40), inside=in_bins, one=lambda n, rng: in_bins(n, rng, 1.0),
    below=lambda n, rng: in_bins(n, rng, -0.5, -0.99), far=lambda n, rng: in_bins(n, rng, 1e18),
    least=lambda n, rng: in_bins(n, rng, -1.0), f32=lambda n, rng: (rng.random(n, "f4"), 5),
)
@program(
    sizes=(2, 9, 40), python_at=(2, 9, 40), nan=lambda n, rng: in_bins(n, rng, np.nan),
    none=lambda n, rng: (rng.random(n), 0), low=lambda n, rng: in_bins(n, rng, -1.2),
    huge=lambda n, rng: in_bins(n, rng, 1e300),
)
def counts_in_clamped_bins(x, k):
    counts, both, table = np.zeros(k, np.int64), np.zeros(k, np.int64), np.arange(k) * 2.0
    out = np.zeros(len(x))
    for v in x:
        both[max(0, min(k - 1, int(v * k)))] += 1
    for v in x:
        counts[min(int(v * k), k - 1)] += 1
    for i in range(len(x)):
        out[i] = table[min(int(x[i] * k), k - 1)]
    return counts, both, out


@program(
    sizes=(2, 9, 40), inside=in_bins, below=lambda n, rng: in_bins(n, rng, -0.1),
    f32=lambda n, rng: (rng.random(n, "f4"), 5),
)
@program(
    sizes=(2, 9, 40), python_at=(2, 9, 40), one=lambda n, rng: in_bins(n, rng, 1.0),
    low=lambda n, rng: in_bins(n, rng, -0.5), last=lambda n, rng: in_bins(n, rng, -1.0),
)
def counted_by_bincount(x, k):
    return np.bincount((x * k).astype(np.int64), minlength=k)
