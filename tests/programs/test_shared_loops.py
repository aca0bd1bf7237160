"""Loops of the kinds that people want to run in threads, in the smallest chunks: Python's answer.

Values, changed arguments, exceptions and warnings, in three error states, on each instruction set.
"""
from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import same
from random_cases import MODES, Ran, ran
from shared_flat_loops import CASES
from shared_loops import Make
from small_chunks import make_chunks_small

from targets.abi import thread_pool
from targets.isa.target_registry import runnable_targets
from transpile import fuse

THREADS = (1, 3, 64)
SIZES = (0, 1, 64, 200, 1300)
PARTS = 8
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


@pytest.mark.share(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_from_several_python_threads(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also first calls, calls that fail, and those that Python must serve. (Warnings are not
    compared: which are recorded is a state of the process, not of a thread.)
    """
    make_chunks_small(monkeypatch)
    fused = {f: fuse(f, on_reject="silent") for f in [*CASES][part::PARTS]}
    calls = [(f, make, n) for f in fused for make in CASES[f] for n in (1, 200, 1300)]

    def called(f: Callable[..., Any], make: Make, n: int) -> tuple[Any, ...]:
        args, memory = fresh(make, n)
        with np.errstate(all="ignore"):
            try:
                return f(*args), memory
            except Exception as error:
                return type(error), str(error), memory

    wanted = [called(*call) for call in calls]
    with thread_pool.forced(3), concurrent.futures.ThreadPoolExecutor(6) as callers:
        for _ in range(3):
            running = [callers.submit(called, fused[f], make, n) for f, make, n in calls]
            for call, one, expected in zip(calls, running, wanted, strict=True):
                assert same(one.result(), expected), f"{call}:\n{one.result()!r}\n{expected!r}"
