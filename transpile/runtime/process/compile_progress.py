"""Progress of a compilation: after two seconds a line on the terminal says what is compiled.

The line disappears when the compilation ends. There is none where nobody would see it, or where it
would be in the way: without a terminal, in continuous integration (``CI`` is set), and in processes
and threads other than the main ones.
"""
from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType

from loopir.process.signal_exceptions import failures, suppress_failures

__all__ = ["showing_progress"]

_log = logging.getLogger(__name__)

DELAY = 2.0
"""Seconds after which the line is shown."""

_one_line = threading.Lock()


@contextmanager
def showing_progress(function: FunctionType, *, enabled: bool) -> Iterator[None]:
    """A context for the compilation of `function`: if it lasts longer than `DELAY`, the line is
    shown until its end. ``enabled``: the option ``progress``.
    """
    if not (enabled and _is_watched()) or not _one_line.acquire(blocking=False):
        yield
        return
    try:
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(done, function), daemon=True)
        try:
            with suppress_failures(RuntimeError):  # no more threads: then there is no line
                watcher.start()
            yield
        finally:
            done.set()
            with suppress_failures(RuntimeError):  # it did not start
                watcher.join()
    finally:
        _one_line.release()


def _is_watched() -> bool:
    """Whether a person may see what is printed to stderr now: it is a terminal, and this is the
    main thread of a main process, not in continuous integration.
    """
    if os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return False
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or ("multiprocessing" in sys.modules and _is_worker()):
        return False
    try:
        return sys.stderr.isatty()
    except failures(AttributeError, ValueError):  # there is none, or it is closed
        return False


def _is_worker() -> bool:
    """Whether this process was started by `multiprocessing`."""
    from multiprocessing import parent_process

    return parent_process() is not None


def _watch(done: threading.Event, function: FunctionType) -> None:
    """Show the line from `DELAY` on, until `done`."""
    if done.wait(DELAY):
        return
    try:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        code = function.__code__
        place = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
        spinner = Spinner("dots", Text(f"compiling {function.__qualname__} ({place})"))
        console = Console(stderr=True)
        with Live(
            spinner, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        ):
            done.wait()
    except failures(Exception) as error:  # a line less is no reason to fail
        _log.info("the progress of %s cannot be shown: %r", function.__qualname__, error)
