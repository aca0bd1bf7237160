"""Traps: a call of what ``fuse`` gives cannot be told from one of the function itself.

A plain run tries all traps, one in six with two kinds of arguments, and one in four with the
compiler flags that users get; it asks one in twelve for its report. ``--more`` tries the others
with these flags; ``--long`` does everything with all.
"""
from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType
from typing import Any
from zlib import crc32

import pytest
from traps import TOPICS
from traps.trap import MOODS, TRAPS, Trap, nearly, seen

from transpile import fuse


def _cases() -> Iterator[Any]:
    """Each trap, of which a plain run takes every second one, and those of which it compiles the
    kernels in a hurry once more.
    """
    for trap in TRAPS:
        label = f"{trap.line}: {trap.function.__name__}"
        chance = crc32(trap.line.encode())
        in_plain_run = [pytest.mark.plain] if chance // 4 % 2 == 0 else []
        if chance % 4 == 0:
            yield pytest.param(trap, id=label, marks=[*in_plain_run, pytest.mark.users_flags])
        else:
            yield pytest.param(trap, id=label, marks=in_plain_run)
            yield pytest.param(trap, id=f"{label}, users' flags", marks=pytest.mark.users_flags)


@pytest.mark.share(1000)
@pytest.mark.parametrize("trap", [*_cases()])
def test_trap(trap: Trap, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    function, names = trap.function, trap.function.__globals__
    everything = request.config.getoption("--long")
    fused = fuse(function, on_reject="silent")
    nearly(trap.near)
    chance = crc32(trap.line.encode())
    for case in trap.cases if everything else trap.cases[: 2 if chance % 6 == 0 else 1]:
        for mood in MOODS:
            wanted = seen(function, case, mood, names)
            for again in ("first", "second", "third")[: 3 if everything else 2]:
                got = seen(fused, case, mood, names)
                assert got == wanted, f"{again} call, {mood}: {fused.stats}"
    if trap.compiled:
        answered = fused.stats.compiled
        monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
        assert seen(fused, trap.cases[0], "ignore", names).error is None
        assert fused.stats.compiled == answered + 1
    if everything or chance % 12 == 0:  # it compiles anew
        report = fused.report(*trap.cases[0]())
        assert report.accepted or report.rejections


@pytest.mark.share(60)
@pytest.mark.parametrize("trap", [pytest.param(t, id=t.function.__name__) for t in TRAPS])
def test_a_trap_that_is_defined_again(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of one code object share what is known of it (`redefined_functions`)."""
    monkeypatch.setenv("TRANSPILE_SELECT", "time")
    nearly(trap.near)
    plain, names = trap.function, trap.function.__globals__
    for case in trap.cases[:2]:
        wanted = seen(plain, case, "ignore", names)
        for number in range(4):
            again = FunctionType(plain.__code__, names, plain.__name__, None, plain.__closure__)
            again.__defaults__, again.__kwdefaults__ = plain.__defaults__, plain.__kwdefaults__
            fused = fuse(functools.update_wrapper(again, plain), on_reject="silent")
            for _ in range(2):
                got = seen(fused, case, "ignore", names)
                assert got == wanted, f"function {number}: {fused.stats}"


def test_each_topic_has_some() -> None:
    assert all(any(t.function.__module__ == m.__name__ for t in TRAPS) for m in TOPICS)
    assert len(TRAPS) >= 100
