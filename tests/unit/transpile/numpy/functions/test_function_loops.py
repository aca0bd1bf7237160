"""Reductions by ufuncs: each starts as NumPy starts it, from the identity or the first element."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse
from transpile.numpy.function_table import FUNCTIONS

LOOPS = sorted(
    name for name, row in FUNCTIONS.items()
    if row.loops and row.loops.rule in ("ufunc_reduce_rule", "ufunc_accumulate_rule")
)
"""The methods ``reduce`` and ``accumulate`` of ufuncs that become loops."""


@pytest.mark.parametrize("method", LOOPS)
def test_the_first_element(method: str, tmp_path: Path) -> None:
    """``np.hypot.reduce`` of one negative number is positive."""
    text = f"import numpy as np\ndef f(x):\n    return np.{method}(x)\n"
    plain: Any = written(tmp_path, text).f
    ufunc = getattr(np, method.partition(".")[0])
    dtype = next(d for d in ("f8", "i8", "?") if f"{np.dtype(d).char * 2}->{np.dtype(d).char}"
                 in ufunc.types)
    compiled = fuse(plain, target="scalar", on_reject="raise")
    for items in ([-4], [-4, 6], [[-4, -6]], [[-4, 6], [0, -3]]):
        args = (np.array(items).astype(dtype),)
        assert_same(outcome(compiled, args), outcome(plain, args), f"{method} of {items}")
    assert compiled.stats.compiled == 4
