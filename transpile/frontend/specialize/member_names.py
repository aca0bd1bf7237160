"""Member names: replaces reads of members of objects, tuples and dicts by local names.

A member is an array, a number or a list that an access path such as ``self.grid[0]`` reads. Each
gets one name, ``self_grid_0``, and a statement that binds it at the start of the function.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ...analysis.access_paths import AccessPath, access_path, access_path_type
from ...types.aggregates import compares_items
from ...types.type_env import Env
from ...types.value_types import ArgType, Key, ListType, ObjectType, Opaque
from ..ast_names import fresh_name
from ..ast_walk import NodeTransformer, copy_tree
from ..core_nodes import copy_location
from ..defining_modules import is_native, is_numpy_function, is_python_class
from .attribute_promotion import LOCAL_VALUE_TYPES

__all__ = ["MemberNamer"]

_COMPARISONS_OF_ITEMS = ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE


def _is_constant(e: ast.expr) -> bool:
    """Whether `e` is a constant, also a negative number."""
    return isinstance(e.operand if isinstance(e, ast.UnaryOp) else e, ast.Constant)


class MemberNamer(NodeTransformer):
    """The transformation of `replace_object_reads`; collects the local names in ``names``, and in
    ``bindings`` the statements that bind them at the start.

    ``objects``: the types of the parameters that are objects, tuples or dicts; ``taken``: names
    that are in use.
    """

    def __init__(self, objects: Mapping[str, ObjectType], env: Env, taken: set[str]) -> None:
        self.objects, self.env, self.taken = objects, env, taken
        # access path -> the local name of the member
        self.names: dict[AccessPath, str] = {}
        # access path -> the local name of a whole tuple
        self.tuple_names: dict[AccessPath, str] = {}
        # the statements that bind these names
        self.bindings: list[ast.stmt] = []
        # attributes whose stores become stores to the local name
        self.promoted: frozenset[tuple[str, str]] = frozenset()
        # whether all names have been bound: no further one may be made
        self.is_complete = False

    def name_members(self, e: ast.expr) -> None:
        """Makes a local name for each number and array in the object `e`, and in objects in it."""
        ty = self._type(e)
        if not isinstance(ty, ObjectType):
            self._member_name(e)
            return
        for key, _ in ty.parts:
            if isinstance(key, str):
                self.name_members(ast.Attribute(copy_tree(e), key, ast.Load()))
            else:
                at = ast.Constant(key[0] if isinstance(key, tuple) else key)
                self.name_members(ast.Subscript(copy_tree(e), at, ast.Load()))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A promoted attribute, read or stored, becomes its local name, which is bound at the start
        only if the object has such a value then; of the others only reads are replaced.
        """
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (name, attr) in self.promoted:
                is_set_before = isinstance(self._type(node), (*LOCAL_VALUE_TYPES, ListType))
                load = copy_tree(ast.Attribute(node.value, attr, ast.Load()))
                local = self._local_name(node, (name, (attr,)), load if is_set_before else None)
                assert isinstance(local, ast.Name)
                local.ctx = node.ctx
                return local
        return self._replace_read(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """``t[0]`` becomes the local name of the item; in ``x[t]`` the display of the items of `t`
        is the subscript.
        """
        node.slice = self._tuple_display(node.slice) or node.slice
        return self._replace_read(node)

    def _replace_read(self, node: ast.Attribute | ast.Subscript) -> ast.expr:
        """The local name for `node` if it reads a member; else `node` with its operands replaced. A
        tuple that is subscripted by a computed index is bound to a name as a whole.
        """
        member = self._member_name(node) if isinstance(node.ctx, ast.Load) else None
        if member is not None:
            return member
        is_computed = isinstance(node, ast.Subscript) and self._type(node) is None
        items = self._tuple_display(node.value) if is_computed else None
        path = access_path(node.value)
        if items is not None and path is not None and not self.is_complete:
            node.value = self._local_name(node.value, path, items, is_tuple=True)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """``d.get("key", 0)`` of a dict that has the key is the member; ``len`` of a tuple is a
        constant; tuples that are arguments of builtins and NumPy functions become displays, except
        where the class is asked for: a display is no named tuple.
        """
        match node:
            case ast.Call(
                ast.Attribute(base, "get"), [ast.Constant(str(key)) as index, *default], []
            ) if (
                self._has_key(base, key) and len(default) < 2 and all(map(_is_constant, default))
            ):
                subscript = ast.Subscript(base, index, ast.Load())
                return self._replace_read(copy_location(subscript, node))
        function = self.env.resolve(node.func)
        if function is len and len(node.args) == 1:
            ty = self._type(node.args[0])
            if isinstance(ty, ObjectType) and ty.is_tuple:
                return copy_location(ast.Constant(len(ty.parts)), node)
        is_library = is_numpy_function(function) or is_native(function)
        asks_class = function is isinstance or function is type
        if is_library and not asks_class and not is_python_class(function):
            node.args = [self._tuple_display(a, True) or a for a in node.args]
            for k in node.keywords:
                k.value = self._tuple_display(k.value, True) or k.value
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_For(self, node: ast.For) -> ast.stmt:
        """``for v in t`` iterates over the display of the items of `t`."""
        node.iter = self._tuple_display(node.iter) or node.iter
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """``a, b = t`` unpacks the display of the items of `t`."""
        if any(isinstance(t, (ast.Tuple, ast.List)) for t in node.targets):
            node.value = self._unpacked_value(node.value)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """``o is None`` becomes False and ``o is not None`` True: `o` is no None. Tuples that are
        compared otherwise become displays.
        """
        if all(isinstance(op, _COMPARISONS_OF_ITEMS) for op in node.ops):
            node.left = self._tuple_display(node.left, True) or node.left
            node.comparators = [self._tuple_display(e, True) or e for e in node.comparators]
        match node:
            case ast.Compare(left, [ast.Is() | ast.IsNot() as op], [ast.Constant(None)]) if (
                isinstance(self._type(left), ObjectType)
            ):
                return copy_location(ast.Constant(isinstance(op, ast.IsNot)), node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_If(self, node: ast.If | ast.IfExp) -> ast.AST:
        """A condition: see `_condition`."""
        node.test = self._condition(node.test)
        return self.generic_visit(node)

    visit_IfExp = visit_If

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """The operand of ``not`` is a condition: see `_condition`."""
        if isinstance(node.op, ast.Not):
            node.operand = self._condition(node.operand)
        return self.generic_visit(node)  # type: ignore[return-value]

    def _condition(self, test: ast.expr) -> ast.expr:
        """`test` with each operand that is a non-empty tuple replaced by True."""
        if isinstance(test, ast.BoolOp):
            test.values = [self._condition(e) for e in test.values]
            return test
        return copy_location(ast.Constant(True), test) if self._has_items(test) else test

    def _has_items(self, node: ast.expr) -> bool:
        """Whether `node` is a tuple that is true since it has items."""
        ty = self._type(node)
        if not isinstance(ty, ObjectType) or hasattr(ty.kind, "__bool__"):
            return False
        return ty.is_tuple and bool(ty.parts)

    def _unpacked_value(self, node: ast.expr) -> ast.expr:
        """`node`, which is unpacked, with displays for the tuples that it may be: also in the
        branches of a conditional, and in ``t or u``.
        """
        if isinstance(node, ast.IfExp):
            node.body = self._unpacked_value(node.body)
            node.orelse = self._unpacked_value(node.orelse)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            node = node.values[0] if self._has_items(node.values[0]) else node
        return self._tuple_display(node) or node

    def _has_key(self, e: ast.expr, key: str) -> bool:
        """Whether `e` is a dict that has `key`."""
        ty = self._type(e)
        return isinstance(ty, ObjectType) and ty.kind is dict and ty.key((key,)) is not None

    def _type(self, node: ast.expr) -> ArgType | None:
        """The type of an object, or of a member of one; None for other expressions."""
        known: Mapping[str, ArgType] = self.objects
        return known.get(node.id) if isinstance(node, ast.Name) else access_path_type(node, known)

    def _tuple_display(self, node: ast.expr, is_compared: bool = False) -> ast.expr | None:
        """The display of the items of the tuple `node`, nested ones too; None if it is no tuple, or
        if it may be compared (``is_compared``) and has comparisons of its own.
        """
        ty = self._type(node)
        if not isinstance(ty, ObjectType) or not ty.is_tuple:
            return None
        if is_compared and not compares_items(ty):
            return None
        indices = (ast.Constant(k) for k in range(len(ty.parts)))
        parts = (ast.Subscript(copy_tree(node), k, ast.Load()) for k in indices)
        items = [self._tuple_display(p) or p for p in parts]
        return copy_location(ast.Tuple(items, ast.Load()), node)

    def _member_name(self, node: ast.expr) -> ast.expr | None:
        """The local name for the member that `node` reads, if that is an array, scalar or list."""
        ty, path = self._type(node), access_path(node)
        if ty is None or path is None or isinstance(ty, (ObjectType, Opaque)):
            return None
        name, keys = self._canonical_path(path)
        if self.is_complete and (name, keys) not in self.names:
            return None
        return self._local_name(node, (name, keys), copy_tree(node))

    def _local_name(
        self, node: ast.expr, path: AccessPath, value: ast.expr | None, *, is_tuple: bool = False
    ) -> ast.expr:
        """The local name for the member at `path`, or if `is_tuple` for the whole tuple there, to
        replace `node`. The first time, makes a name such as ``self_grid_0`` or ``self_grid_items``,
        and its binding to `value`; None: the function binds it.
        """
        names = self.tuple_names if is_tuple else self.names
        if path not in names:
            parts = (path[0], *path[1], *(("items",) if is_tuple else ()))
            hint = "_".join(p[0] if isinstance(p, tuple) else str(p) for p in parts)
            stem = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in hint)
            name = fresh_name(stem, self.taken)
            self.taken.add(name)
            names[path] = name
            if value is not None:
                line = ast.Assign([ast.Name(name, ast.Store())], value)
                self.bindings.append(self.visit(line) if isinstance(value, ast.Tuple) else line)
        return copy_location(ast.Name(names[path], ast.Load()), node)

    def _canonical_path(self, path: AccessPath) -> AccessPath:
        """`path` with canonical keys: -1 → the length - 1; of a named tuple ``p.x`` and ``p[0]``
        have the same key.
        """
        ty: ArgType | None = self.objects[path[0]]
        keys: Sequence[Key] = ()
        for key in path[1]:
            assert isinstance(ty, ObjectType)
            canonical = ty.key(key)
            assert canonical is not None
            keys, ty = (*keys, canonical), ty.part(canonical)
        return path[0], tuple(keys)
