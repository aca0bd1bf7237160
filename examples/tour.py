"""A tour: loops as you would write them, compiled; two that are not joined, with the reason."""
from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray
from side_by_side import HEADING, compare

from transpile import fuse

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@fuse
def normalise(x: Array, peak: float, threshold: float, out: Array) -> None:
    """Two loops over the same elements: they become one pass over memory."""
    for i in range(len(x)):
        out[i] = x[i] / peak
    for i in range(len(x)):
        out[i] = out[i] if out[i] > threshold else 0.0


@fuse
def moments(x: Array) -> tuple[float, float]:
    """Two sums in one loop."""
    total = 0.0
    squares = 0.0
    for v in x:
        total += v
        squares += v * v
    mean = total / len(x)
    return mean, squares / len(x) - mean * mean


@fuse
def bell(x: Array, centre: float, width: float, out: Array) -> None:
    """A function of math in the loop."""
    for i in range(len(x)):
        z = (x[i] - centre) / width
        out[i] = exp(-0.5 * z * z)


@fuse
def roots(x: Array) -> list[float]:
    """A filter and a map, as a comprehension."""
    return [sqrt(v) for v in x if v > 0.0]


@fuse
def loudest(x: Array) -> float:
    """A generator into max."""
    return max(abs(v) for v in x)


@fuse
def blur(image: Array, out: Array) -> None:
    """A loop nest over two axes."""
    rows, columns = image.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            cross = image[i - 1, j] + image[i + 1, j] + image[i, j - 1] + image[i, j + 1]
            out[i, j] = 0.5 * image[i, j] + 0.125 * cross


@fuse
def smooth(a: Array, t: Array, out: Array) -> None:
    """The second loop reads what the first has not yet written: two loops they stay."""
    for i in range(len(a) - 1):
        t[i] = a[i] * 0.5
    for i in range(len(a) - 1):
        out[i] = t[i + 1] - t[i]


@fuse
def mandelbrot(re: Array, im: Array, counts: Counts) -> None:
    """How long each point takes to leave a circle: a loop in a loop, left early."""
    for i in range(len(re)):
        a, b, turns = 0.0, 0.0, 0
        while a * a + b * b <= 4.0 and turns < 100:
            a, b = a * a - b * b + re[i], 2.0 * a * b + im[i]
            turns += 1
        counts[i] = turns


# -- The same in NumPy, for the column of that name.


def normalise_numpy(x: Array, peak: float, threshold: float, out: Array) -> None:
    np.divide(x, peak, out=out)
    out[out <= threshold] = 0.0


def moments_numpy(x: Array) -> tuple[float, float]:
    return float(x.mean()), float((x * x).mean() - x.mean() ** 2)


def bell_numpy(x: Array, centre: float, width: float, out: Array) -> None:
    out[:] = np.exp(-0.5 * ((x - centre) / width) ** 2)


def roots_numpy(x: Array) -> list[float]:
    values: list[float] = np.sqrt(x[x > 0.0]).tolist()
    return values


def loudest_numpy(x: Array) -> float:
    return float(np.abs(x).max())


def blur_numpy(image: Array, out: Array) -> None:
    cross = image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]
    out[1:-1, 1:-1] = 0.5 * image[1:-1, 1:-1] + 0.125 * cross


def smooth_numpy(a: Array, t: Array, out: Array) -> None:
    t[:-1] = a[:-1] * 0.5
    out[:-1] = t[1:] - t[:-1]


def mandelbrot_numpy(re: Array, im: Array, counts: Counts) -> None:
    """All points take each turn together, as long as one of them is inside."""
    a, b = np.zeros_like(re), np.zeros_like(re)
    counts[:] = 0
    inside = np.ones(len(re), bool)
    for _ in range(100):
        inside &= a * a + b * b <= 4.0
        if not inside.any():
            break
        counts[inside] += 1
        a, b = np.where(inside, (a * a - b * b + re, 2.0 * a * b + im), (a, b))


def main() -> None:
    """Runs every function in each way, and prints the reports of the last two."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=200_000)
    image = rng.random((300, 400))
    empty = np.zeros_like(x)
    re, im = (v.ravel() for v in np.meshgrid(np.linspace(-2, 0.5, 160), np.linspace(-1, 1, 120)))
    counts = np.zeros(len(re), np.int64)

    print(HEADING)
    compare(normalise, x, 4.0, 0.25, empty, numpy=normalise_numpy)
    mean, variance = compare(moments, x, rtol=1e-9, numpy=moments_numpy)
    compare(bell, x, 0.0, 1.0, empty, rtol=1e-15, numpy=bell_numpy)
    compare(roots, x, numpy=roots_numpy)
    peak = compare(loudest, x, numpy=loudest_numpy)
    compare(blur, image, np.zeros_like(image), numpy=blur_numpy)
    compare(smooth, x, empty, empty.copy(), numpy=smooth_numpy)
    compare(mandelbrot, re, im, counts, numpy=mandelbrot_numpy)
    print(f"\nmean {mean:.4f}, variance {variance:.4f}, loudest {peak:.4f}")

    print("\nTwo loops that could not be joined to one pass; both are compiled:\n")
    print(smooth.report(x, empty, empty.copy()))
    print("\nA loop that NumPy needs many passes for; neighbouring points are computed in lanes:\n")
    print(mandelbrot.report(re, im, counts))


if __name__ == "__main__":
    main()
