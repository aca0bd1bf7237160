"""No-signed-zeros analysis: names whose zero may have either sign, since nothing observes it."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..ir_traversal import children, walk
from ..nodes import Accum, Assign, Call, Expr, Kernel, Node, Var, VecAccum, Yield

__all__ = ["zero_sign_unobserved"]

_IGNORES_ZERO_SIGN = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "isnan", "abs"))
_FORWARDS_OPERAND = frozenset(("min", "max", "minimum", "maximum", "select"))
_OBSERVED, _COMPARED = "", " "  # where values go that go to no name


def zero_sign_unobserved(kernel: Kernel) -> frozenset[str]:
    """The names in `kernel` whose zeros may have either sign, and no result differs."""
    goes: dict[str, set[str]] = defaultdict(set)
    for n in walk(kernel):
        for name, to in _value_flows(n):
            goes[name].add(to)
    seen = {_OBSERVED}
    while more := {name for name, to in goes.items() if to & seen} - seen:
        seen |= more
    return frozenset(goes.keys() - seen)


def _value_flows(n: Node) -> Iterator[tuple[str, str]]:
    """The names whose values a statement hands on as they are, and to which names."""
    match n:
        case Assign(name=name, value=e):
            yield from _flows_into(e, name)
        case Accum(name=name, init=a, step=b) | VecAccum(name=name, init=a, step=b):
            yield from (x for e in (a, b) for x in _flows_into(e, name))
        case Yield(name=name, then=a, orelse=b):
            yield from (x for e in (a, b) for x in _flows_into(e, name))
        case Var() | Call():
            return
        case _:
            yield from (
                x for e in children(n) if isinstance(e, Expr) for x in _flows_into(e, _OBSERVED)
            )


def _flows_into(e: Expr, name: str) -> Iterator[tuple[str, str]]:
    match e:
        case Var(name=source):
            yield source, name
        case Call(op=op, args=args):
            to = (
                _COMPARED
                if op in _IGNORES_ZERO_SIGN
                else name
                if op in _FORWARDS_OPERAND
                else _OBSERVED
            )
            yield from (x for a in args for x in _flows_into(a, to))
        case _:
            yield from (
                x for a in children(e) if isinstance(a, Expr) for x in _flows_into(a, _OBSERVED)
            )
