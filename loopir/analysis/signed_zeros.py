"""No-signed-zeros analysis: names whose zero may have either sign, since nothing observes it.

The sign of a zero is observed where a value is stored or computed with. Comparisons and ``abs`` do
not observe it. Minima, maxima and selects forward it to the name to which their result is assigned,
from which it may be forwarded again. The analysis finds the names whose zeros' signs arrive nowhere
where they are observed: their float minima and maxima need no rule for ties of 0.0 and -0.0.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..ir_traversal import children, walk
from ..nodes import Accum, Assign, Call, Expr, Kernel, Node, Var, VecAccum, Yield

__all__ = ["zero_sign_unobserved"]

_IGNORES_ZERO_SIGN = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "isnan", "abs"))
_FORWARDS_OPERAND = frozenset(("min", "max", "minimum", "maximum", "select"))
_OBSERVED, _COMPARED = "", " "  # destinations that are no names


def zero_sign_unobserved(kernel: Kernel) -> frozenset[str]:
    """The names in `kernel` for which the sign of a zero does not affect any result.

        m = step(min(m, x[i])); … if m < 1.0: …      m is only compared: no result depends on
                                                     whether it is 0.0 or -0.0

    A reachability problem in a graph whose nodes are the names and one end node. An edge leads from
    a name to each name that gets its value unchanged, and to the end node if the sign is observed.
    The result is the names from which no path leads to the end node. `vectorize` then reduces their
    minima and maxima in any order.
    """
    destinations: dict[str, set[str]] = defaultdict(set)
    for n in walk(kernel):
        for name, to in _value_flows(n):
            destinations[name].add(to)
    observed = {_OBSERVED}
    while reaching := {name for name, to in destinations.items() if to & observed} - observed:
        observed |= reaching
    return frozenset(destinations.keys() - observed)


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
    """Pairs (source, destination) of the names in `e`, whose value is assigned to `name`."""
    match e:
        case Var(name=source):
            yield source, name
        case Call(op=op, args=args):
            destination = (
                _COMPARED
                if op in _IGNORES_ZERO_SIGN
                else name
                if op in _FORWARDS_OPERAND
                else _OBSERVED
            )
            yield from (x for a in args for x in _flows_into(a, destination))
        case _:
            yield from (
                x for a in children(e) if isinstance(a, Expr) for x in _flows_into(a, _OBSERVED)
            )
