"""Structured arrays split by field: an array a field, under its own name (SROA).

`split_fields` runs before macros, on the whole function: the fields of record arrays, which NumPy
gives as views (``r["x"]``), are bound to names at the start, and each use reads the name.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ...call_plan import field_expression
from ...frontend.ast_names import names_used
from ...frontend.ast_walk import NodeTransformer, copy_tree, walk_nodes
from ...frontend.core_nodes import copy_location
from ...host_nodes import to_ast
from ...types.type_env import Env
from ...types.value_types import ArgType, ArrayType, RecordType

__all__ = ["field_path", "split_fields"]

_Path = tuple[str, ...]
"""A field, from the outermost record inwards."""

_Names = Mapping[tuple[str, _Path], str]
"""The name of each field of each array."""


def split_fields(tree: ast.FunctionDef, env: Env) -> ast.FunctionDef:
    """A copy of `tree` in which each field of an array of records that is an argument is an array
    with a name of its own, a strided view; `tree` itself where there are none.

        for i in range(len(r)):
            r["x"][i] = r["y"][i] * 2
    →
        r_x = r["x"]
        r_y = r["y"]
        for i in range(len(r)):
            r_x[i] = r_y[i] * 2

    Likewise for fields of single records (``rec["x"]``) and of records in records
    (``r["at"]["x"]``). `transpile.expand.expand` calls it before macros, which know no records.
    Arrays whose name the function binds are left out: their fields would change with them.
    """
    names = dict(_field_names(tree, env))
    if not names:
        return tree
    renamed = _RenameFields(names).visit(copy_tree(tree))
    assert isinstance(renamed, ast.FunctionDef)
    lines: list[ast.stmt] = [
        ast.Assign([ast.Name(name, ast.Store())], to_ast(field_expression(array, path)))
        for (array, path), name in names.items()
    ]
    for line in lines:
        for node in walk_nodes(line):
            copy_location(node, tree.body[0])
    renamed.body = [*lines, *renamed.body]
    return renamed


def field_path(node: ast.expr) -> tuple[str, _Path] | None:
    """For a chain of subscripts ``r["a"]["b"]``: the name of the array and the path of fields; the
    path is empty for the name alone. None for other nodes.
    """
    match node:
        case ast.Name(id=array):
            return array, ()
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(field))):
            outer = field_path(inner)
            return outer and (outer[0], (*outer[1], field))
    return None


def _leaf_fields(ty: RecordType) -> Iterator[tuple[_Path, ArgType]]:
    """The paths of all fields that are no records themselves, with their types."""
    for field, field_type in ty.fields:
        if isinstance(field_type, RecordType) and field_type.rank == ty.rank:
            yield from (((field, *path), inner) for path, inner in _leaf_fields(field_type))
        else:
            yield (field,), field_type


def _field_names(tree: ast.FunctionDef, env: Env) -> Iterator[tuple[tuple[str, _Path], str]]:
    """The new name of each field that the function reads or writes, and of at least one array field
    of each record array, by which the kernel knows the array's length.
    """
    used_names = names_used(tree)
    subscripts = (n.slice for n in walk_nodes(tree) if isinstance(n, ast.Subscript))
    constant_subscripts = {s.value: None for s in subscripts if isinstance(s, ast.Constant)}
    for array in sorted(used_names):
        ty = env.type(ast.Name(array, ast.Load()))
        if not isinstance(ty, RecordType) or _is_name_bound(array, tree):
            continue
        leaves = [*_leaf_fields(ty)]
        fields = [(path, leaf) for path, leaf in leaves if not isinstance(leaf, RecordType)]
        paths = [path for path, _ in fields if constant_subscripts.keys() >= {*path}]
        array_paths = [path for path, field_type in fields if isinstance(field_type, ArrayType)]
        if not set(paths) & set(array_paths):
            paths += array_paths[:1]
        for path in paths:
            field = "_".join(path)
            name = stem = f"{array}_{field}" if field.isidentifier() else f"{array}_field"
            while name in used_names:
                name = f"{name}_{stem[-1]}" if name == stem else f"{name}_"
            used_names.add(name)
            yield (array, path), name


def _is_name_bound(name: str, tree: ast.FunctionDef) -> bool:
    """Whether `name` is bound or deleted in the function, or is a parameter of an inner one."""
    nodes = [n for s in tree.body for n in walk_nodes(s)]
    return any(
        (isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load))
        or (isinstance(n, ast.arg) and n.arg == name)
        for n in nodes
    )


class _RenameFields(NodeTransformer):
    """Replaces reads of ``r["x"]`` by the field's name, and stores by ``name[:]``."""

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
        all_elements = copy_location(ast.Slice(), node)
        return copy_location(ast.Subscript(array, all_elements, node.ctx), node)
