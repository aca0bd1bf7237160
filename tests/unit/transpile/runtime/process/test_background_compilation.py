"""``background=True``: no call waits for the compiler, and nothing else is different."""
from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from forked_programs import run_program

from transpile import FuseError, FuseWarning, fuse
from transpile.runtime import compile_call


@pytest.fixture(autouse=True)
def _python_may_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Compilations wait until it is set."""
    event, run = threading.Event(), compile_call._run

    def waits(*args: Any) -> Any:
        assert event.wait(30)
        return run(*args)

    monkeypatch.setattr(compile_call, "_run", waits)
    yield event
    event.set()


def until(condition: Callable[[], object]) -> None:
    """Wait for `condition`."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def total(x):
    s = 0
    for v in x:
        s += v
    return s


X = np.arange(100)


def test_python_serves_while_it_is_compiled(gate: threading.Event) -> None:
    f = fuse(background=True, cache=False)(total)
    assert [f(X) for _ in range(3)] == [4950] * 3
    assert (f.stats.compiled, f.stats.replays) == (0, {"RUN_BACKGROUND": 3})
    gate.set()
    until(lambda: f(X) == 4950 and f.stats.compiled)
    assert set(f.stats.replays) == {"RUN_BACKGROUND"}
    assert f.stats.seconds > 0


def test_no_call_of_any_signature_waits(gate: threading.Event) -> None:
    f = fuse(background=True, cache=False)(total)
    assert f(X) + f(X * 1.0) == 9900
    gate.set()
    until(lambda: f(X) + f(X * 1.0) and f.stats.compiled > 3)
    assert len(f.signatures) == 2


def test_a_refusal_is_warned_of_at_the_call(gate: threading.Event) -> None:
    @fuse(background=True, cache=False)
    def f(x):
        for v in x:
            print(v, end="")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(X[:2])
        assert not caught
        gate.set()
        until(lambda: caught)
    (warning,) = caught
    assert issubclass(warning.category, FuseWarning)
    assert warning.filename == __file__
    f(X[:2])
    assert set(f.stats.replays) > {"RUN_BACKGROUND"}


def test_a_refusal_is_raised_by_the_call_after_it(gate: threading.Event) -> None:
    @fuse(background=True, cache=False, on_reject="raise")
    def f(x):
        for v in x:
            print(v, end="")

    f(X[:2])
    gate.set()
    with pytest.raises(FuseError):
        until(lambda: f(X[:2]))


def test_an_error_in_the_thread_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the compiler raises outside of its own handling is raised by the call after it."""
    f = fuse(background=True, cache=False)(total)
    run, threads = compile_call._run, list[str]()

    def fails_in_thread(*args: Any) -> Any:
        threads.append(threading.current_thread().name)
        if threads[-1] == "transpile":
            raise MemoryError
        return run(*args)

    monkeypatch.setattr(compile_call, "_run", fails_in_thread)
    assert f(X) == 4950
    until(lambda: f(X) == 4950 and f.stats.compiled)
    assert threads == ["transpile", threading.current_thread().name]


def test_forbidden_fallback_compiles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    f = fuse(background=True, cache=False)(total)
    assert f(X) == 4950
    assert f.stats.compiled == 1


def test_a_kernel_on_disk_serves_the_first_call() -> None:
    fuse(total)(X)
    f = fuse(background=True)(total)
    assert f(X) == 4950
    assert f.stats.replays == {}


def test_verify_compares_what_is_compiled(gate: threading.Event) -> None:
    f = fuse(background=True, cache=False, verify=1.0)(total)
    assert f(X) == 4950
    gate.set()
    until(lambda: f(X) == 4950 and f.stats.compiled)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_starts_its_own_thread(gate: threading.Event) -> None:
    f = fuse(background=True, cache=False)(total)
    f(X)
    reader, writer = os.pipe()
    threading.Timer(0.3, gate.set).start()  # the fork waits for Python's part of the compilation
    child = os.fork()
    if not child:
        gate.set()
        try:
            until(lambda: f(X) == 4950 and f.stats.compiled)
            os.write(writer, b"compiled")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"compiled"
    os.waitpid(child, 0)


ENDS = """
import numpy as np, time
from transpile import fuse
from transpile.runtime import compile_call
compile_call._run = lambda *args: time.sleep(60)
@fuse(background=True, cache=False)
def total(x):
    s = 0
    for v in x:
        s += v
    return s
print(total(np.arange(100)))
"""


def test_a_process_ends_without_waiting(tmp_path: Any) -> None:
    path = tmp_path / "ends.py"
    path.write_text(ENDS)
    done = run_program(path, timeout=30, start_python=True)
    assert (done.stdout, done.stderr) == ("4950\n", "")
