"""``pytest --bless`` rewrites golden files; ``--long`` runs all, ``--seed`` is of random programs.

A plain run draws the same programs each time, so that its answer is about the change at hand; it
shows a failure as it was drawn. ``--long`` draws new ones, and looks for the smallest that fails.
"""
from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, settings
from tally import AGREED


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the golden files")
    parser.addoption("--long", action="store_true", help="thousands of random programs")
    parser.addoption("--seed", type=int, help="of the random programs, to repeat a run")


def pytest_configure(config: pytest.Config) -> None:
    shrink = (Phase.shrink,) if config.getoption("--long") else ()
    settings.register_profile(
        "here",
        derandomize=not config.getoption("--long"),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, *shrink),
    )
    settings.load_profile("here")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands over its tally."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["agreed"] = dict(AGREED)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    AGREED.update(getattr(node, "workeroutput", {}).get("agreed", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if AGREED:
        calls = ", ".join(f"{where} {count}" for where, count in sorted(AGREED.items()))
        terminalreporter.write_line(f"calls that agreed with Python: {calls}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long") or "long" in config.option.markexpr:
        return
    left = {item for item in items if item.get_closest_marker("long")} | spared(items)
    for item in left:
        item.add_marker(pytest.mark.skip(reason="asked for by --long"))


def spared(items: list[pytest.Item]) -> set[pytest.Item]:
    """Of the cases of each test that is marked ``share(k)`` all but one in k, and one at least."""
    shared: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("share"):
            shared.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left: set[pytest.Item] = set()
    for cases in shared.values():
        share = cases[0].get_closest_marker("share")
        assert share is not None
        cases.sort(key=lambda item: crc32(item.name.encode()))
        left.update(cases[-(-len(cases) // share.args[0]) :])
    return left


@pytest.fixture
def start(request: pytest.FixtureRequest) -> int:
    """The seed of random programs: --seed; under --long a new one each time; else always 0."""
    given = request.config.getoption("--seed")
    if given is not None:
        return int(given)
    return random.randrange(1 << 32) if request.config.getoption("--long") else 0


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
