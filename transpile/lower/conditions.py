"""What holds where an expression is lowered: the conditions of branches and loops around it."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from loopir.nodes import Call, Const, Expr
from loopir.ops import OPS
from loopir.record import record
from loopir.types import DTYPES

from ..infer import logic
from ..ranges import Linear
from .block import Block
from .implied import fails_somewhere, implied
from .values import Frame

__all__ = ["Conditions"]


@record
class Conditions(Block):
    """``path``: where the value matters, if not everywhere. ``facts``: forms that are at least 0
    there. ``going``: those of a ``while`` around, used of the names ``turning`` in it alone.
    """

    frames: list[Frame] = field(default_factory=list)
    branches: int = 0
    path: Expr | None = None
    facts: list[Linear] = field(default_factory=list)
    going: list[Linear] = field(default_factory=list)
    turning: frozenset[Expr] = frozenset()

    @contextmanager
    def under(self, cond: Expr) -> Iterator[None]:
        """Expressions lowered inside matter only where `cond` holds."""
        outer, self.path = self.path, cond if self.path is None else logic("and", self.path, cond)
        try:
            with self.where(cond):
                yield
        finally:
            self.path = outer

    @contextmanager
    def where(self, cond: Expr) -> Iterator[None]:
        """What is lowered inside is computed, or matters, only where `cond` holds."""
        outer = self.facts
        self.facts = [*outer, *implied(self, cond)]
        try:
            yield
        finally:
            self.facts = outer

    @contextmanager
    def iteration(self, frame: Frame) -> Iterator[None]:
        """What is lowered inside is an iteration of a loop: there is one, which says something
        where there is none for others of the loops around.
        """
        self.frames.append(frame)
        outer, fact = self.facts, frame.linear - Linear({}, 1)
        if fails_somewhere(self, fact):
            self.facts = [*outer, fact]
        try:
            yield
        finally:
            self.facts = outer
            self.frames.pop()

    @contextmanager
    def turn(self, facts: list[Linear], turning: frozenset[Expr]) -> Iterator[None]:
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
        return cond if self.path is None else logic("or", logic("not", self.path), cond)

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
