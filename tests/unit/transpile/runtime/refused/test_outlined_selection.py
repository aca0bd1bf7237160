"""Regions in Python loops: they have Python's bits, and the original serves where it is faster."""
from __future__ import annotations

import math
import random
import traceback
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.diagnostics import Rejection
from transpile.runtime.refused.outlined_selection import OutlinedSelection
from transpile.runtime.refused.region_records import OutlinedFunction, Stats
from transpile.runtime.specialization import SignatureResolver, Specialization

NAN, INF = math.nan, math.inf


def by_loops(rows: Any) -> Any:
    out = []
    for row in rows:
        total, product, falling = 0.0, 1.0, 1.0
        low, high, count, last = math.inf, -math.inf, 0, None
        for v in row:
            total += v * 0.1
            product *= v
            falling = falling * 0.3 + v
            if v < low:
                low = v
            if v > high:
                high = v
            count += v > 0.5
            last = v
        out.append(f"{total!r} {product!r} {falling!r} {low!r} {high!r} {count!r} {last!r}")
    return out


def by_builtins(rows: Any) -> Any:
    out = []
    for row in rows:
        values = [v * 0.1 for v in row]
        mean = sum(values) / (len(values) + 1)
        spread = 0.0
        for k in range(len(values)):
            spread += (values[k] - mean) * (values[k] - mean)
        largest = max(values, default=0.0)
        out.append(f"{mean!r} {math.sqrt(spread)!r} {largest!r} {min(values, default=None)!r}")
    return out


def growing(rows: Any) -> Any:
    out = []
    for row in rows:
        taken = []
        for v in row:
            taken.append(v)
            if len(taken) > 2:
                taken.append(taken[-1] + taken[-2])
        s = 0.0
        for v in taken:
            s += v
        out.append(f"{s!r} {taken!r}")
    return out


def raising(rows: Any) -> Any:
    out = []
    for row in rows:
        try:
            s = 0.0
            for v in row:
                s += 1.0 / v
            out.append(repr(s))
        except ZeroDivisionError as error:  # noqa: PERF203
            *_, (_, line) = traceback.walk_tb(error.__traceback__)
            out.append(f"{error} {line}")
    return out


def rows_of(kind: str) -> list[Any]:
    rng = random.Random(5)
    rows: list[list[Any]] = [[rng.uniform(-3, 3) for _ in range(n)] for n in (*range(65), 500)]
    if kind == "ints":
        return [[int(v * 10) for v in row] for row in rows]
    if kind == "special":
        return [[rng.choice([NAN, INF, -INF, 0.0, -0.0, 1e308, v]) for v in row] for row in rows]
    return [np.array(row) for row in rows] if kind == "arrays" else rows


def regions_of(function: Any) -> list[Any]:
    """The regions that were compiled, also in regions that are refused in turn."""
    found = []
    for spec in function._specializations.values():
        for region in spec.outlined.regions if spec.outlined else ():
            found += [region.fused, *regions_of(region.fused)]
    return found


@pytest.mark.parametrize("original", [by_loops, by_builtins, growing, raising])
def test_regions_in_loops_have_pythons_bits(original: Any) -> None:
    """So each call has one answer, whichever serves it: sums, products, extrema, recurrences of
    lists of floats, ints and special values, of all sizes.
    """
    fused = fuse(original, on_reject="silent")
    for kind in ("floats", "ints", "special"):
        rows = rows_of(kind)
        assert [*map(repr, fused(rows))] == [*map(repr, original(rows))], kind
    regions = regions_of(fused)
    assert regions
    assert all(region.has_python_bits for region in regions)
    assert fused.stats.compiled


STATEMENTS = (
    "for v in row: a += v * 0.1",
    "for v in row: b = b * 0.7 + v",
    "for k in range(len(row)): a += row[k] * k",
    "for u, v in zip(row, row[1:]): a -= u * v",
    "for v in row:\n            if v > b: b = v",
    "for v in row:\n            if v < a: a, c = v, c + 1\n            else: c -= 1",
    "for k, v in enumerate(row): a, b = b, a + v / (k + 1)",
    "for v in row: c += int(abs(v) > 1); last = v",
    "a += sum([v * v for v in row])",
    "b = max(row, default=b) - min(row, default=a)",
    "k = 0\n        while k < len(row):\n            a += math.sqrt(abs(row[k])); k += 3",
    "for v in reversed(row):\n            if v > 2.5: break\n            b *= v",
    "for v in row:\n            for w in row[:3]: a += v * w",
)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("select", ["compiled", "time"])
def test_random_loops_have_one_answer(
    seed: int, select: str, tmp_path: Path, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several folds in a Python loop, also while what serves the calls changes."""
    monkeypatch.setenv("TRANSPILE_SELECT", select)
    rng = random.Random(f"{start} {seed}")
    body = "".join(f"        {text}\n" for text in rng.sample(STATEMENTS, rng.randint(1, 4)))
    path = tmp_path / f"loops_{start}_{seed}.py"
    path.write_text(
        "import math\ndef loops(rows):\n    out = []\n    for row in rows:\n"
        f"        a, b, c, last = 0.5, 1.5, 0, None\n{body}"
        "        out.append(f'{a!r} {b!r} {c!r} {last!r}')\n    return out\n"
    )
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    original, fused = names["loops"], fuse(names["loops"], on_reject="silent")
    cases = [rows_of(kind) for kind in ("floats", "ints", "special")]
    cases += [[row[:3] for row in case] * 3 for case in cases]
    for rows in cases * (1 if select == "compiled" else 30):
        assert fused(rows) == original(rows), path.read_text()


def test_values_that_the_source_tells_to_be_arrays_are_summed_in_lanes() -> None:
    def row_sums(x: Any) -> Any:
        out = []
        for row in x:
            s = 0.0
            for v in row:
                s += v
            out.append(str(s))
        return out

    fused = fuse(row_sums, on_reject="silent")
    fused(np.ones((3, 100)))
    (region,) = regions_of(fused)
    assert not region.has_python_bits
    assert region.options.reassociate


def outlined(**regions: bool) -> Any:
    """An outlined function with these regions, and whether they have Python's bits."""
    fused = [
        SimpleNamespace(has_python_bits=bits, calls=0, stats=Stats(replays=Counter()))
        for bits in regions.values()
    ]
    parts = [SimpleNamespace(fused=f) for f in fused]
    return OutlinedFunction(lambda: None, None, tuple(parts), ())  # type: ignore[arg-type]


REFUSED = Rejection("LOWER_TYPE", "refused")


def new(outlined: Any, allowance: int = 16) -> Specialization:
    return Specialization((), outlined=outlined, allowance=allowance, rejection=REFUSED)


def test_a_new_outlined_function_is_timed_anew() -> None:
    assert not new(outlined(a=True), 8).selection_of_outlined()  # its regions are not settled
    spec = new(outlined(a=True, b=True))
    first = spec.selection_of_outlined()
    assert first
    assert spec.selection_of_outlined() is first
    spec.outlined = outlined(a=True)
    assert spec.selection_of_outlined() is not first


def test_bits_are_the_same_if_those_of_all_regions_are() -> None:
    assert outlined(a=True, b=True).has_python_bits
    assert not outlined(a=True, b=False).has_python_bits


@pytest.mark.parametrize(
    ("entries", "failed", "time", "python", "serves"),
    [
        (200, 0, 56_000, 18_000, "original"),
        (200, 0, 56_000, 90_000, "outlined"),
        (200, 0, 18_500, 18_000, "original"),  # short calls are always tried
        (200, 0, 18_000, 18_000, "outlined"),
        (2, 0, 56_000, 18_000, "outlined"),  # of long entries, whose loops could be long as Python
        (24, 3, 56_000, 18_000, "original"),  # of which Python runs one in eight anyway
        (24, 2, 56_000, 18_000, "outlined"),
    ],
)
def test_the_faster_one_serves(
    entries: int, failed: int, time: int, python: int, serves: str
) -> None:
    function = outlined(a=True)
    selection = OutlinedSelection(function, "LOWER_TYPE")
    for _ in range(8):
        served, is_trial = selection.choice(40, False)
        if is_trial:
            region = function.regions[0].fused
            region.calls += entries
            region.stats.replays["GUARD_INT_RANGE"] += failed
            selection.add_time(40, served, time if served == "outlined" else python)
    assert served == serves
    assert (selection.faster_as_python() is not None) == (serves == "original")


def test_short_calls_are_looked_at_seldom() -> None:
    """A look takes much longer than they do."""
    allowances = []
    for time in (400, 10_000_000):
        selection = OutlinedSelection(outlined(a=True), "LOWER_TYPE")
        for _ in range(200):
            served, is_trial = selection.choice(9, True)
            if is_trial:
                selection.add_time(9, served, time)
        while (choice := selection.choice(9, False))[1]:  # until the last look has ended
            selection.add_time(9, choice[0], time)
        keys: Any = ()
        rows = selection.rows(keys, test_short_calls_are_looked_at_seldom, Counter())  # type: ignore[arg-type]
        allowances.append(max(int(row.counters[1]) for row in rows))
    assert allowances == [25_000, 1 << 10]


def failing(rows: Any) -> Any:
    for row in rows:
        s = 0.0
        for v in row:
            s += v
        str(s)
    raise KeyError(str(s))


def test_calls_that_raise_are_not_timed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "time")
    looks, inner = [], SignatureResolver.signature_of_call
    monkeypatch.setattr(
        SignatureResolver, "signature_of_call",
        lambda self, *args: (looks.append(1), inner(self, *args))[1],
    )
    fused = fuse(failing, on_reject="silent")
    for _ in range(1000):
        with pytest.raises(KeyError):
            fused([[1.5, 2.5]])
    assert len(looks) < 200


def evalpoly(polynomials: Any, x: Any) -> Any:
    out = []
    for p in polynomials:
        try:
            r = 0.0
            for c in p:
                r = r * x + c
            out.append(r)
        except Exception as error:  # noqa: PERF203
            out.append(str(error))
    return out


def test_the_original_serves_short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long ones are compiled; the report says so; answers and counts are complete."""
    monkeypatch.setenv("TRANSPILE_SELECT", "time")
    fused = fuse(evalpoly, on_reject="silent")
    short, long = [[1.1, 2.2, 3.3]] * 200, [[0.1] * 64] * 200

    def settles(rows: Any, compiled: int) -> bool:
        """Whether one of the next calls enters so many regions."""
        for _ in range(600):
            before = fused.stats.compiled
            assert fused(rows, 0.7) == evalpoly(rows, 0.7)
            if fused.stats.compiled - before == compiled:
                return True
        return False

    assert settles(short, 0)
    assert "that was measured to be faster" in str(fused.report(short, 0.7))
    assert settles(long, 200)
    assert fused.stats.replays["RUN_PYTHON_FASTER"] > 0
