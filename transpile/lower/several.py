"""Names that a loop carries under several types: one accumulator a type, and which one it is."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from loopir.nodes import Expr
from loopir.record import record

from ..infer import FALSE, TRUE, Num, logic
from .builder import Builder
from .cases import Kind, cases_of, kind_of, zero_of
from .refusal import refuse
from .values import Absent, Case, Cases, Value

__all__ = ["MoreTypes", "Several"]


class MoreTypes(Exception):
    """The name has values of these types in a loop, too."""

    def __init__(self, name: str, kinds: Iterable[Kind]) -> None:
        super().__init__(name)
        self.name, self.kinds = name, tuple(kinds)


@record(frozen=True, slots=True)
class Several:
    """A name and its types. Each has a name of its own, and one more for whether it is the one,
    but for the last; all begin with what no name of Python's does.
    """

    name: str
    kinds: tuple[Kind, ...]

    @property
    def names(self) -> list[str]:
        """Those of its types."""
        values = (self._value(k) for k in self.kinds if isinstance(k, tuple))
        return [*values, *map(self._flag, self.kinds[:-1])]

    def with_more(self, kinds: Iterable[Kind]) -> Several:
        """The name with these types, too."""
        return Several(self.name, tuple(dict.fromkeys((*self.kinds, *kinds))))

    def spread(self, b: Builder, env: Mapping[str, Value]) -> dict[str, Num]:
        """What those names stand for where the name does for what it does in `env`. Raises
        MoreTypes.
        """
        found = cases_of(b, env.get(self.name))
        if found is None:
            refuse("LOWER_JOIN", f"the type of `{self.name}` depends on the data", None)
        cases = {kind_of(c.value): c for c in found}
        if not cases.keys() <= set(self.kinds):
            raise MoreTypes(self.name, cases)
        out: dict[str, Num] = {}
        for kind in self.kinds:
            case = cases.get(kind)
            if isinstance(kind, tuple):
                held = case.value if case else None
                out[self._value(kind)] = held if isinstance(held, Num) else zero_of(kind)
            if kind != self.kinds[-1]:
                out[self._flag(kind)] = Num(case.when if case else FALSE, weak="bool")
        return out

    def gather(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The name with its value where those names have `values`."""
        out: list[Case] = []
        rest: Expr = TRUE
        for kind in self.kinds:
            when = rest
            if kind != self.kinds[-1]:
                flag = values[self._flag(kind)]
                assert isinstance(flag, Num)
                when = logic("and", rest, flag.ir)
                rest = logic("and", rest, logic("not", flag.ir))
            value = values[self._value(kind)] if isinstance(kind, tuple) else kind
            assert isinstance(value, (Num, Absent))
            out.append(Case(value, when))
        return {self.name: Cases(tuple(out))}

    def _value(self, kind: Kind) -> str:
        return f"#{self.name}_{_said(kind)}"

    def _flag(self, kind: Kind) -> str:
        return f"#{self.name}_is_{_said(kind)}"


def _said(kind: Kind) -> str:
    if not isinstance(kind, tuple):
        return kind.name.lower()
    strong, weak = kind
    return strong or f"py_{weak}"
