"""Check hoisting (loop predication): the checks of a loop run in a loop of their own before it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from ...algebra.constant_folding import literal
from ...algebra.may_raise import is_replay_check, may_replay
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, bound_names, names_read, rename_names, substitute
from ...ir_traversal import range_bounds, walk
from ...nodes import (
    Assign,
    Break,
    Call,
    Check,
    Expr,
    If,
    Kernel,
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

__all__ = ["hoist_checks", "checks_before_writing", "hoistable_checks", "assume_checks_hold"]

_Overlap: TypeAlias = Callable[[frozenset[str], frozenset[str]], bool]
_UNSUPPORTED = (Break, Return, While, Scan, Zip)


def hoist_checks(kernel: Kernel) -> Kernel:
    """All checks of a loop go in a loop of their own before its first store, where they can.

    What has been updated cannot be had back; so nothing is, and the kernel stops, before each check
    has held. No copy of the arrays is needed then, and the checks alone may have vectors. Before::

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
    places = [k for k, s in enumerate(kernel.body) if _checks(s)]
    if kernel.stops or not places:
        return kernel
    k = places[-1]
    before, loop = kernel.body[:k], kernel.body[k]
    updates = (arrays_written((loop,)) & arrays_read((*before, loop))) - _private_arrays(kernel)
    if (
        not isinstance(loop, Loop)
        or not updates
        or arrays_written(before) - _private_arrays(kernel)
    ):
        return kernel
    first = hoistable_checks(loop, AliasInfo(kernel).overlap, FreshNames(kernel).name)
    if first is None:
        return kernel
    body = (*before, *first, assume_checks_hold(loop), *kernel.body[k + 1 :])
    return replace(kernel, body=body, stops=True)


def _private_arrays(kernel: Kernel) -> set[str]:
    """Arrays that nobody sees after the kernel: what is written there is not to be had back."""
    return {p.name for p in kernel.params if p.owned}


def hoistable_checks(
    loop: Loop, overlap: _Overlap, name: Callable[[str], str]
) -> tuple[Stmt, ...] | None:
    """A loop of the checks in `loop`, if it has any; None where they cannot go before it.

    ``overlap``: of arrays read, and written; ``name`` makes a name new.
    """
    asked = _check_slice((loop,), set())
    if not _can_hoist(asked, loop, overlap):
        return None
    names = {n: name(n) for n in sorted(bound_names(*asked))}
    return tuple(rename_names(s, names) for s in asked)


def assume_checks_hold(loop: Loop) -> Stmt:
    """`loop` after all of its checks have held, in a kernel that stops where one does not."""
    return map_nested_blocks(loop, _assume_block_checks_hold)


def checks_before_writing(kernel: Kernel) -> bool:
    """Whether `kernel` has written nothing yet where Python may have to decide."""
    places = [k for k, s in enumerate(kernel.body) if _checks(s)]
    if not places and not kernel.strict:
        return True
    first = kernel.body[: max(places, default=-1) + 1]
    return kernel.stops and not arrays_written(first) - _private_arrays(kernel)


def _checks(s: Stmt) -> bool:
    return may_replay(s)


def _check_slice(stmts: Sequence[Stmt], names: set[str]) -> tuple[Stmt, ...]:
    """The checks in `stmts`, and what they and `names`, which grow by it, depend on."""
    kept: list[Stmt] = []
    for s in reversed(stmts):
        match s:
            case Check(code="replay"):
                names |= names_read(s)
                kept.append(s)
            case Assign(name=name) if name in names:
                names |= names_read(s)
                kept.append(s)
            case Loop() if _checks(s):
                kept.append(replace(s, body=_check_slice(s.body, names), accs=()))
                names |= names_read(*range_bounds(s.range))
            case If() if _checks(s):
                then, orelse = _check_slice(s.then, names), _check_slice(s.orelse, names)
                kept.append(replace(s, then=then, orelse=orelse, yields=()))
                names |= names_read(s.cond)
    return tuple(reversed(kept))


def _can_hoist(asked: tuple[Stmt, ...], loop: Loop, overlap: _Overlap) -> bool:
    """Whether `asked` says before `loop` exactly what the checks in it would say.

    Not where it rests on what the loop writes or carries, on how far it comes, or on functions that
    vectors compute otherwise.
    """
    nodes = [n for s in asked for n in walk(s)]
    steady = not names_read(*asked) & (bound_names(loop) - bound_names(*asked))
    exact = all(n.op == "cast" or not OPS[n.op].ulps for n in nodes if isinstance(n, Call))
    whole = not any(
        isinstance(n, _UNSUPPORTED) or (isinstance(n, Loop) and n.until is not None)
        for n in walk(loop)
    )
    still = not overlap(arrays_read(asked), arrays_written((loop,)))
    return steady and exact and whole and still


def _assume_block_checks_hold(b: Block) -> Block:
    """`b` where all of its checks have held."""
    checks = [s for s in b.stmts if isinstance(s, Check) and is_replay_check(s)]
    here = bound_names(*(s for s in b.stmts if isinstance(s, Assign)))
    held = {c.cond.name for c in checks if isinstance(c.cond, Var)} & here
    true: dict[str, Expr] = {name: literal(True, "bool") for name in held}
    stmts = tuple(
        map_nested_blocks(substitute(s, true), _assume_block_checks_hold)
        for s in b.stmts
        if s not in checks
    )
    return replace(b, stmts=stmts, results=tuple(substitute(e, true) for e in b.results))
