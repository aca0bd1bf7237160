"""The interpreter is the oracle: every node's meaning, checked against plain Python or NumPy."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from loopir.ir_verifier import verify
from loopir.status_bits import STATUS

SIZES = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65]


def result(text: str, shape: Any = (), dtype: str = "f8", **args: Any) -> Any:
    """What the kernel leaves in its parameter ``out``; no status bit may be raised."""
    status, out = outcome(text, shape, dtype, **args)
    assert status == 0
    return out


def outcome(text: str, shape: Any = (), dtype: str = "f8", **args: Any) -> tuple[int, Any]:
    kernel = parse(text)
    verify(kernel, "vector")
    out = args.pop("out", None)
    out = np.zeros(shape, dtype) if out is None else out
    return run_kernel(kernel, {**args, "out": out}).status, out


def ramp(n: int, dtype: str = "f8") -> Any:
    """Numbers of both signs, none of them zero."""
    return ((np.arange(n) * 7) % 11 - 5.5).astype(dtype)


# -- scalar statements


def test_expressions() -> None:
    text = """
def k(a: f32, n: i64, x: f64[:, :], out: mut(f64[:])):
    t = f64(a) / 2.0
    out[0] = t
    out[1] = x[1, n - 1] - x[0, 0]
    out[2] = f64(x.shape[0] * 10 + x.shape[1])
    out[3] = select(a < f32(1.0), -t, t)
    out[4] = f64(u8(200) + u8(100))
    out[5] = f64((n < 3) & ~(a < f32(2.0)) | (n == 3))
"""
    x = np.arange(6.0).reshape(2, 3)
    assert result(text, 6, a=3.0, n=3, x=x).tolist() == [1.5, 5.0, 23.0, 1.5, 44.0, 1.0]


def test_arithmetic_is_of_the_exact_dtype() -> None:
    text = """
def k(a: f32, out: mut(f32[()])):
    out[()] = a + f32(0.1) * a
"""
    a = np.float32(0.7)
    assert result(text, (), "f4", a=a) == a + np.float32(0.1) * a


def test_constants_keep_nan_and_zero_signs() -> None:
    text = """
def k(out: mut(f64[:])):
    out[0] = -0.0
    out[1] = f64("-inf")
    out[2] = f64("0xfff8000000000001")
"""
    assert result(text, 3).view("u8").tolist() == [1 << 63, 0xFFF << 52, 0xFFF8000000000001]


def test_branches_give_values_and_are_not_both_run() -> None:
    text = """
def k(x: f64[:], out: mut(f64[:])):
    for i in loop(0, x.shape[0]):
        if x[i] < 0.0:
            t = x[i] * 2.0
            y = give(t)
            z = give(1.0)
        else:
            y = give(1.0 / x[i])
            z = give(2.0)
            out[i] = 7.0
        if y > 100.0:
            pass
        else:
            out[i] = out[i] + y * z
"""
    assert result(text, 3, x=np.array([-2.0, 4.0, -1.0])).tolist() == [-4.0, 7.5, -2.0]


def test_return_ends_the_kernel_break_the_loop_without_its_step() -> None:
    text = """
def k(n: i64, out: mut(f64[:])):
    for i in loop(0, 10, s=0.0, c=0):
        append(out, c, f64(i))
        if i == n: break
        s = step(s + 1.0)
    out[8] = s
    if n > 5:
        return
    out[9] = f64(c)
"""
    assert result(text, 10, n=2).tolist() == [0, 1, 2, 0, 0, 0, 0, 0, 2, 3]
    assert result(text, 10, n=6).tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 6, 0]


def test_accumulators_step_together_from_old_values() -> None:
    text = """
def k(n: i64, out: mut(i64[:])):
    for i in loop(0, n, a=0, b=1):
        old = a
        a = step(b)
        b = step(old + b)
        until(a > 50)
    out[0] = a
    out[1] = b
"""
    assert result(text, 2, "i8", n=10).tolist() == [55, 89]
    assert result(text, 2, "i8", n=1000).tolist() == [55, 89]
    assert result(text, 2, "i8", n=0).tolist() == [0, 1]


def test_ranges_with_steps() -> None:
    text = """
def k(n: i64, out: mut(i64[:])):
    for i in loop(range(n, -1, -3), c=0):
        append(out, c, i)
    for i in loop(range(1, n, 4), d=c):
        append(out, d, i)
"""
    assert result(text, 7, "i8", n=10).tolist() == [10, 7, 4, 1, 1, 5, 9]


def test_nests_share_a_counter() -> None:
    text = """
def k(x: f64[:, :], out: mut(f64[:]), count: mut(i64[()])):
    for j in loop(0, x.shape[0], c=0):
        for i in loop(0, x.shape[1]):
            append(out, c, where(x[j, i] > 2.0, x[j, i]))
    count[()] = c
"""
    count = np.zeros((), "i8")
    assert result(text, 3, x=np.arange(6.0).reshape(2, 3), count=count).tolist() == [3, 4, 5]
    assert count == 3


def test_zip_scan_and_while() -> None:
    text = """
def k(x: f64[:], w: i32[:], out: mut(f64[:])):
    for i in scan(0, x.shape[0], s=10.0):
        out[i] = s = s + x[i]
    for i, a, b in zip(1, w.shape[0], x, w, t=0.0):
        t = step(t + a * f64(b))
    while loop(n < 5, n=0, p=1.0):
        q = p * 3.0
        n = step(n + 1)
        p = step(q)
    out[0] = t
    out[1] = p + s
"""
    x, w = np.array([1.0, 2.0, 3.0]), np.array([4, 5, 6], "i4")
    assert result(text, 3, x=x, w=w).tolist() == [28.0, 243.0 + 16.0, 16.0]


def test_stores_see_what_was_stored_before() -> None:
    text = """
def k(out: mut(f64[:])):
    for i in loop(1, out.shape[0]):
        out[i] = out[i - 1] + out[i]
"""
    assert result(text, out=np.ones(5)).tolist() == [1, 2, 3, 4, 5]


# -- status and guards


@pytest.mark.parametrize(
    ("expression", "bits"),
    [
        ("1.0 / x", "divide"),
        ("1e300 * y", "over"),
        ("1e-300 * z", "under"),
        ("sqrt(-y)", "invalid"),
        ("f64(f32(y))", "over"),
        ("select(x < f64(\"nan\"), 1.0, min(f64(\"nan\"), y)) + abs(-y)", None),
        ("f64(1 // i64(x))", None),
        ("f64(9223372036854775807 + i64(x + 1.0))", None),
    ],
)
def test_status_has_the_classes_that_the_hardware_raises(expression: str, bits: str | None) -> None:
    text = f"""
def k(x: f64, y: f64, z: f64, out: mut(f64[()])):
    out[()] = {expression}
"""
    status, _ = outcome(text, x=0.0, y=1e300, z=1e-300)
    assert status == (STATUS[bits] if bits else 0)


def test_checks_note_a_status_and_go_on() -> None:
    text = """
def k(x: f64[:], out: mut(f64[:])):
    for i in loop(0, x.shape[0]):
        check(x[i] > 0.0, "replay")
        out[i] = x[i]
"""
    status, out = outcome(text, 3, x=np.array([1.0, -1.0, 2.0]))
    assert (status, out.tolist()) == (STATUS["replay"], [1.0, -1.0, 2.0])


def test_a_failing_guard_stops_before_the_first_store() -> None:
    text = """
def k(n: i64, x: f64[:], out: mut(f64[:])):
    guard(n <= x.shape[0], "GUARD_BOUNDS")
    disjoint(x, out)
    out[0] = 1.0
"""
    x = np.zeros(8)
    assert outcome(text, 2, n=8, x=x)[0] == 0
    status, out = outcome(text, 2, n=9, x=x)
    assert (status, out[0]) == (1 << 8, 0.0)
    status, out = outcome(text, n=8, x=x, out=x[4:])
    assert (status, out[0]) == (2 << 8, 0.0)
    assert outcome(text, n=4, x=x[::2], out=x[1::2])[0] == 0


def test_the_same_array_may_be_allowed_an_overlapping_one_not() -> None:
    text = """
def k(x: f64[:], out: mut(f64[:])):
    disjoint_or_same(x, out)
"""
    x = np.zeros(8)
    assert outcome(text, x=x, out=x)[0] == 0
    assert outcome(text, x=x[2:], out=x[2:])[0] == 0
    assert outcome(text, x=x[:4], out=x[4:])[0] == 0
    assert outcome(text, x=x[2:], out=x[1:-1])[0] == 1 << 8
    assert outcome(text, x=x[::-1], out=x)[0] == 1 << 8


@pytest.mark.parametrize("index", [-1, 3])
def test_a_subscript_out_of_bounds_is_an_error(index: int) -> None:
    text = f"""
def k(x: f64[:], out: mut(f64[:])):
    out[0] = x[{index}]
"""
    with pytest.raises(IndexError, match=re.escape(f"x: subscript {index} is outside [0, 3)")):
        outcome(text, 3, x=np.zeros(3))
    with pytest.raises(IndexError, match="has room for 0"):
        outcome("def k(x: f64[:], out: mut(f64[:])):\n    for i in loop(0, 3, c=0):\n"
                "        append(out, c, x[i])", 0, x=np.zeros(3))


def test_arguments_that_are_not_what_the_parameter_says_are_refused() -> None:
    for wrong in (3.0, np.zeros(3, "f4"), np.zeros((3, 3))):
        with pytest.raises(TypeError, match="x: an array of f64 and rank 1 is needed"):
            outcome("def k(x: f64[:], out: mut(f64[:])):\n    pass", 3, x=wrong)


# -- vectors


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", ["W", 1, 2, 8])
def test_a_vector_map_is_the_scalar_map(width: object, n: int) -> None:
    text = f"""
def k(a: f64, x: f64[:], m: f64[:, :], out: mut(f64[:, :])):
    for i in vec(0, x.shape[0], width={width}):
        t = x[i:{width}] * broadcast(a, {width})
        last = x.shape[0] - 1 - i
        out[0, i:{width}] = t + f64(ramp(i, 1, {width})) - x[last:{width}:-1]
        out[1, i:{width}] = m[i:{width}, 1] - m[i:{width}:2, 0]
"""
    text = text.replace("m[i:W:2", "m[i + i:W:2").replace(f"m[i:{width}:2", f"m[i + i:{width}:2")
    x, m = ramp(n), ramp(4 * n).reshape(2 * n, 2)
    got = result(text, (2, n), a=3.0, x=x, m=m)
    assert (got[0] == x * 3.0 + np.arange(n) - x[::-1]).all()
    assert (got[1] == m[:n, 1] - m[::2, 0]).all()


@pytest.mark.parametrize("n", SIZES)
def test_masked_stores_write_active_lanes_only(n: int) -> None:
    text = """
def k(x: f64[:], out: mut(f64[:])):
    for i in vec(0, x.shape[0], width=4):
        out[i:4] = where(x[i:4] > broadcast(0.0, 4), x[i:4])
"""
    x = ramp(n)
    assert (result(text, n, x=x) == np.where(x > 0, x, 0)).all()


def halved(values: Any, lanes: int, unit: float) -> Any:
    """A fold as the IR defines it: element k to lane k % lanes, then lane k += lane k + h."""
    acc = np.full(lanes, unit, values.dtype)
    for k, v in enumerate(values):
        acc[k % lanes] += v
    while len(acc) > 1:
        acc = acc[: len(acc) // 2] + acc[len(acc) // 2 :]
    return acc[0]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", ["W", 1, 4, 16])
def test_folds_have_the_same_bits_at_every_width(width: object, n: int) -> None:
    text = f"""
def k(x: f32[:], out: mut(f32[:])):
    for i in vec(0, x.shape[0], width={width}, group=16, s=f32(-0.0), m=f32("inf")):
        s = step(s + x[i:{width}])
        m = step(min(m, x[i:{width}]))
    out[0] = hreduce("add", s)
    out[1] = hreduce("min", m)
"""
    x = (np.sin(np.arange(n)) * 1e3).astype("f4")
    got = result(text, 2, "f4", x=x)
    assert got[0] == halved(x, 16, -0.0)
    assert got[1] == min([*x, np.inf])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", ["W", 1, 4])
def test_pred_loops_act_in_active_lanes_only(width: object, n: int) -> None:
    zero = f"broadcast(0.0, {width})"
    text = f"""
def k(x: f64[::1], out: mut(f64[::1]), kept: mut(f64[::1]), total: mut(f64[::1])):
    for i in pred(0, x.shape[0], width={width}, group=8, where=x[i:{width}] > {zero}, c=0, s=-0.0):
        y = sqrt(x[i:{width}])
        check(x[i:{width}] > {zero}, "replay")
        out[i:{width}] = y
        append(kept, c, y)
        s = step(s + x[i:{width}])
    total[0] = hreduce("add", s)
    total[1] = f64(c)
"""
    x = ramp(n)
    kept, total = np.zeros(n), np.zeros(2)
    out = result(text, n, x=x, kept=kept, total=total)
    wanted = np.sqrt(x[x > 0])
    assert (out[x > 0] == wanted).all()
    assert (out[x <= 0] == 0).all()
    assert (kept[: len(wanted)] == wanted).all()
    assert (total == [halved(np.where(x > 0, x, -0.0), 8, -0.0), len(wanted)]).all()


@pytest.mark.parametrize("n", SIZES)
def test_appends_keep_the_order_of_the_elements(n: int) -> None:
    text = """
def k(x: i32[::1], out: mut(i32[::1])):
    for i in vec(0, x.shape[0], width=4, c=0):
        append(out, c, where(x[i:4] > broadcast(i32(-2), 4), x[i:4]))
"""
    x = ramp(n, "i4")
    kept = x[x > -2]
    assert result(text, n, "i4", x=x)[: len(kept)].tolist() == kept.tolist()


def test_a_vector_loop_leaves_early_after_a_whole_group() -> None:
    text = """
def k(x: f64[:], out: mut(f64[:])):
    for i in vec(0, x.shape[0], width=2, group=4, found=False):
        out[i:2] = x[i:2]
        found = step(found | (x[i:2] == broadcast(5.0, 2)))
        until(hreduce("or", found))
"""
    assert result(text, 12, x=np.arange(12.0)).tolist() == [*range(8), 0, 0, 0, 0]


def test_lanes_beyond_the_end_raise_no_flag() -> None:
    text = """
def k(x: f64[:], out: mut(f64[:])):
    for i in vec(0, 3, width=8):
        out[i:8] = broadcast(1.0, 8) / (x[i:8] - f64(ramp(i, 1, 8)))
"""
    assert (result(text, 3, x=np.array([1.0, 3.0, 5.0])) == 1 / np.array([1.0, 2.0, 3.0])).all()


def test_scalar_loops_and_branches_may_stand_in_a_vector_loop() -> None:
    text = """
def k(n: i64, m: f64[:, :], out: mut(f64[:])):
    for i in vec(0, m.shape[1], width=4):
        for j in loop(0, m.shape[0], s=broadcast(0.0, 4)):
            s = step(s + m[j, i:4])
        if n > 3:
            y = give(s)
        else:
            y = give(-s)
        out[i:4] = y
"""
    m = np.arange(21.0).reshape(3, 7)
    assert (result(text, 7, n=3, m=m) == -m.sum(0)).all()
    assert (result(text, 7, n=4, m=m) == m.sum(0)).all()


# -- running folds

PREFIX = """
def k(x: f64[:], out: mut(f64[:, :])):
    for i in vec(0, x.shape[0], width={width}, group=8, s=3.0):
        now, old = prefix("{op}", s, x[i:{width}])
        out[0, i:{width}] = now
        out[1, i:{width}] = old
    out[0, x.shape[0]] = s
"""


def by_halves(op: Any, x: Any, start: float) -> list[float]:
    """What `PREFIX` means, by halves of eight elements."""

    def whole(block: list[float]) -> list[float]:
        half = 1
        while half < len(block):
            half *= 2
        if half == 1:
            return block
        left, right = whole(block[: half // 2]), whole(block[half // 2 :])
        return [*left, *(op(left[-1], r) for r in right)]

    found: list[float] = []
    for k in range(0, len(x), 8):
        found += [op(start, r) for r in whole(list(x[k : k + 8]))]
        start = found[-1]
    return found


@pytest.mark.parametrize("width", ["W", 1, 2, 8])
@pytest.mark.parametrize("op", ["add", "mul", "max"])
def test_prefix(op: str, width: object) -> None:
    meaning = {"add": np.add, "mul": np.multiply, "max": lambda a, b: b if b > a else a}[op]
    for n in SIZES:
        x = np.random.default_rng(n).standard_normal(n)
        text = PREFIX.format(op=op, width=width)
        out = result(text, (2, n + 1), x=x)
        wanted = by_halves(meaning, x, 3.0)
        assert list(out[0]) == [*wanted, (wanted or [3.0])[-1]]
        assert list(out[1, :n]) == [3.0, *wanted][:n]
