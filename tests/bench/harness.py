"""What a case of the bench is, the check that all compute the same, their times, and the line."""
from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import runners
from .runners import Run

__all__ = [
    "HEAD", "Case", "Make", "Moment", "Run", "flat", "line", "measure", "pin", "pretty",
]

Make = Callable[[int, str, np.random.Generator], tuple[Any, ...]]

COLUMNS = ("NumPy", "numba", "gcc", "fast", "hand", "limit")
HEAD = (
    f"{'case':21}{'dtype':11}{'n':>9}{'ours':>9}{'Gop/s':>7}"
    f"{''.join(f'{name:>8}' for name in COLUMNS)}   aim"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``loop``: what we and numba compile. ``array``: NumPy's idiom on the same arguments, which
    ``make`` makes for a size and dtype. ``c``: the same in C; ``hand``: the kernel.
    ``limit``: "sum" or "copy", what memory must do at least. ``work``: operations of a size.
    ``aim``: where to stand, each number with the column that it is for.
    """

    name: str
    loop: Callable[..., Any]
    array: Callable[..., Any]
    make: Make
    c: str
    sizes: tuple[int, ...]
    aim: str
    hand: str = ""
    limit: str = ""
    dtypes: tuple[str, ...] = ("float32", "float64")
    work: Callable[[int], float] | None = None


def flat(*arguments: str | float) -> Make:
    """As many elements as the size says, random ("x") or zeros ("0"), and scalars."""

    def make(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        def one(a: str | float) -> Any:
            if not isinstance(a, str):
                return np.dtype(dtype).type(a)
            real = np.dtype(dtype).kind == "f"
            x = rng.random(n) if real else rng.integers(-1000, 1000, n)
            return x.astype(dtype) if a == "x" else np.zeros(n, dtype)

        return tuple(map(one, arguments))

    return make


def pin() -> None:
    """Keeps this process on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


Moment = Callable[[], AbstractContextManager[Any]]


def measure(
    runs: dict[str, Run], rounds: int, moments: Mapping[str, Moment] | None = None,
) -> dict[str, float]:
    """The best seconds a call of each, the runs taking turns: what else runs only adds to them. The
    order is reversed each time, as the system gives more time to who has just waited. Some run
    within ``moments``, entered for each turn of a few milliseconds.
    """
    best: dict[str, float] = {}
    repeat: dict[str, int] = {}
    for name, run in runs.items():
        with (moments or {}).get(name, nullcontext)():
            run()
            calls, end = 0, time.perf_counter() + 0.001
            while not calls or time.perf_counter() < end:
                run()
                calls += 1
        repeat[name] = min(1000, 4 * calls) if calls > 1 else 1
    for turn in range(rounds):
        for name, run in list(runs.items())[:: -1 if turn % 2 else 1]:
            with (moments or {}).get(name, nullcontext)():
                start = time.perf_counter()
                for _ in range(repeat[name]):
                    run()
                took = (time.perf_counter() - start) / repeat[name]
            best[name] = min(took, best.get(name, took))
    return best


def line(case: Case, ours: Any, dtype: str, n: int, target: str, rounds: int) -> str:
    """Has everyone run the case, and compares results, then times: theirs / ours."""
    args = tuple(map(_aligned, case.make(n, dtype, np.random.default_rng(1))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = _runs(case, ours, args, dtype, n, target)
        _agree(case, runs, args, dtype, n)
        if case.limit:
            runs["limit"] = runners.limit(case.limit, args)
        times = measure(runs, rounds)
    assert ours.stats.compiled > 0, ours.report(*args)
    t = times["ours"]
    rate = f"{case.work(n) / t / 1e9:7.1f}" if case.work else f"{'':7}"
    ratios = (f"{times[k] / t:8.2f}" if k in times else f"{'':8}" for k in COLUMNS)
    return f"{case.name:21}{dtype:11}{n:9}{pretty(t):>9}{rate}{''.join(ratios)}   {case.aim}"


def _runs(
    case: Case, ours: Any, args: tuple[Any, ...], dtype: str, n: int, target: str
) -> dict[str, Run]:
    """A call of each who can, on the same arguments."""
    runs: dict[str, Run] = {"ours": lambda: ours(*args), "NumPy": lambda: case.array(*args)}
    numba = runners.by_numba(case.loop, args)
    if numba:
        runs["numba"] = numba
    made = ours(*args)
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    room = [np.zeros(n, made.dtype)] if isinstance(made, np.ndarray) else []
    for name in ("gcc", "fast"):
        run = runners.in_c(case.c, dtype, arrays + room, n, name == "fast")
        runs[name] = _filled(run, room[0]) if room else run
    hand = runners.by_hand(case.hand, case.loop, args, target) if case.hand else None
    return runs | ({"hand": hand} if hand else {})


def _filled(run: Run, room: np.ndarray) -> Run:
    return lambda: room[: int(run())]


def _agree(case: Case, runs: dict[str, Run], args: tuple[Any, ...], dtype: str, n: int) -> None:
    """Each result and each argument changed is near ours: 99 of 100 elements, since a point at the
    edge of a set may fall to either side. Fewer digits where float sums of many terms are naive.
    """
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    before = [a.copy() for a in arrays]
    inexact = np.issubdtype(dtype, np.inexact)
    near = min(0.05, float(np.finfo(dtype).eps) * (100 + n)) if inexact else 0.0
    meant: list[Any] = []
    for name, run in runs.items():
        for a, b in zip(arrays, before, strict=True):
            a[...] = b
        found = [run(), *(a.copy() for a in arrays)]
        meant = meant or found
        for x, y in zip(meant, found, strict=True):
            if x is not None and not np.isclose(x, y, near, near).mean() > 0.99:
                raise AssertionError(f"{case.name} {dtype} {n}: {name} computes something else")


def _aligned(a: Any) -> Any:
    """A copy that starts where a register may be loaded whole; a scalar as it is."""
    if not isinstance(a, np.ndarray):
        return a
    room = np.empty(a.nbytes + 64, np.uint8)
    at = -room.ctypes.data % 64
    copy = room[at : at + a.nbytes].view(a.dtype).reshape(a.shape)
    copy[:] = a
    return copy


def pretty(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
