"""What is done to a list, by its name."""
from __future__ import annotations

import ast

from ..below import below
from .context import Context
from .listlike import is_list
from .names import bound

__all__ = ["grows", "is_read_only", "is_remade", "takes_over"]


def is_read_only(name: str, value: ast.expr, cx: Context) -> bool:
    """Whether it is a slice of a list of which nothing is set, and none is of it; nor does the list
    grow in a loop around.
    """
    match value:
        case ast.Subscript(value=ast.Name(id=of), slice=ast.Slice()) if not _grows_around(of, cx):
            return not _others(name, cx) and not _others(of, cx) - {"append", "return"}
    return False


def _grows_around(name: str, cx: Context) -> bool:
    """Whether items come to a list in a loop around what is being replaced."""
    loops = ({*below(n)} for n in below(cx.tree) if isinstance(n, (ast.For, ast.While)))
    for n in (n for inside in loops if not inside.isdisjoint({cx.within, cx.at}) for n in inside):
        match n:
            case ast.Call(ast.Attribute(ast.Name(id=of), "append" | "extend")) if of == name:
                return True
    return False


def _others(name: str, cx: Context) -> set[str]:
    """What is done to a list but reading it: methods that are called, items set, its return."""
    out: set[str] = set()
    for n in ast.walk(cx.tree):
        match n:
            case ast.Subscript(value=of, ctx=ast.Store() | ast.Del()):
                while isinstance(of, ast.Subscript):
                    of = of.value
                out |= {"set"} if isinstance(of, ast.Name) and of.id == name else set()
            case ast.Attribute(value=ast.Name(id=of), attr=method) if of == name:
                out.add(method)
            case ast.Return(value=ast.expr() as value):
                items = value.elts if isinstance(value, ast.Tuple) else [value]
                out |= {"return" for e in items if isinstance(e, ast.Name) and e.id == name}
            case ast.AugAssign(target=ast.Name(id=of)) if of == name:
                out.add("extend")
    return out


def is_remade(name: str, value: ast.expr, cx: Context) -> bool:
    """Whether it takes numbers of an iterable, and the list of that name is made anew in a loop."""
    taken = cx.builtin(value) == "list"
    if isinstance(value, ast.ListComp):
        lists = any(isinstance(n, (ast.List, ast.ListComp)) for n in ast.walk(value.elt))
        taken = not lists and not isinstance(value.elt, ast.Constant)
    if not taken or not is_list(ast.Name(name, ast.Load()), cx):
        return False
    loops = (n for n in ast.walk(cx.tree) if isinstance(n, (ast.For, ast.While)))
    assigned = (n for loop in loops for n in ast.walk(loop) if isinstance(n, ast.Assign))
    return any(isinstance(t, ast.Name) and t.id == name for n in assigned for t in n.targets)


def grows(name: str, cx: Context) -> bool:
    """Whether more is done to `name` than its items being set."""
    lines = [n for n in ast.walk(cx.tree) if isinstance(n, (ast.Assign, ast.AugAssign))]
    targets = [t for n in lines for t in (n.targets if isinstance(n, ast.Assign) else [n.target])]
    bindings = sum(name in bound(t) for t in targets)
    return bindings > 1 or bool(_others(name, cx) - {"set", "return", "reverse"})


def takes_over(name: str, cx: Context) -> bool:
    """Whether it gets the items of another list somewhere: ``name = other``."""
    return any(
        isinstance(n, ast.Assign) and isinstance(n.value, ast.Name)
        and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
        and is_list(n.value, cx)
        for n in below(cx.tree)
    )
