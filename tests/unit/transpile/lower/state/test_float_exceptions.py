"""Whole arrays: what is computed ahead of its place warns in its turn, and of the line it is on.
Functions of `math`: they raise where Python's do.
"""
from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import outcome, same
from written import written

from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr
from loopir.op_table import OPS, evaluate
from transpile import fuse
from transpile.lower.state.float_exceptions import status_raised

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


def _shown(f: Callable[..., Any], **arguments: Any) -> list[tuple[str, str, int]] | None:
    """What is warned of, with its place; None where `f` raises."""
    f.__globals__.pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            f(**arguments)
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
        wanted = _shown(plain, **ARGUMENTS)
        if wanted is None:
            continue
        fused = fuse(plain, on_reject="silent")
        for _ in range(3):  # the second call has a kernel that tells what raised
            assert _shown(fused, **ARGUMENTS) == wanted, text
        compiled += fused.stats.compiled
    assert compiled or then != "1 + 1 / len(x)", "nothing was told by a kernel"


@pytest.mark.parametrize("text", [
    "np.diff(x)", "np.round(x, 1)", "np.ediff1d(x)", "np.isclose(x, y)", "np.allclose(x, y)",
    "np.cross(x[:3], y[:3])", "np.unwrap(x)", "np.gradient(x)", "np.trapezoid(x)", "np.ptp(x)",
])
def test_functions_that_numpy_has_in_python_warn_of_lines_of_numpy(
    text: str, tmp_path: Path
) -> None:
    """Also beside an operation that warns of the user's line."""
    x = np.array([1.5e308, -1.5e308, 1.7e308, 1e308])
    for more in ("1.0", "x[::2] + x[::2]"):
        f = written(tmp_path, f"import numpy as np\ndef f(x, y):\n    return {text}, {more}\n").f
        wanted = _shown(f, x=x, y=-x)
        fused = fuse(f, on_reject="silent")
        assert wanted
        for _ in range(3):
            assert _shown(fused, x=x, y=-x) == wanted


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


def _value(e: Expr) -> Any:
    """Of an expression of constants."""
    if isinstance(e, Const):
        return np.dtype(DTYPES[e.dtype].numpy).type(e.value)
    assert isinstance(e, Call)
    return evaluate(e.op, [_value(x) for x in e.args], e.dtype)


UFUNCS = {
    op: getattr(np, name[6:])
    for op, row in OPS.items() if "invalid" in row.raises
    for name in row.spellings if name.startswith("numpy.")
    if isinstance(getattr(np, name[6:], None), np.ufunc)
}
"""By its name, each operation of which a recording kernel has to tell, and what NumPy has for it.
"""


def _note(heard: list[str], what: str, _: int) -> None:
    heard.append(what)


@pytest.mark.parametrize("op", UFUNCS)
def test_results_tell_what_numpy_warns_of(op: str) -> None:
    """All conditions but underflow, of special floats."""
    ufunc = UFUNCS[op]
    for values in itertools.product(SPECIAL, repeat=ufunc.nin):
        heard: list[str] = []
        with np.errstate(all="call", under="ignore", call=partial(_note, heard)):
            result = ufunc(*map(np.float64, values))
        operands = tuple(Const(v, "f64") for v in values)
        told = {
            status for status in OPS[op].raises
            if _value(status_raised(status, op, operands, Const(float(result), "f64")))
        }
        words = {"divide by zero": "divide", "overflow": "over", "invalid value": "invalid"}
        assert told == {words[w] for w in heard}, f"{ufunc.__name__}{values} = {result}"
