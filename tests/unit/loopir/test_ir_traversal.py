"""`map_children` rebuilds a node of any type, and only where a child has changed."""
from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from kernels_case import Case
from kernels_strategy import cases
from paths import GOLDEN

from loopir import nodes as ir
from loopir.ir_names import names_read, substitute
from loopir.ir_printer import parse
from loopir.ir_traversal import (
    bottom_up,
    children,
    counted_range,
    has_early_exit,
    is_innermost,
    map_children,
    walk,
)

X, Y = ir.Var("x", "f64"), ir.Var("y", "f64")
EXAMPLES: dict[type, Any] = {}
for file in sorted(GOLDEN.glob("*/*.ir")):
    for text in file.read_text(encoding="utf-8").split("\n# becomes\n\n"):
        for node in walk(parse(text)):
            EXAMPLES.setdefault(type(node), node)
TYPES = sorted(get_args(ir.Node), key=lambda t: t.__name__)


@pytest.mark.parametrize("t", TYPES, ids=lambda t: t.__name__)
def test_children_are_mapped_in_order(t: type) -> None:
    n = EXAMPLES.get(t)
    if n is None:
        pytest.skip("in no golden kernel")
    assert map_children(n, lambda c: c) is n
    seen: list[Any] = []
    copied = map_children(n, lambda c: seen.append(c) or bottom_up(c, fresh))
    assert tuple(seen) == children(n)
    assert copied == n
    assert (copied is n) is (not children(n))
    assert [getattr(copied, f.name) for f in fields(t)] == [getattr(n, f.name) for f in fields(t)]


def fresh(n: Any) -> Any:
    """A copy of `n` that is another object."""
    return type(n)(**{f.name: getattr(n, f.name) for f in fields(n)})


def test_tuples_are_spliced_in() -> None:
    one, two = ir.Assign("a", X), ir.Assign("b", Y)
    branch = ir.If(ir.Const(True, "bool"), (one,), (two,))
    assert map_children(branch, lambda c: (one, two) if c is one else c).then == (one, two)
    assert map_children(branch, lambda c: () if c is two else c).orelse == ()


@settings(max_examples=12, deadline=None)
@given(cases())
def test_substitution_reaches_every_use(case: Case) -> None:
    names = sorted(names_read(case.kernel))
    done = substitute(case.kernel, {name: ir.Const(0, "i64") for name in names[::2]})
    read = {n.name for n in walk(done) if isinstance(n, ir.Var)}
    assert read == {n.name for n in walk(case.kernel) if isinstance(n, ir.Var)} - {*names[::2]}
    unread = {"no_such_name": ir.Const(0, "i64")}
    assert substitute(case.kernel, unread) is case.kernel


SHAPES = {
    "counted": ("for i in loop(0, n):\n    x[i] = 1.0", (True, True, False)),
    "in steps": ("for i in loop(range(0, n, 2)):\n    x[i] = 1.0", (True, False, False)),
    "a search": (
        "for i in loop(0, n, a=False):\n    a = step(a | (x[i] > 1.0))\n    until(a)",
        (True, False, True),
    ),
    "left from its body": (
        "for i in loop(0, n):\n    if x[i] > 1.0:\n        break", (True, True, True)
    ),
    "a nest": (
        "for i in loop(0, n):\n    for j in loop(0, n):\n        x[j] = 1.0", (False, True, False)
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_of_a_loop(name: str) -> None:
    """Whether it is innermost, counted, and may be left early."""
    text, expected = SHAPES[name]
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    kernel = parse(f"def k(n: i64, x: mut(f64[::1])):\n{lines}\n")
    loop = next(s for s in kernel.body if isinstance(s, ir.Loop))
    counted = counted_range(loop) is not None
    assert (is_innermost(loop), counted, has_early_exit(loop)) == expected
