"""``match`` of values, and ``functools.reduce``: compiled, and as Python has it."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

HEAD = """
import functools, operator
from functools import reduce
import numpy as np
def f(x, k):
    s = 0.0
"""
LOOPED = {
    "values": "match v:\n    case 0: s += 1\n    case 1 | 2: s += 2\n    case _: s -= 1",
    "none of them": "match v:\n    case 0: s += 1\n    case -1: s = 7",
    "captured": "match v % 3:\n    case 0: continue\n    case r: s += r",
    "left": "match v:\n    case 4: break\n    case r: s += r * 2",
    "guarded": "match v % 4:\n    case 0 if s > 3: s -= 3\n    case r if r > 2: s += 10\n"
               "    case r: s -= r\ns += 1",
    "pairs": "match v % 2, v % 3:\n    case 0, 0: s += 1\n"
             "    case 1, r: s += r\n    case _: s += 9",
    "taken": "a, b = v % 2, v % 3\nmatch a, b:\n    case b, a if a > 1: s += b\n"
             "    case 1, 0: s += 5\n    case _: s += a - b",
    "named": "match v:\n    case (1 | 2) as w: s += w\n    case 3 as w: s -= w",
    "returned": "match v:\n    case 6: return s\n    case _: pass",
}
WHOLE = {
    "sum": "s = reduce(lambda a, b: a + b, x)",
    "from": "s = functools.reduce(operator.mul, x, 2.0)",
    "least": "s = reduce(lambda a, b: min(a, b), x, 10)",
    "other": "def g(a, b):\n    return a * 0.5 + b\ns = reduce(g, x)",
    "of ints": "s = reduce(lambda a, b: a * 3 + b, k, 0)",
}
LEFT = {
    "a class": "match k:\n    case int(): s = 1\n    case _: s = 2",
    "a sequence": "match k:\n    case [a, *_]: s = a",
    "a mapping": "match k:\n    case {0: v}: s = v",
    "a guard that binds": "match len(x):\n    case (3 | 4) as r if r > 3: s = r\n    case _: s = 1",
    "a method": "s = reduce(x.dot, [1.0, 2.0], 3.0).sum()",
}


def given() -> list[tuple[Any, ...]]:
    x, k = np.linspace(-1, 2, 9), np.arange(9)
    return [(x, k), (x[:0], k[:0]), (x[:1], k), (x.tolist(), k.tolist())]


def function(body: str, looped: bool, folder: Path) -> Any:
    lines = body.splitlines()
    if looped:
        lines = ["for v in k:", *(f"    {line}" for line in lines)]
    return written(folder, HEAD + "".join(f"    {line}\n" for line in lines) + "    return s\n").f


@pytest.mark.share(12)
@pytest.mark.parametrize("name", [*LOOPED, *WHOLE, *LEFT])
def test_agrees(name: str, tmp_path: Path) -> None:
    plain = function((LOOPED | WHOLE | LEFT)[name], name in LOOPED, tmp_path)
    fused = fuse(plain, on_reject="silent", reassociate=False)
    for args in given():
        assert_same(outcome(fused, args), outcome(plain, args), name)
    if name not in LEFT:
        assert fused.report(*given()[0]).accepted, fused.report(*given()[0]).rejections
        assert fused.stats.compiled >= 2
