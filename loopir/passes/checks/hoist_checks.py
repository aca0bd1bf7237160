"""Check hoisting (loop predication): the checks of a loop run in a separate loop before it.

The new loop is the backward slice of the checks (`_check_slice`). It may run before the loop if it
computes the same there (`_can_hoist`). Lowering (`loop_exits.py`) uses `hoistable_checks` too, for
loops that stand for a whole-array operation of NumPy, which writes nothing where it raises.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from ...algebra.constant_folding import literal
from ...algebra.index_builder import logical_or
from ...algebra.may_raise import is_replay_check, may_raise_flags, may_replay
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import (
    FreshNames,
    bound_names,
    changed_names,
    expand_names,
    names_read,
    rename_names,
    substitute,
)
from ...ir_traversal import contains, range_bounds, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Break,
    Call,
    Check,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    Return,
    Scan,
    Stmt,
    Var,
    While,
    Zip,
)
from ...op_table import OPS
from ...statement_blocks import Block, map_nested_blocks
from ..vector.if_convert import flatten_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["hoist_checks", "checks_before_writing", "hoistable_checks", "assume_checks_hold"]

_Overlap: TypeAlias = Callable[[frozenset[str], frozenset[str]], bool]
"""Whether one of the first arrays may share memory with one of the second ones."""
_MAX_WEIGHT = 40.0
"""Limit on the weight of the operations that are computed once more, for the checks alone."""
_UNSUPPORTED = (Break, Return, While, Scan, Zip)


def hoist_checks(kernel: Kernel) -> Kernel:
    """Move all checks of a loop to a copy of the loop before its first store, where that is legal.

    A kernel that updates an array cannot be replayed after its first store, unless the caller keeps
    a copy of the array. With all checks done before the first store, the kernel just stops
    (``@stops``) where one fails, and no copy is needed; the loop of checks can also be vectorised.

    Only the last statement with checks is rewritten, and only where that avoids a copy: it is a
    loop that writes an array which it or the code before it reads, and that code writes nothing
    visible. An array that is only written needs no copy: the replay writes it again. A kernel that
    is replayed for a float condition (``strict``), which shows only at the end, needs the copy
    anyway, and stays as it is. A loop that writes private arrays alone needs no copy, but stays
    scalar code if the data decide where: its checks are moved, too, if they cost little
    (`_with_scatter_checks_hoisted`). Before::

        def k(b: i32[::1], h: mut(f64[::1])):
            disjoint(b, h)
            for i in loop(0, b.shape[0]):
                at = i64(b[i])
                inside = (at >= 0) & (at < h.shape[0])
                check(inside, "replay")
                h[select(inside, at, 0)] = h[select(inside, at, 0)] + 1.0

    after::

        @stops
        def k(b: i32[::1], h: mut(f64[::1])):
            disjoint(b, h)
            for i_1 in loop(0, b.shape[0]):
                at_1 = i64(b[i_1])
                inside_1 = (at_1 >= 0) & (at_1 < h.shape[0])
                check(inside_1, "replay")
            for i in loop(0, b.shape[0]):
                at = i64(b[i])
                inside = (at >= 0) & (at < h.shape[0])
                h[select(True, at, 0)] = h[select(True, at, 0)] + 1.0
    """
    if kernel.stops or kernel.strict or not may_replay(*kernel.body):
        return kernel
    kernel = _with_early_checks(_with_checks_of_values(kernel))
    last = max(k for k, s in enumerate(kernel.body) if may_replay(s))
    before, loop = kernel.body[:last], kernel.body[last]
    updates = (arrays_written((loop,)) & arrays_read((*before, loop))) - _private_arrays(kernel)
    if not isinstance(loop, Loop) or arrays_written(before) - _private_arrays(kernel):
        return kernel
    if not updates:
        return _with_scatter_checks_hoisted(kernel, loop, last)
    first = hoistable_checks(loop, AliasInfo(kernel).overlap, FreshNames(kernel).name)
    if first is None:
        return kernel
    body = (*before, *first, assume_checks_hold(loop), *kernel.body[last + 1 :])
    return replace(kernel, body=body, stops=True)


def _with_checks_of_values(kernel: Kernel) -> Kernel:
    """`kernel` with checks of the values in a loop, and of the first one before it, in place of a
    check of their extremum behind it: all checks of the values can then be hoisted together. Only
    for a loop that has checks, and that subscripts which the data decide keep from vectors. ::

        for i in loop(0, n, least=0):              check(0 >= 0, "replay")
            check(b[i] < k, "replay")              for i in loop(0, n):
            h[b[i]] = 1.0                    →         check(b[i] < k, "replay")
            least = step(min(least, b[i]))             h[b[i]] = 1.0
        check(least >= 0, "replay")                    check(b[i] >= 0, "replay")
    """
    body: list[Stmt] = []
    place = 0  # of the last loop among them
    for k, s in enumerate(kernel.body):
        loop = body[-1] if body else None
        if isinstance(s, Check) and isinstance(loop, Loop) and _is_checked_scatter(loop, kernel):
            rest = kernel.body[:place] + kernel.body[place + 1 : k] + kernel.body[k + 1 :]
            if checks := _checks_of_values(s, loop, names_read(*rest)):
                body[-1:] = checks
                continue
        if isinstance(s, Loop):
            place = k
        body.append(s)
    return replace(kernel, body=tuple(body)) if tuple(body) != kernel.body else kernel


def _is_checked_scatter(loop: Loop, kernel: Kernel) -> bool:
    """Whether `loop` has checks, and cannot be vectorised for where it stores."""
    if loop.until is not None or not may_replay(loop):
        return False
    flat = flatten_loop(loop, kernel, FreshNames(kernel)) or loop
    obstacle = vectorization_obstacle(flat, kernel)
    return obstacle is not None and obstacle.code == "VECTOR_SUBSCRIPT"


def _checks_of_values(
    check: Check, loop: Loop, others: Collection[str]
) -> tuple[Check, Loop] | None:
    """The check of the first value, and `loop` with one of each other value, in place of `check` of
    an extremum that `loop` finds; None where it is no such check, or where the extremum is among
    `others`, names that other statements read.
    """
    match check.cond:
        case Call("ge" | "lt" as op, (Var(name, dtype="i64"), bound)) if name not in others:
            fold = "min" if op == "ge" else "max"
        case _:
            return None
    acc = next((a for a in loop.accs if a.name == name), None)
    if acc is None:
        return None
    match acc.step:
        case Call(op=found, args=(a, b)) if found == fold and acc.current in (a, b):
            value = b if a == acc.current else a
        case _:
            return None
    rest = tuple(a for a in loop.accs if a is not acc)
    if name in names_read(*loop.body, value, *(a.step for a in rest)):
        return None
    if names_read(bound) & bound_names(loop) or contains(bound, Load):
        return None
    first, each = (
        replace(check, cond=rewrite(Call(op, (e, bound), "bool"))) for e in (acc.init, value)
    )
    return first, replace(loop, body=(*loop.body, each), accs=rest)


def _with_early_checks(kernel: Kernel) -> Kernel:
    """`kernel` with the checks of its outermost block that load nothing before the statements that
    they do not depend on: a loop may then be the last statement with checks.
    """
    body: list[Stmt] = []
    for s in kernel.body:
        place = len(body)
        if isinstance(s, Check) and is_replay_check(s) and not contains(s.cond, Load):
            read = names_read(s)
            while place and isinstance(body[place - 1], Loop) and not may_raise_flags(s.cond):
                if read & bound_names(body[place - 1]):
                    break
                place -= 1
        body.insert(place, s)
    return replace(kernel, body=tuple(body)) if tuple(body) != kernel.body else kernel


def _with_scatter_checks_hoisted(kernel: Kernel, loop: Loop, place: int) -> Kernel:
    """`kernel` with the checks of `loop`, its statement number `place`, before it, if the loop
    only writes private arrays, at subscripts that the data decide: it stays scalar code, while a
    loop of checks runs in vectors. Checks of values that the loop itself computes stay in it (that
    a count does not overflow). Not if the checks compute much.
    """
    writes = arrays_written((loop,))
    if writes - _private_arrays(kernel) or not writes & arrays_read((loop,)):
        return kernel
    flat = flatten_loop(loop, kernel, FreshNames(kernel)) or loop
    obstacle = vectorization_obstacle(flat, kernel)
    if obstacle is None or obstacle.code != "VECTOR_SUBSCRIPT":
        return kernel
    overlap = AliasInfo(kernel).overlap
    checks = [s for s in loop.body if isinstance(s, Check) and is_replay_check(s)]
    hoisted = [
        c for c in checks
        if _can_hoist(_check_slice((_with_checks(loop, (c,)),), set()), loop, overlap)
    ]
    first = hoistable_checks(_with_checks(loop, hoisted), overlap, FreshNames(kernel).name)
    calls = [n for s in first or () for n in walk(s) if isinstance(n, Call)]
    if not hoisted or first is None or sum(OPS[n.op].weight for n in calls) > _MAX_WEIGHT:
        return kernel
    inner = (n for s in loop.body if not isinstance(s, Check) for n in walk(s))
    hoisted += [n for n in inner if isinstance(n, Check) and is_replay_check(n)]
    rest = map_nested_blocks(loop, partial(_assume_block_checks_hold, only=tuple(hoisted)))
    body = (*kernel.body[:place], *first, rest, *kernel.body[place + 1 :])
    return replace(kernel, body=body, stops=True)


def _with_checks(loop: Loop, checks: Sequence[Check]) -> Loop:
    """`loop` with only these checks among those of its own block."""
    body = tuple(s for s in loop.body if not isinstance(s, Check) or s in checks)
    return replace(loop, body=body)


def _private_arrays(kernel: Kernel) -> set[str]:
    """Arrays that are not visible after the kernel: they need not be restored for a replay."""
    local = {n.name for s in kernel.body for n in walk(s) if isinstance(n, Local)}
    return {p.name for p in kernel.params if p.owned} | local


def hoistable_checks(
    loop: Loop, overlap: _Overlap, name: Callable[[str], str]
) -> tuple[Stmt, ...] | None:
    """The checks in `loop` as a loop (empty if it has none); None where they cannot run before it.

    ``overlap``: whether arrays read may alias arrays written; ``name``: makes a fresh name.
    """
    checks_only = _check_slice((loop,), set())
    if not _can_hoist(checks_only, loop, overlap):
        return None
    names = {n: name(n) for n in sorted(bound_names(*checks_only))}
    return tuple(rename_names(s, names) for s in checks_only)


def assume_checks_hold(loop: Loop) -> Stmt:
    """`loop` without its checks, all of which are known to hold when it runs."""
    return map_nested_blocks(loop, _assume_block_checks_hold)


def checks_before_writing(kernel: Kernel) -> bool:
    """Whether Python can replay a failed call of `kernel` without copies of the arrays, for
    `transpile.lower.assemble_plan`. True if

    - nothing leads to a replay: there is no check that does, and no ``strict`` float condition; or
    - the kernel ends at the first failed check (``stops``; else it would go on and store), and the
      statements up to the last one with a check store to private arrays only. A ``strict``
      condition shows after all stores: then no array is read and written either, as Python could
      not write the same again.

    If the kernel is a single ``if``, this must hold for each side.
    """
    match kernel.body:
        case (If(then=then, orelse=orelse),):
            return all(checks_before_writing(replace(kernel, body=b)) for b in (then, orelse))
    checking = [k for k, s in enumerate(kernel.body) if may_replay(s)]
    if not checking and not kernel.strict:
        return True
    private = _private_arrays(kernel)
    if kernel.strict and (arrays_written(kernel.body) & arrays_read(kernel.body)) - private:
        return False
    checked_part = kernel.body[: max(checking, default=-1) + 1]
    return kernel.stops and not arrays_written(checked_part) - private


def _check_slice(stmts: Sequence[Stmt], names: set[str]) -> tuple[Stmt, ...]:
    """The checks in `stmts` and the statements that they, or the values of `names`, depend on (a
    backward slice).

    Loops and branches around checks are kept without their accumulators and yields. `names` is
    extended by the names that the slice reads.
    """
    needed: list[Stmt] = []
    for s in reversed(stmts):
        match s:
            case Check(code="replay"):
                names |= names_read(s)
                needed.append(s)
            case Assign(name=name) if name in names:
                names |= names_read(s)
                needed.append(s)
            case Loop() if may_replay(s):
                inner = replace(s, body=_check_slice(s.body, names), accs=())
                names |= names_read(*range_bounds(s.range))
                needed += reversed(_without_invariant_checks(inner))
            case If() if may_replay(s):
                then, orelse = _check_slice(s.then, names), _check_slice(s.orelse, names)
                needed.append(replace(s, then=then, orelse=orelse, yields=()))
                names |= names_read(s.cond)
    return _without_repeated(reversed(needed))


def _without_invariant_checks(s: Loop) -> tuple[Stmt, ...]:
    """The loop `s`, which has no accumulators, without the checks that it does not change: they
    stand before it, and hold as well if it has no iteration. Nothing else, if it had only such.

        for j in loop(0, n): check(inside, "replay")   →   check(inside | (n <= 0), "replay")
    """
    bound = changed_names(s)
    is_empty = Call("le", range_bounds(s.range)[::-1], "bool")
    if not isinstance(s.range, Interval):
        return (s,)
    values = {x.name: x.value for x in s.body if isinstance(x, Assign)}
    before, rest = list[Stmt](), list[Stmt]()
    for x in s.body:
        if isinstance(x, Check):
            cond = expand_names(x.cond, values) or x.cond
            is_fixed = names_read(cond).isdisjoint(bound) and not contains(cond, Load)
            if is_fixed and not may_raise_flags(cond):
                before.append(replace(x, cond=logical_or(cond, is_empty)))
                continue
        rest.append(x)
    return (*before, replace(s, body=tuple(rest))) if may_replay(*rest) else tuple(before)


def _without_repeated(stmts: Iterable[Stmt]) -> tuple[Stmt, ...]:
    """`stmts` without the checks that an earlier one implies: of the same condition, or of it or
    something else.
    """
    kept: list[Stmt] = []
    seen: set[tuple[Expr, str]] = set()
    for s in stmts:
        if isinstance(s, Check):
            sides = s.cond.args if isinstance(s.cond, Call) and s.cond.op == "or" else (s.cond,)
            if any((side, s.code) in seen for side in (s.cond, *sides)):
                continue
            seen.add((s.cond, s.code))
        kept.append(s)
    return tuple(kept)


def _can_hoist(checks_only: tuple[Stmt, ...], loop: Loop, overlap: _Overlap) -> bool:
    """Whether the statements `checks_only`, run before `loop`, compute the same as in it.

    They do not if they depend on a value that the loop carries or on an array that it writes, if
    the loop may be left early, or if they call functions that round differently in vector code.
    """
    nodes = [n for s in checks_only for n in walk(s)]
    is_uncarried = not names_read(*checks_only) & (bound_names(loop) - bound_names(*checks_only))
    is_exact = all(n.op == "cast" or not OPS[n.op].ulps for n in nodes if isinstance(n, Call))
    runs_to_end = not any(
        isinstance(n, _UNSUPPORTED) or (isinstance(n, Loop) and n.until is not None)
        for n in walk(loop)
    )
    is_unwritten = not overlap(arrays_read(checks_only), arrays_written((loop,)))
    return is_uncarried and is_exact and runs_to_end and is_unwritten


def _assume_block_checks_hold(b: Block, only: Sequence[Check] | None = None) -> Block:
    """`b` without its checks, with their conditions replaced by True. ``only``: of these checks."""
    checks = [
        s for s in b.stmts
        if isinstance(s, Check) and is_replay_check(s) and (only is None or s in only)
    ]
    bound_here = bound_names(*(s for s in b.stmts if isinstance(s, Assign)))
    true_names = {c.cond.name for c in checks if isinstance(c.cond, Var)} & bound_here
    values: dict[str, Expr] = {name: literal(True, "bool") for name in true_names}
    stmts = tuple(
        map_nested_blocks(substitute(s, values), partial(_assume_block_checks_hold, only=only))
        for s in b.stmts
        if s not in checks
    )
    return replace(b, stmts=stmts, results=tuple(substitute(e, values) for e in b.results))
