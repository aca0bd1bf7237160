"""Original in place: a region's statements beside its call, for the calls that Python serves.

To enter a region takes longer than a short loop: a call, a forwarded call, and a tuple of results.
So where Python was measured to be faster for most calls of a region, though not for all sizes, the
outlined function asks a test in C (`targets.abi.inline_cache.original_test`) before the call.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ...frontend.ast_walk import child_blocks, copy_tree, walk_nodes
from ...frontend.core_nodes import copy_location, fix_missing_locations

__all__ = ["with_originals_in_place"]


def with_originals_in_place(
    tree: ast.FunctionDef, runs: Mapping[str, Sequence[ast.stmt]], tests: Mapping[str, str]
) -> ast.FunctionDef:
    """A copy of `tree`, an outlined function, with a test before the call of each region in `runs`;
    `tree` itself if there are none::

        s = _tp_region_3_4(s, x)     →     if TEST(s, x):
                                               for v in x: s += v
                                           else:
                                               s = _tp_region_3_4(s, x)

    ``runs``: the statements of each region, by the name by which it is called (its helper);
    ``tests``: for each the name TEST, which `outlined_function` binds to the test in C.
    """
    if not runs:
        return tree
    copy = copy_tree(tree)
    for block in [block for n in walk_nodes(copy) for block in child_blocks(n)]:
        for k, s in enumerate(block):
            match s:
                case (
                    ast.Assign(value=ast.Call(func=ast.Name(id=helper)) as call)
                    | ast.Return(value=ast.Call(func=ast.Name(id=helper)) as call)
                    | ast.Expr(value=ast.Call(func=ast.Name(id=helper)) as call)
                ) if helper in runs:
                    test = copy_tree(call)
                    test.func = ast.Name(tests[helper], ast.Load())
                    branch = ast.If(test, [*map(copy_tree, runs[helper])], [s])
                    block[k] = fix_missing_locations(copy_location(branch, s))
    return copy
