"""A plain run compiles the kernels of these tests with ``-Og``, in half the time.

They are about the front end and the runtime. What GCC makes of the C text with the flags that users
get is met by the tests of programs, traps and targets, by those that are marked ``users_flags``,
and by ``--more`` and ``--long``.
"""
from __future__ import annotations

import pytest
from example_counts import hurried_flags, with_flags


@pytest.fixture(autouse=True)
def _hurried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    has_time = request.config.getoption("--more") or request.node.get_closest_marker("users_flags")
    if not has_time and (flags := hurried_flags()):
        monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags(*flags))
