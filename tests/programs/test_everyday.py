"""Everyday functions answer as Python does, whatever serves their calls."""
from __future__ import annotations

import os
import random
from collections.abc import Iterator

import numpy as np
import pytest
from agree import assert_same, outcome

from tests.bench.everyday import CALLS
from tests.bench.everyday_sizes import CALLS as CALLS_OF_SIZES
from tests.bench.never_slower import Case, everyday

NUMBER_OF_CALLS = 300  # compiled, timed both ways, forwarded, looked at again


@pytest.fixture(scope="module")
def by_number() -> Iterator[list[Case]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "TRANSPILE_SELECT", "time")
        yield [*everyday()]


@pytest.fixture(scope="module")
def of_sizes() -> Iterator[list[Case]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "TRANSPILE_SELECT", "time")
        yield [*everyday("everyday_sizes")]


@pytest.mark.share(12)
@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda k: f"{CALLS[k][0]}-{k}")
def test_it_answers_as_python(number: int, by_number: list[Case]) -> None:
    _assert_answers_as_python(by_number[number])


@pytest.mark.share(240)
@pytest.mark.parametrize(
    "number", range(len(CALLS_OF_SIZES)), ids=lambda k: f"{CALLS_OF_SIZES[k][0]}-{k}"
)
def test_it_answers_as_python_at_each_size(number: int, of_sizes: list[Case]) -> None:
    _assert_answers_as_python(of_sizes[number])


def _assert_answers_as_python(case: Case) -> None:
    """Some of `NUMBER_OF_CALLS` calls are compared."""
    ulps = 32  # of the longest sums
    is_small = len(str(case.given())) < 2000
    for k in range(NUMBER_OF_CALLS):
        if k < 8 or k % 97 == 0:  # the other calls change what serves them
            np.random.seed(k)
            random.seed(k)
            expected = outcome(case.plain, case.given())
            np.random.seed(k)
            random.seed(k)
            assert_same(outcome(case.fused, case.given()), expected, f"call {k}", ulps)
        elif is_small:
            outcome(case.fused, case.given())
