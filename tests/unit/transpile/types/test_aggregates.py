"""Attributes that are set: to one array or another, for the first time, of names alike."""
from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse
from transpile.types.typeof import argument_types
from transpile.types.value_types import ObjectType


def state(o: Any) -> dict[str, Any]:
    return {k: (type(v), repr(v)) for k, v in vars(o).items()}


class Buffers:
    def __init__(self) -> None:
        self.a, self.n_x = np.array([1.0, 5.0, -7.0]), 3.0


class Shared:
    gain, table = 2.0, np.arange(3.0)

    def __init__(self) -> None:
        self.x = 100.0


@dataclasses.dataclass
class Counted:
    n: int = 0
    x: float = 0.5


def replaced(o, k):
    for _ in range(3):
        o.a = o.a + k
    return o.a


def replaced_sometimes(o, k):
    if k > 1:
        o.a = o.a * k
    o.a[0] = 3.0


def replaced_by_count(o, k):
    for _ in range(k):
        o.a = o.a + 1.0
    return k


def swapped(o, k):
    o.b = o.a * 2.0
    for _ in range(k):
        o.a, o.b = o.b, o.a
    return o.a, o.n_x


@pytest.mark.parametrize("f", [replaced, replaced_sometimes, replaced_by_count, swapped])
def test_arrays_that_are_one_or_another(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="silent")
    for k in (3, 0, 2):
        ours, theirs = Buffers(), Buffers()
        got, wanted = fused(ours, k), f(theirs, k)
        assert repr(got) == repr(wanted)
        assert state(ours) == state(theirs)
        whole = got[0] if isinstance(got, tuple) else got
        assert not isinstance(whole, np.ndarray) or whole is ours.a
    assert fused.stats.compiled


def alike_named(o, o_n):
    s = 0.0
    for i in range(3):
        s += o.n_x
        s += o_n.x
        o.n_x = s
        o_n.x = float(i)
    return s


def test_attributes_whose_names_run_together() -> None:
    fused, ours, theirs = fuse(alike_named), (Buffers(), Shared()), (Buffers(), Shared())
    assert fused(*ours) == alike_named(*theirs)
    assert [*map(state, ours)] == [*map(state, theirs)]


def new_ones(o):
    o.z = 1.0
    o.b = 2.0
    for i in range(3):
        o.a[i] += o.b
        o.c = i


def test_new_attributes_come_in_order() -> None:
    fused, ours, theirs = fuse(new_ones), Buffers(), Buffers()
    fused(ours)
    new_ones(theirs)
    assert [*state(ours).items()] == [*state(theirs).items()]


def set_sometimes(o, k):
    s = 0.0
    for i in range(3):
        s += o.gain * o.x + i
        if s > k:
            o.gain = s
            o.table = o.table * 2.0
    return s


def set_early(o, k):
    if k > 5:
        return 1.0
    o.gain = k + 0.5
    return o.gain


def set_always(o, k):
    o.gain = k + 0.5
    for i in range(3):
        o.x = o.x * o.gain + i
    return o.gain


def counted(o, k):
    for i in range(9):
        if i > k:
            o.n += 1
    return o.n


@pytest.mark.parametrize(
    ("f", "made", "compiled"),
    [(set_sometimes, Shared, False), (set_early, Shared, False), (set_always, Shared, True),
     (counted, Counted, True)],
)
@pytest.mark.parametrize("own", [True, False])
def test_what_its_class_has_is_not_made_the_object_s(
    f: Callable[..., Any], made: Any, compiled: bool, own: bool
) -> None:
    fused = fuse(f, on_reject="silent")
    for k, first in ((1000, own), (3, own), (1000, not own), (3, not own)):
        ours, theirs = made(), made()
        for o in (ours, theirs) if first else ():
            o.gain = 1.5
        assert fused(ours, k) == f(theirs, k)
        assert state(ours) == state(theirs)
    assert bool(fused.stats.compiled) is compiled


class Matrix(ABC):
    """A matrix in compressed rows, made as SciPy makes its own."""

    def __init__(self, data, indices, indptr):
        self.data, self.indices, self.indptr = data, indices, indptr
        self._shape = len(indptr) - 1, 3

    @property
    def shape(self):
        return self._shape

    @abstractmethod
    def weight(self): ...


class Weighted(Matrix):
    def weight(self):
        return 2.0


class Settings(SimpleNamespace):
    scale = 2.0


def product(m, x, y):
    for i in range(m.shape[0]):
        total = 0.0
        for k in range(m.indptr[i], m.indptr[i + 1]):
            total += m.data[k] * x[m.indices[k]]
        y[i] = total * m.weight()


def scaled(p, x):
    total = 0.0
    for i in range(len(x)):
        x[i] = x[i] * p.scale + p.inner.offset
        total += p.table[i]
    return total


def counted(p, x):
    for i in range(len(x)):
        p.n += 1
        p.total = p.total + x[i]
    return p.n


CALLS: dict[Callable[..., Any], list[Any]] = {
    product: [Weighted(np.arange(4.0), np.array([0, 2, 1, 0]), np.array([0, 2, 3, 4]))],
    scaled: [
        kind(inner=SimpleNamespace(offset=offset), table=np.arange(3), **given)
        for kind, given in ((SimpleNamespace, {"scale": 3.0}), (Settings, {}))
        for offset in (1, 0.5)
    ],
    counted: [SimpleNamespace(n=0, total=0.5), SimpleNamespace(n=3, total=1.0)],
}


@pytest.mark.parametrize("f", CALLS)
def test_namespaces_and_objects_of_abstract_classes(f: Callable[..., Any]) -> None:
    g = fuse(f, on_reject="raise")
    for p in CALLS[f]:
        more = (np.zeros(3),) if f is product else ()
        args = p, np.array([1.0, 2.0, 4.0]), *more
        assert_same(outcome(g, args), outcome(f, args), repr(p))
    assert g.stats.compiled
    assert g.stats.replays == {}


@pytest.mark.parametrize("p", [
    SimpleNamespace(scale=2.0, table=np.arange(3)),
    SimpleNamespace(inner=SimpleNamespace(offset="1"), scale=2.0, table=np.arange(3)),
], ids=["no such attribute", "of another type"])
def test_attributes_that_do_not_fit(p: SimpleNamespace) -> None:
    """A call that Python ends with an exception ends with the same one, after other calls too."""
    g = fuse(scaled, on_reject="silent")
    for q in (CALLS[scaled][0], p, CALLS[scaled][0]):
        assert_same(outcome(g, (q, np.ones(3))), outcome(scaled, (q, np.ones(3))), repr(q))


class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def of(self, p: Any) -> Any:
        return self.factor * p.width

    def from_table(self, table: dict[str, float]) -> float:
        return self.factor * table.get("width", 0.5)


class Box:
    def __init__(self, width: float) -> None:
        self.width, self.label = width, "box"


def widened(scale, p, x):
    s = 0.0
    for v in x:
        s += v * scale.of(p)
    return s


def widened_by_table(scale, table, x):
    s = 0.0
    for v in x:
        s += v * scale.from_table(table)
    return s


@pytest.mark.parametrize(("f", "args"), [
    (widened, (Scale(2.0), Box(3.0))),
    (widened_by_table, (Scale(2.0), {"width": 3.0, "height": 1.0})),
])
def test_a_member_that_only_a_method_of_another_argument_reads(
    f: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    x = np.arange(5.0)
    g = fuse(f)
    assert g(*args, x) == f(*args, x)
    assert g.stats.compiled == 1


def test_members_that_no_code_names_are_not_in_the_signature() -> None:
    scale, box, _ = argument_types((Scale(2.0), Box(3.0), np.arange(5.0)), widened)
    assert isinstance(scale, ObjectType)
    assert isinstance(box, ObjectType)
    assert [key for key, _ in scale.parts] == ["factor"]
    assert [key for key, _ in box.parts] == ["width"]


class Rated:
    def __init__(self) -> None:
        self.rate = 2.0

    def of(self, v):
        return v * self.rate


class Doubled(Rated):
    def of(self, v):
        return Rated.of(self, v) * 2


def rate_of(o):
    return o.rate


class Rates:
    of = staticmethod(rate_of)


def by_function(o, x, f):
    s = 0.0
    for v in x:
        s += v * f(o)
    return s


def by_class(o, x, f):
    s = 0.0
    for v in x:
        s += v * Rates.of(o)
    return s


def by_base(o, x, f):
    s = 0.0
    for v in x:
        s += o.of(v)
    return s


@pytest.mark.parametrize("function", [by_function, by_class, by_base])
def test_members_that_other_functions_read(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is an argument, one that a class holds, a method of a base that is called by name.
    """
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    x = np.array([1.0, 2.0])
    assert fuse(function)(Doubled(), x, rate_of) == function(Doubled(), x, rate_of)
