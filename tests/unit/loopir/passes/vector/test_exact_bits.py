"""The sizes of calls up to which a kernel surely has the bits of the source's order."""
from __future__ import annotations

import pytest

from loopir.ir_printer import parse
from loopir.passes.reduce.keep_fold_order import keep_fold_order
from loopir.passes.vector.exact_bits import exact_up_to
from loopir.passes.vector.vectorize import vectorize

HEAD = "def k(x: f64[::1], y: f64[::1], z: f64[:, ::1], n: i64, m: i64, r: mut(f64[()])):\n"


def size_of(ends: list[str], head: str = "") -> int | None:
    """For folds over the ranges from 0 to `ends`, alone, one after the other."""
    text = HEAD + head
    for k, end in enumerate(ends):
        text += f"    for i in loop(0, {end}, s_{k}=0.0):\n        s_{k} = step(s_{k} + x[i])\n"
    total = " + ".join(f"s_{k}" for k in range(len(ends)))
    kernel = keep_fold_order(parse(f"{text}    r[()] = {total}\n"))
    return exact_up_to(vectorize(kernel), {"x", "y", "n"})


@pytest.mark.parametrize(
    ("end", "size"),
    [
        ("x.shape[0]", 32), ("n", 32), ("n + 2", 30), ("x.shape[0] + y.shape[0]", 32),
        ("x.shape[0] - 1", 33), ("3 * n + 2", 10), ("x.shape[0] - y.shape[0]", 32),
        ("min(x.shape[0], m)", 32), ("min(m, n - 3)", 35), ("max(x.shape[0], 2 * n)", 16),
        ("x.shape[0] // 2", 32), ("n * n", -1), ("m", -1), ("z.shape[0]", -1),
        ("x.shape[0] - n", -1), ("max(x.shape[0], m)", -1),
    ],
)
def test_a_bound_of_the_terms_is_a_bound_of_the_size(end: str, size: int) -> None:
    assert size_of([end]) == size


def test_names_stand_for_their_values() -> None:
    assert size_of(["h"], "    h = 2 * n\n") == 16


def test_the_smallest_counts() -> None:
    assert size_of(["n", "4 * n", "n + 1"]) == 8
    assert size_of(["n", "m"]) == -1


def test_nothing_is_reordered_where_there_are_few_terms_in_any_case() -> None:
    assert size_of(["5"]) is None
