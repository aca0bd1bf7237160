"""Results of regions that may have no value: names that a loop binds, which may not run."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse
from transpile.frontend.core_nodes import mark_unassigned
from transpile.runtime.outline.unassigned_results import with_unassigned_results

BEFORE = """
def f(x):
    while x:
        s, t = region(x)
    return s, t
"""
AFTER = """
def f(x):
    while x:
        s, _tp_t = region(x)
        if _tp_t is not _tp_unassigned:
            t = _tp_t
        _tp_t = None
    try:
        t
    except _tp_unbound:
        t = _tp_unassigned
    return (s, t)
"""


def test_the_call_and_the_return_are_tested() -> None:
    tree = ast.parse(BEFORE).body[0]
    assert isinstance(tree, ast.FunctionDef)
    assert with_unassigned_results(tree) is tree
    for n in ast.walk(tree):
        if isinstance(n, (ast.Assign, ast.Return)):
            mark_unassigned(n, frozenset({"t"}))
    assert ast.unparse(with_unassigned_results(tree)) == AFTER.strip()
    assert ast.unparse(tree) == ast.unparse(ast.parse(BEFORE)), "the tree that is given stays"


def last_of_loop(x: Any, n: int) -> Any:
    for i in range(n):
        t = x[i] * 2
    print("done")
    return t, i


def read_in_some_calls(x: Any, n: int) -> Any:
    for i in range(n):
        t = x[i] * 2
        x[i] += 1
    print("done")
    if len(x) == n:
        print(t, i)
    return len(x)


def of_an_earlier_iteration(x: Any, n: int) -> Any:
    """Where the inner loop binds nothing, the older value is read."""
    for k in range(n):
        for i in range(k):
            if x[i] > 3:
                last = i
        print(k)
    return last


def bound_before_on_one_path(x: Any, n: int) -> Any:
    if n > 4:
        t = 1.5
    for i in range(n % 5):
        t = x[i]
    print("done")
    return t


def loop_at_the_end(x: Any, n: int) -> Any:
    print("go")
    for i in range(n):
        t = x[i] * 2
    return t


def in_an_outlined_region(x: Any, n: int) -> Any:
    """The loop cannot be compiled as a whole; what is cut out of it returns the name as well."""
    with np.errstate(all="ignore"):
        for k in range(n):
            s = 0.0
            for i in range(k):
                s += x[i]
                t = s * 2
            if s > 1e9:
                x = {"s": s}
        print("done")
        return s, t


FUNCTIONS = (
    last_of_loop, read_in_some_calls, of_an_earlier_iteration, bound_before_on_one_path,
    loop_at_the_end, in_an_outlined_region,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_regions_bind_what_python_binds(
    function: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    fused = fuse(function, on_reject="silent")
    for n in (7, 0, 1, 5, 3, 0, 2, 7):
        mine, theirs = (np.arange(7.0) for _ in range(2))
        wanted, said = outcome(function, (theirs, n)), capsys.readouterr()
        got = outcome(fused, (mine, n))
        assert_same(got, wanted, f"{function.__name__} {n}")
        assert (mine == theirs).all()
        assert capsys.readouterr() == said
        if n == 7:
            assert fused.stats.compiled, fused.stats


def test_a_report_names_the_result() -> None:
    fused = fuse(last_of_loop, on_reject="silent")
    with pytest.raises(UnboundLocalError, match="'t'"):
        fused(np.arange(7.0), 0)
    assert "`i` has no value" in str(fused.report(np.arange(7.0), 0))
