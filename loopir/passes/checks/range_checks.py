"""Range checks by min and max: a loop that only checks bounds tests the extreme values once.

``lo <= x[i] < hi`` holds in every iteration if and only if it holds for the minimum and the maximum
of x, which are vectorisable reductions. `hoist_checks` made the loop. The minimum also decides for
the next loop whether the same integer is ever negative; where not, that loop needs no wrap-around
test (`_split_on_least`).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from ...algebra.constant_folding import index_const, is_lossless_cast, literal
from ...algebra.index_builder import logical_and, logical_or
from ...algebra.may_raise import may_raise_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, names_read, substitute, substitute_bounded
from ...ir_traversal import bottom_up, counted_range, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    Expr,
    Interval,
    Kernel,
    Load,
    Loop,
    Stmt,
    Var,
)
from ...statement_blocks import Block, map_blocks
from ..loop_splitting import can_split_loop, split_loop_at, strip_mine_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["range_checks"]

_EXTREMUM_OF = {"gt": "min", "ge": "min", "lt": "max", "le": "max"}
"""The extremum for which a comparison must hold, so that it holds for all values."""
_BLOCK = 1 << 14  # iterations between two checks of an extremum


def range_checks(kernel: Kernel) -> Kernel:
    """Turn a loop that only checks the bounds of an integer into a reduction to its minimum and its
    maximum, and one check after it. A reduction runs in vectors, a check in each iteration does
    not.

    The loop must be counted, and its checks conjunctions of comparisons with bounds that the loop
    does not change (`_checked_extrema`). In the next loop, which stores, a test whether the same
    integer is negative is known to be false if the minimum is >= 0: that loop is split, and with
    such a minimum all its iterations run without the test. It is split only if it stays scalar:
    in vectors the test is a cheap select. Before::

        def k(b: i32[::1], h: mut(f64[::1])):
            disjoint(b, h)
            for i in loop(0, b.shape[0]):
                check((i64(b[i]) >= 0 - h.shape[0]) & (i64(b[i]) < h.shape[0]), "replay")
            for j in loop(0, b.shape[0]):
                v = b[j]
                at = select(v < i32(0), i64(v) + h.shape[0], i64(v))
                h[at] = h[at] + 1.0

    after::

        def k(b: i32[::1], h: mut(f64[::1])):
            disjoint(b, h)
            for i in loop(0, b.shape[0], least=i32(2147483647), most=i32(-2147483648)):
                least = step(min(least, b[i]))
                most = step(max(most, b[i]))
            none = b.shape[0] <= 0
            check(none | (i64(least) >= 0 - h.shape[0]) & (i64(most) < h.shape[0]), "replay")
            plain = select(least >= i32(0), b.shape[0], 0)
            for j_1 in loop(0, plain):
                v_1 = b[j_1]
                at_1 = i64(v_1)
                h[at_1] = h[at_1] + 1.0
            for j in loop(plain, b.shape[0]):
                v = b[j]
                at = select(v < i32(0), i64(v) + h.shape[0], i64(v))
                h[at] = h[at] + 1.0

    The bounds of an integer that is a float cut are compared with the float (`_with_float_bounds`).

    If no array bounds the number of iterations (`_is_bounded`), as for ``i % 50 < h.shape[0]``, the
    reduction runs in blocks, with the check after each: the loop may be endless, compared with what
    Python runs of it until it raises.
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(b: Block) -> Block:
        """`b` with each loop that only checks bounds replaced, and the loop after it split."""
        stmts: list[Stmt] = []
        least: dict[Expr, Var] = {}
        for previous, s in zip((None, *b.stmts), b.stmts, strict=False):
            if isinstance(s, Loop) and (checked := _checked_extrema(s, fresh)):
                replacement, least = checked
                stmts += replacement
                continue
            s = _with_float_bounds(s) if isinstance(s, Loop) else s
            decided = _known_false(s, previous, least, memory) if isinstance(s, Loop) else None
            if isinstance(s, Loop) and decided and vectorization_obstacle(s, kernel):
                stmts += _split_on_least(s, *decided, fresh)
            else:
                stmts.append(s)
            least = {}
        return b if tuple(stmts) == b.stmts else replace(b, stmts=tuple(stmts))

    return map_blocks(kernel, edit, vectors=False)


# -- the loop of checks


def _checked_extrema(
    loop: Loop, fresh: FreshNames
) -> tuple[tuple[Stmt, ...], dict[Expr, Var]] | None:
    """The reductions and checks that replace `loop`, and the minimum of each integer that has one.

    Every check passes where the loop has no iterations. None where the loop does anything but check
    bounds.
    """
    checks = [s for s in loop.body if isinstance(s, Check)]
    only_checks = all(isinstance(s, Assign | Check) for s in loop.body) and not may_raise_flags(
        loop
    )
    counted = counted_range(loop)
    if not (checks and only_checks) or loop.accs or counted is None:
        return None
    values = _assigned_values(loop)
    folds: dict[tuple[str, Expr], Var] = {}
    checked = [substitute_bounded(c.cond, values) for c in checks]
    if names_read(*checked) & values.keys():
        return None
    conditions = [_bound_check(c, loop, folds, fresh) for c in checked]
    new_checks = [
        replace(c, cond=cond)
        for c, cond in zip(checks, conditions, strict=True) if cond is not None
    ]
    if len(new_checks) < len(checks):
        return None
    accs = tuple(_extremum_step(op, e, acc) for (op, e), acc in folds.items())
    least = {e: acc for (op, e), acc in folds.items() if op == "min"}
    reduction = replace(loop, body=(), accs=accs)
    if not any(_is_bounded(e, loop.var) for _, e in folds):
        return (_with_checks_of_blocks(reduction, new_checks, fresh),), least
    is_empty = Var(fresh.name("none"), "bool")
    empty_assign = Assign(
        is_empty.name, rewrite(Call("le", (counted.hi, counted.lo), "bool"))
    )
    after = (replace(c, cond=Call("or", (is_empty, c.cond), "bool")) for c in new_checks)
    return (reduction, empty_assign, *after), least


def _is_bounded(e: Expr, var: str) -> bool:
    """Whether a loop over `var` that computes `e` has at most as many iterations as some array has
    elements: each loads another one.
    """
    subscripts = (index for n in walk(e) if isinstance(n, Load) for index in n.index)
    forms = (affine_form(index, (var,)) for index in subscripts)
    return any(form is not None and var in form.terms for form in forms)


def _with_checks_of_blocks(loop: Loop, checks: Sequence[Check], fresh: FreshNames) -> Loop:
    """The reduction `loop` in blocks, with `checks` of its results after each block."""
    blocks = strip_mine_loop(loop, _BLOCK, {}, fresh)
    steps = {a.name: a.step for a in blocks.accs}
    return replace(blocks, body=(*blocks.body, *(substitute(c, steps) for c in checks)))


def _extremum_step(op: str, e: Expr, acc: Var) -> Accum:
    """The accumulator `acc` of the minimum or maximum of `e`; it starts at the greatest or least
    value of the dtype.
    """
    start = DTYPES[e.dtype].high if op == "min" else DTYPES[e.dtype].low
    return Accum(acc.name, literal(start, e.dtype), Call(op, (acc, e), e.dtype), span=e.span)


def _bound_check(
    cond: Expr, loop: Loop, folds: dict[tuple[str, Expr], Var], fresh: FreshNames
) -> Expr | None:
    """`cond` with each checked integer replaced by its extremum, which is added to `folds`; None
    where `cond` is no conjunction of bound checks.
    """
    match cond:
        case Call(op="and", args=(a, b)):
            operands = [_bound_check(x, loop, folds, fresh) for x in (a, b)]
            return None if None in operands else replace(cond, args=tuple(operands))  # type: ignore[arg-type]
        case Call(op=op, args=(e, bound)) if op in _EXTREMUM_OF and not _is_invariant(e, loop):
            integer = _narrowest(e)
            if not _is_invariant(bound, loop) or DTYPES[integer.dtype].kind not in "iu":
                return None
            key = _EXTREMUM_OF[op], integer
            if key not in folds:
                folds[key] = Var(fresh.name("least" if key[0] == "min" else "most"), integer.dtype)
            return replace(cond, args=(_cast_back(e, folds[key]), bound))
        case _:
            return None


def _is_invariant(e: Expr, loop: Loop) -> bool:
    """Whether `e` reads neither the loop variable nor memory."""
    return loop.var not in names_read(e) and not arrays_read((e,))


def _narrowest(e: Expr) -> Expr:
    """`e` without casts that preserve every value."""
    while isinstance(e, Call) and e.op == "cast" and is_lossless_cast(e.args[0].dtype, e.dtype):
        e = e.args[0]
    return e


def _cast_back(e: Expr, inner: Expr) -> Expr:
    """`inner` cast back to the dtype of `e`."""
    return rewrite(Call("cast", (inner,), e.dtype)) if e.dtype != inner.dtype else inner


# -- integers that are cut floats


def _with_float_bounds(loop: Loop) -> Loop:
    """`loop`, if it does nothing but check, with the bounds of an integer that is a float cut as
    comparisons with the float: no vector instruction of AVX2 converts float64 to int64.

        at = i64(select(fits, t, 0.0))
        check((at >= low) & (at < high), "replay")

    becomes ``check((t > f64(low - 1)) & (t < f64(high)), "replay")``, which implies that `t` fits
    an int64: a check of `fits` is left out. Where a bound is beyond 2**53 it may be rounded to one
    that is stricter, and never to a weaker one; then the call is replayed.
    """
    if loop.accs or not all(isinstance(s, Assign | Check) for s in loop.body):
        return loop
    values = {s.name: s.value for s in loop.body if isinstance(s, Assign)}
    implied: set[Expr] = set()
    kept: list[Stmt] = []
    for s in reversed(loop.body):
        if isinstance(s, Check) and (bounded := _float_bounds(s.cond, values)):
            kept.append(replace(s, cond=bounded[0]))
            implied.add(bounded[1])
        elif s.cond not in implied if isinstance(s, Check) else bound_names(s) & names_read(*kept):
            kept.append(s)
    return replace(loop, body=tuple(kept[::-1])) if implied else loop


def _float_bounds(cond: Expr, values: Mapping[str, Expr]) -> tuple[Expr, Expr] | None:
    """The condition that the float is within the bounds of `cond`, and the one that its integer
    part fits an int64, which it implies; None where `cond` bounds no cut float, or several.
    """
    cuts: set[tuple[Expr, Expr]] = set()
    bounded, sides = _with_floats(cond, values, cuts)
    if len(cuts) != 1:
        return None
    [(fits, t)] = cuts
    limits = _limits_of_int64(values.get(fits.name, fits) if isinstance(fits, Var) else fits, t)
    if limits is None:
        return None
    missing = [c for side, c in zip(("ge", "lt"), limits, strict=True) if side not in sides]
    return reduce(logical_and, missing, bounded), fits


def _with_floats(
    cond: Expr, values: Mapping[str, Expr], cuts: set[tuple[Expr, Expr]]
) -> tuple[Expr, frozenset[str]]:
    """`cond` with comparisons of floats, which are added to `cuts`, for those of cut floats; and
    the comparisons (``"ge"``, ``"lt"``) which tell that the float is bounded on that side::

        (at >= 0) & (at < k)    →    (t > -1.0) & (t < f64(k))                    ge, lt
        min(at, k - 1) >= -k    →    (t > f64(-k - 1)) & (k - 1 >= -k)            ge
        max(at, 0) >= -k        →    (t > f64(-k - 1)) | (0 >= -k)
    """
    match cond:
        case Call("and", (a, b)):
            (p, of_p), (q, of_q) = (_with_floats(x, values, cuts) for x in (a, b))
            return logical_and(p, q), of_p | of_q
        case Call("ge" | "lt" as op, (e, bound)):
            pass
        case _:
            return cond, frozenset()
    match values.get(e.name, e) if isinstance(e, Var) else e:
        case Call("min" | "max" | "minimum" | "maximum" as extremum, (a, b)):
            (p, of_p), (q, of_q) = (
                _with_floats(Call(op, (x, bound), "bool"), values, cuts) for x in (a, b)
            )
            if (op == "ge") == (extremum in ("min", "minimum")):  # both operands are bounded
                return logical_and(p, q), of_p | of_q
            return logical_or(p, q), of_p & of_q
    cut = _cut_float(e, values)
    if cut is None:
        return rewrite(cond), frozenset()
    cuts.add(cut)
    if op == "ge":  # compared with one less, so that no rounding makes the bound weaker
        less = rewrite(Call("sub", (bound, index_const(1)), INDEX))
        return Call("gt", (_as_f64(cut[1]), _as_f64(less)), "bool"), frozenset((op,))
    return Call("lt", (_as_f64(cut[1]), _as_f64(bound)), "bool"), frozenset((op,))


def _cut_float(e: Expr, values: Mapping[str, Expr]) -> tuple[Expr, Expr] | None:
    """Where `e` is the integer part of a float: the condition that it fits an int64, and the whole
    float; else None.
    """
    match values.get(e.name, e) if isinstance(e, Var) else e:
        case Call("cast", (Call("select", (fits, t, Const())),), "i64"):
            return fits, t
    return None


def _as_f64(e: Expr) -> Expr:
    """`e` as a float64, rounded."""
    return e if e.dtype == "f64" else rewrite(Call("cast", (e,), "f64"))


def _limits_of_int64(cond: Expr, t: Expr) -> tuple[Expr, Expr] | None:
    """The two comparisons of `t`, which is whole, with the bounds of int64, where `cond` is these
    and nothing else; else None.
    """
    match cond:
        case Call("and", (Call("ge", (a, Const(low))) as p, Call("lt", (b, Const(high))) as q)):
            if a == b == t and (low, high) == (float(-1 << 63), float(1 << 63)):
                return p, q
    return None


# -- the next loop


def _assigned_values(loop: Loop) -> dict[str, Expr]:
    """The values of the names that `loop` assigns, over its variable."""
    values: dict[str, Expr] = {}
    for s in loop.body:
        if isinstance(s, Assign):
            values[s.name] = substitute_bounded(s.value, values)
    return values


def _known_false(
    loop: Loop, previous: Stmt | None, least: Mapping[Expr, Var], memory: AliasInfo
) -> tuple[frozenset[Expr], Var] | None:
    """The comparisons ``x < 0`` in `loop` that are false if a minimum in `least` is >= 0, and that
    minimum.

    `least` has the minima that the loop `previous`, over the same range, has computed. None if
    there are no such comparisons, or `loop` overwrites x.
    """
    if not isinstance(previous, Loop) or previous.range != loop.range or not can_split_loop(loop):
        return None
    values, same_iteration = _assigned_values(loop), {loop.var: Var(previous.var, INDEX)}
    for e, acc in least.items():
        tests = frozenset(
            n for s in loop.body for n in walk(s)
            if isinstance(n, Call) and n.op == "lt" and n.args[1] == literal(0, n.args[1].dtype)
            and _narrowest(substitute(substitute(n.args[0], values), same_iteration)) == e
        )
        if tests and not memory.overlap(arrays_read((e,)), arrays_written((loop,))):
            return tests, acc
    return None


def _split_on_least(
    loop: Loop, tests: frozenset[Expr], least: Var, fresh: FreshNames
) -> tuple[Stmt, ...]:
    """`loop` as two loops, which are split at a new name. If `least` >= 0 that is the end of the
    loop, so that all iterations run in the first loop, which is without `tests`; else it is 0, and
    they run in the second one, which is `loop` as it was.
    """
    assert isinstance(loop.range, Interval)
    test_free_end = Var(fresh.name("plain"), INDEX)
    is_nonnegative = Call("ge", (least, literal(0, least.dtype)), "bool")
    end = Call("select", (is_nonnegative, loop.range.hi, index_const(0)), INDEX)

    def decide(n: Any) -> Any:
        return literal(False, "bool") if n in tests else rewrite(n) if isinstance(n, Call) else n

    loops = split_loop_at(loop, test_free_end, lambda n: bottom_up(n, decide), fresh)
    return Assign(test_free_end.name, end, span=loop.span), *loops
