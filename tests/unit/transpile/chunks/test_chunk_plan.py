"""Chunk plans, without Dask: how a function goes through the axes of arrays, what it returns, and
that a call of arrays has nothing to do with them.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import ROOT

from transpile import fuse
from transpile.chunks.chunk_plan import chunk_plan
from transpile.options import Options
from transpile.types.value_types import ArrayType


def distances(x, y):
    out = np.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = abs(x[i] - y[j])
    return out


def both(x):
    return x.sum(), x.max()


def kept(x, t):
    return x[x > t]


def squares(x):
    return [v * v for v in x]


def kept_if_empty(x):
    if len(x) == 0:
        return x
    return x * 2.0


def shuffled(x):
    return np.random.permutation(x)


def doubled(x):
    return x * 2.0


def summed(x):
    return x.sum()


inner = doubled


def helper(x):
    return inner(x)


def through_a_helper(x):
    return helper(x)


X = np.arange(9.0)

PLANS = {
    "two arrays": (distances, (X, X + 1), "axis 0 of `x`, `out`: pointwise"),
    "the other": (distances, (X, X + 1), "axis 0 of `y`; axis 1 of `out`: pointwise"),
    "folds": (both, (X,), "axis 0 of `x`: fold (add, maximum)"),
    "a selection": (kept, (X, 2.0), "the function returns an array whose length depends"),
    "a choice": (kept_if_empty, (X,), "the function returns now one result, now another"),
    "a list": (squares, (X,), "not in chunks: the function returns a list"),
    "refused": (shuffled, (X,), "not in chunks: "),
}


@pytest.mark.share(1)
@pytest.mark.parametrize("name", PLANS)
def test_plans(name: str) -> None:
    function, arguments, said = PLANS[name]
    fused = fuse(function)
    assert said in fused.plan(*arguments)
    assert not fused.signatures, "a plan calls nothing"


def test_a_plan_follows_what_a_helper_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(through_a_helper)
    for function, said in ((doubled, "pointwise"), (summed, "fold (add)"), (doubled, "pointwise")):
        monkeypatch.setitem(globals(), "inner", function)
        assert said in fused.plan(X)


def test_a_call_of_arrays_imports_nothing_of_it(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np\n"
        "from transpile import fuse\n"
        "@fuse\ndef f(x): return x * 2.0 + 1.0\n"
        "f(np.ones(3))\n"
        "print([m for m in sys.modules if m.startswith(('transpile.chunks', 'transpile.ufuncs',"
        " 'loopir.analysis.decomposition', 'dask'))])\n"
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRANSPILE_CACHE": str(tmp_path)}
    words = [sys.executable, str(path)]  # a process of its own: forked ones have all modules
    found = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def smoothed(x):
    state = 0.0
    for i in range(len(x)):
        state = state * 0.5 + x[i]
    return state


def from_a_python_float(x):
    best = -np.inf
    at = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            at = i
    return best, at


def running_products(x):
    out = x.copy()
    for i in range(1, len(x)):
        out[i] = out[i - 1] * x[i]
    return out


def doubled_running_sums(x):
    return np.cumsum(x) * 2


@pytest.mark.parametrize(("function", "reason"), [
    (smoothed, "`state` is carried from one iteration to the next"),
    (from_a_python_float, "an intermediate value is carried from one iteration to the next"),
    (running_products, "an iteration reads what another one has written to `out`"),
    (doubled_running_sums, "an intermediate value is carried from one iteration to the next"),
])
def test_reasons_name_variables_of_the_source(function: Any, reason: str) -> None:
    plan = chunk_plan(function, {"x": ArrayType("f64", 1, 0)}, Options())
    assert [axis.reason for axis in plan.summary.axes] == [reason]
