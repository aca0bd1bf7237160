"""The memory of snapshots: alive whenever C may write to it, and not exchanged while in use."""
from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime.kernel_call import snapshot
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
    assert pool.state.tolist()[1:] == [0, 0]


def steps(n: int, out: Any) -> None:
    for i in range(n):
        k = i + 1
        while k > 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            out[i] += 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, MemoryError])
def test_a_signal_handler_raises_while_memory_is_copied(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is called once, so that its exception must not be lost; without memory Python is asked."""
    f, out, calls = fuse(steps), np.zeros(1 << 22, np.int64), 0
    f(9, np.zeros(9, np.int64))
    copied = snapshot.copy_arrays

    def interrupted(values: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise error
        return copied(values)

    monkeypatch.setattr(snapshot, "copy_arrays", interrupted)
    if error is MemoryError:
        f(9, out)
        assert out[8] == 19
    else:
        with pytest.raises(error):
            f(9, out)
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
