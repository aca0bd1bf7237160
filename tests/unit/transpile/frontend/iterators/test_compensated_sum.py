"""Sums of floats in the digits of Python 3.12 and later, whatever version runs the tests."""
from __future__ import annotations

import functools
import math
import operator
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from written import written

from transpile import fuse
from transpile.frontend.iterators import compensated_sum


def compensated(items: Iterable[float], start: float = 0) -> float:
    """The sum as Python 3.12 and later compute it: ints are added exactly until the first float."""
    total, lost, rest = start, 0.0, iter(items)
    if type(total) is int:
        for item in rest:
            total += item
            if type(item) is float:
                break
    if type(total) is int:
        return total
    for item in rest:
        partial = total + item
        if type(item) is float:
            is_less = abs(total) >= abs(item)
            lost += (total - partial) + item if is_less else (item - partial) + total
        total = partial
    return total + lost if lost and math.isfinite(lost) else total


SUMS = (
    "sum(x)", "sum(v * v for v in x)", "sum(v for v in x if v > 0.3)",
    "sum([v - 0.1 for v in x], 1.5)",
    "sum(v * w for v in x for w in x)", "sum(x[k] for k in range(len(x)))",
    "sum(-0.0 for v in x)", "sum(x, -0.0)", "[sum((v, 0.1, -v)) for v in x]",
)
NUMBERS = (
    0.1, 0.7, -0.3, 1e16, -1e16, 3e-9, math.inf, -math.inf, math.nan, 0.0, -0.0, 1e308, 5e-324,
)


MADE = {
    "appended": "a = []\nfor v in x: a.append(v * 0.7)\nreturn sum(a)",
    "filtered": "a = []\nfor v in x:\n    if v > 0.3: a.append(v)\nreturn sum(a), sum(a, 0.5)",
    "comprehension": "a = [v - 0.1 for v in x]\nreturn sum(a)",
    "of_a_helper": "def half(v):\n    if v > 0: return v / 2\n    return v\n"
                   "return sum(half(v) for v in x)",
    "slice": "return sum(x[1:]) if len(x) > 1 else 0.5",
    "repeated": "a = [0.1] * len(x)\nfor i in range(len(x)): a[i] += x[i]\nreturn sum(a)",
    "zipped": "a = []\nfor v in x: a.append(v / 3)\nreturn sum(u * v for u, v in zip(a, x))",
    "enumerated": "a = []\nfor v in x: a.append(v / 3)\nreturn sum(v for i, v in enumerate(a))",
    "named": "total = 0.0\nfor v in x: total += sum((v, 0.1, total))\nreturn total",
    "accumulated": "from itertools import accumulate\nreturn sum(accumulate(x, initial=0.5))",
    "pairwise": "from itertools import pairwise\nreturn sum(a * b for a, b in pairwise(x))",
    "nested": "return sum(sum(v * w for w in x) for v in x[:4])",
    "mixed": "a = []\nfor v in x: a.append(v if v > 0 else 1)\nreturn sum(a)",
    "displayed": "a = [0.1, 7, 1 << 40, 0.7, 1]\nreturn [sum(a) + v for v in x]",
    "ints_first": "a = [3, 1 << 40, 1, 0.1, 7]\nreturn [sum(a) + v for v in x]",
    "from_an_int": "return sum(x, 3), sum([v / 3 for v in x], 1 << 53)",
    "values": "d = {}\nfor i, v in enumerate(x): d[i] = v * 0.9\nreturn sum(d.values())",
    "chosen": "a = []\nfor v in x: a.append(v if v > 0.1 else 0.1)\nreturn sum(a)",
}
"""Bodies of functions in whose sums the macros do not know the types of all items."""


def check_digits(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: Iterable[float] = NUMBERS
) -> None:
    """Compares with `compensated`, to the last digit, however many terms there are."""
    monkeypatch.setattr(compensated_sum, "SUMS_ARE_COMPENSATED", True)
    f = written(tmp_path, text).f
    names = vars(written(tmp_path, text))
    names["sum"] = compensated
    wanted = names["f"]
    fused = fuse(f, on_reject="raise", cache=False)
    rng, numbers = random.Random(4), (*numbers,)
    for number in range(200):
        x = [rng.choice(numbers) if number % 2 else rng.gauss(0, 1) for _ in range(number % 7)]
        assert repr(fused(x)) == repr(wanted(x)), x
    assert fused.stats.replays == {}
    x = [rng.choice((0.1, 0.7, 1e10, -1e10)) for _ in range(300)]
    assert repr(fused(x)) == repr(wanted(x))


@pytest.mark.parametrize("text", SUMS)
def test_sums_of_floats_are_compensated(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_digits(f"def f(x):\n    return {text}\n", tmp_path, monkeypatch)


@pytest.mark.parametrize("body", MADE.values(), ids=MADE)
def test_sums_of_items_of_whose_types_lowering_knows_are_compensated(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finite = [v for v in NUMBERS if abs(v) < 1e300]  # `x[i] * 3` of others may warn, or replay
    text = "def f(x):\n    " + body.replace("\n", "\n    ") + "\n"
    check_digits(text, tmp_path, monkeypatch, finite)


@pytest.mark.parametrize(
    "text",
    [
        "a = []\nfor v in x: a.append(v)\nreturn sum(a)",  # NumPy's numbers: added plainly
        "a = []\nfor v in x: a.append(np.float64(v) * 3)\nreturn sum(a)",
        "a = []\nfor v in x: a.append(int(v * 100))\nreturn sum(a)",
        "a = []\nfor v in x: a.append(v > 0)\nreturn sum(a)",
        "a = []\nfor v in x: a.append(v > 0)\nreturn sum(a, 0.5)",
        "a = []\nfor v in x: a.append(int(v * 100))\nreturn sum(a, 0.5)",
        "a = []\nfor v in x: a.append(np.float64(v) * 3)\nreturn sum(a, 0.5)",
    ],
)
def test_sums_of_other_items_are_added_plainly(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compensated_sum, "SUMS_ARE_COMPENSATED", True)
    body = text.replace("\n", "\n    ")
    module = f"import numpy as np\ndef f(x):\n    {body}\n"
    names = vars(written(tmp_path, module))
    names["sum"] = lambda items, start=0: functools.reduce(operator.add, items, start)
    fused = fuse(written(tmp_path, module).f, on_reject="raise", cache=False)
    rng = np.random.default_rng(3)
    for number in range(1, 100):
        x = rng.normal(size=2 + number % 30)
        assert repr(fused(x)) == repr(names["f"](x)), x
    assert fused.stats.replays == {}
