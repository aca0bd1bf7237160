"""Branchless code: a loop that stays scalar chooses values where the data would foil prediction."""
from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from ..analysis.memory import Memory, loaded, written
from ..names import Fresh, reads
from ..nodes import Assign, Call, Expr, If, Kernel, Loop, LoopLike, Stmt
from ..ops import OPS
from ..tree import map_children, walk
from .blocks import map_stmts
from .if_convert import flattened

__all__ = ["CHEAP", "branchless", "by_elements"]

CHEAP = 3.0  # weight up to which an operation may be done in vain
FLOATS = frozenset(("f64", "f32"))
BLENDED = FLOATS | {"i64", "i32", "u64", "u32"}
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
        if chosen:
            body = [flattened((x,), fresh) if x in chosen else (x,) for x in s.body]
            s = replace(s, body=tuple(new for made in body for new in made))
        return _blended(s, memory)

    return map_stmts(kernel, edit)


def _blended(loop: Loop, memory: Memory) -> Loop:
    """`loop` with blends where an accumulator's next value is chosen, by elements, of such as need
    this one's: for these a C compiler would branch.
    """
    stores, found = written(loop.body), set[Expr]()
    for a in loop.accs:
        for n in (n for e in _origin(loop, [a.step]) for n in walk(e)):
            if isinstance(n, Call) and n.op == "select" and n.dtype in BLENDED and n not in found:
                own = {a.name} if n.dtype in FLOATS else set[str]()
                carried = a.name in reads(*_origin(loop, n.args[1:]))
                if carried and _by_elements(loop, [n.args[0]], own, stores, memory):
                    found.add(n)

    def edit(n: Any) -> Any:
        new = map_children(n, edit)
        return replace(new, op="blend") if isinstance(n, Call) and n in found else new

    return map_children(loop, edit) if found else loop


def by_elements(loop: Loop, memory: Memory) -> list[Stmt]:
    """The branches of `loop` that are cheap, and that elements decide; floats in them not by what
    comes of the branch itself, for this takes long.
    """
    stores, found = written(loop.body), list[Stmt]()
    for s in loop.body:
        if isinstance(s, If) and _is_cheap(s):
            conds = [n.cond for n in walk(s) if isinstance(n, If)]
            floats = {y.name for y in s.yields if y.then.dtype in FLOATS}
            if _by_elements(loop, conds, floats, stores, memory):
                found.append(s)
    return found


def _by_elements(
    loop: Loop, conds: Sequence[Expr], given: Set[str], stores: frozenset[str], memory: Memory
) -> bool:
    """Whether the `conds` come of elements that the loop does not write, and not of what is `given`
    by them.
    """
    origin = _origin(loop, conds)
    elements = loaded(origin)
    return bool(elements) and not memory.overlap(elements, stores) and not given & reads(*origin)


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
