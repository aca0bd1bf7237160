"""``pytest --bless`` rewrites golden files; ``--long`` and ``--seed`` are of random programs."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the golden files")
    parser.addoption("--long", action="store_true", help="thousands of random programs")
    parser.addoption("--seed", type=int, help="of the random programs, to repeat a run")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """``golden(path, text)`` asserts that the file holds the text, or writes it under --bless."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--bless"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"{path} is missing; pytest --bless writes it"
        assert text == path.read_text(encoding="utf-8")

    return check
