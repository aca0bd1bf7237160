"""Tests that those around a call exclude: within ``if n < m``, the helper's own ``if m < n``."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from loopir.record import record

from ..below import below
from ..macros.names import bound

__all__ = ["Less", "also", "less", "without_excluded"]


@record(frozen=True, slots=True)
class Less:
    """That ``low < high``, each as its text, while ``names`` keep their values."""

    low: str
    high: str
    names: frozenset[str]


def less(test: ast.expr) -> Less | None:
    """What a comparison says of two values that are asked again at no cost; None of others."""
    match test:
        case ast.Compare(left=a, ops=[ast.Lt()], comparators=[b]):
            pass
        case ast.Compare(left=b, ops=[ast.Gt()], comparators=[a]):
            pass
        case _:
            return None
    if not (_is_steady(a) and _is_steady(b)):
        return None
    names = frozenset(n.id for n in below(test) if isinstance(n, ast.Name))
    return Less(ast.unparse(a), ast.unparse(b), names)


def also(fact: Less, copies: Mapping[str, str | ast.expr]) -> Less:
    """The same of what has just been given the names that are in `copies`."""
    low, high = (copies.get(e, e) for e in (fact.low, fact.high))
    if not isinstance(low, str) or not isinstance(high, str):
        return fact
    return Less(low, high, fact.names | {low, high})


def _is_steady(e: ast.expr) -> bool:
    """A name, a constant, or a length."""
    match e:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(), attr="shape"), slice=ast.Constant()
        ) | ast.Attribute(value=ast.Name(), attr="size"):
            return True
    return False


def without_excluded(block: Sequence[ast.stmt], known: Sequence[Less]) -> list[ast.stmt]:
    """`block` without branches that are never taken where `known` holds at its start.

        if n < m:
            return f(m, n).T
        s = n + m
    → within ``if m < n``
        s = n + m
    """
    out: list[ast.stmt] = []
    for k, s in enumerate(block):
        asked = less(s.test) if isinstance(s, ast.If) else None
        if asked and any((asked.high, asked.low) == (fact.low, fact.high) for fact in known):
            assert isinstance(s, ast.If)
            return [*out, *without_excluded([*s.orelse, *block[k + 1 :]], known)]
        known = [fact for fact in known if not fact.names & bound(s)]
        out.append(s)
    return out
