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
from collections.abc import Mapping
from typing import Protocol, TypeVar

from ...analysis.access_paths import access_path_type, read_after_store
from ...types.type_env import Env
from ...types.value_types import ObjectType
from ..ast_names import COMPREHENSIONS, bound_names, names_bound_once, names_used
from ..ast_walk import NodeTransformer, copy_tree, walk_nodes
from ..core_nodes import copy_location, source_text
from ..refusal import refuse
from .attribute_promotion import AttributeStores, promotable_attributes
from .member_names import MemberNamer

__all__ = ["MemberReplacer", "replace_object_reads"]


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
    replacer = MemberNamer(objects, env, names_used(tree))
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


def _replacer_of_inlined(replacer: MemberNamer) -> MemberReplacer:
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


class _ReplaceAliases(NodeTransformer):
    """Replaces each read of an alias by the expression that it stands for (``aliases``)."""

    def __init__(self, aliases: Mapping[str, ast.expr]) -> None:
        self.aliases = aliases

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A copy of the expression that `node` is an alias of, if it is one."""
        value = self.aliases.get(node.id)
        return node if value is None else copy_location(copy_tree(value), node)
