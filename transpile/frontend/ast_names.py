"""Names in an AST: bound, used, free and fresh names, and capture-avoiding renaming.

Scopes are Python's: a function, ``lambda``, class or comprehension binds names of its own, and a
walrus in a comprehension binds in the scope around it.
"""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from .ast_walk import NodeTransformer, child_nodes, copy_tree, walk_nodes

__all__ = [
    "COMPREHENSIONS", "INNER_SCOPES", "binding_pairs", "bound_names", "name_bindings",
    "values_bound_to",
    "names_bound_once", "declared_outer", "mentions_none_of", "local_names", "rename_names",
    "fresh_name", "generator_yield", "has_private_names", "mangle_private_names",
    "names_bound_by", "names_used",
]

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
"""The node types of comprehensions and generators."""

INNER_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
"""The node types of scopes whose code runs when they are called, and of classes."""

# nodes that bind a name which is a str, and no ``ast.Name``
_NAMED_BINDERS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs,
    ast.MatchStar, ast.MatchMapping, ast.alias,
)

_BINDERS = frozenset({ast.Name, *_NAMED_BINDERS})

_Node = TypeVar("_Node", bound=ast.AST)


def names_used(node: ast.AST) -> set[str]:
    """Every name that occurs in `node`, in any scope, read or bound: any other name is fresh. Which
    names a block reads before it binds them, `liveness.upward_exposed` tells.
    """
    names = bound_names(node)
    for n in walk_nodes(node):
        match n:
            case ast.Name(id=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                names.update(several)
    return names


def fresh_name(stem: str, taken: Container[str]) -> str:
    """A name for new code: `stem` itself, or the first of ``stem_1``, ``stem_2``, … that is free.

        fresh_name("_i", {"x", "_i"})   →   "_i_1"

    `taken` must have every name of the function: a name that occurs in any scope of it, read or
    bound, is in `names_used` of its tree. The caller adds the result to `taken`. Macros do not call
    this function: `Context.fresh` keeps the set for them.
    """
    name, count = stem, 0
    while name in taken:
        count += 1
        name = f"{stem}_{count}"
    return name


def binding_pairs(n: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The pairs of target and value of the assignment `n`; none for any other node.

        a = e          (a, e)                    a, b = e, f      (a, e), (b, f)
        a = b = e      (a, e), (b, e)            a, b = t         (<a, b>, t)
    """
    match n:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if (
            len(targets) == len(values)
            and not any(isinstance(e, ast.Starred) for e in (*targets, *values))
        ):
            yield from zip(targets, values, strict=True)
        case ast.Assign(targets=targets, value=value):
            yield from ((t, value) for t in targets)


def name_bindings(n: ast.AST) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The pairs of `binding_pairs` whose target is a name."""
    return ((t, e) for t, e in binding_pairs(n) if isinstance(t, ast.Name))


def values_bound_to(name: str, *nodes: ast.AST) -> list[ast.expr]:
    """The values that the assignments among `nodes` bind `name` to."""
    return [value for n in nodes for to, value in name_bindings(n) if to.id == name]


def mentions_none_of(expr: ast.expr, *names: Container[str]) -> bool:
    """Whether `expr` mentions no name that is in one of `names`."""
    mentioned = [n.id for n in walk_nodes(expr) if isinstance(n, ast.Name)]
    return not any(name in several for several in names for name in mentioned)


def bound_names(*nodes: ast.AST) -> set[str]:
    """The names that statements, expressions or targets bind or delete in their own scope: by
    assignment, ``for``, ``import``, ``def``, ``except``, ``with`` or a walrus; not the variables of
    comprehensions, nor those of functions and classes in them.

        for i in x: y, z[0] = i, [j for j in x]    →    {i, y}
    """
    return {
        name
        for node in nodes
        for n in _nodes_in_scope(node)
        if type(n) in _BINDERS
        for name in names_bound_by(n)
    }


def _nodes_in_scope(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and its descendants in the same scope; of a comprehension the targets of walruses."""
    worklist = [node]
    while worklist:
        n = worklist.pop()
        yield n
        if isinstance(n, COMPREHENSIONS):
            yield from (inner.target for inner in walk_nodes(n) if isinstance(inner, ast.NamedExpr))
        elif not isinstance(n, INNER_SCOPES):
            worklist += child_nodes(n)


def generator_yield(function: ast.FunctionDef | ast.Lambda) -> ast.expr | None:
    """A ``yield`` by which `function` is a generator: one in its own scope, even if it can never
    run. None if it is no generator.

        def f(x): return x; yield               the `yield`
        def f(x): return lambda: (yield)        None: the lambda is one
    """
    worklist: list[ast.AST] = []
    worklist += [function.body] if isinstance(function, ast.Lambda) else function.body
    while worklist:
        n = worklist.pop()
        if isinstance(n, ast.Yield | ast.YieldFrom):
            return n
        match n:
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                worklist.append(n.generators[0].iter)  # all else is in a scope of its own
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                worklist += (d for d in (*n.args.defaults, *n.args.kw_defaults) if d)
                worklist += getattr(n, "decorator_list", ())
            case ast.ClassDef():
                worklist += (*n.bases, *(k.value for k in n.keywords), *n.decorator_list)
            case _:
                worklist += child_nodes(n)
    return None


def names_bound_by(node: ast.AST) -> Iterable[str]:
    """The names that `node` itself, not its children, binds or deletes."""
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if not isinstance(node, _NAMED_BINDERS):
        return ()
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return (name,)
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return (name,)
        case ast.alias(name=name, asname=asname):
            return (asname or name.partition(".")[0],)
    return ()


def mangle_private_names(method: ast.FunctionDef, class_name: str) -> None:
    """Writes the class-private names in a method of the class `class_name` as Python does when it
    compiles the class, so that they mean the same outside of it. Changes `method`.

        self.__rate * __n      in a class `_Model`      →      self._Model__rate * _Model__n

    Its own name and keywords of calls are kept, as Python keeps them. A method with a class in it,
    whose names are that class's, or with a private name in a statement that binds names by other
    means (``global``, ``import``, ``def``), is not changed.
    """
    prefix = "_" + class_name.lstrip("_")
    inner = [n for n in walk_nodes(method) if n is not method]
    bound = {name for n in inner if not isinstance(n, ast.Name) for name in names_bound_by(n)}
    bound |= declared_outer(method)
    if prefix == "_" or any(_is_class_private(name) for name in bound):
        return
    if any(isinstance(n, ast.ClassDef) for n in inner):
        return
    for n in inner:
        match n:
            case ast.Name(id=name) if _is_class_private(name):
                n.id = prefix + name
            case ast.Attribute(attr=name) if _is_class_private(name):
                n.attr = prefix + name
            case ast.arg(arg=name) if _is_class_private(name):
                n.arg = prefix + name


def has_private_names(tree: ast.AST) -> bool:
    """Whether names of variables, parameters or attributes in `tree` are class-private."""
    return any(
        _is_class_private(name)
        for n in walk_nodes(tree)
        if not isinstance(n, ast.keyword)
        for name in (getattr(n, field, None) for field in ("id", "attr", "arg"))
        if isinstance(name, str)
    )


def _is_class_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def declared_outer(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names that `function` declares global or nonlocal."""
    nodes = (n for s in function.body for n in _nodes_in_scope(s))
    return {name for n in nodes if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}


def local_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """The names that are local to `function`: its parameters, and all that it binds and does not
    declare global or nonlocal.
    """
    parameters = {a.arg for a in walk_nodes(function.args) if isinstance(a, ast.arg)}
    if isinstance(function, ast.Lambda):
        return parameters | bound_names(function.body)
    return parameters | bound_names(*function.body) - declared_outer(function)


def rename_names(node: _Node, names: Mapping[str, str | ast.expr]) -> _Node:
    """A copy of `node` with the names that are keys of `names` replaced: by other names, or by
    expressions, where the name is only read. An inner scope that binds a replaced name keeps it.
    If an inner scope binds a name that a replacement mentions, its own name is changed::

        a * sum(i * a for i in x)   with {"a": "i"}   →   i * sum(i_1 * i for i_1 in x)
    """
    return _Rename(names).visit(copy_tree(node))  # type: ignore[no-any-return]


class _Rename(NodeTransformer):
    """The transformation of `rename_names`, in place."""

    def __init__(self, names: Mapping[str, str | ast.expr]) -> None:
        self.names = names

    def _inside(self, scope: ast.AST, bound: Iterable[str]) -> _Rename:
        """The renaming in the inner scope `scope`, which binds the names ``bound``."""
        own = set(bound)
        outer = {k: v for k, v in self.names.items() if k not in own}
        mentioned = {name for v in outer.values() for name in _names_in(v)}
        if captured := own & mentioned:
            taken = names_used(scope) | mentioned | outer.keys()
            for name in sorted(captured):
                outer[name] = new = fresh_name(f"{name}_1", taken)
                taken.add(new)
        return _Rename(outer)

    def _parameters(self, inner: _Rename, args: ast.arguments) -> ast.arguments:
        """The parameters of an inner function, whose defaults belong to the scope around it."""
        args = self.visit(args)
        for a in (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg):
            if a is not None and isinstance(new := inner.names.get(a.arg), str):
                a.arg = new
        return args

    def visit_Name(self, node: ast.Name) -> ast.expr:
        new = self.names.get(node.id, node.id)
        if isinstance(new, ast.expr):
            return copy_tree(new)
        node.id = new
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        inner = self._inside(node, local_names(node))
        node.args = self._parameters(inner, node.args)
        node.body = inner.visit(node.body)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        inner = self._inside(node, local_names(node))
        node.args = self._parameters(inner, node.args)
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.body = [inner.visit(s) for s in node.body]
        new = self.names.get(node.name, node.name)
        assert isinstance(new, str), "a function that is defined here is not only read"
        node.name = new
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        node.names = [str(self.names.get(name, name)) for name in node.names]
        return node

    def _comprehension(self, node: Any) -> Any:
        """Renames in `node`; its first iterable is evaluated in the scope around it."""
        outermost = node.generators[0]
        first, outermost.iter = self.visit(outermost.iter), ast.Constant(None)
        inner = self._inside(node, bound_names(*(g.target for g in node.generators)))
        node = inner.generic_visit(node)
        outermost.iter = first
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension


def _names_in(e: str | ast.expr) -> set[str]:
    """The names that `e`, a replacement of `rename_names`, mentions."""
    return {e} if isinstance(e, str) else names_used(e)


def names_bound_once(tree: ast.FunctionDef) -> set[str]:
    """The names that assignments in `tree` bind at exactly one place, which is in no loop: once it
    is bound, such a name keeps its value. Parameters are not among them.
    """
    in_loops: set[ast.AST] = set()
    stores: list[ast.Name] = []
    worklist: list[tuple[ast.AST, bool]] = [(tree, False)]
    while worklist:
        n, in_loop = worklist.pop()
        in_loop = in_loop or isinstance(n, (ast.For, ast.While))
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            stores.append(n)
            if in_loop:
                in_loops.add(n)
        worklist += ((child, in_loop) for child in child_nodes(n))
    count = Counter(n.id for n in stores)
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    return {n.id for n in stores if count[n.id] == 1 and n not in in_loops} - parameters
