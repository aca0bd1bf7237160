"""Liveness: which names are live before each statement, with and without early exits."""
from __future__ import annotations

import ast

import pytest

from transpile.analysis.liveness import (
    LiveOut,
    live_before,
    live_in_core,
    names_assigned,
    names_read,
    upward_exposed,
)

OUT = LiveOut(frozenset({"o"}), frozenset({"b"}), frozenset({"k"}), frozenset())

LIVE = {
    "o = x": "x",
    "o = [v + w for v in x]": "x w",
    "o = lambda v: v + w": "w",
    "o += x": "o x",
    "a[i] += x": "a i o x",
    "a[i] = [v for v in a]": "a i o",
    "del o": "o",
    "if c:\n o = x\nelse:\n o = y": "c x y",
    "if c:\n o = x": "c o x",
    "for i in s:\n o = i": "o s",
    "for i in s:\n t = t + i": "o s t",
    "for i in s:\n t = i\n u = t": "o s",
    "while c:\n o = x": "c o x",
    "if c:\n break\no = x": "b c x",
    "if c:\n continue\no = x": "c k x",
    "if c:\n return x\no = y": "c x y",
    "for i in s:\n if c:\n  break\n o = x": "c o s x",
    "for i in s:\n t = 0\nelse:\n o = x": "s x",
    "with f() as v:\n o = v": "f o",
    "try:\n o = f()\nexcept E:\n o = x": "E f x",
    "def g(): return w\no = 1": "w",
    "match c:\n case 1:\n  o = x": "c o x",
    "(o := x)": "x",
    "c and (o := x)": "c o x",
}


@pytest.mark.parametrize("text", LIVE)
def test_live_before(text: str) -> None:
    assert live_before(ast.parse(text).body, OUT)[0] == set(LIVE[text].split())


@pytest.mark.parametrize("text", [t for t in LIVE if not {"break", "continue"} & {*t.split()}])
def test_without_exits_both_agree(text: str) -> None:
    """`upward_exposed` is the same with nothing live behind the block, or more than that."""
    body = ast.parse(text).body
    assert live_before(body, LiveOut())[0] <= upward_exposed(body)
    if not {"return", "try:", "with", "match"} & {*text.split()}:
        assert live_before(body, LiveOut())[0] == upward_exposed(body)


@pytest.mark.parametrize("text", [
    "o = x", "o += x", "if c:\n o = x\nelse:\n o = y", "for i in s:\n o = i\no = y",
    "if c:\n t = x\n o = t\nfor i in s:\n t = y\n o = t", "while c:\n t = x\n c = t",
    "for i in s:\n for j in i:\n  if j:\n   break\n  t = j\n t = x\no = t",
])
def test_lowering_is_told_the_same(text: str) -> None:
    """Where no statement leaves the block; a loop may have a ``break``."""
    body = ast.parse(text).body
    assert live_in_core(body, OUT.next) == live_before(body, LiveOut(OUT.next))


def test_names() -> None:
    body = ast.parse("x = y\nz[i] = [v for v in w]\ndel u").body
    assert names_read(body) == set("yziwu")
    assert names_assigned(body) == set("xu")
