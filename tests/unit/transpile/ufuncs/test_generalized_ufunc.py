"""Gufuncs of fused functions, ``vectorize`` and ``guvectorize``: what NumPy's ufuncs give."""
from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transpile import fuse, guvectorize, vectorize
from transpile.ufuncs.generalized_ufunc import parse_signature


@fuse(on_reject="raise")
def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


@fuse(on_reject="raise")
def extremes(x):
    low, high = x[0], x[0]
    for v in x:
        low = min(low, v)
        high = max(high, v)
    return low, high


@fuse(on_reject="raise")
def product(a, x):
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i] += a[i, j] * x[j]
    return out


@vectorize(on_reject="raise")
def soft(v, limit):
    return v - limit if v > limit else v * 0.0


@vectorize(["float32(float32, float32)", "f8(f8, f8)"], nopython=True, target="parallel")
def added(v, w):
    return v + w


@guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", cache=True)
def totals(x, result):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        result[i] = s


@guvectorize("(n)->()")
def largest(x, result):
    result[0] = x[0]
    for i in range(x.shape[0]):
        if x[i] > result[0]:
            result[0] = x[i]


A = np.random.default_rng(0).integers(-9, 9, (3, 4, 5)).astype(float)
INNER = dot.gufunc("(n),(n)->()")


def reference(x: np.ndarray, y: np.ndarray, **options: Any) -> Any:
    """NumPy's own gufunc of the same signature."""
    return np.vecdot(x, y, **options)


@pytest.mark.share(1)
@pytest.mark.parametrize("options", [
    {}, {"axis": 0}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"axis": 0, "keepdims": True},
    {"axes": [(0,), (0,), ()]}, {"axes": [1, 1, ()]}, {"axes": [1, 1]}, {"keepdims": True},
], ids=str)
def test_axes_are_those_of_numpy(options: dict[str, Any]) -> None:
    np.testing.assert_array_equal(INNER(A, A, **options), reference(A, A, **options))


def test_it_broadcasts() -> None:
    np.testing.assert_array_equal(INNER(A, A[0]), reference(A, A[0]))
    np.testing.assert_array_equal(INNER(A[:, None], A[None]), reference(A[:, None], A[None]))
    np.testing.assert_array_equal(INNER(A[0, 0], [1, 2, 3, 4, 5]), (A[0, 0] * range(1, 6)).sum())
    assert type(INNER(A[0, 0], A[0, 0])) is np.float64
    assert INNER(A[:0], A[0]).shape == (0, 4)
    assert INNER(A[..., :0], A[..., :0]).tolist() == np.zeros((3, 4)).tolist()


def test_it_is_one_call_of_compiled_code() -> None:
    inner = fuse(dot.__wrapped__, on_reject="raise").gufunc("(n),(n)->()")
    inner(A, A)
    assert (inner._loop.stats.compiled, inner._loop.stats.replays) == (1, {})  # type: ignore[attr-defined]


def test_several_results_and_matrices() -> None:
    low, high = extremes.gufunc("(n)->(),()")(A)
    np.testing.assert_array_equal(low, A.min(axis=-1))
    np.testing.assert_array_equal(high, A.max(axis=-1))
    multiply = product.gufunc("(m,n),(n)->(m)")
    np.testing.assert_array_equal(multiply(A, A[0, 0]), A @ A[0, 0])
    swapped = multiply(A, A[0, :3, 0], axes=[(2, 0), (0,), (-1,)])
    np.testing.assert_array_equal(swapped, np.matvec(A, A[0, :3, 0], axes=[(2, 0), (0,), (-1,)]))


def test_results_are_stored_to_out() -> None:
    out = np.empty((3, 4), np.float32)
    assert INNER(A, A, out=out) is out
    np.testing.assert_array_equal(out, reference(A, A))
    with pytest.raises(TypeError, match="Cannot cast"):
        INNER(A, A, out=np.empty((3, 4), int))
    with pytest.raises(ValueError, match="exactly one entry"):
        INNER(A, A, out=(out, out))


def test_it_pickles() -> None:
    for ufunc in (INNER, soft, totals, added):
        copy = pickle.loads(pickle.dumps(ufunc))
        assert (copy.signature, repr(copy)) == (ufunc.signature, repr(ufunc))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(INNER))(A, A), INNER(A, A))


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "text", ["", "(n)", "(n)->(m)", "n->()", "(n,)->(1x)", "(n)->", "(-n)->()"]
)
def test_wrong_signatures(text: str) -> None:
    with pytest.raises(ValueError, match=r"signature|no input"):
        parse_signature(text)


def test_what_does_not_fit() -> None:
    assert str(parse_signature(" (m, n),(n) -> (m) ")) == "(m,n),(n)->(m)"
    with pytest.raises(TypeError, match="has 2 parameters"):
        dot.gufunc("(n)->()")
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        INNER(A, A[..., :3])
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        INNER(A, 1.0)
    with pytest.raises(ValueError, match="broadcast"):
        INNER(A[:, :2], A[:, :3])
    with pytest.raises(TypeError, match="takes 2 arguments"):
        INNER(A)
    with pytest.raises(TypeError, match="both 'axis' and 'axes'"):
        INNER(A, A, axis=0, axes=[0, 0])
    with pytest.raises(ValueError, match="returned an array of shape"):
        product.gufunc("(m,n),(n)->(n)")(A, A[0, 0])


def test_vectorize() -> None:
    np.testing.assert_array_equal(soft(A, 2.0), np.where(A > 2.0, A - 2.0, A * 0.0))
    assert soft(5.0, 2.0) == 3.0
    assert added(np.float32([1, 2]), np.float32(3)).dtype == np.float32
    assert added([1, 2], 3).dtype == np.float64
    with pytest.raises(TypeError, match="cannot be safely cast"):
        added(1j, 2.0)
    with pytest.raises(TypeError, match="no option 'device'"):
        vectorize(device="cuda")(soft)
    with pytest.raises(ValueError, match="there are no types"):
        vectorize(["text"])(soft)


@pytest.mark.parametrize(("method", "advice"), [
    ("reduce", "for v in x: s = soft(s, v)"), ("accumulate", "out[i] = s"),
    ("outer", r"soft(x[:, None], y)"), ("at", "for k in places"), ("nonsense", "'nonsense'"),
])
def test_methods_of_ufuncs_that_it_has_not(method: str, advice: str) -> None:
    assert not hasattr(soft, method)
    with pytest.raises(AttributeError, match=re.escape(advice)):
        getattr(soft, method)


def test_options_of_ufuncs_that_it_has_not() -> None:
    for name, advice in (("where", "np.where"), ("casting", "astype"), ("colour", "'colour'")):
        with pytest.raises(TypeError, match=advice):
            soft(A, 2.0, **{name: True})
    with pytest.raises(TypeError, match="store to a further result"):
        guvectorize(["(f8[:],f8[:])"], "(n)->(n)", writable_args=(0,))(lambda x, r: None)


def test_xarray_applies_it() -> None:
    """With ``dask="parallelized"`` Xarray calls it for chunks, with ``"allowed"`` for Dask arrays.
    """
    xr = pytest.importorskip("xarray", reason="Xarray is not installed: pip install -e .[xarray]")
    pytest.importorskip("dask")
    values = np.random.default_rng(0).random((6, 4, 10))
    chunked = xr.DataArray(values, dims=("a", "b", "n")).chunk({"a": 2})
    for function, count in ((INNER, 2), (totals, 1)):
        wanted = function(*[values] * count)
        dims: dict[str, object] = {"input_core_dims": [["n"]] * count}
        if function is totals:
            dims["output_core_dims"] = [["n"]]
        for how in ({"dask": "parallelized", "output_dtypes": [float]}, {"dask": "allowed"}):
            found = xr.apply_ufunc(function, *[chunked] * count, **dims, **how)
            np.testing.assert_array_equal(found.values, wanted)


def test_types_are_those_that_were_given() -> None:
    assert (added.types, soft.types) == (["ff->f", "dd->d"], [])
    assert copy.copy(added).types == added.types


def test_guvectorize() -> None:
    np.testing.assert_array_equal(totals(A), np.cumsum(A, axis=-1))
    np.testing.assert_array_equal(totals(A, axis=0), np.cumsum(A, axis=0))
    np.testing.assert_array_equal(largest(A), A.max(axis=-1))
    with pytest.raises(TypeError, match="takes a signature"):
        guvectorize([])


def test_dask_arrays() -> None:
    da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install -e .[dask]")
    lazy = da.from_array(A, chunks=(2, 2, 5))
    found = INNER(lazy, lazy)
    assert found.chunks == ((2, 1), (2, 2))
    np.testing.assert_array_equal(found.compute(scheduler="sync"), INNER(A, A))


BY = 2


def scaled(v):
    return v * BY


@vectorize
def rectified(v):
    if v < 0:
        return 0
    return scaled(v)


@vectorize(on_reject="silent")
def rectified_by_python(v):
    return [0, scaled(v)][bool({"positive": v >= 0}["positive"])]


@pytest.mark.parametrize("ufunc", [rectified, rectified_by_python], ids=["compiled", "python"])
def test_dtypes_depend_on_no_value_and_on_what_is_read(
    ufunc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.array([-1.5, 2.5])
    for given in (values, values[::-1]):
        np.testing.assert_array_equal(ufunc(given), np.maximum(given, 0) * 2, strict=True)
    assert ufunc(values.astype(np.float32)).dtype == np.float32
    numbers = np.array([-1, 3])
    np.testing.assert_array_equal(ufunc(numbers), [0, 6], strict=True)
    monkeypatch.setitem(globals(), "BY", 1.5)
    np.testing.assert_array_equal(ufunc(numbers), [0, 4.5], strict=True)
    assert ufunc(np.empty(0)).dtype == np.float64


@guvectorize("(n)->(n)")
def added_but_the_first(x, result):
    for i in range(1, len(x)):
        result[i] += x[i]


@pytest.mark.parametrize("axis", [0, 1])
def test_what_a_function_does_not_store_stays_in_out(axis: int) -> None:
    out, x = np.full((2, 2), 7.0), np.ones((2, 2))
    wanted = np.full((2, 2), 8.0)
    np.moveaxis(wanted, axis, -1)[..., 0] = 7.0
    assert added_but_the_first(x, out=out, axis=axis) is out
    np.testing.assert_array_equal(out, wanted)


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_array(np.ones(3), mask=[0, 1, 0])  # type: ignore[no-untyped-call]
    with pytest.raises(TypeError, match="takes no masked arrays"):
        soft(masked, 2.0)


def test_functions_without_a_name() -> None:
    np.testing.assert_array_equal(vectorize(lambda v: v + 1, on_reject="silent")([1, 2]), [2, 3])


def first_or_all(x):
    return x * 2.0 if x[0] > 0.0 else x[:1] * 2.0


def one_or_two(x):
    return x[0], (x * 2.0 if x[0] > 0.0 else x[:1] * 2.0)


@pytest.mark.parametrize(("function", "signature"), [
    (first_or_all, "(n)->(n)"), (one_or_two, "(n)->(),(n)"),
])
def test_each_result_has_the_shape_that_the_signature_says(
    function: Callable[..., Any], signature: str
) -> None:
    """A result of length 1 is not broadcast, in later calls and rows, too."""
    f = fuse(function).gufunc(signature)
    f(np.ones((2, 3)))
    x = np.ones((4, 3))
    x[2] = -1.0
    with pytest.raises(ValueError, match=r"returned an array of shape \(1,\).* says \(3,\)"):
        f(x)
