"""Horizontal reductions as C: whole registers by halving, then the lanes of the last one.

Lane ``k`` is combined with lane ``k + h``, as `ir.HReduce` says, however many registers hold the
lanes. So a sum has the same bits on every target. To combine whole registers in another order would
change the bits.
"""
from __future__ import annotations

import re
from collections.abc import Callable

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_traversal import advanced_accums

from ..isa.target import Target, Vec, mask_type
from ..legalization.vector_cost_model import (
    accumulators_in_registers,
    can_jam_inner_loops,
    registers_at_once,
)
from .c_scope import Scope
from .vector_ops import comparison_type, parse_vector_type, scalar_op, vector_op

__all__ = [
    "accumulator_type", "c_type_name", "declare_nan_test", "define_reduction",
    "is_blended_extremum", "paired_extrema", "place_name", "reduction_name", "register_with_nan",
    "step_with_nan_test", "vector_accumulators",
]

_REDUCTION_NAME = re.compile(r"tp_fold_([a-z_]+)_(\d+)_(\w+)")
_PLACE_NAME = re.compile(r"tp_place_([a-z]+)_(\d+)_([a-z]\d+(?:x\d+)?)_([a-z]\d+(?:x\d+)?)")
_SWAP = re.compile(r"tp_swap(\d+)_(\w+)")
_UNROLLED = 16
"""The most registers whose halving is unrolled in C; more are halved by a loop."""


def reduction_name(op: str, registers: int, kind: str) -> str:
    """The C function that folds `registers` values of C type `kind` (a dtype, for scalars)."""
    return f"tp_fold_{op}_{registers}_{kind}"


def place_name(op: str, registers: int, kind: str, places: str) -> str:
    """The C function that finds the place of the extremum `op` of `registers` values of C type
    `kind`, among those of C type `places`.
    """
    return f"tp_place_{op}_{registers}_{kind}_{places}"


def define_reduction(name: str, target: Target) -> str | None:
    """The C function that a name such as ``tp_fold_add_4_f64x8`` means (`reduction_name`), or one
    for a shuffle that it uses; None for any other name. `emit_c.definitions` calls it for each name
    in the text of a kernel.

        tp_fold_add_2_f64x4(p): r0 = p[0] + p[1]                     whole registers, by halving
                                r0 = r0 + its halves swapped         then lanes: h = 2
                                r0 = r0 + its pairs swapped          h = 1
                                return r0[0]
    """
    if m := _SWAP.fullmatch(name):
        return _swap(int(m[1]), m[2])
    if m := _PLACE_NAME.fullmatch(name):
        return _place(name, m[1], int(m[2]), m[3], m[4], target)
    if not (m := _REDUCTION_NAME.fullmatch(name)):
        return None
    op, registers, kind = m[1], int(m[2]), m[3]
    if op == "wide":
        return _widened(name, registers, kind)
    lines = _registers(op, registers, kind, target) + _lanes(op, kind, target)
    result = _element(kind)
    body = "\n".join("    " + line for line in lines)
    return f"static inline {result} {name}(const {c_type_name(kind)} *p)\n{{\n{body}\n}}"


def _widened(name: str, registers: int, kind: str) -> str:
    """The function `name` that sums all lanes of integers in 64 bits, whatever their width."""
    lane_sum = f"tp_total_{kind}(p[k])" if parse_vector_type(kind) else "p[k]"
    return (
        f"static inline int64_t {name}(const {c_type_name(kind)} *p)\n{{\n    int64_t r = 0;\n"
        f"    for (int k = 0; k < {registers}; k++) r += {lane_sum};\n    return r;\n}}"
    )


def _place(name: str, op: str, registers: int, kind: str, places: str, target: Target) -> str:
    """The function `name` that finds the least of the places of the lanes with the extremum."""
    values, numbers = parse_vector_type(kind), parse_vector_type(places)
    best, none = f"{reduction_name(op, registers, kind)}(p)", f"INT{_bits_of(places)}_MAX"
    if values and numbers:
        best, none = f"tp_splat_{kind}({best})", f"tp_splat_{places}({none})"
        is_best = vector_op("eq", values, ("p[{k}]", "best"), target)
        chosen = vector_op("select", numbers, (is_best, "q[{k}]", "none"), target)
    else:
        chosen = "p[{k}] == best ? q[{k}] : none"
    of, to = c_type_name(kind), c_type_name(places)
    each = ", ".join(chosen.replace("{k}", str(k)) for k in range(registers))
    return (
        f"static inline {_element(places)} {name}(const {of} *p, const {to} *q)\n{{\n"
        f"    const {of} best = {best};\n    const {to} none = {none};\n"
        f"    const {to} r[{registers}] = {{{each}}};\n"
        f"    return {reduction_name('min', registers, places)}(r);\n}}"
    )


def _bits_of(kind: str) -> int:
    """The bits of a lane of `kind`."""
    v = parse_vector_type(kind)
    return DTYPES[v.dtype if v else kind].bits


def _element(kind: str) -> str:
    """The C type of one lane of `kind`."""
    v = parse_vector_type(kind)
    return "uint8_t" if kind[0] == "m" else DTYPES[v.dtype if v else kind].c


def c_type_name(kind: str) -> str:
    """The C type of `kind`, which is a C vector type or a dtype."""
    return DTYPES[kind].c if kind in DTYPES else kind


def _combine(op: str, kind: str, a: str, b: str, target: Target) -> str:
    """``a op b``, of vectors, scalars or masks of bits."""
    if v := parse_vector_type(kind):
        sign = {"and": "&", "or": "|", "xor": "^"}.get(op)
        return f"({a} {sign} {b})" if sign else vector_op(op, v, (a, b), target)
    dtype = kind if kind in DTYPES else "bool"
    return scalar_op(op, (a, b), dtype, dtype)


def _registers(op: str, registers: int, kind: str, target: Target) -> list[str]:
    """Lines that reduce whole registers into ``r0``."""
    c = c_type_name(kind)
    if registers <= _UNROLLED:
        lines = [f"{c} {', '.join(f'r{k} = p[{k}]' for k in range(registers))};"]
        while registers > 1:
            registers //= 2
            pairs = ((f"r{k}", f"r{k + registers}") for k in range(registers))
            lines += [f"{a} = {_combine(op, kind, a, b, target)};" for a, b in pairs]
        return lines
    step = _combine(op, kind, "r[k]", "r[k + h]", target)
    return [
        f"{c} r[{registers}], r0;",
        f"for (int k = 0; k < {registers}; k++) r[k] = p[k];",
        f"for (int h = {registers // 2}; h; h /= 2) for (int k = 0; k < h; k++) r[k] = {step};",
        "r0 = r[0];",
    ]


def _lanes(op: str, kind: str, target: Target) -> list[str]:
    """Lines that reduce the lanes of ``r0``.

    Halves are swapped rather than shifted: whatever a lane computes then is a part of the result,
    so that no lane raises a flag that the result does not.
    """
    v = parse_vector_type(kind)
    halves = _halves(v.lanes if v else int(kind[1:]) if kind[0] == "m" else 1)
    if v:
        swaps = (f"tp_swap{h}_{kind}(r0)" for h in halves)
        return [*(f"r0 = {_combine(op, kind, 'r0', x, target)};" for x in swaps), "return r0[0];"]
    if kind[0] == "m":
        steps = (f"r0 = {_combine(op, kind, 'r0', f'(r0 >> {h})', target)};" for h in halves)
        return [*steps, "return r0 & 1;"]
    return ["return r0;"]


def _halves(lanes: int) -> list[int]:
    """Half the lanes, a quarter, …, 1."""
    return [lanes >> k for k in range(1, lanes.bit_length())]


def _swap(half: int, kind: str) -> str:
    """The function that exchanges the halves of each block of twice `half` lanes."""
    v = parse_vector_type(kind)
    assert isinstance(v, Vec)
    order = ", ".join(str(k ^ half) for k in range(v.lanes))
    return (
        f"static inline {kind} tp_swap{half}_{kind}({kind} a)\n{{\n"
        f"    return TP_SHUFFLE({v.of('i').name}, a, a, {order});\n}}"
    )


# -- Accumulators


def vector_accumulators(n: ir.VecLoop | ir.PredLoop) -> list[ir.VecAccum]:
    """The accumulators that are vectors: all but counters of appends."""
    counts = advanced_accums(n)
    return [a for a in n.accs if a.name not in counts]


def accumulator_type(a: ir.VecAccum, width: int, s: Scope) -> str:
    """The C type of a register of the accumulator `a`."""
    if width == 1:
        return DTYPES[a.init.dtype].c
    return mask_type(s.target, width) if a.init.dtype == "bool" else Vec(a.init.dtype, width).name


# -- Extrema that are compared and chosen


def is_blended_extremum(e: ir.Expr, target: Target) -> bool:
    """Whether `e` is an extremum of vectors of floats that `target` has no instruction for: its
    operands are compared, and one is chosen.
    """
    match e:
        case ir.Call("min" | "max" | "minimum" | "maximum" as op) if DTYPES[e.dtype].kind == "f":
            assert isinstance(e.lanes, int)
            return e.lanes > 1 and target.row(op, Vec(e.dtype, e.lanes)) is None
    return False


def paired_extrema(n: ir.VecLoop | ir.PredLoop, target: Target) -> list[ir.VecAccum]:
    """The accumulators of `n` that are extrema which a NaN decides (``minimum``, ``maximum``), and
    take two comparisons: one is whether there is a NaN, which two registers may share::

        m_0 = tp_maximum(m_0, x_0)         m_0 = tp_max(m_0, x_0), before = x_0
        m_1 = tp_maximum(m_1, x_1)    →    m_1 = tp_max(m_1, x_1), found |= x_1 or before is NaN

    `tp_max` keeps an accumulator that is a NaN, and drops one that comes later; so after the loop
    the first register gets a NaN if one was found (`register_with_nan`). Each of equal zeros may be
    the result, as for any lanes (`passes.vector.exact_extrema`). Accumulators of whether there is a
    NaN (``nan | (x != x)``), too. None if the registers of a group have no code of their own.
    """
    if not isinstance(n, ir.VecLoop) or can_jam_inner_loops(n):
        return []
    extrema = [
        a for a in vector_accumulators(n)
        if is_blended_extremum(a.step, target) and isinstance(a.step, ir.Call)
        and a.step.op in ("minimum", "maximum")
        and [e == ir.Var(a.name, e.dtype, e.lanes) for e in a.step.args].count(True) == 1
    ]
    extrema += [a for a in vector_accumulators(n) if _tested_for_nan(a, target) is not None]
    is_paired = extrema and registers_at_once(n, target) % 2 == 0
    return extrema if is_paired and accumulators_in_registers(n, target) else []


def _tested_for_nan(a: ir.VecAccum, target: Target) -> ir.Expr | None:
    """The vector that `a` tests for NaN, if it tells whether one of many is NaN."""
    match a.step:
        case ir.Call("or", (ir.Call("ne", (x, y)), ir.Var(name))) if x == y and name == a.name:
            if not isinstance(x.lanes, int) or x.lanes == 1 or DTYPES[x.dtype].kind != "f":
                return None
            mask = mask_type(target, x.lanes)
            return x if mask == comparison_type(Vec(x.dtype, x.lanes), target) else None
    return None


def declare_nan_test(a: ir.VecAccum, s: Scope) -> str:
    """Declares what a test of two registers at a time for NaN needs, and binds it in `s`."""
    assert isinstance(a.step.lanes, int)
    if (x := _tested_for_nan(a, s.target)) is not None:
        before = s.fresh(f"{s.names[a.name]}_before")
        s.nan_tests[a.name] = "", before
        return f"{Vec(x.dtype, a.step.lanes).name} {before} = {{0}};"
    kind = s.registers[a.name].kind
    mask = comparison_type(Vec(a.step.dtype, a.step.lanes), s.target)
    found, before = s.fresh(f"{s.names[a.name]}_nan"), s.fresh(f"{s.names[a.name]}_before")
    s.nan_tests[a.name] = found, before
    return f"{mask} {found} = {{0}}; {kind} {before} = {s.registers[a.name][0]};"


def step_with_nan_test(a: ir.VecAccum, expr: Callable[[ir.Expr, Scope], str], s: Scope) -> str:
    """The next value of an accumulator of `paired_extrema`, for the register of `s`."""
    assert isinstance(a.step, ir.Call)
    assert isinstance(s.register, int)
    if (v := _tested_for_nan(a, s.target)) is not None:
        before, text = s.nan_tests[a.name][1], expr(v, s)
        kind = Vec(v.dtype, int(v.lanes)).name
        if s.register % 2 == 0:
            return f"tp_nanfirst_{kind}({s.names[a.name]}, {text}, &{before})"
        return f"{s.names[a.name]} | tp_unordered_{kind}({before}, {text})"
    (found, before), kind = s.nan_tests[a.name], s.registers[a.name].kind
    [x] = [expr(e, s) for e in a.step.args if e != ir.Var(a.name, e.dtype, e.lanes)]
    op, previous = a.step.op, s.names[a.name]
    if s.register % 2 == 0:
        return f"tp_{op}first_{kind}({previous}, {x}, &{before})"
    return f"tp_{op}second_{kind}({previous}, {x}, {before}, &{found})"


def register_with_nan(a: ir.VecAccum, s: Scope) -> str:
    """The statement that makes lanes of the first register of an extremum NaN, where one of those
    in which a NaN was found; empty if that is all that `a` tells.
    """
    (found, _), r = s.nan_tests[a.name], s.registers[a.name]
    if not found:
        return ""
    return f'{r[0]} = tp_select_{r.kind}({found}, tp_splat_{r.kind}(__builtin_nan("")), {r[0]});'
