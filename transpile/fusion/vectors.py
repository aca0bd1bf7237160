"""When a loop in vectors would be none beside another."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from loopir.analysis.access import accesses
from loopir.analysis.memory import Memory
from loopir.nodes import (
    Accum,
    Append,
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Node,
    Param,
    PredLoop,
    Store,
    Var,
    VecLoop,
)
from loopir.ops import OPS
from loopir.passes.branchless import CHEAP, FLOATS, by_elements
from loopir.passes.pipeline import optimise
from loopir.passes.strip_mine import longest
from loopir.rejection import Rejection
from loopir.tree import children, innermost, walk

from .pairs import Pair, reject, saved
from .profit import in_vectors

__all__ = ["keeps_vectors"]

AT_ONCE = 3.0  # operations that a core does in a cycle
FLOAT, INT = 4.0, 1.0  # cycles until an operation has its result
LONG = 64  # iterations from which scalar code counts


def keeps_vectors(p: Pair) -> Iterator[Rejection]:
    """No loop in vectors goes element by element for the sake of the other; of loops that may be
    one, for it is dear to tell.

    Unless what it does is little, and that one waits for its own results meanwhile, or both load an
    element; or an array vanishes, which costs more.
    """
    loops = p.first, p.second
    if not all(map(innermost, loops)) or all(_is_plain(p, loop) for loop in loops):
        return
    made, read = ({a.array for a in accesses((loop,)) if a.is_write is w}
                  for loop, w in ((p.first, True), (p.second, False)))
    if made & read & p.gates.temporaries:
        return
    joined = replace(
        p.first, body=(*p.first.body, *p.second.body), accs=(*p.first.accs, *p.second.accs)
    )
    if _is_all_vectors(p.kernel, joined):
        return
    fast = [loop for loop in loops if _is_all_vectors(p.kernel, loop)]
    rest = [loop for loop in loops if loop not in fast]
    little = all(map(_is_little, fast)) and not _branches(p, joined)
    if fast and not (rest and little and (saved(p) or _waits(joined))):
        which, other = ("the first", "the second") if fast[0] is p.first else ("this", "the first")
        why = f"{which} loop runs in vectors, and could not with what {other} does in between"
        yield reject(p, "FUSE_REJECT_UNPROFITABLE", why)


def _is_plain(p: Pair, loop: Loop) -> bool:
    """Whether `loop` surely is one in vectors, alone and beside others."""
    straight = all(isinstance(s, Assign | Store) for s in loop.body)
    return straight and in_vectors(p, loop)


def _is_all_vectors(kernel: Kernel, loop: Loop) -> bool:
    """Whether no long loop comes out of the passes as scalar code, with `loop` alone in the kernel.
    """
    left = _read_outside(kernel, loop)
    kept = [Param(f"{a.name}_kept", a.init.dtype, 0, written=True) for a in left]
    ends = (Store(p.name, (), a.current) for a, p in zip(left, kept, strict=True))
    alone = replace(kernel, params=(*kernel.params, *kept), body=(loop, *ends))
    loops = [n for s in optimise(alone).body for n in walk(s) if isinstance(n, LoopLike)]
    return all(
        isinstance(n, VecLoop | PredLoop) or (isinstance(n, Loop) and not _is_long(n))
        for n in loops
    )


def _read_outside(kernel: Kernel, loop: Loop) -> list[Accum]:
    """The accumulators of `loop` that something else in the kernel reads."""
    names = {a.name for a in loop.accs}

    def read(n: Node) -> frozenset[str]:
        if isinstance(n, Loop) and names & {a.name for a in n.accs}:
            return frozenset()
        inner = frozenset[str]().union(*map(read, children(n)))
        return inner | ({n.name} if isinstance(n, Var) else frozenset())

    found = frozenset[str]().union(*map(read, kernel.body))
    return [a for a in loop.accs if a.name in found]


def _is_long(loop: Loop) -> bool:
    """Whether `loop` may have many iterations, with no loop in them, and goes on to the end."""
    count = longest(loop.range) if isinstance(loop.range, Interval) else None
    return innermost(loop) and loop.until is None and (count is None or count > LONG)


def _is_little(loop: Loop) -> bool:
    """Whether `loop` has no slow operations as scalar code."""
    work = [n for s in loop.body for n in walk(s)]
    slow = (n for n in work if isinstance(n, Call) and OPS[n.op].weight > CHEAP)
    return not any(isinstance(n, Append) for n in work) and not any(slow)


def _branches(p: Pair, loop: Loop) -> bool:
    """Whether `loop`, as scalar code, has branches."""
    found = sum(isinstance(s, If) for s in loop.body)
    return found > len(by_elements(loop, Memory(p.kernel)))


def _waits(loop: Loop) -> bool:
    """Whether an iteration of `loop`, a scalar one, takes as long as what it carries to the next;
    the rest is done meanwhile.
    """
    work = [n for s in (*loop.body, *(a.step for a in loop.accs)) for n in walk(s)]
    weight = sum(OPS[n.op].weight for n in work if isinstance(n, Call))
    memory = sum(isinstance(n, Load | Store) for n in work)
    return weight + memory <= AT_ONCE * _latency(loop)


def _latency(loop: Loop) -> float:
    """Cycles until an accumulator has its next value, the slowest one's."""
    known: dict[str, float] = {}

    def after(e: Expr) -> float:
        if isinstance(e, Var):
            return known.get(e.name, -inf)
        step = FLOAT if e.dtype in FLOATS else INT
        return max(map(after, children(e)), default=-inf) + step  # type: ignore[arg-type]

    def chain(name: str, step: Expr) -> float:
        known.clear()
        known[name] = 0.0
        for s in loop.body:
            if isinstance(s, Assign):
                known[s.name] = after(s.value)
            for y in s.yields if isinstance(s, If) else ():
                known[y.name] = max(after(y.then), after(y.orelse))
        return after(step)

    return max((chain(a.name, a.step) for a in loop.accs), default=-inf)
