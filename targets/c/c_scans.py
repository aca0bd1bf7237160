"""Prefix scans and first-order linear recurrences as C, by halves of registers and groups.

At each level of a tree, blocks of lanes are combined in pairs: each lane of the right block with
the last lane of the left one (Sklansky's parallel prefix), first within registers, then in a group
of registers. Where a product of the factors of a recurrence leaves the range of floats, the rest of
the group is computed lane after lane (see `nodes.Prefix`).
`declare_scan` declares the state before the loop, `emit_prefix` emits one register; `define_prefix`
and `define_recurrence` give the functions on one register.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from loopir import nodes as ir
from loopir.algebra.constant_folding import literal, neutral_element
from loopir.dtypes import DTYPES
from loopir.op_table import OPS

from ..isa.target import Target, Vec
from .c_expressions import expr
from .c_scope import ScanState, Scope
from .c_text import force_computed, strip_parens
from .lane_masks import mask_to_width
from .vector_ops import parse_vector_type, scalar_op, vector_op

__all__ = [
    "identity_if_inactive", "combine_halves", "left_half_lanes", "define_recurrence",
    "emit_recurrence", "declare_scan", "define_prefix", "emit_prefix",
]


def identity_if_inactive(e: ir.Expr, neutral: ir.Const | None, v: Vec, s: Scope) -> str:
    """`e` in C, with the neutral element in the lanes behind the end of the loop, where it changes
    no result and raises no flag. ``neutral``: None if these lanes may have any value.
    """
    text = expr(e, s)
    if not (s.vector and s.vector.element_mask) or neutral is None:
        return text
    live = mask_to_width(s.vector.element_mask, v.lanes, DTYPES[v.dtype].bits, s.target)
    neutral_vector = f"tp_splat_{v.name}({expr(neutral, s)})"
    return vector_op("select", v, (live, text, neutral_vector), s.target)


def combine_halves(
    r: ScanState, k: int | str, combine: Callable[[int], str], saved: Mapping[str, str]
) -> Iterator[str]:
    """C that combines register `k` of a group with the left halves before it: at level 0 register 1
    with the last lane of 0, at level 1 registers 2 and 3 with that of 1, and so on.

    ``combine(level)`` gives the C statements that combine it at that level; ``saved``: for each C
    array of left halves, indexed by level, the value to store where `k` is itself the last register
    of a left half.
    """
    for level in range(r.count.bit_length() - 1):
        lower_bits = (1 << level) - 1
        save = " ".join(f"{array}[{level}] = {value};" for array, value in saved.items())
        if isinstance(k, str):
            yield f"if ({k} >> {level} & 1) {{ {combine(level)} }}"
            yield f"else if (({k} & {lower_bits}) == {lower_bits}) {{ {save} }}"
        elif k >> level & 1:
            yield combine(level)
        elif k & lower_bits == lower_bits:
            yield save


def left_half_lanes(lanes: int, half: int, offset: int) -> list[int]:
    """Shuffle indices, for halves of `half` lanes: each lane of a right half takes the last lane of
    the left half before it; any other lane takes its own number plus `offset`.
    """
    return [k // half * half - 1 if k & half else k + offset for k in range(lanes)]


_RECURRENCE_NAME = re.compile(r"tp_linear_(\w+)")


def emit_recurrence(n: ir.Prefix, v: Vec, s: Scope) -> Iterator[str]:
    """C that computes the recurrence of `n` (``acc = acc * factor + value``) for the scope's
    register, and binds its name. It is computed by halves; if a product leaves the range of floats
    (``tp_astray``), this register and the rest of the group lane after lane (``tp_inorder``).
    """
    assert n.factor is not None
    r, is_vector = s.running[n.acc], v.lanes > 1
    kind = v.name if is_vector else DTYPES[v.dtype].c
    value, factor, product, halves, raw = (
        s.fresh(f"{n.name}_{x}") for x in ("value", "factor", "product", "halves", "raw")
    )
    zero_term, unit = literal(-0.0, v.dtype), literal(1.0, v.dtype)
    yield f"const {kind} {value} = {strip_parens(identity_if_inactive(n.value, zero_term, v, s))};"
    yield f"const {kind} {factor} = {strip_parens(identity_if_inactive(n.factor, unit, v, s))};"
    yield f"{kind} {product} = {factor};"
    start = f"tp_linear_{v.name}({value}, &{product})" if is_vector else value
    yield f"{kind} {halves} = {start};"

    def combine(level: int) -> str:
        """The statements that combine the register with the left half of `level`."""
        combine = f"{halves} = {r.halves}[{level}] * {product} + {halves};"
        return f"{combine} {product} = {r.factors}[{level}] * {product};"

    last_lanes = [f"tp_last_{v.name}({x})" if is_vector else x for x in (halves, product)]
    yield from combine_halves(
        r, s.register, combine, dict(zip((r.halves, r.factors), last_lanes, strict=True))
    )
    yield f"{kind} {raw} = {r.carry} * {product} + {halves};"
    out_of_range = f"tp_astray_{v.name if is_vector else v.dtype}({raw}, {product})"
    recomputed = f"{r.last} * {factor} + {value}"
    if is_vector:
        recomputed = (
            f"tp_inorder_{v.name}({raw}, {product}, {factor}, {value}, {r.last}, &{r.astray})"
        )
    # with one register a group the flag is 0 here, which the C compiler does not see
    is_astray = out_of_range if r.count == 1 else f"{r.astray} | {out_of_range}"
    yield f"if (__builtin_expect({is_astray}, 0)) {{"
    yield f"{raw} = {recomputed};"
    if not is_vector:
        yield f"{r.astray} = 1;"
    yield "}"
    yield f"const {kind} {s.bind(n.name)} = {raw};"


def define_recurrence(name: str) -> str | None:
    """The definition of the recurrence function of one register; None for any other name."""
    m = _RECURRENCE_NAME.fullmatch(name)
    v = parse_vector_type(m[1]) if m else None
    if v is None:
        return None

    def shuffled(a: str, b: str, lanes: list[int]) -> str:
        """A shuffle of `a` and `b` by lane numbers."""
        return f"TP_SHUFFLE({v.of('i').name}, {a}, {b}, {', '.join(map(str, lanes))})"

    lines, half = [f"{v.name} a = *product, one = tp_splat_{v.name}(1), joined;"], 1
    while half < v.lanes:
        ends, ones = left_half_lanes(v.lanes, half, 0), left_half_lanes(v.lanes, half, v.lanes)
        right = [k if k & half else k + v.lanes for k in range(v.lanes)]
        lines.append(f"joined = {shuffled('b', 'b', ends)} * a + b;")
        lines.append(f"b = {shuffled('joined', 'b', right)};")
        lines.append(f"a = {shuffled('a', 'one', ones)} * a;")
        half *= 2
    body = "\n".join("    " + x for x in (*lines, "*product = a;", "return b;"))
    head = f"static inline {v.name} {name}({v.name} b, {v.name} *product)"
    return f"{head}\n{{\n{body}\n}}"


_PREFIX_NAME = re.compile(r"tp_prefix_([a-z_]+)_(\w+)")


def declare_scan(n: ir.Prefix, width: int, count: int, s: Scope) -> Iterator[str]:
    """Declare the state that `n` carries through a loop with `count` registers a group."""
    if _is_step(n, width):
        return
    dtype, start = n.value.dtype, s.names[n.acc]
    suffixes = ("carry", "last", "halves", *(("factors", "astray") if n.factor else ()))
    carry, last, halves, *recurrence_names = (s.fresh(f"{start}_{x}") for x in suffixes)
    s.running[n.acc] = r = ScanState(carry, last, halves, count, *recurrence_names)
    kind = Vec(dtype, width).name if width > 1 else DTYPES[dtype].c
    yield f"{kind} {r.carry} = {f'tp_splat_{kind}({start})' if width > 1 else start};"
    if n.before or n.factor:
        yield f"{kind} {r.last} = {r.carry};"
    if count > 1:
        yield from (f"{kind} {x}[{count.bit_length() - 1}];" for x in (r.halves, r.factors) if x)
    if n.factor:
        yield f"uint8_t {r.astray} = 0;"


def emit_prefix(n: ir.Prefix, s: Scope) -> Iterator[str]:
    """The statements of a Prefix for the scope's register."""
    width = n.value.lanes
    assert isinstance(width, int)
    if _is_step(n, width):
        yield from _emit_step(n, s)
        return
    r, dtype = s.running[n.acc], n.value.dtype
    v = Vec(dtype, width)
    kind, acc = v.name if width > 1 else DTYPES[dtype].c, s.names[n.acc]
    if n.factor is None:
        halves = s.fresh(f"{n.name}_halves")
        yield from _emit_scan(n, v, halves, s)
        next_carry = _combine(n.op, v, r.carry, _last_lane(v, halves), s.target)
    else:
        yield from emit_recurrence(n, v, s)
        next_carry = _last_lane(v, s.names[n.name])
    name = s.names[n.name]
    if n.before:
        exclusive = s.bind(n.before)
        shifted = f"tp_shiftin_{v.name}({r.last}, {name})" if width > 1 else r.last
        yield f"const {kind} {exclusive} = {shifted};"
        yield force_computed(name, n.value, s)  # only the last value may raise a flag
    if n.before or n.factor:
        yield f"{r.last} = {name};"
    next_carry = f"{r.carry} = {strip_parens(next_carry)};" + (
        f" {r.astray} = 0;" if n.factor else ""
    )
    if isinstance(s.register, str):
        yield f"if ({s.register} == {r.count - 1}) {{ {next_carry} }}"
    elif s.register == r.count - 1:
        yield next_carry
    if width == 1:
        yield f"{acc} = {name};"
    elif isinstance(s.register, str) or (s.vector and s.vector.count):
        active_count = s.vector.count if s.vector and s.vector.count else str(width)
        yield f"{acc} = {name}[{active_count} - 1];"


def _is_step(n: ir.Prefix, width: int) -> bool:
    """Whether `n`, in a loop of `width` lanes, is a step of a scalar loop: of one lane, and of
    integers, whose terms may be added in any order.
    """
    return width == 1 and n.factor is None and DTYPES[n.value.dtype].kind != "f"


def _emit_step(n: ir.Prefix, s: Scope) -> Iterator[str]:
    """The statements of a step (`_is_step`)."""
    acc, kind, value = s.names[n.acc], DTYPES[n.value.dtype].c, expr(n.value, s)
    if n.before:
        yield f"const {kind} {s.bind(n.before)} = {acc};"
    combined = scalar_op(n.op, (acc, value), n.value.dtype, n.value.dtype)
    yield f"const {kind} {s.bind(n.name)} = {strip_parens(combined)};"
    yield f"{acc} = {s.names[n.name]};"


def _emit_scan(n: ir.Prefix, v: Vec, halves: str, s: Scope) -> Iterator[str]:
    """Compute the scan of `n` and bind its name; `halves` is the C name of the scan within the
    group.
    """
    r, kind = s.running[n.acc], v.name if v.lanes > 1 else DTYPES[v.dtype].c
    value = strip_parens(identity_if_inactive(n.value, neutral_element(n.op, v.dtype), v, s))
    yield f"{kind} {halves} = {f'tp_prefix_{n.op}_{v.name}({value})' if v.lanes > 1 else value};"

    def combine(level: int) -> str:
        """The statement that combines the register with the left half of `level`."""
        combined = _combine(n.op, v, f"{r.halves}[{level}]", halves, s.target)
        return f"{halves} = {strip_parens(combined)};"

    yield from combine_halves(r, s.register, combine, {r.halves: _last_lane(v, halves)})
    combined = strip_parens(_combine(n.op, v, r.carry, halves, s.target))
    yield f"const {kind} {s.bind(n.name)} = {combined};"


def _last_lane(v: Vec, name: str) -> str:
    """The value of the last lane."""
    return f"tp_last_{v.name}({name})" if v.lanes > 1 else name


def _combine(op: str, v: Vec, a: str, b: str, target: Target) -> str:
    """``a op b``, of vectors or scalars."""
    if v.lanes == 1:
        return scalar_op(op, (a, b), v.dtype, v.dtype)
    return vector_op(op, v, (a, b), target)


def define_prefix(name: str, target: Target) -> str | None:
    """The C function that a name such as ``tp_prefix_add_f64x4`` means, the scan of the lanes of
    one register; None for any other name. `emit_c.definitions` calls it for each name in a kernel.

        a0, a1, a2, a3                           the argument
        a0, a0 + a1, a2, a2 + a3                 half = 1: lane 0 into lane 1, 2 into 3
        …, …, (a0 + a1) + a2, (a0 + a1) + …      half = 2: lane 1 into lanes 2 and 3

    Lanes of left halves must stay as they are: they are combined with the neutral element, or, if
    the operation is idempotent (``x op x`` is x), with themselves.
    """
    m = _PREFIX_NAME.fullmatch(name)
    v = parse_vector_type(m[2]) if m else None
    if m is None or v is None:
        return None
    op, neutral = m[1], neutral_element(m[1], v.dtype)
    is_idempotent = OPS[op].idempotent
    declared = f"V none = tp_splat_V({neutral.value if neutral else 0});"
    lines, filler = ([], "a") if is_idempotent else ([declared], "none")
    offset = 0 if is_idempotent else v.lanes  # of the filler's lanes, in the shuffle's numbering
    half = 1
    while half < v.lanes:
        lanes = ", ".join(map(str, left_half_lanes(v.lanes, half, offset)))
        left = f"TP_SHUFFLE({v.of('i').name}, a, {filler}, {lanes})"
        lines.append(f"a = {strip_parens(vector_op(op, v, (left, 'a'), target))};")
        half *= 2
    body = "\n".join("    " + x for x in (*lines, "return a;")).replace("V", v.name)
    return f"static inline {v.name} {name}({v.name} a)\n{{\n{body}\n}}"
