"""Lists whose items are ints and floats: each item keeps the type that Python gives it."""
from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse
from transpile.lower.lists.item_types import INT_OR_FLOAT, item_type_for
from transpile.lower.state.list_state import BufferType

LISTS = ([0.5, -1.25, 3.0, 0.0], [-1.0] * 3, [1e300, -0.0, math.nan], [2.5], [])
"""Arguments: items that are all overwritten, none, some, one, and no item."""

MADE = {
    "repeated": "[0] * n",
    "repeated from the left": "n * [7]",
    "comprehension": "[0 for _ in range(n)]",
    "floats": "[0.5] * n",
}
"""Lists with n equal items, of ints, into which floats are put; and of floats, into which ints are
put.
"""

USES = {
    "all of it": "r",
    "each item under operators": "[(-v, abs(v), v + 1, v / 4, v * 2.0, v > 1, v == 0) for v in r]",
    "integer operators": "[v // 3 for v in r], [v % 3 for v in r], [v ** 2 for v in r]",
    "conversions": "[math.floor(min(v, 9)) for v in r], [float(v) for v in r]",
    "extrema and sums": "max(r, default=0), min([*r, 5]), sum(r)",
    "types": "[isinstance(v, int) for v in r]",
    "truth": "sum(1 for v in r if v), sum(1 for v in r if not v)",
    "numpy": "[np.float32(2) * v for v in r], [np.int64(2) * v for v in r]",
}


def compare(g: Callable[..., Any], f: Callable[..., Any], *arguments: Any) -> None:
    """`g` has compiled code for the arguments, and agrees with `f`, with the types of all items."""
    assert_same(outcome(g, arguments), outcome(f, arguments), f"{f.__name__}{arguments}")
    assert g.stats.compiled  # type: ignore[attr-defined]


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_items_that_are_not_overwritten_keep_their_type(made: str, tmp_path: Path) -> None:
    put = "i" if "." in made else "x[i]"
    f = written(tmp_path, f"""
def f(x):
    n = len(x)
    r = {made}
    for i in range(n):
        if x[i] > 0:
            r[i] = {put}
        elif x[i] < -1:
            r[i] += {put}
    return r
""").f
    g = fuse(f, on_reject="raise")
    for x in LISTS:
        compare(g, f, x)


@pytest.mark.share(4)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_uses_of_items(use: str, tmp_path: Path) -> None:
    """What Python computes of an item that is 0 in one call and 0.0 in another."""
    f = written(tmp_path, f"""
import math
import numpy as np
def f(x):
    r = [0] * len(x)
    for i in range(len(x)):
        if x[i] > 0:
            r[i] = x[i]
    return {use}
""").f
    g = fuse(f)
    for x in LISTS:
        assert_same(outcome(g, (x,)), outcome(f, (x,)), use)


def test_products_of_lists_that_start_as_ints() -> None:
    """Tables of ints that are overwritten with floats are compiled, like those of floats."""

    def product(a, b):
        n = len(a)
        c = [[0] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                for k in range(len(b)):
                    c[i][j] += a[i][k] * b[k][j]
        return c

    g = fuse(product, on_reject="raise")
    square = np.arange(9.0).reshape(3, 3).tolist()
    for a, b in ((square, square), ([[1.5]], [[2.0]])):
        compare(g, product, a, b)
    assert g.stats.replays == {}


def test_tables_keep_what_was_not_reached() -> None:
    def knapsack(x, n):
        d = [[0 for _ in range(n + 1)] for _ in range(len(x) + 1)]
        for i in range(1, len(x) + 1):
            for j in range(1, n + 1):
                d[i][j] = max(d[i - 1][j], d[i][j - 1] + x[i - 1])
        return d, d[-1][-1], d[0][n]

    g = fuse(knapsack, on_reject="raise")
    for x in LISTS[:2] + LISTS[3:]:
        compare(g, knapsack, x, 3)


def test_ints_that_are_not_exact_as_floats_are_replayed() -> None:
    def scaled(x, start):
        r = [start] * len(x)
        for i in range(1, len(x)):
            r[i] = x[i]
        return r

    g = fuse(scaled, on_reject="raise")
    for start, replayed in ((7, 0), ((1 << 53) + 1, 1), (-(1 << 60), 2)):
        compare(g, scaled, [0.5, 1.5], start)
        assert sum(g.stats.replays.values()) == replayed


def test_stores_before_an_exception() -> None:
    def stored(x, out):
        r = [0, 1, 2]
        for i in range(len(x)):
            r[i] = x[i]
            out[i] = r[i - 1]
        return r

    g = fuse(stored, on_reject="raise")
    for x in LISTS[1], [1.5] * 4, [2.5]:
        compare(g, stored, x, np.zeros(4))


@pytest.mark.parametrize("items", ["[0, 0, 0]", "[0, 0.5, 1]", "[0] * 3", "[0.0, 0.0, 0.0]"])
def test_short_displays(items: str, tmp_path: Path) -> None:
    f = written(tmp_path, f"""
def f(x):
    r = {items}
    for i in range(len(x)):
        r[i % 2] += x[i]
        r[2] = max(r[2], i)
    return r
""").f
    g = fuse(f, on_reject="raise")
    for x in LISTS:
        compare(g, f, x)


def test_a_third_type_is_refused() -> None:
    def three(x):
        r = [0, 0]
        for i in range(len(x)):
            r[0] = x[i]
            r[1] = np.float64(2)
        return r[0], r[1]

    g = fuse(three, on_reject="silent")
    assert_same(outcome(g, (LISTS[0],)), outcome(three, (LISTS[0],)), "three")
    assert [r.code for r in g.report(LISTS[0]).rejections] == ["LOWER_JOIN"]


def test_types_of_two_kinds_of_items() -> None:
    assert item_type_for(INT_OR_FLOAT.types) == INT_OR_FLOAT
    assert item_type_for(frozenset({("f64", True)})) == BufferType("f64")
    assert item_type_for(frozenset({("bool", True), ("i64", True)})) is None


DFT = """
import math
import numpy as np
def f(x):
    n = len(x)
    return [TO(sum(x[t] * np.exp(-2j * math.pi * t * k / n) for t in range(n))) for k in range(n)]
"""
DFT_FROM_0J = DFT.replace("sum(", "sum((").replace("(n)))", "(n)), 0j))")
LOOP = """
import numpy as np
def f(x):
    out = []
    for k in range(len(x)):
        s = 0
        for w in x[:k]:
            s += w
        if k != 1:
            out.append(TO(s))
    return out
"""
TWO = """
def f(x):
    out = []
    for v in x:
        out.append(TO(v))
        out.append(TO(0))
    return out
"""


@pytest.mark.share(1)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("text", [DFT, DFT_FROM_0J, LOOP, TWO])
def test_the_help_names_a_conversion_that_compiles(
    text: str, dtype: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "complex" if "2j" in text else "int" if dtype is np.int32 else "float"
    x = np.array([1.5, 0.5, 2.0]).astype(dtype)
    first, *_ = fuse(written(tmp_path, text.replace("TO(", "(")).f).report(x).rejections
    assert (first.code, first.help) == (
        "LOWER_JOIN", f"convert each item to one type, by `{name}(...)`")
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    followed = fuse(written(tmp_path, text.replace("TO(", f"{name}(")).f)
    assert np.allclose(followed(x), followed.__wrapped__(x))
    assert {*map(type, followed(x))} == {*map(type, followed.__wrapped__(x))}
