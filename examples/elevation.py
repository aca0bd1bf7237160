"""Hills in the light: slope and shade of a measured landscape, by loops over its grid.

The landscape is the Jacksboro fault in Tennessee, an elevation model that matplotlib ships.
"""
from __future__ import annotations

import matplotlib.cbook
import numpy as np
from numpy.typing import NDArray
from side_by_side import HEADING, compare

from transpile import fuse

Grid = NDArray[np.float64]

METRES_A_DEGREE = 111_200.0


@fuse
def slopes(z: Grid, dx: float, dy: float, east: Grid, north: Grid) -> None:
    """Central differences: the rise of the ground for each metre east and north."""
    rows, columns = z.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            east[i, j] = (z[i, j + 1] - z[i, j - 1]) / (2.0 * dx)
            north[i, j] = (z[i - 1, j] - z[i + 1, j]) / (2.0 * dy)


@fuse
def hillshade(east: Grid, north: Grid, sx: float, sy: float, sz: float, out: Grid) -> None:
    """The light that the ground takes from a sun in direction (sx, sy, sz), from 0 to 1."""
    rows, columns = east.shape
    for i in range(rows):
        for j in range(columns):
            steepness = east[i, j] * east[i, j] + north[i, j] * north[i, j]
            light = sz - east[i, j] * sx - north[i, j] * sy
            out[i, j] = light / np.sqrt(1.0 + steepness)
    for i in range(rows):
        for j in range(columns):
            out[i, j] = out[i, j] if out[i, j] > 0.0 else 0.0


@fuse
def in_shadow(light: Grid) -> int:
    """How many cells get no light at all."""
    rows, columns = light.shape
    dark = 0
    for i in range(rows):
        for j in range(columns):
            if light[i, j] == 0.0:
                dark += 1
    return dark


def main() -> None:
    """Shades the landscape under an evening sun."""
    with matplotlib.cbook.get_sample_data("jacksboro_fault_dem.npz") as model:
        z = model["elevation"].astype(np.float64)
        dy = float(model["dy"]) * METRES_A_DEGREE
        dx = float(model["dx"]) * METRES_A_DEGREE * np.cos(np.radians(float(model["ymin"]))).item()
    east, north, light = np.zeros_like(z), np.zeros_like(z), np.zeros_like(z)
    west_low = (-0.93, 0.0, 0.37)

    print(HEADING)
    compare(slopes, z, dx, dy, east, north)
    slopes(z, dx, dy, east, north)
    compare(hillshade, east, north, *west_low, light)
    hillshade(east, north, *west_low, light)
    dark = compare(in_shadow, light)

    print(f"\n{z.shape[0]} × {z.shape[1]} cells, {z.min():.0f} to {z.max():.0f} m above the sea")
    print(f"mean light {light.mean():.3f}; {dark} cells in shadow")
    print(picture(light))


def picture(light: Grid) -> str:
    """A coarse picture in characters, dark to bright."""
    scale = " .:-=+*#%@"
    coarse = light[::16, ::6]
    steps = (coarse / coarse.max() * (len(scale) - 1)).astype(int)
    return "\n".join("".join(scale[step] for step in row) for row in steps)


if __name__ == "__main__":
    main()
