"""Scalar replacement of dicts whose keys are constants in the source.

`scalarize_dicts` runs before macros, on the tree of the whole function. A dict is replaced by one
local name for each key if all its keys are string constants, and each occurrence of its name is

- a subscript with such a key, read or stored to, but not deleted;
- a binding to a display or a call ``dict(a=…)``, with the same keys each time;
- in a ``return``: at most one occurrence in each return statement;
- in an assignment ``other = name`` after which the name does not occur.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from ...frontend.ast_names import declared_outer, fresh_name, names_used
from ...frontend.ast_walk import NodeTransformer, all_blocks, copy_tree, display_leaves, walk_nodes
from ...frontend.core_nodes import copy_location
from ...types.type_env import Env

__all__ = ["scalarize_dicts"]

_INNER = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef


def scalarize_dicts(tree: ast.FunctionDef, env: Env) -> ast.FunctionDef:
    """A copy of `tree` in which local dicts with constant keys are replaced by one name for each
    key, and by a display where they are returned; `tree` itself where there is none.

        best = {"at": -1, "error": s}          best_at = -1
        for i in range(n):                     best_error = s
            if x[i] < best["error"]:           for i in range(n):
                best["error"] = x[i]     →         if x[i] < best_error:
        best["size"] = n                               best_error = x[i]
        return best                            best_size = n
                                               return {"at": best_at, "error": best_error,
                                                       "size": best_size}

    `transpile.expand.expand` calls it before macros, for each dict in turn. `_constant_keys`
    decides whether one can be replaced. Dicts whose keys are data become hash tables
    (`table_inference.infer_tables`).
    """
    for name in sorted({*_dict_names(tree, env)}):
        if (keys := _constant_keys(name, tree, env)) is not None:
            return scalarize_dicts(_Scalarize(name, *keys, tree, env).function(), env)
    return tree


def _values(e: ast.expr, env: Env) -> dict[str, ast.expr] | None:
    """The values by key of a display, or of a call ``dict(a=…)``, whose keys are distinct strings;
    None for other expressions.
    """
    match e:
        case ast.Dict(keys=keys, values=values):
            texts = [k.value if isinstance(k, ast.Constant) else None for k in keys]
        case ast.Call(func=func, args=[], keywords=keywords) if (
            env.resolve(func) is builtins.dict
        ):
            texts, values = [k.arg for k in keywords], [k.value for k in keywords]
        case _:
            return None
    by_key = {t: v for t, v in zip(texts, values, strict=True) if isinstance(t, str)}
    return by_key if len(by_key) == len(texts) else None


def _dict_names(tree: ast.FunctionDef, env: Env) -> Iterator[str]:
    """The names that are bound to a dict with constant keys."""
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Assign(targets=[ast.Name(id=name)]) if _makes(n, name, env):
                yield name


def _constant_keys(
    name: str, tree: ast.FunctionDef, env: Env
) -> tuple[list[str], list[str]] | None:
    """The keys that the dict `name` has from the start, and those that statements of the function's
    own block add later, in order. None where the dict cannot be replaced: it is used in another way
    than by constant keys, may have other keys, or is no local name.
    """
    inner = (s for s in walk_nodes(*tree.body) if isinstance(s, _INNER))
    inner_names = {n for s in inner for n in names_used(s)}
    occurrences = {n for n in walk_nodes(tree) if isinstance(n, ast.Name) and n.id == name}
    understood: set[ast.AST] = set()
    displays: list[list[str]] = []
    subscript_keys: set[str] = set()
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Assign(targets=[ast.Name() as target], value=value) if (
                target in occurrences and (values := _values(value, env)) is not None
            ):
                displays.append([*values])
                understood.add(target)
            case ast.Subscript(value=dict_name, slice=ast.Constant(str(key)), ctx=ctx) if (
                dict_name in occurrences and not isinstance(ctx, ast.Del)
            ):
                subscript_keys.add(key)
                understood.add(dict_name)
            case ast.Return(value=ast.expr() as value):
                understood |= {*[e for e in display_leaves(value) if e in occurrences][:1]}
    understood |= {*_moved_to(name, tree, env)}
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    first, *others = displays
    later: list[str] = []
    if not others and any(_makes(s, name, env) for s in tree.body):
        later = _added_in_order(name, tree.body, first)
    same_keys = all(d == first for d in others) and subscript_keys <= {*first, *later}
    is_local = name not in inner_names | parameters | declared_outer(tree)
    if not is_local or not same_keys or occurrences != understood:
        return None
    return first, [*dict.fromkeys(later)]


def _added_in_order(name: str, block: list[ast.stmt], first: list[str]) -> list[str]:
    """The keys that statements ``name["k"] = …`` of `block` itself add to those in `first`, in
    order. It stops at the first statement of `block` with a nested store (in an ``if`` or a loop)
    of a key that is not there yet: only on some paths would the dict have that key, and its place
    in the order would depend on the path.
    """
    keys = [*first]
    for s in block:
        stored = {
            n.slice.value for n in walk_nodes(s)
            if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
            and isinstance(n.value, ast.Name) and n.value.id == name
            and isinstance(n.slice, ast.Constant)
        }
        key = _set(s, name)
        if not stored <= {*keys, key}:
            break
        keys += [key] if key is not None and key not in keys else []
    return keys[len(first):]


def _moved_to(name: str, tree: ast.FunctionDef, env: Env) -> list[ast.expr]:
    """The occurrences of `name` in statements ``other = name`` by which the dict only changes its
    name: it was made before in the same iteration of each loop, and `name` does not occur after.
    """
    count = 0  # occurrences of the name so far
    moves: list[tuple[int, ast.expr]] = []  # each with the count up to and with it

    def walk(block: list[ast.stmt], is_made: bool) -> None:
        """Counts occurrences and collects moves in source order. `is_made`: whether the dict was
        made before the block, in the same iteration.
        """
        nonlocal count
        for s in block:
            inner = [*all_blocks(s)]
            count += _count_name(s, name)
            count -= sum(_count_name(t, name) for body in inner for t in body)
            match s:
                case ast.Assign(targets=[ast.Name()], value=ast.Name(id=source) as occurrence) if (
                    source == name and is_made
                ):
                    moves.append((count, occurrence))
            is_made = is_made or _makes(s, name, env)
            for body in inner:
                walk(body, is_made and not isinstance(s, (ast.For, ast.While)))

    walk(tree.body, False)
    return [occurrence for uses, occurrence in moves if uses == count]


def _count_name(s: ast.stmt, name: str) -> int:
    """The number of occurrences of `name` in the statement, its blocks included."""
    return sum(isinstance(n, ast.Name) and n.id == name for n in walk_nodes(s))


def _makes(s: ast.AST, name: str, env: Env) -> bool:
    """Whether `s` binds `name` to a dict with constant keys."""
    match s:
        case ast.Assign(targets=[ast.Name(id=to)], value=value) if to == name:
            return _values(value, env) is not None
    return False


def _set(s: ast.stmt, name: str) -> str | None:
    """The key ``k`` of a statement ``name["k"] = …``; None for other statements."""
    match s:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=of), slice=ast.Constant(str(k)))]):
            return k if of == name else None
    return None


class _Scalarize(NodeTransformer):
    """Replaces the dict `name` by one name for each key. ``keys_so_far``: the keys that the dict
    has before the statement being visited; a returned dict becomes a display of these.
    """

    def __init__(
        self, name: str, first: list[str], later: list[str], tree: ast.FunctionDef, env: Env
    ) -> None:
        self.name, self.keys_so_far = name, first
        self.tree, self.env = tree, env
        self.names: dict[str, str] = {}
        used_names = names_used(tree)
        for key in (*first, *later):
            stem = f"{name}_{key}" if key.isidentifier() else f"{name}_item"
            key_name = fresh_name(stem, used_names)
            used_names.add(key_name)
            self.names[key] = key_name

    def function(self) -> ast.FunctionDef:
        """A copy of the function in which the dict is replaced."""
        tree = copy_tree(self.tree)
        body: list[ast.stmt] = []
        for s in tree.body:
            key = _set(s, self.name)
            new = self.visit(s)
            body += new if isinstance(new, list) else [new]
            if key is not None and key not in self.keys_so_far:
                self.keys_so_far = [*self.keys_so_far, key]
        tree.body = body
        return tree

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """A binding of the dict to a display: one binding for each key."""
        values = _values(node.value, self.env) if _makes(node, self.name, self.env) else None
        if values is None:
            self.generic_visit(node)
            return node
        pairs: list[tuple[ast.expr, ast.expr]] = [
            (copy_location(ast.Name(self.names[key], ast.Store()), node), self.visit(e))
            for key, e in values.items()
        ]
        if self.name in names_used(node.value):  # all values are evaluated before any is bound
            targets, values_tuple = zip(*pairs, strict=True)
            pairs = [(copy_location(ast.Tuple([*targets], ast.Store()), node),
                      copy_location(ast.Tuple([*values_tuple], ast.Load()), node))]
        lines = [copy_location(ast.Assign([target], value), node) for target, value in pairs]
        return [*lines] or copy_location(ast.Pass(), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """``d["k"]``, read or stored to: the name for that key."""
        match node:
            case ast.Subscript(ast.Name(id=array), ast.Constant(str(key))) if array == self.name:
                return copy_location(ast.Name(self.names[key], node.ctx), node)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The dict itself, where it is returned or gets another name: a display of its values."""
        if node.id != self.name:
            return node
        keys: list[ast.expr | None] = [ast.Constant(key) for key in self.keys_so_far]
        values = [ast.Name(self.names[key], ast.Load()) for key in self.keys_so_far]
        display = ast.Dict(keys, [*values])
        for n in walk_nodes(display):
            copy_location(n, node)
        return display
