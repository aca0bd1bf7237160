"""Which code may raise a floating-point flag, and which may end in a replay."""
from __future__ import annotations

import pytest

from loopir.algebra.may_raise import (
    answer_keeping_flags,
    call_may_raise,
    is_replay_check,
    may_raise_flags,
    may_replay,
    possible_flags,
    replay_checks,
)
from loopir.nodes import Assign, Call, Check, Const, If, Var

X, N = Var("x", "f64"), Var("n", "i64")
TRUE = Const(True, "bool")
QUOTIENT = Call("div", (X, X), "f64")


@pytest.mark.parametrize(
    ("call", "flags"),
    [
        (Call("add", (N, N), "i64"), set()),
        (Call("cast", (N,), "f64"), set()),
        (Call("cast", (Var("y", "f32"),), "f64"), set()),
        (Call("cast", (X,), "f32"), {"over", "under", "invalid"}),
        (Call("min", (X, X), "f64"), set()),
        (Call("sub", (X, Const(0.3, "f64")), "f64"), set()),
        (Call("add", (Const(1e300, "f64"), X), "f64"), {"over", "invalid"}),
        (Call("add", (Var("y", "f32"), Const(1e35, "f32")), "f32"), {"over", "invalid"}),
        (Call("mul", (X, Const(-0.3, "f64")), "f64"), {"under"}),
        (Call("mul", (X, Const(0.0, "f64")), "f64"), {"over", "under", "invalid"}),
        (Call("div", (X, Const(3.0, "f64")), "f64"), {"under"}),
        (Call("div", (Const(3.0, "f64"), X), "f64"), {"divide", "over", "under", "invalid"}),
    ],
)
def test_flags_of_a_call(call: Call, flags: set[str]) -> None:
    assert possible_flags(call) == flags
    assert call_may_raise(call) == bool(flags)


def test_flags_of_code_are_those_of_all_calls_in_it() -> None:
    inner = Assign("y", Call("min", (QUOTIENT, X), "f64"))
    assert call_may_raise(QUOTIENT)
    assert not call_may_raise(inner.value)  # type: ignore[arg-type]  # a call
    assert may_raise_flags(inner)
    assert possible_flags(inner, Assign("z", X)) == possible_flags(QUOTIENT)


def test_a_known_answer_keeps_the_flags_of_the_question() -> None:
    plain = Call("lt", (N, Const(3, "i64")), "bool")
    assert answer_keeping_flags(plain, True) == TRUE
    noisy = Call("lt", (Call("cast", (QUOTIENT,), "i64"), N), "bool")
    kept = answer_keeping_flags(noisy, True)
    assert possible_flags(kept) >= possible_flags(QUOTIENT)


def test_checks_that_end_the_kernel() -> None:
    replay, over = Check(TRUE, "replay"), Check(TRUE, "over")
    branch = If(TRUE, (over, replay), ())
    assert is_replay_check(replay)
    assert not is_replay_check(over)
    assert list(replay_checks(over, branch)) == [replay]
    assert may_replay(branch)
    assert not may_replay(over)
