"""Firing conditions: what ``when=`` of `fires_on` asks of a node before a macro is called.

Each is a necessary condition: where it does not hold, the macro would return None. They stand here,
and not beside the macros, so that a function without lists, tables or arrays enters none of the
files about these. A condition changes nothing.
"""
from __future__ import annotations

import ast

from ..ast_walk import child_nodes, walk_nodes
from ..core_nodes import ReplayIf
from .macro_context import Context

__all__ = [
    "asks_attribute", "asks_flat", "asks_made_array", "assigns_apart", "assigns_array",
    "assigns_no_scalar", "assigns_slice", "augments_no_scalar", "has_array_lists", "has_nested",
    "has_starred", "has_tables", "has_tuple_lists", "has_tuple_types", "has_walrus", "in_loop",
    "is_constant_tuple", "is_guard", "is_returned", "is_taken_apart", "makes_array", "names_class",
    "of_taken_apart", "of_unnamed_table", "operates_on_array", "picks_of_call", "picks_of_tuple",
    "selects_many", "stores_at_tuple", "writes_out",
]


def has_tables(_: ast.AST, cx: Context) -> object:
    """Whether there are dicts and sets whose keys are data."""
    return cx.facts.tables


def has_array_lists(_: ast.AST, cx: Context) -> object:
    """Whether there are lists of arrays."""
    return cx.facts.array_lists


def has_nested(_: ast.AST, cx: Context) -> object:
    """Whether there are lists of lists that are kept side by side."""
    return cx.facts.nested


def has_tuple_lists(_: ast.AST, cx: Context) -> object:
    """Whether there are lists of tuples."""
    return cx.facts.tuple_lists


def has_tuple_types(_: ast.AST, cx: Context) -> object:
    """Whether there are lists of tuples of which arrays can be made."""
    return cx.facts.tuple_types


def is_returned(_: ast.AST, cx: Context) -> object:
    """Whether it is what the function gives, or a part of that."""
    return cx.returned()


def names_class(_: ast.AST, cx: Context) -> object:
    """Whether there are names that stand for classes or functions."""
    return cx.stands


def in_loop(node: ast.Assign, cx: Context) -> object:
    """Whether an array is assigned in a loop or branch."""
    return cx.depth and assigns_array(node, cx)


def is_guard(node: ast.If, _: Context) -> object:
    """Whether it is a replay guard."""
    return isinstance(node, ReplayIf)


def has_walrus(s: ast.stmt, _: Context) -> bool:
    """Whether an expression of the statement itself, not of its blocks, binds a name."""
    return any(isinstance(e, ast.expr) and _binds(e) for e in child_nodes(s))


def _binds(e: ast.expr) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in walk_nodes(e))


def makes_array(e: ast.expr, cx: Context) -> object:
    """Whether the value that `e` computes is an array."""
    return not isinstance(getattr(e, "ctx", None), ast.Store) and cx.fact(e).array is not None


def operates_on_array(e: ast.BinOp | ast.Compare, cx: Context) -> object:
    """Whether an operand is an array."""
    right = e.right if isinstance(e, ast.BinOp) else e.comparators[0]
    return cx.fact(e.left).array or cx.fact(right).array


def assigns_array(s: ast.Assign, cx: Context) -> object:
    """Whether the value is an array."""
    return cx.fact(s.value).array is not None


def assigns_no_scalar(s: ast.Assign, cx: Context) -> object:
    """Whether the value may be more than a number."""
    return cx.fact(s.value).rank != 0


def augments_no_scalar(s: ast.AugAssign, cx: Context) -> object:
    """Whether the value may be more than a number."""
    return cx.fact(s.value).rank != 0


def assigns_slice(s: ast.Assign, _: Context) -> object:
    """Whether the value is a subscript that holds a slice."""
    at = s.value.slice if isinstance(s.value, ast.Subscript) else None
    items = at.elts if isinstance(at, ast.Tuple) else [at]
    return any(isinstance(i, ast.Slice) for i in items)


def selects_many(node: ast.Assign | ast.Subscript, cx: Context) -> object:
    """Whether a subscript is more than one int, or is one of what a call gives."""
    e = node if isinstance(node, ast.Subscript) else node.value
    assert isinstance(e, ast.Subscript)
    if isinstance(e.value, ast.Call) or isinstance(e.slice, (ast.Slice, ast.Tuple)):
        return True
    return not cx.fact(e.slice).is_int


def picks_of_call(s: ast.Assign, _: Context) -> object:
    """Whether the value is an item of what a call gives."""
    return isinstance(s.value, ast.Subscript) and isinstance(s.value.value, ast.Call)


def stores_at_tuple(s: ast.Assign | ast.AugAssign, _: Context) -> object:
    """Whether the target has several subscripts."""
    target = s.targets[0] if isinstance(s, ast.Assign) else s.target
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Tuple)


def writes_out(call: ast.Call, _: Context) -> object:
    """Whether ``out`` is given."""
    return any(k.arg == "out" for k in call.keywords)


def has_starred(call: ast.Call, _: Context) -> object:
    """Whether an argument is starred."""
    return any(isinstance(a, ast.Starred) for a in call.args)


def asks_attribute(call: ast.Call, _: Context) -> object:
    """Whether the first argument is an attribute."""
    return isinstance(call.args[0], ast.Attribute)


def asks_flat(e: ast.Subscript, _: Context) -> object:
    """Whether it is an item of ``x.flat``."""
    return isinstance(e.value, ast.Attribute) and e.value.attr == "flat"


def asks_made_array(e: ast.Attribute, cx: Context) -> object:
    """Whether it is a ``shape`` that is returned."""
    return e.attr == "shape" and cx.returned()


def of_unnamed_table(call: ast.Call, _: Context) -> object:
    """Whether the first argument may make a dict or set."""
    made = (ast.Call, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)
    return any(isinstance(a, made) for a in call.args)


def assigns_apart(s: ast.Assign, cx: Context) -> object:
    """Whether the value is a tuple whose items are known, and the name may be taken apart."""
    target = s.targets[0]
    known = isinstance(target, ast.Name) and target.id in cx.facts.apart
    return known and is_taken_apart(s.value, cx)


def is_taken_apart(e: ast.expr, cx: Context) -> object:
    """Whether it is a tuple whose items are known."""
    return cx.facts.items(e) is not None


def picks_of_tuple(e: ast.Subscript, cx: Context) -> object:
    """Whether it is an item of a tuple whose items are known."""
    return is_taken_apart(e.value, cx)


def of_taken_apart(call: ast.Call, cx: Context) -> object:
    """Whether the argument is a tuple whose items are known."""
    return len(call.args) == 1 and cx.facts.items(call.args[0]) is not None


def is_constant_tuple(e: ast.expr, cx: Context) -> object:
    """Whether it stands for a tuple outside the function."""
    return type(cx.resolve(e)) is tuple
