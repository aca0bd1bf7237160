"""Uniformity (divergence) analysis: which values differ between the lanes of an outer loop."""
from __future__ import annotations

from ..dtypes import INDEX
from ..ir_names import multiply_bound_names, names_read, own_bindings, substitute_bounded
from ..ir_traversal import walk
from ..nodes import Assign, Expr, If, Load, Loop, Store
from .affine import affine_form

__all__ = ["Uniformity"]


class Uniformity:
    """The names in `loop` whose values depend on its variable, and where accesses lie in each lane.

    Varying integer names are replaced by their values in subscripts, so that these speak of the
    loop variable and of what all lanes share.
    """

    def __init__(self, loop: Loop) -> None:
        self.var = loop.var
        self.names: frozenset[str] = frozenset()
        while (more := self._one_step_more(loop)) != self.names:
            self.names = more
        self.values = self._values(loop)

    def differs(self, *code: Expr) -> bool:
        """Whether some of `code` is not the same in all lanes."""
        found = names_read(*code)
        return self.var in found or bool(found & self.names)

    def moves(self, n: Load | Store) -> tuple[int, int] | None:
        """The axis along which the lanes of `n` lie and their distance in elements; ``(0, 0)``
        where all have one place. None where a subscript is not affine, or several move.
        """
        steps = [self._step(e) for e in self.index(n)]
        if None in steps:
            return None
        moving = [(axis, step) for axis, step in enumerate(steps) if step]
        return moving[0] if len(moving) == 1 else (0, 0) if not moving else None

    def index(self, n: Load | Store) -> tuple[Expr, ...]:
        """The subscripts of `n` over names that all lanes share."""
        return tuple(substitute_bounded(e, self.values) for e in n.index)

    def _step(self, e: Expr) -> int | None:
        if not self.differs(e):
            return 0
        if names_read(e) & self.names or any(isinstance(x, Load) for x in walk(e)):
            return None
        form = affine_form(e, (self.var,))
        return None if form is None else form.coefficient(self.var)

    def _one_step_more(self, loop: Loop) -> frozenset[str]:
        """The varying names, and those that the known ones make vary."""
        found = (
            name
            for s in loop.body
            for n in walk(s)
            for name, values in own_bindings(n)
            if self.differs(*values) or (isinstance(n, If) and self.differs(n.cond))
        )
        return self.names | frozenset(found)

    def _values(self, loop: Loop) -> dict[str, Expr]:
        again, values = multiply_bound_names(loop), dict[str, Expr]()
        for n in (n for s in loop.body for n in walk(s) if isinstance(n, Assign)):
            if n.value.dtype == INDEX and n.name in self.names - again:
                values[n.name] = substitute_bounded(n.value, values)
        return values
