"""Loops without checks where the ends of their subscripts are inside: rounded ones, too."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from loopir.ir_printer import parse
from loopir.ir_traversal import walk
from loopir.nodes import If
from loopir.passes.checks.inductive_ranges import inductive_ranges
from transpile import fuse


@pytest.mark.parametrize(
    ("decided", "value"),
    [
        (True, "f64(i) * c"),
        (True, "c * (0.5 + f64(i))"),
        (True, "f64(3 * i) / c - 2.0"),
        (False, "f64(i) * c - 0.5"),  # may be rounded once or twice
        (False, "c - f64(i)"),
        (False, "c / f64(i)"),
        (False, "x[i] * c"),
        (False, "f64(i * i)"),
    ],
)
def test_values_that_grow_are_decided_by_their_ends(decided: bool, value: str) -> None:
    kernel = parse(
        "def k(x: f64[::1], y: mut(f64[::1]), c: f64):\n"
        "    disjoint(x, y)\n"
        "    for i in loop(0, y.shape[0]):\n"
        f"        t = trunc({value})\n"
        "        fits = (t >= -9e18) & (t < 9e18)\n"
        '        check(fits, "replay")\n'
        "        at = min(i64(select(fits, t, 0.0)) + 1, 1000)\n"
        "        inside = at < x.shape[0]\n"
        '        check(inside, "replay")\n'
        "        if t < 0.0:\n"
        "            y[i] = 1.0\n"
        "        y[i] = x[select(inside, at, 0)]\n"
    )
    new = inductive_ranges(kernel)
    assert (new is not kernel) == decided
    if decided:
        signs = [n for n in walk(new) if isinstance(n, If) and not n.orelse and not n.yields]
        assert len(signs) == 2, "a float that grows may be negative"


def nearest(x, n, scale):
    out = np.zeros(n)
    for k in range(n):
        out[k] = x[int(k * scale)]
    return out


def shifted(x, n, scale):
    out = np.zeros(n)
    for k in range(n):
        j = int((k - 3) / scale)
        out[k] = x[min(j + 1, len(x) - 1)] - x[j]
    return out


def bilinear(x, n, scale):
    out = np.zeros(n)
    for k in range(n):
        f = k * (len(x) - 1) / (n - 1)
        j = int(f)
        out[k] = x[j] * (1 - f + j) + x[min(j + 1, len(x) - 1)] * (f - j) + scale
    return out


@pytest.mark.parametrize("function", [nearest, shifted, bilinear], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_results_are_those_of_python(function: Any) -> None:
    fused, rng = fuse(function, on_reject="silent"), np.random.default_rng(7)
    scales = [0.5, 1.0, 3.0, 1e-300, -0.4, 0.0, -0.0, 1e300, np.inf, -np.inf, np.nan]
    for n in (0, 1, 2, 3, 7, 40):
        for length in (1, 2, 5, 41):
            x = rng.random(length)
            for scale in (*scales, (length - 1) / max(n - 1, 1)):
                given = x, n, float(scale)
                what = f"{n} {length} {scale}"
                assert_same(outcome(fused, given), outcome(function, given), what)


def test_a_resized_row_is_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    x = np.linspace(0.0, 1.0, 64)
    for n in (17, 64, 200):
        given = x, n, 0.25
        assert_same(outcome(fuse(bilinear), given), outcome(bilinear, given), str(n))


def from_data(starts, x, out):
    for i in range(len(starts)):
        w = starts[i]
        for c in range(max(w, 0), len(x)):
            out[i, c] += x[c - w]
    return out


def backwards(starts, x, out):
    for i in range(len(starts)):
        w = starts[i]
        for c in range(len(x) - 1, w - 1, -1):
            out[i, c] += x[c - w]
    return out


def from_its_own_row(starts, x, _):
    for w in starts:
        for c in range(len(x) - 1, w - 1, -1):
            x[c] = max(x[c], x[c - w] + 1.0)
    return x


FAR = 2**63


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [from_data, backwards, from_its_own_row])
def test_subscripts_that_start_at_data_or_fall(function: Any) -> None:
    fused = fuse(function, on_reject="raise")
    for starts in ([0, 3, 9], [2, 8, 11], [1, -1, 4], [-3], [-9], [FAR - 1], [-FAR], [-FAR + 2]):
        given = np.array(starts, np.int64), np.arange(9.0), np.zeros((len(starts), 9))
        assert_same(outcome(fused, given), outcome(function, given), str(starts))
    assert fused.stats.compiled >= 2
