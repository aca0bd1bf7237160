"""Reports by request: on one call, on all signatures so far, in detail."""
from __future__ import annotations

import runpy
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transpile import FuseError, FuseWarning, fuse

pytestmark = pytest.mark.filterwarnings("ignore::transpile.FuseWarning")


def summed(x: Any) -> Any:
    total = 0
    for v in x:
        total += v
    return total


def shown(x: Any) -> None:
    for v in x:
        print(v, end="")


def constant() -> float:
    total = 0.0
    for i in range(9):
        total += i * 0.5
    return total


def told(x: Any, verbose: bool) -> Any:
    return [v for v in x if verbose]


def test_without_arguments_all_signatures_are_reported() -> None:
    f = fuse(summed)
    assert "not called yet" in str(f.report())
    assert not f.report().accepted
    f(np.ones(3))
    assert f.report().signature == "(x: f64[:])"
    assert f.report() == f.report(np.ones(3))
    f([1, 2])
    report = f.report()
    assert [one.signature for one in report.signatures] == ["(x: f64[:])", "(x: list[int])"]
    assert report.accepted
    assert str(report).count("compiled for") == 2
    assert len(report.to_dict()["signatures"]) == 2


def test_without_parameters_it_is_the_only_signature() -> None:
    report = fuse(constant).report()
    assert (report.accepted, report.signatures, report.signature) == (True, (), "()")


def applied(x: Any, g: Any) -> Any:
    s = 0.0
    for v in x:
        s += g(v)
    return s


def test_signatures_that_look_alike_are_listed_once() -> None:
    f = fuse(applied, on_reject="silent")
    for k in range(9):
        assert f(np.ones(3), eval(f"lambda v: v + {k}")) == 3.0 + 3 * k
    report = f.report()
    text = str(report)
    assert len(report.signatures) == 9
    assert text.count("runs as Python") == 1
    assert "replays 9 × LOWER_CALL" in text


def test_one_cause_is_listed_once_for_all_signatures() -> None:
    f = fuse(shown)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for x in (np.ones(1), np.ones(1, "f4"), [1], (1, 2)):
            f(x)
    assert len([w for w in given if w.category is FuseWarning]) == 1
    assert [r.code for r in f.report().rejections] == ["LOWER_CALL"]
    assert len(f.report().signatures) == 4


def test_guards_are_told_in_detail() -> None:
    f, x = fuse(copied), np.ones(3)
    assert "guards" not in str(f.report(x, x))
    assert "guards: " in str(f.report(x, x, verbose=True))
    assert f.report(x, x, verbose=True) != f.report(x, x)


def copied(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = x[i]


def test_a_parameter_called_verbose_is_the_functions_own() -> None:
    f = fuse(told)
    assert f.report([1.0], verbose=True).signature == "(x: list[float], verbose: bool)"
    assert f.report([1.0], True) == f.report([1.0], verbose=True)


def outside(x: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = x[i]


def grown(n: int) -> int:
    f = 1
    for i in range(2, n + 1):
        f *= i
    return f


def quotient(x: Any, n: int) -> int:
    total = 0
    for v in x:
        total += v // n if v > 1 else 0
    return total


def looked_up(x: Any, at: Any) -> float:
    total = 0.0
    for i in at:
        total += x[i]
    return total


@pytest.mark.parametrize(("function", "args", "code", "said"), [
    (grown, (30,), "GUARD_INT_RANGE", "did not fit 64 bits"),
    (summed, ([1, 2, 3.5],), "GUARD_DTYPE", "`x[2]` is of type float"),
    (summed, ([1, 2, 1 << 70],), "GUARD_INT_RANGE", "`x[2]` does not fit"),
    (summed, ([2.5, "a"],), "GUARD_DTYPE", "`x[1]` is of type str"),
    (outside, (np.ones(2), np.ones(3)), "GUARD_BOUNDS", "IndexError was raised here: index 2"),
    (looked_up, (np.ones(2), [0, 5]), "GUARD_BOUNDS", "IndexError was raised here: index 5"),
    (quotient, ([2, 3], 0), "GUARD_DIVISION", "ZeroDivisionError was raised here"),
])
def test_a_guard_that_fails_is_told(function: Any, args: Any, code: str, said: str) -> None:
    f = fuse(function)
    with suppress(ArithmeticError, IndexError, TypeError):
        f(*args)
    assert f.stats.replays == {code: 1}
    told_of = [r for r in f.report(*args).rejections if r.code == code]
    assert len(told_of) == 1
    assert said in told_of[0].message
    assert told_of[0].note == "one call was computed by Python"


def filled(n: int, x: Any) -> Any:
    import math

    out = np.zeros(n)
    for i in range(n):
        out[i] = x[i] * math.pi
    return out


def made_outside(x: Any, d: Any) -> Any:
    out = []
    for key in d:
        total = 0.0
        for i in range(len(x)):
            total += x[i]
        out.append((key, total))
    return out


def test_where_all_loops_are_compiled_a_statement_of_pythons_is_for_who_asks() -> None:
    f, x = fuse(filled), np.ones(4)
    f(4, x)
    report = f.report(4, x)
    if report.further:  # it is compiled as a whole, once imports are
        assert report.accepted
        assert report.rejections == ()
        assert "LOWER_UNSUPPORTED" not in str(report)


def packed_first(x: Any, b: Any) -> Any:
    p = np.packbits(b)
    s = 0.0
    for v in x:
        s += v
    q = np.unpackbits(p)
    return s, p, q


def packed_last(x: Any, b: Any) -> Any:
    s = 0.0
    for v in x:
        s += v
    p = np.packbits(b)
    return s, p, np.unpackbits(p)


def packed_between_expressions(x: Any, b: Any) -> Any:
    y = x * 2.0 + x
    p = np.packbits(b)
    w = y * x - 1
    return w, np.unpackbits(p)


@pytest.mark.parametrize("f", [packed_first, packed_last, packed_between_expressions])
def test_each_call_that_numpy_runs_is_reported_beside_compiled_loops(f: Any) -> None:
    """Lowering stops at the first one."""
    fused, args = fuse(f), (np.ones(100), np.ones(100, np.uint8))
    fused(*args)
    for report in (fused.report(*args), fused.report()):
        assert report.loops
        assert [(r.code, r.message.split("`")[1]) for r in report.rejections] == [
            ("LOWER_CALL", "np.packbits"), ("LOWER_CALL", "np.unpackbits")
        ]
        assert "LOWER_CALL" not in {r.code for r in report.further}
        assert "np.unpackbits(p)" in str(report)


def test_what_follows_from_cutting_out_a_region_is_for_who_asks() -> None:
    f, args = fuse(made_outside), (np.ones(3), {"a": 1})
    f(*args)
    messages = [r.message for r in f.report(*args).rejections]
    assert messages == ["a loop over `d`, which is of type dict, is not compiled"]


def first_hits(rows: Any) -> Any:
    out = []
    for row in rows:
        hit = 0
        for v in row:
            if v ** 2 == 9:  # no plain arithmetic: the region alone can be given up
                hit = v
                break
        out.append(str(hit))
    return out


def first_hit(row: Any) -> Any:
    for v in row:
        if v == 3:
            return v
    return 0


@pytest.mark.parametrize("is_region", [False, True])
def test_what_is_faster_as_python_is_told_at_its_loop(
    is_region: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While Python is preferred for some calls, and when a region has been given up for good."""
    monkeypatch.setenv("TRANSPILE_SELECT", "time")
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    row = [3, *range(20_000)]  # converted as a whole, although the first item ends the loop
    f: Any = fuse(first_hits if is_region else first_hit)
    arguments, seen = [row] * 400 if is_region else row, []
    for _ in range(0 if is_region else 40):
        f(arguments)
    for _ in range(6):
        f(arguments)
        report = f.report(arguments)
        seen += [r for r in report.rejections if r.code == "RUN_PYTHON_FASTER"]
    code = f.__wrapped__.__code__
    assert len(seen) == 6
    assert {r.line for r in seen} == {code.co_firstlineno + (4 if is_region else 1)}
    assert all(r.message.startswith("Python runs this loop") for r in seen)
    assert all(r.note and r.note.startswith("when it was measured, it took ") for r in seen)
    assert not is_region or next(iter(f._specializations.values())).dropped


DOUBLED = "for i in range(len(x)):\n        out[i] = {} * 2"
FOLLOWED = {
    "GUARD_BOUNDS": (
        "for i in range(min(len(x), len(out))):\n        out[i] = x[i]",
        lambda f: f(np.ones(8), np.ones(7)),
    ),
    "GUARD_SHAPE": ("out[:] = x + out", lambda f: f(np.repeat(np.ones(1), 5), np.ones(5))),
    "GUARD_ALIAS": (DOUBLED.format("x[i]"), lambda f: f(X[:-1].copy(), X[1:])),
    "GUARD_DTYPE": (
        DOUBLED.format("x[i]"),
        lambda f: f(np.asarray(np.ones(5, ">f8"), dtype=np.float64), np.zeros(5)),
    ),
    "GUARD_LAYOUT": (
        DOUBLED.format("x[i, 0]"),
        lambda f: f(np.zeros((5, 1, 1, 1, 1, 1)).reshape(5, -1), np.zeros(5)),
    ),
    "GUARD_READONLY": (
        DOUBLED.format("x[i]"), lambda f: f(np.ones(5), np.broadcast_to(0.0, 5).copy())
    ),
    "GUARD_DIVISION": (
        "if n == 0: return\n    " + DOUBLED.format("i // n"), lambda f: f(X, X.copy(), 0)
    ),
    "GUARD_INT_RANGE": (
        "k = 1\n    for i in range(200):\n        k = k * 3 % 1000\n    out[0] = k",
        lambda f: f(X, X.copy()),
    ),
    "GUARD_FLOAT_STATUS": (
        "for i in range(len(x)):\n        if x[i] != 0:\n            out[i] = 1e-300 / x[i]",
        lambda f: f(np.array([0.0, 1.0, 0.0]), np.zeros(3)),
    ),
    "GUARD_EMPTY": (
        "doubled = 0.0\n    for v in x:\n        doubled = v * 2\n    return doubled",
        lambda f: f(np.zeros(0), X),
    ),
    "GUARD_RAISES": (
        "return max(v * 2.0 for v in x) if len(x) else 0.0",
        lambda f: f(np.zeros(0), X),
    ),
}
"""For each code a body that follows its help, and a call that would be replayed without."""

X = np.arange(9.0)


@pytest.mark.share(1)
@pytest.mark.parametrize("code", FOLLOWED)
def test_the_help_for_a_guard_helps(code: str, tmp_path: Path) -> None:
    body, call = FOLLOWED[code]
    path = tmp_path / "followed.py"
    path.write_text(f"import numpy as np\ndef followed(x, out, n=1):\n    {body}\n")
    f = fuse(runpy.run_path(str(path))["followed"])
    call(f)
    assert (f.stats.compiled, f.stats.replays) == (1, {})


def test_where_conditions_are_ignored_they_are_no_reason() -> None:
    f = fuse(divided)
    with np.errstate(all="ignore"):
        f(np.array([0.0, np.inf, 1.0]), np.zeros(3))
    assert (f.stats.compiled, f.stats.replays) == (1, {})
    with np.errstate(all="raise"), suppress(FloatingPointError):
        f(np.array([0.0, np.inf, 1.0]), np.zeros(3))
    told_of = f.report().rejections
    assert [(r.code, r.line) for r in told_of] == [
        ("GUARD_ERRSTATE", divided.__code__.co_firstlineno + 2)
    ]
    assert 'np.errstate(all="warn")' in str(told_of[0].help)


def divided(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = (x[i] - 1.0) / x[i]


def test_a_forbidden_replay_is_told_with_its_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    x = np.arange(5.0)
    with pytest.raises(FuseError, match=r"GUARD_ALIAS at .*: arrays overlap \(pass a copy"):
        fuse(divided)(x[1:], x[:-1])


def trajectory(y: Any, steps: int) -> Any:
    ys = [y.copy()]
    for _ in range(steps):
        y = y * 0.5
        ys.append(y)
    return ys


def decoded(tokens: Any) -> Any:
    out = bytearray()
    for distance, length, byte in tokens:
        for _ in range(length):
            out.append(out[-distance])
        out.append(byte)
    return bytes(out)


@pytest.mark.parametrize(("function", "args", "line"), [
    (trajectory, (np.ones(3), 5), 1), (decoded, ([(0, 0, 65), (1, 2, 66)],), 1),
], ids=["trajectory", "decoded"])
def test_no_list_of_the_function_is_called_an_argument(
    function: Any, args: Any, line: int
) -> None:
    """Its loops were tried as regions, and dropped: the cause is the list itself."""
    fused = fuse(function)
    for _ in range(8):
        fused(*args)
    (rejection,) = fused.report(*args).rejections
    assert rejection.line == function.__code__.co_firstlineno + line


class Scaled:
    factor = 2.0

    @fuse
    def sums(self, x: Any) -> Any:
        total = 0.0
        for v in x:
            total += v * self.factor
        return total


def test_a_report_on_a_method_takes_the_object_first() -> None:
    """`Scaled().sums` is bound to an object, its `report` is not: the error says so."""
    x = np.ones(3)
    with pytest.raises(TypeError, match=r"'x' \(pass the object, `self`, as the first one\)$"):
        Scaled().sums.report(x)
    assert Scaled.sums.report(Scaled(), x).accepted
    with pytest.raises(TypeError, match=r"keyword argument 'y'$"):
        fuse(summed).report(y=x)
