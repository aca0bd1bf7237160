"""Views: new axes, of arrays of any rank."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

SUBSCRIPTS = ("None", "..., None", "None, None", "np.newaxis, ...", "None, ..., None", "...", "()")


@pytest.mark.parametrize("array", [np.array(2.5), np.arange(3.0), np.ones((2, 3))], ids=np.ndim)
@pytest.mark.parametrize("subscript", SUBSCRIPTS)
def test_new_axes(array: Any, subscript: str, tmp_path: Path) -> None:
    """Of a 0-d array, too, whose view has no subscript of the array."""
    text = f"import numpy as np\ndef f(x):\n    return x[{subscript}], x[{subscript}] * 2\n"
    plain = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="silent")
    for value, expected in zip(compiled(array), plain(array), strict=True):
        assert type(value) is type(expected)
        assert (value.shape, value.strides) == (expected.shape, expected.strides)
        assert np.array_equal(value, expected)
    if array.ndim:
        assert compiled.stats.compiled


FAR = (2**63 - 1, -(2**63), 2**62, -(2**62), 3, -3, 2**63 - 1, 2**63 - 1, -(2**63), 2**63 - 1)


@pytest.mark.parametrize("step", ["1", "2", "-1", "-3", "2**63 - 1", "-2**63", "k[0]"])
def test_bounds_that_are_far_apart(step: str, tmp_path: Path) -> None:
    """The distance from the start to the stop may need more than 64 bits."""
    text = (
        "def f(x, k):\n    s = 0.0\n    for i in range(len(k) - 1):\n"
        f"        v = x[k[i]:k[i + 1]:{step}]\n        s += len(v)\n"
        "        for j in range(len(v)):\n            s += v[j]\n    return s\n"
    )
    plain = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="raise")
    for bounds in (np.array(FAR), list(FAR)):
        x = np.arange(10.0)
        assert compiled(x, bounds) == plain(x, bounds)
    assert compiled.stats.compiled == 2


@pytest.mark.parametrize("part", ["x[c:]", "x[1:c]", "x[4:c:-1]", "x[1:][:c]"])
def test_a_bound_that_is_a_numpy_bool_on_another_path(part: str, tmp_path: Path) -> None:
    """NumPy raises TypeError for a bool: the call is replayed."""
    text = f"def f(x):\n    c = x[0] > 0 and 4\n    s = 0.0\n    for v in {part}:\n        s += v\n"
    plain = written(tmp_path, text + "    return s\n").f
    compiled = fuse(plain, on_reject="raise", target="scalar")
    for first in (1.0, -1.0):
        args = (np.array([first, 2.0, 3.0, 4.0, 5.0]),)
        assert_same(outcome(compiled, args), outcome(plain, args), f"{part}, {first}")
    assert compiled.stats.compiled == 1
