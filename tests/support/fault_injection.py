"""Fault injection: makes one step of a first call fail, and looks at what is left.

A step is a call of a Python function, or of a C function such as ``open``, by whatever runs in the
calling thread: the compiler, imports, the standard library. Each trial runs in a forked child, where
nothing has been compiled or imported yet. Run as a program, it reads trials from standard input, one
``SCENARIO KIND STEP`` a line, and prints what went wrong in each.
"""
from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from targets.abi import trampoline
from targets.build import object_cache
from transpile import fuse

KINDS: dict[str, Callable[[], BaseException]] = {
    "memory": MemoryError,
    "files": lambda: OSError(24, "Too many open files"),
    "recursion": lambda: RecursionError("maximum recursion depth exceeded"),
    "interrupt": KeyboardInterrupt,
}
"""The exceptions that a step raises."""

CANNOT_FAIL = {
    "close", "release", "closerange", "__exit__", "unlink", "rmdir", "remove", "killpg", "kill",
    "discard", "pop", "unregister", "setprofile", "getprofile", "release_lock",
    "cb",  # of importlib, which gives a lock back
    "guarded_choice",  # what catches faults
}
"""Functions that give something back, and do not allocate: they are never made to fail."""

SYSTEM_STEPS = (
    "posix.", "io.", "_io.", "select.", "_thread.", "_posixsubprocess.", "_cffi_backend.", "fcntl.",
    "_imp.", "builtins.compile", "builtins.exec", "marshal.", "_ctypes.",
)
"""Beginnings of the names of C functions that ask the system, or Python, for something."""

SECONDS = 60
"""After this time a trial hangs."""


def scale(x: Any, factor: float = 2.0) -> Any:
    """A reduction and a map, so that most of the compiler takes part."""
    out, total = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        total += x[i]
        out[i] = np.sqrt(x[i]) * factor if x[i] > 0.5 else 0.0
    return out, total


def same(a: Any, b: Any) -> bool:
    """Whether two results of `scale` are the same."""
    return bool(np.array_equal(a[0], b[0]) and abs(a[1] - b[1]) < 1e-9)


class Injection:
    """A profile function that raises at chosen steps, and can record all of them."""

    def __init__(self, steps: set[int], kind: str, record: bool = False) -> None:
        self.count, self.raised, self._steps, self._kind = 0, 0, steps, kind
        self.sites: list[str] | None = [] if record else None

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        if event not in ("call", "c_call"):
            return
        name = frame.f_code.co_name if event == "call" else getattr(arg, "__name__", "")
        if name in CANNOT_FAIL or frame.f_code.co_name in CANNOT_FAIL:
            return
        if frame.f_code.co_filename.startswith("<transpile "):  # the call itself, compiled or not
            return
        self.count += 1
        if self.sites is not None:
            self.sites.append(self._site(frame, event, arg))
        if self.count in self._steps:
            self.raised += 1
            raise KINDS[self._kind]()

    def _site(self, frame: Any, event: str, arg: Any) -> str:
        """A name for the place in the source, and what is called there."""
        code = frame.f_code
        if event == "call":
            return f"call {os.path.basename(code.co_filename)}:{code.co_name}"
        owner = getattr(arg, "__module__", None) or type(getattr(arg, "__self__", None)).__name__
        place = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
        return f"c_call {owner}.{arg.__name__} at {place}"

    def run(self, function: Callable[[], Any]) -> Any:
        """``function()`` under this profile function, which is removed when it has raised.

        Several steps can fail: it is set again when Python has removed it.
        """
        sys.setprofile(self)
        try:
            return function()
        finally:
            sys.setprofile(None)


def descriptors() -> set[str]:
    """What the open files of this process are."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} {os.readlink('/proc/self/fd/' + name)}")
        except OSError:
            continue
    return found


def first_call(scenario: str, kind: str, steps: set[int], place: Path) -> list[str]:
    """What is wrong after a first call in which these steps fail, and some calls after it."""
    os.environ["TMPDIR"] = str(place)
    tempfile.tempdir = None
    x = np.linspace(0.0, 3.0, 40)
    expected = scale(x)
    fused = fuse(scale)
    filters, files, faults = warnings.filters, descriptors(), []
    injection = Injection(steps, kind)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            got = injection.run(lambda: fused(x))
        except KeyboardInterrupt:
            if kind != "interrupt":
                faults.append("KeyboardInterrupt")
        except BaseException:
            faults.append("first call: " + traceback.format_exc())
        else:
            if not same(got, expected):
                faults.append("first call: a wrong answer")
        for _ in range(3):
            if not same(fused(x), expected):
                faults.append("a later call: a wrong answer")
        faults += [f"warning: {w.message}" for w in seen]
    if fused.stats.compiled == 0:
        faults.append(f"not compiled after four calls: {fused.stats}")
    faults += left_over(kind, place, files)
    if warnings.filters is not filters:
        faults.append("other warning filters")
    answers: list[Any] = []
    other = threading.Thread(target=lambda: answers.append(fuse(scale)(x)), daemon=True)
    other.start()
    other.join(20)
    if not answers or not same(answers[0], expected):
        faults.append("another thread gets no answer")
    return faults


def left_over(kind: str, place: Path, files: set[str]) -> list[str]:
    """What a call has left open or on disk, that it should not."""
    for thread in trampoline._building:
        thread.join(SECONDS)
    gc.collect()
    faults = []
    opened = {f for f in descriptors() - files if "/proc" not in f}
    if kind != "interrupt" and opened:  # a signal may come between opening and storing
        faults.append(f"open files: {opened}")
    kept = set(object_cache._private.values())  # until the process ends
    if folders := [f for f in place.glob("transpile-*") if str(f) not in kept]:
        faults.append(f"folders: {folders}")
    cache = Path(os.environ["TRANSPILE_CACHE"]) / "kernels"
    if kind != "interrupt" and (temporary := list(cache.glob(".*.tmp"))):
        faults.append(f"unfinished files: {temporary}")
    if threading.stack_size() != 0:
        faults.append("another size of stacks")
    if children := Path("/proc/self/task/self/children"):
        with_children = children.exists() and children.read_text().split()
        if with_children:
            faults.append(f"processes: {with_children}")
    return faults


def record(scenario: str) -> list[str]:
    """The site of each step of a first call."""
    fused, x = fuse(scale), np.linspace(0.0, 3.0, 40)
    injection = Injection(set(), "memory", record=True)
    injection.run(lambda: fused(x))
    assert injection.sites is not None
    return injection.sites


def in_child(work: Callable[[Path], Any], scenario: str, cache: Path) -> Any:
    """The result of `work` in a forked child, as JSON; a text if it does not end well."""
    os.environ["TRANSPILE_CACHE"] = str(cache)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result")
        place = Path(folder, "temporary")
        place.mkdir()
        if scenario == "cold":
            os.environ["TRANSPILE_CACHE"] = str(Path(folder, "cache"))
        pid = os.fork()
        if pid == 0:
            signal.alarm(SECONDS)
            output = os.open(Path(folder, "stderr"), os.O_CREAT | os.O_WRONLY)
            os.dup2(output, 2)
            status = 1
            try:
                result.write_text(json.dumps(work(place)))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        said = Path(folder, "stderr").read_text()
        if status or said:
            return [f"status {status}: {said}"]
        return json.loads(result.read_text())


def main() -> None:
    """Answer trials until the input ends."""
    with tempfile.TemporaryDirectory() as cache:
        warm = Path(cache, "warm")
        os.environ["TRANSPILE_CACHE"] = str(warm)
        in_child(lambda _: scale and record("warm"), "warm", warm)
        for line in sys.stdin:
            scenario, kind, word = line.split()
            if kind == "record":
                answer = in_child(lambda _: record(scenario), scenario, warm)
            else:
                steps = {int(n) for n in word.split(",")}
                answer = in_child(
                    lambda place: first_call(scenario, kind, steps, place), scenario, warm
                )
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
