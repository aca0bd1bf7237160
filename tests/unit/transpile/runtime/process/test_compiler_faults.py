"""Nothing of the compiler's own trouble reaches the user: each step of a call is made to fail.

The original runs, a later call is compiled, and nothing is left open, locked or on disk. A plain
run takes a sample of the steps, ``--long`` all of them, with each exception.
"""
from __future__ import annotations

import inspect
import os
import random
import re
import resource
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from fault_injection import FUNCTIONS, KINDS, SYSTEM_STEPS, Trials
from forked_programs import run_program
from paths import ROOT
from written import written

from targets.abi import c_api, trampoline
from targets.build.background_build import BackgroundBuild
from targets.build.build_errors import BuildError
from transpile import FuseError, FuseWarning, fuse
from transpile.runtime import compile_call
from transpile.runtime.dispatcher import Dispatcher
from transpile.runtime.process import compile_progress, compiler_faults
from transpile.runtime.process.compiler_faults import is_fault
from transpile.runtime.process.large_stack import on_large_stack

pytestmark = pytest.mark.skipif(not hasattr(sys, "setprofile"), reason="no profile functions")


@pytest.fixture(scope="module")
def trials() -> Iterator[Trials]:
    made = Trials()
    yield made
    made.close()


def first_steps(trials: Trials, scenario: str, name: str) -> dict[str, int]:
    """The number of the first step at each site."""
    found: dict[str, int] = {}
    for number, site in enumerate(trials.ask(scenario, name, "memory"), 1):
        found.setdefault(site, number)
    return found


@pytest.mark.share(4)
@pytest.mark.parametrize(("scenario", "system", "others"), [
    pytest.param("warm", 2, 1, marks=pytest.mark.plain), ("warm", 1, 2), ("cold", 1, 1),
])
def test_each_step_may_fail(
    scenario: str, system: int, others: int, trials: Trials, start: int,
    request: pytest.FixtureRequest,
) -> None:
    """``warm``: the kernel is in the disk cache. ``cold``: it is not, and the C compiler runs."""
    sites = first_steps(trials, scenario, "scale")
    asking = {s for s in sites if s.startswith(tuple(f"c_call {word}" for word in SYSTEM_STEPS))}
    rng = random.Random(3 * start + others)
    chosen = [(site, kind) for site in sites for kind in KINDS]
    if not request.config.getoption("--long"):
        few = rng.sample(sorted(asking), system) + rng.sample(sorted(sites.keys() - asking), others)
        chosen = [(site, kind) for site, kind in zip(few, [*KINDS] * len(few), strict=False)]
    wrong = {
        (site, kind): answer
        for site, kind in chosen
        if (answer := trials.ask(scenario, "scale", kind, f"={sites[site]}"))
    }
    assert wrong == {}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"scale"}))
def test_other_functions(name: str, trials: Trials, start: int) -> None:
    sites = first_steps(trials, "cold", name)
    rng = random.Random(start)
    for site in rng.sample(sorted(sites), 400):
        assert trials.ask("cold", name, rng.choice([*KINDS]), f"={sites[site]}") == [], site


def total(x: Any) -> float:
    s = 0.0
    for v in x:
        s += v
    return s


@pytest.mark.own_failures
def test_a_fault_is_not_remembered_but_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    real, tries = compile_call.compile_variant, [0]

    def fails(*args: Any, **kwargs: Any) -> Any:
        tries[0] += 1
        raise MemoryError

    monkeypatch.setattr(compile_call, "compile_variant", fails)
    x = np.ones(5)
    f, g = (fuse(total, on_reject="silent", cache=False) for _ in range(2))
    assert [f(x), f(x)] == [5.0, 5.0]
    monkeypatch.setattr(compile_call, "compile_variant", real)
    assert (f(x), f.stats.compiled) == (5.0, 1)
    monkeypatch.setattr(compile_call, "compile_variant", fails)
    tries[0] = 0
    assert [g(x) for _ in range(9)] == [5.0] * 9
    assert tries[0] == 3


def squares(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * x[i] if x[i] < 1e200 else 0.0
    return out


def test_a_fault_of_a_recording_variant_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    real, tries, x = compile_call.compile_variant, list[bool](), np.array([2.0, 1e300] * 20)

    def compile_once(*args: Any, recording: bool = False, **kwargs: Any) -> Any:
        if recording:
            tries.append(True)
            if len(tries) == 1:
                raise MemoryError
        return real(*args, recording=recording, **kwargs)

    monkeypatch.setattr(compile_call, "compile_variant", compile_once)
    f = fuse(squares, cache=False)
    for _ in range(9):
        assert f(x).sum() == 80.0
    assert tries == [True, True]


def test_where_python_is_forbidden_a_fault_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise BuildError("no processes", is_fault=True)

    monkeypatch.setattr(compile_call, "compile_variant", fails)
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    with pytest.raises(FuseError, match="no processes"):
        fuse(total, cache=False)(np.ones(5))


def test_deep_in_a_recursion_it_is_compiled_all_the_same() -> None:
    f, x = fuse(total, on_reject="raise", cache=False), np.ones(5)

    def descend(depth: int) -> float:
        return f(x) if depth == 0 else descend(depth - 1)

    frames = 0
    frame: Any = sys._getframe()
    while frame:
        frames, frame = frames + 1, frame.f_back
    assert descend(sys.getrecursionlimit() - frames - 80) == 5.0
    assert f.stats.compiled == 1


C_LIBRARY_ENDS_IT = (
    "cannot allocate TLS data", "cannot allocate memory for thread-local data: ABORT",
)
"""What glibc says before it ends a process that has no memory for a library's thread-local data."""


def in_process(program: str, tmp_path: Path, start_python: bool = True) -> str:
    """What a program says, in a process of its own with a cache of its own."""
    path = tmp_path / "program.py"
    path.write_text(program)
    ours = {"TRANSPILE_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = run_program(path, env=os.environ | ours, check=False, start_python=start_python)
    if any(message in done.stderr for message in C_LIBRARY_ENDS_IT):
        pytest.skip("the C library itself ends the process for lack of memory")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


HEAD = """
import sys, threading
import numpy as np
from transpile import fuse
@fuse
def f(x, k=2.0):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * k + 1
    return out
x = np.arange(100.0)
"""
SMALLEST_STACK = 32768 if sys.version_info < (3, 14) else 98304
"""Bytes with which Python runs; from 3.14 on it keeps more for itself."""


def test_the_smallest_stack(tmp_path: Path) -> None:
    program = HEAD + (
        f"threading.stack_size({SMALLEST_STACK})\n"
        "t = threading.Thread(target=lambda: print(f(x)[3], f(x, 3.0)[3], f.stats.compiled))\n"
        "t.start(); t.join()\n"
    )
    assert in_process(program, tmp_path) == "7.0 10.0 2\n"


def test_a_warning_names_the_caller_of_a_thread_with_a_small_stack(tmp_path: Path) -> None:
    program = HEAD + (
        "import warnings\nwarnings.simplefilter('error')\n"
        "@fuse\ndef g(x):\n    for v in x: print(v)\n"
        "def run():\n"
        "    try: g([1])\n"
        "    except Warning as w: print(type(w).__name__)\n"
        f"threading.stack_size({SMALLEST_STACK})\n"
        "t = threading.Thread(target=run); t.start(); t.join()\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    @fuse\n"
        "    def h(x):\n        for v in x: print(v)\n"
        "    t = threading.Thread(target=lambda: h([2])); t.start(); t.join()\n"
        "print(seen[0].filename == __file__, seen[0].lineno)\n"
    )
    said = in_process(program, tmp_path, start_python=False)
    line = program[: program.index("t = threading.Thread(target=lambda: h")].count("\n") + 1
    assert said == f"FuseWarning\n2\nTrue {line}\n"


def test_no_descriptors_are_left(tmp_path: Path) -> None:
    program = HEAD + (
        "import resource, os\n"
        "count = len(os.listdir('/proc/self/fd'))\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (count - 1, 4096))\n"
        "print(f(x)[3], f(x)[3], f.stats.compiled)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 4096))\n"
        "print(f(x)[3], f.stats.compiled)\n"
    )
    assert in_process(program, tmp_path) == "7.0 7.0 0\n7.0 1\n"


def test_no_room_for_the_c_text(tmp_path: Path) -> None:
    """As on a disk that is full for a while."""
    program = HEAD + (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
        "print(f(x)[3], f(x)[3], f.stats.compiled)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "print(f(x)[3], f.stats.compiled)\n"
    )
    assert in_process(program, tmp_path, start_python=False) == "7.0 7.0 0\n7.0 1\n"


@pytest.mark.share(4)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on address space")
@pytest.mark.parametrize("room", [14, 18, 24, 40])
def test_little_memory(room: int, tmp_path: Path) -> None:
    """In MiB; with much less the C library itself ends the process."""
    program = HEAD + (
        "import resource\n"
        f"room = {room} << 20\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))\n"
        "print(f(x)[3], f(x)[3])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)\n"
        "print(f(x)[3], f.stats.compiled)\n"
    )
    first, second = in_process(program, tmp_path).splitlines()
    assert first == "7.0 7.0"
    assert second in ("7.0 1", "7.0 2", "7.0 3")


def _frames_needed(functions: list[Any]) -> int:
    """How many frames a first call needs: one of `functions` is called with each number of them."""

    def descend(call: Any, depth: int) -> Any:
        return descend(call, depth - 1) if depth else call(3.0)

    for left, function in enumerate(functions):
        try:
            assert descend(function, sys.getrecursionlimit() - left) == 6.0
        except RecursionError:
            continue
        return left
    raise AssertionError("each call has raised RecursionError")


def test_nearly_no_stack_for_the_first_call(tmp_path: Path) -> None:
    """Not even for the handling of the RecursionError that the compiler raises. A call passes three
    functions of ours before the original runs.
    """
    counts = range(len(inspect.stack()) + 40)
    text = "".join(f"def f{k}(a):\n    return a + {k} + 3.0 - {k}\n\n\n" for k in counts)
    module = written(tmp_path, text)
    functions = [getattr(module, f"f{k}") for k in counts]
    plain = _frames_needed(functions)
    assert _frames_needed([fuse(f) for f in functions]) - plain <= 5


def test_a_low_recursion_limit(tmp_path: Path) -> None:
    program = HEAD + (
        "f.__wrapped__\n"
        "sys.setrecursionlimit(60)\n"
        "print(f(x)[3], f.stats.compiled)\n"
        "sys.setrecursionlimit(1000)\n"
        "print(f(x)[3], f.stats.compiled)\n"
    )
    assert in_process(program, tmp_path) == "7.0 0\n7.0 1\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_kernels_of_dropped_functions_are_unloaded(tmp_path: Path) -> None:
    program = HEAD + (
        "import gc\n"
        "from targets.abi import thread_pool\n"
        "def loaded():\n"
        "    return len({s.split()[-1] for s in open('/proc/self/maps') if '/kernels/' in s})\n"
        "def make(k):\n"
        "    @fuse\n"
        "    def g(x, n):\n"
        "        s = 0.0\n"
        "        for v in x: s += v * n\n"
        "        return s\n"
        "    return g\n"
        "f(x); thread_pool.wait_until_ready(); base = loaded()\n"
        "kept = [make(k) for k in range(3)]\n"
        "for g in kept: g(x, 2.0); g(x, 3)\n"
        "call = kept[0].__call__\n"
        "print(loaded() > base)\n"
        "del kept, g; gc.collect()\n"
        "print(loaded() > base, call(x, 2.0) == 2 * x.sum())\n"
        "del call; gc.collect()\n"
        "print(loaded() == base, f(x)[3])\n"
    )
    assert in_process(program, tmp_path, start_python=False) == "True\nTrue True\nTrue 7.0\n"


def test_an_exception_on_the_large_stack_is_raised_here() -> None:
    handler = signal.getsignal(signal.SIGINT)  # ignored where the tests run in the background
    with pytest.raises(ZeroDivisionError):
        on_large_stack(lambda: 1 // 0)
    assert on_large_stack(lambda a, b: a + b, 1, 2) == 3
    assert threading.stack_size() == 0
    assert signal.getsignal(signal.SIGINT) is handler
    assert resource.getrlimit(resource.RLIMIT_STACK)


def doubled(x: Any, y: Any) -> Any:
    for i in range(len(x)):
        y[i] = x[i] * 2
    return y


BUG = "`doubled` runs as Python: transpile itself failed: KeyError: 'bug'. "
METHODS = {n for n, f in vars(Dispatcher).items() if callable(f) and not n.startswith("__")}


@pytest.mark.own_failures
@pytest.mark.parametrize("name", sorted(METHODS - {"_install"}))
def test_a_bug_of_the_dispatcher_does_not_reach_the_user(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python serves the call, and one warning says so."""
    real, calls = getattr(Dispatcher, name), list[str]()

    def fails_every_other_time(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        if len(calls) % 2:
            raise KeyError("bug")
        return real(*args, **kwargs)

    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    monkeypatch.setattr(Dispatcher, name, fails_every_other_time)
    fused, z, zeros = fuse(doubled), np.arange(6.0), np.zeros(6)
    shared = z.copy()
    calls_of_all_kinds = [(z, zeros)] * 3 + [([1, 2], [0, 0]), (shared[:5], shared[1:])]
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        results = [list(fused(x, y)) for x, y in calls_of_all_kinds]
        assert fused("ab", [0, 0]) == ["aa", "bb"]
    assert results == [[0, 2, 4, 6, 8, 10]] * 3 + [[2, 4], [0, 0, 0, 0, 0]]
    assert sum("transpile itself failed: KeyError: 'bug'" in str(w.message) for w in shown) <= 1


@pytest.mark.own_failures
def test_a_bug_of_the_dispatcher_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> Any:
        raise KeyError("bug")

    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    monkeypatch.setattr(Dispatcher, "_specialization", fails)
    fused, z = fuse(doubled), np.arange(3.0)
    with pytest.warns(FuseWarning, match=re.escape(BUG)):
        fused(z, z.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fused(z, z.copy())  # it has been warned of
        with pytest.raises(FuseWarning, match="KeyError"):
            fuse(doubled)(z, z.copy())
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    with pytest.raises(FuseError, match="`doubled` was not compiled: KeyError: 'bug'"):
        fused(z, z.copy())


@pytest.mark.parametrize("error", [MemoryError, OSError])
def test_no_memory_where_the_stack_is_measured(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(levels: int) -> None:
        raise error

    f, x = fuse(total, on_reject="raise", cache=False), np.ones(5)
    with monkeypatch.context() as failing:
        failing.setattr(compiler_faults, "_call_deeper", fail)
        assert f(x) == 5.0
    assert (f(x), f.stats.compiled) == (5.0, 1)


@pytest.mark.own_failures
@pytest.mark.parametrize(("word", "is_raised"), [("1", True), ("0", False), ("", False)])
def test_only_failed_checks_of_stages_are_raised(
    word: str, is_raised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any) -> Any:
        raise AssertionError("not verified")

    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    monkeypatch.setenv("TRANSPILE_CHECK", word)
    monkeypatch.setattr(Dispatcher, "_specialization", fails)
    z, expected = np.arange(3.0), AssertionError if is_raised else FuseWarning
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(expected, match="not verified"):
            fuse(doubled)(z, z.copy())


def test_which_errors_are_faults() -> None:
    faults = (
        MemoryError(), OSError(24, "files"), RecursionError(), ImportError("x"), SystemError(),
        RuntimeError("can't start new thread"), BuildError("x", is_fault=True),
        RuntimeError("can't fork at interpreter shutdown"),
    )
    assert all(map(is_fault, faults))
    for cause in (MemoryError(), KeyboardInterrupt(), OSError(24, "files")):
        error = RuntimeError("Error calling __set_name__")  # as Python says where a class is made
        error.__cause__ = cause
        assert is_fault(error)
    error.__cause__ = TypeError()
    assert not is_fault(error)
    others = BuildError("x"), RuntimeError("x"), AssertionError(), TypeError()
    assert not any(map(is_fault, others))


@pytest.mark.parametrize("also_before", [True, False])
def test_the_first_call_while_the_interpreter_ends(also_before: bool, tmp_path: Path) -> None:
    program = HEAD + (
        "import atexit\n"
        "class Late:\n"
        "    def __del__(self, f=f, x=x): print(f(x)[3])\n"
        "late = Late()\n"
        f"if {also_before}: atexit.register(lambda: print(f(x)[2]))\n"
    )
    assert in_process(program, tmp_path) == "5.0\n7.0\n"[0 if also_before else 4 :]


@pytest.mark.parametrize("is_running", [False, True])
def test_a_thread_whose_start_fails(is_running: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """``Thread.start`` waits for the thread, and that may fail: the thread is not forgotten."""
    real, go_on, ended = threading.Thread.start, threading.Event(), list[bool]()

    def start(thread: threading.Thread) -> None:
        if is_running:
            real(thread)
        raise MemoryError

    building = BackgroundBuild(lambda: ended.append(go_on.wait(10)))
    monkeypatch.setattr(trampoline, "_building", building)
    monkeypatch.setattr(c_api, "opened", [])
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(MemoryError):
        trampoline.build_in_background()
    go_on.set()
    building.wait()
    assert ended == [True] * is_running
    watched, ended[:] = list[threading.Event](), []
    monkeypatch.setattr(compile_progress, "_is_watched", lambda: True)
    monkeypatch.setattr(compile_progress, "_watch", lambda done, _: watched.append(done))
    with (
        pytest.raises(MemoryError),
        compile_progress.showing_progress(cast("Any", total), enabled=True),
    ):
        raise AssertionError
    assert all(done.is_set() for done in watched)
    assert len(watched) == is_running
    assert not compile_progress._one_line.locked()


def test_without_threads_there_is_no_progress_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(compile_progress, "_is_watched", lambda: True)
    with compile_progress.showing_progress(cast("Any", total), enabled=True):
        assert compile_progress._one_line.locked()
    assert not compile_progress._one_line.locked()
