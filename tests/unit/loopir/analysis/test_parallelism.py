"""Independence of iterations: what is proved, what is refused and why; no false proof at random."""
from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from example_counts import examples

from loopir.analysis.integers.affine import AffineForm
from loopir.analysis.parallelism import _Bounds, _quotient, arrays_reduced_by, parallel_obstacle
from loopir.ir_interpreter import run_kernel
from loopir.ir_parser import parse
from loopir.lazy_dataclass import replace
from loopir.nodes import Loop, PredLoop, VecLoop

INDEPENDENT = {
    "a map": "for i in loop(0, n):\n    y[i] = x[i]",
    "in place": "for i in loop(0, n):\n    y[i] = y[i] * 2.0",
    "a vector map": "for i in vec(0, n, width=W, group=32):\n    y[i:W] = x[i:W]",
    "a stride": "for i in loop(0, n // 2):\n    y[2 * i] = y[2 * i + 1]",
    "reversed": "for i in loop(0, n):\n    y[n - 1 - i] = x[i]",
    "an offset that does not change": "for i in loop(0, n - m):\n    y[i + m] = y[i + m] + x[i]",
    "groups of four": "for i in loop(range(0, n - 3, 4)):\n    y[i + 3] = y[i] + y[i + 2]",
    "a triangle from the other one": "for i in loop(0, n):\n    for j in loop(0, i):\n"
    "        z[i, j] = z[j, i]",
    "rows of a block, less those that the one before reads": "for b in loop(range(0, n, 8)):\n"
    "    for i in loop(b, min(b + 2, n)):\n        y[i] = x[i]\n"
    "    for i_1 in loop(b + 2, min(b + 8, n)):\n        z[i_1, 0] = z[i_1 + 2, 0]",
    "a block": "for b in loop(range(0, n, 64)):\n    for i in loop(b, min(b + 64, n)):\n"
    "        y[i] = x[i]",
    "a block with a name": "for b in loop(range(0, n, 64)):\n    end = min(n, b + 64)\n"
    "    for i in vec(b, end, width=W, group=32):\n        y[i:W] = x[i:W]",
    "a block in groups of four, and the rest": "for b in loop(range(0, n, 32)):\n"
    "    end = min(b + 32, n)\n    for i in loop(range(b, end - 3, 4)):\n"
    "        y[i] = x[i]\n        y[i + 3] = x[i]\n"
    "    for i_1 in loop(b + max(end - b, 0) // 4 * 4, end):\n        y[i_1] = x[i_1]",
    "rows": "for i in loop(0, n):\n    for j in loop(0, m):\n        z[i, j] = z[i, j + 1]",
    "columns": "for j in vec(0, m, width=W, group=32):\n    for i in loop(1, n):\n"
    "        z[i, j:W] = z[i - 1, j:W]",
    "a row from elsewhere": "for i in loop(0, n):\n    z[i, k[i]] = 1.0",
    "an inner sum": "for i in loop(0, n):\n    for j in loop(0, m, s=0.0):\n"
    "        s = step(s + z[i, j])\n    y[i] = s",
    "an array of its own": "for i in loop(0, n):\n    t = local(f64, 8)\n"
    "    for j in loop(0, 8):\n        t[j] = x[i]\n    y[i] = t[3]",
    "two parts": "for i in loop(0, n):\n    y[i] = x[i]\n    y[i + n] = x[i]",
    "a first row and column": "for i in loop(0, n):\n    z[i, 0] = z[0, i]",
    "a row and a column": "for j in loop(0, n):\n    z[n, j] = z[j, n]",
    "appends": "for i in pred(0, n, width=W, where=x[i:W] > 0.0, c=0):\n    append(y, c, x[i:W])",
    "appends of a branch": "for i in loop(0, n, c=0):\n    if x[i] > 0.0:\n"
    "        append(y, c, x[i])\n    else:\n        append(y, c, x[k[i]])",
    "two appends": "for i in vec(0, n, width=W, c=0, d=0):\n"
    "    append(y, c, where(x[i:W] > 0.0, x[i:W]))\n    append(u, d, x[i:W])",
    "an integer scan": "for i in vec(0, n, width=W, group=8, s=0):\n"
    "    s_1 = prefix(\"add\", s, k[i:W])\n    v[i:W] = s_1",
    "a maximum so far, in place or not": "for i in vec(0, n, width=W, group=8, s=0):\n"
    "    s_1 = prefix(\"max\", s, k[i:W])\n    l[i:W] = s_1",
    "a scan of each row": "for i in loop(0, n):\n"
    "    for j in vec(0, m, width=W, group=8, s=0):\n"
    "        s_1 = prefix(\"add\", s, k[j:W])\n        t[i, j:W] = s_1",
    "appends of the count": "for i in loop(0, n, c=0):\n    append(y, c, f64(c))",
    "appends that may overflow": "for i in loop(0, n, c=0):\n    check(k[i] < 9, \"over\")\n"
    "    append(y, c, x[i])",
    "appends, of which all are counted": "for i in loop(0, n, c=0):\n"
    "    check(x[i] > 0.0, \"replay\")\n    append(y, c, x[i])",
    "a checked scan": "for i in vec(0, n, width=W, group=8, s=0):\n"
    "    s_1, s_0 = prefix(\"add\", s, k[i:W])\n    check(~add_over(s_0, k[i:W]), \"replay\")\n"
    "    v[i:W] = s_1",
    "a while": "for i in loop(0, n):\n    while loop(v < 9.0, v=x[i]):\n"
    "        v = step(v * 2.0 + 1.0)\n    y[i] = v",
}
REFUSED = {
    "for i in loop(0, n, s=0.0):\n    s = step(s + x[i])": "each iteration needs `s`",
    "for i in loop(1, n):\n    y[i] = y[i - 1]": "element of `y`",
    "for i in loop(0, n):\n    y[0] = x[i]": "element of `y`",
    "for i in loop(0, n):\n    y[k[i]] = x[i]": "element of `y`",
    "for i in loop(0, n):\n    y[i // 2] = x[i]": "element of `y`",
    "for i in loop(range(0, n - 4, 4)):\n    y[i + 4] = y[i]": "element of `y`",
    "for b in loop(range(0, n, 64)):\n    for i in loop(b, min(b + 65, n)):\n"
    "        y[i] = x[i]": "element of `y`",
    "for b in loop(range(0, n, 32)):\n    end = min(b + 32, n)\n"
    "    for i in loop(b + (max(end - b, 0) - 1) // 4 * 4, end):\n"
    "        y[i] = x[i]": "element of `y`",
    "for i in vec(0, n, width=W, group=32):\n    y[i] = x[i + 1]": None,
    "for i in loop(0, n):\n    z[i, 0] = z[1, i]": "element of `z`",
    "for i in loop(0, n):\n    for j in loop(0, i + 1):\n        z[i, j] = z[j + 1, i]":
    "element of `z`",
    "for b in loop(range(0, n, 8)):\n    for i in loop(b, min(b + 8, n)):\n"
    "        z[i, 0] = z[i + 8, 0]": "element of `z`",
    "for i in loop(0, n):\n    y[i] = w[i + 1]": "`y` and `w` may be the same array",
    "for i in loop(0, n, c=0, s=0.0):\n    append(y, c, x[i])\n    s = step(s + x[i])":
    "it appends to `y`",
    "for i in loop(0, n, c=0):\n    append(y, c, x[i])\n    c = step(c + 1)": "it appends to `y`",
    "for i in loop(0, n, c=0):\n    if c < 9:\n        append(y, c, x[i])":
    "it reads how many elements `y` has",
    "for i in loop(0, n, c=0):\n    append(y, c, y[i])": "it reads and appends to `y`",
    "for i in loop(0, n, c=0):\n    append(y, c, w[i])": "`y` and `w` may be the same array",
    "for i in loop(0, n, c=0):\n    for j in loop(0, m):\n        append(y, c, x[j])":
    "it appends to `y`",
    "for i in vec(0, n, width=W, c=0, d=0):\n    append(y, c, x[i:W])\n"
    "    append(y, d, x[i:W])": "it appends to `y` in several places",
    "for i in loop(0, n):\n    for j in vec(0, m, width=W, c=0):\n"
    "        append(y, c, x[j:W])": "it appends to `y`",
    "for i in loop(0, n, c=0):\n    check(i < m, \"replay\")\n    if x[i] > 0.0:\n"
    "        append(y, c, 1.0)": "it may raise, and each iteration needs `c`",
    "for i in loop(0, n, c=0):\n    if k[i] > 0:\n        check(k[i] < m, \"replay\")\n"
    "        if x[k[i]] > 0.0:\n            append(y, c, 1.0)":
    "it may raise, and each iteration needs `c`",
    "for i in vec(0, n, width=W, group=8, s=0.0):\n    s_1 = prefix(\"add\", s, x[i:W])\n"
    "    y[i:W] = s_1": "`s` is a running sum of floats, which parts would round otherwise",
    "for i in vec(0, n, width=W, group=8, s=1.0):\n    s_1 = prefix(\"mul\", s, x[i:W])\n"
    "    y[i:W] = s_1": "`s` is a running product of floats, which parts would round otherwise",
    "for i in vec(0, n, width=W, group=8, s=0.0):\n    s_1 = prefix(\"max\", s, x[i:W])\n"
    "    y[i:W] = s_1": "each iteration needs `s`",
    "for i in vec(0, n, width=W, group=8, s=0, m=0):\n    s_1 = prefix(\"add\", s, k[i:W])\n"
    "    m_1 = prefix(\"add\", m, s_1)\n    v[i:W] = m_1": "each iteration needs `m`",
    "for i in vec(0, n, width=W, group=8, s=0):\n    s_1 = prefix(\"add\", s, v[i:W])\n"
    "    v[i:W] = s_1": "it reads and writes to `v`",
    "for i in vec(0, n, width=W, group=8, s=0):\n    s_1 = prefix(\"add\", s, k[i:W])\n"
    "    v[0:W] = s_1": "element of `v`",
    "for i in vec(0, n, width=W, a=0, b=0, c=0, d=0, e=0):\n" + "".join(
        f"    append({array}, {count}, x[i:W])\n"
        for array, count in zip("yuopq", "abcde", strict=True)): "it appends to `o`",
    "for i in loop(0, n):\n    if x[i] > 0.0: break\n    y[i] = 1.0": "may end",
    "t = local(f64, 8)\nfor i in loop(0, n):\n    t[0] = x[i]\n    y[i] = t[0]": "element of `t`",
}
TABLES = """
def k(n: i64, k: i64[::1], h: mut(i64[::1]), g: mut(i64[::1])):
    disjoint(k, h)
    disjoint(k, g)
    disjoint(h, g)
    for i in loop(0, k.shape[0]):
        h[k[i]] = h[k[i]] + 1
        g[i] = g[i] + 1
    for i_1 in loop(0, n):
        h[i_1] = h[i_1] + h[0]
"""
HEAD = """
def k(
    n: i64, m: i64, x: f64[::1], w: f64[::1], k: i64[::1], y: mut(f64[::1]), z: mut(f64[:, ::1]),
    u: mut(f64[::1]), v: mut(i64[::1]), l: mut(i64[::1]), o: mut(f64[::1]), p: mut(f64[::1]),
    q: mut(f64[::1]), t: mut(i64[:, ::1]),
):
    disjoint_or_same(k, l)
    disjoint(x, y)
    disjoint_or_same(w, y)
    disjoint(x, z)
"""


ADDITIONS = {
    "p = h[k[i]]\nh[k[i]] = p + 1": True,
    "a = k[i]\np = h[a]\ncheck(a < 9, \"over\")\nif a < 9:\n    h[a] = p + 1": True,
    "a = k[i]\np = h[a]\nq = g[a]\nh[a] = p + a\ng[a] = 2 + q": True,
    "if k[i] < 3:\n    h[k[i]] = h[k[i]] + 1\nelse:\n    p = h[i]\n    h[i] = p + 2": True,
    "for j in loop(0, k[i]):\n    p = h[j]\n    h[j] = p + 1": True,
    "p = h[k[i]]\nh[i] = h[i] + 1\nh[k[i]] = p + 1": False,
    "p = h[k[i]]\ng[i] = 1\nh[k[i]] = p + 1": False,  # if g is k, the places differ
    "p = h[k[i]]\nh[k[i]] = p + p": False,
    "p = h[k[i]]\nh[k[i]] = p + 1\ng[i] = p": False,
    "p = h[k[i]]\ncheck(p < 9, \"over\")\nh[k[i]] = p + 1": False,
    "p = h[0]\nfor j in loop(0, k[i]):\n    h[0] = p + 1": False,
    "p = h[0]\nif k[i] < 3:\n    h[1] = p + 1": False,
    "p = h[k[i]]\nif k[i] < 3:\n    h[i] = h[i] + 1\nh[k[i]] = p + 1": False,
}


@pytest.mark.parametrize("body", ADDITIONS)
def test_additions_by_the_name_of_the_element(body: str) -> None:
    head = TABLES[: TABLES.index("        h[k[i]]")]
    kernel = parse(head + "        " + body.replace("\n", "\n        ") + "\n")
    [loop] = kernel.body
    assert isinstance(loop, Loop)
    reason = parallel_obstacle(loop, kernel)
    assert (reason is None and "h" in arrays_reduced_by(loop, kernel)) == ADDITIONS[body], reason


def test_only_elements_that_iterations_share_need_tables() -> None:
    kernel = parse(TABLES)
    counting, other = kernel.body
    assert isinstance(counting, Loop)
    assert isinstance(other, Loop)
    assert parallel_obstacle(counting, kernel) is None
    assert arrays_reduced_by(counting, kernel) == {"h"}
    assert "element of `h`" in (parallel_obstacle(other, kernel) or "")


def obstacle(body: str) -> str | None:
    kernel = parse(HEAD + "    " + body.replace("\n", "\n    "))
    loop = kernel.body[-1]
    assert isinstance(loop, Loop | VecLoop | PredLoop)
    return parallel_obstacle(loop, kernel)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent(name: str) -> None:
    assert obstacle(INDEPENDENT[name]) is None


@pytest.mark.parametrize("body", REFUSED)
def test_refused_with_the_reason(body: str) -> None:
    reason = REFUSED[body]
    if reason is None:
        assert obstacle(body) is None  # lane 0 alone: another one of each group
    else:
        assert reason in (obstacle(body) or "")


Form = dict[str, int]


def bounds_of(lows: list[tuple[Form, int]], highs: list[tuple[Form, int]]) -> _Bounds:
    forms = [[AffineForm(terms, constant) for terms, constant in side] for side in (lows, highs)]
    return _Bounds(tuple(forms[0]), tuple(forms[1]))  # type: ignore[arg-type]  # names of variables


@pytest.mark.parametrize(("k", "lows", "highs", "low", "high"), [
    (4, [({}, -1)], [({}, 7)], [({}, -1)], [({}, 1)]),
    (4, [({"b": 8}, -5)], [({"b": -4}, 3)], [({"b": 2}, -2)], [({"b": -1}, 0)]),
    (3, [({"b": -6, "n": 3}, 1)], [({"n": 3}, -1)], [({"b": -2, "n": 1}, 0)], [({"n": 1}, -1)]),
    (4, [({"b": 6}, 0), ({}, 9)], [({"b": 4, "n": -2}, 0)], [({}, 2)], []),
    (1, [({"b": -3}, 2)], [], [({"b": -3}, 2)], []),
])
def test_bounds_of_a_quotient(
    k: int, lows: Any, highs: Any, low: Any, high: Any
) -> None:
    """Rounded down as in Python; a bound of which `k` does not divide a coefficient is left out."""
    assert _quotient(bounds_of(lows, highs), k) == bounds_of(low, high)


def test_bounds_of_quotients_at_random() -> None:
    """For all values of the variables and all numbers within the bounds."""
    r, kept = random.Random(5), 0
    for _ in range(300):
        form, k = {v: r.randint(-3, 3) * r.choice((1, 2, 4)) for v in "bn"}, r.choice((1, 2, 3, 4))
        constant, above = r.randint(-9, 9), r.randint(0, 5)
        found = _quotient(bounds_of([(form, constant)], [(form, constant + above)]), k)
        kept += bool(found.lows)
        for b, n in product(range(-3, 4), repeat=2):
            def value(f: Any, b: int = b, n: int = n) -> int:
                of = {"b": b, "n": n}
                return f.constant + sum(c * of[v] for v, c in f.terms.items())

            least = value(AffineForm(form, constant))
            for a in range(least, least + above + 1):
                assert all(value(f) <= a // k for f in found.lows)
                assert all(value(f) >= a // k for f in found.highs)
    assert kept > 100


def random_subscript(r: random.Random, names: list[str]) -> str:
    terms = [f"{r.choice((1, 1, 1, 2, 3, 4))} * {v}" for v in names if r.random() < 0.8]
    text = " + ".join([*terms, str(r.randint(0, 6))])
    text = f"min({text}, {r.randint(4, 60)})" if r.random() < 0.2 else text
    return f"max({text}, 2) // {(k := r.choice((2, 4)))} * {k}" if r.random() < 0.1 else text


def random_loop(r: random.Random) -> str:
    """A nest of a loop with a step over a block, with accesses of two arrays."""
    step = r.choice((1, 1, 2, 4))
    lines = [f"for i in loop(range(0, {r.randint(4, 16) * step}, {step})):"]
    names, indent = ["i"], "    "
    if r.random() < 0.6:
        end = r.choice((f"i + {r.randint(1, 5)}", f"min(i + {r.randint(1, 5)}, 40)", "3"))
        start = "i" if "i" in end else "0"
        lines.append(f"{indent}for j in loop({start}, {end}):")
        names, indent = ["i", "j"], indent + "    "
    for _ in range(r.randint(1, 3)):
        target, source = random_subscript(r, names), random_subscript(r, names)
        lines.append(f"{indent}y[{target}] = {r.choice('xy')}[{source}] + 1.0")
    return "\n".join(lines)


@pytest.mark.share(3)
@pytest.mark.parametrize("part", range(3))
def test_no_false_proof_at_random(part: int) -> None:
    proved = 0
    for seed in range(part, examples(500), 3):
        body = random_loop(random.Random(seed))
        kernel = parse(HEAD + "    " + body.replace("\n", "\n    "))
        loop = kernel.body[-1]
        assert isinstance(loop, Loop)
        if parallel_obstacle(loop, kernel) is not None:
            continue
        proved += 1
        results = []
        for parallel in (False, True, True, True):
            arrays = {c: np.arange(600.0) for c in "xwyuopq"} | {"z": np.zeros((9, 9))}
            arrays |= {c: np.arange(9) for c in "vl"} | {"t": np.zeros((9, 9), np.int64)}
            changed = replace(kernel, body=(replace(loop, parallel=parallel),))
            run_kernel(changed, {"n": 9, "m": 8, "k": np.zeros(9, np.int64), **arrays})
            results.append(arrays["y"].tobytes())
        assert len({*results}) == 1, body
    assert proved > 12
