"""What code changes of what stands outside it: the status, flags to leave by, and counters."""
from __future__ import annotations

from collections.abc import Callable, Iterable

from loopir import nodes as ir
from loopir.types import INDEX

from .expressions import Expressions

__all__ = ["GO", "OFF", "ON", "RETURNED", "STATE", "State", "Values"]

STATE, GO, RETURNED = "$status", "$go", "$returned"
"""The status; whether the block at hand goes on; whether the kernel has returned."""

ON, OFF = ir.Const(True, "bool"), ir.Const(False, "bool")

Values = Callable[[], list[str]]


class State(Expressions):
    """A function's text; the names that change are bound like those of Loop IR."""

    def __init__(self, kernel: ir.Kernel, reassociate: bool) -> None:
        super().__init__(kernel.params)
        self.kernel, self.reassociate = kernel, reassociate

    def changed(self, body: Iterable[ir.Stmt]) -> list[str]:
        """The names that `body` changes and does not start itself."""
        found: set[str] = set()
        for s in body:
            match s:
                case ir.Append(count=name):
                    found.add(name)
                case ir.Check(code=code):
                    found |= {STATE, *((GO, RETURNED) if self.stops(code) else ())}
                case ir.Return():
                    found |= {GO, RETURNED}
                case ir.Break():
                    found.add(GO)
                case ir.If():
                    found.update(self.changed((*s.then, *s.orelse)))
                case ir.Loop() | ir.Zip() | ir.While():
                    found.update(self.outside(s))
        return sorted(found)

    def outside(self, s: ir.Loop | ir.Zip | ir.While) -> list[str]:
        """What a loop changes: after a `return` in it the block around it is left too."""
        inner = self.changed(s.body)
        own = {a.name for a in s.accs} | ({GO} if RETURNED not in inner else set())
        return [name for name in inner if name not in own]

    def stops(self, code: str) -> bool:
        """Whether a check of `code` that fails ends the kernel."""
        return self.kernel.stops and code == "replay"

    def state(self, names: Iterable[str]) -> list[str]:
        """The values of `names` at hand."""
        flags = {GO: ON, RETURNED: OFF}
        return [self.names.get(n) or self.constant(flags[n]) for n in names]

    def integer(self, value: int) -> str:
        return self.constant(ir.Const(value, INDEX))

    def negated(self, flag: str) -> str:
        return self.call("ne", (flag, self.constant(ON)), "bool", "bool")
