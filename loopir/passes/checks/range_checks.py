"""Range checks by min and max: a loop that only checks bounds tests the extreme values once."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...algebra.constant_folding import index_const, is_lossless_cast, literal
from ...algebra.may_raise import may_raise_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, names_read, substitute, substitute_bounded
from ...ir_traversal import bottom_up, walk
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Call, Check, Expr, Interval, Kernel, Loop, Stmt, Var
from ...statement_blocks import Block, map_blocks
from ..loop_splitting import can_split_loop, split_loop_at
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["range_checks"]

_EXTREMUM_OF = {"gt": "min", "ge": "min", "lt": "max", "le": "max"}
"""The extremum for which a comparison must hold, so that it holds for all values."""


def range_checks(kernel: Kernel) -> Kernel:
    """Turn bound checks of an integer into a minimum and a maximum, checked once after the loop.

    Where the next loop tests whether the same integer is negative, it is split: with a minimum >= 0
    all iterations run without the test. Before::

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
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(b: Block) -> Block:
        stmts: list[Stmt] = []
        least: dict[Expr, Var] = {}
        for before, s in zip((None, *b.stmts), b.stmts, strict=False):
            if isinstance(s, Loop) and (checked := _checked_extrema(s, fresh)):
                made, least = checked
                stmts += made
                continue
            found = _known_false(s, before, least, memory) if isinstance(s, Loop) else None
            if isinstance(s, Loop) and found and vectorization_obstacle(s, kernel):
                stmts += _split_on_least(s, *found, fresh)
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

    None where the loop does anything but check bounds.
    """
    checks = [s for s in loop.body if isinstance(s, Check)]
    plain = all(isinstance(s, Assign | Check) for s in loop.body) and not may_raise_flags(loop)
    if not (checks and plain and isinstance(loop.range, Interval)) or loop.accs or loop.until:
        return None
    values = _assigned_values(loop)
    folds: dict[tuple[str, Expr], Var] = {}
    checked = [substitute_bounded(c.cond, values) for c in checks]
    if names_read(*checked) & values.keys():
        return None
    conds = [_bound_check(c, loop, folds, fresh) for c in checked]
    none = Var(fresh.name("none"), "bool")
    empty = Assign(none.name, rewrite(Call("le", (loop.range.hi, loop.range.lo), "bool")))
    made = tuple(
        replace(c, cond=Call("or", (none, cond), "bool"))
        for c, cond in zip(checks, conds, strict=True) if cond is not None
    )
    if len(made) < len(checks):
        return None
    accs = tuple(_extremum_step(op, e, acc) for (op, e), acc in folds.items())
    least = {e: acc for (op, e), acc in folds.items() if op == "min"}
    return (replace(loop, body=(), accs=accs), empty, *made), least


def _extremum_step(op: str, e: Expr, acc: Var) -> Accum:
    end = DTYPES[e.dtype].high if op == "min" else DTYPES[e.dtype].low
    return Accum(acc.name, literal(end, e.dtype), Call(op, (acc, e), e.dtype), span=e.span)


def _bound_check(
    cond: Expr, loop: Loop, folds: dict[tuple[str, Expr], Var], fresh: FreshNames
) -> Expr | None:
    """`cond` on the extrema, which are added to `folds`; None where it is no bound check."""
    match cond:
        case Call(op="and", args=(a, b)):
            both = [_bound_check(x, loop, folds, fresh) for x in (a, b)]
            return None if None in both else replace(cond, args=tuple(both))  # type: ignore[arg-type]
        case Call(op=op, args=(e, end)) if op in _EXTREMUM_OF and not _is_invariant(e, loop):
            inner = _narrowest(e)
            if not _is_invariant(end, loop) or DTYPES[inner.dtype].kind not in "iu":
                return None
            key = _EXTREMUM_OF[op], inner
            if key not in folds:
                folds[key] = Var(fresh.name("least" if key[0] == "min" else "most"), inner.dtype)
            return replace(cond, args=(_widened(e, folds[key]), end))
        case _:
            return None


def _is_invariant(e: Expr, loop: Loop) -> bool:
    return loop.var not in names_read(e) and not arrays_read((e,))


def _narrowest(e: Expr) -> Expr:
    while isinstance(e, Call) and e.op == "cast" and is_lossless_cast(e.args[0].dtype, e.dtype):
        e = e.args[0]
    return e


def _widened(e: Expr, inner: Expr) -> Expr:
    return rewrite(Call("cast", (inner,), e.dtype)) if e.dtype != inner.dtype else inner


# -- the next loop


def _assigned_values(loop: Loop) -> dict[str, Expr]:
    """The values of the names that `loop` assigns, over its variable."""
    values: dict[str, Expr] = {}
    for s in loop.body:
        if isinstance(s, Assign):
            values[s.name] = substitute_bounded(s.value, values)
    return values


def _known_false(
    loop: Loop, before: Stmt | None, least: Mapping[Expr, Var], memory: AliasInfo
) -> tuple[frozenset[Expr], Var] | None:
    """Comparisons in `loop` that are false if a minimum computed by `before` is >= 0, and that
    minimum.
    """
    if not isinstance(before, Loop) or before.range != loop.range or not can_split_loop(loop):
        return None
    values, i = _assigned_values(loop), {loop.var: Var(before.var, INDEX)}
    for e, acc in least.items():
        tests = frozenset(
            n for s in loop.body for n in walk(s)
            if isinstance(n, Call) and n.op == "lt" and n.args[1] == literal(0, n.args[1].dtype)
            and _narrowest(substitute(substitute(n.args[0], values), i)) == e
        )
        if tests and not memory.overlap(arrays_read((e,)), arrays_written((loop,))):
            return tests, acc
    return None


def _split_on_least(
    loop: Loop, tests: frozenset[Expr], least: Var, fresh: FreshNames
) -> tuple[Stmt, ...]:
    assert isinstance(loop.range, Interval)
    plain = Var(fresh.name("plain"), INDEX)
    counts = Call("ge", (least, literal(0, least.dtype)), "bool")
    turns = Call("select", (counts, loop.range.hi, index_const(0)), INDEX)

    def known(n: Any) -> Any:
        return literal(False, "bool") if n in tests else rewrite(n) if isinstance(n, Call) else n

    both = split_loop_at(loop, plain, lambda n: bottom_up(n, known), fresh)
    return Assign(plain.name, turns, span=loop.span), *both
