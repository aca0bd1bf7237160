"""Random arguments for a function: dtypes, sizes, strides, overlaps, and extreme values."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from choices import Choices

__all__ = ["Arguments", "arguments"]

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 130)
FLOATS, INTS = ("f8", "f4"), ("i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8")
DTYPES = (*FLOATS * 5, "f2", *INTS, "i4", "i8", "i4", "i8", "?")
LAYOUTS = ("plain", "plain", "plain", "plain", "step", "reversed", "row", "offset", "column")
MATRICES = ("plain", "plain", "plain", "fortran", "transposed", "step", "reversed", "rows", "wide")
FILLS = ("whole", "real", "wild", "edges")
SPECIAL = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 255.0, 1e10, 5e-324,
    1e-310, 1e-40, -1e-45, 3.4e38, -3.4e38, 1.7e308, 1e300, 1e-300, 2.0**31, -(2.0**31), 2.0**63,
    2.0**53 + 2,
)
SCALARS: dict[str, tuple[Any, ...]] = {
    "float": (
        0.5, 2.0, 0.0, -0.0, -1.5, 1e300, float("nan"), float("inf"), 1e-3, 3, np.float32(0.1),
        np.float64(0.1), np.int8(3), -7,
    ),
    "int": (
        1, 2, 3, 0, -1, -5, 7, 100, 255, 1 << 40, -(1 << 62), 1 << 70, np.int32(3), np.uint8(4),
    ),
    "bool": (True, False, np.True_, np.False_),
}


@dataclass(frozen=True)
class _Array:
    """How to make one array; with ``of``, out of the memory of that parameter's."""

    dtype: str
    shape: tuple[int, ...]
    layout: str
    fill: str
    seed: int
    frozen: bool = False
    of: int | None = None
    shift: int = 0

    def values(self) -> Any:
        """Values in order, three times as many as any layout takes."""
        rng, count = np.random.default_rng(self.seed), 3 * (int(np.prod(self.shape)) + 8)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "b":
            return rng.integers(0, 2, count).astype(bool)
        if dtype.kind == "f":
            return self._floats(rng, count).astype(dtype)
        info = np.iinfo(dtype)
        whole = rng.integers(max(-5, info.min), 6, count).astype(dtype)
        if self.fill in ("whole", "real"):
            return whole
        ends = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1], dtype)
        wide = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        if self.fill == "wild":
            return wide
        return np.where(rng.random(count) < 0.1, rng.choice(ends, count), whole)

    def _floats(self, rng: Any, count: int) -> Any:
        match self.fill:
            case "whole":
                return rng.integers(-5, 6, count).astype(float)
            case "real":
                return rng.standard_normal(count) * 3
            case "wild":
                return rng.choice(SPECIAL, count)
            case _:
                plain = rng.standard_normal(count) * 3
                return np.where(rng.random(count) < 0.05, rng.choice(SPECIAL, count), plain)

    def make(self) -> tuple[Any, Any]:
        """The array and the memory that it lies in."""
        with np.errstate(all="ignore"):
            flat = self.values()
        a, base = (_matrix if len(self.shape) == 2 else _vector)(self.layout, self.shape, flat)
        if self.frozen:
            a.flags.writeable = False
        return a, base


def _vector(layout: str, shape: tuple[int, ...], flat: Any) -> tuple[Any, Any]:
    (n,) = shape
    match layout:
        case "step":
            return flat[1 : 1 + 2 * n : 2], flat
        case "reversed":
            return flat[:n][::-1], flat
        case "row":
            square = flat[: 3 * n].reshape(3, n)
            return square[1], flat
        case "column":
            square = flat[: 3 * n].reshape(n, 3)
            return square[:, 1], flat
        case "offset":
            return flat[3 : 3 + n], flat
        case _:
            flat = flat[:n].copy()
            return flat, flat


def _matrix(layout: str, shape: tuple[int, ...], flat: Any) -> tuple[Any, Any]:
    r, c = shape
    match layout:
        case "fortran":
            a = np.asfortranarray(flat[: r * c].reshape(r, c))
            return a, a
        case "transposed":
            return flat[: r * c].reshape(c, r).T, flat
        case "step":
            return flat[: 2 * r * c].reshape(r, 2 * c)[:, ::2], flat
        case "reversed":
            return flat[: r * c].reshape(r, c)[::-1, ::-1], flat
        case "rows":
            return flat[: 3 * r * c].reshape(3 * r, c)[::3], flat
        case "wide":
            return flat[: 3 * r * c].reshape(r, 3 * c)[:, 1 : 1 + c], flat
        case _:
            flat = flat[: r * c].copy()
            return flat.reshape(r, c), flat


@dataclass(frozen=True)
class Arguments:
    """Recipes, one a parameter: of an array, or a scalar as it is."""

    recipes: tuple[Any, ...]

    def make(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Fresh arguments, equal at every call, and the memory that they lie in."""
        made: list[Any] = []
        memory: list[Any] = []
        for recipe in self.recipes:
            if not isinstance(recipe, _Array):
                made.append(recipe)
            elif recipe.of is None:
                a, base = recipe.make()
                made.append(a)
                memory.append(base)
            else:
                made.append(_overlapping(made[recipe.of], recipe.shift))
        return tuple(made), tuple(memory)


def _overlapping(a: Any, shift: int) -> Any:
    """The same object, or a view of most of it."""
    match shift:
        case 0:
            return a
        case 1:
            return a[1:]
        case 2:
            return a[::-1]
        case 3:
            return a[: len(a) - 1]
        case _:
            return a[:]


def arguments(tape: bytes, params: Sequence[tuple[str, str]]) -> Arguments:
    """Arguments that mostly fit together: one length, mostly one dtype."""
    choices = Choices(tape)
    one_of, chance = choices.one_of, choices.chance
    n, rows, fill = one_of(*SIZES), one_of(2, 1, 3, 0, 5, 17), one_of(*FILLS)
    dtype, mixed = one_of(*DTYPES), chance(4)
    recipes: list[Any] = []
    for k, (_, kind) in enumerate(params):
        if kind in SCALARS:
            recipes.append(one_of(*SCALARS[kind]))
            continue
        size = max(0, n + one_of(-1, 1, 7)) if chance(16) else n
        matrix = kind == "matrix"
        own = (1 if chance(8) else rows, 1 if chance(8) else size) if matrix else (size,)
        earlier = [j for j in range(k) if params[j][1] == kind]
        recipes.append(
            _Array(
                dtype=one_of(*DTYPES) if mixed else dtype,
                shape=own,
                layout=one_of(*(MATRICES if matrix else LAYOUTS)),
                fill=fill,
                seed=choices.upto(1 << 16),
                frozen=chance(40),
                of=one_of(*earlier) if earlier and chance(10) else None,
                shift=one_of(0, 1, 2, 3, 4),
            )
        )
    return Arguments(tuple(recipes))
