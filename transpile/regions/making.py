"""Functions made of trees that were cut from another: its globals, cells, file and lines."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from types import CellType, CodeType, FunctionType

from ..bytecode import FUTURE, bare
from ..unwarned import unwarned

__all__ = ["function_of"]


def function_of(
    tree: ast.FunctionDef, function: FunctionType, helpers: Mapping[str, CellType]
) -> FunctionType:
    """`tree` as a function in the place of `function`; it can use the cells `helpers`."""
    own = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells = own | dict(helpers)
    outer = ast.parse(f"def _tp_outer({', '.join(cells)}): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    inner = bare(tree)
    inner.name = "_tp_call"  # its own name means what it does around it
    outer.body = [inner]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    flags = function.__code__.co_flags & FUTURE
    with unwarned():
        code = compile(module, function.__code__.co_filename, "exec", flags, dont_inherit=True)
    new = _nested(_nested(code)).replace(co_name=function.__name__)
    closure = tuple(cells[name] for name in new.co_freevars)
    made = FunctionType(new, function.__globals__, function.__name__, None, closure)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


def _nested(code: CodeType) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType))
