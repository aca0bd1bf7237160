"""No-signed-zeros analysis: names whose zero may have either sign, since nothing observes it.

It allows float minima and maxima to be vectorised without a rule for ties of 0.0 and -0.0.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..ir_traversal import children, walk
from ..nodes import Accum, Assign, Call, Expr, Kernel, Node, Var, VecAccum, Yield

__all__ = ["zero_sign_unobserved"]

_IGNORES_ZERO_SIGN = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "isnan", "abs"))
_FORWARDS_OPERAND = frozenset(("min", "max", "minimum", "maximum", "select"))
_OBSERVED, _COMPARED = "", " "  # sinks of values that are not names


def zero_sign_unobserved(kernel: Kernel) -> frozenset[str]:
    """The names in `kernel` for which the sign of a zero does not affect any result."""
    goes: dict[str, set[str]] = defaultdict(set)
    for n in walk(kernel):
        for name, to in _value_flows(n):
            goes[name].add(to)
    seen = {_OBSERVED}
    while more := {name for name, to in goes.items() if to & seen} - seen:
        seen |= more
    return frozenset(goes.keys() - seen)


def _value_flows(n: Node) -> Iterator[tuple[str, str]]:
    """Pairs (name, destination): which names a statement copies unchanged, and to which name."""
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
