"""Sinking of list creations: an empty list is made where it is first used.

    out = []                            show(len(x))
    show(len(x))                 →      out = []
    for v in x: out.append(v)           for v in x: out.append(v)

Then one region makes the list and fills it (`outline_regions`). A list that comes from outside of a
region, which does not know what has been appended to it, cannot be made longer there.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...frontend.ast_names import bound_names, declared_outer, names_used
from ...frontend.ast_walk import copy_tree, walk_nodes
from .outline_regions import leaves_loop

__all__ = ["sink_lists"]

_INNER_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)


def sink_lists(
    tree: ast.FunctionDef, must_stay_python: Callable[[ast.stmt], bool]
) -> ast.FunctionDef:
    """A copy of `tree` in which each statement that only makes lists of constants stands before the
    first statement of its block that uses them, as in the module's docstring; `tree` itself, if
    there is nothing to move. Moved is such a statement only

    - past a statement that must stay Python (``must_stay_python``), to one that need not;
    - where nobody could see the difference: no exception handler, no ``with`` that may suppress an
      exception, no inner scope, no ``break`` or ``continue`` on the way.
    """
    if not any(map(_made_lists, walk_nodes(tree))):
        return tree
    inner_scopes = (n for n in walk_nodes(*tree.body) if isinstance(n, _INNER_SCOPES))
    seen_elsewhere = {name for n in inner_scopes for name in names_used(n)} | declared_outer(tree)
    copy = copy_tree(tree)
    original = dict(zip(walk_nodes(copy), walk_nodes(tree), strict=True))

    def stays_python(s: ast.stmt) -> bool:
        old = original[s]
        assert isinstance(old, ast.stmt)
        return must_stay_python(old)

    is_changed = False
    blocks: list[list[ast.stmt]] = [copy.body]
    while blocks:
        block = blocks.pop()
        for k in reversed(range(len(block))):
            names = _made_lists(block[k])
            if names and names.isdisjoint(seen_elsewhere):
                end = _first_use(block, k, names)
                between = block[k + 1 : end]
                if (
                    end < len(block) and not stays_python(block[end])
                    and any(map(stays_python, between)) and not leaves_loop(between)
                ):
                    block[k:end] = [*between, block[k]]
                    is_changed = True
        for s in block:
            if isinstance(s, (ast.For, ast.While, ast.If)):
                blocks += [s.body, s.orelse]
    return copy if is_changed else tree


def _made_lists(s: ast.AST) -> set[str]:
    """The names that `s` binds, if it is an assignment to names of lists of constants: ``v = []``,
    ``v, w = [], [0.0]``; else none.
    """
    match s:
        case ast.Assign(targets=[ast.Name() as target], value=ast.List() as value):
            made: Sequence[ast.expr] = [value]
        case ast.Assign(targets=[ast.Tuple() as target], value=ast.Tuple(elts=made)):
            pass
        case _:
            return set()
    are_constant = all(
        isinstance(e, ast.List) and all(isinstance(n, ast.Constant) for n in e.elts) for e in made
    )
    return bound_names(target) if are_constant else set()


def _first_use(block: Sequence[ast.stmt], k: int, names: set[str]) -> int:
    """The place in `block` of the first statement after the one at `k` that uses one of `names`;
    the length of `block` if there is none.
    """
    later = range(k + 1, len(block))
    return next((i for i in later if not names.isdisjoint(names_used(block[i]))), len(block))
