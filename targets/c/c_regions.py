"""Parallel loops as C: a function for a part of the range, which the thread pool may run.

    for i in parallel_loop(lo, hi): …      →      beside the body of the kernel

    struct tp_captured_0 { … };                   the kernel's variables that the loop reads, if any
    tp_part_0(arrays, scalars, captured, first, last)        the loop, for first … last - 1
    const tp_loop tp_loop_0 = {tp_part_0, …};     tp_part_0 and how the pool is to run it

                                                  and in the body of the kernel

    const int64_t lo = …, hi = …;
    const double units = …;                       the work of all iterations, in additions
    if (hi - lo > grain && units * tp_rate_0 >= TP_WORTH && tp_run_region)
        status |= tp_run_loop(&tp_loop_0, …);     the pool runs it (`tp_pool_run` in thread_pool.c)
    else if (lo < hi)
        status |= tp_part_0(…, lo, hi);           here; a short loop in another one has no call

The pool calls `tp_loop.run` for each chunk (`run_chunks` in thread_pool.c), or, where threads do
not pay, for the whole range (`run_serially`). It is tp_part_0; or, where a chunk has more to do
(to sum into a table of its own, to save what it overwrites, to find the totals with which it
begins), the function tp_run_0, which calls tp_part_0. A kernel without pool or with little work
runs the whole range itself.

`tp_rate_0` is how many nanoseconds a unit takes: an estimate at first, then measured in calls. So a
call that does little takes one comparison longer than without threads.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from loopir import nodes as ir
from loopir.analysis.parallelism import Splittable, arrays_reduced_by
from loopir.analysis.running_totals import arrays_to_differ, totals
from loopir.analysis.undoable_stores import undo_obstacle
from loopir.analysis.work_estimate import InnerWork, Work, advance, work_of
from loopir.dtypes import DTYPES, INDEX
from loopir.ir_names import bound_names
from loopir.ir_traversal import advanced_accums, contains, is_innermost, range_bounds, walk
from loopir.lazy_dataclass import replace
from loopir.status_bits import STATUS

from ..region_costs import FIRST_RATE
from .c_expressions import expr
from .c_scope import Scope
from .c_text import c_type, indented, strip_parens
from .interrupt_polls import declarations
from .parallel.region_tables import LONGEST_TABLE, with_own_tables
from .parallel.region_totals import (
    BLOCKS_OF_CHUNK,
    CARRIED,
    TOTALS,
    block_iterations,
    join_function,
    only_storing,
    own_totals,
    run_with_totals,
    started_at,
)
from .parallel.region_undo import (
    copy_function,
    run_with_undo,
    saved_bytes,
    step_of,
    undo_lines,
)

__all__ = ["can_emit_region", "emit_region"]

_SHORT = 40
"""A parallel loop in another loop whose tp_part has at most so many lines is printed twice, in its
function and in the body: a call in each iteration of the outer loop, some nanoseconds, would cost
more than it saves."""

_MOST_TABLES = 4
"""The most arrays to which a region may add (`_tables`): each chunk has a table for each of them on
its stack, and a worker's stack has 256 KiB (`TP_STACK` of the thread pool)."""

_PER_ELEMENT = 8
"""A chunk has at least so many iterations for each element of its tables."""

_FIRST, _LAST = "#first", "#last"
"""The IR names of the ends of a part. No other name contains a ``#``."""

_TOTAL = "#total{}"
"""The IR names of the totals with which a part begins, by their numbers."""

_WHOLE = "tp_whole"
"""The C name of the trip count of the whole loop, which its part captures."""

_ENDS = "tp_lo", "tp_hi"
"""The fields for the ends of the whole range: `tp_run` compares its own ends with them."""

_HIT = "tp_hit"
"""The C name of the variable with the lowest iteration of a search that has a hit (`parallel.h`).
"""

_SAVED_AT_ONCE = 1 << 16
"""The most bytes that a chunk saves before it overwrites them (`_longest`): so many stay in a
core's cache, and `malloc` takes them from memory that the process already has."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def can_emit_region(n: Splittable, scopes: tuple[Scope, ...]) -> bool:
    """Whether the loop `n` becomes a region: it is marked parallel, counts upward, and is in no
    vector loop; it captures neither vectors, accumulators in registers, nor packed bools; needs at
    most `_MOST_TABLES` tables; and its stores can still be undone, if they must be.
    """
    s, *others = scopes
    if others or not n.parallel or s.vector is not None:
        return False
    if isinstance(n.range, ir.RangeDesc) and n.range.step < 0:
        return False
    bound = bound_names(n)
    captured = [x for x in walk(n) if isinstance(x, ir.Var) and x.name not in bound]
    if any(x.lanes != 1 or x.name in s.registers for x in captured if x.name != n.var):
        return False
    if _undoes(n) and s.kernel is not None and undo_obstacle(n, s.kernel) is not None:
        return False  # a pass after `parallelize` has put its stores elsewhere
    return s.bits.isdisjoint(_arrays_of(n)) and len(_tables(n, s)) <= _MOST_TABLES


def _undoes(n: Splittable) -> bool:
    """Whether the elements that `n` stores must be put back if a failed check stops it."""
    return isinstance(n, ir.Loop | ir.VecLoop) and n.undoes


def _has_totals(n: Splittable) -> bool:
    """Whether the parallel loop `n` has running totals: any other has no accumulators."""
    return bool(n.accs)


def emit_region(
    n: Splittable, s: Scope, block: Callable[..., Iterator[str]]
) -> Iterator[str]:
    """The lines of C that stand for the parallel loop `n` in the body of its kernel, as at the top
    of this module: they compute the range and its work, and then have the thread pool run the loop
    (`tp_run_loop`), or run it here. `c_statements` calls this if `can_emit_region` allows it.

    The text of the functions beside the body, such as tp_part_0 (`_definitions`), goes to
    ``s.functions``. How many are there already is the number of this loop: parallel loops are not
    nested, as `parallelize` marks only the outermost. ``block``: `emit_block` of `c_statements`.
    """
    number, serial = len(s.functions), replace(n, parallel=False)
    scope = s if n not in s.polls else replace(s, polls={**s.polls, serial: s.polls[n]})
    functions, captured, length = _definitions(number, n, scope, block)
    s.functions.append(functions)

    # the totals so far; the loop's end gives the new ones
    before = [strip_parens(expr(a.init, s)) for a in n.accs]
    kinds = [DTYPES[a.init.dtype].c for a in n.accs]
    names = [s.bind(a.name) for a in n.accs]
    for kind, total, value in zip(kinds, names, before, strict=True):
        yield f"{kind} {total} = {value};"

    # the range and its work
    lo, hi, units, c = (s.fresh(x) for x in ("first", "last", "units", "captured"))
    start, end = range_bounds(n.range)
    yield "{"
    yield f"const int64_t {lo} = {strip_parens(expr(start, s))};"
    yield f"const int64_t {hi} = {strip_parens(expr(end, s))};"
    yield f"const double {units} = {_work_of_range(n, lo, hi, s)};"

    # whether the pool is asked: the range has more than one chunk, and threads may pay
    tables = _tables(n, s)
    grain = _grain_with(n, [*tables.values()])
    fits = (f" && {length} <= {LONGEST_TABLE}" for _, length in tables.values())
    has_chunks = f"{hi} - {lo} > {grain}{''.join(fits)}"
    is_worth = f"{has_chunks} && {units} * tp_rate(&tp_rate_{number}) >= TP_WORTH && tp_run_region"

    # the struct with what the loop captures; if the run here is no call, only the pool needs it
    is_inline = s.in_loop and length <= _SHORT and _HIT not in captured
    known = {_WHOLE: f"{hi} - {lo}", _ENDS[0]: lo, _ENDS[1]: hi, TOTALS: f"&{TOTALS}"}
    values = ", ".join(known.get(name, name) for name in captured)
    capture = [f"struct tp_captured_{number} {c} = {{{values}}};"] if captured else []
    given = f"arrays, scalars, {f'&{c}' if captured else 0}"
    if _HIT in captured:
        yield f"int64_t {_HIT}[1] = {{INT64_MAX}};"
    if names:
        values = ", ".join(f"(int64_t){total}" for total in names)
        yield f"int64_t {CARRIED}[{len(names)}] = {{{values}}};"
        yield f"tp_totals {TOTALS};"
        of_blocks = f"tp_totals_{number}, tp_join_{number}, {lo}, {hi}, {grain}"
        opened = f"{of_blocks}, {CARRIED}, {len(names)}"
        assert s.kernel is not None
        differ = (f" && {s.names[a]} != {s.names[b]}" for a, b in arrays_to_differ(n, s.kernel))
        is_worth += f"{''.join(differ)} && tp_open_totals(&{TOTALS}, {opened})"
    yield from () if is_inline else capture

    # the run by the pool
    yield f"if ({is_worth}) {{"
    yield from capture if is_inline else ()
    run = f"tp_run_loop(&tp_loop_{number}, {given}, {lo}, {hi}, {grain}, {units})"
    rest = " & ~TP_FOUND" if _HIT in captured else ""
    if _undoes(n):
        yield from undo_lines(number, n, _grain(n), c, run, given, (lo, hi), s)
    else:
        yield f"status |= {run}{rest};"
    numbered = enumerate(zip(names, kinds, strict=True))
    after = [f"{total} = ({kind}){CARRIED}[{k}];" for k, (total, kind) in numbered]
    if names:
        yield f"tp_close_totals(&{TOTALS});"
        yield from after

    # the run here
    may_be_empty = not is_inline and not names  # such as the rest behind pairs of rows
    yield f"}} else if ({lo} < {hi}) {{" if may_be_empty else "} else {"
    if is_inline:
        inner = scope.inner()
        yield from block((serial,), inner)
        results = zip(names, totals(n), strict=True)
        yield from (f"{total} = {inner.names[a.name]};" for total, a in results)
    else:
        yield f"status |= tp_part_{number}({given}, {lo}, {hi}){rest};"
        yield from after
    yield "}"
    yield f"if (status & {STATUS['replay']}) return status;"
    yield "}"


def _loop_record(
    number: int, n: Splittable, captured: Collection[str], run: str, s: Scope
) -> str:
    """The constant that describes the loop to the pool (`tp_loop` of parallel.h); ``run``: the
    function for a chunk.
    """
    is_uneven = contains(n, ir.While) or any(
        isinstance(x, (ir.Loop, ir.VecLoop)) and x.until is not None for x in walk(n)
    )
    stops_at = [str(STATUS["replay"])]
    stops_at += ["TP_FOUND"] * (_HIT in captured) + ["TP_NO_ROOM"] * _undoes(n)
    fields = (
        run, f"&tp_rate_{number}", _longest(n, s), " | ".join(stops_at), int(is_uneven),
        int(_HIT in captured or _undoes(n) or _has_totals(n)), s.threads, int(_has_totals(n)),
    )
    return f"static const tp_loop tp_loop_{number} = {{{', '.join(map(str, fields))}}};"


def _grain(n: Splittable) -> int:
    """The grain: chunks begin at multiples of it, counted from the start of the range. It is

    - of a vector loop its group, and at least 64 iterations: a chunk then covers whole cache lines,
      even of bytes, so that threads seldom store to the same line: at most to the one at the
      border of two chunks, where the array does not begin at a line;
    - of a scalar loop one step;
    - of a loop with running totals a block, whose totals are computed at once.
    """
    if isinstance(n.range, ir.RangeDesc):
        return n.range.step
    assert isinstance(n, ir.Loop) or isinstance(n.width, int)
    iterations = 1 if isinstance(n, ir.Loop) else max(n.group or int(n.width), 64)
    return block_iterations(iterations) if _has_totals(n) else iterations


def _grain_with(n: Splittable, tables: Sequence[_Table]) -> str:
    """As `_grain`, in C: enough iterations that a chunk's own `tables` cost little beside them."""
    if not tables or not is_innermost(n):
        return str(_grain(n))
    lengths = " + ".join(length for _, length in tables)
    return f"{_grain(n)} * (1 + {_PER_ELEMENT} * ({lengths}))"


_Table = tuple[str, str]
"""The C type and the length of an array to which a parallel loop adds."""


def _tables(n: Splittable, s: Scope) -> dict[str, _Table]:
    """The arrays of which several iterations may add to one element: C name, type and length."""
    assert s.kernel is not None
    reduced = arrays_reduced_by(n, s.kernel)
    return {
        s.names[p.name]: (DTYPES[p.dtype].c, strip_parens(expr(ir.Dim(p.name, 0), s)))
        for p in s.params if p.name in reduced
    }


def _whole_range(number: int) -> Iterator[str]:
    """The C at the start of `tp_run`: a call with the whole range is one call of tp_part."""
    lo, hi = _ENDS
    yield f"if (first == shared->{lo} && last == shared->{hi})"
    yield f"    return tp_part_{number}(arrays, scalars, captured, first, last);"


def _definitions(
    number: int, n: Splittable, s: Scope, block: Callable[..., Iterator[str]]
) -> tuple[str, dict[str, str], int]:
    """The C text that `emit_region` puts beside the body of the kernel for the parallel loop `n`,
    the loop with this ``number``; the fields of its struct, each C name with its type; and how many
    lines tp_part has, with what stands before it.

        for i in parallel_loop(0, n): y[i] = x[i] * k        (k: a float that the body computes)
        →
        struct tp_captured_0 { double k; … };                fields: {"k": "double ", …}
        int64_t tp_part_0(…) { …; for (… tp_first … tp_last) y[i] = x[i] * k; return status; }
        const tp_loop tp_loop_0 = {tp_part_0, …};

    The body of tp_part is printed first, since only its text tells which names it uses: parameters
    of the kernel are read from ``arrays`` and ``scalars`` again, all other names are fields.
    If a chunk does more than to run its part, there is also a function tp_run for the pool to call:
    where `n` adds to arrays, by tables of its own (`with_own_tables`), or may have to be put back
    (`_undoes`; then tp_copy saves and restores the elements that it stores).
    """
    lines, copying, inner = _part_lines(n, s, block)
    more = _other_parts(number, n, s, block) if _has_totals(n) else {}
    body = "\n".join([*lines, *(x for part in more.values() for x in part)])

    # the names that it takes from the kernel's parameters, and from the struct
    used = set(_IDENTIFIER.findall("\n".join((body, *copying))))
    captured = _captured(n, s, used)
    tables = _tables(n, s)
    parameters = [
        text for name, text in s.parameters.items()
        if (c := s.names.get(name)) in used and c not in tables
    ]
    captured |= {c: f"{kind} *" for c, (kind, _) in tables.items()}
    if _WHOLE in used:
        captured[_WHOLE] = "int64_t "
    if _HIT in used:
        captured[_HIT] = "int64_t *"
    if more:
        captured[CARRIED] = "int64_t *"
    heads = [*parameters]
    if captured:
        heads.append(f"const struct tp_captured_{number} *const tp_given = captured;")
        heads += [f"{kind}const {c} = tp_given->{c};" for c, kind in captured.items()]

    # the struct: also with what tp_run needs, if a chunk does more than to run its part
    does_more = tables or copying or more
    captured |= dict.fromkeys(_ENDS, "int64_t ") if does_more else {}
    captured |= {TOTALS: "tp_totals *"} if more else {}
    fields = [f"{kind}{c};" for c, kind in captured.items()]
    fields += ["int32_t tp_lock;"] if tables else []
    fields += ["tp_undo tp_undo;"] if copying else []

    given = (
        "const tp_array *const arrays, const tp_scalar *const scalars, void *const captured, "
        "int64_t tp_first, int64_t tp_last"
    )
    text = [
        f"float tp_rate_{number} = {FIRST_RATE}f;",
        *([f"struct tp_captured_{number} {{", *fields, "};"] if fields else ()),
        f"static __attribute__((noinline)) int64_t tp_part_{number}({given})", "{",
        *heads,
        "int64_t status = 0;", *declarations(inner.polls, body),
        *lines,
        *([f"if (TP_PEEK({_HIT}) != INT64_MAX) status |= TP_FOUND;"] * (_HIT in used)),
        "return status;", "}",
    ]
    length = sum(not line.startswith("/* line") for line in "\n".join(text).split("\n"))
    if copying:
        text += [
            f"static __attribute__((noinline)) void tp_copy_{number}({given}, char *tp_block, "
            "int tp_back)", "{", *heads, *copying, "}",
        ]
    for head, other in more.items():
        text += [f"static __attribute__((noinline)) {head.format(given)}", "{", *heads, *other, "}"]
    text += join_function(number, n) if more else ()
    if does_more:
        whole = _whole_range(number)
        lengths = [t for name, t in s.parameters.items() if _is_length(name, tables, s)]
        text += [
            f"static int64_t tp_run_{number}(const tp_array *arrays, const tp_scalar *scalars, "
            "void *captured, int64_t first, int64_t last)", "{",
            *(with_own_tables(tables, number, captured, lengths, whole) if tables else
              run_with_totals(number, n, _grain(n), whole) if more else
              run_with_undo(number, n, _grain(n), whole, s)),
            "}",
        ]
    run = f"{'tp_run' if does_more else 'tp_part'}_{number}"
    text.append(_loop_record(number, n, captured, run, s))
    return indented(text), captured, length


def _other_parts(
    number: int, n: Splittable, s: Scope, block: Callable[..., Iterator[str]]
) -> dict[str, list[str]]:
    """The bodies of the other functions of a chunk with running totals, by the C before them, with
    ``{}`` for the usual parameters: tp_totals, and tp_only if an append may store behind its last
    element.
    """
    loop, results = own_totals(n)
    lines, _, inner = _part_lines(loop, replace(s, counts_only=True, running={}), block)
    lines += [f"tp_own[{k}] = (int64_t){expr(e, inner)};" for k, e in enumerate(results)]
    found = {f"void tp_totals_{number}({{}}, int64_t *tp_own)": lines}
    if (only := only_storing(n)) is not None:
        lines = _part_lines(only, s, block)[0]
        found[f"int64_t tp_only_{number}({{}})"] = ["int64_t status = 0;", *lines, "return status;"]
    return found


def _part_lines(
    n: Splittable, s: Scope, block: Callable[..., Iterator[str]]
) -> tuple[list[str], list[str], Scope]:
    """The lines of tp_part for the loop `n`: a loop from tp_first to tp_last; those of tp_copy,
    none if `n` is never put back; and the scope in which the loop was printed.
    """
    inner = s.inner()
    inner.end_chunk = ""  # that chunk is of another function
    ends = (ir.Var(_FIRST, INDEX), ir.Var(_LAST, INDEX))
    inner.names.update({
        _FIRST: "tp_first", _LAST: "tp_last",
        f"{n.var}.whole": _WHOLE,
    })
    rng = (
        ir.Interval(*ends) if isinstance(n.range, ir.Interval)
        else ir.RangeDesc(*ends, n.range.step)
    )
    loop = replace(n, range=rng, parallel=False)
    if _has_totals(n):
        dtypes = [a.init.dtype for a in n.accs]
        starts = [ir.Var(_TOTAL.format(k), dtype) for k, dtype in enumerate(dtypes)]
        for k, x in enumerate(starts):
            start = f"({DTYPES[x.dtype].c}){CARRIED}[{k}]"
            inner.names[x.name] = "0" if s.counts_only else start
        is_reduced = [s.counts_only and a.name not in advanced_accums(n) for a in n.accs]
        inits = zip(totals(n), starts, is_reduced, strict=True)
        loop = started_at(loop, [a.init if own else x for a, x, own in inits])
    if isinstance(loop, ir.Loop) and loop.until is not None:
        inner.search = loop
    if n in s.polls and not s.counts_only:  # the pool polls between chunks
        inner = replace(inner, polls={**s.polls, loop: s.polls[n]})
    copies = inner.inner()  # made before `block` binds the loop's variable in `inner`
    lines = [*block((loop,), inner)]
    if not s.counts_only:
        after = (inner.names[a.name] for a in n.accs)
        lines += [f"{CARRIED}[{k}] = (int64_t){total};" for k, total in enumerate(after)]
    return lines, copy_function(n, copies) if _undoes(n) else [], inner


def _is_length(name: str, tables: Collection[str], s: Scope) -> bool:
    """Whether the parameter `name` is the length of one of `tables`."""
    return any(name == f"{p.name}.n0" for p in s.params if s.names.get(p.name) in tables)


def _captured(n: Splittable, s: Scope, used: set[str]) -> dict[str, str]:
    """The C names that the body of the kernel has bound and the loop uses, with their types."""
    bound, found = bound_names(n), dict[str, str]()
    for x in walk(n):
        if isinstance(x, ir.Var) and x.name not in bound and x.name not in s.parameters:
            c = s.names.get(x.name)
            if c in used and c is not None:
                found[c] = c_type(x, s.target) + " "
    for name in sorted(_arrays_of(n)):
        c = s.names.get(name)
        if name not in s.parameters and c in used and c is not None:
            found[c] = f"{DTYPES[s.arrays[name].dtype].c} *"
    return found


def _arrays_of(n: ir.Node) -> set[str]:
    """The arrays that `n` reads or writes."""
    return {x.array for x in walk(n) if isinstance(x, (ir.Load, ir.Store, ir.Append))}


def _longest(n: Splittable, s: Scope) -> int:
    """The most iterations of a chunk, so that it saves at most `_SAVED_AT_ONCE` bytes, or counts at
    most `BLOCKS_OF_CHUNK` blocks; 0: no limit.
    """
    if _has_totals(n):
        return _grain(n) * BLOCKS_OF_CHUNK
    if not _undoes(n) or not saved_bytes(n, s):
        return 0
    grain = _grain(n)
    return max(_SAVED_AT_ONCE // saved_bytes(n, s) * step_of(n) // grain, 1) * grain


# -- the work of a loop, in additions


def _work_of_range(n: Splittable, lo: str, hi: str, s: Scope) -> str:
    """The work of all iterations from `lo` to `hi`, as a C double."""
    return f"(double)({hi} - {lo}) * ({_work(work_of(n), s)}) * {1 / advance(n)!r}"


def _work(work: Work, s: Scope) -> str:
    """`work` as a C double."""
    terms = [repr(work.constant)]
    terms += [f"{_trips(part, s)} * ({_work(part.work, s)})" for part in work.inner]
    return " + ".join(terms)


def _trips(part: InnerWork, s: Scope) -> str:
    """How often the body of a loop in the region runs, as a C double."""
    if part.trips is not None:
        return repr(part.trips)
    assert isinstance(part.loop, Splittable)
    start, end = range_bounds(part.loop.range)
    return f"(double)({expr(end, s)} - {expr(start, s)}) * {1 / advance(part.loop)!r}"
