"""Arg-reductions of arrays of several axes: every dtype, layout and place of NaN, as NumPy."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from transpile import fuse

Array = np.ndarray


@fuse
def whole(X: Array) -> object:
    return np.argmax(X), X.argmin(), np.argmax(X * 1), X[1:].argmin()


@fuse
def columns(X: Array) -> object:
    return np.argmax(X, axis=0), X.argmin(0), np.argmin(X * 1, axis=0)


@fuse
def rows(X: Array) -> object:
    return np.argmax(X, axis=1), X.argmin(axis=-1)


@fuse
def of_rank_3(X: Array) -> object:
    return np.argmax(X), X.argmin(), X.argmax(0), X.argmin(1), X.argmax(2), X[0].argmax()


DTYPES = ("f8", "f4", "i8", "i4", "u2", "u1", "i1", "bool", "u8")


def samples(dtype: str, shape: tuple[int, ...]) -> Iterator[Array]:
    """Arrays with many ties, with one best element, all equal ones; with NaN in several places."""
    random = np.random.default_rng(1)
    for high in (1, 2, 100):
        x = random.integers(0, high, shape).astype(dtype)
        yield x
        if dtype[0] == "f":
            yield -x
            for count in (1, 3):
                y = x.copy()
                y.flat[random.integers(0, y.size, count)] = np.nan
                yield y
            yield np.where(x > 0, np.inf, x).astype(dtype)
            yield np.full(shape, -np.inf, dtype)
            yield np.full(shape, np.nan, dtype)


def layouts(x: Array) -> Iterator[Array]:
    yield x
    yield x.T.copy().T
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield x[::-1]


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_as_numpy(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for shape in ((2, 1), (2, 3), (5, 7), (3, 40), (67, 70), (2, 300)):
        for x in samples(dtype, shape):
            for y in layouts(x):
                for f in (whole, columns, rows):
                    agree(f(y), f.__wrapped__(y), f, y)


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "bool"])
def test_of_rank_3(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for shape in ((2, 3, 4), (3, 1, 5), (4, 5, 30)):
        for x in samples(dtype, shape):
            agree(of_rank_3(x), of_rank_3.__wrapped__(x), of_rank_3, x)


def agree(got: object, expected: object, f: object, x: Array) -> None:
    for k, (a, b) in enumerate(zip(got, expected, strict=True)):  # type: ignore[call-overload]
        assert type(a) is type(b), (f, k, x)
        assert np.array_equal(a, b), (f, k, x, a, b)
        assert getattr(a, "strides", 0) == getattr(b, "strides", 0), (f, k, x)


@fuse
def with_kept_axes(X: Array) -> tuple[Array, ...]:
    return np.argmax(X, axis=0, keepdims=True), X.argmin(axis=-1, keepdims=True)


def test_axes_that_are_kept_have_numpys_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    random = np.random.default_rng(1)
    for shape in ((4, 3), (1, 3), (3, 1), (2, 3, 5)):
        whole_array = random.random(shape)
        for x in layouts(whole_array) if len(shape) == 2 else [whole_array]:
            found, wanted = with_kept_axes(x), with_kept_axes.__wrapped__(x)
            for a, b in zip(found, wanted, strict=True):
                assert np.array_equal(a, b)
                assert (a.shape, a.strides) == (b.shape, b.strides), (shape, x.strides)
