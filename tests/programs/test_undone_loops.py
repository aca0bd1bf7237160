"""Loops that may raise and write to an argument run in several threads, and leave what Python does.

Elements that iterations behind the exception have stored are put back; exactly these.
"""
from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from example_counts import hurried_flags, with_flags

from targets.abi import thread_pool
from transpile import fuse

THREADS = (1, 2, 3, 7, 64)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool runs what would be too little work, too."""
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", *hurried_flags()))


def two_arrays(x, k, out, counts):
    for i in range(len(x)):
        out[2 * i] = math.sqrt(x[i])
        counts[len(x) - 1 - i] = k[i] + 1
        out[2 * i] += 1.0


def in_place(x, k, out, counts):
    for i in range(len(x)):
        k[i] = int(math.sqrt(x[i])) + k[i]
        x[i] = math.log(x[i])


def gathered(x, k, out, counts):
    for i in range(len(k)):
        out[i] = x[k[i]]


def steps_of(x, k, out, counts):
    for i in range(len(k)):
        n = int(k[i])
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        counts[i] = steps


def divided(x, k, out, counts):
    for i in range(len(k)):
        counts[i] = 1000 // int(k[i])


def arguments(n: int, bad: tuple[int, ...]) -> tuple[Any, ...]:
    """Arrays; at `bad`: a float without a root, and an int that no loop here accepts."""
    x, k = np.arange(n) % 97 + 1.0, np.arange(n) % 300 + 1
    k[k >= n] = 1
    for place in bad:
        x[place], k[place] = -1.0, 0
    return x, k, np.full(2 * n, 5.0), np.full(n, 7)


@pytest.mark.share(3)
@pytest.mark.parametrize("f", [two_arrays, in_place, gathered, steps_of, divided])
def test_state_after_an_exception(f: Callable[..., Any]) -> None:
    """At the first, a middle and the last element, and at several: all arguments are as Python's.
    """
    parallel, n = fuse(f, on_reject="raise"), 5_000
    of_type = arguments(9, ())
    assert "up to" in str(parallel.report(*of_type, verbose=True))
    for bad in ((), (0,), (n // 3,), (n - 1,), (n // 3, n // 2, n - 2)):
        given = arguments(n, bad)
        if f is gathered:
            given[1][list(bad)] = n
        if f is steps_of:
            given[1][list(bad)] = 2**62 + 1
        expected = outcome(f, given)
        for threads in THREADS:
            with thread_pool.forced(threads):
                got = outcome(parallel, given)
            assert_same(got, expected, f"{threads} threads, {bad}", 2)
    assert parallel.stats.compiled


def slow_first(x, k, out, counts):
    for i in range(len(x)):
        s = 0
        for j in range(counts[i]):
            s = (s * 7 + j) % 1000003
        out[i] = math.sqrt(x[i]) + s


def slow_first_in_place(x, k, out, counts):
    for i in range(len(x)):
        s = 0
        for j in range(counts[i]):
            s = (s * 7 + j) % 1000003
        k[i] += int(math.sqrt(x[i])) + s


def slow_arguments(bad: tuple[int, ...]) -> tuple[Any, ...]:
    """The first iteration takes so long that the other threads run all others meanwhile."""
    x, k, out, counts = arguments(3_000, bad)
    counts[:] = 0
    counts[0] = 1_000_000
    return x, k, out, counts


@functools.cache
def pythons_state(f: Callable[..., Any], bad: tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    given = slow_arguments(bad)
    return outcome(f, given), given


@pytest.mark.share(4)
@pytest.mark.parametrize(("f", "memory"), [
    (slow_first, ""), (slow_first, "-D__builtin_malloc(n)=0"), (slow_first, "-DTP_MOST_SAVED=9000"),
    (slow_first_in_place, ""),
])
def test_an_exception_while_the_first_chunk_takes_longest(
    f: Callable[..., Any], memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first, a middle, and the last chunk, and in several: what other threads have stored
    behind it is put back, although they have ended; also if there is no memory for that, or too
    little. An array that the loop reads, too, is copied as a whole before.
    """
    flags = with_flags("-DTP_WORTH=0", *hurried_flags(), *([memory] if memory else []))
    monkeypatch.setenv("TRANSPILE_CFLAGS", flags)
    parallel, n = fuse(f, on_reject="raise"), 3_000
    parallel(*arguments(9, ()))
    for bad in ((), (0,), (n // 2, n - 2), (n - 1,), (0, n - 1)):
        given, (expected, state) = slow_arguments(bad), pythons_state(f, bad)
        with thread_pool.forced(3):
            before = thread_pool.pool_counts().parallel
            got = outcome(parallel, given)
            assert thread_pool.pool_counts().parallel > before
        assert_same(got, expected, f"3 threads, {bad}", 2)
        for a, b in zip(given, state, strict=True):
            np.testing.assert_array_equal(a, b)
    assert sum(parallel.stats.replays.values()) == 4


def test_elements_between_those_of_the_loop_are_not_put_back() -> None:
    """Another thread writes to the odd elements, while a loop over the even ones is undone."""
    def even(x, out):
        for i in range(len(x)):
            out[2 * i] = math.log(x[i])

    f, n = fuse(even, on_reject="raise"), 60_000
    x, out = np.full(n, 3.0), np.zeros(2 * n)
    f(x, out)
    x[n - 1], out[1::2], done = -1.0, 0.0, threading.Event()
    written: list[float] = [0.0]

    def count() -> None:
        while not done.is_set():
            out[1::2] = written[0] + 1
            written[0] += 1

    other = threading.Thread(target=count)
    other.start()
    try:
        with thread_pool.forced(3):
            for _ in range(5):
                with pytest.raises(ValueError):  # noqa: PT011 (the message depends on Python)
                    f(x, out)
    finally:
        done.set()
        other.join()
    assert (out[1::2] == written[0]).all()


def test_one_array_that_is_read_and_written() -> None:
    """Passed for two parameters: the copy that such a call makes is put back as well."""
    def logs(x, out):
        for i in range(len(x)):
            out[i] = math.log(x[i])

    f = fuse(logs, on_reject="raise")
    for bad in ((), (0,), (1_700,), (4_999,)):
        ours, pythons = arguments(5_000, bad)[0], arguments(5_000, bad)[0]
        with thread_pool.forced(3):
            got = outcome(f, (ours, ours))
        expected = outcome(logs, (pythons, pythons))
        assert_same(got, expected, f"{bad}", 2)
        np.testing.assert_allclose(ours, pythons, rtol=1e-15)
    assert f.stats.compiled


@pytest.mark.parametrize(("source", "reason"), [
    ("out[k[i]] = math.sqrt(x[i])", "may store to one element"),
    ("if x[i] > 2.0:\n            out[i] = math.sqrt(x[i] - 4.0)", "condition|branch"),
])
def test_loops_that_cannot_be_undone_are_serial(source: str, reason: str, tmp_path: Any) -> None:
    path = tmp_path / "undone_source.py"
    path.write_text(
        f"import math\ndef f(x, k, out):\n    for i in range(len(x)):\n        {source}\n"
    )
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    report = str(fuse(namespace["f"]).report(np.ones(9), np.arange(9), np.ones(9), verbose=True))
    assert "up to" not in report
    assert any(r in report for r in reason.split("|")), report
