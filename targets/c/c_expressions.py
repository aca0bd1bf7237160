"""Expressions of legal IR as C, scalar and vector; constants and addresses.

`expr` maps an expression to a C expression; `Scope` has the C names and the register that is being
emitted. Decided here are the form of a vector load (`_lanes_from`), and how no floating-point flag
is lost: where a C compiler need not evaluate an operand that may raise a flag, a macro
(``TP_EVERYWHERE``, ``TP_ASKED``) forces it.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from loopir import nodes as ir
from loopir.algebra.constant_folding import fold_constants, is_constant
from loopir.algebra.may_raise import call_may_raise, may_raise_flags
from loopir.dtypes import DTYPES, INDEX
from loopir.ir_traversal import bottom_up, ops_within, walk
from loopir.lazy_dataclass import replace
from loopir.op_table import OPS

from ..isa.target import Vec, mask_type, storage_type
from ..legalization.vector_cost_model import interleaved_neighbour
from .c_reductions import c_type_name, is_blended_extremum, place_name, reduction_name
from .c_scope import AccumulatorRegisters, Scope
from .c_text import c_type, fills_register, pin_register, strip_parens
from .lane_masks import any_lane, mask_and, mask_from_width, mask_op, mask_to_width
from .vector_math import MATH_FUNCTIONS
from .vector_ops import scalar_op, vector_op

__all__ = [
    "c_literal", "skippable_operands", "element", "expr", "bit_index",
    "element_pointer", "element_type", "lane_stride", "name_shared_loads", "stored_bools",
]


def c_literal(c: ir.Const) -> str:
    """`c` as a C literal, parenthesised where needed."""
    t = DTYPES[c.dtype]
    if t.wide:
        return f"((uint16_t){int(np.array(c.value, t.numpy).view(np.uint16)):#x})"
    if t.kind == "f":
        return _float_literal(c)
    value = int(c.value)
    if value == t.low and t.bits == 64 and t.kind == "i":
        return "INT64_MIN"
    digits = f"{value}U" if t.kind == "u" else str(value)
    return f"(({t.c}){digits})"


def _float_literal(c: ir.Const) -> str:
    """A float constant as an exact decimal or hexadecimal literal; infinity and NaN by a builtin.
    Also -0.0 and a negative NaN keep their sign.
    """
    is_single = c.dtype == "f32"
    with np.errstate(all="ignore"):
        value = float(np.float32(c.value)) if is_single else float(c.value)
    suffix = "f" if is_single else ""
    magnitude = abs(value)
    if math.isnan(value):
        text = f'__builtin_nan{suffix}("")'
    elif math.isinf(value):
        text = f"__builtin_inf{suffix}()"
    else:
        text = (
            repr(magnitude) if magnitude.is_integer() and magnitude < 1e6 else magnitude.hex()
        ) + suffix
    return f"(-{text})" if math.copysign(1, value) < 0 else text


def expr(e: ir.Expr, s: Scope) -> str:
    """`e` as a C expression, parenthesised where needed."""
    match e:
        case ir.Const():
            return c_literal(e)
        case ir.Var(name):
            return s.use(name)
        case ir.Dim(array, axis):
            return s.use(f"{array}.n{axis}")
        case ir.Load(array, index, lanes=1) if array in s.bits:
            return f"tp_getbit_bool({s.use(array)}, {bit_index(array, index, s)})"
        case ir.Load(lanes=1):
            text = element(e.array, e.index, s)
            return f"({text} != 0)" if e.dtype == "bool" else text
        case ir.Load():
            return s.loaded.get(e) or _load(e, s)
        case ir.Call("blend", (ir.Call() as cond, *values), dtype, lanes=1) if (
            comparison := _comparison(cond, dtype)
        ):
            texts = ", ".join(strip_parens(expr(a, s)) for a in (*cond.args, *values))
            return f"tp_blend_{comparison}_{dtype}({texts})"
        case ir.Call("lt", (ir.Call("cast", (a,), "u64"), ir.Call("cast", (b,), "u64"))) if (
            e.lanes == 1 and a.dtype == b.dtype == INDEX
        ):  # a plain subscript (`plain_subscripts`): nearly all are
            return f"__builtin_expect((uint64_t){expr(a, s)} < (uint64_t){expr(b, s)}, 1)"
        case ir.Call("and" | "or", (left, right), "bool", lanes=1) if (
            not ops_within(right).isdisjoint(MATH_FUNCTIONS) and _is_guarded(e.op, left, right)
        ):
            return f"({expr(left, s)} {'||' if e.op == 'or' else '&&'} {expr(right, s)})"
        case ir.Call(op, args, dtype, lanes=1):
            operands = tuple(expr(a, s) for a in args)
            if (skippable := skippable_operands(op, args)) and any(map(may_raise_flags, skippable)):
                pairs = zip(operands, args, strict=True)
                operands = (
                    *(
                        _force_operand(a, e) if e in skippable and may_raise_flags(e) else a
                        for a, e in pairs
                    ),
                )
            if op == "select" and any(map(may_raise_flags, args[1:])):
                bits = "u16" if dtype == "f16" else dtype  # a uint16_t is in no float register
                return f"tp_choose_{bits}({', '.join(map(strip_parens, operands))})"
            if op == "cast" and DTYPES[dtype].kind in "iu" and _is_float_select(args[0]):
                operands = (f"TP_CHOSEN({strip_parens(operands[0])})",)
            operand = OPS[op].operand_dtype(args)
            if s.portable and op in MATH_FUNCTIONS and operand in ("f32", "f64"):
                return f"tp_lane_{op}_{operand}({', '.join(operands)})"
            return scalar_op(op, operands, operand, dtype)
        case ir.Call():
            return _vector_call(e, s)
        case ir.Broadcast(value):
            kind = c_type(e, s.target)
            return f"tp_{'fill' if e.dtype == 'bool' else 'splat'}_{kind}({expr(value, s)})"
        case ir.Ramp():
            return _ramp(e, s)
        case ir.HReduce("or", ir.Var(lanes=lanes) as mask) if s.vector and lanes == s.vector.lanes:
            active = mask_and((expr(mask, s), s.vector.element_mask), lanes, s.target)
            return any_lane(str(active), lanes, s.target)
        case ir.HReduce("or", ir.Var(name, "bool", 1)) if name not in s.registers:
            return s.use(name)
        case ir.HReduce(op, ir.Var(name), ir.Var(place)):
            best, at = s.registers[name], s.registers[place]
            function = place_name(op, best.count, best.kind, at.kind)
            return f"{function}({_registers_pointer(best)}, {_registers_pointer(at)})"
        case ir.HReduce(op, ir.Var(name, dtype)):
            return _reduce(op, name, dtype, s)
        case ir.HReduce("add", ir.Call("cast", (ir.Var(name),), dtype)):
            r = s.registers[name]
            return f"{reduction_name('wide', r.count, r.kind)}({_registers_pointer(r)})"
        case _:
            raise AssertionError(f"not legal: {e!r}")


def _is_guarded(op: str, left: ir.Expr, right: ir.Expr) -> bool:
    """Whether `right` certainly raises no flag where `left` decides the value of ``left and right``
    or ``left or right``, so that it need not be computed there. It is so where Python does not
    evaluate it: lowering has put constants in place of its operands::

        left | (u < exp(select(left, 0.0, -d / select(left, 1.0, t))))
    """
    decided = ir.Const(op == "or", "bool")

    def folded(n: Any) -> Any:
        """`n` where `left` decides, if its operands are folded."""
        if n == left:
            return decided
        match n:
            case ir.Call("select", (ir.Const(value=chosen), a, b)):
                used, unused = (a, b) if chosen else (b, a)
                return n if may_raise_flags(unused) else used
            case ir.Call("div", (a, b)) if is_constant(b, 1):
                return a
            case ir.Call():
                return fold_constants(n.op, n.args, n.dtype) or n
        return n

    return not may_raise_flags(bottom_up(right, folded))


def skippable_operands(op: str, args: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """The operands of `op` that a C compiler may leave uncomputed, since the others may decide the
    value. It does not know that floating-point flags count; so `expr` forces the operands among
    them that may raise a flag.
    """
    if op == "select":
        return args[:1]
    if op in ("minimum", "maximum", "ieee_minimum", "ieee_maximum"):
        return args[1:]  # unused if the first is NaN
    is_bool_cast = op == "cast" and args[0].dtype == "bool"  # known to be 0 or 1
    return (
        args
        if is_bool_cast or (op in ("and", "or") and not all(map(may_raise_flags, args)))
        else ()
    )


def _comparison(cond: ir.Call, dtype: str) -> str | None:
    """The part of the name of ``tp_blend_lt_f64`` that says which comparison `cond` is, in a blend
    (a select that computes both operands) of `dtype`; None if there is no such function.
    """
    operand, kind = OPS[cond.op].operand_dtype(cond.args), DTYPES[dtype].kind
    if operand in ("f64", "f32") and cond.op in ("lt", "le"):
        return cond.op if operand == dtype else f"{cond.op}f" if kind != "f" else None
    is_supported = operand == dtype and kind != "f" and cond.op in ("lt", "le", "eq", "ne")
    return cond.op if is_supported else None


def _force_operand(text: str, e: ir.Expr) -> str:
    """`text` for `e`, with a barrier that forces its evaluation."""
    return f"TP_{'EVERYWHERE' if e.dtype in ('f32', 'f64') else 'ASKED'}({strip_parens(text)})"


def _is_float_select(e: ir.Expr) -> bool:
    """Whether `e` is a select of floats."""
    return isinstance(e, ir.Call) and e.op == "select" and e.dtype in ("f32", "f64")


# -- memory


def element_type(p: ir.Param) -> str:
    """The C type of the scalar parameter `p`, or of the elements of the array: for an array that is
    not aligned a type whose values may be at any address (``f64_u``).
    """
    return DTYPES[p.dtype].c if p.aligned else f"{p.dtype}_u"


def element_pointer(array: str, index: tuple[ir.Expr, ...], s: Scope) -> str:
    """A typed pointer to an element."""
    p, base = s.arrays[array], s.use(array)
    strided = [(x, f"{array}.s{k}") for k, x in enumerate(index) if k != p.unit]
    if strided:
        offset = "".join(f" + {expr(x, s)} * {s.use(stride)}" for x, stride in strided)
        base = f"({element_type(p)} *)((char *){base}{offset})"
    if p.unit is None:
        return base
    return f"{base} + {expr(index[p.unit], s)}"


def bit_index(array: str, index: tuple[ir.Expr, ...], s: Scope) -> str:
    """The bit index of an element of a packed bool array: its offset in elements."""
    unit = s.arrays[array].unit
    offsets = (expr(x, s) + ("" if k == unit else f" * {s.use(f'{array}.s{k}')}")
           for k, x in enumerate(index))
    return " + ".join(offsets)


def element(array: str, index: tuple[ir.Expr, ...], s: Scope) -> str:
    """An element as an lvalue."""
    if s.arrays[array].unit == 0 and len(index) == 1:
        return f"{s.use(array)}[{expr(index[0], s)}]"
    return f"*({element_pointer(array, index, s)})"


def lane_stride(array: str, axis: int, step: int, s: Scope) -> str:
    """Bytes from one lane's element to the next; bits, for a packed bool array."""
    p = s.arrays[array]
    if p.unit == axis:
        return str(DTYPES[p.dtype].bytes * step)
    stride = s.use(f"{array}.s{axis}")
    return stride if step == 1 else f"{step} * {stride}"


def _load(e: ir.Load, s: Scope) -> str:
    """A vector load in the loop's representation: bools become masks."""
    assert isinstance(e.lanes, int)
    if e.array in s.bits:
        return f"tp_frombits_{mask_type(s.target, e.lanes)}({_bits_from(e, s)})"
    text = _lanes_from(e, storage_type(e.dtype, e.lanes), s)
    return f"tp_frombytes_{mask_type(s.target, e.lanes)}({text})" if e.dtype == "bool" else text


def _bits_from(e: ir.Load, s: Scope) -> str:
    """The vector load `e` from a packed bool array, as an integer with a bit for each lane."""
    address = f"{s.use(e.array)}, {bit_index(e.array, e.index, s)}"
    count = s.vector.count if s.vector else None
    if (stride := lane_stride(e.array, e.axis, e.step, s)) != "1":
        return f"tp_gatherbits_bool({address}, {stride}, {e.lanes}, {count or e.lanes})"
    if count:
        return f"tp_partbits_bool({address}, {e.lanes}, {count})"
    return f"tp_getbits_bool({address}, {e.lanes})"


def _lanes_from(e: ir.Load, v: Vec, s: Scope) -> str:
    """The vector load `e` as C, a register of type `v` with the bytes that are in memory. How it is
    made follows from the axis along which the lanes go, and from the step between two lanes:

    ====================  =========  =======================  ==================================
    load                  axis       step                     C
    ====================  =========  =======================  ==================================
    ``x[i:8]``            unit       1                        contiguous: a load of a register
    ``x[i:8:-1]``         unit       -1                       a load, and its lanes reversed
    ``x[2 * i:8:2]``      unit       any other                a gather, lanes a stride apart
    ``x[i:8, j]``         any other  any                      a gather, lanes a row apart
    ====================  =========  =======================  ==================================

    In the remainder of a loop (``count`` lanes are left) only so many are read: the elements behind
    them may not exist.
    """
    address = element_pointer(e.array, e.index, s)
    count = s.vector.count if s.vector else None
    is_unit_axis = s.arrays[e.array].unit == e.axis
    if is_unit_axis and e.step == 1:
        if count:
            return f"tp_loadpart_{v.name}({address}, {count})"
        return f"*(const {v.name}_u *)({address})"
    if is_unit_axis and e.step == -1:
        if count:
            return f"tp_loaddown_{v.name}({address}, {count})"
        return f"tp_reverse_{v.name}(*(const {v.name}_u *)({address} - {v.lanes - 1}))"
    stride = lane_stride(e.array, e.axis, e.step, s)
    if count:
        return f"tp_gatherpart_{v.name}((const char *)({address}), {stride}, {count})"
    return f"tp_gather_{v.name}((const char *)({address}), {stride})"


def _load_pair(e: ir.Load, names: tuple[str, str], s: Scope) -> str:
    """The statement that loads `e` and its interleaved neighbour into variables."""
    assert isinstance(e.lanes, int)
    kind, address = (
        storage_type(e.dtype, e.lanes).name,
        strip_parens(element_pointer(e.array, e.index, s)),
    )
    to = ", ".join(f"&{c}" for c in names)
    if s.vector and s.vector.count:
        return f"tp_bothpart_{kind}({address}, {s.vector.count}, {to});"
    return f"tp_both_{kind}({address}, {to});"


# -- vectors


def _vector_call(e: ir.Call, s: Scope) -> str:
    """A vector operation.

    Special cases first: blends and casts, operations on masks, operands of a select that must be
    evaluated in all lanes, and division by a constant. Otherwise masks are converted to the width
    of the operands, and back for the result.
    """
    assert isinstance(e.lanes, int)
    if e.op == "blend":
        return _vector_call(replace(e, op="select"), s)
    operand = OPS[e.op].operand_dtype(e.args)
    if e.op == "cast" and operand == "bool" and e.dtype == "u8":
        return _bool_bytes(e.args[0], s)
    args = tuple(expr(a, s) for a in e.args)
    if e.op == "cast":
        return _vector_cast(args[0], operand, e.dtype, e.lanes, s)
    if operand == "bool":
        return mask_op(e.op, _forced_masks(e, args, s), e.lanes, s.target)
    if e.op == "select":
        args = _forced_operands_of_select(e, args, s)
    v = Vec(operand, e.lanes)
    if divisor := _constant_divisor(e):
        return f"tp_{e.op}by{divisor}_{v.name}({args[0]})"
    bits = DTYPES[operand].bits
    letters = zip(args, OPS[e.op].operands, strict=True)
    operands = tuple(
        mask_to_width(a, e.lanes, bits, s.target) if letter == "m" else a for a, letter in letters
    )
    if e.op == "select" and s.target.masks == "lanes" and (kept := _kept_lanes(e, operands, v)):
        return kept
    text = vector_op(e.op, v, operands, s.target)
    return mask_from_width(text, e.lanes, bits, s.target) if OPS[e.op].result == "m" else text


def _kept_lanes(e: ir.Call, args: tuple[str, ...], v: Vec) -> str | None:
    """The select `e` of vectors of type `v`, whose operands are `args` in C, as a bitwise "and"
    with the mask, if it gives 0 where the mask is false, or where it is true; None for any other.
    A blend of 0 takes gcc a comparison more on AVX2: it knows of a mask only the sign of each lane.

        select(m, x[i:4], 0.0)    →    (f64x4)((i64x4)<the load> & (i64x4)<the mask>)
    """
    mask, *arms = args
    match e.args:
        case (_, _, ir.Broadcast(ir.Const(value))) if _has_no_bits(value):
            return _masked(arms[0], mask, v)
        case (_, ir.Broadcast(ir.Const(value)), _) if _has_no_bits(value):
            return _masked(arms[1], mask, v, where="~")
    return None


def _masked(text: str, mask: str, v: Vec, where: str = "") -> str:
    """The vector `text` of type `v` where the lanes of `mask` are set (``where="~"``: are not), and
    0 elsewhere.
    """
    ints = v.of("i").name
    return f"(({v.name})(({ints}){text} & {where}({ints})({mask})))"


def _has_no_bits(value: float) -> bool:
    """Whether all bits of a number are 0, which those of -0.0 are not."""
    return value == 0 and math.copysign(1, value) > 0


def _forced_operands_of_select(e: ir.Call, args: tuple[str, ...], s: Scope) -> tuple[str, ...]:
    """`args`, the operands of the select `e`, as C. Those that may raise a flag, but that gcc need
    not compute in all lanes, are forced:

    - an arm: gcc may compute it only in lanes that select it, or not at all if it knows the mask;
    - the mask, if both arms read the same names and elements: gcc may find that they are equal.

        select(x[i:8] > 0.0, 1.0 / x[i:8], x[i:8])
        →   tp_select_f64x8(<the mask>, TP_EVERYWHERE(<the quotient>), <the load>)      on AVX-512
    """
    mask, *arms = e.args
    pairs = zip(args[1:], arms, strict=True)
    forced = (
        f"{'TP_EVERYWHERE' if fills_register(a) else 'TP_ASKED'}({strip_parens(text)})"
        if _may_raise_where_unselected(a, mask) else text
        for text, a in pairs
    )
    are_maybe_same = may_raise_flags(mask) and _leaves(arms[0]) == _leaves(arms[1])
    return (_force_mask(args[0], s) if are_maybe_same else args[0], *forced)


def _leaves(e: ir.Expr) -> frozenset[ir.Node]:
    """The names and loads in `e`, without constants."""
    return frozenset(n for n in walk(e) if isinstance(n, (ir.Var, ir.Load)))


def _force_mask(text: str, s: Scope) -> str:
    """The mask `text` in C, computed even if its value is not needed."""
    macro = "TP_ASKED" if s.target.masks == "bits" else "TP_EVERYWHERE"
    return f"{macro}({strip_parens(text)})"


def _forced_masks(e: ir.Call, args: tuple[str, ...], s: Scope) -> tuple[str, ...]:
    """`args`, the operands of the operation `e` on masks, as C. A constant operand may decide the
    result alone, so that gcc does not compute the others: of these, one that may raise a flag is
    forced.

        (3.0 / x[i:8] < y[i:8]) | broadcast(True, 8)
        →   TP_ASKED(<the comparison>) | tp_fill_m8(1)      on AVX-512
    """
    if not any(isinstance(a, ir.Broadcast) and isinstance(a.value, ir.Const) for a in e.args):
        return args
    pairs = zip(args, map(may_raise_flags, e.args), strict=True)
    return tuple(_force_mask(a, s) if forced else a for a, forced in pairs)


def _constant_divisor(e: ir.Call) -> int | None:
    """The positive constant by which the vector of integers `e` is divided, as in ``v // 10``; None
    for any other operation. There is no instruction that divides integers in vectors;
    `_vector_call` then calls ``tp_floordivby10_i32x8``, which multiplies by the reciprocal (or
    shifts, for a power of two): a section of ``headers/division.h``, filled in for the number.
    """
    match e:
        case ir.Call("floordiv" | "mod", (_, ir.Broadcast(ir.Const(value, dtype)))) if (
            DTYPES[dtype].kind in "iu" and value > 0
        ):
            return int(value)
        case _:
            return None


def _may_raise_where_unselected(e: ir.Expr, mask: ir.Expr) -> bool:
    """Whether `e` may raise a flag in lanes where `mask` is false."""
    calls = (c for c in walk(e) if isinstance(c, ir.Call) and call_may_raise(c))
    return any(not any(_is_select_on(n, mask) for n in walk(c)) for c in calls)


def _is_select_on(n: ir.Node, mask: ir.Expr) -> bool:
    """Whether `n` is a select on `mask`."""
    return isinstance(n, ir.Call) and n.op == "select" and n.args[0] == mask


def _vector_cast(text: str, source: str, to: str, lanes: int, s: Scope) -> str:
    """A cast of the vector `text`. To and from bool it is a comparison and a select."""
    if source == to:
        return text
    if to == "bool":
        v = Vec(source, lanes)
        nonzero = vector_op("ne", v, (text, f"({v.name}){{0}}"), s.target)
        return mask_from_width(nonzero, lanes, DTYPES[source].bits, s.target)
    v = Vec(to, lanes)
    if source == "bool":
        mask = mask_to_width(text, lanes, DTYPES[to].bits, s.target)
        one, zero = f"tp_splat_{v.name}(1)", f"({v.name}){{0}}"
        if s.target.masks == "lanes":
            return _masked(one, mask, v)
        return vector_op("select", v, (mask, one, zero), s.target)
    return f"tp_cast_{source}_{v.name}({text})"


def stored_bools(e: ir.Expr, s: Scope) -> str:
    """A vector of bools as the bytes of 0 and 1 that are stored."""
    if s.target.masks == "lanes":
        return _bool_bytes(e, s)
    assert isinstance(e.lanes, int)
    return f"tp_tobytes_{mask_type(s.target, e.lanes)}({expr(e, s)})"


def _bool_bytes(e: ir.Expr, s: Scope) -> str:
    """A vector of bools as bytes of 0 and 1, directly if they are loaded from an array."""
    assert isinstance(e.lanes, int)
    v = Vec("u8", e.lanes)
    match e:
        case ir.Load(array=array) if s.target.masks == "bits" and array not in s.bits:
            one = f"tp_splat_{v.name}(1)"
            return vector_op("min", v, (_lanes_from(e, v, s), one), s.target)
        case ir.Load() if _is_bytes(e, s):
            return _lanes_from(e, v, s)
        case ir.Call("and" | "or" | "xor" as op, (a, b)) if (
            s.target.masks == "bits" or _is_bytes(a, s) or _is_bytes(b, s)
        ):
            return vector_op(f"bit{op}", v, (_bool_bytes(a, s), _bool_bytes(b, s)), s.target)
        case _:
            return f"tp_tobytes_{mask_type(s.target, e.lanes)}({expr(e, s)})"


def _is_bytes(e: ir.Expr, s: Scope) -> bool:
    """Whether `e` loads bytes of 0 and 1: those of an array that only the kernel writes."""
    return isinstance(e, ir.Load) and s.arrays[e.array].owned and e.array not in s.bits


def _ramp(e: ir.Ramp, s: Scope) -> str:
    """The vector ``base, base + step, …``. Lanes behind the end of the loop have the value of lane
    0, so that what is computed of them raises no other flags.
    """
    assert isinstance(e.lanes, int)
    v, base, before = Vec(e.dtype, e.lanes), expr(e.base, s), 0
    if s.vector and s.vector.first and e.base == ir.Var(s.vector.first[0], INDEX):
        _, base, before = s.vector.first  # registers of a group share the vector of lane 0
    first = f"tp_splat_{v.name}({base})"
    steps = ", ".join(str(before + k * e.step) for k in range(v.lanes))
    text = f"({first} + ({v.name}){{{steps}}})"
    if not (s.vector and s.vector.element_mask):
        return text
    live = mask_to_width(s.vector.element_mask, v.lanes, DTYPES[v.dtype].bits, s.target)
    return vector_op("select", v, (live, text, first), s.target)


def _reduce(op: str, name: str, dtype: str, s: Scope) -> str:
    """The horizontal reduction of the registers of an accumulator."""
    r = s.registers[name]
    call = f"{reduction_name(op, r.count, r.kind)}({_registers_pointer(r)})"
    return f"({call} & 1)" if dtype == "bool" else call


def _registers_pointer(r: AccumulatorRegisters) -> str:
    """A pointer to the accumulator's registers, as an array."""
    return r.names[0] if r.is_array else f"({c_type_name(r.kind)}[]){{{', '.join(r.names)}}}"


# -- shared and interleaved loads


def name_shared_loads(n: ir.VecLoop | ir.PredLoop, s: Scope) -> Iterator[str]:
    """Assign to C variables some of the vector loads before the first store of the body: those that
    are used several times, and pairs of loads of both halves of pairs (`interleaved_neighbour`),
    which one function loads together. An extremum that the target has no instruction for uses its
    operands twice: to compare them, and to choose one.
    """
    evaluated_first = [x for part in _before_writes(n) for x in walk(part)]
    calls = (x for x in evaluated_first if isinstance(x, ir.Call))
    blended = (x.args for x in calls if is_blended_extremum(x, s.target))
    loads = Counter(
        x
        for x in (*evaluated_first, *chain.from_iterable(blended))
        if isinstance(x, ir.Load) and x.lanes != 1 and _is_available(x, s)
    )
    for load, count in loads.items():
        neighbour = interleaved_neighbour(load, s.arrays)
        if neighbour is not None and neighbour in loads:
            yield from _name_load_pair(load, neighbour, s)
        elif count > 1 and load not in s.loaded:
            text = strip_parens(expr(load, s))
            yield f"{c_type(load, s.target)} {_name_load(load, s)} = {text};"
            if load.dtype != "bool":
                yield pin_register(s.loaded[load], load, s)


def _name_load_pair(load: ir.Load, neighbour: ir.Load, s: Scope) -> Iterator[str]:
    """Load two interleaved vectors together into variables."""
    names = _name_load(load, s), _name_load(neighbour, s)
    yield f"{c_type(load, s.target)} {', '.join(names)};"
    yield _load_pair(load, names, s)
    yield from (pin_register(c, load, s) for c in names)


def _name_load(load: ir.Load, s: Scope) -> str:
    """A fresh variable for a load, which later uses find in the scope."""
    c = s.loaded[load] = s.fresh(f"{s.names[load.array]}_i")
    return c


def _before_writes(n: ir.VecLoop | ir.PredLoop) -> list[ir.Node]:
    """The parts of the body whose loads are made before its first store: the predicate, and the
    statements up to this store, with it; without a store also the steps of the accumulators.
    """
    parts: list[ir.Node] = [n.pred] if isinstance(n, ir.PredLoop) else []
    for statement in n.body:
        if isinstance(statement, (ir.Assign, ir.Check, ir.Prefix, ir.Store, ir.Append)):
            parts.append(statement)
        if not isinstance(statement, (ir.Assign, ir.Check, ir.Prefix)):
            return parts
    return [*parts, *n.accs]


def _is_available(load: ir.Load, s: Scope) -> bool:
    """Whether a load may be moved to the start of the body: its subscripts read no name that the
    body binds.
    """
    return all(x.name in s.names for i in load.index for x in walk(i) if isinstance(x, ir.Var))
