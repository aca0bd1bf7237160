"""Names of which nobody sees the sign of a zero: they are compared, and go nowhere else."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..nodes import Accum, Assign, Call, Expr, Kernel, Node, Var, VecAccum, Yield
from ..tree import children, walk

__all__ = ["unsigned"]

_BLIND = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "isnan", "abs"))
_PASSES = frozenset(("min", "max", "minimum", "maximum", "select"))
_SEEN, _COMPARED = "", " "  # where values go that go to no name


def unsigned(kernel: Kernel) -> frozenset[str]:
    """The names in `kernel` whose zeros may have either sign, and no result differs."""
    goes: dict[str, set[str]] = defaultdict(set)
    for n in walk(kernel):
        for name, to in _flows(n):
            goes[name].add(to)
    seen = {_SEEN}
    while more := {name for name, to in goes.items() if to & seen} - seen:
        seen |= more
    return frozenset(goes.keys() - seen)


def _flows(n: Node) -> Iterator[tuple[str, str]]:
    """The names whose values a statement hands on as they are, and to which names."""
    match n:
        case Assign(name=name, value=e):
            yield from _into(e, name)
        case Accum(name=name, init=a, step=b) | VecAccum(name=name, init=a, step=b):
            yield from (x for e in (a, b) for x in _into(e, name))
        case Yield(name=name, then=a, orelse=b):
            yield from (x for e in (a, b) for x in _into(e, name))
        case Var() | Call():
            return
        case _:
            yield from (x for e in children(n) if isinstance(e, Expr) for x in _into(e, _SEEN))


def _into(e: Expr, name: str) -> Iterator[tuple[str, str]]:
    match e:
        case Var(name=source):
            yield source, name
        case Call(op=op, args=args):
            to = _COMPARED if op in _BLIND else name if op in _PASSES else _SEEN
            yield from (x for a in args for x in _into(a, to))
        case _:
            yield from (x for a in children(e) if isinstance(a, Expr) for x in _into(a, _SEEN))
