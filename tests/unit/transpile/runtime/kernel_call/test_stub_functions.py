"""Stubs bind arguments as the original does, with the defaults that it has when it is called."""
from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime.kernel_call.stub_functions import argument_collector, made_function


def scaled(x, factor=2.0, offset=1.0):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * factor + offset
    return out


def with_keywords(x, /, factor=2.0, *, offset=1.0):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * factor + offset
    return out


def refused(x, factor=2.0, offset=1.0):
    return [v * factor + offset for v in sorted(x, key=lambda v: (v, str(v)))]


def copy_of(function: Callable[..., Any]) -> Any:
    """The function anew, as its defaults are about to change."""
    made = type(function)(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__ and dict(function.__kwdefaults__)
    return made


@pytest.mark.parametrize("function", [scaled, with_keywords, refused], ids=lambda f: f.__name__)
@pytest.mark.parametrize("calls", [0, 1, 3, 200])
def test_defaults_that_change_later_count(function: Callable[..., Any], calls: int) -> None:
    f = copy_of(function)
    fused, x = fuse(f, on_reject="silent"), np.arange(4.0)

    def agrees() -> None:
        for args, named in (((x,), {}), ((x, 5.0), {}), ((x,), {"offset": 7.0})):
            assert list(fused(*args, **named)) == list(f(*args, **named))

    for _ in range(calls):
        agrees()
    f.__defaults__ = tuple(v + 1 for v in f.__defaults__)
    for _ in range(2):
        agrees()
    if f.__kwdefaults__:
        f.__kwdefaults__["offset"] = 10.0
        agrees()
    f.__defaults__ = f.__kwdefaults__ = None
    for _ in range(2):
        with pytest.raises(TypeError, match="missing"):
            fused(x)
    assert list(fused(x, factor=2.0, offset=3.0)) == list(f(x, factor=2.0, offset=3.0))
    assert fused.__defaults__ is None
    assert inspect.signature(fused) == inspect.signature(f)


def test_every_kind_of_parameter() -> None:
    def f(a, /, b, c=3, *args, d, e=5, **more):
        return None

    collect = argument_collector(f)
    assert collect(1, 2, d=4) == (1, 2, 3, 4, 5, (), {})
    f.__defaults__, f.__kwdefaults__ = (30,), {"e": 50}
    assert collect(1, 2, d=4) == (1, 2, 30, 4, 50, (), {})
    assert collect(1, 2, 6, 7, d=4, z=1) == (1, 2, 6, 4, 50, (7,), {"z": 1})
    f.__kwdefaults__ = {}
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'e'"):
        collect(1, 2, d=4)
    with pytest.raises(TypeError, match="missing 2 required positional"):
        collect(d=4)


def with_cells(f: Any, make: Any, _0: Any) -> Any:
    """Its function has the names of variables of the code that makes functions."""
    def inner(x, k=1, /, names=2, *, values=3, free):
        return x, k, names, values, free, f, make, _0

    return inner


def test_a_made_function_is_the_one_with_this_code() -> None:
    """Also its cells are the same, not others with the same values."""
    for original in (with_cells(4, 5, 6), scaled, with_keywords, lambda: 7):
        defaults, named = original.__defaults__ or (), original.__kwdefaults__ or {}
        names = {"np": np, "__name__": "elsewhere"}
        code, closure = original.__code__, original.__closure__ or ()
        made = made_function(code, names, closure, defaults, named)
        assert made.__code__ is code
        assert made.__globals__ is names
        assert [*map(id, made.__closure__ or ())] == [*map(id, closure)]
        assert (made.__defaults__ or (), made.__kwdefaults__ or {}) == (defaults, named)
        assert inspect.signature(made) == inspect.signature(original)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="all functions are specialized")
@pytest.mark.parametrize("defaults", [(), (1,)])
def test_calls_of_a_made_function_are_specialized(defaults: tuple[Any, ...]) -> None:
    def countdown(n, k=1):
        return n and countdown(n - k, k)

    source = inspect.getsource(countdown).replace("    ", "", 1)
    names: dict[str, Any] = {}
    exec(source, names)
    code = names["countdown"].__code__.replace()
    made = names["countdown"] = made_function(code, names, (), defaults)
    for _ in range(20):
        assert made(50, 1) == 0
    found = {i.opname for i in dis.get_instructions(made, adaptive=True)}
    assert found & {"CALL_PY_EXACT_ARGS", "CALL_PY_GENERAL"}
