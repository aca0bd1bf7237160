"""``while`` loops that count: the same answer, and compiled as ``for`` loops are."""
from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

HEADS = {
    "<": ("j = {a}", "j < {b}", 1), "<=": ("j = {a}", "j <= {b}", 1),
    ">": ("j = {b}", "j > {a}", -1), ">=": ("j = {b}", "j >= {a}", -1),
    "mirrored": ("j = {b}", "{a} < j", -1),
}
LIMITS = {
    "ints": ("0", "6"), "empty": ("5", "2"), "length": ("0", "len(x)"), "name": ("k", "n"),
    "shape": ("1", "x.shape[0] - 1"), "size": ("0", "x.size // 2"), "list": ("0", "len(w)"),
}
BODIES = {
    "a map": ["out[j] = x[j] * 2 + j"],
    "a fold": ["s += x[j]"],
    "a break": ["if x[j] > 3:", "    break", "out[j] = s", "s += 1"],
    "a while in it": ["i = 0", "while i < j:", "    s += x[i]", "    i += 1"],
    "a for in it": ["for v in x:", "    if v > j:", "        break", "    s += v"],
}
KEPT = {
    "the limit moves": ["s += x[j]", "n -= 1"],
    "the count moves": ["s += x[j]", "if x[j] > 2:", "    j += 1"],
    "the list grows": ["s += x[j]", "if len(w) < 9:", "    w.append(s)"],
    "another name grows it": ["s += x[j]", "if len(v) < 9:", "    v.append(s)"],
    "a slice of it grows": ["s += x[j]", "if len(w) < 9:", "    w[:1] = [s, s]"],
    "the list shrinks": ["s += x[j]", "if len(w) > 4:", "    w.pop()"],
    "continue": ["if x[j] > 3:", "    j += 2", "    continue", "s += x[j]"],
    "what it walks is another": ["s += x[j]", "x = x[:-1]"],
    "it returns": ["if x[j] > 3:", "    return s, j", "s += x[j]"],
}


def function(
    start: str, test: str, step: str, body: list[str], folder: Path, *, step_first: bool = False
) -> Any:
    lines = ["s = 0.0", "w = [0.0, 1.0, 2.0, 3.0, 4.0]"]
    lines += ["v = w"] if any("v.append" in x for x in body) else []
    lines += [start, f"while {test}:"]
    lines += [f"    {x}" for x in ([step, *body] if step_first else [*body, step])]
    text = "\n".join(f"    {x}" for x in [*lines, "return s, j, n, len(w)"])
    return written(folder, f"def f(x, out, k, n):\n{text}\n").f


def cases() -> list[tuple[Any, ...]]:
    return [(np.arange(size) % 5.0, np.zeros(9), k, n) for size, k, n in ((8, 1, 7), (8, 3, 2))]


@pytest.mark.share(140)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("step_first", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_counted(head: str, limits: str, step_first: bool, size: int, tmp_path: Path) -> None:
    start, test, sign = HEADS[head]
    a, b = LIMITS[limits]
    start, test = (t.replace("{a}", a).replace("{b}", f"{b} - 1" * (sign < 0) or b)
                   for t in (start, test))
    for body in BODIES:
        by = f"j {'+' if sign > 0 else '-'}= {size}"
        f = function(start, test, by, BODIES[body], tmp_path, step_first=step_first)
        types = dict(zip(inspect.signature(f).parameters, map(type_of, cases()[0]), strict=True))
        python = ast.unparse(compile_stages(f, types, Options()).python)
        assert "while" not in python, python
        fused = fuse(f, on_reject="raise")
        for k in range(2):
            assert_same(outcome(fused, cases()[k]), outcome(f, cases()[k]), python, 4)


@pytest.mark.share(10)
@pytest.mark.parametrize("body", KEPT)
@pytest.mark.parametrize("test", ["j < n", "j < len(x)", "j < len(w)"])
@pytest.mark.parametrize("step_first", [False, True])
def test_what_does_not_count(body: str, test: str, step_first: bool, tmp_path: Path) -> None:
    f = function("j = 0", test, "j += 1", KEPT[body], tmp_path, step_first=step_first)
    fused = fuse(f, on_reject="silent")
    for case in (0, 1):
        assert_same(outcome(fused, cases()[case]), outcome(f, cases()[case]), body, 4)


@pytest.mark.parametrize("start", ["np.int64(1)", "1.0", "True", "x.astype(int)[1]"])
def test_other_counts_stay(start: str, tmp_path: Path) -> None:
    """``j += 1`` keeps the type of NumPy's ints and of floats, and makes an int of a bool."""
    text = f"""
import numpy as np
def f(x):
    j = {start}
    while j < 5:
        j += 1
    return j, type(j)
"""
    f, args = written(tmp_path, text).f, (np.arange(4.0),)
    assert_same(outcome(fuse(f, on_reject="silent"), args), outcome(f, args), start)


SEARCHES = {
    "one more test": ("j = k", "j < len(x) and x[j] != 3", ["j += 1"]),
    "two more": ("j = k", "j < n and x[j] != 3 and x[j] < 9.0", ["j += 1"]),
    "an or": ("j = k", "j < n and (x[j] == 0 or x[j] == 4)", ["j += 1"]),
    "downwards": ("j = n - 1", "j >= k and x[j] != 3", ["j -= 1"]),
    "the element before": ("j = n", "0 < j and x[j - 1] != 3", ["j -= 1"]),
    "steps of two": ("j = k", "j < n and x[j] != 3", ["j += 2"]),
}
NO_SEARCHES = {
    "the other test first": ("j = k", "x[j] != 3 and j < n", ["j += 1"]),
    "either": ("j = k", "j < 2 or j < n", ["j += 1"]),
    "it does more": ("j = k", "j < n and x[j] != 3", ["s += x[j]", "j += 1"]),
    "it stores": ("j = n - 1", "0 < j and x[j - 1] > s", ["x[j] = x[j - 1]", "j -= 1"]),
    "another counts": ("j = k", "s < n and x[j] != 3", ["j += 1"]),
}


@pytest.mark.parametrize("name", [*SEARCHES, *NO_SEARCHES])
def test_a_test_that_goes_on(name: str, tmp_path: Path) -> None:
    start, test, body = {**SEARCHES, **NO_SEARCHES}[name]
    lines = ["s = 0.0", start, f"while {test}:"]
    text = "\n".join(f"    {x}" for x in [*lines, *(f"    {x}" for x in body), "return s, j, n"])
    f = written(tmp_path, f"def f(x, out, k, n):\n{text}\n").f
    types = dict(zip(inspect.signature(f).parameters, map(type_of, cases()[0]), strict=True))
    python = ast.unparse(compile_stages(f, types, Options()).python)
    assert ("while" in python) == (name in NO_SEARCHES), python
    fused = fuse(f, on_reject="raise")
    for size, k, n in ((8, 1, 7), (8, 3, 2), (0, 0, 0), (3, 0, 3), (600, 4, 590), (600, 4, 700)):
        for x in (np.arange(size) % 5.0, np.zeros(size), np.full(size, 4.0)):
            for at in (0, 1, size // 2, size - 1):
                x[at : at + 1] = 3.0
                args = (x, np.zeros(9), k, n)
                assert_same(outcome(fused, args), outcome(f, args), f"{name} {size} {k} {n} {at}")
