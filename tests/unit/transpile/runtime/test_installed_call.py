"""What stands in for the inline cache, before it can be made: a stub for one signature."""
from __future__ import annotations

from typing import Any

import pytest

from transpile import fuse


def described(x: Any, k: int = 3, *more: Any) -> str:
    return str(x) + str(k) + str(more)


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_calls_are_counted_under_their_own_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transpile.runtime.installed_call.opened_trampoline", lambda: None)
    monkeypatch.setattr("transpile.runtime.installed_call.start_opening", lambda: None)
    calls: list[tuple[Any, ...]] = [(3,), (None,), (None,), (3,), (3, 4), (2.5,), (2.5,), (3, 4, 5)]
    fused = fuse(described)
    assert [fused(*c) for c in calls] == [described(*c) for c in calls]
    assert fused(x=7, k=1) == described(7, 1)
    counts = dict.fromkeys(("int", "None", "float"), 0)
    for one in fused.report().signatures:
        kind = str(one).partition("(x: ")[2].partition(",")[0]
        counts[kind] += sum((one.stats or {})["replays"].values())
    assert counts == {"int": 5, "None": 2, "float": 2}
