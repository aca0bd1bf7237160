"""Which loops become vector loops, what their folds give, and why the others stay scalar."""
from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import numpy as np
import pytest
from agree import same

from loopir import nodes as ir
from loopir.analysis.loop_reductions import reduction_of
from loopir.ir_interpreter import run_kernel
from loopir.ir_names import FreshNames
from loopir.ir_printer import parse, show
from loopir.ir_traversal import walk
from loopir.ir_verifier import verify
from loopir.machine_model import Machine, max_tile_columns
from loopir.passes.loop_splitting import strip_mine_loop
from loopir.passes.loops.unroll import unroll_loop
from loopir.passes.pass_list import optimise
from loopir.passes.reduce.blocked_summation import BLOCK_ELEMENTS, blocked_summation
from loopir.passes.vector.vectorize import loops_left_scalar, vectorize
from loopir.passes.vector.vectorize_legality import vectorization_obstacle
from loopir.passes.vector.vectorize_outer import vectorize_outer
from loopir.status_bits import STATUS

HEAD = """
def k(a: f64, n: i64, x: f64[::1], w: f64[:], k: i64[::1], b: bool[::1], y: mut(f64[::1]),
      m: mut(f64[:, ::1]), out: mut(f64[()]), top: mut(i64[()])):
    guard(x.shape[0] >= 1, "GUARD_BOUNDS")
"""


def kernel(body: str) -> ir.Kernel:
    made = parse(HEAD + "\n".join("    " + line for line in body.split("\n")))
    verify(made, "scalar")
    return made


def loop_of(k: ir.Kernel) -> ir.Loop:
    return next(n for n in walk(k) if isinstance(n, ir.Loop))


def code(body: str, reassociate: bool = True) -> str | None:
    k = kernel(body)
    reason = vectorization_obstacle(loop_of(k), k, reassociate=reassociate)
    return reason.code if reason else None


# -- legality


@pytest.mark.parametrize(
    "body",
    [
        "for i in loop(0, n):\n    y[i] = x[i] * a",
        "for i in loop(0, n):\n    y[i] = y[i + 1] * a",
        "for i in loop(0, n):\n    y[i] = w[2 * i] + x[n - 1 - i]",
        "for i in loop(0, n):\n    m[i, 3] = m[i, 4] + x[5]",
        "for i in loop(0, n):\n    j = i + 2\n    y[j] = x[j + n // 2] + f64(j)",
        "for i in loop(0, n):\n    y[i] = where(b[i], x[i])",
        "for i in loop(0, n):\n    y[2 * i] = y[2 * i + 1]",
        "for i in loop(0, n, c=0):\n    append(y, c, where(b[i], x[i]))",
        "for i in loop(0, n, s=0.0):\n    s = step(s + x[i] - a)",
        "for i in loop(0, n, s=0.0):\n    s = step(x[i] + s)",
        "for i in loop(0, n, s=0):\n    s = step(select(b[i], s + k[i], s))",
        "for i in loop(0, n, s=0):\n    s = step(select(b[i], s, bitor(s, k[i])))",
        "for i in loop(0, n, s=1.0, t=a):\n    s = step(s * x[i])\n    t = step(maximum(x[i], t))",
        "for i in loop(0, n, s=False):\n    s = step(s | b[i])\n    until(s)",
        "for i in loop(0, n, s=True):\n    s = step(s & b[i])\n    until(~s)",
        "for i in loop(0, n, s=0):\n    check(~add_over(s, k[i]), 'over')\n    s = step(s + k[i])",
        "for i in loop(0, 4):\n    y[i] = a",
    ],
)
def test_loops_without_an_obstacle(body: str) -> None:
    assert code(body) is None
    after = vectorize(kernel(body))
    verify(after, "vector")
    assert not loops_left_scalar(kernel(body))
    assert any(isinstance(n, (ir.VecLoop, ir.PredLoop)) for n in walk(after))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("for i in loop(1, n):\n    y[i] = y[i - 1] * a", "DEPENDENCE"),
        ("for i in loop(0, n):\n    y[i] = a\n    y[i + 1] = x[i]", "DEPENDENCE"),
        ("for i in loop(0, n):\n    y[i] = y[0]", "DEPENDENCE"),
        ("for i in loop(0, n):\n    y[i] = y[n - 1 - i]", "DEPENDENCE"),
        ("for i in loop(0, n, c=0):\n    append(y, c, y[i])", "DEPENDENCE"),
        ("for i in loop(0, n):\n    if x[i] > a: break\n    y[i] = a", "CONTROL_FLOW"),
        ("for i in loop(0, n):\n    if x[i] > a:\n        return\n    y[i] = a", "CONTROL_FLOW"),
        ("for i in loop(0, n):\n    if x[i] > a:\n        y[i] = a", "CONTROL_FLOW"),
        ("for i in loop(range(0, n, 2)):\n    y[i] = a", "CONTROL_FLOW"),
        ("for i in loop(0, n):\n    for j in loop(0, n):\n        m[i, j] = a", "CONTROL_FLOW"),
        ("for i in loop(0, n, s=0.0):\n    s = step(s + x[i])\n    until(s > a)", "CONTROL_FLOW"),
        ("for i in loop(0, n, s=False):\n    s = step(s | (x[i] * a > a))\n    until(s)",
         "CONTROL_FLOW"),
        ("for i in loop(0, n, s=False):\n    y[i] = a\n    s = step(s | b[i])\n    until(s)",
         "CONTROL_FLOW"),
        ("for i in loop(0, n, s=0.0):\n    s = step(s * s + x[i])", "CARRIED"),
        ("for i in loop(0, n, s=0.0):\n    y[i] = s\n    s = step(s * s + x[i])", "CARRIED"),
        ("for i in loop(0, n, s=a, t=a):\n    s = step(s + t)\n    t = step(t / x[i])", "CARRIED"),
        ("for i in loop(0, n, s=a):\n    s = step(select(s <= x[i], s, x[i]))", "CARRIED"),
        ("for i in loop(0, n, s=a):\n    y[i] = y[i] + 1.0\n    s = step(max(s, y[i]))", "CARRIED"),
        ("for i in loop(0, n, s=1):\n    check(~mul_over(s, k[i]), 'over')\n    s = step(k[i] - s)",
         "CARRIED"),
        ("for i in loop(0, n, c=0):\n    append(y, c, f64(c))", "CARRIED"),
        ("for i in loop(0, n, c=0):\n    append(y, c, x[i])\n    append(y, c, a)", "CARRIED"),
        ("for i in loop(0, n):\n    y[i] = x[k[i]]", "SUBSCRIPT"),
        ("for i in loop(0, n):\n    y[i % 3] = x[i]", "SUBSCRIPT"),
        ("for i in loop(0, n):\n    y[3] = x[i]", "SUBSCRIPT"),
        ("for i in loop(0, n):\n    m[i, i] = x[i]", "SUBSCRIPT"),
        ("for i in loop(0, n):\n    y[i * i] = a", "SUBSCRIPT"),
        ("for i in loop(0, 3):\n    y[i] = a", "SMALL"),
    ],
)
def test_loops_with_an_obstacle(body: str, wanted: str) -> None:
    k = kernel(body)
    assert code(body) == f"VECTOR_{wanted}"
    assert loops_left_scalar(k) or wanted == "CONTROL_FLOW"
    for loop, reason in loops_left_scalar(k):
        assert reason.message[0] in "`" or reason.message[0].islower()
        assert vectorization_obstacle(loop, k) == reason


def test_a_search_that_might_warn_leaves_the_decision_to_python() -> None:
    text = """
def k(x: f64[::1], a: f64, found: mut(bool[()])):
    for i in loop(0, x.shape[0], s=False):
        s = step(s | (x[i] * a > 100.0))
        until(s)
    found[()] = s
"""
    k = parse(text)
    after = vectorize(k)
    assert after.strict == ("over", "under", "invalid")
    x = np.array([1.0, 200.0, 1e308])
    for kernel, status in ((k, 0), (after, STATUS["over"])):
        found = np.zeros((), bool)
        assert run_kernel(kernel, {"x": x, "a": 10.0, "found": found}).status == status
        assert found


def test_a_float_fold_in_order_stays_scalar() -> None:
    body = "for i in loop(0, n, s=0.0):\n    s = step(s + x[i])"
    assert code(body, reassociate=False) == "VECTOR_REASSOCIATE"
    k = kernel(body)
    assert vectorize(k, reassociate=False) is k
    assert blocked_summation(k, reassociate=False) is k
    assert code("for i in loop(0, n, s=a):\n    s = step(max(s, x[i]))", reassociate=False) is None
    assert code("for i in loop(0, n, s=0):\n    s = step(s + k[i])", reassociate=False) is None


def test_arrays_that_may_overlap_are_left_alone() -> None:
    head = "def k(x: f64[::1], y: mut(f64[::1])):\n"
    for guard, body, legal in (
        ("    disjoint_or_same(x, y)\n", "y[i] = x[i]", True),
        ("    disjoint_or_same(x, y)\n", "y[i] = x[0]", False),
        ("    disjoint(x, y)\n", "y[i] = x[0]", True),
    ):
        k = parse(f"{head}{guard}    for i in loop(0, x.shape[0]):\n        {body}\n")
        assert (vectorization_obstacle(loop_of(k), k) is None) is legal


# -- folds

VALUES = [0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf]


@pytest.mark.share(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cond", ["{}", "select(b[i], {}, s)"])
@pytest.mark.parametrize(
    "step",
    ["min(s, x[i])", "max(s, x[i])", "minimum(s, x[i])", "maximum(x[i], s)", "maximum(s, x[i])",
     "select(x[i] < s, x[i], s)", "select(x[i] <= s, x[i], s)", "select(s <= x[i], x[i], s)",
     "select(x[i] >= s, x[i], s)", "min(x[i], s)", "max(x[i], s)", "max(s, abs(x[i]))",
     "max(s, x[i] * x[i])", "max(max(s, x[i]), y[i])", "min(min(min(s, y[i]), x[i]), 0.5)"],
)
def test_extrema_keep_the_sign_of_zero_and_ignore_or_keep_nan(step: str, cond: str) -> None:
    whole = cond.format(step)
    k = kernel(f"for i in loop(0, x.shape[0], s=a):\n    s = step({whole})\nout[()] = s")
    after = optimise(k)
    assert any(isinstance(n, ir.VecLoop) for n in walk(after))
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 8, 40):
        for _ in range(60):
            few = rng.choice(VALUES, rng.integers(1, 5))
            args = {"a": rng.choice(VALUES), "x": rng.choice(few, n), "b": rng.random(n) < 0.5}
            args["y"] = rng.choice(few, n)
            assert same(result(after, args), result(k, args)), args


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    n = len(given.get("x", given.get("k", ())))
    whole = {
        "a": 1.0, "n": n, "x": np.zeros(max(n, 1)), "w": np.zeros(n), "k": np.zeros(n, "i8"),
        "b": np.zeros(n, bool), "y": np.zeros(n), "m": np.zeros((n, n)), "out": np.zeros(()),
        "top": np.zeros((), "i8"),
    }
    return {k: np.asarray(v) if np.ndim(v) else v for k, v in (whole | given).items()}


def result(k: ir.Kernel, given: dict[str, Any]) -> Any:
    args = arguments(given)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        status = run_kernel(k, args).status
    return status, args["out"], args["top"]


@pytest.mark.parametrize("start", [0, 5, -3])
@pytest.mark.parametrize("op", ["add", "sub"])
def test_an_overflowing_sum_is_noticed(op: str, start: int) -> None:
    """Wherever the total does not fit; where it does, at the latest from an eighth of the range."""
    sign = "+" if op == "add" else "-"
    body = (
        f"for i in loop(0, n, s={start}):\n    check(~{op}_over(s, k[i]), \"replay\")\n"
        f"    s = step(s {sign} k[i])\ntop[()] = s"
    )
    k = kernel(body)
    after = optimise(k)
    assert any(isinstance(n, ir.VecLoop) for n in walk(after))
    rng = np.random.default_rng(0)
    for scale in (1, 1 << 20, 1 << 57, 1 << 60, (1 << 62) - 1):
        for n in (1, 3, 32, 33, 200):
            values = rng.integers(-scale, scale, n, endpoint=True)
            status, _, total = result(after, {"k": values, "n": n, "x": np.ones(1)})
            exact = start + sum(int(v) for v in values) * (1 if op == "add" else -1)
            if status == 0:
                assert int(total) == exact
            if scale <= 1 << 20:
                assert status == 0


def test_chains_of_one_fold_are_one() -> None:
    k = kernel("for i in loop(0, n, s=0.0):\n    s = step(s + x[i] - w[i] + a)")
    loop = loop_of(k)
    fold = reduction_of(loop.accs[0], loop)
    assert fold is not None
    assert (fold.op, show(fold.value)) == ("add", "x[i] - w[i] + a")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_in_blocks_are_accurate(dtype: str) -> None:
    text = """
def k(x: {0}[::1], out: mut({0}[()])):
    disjoint(x, out)
    for i in loop(0, x.shape[0], s={0}(0.0)):
        s = step(s + x[i])
    out[()] = s
"""
    kernel = optimise(parse(text.format({"f4": "f32", "f8": "f64"}[dtype])))
    n = 3 * BLOCK_ELEMENTS + 77
    x = np.random.default_rng(0).random(n).astype(dtype)
    out = np.zeros((), dtype)
    assert run_kernel(kernel, {"x": x, "out": out}).status == 0
    exact = math.fsum(x.tolist())
    assert abs(float(out) - exact) <= 4 * float(np.finfo(dtype).eps) * exact


def test_the_group_depends_on_the_loop_alone() -> None:
    groups = {
        "s=0.0": ("s + x[i]", 32),
        "s=f32(0.0)": ("s + f32(x[i])", 32),
        "s=False": ("s | b[i]", 256),
        "s=0": ("s + i64(x[i] > 0.0)", 32),
        "s=1.0": ("s * exp(sin(x[i]) * cos(x[i]) + tan(x[i]) / log(x[i]))", 8),
    }
    for start, (step, wanted) in groups.items():
        after = vectorize(kernel(f"for i in loop(0, n, {start}):\n    s = step({step})"))
        (vector,) = (n for n in walk(after) if isinstance(n, ir.VecLoop))
        assert vector.group == wanted, step


# -- the loops of the seeds


def test_strip_mine_loop_and_unroll_loop() -> None:
    body = "for i in loop(0, 37, s=a):\n    y[i] = x[i]\n    s = step(s * 0.5 + x[i])\nout[()] = s"
    k = kernel(body)
    loop = loop_of(k)
    rest = k.body[1:]
    x = np.random.default_rng(0).random(37)
    wanted = result(k, {"x": x, "y": np.zeros(37)})
    for size in (1, 8, 36, 37, 64):
        strips = strip_mine_loop(loop, size, {}, FreshNames(k))
        whole = ir.Kernel(k.name, k.params, (strips, *rest), k.guards)
        verify(whole, "scalar")
        assert same(result(whole, {"x": x, "y": np.zeros(37)}), wanted)
    for factor in (0, 1, 8, 36, 37):
        stmts = unroll_loop(loop, factor, FreshNames(k))
        whole = ir.Kernel(k.name, k.params, (*stmts, *rest), k.guards)
        verify(whole, "scalar")
        assert same(result(whole, {"x": x, "y": np.zeros(37)}), wanted)


def test_loops_that_lanes_run_are_not_refused() -> None:
    """Vectors along `j` keep the order of the sums over `k`."""
    k = parse(inspect.cleandoc("""
        def k(a: f32[:, ::1], b: f32[:, ::1], c: mut(f32[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, c.shape[0]):
                for j in loop(0, c.shape[1]):
                    for k in loop(0, b.shape[0], s=f32(0.0)):
                        s = step(s + a[i, k] * b[k, j])
                    c[i, j] = s
    """))
    assert [r.code for _, r in loops_left_scalar(k, reassociate=False)] == ["VECTOR_REASSOCIATE"]
    assert loops_left_scalar(vectorize_outer(k, reassociate=False), reassociate=False) == ()


@pytest.mark.parametrize(("registers", "rows", "beside"), [(16, 6, 2), (32, 6, 4), (8, 2, 2)])
def test_tiles_fit_the_registers(registers: int, rows: int, beside: int) -> None:
    k = parse(inspect.cleandoc("""
        def k(a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, c.shape[0]):
                for j in loop(0, c.shape[1]):
                    for k in loop(0, b.shape[0], s=0.0):
                        s = step(s + a[i, k] * b[k, j])
                    c[i, j] = s
    """))
    machine = Machine(registers=registers)
    loops = [n for n in walk(optimise(k, machine)) if isinstance(n, ir.Loop)]
    assert max(len(n.accs) for n in loops) == rows
    assert max_tile_columns(machine, rows) == beside


def test_sums_of_rows_share_what_they_load() -> None:
    """Three rows by two where they have registers; each sum in its own lanes, as if it were alone.
    """
    made = parse("""
def k(a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
    disjoint(a, c)
    disjoint(b, c)
    for i in loop(0, a.shape[0]):
        for j in loop(0, b.shape[0]):
            for k in loop(0, a.shape[1], s=0.0):
                s = step(s + a[i, k] * b[j, k])
            c[i, j] = s
""")
    rng = np.random.default_rng(0)
    for n in (33, 100):
        args = {"a": rng.random((7, n)), "b": rng.random((11, n))}
        results = []
        for machine, accs in ((Machine(), 1), (Machine(registers=32, bytes=64), 6)):
            fast = optimise(made, machine)
            rows = [v for v in walk(fast) if isinstance(v, ir.VecLoop) and v.accs]
            assert max(len(v.accs) for v in rows) == accs
            results.append(np.zeros((7, 11)))
            assert run_kernel(fast, {**args, "c": results[-1]}).status == 0
        assert results[0].tobytes() == results[1].tobytes()
