"""Python ints to powers that are known only at the call; special operands of `np.power`."""
from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

FORMS = {
    "listed": "return [b ** k for k in range(abs(n))]",
    "summed": "s = 0\nfor i in range(1, 6):\n    s += i ** n\nreturn s",
    "stored": "out = np.zeros(4)\nfor i in range(4):\n    out[i] = b ** (n - i)\nreturn out",
    "in an int array":
        "out = np.zeros(4, int)\nfor i in range(4):\n    out[i] = b ** i - n\nreturn out",
    "digits":
        "s = 0\nm = abs(b)\nwhile m:\n    s += (m % 10) ** n\n    m //= 10\nreturn s == abs(b)",
    "divided": "s = 0.0\nfor i in range(5):\n    s += i / b ** n\nreturn s",
    "compared": "c = 0\nfor i in range(9):\n    if i ** n > b:\n        c += 1\nreturn c",
    "built in": "s = 0\nfor i in range(1, 5):\n    s += pow(b, n) + i\nreturn s",
}
BASES = (0, 1, -1, 2, -2, 3, 10, -7, 153, 2**31, 2**40, -(2**31))
EXPONENTS = (0, 1, 2, 3, 7, 18, 19, 37, 61, 62, 63, 70, 1000, -1, -3)


@pytest.mark.parametrize("form", FORMS)
def test_powers_of_ints(form: str, tmp_path: Path) -> None:
    lines = "\n    ".join(FORMS[form].split("\n"))
    f = written(tmp_path, f"import numpy as np\ndef f(b, n):\n    {lines}\n").f
    g = fuse(f, on_reject="silent")
    for b in BASES:
        for n in EXPONENTS:
            if abs(n) < 100 or form != "listed":
                assert_same(outcome(g, (b, n)), outcome(f, (b, n)), f"{b}, {n}")
    assert not [code for code in g.stats.replays if code.startswith("LOWER")], g.stats
    before = g.stats.compiled
    assert_same(outcome(g, (3, 5)), outcome(f, (3, 5)), form)
    assert g.stats.compiled == before + 1


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16])
def test_numpys_ints_wrap(dtype: type, tmp_path: Path) -> None:
    text = "def f(x, n):\n    s = 0\n    for v in x:\n        s += int(v ** n)\n    return s\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise")
    x = np.array([1, 2, 3, 100]).astype(dtype)
    for n in (0, 1, 5, 30):
        assert_same(outcome(g, (x, n)), outcome(f, (x, n)), f"{n}")


def powers(a: Any, b: Any) -> Any:
    return np.power(a, b)


def powers_of_scalars(xs: Any, ys: Any) -> Any:
    return [np.power(x, y) for x in xs for y in ys]


def test_special_operands_of_power() -> None:
    """``np.power`` warns of infinite exponents where C's ``pow`` does not, and takes the square
    root for the exponent 0.5.
    """
    values = (0.0, -0.0, 1.0, -2.0, 1e308, np.inf, -np.inf, np.nan, 0.5)
    compiled, looped = fuse(powers, on_reject="raise"), fuse(powers_of_scalars, on_reject="raise")
    for kind in (float, np.float64, np.float32, lambda v: np.full(3, v)):
        for a, b in product([kind(v) for v in values if kind is not np.float32 or v != 1e308],
                            values):
            assert warned(compiled, a, b) == warned(powers, a, b), (a, b)
    assert compiled.stats.compiled > sum(compiled.stats.replays.values())
    for a, b in product(values, (0.5, np.inf, -np.inf, 1.5)):
        assert warned(looped, [1.0, a], [2.5, b]) == warned(powers_of_scalars, [1.0, a], [2.5, b])


def warned(f: Any, *args: Any) -> tuple[str, list[str]]:
    """The repr of a result, and the messages of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return repr(f(*args)), [str(w.message) for w in caught]


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 7])
def test_a_base_that_is_a_python_int_or_a_numpy_bool(exponent: int, tmp_path: Path) -> None:
    """NumPy's power of a bool and Python's int is an int64, not a bool."""
    text = f"def f(x):\n    c = x[0] > 0 and 3\n    return c ** {exponent}\n"
    plain = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="raise", target="scalar")
    for first in (1.0, -1.0):
        args = (np.array([first]),)
        assert_same(outcome(compiled, args), outcome(plain, args), f"{first} ** {exponent}")
    assert compiled.stats.compiled == 2


@pytest.mark.parametrize("exponent", ["0.5", "-0.5", "1.5", "-1.5", "2.5"])
@pytest.mark.parametrize("of", ["x[i]", "float(x[i])", "i - 3"])
def test_roots_by_math_pow(of: str, exponent: str, tmp_path: Path) -> None:
    text = f"""
        import math
        import numpy as np

        def f(x):
            out = np.empty(len(x))
            for i in range(len(x)):
                out[i] = math.pow({of}, {exponent})
            return out
    """
    f = written(tmp_path, dedent(text)).f
    g = fuse(f, on_reject="raise")
    values = (0.0, -0.0, 4.0, 1e-310, 1e300, np.inf, -np.inf, np.nan, -1.0, -2.0)
    is_root = exponent in ("0.5", "-0.5", "1.5")
    assert ("sqrt" in g.emit("loopir", np.ones(3))) == is_root
    for v in values:
        for n in (3, 4, 9):
            x = np.full(n, 2.0)
            x[n // 2] = v
            assert_same(outcome(g, (x,)), outcome(f, (x,)), f"{v}, {n}", ulps=2)
