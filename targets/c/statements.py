"""Scalar statements of legal IR as C."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from loopir import nodes as ir
from loopir.algebra.values import raising
from loopir.exhaustive import unhandled
from loopir.ops import STATUS
from loopir.tree import line_of
from loopir.types import DTYPES, INDEX

from ..shape import side_by_side
from .expressions import element, expr, place
from .heads import begin, ends, flagged, head, steps
from .lanes import stored_together, vector_statement
from .loops import vector_loop
from .prefix import prefix
from .scope import Scope
from .text import bracketed, plain
from .variables import computed, held, type_of

__all__ = ["block", "mark"]

_ON_STACK = 4096
"""Bytes of a local array up to which it stands on the stack: a thread may have little of that. No
kernel is entered again while such an array is in use."""

_TURNS = 0xFFF
"""Iterations of a ``while``, all but one, between two looks at the clock."""


def block(body: Iterable[ir.Stmt], *scopes: Scope) -> Iterator[str]:
    """The lines of `body`, for each of the registers that `scopes` describe: they share its loops
    and branches.
    """
    waiting = list(body)
    while waiting:
        statement = waiting.pop(0)
        yield from mark(statement, scopes[0])
        if not isinstance(statement, (ir.Assign, ir.Check, ir.Prefix, ir.Store, ir.Append)):
            _forget_loads(scopes)
        match statement:
            case ir.Store() if waiting and side_by_side(statement, waiting[0], scopes[0].arrays):
                then = waiting.pop(0)
                assert isinstance(then, ir.Store)
                yield from (stored_together(statement, then, s) for s in scopes)
            case ir.If():
                yield from _if(statement, scopes)
            case ir.Loop():
                yield from _counted(statement, scopes)
            case ir.While():
                yield from _while(statement, scopes)
            case _:
                for s in scopes:
                    yield from _statement(statement, s)
        if not isinstance(statement, (ir.Assign, ir.Check, ir.Prefix)):
            _forget_loads(scopes)


def mark(n: ir.Node | None, s: Scope) -> Iterator[str]:
    """A comment that says of which line of Python the next ones are; of none, if `n` is None."""
    if s.marked:
        line = 0 if n is None else line_of(n)
        yield f"/* line {line} */"


def _forget_loads(scopes: Iterable[Scope]) -> None:
    for s in scopes:
        s.loaded.clear()


def _inside(scopes: Sequence[Scope]) -> list[Scope]:
    """The scopes of one C block within those of `scopes`."""
    first, *others = scopes
    inner = first.inner()
    return [inner, *(replace(s.inner(), taken=inner.taken) for s in others)]


def _statement(n: ir.Stmt, s: Scope) -> Iterator[str]:
    """A statement's lines. What acts on lanes is written by loops.py."""
    match n:
        case ir.VecLoop() | ir.PredLoop():
            yield from vector_loop(n, s, block)
        case ir.Store(value=x) | ir.Append(value=x) | ir.Check(cond=x) if x.lanes != 1:
            yield vector_statement(n, s)
        case ir.Local():
            yield from _local(n, s)
        case ir.Bits():
            _bits(n, s)
        case ir.Assign(name, ir.Load() as x) if x in s.loaded:
            s.names[name] = s.loaded[x]
        case ir.Assign(name, ir.Load() as x) if x.lanes != 1 and x.dtype != "bool":
            text = plain(expr(x, s))
            c = s.bind(name)
            yield f"{type_of(x, s.target)} {c} = {text};"
            yield held(c, x, s)
        case ir.Assign(name, value):
            text = plain(expr(value, s))
            c = s.bind(name)
            yield f"const {type_of(value, s.target)} {c} = {text};"
            if name in s.flagging:
                yield computed(c, value, s)
        case ir.Store(value=x) | ir.Append(value=x) if (
            (n.mask is not None or n in s.overwriting) and raising(x)
        ):
            name = s.fresh("value")
            yield f"const {type_of(x, s.target)} {name} = {plain(expr(x, s))};"
            yield computed(name, x, s)
            s.names[name] = name
            yield from _statement(replace(n, value=ir.Var(name, x.dtype)), s)
        case ir.Store(array, index, value, mask) if array in s.bits:
            given = f"{s.use(array)}, {place(array, index, s)}, {plain(expr(value, s))}"
            yield from _where(mask, [f"tp_putbit_bool({given});"], s)
        case ir.Store(array, index, value, mask):
            yield from _where(mask, [f"{element(array, index, s)} = {plain(expr(value, s))};"], s)
        case ir.Prefix():
            yield from prefix(n, s)
        case ir.Append(array, count, value, mask):
            to = element(array, (ir.Var(count, INDEX),), s)
            kept = [f"{to} = {plain(expr(value, s))};", f"{s.use(count)}++;"]
            yield from _where(mask, kept, s)
        case ir.Check(cond, code):
            yield f"if (!{bracketed(expr(cond, s))}) {s.failed(code)}"
        case ir.Break(cond):
            yield f"if {bracketed(expr(cond, s))} break;"
        case ir.Return():
            yield "return status;"
        case ir.Zip() | ir.Scan():
            yield from _loop(n, s)
        case ir.If() | ir.Loop() | ir.While():
            yield from block((n,), s)
        case _:
            unhandled(n)


def _local(n: ir.Local, s: Scope) -> Iterator[str]:
    """Declares an array; its rows lie one behind the other."""
    kind, c, row = DTYPES[n.dtype], s.bind(n.name), 1 if n.lanes is None else n.lanes
    assert isinstance(row, int)
    s.arrays = {**s.arrays, n.name: n.param}
    s.names[f"{n.name}.s0"] = str(row * kind.bytes)
    aligned = f"__attribute__((aligned({max(s.target.bits // 8, kind.bytes)})))"
    if n.length * row * kind.bytes <= _ON_STACK:
        yield f"{kind.c} {c}[{n.length * row}] {aligned};"
        return
    room = s.fresh(f"{c}_room")
    yield f"static _Thread_local {kind.c} {room}[{n.length * row}] {aligned};"
    yield f"{kind.c} *{c} = {room};"
    yield f'__asm__("" : "+r"({c}));'  # else gcc asks in the innermost loop where it is


def _bits(n: ir.Bits, s: Scope) -> None:
    """An array of bits is another name for its memory."""
    p = s.arrays[n.array]
    s.arrays, s.bits = {**s.arrays, n.name: p}, s.bits | {n.name}
    s.names[n.name] = s.use(n.array)
    for k in range(p.rank or 0):
        s.names[f"{n.name}.s{k}"] = s.use(f"{n.array}.s{k}")


def _where(mask: ir.Expr | None, lines: list[str], s: Scope) -> Iterator[str]:
    if mask is None:
        yield from lines
        return
    yield f"if {bracketed(expr(mask, s))} {{"
    yield from lines
    yield "}"


def _if(n: ir.If, scopes: Sequence[Scope]) -> Iterator[str]:
    first, then, orelse = scopes[0], _inside(scopes), _inside(scopes)
    results = [(y, [s.fresh(y.name) for s in scopes]) for y in n.yields]
    for y, names in results:
        yield from (f"{type_of(y.then, first.target)} {c};" for c in names)
    yield f"if {bracketed(expr(n.cond, first))} {{"
    yield from block(n.then, *then)
    for y, names in results:
        yield from (f"{c} = {plain(expr(y.then, s))};" for c, s in zip(names, then, strict=True))
    if n.orelse or n.yields:
        yield "} else {"
        yield from block(n.orelse, *orelse)
        for y, names in results:
            given = zip(names, orelse, strict=True)
            yield from (f"{c} = {plain(expr(y.orelse, s))};" for c, s in given)
    yield "}"
    for k, s in enumerate(scopes):
        s.names.update((y.name, names[k]) for y, names in results)
        yield from flagged(n.yields, s)


def _counted(n: ir.Loop, scopes: Sequence[Scope]) -> Iterator[str]:
    for s in scopes:
        yield from begin(n.accs, s)
    inner = _inside(scopes)
    yield head(n.var, n.range, scopes[0], inner[0])
    for s in inner[1:]:
        s.names[n.var] = inner[0].names[n.var]
    yield from block(n.body, *inner)
    yield from ends(n, *inner)
    if n.until is not None:
        yield f"if {bracketed(expr(n.until, inner[0]))} break;"
    yield "}"
    for s in scopes:
        yield from flagged(n.accs, s)


def _while(n: ir.While, scopes: Sequence[Scope]) -> Iterator[str]:
    """Registers side by side go on until none has to."""
    for s in scopes:
        yield from begin(n.accs, s)
    inner = _inside(scopes)
    go = " || ".join(bracketed(expr(n.cond, s)) for s in scopes)
    yield f"while ({go}) {{"
    yield f"if (!(++tp_turns & {_TURNS}) && tp_stopped())"
    yield f"    return status | {STATUS['replay']};"
    yield from block(n.body, *inner)
    yield from ends(n, *inner)
    yield "}"
    for s in scopes:
        yield from flagged(n.accs, s)


def _loop(n: ir.Zip | ir.Scan, s: Scope) -> Iterator[str]:
    match n:
        case ir.Zip(var, streams, rng, body, accs):
            yield from begin(accs, s)
            inner = s.inner()
            yield head(var, rng, s, inner)
            at = (ir.Var(var, INDEX),)
            reads = [ir.Assign(x.name, ir.Load(x.array, at, x.dtype)) for x in streams]
            yield from block((*reads, *body), inner)
            yield from steps(accs, inner)
        case ir.Scan(var, rng, op, acc, init, value, array):
            running = ir.Var(acc, value.dtype)
            step = ir.Accum(acc, init, ir.Call(op, (running, value), value.dtype))
            yield from begin((step,), s)
            inner = s.inner()
            yield head(var, rng, s, inner)
            yield from steps((step,), inner)
            yield from block((ir.Store(array, (ir.Var(var, INDEX),), running),), inner)
        case _:
            unhandled(n)
    yield "}"
    yield from flagged(getattr(n, "accs", ()), s)
