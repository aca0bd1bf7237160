"""Arrays of numbers that are drawn: those that Python draws, and the state that it leaves."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

TEXT = """
import numpy as np
def f(g, n, s):
    total, x = 0.0, np.zeros(n)
    for i in range(5):
        {}
    return total, x
"""
BOTH = (
    "total += g.normal(size=n).max() if n else 1", "x = x + g.standard_normal(n) * s",
    "x = g.uniform(-1, s, size=n)", "x = g.exponential(s, n)", "x += g.standard_exponential(n)",
    "for z in g.normal(0, s, n):\n            total += z\n            if z > 1: break",
    "total += g.uniform(size=(n, 3))[:, 1].sum() + i", "x = g.lognormal(0.5, 0.1, size=(n,))",
    "u, v = g.normal(size=2)\n        total += u * v", "total += g.normal(i, s, 4)[i - 1]",
    "x = g.standard_normal(size=n)[::-1] + g.random(n)", "total += sum(g.random(size=n))",
    "total += g.random((2, n)).sum(axis=1)[0]", "x[:] = g.normal(x, s)",
    "total += g.random(n - 1).size", "x = g.random(None) + x", "x = g.normal(0, s - 3, n)",
    "x = g.normal(0, s, size=(n, 2))[:, 1]",
)
OWN = {
    "generator": ("total += g.integers(0, 9, n).sum()", "x[g.integers(n, size=n)] += 1",
                  "total += g.integers(3, 9, size=4, endpoint=True)[i % 4]",
                  "x = g.random(n, dtype=np.float32)", "x = g.integers(0, 1 << 40, n) * 1.0",
                  "total += g.integers(0, 200, n, np.int8).sum()", "g.random(out=x)"),
    "state": ("total += g.randint(0, 9, n).sum()", "x = g.rand(n)",
              "x = g.randn(n) + g.rand(3, n)[i % 3]",
              "x[g.randint(n, size=n)] += 1", "x = g.random_sample(n)"),
}
MAKERS: dict[str, Any] = {"generator": np.random.default_rng, "state": np.random.RandomState}
WHOLE = (*BOTH[:13], *OWN["generator"][:3], *OWN["state"])


@pytest.mark.share(70)
@pytest.mark.parametrize(
    ("kind", "line"), [(kind, line) for kind, own in OWN.items() for line in (*BOTH, *own)]
)
def test_arrays(kind: str, line: str, tmp_path: Path) -> None:
    plain = written(tmp_path, TEXT.format(line)).f
    fused = fuse(plain, on_reject="silent", reassociate=False)
    for n, s in ((7, 2.0), (300, 0.5), (0, 1.0), (1, 2), (4, -1.0)):
        wanted = outcome(plain, (MAKERS[kind](3), n, s))
        assert_same(outcome(fused, (MAKERS[kind](3), n, s)), wanted, f"{n} {s}", ulps=2)
    if line in WHOLE and "sum" not in line:
        assert fused.stats.compiled > 1, fused.stats
        assert not in_parts(fused)


GLOBAL = """
import numpy as np
from numpy.random import rand
def f(n):
    total = 0.0
    for _ in range(n):
        total += np.random.randn(n)[0] * rand(n, 2)[-1, 1] + np.random.uniform(1, 2, n)[0]
    return total
"""


def test_of_the_global_generator(tmp_path: Path) -> None:
    plain = written(tmp_path, GLOBAL).f
    fused = fuse(plain, on_reject="raise")
    for n in (5, 2, 0):
        np.random.seed(7)
        wanted = plain(n), np.random.random()
        np.random.seed(7)
        assert np.allclose((fused(n), np.random.random()), wanted, rtol=1e-14)


EVALUATED_AGAIN = (
    "x[g.random(n) < 0.5] = y[g.random(n) < 0.5]",
    "x[int(g.random() * n)] = x[int(g.random() * n)] = 77.0",
    "x[int(g.random() * n)], x[int(g.random() * n)] = 77.0, 78.0",
    "x[1:] = x[:-1] * g.random(n - 1)",
    "x[1:] += x[:-1] * g.random(n - 1)",
    "x[g.randint(0, n, 3)] = g.random(3)",
    "x = np.ones((n, 3)); x[g.random(n) < 0.5] = g.random(3)",
    "x = np.square(g.random(n) + 1j * g.random(n))",
    "x = np.vstack([g.random(3) for v in y])",
    "x = np.array([g.random(n) * v for v in y])",
    "x = np.array([[v for v in g.random(3)] for i in range(n)])",
    "x = [[v for v in g.random(3)] for i in range(n)]",
    "x = g.random(5)[g.random(5) < 0.5]",
    "x = np.compress(g.random(5) < 0.5, g.random(5))",
    "x = np.searchsorted(g.random(5), g.random(n))",
    "x = np.interp(g.random(n), y, g.random(n))",
    "x = g.random(n).clip(0.2, g.random())",
)
"""Statements that draw twice, or in another order, if an operand is evaluated again, or later."""

LEFT_TO_PYTHON = {
    ("argument", "x = [[v for v in g.random(3)] for i in range(n)]"),
    ("global", "x[int(g.random() * n)] = x[int(g.random() * n)] = 77.0"),
    ("global", "x[int(g.random() * n)], x[int(g.random() * n)] = 77.0, 78.0"),
    *((kind, line) for kind in ("argument", "global") for line in (
        "x = np.array([g.random(n) * v for v in y])",
        "x = np.array([[v for v in g.random(3)] for i in range(n)])",
    )),
}
"""Those that are not compiled."""


@pytest.mark.parametrize("line", EVALUATED_AGAIN)
@pytest.mark.parametrize("kind", ["argument", "global"])
def test_order_of_draws(kind: str, line: str, tmp_path: Path) -> None:
    text = line.replace("g.", "np.random.") if kind == "global" else line
    seed = "np.random.seed(3)" if kind == "global" else "pass"
    plain = written(tmp_path, f"""
import numpy as np
def f(g, x, y, n):
    {seed}
    {text}
    return x, np.random.random()
""").f
    fused = fuse(plain, on_reject="silent")
    for n in (5, 1):
        args = (np.random.RandomState(3), np.arange(n) + 0.5, np.arange(n) * 2.0, n)
        np.random.seed(1)
        wanted = outcome(plain, args)
        np.random.seed(1)
        assert_same(outcome(fused, args), wanted, line, ulps=4)
    assert fused.stats.compiled or (kind, line) in LEFT_TO_PYTHON
