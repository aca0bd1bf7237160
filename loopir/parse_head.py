"""The head of a loop of the text: its variable, range, options and accumulators."""
from __future__ import annotations

import ast

from . import nodes as ir
from .parse_expr import Env, read_expr, read_int, read_name

__all__ = [
    "OPTIONS", "accums_of", "counts_of", "inits_of", "options_of", "range_of", "types_of", "var_of",
]

OPTIONS = ("width", "group", "form", "skips", "where")  # in order, before accumulators


def var_of(s: ast.For) -> str:
    """The variable of a loop."""
    return read_name(s.target)


def range_of(args: list[ast.expr], env: Env) -> tuple[ir.Range, list[ast.expr]]:
    """The range that leads the arguments, and the others."""
    match args:
        case [ast.Call(func=ast.Name(id="range"), args=[start, end, step]), *rest]:
            return ir.RangeDesc(read_expr(start, env), read_expr(end, env), read_int(step)), rest
        case [lo, hi, *rest]:
            return ir.Interval(read_expr(lo, env), read_expr(hi, env)), rest
        case _:
            raise SyntaxError("a loop needs lo, hi or range(start, end, step)")


def options_of(keywords: list[ast.keyword]) -> tuple[dict[str, ast.expr], list[ast.keyword]]:
    """The leading options, without those that are None, and the accumulators after them."""
    rest = list(keywords)
    taken: dict[str, ast.expr] = {}
    for name in OPTIONS:
        if rest and rest[0].arg == name:
            taken[name] = rest.pop(0).value
    none = [k for k, v in taken.items() if isinstance(v, ast.Constant) and v.value is None]
    return {k: v for k, v in taken.items() if k not in none}, rest


def inits_of(keywords: list[ast.keyword], env: Env) -> dict[str, ir.Expr]:
    """What accumulators start from."""
    return {str(k.arg): read_expr(k.value, env) for k in keywords}


def accums_of(inits: dict[str, ir.Expr], steps: dict[str, ir.Expr]) -> tuple[ir.Accum, ...]:
    """Those of a scalar loop."""
    return tuple(ir.Accum(n, inits[n], steps[n]) for n in inits)


def types_of(inits: dict[str, ir.Expr]) -> Env:
    """What accumulators are in a scalar loop."""
    return {name: (e.dtype, e.lanes) for name, e in inits.items()}


def counts_of(s: ast.For) -> set[str]:
    """What appends and prefixes below `s` advance: scalars in vector loops too."""
    found: set[str] = set()
    for x in ast.walk(s):
        match x:
            case ast.Call(
                func=ast.Name(id="append" | "prefix"), args=[_, ast.Name(id=count), _, *_]
            ):
                found.add(count)
    return found
