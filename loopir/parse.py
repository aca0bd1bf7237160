"""From text to a kernel, the inverse of `text.show`: Python's `ast` is lexer and grammar."""
from __future__ import annotations

import ast

from . import nodes as ir
from .parse_expr import Env, bad, read_expr, read_name, read_text
from .parse_stmt import block
from .types import DTYPES

__all__ = ["parse"]


def parse(text: str) -> ir.Kernel:
    """The kernel that `text` describes. Raises SyntaxError, naming the line, where it is none."""
    match ast.parse(text).body:
        case [ast.FunctionDef() as f]:
            return _kernel(f)
        case _:
            raise SyntaxError("a kernel is one function definition")


def _kernel(f: ast.FunctionDef) -> ir.Kernel:
    params = tuple(_param(a) for a in f.args.args)
    env: Env = {p.name: (p.dtype, 1) for p in params}
    guards: list[ir.Guard | ir.Disjoint] = []
    body = [s for s in f.body if not isinstance(s, ast.Pass)]
    while body and (guard := _guard(body[0], env)):
        guards.append(guard)
        del body[0]
    strict, stops = _heads(f)
    return ir.Kernel(f.name, params, block(body, env), tuple(guards), strict, stops)


def _heads(f: ast.FunctionDef) -> tuple[tuple[str, ...], bool]:
    strict: tuple[str, ...] = ()
    stops = False
    for head in f.decorator_list:
        match head:
            case ast.Call(func=ast.Name(id="strict"), args=args):
                strict = tuple(read_text(a) for a in args)
            case ast.Name(id="stops"):
                stops = True
            case _:
                raise bad(head, "not a decorator of kernels")
    return strict, stops


def _guard(s: ast.stmt, env: Env) -> ir.Guard | ir.Disjoint | None:
    match s:
        case ast.Expr(ast.Call(func=ast.Name(id="guard"), args=[cond, code])):
            return ir.Guard(read_expr(cond, env), read_text(code))
        case ast.Expr(ast.Call(func=ast.Name(id="disjoint"), args=[a, b])):
            return ir.Disjoint(read_name(a), read_name(b))
        case ast.Expr(ast.Call(func=ast.Name(id="disjoint_or_same"), args=[a, b])):
            return ir.Disjoint(read_name(a), read_name(b), or_same=True)
        case _:
            return None


def _step(axis: ast.expr) -> int | None:
    match axis:
        case ast.Slice(step=ast.Constant(value=int(step))):
            return step
        case _:
            return None


def _param(a: ast.arg) -> ir.Param:
    match a.annotation:
        case ast.Call(func=ast.Name(id="mut" | "own" as word), args=[kind]):
            written, owned = True, word == "own"
        case kind:
            written = owned = False
    match kind:
        case ast.Name(id=dtype) if dtype in DTYPES and not written:
            return ir.Param(a.arg, dtype)
        case ast.Subscript(value=ast.Name(id=dtype), slice=at) if dtype in DTYPES:
            steps = [_step(x) for x in (at.elts if isinstance(at, ast.Tuple) else [at])]
            unit = steps.index(1) if 1 in steps else None
            others = tuple(None if k == unit else step for k, step in enumerate(steps))
            known = others if any(others) else ()
            return ir.Param(a.arg, dtype, len(steps), unit, written, known, owned)
        case _:
            raise bad(a, "not a parameter")
