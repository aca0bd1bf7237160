"""First-order recurrences as C: pairs of a value and a factor, by halves; or lane after lane."""
from __future__ import annotations

import re
from collections.abc import Iterator

from loopir import nodes as ir
from loopir.algebra.values import literal
from loopir.types import DTYPES

from ..target import Vec
from .halves import alone, joins, order
from .scope import Scope
from .text import plain
from .vecops import vector_named

__all__ = ["define_linear", "recurrence"]

_NAME = re.compile(r"tp_linear_(\w+)")


def recurrence(n: ir.Prefix, v: Vec, s: Scope) -> Iterator[str]:
    """Binds the name of `n`, for the register that `s` describes."""
    assert n.factor is not None
    r, wide = s.running[n.acc], v.lanes > 1
    kind = v.name if wide else DTYPES[v.dtype].c
    value, factor, product, halves, raw = (
        s.fresh(f"{n.name}_{x}") for x in ("value", "factor", "product", "halves", "raw")
    )
    none, one = literal(-0.0, v.dtype), literal(1.0, v.dtype)
    yield f"const {kind} {value} = {plain(alone(n.value, none, v, s))};"
    yield f"const {kind} {factor} = {plain(alone(n.factor, one, v, s))};"
    yield f"{kind} {product} = {factor};"
    start = f"tp_linear_{v.name}({value}, &{product})" if wide else value
    yield f"{kind} {halves} = {start};"

    def join(level: int) -> str:
        join = f"{halves} = {r.halves}[{level}] * {product} + {halves};"
        return f"{join} {product} = {r.factors}[{level}] * {product};"

    lasts = [f"tp_last_{v.name}({x})" if wide else x for x in (halves, product)]
    yield from joins(r, s.register, join, dict(zip((r.halves, r.factors), lasts, strict=True)))
    yield f"{kind} {raw} = {r.carry} * {product} + {halves};"
    astray = f"tp_astray_{v.name if wide else v.dtype}({raw}, {product})"
    again = f"{r.last} * {factor} + {value}"
    if wide:
        again = f"tp_inorder_{v.name}({raw}, {product}, {factor}, {value}, {r.last}, &{r.astray})"
    yield f"if (__builtin_expect({r.astray} | {astray}, 0)) {{"
    yield f"{raw} = {again};"
    if not wide:
        yield f"{r.astray} = 1;"
    yield "}"
    yield f"const {kind} {s.bind(n.name)} = {raw};"


def define_linear(name: str) -> str | None:
    """The definition of the recurrence of one register; None for any other name."""
    m = _NAME.fullmatch(name)
    v = vector_named(m[1]) if m else None
    if v is None:
        return None

    def shuffled(a: str, b: str, lanes: list[int]) -> str:
        return f"TP_SHUFFLE({v.of('i').name}, {a}, {b}, {', '.join(map(str, lanes))})"

    lines, half = [f"{v.name} a = *product, one = tp_splat_{v.name}(1), joined;"], 1
    while half < v.lanes:
        ends, ones = order(v.lanes, half, 0), order(v.lanes, half, v.lanes)
        right = [k if k & half else k + v.lanes for k in range(v.lanes)]
        lines.append(f"joined = {shuffled('b', 'b', ends)} * a + b;")
        lines.append(f"b = {shuffled('joined', 'b', right)};")
        lines.append(f"a = {shuffled('a', 'one', ones)} * a;")
        half *= 2
    body = "\n".join("    " + x for x in (*lines, "*product = a;", "return b;"))
    head = f"static inline {v.name} {name}({v.name} b, {v.name} *product)"
    return f"{head}\n{{\n{body}\n}}"
