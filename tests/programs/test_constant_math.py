"""Math functions of constants: Python's bits, which NumPy's functions need not have."""
from __future__ import annotations

import linecache
import math
from typing import Any

import numpy as np
import pytest

from transpile import fuse

NAMES = {
    "exp": "exp", "log": "log", "tanh": "tanh", "sinh": "sinh", "log1p": "log1p", "atan": "arctan",
    "asin": "arcsin", "log10": "log10", "tan": "tan",
}


@pytest.mark.parametrize("name", NAMES)
def test_constants_have_pythons_bits(name: str) -> None:
    """Of an argument for which NumPy's function has other bits, where there is one."""
    x = np.arange(500, 9500) / 10000.0
    by_python = np.array([getattr(math, name)(v) for v in x.tolist()])
    differs = np.array([getattr(np, NAMES[name])(v) for v in x]) != by_python
    constant = float(x[np.argmax(differs)])
    source = (
        f"def number():\n    return math.{name}({constant!r})\n"
        f"def recurrence(n):\n    p = 0.0\n    for i in range(n):\n"
        f"        p = p * 0.5 + math.{name}({constant!r})\n    return p\n"
    )
    path = f"<constant math {name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    names: dict[str, Any] = {"math": math}
    exec(compile(source, path, "exec"), names)
    for function, args in (("number", ()), ("recurrence", (5,))):
        compiled = fuse(names[function], on_reject="raise")
        assert compiled(*args) == names[function](*args), function
