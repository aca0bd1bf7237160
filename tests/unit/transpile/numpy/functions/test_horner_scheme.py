"""``np.polyval`` with an array of coefficients, and products of polynomials."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

VALUES = {
    "array": "np.polyval(c, x)",
    "in an expression": "np.polyval(c, x * 2) ** 2 - 1",
    "reversed": "np.polyval(c[::-1], x[::2])",
    "matrix": "np.polyval(c, np.ones((2, 3)) * 0.5)",
    "number": "np.polyval(c, 0.5)",
    "elements": "[np.polyval(c, v) for v in x]",
}
COEFFICIENTS = ([], [1.5], [0.0, 1.0], [1.0, -2.0, 3.0], [-0.0, 2.0], [np.nan, 1.0], [1.0, np.inf])
ARGUMENTS = ([], [1.0], [2.0, -3.5], [-0.0, 0.0], [np.inf, np.nan, 1e200], [0.25] * 9)


@pytest.mark.parametrize("name", VALUES)
def test_horner(name: str, tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(c, x):\n    return {VALUES[name]}\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent")
    for items in COEFFICIENTS:
        for points in ARGUMENTS:
            args = np.array(items), np.array(points)
            assert_same(outcome(g, args), outcome(f, args), f"{items} at {points}")
    assert g.stats.compiled
    assert not in_parts(g)


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("f8", "f4"), ("i8", "f8"), ("f8", "i8")])
def test_other_dtypes_are_left_to_python(dtypes: tuple[str, str], tmp_path: Path) -> None:
    text = "import numpy as np\ndef f(c, x):\n    return np.polyval(c, x)\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent")
    args = np.array([1, 2, 3], dtypes[0]), np.array([4, 5], dtypes[1])
    assert_same(outcome(g, args), outcome(f, args), str(dtypes))


def test_products(tmp_path: Path) -> None:
    text = "import numpy as np\ndef f(a, b):\n    return np.polymul(a, b)\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent")
    for a in ([1.0, 2.0, -3.0], [0.5], [0.0, 1.0], [-0.0, 2.0, 1.0], [0.0], [1.0, 0.0]):
        for b in ([1.0, -1.0], [0.0, 0.0, 2.0], [4.0, 5.0, 6.0, 7.0], [3.0]):
            args = np.array(a), np.array(b)
            assert_same(outcome(g, args), outcome(f, args), f"{a}, {b}")
    assert g.stats.compiled
