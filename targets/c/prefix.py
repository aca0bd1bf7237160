"""Running folds as C: the halves of a register, of a group of registers, and what came before."""
from __future__ import annotations

import re
from collections.abc import Iterator

from loopir import nodes as ir
from loopir.ops import OPS
from loopir.passes.values import unit
from loopir.types import DTYPES

from ..target import Target, Vec
from .expressions import computed, expr
from .masks import as_width
from .scope import Running, Scope
from .text import plain
from .vecops import operation, scalar_operation, vector_named

__all__ = ["begin", "define_prefix", "prefix"]

_NAME = re.compile(r"tp_prefix_([a-z]+)_(\w+)")


def begin(n: ir.Prefix, width: int, count: int, s: Scope) -> Iterator[str]:
    """Declares what `n` carries through a loop of `count` registers a group."""
    dtype, start = n.value.dtype, s.names[n.acc]
    carry, last, halves = (s.fresh(f"{start}_{x}") for x in ("carry", "last", "halves"))
    s.running[n.acc] = r = Running(carry, last, halves, count)
    kind = Vec(dtype, width).name if width > 1 else DTYPES[dtype].c
    yield f"{kind} {r.carry} = {f'tp_splat_{kind}({start})' if width > 1 else start};"
    if n.before:
        yield f"{kind} {r.last} = {r.carry};"
    if count > 1:
        yield f"{kind} {r.halves}[{count.bit_length() - 1}];"


def prefix(n: ir.Prefix, s: Scope) -> Iterator[str]:
    """The statement for the register that `s` describes."""
    r, dtype, width = s.running[n.acc], n.value.dtype, n.value.lanes
    assert isinstance(width, int)
    v = Vec(dtype, width)
    kind = v.name if width > 1 else DTYPES[dtype].c
    halves, acc = s.fresh(f"{n.name}_halves"), s.names[n.acc]
    value = plain(_alone(n, v, s))
    yield f"{kind} {halves} = {f'tp_prefix_{n.op}_{v.name}({value})' if width > 1 else value};"
    last = f"tp_last_{v.name}({halves})" if width > 1 else halves
    yield from _joined(n.op, v, halves, last, s.register, r, s.target)
    name = s.bind(n.name)
    yield f"const {kind} {name} = {plain(_by(n.op, v, r.carry, halves, s.target))};"
    if n.before:
        older = s.bind(n.before)
        shifted = f"tp_shiftin_{v.name}({r.last}, {name})" if width > 1 else r.last
        yield f"const {kind} {older} = {shifted};"
        yield f"{r.last} = {name};"
        yield computed(name, n.value, s)  # the last one may raise a flag that no other does
    onwards = f"{r.carry} = {plain(_by(n.op, v, r.carry, last, s.target))};"
    if isinstance(s.register, str):
        yield f"if ({s.register} == {r.count - 1}) {onwards}"
    elif s.register == r.count - 1:
        yield onwards
    if width == 1:
        yield f"{acc} = {name};"
    elif isinstance(s.register, str) or (s.region and s.region.count):
        live = s.region.count if s.region and s.region.count else str(width)
        yield f"{acc} = {name}[{live} - 1];"


def _by(op: str, v: Vec, a: str, b: str, target: Target) -> str:
    if v.lanes == 1:
        return scalar_operation(op, (a, b), v.dtype, v.dtype)
    return operation(op, v, (a, b), target)


def _alone(n: ir.Prefix, v: Vec, s: Scope) -> str:
    """The value; lanes that are no elements join as what changes nothing, and raises nothing."""
    text, none = expr(n.value, s), unit(n.op, v.dtype)
    if not (s.region and s.region.live) or none is None:
        return text
    live = as_width(s.region.live, v.lanes, DTYPES[v.dtype].bits, s.target)
    nothing = f"tp_splat_{v.name}({expr(none, s)})"
    return operation("select", v, (live, text, nothing), s.target)


def _joined(
    op: str, v: Vec, halves: str, last: str, k: int | str, r: Running, target: Target
) -> Iterator[str]:
    """Register `k` of a group joins the left halves that it stands to the right of."""
    for level in range(r.count.bit_length() - 1):
        left, below = f"{r.halves}[{level}]", (1 << level) - 1
        join = f"{halves} = {plain(_by(op, v, left, halves, target))};"
        keep = f"{left} = {last};"
        if isinstance(k, str):
            yield f"if ({k} >> {level} & 1) {join}"
            yield f"else if (({k} & {below}) == {below}) {keep}"
        elif k >> level & 1:
            yield join
        elif k & below == below:
            yield keep


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
        order = ", ".join(map(str, _order(v.lanes, half, 0 if beside == "a" else v.lanes)))
        left = f"TP_SHUFFLE({v.of('i').name}, a, {beside}, {order})"
        lines.append(f"a = {plain(operation(op, v, (left, 'a'), target))};")
        half *= 2
    body = "\n".join("    " + x for x in (*lines, "return a;")).replace("V", v.name)
    return f"static inline {v.name} {name}({v.name} a)\n{{\n{body}\n}}"


def _order(lanes: int, half: int, other: int) -> list[int]:
    """Lanes of right halves take the last of the left; the others themselves, or of `other`."""
    return [
        k // half * half - 1 if k & half else k + other for k in range(lanes)
    ]
