"""Functions made of trees that were cut from another: its globals, cells, file and lines."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from types import CellType, CodeType, FunctionType

from ..bytecode import FUTURE, bare
from ..macros.names import bound, used
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
    inner.body = [*inner.body, *_kept_local(inner, function.__code__)]
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


def _kept_local(tree: ast.FunctionDef, code: CodeType) -> list[ast.stmt]:
    """What makes names local that `code` has so, and only regions bind now; it never runs.

    From Python 3.12 on `code` has also the variables of comprehensions: a global may be called so.
    """
    local = ({*code.co_varnames, *code.co_cellvars} - {*code.co_names}) & used(tree)
    given = {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
    names = sorted(local - bound(*tree.body) - given)
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    never = ast.Assign(targets, ast.Constant(None))
    return [ast.If(ast.Constant(False), [never], [])] if names else []


def _nested(code: CodeType) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType))
