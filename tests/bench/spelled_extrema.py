"""Spellings of extrema of vectors, their places, and sums of exponentials relative to them."""
# ruff: noqa: B905 (functions as people write them)
from __future__ import annotations

import functools
import math

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def largest_if(x):
    best = x[0]
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
    return best


def largest_from_infinity(x):
    best = -math.inf
    for v in x:
        if v > best:
            best = v
    return best


def largest_max_of_two(x):
    best = x[0]
    for v in x:
        best = max(best, v)
    return best


def largest_conditional(x):
    best = x[0]
    for v in x:
        best = v if v > best else best
    return best


def largest_np_maximum(x):
    best = x[0]
    for v in x:
        best = np.maximum(best, v)
    return best


def largest_none(x):
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    return best


def largest_builtin(x):
    return max(x)


def largest_reduce(x):
    return functools.reduce(max, x)


def largest_whole(x):
    return np.max(x)


def largest_method(x):
    return x.max()


def place_of_largest_two_names(x):
    best, at = x[0], 0
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
            at = i
    return at


def place_of_largest_subscript(x):
    at = 0
    for i in range(len(x)):
        if x[i] > x[at]:
            at = i
    return at


def place_of_largest_enumerate(x):
    best, at = -math.inf, -1
    for i, v in enumerate(x):
        if v > best:
            best, at = v, i
    return at


def place_of_largest_key(x):
    return max(range(len(x)), key=lambda i: x[i])


def place_of_largest_pair(x):
    best = (x[0], 0)
    for i, v in enumerate(x):
        if v > best[0]:
            best = (v, i)
    return best[1]


def place_of_largest_while(x):
    at, i = 0, 1
    while i < len(x):
        if x[i] > x[at]:
            at = i
        i += 1
    return at


def place_of_largest_argmax(x):
    return np.argmax(x)


def place_of_largest_conditional(x):
    best, at = x[0], 0
    for i in range(len(x)):
        at = i if x[i] > best else at
        best = x[i] if x[i] > best else best
    return at


def both_extrema_ifs(x):
    lo = hi = x[0]
    for v in x:
        if v < lo:
            lo = v
        if v > hi:
            hi = v
    return lo, hi


def both_extrema_elif(x):
    lo = hi = x[0]
    for v in x:
        if v < lo:
            lo = v
        elif v > hi:
            hi = v
    return lo, hi


def both_extrema_builtin_of_two(x):
    lo, hi = x[0], x[0]
    for i in range(1, len(x)):
        lo, hi = min(lo, x[i]), max(hi, x[i])
    return lo, hi


def both_extrema_builtin(x):
    return min(x), max(x)


def both_extrema_whole(x):
    return x.min(), x.max()


def logsumexp_loops(x):
    m = x[0]
    for v in x:
        if v > m:
            m = v
    s = 0.0
    for v in x:
        s += math.exp(v - m)
    return m + math.log(s)


def logsumexp_generator(x):
    m = max(x)
    return m + math.log(sum(math.exp(v - m) for v in x))


def logsumexp_whole(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def logsumexp_np_scalar(x):
    m = x.max()
    s = 0.0
    for i in range(len(x)):
        s += np.exp(x[i] - m)
    return m + np.log(s)


def softmax_loops(x):
    m = x[0]
    for i in range(1, len(x)):
        m = max(m, x[i])
    out = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        out[i] = math.exp(x[i] - m)
        s += out[i]
    for i in range(len(x)):
        out[i] /= s
    return out


def softmax_whole(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def softmax_loop_and_whole(x):
    m = max(x)
    e = np.empty(len(x))
    for i in range(len(x)):
        e[i] = np.exp(x[i] - m)
    return e / e.sum()


def softmax_list(x):
    m = max(x)
    e = [math.exp(v - m) for v in x]
    s = sum(e)
    return np.array([v / s for v in e])


def largest_difference_loop(x, y):
    m = 0.0
    for i in range(len(x)):
        d = abs(x[i] - y[i])
        if d > m:
            m = d
    return m


def largest_difference_numpy(x, y):
    return np.max(np.abs(x - y))


def largest_difference_gen(x, y):
    return max(abs(a - b) for a, b in zip(x, y))


def largest_difference_builtin(x, y):
    m = 0.0
    for a, b in zip(x, y):
        m = max(m, abs(a - b))
    return m


def largest_difference_ifneg(x, y):
    m = 0.0
    for i in range(len(x)):
        d = x[i] - y[i]
        if d < 0:
            d = -d
        if d > m:
            m = d
    return m


def largest_difference_two(x, y):
    m = 0.0
    for a, b in zip(x, y):
        m = max(m, a - b, b - a)
    return m


IDIOMS = idioms_of(globals(), (
    Row("largest", 20_000, lambda n, r: (r.random(n),)),
    Row("place_of_largest", 20_000, lambda n, r: (r.random(n),)),
    Row("both_extrema", 20_000, lambda n, r: (r.random(n),)),
    Row("logsumexp", 10_000, lambda n, r: (r.random(n),)),
    Row("softmax", 10_000, lambda n, r: (r.random(n),)),
    Row("largest_difference", 20_000, lambda n, r: (r.random(n), r.random(n))),
))
