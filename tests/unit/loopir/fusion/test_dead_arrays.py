"""Dead arrays: which temporaries nobody needs, though they are loaded, and which are needed."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from loopir.fusion.dead_arrays import without_dead_arrays
from loopir.ir_printer import parse, show
from loopir.ir_verifier import verify
from loopir.nodes import Kernel
from transpile import fuse

UPDATED = """
def k(x: f64[:], at: i64[:], t: own(f64[::1]), u: own(bool[::1]), out: mut(f64[:])):
    for i in loop(0, x.shape[0], some=False):
        inside = at[i] >= 0
        check(inside, "replay")
        old = t[at[i]]
        if inside:
            u_at = give(u[at[i]])
        else:
            u_at = give(False)
        t[at[i]] = max(old, x[i])
        u[at[i]] = u_at | (at[i] > 3) | some
        some = step(some | u_at)
    for j in loop(0, out.shape[0]):
        u_j = u[j]
        out[j] = t[j]
"""


def arrays_left(text: str) -> tuple[Kernel, set[str]]:
    """The kernel without dead arrays, and the temporaries that its text still has."""
    kernel = without_dead_arrays(parse(text), {"t", "u"})
    verify(kernel, "scalar")
    body = show(kernel).partition("\n")[2]
    return kernel, {name for name in ("t", "u") if f"{name}[" in body}


def test_an_array_that_only_its_own_stores_load_is_dead() -> None:
    kernel, left = arrays_left(UPDATED)
    assert left == {"t"}
    assert "u_at" not in show(kernel)
    assert "some" not in show(kernel)
    assert 'check(inside, "replay")' in show(kernel)


@pytest.mark.parametrize("needed", [
    "    out[0] = f64(u[1])\n",
    '    check(u[1], "replay")\n',
    "    if u[1]:\n        out[0] = 1.0\n",
    "    for j in loop(0, i64(u[1])):\n        out[j] = 1.0\n",
    "    for j in loop(0, 9, s=False):\n        out[j] = 1.0\n        s = step(u[j])\n"
    "        until(s)\n",
    "    for j in loop(0, 9, s=False):\n        if s:\n            out[j] = 1.0\n"
    "        s = step(u[j])\n",
    "    while loop(go, go=u[0]):\n        out[0] = 1.0\n        go = step(False)\n",
    "    t[at[2]] = f64(u[2])\n    out[0] = t[0]\n",
])
def test_an_array_that_something_else_is_computed_from_is_needed(needed: str) -> None:
    assert arrays_left(UPDATED + needed)[1] == {"t", "u"}


def test_values_that_may_raise_flags_are_computed() -> None:
    divided = UPDATED.replace("(at[i] > 3)", "(f64(u_at) / x[i] > 3.0)")
    kernel, left = arrays_left(divided)
    assert left == {"t", "u"}
    assert "/ x[i]" in show(kernel)


def test_a_kernel_whose_arrays_are_needed_is_the_same_object() -> None:
    kernel = parse(UPDATED)
    assert without_dead_arrays(kernel, ()) is kernel
    assert without_dead_arrays(kernel, {"t"}) is kernel


def sums(a, x, k):
    t = [0.0] * k
    for key, v in zip(a, x, strict=False):
        t[key] += v
    return np.array(t)


def largest(a, x, k):
    t = [0.0] * k
    for i in range(len(a)):
        t[a[i]] = max(t[a[i]], x[i])
    return np.array(t)


def counts(a, x, k):
    t = [0] * k
    for key in a:
        t[key] += 1
    return np.array(t)


def pairs(a, x, k):
    t = [[0.0] * k for _ in range(k)]
    for i in range(len(a)):
        t[a[i]][a[i - 1]] += x[i]
    return np.array(t)


def last_of_each(a, x, k):
    seen = [-1] * k
    for key in a:
        seen[key] = key
    out = np.zeros(k)
    for j in range(k):
        if seen[j] >= 0:
            out[j] = seen[j]
    return out


def best(a, x, k):
    t = [0.0] * (k + 1)
    for w, v in zip(a, x, strict=False):
        for c in range(k, w - 1, -1):
            if t[c - w] + v > t[c]:
                t[c] = t[c - w] + v
    return np.array(t)


@pytest.mark.parametrize("f", [sums, largest, counts, pairs, last_of_each, best])
def test_whether_items_are_pythons_is_not_kept_where_they_become_an_array(
    f: Callable[..., Any],
) -> None:
    g = fuse(f, on_reject="raise")
    nan, inf = np.nan, np.inf
    for a, x in (
        ([1, 7, 1, 0], [0.5, 1.5, -2.0, 3.0]), ([1, 2, 3], [nan, -0.0, inf]), ([], []),
        ([2, 2, 2], [0.0, inf, -inf]), ([8], [1.0]),
    ):
        given = np.array(a, np.int64), np.array(x), 8
        assert_same(outcome(f, given), outcome(g, given), f"{f.__name__}{given}")
    assert g.stats.compiled >= 2
    assert "_py" not in g.emit("loopir", *given)
