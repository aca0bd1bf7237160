"""Unassigned results: a region may end without a value for a name that is read after it.

A loop binds its names only if it runs. Python raises UnboundLocalError where such a name is read,
which may be long after the region, or never; and an older value is still there. So the region tells
which names it has not bound, and the function around it leaves these as they are.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping
from types import CellType

from ...frontend.ast_walk import child_blocks, copy_tree, walk_nodes
from ...frontend.core_nodes import copy_location, fix_missing_locations, unassigned

__all__ = ["UNASSIGNED_CELLS", "with_unassigned_results"]


def with_unassigned_results(tree: ast.FunctionDef) -> ast.FunctionDef:
    """`tree`, an outlined function or a region, as Python runs it: with the tests for the results
    that are marked as `Origin.unassigned`. Of the region and of its call::

        return s, t                      →     try: t
                                               except _tp_unbound: t = _tp_unassigned
                                               return s, t

        s, t = _tp_region_3_4(x)         →     s, _tp_t = _tp_region_3_4(x)
                                               if _tp_t is not _tp_unassigned: t = _tp_t
                                               _tp_t = None

    Compiled code has the ``return`` itself: there the read of a name without a value is a check,
    and Python runs the region. The code of the result needs `UNASSIGNED_CELLS`.
    """
    if not any(unassigned(n) for n in walk_nodes(*tree.body)):
        return tree
    copy = copy_tree(tree)
    for block in [block for n in walk_nodes(copy) for block in child_blocks(n)]:
        for k in reversed(range(len(block))):
            names = sorted(unassigned(block[k]))
            match block[k]:
                case ast.Return() as end if names:
                    block[k:k] = _parsed("".join(map(_TEST_AT_END.format, names)), end)
                case ast.Assign(targets=[target]) as call if names:
                    for n in walk_nodes(target):
                        if isinstance(n, ast.Name) and n.id in names:
                            n.id = f"_tp_{n.id}"
                    block[k + 1 : k + 1] = _parsed(
                        "".join(map(_TEST_AFTER_CALL.format, names)), call)
    return copy


def _parsed(source: str, at: ast.stmt) -> list[ast.stmt]:
    """The statements of `source`, at the position of `at`."""
    module = ast.parse(source)
    for node in walk_nodes(module):
        copy_location(node, at)
    return [*map(fix_missing_locations, module.body)]


_TEST_AT_END = """\
try: {0}
except _tp_unbound: {0} = _tp_unassigned
"""

_TEST_AFTER_CALL = """\
if _tp_{0} is not _tp_unassigned: {0} = _tp_{0}
_tp_{0} = None
"""

UNASSIGNED_CELLS: Mapping[str, CellType] = {
    "_tp_unassigned": CellType(object()), "_tp_unbound": CellType(UnboundLocalError),
}
"""The names that the tests of `with_unassigned_results` read."""
