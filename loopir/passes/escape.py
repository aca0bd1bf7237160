"""Loops around a loop that each iteration leaves on its own: lanes that wait for one another."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..dependence import dependences
from ..nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Stmt,
    Store,
    Var,
    VecLoop,
    While,
)
from ..ops import STATUS
from ..tree import bottom_up, walk
from ..types import DTYPES, INDEX
from .blocks import map_stmts
from .if_convert import flattened
from .legality import SMALL
from .lift import WIDTH
from .lift_while import LiftWhile
from .memory import loaded, written
from .names import Fresh, reads
from .rules import rewrite
from .values import raised, trips
from .varying import Varying

__all__ = ["escape"]

TRUE = Const(True, "bool")


def escape(kernel: Kernel) -> Kernel:
    """The lanes of a vector loop run the ``while`` in it together, until each has left it. What a
    lane has when it leaves, it keeps. It goes on computing meanwhile, and may raise flags that
    Python does not, so the kernel becomes strict of these. It is no predicated loop: the predicate
    of one is known before its body, and of the register alone; here each turn has another, that it
    carries itself. The target's masks serve both. Before::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0]):
                v = x[i]
                while loop(go, r=v, go=v > 1.0):
                    h = r / 2.0
                    r = step(h)
                    go = step(h > 1.0)
                y[i] = r

    after::

        @strict("divide", "over", "under", "invalid")
        @stops
        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in vec(0, x.shape[0], width=W):
                v = x[i:W]
                while loop(hreduce("or", go), r=v, go=v > broadcast(1.0, W)):
                    h = r / broadcast(2.0, W)
                    r_1 = select(go, h, r)
                    r = step(r_1)
                    go = step(go & (r_1 > broadcast(1.0, W)))
                y[i:W] = r
    """
    fresh, strict = Fresh(kernel), set(kernel.strict)
    again = loaded(kernel.body).isdisjoint(written(kernel.body))

    def edit(s: Stmt) -> Stmt:
        if not isinstance(s, Loop):
            return s
        made = _with_while(s, fresh)
        if made is None:
            return s
        flags = raised(*(n for n in made.body if isinstance(n, While)))
        if (flags and not again) or not _may_wait(made, kernel):
            return s
        strict.update(flags)
        return _vectorised(made, fresh)

    done = map_stmts(kernel, edit)
    if done is kernel:
        return kernel
    stops = kernel.stops or strict != set(kernel.strict)
    return replace(done, strict=tuple(c for c in STATUS if c in strict), stops=stops)


# -- the loop inside


def _with_while(loop: Loop, fresh: Fresh) -> Loop | None:
    """`loop` with the loop in it, of which there is one, as a straight ``while`` on one name."""
    inner = [s for s in loop.body if isinstance(s, Loop | While)]
    below = [n for s in loop.body if s not in inner for n in walk(s) if isinstance(n, Stmt)]
    if len(inner) != 1 or loop.accs or loop.until is not None:
        return None
    if not all(isinstance(s, Assign | Store | Check | If) for s in below):
        return None
    made = _waiting(inner[0], fresh)
    if made is None:
        return None
    at = loop.body.index(inner[0])
    before, after = flattened(loop.body[:at], fresh), flattened(loop.body[at + 1 :], fresh)
    return replace(loop, body=(*before, _without_unread(made, after), *after))


def _without_unread(s: While, after: Iterable[Stmt]) -> While:
    """`s` without the accumulators that nothing else reads."""
    read = reads(s.cond, *s.body, *after)
    needed = [a for a in s.accs if a.name in read | _read_by_others(a, s.accs)]
    return replace(s, accs=tuple(needed))


def _read_by_others(acc: Accum, accs: Iterable[Accum]) -> frozenset[str]:
    return reads(*(a.step for a in accs if a is not acc))


def _waiting(s: Loop | While, fresh: Fresh) -> While | None:
    below = [n for part in s.body for n in walk(part) if isinstance(n, Stmt)]
    if not all(isinstance(n, Assign | If) for n in below) or any(map(_may_trap, walk(s))):
        return None
    body = tuple(_open(s.body))
    if isinstance(s, Loop):
        return _counted(replace(s, body=body), fresh)
    cond = s.cond
    simple = isinstance(cond, Var) and any(a.name == cond.name for a in s.accs)
    return replace(s, body=body) if simple else None


def _may_trap(n: Node) -> bool:
    """Whether `n` divides integers by what may be zero in a lane that has left."""
    match n:
        case Call("floordiv" | "mod", (_, divisor), dtype) if DTYPES[dtype].kind in "iu":
            return not (isinstance(divisor, Const) and divisor.value)
        case _:
            return False


def _open(stmts: Iterable[Stmt]) -> Iterator[Stmt]:
    """`stmts`, assignments and branches, with both sides of each branch computed."""
    for s in stmts:
        if not isinstance(s, If):
            yield s
            continue
        yield from _open((*s.then, *s.orelse))
        for y in s.yields:
            chosen = Call("select", (s.cond, y.then, y.orelse), y.then.dtype)
            yield Assign(y.name, bottom_up(chosen, rewrite), span=s.span)


def _counted(body: Loop, fresh: Fresh) -> While | None:
    """A counted loop with an exit: it goes on until the exit, or the end of its range."""
    until = body.until
    if not isinstance(body.range, Interval) or not isinstance(until, Var):
        return None
    lo, hi = body.range.lo, body.range.hi
    left = next((a for a in body.accs if a.name == until.name), None)
    if left is None or left.name in reads(*body.body, *(a.step for a in body.accs)):
        return None
    k, go = Var(body.var, INDEX), Var(fresh.name("go"), "bool")
    on = Call("add", (k, Const(1, INDEX)), INDEX)
    more = Call("lt", (on, hi), "bool")
    stays = Call("and", (Call("not", (left.step,), "bool"), more), "bool")
    accs = (*body.accs, Accum(go.name, Call("lt", (lo, hi), "bool"), stays), Accum(k.name, lo, on))
    return While(go, body.body, accs, span=body.span)


# -- whether and how


def _may_wait(loop: Loop, kernel: Kernel) -> bool:
    """Whether iterations of `loop` can run side by side; not if there are surely few."""
    if not isinstance(loop.range, Interval):
        return False
    count = trips(loop.range)
    if count is not None and count < SMALL:
        return False
    varying = Varying(loop)
    inner = next(s for s in loop.body if isinstance(s, While))
    assert isinstance(inner.cond, Var)
    if inner.cond.name not in varying.names:
        return False
    places = [n for s in loop.body for n in walk(s) if isinstance(n, Load | Store)]
    moves = [(n, varying.moves(n)) for n in places]
    if any(m is None or (m == (0, 0) and isinstance(n, Store)) for n, m in moves):
        return False
    return all(d.distance == 0 for d in dependences(loop, kernel))


def _vectorised(loop: Loop, fresh: Fresh) -> VecLoop:
    varying = Varying(loop)
    at = next(k for k, s in enumerate(loop.body) if isinstance(s, While))
    inner = loop.body[at]
    assert isinstance(inner, While)
    after = reads(*loop.body[at + 1 :])
    kept = {a.name for a in inner.accs if a.name in after} | varying.names
    lift = LiftWhile(loop, kept, varying, fresh)
    return VecLoop(loop.var, loop.range, WIDTH, lift.block(loop.body), span=loop.span)
