"""Appends to an array of the call's own may store whole registers, if nothing is behind them."""
from __future__ import annotations

from pathlib import Path
from textwrap import indent

import numpy as np
import pytest
from written import written

from loopir.ir_printer import parse, show
from loopir.ir_traversal import walk
from loopir.nodes import Append
from loopir.passes.memory.compress_stores import compress_stores
from transpile import fuse

LOOP = """for i in loop(0, x.shape[0], k=0):
        if x[i] > 0.0:
            out[k] = x[i]
            k_1 = give(k + 1)
        else:
            k_1 = give(k)
        k = step(k_1)
"""
BODIES = {
    "first": (f"    {LOOP}", True),
    "after a load": (f"    v = out[0]\n    {LOOP}", True),
    "after a store": (f"    out[7] = 1.0\n    {LOOP}", False),
    "after a store to another": (f"    y[7] = 1.0\n    {LOOP}", True),
    "before a store": (f"    {LOOP}    out[7] = 1.0\n", True),
    "in a branch": (f"    if n > 0:\n{indent(f'    {LOOP}', '    ')}", True),
    "in a loop": (f"    for j in loop(0, n):\n{indent(f'    {LOOP}', '    ')}", False),
    "after a branch that stores": (f"    if n > 0:\n        out[7] = 1.0\n    {LOOP}", False),
    "after a loop": (f"    for j in loop(0, n):\n        out[j] = 1.0\n    {LOOP}", False),
}


@pytest.mark.parametrize("body", BODIES)
def test_what_is_behind_the_elements_is_blank_before_the_first_store(body: str) -> None:
    text, is_blank = BODIES[body]
    head = "def k(x: f64[::1], out: mut(f64[::1]), y: mut(f64[::1]), n: i64):\n"
    kernel = parse(f"{head}    disjoint(x, out)\n    disjoint(x, y)\n    disjoint(out, y)\n{text}")
    for blank in ((), ("out",), ("y",)):
        new = compress_stores(kernel, blank=blank)
        assert parse(show(new)) == new
        found = [n.blank for n in walk(new) if isinstance(n, Append)]
        assert found == [is_blank and blank == ("out",)], blank


def test_an_array_that_may_be_the_blank_one_counts_as_it() -> None:
    kernel = parse(f"""
def k(x: f64[::1], out: mut(f64[::1]), y: mut(f64[::1])):
    disjoint(x, out)
    disjoint_or_same(y, out)
    y[7] = 1.0
    {LOOP}""")
    new = compress_stores(kernel, blank=("out",))
    assert [n.blank for n in walk(new) if isinstance(n, Append)] == [False]


MADE = {
    "empty": ("np.empty(len(x))", True), "empty_like": ("np.empty_like(x)", True),
    "zeros": ("np.zeros(len(x))", False), "full": ("np.full(len(x), 2.0)", False),
    "given": ("y", False), "copy": ("x.copy()", False),
}


@pytest.mark.parametrize("made", MADE)
def test_only_an_array_without_values_is_blank(made: str, tmp_path: Path) -> None:
    text, is_blank = MADE[made]
    function = written(tmp_path, f"""import numpy as np
def f(x, y, t):
    out = {text}
    c = 0
    for v in x:
        if v > t:
            out[c] = v
            c += 1
    return out[:c], out, c
""").f
    fused = fuse(function, on_reject="raise")
    for n in (1, 3, 4, 5, 31, 64):
        x = np.arange(float(n))
        for t in (-1.0, 1.0, n // 2, n):
            got = fused(x.copy(), np.full(n, 3.0), float(t))
            wanted = function(x.copy(), np.full(n, 3.0), float(t))
            assert got[2] == wanted[2]
            assert got[0].tolist() == wanted[0].tolist()
            assert is_blank or got[1].tolist() == wanted[1].tolist()
    assert ("blank=True" in fused.emit("loopir", x, x + 1, 1.0)) is is_blank
