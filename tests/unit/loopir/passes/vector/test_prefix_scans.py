"""First-order recurrences: near Python's order, not finite where that is, the same everywhere."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import same
from native import RUNNABLE, run_native

from loopir import nodes as ir
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from loopir.ir_traversal import walk
from loopir.passes.pass_list import optimise
from loopir.passes.vector.vectorize import loops_left_scalar
from loopir.passes.vector.vectorize_legality import vectorization_obstacle

HEAD = """
def k(x: f64[::1], a: f64[::1], b: bool[::1], d: f64, s0: f64, y: mut(f64[::1]), z: mut(f64[()])):
    disjoint(x, y)
    disjoint(a, y)
    disjoint(b, y)
    for i in loop(0, x.shape[0], s=s0):
        t = {step}
        y[i] = {shown}
        s = step(t)
    z[()] = s
"""
STEPS = (
    "s * a[i] + x[i]", "x[i] + d * s", "s * 0.5 - x[i]", "x[i] - s * a[i]",
    "select(b[i], s * d + x[i], s)", "select(b[i], x[i] + s, s * d)",
    "select(b[i], select(b[i], select(b[i], s, 1.0) * d, 1.0) + select(b[i], x[i], 1.0), s)",
)
"""Those that compiled code is tested with come first."""

FAR = 1e200, 1e-200, 1e308, -1e300, 3e-308, 5e-324
ODD = 0.0, -0.0, np.inf, -np.inf, np.nan
SIZES = 0, 1, 7, 8, 9, 16, 41


def kernel(step: str, shown: str = "t", dtype: str = "f64") -> ir.Kernel:
    text = HEAD.format(step=step, shown=shown).replace("f64", dtype)
    return parse(text.replace("0.5", f"{dtype}(0.5)") if dtype != "f64" else text)


def arguments(n: int, rng: np.random.Generator, dtype: str = "f64") -> dict[str, Any]:
    """Mostly ordinary numbers; some that over- and underflow, and some that are none."""
    kind = {"f64": np.float64, "f32": np.float32}[dtype]

    def numbers(share: float, low: float, high: float) -> Any:
        x = rng.uniform(low, high, n + 2)
        rare = rng.choice(np.array(FAR if rng.random() < 0.5 else ODD), n + 2)
        with np.errstate(over="ignore", under="ignore"):
            return np.where(rng.random(n + 2) < share, rare, x).astype(kind)

    shares = rng.choice([0, 0, 0.02, 0.2], 2)
    x, a = numbers(shares[0], -4, 4), numbers(shares[1], -1.5, 1.5)
    return {
        "x": x[:n], "a": a[:n], "b": rng.random(n) < 0.6, "d": a[n], "s0": x[n],
        "y": np.zeros(n, kind), "z": np.zeros((), kind),
    }


def results(of: Any, args: dict[str, Any]) -> tuple[Any, Any]:
    own = args | {"y": args["y"].copy(), "z": args["z"].copy()}
    with np.errstate(all="ignore"):
        of(own)
    return own["y"], own["z"]


def is_vector(k: ir.Kernel) -> bool:
    return any(isinstance(n, ir.Prefix) and n.factor is not None for n in walk(k))


@pytest.mark.share(4, each="step")
@pytest.mark.parametrize("shown", ["t", "s"])
@pytest.mark.parametrize("step", STEPS)
def test_near_the_order_of_python(step: str, shown: str) -> None:
    plain = kernel(step, shown)
    vector = optimise(plain)
    assert is_vector(vector)
    size = parse(HEAD.format(step=step.replace("-", "+"), shown=shown))
    rng = np.random.default_rng(0)
    for n in SIZES * 6:
        args = arguments(n, rng)
        y, z = results(lambda a: run_kernel(plain, a), args)
        got, last = results(lambda a: run_kernel(vector, a), args)
        sizes = {k: np.abs(v) if k in "xads0" else v for k, v in args.items()}
        bound, top = results(lambda a: run_kernel(size, a), sizes)
        for u, v, most in ((y, got, bound), (z, last, top)):
            finite = np.isfinite(u)
            assert same(u[~finite], v[~finite]), args
            with np.errstate(all="ignore"):
                assert (np.abs(u - v)[finite] <= np.fmax(4e-15 * most, 1e-320)[finite]).all(), args


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("step", STEPS[:2])
def test_one_result_everywhere(step: str, dtype: str) -> None:
    vector = optimise(kernel(step, "t", dtype))
    rng = np.random.default_rng(1)
    for n in (*SIZES, 1000):
        args = arguments(n, rng, dtype)
        wanted = results(lambda a: run_kernel(vector, a), args)
        for target in RUNNABLE:
            assert same(results(lambda a, t=target: run_native(vector, t, a), args), wanted), target


def test_the_order_is_kept_where_asked() -> None:
    plain = kernel(STEPS[0])
    assert not is_vector(optimise(plain, reassociate=False))
    ((_, reason),) = loops_left_scalar(plain, reassociate=False)
    assert reason.code == "VECTOR_REASSOCIATE"


@pytest.mark.parametrize(
    "step", ["s * s + x[i]", "(s + x[i]) * d", "s / d + x[i]", "s * a[i] + s", "d - s * x[i] * s"]
)
def test_what_is_none(step: str) -> None:
    assert not is_vector(optimise(kernel(step)))


NUMBERS = """
def k(n: i64, c: f64, r: f64, z: mut(f64[()])):
    for i in loop(0, n, s=c):
        s = step({step})
    z[()] = s
"""


@pytest.mark.share(10)
@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("step", ["s * r + c", "s * r", "s + c", "c - s * r", "max(s, c)", "r"])
def test_of_numbers_alone(step: str, dtype: str) -> None:
    """No element is in such a loop, and no vector."""
    k = parse(NUMBERS.format(step=step).replace("f64", dtype))
    made, kind = optimise(k), {"f64": np.float64, "f32": np.float32}[dtype]
    for n in SIZES:
        args = {"n": np.int64(n), "c": kind(1.5), "r": kind(0.75)}
        wanted, got = np.zeros((), kind), np.zeros((), kind)
        run_kernel(k, {**args, "z": wanted})
        run_kernel(made, {**args, "z": got})
        assert np.isclose(got, wanted, rtol=100 * np.finfo(kind).eps)
        for target in RUNNABLE:
            ours = np.zeros((), kind)
            run_native(made, target, {**args, "z": ours})
            assert same(ours, got)


EXCLUSIVE = """
def k(x: i64[::1], y: mut(i64[::1])):
    {guard}(x, y)
    for i in loop(0, x.shape[0], s=0):
        {before}
        y[i] = s
        s = step(s + {term})
"""


def test_what_is_added_is_read_before_a_store_that_may_change_it() -> None:
    """If `x` and `y` are one array, ``y[i] = s`` changes what is added. The help works."""
    def obstacle(guard: str, before: str = "pass", term: str = "x[i]") -> Any:
        text = EXCLUSIVE.format(guard=guard, before=before, term=term).replace("        pass\n", "")
        kernel = parse(text)
        (loop,) = kernel.body
        assert isinstance(loop, ir.Loop)
        return vectorization_obstacle(loop, kernel)

    assert obstacle("disjoint") is None
    assert obstacle("disjoint_or_same", "v = x[i]", "v") is None
    found = obstacle("disjoint_or_same")
    assert found.code == "VECTOR_CARRIED"
    assert "the arrays may be one" in found.message
    assert found.help == "read the element into a name before the store"
