"""Sums of floats in the digits of Python 3.12 and later, whatever version runs the tests."""
from __future__ import annotations

import functools
import math
import operator
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse
from transpile.frontend.iterators import compensated_sum


def compensated(items: Iterable[Any], start: Any = 0) -> Any:
    """The sum as Python 3.12 and 3.13 compute it, by ``builtin_sum_impl`` of CPython."""
    total, lost, mode = start, 0.0, type(start)
    for item in items:
        if mode is float and type(item) is float:
            partial = total + item
            if abs(total) >= abs(item):
                lost += (total - partial) + item
            else:
                lost += (item - partial) + total
            total = partial
        elif mode is float and isinstance(item, int):
            total = total + float(item)
        elif mode is float:  # plain from here on
            total, mode = (total + lost if lost and math.isfinite(lost) else total) + item, None
            lost = 0.0
        else:
            total = total + item
            if mode is int and not isinstance(item, int):
                mode = type(total) if type(total) is float else None
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
    "accumulated": "from itertools import accumulate\nreturn sum(accumulate(x[:20], initial=0.5))",
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
def test_long_sums_of_items_whose_types_lowering_finds(
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


OF_UNKNOWN_ITEMS = {
    "appended": "a = []\n    for v in x:\n        a.append(v * 1.5)\n    return sum(a)",
    "some": "a = [v for v in x if v > 0.1]; return sum(v + 0.1 for v in a if v < 1e9)",
    "helper": "return sum(scaled(x))",
    "of each": "return sum(shifted(v) for v in x)",
    "of a sum": "a = [v * v for v in x]; m = sum(a) / (len(a) + 1); return sum(v - m for v in a)",
    "values": "d = dict(enumerate(x)); return sum(d.values())",
    "slice": "a = [v * v for v in x]; return sum(a[1:])",
    "tuples": "a = [(v, v * 0.3) for v in x]; return sum(p * q for p, q in a)",
    "stored": """a = [0.0] * len(x)
    for k in range(len(x)):
        a[k] = x[k] * 1.7
    return sum(a)""",
    "nested": "a = [v * 2.0 for v in x]; return sum(p * q for p in a for q in a if q > 0.2)",
    "prefixes": "a = [v * 0.9 for v in x]; return [sum(a[:k]) for k in range(len(a))]",
    "from a float": "a = [v * 2 for v in x]; return sum(a, 2.5)",
    "from an int": "a = [v * 2 for v in x]; return sum(a, 9007199254740993)",
    "from a length": "a = [v * 2 for v in x]; n = len(x); return sum(a, n)",
    "from a bool": "a = [v * 2 for v in x]; return sum(a, True)",
    "from NumPy's": "a = [v * 2 for v in x]; return sum(a, np.float64(0.25))",
    "of NumPy's": "a = [np.float64(v) for v in x]; return sum(a, 0.5)",
    "or NumPy's": "return sum(np.float64(v) if v > 0.2 else v for v in x)",
    "or ints": "a = [v if v > 0.2 else 3 for v in x]; return sum(a)",
    "or bools": "return sum((v if v > 0.2 else v < 0.0) for v in x)",
    "ints": "a = [k * k for k in range(len(x))]; return sum(a)",
    "ints from a float": "a = [k * 3 for k in range(len(x))]; return sum(a, 0.5)",
    "bools": "a = [v > 0.2 for v in x]; return sum(a)",
    "complex": "a = [v * 1j for v in x]; return sum(a)",
}
HELPERS = """import numpy as np
def shifted(v):
    return v * 1.3 + 0.1
def scaled(x):
    out = []
    for v in x:
        out.append(v * 0.7)
    return out
"""


@pytest.mark.parametrize("name", [
    name for name in OF_UNKNOWN_ITEMS
    if name != "complex" or sys.version_info < (3, 14)  # newer rules are not compiled
])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sums_of_items_whose_types_lowering_finds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ints and bools among floats are added plainly, and all that follows a NumPy scalar."""
    monkeypatch.setattr(compensated_sum, "SUMS_ARE_COMPENSATED", True)
    text = f"{HELPERS}def f(x):\n    {OF_UNKNOWN_ITEMS[name]}\n"
    wanted = vars(written(tmp_path, text))
    wanted["sum"] = compensated
    others = "NumPy" in name or name == "complex"  # whose sums may be in another order
    fused = fuse(written(tmp_path, text).f, on_reject="raise", cache=False, reassociate=not others)
    rng = random.Random(4)
    for number in range(120):
        numbers = NUMBERS if number % 3 else (0.1, 0.7, 1e10, -1e10, 1e16, -1e16)
        x = [rng.choice(numbers) if number % 2 else rng.gauss(0, 1) for _ in range(number % 41)]
        got = fused(x)
        assert repr(got) == repr(wanted["f"](x)), x
        assert type(got) is type(wanted["f"](x))
    assert fused.stats.compiled == 120
