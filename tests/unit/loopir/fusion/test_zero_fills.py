"""Zero fills: which arrays of zeros the first loop over them fills, and the same elements."""
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from loopir.fusion.zero_fills import fill_in_first_loop, sum_up_elements
from loopir.ir_printer import parse, show
from transpile import fuse

ARRAYS = "x: f64[::1], out: mut(f64[::1]), a: f64[:, ::1], o: mut(f64[:, ::1])"
HEAD = f"def k(n: i64, m: i64, {ARRAYS}):\n"


def filled(text: str, array: str = "out") -> str | None:
    """The body of a kernel after the fill; None if it is left as it was."""
    lines = text.strip("\n").split("\n")
    kernel = parse(HEAD + "\n".join("    " + line for line in lines) + "\n")
    (n, m) = (parse(f"def k({v}: i64):\n    t = {v}\n").body[0].value for v in "nm")
    new, names = fill_in_first_loop(kernel, {"out": (n,), "o": (n, m)})
    assert (new is kernel) == (array not in names)
    return show(new) if array in names else None


FILLED = {
    "under a condition": "for i in loop(0, n):\n    if x[i] > 0.0:\n        out[i] = x[i]",
    "added to": "for i in loop(0, n):\n    out[i] = out[i] + x[i]",
    "a name for the length": "t = n + 1\nu = t - 1\nfor i in loop(0, u):\n    out[i] = x[i]",
    "shifted": "for i in loop(0, max(n - 2, 0)):\n    out[i + 1] = x[i]",
    "used later": "for i in loop(0, n):\n    out[i] = x[i]\nfor j in loop(0, n, s=0.0):\n"
                  "    s = step(s + out[n - 1 - j])",
    "a part": "for i in loop(1, n - 1):\n    out[i] = x[i]",
    "a loop before it": "for j in loop(0, n, s=0.0):\n    s = step(s + x[j])\n"
                        "for i in loop(0, n):\n    if x[i] > s:\n        out[i] = s",
}
LEFT = {
    "two elements": "for i in loop(0, n - 1):\n    out[i] = x[i]\n    out[i + 1] = x[i]",
    "another element": "for i in loop(0, n):\n    if x[i] > 0.0:\n        out[n - 1 - i] = x[i]",
    "a part of another length": "for i in loop(0, m):\n    out[i] = x[i]",
    "a small part": "for i in loop(2, n - 9):\n    out[i] = x[i]",
    "half of it": "for i in loop(0, n // 2):\n    out[i] = x[i]",
    "a part that is loaded": "t = i64(x[0])\nfor i in loop(0, t):\n    out[i] = x[i]",
    "the element before": "for i in loop(0, n):\n    out[i] = out[i - 1] + x[i]",
    "read before": "t = out[0]\nfor i in loop(0, n):\n    out[i] = x[i] + t",
    "left early": "for i in loop(0, n, d=False):\n    out[i] = x[i]\n"
                  "    d = step(x[i] > 0.5)\n    until(d)",
    "a loop in it": "for i in loop(0, n):\n    for j in loop(0, m):\n"
                    "        out[i] = out[i] + a[i, j]",
    "in a branch": "if n > 3:\n    for i in loop(0, n):\n        out[i] = x[i]",
    "read alone": "for i in loop(0, n, s=0.0):\n    s = step(s + out[i])",
}


@pytest.mark.parametrize("text", FILLED.values(), ids=FILLED)
def test_filled(text: str) -> None:
    assert re.search(r"out\[i( \+ 1)?\] = 0.0", filled(text) or "")


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_left(text: str) -> None:
    assert filled(text) is None


def test_matrices() -> None:
    nest = "for i in loop(0, n):\n    for j in loop(0, m):\n        if a[i, j] > 0.0:\n            "
    assert "o[i, j] = 0.0" in (filled(nest + "o[i, j] = a[i, j]", "o") or "")
    assert filled(nest + "o[j, i] = a[i, j]", "o") is None
    named = nest.replace("    for j", "    t = x[i]\n    for j")
    assert "o[i, j] = 0.0" in (filled(named + "o[i, j] = t", "o") or "")
    stored = nest.replace("    for j", "    out[i] = x[i]\n    for j")
    assert filled(stored + "o[i, j] = x[i]", "o") is None
    other = nest.replace("loop(0, m)", "loop(0, n)")
    assert filled(other + "o[i, j] = a[i, j]", "o") is None


USED = "\nfor j in loop(0, n):\n    o[j, 0] = out[j] * 2.0"
NEST = "for k in loop(0, m):\n    for i in loop(0, n):\n        "
SUMMED = {
    "passes": NEST + "out[i] = out[i] + x[k + i]" + USED,
    "a check of each pass": "for k in loop(0, m):\n    check(n == max(n, 0), \"replay\")\n"
                            "    for i in loop(0, n):\n        out[i] = out[i] + x[k + i]" + USED,
    "extrema": NEST + "out[i] = max(out[i], x[k + i])" + USED,
    "stored again": NEST + "out[i] = out[i] + x[k + i]\nfor j in loop(0, n):\n"
                           "    out[j] = out[j] * 2.0",
}
UNSUMMED = {
    "not used": NEST + "out[i] = out[i] + x[k + i]",
    "used before": "out[0] = 1.0\n" + NEST + "out[i] = out[i] + x[k + i]" + USED,
    "a part": NEST.replace("loop(0, n)", "loop(1, n)") + "out[i] = out[i] + x[k + i]" + USED,
    "selected by both": NEST + "out[k] = out[k] + x[k + i]" + USED,
    "in passes": NEST + "out[i] = out[i] + o[k, i]\n        o[k, i] = out[i]" + USED,
    "another sum in it": NEST + "out[i] = out[i] + x[k + i]\n        o[i, 0] = o[i, 0] + 1.0"
                         + USED,
    "of elements beside it": NEST + "out[i] = out[i] + out[i - 1]" + USED,
}


def summed(text: str) -> str | None:
    """The kernel with sums of the elements of `out`; None if it is left as it was."""
    lines = text.split("\n")
    kernel = parse(HEAD + "    guard(n >= 0, \"GUARD_BOUNDS\")\n    disjoint(x, out)\n"
                   "    disjoint(out, o)\n" + "\n".join("    " + line for line in lines) + "\n")
    length = parse("def k(n: i64):\n    t = n\n").body[0].value
    new, names = sum_up_elements(kernel, {"out": (length,)}, reassociate=True)
    assert (new is kernel) == (not names)
    return show(new) if names else None


@pytest.mark.parametrize("text", SUMMED.values(), ids=SUMMED)
def test_elements_are_summed_up(text: str) -> None:
    found = summed(text) or ""
    assert re.search(r"for k in loop\(0, .*=0.0\):", found)
    assert "= out[i]" not in found
    assert found.index("for i in") < found.index("for k in")


@pytest.mark.parametrize("text", UNSUMMED.values(), ids=UNSUMMED)
def test_passes_stay(text: str) -> None:
    assert summed(text) is None


def test_the_temporary_is_never_made(tmp_path: Path) -> None:
    text = "import numpy as np\n\n\ndef f(x, w):\n    n = len(x) - w + 1\n    t = np.zeros(n)\n" \
           "    for k in range(w):\n        t += x[k : k + n]\n    return t / w\n"
    assert "own(" not in fuse(written(tmp_path, text).f).emit("loopir", np.ones(9), 3)


BODIES = {
    "if": "for i in range(len(x)):\n    if x[i] > 0:\n        out[i] = x[i]",
    "elif": "for i in range(len(x)):\n    if x[i] > 0.5:\n        out[i] += x[i]\n"
            "    elif x[i] < 0:\n        out[i] -= 1",
    "added": "for i in range(len(x)):\n    out[i] += x[i]\n    out[i] += y[i]",
    "continue": "for i in range(len(x)):\n    if x[i] < 0:\n        continue\n    out[i] = y[i]",
    "break": "for i in range(len(x)):\n    if x[i] < -0.9:\n        break\n    out[i] = y[i]",
    "mask": "out[x > 0] = 2",
    "interior": "for i in range(len(x)):\n    if 0 < i < len(x) - 1:\n"
                "        out[i] = x[i - 1] + x[i + 1]",
    "part": "for i in range(2, len(x) - 1):\n    out[i] = x[i - 1] - x[i + 1]",
    "some of a part": "for i in range(1, len(x)):\n    if x[i] > 0:\n        out[i] = x[i]",
    "from beyond": "for i in range(50, len(x)):\n    out[i] = x[i]",
    "up to a number": "for i in range(int(x.sum())):\n    out[i] = x[i]",
    "to a negative end": "for i in range(3, len(x) - 7):\n    out[i] += x[i]",
    "two": "for i in range(len(x)):\n    if x[i] > 0:\n        out[i] = x[i]\n"
           "for i in range(len(x)):\n    if out[i] > 0.5:\n        out[i] = 1",
    "root": "for i in range(len(x)):\n    if x[i] > 0:\n        out[i] = math.sqrt(x[i])",
    "windows": "n = max(len(x) - 3, 0)\nout = out[:n] * 0.0\nt = np.zeros(n)\n"
               "for k in range(4):\n    t += x[k : k + n]\nout = t / 4",
    "weights": "n = max(len(x) - 7, 0)\nt = np.zeros(n)\nfor k in range(int(x.sum()) % 8):\n"
               "    for i in range(n):\n        t[i] += x[i + k]\nout = np.sqrt(t * t) + y[:n]",
    "too few": "t = np.zeros(len(x))\nfor k in range(2):\n    t += x[k : k + len(x)]\nout = t / 2",
    "raises": "for i in range(len(x)):\n    if i < 900:\n        out[i] = y[i + 1]",
}


@pytest.mark.parametrize("made", ["np.zeros(len(x))", "np.zeros_like(x)", "np.zeros(len(x), 'f4')",
                                  "zeros(x.shape)", "np.zeros(len(x), np.int16)"])
@pytest.mark.parametrize("body", BODIES)
def test_same_as_python(body: str, made: str, tmp_path: Path) -> None:
    lines = "\n    ".join(BODIES[body].split("\n"))
    text = f"import math\nimport numpy as np\nfrom numpy import zeros\n\n\ndef f(x, y):\n" \
           f"    out = {made}\n    {lines}\n    return out\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise")
    random = np.random.default_rng(1)
    for n in (0, 1, 5, 40, 901, 1000):
        x, y = random.random(n) * 2 - 1, -random.random(n)
        x[n // 2 :: 7] = -0.0
        for _ in range(3):
            np.empty(n).fill(7.0)   # what the next array is made of
            assert_same(outcome(g, (x, y)), outcome(f, (x, y)), f"{n}")
