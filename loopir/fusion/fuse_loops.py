"""Loop fusion driver: neighbouring loops over the same elements become one, unobservably.

Producer into consumer (vertical), reductions and maps side by side (horizontal), chains of any
length, nests level by level. What a fused loop stores and loads again stays in a register, and
a temporary that only lives there is contracted away.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Any

from ..analysis.access import accesses
from ..analysis.dependence import may_alias
from ..ir_names import bound_names, fresh_name, rename_names
from ..ir_traversal import bottom_up, walk
from ..lazy_dataclass import record
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
"""Reasons that another order of the iterations may do away with."""


@record(frozen=True, slots=True)
class Fusion:
    """A kernel after fusion.

    ``fused``: how many loops (a perfect nest counts as one) were joined to the one before.
    ``rejections``: why others were not. ``lines``: of each joined loop, the lines of those in it.
    ``contracted``: arrays that the kernel no longer has. ``tightened``: pairs of arrays that may
    no longer be one array.
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
    """Joins all neighbouring loops of `kernel` that may be joined; what an iteration of any loop
    has stored it does not load again.

    `temporaries`: arrays that the function makes and that do not escape; `private`: all that it
    makes, which nobody sees if the call raises; `drawn`: the states of random generators.
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
    held = (temporaries & loaded_arrays(kernel)) - loaded_arrays(fused)
    fused, contracted = contract_arrays(fused, held)
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
    """One kernel being fused; its guards may be tightened on the way."""

    kernel: Kernel
    gates: FusionGates
    fused: int = 0
    rejections: list[Rejection] = field(default_factory=list)
    lines: dict[int, list[int]] = field(default_factory=dict)
    tightened: list[tuple[str, str]] = field(default_factory=list)
    leftover: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.known = affine_bindings(self.kernel)
        self.taken = {*bound_names(*self.kernel.body), *(p.name for p in self.kernel.params)}

    def block(
        self, stmts: tuple[Stmt, ...], outer: tuple[str, ...], counted: bool = True
    ) -> tuple[Stmt, ...]:
        """`stmts`, inside loops over `outer`, with neighbouring loops joined: below, then here; as
        they count, then those that another order of the iterations lets join.
        """
        out = [self.within(s, outer) for s in stmts]
        several: set[str] = set()  # variables of joined loops
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
        return tuple(self.settled(s, outer) if several & {*_loop_variable(s)} or not outer else s
                     for s in out)

    def next_loop(self, stmts: list[Stmt], start: int) -> int:
        """The place of the first loop from `start` on that none has been peeled to; the length
        where there is none.
        """
        places = (
            k for k in range(start, len(stmts))
            if isinstance(stmts[k], LoopLike) and not self.leftover & set(_loop_variable(stmts[k]))
        )
        return next(places, len(stmts))

    def within(self, s: Stmt, outer: tuple[str, ...]) -> Stmt:
        """`s` with the loops below it joined."""
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
        """What replaces two loops and what stands between them; None where they stay."""
        if not (isinstance(first, Loop) and isinstance(second, Loop)):
            self.rejections += () if in_order else uncounted_rejections(first, second)
            return None
        second = self.aligned(first, second)
        way = Alignment(first, fuse_over_filter(self.kernel, first, second, self.name) or second)
        p = self.pair(way, between, outer, brief=in_order)
        if in_order:
            if not can_fuse(p):
                return None
        elif found := judge_fusion(p):
            other = self.other_way(way, between, outer, found)
            if other is None:
                self.reject(first, second, found)
                return None
            way, p = other
        self.tighten(p)
        nested = len(perfect_nest(first)) > 1 and len(perfect_nest(second)) > 1
        lead, loop, rest = self.merged(p, way)
        loop = replace(loop, body=self.block(loop.body, (*outer, loop.var), counted and not nested))
        if counted:
            self.count(first, second)
        return (*p.between.above, *lead), loop, (*rest, *p.between.below)

    def reject(self, first: Loop, second: Loop, found: Iterable[Rejection]) -> None:
        """Tells why two loops of the user's stay two; and none of those that draw a number."""
        ours = second.span and not first.span
        if first.span and second.span and first.span.line == second.span.line:
            touched = {a.array for a in accesses((first, second))}
            ours = not touched.isdisjoint(self.gates.drawn)
        if not ours:
            self.rejections += [r for r in found if r not in self.rejections]

    def pair(
        self, way: Alignment, between: list[Stmt], outer: tuple[str, ...], *, brief: bool
    ) -> LoopPair:
        second = way.second if way.shift is None else way.shift.delayed(way.second)
        return make_loop_pair(
            self.kernel, way.first, tuple(between), second, outer, self.known, self.gates,
            peeled=way.shift is not None, brief=brief,
        )

    def other_way(
        self,
        plain: Alignment,
        between: list[Stmt],
        outer: tuple[str, ...],
        found: Iterable[Rejection],
    ) -> tuple[Alignment, LoopPair] | None:
        """How the loops can be joined all the same, where only their order is in the way."""
        if {r.code for r in found} <= _ORDER_DEPENDENT_CODES:
            for way in alignments(self.kernel, plain.first, plain.second, outer, self.known):
                p = self.pair(way, between, outer, brief=True)
                if can_fuse(p):
                    return way, p
        return None

    def aligned(self, first: Loop, second: Loop) -> Loop:
        """`second` over the first one's variable, and without names that the first one binds."""
        results = {a.name for a in second.accs}
        shared = (_loop_variables(first) & _loop_variables(second)) - {first.var}
        clashing = bound_names(second) & bound_names(first) - results - shared - {second.var}
        names = {second.var: first.var}
        for name in sorted(clashing):
            names[name] = self.name(name)
        return rename_names(second, names)

    def tighten(self, p: LoopPair) -> None:
        """Arrays that could be one, and must not be now, are guarded so."""
        apart = {frozenset((c.first.array, c.second.array)) for c in p.perhaps_same} | p.apart
        guards = tuple(
            replace(g, or_same=False) if isinstance(g, Disjoint) and {g.a, g.b} in apart else g
            for g in self.kernel.guards
        )
        named = ((g.a, g.b) for g in guards if isinstance(g, Disjoint))
        self.tightened += [ab for ab in named if frozenset(ab) in apart]
        self.kernel = replace(self.kernel, guards=guards)

    def merged(
        self, p: LoopPair, way: Alignment
    ) -> tuple[tuple[Loop, ...], Loop, tuple[Loop, ...]]:
        """One loop: the first body, then the second; the steps of both at the end. Ahead of it and
        behind it, what only one of them has.
        """
        early, accs = self.early(p)
        body = (*p.first.body, *early, *p.second.body)
        loop = replace(p.first, body=body, accs=(*accs, *p.second.accs))
        if way.shift is None:
            return (), loop, ()
        lead, loop, rest = shift_and_peel(loop, way, way.shift, self.names)
        self.leftover.update(alone.var for alone in (*lead, *rest))
        return lead, loop, rest

    def name(self, like: str) -> str:
        """A new name."""
        name = fresh_name(like, self.taken)
        self.taken.add(name)
        return name

    def names(self, loop: Loop) -> dict[str, str]:
        """A new name for each that `loop` binds."""
        new = {name: fresh_name(name, self.taken) for name in sorted(bound_names(loop))}
        self.taken.update(new.values())
        self.leftover.update(new[name] for name in self.leftover & new.keys())
        return new

    def early(self, p: LoopPair) -> tuple[list[Stmt], list[Accum]]:
        """Loads in the first loop's steps of what the second writes, and the steps without them."""
        written = {a.array for a in accesses((p.second,)) if a.is_write}
        bound_here: list[Stmt] = []

        def name_loads(n: Any) -> Any:
            if not isinstance(n, Load) or not self.touched(n.array, written):
                return n
            name = self.name(f"{n.array}_before")
            bound_here.append(Assign(name, n, span=n.span))
            return Var(name, n.dtype)

        accs = [replace(a, step=bottom_up(a.step, name_loads)) for a in p.first.accs]
        return bound_here, accs

    def touched(self, array: str, written: Iterable[str]) -> bool:
        return any(may_alias(self.kernel, array, w) for w in written)

    def settled(self, s: Stmt, outer: tuple[str, ...]) -> Stmt:
        """A loop in its final form."""
        if not isinstance(s, Loop):
            return s
        return without_dead_stores(self.kernel, forward_stores(self.kernel, s, outer, self.taken))

    def count(self, first: Loop, second: Loop) -> None:
        self.fused += 1
        if first.span and second.span:
            lines = self.lines.setdefault(first.span.line, [first.span.line])
            lines.append(second.span.line)


def _loop_variable(s: Stmt) -> tuple[str, ...]:
    return (s.var,) if isinstance(s, Loop) else ()


def _loop_variables(loop: Loop) -> frozenset[str]:
    return frozenset(n.var for n in walk(loop) if isinstance(n, Loop))
