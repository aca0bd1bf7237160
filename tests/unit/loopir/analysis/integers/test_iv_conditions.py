"""Which comparisons have one result up to, or from, a certain iteration; by running each loop."""
from __future__ import annotations

import pytest

from loopir.analysis.integers.iv_conditions import PositionTest, position_tests
from loopir.ir_parser import parse
from loopir.ir_printer import show
from loopir.ir_traversal import walk
from loopir.nodes import Loop

HEAD = "def k(x: f64[::1], b: i64[::1], m: i64, p: i64, out: mut(f64[::1])):\n"
GUARDED = "    guard((m >= -1000) & (m <= 1000), 'GUARD_INT_RANGE')\n"
COUNTING = """\
    for i in loop(0, x.shape[0], c=START):
        if x[i] > 0.0:
            check(TEST, "replay")
            out[0] = x[i]
            c_1 = give(c + STEP)
        else:
            c_1 = give(c)
        c = step(c_1)
"""


def found_in(body: str) -> list[PositionTest]:
    kernel = parse(HEAD + body)
    loop = next(n for n in walk(kernel) if isinstance(n, Loop))
    return position_tests(loop, kernel)


def positions(condition: str, before: str = "") -> list[tuple[str, bool, str]]:
    """The tests in a loop whose iterations branch on `condition`: bound, result, and side."""
    head = "    for i in loop(0, x.shape[0]):\n"
    body = f"{head}        if {condition}:\n            out[i] = x[i]\n"
    sides = {True: "from", False: "before", None: "but"}
    return [(str(t.bound), t.then, sides[t.low]) for t in found_in(before + body)]


def counted(test: str, start: str = "0", step: str = "1") -> list[tuple[str, str, bool]]:
    body = COUNTING.replace("TEST", test).replace("START", start).replace("STEP", step)
    found = found_in(GUARDED + body)
    return [(show(t.call), str(t.bound), t.exact) for t in found]


def test_comparisons_with_invariants() -> None:
    assert positions("i > 0") == [("1", True, "from")]
    assert positions("i < x.shape[0] - 1") == [("x.shape[0] - 1", True, "before")]
    assert positions("i == x.shape[0] - 1") == [("x.shape[0] - 1", False, "before")]
    assert positions("i < m") == [("m", True, "before")]


def test_the_interior_is_not_a_constant_number_of_first_iterations() -> None:
    assert positions("i < 2") == [("2", False, "from")]
    assert positions("i + x.shape[0] < x.shape[0] + 1") == [("1", False, "from")]
    body = "    for i in loop(m, m + 8):\n        if i < m + 5:\n            out[0] = x[0]\n"
    assert [(str(t.bound), t.low) for t in found_in(GUARDED + body)] == [("m + 5", False)]
    body = body.replace("m + 8", "p")
    assert [(str(t.bound), t.low) for t in found_in(GUARDED + body)] == [("m + 5", True)]


@pytest.mark.parametrize("condition", ["i + m < 10", "i < 10 - m", "i - m > p", "m < i - 3"])
def test_what_may_wrap_around_is_no_test(condition: str) -> None:
    """``10 - m`` has more than 64 bits if m is -2**63: the split would be at a wrong iteration."""
    assert positions(condition) == []
    guarded = GUARDED + GUARDED.replace("m ", "p ")
    assert len(positions(condition, guarded)) == 1
    loaded = condition.replace("m", "at")
    assert positions(loaded, "    at = b[0]\n") == []
    assert len(positions(loaded.replace("p", "0"), "    at = i64(i32(b[0]))\n")) == 1


def test_counters_are_at_most_the_iterations_before() -> None:
    assert counted("c < out.shape[0]") == [("c < out.shape[0]", "out.shape[0]", False)]
    assert counted("c < out.shape[0]", "m") == [("c < out.shape[0]", "out.shape[0] - m", False)]
    test = "c + 2 <= out.shape[0]"
    assert counted(test) == [(test, "out.shape[0] - 1", False)]


@pytest.mark.parametrize(("test", "start", "step"), [
    ("c < out.shape[0]", "0", "2"), ("c < out.shape[0]", "0", "-1"),
    ("c < out.shape[0]", "b[0]", "1"), ("c < p - 3", "0", "1"), ("c > out.shape[0]", "0", "1"),
])
def test_what_is_no_counter_or_has_no_bound(test: str, start: str, step: str) -> None:
    assert counted(test, start, step) == []


WINDOW = """\
    for i in loop(0, x.shape[0]):
        for j in loop(max(0, i - m), HI, s=0.0):
            s = step(s + x[j])
        out[i] = s
"""


def windows(end: str) -> list[tuple[str, str, bool]]:
    found = found_in(GUARDED + WINDOW.replace("HI", end))
    return sorted((show(t.call), str(t.bound), bool(t.low)) for t in found)


def test_clamps_of_windows_of_one_length() -> None:
    assert windows("min(x.shape[0], i + m)") == [
        ("0 <= i - m", "m", True), ("i + m <= x.shape[0]", "x.shape[0] - m + 1", False)]
    assert windows("i + 1") == [("0 <= i - m", "m", True)]


@pytest.mark.parametrize("end", ["min(x.shape[0], 2 * i)", "x.shape[0]", "min(i + i, i + m)"])
def test_clamps_of_other_ranges_are_no_reason_to_split(end: str) -> None:
    assert windows(end) == []


def test_what_wraps_around_is_tested_if_its_clamps_are() -> None:
    """The limit p may be negative: nothing tells that it is not less than i + 1."""
    wraps = "select(min(E, i + m) < 0, 0, min(E, i + m))"
    assert ("min(x.shape[0], i + m) < 0", "-m", True) in windows(wraps.replace("E", "x.shape[0]"))
    assert all("< 0" not in call for call, _, _ in windows(wraps.replace("E", "b[0]")))


def test_clamps_around_what_wraps_around() -> None:
    found = windows("min(max(0, select(i + m < 0, 7, i + m)), x.shape[0])")
    assert {call for call, _, _ in found} == {
        "0 <= i - m", "i + m < 0", "0 <= i + m", "i + m <= x.shape[0]",
        "max(0, select(i + m < 0, 7, i + m)) <= x.shape[0]",
    }
