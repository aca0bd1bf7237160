"""Missing names: undefined names and attributes, found for reports, with the most similar name.

Where Python would raise NameError or AttributeError, a report says so in place of the refusal that
follows from it: `refusal_causes` asks about the statement that was refused (`undefined_name`), and
about the helper that it calls (`undefined_in_helper`).
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import FunctionType, ModuleType

import numpy as np

from loopir.nodes import Span

from ..diagnostics import Refused, Rejection
from ..frontend.ast_names import names_bound_by
from ..frontend.ast_walk import child_nodes, walk_nodes
from ..frontend.name_resolution import NameScope, Scope
from ..frontend.source import is_within, read_source, span_of
from ..types.value_types import ArgType, ListType

__all__ = ["undefined_in_helper", "undefined_name"]


def _expressions_at(tree: ast.AST, span: Span) -> list[ast.expr]:
    """The expressions of the smallest statement around `span`, without those of statements in it.
    """
    around = [
        n for n in walk_nodes(tree)
        if isinstance(n, ast.stmt) and (own := span_of(n)) is not None and is_within(span, own)
    ]
    if not around:
        return []
    smallest = max(around, key=lambda n: (n.lineno, n.col_offset))
    parts = [c for c in child_nodes(smallest) if isinstance(c, (ast.expr, ast.withitem))]
    return [n for part in parts for n in walk_nodes(part) if isinstance(n, ast.expr)]


def undefined_name(
    tree: ast.FunctionDef, scope: Scope, span: Span, types: Mapping[str, ArgType]
) -> Rejection | None:
    """The rejection of the first thing in the smallest statement around `span` that does not exist,
    so that Python would raise NameError or AttributeError whatever the data are; None if all exist:

        tota + 1        a name that has no value
        np.cumsun(x)    an attribute of a module
        rows.apend(x)   an attribute of a list or tuple that is an argument and never rebound

    ``types``: those of the arguments. `refusal_causes` asks it, for the cause of a refusal there.
    """
    bound, nodes = _names_bound_anywhere(tree), _expressions_at(tree, span)
    stored = {n.id for n in walk_nodes(tree) if isinstance(n, ast.Name) and _is_stored(n)}
    lists = {
        name: ty.kinds[0] for name, ty in types.items()
        if isinstance(ty, ListType) and name not in stored
    }
    missing = next(_undefined_of(nodes, scope, bound), None)
    return missing or next(_missing_of_lists(nodes, lists), None)


def _is_stored(name: ast.Name) -> bool:
    """Whether `name` is bound or deleted."""
    return not isinstance(name.ctx, ast.Load)


def _missing_of_lists(
    nodes: Iterable[ast.AST], lists: Mapping[str, type]
) -> Iterator[Rejection]:
    """The rejections of attributes that lists or tuples do not have; ``lists``: the class of each,
    by its name.
    """
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if (
                name in lists and not hasattr(lists[name], attribute)
            ):
                from difflib import get_close_matches

                public = [n for n in dir(lists[name]) if n[0] != "_"]
                close = get_close_matches(attribute, public, n=1)
                help = f"did you mean `{close[0]}`?" if close else "correct the name"
                message = f"a {lists[name].__name__} has no attribute `{attribute}`: " \
                          "Python raises AttributeError"
                yield Rejection("LOWER_UNDEFINED", message, span_of(node), help=help)


def _undefined_of(
    nodes: Iterable[ast.AST], scope: Scope, bound: Collection[str]
) -> Iterator[Rejection]:
    """The rejections of the names and attributes in `nodes` that do not exist. ``bound``: the names
    that the function binds.
    """
    for node in nodes:
        match node:
            case ast.Name(id=name) if name not in bound:
                if name in scope.local or scope.find(name)[0] is NameScope.UNBOUND:
                    outer = {*scope.globals, *scope.cells, *vars(builtins)} - {name}
                    yield _not_defined(name, bound, outer, node, is_local=name in scope.local)
            case ast.Attribute(value=owner, attr=name):
                module = scope.resolve(owner)
                if isinstance(module, ModuleType) and _lacks(module, name):
                    yield _no_attribute(module, name, node)


def undefined_in_helper(
    tree: ast.FunctionDef, scope: Scope, span: Span, cited: Collection[str]
) -> Rejection | None:
    """As `undefined_name`, for the function that is called at `span` and the functions that it
    calls: the rejection of the first name, or attribute of a module, in them that does not exist.
    Only those in `cited` count, the names that a refusal of the call mentions.
    """
    for call in walk_nodes(tree):
        helper = None
        if isinstance(call, ast.Call) and span_of(call) == span:
            helper = scope.resolve(call.func)
        if isinstance(helper, FunctionType):
            for found in _undefined_in(helper, cited):
                return replace(found, span=span)
    return None


_MOST_NESTED_HELPERS, _MOST_HELPERS = 4, 32
"""How many calls of helpers in helpers are followed, and how many helpers are read."""


def _undefined_in(helper: FunctionType, cited: Collection[str]) -> Iterator[Rejection]:
    """The rejections of the names and attributes in `cited` that do not exist in `helper` and the
    functions that it calls. Each function is read once, those that fewer calls lead to first: a
    helper may call hundreds of functions, and these one another.
    """
    level, seen = [helper], {helper}
    for _ in range(_MOST_NESTED_HELPERS + 1):
        called: list[FunctionType] = []
        for function in level:
            try:
                own = read_source(function).tree
            except Refused:
                continue
            nodes, scope = [*walk_nodes(*own.body)], Scope.of(function)
            named = [
                n for n in nodes
                if (isinstance(n, ast.Name) and n.id in cited)
                or (isinstance(n, ast.Attribute) and n.attr in cited)
            ]
            if named:
                yield from _undefined_of(named, scope, _names_bound_anywhere(own))
            for resolved in (scope.resolve(n.func) for n in nodes if isinstance(n, ast.Call)):
                if not isinstance(resolved, FunctionType) or resolved in seen:
                    continue
                if len(seen) < _MOST_HELPERS:
                    seen.add(resolved)
                    called.append(resolved)
        level = called


def _lacks(module: ModuleType, name: str) -> bool:
    """Whether `module` has no attribute `name`. Not known (False) of a module other than NumPy that
    computes attributes: asking it could run user code.
    """
    if module is np:
        return not hasattr(np, name)
    is_plain = type(module) is ModuleType and "__getattr__" not in vars(module)
    return is_plain and name not in vars(module)


def _names_bound_anywhere(tree: ast.FunctionDef) -> set[str]:
    """The names that the function, or one inside of it, binds; not those that it binds by
    ``name += …`` alone, which raises NameError without another binding.
    """
    nodes = [*walk_nodes(tree)]
    updated = {id(n.target) for n in nodes if isinstance(n, ast.AugAssign)}
    return {a.arg for a in nodes if isinstance(a, ast.arg)} | {
        name for n in nodes if id(n) not in updated for name in names_bound_by(n)
    }


_CLOSE = 0.75
"""How similar a name must be that is proposed instead of an unknown one (see `difflib`)."""


def _not_defined(
    name: str, local: Collection[str], outer: Collection[str], node: ast.AST, *, is_local: bool
) -> Rejection:
    """The rejection of a name that has no value. It proposes the most similar one of the names that
    the function binds, `local`, else of those around it, `outer`. ``is_local``: the function itself
    updates the name, which makes it a local one.
    """
    from difflib import get_close_matches

    known = (get_close_matches(name, sorted(n), n=1, cutoff=_CLOSE) for n in (local, outer))
    close = next(filter(None, known), [])
    meant = f"; did you mean `{close[0]}`?" if close else ""
    help = f"define or import `{name}` before the function is called"
    if is_local:
        help = f"assign `{name}` in the function before it is read"
    return Rejection("LOWER_UNDEFINED", f"`{name}` is not defined{meant}", span_of(node), help=help)


def _no_attribute(module: ModuleType, name: str, node: ast.AST) -> Rejection:
    """The rejection of an attribute `name` that `module` does not have. It proposes the most
    similar public one (`_CLOSE`): ``NumPy has no `cumsun`; did you mean `cumsum`?``
    """
    from difflib import get_close_matches

    public = [n for n in vars(module) if n[0] != "_"]
    close = get_close_matches(name, public, n=1, cutoff=_CLOSE)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    owner = "NumPy" if module is np else f"the module `{module.__name__}`"
    message = f"{owner} has no `{name}`{meant}"
    instead = "use another function" if module is np else f"define `{name}` there"
    help = f"correct the name, or {instead}"
    return Rejection("LOWER_UNDEFINED", message, span_of(node), help=help)
