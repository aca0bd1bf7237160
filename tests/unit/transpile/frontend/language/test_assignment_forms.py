"""Updates of slices, ``x[1:] += f(x)``: f is inlined, and runs before the view is changed."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def scaled(v):
    return v * 2.0 + 1


def touching(v):
    v[0] += 5
    return v.sum()


def laplacian(u):
    return u[:-2] + u[2:] - 2 * u[1:-1]


def whole(x):
    x[:] += scaled(x)


def steps(u, n):
    for _ in range(n):
        u[1:-1] += laplacian(u)
    return u


def changed_by_the_call(x, n):
    x[n:] -= touching(x)


def of_a_row(X, i):
    X[i, 1:] *= scaled(X[i, 1:])


def broadcast(X):
    X[1:] += scaled(X[0])


def of_an_array_made_here(x):
    y = np.zeros(len(x))
    y[::2] += scaled(x[::2])
    return y


def by_an_index_array(x, k):
    x[k] += touching(x)


def by_an_index_array_and_a_slice(X, k):
    X[k, 1:] += touching(X[0])


def of_a_list(xs):
    xs[1:] += with_two(xs)
    return xs


def with_two(xs):
    xs[0] = 9.0
    return [1.0, 2.0]


def of_another_shape(x):
    x[:2] += scaled(x)


X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(("function", "args", "is_compiled"), [
    (whole, (np.arange(5.0),), True),
    (steps, (np.arange(9.0) ** 2, 3), True),
    (changed_by_the_call, (np.arange(6.0), 2), True),
    (of_a_row, (X, 1), True),
    (broadcast, (X,), True),
    (of_an_array_made_here, (np.arange(7.0),), True),
    (by_an_index_array, (np.arange(4.0), np.array([0, 1, 0])), True),
    (by_an_index_array_and_a_slice, (X, np.array([0, 2])), True),
    (of_a_list, ([1.0, 2.0, 3.0],), False),
    (of_another_shape, (np.arange(7.0),), False),
])
def test_updates_of_slices(function: Any, args: tuple[Any, ...], is_compiled: bool) -> None:
    fused = fuse(function, on_reject="silent")
    assert_same(outcome(fused, args), outcome(function, args), function.__name__)
    assert bool(fused.stats.compiled) == is_compiled
