"""Printed Python parses back to the tree it came from, without a warning."""
from __future__ import annotations

import ast
import sys
import warnings
from pathlib import Path

import pytest
from paths import ROOT

from transpile.frontend.unparse import print_python

FILES = sorted((ROOT / "transpile").rglob("*.py"))

PIECES = (
    "x = a if b else (c, *d)",
    "x[::2, ..., -1] @= y ** -z",
    "f'{x!r:>{width}} {{}}'",
    "s = '\\n\\'\\\"' 'joined'; t = b'\\0'[0:1].hex()",
    "lambda *a, k=1, **kw: (yield)",
    "async def f():\n    async with a as b: await c",
    "(y := 1) + (not x in z)",
    "x = (1e400, -0.0, 1j, 2 .real, True, None)",
)


def round_trip(text: str) -> None:
    tree = ast.parse(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        printed = print_python(tree)
    assert ast.dump(ast.parse(printed)) == ast.dump(tree)
    assert printed.endswith("\n") or not text


@pytest.mark.parametrize("text", PIECES)
def test_pieces(text: str) -> None:
    round_trip(text)


@pytest.mark.share(20)
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_whole_files(path: Path) -> None:
    round_trip(path.read_text(encoding="utf-8"))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is of Python 3.11")
def test_newer_syntax_than_astor_knows() -> None:
    round_trip("try:\n    pass\nexcept* ValueError:\n    pass\n")
    round_trip("match x:\n    case [1, *_] | {'a': int(b)} if b:\n        pass\n")
