"""Branchless code: a loop that stays scalar chooses values where the data would foil prediction."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..analysis.memory import Memory, loaded, written
from ..names import Fresh, bound, reads
from ..nodes import Assign, Call, Expr, If, Kernel, Loop, LoopLike, Stmt
from ..ops import OPS
from ..tree import walk
from .blocks import map_stmts
from .if_convert import flattened

__all__ = ["CHEAP", "branchless", "by_elements"]

CHEAP = 3.0  # weight up to which an operation may be done in vain
MOST = 8.0  # weight that a branch may have in all: about what half a misprediction costs


def branchless(kernel: Kernel) -> Kernel:
    """What elements decide, and is cheap, is computed either way and chosen.

    A branch on what the loop itself has computed stays one: it is often foreseen, and then nothing
    waits for it. Before::

        def k(x: f64[::1], out: mut(f64[::1]), total: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0, h=0.0):
                v = x[i]
                if v > 0.0:
                    t = give(s + v)
                else:
                    t = give(s)
                if h > 1.0:
                    u = give(h - 1.0)
                else:
                    u = give(h)
                out[i] = sin(u)
                s = step(t)
                h = step(sin(u))
            total[()] = s

    after::

        def k(x: f64[::1], out: mut(f64[::1]), total: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0, h=0.0):
                v = x[i]
                m = v > 0.0
                t = s + select(m, v, -0.0)
                if h > 1.0:
                    u = give(h - 1.0)
                else:
                    u = give(h)
                out[i] = sin(u)
                s = step(t)
                h = step(sin(u))
            total[()] = s
    """
    fresh, memory = Fresh(kernel), Memory(kernel)

    def edit(s: Stmt) -> Stmt:
        if not isinstance(s, Loop) or any(isinstance(n, LoopLike) for x in s.body for n in walk(x)):
            return s
        chosen = by_elements(s, memory)
        if not chosen:
            return s
        body = [flattened((x,), fresh) if x in chosen else (x,) for x in s.body]
        return replace(s, body=tuple(new for made in body for new in made))

    return map_stmts(kernel, edit)


def by_elements(loop: Loop, memory: Memory) -> list[Stmt]:
    """The branches of `loop` that are cheap, and that elements decide, but nothing that comes of
    the branch itself.
    """
    stores, found = written(loop.body), list[Stmt]()
    for s in loop.body:
        if isinstance(s, If) and _is_cheap(s):
            origin = _origin(loop, [n.cond for n in walk(s) if isinstance(n, If)])
            elements = loaded(origin)
            own = memory.overlap(elements, stores) or bound(s) & reads(*origin)
            if elements and not own:
                found.append(s)
    return found


def _origin(loop: Loop, code: Sequence[Expr]) -> list[Expr]:
    """`code` with all that its values come of, in this iteration and those before."""
    made: dict[str, tuple[Expr, ...]] = {a.name: (a.step,) for a in loop.accs}
    for s in (n for x in loop.body for n in walk(x)):
        if isinstance(s, Assign):
            made[s.name] = (s.value,)
        elif isinstance(s, If):
            made |= {y.name: (s.cond, y.then, y.orelse) for y in s.yields}
    found, waiting = list(code), list(reads(*code))
    while waiting:
        new = made.pop(waiting.pop(), ())
        found += new
        waiting += reads(*new)
    return found


def _is_cheap(branch: If) -> bool:
    """Whether both sides do nothing but compute a little."""
    weights = [OPS[n.op].weight for n in walk(branch) if isinstance(n, Call)]
    plain = all(isinstance(s, (Assign, If)) for s in walk(branch) if isinstance(s, Stmt))
    return plain and max(weights, default=0) <= CHEAP and sum(weights) <= MOST
