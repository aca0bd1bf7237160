"""Arrays with new axes of length 1 that are returned: NumPy's strides and flags."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from transpile import fuse

FORMS = {
    "None": """
        x[:, None]; x[None]; X[:, None]; X[None]; X[:, :, None]; X[0][None]; X.T[:, None]
        X[:, 1][:, None]; x[::2][:, None]; x[::-1][:, None]; x[None, :, None]; x[..., None]
        X[::2, None, ::2]; X[1:2, :, None]; x[:1][:, None]; x[1:][None]; z[:, None]
    """,
    "of new arrays": """
        (x + 1)[:, None]; (X * 2)[:, None]; (x + 1)[None]; x[:, None] + 1; X[:, None] * 2
        X.sum(axis=1, keepdims=True); x[:, None].T; X.mean(axis=1)[:, None]; np.atleast_2d(x)
    """,
    "expand_dims": """
        np.expand_dims(x, 0); np.expand_dims(x, -1); np.expand_dims(X, 1); np.expand_dims(X, (0, 2))
        np.expand_dims(x[::2], 0); np.expand_dims(x[::-1], 1); np.expand_dims(X.T, 1)
        np.expand_dims(X[:, 1], 1)
    """,
    "expand_dims of new arrays": """
        np.expand_dims(x + 1, 0); np.expand_dims(x, 0) * 2; np.expand_dims(x * 2, (0, 2))
    """,
    "no elements": """
        x[0:0][:, None]; x[0:0][None]; X[2:2][:, None]; np.expand_dims(X[1:1], 1)
    """,
}


def described(a: Any) -> tuple[Any, ...]:
    """The layout of an array."""
    return a.shape, a.strides, a.flags.c_contiguous, a.flags.f_contiguous, a.flags.writeable


@pytest.mark.parametrize("group", FORMS)
def test_new_axes_have_numpys_strides(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    forms = [form for line in FORMS[group].split("\n") for form in line.strip().split("; ") if form]
    text = f"def f(x, X, z):\n    return {', '.join(forms)}\n"
    file = f"<new axes {group}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), space)
    fused = fuse(space["f"], on_reject="silent")
    x = np.arange(4.0)
    for X in (np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(4, 3).T, np.ones((5, 6))[::2]):
        args = x, X, x + 1j
        for form, got, want in zip(forms, fused(*args), space["f"](*args), strict=True):
            assert described(got) == described(want), form
            assert (got == want).all(), form
            assert [np.shares_memory(got, a) for a in args] == [
                np.shares_memory(want, a) for a in args
            ], form
        monkeypatch.setenv("TRANSPILE_FALLBACK", "python")  # of other layouts some are Python's


def test_a_name_that_is_returned() -> None:
    def f(x: Any) -> Any:
        y = np.expand_dims(x, 0)
        return y, y + 1

    def g(x: Any) -> Any:
        y = np.expand_dims(x, 0)
        return (y * 2).sum()

    for function in (f, g):
        fused = fuse(function, on_reject="raise")
        x = np.arange(5.0)
        got, want = fused(x), function(x)
        if function is f:
            assert [*map(described, got)] == [*map(described, want)]
        else:
            assert got == want
