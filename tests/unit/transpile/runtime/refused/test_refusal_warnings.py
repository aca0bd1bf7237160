"""Refusal warnings: one of each cause, and the same cause as in the report."""
from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from transpile import FuseError, FuseWarning, fuse

X = np.arange(4.0)


@dataclass
class Particle:
    x: float
    v: float


def written(x):
    with open("/dev/null", "w") as f:
        for v in x:
            f.write(f"{v}\n")


def durations(x):
    t = datetime.timedelta(0)
    for v in x:
        t += datetime.timedelta(seconds=v)
    return t


def by_choice(x):
    steps = [lambda v: v + 1, lambda v: v * 2]
    t = 0.0
    for v in x:
        for step in steps:
            t += step(v)
    return t


def moved(x):
    for p in x:
        p.x += p.v
    return sum(p.x for p in x)


@pytest.mark.parametrize(("function", "x", "message"), [
    (written, X, "a `with` statement is not compiled here"),
    (durations, X, "`datetime.timedelta` makes an object, which is not compiled here"),
    (by_choice, X, "the items of `steps` are functions, which are not compiled"),
    (moved, [Particle(0.0, 1.0)], "`x` is of type list[Particle]"),
])
def test_the_only_warning_has_the_cause_that_the_report_lists(
    function: Callable[..., Any], x: Any, message: str
) -> None:
    fused = fuse(function)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        fused(x)
        fused(x)
    told = [str(w.message) for w in given if w.category is FuseWarning]
    report = fused.report()
    assert len(told) == 1
    assert told[0].endswith(f": {message}")
    assert [r.message for r in report.rejections] == [message]
    assert report.stats is not None
    assert {*report.stats["replays"]} == {report.rejections[0].code}


def test_a_second_cause_is_told_too() -> None:
    def both(pairs):
        t = 0
        for name, n in pairs:
            t += n * len(name)
        for k in {1: 2.0, 2: 3.0}.copy():
            t += k
        return t

    with pytest.warns(FuseWarning) as given:
        fuse(both)([("a", 1)])
    assert len({str(w.message) for w in given}) == len(given)


def moves_of(n, moves):
    if n:
        moves_of(n - 1, moves)
        moves.append((n, n))


def test_an_empty_list_is_called_that() -> None:
    """Its type counts as that of floats, which it may never get."""
    said = r"moves_of\(int, empty list\) runs as Python: .* inlined$"
    with pytest.warns(FuseWarning, match=said):
        fuse(moves_of)(3, [])


def test_a_float_in_an_empty_list_is_explained() -> None:
    def products(pairs):
        return [u * v for u, v in pairs]

    said = "an item of `pairs` is of type float, .* \\(an empty list counts as one of floats\\)$"
    with pytest.warns(FuseWarning, match=said):
        fuse(products)([])


def test_an_empty_list_is_called_that_in_the_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    with pytest.raises(FuseError, match=r"moves_of\(int, empty list\) is not compiled"):
        fuse(moves_of)(3, [])
