"""Chunk summary: for each axis of its arrays, how a kernel may be computed in chunks of that axis.

    for i in loop(1, n - 1): y[i] = x[i - 1] + x[i + 1]     axis 0 of x and y: offset [-1, +1]
    for i in loop(0, n, s=0.0): s = step(s + x[i])          axis 0 of x: fold (add)
    for i in loop(0, n): y[i] = x[i] / x[0]                 axis 0 of x and y: whole

A kernel is asked as a whole: all its loops over an axis must allow it. The proof is about
subscripts that are affine with coefficient 1 in the variable of a loop over the axis
(`size_forms`); an element of a result depends on elements at a bounded distance (a halo, as in
stencil codes), or on all of them by a fold, whose parts are combined. Assumes the simplest scalar
form of the kernel, and that it writes to no array of its caller's.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from math import inf

from ...algebra.constant_folding import neutral_element
from ...ir_traversal import range_bounds, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Append,
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    Guard,
    If,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    While,
)
from ..integers.affine import constant_form
from .axis_folds import COMPUTED, PARTS, Flows, fold_of
from .chunk_axes import AxisKind, ChunkAxis, ChunkSummary, Fold, FoldOrder, Reach
from .fold_steps import inner_run, is_element_of_store, is_unused, place_of_extremum
from .size_forms import ArrayAxis, SizeForm, SizeForms

__all__ = ["chunk_summary"]

def chunk_summary(kernel: Kernel, ignored: Collection[str] = ()) -> ChunkSummary:
    """The chunk summary of `kernel`, with axes in the order in which it goes through them.
    ``ignored``: slots of results that tell of what Python type a number is, and no value.
    """
    sizes = SizeForms()
    for _ in range(len(kernel.params) * 4 + 4):
        walker = _Walker(kernel, sizes, ignored)
        sizes.has_joined = False
        walker.kernel_body()
        if not sizes.has_joined:
            break
    return walker.summary()


@record(slots=True)
class _Frame:
    """A loop around the statement that is looked at."""

    axis: ArrayAxis | None
    """The chunk axis that it runs over; None: a loop of another kind."""
    var: str = ""
    first: int = 0
    end: int = 0
    """The range is ``[first, n + end)``."""
    reads: list[tuple[str, int]] = field(default_factory=list)
    """The arrays read at ``var + offset`` on the axis."""
    writes: list[tuple[str, int]] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    """All arrays that are read, and those that are written."""
    written: set[str] = field(default_factory=set)
    has_chunk_loop: bool = False
    strided: bool = False
    """Whether what is read at neighbouring places is not neighbouring in memory."""


_NONE: Flows = frozenset()

class _Walker:
    """A walk over the statements of a kernel, in their order."""

    def __init__(self, kernel: Kernel, sizes: SizeForms, ignored: Collection[str]) -> None:
        self.kernel, self.sizes, self.ignored = kernel, sizes, ignored
        sizes.forms, sizes.spans = {}, {}
        self.frames: list[_Frame] = []
        self.obstacles: dict[ArrayAxis, tuple[AxisKind, str]] = {}
        self.seen: dict[ArrayAxis, None] = {}
        self.flows: dict[str, Flows] = {}
        self.running: dict[str, tuple[tuple[ArrayAxis, Fold], ...]] = {}
        self.chained: set[str] = set()
        """The accumulators that go on in a loop inside."""
        self.passed_on: set[str] = set()
        """The names by which branches pass on the place of an extremum, and itself."""
        self.sums: FoldOrder | None = None
        self.units = {p.name: p.unit for p in kernel.params}
        self.folds: dict[ArrayAxis, list[Fold]] = {}
        self.fold_ranges: dict[ArrayAxis, set[tuple[int, int]]] = {}
        self.reach: dict[tuple[str, ArrayAxis], Reach] = {}
        self.constants: dict[str, bool] = {}
        self.ranks = {p.name: p.rank for p in kernel.params if p.rank is not None}
        self.own = {p.name for p in kernel.params if p.written}

    # -- what is found

    def obstacle(self, axes: Iterable[ArrayAxis], kind: AxisKind, reason: str) -> None:
        """Note why these chunk axes cannot be cut."""
        for axis in axes:
            self.obstacles.setdefault(self.sizes.axis(axis), (kind, reason))

    def summary(self) -> ChunkSummary:
        """What the walk has found."""
        for array, rank in self.ranks.items():
            for axis in range(rank):
                self.seen.setdefault(self.sizes.axis((array, axis)))
        return ChunkSummary(
            tuple(self.chunk_axis(a) for a in dict.fromkeys(map(self.sizes.axis, self.seen))),
            tuple(self.constants.items()), self.sums,
        )

    def chunk_axis(self, axis: ArrayAxis) -> ChunkAxis:
        """What was found for one chunk axis."""
        members = self.sizes.members(axis)
        arrays = [array for array, _ in members]
        repeated = next((a for a in arrays if arrays.count(a) > 1), None)
        if repeated is not None:
            self.obstacle([axis], "whole", f"`{repeated}` has two axes that belong together")
        results = [a for a in dict.fromkeys(arrays) if a in self.own]
        reach = [r for a in results if (r := self.reach.get((a, axis))) is not None]
        before = int(max([0, *(max(-r.low, r.left) for r in reach)]))
        after = int(max([0, *(max(r.high, -r.end) for r in reach)]))
        folds = tuple(dict.fromkeys(self.folds.get(axis, ())))
        ranges = self.fold_ranges.get(axis, set())
        if ranges and (len(ranges) > 1 or (reach and ranges != {(before, -after)})):
            self.obstacle([axis], "whole", "its loops run over different parts of it")
        elif ranges:
            ((before, end),) = ranges
            after = -end
        if axis not in self.fold_ranges and not reach:
            self.obstacle([axis], "whole", "no loop goes through it")
        kind, reason = self.obstacles.get(axis, (None, None))
        if kind is None:
            kind = "offset" if before or after else "fold" if folds else "pointwise"
        least = self.sizes.least.get(axis, 0)
        return ChunkAxis(members, kind, before, after, folds, reason, least)

    # -- statements

    def kernel_body(self) -> None:
        """Walk over the guards and the body."""
        for guard in self.kernel.guards:
            if isinstance(guard, Guard):
                self.guard(guard.cond)
        self.block(self.kernel.body)

    def guard(self, cond: Expr) -> None:
        """A guard: two lengths that are compared are equal."""
        match cond:
            case Call("eq", (Dim(a, k), Dim(b, m))):
                self.sizes.join((a, k), (b, m))
            case Call("ne", (Dim(), Const(1))):  # of the type of the argument
                pass
            case _ if self.sizes.holds(cond) is None:
                self.value(cond)

    def block(self, body: Sequence[Stmt]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        match s:
            case Assign(name, value):
                self.sizes.bind(name, value)
                form = self.sizes.forms[name]
                self.flows[name] = _NONE if form is not None else self.value(value)
            case Store():
                self.store(s)
            case If():
                self.branch(s)
            case Loop():
                self.loop(s)
            case While(cond=cond, body=body, accs=accs):
                self.frames.append(_Frame(None))
                flows = _NONE.union(*(self.value(a.init) for a in accs))
                self.flows.update((a.name, flows) for a in accs)
                self.sizes.forms.update((a.name, None) for a in accs)
                self.end_values(self.value(cond))
                self.block(body)
                for a in accs:
                    self.flows[a.name] |= self.value(a.step)
                self.leave_plain_loop()
            case Check(cond=cond):
                if self.sizes.holds(cond) is not True and not self.is_overflow_check(cond):
                    self.end_values(self.value(cond))
            case Append(array=array, value=value):
                self.value(value)
                self.obstacle(self.axes_around(), "serial", f"it appends to `{array}`")
            case _:
                self.obstacle(
                    [*self.axes_around(), *self.lengths_within(s)], "whole",
                    f"a {type(s).__name__.lower()} needs all of it",
                )

    def axes_around(self) -> list[ArrayAxis]:
        """The chunk axes of the loops around."""
        return [f.axis for f in self.frames if f.axis is not None]

    def lengths_within(self, s: Stmt) -> list[ArrayAxis]:
        arrays = {n.array for n in walk(s) if isinstance(n, Load | Store | Dim)}
        return [(a, k) for a in arrays for k in range(self.ranks.get(a, 0))]

    def branch(self, s: If) -> None:
        """A branch: only the side that is taken for all large lengths counts, if one is."""
        is_true = self.sizes.holds(s.cond)
        if self.is_place_of_nan(s):
            (y,) = s.yields
            assert isinstance(y.orelse, Var)
            self.running[y.name] = tuple(
                (axis, replace(f, starts_at="")) for axis, f in self.running[y.orelse.name])
            self.flows[y.name] = self.flows[y.orelse.name]
            return
        if is_true is None:
            is_search = self.is_result_of_search(s)
            flows = self.value(s.cond, is_start=is_search)
            if not is_search:
                self.end_values(flows)
        sides = [(s.then, "then"), (s.orelse, "orelse")]
        taken = [x for x, side in zip(sides, (True, False), strict=True) if is_true in (None, side)]
        for body, _ in taken:
            self.block(body)
        for y in s.yields:
            if y.name in self.passed_on:
                self.flows[y.name], self.sizes.forms[y.name] = _NONE, None
                continue
            values = [getattr(y, side) for _, side in taken]
            self.sizes.forms[y.name] = self.sizes.of(values[0]) if len(values) == 1 else None
            self.flows[y.name] = _NONE.union(*map(self.value, values))

    def is_result_of_search(self, s: If) -> bool:
        """Whether the branch only stores constants, as what a search returns."""
        return not self.frames and not s.orelse and all(
            isinstance(x, Store) and not x.index and isinstance(x.value, Const) for x in s.then
        )

    def is_place_of_nan(self, s: If) -> bool:
        """Whether the branch replaces the place of an extremum by that of the first NaN, as NumPy
        does. (Both are the place of an extremum in the order in which a NaN comes first.)
        """
        match s:
            case If(Var(flag), (Loop(accs=(a,)),), (), (y,)) if not self.frames:
                place = y.orelse.name if isinstance(y.orelse, Var) else ""
                is_flag = [f.op for _, f in self.running.get(flag, ())] == ["or"]
                is_place = [f.op for _, f in self.running.get(place, ())] == ["place"]
                return is_flag and is_place and y.then == a.current
        return False

    def loop(self, s: Loop) -> None:
        """A loop over a chunk axis, or of another kind."""
        bounds = self.sizes.range_of(s.range)
        if bounds is not None and (bounds[1] - bounds[0]).number == 0:
            self.empty_loop(s)
            return
        axis: ArrayAxis | None = None
        if bounds is not None:
            first, end = bounds
            (atom, c), *more = end.terms.items() or [("", 0)]
            if first.number is not None and not more and c == 1 and not isinstance(atom, str):
                axis = self.sizes.axis(atom)
        if axis is None or bounds is None:
            self.plain_loop(s, bounds)
            return
        if axis in self.axes_around():
            self.obstacle([axis], "whole", "a loop over it is in another loop over it")
        self.seen.setdefault(axis)
        for f in self.frames:
            f.has_chunk_loop = True
        frame = _Frame(axis, s.var, bounds[0].constant, bounds[1].constant)
        starts = [self.value(a.init, is_start=True) for a in s.accs]
        extremum = place_of_extremum(s)
        folds = [
            fold_of(s, k, starts, extremum, self.chained, self.sizes) for k in range(len(s.accs))
        ]
        self.chained |= {a.name for a in s.accs if inner_run(a, s)}
        self.passed_on |= extremum.yields if extremum else frozenset()
        for a in s.accs:
            self.flows[a.name] = _NONE
            self.sizes.forms[a.name] = None
        self.frames.append(frame)
        self.sizes.bind_variable(s.var, *bounds)
        self.block(s.body)
        for a in s.accs:
            if inner_run(a, s) is None:
                self.value(a.step)
        self.flows.update((a.name, _NONE) for a in s.accs)
        if s.until is not None and (not all(folds) or frame.writes):
            self.obstacle([axis], "serial", "it may end before its last iteration")
        self.frames.pop()
        for a, fold, start in zip(s.accs, folds, starts, strict=True):
            if fold is None and is_unused(a, s, self.kernel):
                continue
            if fold is None:
                self.flows[a.name] = start
                reason = f"`{a.name}` is carried from one iteration to the next"
                self.obstacle([axis], "serial", reason)
                continue
            through = run[0].accs[run[1]].name if (run := inner_run(a, s)) else ""
            if frame.strided or (fold.order == "items" and frame.written):
                fold = replace(fold, order="unknown")
            if fold.is_inexact and self.sums != "unknown":
                self.sums = "unknown" if fold.order == "unknown" else "blocks"
            parts = (*self.running.get(through, ()), (axis, fold))
            if any(f.order == "unknown" for _, f in parts):
                parts = tuple((k, replace(f, order="unknown")) for k, f in parts)
            self.running[a.name] = parts
            self.flows[a.name] = frozenset((k, "fold") for k, _ in parts)
        self.end_chunk_loop(frame, axis, has_folds=any(folds))

    def empty_loop(self, s: Loop) -> None:
        """A loop without iterations: what fusion leaves of a longer loop, where both are as long.
        Its accumulators are what they start as.
        """
        for a in s.accs:
            before = a.init.name if isinstance(a.init, Var) else ""
            self.running[a.name] = self.running.get(before, ())
            self.flows[a.name] = self.value(a.init, is_start=True)
            self.sizes.forms[a.name] = self.sizes.of(a.init)

    def is_overflow_check(self, cond: Expr) -> bool:
        """Whether a check is about the overflow of a sum, of which each part has its own."""
        ops = {n.op for n in walk(cond) if isinstance(n, Call)}
        return not ops.isdisjoint(("add_over", "sub_over", "mul_over"))

    def plain_loop(self, s: Loop, bounds: tuple[SizeForm, SizeForm] | None) -> None:
        """A loop over anything but a chunk axis."""
        flows = _NONE
        if bounds is None:
            flows = flows.union(*map(self.value, range_bounds(s.range)))
        trips = None if bounds is None else (bounds[1] - bounds[0]).number
        if bounds is not None and trips is None and (axes := self.sizes.lengths_in(bounds)):
            self.obstacle(axes, "whole", "a loop runs over a part of it")
        self.end_values(flows)
        self.frames.append(_Frame(None))
        for a in s.accs:
            self.flows[a.name] = self.value(a.init)
            self.sizes.forms[a.name] = None
        first, end = bounds if bounds is not None else (constant_form(0), constant_form(0))
        self.sizes.bind_variable(s.var, first, end)
        if bounds is None:
            self.sizes.forms[s.var] = None
        self.flows[s.var] = _NONE
        self.block(s.body)
        for a in s.accs:
            flows = self.value(a.step)
            self.end_values(frozenset(x for x in flows if x[1] == "fold"))
            self.flows[a.name] |= flows
        self.leave_plain_loop()

    def leave_plain_loop(self) -> None:
        """After a loop over no chunk axis: one that repeats chunk loops must not read what the
        repetition before has written.
        """
        frame = self.frames.pop()
        if frame.has_chunk_loop:
            both = frame.read & frame.written
            axes = [(a, k) for a in both for k in range(self.ranks[a])]
            self.obstacle(axes, "whole", "it is computed again and again")

    def end_chunk_loop(self, frame: _Frame, axis: ArrayAxis, *, has_folds: bool) -> None:
        """After a loop over a chunk axis: the reach of what it has written."""
        for array, w in frame.writes:
            others = [r for a, r in frame.reads if a == array and r != w]
            if others:
                reason = f"an iteration reads what another one has written to `{array}`"
                self.obstacle([axis], "serial", reason)
        sources = [(self.reach.get((a, axis), Reach()), r) for a, r in frame.reads]
        for array, w in frame.writes:
            own = self.reach.get((array, axis))
            found = own or Reach(inf, -inf, -inf, inf)
            for source, r in sources:
                found.low = min(found.low, source.low + r - w)
                found.high = max(found.high, source.high + r - w)
                found.left = max(found.left, source.left - (r - w))
                found.end = min(found.end, source.end - (r - w))
            found.left = max(found.left, frame.first + w)
            found.end = min(found.end, frame.end + w)
            if found.low > found.high:
                found.low = found.high = 0
            self.reach[array, axis] = found
        if has_folds:
            self.fold_ranges.setdefault(axis, set()).add((frame.first, frame.end))
            for source, r in sources:
                if source.left > frame.first + r or source.end < frame.end + r:
                    self.obstacle([axis], "whole", "a fold reads what is special at the edges")
                if source.low != 0 or source.high != 0:
                    self.obstacle([axis], "whole", "a fold reads what was computed from neighbours")

    # -- accesses and values

    def anchors(
        self, array: str, index: Sequence[Expr], *, is_write: bool,
        folded: Collection[ArrayAxis] = (),
    ) -> Flows:
        """Note an access; returns on which elements at fixed places it depends."""
        flows: set[tuple[ArrayAxis, str]] = set()
        around = {f.axis: f for f in self.frames if f.axis is not None}
        for f in self.frames:
            (f.written if is_write else f.read).add(array)
        used = set[ArrayAxis]()
        for k, e in enumerate(index):
            form = self.sizes.of(e)
            member = array, k
            if form is None:
                flows |= self.value(e)
                text = "a subscript of `{}` depends on data, or is not affine"
                self.obstacle([member], "whole", text.format(array))
                continue
            variables = [a for a in form.terms if isinstance(a, str)]
            over = next((f for f in self.frames if f.axis and f.var in variables), None)
            offsets = self.sizes.offsets(form, over.var) if over is not None else None
            if over and offsets and (not is_write or len(variables) == 1):
                assert over.axis is not None
                self.sizes.join(over.axis, member)
                used.add(self.sizes.axis(over.axis))
                noted = over.writes if is_write else over.reads
                noted += ((array, offset) for offset in dict.fromkeys(offsets))
                over.strided |= over is self.frames[-1] and k != self.units.get(array, 0)
                continue
            if variables and (edge := self.sizes.edge(form)) is not None:
                place, offset, axis = edge
                if axis is not None:
                    self.sizes.join(axis, member)
                self.at_edge(member, place, offset, is_write=is_write, around=around)
                flows.add((self.sizes.axis(member), place))
                continue
            if variables:
                local = [v for v in variables if all(f.var != v for f in self.frames if f.axis)]
                axes = self.sizes.lengths_in([form])
                reason = f"each item needs all of `{array}`" if local else (
                    f"a subscript of `{array}` is not its loop's variable plus a constant")
                self.obstacle([member, *axes, *(f.axis for f in self.frames if f.axis
                                                and f.var in variables)], "whole", reason)
                continue
            place = "start"
            if form.terms:
                (atom, c), *more = form.terms.items()
                if more or c != 1:
                    self.obstacle([member, *self.sizes.lengths_in([form])], "whole",
                                  f"a subscript of `{array}` depends on a length")
                    continue
                self.sizes.join(atom, member)
                place = "end"
            self.at_edge(member, place, form.constant, is_write=is_write, around=around)
            flows.add((self.sizes.axis(member), place))
        if is_write:
            self.check_written(array, used | {*map(self.sizes.axis, folded)})
        return frozenset(flows)

    def at_edge(
        self, member: ArrayAxis, place: str, offset: int, *, is_write: bool,
        around: Collection[ArrayAxis],
    ) -> None:
        """Note an access at a fixed distance from the start or the end of an axis."""
        axis = self.sizes.axis(member)
        if axis in around:
            self.obstacle([axis], "whole", f"each item needs one element of `{member[0]}`")
            return
        self.sizes.need(axis, offset + 1 if place == "start" else -offset)
        if is_write and (member[0], axis) not in self.reach:
            self.reach[member[0], axis] = Reach()
        if is_write:
            reach = self.reach[member[0], axis]
            if place == "start":
                reach.left = max(reach.left, offset + 1)
            else:
                reach.end = min(reach.end, offset)

    def check_written(self, array: str, used: Collection[ArrayAxis]) -> None:
        """A loop over a chunk axis must write to an element of its own in each iteration."""
        for axis in {*map(self.sizes.axis, self.axes_around())} - {*used}:
            what = f"all iterations write to the same elements of `{array}`"
            self.obstacle([axis], "serial", what)

    def store(self, s: Store) -> None:
        """A store to an array, or to the slot of a result."""
        if s.array in self.ignored:
            return
        if self.adds_to_element(s):
            return
        flows = self.value(s.value, is_start=isinstance(s.value, Var | Dim))
        if not self.ranks.get(s.array):
            if isinstance(s.value, Const) and s.value.dtype == "bool":
                self.constants[s.array] = bool(s.value.value)
            if isinstance(s.value, Dim):
                axis = self.sizes.axis((s.value.array, s.value.axis))
                self.folds.setdefault(axis, []).append(Fold(s.array, "add", "i64"))
                self.fold_ranges.setdefault(axis, set())
            self.take_folds(s, flows)
            if self.frames:
                self.check_written(s.array, ())
            return
        places = self.anchors(s.array, s.index, is_write=True)
        self.take_folds(s, frozenset(f for f in flows if f not in places))

    def adds_to_element(self, s: Store) -> bool:
        """Whether `s` combines an element of an array without the axis of a loop around with a
        term: a fold of all iterations. Then it is noted.

            for i: for j: out[j] = out[j] + x[i, j]         a fold by add over the axis of i
            for i: out[k[i]] = out[k[i]] + 1                so is a histogram
        """
        match s.value:
            case Call(op, (old, term)) if op in PARTS and is_element_of_store(old, s, self.kernel):
                pass
            case _:
                return False
        moving = [self.sizes.of(e) for e in s.index]
        variables = {v for form in moving if form is not None for v in form.terms}
        over = [f for f in self.frames if f.axis is not None and f.var not in variables]
        starts = [x.value for x in walk(self.kernel)
                  if isinstance(x, Store) and x.array == s.array and x is not s]
        unit = neutral_element(op, s.value.dtype)
        is_neutral = all(isinstance(v, Const) and unit and v.value == unit.value for v in starts)
        loads = sum(isinstance(x, Load) and x.array == s.array for x in walk(self.kernel))
        if not over or loads != 1 or not is_neutral or (op != "add" and not starts):
            return False
        self.end_values(self.value(term))
        self.anchors(s.array, s.index, is_write=True, folded=[f.axis for f in over if f.axis])
        for f in over:
            assert f.axis is not None
            fold = Fold(s.array, op, s.value.dtype, order="unknown")
            self.sums = "unknown" if fold.is_inexact else self.sums
            self.folds.setdefault(self.sizes.axis(f.axis), []).append(fold)
            ranges = self.fold_ranges.setdefault(self.sizes.axis(f.axis), set())
            ranges.add((f.first, f.end))
        return True

    def take_folds(self, s: Store, flows: Flows) -> None:
        """Note the folds whose result `s` stores as it is; what else depends on `flows` needs all
        of these axes.
        """
        parts = self.running.get(s.value.name, ()) if isinstance(s.value, Var) else ()
        if not parts or flows != frozenset((axis, "fold") for axis, _ in parts):
            self.end_values(flows)
            return
        for axis, fold in parts:
            if fold.starts_at == COMPUTED:
                what = "a comparison with the first item decides, which may be a NaN"
                self.obstacle([axis], "whole", what)
            named = replace(fold, result=s.array)
            self.folds.setdefault(self.sizes.axis(axis), []).append(named)

    def end_values(self, flows: Flows) -> None:
        """What is computed from these needs the whole axes."""
        for axis, how in flows:
            what = "computes with what a fold over it has given" if how == "fold" else (
                f"needs an element at its {how}")
            self.obstacle([axis], "whole", f"the function {what}")

    def value(self, e: Expr, *, is_start: bool = False) -> Flows:
        """On what the value of `e` depends; notes its accesses. ``is_start``: it is the start of an
        accumulator, or stored as it is, so that it may be a fold.
        """
        flows: Flows = _NONE
        match e:
            case Const():
                return _NONE
            case Dim(array=array, axis=axis):
                if not is_start:
                    self.obstacle([(array, axis)], "whole", "the function computes with its length")
                return _NONE
            case Var(name=name):
                form = self.sizes.forms.get(name)
                if form is not None and (axes := self.sizes.lengths_in([form])):
                    variables = [a for a in form.terms if isinstance(a, str)]
                    what = f"the position `{variables[0]}`" if variables else "its length"
                    self.obstacle(axes, "whole", f"the function computes with {what}")
                flows = self.flows.get(name, _NONE)
                around = {*map(self.sizes.axis, self.axes_around())}
                inside = frozenset(f for f in flows if self.sizes.axis(f[0]) in around)
                if not is_start:
                    inside |= frozenset(f for f in flows if f[1] == "fold")
                self.end_values(inside)
                return flows - inside
            case Load(array=array, index=index):
                return self.anchors(array, index, is_write=False)
            case Call("select", (cond, a, b)) if (side := self.sizes.holds(cond)) is not None:
                return self.value(a if side else b)
            case Call(args=args, dtype=dtype):
                if dtype == "bool" and self.sizes.holds(e) is not None:
                    return _NONE
                for a in args:
                    flows |= self.value(a)
                return flows
        self.obstacle(self.axes_around(), "whole", "it is not in its simplest form")
        return flows
