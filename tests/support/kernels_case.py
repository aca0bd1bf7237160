"""A random kernel with what its arguments depend on: two sizes and a seed.

Array lengths follow from ``n`` and ``rows``. Values are awkward (NaN, ±0, inf, subnormals, the ends
of the integers) or, where a case is ``exact``, small whole numbers.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_printer import show

__all__ = ["Case"]

SPARE = 64  # room behind an appended array: a compaction stores whole registers


class Case:
    """`counts` names, for each appended array, the array that its length is stored to."""

    def __init__(
        self, kernel: ir.Kernel, n: int, rows: int, seed: int, exact: bool, counts: dict[str, str]
    ) -> None:
        self.kernel, self.n, self.rows, self.seed = kernel, n, rows, seed
        self.exact, self.counts = exact, counts

    def __repr__(self) -> str:
        return f"n={self.n}, rows={self.rows}, seed={self.seed}\n{show(self.kernel)}"

    def arguments(self) -> dict[str, Any]:
        """Fresh arguments, the same at every call."""
        rng = np.random.default_rng(self.seed)
        return {p.name: self._argument(p, rng) for p in self.kernel.params}

    def _argument(self, p: ir.Param, rng: Any) -> Any:
        if p.rank is None:
            fixed = {"n": self.n, "rows": self.rows}
            return DTYPES[p.dtype].numpy.type(fixed.get(p.name, self._values(p.dtype, 1, rng)[0]))
        if p.name in self.counts:
            return np.zeros(max(self.n, 1) * max(self.rows, 1) + SPARE, DTYPES[p.dtype].numpy)
        length = 2 * max(self.n, self.rows) + 3
        shape = {0: (), 1: (length,), 2: (self.rows + 2, length)}[p.rank]
        values = self._values(p.dtype, math.prod(shape), rng).reshape(shape)
        if not p.rank or p.unit is not None:
            return values
        return _spaced(values, p.steps[-1]) if p.steps else _restrided(values, rng)

    def _values(self, dtype: str, count: int, rng: Any) -> Any:
        d = DTYPES[dtype]
        if d.kind == "b":
            return rng.integers(0, 2, count).astype(bool)
        small = rng.integers(-4 if d.kind in "if" else 0, 5, count).astype(d.numpy)
        if self.exact:
            return small
        if d.kind == "f":
            other = (rng.standard_normal(count) * 3).astype(d.numpy)
        else:
            other = rng.integers(d.low, d.high, count, dtype=d.numpy, endpoint=True)
        values = np.where(rng.random(count) < 0.3, small, other)
        odd = rng.random(count) < rng.choice([0.0, 0.1])
        return np.where(odd, rng.choice(_odd(dtype), count), values)

    def results(self, args: dict[str, Any]) -> dict[str, Any]:
        """What a caller could see of the arrays that were written."""
        seen = {p.name: args[p.name] for p in self.kernel.params if p.written}
        for kept, count in self.counts.items():
            seen[kept] = seen[kept][: int(args[count])]
        return seen


def _odd(dtype: str) -> Any:
    d = DTYPES[dtype]
    if d.kind != "f":
        return np.array([d.low, d.high, d.high - 1], d.numpy)
    f = np.finfo(d.numpy)
    small = [-0.0, 0.0, f.tiny, f.smallest_subnormal]
    return np.array([math.nan, math.inf, -math.inf, f.max, *small], d.numpy)


def _spaced(values: Any, step: Any) -> Any:
    """The same values, so far apart along the last axis."""
    room = np.zeros((*values.shape[:-1], step * values.shape[-1]), values.dtype)
    room[..., ::step] = values
    return room[..., ::step]


def _restrided(values: Any, rng: Any) -> Any:
    """The same values with a stride of two or minus one along each axis, or in Fortran's order."""
    if rng.random() < 0.3:
        return np.asfortranarray(values)
    room = np.zeros([2 * k for k in values.shape], values.dtype)
    steps = [rng.choice([1, 2, -1]) for _ in values.shape]
    view = room[tuple(slice(None, None, s) for s in steps)]
    view = view[tuple(slice(0, k) for k in values.shape)]
    view[...] = values
    return view
