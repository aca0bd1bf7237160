"""All CPUs of all who use them: ours, numba's ``parallel=True``, and JAX, each in a process of its
own, since threads that spin after a region would take the CPU of the next one's.

    python -m tests.bench.parallel_peers [case …] [--sizes 4096,1048576] [--rounds 5]

Cases are the programs of `tests.bench.programs` and those of `tests.bench.threads` of which there
is a form for one of the others: numba has `prange` in the outermost loop, or compiles the arrays of
a program; JAX has the forms below, in float64. A column is their time divided by ours, of the best
round; all take turns, and the next one waits until the last one's threads sleep. What each computes
is compared first. At the end: geometric means, and where ours is behind.
"""
from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from targets.abi import thread_pool
from transpile import fuse

from . import programs, threads
from .harness import Run, measure, pretty

__all__ = ["main"]

PEERS = ("NumPy", "numba", "numba loop", "JAX")
SIZES = (4096, 65_536, 1_048_576)
PAUSE = 0.05
"""Seconds after which threads that spin have gone to sleep."""


def _conv(jnp: Any, image: Any, weights: Any, out: Any) -> Any:
    rows, columns = (length - 2 for length in image.shape)
    return out.at[:-2, :-2].set(sum(
        weights[j, i] * image[j : j + rows, i : i + columns] for j in range(3) for i in range(3)
    ))


def _black_scholes(jnp: Any, s: Any, k: Any, t: Any, out: Any) -> Any:
    from jax.scipy.special import erf

    d1 = (jnp.log(s / k) + 0.17 * t) / (0.5 * jnp.sqrt(t))
    n1, n2 = (0.5 * (1.0 + erf(d / math.sqrt(2.0))) for d in (d1, d1 - 0.5 * jnp.sqrt(t)))
    return s * n1 - k * jnp.exp(-0.02 * t) * n2


def _forces(jnp: Any, p: Any, out: Any) -> Any:
    d = p[None, :, :] - p[:, None, :]
    r = (d * d).sum(axis=2) + 0.01
    return (d / (r * jnp.sqrt(r))[:, :, None]).sum(axis=1)


def _distances(jnp: Any, p: Any, out: Any) -> Any:
    return jnp.sqrt(((p[:, None, :] - p[None, :, :]) ** 2).sum(axis=2))


JAX_FORMS: dict[str, Callable[..., Any]] = {
    "axpy": lambda jnp, a, x, y: y + a * x,
    "3-op map": lambda jnp, x, y, out: (x + y) * x - 0.5,
    "sum": lambda jnp, x: jnp.sum(x),
    "dot": lambda jnp, x, y: jnp.dot(x, y),
    "max - min": lambda jnp, x: jnp.ptp(x),
    "filter ≫ sum": lambda jnp, low, x: jnp.sum(jnp.where(x > low, x, 0.0)),
    "exp": lambda jnp, x, y, out: jnp.exp(x),
    "log": lambda jnp, x, y, out: jnp.log(x),
    "sin": lambda jnp, x, y, out: jnp.sin(x),
    "matmul": lambda jnp, a, b, c: a @ b,
    "matmul, ikj": lambda jnp, a, b, c: a @ b,
    "matvec": lambda jnp, a, x, y: a @ x,
    "conv 3x3": _conv,
    "Black-Scholes": _black_scholes,
    "forces": _forces,
    "pair distances": _distances,
    "sum of ints": lambda jnp, x: jnp.sum(x),
    "max": lambda jnp, x: jnp.max(x),
    "cumsum of ints": lambda jnp, k: jnp.cumsum(k),
}
"""Cases of `tests.bench.threads` as functions of arrays. They return what the case returns, or what
its last argument is afterwards."""


@dataclass(frozen=True)
class Contest:
    """A function, and what it is called with for a size."""

    name: str
    function: Callable[..., Any]
    make: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...]
    runs: dict[str, Callable[[tuple[Any, ...]], Run | None]]
    """Of each peer: a call with these arguments, which returns the result; None if it has none."""


def contests() -> Iterator[Contest]:
    """The programs, then the cases."""
    for p in programs.PROGRAMS:
        yield Contest(p.run.__name__, p.run, p.make, SIZES, _runs_of_program(p))
    for name, function, make, dtype, sizes in threads.cases(()):
        if name in JAX_FORMS or "prange" in _prange_text(function):
            yield Contest(
                name, function,
                lambda n, make=make, dtype=dtype: make(n, dtype, np.random.default_rng(1)),
                sizes if max(sizes) < SIZES[1] else SIZES, _runs_of_case(name, function),
            )


def _runs_of_program(p: programs.Program) -> dict[str, Callable[[tuple[Any, ...]], Run | None]]:
    return {
        "NumPy": lambda args: lambda: p.run(*args),
        "numba": lambda args: _by_numba(p.run, args),
        "numba loop": lambda args: p.loop and _with_prange(p.loop, args),
        "JAX": lambda args: programs.by_jax(p.run, args),
    }


def _runs_of_case(
    name: str, function: Callable[..., Any]
) -> dict[str, Callable[[tuple[Any, ...]], Run | None]]:
    return {
        "numba loop": lambda args: _with_prange(function, args),
        "JAX": lambda args: JAX_FORMS.get(name) and _by_jax(JAX_FORMS[name], args),
    }


def _by_numba(function: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    import numba

    jitted = numba.njit(parallel=True, fastmath=True)(function)
    return lambda: jitted(*args)


def _prange_text(function: Callable[..., Any]) -> str:
    import inspect

    return inspect.getsource(function).replace("in range(", "in prange(", 1)


def _with_prange(function: Callable[..., Any], args: tuple[Any, ...]) -> Run | None:
    loop = threads.in_parallel(function)
    return None if loop is None else lambda: _result(loop(*args), args)


def _by_jax(form: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jitted = jax.jit(lambda *moved: form(jnp, *moved))
    moved = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    return lambda: jax.block_until_ready(jitted(*moved))


def _ours(function: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    compiled = fuse(function, on_reject="raise")
    compiled(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])
    thread_pool.wait_until_ready()
    return lambda: _result(compiled(*args), args)


def _result(value: Any, args: tuple[Any, ...]) -> Any:
    """What a call returned, or what its last argument is now."""
    return args[-1] if value is None else value


def _contender(who: str, asked: Connection) -> None:
    """A process that answers: ``(number of a contest, n)`` → the result, or None if `who` has no
    such form; ``None`` → the best seconds of some calls; ``"end"`` ends it.
    """
    all_contests = [*contests()]
    run: Run | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while (question := asked.recv()) != "end":
            if question is None:
                assert run is not None
                asked.send(measure({who: run}, 1)[who])
                continue
            number, n = question
            contest = all_contests[number]
            args = contest.make(n)
            maker = contest.runs.get(who, lambda args: None)
            try:
                run = _ours(contest.function, args) if who == "ours" else maker(args)
                asked.send(None if run is None else _flat(run()))
            except Exception:  # it is not installed, or does not know this
                asked.send(None)


def _flat(value: Any) -> np.ndarray:
    parts = value if isinstance(value, tuple) else (value,)
    return np.hstack([np.ravel(np.asarray(part)) for part in parts])


class Contenders:
    """A process for each who takes part."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.asked: dict[str, Connection] = {}
        for who in ("ours", *PEERS):
            here, there = context.Pipe()
            context.Process(target=_contender, args=(who, there), daemon=True).start()
            self.asked[who] = here

    def ask(self, who: str, question: object) -> Any:
        """The answer of one of them, while the others sleep."""
        self.asked[who].send(question)
        answer = self.asked[who].recv()
        time.sleep(PAUSE)
        return answer

    def end(self) -> None:
        for asked in self.asked.values():
            asked.send("end")

    def times(self, number: int, n: int, rounds: int) -> dict[str, float]:
        """The best seconds of a call of each who computes the same as ours."""
        meant = self.ask("ours", (number, n))
        able = ["ours"]
        for who in PEERS:
            if (found := self.ask(who, (number, n))) is not None:
                if found.shape == meant.shape and np.allclose(found, meant, 1e-6, 1e-6):
                    able.append(who)
                else:  # `prange` has made a loop wrong whose iterations depend on each other
                    print(f"{who} computes something else:")
        best = dict.fromkeys(able, math.inf)
        for turn in range(rounds):
            for who in able[:: -1 if turn % 2 else 1]:
                best[who] = min(best[who], self.ask(who, None))
        return best


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.parallel_peers", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; all if none")
    parser.add_argument("--sizes", help="instead of those that suit each case")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    print(f"{threads.cpu_name()}, load {os.getloadavg()[0]:.1f}")
    print(f"{'case':21}{'n':>9}{'ours':>10}{''.join(f'{who:>12}' for who in PEERS)}")
    contenders = Contenders()
    ratios: dict[str, list[float]] = {who: [] for who in PEERS}
    behind: list[str] = []
    for number, contest in enumerate(contests()):
        if options.cases and not any(part in contest.name for part in options.cases):
            continue
        for n in map(int, options.sizes.split(",")) if options.sizes else contest.sizes:
            took = contenders.times(number, n, options.rounds)
            ratio = {who: took[who] / took["ours"] for who in PEERS if who in took}
            for who, value in ratio.items():
                ratios[who].append(value)
            if slow := [f"{who} {value:.2f}" for who, value in ratio.items() if value < 1]:
                behind.append(f"  {contest.name} of {n}: {', '.join(slow)}")
            columns = (f"{ratio[who]:12.2f}" if who in ratio else f"{'':12}" for who in PEERS)
            print(f"{contest.name:21}{n:9}{pretty(took['ours']):>10}{''.join(columns)}", flush=True)
    contenders.end()
    for who, values in ratios.items():
        if values:
            mean = math.exp(sum(map(math.log, values)) / len(values))
            print(f"{who}: {len(values)} rows, geometric mean {mean:.2f}")
    print("\n".join(["ours is behind:", *behind] if behind else ["ours is ahead everywhere"]))


if __name__ == "__main__":
    main()
