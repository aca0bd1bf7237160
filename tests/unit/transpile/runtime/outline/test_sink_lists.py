"""Lists that are made before a statement that stays Python, and filled after it."""
from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime.outline.sink_lists import sink_lists

BEFORE = """
def f(x):
    a, b = [], [0.0]
    c = [len(x)]
    d = []
    seen = []
    n = len(x)
    SHOW(n)
    for v in x:
        e = []
        SHOW(v)
        if v:
            break
        e.append(v)
        g = []
        SHOW(v)
        g.append(v)
        d.append(v)
    h = []
    n = 1
    h.append(n)
    try:
        i = []
        SHOW(n)
        i.append(n)
    except E:
        show(i)
    SHOW(a)
    b.append(1)
    return lambda: seen
"""
MOVED = {"        g = []\n        SHOW(v)\n": "        SHOW(v)\n        g = []\n"}


def test_lists_are_made_where_they_are_used() -> None:
    tree = ast.parse(BEFORE).body[0]
    assert isinstance(tree, ast.FunctionDef)
    wanted = ast.unparse(ast.parse(BEFORE))
    for old, new in MOVED.items():
        wanted = wanted.replace(old, new)
    assert ast.unparse(sink_lists(tree, lambda s: "SHOW" in ast.unparse(s))) == wanted
    assert ast.unparse(tree) == ast.unparse(ast.parse(BEFORE)), "the tree that is given stays"
    assert sink_lists(tree, lambda s: False) is tree


def filtered(x: Any, state: Any) -> Any:
    out = []
    z1, z2 = state
    for v in x:
        y = v + z1
        z1 = v * 0.5 + z2
        z2 = v * 0.25 - y
        out.append(y)
    state[:] = z1, z2
    return out


def test_the_region_makes_the_list_and_fills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(filtered, on_reject="silent")
    for n in (5, 0, 1):
        mine, theirs = [0.5, 0.25], [0.5, 0.25]
        assert fused(np.arange(float(n)), mine) == filtered(np.arange(float(n)), theirs)
        assert mine == theirs
    assert fused.stats.compiled == 3


def made_last(x, show, lengths):
    t = [4]
    show(x)
    y = np.ones(2)
    y = x + 1
    t = list(range(len(lengths)))
    return y, t


def test_a_region_may_end_with_a_list_that_was_made_above_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    fused = fuse(made_last, on_reject="silent")
    y, t = fused(np.ones(3), len, {1: 2, 2: "a"})
    assert y.tolist() == [2.0] * 3
    assert t == [0, 1]
    assert "failed" not in capfd.readouterr().err
    assert fused.stats.compiled
