"""Path conditions: the conditions of the branches and loops around the current expression.

A condition is turned into facts: linear forms that are not negative where it holds. Proofs
that a margin is not negative substitute the bounds of the enclosing loops.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

from loopir.analysis.affine import LinearForm, extreme_form, nonnegative_margins
from loopir.analysis.conditions import implied_comparisons
from loopir.dtypes import DTYPES, INDEX
from loopir.nodes import Call, Const, Expr
from loopir.op_table import OPS

from ...types.typed_values import FALSE, TRUE, bool_op
from .ir_builder import IRBuilder
from .symbol_values import LoopFrame
from .value_ranges import interval_of, linear_form, max_value, min_value, narrow_ranges

__all__ = [
    "apply_op", "assuming", "facts_from", "holds_on_path", "in_iteration", "in_while_iteration",
    "is_nonnegative", "loop_extremum", "may_never_run", "simplify_given", "under",
]

_ONE = LinearForm({}, 1)


def facts_from(b: IRBuilder, cond: Expr, holds: bool = True) -> Iterator[LinearForm]:
    """Linear forms that are at least 0 where `cond` holds; without ``holds``, where it does not."""
    for op, p, q in implied_comparisons(cond, holds, b.values.get):
        if p.dtype == INDEX:
            one, other = linear_form(b, p), linear_form(b, q)
            if op == "ne":
                known = nonnegative_margins("eq", one, other)
                yield from (m - _ONE for m in known if is_nonnegative(b, m))
            else:
                yield from nonnegative_margins(op, one, other)


def is_nonnegative(b: IRBuilder, margin: LinearForm) -> bool:
    """Whether `margin` is provably >= 0 all over the enclosing loops."""
    return _never_negative(b, loop_extremum(b, margin, False))


def _fails_in_some_iteration(b: IRBuilder, fact: LinearForm) -> bool:
    """Whether the enclosing loops certainly come to where `fact`, a condition, is negative."""
    return max_value(b, loop_extremum(b, fact, False)) < 0


def _never_negative(b: IRBuilder, margin: LinearForm) -> bool:
    """Whether `margin` is provably >= 0; ``-min(p, q)`` is at least ``-p`` and at least ``-q``."""
    if min_value(b, margin) >= 0:
        return True
    for atom, c in margin.terms.items():
        match atom:
            case Call("min" | "max" as op, (p, q), "i64") if (c < 0) == (op == "min"):
                if any(
                    _never_negative(b, margin.substitute(atom, linear_form(b, side)))
                    for side in (p, q)
                ):
                    return True
    return False


def loop_extremum(b: IRBuilder, linear: LinearForm, highest: bool) -> LinearForm:
    """The greatest (or least) value over all enclosing loops and spans, with no variable of theirs
    in it but within an atom.
    """
    spans = [(atom, b.ranges.spans[atom]) for atom in linear.terms if atom in b.ranges.spans]
    loops = ((f.var, (LinearForm(), f.linear - _ONE)) for f in reversed(b.path.frames))
    found = extreme_form(linear, chain(spans, loops), highest)
    assert found is not None
    return found


def simplify_given(cond: Expr, known: set[Expr]) -> Expr:
    """What `cond` comes to where all of `known` holds."""
    match cond:
        case _ if cond in known:
            return TRUE
        case _ if bool_op("not", cond) in known:
            return FALSE
        case Call("and" | "or" | "not" as op, args):
            return bool_op(op, *(simplify_given(e, known) for e in args))
        case _:
            return cond


@contextmanager
def under(b: IRBuilder, cond: Expr) -> Iterator[None]:
    """Expressions lowered inside matter only where `cond` holds."""
    outer, b.path.condition = (
        b.path.condition,
        cond if b.path.condition is None else bool_op("and", b.path.condition, cond),
    )
    try:
        with assuming(b, cond):
            yield
    finally:
        b.path.condition = outer


@contextmanager
def assuming(b: IRBuilder, cond: Expr) -> Iterator[None]:
    """What is lowered inside is computed, or matters, only where `cond` holds."""
    outer = b.path.facts
    b.path.facts = (*outer, *facts_from(b, cond))
    try:
        yield
    finally:
        b.path.facts = outer


@contextmanager
def in_iteration(b: IRBuilder, frame: LoopFrame) -> Iterator[None]:
    """What is lowered inside is an iteration of the loop `frame`, so its trip count is at least 1.

    That is noted as a fact only where it is news: where the loop does not run in some iteration of
    the loops around.
    """
    b.path.frames.append(frame)
    outer, fact = b.path.facts, frame.linear - LinearForm({}, 1)
    if _fails_in_some_iteration(b, fact):
        b.path.facts = (*outer, fact)
    try:
        yield
    finally:
        b.path.facts = outer
        b.path.frames.pop()


@contextmanager
def in_while_iteration(
    b: IRBuilder, facts: list[LinearForm], turning: frozenset[Expr]
) -> Iterator[None]:
    """What is lowered inside is an iteration of a ``while`` whose condition says `facts`.

    Used are those of the names ``turning`` in it alone, for no pass computes what depends on
    them where the condition has failed.
    """
    outer = b.path.while_facts, b.path.while_names
    facts = [f for f in facts if turning & f.terms.keys()]
    b.path.while_facts, b.path.while_names = (
        (*b.path.while_facts, *facts),
        b.path.while_names | turning,
    )
    known = {a: interval_of(b, a) for f in facts for a in f.terms if a in turning}
    for fact in facts:
        narrow_ranges(b, fact, turning)
    try:
        yield
    finally:
        b.path.while_facts, b.path.while_names = outer
        b.ranges.intervals.update(known)


def may_never_run(b: IRBuilder) -> bool:
    """Whether what is lowered now may never run, and no vectors are to be had from it: an
    element of doubtful place is then read in a branch of its own.
    """
    waiting = any(isinstance(f.node, ast.While) for f in b.path.frames)
    return waiting or (not b.path.frames and (b.path.branches > 0 or b.path.condition is not None))


def holds_on_path(b: IRBuilder, cond: Expr) -> Expr:
    """`cond`, or true where the value does not matter."""
    return (
        cond if b.path.condition is None else bool_op("or", bool_op("not", b.path.condition), cond)
    )


def apply_op(b: IRBuilder, op: str, *args: Expr, dtype: str | None = None) -> Expr:
    """``Call(op, …)``.

    Where the value may not matter, an operand that could raise gives way to a safe one.
    """
    row = OPS[op]
    if b.path.condition is not None and row.safe is not None:
        dt = args[-1].dtype
        value = row.safe if DTYPES[dt].kind == "f" else int(row.safe)
        places = row.guards if DTYPES[dt].kind == "f" else row.guards[-1:]
        args = tuple(
            Call("select", (b.path.condition, a, Const(value, dt)), dt) if k in places else a
            for k, a in enumerate(args)
        )
    return Call(op, args, dtype or ("bool" if row.result == "m" else args[-1].dtype))
