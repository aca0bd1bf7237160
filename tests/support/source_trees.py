"""Trees of the packages' modules, parsed once for all tests of a process."""
from __future__ import annotations

import ast
import functools
import gc
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from paths import ROOT

__all__ = ["PACKAGES", "SOURCES", "statements_of", "tree_of"]

PACKAGES = ("loopir", "targets", "transpile")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def tree_of(path: Path) -> ast.Module:
    """The tree of a module of the packages, or of another file."""
    return _trees().get(path) or ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def _trees() -> dict[Path, ast.Module]:
    """Trees of all modules, which the garbage collector does not go through: they stay."""
    gc.disable()
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
    finally:
        gc.freeze()
        gc.enable()


def statements_of(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements in a tree, with handlers and cases, without looking into expressions."""
    left = deque([tree])
    while left:
        yield (node := left.popleft())
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, field, [])
