"""The judge of the corpus excuses a difference only if rounding may make as large a one."""
from __future__ import annotations

import numpy as np
import pytest

from tests.tools.corpus.judge import _outcome, _reordered

H = 0.02


def wave(x):
    return np.sin(x)


def fourth(x):
    """A derivative by differences: divides rounding by 1.6e-7."""
    a, b, c = np.sin(x - 2 * H) + np.sin(x + 2 * H), np.sin(x - H) + np.sin(x + H), np.sin(x)
    return (a - 4 * b + 6 * c) / H**4


X = np.array([0.0, 0.5, 1.0])


@pytest.mark.parametrize("wrong", [1e-4, -1e-3, np.nan, np.inf, [0.0, 0.0, 1e-4]])
def test_what_is_wrong_is_not_excused(wrong: object) -> None:
    wanted = _outcome(wave, (X,))
    got = wanted._replace(value=wanted.value + np.array(wrong))
    assert not _reordered(wave, (X,), got, wanted)


def test_another_error_is_not_excused() -> None:
    wanted = _outcome(wave, (X,))
    assert not _reordered(wave, (X,), wanted._replace(error="ValueError"), wanted)


def test_amplified_rounding_is_excused_and_no_more() -> None:
    wanted = _outcome(fourth, (X,))
    assert abs(wanted.value[2] - np.sin(1.0)) < 1e-3
    for off, excused in ((1e-7, True), (1e-3, False)):
        got = wanted._replace(value=wanted.value + off)
        assert _reordered(fourth, (X,), got, wanted) is excused
