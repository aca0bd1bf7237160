"""Definite assignment: what is surely bound behind a statement, and which reads are too early."""
from __future__ import annotations

import ast
import itertools
import textwrap

import pytest

from transpile.analysis.definite_assignment import (
    assigned_after_block,
    first_unassigned_read,
    may_be_unbound,
    possibly_bound_before,
)

BOUND = {
    "x = 1": "x",
    "x: int": "",
    "x: int = 1": "x",
    "x, (y, *z) = f()": "x y z",
    "x[i] = 1": "",
    "del a": "-a",
    "del a[0]": "",
    "import m.n, k as x": "m x",
    "def f(y): z = 1": "f",
    "if c:\n x = 1": "",
    "if c:\n x = 1\nelse:\n x = 2": "x",
    "if c:\n x = 1\nelse:\n raise E": "x",
    "while (x := f()):\n y = 1": "x",
    "for x in (y := f()):\n z = 1": "y",
    "try:\n x = 1\nexcept E:\n x = 2": "x",
    "try:\n x = 1\nexcept E:\n pass": "",
    "try:\n pass\nfinally:\n x = 1": "x",
    "with f() as x:\n y = 1": "x",
    "x = (y := 1) + 2": "x y",
    "x = c and (y := 1)": "x",
    "x = (y := 1) and c": "x y",
    "x = [(y := i) for i in s]": "x",
    "x = (y := 1) if c else (y := 2)": "x y",
    "assert c and (y := 1)": "y",
}


@pytest.mark.parametrize("text", BOUND)
def test_bound_behind(text: str) -> None:
    have = frozenset({"a"})
    after = assigned_after_block(ast.parse(text).body, have)
    assert after is not None
    gone = {"-" + name for name in have - after}
    assert gone | (after - have) == set(BOUND[text].split())


@pytest.mark.parametrize("text", ["return", "raise E", "if c:\n return\nelse:\n raise E"])
def test_nothing_comes_behind(text: str) -> None:
    assert assigned_after_block(ast.parse(text).body, frozenset()) is None


EARLY = {
    "if c:\n x = 1\nreturn x": "x",
    "for i in s:\n x = i\nreturn x, i": "i x",
    "for i in s:\n x = i\n y = x": "",
    "if c and (x := 1):\n return x": "",
    "if c and (x := 1):\n pass\nreturn x": "x",
    "if not (c and (x := 1)):\n return 0\nreturn x": "",
    "x = 1\nfor i in s:\n y = x\n del x": "x",
    "if not c or (x := 1):\n pass\nelse:\n return x": "",
    "while (x := f()):\n y = x": "",
    "x += 1": "x",
    "return [x for x in s]": "",
    "try:\n x = f()\nexcept E:\n pass\nreturn x": "x",
    "try:\n x = f()\nexcept E:\n return 0\nreturn x": "",
    "with c:\n x = f()\nreturn x": "",
    "with c:\n if f():\n  x = 1\nreturn x": "x",
    "match c:\n case 1:\n  x = 1\n case 2:\n  x = 2\nreturn x": "x",
    "match c:\n case 1:\n  x = 1\n case x:\n  pass\nreturn x": "",
    "match c:\n case [x] if x > 1:\n  y = x\n case _:\n  y = 1\nreturn y": "",
    "match c:\n case 1 if x > (x := 9):\n  y = x\n case _:\n  y = 1\nreturn y": "x",
    "try:\n x = 1\nexcept T:\n x = 2\nT = x": "T",
    "x = 1\ndel x\nreturn x": "x",
}


@pytest.mark.parametrize("body", EARLY)
def test_early_reads(body: str) -> None:
    text = f"def g(s, c, f, E):\n{textwrap.indent(body, ' ')}"
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef)
    assert may_be_unbound(tree) == set(EARLY[body].split())


def test_the_first_read() -> None:
    body = ast.parse("if c:\n x = 1\ny = x\nz = x").body
    read = first_unassigned_read(body, "c", "xyz")
    assert read is not None
    assert (read.id, read.lineno) == ("x", 3)


@pytest.mark.parametrize(("text", "early"), [
    ("x = 1\nif c:\n del x\ny = x", False),
    ("if c:\n x = 1\nelse:\n del x\ny = x", True),
    ("for i in s:\n x = i\n del x\n y = x", False),
])
def test_a_deleted_name_has_been_assigned(text: str, early: bool) -> None:
    assert (first_unassigned_read(ast.parse(text).body, "cs", "xyi") is not None) is early


PARTS = ("x = 1", "y = x", "if c:\n {}", "if c:\n {}\nelse:\n {}", "for x in s:\n {}", "del x",
         "if c and (x := 1):\n {}", "while c and f():\n {}\n break")


def test_no_name_is_missed() -> None:
    """Whatever Python raises UnboundLocalError for is said to be possible."""
    small = ["x = 1", "y = x", "del x", "pass"]
    parts = [p.format(*(a, b)) for p in PARTS for a, b in itertools.product(small, repeat=2)]
    parts = list(dict.fromkeys(parts))
    for first, second in itertools.product(parts, repeat=2):
        text = "def g(c, s, f):\n" + textwrap.indent(f"{first}\n{second}\ny = x\nx = 1", " ")
        (tree,) = ast.parse(text).body
        assert isinstance(tree, ast.FunctionDef)
        if "x" in may_be_unbound(tree):
            continue
        names: dict[str, object] = {}
        exec(text, names)
        for c, s in itertools.product((False, True), ((), (1,))):
            names["g"](c, s, lambda: True)  # type: ignore[operator]


def test_names_that_may_be_bound_before_a_statement() -> None:
    tree = ast.parse("""
a = 1
with b as c:
    if (d := a):
        e = 1
    else:
        HERE
        f = 1
    g = 1
h = 1
for i in x:
    if a:
        HERE
    j = 1
try:
    k = 1
except E as l:
    HERE
""")
    places = [
        n for n in ast.walk(tree)
        if isinstance(n, ast.Expr) and isinstance(n.value, ast.Name) and n.value.id == "HERE"
    ]
    found = ["".join(sorted(possibly_bound_before(s, tree.body) or ())) for s in places]
    assert sorted(found, key=len) == ["acd", "acdefghij", "acdefghijkl"]
    assert possibly_bound_before(tree.body[0], tree.body[1:]) is None
