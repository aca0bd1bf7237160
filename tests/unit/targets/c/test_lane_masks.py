"""Masks that GCC spills are read again as wide as they were written, and no wider.

GCC 12.2 widens a mask of 8 lanes to 16 for nothing, also where it lies in memory as one byte: what
lies behind that byte then decides what is written behind the eight elements.
"""
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from native import RUNNABLE
from written import written

from targets.build.build_errors import NoCompiler
from targets.build.c_compiler import find_compiler_for
from transpile import fuse

FORMS = (
    "x[m] = np.power(x[m] + 0, l)",
    "x[m] = (np.power(x[m] + 1, l) - 1) / l",
    "x[m] = np.exp(x[m] * l) + np.log(np.abs(y[m]) + 1)",
    "x[m] = x[m] + np.sin(y[m] * l)",
    "for i in range(len(x)):\n        if x[i] < y[i]:\n            x[i] = y[i] ** l + x[i] % 3\n"
    "        if y[i] > 3:\n            y[i] = np.exp(x[i] / l)",
    "for i in range(len(x)):\n        if x[i] < 0 or y[i] > 2:\n"
    "            x[i] = np.tanh(y[i]) * l",
)
TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
SIZES = {"b": 1, "w": 2, "d": 4, "q": 8}
KMOV = re.compile(r"^\s*kmov([bwdq])\s+([^,]*(?:\([^)]*\))?)\s*,\s*(\S+)")


def reread(text: str) -> list[str]:
    """The lines that read a mask from where a narrower one was written."""
    found, sizes = [], {}
    for line in text.splitlines():
        if re.match(r"^\w+:", line) and not line.startswith("."):
            sizes = {}
        match = KMOV.match(line)
        if match is None:
            continue
        letter, source, target = match.groups()
        if "(" in target:
            sizes[target] = SIZES[letter]
        elif "(" in source and SIZES[letter] > sizes.get(source, 8):
            found.append(line.strip())
    return found


def test_what_is_looked_for() -> None:
    text = "f:\n\tkmovb\t%k0, -8(%rbp)\n\tkmovb\t-8(%rbp), %k1\n\tkmovw\t-8(%rbp), %k3\n"
    assert reread(text) == ["kmovw\t-8(%rbp), %k3"]
    assert not reread(text.replace("kmovw", "kmovb"))


@pytest.mark.share(108)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_masks_are_read_as_they_were_written(form: str, dtype: str, tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(x, y, l):\n    m = x < 0\n    {form}\n    return x\n"
    f = written(tmp_path, text).f
    try:
        find_compiler_for("x86_64")
    except NoCompiler:
        pytest.skip("no compiler for x86-64")
    g = fuse(f, target="avx512", on_reject="silent")
    x = (np.arange(70) % 3).astype(dtype)
    assert not reread(g.emit("asm", x, x, 2.5))
    if "avx512" not in RUNNABLE:
        pytest.skip("no AVX-512 here")
    for _ in range(20):
        assert_same(outcome(g, (x, x, 2.5)), outcome(f, (x, x, 2.5)), dtype, 4)
