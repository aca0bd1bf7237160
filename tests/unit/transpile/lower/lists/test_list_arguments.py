"""Which lists that are arguments become arrays: those of which a loop may read many items."""
from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse
from transpile.lower.lists.list_arguments import _moving_names

MANY: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "a step that is a variable": ("""
        i = 2
        while i * i < len(a):
            j = i * i
            while a[i] and j < len(a):
                a[j] = 0
                j += i
            i += 1
        return a
    """, [([1] * 30,), ([1] * 4,), ([],)]),
    "links": ("""
        i, c = 0, 0
        while a[i] != i and c < len(a):
            i = a[i]
            c += 1
        return i, c
    """, [([1, 2, 3, 3],), ([0],), ([5],), ([],)]),
    "steps that are items": ("""
        i, c = 0, 0
        while i < len(a):
            i += a[i]
            c += 1
        return i, c
    """, [([1, 1, 2, 1, 1],), ([7],), ([],)]),
    "a stack": ("""
        st, out = [0], []
        while st and len(out) < 20:
            v = st.pop()
            out.append(a[v])
            if v + 2 < len(a):
                st.append(v + 1)
                st.append(v + 2)
        return out
    """, [([1, 2, 3, 4],), ([],)]),
}
"""Bodies of a function of the list ``a``, and calls of it."""

FEW = {
    "bisection": "while lo < hi:\n m = (lo + hi) // 2\n if a[m] < v: lo = m + 1\n else: hi = m",
    "shrinking steps": "while n:\n half = n >> 1\n if a[lo + half] < v: lo += half + 1\n n -= half",
    "doubling": "while i < n and a[i] < v: i *= 2",
    "heap": "while 2 * i + 1 < n:\n c = 2 * i + 1\n if a[c] < a[i]: a[i], a[c] = 0, 1\n i = c",
}


@pytest.mark.parametrize(("body", "calls"), MANY.values(), ids=MANY)
def test_lists_of_which_many_items_may_be_read(
    body: str, calls: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    f = written(tmp_path, "def f(a):\n" + textwrap.indent(textwrap.dedent(body), "    ")).f
    g = fuse(f, on_reject="raise")
    for args in calls:
        assert_same(outcome(g, args), outcome(f, args), f"{args}")
    assert g.stats.compiled


@pytest.mark.parametrize("loop", FEW.values(), ids=FEW)
def test_loops_that_read_few_items(loop: str) -> None:
    (node,) = ast.parse(loop).body
    assert isinstance(node, ast.While)
    subscripts = [n.slice for n in ast.walk(node) if isinstance(n, ast.Subscript)]
    used = {n.id for s in subscripts for n in ast.walk(s) if isinstance(n, ast.Name)}
    assert not used & _moving_names(node)
