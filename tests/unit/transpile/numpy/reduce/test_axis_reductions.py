"""Each function along axes that there are, and are not: the same answer, or error, as NumPy's."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

CALLS = """
    np.sum(x, A)
    x.sum(axis=A)
    np.sum(x, axis=A, keepdims=True)
    np.prod(x, axis=A)
    np.mean(x, axis=A)
    np.var(x, axis=A)
    np.std(x, axis=A)
    np.min(x, axis=A)
    x.max(axis=A)
    np.ptp(x, axis=A)
    np.any(x > 0, axis=A)
    np.all(x > 0, axis=A)
    np.count_nonzero(x, axis=A)
    np.argmin(x, axis=A)
    x.argmax(axis=A)
    np.cumsum(x, axis=A)
    x.cumprod(axis=A)
    np.diff(x, axis=A)
    np.roll(x, 1, axis=A)
    np.flip(x, axis=A)
    np.concatenate((x, x), axis=A)
    np.stack((x, x + 1), axis=A)
    np.append(x, x, axis=A)
    np.repeat(x, 2, axis=A)
    np.take(x, 1, axis=A)
    np.take(x, k, axis=A)
    x.take(1, axis=A)
    np.compress(k > 0, x, axis=A)
    np.squeeze(x, A)
    x.squeeze(axis=A)
    np.median(x, axis=A)
    np.average(x, axis=A)
    np.nansum(x, axis=A)
    np.nanmax(x, axis=A)
    np.nanmean(x, axis=A)
    np.nanvar(x, axis=A)
    np.trapezoid(x, axis=A)
    np.gradient(x, axis=A)
    np.maximum.accumulate(x, axis=A)
    np.add.reduce(x, axis=A)
    np.delete(x, 1, axis=A)
    np.insert(x, 1, 0.0, axis=A)
    np.swapaxes(x, 0, A)
    np.moveaxis(x, 0, A)
    np.take_along_axis(x, q, axis=A)
    np.size(x, A)
    np.linalg.norm(x, axis=A)
    np.linalg.norm(x, 1, axis=A)
    np.linalg.norm(x, np.inf, axis=A)
    np.linalg.vector_norm(x, axis=A)
    np.linalg.vector_norm(x, axis=A, keepdims=True, ord=1)
    np.rot90(x, 1, (0, A))
"""
AXES = ("-3", "-2", "-1", "0", "1", "2", "None", "True", "1.0", "(0,)", "(0, 1)", "()", "a")
VECTOR, MATRIX = np.arange(5.0) - 2, np.arange(15.0).reshape(5, 3) - 4
GIVEN = ((VECTOR, np.array([0, 1, 1])), (MATRIX, np.zeros((5, 3), int)))


def function(call: str, axis: str, folder: Path) -> Any:
    said = re.sub(r"(?<![A-Za-z.])A(?![A-Za-z])", axis, call)
    return written(folder, f"import numpy as np\ndef f(x, k, q, a):\n    return {said}\n").f


@pytest.mark.share(38)
@pytest.mark.parametrize("call", [line.strip() for line in CALLS.strip().splitlines()])
def test_as_numpy(call: str, tmp_path: Path) -> None:
    compiled = 0
    for axis in AXES:
        plain = function(call, axis, tmp_path)
        fused = fuse(plain, on_reject="silent")
        for x, q in GIVEN:
            for a in (0, 1, -3, 7) if axis == "a" else (0,):
                k = np.array([1, 0, 1, 0, 1])
                args = x, k, q, a
                what = f"{call}, {axis} of {x.ndim}, {a}"
                assert_same(outcome(fused, args), outcome(plain, args), what, ulps=4)
        compiled += fused.stats.compiled
    assert compiled


def among_all(A: Any) -> Any:
    return np.argmax(A), A.argmin(), np.argmax(A * 2), (A.T + 1).argmax(), np.argmin(A[1:, ::2])


def among_ours(A: Any) -> Any:
    B = np.where(A > 0, A, 1)
    B[0] = B[-1]
    return B.argmax(), np.unravel_index(B.argmin(), B.shape), np.argmax(np.where(A > 0, A, 0)[0])


def among_written(A: Any) -> Any:
    total = 0
    for i in range(3):
        A[i] = A[i] * 2
        total += np.argmax(A)
    return total


@pytest.mark.share(12)
@pytest.mark.parametrize("f", [among_all, among_ours, among_written], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.bool_])
def test_the_first_place_in_order(f: Any, dtype: Any) -> None:
    """Of what is equal, and of NaNs, in C order, in whatever order they lie in memory."""
    fused = fuse(f, on_reject="silent")
    for shape in ((3, 4), (4, 1), (1, 5), (0, 3), (3, 0), (6, 7)):
        for nan in range(4):
            A = np.random.default_rng(nan).integers(-5, 5, shape).astype(dtype)
            if nan and A.size and A.dtype.kind == "f":
                A.flat[nan * A.size // 4] = np.nan
            for B in (A, np.asfortranarray(A), A[::-1], A[:, ::-1]):
                mine, theirs = B.copy(order="K"), B.copy(order="K")
                assert_same(outcome(fused, (mine,)), outcome(f, (theirs,)), f"{f.__name__} {B}")
    assert fused.stats.compiled or (f is among_written and dtype is np.bool_)


def variances(x, k):
    return np.var(x, axis=0, ddof=k), x.std(ddof=k + 1)


@pytest.mark.filterwarnings("ignore")
def test_degrees_of_freedom_are_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel serves all of them; where none is left, NumPy warns, also if an element is NaN."""
    fused = fuse(variances, on_reject="silent")
    for k in (0, 1, 2, 3, 7, -1, 2**62):
        for x in (np.arange(12.0).reshape(3, 4), np.array([[np.nan, 1.0]])):
            assert_same(outcome(fused, (x, k)), outcome(variances, (x, k)), f"{k}")
    assert len(fused.signatures) == 2
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fuse(variances)(np.ones((4, 4)), 2)


def test_no_degree_of_freedom_warns() -> None:
    fused = fuse(variances, on_reject="silent")
    fused(np.ones((4, 4)), 1)
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        fused(np.array([[np.nan, 1.0]]), 1)
