"""Intervals of the names of a kernel."""
from __future__ import annotations

import itertools

import pytest

from loopir.analysis.integers.intervals import LENGTH
from loopir.analysis.integers.name_intervals import largest_step, name_intervals
from loopir.ir_parser import parse
from loopir.ir_traversal import walk
from loopir.nodes import Loop, Var

HEAD = "def k(x: f64[::1], b: u8[::1], m: i64, n: i64, out: mut(i64[::1])):\n"
LEAST, MOST = -1 << 63, (1 << 63) - 1


def test_intervals_of_names() -> None:
    found = name_intervals(parse(HEAD + """\
    guard((m >= -5) & (m <= 100), "GUARD_INT_RANGE")
    guard(m < 50, "GUARD_INT_RANGE")
    guard(n <= x.shape[0], "GUARD_BOUNDS")
    at = i64(b[0])
    far = at - m
    for i in loop(3, x.shape[0], k=at, s=0):
        out[i] = k
        k = step(k + 1)
        s = step(s - 1)
    out[0] = k + s
"""))
    wanted = {
        "m": (-5, 49), "n": (LEAST, LENGTH[1]), "at": (0, 255), "far": (-49, 260),
        "i": (3, LENGTH[1] - 1), "k": (0, MOST), "s": (LEAST, MOST), "new": (LEAST, MOST),
    }
    assert {name: found.of(Var(name, "i64")) for name in wanted} == wanted


@pytest.mark.parametrize(("body", "most"), [
    ("        k = step(k + 1)\n", 1),
    ("        j = k + 1\n        k = step(j + 2)\n", 3),
    ("        k = step(select(x[i] > 0.0, k + 1, k))\n", 1),
    ("        if x[i] > 0.0:\n            j = give(k + 2)\n        else:\n            j = give(k)\n"
     "        k = step(j)\n", 2),
    ("        k = step(k)\n", 0),
    ("        k = step(k - 1)\n", None),
    ("        k = step(0)\n", None),
    ("        k = step(k + m)\n", None),
    ("        k = step(select(x[i] > 0.0, k + 1, m))\n", None),
    ("        k = step(k + 4611686018427387904)\n", None),
])
def test_steps_of_counters(body: str, most: int | None) -> None:
    kernel = parse(HEAD + f"    for i in loop(0, x.shape[0], k=0):\n{body}    out[0] = k\n")
    loop = next(n for n in walk(kernel) if isinstance(n, Loop))
    assert largest_step(loop.accs[0], loop.body) == most


def test_a_counter_after_many_joins_is_found_in_linear_time() -> None:
    """Each join has two ways to the one before it: 2**60 in all."""
    names = ["k", *(f"k_{n}" for n in range(60))]
    joins = "".join(
        f"        if x[i] > {n}.0:\n            {new} = give({old} + 1)\n"
        f"        else:\n            {new} = give({old})\n"
        for n, (old, new) in enumerate(itertools.pairwise(names))
    )
    body = f"{joins}        k = step({names[-1]})\n"
    kernel = parse(HEAD + f"    for i in loop(0, x.shape[0], k=0):\n{body}    out[0] = k\n")
    loop = next(n for n in walk(kernel) if isinstance(n, Loop))
    assert largest_step(loop.accs[0], loop.body) == 60
