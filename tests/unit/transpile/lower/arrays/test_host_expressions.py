"""Lengths of arrays and lists that are computed from numbers: in Python, ahead of the loops."""
from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

LENGTHS = (
    "int(n * 0.5)", "math.ceil(n / 2)", "int(np.ceil(n / k))", "int(np.fix((n + 1) / 2.0))",
    "1 << k", "2 ** k", "round(n * 0.3)", "int(np.sqrt(n))", "math.isqrt(n)", "int(a)",
    "int(round(a * n))", "abs(k - n)", "n if a > 1 else k", "int(x[0])", "int(x.max()) + 1",
    "n ^ 1", "n & ~1", "int(math.log2(n)) + 1", "math.floor(a) + 1", "int(n // a)",
    "max(1, int(0.1 * n))", "n // 2 if n % 2 == 0 else n // 2 + 1", "int(a / 0.25) + 1",
    "int(n % a)", "min(n, int(a))", "n >> k", "int(a != 2) + k", "int(-a) + 4", "math.trunc(a)",
    "int(np.floor(a * k))", "int(np.int64(n) / k)", "len(range(0, n, k))", "int(a) | k",
)
MADE = {
    "zeros": "out = np.zeros(m)\n    for i in range(m):\n        out[i] = i * a\n    return out",
    "matrix": "out = np.empty((m, k))\n    for i in range(m):\n        for j in range(k):\n"
              "            out[i, j] = i - j\n    return out, out.shape",
    "ones": "out = np.ones(m, np.int64)\n    for i in range(1, m):\n"
            "        out[i] = out[i - 1] * 2 + i\n    return out",
    "arange": "return np.arange(m) * a + m",
    "full": "out = np.full(m, a)\n    out[:1] += x[0]\n    return out",
    "list": "out = [0] * m\n    for i in range(m):\n        out[i] = out[i - 1] + i\n"
            "    return out",
    "grown": "out = []\n    for i in range(m):\n        out.append(i * a)\n    return out",
    "listed": "return [x[i % n] for i in range(m)]",
}
NUMBERS = (
    (3, 2.5), (1, 1.0), (2, 0.7), (5, 40.0), (0, 2.0), (-1, 3.0), (2, 0.0), (4, -2.5),
    (3, math.nan), (3, math.inf), (3, 1e300), (70, 2.0), (2, 2.9999999999999996),
)


LATE = ("2 ** k", "int(x[0])", "int(x.max()) + 1", "int(math.log2(n)) + 1")
"""What may be no int, or is known to the kernel alone."""


@pytest.mark.share(64)
@pytest.mark.parametrize(
    ("length", "made"),
    [(n, m) for n in LENGTHS for m in MADE if n not in LATE or m != "arange"],
)
def test_as_python(length: str, made: str, tmp_path: Path) -> None:
    text = f"import math\nimport numpy as np\ndef f(x, k, a):\n    n = len(x)\n    m = {length}\n"
    function = written(tmp_path, f"{text}    {MADE[made]}\n").f
    fused = fuse(function, on_reject="raise")
    for n in (7, 8, 1):
        for k, a in NUMBERS:
            args: tuple[Any, ...] = (np.linspace(2.0, 9.0, n), k, a)
            if (k > 20 or a > 1e9) and ("list" in made or made == "grown"):
                continue  # Python would go on until there is no memory left
            assert_same(outcome(fused, args), outcome(function, args), f"{length}, {n}, {k}, {a}")
    assert fused.stats.compiled >= 6


LOG: list[str] = []


class Logged(float):
    """Tells of what it is asked."""

    def __rsub__(self, other: Any) -> Any:
        LOG.append("rsub")
        return other - float(self)

    def __rmul__(self, other: Any) -> Any:
        LOG.append("rmul")
        return other * float(self)

    def __float__(self) -> float:
        LOG.append("float")
        return super().__float__()

    def __int__(self) -> int:
        LOG.append("int")
        return super().__int__()


class Whole(int):
    def __rsub__(self, other: Any) -> Any:
        LOG.append("rsub")
        return other - int(self)


class Held:
    def __init__(self, by: Any) -> None:
        self.by = by


BY: Any = 2


def less(n, k):
    out = np.zeros(n - k)
    out[:] = 1.0
    return out


def times(n, k):
    out = np.empty(int(n * k))
    for i in range(len(out)):
        out[i] = i
    return out


def held(n, k):
    out = np.empty(n - k.by)
    for i in range(n - k.by):
        out[i] = i
    return out


def known(n, k):
    out = np.empty(n - BY)
    for i in range(len(out)):
        out[i] = k
    return out


CALLS = (
    (less, 2, Whole(2)), (times, 0.5, Logged(0.5)), (times, 0.5, Fraction(1, 2)),
    (held, Held(2), Held(Whole(2))), (known, 1, 1),
)


@pytest.mark.parametrize(("function", "first", "then"), CALLS)
def test_a_number_s_own_methods_run_once(
    function: Any, first: Any, then: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = fuse(function, on_reject="silent")
    for _ in range(2):
        assert_same(outcome(fused, (9, first)), outcome(function, (9, first)), "numbers")
    assert fused.stats.compiled
    if function is known:
        monkeypatch.setitem(globals(), "BY", Whole(2))
    told = []
    for who in (function, fused):
        LOG.clear()
        told.append((list(who(9, then)), [*LOG]))
    assert told[0] == told[1]
