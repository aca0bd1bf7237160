"""Trees between two stages: nodes without positions, and what Python would warn of."""
from __future__ import annotations

import ast
import warnings

from transpile.frontend.compile_tree import compile_tree
from transpile.options import Options
from transpile.pipeline import Compilation, run_stages
from transpile.types.typeof import type_of


def twice(v: float) -> float:
    return v


def total(x: list[float], y: list[float]) -> float:
    s = 0.0
    for i in range(len(x)):
        s += y[i] + twice(x[i])
    return s


def test_a_stage_may_leave_nodes_without_a_position() -> None:
    """An inlined call in an augmented assignment; the check of the stage accepts the tree."""
    types = dict.fromkeys(("x", "y"), type_of([1.5]))
    start = Compilation(function=total, types=types, options=Options())
    for stage in ("inline", "expand"):
        state = run_stages(start, stop_after=stage, check=True)
        before = ast.dump(state.tree, include_attributes=True)
        names = dict(total.__globals__)
        code = compile_tree(state.tree, "a program")
        assert ast.dump(state.tree, include_attributes=True) == before
        if stage == "inline":
            exec(code, names)
            assert names["total"]([1.5, 2.5], [1.0, 2.0]) == 7.0


def test_warnings_of_python_are_not_shown() -> None:
    (function,) = ast.parse("def f(i):\n    return 1[i]\n").body
    assert isinstance(function, ast.FunctionDef)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_tree(function, "a program")
