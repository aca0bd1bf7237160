"""``while True`` that begins with a break: the same answer, compiled as a ``while`` with a test."""
from __future__ import annotations

import ast
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

ENDLESS = {
    "ints": ("if n == 1: break", "n = n // 2 if n % 2 == 0 else 3 * n + 1"),
    "order of ints": ("if j >= n: break", "s += x[j]; j += 1"),
    "floats": ("if not v < 9.0: break", "v = v * 2 + 0.5; j += 1"),
    "a NaN": ("if v >= 9.0: break", "v = v * 2 + 0.5; j += 1; n -= n > 0"),
    "a continue": ("if j >= n: break", "j += 1\n        if j % 2: continue\n        s += x[j]"),
    "two conditions": ("if j >= n or x[j] > 3.0: break", "s += x[j]; j += 1"),
    "nothing else": ("if j < n: break", "pass"),
}


def function(first: str, body: str, folder: Path) -> Any:
    return written(folder, f"""
def f(x, n, v):
    s, j = 0.0, 0
    while True:
        {first}
        {body}
    return s, j, n, v
""").f


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_while(name: str, tmp_path: Path) -> None:
    f = function(*ENDLESS[name], tmp_path)
    fused = fuse(f, on_reject="raise")
    x = np.arange(20) % 5.0
    for n in (1, 2, 7, 17):
        assert fused(x, n, 0.25) == f(x, n, 0.25), n
    types = dict(zip(inspect.signature(f).parameters, map(type_of, (x, 7, 0.25)), strict=True))
    if name != "a continue":    # its flag is set before the test
        assert "while True" not in ast.unparse(compile_stages(f, types, Options()).python)


def test_a_nan_does_not_end_a_loop_that_ends_at_a_limit(tmp_path: Path) -> None:
    """``not v >= 9`` is true of a NaN, ``v < 9`` is not."""
    f = written(tmp_path, """
def f(v, n):
    j = 0
    while True:
        if v >= 9.0:
            break
        j += 1
        v = 10.0 if j == n else v
    return j
""").f
    assert fuse(f, on_reject="raise")(math.nan, 5) == f(math.nan, 5) == 5


def test_a_later_break_stays(tmp_path: Path) -> None:
    f = function("j += 1", "if j >= n: break\n        s += x[j]", tmp_path)
    args = np.arange(9.0), 4, 0.0
    assert fuse(f, on_reject="raise")(*args) == f(*args)
