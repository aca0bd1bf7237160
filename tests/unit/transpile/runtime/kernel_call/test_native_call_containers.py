"""Lists, tuples and objects in calls that are one builtin; what does not fit them is Python's."""
from __future__ import annotations

import sys
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

from transpile import fuse

WEIGHTS = [0.5, 2.0, -1.0, 4.0]


@pytest.fixture(autouse=True)
def _no_other_road(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)


class Grid:
    def __init__(self, a: Any, step: Any = 0.5) -> None:
        self.a, self.step, self.count = a, step, 0


class Outer:
    def __init__(self, grid: Any, n: Any) -> None:
        self.grid, self.n = grid, n


Pair = namedtuple("Pair", "x y")


def summed(x):
    s = 0.0
    for v in x:
        s += v
    return s


def doubled(x, y):
    for i in range(len(x)):
        x[i] = x[i] * 2 + y[i]
    return x


def flattened(rows):
    s = 0
    for row in rows:
        for v in row:
            s += v
    return s


def listed(x):
    out = np.empty(len(x))
    for i, v in enumerate(x):
        out[i] = v * WEIGHTS[i % 4]
    return out


def weighed(grid):
    s = 0.0
    for i in range(len(grid.a)):
        s += grid.a[i] * grid.step
    return s


def scaled(grid):
    for i in range(len(grid.a)):
        grid.a[i] *= grid.step
    grid.count = len(grid.a)


def inner(outer):
    out = np.zeros(outer.n)
    for i in range(outer.n):
        out[i] = outer.grid.a[i] + outer.grid.step
    return out


def dotted(pair):
    s = 0.0
    for i in range(len(pair.x)):
        s += pair.x[i] * pair[1][i]
    return s


def counted(shape):
    for k in range(2):
        shape[k] = k
    return shape[0]


def square(shape):
    out = np.zeros(shape)
    for i in range(shape[0]):
        for j in range(shape[1]):
            out[i, j] = i * j
    return out


def configured(options):
    s = 0.0
    for v in options["values"]:
        s += v * options["by"]["step"]
    return s


def raised(options):
    values = options["values"]
    for i in range(len(values)):
        values[i] += options["by"]["step"]


def options(values: Any, step: Any = 0.5) -> dict[str, Any]:
    return {"values": values, "by": {"step": step}}


def numbers(n: int = 9) -> list[float]:
    return [k * 0.25 - 1 for k in range(n)]


def reals(n: int = 9) -> np.ndarray:
    return np.arange(n) * 0.25 - 1


CALLS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (summed, lambda: (numbers(),)),
    (doubled, lambda: (numbers(), numbers())),
    (flattened, lambda: ([[1, 2], [3, 4], [5, 6]],)),
    (listed, lambda: (numbers(),)),
    (weighed, lambda: (Grid(reals()),)),
    (scaled, lambda: (Grid(reals()),)),
    (inner, lambda: (Outer(Grid(reals()), 5),)),
    (dotted, lambda: (Pair(reals(), reals()),)),
    (square, lambda: ((3, 4),)),
    (configured, lambda: (options(numbers()),)),
    (configured, lambda: (options(reals()),)),
    (raised, lambda: (options(numbers()),)),
    (raised, lambda: (options(reals()),)),
]


def seen(value: Any) -> Any:
    """What can be compared of a value."""
    match value:
        case Grid():
            return "grid", seen(value.a), seen(value.step), seen(value.count)
        case Outer():
            return "outer", seen(value.grid), seen(value.n)
        case Computed():
            return "computed"
        case list() | tuple():
            return type(value).__name__, [seen(v) for v in value]
        case dict():
            return type(value).__name__, [(k, seen(v)) for k, v in value.items()]
        case np.ndarray():
            return value.dtype, value.shape, value.tobytes()
        case _:
            return type(value), repr(value)


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        got = f(*args)
    except Exception as error:
        return type(error), str(error), seen(args)
    places = [k for k, a in enumerate(args) if a is got]
    return places or seen(got), seen(args)


@pytest.mark.parametrize(("function", "make"), CALLS)
def test_it_is_one_builtin(
    function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]
) -> None:
    f = fuse(function)
    for _ in range(3):
        assert outcome(f, make()) == outcome(function, make())
    assert type(vars(type(f))["__call__"].__func__) is BuiltinFunctionType
    assert f.stats.compiled == 3
    assert f.stats.replays == {}


class Other(Grid):
    pass


class Computed:
    step, count = 0.5, 0

    @property
    def a(self) -> np.ndarray:
        return reals(3)


class Defaults(dict[str, Any]):
    """A dict that has items without keys."""

    def __missing__(self, key: str) -> Any:
        return [1.0, 2.0]


def shared() -> tuple[Any, ...]:
    x = numbers()
    return x, x


UNFIT: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (doubled, shared),
    (doubled, lambda: (numbers(), numbers(3))),
    (doubled, lambda: (tuple(numbers()), numbers())),
    (summed, lambda: ([1.0, 2, 3.0],)),
    (summed, lambda: ([1.0, None],)),
    (summed, lambda: ([],)),
    (flattened, lambda: ([[1, 2], [3]],)),
    (flattened, lambda: ([[1, 1 << 70]],)),
    (weighed, lambda: (Grid(reals(), 2),)),
    (weighed, lambda: (Grid(numbers()),)),
    (weighed, lambda: (Other(reals()),)),
    (weighed, lambda: (Computed(),)),
    (weighed, lambda: (None,)),
    (inner, lambda: (Outer(Other(reals()), 5),)),
    (inner, lambda: (Outer(Grid(reals()), 50),)),
    (inner, lambda: (Outer(Grid(reals()), -1),)),
    (dotted, lambda: ((reals(), reals()),)),
    (dotted, lambda: (Pair(reals(), reals(3)),)),
    (counted, lambda: ((3, 4),)),
    (square, lambda: ((3, 4, 5),)),
    (square, lambda: ((3, 2.0),)),
    (configured, lambda: ({"by": {"step": 0.5}},)),
    (configured, lambda: ({"values": numbers(), "by": {}},)),
    (configured, lambda: ({"values": numbers(), "by": None},)),
    (configured, lambda: (options(numbers(), 2),)),
    (configured, lambda: (options([1.0, None]),)),
    (configured, lambda: ({**options(numbers()), "more": 1},)),
    (configured, lambda: (OrderedDict(options(numbers())),)),
    (configured, lambda: (Defaults(by={"step": 2.0}),)),
    (raised, lambda: (options(numbers(), None),)),
    (raised, lambda: (options(tuple(numbers())),)),
]


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("function", "make"), UNFIT)
def test_what_does_not_fit(
    function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]
) -> None:
    f = fuse(function)
    for known, fitting in CALLS:
        if known is function:
            f(*fitting())
    for _ in range(2):
        assert outcome(f, make()) == outcome(function, make())


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_attributes_that_are_gone() -> None:
    f, grid = fuse(weighed), Grid(reals())
    f(grid)
    del grid.step
    with pytest.raises(AttributeError, match="step"):
        f(grid)


def test_the_list_of_a_name_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    f = fuse(listed)
    before = f(numbers())
    monkeypatch.setattr(f"{__name__}.WEIGHTS", [8.0, *WEIGHTS[1:]])
    after = f(numbers())
    assert after[0] == before[0] * 16
    assert after[1] == before[1]


def test_nothing_is_kept() -> None:
    grid, values, pair = Grid(reals()), numbers(), Pair(reals(), reals())
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (fuse(scaled), (grid,)), (fuse(doubled), (values, numbers())), (fuse(dotted), (pair,)),
        (fuse(inner), (Outer(grid, 2),)), (fuse(raised), (given := options(numbers()),)),
    ]
    for f, args in calls:
        f(*args)
    held = [grid, grid.a, values, pair, pair.x, given, *given.values()]
    counts = [sys.getrefcount(v) for v in held]
    for f, args in calls * 50:
        f(*args)
    grid.a.sort()
    assert [sys.getrefcount(v) for v in held] == counts


def test_what_warns_is_pythons() -> None:
    f = fuse(scaled)
    f(Grid(reals()))
    with np.errstate(all="raise"):
        for _ in range(2):
            grid = Grid(np.array([1.0, 1e300, 2.0]), 1e300)
            with pytest.raises(FloatingPointError):
                f(grid)
            assert [*grid.a] == [1e300, 1e300, 2.0]
            assert grid.count == 0
