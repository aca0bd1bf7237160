"""List assignments that need no copy: moves out of dead names, and swaps."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..frontend.ast_names import mentions_none, names_used
from ..frontend.ast_walk import same_tree
from ..frontend.macros.list_kind import is_list
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded

__all__ = ["list_move"]


@fires_on(ast.Assign, targets=ast.Name, value=ast.Name)
@fires_on(ast.Assign, targets=ast.Tuple, value=ast.Tuple)
def list_move(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``a = b`` and ``a, b = b, a`` of lists made here, each with one name → a move or swap of the
    items. Where one of the lists is not read again, only the other is moved.

        u = [s]
        w = [t]
        for i in range(n):
            u, w = w, u
        s = u[0] - w[0]
    →
        u = [s]
        w = [t]
        for i in range(n):
            if len(u) != len(w):
                "Python's to answer"
                u, w = (w, u)
            else:
                for _i in range(len(u)):
                    _t = u[_i]
                    u[_i] = w[_i]
                    w[_i] = _t
        s = u[0] - w[0]
    """
    if not cx.means("len", "range"):
        return None
    match node:
        case ast.Assign(targets=[ast.Name(id=to)], value=ast.Name(id=name)) if (
            to != name and _is_own(name, cx) and _is_own(to, cx) and _is_done(name, node, cx)
        ):
            return _moved(to, name, cx)
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id=a), ast.Name(id=b)])],
            value=ast.Tuple(elts=[ast.Name(id=c), ast.Name(id=d)]),
        ) if a != b and (a, b) == (d, c) and _is_own(a, cx) and _is_own(b, cx):
            for one, other in ((a, b), (b, a)):
                if _is_done(other, node, cx):
                    return _moved(one, other, cx)
            text = """
                for I in range(len(A)):
                    T = A[I]
                    A[I] = B[I]
                    B[I] = T
            """
            lines = cx.code(text, I=cx.fresh("i"), A=a, B=b, T=cx.fresh("t"))
            return guarded([cx.expr("len(A) != len(B)", A=a, B=b)], node, lines, cx)
    return None


def _moved(to: str, name: str, cx: Context) -> list[ast.stmt]:
    return cx.code("TO = []\nfor V in OF: TO.append(V)", TO=to, OF=name, V=cx.fresh("v"))


def _is_own(name: str, cx: Context) -> bool:
    """Whether it is a flat list that is made here, and no other name has it for long."""
    fact = cx.facts.known.get(name)
    flat = fact is not None and fact.rank == 1 and not fact.rows and fact.listed is None
    return flat and name in cx.facts.own and is_list(ast.Name(name, ast.Load()), cx)


def _is_done(name: str, node: ast.stmt, cx: Context) -> bool:
    """Whether the list is not asked for under `name` after `node`."""
    path = _path(cx.tree.body, node)
    if path is None or not any(isinstance(owner, (ast.For, ast.While)) for owner, _, _ in path):
        return False
    for owner, block, k in path:
        after = _next(name, block[k + 1 :])
        if after is not None:
            return after
        if isinstance(owner, (ast.For, ast.While)):
            test = [owner.test] if isinstance(owner, ast.While) else []
            first = _next(name, [*test, *block[:k]])
            if first is False or any(name in names_used(s) for s in owner.orelse):
                return False
    return True


def _next(name: str, nodes: Sequence[ast.AST]) -> bool | None:
    """Whether what happens next to `name` is that it is bound; None where nothing does."""
    for s in nodes:
        match s:
            case ast.Assign(targets=[ast.Name(id=to)], value=value) if to == name:
                return mentions_none(value, [name])
        if name in names_used(s):
            return False
    return None


def _path(
    block: Sequence[ast.stmt], node: ast.stmt, owner: ast.stmt | None = None
) -> list[tuple[ast.stmt | None, Sequence[ast.stmt], int]] | None:
    """The blocks in which `node` stands, from within, and where."""
    for k, s in enumerate(block):
        if s is node or _is_copy(s, node):
            return [(owner, block, k)]
        for inner in (getattr(s, "body", None), getattr(s, "orelse", None)):
            if isinstance(inner, list) and (found := _path(inner, node, s)) is not None:
                return [*found, (owner, block, k)]
    return None


def _is_copy(s: ast.stmt, node: ast.stmt) -> bool:
    """Whether `node` is the statement `s` in a loop that was expanded."""
    return same_tree(s, node, positions=True)
