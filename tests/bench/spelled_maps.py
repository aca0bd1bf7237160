"""Spellings of elementwise idioms: arrays in, an array of the same length out."""
# ruff: noqa: B905, PERF401 (functions as people write them)
from __future__ import annotations

import math

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def axpy_range(a, x, y):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = a * x[i] + y[i]
    return out


def axpy_enumerate(a, x, y):
    out = np.empty(len(x))
    for i, v in enumerate(x):
        out[i] = a * v + y[i]
    return out


def axpy_zip(a, x, y):
    out = np.empty(len(x))
    for i, (v, u) in enumerate(zip(x, y)):
        out[i] = a * v + u
    return out


def axpy_while(a, x, y):
    out = np.empty(len(x))
    i = 0
    while i < len(x):
        out[i] = a * x[i] + y[i]
        i += 1
    return out


def axpy_zeros_like(a, x, y):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] += a * x[i]
        out[i] += y[i]
    return out


def axpy_comprehension(a, x, y):
    return np.array([a * v + u for v, u in zip(x, y)])


def axpy_append(a, x, y):
    out = []
    for i in range(len(x)):
        out.append(a * x[i] + y[i])
    return np.array(out)


def axpy_whole(a, x, y):
    return a * x + y


def axpy_in_place(a, x, y):
    out = a * x
    out += y
    return out


def clip_if(x, lo, hi):
    out = np.empty(len(x))
    for i in range(len(x)):
        if x[i] < lo:
            out[i] = lo
        elif x[i] > hi:
            out[i] = hi
        else:
            out[i] = x[i]
    return out


def clip_ifs_of_a_name(x, lo, hi):
    out = np.empty(len(x))
    for i in range(len(x)):
        v = x[i]
        if v < lo:
            v = lo
        if v > hi:
            v = hi
        out[i] = v
    return out


def clip_conditional(x, lo, hi):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = lo if x[i] < lo else hi if x[i] > hi else x[i]
    return out


def clip_builtin(x, lo, hi):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = min(max(x[i], lo), hi)
    return out


def clip_numpy_scalar(x, lo, hi):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.clip(x[i], lo, hi)
    return out


def clip_whole(x, lo, hi):
    return np.clip(x, lo, hi)


def clip_extrema(x, lo, hi):
    return np.minimum(np.maximum(x, lo), hi)


def clip_where(x, lo, hi):
    return np.where(x < lo, lo, np.where(x > hi, hi, x))


def clip_masks(x, lo, hi):
    out = x.copy()
    out[out < lo] = lo
    out[out > hi] = hi
    return out


def absolute_if(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        if x[i] < 0:
            out[i] = -x[i]
        else:
            out[i] = x[i]
    return out


def absolute_conditional(x):
    out = np.empty(len(x))
    for i, v in enumerate(x):
        out[i] = v if v >= 0 else -v
    return out


def absolute_builtin(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = abs(x[i])
    return out


def absolute_fabs(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = math.fabs(x[i])
    return out


def absolute_max(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = max(x[i], -x[i])
    return out


def absolute_whole(x):
    return np.abs(x)


def absolute_where(x):
    return np.where(x < 0, -x, x)


def absolute_mask(x):
    out = x.copy()
    m = out < 0
    out[m] = -out[m]
    return out


def relu_if(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            out[i] = x[i]
    return out


def relu_conditional(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] if x[i] > 0 else 0.0
    return out


def relu_builtin(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = max(0.0, x[i])
    return out


def relu_int_zero(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = max(x[i], 0)
    return out


def relu_numpy_scalar(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.maximum(x[i], 0.0)
    return out


def relu_whole(x):
    return np.maximum(x, 0)


def relu_times_mask(x):
    return x * (x > 0)


def relu_where(x):
    return np.where(x > 0, x, 0)


def _sigmoid(v):
    return 1.0 / (1.0 + math.exp(-v))


def sigmoid_inline(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = 1.0 / (1.0 + math.exp(-x[i]))
    return out


def sigmoid_helper(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = _sigmoid(x[i])
    return out


def sigmoid_lambda(x):
    f = lambda v: 1.0 / (1.0 + math.exp(-v))  # noqa: E731
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = f(x[i])
    return out


def sigmoid_map(x):
    return np.array(list(map(_sigmoid, x)))


def sigmoid_numpy_scalar(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = 1.0 / (1.0 + np.exp(-x[i]))
    return out


def sigmoid_whole(x):
    return 1.0 / (1.0 + np.exp(-x))


def sign_if(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            out[i] = 1.0
        elif x[i] < 0:
            out[i] = -1.0
        else:
            out[i] = 0.0
    return out


def sign_conditional(x):
    out = np.empty(len(x))
    for i, v in enumerate(x):
        out[i] = 1 if v > 0 else -1 if v < 0 else 0
    return out


def sign_bools(x):
    out = np.empty(len(x))
    for i, v in enumerate(x):
        out[i] = int(v > 0) - int(v < 0)
    return out


def sign_numpy_scalar(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.sign(x[i])
    return out


def sign_whole(x):
    return np.sign(x)


def sign_where(x):
    return np.where(x > 0, 1.0, np.where(x < 0, -1.0, 0.0))


def step_conditional(x, t):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = 1.0 if x[i] > t else 0.0
    return out


def step_if(x, t):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > t:
            out[i] = 1.0
    return out


def step_float_of_bool(x, t):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = float(x[i] > t)
    return out


def step_bool(x, t):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] > t
    return out


def step_astype(x, t):
    return (x > t).astype(np.float64)


def step_where(x, t):
    return np.where(x > t, 1.0, 0.0)


def step_mask(x, t):
    out = np.zeros(len(x))
    out[x > t] = 1.0
    return out


def tax_if(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        if x[i] < 0.3:
            out[i] = x[i] * 0.1
        elif x[i] < 0.7:
            out[i] = 0.03 + (x[i] - 0.3) * 0.2
        else:
            out[i] = 0.11 + (x[i] - 0.7) * 0.4
    return out


def tax_conditional(x):
    out = np.empty(len(x))
    for i, v in enumerate(x):
        out[i] = (
            v * 0.1 if v < 0.3 else 0.03 + (v - 0.3) * 0.2 if v < 0.7 else 0.11 + (v - 0.7) * 0.4
        )
    return out


def _tax(v):
    if v < 0.3:
        return v * 0.1
    if v < 0.7:
        return 0.03 + (v - 0.3) * 0.2
    return 0.11 + (v - 0.7) * 0.4


def tax_helper(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = _tax(x[i])
    return out


def tax_comprehension(x):
    return np.array([_tax(v) for v in x])


def tax_where(x):
    return np.where(
        x < 0.3, x * 0.1, np.where(x < 0.7, 0.03 + (x - 0.3) * 0.2, 0.11 + (x - 0.7) * 0.4)
    )


def tax_sum_of_parts(x):
    out = np.empty(len(x))
    for i, v in enumerate(x):
        out[i] = v * 0.1 + max(v - 0.3, 0.0) * 0.1 + max(v - 0.7, 0.0) * 0.2
    return out


def tax_masks(x):
    out = x * 0.1
    middle, high = (x >= 0.3) & (x < 0.7), x >= 0.7
    out[middle] = 0.03 + (x[middle] - 0.3) * 0.2
    out[high] = 0.11 + (x[high] - 0.7) * 0.4
    return out


def reversal_slice(x):
    return x[::-1].copy()


def reversal_from_the_end(x):
    n = len(x)
    out = np.empty(n)
    for i in range(n):
        out[i] = x[n - 1 - i]
    return out


def reversal_negative_subscript(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[-1 - i]
    return out


def reversal_downwards(x):
    n = len(x)
    out = np.empty(n)
    for i in range(n - 1, -1, -1):
        out[n - 1 - i] = x[i]
    return out


def reversal_reversed(x):
    out = np.empty(len(x))
    for i, v in enumerate(reversed(x)):
        out[i] = v
    return out


def reversal_flip(x):
    return np.flip(x).copy()


IDIOMS = idioms_of(globals(), (
    Row("axpy", 20_000, lambda n, r: (1.5, r.random(n), r.random(n))),
    Row("clip", 20_000, lambda n, r: (r.random(n), 0.25, 0.75)),
    Row("absolute", 20_000, lambda n, r: (r.random(n) - 0.5,)),
    Row("relu", 20_000, lambda n, r: (r.random(n) - 0.5,)),
    Row("sigmoid", 10_000, lambda n, r: (r.random(n) - 0.5,)),
    Row("sign", 20_000, lambda n, r: (r.integers(-2, 3, n).astype(float),)),
    Row("step", 20_000, lambda n, r: (r.random(n), 0.5)),
    Row("tax", 20_000, lambda n, r: (r.random(n),)),
    Row("reversal", 20_000, lambda n, r: (r.random(n),)),
))
