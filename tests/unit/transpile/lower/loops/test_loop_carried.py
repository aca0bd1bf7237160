"""A Python int that becomes a float in the first iteration is still an int there."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from lowered import VECTOR, lowered
from written import written

from transpile import fuse

BODIES = {
    "sums before each item": ("s = 0; out = []", "out.append(s); s += v", "out, s"),
    "of which an array is made": (
        "s = 0; r = [0] * len(x); k = 0", "r[k] = s; k += 1; s += v", "r"),
    "the value before": ("s = 0; t = 0", "t = s; s += v", "t, s"),
    "an int of it": ("s = 0; t = 0", "t = s + 1; s += v", "t, s"),
    "a quotient of it": ("s = 7; t = 0", "t = s // 2; s *= v", "t, s"),
    "a shift register": ("a = 0; b = 0; c = 0", "a = b; b = c; c = v", "a, b, c"),
    "exchanged": ("a = 0; b = 0", "a, b = b, a + v", "a, b"),
    "tuples": ("r = (0, 0)", "r = (r[1], r[0] + v)", "r"),
    "sums of it": ("s = 0; t = 0", "t = t + s; s = v", "t, s"),
    "in an inner loop": ("s = 0; t = 0", "for u in x: t, s = s, s + u * v", "t, s"),
}
"""What is before a loop over the list ``x``, in it, and returned."""


@pytest.mark.share(4)
@pytest.mark.parametrize(("before", "body", "result"), BODIES.values(), ids=BODIES)
def test_type_in_the_first_iteration(
    before: str, body: str, result: str, tmp_path: Path
) -> None:
    text = f"def f(x):\n    {before}\n    for v in x:\n        {body}\n    return {result}\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise")
    for x in ([1.5], [1.5, -2.5], [1.5, -2.5, 3.0], [-0.0], []):
        assert_same(outcome(g, (x,)), outcome(f, (x,)), f"{body} for {x}")
    assert g.stats.compiled


EITHER = {
    "a clipped value": ("s = 0", "s += max(0.0, v)", "s"),
    "a value or a constant": ("s = 0", "s = s + (v if v > 0 else 0.5)", "s"),
    "a product": ("s = 1", "s *= v if v > 0 else -1.0", "s"),
    "a difference": ("s = 0", "s -= min(v, 1.0)", "s / max(len(x), 1), -s"),
    "the value before": ("s = 0; t = 0", "t = s; s += max(v, 0.0)", "s, t, s == t"),
    "a break before": ("s = 0", "if v > 2: break\n        s += max(v, 0.0)", "s"),
    "a break behind": ("s = 0", "s += max(v, 0.0)\n        if s > 2: break", "s"),
    "in an inner loop": ("s = 0", "for u in x: s += 0.25 if u > v else u", "s"),
    "an extremum": ("s = 0", "s = max(s * 1.0, v)", "s"),
}


@pytest.mark.share(4)
@pytest.mark.parametrize(("before", "body", "result"), EITHER.values(), ids=EITHER)
def test_floats_of_either_type_after_the_first_iteration(
    before: str, body: str, result: str, tmp_path: Path
) -> None:
    """Python's floats and NumPy's, by the data; and an int where there is no iteration."""
    text = f"def f(x):\n    {before}\n    for v in x:\n        {body}\n    return {result}\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise")
    for dtype in ("f8", "f4"):
        for items in ([], [-1.5], [1.5], [-0.0], [-1.5, -2.5, 3.0], [0.5] * 9, [np.nan, 1.0]):
            x = np.array(items, dtype)
            assert_same(outcome(g, (x,)), outcome(f, (x,)), f"{body} for {x!r}")
    assert g.stats.compiled


def test_floats_of_either_type_are_carried_in_one_accumulator() -> None:
    kernel = lowered(
        """
        def f(x):
            s = 0
            for i in range(len(x)):
                s = s + max(0.0, x[i])
            return s
        """,
        x=VECTOR,
    )
    (loop,) = (line for line in kernel.splitlines() if "loop(" in line)
    assert loop.strip() == "for i in loop(0, x.shape[0], s=0.0, spy=True):"
