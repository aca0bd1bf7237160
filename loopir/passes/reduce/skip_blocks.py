"""Block skipping: a block in which no term changes the running extrema is skipped.

`_ExtremumState.changed` derives from the step of each accumulator a necessary condition for a
change, in terms of the values at the start of the block. Until the first change in a block, its
state is that at its start: so if no term meets the condition, the block changes nothing. A
vectorisable reduction tests the condition for the whole block; where it is true, the block runs as
before. That pays only where changes are rare: each case of the condition must ask for a term that
beats a running extremum (`is_rare`). For one more form of step, add its case to `changed`.

Where the loop stores what it carries, such as a running maximum, a block that changes nothing is
run with the state at its start, as a vector loop (`_unchanged_loop`).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from ...algebra.constant_folding import is_constant, literal
from ...algebra.index_builder import (
    index_add,
    index_max,
    index_min,
    logical_and,
    logical_not,
    logical_or,
)
from ...analysis.integers.affine import affine_form
from ...analysis.integers.implied_conditions import disjuncts
from ...analysis.mod_ref import AliasInfo
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, names_read
from ...ir_traversal import walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    RangeDesc,
    Stmt,
    Store,
    Var,
    Yield,
)
from ...statement_blocks import backward_slice, map_statements
from ..vector.if_convert import flatten_loop
from ..vector.vectorize_legality import vectorization_obstacle
from ..vector.vectorize_outer import loops_kept_for_outer_vectors

__all__ = ["skip_blocks"]

SCALAR_TERMS = 64  # first terms, run one by one: most of them change something
BLOCK = 256  # terms that are tested together

_FALSE: Expr = literal(False, "bool")


def skip_blocks(kernel: Kernel) -> Kernel:
    """Test whole blocks of a loop that keeps extrema but is no reduction, by a vector loop, and
    skip those in which no term changes anything. The first `SCALAR_TERMS` terms, most of which do
    change something, are run one by one. A loop that could become a prefix scan of floats, whose
    vectors depend on each other, is blocked, too; not one of integers, which threads can share.

    For instance the largest and second largest, with payload: of n terms in random order only about
    log n change anything. The test must be vectorisable, and the loop itself not. Before::

        def k(x: f64[::1], first: mut(f64[()]), second: mut(f64[()])):
            for i in loop(0, x.shape[0], a=0.0, b=0.0):
                m = x[i] > a
                a = step(select(m, x[i], a))
                b = step(select(m, a, max(b, x[i])))
            first[()] = a
            second[()] = b

    after::

        def k(x: f64[::1], first: mut(f64[()]), second: mut(f64[()])):
            for i_1 in loop(0, min(64, x.shape[0]), a_1=0.0, b_1=0.0):
                m_1 = x[i_1] > a_1
                a_1 = step(select(m_1, x[i_1], a_1))
                b_1 = step(select(m_1, a_1, max(b_1, x[i_1])))
            for block in loop(range(min(64, x.shape[0]), x.shape[0], 256), a=a_1, b=b_1):
                for i_2 in loop(block, min(block + 256, x.shape[0]), some=False):
                    m_2 = x[i_2] > a
                    some = step(some | (m_2 | (x[i_2] > b)))
                if some:
                    for i_3 in loop(block, min(block + 256, x.shape[0]), a_2=a, b_2=b):
                        m_3 = x[i_3] > a_2
                        a_2 = step(select(m_3, x[i_3], a_2))
                        b_2 = step(select(m_3, a_2, max(b_2, x[i_3])))
                    a_3 = give(a_2)
                    b_3 = give(b_2)
                else:
                    a_3 = give(a)
                    b_3 = give(b)
                a = step(a_3)
                b = step(b_3)
            first[()] = a
            second[()] = b
    """
    fresh = FreshNames(kernel)
    kept, memory = loops_kept_for_outer_vectors(kernel), AliasInfo(kernel)

    def is_vectorizable(loop: Loop) -> bool:
        """Whether `loop` can be vectorised as it is."""
        return vectorization_obstacle(loop, kernel) is None

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` with blocks skipped, if that is legal, changes are rare, and the test can be
        vectorised but `s` cannot.
        """
        if not isinstance(s, Loop) or not isinstance(s.range, Interval) or s.var in kept or (
            _fits_one_block(s.range.hi, s.range.lo)
        ):
            return s
        if s.until or not s.accs or not all(isinstance(x, Assign | If | Store) for x in s.body):
            return s
        flat = flatten_loop(s, kernel, fresh) or s
        stores = [x for x in flat.body if isinstance(x, Store)]
        if not all(isinstance(x, Assign | Store) for x in flat.body):
            return s
        if not all(_may_read_ahead(flat, store, memory) for store in stores):
            return s
        state = _ExtremumState(flat)
        changes = (disjuncts(state.changed(a.step, a)) for a in flat.accs)
        cond = reduce(logical_or, dict.fromkeys(c for cases in changes for c in cases), _FALSE)
        if not state.is_rare(cond) or (
            is_vectorizable(flat) and not _is_serial_scan(flat, stores)
        ):
            return s
        check, unchanged = _check_loop(flat, cond), _unchanged_loop(flat) if stores else None
        if not is_vectorizable(check) or (unchanged and not is_vectorizable(unchanged)):
            return s
        return tuple(_blocked_loops(s, s.range, check, unchanged, fresh))

    return map_statements(kernel, edit, Loop)


def _is_serial_scan(loop: Loop, stores: Sequence[Store]) -> bool:
    """Whether what is stored depends on the partial results of a float accumulator."""
    parts = [e for s in stores for e in (*s.index, s.value, s.mask) if e is not None]
    read = {n for e in parts for n in names_read(e, *backward_slice(loop.body, e))}
    return any(a.name in read and DTYPES[a.init.dtype].kind == "f" for a in loop.accs)


def _may_read_ahead(loop: Loop, store: Store, memory: AliasInfo) -> bool:
    """Whether no iteration of a straight-line loop loads what `store` wrote in an earlier one: it
    loads from other arrays, or the element that the same iteration stores.
    """
    loads = [n for s in loop.body for n in walk(s) if isinstance(n, Load)]
    is_own_element = any(e == Var(loop.var, INDEX) for e in store.index)
    return all(
        (is_own_element and load.index == store.index) or not memory.shared(load.array, store.array)
        for load in loads
    )


def _fits_one_block(hi: Expr, lo: Expr) -> bool:
    """Whether the range from `lo` to `hi` provably has no more iterations than one block."""
    match hi:
        case Call(op="min", args=(a, b)):
            return _fits_one_block(a, lo) or _fits_one_block(b, lo)
        case Call(op="max", args=(a, b)):
            return _fits_one_block(a, lo) and _fits_one_block(b, lo)
        case _:
            length = affine_form(Call("sub", (hi, lo), INDEX))
            return length is not None and length.number is not None and length.number <= BLOCK


class _ExtremumState:
    """The accumulators of a straight-line loop, and the conditions on which a term changes them."""

    def __init__(self, loop: Loop) -> None:
        self._values: Mapping[str, Expr] = {
            s.name: s.value for s in loop.body if isinstance(s, Assign)
        }
        self._accs = {a.name: a for a in loop.accs}
        self._body = loop.body

    def changed(self, e: Expr, acc: Accum) -> Expr:
        """A necessary condition for `e`, the new value of `acc`, to differ from the old one.

            acc                      False
            a name                   the condition for its value
            select(c, a, b)          c and the condition for a, or not c and the condition for b
            c and acc                not c
            min(acc, v)              v < acc
            max(acc, v)              v > acc
            minimum(acc, v)          v < acc; of floats not v > acc: a NaN or an equal one counts
            anything else            True
        """
        match e:
            case Var(name=name) if name == acc.name:
                return _FALSE
            case Var(name=name) if name in self._values:
                return self.changed(self._values[name], acc)
            case Call(op="select", args=(condition, a, b)):
                first, second = self.changed(a, acc), self.changed(b, acc)
                if not is_constant(first, True):
                    second = logical_and(logical_not(condition), second)
                return logical_or(logical_and(condition, first), second)
            case Call(op="and", args=(a, Var(name=name))) if name == acc.name:
                return logical_not(a)
            case Call(op="min" | "max" as op, args=(Var(name=name) as old, v)) if name == acc.name:
                return Call("gt" if op == "max" else "lt", (v, old), "bool")
            case Call(
                op="minimum" | "maximum" | "ieee_minimum" | "ieee_maximum" as op,
                args=(Var(name=name) as old, v),
            ) if name == acc.name:
                beats, loses = ("gt", "lt") if op in ("maximum", "ieee_maximum") else ("lt", "gt")
                if DTYPES[v.dtype].kind != "f":
                    return Call(beats, (v, old), "bool")
                return logical_not(Call(loses, (v, old), "bool"))
            case _:
                return literal(True, "bool")

    def is_rare(self, cond: Expr) -> bool:
        """Whether `cond` implies that a term beats a running extremum."""
        match cond:
            case Var(name=name) if name in self._values:
                return self.is_rare(self._values[name])
            case Call(op="or", args=(a, b)):
                return self.is_rare(a) and self.is_rare(b)
            case Call(op="and", args=(a, b)):
                return self.is_rare(a) or self.is_rare(b)
            case Call(op="not", args=(Call(op="lt" | "le" | "gt" | "ge") as compared,)):
                return self.is_rare(compared)
            case Call(op="lt" | "le" | "gt" | "ge", args=(a, b)):
                return self._is_extremum(a, b) or self._is_extremum(b, a)
            case _:
                return False

    def _is_extremum(self, e: Expr, term: Expr) -> bool:
        """Whether `e` is an accumulator that only takes terms and values of other accumulators."""
        if not isinstance(e, Var) or e.name not in self._accs or self._depends_on_state(term):
            return False
        return all(map(self._is_term_or_accumulator, self._leaves(self._accs[e.name].step)))

    def _is_term_or_accumulator(self, e: Expr) -> bool:
        """Whether `e` is an accumulator, or depends on none."""
        return (isinstance(e, Var) and e.name in self._accs) or not self._depends_on_state(e)

    def _depends_on_state(self, e: Expr) -> bool:
        """Whether `e` depends on an accumulator."""
        return not self._accs.keys().isdisjoint(names_read(e, *backward_slice(self._body, e)))

    def _leaves(self, e: Expr) -> Iterator[Expr]:
        """The values among which `e` selects, through names, selects, minima and maxima."""
        match e:
            case Var(name=name) if name in self._values:
                yield from self._leaves(self._values[name])
            case Call(op="select", args=(_, a, b)) | Call(
                op="min" | "max" | "minimum" | "maximum" | "ieee_minimum" | "ieee_maximum",
                args=(a, b),
            ):
                yield from (*self._leaves(a), *self._leaves(b))
            case _:
                yield e


def _check_loop(loop: Loop, cond: Expr) -> Loop:
    """A reduction: whether `cond` is true in some iteration of `loop`."""
    any_change = Accum("some", _FALSE, logical_or(Var("some", "bool"), cond))
    return replace(loop, body=backward_slice(loop.body, cond), accs=(any_change,))


def _unchanged_loop(loop: Loop) -> Loop:
    """The straight-line `loop` where no iteration changes an accumulator."""
    steps = {a.step.name: a.current for a in loop.accs if isinstance(a.step, Var)}
    body = (
        replace(s, value=steps[s.name]) if isinstance(s, Assign) and s.name in steps else s
        for s in loop.body
    )
    return replace(loop, body=tuple(body), accs=())


def _blocked_loops(
    s: Loop, interval: Interval, check: Loop, unchanged: Loop | None, fresh: FreshNames
) -> Iterator[Stmt]:
    """The first terms one by one, then a loop over blocks: the test `check`, and the block itself
    where it is true, else `unchanged`, if that is given.
    """
    start = index_max(interval.lo, index_min(index_add(interval.lo, SCALAR_TERMS), interval.hi))
    scalar_part, test, full = (fresh.copy(x) for x in (s, check, s))
    yield replace(scalar_part, range=Interval(interval.lo, start))
    block = Var(fresh.name("block"), INDEX)
    block_range = Interval(block, index_min(index_add(block, BLOCK), interval.hi))
    pairs = list(zip(full.accs, s.accs, strict=True))
    accs_from_block = tuple(replace(a, init=old.current) for a, old in pairs)
    yields = tuple(Yield(fresh.name(old.name), a.current, old.current) for a, old in pairs)
    same = () if unchanged is None else (replace(fresh.copy(unchanged), range=block_range),)
    run_if_changed = If(
        test.accs[0].current, (replace(full, range=block_range, accs=accs_from_block),), same,
        yields,
    )
    accs = tuple(
        replace(old, init=a.current, step=Var(y.name, a.init.dtype))
        for a, old, y in zip(scalar_part.accs, s.accs, yields, strict=True)
    )
    body = (replace(test, range=block_range), run_if_changed)
    yield Loop(block.name, RangeDesc(start, interval.hi, BLOCK), body, accs, span=s.span)
