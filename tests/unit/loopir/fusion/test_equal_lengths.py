"""Lengths that guards make equal, within the loops where they do."""
from __future__ import annotations

import inspect
import random
import re
import textwrap
from itertools import product

import numpy as np
import pytest
from fusing import fused, kernel

from loopir.fusion.equal_lengths import unify_lengths
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.ir_verifier import verify
from loopir.nodes import Kernel

TWO = "for i in loop(0, n):\n    t[i] = a[i]\nfor i in loop(0, m):\n    out[i] = t[i]"


def test_the_example() -> None:
    """Before and after, as the docstring shows them."""
    doc = inspect.cleandoc(unify_lengths.__doc__ or "") + "\n"
    before, after = (
        textwrap.dedent(block).strip() + "\n"
        for block in re.findall(r"::\n\n((?:    .*\n|\n)+)", doc)
    )
    assert show(unify_lengths(parse(before))) == after


@pytest.mark.parametrize("guard", ["n == m", "(n >= m) & (m >= n)", "m + 1 == n + 1"])
def test_the_loops_are_joined_without_a_remainder_loop(guard: str) -> None:
    head = f'guard(n >= 1, "GUARD_EMPTY")\nguard({guard}, "GUARD_SHAPE")'
    found = fused(kernel(TWO, same=False, more="m: i64", head=head))
    assert found.fused == 1
    assert show(found.kernel).count("for ") == 1


def test_two_guards_make_an_equality() -> None:
    head = 'guard(n >= m, "GUARD_SHAPE")\nguard(m >= n, "GUARD_SHAPE")'
    assert "loop(0, m)" not in show(unify_lengths(kernel(TWO, more="m: i64", head=head)))


@pytest.mark.parametrize("guard", [
    "n >= m", "(n == m) | (n >= 3)", "(n == m) | (k <= 1)", "n != m", "(n == m) | (m == k)",
    "(n == m) | (k <= 0)",
])
def test_other_guards_say_nothing(guard: str) -> None:
    k = kernel(TWO, more="m: i64, k: i64", head=f'guard({guard}, "GUARD_SHAPE")')
    assert unify_lengths(k) is k


def test_equal_in_the_loops_of_the_guard_only() -> None:
    text = """
for k in loop(0, s):
    for i in loop(0, n):
        t[i] = a[i]
    for i in loop(0, m):
        out[i] = t[i]
for i in loop(0, m):
    a[i] = 0.0
for k in loop(1, s):
    for i in loop(0, m):
        a[i] = 1.0
"""
    head = 'guard((n == m) | (s <= 0), "GUARD_SHAPE")'
    lines = show(unify_lengths(kernel(text, more="m: i64, s: i64", head=head))).splitlines()
    assert [line.strip() for line in lines if "for i" in line] == [
        "for i in loop(0, n):", "for i in loop(0, n):", "for i in loop(0, m):",
        "for i in loop(0, m):",
    ]


ATOMS = ("n", "m", "k", "max(n - 1, 0)", "max(m - 1, 0)", "max(k - 2, 0)", "n // 2", "a.shape[0]")


def random_kernel(rng: random.Random) -> Kernel:
    """Guards of equal lengths, some within loops, and loops that store how far they came."""
    def length() -> str:
        return rng.choice(ATOMS)

    lines = []
    for _ in range(rng.randint(1, 4)):
        outer = "".join(f" | ({t} <= 0)" for t in rng.sample(ATOMS[:5], rng.randrange(3)))
        offset = rng.choice(("", " + 1", " - 1"))
        lines.append(f'guard(({length()} == {length()}{offset}){outer}, "GUARD_SHAPE")')
    for number in range(rng.randint(1, 3)):
        depth = rng.randint(1, 3)
        for level in range(depth):
            low = rng.choice(("0", "0", "0", "1"))
            lines.append("    " * level + f"for i{number}{level} in loop({low}, {length()}):")
        at = f"{3 * number + depth}"
        lines.append("    " * depth + f"out[{at}] = out[{at}] + f64({length()})")
    return parse(
        "def k(n: i64, m: i64, k: i64, a: f64[::1], out: mut(f64[::1])):\n"
        + "\n".join("    " + line for line in lines) + "\n"
    )


@pytest.mark.share(50)
@pytest.mark.parametrize("seed", range(400))
def test_random_kernels(seed: int) -> None:
    """Where the guards hold, the kernel does the same before and after."""
    before = random_kernel(random.Random(seed))
    after = unify_lengths(before)
    verify(after, "scalar")
    for n, m, k, length in product(range(-1, 4), range(-1, 4), (-1, 0, 1, 3), (0, 2)):
        outs = []
        for kernel_ in (before, after):
            out = np.zeros(16)
            given = {"n": n, "m": m, "k": k, "a": np.zeros(length), "out": out}
            status = run_kernel(kernel_, given).status
            outs.append((status, out.tobytes()))
        assert outs[0] == outs[1], (n, m, k, length, show(before), show(after))


def test_an_array_that_may_go_does_not_stand_for_others() -> None:
    text = """
def k(t: own(f64[::1]), x: mut(f64[::1])):
    guard(t.shape[0] == x.shape[0], "GUARD_SHAPE")
    for i in loop(0, t.shape[0]):
        t[i] = 1.0
    for j in loop(0, x.shape[0]):
        x[j] = t[j]
"""
    assert "loop(0, t.shape[0])" not in show(unify_lengths(parse(text.lstrip())))
