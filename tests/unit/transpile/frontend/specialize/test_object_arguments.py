"""Attributes that compiled methods set: in the end, or as Python does where it has to."""
from __future__ import annotations

import dataclasses
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse


class Model:
    gain = 2.0
    table = np.arange(3.0)

    def __init__(self, n: int = 6) -> None:
        self.a, self.t, self.n = np.arange(float(n)), 1.5, 0

    @property
    def size(self):
        return len(self.a)

    @staticmethod
    def twice(v):
        return v * 2

    def one(self, i):
        return self.a[i] * self.t + self.gain

    def count(self, v):
        for i in range(self.size):
            self.n += 1
            if self.a[i] > v:
                break
            self.t = self.a[i] * v
        return self.n

    def add(self, i):
        self.t += self.one(i) + self.table[i % 3]

    def summed(self, n):
        for i in range(n):
            self.add(i)
        return self.twice(self.t)

    def rebound(self, n):
        self.b = np.zeros(n)
        for i in range(n):
            self.b[i] = self.a[i] * self.t
        self.a = self.a * 2.0
        return self.b.sum()

    def early(self, v):
        if v > self.t:
            self.t = v
            return 1
        self.n = -1
        for i in range(3):
            self.n -= i
        return None

    def divided(self, v):
        for i in range(3):
            self.t = i + 0.5
            self.a[i] = v
            self.n = 6 // (2 - i)
        return self.n

    def listed(self, n):
        kept = []
        for i in range(n):
            kept.append(i * 2.0)
            self.n += 1
        self.kept = kept
        return kept

    def warned(self, v):
        for i in range(3):
            self.n = i
            self.t = self.a[i] / v
        return self.t


def state(m: Model) -> dict[str, Any]:
    return {k: (type(v), repr(v)) for k, v in vars(m).items()}


def outcome(f: Callable[..., Any], *args: Any) -> str:
    try:
        return repr(f(*args))
    except (AttributeError, ZeroDivisionError) as error:
        return str(error)


CALLS: list[tuple[Callable[..., Any], Any, bool]] = [
    (Model.count, 3.0, True), (Model.summed, 4, True), (Model.rebound, 4, True),
    (Model.early, 9.0, True), (Model.early, 0.0, True), (Model.divided, 1.0, False),
    (Model.warned, 2.0, True), (Model.listed, 3, False),
]


@pytest.mark.parametrize(("f", "v", "compiled"), CALLS, ids=lambda x: getattr(x, "__name__", ""))
def test_as_python(f: Callable[..., Any], v: Any, compiled: bool) -> None:
    fused, ours, theirs = fuse(f, on_reject="silent"), Model(), Model()
    for _ in range(3):  # types may change from one call to the next
        assert outcome(fused, ours, v) == outcome(f, theirs, v)
        assert state(ours) == state(theirs)
    assert bool(fused.stats.compiled) is compiled


def test_warnings_that_are_errors() -> None:
    fused, ours, theirs = fuse(Model.warned, on_reject="silent"), Model(), Model()
    for g, m in ((fused, ours), (Model.warned, theirs)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning):
                g(m, np.float64(0.0))
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            g(m, np.float64(0.0))
    assert state(ours) == state(theirs)


def test_what_a_class_has_is_read_at_each_call() -> None:
    class Own(Model):
        pass

    fused, m = fuse(Own.summed, on_reject="raise"), Own()
    assert fused(m, 2) == 20.0
    m.t, Own.gain = 1.5, 3.0
    assert fused(m, 2) == 26.0
    m.t, Own.add = 1.5, lambda self, i: None  # type: ignore[method-assign, assignment]
    assert fused(m, 2) == 3.0
    m.twice = lambda v: -v  # type: ignore[method-assign]
    assert fuse(Own.summed, on_reject="silent")(m, 2) == fused(m, 2) == -1.5


@dataclasses.dataclass(frozen=True)
class Frozen:
    t: float


class Watched(Model):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2 if name == "t" else value)


def moved(m, k):
    for i in range(k):
        m.t = m.t + i
    return m.t


def both(m, other):
    for i in range(3):
        m.t += i
        other.t -= m.t
    return other.t


def test_what_is_pythons() -> None:
    fused = fuse(moved, on_reject="silent")
    with pytest.raises(dataclasses.FrozenInstanceError):
        fused(Frozen(1.0), 2)
    ours, theirs = Watched(), Watched()
    assert fused(ours, 3) == moved(theirs, 3)
    one, two = Model(), Model()
    assert fuse(both, on_reject="silent")(one, one) == both(two, two)
    assert (one.t, ours.t) == (two.t, theirs.t)
    assert not fused.stats.compiled


class Counted:
    """A descriptor that tells how often it was read."""

    def __init__(self) -> None:
        self.reads = 0

    def __get__(self, owner: object, kind: type) -> float:
        self.reads += 1
        return 2.0 + self.reads


class Holds:
    counted = Counted()
    gain = 4.0

    def __init__(self) -> None:
        self.t = 1.0


lazy = types.ModuleType("lazy")
exec("asked = []\ndef __getattr__(name):\n    asked.append(name)\n    return 3.0", vars(lazy))


def of_the_class(x, o):
    t = 0.0
    for v in x:
        t += v * Holds.counted * Holds.gain
    return t


def of_the_object(x, o):
    t = 0.0
    for v in x:
        t += v * o.counted * o.gain
    return t


def of_the_module(x, o):
    t = 0.0
    for v in x:
        t += v * lazy.gain
    return t


@pytest.mark.parametrize("f", [of_the_class, of_the_object, of_the_module])
def test_what_runs_code_is_read_as_python_reads_it(f: Callable[..., Any]) -> None:
    seen = []
    for g in (f, fuse(f, on_reject="silent")):
        vars(Holds)["counted"].reads = 0
        lazy.asked.clear()
        results = [g(np.arange(4.0), Holds()) for _ in range(2)]
        seen.append((results, vars(Holds)["counted"].reads, list(lazy.asked)))
    assert seen[0] == seen[1]


class Base:
    __slots__ = ("a",)

    def __init__(self) -> None:
        self.a, self.b = 2.0, 3.0


class Derived(Base):
    __slots__ = ("b",)

    def line(self, x):
        out = np.empty(len(x))
        for i in range(len(x)):
            out[i] = x[i] * self.a + self.b
        return out


def test_slots_of_the_class_above() -> None:
    fused = fuse(Derived.line, on_reject="raise")
    assert fused(Derived(), np.arange(3.0)).tolist() == [3.0, 5.0, 7.0]
    assert fused.stats.compiled == 1


def weighted(m, k):
    t = 0.0
    for v in m.a:
        t = max(t, v * k * m.gain)
    return t


def weighted_twice(m, k):
    return weighted(m, k) + m.t


def keyed(d, k):
    return d["w"][k] * d["s"]


def inner_item(o, i):
    return o.inner.a[i] + o.pair[1]


def counted_up(m, k):
    m.n += k
    return m.n


def helper_in_a_loop(m):
    s = 0.0
    for k in range(3):
        s += weighted_twice(m, k)
    return s


def helper_in_comprehensions(m):
    return [weighted(m, k) + m.one(k) for k in range(3)], max(weighted_twice(m, k) for k in (1, 2))


def helper_of_a_helper(m):
    def twice(k):
        return m.one(k) * 2 + inner_item(m, k)

    return [twice(k) for k in range(2)]


def methods_in_comprehensions(m):
    return [m.one(k) for k in range(3)], sum([m.twice(m.t) for _ in range(3)]), m.size


def items_of_a_dict(m):
    d = m.d
    return [keyed(d, k) for k in range(3)], keyed(d, 1)


def items_of_members(m):
    return [inner_item(m, i) for i in range(2)], inner_item(m, 1)


HELPED = (
    helper_in_a_loop, helper_in_comprehensions, helper_of_a_helper, methods_in_comprehensions,
    items_of_a_dict, items_of_members,
)


def full_model() -> Model:
    m: Any = Model()
    m.d = {"w": np.arange(3.0), "s": 2.5, "unused": "text"}
    m.inner, m.pair = types.SimpleNamespace(a=np.arange(4.0), label="x"), (1, 2.5)
    return m


@pytest.mark.parametrize("f", HELPED, ids=lambda f: f.__name__)
def test_members_that_only_a_helper_reads(
    f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = fuse(f, on_reject="silent")
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for t in (1.5, 2, np.float32(0.5)):
        m = full_model()
        m.t = t
        assert repr(fused(m)) == repr(f(m))
    assert fused.stats.compiled == 3


def test_a_dict_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(d, n):
        return [keyed(d, k) for k in range(n)]

    fused = fuse(f, on_reject="silent")
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for d in ({"w": np.arange(3.0), "s": 2}, {"s": 0.5, "w": np.arange(4), "other": []}):
        assert repr(fused(d, 3)) == repr(f(d, 3))


def test_a_helper_that_is_bound_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(helper_in_comprehensions, on_reject="silent")
    m = full_model()
    assert repr(fused(m)) == repr(helper_in_comprehensions(m))
    for new in (keyed, lambda o, k: o.inner.a[k] * k, counted_up, lambda m, k: m.n - k):
        monkeypatch.setitem(globals(), "weighted", new)
        ours, theirs = full_model(), full_model()
        got, want = (_result(g, o) for g, o in ((fused, ours), (helper_in_comprehensions, theirs)))
        assert got == want
        assert repr(vars(ours)) == repr(vars(theirs))


def _result(f: Callable[..., Any], m: Model) -> str:
    try:
        return repr(f(m))
    except TypeError as error:
        return str(error)


def test_a_helper_that_sets_attributes_in_a_comprehension_is_pythons() -> None:
    def f(m):
        return [counted_up(m, k) + m.n for k in range(3)], m.n

    fused, ours, theirs = fuse(f, on_reject="silent"), full_model(), full_model()
    for _ in range(3):
        assert repr(fused(ours)) == repr(f(theirs))
        assert ours.n == theirs.n


def set_then_read(m, other, x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    m.t = s
    return other.t * 2


def set_from_what_is_set(m, other, x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    m.t = s
    other.n = other.t


def set_on_one_path(m, other, x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    if s > 2:
        m.t = s
        return s
    return other.t + s


@pytest.mark.parametrize("function", [set_then_read, set_from_what_is_set, set_on_one_path])
@pytest.mark.parametrize("cls", [Model, Watched])
def test_a_read_after_a_store_that_stays(function, cls) -> None:
    """Of two objects of one class, which may be one, and of a class that sets in its own way."""
    fused = fuse(function, on_reject="silent")
    for items in ([1.0, 2.0], [0.5]):
        one, two, three = cls(), cls(), cls()
        expected = function(one, one, np.array(items)), function(two, three, np.array(items))
        ours = [cls() for _ in range(3)]
        got = fused(ours[0], ours[0], np.array(items)), fused(*ours[1:], np.array(items))
        assert got == expected
        assert [(m.t, m.n) for m in ours] == [(m.t, m.n) for m in (one, two, three)]
        assert fused.report(*ours[1:], np.array(items)).regions  # only the loop is compiled


class Grid:
    """Methods, a property and a static method, called in updates of elements."""

    def __init__(self) -> None:
        self.rate, self.k, self.name = 0.1, 3, "model"
        self.u = np.arange(12.0).reshape(3, 4)

    def scaled(self, v):
        return v * self.rate

    def neighbours(self, i, j):
        return self.u[i, j] * 2 + self.k

    def adding(self, v):
        self.u[0, 0] += v
        return v

    @property
    def half(self):
        return self.rate / 2

    @staticmethod
    def tripled(v):
        return v * 3


def _scaled_and_more(model, v):
    return model.scaled(v) + model.k


def _step(model, x):
    for i in range(3):
        for j in range(4):
            model.u[i, j] += model.neighbours(i, j)


@pytest.mark.parametrize("update", [
    "x[i] += model.scaled(x[i])", "x[i] -= 2 * model.scaled(x[i])", "x[i] *= model.half",
    "x[i] += outside(model, x[i])", "x[i] += model.tripled(x[i])", "x[i] += model.adding(x[i])",
    "model.u[0, i % 4] += model.adding(x[i])", "model.u[0, i % 4] += model.scaled(x[i])",
])
@pytest.mark.parametrize("is_alias", [False, True])
def test_methods_in_updates_of_elements(update: str, is_alias: bool, tmp_path: Path) -> None:
    text = f"def f(model, x):\n    for i in range(len(x)):\n        {update}\n"
    f = written(tmp_path, text).f
    f.__globals__["outside"] = _scaled_and_more
    fused, results = fuse(f, on_reject="silent"), []
    for function in (f, fused):
        model = Grid()
        x = model.u[0] if is_alias else np.arange(7.0)
        function(model, x)
        results.append((x, model.u))
    for expected, found in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert is_alias or fused.stats.compiled == 1


def test_a_step_of_a_grid() -> None:
    fused, grids = fuse(_step), (Grid(), Grid())
    for function, model in zip((_step, fused), grids, strict=True):
        function(model, None)
    np.testing.assert_array_equal(grids[1].u, grids[0].u)
    assert fused.stats.compiled == 1


class OfMixedTuple:
    def __init__(self) -> None:
        self.t = (1, "x", 2.5)


def item_of_attribute(c, x):
    return c.t[1], x[0]


def item_at_computed_place(c, x):
    return c.t[len(x) - 2], x[0]


def unpacked_attribute(c, x):
    a, b, d = c.t
    return a, b, d, x[0]


@pytest.mark.parametrize("f", [item_of_attribute, item_at_computed_place, unpacked_attribute])
def test_the_item_of_a_tuple_that_is_not_compiled_is_named(f: Callable[..., Any]) -> None:
    rejection, *_ = fuse(f).report(OfMixedTuple(), np.arange(3.0)).rejections
    assert rejection.message == "`c.t[1]` is of type str, which is not compiled"


class Fitted:
    """A model as people write it: attributes of any type before the call, which sets them."""


def array_is_made(self: Any, x: Any) -> Any:
    self.w = np.zeros(len(x))
    self.losses = []
    for _ in range(3):
        self.w += x
        self.losses.append(self.w.sum())
    return self.w


def tuple_is_stored(self: Any, x: Any) -> Any:
    total = 0.0
    for v in x:
        total += v
    self.w = total, 2
    self.losses = [total, 1.0]
    return total


def read_before_it_is_set(self: Any, x: Any) -> Any:
    old = self.w
    self.w = 0.0
    for v in x:
        self.w += v
    return old


def set_on_one_path_alone(self: Any, x: Any) -> Any:
    total = 0.0
    for v in x:
        total += v
    if total > 2:
        self.w = total
    return total


def other_names(self: Any, x: Any) -> Any:
    self.losses = [v * 2 for v in x]
    self.w = x
    for i in range(len(x)):
        self.w[i] += 1
    self.copy = self.w
    return self.losses


SET = [
    array_is_made, tuple_is_stored, read_before_it_is_set, set_on_one_path_alone, other_names,
]
BEFORE = ["absent", None, "text", 3, np.ones(2), [1.0], (1, 2), {1: 2}, Model()]


@pytest.mark.parametrize("f", SET, ids=lambda f: f.__name__)
def test_what_an_attribute_was_before(f: Callable[..., Any]) -> None:
    """It may be of any type, which the new value need not have; the same objects are stored."""
    fused = fuse(f, on_reject="silent")
    for value in BEFORE:
        for x in (np.arange(3.0), np.zeros(0)):
            told = []
            for g in (f, fused):
                model, y = Fitted(), x.copy()
                if not isinstance(value, str) or value != "absent":
                    vars(model).update(w=value, losses=value)
                result = outcome(lambda: g(model, y))  # noqa: B023
                values = [y, *vars(model).values()]
                pairs = [(i, j) for i, a in enumerate(values) for j, b in enumerate(values)
                         if a is b and isinstance(a, (np.ndarray, list))]
                told.append((result, [*vars(model)], repr(values), pairs))
            assert told[1] == told[0], (value, len(x))
    always = f in (array_is_made, tuple_is_stored)
    assert fused.stats.compiled >= (2 * len(BEFORE) if always else 6)
