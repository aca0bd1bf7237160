"""Copy coalescing of results: a list, dict or set of a callee has the caller's name from the start.

    def ranks(n): p = list(range(n)); p.reverse(); return p, n

    p, m = ranks(len(x))        # after inlining
→
    _p = list(range(len(x)))        p = list(range(len(x)))
    _p.reverse()                →   p.reverse()
    p, m = (_p, len(x))             m = len(x)

An array may have two names, but a list or table is compiled under one.
"""
from __future__ import annotations

import ast
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence

from ..ast_names import bound_names, rename_names, values_bound_to
from ..ast_walk import walk_nodes
from ..core_nodes import copy_location
from .inlining_state import Inlining

__all__ = ["coalesce_results"]

_DISPLAYS = ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp

_MAKERS: tuple[object, ...] = (
    list, dict, set, sorted, defaultdict, Counter, OrderedDict, deque,
)
"""Functions that return a new list, dict, set or deque."""


def coalesce_results(
    state: Inlining, before: Sequence[ast.stmt], last: ast.stmt
) -> list[ast.stmt]:
    """``before`` and `last`, an assignment of results of the calls that are inlined in ``before``,
    with their lists and tables renamed to what `last` assigns them to. Of a name `a` that is
    assigned to a name `b`, that is right if

    - `a` is a local of a callee, so that nothing reads it after `last`;
    - nothing but `last` mentions `b`, which has its old value until then: neither ``before``, nor a
      handler of an exception that ``before`` raises;
    - no local function may read either when it is called.
    """
    pairs = _name_pairs(last)
    if not before or not pairs or state.cx.handlers_around:
        return [*before, last]
    inner = [c.tree for c in state.local_functions.values()]
    mentioned = _counted(*before, *inner, last)
    used, nodes = _counted(last), [*walk_nodes(*before)]
    names: dict[str, str | ast.expr] = {
        value.id: target.id for target, value in pairs
        if isinstance(target, ast.Name) and isinstance(value, ast.Name)
        and value.id in state.source_names and value.id in bound_names(*before)
        and mentioned[target.id] == 1 == used[value.id] and target.id not in state.types
        and not {target.id, value.id} & (state.written_by_closures | {*_counted(*inner)})
        and any(_makes_container(state, e) for e in values_bound_to(value.id, *nodes))
    }
    if not names:
        return [*before, last]
    kept = [(t, v) for t, v in pairs if not (isinstance(v, ast.Name) and v.id in names)]
    renamed = [rename_names(s, names) for s in before]
    if not kept:
        return renamed
    target, value = kept[0]
    if len(kept) > 1:
        target = copy_location(ast.Tuple([t for t, _ in kept], ast.Store()), target)
        value = copy_location(ast.Tuple([v for _, v in kept], ast.Load()), value)
    return [*renamed, copy_location(ast.Assign([target], value), last)]


def _name_pairs(s: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of the assignment `s` with the expressions that they get; [] for others."""
    match s:
        case ast.Assign(targets=[ast.Name() as target], value=value):
            return [(target, value)]
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if (
            len(targets) == len(values)
            and not any(isinstance(e, ast.Starred) for e in (*targets, *values))
        ):
            return [*zip(targets, values, strict=True)]
    return []


def _counted(*nodes: ast.AST) -> Counter[str]:
    """How often each name occurs in `nodes`."""
    return Counter(n.id for n in walk_nodes(*nodes) if isinstance(n, ast.Name))


def _makes_container(state: Inlining, e: ast.expr) -> bool:
    """Whether `e` makes a list, dict, set or deque; False: not known."""
    match e:
        case ast.BinOp(left=left, right=right):
            return _makes_container(state, left) or _makes_container(state, right)
        case ast.Call(func=func):
            return any(state.resolve(func) is maker for maker in _MAKERS)
    return isinstance(e, _DISPLAYS)
