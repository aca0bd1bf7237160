"""Arguments drawn for a function: the likeliest kinds with which Python runs, then many values."""
from __future__ import annotations

import heapq
import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .inputs import Kind

__all__ = ["arguments", "draws", "likeliest"]

_COMBINATIONS, _TRIES = 60, 40
_FUNCTIONS: dict[Kind, tuple[Callable[..., Any], ...]] = {
    "F0": (lambda: 1.0,),
    "F1": (lambda x: x * 2.0, np.sqrt, abs),
    "F2": (lambda x, y: np.sum((x - y) ** 2), lambda x, y: x + y),
}

Taken = Callable[[tuple[Any, ...]], bool]


def draws(
    guesses: list[tuple[Kind, ...]], parameters: list[inspect.Parameter], rng: random.Random,
    taken: Taken, count: int,
) -> list[tuple[Any, ...]]:
    """`count` arguments of the likeliest kinds that are `taken`, the first of usual types (float64,
    equal lengths), and one that is perhaps not; none where nothing is.
    """
    for chosen in likeliest(guesses):
        for sizes in ([rng.choice((8, 12, 17, 33))] * 4, None, [2] * 4):
            args = arguments(chosen, parameters, rng, least=3, usual=True, sizes=sizes)
            if taken(args):
                return [args, *_more(chosen, parameters, rng, taken, count - 1)]
    return []


def _more(
    chosen: tuple[Kind, ...], parameters: list[inspect.Parameter], rng: random.Random,
    taken: Taken, count: int,
) -> Iterator[tuple[Any, ...]]:
    for k in range(_TRIES):
        args = arguments(chosen, parameters, rng, least=0, usual=k == 0)
        if count == 1 or taken(args):
            yield args
            count -= 1
        if not count:
            return


def likeliest(guesses: list[tuple[Kind, ...]]) -> Iterator[tuple[Kind, ...]]:
    """Choices of a kind for each parameter, those first that depart least from the first ones;
    parameters of which the same is known depart together, or one by one.
    """
    alike = [[k for k, g in enumerate(guesses) if g == one] for one in dict.fromkeys(guesses)]
    moves = [*alike, *([k] for group in alike if len(group) > 1 for k in group)]
    start = (0,) * len(guesses)
    waiting, seen = [(0, start)], {start}
    for _ in range(_COMBINATIONS):
        if not waiting:
            return
        cost, places = heapq.heappop(waiting)
        yield tuple(g[k] for g, k in zip(guesses, places, strict=True))
        for move in moves:
            after = tuple(p + (k in move) for k, p in enumerate(places))
            within = all(p < len(g) for p, g in zip(after, guesses, strict=True))
            if within and after not in seen:
                seen.add(after)
                heapq.heappush(waiting, (cost + 1, after))


def arguments(
    chosen: tuple[Kind, ...], parameters: list[inspect.Parameter], rng: random.Random,
    least: int = 0, usual: bool = False, sizes: list[int] | None = None,
) -> tuple[Any, ...]:
    """Values of these kinds; arrays share lengths, `least` or more, and mostly dtypes."""
    sizes = sizes or [max(rng.choice((0, 1, 2, 3, 5, 8, 17, 33, 40)), least) for _ in "1234"]
    if usual or rng.random() < 0.5:
        sizes = [sizes[0]] * 4
    main = "f8" if usual else rng.choice(("f8", "f8", "f8", "f4", "i8", "i4", "u1", "?"))
    numpy = np.random.default_rng(rng.randrange(1 << 30))

    def value(kind: Kind, parameter: inspect.Parameter) -> Any:
        if kind[0] not in "akmo":
            return _scalar(kind, parameter, sizes, rng)
        other = rng.choice(("f8", "i8", "i4", "?"))
        dtype = main if usual or rng.random() < 0.8 else other
        if kind[0] == "k":
            return numpy.integers(0, max(min(sizes), 1), _shape(kind, sizes))
        if kind[0] == "m":
            return numpy.random(_shape(kind, sizes)) < 0.5
        shape = (1,) if kind[0] == "o" else _shape(kind, sizes)
        return _array(shape, dtype, rng, numpy)

    return tuple(value(kind, p) for kind, p in zip(chosen, parameters, strict=True))


def _shape(kind: Kind, sizes: list[int]) -> tuple[int, ...]:
    rank = int(kind[1])
    return tuple(min(n, 9) if rank > 2 else n for n in sizes[:rank])


def _scalar(
    kind: Kind, parameter: inspect.Parameter, sizes: list[int], rng: random.Random
) -> Any:
    match kind[0]:
        case "i":
            return rng.choice((0, 1, 2, 2, 3, 4, 5, 7, sizes[0], max(sizes[0] - 1, 1), -1))
        case "f":
            return rng.choice((0.0, 0.5, 1.0, 2.5, -1.5, 0.1, 10.0, float(rng.random())))
        case "c":
            return complex(rng.choice((0.0, 0.5, -1.5)), rng.choice((0.0, 1.0, -2.5)))
        case "b":
            return rng.random() < 0.5
        case "u":
            return tuple(rng.choice((0.0, 0.5, 1.0, 2.5)) for _ in range(int(kind[1:])))
        case "t":
            return tuple(sizes[: rng.choice((1, 2, 3))])
        case "n":
            return None
        case "F":
            return rng.choice(_FUNCTIONS[kind])
        case "s":
            return kind[2:]
        case _:
            return parameter.default


def _array(
    shape: tuple[int, ...], dtype: str, rng: random.Random, numpy: np.random.Generator
) -> np.ndarray:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return numpy.random(shape) < 0.5
    if kind in "iu":
        top = rng.choice((2, max(min(shape, default=1), 1), 100))
        return numpy.integers(0, top, shape).astype(dtype)
    out = numpy.standard_normal(shape).astype(dtype)
    flavour = rng.randrange(6)
    if flavour == 0 and out.size:
        out[numpy.random(shape) < 0.1] = np.nan
    if flavour == 1:
        out = np.abs(out)
    if flavour == 2:
        out = np.sort(out, axis=-1) if shape else out
    if flavour == 3:
        out = np.round(out * 3)
    return out
