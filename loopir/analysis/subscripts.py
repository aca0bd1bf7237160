"""Subscripts in one loop: along which axis an access moves with the loop variable, and how far."""
from __future__ import annotations

from ..names import reads, resolved
from ..nodes import Assign, Expr, Load, Loop, Store
from ..text import show
from ..tree import walk
from ..types import INDEX
from .affine import affine

__all__ = ["Subscripts"]


class Subscripts:
    """The subscripts in a loop whose body is straight-line code.

    Names that the body binds are replaced by their values, so that a subscript speaks of nothing
    but the loop variable and what is fixed while the loop runs.
    """

    def __init__(self, loop: Loop) -> None:
        self.var = loop.var
        self.accs = frozenset(a.name for a in loop.accs)
        self.values: dict[str, Expr] = {}
        for s in loop.body:
            if isinstance(s, Assign) and s.value.dtype == INDEX:
                self.values[s.name] = resolved(s.value, self.values)
        self.body = frozenset(s.name for s in loop.body if isinstance(s, Assign))

    def index(self, n: Load | Store) -> tuple[Expr, ...]:
        """The subscripts of `n` over names from outside the body."""
        return tuple(resolved(e, self.values) for e in n.index)

    def moves(self, n: Load | Store) -> tuple[int, int] | None:
        """The axis along which `n` moves and its step in elements, ``(0, 0)`` where it stays.

        None where a subscript is not affine, or several move.
        """
        steps = [self._step(e) for e in self.index(n)]
        if None in steps:
            return None
        moving = [(axis, step) for axis, step in enumerate(steps) if step]
        return moving[0] if len(moving) == 1 else (0, 0) if not moving else None

    def _step(self, e: Expr) -> int | None:
        if reads(e) & (self.accs | self.body) or any(isinstance(x, Load) for x in walk(e)):
            return None
        form = affine(e, (self.var,))
        return None if form is None else form.coefficient(self.var)

    def obstacle(self, n: Load | Store) -> str | None:
        """Why the lanes of `n` have no regular place in memory; None where they have."""
        moves = self.moves(n)
        if moves is None:
            return f"the place of `{self.element(n)}` does not advance evenly with the loop"
        if isinstance(n, Store) and moves == (0, 0):
            return f"every iteration writes the same `{self.element(n)}`"
        return None

    def element(self, n: Load | Store) -> str:
        """As text."""
        return f"{n.array}[{', '.join(map(show, n.index))}]"
