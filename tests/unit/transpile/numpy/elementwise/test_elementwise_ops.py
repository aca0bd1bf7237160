"""Macros on whole arrays: Python gives the same answer before and after, on every kind of array."""
from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from macro_programs import expanded, runnable
from written import written

from loopir.dtypes import DTYPES
from transpile import fuse
from transpile.frontend.unparse import print_python

NAN = float("nan")


def arrays() -> list[np.ndarray]:
    """Of every dtype, in every order, with every kind of length."""
    rng = np.random.default_rng(0)
    out = [rng.integers(0, 5, (3, 4)).astype(d.numpy) for d in DTYPES.values()]
    base = np.arange(24.0).reshape(4, 6) - 7
    out += [np.asfortranarray(base), base[::2, ::-1], base[::-1].T, base[:, :1], base[1:1]]
    out += [base[:, 2:2], np.array([[NAN, 1.0], [-0.0, 0.0]]), base.reshape(2, 3, 4)]
    out += [base.reshape(2, 3, 4).T, base[0], base[0, ::-2], base[0, :0], base[0].astype("f4")]
    return out


def folds(X):
    return np.sum(X), X.prod(), np.sum(X, axis=0), X.sum(axis=-1, keepdims=True), X.any(axis=0)


def more_folds(X):
    return np.all(X, axis=-1), X.all(), np.count_nonzero(X), np.count_nonzero(X, axis=0)


def extremes(X):
    return X.min(), np.max(X, axis=0), np.amin(X, axis=-1), X.max(axis=0, keepdims=True)


def spread(X):
    return np.ptp(X), np.ptp(X, axis=0)


def middle(X):
    return X.mean(), np.mean(X, axis=0), np.var(X), X.std(axis=-1), X.var(axis=0, ddof=1)


def several_axes(X):
    return X.sum(axis=(0, 1)), X.sum(axis=(-1, 0), keepdims=True), X.mean(axis=(0, 1))


def wrong_axis(X):
    return X.sum(axis=5)


def folds_with_more(X):
    return np.sum(X, axis=0, initial=3), X.sum(dtype=np.float64), np.max(X, initial=0)


def operators(X):
    Y = X * 2
    return X + Y, X - 1 if X.dtype != bool else Y, Y**2, Y / 2, Y // 3, Y % 3, X == Y, X <= 1


def powers(X):
    return X**2, X**0.5, X**3, 2**X


def unary(X):
    return abs(X), +X, ~(X > 1), np.where(X > 1, X, 0), np.maximum(X, 1), np.clip(X, 1, 3)


def bits(X):
    return X & 1, X | 2, X ^ X, ~X, X << 1, X >> 1


def stretched(X):
    return X + X[0], X * X[:1], X[..., None] - X[0], X + X[:2]


def slices(X):
    u, v = X[1:] * 1, X[:-1] + X[1:]
    return u, v, X[::2] - 1, X[-2:] * X[-2:], X[::-1] + X, X[:99] + 0, X[5:2] + 0


def named_slices(X):
    a, b, c = X[1:], X[:-1], X[..., ::2]
    a[:] = b
    b += a
    c -= c[0]
    return a * 1, b[::-1] + a, c + 0, c.sum(), X[2:0:-1] * 1


def permuted(X):
    return X.T + 0, np.transpose(X) * X.T, np.flip(X) - 0, X.swapaxes(0, -1) + 0, np.flip(X, 0) + 0


def in_place(X):
    Y = X
    X[1:] = X[:-1]
    X += X[::-1]
    Y[0] = 1
    Y[::2] = Y[::-2]
    X *= 2
    return X


def rows(X):
    for i in range(len(X) - 1):
        X[i] = X[i + 1]
        X[i + 1] += X[0] * X[i]
    for row in X:
        row += 1
    return X


def row_out_of_bounds(X):
    X[7] = X[0]
    return X


def rows_of_rows(X):
    out = np.zeros_like(X)
    for i, row in enumerate(X):
        out[i] = row * 2
        out[i, :] = out[i] + X[-1]
    return out


def sequences(X):
    n = len(X)
    k, y, z = np.arange(n), np.linspace(-1, n, n + 2), np.linspace(0.5, 2, n + 1, endpoint=False)
    return k, y, z, y[1:-1] * k, np.arange(1, n + 3, 2) * 0.5


def filled(X):
    return np.eye(len(X), 3) + 1, np.identity(2) * X[0, 0], np.arange(0.3, 3.0, 0.7) - 1, np.tri(2)


def made_in_loops(X):
    total = X.sum() * 0
    for row in X:
        t = row * 2
        u, v = np.ones_like(t), np.full(3, 2)
        u[1:] = t[:-1]
        total = total + u.sum() + v.sum()
    return total


def other_shapes(X):
    return X.ravel() * 2, X.reshape(len(X), -1) + 1, np.cumsum(X), X.argmin(), X.flatten()


def axes_more_or_less(X):
    u, v = np.expand_dims(X, 0) * 1, np.expand_dims(X, axis=-1) + X[..., None]
    return u, v, np.squeeze(X[:, None], axis=1) * 2, X[None].squeeze(0) + 1


def diagonals(X):
    return np.diag(X) * 1, X.diagonal().sum(), np.diag(X[0]), np.diag(X[0, 1:] * 2)


def spread_out(X):
    return np.broadcast_to(X[0], (2, X.shape[1])) + 1, np.broadcast_to(X[0], X.shape[1]) * X


def joined(X):
    return np.concatenate((X, X)), np.stack((X, X * 2)), np.vstack((X, X)), np.hstack((X, X[:, :1]))


def joined_unequal(X):
    return np.concatenate((X, X[..., 1:])), np.concatenate((X, X[1:]))


def said_otherwise(X):
    return np.diff(X), np.copy(X), X.copy(), np.eye(len(X)), np.outer(X[0], X[-1])


def differences(X):
    return np.diff(X, axis=0), np.diff(X, n=2), np.diff(X, 3, 0), np.diff(X * 1, axis=-1)


def rolled(X):
    return np.roll(X, 1), np.roll(X, -3), np.roll(X, 9), np.roll(X, 0)


def products(X):
    return X @ X.T, np.dot(X.T, X), np.matmul(X, X[0]), np.inner(X, X), X[0].dot(X.T), X @ X


def vector_products(X):
    return X @ X, np.dot(X, X[::-1]), np.inner(X, X), np.vdot(X, X), np.outer(X, X), X @ X[1:]


def traced(X):
    return np.trace(X), X.trace()


def scans(X):
    x = X[:, 0] if X.ndim == 2 else X
    return np.cumsum(x), x.cumprod(), np.add.accumulate(x), np.multiply.accumulate(x, axis=-1)


def running_extremes(X):
    x = X[-1:, 0] if X.ndim == 2 else X
    return np.maximum.accumulate(x), np.minimum.accumulate(x * x) + x, X.cumsum(), x.cumsum(axis=0)


def places(X):
    return np.argmin(X), X.argmax(), np.argmax(X, axis=0), X[0].argmin(-1), np.argmin(X[:, 0] > 1)


def vector_places(X):
    k = np.argmin(X)
    return X[k], X.argmax() + 1, np.argmax(X[1:] * X[1:]), np.cumsum(X[::-1]).argmin(axis=0)


def scans_along(X):
    u, v = np.cumsum(X, axis=0), X.cumprod(-1)
    return u, v, np.maximum.accumulate(X), np.minimum.accumulate(X, axis=-1), np.add.accumulate(X)


def places_along(X):
    return np.argmin(X, axis=0), X.argmax(axis=-1), np.argmax(X[:, :1] * 1, 0), np.argmin(X[0], -1)


def scans_with_more(X):
    return np.cumsum(X, dtype=np.float64), X.cumsum(axis=1), np.argmin(X, keepdims=True)


def operands_that_are_no_arrays(X):
    three = X.ravel()[:3] * 1
    low = np.clip(X, None, 2) * 2
    return low, np.add(X, None) if X.ndim > 9 else np.minimum(three, [1] * len(three))


def scalars_are_left_alone(X):
    s = X.sum()
    s += s * 2
    return s, X[0] * 1 if X.ndim == 1 else 0


PROGRAMS = [
    folds, more_folds, extremes, spread, middle, several_axes, wrong_axis, folds_with_more,
    operators, powers, unary, bits, stretched, slices, named_slices, permuted, in_place, rows,
    row_out_of_bounds, rows_of_rows, sequences, filled, made_in_loops, other_shapes,
    axes_more_or_less, diagonals, spread_out, joined, joined_unequal, said_otherwise, differences,
    rolled, products, vector_products, traced, scans, running_extremes, places, vector_places,
    scans_along, places_along, scans_with_more, operands_that_are_no_arrays,
    scalars_are_left_alone,
]


@pytest.mark.share(154)
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_same_answer(fn: Callable[..., Any]) -> None:
    for x in arrays():
        wanted, tree = outcome(fn, (x,)), expanded(fn, x)
        got = outcome(runnable(tree, fn), (x,))
        assert_same(got, wanted, f"{x.dtype}{x.shape}:\n{print_python(tree)}", 16)
        assert layouts(got.value) == layouts(wanted.value), print_python(tree)


def layouts(value: Any) -> Any:
    """Which of the arrays lie in Fortran's order."""
    if isinstance(value, tuple):
        return [layouts(v) for v in value]
    return isinstance(value, np.ndarray) and value.flags.f_contiguous


def test_other_arrays_are_left_alone() -> None:
    def f(x, y):
        z = x + y
        x += y
        return z, np.sum(x, axis=0), x @ y

    text = ast.unparse(expanded(f, [1, 2], object()))
    assert "for" not in text
    assert "x += y" in text


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "u8"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "highest", "argmin", "argmax"])
def test_scans_and_places_become_vectors(name: str, dtype: str) -> None:
    def cumsum(x):
        return np.cumsum(x)

    def cumprod(x):
        return x.cumprod()

    def highest(x):
        return np.maximum.accumulate(x)

    def argmin(x):
        return x.argmin()

    def argmax(x):
        return np.argmax(x)

    f = fuse({f.__name__: f for f in (cumsum, cumprod, highest, argmin, argmax)}[name])
    assert "vec(" in f.emit("loopir", np.ones(4, dtype))


def test_other_shapes_of_complex_arrays_are_left_to_python() -> None:
    def f(X):
        return X.ravel() * 2

    X = np.arange(6).reshape(2, 3) * (1 + 2j)
    codes = [r.code for r in fuse(f, on_reject="silent").report(X).rejections]
    assert codes == ["LOWER_CALL"]


SPLITS = {
    "blocks": "x[:h * s, :w * s].reshape(h, s, w, s).max(axis=(1, 3))",
    "rows": "x[:h * s].reshape(h, s, x.shape[1]).sum(axis=1)",
    "inferred": "x[:, :w * s].reshape(x.shape[0], -1, s) * 2.0",
    "columns": "(x + 1)[:, :w * s].reshape(-1, w, s).sum(axis=2) - x[:, :w]",
    "of a product": "(x * 2.0).reshape(1, x.shape[0], x.shape[1]).sum(axis=(0, 2))",
    "turned": "x.T.reshape(-1, 1, x.shape[0]).min(axis=1)",
    "of a part": "x[1:][:h].reshape((h, x.shape[1], 1)) + 0.5",
    "over itself": "out.sum() + np.add(out, out[:, ::-1].reshape(out.shape[0], 1, -1).sum(axis=1))",
    "new axes": "x[:, :, None].reshape(x.shape[0], 1, -1, 1).sum()",
    "wrong": "x[:h * s].reshape(h, s + 1, x.shape[1]) * 2",
}


@pytest.mark.share(5)
@pytest.mark.parametrize("form", SPLITS)
def test_axes_that_are_split(form: str, tmp_path: Path) -> None:
    """The groups of new lengths are a guess: where they do not fit, Python answers."""
    text = f"import numpy as np\ndef f(x, out, h, w, s):\n    return {SPLITS[form]}, out\n"
    plain, base = written(tmp_path, text).f, np.arange(96.0).reshape(8, 12)
    fused = fuse(plain, on_reject="silent", target="scalar")
    for x in (base[:6, :8], base[::-1, :6], base.T, base[:0], np.asfortranarray(base), base[:3]):
        for h, w, s in ((2, 3, 2), (3, 2, 2), (1, 4, 2), (0, 2, 1), (2, 2, -1)):
            args = x, np.ones((4, w * s if w * s > 0 else 2)), h, w, s
            value = outcome(plain, args)
            assert_same(outcome(fused, args), value, f"{form} {x.shape} {h, w, s}")
            is_refused = fused.report(*args).rejections and not fused.report(*args).loops
            assert not is_refused or value.error or not x.flags.c_contiguous, fused.report(*args)
    assert fused.stats.compiled or form == "wrong"
