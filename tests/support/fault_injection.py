"""Fault injection: makes one step of a first call fail, and looks at what is left.

A step is a call of a Python function, or of a C function such as ``open``, by whatever runs in
the calling thread: the compiler, imports, the standard library. Each trial runs in a forked
child, where nothing has been compiled or imported yet. Run as a program, it reads trials from
standard input, one ``SCENARIO FUNCTION KIND STEP...`` a line, and prints what went wrong in each,
as JSON. Without a step it prints the site of each step, or for the kind ``count`` how many there
are. After that ``=STEP`` stands for the first step at the site of that one: its number is not the
same in each process.
"""
from __future__ import annotations

import dis
import functools
import gc
import inspect
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn, TypeAlias, cast

import fault_subjects
import numpy as np
from fault_subjects import FUNCTIONS, NEVER_COMPILED, arguments, decorated
from forked_programs import with_bytecode
from paths import ROOT, SUPPORT

from targets.abi import thread_pool, trampoline
from targets.build import object_cache
from transpile.runtime import compile_call
from transpile.runtime.dispatcher import Dispatcher
from transpile.runtime.process.compiler_faults import _call_deeper


class Alarm(TimeoutError):
    """What a signal handler of the user raises; `TimeoutError` is an `OSError`."""


def ring(*args: object) -> NoReturn:
    """A signal handler."""
    raise Alarm("time is up")


class Expired(ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError):
    """What another signal handler of the user raises: of all kinds that code may expect of
    operations on values, and no error of the system."""


def expire(*args: object) -> NoReturn:
    """Another signal handler."""
    raise Expired


KINDS: dict[str, Callable[[], BaseException]] = {
    "memory": MemoryError,
    "files": lambda: OSError(24, "Too many open files"),
    "recursion": lambda: RecursionError("maximum recursion depth exceeded"),
    "interrupt": KeyboardInterrupt,
    "alarm": ring,
    "expired": expire,
}
"""The exceptions that a step raises. Those of `SIGNALS` must reach the caller."""

SIGNALS: dict[str, type[BaseException]] = {
    "interrupt": KeyboardInterrupt, "alarm": Alarm, "expired": Expired,
}

CANNOT_FAIL = {
    "close", "release", "closerange", "__exit__", "unlink", "rmdir", "remove", "killpg", "kill",
    "discard", "pop", "unregister", "setprofile", "getprofile", "release_lock",
    "cb",  # of importlib, which gives a lock back
    "guarded_choice",  # what catches faults
    "__del__",  # Python itself prints what a destructor raises
    "_with_defaults",  # binds arguments, as the call itself does
}
"""Functions that give something back, and do not allocate: they are never made to fail."""

SYSTEM_STEPS = (
    "posix.", "io.", "_io.", "select.", "_thread.", "_posixsubprocess.", "_cffi_backend.", "fcntl.",
    "_imp.", "builtins.compile", "builtins.exec", "marshal.", "_ctypes.",
)
"""Beginnings of the names of C functions that ask the system, or Python, for something."""

FIRST_CALL = {f.__code__ for f in (Dispatcher.__call__, inspect.unwrap(Dispatcher.__call__))}
"""The frames that a first call has in place of the function's own."""

_COMPILER = tuple(f"{ROOT}/{package}/" for package in ("loopir", "targets", "transpile"))
"""Beginnings of the names of the compiler's own files."""

OWN = ("<transpile ", __file__, fault_subjects.__file__)
"""Beginnings of the names of files of the calls themselves, compiled or not."""

SECONDS = 120
"""After this time a trial hangs, also on a busy machine."""


def outcome(function: Callable[..., Any], name: str) -> tuple[Any, ...]:
    """What a call with new arguments returns, and its arguments afterwards."""
    given = arguments(name)
    return function(*given), *given


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same, up to the order of sums."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, np.ndarray)):
        return bool(np.allclose(a, b, rtol=1e-12, atol=0))
    return bool(a == b)


Site: TypeAlias = "tuple[str, str, str, int, str, str]"
"""Steps that fail alike: a function of the system that is called (else empty); file, function and
line of the place; for the standard library, who of the compiler asks (`caller_of`); and the
handlers that an exception would meet first (`_handlers_from`).

Why such steps fail alike: an exception unwinds the stack, and only handlers (``except``,
``finally``, ``with``) run code then. From the second handler on, what happens is that of a site
whose first handler it is. What functions without a handler have made is dropped with their frames,
unless it outlives the call. So the place is the call itself where the system is asked; else, in
the innermost function that is in a handler (then its line is 0) or that may keep something
(`_keeps`).
"""

_LIBRARY = os.path.dirname(os.__file__)
_MAKES_CLASSES = ("abc.py", "dataclasses.py", "enum.py", "importlib", "typing.py")
"""Modules of the standard library in which it does not matter who asks."""
_KEEPING = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"}
_ITEM_KEEPING = {"STORE_SUBSCR", "DELETE_SUBSCR"}
_CHANGES_ITEMS = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove",
    "setdefault", "update",
}


def site_of(frame: Any, event: str, arg: Any) -> Site:
    """The site of an event of a profile function."""
    is_new = event == "call" and not frame.f_code.co_flags & inspect.CO_GENERATOR
    place = frame.f_back if is_new else frame  # that of a call, not of the function called
    if event == "c_call":
        owner = getattr(arg, "__module__", None) or type(getattr(arg, "__self__", None)).__name__
        if (callee := f"{owner}.{arg.__name__}").startswith(SYSTEM_STEPS):
            return _site(callee, place, place.f_lineno, _handlers_from(place))
    while place.f_code not in FIRST_CALL:
        if _keeps(place.f_code, place.f_globals):
            return _site("", place, place.f_lineno, _handlers_from(place))
        if handler_of(place):
            break
        place = place.f_back
    return _site("", place, 0, _handlers_from(place))


def _site(callee: str, place: Any, line: int, handlers: str) -> Site:
    code = place.f_code
    name = getattr(code, "co_qualname", code.co_name)
    return callee, code.co_filename, name, line, caller_of(place), handlers


_known_keeping: dict[CodeType, bool] = {}


def _keeps(code: CodeType, names: dict[str, Any]) -> bool:
    """Whether a function of the compiler may change what outlives a call: a global name, an
    attribute, or an item of a global container. Before Python 3.11, where `handler_of` does not
    know the handlers, each function.
    """
    if sys.version_info < (3, 11):
        return True
    if code not in _known_keeping:
        operations = {step.opname for step in dis.get_instructions(code)}
        has_container = any(isinstance(names.get(n), (dict, list, set)) for n in code.co_names)
        changes_items = operations & _ITEM_KEEPING or _CHANGES_ITEMS.intersection(code.co_names)
        _known_keeping[code] = code.co_filename.startswith(_COMPILER) and bool(
            operations & _KEEPING or (has_container and changes_items)
        )
    return _known_keeping[code]


def _handlers_from(frame: Any) -> str:
    """File and line of the two handlers that an exception would meet first."""
    found: list[str] = []
    while frame is not None and frame.f_code not in FIRST_CALL and len(found) < 2:
        if line := handler_of(frame):
            found.append(f"{os.path.basename(frame.f_code.co_filename)}:{line}")
        frame = frame.f_back
    return " ".join(found)


def handler_of(frame: Any) -> int:
    """The line of the handler of this frame that an exception would meet; 0 if there is none."""
    for start, end, line in _handlers(frame.f_code):
        if start <= frame.f_lasti < end:
            return line
    return 0


@functools.cache
def _handlers(code: CodeType) -> list[tuple[int, int, int]]:
    """First and last offset and line of each handler in a function, the inner ones first."""
    if sys.version_info < (3, 11):
        return []
    starts = [(at, line) for at, line in dis.findlinestarts(code) if line]
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]  # no public one is there
    return [
        (e.start, e.end, next((line for at, line in starts if at >= e.target), starts[-1][1]))
        for e in table
    ]


def caller_of(frame: Any) -> str:
    """The function of the compiler that calls a function of the standard library, such as
    ``c_compiler.py:find_compiler``; empty for other frames.
    """
    file = frame.f_code.co_filename
    is_frozen = file.startswith(("<frozen posixpath", "<frozen genericpath", "<frozen os"))
    if not (file.startswith(_LIBRARY) or is_frozen) or "site-packages" in file:
        return ""
    if any(name in file for name in _MAKES_CLASSES):
        return ""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_COMPILER):
            return "" if code.co_name == "<module>" else f"{short(code.co_filename)}:{code.co_name}"
        if "importlib" in code.co_filename:
            return ""
        frame = frame.f_back
    return ""


def short(file: str) -> str:
    """The end of a path."""
    return "/".join(file.split(os.sep)[-2:])


def site_text(site: Site) -> str:
    """A site in words."""
    callee, file, function, line, caller, handlers = site
    text = f"c_call {callee} at" if callee else "call at"
    text += f" {short(file)}:{line or function}"
    text += f" for {caller}" if caller else ""
    return f"{text} in {handlers}" if handlers else text


def is_of_call(frame: Any) -> bool:
    """Whether a function of NumPy serves the call itself, and not the compiler."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(OWN):
            return True
        if file.startswith(_COMPILER):
            return False
        frame = frame.f_back
    return False


class Injection:
    """A profile function that raises at one step, and can record all of them. ``error``: what it
    has raised. ``is_short``: later calls only show that they would compile. ``since``: a site is
    not looked for before so many steps, which takes time."""

    def __init__(
        self, step: int | Site, kind: str, record: bool = False, since: int = 0
    ) -> None:
        self.count, self._step, self.kind, self._since = 0, step, kind, since
        self.is_short = False
        self.error: BaseException | None = None
        self.sites: list[str] | None = [] if record else None

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        if event not in ("call", "c_call"):
            return
        name = frame.f_code.co_name if event == "call" else getattr(arg, "__name__", "")
        if name in CANNOT_FAIL or frame.f_code.co_name in CANNOT_FAIL:
            return
        if self.kind == "recursion" and frame.f_code is _call_deeper.__code__:
            return  # a real one comes from this frame, which tells it from a signal handler's
        file = frame.f_code.co_filename
        if file.startswith(OWN) or frame.f_code in FIRST_CALL:
            return  # the call itself, compiled or not
        if "/numpy/" in file and is_of_call(frame):
            return
        self.count += 1
        if self.sites is not None:
            self.sites.append(site_of(frame, event, arg))
        if self.count < self._since:
            return
        step = self._step
        is_it = step == (site_of(frame, event, arg) if isinstance(step, tuple) else self.count)
        if is_it:
            self._step = 0
            self.fail()

    def fail(self) -> NoReturn:
        """Raise the exception."""
        try:
            raise KINDS[self.kind]()
        except BaseException as error:
            self.error = error
            raise

    def is_dropped(self) -> bool:
        """Whether Python's own code has caught the exception: of an alarm, while it imported a
        module. The code for imports passes over each OSError where it looks for bytecode, and so do
        some modules of the standard library. It was caught by the frame in which its traceback
        begins.
        """
        assert self.error is not None
        assert self.error.__traceback__ is not None
        frame: Any = self.error.__traceback__.tb_frame
        if self.kind == "expired":
            return not frame.f_code.co_filename.startswith(_COMPILER)
        while frame is not None and not frame.f_code.co_filename.startswith(_COMPILER):
            if "importlib" in frame.f_code.co_filename:
                return True
            frame = frame.f_back
        return False

    def run(self, function: Callable[[], Any]) -> Any:
        """``function()`` under this profile function, which is removed when it has raised."""
        sys.setprofile(self)
        try:
            return function()
        finally:
            sys.setprofile(None)


def descriptors() -> set[str]:
    """What the open files of this process are."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(f"{name} {os.readlink('/proc/self/fd/' + name)}")
    return found


def first_calls(name: str, injections: Sequence[Injection], place: Path) -> list[str]:
    """What is wrong after calls in each of which one of these steps fails, and some calls after.
    """
    os.environ["TMPDIR"] = str(place)
    tempfile.tempdir = None
    expected = outcome(FUNCTIONS[name], name)
    fused = decorated(name)
    signal.signal(signal.SIGUSR1, ring)
    signal.signal(signal.SIGUSR2, expire)
    sys.unraisablehook = note_unraisable
    filters, files, faults = warnings.filters, descriptors(), []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        faults += (f for i in injections if (f := failing_call(fused, name, expected, i)))
        if injections[0].is_short:
            compile_call.compile_variant = not_now
        for _ in range(1 if injections[0].is_short else 3):
            wait_for_threads()
            if not same(outcome(fused, name), expected):
                faults.append("a later call: a wrong answer")
        # Python's import system catches an AttributeError, also of a signal handler, and warns
        shown = (w for w in seen if not issubclass(w.category, ImportWarning))
        faults += (f"warning: {w.message}" for w in shown)
    is_compiled = fused.stats.compiled > 0 or name in NEVER_COMPILED
    if not is_compiled and not NOT_NOW:
        faults.append(f"not compiled later: {fused.stats}")
    faults += left_over(injections[0].kind, place, files)
    if warnings.filters is not filters:
        faults.append("other warning filters")
    answers: list[Any] = []
    again = decorated(name)
    other = threading.Thread(target=lambda: answers.append(outcome(again, name)), daemon=True)
    other.start()
    other.join(20)
    if not answers or not same(answers[0], expected):
        faults.append("another thread gets no answer")
    return faults


def wait_for_threads() -> None:
    """Wait until threads that compile in the background have ended."""
    for thread in threading.enumerate():
        is_dummy = isinstance(thread, threading._DummyThread)
        if thread is not threading.current_thread() and not is_dummy:
            with suppress(RuntimeError):  # it was made to fail when it started
                thread.join(20)


NOT_NOW: list[object] = []
"""The functions that `not_now` was to compile."""


def not_now(function: object, *args: object, **options: object) -> NoReturn:
    """In place of `compile_variant`, where it is enough to know that it is called."""
    NOT_NOW.append(function)
    raise MemoryError


UNRAISABLE: list[object] = []
"""What Python could only print: exceptions in destructors, and of generators that are closed."""


def note_unraisable(what: sys.UnraisableHookArgs) -> None:
    """Add it to `UNRAISABLE`, and print it."""
    UNRAISABLE.append(what.object)
    sys.__unraisablehook__(what)


def failing_call(
    fused: Callable[..., Any], name: str, expected: Any, injection: Injection
) -> str:
    """What is wrong with a call in which a step fails; empty if nothing is."""
    given = arguments(name)
    try:
        got = injection.run(lambda: fused(*given)), *given
    except tuple(SIGNALS.values()) as error:
        injection.error = None
        return "" if type(error) is SIGNALS.get(injection.kind) else repr(error)
    except BaseException:
        return "a call: " + traceback.format_exc()
    is_raised = injection.error is not None and injection.kind in SIGNALS
    is_lost = is_raised and not UNRAISABLE and not injection.is_dropped()
    injection.error = None  # it keeps alive what its frames have opened
    if is_lost:
        return "a call: the exception of a signal is lost"
    return "" if same(got, expected) else "a call: a wrong answer"


def left_over(kind: str, place: Path, files: set[str]) -> list[str]:
    """What a call has left open or on disk, that it should not."""
    trampoline._building.wait(SECONDS)
    thread_pool._building.wait(SECONDS)
    gc.collect()
    faults = []
    kept = set(object_cache._private.values())  # until the process ends
    new = (f for f in descriptors() - files if "/proc" not in f)
    opened = {f for f in new if not any(folder in f for folder in kept)}
    if kind not in SIGNALS and opened:  # a signal may come between opening and storing
        faults.append(f"open files: {opened}")
    if folders := [f for f in place.glob("transpile-*") if str(f) not in kept]:
        faults.append(f"folders: {folders}")
    cache = Path(os.environ["TRANSPILE_CACHE"]) / "kernels"
    if kind not in SIGNALS and (temporary := list(cache.glob(".*.tmp"))):
        faults.append(f"unfinished files: {temporary}")
    if threading.stack_size() != 0:
        faults.append("another size of stacks")
    children = Path("/proc/thread-self/children")
    if children.exists() and (running := children.read_text().split()):
        faults.append(f"processes: {running}")
    return faults


def steps_of(name: str) -> list[Site]:
    """The site of each step of a first call."""
    sites = without_fault(name, record=True).sites
    assert sites is not None
    return sites


def without_fault(name: str, *, record: bool) -> Injection:
    """What a first call in which no step fails has counted, or recorded, which takes longer."""
    signal.alarm(0)
    injection = Injection(0, "memory", record)
    fused, given = decorated(name), arguments(name)
    injection.run(lambda: fused(*given))
    return injection


def in_child(work: Callable[[Path], Any], cache: Path | None) -> Any:
    """The result of `work` in a forked child, as JSON; a text if it does not end well. ``cache``:
    None for a new one.
    """
    with tempfile.TemporaryDirectory() as folder:
        result, place = Path(folder, "result"), Path(folder, "temporary")
        place.mkdir()
        os.environ["TRANSPILE_CACHE"] = str(cache or Path(folder, "cache"))
        pid = os.fork()
        if pid == 0:
            signal.alarm(SECONDS)
            os.dup2(os.open(Path(folder, "stderr"), os.O_CREAT | os.O_WRONLY, 0o600), 2)
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
        if said.startswith("Exception ignored in: <generator"):  # closing one was made to fail
            said = ""
        if status or said:
            return [f"status {status}: {said}"]
        return json.loads(result.read_text())


def main() -> None:
    """Answer trials until the input ends."""
    with tempfile.TemporaryDirectory() as folder:
        filled, known, sites = Path(folder), set[str](), dict[str, list[Site]]()
        for line in sys.stdin:
            scenario, name, kind, *words = line.split()
            cache = filled if scenario == "warm" else None
            if cache and name not in known:
                in_child(work_of(name, "memory", []), filled)
                known.add(name)
            steps: list[int | Site] = [
                tuple(sites[scenario + name][int(word[1:]) - 1]) if word[0] == "=" else int(word)
                for word in words
            ]
            answer = in_child(work_of(name, kind, steps), cache)
            if not words and kind in KINDS:
                sites[scenario + name] = answer
                answer = [*map(site_text, answer)]
            print(json.dumps(answer), flush=True)


KEEPING_COMPILER = """#!/bin/sh
# cc -x c - -o FILE FLAGS...: as {real}, whose result for each source is kept
key=$(sha256sum "$TMPDIR/source.c")
kept={folder}/${{key%% *}}
if ! [ -e "$kept" ]; then
    {real} "$@" || exit
    cp "$5" "$kept.$$" && mv "$kept.$$" "$kept"
    exit
fi
exec cp "$kept" "$5"
"""
"""Flags follow from the source, in one run of this tool."""


def keeping_compiler(folder: Path) -> str:
    """A ``PATH`` on which ``cc`` is one that keeps its results in a folder."""
    kept, programs = folder / "kept", folder / "programs"
    kept.mkdir()
    programs.mkdir()
    real = shutil.which("cc")
    assert real is not None, "no C compiler"
    program = programs / "cc"
    program.write_text(
        KEEPING_COMPILER.format(real=shlex.quote(real), folder=shlex.quote(str(kept)))
    )
    program.chmod(0o755)
    return os.pathsep.join([str(programs), os.environ["PATH"]])


def work_of(
    name: str, kind: str, steps: Sequence[int | Site], since: int = 0, *, is_short: bool = False
) -> Callable[[Path], Any]:
    """What the child does for a trial; ``since`` and ``is_short`` as for `Injection`."""
    if kind == "count":
        return lambda place: without_fault(name, record=False).count
    if not steps:
        return lambda place: steps_of(name)

    def trial(place: Path) -> list[str]:
        injections = [Injection(step, kind, since=since) for step in steps]
        for injection in injections:
            injection.is_short = is_short
        return first_calls(name, injections, place)

    return trial


def environment() -> dict[str, str]:
    """The environment of a process of trials: the compiler is that of this repository, its steps
    are the same each time, and nothing but faults lets Python serve a call.
    """
    paths = os.pathsep.join([str(ROOT), str(SUPPORT)])
    fixed = {"PYTHONPATH": paths, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **fixed, "TRANSPILE_SELECT": "compiled"}


class Trials:
    """Runs trials in a process of this module. ``kept``: the results of the C compiler are kept in
    this folder, by its input.
    """

    def __init__(self, kept: Path | None = None) -> None:
        env = with_bytecode(environment())
        if kept is not None:
            env["PATH"] = keeping_compiler(kept)
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=env,
        )

    def count(self, scenario: str, name: str) -> int:
        """How many steps a first call has."""
        return cast("int", self._answer(scenario, name, "count"))

    def ask(self, *words: object) -> list[str]:
        """The answer to one trial."""
        return cast("list[str]", self._answer(*words))

    def _answer(self, *words: object) -> object:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*words, file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


if __name__ == "__main__":
    main()
