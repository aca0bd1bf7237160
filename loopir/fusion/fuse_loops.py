"""Loop fusion driver: neighbouring loops over the same elements become one, unobservably.

Producer into consumer (vertical), reductions and maps side by side (horizontal), chains of any
length, nests level by level. Whether two loops may be joined is decided by
`fusion_legality.judge_fusion`. What a fused loop stores and loads again stays in a register, and a
temporary that is only used there is contracted away.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from ..analysis.access import accesses
from ..analysis.dependence import may_alias
from ..ir_names import FreshNames, bound_names, rename_names
from ..ir_traversal import bottom_up, walk
from ..lazy_dataclass import record, replace
from ..nodes import Accum, Assign, Disjoint, If, Kernel, Load, Loop, LoopLike, Stmt, Var, While
from ..passes.memory.dead_stores import without_dead_stores
from ..rejection import Rejection
from .array_contraction import contract_arrays, loaded_arrays
from .filter_fusion import fuse_over_filter
from .forward_stores import forward_stores
from .fusion_legality import can_fuse, judge_fusion, uncounted_rejections
from .iteration_domains import affine_bindings, perfect_nest
from .loop_pairs import FusionGates, LoopPair, make_loop_pair
from .shift_and_peel import Alignment, alignments, shift_and_peel

__all__ = ["Fusion", "fuse_kernel"]

_ORDER_DEPENDENT_CODES = {
    f"FUSE_REJECT_{code}" for code in
    ("DOMAIN_MISMATCH", "DEPENDENCE", "INDEXMAP_NOT_IDENTITY", "NOALIAS_MISSING")
}
"""Rejections that may be avoided by reversing or shifting a loop."""


@record(frozen=True, slots=True)
class Fusion:
    """A kernel after fusion.

    ``fused``: how many loops (a perfect nest counts as one) were joined to the one before.
    ``rejections``: why others were not. ``lines``: for each joined loop, the source lines of its
    parts. ``contracted``: arrays that were removed. ``tightened``: pairs of arrays that must now be
    disjoint, while before they could also be the same.
    """

    kernel: Kernel
    fused: int = 0
    rejections: tuple[Rejection, ...] = ()
    lines: tuple[tuple[int, ...], ...] = ()
    contracted: tuple[str, ...] = ()
    tightened: tuple[tuple[str, str], ...] = ()


def fuse_kernel(
    kernel: Kernel,
    *,
    enabled: bool = True,
    allow_control_flow_simple: bool = True,
    allow_broadcast_identity: bool = True,
    temporaries: frozenset[str] = frozenset(),
    private: frozenset[str] = frozenset(),
    drawn: frozenset[str] = frozenset(),
) -> Fusion:
    """Join all neighbouring loops of `kernel` that may be joined, and forward stores to loads.

    `temporaries`: arrays that the function allocates and that do not escape; `private`: all arrays
    that it allocates, which are not visible if the call raises; `drawn`: states of random
    generators.
    """
    if not enabled:
        return Fusion(kernel)
    gates = FusionGates(
        control_flow_simple=allow_control_flow_simple,
        broadcast_identity=allow_broadcast_identity,
        private=private | temporaries,
        temporaries=temporaries,
        drawn=drawn,
    )
    fuser = _LoopFuser(kernel, gates)
    body = fuser.block(kernel.body, ())
    if body == kernel.body:
        return Fusion(kernel, rejections=tuple(fuser.rejections))
    fused = replace(fuser.kernel, body=body)
    unread = (temporaries & loaded_arrays(kernel)) - loaded_arrays(fused)
    fused, contracted = contract_arrays(fused, unread)
    return Fusion(
        kernel=fused,
        fused=fuser.fused,
        rejections=tuple(fuser.rejections),
        lines=tuple(tuple(lines) for lines in fuser.lines.values()),
        contracted=contracted,
        tightened=tuple(fuser.tightened),
    )


@record
class _LoopFuser:
    """The fusion of one kernel; its guards may be tightened."""

    kernel: Kernel
    gates: FusionGates
    fused: int = 0
    rejections: list[Rejection] = field(default_factory=list)
    lines: dict[int, list[int]] = field(default_factory=dict)
    tightened: list[tuple[str, str]] = field(default_factory=list)
    leftover: set[str] = field(default_factory=set)
    vectorized: dict[Kernel, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = affine_bindings(self.kernel)
        self.fresh = FreshNames(self.kernel, keep_numbers=True)

    def block(
        self, stmts: tuple[Stmt, ...], outer: tuple[str, ...], counted: bool = True
    ) -> tuple[Stmt, ...]:
        """Join neighbouring loops in `stmts` (inside loops over `outer`): first in nested blocks,
        then here.

        Two rounds: first loops with equal iteration order, then those that can be joined reversed
        or shifted.
        """
        out = [self.within(s, outer) for s in stmts]
        several: set[str] = set()  # the variables of joined loops
        for in_order in (True, False):
            here = self.next_loop(out, 0)
            while (there := self.next_loop(out, here + 1)) < len(out):
                part = out[here : there + 1]
                joined = self.join(part[0], part[1:-1], part[-1], outer, counted, in_order)
                if joined is None:
                    here = there
                    continue
                above, loop, below = joined
                out[here : there + 1] = [*above, loop, *below]
                here += len(above)
                several.add(loop.var)
        return tuple(self.finalized(s, outer) if several & {*_loop_variable(s)} or not outer else s
                     for s in out)

    def next_loop(self, stmts: list[Stmt], start: int) -> int:
        """The index of the first loop from `start` on that is no peeled rest; ``len(stmts)`` if
        none.
        """
        places = (
            k for k in range(start, len(stmts))
            if isinstance(stmts[k], LoopLike) and not self.leftover & set(_loop_variable(stmts[k]))
        )
        return next(places, len(stmts))

    def within(self, s: Stmt, outer: tuple[str, ...]) -> Stmt:
        """`s` with the loops in it joined."""
        match s:
            case Loop(body=body):
                return replace(s, body=self.block(body, (*outer, s.var)))
            case While(body=body):
                return replace(s, body=self.block(body, outer))
            case If(then=then, orelse=orelse):
                return replace(s, then=self.block(then, outer), orelse=self.block(orelse, outer))
        return s

    def join(
        self, first: Stmt, between: list[Stmt], second: Stmt, outer: tuple[str, ...],
        counted: bool, in_order: bool,
    ) -> tuple[tuple[Stmt, ...], Loop, tuple[Stmt, ...]] | None:
        """The statements before, the loop, and those after it, which replace two loops and the
        statements between; None where they stay apart.
        """
        if not (isinstance(first, Loop) and isinstance(second, Loop)):
            self.rejections += () if in_order else uncounted_rejections(first, second)
            return None
        second = self.aligned(first, second)
        over = fuse_over_filter(self.kernel, first, second, self.fresh.name)
        alignment = Alignment(first, over or second)
        p = self.pair(alignment, between, outer, brief=in_order)
        if in_order:
            if not can_fuse(p):
                return None
        elif found := judge_fusion(p):
            other = self.find_alignment(alignment, between, outer, found)
            if other is None:
                self.reject(first, second, found)
                return None
            alignment, p = other
        self.tighten(p)
        nested = len(perfect_nest(first)) > 1 and len(perfect_nest(second)) > 1
        lead, loop, rest = self.merged(p, alignment)
        loop = replace(loop, body=self.block(loop.body, (*outer, loop.var), counted and not nested))
        if counted:
            self.count(first, second)
        return (*p.between.above, *lead), loop, (*rest, *p.between.below)

    def reject(self, first: Loop, second: Loop, found: Iterable[Rejection]) -> None:
        """Report why two loops stay apart.

        Suppressed where the first one is generated and the second one is the user's, and where both
        come from one line and touch an array of a random generator.
        """
        is_suppressed = second.span and not first.span
        if first.span and second.span and first.span.line == second.span.line:
            touched = {a.array for a in accesses((first, second))}
            is_suppressed = not touched.isdisjoint(self.gates.drawn)
        if not is_suppressed:
            self.rejections += [r for r in found if r not in self.rejections]

    def pair(
        self, alignment: Alignment, between: list[Stmt], outer: tuple[str, ...], *, brief: bool
    ) -> LoopPair:
        second = alignment.second
        if alignment.shift is not None:
            second = alignment.shift.delayed(second)
        return make_loop_pair(
            self.kernel, alignment.first, tuple(between), second, outer, self.known, self.gates,
            peeled=alignment.shift is not None, brief=brief, vectorized=self.vectorized,
        )

    def find_alignment(
        self,
        plain: Alignment,
        between: list[Stmt],
        outer: tuple[str, ...],
        found: Iterable[Rejection],
    ) -> tuple[Alignment, LoopPair] | None:
        """Another alignment in which the loops may be joined, if only their iteration order
        prevents it.
        """
        if {r.code for r in found} <= _ORDER_DEPENDENT_CODES:
            for alignment in alignments(self.kernel, plain.first, plain.second, outer, self.known):
                p = self.pair(alignment, between, outer, brief=True)
                if can_fuse(p):
                    return alignment, p
        return None

    def aligned(self, first: Loop, second: Loop) -> Loop:
        """`second` with the variable of `first`, and without name clashes."""
        results = {a.name for a in second.accs}
        shared = (_loop_variables(first) & _loop_variables(second)) - {first.var}
        clashing = bound_names(second) & bound_names(first) - results - shared - {second.var}
        names = {second.var: first.var}
        for name in sorted(clashing):
            names[name] = self.fresh.name(name)
        return rename_names(second, names)

    def tighten(self, p: LoopPair) -> None:
        """Require arrays that could be the same to be disjoint, where the joined loop needs that.
        """
        apart = {frozenset((c.first.array, c.second.array)) for c in p.perhaps_same} | p.apart
        guards = tuple(
            replace(g, or_same=False) if isinstance(g, Disjoint) and {g.a, g.b} in apart else g
            for g in self.kernel.guards
        )
        named = ((g.a, g.b) for g in guards if isinstance(g, Disjoint))
        self.tightened += [ab for ab in named if frozenset(ab) in apart]
        self.kernel = replace(self.kernel, guards=guards)

    def merged(
        self, p: LoopPair, alignment: Alignment
    ) -> tuple[tuple[Loop, ...], Loop, tuple[Loop, ...]]:
        """The joined loop: the first body, then the second, then the steps of both; with the peeled
        iterations before and after it.
        """
        first_loop_loads, accs = self.first_loop_loads(p)
        body = (*p.first.body, *first_loop_loads, *p.second.body)
        loop = replace(p.first, body=body, accs=(*accs, *p.second.accs))
        if alignment.shift is None:
            return (), loop, ()
        lead, loop, rest = shift_and_peel(loop, alignment, alignment.shift, self.names)
        self.leftover.update(alone.var for alone in (*lead, *rest))
        return lead, loop, rest

    def names(self, loop: Loop) -> dict[str, str]:
        """A fresh name."""
        new = self.fresh.names(loop)
        self.leftover.update(new[name] for name in self.leftover & new.keys())
        return new

    def first_loop_loads(self, p: LoopPair) -> tuple[list[Stmt], list[Accum]]:
        """Assignments of loads in the first loop's steps that the second loop would overwrite, and
        the steps that read these names.
        """
        written = {a.array for a in accesses((p.second,)) if a.is_write}
        bound_here: list[Stmt] = []

        def name_loads(n: Any) -> Any:
            if not isinstance(n, Load) or not self.touched(n.array, written):
                return n
            name = self.fresh.name(f"{n.array}_before")
            bound_here.append(Assign(name, n, span=n.span))
            return Var(name, n.dtype)

        accs = [replace(a, step=bottom_up(a.step, name_loads)) for a in p.first.accs]
        return bound_here, accs

    def touched(self, array: str, written: Iterable[str]) -> bool:
        return any(may_alias(self.kernel, array, w) for w in written)

    def finalized(self, s: Stmt, outer: tuple[str, ...]) -> Stmt:
        """A loop in its final form: stores forwarded, dead stores removed."""
        if not isinstance(s, Loop):
            return s
        return without_dead_stores(self.kernel, forward_stores(self.kernel, s, outer, self.fresh))

    def count(self, first: Loop, second: Loop) -> None:
        self.fused += 1
        if first.span and second.span:
            lines = self.lines.setdefault(first.span.line, [first.span.line])
            lines.append(second.span.line)


def _loop_variable(s: Stmt) -> tuple[str, ...]:
    return (s.var,) if isinstance(s, Loop) else ()


def _loop_variables(loop: Loop) -> frozenset[str]:
    return frozenset(n.var for n in walk(loop) if isinstance(n, Loop))
