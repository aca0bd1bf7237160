"""Loops that carry a state from element to element: what is chosen without a branch is the same."""
from __future__ import annotations

import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from agree import same
from written import written

from targets.isa.target_registry import runnable_targets
from transpile import fuse

FLOATS, INTS = ("s", "r", "t"), ("n", "k", "state")
TARGETS = [t.name for t in runnable_targets()]
ELEMENTS = ("y[i]", "z[i]", "q[i]")
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5)


class Program:
    """A function's text, of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        lines = [f"    {name} = {self.rng.choice(('0.0', '1.0', '-2.5'))}" for name in FLOATS]
        lines += [f"    {name} = {self.rng.choice('012')}" for name in INTS]
        lines += ["    for i in range(len(y)):"]
        for _ in range(self.rng.randint(2, 4)):
            lines += self.branch(2, self.rng.randint(0, 2))
        lines += [f"        out[i] = {self.rng.choice(FLOATS)}"] * self.rng.randint(0, 1)
        self.text = "def f(y, z, q, out):\n" + "\n".join(lines)
        self.text += f"\n    return {', '.join((*FLOATS, *INTS))}\n"

    def branch(self, depth: int, more: int) -> list[str]:
        pad = "    " * depth
        lines = [f"{pad}if {self.condition()}:", *self.block(depth + 1, more)]
        if self.rng.random() < 0.4:
            lines += [f"{pad}elif {self.condition()}:", *self.block(depth + 1, 0)]
        if self.rng.random() < 0.5:
            lines += [f"{pad}else:", *self.block(depth + 1, more)]
        return lines

    def block(self, depth: int, more: int) -> list[str]:
        lines = ["    " * depth + self.update() for _ in range(self.rng.randint(1, 2))]
        return lines + (self.branch(depth, more - 1) if more and self.rng.random() < 0.5 else [])

    def update(self) -> str:
        pick = self.rng.choice
        if self.rng.random() < 0.5:
            name = pick(INTS)
            return pick((f"{name} += 1", f"{name} = {pick('0123')}", f"{name} = {pick(INTS)}",
                         f"{name} = max({name}, {pick(INTS)})", f"{name} = {name} - 1"))
        name, other = pick(FLOATS), pick((*FLOATS, *ELEMENTS[:2]))
        return pick((
            f"{name} = {other}", f"{name} = {name} + {other}", f"{name} = {name} * 0.5",
            f"{name} = {name} - {other} if {self.condition()} else {pick(FLOATS)}",
            f"{name} = max({name}, {other})", f"{name} = 0.0",
        ))

    def condition(self) -> str:
        pick = self.rng.choice
        compare = pick(("<", "<=", ">", ">=", "==", "!="))
        return pick((
            f"{pick(ELEMENTS)} {compare} {pick(('0', '1', '-1'))}",
            f"{pick(ELEMENTS[:2])} {compare} {pick(FLOATS)}",
            f"{pick(INTS)} {compare} {pick('012')}",
            f"{pick(FLOATS)} {compare} {pick((*FLOATS, *ELEMENTS[:2]))}",
            f"{pick(INTS)} == {pick('012')} and {pick(ELEMENTS)} {compare} 1",
        ))


def arguments(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    y, z = (rng.integers(-2, 3, 83) * 0.5 for _ in "yz")
    y[::7] = rng.choice(SPECIAL, len(y[::7]))
    return y, z, rng.integers(-2, 3, 83), np.zeros(83)


@pytest.mark.share(204)
@pytest.mark.parametrize("target", TARGETS[-2:])
@pytest.mark.parametrize("seed", range(60))
def test_as_python_goes_on(seed: int, target: str, tmp_path: Path) -> None:
    plain = written(tmp_path, f"import numpy as np\n{Program(seed).text}").f
    fused = fuse(plain, on_reject="raise", target=target)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k in range(3):
            args, ours = arguments(k), arguments(k)
            wanted = plain(*args)
            assert same(fused(*ours), wanted)
            assert same(ours, args)
    assert fused.stats.compiled


def test_it_is_told_where_nothing_is_predicted(tmp_path: Path) -> None:
    text = """
def f(y):
    longest = run = 0
    total = best = 0.0
    for v in y:
        run = run + 1 if v > 0 else 0
        longest = max(longest, run)
        total = total + v if v > 0 else 0.0
        if total > best:
            best = total
    return longest, best
"""
    f = fuse(written(tmp_path, text).f, on_reject="raise", target=TARGETS[-1])
    ir = f.emit("loopir", np.ones(3))
    assert ir.count("blend(") == 2
    assert "if " not in ir
