"""Versions of dicts, by which C sees that no name has been rebound since it looked last.

The check of all declared fields is tested in `test_load_kernel`.
"""
from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from targets.abi import object_layout
from transpile import fuse

MODULE = """
import math
import numpy as np
import shared
from shared import nested

LIMIT = 3

def helper(v):
    return v * shared.FACTOR + LIMIT

def f(x):
    s = 0.0
    for i in range(len(x)):
        s += helper(x[i]) + math.sqrt(abs(x[i])) + nested.deep.OFFSET
    return s, np.minimum(x, LIMIT)

def change(name, value):
    globals()[name] = value

def remove(name):
    globals().pop(name, None)
"""


def given_names(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package of the names that the functions read, with modules in modules."""
    shared, nested, deep = ModuleType("shared"), ModuleType("nested"), ModuleType("deep")
    deep.OFFSET, nested.deep, shared.nested, shared.FACTOR = 0.5, deep, nested, 2
    monkeypatch.setitem(sys.modules, "shared", shared)
    return shared


def other_deep(offset: object) -> ModuleType:
    deep = ModuleType("deep")
    deep.OFFSET = offset
    return deep


def changes(module: Any, shared: Any) -> list[Callable[[random.Random], object]]:
    """What may happen to the names between two calls."""
    minimum, maximum = np.minimum, np.maximum

    def mean(v: float) -> float:
        return v * 0.5

    return [
        lambda rng: module.change("LIMIT", rng.choice([1, 3, 2.5])),
        lambda rng: module.change("LIMIT", module.LIMIT),
        lambda rng: module.change("unused", object()),
        lambda rng: module.change("helper", rng.choice([mean, module.first_helper])),
        lambda rng: module.change("len", rng.choice([len, lambda x: 2])),
        lambda rng: module.remove("len"),
        lambda rng: module.change("abs", rng.choice([abs, float])),
        lambda rng: module.remove("abs"),
        lambda rng: module.change("np", rng.choice([np, module.other_np])),
        lambda rng: setattr(module.other_np, "minimum", rng.choice([minimum, maximum])),
        lambda rng: setattr(shared, "FACTOR", rng.choice([2, 5, 0.25])),
        lambda rng: setattr(shared.nested.deep, "OFFSET", rng.choice([0.5, 4])),
        lambda rng: setattr(shared.nested, "deep", other_deep(rng.choice([0.5, 4]))),
        lambda rng: module.change("nested", shared.nested),
    ]


@pytest.mark.share(12)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_what_is_rebound_is_noticed(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = given_names(monkeypatch)
    module: Any = written(tmp_path, MODULE)
    module.first_helper, module.other_np = module.helper, ModuleType("numpy")
    vars(module.other_np).update(vars(np))
    f, rng, x = fuse(module.f, on_reject="silent"), random.Random(seed), np.linspace(-2.0, 5.0, 7)
    done = changes(module, shared)
    for step in range(60):
        if step % 3:
            rng.choice(done)(rng)
        for _ in range(rng.choice([1, 2, 4])):
            assert_same(outcome(f, (x,)), outcome(module.f, (x,)), f"step {step}")
    assert f.stats.compiled > 10


def test_a_version_tells_each_change() -> None:
    has_versions = sys.version_info < (3, 14)
    assert bool(object_layout.dict_version_offset()) == has_versions


class Constant:
    """In place of the C type of a version: it never changes."""

    value = 7

    @classmethod
    def from_address(cls, address: int) -> Constant:
        return cls()


def test_versions_that_do_not_change_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    monkeypatch.setattr(ctypes, "c_uint64", Constant)
    assert object_layout.dict_version_offset.__wrapped__() == 0


@pytest.mark.parametrize("bit", range(30))
def test_an_unknown_digit_of_ints_is_noticed(bit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read, seen = object_layout._tag_and_digit, list[int]()

    def without_bit(n: int) -> tuple[int, int]:
        seen.append(n)
        tag, digit = read(n)
        return tag, digit & ~(1 << bit)

    assert object_layout.int_layout.__wrapped__()
    monkeypatch.setattr(object_layout, "_tag_and_digit", without_bit)
    assert object_layout.int_layout.__wrapped__() == 0
    assert len(seen) < 300  # the first call of each process asks
