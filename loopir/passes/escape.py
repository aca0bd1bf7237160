"""Loops around a loop that each iteration leaves on its own: lanes that wait for one another."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ..algebra.values import raised, trips
from ..analysis.dependence import dependences
from ..analysis.memory import loaded, written
from ..analysis.varying import Varying
from ..machine import COMMON, Machine
from ..names import Fresh, reads
from ..nodes import (
    Accum,
    Assign,
    Check,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    VecLoop,
    While,
)
from ..ops import STATUS
from ..tree import walk
from ..types import DTYPES
from .apart import apart
from .beyond import loads_within
from .blocks import map_stmts
from .if_convert import flattened
from .legality import SMALL
from .lift import WIDTH
from .lift_while import LiftWhile
from .waiting import waiting

__all__ = ["escape"]

_WIDE = 32  # bytes of registers from which lanes of 64-bit integers ask faster than scalars


def escape(kernel: Kernel, *, machine: Machine = COMMON) -> Kernel:
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

    def lanes(s: Loop) -> Loop | VecLoop:
        made = _with_while(s, fresh)
        if made is None:
            return s
        flags = raised(*(n for n in made.body if isinstance(n, While)))
        if (flags and not again) or not _may_wait(made, kernel):
            return s
        strict.update(flags)
        return _vectorised(made, fresh)

    few = machine.bytes < _WIDE
    done = map_stmts(kernel, lambda s: _tried(s, lanes, fresh, few))
    if done is kernel:
        return kernel
    stops = kernel.stops or strict != set(kernel.strict)
    return replace(done, strict=tuple(c for c in STATUS if c in strict), stops=stops)


def _tried(s: Stmt, lanes: Callable[[Loop], Loop | VecLoop], fresh: Fresh, few: bool) -> Stmt:
    """`s` as `lanes` makes it, in strips if it folds; not where these are too ``few`` for it."""
    if not isinstance(s, Loop) or (few and _only_counts(s)):
        return s
    strips = apart(s, fresh)
    if strips is None:
        return lanes(s)
    *places, first, second = strips.body
    assert isinstance(first, Loop)
    done = lanes(first)
    return s if done is first else replace(strips, body=(*places, done, second))


def _only_counts(loop: Loop) -> bool:
    """Whether `loop` asks for overflow, and computes with 64-bit integers only: the machine has a
    say in it, since their lanes have the same bits.
    """
    inside = [*walk(loop)]
    floats = any(DTYPES[n.dtype].kind == "f" for n in inside if isinstance(n, Expr))
    waits = (n for n in inside if isinstance(n, While))
    return not floats and any(isinstance(n, Check) for w in waits for n in walk(w))


# -- the loop inside


def _with_while(loop: Loop, fresh: Fresh) -> Loop | None:
    """`loop` with the loop in it, of which there is one, as a straight ``while`` on one name."""
    inner = [s for s in loop.body if isinstance(s, Loop | While)]
    below = [n for s in loop.body if s not in inner for n in walk(s) if isinstance(n, Stmt)]
    if len(inner) != 1 or loop.accs or loop.until is not None:
        return None
    if not all(isinstance(s, Assign | Store | Check | If) for s in below):
        return None
    made = waiting(inner[0], fresh)
    if made is None:
        return None
    at = loop.body.index(inner[0])
    before = flattened(loop.body[:at], fresh, *loop.body[at:])
    after = flattened(loop.body[at + 1 :], fresh)
    return replace(loop, body=(*before, _without_unread(made, after), *after))


def _without_unread(s: While, after: Iterable[Stmt]) -> While:
    """`s` without the accumulators that nothing else reads."""
    read = reads(s.cond, *s.body, *after)
    needed = [a for a in s.accs if a.name in read | _read_by_others(a, s.accs)]
    return replace(s, accs=tuple(needed))


def _read_by_others(acc: Accum, accs: Iterable[Accum]) -> frozenset[str]:
    return reads(*(a.step for a in accs if a is not acc))


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
    if not _stores_last(loop.body) or not loads_within(loop, kernel, varying):
        return False
    return all(d.distance == 0 for d in dependences(loop, kernel))


def _stores_last(body: Iterable[Stmt]) -> bool:
    """Whether nothing is stored before the last check: what Python may not reach stays as it is."""
    kinds = [type(n) for s in body for n in walk(s) if isinstance(n, Store | Check)]
    return Check not in kinds[kinds.index(Store) :] if Store in kinds else True


def _vectorised(loop: Loop, fresh: Fresh) -> VecLoop:
    varying = Varying(loop)
    at = next(k for k, s in enumerate(loop.body) if isinstance(s, While))
    inner = loop.body[at]
    assert isinstance(inner, While)
    after = reads(*loop.body[at + 1 :])
    kept = {a.name for a in inner.accs if a.name in after} | varying.names
    lift = LiftWhile(loop, kept, varying, fresh)
    return VecLoop(loop.var, loop.range, WIDTH, lift.block(loop.body), span=loop.span)
