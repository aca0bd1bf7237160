"""Control flow that cannot become a mask, and accesses that a nest repeats."""
from __future__ import annotations

from collections.abc import Iterator

from loopir.analysis.access import Access, accesses
from loopir.analysis.dependence import Overlap
from loopir.nodes import Break, If, Loop, LoopLike, Node, Return, While
from loopir.tree import walk

from .conflicts import Conflict

__all__ = ["broadcasts", "obstruction", "repeated"]


def obstruction(loop: Loop, admit_branches: bool) -> tuple[Node, str] | None:
    """The first thing in `loop` that a mask cannot replace, and why; None where all can be."""
    return next(((n, why) for n in walk(loop) if (why := _flow(n, admit_branches))), None)


def _flow(n: Node, admit_branches: bool) -> str | None:
    match n:
        case While():
            return "has a loop without a count"
        case Break() | Return():
            return "may be left early"
        case Loop(until=until) if until is not None:
            return "may be left early"
        case If() if any(isinstance(x, LoopLike) for x in walk(n)):
            return "has a loop inside a branch"
        case If() if not admit_branches:
            return "has a branch, and allow_control_flow_simple is False"
    return None


def broadcasts(c: Conflict, var: str) -> bool:
    """Whether in a nest over `var` an access stays at an element while a loop of it goes on."""
    return c.apart is Overlap.UNKNOWN and (_repeats(c.first, var) or _repeats(c.second, var))


def repeated(loop: Loop) -> Iterator[Access]:
    """The reads of a nest that stay at an element while one of its loops goes on."""
    return (a for a in accesses((loop,)) if not a.is_write and _repeats(a, loop.var))


def _repeats(access: Access, var: str) -> bool:
    loops = access.loops[access.loops.index(var) :] if var in access.loops else ()
    if len(loops) < 2 or None in access.index:
        return False
    moving = {v for form in access.index if form is not None for v in form.variables}
    return not moving >= set(loops)
