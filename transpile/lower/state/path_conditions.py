"""Path conditions: the conditions of the branches and loops around the current expression.

A condition is turned into facts: linear forms that are not negative where it holds. Proofs
that a margin is not negative substitute the bounds of the enclosing loops.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from itertools import chain

from loopir.analysis.affine import LinearForm, extreme_form, nonnegative_margins
from loopir.analysis.conditions import implied_comparisons
from loopir.dtypes import DTYPES, INDEX
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Const, Expr
from loopir.op_table import OPS

from ...types.typed_values import FALSE, TRUE, bool_op
from .block_builder import BlockBuilder
from .symbol_values import LoopFrame

__all__ = [
    "loop_extremum", "fails_in_some_iteration", "simplify_given", "facts_from",
    "is_nonnegative", "PathConditions",
]

_ONE = LinearForm({}, 1)


def facts_from(b: PathConditions, cond: Expr, holds: bool = True) -> Iterator[LinearForm]:
    """Those that are at least 0 where `cond` holds, or where it does not."""
    for op, p, q in implied_comparisons(cond, holds, b.values.get):
        if p.dtype == INDEX:
            one, other = b.linear(p), b.linear(q)
            if op == "ne":
                known = nonnegative_margins("eq", one, other)
                yield from (m - _ONE for m in known if is_nonnegative(b, m))
            else:
                yield from nonnegative_margins(op, one, other)


def is_nonnegative(b: PathConditions, margin: LinearForm) -> bool:
    """Whether `margin` is provably >= 0 all over the enclosing loops."""
    return _never_negative(b, loop_extremum(b, margin, False))


def fails_in_some_iteration(b: PathConditions, fact: LinearForm) -> bool:
    """Whether the enclosing loops certainly come to where `fact`, a condition, is negative."""
    return b.high(loop_extremum(b, fact, False)) < 0


def _never_negative(b: PathConditions, margin: LinearForm) -> bool:
    """Whether `margin` is provably >= 0; ``-min(p, q)`` is at least ``-p`` and at least ``-q``."""
    if b.low(margin) >= 0:
        return True
    for atom, c in margin.terms.items():
        match atom:
            case Call("min" | "max" as op, (p, q), "i64") if (c < 0) == (op == "min"):
                if any(
                    _never_negative(b, margin.substitute(atom, b.linear(side))) for side in (p, q)
                ):
                    return True
    return False


def loop_extremum(b: PathConditions, linear: LinearForm, highest: bool) -> LinearForm:
    """The greatest (or least) value over all enclosing loops and spans, with no variable of theirs
    in it but within an atom.
    """
    spans = [(atom, b.spans[atom]) for atom in linear.terms if atom in b.spans]
    loops = ((f.var, (LinearForm(), f.linear - _ONE)) for f in reversed(b.frames))
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


@record
class PathConditions(BlockBuilder):
    """``path``: where the value matters, if not everywhere. ``facts``: forms that are at least 0
    there. ``going``: those of a ``while`` around, used of the names ``turning`` in it alone.
    """

    frames: list[LoopFrame] = field(default_factory=list)
    branches: int = 0
    path: Expr | None = None
    facts: list[LinearForm] = field(default_factory=list)
    going: list[LinearForm] = field(default_factory=list)
    turning: frozenset[Expr] = frozenset()

    @contextmanager
    def under(self, cond: Expr) -> Iterator[None]:
        """Expressions lowered inside matter only where `cond` holds."""
        outer, self.path = self.path, cond if self.path is None else bool_op("and", self.path, cond)
        try:
            with self.where(cond):
                yield
        finally:
            self.path = outer

    @contextmanager
    def where(self, cond: Expr) -> Iterator[None]:
        """What is lowered inside is computed, or matters, only where `cond` holds."""
        outer = self.facts
        self.facts = [*outer, *facts_from(self, cond)]
        try:
            yield
        finally:
            self.facts = outer

    @contextmanager
    def iteration(self, frame: LoopFrame) -> Iterator[None]:
        """What is lowered inside is an iteration of a loop: there is one, which says something
        where there is none for others of the loops around.
        """
        self.frames.append(frame)
        outer, fact = self.facts, frame.linear - LinearForm({}, 1)
        if fails_in_some_iteration(self, fact):
            self.facts = [*outer, fact]
        try:
            yield
        finally:
            self.facts = outer
            self.frames.pop()

    @contextmanager
    def turn(self, facts: list[LinearForm], turning: frozenset[Expr]) -> Iterator[None]:
        """What is lowered inside is an iteration of a ``while`` whose condition says `facts`.

        Used are those of the names ``turning`` in it alone, for no pass computes what depends on
        them where the condition has failed.
        """
        outer = self.going, self.turning
        facts = [f for f in facts if turning & f.terms.keys()]
        self.going, self.turning = [*self.going, *facts], self.turning | turning
        known = {a: self.interval(a) for f in facts for a in f.terms if a in turning}
        for fact in facts:
            self.narrow(fact, turning)
        try:
            yield
        finally:
            self.going, self.turning = outer
            self.intervals.update(known)

    @property
    def lazy(self) -> bool:
        """Whether what is lowered now may never run, and no vectors are to be had from it: an
        element of doubtful place is then read in a branch of its own.
        """
        waiting = any(isinstance(f.node, ast.While) for f in self.frames)
        return waiting or (not self.frames and (self.branches > 0 or self.path is not None))

    def on_path(self, cond: Expr) -> Expr:
        """`cond`, or true where the value does not matter."""
        return cond if self.path is None else bool_op("or", bool_op("not", self.path), cond)

    def apply(self, op: str, *args: Expr, dtype: str | None = None) -> Expr:
        """``Call(op, …)``.

        Where the value may not matter, an operand that could raise gives way to a safe one.
        """
        row = OPS[op]
        if self.path is not None and row.safe is not None:
            dt = args[-1].dtype
            value = row.safe if DTYPES[dt].kind == "f" else int(row.safe)
            places = row.guards if DTYPES[dt].kind == "f" else row.guards[-1:]
            args = tuple(
                Call("select", (self.path, a, Const(value, dt)), dt) if k in places else a
                for k, a in enumerate(args)
            )
        return Call(op, args, dtype or ("bool" if row.result == "m" else args[-1].dtype))
