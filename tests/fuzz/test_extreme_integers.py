"""Random comparisons of positions, counters and integers near the ends of 64 bits, as Python's."""
from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from agree import assert_same, outcome
from example_counts import examples
from written import written

from transpile import fuse

EXTREMES = (
    0, 1, -1, 3, 5, 8, 2**31 - 1, -(2**31), 2**61, 2**61 + 5, -(2**61), 2**62, 2**63 - 1,
    2**63 - 3, -(2**63), -(2**63) + 2, -(2**63) + 9,
)
TERMS = (
    "i", "m", "p", "n", "k", "i + m", "i - m", "m - i", "i + 1", "m + p", "i + m - p", "k + 1",
    "k + m", "2 * i", "2 * i + m", "m + 1", "m - 1", "n - m", "k - m",
)
INNER_TERMS = (*TERMS, "j", "j + m", "i - j", "i + j")
STATEMENTS = (
    "if {}: out[i] += 1.0",
    "if {}: k += 1",
    "if {}: out[i] *= 2.0\n{indent}else: out[i] -= 1.0",
    "if {} and {}: out[i] = k",
)


def program(r: random.Random) -> str:
    """A function whose loops compare what may be extreme: loaded, given, or converted."""
    terms, indent = (INNER_TERMS, " " * 12) if r.random() < 0.4 else (TERMS, " " * 8)

    def condition() -> str:
        return f"{r.choice(terms)} {r.choice(('<', '<=', '>', '>=', '==', '!='))} {r.choice(terms)}"

    lines = ["def f(b, q, out):", f"    m = {r.choice(('b[0]', 'int(b[0])', 'q'))}"]
    lines.append(f"    p, n = {r.choice(('b[1]', 'int(b[1])', '3', 'len(out) - 2'))}, len(out)")
    lines.append(f"    k = {r.choice(('0', '0', '1', 'm'))}")
    lines.append(f"    for i in range({r.choice(('n', '1, n', 'n - 1'))}):")
    if terms is INNER_TERMS:
        lines.append("        for j in range(n):")
    forms = r.sample(STATEMENTS, r.randrange(1, 4))
    body = (indent + form.format(condition(), condition(), indent=indent) for form in forms)
    return "\n".join((*lines, *body, "    return k"))


def test_comparisons_near_the_ends_of_64_bits(
    tmp_path: Path, start: int, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    r, compiled = random.Random(start), 0
    for _ in range(examples(25)):
        source = program(r)
        f = written(tmp_path, source).f
        fused = fuse(f, on_reject="silent")
        for _ in range(8):
            b = np.array([r.choice(EXTREMES), r.choice(EXTREMES)])
            given = b, r.choice(EXTREMES), np.zeros(r.choice((0, 1, 2, 9, 40)))
            assert_same(outcome(fused, given), outcome(f, given), f"{source}\n{given}")
        compiled += fused.stats.compiled > 0
    assert compiled > 0
