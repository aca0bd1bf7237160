"""Uniformity (divergence) analysis: which values differ between the lanes of an outer loop.

A name varies if it is computed from the loop variable or from a varying name, or in a branch on
one: a fixpoint over the bindings. Passes ask it before they run iterations of an outer loop side by
side: in the lanes of a vector (`vectorize`, `vectorize_outer`, `vectorize_divergent`,
`version_short_reductions`), where uniform values stay scalar; or as several rows at once, each with
registers or packed memory of its own (`jam`, `jam_rows`, `block_cache`, `pack_operands`), where a
uniform value is loaded once for all rows.

The passes for rows and packed memory see nests that have vectors already. `first_lane_code` gives
the scalar code of one lane of such a nest, to which this analysis and those of other modules apply.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..dtypes import INDEX
from ..ir_names import multiply_bound_names, names_read, own_bindings, substitute_bounded
from ..ir_traversal import map_children, walk, walk_statements
from ..lazy_dataclass import replace
from ..nodes import Accum, Assign, Broadcast, Expr, If, Load, Loop, Node, Ramp, Store, VecLoop
from .access import moving_axis_of_steps
from .integers.affine import affine_form

__all__ = ["Uniformity", "first_lane_code"]


class Uniformity:
    """The names in `loop` that vary with its variable, and the strides of accesses between lanes:
    two iterations of `loop` side by side have different values of a name that varies.

        for i in loop(0, n):                   i varies
            row = 2 * i                        row varies: values {row: 2 * i}
            for k in loop(0, m, s=0.0):        k is uniform: the same in all lanes
                s = step(s + x[row, k] * w[k])     s varies; the lanes of x[row, k] lie along
                                                   axis 0, 2 apart; w[k] is uniform: (0, 0)

    Variables of inner loops always count as uniform: the caller must have tested their ranges, as
    `can_run_in_lockstep` does.

    ``live_out``: names that vary although they are computed from uniform ones only: what a
    ``while`` leaves to the code after it, where lanes leave it at different times (temporal
    divergence).

    ``names``: the varying names, without the loop variable; ``values``: varying integer names with
    their values, which replace them in subscripts, so that a subscript reads only the loop variable
    and uniform names. `varies` asks for expressions, `lane_axis_and_stride` for accesses.
    `analysis.access.LoopSubscripts` gives the same for an innermost loop.
    """

    def __init__(self, loop: Loop, live_out: Iterable[str] = ()) -> None:
        self.var = loop.var
        nodes = [n for s in loop.body for n in walk_statements(s)]
        self.names = self._varying_names(nodes, frozenset(live_out))
        self.values = self._values(loop, nodes)

    def _varying_names(self, nodes: list[Node], live_out: frozenset[str]) -> frozenset[str]:
        """Those names bound by the statements `nodes` that vary: the least set that has `live_out`
        and each name whose values, or the condition of the branch that yields it, read the loop
        variable or a name of the set.
        """
        reads = [(name, names_read(*values, n.cond if isinstance(n, If) else None))
                 for n in nodes for name, values in own_bindings(n)]
        varying, grown = frozenset[str](), live_out | {self.var}
        while grown != varying:
            varying = grown
            grown = varying.union(name for name, read in reads if not varying.isdisjoint(read))
        return varying - {self.var}

    def varies(self, *code: Expr) -> bool:
        """Whether some of `code` varies between lanes."""
        names = names_read(*code)
        return self.var in names or bool(names & self.names)

    def lane_axis_and_stride(self, n: Load | Store) -> tuple[int, int] | None:
        """The axis along which the lanes of `n` lie and their distance in elements; ``(0, 0)`` if
        uniform.

        None where a subscript is not affine, or several vary.
        """
        return moving_axis_of_steps([self._step(e) for e in self.index(n)])

    def index(self, n: Load | Store) -> tuple[Expr, ...]:
        """The subscripts of `n` over the loop variable and uniform names."""
        return tuple(substitute_bounded(e, self.values) for e in n.index)

    def _step(self, e: Expr) -> int | None:
        """The distance of the subscript `e` between neighbouring lanes; None where it is not
        affine.
        """
        if not self.varies(e):
            return 0
        if names_read(e) & self.names or any(isinstance(x, Load) for x in walk(e)):
            return None
        form = affine_form(e, (self.var,))
        return None if form is None else form.coefficient(self.var)

    def _values(self, loop: Loop, nodes: list[Node]) -> dict[str, Expr]:
        """The values of varying index names that are bound once, over the loop variable and uniform
        names.
        """
        rebound, values = multiply_bound_names(loop), dict[str, Expr]()
        for n in (n for n in nodes if isinstance(n, Assign)):
            if n.value.dtype == INDEX and n.name in self.names - rebound:
                values[n.name] = substitute_bounded(n.value, values)
        return values


def first_lane_code(n: Any) -> Any:
    """`n`, any node that may contain vectors, as the scalar code that lane 0 runs: scalar analyses
    apply to it. `jam`, `block_cache` and others call it for nests that are vectorised inside.

        for i in vec(0, n, width=W): y[i:W] = x[i:W] * broadcast(a, W)
        →   for i in loop(0, n): y[i] = x[i] * a
    """
    n = map_children(n, first_lane_code)
    match n:
        case Broadcast(value):
            return value
        case Ramp(base):
            return base
        case VecLoop(var, rng, _, body, accs):
            return Loop(var, rng, body, tuple(Accum(a.name, a.init, a.step) for a in accs))
        case _:
            return n if getattr(n, "lanes", 1) == 1 else replace(n, lanes=1)
