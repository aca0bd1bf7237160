"""Scalar replacement of aggregate arguments (SROA): members of objects, tuples and dicts get names.

    self.n = self.n + t[0]
    return self.a[self.n] * p["w"]
→
    self_n = self.n            # read once, before everything else
    self_a = self.a
    t_0 = t[0]
    p_w = p["w"]               # of a dict, an item with a constant key
    self_n = self_n + t_0
    self.n = self_n            # stored where the function ends
    return self_a[self_n] * p_w

`replace_object_reads` does the reads, `store_at_exits` the stores; `transpile.expand` calls both.
Reading these members runs no user code (`types.aggregates`). An attribute that the function sets is
promoted to a local name only if nothing else can see it meanwhile (`promotable_attributes`).
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from inspect import getattr_static
from types import MemberDescriptorType
from typing import Protocol, TypeVar

from ..analysis.access_paths import (
    AccessPath,
    access_path,
    access_path_type,
    is_settable,
    read_after_store,
)
from ..types.aggregates import compares_items
from ..types.type_env import Env
from ..types.value_types import (
    ArgType,
    ArrayType,
    Constant,
    Key,
    ListType,
    ObjectType,
    Opaque,
    ScalarType,
)
from .ast_names import COMPREHENSIONS, bound_names, fresh_name, names_bound_once, names_used
from .ast_walk import NodeTransformer, copy_tree, walk_nodes
from .core_nodes import ReplayIf, copy_location, source_text
from .defining_modules import is_native, is_numpy_function, is_python_class
from .refusal import refuse

__all__ = [
    "AttributeStores", "MemberReplacer", "promotable_attributes", "replace_object_reads",
    "store_at_exits",
]

_MISSING = object()

_COMPARISONS_OF_ITEMS = ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE

AttributeStores = Mapping[tuple[str, str], str]
"""(parameter, attribute) -> the local name that has the attribute's value at the end."""


_VALUES_OF_LOCALS = (ArrayType, ScalarType)
"""The types of attributes whose values local names can have."""

_WITHOUT_MEMBERS = (Constant, ListType, Opaque)
"""Types of other attributes, no member of which is read by a name of its own."""


def promotable_attributes(
    tree: ast.FunctionDef, objects: Mapping[str, ObjectType]
) -> frozenset[tuple[str, str]]:
    """The attributes, as (parameter, attribute), that `tree` sets and that local names can stand
    for until `tree` ends (register promotion). `replace_object_reads` binds these names at the
    start, and `store_at_exits` stores them back.

        for v in x:                                self_s = self.s
            self.s = self.s + v         →          for v in x:
                                                       self_s = self_s + v
                                                   self.s = self_s

    Meanwhile the attribute has its old value, so nothing may read it but through the parameter. The
    result has all attributes that are set, or none: a store that stays would be refused by lowering
    anyhow. None of them, if

    - an attribute of anything but a parameter is set, or one is deleted;
    - there is an inner function, or another expression with an attribute of that name (``g.n``):
      both may read the attribute of the parameter's object;
    - the value of one is neither a number nor an array, or the class has a value of that name, too.
      But if every path sets the attribute, it may have a class's value, or be None or such
      (`_WITHOUT_MEMBERS`): nothing needs that, and the store at the end adds no attribute;
    - another parameter, or an object in one, has the same class: it may be the same object;
    - a comprehension binds an attribute.

    ``objects``: the types of the parameters that are objects, tuples or dicts.
    """
    stores = set[tuple[str, str]]()
    for node in walk_nodes(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Store()) if (
                name in objects and is_settable(objects[name].kind, attr)
            ):
                stores.add((name, attr))
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return frozenset()  # stays in the body, or runs user code
            case ast.FunctionDef() | ast.Lambda() if node is not tree:
                return frozenset()  # when called, it may read the attribute
    # In another expression with an attribute of that name, as `g.n`, `g` could be the same object.
    names = {attr for _, attr in stores}
    for node in walk_nodes(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in objects:
                pass
            case ast.Attribute(attr=attr) if attr in names:
                return frozenset()
    # Only numbers and arrays are values of local names. (None: the object has no such attribute.)
    # Where the instance has none and the class does, the store at the end would give it one.
    for name, attr in stores:
        ty = objects[name].part(attr)
        if ty is not None and not isinstance(ty, (*_VALUES_OF_LOCALS, *_WITHOUT_MEMBERS)):
            return frozenset()
        is_used = isinstance(ty, _WITHOUT_MEMBERS) or _has_class_value(objects[name].kind, attr)
        if is_used and not _is_set_on_every_path(tree, name, attr):
            return frozenset()
    # Two arguments of one class may be one object.
    classes = [kind for ty in objects.values() for kind in _classes(ty)]
    distinct = all(classes.count(objects[name].kind) == 1 for name, _ in stores)
    # The variable of `[… for self.n in x]` is renamed later: a local name for it would not be set.
    if not distinct or _in_comprehensions(tree, stores):
        return frozenset()
    return frozenset(stores)


def _has_class_value(kind: type, attr: str) -> bool:
    """Whether reading `attr` of an instance that has not set it gives a value of the class."""
    value = getattr_static(kind, attr, _MISSING)
    fields = getattr(kind, "__dataclass_fields__", {})
    is_slot = type(value) is MemberDescriptorType
    return value is not _MISSING and not is_slot and attr not in fields


def _is_set_on_every_path(tree: ast.FunctionDef, name: str, attr: str) -> bool:
    """Whether `tree` sets ``name.attr`` on every path: at its top level, before any return."""
    for s in tree.body:
        targets = s.targets if isinstance(s, ast.Assign) else [getattr(s, "target", None)]
        if isinstance(s, (ast.Assign, ast.AugAssign)):
            nodes = [n for target in targets if target for n in walk_nodes(target)]
            attributes = (n for n in nodes if isinstance(n, ast.Attribute))
            if any(access_path(n) == (name, (attr,)) for n in attributes):
                return True
        if any(isinstance(n, ast.Return) for n in walk_nodes(s)):
            return False
    return False


def _classes(ty: ObjectType) -> Iterator[type]:
    """The classes of an object of type `ty` and of the objects in it."""
    yield ty.kind
    for _, part in ty.parts:
        if isinstance(part, ObjectType):
            yield from _classes(part)


def _in_comprehensions(tree: ast.FunctionDef, stores: set[tuple[str, str]]) -> bool:
    """Whether there are ``stores``, and a comprehension of `tree` binds an attribute."""
    inner = (n for c in walk_nodes(tree) if isinstance(c, COMPREHENSIONS) for n in walk_nodes(c))
    targets = (n for n in inner if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return bool(stores) and any(targets)


def store_at_exits(tree: ast.FunctionDef, stored: AttributeStores) -> ast.FunctionDef:
    """`tree` with a store of each attribute before each return and at its end; changed in place.

        self_n = self_n + 1
        return self_n
    →
        self_n = self_n + 1
        self.n = self_n
        return self_n
    """
    if stored:
        stores = [_store(place, name, tree) for place, name in stored.items()]
        tree.body = _with_stores_before_returns(tree.body, stores)
    return tree


def _store(place: tuple[str, str], name: str, at: ast.AST) -> ast.stmt:
    """``parameter.attribute = name``, at the position of `at`; ``place``: parameter, attribute."""
    target = ast.Attribute(ast.Name(place[0], ast.Load()), place[1], ast.Store())
    line = ast.Assign([target], ast.Name(name, ast.Load()))
    for node in walk_nodes(line):
        copy_location(node, at)
    return line


def _with_stores_before_returns(
    block: Sequence[ast.stmt], lines: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """`block` with copies of `lines` before each return, or at its end. `structure_exits` has made
    the function so that a return stands at the end, or last in an ``if`` at the top level.
    """
    out: list[ast.stmt] = []
    for s in block:
        match s:
            case ast.Return():
                return [*out, *map(copy_tree, lines), s]
            case ast.If(body=[*_, ast.Return()], orelse=[]) if not isinstance(s, ReplayIf):
                s.body = _with_stores_before_returns(s.body, lines)
        out.append(s)
    return [*out, *map(copy_tree, lines)]


def replace_object_reads(
    tree: ast.FunctionDef, env: Env
) -> tuple[ast.FunctionDef, AttributeStores, MemberReplacer | None]:
    """A copy of `tree` in which the members of arguments are read once, at the start, into local
    names. `transpile.expand.expand` calls it before macros fire, which then see plain arrays and
    scalars.

        for i in range(self.n):
            self.a[i] = t[0] * t[1] + p["w"]
        return np.zeros(t)
    →
        self_n = self.n
        self_a = self.a
        t_0 = t[0]
        t_1 = t[1]
        p_w = p["w"]
        for i in range(self_n):
            self_a[i] = t_0 * t_1 + p_w
        return np.zeros((t_0, t_1))

    A tuple as a whole becomes a display of its items, where these alone matter: where it is
    unpacked, iterated over, compared, a subscript, or an argument of a builtin or a NumPy function.
    An argument that the function rebinds is left alone, since its members change with it.

    Attributes that the function sets (`promotable_attributes`) are bound to local names, too. Where
    that is not possible, raises Refused for a read after a store (`read_after_store`). The
    second result maps each of them to its local name, for `store_at_exits`.

    The third result does the same for code that is inlined later, for calls in comprehensions and
    in updates of elements (`inline_uncovered`). By then no further name can be bound at the start,
    so all members of the objects that such code may use (`_passed_on`) get one now. None if there
    are no such objects, and for a function that sets attributes.
    """
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    types = {n: env.type(ast.Name(n, ast.Load())) for n in parameters}
    objects = {n: ty for n, ty in types.items() if isinstance(ty, ObjectType)}
    tree = _without_none_defaults(tree, objects)
    objects = {n: ty for n, ty in objects.items() if n not in bound_names(*tree.body)}
    if not objects:
        return tree, {}, None
    new = copy_tree(tree)
    replacer = _ReplaceMembers(objects, env, names_used(tree))
    replacer.promoted = promotable_attributes(tree, objects)
    if not replacer.promoted and (read := read_after_store(tree, objects)) is not None:
        message = f"`{source_text(read)}` may depend on an attribute that is set before it"
        refuse("LOWER_UNSUPPORTED", message, read)
    new.body = [replacer.visit(s) for s in _without_aliases(new, objects)]
    passed_on = set() if replacer.promoted else _passed_on(new, objects, env)
    for name in sorted(passed_on):
        replacer.name_members(ast.Name(name, ast.Load()))
    replacer.is_complete = True
    for line in replacer.bindings:
        for node in walk_nodes(line):
            copy_location(node, tree.body[0])
    new.body = [*replacer.bindings, *new.body]
    stores = {
        (owner, str(keys[0])): name for (owner, keys), name in replacer.names.items()
        if (owner, *keys) in replacer.promoted
    }
    return new, stores, _replacer_of_inlined(replacer) if passed_on else None


def _passed_on(tree: ast.FunctionDef, objects: Mapping[str, ObjectType], env: Env) -> set[str]:
    """Those of ``objects`` that functions which are inlined later may use. These are called in
    comprehensions, and in updates such as ``x[i] += f(x)``, which the inliner leaves alone where it
    does not know what f changes (`inliner._inline_in_augmented`). The objects that occur in one of
    both; all objects, if one calls a local function.
    """
    later = (
        n for n in walk_nodes(tree)
        if isinstance(n, COMPREHENSIONS)
        or (isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Subscript))
    )
    nodes = [n for part in later for n in walk_nodes(part)]
    called = [n.func for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    if any(env.resolve(f) is None for f in called):
        return {*objects}
    return objects.keys() & {n.id for n in nodes if isinstance(n, ast.Name)}


_Tree = TypeVar("_Tree", bound=ast.AST)


class MemberReplacer(Protocol):
    """Replaces the members of arguments in a tree by their local names."""

    def __call__(self, tree: _Tree, /) -> _Tree: ...


def _replacer_of_inlined(replacer: _ReplaceMembers) -> MemberReplacer:
    """`replacer` as a function for code that is inlined later. A tree that sets or deletes an
    attribute is returned as it is, for lowering to refuse.
    """

    def replaced(tree: _Tree, /) -> _Tree:
        attributes = (n for n in walk_nodes(tree) if isinstance(n, ast.Attribute))
        if any(not isinstance(n.ctx, ast.Load) for n in attributes):
            return tree
        new: _Tree = replacer.visit(copy_tree(tree))
        return new

    return replaced


def _without_none_defaults(
    tree: ast.FunctionDef, objects: Mapping[str, ObjectType]
) -> ast.FunctionDef:
    """`tree` without the branches ``if shape is None: shape = …`` for parameters that are tuples,
    objects or dicts in this signature, and so not None (``objects``: their types).
    """
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
    """The body of `tree` without aliases of objects: after ``g = self.grid`` at the top level, `g`
    is replaced by ``self.grid``, if it is bound only there.
    """
    known, bound_once = dict(objects), names_bound_once(tree)
    out: list[ast.stmt] = []
    aliases: dict[str, ast.expr] = {}
    for s in tree.body:
        s = _ReplaceAliases(aliases).visit(s)
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in bound_once:
                ty = known.get(value.id) if isinstance(value, ast.Name) else None
                if isinstance(ty or access_path_type(value, known), ObjectType):
                    aliases[name] = value
                    continue
        out.append(s)
    return out


def _is_constant(e: ast.expr) -> bool:
    """Whether `e` is a constant, also a negative number."""
    return isinstance(e.operand if isinstance(e, ast.UnaryOp) else e, ast.Constant)


class _ReplaceAliases(NodeTransformer):
    """Replaces each read of an alias by the expression that it stands for (``aliases``)."""

    def __init__(self, aliases: Mapping[str, ast.expr]) -> None:
        self.aliases = aliases

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A copy of the expression that `node` is an alias of, if it is one."""
        value = self.aliases.get(node.id)
        return node if value is None else copy_location(copy_tree(value), node)


class _ReplaceMembers(NodeTransformer):
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
                is_set_before = isinstance(self._type(node), (*_VALUES_OF_LOCALS, ListType))
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
