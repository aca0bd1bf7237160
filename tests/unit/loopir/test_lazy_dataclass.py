"""`record` is ``dataclasses.dataclass`` in everything but when its methods are compiled."""
from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from loopir import lazy_dataclass
from loopir.dtypes import DTYPES
from loopir.ir_names import names_read
from loopir.lazy_dataclass import UNCOMPILED_CALLS, record, replace
from loopir.nodes import Call, Var


def classes(make: Callable[..., Any]) -> dict[str, type]:
    @make(frozen=True, slots=True)
    class Point:
        """Two numbers."""
        x: int
        y: int = 2

    @make(frozen=True, slots=True)
    class Spot(Point):
        """With a keyword that is not compared, and one that is not hashed."""
        place: str | None = dataclasses.field(
            default=None, compare=False, repr=False, kw_only=True
        )
        table: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)

    @make(frozen=True, slots=True, kw_only=True)
    class Named:
        """Keywords only, checked."""
        low: int
        high: int = 9

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError(self.low)

    @make(frozen=True, slots=True)
    class Empty:
        """No fields."""

    @make(frozen=True, slots=True, eq=False)
    class Own:
        """Compared by a method of its own."""
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    return {c.__name__: c for c in (Point, Spot, Named, Empty, Own)}


OURS, THEIRS = classes(record), classes(dataclasses.dataclass)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Point", (1,), {}), ("Point", (1, 3), {}), ("Point", (), {"y": 1, "x": 2}),
    ("Point", (), {}), ("Point", (1, 2, 3), {}), ("Point", (1,), {"x": 1}), ("Point", (1.0,), {}),
    ("Spot", (1,), {}), ("Spot", (1, 2), {"place": "here"}), ("Spot", (1, 2, {"a": 1}), {}),
    ("Spot", (1, 2, {}, "here"), {}),
    ("Named", (), {"low": 1}), ("Named", (), {"low": 10}), ("Named", (1,), {}),
    ("Empty", (), {}), ("Empty", (1,), {}), ("Own", (1,), {}), ("Own", (2,), {}),
]


def compiled(known: dict[str, type]) -> dict[str, type]:
    """The classes, of which so many objects were made that each has its compiled ``__init__``."""
    for _ in range(UNCOMPILED_CALLS + 1):
        for call in CALLS:
            made(known, call)
    return known


def made(known: dict[str, type], call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
    name, places, keywords = call
    try:
        return known[name](*places, **keywords)
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_made_as_a_dataclass_is(
    call: tuple[str, tuple[Any, ...], dict[str, Any]], is_compiled: bool
) -> None:
    known = compiled(classes(record)) if is_compiled else classes(record)
    ours, theirs = made(known, call), made(THEIRS, call)
    assert repr(ours) == repr(theirs)
    if not isinstance(ours, type):
        assert type(ours).__match_args__ == type(theirs).__match_args__
        assert not hasattr(ours, "__dict__")
        assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
        assert repr(dataclasses.replace(ours)) == repr(theirs)


def test_nothing_is_compiled_for_few_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[type] = []
    monkeypatch.setattr(lazy_dataclass, "_init", lambda cls: built.append(cls) or cls.__init__)
    point = classes(record)["Point"]
    for k in range(UNCOMPILED_CALLS):
        assert repr(point(k)) == f"{point.__qualname__}(x={k}, y=2)"
    assert not built


def test_fields_are_those_of_a_dataclass() -> None:
    def make(kind: Callable[..., Any]) -> Any:
        @kind(frozen=True, slots=True)
        class Row:
            """A constant of the class is no field."""
            x: int
            places: ClassVar[dict[str, int]] = {}
            y: dict[str, int] = dataclasses.field(default_factory=dict)

        return Row

    ours, theirs = make(record), make(dataclasses.dataclass)
    facts = [[(f.name, f.type, f.default, f.kw_only) for f in dataclasses.fields(c)]
             for c in (ours, theirs)]
    assert facts[0] == facts[1]
    assert ours.__annotations__ == theirs.__annotations__
    assert ours(1).places is ours.places


def test_equal_and_hashed_as_a_dataclass_is() -> None:
    ours, theirs = ([made(known, call) for call in CALLS] for known in (OURS, THEIRS))
    assert [[a == b for b in ours] for a in ours] == [[a == b for b in theirs] for a in theirs]
    objects = [(a, b) for a, b in zip(ours, theirs, strict=True) if not isinstance(a, type)]
    assert len({a for a, _ in objects}) == len({b for _, b in objects})
    assert [hash(a) for a, _ in objects] == [hash(b) for _, b in objects]


CHANGES: list[dict[str, Any]] = [
    {}, {"x": 5}, {"y": 5}, {"place": "there", "table": {"b": 2}}, {"low": 3}, {"low": 11}, {"z": 1}
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_replaced_as_of_a_dataclass(change: dict[str, Any]) -> None:
    for call in CALLS:
        ours, theirs = made(OURS, call), made(THEIRS, call)
        if not isinstance(ours, type):
            assert outcome(replace, ours, change) == outcome(dataclasses.replace, theirs, change)


def outcome(copied: Callable[..., Any], x: Any, change: dict[str, Any]) -> str:
    try:
        return repr(copied(x, **change))
    except (TypeError, ValueError) as error:
        return type(error).__name__


def test_what_is_kept_with_an_object_goes_nowhere() -> None:
    x = Var("x", "f64")
    total = Call("add", (x, x), "f64")
    hash(total)
    assert names_read(total) == {"x"}
    assert repr(total) == repr(Call("add", (x, x), "f64"))
    for other in (copy.copy(total), pickle.loads(pickle.dumps(total)), dataclasses.replace(total)):
        assert other == total
        assert {getattr(other, cache) for cache in ("_hash", "_kept")} == {None}
        assert names_read(other) == {"x"}
    assert names_read(dataclasses.replace(total, args=(Var("y", "f64"), x))) == {"x", "y"}


def test_pickled() -> None:
    f64 = DTYPES["f64"]
    assert pickle.loads(pickle.dumps(f64)) == f64
