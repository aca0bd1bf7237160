"""The tests in C whether two arrays share a byte, against the sets of the bytes."""
from __future__ import annotations

import ctypes
import itertools
from functools import cache

import numpy as np

from targets.build.build_kernel import build_object
from targets.c.headers import read_header

_CALLS = """
int any_rank(
    const tp_array *a, int a_rank, int64_t a_size,
    const tp_array *b, int b_rank, int64_t b_size, int same)
{
    return tp_disjoint(a, a_rank, a_size, b, b_rank, b_size, same);
}
int runs(const tp_array *a, int64_t a_size, const tp_array *b, int64_t b_size, int same)
{
    return tp_disjoint_runs(a, a_size, b, b_size, same);
}
"""
_BUFFER = np.zeros(64, np.uint8)


class _Array(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("dims", ctypes.c_int64 * 5), ("strides", ctypes.c_int64 * 5),
    )


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(build_object(read_header("abi.h") + _CALLS))


def _descriptor(x: np.ndarray) -> ctypes.Array[_Array]:
    return (_Array * 1)(_Array(x.ctypes.data, (*x.shape,), (*x.strides,)))


def _bytes(x: np.ndarray) -> set[int]:
    starts = [
        x.ctypes.data + sum(i * s for i, s in zip(index, x.strides, strict=True))
        for index in np.ndindex(x.shape)
    ]
    return {start + k for start in starts for k in range(x.itemsize)}


def _vectors() -> list[np.ndarray]:
    return [
        _BUFFER[start : start + n * size].view(f"u{size}")
        for size in (1, 2, 4, 8) for n in (0, 1, 2, 3) for start in (0, 1, 2, 7, 8, 16)
    ]


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.ctypes.data == b.ctypes.data and a.dtype == b.dtype and a.shape == b.shape and (
        a.strides == b.strides
    )


def test_vectors_without_gaps() -> None:
    answers = set()
    for a, b in itertools.product(_vectors(), repeat=2):
        disjoint = not _bytes(a) & _bytes(b)
        for same in (0, 1):
            got = _library().runs(_descriptor(a), a.itemsize, _descriptor(b), b.itemsize, same)
            assert bool(got) == (disjoint or bool(same and _is_same(a, b))), (a, b, same)
            answers.add((got, same))
    assert len(answers) == 4


def test_views_of_any_rank() -> None:
    words = _BUFFER.view("u4").reshape(4, 4)
    views = [
        words, words[1:], words[:, 1:3], words[::2], words[1::2], words[:, ::-1], words[:0],
        words.T, words[0], words[:, 0], words[:, 3], words[::-2, 1], words[2:3, ::3],
        _BUFFER.view("u2")[::2], _BUFFER.view("u2")[1::2], _BUFFER[3::5], _BUFFER[:1],
    ]
    answers = set()
    for a, b in itertools.product(views, repeat=2):
        shared = bool(_bytes(a) & _bytes(b))
        for same in (0, 1):
            got = _library().any_rank(
                _descriptor(a), a.ndim, a.itemsize, _descriptor(b), b.ndim, b.itemsize, same
            )
            if same and _is_same(a, b):
                assert got
            elif shared:  # never called disjoint; others may be called shared
                assert not got, (a, b)
            answers.add((bool(got), shared))
    assert (True, False) in answers
    assert (False, True) in answers
