"""Whole programs in NumPy: passes over memory, and times of all who compile NumPy, on one core.

    python -m tests.bench.programs [program …] [--sizes 1000,100000] [--rounds 5]

Each runs as it stands under NumPy, ours, numba, JAX (float64) and Pythran, and as a loop under
numba, or by numexpr, where there is such a form below; those that are not installed, or do not know
it, have no number. A column is their time divided by ours. Passes are outermost loops of the kernel
as it is lowered, and as it is run. All are checked to give the same.
"""
from __future__ import annotations

import argparse
import functools
import inspect
import os
import tempfile
import textwrap
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

if __name__ == "__main__":
    for variable in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{variable}_NUM_THREADS"] = "1"

import numpy as np  # BLAS asks for its threads when it is loaded

from loopir.nodes import Kernel, LoopLike
from transpile import fuse
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

from .harness import Run, measure, pin, pretty

COLUMNS = ("NumPy", "numba", "loop", "numexpr", "JAX", "Pythran")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """``run`` on what ``make`` makes of a size; ``loop``: the same as loops, for numba;
    ``numexpr``: by its expressions.
    """

    run: Callable[..., Any]
    make: Callable[[int], tuple[Any, ...]]
    loop: Callable[..., Any] | None = None
    numexpr: Callable[..., Any] | None = None


# -- programs


def variance(x):
    m = np.mean(x)
    return np.mean((x - m) ** 2)


def variance_loop(x):
    m = 0.0
    for v in x:
        m += v
    m /= len(x)
    q = 0.0
    for v in x:
        q += (v - m) ** 2
    return q / len(x)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def softmax_loop(x):
    e = np.empty_like(x)
    top = x[0]
    for v in x:
        top = max(top, v)
    s = 0.0
    for i in range(len(x)):
        e[i] = np.exp(x[i] - top)
        s += e[i]
    for i in range(len(x)):
        e[i] /= s
    return e


def layer_norm(X, g, b):
    mu = np.sum(X, axis=1) / X.shape[1]
    d = X - mu[:, None]
    var = np.sum(d * d, axis=1) / X.shape[1]
    return d / np.sqrt(var + 1e-5)[:, None] * g + b


def layer_norm_loop(X, g, b):
    out = np.empty_like(X)
    n = X.shape[1]
    for i in range(X.shape[0]):
        mu = 0.0
        for j in range(n):
            mu += X[i, j]
        mu /= n
        var = 0.0
        for j in range(n):
            var += (X[i, j] - mu) ** 2
        r = 1.0 / np.sqrt(var / n + 1e-5)
        for j in range(n):
            out[i, j] = (X[i, j] - mu) * r * g[j] + b[j]
    return out


def normalise_threshold(x, low):
    m = np.mean(x)
    s = np.sqrt(np.mean((x - m) ** 2))
    return np.maximum((x - m) / s, low)


def black_scholes(S, K, T, r, v):
    d1 = (np.log(S / K) + (r + 0.5 * v * v) * T) / (v * np.sqrt(T))
    d2 = d1 - v * np.sqrt(T)
    n1 = 0.5 + 0.5 * np.tanh(0.7978845608 * (d1 + 0.044715 * d1 * d1 * d1))
    n2 = 0.5 + 0.5 * np.tanh(0.7978845608 * (d2 + 0.044715 * d2 * d2 * d2))
    call = S * n1 - K * np.exp(-r * T) * n2
    return call, call - S + K * np.exp(-r * T)


def black_scholes_loop(S, K, T, r, v):
    call, put = np.empty_like(S), np.empty_like(S)
    for i in range(len(S)):
        d1 = (np.log(S[i] / K[i]) + (r + 0.5 * v * v) * T[i]) / (v * np.sqrt(T[i]))
        d2 = d1 - v * np.sqrt(T[i])
        n1 = 0.5 + 0.5 * np.tanh(0.7978845608 * (d1 + 0.044715 * d1 * d1 * d1))
        n2 = 0.5 + 0.5 * np.tanh(0.7978845608 * (d2 + 0.044715 * d2 * d2 * d2))
        call[i] = S[i] * n1 - K[i] * np.exp(-r * T[i]) * n2
        put[i] = call[i] - S[i] + K[i] * np.exp(-r * T[i])
    return call, put


def black_scholes_numexpr(S, K, T, r, v):
    import numexpr

    names = {"S": S, "K": K, "T": T, "r": r, "v": v}
    for name, text in {
        "d1": "(log(S / K) + (r + 0.5 * v * v) * T) / (v * sqrt(T))",
        "d2": "d1 - v * sqrt(T)",
        "n1": "0.5 + 0.5 * tanh(0.7978845608 * (d1 + 0.044715 * d1 * d1 * d1))",
        "n2": "0.5 + 0.5 * tanh(0.7978845608 * (d2 + 0.044715 * d2 * d2 * d2))",
        "call": "S * n1 - K * exp(-r * T) * n2",
        "put": "call - S + K * exp(-r * T)",
    }.items():
        names[name] = numexpr.evaluate(text, names)
    return names["call"], names["put"]


def jacobi(u, f):
    v = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1])
    r = v - u[1:-1, 1:-1]
    return v, np.sum(r * r)


def image(img):
    g = 0.299 * img[:, :, 0] + 0.587 * img[:, :, 1] + 0.114 * img[:, :, 2]
    blur = (g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:] + g[1:-1, 1:-1]) / 5
    edge = np.abs(blur[1:, :-1] - blur[:-1, :-1]) + np.abs(blur[:-1, 1:] - blur[:-1, :-1])
    return np.where(edge > 0.1, 1.0, 0.0)


def z_scores(X):
    n = X.shape[0]
    d = X - np.sum(X, axis=0) / n
    return d / np.sqrt(np.sum(d * d, axis=0) / n)


def four_statistics(x):
    return np.min(x), np.max(x), np.mean(x), np.sum(x * x)


def cosine(x, y):
    return np.dot(x, y) / (np.sqrt(np.sum(x * x)) * np.sqrt(np.sum(y * y)))


def kept(x, low):
    w = x[x > low]
    return np.sum(w * w)


def kept_loop(x, low):
    s = 0.0
    for v in x:
        if v > low:
            s += v * v
    return s


# -- their arguments


def _rng() -> np.random.Generator:
    return np.random.default_rng(1)


def _vectors(*more: Any, count: int = 1) -> Callable[[int], tuple[Any, ...]]:
    return lambda n: (*_rng().random((count, n)) + 0.5, *more)


def _square(n: int) -> int:
    return max(4, int(n**0.5))


def _rows(n: int) -> tuple[Any, ...]:
    k = _square(n)
    return _rng().random((k, k)), np.ones(k), np.zeros(k)


def _images(n: int) -> tuple[Any, ...]:
    return (_rng().random((_square(n), _square(n), 3)),)


PROGRAMS = (
    Program(run=variance, make=_vectors(), loop=variance_loop),
    Program(run=softmax, make=_vectors(), loop=softmax_loop),
    Program(run=layer_norm, make=_rows, loop=layer_norm_loop),
    Program(run=normalise_threshold, make=_vectors(-0.5)),
    Program(
        run=black_scholes, make=_vectors(0.05, 0.2, count=3), loop=black_scholes_loop,
        numexpr=black_scholes_numexpr,
    ),
    Program(run=jacobi, make=lambda n: _rows(n)[:1] * 2),
    Program(run=image, make=_images),
    Program(run=z_scores, make=lambda n: _rows(n)[:1]),
    Program(run=four_statistics, make=_vectors()),
    Program(run=cosine, make=_vectors(count=2)),
    Program(run=kept, make=_vectors(1.0), loop=kept_loop),
)


# -- who runs them


def by_numba(function: Callable[..., Any] | None, args: tuple[Any, ...]) -> Run | None:
    """With its fastmath."""
    import numba

    if function is None:
        return None
    jitted = numba.njit(fastmath=True)(function)
    return lambda: jitted(*args)


def by_jax(function: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    """Until the result is there; compiled once, its arguments moved once."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jitted = jax.jit(types.FunctionType(function.__code__, {"np": jnp}))
    moved = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    return lambda: jax.block_until_ready(jitted(*moved))


def by_pythran(function: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    """With vectors for this machine."""
    kinds = (f"float64[{', '.join([':'] * a.ndim)}]" if isinstance(a, np.ndarray) else "float"
             for a in args)
    compiled = _pythran(function, ", ".join(kinds))
    return lambda: compiled(*args)


@functools.cache
def _pythran(function: Callable[..., Any], kinds: str) -> Callable[..., Any]:
    import importlib.util

    import pythran

    text = textwrap.dedent(inspect.getsource(function))
    name = f"by_pythran_{function.__name__}"
    export = f"# pythran export {function.__name__}({kinds})"
    folder = tempfile.mkdtemp()
    made = pythran.compile_pythrancode(
        name, f"{export}\nimport numpy as np\n{text}", output_file=f"{folder}/{name}.so",
        extra_compile_args=["-O3", "-march=native", "-DUSE_XSIMD", "-ffast-math", "-w"],
    )
    spec = importlib.util.spec_from_file_location(name, made)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled: Callable[..., Any] = getattr(module, function.__name__)
    return compiled


def runs(p: Program, ours: Any, args: tuple[Any, ...]) -> dict[str, Run]:
    """All who can, in the order of the columns."""
    found: dict[str, Run] = {"ours": lambda: ours(*args), "NumPy": lambda: p.run(*args)}
    others: dict[str, Callable[[], Run | None]] = {
        "numba": lambda: by_numba(p.run, args),
        "loop": lambda: by_numba(p.loop, args),
        "numexpr": lambda: (lambda f=p.numexpr: f(*args)) if p.numexpr else None,
        "JAX": lambda: by_jax(p.run, args),
        "Pythran": lambda: by_pythran(p.run, args),
    }
    tried = {name: _tried(maker, f"{name} does not run {p.run.__name__}")
             for name, maker in others.items()}
    return found | {name: run for name, run in tried.items() if run is not None}


def _tried(maker: Callable[[], Run | None], said: str) -> Run | None:
    """What `maker` gives, run once; None where it, or what it needs, is not there."""
    try:
        if (run := maker()) is not None:
            run()
        return run
    except ImportError:
        return None
    except Exception as e:
        print(f"  {said}: {type(e).__name__}")
        return None


def passes(kernel: Kernel) -> int:
    return sum(isinstance(s, LoopLike) for s in kernel.body)


def line(p: Program, n: int, rounds: int) -> str:
    args = p.make(n)
    ours = fuse(on_reject="raise")(p.run)
    found = runs(p, ours, args)
    wanted = np.hstack([np.ravel(v) for v in _several(p.run(*args))])
    for name, run in found.items():
        got = np.hstack([np.ravel(np.asarray(v)) for v in _several(run())])
        assert np.allclose(got, wanted, 1e-9, 1e-9), f"{name} computes something else"
    assert ours.stats.compiled > 0, ours.report(*args)
    stages = compile_stages(p.run, _types(p.run, args), Options())
    before, after = passes(stages.scalar), passes(stages.fusion.kernel)
    t = measure(found, rounds)
    ratios = (f"{t[k] / t['ours']:9.2f}" if k in t else f"{'':9}" for k in COLUMNS)
    return f"{p.run.__name__:20}{n:9}{before:4} → {after:<3}{pretty(t['ours']):>9}{''.join(ratios)}"


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


def _types(function: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(inspect.signature(function).parameters, map(type_of, args), strict=True))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.programs", description=__doc__)
    parser.add_argument("programs", nargs="*", help="parts of their names; all if none")
    parser.add_argument("--sizes", default="1000,100000,4000000")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    pin()
    print(f"{'program':20}{'n':>9}{'passes':>10}{'ours':>9}" + "".join(f"{c:>9}" for c in COLUMNS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for p in PROGRAMS:
            if not options.programs or any(part in p.run.__name__ for part in options.programs):
                for n in map(int, options.sizes.split(",")):
                    print(line(p, n, options.rounds), flush=True)


if __name__ == "__main__":
    main()
