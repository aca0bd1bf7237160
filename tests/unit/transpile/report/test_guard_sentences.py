"""Calls that Python computes: the reason is true, also where nothing was raised."""
from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopir.nodes import Call, Guard, Var
from transpile import fuse
from transpile.frontend.source import read_text
from transpile.report.guard_sentences import _guard_sentence
from transpile.report.user_terms import user_terms

X = np.arange(3)
BIG = 1 << 70
UNSIGNED = 1 << 63
MIXED = (1, "a", 2)
INFINITE = complex("inf+nanj")


class Counts:
    def __init__(self) -> None:
        self.big = BIG


def inverse_of_complex(z, n):
    return [z ** -1 for _ in range(n)]


def root_of_zero(z, n):
    return [z ** 0.5 for _ in range(n)]


def phases(x):
    return [cmath.phase(complex(v)) for v in x]


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("function", "arguments", "place"), [
    (inverse_of_complex, (INFINITE, 2), "Python"),
    (root_of_zero, (0j, 2), "`z ** 0.5`"),
    (phases, (np.array([np.inf + 1j]),), "Python"),
])
def test_nothing_is_said_to_be_raised_where_nothing_was(
    function: Callable[..., Any], arguments: tuple[Any, ...], place: str
) -> None:
    fused = fuse(function)
    fused(*arguments)
    (told,) = fused.report().rejections
    assert told.code == "GUARD_RAISES"
    assert told.message.startswith(place)
    assert told.message.endswith("; none came out of the call")
    assert "if the exception is meant" not in (told.help or "")


def sizes(z, n):
    total = 0.0
    for _ in range(n):
        total += abs(z)
    return total


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_an_overflow_of_abs_has_nothing_to_do_with_the_error_state_of_numpy() -> None:
    fused = fuse(sizes)
    with np.errstate(all="ignore"):
        fused(complex(1e308, 1e308), 3)
    (told,) = fused.report().rejections
    assert told.code == "GUARD_FLOAT_STATUS"
    assert "`abs` of a complex number" in told.message
    assert "errstate" not in (told.help or "")


def rest_by_global(x):
    return [v % BIG for v in x]


def rest_by_argument(x, m):
    return [v % m for v in x]


def rest_by_member(x, counts):
    return [v % counts.big for v in x]


def closure() -> Callable[..., Any]:
    limit = BIG

    def rest_by_closure(x):
        return [v % limit for v in x]

    return rest_by_closure


def helper(v):
    return v % BIG


def rest_by_helper(x):
    return [helper(v) for v in x]


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("function", "others", "name", "code", "help"), [
    (rest_by_global, (), "BIG", "LOWER_TYPE", "compute with floats"),
    (rest_by_argument, (UNSIGNED,), "m", "GUARD_INT_RANGE", "`np.uint64(...)`"),
    (rest_by_argument, (BIG,), "m", "GUARD_INT_RANGE", "compute with floats"),
    (rest_by_member, (Counts(),), "counts.big", "GUARD_INT_RANGE", "compute with floats"),
    (closure(), (), "limit", "LOWER_TYPE", "compute with floats"),
    (rest_by_helper, (), "BIG", "LOWER_TYPE", "compute with floats"),
])
def test_the_int_that_is_too_long_is_named(
    function: Callable[..., Any], others: tuple[Any, ...], name: str, code: str, help: str
) -> None:
    fused = fuse(function)
    assert fused([1, 2], *others) == [1, 2]
    (told,) = fused.report().rejections
    assert (told.code, told.message) == (code, f"`{name}` does not fit an int of 64 bits")
    assert help in (told.help or "")


def shifted_items(x):
    return [v * 2 for v in x]


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_an_item_that_is_too_long_is_not_beside_unsigned_numbers() -> None:
    fused = fuse(shifted_items)
    assert fused([1, 1 << 63]) == [2, 1 << 64]
    (told,) = fused.report([1, 1 << 63]).rejections
    assert told.message == "`x[1]` does not fit an int of 64 bits"
    assert "by `% m`" in (told.help or "")
    assert "unsigned" not in (told.help or "")


def second_of_global(x):
    return [MIXED[1] for _ in x]


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_the_item_of_a_global_that_does_not_fit_is_named() -> None:
    fused = fuse(second_of_global)
    assert fused(X) == ["a"] * 3
    (told,) = fused.report().rejections
    assert told.code == "GUARD_DTYPE"
    assert told.message == "`MIXED[1]` is of type str, and the first item is of type int"
    assert "float" not in (told.help or "")


@pytest.mark.parametrize(("names", "code", "said"), [
    ("n", "GUARD_INT_RANGE", "`n` fits its integers"),
    ("mn", "GUARD_INT_RANGE", "what is computed from `m` and `n` fits its integers"),
    ("kmn", "GUARD_DIVISION", "what is computed from `k`, `m` and `n` does not divide by zero"),
    ("mn", "GUARD_SHAPE", "the arrays of `m` and `n` fit"),
])
def test_guards_about_several_names_are_sentences(names: str, code: str, said: str) -> None:
    terms = user_terms(read_text("def f(k, m, n):\n    return k + m * n\n", "f", "f.py"), {})
    guard = Guard(Call("all", tuple(Var(name, "i64") for name in names), "bool"), code)
    assert _guard_sentence(guard, terms) == said


def mean(x):
    return x.mean()


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning", "ignore::RuntimeWarning")
def test_an_empty_array_is_called_empty() -> None:
    fused = fuse(mean)
    fused(np.ones(3))
    fused(np.ones(0))
    (told,) = fused.report(np.ones(3)).rejections
    assert told.message == "the array of `x.mean()` is empty"
    assert "lengths" not in (told.help or "")
    guards = fused.report(np.ones(3), verbose=True).guards
    assert guards == ("the array of `x.mean()` has items",)
