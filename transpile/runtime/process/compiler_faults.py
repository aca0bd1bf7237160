"""Faults of the compiler itself: no memory, no files, no stack, a system call that fails.

Such a fault says nothing about the function, and may be gone at the next call. So the original
runs, nothing is remembered, and the next call compiles again, up to `_MAX_ATTEMPTS` times in a row.
An exception of the dispatcher that is no fault is a bug: the original runs, too, and a warning
tells of it. (A bug of a compilation is a rejection, if it happens twice: `retry_bugs`,
`compile_call.rejection_of`.)
"""
from __future__ import annotations

import logging
import sys
from _thread import get_ident
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from loopir.process.signal_exceptions import is_from_signal_handler, signal_exception
from targets.abi.object_layout import is_main_interpreter
from targets.build.build_errors import BuildError

from ...errors import (
    FuseError,
    FuseWarning,
    calling_frames,
    fallback_is_error,
    is_checked,
    source_location,
    warn,
)
from ...knobs import SettingError
from ...options import OnReject
from .background_compilation import CompilationPending
from .fork_lock import ForkSafeLock, is_without_compiler
from .large_stack import has_small_stack, on_large_stack
from .replaced_functions import FunctionReplaced, replaced_function

__all__ = ["Faults", "is_fault", "is_from_signal_handler", "retry_bugs"]

_Choice = TypeVar("_Choice")

_warned: list[str] = []
"""The warning of a subinterpreter that was issued in it, if any."""

_log = logging.getLogger(__name__)

_MAX_ATTEMPTS = 3
"""Compilations in a row that may end in a fault, before the fault counts as a rejection."""


_FAULTS = (
    MemoryError, OSError, RecursionError, ImportError, SystemError, FunctionReplaced
)


def is_fault(error: BaseException) -> bool:
    """Whether `error` is about the state of the process or of the system."""
    if is_from_signal_handler(error):
        return False
    if isinstance(error, BuildError):
        return error.is_fault
    if isinstance(error, _FAULTS):
        return True
    if not isinstance(error, RuntimeError):
        return False
    cause = error.__cause__  # before Python 3.12, of an error while a class is made
    if cause is not None and (_is_of_caller(cause) or is_fault(cause)):
        return True
    return any(text in str(error) for text in _NO_MORE)


def _is_of_caller(error: BaseException) -> bool:
    """Whether the caller has to see `error`: an interrupt, or what a signal handler raises."""
    return not isinstance(error, Exception) or is_from_signal_handler(error)


_FOR_CALLER = (FuseError, FuseWarning, SettingError)
"""What the dispatcher raises for the user: FuseError where a refusal is to be an error, FuseWarning
where a warning filter makes it an error, SettingError for a wrong environment variable.
"""


def _must_raise(error: Exception) -> bool:
    """Whether the caller of a fused function gets `error`; else the original runs instead.
    `AssertionError` is raised by the checks of ``TRANSPILE_CHECK``. Raises what a signal handler
    has raised, if `error` was raised instead of that.
    """
    raised = signal_exception(error)
    if raised is not None and raised is not error:
        raise raised
    is_failed_check = isinstance(error, AssertionError) and is_checked()
    return is_failed_check or isinstance(error, _FOR_CALLER) or raised is error


_USUAL_LIMIT = 1000
"""The recursion limit that Python starts with, and for which the compiler is made."""


def _is_python_forbidden() -> bool:
    """As `fallback_is_error`; False where a fault prevents reading the environment variable."""
    try:
        return fallback_is_error()
    except Exception as error:
        if not is_fault(error):
            raise
        return False


_FRAMES = 16
"""How deep the calls are in which a fault is told from what a signal handler has raised."""


def _call_deeper(levels: int) -> None:
    """Call itself `levels` times: RecursionError if there is no stack for that."""
    if levels:
        _call_deeper(levels - 1)


_NO_MORE = ("can't start new thread", "interpreter shutdown")
"""What Python says where there are no more threads or processes."""


def retry_bugs(build: Callable[..., _Choice], *args: Any) -> _Choice:
    """``build(*args)``; once more if that raises what looks like a bug: no refusal, and no fault.

    Then it may be another exception that shows: one that a signal handler has raised, and that
    Python's own library has passed over. `re`, for example, takes any ValueError while it reads a
    pattern for a fault of the pattern. A bug raises its exception again.
    """
    try:
        return build(*args)
    except Exception as error:
        if not _may_be_bug(error):
            raise
        _log.info("compiled once more: %r", error)
    return build(*args)


def _may_be_bug(error: Exception) -> bool:
    """Whether nothing of the compiler raises `error` for a reason."""
    from ...diagnostics import Refused

    reasons = Refused, BuildError, CompilationPending, RecursionError
    return not (isinstance(error, reasons) or is_fault(error) or _must_raise(error))


class Faults:
    """The faults in compilations of one function; while they last, Python serves its calls."""

    def __init__(
        self, function: FunctionType, lock: ForkSafeLock, on_reject: OnReject = "warn"
    ) -> None:
        self._function = function
        self._lock = lock
        self._on_reject = on_reject
        self._in_a_row = 0
        self._has_warned = False

    def should_retry(self, error: BaseException) -> bool:
        """Whether the error says nothing about the function, so that the next call is to compile
        again. If not, the caller remembers the error as a rejection. In this order:

        - a signal handler raised it, such as KeyboardInterrupt: yes, it is the caller's;
        - it is no fault of the process, such as a MemoryError (`is_fault`): no;
        - the program replaces a function that the compiler calls (`check_functions`): yes, since
          it may put it back at any time, and a call costs some microseconds till then;
        - a RecursionError under a recursion limit of at least Python's usual one: yes, as the
          caller may have used up the stack; no in a thread with a large stack, where more stack
          cannot help (`large_stack`);
        - another fault: yes, but the third one in a row is remembered, since a compilation that
          fails at each call would make every call slow. Counts the fault.
        """
        if is_from_signal_handler(error):
            return True
        if not is_fault(error):
            return False
        if isinstance(error, FunctionReplaced):
            return True
        if isinstance(error, RecursionError) and sys.getrecursionlimit() >= _USUAL_LIMIT:
            is_on_large_stack = get_ident() in calling_frames
            return not is_on_large_stack
        self._in_a_row += 1
        return self._in_a_row < _MAX_ATTEMPTS

    def check_functions(self) -> None:
        """Raise FunctionReplaced while the program replaces a function that the compiler calls, as
        tests do.
        """
        if (replaced := replaced_function()) is not None:
            raise FunctionReplaced(f"the program has replaced `{replaced}` for now")

    def reset_count(self) -> None:
        """Begin to count faults anew, since a compilation has succeeded."""
        self._in_a_row = 0

    def guarded(
        self, choose: Callable[..., Any], otherwise: _Choice
    ) -> Callable[..., _Choice]:
        """`choose`, a function of the dispatcher that decides what serves a call, and may compile,
        protected from faults of the process, and from bugs in it: a call of the user's must not
        fail since there is too little memory or stack for the compiler. The function that is
        returned gives, in this order:

        - `otherwise` (what lets the original serve the call), if the caller has left nearly no
          stack or memory, not even for the handling of a fault (`_FRAMES`);
        - `otherwise`, if this process must not compile, since it was forked in the middle of an
          import, or in a subinterpreter;
        - what `choose` gives: called in a thread with a large stack if the caller's stack is small;
          called again in such a thread if it raises RecursionError, unless this thread is
          compiling the function;
        - `otherwise`, if `choose` raises an exception, which is logged. If that is no fault
          (`is_fault`), it is a bug, and a warning says so, once a function.

        Raises what is meant for the caller (`_must_raise`), and FuseError for any other exception
        if running as Python is forbidden.
        """

        def guarded_choice(*args: Any) -> Any:
            """``choose(*args)``, or `otherwise`: see `guarded`."""
            try:
                _call_deeper(_FRAMES)
            except RecursionError as error:
                last = error.__traceback__
                while last is not None and last.tb_next is not None:
                    last = last.tb_next
                if last is None or last.tb_frame.f_code is not _call_deeper.__code__:
                    raise  # of a signal handler
                return otherwise
            except (MemoryError, OSError) as error:
                if is_from_signal_handler(error):
                    raise
                return otherwise
            try:
                if is_without_compiler() or self._is_in_subinterpreter():
                    return otherwise
                if has_small_stack():
                    return on_large_stack(choose, *args)
                return choose(*args)
            except RecursionError as error:
                fault: BaseException = error
            except Exception as error:
                if _must_raise(error):
                    raise
                fault = error
            if isinstance(fault, RecursionError) and not self._lock.is_held_here():
                try:
                    return on_large_stack(choose, *args)
                except Exception as error:
                    if _must_raise(error):
                        raise
                    fault = error
            return self._python_instead(fault, otherwise)

        return guarded_choice

    def _is_in_subinterpreter(self) -> bool:
        """Whether kernels cannot be called, since this is no main interpreter. The first function
        of the interpreter to which this happens warns. Raises FuseError if the function must not
        run as Python.
        """
        if is_main_interpreter():
            return False
        message = (
            f"BUILD_FAILED at {source_location(self._function)}: `{self._function.__qualname__}` "
            "runs as Python: kernels are called in the main interpreter of a process alone"
        )
        if self._on_reject == "raise" or _is_python_forbidden():
            raise FuseError(message, "BUILD_FAILED")
        if self._on_reject == "warn" and not _warned:
            _warned.append(message)
            warn(message)
        return True

    def _python_instead(self, fault: BaseException, otherwise: _Choice) -> _Choice:
        """`otherwise`, after a warning if `fault` is a bug. Raises FuseError if running as Python
        is forbidden. If the cause of `fault` was raised by a signal handler, as KeyboardInterrupt,
        that is raised.
        """
        if fault.__cause__ is not None and _is_of_caller(fault.__cause__):
            raise fault.__cause__
        if _is_python_forbidden():
            name = self._function.__qualname__
            message = f"`{name}` was not compiled: {type(fault).__name__}: {fault}"
            raise FuseError(message, "BUILD_FAILED") from fault
        if is_fault(fault):
            _log.info("%s runs as Python this time: %r", self._function, fault)
        elif not self._has_warned:
            self._has_warned = True
            _log.warning("transpile failed", exc_info=fault)
            warn(
                f"`{self._function.__qualname__}` runs as Python: transpile itself failed: "
                f"{type(fault).__name__}: {fault}. This is a bug of transpile; please report it"
            )
        return otherwise
