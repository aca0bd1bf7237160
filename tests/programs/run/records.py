"""Programs over arrays of records: their fields side by side, in place, under names, in zips."""
# ruff: noqa: B905 (programs as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import Make, Rng, program, real, whole

PADDED = np.dtype([("x", "f8"), ("n", "i4"), ("y", "f8"), ("ok", "?")], align=True)
PACKED = np.dtype([("x", "f4"), ("n", "i4"), ("y", "f4"), ("ok", "i4")])
MIXED = np.dtype(
    {"names": ["y", "n", "x", "far", "ok"], "formats": ["f8", "i2", "f8", ">f8", "u1"],
     "offsets": [16, 4, 32, 8, 1], "itemsize": 48}
)
TALL = np.dtype([("at", "f8", (3,)), ("mass", "f8")])

SIZES = (0, 1, 3, 17, 65)


def records(n: int, rng: Rng, dtype: Any) -> np.ndarray:
    r = np.zeros(n, dtype)
    r["x"], r["y"] = whole(n, rng), whole(n, rng)
    r["n"], r["ok"] = rng.integers(-9, 9, n), rng.integers(0, 2, n)
    return r


def table(dtype: Any, step: int = 1) -> Make:
    return lambda n, rng: (records(n * abs(step), rng, dtype)[::step],)


EACH: dict[str, Make] = {"padded": table(PADDED), "packed": table(PACKED)}
MORE: dict[str, Make] = {**EACH, "mixed": table(MIXED), "backward": table(PADDED, -2)}


def on_records(ulps: float = 0, **makes: Make) -> Callable[..., Callable[..., Any]]:
    """A program on the first of the arguments given; on others it takes long."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        for k, (name, make) in enumerate(makes.items()):
            program(sizes=SIZES, long=k > 0, ulps=ulps, **{name: make})(function)
        return function

    return keep


@on_records(**MORE)
def by_index(r):
    s = 0.0
    for i in range(len(r)):
        s += r["x"][i] * r[i]["n"]
        if r[i]["ok"]:
            s -= r["y"][-1 - i]
    return s


@on_records(**MORE)
def in_place(r):
    for i in range(len(r)):
        r["y"][i] = r["x"][i] * 2 + r["n"][i]
        r[i]["n"] = i
    return r


@on_records(**EACH)
def by_record(r):
    s = 0.0
    for rec in r:
        old = rec["x"]
        rec["x"] = rec["y"] + 1
        s += old
        if rec["ok"]:
            rec["n"] += 2
    for i, rec in enumerate(r):
        s += rec["x"] * i
    return s


@on_records(**MORE)
def whole_fields(r):
    r["y"] = r["x"] * 2 + r["n"]
    r["x"] += 1
    u = np.where(r["ok"], r["x"], r["y"])
    return u, r["n"].sum(), r.shape, r.size, r.ndim


@on_records(padded=table(PADDED), mixed=table(MIXED))
def zipped(r):
    s = 0.0
    for x, n in zip(r["x"], r["n"]):
        s += x * n
    for a, rec in zip(r["y"], reversed(r)):
        s = s * 0.5 + a * rec["x"]
    return s


@on_records(**EACH)
def picked(r):
    return [rec["x"] + rec["n"] for rec in r if rec["n"] % 2 == 0], sum(rec["x"] for rec in r[1:])


@on_records(**EACH)
def under_names_and_like_it(r):
    out, size = np.empty_like(r["x"]), np.zeros(len(r))
    x, q, rest = r["x"], r, r[1::2]
    for i in range(1, len(q)):
        x[i] = x[i - 1] + q["n"][i]
    for i, rec in enumerate(rest):
        rec["y"] = rest["n"][-1] + rest[i]["x"]
    for i, rec in enumerate(r):
        out[i] = abs(rec["x"])
        size[i] = r.size + i
    return out, size, x


POINT = np.dtype([("x", "f8"), ("y", "f4")], align=True)
BODY = np.dtype([("id", "i4"), ("at", POINT), ("to", [("end", POINT), ("k", "i2")])], align=True)


def nested(n: int, rng: Rng) -> tuple[np.ndarray]:
    r = np.zeros(n, BODY)
    r["id"], r["at"]["x"], r["at"]["y"] = np.arange(n), whole(n, rng), whole(n, rng)
    r["to"]["end"]["x"], r["to"]["k"] = whole(n, rng), rng.integers(-9, 9, n)
    return (r,)


@on_records(nested=nested, backward=lambda n, rng: (nested(2 * n, rng)[0][::-2],))
def records_in_records(r):
    s, at = 0.0, r["at"]
    for i in range(len(at)):
        at["y"][i] = r["at"]["x"][i] * 2 + r["to"]["end"]["x"][i]
        p = r[i]["at"]
        p["x"] = p["x"] + r[i]["id"]
    for rec in r:
        s += rec["at"]["x"] * rec["to"]["k"]
        rec["to"]["k"] += 1
    r["to"]["end"]["x"] -= r["at"]["y"]
    return s, [rec["x"] for rec in r["at"]]


def chosen(n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    return records(n, rng, PADDED), rng.integers(-n, max(n, 1), 2 * n)


@on_records(padded=chosen)
def by_places(r, places):
    s = 0.0
    for k in places:
        rec = r[k]
        s += rec["x"]
        if s > 9.0:
            rec["y"] = s
            s = 0.0
    return s


def pair(n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    return records(n, rng, PADDED), records(n, rng, PACKED)


@on_records(unlike=pair)
def two_tables(r, q):
    for i in range(len(q)):
        q["x"][i] = r["x"][i] * 2


def bodies(n: int, rng: Rng) -> tuple[np.ndarray]:
    b = np.zeros(n, TALL)
    b["at"], b["mass"] = real(3 * n, rng).reshape(n, 3), real(n, rng)
    return (b,)


@on_records(ulps=4, f64=bodies)
def inner_arrays(b):
    centre = np.zeros(3)
    for i in range(len(b)):
        for k in range(3):
            centre[k] += b["at"][i, k] * b[i]["mass"]
            b["at"][i][k] -= b["mass"][i]
    return centre


def rows(n: int, rng: Rng) -> tuple[np.ndarray]:
    return (records(3 * n, rng, PADDED).reshape(3, n),)


@on_records(padded=rows)
def of_two_axes(r):
    s = 0.0
    for i in range(r.shape[0]):
        for j in range(r.shape[1]):
            s += r["x"][i, j] * r[i, j]["n"] + r[i]["y"][j]
    return s, r["x"].sum(axis=0)


LEVELS = records(40, np.random.default_rng(5), PADDED)


@on_records(int=lambda n, rng: (n,))
def of_a_global(n):
    s = 0.0
    for i in range(min(n, len(LEVELS))):
        s += LEVELS["x"][i] * LEVELS[i]["y"]
    return s
