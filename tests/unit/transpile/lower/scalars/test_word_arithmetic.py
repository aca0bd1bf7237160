"""Words, Python ints of 0 … 2**64 - 1: compiled without replays, exact, and never wrong."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

HEAD = "M = (1 << 64) - 1\nTWO64 = 2**64\nK = 0xBF58476D1CE4E5B9\n"
STEPS = f"""{HEAD}
def f(n, w):
    for i in range(n):
        w = (w * K + 1) & M
    return w
"""
SEEDS = (0, 1, 5, 0x123456789ABCDEF, (1 << 60) + 12345)


def of(expression: str, folder: Path) -> Callable[..., Any]:
    """A function of an int, which makes a word ``w`` of it, and then ``expression``."""
    text = "def f(k, n):\n    w = (k * 0x9E3779B97F4A7C15 + 0x94D049BB133111EB) & M\n"
    return written(folder, f"{HEAD}{text}    return {expression}\n").f


@pytest.mark.parametrize("expression", [
    "w", "w + 0", "w ^ k", "w | 7", "w & k", "w & -1", "w & -k", "k & w", "w >> 1", "w >> n",
    "w >> 64", "w >> 100", "(w << 3) & M", "(w << n) & M", "w // 3", "w // K", "w % K", "w % 1000",
    "w // (k + 1)", "w - w // 2", "K - (w >> 4)", "w + 1 if w < M else 0", "w - 1 if w else M",
    "~w & M", "-w & M", "w & -w", "w & ~k", "w & (w - 1)", "(w * w + k) % 2**64", "(w - K) % TWO64",
    "((w * K - k) ^ ~w) & M", "w / 2**64", "w / TWO64", "(w >> 11) * 2**-53", "float(w)", "int(w)",
    "abs(w)", "bool(w)", "not w", "w * 0.5", "w + 0.5", "w == K", "w != k", "w < K", "w <= k",
    "K > w", "-1 < w", "w > -5", "w < 2.0**63", "w >= 1e19", "w == 2.0**64", "min(w, k)",
    "max(w, K, 3)", "w if k & 1 else k", "k if w & 1 else w >> 1", "w.bit_count()",
    "w.bit_length()",
    "bin(w).count('1')", "(w, k)", "[w, 1, k]", "w > 5 and w", "w & 0 or w", "+w",
    "w & 0x8000000000000000", "1 << 63", "2**64 - 1", "-2**63", "(1 << (k & 63)) & M", "w ^ w",
])  # fmt: skip
def test_operations(expression: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    plain = of(expression, tmp_path)
    compiled = fuse(plain)
    for k in SEEDS:
        for n in (0, 1, 40, 63):
            assert_same(outcome(compiled, (k, n)), outcome(plain, (k, n)), f"{expression}, {k}")
    assert compiled.stats.compiled == 4 * len(SEEDS)


@pytest.mark.parametrize("expression", [
    "w * w", "w + w", "w << 1", "-w", "~w", "w - K - K", "w ^ -1", "w >> (n - 9)", "w << (n - 9)",
    "w // (n - n)", "w % n", "np.int64(1) + w", "w ** 2", "w / 3", "w < 0.5", "math.sqrt(w)",
    "[0] * (w >> 62)", "round(w)", "divmod(w, 7)", "w % -7", "w & 1.5",
])  # fmt: skip
def test_what_needs_more_bits_is_pythons(expression: str, tmp_path: Path) -> None:
    plain = of(expression, tmp_path)
    plain.__globals__.update(np=np, __builtins__=__builtins__)
    compiled = fuse(plain, on_reject="silent")
    for k in (*SEEDS, -1, -5):
        for n in (0, 1, 40):
            assert_same(outcome(compiled, (k, n)), outcome(plain, (k, n)), f"{expression}, {k}")


@pytest.mark.parametrize("statement", [
    "out[i] = w", "f[i] = w", "g[i] = w", "small[i] = w", "small[i] = w & 255", "flags[i] = w",
    "g[i] = w >> 1", "xs[i] = w", "xs[i] = w >> 3", "out[i] = w + 1 if w < M else 0",
    "xs.append(w)", "g[w % 4] += 1", "g[w >> 62] += 1", "g[w] = 1", "ys[i] = w", "ys[i] ^= w",
])  # fmt: skip
def test_stores(statement: str, tmp_path: Path) -> None:
    text = (
        f"{HEAD}def f(n, w, out, f, g, small, flags, xs):\n    ys = [0] * n\n    zs = []\n"
        f"    for i in range(n):\n        w = (w * K + 1) & M\n        {statement}\n"
        "        zs.append(w ^ i)\n    return w, ys, zs\n"
    )
    plain = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="silent")
    for n in (0, 1, 2, 3):
        dtypes = (np.uint64, np.float64, np.int64, np.uint8, np.bool_)
        args = (n, 7, *(np.zeros(4, d) for d in dtypes), [1, 2, 3, 4])
        assert_same(outcome(compiled, args), outcome(plain, args), f"{statement}, {n}")


def test_the_array_of_a_list_of_words_is_numpys(tmp_path: Path) -> None:
    """NumPy makes int64 or uint64 of it, as the ints are."""
    text = (
        f"{HEAD}import numpy as np\ndef f(n, w):\n    xs = []\n    for i in range(n):\n"
        "        w = (w * K) & M\n        xs.append(w >> (w & 1))\n    return np.array(xs), xs\n"
    )
    plain = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="silent")
    for n in (0, 1, 2, 20):
        for seed in (1, 2, 1 << 40):
            assert_same(outcome(compiled, (n, seed)), outcome(plain, (n, seed)), f"{n}, {seed}")


def test_a_mask_that_is_a_global_may_change(tmp_path: Path) -> None:
    module = written(tmp_path, STEPS)
    compiled = fuse(module.f)
    for mask in (2**64 - 1, 2**32 - 1, 2**63 + 5, 2**70 - 1, -1, 2**64 - 1):
        module.M = mask
        assert compiled(3, 5) == module.f(3, 5), mask


@pytest.mark.parametrize("seed", [-1, -(1 << 60)])
def test_a_negative_seed_is_pythons(seed: int, tmp_path: Path) -> None:
    plain = written(tmp_path, STEPS).f
    compiled = fuse(plain, on_reject="silent")
    for n in (0, 1, 5):
        assert compiled(n, seed) == plain(n, seed)
