"""Main loops: checks and iterations that were split off do not stand for a loop of the source."""
from __future__ import annotations

import pytest

from loopir.analysis.main_loops import (
    checks_only,
    iteration_counts,
    main_loops,
    names_with_effects,
)
from loopir.ir_parser import parse
from loopir.ir_traversal import is_innermost, walk
from loopir.nodes import Kernel, LoopLike, Span

HEAD = "def k(n: i64, x: mut(f64[::1]), z: mut(f64[:, ::1])):\n"
A, B = Span(1, 0, 1, 9), Span(2, 0, 2, 9)


def kernel(body: str) -> Kernel:
    """A kernel with these statements."""
    return parse(HEAD + "".join(f"    {line}\n" for line in body.split("\n")))


def innermost(k: Kernel) -> list[LoopLike]:
    """The innermost loops, in order."""
    return [n for n in walk(k) if isinstance(n, LoopLike) and is_innermost(n)]


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        ("for i in loop(0, n):\n    x[i] = 1.0", [64]),
        ("for i in loop(0, 3):\n    x[i] = 1.0\nfor j in loop(0, 1000):\n    x[j] = 2.0", [3, 64]),
        ("e = min(n, n - 1)\nfor i in vec(0, e, width=8):\n    x[i:8] = broadcast(1.0, 8)\n"
         "for j in loop(e, n):\n    x[j] = 1.0", [64, 1]),
        ("e = min(n, 1)\nfor i in loop(0, e):\n    for j in loop(0, n):\n        z[i, j] = 1.0\n"
         "for i_1 in loop(e, n):\n    for j_1 in loop(0, n):\n        z[i_1, j_1] = 1.0",
         [64, 64 * 64]),
        ("for b in loop(range(0, n, 4)):\n    for i in loop(b, b + 4):\n        x[i] = 1.0", [256]),
    ],
)
def test_counts(body: str, counts: list[float]) -> None:
    """A constant bound of a trip count, or a guess; times the counts of the loops around it."""
    k = kernel(body)
    found = iteration_counts(k)
    assert [found[id(loop)] for loop in innermost(k)] == counts


def test_loops_around_have_the_count_of_what_is_in_them() -> None:
    """So a vector loop along the outer loop counts as much as a nest of scalar loops."""
    k = kernel("for i in loop(0, n):\n    for j in loop(0, 2):\n        z[i, j] = 1.0")
    found = iteration_counts(k)
    assert {found[id(n)] for n in walk(k) if isinstance(n, LoopLike)} == {128}


def test_the_loops_that_do_the_work() -> None:
    """Neither checks nor remainders; a loop that ran two loops of the source, for both."""
    k = kernel(
        "for i in vec(0, n, width=8):\n    check(x[i:8] > broadcast(0.0, 8), \"replay\")\n"
        "e = min(n, n - 1)\n"
        "for i_1 in loop(0, e):\n    x[i_1] = sqrt(x[i_1])\n"
        "for i_2 in loop(e, n):\n    x[i_2] = sqrt(x[i_2])"
    )
    checks, main, rest = loops = innermost(k)
    used = names_with_effects(k)
    assert [checks_only(loop, used) for loop in loops] == [True, False, False]
    of_one = [(loop, [A]) for loop in loops]
    assert [*main_loops(of_one, k)] == [(main, [A])]
    joined = [(checks, [A]), (main, [A, B]), (rest, [B])]
    assert [*main_loops(joined, k)] == [(main, [A, B])]
    second = [(main, [B]), (rest, [A, B])]
    assert [*main_loops(second, k)] == [(main, [B]), (rest, [A, B])]
    second = [(main, [A]), (rest, [A, B])]
    assert [*main_loops(second, k)] == [(main, [A]), (rest, [B, A])]
    assert [*main_loops([(checks, [A])], k)] == [(checks, [A])]


def test_a_fold_that_is_only_checked_does_no_work() -> None:
    k = kernel(
        "for i in loop(0, n, least=9.0):\n    least = step(min(least, x[i]))\n"
        "low = least < 0.0\n"
        "check(~low, \"replay\")\n"
        "for j in loop(0, n, s=0.0):\n    s = step(s + x[j])\n"
        "t = s * 2.0\n"
        "x[0] = t"
    )
    of_checks, fold = loops = innermost(k)
    assert not names_with_effects(k) & {"least", "low"}
    assert names_with_effects(k) >= {"n", "s", "t"}
    assert [checks_only(loop, names_with_effects(k)) for loop in loops] == [True, False]
    assert [*main_loops([(of_checks, [A]), (fold, [A])], k)] == [(fold, [A])]
