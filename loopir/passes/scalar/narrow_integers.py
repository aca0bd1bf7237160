"""Integer narrowing: integers are computed in the narrowest dtype that represents them.

Python computes with integers of any size, so lowering uses 64-bit lanes even for bytes. A bottom-up
rewriting with interval analysis moves the widening casts outwards: ``i64(a) + i64(b)`` becomes
``i64(i16(a) + i16(b))`` where the intervals of the operands and of the result fit in i16. What the
intervals decide (comparisons, overflow predicates) becomes a constant.

This is about values that are assigned or stored. A sum gets narrow lanes in
`checks.defer_overflow`, a count of matches in `vector.narrow_counts`.
"""
from __future__ import annotations

from typing import Any

from ...algebra.constant_folding import is_lossless_cast, literal
from ...algebra.may_raise import answer_keeping_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.implied_conditions import conjuncts
from ...analysis.integers.intervals import Bounds, Intervals, decide_comparison, is_within
from ...dtypes import DTYPES, INDEX
from ...ir_names import bound_names, multiply_bound_names, names_read
from ...ir_traversal import map_children, walk, walk_statements
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
    Check,
    Const,
    Expr,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Stmt,
    Store,
    Var,
)
from ...op_table import NEGATED_COMPARISON, SWAPPED_COMPARISON

__all__ = ["before_widening", "narrow_integers"]

_WIDTHS = ("i16", "u16", "i32")
"""Candidate dtypes, the narrowest first. No machine has byte multiplication."""

_EXACT_WHEN_NARROW = frozenset((
    "add", "sub", "mul", "neg", "abs", "min", "max", "minimum", "maximum", "clamp", "select",
    "floordiv", "mod", "shl", "shr", "bitand", "bitor", "bitxor", "invert",
))
"""Ops whose result is the same in every dtype that represents it and its operands."""

_UNSIGNED = {DTYPES[d].high: d for d in ("u8", "u16")}
_COMPARED = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_OUT_OF_RANGE = {
    "lt": ("", "or"), "le": ("and", ""), "gt": ("or", ""), "ge": ("", "and"),
    "eq": ("and", "and"), "ne": ("or", "or"),
}
"""Correction of a comparison with a clamped number, for numbers below and above the range:
``or`` makes it true there, ``and`` false."""

_OVERFLOW_OPS = frozenset(("add_over", "sub_over", "mul_over"))
_SHIFTS = frozenset(("shl", "shr"))


def narrow_integers(kernel: Kernel) -> Kernel:
    """Compute 64-bit integers that come from narrower elements in the narrowest dtype that has all
    their values, by interval analysis: a register holds more narrow lanes.

    A cast from a narrow dtype is moved outwards, over each operation whose operands and result have
    intervals that fit (`_IntegerNarrowing.call`). Checks that the intervals prove are removed. An
    invariant that narrow elements are compared with does not widen them: it is clamped to their
    dtype instead. Subscripts, and names that are bound twice, keep their dtype. Before::

        def k(a: u8[::1], b: u8[::1], y: mut(u8[::1])):
            disjoint(a, y)
            disjoint(b, y)
            for i in loop(0, y.shape[0]):
                t = i64(a[i]) * 77
                t_1 = t + i64(b[i]) * 179
                check(~add_over(t, t_1), "replay")
                t_2 = t_1 // 256
                check((t_2 >= 0) & (t_2 <= 255), "replay")
                y[i] = u8(t_2)

    after::

        def k(a: u8[::1], b: u8[::1], y: mut(u8[::1])):
            disjoint(a, y)
            disjoint(b, y)
            for i in loop(0, y.shape[0]):
                t = i16(a[i]) * i16(77)
                t_1 = u16(t) + u16(b[i]) * u16(179)
                t_2 = t_1 // u16(256)
                y[i] = u8(t_2)
    """
    return map_children(kernel, _IntegerNarrowing(kernel).node)


class _IntegerNarrowing:
    """A bottom-up rewriting: wide values become casts of narrow ones, whose operand users take.

    ``narrow``: names that now have a narrower dtype. ``wide``: names that keep theirs, since they
    are bound twice or used as subscripts. ``loop_bound``: names that some loop binds. ``roots``:
    names whose square root is rounded to f32. ``limits``: names that a later check of their block
    limits, with the greatest value and the check.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.intervals = Intervals()
        self.narrow: dict[str, str] = {}
        self.limits: dict[str, tuple[int, Check]] = {}
        subscripts = [x for n in walk(kernel) if isinstance(n, (Load, Store)) for x in n.index]
        self.wide = multiply_bound_names(kernel) | names_read(*subscripts)
        loops = (n for n in walk_statements(kernel) if isinstance(n, LoopLike))
        self.loop_bound = bound_names(*loops)
        self.roots = {x.name for n in walk(kernel) if isinstance(x := _narrow_root(n), Var)}

    def node(self, n: Any) -> Any:
        """`n` rewritten; () for a check that always holds."""
        if isinstance(n, Var):
            dtype = self.narrow.get(n.name, n.dtype)
            return n if dtype == n.dtype else _single_cast(Var(n.name, dtype), n.dtype)
        if isinstance(n, Assign) and (by_carries := self.sum_by_carries(n)) is not None:
            return by_carries
        if isinstance(n, Loop):
            self.limits |= _checked_limits(n.body)
        n = map_children(n, self.node)
        match n:
            case Call():
                return self.call(n)
            case Assign():
                return self.assign(n)
            case Check(Const(value)) if value:
                return ()
            case _:
                return n

    def assign(self, s: Assign) -> Assign:
        """The assignment of the narrow value, if `s` assigns a widened one; the interval of the
        name is recorded.
        """
        if s.name in self.wide:
            return s
        if DTYPES[s.value.dtype].kind == "f":
            return self.float_assign(s)
        self.intervals.names[s.name] = self.intervals.of(s.value)
        narrow_value = before_widening(s.value)
        if s.value.dtype != INDEX or narrow_value is s.value:
            return s
        self.narrow[s.name] = narrow_value.dtype
        return replace(s, value=narrow_value)

    def sum_by_carries(self, s: Assign) -> tuple[Stmt, ...] | None:
        """`s`, which assigns a sum of numbers that are not negative, or its quotient, in the dtype
        of which a later check allows no carry: the check is on the carries instead, and the sum has
        no wider dtype than its terms. None for any other assignment. Of u16 terms::

            t = (i64(a) + i64(b)) // 256                   check(~add_over(a, b), "replay")
            check((t >= 0) & (t <= 255), "replay")    →    t = (a + b) // u16(256)
        """
        if s.name not in self.limits or s.name in self.wide:
            return None
        limit, check = self.limits[s.name]
        match s.value:
            case Call("floordiv", (total, Const(int(divisor)))) if divisor > 0:
                pass
            case total:
                divisor = 1
        terms = [self.node(x) for x in _summands(total)]
        dtype = _UNSIGNED.get((limit + 1) * divisor - 1)
        if dtype is None or len(terms) < 2 or total.dtype != INDEX:
            return None
        narrow = [before_widening(x) for x in terms]
        bounds = [self.intervals.of(x) for x in terms]
        widths = [DTYPES[x.dtype].bits for x in narrow if not isinstance(x, Const)]
        if max(widths, default=0) > DTYPES[dtype].bits:
            return None
        if _narrowest_dtype([*bounds, (0, sum(high for _, high in bounds))]) == dtype or not all(
            is_within(b, (0, DTYPES[dtype].high)) for b in bounds
        ):
            return None
        checks, (value, *others) = list[Stmt](), [_single_cast(x, dtype) for x in narrow]
        for x in others:
            no_carry = Call("not", (Call("add_over", (value, x), "bool"),), "bool")
            checks.append(replace(check, cond=no_carry))
            value = Call("add", (value, x), dtype)
        if divisor > 1:
            value = Call("floordiv", (value, literal(divisor, dtype)), dtype)
        self.narrow[s.name], self.intervals.names[s.name] = dtype, (0, limit)
        return *checks, replace(s, value=value)

    def float_assign(self, s: Assign) -> Assign:
        """`s`, which assigns a float. An integer that is converted to float only for a square root
        that is rounded to f32 stays an integer (``roots``); the interval of the name is recorded.
        """
        bounds = self.intervals.converted(s.value)
        if bounds is None:
            return s
        self.intervals.names[s.name] = bounds
        match s.value:
            case Call("cast", (x,)) if s.name in self.roots and DTYPES[x.dtype].kind in "iu":
                self.narrow[s.name] = x.dtype
                return replace(s, value=x)
            case _:
                return s

    def call(self, e: Call) -> Expr:
        """The call rewritten, by the first rule that applies: a square root in f32; a result that
        the intervals decide; casts of casts; logic with constants; a comparison with an invariant;
        narrower operands.
        """
        if e.lanes != 1:
            return e
        if (root := self.root(e)) is not None:
            return root
        answer = self.answer(e)
        if answer is not None:
            return answer_keeping_flags(e, answer)
        if e.op == "cast":
            unwidened = before_widening(e.args[0])
            return e if unwidened is e.args[0] else _single_cast(unwidened, e.dtype)
        if e.op in ("and", "or", "not", "select") and any(isinstance(x, Const) for x in e.args):
            e = rewrite(e)  # type: ignore[assignment]  # the rest looks what it is
        if isinstance(e, Call) and e.op in _EXACT_WHEN_NARROW | _COMPARED:
            return self.clamped_invariant(e) or self.narrower(e)
        return e

    def clamped_invariant(self, e: Call) -> Expr | None:
        """``i64(x) > t`` → ``(x > u8(clamp(t, 0, 255))) | (t < 0)``, where `t` is a name that no
        loop binds: the lanes of x remain narrow. None for any other call.
        """
        if e.op not in _COMPARED or e.args[0].dtype != INDEX:
            return None
        x, invariant = e.args
        if isinstance(x, Var):
            e = Call(SWAPPED_COMPARISON.get(e.op, e.op), (invariant, x), "bool")
            x, invariant = e.args
        narrow = before_widening(x)
        if narrow is x or DTYPES[narrow.dtype].kind == "b":
            return None
        if not isinstance(invariant, Var) or invariant.name in self.loop_bound:
            return None
        return _clamped_comparison(e.op, narrow, invariant)

    def answer(self, e: Call) -> bool | None:
        """The result of a comparison or overflow predicate that the intervals decide; None if they
        do not.
        """
        if e.op not in _COMPARED | _OVERFLOW_OPS:
            return None
        is_float = DTYPES[e.args[0].dtype].kind == "f"
        a, b = (self.intervals.converted(x) if is_float else self.intervals.of(x) for x in e.args)
        return decide_comparison(e.op, e.args[0].dtype, a, b) if a and b else None

    def root(self, e: Call) -> Expr | None:
        """``f32(sqrt(f64(v)))`` → ``sqrt(f32(v))``, where `v` is exact in f32."""
        match _narrow_root(e):
            case Call("cast", (x,)) if DTYPES[x.dtype].kind in "iu" and (
                self.intervals.converted(Call("cast", (x,), "f32"))
            ):
                return Call("sqrt", (_single_cast(x, "f32"),), "f32")
            case _:
                return None

    def narrower(self, e: Call) -> Expr:
        """`e` in the narrowest dtype that has all values of its 64-bit operands and of its result
        (not of a comparison), cast back to 64 bits; of `u8` elements::

            i64(x[i]) * 77    →    i64(i16(x[i]) * i16(77))

        `e` itself if a 64-bit operand is neither a widened narrow value nor a constant, if none is
        a widened value, if no narrower dtype has all values, or if a shift may move by as many bits
        as the dtype has.
        """
        wide = [x for x in e.args if x.dtype == INDEX]
        narrow = [before_widening(x) for x in wide]
        if not wide or all(x is y for x, y in zip(wide, narrow, strict=True)):
            return e
        if any(x is y and not isinstance(x, Const) for x, y in zip(wide, narrow, strict=True)):
            return e
        intervals = [self.intervals.of(x) for x in (*wide, *([] if e.op in _COMPARED else [e]))]
        dtype = _narrowest_dtype(intervals)
        if dtype is None:
            return e
        if e.op in _SHIFTS and self.intervals.of(e.args[1])[1] >= DTYPES[dtype].bits:
            return e
        args = tuple(
            _single_cast(before_widening(x), dtype) if x.dtype == INDEX else x for x in e.args
        )
        if e.op in _COMPARED:
            return replace(e, args=args)
        return _single_cast(replace(e, args=args, dtype=dtype), INDEX)


def _checked_limits(block: tuple[Stmt, ...]) -> dict[str, tuple[int, Check]]:
    """The names that `block` assigns and then checks to be at most a constant, each with the least
    such constant and the check.
    """
    limits: dict[str, tuple[int, Check]] = {}
    assigned = set[str]()
    for s in block:
        if isinstance(s, Assign):
            assigned.add(s.name)
        if not isinstance(s, Check) or s.code != "replay":
            continue
        for cond in conjuncts(s.cond):
            match cond:
                case Call("le", (Var(name), Const(int(limit)))) if name in assigned:
                    if name not in limits or limit < limits[name][0]:
                        limits[name] = limit, s
    return limits


def _summands(e: Expr) -> tuple[Expr, ...]:
    """The terms that `e` adds."""
    match e:
        case Call("add", (a, b)):
            return *_summands(a), *_summands(b)
        case _:
            return (e,)


def _clamped_comparison(op: str, x: Expr, invariant: Var) -> Expr:
    """``x op invariant``, where the invariant may be outside the range of `x`'s dtype."""
    low, high = (Const(end, INDEX) for end in (DTYPES[x.dtype].low, DTYPES[x.dtype].high))
    clamped = Call(
        "cast", (Call("min", (Call("max", (invariant, low), INDEX), high), INDEX),), x.dtype
    )
    comparison: Expr = Call(op, (x, clamped), "bool")
    for correction, side, end in zip(_OUT_OF_RANGE[op], ("lt", "gt"), (low, high), strict=True):
        is_outside = Call(side, (invariant, end), "bool")
        if correction == "or":
            comparison = Call("or", (comparison, is_outside), "bool")
        elif correction == "and":
            comparison = Call(
                "and",
                (comparison, Call(NEGATED_COMPARISON[side], (invariant, end), "bool")),
                "bool",
            )
    return comparison


def _narrow_root(n: Any) -> Expr | None:
    """The operand of ``f32(sqrt(f64 x))``, else None."""
    match n:
        case Call("cast", (Call("sqrt", (x,), "f64"),), "f32"):
            return x
        case _:
            return None


def _narrowest_dtype(intervals: list[Bounds]) -> str | None:
    """The narrowest of `_WIDTHS` that contains all `intervals`; None if none does."""
    low, high = min(s[0] for s in intervals), max(s[1] for s in intervals)
    fits = (d for d in _WIDTHS if DTYPES[d].low <= low and high <= DTYPES[d].high)
    return next(fits, None)


def before_widening(e: Expr) -> Expr:
    """The value that lossless casts to integers have widened to `e`; `e` itself if there are none.
    """
    while isinstance(e, Call) and e.op == "cast" and is_lossless_cast(e.args[0].dtype, e.dtype):
        if DTYPES[e.dtype].kind == "f":
            break
        e = e.args[0]
    return e


def _single_cast(e: Expr, dtype: str) -> Expr:
    """`e` in `dtype`, by at most one cast; a constant becomes one of that dtype."""
    if e.dtype == dtype:
        return e
    if isinstance(e, Const) and DTYPES[dtype].kind != "f":
        return literal(int(e.value), dtype)
    return Call("cast", (e,), dtype)
