"""Node dispatch: lower a node of the syntax tree by the rule for its type, from the state's tables.

The rules themselves call these functions for the parts of a node. They go through the tables
(`Lowering.rules`), so that modules of rules need not import each other.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ...codes.lowering_codes import HELP_FOR_ITERABLES, HELP_FOR_OPERANDS
from ...diagnostics import Refused, counted
from ...frontend.ast_walk import walk_nodes
from ...frontend.core_nodes import ComplexNumber, source_text
from ...frontend.refusal import refuse
from ...types.typed_values import ComplexPair, Num
from ...types.value_types import ELEMENTS
from .lowering_state import Lowering
from .symbol_values import ArrayRef, RecordArrayRef, Scalar, UnionValue

__all__ = [
    "lower_array", "lower_block", "lower_scalar", "lower_value", "refuse_array_of_number",
    "refuse_expression", "refuse_float", "refuse_iterated_number", "refuse_number",
]


def lower_scalar(
    ctx: Lowering, node: ast.expr, *, operand_of: ast.BinOp | ast.UnaryOp | None = None,
    is_item: bool = False,
) -> Scalar:
    """`node` as a scalar: a number, a complex number, or a union of numbers, None and unbound.

    Raises Refused for a node of any other kind or value. ``operand_of``: the operation of which
    `node` is an operand. If `node` is an array, that operation is refused: no macro has made a loop
    of it. ``is_item``: `node` is an item of a list.
    """
    rule = ctx.rules.expressions.get(type(node))
    value = refuse_expression(node) if rule is None else rule(ctx, node)
    if isinstance(value, (Num, ComplexPair, UnionValue)):
        return value
    if isinstance(value, RecordArrayRef):
        refuse("LOWER_TYPE", f"`{source_text(node)}` is a whole record", node)
    if operand_of is not None and isinstance(value, ArrayRef) and not value.kinds:
        _refuse_array_operation(ctx, value, operand_of)
    reason, help = "here", None
    if isinstance(value, ArrayRef):
        if is_item:
            message = f"`{source_text(node)}` is an array, and is put into a list"
            help = "put it into a row of an array that is made before: `out[k] = v`"
            refuse("LOWER_UNSUPPORTED", message, node, help=help)
        reason = f"but an array with {counted(value.rank, 'axis', 'axes')}"
        help = "read an item of it, or make one number of it, such as by `np.any` or `np.sum`"
    message = f"`{source_text(node)}` is not a number {reason}"
    return refuse("LOWER_UNSUPPORTED", message, node, help=help)


def _refuse_array_operation(
    ctx: Lowering, array: ArrayRef, node: ast.BinOp | ast.UnaryOp
) -> NoReturn:
    """Refuses the operation `node` of whole arrays, with `array` as an operand."""
    is_complex_power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and (
        ELEMENTS[array.dtype].kind == "c"
    )
    if array.rank == 0:
        message = f"`{source_text(node)}` of an array without axes is not compiled here"
        instead = f"pass a number in its place: `{array.name}[()]`"
        refuse("LOWER_UNSUPPORTED", message, node, help=instead)
    help = HELP_FOR_OPERANDS if ctx.b.path.frames else None
    if is_complex_power:
        help = "write the exponent as a number: by it NumPy selects among several functions"
    message = f"`{source_text(node)}` of whole arrays is not compiled here"
    refuse("LOWER_UNSUPPORTED", message, node, help=help)


def refuse_array_of_number(ctx: Lowering, stmt: ast.Assign | ast.AugAssign) -> None:
    """Raises Refused if `stmt` makes an array of a name that is a number, and whose loop would so
    carry both: ``s += x`` or ``s = s + x``.
    """
    match stmt:
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            pass
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as value):
            if not any(isinstance(n, ast.Name) and n.id == name for n in walk_nodes(value)):
                return
        case _:
            return
    if not isinstance(ctx.b.env.get(name), Num) or not _is_array(ctx, value):
        return
    if isinstance(value, ast.Name) and _is_list(ctx, value) and isinstance(stmt, ast.AugAssign):
        message = f"`{name}` is a number, and `{value.id}` a list"
        help = f"loop over the items of `{value.id}`, too, or pass an array with several axes"
        refuse("LOWER_JOIN", message, stmt, help=help)
    message = f"`{name}` is a number, and `{source_text(stmt)}` makes an array of it"
    example = ", such as by `np.zeros`"
    for n in value, *([value.left, value.right] if isinstance(value, ast.BinOp) else ()):
        if isinstance(n, ast.Name) and n.id in ctx.arguments and _is_array(ctx, n):
            example = f": `{name} = {name} + np.zeros_like({n.id})`"  # a name that the user wrote
    refuse("LOWER_JOIN", message, stmt, help=f"make an array of it before the loop{example}")


def _is_array(ctx: Lowering, node: ast.expr) -> bool:
    """Whether `node` is an array with axes, or an operation with such an operand."""
    if isinstance(node, ast.BinOp):
        return _is_array(ctx, node.left) or _is_array(ctx, node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_array(ctx, node.operand)
    array = _array_or_none(ctx, node)
    return array is not None and array.rank > 0


def _is_list(ctx: Lowering, node: ast.expr) -> bool:
    """Whether `node` is a list, whose items an array holds."""
    array = _array_or_none(ctx, node)
    return array is not None and array.kinds[:1] == (list,)


def _array_or_none(ctx: Lowering, node: ast.expr) -> ArrayRef | None:
    """The array that `node` is; None for other values."""
    with suppress(Refused):
        return lower_array(ctx, node)
    return None


def refuse_number(
    ctx: Lowering, node: ast.expr, code: str, lacks: str, *, help: str, of_numpy: str = "TypeError"
) -> None:
    """Raises Refused if `node` is a number, so that Python raises TypeError for what is done with
    it. The rules for lengths, subscripts, loops and calls ask before they refuse another value.

        len(n)      "`n` is of type int, which has no length: Python raises TypeError"

    ``lacks``: what such a number has not; ``of_numpy``: what NumPy's numbers raise.
    """
    value = None
    with suppress(Refused):
        value = lower_scalar(ctx, node)
    if not isinstance(value, (Num, ComplexPair)) or (value.strong and value.weak):
        return
    kind = value.strong or value.weak or ""
    name = ELEMENTS[kind].numpy.name if value.strong else _PYTHON_NAMES[kind]
    raises = f"NumPy raises {of_numpy}" if value.strong else "Python raises TypeError"
    message = f"`{source_text(node)}` is of type {name}, which {lacks}: {raises}"
    refuse(code, message, node, help=help)


def refuse_float(value: Num, node: ast.expr, code: str) -> None:
    """Raises Refused if `value`, that of `node`, is a float of Python's, and an int is needed."""
    if value.weak == "f64" and value.strong is None:
        text = source_text(node)
        message = f"`{text}` is of type float, and not an int: Python raises TypeError"
        refuse(code, message, node, help=f"convert it to an int, `int({text})`")


def refuse_iterated_number(ctx: Lowering, call: ast.Call, function: object) -> None:
    """Raises Refused if an argument over which `function`, a builtin, iterates is a number:
    ``sum(n)``.
    """
    arguments = call.args[:1] if any(function is f for f in _ITERATE_OVER_FIRST) else []
    if function is zip or (any(function is f for f in (max, min)) and len(call.args) == 1):
        arguments = call.args
    elif function is map or function is filter:
        arguments = call.args[1:]
    for argument in arguments:
        refuse_number(ctx, argument, "LOWER_CALL", "has no items", help=HELP_FOR_ITERABLES)


_ITERATE_OVER_FIRST = (
    all, any, enumerate, frozenset, iter, list, reversed, set, sorted, sum, tuple,
)

_PYTHON_NAMES = {"bool": "bool", "i64": "int", "f64": "float", "c128": "complex"}
"""The types of Python's numbers, by their carriers."""


def lower_value(ctx: Lowering, node: ast.expr) -> Any:
    """The value of a name, a subscript, an attribute or a call: any `Value`.

    Raises Refused for other expressions.
    """
    if not isinstance(node, (ast.Name, ast.Subscript, ast.Attribute, ast.Call, ComplexNumber)):
        return refuse_expression(node)
    return ctx.rules.expressions[type(node)](ctx, node)


def lower_array(ctx: Lowering, node: ast.expr) -> ArrayRef | None:
    """`node` as an array or a view of one, such as the row ``x[i]``; None for anything else."""
    rule = ctx.rules.arrays.get(type(node))
    return None if rule is None else rule(ctx, node)


def lower_block(ctx: Lowering, block: Sequence[ast.stmt], live: frozenset[str]) -> None:
    """Lowers the statements of `block`; `live` are the names that are live after it."""
    ctx.rules.block(ctx, block, live)


_COLLECTION_HELP = "give it a name, in a statement before this one"

_HELP_FOR_STR = "use a number in its place, or make strings after the loops"

_NO_RULE: Mapping[type[ast.expr], tuple[str, str | None]] = {
    ast.Tuple: (
        "is a tuple, which is compiled only where it is unpacked, returned, appended, used as a "
        "key, or read at a constant place",
        "use a name for each of its items",
    ),
    ast.List: ("is a list that has no name", _COLLECTION_HELP),
    ast.ListComp: ("is a list that has no name", _COLLECTION_HELP),
    ast.Dict: ("is a dict that has no name", _COLLECTION_HELP),
    ast.DictComp: ("is a dict that has no name", _COLLECTION_HELP),
    ast.Set: ("is a set that has no name", _COLLECTION_HELP),
    ast.SetComp: ("is a set that has no name", _COLLECTION_HELP),
    ast.GeneratorExp: (
        "is a generator, which is compiled only as the argument of a function that is, such as "
        "`sum`, `max`, `any` or `list`",
        "write it as a loop",
    ),
    ast.Lambda: (
        "is a function, which is compiled only where it is called, or passed to a function that "
        "calls it",
        "call it where it is made; keep in a list what it needs, and not the function",
    ),
    ast.JoinedStr: ("is of type str, which is not compiled", _HELP_FOR_STR),
    ast.Await: ("waits for a coroutine, which is not compiled",
                "put what is computed in a function of its own, and decorate that"),
    ast.Starred: ("stands for a number of items that is not known", "write each item"),
    ast.Slice: ("is a slice, and not a number", "write each subscript"),
}
"""For a type of expression without a rule: what it is, and what to write instead, in a message."""


def refuse_expression(node: ast.expr) -> NoReturn:
    """Refuses `node`, an expression without a rule: says what it is, and what to write instead."""
    what, help = _NO_RULE.get(type(node), ("is not a number, and not compiled here", None))
    if isinstance(node, ast.Constant):
        what = f"is of type {type(node.value).__name__}, which is not compiled"
        help = _HELP_FOR_STR if isinstance(node.value, str) else None
    if isinstance(node, ast.Tuple) and not node.elts:
        what = "is an empty tuple"
        help = "append to a list, and make the tuple of it at the end, `tuple(...)`"
    if isinstance(node, ast.List) and not node.elts:
        what = "is an empty list without a name, whose items have no type"
        help = "append to a list with a name; for an array without items write `np.empty(0)`"
    if isinstance(node, ast.Dict) and any(_is_text(key) for key in node.keys):
        what = "is a dict with strings as keys"
        help = "keep each of its values in a name or a list, and make dicts after the loops"
    refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` {what}", node, help=help)


def _is_text(key: ast.expr | None) -> bool:
    """Whether the key of a dict display is a string in the source."""
    is_text = isinstance(key, ast.Constant) and isinstance(key.value, str)
    return is_text or isinstance(key, ast.JoinedStr)
