"""What a signal handler raises reaches the caller, whatever the compiler does when it comes."""
from __future__ import annotations

import dataclasses
import functools
import linecache
import os
import signal
import threading
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from targets.build import (
    build_kernel,
    c_compiler,
    object_cache,
    private_folders,
    shared_library,
)
from targets.build.background_build import BackgroundBuild
from transpile import fuse
from transpile.frontend import source
from transpile.runtime import compile_call
from transpile.runtime.cache import disk_cache, recipe_format
from transpile.runtime.process import compile_progress
from transpile.runtime.process.background_compilation import BackgroundCompiler
from transpile.types.result_types import result_type, type_error
from transpile.types.value_types import ScalarType


def total(x: Any) -> float:
    s = 0.0
    for v in x:
        s += v
    return s


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_an_interrupt_that_was_taken_for_an_error_is_raised(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, x = compile_call.compile_variant, np.ones(5)

    def handler(*args: Any) -> None:
        raise error

    def fails(*args: Any, **kwargs: Any) -> Any:
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
        except BaseException as interrupt:
            raise RuntimeError("Error calling __set_name__") from interrupt

    before = signal.signal(signal.SIGUSR1, handler)
    monkeypatch.setattr(compile_call, "compile_variant", fails)
    f = fuse(total, cache=False)
    try:
        with pytest.raises(error):
            f(x)
    finally:
        signal.signal(signal.SIGUSR1, before)
    monkeypatch.setattr(compile_call, "compile_variant", real)
    assert (f(x), f.stats.compiled) == (5.0, 1)


@pytest.mark.parametrize("error", [TimeoutError, RuntimeError, ValueError])
def test_what_a_signal_handler_raises_reaches_the_caller(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is called once: an alarm that comes while the compiler runs must end the call."""
    real, x = compile_call.compile_variant, np.ones(5)

    def alarm(*args: Any) -> None:
        raise error("time is up")

    def takes_long(*args: Any, **kwargs: Any) -> Any:
        os.kill(os.getpid(), signal.SIGUSR1)
        return real(*args, **kwargs)

    before = signal.signal(signal.SIGUSR1, alarm)
    monkeypatch.setattr(compile_call, "compile_variant", takes_long)
    try:
        f = fuse(total, cache=False)
        for _ in range(5):  # not counted as a fault of the compiler
            with pytest.raises(error, match="time is up"):
                f(x)
    finally:
        signal.signal(signal.SIGUSR1, before)
    monkeypatch.setattr(compile_call, "compile_variant", real)
    assert (f(x), f.stats.compiled) == (5.0, 1)


@pytest.mark.parametrize(
    ("module", "step"),
    [
        (c_compiler, "_read_until"), (build_kernel, "find_cached"), (object_cache, "read_file"),
        (object_cache, "make_folder"), (private_folders, "open_folder"),
        (disk_cache, "encoded"), (recipe_format, "value_of"), (shared_library, "_descriptor_path"),
        (shared_library, "opened_file"), (shared_library, "is_folder"),
        (tokenize, "detect_encoding"), (source, "is_file"),
    ],
)
def test_a_timeout_is_not_taken_for_an_error_of_the_system(
    module: Any, step: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """TimeoutError is an OSError, which the compiler expects of many steps."""
    real, x, rings = getattr(module, step), np.ones(5), [True]

    def alarm(*args: Any) -> None:
        raise TimeoutError("time is up")

    @functools.wraps(real)  # else the compiler would take it for a mock, and not run
    def takes_long(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is threading.main_thread() and rings.pop(0):
            rings.append(False)
            os.kill(os.getpid(), signal.SIGUSR1)
        else:
            rings.append(False)
        return real(*args, **kwargs)

    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))
    monkeypatch.setattr(linecache, "cache", {})
    if module is recipe_format:
        assert fuse(total)(x) == 5.0
    before = signal.signal(signal.SIGUSR1, alarm)
    monkeypatch.setattr(module, step, takes_long)
    caplog.clear()
    try:
        f = fuse(total)
        with pytest.raises(TimeoutError, match="time is up"):
            f(x)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (f(x), f.stats.compiled, caplog.messages) == (5.0, 1, [])


def test_what_a_signal_handler_raises_is_not_taken_for_what_a_probe_raises() -> None:
    """A probe of types rejects operands for which an operation raises, and that is remembered."""

    def alarm(*args: Any) -> None:
        raise TypeError("time is up")

    def rings(x: Any) -> Any:
        os.kill(os.getpid(), signal.SIGUSR1)
        return x

    before = signal.signal(signal.SIGUSR1, alarm)
    try:
        for probe in result_type, type_error:
            with pytest.raises(TypeError, match="time is up"):
                probe(rings, (ScalarType("f64"),))
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("who", ["background build", "background compiler", "progress"])
def test_a_runtime_error_of_a_signal_handler_is_not_taken_for_a_lack_of_threads(
    who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = threading.Thread.start

    def alarm(*args: Any) -> None:
        raise RuntimeError("time is up")

    def rings(thread: threading.Thread) -> None:
        real(thread)
        os.kill(os.getpid(), signal.SIGUSR1)

    def shows_progress() -> None:
        with compile_progress.showing_progress(cast("Any", total), enabled=True):
            pass

    starts: dict[str, Callable[[], object]] = {
        "background build": BackgroundBuild(lambda: None).start,
        "background compiler": lambda: BackgroundCompiler().start(None, lambda: None),
        "progress": shows_progress,
    }
    monkeypatch.setattr(threading.Thread, "start", rings)
    monkeypatch.setattr(compile_progress, "_is_watched", lambda: True)
    before = signal.signal(signal.SIGUSR1, alarm)
    try:
        with pytest.raises(RuntimeError, match="time is up"):
            starts[who]()
    finally:
        signal.signal(signal.SIGUSR1, before)


class Everything(ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
    """Of each kind that the compiler expects somewhere."""


def test_what_a_library_raises_instead_of_the_exception_of_a_signal_handler(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller gets the one of the handler."""
    real, x = compile_call.compile_variant, np.ones(5)

    def alarm(*args: Any) -> None:
        raise Everything

    class Rings:
        def __getattr__(self, name: str) -> None:
            os.kill(os.getpid(), signal.SIGUSR1)

    def takes_long(*args: Any, **kwargs: Any) -> Any:
        dataclasses.fields(cast("Any", Rings()))  # raises TypeError for an AttributeError
        return real(*args, **kwargs)

    before = signal.signal(signal.SIGUSR1, alarm)
    monkeypatch.setattr(compile_call, "compile_variant", takes_long)
    f = fuse(total, cache=False)
    try:
        with pytest.raises(Everything):
            f(x)
    finally:
        signal.signal(signal.SIGUSR1, before)
    monkeypatch.setattr(compile_call, "compile_variant", real)
    assert (f(x), f.stats.compiled) == (5.0, 1)


def test_a_function_that_is_called_while_the_exception_of_a_signal_is_handled() -> None:
    """What is refused then is refused, and not taken for that exception."""

    def alarm(*args: Any) -> None:
        raise Everything

    def refused(x: Any) -> str:
        return "".join(map(str, x))

    before = signal.signal(signal.SIGUSR1, alarm)
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
    except Everything:
        f = fuse(refused, on_reject="silent", cache=False)
        assert f([1, 2]) == "12"
        assert "LOWER_" in str(f.report([1, 2]))
    finally:
        signal.signal(signal.SIGUSR1, before)
