"""Firing conditions: the predicates for ``when=`` of `fires_on`, tested before a macro is called.

Each is necessary and not sufficient: where it is false, the macro would return None. They are
cheap, and in this one file, so that compiling a function without lists, tables or arrays calls
nothing in the modules about these. A condition must not change the facts or the node. Most return a
value of the facts that is tested for truth.
"""
from __future__ import annotations

import ast

from ...analysis.type_inference.shape_rules import is_grid, joins_items
from ...analysis.type_inference.tuple_types import items_of_tuple, popped_width
from ..ast_walk import child_nodes, contains_walrus, walk_nodes
from ..core_nodes import ReplayIf
from .macro_context import Context

__all__ = [
    "assigns_array", "assigns_array_in_loop", "assigns_item_of_call", "assigns_known_tuple",
    "assigns_no_scalar", "assigns_slice", "augments_no_scalar", "has_array_lists",
    "has_attribute_argument", "has_class_aliases", "has_dtype_argument",
    "has_known_tuple_argument", "has_linked_rows", "has_number_tables", "has_ragged_lists",
    "has_new_table_argument", "has_out_argument", "has_several_subscripts",
    "has_starred_argument", "has_tables", "has_tuple_lists", "has_typed_tuple_lists",
    "has_walrus", "is_constant_tuple", "is_known_tuple", "is_replay_guard", "is_returned",
    "joins_by_subscript", "loops_over_constants", "makes_array", "may_be_no_operation",
    "may_select_several", "operates_on_array", "reads_array_flag", "reads_item_of_tuple",
    "reads_memory_size", "reads_shape_or_dtype", "returns_shape", "slices_grid",
    "subscripts_flat", "takes_call",
]


def has_tables(_: ast.AST, cx: Context) -> object:
    """Whether the function has hash tables: dicts and sets whose keys are data."""
    return cx.facts.tables


def has_array_lists(_: ast.AST, cx: Context) -> object:
    """Whether the function has lists of arrays."""
    return cx.facts.array_lists


def has_ragged_lists(_: ast.AST, cx: Context) -> object:
    """Whether the function has lists of lists that are stored as flat lists with offsets."""
    return cx.facts.ragged_lists


def has_linked_rows(_: ast.AST, cx: Context) -> object:
    """Whether the function has lists of growing rows, which are one linked list of items."""
    return cx.facts.linked_rows


def has_tuple_lists(_: ast.AST, cx: Context) -> object:
    """Whether the function has lists of tuples."""
    return cx.facts.tuple_lists


def has_typed_tuple_lists(_: ast.AST, cx: Context) -> object:
    """Whether the function has lists of tuples whose items' types are known, so that an array can
    be made of them.
    """
    return cx.facts.tuple_types


def has_number_tables(_: ast.AST, cx: Context) -> object:
    """Whether the function has lists of rows of numbers of which arrays are made."""
    return cx.facts.number_tables


def takes_call(node: ast.Call, _: Context) -> bool:
    """Whether an argument of `node` is a call."""
    return any(isinstance(a, ast.Call) for a in node.args)


def is_returned(_: ast.AST, cx: Context) -> object:
    """Whether the node is the result of the function, or an item of it."""
    return cx.result_uses()


def may_be_no_operation(node: ast.AST, cx: Context) -> bool:
    """Whether `node` is an operation that is not defined for all numbers, such as a shift, or ``-``
    of NumPy's bools, or a call; but not of ``range`` and ``len``, of which lowering knows the types
    of arguments.
    """
    match node:
        case ast.Call(func=ast.Name(id="range" | "len")):
            return False
        case ast.BinOp(op=ast.Sub(), left=e) | ast.UnaryOp(op=ast.USub(), operand=e):
            return cx.fact(e).is_bool
        case ast.BinOp(op=ast.Add() | ast.Mult() | ast.Div() | ast.Pow()):
            return False
        case ast.UnaryOp(op=ast.UAdd() | ast.Not()):
            return False
    return True


def has_class_aliases(_: ast.AST, cx: Context) -> object:
    """Whether the function has names that are aliases of a range or a class."""
    return cx.aliases


def assigns_array_in_loop(node: ast.Assign, cx: Context) -> object:
    """Whether the assigned value is an array, and the statement is in a loop or branch."""
    return cx.depth and assigns_array(node, cx)


def is_replay_guard(node: ast.If, _: Context) -> object:
    """Whether the ``if`` is a replay guard."""
    return isinstance(node, ReplayIf)


def has_walrus(s: ast.stmt, _: Context) -> bool:
    """Whether an expression of the statement itself, not of its blocks, binds a name."""
    return any(isinstance(e, ast.expr) and contains_walrus(e) for e in child_nodes(s))


def makes_array(e: ast.expr, cx: Context) -> object:
    """Whether `e` is no target, and its value is an array."""
    return not isinstance(getattr(e, "ctx", None), ast.Store) and cx.fact(e).array is not None


def operates_on_array(e: ast.BinOp | ast.Compare, cx: Context) -> object:
    """Whether the left operand, or the first right one, is an array."""
    right = e.right if isinstance(e, ast.BinOp) else e.comparators[0]
    return cx.fact(e.left).array or cx.fact(right).array


def assigns_array(s: ast.Assign, cx: Context) -> object:
    """Whether the assigned value is an array."""
    return cx.fact(s.value).array is not None


def assigns_no_scalar(s: ast.Assign, cx: Context) -> object:
    """Whether the assigned value may be something other than a scalar."""
    return cx.fact(s.value).rank != 0


def augments_no_scalar(s: ast.AugAssign, cx: Context) -> object:
    """Whether the right operand of ``+=`` may be something other than a scalar."""
    return cx.fact(s.value).rank != 0


def assigns_slice(s: ast.Assign, _: Context) -> object:
    """Whether the assigned value is a subscript with a slice, ``x[1:n]`` or ``X[i, :]``."""
    index = s.value.slice if isinstance(s.value, ast.Subscript) else None
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(i, ast.Slice) for i in items)


def slices_grid(node: ast.Subscript, cx: Context) -> object:
    """Whether the subscript `node` is one of ``np.mgrid`` or ``np.ogrid``."""
    return is_grid(cx.resolve(node.value))


def joins_by_subscript(node: ast.Subscript, cx: Context) -> object:
    """Whether the subscript `node` is one of ``np.r_`` or ``np.c_``."""
    return joins_items(cx.resolve(node.value))


def may_select_several(node: ast.Assign | ast.Subscript, cx: Context) -> object:
    """Whether the subscript `node`, or the assigned one, may give more than one element: it is not
    one int; or it subscripts the result of a call.
    """
    e = node if isinstance(node, ast.Subscript) else node.value
    assert isinstance(e, ast.Subscript)
    if isinstance(e.value, ast.Call) or isinstance(e.slice, (ast.Slice, ast.Tuple)):
        return True
    return not cx.fact(e.slice).is_int


def assigns_item_of_call(s: ast.Assign, _: Context) -> object:
    """Whether the assigned value is an item of the result of a call, ``f(x)[i]``."""
    return isinstance(s.value, ast.Subscript) and isinstance(s.value.value, ast.Call)


def has_several_subscripts(s: ast.Assign | ast.AugAssign, _: Context) -> object:
    """Whether the target has several subscripts, ``X[i, j] = …``."""
    target = s.targets[0] if isinstance(s, ast.Assign) else s.target
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Tuple)


def has_out_argument(call: ast.Call, _: Context) -> object:
    """Whether the call has a keyword argument ``out``."""
    return any(k.arg == "out" for k in call.keywords)


def loops_over_constants(s: ast.For, _: Context) -> object:
    """Whether `s` is a loop over a call whose arguments read no names: ``range(-1, 1 + 1)``."""
    return isinstance(s.iter, ast.Call) and not any(
        isinstance(n, ast.Name) for n in walk_nodes(*s.iter.args)
    )


def has_starred_argument(call: ast.Call, _: Context) -> object:
    """Whether the call has an argument ``*args``."""
    return any(isinstance(a, ast.Starred) for a in call.args)


def has_attribute_argument(call: ast.Call, _: Context) -> object:
    """Whether the first argument is an attribute, as in ``len(x.shape)``."""
    return isinstance(call.args[0], ast.Attribute)


def subscripts_flat(e: ast.Subscript, _: Context) -> object:
    """Whether the subscript is an item of ``x.flat``."""
    return isinstance(e.value, ast.Attribute) and e.value.attr == "flat"


def reads_shape_or_dtype(e: ast.Attribute, _: Context) -> object:
    """Whether the attribute is about the lengths, or the dtype, of an array."""
    return e.attr in ("dtype", "ndim", "shape", "size")


def reads_memory_size(e: ast.Attribute, _: Context) -> object:
    """Whether the attribute is about the memory of an array."""
    return e.attr in ("itemsize", "nbytes")


def reads_array_flag(e: ast.Subscript, _: Context) -> object:
    """Whether the subscript is a flag of an array by its name, as in ``x.flags["C"]``."""
    return isinstance(e.value, ast.Attribute) and e.value.attr == "flags"


def has_dtype_argument(call: ast.Call, _: Context) -> object:
    """Whether an argument of the call is the dtype of an expression."""
    values = (*call.args, *(k.value for k in call.keywords))
    return any(isinstance(a, ast.Attribute) and a.attr == "dtype" for a in values)


def returns_shape(e: ast.Attribute, cx: Context) -> object:
    """Whether the attribute is a ``shape`` that the function returns."""
    return e.attr == "shape" and cx.result_uses()


def has_new_table_argument(call: ast.Call, _: Context) -> object:
    """Whether an argument may be a new dict or set, as in ``len(set(x))``."""
    displays = (ast.Call, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)
    return any(isinstance(a, displays) for a in call.args)


def assigns_known_tuple(s: ast.Assign, cx: Context) -> object:
    """Whether a tuple of known items is assigned to a name that can be scalarized, that is,
    replaced by a name for each item.
    """
    target = s.targets[0]
    scalarized = isinstance(target, ast.Name) and target.id in cx.facts.scalarizable
    return scalarized and (is_known_tuple(s.value, cx) or popped_width(cx.facts, s.value))


def is_known_tuple(e: ast.expr, cx: Context) -> object:
    """Whether `e` is a tuple of known length and items."""
    return items_of_tuple(cx.facts, e) is not None


def reads_item_of_tuple(e: ast.Subscript, cx: Context) -> object:
    """Whether the subscript is an item of a tuple of known length and items."""
    return is_known_tuple(e.value, cx)


def has_known_tuple_argument(call: ast.Call, cx: Context) -> object:
    """Whether the only argument is a tuple of known length and items."""
    return len(call.args) == 1 and items_of_tuple(cx.facts, call.args[0]) is not None


def is_constant_tuple(e: ast.expr, cx: Context) -> object:
    """Whether `e` is a name of a tuple outside the function."""
    return type(cx.resolve_unguarded(e)) is tuple
