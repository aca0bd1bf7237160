"""Compile a function's tree, as a stage has left it, to a module's code, without warnings."""
from __future__ import annotations

import ast
from types import CodeType

from .ast_walk import copy_tree
from .core_nodes import fix_missing_locations
from .suppress_warnings import suppress_warnings

__all__ = ["compile_tree"]


def compile_tree(tree: ast.FunctionDef, path: str) -> CodeType:
    """The code of a module that defines the function `tree`; `path` is what tracebacks show.

    Between two stages nodes may lack positions, which ``compile`` demands. They are filled in, in a
    copy, since the next stage may set others. No ``SyntaxWarning`` is shown: the tree is one that
    the compiler has made.

    For checks of stages (`TRANSPILE_CHECK`) and ``transpile bisect``; `function_from_tree` makes
    the functions that calls run.
    """
    with suppress_warnings():
        module = fix_missing_locations(ast.Module([copy_tree(tree)], []))
        return compile(module, path, "exec")
