"""List kinds: whether an expression is surely a list, of numbers or of lists, and not an array."""
from __future__ import annotations

import ast

from ...analysis.escape_analysis import ListEscapes
from ..ast_walk import walk_nodes
from .macro_context import Context

__all__ = ["is_list_of_lists", "is_number_list", "is_list", "list_escapes", "has_loops"]


def is_list_of_lists(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is surely a list of lists of numbers."""
    fact = cx.fact(e)
    return fact.rows == 1 or (fact.listed is not None and fact.listed.kinds == (list, list))


def is_number_list(of: ast.expr, cx: Context) -> bool:
    """Whether `of` is surely a list of numbers, in a function that has loops."""
    fact = cx.fact(of)
    flat = fact.rank == 1 and not fact.rows and (not fact.listed or len(fact.listed.kinds) == 1)
    return flat and is_list(of, cx) and has_loops(cx)


def list_escapes(tree: ast.FunctionDef, cx: Context) -> ListEscapes:
    """The escape analysis of the lists of `tree`, with what `cx` knows."""
    return ListEscapes(tree, cx.resolve, cx.builtin, lambda e: is_list(e, cx))


def is_list(e: ast.expr, cx: Context, asked: frozenset[str] = frozenset()) -> bool:
    """Whether `e` is a list wherever it is bound. `asked` are the names that are being asked about
    already.
    """
    match e:
        case ast.List() | ast.ListComp():
            return True
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return isinstance(left, ast.List) or isinstance(right, ast.List)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_list(left, cx, asked) and is_list(right, cx, asked)
        case ast.Subscript(value=of, slice=ast.Slice()) | ast.Call(
            func=ast.Attribute(value=of, attr="copy"), args=[]
        ):
            return is_list(of, cx, asked)
        case ast.Call():
            return cx.builtin(e) in ("list", "sorted")
        case ast.Name(id=name):
            if name in asked or any(name in (t.shown, t.values) for t in cx.facts.tables.values()):
                return True
            values = _values(name, cx.tree)
            if values:
                return all(v is not None and is_list(v, cx, asked | {name}) for v in values)
    listed = cx.fact(e).listed
    return listed is not None and listed.kinds[0] is list


def _values(name: str, tree: ast.FunctionDef) -> list[ast.expr | None]:
    """What that name is given; None for what is no plain value."""
    out: list[ast.expr | None] = []
    bindings = 0
    for n in walk_nodes(tree):
        match n:
            case ast.Assign(targets=[ast.Name(id=to)], value=value) if to == name:
                out.append(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                each = zip(targets, values, strict=False)
                out += [v for t, v in each if isinstance(t, ast.Name) and t.id == name]
            case ast.AugAssign(target=ast.Name(id=to)) if to == name:
                bindings -= 1
            case ast.Name(id=to, ctx=ast.Store() | ast.Del()) if to == name:
                bindings += 1
    given = any(isinstance(a, ast.arg) and a.arg == name for a in walk_nodes(tree.args))
    return out if bindings == len(out) and not (given and bindings) else [None]


def has_loops(cx: Context) -> bool:
    """Whether the function has loops or hash tables, so that compiling it is worth while."""
    loops = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
    return bool(cx.facts.tables) or any(isinstance(n, loops) for n in walk_nodes(cx.tree))
