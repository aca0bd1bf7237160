"""What tuples, plain objects and dicts hold → names of its own: ``self.a[i]``, ``shape[0]``."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..scope import is_own_class, made_in_c
from ..types import ArgType, Key, ListType, ObjectType, Opaque
from .attributes import Stored, attributes_set
from .copying import copied
from .env import Env
from .names import bound, bound_once, unused, used

__all__ = ["held_at", "held_named", "held_type"]

_Place = tuple[str, tuple[Key, ...]]
"""A parameter, and the keys on the way."""


def held_at(e: ast.expr) -> _Place | None:
    """The name and the keys of a chain of attributes and constant subscripts."""
    key: Key
    match e:
        case ast.Name(id=name):
            return name, ()
        case ast.Attribute(value=inner, attr=str(key)):
            found = held_at(inner)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(text))):
            found, key = held_at(inner), (text,)
        case ast.Subscript(value=inner, slice=ast.Constant(value=int(key))):
            found = held_at(inner)
        case ast.Subscript(
            value=inner, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(back)))
        ):
            found, key = held_at(inner), -back
        case _:
            return None
    return found and (found[0], (*found[1], key))


def held_type(e: ast.expr, types: Mapping[str, ArgType]) -> ArgType | None:
    """The type of what a chain reads in an argument; None where it reads nothing that is known."""
    name, keys = held_at(e) or ("", ())
    ty = types.get(name)
    for key in keys:
        ty = ty.part(key) if isinstance(ty, ObjectType) else None
    return ty if keys else None


def held_named(tree: ast.FunctionDef, env: Env) -> tuple[ast.FunctionDef, Stored]:
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
    tree = _given(tree, objects)
    objects = {n: ty for n, ty in objects.items() if n not in bound(*tree.body)}
    if not objects:
        return tree, {}
    new = copied(tree)
    naming = _Naming(objects, env, used(tree))
    naming.set = attributes_set(tree, objects)
    new.body = [naming.visit(s) for s in _spelled_out(new, objects)]
    for line in naming.lines:
        for node in ast.walk(line):
            ast.copy_location(node, tree.body[0])
    new.body = [*naming.lines, *new.body]
    named = naming.names.items()
    return new, {(p[0], str(p[1])): name for p, name in named if p in naming.set}


def _given(tree: ast.FunctionDef, objects: Mapping[str, ObjectType]) -> ast.FunctionDef:
    """Without what is done where objects that are given are not: ``if shape is None: shape = …``"""
    body: list[ast.stmt] = []
    for s in tree.body:
        match s:
            case ast.If(test=ast.Compare(ast.Name(id=name), [ast.Is()], [ast.Constant(None)])) if (
                name in objects and name not in bound(*body)
            ):
                body += s.orelse
            case _:
                body.append(s)
    if body == tree.body:
        return tree
    new = copied(tree)
    new.body = [copied(s) for s in body] or [ast.copy_location(ast.Pass(), tree.body[0])]
    return new


def _spelled_out(tree: ast.FunctionDef, objects: Mapping[str, ObjectType]) -> list[ast.stmt]:
    """The body, where what holds something has no other name: after ``g = self.grid``, `g` is
    that.
    """
    known, once = dict(objects), bound_once(tree)
    out: list[ast.stmt] = []
    names: dict[str, ast.expr] = {}
    for s in tree.body:
        s = _Spelled(names).visit(s)
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in once:
                ty = known.get(value.id) if isinstance(value, ast.Name) else None
                if isinstance(ty or held_type(value, known), ObjectType):
                    names[name] = value
                    continue
        out.append(s)
    return out


def _is_constant(e: ast.expr) -> bool:
    return isinstance(e.operand if isinstance(e, ast.UnaryOp) else e, ast.Constant)


class _Spelled(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.names.get(node.id)
        return node if value is None else ast.copy_location(copied(value), node)


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
                own = self._name_of(node, (name, attr), copied(load) if there else None)
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
                return self._read(ast.copy_location(ast.Subscript(of, at, ast.Load()), node))
        function = self.env.resolve(node.func)
        if function is len and len(node.args) == 1:
            ty = self._type(node.args[0])
            if isinstance(ty, ObjectType) and ty.is_tuple:
                return ast.copy_location(ast.Constant(len(ty.parts)), node)
        numpys = str(getattr(function, "__module__", "")).partition(".")[0] == "numpy"
        if (numpys or made_in_c(function)) and not is_own_class(function):
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
                return ast.copy_location(ast.Constant(isinstance(op, ast.IsNot)), node)
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
        return ast.copy_location(ast.Constant(True), test) if self._has_items(test) else test

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
        return known.get(node.id) if isinstance(node, ast.Name) else held_type(node, known)

    def _items(self, node: ast.expr) -> ast.expr | None:
        """A tuple, written out."""
        ty = self._type(node)
        if not isinstance(ty, ObjectType) or not ty.is_tuple:
            return None
        at = (ast.Constant(k) for k in range(len(ty.parts)))
        parts = (ast.Subscript(copied(node), k, ast.Load()) for k in at)
        return ast.copy_location(ast.Tuple([self._items(p) or p for p in parts], ast.Load()), node)

    def _named(self, node: ast.expr) -> ast.expr | None:
        ty, place = self._type(node), held_at(node)
        if ty is None or place is None or isinstance(ty, (ListType, ObjectType, Opaque)):
            return None
        name, keys = self._keys(place)
        return self._name_of(node, (name, *keys), copied(node))

    def _name_of(
        self, node: ast.expr, place: tuple[Key, ...], value: ast.expr | None
    ) -> ast.expr:
        """A name in the place of `node` for `value`, which is read before all else, if any."""
        if place not in self.names:
            texts = (p[0] if isinstance(p, tuple) else str(p) for p in place)
            hint = "_".join(t for t in texts if t)
            stem = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in hint)
            name = unused(stem, self.taken)
            self.taken.add(name)
            self.names[place] = name
            if value is not None:
                line = ast.Assign([ast.Name(name, ast.Store())], value)
                self.lines.append(self.visit(line) if isinstance(value, ast.Tuple) else line)
        return ast.copy_location(ast.Name(self.names[place], ast.Load()), node)

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
