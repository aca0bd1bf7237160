"""Fused functions of Dask arrays: the answer of one array, bit by bit, with one task a chunk; and
Python's own graph, with the reason, where a function cannot be cut.

Skipped without Dask: ``pip install -e .[dask]``.
"""
from __future__ import annotations

import itertools
import os
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import ROOT, SUPPORT

import transpile
from transpile import FuseWarning, fuse

da: Any = pytest.importorskip("dask.array", reason="Dask is not installed: pip install -e .[dask]")
dask: Any = pytest.importorskip("dask")

SCALE = 2.0
BLOCK = 4096


def scaled(x):
    return x * SCALE + np.exp(y_of(x))


def y_of(x):
    return x / SCALE


def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def statistics(x):
    total, squares, n, most = 0.0, 0.0, 0, -np.inf
    for v in x:
        total += v
        squares += v * v
        n += 1
        if v > most:
            most = v
    return total, squares, n, most


def total(z):
    s = 0.0
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            s += z[i, j]
    return s


def row_sums(z):
    return z.sum(axis=1)


def squares_and_sum(x):
    y = np.empty_like(x)
    s = 0.0
    for i in range(len(x)):
        y[i] = x[i] * x[i]
        s += y[i]
    return y, s


def smoothed(x):
    out = np.zeros_like(x)
    out[1:-1] = (x[2:] + x[1:-1] + x[:-2]) / 3
    out[0] = x[0]
    out[-1] = x[-1] - x[-2]
    return out


def laplace(z):
    return z[1:-1, :-2] + z[1:-1, 2:] + z[:-2, 1:-1] + z[2:, 1:-1] - 4 * z[1:-1, 1:-1]


def variation(x):
    s = 0.0
    for i in range(1, len(x)):
        s += abs(x[i] - x[i - 1])
    return s


def largest(x):
    best, at = x[0], 0
    for i in range(len(x)):
        if x[i] > best:
            best, at = x[i], i
    return best, at


def python_maximum(x):
    best = x[0]
    for v in x:
        if v > best:
            best = v
    return best


def place_and_minimum(x):
    return x.argmax(), x.min()


def has_large(x, limit):
    for v in x:  # noqa: SIM110  # the loop is what is tested
        if v > limit:
            return True
    return False


def all_small(x, limit):
    for v in x:  # noqa: SIM110  # the loop is what is tested
        if not v < limit:
            return False
    return True


def outer(x, y):
    return x[:, None] * y[None, :]


def mean_and_deviation(x):
    return x.mean(), x.std(), len(x)


def norm(x, y):
    return np.sqrt((x * y).sum()) * SCALE


def weighted_mean(x, w):
    s, t = 0.0, 0.0
    for i in range(len(x)):
        s += x[i] * w[i]
        t += w[i]
    return s / t


def mean_of_some(x, limit):
    count, s = 0, 0.0
    for v in x:
        if v > limit:
            count += 1
            s += v
    return s / count


def covariance(x, y):
    mx, my = x.mean(), y.mean()
    return ((x - mx) * (y - my)).mean()


def softmax(x):
    n = len(x)
    out = np.empty(n)
    most, s = x.max(), 0.0
    for i in range(n):
        out[i] = np.exp(x[i] - most)
        s += out[i]
    for i in range(n):
        out[i] /= s
    return out


def row_deviations(z):
    return z.std(axis=1)


def histogram(k):
    h = np.zeros(10, np.int64)
    for i in range(len(k)):
        h[k[i]] += 1
    return h


def frequencies(x):
    h = np.zeros(10, np.int64)
    for v in x:
        if 0 <= v < 1:
            h[int(v * 10)] += 1
    return h / len(x)


X = np.random.default_rng(0).standard_normal(5 * BLOCK + 700)
Y = X[::-1].copy()
Z = np.random.default_rng(1).standard_normal((70, 2 * BLOCK + 30))
HOLES = X.copy()
HOLES[::3] = np.nan
HOLES[BLOCK : BLOCK + 9] = np.nan
BEGINS = HOLES.copy()
BEGINS[1], BEGINS[0] = 5.0, np.nan

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "scaled": (scaled, (X,)), "scaled of rows": (scaled, (Z,)), "dot": (dot, (X, Y)),
    "statistics": (statistics, (X,)), "statistics with NaNs": (statistics, (HOLES,)),
    "total": (total, (Z,)), "row sums": (row_sums, (Z,)),
    "squares and their sum": (squares_and_sum, (X,)), "smoothed": (smoothed, (X,)),
    "laplace": (laplace, (Z,)), "variation": (variation, (X,)), "largest": (largest, (X,)),
    "largest with NaNs": (largest, (HOLES,)), "a NaN first": (largest, (BEGINS,)),
    "python's maximum": (python_maximum, (HOLES[1:],)), "and a NaN": (python_maximum, (BEGINS,)),
    "argmax": (place_and_minimum, (X,)), "argmax with NaNs": (place_and_minimum, (HOLES[1:],)),
    "has large": (has_large, (X, 9.0)), "has larger": (has_large, (X, 0.1)),
    "all small": (all_small, (X, 9.0)), "not all": (all_small, (X, 0.1)),
    "float32": (dot, (X.astype(np.float32), Y.astype(np.float32))),
    "mean, std": (mean_and_deviation, (X,)), "norm": (norm, (X, Y + 9.0 * X)),
    "weighted mean": (weighted_mean, (X, Y * Y)), "mean of some": (mean_of_some, (X, 0.5)),
    "covariance": (covariance, (X, Y)), "softmax": (softmax, (X,)),
    "histogram": (histogram, (np.arange(9000) % 10,)), "frequencies": (frequencies, (X,)),
    "rows": (row_deviations, (Z[:9],)),
    "integers": (place_and_minimum, (np.arange(9000) % 100,)), "outer": (outer, (X[:300], Y[:200])),
}


def computed(f: Any, *lazy: Any) -> Any:
    """What `f` gives for Dask arrays, all computed, in this thread."""
    found = f(*lazy)
    parts = found if isinstance(found, tuple) else (found,)
    assert all(isinstance(part, da.Array) for part in parts)
    got = dask.compute(*parts, scheduler="sync")
    return got if isinstance(found, tuple) else got[0]


def in_chunks(values: tuple[Any, ...], size: int) -> list[Any]:
    return [da.from_array(v, chunks=size) if isinstance(v, np.ndarray) else v for v in values]


def assert_equal(got: Any, wanted: Any) -> None:
    both = (got, wanted) if isinstance(wanted, tuple) else ((got,), (wanted,))
    for a, b in zip(*both, strict=True):
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        np.testing.assert_array_equal(a, b)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CALLS)
def test_the_bits_are_those_of_one_array(name: str) -> None:
    function, values = CALLS[name]
    fused = fuse(function, on_reject="raise")
    assert_equal(computed(fused, *in_chunks(values, BLOCK)), fused(*values))


@pytest.mark.share(4)
@pytest.mark.parametrize("size", [7, 100])
@pytest.mark.parametrize("name", CALLS)
def test_chunks_of_any_size(name: str, size: int) -> None:
    """Sums may then have another order, and the plan says so."""
    function, values = CALLS[name]
    fused = fuse(function, on_reject="raise")
    values = tuple(v[..., :600] if isinstance(v, np.ndarray) else v for v in values)
    lazy = in_chunks(values, size)
    got, wanted = computed(fused, *lazy), fused(*values)
    if "another order" not in fused.plan(*lazy):
        assert_equal(got, wanted)
        return
    both = (got, wanted) if isinstance(got, tuple) else ((got,), (wanted,))
    for a, b in zip(*both, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4 if a.dtype == np.float32 else 1e-10, atol=1e-9)


def normalized(x):
    return x / x[0]


def running(x):
    return np.cumsum(x)


def counted_and_read(x):
    h, s = np.zeros(10), 0.0
    for v in x:
        s += h[int(v)]
        h[int(v)] += 1.0
    return h, s


def doubled_in_place(x):
    for i in range(len(x)):
        x[i] = x[i] * 2


def of_kind(x):
    return isinstance(x, np.ndarray), x + 1


def same(x):
    return x


def noisy(x, rng):
    return x + rng.random()


REFUSED = {
    normalized: "the function needs an element at its start",
    running: "is carried from one iteration to the next",
    doubled_in_place: "the function writes to `x`",
    counted_and_read: "all iterations write to the same elements of `h`",
    of_kind: "the function calls `isinstance`",
    same: "the function returns one of its arguments",
}


@pytest.mark.share(1)
@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_cut_runs_as_python(function: Callable[..., Any]) -> None:
    lazy = da.from_array(np.arange(1.0, 9.0), chunks=3)
    fused = fuse(function)
    assert REFUSED[function] in fused.plan(lazy)
    with pytest.warns(FuseWarning, match=re.escape(REFUSED[function])):
        got = fused(lazy.copy())
    wanted = function(lazy.copy())
    for a, b in zip(dask.compute(got), dask.compute(wanted), strict=True):
        np.testing.assert_equal(a, b)
    with pytest.raises(transpile.FuseError):
        fuse(function, on_reject="raise")(lazy)


def test_lengths_that_differ_raise_what_dask_raises() -> None:
    fused = fuse(outer_sum, on_reject="silent")
    with pytest.raises(ValueError, match=r"shape|dimension|broadcast"):
        fused(da.ones(5, chunks=2), da.ones(6, chunks=2))


def outer_sum(x, y):
    return x + y


def test_unknown_sizes_and_chunks_without_elements() -> None:
    x = da.from_array(X[:5000], chunks=1000)
    unknown = x[x > 2.0]
    for function in (scaled, largest_number):
        fused = fuse(function, on_reject="raise")
        assert_equal(computed(fused, unknown), fused(X[:5000][X[:5000] > 2.0]))
    with (
        pytest.warns(FuseWarning, match="sizes of the chunks are not known"),
        pytest.raises(ValueError, match="chunk sizes are unknown"),
    ):
        fuse(smoothed)(unknown)
    gaps = da.concatenate([x[:0], x[:1000], x[3:3], x[1000:]])
    assert_equal(computed(fuse(largest_number, on_reject="raise"), gaps), X[:5000].max())


def largest_number(x):
    return x.max()


def ratio(x, y):
    return x.sum() / y.sum() * len(x)


def test_what_folds_give_is_computed_in_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(ratio, on_reject="raise")
    plan = fused.plan(da.ones(6, chunks=2), da.ones(9, chunks=3))
    assert plan.count("fold (add)") == 2
    assert plan.endswith("   then, with what these folds give:\n   one task")
    assert computed(fused, da.ones(6, chunks=2), da.ones(9, chunks=3)) == 4.0
    scaled_norm, x = fuse(norm, on_reject="raise"), da.ones(8, chunks=4)
    before = scaled_norm(x, x)
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert (before.compute(), computed(scaled_norm, x, x)) == (np.sqrt(8) * 2, np.sqrt(8) * 4)


def test_lengths_of_the_whole_must_be_known() -> None:
    x = da.from_array(X[:5000], chunks=1000)
    lazy = x[x > 2.0]
    assert "not in chunks" in fuse(mean_and_deviation).plan(lazy)
    assert "then" in fuse(mean_and_deviation).plan(lazy.compute_chunk_sizes())


def test_arrays_of_numpy_and_other_chunks_beside() -> None:
    fused = fuse(dot, on_reject="raise")
    x = da.from_array(X, chunks=BLOCK)
    assert_equal(computed(fused, x, Y), fused(X, Y))
    other = da.from_array(Y, chunks=2 * BLOCK)
    assert "cut further" in fused.plan(x, other)
    assert_equal(computed(fused, x, other), fused(X, Y))


def test_a_stencil_of_short_chunks_is_refused() -> None:
    lazy = da.from_array(np.arange(9.0), chunks=(4, 1, 4))
    assert "computed" not in fuse(laplace).plan(da.ones((9, 9), chunks=(5, 9)))
    assert "is shorter than its halo" in fuse(two_away).plan(lazy)


def two_away(x):
    return x[4:] - x[:-4]


def test_what_a_function_reads_is_read_when_the_graph_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fused = fuse(scaled, on_reject="raise")
    lazy, wanted = fused(da.from_array(X, chunks=BLOCK)), fused(X)
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert_equal(lazy.compute(scheduler="sync"), wanted)
    again = computed(fused, da.from_array(X, chunks=BLOCK))
    assert_equal(again, fused(X))


def helped(x):
    return y_of(x) + 1.0


def helped_by_fused(x):
    return FUSED_HELPER(x) + 1.0


FUSED_HELPER = fuse(y_of, on_reject="raise")


@pytest.mark.parametrize("function", [helped, helped_by_fused], ids=lambda f: f.__name__)
def test_what_helpers_read_is_read_when_the_graph_is_made(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    f, x = fuse(function, on_reject="raise"), da.ones(8, chunks=4)
    before, token = f(x), dask.base.tokenize(f)
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert dask.base.tokenize(f) != token
    assert (computed(f, x)[0], before.compute()[0]) == (1.25, 1.5)


def gram(z):
    return z @ z.T


def both_ways(z):
    out = np.zeros_like(z)
    for i in range(1, z.shape[0] - 1):
        for j in range(1, z.shape[1] - 1):
            out[i, j] = z[i - 1, j] + z[i + 1, j] + z[i, j - 1] + z[i, j + 1]
    return out


def most(x):
    m = -1e300
    for v in x:
        m = max(m, v)
    return m


@pytest.mark.parametrize(("function", "shape", "chunks"), [
    (gram, (6, 4), (6, 4)), (gram, (6, 4), (6, 2)), (both_ways, (8, 2), (8, 1)),
    (both_ways, (6, 5), (2, 1)), (most, (8,), (8,)), (most, (8,), (3,)),
], ids=lambda v: getattr(v, "__name__", str(v)))
@pytest.mark.parametrize("dtype", ["float64", "uint8"])
def test_results_have_the_shapes_and_dtypes_that_were_announced(
    function: Callable[..., Any], shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str
) -> None:
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    lazy = fuse(function, on_reject="raise")(da.from_array(values, chunks=chunks))
    blocks = [block.compute().shape for block in lazy.to_delayed().reshape(-1)]
    assert blocks == [*itertools.product(*lazy.chunks)]
    got = lazy.compute()
    assert (got.shape, got.dtype) == (lazy.shape, lazy.dtype)
    np.testing.assert_array_equal(got, function(values))


def trace(z):
    s = 0.0
    for i in range(min(z.shape)):
        s += z[i, i]
    return s


@pytest.mark.parametrize("shape", [(8, 5), (8, 8)], ids=str)
@pytest.mark.parametrize("chunks", [(8, 8), (5, 3), (8, 2)], ids=str)
def test_two_axes_that_a_loop_goes_along_together(
    shape: tuple[int, int], chunks: tuple[int, int]
) -> None:
    z = np.arange(np.prod(shape), dtype=float).reshape(shape)
    f, lazy = fuse(trace, on_reject="silent"), da.from_array(z, chunks=chunks)
    reason = "differ in length" if chunks == (8, 8) else "two axes that belong together"
    assert (reason in f.plan(lazy)) == (shape != chunks)
    assert float(f(lazy)) == trace(z)


def flat(z):
    return z.ravel() * 2.0


def test_a_shape_that_is_not_known_is_a_refusal() -> None:
    z = da.from_array(np.ones((3, 4), np.float32), chunks=(3, 4))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert_equal(fuse(flat)(z).compute(), np.full(12, 2.0, np.float32))
    assert "depends on more than the lengths" in str(caught[0].message)


def test_tokens_are_those_of_what_a_function_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from dask.base import tokenize

    fused, other = fuse(scaled), fuse(scaled)
    assert tokenize(fused) == tokenize(other) == tokenize(pickle.loads(pickle.dumps(fused)))
    assert tokenize(fused) != tokenize(fuse(scaled, reassociate=False))
    before = tokenize(fused)
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert tokenize(fused) != before


def test_questions_for_the_type_of_a_result_compile_nothing() -> None:
    fused = fuse(row_sums, on_reject="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = da.ones((6, 5), chunks=(2, 5))
        found = da.map_blocks(fused, x, drop_axis=1, dtype=float)
    assert found.dtype == float
    assert fused.stats.compiled == 0
    assert fused.stats.seconds == 0


def test_the_graph_stays_symbolic() -> None:
    lazy = da.ones(10**6, chunks=100)
    found = fuse(scaled, on_reject="raise")(lazy)
    layers = found.__dask_graph__().layers
    assert sum(type(layer).__name__ == "Blockwise" for layer in layers.values()) == len(layers)


def test_reports_are_of_chunks() -> None:
    fused = fuse(dot, on_reject="raise")
    lazy = da.from_array(X, chunks=BLOCK)
    fused(lazy, lazy)
    assert "compiled for" in str(fused.report(lazy, lazy))
    assert fused.report().signatures == ()
    assert not fused.is_refused


def test_a_plan_of_arrays_says_how_they_could_be_cut() -> None:
    assert "axis 0 of `x`, `out`: offset [-1, +1]" in fuse(smoothed).plan(X)
    assert "axis 0 of `x`: fold (place, minimum)" in fuse(place_and_minimum).plan(X)


@pytest.mark.parametrize(
    "scheduler", ["threads", pytest.param("processes", marks=pytest.mark.long)]
)
def test_schedulers(scheduler: str) -> None:
    fused = fuse(dot, on_reject="raise")
    lazy = fused(*in_chunks((X, Y), BLOCK))
    assert lazy.compute(scheduler=scheduler) == fused(X, Y)
    staged = fuse(covariance, on_reject="raise")
    assert staged(*in_chunks((X, Y), BLOCK)).compute(scheduler=scheduler) == staged(X, Y)


@pytest.mark.long
def test_a_worker_that_is_killed() -> None:
    distributed = pytest.importorskip("distributed")
    fused = fuse(dot, on_reject="raise")
    lazy = fused(*in_chunks((X, Y), BLOCK))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert client.compute(lazy).result() == fused(X, Y)
        future = client.compute(lazy + 0.0)
        os.kill(next(iter(client.run(os.getpid).values())), 9)
        assert future.result() == fused(X, Y)


PROGRAM = """
import dask
dask.config.set({"array.query-planning": True, "scheduler": "sync"})
import dask.array as da, numpy as np
from test_dask_graphs import BLOCK, CALLS, Y, assert_equal, computed, dot, fuse, in_chunks
assert da._array_expr_enabled()
for name in ("dot", "smoothed", "statistics", "argmax", "largest with NaNs", "has large"):
    function, values = CALLS[name]
    fused = fuse(function, on_reject="raise")
    assert_equal(computed(fused, *in_chunks(values, BLOCK)), fused(*values))
x, other = da.from_array(Y, chunks=BLOCK), da.from_array(Y, chunks=2 * BLOCK)
assert_equal(computed(fuse(dot), x, other), fuse(dot)(Y, Y))
print("as in one piece")
"""


def test_arrays_that_are_expressions(tmp_path: Path) -> None:
    """Dask's other implementation of arrays, which a setting chooses before the import."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    folders = ROOT, SUPPORT, Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    words = [sys.executable, str(path)]
    found = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert found.stdout == "as in one piece\n", found.stderr


def sum_and_squares(z):
    s = t = 0.0
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            s += z[i, j]
            t += z[i, j] * z[i, j]
    return s, t


def column_sums_and_squares(z):
    return z.sum(axis=0), (z * z).sum(axis=0)


def tasks_of(*results: Any) -> int:
    """The tasks of a graph that computes them all."""
    return len(dict(dask.optimize(*results)[0].__dask_graph__()))


@pytest.mark.parametrize(
    ("function", "shape", "chunks"), [
        (statistics, (700 * 3,), (3,)),  # two levels of tasks that join
        (sum_and_squares, (12, 40), (5, 7)), (sum_and_squares, (3, 900), (3, 2)),
        (column_sums_and_squares, (40, 12), (7, 5)), (column_sums_and_squares, (600, 3), (1, 3)),
    ],
)
def test_folds_of_several_results_are_joined(
    function: Callable[..., Any], shape: tuple[int, ...], chunks: tuple[int, ...]
) -> None:
    values = np.random.default_rng(5).integers(-99, 99, shape).astype(float)  # sums are exact
    f = fuse(function, on_reject="raise")
    got = f(da.from_array(values, chunks=chunks))
    for part, wanted in zip(got, f(values), strict=True):
        assert part.dtype == np.asarray(wanted).dtype
        assert_equal(part.compute(), wanted)


def test_results_share_the_tasks_of_their_chunks() -> None:
    f = fuse(statistics, on_reject="raise")
    (x,) = dask.persist(da.ones(100 * BLOCK, chunks=BLOCK))
    results = f(x)
    assert tasks_of(*results) <= 2 * 100 + 2 * len(results)
    assert tasks_of(results[0]) <= 2 * 100 + 2
