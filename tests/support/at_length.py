"""Runs a check (the judge) on random examples: a few in a plain run of the tests, twice as many
others with ``--more``, thousands with ``--long``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

__all__ = ["at_length", "example_count", "judge_examples"]

LONG = 20_000


def at_length(
    request: pytest.FixtureRequest, start: int, few: int, sizes: tuple[int, int],
    judge: Callable[[bytes, bytes], None], told: Callable[[], str],
) -> None:
    """Gives `judge` two strings of bytes of these `sizes` at a time, and prints what is `told`."""
    pairs = st.tuples(*(st.binary(min_size=size, max_size=size) for size in sizes))
    judge_examples(request, start, few, LONG, pairs, lambda pair: judge(*pair), told)


def example_count(config: pytest.Config, few: int, many: int) -> int:
    """How many examples a run draws: `few`, twice as many with ``--more``, or `many`."""
    if config.getoption("--long"):
        return many
    return 2 * few if config.getoption("--more") else few


def judge_examples(
    request: pytest.FixtureRequest, start: int, few: int, many: int,
    examples: st.SearchStrategy[Any], judge: Callable[[Any], None], told: Callable[[], str],
) -> None:
    """Gives `judge` one of the `examples` at a time, and prints what is `told`, also where it
    fails. `few`, `many`: as in `example_count`. `start`: the seed.
    """
    count = example_count(request.config, few, many)
    say = request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled

    @seed(start)
    @settings(max_examples=count, derandomize=False)
    @given(examples)
    def every(example: Any) -> None:
        judge(example)

    try:
        every()
    finally:
        with say():
            print(f"\nseed {start}: {told()}")
