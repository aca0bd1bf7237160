"""Fused functions of Dask arrays and Xarray: one task a chunk, and the bits of one array.

    pip install -e ".[xarray]" && python examples/dask_chunks.py
"""
from __future__ import annotations

import dask.array as da
import numpy as np
import xarray as xr

from transpile import fuse


@fuse
def covariance(x, y):
    """Sums of one pass over both arrays: a task a chunk, then the parts in their order."""
    sx, sy, sxy, n = 0.0, 0.0, 0.0, 0
    for i in range(len(x)):
        sx += x[i]
        sy += y[i]
        sxy += x[i] * y[i]
        n += 1
    return sx, sy, sxy, n


@fuse
def smoothed(x):
    """A stencil: each chunk gets one element more on both sides."""
    out = x.copy()
    for i in range(1, len(x) - 1):
        out[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]
    return out


@fuse
def inner(a, b):
    """The sum of the products along the last axis, which may be cut into chunks."""
    return (a * b).sum(-1)


def main() -> None:
    """Compare each with the same function of arrays that are in one piece."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200_000))
    x, y = (da.from_array(v, chunks=4096 * 8) for v in (a, b))

    print(covariance.plan(x, y))
    sx, sy, sxy, n = (float(v) for v in da.compute(*covariance(x, y)))
    print("covariance", sxy / n - sx / n * sy / n)
    print("the bits of one array:", (sx, sy, sxy, n) == covariance(a, b))

    print(smoothed.plan(x))
    print("the bits of one array:", np.array_equal(smoothed(x).compute(), smoothed(a)))

    table = xr.DataArray(rng.standard_normal((6, 90_000)), dims=("station", "time"))
    cut = table.chunk(time=4096 * 4)
    result = xr.apply_ufunc(
        inner, cut, cut, input_core_dims=[["time"], ["time"]], dask="allowed"
    )
    print(result.dims, result.chunks)
    print("the bits of one array:", np.array_equal(result.compute(), inner(table.data, table.data)))


if __name__ == "__main__":
    main()
