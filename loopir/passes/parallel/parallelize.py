"""Parallelize: marks the loops that several threads may run, and splits folds and searches.

`_Marker.loop` decides which loops may run in threads, from the outside in, by `_obstacle`. Whether
threads pay is decided in each call: the C code of the loop compares an estimate of its work with a
limit (`targets/c/c_regions.py`), then the pool chooses the number of threads (`choose_threads` in
`targets/abi/thread_pool.c`).
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ...algebra.constant_folding import index_const, neutral_element
from ...algebra.index_builder import index_add, index_less, index_min, index_sub
from ...analysis.loop_reductions import is_fold_step
from ...analysis.mod_ref import AliasInfo, arrays_written
from ...analysis.parallelism import Splittable, parallel_loops, parallel_obstacle
from ...analysis.undoable_stores import may_stop, stores_to_undo, undo_obstacle
from ...analysis.work_estimate import most_additions
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, names_read, rename_names, substitute
from ...ir_traversal import advanced_accums, bottom_up, contains, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Expr,
    HReduce,
    If,
    Interval,
    Kernel,
    Loop,
    LoopLike,
    Node,
    PredLoop,
    RangeDesc,
    Span,
    Stmt,
    Var,
    VecAccum,
    VecLoop,
    While,
    Yield,
)
from ...op_table import OPS
from ..loop_splitting import strip_mine_loop
from ..vector.checked_sums import is_lane_watch, total_watch
from .peel_blocks import peel_blocks
from .split_folds import (
    FoldSplitter,
    block_size,
    blocks_of_groups,
    is_over_blocks,
    with_sums_of_inner_loops,
)
from .split_search import split_any, split_first_hit
from .version_brief_folds import is_repeatable, version_brief_fold

__all__ = ["loops_left_serial", "parallelize"]

_EXACT_BLOCK = 16384
"""Elements of a block of a vector loop (`_Marker.exact_reductions_by_block`)."""

_SCALAR_BLOCK = 4096
"""Iterations of a block of a scalar loop (`_Marker.exact_folds_by_block`)."""

_SHORT_KERNEL = 150
"""Nodes of a kernel whose folds are also kept as they are, for little work."""

_BRIEF = 20_000
"""Additions (about 20 microseconds of work, by `FIRST_RATE`). A loop that surely does less work is
not made parallel (`_is_brief`).
"""


def parallelize(kernel: Kernel, private: Collection[str] = ()) -> Kernel:
    """Mark each outermost loop whose iterations are independent (`analysis.parallelism`) as
    ``parallel``; in a loop whose iterations are not, the loops inside it. Loops that are surely
    brief stay as they are (`_is_brief`).

    A loop over blocks whose accumulators only combine what each block has computed is distributed:
    the blocks run in any order and keep their results, then the accumulators take these in the
    order of the blocks. So a sum has the same bits whichever threads computed its blocks. Where
    there is little work the loop stays as it was; one block is in no loop. A search
    is divided into rounds of parts (`split_search`); one thread runs the first part before others
    begin.

    A failed check may end the kernel in such a loop (`Kernel.stops`), and Python then raises at
    that iteration; but other threads may have stored for later iterations. So a loop with checks is
    parallel only if the caller cannot see these stores:

    - they are to ``private`` arrays, which the call has made; or
    - the elements are known before the loop runs (`undo_obstacle`). The loop is marked ``undoes``,
      and its code puts them back if a check fails.

    Before::

        def k(x: f64[::1], total: mut(f64[()])):
            for i in loop(range(0, min(x.shape[0], 262144), 4096), s=0.0):
                for j in vec(i, min(i + 4096, x.shape[0]), width=W, group=32, t=-0.0):
                    t = step(t + x[j:W])
                s = step(s + hreduce("add", t))
            total[()] = s

    after::

        def k(x: f64[::1], total: mut(f64[()])):
            if (0 < min(x.shape[0], 262144)) & (min(x.shape[0], 262144) < 4097):
                for j_1 in vec(0, min(4096, x.shape[0]), width=W, group=32, t_1=-0.0):
                    t_1 = step(t_1 + x[j_1:W])
                s_1 = 0.0 + hreduce("add", t_1)
                s = give(s_1)
            else:
                blocks = (min(x.shape[0], 262144) + 4095) // 4096
                kept = local(f64, 64)
                for block in parallel_loop(0, blocks):
                    i = block * 4096
                    for j in vec(i, min(i + 4096, x.shape[0]), width=W, group=32, t=-0.0):
                        t = step(t + x[j:W])
                    result = hreduce("add", t)
                    kept[block] = result
                for block_1 in loop(0, blocks, s_2=0.0):
                    result_1 = kept[block_1]
                    s_2 = step(s_2 + result_1)
                s = give(s_2)
            total[()] = s
    """
    marker = _Marker(kernel, frozenset(private))
    body = marker.block(kernel.body)
    if body is kernel.body:
        return kernel
    totals = marker.totals

    def with_total(e: Expr) -> Expr:
        """The total in place of a horizontal reduction of a loop that has become one over blocks.
        """
        return totals.get(e, e) if isinstance(e, HReduce) else e

    new = replace(kernel, body=body)
    return bottom_up(new, with_total) if totals else new


def loops_left_serial(
    kernel: Kernel, private: Collection[str] = ()
) -> Iterator[tuple[Splittable, str]]:
    """The outermost loops of the final `kernel` that one thread runs, each with the reason
    (`_obstacle`), for the report: loops that are not parallel, and have no parallel loop inside.
    Left out are

    - loops that are too brief to matter (`_is_brief`);
    - other versions of a parallel loop, that is, loops which come from the same loop of the source.
      They are told by the arrays, if they write to the same ones (`_origin`), such as the version
      with checks; or by an `if` around them, such as the search for the first NaN of ``np.argmin``.

    ``private``: as for `parallelize`.
    """
    parallel = {key for n in parallel_loops(kernel) if (key := _origin(n, kernel))}
    parallel_spans = {n.span for n in parallel_loops(kernel)}

    def visit(
        body: Iterable[Stmt], *, is_conditional: bool = False
    ) -> Iterator[tuple[Splittable, str]]:
        """The serial loops in `body`, each with the reason."""
        for s in body:
            match s:
                case If(then=then, orelse=orelse):
                    yield from visit((*then, *orelse), is_conditional=True)
                case Loop() | VecLoop() | PredLoop() if (
                    s.parallel or _is_brief(s, definitions)
                    or (is_conditional and s.span in parallel_spans)
                ):
                    pass
                case Loop(body=inside) | While(body=inside) if any(parallel_loops(*inside)):
                    yield from visit(inside, is_conditional=is_conditional)
                case Loop() | VecLoop() | PredLoop():
                    reason = _obstacle(s, kernel, private)
                    if reason is not None and _origin(s, kernel) not in parallel:
                        yield s, reason

    definitions = _definitions(kernel)
    yield from visit(kernel.body)


def _definitions(kernel: Kernel) -> dict[str, Expr]:
    """The values of the names that `kernel` assigns, by which ranges are bounded."""
    return {s.name: s.value for s in walk(kernel) if isinstance(s, Assign)}


def _origin(n: Node, kernel: Kernel) -> tuple[Span, frozenset[str]] | None:
    """The loop of the source that `n` is a version of, and the arrays that it writes to, apart from
    those of `kernel` itself; None if it writes to none.
    """
    stored = arrays_written((n,)) & {p.name for p in kernel.params}
    return (n.span, stored) if isinstance(n, LoopLike) and n.span is not None and stored else None


def _obstacle(s: Splittable, kernel: Kernel, private: Collection[str]) -> str | None:
    """Why several threads must not run the iterations of `s`, for the report; None if they may.
    This is where that is decided.

    - They are not independent (`parallel_obstacle`): the answer would depend on their order.
    - A failed check ends the kernel in the middle, and Python then raises in that iteration. Other
      threads have run later iterations, whose stores the caller would see. That is avoided if `s`
      writes to `private` arrays alone, those that the call has made, or if its stores can be put
      back (`undo_obstacle`).

    `_Marker` asks it to mark loops, `loops_left_serial` to report them.
    """
    if (reason := parallel_obstacle(s, kernel)) is not None:
        return reason
    return undo_obstacle(s, kernel) if _must_undo(s, kernel, private) else None


def _must_undo(s: Splittable, kernel: Kernel, private: Collection[str]) -> bool:
    """Whether `s` may end the kernel in the middle, and writes to arrays that are not `private`."""
    stores = stores_to_undo(s, kernel) if may_stop(s, kernel) else ()
    return any(n.array not in private for n in stores)


class _Marker:
    """The walk over a kernel from the outside in."""

    def __init__(self, kernel: Kernel, private: frozenset[str]) -> None:
        self.kernel, self.private = kernel, private
        self.fresh = FreshNames(kernel)
        self.folds = FoldSplitter(
            self.fresh, AliasInfo(kernel), private, lambda loop: _obstacle(loop, kernel, private)
        )
        self.totals: dict[HReduce, Expr] = {}
        self.definitions = _definitions(kernel)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """`body` with its parallel loops marked; the same object if there are none."""
        new = tuple(x for s in body for x in self.statement(s))
        same = len(new) == len(body) and all(a is b for a, b in zip(new, body, strict=True))
        return body if same else new

    def statement(self, s: Stmt) -> tuple[Stmt, ...]:
        """What takes the place of `s`."""
        match s:
            case If(orelse=orelse) if any(parallel_loops(*orelse)):
                return (s,)  # versions of a loop for little and for much work
            case If(then=then, orelse=orelse):
                sides = self.block(then), self.block(orelse)
                same = sides[0] is then and sides[1] is orelse
                return (s if same else replace(s, then=sides[0], orelse=sides[1]),)
            case Loop() | VecLoop() | PredLoop():
                return self.loop(s)
            case While(body=body) if (new := self.block(body)) is not body:
                return (replace(s, body=new),)
        return (s,)

    def loop(self, s: Splittable) -> tuple[Stmt, ...]:
        """What takes the place of the loop `s`, by the first of these that applies:

        - it is parallel already, or brief: `s` as it is;
        - its iterations are independent: `s` marked as parallel;
        - a vector loop: `exact_reductions_by_block`;
        - a search: `split_first_hit`;
        - the results of its iterations can be kept, and folded later: `FoldSplitter.split`; but of
          a loop over groups of blocks the blocks are the iterations, if it does nothing else, and
          otherwise the blocks of each group. Where it has little work, `s` stays as it is
          (`version_brief_fold`);
        - threads can share it in blocks, if some stores run later: `peel_blocks`;
        - it has parallel loops inside: `s` with these;
        - its accumulators are exact folds: `exact_folds_by_block`.

        If the function named returns None, `s` stays as it is.
        """
        if s.parallel or _is_brief(s, self.definitions):
            return (s,)
        if _obstacle(s, self.kernel, self.private) is None:
            if not isinstance(s, PredLoop) and _must_undo(s, self.kernel, self.private):
                return (replace(s, parallel=True, undoes=True),)
            return (replace(s, parallel=True),)
        if isinstance(s, VecLoop | PredLoop):
            return self.exact_reductions_by_block(s) or (s,)
        if not isinstance(s, Loop):
            return (s,)
        if s.until is not None and (split := split_first_hit(s, self.kernel, self.fresh)):
            return split
        if not is_over_blocks(s) and (split := self.folds.split(s)):
            return self.with_brief(s, None, split)
        blocks = blocks_of_groups(s)
        if blocks is not None and (split := self.folds.split(blocks, groups=s)):
            return self.with_brief(s, block_size(blocks), split)
        if split := peel_blocks(s, self.kernel, self.fresh, self.folds.obstacle):
            return split
        body = self.block(s.body)
        if body is not s.body:
            return (replace(s, body=body),)
        if is_over_blocks(s) and (split := self.folds.split(s)):
            return self.with_brief(s, block_size(s), split)
        return self.exact_folds_by_block(s) or (s,)

    def exact_folds_by_block(self, s: Loop) -> tuple[Stmt, ...] | None:
        """The scalar loop `s` as a distributed loop over blocks, if all its accumulators are folds
        of integers or bools, whose order does not matter; None if there are others. What else it
        does must be independent, such as additions to a table::

            for i in loop(0, n, c=0):
                h[k[i]] = h[k[i]] + 1
                c = step(c + k[i])
        """
        if s.until is not None or not isinstance(s.range, Interval) or not s.accs:
            return None
        if any(contains(x, LoopLike) for x in s.body) or advanced_accums(s):
            return None
        blocks = with_sums_of_inner_loops(strip_mine_loop(s, _SCALAR_BLOCK, {}, self.fresh))
        split = self.folds.split(blocks)
        return None if split is None else self.with_brief(blocks, _SCALAR_BLOCK, split)

    def with_brief(
        self, s: Loop, block: int | None, split: tuple[Stmt, ...]
    ) -> tuple[Stmt, ...]:
        """`split`, which takes the place of the fold `s`; in a short kernel with `s` beside it, for
        little work. (In a longer one the time that the other loops take hides that of a decision.)
        """
        is_short = sum(1 for _ in walk(self.kernel)) <= _SHORT_KERNEL
        return version_brief_fold(s, block, split, self.fresh) if is_short else split

    def exact_reductions_by_block(self, s: VecLoop | PredLoop) -> tuple[Stmt, ...] | None:
        """The vector loop `s` as a distributed loop over blocks, if the order of terms does not
        matter to any of its accumulators: they are reductions of integers or bools, or minima and
        maxima of floats. (Code after the loop corrects a float extremum where zeros of both signs
        or NaNs occur and it would depend on the order, see `vector.exact_extrema`.) None if there
        are other accumulators. A search, a loop with `until`, is split by `split_any`.

        A sum with overflow checks has one more accumulator, which watches its lanes
        (`checked_sums`). Both start anew in each block; the sum of the blocks so far is watched,
        too, as it may take half of the integers, and the lanes of one block the other half.

        An accumulator of `s` is a vector, which code after `s` reduces horizontally. The new loop
        has scalar accumulators; ``totals`` maps each of those horizontal reductions to its scalar.

        A range of at most one block, where threads cannot help, is run by `s` itself, so that such
        a call takes one comparison longer than without threads::

            for i in vec(0, n, a=x[0]): a = step(max(a, x[i:W]))
            →
            if n < 16385:
                for i in vec(0, min(16384, n), a=x[0]): a = step(max(a, x[i:W]))
                total = give(hreduce("max", a))
            else:
                <the loop over blocks>, which computes t
                total = give(t)
        """
        uses = {a.name: _horizontal_reduction(a, s, self.kernel) for a in s.accs}
        if (accs_alone := _accumulators_alone(s)) is None:
            return None
        watched = _watched_sums(accs_alone)
        reductions: list[tuple[VecAccum, HReduce]] = []
        for a in accs_alone:
            use = uses[a.name]
            if use is None or not (a.name in watched or _is_exact(use, a, uses.keys() - {a.name})):
                return None
            reductions.append((a, use))
        if isinstance(s, VecLoop) and s.until is not None:
            by_name = {a.name: use for a, use in reductions}
            split = split_any(s, by_name, self.kernel, self.fresh)
            if split is not None:
                self.totals |= split[1]
            return split and split[0]
        assert isinstance(s.range, Interval)
        start = Var(self.fresh.name(s.var), INDEX)
        end = index_min(index_add(start, index_const(_EXACT_BLOCK)), s.range.hi)
        names = {a.name: self.fresh.name(a.name) for a in s.accs}
        inner = rename_names(replace(s, range=Interval(start, end)), names)
        accs: list[Accum] = []
        steps: dict[str, Expr] = {}  # by accumulator: a watched sum stands before its watch
        for a, use in reductions:
            total = Var(self.fresh.name(a.name), use.dtype)
            of_block = HReduce(use.op, rename_names(use.value, names))
            steps[a.name] = step = Call(use.op, (total, of_block), use.dtype)
            if a.name in watched:
                step = Call(use.op, (step, total_watch(steps[watched[a.name]])), use.dtype)
            accs.append(Accum(total.name, a.init, step))
        strips = RangeDesc(s.range.lo, s.range.hi, _EXACT_BLOCK)
        blocks = Loop(start.name, strips, (inner,), tuple(accs), span=s.span)
        if (distributed := self.folds.split(blocks)) is None:
            return None
        of_blocks = {use: a.current for (_, use), a in zip(reductions, accs, strict=True)}
        if not is_repeatable(s):
            self.totals |= of_blocks
            return distributed
        names = {n: self.fresh.name(n) for n in sorted(bound_names(s))}
        yields: list[Yield] = []
        for use, total in of_blocks.items():
            of_all = HReduce(use.op, rename_names(use.value, names))
            yields.append(Yield(self.fresh.name(total.name), of_all, total))
            self.totals[use] = Var(yields[-1].name, use.dtype)
        is_single = index_less(index_sub(s.range.hi, s.range.lo), index_const(_EXACT_BLOCK + 1))
        end = index_min(index_add(s.range.lo, index_const(_EXACT_BLOCK)), s.range.hi)
        single = replace(s, range=Interval(s.range.lo, end))  # bounded: it makes no polls
        return (If(is_single, (rename_names(single, names),), distributed, tuple(yields)),)


def _accumulators_alone(s: VecLoop | PredLoop) -> tuple[VecAccum, ...] | None:
    """The accumulators of `s` with steps that read no name which the body computes from one; None
    if the body, or the predicate, does anything else with an accumulator.

        v = t + x[i:W]; t = step(v)     →     t = step(t + x[i:W])
    """
    carried = {a.name for a in s.accs}
    values: dict[str, Expr] = {}
    for x in (*s.body, *((Assign("", s.pred),) if isinstance(s, PredLoop) else ())):
        if carried.isdisjoint(names_read(x)):
            continue
        if not isinstance(x, Assign) or not x.name:
            return None
        values[x.name] = substitute(x.value, values)
        carried.add(x.name)
    return tuple(replace(a, step=substitute(a.step, values)) for a in s.accs)


def _watched_sums(accs: Sequence[VecAccum]) -> dict[str, str]:
    """For each of `accs` that watches the lanes of a checked sum, by its name: that of the sum,
    which stands before it.
    """
    return {w.name: a.name for k, w in enumerate(accs) for a in accs[:k] if is_lane_watch(w, a)}


def _horizontal_reduction(
    a: VecAccum, loop: VecLoop | PredLoop, kernel: Kernel
) -> HReduce | None:
    """The horizontal reduction by which `kernel` uses the vector accumulator `a` after its `loop`;
    None if `kernel` uses `a` there in several ways, or in any other way.
    """
    uses = [n for n in walk(kernel) if _is_named(n, a.name)]
    reduced = [n for n in walk(kernel) if isinstance(n, HReduce) and _is_named(n.value, a.name)]
    in_loop = [n for n in walk(loop) if _is_named(n, a.name)]
    reduced_in_loop = [n for n in walk(loop) if isinstance(n, HReduce) and n in reduced]
    is_only_reduced = len(uses) - len(in_loop) == len(reduced) - len(reduced_in_loop) > 0
    return reduced[0] if len({*reduced}) == 1 and is_only_reduced else None


def _is_named(n: Node, name: str) -> bool:
    return isinstance(n, Var) and n.name == name


def _is_exact(use: HReduce, a: VecAccum, others: Collection[str]) -> bool:
    """Whether the loop of `a` may be cut into blocks that all start with the initial value of `a`,
    and whose results are reduced by `use` in any order, without a change of the result:

    - the step of `a` is the operation of `use` on `a` and a term that reads none of the
      accumulators `others`;
    - to repeat the initial value changes nothing: the operation is idempotent, or it is the neutral
      element.
    """
    if not names_read(a.step).isdisjoint(others) or not is_fold_step(a.step, use.op, a.name):
        return False
    if OPS[use.op].idempotent:
        return True
    return DTYPES[use.dtype].kind != "f" and a.init == neutral_element(use.op, use.dtype)


def _is_brief(s: Splittable, definitions: Mapping[str, Expr]) -> bool:
    """Whether `s` surely does less than `_BRIEF` additions: waking a thread takes about as long. It
    is then not made a parallel loop, which saves its code. Where the work depends on the call, the
    loop is made parallel, and its code asks for threads only if they pay. ``definitions``: values
    of names, by which trip counts are bounded.
    """
    return most_additions(s, definitions) < _BRIEF
