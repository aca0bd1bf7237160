"""Spellings of recurrences: running sums and extrema, windows, filters, dynamic programming."""
# ruff: noqa: B905, SIM108, RUF007 (functions as people write them)
from __future__ import annotations

import itertools

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def running_sum_accumulator(x):
    out = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        out[i] = s
    return out


def running_sum_enumerate(x):
    out = np.empty(len(x))
    s = 0
    for i, v in enumerate(x):
        s = s + v
        out[i] = s
    return out


def running_sum_previous(x):
    out = np.empty(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = out[i - 1] + x[i]
    return out


def running_sum_in_place(x):
    out = x.copy()
    for i in range(1, len(out)):
        out[i] += out[i - 1]
    return out


def running_sum_append(x):
    out, s = [], 0.0
    for v in x:
        s += v
        out.append(s)
    return np.array(out)


def running_sum_while(x):
    out = np.zeros(len(x))
    s, i = 0.0, 0
    while i < len(x):
        s += x[i]
        out[i] = s
        i += 1
    return out


def running_sum_cumsum(x):
    return np.cumsum(x)


def running_sum_accumulate(x):
    return np.array(list(itertools.accumulate(x)))


def smoothing_weights(x, a):
    out = np.empty(len(x))
    s = x[0]
    for i in range(len(x)):
        s = a * x[i] + (1 - a) * s
        out[i] = s
    return out


def smoothing_previous(x, a):
    out = np.empty(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = a * x[i] + (1 - a) * out[i - 1]
    return out


def smoothing_weight_name(x, a):
    b = 1.0 - a
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] * b + x[i] * a
    return out


def smoothing_append(x, a):
    out = [x[0]]
    for v in x[1:]:
        out.append(a * v + (1 - a) * out[-1])
    return np.array(out)


def running_minimum_if(x):
    out = np.empty(len(x))
    m = x[0]
    for i in range(len(x)):
        if x[i] < m:
            m = x[i]
        out[i] = m
    return out


def running_minimum_builtin(x):
    out = np.empty(len(x))
    m = x[0]
    for i, v in enumerate(x):
        m = min(m, v)
        out[i] = m
    return out


def running_minimum_previous(x):
    out = np.empty(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = min(out[i - 1], x[i])
    return out


def running_minimum_previous_conditional(x):
    out = np.empty(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = x[i] if x[i] < out[i - 1] else out[i - 1]
    return out


def running_minimum_append(x):
    out = []
    m = x[0]
    for v in x:
        m = v if v < m else m
        out.append(m)
    return np.array(out)


def drawdown_ifs(x):
    peak, worst = x[0], 0.0
    for v in x:
        if v > peak:
            peak = v
        if peak - v > worst:
            worst = peak - v
    return worst


def drawdown_builtin(x):
    peak, worst = x[0], 0.0
    for v in x:
        peak = max(peak, v)
        worst = max(worst, peak - v)
    return worst


def drawdown_elif(x):
    peak, worst = x[0], 0.0
    for i in range(1, len(x)):
        if x[i] > peak:
            peak = x[i]
        elif peak - x[i] > worst:
            worst = peak - x[i]
    return worst


def drawdown_two_loops(x):
    peaks = np.empty(len(x))
    peak = x[0]
    for i in range(len(x)):
        peak = max(peak, x[i])
        peaks[i] = peak
    worst = 0.0
    for i in range(len(x)):
        worst = max(worst, peaks[i] - x[i])
    return worst


def best_stretch_builtin(x):
    best = here = 0.0
    for v in x:
        here = max(0.0, here + v)
        best = max(best, here)
    return best


def best_stretch_ifs(x):
    best, here = 0.0, 0.0
    for i in range(len(x)):
        here += x[i]
        if here < 0.0:
            here = 0.0
        if here > best:
            best = here
    return best


def best_stretch_conditional(x):
    best = here = 0.0
    for v in x:
        here = here + v if here + v > 0.0 else 0.0
        best = here if here > best else best
    return best


def best_stretch_else(x):
    best, here = 0.0, 0.0
    for v in x:
        if here + v > 0.0:
            here = here + v
        else:
            here = 0.0
        best = max(here, best)
    return best


def window_means_inner_loop(x, w):
    n = len(x) - w + 1
    out = np.empty(n)
    for i in range(n):
        s = 0.0
        for k in range(w):
            s += x[i + k]
        out[i] = s / w
    return out


def window_means_builtin_sum(x, w):
    n = len(x) - w + 1
    out = np.empty(n)
    for i in range(n):
        out[i] = sum(x[i : i + w]) / w
    return out


def window_means_slice_mean(x, w):
    n = len(x) - w + 1
    out = np.empty(n)
    for i in range(n):
        out[i] = x[i : i + w].mean()
    return out


def window_means_comprehension(x, w):
    return np.array([sum(x[i : i + w]) / w for i in range(len(x) - w + 1)])


def window_means_convolve(x, w):
    return np.convolve(x, np.ones(w) / w, "valid")


def window_means_shifted_sums(x, w):
    n = len(x) - w + 1
    out = np.zeros(n)
    for k in range(w):
        out += x[k : k + n]
    return out / w


def differences_range(x):
    out = np.empty(len(x) - 1)
    for i in range(len(x) - 1):
        out[i] = x[i + 1] - x[i]
    return out


def differences_from_one(x):
    out = np.empty(len(x) - 1)
    for i in range(1, len(x)):
        out[i - 1] = x[i] - x[i - 1]
    return out


def differences_previous(x):
    out = np.empty(len(x) - 1)
    before = x[0]
    for i in range(1, len(x)):
        out[i - 1] = x[i] - before
        before = x[i]
    return out


def differences_zip(x):
    return np.array([b - a for a, b in zip(x, x[1:])])


def differences_slices(x):
    return x[1:] - x[:-1]


def differences_diff(x):
    return np.diff(x)


def changes_range(a):
    c = 0
    for i in range(1, len(a)):
        if a[i] != a[i - 1]:
            c += 1
    return c


def changes_previous(a):
    c, before = 0, a[0]
    for v in a:
        if v != before:
            c += 1
            before = v
    return c


def changes_always_previous(a):
    c, before = 0, a[0]
    for v in a:
        c += v != before
        before = v
    return c


def changes_zip(a):
    return sum(1 for v, u in zip(a, a[1:]) if v != u)


def changes_whole(a):
    return np.count_nonzero(a[1:] != a[:-1])


def changes_diff(a):
    return np.sum(np.diff(a) != 0)


def longest_run_else(x, t):
    best = run = 0
    for v in x:
        if v > t:
            run += 1
            best = max(best, run)
        else:
            run = 0
    return best


def longest_run_conditional(x, t):
    best = run = 0
    for v in x:
        run = run + 1 if v > t else 0
        best = run if run > best else best
    return best


def longest_run_product(x, t):
    best = run = 0
    for v in x:
        run = (run + 1) * (v > t)
        best = max(best, run)
    return best


def longest_run_ifs(x, t):
    best, run = 0, 0
    for i in range(len(x)):
        if x[i] <= t:
            run = 0
            continue
        run += 1
        if run > best:
            best = run
    return best


def smoothing_of_known_isnan(x, a):
    out = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        if not np.isnan(x[i]):
            s = a * x[i] + (1 - a) * s
        out[i] = s
    return out


def smoothing_of_known_ne(x, a):
    out = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        v = x[i]
        if v == v:
            s = a * v + (1 - a) * s
        out[i] = s
    return out


def smoothing_of_known_cond(x, a):
    out = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        s = s if x[i] != x[i] else a * x[i] + (1 - a) * s
        out[i] = s
    return out


def smoothing_of_known_continue(x, a):
    out = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        if np.isnan(x[i]):
            out[i] = s
            continue
        s = a * x[i] + (1 - a) * s
        out[i] = s
    return out


def smoothing_of_known_prev(x, a):
    out = np.zeros(len(x) + 1)
    for i in range(len(x)):
        if np.isnan(x[i]):
            out[i + 1] = out[i]
        else:
            out[i + 1] = a * x[i] + (1 - a) * out[i]
    return out[1:]


IDIOMS = idioms_of(globals(), (
    Row("running_sum", 20_000, lambda n, r: (r.random(n),)),
    Row("smoothing", 20_000, lambda n, r: (r.random(n), 0.3)),
    Row("running_minimum", 20_000, lambda n, r: (r.random(n),)),
    Row("drawdown", 20_000, lambda n, r: (r.random(n),)),
    Row("best_stretch", 20_000, lambda n, r: (r.random(n) - 0.5,)),
    Row("window_means", 10_000, lambda n, r: (r.random(n), 8)),
    Row("differences", 20_000, lambda n, r: (r.random(n),)),
    Row("changes", 20_000, lambda n, r: (r.integers(0, 3, n),)),
    Row("longest_run", 20_000, lambda n, r: (r.random(n), 0.2)),
    Row("smoothing_of_known", 20_000, lambda n, r: (np.where(r.random(n) < 0.1, np.nan, 0.5), 0.1)),
))
