"""Prefix scans: running reductions and recurrences whose partial results each iteration reads.

Used by `vectorize`, which turns them into `Prefix` nodes.
"""
from __future__ import annotations

from collections.abc import Iterable

from ...analysis.loop_reductions import (
    Reduction,
    match_linear_recurrence,
    match_reduction,
    reduction_of,
)
from ...analysis.mod_ref import AliasInfo
from ...dtypes import DTYPES
from ...ir_names import FreshNames, expand_names, names_read, rename_names
from ...lazy_dataclass import record, replace
from ...nodes import Accum, Assign, Call, Expr, Loop, Prefix, Stmt, Var
from ...op_table import OPS

__all__ = ["RunningReduction", "running_reduction_of", "insert_prefixes"]


@record(frozen=True, slots=True)
class RunningReduction:
    """A fold whose new value the body reads as ``name`` from statement ``at`` on.

    ``value`` is its term over names bound before that statement; with a ``factor``, the accumulator
    is multiplied by it first.
    """

    fold: Reduction
    name: str | None
    at: int
    value: Expr
    factor: Expr | None = None


def running_reduction_of(acc: Accum, loop: Loop, memory: AliasInfo) -> RunningReduction | None:
    """The running fold that `acc` is in `loop`; None if it is none.

    Its term must be computable before the iteration first reads the accumulator.
    """
    moving = _dependent_values(acc.name, loop.body)
    step = expand_names(acc.step, moving)
    if step is None:
        return None
    pair = match_linear_recurrence(acc, step)
    fold = Reduction(acc, "add", pair[1]) if pair else match_reduction(acc, step)
    if fold is None or not _keeps_order(fold):
        return None
    if acc.init.dtype in ("bool", "f16"):  # targets have no lane shuffles for these
        return None
    name = acc.step.name if isinstance(acc.step, Var) and acc.step.name in moving else None
    at = next((k for k, s in enumerate(loop.body) if acc.name in names_read(s)), len(loop.body))
    later = {s.name: s.value for s in loop.body[at:] if isinstance(s, Assign)}
    terms = pair[::-1] if pair else (fold.value, fold.cond)
    parts = [expand_names(e, later) for e in terms if e is not None]
    accs = {a.name for a in loop.accs}
    names = [getattr(s, "name", None) for s in loop.body]
    between = loop.body[at : names.index(name)] if name else loop.body[at:]
    found = [e for e in parts if e is not None]
    if len(found) < len(parts):
        return None
    if any(accs & names_read(e) or memory.crosses(e, between) for e in found):
        return None
    if pair:
        return RunningReduction(fold, name, at, *found)
    return RunningReduction(fold, name, at, _scan_term(fold, *found))


def _dependent_values(acc: str, body: Iterable[Stmt]) -> dict[str, Expr]:
    """The names assigned in `body` that depend on the accumulator, with their values."""
    found: dict[str, Expr] = {}
    for s in body:
        if isinstance(s, Assign) and names_read(s.value) & {acc, *found}:
            found[s.name] = s.value
    return found


def _keeps_order(f: Reduction) -> bool:
    """Whether a tree combination of lanes gives the same bits: earlier lanes remain the left
    operands.
    """
    if DTYPES[f.dtype].kind != "f" or OPS[f.op].unit is not None:
        return True
    if f.cond is not None and f.op in ("minimum", "maximum"):
        return False
    return f.acc_first and not f.restarts and f.takes_last == (f.op in ("minimum", "maximum"))


def _scan_term(f: Reduction, value: Expr, cond: Expr | None = None) -> Expr:
    """The term; one that does not take part, or is NaN, is replaced by the initial value."""
    if cond is not None:
        value = Call("select", (cond, value, f.acc.init), f.dtype)
    if f.op in ("min", "max") and DTYPES[f.dtype].kind == "f":
        return Call(f.op, (f.acc.init, value), f.dtype)
    return value


def insert_prefixes(loop: Loop, memory: AliasInfo, fresh: FreshNames) -> Loop:
    """`loop` with a `Prefix` in place of each running fold."""
    for k in range(len(loop.accs)):
        acc = loop.accs[k]
        found = None if reduction_of(acc, loop) else running_reduction_of(acc, loop, memory)
        if found:
            loop = _insert_prefix(loop, acc, found, fresh)
    return loop


def _insert_prefix(loop: Loop, acc: Accum, r: RunningReduction, fresh: FreshNames) -> Loop:
    older, newer = fresh.name(acc.name), r.name or fresh.name(acc.name)
    body = [s for s in loop.body if not (isinstance(s, Assign) and s.name == r.name)]
    old = {acc.name: older}
    body = [rename_names(s, old) for s in body]
    kept = acc.current
    accs = tuple(
        replace(a, step=kept if a is acc else rename_names(a.step, old)) for a in loop.accs
    )
    before = older if older in names_read(*body, *(a.step for a in accs)) else None
    made = Prefix(newer, r.fold.op, acc.name, r.value, before, r.factor, span=acc.span)
    body.insert(r.at, made)
    return replace(loop, body=tuple(body), accs=accs)
