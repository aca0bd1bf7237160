"""What raises TypeError for all values of the operands' types is said, before the call runs."""
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from written import written

from transpile import fuse

X = np.array([1.5, 0.5, 2.0])


def told(body: str, n: object, tmp_path: Path) -> tuple[str, str]:
    """The message and the help of the report on a function with that body, which raises."""
    text = f"import math\nimport numpy as np\ndef f(x, n):\n    return {body}\n"
    f = fuse(written(tmp_path, text).f)
    (rejection,) = f.report(X, n).rejections
    with pytest.raises(TypeError):
        f.__wrapped__(X, n)
    return rejection.message, rejection.help or ""


@pytest.mark.parametrize("body", [
    "np.linspace(0, 1, n)", "np.logspace(0, 1, n)", "np.eye(n)", "np.sum(x, axis=n)",
    "np.insert(x, n, 1.0)", "np.diff(x, n)", "math.gcd(n, 2)", "math.factorial(n)", "3 & n",
    "round(x[0], n)", "np.linspace(0, n, num=n)",
])
def test_a_float_where_an_int_would_do_is_named(body: str, tmp_path: Path) -> None:
    message, help = told(body, 2.0, tmp_path)
    assert re.fullmatch(r"`n` is of type float: `.*` raises TypeError", message)
    assert help == "convert it to an int, `int(n)`"


@pytest.mark.parametrize("body", [
    "~x", "x << n", "np.bitwise_and(x, n)", "np.bincount(x)", "(x > 1) - (x > n)", "-(x > n)",
])
def test_otherwise_the_message_is_that_of_the_exception(body: str, tmp_path: Path) -> None:
    message, help = told(body, 2, tmp_path)
    assert re.match(r"`.*` raises TypeError: [uCnT]", message)
    assert "the exception is Python's own" in help


@pytest.mark.parametrize("body", ["[v for v in range(n)]", "np.zeros(n)", "np.zeros((2, n))"])
def test_a_length_that_is_a_float_is_named(body: str, tmp_path: Path) -> None:
    message, help = told(body, 2.0, tmp_path)
    assert message == "`n` is of type float, and not an int: Python raises TypeError"
    assert help == "convert it to an int, `int(n)`"


def test_nothing_is_said_of_what_does_not_raise(tmp_path: Path) -> None:
    text = "import numpy as np\ndef f(x, n):\n    return np.linspace(0, 1, np.polyfit(x, x, n))\n"
    (rejection,) = fuse(written(tmp_path, text).f).report(X, 2).rejections
    assert rejection.message == "`np.polyfit` is not a function that can be compiled"
