"""Numbers that are Python's or NumPy's, as the data decide: the type that operations on them have.

Also where several of them meet, and of several NumPy types; with overflows that nobody is told of.
"""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from loopir.ir_verifier import verify
from transpile import fuse
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

DTYPES = ("i8", "i4", "u1", "i2", "f8", "f4")


def added_where(m, x, k, flag):
    s = 0
    for i in range(len(x)):
        if m[i] > 0:
            s += x[i]
    return s


def added_twice(m, x, k, flag):
    s = 0
    for i in range(len(x)):
        s += m[i] if flag else k
        if x[i] > 0:
            s += x[i]
    return s


def handed_on(m, x, k, flag):
    s = 0
    t = 0
    for i in range(len(x)):
        if m[i] > 0:
            s = t
        t += x[i] if flag else k
    return s, t


def bounded_below(m, x, k, flag):
    s = 0
    for i in range(len(x)):
        s = (k if flag else x[i]) + s
        s = max(s, k)
    return s


def nested(m, x, k, flag):
    s = 0
    for v in x:
        for w in m:
            s += w if flag else k
        s += v if flag else k
    return s


def parted(m, x, k, flag):
    s = 0
    for v in x:
        if flag:
            s += v
        else:
            s -= k
    return s


def crossed(m, x, k, flag):
    s = t = 0
    for v in x:
        s += k if v > 0 else t
        t += k if v < 1 else v
    return s, t


def summed(m, x, k, flag):
    return sum(k if flag else x[0] for v in x if m.ndim == 1)


def largest(m, x, k, flag):
    s = 0.0
    for i in range(len(m)):
        s -= (i - max(i, x[k])) * 0.5
    return s


def in_floats(m, x, k, flag):
    s = 0.0
    for i in range(len(m)):
        s += m[i] if flag else 0.5
        s *= x[i] if x[i] > 1 else 1.5
    return s


FUNCTIONS = (
    added_where, added_twice, handed_on, bounded_below, nested, parted, crossed, summed, largest,
    in_floats,
)


def answer(function: Callable[..., Any], *args: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(function(*args))
        except Exception as error:
            return repr(error)


@pytest.mark.share(32)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("part", range(3))
def test_types_are_python_s(part: int, function: Callable[..., Any]) -> None:
    fused = fuse(function, on_reject="raise", reassociate=False)
    for of_m, of_x, fill, flag in itertools.product(
        DTYPES[part::3], DTYPES, (1, -2, 100), (True, False)
    ):
        m = np.array([1, 0, -1, 1, 0]).astype(of_m)
        x = np.full(5, fill).astype(of_x)
        for mode in ("warn", "ignore"):
            with np.errstate(all=mode):
                assert answer(fused, m, x, 3, flag) == answer(function, m, x, 3, flag), (m, x, flag)
    assert fused.stats.compiled >= len(DTYPES) ** 2 / 3


OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod,
    operator.and_, operator.or_, operator.xor, operator.lt, max, min,
)


@pytest.mark.share(52)
@pytest.mark.parametrize("operate", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("of_m", ["i8", "i4", "u1", "i2"])
def test_what_overflows_wraps_unless_it_is_python_s(of_m: str, operate: Callable[..., Any]) -> None:
    def operated(m, x, k):
        out = 0.0
        for i in range(len(m)):
            a, b = max(i, m[i]), min(k, x[i])
            out += operate(a, b) * 0.5 + operate(a, i) + operate(k, b)
        return out

    fused = fuse(operated, on_reject="silent", reassociate=False)
    for of_x in ("i8", "i4", "u1", "i2"):
        m = np.array([1, 0, 100, 251, 7]).astype(of_m)
        x = np.array([200, 3, 131, 1, 255]).astype(of_x)
        for k in (2, 5, 250):
            with np.errstate(all="ignore"):
                assert answer(fused, m, x, k) == answer(operated, m, x, k), (m, x, k)
    assert fused.stats.compiled or fused.stats.replays.keys() == {"GUARD_DIVISION"}


@pytest.mark.share(26)
@pytest.mark.parametrize("operate", OPERATORS, ids=lambda f: f.__name__)
def test_what_does_not_fit_numpys_type_is_an_error(operate: Callable[..., Any]) -> None:
    def operated(x, k, s, flag):
        out = 0.0
        for i in range(len(x)):
            a = x[i] if flag else s
            out += operate(a, k) * 0.5 + operate(i + k, a)
        return out

    fused = fuse(operated, on_reject="silent", reassociate=False)
    for of_x, flag in itertools.product(("u1", "i1", "u2", "i2", "i4"), (True, False)):
        x = np.array([2, 3, 1]).astype(of_x)
        for k, s in itertools.product((-4, 5, 299, 70000, 2**40), (3, -1, 1000)):
            assert answer(fused, x, k, s, flag) == answer(operated, x, k, s, flag), (x, k, s)
    assert fused.stats.compiled


COMPARED = (
    "1 > b", "b < 1", "b > 0.1", "b == 0.1", "0.1 <= b", "b >= k", "b != flag", "b == x[0]",
    "b < x[1]", "max(b, 1)", "min(0.1, b)", "0 < b < 2", "-1 <= b <= 0.1",
)
CHOSEN = """
def once(x, k, flag):
    b = k if x[0] == 3 else x[1]
    return {0}

def each(x, k, flag):
    n = 0
    for i in range(len(x)):
        b = k if x[i] < 4 else x[i]
        if {0}:
            n += 1
    return n

def known(x, k, flag):
    if flag:
        b = k
    else:
        b = x[0]
    return {0}
"""


@pytest.mark.share(384)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("name", ["once", "each", "known"])
@pytest.mark.parametrize("said", COMPARED)
def test_compared_as_what_it_is(said: str, name: str, part: int, tmp_path: Path) -> None:
    function = getattr(written(tmp_path, CHOSEN.format(said)), name)
    fused = fuse(function, on_reject="silent")
    numbers = (-1, 0, 3, 70000, 0.1, 0.10000000149011612, 1e-9, 2.5, True)
    for dtype, elements in itertools.product(
        ("u1", "u2", "i2", "i8", "f2", "f4", "f8")[part::3], ((3, 1, 4), (0, 7, 0.1))
    ):
        x = np.array(elements).astype(dtype)
        for k, flag in itertools.product(numbers, (0, 1)):
            assert answer(fused, x, k, flag) == answer(function, x, k, flag), (dtype, x, k, flag)
    assert fused.stats.compiled > 60


FOLDS = {
    "the largest": "m = max(l)", "the smallest": "m = min(l)",
    "of two": "m = {start}\nfor u in l:\n    m = max(m, u)",
    "kept": "m = {start}\nfor u in l:\n    if u > m:\n        m = u",
    "kept from the end": "m = {start}\nfor u in l:\n    if u < m:\n        m = u",
    "with its place":
        "m, k = {start}, -1\nfor i in range(len(l)):\n    if l[i] >= m:\n        m, k = l[i], i",
    "chosen": "m = {start}\nfor u in l:\n    m = u if u > m else m",
    "the first above": "m = {start}\nfor u in l:\n    if u > 1:\n        m = u\n        break",
}


@pytest.mark.share(20)
@pytest.mark.parametrize("start", ["0", "x[0]", "-9", "2"])
@pytest.mark.parametrize("fold", FOLDS)
def test_folds_of_lists_of_both(fold: str, start: str, tmp_path: Path) -> None:
    """What is folded out of Python's numbers and NumPy's is what it was in the list."""
    lines = ["l = [a, b]", "for v in x[1:]:", "    l.append(v)", "    if l[-1] > 5:",
             "        l[0] = v", *FOLDS[fold].format(start=start).splitlines(), "return m, l"]
    text = "\n".join(["def f(x, a, b):", *(f"    {line}" for line in lines)])
    function = written(tmp_path, text).f
    fused = fuse(function, on_reject="silent")
    for x in (np.arange(6), np.array([3]), np.arange(4) - 9, np.array([7, 2, 2, 0, 9])):
        for a, b in ((0, 2), (-3, -3), (9, 1)):
            for given in ((x, a, b), (x * 0.5, a / 2, b / 2)):
                assert_same(outcome(fused, given), outcome(function, given), given)
    assert fused.stats.compiled > 20


STEPS = ("s = max(s, {})", "s = max({}, s)", "s = min(s, {})", "u = {}\n    s = u if u > s else s",
         "w = {}\n    if w < s:\n        s = w", "s = max(min(s, {}), -3)")
EITHER = ("max(1.5, v)", "min(v, 2.5)", "v if v > 3 else 1.5", "(v if v > 0 else -1) + 0", "v",
          "2.5", "max(v, min(1.5, s))", "abs(v) if v < 2 else max(2.5, v)")


@pytest.mark.share(102)
@pytest.mark.parametrize("value", EITHER)
@pytest.mark.parametrize("step", STEPS)
def test_extremes_of_both(step: str, value: str, tmp_path: Path) -> None:
    """What wins is what it was: also where each value may be either."""
    starts = {"zero": "0.0", "first": "x[0]", "none": "-9.0"}
    text = "".join(
        f"def {name}(x):\n  s = {start}\n  for v in x:\n    {step.format(value)}\n  return s\n\n"
        for name, start in starts.items()
    )
    module = written(tmp_path, text)
    data = [[1, 1, 1], [1.5], [2, 2.5, 2.5], [5, 1], [3, 9, 2], [-1, 2.5, -3], [1.5, 2, 1.5]]
    for name in starts:
        function = getattr(module, name)
        for reassociate in (False, True):
            fused = fuse(function, on_reject="silent", reassociate=reassociate)
            for x in map(np.array, data):
                for given in ((x * 1.0,), (x.astype(np.float32),)):
                    assert_same(outcome(fused, given), outcome(function, given), text)
            assert fused.stats.compiled


def stored_where_different(x, out):
    for i in range(1, len(x)):
        out[i] = x[i] if x[i] != x[i - 1] else 100
    return out


def stored_or_counted(x, out):
    for i in range(1, len(x)):
        out[i] = x[i] + 1 if x[i] > 2 else i
    return out


@pytest.mark.parametrize("function", [stored_where_different, stored_or_counted])
def test_they_are_stored_in_arrays_of_all_integers(function: Callable[..., Any]) -> None:
    """Their range is checked in one type: C compares no vectors of two."""
    integers = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
    for given, stored in itertools.product(integers, repeat=2):
        x = np.array([5, 5, 3, 2, 2, 7, 100], given)
        types = {"x": type_of(x), "out": type_of(np.zeros(7, stored))}
        verify(compile_stages(function, types, Options(), stop_after="lower").plan.kernel, "scalar")
    for given, stored in (("i4", "i1"), ("u8", "u1")):
        x, out = np.array([5, 5, 3, 2, 2, 7, 100], given), np.zeros(7, stored)
        fused = fuse(function, on_reject="raise")
        assert fused(x, out.copy()).tolist() == function(x, out.copy()).tolist()
        assert fused.stats.compiled == 1
