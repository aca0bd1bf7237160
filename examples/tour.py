"""A tour: loops as you would write them, compiled; and one that is not joined, with the reason."""
from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray
from side_by_side import HEADING, compare

from transpile import fuse

Array = NDArray[np.float64]


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


def main() -> None:
    """Runs every function both ways, and prints the report of the last."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=200_000)
    image = rng.random((300, 400))

    print(HEADING)
    compare(normalise, x, 4.0, 0.25, np.zeros_like(x))
    mean, variance = compare(moments, x, rtol=1e-9)
    compare(bell, x, 0.0, 1.0, np.zeros_like(x), rtol=1e-15)
    compare(roots, x)
    peak = compare(loudest, x)
    compare(blur, image, np.zeros_like(image))
    compare(smooth, x, np.zeros_like(x), np.zeros_like(x))

    print(f"\nmean {mean:.4f}, variance {variance:.4f}, loudest {peak:.4f}\n")
    print(smooth.report(x, np.zeros_like(x), np.zeros_like(x)))


if __name__ == "__main__":
    main()
