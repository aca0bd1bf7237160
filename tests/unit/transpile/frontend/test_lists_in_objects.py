"""Lists in attributes, tuples and dicts: read and written as list arguments are."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from targets.abi.inline_cache import CacheRow, argument_key, inline_cache, size_of_call
from targets.abi.native_entry import ParameterList
from transpile import fuse


class Inner:
    def __init__(self) -> None:
        self.v = [1.0, 2.0, 3.0] * 8


class Model:
    taps = [0.5, 0.25]  # noqa: RUF012  # is read as a list of the object
    offset = (1.0, 2.0)

    def __init__(self) -> None:
        self.a, self.b, self.k = [1.0, 2.5, 3.0] * 8, [1.0, 2.0, 4.0] * 8, [1, 2, 3] * 8
        self.inner, self.x = Inner(), np.arange(24.0)
        self.pair, self.table = ([1.0, 2.0] * 8, [3, 4] * 8), {"w": [0.5, 1.5] * 8, "n": 3}
        self.rows, self.octets = [[1.0, 2.0], [3.0, 4.0]], bytearray(range(24))
        self.n = 0

    def total(self, v):
        s = v
        for w in self.a:
            s += w
            self.n += 1
        return s, max(self.k), self.k.index(2), 3 in self.k

    def reversed_into(self, v):
        for i in range(len(self.a)):
            self.a[i] = self.b[len(self.b) - 1 - i] * v

    def given(self, v):
        for i in range(len(self.a)):
            self.a[i] = v[len(v) - 1 - i] * 2.0

    def of_inner(self, v):
        for i in range(len(self.inner.v)):
            self.inner.v[i] += v

    def in_containers(self, v):
        s = 0.0
        for w in self.pair[0]:
            s += w * self.table["n"]
        for i in range(len(self.table["w"])):
            self.table["w"][i] *= v
        return s

    def mapped(self, v):
        return [w * v for w in self.a if w > 1.0]

    def rebound(self, v):
        kept = []
        for w in self.a:
            if w > v:
                kept.append(w)  # noqa: PERF401  # a loop that appends
        self.a = kept
        return len(self.a)

    def set_twice(self, v):
        self.a = [w + v for w in self.a]
        self.b = [w for w in self.a if w > 2.0]
        return len(self.b)

    def of_rows(self, v):
        s = v
        for row in self.rows:
            for w in row:
                s += w
        return s

    def too_far(self, v):
        for i in range(len(self.a) + 1):
            self.a[i] += v

    def divided(self, v):
        for i in range(len(self.a)):
            self.a[i] = v / (self.a[i] - 3.0)

    def as_arrays(self, v):
        return np.sum(self.a), np.array(self.k) @ self.x * v

    def returned(self, v):
        for i in range(len(self.a)):
            self.a[i] += v
        return self.a

    def of_octets(self, v):
        for i in range(len(self.octets)):
            self.octets[i] = (self.octets[i] + 250) % 256
        return v

    def of_the_class(self, v):
        out = []
        for i in range(len(self.a) - 1):
            s = self.offset[0]
            for j in range(len(self.taps)):
                s += self.taps[j] * self.a[i + j] * v
            out.append(s)
        return out


METHODS = [f for name, f in vars(Model).items() if callable(f) and name[0] != "_"]


def state_of(value: Any, known: dict[int, int]) -> Any:
    """Types, values and identities of all that is in `value`."""
    if isinstance(value, (list, tuple)):
        number = known.setdefault(id(value), len(known)) if isinstance(value, list) else 0
        return type(value), number, [state_of(v, known) for v in value]
    if isinstance(value, dict):
        return {k: state_of(v, known) for k, v in value.items()}
    members = getattr(value, "__dict__", None)
    return (type(value), repr(value)) if members is None else state_of(members, known)


def result_of(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as error:
        return str(error)


CHANGES: dict[str, Callable[[Model], Any]] = {
    "none": lambda m: None,
    "one list": lambda m: vars(m).update(b=m.a, inner=m.inner),
    "one list in two objects": lambda m: setattr(m.inner, "v", m.a),
    "an int": lambda m: m.a.insert(3, 7),  # type: ignore[arg-type]
    "a long int": lambda m: m.k.append(10**30),
    "no items": lambda m: vars(m).update(a=[], b=[]),
    "a str": lambda m: m.a.append("x"),  # type: ignore[arg-type]
    "short": lambda m: vars(m).update(b=[1.0]),
    "none there": lambda m: m.__dict__.pop("a"),
    "NaN and -0.0": lambda m: vars(m).update(a=[float("nan"), -0.0]),
    "rows of two lengths": lambda m: m.rows.append([1.0]),
    "one of the object's own": lambda m: setattr(m, "taps", [1.0, 2.0]),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("f", METHODS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="silent")
    for what, change in CHANGES.items():
        both = Model(), Model()
        for model in both:
            change(model)
        args = [2.0, 2.0]
        if f is Model.given:
            args = [m.b for m in both]
        results = [result_of(g, m, v) for g, m, v in zip((fused, f), both, args, strict=True)]
        found = [state_of([r, m, v], {}) for r, m, v in zip(results, both, args, strict=True)]
        assert found[0] == found[1], what
    if f not in (Model.too_far, Model.divided):
        assert fused.stats.compiled
    if f in (Model.given, Model.reversed_into):
        assert fused.stats.replays["GUARD_ALIAS"]


def test_a_list_that_is_made_longer_is_pythons() -> None:
    def append(m, v):
        for _ in range(3):
            m.a.append(v)

    fused, model = fuse(append, on_reject="silent"), Model()
    fused(model, 1.0)
    assert len(model.a) == 27
    message = fused.report(model, 1.0).rejections[0].message
    assert message == "the argument `m.a` is made longer"


def test_floats_in_a_list_of_ints_are_pythons() -> None:
    def halve_attribute(m):
        for i in range(len(m.k)):
            m.k[i] = m.k[i] / 2

    def halve_in_tuple(m):
        for i in range(len(m.pair[1])):
            m.pair[1][i] /= 2

    def halve_in_dict(m):
        for i in range(len(m.table["k"])):
            m.table["k"][i] *= 0.5

    def halve_of_inner(m):
        for i in range(len(m.inner.k)):
            m.inner.k[i] /= 2

    for f in (halve_attribute, halve_in_tuple, halve_in_dict, halve_of_inner):
        both = given, *_ = Model(), Model(), Model()
        for m in both:
            m.table["k"], m.inner.k = [1, 2] * 8, [3, 4] * 8  # type: ignore[attr-defined]
        fused = fuse(f, on_reject="silent")
        fused(both[1])
        f(both[2])
        assert state_of(both[1], {}) == state_of(both[2], {})
        (rejection,) = fused.report(given).rejections
        assert rejection.code == "LOWER_JOIN"
        assert rejection.message == "the items of a list have several types"


def test_attributes_count_in_the_size_of_a_call() -> None:
    model, key = Model(), argument_key(Model(), sized=("a", "rows", "missing"))
    assert size_of_call([model, 5], [key, argument_key(5)]) == 24 + 4 + 5
    assert size_of_call([model, 5]) == 5

    def row_of(m: Any, n: Any) -> str:
        return "row"

    def miss(*args: Any) -> str:
        return "miss"

    for low, high, part in ((33, 33, ()), (34, 99, ()), (0, 32, ()), (1, 99, (0,)), (1, 99, (1,))):
        row = CacheRow(
            row_of, (key, argument_key(5)), low=low, high=high, part=part, part_low=28, part_high=28
        )
        cache: Any = inline_cache("f", ParameterList.of(row_of), [row], miss)  # type: ignore[arg-type]
        expected = "row" if low <= 33 <= high and part != (1,) else "miss"
        assert cache(model, 5) == expected, (low, high, part)


def recent(m):
    s = 0.0
    for v in m.a[-10:]:
        s += v
    return s


def first_above(m):
    for v in m.a:
        if v > 0.5:
            return v
    return 0.0


@pytest.mark.parametrize("f", [recent, first_above])
def test_python_serves_calls_that_read_few_items_of_a_long_list(
    f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "time")
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    fused, model = fuse(f, on_reject="silent"), Model()
    for _ in range(100):
        fused(model)
    model.a = [1.0] * 300_000  # to convert it takes 300 µs and more
    for _ in range(40):
        fused(model)
    compiled = fused.stats.compiled
    assert fused(model) == f(model)
    assert fused.stats.compiled == compiled
