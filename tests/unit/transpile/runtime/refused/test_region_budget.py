"""How often a refused function and its regions are compiled: a sum of work bounds all of it."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse
from transpile.frontend.inline import inlining_state
from transpile.frontend.inline.inlining_state import CompileBudget
from transpile.runtime import compile_call
from transpile.runtime.compile_call import compile_variant

X = np.arange(1.0, 9.0)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first line of each function and region that is compiled."""
    lines: list[int] = []

    def counted(function: Any, *args: Any, **kwargs: Any) -> Any:
        lines.append(function.__code__.co_firstlineno)
        return compile_variant(function, *args, **kwargs)

    monkeypatch.setattr(compile_call, "compile_variant", counted)
    return lines


MANY = """
import io

def f(x):
    total = 0.0
{lines}    return total
"""

PART = """    for v in x:
        total += v * {k}.5
    io.StringIO(str(total)).write("x" * {k})
"""


def _many(folder: Path, count: int) -> Any:
    lines = "".join(PART.format(k=k) for k in range(count))
    return written(folder, MANY.format(lines=lines)).f


def test_the_sum_of_work_is_bounded(
    tmp_path: Path, compiled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inlining_state, "CompileBudget", lambda: CompileBudget(2500))
    function = _many(tmp_path, 12)
    fused = fuse(function, on_reject="silent", cache=False)
    for _ in range(3):
        assert fused(X) == pytest.approx(function(X), rel=1e-12)
    report = fused.report(X)
    left_out = [r for r in report.rejections if r.code == "BUDGET_EXCEEDED"]
    assert left_out, str(report)
    assert "exceed the function's budget" in left_out[0].message
    assert left_out[0].line is not None
    assert fused.stats.replays["BUDGET_EXCEEDED"]


def test_each_signature_has_a_budget(tmp_path: Path, compiled: list[int]) -> None:
    fused = fuse(_many(tmp_path, 2), on_reject="silent", cache=False)
    fused(X)
    first = len(compiled)
    fused(X.astype(np.float32))
    assert len(compiled) == 2 * first
    assert not fused.stats.replays.get("BUDGET_EXCEEDED")


REPEATED = """
import warnings
import numpy as np

def to_floats(x):
    warnings.warn("converted") if len(x) == 0 else None
    return np.asarray(x, dtype=object).astype(float)

def check(x):
    if x[0] > 1e9:
        warnings.warn("large")

def same_helper(x, y):
    a = to_floats(x)
    b = to_floats(y)
    c = to_floats(x)
    s = 0.0
    for v in x:
        s += v
    return s + a[0] + b[0] + c[0]

def no_rule(x, y):
    if x[0] > 1e6:
        warnings.warn("x")
    if y[0] > 1e6:
        warnings.warn("y")
    if x[-1] > 1e6:
        warnings.warn("last")
    s = 0.0
    for v in x:
        s += v
    return s

def other_types(x, y):
    check([1.0, 2.0])
    s = 0.0
    for v in x:
        check(y)
        s += v
    return s
"""


@pytest.mark.parametrize("name", ["same_helper", "no_rule"])
def test_calls_that_are_refused_for_one_reason_are_tried_once(
    name: str, tmp_path: Path, compiled: list[int]
) -> None:
    function = getattr(written(tmp_path, REPEATED), name)
    fused = fuse(function, on_reject="silent", cache=False)
    assert fused(X, X) == function(X, X)
    assert len(compiled) == 2, compiled  # the whole, and the loop behind the calls
    assert fused.report(X, X).regions
