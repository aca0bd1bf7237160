"""List kinds: whether an expression is a list on every path, of numbers or of lists.

Macros on list methods and operators ask, since the same syntax on an array means something else:
``a + b`` joins two lists, and adds two arrays. The fact of an expression (`Context.fact`) tells its
rank, which a list and an array may share; so `is_list` also looks at every assignment to a name.
False means "not proved".
"""
from __future__ import annotations

import ast

from ...analysis.list_escapes import ListEscapes
from ..ast_walk import walk_nodes
from .macro_context import Context

__all__ = ["is_list_of_lists", "is_number_list", "is_list", "list_escapes", "has_loops"]


def is_list_of_lists(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is on every path a list of lists of numbers: one that the function makes
    (`Fact.list_depth`) or an argument (`Fact.list_type`).
    """
    fact = cx.fact(e)
    is_argument = fact.list_type is not None and fact.list_type.kinds == (list, list)
    return fact.list_depth == 1 or is_argument


def is_number_list(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is on every path a list of numbers, in a function that is worth compiling
    (`has_loops`).
    """
    fact = cx.fact(e)
    is_nested_argument = fact.list_type is not None and len(fact.list_type.kinds) != 1
    has_list_items = bool(fact.list_depth) or is_nested_argument
    return fact.rank == 1 and not has_list_items and is_list(e, cx) and has_loops(cx)


def list_escapes(tree: ast.FunctionDef, cx: Context) -> ListEscapes:
    """The escape analysis of the lists of `tree`, given the facts of `cx`."""
    return ListEscapes(tree, cx.resolve, cx.builtin, lambda e: is_list(e, cx))


def is_list(e: ast.expr, cx: Context, visiting: frozenset[str] = frozenset()) -> bool:
    """Whether `e` is a list on every path. It is one, if it is

    - a display, a comprehension, ``[a] * n``, or a call of ``list`` or ``sorted``;
    - the concatenation, a slice or a ``copy()`` of lists;
    - a name that every binding makes a list, or an argument that is one;
    - the name of a flat list of the keys or values of a dict or set (`HashTable`).

    ``visiting``: names whose bindings are being examined; a cycle of names counts as a list (the
    greatest fixpoint).
    """
    match e:
        case ast.List() | ast.ListComp():
            return True
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return isinstance(left, ast.List) or isinstance(right, ast.List)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_list(left, cx, visiting) and is_list(right, cx, visiting)
        case ast.Subscript(value=operand, slice=ast.Slice()) | ast.Call(
            func=ast.Attribute(value=operand, attr="copy"), args=[]
        ):
            return is_list(operand, cx, visiting)
        case ast.Call():
            return cx.builtin(e) in ("list", "sorted")
        case ast.Name(id=name):
            # A dict or set was replaced by flat lists of its keys and values.
            tables = cx.facts.tables.values()
            lists_of_tables = (n for t in tables for n in (t.original_keys, t.values))
            if name in visiting or name in lists_of_tables:
                return True
            values = _assigned_values(name, cx)
            if values is None:
                return False
            if values:
                return all(is_list(v, cx, visiting | {name}) for v in values)
    listed = cx.fact(e).list_type
    return listed is not None and listed.kinds[0] is list


def _assigned_values(name: str, cx: Context) -> list[ast.expr] | None:
    """The value of each assignment to the local `name`, also in ``a, b = x, y``; empty if it is
    never bound. ``+=`` is no assignment here, since it leaves a list a list.

    None if it is also bound in another way: as a loop target, by unpacking, or as a parameter that
    is assigned.
    """
    values: list[ast.expr] = []
    bindings = 0  # of the name, except by ``+=``; more than `values` if one has no value here
    for n in cx.names.nodes(name):
        if isinstance(n, ast.Name):  # most nodes: this runs often
            bindings += n.id == name and not isinstance(n.ctx, ast.Load)
        elif isinstance(n, (ast.Assign, ast.AugAssign)):
            match n:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                    values.append(value)
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=elts)):
                    pairs = zip(targets, elts, strict=False)
                    values += [v for t, v in pairs if isinstance(t, ast.Name) and t.id == name]
                case ast.AugAssign(target=ast.Name(id=target)) if target == name:
                    bindings -= 1
    is_parameter = any(isinstance(a, ast.arg) and a.arg == name for a in walk_nodes(cx.tree.args))
    has_all_values = bindings == len(values) and not (is_parameter and bindings)
    return values if has_all_values else None


def has_loops(cx: Context) -> bool:
    """Whether the function has loops or hash tables: without any, compiling does not pay.

    A call that walks numbers which are no list, such as ``list(range(n))`` or ``sorted(x)`` of an
    array, is a loop. Of a list argument it is none: to convert the list takes as long as the call.
    """
    return bool(cx.facts.tables) or any(_is_loop(n, cx) for n in walk_nodes(cx.tree))


def _is_loop(node: ast.AST, cx: Context) -> bool:
    match node:
        case ast.For() | ast.While() | ast.ListComp() | ast.GeneratorExp():
            return True
        case ast.Call(args=[walked, *_]) if cx.builtin(node) in ("list", "sorted"):
            return cx.fact(walked).array is not None
    return cx.builtin(node) == "range"
