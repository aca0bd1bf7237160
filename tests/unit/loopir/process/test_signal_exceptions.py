"""Exceptions of signal handlers are told from others."""
from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from loopir.process.signal_exceptions import (
    failures,
    is_from_signal_handler,
    signal_exception,
    suppress_failures,
)


@pytest.mark.parametrize("form", ["function", "method", "partial", "object"])
def test_each_form_of_signal_handler(form: str) -> None:
    class Clock:
        def __call__(self, *args: Any) -> None:
            raise TimeoutError

        def ring(self, *args: Any) -> None:
            raise TimeoutError

    def ring(time: int, *args: Any) -> None:
        raise TimeoutError

    clock = Clock()
    handler: Any = {
        "function": ring, "method": clock.ring, "partial": partial(ring, 3), "object": clock,
    }[form]
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(TimeoutError) as caught:
            os.kill(os.getpid(), signal.SIGUSR1)
        assert is_from_signal_handler(caught.value)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not is_from_signal_handler(caught.value)


@pytest.fixture
def alarm() -> Iterator[None]:
    """A handler of SIGUSR1 that raises KeyError."""

    def handler(*args: Any) -> None:
        raise KeyError("time is up")

    before = signal.signal(signal.SIGUSR1, handler)
    yield
    signal.signal(signal.SIGUSR1, before)


def ring() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)


def replaced(function: Any) -> None:
    """Raises TypeError for a KeyError of a function."""
    try:
        function()
    except KeyError:
        raise TypeError from None


def replaced_again(function: Any) -> None:
    """Raises RuntimeError for that TypeError."""
    try:
        replaced(function)
    except TypeError as error:
        raise RuntimeError from error


def test_one_that_another_has_replaced(alarm: None) -> None:
    with pytest.raises(TypeError) as caught:
        replaced(ring)
    raised = signal_exception(caught.value)
    assert isinstance(raised, KeyError)
    with pytest.raises(RuntimeError) as caught_twice:
        replaced_again(ring)
    assert isinstance(signal_exception(caught_twice.value), KeyError)
    with pytest.raises(TypeError) as of_own:
        replaced(lambda: {}["x"])
    assert signal_exception(of_own.value) is None


def test_one_that_is_handled_already(alarm: None) -> None:
    """Other exceptions have it as context, and are none of a handler."""

    def fails() -> BaseException:
        try:
            raise ValueError
        except ValueError as error:
            return error

    try:
        ring()
    except KeyError:
        error = fails()
    assert isinstance(error.__context__, KeyError)
    assert signal_exception(error) is None


def test_clauses_that_do_not_catch_it(alarm: None) -> None:
    def passes_over() -> None:
        try:
            ring()
        except failures(LookupError):
            return

    with pytest.raises(KeyError, match="time is up"):
        passes_over()
    with pytest.raises(KeyError, match="time is up"), suppress_failures(LookupError):
        ring()
    with suppress_failures(LookupError):
        raise KeyError
