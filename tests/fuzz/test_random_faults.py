"""Random faults in the first two calls of a function: right answers, and no trace of the faults.

Each trial draws an exception and a step of each call at which it is raised (`fault_injection`).
``--long`` runs 1,000 trials.
"""
from __future__ import annotations

import functools
import random
from collections.abc import Iterator

import pytest
from fault_injection import FUNCTIONS, KINDS, Trials

PARTS = 20
"""Each ends within the time that a test may take, also on a busy machine."""


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    """With a C compiler that keeps its results, which takes most of the time of a trial."""
    made = Trials(tmp_path_factory.mktemp("compiler"))
    yield made
    made.close()


@functools.cache
def step_count(trials: Trials, scenario: str, name: str) -> int:
    """How many steps the first call has; to count them takes longer than a trial."""
    return trials.count(scenario, name)


@pytest.mark.parametrize(
    "scenario", ["warm", pytest.param("cold", marks=pytest.mark.long)]
)
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, PARTS))]
)
def test_two_faults(
    scenario: str, part: int, trials: Trials, start: int, request: pytest.FixtureRequest
) -> None:
    rng = random.Random(start + part)
    is_long = request.config.getoption("--long")
    names = [*FUNCTIONS] if is_long else ["scale"]
    for number in range(500 // PARTS if is_long else 3):
        name, kind = rng.choice(names), rng.choice([*KINDS])
        steps = step_count(trials, scenario, name)
        drawn = rng.randint(1, steps), rng.randint(1, steps)
        assert trials.ask(scenario, name, kind, *drawn) == [], (number, scenario, name, kind, drawn)
