"""Arguments without names stand where NumPy has them: what is written to, among them."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from agree import Outcome, assert_same, outcome
from written import written

from transpile import fuse
from transpile.numpy.call_arguments import _keywords
from transpile.numpy.function_table import FUNCTIONS, is_array_method

CALLS = {
    "np.clip(x, 0, 1, b)": "x", "np.clip(x, 0.5, None, b)": "x", "x.clip(0, 1, b)": "x",
    "np.take(x, [0, 1, 2, 0], 0, b)": "x", "x.take([2, 1, 0, 0], 0, b)": "x",
    "np.take(x, [5, 1, 2, -9], 0, b, 'clip')": "x", "np.round(x, 1, b)": "x", "x.round(0, b)": "x",
    "np.around(x, 0, b)": "x", "np.cumsum(x, 0, None, b)": "x", "x.cumprod(0, None, b)": "x",
    "np.sum(m, 0, None, b)": "m", "m.sum(0, None, b)": "m", "np.sum(m, 0, None, b, False)": "m",
    "np.prod(m, 0, np.float64, b)": "m", "np.mean(m, 0, None, b)": "m", "m.mean(0, None, b)": "m",
    "np.std(m, 0, None, b, 1)": "m", "np.var(m, 0, None, b)": "m", "m.std(0, None, b, 1)": "m",
    "np.max(m, 0, b)": "m", "m.min(0, b)": "m", "np.max(m, 0, b, False)": "m",
    "np.any(m, 0, None)": "m", "np.ptp(m, 0, b)": "m", "np.median(m, 0, b)": "m",
    "np.argmax(m, 0, k)": "m", "m.argmin(0, k)": "m", "np.dot(m, x, b)": "m",
    "np.matmul(m, x, b)": "m", "np.add(x, x, b)": "x", "np.sqrt(x, b)": "x",
    "np.multiply(x, 2, b)": "x", "np.add.reduce(m, 0, None, b)": "m", "np.diff(x, 1, 0)": "x",
    "np.maximum.accumulate(x, 0, None, b)": "x", "np.compress([True] * 4, x, 0, b)": "x",
    "np.average(m, 0, x)": "m", "np.cov(m, m)[0]": "m", "np.corrcoef(m, m)[0]": "m",
    "np.repeat(x, 2, 0)": "x", "np.searchsorted(x, x, 'right')": "x", "np.trace(m, 1, 1, 0)": "m",
    "np.nansum(m, 0, None, b)": "m", "np.nanmax(m, 0, b)": "m", "np.interp(x, x, x, 0, 1)": "x",
    "np.isclose(x, m[0], 0.1, 0.1, True)": "x", "np.nan_to_num(x, True, 9.0)": "x",
    "np.linalg.norm(m, None, 0)": "m", "np.outer(x, x, m)": "m", "np.roll(m, 1, 0)": "m",
    "np.linspace(0, 1, 4, False)": "x", "np.full((4,), 2, np.int8)": "x", "np.zeros(4, int)": "x",
    "np.arange(0, 4, 2, np.int32)": "x", "np.eye(4, 3, 1)": "x", "np.tri(3, 4, 1)": "x",
}


@pytest.mark.share(26)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("form", ["return {call}, b, k", "{call}\n    return b, k",
                                  "for _ in range(2):\n        y = {call}\n    return y, b, k"])
def test_arguments_in_their_places(call: str, form: str, tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(x, m, b, k):\n    {form.format(call=call)}\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent")
    x = np.array([0.25, 0.75, 1.5, 2.5])
    m = np.arange(16.0).reshape(4, 4) / 4 - 1.0
    for _ in range(2):
        args = x, m, np.full(4, 9.0), np.full(4, 7)
        assert_same(outcome(g, args), outcome(f, args), call, ulps=8)


NO_METHODS = [n for n in FUNCTIONS if n.isidentifier() and not is_array_method(n)]


@pytest.mark.share(16)
@pytest.mark.parametrize("name", NO_METHODS)
def test_functions_that_are_no_methods_of_arrays_raise(name: str, tmp_path: Path) -> None:
    calls = [f"{a}.{name}({b})" for a in "xm" for b in ("", "1", "0, 1", "b")]
    text = "".join(
        f"def f{k}(x, m, b):\n    y = {call}\n    for i in range(4):\n        b[i] += 1\n"
        f"    return y\n"
        for k, call in enumerate(calls)
    )
    module = written(tmp_path, text)
    for k, call in enumerate(calls):
        f = getattr(module, f"f{k}")
        args = np.arange(4.0), np.arange(16.0).reshape(4, 4), np.arange(4)
        ours = outcome(fuse(f, on_reject="silent"), args)
        assert (ours.error or [None])[0] in (AttributeError, TypeError), call
        assert_same(ours, outcome(f, args), call)


def outcomes(calls: Sequence[str], folder: Path) -> Iterator[tuple[str, Outcome, Outcome]]:
    """Of each call, in a function with a loop: what it gives fused, and what Python gives."""
    text = "import numpy as np\n" + "".join(
        f"def f{k}(x, b):\n    y = {call}\n    for i in range(4):\n        b[i] += 1\n"
        f"    return y\n"
        for k, call in enumerate(calls)
    )
    module = written(folder, text)
    for k, call in enumerate(calls):
        f, args = getattr(module, f"f{k}"), (np.arange(4.0), np.arange(4))
        yield call, outcome(fuse(f, on_reject="silent"), args), outcome(f, args)


@pytest.mark.share(1)
def test_an_axis_that_the_function_does_not_have(tmp_path: Path) -> None:
    calls = [
        "np.diag(x, axis=0)", "np.diagflat(x, axis=0)", "np.ravel(x, axis=0)", "x.ravel(axis=0)",
        "x.flatten(axis=0)", "np.reshape(x, axis=-1)", "x.reshape(axis=-1)", "x.ravel(axis=None)",
    ]
    for call, ours, wanted in outcomes(calls, tmp_path):
        assert (ours.error or [None])[0] is TypeError, call
        assert_same(ours, wanted, call)


KEYWORDS = (
    "np.extract(x > 1, a=x)", "np.extract(condition=x > 1, arr=x)", "np.sum(x, axes=0)",
    "np.unwrap(x, dim=-1)", "np.clip(x, low=1, high=2)", "np.take(x, b, dim=0)",
    "np.searchsorted(a=x, v=1.5, side='right')", "np.searchsorted(x, value=1.5)",
    "np.round(x, digits=2)", "np.roll(x, shifts=1)", "np.diff(x, order=1)", "np.cumsum(x, axes=0)",
)
OF_METHODS = (
    "x.transpose(axes=None)", "x.compress(a=x)", "x.compress(condition=x > 1)", "x.round(digits=2)",
    "x.clip(a_min=1, a_max=2)", "x.clip(min=1, max=2)", "x.repeat(repeats=2)", "x.take(indices=b)",
    "x.searchsorted(v=1.5)", "x.argsort(axes=0)",
)


@pytest.mark.share(1)
def test_keywords_that_numpy_does_not_take(tmp_path: Path) -> None:
    calls = [*KEYWORDS, *(OF_METHODS if _keywords(".compress") else ())]
    for call, ours, wanted in outcomes(calls, tmp_path):
        assert_same(ours, wanted, call)


@pytest.mark.parametrize("call", [
    "np.array(x, copy=None)", "x.astype(x.dtype, copy=None)", "np.nan_to_num(x, copy=None)",
    "np.array(x, copy=n)", "np.meshgrid(x, x, indexing=None)[0]", "np.isclose(x, x, atol=n)",
    "np.ones_like(x, subok=None)", "np.rot90(np.outer(x, x), axes=None)",
    "np.gradient(x, edge_order=n)", "np.unwrap(x, period=n)", "np.nansum(x, keepdims=None) + x",
    "np.average(x, keepdims=n) + x", "np.cov(np.outer(x, x), bias=None)[0]",
    "np.corrcoef(np.outer(x, x), rowvar=None)[0]",
])
def test_none_that_is_not_the_default(call: str, tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(x, n=None):\n    y = {call}\n    y[0] = 8\n    return x, y\n"
    plain = written(tmp_path, text).f
    args = (np.array([1.0, np.nan]),)
    assert_same(outcome(fuse(plain, on_reject="silent"), args), outcome(plain, args), call)


@pytest.mark.parametrize("call", [
    "np.ones(k[0])", "np.full((k[0], 2), 0.5)", "np.ones(k[0], np.int32)", "np.zeros((k[0], 3))",
    "np.arange(k[0])", "sum([np.full(n, 0.5).sum() for n in k])",
])
def test_lengths_that_are_integers_of_numpy(call: str, tmp_path: Path) -> None:
    plain = written(tmp_path, f"import numpy as np\ndef f(k):\n    return {call}\n").f
    fused = fuse(plain, on_reject="silent")
    for dtype in (np.int64, np.int16, np.uint8, np.bool_, np.float64):
        for first in (3, 0, -1):
            if first >= 0 or dtype in (np.int64, np.int16):
                args = (np.array([first, 2, 1]).astype(dtype),)
                assert_same(outcome(fused, args), outcome(plain, args), f"{call} {args}")
    assert fused.stats.compiled >= 3
