"""Arguments for calls of the hand-written kernels (`batch`).

They are made for the parameters of the Loop IR that a kernel means; for some kernels by a function
of their own.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from batch import PAIRS, Call, Pairs

from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.nodes import Append, Disjoint, Param
from targets.handwritten_kernels import kernel_library, kernel_meaning

__all__ = ["LARGE", "SMALL", "bench_arguments", "calls", "elements"]

SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 127, 130)
"""Lengths around the lanes of a register and of a group, which the interpreter runs too."""

LARGE = (257, 1000, 4095, 4097, 70_000)
"""Lengths around a block and beyond."""

SLACK = 64
"""Elements that an appended array has behind the last: a whole register is stored."""

Make = Callable[[np.random.Generator, str, int], dict[str, Any]]


def elements(rng: np.random.Generator, dtype: str, shape: Any, wild: bool = False) -> Any:
    """Random elements: floats of many sizes, with `wild` also NaN, inf and zeros; ints of all."""
    d = DTYPES[dtype]
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if d.kind != "f":
        info = np.iinfo(d.numpy)
        values = rng.integers(info.min, info.max, shape, d.numpy, endpoint=True)
        return np.where(rng.random(shape) < 0.5, values, values % 7 - 3).astype(d.numpy)
    values = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(d.numpy)
    if wild:
        special = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], d.numpy), shape)
        values = np.where(rng.random(shape) < 0.3, special, values)
    return values


def _whole(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """Small whole numbers, whose sums are exact in any order."""
    return rng.integers(-9, 10, shape).astype(DTYPES[dtype].numpy)


def _gemm(rng: np.random.Generator, dtype: str, n: int) -> dict[str, Any]:
    rows, depth, columns = (n, n, n) if n in _SQUARES else (n % 9, n % 7, n % 71)
    a, b = _whole(rng, dtype, (rows, depth)), _whole(rng, dtype, (depth, columns))
    return {"a": a, "b": b, "c": _whole(rng, dtype, (rows, columns))}


def _gemv(rng: np.random.Generator, dtype: str, n: int) -> dict[str, Any]:
    rows, columns = (n, n) if n in _SQUARES else (n % 9, n % 5000)
    a, x = _whole(rng, dtype, (rows, columns)), _whole(rng, dtype, (columns,))
    return {"a": a, "x": x, "y": _whole(rng, dtype, (rows,))}


def _transpose(rng: np.random.Generator, dtype: str, n: int) -> dict[str, Any]:
    x = elements(rng, dtype, (n, n) if n in _SQUARES else (n % 19, n % 71))
    return {"x": x, "y": np.zeros(x.shape[::-1], x.dtype)}


def _stencil(rng: np.random.Generator, dtype: str, n: int) -> dict[str, Any]:
    x = elements(rng, dtype, (n, n) if n in _SQUARES else (n % 11, n % 71))
    return {"f": DTYPES[dtype].numpy.type(0.2), "x": x, "y": np.zeros_like(x)}


def _place(rng: np.random.Generator, dtype: str, n: int) -> dict[str, Any]:
    x = elements(rng, dtype, max(n, 1), wild=n % 2 == 1)
    return {"x": x, "at": np.array(0)}


def _histogram(rng: np.random.Generator, dtype: str, n: int) -> dict[str, Any]:
    bins = 37 if n % 3 else 2000
    x = rng.integers(0, bins, n).astype(DTYPES[dtype].numpy)
    return {"x": x, "counts": rng.integers(0, 9, bins)}


_SQUARES = (16, 64, 512, 2048)
"""Sides of the square matrices that are timed."""

_MAKE: Mapping[str, Make] = {
    "gemm": _gemm, "gemv": _gemv, "transpose": _transpose, "stencil": _stencil,
    "argmin": _place, "argmax": _place, "histogram": _histogram,
}
"""Kernels whose arguments are not as many elements for each array."""


def calls(sizes: tuple[int, ...], seed: int = 1, pairs: Pairs = PAIRS) -> Iterator[Call]:
    """Each of `pairs` at every size: plain numbers, wild ones, in place where that is allowed."""
    rng = np.random.default_rng(seed)
    for name, dtype in pairs:
        pair = PAIRS.index((name, dtype))
        for n in sizes:
            shift = int(rng.integers(0, 3)) * int(rng.integers(0, 8))
            yield Call(pair, _arguments(rng, name, dtype, n, False), shift)
            if n in (9, 65, 1000):
                args = _arguments(rng, name, dtype, n, True)
                yield Call(pair, args, shift)
                yield Call(pair, _in_place(name, dtype, args), shift)


def _arguments(rng: Any, name: str, dtype: str, n: int, wild: bool) -> dict[str, Any]:
    if name in _MAKE:
        return _MAKE[name](rng, dtype, n)
    kernel = kernel_meaning(name, dtype)
    grows = {x.array for x in walk(kernel) if isinstance(x, Append)}
    room = {p.name: n + SLACK if p.name in grows else n for p in kernel.params}
    return {p.name: _argument(rng, p, room[p.name], wild) for p in kernel.params}


def _argument(rng: Any, p: Param, n: int, wild: bool) -> Any:
    shape = (n,) * (p.rank or 0)
    return np.array(elements(rng, p.dtype, shape, wild))


def _in_place(name: str, dtype: str, args: dict[str, Any]) -> dict[str, Any]:
    """The arrays that may be one, as one."""
    for g in kernel_meaning(name, dtype).guards:
        if isinstance(g, Disjoint) and g.or_same:
            args = {**args, g.b: args[g.a]}
    return args


def bench_arguments(rng: Any, name: str, dtype: str, n: int) -> dict[str, Any]:
    """Tame numbers; scalars are 1, thresholds 0, which half of the elements exceed."""
    if name in _MAKE:
        side = {16: 16, 4096: 64, 262144: 512, 4194304: 2048}.get(n, round(n**0.5))
        return _MAKE[name](rng, dtype, side if "[:, " in kernel_library()[name].text else n)
    args = _arguments(rng, name, dtype, n, False)
    for p in kernel_meaning(name, dtype).params:
        if p.rank is None:
            args[p.name] = DTYPES[p.dtype].numpy.type(p.name not in ("b", "low", "start"))
        elif DTYPES[p.dtype].kind == "f":
            args[p.name] = rng.standard_normal(args[p.name].shape).astype(args[p.name].dtype)
    return args
