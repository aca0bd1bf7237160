"""Parser of the IR text, the inverse of `ir_printer.show`; Python's `ast` is lexer and grammar.

One function for each construct takes the `ast` node and the environment, which has the dtype and
lanes of the names in scope; dtypes of results follow from the signatures of `op_table.OPS`. All
raise SyntaxError where the text is not IR.
"""
from __future__ import annotations

import ast
import struct
from collections.abc import Callable
from typing import TypeAlias

from . import nodes as ir
from .dtypes import DTYPES, INDEX
from .lazy_dataclass import replace
from .op_table import OPS

__all__ = [
    "OPERATORS", "Env", "parse_error", "read_expr", "read_index", "read_int", "read_lanes",
    "read_name", "read_text", "OPTIONS", "accums_of", "counts_of", "inits_of", "options_of",
    "range_of", "types_of", "var_of", "read_block", "parse",
]

OPERATORS: dict[str, tuple[int, tuple[str, ...]]] = {
    # symbol: precedence in Python; its op, and its op on bools where that differs
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

Env: TypeAlias = "dict[str, tuple[str, ir.Lanes]]"  # name -> (dtype, lanes)


def parse_error(where: ast.AST, why: str) -> SyntaxError:
    """The SyntaxError for text that is not IR, with its line and the offending fragment."""
    return SyntaxError(f"line {getattr(where, 'lineno', '?')}: {why}: {ast.unparse(where)}")


def read_expr(e: ast.expr, env: Env) -> ir.Expr:
    """Parse an expression; `env` has the dtype and lanes of the names in scope."""
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
            raise parse_error(e, "not an expression, or a name that is not bound here")


def _apply(symbol: ast.AST, operands: list[ast.expr], env: Env) -> ir.Expr:
    """An operator on `operands`; on bools ``&``, ``|``, ``^`` and ``~`` are logic operations."""
    if type(symbol) not in _SYNTAX:
        raise parse_error(operands[0], f"no operator {type(symbol).__name__}")
    args = tuple(read_expr(x, env) for x in operands)
    ops = OPERATORS[_SYNTAX[type(symbol)]][1]
    return _typed(ops[-1] if args[0].dtype == "bool" else ops[0], args)


def _typed(op: str, args: tuple[ir.Expr, ...]) -> ir.Call:
    """The Call, with the result dtype derived from the op's signature."""
    row = OPS[op]
    dtype = "bool" if row.result == "m" else args[row.operands.index("a")].dtype
    return ir.Call(op, args, dtype, args[0].lanes)


def _call(e: ast.Call, f: str, args: list[ast.expr], env: Env) -> ir.Expr:
    """A call: a cast or typed constant, a vector constructor, or an operation by its name."""
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
        case "hreduce", [op, x, *places]:
            return ir.HReduce(read_text(op), *(read_expr(e, env) for e in (x, *places)))
        case _ if f in OPS and f != "cast" and len(args) == OPS[f].arity:
            return _typed(f, tuple(read_expr(x, env) for x in args))
        case _:
            raise parse_error(e, "no such operation")


def _is_literal(e: ast.expr) -> bool:
    """Whether `e` is a constant, or one with a minus sign."""
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
        e = e.operand
    return isinstance(e, ast.Constant)


def _literal(e: ast.expr, dtype: str | None = None) -> ir.Const:
    """A constant of `dtype`, by default that of the Python literal. A string is for the floats that
    have no Python literal: ``"nan"``, ``"inf"``, or the bits of another NaN such as
    ``"0x7ff8000000000001"``. Raises the parse error where `e` is no such constant.
    """
    value = ast.literal_eval(e)
    default_dtype = {bool: "bool", int: INDEX, float: "f64", str: "f64"}.get(type(value))
    is_float = dtype is not None and DTYPES[dtype].kind == "f"
    if default_dtype is None or (isinstance(value, str) and not is_float):
        raise parse_error(e, "not a constant")
    if isinstance(value, str):
        value = _bits(value) if value.startswith("0x") else float(value)
    return ir.Const(float(value) if is_float else value, dtype or default_dtype)


def _bits(text: str) -> float:
    """The float whose bits are the hexadecimal number `text`."""
    return float(struct.unpack("<d", int(text, 16).to_bytes(8, "little"))[0])


def read_index(subscript: ast.expr, env: Env) -> tuple[tuple[ir.Expr, ...], ir.Lanes, int, int]:
    """The subscripts, and of the vector subscript ``i:lanes:step`` its lanes, axis and step."""
    parts = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
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
        raise parse_error(e, "not an integer")
    return value


def read_text(e: ast.expr) -> str:
    """The value of a string literal."""
    match e:
        case ast.Constant(value=str(text)):
            return text
    raise parse_error(e, "not a quoted word")


def read_name(e: ast.expr) -> str:
    """The identifier of a plain name."""
    match e:
        case ast.Name(id=name):
            return name
    raise parse_error(e, "not a name")


OPTIONS = ("width", "group", "form", "skips", "where")  # in order, before accumulators


def var_of(s: ast.For) -> str:
    """The loop variable."""
    return read_name(s.target)


def range_of(args: list[ast.expr], env: Env) -> tuple[ir.Range, list[ast.expr]]:
    """The range at the start of `args`, and the remaining arguments."""
    match args:
        case [ast.Call(func=ast.Name(id="range"), args=[start, end, step]), *rest]:
            return ir.RangeDesc(read_expr(start, env), read_expr(end, env), read_int(step)), rest
        case [lo, hi, *rest]:
            return ir.Interval(read_expr(lo, env), read_expr(hi, env)), rest
        case _:
            raise SyntaxError("a loop needs lo, hi or range(start, end, step)")


def options_of(keywords: list[ast.keyword]) -> tuple[dict[str, ast.expr], list[ast.keyword]]:
    """The loop options (`OPTIONS`) that are set, and the accumulators that follow them."""
    rest = list(keywords)
    given: dict[str, ast.expr] = {}
    for name in OPTIONS:
        if rest and rest[0].arg == name:
            given[name] = rest.pop(0).value
    unset = [k for k, v in given.items() if isinstance(v, ast.Constant) and v.value is None]
    return {k: v for k, v in given.items() if k not in unset}, rest


def inits_of(keywords: list[ast.keyword], env: Env) -> dict[str, ir.Expr]:
    """The initial value of each accumulator."""
    return {str(k.arg): read_expr(k.value, env) for k in keywords}


def accums_of(inits: dict[str, ir.Expr], steps: dict[str, ir.Expr]) -> tuple[ir.Accum, ...]:
    """The accumulators of a scalar loop."""
    return tuple(ir.Accum(n, inits[n], steps[n]) for n in inits)


def types_of(inits: dict[str, ir.Expr]) -> Env:
    """Dtype and lanes of accumulators in a scalar loop."""
    return {name: (e.dtype, e.lanes) for name, e in inits.items()}


def counts_of(s: ast.For) -> set[str]:
    """Accumulators that an append or prefix in `s` advances; they are scalars in vector loops too.
    """
    found: set[str] = set()
    for x in ast.walk(s):
        match x:
            case ast.Call(
                func=ast.Name(id="append" | "prefix"), args=[_, ast.Name(id=count), _, *_]
            ):
                found.add(count)
    return found


def read_block(body: list[ast.stmt], env: Env) -> tuple[ir.Stmt, ...]:
    """Parse the statements of a block; the names that they bind are added to `env`."""
    return tuple(_stmt(s, env) for s in body if not isinstance(s, ast.Pass))


def _stmt(s: ast.stmt, env: Env) -> ir.Stmt:
    """Parse a statement; the names that it binds are added to `env`."""
    match s:
        case ast.Assign(
            targets=[to], value=ast.Call(func=ast.Name(id="prefix"), args=[op, acc, value, *more])
        ) if len(more) < 2:
            prefix = ir.Prefix("", read_text(op), read_name(acc), read_expr(value, env))
            factor = read_expr(more[0], env) if more else None
            return _prefix(to, replace(prefix, factor=factor), env)
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
            options = {k.arg for k in keywords}
            flags = "only" in options, "blank" in options
            return ir.Append(read_name(array), read_name(count), *_masked(value, env), *flags)
        case ast.Expr(ast.Call(func=ast.Name(id="check"), args=[cond, code])):
            return ir.Check(read_expr(cond, env), read_text(code))
        case ast.If(test=cond, body=[ast.Break()], orelse=[]):
            return ir.Break(read_expr(cond, env))
        case ast.If():
            return _if(s, env)
        case ast.For(iter=ast.Call(func=ast.Name(id=kind)) as head) if kind in _LOOPS:
            return _LOOPS[kind](s, head, env)
        case ast.For(iter=ast.Call(func=ast.Name(id=kind)) as head) if kind in _PARALLEL:
            return replace(_PARALLEL[kind](s, head, env), parallel=True)
        case ast.For(iter=ast.Call(func=ast.Name(id="ivdep_loop")) as head):
            return replace(_loop(s, head, env), ivdep=True)
        case ast.For(iter=ast.Call(func=ast.Name(id=kind)) as head) if kind in _UNDONE:
            loop = _UNDONE[kind](s, head, env)
            if isinstance(loop, ir.PredLoop):
                raise parse_error(s, "a loop under a condition cannot be undone")
            return replace(loop, parallel=True, undoes=True)
        case ast.While(test=ast.Call(func=ast.Name(id="loop"), args=[cond]) as head):
            return _while(s, head, cond, env)
        case ast.Return(value=None):
            return ir.Return()
        case _:
            raise parse_error(s, "not a statement")


def _prefix(to: ast.expr, s: ir.Prefix, env: Env) -> ir.Prefix:
    """`s` with its one or two result names, which are bound in `env`."""
    names = [read_name(x) for x in (to.elts if isinstance(to, ast.Tuple) else [to])]
    env.update(dict.fromkeys(names, (s.value.dtype, s.value.lanes)))
    return replace(s, name=names[0], before=names[1] if len(names) > 1 else None)


def _masked(e: ast.expr, env: Env) -> tuple[ir.Expr, ir.Expr | None]:
    """The value and mask of ``where(mask, value)``; no mask for any other expression."""
    match e:
        case ast.Call(func=ast.Name(id="where"), args=[mask, value]):
            return read_expr(value, env), read_expr(mask, env)
        case _:
            return read_expr(e, env), None


def _if(s: ast.If, env: Env) -> ir.If:
    """A branch, with the ``give`` lines at the end of its sides as yields."""
    then, then_results = _branch(s.body, env)
    orelse, else_results = _branch(s.orelse, env)
    if set(then_results) != set(else_results):
        raise parse_error(s, "the branches give different names")
    yields = tuple(ir.Yield(n, e, else_results[n]) for n, e in then_results.items())
    cond = read_expr(s.test, env)
    env.update({y.name: (y.then.dtype, y.then.lanes) for y in yields})
    return ir.If(cond, then, orelse, yields)


def _branch(body: list[ast.stmt], env: Env) -> tuple[tuple[ir.Stmt, ...], dict[str, ir.Expr]]:
    """The statements of one side, and the expressions that it gives by name."""
    inner = dict(env)
    rest, given = _split_trailing_calls(body, "give")
    stmts = read_block(rest, inner)
    return stmts, {n: read_expr(e, inner) for n, e in given.items()}


def _split_trailing_calls(
    body: list[ast.stmt], word: str
) -> tuple[list[ast.stmt], dict[str, ast.expr]]:
    """Split `body` into other statements and the ``name = word(expr)`` lines, as a dict."""
    rest: list[ast.stmt] = []
    calls: dict[str, ast.expr] = {}
    for s in body:
        match s:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=f), args=[e])
            ) if f == word:
                calls[name] = e
            case _:
                rest.append(s)
    return rest, calls


# -- loops


def _loop(s: ast.For, head: ast.Call, env: Env) -> ir.Loop:
    """``for i in loop(lo, hi, acc=init):``"""
    rng, _ = range_of(head.args, env)
    inits = inits_of(head.keywords, env)
    inner = {**env, var_of(s): (INDEX, 1), **types_of(inits)}
    body, steps, until = _iteration(s.body, inner, inits)
    env.update(types_of(inits))
    return ir.Loop(var_of(s), rng, body, accums_of(inits, steps), until)


def _while(s: ast.While, head: ast.Call, cond: ast.expr, env: Env) -> ir.While:
    """``while loop(cond, acc=init):``"""
    inits = inits_of(head.keywords, env)
    inner = {**env, **types_of(inits)}
    test = read_expr(cond, inner)
    body, steps, _ = _iteration(s.body, inner, inits)
    env.update(types_of(inits))
    return ir.While(test, body, accums_of(inits, steps))


def _zip(s: ast.For, head: ast.Call, env: Env) -> ir.Zip:
    """``for i, x in zip(lo, hi, array):``"""
    rng, arrays = range_of(head.args, env)
    match s.target:
        case ast.Tuple(elts=[ast.Name(id=var), *names]) if len(names) == len(arrays):
            pairs = [(read_name(n), read_name(a)) for n, a in zip(names, arrays, strict=True)]
        case _:
            raise parse_error(s.target, "not the names of a zip")
    streams = tuple(ir.Stream(n, a, env[a][0]) for n, a in pairs)
    inits = inits_of(head.keywords, env)
    inner = {**env, var: (INDEX, 1), **{x.name: (x.dtype, 1) for x in streams}, **types_of(inits)}
    body, steps, _ = _iteration(s.body, inner, inits)
    env.update(types_of(inits))
    return ir.Zip(var, streams, rng, body, accums_of(inits, steps))


def _vec(s: ast.For, head: ast.Call, env: Env) -> ir.VecLoop | ir.PredLoop:
    """``for i in vec(lo, hi, width=W, …):``, and ``pred`` with a predicate ``where``."""
    rng, _ = range_of(head.args, env)
    options, keywords = options_of(head.keywords)
    width = read_lanes(options["width"])
    group = read_int(options["group"]) if "group" in options else None
    inits = inits_of(keywords, env)
    counts = counts_of(s)
    types_after = {
        n: (t, 1 if n in counts else group or width) for n, (t, _) in types_of(inits).items()
    }
    types_inside = {n: (t, 1 if n in counts else width) for n, (t, _) in types_after.items()}
    inner = {**env, var_of(s): (INDEX, 1), **types_inside}
    pred = read_expr(options["where"], inner) if "where" in options else None
    body, steps, until = _iteration(s.body, inner, inits, types_after)
    accs = tuple(ir.VecAccum(n, inits[n], steps[n]) for n in inits)
    env.update(types_after)
    if s.orelse:
        raise parse_error(s, "a vector loop has no `else`")
    if pred is None:
        return ir.VecLoop(var_of(s), rng, width, body, accs, group, until)
    form = ir.MaskForm(read_name(options["form"])) if "form" in options else None
    skips = "skips" in options
    return ir.PredLoop(var_of(s), rng, width, pred, body, accs, form, group, skips)


def _scan(s: ast.For, head: ast.Call, env: Env) -> ir.Scan:
    """``for i in scan(lo, hi, acc=init): array[i] = acc = op(acc, value)``"""
    rng, _ = range_of(head.args, env)
    [(acc, init)] = inits_of(head.keywords, env).items()
    inner = {**env, var_of(s): (INDEX, 1), acc: (init.dtype, 1)}
    env[acc] = init.dtype, 1
    match s.body:
        case [ast.Assign(targets=[ast.Subscript(value=ast.Name(id=array)), _], value=value)]:
            match read_expr(value, inner):
                case ir.Call(op, (ir.Var(name), x)) if name == acc:
                    return ir.Scan(var_of(s), rng, op, acc, init, x, array)
    raise parse_error(s, "not a scan")


_LOOPS: dict[str, Callable[[ast.For, ast.Call, Env], ir.Stmt]] = {
    "loop": _loop, "zip": _zip, "vec": _vec, "pred": _vec, "scan": _scan,
}
_PARALLEL: dict[str, Callable[[ast.For, ast.Call, Env], ir.Loop | ir.VecLoop | ir.PredLoop]] = {
    "parallel_loop": _loop, "parallel_vec": _vec, "parallel_pred": _vec,
}
_UNDONE = {"parallel_undo_loop": _loop, "parallel_undo_vec": _vec}


def _iteration(
    body: list[ast.stmt], env: Env, inits: dict[str, ir.Expr], after: Env | None = None
) -> tuple[tuple[ir.Stmt, ...], dict[str, ir.Expr], ir.Expr | None]:
    """Parse a loop body: statements, steps by name (default: unchanged), and the ``until``
    condition.
    """
    rest, given = _split_trailing_calls(body, "step")
    until: ast.expr | None = None
    match rest:
        case [*others, ast.Expr(ast.Call(func=ast.Name(id="until"), args=[ast.expr() as until]))]:
            rest = others
    stmts = read_block(rest, env)
    steps = {n: read_expr(given[n], env) if n in given else ir.Var(n, *env[n]) for n in inits}
    return stmts, steps, read_expr(until, {**env, **(after or {})}) if until else None


def parse(text: str) -> ir.Kernel:
    """The kernel that `text` describes, the inverse of `ir_printer.show`.

        def scale(a: f64, x: f64[::1], y: mut(f64[::1])):      Kernel("scale", params=(a, x, y),
            guard(x.shape[0] == y.shape[0], "GUARD_LENGTH")  →     guards=(Guard(…), Disjoint(…)),
            disjoint(x, y)                                         body=(Loop("i", Interval(…),
            for i in loop(0, x.shape[0]):                              (Store("y", …),)),))
                y[i] = a * x[i]

    ``loopir/README.md`` shows each construct. Used for the patterns of hand-written kernels
    (`targets.handwritten_kernels`), and in tests. Raises SyntaxError, naming the line, where the
    text is malformed; whether the kernel is well-formed, `ir_verifier.verify` checks.
    """
    match ast.parse(text).body:
        case [ast.FunctionDef() as f]:
            return _kernel(f)
        case _:
            raise SyntaxError("a kernel is one function definition")


def _kernel(f: ast.FunctionDef) -> ir.Kernel:
    """A kernel: parameters with types, guards at the start, then statements."""
    params = tuple(_param(a) for a in f.args.args)
    env: Env = {p.name: (p.dtype, 1) for p in params}
    guards: list[ir.Guard | ir.Disjoint] = []
    body = [s for s in f.body if not isinstance(s, ast.Pass)]
    while body and (guard := _guard(body[0], env)):
        guards.append(guard)
        del body[0]
    strict, stops = _strict_and_stops(f)
    return ir.Kernel(f.name, params, read_block(body, env), tuple(guards), strict, stops)


def _strict_and_stops(f: ast.FunctionDef) -> tuple[tuple[str, ...], bool]:
    """The fields of a kernel that are written as decorators: its ``strict`` flags, as in
    ``@strict("over", "invalid")``, and whether it ``stops`` (``@stops``).
    """
    strict: tuple[str, ...] = ()
    stops = False
    for head in f.decorator_list:
        match head:
            case ast.Call(func=ast.Name(id="strict"), args=args):
                strict = tuple(read_text(a) for a in args)
            case ast.Name(id="stops"):
                stops = True
            case _:
                raise parse_error(head, "not a decorator of kernels")
    return strict, stops


def _guard(s: ast.stmt, env: Env) -> ir.Guard | ir.Disjoint | None:
    """The guard that `s` is; None for any other statement."""
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
    """The constant stride of one axis of an array type; None if it is unknown."""
    match axis:
        case ast.Slice(step=ast.Constant(value=int(step))):
            return step
        case _:
            return None


def _param(a: ast.arg) -> ir.Param:
    """A parameter with its type: ``f64``, ``f64[:, ::1]``, ``mut(…)`` or ``own(…)``, each also in
    ``unaligned(…)``.
    """
    annotation = a.annotation
    match annotation:
        case ast.Call(func=ast.Name(id="unaligned"), args=[annotation]):
            aligned = False
        case _:
            aligned = True
    match annotation:
        case ast.Call(func=ast.Name(id="mut" | "own" as qualifier), args=[array_type]):
            written, owned = True, qualifier == "own"
        case array_type:
            written = owned = False
    match array_type:
        case ast.Name(id=dtype) if dtype in DTYPES and not written:
            return ir.Param(a.arg, dtype)
        case ast.Subscript(value=ast.Name(id=dtype), slice=at) if dtype in DTYPES:
            steps = [_step(x) for x in (at.elts if isinstance(at, ast.Tuple) else [at])]
            unit = steps.index(1) if 1 in steps else None
            others = tuple(None if k == unit else step for k, step in enumerate(steps))
            strides = others if any(others) else ()
            return ir.Param(a.arg, dtype, len(steps), unit, written, strides, owned, aligned)
        case _:
            raise parse_error(a, "not a parameter")
