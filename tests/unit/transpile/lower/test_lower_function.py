"""Names of members: generated names differ from those by which members of arguments are known."""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse


class Members(NamedTuple):
    a_1: float
    x: float


RECORDS = np.array([(1.0, 2.0), (3.0, 5.0)], dtype=[("x", "f8"), ("1", "f8")])


@pytest.mark.parametrize(
    "given", [(1, 2, 3), (1.0, 2.0), (1, 2.5), Members(1.0, 4.0)], ids=["i", "f", "mixed", "named"]
)
@pytest.mark.parametrize(
    "expression",
    ["np.asarray(a)", "np.array(a)", "np.asarray(a).sum()", "np.asarray(a) * 2",
     "np.array([a[1], a[0]])"],
)
def test_an_array_of_a_tuple(expression: str, given: tuple[float, ...], tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(a):\n    return {expression}\n"
    agrees(text, given, tmp_path)


@pytest.mark.parametrize(
    "body", ["_a = x * 2.0\n    _a_1 = x + a['1'].sum()\n    return _a + _a_1 + a['x']"]
)
def test_fields_of_records(body: str, tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(a):\n    x = a['x']\n    {body}\n"
    agrees(text, RECORDS, tmp_path)


def agrees(text: str, given: object, folder: Path) -> None:
    f = written(folder, text).f
    fused = fuse(f)
    assert_same(outcome(fused, (given,)), outcome(f, (given,)), text)
    assert fused.stats.compiled == 1
