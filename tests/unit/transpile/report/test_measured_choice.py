"""What a report says about calls that Python serves, since that was measured to be faster."""
from __future__ import annotations

import ast

import pytest

from loopir.nodes import Span
from transpile.report.measured_choice import FasterAsPython, faster_as_python_rejection
from transpile.types.value_types import ArgType, ArrayType, Constant, ListType, ScalarType

ARRAY, LIST = ArrayType("f64", 1, 0), ListType(ScalarType("f64", weak=True))
INT, FLOAT = ScalarType("i64", weak=True), ScalarType("f64", weak=True)


@pytest.mark.parametrize(
    ("has_loops", "is_region", "in_part", "said"),
    [
        (True, True, False, "Python runs this loop, of up to 255 items: "),
        (True, False, False, "Python runs this loop, in calls with up to 255 items: "),
        (False, False, False, "Python runs the function, in calls with up to 255 items: "),
        (False, True, False, "Python runs a part of the function, in calls with up to 255 items: "),
        (True, False, True, "in calls with up to 255 items and few terms in each sum: "),
    ],
)
def test_the_message(has_loops: bool, is_region: bool, in_part: bool, said: str) -> None:
    loops = [Span(3, 4, 3, 9)] if has_loops else []
    found = FasterAsPython(255, 1500, 300, in_part)
    rejection = faster_as_python_rejection(found, loops, [ARRAY], [] if is_region else None)
    assert said in rejection.message
    assert rejection.note == (
        "when it was measured, it took 1.5 µs compiled and 300 ns as Python"
    )
    assert rejection.span == (loops[0] if loops else None)


@pytest.mark.parametrize(("types", "largest", "said"), [
    ([ARRAY], 1, ", of up to 1 item: "),
    ([LIST, FLOAT], 7, ", of up to 7 items: "),
    ([INT, FLOAT], 7, ", for ints up to 7: "),
    ([Constant(3, int)], 7, ", for ints up to 7: "),
    ([INT, ARRAY], 1 << 30, ", where items and ints add up to at most 1073741824: "),
    ([FLOAT], 7, "this loop: "),
    ([ARRAY], 0, "this loop: "),
])
def test_what_the_size_counts(types: list[ArgType], largest: int, said: str) -> None:
    found = FasterAsPython(largest, 1500, 300)
    places = [Span(3, 4, 3, 9)]
    assert said in faster_as_python_rejection(found, places, types, []).message


def test_statements_without_a_loop_have_a_place() -> None:
    found, statements = FasterAsPython(7, 1500, 300), ast.parse("q[:k] -= v\nr = q @ v").body
    rejection = faster_as_python_rejection(found, (), [ARRAY], statements)
    assert rejection.message.startswith("Python runs this part of the function, in calls with up")
    assert rejection.span == Span(1, 0, 1, 10)
