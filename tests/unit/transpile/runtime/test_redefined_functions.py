"""Functions that are defined again and again: Python serves their first calls, setups are rare."""
from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from targets.build.build_errors import BuildError
from transpile import fuse
from transpile.runtime.dispatcher import Dispatcher
from transpile.runtime.redefined_functions import (
    RUN_REDEFINED,
    _known,
    _redefinitions_of,
    _SetupTimes,
)
from transpile.runtime.refused import outlined_function


@pytest.fixture(autouse=True)
def _by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python may serve calls, as for users; and nothing is known of earlier functions."""
    _known.clear()
    monkeypatch.setenv("TRANSPILE_SELECT", "time")


def scaling(factor: Any, **options: Any) -> Any:
    @fuse(**options)
    def scaled(xs: Any) -> Any:
        return [factor * v for v in xs]

    return scaled


def summing(**options: Any) -> Any:
    @fuse(**options)
    def total(xs: Any) -> Any:
        s = 0.0
        for v in xs:
            s += v
        return s

    return total


def refused() -> Any:
    @fuse(on_reject="silent")
    def shown(xs: Any) -> Any:
        return {str(type(v)) for v in xs}

    return shown


def setups(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The dispatchers that look for a kernel from now on."""
    found = list[object]()
    build = Dispatcher._build_variant

    def noting(self: Dispatcher, *given: Any) -> Any:
        found.append(self)
        return build(self, *given)

    monkeypatch.setattr(Dispatcher, "_build_variant", noting)
    return found


@pytest.mark.parametrize("make", [scaling, lambda k: summing(), lambda k: refused()])
def test_setups_are_rare(make: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = setups(monkeypatch)
    xs = [1.0, 2.0, 3.0]
    for k in range(50):
        function = make(k)
        assert function(xs) == function.__wrapped__(xs)
        assert sum(function.stats.replays.values()) + function.stats.compiled == 1
    assert len(found) < 10  # 2, unless other work slows the calls that are timed
    assert function.stats.replays == {RUN_REDEFINED: 1}
    assert function.report().stats["replays"] == {RUN_REDEFINED: 1}


def test_a_function_with_many_calls_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python serves calls for about as long as the setup takes, most of them past the dispatcher;
    then the kernel is set up.
    """
    for k in range(5):
        scaling(k, cache=False)([1.0, 2.0])
    found = setups(monkeypatch)
    function = scaling(5, cache=False)
    asked, select = [0], function._select_callee

    def counting(values: Any) -> Any:
        asked[0] += 1
        return select(values)

    monkeypatch.setattr(function, "_select_callee", counting)
    calls, start = 0, time.monotonic()
    while not found and time.monotonic() - start < 60:
        assert function([1.0, 2.0]) == [5.0, 10.0]
        calls += 1
    assert found == [function]
    assert calls > 1000  # to compile takes 10 ms at least, a call some microseconds
    assert asked[0] < 20
    for _ in range(50):
        assert function([1.0, 2.0]) == [5.0, 10.0]
    stats = function.stats
    assert stats.replays[RUN_REDEFINED] == calls - 1
    assert sum(stats.replays.values()) + stats.compiled == calls + 50


def test_long_calls_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a size of which nothing is known, by the arguments or by what is captured."""
    found = setups(monkeypatch)
    for k in range(5):
        scaling(k)([1.0])
    found.clear()
    long = [1.0] * 1_000_000
    for k in range(3):
        assert scaling(k)(long) == [float(k)] * 1_000_000
    assert len(found) == 3

    def around(data: Any) -> Any:
        @fuse
        def nearest(v: float) -> int:
            best = 0
            for k in range(len(data)):
                if abs(data[k] - v) < abs(data[best] - v):
                    best = k
            return best

        return nearest

    for _ in range(5):
        assert around(np.arange(4.0))(2.2) == 2
    found.clear()
    assert around(np.arange(1_000_000.0))(999_990.2) == 999_990
    assert len(found) == 1


def test_one_call_has_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of so many terms that their order may differ from Python's are compiled at once."""
    found = setups(monkeypatch)
    xs = np.random.default_rng(1).normal(size=1000)
    answers = [summing()(xs) for _ in range(8)]
    assert len({*answers}) == 1
    assert len(found) == 8


@pytest.mark.parametrize(
    ("options", "environment"), [
        ({"on_reject": "raise"}, {}), ({"verify": 1.0}, {}),
        ({}, {"TRANSPILE_FALLBACK": "error"}), ({}, {"TRANSPILE_SELECT": "compiled"}),
    ],
)
def test_where_python_may_not_serve_calls(
    options: dict[str, Any], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = setups(monkeypatch)
    for k in range(5):
        function = scaling(k, **options)
        function([1.0])
        assert function.stats.compiled == 1
    assert len(found) == 5


def test_the_same_function_decorated_again_is_compiled() -> None:
    """It is not defined again."""

    def plain(xs: Any) -> Any:
        return [v + 1.0 for v in xs]

    for _ in range(5):
        function = fuse(plain)
        assert function([1.0]) == [2.0]
        assert function.stats.compiled == 1


def test_other_signatures_and_options_are_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(5):
        scaling(k)([1.0])
    found = setups(monkeypatch)
    for xs in ([1], np.ones(1), np.ones(1, "f4")):
        scaling(1.5)(xs)
    scaling(1.5, reassociate=False)([1.0])
    assert len(found) == 4


def test_an_exception_of_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's exception comes through; that no time is told of such calls does not keep the
    kernel from being set up.
    """

    def dividing() -> Any:
        @fuse
        def divided(xs: Any, k: int) -> Any:
            return [v // k for v in xs]

        return divided

    for _ in range(5):
        assert dividing()([1, 1], 1) == [1, 1]
    found = setups(monkeypatch)
    function = dividing()
    calls, start = 0, time.monotonic()
    while not found and time.monotonic() - start < 60:
        with pytest.raises(ZeroDivisionError):
            function([1, 1], 0)  # of the same size, by its number of bits
        calls += 1
    assert found == [function]
    assert calls > 1


def with_regions(factor: Any, **captured: Any) -> Any:
    """A function that is refused as a whole, with two loops that compile."""
    is_verbose, step = captured.get("is_verbose", True), captured.get("step", 1.0)

    def shift(v: Any) -> Any:
        return v + step

    @fuse(on_reject="silent")
    def scaled(xs: Any) -> Any:
        out = np.zeros(len(xs))
        for i in range(len(xs)):
            out[i] = xs[i] * factor
        if is_verbose:
            str(object())
        for i in range(len(xs)):
            out[i] = shift(out[i])
        return out

    return scaled


def plans(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The functions of which an outlining is planned from now on."""
    found = list[object]()
    plan = outlined_function.plan_outlining

    def noting(function: Any, *given: Any) -> Any:
        found.append(function)
        return plan(function, *given)

    monkeypatch.setattr(outlined_function, "plan_outlining", noting)
    return found


def test_functions_with_regions_are_outlined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has the values that it captures, also those of a function inside; and its regions are
    compiled once Python has taken long enough, or at once under ``TRANSPILE_SELECT=compiled``.
    """
    found, planned = setups(monkeypatch), plans(monkeypatch)
    xs = np.arange(8.0)
    for k in range(6):
        function = with_regions(k + 0.5, step=k * 2.0)
        for _ in range(3):
            np.testing.assert_array_equal(function(xs), xs * (k + 0.5) + k * 2.0)
    assert len(planned) == 1
    assert len(found) < 10  # the function once, its regions twice; unless other work slows calls
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    function = with_regions(3.0, step=4.0)
    np.testing.assert_array_equal(function(xs), xs * 3 + 4)
    assert len(planned) == 2  # the variable may shape code, too
    (spec,) = function._specializations.values()
    assert [region.fused.stats.compiled for region in spec.outlined.regions] == [1, 1]
    assert "compiled for" in str(function.report(xs))


def test_other_meanings_of_names_are_another_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another value of an int, another type of a float, another function."""
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    xs, planned = np.arange(8.0), plans(monkeypatch)
    for _ in range(3):
        with_regions(2.0)(xs)
        function = with_regions(2.0, is_verbose=False)
        np.testing.assert_array_equal(function(xs), xs * 2 + 1)
        assert function.stats.compiled == 2
    assert len(planned) == 2
    np.testing.assert_array_equal(with_regions(2, step=np.float32(1))(xs), xs * 2 + 1)
    assert len(planned) == 3

    def calling(helper: Any) -> Any:
        @fuse(on_reject="silent")
        def called(xs: Any) -> Any:
            str(helper)
            return [helper(v) for v in xs]

        return called

    for helper, wanted in [(abs, 2.0), (np.negative, 2.0), (lambda v: v * 3, -6.0)] * 2:
        assert calling(helper)([-2.0]) == [wanted]


def test_a_name_of_a_function_that_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal holds as long as the names of all functions that are called mean the same."""
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    module = written(tmp_path, "def shifted(v): return v + SHIFT\n")

    def calling() -> Any:
        @fuse(on_reject="silent")
        def called(xs: Any) -> Any:
            s = 0.0
            for v in xs:
                s += module.shifted(v)
            return s

        return called

    for _ in range(3):
        with pytest.raises(NameError):
            calling()([1.0, 2.0])
    module.SHIFT = 1.0
    function = calling()
    assert function([1.0, 2.0]) == 5.0
    assert function.stats.compiled == 1


@pytest.mark.parametrize("weights", [["a"], ("a",), [[1.0], ["a"]]])
def test_the_items_of_a_captured_container(
    weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal does not hold for a container of other items; but for other floats in it."""
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")

    def weighting(weights: Any) -> Any:
        @fuse(on_reject="silent")
        def weighted(xs: Any) -> Any:
            s = 0.0
            for v in xs:
                s += v * weights[0]
            return s

        return weighted

    found = setups(monkeypatch)
    for _ in range(3):
        with pytest.raises(TypeError):
            weighting(weights)([1.0, 2.0])
    assert len(found) == 1
    function = weighting(type(weights)([2.0]))
    assert function([1.0, 2.0]) == 6.0
    assert function.stats.compiled == 1


def test_a_failure_of_the_machine_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Dispatcher._build_variant

    def failing(*given: Any) -> Any:
        raise BuildError("no space left")

    for k in range(4):
        monkeypatch.setattr(Dispatcher, "_build_variant", failing if k < 3 else build)
        function = scaling(k, on_reject="silent", cache=False)
        monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
        assert function([1.0]) == [float(k)]
    assert function.stats.compiled == 1


def test_expected_times() -> None:
    times = _SetupTimes(setup=1_000_000, exact_up_to=100)
    assert not times.may_be_python(8, 0)
    times.note_compiled(8, 150_000)  # the first call in a process
    assert not times.may_be_python(8, 0)
    times.note_compiled(9, 5_000)
    assert times.may_be_python(8, 0)
    assert not times.may_be_python(16, 0)  # another number of bits
    assert not times.may_be_python(8, 1_000_001)
    times.note_python(8, 300)
    times.note_python(15, 500)
    assert times.may_be_python(8, 999_700)
    assert not times.may_be_python(8, 999_701)
    times.note_python(8, 10_000_000)
    assert times.may_be_python(8, 999_500)  # a single long call
    times.note_python(8, 10_000_000)
    assert not times.may_be_python(8, 0)
    assert times.may_be_python(8, 0)  # the next function tries again
    times.note_python(128, 300)
    assert not times.may_be_python(128, 0)  # inexact


def test_what_is_kept_goes_with_the_code_object() -> None:
    space: dict[str, Any] = {}
    exec("def f(): pass", space)
    _redefinitions_of(space["f"])
    assert len(_known) == 1
    space.clear()
    assert not _known
