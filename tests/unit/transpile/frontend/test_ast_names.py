"""Names and scopes of syntax trees; whether a function is a generator."""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.frontend.ast_names import generator_yield

BODIES = [
    "yield x", "return x\nyield", "if False: yield", "x = [v for v in (yield)]\nreturn x",
    "if x is None: return\nyield from x", "try:\n    return 1\nfinally:\n    (yield)", "return x",
    "return lambda: (yield)", "def g():\n    yield x\nreturn g", "class C:\n    a = 1\nreturn x",
    "return [v for v in [lambda: (yield)]]", "return (v for v in [x])",
    "def g(a=(yield)):\n    return a", "return lambda a=(yield): a", "class C((yield)):\n    pass",
    "@(yield)\ndef g(): pass", "def g(*, a=(yield)): pass", "class C(metaclass=(yield)): pass",
]


@pytest.mark.parametrize("body", BODIES)
def test_generators_are_those_of_python(body: str) -> None:
    tree = ast.parse("def f(x):\n" + "\n".join("    " + line for line in body.split("\n")))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    names: dict[str, Any] = {}
    exec(compile(tree, "f", "exec"), names)
    is_generator = bool(names["f"].__code__.co_flags & inspect.CO_GENERATOR)
    assert (generator_yield(definition) is not None) is is_generator


def never_reached(x):
    s = 0.0
    for v in x:
        s += v
    return s
    yield


def folded(x):
    if x is None:
        return
    yield x


def by_type(x):
    if isinstance(x, float):
        return x * 2.0
    yield x


def inner(x):
    def g(v):
        if False:
            yield
        return v * 2.0
    return g(x)


def inner_lambda(x):
    return (lambda v: (yield))(x)


class Tree:
    def walk(self, c=None):
        if c is None:
            return
        yield c

    def rest(self, c=None):
        return self.walk(c)


def of_method(x):
    return Tree().rest(None)


CASES: list[tuple[Callable[..., Any], Any]] = [
    (never_reached, np.ones(3)), (folded, None), (by_type, 2.0), (inner, 2.0), (inner_lambda, 1.0),
    (of_method, 1.0), (Tree().walk, None),
]


@pytest.mark.parametrize(("function", "argument"), CASES, ids=[f.__qualname__ for f, _ in CASES])
def test_a_generator_of_which_no_yield_can_run_is_one(
    function: FunctionType, argument: Any
) -> None:
    """Its call runs nothing, and gives a generator."""
    plain = getattr(function, "__func__", function)
    owner = (function.__self__,) if hasattr(function, "__self__") else ()
    fused = fuse(plain, on_reject="silent")
    for _ in range(3):
        got = fused(*owner, argument)
        assert isinstance(got, GeneratorType)
        assert list(got) == list(plain(*owner, argument))
