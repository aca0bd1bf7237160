"""Recipes are data: every kind of value comes back the same, and reading runs nothing."""

from __future__ import annotations

import enum
import json
import math
import operator
import re
import sys
from dataclasses import fields
from functools import partial

import numpy as np
import pytest

from transpile import call_plan, result_spec
from transpile.host_nodes import HostAttribute, HostCall, HostConst, HostName
from transpile.runtime.cache.recipe_format import _RECORDS, NotStorable, decoded, encoded
from transpile.types.value_types import ArrayType, Constant, ObjectType, RecordType, ScalarType


class Colour(enum.Enum):
    RED = 1


class Point:
    pass


ALIGNED = np.dtype([("a", "i1"), ("b", "f8"), ("c", [("d", "f4", (2,))])], align=True)

VALUES = [
    None,
    True,
    0,
    -(1 << 80),
    1.5,
    -0.0,
    math.inf,
    2 - 3j,
    "text",
    "\ud800",
    ...,
    (),
    (1, (2.0, "x")),
    [1, [2]],
    frozenset({1, 2}),
    slice(1, None, -1),
    int,
    dict,
    np.ndarray,
    np.ndarray.reshape,
    np.sqrt,
    np.zeros,
    len,
    math.sqrt,
    Point,
    Colour,
    Colour.RED,
    np.dtype("f4"),
    np.dtype(">i2"),
    np.dtype("U3"),
    np.dtype([("x", "f8"), ("n", "i4")]),
    ALIGNED,
    np.float32(1.5),
    np.bool_(True),
    np.int64(-3),
    HostCall(
        HostAttribute(HostName("np"), "zeros"), (HostConst(3),), (("dtype", HostConst("f8")),)
    ),
    ArrayType("f64", 2, None, (), (1,)),
    Constant(Colour.RED, Colour),
    ScalarType("i64", weak=True),
    ObjectType(Point, (("x", ScalarType("f64")), ("y", RecordType(ALIGNED, 1)))),
    result_spec.TupleResult((result_spec.NoneResult(),), tuple),
    result_spec.as_tuple,
    result_spec.TupleResult((), result_spec.DictOfValues(("a", 1))),
    call_plan.IdentityGuard(HostName("x"), 1),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: re.sub(" at 0x\\w+", "", repr(value)))
def test_there_and_back(value: object) -> None:
    again = decoded(encoded(value))
    assert type(again) is type(value)
    assert again == value
    assert repr(again) == repr(value)


def test_functions_with_arguments() -> None:
    made = decoded(encoded(partial(np.array, dtype=np.dtype("i4"))))
    assert made([1, 2]).dtype == np.int32
    assert decoded(encoded(operator.itemgetter(slice(1, 3))))("abcd") == "bc"


def test_nan() -> None:
    assert math.isnan(decoded(encoded(math.nan)))


def test_every_record_of_an_interface_can_be_stored() -> None:
    mine = (
        v for v in vars(call_plan).values() if getattr(v, "__module__", "") == call_plan.__name__
    )
    assert {cls.__name__ for cls in mine if hasattr(cls, "__dataclass_fields__")} <= set(_RECORDS)
    assert all(fields(cls) is not None for cls in _RECORDS.values())


@pytest.mark.parametrize(
    "value",
    [
        object(),
        lambda: 0,
        test_nan,
        b"bytes",
        {1: 2},
        sys,
        np.ones(2),
        np.array([(1,)], "i4,")[0],
        type("Local", (), {}),
        np.dtype("f8", metadata={"a": 1}),
        iter([]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_cannot_be_stored(value: object) -> None:
    with pytest.raises(NotStorable):
        encoded(value)


@pytest.mark.parametrize(
    "row",
    [
        ["class", "os", "system"],
        ["function", "os", "system"],
        ["function", "subprocess", "run"],
        ["function", "builtins", "print.__call__"],
        ["class", "antigravity", "x"],
        ["unknown", 1],
        [],
        ["HostName"],
        ["HostName", "a", "b"],
        ["enum", ["class", "builtins", "int"], "real"],
        {"a": 1},
        1.5,
        ["partial", ["function", "os", "system"], ["true"], []],
        ["float", "x"],
        [["tuple"]],
        ["function", "sys", "exit"],
        ["class", "builtins", "int.__doc__"],
    ],
    ids=repr,
)
def test_other_data_is_refused(row: object) -> None:
    with pytest.raises(NotStorable):
        decoded(json.dumps(row).encode())


@pytest.mark.parametrize("text", [b"", b"\xff", b"[" * 100000, b"(1, 2)", b'["tuple"'])
def test_other_text_is_refused(text: bytes) -> None:
    with pytest.raises(NotStorable):
        decoded(text)


def test_reading_imports_nothing() -> None:
    sys.modules.pop("antigravity", None)
    with pytest.raises(NotStorable):
        decoded(b'["class","antigravity","geohash"]')
    assert "antigravity" not in sys.modules
