"""Words: Python ints of 0 … 2**64 - 1, computed as uint64, as hashes and random numbers need them.

    h = 0xCBF29CE484222325                       a word, as no int64 holds it
    h = ((h ^ b) * 0x100000001B3) & 0xFFFF_FFFF_FFFF_FFFF
    →   h = (h ^ u64(b)) * 1099511628211          a product modulo 2**64, without a check

A word (`Num.is_word`) comes from a constant, or from a mask with one. Operations on words and other
Python ints are exact: a result that is proved to fit an int64 becomes an ordinary Python int, one
that may need more than 64 bits is checked, and replayed. What a mask of 64 ones, or a remainder by
2**64, leaves of a sum, difference, product or shift is the same modulo 2**64, whatever the sizes of
the ints between, so that these need no checks (`lower_masked`; pass ``demanded_bits`` does the same
across statements). Operations that know no words get an int64 of one, which is checked
(`scalar_operands.as_int64`).
"""
from __future__ import annotations

import ast

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.intervals import Bounds, is_within
from loopir.nodes import Call, Const, Expr

from ...diagnostics import Refused
from ...frontend.refusal import refuse
from ...types.int_limits import INT64, WORD
from ...types.typed_values import Num, bool_op, cast, constant
from ..state.guards_and_checks import require
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_scalar
from ..state.outer_names import resolve_guarded
from ..state.value_ranges import bind_num, integer_num
from .integer_arithmetic import exact_bounds, require_nonzero
from .scalar_operands import as_int64, as_word, long_constant

__all__ = ["lower_masked", "word_operation"]

_MASK = Const(WORD[1], "u64")

_MODULAR: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "bitand", ast.BitOr: "bitor",
    ast.BitXor: "bitxor",
}
"""The operators whose result modulo 2**64 depends on that of their operands alone."""


def word_operation(ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST) -> Num:
    """``x name y`` of Python ints or bools, of which one is a word; `name` is the operation in Loop
    IR, neither "div" nor "pow". Called by `binary_operation`.

        h ^ b     h: a word, b: an int of 0 … 255    →    a word: bitxor(h, u64(b))
        h * k     both words                         →    check(~mul_over(h, k)); mul(h, k)
        h >> 11   h: a word                          →    an int of 0 … 2**53 - 1
        h % n     n: an int                          →    check(n > 0); an int less than n
    """
    if name in ("shl", "shr"):
        return _shift(ctx, name, x, y, node)
    if name == "bitand":
        return _and(ctx, x, y)
    if name in ("add", "sub") and isinstance(y.ir, Const) and y.ir.value < 0:
        name, y = "sub" if name == "add" else "add", constant(-int(y.ir.value))
    a, c = (bind_num(ctx.b, as_word(ctx.b, n, node), "word") for n in (x, y))
    if name in ("floordiv", "mod"):
        return _division(ctx, name, a, c, node)
    value = Call(name, (a.ir, c.ir), "u64")
    low, high = exact = exact_bounds(name, a.range, c.range)
    if not is_within(exact, WORD):
        overflow = Call(f"{name}_over", (a.ir, c.ir), "bool")
        require(ctx.b, bool_op("not", overflow), "GUARD_INT_RANGE", node)
    return _int_of(ctx, value, (max(low, WORD[0]), min(high, WORD[1])))


def _int_of(ctx: Lowering, word: Expr, interval: Bounds) -> Num:
    """The Python int with the uint64 `word`, which is in `interval`: as an int64 if it fits."""
    if interval[1] > INT64[1]:
        return Num(word, weak="u64", interval=interval)
    return integer_num(ctx.b, ctx.b.bind(cast(word, "i64"), "low"), interval)


def _and(ctx: Lowering, x: Num, y: Num) -> Num:
    """``x & y``, at least one of them a word. Of the other one, which may be negative, the low 64
    bits count; a mask of ones says so to pass ``demanded_bits``.
    """
    has_mask = any(isinstance(n.ir, Const) for n in (x, y))
    operands = [
        e if n.is_word or has_mask else Call("bitand", (e, _MASK), "u64")
        for n, e in ((n, cast(n.ir, "u64")) for n in (x, y))
    ]
    a, c = (ctx.b.bind(e, "word") for e in operands)
    return _int_of(ctx, Call("bitand", (a, c), "u64"), exact_bounds("bitand", x.range, y.range))


def _division(ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST) -> Num:
    """``x // y`` or ``x % y`` of words. Requires that y is not 0, where Python raises."""
    least, most = y.range
    if least == 0:
        require_nonzero(ctx, y, y.ir, node)
    divisor = max(least, 1), max(most, 1)
    value = Call(name, (x.ir, y.ir), "u64")
    return _int_of(ctx, value, exact_bounds(name, x.range, divisor))


def _shift(ctx: Lowering, name: str, x: Num, y: Num, node: ast.AST) -> Num:
    """``x << y`` or ``x >> y``, one of them a word. Requires that the count is not negative, where
    Python raises, and that a shift to the left loses no bits.
    """
    y = as_int64(ctx.b, y, node)
    if not x.is_word:  # then the count was a word
        return refuse("LOWER_UNSUPPORTED", "a shift by an int of 64 bits is not compiled", node)
    y = _count(ctx, y, node)
    low, high = x.range
    fewest, most = max(y.range[0], 0), max(y.range[1], 0)
    count = cast(y.ir, "u64")
    if name == "shr":
        return _int_of(
            ctx, Call("shr", (ctx.b.bind(x.ir), count), "u64"),
            (low >> min(most, 64), high >> min(fewest, 64)),
        )
    if most > 63:
        require(ctx.b, Call("le", (y.ir, index_const(63)), "bool"), "GUARD_INT_RANGE", node)
    power = ctx.b.bind(_power_of_two(count), "power")
    interval = 1 << min(fewest, 63), 1 << min(most, 63)
    return word_operation(ctx, "mul", x, Num(power, weak="u64", interval=interval), node)


def _count(ctx: Lowering, n: Num, node: ast.AST) -> Num:
    """The count of a shift, which is required not to be negative, since Python raises."""
    n = bind_num(ctx.b, n, "count")
    if n.range[0] < 0:
        require(ctx.b, Call("ge", (n.ir, index_const(0)), "bool"), "GUARD_RAISES", node)
    return n


def _power_of_two(count: Expr) -> Expr:
    """``1 << count`` as a uint64, for a count below 64."""
    if isinstance(count, Const):
        return Const(1 << min(int(count.value), 63), "u64")
    return Call("shl", (Const(1, "u64"), count), "u64")


def lower_masked(ctx: Lowering, node: ast.BinOp) -> Num | None:
    """``e & w`` for a word w, or ``e % 2**64``, with ``e`` computed modulo 2**64. None for other
    nodes, and where ``e`` has a part that is no Python int.

        (h * 33 + c) & MASK    b & -b    ~b & w    s * k % 2**64
    """
    if isinstance(node.op, ast.Mod):
        pairs = [(node.left, node.right)] if long_constant(ctx, node.right) == WORD[1] + 1 else []
    else:
        pairs = [(node.left, node.right), (node.right, node.left)]
        pairs = [(e, w) for e, w in pairs if _has_high_bits(e) and (
            _is_word(ctx, w) or isinstance(e, ast.UnaryOp)
        )]
    for masked, by in pairs:
        try:
            with ctx.b.attempt():
                low = _lower_modular(ctx, masked)
                resolve_guarded(ctx, by)
                is_mask = isinstance(node.op, ast.BitAnd)
                word = lower_scalar(ctx, by) if is_mask else constant(WORD[1])
                if not isinstance(word, Num) or not (word.is_word or _is_natural(word)):
                    continue
        except Refused:
            continue
        is_whole = word.ir == _MASK and not isinstance(masked, ast.Name)
        # Of a name the mask tells ``demanded_bits`` that its high bits are not used.
        e = low if is_whole else Call("bitand", (low, cast(word.ir, "u64")), "u64")
        return _int_of(ctx, ctx.b.bind(e, "word"), (0, word.range[1]))
    return None


def _is_natural(n: Num) -> bool:
    """Whether `n` is a Python int that is not negative."""
    return n.python_int and n.range[0] >= 0


def _has_high_bits(e: ast.expr) -> bool:
    """Whether the int `e` may have more than 64 bits: an operation or a name, to which an operation
    may be bound, is computed modulo 2**64.
    """
    match e:
        case ast.BinOp(op=op):
            return type(op) in _MODULAR or isinstance(op, ast.LShift)
        case ast.UnaryOp(ast.Invert() | ast.USub()):
            return not isinstance(e.operand, ast.Constant)
    return isinstance(e, ast.Name)


def _is_word(ctx: Lowering, e: ast.expr) -> bool:
    """Whether `e` is a word: a constant, or a name of one, which nothing else can change before it
    is read.
    """
    if isinstance(e, ast.Name) and isinstance(known := ctx.b.env.get(e.id), Num):
        return known.is_word
    return 0 < long_constant(ctx, e) <= WORD[1]


def _lower_modular(ctx: Lowering, e: ast.expr) -> Expr:
    """The Python int `e` modulo 2**64, as a uint64. Raises Refused for anything but ints and bools.
    """
    match e:
        case ast.BinOp(left, op, right) if type(op) in _MODULAR:
            a, c = _lower_modular(ctx, left), _lower_modular(ctx, right)
            return ctx.b.bind(Call(_MODULAR[type(op)], (a, c), "u64"))
        case ast.BinOp(left, ast.LShift(), right):
            low, count = _lower_modular(ctx, left), lower_scalar(ctx, right)
            if not isinstance(count, Num) or not count.python_int:
                refuse("LOWER_TYPE", "the count of a shift is no int", e)
            by = _count(ctx, count, e)
            return ctx.b.bind(Call("shl", (low, cast(by.ir, "u64")), "u64"))
        case ast.UnaryOp(ast.Invert() | ast.USub() as op, operand):
            name = "neg" if isinstance(op, ast.USub) else "invert"
            return ctx.b.bind(Call(name, (_lower_modular(ctx, operand),), "u64"))
    n = lower_scalar(ctx, e)
    if not isinstance(n, Num) or n.strong is not None or n.weak == "f64" or n.boxed:
        refuse("LOWER_TYPE", "no int is masked", e)
    return ctx.b.bind(cast(n.ir, "u64"))
