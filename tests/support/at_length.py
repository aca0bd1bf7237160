"""Random examples for a judge: a few in each run of the tests, thousands in a long one."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

__all__ = ["at_length", "judge_examples"]

LONG = 20_000


def at_length(
    request: pytest.FixtureRequest, start: int, few: int, sizes: tuple[int, int],
    judge: Callable[[bytes, bytes], None], told: Callable[[], str],
) -> None:
    """Gives `judge` two strings of bytes of these `sizes` at a time, and prints what is `told`."""
    pairs = st.tuples(*(st.binary(min_size=size, max_size=size) for size in sizes))
    judge_examples(request, start, few, LONG, pairs, lambda pair: judge(*pair), told)


def judge_examples(
    request: pytest.FixtureRequest, start: int, few: int, many: int,
    examples: st.SearchStrategy[Any], judge: Callable[[Any], None], told: Callable[[], str],
) -> None:
    """Gives `judge` one of the `examples` at a time, and prints what is `told`, also where it
    fails. ``few``: how many; with ``--long``: `many`. `start`: the seed.
    """
    count = many if request.config.getoption("--long") else few
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
