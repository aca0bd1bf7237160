"""Expressions of the text, and its symbols: the lower half of the parser."""
from __future__ import annotations

import ast
import struct
from typing import TypeAlias

from . import nodes as ir
from .ops import OPS
from .types import DTYPES, INDEX

__all__ = [
    "SYMBOLS", "Env", "bad", "read_expr", "read_index", "read_int", "read_lanes", "read_name",
    "read_text",
]

SYMBOLS: dict[str, tuple[int, tuple[str, ...]]] = {
    # symbol: how strongly it binds in Python; its op, and its op on bools where that is another
    "<": (1, ("lt",)), "<=": (1, ("le",)), ">": (1, ("gt",)), ">=": (1, ("ge",)),
    "==": (1, ("eq",)), "!=": (1, ("ne",)),
    "|": (2, ("bitor", "or")), "^": (3, ("bitxor", "xor")), "&": (4, ("bitand", "and")),
    "+": (5, ("add",)), "-": (5, ("sub",)),
    "*": (6, ("mul",)), "/": (6, ("div",)), "//": (6, ("floordiv",)), "%": (6, ("mod",)),
    "u-": (7, ("neg",)), "~": (7, ("invert", "not")),
    "**": (8, ("pow",)),
}

_SYNTAX: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Invert: "~", ast.USub: "u-",
}

Env: TypeAlias = "dict[str, tuple[str, ir.Lanes]]"  # what a name is: dtype and lanes


def bad(where: ast.AST, why: str) -> SyntaxError:
    """The error for text that is not IR, with the line and the piece it is about."""
    return SyntaxError(f"line {getattr(where, 'lineno', '?')}: {why}: {ast.unparse(where)}")


def read_expr(e: ast.expr, env: Env) -> ir.Expr:
    """An expression of the IR, its names as `env` has them."""
    match e:
        case _ if _is_literal(e):
            return _literal(e)
        case ast.Name(id=name) if name in env:
            dtype, lanes = env[name]
            return ir.Var(name, dtype, lanes)
        case ast.UnaryOp(op=op, operand=x):
            return _apply(op, [x], env)
        case ast.BinOp(left=a, op=op, right=b) | ast.Compare(left=a, ops=[op], comparators=[b]):
            return _apply(op, [a, b], env)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=array), attr="shape"), slice=k):
            return ir.Dim(array, read_int(k))
        case ast.Subscript(value=ast.Name(id=array), slice=at) if array in env:
            index, lanes, axis, step = read_index(at, env)
            return ir.Load(array, index, env[array][0], lanes, axis, step)
        case ast.Call(func=ast.Name(id=f), args=args):
            return _call(e, f, args, env)
        case _:
            raise bad(e, "not an expression, or a name that is not bound here")


def _apply(symbol: ast.AST, operands: list[ast.expr], env: Env) -> ir.Expr:
    if type(symbol) not in _SYNTAX:
        raise bad(operands[0], f"no operator {type(symbol).__name__}")
    args = tuple(read_expr(x, env) for x in operands)
    ops = SYMBOLS[_SYNTAX[type(symbol)]][1]
    return _typed(ops[-1] if args[0].dtype == "bool" else ops[0], args)


def _typed(op: str, args: tuple[ir.Expr, ...]) -> ir.Call:
    """The Call with the dtype that the row's signature gives."""
    row = OPS[op]
    dtype = "bool" if row.result == "m" else args[row.operands.index("a")].dtype
    return ir.Call(op, args, dtype, args[0].lanes)


def _call(e: ast.Call, f: str, args: list[ast.expr], env: Env) -> ir.Expr:
    match f, args:
        case _, [x] if f in DTYPES and _is_literal(x):
            return _literal(x, f)
        case _, [x] if f in DTYPES:
            value = read_expr(x, env)
            return ir.Call("cast", (value,), f, value.lanes)
        case "cast", [x, ast.Name(id=dtype)] if dtype in DTYPES:
            value = read_expr(x, env)
            return ir.Call("cast", (value,), dtype, value.lanes)
        case "broadcast", [x, lanes]:
            return ir.Broadcast(read_expr(x, env), read_lanes(lanes))
        case "ramp", [x, step, lanes]:
            return ir.Ramp(read_expr(x, env), read_int(step), read_lanes(lanes))
        case "hreduce", [op, x]:
            return ir.HReduce(read_text(op), read_expr(x, env))
        case _ if f in OPS and f != "cast" and len(args) == OPS[f].arity:
            return _typed(f, tuple(read_expr(x, env) for x in args))
        case _:
            raise bad(e, "no such operation")


def _is_literal(e: ast.expr) -> bool:
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
        e = e.operand
    return isinstance(e, ast.Constant)


def _literal(e: ast.expr, dtype: str | None = None) -> ir.Const:
    value = ast.literal_eval(e)
    own = {bool: "bool", int: INDEX, float: "f64", str: "f64"}.get(type(value))
    is_float = dtype is not None and DTYPES[dtype].kind == "f"
    if own is None or (isinstance(value, str) and not is_float):
        raise bad(e, "not a constant")
    if isinstance(value, str):
        value = _bits(value) if value.startswith("0x") else float(value)
    return ir.Const(float(value) if is_float else value, dtype or own)


def _bits(text: str) -> float:
    return float(struct.unpack("<d", int(text, 16).to_bytes(8, "little"))[0])


def read_index(at: ast.expr, env: Env) -> tuple[tuple[ir.Expr, ...], ir.Lanes, int, int]:
    """Subscripts, and lanes, axis and step of the one that advances."""
    parts = at.elts if isinstance(at, ast.Tuple) else [at]
    index: list[ir.Expr] = []
    lanes: ir.Lanes = 1
    axis, step = 0, 1
    for k, part in enumerate(parts):
        match part:
            case ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper, step=by):
                index.append(read_expr(lower, env))
                lanes, axis, step = read_lanes(upper), k, read_int(by) if by else 1
            case _:
                index.append(read_expr(part, env))
    return tuple(index), lanes, axis, step


def read_lanes(e: ast.expr) -> ir.Lanes:
    """A number of lanes, or the abstract ``W``."""
    return "W" if isinstance(e, ast.Name) and e.id == "W" else read_int(e)


def read_int(e: ast.expr) -> int:
    """An integer literal."""
    value = ast.literal_eval(e)
    if not isinstance(value, int):
        raise bad(e, "not an integer")
    return value


def read_text(e: ast.expr) -> str:
    """A quoted word."""
    match e:
        case ast.Constant(value=str(text)):
            return text
    raise bad(e, "not a quoted word")


def read_name(e: ast.expr) -> str:
    """A plain name."""
    match e:
        case ast.Name(id=name):
            return name
    raise bad(e, "not a name")
