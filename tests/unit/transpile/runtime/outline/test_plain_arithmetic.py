"""Plain arithmetic has Python's bits, whatever its types; other code may round otherwise."""
from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np
import pytest

from transpile.frontend.name_resolution import Scope
from transpile.runtime.outline.plain_arithmetic import is_plain_arithmetic


def helper(v: Any) -> Any:
    return v


SCOPE = Scope(globals={"np": np, "math": math, "helper": helper})


@pytest.mark.parametrize(
    "text",
    [
        "for v in row: s += v * v / 3 - v // 2 % 5",
        "for k in range(len(row)): s = max(s, abs(row[k]))",
        "s = sum([float(w) for w in line.split()])\nout.append(s)",
        "for v in row:\n    if not math.isnan(v): s += math.sqrt(v)",
        "raise ValueError(f'{s}')",
        "d[k] = d.get(k, 0) + s",
    ],
)
def test_plain(text: str) -> None:
    assert is_plain_arithmetic(ast.parse(text).body, SCOPE.resolve)


@pytest.mark.parametrize(
    "text",
    [
        "for v in row: s += math.exp(v)",
        "for v in row: s += np.sin(v)",
        "for v in row: s += v ** 2",  # a product, where Python calls `pow`
        "s **= 3",
        "s = x @ y",
        "s = np.sum(x)",
        "s = x.sum()",
        "s = x.mean()",
        "s = pow(s, 3)",
        "s = helper(s)",
        "s = unknown(s)",
        "s = row.compute()",
        "s = fs[0](s)",
    ],
)
def test_not_plain(text: str) -> None:
    assert not is_plain_arithmetic(ast.parse(text).body, SCOPE.resolve)
