"""Running folds and recurrences: accumulators of which each iteration sees what they came to."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..analysis.folds import Fold, fold_of, matched
from ..analysis.linear import linear
from ..analysis.memory import Memory
from ..names import Fresh, closed, reads, rename
from ..nodes import Accum, Assign, Call, Expr, Loop, Prefix, Stmt, Var
from ..ops import OPS
from ..record import record
from ..types import DTYPES

__all__ = ["Running", "running", "with_prefixes"]


@record(frozen=True, slots=True)
class Running:
    """``fold``, whose new value the body knows as ``name`` from statement ``at`` on.

    ``value`` is its term over what is bound before that statement; with a ``factor``, the
    accumulator is multiplied by it first.
    """

    fold: Fold
    name: str | None
    at: int
    value: Expr
    factor: Expr | None = None


def running(acc: Accum, loop: Loop, memory: Memory) -> Running | None:
    """The running fold that `acc` is in `loop`; None where it is none.

    Its term is then taken before anything else in the iteration asks for the accumulator.
    """
    moving = _moving(acc.name, loop.body)
    step = closed(acc.step, moving)
    if step is None:
        return None
    pair = linear(acc, step)
    fold = Fold(acc, "add", pair[1]) if pair else matched(acc, step)
    if fold is None or not _is_ordered(fold):
        return None
    if acc.init.dtype in ("bool", "f16"):  # no lanes of these change places
        return None
    name = acc.step.name if isinstance(acc.step, Var) and acc.step.name in moving else None
    at = next((k for k, s in enumerate(loop.body) if acc.name in reads(s)), len(loop.body))
    later = {s.name: s.value for s in loop.body[at:] if isinstance(s, Assign)}
    terms = pair[::-1] if pair else (fold.value, fold.cond)
    parts = [closed(e, later) for e in terms if e is not None]
    accs = {a.name for a in loop.accs}
    names = [getattr(s, "name", None) for s in loop.body]
    between = loop.body[at : names.index(name)] if name else loop.body[at:]
    found = [e for e in parts if e is not None]
    if len(found) < len(parts):
        return None
    if any(accs & reads(e) or memory.crosses(e, between) for e in found):
        return None
    if pair:
        return Running(fold, name, at, *found)
    return Running(fold, name, at, _term(fold, *found))


def _moving(acc: str, body: Iterable[Stmt]) -> dict[str, Expr]:
    """The names of `body` whose values depend on the accumulator, and those values."""
    found: dict[str, Expr] = {}
    for s in body:
        if isinstance(s, Assign) and reads(s.value) & {acc, *found}:
            found[s.name] = s.value
    return found


def _is_ordered(f: Fold) -> bool:
    """Whether lanes may be taken together in halves: the earlier ones stand first."""
    if DTYPES[f.dtype].kind != "f" or OPS[f.op].unit is not None:
        return True
    if f.cond is not None and f.op in ("minimum", "maximum"):
        return False
    return f.acc_first and not f.restarts and f.takes_last == (f.op in ("minimum", "maximum"))


def _term(f: Fold, value: Expr, cond: Expr | None = None) -> Expr:
    """The term. One that does not take part, or is NaN, is what the extrema start as."""
    if cond is not None:
        value = Call("select", (cond, value, f.acc.init), f.dtype)
    if f.op in ("min", "max") and DTYPES[f.dtype].kind == "f":
        return Call(f.op, (f.acc.init, value), f.dtype)
    return value


def with_prefixes(loop: Loop, memory: Memory, fresh: Fresh) -> Loop:
    """`loop` with a Prefix in the place of what its running folds do."""
    for k in range(len(loop.accs)):
        acc = loop.accs[k]
        found = None if fold_of(acc, loop) else running(acc, loop, memory)
        if found:
            loop = _with_prefix(loop, acc, found, fresh)
    return loop


def _with_prefix(loop: Loop, acc: Accum, r: Running, fresh: Fresh) -> Loop:
    older, newer = fresh.name(acc.name), r.name or fresh.name(acc.name)
    body = [s for s in loop.body if not (isinstance(s, Assign) and s.name == r.name)]
    old = {acc.name: older}
    body = [rename(s, old) for s in body]
    kept = acc.current
    accs = tuple(
        replace(a, step=kept if a is acc else rename(a.step, old)) for a in loop.accs
    )
    before = older if older in reads(*body, *(a.step for a in accs)) else None
    made = Prefix(newer, r.fold.op, acc.name, r.value, before, r.factor, span=acc.span)
    body.insert(r.at, made)
    return replace(loop, body=tuple(body), accs=accs)
