"""``map``, ``filter`` and loops over generators: what the functions would do, in their order."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

HEAD = """import math
import numpy as np


def sq(v):
    return v * v + 1


def good(v):
    return v > 2


"""
COMPILED = {
    "a lambda": "return sum(map(lambda v: v * v, x))",
    "a function": "return list(map(sq, x))",
    "kept": "return list(filter(lambda v: v > 2, x)), list(filter(good, x))",
    "two": "return sum(map(lambda a, b: a * b, x, x[1:]))",
    "of math": "s = 0.0\nfor v in map(math.sqrt, x):\n    s += v\nreturn s",
    "builtins": "return list(map(abs, x)), list(map(float, x)), list(map(int, x))",
    "folds": "return any(map(good, x)), all(map(lambda v: v < 6, x)), sum(map(sq, x))",
    "captured": "k = 2.0\ny = np.array(list(map(lambda v: v * k, x)))\nreturn y",
    "sorted": "return sorted(map(lambda v: -v, x)), tuple(map(sq, x))",
    "true ones": "return sum(filter(None, x)), len(list(filter(None, x)))",
    "both": "return sum(map(sq, filter(good, x)))",
    "rows": "m = x.reshape(-1, 1) * np.ones(3)\nreturn [sum(map(lambda v: v * 2, r)) for r in m]",
    "walked": "s = 0.0\nfor v in (w * 2 for w in x if w > 1 if w < 5):\n    if v > 8:\n"
              "        continue\n    s += v\nelse:\n    s = -s\nreturn s",
    "left": "s = 0.0\nfor v in (w * 2 for w in x):\n    if v > 8:\n        break\n    s += v\n"
            "else:\n    s = -1.0\nreturn s",
    "its names": "w = 7.0\nv = 0.0\nfor v in (w * 2 for w in x):\n    pass\nreturn v, w",
    "bound anew":
        "k = 1.0\ns = 0.0\nfor v in (w * k for w in x):\n    s += v\n    k = -k\nreturn s",
    "raises": "s = 0.0\nfor v in map(lambda t: 1 // int(t - 100), x):\n    s += v\nreturn s",
    "parameters of the same name": "v = 3.0\nreturn sum(map(lambda v: v * 2, x)) + v",
}
OTHERS = {
    "shadowed": "map = lambda f, y: [1.0, 2.0]\nreturn sum(map(sq, x))",
    "its zip shadowed": "zip = lambda a, b: [(1.0, 1.0)]\nreturn sum(map(lambda a, b: a, x, x))",
    "none at all": "return list(map(lambda: 1.0, x)) if len(x) < 0 else 0",
    "too many": "return list(map(lambda a, b: a, x))",
    "a default": "return list(map(lambda a, b=2: a * b, x))",
    "lazy": "m = map(sq, x)\nx[0] = 9.0\nreturn next(m), list(m)",
    "a lambda inside": "return sum(map(lambda v: (lambda w: w + v)(1), x))",
    "enumerated": "return [i * v for i, v in enumerate(map(sq, x))]",
}


@pytest.mark.share(10)
@pytest.mark.parametrize("form", [*COMPILED, *OTHERS])
def test_mapped(form: str, tmp_path: Path) -> None:
    body = "\n    ".join((COMPILED | OTHERS)[form].split("\n"))
    f = written(tmp_path, f"{HEAD}def f(x):\n    {body}\n").f
    g = fuse(f, on_reject="silent", reassociate=False)
    for numbers in ([3.0, 1.0, 2.0, 5.0, 4.0, 0.0, 7.0], [], [9.0], [100.0, 1.0]):
        x = np.array(numbers)
        assert_same(outcome(g, (x,)), outcome(f, (x,)), f"{numbers}", ulps=2)
    assert g.stats.compiled or form not in COMPILED, g.stats
