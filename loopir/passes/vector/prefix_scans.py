"""Prefix scans: running reductions and recurrences whose partial results each iteration reads.

    for i in loop(0, n, s=0.0):              for i in loop(0, n, s=0.0):
        t = s + x[i]                             t = prefix("add", s, x[i])
        y[i] = t                        →        y[i] = t
        s = step(t)

`running_reduction_of` recognises them, for `vectorize_legality`; `insert_prefixes` builds the
`Prefix` nodes, for `vectorize`. A group of lanes is combined as a tree (see `nodes.Prefix`).
"""
from __future__ import annotations

from collections.abc import Iterable

from ...algebra.rewrite_rules import rewrite
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
    """A reduction whose partial results the body reads."""

    reduction: Reduction
    name: str | None  # the name by which the body reads the new value, if it has one
    position: int  # index in the body of the first statement that reads the accumulator
    value: Expr  # the term, over names bound before that statement
    factor: Expr | None = None  # of a linear recurrence: the accumulator is multiplied by it first


def running_reduction_of(acc: Accum, loop: Loop, memory: AliasInfo) -> RunningReduction | None:
    """The running reduction that `acc` is in `loop`: a reduction, or a linear recurrence, whose
    value so far the body reads; None if it is not one.

        t = s + x[i]; y[i] = t; s = step(t)      term x[i], name "t"
        s = step(s * 0.5 + x[i]); y[i] = s       term x[i], factor 0.5

    The `Prefix` that is made of it stands where the iteration first reads the accumulator, so the
    term must be computable there. `vectorize_legality` asks whether a loop can be vectorised so.
    """
    # the step as an expression of the accumulator, without names for parts of it
    dependent = _dependent_values(acc.name, loop.body)
    step = expand_names(acc.step, dependent)
    if step is None:
        return None
    step = rewrite(step)  # a select on a name that now shows its comparison may be an extremum
    factor_and_term = match_linear_recurrence(acc, step)
    reduction = (
        Reduction(acc, "add", factor_and_term[1]) if factor_and_term else match_reduction(acc, step)
    )
    if reduction is None or not _keeps_order(reduction):
        return None
    if acc.init.dtype in ("bool", "f16"):  # targets have no lane shuffles for these
        return None
    # the term (and factor, or condition) over names that are bound before the first read
    position = next(
        (k for k, s in enumerate(loop.body) if acc.name in names_read(s)), len(loop.body)
    )
    later_values = {s.name: s.value for s in loop.body[position:] if isinstance(s, Assign)}
    terms = factor_and_term[::-1] if factor_and_term else (reduction.value, reduction.cond)
    expanded = [expand_names(e, later_values) for e in terms if e is not None]
    operands = [e for e in expanded if e is not None]
    if len(operands) < len(expanded):
        return None
    # it reads no accumulator, and no store that it is moved past changes what it loads
    name = acc.step.name if isinstance(acc.step, Var) and acc.step.name in dependent else None
    accs = {a.name for a in loop.accs}
    names = [getattr(s, "name", None) for s in loop.body]
    statements_between = loop.body[position : names.index(name)] if name else loop.body[position:]
    if any(accs & names_read(e) or memory.crosses(e, statements_between) for e in operands):
        return None
    if factor_and_term:
        return RunningReduction(reduction, name, position, *operands)
    return RunningReduction(reduction, name, position, _scan_term(reduction, *operands))


def _dependent_values(acc: str, body: Iterable[Stmt]) -> dict[str, Expr]:
    """The names assigned in `body` that depend on the accumulator, with their values."""
    dependent: dict[str, Expr] = {}
    for s in body:
        if isinstance(s, Assign) and names_read(s.value) & {acc, *dependent}:
            dependent[s.name] = s.value
    return dependent


def _keeps_order(f: Reduction) -> bool:
    """Whether lanes may be combined as a tree, in which earlier lanes remain the left operands.
    True for integers and bools, and for float sums and products, whose bits may then differ
    (`reassociate` decides: `vectorize_legality._check_order`). A float extremum must give the same
    bits: it keeps a NaN or none, and of equal zeros the one that its operation keeps.
    """
    if DTYPES[f.dtype].kind != "f" or OPS[f.op].unit is not None:
        return True
    if f.cond is not None and f.op in ("minimum", "maximum"):
        return False
    return f.acc_first and not f.restarts and f.takes_last == (f.op in ("minimum", "maximum"))


def _scan_term(f: Reduction, value: Expr, cond: Expr | None = None) -> Expr:
    """The term of `f`. The initial value, which changes no extremum, replaces a term whose
    condition is false, and, for ``min`` and ``max`` of floats, a NaN term.
    """
    if cond is not None:
        value = Call("select", (cond, value, f.acc.init), f.dtype)
    if f.op in ("min", "max") and DTYPES[f.dtype].kind == "f":
        return Call(f.op, (f.acc.init, value), f.dtype)
    return value


def insert_prefixes(loop: Loop, memory: AliasInfo, fresh: FreshNames) -> Loop:
    """`loop` with a `Prefix` in place of each running reduction (`running_reduction_of`), a
    statement that vectors execute for all lanes at once. The first step of `vectorize_loop`.

        t = s + x[i]; y[i] = t; s = step(t)    →    t = prefix("add", s, x[i]); y[i] = t
        s = step(s + x[i])                     →    unchanged: nobody reads the partial results

    A `Prefix` advances its accumulator itself, which has no other step.
    """
    for k in range(len(loop.accs)):
        acc = loop.accs[k]
        running = None if reduction_of(acc, loop) else running_reduction_of(acc, loop, memory)
        if running:
            loop = _insert_prefix(loop, acc, running, fresh)
    return loop


def _insert_prefix(loop: Loop, acc: Accum, running: RunningReduction, fresh: FreshNames) -> Loop:
    """`loop` with a `Prefix` that binds the new value of `acc`, and, if it is read, the old one."""
    old_name, new_name = fresh.name(acc.name), running.name or fresh.name(acc.name)
    body = [s for s in loop.body if not (isinstance(s, Assign) and s.name == running.name)]
    renaming = {acc.name: old_name}
    body = [rename_names(s, renaming) for s in body]
    unchanged = acc.current
    accs = tuple(
        replace(a, step=unchanged if a is acc else rename_names(a.step, renaming))
        for a in loop.accs
    )
    before = old_name if old_name in names_read(*body, *(a.step for a in accs)) else None
    prefix = Prefix(
        new_name, running.reduction.op, acc.name, running.value, before, running.factor,
        span=acc.span,
    )
    body.insert(running.position, prefix)
    return replace(loop, body=tuple(body), accs=accs)
