"""Each mutant of `tests/tools/mutants.py` takes the place of a function that the compiler has.

The tool takes minutes and no other test runs it. Without these tests, a function that is renamed
or has other parameters would leave a mutant that fails everywhere, or that changes nothing.
"""
from __future__ import annotations

import inspect

import pytest
from paths import ROOT

from tests.tools.mutants import MUTANTS, TESTS


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_takes_the_place_of_a_function(name: str) -> None:
    """It is another one, which takes the same arguments; or a table without one function."""
    owner, target, wrong = MUTANTS[name]
    right = getattr(owner, target)
    if callable(right):
        assert wrong is not right
        inspect.signature(wrong).bind(*inspect.signature(right).parameters)
    else:
        assert len(wrong) == len(right) - 1


def test_the_tests_that_are_to_see_mutants_exist() -> None:
    assert [t for t in TESTS if not (ROOT / "tests" / t).is_file()] == []
