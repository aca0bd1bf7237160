"""From one iteration to ``W`` of them: scalar statements as vector statements."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..nodes import (
    Append,
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    Load,
    Loop,
    Ramp,
    Stmt,
    Store,
    Var,
)
from .subscripts import Subscripts

__all__ = ["WIDTH", "Lift", "wide"]

WIDTH = "W"


def wide(e: Expr) -> Expr:
    """`e` in every lane, where it is not a vector yet."""
    return e if e.lanes != 1 else Broadcast(e, WIDTH)


class Lift:
    """Lifts the body of `loop`. What is the same in all lanes stays scalar until a vector needs it.

    ``accs`` maps the loop's folds to the names of their vector accumulators.
    """

    def __init__(self, loop: Loop, accs: Mapping[str, str]) -> None:
        self.loop, self.subscripts = loop, Subscripts(loop)
        self.vectors = dict(accs)  # scalar name → name of its vector

    def block(self, stmts: Iterable[Stmt]) -> tuple[Stmt, ...]:
        return tuple(self.stmt(s) for s in stmts)

    def stmt(self, s: Stmt) -> Stmt:
        match s:
            case Assign():
                value = self.expr(s.value)
                if value.lanes != 1:
                    self.vectors[s.name] = s.name
                return replace(s, value=value)
            case Store():
                axis, step = self._moves(s)
                value, mask = wide(self.expr(s.value)), self._mask(s.mask)
                index = self.subscripts.index(s)
                return Store(s.array, index, value, mask, axis, step, span=s.span)
            case Append():
                return replace(s, value=wide(self.expr(s.value)), mask=self._mask(s.mask))
            case Check():
                return replace(s, cond=self.expr(s.cond))
            case _:
                raise AssertionError(f"no straight-line code: {s!r}")

    def expr(self, e: Expr) -> Expr:
        match e:
            case Const() | Dim():
                return e
            case Var(name) if name == self.loop.var:
                return Ramp(e, 1, WIDTH)
            case Var(name) if name in self.vectors:
                return replace(e, name=self.vectors[name], lanes=WIDTH)
            case Var():
                return e
            case Load():
                axis, step = self._moves(e)
                index = self.subscripts.index(e)
                if step == 0:
                    return replace(e, index=index)
                return Load(e.array, index, e.dtype, WIDTH, axis, step, span=e.span)
            case Call():
                args = tuple(self.expr(a) for a in e.args)
                if all(a.lanes == 1 for a in args):
                    return replace(e, args=args)
                return replace(e, args=tuple(wide(a) for a in args), lanes=WIDTH)
            case _:
                raise AssertionError(f"a vector before vectorisation: {e!r}")

    def _mask(self, mask: Expr | None) -> Expr | None:
        return None if mask is None else wide(self.expr(mask))

    def _moves(self, n: Load | Store) -> tuple[int, int]:
        moves = self.subscripts.moves(n)
        assert moves is not None, "an access without a regular place"
        return moves
