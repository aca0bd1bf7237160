"""Escape loops: each lane leaves by itself. The size is the side of the picture."""
from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Case

__all__ = ["CASES"]

TURNS = 200


def escape(re, im, m, out):
    for i in range(len(re)):
        a, b = re[i], im[i]
        x, y = a, b
        count = 0
        while count < m and x * x + y * y <= 4:
            x, y = x * x - y * y + a, 2 * x * y + b
            count += 1
        out[i] = count


def escape_complex(cs, m, out):
    for i in range(len(cs)):
        c = cs[i]
        z = 0j
        count = 0
        while count < m and abs(z) <= 2.0:
            z = z * z + c
            count += 1
        out[i] = count


def np_escape(re, im, m, out):
    at, a, b, x, y = np.arange(len(re)), re, im, re, im
    out[:] = m
    for count in range(m):
        inside = x * x + y * y <= 4
        out[at[~inside]] = count
        at, a, b, x, y = (v[inside] for v in (at, a, b, x, y))
        x, y = x * x - y * y + a, 2 * x * y + b


def np_escape_complex(cs, m, out):
    at, c, z = np.arange(len(cs)), cs, np.zeros_like(cs)
    out[:] = m
    for count in range(m):
        inside = np.abs(z) <= 2.0
        out[at[~inside]] = count
        at, c, z = (v[inside] for v in (at, c, z))
        z = z * z + c


def _plane(n: int) -> Any:
    return (np.linspace(-2, 1, n) + 1j * np.linspace(1, -1, n)[:, None]).ravel()


def _parts(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    c = _plane(n)
    return c.real.astype(dtype), c.imag.astype(dtype), TURNS, np.zeros(n * n, np.int32)


def _whole(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    return _plane(n).astype(dtype), TURNS, np.zeros(n * n, np.int32)


CASES = (
    Case(name="Mandelbrot", loop=escape, array=np_escape, c="escape", sizes=(256,), make=_parts,
         aim="20 gcc"),
    Case(name="Mandelbrot, complex", loop=escape_complex, array=np_escape_complex,
         c="escape_complex", dtypes=("complex64", "complex128"), sizes=(256,), make=_whole,
         aim="20 gcc"),
)
