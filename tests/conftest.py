"""Which tests a run takes, its random programs, and golden files.

A plain run takes of the cases of a test that is marked ``share(k)`` one in k, always the same ones;
of other unit tests it puts one in `PUT_OFF` off, and takes of the cases of the others one in
`UNIT_SHARE`, unless files are named: ``pytest tests/unit/…/test_x.py`` takes all of these, but for
tests that are marked. With ``--more`` a run takes instead what was put off, and the next cases of
the tests of which it took a share, five times as many (nine times of those without a mark); and it
draws twice as many other random programs. `.ci/run` adds that to a plain run, as far as it goes in
the time that ``--seconds`` gives. ``--long`` takes everything, also tests that are marked ``long``.
A case named on the command line, ``test_x.py::test_y[case]``, is always run.

A plain run draws the same random programs each time, so that its answer is about the change at
hand; it shows a failure as it was drawn. ``--long`` draws new ones, and looks for the smallest that
fails; ``--seed`` repeats such a run. ``--bless`` rewrites golden files.
"""
from __future__ import annotations

import argparse
import functools
import gc
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import example_counts
import numpy as np
import pytest
from example_counts import hurried_flags, with_flags
from hypothesis import HealthCheck, Phase, settings
from tally import AGREED

TESTS = Path(__file__).parent
UNIT_TESTS = TESTS / "unit"
ABOUT_C = (UNIT_TESTS / "targets", TESTS / "project", TESTS / "tools")
"""The tests of what the C compiler makes of our C text, of what users see, and of the benchmarks:
kernels are compiled with the flags that users get.
"""
STARTED = time.monotonic()

os.environ.setdefault("TRANSPILE_SELECT", "compiled")
"""Machine code serves all calls that it can, however short: the tests are about its answers."""

os.environ.setdefault("TRANSPILE_MACHINE", "typical")
"""Texts that are compared have the cache sizes of a target, not those of the machine at hand."""

UNIT_SHARE = 20
"""Of the cases of a unit test with no ``share`` of its own, a run of all tests takes one in this.
A test whose cases must each be met, since they are ops, passes or codes, is marked ``share(1)``.
"""

PUT_OFF = 2
"""Of the unit tests with no ``share`` of their own, a run of all tests leaves one in this out, so
that it ends within five minutes: ``--more`` takes it.
"""

LEFT = pytest.StashKey[str]()
"""What a run leaves out, in words."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    if not pluginmanager.hasplugin("xdist"):  # `-p no:xdist`: what addopts says to it means nothing
        group = parser.getgroup("without xdist")
        group._addoption("-n", "--numprocesses", help=argparse.SUPPRESS)
        group._addoption("--dist", help=argparse.SUPPRESS)
    parser.addoption("--bless", action="store_true", help="rewrite the golden files")
    parser.addoption("--long", action="store_true", help="all tests, new random programs: hours")
    parser.addoption("--more", action="store_true", help="the next cases of shared tests instead")
    parser.addoption("--seconds", type=float, help="skip the tests that are left after this time")
    parser.addoption("--seed", type=int, help="of the random programs, to repeat a run")


def pytest_configure(config: pytest.Config) -> None:
    example_counts.set_factor(10 if config.getoption("--long") else 1)
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
        output["left"] = session.config.stash.get(LEFT, "")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    output = getattr(node, "workeroutput", {})
    AGREED.update(output.get("agreed", {}))
    node.config.stash[LEFT] = output.get("left", "")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if left := config.stash.get(LEFT, ""):
        terminalreporter.write_line(left)
    if AGREED:
        calls = ", ".join(f"{where} {count}" for where, count in sorted(AGREED.items()))
        terminalreporter.write_line(f"calls that agreed with Python: {calls}")


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("--long"):
        return "--long: every case of every test, and thousands of new random programs; hours"
    if config.getoption("--more"):
        return "--more: the next cases of the tests of which a plain run takes a share; 20 minutes"
    return (
        "a plain run takes 4 to 5 minutes on two cores: each op, pass, macro and code "
        "is met\n--long adds the other cases of tests of which it takes a share, and "
        "thousands of random programs: hours"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long") or "long" in config.option.markexpr:
        return
    whole_run = all(word in config.getini("testpaths") for word in config.args)
    shared = [item for item in items if share_of(item, whole_run) > 1]
    plain, more = divided([i for i in shared if not i.get_closest_marker("long")])
    whole = {*items} - {*shared}
    plain |= {item for item in whole if not item.get_closest_marker("long")}
    put_off = {item for item in plain if whole_run and is_put_off(item)}
    if config.getoption("--more"):
        taken = more | put_off | {item for item in items if draws_programs(item)}
    else:
        taken = plain - put_off
    named = tuple(word[word.find("::") :] for word in config.args if "[" in word)
    left = {i for i in items if i not in taken and not (named and i.nodeid.endswith(named))}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=[*left])
    if left and not config.getoption("--more"):
        long = sum(item.get_closest_marker("long") is not None for item in left)
        config.stash[LEFT] = (
            f"left out: {len(left) - long} tests and cases of which a plain run takes a share "
            f"(--more takes {len(more | put_off)} of them, --long all), "
            f"{long} that are marked long (--long)"
        )


def divided(shared: list[pytest.Item]) -> tuple[set[pytest.Item], set[pytest.Item]]:
    """The cases of tests marked ``share(k)`` that a plain run takes, and those of ``--more``.

    Of each test one in k, and one at least; then five times as many others (nine times for tests
    that are not marked), or all others with ``rest=True``. A plain run takes the cases that are
    marked ``plain`` in any case, and with ``each="name"`` one for each value of the parameter of
    that name.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in shared:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    plain: set[pytest.Item] = set()
    more: set[pytest.Item] = set()
    for cases in tests.values():
        share = cases[0].get_closest_marker("share")
        cases.sort(key=lambda item: crc32(item.name.encode()))
        count = -(-len(cases) // share_of(cases[0], True))
        if each := share and share.kwargs.get("each"):
            cases.sort(key=functools.partial(seen_before, each, set()))
            count = max(count, len({value_of(item, each) for item in cases}))
        if marked := sum(item.get_closest_marker("plain") is not None for item in cases):
            cases.sort(key=lambda item: item.get_closest_marker("plain") is None)
            count = max(count, marked)
        plain.update(cases[:count])
        takes_rest = share and share.kwargs.get("rest")
        more.update(cases[count : None if takes_rest else (6 if share else 10) * count])
    return plain, more


def share_of(item: pytest.Item, whole_run: bool) -> int:
    """Of how many cases of the item's test one is taken, where all tests run or only some files."""
    if share := item.get_closest_marker("share"):
        return int(share.args[0])
    is_unit = whole_run and UNIT_TESTS in item.path.parents and "[" in item.name
    return UNIT_SHARE if is_unit else 1


def is_put_off(item: pytest.Item) -> bool:
    """Whether a run of all tests leaves the item to ``--more``: all cases of some unit tests.

    None that compares a golden file, which any change of the code may make stale.
    """
    compares_file = "golden" in getattr(item, "fixturenames", ())
    is_unit = UNIT_TESTS in item.path.parents and not item.get_closest_marker("share")
    in_half = crc32(item.nodeid.partition("[")[0].encode()) % PUT_OFF == 0
    return is_unit and in_half and not compares_file


def draws_programs(item: pytest.Item) -> bool:
    """Whether the test draws random programs, from a seed that is another one for ``--more``."""
    return "start" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("long")


def value_of(item: pytest.Item, parameter: str) -> str:
    """The value of a parameter of a test's case, as text."""
    callspec: Any = getattr(item, "callspec")  # noqa: B009 (tests without parameters have none)
    return repr(callspec.params[parameter])


def seen_before(parameter: str, seen: set[str], item: pytest.Item) -> bool:
    """Whether an earlier case had the value that this one has for the parameter."""
    value = value_of(item, parameter)
    before = value in seen
    seen.add(value)
    return before


STATE = pytest.StashKey[dict[str, Any]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    seconds = item.config.getoption("--seconds")
    if seconds is not None and time.monotonic() - STARTED > seconds:
        pytest.skip(f"out of time: --seconds {seconds:.0f}")
    item.stash[STATE] = _state_of_the_process()


def _state_of_the_process() -> dict[str, Any]:
    """What tests, and the libraries that they call, change, and may forget to restore."""
    return {
        "recursion limit": sys.getrecursionlimit(),
        "working directory": os.getcwd(),
        "floating-point errors": np.geterr(),
        "handlers of signals": {
            name: signal.getsignal(getattr(signal, name))
            for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGUSR1") if hasattr(signal, name)
        },
        "size of stacks": threading.stack_size(),
    }


gc.disable()  # while tests are collected, of which all stay


def pytest_collection_finish() -> None:
    """What has been collected stays: the garbage collector need not go through it each time. Nor
    need it look at the trees of each function again and again while one is compiled.
    """
    keep()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """A test fails that leaves state behind on which the results of later ones may depend. What a
    module leaves is what it has cached: a test of leaks need not go through it.
    """
    if (before := item.stash.get(STATE, None)) is not None:
        after = _state_of_the_process()
        sys.setrecursionlimit(before["recursion limit"])  # one test fails, not all after it
        assert after == before
    if nextitem is not None and nextitem.path != item.path and time.monotonic() > _kept_at + 5:
        keep()


def keep() -> None:
    """What is alive now is not looked at by the garbage collector again."""
    global _kept_at
    gc.collect()
    gc.freeze()
    _kept_at = time.monotonic()


_kept_at = 0.0
"""When `keep` ran last."""


@pytest.fixture(autouse=True)
def _hurried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain run compiles most kernels with ``-Og``, in two thirds of the time.

    Most tests are about the stages before the C compiler. What it makes of the C text with the
    flags that users get is met by the tests in `ABOUT_C`, by those that are marked ``users_flags``,
    by one in four with ``--more``, and by ``--long``.
    """
    is_one_in_four = crc32(request.node.nodeid.encode()) % 4 == 0
    has_time = (request.config.getoption("--more") and is_one_in_four) or (
        request.node.get_closest_marker("users_flags"))
    is_about_c = any(folder in request.path.parents for folder in ABOUT_C)
    if not has_time and not is_about_c and (flags := hurried_flags()):
        monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags(*flags))


class _OwnFailures(logging.Handler):
    """Keeps what transpile logs of failures of its own."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("transpile failed"):
            self.found.append(logging.Formatter().format(record))


@pytest.fixture(autouse=True)
def _no_own_failure(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test fails where transpile itself has: Python answers then, which may be all that the test
    looks at. Not so one that is marked ``own_failures``, which makes transpile fail.
    """
    if request.node.get_closest_marker("own_failures"):
        yield
        return
    handler, logger = _OwnFailures(), logging.getLogger("transpile")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    assert not handler.found, handler.found[0]


@pytest.fixture
def start(request: pytest.FixtureRequest) -> int:
    """The seed of random programs: --seed; under --long a new one each time; else always 0, with
    --more 1.
    """
    given = request.config.getoption("--seed")
    if given is not None:
        return int(given)
    if request.config.getoption("--long"):
        return random.randrange(1 << 32)
    return int(request.config.getoption("--more"))


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
