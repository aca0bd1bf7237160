"""Spellings of powers, roots and polynomials of the elements of an array."""
from __future__ import annotations

import math

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def square_power(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 2
    return out


def square_product(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] * x[i]
    return out


def square_float_power(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 2.0
    return out


def square_pow(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = pow(x[i], 2)
    return out


def square_math_pow(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = math.pow(x[i], 2)
    return out


def square_numpy_scalar(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.square(x[i])
    return out


def square_whole(x):
    return x ** 2


def square_np_power(x):
    return np.power(x, 2)


def cube_power(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 3
    return out


def cube_product(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] * x[i] * x[i]
    return out


def cube_math_pow(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = math.pow(x[i], 3)
    return out


def cube_whole(x):
    return x ** 3


def cube_np_power(x):
    return np.power(x, 3)


def cube_loop(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        p = 1.0
        for _ in range(3):
            p *= x[i]
        out[i] = p
    return out


def root_math(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = math.sqrt(x[i])
    return out


def root_power(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 0.5
    return out


def root_numpy_scalar(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.sqrt(x[i])
    return out


def root_math_pow(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = math.pow(x[i], 0.5)
    return out


def root_whole(x):
    return np.sqrt(x)


def root_whole_power(x):
    return x ** 0.5


def root_comprehension(x):
    return np.array([math.sqrt(v) for v in x])


def polynomial_horner(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        v = x[i]
        out[i] = ((0.5 * v + 2.0) * v - 1.0) * v + 3.0
    return out


def polynomial_explicit(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        v = x[i]
        out[i] = 0.5 * v ** 3 + 2.0 * v ** 2 - 1.0 * v + 3.0
    return out


def polynomial_running_power(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        p, total = 1.0, 0.0
        for c in (3.0, -1.0, 2.0, 0.5):
            total += c * p
            p *= x[i]
        out[i] = total
    return out


def polynomial_coefficients(x):
    c = [3.0, -1.0, 2.0, 0.5]
    out = np.empty(len(x))
    for i in range(len(x)):
        total = 0.0
        for k in range(len(c) - 1, -1, -1):
            total = total * x[i] + c[k]
        out[i] = total
    return out


def polynomial_sum_of_powers(x):
    c = [3.0, -1.0, 2.0, 0.5]
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = sum(c[k] * x[i] ** k for k in range(4))
    return out


def polynomial_whole(x):
    return 0.5 * x ** 3 + 2.0 * x ** 2 - x + 3.0


def polynomial_polyval(x):
    return np.polyval([0.5, 2.0, -1.0, 3.0], x)


IDIOMS = idioms_of(globals(), (
    Row("square", 20_000, lambda n, r: (r.random(n) - 0.5,)),
    Row("cube", 20_000, lambda n, r: (r.random(n) - 0.5,)),
    Row("root", 20_000, lambda n, r: (r.random(n),)),
    Row("polynomial", 20_000, lambda n, r: (r.random(n) - 0.5,)),
))
