"""Calls of fused functions without a tuple of the arguments: what they get, and who owns it."""
from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from targets.abi.native_entry import Spec
from targets.abi.vectorcall import Vectorcall, attach_call
from transpile import fuse

HAVE_VECTORCALL = 1 << 11


def is_attached(f: Any) -> bool:
    """Whether Python calls the C function of the object."""
    return bool(type(f).__flags__ & HAVE_VECTORCALL)


def scaled(x, factor=2.0, *, shift=0.5):
    return x * factor + shift


def positional_only(x, factor, /):
    return x * factor


def with_rest(x, *more, shift=0.0):
    total = 0.0
    for v in more:
        total += v
    return x + total + shift


def with_options(x, **options):
    return x + 1.0


X = np.arange(5.0)


class Name(str):
    """A keyword that is no plain str."""


CALLS: list[Callable[[Any], Any]] = [
    lambda f: f(X), lambda f: f(X, 3.0), lambda f: f(X, factor=3.0), lambda f: f(factor=3.0, x=X),
    lambda f: f(X, shift=1.0), lambda f: f(X, 3.0, shift=1.0), lambda f: f(*(X, 3.0)),
    lambda f: f(**dict(x=X, factor=4.0)), lambda f: f(**{"".join(("fac", "tor")): 4.0, "x": X}),
    lambda f: f(X, **{Name("factor"): 4.0}), lambda f: f(), lambda f: f(X, x=X),
    lambda f: f(X, 3.0, 4.0), lambda f: f(X, wrong=1.0), lambda f: f(shift=1.0),
    lambda f: f(X, 3.0, 4.0, shift=1.0), lambda f: f(X, a=1.0, b=2.0), lambda f: f(None),
    lambda f: f(X.astype(np.float32)), lambda f: f(X[::2]), lambda f: f.__call__(X, 3.0),
    lambda f: f.__get__(X)(3.0), lambda f: f.__get__(X)(), lambda f: list(map(f, [X], [3.0])),
]


@pytest.mark.parametrize("function", [scaled, positional_only, with_rest, with_options])
def test_any_call(function: Any) -> None:
    """Also if the installed call is an inline cache, which has several rows after some calls."""
    fused: Any = fuse(function, on_reject="silent")
    for _ in range(3):
        for call in CALLS:
            for _ in range(3):
                got = outcome(partial(call, fused), ())
                assert_same(got, outcome(partial(call, function), ()), f"call {CALLS.index(call)}")
    assert is_attached(fused) or isinstance(vars(type(fused))["__call__"].__func__, type(scaled))


def attached() -> Any:
    """A fused function that C performs as a whole."""
    def increased(x):
        return x + 1.0

    fused: Any = fuse(increased, on_reject="raise")
    for _ in range(3):
        fused(X)
    call = vars(type(fused))["__call__"].__func__
    assert type(call) is BuiltinFunctionType
    assert is_attached(fused)
    return fused


def test_calls_keep_the_counts_of_references() -> None:
    fused = attached()
    owned = [fused._spec, X, X.dtype, fused]
    before = [sys.getrefcount(of) for of in owned]
    for _ in range(1000):
        fused(X)
        fused(x=X)
    assert [sys.getrefcount(of) for of in owned] == before


def test_a_function_that_nothing_refers_to_is_freed() -> None:
    fused = attached()
    seen, words = weakref.ref(fused), weakref.ref(fused._spec)
    del fused
    gc.collect()
    assert seen() is None
    assert words() is None


def test_without_a_builtin_the_class_is_asked() -> None:
    """So it is where the garbage collector has cleared the object."""
    fused = attached()
    del fused._spec
    assert is_attached(fused)
    assert (fused(X) == X + 1.0).all()
    assert (fused(x=X) == X + 1.0).all()


def test_another_call_takes_its_place() -> None:
    """A function in Python takes the flag away, also while a call of the builtin runs."""
    fused = attached()
    builtin = vars(type(fused))["__call__"].__func__
    assert isinstance(fused, Vectorcall)
    for _ in range(3):
        attach_call(fused, lambda x: "python")
        assert not is_attached(fused)
        assert fused(X) == "python"
        attach_call(fused, builtin)
        assert is_attached(fused)
        assert (fused(X) == X + 1.0).all()
    assert isinstance(builtin.__self__, Spec)


def test_a_call_that_replaces_what_runs_it() -> None:
    """The builtin that runs, and the function that it calls, are freed by that call."""
    kept: list[Any] = []

    def function(x):
        return x + 1.0

    fused: Any = fuse(function, on_reject="raise")
    for _ in range(3):
        fused(X)

    def replacing(x: Any) -> str:
        attach_call(fused, lambda x: "after")
        gc.collect()
        return "during"

    from targets.abi.inline_cache import CacheRow, inline_cache
    from targets.abi.native_entry import ParameterList

    parameters = ParameterList.of(function)
    assert parameters is not None
    cache = inline_cache("f", parameters, [CacheRow(replacing, None)], replacing)
    assert cache is not None
    kept += [weakref.ref(cache.__self__), weakref.ref(replacing)]  # type: ignore[attr-defined]
    attach_call(fused, cache)
    del cache, replacing
    assert is_attached(fused)
    assert fused(X) == "during"
    assert fused(X) == "after"
    assert [r() for r in kept] == [None, None]


def a_class(decorate: Callable[[Any], Any]) -> Any:
    """A class whose methods call one another in every way that Python binds them."""

    class Base:
        factor = 2.0

        @decorate
        def scaled(self, x):
            return x * self.factor

        @staticmethod
        @decorate
        def shifted(x):
            return x + 1.0

        @classmethod
        @decorate
        def of_class(cls, x):
            return x * cls.factor

        @property
        @decorate
        def half(self):
            return self.factor / 2.0

        @decorate
        def __call__(self, x):
            return x - self.factor

    class Derived(Base):
        factor = 3.0

        @decorate
        def scaled(self, x):
            return super().scaled(x) + 1.0

    return Derived


BINDINGS: list[Callable[[Any], Any]] = [
    lambda c: c().scaled(X), lambda c: c.scaled(c(), X), lambda c: c().scaled(x=X),
    lambda c: c.shifted(X), lambda c: c().shifted(X), lambda c: c.of_class(X), lambda c: c().half,
    lambda c: c()(X), lambda c: [m(X) for m in [c().scaled]], lambda c: c().scaled.__self__.factor,
    lambda c: c().scaled(), lambda c: c.scaled(X), lambda c: c().scaled(X, X), lambda c: c()(),
    lambda c: overridden(c()).scaled(X), lambda c: rebound(c).scaled(X),
]


def overridden(instance: Any) -> Any:
    """With an attribute that stands before the method."""
    instance.scaled = lambda x: x - 100.0
    return instance


def rebound(made: Any) -> Any:
    """An object of a class whose method is another one after a call."""
    one = made()
    one.scaled(X)
    made.scaled = lambda self, x: x - 200.0
    return one


@pytest.mark.parametrize("case", range(len(BINDINGS)))
def test_methods_are_bound_as_python_binds_them(case: int) -> None:
    plain, made = a_class(lambda f: f), a_class(partial(fuse, on_reject="silent"))
    for _ in range(4):
        got = outcome(partial(BINDINGS[case], made), ())
        assert_same(got, outcome(partial(BINDINGS[case], plain), ()), f"binding {case}")


def test_a_method_call_makes_no_bound_method() -> None:
    """CPython makes none of a class with Py_TPFLAGS_METHOD_DESCRIPTOR."""
    made = a_class(partial(fuse, on_reject="silent"))
    made().scaled(X)
    assert type(vars(made)["scaled"]).__flags__ & 1 << 17
