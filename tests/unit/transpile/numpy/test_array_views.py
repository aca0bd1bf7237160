"""Views that a function returns: of the array that Python's are of, with its strides."""
from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transpile import fuse


def from_on(X, k):
    return X[k:]


def backwards(X, k):
    return X[::-1], X[-2::-1, 0], X[k::-3], X[0:k:-1], X[3:1]


def turned(X, k):
    return X.T, X.T[k:, None], X[..., 1:k], X[None, :, 0]


def either(X, k):
    if k > 1:
        return X[0]
    return X[k:, 0]


def of_its_own(X, k):
    out = np.empty((len(X), 2))
    for i in range(len(X)):
        out[i, 0] = X[i, 0] * 2
        out[i, 1] = k
    return out[1:, 0], out[: k + 1]


PROGRAMS = [from_on, backwards, turned, either, of_its_own]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_views(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="raise")
    for X in (np.arange(24.0).reshape(4, 6), np.arange(12, dtype="i2").reshape(6, 2).T[::-1, :3]):
        for k in (0, 1, 2, 9):
            wanted, got = (g(X, k) for g in (f, fused))
            assert isinstance(got, tuple) is isinstance(wanted, tuple)
            for a, b in zip(_all(wanted), _all(got), strict=True):
                assert (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
                assert a.flags == b.flags
                assert np.array_equal(a, b)
                assert b.base is a.base if f is not of_its_own else b.base.shape == a.base.shape
    assert not fused.stats.replays
    assert fused.stats.compiled


def _all(got: Any) -> tuple[np.ndarray, ...]:
    return got if isinstance(got, tuple) else (got,)


def test_one_view_is_one_object() -> None:
    def f(x):
        y = x[1:]
        return y, y

    x = np.arange(3.0)
    a, b = fuse(f, on_reject="silent")(x)
    assert a is b


MOVES = (1, 2)


def test_one_tuple_is_one_object() -> None:
    def twice(k):
        t = (k, 1)
        return t, t, MOVES

    def free(k):
        return MOVES

    a, b, c = fuse(twice, on_reject="silent")(1)
    assert a is b
    assert c is MOVES
    assert fuse(free, on_reject="silent")(1) is MOVES


@pytest.mark.share(1)
def test_a_list_is_made_an_array() -> None:
    """A list has no view that takes the place of the call, as ``x[:]`` does for a vector."""

    def transposed(x, y):
        a, b, c, s = np.transpose(x), np.permute_dims(x), np.flip(x), 0.0
        for v in y:
            s += v
        return a, b, c, np.swapaxes(x, 0, -1), np.moveaxis(x, 0, -1), s

    fused = fuse(transposed, on_reject="silent")
    for x in ([1.5, 2.5], [3, 1, 2], (1, 2), [[1, 2, 3], [4, 5, 6]], [True, False]):
        wanted, got = (f(x, np.arange(3.0)) for f in (transposed, fused))
        for a, b in zip(wanted, got, strict=True):
            assert (type(a), a.dtype, a.tolist()) == (type(b), b.dtype, b.tolist())


def transposed_again(X, Y, n):
    u = X * 1.0
    for _ in range(n):
        u = u.T + 1.0
    return u


def of_both_orders(X, Y, n):
    return (X * Y).T + 1.0


def joined_rows(X, Y, n):
    return np.concatenate((X.T[:n], Y.T[:n]))


def joined_columns(X, Y, n):
    return np.hstack((X.T, X[0][:, None]))


@pytest.mark.parametrize(
    "f", [transposed_again, of_both_orders, joined_rows, joined_columns], ids=lambda f: f.__name__
)
def test_memory_order(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="silent")
    X = np.arange(9.0).reshape(3, 3)
    for x, y in ((X, X), (np.asfortranarray(X), X), (X[:1, :1], X[:1, :1])):
        for n in (0, 1, 2, 3):
            wanted, got = f(x, y, n), fused(x, y, n)
            assert (got.flags.c_contiguous, got.flags.f_contiguous) == (
                wanted.flags.c_contiguous, wanted.flags.f_contiguous)
            assert np.array_equal(got, wanted)
    assert fused.stats.compiled  # of some layouts: the order of others is NumPy's to decide


def computed_before(x, s):
    return (x + 1.0) * np.add(x, s, out=x)


def cleared(x):
    x[:] = 0.0
    return 2.0


def receiver_before(x, s):
    return (x * s).clip(0.0, cleared(x))


@pytest.mark.parametrize("f", [computed_before, receiver_before], ids=lambda f: f.__name__)
def test_operands_before_a_store(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="raise")
    for n in (1, 5, 300):
        x, y = np.arange(n) + 0.5, np.arange(n) + 0.5
        assert np.array_equal(fused(x, 0.25), f(y, 0.25))
        assert np.array_equal(x, y)
    assert fused.stats.compiled == 3


def skipping_nan(x, s):
    return np.fmax(x, s)


def at_least(x, s):
    return np.clip(x, s, None)


def filled_as(x, s):
    return np.full_like(x, s)


def filled(x, s):
    return np.full((2, len(x)), s, np.uint8)


@pytest.mark.parametrize("f", [skipping_nan, at_least, filled_as, filled], ids=lambda f: f.__name__)
def test_scalars_that_do_not_fit(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="raise")
    for x in (np.array([1, 5], "i1"), np.empty(0, "i1")):
        assert np.array_equal(fused(x, 3), f(x, 3))
        with pytest.raises(OverflowError):
            fused(x, 300)
    assert fused.stats.compiled == 2
    assert fused.stats.replays == {"GUARD_RAISES": 2}


def scaled(a):
    return a * 2


def of_rows(a):
    return a[::2] + a[0]


def transposed_sum(a):
    return np.sqrt(a.T) + 1.0


def kept_axis(a):
    return np.sum(a, axis=1, keepdims=True)


def over_first_axis(a):
    return np.cumsum(a, axis=0), np.max(a, axis=0), a.astype(np.float32), np.copy(a)


def like(a):
    return np.zeros_like(a), np.full_like(a, 2.0), np.ones_like(a, dtype=np.float32) * 2


def selected(a):
    return np.where(a > 5.0, a, a[::-1])


def layouts(shape: tuple[int, ...], gap: int) -> dict[str, np.ndarray]:
    """Arrays of `shape`, by name, each in another layout; some without a unit stride if gap > 1."""
    def block(*lengths: int) -> np.ndarray:
        return np.arange(1.0, 1.0 + np.prod(lengths)).reshape(lengths)

    steps = tuple(slice(None, None, gap) for _ in shape)
    wide = block(*(n * gap for n in shape))
    reverse = block(*(n * gap for n in shape[::-1])).T
    rotated = np.moveaxis(block(*(n * gap for n in (*shape[1:], shape[0]))), -1, 0)
    return {
        "C": wide[steps], "F": np.asfortranarray(wide)[steps], "T": reverse[steps],
        "rotated": rotated[steps],
        "swapped": np.swapaxes(np.swapaxes(wide, 0, 1).copy(), 0, 1)[steps],
        "backwards": wide[steps][(slice(None, None, -1),) * len(shape)],
        "some backwards": reverse[steps][::-1],
        "stretched": np.broadcast_to(wide[steps][:1], shape),
        "one": np.broadcast_to(np.float64(3.0), shape),
        "equal strides": np.lib.stride_tricks.as_strided(wide, shape, (8 * gap,) * len(shape)),
    }


SHAPES = [(4, 6), (2, 3, 4), (1, 5), (5, 1), (2, 1, 3), (1, 1), (0, 3), (3, 0)]


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "f", [scaled, of_rows, transposed_sum, kept_axis, over_first_axis, like, selected],
    ids=lambda f: f.__name__)
def test_memory_order_of_arguments(f: Callable[..., Any]) -> None:
    """The result has the strides and flags of NumPy's, whatever those of the argument are."""
    fused = fuse(f, on_reject="silent")
    for shape, gap in itertools.product(SHAPES, (1, 2)):
        for name, a in layouts(shape, gap).items():
            if 0 in shape and f in (of_rows, over_first_axis):
                continue  # raises
            for got, wanted in zip(_all(fused(a)), _all(f(a)), strict=True):
                if a.size or f is not kept_axis:  # without elements it may be in C order, too
                    assert got.strides == wanted.strides, (name, shape, gap, a.strides)
                assert (got.flags.owndata, got.flags.forc) == (
                    wanted.flags.owndata, wanted.flags.forc)
                assert np.allclose(got, wanted, rtol=1e-14)


@pytest.mark.parametrize("f", [scaled, of_rows, transposed_sum, kept_axis, selected])
@pytest.mark.parametrize("shape", [(4, 6), (4, 3, 5)])
def test_arguments_with_gaps_are_compiled(
    f: Callable[..., Any], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(f)
    for name, a in layouts(shape, 2).items():
        if name in ("C", "F", "T", "backwards"):
            assert fused(a).strides == f(a).strides
    assert fused.report(a).target


def test_arrays_like_an_argument_with_gaps_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for name in ("C", "backwards"):
        a = layouts((4, 6), 2)[name]
        assert [x.strides for x in fuse(like)(a)] == [x.strides for x in like(a)]


@pytest.mark.parametrize("f", [scaled, kept_axis])
def test_an_order_that_is_not_known_is_said(f: Callable[..., Any]) -> None:
    (reason,) = fuse(f).report(layouts((2, 3, 4), 2)["rotated"]).rejections
    assert re.search("the memory order of `.*` depends on the strides of `a`", reason.message)


def both(a, b):
    return a + b, a * b[0], np.where(a > b, a, b), np.sum(a * b, axis=0, keepdims=True)


def test_memory_order_of_two_arguments() -> None:
    fused = fuse(both, on_reject="silent")
    for shape, gap in itertools.product([(4, 6), (2, 3, 4), (1, 5), (5, 1)], (1, 2)):
        of_shape = layouts(shape, gap)
        for (name, a), (other, b) in itertools.product(of_shape.items(), repeat=2):
            for got, wanted in zip(fused(a, b), both(a, b), strict=True):
                assert got.strides == wanted.strides, (name, other, shape, gap)
                assert np.allclose(got, wanted, rtol=1e-14)
