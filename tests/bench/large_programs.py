"""Programs that take long to compile: NumPy on many slices, arrays that are swapped, many loops.

`tests.bench.compile_budget` measures them, and `tests/programs/test_large_programs.py` counts
the work of the compiler.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .compile_time import loops

__all__ = ["LARGE_PROGRAMS", "LargeProgram"]


# -- n-body: masks over pairs of bodies, and an array that is made anew in each step


def attraction(p, m, softening):
    x, y, z = p[:, 0:1], p[:, 1:2], p[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    w = dx**2 + dy**2 + dz**2 + softening**2
    w[w > 0] = w[w > 0] ** (-1.5)
    return np.hstack(((dx * w) @ m, (dy * w) @ m, (dz * w) @ m))


def energies(p, v, m):
    x, y, z = p[:, 0:1], p[:, 1:2], p[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    w = np.sqrt(dx**2 + dy**2 + dz**2)
    w[w > 0] = 1.0 / w[w > 0]
    return 0.5 * np.sum(m * v**2), np.sum(np.triu(-(m * m.T) * w, 1))


def n_body(m, p, v, n, dt, softening):
    v -= np.mean(m * v, axis=0) / np.mean(m)
    a = attraction(p, m, softening)
    kinetic = np.empty(n + 1)
    potential = np.empty(n + 1)
    kinetic[0], potential[0] = energies(p, v, m)
    for i in range(n):
        v += a * dt / 2.0
        p += v * dt
        a = attraction(p, m, softening)
        v += a * dt / 2.0
        kinetic[i + 1], potential[i + 1] = energies(p, v, m)
    return kinetic, potential


# -- vertical advection: a tridiagonal solver over planes of arrays of three axes


def vertical_advection(tendency, u, w, u_before, forcing, rate):
    planes = tendency.shape[2]
    upper = np.zeros(tendency.shape)
    right = np.zeros(tendency.shape)
    below = np.zeros(tendency.shape[:2])
    for k in range(planes):
        if k == 0:
            up = 0.125 * (w[1:, :, 1] + w[:-1, :, 1])
            upper[:, :, 0] = up
            diagonal = rate - up
            flux = -up * (u[:, :, 1] - u[:, :, 0])
            right[:, :, 0] = rate * u_before[:, :, 0] + forcing[:, :, 0] + tendency[:, :, 0] + flux
            upper[:, :, 0] = upper[:, :, 0] / diagonal
            right[:, :, 0] = right[:, :, 0] / diagonal
    for k in range(1, planes - 1):
        down = -0.125 * (w[1:, :, k] + w[:-1, :, k])
        up = 0.125 * (w[1:, :, k + 1] + w[:-1, :, k + 1])
        diagonal = rate - down - up
        flux = -down * (u[:, :, k - 1] - u[:, :, k]) - up * (u[:, :, k + 1] - u[:, :, k])
        right[:, :, k] = rate * u_before[:, :, k] + forcing[:, :, k] + tendency[:, :, k] + flux
        divided = 1.0 / (diagonal - upper[:, :, k - 1] * down)
        upper[:, :, k] = up * divided
        right[:, :, k] = (right[:, :, k] - right[:, :, k - 1] * down) * divided
    for k in range(planes - 1, planes):
        down = -0.125 * (w[1:, :, k] + w[:-1, :, k])
        diagonal = rate - down
        flux = -down * (u[:, :, k - 1] - u[:, :, k])
        right[:, :, k] = rate * u_before[:, :, k] + forcing[:, :, k] + tendency[:, :, k] + flux
        divided = 1.0 / (diagonal - upper[:, :, k - 1] * down)
        right[:, :, k] = (right[:, :, k] - right[:, :, k - 1] * down) * divided
    for k in range(planes - 1, planes - 2, -1):
        below[:] = right[:, :, k]
        tendency[:, :, k] = rate * (right[:, :, k] - u_before[:, :, k])
    for k in range(planes - 2, -1, -1):
        below[:] = right[:, :, k] - upper[:, :, k] * below
        tendency[:, :, k] = rate * (below - u_before[:, :, k])


# -- channel flow: Navier-Stokes in two dimensions, periodic in x, with the edges written out


def divergence(ue, uw, vn, vs, un, us, ve, vw, dt, h):
    dudx, dvdy = (ue - uw) / (2 * h), (vn - vs) / (2 * h)
    dudy, dvdx = (un - us) / (2 * h), (ve - vw) / (2 * h)
    return 1 / dt * (dudx + dvdy) - dudx**2 - 2 * (dudy * dvdx) - dvdy**2


def source(b, u, v, dt, h):
    b[1:-1, 1:-1] = divergence(
        u[1:-1, 2:], u[1:-1, :-2], v[2:, 1:-1], v[:-2, 1:-1],
        u[2:, 1:-1], u[:-2, 1:-1], v[1:-1, 2:], v[1:-1, :-2], dt, h,
    )
    b[1:-1, -1] = divergence(
        u[1:-1, 0], u[1:-1, -2], v[2:, -1], v[:-2, -1],
        u[2:, -1], u[:-2, -1], v[1:-1, 0], v[1:-1, -2], dt, h,
    )
    b[1:-1, 0] = divergence(
        u[1:-1, 1], u[1:-1, -1], v[2:, 0], v[:-2, 0],
        u[2:, 0], u[:-2, 0], v[1:-1, 1], v[1:-1, -1], dt, h,
    )


def pressure(p, b, h, rounds):
    for _ in range(rounds):
        q = p.copy()
        p[1:-1, 1:-1] = (
            q[1:-1, 2:] + q[1:-1, :-2] + q[2:, 1:-1] + q[:-2, 1:-1] - h**2 * b[1:-1, 1:-1]
        ) / 4
        p[1:-1, -1] = (
            q[1:-1, 0] + q[1:-1, -2] + q[2:, -1] + q[:-2, -1] - h**2 * b[1:-1, -1]
        ) / 4
        p[1:-1, 0] = (q[1:-1, 1] + q[1:-1, -1] + q[2:, 0] + q[:-2, 0] - h**2 * b[1:-1, 0]) / 4
        p[-1, :] = p[-2, :]
        p[0, :] = p[1, :]


def advanced(f, e, w, n, s, u, v, dp, dt, h, nu):
    moved = f - u * dt / h * (f - w) - v * dt / h * (f - s) - dt / (2 * h) * dp
    return moved + nu * (dt / h**2 * (e - 2 * f + w) + dt / h**2 * (n - 2 * f + s))


def channel_flow(steps, rounds, u, v, p, dt, h, nu, force):
    b = np.zeros_like(u)
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        source(b, u, v, dt, h)
        pressure(p, b, h, rounds)
        u[1:-1, 1:-1] = force * dt + advanced(
            un[1:-1, 1:-1], un[1:-1, 2:], un[1:-1, :-2], un[2:, 1:-1], un[:-2, 1:-1],
            un[1:-1, 1:-1], vn[1:-1, 1:-1], p[1:-1, 2:] - p[1:-1, :-2], dt, h, nu,
        )
        v[1:-1, 1:-1] = advanced(
            vn[1:-1, 1:-1], vn[1:-1, 2:], vn[1:-1, :-2], vn[2:, 1:-1], vn[:-2, 1:-1],
            un[1:-1, 1:-1], vn[1:-1, 1:-1], p[2:, 1:-1] - p[:-2, 1:-1], dt, h, nu,
        )
        u[1:-1, -1] = force * dt + advanced(
            un[1:-1, -1], un[1:-1, 0], un[1:-1, -2], un[2:, -1], un[:-2, -1],
            un[1:-1, -1], vn[1:-1, -1], p[1:-1, 0] - p[1:-1, -2], dt, h, nu,
        )
        u[1:-1, 0] = force * dt + advanced(
            un[1:-1, 0], un[1:-1, 1], un[1:-1, -1], un[2:, 0], un[:-2, 0],
            un[1:-1, 0], vn[1:-1, 0], p[1:-1, 1] - p[1:-1, -1], dt, h, nu,
        )
        v[1:-1, -1] = advanced(
            vn[1:-1, -1], vn[1:-1, 0], vn[1:-1, -2], vn[2:, -1], vn[:-2, -1],
            un[1:-1, -1], vn[1:-1, -1], p[2:, -1] - p[:-2, -1], dt, h, nu,
        )
        v[1:-1, 0] = advanced(
            vn[1:-1, 0], vn[1:-1, 1], vn[1:-1, -1], vn[2:, 0], vn[:-2, 0],
            un[1:-1, 0], vn[1:-1, 0], p[2:, 0] - p[:-2, 0], dt, h, nu,
        )
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0


# -- Conway's game of life, by slices and by rolls


def life_by_slices(z, steps):
    for _ in range(steps):
        n = z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2]
        n += z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
        born = (n == 3) & (z[1:-1, 1:-1] == 0)
        stays = ((n == 2) | (n == 3)) & (z[1:-1, 1:-1] == 1)
        z[...] = 0
        z[1:-1, 1:-1][born | stays] = 1
    return z


def life_by_rolls(z, steps):
    for _ in range(steps):
        north, south = np.roll(z, 1, 0), np.roll(z, -1, 0)
        rows = north + south + z
        n = np.roll(rows, 1, 1) + np.roll(rows, -1, 1) + north + south
        z = ((n == 3) | ((z == 1) & (n == 2))).astype(np.int64)
    return z


def nest_of_two(depth: int) -> str:
    """A function of so many nested loops of two iterations."""
    heads = "".join(f"{'    ' * (k + 1)}for i{k} in range(2):\n" for k in range(depth))
    subscript = " + ".join(f"i{k}" for k in range(depth))
    space = "    " * (depth + 1)
    return f"def f(x):\n    s = 0.0\n{heads}{space}s += x[{subscript}]\n    return s\n"


class LargeProgram(NamedTuple):
    """A program: a function, or the text of one that is called ``f``, and its arguments."""

    name: str
    function: Callable[..., Any] | str
    arguments: Callable[[], tuple[Any, ...]]


_RNG = np.random.default_rng(0)


def _planes() -> tuple[Any, ...]:
    shape = 20, 21, 22
    tendency, u, before, forcing = (_RNG.random(shape) for _ in range(4))
    return tendency, u, _RNG.random((21, 21, 22)), before, forcing, 0.15


def _channel() -> tuple[Any, ...]:
    u, v = np.zeros((41, 41)), np.zeros((41, 41))
    return 5, 10, u, v, np.ones((41, 41)), 0.01, 0.05, 0.1, 1.0


def _cells() -> tuple[Any, ...]:
    return (_RNG.random((60, 60)) < 0.3).astype(np.int64), 3


LARGE_PROGRAMS = (
    LargeProgram(
        "n-body", n_body,
        lambda: (np.ones((25, 1)), _RNG.random((25, 3)), _RNG.random((25, 3)), 5, 0.01, 0.1),
    ),
    LargeProgram("vertical advection", vertical_advection, _planes),
    LargeProgram("channel flow", channel_flow, _channel),
    LargeProgram("life, slices", life_by_slices, _cells),
    LargeProgram("life, rolls", life_by_rolls, _cells),
    LargeProgram("12 loops of two", nest_of_two(12), lambda: (_RNG.random(13),)),
    LargeProgram("64 loops", loops(64), lambda: tuple(_RNG.random(200) for _ in range(5))),
)
"""Each takes at most two CPU seconds to compile on a machine of 2020."""
