"""What NumPy may warn of: the sources of its warnings, and the kernel's account of which came."""
from __future__ import annotations

import ast
from dataclasses import field

from loopir.nodes import Call, Check, Expr, Guard, If, Load, Store
from loopir.ops import OPS
from loopir.record import record

from ..infer import TRUE, logic
from ..places import is_step, place_of
from ..plan import StatusSource
from ..ranges import integer
from ..source import span_of
from .conditions import Conditions
from .raised import raised

__all__ = ["Silent", "Sources"]

_CLASS = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}


@record(frozen=True, slots=True)
class Silent:
    """An operation that warns of nothing, though it may raise `status`; not where ``quiet`` holds,
    if that is known before the first statement.
    """

    status: str
    quiet: Guard | None = None


@record
class Sources(Conditions):
    """``told``: the array of a kernel that tells which of its ``sources`` have raised.

    ``silent``: what may raise, and is not one of them.
    """

    sources: list[StatusSource] = field(default_factory=list)
    silent: list[Silent] = field(default_factory=list)
    told: str | None = None

    def check(self, cond: Expr, status: str) -> None:
        """Where `cond` fails NumPy would warn: `status` is a class of np.errstate."""
        cond = self.on_path(cond)
        if cond != TRUE:
            self.emit(Check(cond, status))

    def source(
        self, status: str, spelled: str | None, node: ast.AST, raised: Expr, *, certain: bool = True
    ) -> None:
        """Notes that NumPy may warn, under its name for an operation; None: only Python knows how.

        ``raised`` tells whether it does; where the value may not matter, it is computed anyway.
        """
        if self.path is not None:
            self.silent.append(Silent(status))
        place = span_of(node)
        message = f"{_CLASS[status]} encountered in {spelled}" if spelled else ""
        line = place.line if place else 0
        known = certain and bool(spelled) and not is_step(node)
        self.sources.append(StatusSource(status, message, line, known, place_of(node)))
        if self.told is not None:
            self._tell(raised)

    def warned(
        self,
        op: str,
        operands: tuple[Expr, ...],
        value: Expr,
        spelled: str | None,
        node: ast.AST,
        statuses: tuple[str, ...] | None = None,
        *,
        certain: bool = True,
    ) -> Expr:
        """`value`, which is `op` on the operands and may warn: of all that `op` may, by default."""
        telling = self.told is not None
        if telling:
            operands, value = tuple(map(self.bind, operands)), self.bind(value)
        for status in OPS[op].raises if statuses is None else statuses:
            by = raised(status, op, operands, value) if telling else TRUE
            self.source(status, spelled, node, by, certain=certain)
        return value

    def in_vain(self, before: int) -> None:
        """Notes that what the sources but the first `before` raise may be of no operation."""
        self.silent += [Silent(s.status) for s in self.sources[before:]]

    def _tell(self, raised: Expr) -> None:
        """Notes when the latest source raised first: as the how-manieth of all."""
        assert self.told is not None
        if self.path is not None:
            raised = logic("and", self.path, raised)
        count, mine = (Load(self.told, (integer(k),), "i64") for k in (0, len(self.sources)))
        first = logic("and", raised, Call("eq", (mine, integer(0)), "bool"))
        more = Call("add", (count, integer(1)), "i64")
        both = Store(self.told, count.index, more), Store(self.told, mine.index, count)
        self.emit(If(first, both))
