"""``fuse`` on real functions: the compiled road is taken, and left only for reasons that count."""
from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import logging
import math
import os
import pickle
import random
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked_programs import run_program
from paths import ROOT
from written import written

from loopir.dtypes import MAX_PARAMS
from loopir.ir_interpreter import Outcome
from targets.build.build_kernel import BuildError
from transpile import Fused, FuseError, FuseWarning, fuse
from transpile import errors as errors_module
from transpile import pipeline as compiling_module
from transpile.runtime import specialization
from transpile.runtime.cache import disk_cache
from transpile.runtime.process import fork_lock
from transpile.types.value_types import ArrayType, ScalarType

K = 3.0
F64 = ArrayType("f64", 1, 0)
FLOAT = ScalarType("f64", weak=True)


@pytest.fixture(scope="session")
def _shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _quiet(_shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(_shared_cache))
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    monkeypatch.setattr(errors_module, "_warned", set())


@pytest.fixture
def _empty_cache(_quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))


def axpy(a: Any, x: Any, y: Any, out: Any) -> None:
    """a * x + y."""
    for i in range(len(x)):
        out[i] = a * x[i] + y[i]


def doubled(x: Any) -> Any:
    return [v * 2.0 for v in x]


def doubled_here(x: Any, out: Any, *, k: float = 2.0, **unused: Any) -> Any:
    """No call of it is made in C: it has ``**unused``."""
    y = [v * k for v in x]
    for i in range(len(x)):
        out[i] = y[i]
    return y


def scaled(x: Any) -> Any:
    return [v * K for v in x]


def rooted(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = math.sqrt(x[i])


def divided(x: Any, y: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = x[i] / y[i]


def squared_in_place(x: Any) -> None:
    for i in range(len(x)):
        x[i] = x[i] * x[i]


def refused(x: Any) -> Any:
    return {v: len(str(v)) for v in x}


def counts(fused: Fused) -> tuple[int, dict[str, int]]:
    return fused.stats.compiled, fused.stats.replays


def ones(n: int = 20) -> list[Any]:
    return [2.0, np.arange(float(n)), np.ones(n), np.zeros(n)]


# -- the compiled road

def test_it_is_compiled() -> None:
    f, (a, x, y, out) = fuse(axpy), ones()
    assert f(a, x, y, out) is None
    assert (out == a * x + y).all()
    f(out=out, y=y, x=x, a=a)
    assert counts(f) == (2, {})
    assert f.signatures == ((FLOAT, F64, F64, F64),)
    assert str(f.signatures) == "((float, f64[:], f64[:], f64[:]),)"
    assert f.stats.seconds > 0


def test_the_next_call_has_no_frame_in_between() -> None:
    f, g = fuse(axpy), fuse(doubled_here)
    f(*ones())
    g(np.ones(3), np.ones(3))
    made, written = (vars(type(h))["__call__"].__func__ for h in (f, g))
    assert (type(made).__name__, made.__name__) == ("builtin_function_or_method", "axpy")
    assert written.__code__.co_filename.startswith("<transpile doubled_here,")


def test_many_signatures() -> None:
    f = fuse(axpy)
    for _ in range(2):
        for dtype in (np.float64, np.float32):
            for a in (2.0, np.float32(2)):
                x, y, out = (np.ones(9, dtype) for _ in range(3))
                f(a, x, y, out)
                assert (out == 3).all()
    assert counts(f) == (8, {})
    assert len(f.signatures) == 4


def test_classes_of_an_argument_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transpile.runtime.specialization.MAX_STATIC_VALUES", 2)

    @fuse(on_reject="silent")
    def scaled(x, c):
        s = 0.0
        for v in x:
            s += v * c.factor
        return s

    for k in range(6):
        kind = type(f"Scale{k}", (), {"factor": float(k)})
        assert scaled(np.ones(4), kind()) == 4 * k
    assert len(scaled.signatures) == 3
    assert counts(scaled) == (2, {"LOWER_TYPE": 4})


def test_strided_and_contiguous_arrays_have_their_own_code() -> None:
    f, (a, x, y, out) = fuse(axpy), ones()
    f(a, x[::2], y[::2], out[::2])
    f(a, x, y, out)
    f(a, x[::-2], y[::-2], out[::-2])
    assert (out[1::2] == (a * x + y)[1::2]).all()
    assert counts(f) == (3, {})
    assert [[t.unit for t in types[1:]] for types in f.signatures] == [[None] * 3, [0] * 3]


def test_unpickled_arrays() -> None:
    f, args = fuse(axpy), pickle.loads(pickle.dumps(ones()))
    f(*args)
    assert counts(f) == (1, {})


def decided_by_label(x, out, label):
    for i in range(len(x)):
        out[i] = x[i] * (2.0 if label == "double" else 3.0)
    return label


def label_is_unused(x, out, label):
    for i in range(len(x)):
        out[i] = x[i] * 2.0


def label_is_read(x, out, label):
    return [str(v) for v in label]


def label_raises(x, out, label):
    if label != "double":
        raise ValueError(label)
    return x.sum()


@pytest.mark.parametrize(
    ("f", "make"),
    [
        (decided_by_label, lambda: "doubles"[:-1]),
        (label_is_unused, lambda: "triples"[:-1]),
        (label_raises, lambda: "triples"[:-1]),
        (label_is_unused, lambda: np.array(["a", "b"])),
        (label_is_unused, lambda: np.arange(3) * np.timedelta64(1, "s")),
        (label_is_unused, lambda: np.dtype([("a", "f8")])),
        (label_is_read, lambda: np.datetime64("2024-01-01") + np.arange(3)),
    ],
)
def test_equal_arguments_that_are_other_objects(
    f: Callable[..., Any], make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A str or a dtype that each call makes anew costs no look at the signature."""
    monkeypatch.setenv("TRANSPILE_SELECT", "time")
    fused, x, out = fuse(f, on_reject="silent"), np.arange(300.0), np.zeros(300)
    for _ in range(3000):
        with suppress(ValueError):
            fused(x, out, make())
    entered: list[str] = []
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_filename)
                   if event == "call" else None)
    try:
        for _ in range(20):
            with suppress(ValueError):
                fused(x, out, make())
    finally:
        sys.setprofile(None)
    ours = [name for name in entered if Path(name).is_relative_to(ROOT / "transpile")]
    assert len(ours) < 40, ours  # one of these calls may be a trial


@pytest.mark.parametrize("n", [0, 1])
def test_short_arrays(n: int) -> None:
    f, (a, x, y, out) = fuse(axpy), ones(n)
    f(a, x, y, out)
    assert (out == a * x + y).all()
    assert counts(f) == (1, {})


def test_globals_and_closures_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(3)
    f = fuse(scaled)
    assert f(x) == [3.0] * 3
    monkeypatch.setitem(globals(), "K", 4.0)
    assert f(x) == [4.0] * 3
    assert counts(f) == (2, {})
    monkeypatch.setitem(globals(), "K", np.float32(5))
    assert f(x) == [5.0] * 3
    assert counts(f) == (2, {"GUARD_REBOUND": 1}), "another type: this call is Python's"
    assert f(x) == [5.0] * 3
    monkeypatch.setitem(globals(), "K", 6.0)
    assert f(x) == [6.0] * 3
    assert counts(f) == (4, {"GUARD_REBOUND": 1}), "and old code is found again"


def test_signatures_that_take_turns() -> None:
    f, made = fuse(axpy), set()
    for a in (2.0, 2, 2.0, 2, 2.0, 2):
        x, y, out = ones(5)[1:]
        f(a, x, y, out)
        assert (out == 2 * x + y).all()
        made.add(vars(type(f))["__call__"].__func__)
    assert len(made) == 2, "of the first signature, then the inline cache of both"
    for _ in range(3):
        f(2, x, y, out)
    assert vars(type(f))["__call__"].__func__ in made
    assert counts(f) == (9, {})


def test_methods() -> None:
    class Scale:
        @fuse
        def apply(self, x: Any) -> Any:
            return [v * 2.0 for v in x]

        @staticmethod
        @fuse
        def static(x: Any) -> Any:
            return [v * 2.0 for v in x]

    x = np.ones(3)
    assert Scale().apply(x) == Scale.apply(Scale(), x=x) == Scale.static(x) == [2.0] * 3
    assert counts(Scale.apply) == (2, {})
    assert counts(Scale.static) == (1, {})


def test_objects_of_two_classes_with_a_method_of_one_name() -> None:
    class Square:
        side = 2.0

        def area(self) -> float:
            return self.side * self.side

    class Strip(Square):
        def area(self) -> float:
            return self.side * 0.5

    @fuse
    def covered(shape: Any, n: int) -> Any:
        s = 0.0
        for i in range(n):
            s += shape.area() * i
        return s

    shapes = Square(), Strip(), Square(), Strip()
    assert [covered(shape, 100) for shape in shapes] == [19800.0, 4950.0, 19800.0, 4950.0]
    assert counts(covered) == (4, {})


# -- guards

GUARDS: dict[str, Callable[[], list[Any]]] = {
    "GUARD_BOUNDS": lambda: [2.0, np.ones(9), np.ones(3), np.zeros(9)],
    "GUARD_READONLY": lambda: [2.0, np.ones(3), np.ones(3), np.broadcast_to(0.0, 3)],
}


def outcome(call: Callable[..., Any], args: list[Any]) -> tuple[Any, ...]:
    try:
        result = call(*args)
    except Exception as error:
        result = type(error), str(error)
    return repr(result), [repr(a) for a in args]


@pytest.mark.share(1)
@pytest.mark.parametrize("code", GUARDS)
@pytest.mark.parametrize("warm", [False, True])
def test_a_guard_that_fails(code: str, warm: bool) -> None:
    f = fuse(axpy)
    if warm:
        f(*ones())
    assert outcome(f, GUARDS[code]()) == outcome(axpy, GUARDS[code]())
    assert counts(f) == (int(warm), {code: 1})


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    """No attribute of it can be set, not even its traceback by ``error.__traceback__ = …``."""

    at: int


def raising(x: Any, n: Any) -> Any:
    text = str(n)  # is not compiled
    if n > len(x) - 1:
        raise FrozenError(n)
    return text


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("calls", [0, 1, 30])
@pytest.mark.parametrize(("function", "fine", "bad"), [
    (axpy, ones(), (2.0, np.ones(9), np.ones(3), np.zeros(9))),
    (doubled_here, (np.ones(3), np.ones(3)), (np.ones(3), np.ones(2))),
    (raising, (np.ones(3), 1), (np.ones(3), 3)),
])
def test_the_traceback_is_pythons(
    function: Callable[..., Any], fine: tuple[Any, ...], bad: tuple[Any, ...], calls: int
) -> None:
    """In the first call, in later ones, and after calls that did not raise."""
    f = fuse(function)
    for _ in range(calls):
        f(*fine)
    for _ in range(3):
        with pytest.raises((IndexError, FrozenError)) as caught:
            f(*bad)
        frames = [(entry.name, str(entry.path)) for entry in caught.traceback[1:]]
        assert frames == [(function.__name__, __file__)]


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_recursion_in_python_is_not_much_deeper() -> None:
    @fuse
    def depth(n: Any) -> Any:
        return {"n": n and depth(n - 1)["n"] + 1}

    assert depth(300) == {"n": 300}
    assert depth.stats.compiled == 0


def test_an_integer_that_does_not_fit() -> None:
    def shifted(n: Any, x: Any) -> Any:
        return [v + n for v in x]

    f, x = fuse(shifted), np.ones(3)
    assert f(1, x) == [2.0] * 3
    assert f(2**70, x) == shifted(2**70, x)
    assert counts(f) == (1, {"GUARD_INT_RANGE": 1})


# -- floating-point conditions

def test_what_was_written_before_an_exception_and_no_more() -> None:
    f, x = fuse(rooted), np.array([1.0, 4.0, -1.0, 9.0])
    for _ in range(2):
        out = np.full(4, 7.0)
        with pytest.raises(ValueError, match=r"domain error|nonnegative"):
            f(x, out)
        assert out.tolist() == [1.0, 2.0, 7.0, 7.0]
    f(x[:2], out)
    assert counts(f) == (1, {"GUARD_RAISES": 2})


@pytest.mark.parametrize("warm", [False, True])
def test_errstate_raise(warm: bool) -> None:
    f = fuse(divided)
    if warm:
        f(np.ones(4), np.ones(4), np.ones(4))
    out = np.full(4, 7.0)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(np.ones(4), np.array([1.0, 2.0, 0.0, 4.0]), out)
    assert out.tolist() == [1.0, 0.5, 7.0, 7.0]
    assert counts(f) == (int(warm), {"GUARD_ERRSTATE": 1})


def test_warnings_as_errors() -> None:
    f = fuse(squared_in_place)
    f(np.ones(3))
    x = np.array([2.0, 1e300, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            f(x)
    assert x.tolist() == [4.0, 1e300, 3.0]
    assert counts(f) == (1, {"GUARD_FLOAT_STATUS": 1})


@pytest.mark.parametrize("action", ["default", "always", "ignore", "once"])
def test_warnings_are_those_of_python(action: Any) -> None:
    """Line, file and number."""

    def shown(call: Callable[..., Any]) -> list[tuple[Any, ...]]:
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            for _ in range(2):
                call(np.ones(3), np.array([1.0, 0.0, 0.0]), np.zeros(3))
        return [(str(w.message), w.category, w.filename, w.lineno) for w in caught]

    f = fuse(divided)
    assert shown(f) == shown(divided)


def test_one_warning_does_not_cost_a_replay() -> None:
    f = fuse(divided)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        f(np.ones(3), np.zeros(3), np.zeros(3))
    with np.errstate(divide="ignore"):
        f(np.ones(3), np.zeros(3), np.zeros(3))
    assert counts(f) == (2, {})


def test_in_place_the_warning_comes_from_here() -> None:
    f, x = fuse(squared_in_place), np.array([1e300])
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        f(x)
    assert x.tolist() == [math.inf]
    assert counts(f) == (1, {})
    assert [str(w.message) for w in shown] == ["overflow encountered in scalar multiply"]


def test_in_place_under_two_names() -> None:
    """What is written is also read, under another name: Python runs on what it was before."""
    f, x, y = fuse(axpy), np.array([1e308, 1.0]), np.zeros(2)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        f(10.0, x, y, x)
    assert x.tolist() == [math.inf, 10.0]
    assert counts(f) == (0, {"GUARD_FLOAT_STATUS": 1})
    assert [str(w.message) for w in shown] == ["overflow encountered in scalar multiply"]
    x = np.array([1.0, 1e308, 1.0])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        f(10.0, x, np.zeros(3), x)
    assert x.tolist() == [10.0, 1e308, 1.0]
    assert counts(f) == (0, {"GUARD_FLOAT_STATUS": 1, "GUARD_ERRSTATE": 1})


# -- refusals

def test_one_warning_a_signature_at_the_caller() -> None:
    f = fuse(refused)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        for _ in range(3):
            assert f([1, 2]) == {1: 1, 2: 1}
        f((1,))
    assert [w.category for w in shown] == [FuseWarning] * 2
    first = str(shown[0].message)
    assert first.startswith("LOWER_")
    assert f"{Path(__file__).name}:" in first
    assert "refused(list[int]) runs as Python: " in first
    assert "\n" not in first
    assert {w.filename for w in shown} == {__file__}
    assert f.stats.compiled == 0
    assert sum(f.stats.replays.values()) == 4


def test_silent() -> None:
    f = fuse(on_reject="silent")(refused)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f([1])


def test_raise() -> None:
    f = fuse(on_reject="raise")(refused)
    for _ in range(2):
        with pytest.raises(FuseError, match="is not compiled") as caught:
            f([1])
        assert caught.value.code.startswith("LOWER_")
    assert f.stats.replays == {}


def test_fallback_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    f, g = fuse(refused), fuse(axpy)
    g(*ones())
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    with pytest.raises(FuseError):
        f([1])
    with pytest.raises(FuseError) as caught:
        g(*GUARDS["GUARD_BOUNDS"]())
    assert caught.value.code == "GUARD_BOUNDS"
    g(*ones())
    monkeypatch.setenv("TRANSPILE_FALLBACK", "perhaps")
    with pytest.raises(ValueError, match="perhaps"):
        g(*GUARDS["GUARD_BOUNDS"]())


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(
    ("x", "code"),
    [
        (np.ones(3, ">f8"), "GUARD_DTYPE"),
        (np.ones(3, object), "GUARD_DTYPE"),
        (np.ma.masked_array(np.ones(3)), "GUARD_DTYPE"),
        (np.zeros((3, 1, 1, 1, 1, 1)), "GUARD_LAYOUT"),
        (["a", "b", "c"], "LOWER_TYPE"),
    ],
)
def test_arguments_that_are_not_compiled(x: Any, code: str) -> None:
    f, (a, y, out, _) = fuse(axpy), ones(3)
    assert outcome(f, [a, x, y, out]) == outcome(axpy, [a, x, y, out])
    assert counts(f) == (0, {code: 1})
    f(*ones())
    assert f.stats.compiled == 1


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_without_source_the_original_is_called_directly() -> None:
    f = fuse(eval("lambda x, *y, z=1, **k: (x, y, z, k)"))
    assert f(1) == (1, (), 1, {})
    assert f(1, 2, 3, z=4, w=5) == (1, (2, 3), 4, {"w": 5})
    assert counts(f) == (0, {"SOURCE_UNAVAILABLE": 2})


def test_no_compiler_is_told_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "/nonexistent")
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))
    f, g = fuse(axpy), fuse(doubled)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        args = ones()
        f(*args)
        f(*args)
        assert g(np.ones(2)) == [2.0, 2.0]
    assert (args[3] == 2 * args[1] + 1).all()
    (told,) = shown
    assert "BUILD_NO_COMPILER" in str(told.message)
    assert "/nonexistent" in str(told.message)
    assert "ziglang" in str(told.message)
    assert counts(f) == (0, {"BUILD_NO_COMPILER": 2})
    assert [r.code for r in f.report(*args).rejections] == ["BUILD_NO_COMPILER"]
    assert not f.report(*args).accepted


def test_a_compiler_that_makes_nonsense(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What cannot be loaded is told in one line, and is not kept."""
    compiler = tmp_path / "cc"
    compiler.write_text(
        '#!/bin/sh\nfor word; do [ "$last" = -o ] && echo nonsense > "$word"; last=$word; done\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    f = fuse(axpy)
    with pytest.warns(FuseWarning, match="BUILD_FAILED .* damaged object: [^/]*$"):
        f(*ones())
    assert not list((tmp_path / "cache" / "kernels").glob("*.so"))


def test_the_warning_says_what_the_compiler_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CFLAGS", "--no-such-flag")
    with pytest.warns(FuseWarning, match="BUILD_FAILED .* failed with status 1 .*no-such-flag"):
        fuse(axpy)(*ones())


def test_a_compiler_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CFLAGS", "--no-such-flag")
    f = fuse(doubled)
    with pytest.warns(FuseWarning, match="BUILD_FAILED"):
        assert f(np.ones(2)) == [2.0, 2.0]
    report = f.report(np.ones(2))
    assert [r.code for r in report.rejections] == ["BUILD_FAILED"]
    assert "no-such-flag" in (report.rejections[0].note or "")
    assert [r.code for r in fuse(doubled).report(np.ones(2)).rejections] == ["BUILD_FAILED"]


@pytest.mark.own_failures
def test_a_bug_of_ours_is_told_and_python_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("unhandled node")

    monkeypatch.setattr(compiling_module, "run_stages", broken)
    f = fuse(doubled, cache=False)
    with caplog.at_level(logging.WARNING), pytest.warns(FuseWarning, match="unhandled node"):
        assert f(np.ones(2)) == [2.0, 2.0]
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("stage", ["find_variant", "run_stages"])
def test_an_exception_that_the_library_has_made_of_one_of_a_signal_handler(
    stage: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """It does not come again: the function is compiled in the same call."""
    module = disk_cache if stage == "find_variant" else compiling_module
    real, raised = getattr(module, stage), []

    def once(*args: Any, **kwargs: Any) -> Any:
        if not raised:
            raised.append(re.error("bad escape"))
            raise raised[0]
        return real(*args, **kwargs)

    monkeypatch.setattr(module, stage, once)
    f = fuse(doubled, cache=stage == "find_variant")
    assert f(np.ones(2)) == [2.0, 2.0]
    assert raised
    assert f.stats.compiled == 1
    assert not recwarn


def test_a_target_of_another_machine() -> None:
    f = fuse(target="neon" if os.uname().machine == "x86_64" else "avx2")(doubled)
    with pytest.warns(FuseWarning, match="does not run"):
        assert f(np.ones(2)) == [2.0, 2.0]
    assert f.report(np.ones(2)).target in ("neon", "avx2")
    assert "tp_kernel" in f.emit("c", np.ones(2))


# -- the decorator

@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"speed": 9}, TypeError, "speed.*options: target, threads"),
        ({"target": 3}, TypeError, "target"),
        ({"target": "avx9"}, ValueError, "avx9.*avx2"),
        ({"threads": "many"}, TypeError, "threads"),
        ({"threads": 0}, ValueError, "threads"),
        ({"threads": 1.5}, TypeError, "threads"),
        ({"threads": True}, TypeError, "threads"),
        ({"reassociate": 1}, TypeError, "reassociate"),
        ({"fast": None}, TypeError, "fast"),
        ({"on_reject": "shout"}, ValueError, "shout.*silent"),
        ({"on_reject": None}, TypeError, "on_reject"),
        ({"verify": "often"}, TypeError, "verify"),
        ({"verify": 1.5}, ValueError, "verify"),
        ({"verify": math.nan}, ValueError, "verify"),
        ({"cache": 0}, TypeError, "cache"),
    ],
)
def test_wrong_options(options: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        fuse(**options)


@pytest.mark.parametrize("threads", ["auto", 1, 8])
def test_right_options(threads: Any) -> None:
    f = fuse(threads=threads, target="scalar", fusion=False, verify=0)(doubled)
    assert f(np.ones(2)) == [2.0, 2.0]
    assert f.report(np.ones(2)).target == "scalar"
    assert f.options.threads == threads


IN_A_CALLER = "put @fuse on a function that calls it"


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (len, f"an object of type builtin_function_or_method; {IN_A_CALLER}"),
        (np.exp, f"an object of type ufunc; {IN_A_CALLER}"),
        (np.sum, f"an object of type _ArrayFunctionDispatcher; {IN_A_CALLER}"),
        (np.float64(2.0), "an object of type float64"),
        (3, "an object of type int"),
        (None.__class__, "the class NoneType"),
        ("f", 'an object of type str; options are keywords, such as target="avx2"'),
        (staticmethod(doubled), "an object of type staticmethod; put @fuse under it"),
        (type("Model", (), {}), "the class Model; put @fuse on its methods"),
        (property(doubled), "an object of type property; put @fuse under it"),
        (lru_cache(doubled), "an object of type _lru_cache_wrapper; put @fuse under it"),
    ],
)
def test_what_is_no_function(thing: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f"takes a Python function, not {said}$"):
        fuse(thing)


def test_python_alone_for_debuggers_and_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "python")
    f, lines = fuse(doubled), set()

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code is doubled.__code__:
            lines.add(frame.f_lineno - doubled.__code__.co_firstlineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert f(np.ones(2)) == f(x=np.ones(2)) == [2.0, 2.0]
    finally:
        sys.settrace(before)
    assert len(lines) > 1
    assert f.stats.compiled == 0
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    assert f(np.ones(2)) == [2.0, 2.0]
    assert f.stats.compiled == 1


def test_again() -> None:
    f = fuse(on_reject="silent")(fuse(doubled))
    assert f.__wrapped__ is doubled


def test_it_looks_like_the_original() -> None:
    f = fuse(axpy)
    assert (f.__name__, f.__qualname__, f.__doc__) == ("axpy", "axpy", "a * x + y.")
    assert f.__module__ == __name__
    assert f.__wrapped__ is axpy
    assert inspect.signature(f) == f.__signature__ == inspect.signature(axpy)
    assert "options" in inspect.signature(Fused).parameters
    assert isinstance(f, Fused)
    assert callable(f)
    assert "axpy" in repr(f)
    with pytest.raises(TypeError) as ours:
        f(1)
    with pytest.raises(TypeError) as theirs:
        axpy(1)  # type: ignore[call-arg]  # that is the point
    assert str(ours.value) == str(theirs.value)


def test_inspect_tells_what_it_is() -> None:
    async def later(x: float, *, k: float = 2.0) -> float:
        return x * k

    def each(xs: Any, k: float = 2.0) -> Iterator[float]:
        yield from (v * k for v in xs)

    waiting, giving = fuse(later, on_reject="silent"), fuse(each, on_reject="silent")
    assert inspect.iscoroutinefunction(waiting)
    assert inspect.isgeneratorfunction(giving)
    assert not inspect.isgeneratorfunction(fuse(doubled))
    assert (waiting.__kwdefaults__, giving.__defaults__) == ({"k": 2.0}, (2.0,))
    fixed = 3.0
    bound = lambda x: x * fixed  # noqa: E731 (it has a closure)
    for name in ("__code__", "__globals__", "__closure__", "__doc__", "__annotations__"):
        assert getattr(fuse(bound), name) == getattr(bound, name)
    assert asyncio.run(waiting(3.0)) == 6.0
    assert list(giving([1.0, 2.0])) == [2.0, 4.0]
    with pytest.raises(AttributeError, match="__defaults__ of a fused function cannot be set"):
        giving.__defaults__ = (3.0,)


@fuse
def importable(x: Any) -> Any:
    return [v * 2.0 for v in x]


def test_pickling_by_reference() -> None:
    assert pickle.loads(pickle.dumps(importable)) is importable


def test_what_cannot_be_pickled() -> None:
    with pytest.raises(pickle.PicklingError, match="<lambda> cannot be pickled: SOURCE_UNAV"):
        pickle.dumps(fuse(lambda x: x))


def test_pickling_by_source() -> None:
    def around(k: float) -> Fused:
        @fuse(on_reject="raise")
        def inner(x: Any, *, shift: float = 1.0) -> Any:
            return [np.sqrt(v) * k + shift + K for v in x]

        return inner

    f = around(2.0)
    g = pickle.loads(pickle.dumps(f))
    x = np.array([4.0, 9.0])
    assert g(x) == f(x) == g(x, shift=1.0) == [8.0, 10.0]
    assert g.stats.compiled == 2
    assert g.options == f.options
    assert g.report(x).accepted
    assert pickle.loads(pickle.dumps(g))(x) == f(x)


def test_copies_are_the_function_itself() -> None:
    f = fuse(doubled)
    assert copy.copy(f) is f
    assert copy.deepcopy([f])[0] is f


# -- reports and stages

def test_a_report_does_not_call() -> None:
    f, args = fuse(axpy), ones()
    report = f.report(*args)
    assert report.accepted
    assert not args[3].any()
    assert f.signatures == ()
    f(*args)
    assert (f.report(*args).stats or {})["compiled"] == 1


@pytest.mark.parametrize(
    ("stage", "shows"),
    [
        ("python", "def axpy"), ("loopir", "def "), ("mlir", "func.func @axpy"),
        ("loopset", "loops i\nv0 = load x[i]"), ("c", "tp_kernel"), ("asm", "tp_kernel"),
    ],
)
def test_emit(stage: str, shows: str) -> None:
    assert shows in fuse(axpy).emit(stage, *ones())


@pytest.mark.parametrize(("target", "lanes"), [("scalar", 1), ("sse2", 2), ("avx512", 8)])
def test_loopset_tells_how_far_loops_are_unrolled(target: str, lanes: int) -> None:
    text = fuse(axpy, target=target).emit("loopset", *ones())
    factor = 1 if target == "scalar" else 4
    assert text.endswith(f"\n{target}: i in {lanes} lanes, unrolled {factor} times")


@pytest.mark.parametrize("stage", ["llvm", "", "C"])
def test_no_such_stage(stage: str) -> None:
    with pytest.raises(ValueError, match="stages: python"):
        fuse(axpy).emit(stage, *ones())


def test_what_is_refused_has_no_stages() -> None:
    with pytest.raises(FuseError, match="LOWER_"):
        fuse(refused).emit("c", [1])
    assert not fuse(refused).report([1]).accepted


@pytest.mark.parametrize("options", [{"contract": True}, {"fast": True}])
def test_the_assembly_is_of_what_is_built(
    options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def seen(source: str, target: Any, *, contract: bool = False) -> str:
        asked.append(contract)
        return ""

    monkeypatch.setattr("targets.build.build_kernel.assembly", seen)
    fuse(**options)(axpy).emit("asm", *ones())
    fuse(axpy).emit("asm", *ones())
    assert asked == [True, False]


def test_a_dump_that_cannot_be_written_costs_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRANSPILE_DUMP", str(tmp_path / "file"))
    f = fuse(axpy)
    f(*ones())
    assert counts(f) == (1, {})
    assert "file/axpy" in caplog.text
    assert "cannot be written" in caplog.text
    assert "Traceback" not in caplog.text


# -- verification

def test_verified_calls_are_compiled() -> None:
    f, args = fuse(verify=1.0)(axpy), ones()
    f(*args)
    assert (args[3] == 2 * args[1] + 1).all()
    assert counts(f) == (1, {})


@pytest.mark.parametrize(("share", "compared"), [(0.0, 0), (0.25, 2), (0.5, 4), (1.0, 8)])
def test_the_share(share: float, compared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    f = fuse(verify=share)(doubled)
    f(np.ones(1))
    original = f._function
    monkeypatch.setattr(
        "transpile.runtime.differential_check.copy_arguments", lambda values: runs.append(1)
    )
    for _ in range(8):
        f(np.ones(1))
    assert (len(runs), f._function) == (compared, original)


def test_a_refusal_is_told_where_calls_are_compared() -> None:
    def parsed(texts: list[str]) -> list[int]:
        return [eval(text) for text in texts]

    f = fuse(verify=0.25)(parsed)
    with pytest.warns(FuseWarning, match="parsed"):
        assert f(["1", "2"]) == [1, 2]


def test_a_difference_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    f = fuse(verify=1.0)(doubled)
    monkeypatch.setattr("transpile.runtime.differential_check.same_results", lambda a, b: False)
    with pytest.raises(FuseError, match="the result is") as caught:
        f(np.ones(1))
    assert caught.value.code == "VERIFY_MISMATCH"


def test_the_first_element_that_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any) -> None:
        axpy(*args)
        args[3][1] = 7.0

    f = fuse(verify=1.0)(axpy)
    monkeypatch.setattr(f, "_select_callee", lambda values: (wrong, None))
    f._send_all_calls_here()
    with pytest.raises(FuseError, match=r"element 1 of `out` is np.float64\(7.0\), but"):
        f(*ones())


KEPT, LISTED = np.zeros(4), [1, 2, 3]


def counts_calls(n):
    for i in range(len(KEPT)):
        KEPT[i] += n
    return KEPT[0]


def counts_in_a_list(n):
    for i in range(len(LISTED)):
        LISTED[i] = LISTED[i] + n
    return LISTED[0]


def draws(n):
    s = 0.0
    for _ in range(n):
        s += random.random()
    return s


@pytest.mark.parametrize("function", [counts_calls, counts_in_a_list, draws])
def test_what_changes_names_runs_once_where_it_is_verified(function: Callable[..., Any]) -> None:
    found = []
    for f in (function, fuse(verify=1.0)(function)):
        KEPT[:] = 0.0
        LISTED[:] = 1, 2, 3
        random.seed(3)
        found.append([f(5) for _ in range(4)])
    assert found[0] == found[1]
    assert f.stats.compiled == 4


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_what_runs_as_python_runs_once(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(x: Any) -> None:
        for v in x:
            print(v)

    f = fuse(verify=1.0)(shown)
    f(np.ones(2))
    assert capsys.readouterr().out == "1.0\n1.0\n"
    assert f(iter([1, 2])) is None
    assert capsys.readouterr().out == "1\n2\n"


def test_verified_exceptions_and_overlaps() -> None:
    f = fuse(verify=1.0)(axpy)
    assert outcome(f, GUARDS["GUARD_BOUNDS"]()) == outcome(axpy, GUARDS["GUARD_BOUNDS"]())
    x = np.arange(9.0)
    wanted = x.copy()
    axpy(2.0, wanted[:-1], wanted[:-1], wanted[1:])
    f(2.0, x[:-1], x[:-1], x[1:])
    assert x.tolist() == wanted.tolist()


# -- at once

@pytest.mark.usefixtures("_empty_cache")
def test_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[int] = []
    real = compiling_module.run_stages
    monkeypatch.setattr(
        compiling_module, "run_stages", lambda *a, **k: compiled.append(1) or real(*a, **k)
    )
    f, barrier, results = fuse(doubled), threading.Barrier(4), []

    def run() -> None:
        barrier.wait()
        results.extend(f(np.full(3, float(n))) == [2.0 * n] * 3 for n in range(50))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 200
    assert len(compiled) == 1
    assert counts(f) == (200, {})


@pytest.mark.usefixtures("_empty_cache")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    entered, leave = threading.Event(), threading.Event()
    real = compiling_module.run_stages

    def slow(*args: Any, **kwargs: Any) -> Any:
        entered.set()
        leave.wait(60)
        return real(*args, **kwargs)

    f = fuse(doubled)
    monkeypatch.setattr(compiling_module, "run_stages", slow)
    monkeypatch.setattr(fork_lock, "FORK_TIMEOUT", 1.0)
    thread = threading.Thread(target=f, args=(np.ones(2),))
    thread.start()
    entered.wait(60)
    child = os.fork()
    if child == 0:
        leave.set()
        os._exit(0 if f(np.ones(2)) == [2.0, 2.0] and f.stats.compiled == 1 else 1)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_two_processes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "both.py"
    path.write_text(
        "import numpy as np\nfrom transpile import fuse\n"
        "@fuse\ndef twice(x):\n    return [v * 2.0 for v in x]\n"
        "print(twice(np.ones(2)) == [2.0, 2.0], twice.stats.compiled)\n"
    )
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    with ThreadPoolExecutor(2) as threads:
        ran = [threads.submit(run_program, path, env=env, start_python=True) for _ in range(2)]
    assert [each.result().stdout.strip() for each in ran] == ["True 1"] * 2


def test_what_is_nested_too_deeply_is_pythons(tmp_path: Path) -> None:
    terms = " + ".join(f"v * {k}.0" for k in range(600))
    text = f"def f(x):\n    s = 0.0\n    for v in x:\n        s += {terms}\n    return s\n"
    f = written(tmp_path, text).f
    fused = fuse(f, on_reject="silent")
    assert fused(np.arange(3.0)) == f(np.arange(3.0))
    assert fused.stats.replays == {"LOWER_UNSUPPORTED": 1}
    with pytest.raises(FuseError, match="nested too deeply"):
        fused.emit("c", np.arange(3.0))


@pytest.mark.parametrize("count", [60, 200, 300])
def test_many_arguments_and_statements(tmp_path: Path, count: int) -> None:
    names = [f"a{k}" for k in range(count)]
    steps = "".join(f"        v = v * {a} + {k}\n" for k, a in enumerate(names))
    head = f"def f(x, {', '.join(names)}):\n    out = []\n    for v in x:\n"
    f = written(tmp_path, f"{head}{steps}        out.append(v)\n    return out\n").f
    fused, args = fuse(f, on_reject="silent"), (np.arange(3.0), *np.linspace(0.5, 1, count))
    assert fused(*args) == f(*args)
    assert fused.stats.replays == ({"LOWER_UNSUPPORTED": 1} if count > MAX_PARAMS else {})


@pytest.mark.usefixtures("_empty_cache")
def test_an_object_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def unloadable(*args: Any, **kwargs: Any) -> Any:
        raise BuildError("x.so cannot be loaded: failed to map segment")

    monkeypatch.setattr("targets.abi.load_kernel.load_kernel", unloadable)
    f = fuse(doubled)
    with pytest.warns(FuseWarning, match=r"BUILD_FAILED.*failed to map"):
        assert f(np.ones(2)) == [2.0, 2.0]


# -- knobs

def test_a_wrong_knob_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRANSPILE_TARGET", "TRANSPILE_DEBUG", "TRANSPILE_CHECK"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "nonsense")
            with pytest.raises(ValueError, match="nonsense"):
                fuse(doubled)(np.ones(2))


def test_the_target_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_TARGET", "scalar")
    assert fuse(doubled).report(np.ones(2)).target == "scalar"
    assert fuse(target="sse2")(doubled).report(np.ones(2)).target == "sse2"


def test_debug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TRANSPILE_DEBUG", "ir,c,time")
    fuse(axpy)(*ones())
    told = capsys.readouterr().err
    for piece in ("-lower.ir\ndef axpy", "-legalize.ir", "# axpy: kernel.c\n", "load"):
        assert piece in told
    assert "kernel.s" not in told


def test_dump(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRANSPILE_DUMP", str(tmp_path))
    for _ in range(2):
        fuse(target="scalar")(axpy)(*ones())
    names = sorted(path.name for path in (tmp_path / "axpy" / "scalar").iterdir())
    assert names[:2] == ["01-source.py", "02-lower.ir"]
    assert names[-5:] == ["fusion.txt", "kernel.c", "kernel.s", "macros.txt", "time.txt"]


def test_check_compares_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CHECK", "1")
    f, args = fuse(axpy), ones()
    for _ in range(2):
        f(*args)
    assert (args[3] == 2 * args[1] + 1).all()
    assert counts(f) == (2, {})
    monkeypatch.setattr(
        "transpile.runtime.differential_check.run_kernel", lambda kernel, args: Outcome(status=3)
    )
    f(*args)
    with pytest.raises(AssertionError, match="status 0, but 3 as interpreted"):
        fuse(axpy)(*args)


def above(x: Any, t: float) -> Any:
    out = []
    for v in x:
        if v > t:
            out.append(v)  # noqa: PERF401  # appends in a loop are the case
    return np.array(out)


def above_in_order(x: Any, t: float) -> Any:
    out, n = np.empty(len(x)), 0
    for v in x:
        if v > t:
            out[n] = v
            n += 1
    return out[:n]


@pytest.mark.parametrize("function", [above, above_in_order])
def test_check_ignores_what_is_behind_the_elements_that_are_kept(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_CHECK", "1")
    x = np.random.default_rng(0).random(103)
    assert fuse(function, on_reject="raise")(x, 0.5).tolist() == x[x > 0.5].tolist()


def test_check_verifies_every_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    def ill_formed(kernel: Any, stage: str) -> None:
        raise AssertionError(f"ill-formed at {stage}")

    monkeypatch.setenv("TRANSPILE_CHECK", "1")
    monkeypatch.setattr("transpile.pipeline.verify", ill_formed)
    with pytest.raises(AssertionError, match="ill-formed at scalar"):
        fuse(doubled)(np.ones(2))


class Rates:
    first = 1


PAIR: Any = (1.0, 2.0)


def by_pair(x):
    s = 0.0
    for v in x:
        s += v * PAIR[0] + PAIR[1]
    return s


def by_attribute(x):
    s = 0.0
    for v in x:
        s += v * Rates.first
    return s


@pytest.mark.parametrize(("function", "named"), [(by_pair, "PAIR"), (by_attribute, "Rates.first")])
def test_globals_that_change_at_each_call_are_compiled_for_a_few_values(
    function: Any, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.PAIR", PAIR)
    monkeypatch.setattr(Rates, "first", Rates.first)
    monkeypatch.setattr(specialization, "MAX_VARIANTS", 2)
    fused, x = fuse(function), np.arange(4.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(20):
            globals()["PAIR"] = (k / 2, 1.0)
            Rates.first = k
            assert fused(x) == function(x)
    (spec,) = fused._specializations.values()
    assert spec.rebuilds == 2
    (message,) = [str(w.message) for w in caught]
    reason = f"`{named}` has been bound to something else 3 times: it is not compiled again"
    assert message.endswith(reason)
    assert [r.message for r in fused.report(x).rejections if r.code == "RUN_REBOUND"] == [reason]


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_a_global_that_changes_at_each_call_costs_no_search_for_a_variant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After some calls that no variant fits, rows of the installed call send them to Python."""
    monkeypatch.setattr(f"{__name__}.PAIR", PAIR)
    monkeypatch.setattr(specialization, "MAX_VARIANTS", 2)
    monkeypatch.setattr(specialization, "_MOST_MISSES", 8)
    fused, x = fuse(by_pair), np.arange(4.0)
    for k in range(6):  # four kinds of calls: the latest two stay compiled
        globals()["PAIR"] = (k % 4 / 2, 1.0)
        assert fused(x) == by_pair(x)
    (spec,) = fused._specializations.values()
    assert len(spec.variants) == 2
    for k in range(300):
        globals()["PAIR"] = (k / 2, 1.0)
        assert fused(x) == by_pair(x)
    assert not spec.variants
    assert spec.python_calls.total > 200


def test_calls_between_changes_of_a_global_pay_for_compiling_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"{__name__}.PAIR", PAIR)
    monkeypatch.setattr(specialization, "MAX_VARIANTS", 2)
    fused, x = fuse(by_pair), np.arange(4.0)
    for k in range(5):
        globals()["PAIR"] = (k / 2, 1.0)
        for _ in range(120):
            assert fused(x) == by_pair(x)
    (spec,) = fused._specializations.values()
    assert spec.rebuilds == 4
    spec.rebuilds = 64
    assert spec.rebound_too_often() is not None


def test_a_fused_function_of_another_module_is_compiled_into_the_caller(tmp_path: Path) -> None:
    """Its globals are those of its module, which the guards of the caller ask it for."""
    head, lines = "from transpile import fuse\n", "    for i in range(len(x)): s += x[i] * SCALE\n"
    total = f"SCALE = 2.0\n@fuse\ndef total(x):\n    s = 0.0\n{lines}    return s\n"
    caller = written(tmp_path, f"{head}@fuse\ndef f(x): return g(x) + 1.0\n")
    caller.g = written(tmp_path, head + total).total
    for _ in range(3):
        assert caller.f(np.ones(9)) == 19.0
    assert (caller.f.stats.compiled, caller.f.stats.replays) == (3, {})
    assert caller.f.__globals__ is vars(caller)
