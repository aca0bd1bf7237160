"""Running folds as C: the halves of a register, of a group of registers, and what came before."""
from __future__ import annotations

import re
from collections.abc import Iterator

from loopir import nodes as ir
from loopir.algebra.values import unit
from loopir.ops import OPS
from loopir.types import DTYPES

from ..target import Target, Vec
from .halves import alone, joins, order
from .recurrence import recurrence
from .scope import Running, Scope
from .text import plain
from .variables import computed
from .vecops import operation, scalar_operation, vector_named

__all__ = ["begin", "define_prefix", "prefix"]

_NAME = re.compile(r"tp_prefix_([a-z]+)_(\w+)")


def begin(n: ir.Prefix, width: int, count: int, s: Scope) -> Iterator[str]:
    """Declares what `n` carries through a loop of `count` registers a group."""
    dtype, start = n.value.dtype, s.names[n.acc]
    parts = ("carry", "last", "halves", *(("factors", "astray") if n.factor else ()))
    carry, last, halves, *more = (s.fresh(f"{start}_{x}") for x in parts)
    s.running[n.acc] = r = Running(carry, last, halves, count, *more)
    kind = Vec(dtype, width).name if width > 1 else DTYPES[dtype].c
    yield f"{kind} {r.carry} = {f'tp_splat_{kind}({start})' if width > 1 else start};"
    if n.before or n.factor:
        yield f"{kind} {r.last} = {r.carry};"
    if count > 1:
        yield from (f"{kind} {x}[{count.bit_length() - 1}];" for x in (r.halves, r.factors) if x)
    if n.factor:
        yield f"uint8_t {r.astray} = 0;"


def prefix(n: ir.Prefix, s: Scope) -> Iterator[str]:
    """The statement for the register that `s` describes."""
    r, dtype, width = s.running[n.acc], n.value.dtype, n.value.lanes
    assert isinstance(width, int)
    v = Vec(dtype, width)
    kind, acc = v.name if width > 1 else DTYPES[dtype].c, s.names[n.acc]
    if n.factor is None:
        halves = s.fresh(f"{n.name}_halves")
        yield from _fold(n, v, halves, s)
        onwards = _by(n.op, v, r.carry, _last(v, halves), s.target)
    else:
        yield from recurrence(n, v, s)
        onwards = _last(v, s.names[n.name])
    name = s.names[n.name]
    if n.before:
        older = s.bind(n.before)
        shifted = f"tp_shiftin_{v.name}({r.last}, {name})" if width > 1 else r.last
        yield f"const {kind} {older} = {shifted};"
        yield computed(name, n.value, s)  # the last one may raise a flag that no other does
    if n.before or n.factor:
        yield f"{r.last} = {name};"
    onwards = f"{r.carry} = {plain(onwards)};" + (f" {r.astray} = 0;" if n.factor else "")
    if isinstance(s.register, str):
        yield f"if ({s.register} == {r.count - 1}) {{ {onwards} }}"
    elif s.register == r.count - 1:
        yield onwards
    if width == 1:
        yield f"{acc} = {name};"
    elif isinstance(s.register, str) or (s.region and s.region.count):
        live = s.region.count if s.region and s.region.count else str(width)
        yield f"{acc} = {name}[{live} - 1];"


def _fold(n: ir.Prefix, v: Vec, halves: str, s: Scope) -> Iterator[str]:
    """Binds the name of `n`; `halves` is what lanes come to within the group."""
    r, kind = s.running[n.acc], v.name if v.lanes > 1 else DTYPES[v.dtype].c
    value = plain(alone(n.value, unit(n.op, v.dtype), v, s))
    yield f"{kind} {halves} = {f'tp_prefix_{n.op}_{v.name}({value})' if v.lanes > 1 else value};"

    def join(level: int) -> str:
        return f"{halves} = {plain(_by(n.op, v, f'{r.halves}[{level}]', halves, s.target))};"

    yield from joins(r, s.register, join, {r.halves: _last(v, halves)})
    yield f"const {kind} {s.bind(n.name)} = {plain(_by(n.op, v, r.carry, halves, s.target))};"


def _last(v: Vec, name: str) -> str:
    return f"tp_last_{v.name}({name})" if v.lanes > 1 else name


def _by(op: str, v: Vec, a: str, b: str, target: Target) -> str:
    if v.lanes == 1:
        return scalar_operation(op, (a, b), v.dtype, v.dtype)
    return operation(op, v, (a, b), target)


def define_prefix(name: str, target: Target) -> str | None:
    """The definition of the running fold of one register; None for any other name."""
    m = _NAME.fullmatch(name)
    v = vector_named(m[2]) if m else None
    if m is None or v is None:
        return None
    op, none = m[1], unit(m[1], v.dtype)
    beside = "a" if OPS[op].idempotent else "none"
    lines = [] if OPS[op].idempotent else [f"V none = tp_splat_V({none.value if none else 0});"]
    half = 1
    while half < v.lanes:
        lanes = ", ".join(map(str, order(v.lanes, half, 0 if beside == "a" else v.lanes)))
        left = f"TP_SHUFFLE({v.of('i').name}, a, {beside}, {lanes})"
        lines.append(f"a = {plain(operation(op, v, (left, 'a'), target))};")
        half *= 2
    body = "\n".join("    " + x for x in (*lines, "return a;")).replace("V", v.name)
    return f"static inline {v.name} {name}({v.name} a)\n{{\n{body}\n}}"
