"""Tracebacks of exceptions in regions have the lines that Python's have."""
from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transpile import fuse


def in_statement(x, k, seen):
    seen.append(str(k))
    s = 0
    for i in range(len(x)):
        s += x[i] // k
    seen.append(str(s))
    return s


def in_return(x, k, seen):
    seen.append(str(k))
    return sum(x[i] // k for i in range(len(x)))


def in_loop(x, k, seen):
    for name in ("a", "b"):
        seen.append(name.upper())
        t = 0
        for i in range(len(x)):
            t += x[i] // k
        seen.append(str(t))


def caught(x, k, seen):
    seen.append(str(k))
    try:
        t = 0
        for i in range(len(x)):
            t += x[i] // k
    except ZeroDivisionError as error:
        seen.append(str(lines_of(error)))
        raise ValueError(str(k)) from error
    return t


def recursive(x, k, seen):
    seen.append(str(k))
    t = 0
    for i in range(len(x)):
        t += x[i] // k
    return t + recursive(x, k - 1, seen)


def in_python(x, k, seen):
    t = 0
    for i in range(len(x)):
        t += x[i]
    seen.append(str(t))
    return int(str(k) + "a")


def lines_of(error: BaseException) -> list[tuple[int, str]]:
    """The lines of the traceback that are in a function of this file, and causes."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [(f.lineno or 0, f.name) for f in frames if f.name != "raised_by"]
    return lines + (lines_of(error.__cause__) if error.__cause__ else [])


def raised_by(f: Callable[..., Any], *args: Any) -> list[tuple[int, str]]:
    try:
        f(*args)
    except Exception as error:
        return lines_of(error)
    return []


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("f", [in_statement, in_return, in_loop, caught, recursive, in_python])
@pytest.mark.parametrize("k", [0, 2])
def test_lines_are_pythons(f: Callable[..., Any], k: int) -> None:
    globals_of = f.__globals__
    fused = fuse(f)
    x = [3, 4, 5] * 100
    original = globals_of[f.__name__]
    for _ in range(4):
        wanted_seen, seen = list[str](), list[str]()
        wanted = raised_by(f, x, k, wanted_seen)
        globals_of[f.__name__] = fused  # for recursion
        try:
            assert raised_by(fused, x, k, seen) == wanted
        finally:
            globals_of[f.__name__] = original
        assert seen == wanted_seen


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_an_exception_of_python_code_called_by_no_region_stays() -> None:
    def called(x, seen):
        t = 0.0
        for v in x:
            t += v
        seen.append(str(t))
        seen.fail()

    wanted = raised_by(called, np.ones(9), [])
    assert raised_by(fuse(called), np.ones(9), []) == wanted
