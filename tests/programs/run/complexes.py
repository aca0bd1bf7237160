"""Programs on complex numbers: what takes them apart gives Python's and NumPy's bits."""
# ruff: noqa: B905 (programs as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import F32, F64, Rng, program, real, whole, wild

__all__: list[str] = []

C64, C128 = np.complex64, np.complex128
FEW = (0, 1, 7, 33)
STEP = 0.5 - 2j


def on(*, late: bool = False, **makes: Any) -> Callable[..., Any]:
    """A program on the first of the arguments given; on others, or if `late`, it takes long."""
    options = {k: makes.pop(k) for k in ("python_at", "ulps", "sizes") if k in makes}

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        for k, (name, make) in enumerate(makes.items()):
            add = program(long=late or k > 0, **{"sizes": FEW, **options}, **{name: make})
            add(function)
        return function

    return keep


def complexes(dtype: Any = C128, fill: Any = real) -> Callable[..., np.ndarray]:
    part = F32 if dtype is C64 else F64

    def made(n: int, rng: Rng) -> np.ndarray:
        return fill(2 * n, rng, part).view(dtype)

    return made


def huge(n: int, rng: Rng, dtype: Any = F64) -> np.ndarray:
    """Of all sizes, also such whose squares overflow or underflow."""
    most = 0.9 * np.log10(float(np.finfo(dtype).max))
    return (rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-most, most, n)).astype(dtype)


def some(*dtypes: Any, fill: Callable[..., np.ndarray] = real) -> Callable[..., tuple[Any, ...]]:
    """Complex arrays of one length, of each of `dtypes`."""
    return lambda n, rng: tuple(complexes(d, fill)(n, rng) for d in dtypes)


@on(
    c128=some(C128, C128, C128),
    c64=some(C64, C64, C64, fill=wild),
    mixed=some(C64, C128, C128, fill=wild),
    huge=some(C128, C128, C128, fill=huge),
    huge64=some(C64, C64, C64, fill=huge),
    wild=some(C128, C128, C128, fill=wild),
    strided=lambda n, rng: (*some(C128, C128)(2 * n, rng), complexes()(3 * n, rng)[::-3]),
)
def of_pairs(z: Any, w: Any, out: Any) -> None:
    for i in range(len(out)):
        a = z[i] * w[i] - w[i]
        b = -a / w[i] + z[i].conjugate()
        out[i] = b if b.real > a.imag else +w[i] / z[i]


@on(
    c128=lambda n, rng: (complexes()(n, rng), 2.5, 3, 1 - 2j, C128(2j)),
    c64=lambda n, rng: (complexes(C64, wild)(n, rng), 0.1, 3, 0.1 + 7j, C64(2 - 0.1j)),
    wide=lambda n, rng: (complexes(C64, huge)(n, rng), -1.5, 0, 1e-3j, C128(1 + 0.1j)),
)
def pairs_promoted(z: Any, x: Any, k: Any, c: Any, s: Any) -> Any:
    kinds = [z[i] * x + k for i in range(len(z))]
    python = [z[i] * c - (1j - z[i]) for i in range(len(z))]
    numpy = [s / z[i] + z[i] * STEP for i in range(len(z))]
    alone = [c * x + i / c for i in range(len(z))]
    parts = [complex(i, v.imag) ** 2 for i, v in enumerate(z)]
    array = [v.real * c + np.multiply(v, s) - np.square(v) for v in z]
    return kinds, python, numpy, alone, parts, array, c / (x + 5), s * c, -c


@on(late=True, c128=some(C128, C128, fill=wild), c64=some(C64, C128, fill=wild))
def asked(z: Any, w: Any) -> Any:
    same = different = true = 0
    for a, b in zip(z, w):
        if a == b or a == 1:
            same += 1
        if a != b * 1:
            different += 1
        if a and not b:
            true += 1
        if np.isfinite(a) and not np.isnan(b) and not np.isinf(a):
            true += 10
    return same, different, true, [v == 1j for v in z], [v.real != 0.5 for v in w]


@on(
    ulps=4,
    c128=lambda n, rng: (complexes(C128, wild)(n, rng), np.zeros(n)),
    c64=lambda n, rng: (complexes(C64)(n, rng), np.zeros(n, F32)),
    huge=lambda n, rng: (complexes(C128, huge)(n, rng), np.zeros(n)),
)
def sizes(z: Any, size: Any) -> Any:
    for i in range(len(z)):
        size[i] = abs(z[i]) + np.abs(z[i])
    angle = [np.angle(v) for v in z]
    return angle, [v.imag + np.real(v) for v in z], np.array([np.conj(v) for v in z])


@on(
    ulps=8,
    c128=some(C128, C128, fill=wild),
    c64=some(C64, C64),
    huge=some(C128, C128, fill=huge),
    strided=lambda n, rng: (complexes()(2 * n, rng)[::2], complexes()(n, rng)),
)
def exponential(z: Any, out: Any) -> Any:
    for i in range(len(out)):
        out[i] = np.exp(z[i])
        if z[i].real > 0:
            out[i] = np.exp(1j * z[i].imag)


@on(ulps=8, c128=some(C128, C128, fill=wild), c64=some(C64, C64, fill=wild))
def of_libm(z: Any, out: Any) -> Any:
    logs = [np.log(v) if v.imag > 0 else np.log2(v) if v.real > 0 else np.log10(v) for v in z]
    circular = np.array([np.sin(v) if v.real > 0 else np.cos(v) for v in z], z.dtype)
    out[:] = np.where(z.real > 0, np.tan(z), np.sqrt(z))
    return logs, circular, np.sinh(z), np.cosh(z), np.tanh(z)


@on(late=True, c128=some(C128, C64, fill=whole), c64=some(C64, C64, fill=whole))
def stored(z: Any, out: Any) -> Any:
    kept = np.empty(len(z), np.complex64)
    twice = np.zeros_like(z)
    for i in range(len(z)):
        kept[i] = z[i]
        out[i] = z[i].imag
        twice[i] = complex(z[i].real, i)
    return kept, twice


@on(sizes=(0, 1, 33, 1000), c128=some(C128, C128, fill=whole), c64=some(C64, C64, fill=whole))
def dot(z: Any, w: Any) -> Any:
    s = 0
    norm = 0.0
    for i in range(len(z)):
        s += z[i].conjugate() * w[i]
        norm += z[i].real * z[i].real + z[i].imag * z[i].imag
    return s, norm


@on(late=True, c128=some(C128, fill=whole), c64=some(C64, fill=whole))
def total(z: Any) -> Any:
    t = 0j
    for v in z:
        t = t + v
    return t, sum(v for v in z)


@on(
    late=True,
    c128=lambda n, rng: (complexes()(n * 3, rng).reshape(n, 3), C128(1j)),
    c64=lambda n, rng: (np.asfortranarray(complexes(C64)(n * 4, rng).reshape(n, 4)), C64(2)),
)
def matrix(m: Any, by: Any) -> Any:
    out = np.zeros(m.shape, dtype=m.dtype)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i, j] = m[i, j] * by - m[i, 0]
    return out


@on(ulps=4, c128=some(C128, C128), c64=some(C64, C64))
def whole_arrays(z: Any, w: Any) -> Any:
    u = z + w - 1j
    v = np.conj(z) / w
    z += u * w * 0.1
    return u, v, -z, np.abs(w), z == w


@on(c128=some(C128, fill=whole), c64=some(C64, fill=wild))
def parts_of_arrays(z: Any) -> Any:
    u = z.real + 1.0
    for i in range(len(z)):
        z.imag[i] = u[i] - np.real(z)[i]
    z.real[1:] = z.imag[:-1]
    return u, np.imag(z) * 2, z[1:].imag - 1, np.sum(z.real)


def plane(dtype: Any = C128) -> Callable[..., tuple[Any, ...]]:
    """Points around the Mandelbrot set."""
    return lambda n, rng: (
        (rng.uniform(-2, 0.6, n) + 1j * rng.uniform(-1.2, 1.2, n)).astype(dtype),
        np.zeros(n, np.int64), 40,
    )


@on(c128=plane(), c64=plane(C64))
def escape(points: Any, out: Any, most: Any) -> None:
    for i in range(len(points)):
        c = points[i]
        z = 0j
        n = 0
        while n < most and abs(z) <= 2.0:
            z = z * z + c
            n += 1
        out[i] = n


@on(late=True, c128=plane(), c64=plane(C64))
def leave(points: Any, out: Any, most: Any) -> None:
    for i in range(len(points)):
        z = 0
        out[i] = most
        for n in range(most):
            if abs(z) > 2:
                out[i] = n
                break
            z = z**2 + points[i] if n else points[i]


@on(sizes=(0, 1, 5, 9), some=lambda n, rng: (n, 12))
def mandelbrot(n: Any, most: Any) -> Any:
    out = np.empty((n, n + 1), np.int32)
    for j in range(n):
        for i in range(n + 1):
            c = complex(-2.0 + 3.0 * i / n, -1.0 + 2.0 * j / n)
            z = 0
            k = 0
            for _ in range(most):
                z = z * z + c
                if z.real * z.real + z.imag * z.imag > 4.0:
                    break
                k += 1
            out[j, i] = k
    return out


@on(
    sizes=(1, 9),
    python=lambda n, rng: (complex(0.1 * n, -0.3), 50), numpy=lambda n, rng: (C128(0.2j * n), 50),
    single=lambda n, rng: (C64(0.1 - 0.1j * n), 50),
)
def steps(c: Any, most: Any) -> Any:
    z = 0
    for n in range(most):
        if abs(z) > 2:
            return n
        z = z * z + c
    return most


@on(sizes=(1, 2, 9), python_at=(2,), zero=lambda n, rng: (complexes()(n, rng), (n - 2) * 1j))
def divided(z: Any, by: Any) -> Any:
    return [v / by for v in z], (1 + 1j) / by
