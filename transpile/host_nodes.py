"""Host expressions: what Python evaluates at each call, outside of the kernel, as typed nodes.

Lowering makes them for the arrays of a call and for what guards ask::

    np.zeros(len(x) + 1)
    →   HostCall(HostAttribute(HostHelper("np"), "zeros"),
                 (HostOp("add", (HostCall(HostName("len"), (HostName("x"),)), HostConst(1))),))

They are frozen, hashable and pickled with the kernel interface. `native_call` makes rows of them,
for the C entry. For `python_wrapper` they are printed as Python (`host_source`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal, TypeAlias

from loopir.lazy_dataclass import record

from .frontend.core_nodes import CORE_NAME, NUMPY_NAME

__all__ = [
    "Helper", "HostAttribute", "HostCall", "HostCapacity", "HostConst", "HostDisplay", "HostExpr",
    "HostHelper", "HostItem", "HostName", "HostOp", "HostSlice", "NoHostExpression", "call_helper",
    "from_ast", "host_names", "host_operand", "host_source", "numpy_function", "to_ast",
]

Helper: TypeAlias = Literal[
    "abs", "bool", "core", "draws", "float", "greatest", "int", "least", "math", "max", "min",
    "modules", "np", "round", "type",
]


@record(frozen=True, slots=True)
class HostConst:
    """A constant that Python can print: a number, a string, None or ``...``."""

    value: object


@record(frozen=True, slots=True)
class HostName:
    """A parameter, global or builtin of the function, or a binding of the call plan, by name."""

    name: str


@record(frozen=True, slots=True)
class HostHelper:
    """A function or module that no name of the user's can hide.

    ``np`` is NumPy, ``core`` `transpile.core_functions`, ``draws`` `transpile.random_numbers`;
    ``modules`` is ``sys.modules``, where an ``import`` statement finds a loaded module;
    ``greatest`` and ``least`` give the maximum and the minimum of an int array
    (`runtime.kernel_call.snapshot`); the others are Python's own. In Python: ``_np``.
    """

    name: Helper


@record(frozen=True, slots=True)
class HostCapacity:
    """How many items a list or an array of unknown length has room for; if it was too small, the
    call is repeated with more (`runtime.kernel_call.list_capacity.grow_capacity`).
    """


@record(frozen=True, slots=True)
class HostAttribute:
    """``of.name``."""

    of: HostExpr
    name: str


@record(frozen=True, slots=True)
class HostItem:
    """``of[index]``."""

    of: HostExpr
    index: HostExpr


@record(frozen=True, slots=True)
class HostSlice:
    """``start:stop:step``, as the index of a `HostItem`."""

    start: HostExpr | None
    stop: HostExpr | None
    step: HostExpr | None


@record(frozen=True, slots=True)
class HostCall:
    """``function(*args, **keywords)``."""

    function: HostExpr
    args: tuple[HostExpr, ...]
    keywords: tuple[tuple[str, HostExpr], ...] = ()


@record(frozen=True, slots=True)
class HostOp:
    """An operator of Python, by its name in one of the tables below; ``select`` is
    ``args[1] if args[0] else args[2]``.
    """

    op: str
    args: tuple[HostExpr, ...]


@record(frozen=True, slots=True)
class HostDisplay:
    """A tuple, or a list."""

    items: tuple[HostExpr, ...]
    is_list: bool = False


HostExpr: TypeAlias = (
    HostConst | HostName | HostHelper | HostCapacity | HostAttribute | HostItem | HostSlice
    | HostCall | HostOp | HostDisplay
)
"""What Python, or the C entry, evaluates before the kernel starts. For example, `Allocated.expr`
makes an array, and `IdentityGuard.expr` reads what a guard compares. A host expression is made of
Python's syntax tree by `from_ast`, of an expression of Loop IR by
`host_expressions.host_expression`; `host_source` prints it.
"""

# the operators of `HostOp`
_BINARY: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "div": ast.Div, "floordiv": ast.FloorDiv,
    "mod": ast.Mod, "pow": ast.Pow, "matmul": ast.MatMult, "bitand": ast.BitAnd,
    "bitor": ast.BitOr, "bitxor": ast.BitXor, "shl": ast.LShift, "shr": ast.RShift,
}
_COMPARISON: dict[str, type[ast.cmpop]] = {
    "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "eq": ast.Eq, "ne": ast.NotEq,
    "is": ast.Is, "is_not": ast.IsNot, "in": ast.In, "not_in": ast.NotIn,
}
_LOGICAL: dict[str, type[ast.boolop]] = {"and": ast.And, "or": ast.Or}
_UNARY: dict[str, type[ast.unaryop]] = {
    "neg": ast.USub, "pos": ast.UAdd, "invert": ast.Invert, "not": ast.Not,
}
# the inverse of these tables
_NAMES: dict[type[ast.AST], str] = {
    kind: name
    for table in (_BINARY, _COMPARISON, _LOGICAL, _UNARY)
    for name, kind in table.items()
}
_HELPER_NAMES: dict[str, Helper] = {NUMPY_NAME: "np", CORE_NAME: "core"}
"""Names in core Python that stand for helpers."""
_CAPACITY = "_tp_room"
"""The wrapper's name of a list of one item, which is the capacity."""


class NoHostExpression(Exception):
    """An ``ast`` node for which there is no host expression."""


def numpy_function(name: str) -> HostExpr:
    """``np.name``, whatever the user's names mean."""
    return HostAttribute(HostHelper("np"), name)


def call_helper(name: Helper, *args: HostExpr) -> HostCall:
    """A call of a helper by position."""
    return HostCall(HostHelper(name), args)


def host_names(e: HostExpr) -> Iterator[str]:
    """The names that `e` reads, of parameters, globals and bindings."""
    match e:
        case HostName(name):
            yield name
        case HostAttribute(of):
            yield from host_names(of)
        case HostItem(of, index):
            yield from host_names(of)
            yield from host_names(index)
        case HostSlice(start, stop, step):
            for part in (start, stop, step):
                yield from host_names(part) if part is not None else ()
        case HostCall(function, args, keywords):
            for part in (function, *args, *(value for _, value in keywords)):
                yield from host_names(part)
        case HostOp(_, parts) | HostDisplay(parts):
            for part in parts:
                yield from host_names(part)


# -- host expression → Python


def host_source(e: HostExpr) -> str:
    """`e` as Python, over the names of a wrapper (`python_wrapper`)."""
    return ast.unparse(to_ast(e))


def host_operand(e: HostExpr) -> str:
    """`e` as Python that may stand beside an operator."""
    return f"({host_source(e)})" if isinstance(e, HostOp) else host_source(e)


def to_ast(e: HostExpr) -> ast.expr:
    """`e` as an ``ast`` without positions."""
    match e:
        case HostConst(value):
            return _constant(value)
        case HostName(name):
            return ast.Name(name, ast.Load())
        case HostHelper(name):
            return ast.Name(f"_{name}", ast.Load())
        case HostCapacity():
            room = ast.Name(_CAPACITY, ast.Load())
            return ast.Subscript(room, ast.Constant(0), ast.Load())
        case HostAttribute(of, name):
            return ast.Attribute(to_ast(of), name, ast.Load())
        case HostItem(of, index):
            return ast.Subscript(to_ast(of), to_ast(index), ast.Load())
        case HostSlice(start, stop, step):
            parts = (None if part is None else to_ast(part) for part in (start, stop, step))
            return ast.Slice(*parts)
        case HostCall(function, args, keywords):
            named = [ast.keyword(name, to_ast(value)) for name, value in keywords]
            return ast.Call(to_ast(function), [*map(to_ast, args)], named)
        case HostDisplay(items, is_list):
            kind = ast.List if is_list else ast.Tuple
            return kind([*map(to_ast, items)], ast.Load())
        case HostOp(op, args):
            return _operation(op, [*map(to_ast, args)])


def _constant(value: object) -> ast.expr:
    """A constant as the parser makes it: there is no negative number."""
    if isinstance(value, (int, float)) and repr(value).startswith("-"):
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)  # type: ignore[arg-type]  # of the kinds that have one


def _operation(op: str, args: list[ast.expr]) -> ast.expr:
    """The ``ast`` node of the operator `op` of a `HostOp`, with the operands `args`."""
    if op == "select":
        return ast.IfExp(*args)
    if op in _UNARY:
        return ast.UnaryOp(_UNARY[op](), *args)
    if op in _LOGICAL:
        return ast.BoolOp(_LOGICAL[op](), args)
    left, right = args
    if op in _BINARY:
        return ast.BinOp(left, _BINARY[op](), right)
    return ast.Compare(left, [_COMPARISON[op]()], [right])


# -- core Python → host expression


def from_ast(
    e: ast.expr, leaf: Callable[[ast.expr], HostExpr | None] = lambda _: None
) -> HostExpr:
    """The expression `e` of core Python. ``leaf`` is asked first about each node, and gives what
    stands for it, or None. Raises NoHostExpression.
    """
    found = leaf(e)
    if found is not None:
        return found
    match e:
        case ast.Constant(value):
            return HostConst(value)
        case ast.Name(id=name):
            known = _HELPER_NAMES.get(name)
            return HostName(name) if known is None else HostHelper(known)
        case ast.Attribute(of, attr):
            return HostAttribute(from_ast(of, leaf), attr)
        case ast.Subscript(of, index):
            return HostItem(from_ast(of, leaf), from_ast(index, leaf))
        case ast.Slice(start, stop, step):
            return HostSlice(
                *(None if part is None else from_ast(part, leaf) for part in (start, stop, step))
            )
        case ast.Tuple(items) | ast.List(items):
            return HostDisplay(tuple(from_ast(i, leaf) for i in items), isinstance(e, ast.List))
        case ast.Call(function, args, keywords):
            called, given = from_ast(function, leaf), tuple(from_ast(a, leaf) for a in args)
            named = tuple((k.arg, from_ast(k.value, leaf)) for k in keywords if k.arg)
            if len(named) == len(keywords):
                return HostCall(called, given, named)
    return _operation_from_ast(e, leaf)


def _operation_from_ast(e: ast.expr, leaf: Callable[[ast.expr], HostExpr | None]) -> HostOp:
    """As `from_ast`, for an operator: ``a < b < c`` is ``a < b and b < c``."""
    match e:
        case ast.IfExp(test, then, orelse):
            return HostOp("select", tuple(from_ast(x, leaf) for x in (test, then, orelse)))
        case ast.UnaryOp(op, operand):
            return HostOp(_NAMES[type(op)], (from_ast(operand, leaf),))
        case ast.BoolOp(op, values):
            return HostOp(_NAMES[type(op)], tuple(from_ast(v, leaf) for v in values))
        case ast.BinOp(left, op, right):
            return HostOp(_NAMES[type(op)], (from_ast(left, leaf), from_ast(right, leaf)))
        case ast.Compare(left, ops, comparators):
            given = [from_ast(x, leaf) for x in (left, *comparators)]
            pairs = [
                HostOp(_NAMES[type(op)], pair)
                for op, pair in zip(ops, pairwise(given), strict=True)
            ]
            return pairs[0] if len(pairs) == 1 else HostOp("and", tuple(pairs))
    raise NoHostExpression
