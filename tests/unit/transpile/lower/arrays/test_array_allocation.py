"""What NumPy makes of an array has its axes in the order of the array's: ours, too."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from transpile import fuse


def doubled(A):
    return A * 2 + 1, A > 2, A.clip(0, 1), -A[1:]


def copied(A):
    return A.copy(), np.copy(A), A.astype(np.float32), np.round(A, 1)


def along(A):
    return A.sum(axis=0), A.max(axis=-1), np.cumsum(A, axis=0), A.mean(axis=1, keepdims=True)


def beside(A):
    return A[:, None] + A, A.T * 2, np.where(A > 2, A, 0.0), np.zeros_like(A)


def walked(A):
    s = 0.0
    for i in range(A.shape[0]):
        s += A[i].max()
    return s


def arrays() -> Iterator[np.ndarray[Any, Any]]:
    """In each order of the axes; then with gaps, turned, stretched, with axes of one element."""
    for rank in (2, 3):
        whole = np.arange(1.0, 61.0).reshape((3, 4, 5) if rank == 3 else (6, 10))
        for axes in itertools.permutations(range(rank)):
            A = whole.transpose(axes)
            yield from (A, A[::2], A[:, ::-1], A[:, :1], A[:1])
            yield np.broadcast_to(whole[:1], whole.shape).transpose(axes)


def far(a: np.ndarray[Any, Any]) -> list[int]:
    """Its strides, where they are of more than one element."""
    return [step for step, length in zip(a.strides, a.shape, strict=True) if length > 1]


@pytest.mark.share(12)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("f", [doubled, copied, along, beside], ids=lambda f: f.__name__)
def test_the_order_of_axes(f: Callable[..., Any], part: int) -> None:
    fused = fuse(f, on_reject="silent")
    for A in itertools.islice(arrays(), part, None, 3):
        for wanted, got in zip(f(A), fused(A), strict=True):
            assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(got, wanted, rtol=1e-14)
            assert far(got) == far(wanted), (A.shape, A.strides)


@pytest.mark.share(3)
@pytest.mark.parametrize("part", range(3))
def test_loops_take_any_order(part: int) -> None:
    fused = fuse(walked, on_reject="raise")
    for A in (*itertools.islice(arrays(), part, None, 3), np.empty((0, 4, 5)).T):
        if A.size:
            assert fused(A) == walked(A)
    assert not fused.stats.replays
