"""Lists as arrays and back: the builtins and NumPy do the same, and nothing that does not fit."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from loopir.dtypes import DTYPES
from targets.abi import trampoline
from targets.abi.c_api import bind_table, list_addresses, python_addresses
from targets.abi.sequence_conversion import SequenceSpec, sequence_converter
from targets.build.shared_library import open_library

NAN = float("nan")
BORDERS = 1, 255, 256, 257, (1 << 30) - 1, 1 << 30, (1 << 60) - 1, (1 << 60) + 1
FLOATS, INTS = SequenceSpec("f64", True, (list,)), SequenceSpec("i64", True, (list,))
BOOLS, TUPLE = SequenceSpec("bool", True, (list,)), SequenceSpec("f64", True, (tuple,))
ROWS, PAIRS = SequenceSpec("f64", True, (list, list)), SequenceSpec("i64", True, (list, tuple))
POINTS = SequenceSpec("f64", True, (list, tuple))
ROWS_OF_BOOLS = SequenceSpec("bool", True, (tuple, tuple))
F32, I8 = SequenceSpec("f32", False, (list,)), SequenceSpec("i8", False, (list, list))

GOOD = [
    (FLOATS, [1.5, -0.0, NAN, float("inf")]), (FLOATS, []), (INTS, [-(1 << 63), 0, 1 << 62]),
    (BOOLS, [True, False]), (TUPLE, (1.0,)), (ROWS, [[1.0, 2.0], [3.0, 4.0]]), (ROWS, [[], []]),
    (PAIRS, [(1, 2, 3)] * 2), (PAIRS, [(-1, 0), (-(1 << 30), 1 << 30)]),
    (INTS, [n * sign for n in BORDERS for sign in (1, -1)]), (POINTS, [(0.5, -0.0)] * 3),
    (POINTS, [(), ()]), (ROWS_OF_BOOLS, ((True, False), (False, True))),
    (F32, [np.float32(0.1)]), (I8, [[np.int8(-3)], [np.int8(5)]]),
]
BAD: list[tuple[SequenceSpec, Any]] = [
    (FLOATS, [1.5, 2]), (FLOATS, (1.5,)), (FLOATS, [1.5, np.float64(2)]), (FLOATS, None),
    (INTS, [1, 1 << 63]), (INTS, [1, True]), (BOOLS, [1]), (ROWS, [[1.0], [1.0, 2.0]]),
    (ROWS, [[1.0], (1.0,)]), (ROWS, [1.0]), (ROWS, [[1.0], 2.0]), (PAIRS, [[1, 2]]),
    (PAIRS, [(1, 2), (3, 1 << 64)]), (PAIRS, [(1, 2), (3,)]), (PAIRS, [(1, 2), (3, True)]),
    (POINTS, [(1.0, 2.0), (1.0, 2)]), (POINTS, [(1.0,), ()]),
    (INTS, [1, -(1 << 63) - 1]), (INTS, [1, 2.0]),
    (F32, [1.0]), (FLOATS, np.zeros(2)), (ROWS, [[1.0, [2.0]]]),
]


@pytest.fixture(params=["builtin", "unknown layouts", "numpy"])
def move(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The converter. With unknown layouts it asks Python for each int, and each item of a tuple."""
    native = trampoline.trampoline(None)
    assert native is not None
    library = open_library(native.path, permanent=True)
    tables = {"tp_bind": python_addresses(), "tp_bind_items": list_addresses()}
    known = (3, 10) <= sys.version_info < (3, 16)
    assert all((table[-1] > 0) == known for table in tables.values())
    if request.param == "numpy":
        monkeypatch.setattr("targets.abi.sequence_conversion.opened_trampoline", lambda: None)
    if request.param == "unknown layouts":
        for name, table in tables.items():
            bind_table(library.address(name), [*table[:-1], 0])
    yield sequence_converter
    for name, table in tables.items():
        bind_table(library.address(name), table)


@pytest.mark.parametrize(("items", "value"), GOOD)
def test_items_as_an_array(move: Any, items: SequenceSpec, value: Any) -> None:
    got, wanted = move(items, False)(value), np.array(value, DTYPES[items.dtype].numpy)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize("data", [b"", b"a\x00\xff"])
def test_bytes_as_an_array(move: Any, kind: type, data: bytes) -> None:
    items, value = SequenceSpec("u8", False, (kind,)), kind(data)
    array = move(items, False)(value)
    assert (array.dtype, array.tobytes()) == (np.uint8, data)
    array[:] = 7
    assert value == data  # it is a copy
    assert move(items, False)([1, 2]) is None
    assert move(items, False)(bytearray(data) if kind is bytes else data) is None
    if kind is bytearray:
        move(items, True)(value, array)
        assert value == b"\x07" * len(data)


@pytest.mark.parametrize(("items", "value"), BAD)
def test_what_does_not_fit(move: Any, items: SequenceSpec, value: Any) -> None:
    assert move(items, False)(value) is None


@pytest.mark.parametrize("row", [False, True])
def test_only_what_has_changed_is_put_back(move: Any, row: bool) -> None:
    items = ROWS if row else FLOATS
    old = [1.5, 0.0, NAN, 2.5]
    value: list[Any] = [old, [5.0] * 4] if row else old
    kept, ids = [*old], [*map(id, old)]
    array = move(items, False)(value)
    (array[0] if row else array)[1:3] = -0.0, 7.0
    array[-1] = array[-1]
    assert move(items, True)(value, array) is None
    assert repr(old) == "[1.5, -0.0, 7.0, 2.5]"
    assert all(type(v) is float for v in old)
    assert [id(v) == i for v, i in zip(old, ids, strict=True)] == [True, False, False, True]
    assert len(kept) == 4


@pytest.mark.parametrize(("items", "value", "new"), [
    (INTS, [1, 2], 1 << 40), (BOOLS, [True, True], False), (F32, [np.float32(1)] * 2, 0.5),
    (I8, [[np.int8(1)], [np.int8(2)]], -4),
])
def test_each_type_is_put_back(move: Any, items: SequenceSpec, value: list[Any], new: Any) -> None:
    array = move(items, False)(value)
    array.flat[-1] = new
    move(items, True)(value, array)
    last = value[-1][-1] if len(items.kinds) > 1 else value[-1]
    assert last == new
    assert type(last) is items.scalar


def test_no_reference_is_lost(move: Any) -> None:
    one = 12345.5
    value = [one] * 50
    take, put = move(FLOATS, False), move(FLOATS, True)
    before = sys.getrefcount(one)
    for _ in range(20):
        array = take(value)
        assert take([one, 1]) is None
        array[3] = 2.0
        put(value, array)
        value[3] = one
    assert sys.getrefcount(one) == before
