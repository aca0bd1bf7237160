"""Arguments of which only the type decides anything: another type gets another answer."""
# ruff: noqa: B018, E721, RET504, SIM103 (functions as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from transpile import fuse

VALUES: tuple[Any, ...] = (
    np.zeros(3), np.zeros(3, np.float32), np.zeros((2, 2)), np.array(1.0), np.float32(3), 2, True,
    None, "s", [1, 2], (1, 2),
)


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


def made(x, y):
    return np.zeros(3, dtype=x.dtype)


def made_and_added(x, y):
    return np.zeros(3, dtype=x.dtype) + y


def ranks(x, y):
    if np.ndim(x) != 0:
        return False
    return True


def chosen(x, y):
    s = 0.0
    for v in y:
        if np.ndim(x) == 0:
            s += v
    return s


def counted(x, y):
    s = 0.0
    for v in y:
        s += v * x.ndim
    return s


def sized(x, y):
    s = 0.0
    for v in y:
        s += v * (2.0 if x.dtype == np.float64 else 3.0)
    return s


def sized_by_text(x, y):
    s = 0.0
    for v in y:
        s += v * (2.0 if x.dtype == np.dtype("float32") else 3.0)
    return s


def sized_by_class(x, y):
    if x.dtype != np.dtype(float) or x.dtype in (np.dtype("i4"), np.dtype(np.int8)):
        return y * 2
    return y * 3


def sized_by_nothing(x, y):
    if x.dtype == np.dtype("no such"):
        return y * 2
    return y * 3


def classified(x, y):
    s = 0.0
    for v in y:
        s += v * (2.0 if isinstance(x, float) else 3.0)
    return s


def bound_anew(x, y):
    z = np.ones(len(y), x.dtype)
    x = z * 2
    return x


def in_a_branch(x, y):
    if y is None:
        return x
    z = np.zeros(3, x.dtype)
    for i in range(3):
        z[i] = y[i]
    return z


def held(x, y):
    return np.zeros(3, dtype=x.held.dtype) + y


def outcome(f: Callable[..., Any], *args: Any) -> str:
    try:
        return repr(f(*args))
    except Exception as error:
        return repr(error)


FUNCTIONS = (
    made, made_and_added, ranks, chosen, counted, sized, classified, bound_anew, in_a_branch, held,
    sized_by_text, sized_by_class,
)


@pytest.mark.share(10)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_of_another_type(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="silent")
    y = np.arange(3.0)
    for value in (*VALUES, *reversed(VALUES)):
        x = Holder(value) if f is held else value
        assert outcome(fused, x, y) == outcome(f, x, y), f"{value!r}"
    assert fused.stats.compiled


def test_a_dtype_that_does_not_exist() -> None:
    fused = fuse(sized_by_nothing, on_reject="silent")
    y = np.arange(3.0)
    for _ in range(2):
        assert outcome(fused, y, y) == outcome(sized_by_nothing, y, y)


def test_dtype_is_bound_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(sized_by_text, on_reject="silent")
    x, y = np.zeros(2, np.float32), np.arange(3.0)
    before = np.dtype
    for new in (before, lambda name: before("f8"), before):
        monkeypatch.setattr(np, "dtype", new)
        assert fused(x, y) == sized_by_text(x, y)


free = np.zeros(3)


def test_of_a_global() -> None:
    global free

    def like(y):
        return np.zeros(3, dtype=free.dtype) + y

    fused = fuse(like, on_reject="silent")
    for dtype in ("f4", "f8", "i2", "f4"):
        free = np.zeros(3, dtype)
        y = np.ones(3, "i1")
        assert outcome(fused, y) == outcome(like, y)
    assert fused.stats.compiled


def test_a_dtype_is_no_class() -> None:
    """It may stand for its class, but is not callable, and is another object."""

    def called(x, y):
        s = 0.0
        for v in y:
            s += v
        return x.dtype(1), s

    def called_by_name(x, y):
        t, s = x.dtype, 0.0
        for v in y:
            s += v
        return t(1), s

    def compared(x, y):
        t = x.dtype
        s = 0.0
        for v in y:
            s += v
        return t is x.dtype, t is not np.float64, t == np.float64, t.type(s)

    for f in (called, called_by_name, compared):
        fused = fuse(f, on_reject="silent")
        for x in (np.zeros(3), np.zeros(2, "i4")):
            assert outcome(fused, x, np.arange(3.0)) == outcome(f, x, np.arange(3.0))


def in_a_set_of_classes(x):
    return 1 if x.dtype in {np.float64, np.float32} else 2


def in_a_list_of_classes(x):
    return 1 if x.dtype in [np.float64, np.float32] else 2


def list_and_tuple(x):
    return 1 if [x.ndim] == (1,) else 2


def sets_in_another_order(x):
    return 1 if {x.ndim, 2} == {2, x.ndim} else 2


def subset(x):
    return 1 if {x.ndim, 3} >= {3} else 2


def of_a_list_of_classes(x):
    return 1 if isinstance(x, [np.ndarray]) else 2


@pytest.mark.parametrize("f", [
    in_a_set_of_classes, in_a_list_of_classes, list_and_tuple, sets_in_another_order, subset,
    of_a_list_of_classes,
], ids=lambda f: f.__name__)
def test_displays_are_no_tuples(f: Callable[..., Any]) -> None:
    x, fused = np.arange(3.0), fuse(f, on_reject="silent")
    assert outcome(fused, x) == outcome(f, x)
    assert fused.stats.compiled == (f in (in_a_set_of_classes, in_a_list_of_classes))


def bound_in_a_loop(xs):
    for _ in xs:
        k = None
    return k is None, k


def read_in_a_loop(xs):
    for _ in xs:
        k = None
    s = 0.0
    for v in xs:
        s += v if k is None else k
    k
    return s


@pytest.mark.parametrize("f", [bound_in_a_loop, read_in_a_loop], ids=lambda f: f.__name__)
def test_of_a_name_that_may_have_no_value(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="raise")
    for xs in ([1.0, 2.0], [], [3.0]):
        assert outcome(fused, xs) == outcome(f, xs)
    assert fused.stats.compiled == 2


def list_argument(x):
    s = 0.0
    for v in x:
        s += v if isinstance(x, list) else -v
    return s, type(x) is list, isinstance(x, (tuple, np.ndarray)), type(x) == tuple


def list_of_its_own(x):
    h = [v for v in x]
    if not isinstance(h, list):
        h[0] = 3.0
    return h, isinstance(h, tuple)


def list_or_array(x):
    h = [v for v in x]
    if len(h) == 2:
        h = np.array(h)
    return 1.0 if isinstance(h, list) else 2.0


def rows(x):
    s = 0.0
    for v in x:
        s += v
    return s, isinstance([[s]], list)


@pytest.mark.parametrize(
    "f", [list_argument, list_of_its_own, list_or_array, rows], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_classes_of_lists(f: Callable[..., Any]) -> None:
    class Own(list):  # type: ignore[type-arg]  # of any items
        pass

    fused = fuse(f)
    for xs in ([1.0, 2.0], [], (1.0, 2.0, 3.0), np.ones(3), b"ab", Own([1.0, 3.0])):
        assert outcome(fused, xs) == outcome(f, xs)
    assert fused.stats.compiled or f is list_or_array


class Disc:
    def __init__(self, size: float) -> None:
        self.size = size


class Ring(Disc):
    def __init__(self, size: float, hole: float = 0.5) -> None:
        super().__init__(size)
        self.hole = hole


class Arc(Ring):
    pass


class Disguised(Disc):
    """Not a ring, though `isinstance` says so."""

    hole = 2.0

    @property  # type: ignore[misc]  # hides the class
    def __class__(self) -> type:  # type: ignore[override]
        return Ring


class Dimensions(NamedTuple):
    size: float
    hole: float


def of_subclasses(o, n):
    s = 0.0
    for i in range(n):
        s += o.size * i - o.hole if isinstance(o, Ring) else o.size
    return s


def of_one_class(o, n):
    s = 0.0
    for i in range(n):
        if type(o) is Ring:
            s += o.hole * i
        elif type(o) != Disc:
            s -= i
    return s


def bound_to_another(o, n):
    s = 0.0
    for i in range(n):
        if isinstance(o, Ring):
            s += o.hole * i
            o = Disc(3.0)
        else:
            s += o.size
    return s


def of_containers(o, n):
    s = 0.0
    for i in range(n):
        if isinstance(o, dict):
            s += o["size"] * i
        elif isinstance(o, tuple):
            s += o[0]
        elif isinstance(o, Disc):
            s -= o.size
    return s


def of_tuples(o, n):
    q, s = o, 0.0
    for i in range(n):
        s += o[0] * i if isinstance(q, Dimensions) else i
    return s, type(o) is tuple, isinstance(o, tuple), isinstance(o, list)


def in_a_helper(o, n):
    def factor(v):
        return 2.0 if isinstance(v, Dimensions) else 3.0

    s = 0.0
    for i in range(n):
        s += factor(o) * i + factor((1.0, 2.0))
    return s


@pytest.mark.parametrize(
    "f", [of_subclasses, of_one_class, bound_to_another, of_containers, of_tuples, in_a_helper],
    ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_classes_of_objects(f: Callable[..., Any]) -> None:
    disguised = Disguised(2.0)
    disguised.hole = 4.0
    fused = fuse(f)
    for o in (
        Disc(1.0), Ring(2.0), Disc(3.0), Arc(2.5, 1.0), disguised, Dimensions(1.0, 2.0),
        {"size": 3.0}, {"size": 3}, (1.0, 2), (1, 2),
    ):
        assert outcome(fused, o, 4) == outcome(f, o, 4)
    assert fused.stats.compiled > 2 or f is bound_to_another
