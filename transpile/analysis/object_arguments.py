"""Scalar replacement of aggregate arguments: ``self.a[i]``, ``shape[0]`` get names.

Attributes that the function sets are locals until it ends, and are then stored.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from inspect import getattr_static
from types import MemberDescriptorType

from ..frontend.ast_names import (
    COMPREHENSIONS,
    bound_names,
    fresh_name,
    names_bound_once,
    names_used,
)
from ..frontend.ast_walk import copy_tree
from ..frontend.core_nodes import ReplayIf, copy_location
from ..frontend.name_resolution import is_native, is_python_class
from ..types.type_env import Env
from ..types.value_types import ArgType, ArrayType, Key, ListType, ObjectType, Opaque, ScalarType

__all__ = [
    "AttributeStores", "promotable_attributes", "store_at_exits", "access_path",
    "replace_object_reads", "access_path_type",
]

_NONE = object()

AttributeStores = Mapping[tuple[str, str], str]
"""By object and attribute: the name that has its value in the end."""


def promotable_attributes(
    tree: ast.FunctionDef, objects: Mapping[str, ObjectType]
) -> frozenset[tuple[str, str]]:
    """The attributes of arguments that `tree` sets and nothing else sees meanwhile: numbers and
    arrays of plain objects, each of a class of its own; none where any other is set, or an object
    might be set what only its class has.
    """
    found = set[tuple[str, str]]()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Store()) if (
                name in objects and _is_settable(objects[name].kind, attr)
            ):
                found.add((name, attr))
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return frozenset()
            case ast.FunctionDef() | ast.Lambda() if node is not tree:
                return frozenset()
    names = {attr for _, attr in found}
    for node in ast.walk(tree):  # others, that may be the same object's
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in objects:
                pass
            case ast.Attribute(attr=attr) if attr in names:
                return frozenset()
    types = {objects[name].part(attr) for name, attr in found} - {None}
    if not all(isinstance(ty, (ArrayType, ScalarType)) for ty in types):
        return frozenset()
    shared = (p for p in found if _is_shared(objects[p[0]].kind, p[1]))
    if not all(_is_sure(tree, *p) for p in shared):
        return frozenset()
    kinds = [kind for ty in objects.values() for kind in _kinds(ty)]
    alone = all(kinds.count(objects[name].kind) == 1 for name, _ in found)
    return frozenset(found) if alone and not _in_comprehensions(tree, found) else frozenset()


def _is_settable(kind: type, attr: str) -> bool:
    """Whether to set it runs no code but Python's own."""
    own = vars(object)["__setattr__"] is kind.__setattr__ and not issubclass(kind, tuple)
    there = type(getattr_static(kind, attr, None))
    return own and (there is MemberDescriptorType or not hasattr(there, "__set__"))


def _is_shared(kind: type, attr: str) -> bool:
    """Whether an object that has no such attribute shows that of its class."""
    there = getattr_static(kind, attr, _NONE)
    fields = getattr(kind, "__dataclass_fields__", {})
    return there is not _NONE and type(there) is not MemberDescriptorType and attr not in fields


def _is_sure(tree: ast.FunctionDef, name: str, attr: str) -> bool:
    """Whether each way through `tree` sets it."""
    for s in tree.body:
        targets = s.targets if isinstance(s, ast.Assign) else [getattr(s, "target", None)]
        if isinstance(s, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            of = [t for whole in targets if whole for t in ast.walk(whole)]
            if any(isinstance(t, ast.Attribute) and access_path(t) == (name, (attr,)) for t in of):
                return True
        if any(isinstance(n, ast.Return) for n in ast.walk(s)):
            return False
    return False


def _kinds(ty: ObjectType) -> Iterator[type]:
    """The classes of an object and of those that it holds."""
    yield ty.kind
    for _, part in ty.parts:
        if isinstance(part, ObjectType):
            yield from _kinds(part)


def _in_comprehensions(tree: ast.FunctionDef, found: set[tuple[str, str]]) -> bool:
    """Whether one of them is a variable of a comprehension."""
    inner = (n for c in ast.walk(tree) if isinstance(c, COMPREHENSIONS) for n in ast.walk(c))
    targets = (n for n in inner if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return bool(found) and any(targets)


def store_at_exits(tree: ast.FunctionDef, stored: AttributeStores) -> ast.FunctionDef:
    """`tree` with each attribute set where it ends.

        self_n = self_n + 1
        return self_n
    →
        self_n = self_n + 1
        self.n = self_n
        return self_n
    """
    if stored:
        lines = [_line(place, name, tree) for place, name in stored.items()]
        tree.body = _ended(tree.body, lines)
    return tree


def _line(place: tuple[str, str], name: str, at: ast.AST) -> ast.stmt:
    target = ast.Attribute(ast.Name(place[0], ast.Load()), place[1], ast.Store())
    line = ast.Assign([target], ast.Name(name, ast.Load()))
    for node in ast.walk(line):
        copy_location(node, at)
    return line


def _ended(block: Sequence[ast.stmt], lines: Sequence[ast.stmt]) -> list[ast.stmt]:
    """`block`, with `lines` in front of each return that ends it, or at its end."""
    out: list[ast.stmt] = []
    for s in block:
        match s:
            case ast.Return():
                return [*out, *map(copy_tree, lines), s]
            case ast.If(body=[*_, ast.Return()], orelse=[]) if not isinstance(s, ReplayIf):
                s.body = _ended(s.body, lines)
        out.append(s)
    return [*out, *map(copy_tree, lines)]


_Place = tuple[str, tuple[Key, ...]]
"""A parameter, and the keys on the way."""


def access_path(e: ast.expr) -> _Place | None:
    """The name and the keys of a chain of attributes and constant subscripts."""
    key: Key
    match e:
        case ast.Name(id=name):
            return name, ()
        case ast.Attribute(value=inner, attr=str(key)):
            found = access_path(inner)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(text))):
            found, key = access_path(inner), (text,)
        case ast.Subscript(value=inner, slice=ast.Constant(value=int(key))):
            found = access_path(inner)
        case ast.Subscript(
            value=inner, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(back)))
        ):
            found, key = access_path(inner), -back
        case _:
            return None
    return found and (found[0], (*found[1], key))


def access_path_type(e: ast.expr, types: Mapping[str, ArgType]) -> ArgType | None:
    """The type of what a chain reads in an argument; None where it reads nothing that is known."""
    name, keys = access_path(e) or ("", ())
    ty = types.get(name)
    for key in keys:
        ty = ty.part(key) if isinstance(ty, ObjectType) else None
    return ty if keys else None


def replace_object_reads(
    tree: ast.FunctionDef, env: Env
) -> tuple[ast.FunctionDef, AttributeStores]:
    """A copy of `tree` in which what objects hold, that keep their names, has names; and those of
    attributes that are to be set in the end.

        for i in range(self.n):
            self.a[i] = t[0] * t[1]
        return np.zeros(t)
    →
        self_n = self.n
        self_a = self.a
        t_0 = t[0]
        t_1 = t[1]
        for i in range(self_n):
            self_a[i] = t_0 * t_1
        return np.zeros((t_0, t_1))

    A tuple is written out where only its items count: where it is taken apart, looped over, or
    given to a function of Python's own or NumPy's.
    """
    given = {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
    types = {n: env.type(ast.Name(n, ast.Load())) for n in given}
    objects = {n: ty for n, ty in types.items() if isinstance(ty, ObjectType)}
    tree = _without_defaults(tree, objects)
    objects = {n: ty for n, ty in objects.items() if n not in bound_names(*tree.body)}
    if not objects:
        return tree, {}
    new = copy_tree(tree)
    naming = _Naming(objects, env, names_used(tree))
    naming.set = promotable_attributes(tree, objects)
    new.body = [naming.visit(s) for s in _without_aliases(new, objects)]
    for line in naming.lines:
        for node in ast.walk(line):
            copy_location(node, tree.body[0])
    new.body = [*naming.lines, *new.body]
    named = naming.names.items()
    return new, {(p[0], str(p[1])): name for p, name in named if p in naming.set}


def _without_defaults(tree: ast.FunctionDef, objects: Mapping[str, ObjectType]) -> ast.FunctionDef:
    """Without what is done where objects that are given are not: ``if shape is None: shape = …``"""
    body: list[ast.stmt] = []
    for s in tree.body:
        match s:
            case ast.If(test=ast.Compare(ast.Name(id=name), [ast.Is()], [ast.Constant(None)])) if (
                name in objects and name not in bound_names(*body)
            ):
                body += s.orelse
            case _:
                body.append(s)
    if body == tree.body:
        return tree
    new = copy_tree(tree)
    new.body = [copy_tree(s) for s in body] or [copy_location(ast.Pass(), tree.body[0])]
    return new


def _without_aliases(tree: ast.FunctionDef, objects: Mapping[str, ObjectType]) -> list[ast.stmt]:
    """The body, where what holds something has no other name: after ``g = self.grid``, `g` is
    that.
    """
    known, once = dict(objects), names_bound_once(tree)
    out: list[ast.stmt] = []
    names: dict[str, ast.expr] = {}
    for s in tree.body:
        s = _WithoutAliases(names).visit(s)
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in once:
                ty = known.get(value.id) if isinstance(value, ast.Name) else None
                if isinstance(ty or access_path_type(value, known), ObjectType):
                    names[name] = value
                    continue
        out.append(s)
    return out


def _is_constant(e: ast.expr) -> bool:
    return isinstance(e.operand if isinstance(e, ast.UnaryOp) else e, ast.Constant)


class _WithoutAliases(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.names.get(node.id)
        return node if value is None else copy_location(copy_tree(value), node)


class _Naming(ast.NodeTransformer):
    def __init__(self, objects: Mapping[str, ObjectType], env: Env, taken: set[str]) -> None:
        self.objects, self.env, self.taken = objects, env, taken
        self.names: dict[tuple[Key, ...], str] = {}
        self.lines: list[ast.stmt] = []
        self.set: frozenset[tuple[str, str]] = frozenset()

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (name, attr) in self.set:
                there = self._type(node) is not None
                load = ast.Attribute(node.value, attr, ast.Load())
                own = self._name_of(node, (name, attr), copy_tree(load) if there else None)
                assert isinstance(own, ast.Name)
                own.ctx = node.ctx
                return own
        return self._read(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._read(node)

    def _read(self, node: ast.Attribute | ast.Subscript) -> ast.expr:
        named = self._named(node) if isinstance(node.ctx, ast.Load) else None
        if named is not None:
            return named
        items = self._items(node.value) if isinstance(node, ast.Subscript) else None
        if items is not None:
            whole = ast.unparse(node.value), "items", ""
            node.value = self._name_of(node.value, whole, items)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(ast.Attribute(of, "get"), [ast.Constant(str(key)) as at, *other], []) if (
                self._is_there(of, key) and len(other) < 2 and all(map(_is_constant, other))
            ):
                return self._read(copy_location(ast.Subscript(of, at, ast.Load()), node))
        function = self.env.resolve(node.func)
        if function is len and len(node.args) == 1:
            ty = self._type(node.args[0])
            if isinstance(ty, ObjectType) and ty.is_tuple:
                return copy_location(ast.Constant(len(ty.parts)), node)
        numpys = str(getattr(function, "__module__", "")).partition(".")[0] == "numpy"
        if (numpys or is_native(function)) and not is_python_class(function):
            node.args = [self._items(a) or a for a in node.args]
            for k in node.keywords:
                k.value = self._items(k.value) or k.value
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_For(self, node: ast.For) -> ast.stmt:
        node.iter = self._items(node.iter) or node.iter
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        if any(isinstance(t, (ast.Tuple, ast.List)) for t in node.targets):
            node.value = self._chosen(node.value)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        match node:
            case ast.Compare(of, [ast.Is() | ast.IsNot() as op], [ast.Constant(None)]) if (
                isinstance(self._type(of), ObjectType)
            ):
                return copy_location(ast.Constant(isinstance(op, ast.IsNot)), node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_If(self, node: ast.If) -> ast.stmt:
        node.test = self._truth(node.test)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self._truth(node.test)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self._truth(node.operand) if isinstance(node.op, ast.Not) else node.operand
        return self.generic_visit(node)  # type: ignore[return-value]

    def _truth(self, test: ast.expr) -> ast.expr:
        """`test`, with True for tuples that have items."""
        if isinstance(test, ast.BoolOp):
            test.values = [self._truth(e) for e in test.values]
            return test
        return copy_location(ast.Constant(True), test) if self._has_items(test) else test

    def _has_items(self, node: ast.expr) -> bool:
        ty = self._type(node)
        return isinstance(ty, ObjectType) and ty.is_tuple and bool(ty.parts)

    def _chosen(self, node: ast.expr) -> ast.expr:
        """`node`, with the tuple that it is, or may be, written out."""
        if isinstance(node, ast.IfExp):
            node.body, node.orelse = self._chosen(node.body), self._chosen(node.orelse)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            node = node.values[0] if self._has_items(node.values[0]) else node
        return self._items(node) or node

    def _is_there(self, of: ast.expr, key: str) -> bool:
        """Whether a dict has such a key."""
        ty = self._type(of)
        return isinstance(ty, ObjectType) and ty.kind is dict and ty.key((key,)) is not None

    def _type(self, node: ast.expr) -> ArgType | None:
        known: Mapping[str, ArgType] = self.objects
        return known.get(node.id) if isinstance(node, ast.Name) else access_path_type(node, known)

    def _items(self, node: ast.expr) -> ast.expr | None:
        """A tuple, written out."""
        ty = self._type(node)
        if not isinstance(ty, ObjectType) or not ty.is_tuple:
            return None
        at = (ast.Constant(k) for k in range(len(ty.parts)))
        parts = (ast.Subscript(copy_tree(node), k, ast.Load()) for k in at)
        return copy_location(ast.Tuple([self._items(p) or p for p in parts], ast.Load()), node)

    def _named(self, node: ast.expr) -> ast.expr | None:
        ty, place = self._type(node), access_path(node)
        if ty is None or place is None or isinstance(ty, (ListType, ObjectType, Opaque)):
            return None
        name, keys = self._keys(place)
        return self._name_of(node, (name, *keys), copy_tree(node))

    def _name_of(
        self, node: ast.expr, place: tuple[Key, ...], value: ast.expr | None
    ) -> ast.expr:
        """A name in the place of `node` for `value`, which is read before all else, if any."""
        if place not in self.names:
            texts = (p[0] if isinstance(p, tuple) else str(p) for p in place)
            hint = "_".join(t for t in texts if t)
            stem = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in hint)
            name = fresh_name(stem, self.taken)
            self.taken.add(name)
            self.names[place] = name
            if value is not None:
                line = ast.Assign([ast.Name(name, ast.Store())], value)
                self.lines.append(self.visit(line) if isinstance(value, ast.Tuple) else line)
        return copy_location(ast.Name(self.names[place], ast.Load()), node)

    def _keys(self, place: _Place) -> _Place:
        """The same, however it is spelled."""
        ty: ArgType | None = self.objects[place[0]]
        keys: Sequence[Key] = ()
        for key in place[1]:
            assert isinstance(ty, ObjectType)
            own = ty.key(key)
            assert own is not None
            keys, ty = (*keys, own), ty.part(own)
        return place[0], tuple(keys)
