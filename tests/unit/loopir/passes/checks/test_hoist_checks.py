"""Updates of arrays that may have to be replayed: by checks, which can be made first, and by float
conditions, which show only at the end. Arrays are copied for them where that is needed, only.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from loopir.ir_printer import parse
from loopir.passes.checks.hoist_checks import checks_before_writing, hoist_checks
from transpile import fuse
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

LARGE = 1.5e308 * (1 + 1j)
UPDATES = {
    "maximum": "h[b[i]] = max(abs(z), h[b[i]])",
    "sum": "h[b[i]] += abs(z)",
    "product": "h[b[i]] = h[b[i]] * abs(z)",
    "two arrays": "h[b[i]] = abs(z); g[i] += h[b[i]]",
    "condition": "h[b[i]] = h[b[i]] + 1.0 if abs(z) > 2.0 else 0.0",
}


@pytest.mark.share(9)
@pytest.mark.parametrize("dtype", ["u4", "i8", "i4"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", UPDATES)
def test_arrays_are_as_python_leaves_them(
    name: str, threads: Any, dtype: str, tmp_path: Path
) -> None:
    text = f"def f(b, h, g, z):\n    for i in range(len(b)):\n        {UPDATES[name]}\n"
    plain = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="silent", threads=threads)
    for places in ([0, 1, 1, 2], [3, 0], [], [1, 9], [-1, 2, 2]):
        b = np.array([p % 11 for p in places] if dtype == "u4" else places, dtype)
        for z in (3 + 4j, LARGE, 0.5j):
            given = b, np.arange(4.0), np.arange(5.0), z
            again = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in given)
            assert_same(outcome(compiled, given), outcome(plain, again), f"{dtype} {places}")
            for a, other in zip(given[:3], again[:3], strict=True):
                assert np.array_equal(a, other), (name, dtype, places, z)


COUNTS = """
def k(b: i64[::1], h: mut(i64[::1])):
    disjoint(b, h)
    for i in loop(0, b.shape[0]):
        inside = (b[i] >= 0) & (b[i] < h.shape[0])
        check(inside, "replay")
        h[select(inside, b[i], 0)] = h[select(inside, b[i], 0)] + 1
"""


def test_a_float_condition_shows_at_the_end() -> None:
    kernel = parse(COUNTS)
    assert checks_before_writing(hoist_checks(kernel))
    strict = parse('@strict("over")' + COUNTS)
    assert hoist_checks(strict) == strict
    assert not checks_before_writing(parse('@stops\n@strict("over")' + COUNTS))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_histogram_copies_no_array(threads: int) -> None:
    def counts(b: Any, h: Any) -> None:
        for i in range(len(b)):
            h[b[i]] += 1

    types = {"b": type_of(np.arange(9)), "h": type_of(np.zeros(9, int))}
    stages = compile_stages(counts, types, Options(threads=threads))
    assert checks_before_writing(stages.kernel)


LISTS = {
    "counts": "t[k[i]] += 1",
    "sums": "t[k[i]] += w[i]",
    "of a product": "t[int(k[i]) * 2 - 1] += 1",
    "under a condition": "if w[i] > 0.5: t[k[i]] += 1",
    "of a place in a list": "t[t[k[i]] % 3] += 1",
    "near the limit": "t[k[i]] += 2 ** 62",
    "the greatest": "t[k[i]] = max(t[k[i]], int(k[i]))",
    "one after the other": "t[k[i]] += 1; t[k[i] - 1] += 1",
}


@pytest.mark.share(9)
@pytest.mark.parametrize("end", ["return t", "return np.array(t)", "out[:] = t; return out"])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_that_the_data_index(name: str, dtype: str, end: str, tmp_path: Path) -> None:
    """Their checks run before the loop; the user's array is not touched where one fails."""
    text = (
        "import numpy as np\ndef f(k, w, out, n):\n    t = [0] * n\n"
        f"    for i in range(len(k)):\n        {LISTS[name]}\n    {end}\n")
    plain = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="silent", reassociate=False)
    rng = np.random.default_rng(2)
    for n, length in ((0, 0), (0, 1), (1, 0), (1, 3), (4, 2), (5, 17), (40, 1000)):
        for low, high in ((0, n), (-n, n), (0, n + 1), (-n - 1, n), (n, n + 1)):
            k = rng.integers(low, max(high, low + 1), length)
            k = (abs(k) if dtype == "uint8" else k).astype(dtype)
            given = k, np.arange(length) % 2.0, np.full(n, 7), n
            again = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in given)
            assert_same(outcome(compiled, given), outcome(plain, again), f"{n} {low} {high}")
            assert np.array_equal(given[2], again[2])


def test_checks_of_a_list_that_the_data_index_run_in_vectors() -> None:
    def counted(k, n):
        t = [0] * n
        for v in k:
            t[v] += 1
        return np.array(t)

    text = fuse(counted, on_reject="raise").emit("loopir", np.arange(9), 9)
    scalar = text[text.index("safe = "):]
    assert "check(inside" not in scalar
    assert text.index("hreduce") < text.index("safe = ")
