"""Repeated checks are dropped only where the earlier one fails, too."""
from __future__ import annotations

import pytest

from loopir.ir_printer import parse
from loopir.ir_traversal import walk
from loopir.nodes import Check
from loopir.passes.checks.repeated_checks import repeated_checks


@pytest.mark.parametrize(
    ("checks", "body"),
    [
        (1, 'check(t < 5, "replay")\ncheck(t < 5, "replay")'),
        (1, 'check(t < 5, "replay")\nu = t\ncheck((n > 3) | (u < 5), "replay")'),
        (1, 'check((n > 3) | (t < 5), "replay")\nif n > 3:\n    x[0] = 1\n'
            'else:\n    check(t < 5, "replay")'),
        (1, 'check(t < 5, "replay")\nfor j in loop(0, n):\n    check(t < 5, "replay")'),
        # another code, condition or side; an element that a store may change; a counter
        (2, 'check(t < 5, "replay")\ncheck(t < 5, "over")'),
        (2, 'check((n > 3) | (t < 5), "replay")\ncheck(t < 5, "replay")'),
        (2, 'check((n > 3) | (t < 5), "replay")\nif n > 3:\n    check(t < 5, "replay")'),
        (2, 'if n > 3:\n    check(t < 5, "replay")\ncheck(t < 5, "replay")'),
        (2, 'check(x[0] < 5, "replay")\nx[0] = t\ncheck(x[0] < 5, "replay")'),
        (2, 'check((n < 9) | (x[0] < 5), "replay")\nx[0] = t\ncheck(x[0] < 5, "replay")'),
        (2, 'check(c < n, "replay")\nappend(y, c, t)\ncheck(c < n, "replay")'),
        (2, 'u = c\nappend(y, c, t)\ncheck(u < n, "replay")\ncheck(c < n, "replay")'),
    ],
)
def test_a_check_is_dropped_if_an_earlier_one_implies_it(checks: int, body: str) -> None:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    kernel = parse(
        "def k(x: mut(i64[::1]), y: mut(i64[::1]), n: i64):\n"
        f"    for i in loop(0, n, c=0):\n        t = x[i]\n{lines}        c = step(c)\n"
    )
    assert sum(isinstance(n, Check) for n in walk(repeated_checks(kernel))) == checks
