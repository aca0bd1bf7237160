"""Elements in accumulators: in loops that check for overflow, too, not in those of other checks."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopir.ir_printer import parse
from loopir.ir_traversal import walk
from loopir.nodes import Accum
from loopir.passes.memory.promote import promote
from transpile import fuse


@pytest.mark.parametrize(
    ("promoted", "check"),
    [
        (True, 'check(~(x[j] > 3) | (x[j] <= 2147483646), "over")'),
        (True, 'check(~add_over(x[j], 1), "replay")'),
        (False, 'check(i < y.shape[0], "replay")'),
        (False, 'check(x[j] < 7, "replay")'),
    ],
)
def test_checks_of_overflow_do_not_keep_an_element_in_memory(promoted: bool, check: str) -> None:
    kernel = parse(
        "def k(x: i64[::1], y: mut(i64[::1])):\n"
        "    disjoint(x, y)\n"
        "    for i in loop(0, x.shape[0]):\n"
        "        for j in loop(0, x.shape[0]):\n"
        f"            {check}\n"
        "            if x[j] > 3:\n"
        "                y[i] = max(y[i], x[j] + 1)\n"
    )
    assert any(isinstance(n, Accum) for n in walk(promote(kernel))) == promoted


def longest_chain(x, lengths):
    for i in range(len(x)):
        for j in range(i):
            if x[j] < x[i]:
                lengths[i] = max(lengths[i], lengths[j] + 1)


@pytest.mark.parametrize("most", [3, 2**63 - 3])
def test_the_element_is_stored_with_and_without_an_overflow(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if most == 3:
        monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    x = np.random.default_rng(5).random(70)
    given: list[Any] = [np.full(70, most), np.full(70, most)]
    with np.errstate(over="ignore"):
        longest_chain(x, given[0])
        fuse(longest_chain)(x, given[1])
    assert np.array_equal(*given)
