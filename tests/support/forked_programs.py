"""Runs Python programs in processes that are forked from one that has loaded the compiler.

Each program has a process of its own, in which no function has been compiled, with its own
environment, arguments, standard streams and end of the interpreter. The only difference from an
ordinary process: most modules of the compiler are imported already. An ordinary process takes ten
times as long to start, so only tests about importing, and one of each kind, start one
(``start_python=True``).
"""
from __future__ import annotations

import atexit
import functools
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

from paths import ROOT, SUPPORT
from scratch import scratch

from targets.abi import thread_pool
from targets.abi.c_api import opened_trampoline
from targets.abi.trampoline import trampoline
from targets.build.object_cache import find_cached, opened_file, publish

__all__ = ["Ran", "run_program", "serve", "with_bytecode"]

Ran = subprocess.CompletedProcess[str]
"""What a program has printed, and its status."""

FRONT_END = "transpile.pipeline"
"""The module that is imported where something is compiled; a program finds it not imported yet."""

_PACKAGES = ("loopir", "targets", "transpile")

_NOT_LOADED = (FRONT_END, "rich")
"""What a program has to import all the same: tests look whether it did."""


def run_program(
    *words: object, env: Mapping[str, str] | None = None, cwd: Path | None = None,
    timeout: float = 120.0, check: bool = True, merged: bool = False, start_python: bool = False,
    stderr: int | None = None,
) -> Ran:
    """Runs ``python *words`` and gives what it printed: ``words`` is a file or ``-m module``,
    after ``-W error`` or ``-W ignore``, before the arguments of the program.

    ``env``: the whole environment, else that of this process. ``check``: its status must be 0.
    ``merged``: its errors are part of the output. ``stderr``: a descriptor for its errors.
    ``start_python``: a new interpreter runs it.
    """
    given = [str(word) for word in words]
    environment = dict(os.environ if env is None else env)
    run = _run_started if start_python else _run_forked
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if merged:
            stderr = out.fileno()
        streams = out.fileno(), err.fileno() if stderr is None else stderr
        status = run(given, environment, str(cwd or os.getcwd()), streams, timeout)
        ran = Ran([sys.executable, *given], status, _text_of(out), _text_of(err))
    assert not check or status == 0, f"{ran.args}: status {status}\n{ran.stderr}"
    return ran


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _run_started(
    words: list[str], env: dict[str, str], cwd: str, streams: tuple[int, int], timeout: float
) -> int:
    """The status of a new interpreter."""
    out, err = streams
    return subprocess.run(
        [sys.executable, *words], env=with_bytecode(env), cwd=cwd, timeout=timeout, check=False,
        stdin=subprocess.DEVNULL, stdout=out, stderr=err,
    ).returncode


def with_bytecode(env: Mapping[str, str]) -> dict[str, str]:
    """The environment, for interpreters that do not compile the compiler to bytecode anew: where
    they must not write it beside the source, they have a folder for it.
    """
    if not env.get("PYTHONDONTWRITEBYTECODE"):
        return dict(env)
    kept = {k: v for k, v in env.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(_bytecode())}


@functools.cache
def _bytecode() -> Path:
    return scratch("bytecode")


def _run_forked(
    words: list[str], env: dict[str, str], cwd: str, streams: tuple[int, int], timeout: float
) -> int:
    """The status of a program that the server forks."""
    server = _server(os.getpid())
    request = json.dumps({"words": words, "env": env, "cwd": cwd}).encode()
    socket.send_fds(server, [len(request).to_bytes(8, "little")], streams)
    server.sendall(request)
    pid = _number(server)
    server.settimeout(timeout)
    try:
        return _number(server)
    except TimeoutError:
        os.killpg(pid, signal.SIGKILL)  # with what it has forked
        server.settimeout(None)
        _number(server)
        raise subprocess.TimeoutExpired(words, timeout) from None
    finally:
        server.settimeout(None)


@functools.cache
def _server(client: int) -> socket.socket:
    """The connection to the server of the process ``client``, which is started at first use."""
    ours, theirs = socket.socketpair()
    program = (
        f"import sys; sys.path[:0] = {[str(ROOT), str(SUPPORT)]!r}; import forked_programs; "
        f"forked_programs.serve({theirs.fileno()})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    theirs.close()

    def end() -> None:
        if os.getpid() == client:
            ours.shutdown(socket.SHUT_RDWR)  # also where a forked process holds it
            process.wait()

    atexit.register(end)
    return ours


def _number(connection: socket.socket) -> int:
    data = b""
    while len(data) < 8:
        part = connection.recv(8 - len(data))
        assert part, "the server of programs has ended"
        data += part
    return int.from_bytes(data, "little", signed=True)


# -- the server


def serve(descriptor: int) -> NoReturn:
    """Forks a program for each request, one after the other."""
    connection = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [path for path in sys.path[2:] if path not in given]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _load()
    while True:
        head, streams, *_ = socket.recv_fds(connection, 8, 2)
        if not head:
            os._exit(0)
        text = b""
        while len(text) < int.from_bytes(head, "little"):
            text += connection.recv(1 << 20)
        pid = os.fork()
        if pid == 0:
            connection.close()
            request = json.loads(text)
            _prepare(request["env"], request["cwd"], streams, paths)
            _run(request["words"])
        for stream in streams:
            os.close(stream)
        connection.sendall(pid.to_bytes(8, "little"))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(status.to_bytes(8, "little", signed=True))


def _load() -> None:
    """Imports all that a program may need, and opens the machine code that is the same for all
    functions; there are no threads afterwards.
    """
    for package in map(importlib.import_module, _PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and "build_hooks." not in module.name:
                importlib.import_module(module.name)
    for name in ("cffi", "numpy", "rich.console"):
        importlib.import_module(name)
    trampoline(None)
    thread_pool._build()  # here, and not in a thread: it is there in all processes
    assert threading.active_count() == 1


def _prepare(
    env: dict[str, str], cwd: str, streams: Sequence[int], paths: list[str]
) -> None:
    """Gives the forked process a group, its environment, folder, streams and path of imports."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    tempfile.tempdir = None
    for stream, number in zip(streams, (1, 2), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    encoding, _, errors = env.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdout = sys.__stdout__ = _writer(1, encoding, errors or "strict")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _writer(2, encoding, "backslashreplace")  # type: ignore[misc]
    sys.path[:] = [*filter(None, env.get("PYTHONPATH", "").split(os.pathsep)), *paths]
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    _cache_trampoline()
    for name in _NOT_LOADED:
        package, _, own = name.rpartition(".")
        del sys.modules[name]
        if package:
            delattr(sys.modules[package], own)


def _cache_trampoline() -> None:
    """Puts the trampoline that is open into the cache of this environment, if it has another:
    a recipe there is used only with it.
    """
    opened = opened_trampoline()
    if opened is None:
        return
    name = Path(opened.path).stem
    if find_cached(name) is None:
        with opened_file(opened.path) as (_, body):
            publish(body, name)


def _writer(descriptor: int, encoding: str, errors: str) -> io.TextIOWrapper:
    """A standard stream as Python makes it."""
    binary = open(descriptor, "wb", closefd=False)  # noqa: SIM115 (open as long as the process)
    is_error = descriptor == 2
    return io.TextIOWrapper(
        binary, encoding, errors, line_buffering=is_error or os.isatty(descriptor),
        write_through=is_error,
    )


def _run(words: list[str]) -> NoReturn:
    """Runs the program as ``python *words`` does, to the end of the process."""
    if words[0] == "-W":
        sys.warnoptions = [words[1]]
        warnings.simplefilter(words[1])  # type: ignore[arg-type]  # the name of an action
        words = words[2:]
    status = 0
    try:
        if words[0] == "-m":
            sys.path.insert(0, os.getcwd())
            sys.argv = words[1:]
            runpy._run_module_as_main(words[1])  # type: ignore[attr-defined]
        else:
            sys.path.insert(0, str(Path(words[0]).resolve().parent))
            sys.argv = words
            _run_file(words[0])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if not isinstance(end.code, (int, types.NoneType)):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        status = 1
        sys.excepthook(type(error), _from_the_program(error), error.__traceback__)
    _end(status)


def _run_file(path: str) -> None:
    """Runs a file as the module ``__main__``, in place of the server's."""
    code = compile(Path(path).read_bytes(), path, "exec")
    main = sys.modules["__main__"]
    names = {"__name__": "__main__", "__file__": path, "__builtins__": main.__builtins__}
    main.__dict__.clear()
    main.__dict__.update(names, __doc__=None, __package__=None, __spec__=None, __loader__=None)
    exec(code, main.__dict__)


def _from_the_program(error: BaseException) -> BaseException:
    """The exception with a traceback that begins in the program."""
    traceback = error.__traceback__
    while traceback and traceback.tb_frame.f_code.co_filename in (__file__, runpy.__file__):
        traceback = traceback.tb_next
    return error.with_traceback(traceback)


def _end(status: int) -> NoReturn:
    """The end of a process, without the dismantling of all modules, which takes its time."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):  # closed, or nobody reads
        sys.stdout.flush()
    os._exit(status)
