"""Dask arrays: functions chunk by chunk against Dask with NumPy, and against its bare scheduler.

    python -m tests.bench.dask_chunks [--chunks 100] [--size 131072] [--workers 2]

Each row: the tasks of both graphs once they are optimised, milliseconds of both, of as many tasks
as ours that do nothing, and whether the answer has the bits of one array. The first row is
``xr.apply_ufunc`` over a dimension in chunks. At last the time to build a graph of 10,000 chunks.
"""
from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np

from transpile import fuse


def inner(a, b):
    return (a * b).sum(-1)


def six_operations(a, b):
    return np.sqrt(a * a + b * b) / (1.0 + a) - b


def deviation(a, b):
    return ((a - a.mean()) * (b - b.mean())).mean()


def standardised(a, b):
    return (a - a.mean()) / a.std() + b


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.dask_chunks", description=__doc__)
    parser.add_argument("--chunks", type=int, default=100)
    parser.add_argument("--size", type=int, default=131_072, help="numbers in a chunk")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    dask.config.set(scheduler="threads", num_workers=options.workers)
    rng = np.random.default_rng(0)
    values = [*rng.random((2, options.chunks * options.size))]
    lazy = [da.from_array(v, chunks=options.size, name=False) for v in values]
    kept = dask.persist(*lazy)
    print(f"{'':>16}{'tasks':>8}{'Dask':>8}{'ours ms':>10}{'NumPy ms':>10}{'no-ops ms':>10}  bits")
    for function in (inner, six_operations, deviation, standardised):
        fused = fuse(function, on_reject="raise")
        whole = fused(*values)
        ours, theirs = _applied(fused, kept), _applied(function, kept)
        tasks = _tasks(ours)
        nothing = [dask.delayed(_nothing)(k) for k in range(tasks)]
        runs = {
            "ours": lambda x=ours: dask.compute(x), "NumPy": lambda x=theirs: dask.compute(x),
            "no-ops": lambda x=nothing: dask.compute(*x),
        }
        best = _best(runs)
        bits = np.array_equal(ours.compute(), whole)
        times = "".join(f"{best[name]:10.1f}" for name in runs)
        print(f"{function.__name__:>16}{tasks:8}{_tasks(theirs):8}{times}  {bits}", flush=True)
    many = da.ones(10**6, chunks=100)
    made = [fuse(f, on_reject="raise") for f in (six_operations, inner)]
    built = _best({f.__name__: lambda f=f: f(many, many) for f in made})
    print("graphs of 10,000 chunks:", ", ".join(f"{k} {v:.2f} ms" for k, v in built.items()))


def _applied(function: Callable[..., Any], arrays: Any) -> Any:
    """What the function gives; of `inner` by Xarray, if that is installed."""
    if function.__name__ != "inner":
        return function(*arrays)
    try:
        import xarray as xr
    except ImportError:
        return function(*arrays)
    named = (xr.DataArray(a, dims=("x",)) for a in arrays)
    found = xr.apply_ufunc(function, *named, input_core_dims=[["x"], ["x"]], dask="allowed")
    return found.data


def _nothing(k: int) -> int:
    return k


def _tasks(array: Any) -> int:
    (found,) = dask.optimize(array)
    return len(dict(found.__dask_graph__()))


def _best(runs: dict[str, Callable[[], Any]], rounds: int = 5) -> dict[str, float]:
    """The best time of each in milliseconds, run in turn."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    return best


if __name__ == "__main__":
    main()
