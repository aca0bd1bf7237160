"""Spellings of reductions of vectors: sums, extrema and their places, counts, distances."""
# ruff: noqa: B905, SIM110 (functions as people write them)
from __future__ import annotations

import functools
import math
import operator

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def distance_range(x, y):
    s = 0.0
    for i in range(len(x)):
        s += (x[i] - y[i]) ** 2
    return math.sqrt(s)


def distance_product(x, y):
    s = 0.0
    for i in range(len(x)):
        d = x[i] - y[i]
        s += d * d
    return s ** 0.5


def distance_zip(x, y):
    s = 0.0
    for v, u in zip(x, y):
        s += (v - u) * (v - u)
    return math.sqrt(s)


def distance_enumerate(x, y):
    s = 0
    for i, v in enumerate(x):
        s = s + (v - y[i]) ** 2
    return np.sqrt(s)


def distance_while(x, y):
    s, i = 0.0, 0
    while i < len(x):
        d = x[i] - y[i]
        s += d * d
        i += 1
    return math.sqrt(s)


def distance_generator(x, y):
    return math.sqrt(sum((v - u) ** 2 for v, u in zip(x, y)))


def distance_whole(x, y):
    return np.sqrt(np.sum((x - y) ** 2))


def distance_norm(x, y):
    return np.linalg.norm(x - y)


def distance_dot(x, y):
    d = x - y
    return np.sqrt(d @ d)


def distance_np_square(x, y):
    return math.sqrt(np.square(x - y).sum())


def dot_range(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def dot_zip(x, y):
    s = 0
    for v, u in zip(x, y):
        s += v * u
    return s


def dot_generator(x, y):
    return sum(v * u for v, u in zip(x, y))


def dot_generator_of_subscripts(x, y):
    return sum(x[i] * y[i] for i in range(len(x)))


def dot_map(x, y):
    return sum(map(operator.mul, x, y))


def dot_reduce(x, y):
    return functools.reduce(lambda s, p: s + p[0] * p[1], zip(x, y), 0.0)


def dot_product_list(x, y):
    products = [v * u for v, u in zip(x, y)]
    return sum(products)


def dot_whole(x, y):
    return x @ y


def dot_np_dot(x, y):
    return np.dot(x, y)


def dot_sum_of_product(x, y):
    return (x * y).sum()


def dot_einsum(x, y):
    return np.einsum("i,i->", x, y)


def total_range(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def total_elements(x):
    s = 0
    for v in x:
        s = s + v
    return s


def total_builtin(x):
    return sum(x)


def total_reduce(x):
    return functools.reduce(operator.add, x)


def total_reduce_lambda(x):
    return functools.reduce(lambda p, v: p + v, x, 0.0)


def total_np_sum(x):
    return np.sum(x)


def total_method(x):
    return x.sum()


def total_add_reduce(x):
    return np.add.reduce(x)


def total_in_array(x):
    s = np.zeros(1)
    for v in x:
        s[0] += v
    return s[0]


def total_backwards(x):
    s, i = 0.0, len(x)
    while i > 0:
        i -= 1
        s += x[i]
    return s


def variance_loops(x):
    n = len(x)
    m = 0.0
    for v in x:
        m += v
    m /= n
    s = 0.0
    for v in x:
        s += (v - m) ** 2
    return s / n


def variance_generators(x):
    m = sum(x) / len(x)
    return sum((v - m) * (v - m) for v in x) / len(x)


def _mean(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s / len(x)


def variance_helper(x):
    m = _mean(x)
    s = 0.0
    for i in range(len(x)):
        d = x[i] - m
        s += d * d
    return s / len(x)


def variance_var(x):
    return np.var(x)


def variance_mean_of_squares(x):
    return np.mean((x - x.mean()) ** 2)


def variance_list(x):
    m = np.mean(x)
    return np.mean([(v - m) ** 2 for v in x])


def variance_mean_and_loop(x):
    m = x.mean()
    s = 0.0
    for v in x:
        s += (v - m) * (v - m)
    return s / x.size


def count_if_if(x, t):
    c = 0
    for v in x:
        if v > t:
            c += 1
    return c


def count_if_bool(x, t):
    c = 0
    for i in range(len(x)):
        c += x[i] > t
    return c


def count_if_int_of_bool(x, t):
    c = 0
    for v in x:
        c += int(v > t)
    return c


def count_if_conditional(x, t):
    c = 0
    for v in x:
        c += 1 if v > t else 0
    return c


def count_if_continue(x, t):
    c = 0
    for v in x:
        if v <= t:
            continue
        c += 1
    return c


def count_if_generator(x, t):
    return sum(v > t for v in x)


def count_if_filtered_ones(x, t):
    return sum(1 for v in x if v > t)


def count_if_length_of_list(x, t):
    return len([v for v in x if v > t])


def count_if_count_nonzero(x, t):
    return np.count_nonzero(x > t)


def count_if_sum_of_mask(x, t):
    return (x > t).sum()


def count_if_length_of_selection(x, t):
    return len(x[x > t])


def sum_if_if(x, t):
    s = 0.0
    for v in x:
        if v > t:
            s += v
    return s


def sum_if_continue(x, t):
    s = 0.0
    for i in range(len(x)):
        if not x[i] > t:
            continue
        s += x[i]
    return s


def sum_if_times_bool(x, t):
    s = 0.0
    for v in x:
        s += v * (v > t)
    return s


def sum_if_conditional(x, t):
    s = 0.0
    for v in x:
        s += v if v > t else 0.0
    return s


def sum_if_generator(x, t):
    return sum(v for v in x if v > t)


def sum_if_mask(x, t):
    return x[x > t].sum()


def sum_if_where(x, t):
    return np.sum(np.where(x > t, x, 0.0))


def sum_if_times_mask(x, t):
    return (x * (x > t)).sum()


def sum_if_where_argument(x, t):
    return np.sum(x, where=x > t)


def has_any_flag(x, t):
    found = False
    for v in x:
        if v > t:
            found = True
            break
    return found


def has_any_return(x, t):
    for v in x:
        if v > t:
            return True
    return False


def has_any_builtin(x, t):
    return any(v > t for v in x)


def has_any_else(x, t):
    for i in range(len(x)):
        if x[i] > t:
            result = True
            break
    else:
        result = False
    return result


def has_any_while(x, t):
    i = 0
    while i < len(x) and x[i] <= t:
        i += 1
    return i < len(x)


def has_any_or(x, t):
    found = False
    for v in x:
        found = found or v > t
    return found


def has_any_not_all(x, t):
    return not all(v <= t for v in x)


def has_any_whole(x, t):
    return np.any(x > t)


def cosine_one_loop(x, y):
    p = q = s = 0.0
    for v, u in zip(x, y):
        s += v * u
        p += v * v
        q += u * u
    return s / math.sqrt(p * q)


def cosine_three_loops(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    p = 0.0
    for i in range(len(x)):
        p += x[i] ** 2
    q = 0.0
    for i in range(len(x)):
        q += y[i] ** 2
    return s / (p * q) ** 0.5


def cosine_generators(x, y):
    s = sum(v * u for v, u in zip(x, y))
    return s / math.sqrt(sum(v * v for v in x) * sum(u * u for u in y))


def cosine_whole(x, y):
    return np.dot(x, y) / (np.linalg.norm(x) * np.linalg.norm(y))


def in_circle_if(x, y):
    c = 0
    for i in range(len(x)):
        if x[i] * x[i] + y[i] * y[i] <= 1.0:
            c += 1
    return 4 * c / len(x)


def in_circle_zip_powers(x, y):
    c = 0
    for v, u in zip(x, y):
        c += v ** 2 + u ** 2 <= 1
    return 4.0 * c / len(x)


def in_circle_root(x, y):
    c = 0
    for v, u in zip(x, y):
        if math.sqrt(v * v + u * u) <= 1.0:
            c += 1
    return 4 * c / len(x)


def in_circle_generator(x, y):
    return 4 * sum(1 for v, u in zip(x, y) if v * v + u * u <= 1.0) / len(x)


def in_circle_whole(x, y):
    return 4 * np.mean(x ** 2 + y ** 2 <= 1.0)


def trapezoid_range(x, y):
    s = 0.0
    for i in range(len(x) - 1):
        s += (x[i + 1] - x[i]) * (y[i] + y[i + 1]) / 2
    return s


def trapezoid_from_one(x, y):
    s = 0.0
    for i in range(1, len(x)):
        s += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1])
    return s


def trapezoid_previous(x, y):
    s, before, height = 0.0, x[0], y[0]
    for v, u in zip(x, y):
        s += 0.5 * (v - before) * (u + height)
        before, height = v, u
    return s


def trapezoid_slices(x, y):
    return np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) / 2


def trapezoid_diff(x, y):
    return (np.diff(x) * (y[1:] + y[:-1])).sum() / 2


def trapezoid_zip_of_slices(x, y):
    s = 0.0
    for a, b, p, q in zip(x, x[1:], y, y[1:]):
        s += (b - a) * (p + q) * 0.5
    return s


IDIOMS = idioms_of(globals(), (
    Row("distance", 20_000, lambda n, r: (r.random(n), r.random(n))),
    Row("dot", 20_000, lambda n, r: (r.random(n), r.random(n))),
    Row("total", 20_000, lambda n, r: (r.random(n),)),
    Row("variance", 20_000, lambda n, r: (r.random(n),)),
    Row("count_if", 20_000, lambda n, r: (r.random(n), 0.5)),
    Row("sum_if", 20_000, lambda n, r: (r.random(n), 0.5)),
    Row("has_any", 20_000, lambda n, r: (r.random(n), 2.0)),
    Row("cosine", 20_000, lambda n, r: (r.random(n), r.random(n))),
    Row("in_circle", 20_000, lambda n, r: (r.random(n), r.random(n))),
    Row("trapezoid", 20_000, lambda n, r: (np.cumsum(r.random(n)), r.random(n))),
))
