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
    """Statements that bind arrays to names anew: temporaries, copies, swaps, branches."""
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
    u = t * 2
    for k in range(m):
        {body}
    return s, {", ".join(names)}
""").f
        g = fuse(f, on_reject="silent", reassociate=False)
        for m in (0, 1, 2, 3, 5):
            results = [outcome(h, (np.arange(5.0), np.arange(5.0) * 3 - 2, m)) for h in (g, f)]
            assert_same(results[0], results[1], f"seed {seed}, {m} iterations")
        compiled += all(not g.report_for(t).rejections for t in g.signatures)
    assert compiled >= 0.4 * len(seeds)
