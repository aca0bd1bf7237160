"""When one loop would take longer than two."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf

from loopir.analysis.access import Access, accesses, unit_stride
from loopir.analysis.dependence import dependences, distance
from loopir.analysis.folds import fold_of
from loopir.analysis.memory import Memory
from loopir.names import reads
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
from loopir.passes.branchless import CHEAP, by_elements
from loopir.passes.pipeline import optimise
from loopir.passes.strip_mine import longest
from loopir.passes.unroll import is_written_out
from loopir.tree import children, walk

from ..rejections import Rejection
from .domains import nest
from .pairs import Pair, label, reject, saved

__all__ = ["innermost", "keeps_vectors", "worthwhile"]

AT_ONCE = 3.0  # operations that a core does in a cycle
_FLOAT, _INT = 4.0, 1.0  # cycles until an operation has its result
_SOON = 64  # iterations in which a store may not have left the core's buffer


def worthwhile(p: Pair) -> Iterator[Rejection]:
    """Folds keep their order, and loads do not wait for stores."""
    yield from _stored_just_now(p)
    yield from _folds_in_any_order(p)


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


def _stored_just_now(p: Pair) -> Iterator[Rejection]:
    """An element that is loaded soon after it was stored as part of another vector.

    Such a load has to wait for two stores (a core forwards to it from one only), so that the loop
    would rather go element by element.
    """
    if not (_in_vectors(p, p.first) and _in_vectors(p, p.second)):
        return
    seen = set()
    for a, b in product(*(accesses((loop,), (), p.known) for loop in (p.first, p.second))):
        if a.array == b.array and a.is_write and not b.is_write and a.array not in seen:
            later = distance(a, b, p.first.var)
            if isinstance(later, int) and 0 < later < _SOON:
                seen.add(a.array)
                why = f"`{a.array}` would be loaded right after it is stored, in another vector"
                here = "one iteration later" if later == 1 else f"{later} iterations later"
                labels = (*label(a.span, "stored"), *label(b.span, f"loaded {here}"))
                yield reject(p, "FUSE_REJECT_UNPROFITABLE", why, *labels)


def _folds_in_any_order(p: Pair) -> Iterator[Rejection]:
    """Folds down columns, or of a product, whose loops around go in the order, and in the blocks,
    that memory likes: not if one of these folds itself, or has something else beside the next.
    """
    for mine, other in ((p.first, p.second), (p.second, p.first)):
        access = None if _is_free(other, len(nest(mine))) else _shared(p, mine)
        if access is not None and _is_free(mine, 1):
            why = f"folds over `{access.array}` could no longer go in another order, or in blocks"
            yield reject(p, "FUSE_REJECT_UNPROFITABLE", why, *label(access.span, "folded"))


def _is_plain(p: Pair, loop: Loop) -> bool:
    """Whether `loop` surely is one in vectors, alone and beside others."""
    straight = all(isinstance(s, Assign | Store) for s in loop.body)
    return straight and _in_vectors(p, loop)


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
    return innermost(loop) and loop.until is None and (count is None or count > _SOON)


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
        step = _FLOAT if e.dtype in ("f64", "f32") else _INT
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


def _is_free(loop: Loop, levels: int) -> bool:
    """Whether so many loops, each the only thing in the one before, need nothing of the iteration
    before.
    """
    inside = nest(loop)[:levels]
    return len(inside) == levels and not any(
        {a.name for a in n.accs} & reads(*n.body, *(a.step for a in n.accs)) for n in inside
    )


def _shared(p: Pair, loop: Loop) -> Access | None:
    """A load in a fold that other folds beside it share: of the next row each time, where a loop
    around would take the next element; or the same in all iterations of a loop around, where
    another load is the same in those of another.
    """
    params = {q.name: q for q in p.kernel.params}
    inside = [n for s in loop.body for n in walk(s) if isinstance(n, Loop) and n.accs]
    folds = {n.var for n in inside if not is_written_out(n)}
    steady: dict[str, set[frozenset[str]]] = {}
    for a in accesses((loop,), (), p.known):
        moving = {v for v in a.loops if any(f is None or f.coefficient(v) for f in a.index)}
        fold = next((v for v in a.loops if v in folds & moving), None)
        if a.is_write or fold is None:
            continue
        around = a.loops[: a.loops.index(fold)]
        kept = steady.setdefault(fold, set())
        kept.add(frozenset(around) - moving)
        if len(kept - {frozenset()}) > 1 or any(unit_stride(a, params[a.array], v) for v in around):
            return a
    return None


def innermost(loop: Loop) -> bool:
    """Whether no loop is in `loop`."""
    return not any(isinstance(n, LoopLike) for s in loop.body for n in walk(s))


def _in_vectors(p: Pair, loop: Loop) -> bool:
    """Whether `loop` alone may take several iterations at once."""
    return (
        innermost(loop)
        and all(d.distance == 0 or d.kind != "flow" for d in dependences(loop, p.kernel))
        and all(fold_of(a, loop) for a in loop.accs)
    )
