"""Reductions and linear recurrences: accumulators whose iterations may be reassociated.

A reduction (LLVM: RecurrenceDescriptor; in messages "fold") is ``acc = op(acc, value)``, possibly
under a condition. `reduction_of` recognises one; the cases are those of `match_reduction`:

    acc + x                     add of x
    (acc + x) - y               add of x - y
    select(c, acc + x, acc)     add of select(c, x, -0.0)
    select(x >= acc, x, acc)    max of x, the last of equal values
    min(x, acc)                 minimum of x, see `Reduction.restarts`

A linear recurrence is ``acc = acc * factor + term`` (`match_linear_recurrence`).
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..algebra.constant_folding import literal, neutral_element, worst_value
from ..algebra.index_builder import logical_not
from ..algebra.rewrite_rules import rewrite
from ..dtypes import DTYPES
from ..ir_names import expand_names, names_read
from ..ir_traversal import advanced_accums, map_children, walk, walk_statements
from ..lazy_dataclass import record, replace
from ..nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    Expr,
    HReduce,
    If,
    Loop,
    Node,
    Stmt,
    Var,
    While,
    Yield,
)
from ..op_table import OPS

__all__ = [
    "Reduction", "exact_fold_of", "goes_on_through", "is_fold_step", "lanes_behind",
    "match_linear_recurrence", "match_reduction", "overflow_checks_of", "reduction_of",
    "values_in_branches",
]


@record(frozen=True, slots=True)
class Reduction:
    """``acc = op(acc, value)`` where ``cond`` is true."""

    acc: Accum
    op: str
    value: Expr  # the term
    acc_first: bool = True  # False: ``op(value, acc)``
    cond: Expr | None = None  # None: in every iteration
    takes_last: bool = False  # of several equal float zeros the last one wins, else the first
    restarts: bool = False
    """It is a reduction only if no value is NaN. In Python ``min(value, acc)`` returns a value that
    is NaN, and in the next iteration it drops that NaN for the next value: the minimum starts
    anew. ``op`` propagates NaN, so its result shows whether there was one."""

    @property
    def dtype(self) -> str:
        return self.acc.init.dtype

    @property
    def is_inexact(self) -> bool:
        """Whether the order of the terms changes the rounding of the result: a float operation with
        a neutral element, which is no extremum.
        """
        return DTYPES[self.dtype].kind == "f" and OPS[self.op].is_rounded_sum

    @property
    def start(self) -> Expr:
        """The initial value of each of several partial reductions."""
        return neutral_element(self.op, self.dtype) or self.acc.init

    def step(self, acc: Expr) -> Expr:
        """One step of the reduction, from the value `acc`."""
        args = (acc, self.value) if self.acc_first else (self.value, acc)
        step = rewrite(Call(self.op, args, self.dtype))
        if self.cond is None:
            return step
        return Call("select", (self.cond, step, acc), self.dtype)


def reduction_of(acc: Accum, loop: Loop) -> Reduction | None:
    """The reduction that `acc` is in `loop`, so that its iterations may be reassociated; None if it
    is not one.

        for i in loop(0, n, s=0.0): s = step(s + x[i])                →    add of x[i]
        for i in loop(0, n, s=0.0): y[i] = s; s = step(s + x[i])      →    None: each partial sum
                                                                          is read, a scan

    Conditions: nothing else in the loop reads the accumulator, except the overflow checks of its
    own step; its step has one of the forms of `match_reduction`; and the value that is added does
    not depend on the accumulator, as it does in ``s + s * x[i]``. Passes that vectorise loops, or
    reorder or cut their iterations, ask it.
    """
    name = acc.name
    other_steps = [a.step for a in loop.accs if a is not acc]
    other_statements = [s for s in loop.body if s not in overflow_checks_of(acc, loop)]
    if name in advanced_accums(loop) or name in names_read(*other_steps, *other_statements):
        return None
    reduction = match_reduction(acc, acc.step)
    if reduction is None or name in names_read(reduction.value, reduction.cond):
        return None
    return reduction


def exact_fold_of(acc: Accum, loop: Loop) -> tuple[str, Const] | None:
    """The operation of the fold of integers or bools that `acc` is in `loop`, and the value with
    which each of several parts of it begins: they may be combined in any order. None if it is none.

        m = step(max(m, k[i]))                                        "max", -2 ** 63
        if k[i] > 3: …; c_1 = give(c + 1) else: c_1 = give(c)         "add", 0
        c = step(c_1)

    As in `reduction_of` nothing else reads the accumulator but overflow checks; but its step may be
    in branches, which do more.
    """
    dtype = acc.init.dtype
    if DTYPES[dtype].kind == "f" or acc.name in advanced_accums(loop):
        return None
    fold = reduction_of(acc, loop)
    op = _operation_of_branches(acc, loop) if fold is None else fold.op
    if op in ("min", "max", "minimum", "maximum"):
        return op, worst_value(op, dtype)
    start = neutral_element(op, dtype) if op is not None and OPS[op].unit is not None else None
    return None if op is None or start is None else (op, start)


def _operation_of_branches(acc: Accum, loop: Loop) -> str | None:
    """The operation of the fold that `acc` is in `loop`, if its step is computed in branches."""
    values = values_in_branches(loop.body)
    computed_from = {acc.name}
    for name, value in values.items():  # in the order of the statements
        if not computed_from.isdisjoint(names_read(value)):
            computed_from.add(name)
    checks = overflow_checks_of(acc, loop)
    read: list[Node] = [a.step for a in loop.accs if a is not acc]
    read += [] if loop.until is None else [loop.until]
    for s in (n for part in loop.body for n in walk_statements(part)):
        match s:
            case Assign() | Yield():
                pass
            case If(cond=cond):
                read.append(cond)
            case _ if s not in checks:
                read.append(s)
    step = expand_names(acc.step, {n: values[n] for n in computed_from if n in values})
    if step is None or not computed_from.isdisjoint(names_read(*read)):
        return None
    return next((op for op in _EXACT if is_fold_step(step, op, acc.name)), None)


_EXACT = ("add", "mul", "min", "max", "bitand", "bitor", "bitxor", "and", "or", "xor")
"""Operations of folds that a step in branches may have."""


def values_in_branches(body: Iterable[Stmt]) -> dict[str, Expr]:
    """The values of the names that `body` assigns outside loops, those of a branch as selects."""
    found: dict[str, Expr] = {}
    for s in body:
        match s:
            case Assign(name, value):
                found[name] = value
            case If(cond, then, orelse, yields):
                found |= values_in_branches((*then, *orelse))
                for y in yields:
                    found[y.name] = Call("select", (cond, y.then, y.orelse), y.then.dtype)
    return found


def is_fold_step(step: Expr, op: str, name: str) -> bool:
    """Whether `step` is ``op(name, term)``, in any order and number, or under a condition, where
    neither the terms nor the conditions read `name`. A difference is a sum.
    """
    match step:
        case Call("sub", (a, b)) if op == "add":
            return name not in names_read(b) and is_fold_step(a, op, name)
        case Var():
            return step.name == name
        case Call("select", (cond, *sides)):
            return name not in names_read(cond) and all(is_fold_step(x, op, name) for x in sides)
        case Call(found, (a, b)) if found == op:
            if name not in names_read(a):
                return is_fold_step(b, op, name)
            return name not in names_read(b) and is_fold_step(a, op, name)
    return False


def goes_on_through(outer: Accum, inner: Accum, run: Loop | While, s: Loop) -> bool:
    """Whether `outer`, an accumulator of `s`, goes on in `run`, a loop inside `s`: its accumulator
    `inner` starts with `outer` and is its step, and nothing else of `s` reads either of them::

        s=0: for …, t=s: …; s = step(t)              yes
        s=0: for …, t=s: …; y[i] = t; s = step(t)    no: `y` has the sum so far
    """
    reads_of_outer = _reads(outer.name, *s.body)
    reads_of_inner = _reads(inner.name, *s.body) - _reads(inner.name, run)
    others = names_read(*(a.step for a in s.accs if a is not outer), s.until)
    goes_on = inner.init == outer.current and outer.step == Var(inner.name, inner.init.dtype)
    is_alone = reads_of_outer == 1 and not reads_of_inner
    return goes_on and is_alone and others.isdisjoint((outer.name, inner.name))


def lanes_behind(e: Expr, body: Sequence[Stmt]) -> str | None:
    """The accumulator of a vector loop in `body` whose reduction `e` is, and nothing computed from
    it: itself, or what the code after that loop corrects it to (`vector.exact_extrema`); else None.
    """
    match e:
        case HReduce(value=Var(name), place=None):
            return name
        case Var(name):
            pass
        case _:
            return None
    for s in body:
        match s:
            case Assign(target, value) if target == name:
                return lanes_behind(value, body)
            case If(then=(Loop(accs=accs),), orelse=(), yields=(Yield(target, found, result),)) if (
                target == name and found in [a.current for a in accs]
            ):
                return lanes_behind(result, body)
    return None


def _reads(name: str, *code: Node) -> int:
    """How often `code` reads the name."""
    return sum(isinstance(n, Var) and n.name == name for part in code for n in walk(part))


def overflow_checks_of(acc: Accum, loop: Loop) -> tuple[Check, ...]:
    """The checks in `loop` that an addition to `acc` does not overflow."""
    checks = (s for s in loop.body if isinstance(s, Check) and acc.name in names_read(s))
    return tuple(s for s in checks if _is_overflow(acc.name, s.cond))


def _is_overflow(name: str, cond: Expr) -> bool:
    """Whether `cond` reads `name` only as ``add_over(name, e)`` or ``sub_over(name, e)``."""
    predicates = [n for n in walk(cond) if isinstance(n, Call) and n.op in ("add_over", "sub_over")]
    of_accumulator = [
        t for t in predicates if isinstance(t.args[0], Var) and t.args[0].name == name
    ]
    reads = sum(isinstance(n, Var) and n.name == name for n in walk(cond))
    return len(of_accumulator) == reads == 1


def match_reduction(acc: Accum, step: Expr) -> Reduction | None:
    """Match `step` as a reduction step of `acc`; None if it is not one. The value of the result may
    still read `acc` or anything else.

    Cases, in this order: an extremum that a select of a comparison makes; a select of a step and
    the accumulator (a conditional reduction), in either order; a select of two steps that differ in
    their values; a difference; an operation that reduces, with the accumulator as its second
    operand, or in a chain as its first.
    """
    match step:
        case Call(op="select", args=(Call(op="le" | "ge") as test, value, kept)) if (
            _is_accumulator(acc, kept) and _allows_ties(acc, test, value)
        ):
            upwards = (test.op == "ge") == (test.args[0] == value)
            return Reduction(acc, "max" if upwards else "min", value, takes_last=True)
        case Call(op="select", args=(cond, new_value, kept)) if _is_accumulator(acc, kept):
            return _conditional_reduction(match_reduction(acc, new_value), cond)
        case Call(op="select", args=(cond, kept, new_value)) if _is_accumulator(acc, kept):
            return _conditional_reduction(match_reduction(acc, new_value), logical_not(cond))
        case Call(op="select", args=(cond, new_value, other_value)):
            return _select_of_reductions(
                match_reduction(acc, new_value), match_reduction(acc, other_value), cond
            )
        case Call(op="sub", args=(first, value)):
            negated = rewrite(Call("neg", (value,), value.dtype))
            return _reduction_chain(acc, "add", first, negated)
        case Call(op=op, args=(a, b)) if OPS[op].reduces:
            return (
                _swapped_reduction(acc, op, a)
                if _is_accumulator(acc, b)
                else _reduction_chain(acc, op, a, b)
            )
        case _:
            return None


def _swapped_reduction(acc: Accum, op: str, value: Expr) -> Reduction:
    """The reduction ``op(value, acc)``. A ``min`` or ``max`` of floats becomes one that propagates
    NaN, and that is right only if there is none (`Reduction.restarts`).
    """
    if op in ("min", "max") and DTYPES[acc.init.dtype].kind == "f":
        return Reduction(acc, _PROPAGATING[op], value, takes_last=True, restarts=True)
    return Reduction(acc, op, value, acc_first=False)


_PROPAGATING = {"min": "minimum", "max": "maximum"}


def _allows_ties(acc: Accum, test: Call, value: Expr) -> bool:
    """Whether `test` lets `value` replace the accumulator when they are equal."""
    a, b = test.args
    return (
        DTYPES[value.dtype].kind == "f"
        and value in (a, b)
        and _is_accumulator(acc, b if value == a else a)
    )


def _reduction_chain(acc: Accum, op: str, operand: Expr, value: Expr) -> Reduction | None:
    """The reduction that ``op(operand, value)`` is, if `operand` is the accumulator, or itself a
    step of the same reduction: ``(s + a) + b`` adds ``a + b``; else None.
    """
    if _is_accumulator(acc, operand):
        return Reduction(acc, op, value, takes_last=op in ("minimum", "maximum"))
    inner = match_reduction(acc, operand)
    if inner is None or inner.op != op or inner.cond or not inner.acc_first:
        return None
    if inner.restarts or (inner.takes_last and not _associates(op, acc)):
        return None
    joined = rewrite(Call(op, (inner.value, value), value.dtype))
    if not _associates(op, acc):  # max(max(acc, NaN), b) is max(acc, b)
        is_nan = Call("isnan", (inner.value,), "bool")
        joined = rewrite(Call("select", (is_nan, value, joined), value.dtype))
    return replace(inner, value=joined)


def _conditional_reduction(reduction: Reduction | None, cond: Expr) -> Reduction | None:
    """`reduction` where `cond` is true; None if it has a condition already. If its operation has a
    neutral element, that replaces the term where `cond` is false, and no condition is needed.
    """
    if reduction is None or reduction.cond is not None:
        return None
    neutral = neutral_element(reduction.op, reduction.dtype)
    if neutral is None:
        return replace(reduction, cond=cond)
    value = rewrite(Call("select", (cond, reduction.value, neutral), reduction.dtype))
    return replace(reduction, value=value)


def _select_of_reductions(a: Reduction | None, b: Reduction | None, cond: Expr) -> Reduction | None:
    """`a` where `cond` is true, else `b`: a reduction of a select; None unless they differ in the
    value only.
    """
    if a is None or b is None or a.cond is not None or replace(a, value=b.value) != b:
        return None
    return replace(a, value=rewrite(Call("select", (cond, a.value, b.value), a.dtype)))


def _is_accumulator(acc: Accum, e: Expr) -> bool:
    return isinstance(e, Var) and e.name == acc.name


def _associates(op: str, acc: Accum) -> bool:
    """Whether ``op(op(acc, a), b) == op(acc, op(a, b))``: not for float `min` where `a` is NaN."""
    return op not in ("min", "max") or DTYPES[acc.init.dtype].kind != "f"


FactorTerm: TypeAlias = "tuple[Expr, Expr]"


def match_linear_recurrence(acc: Accum, step: Expr) -> FactorTerm | None:
    """The factor and term of a step that equals ``acc * factor + term`` bit by bit; else None.

    If the factor is 1 or there is no term, the result is None, too: that is a plain reduction.
    """
    if acc.init.dtype not in ("f32", "f64"):
        return None
    pair = _factor_and_term(acc, step)
    if pair is None or pair[0] == _unit_factor(acc) or pair[1] == _zero_term(acc):
        return None
    return pair


def _factor_and_term(acc: Accum, e: Expr) -> FactorTerm | None:
    """The pair (f, t) for which `e` equals ``acc * f + t``, where neither reads `acc`; None if `e`
    is no sum, difference or select of parts that have such pairs.
    """
    match e:
        case Call(op="add", args=(a, b)):
            return _sum_of_pair(acc, a, b) or _sum_of_pair(acc, b, a)
        case Call(op="sub", args=(a, b)):
            subtracted = _sum_of_pair(acc, b, a)
            return _sum_of_pair(acc, a, _negated_term(b)) or (
                subtracted and (_negated_term(subtracted[0]), subtracted[1])
            )
        case Call(op="select", args=(cond, a, b)) if acc.name not in names_read(cond):
            a, b = _without_selects(acc, cond, a, 1), _without_selects(acc, cond, b, 2)
            return _select_of_pairs(acc, cond, _factor_and_term(acc, a), _factor_and_term(acc, b))
        case _:
            return _product_of_pair(acc, e)


def _sum_of_pair(acc: Accum, e: Expr, term: Expr) -> FactorTerm | None:
    """The pair of ``e + term``, where `e` is ``acc`` or ``acc * f``; None for another `e`."""
    pair = _product_of_pair(acc, e)
    return (pair[0], term) if pair and acc.name not in names_read(term) else None


def _product_of_pair(acc: Accum, e: Expr) -> FactorTerm | None:
    """The factor and zero term of ``acc`` or ``acc * f``; None for anything else."""
    match e:
        case Var(name=acc.name):
            return _unit_factor(acc), _zero_term(acc)
        case Call(op="mul", args=(Var(name=acc.name), f) | (f, Var(name=acc.name))):
            return (f, _zero_term(acc)) if acc.name not in names_read(f) else None
        case _:
            return None


def _select_of_pairs(
    acc: Accum, cond: Expr, a: FactorTerm | None, b: FactorTerm | None
) -> FactorTerm | None:
    """The pair `a` where `cond` is true, else `b`; None if either is None."""
    if a is None or b is None:
        return None
    factor, term = (
        rewrite(Call("select", (cond, *arms), acc.init.dtype)) for arms in zip(a, b, strict=True)
    )
    return factor, term


def _without_selects(acc: Accum, cond: Expr, e: Expr, side: int) -> Expr:
    """`e` with each select by `cond` in it replaced by its operand number `side`: 1 is the value
    where `cond` is true, 2 that where it is false.

    If-conversion has made these selects: they give an operation a safe operand in lanes that do not
    use its result. `e` is an arm of an outer select by `cond`, so that its other value is dropped.
    """
    match e:
        case Call(op="select", args=(test, *_)) if test == cond:
            return _without_selects(acc, cond, e.args[side], side)
        case Call(op="add" | "sub" | "mul") if acc.name in names_read(e):
            return map_children(e, lambda x: _without_selects(acc, cond, x, side))
        case _:
            return e


def _negated_term(e: Expr) -> Expr:
    return rewrite(Call("neg", (e,), e.dtype))


def _unit_factor(acc: Accum) -> Expr:
    return literal(1.0, acc.init.dtype)


def _zero_term(acc: Accum) -> Expr:
    """The neutral term, -0.0."""
    return literal(-0.0, acc.init.dtype)
