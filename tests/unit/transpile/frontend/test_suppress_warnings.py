"""What the warning filters show once is shown once, however often a function is compiled."""
from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse


@pytest.mark.share(10)
@pytest.mark.parametrize("action", ["default", "module", "once"])
@pytest.mark.parametrize("options", [{}, {"verify": 1.0}], ids=["plain", "verified"])
def test_a_compilation_leaves_shown_what_was_shown(
    action: Any, options: dict[str, float], tmp_path: Path
) -> None:
    text = """
import numpy as np
def f(x, s):
    \"\"\"Compiled anew for each type: \\d.\"\"\"
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = x[i] / s
    if s is 3:
        return x
    return y, x / s, (lambda v: v / s)(x[0])
"""
    shown = []
    for option in (None, options):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            f = written(tmp_path, text).f
            warnings.simplefilter(action)
            called = f if option is None else fuse(f, on_reject="silent", **option)
            for dtype, s in product(("f8", "i8", "f4", "i2", "f8"), (0.0, np.float64(0))):
                called(np.arange(3, dtype=dtype), s)
        shown.append([(w.category, str(w.message), w.lineno) for w in warned])
    assert shown[0] == shown[1] != []
