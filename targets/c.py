"""Legal IR → C: the kernel's frame and scalar statements. No decision is left to take here."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from loopir import nodes as ir
from loopir.exhaustive import unhandled
from loopir.ops import OPS, STATUS
from loopir.tree import walk
from loopir.types import DTYPES, INDEX

from .cdefs import definitions
from .cexpr import element, expr, held, type_of
from .clanes import vector_statement
from .cloop import vector_loop
from .cscope import Scope
from .ctext import assignments, bracketed, plain
from .target import Target

__all__ = ["emit"]


def emit(kernel: ir.Kernel, target: Target) -> str:
    """The C translation unit of a legal kernel, with the entry ``tp_kernel`` (see abi.h).

    It returns 0; or bits of ``ops.STATUS`` that came up; or ``(i + 1) << 8`` when guard i failed,
    and then nothing was done.
    """
    body = _Frame(kernel, target)
    work = [*_block(kernel.body, body.scope), "return status;"]
    head = _Frame(kernel, target)
    guards = [line for k, g in enumerate(kernel.guards) for line in _guard(g, k, head.scope)]
    given = "(const tp_array *arrays, const tp_scalar *scalars)"
    entry = [*head.locals(), *guards, *_call(kernel)]
    start = [*body.locals(), "int64_t status = 0;"]
    text = _function(f"static __attribute__((noinline)) int64_t tp_body{given}", [*start, *work])
    text += "\n" + _function(f"int64_t tp_kernel{given}", entry)
    needed = definitions(text, target)
    return f"/* {kernel.name}, {target.name} */\n{_abi()}\n{needed}\n\n{text}"


@cache
def _abi() -> str:
    return (Path(__file__).parent / "abi.h").read_text(encoding="utf-8")


def _call(kernel: ir.Kernel) -> list[str]:
    """Runs the body; where it may raise flags, between clearing and reading the hardware's."""
    if not any(_flagged(n) for n in walk(kernel)):
        return ["return tp_body(arrays, scalars);"]
    run = "int64_t status = tp_body(arrays, scalars);"
    return ["tp_flags_clear();", run, "return status | tp_flags();"]


def _flagged(n: ir.Node) -> bool:
    """Whether a node computes with floats in a way that may raise a flag."""
    match n:
        case ir.Call(op, args):
            risky = op == "cast" or OPS[op].raises
            return bool(risky) and any(DTYPES[a.dtype].kind == "f" for a in args)
        case ir.HReduce(op) | ir.Scan(op=op):
            return bool(OPS[op].raises)
        case _:
            return False


def _function(head: str, lines: Iterable[str]) -> str:
    """A C function, indented."""
    depth, out = 0, []
    for line in (head, "{", *lines, "}"):
        depth -= line.startswith("}")
        if line:
            out.append("    " * depth + line)
        depth += line.endswith("{")
    return "\n".join(out) + "\n"


class _Frame:
    """Parameters as C locals; only those declared that are used."""

    def __init__(self, kernel: ir.Kernel, target: Target) -> None:
        arrays = {p.name: p for p in kernel.params if p.rank is not None}
        read = frozenset(n.array for n in walk(kernel) if isinstance(n, ir.Load))
        self.scope = Scope(target, arrays, {}, set(), set(), read)
        self._values: dict[str, str] = {}
        numbers = [0, 0]
        for p in kernel.params:
            which = numbers[p.rank is None]
            numbers[p.rank is None] += 1
            self._declare(p, which)

    def _declare(self, p: ir.Param, which: int) -> None:
        c = self.scope.bind(p.name)
        kind = DTYPES[p.dtype].c
        if p.rank is None:
            member = "u8" if p.dtype == "bool" else p.dtype
            self._values[p.name] = f"const {kind} {c} = scalars[{which}].{member};"
            return
        self._values[p.name] = f"{kind} *const {c} = ({kind} *)arrays[{which}].data;"
        for axis in range(p.rank):
            for letter, member in (("n", "dims"), ("s", "strides")):
                name, value = f"{p.name}.{letter}{axis}", f"arrays[{which}].{member}[{axis}]"
                local = self.scope.names[name] = self.scope.fresh(f"{c}_{letter}{axis}")
                self._values[name] = f"const int64_t {local} = {value};"

    def locals(self) -> list[str]:
        return [text for name, text in self._values.items() if name in self.scope.used]


def _guard(g: ir.Guard | ir.Disjoint, number: int, s: Scope) -> list[str]:
    failed = f"return {(number + 1) << 8};"
    match g:
        case ir.Guard(cond):
            return [f"if (!{expr(cond, s)}) {failed}"]
        case ir.Disjoint(a, b, or_same):
            given = ", ".join(_whole(x, s) for x in (a, b))
            return [f"if (!tp_apart({given}, {int(or_same)})) {failed}"]
        case _:
            return unhandled(g)


def _whole(array: str, s: Scope) -> str:
    p = s.arrays[array]
    return f"&arrays[{list(s.arrays).index(array)}], {p.rank}, {DTYPES[p.dtype].bytes}"


# -- statements


def _block(body: Iterable[ir.Stmt], s: Scope) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement, s)
        if not isinstance(statement, (ir.Assign, ir.Check)):
            s.loaded.clear()


def _statement(n: ir.Stmt, s: Scope) -> Iterator[str]:
    """A statement's lines. What acts on lanes is written by cloop.py."""
    match n:
        case ir.VecLoop() | ir.PredLoop():
            yield from vector_loop(n, s, _block)
        case ir.Store(value=x) | ir.Append(value=x) | ir.Check(cond=x) if x.lanes != 1:
            yield vector_statement(n, s)
        case ir.Assign(name, ir.Load() as x) if x.lanes != 1 and x.dtype != "bool":
            text = plain(expr(x, s))
            c = s.bind(name)
            yield f"{type_of(x, s.target)} {c} = {text};"
            yield held(c, s)
        case ir.Assign(name, value):
            text = plain(expr(value, s))
            yield f"const {type_of(value, s.target)} {s.bind(name)} = {text};"
        case ir.Store(array, index, value, mask):
            yield from _where(mask, [f"{element(array, index, s)} = {plain(expr(value, s))};"], s)
        case ir.Append(array, count, value, mask):
            place = element(array, (ir.Var(count, INDEX),), s)
            kept = [f"{place} = {plain(expr(value, s))};", f"{s.use(count)}++;"]
            yield from _where(mask, kept, s)
        case ir.Check(cond, code):
            yield f"if (!{bracketed(expr(cond, s))}) status |= {STATUS[code]};"
        case ir.If():
            yield from _if(n, s)
        case ir.Break(cond):
            yield f"if {bracketed(expr(cond, s))} break;"
        case ir.Return():
            yield "return status;"
        case _:
            yield from _loop(n, s)


def _where(mask: ir.Expr | None, lines: list[str], s: Scope) -> Iterator[str]:
    if mask is None:
        yield from lines
        return
    yield f"if {bracketed(expr(mask, s))} {{"
    yield from lines
    yield "}"


def _if(n: ir.If, s: Scope) -> Iterator[str]:
    then, orelse = s.inner(), s.inner()
    results = [(y, s.fresh(y.name)) for y in n.yields]
    yield from (f"{type_of(y.then, s.target)} {c};" for y, c in results)
    yield f"if {bracketed(expr(n.cond, s))} {{"
    yield from _block(n.then, then)
    yield from (f"{c} = {plain(expr(y.then, then))};" for y, c in results)
    if n.orelse or n.yields:
        yield "} else {"
        yield from _block(n.orelse, orelse)
        yield from (f"{c} = {plain(expr(y.orelse, orelse))};" for y, c in results)
    yield "}"
    s.names.update((y.name, c) for y, c in results)


def _loop(n: ir.Loop | ir.Zip | ir.Scan | ir.While, s: Scope) -> Iterator[str]:
    match n:
        case ir.While(cond, body, accs):
            yield from _begin(accs, s)
            inner = s.inner()
            yield f"while {bracketed(expr(cond, s))} {{"
            yield from _block(body, inner)
            yield from _steps(accs, inner)
        case ir.Loop(var, rng, body, accs, until):
            yield from _begin(accs, s)
            inner = s.inner()
            yield _for(var, rng, s, inner)
            yield from _block(body, inner)
            yield from _steps(accs, inner)
            if until is not None:
                yield f"if {bracketed(expr(until, inner))} break;"
        case ir.Zip(var, streams, rng, body, accs):
            yield from _begin(accs, s)
            inner = s.inner()
            yield _for(var, rng, s, inner)
            at = (ir.Var(var, INDEX),)
            reads = [ir.Assign(x.name, ir.Load(x.array, at, x.dtype)) for x in streams]
            yield from _block((*reads, *body), inner)
            yield from _steps(accs, inner)
        case ir.Scan(var, rng, op, acc, init, value, array):
            running = ir.Var(acc, value.dtype)
            step = ir.Accum(acc, init, ir.Call(op, (running, value), value.dtype))
            yield from _begin((step,), s)
            inner = s.inner()
            yield _for(var, rng, s, inner)
            yield from _steps((step,), inner)
            yield from _block((ir.Store(array, (ir.Var(var, INDEX),), running),), inner)
        case _:
            unhandled(n)
    yield "}"


def _for(var: str, rng: ir.Range, s: Scope, inner: Scope) -> str:
    """The head of a loop; `var` is bound in `inner`."""
    match rng:
        case ir.Interval(lo, hi):
            start, stop, sign, step = expr(lo, s), expr(hi, s), "<", 1
        case ir.RangeDesc(lo, hi, step):
            start, stop, sign = expr(lo, s), expr(hi, s), "<" if step > 0 else ">"
        case _:
            unhandled(rng)
    end, i = inner.fresh(f"{var}_end"), inner.bind(var)
    first = f"int64_t {i} = {plain(start)}, {end} = {plain(stop)}"
    return f"for ({first}; {i} {sign} {end}; {i} += {step}) {{"


def _begin(accs: Iterable[ir.Accum], s: Scope) -> Iterator[str]:
    """Declares accumulators; none sees another's name yet."""
    starts = [(a.name, type_of(a.init, s.target), plain(expr(a.init, s))) for a in accs]
    for name, kind, start in starts:
        yield f"{kind} {s.bind(name)} = {start};"


def _steps(accs: Iterable[ir.Accum], s: Scope) -> Iterator[str]:
    """The end of an iteration: every step sees the old values."""
    new = [(s.use(a.name), type_of(a.step, s.target), plain(expr(a.step, s))) for a in accs]
    yield from assignments(new, s.fresh)
