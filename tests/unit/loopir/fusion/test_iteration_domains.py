"""Iteration domains: what guards imply, also guards of many alternatives."""
from __future__ import annotations

from fusing import fused, kernel

from loopir.fusion import iteration_domains
from loopir.ir_printer import parse
from loopir.nodes import Guard

TWO = "for i in loop(0, n):\n    t[i] = a[i]\nfor i in loop(0, m):\n    out[i] = t[i]"


def test_an_equality_among_other_guards() -> None:
    head = 'guard(n >= 1, "GUARD_EMPTY")\nguard((n >= m) & (m >= n), "GUARD_SHAPE")'
    k = kernel(TWO, same=False, more="m: i64", head=head)
    assert fused(k).fused == 1


def test_the_clauses_of_an_or_are_bounded() -> None:
    """``(a & b) | (c & d) | …`` has exponentially many clauses."""
    alternatives = " | ".join(f"((n >= {k}) & (m >= {k}))" for k in range(24))
    text = f'def k(n: i64, m: i64):\n    guard({alternatives}, "GUARD_SHAPE")\n'
    (guard,) = parse(text).guards
    assert isinstance(guard, Guard)
    cond = guard.cond
    assert len(iteration_domains._guard_clauses(cond, {})) == iteration_domains._MAX_CLAUSES
