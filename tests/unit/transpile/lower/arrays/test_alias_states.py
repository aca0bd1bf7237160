"""Names that are one array or another: what they overlap, what is returned, what is read on."""
from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from example_counts import examples
from lowered import PY_INT, VECTOR, lowered
from written import written

from transpile import fuse

CHOICES = {
    "a conditional": "z = x if k else y",
    "a branch": "z = x\nif k:\n    z = y",
    "a loop": "z = x\nfor _ in range(k):\n    z = y",
    "swapped": "z = y\nfor _ in range(k):\n    z, y = y, z",
    "a copy": "z = x if k else y.copy()",
    "a view": "z = x[::-1] if k else y[:]",
    "one of three": "z = x if k > 1 else y if k else x + 1",
}
USES = {
    "adds": "z[1:] += y[:-1]\nreturn x, y",
    "is added": "y[1:] += z[:-1]\nreturn x, y",
    "out": "np.add(y[1:], z[:-1], out=y[1:])\nreturn x",
    "turned": "y[::-1] = z\nreturn z",
    "added turned": "y += z[::-1]\nreturn y",
    "masked": "y[y > 2] = z[::-1][y > 2]\nreturn x, y",
    "in a loop": "for i in range(3):\n    w = x if i == k else z\n    y[1:] -= w[:-1]\nreturn x, y",
    "in an expression": "return (x if k else z) * 2 + y",
    "twice": "return (x if k else y) + (y if k else z)",
    "an element": "return (x if k else z)[2] + z[0]",
    "of a function": "return np.sum(x if k else z) + len(z)",
    "returned": "return z",
    "by element":
        "s = 0.0\nfor i in range(len(z)):\n    s += z[i] * i\n    y[i] = z[-i]\nreturn s, y",
}


PLAIN = {("a conditional", 0), ("a copy", 1)}


@pytest.mark.share(36)
@pytest.mark.parametrize(("choice", "part"), [
    pytest.param(c, k, marks=[pytest.mark.plain] * ((c, k) in PLAIN))
    for c in CHOICES for k in range(3)
])
def test_one_or_another(choice: str, part: int, tmp_path: Path) -> None:
    compiled = 0
    for use, text in [*USES.items()][part::3]:
        body = "\n    ".join(f"{CHOICES[choice]}\n{text}".split("\n"))
        f = written(tmp_path, f"import numpy as np\ndef f(x, y, k):\n    {body}\n").f
        g = fuse(f, on_reject="silent", reassociate=False)
        x, y = np.arange(8.0), np.arange(8.0) * 10 - 3
        for k in (0, 1, 2):
            for args in ((x, y, k), (x, x, k), (y[:0], x[:0], k)):
                assert_same(outcome(g, args), outcome(f, args), f"{use}, {k}")
        assert "BUILD_FAILED" not in g.stats.replays, use
        compiled += g.stats.compiled > 0
    if choice in ("a conditional", "a branch"):
        assert compiled >= 3, compiled


def test_a_temporary_of_a_loop_is_not_made_once_for_each_array() -> None:
    # `a` is the argument or one of two new arrays; `t` and the loop that fills it need neither
    ir = lowered(
        """
        def f(a, b, n):
            for k in range(n):
                t = np.empty(len(b))
                for i in range(len(b)):
                    t[i] = b[i] * 0.5
                new = np.empty(len(b))
                for i in range(len(b)):
                    new[i] = t[i] + 1.0
                a = new
            return a
        """,
        a=VECTOR, b=VECTOR, n=PY_INT,
    )
    assert ir.count("b[") == 1, ir
    assert ir.count(" + 1.0") == 3, ir  # the two arrays by turns, and the first iteration


def random_rebinding(r: random.Random, names: Sequence[str], depth: int = 0) -> str:
    """Statements that bind arrays to names anew: temporaries, copies, swaps, branches, exits."""
    lines = []
    for _ in range(r.randint(2, 5)):
        x, y, z = (r.choice(names) for _ in range(3))
        forms = [
            f"{x} = {y} * 0.5 + {z}", f"{x} = {z} - {y}", f"{x} = {y}.copy()", f"{x} = {y}",
            f"{x}, {y} = {y}, {x}", f"s += {x}[0] + {y}[-1]", f"{x}[0] += k",
        ]
        if x not in (y, z):
            forms.append(
                f"{x} = np.empty(n)\nfor i in range(n):\n    {x}[i] = {y}[i] - {z}[n - 1 - i]"
            )
        if depth == 0:
            inner = random_rebinding(r, names, 1).replace("\n", "\n    ")
            forms.append(f"if k % 2 == {r.randint(0, 1)}:\n    {inner}")
            left = r.choice(["break", f"return {x}", f"return {x}, {y}, k"])
            forms.append(f"if {z}[1] > {r.choice([0, 4, 60])}:\n    {left}")
        lines.append(r.choice(forms))
    return "\n".join(lines)


@pytest.mark.share(3)
@pytest.mark.parametrize("part", range(3))
def test_random_rebinding_of_new_arrays_in_a_loop(part: int, tmp_path: Path) -> None:
    compiled, seeds = 0, range(part + 1, examples(6) + 1, 3)
    for seed in seeds:
        r = random.Random(seed)
        names = ["a", "b", "t", "u"][: r.randint(3, 4)]
        body = random_rebinding(r, names).replace("\n", "\n        ")
        f = written(tmp_path, f"""
import numpy as np
def f(a, b, m):
    n, s = len(a), 0.0
    t = a + b
    {"u = t * 2" if seed % 2 else ""}
    for k in range(m):
        {"" if seed % 2 else "u = b - t"}
        {body}
    return s, {", ".join(names[:3 + seed % 2])}
""").f
        g = fuse(f, on_reject="silent", reassociate=False)
        for m in (0, 1, 2, 3, 5):
            results = [outcome(h, (np.arange(5.0), np.arange(5.0) * 3 - 2, m)) for h in (g, f)]
            assert_same(results[0], results[1], f"seed {seed}, {m} iterations")
        compiled += all(not g.report_for(t).rejections for t in g.signatures)
    assert compiled >= 0.4 * len(seeds)


EXITS = {
    "the new one": "if np.abs(q - p).max() < t:\n            return q\n        p = q",
    "the old one": "if np.abs(q - p).max() < t:\n            return p\n        p = q",
    "both": "if np.abs(q - p).max() < t:\n            return q, p, k\n        p = q",
    "after both":
        "e = np.abs(q - p).max()\n        p = q\n        if e < t:\n            return q, k",
    "scaled": "q /= q.sum()\n        if abs(q[0] - p[0]) < t:\n            return q[0], q\n"
              "        p = q",
    "or nothing": "if np.abs(q - p).max() < t:\n            return None\n        p = q",
}


@pytest.mark.share(12)
@pytest.mark.parametrize("leaving", EXITS)
@pytest.mark.parametrize("start", ["x", "x.copy()", "np.full(len(A), 0.25)", "np.zeros_like(x)"])
@pytest.mark.parametrize("loop", ["for k in range(n)", "while k < n"])
def test_a_loop_returns_what_it_has_made(
    leaving: str, start: str, loop: str, tmp_path: Path
) -> None:
    """The array that another name was bound to in an iteration is the result of the call: it is
    one that no iteration starts with.
    """
    counts = "k = k + 1" if loop.startswith("while") else "pass"
    text = f"""
import numpy as np
def f(A, x, n, t):
    p, k = {start}, 0
    {loop}:
        q = 0.5 * (A @ p) + 0.125
        {counts}
        {EXITS[leaving]}
    return p
"""
    plain = written(tmp_path, text).f
    fused = fuse(plain, on_reject="raise")
    for n in range(5):
        for t in (1e9, 0.2, 0.05, 0.0):
            args = np.eye(3) * 0.5 + 0.125, np.array([1.0, 2.0, 4.0]), n, t
            assert_same(outcome(fused, args), outcome(plain, args), f"{text} {n} {t}", ulps=4)


STEPS = {
    "adam": "g = x * a[0]\n        m = 0.9 * m + 0.1 * g\n        v = 0.99 * v + g**2\n"
            "        x = x - m / (np.sqrt(v) + 1.0)",
    "products": "x = F @ x\n        v = F @ v @ F.T\n        m = m + x",
    "each of the others": "x = x + m\n        m = m * 0.5 + v\n        v = v - x",
}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("start", ["np.array(a, float)", "np.zeros(len(a))", "np.ones(len(a))"])
def test_names_that_are_bound_anew_together(steps: str, start: str, tmp_path: Path) -> None:
    """Each takes its own arrays in turn, so that there are few states, whatever they start as."""
    square = "np.eye(len(a))" if steps == "products" else "np.zeros_like(x)"
    text = f"""
import numpy as np
def f(a, n, F):
    x = {start}
    m, v = np.zeros_like(x), {square}
    for t in range(n):
        {STEPS[steps]}
    return x, m, v
"""
    plain = written(tmp_path, text).f
    fused = fuse(plain, on_reject="raise")
    for n in range(5):
        args = [1, 2, 3], n, np.eye(3) * 0.5 + 0.25
        assert_same(outcome(fused, args), outcome(plain, args), f"{text} {n}", ulps=4)
