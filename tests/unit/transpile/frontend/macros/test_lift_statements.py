"""Lifting keeps Python's order of evaluation: what stands before an operand that needs statements
is evaluated before these.
"""
from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from worlds import World
from written import written

from transpile import fuse
from transpile.frontend.macros.lift_statements import LiftedExpression, lift_statement
from transpile.frontend.macros.macro_context import Context

STATEMENTS = (
    "y = g(1) + f(2) + g(3) + f(4)",
    "y = [g(1), f(2), (g(3), f(4))]",
    "y = {g(1): f(2), f(3): g(4), g(5): f(6)}",
    "y = {g(1): g(2), **{f(3): g(4)}, f(5): f(6)}",
    "y = g(0) and f(1) or g(2) + f(3)",
    "y = f(1) if g(0) else g(2) + f(3)",
    "y = call(g(1), f(2), k=g(3), j=f(4))",
    "y = g(1) < f(2)",
    "z[g(1)] = f(2)",
    "y = z[g(1) : f(2)], f(3)",
)


def rewritten(e: ast.expr) -> LiftedExpression | None:
    """``f(k)`` as statements that note `k` and bind a name."""
    match e:
        case ast.Call(func=ast.Name(id="f"), args=[ast.Constant(value=k)]):
            before = ast.parse(f"f(-{k})\nr{k} = {k}").body
            return LiftedExpression(before, ast.Name(f"r{k}", ast.Load()))
    return None


def noted(statements: list[ast.stmt]) -> tuple[list[int], Any]:
    """The calls in their order, and what is bound in the end."""
    log: list[int] = []

    def note(k: int) -> int:
        log.append(abs(k))
        return abs(k)

    names: dict[str, Any] = {
        "f": note, "g": note, "z": list(range(9)), "y": None, "call": lambda *a, **k: (a, k),
    }
    module = ast.fix_missing_locations(ast.Module(statements, []))
    exec(compile(module, "lifted", "exec"), names)
    return log, (names["y"], names["z"])


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_order_is_pythons(text: str) -> None:
    tree = ast.parse("def k(x, s): pass").body[0]
    assert isinstance(tree, ast.FunctionDef)
    cx = Context(tree, World(lambda x, s: None, (np.zeros(3), 0.0)), {})
    lifted = lift_statement(ast.parse(text).body[0], cx, rewritten)
    assert lifted is not None
    assert noted(lifted) == noted(ast.parse(text).body)


METHODS = (
    "(x + 1.0).clip(0.0, cleared(x))", "(x + 1.0)[:].clip(0.0, cleared(x))",
    "(x + 1.0).T.clip(0.0, cleared(x))", "(x * 2.0 if k[0] else x + 1.0).clip(0.0, cleared(x))",
    "x[k].clip(0.0, cleared(x))", "x[x > 1.0].clip(0.0, cleared(x))", "x[1].clip(0.0, cleared(x))",
    "x[1:].clip(0.0, cleared(x))", "x.clip(0.0, cleared(x))",
    "x.clip(0.0, (x := x * 0.0 + 2.0)[0])",
)
"""Calls of a method whose argument changes what its object is computed of, or binds its name."""


@pytest.mark.parametrize("call", METHODS)
def test_the_object_of_a_method_is_evaluated_first(call: str, tmp_path: Path) -> None:
    f = written(tmp_path, f"""
def cleared(x):
    x[:] = 0.0
    return 2.0

def f(x, k):
    return {call}
""").f
    fused = fuse(f, on_reject="raise")
    for n in (3, 200):
        args = [(np.arange(n) + 0.5, np.array([1, 0, 2])) for _ in range(2)]
        assert_same(outcome(fused, args[0]), outcome(f, args[1]), call)
    assert fused.stats.compiled == 2
