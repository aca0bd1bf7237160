"""Demanded bits: integers that leave 64 bits, and of which only low bits are used."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from run import masked_integers

from targets.isa.target_registry import runnable_targets
from transpile import fuse

WORDS = [2**62 - 1, -(2**61), 3, -(2**62), 2**60 + 7, 12345, -1] * 5

CALLS: dict[str, tuple[Any, ...]] = {
    "random_numbers": (np.zeros(40), 2**61),
    "shifted": (np.zeros(40), -(2**55) + 1),
    "hashes": (bytes(range(256)), 2**58 + 5),
    "grown": (WORDS, -(2**61)),
}


@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize("name", CALLS)
def test_low_bits_are_those_of_python(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    function: Callable[..., Any] = getattr(masked_integers, name)
    fused = fuse(function, target=target, on_reject="raise")
    assert fused(*CALLS[name]) == function(*CALLS[name])
    assert not fused.stats.replays


@pytest.mark.parametrize("name", ["grown_and_kept", "asked"])
def test_other_bits_are_left_to_python(name: str) -> None:
    function: Callable[..., Any] = getattr(masked_integers, name)
    fused = fuse(function, on_reject="raise")
    assert fused(WORDS, 2**40) == function(WORDS, 2**40)
    assert fused.stats.replays == {"GUARD_INT_RANGE": 1}
