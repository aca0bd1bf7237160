"""Random programs on words, Python ints of 0 … 2**64 - 1, beside ints, floats, lists and arrays."""
from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from example_counts import examples
from written import written

from transpile import fuse

EXPRESSIONS = (
    "{a} ^ {b}", "({a} + {b}) & M", "({a} * {b}) & M", "({a} << {k}) & M", "{a} >> {k}",
    "{a} & {b}", "{a} | {b}", "~{a} & M", "({a} - {b}) & M", "-{a} & M", "{a} % 1000003",
    "{a} // 7",
    "({a} << {k} | {a} >> (64 - {k})) & M", "({a} * 31 + {b}) % TWO64", "{a} & -{a}", "{a} & ~{b}",
    "{a} & ({b} - 1 & M)", "min({a}, {b})", "max({a}, {b})", "{a} if {a} < {b} else {b}",
    "{b} if {a} & 1 else {a} >> 1", "int({a})", "abs({a})", "{a} % ({b} | 1)", "{a} // ({b} | 1)",
    "({a} ^ {b}) & 0xffffffff", "({a} + i) & M", "{a} ^ i", "({a} * x[i]) & M", "x[i] ^ {a}",
    "({a} - x[i]) & M", "{a} + 1 if {a} < M else 0", "{a} - 1 if {a} else M",
    "(1 << ({a} & 63)) & M", "{a} >> ({b} & 63)", "({a} << ({b} & 63)) & M",
    "{a} & 0x8000000000000000", "0xF000000000000001 - ({a} >> 4)", "{a}.bit_count()",
    "{a}.bit_length()", "({a} == {b}) + {a} // 2", "({a} > 5) | ({a} & M)", "{a} & 255 or {b}",
    "{a} // 3 * 2", "({a} >> 1) + ({b} >> 1)",
)
STATEMENTS = (
    "f = {a} / TWO64", "f = ({a} >> 11) * 2**-53", "f = float({a})", "out.append({a})",
    "t[{a} % 8] += 1", "t[{a} & 7] = {b} >> 40", "w[{a} % 4] ^= {b}", "w[i % 4] = {a}",
    "n += {a} > {b}", "if {a} < {b}: n += 1", "u[i] = {a}", "g[i] = {a}", "if {a} == {b}: break",
    "if not {a}: n += 5", "{a} ^= {b}", "{a} &= M", "{a} *= 3; {a} &= M", "{a} %= TWO64",
    "n ^= {a} & 0xfff", "n += {a} >= 2.0**63", "n += {a} != 5",
    "if {a} & 1: {b} = ({b} * 3) & M",
)


def program(r: random.Random) -> str:
    """A function whose loop computes with three ints, at first of any sign, a word, and 7."""
    body = []
    for _ in range(r.randrange(2, 7)):
        names = {"a": r.choice("pqr"), "b": r.choice("pqr"), "k": r.choice((1, 3, 13, 33, 63))}
        if r.random() < 0.6:
            body.append(f"{r.choice('pqr')} = {r.choice(EXPRESSIONS).format(**names)}")
        else:
            body.append(r.choice(STATEMENTS).format(**names))
    appends = any("out.append" in line for line in body)
    return "\n".join((
        "M, TWO64 = (1 << 64) - 1, 2**64", "def f(m, s, x, u, g):",
        "    p, q, r, f, n = s, 0x9E3779B97F4A7C15, 7, 0.0, 0",
        f"    t, w{', out' if appends else ''} = [0] * 8, [1, 2, 3, 4]{', []' if appends else ''}",
        "    for i in range(m):", *(f"        {line}" for line in body),
        f"    return p, q, r, f, n, t, w{', out' if appends else ''}",
    ))


@pytest.mark.filterwarnings("ignore")
def test_programs_on_words(
    tmp_path: Path, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    r, compiled, calls = random.Random(start), 0, 0
    for _ in range(examples(20)):
        source = program(r)
        f = written(tmp_path, source).f
        fused = fuse(f, on_reject="silent")
        for m, s in ((40, 5), (3, 0), (0, 9), (17, (1 << 60) + 12345), (12, -3)):
            x = [r.randrange(-(1 << 62), 1 << 62) for _ in range(m)]
            args = (m, s, x, np.zeros(m, np.uint64), np.zeros(m))
            assert_same(outcome(fused, args), outcome(f, args), f"{source}\n{m}, {s}")
        compiled += fused.stats.compiled
        calls += 5
    assert compiled >= 0.5 * calls
