"""Calls with Dask arrays on bad days: arrays without axes, chunks of other kinds, chunks that share
memory, graphs joined in other ways, workers of other kinds.
"""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transpile import FuseWarning, fuse, knobs
from transpile.chunks import dask_graphs

da: Any = pytest.importorskip("dask.array", reason="Dask is not installed: pip install -e .[dask]")
dask: Any = pytest.importorskip("dask")

BLOCK = 4096
X = np.random.default_rng(3).standard_normal(6 * BLOCK + 70)


def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def scaled(x, by):
    return x * by + 1.0


def moments(x):
    return x.sum(), (x * x).sum(), x.max()


def neighbours(x):
    out = x.copy()
    out[1:-1] = x[2:] - x[:-2]
    return out


def roots(x):
    return np.sqrt(x * x + 2.0) / (1.0 + x * x)


def test_arrays_without_axes_are_numbers() -> None:
    fused = fuse(scaled, on_reject="raise")
    zero = da.from_array(np.float64(3.0), chunks=())
    assert zero.ndim == 0
    for by in (2.5, da.from_array(np.array(2.5), chunks=())):
        found = fused(zero, by)
        assert (found.shape, found.dtype, found.compute()) == ((), np.float64, 8.5)
    for values in (X, X.astype(np.float32)):  # the dtype of the result is NumPy's
        lazy = da.from_array(values, chunks=BLOCK)
        for by in (zero, lazy.max()):
            found, wanted = fused(lazy, by), scaled(values, by.compute())
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.compute(), wanted)


def test_chunks_that_are_no_arrays_of_numpy_run_as_python() -> None:
    lazy = da.ma.masked_greater(da.from_array(X[:100], chunks=30), 1.0)
    with pytest.warns(FuseWarning, match=r"the chunks are of type numpy.ma"):
        found = fuse(scaled)(lazy, 2.0)
    np.testing.assert_array_equal(found.compute(), np.ma.masked_greater(X[:100], 1.0) * 2.0 + 1.0)


def test_chunks_that_share_memory() -> None:
    """The same chunks twice, broadcast ones, and views of one array: nothing is written to them."""
    lazy = da.from_array(X, chunks=BLOCK)
    assert fuse(dot, on_reject="raise")(lazy, lazy).compute() == fuse(dot)(X, X)
    reverse = da.from_array(X[::-1], chunks=BLOCK)
    assert fuse(dot, on_reject="raise")(lazy, reverse).compute() == fuse(dot)(X, X[::-1])
    ones = da.broadcast_to(da.ones(1, chunks=1), (3 * BLOCK,), chunks=BLOCK)
    np.testing.assert_array_equal(
        fuse(neighbours, on_reject="raise")(ones).compute(), neighbours(np.ones(3 * BLOCK)))
    read_only = X.copy()
    read_only.flags.writeable = False
    fuse(neighbours, on_reject="raise")(da.from_array(read_only, chunks=BLOCK)).compute()
    np.testing.assert_array_equal(read_only, X)


@pytest.mark.parametrize("joined", [2, 3, 5, 256])
def test_however_many_parts_a_task_joins(joined: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_graphs, "_FEWEST_JOINED", joined)
    monkeypatch.setattr(dask_graphs, "_MOST_JOINED", joined)
    lazy = da.from_array(X, chunks=BLOCK)
    assert fuse(dot, on_reject="raise")(lazy, lazy).compute() == fuse(dot)(X, X)
    assert dask.compute(*fuse(moments, on_reject="raise")(lazy)) == fuse(moments)(X)


def _of_worker() -> tuple[str, str]:
    return knobs.read().target or "", os.environ.get("CC", "")


@pytest.mark.long
@pytest.mark.parametrize("others", [
    {"TRANSPILE_TARGET": "sse2"}, {"TRANSPILE_TARGET": "scalar"}, {"CC": "/nowhere/cc"},
], ids=["sse2", "scalar", "no compiler"])
def test_workers_of_other_kinds(others: dict[str, str], tmp_path: Path) -> None:
    """One worker as here, one with another instruction set, or without a compiler: each has
    chunks, and elements and sums have the same bits, unless Python adds them.
    """
    distributed = pytest.importorskip("distributed")
    compiled = "CC" not in others
    names = [dict[str, str](), {**others, "TRANSPILE_CACHE": str(tmp_path)}]
    workers = {
        k: {"cls": distributed.Nanny, "options": {"nthreads": 1, "env": env}}
        for k, env in enumerate(names)
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard": False, "port": 0}}
    lazy = da.from_array(np.tile(X, 8), chunks=BLOCK)
    whole = np.tile(X, 8)
    with (
        distributed.SpecCluster(workers=workers, scheduler=scheduler) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len({*client.run(_of_worker).values()}) == 2
        mapped = client.persist(fuse(roots)(lazy))
        distributed.wait(mapped)
        assert all(client.has_what().values()), "one of the workers did nothing"
        total = client.compute(fuse(dot)(lazy, lazy)).result()
        elements = mapped.compute()
    if compiled:
        np.testing.assert_array_equal(elements, fuse(roots)(whole))
        assert total == fuse(dot)(whole, whole)
    np.testing.assert_allclose(elements, roots(whole), rtol=1e-14)
    np.testing.assert_allclose(total, np.dot(whole, whole), rtol=1e-12)
