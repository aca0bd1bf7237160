"""Vectorisation: innermost loops process ``W`` elements at a time, folds in fixed lanes."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..algebra.rules import rewrite
from ..algebra.values import raised
from ..analysis.folds import Fold, checks_of, fold_of
from ..analysis.memory import Memory
from ..analysis.varying import Varying
from ..analysis.zeros import unsigned
from ..names import Fresh
from ..nodes import (
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    HReduce,
    Kernel,
    Load,
    Loop,
    LoopLike,
    PredLoop,
    Prefix,
    Stmt,
    Var,
    VecAccum,
    VecLoop,
)
from ..ops import OPS, STATUS
from ..rejection import Rejection
from ..tree import counters, walk
from ..types import DTYPES
from .blocks import map_stmts
from .if_convert import straight
from .legality import explain
from .lift import WIDTH, Lift, wide
from .predicate import predicated
from .scans import with_prefixes
from .search import sought
from .ties import is_settled, settled

__all__ = ["explain", "folded", "refusals", "vectorize"]

GROUP_BYTES = 256  # what one set of accumulators takes: four AVX-512 registers
HEAVY_GROUP_BYTES = 64  # one register, where the body itself needs many
HEAVY = 40.0  # in adds


def vectorize(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Innermost loops without an obstacle (``explain``) become vector loops of abstract width.

    Each of the lanes of a fold starts as its neutral element, or for minima as the start itself.
    A loop whose whole effect is under one mask becomes a predicated one. A search runs a little
    further than its exit; the kernel becomes strict of the flags that this may raise. Before::

        def k(x: f32[::1], y: mut(f32[::1]), total: mut(f32[()])):
            disjoint(x, y)
            disjoint(x, total)
            disjoint(y, total)
            for i in loop(0, x.shape[0], s=f32(0.0)):
                y[i] = x[i] * f32(2.0)
                s = step(s + x[i])
            total[()] = s

    after::

        def k(x: f32[::1], y: mut(f32[::1]), total: mut(f32[()])):
            disjoint(x, y)
            disjoint(x, total)
            disjoint(y, total)
            for i in vec(0, x.shape[0], width=W, group=64, s_1=f32(-0.0)):
                y[i:W] = x[i:W] * broadcast(f32(2.0), W)
                s_1 = step(s_1 + x[i:W])
            s = f32(0.0) + hreduce("add", s_1)
            total[()] = s
    """
    fresh, strict, calm = Fresh(kernel), set(kernel.strict), unsigned(kernel)
    memory = Memory(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        if not isinstance(s, Loop) or explain(s, kernel, reassociate=reassociate):
            return s
        if s.until:
            strict.update(raised(s))
        return tuple(folded(s, memory, fresh, calm))

    done = map_stmts(kernel, edit)
    classes = tuple(c for c in STATUS if c in strict)
    return done if strict == set(kernel.strict) else replace(done, strict=classes)


def refusals(kernel: Kernel, *, reassociate: bool = True) -> tuple[tuple[Loop, Rejection], ...]:
    """The innermost loops of `kernel` that stay scalar, each with its reason.

    A loop with branches is judged as if-conversion would leave it; one in a vector loop is run by
    its lanes, and what `search` takes is none.
    """
    fresh = Fresh(kernel)
    vectors = (n for n in walk(kernel) if isinstance(n, VecLoop | PredLoop))
    taken = {id(n) for v in vectors for n in walk(v)}
    loops = [n for n in walk(kernel) if isinstance(n, Loop) and id(n) not in taken]
    inner = [n for n in loops if not any(isinstance(x, LoopLike) for s in n.body for x in walk(s))]
    scalar = [n for n in inner if sought(n) is None]
    judged = ((n, straight(n, kernel, fresh) or n) for n in scalar)
    found = ((n, explain(flat, kernel, reassociate=reassociate)) for n, flat in judged)
    return tuple((n, reason) for n, reason in found if reason is not None)


def folded(
    loop: Loop, memory: Memory, fresh: Fresh, calm: frozenset[str], varying: Varying | None = None
) -> Iterator[Stmt]:
    """`loop` as a vector loop, what must be known before it, and what becomes of its accumulators.

    `calm`: names whose zeros may have either sign; `varying`: of a loop around others.
    """
    loop, before = _started(loop, fresh)
    loop = with_prefixes(loop, memory, fresh)
    yield from before
    folds = tuple(f for a in loop.accs if (f := fold_of(a, loop)) is not None)
    lanes = {f.acc.name: fresh.name(f.acc.name) for f in folds}
    vector = _vector_loop(loop, folds, lanes, varying)
    yield vector
    for f in folds:
        total = Var(lanes[f.acc.name], f.dtype, vector.group or 1)
        yield from _finished(f, loop, total, fresh, is_settled(f, calm))


def _started(loop: Loop, fresh: Fresh) -> tuple[Loop, tuple[Assign, ...]]:
    """`loop` with its starts under a name, since they are needed once more after it."""
    before: list[Assign] = []
    accs = list(loop.accs)
    for k, acc in enumerate(accs):
        if not isinstance(acc.init, Const | Dim | Var):
            before.append(Assign(fresh.name(f"{acc.name}_0"), acc.init, span=acc.span))
            accs[k] = replace(acc, init=Var(before[-1].name, acc.init.dtype))
    return (replace(loop, accs=tuple(accs)), tuple(before)) if before else (loop, ())


def _vector_loop(
    loop: Loop, folds: tuple[Fold, ...], lanes: dict[str, str], varying: Varying | None
) -> VecLoop | PredLoop:
    known = {name: name for name in varying.names} if varying else {}
    lift, counts = Lift(loop, {**known, **lanes}, varying), counters(loop)
    narrow = None if varying else predicated(loop, folds)
    body = lift.block(narrow.body if narrow else loop.body)
    accs = [
        VecAccum(lanes[f.acc.name], f.start, wide(lift.expr(f.step(_acc(f)))), span=f.acc.span)
        for f in (narrow.folds if narrow else folds)
    ]
    group = _group(body, accs) if accs or any(isinstance(s, Prefix) for s in body) else None
    accs += [VecAccum(a.name, a.init, a.step, span=a.span) for a in loop.accs if a.name in counts]
    if narrow:
        pred = wide(lift.expr(narrow.mask))
        return PredLoop(
            loop.var, loop.range, WIDTH, pred, body, tuple(accs), group=group, span=loop.span
        )
    until = _exit(loop.until, lanes, group) if loop.until else None
    return VecLoop(
        loop.var, loop.range, WIDTH, body, tuple(accs), None, group, until, span=loop.span
    )


def _acc(f: Fold) -> Var:
    return Var(f.acc.name, f.dtype)


def _exit(until: Expr, lanes: dict[str, str], group: int | None) -> Expr:
    """The exit of a search, over all lanes."""
    match until:
        case Var(name=name):
            return HReduce("or", Var(lanes[name], "bool", group or 1))
        case Call(op="not", args=(Var(name=name),)):
            found = HReduce("and", Var(lanes[name], "bool", group or 1))
            return Call("not", (found,), "bool")
        case _:
            raise AssertionError(f"no search: {until!r}")


def _group(body: Iterable[Stmt], accs: Iterable[VecAccum]) -> int:
    """The lanes of one set of accumulators: a choice of the loop's alone, so on every target."""
    nodes = [n for part in (*body, *accs) for n in walk(part)]
    vectors = [n for n in nodes if isinstance(n, Load | Call | Var | Broadcast) and n.lanes != 1]
    widest = max(DTYPES[n.dtype].bytes for n in vectors)
    weight = sum(OPS[n.op].weight for n in nodes if isinstance(n, Call))
    small = weight > HEAVY or any(isinstance(n, Prefix) for n in nodes)
    return (HEAVY_GROUP_BYTES if small else GROUP_BYTES) // widest


# -- after the loop


def _finished(
    f: Fold, loop: Loop, lanes: Var, fresh: Fresh, is_exact: bool
) -> Iterator[Stmt]:
    """Binds the accumulator's own name to the fold of its lanes and of what it started as."""
    total = HReduce(f.op, lanes)
    if OPS[f.op].unit is None:
        name = f.acc.name if is_exact else fresh.name(f.acc.name)
        yield Assign(name, total, span=f.acc.span)
        if not is_exact:
            yield from settled(f, Var(name, f.dtype), loop, fresh)
        return
    checks = checks_of(f.acc, loop)
    if checks:
        sums = Var(fresh.name(f.acc.name), f.dtype)
        yield Assign(sums.name, total)
        yield from _overflow_checks(f, lanes, sums, checks[0])
        total = sums  # type: ignore[assignment]
    yield Assign(f.acc.name, rewrite(Call(f.op, (f.acc.init, total), f.dtype)), span=f.acc.span)


def _overflow_checks(f: Fold, lanes: Var, total: Var, check: Check) -> Iterator[Check]:
    """That adding up the lanes, each of which has not overflown, does not overflow either."""
    d, count = DTYPES[f.dtype], int(lanes.lanes)
    low, high = Const(-(-d.low // count), f.dtype), Const(d.high // count, f.dtype)
    yield replace(check, cond=Call("le", (low, HReduce("min", lanes)), "bool"))
    yield replace(check, cond=Call("le", (HReduce("max", lanes), high), "bool"))
    over = Call("add_over", (f.acc.init, total), "bool")
    yield replace(check, cond=Call("not", (over,), "bool"))
