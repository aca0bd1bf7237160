"""Structured arrays split by field: an array a field, under its own name (SROA)."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ...call_plan import field_subscript
from ...frontend.ast_names import names_used
from ...frontend.ast_walk import copy_tree
from ...frontend.core_nodes import copy_location
from ...types.type_env import Env
from ...types.value_types import ArgType, ArrayType, RecordType

__all__ = ["field_path", "split_fields"]

_Path = tuple[str, ...]
_Names = Mapping[tuple[str, _Path], str]
"""By array and the fields on the way."""


def split_fields(tree: ast.FunctionDef, env: Env) -> ast.FunctionDef:
    """A copy of `tree` in which the fields of record arrays, that keep their names, have names.

        for i in range(len(r)):
            r["x"][i] = r["y"][i] * 2
    →
        r_x = r["x"]
        r_y = r["y"]
        for i in range(len(r)):
            r_x[i] = r_y[i] * 2

    Fields by which records are asked (``rec["x"]``) are named so, too, and those of records in
    records (``r["at"]["x"]``).
    """
    names = dict(_field_names(tree, env))
    if not names:
        return tree
    new = _RenameFields(names).visit(copy_tree(tree))
    assert isinstance(new, ast.FunctionDef)
    lines = [
        ast.parse(f"{name} = {r}{field_subscript(p)}").body[0] for (r, p), name in names.items()
    ]
    for line in lines:
        for node in ast.walk(line):
            copy_location(node, tree.body[0])
    new.body = [*lines, *new.body]
    return new


def field_path(node: ast.expr) -> tuple[str, _Path] | None:
    """The name of an array and the fields that a chain of subscripts asks it for."""
    match node:
        case ast.Name(id=array):
            return array, ()
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(field))):
            found = field_path(inner)
            return found and (found[0], (*found[1], field))
    return None


def _leaf_fields(ty: RecordType) -> Iterator[tuple[_Path, ArgType]]:
    """The fields that hold no records, also of records in records."""
    for field, of in ty.fields:
        if isinstance(of, RecordType) and of.rank == ty.rank:
            yield from (((field, *path), inner) for path, inner in _leaf_fields(of))
        else:
            yield (field,), of


def _field_names(tree: ast.FunctionDef, env: Env) -> Iterator[tuple[tuple[str, _Path], str]]:
    """A name for each field that is asked for, and for one at least that can be read."""
    taken = names_used(tree)
    subscripts = (n.slice for n in ast.walk(tree) if isinstance(n, ast.Subscript))
    asked = {s.value: None for s in subscripts if isinstance(s, ast.Constant)}
    for array in sorted(taken):
        ty = env.type(ast.Name(array, ast.Load()))
        if not isinstance(ty, RecordType) or _is_name_bound(array, tree):
            continue
        fields = [(path, of) for path, of in _leaf_fields(ty) if not isinstance(of, RecordType)]
        wanted = [path for path, _ in fields if asked.keys() >= {*path}]
        sound = [path for path, of in fields if isinstance(of, ArrayType)]
        if not set(wanted) & set(sound):
            wanted += sound[:1]
        for path in wanted:
            field = "_".join(path)
            name = stem = f"{array}_{field}" if field.isidentifier() else f"{array}_field"
            while name in taken:
                name = f"{name}_{stem[-1]}" if name == stem else f"{name}_"
            taken.add(name)
            yield (array, path), name


def _is_name_bound(name: str, tree: ast.FunctionDef) -> bool:
    """Whether `name` stands for anything else, anywhere in the function."""
    inner = [n for s in tree.body for n in ast.walk(s)]
    return any(
        (isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load))
        or (isinstance(n, ast.arg) and n.arg == name)
        for n in inner
    )


class _RenameFields(ast.NodeTransformer):
    def __init__(self, names: _Names) -> None:
        self.names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        path = field_path(node)
        name = self.names.get(path) if path else None
        if name is None:
            self.generic_visit(node)
            return node
        array = copy_location(ast.Name(name, ast.Load()), node)
        if isinstance(node.ctx, ast.Load):
            return array
        whole = copy_location(ast.Slice(), node)
        return copy_location(ast.Subscript(array, whole, node.ctx), node)
