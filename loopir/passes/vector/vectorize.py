"""Loop vectorisation: innermost loops take ``W`` elements at a time, reductions in fixed lanes.

Whether a loop may be vectorised is decided in `vectorize_legality`. A legal loop becomes a vector
loop in these steps (`vectorize_loop`):

1. Running reductions become prefix scans (`prefix_scans`).
2. Each other reduction gets a vector accumulator of ``group`` lanes (`_group_lanes`), a number that
   depends on the loop alone, so that every target adds in the same order.
3. The body is widened (`widen.Widener`); if all its effects have one mask, the loop becomes a
   predicated loop (`predicate_loop`).
4. After the loop the lanes are reduced to the scalar result, with the bits of Python's order for
   extrema (`exact_extrema`).

The width stays abstract (``W``) until `targets.legalization`.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ...algebra.constant_folding import neutral_element, worst_value
from ...algebra.index_builder import index_add, index_mul, index_sub
from ...algebra.may_raise import possible_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.access import LoopSubscripts
from ...analysis.integers.affine import affine_form
from ...analysis.loop_reductions import Reduction, overflow_checks_of, reduction_of
from ...analysis.loop_set import max_trips
from ...analysis.mod_ref import AliasInfo
from ...analysis.signed_zeros import zero_sign_unobserved
from ...analysis.uniformity import Uniformity
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, expand_names, rename_names
from ...ir_traversal import (
    advanced_accums,
    contains,
    counted_range,
    is_innermost,
    map_children,
    outermost_loops,
    walk,
    walk_statements,
)
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Append,
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    HReduce,
    Interval,
    Kernel,
    Load,
    Loop,
    PredLoop,
    Prefix,
    Stmt,
    Store,
    Var,
    VecAccum,
    VecLoop,
)
from ...op_table import OPS
from ...rejection import Rejection
from ...statement_blocks import backward_slice, map_statements
from ...status_bits import STATUS
from ..loop_splitting import max_trips_of_strip
from .checked_sums import checked_sums, lane_watch, range_checks, unsigned_checks, without_checks
from .exact_extrema import exact_extremum_result, is_order_independent, starts_anew
from .if_convert import MaskedRewriter, flatten_loop
from .prefix_scans import insert_prefixes
from .vectorize_legality import MIN_TRIPS, vectorization_obstacle
from .vectorize_search import search_condition
from .widen import WIDTH, Widener, as_vector

__all__ = [
    "PredicatedLoop", "SHORT_FOLD", "is_short_fold", "loops_left_scalar", "predicate_loop",
    "reorders_floats", "vectorization_obstacle", "vectorize", "vectorize_loop",
]


class PredicatedLoop:
    """A loop that acts only where ``mask`` is true.

    ``mask`` reads no name of the body. From stores, appends and most reductions it has been
    removed. Two things keep it:

    - the ``select`` in the term of a float reduction, since adding the values of inactive lanes may
      raise flags (`_without_condition`);
    - the condition of a check, which may be a reduction over all lanes (`_without_mask`).
    """

    def __init__(
        self, mask: Expr, body: tuple[Stmt, ...], reductions: tuple[Reduction, ...]
    ) -> None:
        self.mask, self.body, self.reductions = mask, body, reductions


def predicate_loop(
    loop: Loop, reductions: tuple[Reduction, ...], memory: AliasInfo
) -> PredicatedLoop | None:
    """`loop` as a predicated one, if all its effects have the same mask; else None.

        m = x[i] > 0.0                                     predicate m:
        out[i] = where(m, exp(select(m, x[i], 1.0)))   →     out[i] = exp(select(m, x[i], 1.0))
        s = step(s + select(m, x[i], -0.0))                  s = step(s + select(m, x[i], -0.0))
        k = step(k + select(m, i, 0))                        k = step(k + i)

    The body then has no effect where the mask is false, so a target may branch around it where no
    lane is active (`legalize._with_skip_branch`). None unless all of these hold:

    - all stores and appends, of which there is at least one, have one mask, which can be computed
      before the body and is not changed in it;
    - each reduction takes its term under the mask, else the neutral element of its operation (of a
      float sum -0.0, not 0.0). The float sum keeps its select (`_without_condition`);
    - each check holds where the mask is false;
    - the body has no prefix scan, which would combine all lanes;
    - it raises no float flag where the mask is false: Python would raise it there, and a body that
      is skipped would not. That is why `exp` above has a select in its operand.
    """
    masks = {s.mask for s in loop.body if isinstance(s, Store | Append)}
    if any(isinstance(s, Prefix) for s in loop.body):
        return None  # a prefix combines all lanes
    if len(masks) != 1 or None in masks:
        return None
    (mask,) = masks
    assert mask is not None
    uses = [k for k, s in enumerate(loop.body) if not isinstance(s, Assign)]
    if memory.crosses(mask, loop.body if reductions else loop.body[: uses[-1]]):
        return None  # a store may change the mask of the next one
    unmasked = tuple(_without_mask(s, mask) for s in loop.body)
    unmasked_reductions = tuple(_without_condition(f, mask) for f in reductions)
    definitions = {s.name: s.value for s in loop.body if isinstance(s, Assign)}
    if (
        None in unmasked
        or None in unmasked_reductions
        or not _raises_nothing_elsewhere(loop, reductions, mask)
    ):
        return None
    entry_mask = expand_names(mask, definitions)
    if entry_mask is None:
        return None
    statements = tuple(s for s in unmasked if s is not None)
    kept_reductions = tuple(f for f in unmasked_reductions if f is not None)
    return PredicatedLoop(entry_mask, statements, kept_reductions)


def _without_mask(s: Stmt, mask: Expr) -> Stmt | None:
    """The statement `s` as it stands under the predicate `mask`: without its own mask, if it is a
    store or an append. A check, ``not mask or cond``, keeps the mask, since it may be a reduction
    over all lanes; any other check: None.
    """
    match s:
        case Store() | Append():
            return replace(s, mask=None)
        case Check(cond=Call(op="or", args=(Call(op="not", args=(m,)), _))) if m == mask:
            return s
        case Check():
            return None
        case _:
            return s


def _without_condition(f: Reduction, mask: Expr) -> Reduction | None:
    """The reduction `f` as it stands under the predicate `mask`: its term without the select on
    `mask`. None if its term has no such select.

    A float reduction keeps the select: to add the values of inactive lanes may raise flags.
    """
    if f.cond is not None:
        return replace(f, cond=None) if f.cond == mask else None
    match f.value:
        case Call(op="select", args=(m, term, neutral)) if m == mask and neutral == neutral_element(
            f.op, f.dtype
        ):
            return f if DTYPES[f.dtype].kind == "f" else replace(f, value=term)
        case _:
            return None


def _raises_nothing_elsewhere(loop: Loop, reductions: tuple[Reduction, ...], mask: Expr) -> bool:
    """Whether the body raises no flag where the mask is false: `MaskedRewriter` would change
    nothing in it. The code that computes the mask itself is left out.
    """
    mask_slice = backward_slice(loop.body, mask)
    rewriter = MaskedRewriter(mask)
    for s in loop.body:
        match s:
            case Assign() if s not in mask_slice:
                is_unchanged = rewriter.bind(s.name, s.value) == s.value
            case Store() | Append():
                is_unchanged = rewriter(s.value) == s.value
            case Check():
                is_unchanged = rewriter(s.cond) == s.cond
            case _:
                continue
        if not is_unchanged:
            return False
    return all(rewriter(f.value) == f.value for f in reductions)


SHORT_FOLD = 32
"""A float fold of at most so many terms that is in no other loop keeps the order of its loop. (For
folds in other loops the limit is `version_short_reductions.SHORT_LIMIT`, of which a short fold must
have fewer terms.)
"""


def is_short_fold(loop: Loop) -> bool:
    """Whether the loop has at most `SHORT_FOLD` iterations in every call, and is a fold whose float
    terms vector lanes would take in another order (`reorders_floats`), such as a sum.

    `vectorize` leaves such a loop scalar if it is in no other loop: vectors save nothing there, and
    ``sum([0.1, 0.2, 0.3])`` has Python's bits. In a nest `version_short_reductions` decides. Where
    the number of terms is known only at run time, `keep_fold_order` makes such a loop.
    """
    counted = counted_range(loop)  # the bound is a constant, also of [lo, min(lo + 32, n))
    count = None if counted is None else max_trips_of_strip(counted)
    return count is not None and count <= SHORT_FOLD and reorders_floats(loop)


def reorders_floats(loop: Loop) -> bool:
    """Whether vector lanes would add or multiply floats in another order: a reduction of the loop
    is inexact, or another accumulator is a float, and so a running sum.
    """
    reductions = [(a, reduction_of(a, loop)) for a in loop.accs]
    return any(
        f.is_inexact if f is not None else DTYPES[a.init.dtype].kind == "f" for a, f in reductions
    )


GROUP_BYTES = 256
"""Bytes of a group, the partial results of one reduction: so many that this is their size if each
is as wide as the widest value in the body of the loop. (All accumulators of a loop have equally
many lanes, also narrower ones.) The same for every target, since it fixes the order in which a
sum is added; each target keeps a group in as many registers as that takes (`targets.legalization`,
which has a default of its own for the loops that are given no group). The order of long float sums
is also fixed by `reduce.blocked_summation`.
"""

HEAVY_GROUP_BYTES = 64
"""The same for a heavy body, which needs many registers itself."""

HEAVY = 40.0
"""The weight of a body, in additions, above which `HEAVY_GROUP_BYTES` holds."""


def vectorize(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Turn innermost loops that `vectorization_obstacle` accepts into vector loops of abstract
    width.

    Each lane of a reduction starts as the neutral element, or for extrema as the initial value. A
    search runs past its exit to the end of a group; the kernel becomes strict in the flags that
    this may raise. Short float folds that stand alone stay as they are (`is_short_fold`). Before::

        def k(x: f32[::1], y: mut(f32[::1]), total: mut(f32[()])):
            disjoint(x, y)
            disjoint(x, total)
            disjoint(y, total)
            for i in loop(0, x.shape[0], s=f32(0.0)):
                y[i] = x[i] * f32(2.0)
                s = step(s + x[i])
            total[()] = s

    after::

        def k(x: f32[::1], y: mut(f32[::1]), total: mut(f32[()])):
            disjoint(x, y)
            disjoint(x, total)
            disjoint(y, total)
            for i in vec(0, x.shape[0], width=W, group=64, s_1=f32(-0.0)):
                y[i:W] = x[i:W] * broadcast(f32(2.0), W)
                s_1 = step(s_1 + x[i:W])
            s = f32(0.0) + hreduce("add", s_1)
            total[()] = s
    """
    fresh, strict_flags, unsigned_zeros = (
        FreshNames(kernel),
        set(kernel.strict),
        zero_sign_unobserved(kernel) if contains(kernel, Accum) else frozenset(),
    )
    memory = AliasInfo(kernel)
    short = _loops_too_short(kernel, reassociate=reassociate)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` as a vector loop if it is legal; else `s`."""
        if (
            not isinstance(s, Loop)
            or id(s) in short
            or vectorization_obstacle(s, kernel, reassociate=reassociate)
        ):
            return s
        if s.until:
            strict_flags.update(possible_flags(s))
        starts, s = _ascending(s, fresh, unsigned_zeros)
        return (*starts, *vectorize_loop(s, memory, fresh, unsigned_zeros))

    vectorized = map_statements(kernel, edit, Loop)
    flags = tuple(c for c in STATUS if c in strict_flags)
    return vectorized if strict_flags == set(kernel.strict) else replace(vectorized, strict=flags)


def loops_left_scalar(
    kernel: Kernel, *, reassociate: bool = True
) -> tuple[tuple[Loop, Rejection], ...]:
    """The innermost counted loops of `kernel` that stay scalar, each with its reason. Reports show
    them (`report_builder.scalar_loop_rejections`).

    ``kernel`` is the one before `vectorize`, so each loop is asked for its obstacle, after
    if-conversion of its branches. Left out are ``while`` loops, which are vectorised only along a
    loop around them (`vectorize_divergent`), loops in vector loops, and loops that
    `vectorize_search` takes.
    """
    fresh = FreshNames(kernel)
    vectors = (n for n in walk(kernel) if isinstance(n, VecLoop | PredLoop))
    inside_vectors = {id(n) for v in vectors for n in walk(v)}
    loops = [n for n in walk(kernel) if isinstance(n, Loop) and id(n) not in inside_vectors]
    scalar = [n for n in loops if is_innermost(n) and search_condition(n) is None]
    flattened = ((n, flatten_loop(n, kernel, fresh) or n) for n in scalar)
    short = _loops_too_short(kernel, reassociate=reassociate)
    obstacles = (
        (n, vectorization_obstacle(flat, kernel, reassociate=reassociate) or short.get(id(n)))
        for n, flat in flattened
    )
    return tuple((n, reason) for n, reason in obstacles if reason is not None)


def _loops_too_short(kernel: Kernel, *, reassociate: bool) -> dict[int, Rejection]:
    """Why `vectorize` leaves loops alone that it could vectorise, by their id: short folds
    (`is_short_fold`), and loops of a few iterations at most by the values of names in their
    bounds, such as those before the interior of a row.
    """
    reasons = {
        id(s): f"a fold of at most {SHORT_FOLD} terms adds them in the order of the loop"
        for s in outermost_loops(kernel) if reassociate and is_short_fold(s)
    }
    statements = [n for s in kernel.body for n in walk_statements(s)]
    loops = [n for n in statements if isinstance(n, Loop)]
    ends = {id(n): n.range for n in loops if _may_be_short(n)}
    assigned = [n for n in statements if isinstance(n, Assign)] if ends else []
    times = Counter(n.name for n in assigned)
    definitions = {n.name: n.value for n in assigned if times[n.name] == 1}
    for k, r in ends.items():
        count = max_trips(r, definitions)
        if count is not None and count < MIN_TRIPS:
            reasons[k] = f"the loop runs {count} times at most"
    spans = {id(n): n.span for n in loops if id(n) in reasons}
    return {k: Rejection("VECTOR_SMALL", reason, spans[k]) for k, reason in reasons.items()}


def _may_be_short(loop: Loop) -> bool:
    """Whether `loop` is innermost, and may have few iterations by what its ends are: names, or
    extrema.
    """
    if not isinstance(loop.range, Interval) or not is_innermost(loop):
        return False
    return any(
        isinstance(end, Var) or (isinstance(end, Call) and end.op == op)
        for end, op in ((loop.range.lo, "max"), (loop.range.hi, "min"))
    )


def _ascending(
    loop: Loop, fresh: FreshNames, unsigned_zeros: frozenset[str]
) -> tuple[tuple[Stmt, ...], Loop]:
    """A fold of elements that are all read backwards from its last iteration on, so that no vector
    of them has to be reversed; other loops as they are. Before it, the statements given first.

        for i in loop(0, n, s=0.0):        →        last = 0 + n - 1
            s = step(s + x[n - 1 - i])              at = n - 1 - last
                                                    for i in loop(0, n, s=0.0):
                                                        s = step(s + x[at + i])
    """
    counted = counted_range(loop)
    if counted is None or not all(isinstance(s, Assign) for s in loop.body):
        return (), loop
    subscripts = LoopSubscripts(loop)
    places = {n: subscripts.lane_axis_and_stride(n) for n in walk(loop) if isinstance(n, Load)}
    moving = {n: place[0] for n, place in places.items() if place is not None and place[1]}
    folds = [reduction_of(a, loop) for a in loop.accs]
    if (
        not moving or any(place is not None and place[1] > 0 for place in places.values())
        or not all(f is not None and is_order_independent(f, unsigned_zeros) for f in folds)
    ):
        return (), loop
    last = Var(fresh.name("last"), INDEX)
    starts: list[Stmt] = [Assign(last.name, index_sub(index_add(counted.lo, counted.hi), 1))]

    def advancing(e: Expr) -> Expr:
        """The subscript `e`, which decreases with the loop's variable, from the last one on."""
        form = affine_form(e, (loop.var,))
        assert form is not None
        factor = -form.coefficient(loop.var)
        at = Var(fresh.name("at"), INDEX)
        first = form.without((loop.var,)).expr()
        starts.append(Assign(at.name, index_sub(first, index_mul(last, factor))))
        return index_add(at, index_mul(Var(loop.var, INDEX), factor))

    def mirrored(n: Any) -> Any:
        """`n` in the iteration that is as far from the end as it was from the start."""
        if n in moving:
            index = list(subscripts.index(n))
            index[moving[n]] = advancing(index[moving[n]])
            return replace(n, index=tuple(index))
        if n == Var(loop.var, INDEX):
            return index_sub(last, n)
        return map_children(n, mirrored)

    body = tuple(mirrored(s) for s in loop.body)
    accs = tuple(replace(a, step=mirrored(a.step)) for a in loop.accs)
    return tuple(starts), replace(loop, body=body, accs=accs)


def vectorize_loop(
    loop: Loop,
    memory: AliasInfo,
    fresh: FreshNames,
    unsigned_zeros: frozenset[str],
    varying: Uniformity | None = None,
) -> Iterator[Stmt]:
    """`loop`, which is legal, as a vector loop: the statements that replace it, in this order.

        for i in loop(0, n, s=a * b): …     →     s_0 = a * b                         its start
                                                  for i in vec(0, n, …, s_1=-0.0): …  vector loop
                                                  s = s_0 + hreduce("add", s_1)       reductions

    The steps are told at the top of this file. Called by `vectorize`, and by `vectorize_outer` for
    a loop around loops that has accumulators. ``unsigned_zeros``: names for which nothing observes
    the sign of a zero; ``varying``: the uniformity analysis of a loop around loops, None for an
    innermost loop.
    """
    loop, starts = _with_named_starts(loop, fresh)
    loop, anew = _starting_anew(loop, unsigned_zeros, fresh)
    if not all(reduction_of(a, loop) for a in loop.accs):  # the others are running reductions
        loop = insert_prefixes(loop, memory, fresh)
    yield from starts
    reductions = tuple(f for a in loop.accs if (f := reduction_of(a, loop)) is not None)
    lane_names = {f.acc.name: fresh.name(f.acc.name) for f in reductions}
    sums = checked_sums(loop, reductions) if contains(loop, Check) else ()
    watches = {f.acc.name: fresh.name("bits") for f in sums}
    unchecked = without_checks(loop, sums) if sums else loop
    vector = _vector_loop(unchecked, reductions, lane_names, watches, varying, memory)
    yield vector
    for f in reductions:
        lanes = Var(lane_names[f.acc.name], f.dtype, vector.group or 1)
        if f.acc.name in watches:
            yield from range_checks(f, replace(lanes, name=watches[f.acc.name]), loop)
        is_exact = f.acc.name in anew or is_order_independent(f, unsigned_zeros)
        yield from _final_reduction(f, loop, lanes, fresh, is_exact)
    yield from anew.values()


def _with_named_starts(loop: Loop, fresh: FreshNames) -> tuple[Loop, tuple[Assign, ...]]:
    """`loop` with each computed initial value in a name, and the assignments of these names: the
    value is read again after the loop.
    """
    assigns: list[Assign] = []
    accs = list(loop.accs)
    for k, acc in enumerate(accs):
        if not isinstance(acc.init, Const | Dim | Var):
            assigns.append(Assign(fresh.name(f"{acc.name}_0"), acc.init, span=acc.span))
            accs[k] = replace(acc, init=Var(assigns[-1].name, acc.init.dtype))
    return (replace(loop, accs=tuple(accs)), tuple(assigns)) if assigns else (loop, ())


def _starting_anew(
    loop: Loop, unsigned_zeros: frozenset[str], fresh: FreshNames
) -> tuple[Loop, dict[str, Assign]]:
    """`loop` with the extrema that may start anew under other names (`starts_anew`), and by these
    names the assignments that combine them with the initial values.
    """
    names, accs, combined = dict[str, str](), list(loop.accs), dict[str, Assign]()
    for k, acc in enumerate(accs):
        f = reduction_of(acc, loop)
        if f is None or acc.name in unsigned_zeros or not starts_anew(f, loop):
            continue
        names[acc.name] = fresh.name(acc.name)
        accs[k] = replace(acc, init=worst_value(f.op, f.dtype))
        both = acc.init, Var(names[acc.name], f.dtype)
        combined[names[acc.name]] = Assign(acc.name, Call(f.op, both, f.dtype), span=acc.span)
    return (rename_names(replace(loop, accs=tuple(accs)), names), combined) if names else (loop, {})


def _vector_loop(
    loop: Loop,
    reductions: tuple[Reduction, ...],
    lane_names: dict[str, str],
    watches: dict[str, str],
    varying: Uniformity | None,
    memory: AliasInfo,
) -> VecLoop | PredLoop:
    """The widened loop: its body, one vector accumulator for each reduction, and the counters of
    appends, which stay scalar. It is a predicated loop if all its effects have one mask
    (`predicate_loop`), else a vector loop. ``lane_names``: the name of each vector accumulator, by
    that of the scalar one; ``watches``: that of the watch of each checked sum (`lane_watch`).
    """
    vectors = {name: name for name in varying.names} if varying else {}
    widener = Widener(loop, {**vectors, **lane_names}, varying)
    predicated = None if varying else predicate_loop(loop, reductions, memory)
    body = widener.block(predicated.body if predicated else loop.body)
    accs = [
        VecAccum(
            lane_names[f.acc.name],
            f.start,
            as_vector(widener.expr(f.step(_vector_accumulator(f)))),
            span=f.acc.span,
        )
        for f in (predicated.reductions if predicated else reductions)
    ]
    # without a reduction or a scan the target chooses how many registers stand side by side
    group = _group_lanes(body, accs) if accs or any(isinstance(s, Prefix) for s in body) else None
    steps = {a.name: a.step for a in accs}
    accs += [
        lane_watch(watches[f.acc.name], f.dtype, steps[lane_names[f.acc.name]], group or 1)
        for f in reductions if f.acc.name in watches
    ]
    append_counters = advanced_accums(loop)
    counters = (a for a in loop.accs if a.name in append_counters)
    accs += [VecAccum(a.name, a.init, a.step, span=a.span) for a in counters]
    if predicated:
        pred = as_vector(widener.expr(predicated.mask))
        return PredLoop(
            loop.var, loop.range, WIDTH, pred, body, tuple(accs), group=group, span=loop.span
        )
    until = _vector_exit(loop.until, lane_names, group) if loop.until else None
    return VecLoop(
        loop.var, loop.range, WIDTH, body, tuple(accs), group, until, span=loop.span
    )


def _vector_accumulator(f: Reduction) -> Var:
    """The accumulator as the body reads it, before it is widened."""
    return Var(f.acc.name, f.dtype)


def _vector_exit(until: Expr, lane_names: dict[str, str], group: int | None) -> Expr:
    """The exit condition of a search, reduced over all lanes."""
    match until:
        case Var(name=name):
            return HReduce("or", Var(lane_names[name], "bool", group or 1))
        case Call(op="not", args=(Var(name=name),)):
            all_lanes = HReduce("and", Var(lane_names[name], "bool", group or 1))
            return Call("not", (all_lanes,), "bool")
        case _:
            raise AssertionError(f"no search: {until!r}")


def _group_lanes(body: Iterable[Stmt], accs: Iterable[VecAccum]) -> int:
    """The number of partial results of each reduction of the loop, its group: term k is added to
    partial result k % group. It depends on the loop alone, so that a sum has the same bits on every
    target (the other steps that fix the order are told in `blocked_summation`).

        s += x[i], of f64      256 bytes // 8 = 32 partial sums: 4 registers of AVX-512, 8 of AVX2
        a heavy body of f64    64 bytes // 8 = 8, since the body needs registers itself; or a scan

    The size of the widest value in the body counts, since all its vectors have equally many lanes.
    """
    nodes = [n for part in (*body, *accs) for n in walk(part)]
    vectors = [n for n in nodes if isinstance(n, Load | Call | Var | Broadcast) and n.lanes != 1]
    widest = max(DTYPES[n.dtype].bytes for n in vectors)
    weight = sum(OPS[n.op].weight for n in nodes if isinstance(n, Call))
    is_heavy = weight > HEAVY or any(isinstance(n, Prefix) for n in nodes)
    return (HEAVY_GROUP_BYTES if is_heavy else GROUP_BYTES) // widest


# -- after the loop


def _final_reduction(
    f: Reduction, loop: Loop, lanes: Var, fresh: FreshNames, is_exact: bool
) -> Iterator[Stmt]:
    """Bind the accumulator's name to the reduction of its `lanes` and its initial value.
    `is_exact`: the order of lanes cannot change the bits.
    """
    reduced = HReduce(f.op, lanes)
    if OPS[f.op].unit is None:
        name = f.acc.name if is_exact else fresh.name(f.acc.name)
        yield Assign(name, reduced, span=f.acc.span)
        if not is_exact:
            yield from exact_extremum_result(f, Var(name, f.dtype), loop, fresh)
        return
    checks = overflow_checks_of(f.acc, loop)
    if checks and DTYPES[f.dtype].kind == "u":
        named_sum = Var(fresh.name(f.acc.name), f.dtype)
        yield Assign(named_sum.name, reduced)
        yield from unsigned_checks(f, lanes, named_sum, checks[0])
        reduced = named_sum  # type: ignore[assignment]
    yield Assign(f.acc.name, rewrite(Call(f.op, (f.acc.init, reduced), f.dtype)), span=f.acc.span)
