"""Axes of length 1, known at the call alone, along which other arrays are stretched."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

WHOLE = (
    "a * b", "a + b * 2", "np.maximum(a, b)", "(a - b) ** 2", "np.where(a > b, a, b)",
    "(a - b).max(axis=1)", "(a < b).any()", "a.T + b.T", "a - a.min(axis=0) + b",
)
SHAPES = ((4, 1), (1, 3), (4, 3), (1, 1))


@pytest.mark.share(26)
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("whole", WHOLE)
def test_arguments(whole: str, part: int, tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(a, b):\n    return {whole}"
    function = written(tmp_path, text).f
    fused = fuse(function, on_reject="silent", reassociate=False)
    rng = np.random.default_rng(2)
    for first, second in itertools.product(SHAPES, SHAPES[part::2]):
        args = rng.random(first), rng.random(second)
        assert_same(outcome(fused, args), outcome(function, args), args)
    assert not fused.stats.replays
    odd = rng.random((4, 3)), rng.random((4, 2))  # after all these, arrays that do not fit
    assert_same(outcome(fused, odd), outcome(function, odd), odd)
    assert fused.stats.replays == {"GUARD_SHAPE": 1}


@pytest.mark.share(3)
@pytest.mark.parametrize("first", range(3))
def test_the_next_call_has_other_lengths(first: int) -> None:
    def f(a, b):
        return a * b

    fused = fuse(f)
    forms = np.ones((4, 1)), np.ones((4, 3)), np.ones((1, 3))
    a = forms[first]
    for b in forms:
        for _ in range(2):
            assert fused(a, b).shape == (a * b).shape
    assert fused.stats.compiled == 6
    assert not fused.stats.replays


VIEWS = (
    "x = a[:, 0:1]\nreturn x.T - x",
    "x = a[:, :1]\ny = a[:, 1:2]\nreturn x.T * y + y.T",
    "return a[:, :1] * a + a[:1] + a[-1:] + a[:, -1:]",
    "return a[:, k:k + 1] * a",
    "x = a[k:k + 1]\nreturn np.maximum(x, a) - x",
    "x = a[-2:-1, :]\nx += 1\nreturn a * x",
    "s = a[0].reshape(-1, 1)\nreturn s.T - s * 2",
    "s = np.reshape(a[0], (1, -1))\nreturn (a - s) / (1 + s ** 2)",
    "out = np.zeros(a.shape)\nfor j in range(a.shape[1]):\n    out += a[:, j:j + 1] * a[0:1]\n"
    "return out",
    "a[:, k:k + 1] = a[:, :1] + 1\nreturn a",
    "x = a[:, 1:2]\nreturn x, x + a",
    "x = a[:, None, :1]\nreturn x * a",
)


@pytest.mark.share(10)
@pytest.mark.parametrize("text", VIEWS)
def test_slices(text: str, tmp_path: Path) -> None:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    function = written(tmp_path, f"import numpy as np\ndef f(a, k):\n{lines}").f
    fused = fuse(function, on_reject="silent", reassociate=False)
    compared(function, fused, [(4, 3), (3, 3), (5, 2)], [0, 1])
    assert not fused.stats.replays
    compared(function, fused, [(4, 3), (1, 1), (0, 3), (3, 0), (1, 4)], [0, -1, 2, 7, -3])


def compared(
    function: Callable[..., object], fused: Callable[..., object],
    shapes: list[tuple[int, ...]], places: list[int],
) -> None:
    for shape, k in itertools.product(shapes, places):
        args = np.random.default_rng(3).random(shape), k
        assert_same(outcome(fused, args), outcome(function, args), args)


DEAR = (
    "X / np.sqrt(v)", "X - v / 3.5", "np.sqrt(v) * X", "X * np.exp(v)[None, :]",
    "(X - v.sum() / v) * 2", "np.maximum(X, 1 / v)", "np.clip(X, 0, 1 / v)",
    "np.sum(X / np.sqrt(v), axis=1)",
)


@pytest.mark.parametrize("whole", DEAR)
def test_what_is_dear_is_computed_once_for_all_rows(whole: str, tmp_path: Path) -> None:
    function = written(tmp_path, f"import numpy as np\ndef f(X, v):\n    return {whole}").f
    fused = fuse(function, on_reject="raise")
    args = np.random.default_rng(2).random((5, 40)), np.arange(1.0, 41.0)
    np.testing.assert_allclose(fused(*args), function(*args), rtol=1e-14)
    assert fused.stats.compiled == 1
    lines = fused.emit("python", *args).splitlines()
    dear = [x for x in lines if any(f in x for f in ("sqrt(", "exp(", "divide(")) and "X[" not in x]
    assert dear
    assert all(x.startswith("        ") and not x.startswith(" " * 12) for x in dear), dear
