"""Results that C builds: lists of elements, and appended arrays that are cut to their length."""
from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

HEAD = "import itertools\nimport numpy as np\ndef f(x):\n"
BODIES = {
    "list of all": "    return [v for v in x]",
    "list of results": "    return [v * 2 for v in x]",
    "list of bools": "    return [v > 1 for v in x]",
    "list of some":
        "    r = []\n    for v in x:\n        if v > 1:\n            r.append(v)\n    return r",
    "two lists":
        "    r, s = [], []\n    for v in x:\n        r.append(v + v)\n        if v > 2:\n"
        "            s.append(v)\n    return r, s",
    "pairs": "    return [(k, v) for k, v in enumerate(x)]",
    "triples":
        "    r = []\n    for v in x:\n        if v > 1:\n            r.append((v, 2, v + v))\n"
        "    return r",
    "array of some": "    return x[x > 1]",
    "array of appended": "    return np.array([v + v for v in x if v > 1])",
    "array of all": "    return np.array([v + v for v in x])",
}
NESTED = {
    "rows": "    return [[v * 2 for v in r] for r in x]",
    "zeros":
        "    r = [[0] * len(x) for _ in range(3)]\n    for k, v in enumerate(x):\n"
        "        r[1][k] = int(v[0])\n    return r",
}
OF_BOTH_KINDS = {  # lists of Python's and NumPy's numbers, and the dtypes of x for which they are
    "accumulated": ("    return list(itertools.accumulate(x))", "f8 i8"),
    "accumulated by a function":
        ("    return list(itertools.accumulate(x, lambda a, b: max(a, b)))", "f8 i8"),
    "among floats":
        ("    r = [0.0] * len(x)\n    for k in range(len(x)):\n        if x[k] > 1:\n"
         "            r[k] = x[k]\n    return r", "f8"),
    "among ints":
        ("    r = [0] * len(x)\n    for k in range(len(x)):\n        if x[k] > 1:\n"
         "            r[k] = x[k]\n    return r", "f8 f4 i8"),
    "among bools":
        ("    r = [False] * len(x)\n    for k in range(len(x)):\n        if x[k] > 1:\n"
         "            r[k] = x[k] > 2\n    return r", "f8 f4 i8 ?"),
    "ints and floats":
        ("    r = [0] * len(x)\n    for k in range(len(x)):\n        if x[k] > 1:\n"
         "            r[k] = float(x[k])\n    return r", "f8 f4 i8"),
    "as many as were appended":
        ("    r, k = [0.0], 0\n    while k < len(x) and x[k] > -1:\n        r.append(x[k])\n"
         "        k += 1 if r[k] > -1 else 2\n    return r", "f8"),
    "in lists":
        ("    r = [[0.0] * len(x) for _ in range(3)]\n    for k in range(len(x)):\n"
         "        r[1][k] = x[k]\n    return r", "f8"),
}
DTYPES = ("f8", "f4", "i8", "i4", "i2", "i1", "u4", "u2", "u1", "?")


def python_functions_in_call(function: Callable[..., Any], *args: Any) -> set[str]:
    """The names of the Python functions that run in a call."""
    ran: set[str] = set()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            ran.add(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return ran


@pytest.mark.share(12)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("name", BODIES)
def test_no_python_runs(name: str, part: int, tmp_path: Path) -> None:
    plain = written(tmp_path, f"{HEAD}{BODIES[name]}\n").f
    for dtype in DTYPES[part::3]:
        compiled = fuse(plain, on_reject="raise", reassociate=False)
        for n in (5, 1, 0, 70):
            x = (np.arange(n) % 4).astype(dtype)
            assert_same(outcome(compiled, (x,)), outcome(plain, (x,)), f"{dtype}, {n}")
        x = (np.arange(9) % 4).astype(dtype)
        assert python_functions_in_call(compiled, x) == set(), dtype
        assert compiled.stats.replays == {}
        made = compiled(x)
        if isinstance(made, np.ndarray):
            assert made.base is None
            assert made.flags.owndata


@pytest.mark.parametrize("name", OF_BOTH_KINDS)
def test_lists_of_pythons_and_numpys_numbers(name: str, tmp_path: Path) -> None:
    body, dtypes = OF_BOTH_KINDS[name]
    plain = written(tmp_path, f"{HEAD}{body}\n").f
    for dtype in dtypes.split():
        compiled = fuse(plain, on_reject="raise", reassociate=False)
        for n in (5, 1, 70):
            x = (np.arange(n) % 4).astype(dtype)
            assert_same(outcome(compiled, (x,)), outcome(plain, (x,)), f"{dtype}, {n}")
        assert python_functions_in_call(compiled, x) == set(), dtype
        assert compiled.stats.replays == {}


@pytest.mark.parametrize("dtype", sorted({*DTYPES} - {"i8", "?"}))
def test_a_number_of_one_of_two_types(dtype: str, tmp_path: Path) -> None:
    """A Python float, or a NumPy scalar, which the kernel hands over as a float, too."""
    body = "    last = -0.0\n    for v in x:\n        last = v\n    return last"
    plain = written(tmp_path, f"{HEAD}{body}\n").f
    compiled = fuse(plain, on_reject="raise")
    is_float = dtype.startswith("f")
    edges = [-1.5, np.nan] if is_float else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    for v in ([], *([edge] for edge in edges)):
        x = np.array(v).astype(dtype)
        assert_same(outcome(compiled, (x,)), outcome(plain, (x,)), f"{x}")
        assert python_functions_in_call(compiled, x) == set()
    assert compiled.stats.replays == {}


@pytest.mark.parametrize("name", BODIES)
def test_of_a_list(name: str, tmp_path: Path) -> None:
    plain = written(tmp_path, f"{HEAD}    x = np.asarray(x)\n{BODIES[name]}\n").f
    compiled = fuse(plain, on_reject="raise")
    for x in ([0.5, 1.5, 2.5], [1, 2, 3], [-5, 2**40, 300]):
        assert_same(outcome(compiled, (x,)), outcome(plain, (x,)), f"{x}")


@pytest.mark.parametrize("name", NESTED)
def test_lists_of_lists(name: str, tmp_path: Path) -> None:
    plain = written(tmp_path, f"{HEAD}{NESTED[name]}\n").f
    compiled = fuse(plain, on_reject="raise")
    for x in ([[1.5, 2.5], [3.5, -0.0]], [[1, 2, 3], [4, 5, 6]], [[7], [8], [-1]]):
        assert_same(outcome(compiled, (x,)), outcome(plain, (x,)), f"{x}")
        assert "tolist" not in python_functions_in_call(compiled, x)


@pytest.mark.parametrize("name", [*BODIES, *OF_BOTH_KINDS])
def test_nothing_is_left(name: str, tmp_path: Path) -> None:
    """Each element's object is owned by the result alone, and the arrays of a call are freed."""
    body = BODIES.get(name) or OF_BOTH_KINDS[name][0]
    plain = written(tmp_path, f"{HEAD}{body}\n").f
    compiled, x = fuse(plain, on_reject="raise"), np.arange(3000.0, 3500.0)
    made = compiled(x)
    for part in made if isinstance(made, tuple) else (made,):
        if isinstance(part, list) and isinstance(part[0], float):
            item, other = part.pop(0), float("1e3") * 2.5
            assert sys.getrefcount(item) == sys.getrefcount(other)
    gc.collect()
    for _ in range(50):  # fills the free lists of tuples and floats, which a collection empties
        compiled(x)
    before = sys.getallocatedblocks()
    for _ in range(50):
        compiled(x)
    assert sys.getallocatedblocks() - before < 50
