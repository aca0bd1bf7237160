"""Names and scopes of syntax trees; whether a function is a generator."""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType, GeneratorType
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.frontend.ast_names import (
    generator_yield,
    has_private_names,
    mangle_private_names,
)

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


@pytest.mark.parametrize("name", ["Model", "_Model", "__Model_", "M__", "___"])
@pytest.mark.parametrize("body", [
    "return self.__rate * __n + __Unit()",
    "__k = self.a.__b.__c__; del __k; return [__i for __i in __n.__items]",
    "def inner(__p, *, q=__n): return __p.__q(self.__r, __s=1)\n        return inner(self)",
    "return (lambda __v: __v)(__n), (__w := 2), self.plain, _one, __dunder__",
    "self.__x: int = 1; self.__y += self.__x",
    "import __module; return __module.__name",
    "global __g; __g = self.__rate",
    "class __Inner: __a = self.__rate\n        return __Inner",
])
def test_private_names_are_those_that_python_compiles(name: str, body: str) -> None:
    """Or the method is left as it is, and then it has private names still."""
    text = f"class {name}:\n    def __f(self, __n):\n        {body}\n"
    (cls,) = ast.parse(text).body
    assert isinstance(cls, ast.ClassDef)
    (method,) = cls.body
    assert isinstance(method, ast.FunctionDef)
    before = ast.dump(method)
    mangle_private_names(method, name)
    is_outer = name != "___" and not any(word in body for word in ("import", "global", "class"))
    assert (ast.dump(method) == before) is not is_outer
    if is_outer:
        assert not has_private_names(method)
    if is_outer or name == "___":
        within = compile(text, "f", "exec").co_consts[0].co_consts
        alone = compile(ast.Module([method], []), "f", "exec").co_consts
        names = [[_names(c) for c in codes if isinstance(c, CodeType)] for codes in (within, alone)]
        assert names[0] == names[1]


def _names(code: CodeType) -> list[tuple[str, ...]]:
    """The names in `code` and in the code objects in it."""
    inner = [names for c in code.co_consts if isinstance(c, CodeType) for names in _names(c)]
    return [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, *inner]


class _Meter:
    def __init__(self) -> None:
        self.__total = 0

    def __scaled(self, v: float) -> float:
        return v * 2

    @fuse(on_reject="raise")
    def read(self, values: list[float], __offset: int = 1) -> float:
        for v in values:
            self.__total += self.__scaled(v) + __offset
        return self.__total

    @fuse
    def missing(self, n: int) -> float:
        return sum(self.__nope * i for i in range(n))  # type: ignore[attr-defined]


def test_a_fused_method_with_private_names_is_compiled() -> None:
    ours, python = _Meter(), _Meter()
    read = _Meter.read.__wrapped__
    for values in [1.0, 2.5], [3.0]:
        assert ours.read(values) == read(python, values)
        assert vars(ours) == vars(python)
    assert _Meter.read.stats.compiled == 2
    report = str(_Meter.missing.report(ours, 3))
    assert "`__nope`" in report
    assert "_Meter__" not in report
