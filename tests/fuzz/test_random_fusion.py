"""Fusion of random loops: the meaning stays, and what may be joined is."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fusing import fused, kernel, nest, plainly
from hypothesis import given, settings
from hypothesis import strategies as st

ARRAYS = ("a", "b", "t")
EXAMPLES = 4


def statement(write: tuple[str, int], reads: list[tuple[str, int]]) -> str:
    terms = [f"{array}[i + {offset}]" for array, offset in reads]
    return f"    {write[0]}[i + {write[1]}] = " + " + ".join([*terms, "1.0"])


def access(arrays: tuple[str, ...] = ARRAYS) -> st.SearchStrategy[tuple[str, int]]:
    return st.tuples(st.sampled_from(arrays), st.integers(0, 4))


loops = st.lists(
    st.tuples(access(), st.lists(access(), min_size=1, max_size=2)), min_size=1, max_size=2
)


def keeps_order(first: list[Any], second: list[Any]) -> bool:
    """d2 - d1 <= 0 for every pair of accesses to one array, one of them a write."""

    def touched(loop: list[Any]) -> list[tuple[str, int, bool]]:
        return [
            (array, offset, is_write)
            for write, reads in loop
            for (array, offset), is_write in [(write, True), *((r, False) for r in reads)]
        ]

    return all(
        d2 - d1 <= 0
        for x, d1, w1 in touched(first)
        for y, d2, w2 in touched(second)
        if x == y and (w1 or w2)
    )


@settings(max_examples=2 * EXAMPLES)
@given(loops, loops)
def test_fused_exactly_where_the_order_is_kept(first: list[Any], second: list[Any]) -> None:
    text = "\n".join(
        line
        for loop in (first, second)
        for line in ("for i in loop(0, n):", *(statement(*s) for s in loop))
    )
    k = kernel(text, " ".join(ARRAYS), same=False)
    with plainly():
        f = fused(k)
    assert f.fused == keeps_order(first, second)
    fused(k)
    fused(kernel(text, " ".join(ARRAYS)))


@settings(max_examples=EXAMPLES)
@given(st.lists(loops, min_size=3, max_size=4), st.booleans())
def test_random_chains(chain: list[Any], fold: bool) -> None:
    lines: list[str] = []
    for k, loop in enumerate(chain):
        lines += [f"for i in loop(0, n, s_{k}={k}.0):", *(statement(*s) for s in loop)]
        lines += [f"    s_{k} = step(s_{k} + {loop[0][1][0][0]}[i + 1])"] if fold else []
    lines += [f"r[{k}] = s_{k}" for k in range(len(chain))]
    fused(kernel("\n".join(lines), " ".join((*ARRAYS, "r"))))


def element(array: str) -> st.SearchStrategy[str]:
    """An element of a matrix that both loops walk, or one that stays in a row or column."""
    axis = st.sampled_from(["i", "j", "i + 1", "j + 1", "i + 2", "1"])
    near = st.tuples(st.sampled_from(["i", "i + 1"]), st.sampled_from(["j", "j + 1"]))
    anywhere = st.tuples(axis, axis)
    return st.one_of(near, near, anywhere).map(lambda at: f"{array}[{at[0]}, {at[1]}]")


elements = st.sampled_from(("a", "t", "out")).flatmap(element)
stores = st.tuples(elements, elements, elements).map(lambda e: f"{e[0]} = {e[1]} - {e[2]} * 0.5")


@st.composite
def blocks(draw: Callable[..., Any]) -> list[str]:
    """Stores, some of them under a condition."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        match draw(st.integers(0, 3)):
            case 0:
                lines += [f"if {draw(elements)} > 0.0:", f"    {draw(stores)}"]
            case 1:
                lines += [f"if {draw(elements)} > 0.0:", f"    {draw(stores)}"]
                lines += ["else:", f"    {draw(stores)}"]
            case _:
                lines.append(draw(stores))
    return lines


@settings(max_examples=EXAMPLES)
@given(st.lists(blocks(), min_size=2, max_size=3))
def test_random_nests(parts: list[list[str]]) -> None:
    lines: list[str] = []
    for part in parts:
        lines += ["for i in loop(0, n):", "    for j in loop(0, n):"]
        lines += [f"        {x}" for x in part]
    fused(nest("\n".join(lines)))


@settings(max_examples=EXAMPLES)
@given(st.lists(blocks(), min_size=2, max_size=4))
def test_random_loops_inside_a_loop(parts: list[list[str]]) -> None:
    lines = ["for i in loop(0, n):"]
    for part in parts:
        lines += ["    for j in loop(0, n):", *(f"        {x}" for x in part)]
    fused(nest("\n".join(lines)))
