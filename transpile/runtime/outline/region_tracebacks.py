"""Region tracebacks: of an exception in a region, the function has one line in the traceback.

A region runs in a frame of its own, which has the name of the function and the line that raises.
The line of its call is dropped where the exception leaves it.
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import CellType, TracebackType

from ...errors import TRACEBACK, drop_first_line
from ...frontend.ast_walk import child_blocks, copy_tree, walk_nodes
from ...frontend.core_nodes import copy_location, fix_missing_locations

__all__ = ["TRACEBACK_CELLS", "with_calls_untraced"]


def with_calls_untraced(tree: ast.FunctionDef, helpers: Collection[str]) -> ast.FunctionDef:
    """A copy of `tree`, an outlined function, which drops the lines of the calls of `helpers`, its
    regions, from the tracebacks of their exceptions::

        s = _tp_region_3_4(s, x)     →     try: s = _tp_region_3_4(s, x)
                                           except BaseException as _tp_error:
                                               _tp_drop_call(_tp_error)
                                               raise

    Its code needs `TRACEBACK_CELLS`.
    """
    copy = copy_tree(tree)
    for block in [block for n in walk_nodes(copy) for block in child_blocks(n)]:
        for k, s in enumerate(block):
            match s:
                case (
                    ast.Assign(value=ast.Call(func=ast.Name(id=helper)))
                    | ast.Return(value=ast.Call(func=ast.Name(id=helper)))
                    | ast.Expr(value=ast.Call(func=ast.Name(id=helper)))
                ) if helper in helpers:
                    block[k] = _untraced(s)
    return copy


def _untraced(call: ast.stmt) -> ast.Try:
    """The statement `call` with a handler that drops its line."""
    (new,) = ast.parse(_HANDLER).body
    assert isinstance(new, ast.Try)
    for node in walk_nodes(new):
        copy_location(node, call)
    new.body = [call]
    return fix_missing_locations(new)


_HANDLER = """\
try: pass
except _tp_raised as _tp_error:
    _tp_drop_call(_tp_error)
    raise
"""


def _drop_call(error: BaseException) -> None:
    """Drops the first line of the traceback of `error`, that of a call of a region, if a line of
    the region follows.
    """
    with suppress(RecursionError, MemoryError):  # no stack for it
        call: TracebackType | None = TRACEBACK.__get__(error)
        inner = call and call.tb_next
        if call and inner and _is_of_region(inner, call):
            drop_first_line(error)


def _is_of_region(inner: TracebackType, call: TracebackType) -> bool:
    """Whether the frame of `inner` has the code of a region of the function that has made `call`:
    both have the function's name and file.
    """
    one, other = inner.tb_frame.f_code, call.tb_frame.f_code
    return (one.co_filename, one.co_name) == (other.co_filename, other.co_name)


TRACEBACK_CELLS: Mapping[str, CellType] = {
    "_tp_raised": CellType(BaseException), "_tp_drop_call": CellType(_drop_call),
}
"""The names that handlers of `with_calls_untraced` read."""
