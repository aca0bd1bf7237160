"""Random bytes for a judge: a few in each run of the tests, 20,000 in a long one."""
from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

__all__ = ["at_length"]

LONG = 20_000


def at_length(
    request: pytest.FixtureRequest, start: int, few: int, sizes: tuple[int, int],
    judge: Callable[[bytes, bytes], None], told: Callable[[], str],
) -> None:
    """Gives `judge` two strings of bytes of these `sizes` at a time, and prints what is `told`."""
    count = LONG if request.config.getoption("--long") else few
    say = request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled
    one, two = (st.binary(min_size=size, max_size=size) for size in sizes)

    @seed(start)
    @settings(max_examples=count, derandomize=False)
    @given(one, two)
    def every(program: bytes, data: bytes) -> None:
        judge(program, data)

    try:
        every()
    finally:
        with say():
            print(f"\nseed {start}: {told()}")
