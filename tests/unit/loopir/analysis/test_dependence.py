"""Dependences of a loop: each pair of subscripts is compared once."""
from __future__ import annotations

from typing import Any

import pytest

from loopir.analysis import dependence
from loopir.analysis.dependence import dependences
from loopir.ir_printer import parse
from loopir.nodes import Kernel, Loop


def long_body(statements: int) -> Kernel:
    """A loop of so many statements over three arrays, at one of three subscripts each."""
    names = "abc"
    lines = [
        f"        {names[k % 3]}[i + 1] = {names[(k + 1) % 3]}[i] + {names[(k + 2) % 3]}[i + 2]"
        for k in range(statements)
    ]
    params = ", ".join(f"{name}: mut(f64[::1])" for name in names)
    guards = "    disjoint(a, b)\n    disjoint(a, c)\n    disjoint(b, c)\n"
    body = "\n".join(lines)
    return parse(f"def k(n: i64, {params}):\n{guards}    for i in loop(0, n):\n{body}\n")


def loop_of(kernel: Kernel) -> Loop:
    (loop,) = kernel.body
    assert isinstance(loop, Loop)
    return loop


def test_equal_subscripts_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    compute = dependence.dependence_distance

    def counted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        return compute(*args)

    monkeypatch.setattr(dependence, "dependence_distance", counted)
    kernel = long_body(60)
    assert len(dependences(loop_of(kernel), kernel)) > 1000
    assert calls <= 9


def test_the_distances_are_those_of_the_single_test() -> None:
    kernel = long_body(4)
    for d in dependences(loop_of(kernel), kernel):
        distance = dependence.dependence_distance(d.source, d.sink, "i")
        assert d.distance == distance
