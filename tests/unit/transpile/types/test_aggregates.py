"""Attributes that are set: to one array or another, for the first time, of names alike."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transpile import fuse


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
