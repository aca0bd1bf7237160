"""Folds of lists evaluate every element first, those of generators one after another, until it is
sure: in what they give, raise and warn of, and in which order.
"""
from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from traps.trap import seen
from written import written

from transpile import fuse

FOLDS = (
    "sum({})", "sum({}, v0)", "any({})", "all({})", "max({})", "min({})", "sorted({})",
    "tuple({})", "any({}) and all({})", "sum({}) + max({})", "not all({})",
)
ELEMENTS = {
    "abs(v)": "ints", "v * v": "ints", "6 // v": "ints", "1 / v": "floats",
    "v * v * 1e300": "floats", "math.sqrt(v)": "floats", "1 / v > v * 1e308": "floats",
    "v - v > 1 / v": "floats", "math.log(v) < 1": "floats", "10 // int(v) > 2": "floats",
    "v > 3": "floats",
}
VALUES = {
    "ints": (np.iinfo(np.int64).max - 5, 4, 0, 9, np.iinfo(np.int64).min, 1, 3),
    "floats": (5.0, 1e308, 0.0, 1e-308, -1.0, np.inf, 2.0),
}
MOODS = ("always", "default", "ignore", "raise")


def in_turn(kind: str, share: int) -> list[np.ndarray[Any, Any]]:
    """Each value at each place, once."""
    values = np.array(VALUES[kind])
    turned = [np.roll(values, k) for k in range(len(values))]
    return [a for x in turned for a in (x, x[::-1].copy())][::share]


@pytest.mark.share(76)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("fold", FOLDS)
def test_folds(fold: str, element: str, tmp_path: Path) -> None:
    lists, streams = (fold.replace("{}", f"{a}{element} for v in x{b}") for a, b in ("[]", "()"))
    cases = [(x, x.dtype.type(1)) for x in in_turn(ELEMENTS[element], 3)]
    for text in (lists, streams):
        module = written(tmp_path, f"import math\n\ndef f(x, v0):\n    return {text}\n")
        fused = fuse(module.f, on_reject="silent", reassociate=False)
        for mood in (m for m in MOODS for _ in range(2)):
            for case in cases:
                names, given = vars(module), partial(tuple, case)
                wanted = seen(module.f, given, mood, names)
                assert seen(fused, given, mood, names) == wanted, (text, mood)
        checks = {"GUARD_RAISES", "GUARD_INT_RANGE", "GUARD_DIVISION"}
        assert fused.stats.compiled or checks & fused.stats.replays.keys(), fused.stats


REDUCED = {
    "zip(x, y)": "s + p[0] * p[1]", "zip(x, reversed(y), strict=True)": "s - p[0] * p[1]",
    "zip(x, y, range(3))": "s + p[2]", "enumerate(x, 2)": "s + p[0] * p[1]",
    "(v * v for v in x)": "s * 2 - p", "(v * v for v in x if v > 0)": "s * 2 - p",
    "(v * u for v in x for u in y)": "s * 2 - p", "((v, u) for v, u in zip(x, y))": "s + p[0]",
    "(2 * v for v in (u * u for u in x))": "s - p", "map(lambda v: v * v, x)": "p - s",
    "map(operator.mul, x, y)": "s - p", "filter(lambda v: v > 0, x)": "max(s, p)",
    "reversed(x)": "s * k + p", "range(len(x), 0, -2)": "s * k + x[p - 1]", "x[1:]": "s - p",
    "x[:-2]": "max(s, p)", "x": "s * k + p", "[v * v for v in x]": "s * k + p",
}


@pytest.mark.share(18)
@pytest.mark.parametrize(("items", "start"), [
    (items, start) for items, function in REDUCED.items() for start in ("", ", k")
    if start or "p[" not in function  # the first item would be the start: a tuple
])
def test_functools_reduce(items: str, start: str, tmp_path: Path) -> None:
    """Every iterable that a loop takes, with a start and without; no items and no start: Python's
    TypeError.
    """
    call = f"functools.reduce(lambda s, p: {REDUCED[items]}, {items}{start})"
    text = f"import functools, operator\n\ndef f(x, y, k):\n    return {call}\n"
    plain = written(tmp_path, text).f
    fused = fuse(plain, on_reject="raise", reassociate=False)
    for values in ([], [1.5], [2.0, -0.0, 3.25], [np.nan, 1.0, -2.0, 7.0], [*range(9)]):
        x, y = np.array(values), np.arange(len(values)) - 0.5
        ints = np.nan_to_num(x).astype("i4")
        for args in ((x, y, 3.0), (x.tolist(), y.tolist(), 3), (ints, y.astype("i4"), 2)):
            with np.errstate(all="ignore"):
                assert_same(outcome(fused, args), outcome(plain, args), call)
    assert fused.stats.compiled >= 8, fused.stats


@pytest.mark.parametrize("call", [
    "functools.reduce(lambda s, p: (s[0] + p, s[1] + p * p), x, (0.0, 0.0))",
    "functools.reduce(lambda s, p: s - p, x, x[0])",
    "functools.reduce(lambda s, p: s + max(p), rows, 0.0)",
    "functools.reduce(lambda s, p: s + p[0], rows, 0.0)",
])
def test_functools_reduce_of_tuples_and_rows(call: str, tmp_path: Path) -> None:
    plain = written(tmp_path, f"import functools\n\ndef f(x, rows):\n    return {call}\n").f
    fused = fuse(plain, on_reject="raise", reassociate=False)
    for args in ((np.arange(4.0), np.eye(3)), ([3.0, 4.0], [[1.0, 5.0], [2.0, -1.0]])):
        assert_same(outcome(fused, args), outcome(plain, args), call)
    assert fused.stats.compiled == 2, fused.stats


@pytest.mark.parametrize("body", [
    "return functools.reduce(lambda s, p: s * 2 + p, x[1:], x.pop(0))",
    "return functools.reduce(lambda s, p: s * 2 + p, (v for v in x), x.pop(0))",
    "rows = [[v, v] for v in x]\n    return functools.reduce(lambda s, p: p, rows)",
])
def test_functools_reduce_of_changing_lists(body: str, tmp_path: Path) -> None:
    """The start is evaluated after the iterable, and the items after both."""
    plain = written(tmp_path, f"import functools\n\ndef f(x):\n    {body}\n").f
    fused = fuse(plain, on_reject="silent", reassociate=False)
    for values in ([1.0], [3.0, 1.0, 2.0], [float(v) for v in range(9)], []):
        assert_same(outcome(fused, (values[:],)), outcome(plain, (values[:],)), body)


LAZY = {
    "for a, c in zip(x, (v * v - k for v in y)): s = s * 0.5 + a * c": True,
    "for i, c in enumerate(1.0 / (v + k) for v in y): s = s * 0.5 + i * c": True,
    "for c in (v + k for v in y):\n        s = s * 0.5 + c\n        k = k + 1": True,
    "for a, c in zip(x, (k * v for v in y)):\n        s = s * 0.5 + c\n        k = k + a": None,
    "for a, c in zip((1.0 / v for v in x), y): s = s * 0.5 + a * c": False,
    "a = 2.0\n    for a, c in zip(x, (v * a for v in y)): s = s * 0.5 + c": False,
    "for c in reversed(v for v in x): s = s * 0.5 + c": False,
    "for a, c in zip(zip((10 // v for v in k), x), y): s = s * 0.5 + a[0] * c": False,
    "s = min(abs(v - w) for v, w in zip(x, (u * u for u in y)))": True,
}


@pytest.mark.parametrize("loop", LAZY)
def test_loops_over_generators(loop: str, tmp_path: Path) -> None:
    """An item of a generator is evaluated when the loop gets to it, and none that zip drops."""
    text = f"def f(x, y, k):\n    s = 0.5\n    {loop}\n    return s\n"
    plain = written(tmp_path, text).f
    fused = fuse(plain, on_reject="silent", reassociate=False)
    for n in range(4):
        for m in range(4):
            x, y = np.arange(float(n))[::-1].copy(), np.arange(m) + 0.5
            k: Any = np.arange(n)[::-1].copy() if "v in k" in loop else 1.5
            for args in ((x, y, k), (x.tolist(), y.tolist(), k)):
                assert_same(outcome(fused, args), outcome(plain, args), f"{loop} {n} {m}")
    if LAZY[loop] is not None:
        assert fused.report(np.ones(2), np.ones(2), 1.5).accepted == LAZY[loop]
