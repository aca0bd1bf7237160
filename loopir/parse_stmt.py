"""Statements and loops of the text: the middle of the parser."""
from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from . import nodes as ir
from .parse_expr import Env, bad, read_expr, read_index, read_int, read_lanes, read_name, read_text
from .parse_head import accums_of, counts_of, inits_of, options_of, range_of, types_of, var_of
from .types import INDEX

__all__ = ["block"]


def block(body: list[ast.stmt], env: Env) -> tuple[ir.Stmt, ...]:
    """The statements of a block; what they bind is added to `env`."""
    return tuple(_stmt(s, env) for s in body if not isinstance(s, ast.Pass))


def _stmt(s: ast.stmt, env: Env) -> ir.Stmt:
    match s:
        case ast.Assign(
            targets=[to], value=ast.Call(func=ast.Name(id="prefix"), args=[op, acc, value, *more])
        ) if len(more) < 2:
            made = ir.Prefix("", read_text(op), read_name(acc), read_expr(value, env))
            factor = read_expr(more[0], env) if more else None
            return _prefix(to, replace(made, factor=factor), env)
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Name(id="local"), args=[dtype, length, *row]),
        ) if len(row) < 2:
            env[name] = read_name(dtype), 1
            lanes = read_lanes(row[0]) if row else None
            return ir.Local(name, read_name(dtype), read_int(length), lanes)
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="bits"), args=[array])
        ):
            env[name] = "bool", 1
            return ir.Bits(name, read_name(array))
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            e = read_expr(value, env)
            env[name] = e.dtype, e.lanes
            return ir.Assign(name, e)
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=array), slice=at)], value=value):
            index, _, axis, step = read_index(at, env)
            return ir.Store(array, index, *_masked(value, env), axis, step)
        case ast.Expr(ast.Call(ast.Name("append"), [array, count, value], keywords)):
            only = [k.arg for k in keywords] == ["only"]
            return ir.Append(read_name(array), read_name(count), *_masked(value, env), only)
        case ast.Expr(ast.Call(func=ast.Name(id="check"), args=[cond, code])):
            return ir.Check(read_expr(cond, env), read_text(code))
        case ast.If(test=cond, body=[ast.Break()], orelse=[]):
            return ir.Break(read_expr(cond, env))
        case ast.If():
            return _if(s, env)
        case ast.For(iter=ast.Call(func=ast.Name(id=kind)) as head) if kind in _LOOPS:
            return _LOOPS[kind](s, head, env)
        case ast.While(test=ast.Call(func=ast.Name(id="loop"), args=[cond]) as head):
            return _while(s, head, cond, env)
        case ast.Return(value=None):
            return ir.Return()
        case _:
            raise bad(s, "not a statement")


def _prefix(to: ast.expr, s: ir.Prefix, env: Env) -> ir.Prefix:
    """`s` with the one or two names that it binds."""
    names = [read_name(x) for x in (to.elts if isinstance(to, ast.Tuple) else [to])]
    env.update(dict.fromkeys(names, (s.value.dtype, s.value.lanes)))
    return replace(s, name=names[0], before=names[1] if len(names) > 1 else None)


def _masked(e: ast.expr, env: Env) -> tuple[ir.Expr, ir.Expr | None]:
    match e:
        case ast.Call(func=ast.Name(id="where"), args=[mask, value]):
            return read_expr(value, env), read_expr(mask, env)
        case _:
            return read_expr(e, env), None


def _if(s: ast.If, env: Env) -> ir.If:
    then, then_gives = _branch(s.body, env)
    orelse, else_gives = _branch(s.orelse, env)
    if set(then_gives) != set(else_gives):
        raise bad(s, "the branches give different names")
    yields = tuple(ir.Yield(n, e, else_gives[n]) for n, e in then_gives.items())
    cond = read_expr(s.test, env)
    env.update({y.name: (y.then.dtype, y.then.lanes) for y in yields})
    return ir.If(cond, then, orelse, yields)


def _branch(body: list[ast.stmt], env: Env) -> tuple[tuple[ir.Stmt, ...], dict[str, ir.Expr]]:
    inner = dict(env)
    rest, gives = _ending(body, "give")
    stmts = block(rest, inner)
    return stmts, {n: read_expr(e, inner) for n, e in gives.items()}


def _ending(body: list[ast.stmt], word: str) -> tuple[list[ast.stmt], dict[str, ast.expr]]:
    """`body` without its ``name = word(expr)`` lines, and those."""
    rest: list[ast.stmt] = []
    found: dict[str, ast.expr] = {}
    for s in body:
        match s:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=f), args=[e])
            ) if f == word:
                found[name] = e
            case _:
                rest.append(s)
    return rest, found


# -- loops


def _loop(s: ast.For, head: ast.Call, env: Env) -> ir.Loop:
    rng, _ = range_of(head.args, env)
    inits = inits_of(head.keywords, env)
    inner = {**env, var_of(s): (INDEX, 1), **types_of(inits)}
    body, steps, until = _iteration(s.body, inner, inits)
    env.update(types_of(inits))
    return ir.Loop(var_of(s), rng, body, accums_of(inits, steps), until)


def _while(s: ast.While, head: ast.Call, cond: ast.expr, env: Env) -> ir.While:
    inits = inits_of(head.keywords, env)
    inner = {**env, **types_of(inits)}
    test = read_expr(cond, inner)
    body, steps, _ = _iteration(s.body, inner, inits)
    env.update(types_of(inits))
    return ir.While(test, body, accums_of(inits, steps))


def _zip(s: ast.For, head: ast.Call, env: Env) -> ir.Zip:
    rng, arrays = range_of(head.args, env)
    match s.target:
        case ast.Tuple(elts=[ast.Name(id=var), *names]) if len(names) == len(arrays):
            pairs = [(read_name(n), read_name(a)) for n, a in zip(names, arrays, strict=True)]
        case _:
            raise bad(s.target, "not the names of a zip")
    streams = tuple(ir.Stream(n, a, env[a][0]) for n, a in pairs)
    inits = inits_of(head.keywords, env)
    inner = {**env, var: (INDEX, 1), **{x.name: (x.dtype, 1) for x in streams}, **types_of(inits)}
    body, steps, _ = _iteration(s.body, inner, inits)
    env.update(types_of(inits))
    return ir.Zip(var, streams, rng, body, accums_of(inits, steps))


def _vec(s: ast.For, head: ast.Call, env: Env) -> ir.VecLoop | ir.PredLoop:
    rng, _ = range_of(head.args, env)
    options, keywords = options_of(head.keywords)
    width = read_lanes(options["width"])
    group = read_int(options["group"]) if "group" in options else None
    inits = inits_of(keywords, env)
    counts = counts_of(s)
    after = {n: (t, 1 if n in counts else group or width) for n, (t, _) in types_of(inits).items()}
    inside = {n: (t, 1 if n in counts else width) for n, (t, _) in after.items()}
    inner = {**env, var_of(s): (INDEX, 1), **inside}
    pred = read_expr(options["where"], inner) if "where" in options else None
    body, steps, until = _iteration(s.body, inner, inits, after)
    accs = tuple(ir.VecAccum(n, inits[n], steps[n]) for n in inits)
    env.update(after)
    tail = _tail(s, env)
    if pred is None:
        return ir.VecLoop(var_of(s), rng, width, body, accs, tail, group, until)
    form = ir.MaskForm(read_name(options["form"])) if "form" in options else None
    skips = "skips" in options
    return ir.PredLoop(var_of(s), rng, width, pred, body, accs, tail, form, group, skips)


def _tail(s: ast.For, env: Env) -> ir.Loop | None:
    match block(s.orelse, env):
        case ():
            return None
        case (ir.Loop() as tail,):
            return tail
        case _:
            raise bad(s, "the tail of a vector loop is one loop")


def _scan(s: ast.For, head: ast.Call, env: Env) -> ir.Scan:
    rng, _ = range_of(head.args, env)
    [(acc, init)] = inits_of(head.keywords, env).items()
    inner = {**env, var_of(s): (INDEX, 1), acc: (init.dtype, 1)}
    env[acc] = init.dtype, 1
    match s.body:
        case [ast.Assign(targets=[ast.Subscript(value=ast.Name(id=array)), _], value=value)]:
            match read_expr(value, inner):
                case ir.Call(op, (ir.Var(name), x)) if name == acc:
                    return ir.Scan(var_of(s), rng, op, acc, init, x, array)
    raise bad(s, "not a scan")


_LOOPS: dict[str, Callable[[ast.For, ast.Call, Env], ir.Stmt]] = {
    "loop": _loop, "zip": _zip, "vec": _vec, "pred": _vec, "scan": _scan,
}


def _iteration(
    body: list[ast.stmt], env: Env, inits: dict[str, ir.Expr], after: Env | None = None
) -> tuple[tuple[ir.Stmt, ...], dict[str, ir.Expr], ir.Expr | None]:
    """Statements, steps by name (a name without one keeps its value) and the early exit."""
    rest, given = _ending(body, "step")
    until: ast.expr | None = None
    match rest:
        case [*others, ast.Expr(ast.Call(func=ast.Name(id="until"), args=[ast.expr() as until]))]:
            rest = others
    stmts = block(rest, env)
    steps = {n: read_expr(given[n], env) if n in given else ir.Var(n, *env[n]) for n in inits}
    return stmts, steps, read_expr(until, {**env, **(after or {})}) if until else None
