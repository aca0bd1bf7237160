"""Loop fusion driver: neighbouring loops over the same elements become one, unobservably.

    for i: t[i] = a[i] * 2             for i: t_here = a[i] * 2
    for i: out[i] = t[i] + 1    →             out[i] = t_here + 1

It joins producer into consumer (vertical fusion) and independent loops (horizontal fusion), chains
of any length, and nests level by level. `_LoopFuser.block` walks a block twice: first it joins
loops with equal iteration order, then those that can be joined when one is reversed or shifted
(`shift_and_peel`). `fusion_legality.judge_fusion` decides on each pair. The choice is greedy: pairs
are tried in source order, each loop with the next one, and a legal pair that pays is joined at once
and stays joined. Of several legal alignments the first of `shift_and_peel.alignments` is taken. Two
fusions are never compared with each other. Afterwards `forward_stores` keeps in a register what the
joined loop stores and loads again, `rematerialize` computes again what later loops load and is
cheap, `coalesce_arrays` keeps a temporary in the result that overwrites it, and `contract_arrays`
removes a temporary array that is not loaded any more. The stage ``fuse`` of
`transpile/pipeline.py` calls `fuse_kernel`.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple

from ..analysis.access import accesses, count_accesses
from ..analysis.dependence import may_alias
from ..analysis.mod_ref import arrays_read
from ..ir_names import FreshNames, bound_names, rename_names
from ..ir_traversal import bottom_up, contains, contains_nest, walk_statements
from ..lazy_dataclass import record, replace
from ..nodes import Accum, Assign, Disjoint, If, Kernel, Load, Loop, LoopLike, Stmt, Var, While
from ..passes.memory.dead_stores import without_dead_stores
from ..process.lazy_function import lazy_function
from ..rejection import Rejection
from .forward_stores import forward_stores
from .iteration_domains import affine_bindings, perfect_nest
from .loop_pairs import FusionOptions, LoopPair, make_loop_pair

if TYPE_CHECKING:
    from .shift_and_peel import Alignment

__all__ = ["FUSION_BUDGET", "Fusion", "fuse_kernel"]

# -- Steps that a kernel with one loop does without, each imported when it first runs

alignments = lazy_function(__package__, "shift_and_peel:alignments")
can_fuse = lazy_function(__package__, "fusion_legality:can_fuse")
coalesce_arrays = lazy_function(__package__, "coalesce_arrays")
contract_arrays = lazy_function(__package__, "array_contraction:contract_arrays")
fuse_over_filter = lazy_function(__package__, "filter_fusion:fuse_over_filter")
judge_fusion = lazy_function(__package__, "fusion_legality:judge_fusion")
rematerialize = lazy_function(__package__, "rematerialize")
shift_and_peel = lazy_function(__package__, "shift_and_peel")
uncounted_rejections = lazy_function(__package__, "fusion_legality:uncounted_rejections")
unify_lengths = lazy_function(__package__, "equal_lengths:unify_lengths")
without_dead_arrays = lazy_function(__package__, "array_contraction:without_dead_arrays")

FUSION_BUDGET = 3_000_000
"""How many pairs of accesses the dependence tests of one kernel may compare; about a second. Two
loops of n accesses each have n² pairs, and each loop may be tested against several neighbours. When
the budget is spent, `_LoopFuser.join` tests no further pairs: these loops are right as they are,
only not joined, and `Fusion.left_out` counts them for the report.
"""


@record(frozen=True, slots=True)
class Fusion:
    """A kernel after fusion."""

    kernel: Kernel
    fused: int = 0  # loops joined to the one before; a perfect nest counts as one
    rejections: tuple[Rejection, ...] = ()  # why other loops were not joined
    lines: tuple[tuple[int, ...], ...] = ()  # for each joined loop, the source lines of its parts
    contracted: tuple[str, ...] = ()  # temporary arrays that it no longer takes
    tightened: tuple[tuple[str, str], ...] = ()
    """Pairs of arrays that must now be disjoint, while before they could also be the same."""
    left_out: int = 0  # pairs of neighbouring loops that were not tried, to bound the time


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

    `enabled`: if False, nothing is done. `allow_control_flow_simple`: loops with branches may be
    joined; `allow_broadcast_identity`: nests that read an element repeatedly, such as x[j] for all
    i, may be joined. `temporaries`: arrays that the function allocates and that do not escape;
    `private`: all arrays that it allocates, which are not visible if the call raises; `drawn`:
    states of random generators.
    """
    if not enabled:
        return Fusion(kernel)
    kernel = unify_lengths(kernel) if kernel.guards else kernel
    kernel = without_dead_arrays(kernel, temporaries) if temporaries else kernel
    options = FusionOptions(
        control_flow_simple=allow_control_flow_simple,
        broadcast_identity=allow_broadcast_identity,
        private=private | temporaries,
        temporaries=temporaries,
        drawn=drawn,
    )
    fuser = _LoopFuser(kernel, options)
    body = fuser.block(kernel.body, ())
    fused = fuser.kernel if body == kernel.body else replace(fuser.kernel, body=body)
    coalesced: tuple[str, ...] = ()
    if temporaries:
        fused = rematerialize(fused, temporaries, fuser.fresh)
        fused, coalesced = coalesce_arrays(fused, temporaries, private - temporaries)
    arrays = {p.name for p in fused.params if p.rank}
    never_loaded = (temporaries & arrays) - arrays_read((fused,))
    contracted: tuple[str, ...] = ()
    if never_loaded:
        fused, contracted = contract_arrays(fused, never_loaded)
    if fused is kernel:
        return Fusion(kernel, rejections=tuple(fuser.rejections), left_out=fuser.left_out)
    return Fusion(
        kernel=fused,
        fused=fuser.fused,
        rejections=tuple(fuser.rejections),
        lines=tuple(tuple(lines) for lines in fuser.lines.values()),
        contracted=(*contracted, *coalesced),
        tightened=tuple(fuser.tightened),
        left_out=fuser.left_out,
    )


class _Tried(NamedTuple):
    """Two loops that cannot be joined in their original order."""

    statements: tuple[Stmt, ...]  # both loops, and the statements between them
    second: Loop  # the second loop with the names of the first
    alignment: Alignment
    pair: LoopPair


@record
class _LoopFuser:
    """The state of the fusion of one kernel; fields as in `Fusion`."""

    kernel: Kernel  # its guards may be tightened on the way
    options: FusionOptions
    fused: int = 0
    rejections: list[Rejection] = field(default_factory=list)
    lines: dict[int, list[int]] = field(default_factory=dict)  # by the line of the first part
    tightened: list[tuple[str, str]] = field(default_factory=list)
    peeled_loops: set[str] = field(default_factory=set)
    """Variables of loops over peeled iterations. They are not joined with anything."""
    vectorized: dict[Kernel, bool] = field(default_factory=dict)
    """`LoopPair.vectorized` of all pairs of this kernel."""
    tried: dict[tuple[object, ...], _Tried] = field(default_factory=dict)
    """The pairs that the first round did not join, by the variables of the loops around and the ids
    of their statements: the second round judges the same pairs.
    """
    budget: int = 0  # what is left of FUSION_BUDGET
    left_out: int = 0

    def __post_init__(self) -> None:
        self.budget = FUSION_BUDGET
        self.bindings = affine_bindings(self.kernel)
        self.fresh = FreshNames(self.kernel, keep_numbers=True)

    def block(
        self, stmts: tuple[Stmt, ...], outer: tuple[str, ...], counted: bool = True
    ) -> tuple[Stmt, ...]:
        """`stmts`, inside loops over `outer`, with neighbouring loops joined: first in the blocks
        nested in them, then here, from the front. A loop that was joined is tried with the next
        one (greedy)::

            loop 1, loop 2, loop 3     1 and 2 are joined to 12; then 12 and 3 are tried
            loop 1, loop 2, loop 3     1 and 2 cannot be joined; then 2 and 3 are tried

        There are two rounds: the first for loops with equal iteration order, the second also
        for those that can be joined once one is reversed or shifted. Joined loops, and all
        outermost ones, are then `finalized`.
        """
        out = [self.nested(s, outer) for s in stmts]
        joined_variables: set[str] = set()  # the variables of joined loops
        for in_order in (True, False):
            first = self.next_loop(out, 0)
            while (second := self.next_loop(out, first + 1)) < len(out):
                group = out[first : second + 1]
                replacement = self.join(group[0], group[1:-1], group[-1], outer, counted, in_order)
                if replacement is None:
                    first = second
                    continue
                before, loop, after = replacement
                out[first : second + 1] = [*before, loop, *after]
                first += len(before)
                joined_variables.add(loop.var)
        done = tuple(
            self.finalized(s, outer) if joined_variables & {*_loop_variable(s)} or not outer else s
            for s in out
        )
        return stmts if len(done) == len(stmts) and all(map(is_, done, stmts)) else done

    def next_loop(self, stmts: list[Stmt], start: int) -> int:
        """The index of the first loop from `start` on, loops over peeled iterations left out;
        ``len(stmts)`` if there is none.
        """
        indices = (
            k
            for k in range(start, len(stmts))
            if isinstance(stmts[k], LoopLike)
            and not self.peeled_loops & set(_loop_variable(stmts[k]))
        )
        return next(indices, len(stmts))

    def nested(self, s: Stmt, outer: tuple[str, ...]) -> Stmt:
        """`s` with the loops inside it joined; `s` itself where none are, since what is known of
        its accesses is kept in it.
        """
        match s:
            case Loop(body=body) | While(body=body) if contains_nest(s):
                new = self.block(body, (*outer, s.var) if isinstance(s, Loop) else outer)
                return s if new is body else replace(s, body=new)
            case If(then=then, orelse=orelse) if contains(s, LoopLike):
                sides = self.block(then, outer), self.block(orelse, outer)
                same = sides[0] is then and sides[1] is orelse
                return s if same else replace(s, then=sides[0], orelse=sides[1])
        return s

    def join(
        self, first: Stmt, between: list[Stmt], second: Stmt, outer: tuple[str, ...],
        counted: bool, in_order: bool,
    ) -> tuple[tuple[Stmt, ...], Loop, tuple[Stmt, ...]] | None:
        """Join two neighbouring loops.

        Returns the statements before, the joined loop, and the statements after it, which together
        replace the two loops and the statements `between`; None where they are not joined.

        With `in_order` (first round) only their original iteration order is tried, and nothing is
        reported. In the second round `judge_fusion` gives the reasons against that order; where
        all of them depend on the alignment, others are tried; else the reasons are reported.
        Nothing is tried once the budget is spent: each attempt costs as many units as the joined
        loop has pairs of accesses. `counted`: the joined loop counts in `Fusion.fused`; inner
        levels of a nest do not.
        """
        if not (isinstance(first, Loop) and isinstance(second, Loop)):
            self.rejections += () if in_order else uncounted_rejections(first, second)
            return None
        self.budget -= (count_accesses(first) + count_accesses(second)) ** 2
        if self.budget < 0:
            self.left_out += counted and not in_order
            return None
        group = first, *between, second
        key = outer, *map(id, group)
        tried = None if in_order else self.tried.get(key)
        if tried is not None and tried.pair.kernel is self.kernel:
            second, alignment, p = tried.second, tried.alignment, replace(tried.pair, brief=False)
        else:
            second = self.with_names_of(first, second)
            over_filter = fuse_over_filter(self.kernel, first, second, self.fresh.name)
            from .shift_and_peel import Alignment

            alignment = Alignment(first, over_filter or second)
            p = self.pair(alignment, between, outer, brief=in_order)
        if in_order:
            if not can_fuse(p):
                self.tried[key] = _Tried(group, second, alignment, p)
                return None
        elif reasons := judge_fusion(p):
            realigned = self.find_other_alignment(alignment, between, outer, reasons)
            if realigned is None:
                self.reject(first, second, reasons)
                return None
            alignment, p = realigned
        self.tighten(p)
        nested = len(perfect_nest(first)) > 1 and len(perfect_nest(second)) > 1
        peeled_before, loop, peeled_after = self.merged(p, alignment)
        loop = replace(loop, body=self.block(loop.body, (*outer, loop.var), counted and not nested))
        if counted:
            self.count(first, second)
        return (*p.between.above, *peeled_before), loop, (*peeled_after, *p.between.below)

    def reject(self, first: Loop, second: Loop, reasons: Iterable[Rejection]) -> None:
        """Report `reasons`, why two loops are not joined. Nothing is reported where

        - the first loop is generated, so that it has no place in the source, and the second has;
        - both come from one line and touch the state of a random generator: they are the code of
          one draw.
        """
        is_suppressed = second.span and not first.span
        if first.span and second.span and first.span.line == second.span.line:
            touched = {a.array for a in accesses((first, second))}
            is_suppressed = not touched.isdisjoint(self.options.drawn)
        if not is_suppressed:
            self.rejections += [r for r in reasons if r not in self.rejections]

    def pair(
        self, alignment: Alignment, between: list[Stmt], outer: tuple[str, ...], *, brief: bool
    ) -> LoopPair:
        """The pair of the loops as `alignment` joins them. `brief`: its rejections will be dropped.
        """
        second = alignment.second
        if alignment.shift is not None:
            second = alignment.shift.delayed(second)
        return make_loop_pair(
            self.kernel, alignment.first, tuple(between), second, outer, self.bindings,
            self.options, may_peel=alignment.shift is not None, brief=brief,
            vectorized=self.vectorized,
        )

    def find_other_alignment(
        self,
        original: Alignment,
        between: list[Stmt],
        outer: tuple[str, ...],
        reasons: Iterable[Rejection],
    ) -> tuple[Alignment, LoopPair] | None:
        """For two loops that cannot be joined as they are: the first alignment that `alignments`
        proposes in which they can be joined, with the aligned pair. In it the second loop is
        delayed, or one loop is reversed. None if there is none. `join` asks in its second round.

            for i: t[i] = x[i]
            for i: y[i] = t[i + 1]    →    delayed by 1: t[i + 1] is then written before it is read

        `reasons`: why the loops cannot be joined in the `original` alignment. Another one helps
        only if all of them are about the order of accesses, or about ranges that differ
        (`ALIGNMENT_DEPENDENT_CODES`).
        """
        from .fusion_legality import ALIGNMENT_DEPENDENT_CODES

        if not {r.code for r in reasons} <= ALIGNMENT_DEPENDENT_CODES:
            return None
        proposals = alignments(self.kernel, original.first, original.second, outer, self.bindings)
        for alignment in proposals:
            p = self.pair(alignment, between, outer, brief=True)
            if can_fuse(p):
                return alignment, p
        return None

    def with_names_of(self, first: Loop, second: Loop) -> Loop:
        """`second` with the loop variable of `first`, and fresh names in place of the names that
        both loops bind. Its accumulators keep theirs, since code after the loop reads them; so do
        variables of inner loops that both nests have.
        """
        results = {a.name for a in second.accs}
        common_levels = (_loop_variables(first) & _loop_variables(second)) - {first.var}
        clashing = bound_names(second) & bound_names(first) - results - common_levels - {second.var}
        names = {second.var: first.var}
        for name in sorted(clashing):
            names[name] = self.fresh.name(name)
        return rename_names(second, names)

    def tighten(self, p: LoopPair) -> None:
        """Require the arrays of `p` that could be the same to be disjoint, where the joined loop
        relies on that: ``or_same`` is dropped from their guards.
        """
        conflicting = {frozenset((c.first.array, c.second.array)) for c in p.perhaps_same}
        disjoint = conflicting | p.must_be_disjoint
        if not disjoint:
            return
        guards = tuple(
            replace(g, or_same=False) if isinstance(g, Disjoint) and {g.a, g.b} in disjoint else g
            for g in self.kernel.guards
        )
        pairs = ((g.a, g.b) for g in guards if isinstance(g, Disjoint))
        self.tightened += [pair for pair in pairs if frozenset(pair) in disjoint]
        self.kernel = replace(self.kernel, guards=guards)

    def merged(
        self, p: LoopPair, alignment: Alignment
    ) -> tuple[tuple[Loop, ...], Loop, tuple[Loop, ...]]:
        """The joined loop (the first body, then the second, then the steps of both), with the loops
        over peeled iterations before and after it.
        """
        first_loop_loads, accs = self.first_loop_loads(p)
        body = (*p.first.body, *first_loop_loads, *p.second.body)
        loop = replace(p.first, body=body, accs=(*accs, *p.second.accs))
        if alignment.shift is None:
            return (), loop, ()
        before, loop, after = shift_and_peel(loop, alignment, alignment.shift, self.fresh_names)
        self.peeled_loops.update(peeled.var for peeled in (*before, *after))
        return before, loop, after

    def fresh_names(self, loop: Loop) -> dict[str, str]:
        """A fresh name for each name that `loop` binds. Names of loops over peeled iterations stay
        marked.
        """
        new = self.fresh.names(loop)
        self.peeled_loops.update(new[name] for name in self.peeled_loops & new.keys())
        return new

    def first_loop_loads(self, p: LoopPair) -> tuple[list[Stmt], list[Accum]]:
        """For steps of the first loop that load elements which the second loop's body, now before
        them, may overwrite: assignments of these loads to names, which go between the two bodies;
        and the accumulators of the first loop, whose steps read the names.

            s = step(s + y[i])  and  y[i] = 0.0   →   y_before = y[i]; y[i] = 0.0;
                                                      s = step(s + y_before)
        """
        written = {a.array for a in accesses((p.second,)) if a.is_write}
        assigns: list[Stmt] = []

        def name_loads(n: Any) -> Any:
            """A load of an array that the second loop writes, replaced by a name."""
            if not isinstance(n, Load) or not self.touched(n.array, written):
                return n
            name = self.fresh.name(f"{n.array}_before")
            assigns.append(Assign(name, n, span=n.span))
            return Var(name, n.dtype)

        accs = [replace(a, step=bottom_up(a.step, name_loads)) for a in p.first.accs]
        return assigns, accs

    def touched(self, array: str, written: Iterable[str]) -> bool:
        """Whether `array` may share elements with one of `written`."""
        return any(may_alias(self.kernel, array, w) for w in written)

    def finalized(self, s: Stmt, outer: tuple[str, ...]) -> Stmt:
        """The loop `s` inside loops over `outer` in its final form: a load of an element that the
        iteration has stored is replaced by the value (`forward_stores`), dead stores are removed.
        Other statements are returned unchanged.
        """
        if not isinstance(s, Loop):
            return s
        return without_dead_stores(self.kernel, forward_stores(self.kernel, s, outer, self.fresh))

    def count(self, first: Loop, second: Loop) -> None:
        """Count `second` as joined to `first`, and record their lines."""
        self.fused += 1
        if first.span and second.span:
            lines = self.lines.setdefault(first.span.line, [first.span.line])
            lines.append(second.span.line)


def _loop_variable(s: Stmt) -> tuple[str, ...]:
    """The variable of `s`, if it is a loop."""
    return (s.var,) if isinstance(s, Loop) else ()


def _loop_variables(loop: Loop) -> frozenset[str]:
    """The variables of `loop` and of all loops in it."""
    return frozenset(n.var for n in walk_statements(loop) if isinstance(n, Loop))
