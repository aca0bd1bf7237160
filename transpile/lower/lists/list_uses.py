"""List uses in core Python: escapes, the only consumer, slices that need no copy.

Analyses of the tree, before it is lowered. A list can be an array or a buffer only if nothing but
its items and its length is used. By any other use, such as ``g(v)`` or ``w = v``, it *escapes*: a
second reference to it may be kept, and the list may be changed through that reference. A slice of a
list is a copy in Python; it is a view here if neither the slice nor the list changes while the
slice is read.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.ast_walk import child_blocks, display_leaves, walk_nodes, walk_statements
from ...frontend.core_nodes import ReplayIf
from ..state.generated_names import counter_name

__all__ = [
    "does_not_escape", "escaping_uses", "escaping_uses_by_name", "only_consumer", "uncopied_slices",
]


def only_consumer(tree: ast.AST, name: str) -> ast.Call | None:
    """The call whose first argument is the only use of the list `name`, except for ``append``; None
    where there is none. If the only use is ``other = name``, the only consumer of `other`.
    """
    nodes = list(walk_nodes(tree))
    grown = {
        n.func.value
        for n in nodes
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "append"
    }
    uses = [
        n
        for n in nodes
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        if n not in grown
    ]
    if len(uses) != 1:
        return None
    for n in nodes:
        match n:
            case ast.Call(args=[first, *_]) if first is uses[0]:
                return n
            case ast.Assign(targets=[ast.Name(id=other)], value=value) if value is uses[0]:
                bound = [m for m in nodes if isinstance(m, ast.Name) and m.id == other]
                again = sum(isinstance(m.ctx, ast.Store) for m in bound)
                return only_consumer(tree, other) if again == 1 else None
    return None


def uncopied_slices(tree: ast.FunctionDef) -> set[ast.Subscript]:
    """The slices ``name = v[a:b]`` in `tree` that can be views instead of copies (`_is_uncopied`),
    for ``FixedLists.view_slices``: the lowering of subscripts looks a slice up there.
    """
    out: set[ast.Subscript] = set()
    for block in (block for s in walk_statements(tree) for block in child_blocks(s)):
        for k, s in enumerate(block):
            match s:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Subscript(value=of, slice=ast.Slice()) as value,
                ) if (base := _base_name(of)) and _is_uncopied(
                    name, base, of, block[k + 1 :], tree
                ):
                    out.add(value)
    return out


def _is_uncopied(
    name: str, base: str, of: ast.expr, rest: Sequence[ast.stmt], tree: ast.FunctionDef
) -> bool:
    """Whether ``name = of[…]``, a slice of the list `of` in the variable `base`, may be a view,
    since nobody could see that it is no copy. `uncopied_slices` calls it, before the function is
    lowered.

        w = v[1:]; s = w[0] + w[1]            →  True
        w = v[1:]; v[1] = 0; s = w[0]         →  False: a copy keeps the old item

    - `name` does not escape, and none of its items is assigned: it changes nothing.
    - From this assignment to the last read of `name`, `base` is not bound again, and no item of the
      list is assigned.

    `rest` are the statements that follow in the block. If all reads of `name` are among them, only
    the statements up to the last read count, else the whole `tree`. If the list may be an item of
    another list, or have another name (`_may_be_row`), an assignment to an item of any list counts.
    """
    if escaping_uses(name, tree) or name in _item_stores([tree]):
        return False
    reads = [k for k, s in enumerate(rest) if _count_loads(name, [s])]
    near = rest[: reads[-1] + 1] if reads else []
    where: Sequence[ast.AST] = (
        near if _count_loads(name, near) == _count_loads(name, [tree]) else [tree]
    )
    changed = _item_stores(where)
    own = isinstance(of, ast.Name) and not _may_be_row(base, tree)
    names = (
        n for node in where for n in walk_nodes(node) if isinstance(n, ast.Name) and _is_store(n)
    )
    bound = {n.id for n in names} & {base, counter_name(base)}
    return not bound and not (changed & {base} if own else changed)


def _count_loads(name: str, nodes: Sequence[ast.AST]) -> int:
    """How often `nodes` read `name`."""
    names = (n for node in nodes for n in walk_nodes(node) if isinstance(n, ast.Name))
    return sum(n.id == name and not _is_store(n) for n in names)


def _may_be_row(name: str, tree: ast.AST) -> bool:
    """Whether the variable `name` may be bound to an item of another list, or to another variable's
    list.
    """
    values = (
        n.value for n in walk_nodes(tree) if isinstance(n, ast.Assign) and _assigns_name(n, name)
    )
    return any(isinstance(v, (ast.Name, ast.Subscript, ast.IfExp)) for v in values)


def _assigns_name(s: ast.Assign, name: str) -> bool:
    """Whether `name` occurs in a target of `s`."""
    return any(isinstance(n, ast.Name) and n.id == name for t in s.targets for n in walk_nodes(t))


def _item_stores(nodes: Sequence[ast.AST]) -> set[str]:
    """The variables to whose items, at any depth, `nodes` assign."""
    inside = (n for node in nodes for n in walk_nodes(node))
    return {_base_name(n) for n in inside if isinstance(n, ast.Subscript) and _is_store(n)}


def _is_store(n: ast.Name | ast.Subscript) -> bool:
    return not isinstance(n.ctx, ast.Load)


def _base_name(e: ast.expr) -> str:
    """The variable ``v`` of ``v``, ``v[i]`` or ``v[i][j]``; "" for other expressions."""
    while isinstance(e, ast.Subscript):
        e = e.value
    return e.id if isinstance(e, ast.Name) else ""


def does_not_escape(
    name: str, tree: ast.AST, *, returned: bool = False, sliced: bool = False
) -> bool:
    """Whether only items and the length of the list `name` are used in `tree`, so that there is no
    other reference to it.

        s += v[i] + len(v)      does not escape
        g(v)                    escapes: ``g`` may keep the list, and change it later
        w = v                   escapes: a store to ``w[i]`` would have to change ``v[i]``

    ``returned``: it may also be returned, once; ``sliced``: it may be sliced. Lowering asks it for
    lists that become arrays or buffers (`fixed_size_lists`, `list_arguments`,
    `expand_dynamic_lists`), in core Python; the macros ask `list_escapes`, in the source.
    """
    return not escaping_uses(name, tree, returned=returned, sliced=sliced)


def escaping_uses(
    name: str, tree: ast.AST, *, returned: bool = False, sliced: bool = False
) -> list[ast.Name]:
    """The uses of `name` that may make another reference to the list, in the order of the source;
    see `does_not_escape` for the options.
    """
    return escaping_uses_by_name(tree, returned=returned, sliced=sliced).get(name, [])


def escaping_uses_by_name(
    tree: ast.AST, *, returned: bool = False, sliced: bool = False
) -> dict[str, list[ast.Name]]:
    """`escaping_uses` of every name in `tree`. Uses in the branch of a replay guard that is left to
    Python do not count.
    """
    allowed, python = set[ast.AST](), set[ast.AST]()
    names: list[ast.Name] = []
    for n in walk_nodes(tree):
        match n:
            case ast.Name():
                names.append(n)
            case ReplayIf(body=body):
                python.update(walk_nodes(*body))
            case ast.Subscript(value=ast.Name() as array, slice=part):
                if not isinstance(part, ast.Tuple) and (sliced or not isinstance(part, ast.Slice)):
                    allowed.add(array)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as array]):
                allowed.add(array)
            case ast.Expr(value=ast.Name() as array):  # a guard of the name
                allowed.add(array)
            case ast.Return(value=ast.expr() as value) if returned:
                first = {e.id: e for e in [*display_leaves(value)][::-1] if isinstance(e, ast.Name)}
                allowed.update(first.values())
    out: dict[str, list[ast.Name]] = {}
    for n in sorted(names, key=lambda n: (n.lineno, n.col_offset)):
        if n not in python and n not in allowed and not isinstance(n.ctx, ast.Store):
            out.setdefault(n.id, []).append(n)
    return out
