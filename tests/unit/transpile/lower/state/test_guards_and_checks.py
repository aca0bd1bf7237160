"""Guards: none that follows from earlier ones, and no access out of bounds by those that are left.
"""
from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import Replayed, interpreted, through
from written import written

from loopir.ir_printer import show
from loopir.nodes import Guard
from transpile.diagnostics import Refused
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

LAPLACE = "out[1:-1, 1:-1] = x[1:-1, 2:] + x[1:-1, :-2] + x[2:, 1:-1] + x[:-2, 1:-1]"
HEIGHT = "max(out.shape[0] - 2, 0) == max(x.shape[0] - 2, 0)"

GUARDS = {
    "out[:] = x + y * 2": ["x.shape[0] == y.shape[0]", "out.shape[0] == x.shape[0]"],
    "for i in range(len(out)): out[i] = x[i]": [
        "(x.shape[0] - out.shape[0] >= 0) | (out.shape[0] <= 0)",
    ],
    "out[1:-1] = x[2:] + x[:-2]": [HEIGHT],
    "for i in range(1, len(out) - 1): out[i] = x[i + 1] + x[i - 1]": [
        "(x.shape[0] - out.shape[0] >= 0) | (max(out.shape[0] - 2, 0) <= 0)",
    ],
    "for _ in range(3):\n        out[1:-1] = x[2:]\n        x[1:-1] = out[2:]": [HEIGHT],
    "out[2:] = x[2:]\n    out[:-3] = x[:-3]": [
        "max(out.shape[0] - 2, 0) == max(x.shape[0] - 2, 0)",
        "max(out.shape[0] - 3, 0) == max(x.shape[0] - 3, 0)",
    ],
    "out[0] = x[0]\n    out[0] = x[1]\n    x[0] = 1.0": [
        "x.shape[0] - 1 >= 0", "out.shape[0] - 1 >= 0", "x.shape[0] - 2 >= 0",
    ],
}
"""The guards of functions of three arrays, in order, without those of overlap."""


def guards_of(function: Any, **given: Any) -> list[str]:
    """The guards of the lowered kernel of `function`, for arguments of these types."""
    types = {name: type_of(value) for name, value in given.items()}
    kernel = compile_stages(function, types, Options(), stop_after="lower").plan.kernel
    return [show(g.cond) for g in kernel.guards if isinstance(g, Guard)]


@pytest.mark.parametrize("body", GUARDS)
def test_no_guard_follows_from_earlier_ones(body: str, tmp_path: Path) -> None:
    f = written(tmp_path, f"def f(out, x, y):\n    {body}\n").f
    assert guards_of(f, out=np.ones(9), x=np.ones(9), y=np.ones(9)) == GUARDS[body]


def test_a_stencil_of_two_axes(tmp_path: Path) -> None:
    f = written(tmp_path, f"def f(out, x, y):\n    {LAPLACE}\n").f
    found = guards_of(f, **dict.fromkeys(("out", "x", "y"), np.ones((9, 9))))
    assert found == [HEIGHT, HEIGHT.replace("[0]", "[1]")]


def test_a_guard_of_a_loop_says_nothing_about_another(tmp_path: Path) -> None:
    """With ``steps`` < 1 the lengths need not be equal, though the second loop reads both."""
    text = """def f(out, x, steps):
    for _ in range(steps): out[:] = x
    for i in range(len(out)): out[i] += x[i]
"""
    f = written(tmp_path, text).f
    assert "(x.shape[0] - out.shape[0] >= 0) | (out.shape[0] <= 0)" in guards_of(
        f, out=np.ones(3), x=np.ones(3), steps=1)


def test_a_guard_of_a_loop_that_another_one_implies_is_replaced(tmp_path: Path) -> None:
    text = """def f(out, x, steps):
    for _ in range(steps): out[:] = x
    out[:] = x
    for _ in range(1): out[1:] = x[1:]
    for k in range(2, 3): out[k:] += x[k:]
"""
    f = written(tmp_path, text).f
    guards = guards_of(f, out=np.ones(3), x=np.ones(3), steps=1)
    assert [g for g in guards if "shape" in g] == ["out.shape[0] == x.shape[0]"]


SLICES = (
    ":", "1:", ":-1", "1:-1", "2:", ":-2", "::2", "1::2", ":n", "n:", "n:n + 3", "::-1", "-3:",
)


def random_body(rng: random.Random) -> str:
    """Statements on slices and elements of three arrays, in loops that may have no iteration."""
    def operand() -> str:
        name = rng.choice(("out", "x", "y"))
        return f"{name}[{rng.choice(SLICES)}]" if rng.random() < 0.8 else name

    def statement(indent: str) -> Iterator[str]:
        match rng.randrange(6):
            case 0 | 1 | 2:
                target = f"{rng.choice(('out', 'x'))}[{rng.choice(SLICES)}]"
                yield f"{indent}{target} = {operand()} {rng.choice('+-')} {operand()}"
            case 3:
                a, b = (rng.choice(("out", "x", "y")) for _ in range(2))
                low, high, k, m = (rng.randrange(3) for _ in range(4))
                yield f"{indent}for i in range({low}, len({a}) - {high}):"
                yield f"{indent}    {a}[i] += {b}[i + {k} - {m}]"
            case 4:
                yield f"{indent}s += ({operand()} * {operand()}).sum()"
            case 5:
                yield f"{indent}for _ in range({rng.choice(('n', '2', 'len(y)', 'n - 2'))}):"
                yield from statement(indent + "    ")
                yield from statement(indent + "    ")

    lines = [line for _ in range(rng.randint(1, 4)) for line in statement("    ")]
    return "def f(out, x, y, n):\n    s = 0.0\n" + "\n".join(lines) + "\n    return s\n"


@pytest.mark.share(12)
@pytest.mark.parametrize("seed", range(240))
def test_no_access_out_of_bounds(seed: int, tmp_path: Path) -> None:
    """The kernel after all passes, interpreted, for small lengths: either a guard fails, or it
    gives Python's answer; the interpreter raises IndexError out of bounds.
    """
    rng = random.Random(seed)
    f = written(tmp_path, random_body(rng)).f
    types = tuple(map(type_of, (np.ones(3), np.ones(3), np.ones(3), 1)))
    try:
        stages = compile_stages(f, dict(zip(("out", "x", "y", "n"), types, strict=True)), Options())
        kernels = {"lowered": stages.lowered.kernel, "transformed": stages.kernel}
    except Refused:
        pytest.skip("refused")
    ran = answered = 0
    for lengths in rng.sample([*product((0, 1, 2, 3, 4, 7), repeat=3)], 40):
        for n in (-1, 0, 1, 3):
            given = *(np.arange(1.0, k + 1) for k in lengths), n
            expected = outcome(f, given)
            answered += expected.error is None
            for what, kernel in kernels.items():
                got = outcome(through(stages, stages.lowered, kernel, interpreted(kernel)), given)
                if got.error is not None and issubclass(got.error[0], Replayed):
                    continue
                assert_same(got, expected, f"{what}, {lengths}, {n}", ulps=64)
                ran += 1
    # lengths that broadcast, or of nothing, may all be replayed; a fourth of the calls may not
    assert ran or (expected.error is not None and answered <= 40)
