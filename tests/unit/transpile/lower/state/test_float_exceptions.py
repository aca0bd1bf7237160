"""Whole arrays: what is computed ahead of its place warns in its turn, and of the line it is on.
Functions of `math`: they raise where Python's do.
"""
from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import outcome, same
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
        for _ in range(3):  # the second call has a kernel that tells what raised
            assert _shown(fused) == wanted, text
        compiled += fused.stats.compiled
    assert compiled or then != "1 + 1 / len(x)", "nothing was told by a kernel"


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e308, -1e308, 5e-324, 710.0, -746.0, 171.5]
SPECIAL += [math.inf, -math.inf, math.nan]


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function of `math` takes so many floats."""
    try:
        function(*[0.5] * count)
    except (TypeError, ValueError) as e:
        return isinstance(e, ValueError)
    return True


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("count", [1, 2])
def test_functions_of_math_raise_where_those_of_python_do(
    count: int, part: int, tmp_path: Path
) -> None:
    functions = [f for name, f in vars(math).items() if callable(f) and name[0] != "_"]
    names = [f.__name__ for f in functions if _takes(f, count)]
    compiled = 0
    for name in names[part::4]:
        parameters = ", ".join("ab"[:count])
        plain = written(tmp_path, f"""
import math
def f({parameters}):
    s = 0.0
    for _ in range(1):
        s = math.{name}({parameters})
    return s
""").f
        fused = fuse(plain, on_reject="silent")
        for arguments in itertools.product(SPECIAL, repeat=count):
            wanted, got = outcome(plain, arguments), outcome(fused, arguments)
            assert got.error == wanted.error, (name, arguments)
            assert same(got.value, wanted.value, 4), (name, arguments)
        compiled += bool(fused.stats.compiled)
    assert compiled
