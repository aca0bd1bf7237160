"""A photograph as loops over its pixels: grey, brighter, more contrast, black and white.

The photograph is the temple of scikit-learn's two samples.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from side_by_side import HEADING, compare
from sklearn.datasets import load_sample_image

from transpile import fuse

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@fuse
def luminance(red: Bytes, green: Bytes, blue: Bytes, out: Floats) -> None:
    """How bright the eye finds each pixel, from 0 to 255."""
    rows, columns = red.shape
    for i in range(rows):
        for j in range(columns):
            out[i, j] = 0.299 * red[i, j] + 0.587 * green[i, j] + 0.114 * blue[i, j]


@fuse
def stretch(grey: Floats, low: float, high: float, out: Floats) -> None:
    """Contrast: `low` becomes 0 and `high` 255, and what lies beyond stays within."""
    rows, columns = grey.shape
    for i in range(rows):
        for j in range(columns):
            out[i, j] = (grey[i, j] - low) / (high - low) * 255.0
    for i in range(rows):
        for j in range(columns):
            out[i, j] = min(max(out[i, j], 0.0), 255.0)


@fuse
def brighten(channel: Bytes, out: Bytes) -> None:
    """A quarter of the way to white, in bytes: 8-bit arithmetic in 8-bit lanes."""
    rows, columns = channel.shape
    for i in range(rows):
        for j in range(columns):
            out[i, j] = channel[i, j] + (255 - channel[i, j]) // 4


@fuse
def threshold(grey: Floats, level: float, out: Bytes) -> int:
    """Black and white; the number of white pixels."""
    rows, columns = grey.shape
    white = 0
    for i in range(rows):
        for j in range(columns):
            out[i, j] = 255 if grey[i, j] > level else 0
            if grey[i, j] > level:
                white += 1
    return white


def main() -> None:
    """Works on the photograph."""
    photo = load_sample_image("china.jpg")
    red, green, blue = (np.ascontiguousarray(photo[:, :, c]) for c in range(3))
    grey, clear = np.zeros(red.shape, np.float32), np.zeros(red.shape, np.float32)
    bright, bitmap = np.zeros_like(red), np.zeros_like(red)

    print(HEADING)
    compare(luminance, red, green, blue, grey)
    luminance(red, green, blue, grey)
    compare(stretch, grey, 32.0, 224.0, clear)
    compare(brighten, blue, bright)
    white = compare(threshold, grey, 128.0, bitmap)

    print(f"\n{photo.shape[0]} × {photo.shape[1]} pixels, mean luminance {grey.mean():.1f}")
    print(f"{white / grey.size:.1%} of them brighter than 128")
    print(picture(grey))


def picture(grey: Floats) -> str:
    """A coarse picture in characters, dark to bright."""
    scale = " .:-=+*#%@"
    steps = (grey[::20, ::8] / 256.0 * len(scale)).astype(int)
    return "\n".join("".join(scale[step] for step in row) for row in steps)


if __name__ == "__main__":
    main()
