"""Repeated checks: a check that follows from an earlier one of the same code is dropped.

A check that fails sets a bit of the status. A later one sets the same bit again, if it fails only
where the earlier one has failed. Such pairs stand where a condition and the branch under it compute
the same, as in the shortest path ``if d[u] + w < d[v]: d[v] = d[u] + w``.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...analysis.integers.implied_conditions import conjuncts, disjuncts, negated
from ...ir_names import names_read, substitute
from ...ir_traversal import advanced_accums, contains
from ...lazy_dataclass import replace
from ...nodes import Assign, Check, Expr, If, Kernel, Load, Stmt, Var
from ...statement_blocks import Block, map_nested_blocks

__all__ = ["repeated_checks"]


def repeated_checks(kernel: Kernel) -> Kernel:
    """Drop a check whose condition is that of an earlier check of the same code, or what is left of
    it under the conditions around the later one. Before::

        def k(x: i64[::1], y: mut(i64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0]):
                t = x[i]
                below = t < 5
                check(~below | ~add_over(t, t), "replay")
                if below & (t + t > y[i]):
                    check(~add_over(t, t), "replay")
                    y[i] = t + t

    after::

        def k(x: i64[::1], y: mut(i64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0]):
                t = x[i]
                below = t < 5
                check(~below | ~add_over(t, t), "replay")
                if below & (t + t > y[i]):
                    y[i] = t + t

    Conditions that load an element are no such pairs, since a store may lie between them.
    """
    body = _without_repeated(kernel.body, {}, (), frozenset())
    return kernel if body is kernel.body else replace(kernel, body=body)


class _Made(NamedTuple):
    """An earlier check: its code, and the terms of which one holds where it has not failed."""

    code: str
    terms: frozenset[Expr]

    def implies(self, code: str, terms: frozenset[Expr], holding: frozenset[Expr]) -> bool:
        """Whether a check of `terms` fails only where this one has, if the conditions `holding`
        are true.
        """
        return code == self.code and all(t in terms or negated(t) in holding for t in self.terms)


def _without_repeated(
    stmts: tuple[Stmt, ...], copies: dict[str, Expr], made: tuple[_Made, ...],
    holding: frozenset[Expr],
) -> tuple[Stmt, ...]:
    """`stmts` without repeated checks, after the checks `made`, where the conditions `holding` are
    true. ``copies``: the names that are another name, with that one.
    """
    kept: list[Stmt] = []
    for s in stmts:
        if advanced := advanced_accums(s):  # a counter, which has another value after an append
            made = tuple(m for m in made if names_read(*m.terms).isdisjoint(advanced))
            holding = frozenset(e for e in holding if names_read(e).isdisjoint(advanced))
            copies = {n: e for n, e in copies.items() if names_read(e).isdisjoint(advanced)}
        if isinstance(s, Assign) and isinstance(s.value, Var):
            copies[s.name] = copies.get(s.value.name, s.value)
        elif isinstance(s, Check):
            terms = frozenset(disjuncts(substitute(s.cond, copies)))
            if any(m.implies(s.code, terms, holding) for m in made):
                continue
            if not any(contains(t, Load) for t in terms):
                made += (_Made(s.code, terms),)
        elif contains(s, Check):
            s = _in_blocks(s, copies, made, holding)
        kept.append(s)
    same = len(kept) == len(stmts) and all(a is b for a, b in zip(kept, stmts, strict=True))
    return stmts if same else tuple(kept)


def _in_blocks(
    s: Stmt, copies: dict[str, Expr], made: tuple[_Made, ...], holding: frozenset[Expr]
) -> Stmt:
    """`s` without repeated checks in its blocks."""
    sides: Iterator[frozenset[Expr]] = iter(())
    if isinstance(s, If):
        cond = substitute(s.cond, copies)
        sides = iter(frozenset(conjuncts(e)) for e in (cond, negated(cond)))

    def edit(b: Block) -> Block:
        """The block `b` without them."""
        true_here = holding | {e for e in next(sides, ()) if not contains(e, Load)}
        stmts = _without_repeated(b.stmts, dict(copies), made, true_here)
        return b if stmts is b.stmts else replace(b, stmts=stmts)

    return map_nested_blocks(s, edit)
