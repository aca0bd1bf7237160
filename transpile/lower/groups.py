"""Names that take a loop more than one accumulator: of several types, or arrays that change."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..infer import Num
from .cases import MOST, cases_of, kind_of
from .endings import Endings
from .joint import JOINT, MoreStates, Together, has_array, states
from .refusal import refuse
from .several import MoreTypes, Several
from .values import Cases, Unbound, Value

__all__ = ["Group", "Groups"]

Group: TypeAlias = "Several | Together"


class Groups(Endings):
    """Knows such names, by what they are before a loop and at its end."""

    def groups(self, carried: Iterable[str], node: ast.For | ast.While) -> list[Group]:
        """Those that are so before the loop."""
        first = {n: self._before(n, node) for n in carried}
        arrays = tuple(n for n, v in first.items() if has_array(v))
        out: list[Group] = [
            self._several(n, node) for n, v in first.items()
            if isinstance(v, Cases) and not has_array(v)
        ]
        whens = states(self.b, self.b.env, arrays) if arrays else None
        return out if whens is None else [*out, Together(arrays, tuple(whens))]

    def _before(self, name: str, node: ast.AST) -> Value | None:
        if name not in self.b.env and name in self.arguments:
            self.array(ast.Name(name, ast.Load()))
        return self.b.env.get(name)

    def inits(
        self, carried: Iterable[str], groups: Sequence[Group], node: ast.For | ast.While
    ) -> dict[str, Num | Unbound]:
        """What the accumulators start with."""
        out: dict[str, Num | Unbound] = {}
        grouped = {n for g in groups for n in (g.arrays if isinstance(g, Together) else [g.name])}
        for name in carried:
            if name not in grouped:
                first = self._initial(name, node)
                out[name] = Unbound() if isinstance(first, Cases) else first
        for group in groups:
            out |= group.spread(self.b, self.b.env)
        return out

    def wider(
        self, groups: Sequence[Group], more: MoreTypes | MoreStates, node: ast.AST
    ) -> list[Group]:
        """`groups` with what turned out at the end of an iteration."""
        if isinstance(more, MoreTypes):
            rest = [g for g in groups if isinstance(g, Together) or g.name != more.name]
            known = next((g for g in groups if g not in rest), None)
            known = known or self._several(more.name, node)
            assert isinstance(known, Several)
            wide = known.with_more(more.kinds)
            if len(wide.kinds) > MOST:
                refuse("LOWER_JOIN", f"`{more.name}` has too many types in the loop", node)
            return [*rest, wide]
        rest = [g for g in groups if isinstance(g, Several)]
        (arrays,) = (g for g in groups if isinstance(g, Together))
        several = tuple(dict.fromkeys((*arrays.states, *(more.states or ()))))
        if more.states is None or len(several) > JOINT or not more.keep(self.b):
            return rest
        return [*rest, Together(arrays.arrays, several)]

    def _several(self, name: str, node: ast.AST) -> Several:
        """A name with the types that it has before a loop."""
        cases = None if self.b.one_type else cases_of(self.b, self.b.env.get(name))
        if cases is None:
            refuse("LOWER_JOIN", f"the type of `{name}` depends on the data", node)
        return Several(name, tuple(kind_of(c.value) for c in cases))
