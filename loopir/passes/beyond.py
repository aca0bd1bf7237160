"""What lanes load that Python does not: those that have left a loop load on with the others."""
from __future__ import annotations

from collections.abc import Iterable

from ..analysis.assumed import assume, less
from ..analysis.facts import Facts
from ..analysis.varying import Varying
from ..nodes import Assign, Const, Dim, Guard, Interval, Kernel, Load, Loop, Stmt, Store, Var, While
from ..tree import walk
from ..types import INDEX

__all__ = ["loads_within"]

_ZERO = Const(0, INDEX)


def loads_within(loop: Loop, kernel: Kernel, varying: Varying) -> bool:
    """Whether all that the loops in `loop` load lies in its array in each lane, also where their
    conditions do not hold. Where all lanes load one element, the lanes that go on have proved it.
    """
    inner = [s for s in loop.body if isinstance(s, Loop | While)]
    own = [n for s in inner for n in walk(s) if isinstance(n, Load)]
    moving = [n for n in own if varying.moves(n) != (0, 0)]
    taken = {(n.array, varying.index(n)) for n in _anyway(loop.body)}
    if all((n.array, varying.index(n)) in taken for n in moving):
        return True
    f = _known(loop, kernel)
    return all(_is_within(n, f, varying) for n in moving)


def _anyway(body: Iterable[Stmt]) -> list[Load | Store]:
    """What each iteration has to do with memory."""
    plain = (s for s in body if isinstance(s, Assign | Store))
    return [n for s in plain for n in walk(s) if isinstance(n, Load | Store)]


def _known(loop: Loop, kernel: Kernel) -> Facts:
    """What is known where `loop` runs."""
    assert isinstance(loop.range, Interval)
    f, i = Facts(), Var(loop.var, INDEX)
    for s in kernel.body:
        if isinstance(s, Assign):
            f.bind(Var(s.name, s.value.dtype, s.value.lanes), s.value)
    less(f, loop.range.lo, loop.range.hi, -1)
    less(f, loop.range.lo, i, 0)
    less(f, i, loop.range.hi, -1)
    for g in kernel.guards:
        if isinstance(g, Guard):
            assume(f, g.cond)
    return f


def _is_within(n: Load, f: Facts, varying: Varying) -> bool:
    moving = ((k, e) for k, e in enumerate(varying.index(n)) if varying.differs(e))
    return all(
        f.gap(_ZERO, e) <= 0 and f.gap(e, Dim(n.array, k)) < 0 for k, e in moving
    )
