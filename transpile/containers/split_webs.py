"""Live-range (web) splitting: what takes the name of a list gets its own name.

    xs = [1.0, 2.0]              xs = [1.0, 2.0]
    xs = np.array(xs)      →     _xs = np.array(xs)       # and `_xs` wherever the array is read

For inference a name is either a list or an array in the whole function, and either an argument or a
list that the function makes and may change.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator

from ..frontend.ast_names import (
    binding_pairs,
    bound_names,
    declared_outer,
    fresh_name,
    names_used,
    rename_names,
)
from ..frontend.ast_walk import copy_tree, walk_nodes
from ..numpy.function_table import ARRAY_OF_LIST
from ..types.type_env import Env
from ..types.value_types import ListType

__all__ = ["split_list_webs"]

_INNER = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef


def split_list_webs(
    tree: ast.FunctionDef, env: Env, last_names: dict[str, str] | None = None
) -> ast.FunctionDef:
    """A copy of `tree` in which a name is split into two that first stands for a list, and later
    for an array made of that list, or first for a list that is an argument, and later for anything
    else; `tree` itself where there is none. Only statements of the function's own block are
    considered. A list that is a member of an argument counts as one (``self_v = self.v``).
    ``last_names`` gets the name that each of these has at the end.

        v = [1.0, s]              v = [1.0, s]
        v = np.array(v)     →     _v = np.array(v)
        return v * 2.0            return _v * 2.0

        def f(x):                 def f(x):
            x = list(x)     →         _x = list(x)
            x.pop()                   _x.pop()
    """
    inner = {
        name for n in walk_nodes(*tree.body) if isinstance(n, _INNER) for name in names_used(n)
    }
    inner |= declared_outer(tree)
    arguments = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg) and isinstance(
        env.type(ast.Name(a.arg, ast.Load())), ListType)}
    last_names = {} if last_names is None else last_names
    lists = {*arguments}
    copy, used_names = tree, names_used(tree)
    for k in range(len(tree.body)):
        s = copy.body[k]
        bound_to = (b for n in walk_nodes(s) for b in binding_pairs(n))
        lists |= {t.id for t, e in bound_to if isinstance(t, ast.Name) and _is_list(e, env)}
        webs = {*_array_webs(s, env)} & lists | {*_rebound(s)} & arguments
        arguments |= {*_list_members(s, env)}
        for name in sorted(webs - inner):
            used_names.add(new_name := fresh_name(f"_{name}", used_names))
            last_names[name] = new_name
            copy = copy_tree(copy) if copy is tree else copy
            s = copy.body[k]
            for n in walk_nodes(s):
                if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store):
                    n.id = new_name
            copy.body[k + 1 :] = [rename_names(t, {name: new_name}) for t in copy.body[k + 1 :]]
    return copy


def _is_list(value: ast.expr, env: Env) -> bool:
    """Whether `value` makes a list."""
    match value:
        case ast.List() | ast.ListComp() | ast.BinOp(left=ast.List()):
            return True
        case ast.Call(func=func):
            return env.resolve(func) in (list, sorted)
    return False


def _rebound(s: ast.stmt) -> Iterator[str]:
    """The names that `s` binds anew if it is an assignment, without those of a walrus in it."""
    if isinstance(s, ast.Assign):
        within = bound_names(s.value)
        yield from (name for name in bound_names(*s.targets) if name not in within)


def _list_members(s: ast.stmt, env: Env) -> Iterator[str]:
    """The name that `s` binds to a list that is a member of an argument."""
    match s:
        case ast.Assign([ast.Name(id=name)], (ast.Attribute() | ast.Subscript()) as member):
            if isinstance(env.type(member), ListType):
                yield name


def _array_webs(s: ast.stmt, env: Env) -> Iterator[str]:
    """The names ``v`` that the assignment `s` binds to an expression in which ``np.array(v)`` or
    ``np.asarray(v)`` is called, of the list that they stood for.
    """
    plain = isinstance(s, ast.Assign) and len(s.targets) == 1
    for to, value in binding_pairs(s) if plain else ():
        for n in walk_nodes(value):
            match n:
                case ast.Call(ast.Attribute() as func, [ast.Name(id=name), *_]) if (
                    isinstance(to, ast.Name) and to.id == name
                    and env.resolve(func) in ARRAY_OF_LIST
                ):
                    yield name
