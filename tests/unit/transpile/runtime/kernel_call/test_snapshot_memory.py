"""The memory of snapshots: alive whenever C may write to it, and not exchanged while in use."""
from __future__ import annotations

import os
import signal
import sys
import warnings
from array import array
from types import FrameType
from typing import Any

import numpy as np
import pytest

from targets.abi import sequence_conversion
from transpile import fuse
from transpile.runtime.kernel_call import python_wrapper, snapshot
from transpile.runtime.kernel_call.snapshot import CopyPool


def address(a: np.ndarray) -> int:
    return int(a.__array_interface__["data"][0])


def test_the_memory_is_alive_at_every_step() -> None:
    """Another thread may make a call, in which C copies to that memory, between any two lines."""
    pool, steps = CopyPool(), 0
    pool.copies((np.ones(4),))

    def look(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal steps
        steps += 1
        memory = pool._memory[int(pool.state[0])]
        assert address(memory) == pool.state[0]
        assert memory.nbytes >= pool.state[1]
        return look

    sys.settrace(look)
    try:
        pool.copies((np.ones(4000),))
    finally:
        sys.settrace(None)
    assert steps > 10
    assert pool.state[1] == 32000


def test_memory_in_use_is_not_exchanged() -> None:
    """A kernel runs without the GIL, and its arrays must be restored from what was copied."""
    pool, x = CopyPool(), np.arange(4.0)
    pool.copies((x,))
    memory = pool._memory[int(pool.state[0])]
    memory[:32] = x.view(np.uint8)
    stop = False

    def use(frame: FrameType, event: str, arg: object) -> Any:
        """Another call begins at the last moment: when the new memory has been allocated."""
        nonlocal stop
        if not stop and len(pool._memory) > 1:
            pool.state[2], stop = 1, True
        return use

    sys.settrace(use)
    try:
        pool.copies((np.ones(4000),))
    finally:
        sys.settrace(None)
    assert stop
    ((array, copy),) = pool.pooled_copies((x,))
    assert array is x
    assert copy.tolist() == x.tolist()
    pool.state[2] = 0
    pool.copies((np.ones(4000),))
    assert (pool.state[1], len(pool._memory)) == (32000, 1)


def test_large_copies_are_not_pooled() -> None:
    pool = CopyPool()
    x = np.ones(1 << 22)
    ((array, copy),) = pool.copies((x,))
    assert array is x
    assert np.array_equal(copy, x)
    assert pool.state.tolist()[1:] == [0, 0, 0]


def steps(n: int, out: Any) -> None:
    for i in range(n):
        k = i + 1
        while k > 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            out[i] += 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, ValueError])
def test_a_signal_handler_raises_while_memory_is_copied(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is called once, so that its exception must not be lost."""
    f, out, calls = fuse(steps), np.zeros(1 << 22, np.int64), 0
    f(9, np.zeros(9, np.int64))
    copied = snapshot.copy_arrays

    def alarm(*args: Any) -> None:
        raise error

    def interrupted(values: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
        return copied(values)

    monkeypatch.setattr(snapshot, "copy_arrays", interrupted)
    before = signal.signal(signal.SIGUSR1, alarm)
    try:
        with pytest.raises(error):
            f(9, out)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not out.any()
    assert calls == 1
    f(9, out)
    assert out[8] > 0


def scaled(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = x[i] * 3.0 / (1.5 + x[i] * x[i]) + x[i] / (x[i] - 7.5) - 2.0 / (x[i] + 4.5)


def scaled_rows(x: Any, out: Any) -> None:
    for i in range(len(x)):
        for j in range(3):
            out[i, j] = x[i] * 3.0 / (1.5 + x[i] * x[i]) + x[i] / (x[i] - 7.5) - 2.0 / (x[i] + 4.5)


def scaled_in_place(x: Any) -> None:
    for i in range(len(x)):
        x[i] = x[i] * 3.0 / (1.5 + x[i] * x[i]) + x[i] / (x[i] - 7.5) - 2.0 / (x[i] + 4.5)


def test_only_arrays_that_are_read_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a kernel writes and does not read Python needs no copy, to warn in its order."""
    copied = []
    original = CopyPool.copies

    def noted(self: CopyPool, arrays: tuple[Any, ...]) -> Any:
        copied.append(len(arrays))
        return original(self, arrays)

    monkeypatch.setattr(CopyPool, "copies", noted)
    x, out = np.ones(50), np.zeros((50, 3))
    f, rows, in_place = (
        fuse(k, on_reject="raise") for k in (scaled, scaled_rows, scaled_in_place)
    )
    for k, arguments in ((f, (x, out[:, 0].copy())), (rows, (x, out))):
        for _ in range(3):
            k(*arguments)
        assert k.stats.compiled == 3
        assert copied == []
    same = np.ones(50)
    f(same, same)
    assert copied == [1]
    in_place(np.ones(50))
    in_place(np.ones(50))
    assert copied == [1, 1]


def add_twice(x: Any, y: Any) -> None:
    for i in range(len(x)):
        x[i] = x[i] + 2.0 * y[i]


def test_calm_kernels_copy_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """After many calls that raise nothing large arrays are no longer copied, until one raises."""
    pools = list[CopyPool]()
    original = CopyPool.copies

    def noted(self: CopyPool, arrays: tuple[Any, ...]) -> Any:
        pools[:] = [self]
        return original(self, arrays)

    monkeypatch.setattr(CopyPool, "copies", noted)
    f = fuse(add_twice, on_reject="raise")
    small, large = np.zeros(50), np.zeros(4000)

    def copies(x: np.ndarray) -> bool:
        memory = pools[0]._memory[int(pools[0].state[0])]
        memory[:] = 255
        f(x, x)
        return bool((memory[:x.nbytes] != 255).any())

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):  # the first call, by Python, tells C of these filters
            f(large, large)
        assert copies(large)
        for _ in range(70):
            f(large, large)
        assert not copies(large)
        assert copies(small)
        assert not caught
        large[7] = 1e308
        f(large, large)
        assert [str(w.message) for w in caught] == ["overflow encountered in scalar multiply"]
        large[7] = 0.0
        assert copies(large)


@pytest.mark.parametrize("part", [np.s_[::2], np.s_[:1:-1], np.s_[1::3]])
def test_small_parts_of_arrays_are_copied_in_c(part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By Python once, which enlarges the pool. Python gets what they were, where it warns."""
    copied = []
    original = CopyPool.copies

    def noted(self: CopyPool, arrays: tuple[Any, ...]) -> Any:
        copied.append(len(arrays))
        return original(self, arrays)

    monkeypatch.setattr(CopyPool, "copies", noted)
    f = fuse(scaled_in_place)
    for zeros in (0, 0, 0, 1, 0):  # where it divides by 0, Python warns
        x, expected = (np.arange(30.0) + 7.5 * zeros for _ in range(2))
        x[part][-1] = expected[part][-1] = 7.5 if zeros else 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(x[part])
            scaled_in_place(expected[part])
        assert x.tolist() == expected.tolist()
    assert copied == [1]


def spread(x: Any, grid: Any) -> None:
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            grid[i, j] += x[i] * 0.5 - x[j]


def refuse_copies(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Makes all copies of arrays fail; the list has an item for each that was tried."""
    tried = []

    def copies(*args: Any) -> Any:
        tried.append(True)
        raise error

    monkeypatch.setattr(CopyPool, "copies", copies)
    monkeypatch.setattr(python_wrapper, "copy_arrays", copies)
    return tried


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_without_memory_for_copies_python_runs(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs none. The next call is compiled."""
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    f, x, expected = fuse(spread), np.arange(9.0), np.ones((9, 7))
    spread(x, expected)
    with monkeypatch.context() as patch:
        tried, grid = refuse_copies(error, patch), np.ones((9, 7))
        f(x, grid)
        assert tried
        assert grid.tolist() == expected.tolist()
        assert f.stats.compiled == 0
    grid = np.ones((9, 7))
    f(x, grid)
    assert grid.tolist() == expected.tolist()
    assert f.stats.compiled == 1


def test_an_interrupt_of_copying_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    f, x, grid = fuse(spread), np.arange(9.0), np.ones((9, 7))
    refuse_copies(KeyboardInterrupt, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        f(x, grid)
    assert (grid == 1).all()


def total(x: Any) -> float:
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, ValueError])
def test_what_a_signal_handler_raises_before_the_kernel_reaches_the_caller(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where an argument does not fit: then the Python wrapper makes the call."""
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    f, x, real = fuse(total), array("d", [1.0, 2.0]), sequence_conversion.packed_dtype

    def alarm(*args: Any) -> None:
        raise error

    def rings(value: Any) -> Any:
        monkeypatch.setattr(sequence_conversion, "packed_dtype", real)
        os.kill(os.getpid(), signal.SIGUSR1)
        return real(value)

    assert f(x) == 3.0
    monkeypatch.setattr(sequence_conversion, "packed_dtype", rings)
    before = signal.signal(signal.SIGUSR1, alarm)
    try:
        with pytest.raises(error):
            f(x)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert f(x) == 3.0


def test_copies_from_any_place_in_a_page() -> None:
    """C copies in pieces where the copy lies a little further in its page than the array."""

    @fuse(on_reject="raise")
    def count(x: Any) -> None:
        for i in range(len(x)):
            x[int(x[i])] += 0.25

    memory = np.zeros(2 * 512 + 50)
    for place in range(512):  # 8 bytes each
        x = memory[place : place + 43]
        x[:] = given = np.arange(43.0) + place / 2048  # not what the copy before has
        count(x)
        assert np.array_equal(x, given + 0.25)
        x[42] = 99.0
        with pytest.raises(IndexError):
            count(x)
        assert np.array_equal(x, [*given[:42] + 0.5, 99.0])
    assert count.stats.compiled > 500
    assert sum(count.stats.replays.values()) > 100, count.stats
