"""What a report says about calls that Python serves, since that was measured to be faster."""
from __future__ import annotations

import pytest

from loopir.nodes import Span
from transpile.report.measured_choice import FasterAsPython, faster_as_python_rejection


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
    rejection = faster_as_python_rejection(found, loops, is_region=is_region)
    assert said in rejection.message
    assert rejection.note == (
        "when it was measured, it took 1.5 µs compiled and 300 ns as Python; "
        "an int counts as so many items"
    )
    assert rejection.span == (loops[0] if loops else None)
