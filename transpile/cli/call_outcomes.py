"""Outcomes of calls, for the bisect and reduce tools: what calls give, and how two of them differ.

A compiled kernel may crash or loop for ever, so it runs in a child process with a time limit.
"""
from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from ..runtime.differential_check import same_results

__all__ = ["Difference", "Outcome", "Replayed", "compare", "outcome_of", "run_in_child"]


class Replayed(Exception):
    """The kernel leaves the call to Python, so its answer is Python's."""


class Difference(NamedTuple):
    """How a call differs from Python's. ``kind`` is equal for failures of one sort: ``result``,
    ``argument``, ``raises X``, ``does not raise X`` or ``crashes``; ``text`` is one line.
    """

    kind: str
    text: str


class Outcome(NamedTuple):
    """What a call gave: its value or its exception, and its arguments afterwards."""

    value: Any = None
    error: Exception | None = None
    arguments: tuple[Any, ...] = ()


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in Python code that takes longer, where signals can be received."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"does not end within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome_of(call: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> Outcome:
    """The outcome of `call` on deep copies of `args`, without warnings, and with NumPy's
    floating-point errors ignored. A call that takes longer than `seconds` ends in TimeoutError.
    """
    arguments = deepcopy(args)
    value, error = None, None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with _time_limit(seconds):
                value = call(*arguments)
        except Exception as raised:
            error = raised.with_traceback(None)
    return Outcome(value, error, arguments)


def compare(actual: Outcome, expected: Outcome, *, exact: bool) -> Difference | None:
    """How `actual` differs from `expected`, which is Python's: in the exception, the result or the
    arguments afterwards, in this order. None if it does not, or if compiled code has left the call
    to Python (`Replayed`).

    Without `exact`, floats may differ as reassociation lets them (see `same_results`).
    """
    if isinstance(actual.error, Replayed):
        return None
    if actual.error is not None or expected.error is not None:
        ours, theirs = (_error_text(o) for o in (actual, expected))
        if ours == theirs:
            return None
        name = type(actual.error or expected.error).__name__
        kind = f"raises {name}" if actual.error is not None else f"does not raise {name}"
        return Difference(kind, f"{ours}, where Python {theirs}")
    if not _same(actual.value, expected.value, exact):
        ours, theirs, position = _first_different(actual.value, expected.value, exact)
        return Difference("result", f"gives {ours}{position}, where Python gives {theirs}")
    for k, (ours, theirs) in enumerate(zip(actual.arguments, expected.arguments, strict=True)):
        if not _same(ours, theirs, exact):
            ours_text, theirs_text, position = _first_different(ours, theirs, exact)
            text = (
                f"leaves {ours_text}{position} of argument {k}, where Python leaves {theirs_text}"
            )
            return Difference("argument", text)
    return None


def _first_different(a: Any, b: Any, exact: bool) -> tuple[str, str, str]:
    """Two values that differ, as text; of arrays of one kind the first elements that do, and where
    they are.
    """
    arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    if arrays and a.shape == b.shape and a.dtype == b.dtype:
        for at in np.ndindex(a.shape):
            if not _same(a[at], b[at], exact):
                return repr(a[at]), repr(b[at]), f" at [{', '.join(map(str, at))}]"
    return _shown(a), _shown(b), ""


def _shown(value: Any) -> str:
    """The text of a value: of an object without a `repr` of its class, its attributes."""
    members = getattr(value, "__dict__", None)
    if members and not _overrides(value, "__repr__"):
        attributes = ", ".join(f"{name}={_shown(member)}" for name, member in members.items())
        return f"{type(value).__name__}({attributes})"
    return repr(value)


def _error_text(outcome: Outcome) -> str:
    """How the call ended: ``returns``, or what it raises."""
    error = outcome.error
    return "returns" if error is None else f"raises {type(error).__name__}: {error}"


def _same(a: Any, b: Any, exact: bool, around: frozenset[tuple[int, int]] = frozenset()) -> bool:
    """Whether two values are equal; without `exact` as `same_results` compares floats. Objects of a
    class without ``__eq__`` are equal if they have equal parts (`_parts`). ``around``: the pairs of
    objects whose parts are compared.
    """
    if isinstance(a, (dict, set)) and type(a) is type(b):
        ours, theirs = ([*x.items()] if isinstance(x, dict) else [*x] for x in (a, b))
        return _same(ours, theirs, exact, around)
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(_same(x, y, exact, around) for x, y in pairs)
    if a is not b and type(a) is type(b) and not _overrides(a, "__eq__"):
        if (id(a), id(b)) in around:
            return True
        parts = _parts(a), _parts(b)
        return None not in parts and _same(*parts, exact, around | {(id(a), id(b))})
    if not exact or not isinstance(a, (np.ndarray, np.generic, float, complex)):
        return same_results(a, b)
    return type(a) is type(b) and _equal_numbers(a, b)


def _overrides(value: object, method: str) -> bool:
    """Whether the class of `value` has its own method of this name, which ``object`` has."""
    return getattr(type(value), method) is not getattr(object, method)


def _parts(value: object) -> tuple[Any, ...] | None:
    """What a copy of the object is made of, its attributes among it; None if it cannot be copied.
    """
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:
        return None
    return reduced if isinstance(reduced, tuple) else None


def _equal_numbers(a: Any, b: Any) -> bool:
    """Whether dtype, shape and values are equal, also the signs of zeros, and NaN equal to NaN."""
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind == "c":
        return _equal_numbers(x.real, y.real) and _equal_numbers(x.imag, y.imag)
    if x.dtype.kind != "f":
        return same_results(x, y)
    nan = np.isnan(x)
    equal_values = np.array_equal(nan, np.isnan(y)) and np.array_equal(x[~nan], y[~nan])
    return bool(equal_values and np.array_equal(np.signbit(x[~nan]), np.signbit(y[~nan])))


def run_in_child(work: Callable[[], Any], seconds: float) -> Any:
    """The result of `work`, called in a forked process. The result must be picklable.

    Raises TimeoutError where it takes longer, RuntimeError where the process dies, and what `work`
    raises.
    """
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        _child(work, receiving, sending)
    os.close(sending)
    try:
        data = _receive(receiving, monotonic() + seconds)
    finally:
        os.close(receiving)
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    if data is None:
        raise TimeoutError(f"does not end within {seconds:g} s")
    if not data:
        signalled = os.WIFSIGNALED(status)
        cause = signal.Signals(os.WTERMSIG(status)).name if signalled else f"status {status}"
        raise RuntimeError(f"the process died with {cause}")
    succeeded, result = pickle.loads(data)
    if not succeeded:
        raise result
    return result


def _child(work: Callable[[], Any], receiving: int, sending: int) -> None:
    """Runs `work` and sends what came of it; never returns."""
    faulthandler.disable()  # a crash is an answer, and the parent tells of it
    os.close(receiving)
    try:
        try:
            data = pickle.dumps((True, work()))
        except Exception as error:
            try:
                data = pickle.dumps((False, error))
                pickle.loads(data)
            except Exception:
                data = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        with os.fdopen(sending, "wb") as pipe:
            pipe.write(data)
    finally:
        os._exit(0)


def _receive(pipe: int, deadline: float) -> bytes | None:
    """All that is sent; None where the time is over first."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - monotonic()))
        if not ready:
            return None
        part = os.read(pipe, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
