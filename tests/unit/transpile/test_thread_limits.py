"""`transpile.threads`: what it says, its bounds in contexts, threadpoolctl, wrong numbers."""
from __future__ import annotations

import asyncio
import concurrent.futures
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest
from example_counts import hurried_flags, with_flags
from pool_harness import run_region

import transpile
from targets.abi import pool_control, thread_pool
from targets.build import cpu_limit
from targets.build.cpu_limit import CpuLimit
from transpile.options import options_of


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 16 CPUs, of which 12 may be used, for the time of 8."""
    found = CpuLimit(cpus=16, affinity=12, quota=8.0, env=None)
    monkeypatch.setattr(cpu_limit, "cpu_limit", lambda **_: found)
    monkeypatch.setattr(pool_control, "cpu_limit", lambda **_: found)


def limit() -> int:
    return transpile.threads().limit


def test_what_limits_a_call() -> None:
    text = "Threads(limit=8, cpus=16, affinity=12, quota=8.0, env=None)"
    assert repr(transpile.threads()) == text


def test_a_bound_of_a_context() -> None:
    with transpile.threads(4) as outer:
        assert (outer.limit, limit()) == (4, 4)
        with transpile.threads(6):
            assert limit() == 4  # an inner one cannot exceed it
        with transpile.threads(2):
            assert limit() == 2
        assert limit() == 4
    assert limit() == 8
    with transpile.threads(100):
        assert limit() == 8
    with pytest.raises(KeyError), transpile.threads(3):
        raise KeyError
    assert limit() == 8


def test_the_bound_in_tasks_and_threads() -> None:
    async def bounded(number: int) -> tuple[int, int, int]:
        with transpile.threads(number):
            await asyncio.sleep(0.01)
            return limit(), await asyncio.to_thread(limit), await asyncio.create_task(later())

    async def later() -> int:
        await asyncio.sleep(0)
        return limit()

    async def all_of_them() -> list[tuple[int, int, int]]:
        return await asyncio.gather(*(bounded(n) for n in (1, 2, 3)))

    assert asyncio.run(all_of_them()) == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    with transpile.threads(2), concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(limit).result() == 8
        assert pool.submit(copy_context().run, limit).result() == 2


@pytest.mark.parametrize(("number", "error"), [
    (0, ValueError), (-1, ValueError), ("many", TypeError), (True, TypeError), (2.5, TypeError),
    (np.int8(0), ValueError), (np.True_, TypeError), (np.float64(2), TypeError),
    (np.ones(1), TypeError),
])
def test_wrong_numbers(number: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="must be a whole number, at least 1"):
        transpile.threads(number)
    with pytest.raises(error, match='must be "auto" or an int, at least 1'):
        transpile.fuse(threads=number)


@pytest.mark.parametrize("number", [2, np.int64(2), np.uint8(2)])
def test_integers_of_numpy_are_numbers(number: Any) -> None:
    assert options_of({"threads": number}) == options_of({"threads": 2})
    with transpile.threads(number) as found:
        assert type(found.limit) is int
        assert found.limit == 2


@pytest.mark.parametrize("number", [2**31, 2**32 + 1, 2**70])
def test_a_huge_number_is_no_small_one(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel keeps the bound in 32 bits."""
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", *hurried_flags()))

    def doubled(x, out):
        for i in range(len(x)):
            out[i] = x[i] * 2

    f, x = transpile.fuse(doubled, threads=number, on_reject="raise"), np.ones(30_000)
    f(x, np.zeros(30_000))
    with thread_pool.forced(3):
        before = thread_pool.pool_counts()
        f(x, np.zeros(30_000))
        after = thread_pool.pool_counts()
    assert before
    assert after
    assert after.parallel == before.parallel + 1


def test_none_is_no_number() -> None:
    with pytest.raises(TypeError, match="must be a whole number, at least 1"):
        transpile.threads(None)  # type: ignore[call-overload]


def test_threadpoolctl_sees_and_limits_the_pool() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    assert (run_region("sum", 100).y > 0).all()  # cffi is loaded
    transpile.threads()

    def seen() -> list[int]:
        all_pools = threadpoolctl.threadpool_info()
        return [p["num_threads"] for p in all_pools if p["user_api"] == "transpile"]

    assert seen() == [8]
    try:
        with threadpoolctl.threadpool_limits(limits=3):
            assert (seen(), limit()) == ([3], 3)
        with threadpoolctl.threadpool_limits(limits=2, user_api="transpile"):
            assert (seen(), limit()) == ([2], 2)
        assert (seen(), limit()) == ([8], 8)
    finally:
        pool_control.set_outer_limit(None)
