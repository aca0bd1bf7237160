"""``x.strides``, ``x.flags``, ``x.itemsize`` and ``x.nbytes`` of arrays from outside."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import same
from staged import in_parts
from written import written

from transpile import fuse

TABLE = np.arange(6.0).reshape(2, 3)


class Held:
    def __init__(self, values: Any) -> None:
        self.values = values


def sizes(x, held):
    s = 0.0
    for i in range(x.strides[0] // x.itemsize):
        s += i
    return s, x.strides, len(x.strides), x.nbytes, x.dtype.itemsize, held.values.strides[-1]


def flags(x, held):
    if x.flags.c_contiguous and not x.flags["F_CONTIGUOUS"]:
        s = 1.0
    elif x.flags.f_contiguous:
        s = 2.0
    else:
        s = 3.0
    for step in x.strides:
        s += step
    return s, x.flags.owndata, x.flags["W"], x.flags.forc, held.values.flags.aligned


def of_a_global(x, held):
    s = 0.0
    for v in x.ravel():
        s += v * TABLE[0, 1]
    return s, TABLE.strides, TABLE.flags.c_contiguous


FUNCTIONS = (sizes, flags, of_a_global)


def arrays() -> list[np.ndarray]:
    x = np.arange(24.0).reshape(4, 6)
    read_only = x.copy()
    read_only.flags.writeable = False
    return [x, np.asfortranarray(x), x[::2, 1:3], x[:, ::-1], x[:1], read_only, np.zeros((0, 3))]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_call_reads_the_layout(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(function)
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for x in arrays():
        held = Held(x[0] if len(x) else np.zeros(3))
        for _ in range(2):
            assert same(fused(x, held), function(x, held)), x.strides
    assert not in_parts(fused)
    assert not fused.stats.replays


def test_the_call_is_performed_in_c() -> None:
    def total(x):
        s = 0.0
        if x.flags.c_contiguous:
            for v in x:
                s += v
        return s, x.strides[0]

    fused = fuse(total)
    assert fused(np.arange(99.0)) == (4851.0, 8)
    (spec,) = fused._specializations.values()
    assert spec.variants[0].not_native is None


LEFT = {
    "a view": "y = x[::2]",
    "an array that the function makes": "y = x * 2",
}


@pytest.mark.parametrize("of", LEFT)
def test_of_others_the_report_says_whose_layout_it_is(of: str, tmp_path: Path) -> None:
    f = written(tmp_path, (
        f"def f(x):\n    {LEFT[of]}\n    s = 0.0\n    for i in range(len(x)):\n"
        f"        if y.flags.c_contiguous:\n            s += x[i]\n    return s, y.strides\n")).f
    fused, x = fuse(f, on_reject="silent"), np.arange(8.0)
    assert fused(x) == f(x)
    message = f"`y.flags.c_contiguous` asks for the memory layout of {of}"
    assert message in {r.message for r in fused.report(x).rejections}
