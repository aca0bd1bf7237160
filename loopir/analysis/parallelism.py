"""Parallelism: whether the iterations of a loop are independent, or else what stands in the way.

    for i: b[i, j] = a[i + 1, j]       independent: iteration i alone touches row i of `b`
    for i: x[i + 1] = x[i] * 0.5       not: iteration i reads what iteration i - 1 has written

Independent iterations may run in any order and at the same time, in other threads or on other
machines: the answer has the same bits. The question is asked of loops in their final form, scalar
or vector; a vector loop runs its iterations in groups of lanes.

The proof for two accesses (Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2001,
call it a dependence distance of 0): the subscripts of iteration i lie, on some axis, between ``c *
i + lo`` and ``c * i + hi``, and those of one access in one iteration and of the other one in
another overlap nowhere. An extent is such an interval: bounds that are affine in the loop's
variable, once the variables of inner loops have been replaced by their first and last values.
Subscripts with products, ``i * w + j``, are compared by `integers.flat_positions`.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import ceil, floor, inf
from typing import TYPE_CHECKING

from ..algebra.may_raise import possible_flags
from ..dtypes import INDEX
from ..ir_names import names_read
from ..ir_traversal import (
    contains,
    kernel_header,
    memoized_by,
    memoized_per_node,
    walk,
    walk_statements,
)
from ..lazy_dataclass import record
from ..nodes import (
    Append,
    Assign,
    Bits,
    Break,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    LoopLike,
    Node,
    PredLoop,
    Prefix,
    Range,
    RangeDesc,
    Return,
    Scan,
    Stmt,
    Store,
    Var,
    VecLoop,
    While,
    Zip,
)
from ..process.lazy_function import lazy_function
from ..statement_blocks import evaluated_by
from .array_reductions import added_arrays, adds_floats
from .dependence import Alias, alias_table, dependences
from .integers.affine import Affine, constant_form, variable_form
from .running_totals import totals_obstacle

if TYPE_CHECKING:
    from .integers.flat_positions import FlatPositions

__all__ = [
    "Splittable", "arrays_reduced_by", "conflict_distances", "parallel_loops", "parallel_obstacle",
]

flat_positions = lazy_function(__package__, "integers.flat_positions:flat_positions")

Splittable = Loop | VecLoop | PredLoop
"""The kinds of loops whose iterations may be distributed."""

_MAX_FLAT_PAIRS = 100
"""Pairs of flat positions that are compared for one array."""

_MAX_BOUNDS = 4
"""Alternative bounds of one expression that are kept: ``min(a, b)`` has two upper bounds."""


def parallel_loops(*code: Node) -> Iterator[Splittable]:
    """The loops in `code` that are marked as parallel, outer ones first."""
    return (n for part in code for n in walk(part) if isinstance(n, Splittable) and n.parallel)


def parallel_obstacle(loop: Splittable, kernel: Kernel) -> str | None:
    """Why the iterations of `loop` are not independent, for a report; None if they are.

        each iteration                       the answer
        y[i] = x[i] + 1.0                    None
        if x[i] > 0.0: append(w, k, x[i])    None, as a part can be counted (`totals_obstacle`)
        t = prefix("add", s, x[i]); y[i] = t None for integers: so can what a part adds to `s`
        if x[i] < 0.0: break                 it may end before its last iteration
        s = step(s + x[i])                   each iteration needs `s` of the one before
        x[i + 1] = x[i]                      an iteration may read an element of `x` that another …
        y[k[i]] = x[i]                       several iterations may store to one element of `y`
        h[b[i]] = h[b[i]] + 1                None for integers; `arrays_reduced_by` then gives {h}
        h[b[i]] = h[b[i]] + x[i]             the order in which floats are added to elements of …

    Those who ask: `parallelize`, which marks loops as parallel; `split_search`, of the loop over
    parts that it makes; the verifier, of each loop that is marked; and the MLIR target.
    """
    statements = [n for part in loop.body for n in walk_statements(part)]
    is_search = getattr(loop, "until", None) is not None
    if (is_search and (loop.accs or not _may_run_behind_hit(loop, kernel))) or _leaves(loop.body):
        return "it may end before its last iteration"
    has_totals = bool(loop.accs) and any(isinstance(s, Append | Prefix) for s in statements)
    if has_totals and (reason := totals_obstacle(loop, kernel)) is not None:
        return reason
    conflicts = _conflicts_in(loop, kernel)
    if loop.accs and not has_totals:
        return conflicts.obstacle or f"each iteration needs `{loop.accs[0].name}` of the one before"
    if not has_totals and (appends := [s for s in statements if isinstance(s, Append)]):
        return f"it appends to `{appends[0].array}`"
    for s in statements:
        if isinstance(s, Bits):  # a bool takes one bit: to write one is to write its neighbours
            return f"several iterations write into one byte of `{s.array}`"
    if has_totals and conflicts.reduced:
        return f"each iteration needs `{loop.accs[0].name}` of the one before"
    return conflicts.obstacle


def arrays_reduced_by(loop: Splittable, kernel: Kernel) -> frozenset[str]:
    """The arrays to one element of which several iterations of `loop` may add. So each thread must
    add to a table of its own, which is added to the array later (`c_regions`). Assumes that
    `parallel_obstacle` has found no obstacle.
    """
    return _conflicts_in(loop, kernel).reduced


def _may_run_behind_hit(loop: Splittable, kernel: Kernel) -> bool:
    """Whether iterations of a search after its first hit have no effect that anybody sees: several
    threads may run some of them before they learn of the hit.

        for part in loop(0, parts): …; kept[part] = hit; until(hit)

    They may have neither checks nor flags that they raise, and may write to local arrays alone,
    such as `kept`, that the loop does not read. (The loop that reads them later ends at the hit.)
    """
    statements = [n for part in loop.body for n in walk_statements(part)]
    if any(isinstance(n, Check | Bits | Scan) for n in statements) or possible_flags(*loop.body):
        return False
    own = {n.name for n in statements if isinstance(n, Local)}
    written = {n.array for n in statements if isinstance(n, Store)} - own
    read = {n.array for n in walk(loop) if isinstance(n, Load)}
    return written.isdisjoint({*read, *(p.name for p in kernel.params)})


def _leaves(body: Iterable[Stmt]) -> bool:
    """Whether a statement of `body` leaves the loop around it, or the kernel."""
    for s in body:
        match s:
            case Break():
                return True
            case If(then=then, orelse=orelse):
                if _leaves((*then, *orelse)):
                    return True
        if contains(s, Return):
            return True
    return False


@record(frozen=True, slots=True)
class _Conflicts:
    """What is known of the shared arrays of a loop: those of which two iterations may touch the
    same element, one of them writing.
    """

    obstacle: str | None = None
    """Why the iterations are not independent, told of the first shared array that is an obstacle;
    None: they are independent."""
    reduced: frozenset[str] = frozenset()
    """The shared arrays that are no obstacle, since the loop only adds to them (`added_arrays`)."""


def _conflicts_in(loop: Splittable, kernel: Kernel) -> _Conflicts:
    """`_conflicts` by subscripts alone; or if there are some, by what holds before the loop, too.
    """
    header = kernel_header(kernel)
    found = _memory_conflicts(loop, header)
    products = (n for n in walk(loop) if isinstance(n, Call) and n.op == "mul" and n.lanes == 1)
    if found == _Conflicts() or all(n.dtype != INDEX for n in products):
        return found
    positions = flat_positions(loop, kernel)
    return found if positions is None else _conflicts(loop, header, positions)


@memoized_by
def _memory_conflicts(loop: Splittable, kernel: Kernel) -> _Conflicts:
    """`_conflicts` by subscripts alone, kept with the loop: the C of it asks several times."""
    return _conflicts(loop, kernel, None)


def _conflicts(loop: Splittable, kernel: Kernel, positions: FlatPositions | None) -> _Conflicts:
    """The conflicts of `loop` about memory. Of ``kernel`` only the header counts.

    For each array that the loop writes, in the order of the first stores, with all arrays that may
    share memory with it; the first that applies:

    - of each two accesses the subscripts of different iterations differ on some axis
      (`_are_apart`): no conflict;
    - dependence analysis shows that no iteration depends on another: no conflict for any array;
    - another of these arrays may be the same: an obstacle, the result;
    - the loop only adds to its elements, in an order that does not matter: it is in ``reduced``;
    - else an obstacle, the result: floats are added, or anything else touches the same element.
    """
    extents = _extents(loop)
    added, reduced = added_arrays(loop, kernel), set[str]()
    written = dict.fromkeys(e.array for e in extents if e.is_write)
    aliases = alias_table(kernel)
    for array in written:
        together = [e for e in extents if aliases.relation(array, e.array) is not Alias.DISJOINT]
        if _are_apart(together, loop, positions):
            continue
        if _carries_no_dependence(loop, kernel):  # a proof for all arrays at once
            return _Conflicts()
        other = next((e.array for e in together if e.array != array), array)
        if other != array:
            return _Conflicts(f"`{array}` and `{other}` may be the same array")
        if array in added:
            reduced.add(array)
        elif adds_floats(loop, array):
            reason = f"the order in which floats are added to elements of `{array}` matters"
            return _Conflicts(reason)
        elif _are_apart([e for e in together if e.is_write], loop, positions):
            reason = f"an iteration may read an element of `{array}` that another one stores"
            return _Conflicts(reason)
        else:
            return _Conflicts(f"several iterations may store to one element of `{array}`")
    return _Conflicts(reduced=frozenset(reduced))


def _carries_no_dependence(loop: Splittable, kernel: Kernel) -> bool:
    """Whether `dependences` proves of a scalar loop without vector loops that no two iterations
    touch one element: it knows more of two subscripts, such as ``i + 1`` and ``j`` where j <= i.
    """
    if not isinstance(loop, Loop) or not isinstance(loop.range, Interval):
        return False
    if contains(loop, VecLoop) or contains(loop, PredLoop) or contains(loop, Local):
        return False
    return all(d.distance == 0 for d in dependences(loop, kernel))


@record(frozen=True, slots=True)
class _Bounds:
    """Lower and upper bounds of an integer, each of which holds; empty where none is known."""

    lows: tuple[Affine, ...] = ()
    highs: tuple[Affine, ...] = ()

    def __add__(self, other: _Bounds) -> _Bounds:
        return _Bounds(_sums(self.lows, other.lows), _sums(self.highs, other.highs))

    def __mul__(self, k: int) -> _Bounds:
        lows, highs = (self.lows, self.highs) if k >= 0 else (self.highs, self.lows)
        return _Bounds(tuple(f * k for f in lows), tuple(f * k for f in highs))


_UNKNOWN = _Bounds()


def _sums(a: Sequence[Affine], b: Sequence[Affine]) -> tuple[Affine, ...]:
    return tuple(x + y for x, y in product(a, b))[:_MAX_BOUNDS]


def _last(start: _Bounds, end: Affine, step: int) -> Affine:
    """An upper bound of the last value of a loop's variable that goes up to `end`::

        range(b, b + 8, 4)     b + 4        range(b, n, 4)     n - 1
    """
    gaps = {(end - s).number for s in start.lows} if start.lows == start.highs else set()
    gap = gaps.pop() if len(gaps) == 1 else None
    rest = 1 if gap is None else (gap - 1) % step + 1
    return end + constant_form(-rest)


def _exactly(form: Affine) -> _Bounds:
    return _Bounds((form,), (form,))


def _quotient(bounds: _Bounds, k: int) -> _Bounds:
    """The bounds of ``a // k`` from those of a, as the quotient is monotone in a. Only bounds all
    of whose coefficients `k` divides are used, numbers among them: their quotients are affine.
    """
    return _Bounds(_quotients(bounds.lows, k), _quotients(bounds.highs, k))


def _quotients(forms: Iterable[Affine], k: int) -> tuple[Affine, ...]:
    return tuple(
        Affine({atom: c // k for atom, c in f.terms.items()}, f.constant // k)
        for f in forms if all(c % k == 0 for c in f.terms.values())
    )


@record(frozen=True, slots=True)
class _Extent:
    """The elements that an access touches in an iteration: bounds of each subscript; a `Place`."""

    array: str
    axes: tuple[_Bounds, ...]
    is_write: bool
    index: tuple[Expr, ...]
    loops: tuple[tuple[str, Range], ...]
    lanes: str | None
    axis: int
    step: int


@memoized_per_node
def _extents(loop: Splittable) -> list[_Extent]:
    """The extents of all accesses in an iteration of `loop`, but of arrays of its own."""
    collector = _ExtentCollector(loop)
    collector.block(loop.body)
    return collector.extents


class _ExtentCollector:
    """A walk over the body of a loop that records the extent of each access.

    ``bounds``: of the integer names that the body has bound so far; those of inner loop variables
    are the variables themselves, whose first and last values are in ``spans``.
    """

    def __init__(self, loop: Splittable) -> None:
        self.extents: list[_Extent] = []
        self.variable = loop.var
        self.bounds: dict[str, _Bounds] = {loop.var: _exactly(variable_form(loop.var))}
        self.spans: dict[str, _Bounds] = {}
        self.lanes_of = loop.var if isinstance(loop, VecLoop | PredLoop) else None
        self.private: set[str] = set()
        self.loops: tuple[tuple[str, Range], ...] = ()
        if isinstance(loop, PredLoop):
            self.loads(loop.pred)

    def block(self, body: Iterable[Stmt]) -> None:
        """Record the accesses of `body`."""
        for s in body:
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        """Record the accesses of `s`, and the bounds of what it binds."""
        match s:
            case Assign(name, value):
                self.loads(value)
                self.bounds[name] = self.of(value)
            case Local(name):
                self.private.add(name)
            case Store(array, index, value, mask, axis, step):
                self.loads(*index, value, mask)
                self.access(array, index, value.lanes != 1, axis, step, is_write=True)
            case If(cond, then, orelse, yields):
                self.loads(cond)
                for block, results in (
                    (then, (y.then for y in yields)), (orelse, (y.orelse for y in yields))
                ):
                    self.block(block)
                    self.loads(*results)
                self.bounds.update((y.name, _UNKNOWN) for y in yields)
            case Loop() | VecLoop() | PredLoop() | Zip() | Scan() | While():
                self.loop(s)
            case _:
                self.loads(*_evaluated(s))
                if isinstance(s, Prefix):
                    self.bounds |= dict.fromkeys((s.name, s.acc, s.before or s.name), _UNKNOWN)

    def loop(self, s: LoopLike) -> None:
        """Record the accesses of an inner loop."""
        self.loads(*_evaluated(s))
        outer_lanes, outer_loops = self.lanes_of, self.loops
        if not isinstance(s, While):
            self.loops = *self.loops, (s.var, s.range)
            self.bounds[s.var] = _exactly(variable_form(s.var))
            self.spans.pop(s.var, None)
            self.spans[s.var] = self.span(s.range)
        if isinstance(s, VecLoop | PredLoop):
            self.lanes_of = s.var
        names = [s.acc] if isinstance(s, Scan) else [a.name for a in s.accs]
        self.bounds.update(dict.fromkeys(names, _UNKNOWN))
        match s:
            case Zip(streams=streams):
                for stream in streams:
                    self.access(stream.array, (Var(s.var, INDEX),), False, 0, 1, is_write=False)
                    self.bounds[stream.name] = _UNKNOWN
            case Scan(array=array):
                self.access(array, (Var(s.var, INDEX),), False, 0, 1, is_write=True)
        if not isinstance(s, Scan):
            self.block(s.body)
            self.loads(*(a.step for a in s.accs))
            self.loads(getattr(s, "until", None))
        self.lanes_of, self.loops = outer_lanes, outer_loops

    def span(self, r: Range) -> _Bounds:
        """The first and the last value of the variable of a loop over `r` that is not empty."""
        match r:
            case Interval(lo, hi):
                start, end = self.of(lo), self.of(hi)
            case RangeDesc(lo, hi, step) if step > 0:
                start, end = self.of(lo), self.of(hi)
                return _Bounds(start.lows, tuple(_last(start, e, step) for e in end.highs))
            case RangeDesc(lo, hi):
                start, end = self.of(hi) + _exactly(constant_form(1)), self.of(lo)
                return _Bounds(start.lows, end.highs)
        return _Bounds(start.lows, (end + _exactly(constant_form(-1))).highs)

    def loads(self, *exprs: Expr | None) -> None:
        """Record the loads in `exprs`."""
        for e in exprs:
            for n in walk(e) if e is not None else ():
                if isinstance(n, Load):
                    self.access(n.array, n.index, n.lanes != 1, n.axis, n.step, is_write=False)

    def access(
        self, array: str, index: tuple[Expr, ...], is_vector: bool, axis: int, step: int, *,
        is_write: bool,
    ) -> None:
        """Record an access: at ``index``; of a vector, lane k is ``k * step`` further on `axis`."""
        if array in self.private:  # declared in the body: each iteration has its own
            return
        axes = tuple(
            self.subscript(e, (step if k == axis else 0) if is_vector else None)
            for k, e in enumerate(index)
        )
        lanes = self.lanes_of if is_vector else None
        self.extents.append(_Extent(array, axes, is_write, index, self.loops, lanes, axis, step))

    def subscript(self, e: Expr, lane_step: int | None) -> _Bounds:
        """The bounds of a subscript in terms of the loop's variable. ``lane_step``: how far the
        lanes of a vector access go along this axis; None for a scalar access.

        Lane k belongs to the element k iterations further: the subscript is that of a scalar loop
        if the lanes advance as the variable does.
        """
        found = self.of(e)
        if lane_step is not None and self.lanes_of is not None:
            forms = {*found.lows, *found.highs}
            if any(f.coefficient(self.lanes_of) != lane_step for f in forms):
                return _UNKNOWN
        return _Bounds(
            tuple(self.outer(found.lows, highest=False)),
            tuple(self.outer(found.highs, highest=True)),
        )

    def outer(self, forms: Iterable[Affine], *, highest: bool) -> Iterator[Affine]:
        """The upper (``highest``) or lower bounds `forms`, with each variable of an inner loop
        replaced by its first or last value: the one that makes the bound greatest, or least.
        """
        found = [*forms]
        for var in reversed(self.spans):
            found = [g for f in found for g in self.at_extreme(f, var, highest)][:_MAX_BOUNDS]
        yield from found

    def at_extreme(self, form: Affine, var: str, highest: bool) -> Iterator[Affine]:
        """`form` with `var` at the end of its span that makes it greatest (or least)."""
        c = form.coefficient(var)
        if not c:
            yield form
            return
        span = self.spans[var]
        for end in span.highs if (c > 0) == highest else span.lows:
            yield form.substitute(var, end)

    def of(self, e: Expr) -> _Bounds:
        """Bounds of the integer `e`, affine in loop variables and in what the loop does not change.
        """
        match e:
            case _ if e.lanes != 1 or e.dtype != INDEX:
                return _UNKNOWN
            case Const(value):
                return _exactly(constant_form(int(value)))
            case Var(name) if name in self.bounds:
                return self.bounds[name]
            case Call("add", (a, b)):
                return self.of(a) + self.of(b)
            case Call("sub", (a, b)):
                return self.of(a) + self.of(b) * -1
            case Call("neg", (a,)):
                return self.of(a) * -1
            case Call("mul", (Const(k), a) | (a, Const(k))):
                return self.of(a) * int(k)
            case Call("cast", (a,)) if a.dtype == INDEX:
                return self.of(a)
            case Call("min" | "max" as op, (a, b)):
                return self.extremum(op, self.of(a), self.of(b))
            case Call("floordiv", (a, Const(k))) if k > 0 and (found := self.of(a)) != _UNKNOWN:
                exact = self.invariant(e)
                return _quotient(found, int(k)) if exact == _UNKNOWN else exact
        return self.invariant(e)

    def extremum(self, op: str, a: _Bounds, b: _Bounds) -> _Bounds:
        """The bounds of a minimum (or maximum) of two operands. An upper bound of either operand is
        one of the minimum; a lower bound is the lesser one of two lower bounds, one of each.
        """
        if op == "max":
            return self.extremum("min", a * -1, b * -1) * -1
        either = (*a.highs, *b.highs)[:_MAX_BOUNDS]
        both = [
            x if (y - x).constant >= 0 else y
            for x, y in product(a.lows, b.lows) if (y - x).number is not None
        ]
        return _Bounds(tuple(both[:_MAX_BOUNDS]), either)

    def invariant(self, e: Expr) -> _Bounds:
        """`e` as one symbol, if the loop does not change it; else unknown."""
        if isinstance(e, Var | Dim):
            return _exactly(Affine({e: 1}))
        if contains(e, Load) or not self.bounds.keys().isdisjoint(names_read(e)):
            return _UNKNOWN
        return _exactly(Affine({e: 1}))


def _evaluated(s: Stmt) -> Iterator[Expr]:
    """The expressions that `s` itself evaluates, once or in each iteration."""
    yield from evaluated_by(s)
    match s:
        case PredLoop(pred=pred):
            yield pred
        case While(cond=cond):
            yield cond
        case Scan(value=value):
            yield value


def _are_apart(
    extents: Sequence[_Extent], loop: Splittable, positions: FlatPositions | None
) -> bool:
    """Whether accesses in different iterations of `loop`, of those in `extents`, never touch the
    same element, one of them writing it::

        x[4*i], x[4*i + j] for j < 4    distances 0 to 0: they differ
        x[i], x[i + 1]                  -1 to -1: they may be the same, unless the step is 2
    """
    step = abs(loop.range.step) if isinstance(loop.range, RangeDesc) else 1
    pairs = ((a, b) for k, a in enumerate(extents) for b in extents[k:] if a.is_write or b.is_write)
    close: list[tuple[_Extent, _Extent]] = []
    for a, b in pairs:
        d = _distances(a, b, loop.var)
        if d is not None and not (-step < d[0] and d[1] < step):
            if positions is None or len(close) == _MAX_FLAT_PAIRS:
                return False
            close.append((a, b))
    return positions is None or all(positions.are_apart(a, b) for a, b in close)


def _distances(a: _Extent, b: _Extent, var: str) -> tuple[float, float] | None:
    """The least and the greatest distance, by which the variable `var` is greater for `b`, at which
    both may touch one element: infinite where no bound is known; None if there is no distance.

    On each axis the lower bounds of one must not exceed the upper bounds of the other.
    """
    least, most = -inf, inf
    for x, y in zip(a.axes, b.axes, strict=True) if len(a.axes) == len(b.axes) else ():
        for is_first, lows, highs in ((True, x.lows, y.highs), (False, y.lows, x.highs)):
            for low, high in product(lows, highs):
                gap, c = (low - high).number, low.coefficient(var) * (1 if is_first else -1)
                if gap is None:
                    continue
                if c > 0:  # low <= high + c * distance
                    least = max(least, ceil(gap / c))
                elif c < 0:
                    most = min(most, floor(gap / c))
                elif gap > 0:
                    return None
    return (least, most) if least <= most else None


def conflict_distances(
    first: Splittable, second: Splittable, kernel: Kernel
) -> tuple[float, float] | None:
    """By how much the variable is greater, at least and at most, when `second` may touch an element
    that `first` touches, one of them writing it: both are loops over one range with one variable.
    None if they never do; infinite where it is not known.

        first: y[i + 1] = x[i] + x[i + 2]    second: x[i] = y[i]          1 to 2
    """
    aliases = alias_table(kernel_header(kernel))
    found = [
        d for a, b in product(_extents(first), _extents(second)) if a.is_write or b.is_write
        if aliases.relation(a.array, b.array) is not Alias.DISJOINT
        if (d := _distances(a, b, first.var)) is not None
    ]
    if not found:
        return None
    step = abs(first.range.step) if isinstance(first.range, RangeDesc) else 1
    least, most = min(d[0] for d in found), max(d[1] for d in found)
    return (
        least if least == -inf else ceil(least / step) * step,
        most if most == inf else floor(most / step) * step,
    )
