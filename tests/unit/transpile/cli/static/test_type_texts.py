"""Types of texts: each type that a report prints is read as one with the same text."""
from __future__ import annotations

import array
import collections
import enum
import math
import random
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from transpile.cli.static.annotation_types import Uses, annotated_type
from transpile.cli.static.type_texts import is_unknown_object, parse_type, split_at_commas
from transpile.types.typeof import global_type, type_of
from transpile.types.value_types import (
    PARTS,
    ArrayType,
    Constant,
    GeneratorType,
    ListType,
    ObjectType,
    RecordType,
    ScalarType,
)


class Color(enum.Enum):
    RED = 1

    def __repr__(self) -> str:
        raise AssertionError("code of the user runs")


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class Pair(NamedTuple):
    a: float
    b: float


@dataclass
class Point:
    x: float


class D:  # also a name of NumPy's for complex128
    pass


class Outer:
    class Inner:
        rate = 1.0


class Subclass(np.ndarray):
    pass


def step(x: float) -> float:
    return x


NESTED = np.dtype([("a b", "f8"), ("q", [("z", "f8")]), ("s", "U3"), ("v", "f4", (3,))])

VALUES: list[Any] = [
    None, "sum", "it's", "a, b)", "a text that is too long to select code", Color.RED,
    Permission.READ, Permission.READ | Permission.WRITE, 3, True, 2.5, 2j, 10**30,
    float, np.float64, dict, Point, type, np.dtype("f8"), np.dtype(NESTED), np.dtype(">f8"),
    np.dtype([("x", "f8"), ("n", "i1")], align=True),
    (), (1.0,), (1.0, 2), ((1, 2), "up"), (None, np.ones(3)), (1,) * 20, {"a": 1.0}, {}, {1: 2},
    Pair(1, 2), Point(1.0), D(), Outer(), Outer.Inner(),
    [], [1.0], [True], [[1]], [[[1]]], [(1.0, 2.0)], [(1, 2.0)], ["a"], [None], [{}], [Point(1.0)],
    [np.float32(1)], [np.zeros(2)], [2j],
    b"a", bytearray(b"a"), memoryview(b"a"), memoryview(np.zeros((2, 2))), memoryview(b"a")[::2],
    array.array("d", [1.0]), array.array("B", b"a"), array.array("u", "a"),
    *(np.zeros((), c) for c in "?bhilBHILefdFD"), *(np.zeros(2, c) for c in "?bhilBHILefdFDgOU"),
    *(np.zeros(2, c)[0] for c in "?bhilBHILefdFDgU"),
    np.zeros((2, 1)), np.zeros((1, 1, 1)), np.zeros((3, 4)).T, np.zeros((1,) * 9),
    np.zeros(3, ">f8"), np.zeros(2, "M8[s]"), np.zeros(2).view(Subclass),
    np.zeros((1,) * 8, complex),
    np.zeros(2, [("x", "f8"), ("n", "i4")]), np.zeros((2, 2), [("x", "f8")]), np.zeros(2, NESTED),
    np.zeros((), [("x", "f8")]), np.zeros(2, [("x", "f8")])[0],
    math.sin, np.sin, np.sum, step, len, open, lambda: 1, [].append, np, math,
    random.Random(1), np.random.default_rng(1), np.random.RandomState(1),
    range(3), {1}, frozenset(), iter([1]), iter({}), slice(1), object(), ..., zip(),
    collections.deque(), collections.Counter(),
]


def annotated(hint: Any) -> Any:
    return annotated_type(hint, Uses(0, has_integers=False, keys=()), lambda _: None)


@pytest.mark.parametrize("part", range(3))
def test_each_printed_type_is_read(part: int) -> None:
    for value in VALUES[part::3]:
        for ty in (type_of(value), global_type(value)):
            read = parse_type(str(ty), globals(), annotated)
            assert str(read) == str(ty), type(value)
            match ty:
                case ArrayType() if value.flags.c_contiguous and max(value.shape, default=2) > 1:
                    assert read == ty
                case ScalarType() | ListType():
                    same_text = type_of(True), type_of(np.bool_(True))
                    assert read == ty or {read, ty} == {*same_text}
                case Constant() | GeneratorType():
                    assert read == ty
                case RecordType():
                    assert isinstance(read, RecordType)
                    assert (read.rank, [n for n, _ in read.fields]) == (
                        ty.rank, [n for n, _ in ty.fields]
                    )


def test_arrays_of_too_many_axes() -> None:
    text = f"f64[{', '.join(':' * 9)}]"
    assert parse_type(text, globals(), annotated) == type_of(np.zeros((1,) * 9))


def test_constants_of_signatures() -> None:
    for value in (0, -1, True, False):
        assert parse_type(str(Constant(value, type(value)))) == Constant(value, type(value))


def test_classes_are_not_numbers() -> None:
    assert str(type_of(float)) == "type[float]"
    assert str(type_of((1.0,))) == "(float,)"
    assert str(type_of(Color.RED)) == "Color.RED"
    assert str(type_of(np.zeros(1, [("a b", "f8")]))) == "{'a b': f64}[:]"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("np.float32", np.float32(1)), ("float | None", 1.0),
        ("NDArray[np.int32]", np.zeros(3, "i4")),
        ("tuple[int, float]", (1, 1.0)), ("(float, int,)", (1.0, 1)), ("( float )", (1.0,)),
        ("Color . RED", None), ("float32[:,:]", np.zeros((2, 2), "f4")),
    ],
)
def test_annotations(text: str, value: Any) -> None:
    assert NDArray is not None
    if value is None:
        with pytest.raises(ValueError, match="is not a type"):
            parse_type(text, globals(), annotated)
    else:
        assert parse_type(text, globals(), annotated) == type_of(value)


@pytest.mark.parametrize(
    "text",
    [
        "step()", "[step(1.0) for _ in 'a']", "(lambda: float)()", "Missing", "Point.", "f64[0]",
        "{}[:]",
    ],
)
def test_no_type(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an? (element )?type|do not match|no record"):
        parse_type(text, globals(), annotated)


def test_objects_of_which_a_call_tells_more() -> None:
    for text in ("Outer", "Outer.Inner", "object", "__main__.Outer"):
        ty = parse_type(text, globals(), annotated)
        assert is_unknown_object(ty, text, globals())
    for text in ("set", "str", "range", "f64", "Subclass", "function step"):
        ty = parse_type(text, globals(), annotated)
        assert not is_unknown_object(ty, text, globals())
    dicts = parse_type("dict[str, float]", globals(), annotated)
    assert isinstance(dicts, ObjectType)
    assert not is_unknown_object(dicts, "dict[str, float]", globals())
    assert complex not in PARTS


def test_split_at_commas() -> None:
    assert split_at_commas("f64[:, :], 'a, (', {x: f64, n: i32}[:], (int, (int, int))") == [
        "f64[:, :]", "'a, ('", "{x: f64, n: i32}[:]", "(int, (int, int))",
    ]
    assert split_at_commas("int,") == ["int", ""]
    assert split_at_commas("") == []
