"""Unparse an AST to Python source: astor where it can print it, else ``ast.unparse``."""
from __future__ import annotations

import ast

from loopir.process.signal_exceptions import failures

from .ast_walk import same_tree
from .core_nodes import with_plain_nodes
from .suppress_warnings import suppress_warnings

__all__ = ["print_python"]


def print_python(tree: ast.AST) -> str:
    """The source text of `tree`, ending in a newline.

    astor breaks long lines well, but warns on Python 3.12 and later, lacks newer syntax, and has
    printed code that means something else; its text is taken only when it parses to the same tree.
    """
    tree = with_plain_nodes(tree)
    plain = ast.unparse(tree) + "\n"
    broken = _astor(tree)
    return broken if broken is not None and _same(broken, plain) else plain


def _astor(tree: ast.AST) -> str | None:
    """The text that astor prints, if it is installed and can; else None."""
    with suppress_warnings("error"):
        try:
            import astor

            return str(astor.to_source(tree))
        except failures(Exception):  # whatever astor dislikes, ast.unparse prints
            return None


def _same(text: str, other: str) -> bool:
    """Whether two texts parse to the same tree."""
    try:
        return same_tree(ast.parse(text), ast.parse(other))
    except failures(SyntaxError):
        return False
