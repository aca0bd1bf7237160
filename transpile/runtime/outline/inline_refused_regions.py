"""Inlining of refused regions: their statements replace their call, with the regions in them.

A region that is refused is outlined in turn. Each level costs a forwarded call, some 0.2 µs, and
gains nothing. So once enough calls have shown that a region is always refused, the function around
it gets its statements (`OutlinedFunction.as_measured`).
"""
from __future__ import annotations

import ast
from collections.abc import Mapping

from ...frontend.ast_names import bound_names, names_used
from ...frontend.ast_walk import child_blocks, copy_tree, same_tree, walk_nodes
from ...frontend.core_nodes import copy_location, fix_missing_locations

__all__ = ["with_refused_regions_inlined"]


def with_refused_regions_inlined(
    tree: ast.FunctionDef, bodies: Mapping[str, ast.FunctionDef]
) -> tuple[ast.FunctionDef, frozenset[str]]:
    """A copy of `tree`, an outlined function, in which the call of each region in `bodies` is
    replaced by its statements, and the helpers of these regions. ``bodies``: each region outlined
    in turn, by its helper, the name by which it is called::

        t = _tp_region_3_4(t, x)     →     for v in x: show(v)          # stays Python
                                           t = _tp_region_5_4(t, x)     # a region in the region

    Its ``return`` becomes an assignment, unless the call itself is returned. A region stays a call
    if it returns elsewhere than at its end, or if its outlining made a name for a temporary that
    `tree` uses, too. `outlined_function` calls this.
    """
    copy, inlined = copy_tree(tree), set[str]()
    for block in [block for n in walk_nodes(copy) for block in child_blocks(n)]:
        for k in reversed(range(len(block))):
            statement = block[k]
            call = getattr(statement, "value", None)
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            body = bodies.get(call.func.id)
            if body is not None and not _captures(body, call, tree):
                lines = _with_results(copy_tree(body).body, statement)
                if lines is not None:
                    block[k : k + 1] = lines
                    inlined.add(call.func.id)
    return copy, frozenset(inlined)


def _captures(body: ast.FunctionDef, call: ast.Call, tree: ast.FunctionDef) -> bool:
    """Whether a name of `body` would mean something else in place of `call` in `tree` (variable
    capture): the call passes other names than the parameters, or outlining has made a name for a
    temporary in `body` that `tree` uses, too. Names of the user's mean the same in both.
    """
    parameters = [a.arg for a in body.args.args]
    arguments = [a.id for a in call.args if isinstance(a, ast.Name)]
    made = {name for name in bound_names(*body.body) if name.startswith("_tp")}
    return parameters != arguments or not made.isdisjoint(names_used(tree))


def _with_results(body: list[ast.stmt], call: ast.stmt) -> list[ast.stmt] | None:
    """`body` with what it returns bound as the statement `call` binds it; None if it may return
    before its end. If `call` is a ``return``, that is `body` itself.
    """
    if isinstance(call, ast.Return):
        return body
    lines = _bind_at_end(body, call)
    is_left = any(isinstance(n, ast.Return) for n in walk_nodes(*lines))
    return None if is_left else lines


def _bind_at_end(body: list[ast.stmt], call: ast.stmt) -> list[ast.stmt]:
    """`body` with a ``return`` that ends it, also at the end of both branches of an ``if``, made an
    assignment to what `call` assigns; or a statement of its own if that assigns nothing.
    """
    *rest, last = body
    if isinstance(last, ast.If):
        last.body = _bind_at_end(last.body, call)
        last.orelse = _bind_at_end(last.orelse, call) if last.orelse else []
        return body
    if not isinstance(last, ast.Return):
        return body
    if last.value is None:
        return rest or [copy_location(ast.Pass(), last)]
    new: ast.stmt = ast.Expr(last.value)
    if isinstance(call, ast.Assign):
        if same_tree(_loaded(call.targets[0]), last.value):
            return rest or [copy_location(ast.Pass(), last)]  # it would bind names to themselves
        new = ast.Assign([*map(copy_tree, call.targets)], last.value)
    return [*rest, fix_missing_locations(copy_location(new, last))]


def _loaded(target: ast.expr) -> ast.expr:
    """The name or tuple of names `target` as an expression."""
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Tuple(elts=elts):
            return ast.Tuple([*map(_loaded, elts)], ast.Load())
    return target
