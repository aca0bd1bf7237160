"""What a report says of exceptions: what Python raised after a guard had failed, and where."""
from __future__ import annotations

import linecache
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transpile import fuse


class Unsaid(Exception):
    def __str__(self) -> str:
        raise AssertionError("the report asks for no text that the user's code computes")


def halved(n: int) -> int:
    return 8 // n


def guarded_twice(x: Any, y: Any, n: int) -> Any:
    """The guard on `n` is tested before anything else."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(f"negative: {x[i]}")
        if x[i] > 100:
            raise Unsaid
        out[i] = y[i] + math.sqrt(x[i]) + halved(len(y) - 1)
    return out, 3 // n


def raised(*calls: tuple[Any, ...], function: Any = guarded_twice) -> list[tuple[Any, ...]]:
    """Code, text of the source, message and note of all that the report says after the `calls`."""
    f = fuse(function)
    for call in calls:
        with suppress(ArithmeticError, ValueError, IndexError, AssertionError, Unsaid):
            f(*call)
    report = f.report()
    assert sum(f.stats.replays.values()) == len(calls)
    assert {r.code for r in report.rejections} == {*f.stats.replays}
    return [
        (r.code, report.source[r.span.line].encode()[r.span.col : r.span.end_col].decode(),
         r.message, r.note)
        for r in report.rejections if r.span is not None
    ]


ONE = "one call was computed by Python"


@pytest.mark.parametrize(("call", "code", "place", "message"), [
    ((np.array([-2.0]), np.ones(3), 0), "GUARD_RAISES", 'raise ValueError(f"negative: {x[i]}")',
     "ValueError was raised here: negative: -2.0"),
    ((np.array([200.0]), np.ones(3), 0), "GUARD_RAISES", "raise Unsaid", "Unsaid was raised here"),
    ((np.ones(4), np.ones(3), 0), "GUARD_BOUNDS", "y[i]",
     "IndexError was raised here: index 3 is out of bounds for axis 0 with size 3"),
    ((np.ones(2), np.ones(3), 0), "GUARD_DIVISION", "3 // n", "ZeroDivisionError was raised here: "
     "integer division or modulo by zero"),
    ((np.ones(1), np.ones(1), 1), "GUARD_DIVISION", "halved(len(y) - 1)",
     "ZeroDivisionError was raised here: integer division or modulo by zero"),
])
def test_what_was_raised_counts_and_not_the_guard(
    call: Any, code: str, place: str, message: str
) -> None:
    assert raised(call) == [(code, place, message, ONE)]


def test_an_int_of_no_number_is_what_was_raised() -> None:
    """The check that the int fits 64 bits fails, too, where there is no int."""
    def whole(x: Any, out: Any) -> None:
        for i in range(len(x)):
            out[i] = int(x[i])

    calls = [(np.array([1.0, value]), np.ones(2)) for value in (math.nan, -math.inf, 1e30)]
    raised_here = "was raised here: cannot convert float"
    assert raised(*calls, function=whole) == [
        ("GUARD_RAISES", "int(x[i])", f"ValueError {raised_here} NaN to integer", ONE),
        ("GUARD_RAISES", "int(x[i])", f"OverflowError {raised_here} infinity to integer", ONE),
        ("GUARD_INT_RANGE", "int(x[i])", "an int here did not fit 64 bits", ONE),
    ]


def test_each_kind_and_place_is_told_once_with_its_calls() -> None:
    y = np.ones(3)
    calls = [(np.array([-v]), y, 1) for v in (1.0, 2.0, 3.0)]
    told = raised(*calls, (np.ones(2), y, 0))
    assert [(code, message, note) for code, _, message, note in told] == [
        ("GUARD_RAISES", "ValueError was raised here: negative: -1.0",
         "3 calls were computed by Python"),
        ("GUARD_DIVISION", "ZeroDivisionError was raised here: integer division or modulo by zero",
         ONE),
    ]


def test_calls_that_are_not_observed_count_for_what_was_observed() -> None:
    """The first replays are observed, one frame deeper than the later ones."""
    y = np.ones(3)
    told = raised(*((np.array([-1.0]), y, 1) for _ in range(50)))
    assert [note for *_, note in told] == ["50 calls were computed by Python"]


def test_calls_that_are_not_observed_count_as_the_first_line_counts_them() -> None:
    """Not for the exception that came first, if the guard's own came later."""
    y = np.ones(3)
    told = raised((np.array([-1.0]), y, 0), *((np.ones(2), y, 0) for _ in range(49)))
    assert [(code, note) for code, _, _, note in told] == [
        ("GUARD_RAISES", ONE), ("GUARD_DIVISION", "49 calls were computed by Python")]


def without_negative_ones(x: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        if (
            x[i] < 0
        ):
            raise ValueError("negative")
        total += x[i]
    return total


def test_a_guard_that_failed_without_an_exception_is_shown_at_its_first_line() -> None:
    f = fuse(without_negative_ones)
    with suppress(ValueError):
        f(np.array([1.0, -2.0]))
    (types,) = f.signatures
    f._specializations[types].raised.clear()  # as where the function catches it
    (told,) = f.report().rejections
    assert (told.code, told.message) == (
        "GUARD_RAISES", "Python may raise an exception here; none came out of the call",
    )
    assert told.line == without_negative_ones.__code__.co_firstlineno + 3


def test_a_function_that_is_compiled_is_not_said_to_be_python_once_its_source_is_gone(
    tmp_path: Path
) -> None:
    path = tmp_path / "module_that_vanishes.py"
    path.write_text("def f(x):\n    s = 0.0\n    for v in x:\n        s += v\n    return s\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    f = fuse(names["f"])
    f(np.ones(300))
    path.unlink()
    linecache.cache.pop(str(path), None)
    report = f.report()
    assert report.accepted
    assert not report.rejections
    assert "compiled for" in str(report)
    assert "no more is known, since the source of `f` is not available" in str(report)


def test_an_empty_list_is_told() -> None:
    f = fuse(sum_of_items)
    f([])
    assert "`rows` was empty in the first call: an empty list counts as" in str(f.report())


def scaled(x: Any, out: Any, k: int) -> None:
    for i in range(len(x)):
        out[i] = x[i] + k * i


@pytest.mark.parametrize(("k", "message"), [
    (1 << 70, "`k` does not fit an int of 64 bits"),
    (1 << 62, "`k` is so large that ints computed from it might not fit 64 bits"),
])
def test_an_int_that_is_too_large_is_shown_where_it_is_a_parameter(k: int, message: str) -> None:
    f = fuse(scaled)
    f(np.ones(3), np.zeros(3), k)
    (told,) = f.report().rejections
    assert (told.code, told.message) == ("GUARD_INT_RANGE", message)
    assert told.span is not None
    assert told.line == scaled.__code__.co_firstlineno


def compound(x: Any, rate: float) -> float:
    total = 0.0
    for v in x:
        total = total * (1 + rate) + v
    return total


def test_a_recurrence_in_lanes_is_a_scan_with_its_operations() -> None:
    (loop,) = fuse(compound).report(np.ones(4), 0.5).loops
    assert (loop.what, loop.flops) == ("scan", 2)


def one_behind(x: Any, n: int) -> float:
    """`x[n]` is tested before the loop, which may be over before it comes there."""
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            break
        total += x[i] * x[n]
    return total


def test_of_a_guard_that_was_too_careful_nothing_wrong_is_said() -> None:
    f = fuse(one_behind)
    for _ in range(2):
        f(np.array([-1.0, 2.0]), 5)
    told, *_ = f.report().rejections
    assert (told.code, told.note) == ("GUARD_BOUNDS", "2 calls were computed by Python")
    assert told.message == "`x[n]` might have left its array; when Python ran the call, it did not"


def joined_with_a_recurrence(x: Any) -> Any:
    kept = [v for v in x if v > 1]
    total = 0.0
    for i in range(len(x)):
        total = total * 0.5 + x[i]
    return kept, total


def test_a_joined_loop_of_which_nothing_has_its_place_is_named() -> None:
    """Nor is anything else that has no name in the source."""
    report = fuse(joined_with_a_recurrence).report(np.ones(4)).in_detail()
    (loop,) = report.loops
    assert [line - loop.line for line in loop.fused_with] == [2]
    assert loop.one_thread == (
        "it appends to an intermediate result, and each iteration needs `total` of the one before"
    )


def smoothed(x: Any) -> Any:
    last = x[0]
    ys = []
    for v in x:
        last = v if v > last else (last + v) / 2
        ys.append(last)
    total = 0.0
    for y in ys:
        print(end="")
        total += y
    return total


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_of_a_name_that_python_binds_too_no_type_is_told() -> None:
    f = fuse(smoothed)
    f(np.ones(300))
    report = f.report()
    assert report.regions
    assert "total" not in report.names
    assert report.loops[0].what == "map, recurrence"


def sum_of_items(rows: Any) -> Any:
    total = 0
    for row in rows:
        for v in row:
            total += v
    return total


@pytest.mark.parametrize(("rows", "message", "help"), [
    ([[1, 2], [3]], "`rows[1]` has 1 item, and `rows[0]` has 2", "give all items of `rows` one l"),
    ([[1], [3, 4]], "`rows[1]` has 2 items, and `rows[0]` has 1", "give all items of `rows` one l"),
    ([[1, 2], [3, 4.0]], "`rows[1][1]` is of type float, and the first item is of type int",
     "give all items of `rows` one type"),
])
def test_an_argument_that_does_not_fit_is_shown_where_it_is_a_parameter(
    rows: Any, message: str, help: str
) -> None:
    f = fuse(sum_of_items)
    f(rows)
    (told,) = f.report().rejections
    assert (told.code, told.message) == ("GUARD_DTYPE", message)
    assert told.line == sum_of_items.__code__.co_firstlineno
    assert (told.help or "").startswith(help)
