"""Formulas of element-wise functions: operands of two kinds, special values."""
from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import same
from written import written

from transpile import fuse

SPECIAL = np.array([-np.inf, -2.5, 0.0, 1.0, np.inf, np.nan])
SCALARS = (0, -2, True, -0.0, 0.0, float("nan"), np.int64(0), np.float32("nan"))
ARRAYS = (SPECIAL, SPECIAL.astype(np.float32), np.arange(-2, 4), np.arange(6) % 2 == 0)


@pytest.mark.share(5)
@pytest.mark.parametrize("part", range(5))
def test_operands_of_two_kinds(part: int, tmp_path: Path) -> None:
    """The dtype of one operand decides about the other: NaN may come from either.

    Arrays have no negative zeros: which zero NumPy takes depends on the place in the array.
    """
    plain: Any = written(
        tmp_path, "import numpy as np\ndef f(a, b):\n    return np.fmax(a, b), np.fmin(a, b)\n"
    ).f
    compiled = fuse(plain, on_reject="silent")
    pairs = [*product(SCALARS, SCALARS), *product(ARRAYS, ARRAYS)]
    pairs += [p for s in (0, 1.0, True, np.float32(2)) for a in ARRAYS for p in ((s, a), (a, s))]
    for a, b in pairs[part::5]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, value = plain(a, b), compiled(a, b)
        assert same(value, expected), (a, b, value, expected)
    assert compiled.stats.compiled > 9
