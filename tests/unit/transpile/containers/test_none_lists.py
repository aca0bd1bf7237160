"""Lists of None: filled by the next loop they are compiled, else they stay what they are."""
from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.containers.none_lists import none_lists_to_appends


def squares(xs):
    out = [None] * len(xs)
    for i in range(len(xs)):
        out[i] = xs[i] * xs[i] + 1.0
    return out


def roots(xs):
    n = len(xs)
    most = 0
    out = [None] * n
    for k in range(n):
        v = abs(xs[k])
        out[k] = math.sqrt(v)
        most = max(most, k)
    return out, most, len(out)


def of_pairs(xs):
    total = 0.0
    out = [None] * len(xs)
    for i, v in enumerate(xs):
        w = v * 2 if v > 0 else -v
        out[i] = w
        total += i * 0.5
    out[-1] = total
    return out


@pytest.mark.parametrize("f", [squares, roots, of_pairs])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 1000])
def test_results_are_pythons(f: Any, n: int) -> None:
    fused = fuse(f, on_reject="raise")
    random = np.random.default_rng(n)
    for xs in (random.standard_normal(n).tolist(), random.integers(-9, 9, n).tolist(),
               random.standard_normal(n).astype("f4")):
        if n == 0 and f is of_pairs:
            continue
        assert repr(fused(xs)) == repr(f(xs))
    assert fused.stats.compiled or not n


TEXT = """
def f(xs, ys, n):
    out = [None] * len(xs)
    for i in range(len(xs)):
        out[i] = xs[i] * 2
    return out
"""


@pytest.mark.parametrize(("old", "new", "is_rewritten"), [
    ("out[i] = xs[i] * 2", "out[i] = xs[i] * 2", True),
    ("range(len(xs))", "range(len(xs) - 1)", False),
    ("range(len(xs))", "range(len(ys))", False),
    ("range(len(xs))", "range(0, len(xs), 2)", False),
    ("range(len(xs))", "range(n)", False),
    ("out[i] = xs[i] * 2", "out[i - 1] = xs[i] * 2", False),
    ("out[i] = xs[i] * 2", "if xs[i]: out[i] = xs[i] * 2", False),
    ("out[i] = xs[i] * 2", "out[i] = xs[i] * 2; break", False),
    ("out[i] = xs[i] * 2", "out[i] = 1 if out[0] is None else 2", False),
    ("out[i] = xs[i] * 2", "out[i] = xs[i]; i += 1", False),
    ("out[i] = xs[i] * 2", "out[i] = len(out)", False),
    ("out[i] = xs[i] * 2", "xs = ys; out[i] = 1", False),
    ("out[i] = xs[i] * 2", "out[i] = 1; out[i] += 1", False),
    ("out[i] = xs[i] * 2", "out[i] = g(xs)", False),
    ("out[i] = xs[i] * 2", "out[i] = [v for v in ys]", False),
    ("[None]", "[0]", False),
    ("    for i", "    out.reverse()\n    for i", False),
    ("    return out", "    try: pass\n    except: pass\n    return out", False),
    ("for i in range(len(xs))", "for i, v in enumerate(xs)", True),
    ("for i in range(len(xs)):", "for i, v in enumerate(xs):\n        ys.append(v)", False),
    ("for i in range(len(xs)):", "for i, v in enumerate(xs):\n        ys += [v]", False),
    ("for i in range(len(xs)):", "for i, v in enumerate(xs):\n        w = g(ys)", False),
    ("for i in range(len(xs)):", "for i, v in enumerate(xs):\n        w = g(v)", True),
    ("for i in range(len(xs))", "for i, v in enumerate(xs, 1)", False),
])
def test_which_are_rewritten(old: str, new: str, is_rewritten: bool) -> None:
    class AllBuiltin:
        @staticmethod
        def is_builtin(*names: str) -> bool:
            return True

    tree = ast.parse(TEXT.replace(old, new)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    before = ast.unparse(tree)
    assert none_lists_to_appends(tree, AllBuiltin()) == is_rewritten  # type: ignore[arg-type]
    assert ("out.append(" in ast.unparse(tree)) == is_rewritten
    assert is_rewritten or ast.unparse(tree) == before
