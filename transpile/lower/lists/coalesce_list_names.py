"""List copy coalescing: a list filled under one name and then renamed has the new name throughout.

    _list = []
    for _i in range(len(w)):
        _list.append(w[_i][0])
    v = _list
→
    v = []
    for _i in range(len(w)):
        v.append(w[_i][0])

Macros leave such copies. A list that has two names cannot be a dynamic list, so `lower_function.py`
renames it before it lowers a list of unknown length as a dynamic one.
"""
from __future__ import annotations

import ast

from ...frontend.ast_names import names_used
from ...frontend.ast_walk import child_blocks, copy_tree, walk_nodes, walk_statements
from .expand_dynamic_lists import list_method_call

__all__ = ["final_list_name", "rename_list"]


def final_list_name(tree: ast.FunctionDef, name: str) -> str:
    """The variable ``v`` of ``v = name``, where `name` is a list, if the list can be called ``v``
    from the start; else `name`. It can, if

    - except for ``append``, the list is used in that assignment only;
    - `name` and ``v`` are assigned once each, and ``v`` is no parameter;
    - ``v`` is not used between ``name = []`` and the assignment, which are in one block.
    """
    names = [n for n in walk_nodes(tree) if isinstance(n, ast.Name)]
    appended = sum(list_method_call(n) == (name, "append") for n in walk_nodes(tree))
    loads = sum(n.id == name and isinstance(n.ctx, ast.Load) for n in names)
    stores = [n.id for n in names if not isinstance(n.ctx, ast.Load)]
    params = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    for block in (block for n in walk_statements(tree) for block in child_blocks(n)):
        creations = [k for k, s in enumerate(block) if _list_binding(s) == (name, None)]
        for k, s in enumerate(block):
            target, source = _list_binding(s)
            if source != name or not creations or creations[0] > k:
                continue
            bound_once = stores.count(target) == 1 == stores.count(name) and target not in params
            used_before = any(target in names_used(s) for s in block[creations[0] : k])
            if bound_once and loads == appended + 1 and not used_before:
                return target
    return name


def rename_list(tree: ast.FunctionDef, name: str, new: str) -> ast.FunctionDef:
    """A copy of `tree` in which the list `name` is called `new`, without the assignment ``new =
    name``.
    """
    tree = copy_tree(tree)
    for n in [*walk_nodes(tree)]:
        for block in child_blocks(n):
            block[:] = [s for s in block if _list_binding(s) != (new, name)]
        if isinstance(n, ast.Name) and n.id == name:
            n.id = new
    return tree


def _list_binding(s: ast.stmt) -> tuple[str, str | None]:
    """The target and the value of ``target = value``, where the value is a name, or None for a list
    display; ("", "") for other statements.
    """
    match s:
        case ast.Assign(targets=[ast.Name(id=to)], value=ast.Name(id=of)):
            return to, of
        case ast.Assign(targets=[ast.Name(id=to)], value=ast.List()):
            return to, None
    return "", ""
