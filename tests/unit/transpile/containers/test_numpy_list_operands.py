"""Lists of numbers, and of rows of them, that NumPy takes for arrays."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

MADE = {
    "comprehended": "u = [v * 2 for v in x]",
    "filtered": "u = [v for v in x if v > k]",
    "appended": "u = []\n    for v in x:\n        u.append(v + k)",
    "appended if": "u = []\n    for v in x:\n        if v > k:\n            u.append(v)",
    "while": "u = []\n    t = 0.5\n    while t < k:\n        u.append(t)\n        t += 0.25",
    "of itself": "u = [1]\n    for i in range(k):\n        u.append(u[-1] + i)",
    "a multiple": "u = [0.0] * len(x)\n    for i in range(len(x)):\n        u[i] += x[i] * k",
    "list": "u = list(x)",
    "a display": "u = [k, k + 1, 7]",
    "an argument": "",
}
TAKEN = (
    "np.mean(u)", "np.sum(u) + len(u)", "np.array(u) * 2", "np.array(u, dtype=float) / 4",
    "np.asarray(u)[::-1]", "np.max(u), np.min(u)", "np.dot(u, u)", "np.cumsum(u)",
    "np.array(u) > k, u", "np.add(u, u)", "np.minimum(u, 2.5)", "np.diff(u).sum()",
    "np.ones(len(u)) * u - k",
)
TEXT = """
import numpy as np
def f(x, w, k):
    {}
    return {}
"""


def arguments(n: int, k: int) -> tuple[Any, ...]:
    return np.arange(float(n)) * 0.5, [1.5, 2.0, -4.25][: n + 1], k


@pytest.mark.share(76)
@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("made", MADE)
def test_as_numpy(made: str, taken: str, tmp_path: Path) -> None:
    given = taken if MADE[made] else re.sub(r"\bu\b", "w", taken)
    plain = written(tmp_path, TEXT.format(MADE[made], given)).f
    fused = fuse(plain, on_reject="silent")
    for n, k in ((8, 2), (3, 1), (3, 0), (0, 3), (1, 40)):
        wanted = outcome(plain, arguments(n, k))
        assert_same(outcome(fused, arguments(n, k)), wanted, f"{n} {k}")
    if (made, taken) != ("a display", "np.array(u) > k, u"):
        assert not in_parts(fused)
        assert fused.stats.compiled


MARKED = {
    "bools": "u = [False] * len(x)\n    u[0] = u[-1] = x[0] > k",
    "swapped": "u = [k] * len(x)\n    u[0], u[-1] = 7, u[0]\n    u[1], u[2] = u[2], u[0]",
    "comprehended": "u = [0 for _ in range(len(x))]\n    for i in range(1, len(x)):\n"
                    "        u[i] = u[i - 1] + k",
    "mixed": "u = [0] * len(x)\n    u[0] = u[1] = x[0]",
}


@pytest.mark.share(12)
@pytest.mark.parametrize("made", MARKED)
@pytest.mark.parametrize("taken", ["np.array(u)", "np.asarray(u), k", "np.array(u, dtype=float)",
                                   "np.array(u), u", "x[np.array(u) > 0]", "np.array(u) * 2"])
def test_of_a_value_so_many_times(made: str, taken: str, tmp_path: Path) -> None:
    plain = written(tmp_path, TEXT.format(MARKED[made], taken)).f
    fused = fuse(plain, on_reject="silent")
    for n, k in ((8, 2), (3, 1), (3, 0), (2, 5), (1, 40), (0, 1)):
        args = arguments(n, k)
        assert_same(outcome(fused, args), outcome(plain, args), f"{n} {k}")
    if made != "mixed":
        assert not in_parts(fused)
        assert fused.stats.compiled


TWICE = (
    "u, u", "u, list(u)", "u, np.array(u)", "np.array(u), np.array(u)", "u, u[:2]",
    "np.array(u), np.asarray(u)", "(u, 1), u", "tuple(u), u", "list(u), list(u)", "u, len(u)",
    "w, w", "u, w",
)
TURNED = """
import numpy as np
def f(x, w, k):
    {}
    w = np.zeros(len(x))
    v = np.ones(len(x))
    for i in range(k):
        v, w = w, v + u[0]
    {}
    return {}
"""


@pytest.mark.share(90)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("then", ["", "u = np.asarray(u)", "w = np.array(u)"])
@pytest.mark.parametrize("made", [m for m in MADE if MADE[m]])
def test_returned_twice(made: str, then: str, part: int, tmp_path: Path) -> None:
    """One object, two, and one that several ends of the compiled code return."""
    for given in TWICE[part::3]:
        plain = written(tmp_path, TURNED.format(MADE[made], then, given)).f
        fused = fuse(plain, on_reject="silent")
        for n, k in ((8, 2), (3, 1), (3, 0)):
            wanted, got = outcome(plain, arguments(n, k)), outcome(fused, arguments(n, k))
            assert_same(got, wanted, f"{given}: {n} {k}")
            if wanted.error is None:
                assert (got.value[0] is got.value[1]) == (wanted.value[0] is wanted.value[1]), given
        assert fused.stats.compiled


AGAIN = (
    "u = np.array(u)\n    return u, u * 2, len(u)", "u = np.asarray(u) + 1\n    return u.max(), u",
    "u, v = np.array(u), len(u)\n    return u * v",
    "v = len(u)\n    u = np.array(u)[:v]\n    return u",
    "v = u\n    u = np.array(u)\n    return u, v",
    "if k > 1:\n        u = np.array(u)\n    return u",
    "for _ in range(k):\n        u = np.array(u)\n    return u * 2",
    "g = lambda: len(u)\n    u = np.array(u)\n    return u, g()",
    "u = np.array(u)\n    u = u[1:]\n    return [t * 2 for t in u], u",
    "u = np.array([u, u])\n    return u", "u = np.array(u, dtype=np.float32)\n    return u, u + 1",
    "def g():\n        return u\n    u = np.array(u)\n    return g()",
    "u = np.array(u)\n    u = u.tolist()\n    u = np.array(u)\n    return u",
    "u = np.array([t + 1 for t in u])\n    return u",
)
MIXED = {
    "floats": "u = [1.5]\n    for v in x:\n        u.append(v)",
    "ints": "u = [k]\n    for v in x:\n        u.append(np.int64(v))",
    "bools": "u = [k > 1]\n    for v in x:\n        u.append(v > k)",
    "kinds": "u = [k]\n    for v in x:\n        u.append(v)",
    "narrow": "u = [0.1]\n    for v in x:\n        u.append(np.float32(v))",
}


@pytest.mark.share(76)
@pytest.mark.parametrize("then", AGAIN)
@pytest.mark.parametrize("made", [*MADE, *MIXED])
def test_an_array_by_the_name_of_its_list(made: str, then: str, tmp_path: Path) -> None:
    lines = MADE.get(made) or MIXED.get(made) or "u = [v for v in w]"
    argument = made == "an argument"
    text = f"import numpy as np\ndef f(x, {'u' if argument else 'w'}, k):\n    "
    plain = written(tmp_path, text + ("" if argument else f"{lines}\n    ") + then).f
    fused = fuse(plain, on_reject="silent")
    for n, k in ((8, 2), (3, 1), (3, 0), (0, 3)):
        wanted = outcome(plain, arguments(n, k))
        assert_same(outcome(fused, arguments(n, k)), wanted, f"{n} {k}")
    if then in AGAIN[:4] and made not in ("kinds", "narrow"):
        assert fused.stats.compiled
        assert not in_parts(fused)


ROWS = {
    "lists": "u.append([a, k * 1.0, a - k])",
    "tuples": "u.append((a, a * 2, 1.0))",
    "ints and floats": "u.append((k, a))",
    "one": "u.append([a])",
}
ASKED = (
    "np.array(u)", "np.array(u)[:, 0].sum()", "np.asarray(u, dtype=float)", "np.array(u).T, len(u)",
    "np.array(u), u[0][0] if u else None", "np.array(u), [r[0] for r in u]",
)
ROWS_TEXT = """
import numpy as np
def f(n):
    u = []
    a = 0.25
    k = 0
    while a < n:
        {}
        a += 0.75
        k += 2
    return {}
"""


@pytest.mark.share(12)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("row", ROWS)
def test_rows(row: str, asked: str, tmp_path: Path) -> None:
    plain = written(tmp_path, ROWS_TEXT.format(ROWS[row], asked)).f
    fused = fuse(plain, on_reject="silent")
    for n in (9, 1, 0, 20):
        assert_same(outcome(fused, (n,)), outcome(plain, (n,)), f"{n}")
    if "r[0]" not in asked and "None" not in asked:
        assert fused.stats.compiled == 3
        assert not in_parts(fused)


KEPT = """
    u.append([a, 1.0]); u[-1][0] = 2.0
    u.append([a, 1.0]); r = u[0]; r[1] += a
    r = [a, 1.0]; u.append(r); r[0] = 7.0
    u.append([a, 1.0]); u[-1].append(a)
    u.append([a, 1.0]) if k % 4 else u.append([a])
    u.append([a, 1.0]); u[0] = (a, a)
    u.append([a, 1.0]); v = u; v[0] = [a, a]
    u.append([a, 1.0]); u[0] += [a]
    u.append([a, [1.0]])
    u.append([a, *u[-1:]])
"""


@pytest.mark.parametrize("line", [s.strip() for s in KEPT.strip().splitlines()])
@pytest.mark.parametrize("asked", ["u", "np.array(u)", "len(u), u[-1], [1.0, 1.0] == u[0]"])
def test_rows_that_are_changed(line: str, asked: str, tmp_path: Path) -> None:
    plain = written(tmp_path, ROWS_TEXT.format(line.replace("; ", "\n        "), asked)).f
    fused = fuse(plain, on_reject="silent")
    for n in (5, 1, 0):
        assert_same(outcome(fused, (n,)), outcome(plain, (n,)), f"{line} at {n}")


def put(items, v):
    items.append(v)
    return v


def filled_elsewhere(x, n):
    def more(v):
        u.append(v)

    u, w = [], [1]
    for i in range(n):
        u.append(i)
        put(u, 0.5)
        put(w, x[i])
        more(i * 1.5)
    return np.array(u) * 2, np.mean(w), np.sum(u)


def test_filled_by_functions() -> None:
    fused = fuse(filled_elsewhere, on_reject="silent")
    for n in (4, 0, 1):
        wanted = outcome(filled_elsewhere, (np.arange(4.0), n))
        assert_same(outcome(fused, (np.arange(4.0), n)), wanted, f"{n}")


def stored_twice(u, x):
    x[: len(u)] = u
    x[1 : len(u) + 1] += u
    return x


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.bool_])
@pytest.mark.parametrize("u", [[1.5, 2.5], [1, 2], [True, False], [], [1, 2.5], [2**70], [300, 1]])
def test_stored(u: list[Any], dtype: Any) -> None:
    fused = fuse(stored_twice, on_reject="silent")
    wanted = outcome(stored_twice, (u, np.ones(4, dtype)))
    assert_same(outcome(fused, (u, np.ones(4, dtype))), wanted, f"{u}")


TUPLES_OF_TWO_DTYPES = (
    "u = []\n    for v in x:\n        if v > 0:\n            u.append((1, 2))\n"
    "        else:\n            u.append((0.5, 1))",
    "u = [(1, 2 if v > 0 else 0.5) for v in x]",
    "u = []\n    for v in x:\n        u.append((k, 2 if v > 0 else 0.5))\n    u.append((1, 1))",
    "u = []\n    for v in x:\n        u.append((v > 1, v > 2))\n    u.append((k, 1))",
    "u = []\n    for v in x:\n        u.append([1, 2] if v > 0 else [v, 1])",
)


@pytest.mark.parametrize("made", TUPLES_OF_TWO_DTYPES)
def test_the_dtype_is_that_of_the_tuples_that_occur(made: str, tmp_path: Path) -> None:
    plain = written(tmp_path, TEXT.format(made, "np.array(u)")).f
    fused = fuse(plain, on_reject="silent")
    for x in ([1.5, 2.0], [1.5, -2.0], [-1.0], []):
        given = np.array(x), [1.5], 2
        assert_same(outcome(fused, given), outcome(plain, given), f"{x}")
