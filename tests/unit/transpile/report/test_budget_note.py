"""The report says, in one note, what was left out of a large function, and what can be done."""
from __future__ import annotations

import numpy as np
import pytest

from loopir.fusion import fuse_loops
from targets.build import compile_effort
from targets.build.compile_effort import Effort
from transpile import fuse


@fuse(cache=False)
def large(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2.0
    for i in range(len(x)):
        y[i] = y[i] + 1.0


def notes() -> list[str]:
    report = large.report(np.ones(8), np.ones(8))
    found = [r for r in report.rejections if r.code == "BUDGET_EXCEEDED"]
    assert report.accepted
    assert all(r.help for r in found)
    return [f"{r.message} / {r.note}" for r in found]


def test_nothing_was_left_out() -> None:
    assert notes() == []


def test_all_that_was_left_out_is_one_note(monkeypatch: pytest.MonkeyPatch) -> None:
    least = (Effort(up_to=float("inf"), flags=("-Og",), slower=1.2),)
    monkeypatch.setattr(compile_effort, "EFFORTS", least)
    monkeypatch.setattr(fuse_loops, "FUSION_BUDGET", 0)
    (note,) = notes()
    assert note == (
        "the function becomes large code: fusion of 1 pair of loops is not tried, and the C "
        "compiler optimises less / -Og: calls may take 1.2 times as long"
    )


@pytest.mark.users_flags
def test_flags_of_the_user_are_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    least = (Effort(up_to=0, flags=()), Effort(up_to=float("inf"), flags=("-Og",), slower=1.2))
    monkeypatch.setattr(compile_effort, "EFFORTS", least)
    assert len(notes()) == 1
    monkeypatch.setenv("TRANSPILE_CFLAGS", "-O2")
    assert notes() == []


@pytest.mark.parametrize("effort", compile_effort.EFFORTS, ids=lambda e: " ".join(e.flags) or "all")
def test_each_effort_has_a_report(effort: Effort, monkeypatch: pytest.MonkeyPatch) -> None:
    only = (Effort(up_to=float("inf"), flags=effort.flags, slower=effort.slower),)
    monkeypatch.setattr(compile_effort, "EFFORTS", only)
    assert len(notes()) == (effort.slower > 1.1)  # what is not felt is told on demand
