"""The memo of carried types: a nest of loops is lowered in time that grows with its depth alone."""
from __future__ import annotations

from typing import Any

import pytest
from lowered import VECTOR, lowered

from transpile.lower.loops import loop_types

BODIES = {
    "becomes a NumPy number": ("s = 0.0", "s += x[{at}]", "s"),
    "starts as an int": ("s = 0", "s += x[{at}]", "s"),
    "ints that may overflow": ("s = 1", "s += s + {at}", "s"),
    "two names": ("s = 0.0; t = 1.0", "u = t; t = s; s = u + x[{at}]", "s"),
    "either type": ("s = 0", "s = x[{at}] if x[{at}] > 0.5 else s", "s"),
    "may be unbound": ("t = 0", "t = x[{at}] if x[{at}] > 0.5 else t", "t"),
}
FORMS = {
    "for": "{space}for i{k} in range(2):\n",
    "while": "{space}i{k} = 0\n{space}while i{k} < 2:\n{space}    i{k} += 1\n",
}


def nest(form: str, body: str, depth: int) -> str:
    """A function of `depth` loops, each the body of the one before."""
    before, statement, value = BODIES[body]
    loops = "".join(FORMS[form].format(space="    " * (k + 1), k=k) for k in range(depth))
    at = " + ".join(f"i{k}" for k in range(depth))
    inner = "    " * (depth + 1) + statement.format(at=at)
    return f"def f(x):\n    {before}\n{loops}{inner}\n    return {value}\n"


def rounds(monkeypatch: pytest.MonkeyPatch, source: str) -> int:
    """How many loop bodies are lowered."""
    count = 0
    lower = loop_types._lower_iteration_once

    def counted(*args: Any) -> Any:
        nonlocal count
        count += 1
        return lower(*args)

    with monkeypatch.context() as patch:
        patch.setattr(loop_types, "_lower_iteration_once", counted)
        lowered(source, x=VECTOR)
    return count


@pytest.mark.share(6)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("form", FORMS)
def test_a_nest_is_lowered_in_polynomial_time(
    form: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_four, at_eight = (rounds(monkeypatch, nest(form, body, depth)) for depth in (4, 8))
    assert at_eight < 7 * at_four, f"{at_four}, then {at_eight}: twice the depth"


def test_twelve_loops_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rounds(monkeypatch, nest("for", "becomes a NumPy number", 12)) < 200


def test_a_memo_of_other_intervals_keeps_inductions() -> None:
    """An int that counts in the inner loop needs no check where the outer one is lowered again."""
    source = """
        def f(x):
            s = 0.0
            for i in range(x.shape[0]):
                k = 0
                while x[i] > k:
                    k += 1
                s += k
            return s
    """
    assert "add_over(k" not in lowered(source, x=VECTOR)
