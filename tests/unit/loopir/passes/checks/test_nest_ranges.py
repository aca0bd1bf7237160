"""Nests over flattened tables: Python's answers at all ends, and no checks where they are inside.
"""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def product(a, b, c, n, m):
    for i in range(n):
        for j in range(m):
            s = a[0] * 0
            for k in range(n):
                s += a[i * n + k] * b[k * m + j]
            c[i * m + j] = s
    return c


def smoothed(a, b, c, n, m):
    for y in range(1, n - 1):
        for x in range(1, m - 1):
            p = y * m + x
            c[p] = a[p - m] + a[p + m] + a[(y - 1) * m + x - 1] + b[p]
    return c


def shifted(a, b, c, n, m):
    w = n - m
    for i in range(n):
        for j in range(m):
            c[j] += a[i * w + j]
    return c


def last_first(a, b, c, n, m):
    for i in range(n):
        for j in range(m):
            c[(n - 1 - i) * m + j] = a[i * m + j] * 2
    return c


def products(a, b, c, n, m):
    for i in range(n):
        for j in range(m):
            c[j] += (i * j + (i + 1) * (j - 2)) % 5
            c[i * j % len(c)] += i * j % 3
    return c


def products_left_early(a, b, c, n, m):
    for i in range(n << 40):
        for j in range(m << 40):
            if j > 2:
                break
            c[0] += (i * j * 3) % 7
        if i > 2:
            break
    return c


def cuboid(a, b, c, n, m):
    for i in range(n):
        for j in range(m):
            for k in range(3):
                for u in range(m):
                    c[i * m + j] += a[((i * m + j) * n + k) * m + u] - b[(k * m + j) * n + i]
    return c


def product_in_a_branch(a, b, c, n, m):
    if n > 2:
        for i in range(n):
            for j in range(m):
                c[i * m + j] = a[i * m + j] + b[j * n + i]
    else:
        for i in range(n):
            for j in range(m):
                c[i * m + j] = 2
    return c


def triangles(a, b, c, n, m):
    for i in range(n):
        for j in range(i + 1):
            c[j * m + i] += a[i * n + j]
    for i in range(n):
        for j in range(i + 1, m):
            c[i * m + j] = b[(n - 1 - i) * m + j]
    return c


def blocks(a, b, c, n, m):
    for i in range(n):
        for j in range(i * m, (i + 1) * m):
            c[j] = a[j] + b[i * m]
    return c


def packed_pairs(a, b, c, n, m):
    for i in range(n):
        for j in range(i):
            c[i * (i - 1) // 2 + j] = a[i * m] - a[j * m] + b[n * i - i * (i + 1) // 2 + j]
    return c


def antidiagonals(a, b, c, n, m):
    for d in range(n):
        for i in range(d + 1):
            c[i * m + (d - i)] = a[(d - i) * n + i] - b[d]
    return c


FUNCTIONS = [
    product, smoothed, shifted, last_first, cuboid, product_in_a_branch, triangles, blocks,
    packed_pairs, antidiagonals,
]
PRODUCTS = [products, products_left_early]
SIZES = [(0, 0), (1, 1), (2, 3), (3, 2), (17, 5), (5, 17), (-1, 4), (4, -1), (1, 40)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
@pytest.mark.parametrize("f", [*FUNCTIONS, *PRODUCTS])
def test_flattened_tables_give_pythons_answer(f: Any, dtype: str) -> None:
    compiled = fuse(f, on_reject="raise", reassociate=False)
    rng = np.random.default_rng(0)
    for n, m in SIZES:
        size = max(n * n, n * m, m * m, 1) + 1
        for missing in (0, 1, 2, size // 2):
            arrays = [rng.integers(0, 3, size - missing).astype(dtype) for _ in range(3)]
            results = [
                outcome(g, (*(x.copy() for x in arrays), n, m)) for g in (compiled, f)
            ]
            assert_same(*results, f"{n} {m} {missing}")


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("width", [1 << 31, 1 << 40, -(1 << 40), 1 << 62, (1 << 63) - 1])
def test_products_that_wrap_around_are_no_subscripts(f: Any, width: int) -> None:
    compiled = fuse(f, on_reject="raise")
    for n, m in ((0, width), (1, width), (2, width), (-width, 3)):
        arrays = [np.arange(8.0) for _ in range(3)]
        results = [outcome(g, (*(x.copy() for x in arrays), n, m)) for g in (compiled, f)]
        assert_same(*results, f"{n} {m}")


@pytest.mark.parametrize("f", [cuboid, product_in_a_branch, triangles, blocks])
def test_nests_have_a_version_without_checks(f: Any) -> None:
    a = np.arange(800.0)
    text = fuse(f, on_reject="raise").emit("loopir", a, a, a.copy(), 5, 5)
    versions = re.split(r"(?<=    guard\()|^ {4,8}else:$", text, flags=re.MULTILINE)
    nests = [v for v in versions if "loop(" in v and v.count(" in ") > 1]
    assert any("check(" not in v for v in nests), text


def test_a_product_of_flattened_matrices_is_computed_in_vectors() -> None:
    a = np.arange(64.0)
    text = fuse(product, on_reject="raise").emit("loopir", a, a, a.copy(), 8, 8)
    fast = text.split("\n    else:")[0]
    assert "check(" not in fast
    assert "vec(" in fast
