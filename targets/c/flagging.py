"""What may raise a flag and a C compiler might not compute, for nothing needs the value."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import get_args

from loopir import nodes as ir
from loopir.algebra.values import raising
from loopir.names import Fresh, used
from loopir.tree import children, walk

__all__ = ["names_that_flag", "with_named_conditions"]

_Bound = ir.Assign | ir.Accum | ir.Yield
_CALM = (*get_args(ir.Expr), *get_args(ir.Range), *get_args(_Bound), ir.If, ir.Loop)


def with_named_conditions(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel`, in which conditions that may raise a flag, and only choose values, have names."""
    return replace(kernel, body=(*_named(kernel.body, Fresh(kernel)),))


def _named(block: Iterable[ir.Stmt], fresh: Fresh) -> Iterator[ir.Stmt]:
    for s in block:
        if isinstance(s, ir.If):
            then, orelse = (*_named(s.then, fresh),), (*_named(s.orelse, fresh),)
            s = replace(s, then=then, orelse=orelse)
            if raising(s.cond) and s.cond.lanes == 1 and not _acts(s):
                name = fresh.name("cond")
                yield ir.Assign(name, s.cond, span=s.span)
                s = replace(s, cond=ir.Var(name, "bool"))
        elif isinstance(s, (ir.Loop, ir.While)):
            s = replace(s, body=(*_named(s.body, fresh),))
        yield s


def names_that_flag(kernel: ir.Kernel) -> frozenset[str]:
    """Names whose values may raise a flag and that nothing reads, or not in all cases."""
    nodes = list(walk(kernel))
    branches = (part for n in nodes if isinstance(n, ir.If) for part in (*n.then, *n.orelse))
    chosen = (e for n in nodes if isinstance(n, ir.Yield) for e in (n.then, n.orelse))
    selected = (e for n in nodes if isinstance(n, ir.Call) and n.op == "select" for e in n.args[1:])
    perhaps = used(*branches, *chosen, *(e for e in selected if e.lanes == 1)) - _conditions(kernel)
    bound = [n for n in nodes if isinstance(n, _Bound)]
    live = _live(kernel, bound)
    return frozenset(
        n.name
        for n in bound
        if raising(n) and (n.name not in live or (isinstance(n, ir.Assign) and n.name in perhaps))
    )


def _conditions(kernel: ir.Kernel) -> frozenset[str]:
    """Names of conditions that are named where they are asked."""
    blocks = [kernel.body]
    for n in walk(kernel):
        blocks += (n.then, n.orelse) if isinstance(n, ir.If) else (getattr(n, "body", ()),)
    pairs = (pair for block in blocks for pair in pairwise(block))
    return frozenset(
        a.name for a, s in pairs
        if isinstance(a, ir.Assign) and isinstance(s, ir.If) and s.cond == ir.Var(a.name, "bool")
    )


def _live(kernel: ir.Kernel, bound: Iterable[_Bound]) -> set[str]:
    """Names that something reads which acts, and is in no branch, or one of those names.

    Where none is gone, a C compiler leaves out even the loop that computes the value.
    """
    reads: dict[str, set[str]] = {}
    for n in bound:
        if not isinstance(n, ir.Yield):
            reads.setdefault(n.name, set()).update(_names(walk(n)))
    for s in walk(kernel):  # what decides a value
        decided: Sequence[ir.Accum | ir.Yield] = ()
        if isinstance(s, ir.If):
            decided, by = s.yields, s.cond
        elif isinstance(s, ir.Loop) and s.until is not None:
            decided, by = s.accs, s.until
        for value in decided:
            reads.setdefault(value.name, set()).update(_names(walk(by)))
    found, todo = set[str](), [*_names(_outside(kernel))]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += reads.get(name, ())
    return found


def _outside(kernel: ir.Kernel) -> Iterator[ir.Node]:
    """What is in no branch, no part of what has a name, and decides more than values."""
    waiting: list[ir.Node] = [kernel]
    while waiting:
        n = waiting.pop()
        yield n
        if isinstance(n, ir.If):
            waiting += (n.cond,) if _acts(n) else ()
        elif isinstance(n, ir.Loop) and not _acts(n):
            waiting += (n.range, *n.body)
        elif not isinstance(n, _Bound):
            waiting += children(n)


def _acts(n: ir.If | ir.Loop) -> bool:
    """Whether it does more than to name values."""
    return not all(isinstance(part, _CALM) for part in walk(n))


def _names(nodes: Iterable[ir.Node]) -> Iterator[str]:
    return (n.name for n in nodes if isinstance(n, ir.Var))
