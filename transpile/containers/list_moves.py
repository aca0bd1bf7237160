"""List assignments: ``a = b`` of a dead list, swaps ``a, b = b, a``, and items for a slice.

In Python such an assignment binds a second name to a list. Lowering has one buffer for each name,
and no references to lists. So ``a = b`` in a loop becomes a loop that appends all items of ``b`` to
a new list ``a``, which is right only if ``b`` is dead afterwards (`_is_dead_after`: liveness);
``a, b = b, a`` becomes a swap of the items.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..frontend.ast_names import mentions_none_of, names_used
from ..frontend.ast_walk import child_nodes, contains_walrus, same_tree, walk_nodes
from ..frontend.macros.bind_operands import bind_fresh, bind_unless_repeatable
from ..frontend.macros.list_kind import is_list
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded

__all__ = ["list_move", "list_slice_store"]


@fires_on(ast.Assign, targets=ast.Name, value=ast.Name)
@fires_on(ast.Assign, targets=ast.Tuple, value=ast.Tuple)
def list_move(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``a = b`` and ``a, b = b, a`` of lists that the function makes → loops that move or swap
    their items. Of a swap after which one list is dead, only the other is moved.

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

    That gives what Python's second name for one list gives, since after a move the other name is
    dead (`_is_dead_after`), and after a swap each list has one name again. ``a = b`` is a move only
    in a loop, and for lists of scalars. Any other ``a = b`` stays, and lowering refuses it if one
    of the lists is changed. A swap of lists of different lengths is replayed.
    """
    if not cx.is_builtin("len", "range"):
        return None
    match node:
        case ast.Assign(targets=[ast.Name(id=to)], value=ast.Name(id=name)) if (
            to != name and _is_local_list(name, cx) and _is_local_list(to, cx)
            and _is_dead_after(name, node, cx)
        ):
            return _moved(to, name, cx)
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id=a), ast.Name(id=b)])],
            value=ast.Tuple(elts=[ast.Name(id=c), ast.Name(id=d)]),
        ) if a != b and (a, b) == (d, c) and _is_local_list(a, cx) and _is_local_list(b, cx):
            for target, source in ((a, b), (b, a)):
                if _is_dead_after(source, node, cx):
                    return _moved(target, source, cx)
            text = """
                for I in range(len(A)):
                    T = A[I]
                    A[I] = B[I]
                    B[I] = T
            """
            lines = cx.code(text, I=cx.fresh("i"), A=a, B=b, T=cx.fresh("t"))
            return guarded([cx.expr("len(A) != len(B)", A=a, B=b)], node, lines, cx)
    return None


@fires_on(ast.Assign, targets=ast.Subscript, value=(ast.List, ast.BinOp))
def list_slice_store(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A display, or a repeated item, that is stored in a slice of a list of numbers is stored item
    by item. Where there are more or fewer places than items, and where the step is negative, the
    call is replayed: Python makes the list longer or shorter, or raises.

        l = [s] * n
        for i in range(2, n):
            l[i * i::i] = [t] * len(l[i * i::i])
    →
        l = [s] * n
        for i in range(2, n):
            _n = len(l)
            _start = i * i
            _start_1 = min(max(_start + _n if _start < 0 else _start, 0), _n)
            if i <= 0:
                "Python's to answer"
                l[i * i::i] = [t] * len(l[i * i::i])
            else:
                for _i in range(_start_1, _n, i):
                    l[_i] = t
    """
    if not cx.is_builtin("len", "range", "min", "max"):
        return None
    match node:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Slice() as cut)],
            value=ast.List(elts=items)
            | ast.BinOp(left=ast.List(elts=[_] as items), op=ast.Mult()) as value,
        ):
            ints = [e for e in (cut.lower, cut.upper, cut.step) if e is not None]
            ints += [value.right] if isinstance(value, ast.BinOp) else []
            is_plain = not any(map(contains_walrus, (*items, *ints)))
            is_plain = is_plain and all(cx.fact(e).rank == 0 for e in items)
            if is_plain and _is_number_list(name, cx) and all(_is_int(e, cx) for e in ints):
                return cx.with_before(lambda: _stored_items(node, name, cut, items, value, cx))
    return None


def _is_int(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is an int; a length is one, also where no fact is known about it."""
    is_length = isinstance(e, ast.Call) and cx.builtin(e) == "len"
    return is_length or cx.fact(e).is_int


def _stored_items(
    node: ast.Assign, name: str, cut: ast.Slice, items: Sequence[ast.expr], value: ast.expr,
    cx: Context,
) -> list[ast.stmt]:
    """The statements that `list_slice_store` makes of `node`, ``name[cut] = value``."""
    values = [bind_unless_repeatable(e, "t", cx) for e in items]
    count: ast.expr | None = ast.Constant(len(items))
    if isinstance(value, ast.BinOp):
        same = cx.expr("len(L[CUT])", L=name, CUT=cut)
        is_same = same_tree(value.right, same)
        count = None if is_same else bind_unless_repeatable(value.right, "n", cx)
    length = bind_fresh(cx.expr("len(L)", L=name), "n", cx)
    start = _place(cut.lower, ast.Constant(0), length, "start", cx)
    stop = _place(cut.upper, length, length, "stop", cx)
    step = bind_unless_repeatable(cut.step or ast.Constant(1), "step", cx)
    given: dict[str, ast.expr] = {"START": start, "STOP": stop, "STEP": step}
    checks = [cx.expr("STEP <= 0", STEP=step)]
    if count is not None:
        places = cx.expr("max((STOP - START + STEP - 1) // STEP, 0)", **given)
        checks.append(cx.expr("max(COUNT, 0) != PLACES", COUNT=count, PLACES=places))
    if isinstance(value, ast.BinOp):
        text = "for I in range(START, STOP, STEP): L[I] = V"
        lines = cx.code(text, I=cx.fresh("i"), L=name, V=values[0], **given)
    else:
        text = "L[START + K * STEP] = V"
        lines = [
            s for k, v in enumerate(values)
            for s in cx.code(text, L=name, K=ast.Constant(k), V=v, START=start, STEP=step)
        ]
    return guarded(checks, node, lines, cx)


def _place(
    bound: ast.expr | None, default: ast.expr, length: ast.expr, hint: str, cx: Context
) -> ast.expr:
    """A name for the place in a list of that `length` that the `bound` of a slice stands for."""
    if bound is None:
        return default
    value = bind_unless_repeatable(bound, hint, cx)
    text = "min(max(B + N if B < 0 else B, 0), N)"
    return bind_fresh(cx.expr(text, B=value, N=length), hint, cx)


def _is_number_list(name: str, cx: Context) -> bool:
    """Whether `name` is a list of numbers, one that this function makes or an argument."""
    fact = cx.facts.known.get(name)
    is_flat = fact is not None and fact.rank == 1 and not fact.list_depth
    kinds = fact.list_type.kinds if fact is not None and fact.list_type is not None else (list,)
    return is_flat and kinds == (list,) and is_list(ast.Name(name, ast.Load()), cx)


def _moved(to: str, name: str, cx: Context) -> list[ast.stmt]:
    """Statements that bind `to` to a new list of the items of `name`."""
    return cx.code("TO = []\nfor V in OF: TO.append(V)", TO=to, OF=name, V=cx.fresh("v"))


def _is_local_list(name: str, cx: Context) -> bool:
    """Whether `name` is a list of scalars that this function makes."""
    fact = cx.facts.known.get(name)
    is_flat = fact is not None and fact.rank == 1 and not fact.list_depth and fact.list_type is None
    return is_flat and name in cx.facts.local_names and is_list(ast.Name(name, ast.Load()), cx)


def _is_dead_after(name: str, node: ast.stmt, cx: Context) -> bool:
    """Whether the list that `name` has is dead after the statement `node`, which is in a loop: on
    every path, also into the next iteration of each enclosing loop, `name` is bound anew before it
    is read. `node` itself reads it: without a binding before `node` it is read in the next
    iteration.
    """
    path = _path(cx.tree.body, node)
    if path is None or not any(isinstance(owner, (ast.For, ast.While)) for owner, _, _ in path):
        return False
    before: list[ast.AST] = []  # what runs before `node`, from the start of the block at hand
    for owner, block, k in path:
        rebound = _is_rebound_first(name, block[k + 1 :])
        if rebound is not None:
            return rebound
        before = [*block[:k], *before]
        header = [n for n in child_nodes(owner) if not isinstance(n, ast.stmt)] if owner else []
        if isinstance(owner, (ast.For, ast.While)):
            again = [*header, *before] if isinstance(owner, ast.While) else before
            mentions = [n for n in again if name in names_used(n)]
            if not _is_rebound_first(name, mentions):
                return False
            if any(name in names_used(s) for s in owner.orelse):
                return False
        before = [*header, *before]
    return True


def _is_rebound_first(name: str, nodes: Sequence[ast.AST]) -> bool | None:
    """Whether the first of `nodes` that mentions `name` binds it without reading it; None where
    none mentions it, or where control may leave before by ``break`` or ``continue``.
    """
    may_leave = False
    for s in nodes:
        match s:
            case ast.Assign(targets=[ast.Name(id=to)], value=value) if to == name:
                is_rebound = mentions_none_of(value, [name])
                return None if is_rebound and may_leave else is_rebound
        if name in names_used(s):
            return False
        may_leave = may_leave or any(
            isinstance(n, (ast.Break, ast.Continue)) for n in walk_nodes(s))
    return None


def _path(
    block: Sequence[ast.stmt], node: ast.stmt, owner: ast.stmt | None = None
) -> list[tuple[ast.stmt | None, Sequence[ast.stmt], int]] | None:
    """For each block around `node`, innermost first: the statement that owns it (None: the
    function), the block, and the position in it. None where `node` is not in `block`.
    """
    for k, s in enumerate(block):
        if s is node or _is_copy(s, node):
            return [(owner, block, k)]
        for inner in (getattr(s, "body", None), getattr(s, "orelse", None)):
            if isinstance(inner, list) and (inner_path := _path(inner, node, s)) is not None:
                return [*inner_path, (owner, block, k)]
    return None


def _is_copy(s: ast.stmt, node: ast.stmt) -> bool:
    """Whether `node` is a copy of `s`, as macros make of the body of a loop that they expand."""
    return same_tree(s, node, positions=True)
