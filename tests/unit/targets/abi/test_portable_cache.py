"""The portable inline cache forwards each call as the builtin in C does."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from targets.abi.inline_cache import CacheRow, argument_key, inline_cache
from targets.abi.native_entry import ParameterList
from targets.abi.portable_cache import portable_cache
from targets.abi.trampoline import trampoline
from transpile import fuse
from transpile.runtime import installed_call


def called(x: Any, n: Any = 2, *, mode: Any = None) -> None:
    """Its parameters are those of the calls."""


def target(name: str) -> Any:
    return lambda *args, **named: (name, args, named)


VALUES: list[Any] = [
    1, 40, -7, 2.0, None, "a", [], [1], [2.0, 1.0], [[1]], (1,), (1, 2.0), np.float64(1),
    np.ones(3), np.ones(30), np.ones(3, np.float32), np.ones((2, 3)), np.ones((2, 3)).T,
    np.ones(6)[::2], np.ones(2, object), np.array(["a"]), called, bytearray(5),
]


def random_rows(seed: int) -> list[CacheRow]:
    """Rows for some values, of which some have bounds for sizes, and a number of calls."""
    rng = np.random.default_rng(seed)
    rows: list[CacheRow] = []
    for k in range(int(rng.integers(1, 6))):
        x, n, mode = (VALUES[i] for i in rng.integers(len(VALUES), size=3))
        keys = (
            argument_key(x, all_items=bool(rng.random() < 0.5)), argument_key(n),
            argument_key(mode, by_identity=mode is None),
        )
        row = CacheRow(target(f"row {k}"), keys if rng.random() < 0.8 else None)
        if rng.random() < 0.5:
            row.low, row.high = sorted(map(int, rng.integers(0, 50, 2)))
        if rng.random() < 0.3:
            row.part, row.part_low, row.part_high = (0,), 0, int(rng.integers(0, 40))
        row.counters[1] = rng.choice([-1, 0, 1, 5])
        rows += [row] if rng.random() < 0.8 else [row, CacheRow(target("next"), row.keys)]
    return rows


def random_calls(seed: int) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    calls = []
    for _ in range(120):
        x, n, mode, more = (VALUES[i] for i in rng.integers(len(VALUES), size=4))
        calls.append(
            [
                ((x,), {}), ((x, n), {}), ((x, n), {"mode": mode}), ((), {"x": x, "mode": mode}),
                ((x,), {"n": n}), ((x, n, mode), {}), ((x,), {"other": more}), ((), {}),
                ((x,), {"mode": None}), ((x, n), {"mode": None}),
            ][rng.integers(10)]
        )
    return calls


def counts(rows: Sequence[CacheRow]) -> list[list[int]]:
    return [row.counters.tolist() for row in rows]


@pytest.mark.skipif(trampoline(None) is None, reason="no native calls here")
@pytest.mark.parametrize("seed", range(40))
def test_calls_go_where_the_builtin_sends_them(seed: int) -> None:
    parameters = ParameterList.of(called)  # type: ignore[arg-type]
    assert parameters is not None
    of_c, of_python = random_rows(seed), random_rows(seed)
    builtin = inline_cache("called", parameters, of_c, target("miss"))
    portable = portable_cache(parameters, of_python, target("miss"))
    assert builtin is not None
    forwarded = 0
    for args, named in random_calls(seed):
        wanted = builtin(*args, **named)
        assert repr(portable(*args, **named)) == repr(wanted)
        forwarded += wanted[0] != "miss"
    assert counts(of_python) == counts(of_c)
    assert sum(calls for calls, _ in counts(of_c)) == forwarded


def test_other_defaults_are_not_those_of_the_rows() -> None:
    def f(x: Any, n: Any = 2) -> None:
        pass

    parameters = ParameterList.of(f)  # type: ignore[arg-type]
    assert parameters is not None
    row = CacheRow(target("row"), (argument_key(1), argument_key(2)))
    portable = portable_cache(parameters, [row], target("miss"))
    assert portable(1)[0] == "row"
    f.__defaults__ = (2.0,)
    assert portable(1)[0] == "miss"


def short_sum(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


def test_it_serves_where_c_reads_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dispatcher decides a few calls; Python serves the others of two items."""
    monkeypatch.setattr(installed_call, "has_no_trampoline", lambda: True)
    monkeypatch.setattr(installed_call, "opened_trampoline", lambda: None)
    fused = fuse(short_sum, cache=False, on_reject="raise")
    decided = 0
    choose = fused._select_callee  # type: ignore[attr-defined]

    def counted(values: Any) -> Any:
        nonlocal decided
        decided += 1
        return choose(values)

    monkeypatch.setattr(fused, "_select_callee", counted)
    x = np.ones(2)
    for _ in range(3000):
        assert fused(x) == 2.0
    assert decided < 300
    assert fused(np.full(5000, 2.0)) == 20000.0
