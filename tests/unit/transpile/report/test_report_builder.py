"""What a report says of real functions: which loops, how wide, at what cost, under which guards."""
from __future__ import annotations

import numpy as np
import pytest

from transpile import fuse


@pytest.fixture(autouse=True)
def _one_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_TARGET", "avx2")


F64 = np.ones(8)
F32 = np.ones(8, np.float32)


def test_a_fused_map() -> None:
    @fuse
    def f(x, out):
        for i in range(len(x)):
            out[i] = x[i] * 2.0
        for i in range(len(x)):
            out[i] = out[i] + 1.0

    report = f.report(F32, F32.copy())
    first = report.line + 2
    (loop,) = report.loops
    assert (report.accepted, report.fused, report.vectorized, report.regions) == (True, 1, 1, 1)
    assert (loop.line, loop.fused_with) == (first, (first + 2,))
    assert (loop.what, loop.lanes, loop.isa) == ("map", 8, "avx2")
    assert (loop.bytes, loop.flops) == (8, 2)
    assert report.rejections == ()
    assert "`out[i]` is within its array" in report.guards
    assert "`x` and `out` share no memory or are one array" in report.guards


def test_a_temporary_that_vanishes() -> None:
    @fuse
    def f(x, out):
        t = np.empty_like(x)
        for i in range(len(x)):
            t[i] = x[i] * 2.0
        for i in range(len(x)):
            out[i] = t[i] + 1.0

    report = f.report(F64, F64.copy())
    assert report.temporaries == ("t",)
    assert [(loop.bytes, loop.flops) for loop in report.loops] == [(16, 2)]


def test_folds_filters_and_nests() -> None:
    @fuse
    def f(x, m):
        total = 0.0
        for v in x:
            total += v
        for i in range(m.shape[0]):
            for j in range(m.shape[1]):
                m[i, j] = m[i, j] * total
        return [v for v in x if v > 0.5]

    report = f.report(F64, np.ones((4, 8)))
    assert [loop.what for loop in report.loops] == ["fold", "map", "filter, map"]
    assert [loop.line - report.line for loop in report.loops] == [3, 6, 8]
    assert [loop.bytes for loop in report.loops] == [8, 16, 16]


def test_what_names_hold() -> None:
    @fuse
    def f(x, k):
        n = len(x)
        d = x.reshape(2, -1) * 2
        z = 1j * k
        s, best, ok = 0.0, None, False
        kept = [v for v in x if v > 0.5]
        for i in range(n):
            s += x[i]
            half = np.float32(x[i])
            if best is None or x[i] > best:
                best, ok = x[i], True
            z = z * z + k
        m = n if s > 3 else s
        x = x + half
        return d, s, best, ok, kept, z, m, x

    report = f.report(F64, 3)
    assert report.names == {
        "n": "int", "d": "f64[:, :]", "z": "complex", "s": "float or f64", "best": "f64",
        "ok": "bool", "kept": "list", "i": "int", "half": "f32", "m": "int or f64",
        "x": "f64[:]",
    }
    assert "\n   types: n int; d f64[:, :]; z complex; s float or f64; best f64;" in str(report)
    assert report.to_dict()["names"] == report.names


def test_scalar_loops_are_told_in_the_names_of_the_source() -> None:
    @fuse
    def f(x):
        high = x[0]
        worst = x[1]
        for p in x:
            high = max(high, p)
            worst = max(worst, 1.0 - p / high)
        return worst

    report = f.report(F64)
    (rejection,) = report.rejections
    assert rejection.code == "VECTOR_CARRIED"
    assert "in `worst` depends on `high`" in rejection.message
    assert report.accepted
    assert report.vectorized == 0


def test_what_stays_python() -> None:
    @fuse
    def f(x, show):
        for v in x:
            show(v)
        for v in x:
            show(v + 1.0)

    report = f.report(F64, print)
    assert not report.accepted
    assert (report.regions, report.loops, report.guards) == (0, (), ())
    assert [rejection.code for rejection in report.rejections] == ["LOWER_CALL"]
    assert "FUSE_REJECT_EFFECTS_UNKNOWN" in {rejection.code for rejection in report.further}
    assert "runs as Python" in str(report)
    assert report.stats is None


def test_calls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_TARGET", "auto")

    @fuse
    def f(x, out):
        for i in range(len(x)):
            out[i] = x[i]

    assert f.report(F64, F64).stats is None
    f(F64, F64.copy())
    f(F64, F64.copy())
    stats = f.report(F64, F64).stats
    assert stats is not None
    assert (stats["compiled"], stats["replays"]) == (2, {})


def test_it_says_where() -> None:
    @fuse
    def f(x):
        return [v + 1.0 for v in x]

    report = f.report(F64)
    assert report.path == __file__
    assert report.source[report.line].strip() == "@fuse"
    assert report.function.endswith("test_it_says_where.<locals>.f")
    assert report.signature == "(x: f64[:])"


def test_lists_of_lists_are_said_to_be_filled_in_turn() -> None:
    def pairs(a):
        return [[v] * 2 for v in a if v > 1]

    def filled(a, out):
        k = 0
        for v in a:
            out[k] = v
            k = (k * 3 + 1) % 7
        return k

    for function, args, array in (
        (pairs, ([1, 2, 3],), "its result"), (filled, (F64, F64.copy()), "`out`"),
    ):
        (reason,) = fuse(function).report(*args).rejections
        assert reason.code == "VECTOR_CARRIED"
        said = f"where items of {array} are stored depends on the iteration before"
        assert reason.message == f"compiled as scalar code: {said}"
        assert "subscript" in (reason.help or "")


def test_a_maximum_with_a_default_is_a_fold() -> None:
    def greatest(xs):
        return max(xs, default=0.0) - min((v * v for v in xs), default=-1)

    fused = fuse(greatest)
    for xs in ([2.0, -3.5, 1.0], [], [1.5]):
        assert fused(xs) == greatest(xs)
    assert not fused.stats.replays
    assert fused.report([1.0]).vectorized == 2


def test_an_operation_of_arrays_that_stays_pythons_is_named() -> None:
    @fuse(on_reject="silent")
    def f(z, k):
        return z ** k

    (reason,) = f.report(np.ones(3, complex), 2).rejections
    assert reason.message == "`z ** k` of whole arrays is not compiled here"
    assert "exponent" in (reason.help or "")


def test_numbers_are_those_of_one_iteration_of_the_source() -> None:
    def product(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                for k in range(a.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]

    x = np.ones((9, 9))
    (loop,) = fuse(product).report(x, x.copy(), x.copy()).loops
    assert (loop.flops, loop.bytes) == (2, 32)


def test_a_product_of_ints_is_a_fold_and_a_running_sum_a_scan() -> None:
    def factorial(n):
        f = 1
        for i in range(2, n):
            f *= i
        return f

    def running(x, y):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
            y[i] = s

    assert [loop.what for loop in fuse(factorial).report(5).loops] == ["fold"]
    assert [loop.what for loop in fuse(running).report(np.ones(9), np.ones(9)).loops] == [
        "map, scan"]


def test_a_line_tells_of_the_loop_that_does_the_work() -> None:
    """Not of checks that are a loop of their own, nor of iterations that were split off."""
    @fuse
    def histogram(x, out):
        for v in x:
            out[int(v)] += 1

    @fuse
    def column(a, b, at, out):
        out[0] = a + b[:, at[0]]

    @fuse
    def steps(u, alpha, n):
        for _ in range(n):
            c = np.zeros(len(u))
            c[1] = u[1] / alpha
            u = u + c
        return u

    @fuse
    def dither(a):
        h, w = a.shape
        for y in range(h):
            for x in range(w):
                e = a[y, x] // 2
                if x + 1 < w:
                    a[y, x + 1] += e
                if y + 1 < h:
                    a[y + 1, x] += e

    (loop,) = (report := histogram.report(F64, F64.copy())).loops
    assert (loop.what, loop.lanes, loop.bytes) == ("map", None, 24)
    assert [r.code for r in report.rejections] == ["VECTOR_SUBSCRIPT"]

    @fuse
    def numpys(x):
        return np.bincount(x)

    (loop,) = numpys.report(np.ones(8, int)).loops  # it also looks for the greatest item
    assert (loop.what, loop.lanes) == ("map", None)

    square = np.ones((8, 8))
    (loop,) = column.report(F64, square, np.zeros(1, int), square.copy()).loops
    assert (loop.what, loop.lanes, loop.bytes) == ("map", 4, 24)

    report = steps.report(F64, 0.5, 9)
    assert [loop.line - report.line for loop in report.loops] == [3, 5]

    (loop,) = (report := dither.report(np.ones((8, 8), np.int16))).loops
    assert (loop.lanes, loop.threads_from) == (None, 0)
    assert [(r.code, r.message.partition("`")[2]) for r in report.rejections] == [
        ("VECTOR_DEPENDENCE", "a[y, x + 1]`, which the next one reads as `a[y, x]`")
    ]


def test_why_an_operation_is_scalar_is_told_in_detail() -> None:
    """It speaks of an element in the operation, and gives no help that the user cannot follow."""
    def diagonal(d):
        return np.any(np.diag(d) < 0)

    def counted(k, h):
        for i in range(len(k)):
            h[k[i] % 8] += 1

    report = fuse(diagonal).report(np.ones((8, 8)))
    (reason,) = report.further
    message = "compiled as scalar code: the place of {} does not advance evenly with the loop"
    assert report.rejections == ()
    assert reason.message == message.format("an element in `np.any(np.diag(d) < 0)`")
    assert str(reason.help).startswith("nothing needs to be done")
    (reason,) = fuse(counted).report(np.ones(8, int), F64).rejections
    assert reason.message == message.format("`h[k[i] % 8]`")

    def logged(v, log):
        log[0] += 1.0
        return v * log[0]

    def in_log(x, log):
        total = 0.0
        for i in range(min(len(x), 20)):
            total += log[0] if x[i] > 0 and logged(1.0, log) > 3 else logged(2.0, log)
        return total

    (reason,) = fuse(in_log).report(F64, np.zeros(1)).rejections
    message = "compiled as scalar code: every iteration writes to the place of {}"
    assert reason.message == message.format("an element in `logged(1.0, log)`")


def test_the_bounds_of_a_range_do_not_make_it_run_another_loop() -> None:
    def without_last(x):
        y = list(x)
        y.remove(3)
        t = 0
        for v in y:
            t += v
        return t

    report = fuse(without_last).report([1, 2, 3])
    assert [loop.fused_with for loop in report.loops] == [(), (), ()]


def test_folds_that_are_only_checked_are_no_loops_of_the_source() -> None:
    """The least and the greatest subscript are found before the loop."""
    def in_place(data, at, start, x, y):
        for i in range(len(y)):
            for k in range(start[i], start[i + 1]):
                y[i] += data[k] * x[at[k]]

    def in_a_name(data, at, start, x, y):
        for i in range(len(y)):
            t = 0.0
            for k in range(start[i], start[i + 1]):
                t += data[k] * x[at[k]]
            y[i] = t

    def of_all(data, at, x):
        t = 0.0
        for k in range(len(data)):
            t += data[k] * x[at[k]]
        return t

    at, start = np.zeros(8, np.int32), np.arange(9)
    (loop,) = (report := fuse(in_place).report(F64, at, start, F64, F64.copy())).loops
    assert (loop.what, loop.lanes, loop.flops) == ("map", None, 2)
    assert report.rejections[0].help == "compute it in a name, and store that after the loop"
    for function, args in ((in_a_name, (start, F64, F64.copy())), (of_all, (F64,))):
        loops = fuse(function).report(F64, at, *args).loops
        assert [(loop.what, loop.lanes, loop.flops) for loop in loops][-1] == ("fold", None, 2)
