"""Rewrite rules of scalar calls, by operation (`_RULES`): cheaper, with the same value and flags.

A rule takes a call and returns a cheaper expression, or None where it does not apply. Only the last
bits of a power may change (`expand_power`). `rewrite` applies the rules until none applies; the
pass `simplify`, `index_builder` and other passes call it.
To add a rule, write the function here and name it in `_RULES`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..dtypes import DTYPES, converts_directly
from ..ir_traversal import walk
from ..nodes import Call, Const, Dim, Expr
from ..op_table import NEGATED_COMPARISON, OPS
from .constant_folding import fold_constants, is_constant, is_lossless_cast, neutral_element
from .may_raise import may_raise_flags

__all__ = [
    "absorb_negation", "absorbing_constant", "count_by_bit", "divide_by_one", "drop_equal_operand",
    "compare_with_itself", "subtract_zero", "narrow_comparison", "push_negation",
    "drop_length", "drop_neutral_operand", "combine_offsets", "expand_power", "fold_negation",
    "cancel_involution", "cancel_term", "push_cast_into_select", "push_cast_into_sum",
    "select_by_bool", "simplify_cast", "simplify_select", "tail_length",
    "select_to_extremum", "merge_nested_selects", "rewrite",
]

_MAX_EXPANDED_POWER = 6  # the largest exponent that becomes products
_MAX_PRODUCT_NODES = 64  # limit on the nodes of the product that replaces a power
_MAX_SUM_NODES, _MAX_TERM = 24, 4  # of a sum of bools; int8, too, holds such a sum


def _is_float(dtype: str) -> bool:
    return DTYPES[dtype].kind == "f"


def _is_int(dtype: str) -> bool:
    return DTYPES[dtype].kind in "iu"


def _calls(e: Expr, op: str) -> bool:
    return isinstance(e, Call) and e.op == op


def _args(e: Expr) -> tuple[Expr, ...]:
    """The operands of a call; empty for any other expression."""
    return e.args if isinstance(e, Call) else ()


# -- neutral and absorbing elements


def drop_neutral_operand(e: Call) -> Expr | None:
    """``x * 1`` → ``x``; for floats ``x + -0.0`` → ``x``, but not ``x + 0.0``: that makes -0.0 a
    0.0.
    """
    neutral = neutral_element(e.op, e.dtype)
    if neutral is None:
        return None
    a, b = e.args
    return a if b == neutral else b if a == neutral else None


def drop_equal_operand(e: Call) -> Expr | None:
    """``min(x, x)`` → ``x``."""
    return e.args[0] if OPS[e.op].idempotent and e.args[0] == e.args[1] else None


def drop_length(e: Call) -> Expr | None:
    """``min(x.shape[0], 0)`` → ``0``, ``max(0, x.shape[0])`` → ``x.shape[0]``: no length is
    negative, nor the smaller one of a length and a positive number.
    """
    match e.args:
        case (length, Const(int(value)) as bound) | (
            Const(int(value)) as bound, length
        ) if value <= 0 and _is_length(length):
            return bound if e.op == "min" else length
    return None


def _is_length(e: Expr) -> bool:
    """Whether `e` is a length, a number that is not negative, or the least of such."""
    match e:
        case Const(int(value)):
            return value >= 0
        case Call("min", args):
            return all(map(_is_length, args))
    return isinstance(e, Dim)


def tail_length(e: Call) -> Expr | None:
    """``n - max(n - 10, 0)`` → ``min(n, 10)`` of a length `n`: how many items ``x[-10:]`` has."""
    match e.args:
        case Dim() as n, Call("max", (Call("sub", (of, Const(int(most)) as last)), Const(0))) if (
            n == of and most >= 0
        ):
            return Call("min", (n, last), e.dtype)
    return None


def absorbing_constant(e: Call) -> Expr | None:
    """``c & False`` → ``False``, ``c | True`` → ``True``, integer ``x * 0`` → ``0``.

    Does not apply where an operand may raise a float flag.
    """
    absorbing = {"and": False, "or": True, "bitand": 0}.get(e.op)
    if e.op == "mul" and _is_int(e.dtype):
        absorbing = 0
    constant = next(
        (a for a in e.args if absorbing is not None and is_constant(a, absorbing)), None
    )
    return None if constant is None or may_raise_flags(e) else constant


# -- arithmetic


def fold_negation(e: Call) -> Expr | None:
    """``a + -b`` → ``a - b``, ``a - -b`` → ``a + b``."""
    a, b = e.args
    if _calls(b, "neg"):
        return Call("sub" if e.op == "add" else "add", (a, _args(b)[0]), e.dtype)
    if e.op == "add" and _calls(a, "neg"):
        return Call("sub", (b, _args(a)[0]), e.dtype)
    return None


def combine_offsets(e: Call) -> Expr | None:
    """Integer ``(x + 3) - 1`` → ``x + 2``, ``x + -2`` → ``x - 2``, ``3 + x`` → ``x + 3``; and
    ``x - x`` → ``0``, unless computing `x` may raise a flag.
    """
    if not _is_int(e.dtype):
        return None
    a, b = e.args
    if e.op == "add" and isinstance(a, Const) and not isinstance(b, Const):
        return Call("add", (b, a), e.dtype)
    if e.op == "sub" and a == b and not may_raise_flags(a):
        return Const(0, e.dtype)
    base, offset = _offset(a, e.dtype)
    if not isinstance(b, Const) or (base is a and b.value > 0):
        return None
    total = offset + (b.value if e.op == "add" else -b.value)
    return _add_constant(base, int(total), e.dtype)


def _offset(e: Expr, dtype: str) -> tuple[Expr, int]:
    """``(x, c)`` for ``x + c``, ``(x, -c)`` for ``x - c``, with a constant c; else ``(e, 0)``."""
    match e:
        case Call(op="add" | "sub" as op, args=(x, Const(value=c))) if e.dtype == dtype:
            return x, int(c) if op == "add" else -int(c)
        case _:
            return e, 0


def _add_constant(x: Expr, offset: int, dtype: str) -> Expr | None:
    """``x + offset``; None where the offset is no value of the dtype."""
    if offset == 0:
        return x
    if abs(offset) > DTYPES[dtype].high:
        return None
    return Call("add" if offset > 0 else "sub", (x, Const(abs(offset), dtype)), dtype)


def cancel_term(e: Call) -> Expr | None:
    """Integer ``(x + y) - x`` → ``y``, such as the length of ``a[i:i + n]``; also in longer sums.
    This holds for all integers, since sums wrap. It is not done if computing `x` may raise a flag.
    """
    a, b = e.args
    if not _is_int(e.dtype) or isinstance(b, Const) or may_raise_flags(b):
        return None
    return _without_term(a, b)


def _without_term(e: Expr, term: Expr) -> Expr | None:
    """The sum `e` without `term`, one of its terms; None if it has no such term."""
    match e:
        case Call(op="add", args=(x, y)) if term in (x, y):
            return y if x == term else x
        case Call(op="add" | "sub" as op, args=(x, y)):
            rest = _without_term(x, term)
            return None if rest is None else rewrite(Call(op, (rest, y), e.dtype))
        case _:
            return None


def subtract_zero(e: Call) -> Expr | None:
    """``x - 0.0`` → ``x``, which is exact for -0.0, too."""
    b = e.args[1]
    return e.args[0] if b == Const(0.0, b.dtype) and _is_float(b.dtype) else None


def divide_by_one(e: Call) -> Expr | None:
    """``x / 1`` → ``x``; of integers also ``x // 1`` → ``x``, and ``x % 1`` → ``0`` unless
    computing `x` may raise a flag.
    """
    if not is_constant(e.args[1], 1) or (e.op != "div" and not _is_int(e.dtype)):
        return None
    if e.op == "mod":
        return None if may_raise_flags(e.args[0]) else Const(0, e.dtype)
    return e.args[0]


def expand_power(e: Call) -> Expr | None:
    """Strength reduction of a power with a small constant exponent: ``x ** 1`` → ``x``, ``x ** 2``
    → ``x * x``, ``x ** 5`` → ``(x * x) * (x * x) * x``, up to 6; ``x ** -1`` → ``1 / x``;
    ``x ** 0`` → ``1``, of NaN too, unless computing `x` may raise a flag.

    The value may have other bits, within the error that the table promises for ``pow``: n factors
    are rounded n - 1 times, an error of less than ``n / 2`` units of the last place. The flags are
    those of the power, since no partial product is nearer to overflow or underflow than the last.

    `x` is repeated, until the pass `common_subexpressions` computes it once. A product of more than
    `_MAX_PRODUCT_NODES` nodes is not made, so that nested powers do not grow without bound.
    """
    x, exponent = e.args
    if is_constant(exponent, 0):
        return None if may_raise_flags(x) else Const(1.0, e.dtype)
    if is_constant(exponent, -1):
        return Call("div", (Const(1.0, e.dtype), x), e.dtype)
    nodes_of_x = sum(1 for _ in walk(x))
    max_power = max(1, min(_MAX_EXPANDED_POWER, _MAX_PRODUCT_NODES // nodes_of_x))
    n = next((n for n in range(1, max_power + 1) if is_constant(exponent, n)), None)
    return None if n is None else _repeated_product(x, n)


def _repeated_product(x: Expr, n: int) -> Expr:
    """``x ** n`` by repeated squaring."""
    if n == 1:
        return x
    half = _repeated_product(x, n // 2)
    square = Call("mul", (half, half), x.dtype)
    return Call("mul", (square, x), x.dtype) if n % 2 else square


def cancel_involution(e: Call) -> Expr | None:
    """``--x``, ``not not x``, ``~~x`` → ``x``; ``abs(-x)``, ``abs(abs(x))`` → ``abs(x)``."""
    (x,) = e.args
    signed = DTYPES[e.dtype].kind != "u"  # unsigned negation changes the value
    if e.op == "abs" and (_calls(x, "abs") or (signed and _calls(x, "neg"))):
        return Call("abs", _args(x), e.dtype)
    return _args(x)[0] if e.op != "abs" and _calls(x, e.op) else None


# -- logic


def push_negation(e: Call) -> Expr | None:
    """``not a == b`` → ``a != b``; of integers also ``not a < b`` → ``a >= b`` (not of floats: both
    are false on a NaN); ``not (a | not b)`` → ``(not a) & b``, and the same with ``&`` and ``|``
    exchanged.
    """
    (x,) = e.args
    if isinstance(x, Call) and x.op in _DUAL and any(_calls(a, "not") for a in x.args):
        a, b = (_args(y)[0] if _calls(y, "not") else Call("not", (y,), "bool") for y in x.args)
        return Call(_DUAL[x.op], (a, b), "bool")
    if not isinstance(x, Call) or x.op not in NEGATED_COMPARISON:
        return None
    if _is_float(x.args[0].dtype) and x.op not in ("eq", "ne"):
        return None
    return Call(NEGATED_COMPARISON[x.op], x.args, "bool")


_DUAL = {"and": "or", "or": "and"}


def absorb_negation(e: Call) -> Expr | None:
    """``a | ((not a) & b)`` → ``a | b``, and ``a & ((not a) | b)`` → ``a & b``."""
    for a, other in (e.args, e.args[::-1]):
        if not isinstance(other, Call) or other.op != _DUAL[e.op]:
            continue
        for negated, b in (other.args, other.args[::-1]):
            if _calls(negated, "not") and _args(negated) == (a,):
                return Call(e.op, (a, b), "bool")
    return None


def compare_with_itself(e: Call) -> Expr | None:
    """Integer ``x <= x`` → ``True``, ``x < x`` → ``False``, unless computing `x` may raise a
    flag.
    """
    a, b = e.args
    if a != b or _is_float(a.dtype) or may_raise_flags(a):
        return None
    return Const(e.op in ("le", "ge", "eq"), "bool")


def narrow_comparison(e: Call) -> Expr | None:
    """``f64(x) < f64(y)`` → ``x < y``, and ``f64(x) < 0.5`` → ``x < f32(0.5)``: where x and y have
    one dtype, all of whose values f64 has, and the constant is one of them. None for float16.
    """
    a, b = (_narrowed(x, e.args) for x in e.args)
    return Call(e.op, (a, b), "bool") if a is not None and b is not None else None


def _may_compute_in(narrow: str, wide: str) -> bool:
    """Whether a comparison of `wide` values that were widened from `narrow` may be made in
    `narrow`.
    """
    return is_lossless_cast(narrow, wide) and DTYPES[narrow].wide is None


def _narrowed(x: Expr, operands: tuple[Expr, ...]) -> Expr | None:
    """`x` in the narrow dtype from which all `operands` were widened; None where that would lose
    information.
    """
    sources = {_args(c)[0].dtype for c in operands if _calls(c, "cast")}
    if len(sources) != 1 or not _may_compute_in(next(iter(sources)), x.dtype):
        return None
    if _calls(x, "cast"):
        return _args(x)[0]
    value = fold_constants("cast", (x,), next(iter(sources)))
    is_lossless = value is not None and fold_constants("cast", (value,), x.dtype) == x
    return value if is_lossless else None


_EXTREMUM_OF_COMPARISON = {("lt", 0): "min", ("gt", 1): "min", ("gt", 0): "max", ("lt", 1): "max"}
_STRICT = {"le": "lt", "ge": "gt"}  # for integers a tie makes no difference


def simplify_select(e: Call) -> Expr | None:
    """A select on a constant, with equal arms, with a negated condition, or of bools::

        select(True, a, b)     →    a               if computing b raises no flag
        select(c, a, a)        →    a               if computing c raises no flag
        select(not c, a, b)    →    select(c, b, a)
        select(c, True, b)     →    c | b
    """
    c, a, b = e.args
    if isinstance(c, Const):
        chosen, dropped = (a, b) if c.value else (b, a)
        return None if may_raise_flags(dropped) else chosen
    if a == b and not may_raise_flags(c):
        return a
    if isinstance(c, Call) and c.op == "not":
        return Call("select", (c.args[0], b, a), e.dtype)
    return _select_to_logic(c, a, b) if e.dtype == "bool" else None


def _select_to_logic(c: Expr, a: Expr, b: Expr) -> Expr | None:
    """The logic operation that a select of bools with a constant arm is; None without one."""
    match a, b:
        case Const(value=1), _:
            return Call("or", (c, b), "bool")
        case _, Const(value=0):
            return Call("and", (c, a), "bool")
        case Const(value=0), _:
            return Call("and", (Call("not", (c,), "bool"), b), "bool")
        case _, Const(value=1):
            return Call("or", (Call("not", (c,), "bool"), a), "bool")
        case _:
            return None


def merge_nested_selects(e: Call) -> Expr | None:
    """``select(c, select(c, a, x), b)`` → ``select(c, a, b)``, if x raises no flag, and the same
    for the other arm; ``select(c, select(d, a, b), b)`` → ``select(c & d, a, b)``.
    """
    c, a, b = e.args
    if _calls(a, "select") and _args(a)[0] == c and not may_raise_flags(_args(a)[2]):
        return Call("select", (c, _args(a)[1], b), e.dtype)
    if _calls(b, "select") and _args(b)[0] == c and not may_raise_flags(_args(b)[1]):
        return Call("select", (c, a, _args(b)[2]), e.dtype)
    if _calls(a, "select") and _args(a)[2] == b:
        return Call("select", (Call("and", (c, _args(a)[0]), "bool"), _args(a)[1], b), e.dtype)
    return None


def select_to_extremum(e: Call) -> Expr | None:
    """``select(x < a, x, a)`` → ``min(a, x)``, which also returns `a` on a NaN or a tie; the same
    for `max`, and of integers for ``<=`` and ``>=``. With one more condition ``select(m & (x < a),
    x, a)`` → ``select(m, min(a, x), a)``.
    """
    c, x, a = e.args
    if not isinstance(c, Call) or e.dtype == "bool":
        return None
    if c.op == "and":
        for m, comparison in (c.args, c.args[::-1]):
            extremum = select_to_extremum(Call("select", (comparison, x, a), e.dtype))
            if extremum is not None:
                return Call("select", (m, extremum, a), e.dtype)
        return None
    order = _STRICT.get(c.op, c.op) if _is_int(e.dtype) else c.op
    for position in (0, 1):
        op = _EXTREMUM_OF_COMPARISON.get((order, position))
        if op and c.args[position] == x and c.args[1 - position] == a:
            return Call(op, (a, x), e.dtype)
    return None


def simplify_cast(e: Call) -> Expr | None:
    """Drop a cast to the same dtype, and an inner cast that does not change the outer one's result.

    Also ``f32(sqrt(f64(v)))`` → ``sqrt(v)``: double rounding of a square root of an f32 in f64 is
    exact; and ``i64(trunc(v))`` → ``i64(v)``: a cast to an integer rounds towards zero.
    """
    (x,) = e.args
    if x.dtype == e.dtype:
        return x
    match e.dtype, x:
        case _, Call(op="trunc", args=(v,)) if _is_int(e.dtype):
            return Call("cast", (v,), e.dtype)
        case "f32", Call(op="sqrt", args=(Call(op="cast", args=(v,), dtype="f64"),)) if (
            is_lossless_cast(v.dtype, "f32")
        ):
            return Call("sqrt", (v if v.dtype == "f32" else Call("cast", (v,), "f32"),), "f32")
    if not isinstance(x, Call) or x.op != "cast":
        return None
    (inner,) = x.args
    if inner.dtype != e.dtype and not converts_directly(inner.dtype, e.dtype):
        return None
    are_integers = all(_is_int(d) for d in (inner.dtype, x.dtype, e.dtype))
    keeps_low_bits = are_integers and DTYPES[x.dtype].bits >= DTYPES[e.dtype].bits
    if is_lossless_cast(inner.dtype, x.dtype) or keeps_low_bits:
        return Call("cast", (inner,), e.dtype)
    return None


def push_cast_into_select(e: Call) -> Expr | None:
    """``f32(select(c, f64(v), 0.5))`` → ``select(c, v, f32(0.5))``, if no arm keeps a cast;
    None for a cast to float16.
    """
    (x,) = e.args
    if not isinstance(x, Call) or x.op != "select" or DTYPES[e.dtype].wide is not None:
        return None
    c, *arms = x.args
    cast_arms = [rewrite(Call("cast", (a,), e.dtype)) for a in arms]
    if any(isinstance(a, Call) and a.op == "cast" for a in cast_arms):
        return None
    return Call("select", (c, *cast_arms), e.dtype)


def select_by_bool(e: Call) -> Expr | None:
    """Integer ``x * i64(c)`` → ``select(c, x, 0)`` of a bool `c`, unless computing `x` may raise a
    flag.
    """
    for x, factor in (e.args, e.args[::-1]):
        is_bool = _calls(factor, "cast") and _args(factor)[0].dtype == "bool"
        if is_bool and _is_int(e.dtype) and not may_raise_flags(x):
            return Call("select", (_args(factor)[0], x, Const(0, e.dtype)), e.dtype)
    return None


def count_by_bit(e: Call) -> Expr | None:
    """Integer ``select(x & 1 != 0, 1, 0)`` → ``x & 1`` and ``select(x & 1 == 0, 1, 0)`` → ``1 - (x
    & 1)``, where x has the dtype of the result; the same of ``x % 2``, and of a cast of the bool.
    """
    match e:
        case Call("select", (c, Const(1), Const(0))) | Call("cast", (Call(dtype="bool") as c,)):
            swapped = False
        case Call("select", (c, Const(0), Const(1))):
            swapped = True
        case _:
            return None
    match c:
        case Call("eq" | "ne" as op, (bit, Const(0 | 1 as value))) if _is_bit(bit):
            if not _is_int(e.dtype) or bit.dtype != e.dtype:
                return None
            is_set = (op == "eq") == (value == 1)
            return bit if is_set != swapped else Call("sub", (Const(1, e.dtype), bit), e.dtype)
    return None


def _is_bit(e: Expr) -> bool:
    """Whether the integer `e` is the last bit of a number: 0 or 1."""
    match e:
        case Call("bitand", (_, Const(1)) | (Const(1), _)) | Call("mod", (_, Const(2))):
            return _is_int(e.dtype)
    return False


def push_cast_into_sum(e: Call) -> Expr | None:
    """``f64(i64(a) - i64(b))`` → ``f64(a) - f64(b)`` of bools, and of longer sums of bools and
    small constants, which floats hold exactly: lanes of floats then need no ints. A zero is 0.0 in
    both forms, since no term is -0.0. None for a cast to float16.
    """
    (x,) = e.args
    if not isinstance(x, Call) or not _is_float(e.dtype) or DTYPES[e.dtype].wide is not None:
        return None
    is_sum = x.op in ("add", "sub") and DTYPES[x.dtype].kind == "i"
    if not is_sum or not _is_sum_of_bools(x) or sum(1 for _ in walk(x)) > _MAX_SUM_NODES:
        return None
    return Call(x.op, tuple(rewrite(Call("cast", (a,), e.dtype)) for a in x.args), e.dtype)


def _is_sum_of_bools(e: Expr) -> bool:
    """Whether the int `e` is a bool, a constant of at most `_MAX_TERM`, or a sum or difference of
    such.
    """
    match e:
        case Const(value):
            return abs(value) <= _MAX_TERM
        case Call("add" | "sub", args):
            return all(map(_is_sum_of_bools, args))
        case Call("cast", (a,)):
            return a.dtype == "bool"
    return False


Rule: TypeAlias = "Callable[[Call], Expr | None]"
"""A cheaper expression with the same value and float flags as the call; None: not applicable."""


def rewrite(e: Expr) -> Expr:
    """`e` in its simplest form; `e` itself if no rule applies.

        (x + 3) - 1    →    x + 2       (i64)
        min(x, x)      →    x

    Each turn folds constants or, if there is nothing to fold, applies the first rule in `_RULES`
    that matches the operation; the next turn takes the result, until nothing applies. A math
    function is not folded, since NumPy's need not have the bits of the C library's. A step keeps
    the value and the floating-point flags (only a power may get other bits: `expand_power`). No
    rule may undo what another one does, or this would not end.

    Assumes that the operands of `e` are in simplest form: `simplify`, which calls it on every
    expression of a kernel, goes from the operands up. Vector expressions are returned as they are,
    since the rules have run before loops are vectorised.
    """
    while isinstance(e, Call) and e.lanes == 1:
        folded = None if OPS[e.op].ulps else fold_constants(e.op, e.args, e.dtype)
        simpler = folded or _first_rewrite(e)
        if simpler is None:
            return e
        e = simpler
    return e


def _first_rewrite(e: Call) -> Expr | None:
    """The result of the first rule of `_RULES` that applies; None if none does."""
    for rule in _RULES.get(e.op, ()):
        simpler = rule(e)
        if simpler is not None:
            return simpler
    return None


_REDUCING: tuple[Rule, ...] = (drop_neutral_operand, drop_equal_operand, absorbing_constant)
"""The rules of an operation with a neutral element: they leave an operand or a constant."""

_RULES: dict[str, tuple[Rule, ...]] = {
    **{op.name: _REDUCING for op in OPS.values() if op.unit is not None},
    **{op: (drop_equal_operand,) for op in ("minimum", "maximum")},
    **{op: (drop_equal_operand, drop_length) for op in ("min", "max")},
    **{op: (compare_with_itself, narrow_comparison) for op in NEGATED_COMPARISON},
    **{op: (divide_by_one,) for op in ("div", "floordiv", "mod")},
    **{op: (cancel_involution,) for op in ("neg", "abs", "invert")},
    "add": (*_REDUCING, fold_negation, combine_offsets),
    "mul": (*_REDUCING, select_by_bool),
    "sub": (subtract_zero, fold_negation, combine_offsets, cancel_term, tail_length),
    "pow": (expand_power,),
    **{op: (*_REDUCING, absorb_negation) for op in _DUAL},
    "not": (cancel_involution, push_negation),
    "select": (simplify_select, merge_nested_selects, select_to_extremum, count_by_bit),
    "cast": (simplify_cast, count_by_bit, push_cast_into_select, push_cast_into_sum),
}
"""The rules of each operation, in the order in which they are tried. The first that applies
decides, and `rewrite` starts over with its result.

An operation with a neutral element has `_REDUCING` by the first line; a row of its own below
replaces that, and so begins with it: ``"mul": (*_REDUCING, my_rule)``. Each rule tests itself what
makes it exact for floats: that ``x - 0.0`` is ``x`` also for -0.0, but ``x + 0.0`` is not; that a
comparison with a NaN is false either way; that an operand which is dropped raises no flag. A rule
may use an operand twice, if it is small (`_MAX_PRODUCT_NODES`).
"""
