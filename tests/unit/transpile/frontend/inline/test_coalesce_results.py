"""Copy coalescing of results: lists and tables that helpers return are compiled in the caller."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

X = np.array([0.5, 2.0, -3.0, 1.5])


def backwards(n):
    p = list(range(n))
    p.reverse()
    return p, n


def zeros(n):
    p = [0] * n
    for i in range(n):
        p[i] = i // 2
    return p


def counts(n):
    d = {}
    for i in range(n):
        d[i % 3] = i
    return n, d


def groups(n):
    g = defaultdict(list)
    for i in range(n):
        g[i % 2].append(i)
    return g


def residues(n):
    s = set()
    for i in range(n):
        s.add(i * i % 5)
    return s


def both(n):
    p = zeros(n)
    return p, backwards(n)[0]


def of_a_list(x):
    p, m = backwards(len(x))
    s = 0.0
    for i in range(m):
        s += x[p[i]] * i
    return s, p


def in_a_loop(x):
    s = 0.0
    for k in range(1, len(x)):
        p = zeros(k + 1)
        for i in range(k + 1):
            s += x[p[i]] * k
    return s


def of_tables(x):
    m, d = counts(len(x))
    g = groups(m)
    r = residues(m)
    s = 0.0
    for i in range(m):
        s += x[d[i % 3]] * i
        if i in r:
            s += 1.0
        for k in g[i % 2]:
            s += x[k]
    return s


def of_helpers_of_helpers(x):
    p, q = both(len(x))
    s = 0.0
    for i in range(len(x)):
        s += x[p[i]] * x[q[i]]
    return s


def of_its_own_name(x):
    p = [0, 1]
    s = x[p[1]]
    p = longer(p)
    for i in p:
        s += x[i]
    return s


def longer(p):
    q = [0] * 3
    for i in range(2):
        q[i] = p[i]
    return q


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("function", [
    of_a_list, in_a_loop, of_tables, of_helpers_of_helpers, of_its_own_name,
])
def test_results_of_helpers(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    if function is not of_its_own_name:  # an argument has the name, too
        monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(function)
    for x in (X, X[:2]):
        assert_same(outcome(fused, (x,)), outcome(function, (x,)), function.__name__)


def test_a_second_name_of_a_list_is_told() -> None:
    def renamed(n):
        q = [0] * n
        w = q
        w[0] = 1
        return q

    def caller(x):
        p = renamed(len(x))
        s = 0.0
        for i in range(len(x)):
            s += x[p[i]]
        return s

    (rejection, *_) = fuse(caller, on_reject="silent").report(X).rejections
    assert rejection.message == "the list `q` gets another name, `w`"
    assert rejection.help == "use `q` alone: a list is compiled under one name"
