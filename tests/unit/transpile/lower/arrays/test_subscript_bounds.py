"""Subscripts that a test around them proves, of a distance that only the call knows."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

BODIES = {
    "at least": "if i >= w: s += x[i - w]; out[i] = x[i - w]",
    "apart": "if i - w >= 0: s += x[i - w]",
    "more than": "if i > w - 1: out[i] = x[i - w] + x[i]",
    "else": "if i < w: out[i] = 0.0\n        else: out[i] = x[i - w]",
    "continue": "if i < w: continue\n        out[i] = x[i - w]",
    "chosen": "s += x[i - w] if i >= w else 0.0",
    "and": "if i >= w and x[i - w] > 0: s += 1.0",
    "ahead": "if i + w < n: s += x[i + w] - x[i]",
    "ahead of the end": "if i < n - w: out[i] = x[i + w]",
    "both": "if i >= w and i + w < n: out[i] = x[i - w] + x[i + w]",
    "between": "if w <= i < n - w: out[i] = x[i - w] + x[i + w]",
    "one more": "if i > w: out[i] = x[i - w - 1]",
    "twice": "if i >= 2 * w: out[i] = x[i - 2 * w]",
    "too far": "if i >= w: out[i] = x[i - w - 1]",
    "not far enough": "if i >= w: out[i] = x[i + 1 - w]",
    "the other way": "if i >= w: out[i] = x[i + w]",
    "from the end": "s += x[-i]; out[-i] = x[i]",
    "a minimum": "v = min(w, 4)\n        if i >= v: s += x[i - v]",
}
NEVER = {"too far", "the other way"}
"""Those that may leave the array, or wrap around."""


@pytest.mark.share(20)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("loop", ["for i in range(n):", "for i in range(n - 1, -1, -1):"])
def test_windows(body: str, loop: str, tmp_path: Path) -> None:
    text = (
        "import numpy as np\ndef f(x, w):\n    n = len(x)\n    out = np.zeros(n)\n    s = 0.0\n"
        f"    {loop}\n        {BODIES[body]}\n    return s, out\n")
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent", reassociate=False)
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 9, 40):
        for w in (0, 1, 2, 5, 9, 39, 50, -1, -3, -60, 2**40, 2**63):
            x = rng.integers(-9, 9, n).astype(float)
            assert_same(outcome(g, (x, w)), outcome(f, (x, w)), f"{n}, {w}")
    if body not in NEVER:
        g = fuse(f, on_reject="raise")
        for w in (1, 3, 8):
            g(np.ones(20), w)
        assert g.stats.compiled == 3, g.stats


BORDERS = {
    "in a loop":
        "for i in range(n):\n        a = i + d\n        if 0 <= a < n and x[a] > 0: s += x[a]",
    "beside": "for i in range(n):\n        if 0 <= d < n and x[d] > 0: s += x[d] + x[i]",
    "without a loop": "if 0 <= d < n and x[d] > 0:\n        s += x[d]",
    "above": "for i in range(n):\n        if i + d < n: s += x[i + d]",
    "nested": "for i in range(n):\n        if i + d >= 0:\n            if i + d < n: s += x[i + d]",
    "rows": "for i in range(n):\n        if 0 <= i + d < n and 0 <= d < n: s += X[i + d, d]",
}


@pytest.mark.parametrize("body", BORDERS)
def test_a_border_that_is_an_argument(body: str, tmp_path: Path) -> None:
    """The length is an argument, not ``len(x)``; the guard holds where the test keeps the subscript
    in bounds, so that no call is replayed."""
    text = f"def f(x, X, n, d):\n    s = 0.0\n    {BORDERS[body]}\n    return s\n"
    f = written(tmp_path, text).f
    x, X = np.arange(1.0, 21.0), np.arange(400.0).reshape(20, 20)
    g = fuse(f, on_reject="raise")
    distances = (0, 1, 3, 19, 20, 30, *((-1, -3, -30) if body != "above" else ()))
    for n, d in ((n, d) for n in (20, 13) for d in distances):
        assert_same(outcome(g, (x, X, n, d)), outcome(f, (x, X, n, d)), f"{n}, {d}")
    assert g.stats.compiled == 2 * len(distances), g.stats
    for n, d in ((25, 0), (25, 10), (25, -10), (20, -1)):  # beyond the end, or wrapped
        assert_same(outcome(g, (x, X, n, d)), outcome(f, (x, X, n, d)), f"{n}, {d}")


@pytest.mark.parametrize("code", [
    "if n == 0:\n        return 0.0\n    return x[n - 1]",
    "if n == 0:\n        return 0.0\n    y = x[n - 1]\n    return y + sum(x[:n])",
    "if n == 0 or k:\n        return 0.0\n    return x[n - 1] * x[n - 2]",
    "s = 0.0\n    if n != 0:\n        s = x[n - 1]\n    return s",
    "return x[n - 1] if n != 0 else 1.0",
    "s = 0.0\n    for v in x[:n]:\n        s += v\n    return s and x[n - 1]",
    "if not n:\n        return 0.0\n    X = x.reshape(2, -1)\n    return X[0, n - 1] + x[n // 2]",
])
def test_an_early_return_excludes_a_subscript(code: str, tmp_path: Path) -> None:
    """A subscript that no call reaches with ``n == 0`` is no reason to replay such a call."""
    f = written(tmp_path, f"def f(x, n, k=0):\n    {code}\n").f
    fused = fuse(f, on_reject="raise")
    for n, x in ((2, np.arange(4.0)), (1, np.ones(2)), (0, np.arange(4.0)), (0, np.empty(0))):
        assert_same(outcome(fused, (x, n)), outcome(f, (x, n)), f"{code} of {n}")
    assert fused.stats.replays == {}
    for n in (3, -1, -9, 9):
        given = np.arange(2.0), n
        assert_same(outcome(fused, given), outcome(f, given), f"{code} of {n}")


@pytest.mark.parametrize("made", [
    "r = np.zeros(n) if n else np.zeros(0)", "r = np.empty(0) if n == 0 else np.zeros(n)",
    "r = np.zeros(n)\n    if n == 0: r = np.zeros(0)",
])
def test_an_empty_array_on_the_other_path(made: str, tmp_path: Path) -> None:
    """That it has no element is no reason to replay a call in which it is not used."""
    text = f"""import numpy as np

def f(n, k, w):
    {made}
    for i in range(len(k)):
        r[k[i]] += w[i]
    return r
"""
    f = written(tmp_path, text).f
    fused = fuse(f, on_reject="raise")
    for n, count in ((40, 33), (1, 1), (0, 0), (5, 0)):
        given = n, np.arange(count), np.ones(count)
        assert_same(outcome(fused, given), outcome(f, given), f"{made} of {n}")
    assert fused.stats.replays == {}
    assert fused.stats.compiled == 4
    given = 0, np.arange(3), np.ones(3)
    assert_same(outcome(fused, given), outcome(f, given), f"{made}, out of bounds")


REST_OF_ROWS = {
    "behind": "c += np.count_nonzero(x[i + 1:] > x[i])",
    "before": "c += np.sum(x[:i] < y[i])",
    "both": "c += np.count_nonzero(np.abs(x[i + 1:] - y[i + 1:]) < 0.5)",
    "rows": "out[i, i + 1:] = x[i + 1:] * 2 - y[i]",
    "loops": "for j in range(len(x[i:])): out[i, j] = x[i:][j]",
    "a step": "c += np.sum(x[i + 1::2])",
    "downwards": "c += np.sum(x[i::-1] * y[i::-1])",
}


@pytest.mark.parametrize("body", REST_OF_ROWS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
def test_slices_whose_length_changes_with_the_loop(
    body: str, dtype: str, tmp_path: Path
) -> None:
    f = written(tmp_path, (
        "import numpy as np\ndef f(x, y, n):\n    out = np.zeros((n, n))\n    c = 0\n"
        f"    for i in range(n):\n        {REST_OF_ROWS[body]}\n    return c, out\n")).f
    g = fuse(f, on_reject="silent", reassociate=False)
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 3, 17, 60):
        for more, other in ((0, 0), (3, 3), (0, 1), (0, -1), (-1, -1)):
            x = rng.integers(0, 9, max(n + more, 0)).astype(dtype)
            y = rng.integers(0, 9, max(n + other, 0)).astype(dtype)
            assert_same(outcome(g, (x, y, n)), outcome(f, (x, y, n)), f"{n} {more} {other}")


def test_slices_of_one_length_are_counted_without_a_mask_in_memory() -> None:
    def above(x):
        c = 0
        for i in range(len(x)):
            c += np.count_nonzero(x[i + 1:] > x[i])
        return c

    text = fuse(above, on_reject="raise").emit("loopir", np.ones(9))
    assert "bool[" not in text.split("result")[0]
    assert "check(inside" not in text
