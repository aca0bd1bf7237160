"""Loops and comprehensions over ``zip(*rows)``, of lists of lists and matrices: as in Python."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

COMPILED = {
    "folded": "return [sum(c) - max(c) for c in zip(*b)], [min(c) for c in zip(*b) if c[0] > 0]",
    "transposed": "return [list(c) for c in zip(*b)], [[v * 2 for v in c] for c in zip(*b)]",
    "product": "return [[sum(v * u for v, u in zip(r, c)) for c in zip(*b)] for r in b]",
    "product of columns": "return [[sum(u * v for v, u in zip(c, r)) for r in b]"
                          " for c in zip(*b)]",
    "generators": "return sum(max(c) for c in zip(*b)),"
                  " all(all(v > 0 for v in c) for c in zip(*b))",
    "loop": "for c in zip(*b):\n    s = s * 0.5 + sum(c) + c[-1] * len(c)\nreturn s",
    "loop in a loop": "for r in b:\n    for c in zip(*b):\n        p = 0.0\n"
                      "        for v, u in zip(r, c):\n            p += v * u\n"
                      "        t.append(p)\nreturn t",
    "items": "for c in zip(*b):\n    for v in c:\n        s = s * 0.5 + v\nreturn s",
    "counted": "for j, c in enumerate(zip(*b)):\n    out[j % 2] += max(c) * j\nreturn out",
    "left": "for c in zip(*b):\n    if c[0] > 2:\n        break\n    s += c[0]\n"
            "else:\n    s = -s\nreturn s",
    "made": "w = [[v * 2 for v in r] for r in b]\nfor c in zip(*w):\n    t.append(sum(c))\n"
            "return t",
    "map": "return list(map(sum, zip(*b)))",
    "reduce": "return functools.reduce(lambda p, c: p * 2 + sum(c), zip(*b), 0.0)",
}
LEFT = {
    "kept": "for c in zip(*b):\n    t.append(c)\nreturn t",
    "read after": "c = (1,)\nfor c in zip(*b):\n    s += c[0]\nreturn s, c",
    "tuple": "return [isinstance(c, tuple) for c in zip(*b)], [c == (1.0, 4.0) for c in zip(*b)]",
    "joined": "return [len(c + c) + len(c * 2) for c in zip(*b)]",
    "changed": "w = [[v * 2 for v in r] for r in b]\nfor c in zip(*w):\n    w[0][0] += 1.0\n"
               "    w[1][-1] -= 1.0\n    s = s * 2 + sum(c)\nreturn s",
    "row changed": "w = [[v * 2 for v in r] for r in b]\nr = w[0]\nfor c in zip(*w):\n"
                   "    r[0] = 9.0\n"
                   "    r[-1] = 7.0\n    s = s * 2 + sum(c)\nreturn s",
    "row replaced": "for c in zip(*b):\n    b[0] = [5.0] * len(b[0])\n    s = s * 2 + sum(c)\n"
                    "return s",
    "grown": "for c in zip(*b):\n    b.append(b[0])\n    s = s * 2 + sum(c)\nreturn s",
    "alias": "for c in zip(*b):\n    X[0, 0] += 1\n    X[1, -1] += 2\n    s = s * 2 + sum(c)\n"
             "return s",
    "rebound": "for c in zip(*b):\n    b = [[1.0]]\n    s = s * 2 + sum(c)\nreturn s",
    "shadowed": "return [[sum(c) for c in zip(*b)] for c in zip(*b)]",
    "stored": "for c in zip(*b):\n    c[0] = 1\nreturn s",
    "other start": "return [sum(r, c) for c in zip(*b) for r in [[1]]]",
}


def function(name: str, folder: Path) -> Any:
    lines = ["s, t, out = 0.0, [], [0.0, 0.0]", *(COMPILED | LEFT)[name].splitlines()]
    body = "".join(f"    {line}\n" for line in lines)
    return written(folder, f"import functools\n\ndef f(b, X):\n{body}").f


def given() -> list[list[list[float]]]:
    rows = [[[1.0, 2.0, -3.0], [4.0, 0.5, 1.5]], [[3.0], [-1.0]], [[1.0, 2.0]]]
    return [*rows, [[1.0, np.nan, np.inf], [2.0, 3.0, 4.0]], [[1.0, 7.0], [4.0, -0.0], [5.0, 6.0]]]


@pytest.mark.share(9)
@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str, tmp_path: Path) -> None:
    plain = function(name, tmp_path)
    fused = fuse(plain, on_reject="raise", reassociate=False)
    kinds = (lambda b: b, np.array) if name != "made" else (lambda b: b,)
    for kind in kinds:
        for b in given():
            args = kind(b), np.array(b)
            assert_same(outcome(fused, args), outcome(plain, args), name)
    assert fused.stats.compiled >= 4 * len(kinds), fused.stats


@pytest.mark.share(9)
@pytest.mark.parametrize("name", [*COMPILED, *LEFT])
def test_agrees(name: str, tmp_path: Path) -> None:
    """Also of no rows, of empty ones, of such of several lengths, and of ints among floats."""
    plain = function(name, tmp_path)
    fused = fuse(plain, on_reject="silent", reassociate=False)
    others: list[Any] = [[[]], [[], []], [[1.0, 2.0], [3.0]], [[1, 2], [3, 4]], []]
    others.append([[1, 2.0], [3.0, 4]])
    for b in [*given(), *others]:
        X = np.ones((2, 2))
        assert_same(outcome(fused, (b, X)), outcome(plain, (b, X)), name)
    for X in (np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.zeros((2, 0)), np.eye(2)):
        shared = outcome(fused, (X, X)), outcome(plain, (X, X))
        assert_same(*shared, name)
