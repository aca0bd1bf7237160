"""Flat positions: which nests over flattened tables share no element; no false proof at random."""
from __future__ import annotations

import random
from itertools import product

import pytest
from example_counts import examples

from loopir.analysis.integers.polynomials import Polynomial, Premises
from loopir.analysis.parallelism import parallel_obstacle
from loopir.ir_parser import parse
from loopir.nodes import If, Loop, VecLoop

HEAD = """
def k(n: i64, m: i64, w: i64, x: f64[::1], y: mut(f64[::1]), z: mut(f64[:, ::1])):
    guard(n <= 1048576, "GUARD_INT_RANGE")
    guard(m <= 1048576, "GUARD_INT_RANGE")
    guard(w <= 1048576, "GUARD_INT_RANGE")
    guard(z.shape[1] <= 1048576, "GUARD_INT_RANGE")
    disjoint(x, y)
    disjoint(x, z)
    disjoint(y, z)
"""
ROWS = "for i in loop(0, max(n, 0)):\n    for j in loop(0, max(m, 0)):\n        "
APART = {
    "rows": ROWS + "y[i * m + j] = x[i * m + j]",
    "rows of a known length": ROWS.replace("max(m, 0)", "640") + "y[i * 640 + j] = x[j]",
    "rows of an array's length": "for i in loop(0, max(n, 0)):\n"
    "    for j in loop(0, z.shape[1]):\n        y[i * z.shape[1] + j] = x[i]",
    "behind an offset of any size": ROWS + "y[w + (i * m + j)] = x[j]",
    "the start of the row has a name": "for i in loop(0, max(n, 0)):\n    row = i * m\n"
    "    for j in loop(0, max(m, 0)):\n        at = row + j\n        y[at] = y[at] + x[at]",
    "three of each": ROWS + "at = (i * m + j) * 3\n        y[at] = x[j]\n"
    "        y[at + 1] = x[j]\n        y[at + 2] = y[at]",
    "a loop over three of each": ROWS + "for c in loop(0, 3):\n"
    "            y[(i * m + j) * 3 + c] = x[c]",
    "a cuboid": ROWS + "for k in loop(0, max(w, 0)):\n            y[(i * m + j) * w + k] = x[k]",
    "a cuboid, written out": ROWS + "for k in loop(0, max(w, 0)):\n"
    "            y[i * m * w + j * w + k] = x[k]",
    "a triangle": "for i in loop(0, max(n, 0)):\n    for j in loop(0, i + 1):\n"
    "        y[i * n + j] = x[j]",
    "the other triangle": "for i in loop(0, max(n, 0)):\n    for j in loop(0, max(n - i, 0)):\n"
    "        y[i * n + (i + j)] = x[j]",
    "transposed": ROWS + "y[j * n + i] = x[i * m + j]",
    "transposed, of a known length": "for i in loop(0, 64):\n    for j in loop(0, max(m, 0)):\n"
    "        y[j * 64 + i] = x[j]",
    "two axes changed": ROWS + "for k in loop(0, max(w, 0)):\n"
    "            y[(k * n + i) * m + j] = x[k]",
    "rows less two": "if (n >= 0) & (m >= 0):\n    for i in loop(0, max(n - 2, 0)):\n"
    "        for j in loop(0, max(m - 2, 0)):\n            for k in loop(0, 3):\n"
    "                y[(i * (m - 2) + j) * 9 + k * 3 + 1] = x[k]",
    "as many blocks as fit": "if w >= 0:\n    b = y.shape[0] // w\n"
    "    if b <= 1048576:\n        for i in loop(0, max(b, 0)):\n"
    "            for j in loop(0, max((i + 1) * w - i * w, 0)):\n"
    "                y[i * w + j] = x[j]",
    "blocks": "if w >= 0:\n    for i in loop(0, max(n, 0)):\n"
    "        for j in loop(i * w, i * w + w):\n            y[j] = x[j]",
    "blocks, from 0": "for i in loop(0, max(n, 0)):\n"
    "    for j in loop(0, max((i + 1) * w - i * w, 0)):\n        y[i * w + j] = x[j]",
    "the last block may be short": "if w >= 0:\n    for i in loop(0, max(n, 0)):\n"
    "        for j in loop(i * w, min(i * w + w, y.shape[0])):\n            y[j] = x[j]",
    "backwards": ROWS + "y[(n - i) * m - j] = x[j]",
    "in place": ROWS + "y[i * m + j] = y[i * m + (m - j - 1)]",
    "vectors": "for i in loop(0, max(n, 0)):\n    for j in vec(0, max(m, 0), width=W):\n"
    "        y[i * m + j:W] = x[i * m + j:W]",
    "flat on one axis": ROWS + "for k in loop(0, max(w, 0)):\n"
    "            z[k, i * m + j] = x[k]",
    "as many rows as fit": "if x.shape[0] >= 16:\n    rows = y.shape[0] // x.shape[0]\n"
    "    for i in loop(0, rows):\n        for j in loop(0, x.shape[0]):\n"
    "            y[i * x.shape[0] + j] = x[j]",
}
TOGETHER = {
    "rows overlap": ROWS.replace("max(m, 0)", "max(m + 1, 0)") + "y[i * m + j] = x[j]",
    "the end of a row is the start of the next": ROWS + "y[i * m + j] = y[i * m + j + 1]",
    "the row above": "for i in loop(1, max(n, 1)):\n    for j in loop(0, max(m, 0)):\n"
    "        y[i * m + j] = y[(i - 1) * m + j]",
    "rows of another length": ROWS + "y[i * w + j] = x[j]",
    "columns overlap": ROWS + "y[j * (n - 1) + i] = x[j]",
    "a product that may wrap around": ROWS + "y[i * (m * x.shape[0]) + j] = 1.0",
    "all in one row": ROWS + "y[j] = x[i]",
    "a square of i": "for i in loop(0 - 3, max(n, 0)):\n    y[i * i] = x[0]",
    "the antidiagonal": ROWS + "y[(i + j) * m + j] = x[j]",
}


def obstacle(body: str) -> str | None:
    kernel = parse(HEAD + "    " + body.replace("\n", "\n    "))
    loop = kernel.body[-1]
    while isinstance(loop, If):
        loop = loop.then[-1]
    assert isinstance(loop, Loop | VecLoop)
    return parallel_obstacle(loop, kernel)


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    assert obstacle(APART[name]) is None


@pytest.mark.parametrize("name", TOGETHER)
def test_together(name: str) -> None:
    assert obstacle(TOGETHER[name]) is not None


def test_far_apart_modulo_the_size_of_a_word() -> None:
    """Without the guard row 4 begins where row 0 does, if a row has 2**62 elements."""
    body = "for i in loop(0, 8):\n    for j in loop(0, max(m, 0)):\n        y[i * m + j] = x[j]"
    kernel = parse(HEAD + "    " + body.replace("\n", "\n    "))
    for most, is_apart in ((1 << 20, True), (1 << 60, True), (1 << 62, False)):
        text = HEAD.replace("m <= 1048576", f"m <= {most}")
        kernel = parse(text + "    " + body.replace("\n", "\n    "))
        [loop] = kernel.body
        assert isinstance(loop, Loop)
        assert (parallel_obstacle(loop, kernel) is None) == is_apart, most


def random_nest(r: random.Random) -> tuple[str, str]:
    """A nest as Loop IR and, with its stores noted, as Python."""
    depth, ir, python = r.choice((2, 2, 3)), [], []
    ends = [r.choice(("n", "m", "w", "3", "n - 1")), *(
        r.choice(("n", "m", "w", "4", "i + 1", "n - i", "min(m, w)", "m - 1"))
        for _ in range(depth - 1)
    )]
    for k, (v, end) in enumerate(zip("ijk", ends, strict=False)):
        start = r.choice((0, 0, 0, 1)) if k else 0
        ir.append("    " * k + f"for {v} in loop({start}, max({end}, {start})):")
        python.append("    " * k + f"for {v} in range({start}, {end}):")
    names = "ijk"[:depth]
    order = r.sample(names, depth) if r.random() < 0.3 else [*names]
    at = order[0]
    for v in order[1:]:
        width = r.choice((ends[names.index(v)], "n", "m", "w", "3"))
        width = width if width in ("n", "m", "w", "3", "4") else "n"
        at = f"({at}) * {width} + {v}"
    if r.random() < 0.3:
        at = f"({at}) * 2"
    for _ in range(r.choice((1, 1, 2))):
        place = f"{at} + {r.choice(('0', '0', '1', 'w', 'm'))}"
        ir.append("    " * depth + f"y[{place}] = 1.0")
        python.append("    " * depth + f"note(i, {place})")
    return "\n".join(ir), "\n".join(python)


@pytest.mark.share(2)
@pytest.mark.parametrize("part", range(2))
def test_no_false_proof_at_random(part: int) -> None:
    proved = 0
    for seed in range(part, examples(600), 2):
        ir, python = random_nest(random.Random(seed))
        if obstacle(ir) is not None:
            continue
        proved += 1
        code = compile(python, "nest", "exec")
        for n, m, w in product((-2, 0, 1, 2, 3, 5), repeat=3):
            touched: dict[int, int] = {}

            def note(i: int, place: int, touched: dict[int, int] = touched) -> None:
                assert touched.setdefault(place, i) == i, (ir, n, m, w)  # noqa: B023

            exec(code, {"n": n, "m": m, "w": w, "note": note})
    assert proved > 25


def test_premises() -> None:
    n, i, w = (Polynomial.atom(a) for a in "niw")
    one = Polynomial.constant(1)
    ranges = {"n": (-5, 9), "i": (0, 9), "w": (-(1 << 63), (1 << 63) - 1)}
    premises = Premises([n - i - one, w - one], ranges.__getitem__)
    assert premises.prove_nonnegative(n * w - i * w - one)
    assert premises.prove_nonnegative(n - one)
    assert not premises.prove_nonnegative(n * w - i * w - one - one)
    assert not Premises([n - i - one], ranges.__getitem__).prove_nonnegative(n * w - i * w)


def test_polynomials() -> None:
    i, w = Polynomial.atom("i"), Polynomial.atom("w")
    flat = (i + i) * w + w * Polynomial.constant(3)
    assert flat.split("i") == (w + w, w * Polynomial.constant(3))
    assert flat.divided(w) == (i + i + Polynomial.constant(3), Polynomial())
    assert flat.substitute("w", i).split("i") is None
    assert flat.bounds({"i": (0, 2), "w": (-1, 4)}.__getitem__) == (-7, 28)
    assert (flat - flat).number == 0
