"""Lists that are filled under one name, and then have another for good: that from the start.

    _list = []
    for _i in range(len(w)):
        _list.append(w[_i][0])
    v = _list
→
    v = []
    for _i in range(len(w)):
        v.append(w[_i][0])
"""
from __future__ import annotations

import ast

from ..below import blocks
from ..macros.copying import copied
from ..macros.names import used
from .growing import method_of

__all__ = ["last_name", "renamed"]


def last_name(tree: ast.FunctionDef, name: str) -> str:
    """The other name, `name` where there is none."""
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    appended = sum(method_of(n) == (name, "append") for n in ast.walk(tree))
    loads = sum(n.id == name and isinstance(n.ctx, ast.Load) for n in names)
    stores = [n.id for n in names if not isinstance(n.ctx, ast.Load)]
    given = {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
    for block in (block for n in ast.walk(tree) for block in blocks(n)):
        made = [k for k, s in enumerate(block) if _bound(s) == (name, None)]
        for k, s in enumerate(block):
            to, of = _bound(s)
            if of != name or not made or made[0] > k:
                continue
            once = stores.count(to) == 1 == stores.count(name) and to not in given
            early = any(to in used(s) for s in block[made[0] : k])
            if once and loads == appended + 1 and not early:
                return to
    return name


def renamed(tree: ast.FunctionDef, name: str, new: str) -> ast.FunctionDef:
    """A copy of `tree` in which the list has the `new` name."""
    tree = copied(tree)
    for n in ast.walk(tree):
        for block in blocks(n):
            block[:] = [s for s in block if _bound(s) != (new, name)]
        if isinstance(n, ast.Name) and n.id == name:
            n.id = new
    return tree


def _bound(s: ast.stmt) -> tuple[str, str | None]:
    """The name that `s` binds, and which other that is; None: a list display."""
    match s:
        case ast.Assign(targets=[ast.Name(id=to)], value=ast.Name(id=of)):
            return to, of
        case ast.Assign(targets=[ast.Name(id=to)], value=ast.List()):
            return to, None
    return "", ""
