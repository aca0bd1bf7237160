"""Arrays of records: what compiles is Python's answer, and what does not says why."""
# ruff: noqa: PERF402 (programs as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from numpy.lib.stride_tricks import as_strided

from transpile import fuse

PAIR = np.dtype([("x", "f8"), ("y", "f8")])
OVERLAPPING = np.dtype({"names": ["x", "y"], "formats": ["f8", "f4"], "offsets": [0, 4]})
ONE_BEHIND = np.dtype([("b", "i1"), ("x", "f8"), ("y", "f8")])


def shift(r):
    for i in range(len(r)):
        r["x"][i] = r["y"][i] + 1


def total(r):
    s = 0.0
    for rec in r:
        s += rec["x"]
    return s


def filled(n: int, dtype: Any = PAIR) -> np.ndarray:
    r = np.zeros(n, dtype)
    r["x"], r["y"] = np.arange(n), 5
    return r


def bytes_after(function: Callable[[np.ndarray], Any], r: np.ndarray, buffer: Any = None) -> bytes:
    function(r)
    return (r if buffer is None else buffer).tobytes()


@pytest.mark.parametrize(
    ("dtype", "replays"),
    [
        (PAIR, {}),
        (OVERLAPPING, {"GUARD_ALIAS": 1}),
        (ONE_BEHIND, {}),
        (np.dtype([("x", ">f8"), ("y", "f8")]), {"GUARD_DTYPE": 1}),
        (np.dtype([("x", "f8"), ("y", "f8"), ("name", "S5"), ("z", "f4")], align=True), {}),
    ],
    ids=["pair", "overlapping", "unaligned", "swapped", "beside"],
)
def test_layouts(dtype: np.dtype, replays: dict[str, int]) -> None:
    fused = fuse(shift, on_reject="silent")
    assert bytes_after(fused, filled(9, dtype)) == bytes_after(shift, filled(9, dtype))
    assert fused.stats.replays == replays


@pytest.mark.parametrize("step", [0, 8, 16, -16, 32])
def test_strides_of_all_kinds(step: int) -> None:
    def given() -> tuple[np.ndarray, np.ndarray]:
        buffer = np.arange(64.0)
        return buffer, as_strided(buffer.view(PAIR)[16:], (6,), (step,))

    fused = fuse(shift, on_reject="silent")
    (b, r), (c, q) = given(), given()
    assert bytes_after(fused, r, b) == bytes_after(shift, q, c)
    assert fused.stats.compiled == (abs(step) >= 16)


@pytest.mark.parametrize(("shape", "strides", "clear"), [
    ((20,), (0,), False), ((20,), (8,), True), ((3, 4), (8, 16), False), ((3, 4), (8, 8), False),
    ((3, 4), (32, 8), True), ((3, 4), (8, 24), True), ((1, 4), (0, 16), True),
])
def test_an_array_that_overlaps_itself_is_written_by_python(
    shape: tuple[int, ...], strides: tuple[int, ...], clear: bool
) -> None:
    def count(x):
        for i in range(x.shape[0]):
            x[i] = x[i] + 1.0

    def count_rows(x):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = x[i, j] + 1.0

    function = count if len(shape) == 1 else count_rows
    fused = fuse(function, on_reject="silent")
    b, c = np.zeros(100), np.zeros(100)
    fused(as_strided(b, shape, strides))
    function(as_strided(c, shape, strides))
    assert b.tobytes() == c.tobytes()
    assert fused.stats.replays == ({} if clear else {"GUARD_ALIAS": 1})


def test_alternate_elements_share_no_memory() -> None:
    @fuse(on_reject="raise")
    def double(x, y):
        for i in range(len(y)):
            y[i] = x[i] * 2

    x = np.arange(40.0)
    double(x[::2], x[1::2])
    assert np.array_equal(x[1::2], x[::2] * 2)
    m = np.arange(48.0).reshape(4, 12)
    double(m[:, 3], m[:, 11])
    assert np.array_equal(m[:, 11], m[:, 3] * 2)
    assert double.stats.replays == {}
    double(x[:20:2], x[2:20:2])
    double(x[:10], x[1:20:2])
    assert double.stats.replays == {"GUARD_ALIAS": 2}


def test_what_is_read_only_raises_as_python() -> None:
    r = filled(5)
    r.flags.writeable = False
    fused = fuse(shift)
    with pytest.raises(ValueError, match="read-only"):
        fused(r)
    assert fused.stats.replays == {"GUARD_READONLY": 1}


def test_each_layout_has_its_own_code() -> None:
    fused = fuse(total, on_reject="raise")
    wide = np.dtype([("q", "f8", (2,)), ("x", "f8")])
    r = np.ones(4, wide)
    assert (fused(filled(4)), fused(r), fused(filled(3)), fused(r[::-1])) == (6.0, 4.0, 3.0, 4.0)
    assert fused.stats.replays == {}
    assert len(fused.signatures) == 3  # strides are known but of those in order


def test_only_arrays_are_asked_for_fields() -> None:
    class Lazy(dict):
        def __len__(self):
            return 0

    fused = fuse(shift, on_reject="silent")
    fused(filled(3))
    columns = {"x": np.zeros(3), "y": np.ones(3)}
    fused(Lazy(columns))
    assert not columns["x"].any()


def test_a_global_is_read_at_each_call() -> None:
    table = filled(4)

    @fuse(on_reject="raise")
    def of_the_table():
        s = 0.0
        for rec in table:
            s += rec["x"]
        return s

    assert of_the_table() == 6.0
    table = filled(3)
    assert of_the_table() == 3.0
    table = np.ones(3, np.dtype([("y", "f8"), ("x", "f8"), ("z", "i8")]))
    assert of_the_table() == 3.0
    assert of_the_table.stats.replays == {"GUARD_REBOUND": 1}


def appended(r):
    out = []
    for rec in r:
        out.append(rec)
    return out


def compared(r):
    c = 0
    for i in range(len(r)):
        if r[i] == r[0]:
            c += 1
    return c


def moved(r):
    for i in range(1, len(r)):
        r[i] = r[i - 1]


def handed_back(r):
    rec = r[0]
    for _ in range(3):
        rec["x"] += 1
    return rec


def two_at_once(r):
    s = 0.0
    for rec in r[["x", "y"]]:
        s += rec["x"]
    return s


def nested(r):
    s = 0.0
    for i in range(len(r)):
        s += r["inner"]["x"][i]
    return s


@pytest.mark.parametrize("function", [appended, compared, moved, handed_back, two_at_once])
def test_whole_records_are_pythons(function: Callable[[np.ndarray], Any]) -> None:
    fused = fuse(function, on_reject="silent")
    r, q = filled(5), filled(5)
    assert str(fused(r)) == str(function(q))
    assert r.tobytes() == q.tobytes()
    assert set(fused.stats.replays) <= {"LOWER_TYPE", "LOWER_UNSUPPORTED", "LOWER_SUBSCRIPT"}
    assert fused.stats.compiled == 0


def test_records_in_records() -> None:
    r = np.ones(4, np.dtype([("inner", PAIR), ("z", "f8")]))
    fused = fuse(nested, on_reject="raise")
    assert fused(r) == 4.0
    assert fused.emit("loopir", r).startswith("def nested(r_inner_x: f64[::3],")
    assert fused(r[:0]) == 0.0
    assert len(fused.signatures) == 1
    kept = fuse(lambda r: r["inner"], on_reject="silent")(r)
    assert kept.base is r
    assert np.array_equal(kept, r["inner"])
    assert str(fused.signatures[0][0]) == "{inner: {x: f64, y: f64}[:], z: f64}[:]"


def test_checked_and_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CHECK", "1")
    r, q = filled(20), filled(20)
    fuse(shift, on_reject="raise", verify=1.0)(r)
    shift(q)
    assert r.tobytes() == q.tobytes()


def test_core_python_names_the_fields() -> None:
    assert fuse(shift).emit("python", filled(3)).splitlines() == [
        "def shift(r):",
        "    r_x = r['x']",
        "    r_y = r['y']",
        "    for i in range(len(r)):",
        "        r_x[i] = r_y[i] + 1",
    ]


PACKED = np.dtype([
    ("flag", "i1"), ("x", "f8"), ("n", "i4"), ("y", "f4"), ("yes", "?"), ("u", "u8"), ("h", "f2"),
    ("v", "f8", (3,)), ("z", "c16"), ("in", [("q", "i1"), ("p", "i8")]),
])
"""NumPy's default layout, without padding: no field is aligned but those of one byte."""


def packed(n: int) -> np.ndarray:
    r, k = np.zeros(n, PACKED), np.arange(n)
    r["flag"], r["x"], r["n"], r["y"], r["yes"], r["u"] = k % 7 - 3, k * 3.0, k, k + 0.5, k % 2, k
    r["h"], r["v"], r["z"], r["in"]["q"], r["in"]["p"] = k, k[:, None], k - 2j, k % 5, k << 40
    return r


def of_records(r):
    s, c = 0.0, 0
    for i in range(len(r)):
        s += r[i]["x"] * r[i]["flag"]
        c += r["n"][i] > 3 and r["yes"][i]
    return s, c


def updated(r):
    for i in range(1, len(r)):
        r["x"][i] = r["x"][i - 1] + r["y"][i]
        r["n"][i] *= 2
        r[i]["u"] += r["u"][0]
        r["in"]["p"][i] -= r["in"]["q"][i]
    return r["in"]["p"].sum()


def whole(r):
    r["y"][:] = np.where(r["yes"], r["y"], -r["y"])
    return r["x"] * 2 + r["y"], r["x"].max(), np.argmax(r["x"]), np.cumsum(r["n"]), r["h"] * 2


def parts(r):
    for i in range(len(r)):
        r["v"][i, 1] = r["v"][i, 0] + r["v"][i, 2]
    return r["v"], r["x"][::2] + 1, r["x"][1:]


def complexes(r):
    for i in range(len(r)):
        r["z"][i] = r["z"][i] * r["z"][i] + r["x"][i]
    return r["z"] + 1, r["z"].real * 2


def beyond(r):
    for i in range(len(r) + 1):
        r["x"][i] = 7.0


@pytest.mark.share(4)
@pytest.mark.parametrize("f", [of_records, updated, whole, parts, complexes, beyond])
def test_packed_records(f: Callable[..., Any]) -> None:
    g = fuse(f, on_reject="raise")
    for r in (packed(37), packed(41)[::-2], packed(1), packed(0)):
        assert_same(outcome(g, (r,)), outcome(f, (r,)), f"{f.__name__} of {len(r)}")
    assert g.stats.compiled or f is beyond


def test_a_vector_that_is_not_aligned() -> None:
    """Of one alignment and another, by one function, and as the array that is written."""

    def scaled(x, y):
        for i in range(len(x)):
            y[i] = x[i] * 2 + y[i]
        return y.sum()

    g = fuse(scaled, on_reject="raise")
    plain = np.arange(33.0)
    odd = np.frombuffer(bytearray(b"-" + plain.tobytes()), np.float64, offset=1)
    for x, y in ((odd, odd), (plain, plain), (odd[::-1], plain)):
        assert y.flags.writeable
        wanted = x * 2 + y
        assert g(x, y) == wanted.sum()
        np.testing.assert_array_equal(y, wanted)
    assert g.stats.replays.get("GUARD_LAYOUT") is None
