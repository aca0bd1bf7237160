"""Whole arrays: what is computed ahead of its place warns in its turn, and of the line it is on."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse

pytestmark = pytest.mark.users_flags  # flags raised depend on what GCC moves

FIRST = ("x - y", "np.log(w)", "x[k] - y", "X - y")
THEN = ("z[0] * z[0]", "np.exp(s)", "np.sqrt(n)", "np.max(z * z)", "1 + 1 / len(x)")
FORMS = (
    "F * T", "np.clip(F, T, 9)", "np.where(w, F, T)", "F @ (T * w)", "np.stack((F, X * T))",
    "np.append(F, T)", "np.round(F, 1) / T", "(F / w) ** 2 - T", "np.outer(F, T)", "np.diff(F * T)",
)
ARGUMENTS = {
    "x": np.array([np.inf, 1.0, 2.0]), "y": np.array([np.inf, 1.0, 2.0]),
    "z": np.array([1e200, 1.0, 1e200]), "w": np.array([0.0, 1.0, 0.0]),
    "n": np.array([-1.0, 2.0, 3.0]), "s": np.float64(1e200), "k": np.array([2, 1, 0]),
    "X": np.array([[np.inf, 1.0, 2.0]] * 2),
}


def _shown(f: Callable[..., Any]) -> list[tuple[str, str, int]] | None:
    """What is warned of, with its place; None where `f` raises."""
    f.__globals__.pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            f(**ARGUMENTS)
        except ValueError:
            return None
    return [(str(w.message), w.filename, w.lineno) for w in caught]


@pytest.mark.share(64)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("first", FIRST)
def test_in_the_order_and_of_the_lines_of_numpy(
    first: str, then: str, part: int, tmp_path: Path
) -> None:
    compiled = 0
    for form in FORMS[part::3]:
        text = form.replace("F", f"\n({first})").replace("T", f"\n({then})")
        source = f"import numpy as np\ndef f({', '.join(ARGUMENTS)}):\n    return (\n{text})\n"
        plain = written(tmp_path, source).f
        wanted = _shown(plain)
        if wanted is None:
            continue
        fused = fuse(plain, on_reject="silent")
        fused.__globals__ = plain.__globals__
        for _ in range(3):  # the second call has a kernel that tells what raised
            assert _shown(fused) == wanted, text
        compiled += fused.stats.compiled
    assert compiled or then != "1 + 1 / len(x)", "nothing was told by a kernel"
