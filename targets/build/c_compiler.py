"""C compiler discovery and invocation: finds a compiler without running it; runs it safely.

To run a compiler for its version would take longer than to load a kernel from the cache. So it is
identified by the path, size and time of its file.
"""
from __future__ import annotations

import atexit
import functools
import os
import shlex
import sys
import time
from typing import TYPE_CHECKING, BinaryIO

from loopir.lazy_dataclass import record
from loopir.process.compiler_threads import in_compiler
from loopir.process.signal_exceptions import failures

from ..file_kinds import is_file, real_path
from .build_errors import BuildError, NoCompiler, is_system_fault, tells_of_fault

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = [
    "BuildError", "Compiler", "NoCompiler", "find_compiler", "find_compiler_for",
    "find_cross_compiler", "run_compiler",
]

_HELP = "pip install ziglang brings a compiler, without root"
_CC_HELP = f"name another in CC, or unset it; {_HELP}"

TIMEOUT = 120.0
"""Seconds after which a compiler is killed."""

OUTPUT_BYTES = 1 << 16
"""Bytes of a compiler's output that are kept."""

_ON_WINDOWS = sys.platform == "win32"

_TEMPORARY = ("TMP", "TEMP") if _ON_WINDOWS else ("TMPDIR",)
"""The variables that name the directory for temporary files."""


@record(frozen=True, slots=True)
class Compiler:
    """A C compiler."""

    command: tuple[str, ...]  # its command line, without flags
    version: str  # an identity that changes when the program does

    @property
    def name(self) -> str:
        return " ".join(self.command)


def find_compiler() -> Compiler:
    """The C compiler for this machine: ``$CC`` if it is set, which may have flags (``CC="ccache
    gcc"``), else the first of cc, gcc and clang on ``$PATH``, else that of the ``ziglang`` wheel.
    On Windows that one comes first, then clang, since GCC has a fault there (`abi.h` refuses it).
    None is run: its identity, which is part of the key of each object, is that of its file.

    Raises NoCompiler, which becomes a rejection, so that Python runs the function. A ``$CC`` that
    does not exist is an error, never a reason to take another compiler.
    """
    return _discover(os.environ.get("CC", "").strip(), os.environ.get("PATH", os.defpath))


def find_compiler_for(machine: str) -> Compiler:
    """A C compiler that makes code for the architecture `machine` (``"x86_64"``, ``"aarch64"``):
    the native one for this machine's own, else GNU's cross compiler, as ``aarch64-linux-gnu-gcc``.

    Only assembly is made by it (``--emit asm``), and the tests' kernels that an emulator runs. A
    ``$CC`` is used without a check of what it compiles for. Raises NoCompiler.
    """
    from ..isa.target_registry import machine as own

    if machine in ("any", own()) or os.environ.get("CC", "").strip():
        return find_compiler()
    path = os.environ.get("PATH", os.defpath)
    if program := _find_program(f"{machine}-linux-gnu-gcc", path):
        return _identify_compiler((program,), path)
    cross = f"{machine}-linux-gnu-gcc"
    raise NoCompiler(f"no C compiler for {machine}: neither $CC nor {cross}", f"install {cross}")


def find_cross_compiler(triple: str) -> Compiler:
    """The compiler of the ``ziglang`` wheel, for the system and architecture that it calls
    `triple`, as ``x86_64-windows-gnu``. It has the headers and libraries of all of them. Raises
    NoCompiler.
    """
    zig = _zig()
    if zig is None:
        raise NoCompiler(
            "no cross compiler: there is no ziglang wheel", "pip install ziglang brings one"
        )
    return Compiler((*zig.command, "-target", triple), zig.version)


_ZIG_FLAGS = ("-mcpu=baseline", "-fno-sanitize=undefined")
"""Without these zig compiles for the host CPU, where the target's flags are appended; and at -Og it
calls functions of a sanitizer, which no object has.
"""


@functools.cache
def _discover(chosen: str, path: str) -> Compiler:
    """The compiler that `chosen` (``$CC``) names, or the first one on `path`; else zig. Raises
    NoCompiler.
    """
    if chosen:
        words = _split_command(chosen)
        program = _find_program(words[0], path)
        if program is None:
            raise NoCompiler(f"CC={chosen}: there is no such program", _CC_HELP)
        return _identify_compiler((program, *words[1:]), path)
    if _ON_WINDOWS and (zig := _zig()):
        return zig
    names = ("clang",) if _ON_WINDOWS else ("cc", "gcc", "clang")
    for name in names:
        if program := _find_program(name, path):
            return _identify_compiler((program,), path)
    if zig := _zig():
        return zig
    tried = ", ".join(("$CC", *names[:-1]))
    raise NoCompiler(f"no C compiler: neither {tried} nor clang, and no ziglang wheel", _HELP)


def _split_command(command: str) -> list[str]:
    """The words of ``$CC``. Raises NoCompiler if its quotes do not match."""
    try:
        if _ON_WINDOWS:  # where paths have backslashes
            return [word.strip('"') for word in shlex.split(command, posix=False)]
        return shlex.split(command)
    except failures(ValueError) as error:
        raise NoCompiler(f"CC={command}: {error}", _CC_HELP) from None


def _identify_compiler(command: tuple[str, ...], path: str) -> Compiler:
    """The compiler with its identity: path, size and time of each word that names a program
    (``ccache gcc``: two).
    """
    programs = (_find_program(word, path) for word in command)
    if "ziglang" in command or os.path.basename(command[0]) == "zig":
        command = (*command, *_ZIG_FLAGS)
    return Compiler(command, " ".join(_file_identity(p) for p in programs if p))


def _find_program(name: str, path: str) -> str | None:
    """The program `name`, a path or the name of a file in a folder of `path`; None if there is
    none. As `shutil.which`, but raises OSError where that cannot be told, as for lack of memory:
    the compiler that is found is remembered.
    """
    folders = [""] if os.path.dirname(name) else path.split(os.pathsep)
    endings = ("", ".exe") if _ON_WINDOWS else ("",)
    for program in (os.path.join(folder, name) + end for folder in folders for end in endings):
        try:
            is_there = is_file(program)
        except failures(OSError) as error:
            if is_system_fault(error):
                raise
            continue
        if is_there and os.access(program, os.X_OK):
            return program
    return None


def _file_identity(program: str) -> str:
    """Path, size and modification time of a program, links resolved."""
    real = real_path(program)
    stat = os.stat(real)
    return f"{real}:{stat.st_size}:{stat.st_mtime_ns}"


def _zig() -> Compiler | None:
    """The compiler of the ``ziglang`` wheel; None if it is not installed."""
    from importlib.util import find_spec

    spec = find_spec("ziglang")
    if spec is None or not spec.origin:
        return None
    name = "zig.exe" if _ON_WINDOWS else "zig"
    program = os.path.join(os.path.dirname(spec.origin), name)
    command = (program, "cc", *_ZIG_FLAGS)  # not by Python, which may look in the current directory
    return Compiler(command, _file_identity(program)) if is_file(program) else None


def run_compiler(
    compiler: Compiler, flags: tuple[str, ...], source: str, output_path: str,
    seconds: float | None = None,
) -> None:
    """Compile C text, passed on standard input, to the file `output_path`, for so many seconds at
    most; None: `TIMEOUT`.

    Raises BuildError where the compiler does not run, does not finish, fails, or writes no file.
    Its ``is_fault`` tells whether the system is at fault, as by a lack of memory: a later call then
    tries again. Any other refusal is remembered. A compiler that did not finish once is not run
    again in this process.

    All files that the compiler makes are in the folder of `output_path`, which must be private.
    """
    words = (*compiler.command, "-x", "c", "-", "-o", output_path, *flags)
    if compiler.command in _timed_out:
        raise BuildError(f"{compiler.name} did not finish before, and is not run again")
    try:
        limit = TIMEOUT if seconds is None else seconds
        code, output = _run_process(words, source, os.path.dirname(output_path), limit)
    except _TimedOut:
        _timed_out.add(compiler.command)
        raise BuildError(f"{compiler.name} did not finish in {limit:g} s") from None
    except failures(OSError) as error:
        message = f"{compiler.command[0]} does not run: {_reason(error)}"
        raise BuildError(message, is_fault=is_system_fault(error)) from error
    if code != 0:  # negative: minus the number of a signal
        outcome = f"died of signal {-code}" if code < 0 else f"failed with status {code}"
        is_fault = -code in _SENT_SIGNALS or tells_of_fault(output)
        message = f"{compiler.name} {outcome}{_first_lines(output)}"
        raise BuildError(message, output, is_fault=is_fault)
    try:
        is_written = is_file(output_path)
    except failures(OSError) as error:
        raise BuildError(f"{output_path}: {error}", is_fault=True) from error
    if not is_written:
        message = f"{compiler.name} reported success and wrote no file{_first_lines(output)}"
        raise BuildError(message, output)


def _reason(error: OSError) -> object:
    """What the system says, without the path."""
    return error.strerror or error


_SENT_SIGNALS = (1, 2, 9, 15)
"""SIGHUP, SIGINT, SIGKILL, SIGTERM: sent by another process, or by the system that lacks memory."""


class _TimedOut(Exception):
    """A compiler that did not finish in time."""


_timed_out: set[tuple[str, ...]] = set()
"""The command lines of compilers that did not finish in this process."""


def _run_process(
    command: tuple[str, ...], source: str, folder: str, seconds: float
) -> tuple[int, str]:
    """Run `command` on the C text `source`, with `folder` for its files. Returns the exit code and
    the first `OUTPUT_BYTES` of its messages. Raises BuildError where the text cannot be written,
    OSError where the command does not run, and _TimedOut after so many seconds.
    """
    import subprocess

    path = os.path.join(folder, "source.c")
    try:
        with open(path, "w", encoding="utf-8") as text:
            text.write(source)
    except failures(OSError) as error:  # a full disk, say
        raise BuildError(f"{path} cannot be written: {_reason(error)}", is_fault=True) from error
    deadline = time.monotonic() + seconds
    _register_end()
    pipe, process = [*os.pipe()], None
    try:
        with open(path, "rb") as text_in:
            process = _started(command, text_in, pipe[1], folder)
        os.close(pipe.pop())  # what is written ends when the compiler has closed its end
        with in_compiler():
            read = _read_in_thread if _ON_WINDOWS else _read_until
            output = read(pipe[0], process, deadline)
            process.wait(max(0.0, deadline - time.monotonic()))
    except BaseException as error:
        if process is not None:
            _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            raise _TimedOut from None
        raise
    finally:
        if process is not None:
            _running.pop(process, None)
        for end in pipe:
            os.close(end)
    return process.returncode, output.decode(errors="replace")


_running: dict[Popen[bytes], int] = {}
"""The compilers that run or are being started, and for each the id of the process that has started
it. (The child of a fork has a copy of this dict, but must not end the compilers of its parent.)"""


@functools.cache
def _register_end() -> None:
    """Once: `_end_all` at the end of the process. Registered after the removal of private folders
    (`private_folders`), and so called before it: a compiler writes to such a folder.
    """
    atexit.register(_end_all)


def _end_all() -> None:
    """End the compilers of threads that end with this process: nobody would use what they make."""
    deadline = time.monotonic() + 1.0
    for process, parent in [*_running.items()]:
        if parent == os.getpid():
            while process in _running and not _has_begun(process) and time.monotonic() < deadline:
                time.sleep(0.001)  # its thread goes on
            if _has_begun(process):
                _end(process)


def _has_begun(process: Popen[bytes]) -> bool:
    """Whether a process that is being started runs, or has run."""
    return getattr(process, "pid", None) is not None


def _started(
    command: tuple[str, ...], text_in: BinaryIO, output: int, folder: str
) -> Popen[bytes]:
    """Start a compiler that reads ``text_in`` and writes its messages to the descriptor `output`;
    returns the process. It leads a process group, so that its children are killed with it. If
    starting it raises although it runs, it is ended.
    """
    from subprocess import STDOUT, Popen

    process = Popen.__new__(Popen)
    _running[process] = os.getpid()  # first: once it runs, this thread may be stopped at any step
    try:
        Popen.__init__(
            process, command, stdin=text_in, stdout=output, stderr=STDOUT,
            env=os.environ | {"LC_ALL": "C"} | dict.fromkeys(_TEMPORARY, folder),
            start_new_session=True,
        )
    except BaseException:
        _running.pop(process, None)
        if _has_begun(process):
            _end(process)
        raise
    return process


def _end(process: Popen[bytes]) -> None:
    """Kill a compiler and its children, if it runs, and wait for it."""
    if process.returncode is not None:
        return
    try:
        _kill_group(process.pid)
    except failures(ProcessLookupError, PermissionError):  # it leads no group yet, or has ended
        process.kill()
    process.wait()


def _kill_group(process: int) -> None:
    """Kill the process with that id, which leads a group, and its children. Raises OSError."""
    if sys.platform == "win32":
        from subprocess import DEVNULL, run

        done = run(("taskkill", "/F", "/T", "/PID", str(process)), stdout=DEVNULL, stderr=DEVNULL)
        if done.returncode:
            raise ProcessLookupError
    else:
        import signal

        os.killpg(process, signal.SIGKILL)


def _read_until(handle: int, process: Popen[bytes], deadline: float) -> bytes:
    """The first `OUTPUT_BYTES` that come through a pipe until it is closed; the rest is dropped.
    After the compiler has ended, only what is in the pipe already: a server that it has started, as
    some compiler caches do, may hold the pipe open. Raises _TimedOut at `deadline`.
    """
    import select

    poll = select.poll()
    poll.register(handle, select.POLLIN)
    kept, has_ended = b"", False
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _TimedOut
        if poll.poll(0 if has_ended else 1000 * min(left, _LOOK_INTERVAL)):
            part = os.read(handle, 1 << 16)
            if not part:
                return kept
            kept += part[: OUTPUT_BYTES - len(kept)]
        elif has_ended:
            return kept
        else:
            has_ended = process.poll() is not None


def _read_in_thread(handle: int, process: Popen[bytes], deadline: float) -> bytes:
    """As `_read_until`, on Windows, where there is no waiting for a pipe with a time limit: another
    thread waits for it. Once `process` is killed, that thread comes to the end of the pipe, too.
    """
    import threading

    kept: list[bytes] = []

    def read() -> None:
        while part := os.read(handle, 1 << 16):
            if sum(map(len, kept)) < OUTPUT_BYTES:
                kept.append(part)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if thread.is_alive():
        raise _TimedOut
    return b"".join(kept)[:OUTPUT_BYTES]


_LOOK_INTERVAL = 0.25
"""Seconds without output, after which it is looked whether the compiler has ended."""


def _first_lines(output: str) -> str:
    """A colon and the first eight lines of the output that are not blank, as they can be shown: of
    each the first `_LINE_LENGTH` characters, control characters replaced. Empty: there are none.
    """
    nonblank = [line for line in output.splitlines() if line.strip()][:8]
    return ":\n" + "\n".join(map(_shown, nonblank)) if nonblank else ""


_LINE_LENGTH = 500
"""Characters of a line of a compiler that a message has; a path may take half of them."""


def _shown(line: str) -> str:
    """The line without control characters, which a terminal would obey, cut if it is long."""
    text = line.expandtabs()
    cut = text if len(text) <= _LINE_LENGTH else text[:_LINE_LENGTH] + " …"
    return "".join(c if c.isprintable() else "\ufffd" for c in cut)
