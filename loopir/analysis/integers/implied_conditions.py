"""Implied conditions: which terms of a condition are decided where it holds, or where it fails.

A *term* of a condition is an operand of its ``and``, ``or`` and ``not``: of ``i < n and not done``
these are ``i < n`` and ``done``. Every analysis that refines facts by a condition uses
`implied_terms`: `assume_condition`, path conditions of lowering, conditions on the induction
variable, bounds of ``while``.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from ...dtypes import DTYPES
from ...nodes import Call, Const, Expr, Var
from ...op_table import NEGATED_COMPARISON

__all__ = [
    "condition_terms", "conjuncts", "disjuncts", "implied_comparisons", "implied_terms", "negated",
]


def condition_terms(cond: Expr) -> Iterator[Expr]:
    """The terms of `cond`: what its ``and``, ``or`` and ``not`` combine, without constants."""
    match cond:
        case Call("and" | "or" | "not", args):
            for a in args:
                yield from condition_terms(a)
        case Const():
            return
        case _:
            yield cond


def negated(cond: Expr) -> Expr:
    """The condition that holds where `cond` fails."""
    match cond:
        case Call("not", (inner,)):
            return inner
    return Call("not", (cond,), "bool", cond.lanes)


def implied_terms(
    cond: Expr,
    holds: bool = True,
    value_of: Callable[[str], Expr | None] | None = None,
    refuted: Callable[[Expr], bool] | None = None,
) -> Iterator[tuple[Expr, bool]]:
    """Terms of `cond`, each with the truth value that it has where `cond` holds; with
    ``holds=False``, where `cond` fails.

        a and not b    that holds               →    (a, True), (b, False)
        a or b         that fails               →    (a, False), (b, False)
        a or b         that holds, a refuted    →    (b, True)

    ``value_of`` gives the value of a name, or None. ``refuted``, if given, tells whether an
    expression is known to be false. If one side of an ``or`` that holds is false, the other is
    true; if one side of an ``and`` that fails is true, the other is false. ``refuted`` is called
    after the earlier terms have been yielded, so that it may use them. Without it, such an ``or``
    or ``and`` is yielded whole, as one term; with it, nothing is yielded where no side is decided.
    """
    value = value_of(cond.name) if value_of and isinstance(cond, Var) else None
    match cond:
        case _ if value is not None:
            yield from implied_terms(value, holds, value_of, refuted)
        case Call("not", (inner,)):
            yield from implied_terms(inner, not holds, value_of, refuted)
        case Call("and" | "or" as op, parts) if (op == "and") == holds:
            for e in parts:
                yield from implied_terms(e, holds, value_of, refuted)
        case Call("or", (p, q)) if holds and refuted is not None:
            for left, right in ((p, q), (q, p)):
                if refuted(left):
                    yield from implied_terms(right, True, value_of, refuted)
        case Call("and", (p, q)) if not holds and refuted is not None:
            for left, right in ((p, q), (q, p)):
                if refuted(negated(left)):
                    yield from implied_terms(right, False, value_of, refuted)
        case _:
            yield cond, holds


def implied_comparisons(
    cond: Expr,
    holds: bool = True,
    value_of: Callable[[str], Expr | None] | None = None,
    refuted: Callable[[Expr], bool] | None = None,
) -> Iterator[tuple[str, Expr, Expr]]:
    """All facts about integers that a condition gives: comparisons ``(op, p, q)`` that hold where
    `cond` holds; with ``holds=False``, where `cond` fails.

        i >= 0 and not (i >= n)    that holds    →    ("ge", i, 0), ("lt", i, n)
        i < n or c                 that fails    →    ("ge", i, n)

    Comparisons of floats are left out: on a NaN ``<`` and ``>=`` are both false, so that a negated
    one implies nothing. ``value_of`` and ``refuted`` are those of `implied_terms`. Passes use it by
    `refine_facts.assume_condition`, lowering by `path_conditions.facts_from`.
    """
    for term, value in implied_terms(cond, holds, value_of, refuted):
        match term:
            case Call(op, (p, q)) if op in NEGATED_COMPARISON and DTYPES[p.dtype].kind != "f":
                yield op if value else NEGATED_COMPARISON[op], p, q


def conjuncts(cond: Expr) -> Iterator[Expr]:
    """Conditions that all hold exactly where `cond` does; none of them is a conjunction."""
    for term, holds in implied_terms(cond):
        yield term if holds else negated(term)


def disjuncts(cond: Expr) -> Iterator[Expr]:
    """Conditions of which one holds exactly where `cond` does: the operands of its ``or``."""
    match cond:
        case Call("or", args):
            for e in args:
                yield from disjuncts(e)
        case _:
            yield cond
