"""Loops of the kinds that people want to run in threads, in the smallest chunks: Python's answer.

Values, changed arguments, exceptions and warnings, in three error states, on each instruction set.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import same
from random_cases import MODES, Ran, ran
from shared_loops import Make
from shared_loops_that_end import CASES
from small_chunks import make_chunks_small

from targets.abi import thread_pool
from targets.isa.target_registry import runnable_targets
from transpile import fuse

THREADS = (1, 3, 64)
SIZES = (0, 1, 64, 200, 1300)
TARGETS = [t.name for t in runnable_targets()]


def fresh(make: Make, n: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Arguments, and what holds their elements."""
    given = make(n)
    bases = (getattr(a, "base", None) for a in given)
    memory = (b if isinstance(b, np.ndarray) else a for a, b in zip(given, bases, strict=True))
    return given, tuple(memory)


@pytest.mark.share(20)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", CASES)
def test_shared_loops(
    program: Callable[..., Any], target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_chunks_small(monkeypatch)
    fused = fuse(program, on_reject="silent", target=target)
    for number, make in enumerate(CASES[program]):
        for n in SIZES:
            for mode in MODES:
                wanted = ran(program, lambda m=make, n=n: fresh(m, n), mode)
                for threads in THREADS:
                    with thread_pool.forced(threads):
                        got = ran(fused, lambda m=make, n=n: fresh(m, n), mode)
                    where = f"arguments {number}, size {n}, {threads} threads, {mode}"
                    for name, a, b in zip(Ran._fields, got, wanted, strict=True):
                        assert same(a, b), f"{name}, {where}:\n{a!r}\n{b!r}"
    assert "BUILD_FAILED" not in fused.stats.replays
