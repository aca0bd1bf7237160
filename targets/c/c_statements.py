"""Statements of legal IR as C: scalar ones, loops, branches, and those on lanes of a register.

`emit_block` walks a block. It takes several scopes where interleaved registers share a loop or
branch: the code of each statement is emitted once for each. `vector_statement` emits stores,
appends and checks in the active lanes. Vector loops are in `c_vector_loops`.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loopir import nodes as ir
from loopir.algebra.may_raise import may_raise_flags
from loopir.dtypes import DTYPES, INDEX
from loopir.ir_traversal import source_line
from loopir.lazy_dataclass import replace
from loopir.nodes import assert_never

from ..isa.target import Vec, mask_type, storage_type
from ..legalization.vector_cost_model import are_interleaved_stores
from .c_expressions import bit_index, element, element_pointer, expr, lane_stride, stored_bools
from .c_regions import can_emit_region, emit_region
from .c_scans import emit_prefix
from .c_scope import Scope
from .c_text import (
    c_type,
    force_computed,
    parallel_assignment,
    parenthesized,
    pin_register,
    strip_parens,
)
from .c_vector_loops import vector_loop
from .fp_exceptions import final_value_accumulators
from .interrupt_polls import (
    Tally,
    chunk_end,
    chunk_start,
    copies_of_body,
    count_down,
    poll_if_long,
)
from .lane_masks import any_lane, mask_and, mask_bits, mask_not, mask_to_width
from .loop_shape import RowCollapse, is_left, is_unrolled, row_collapse

__all__ = [
    "declare_accumulators", "loop_end", "loop_latch", "force_unread", "is_thread_local",
    "loop_header",
    "update_accumulators",
    "store_pair", "vector_statement", "emit_block", "line_comment",
]


def force_unread(bound: Iterable[ir.Accum | ir.Yield], s: Scope) -> Iterator[str]:
    """Barriers for the values of accumulators or yields that may raise a flag, but that a C
    compiler need not compute (`Scope.flagging`).
    """
    for x in bound:
        if x.name in s.flagging:
            yield force_computed(s.names[x.name], x.init if isinstance(x, ir.Accum) else x.then, s)


def loop_header(
    n: ir.Loop | ir.Zip | ir.Scan, s: Scope, inner: Scope, collapse: RowCollapse | None = None
) -> Iterator[str]:
    """The ``for`` line of a loop, whose variable is bound in `inner`. If the loop polls, it is
    split (`interrupt_polls`): the lines around its chunks, and the ``for`` line of a chunk. With a
    `collapse`, an iteration runs several rows.
    """
    var, rng = n.var, n.range
    match rng:
        case ir.Interval(lo, hi):
            start, stop, sign, step = expr(lo, s), expr(hi, s), "<", 1
        case ir.RangeDesc(lo, hi, step):
            start, stop, sign = expr(lo, s), expr(hi, s), "<" if step > 0 else ">"
        case _:
            assert_never(rng)
    end, i = inner.fresh(f"{var}_end"), inner.bind(var)
    first = f"int64_t {i} = {strip_parens(start)}, {end} = {strip_parens(stop)}"
    inner.leave, inner.end_chunk = "break", ""
    poll, head = s.polls.get(n), "TP_UNROLL for" if is_unrolled(n, s) else "for"
    advance = f"{i} += {step if collapse is None else collapse.rows}"
    if poll is None:
        yield f"{head} ({first}; {i} {sign} {end}; {advance}) {{"
        yield from ([collapse.at_start(i, end)] if collapse is not None else [])
        return
    stop = inner.fresh(f"{var}_stop")
    inner.end_chunk = f"{stop} = {i};"
    inner.names[f"{var}.end"] = end
    yield "{"
    if is_left(n):
        inner.leave = "goto tp_left"  # ``break`` would only leave the chunk
        yield "__label__ tp_left;"
    yield f"{first};"
    yield f"if ({i} {sign} {end}) for (;;) {{"
    yield from chunk_start(i, end, stop, step, poll)
    yield f"{head} (; {i} {sign} {stop}; {advance}) {{"
    yield from ([collapse.at_start(i, stop)] if collapse is not None else [])


def loop_end(n: ir.Loop | ir.Zip | ir.Scan, s: Scope, inner: Scope) -> Iterator[str]:
    """The lines that close what `loop_header` has opened."""
    poll = s.polls.get(n)
    yield "}"
    if poll is not None:
        i, end = inner.names[n.var], inner.names[f"{n.var}.end"]
        sign = ">" if isinstance(n.range, ir.RangeDesc) and n.range.step < 0 else "<"
        yield from chunk_end(f"{i} {sign} {end}", poll)
        yield from (["tp_left:;"] if is_left(n) else [])
        yield "}"


def declare_accumulators(accs: Iterable[ir.Accum], s: Scope) -> Iterator[str]:
    """Declare accumulators; all initial values are evaluated before the names are bound."""
    starts = [(a.name, c_type(a.init, s.target), strip_parens(expr(a.init, s))) for a in accs]
    for name, kind, start in starts:
        yield f"{kind} {s.bind(name)} = {start};"


def loop_latch(n: ir.Loop | ir.While, *scopes: Scope) -> Iterator[str]:
    """The end of an iteration: accumulator updates, and a barrier for each that may raise a flag,
    if only its last value matters (`final_value_accumulators`).
    """
    yield from update_accumulators(n.accs, *scopes)
    last = final_value_accumulators(n)
    for a in n.accs:
        if a.name in last and may_raise_flags(a.step):
            yield from (force_computed(s.use(a.name), a.init, s) for s in scopes)


def update_accumulators(accs: Iterable[ir.Accum], *scopes: Scope) -> Iterator[str]:
    """Update the accumulators of each scope's register, all in parallel: every step reads the old
    values.
    """
    new = [
        (s.use(a.name), c_type(a.step, s.target), strip_parens(expr(a.step, s)))
        for a in accs for s in scopes
    ]
    yield from parallel_assignment(new, scopes[0].fresh)


def vector_statement(n: ir.Store | ir.Append | ir.Check, s: Scope) -> str:
    """The statement for the active lanes of the scope's register."""
    match n:
        case ir.Store():
            return _store(n, s)
        case ir.Append():
            return _append(n, s)
        case ir.Check():
            return _check(n, s)
        case _:
            return assert_never(n)


def _active_mask(mask: ir.Expr | None, lanes: int, s: Scope) -> str | None:
    """The mask of the lanes that are active and for which `mask` holds; None: all lanes."""
    assert s.vector
    return mask_and((s.vector.active_mask, expr(mask, s) if mask else None), lanes, s.target)


def _storage_value(value: ir.Expr, s: Scope) -> tuple[Vec, str]:
    """The vector `value` as it is stored, and its type in memory: bools become bytes."""
    assert isinstance(value.lanes, int)
    text = stored_bools(value, s) if value.dtype == "bool" else expr(value, s)
    return storage_type(value.dtype, value.lanes), text


def _store_bits(n: ir.Store, s: Scope) -> str:
    """A store of lanes to a packed bool array."""
    lanes = n.value.lanes
    assert isinstance(lanes, int)
    address = f"{s.use(n.array)}, {bit_index(n.array, n.index, s)}"
    value, active = mask_bits(expr(n.value, s), lanes, s.target), _active_mask(n.mask, lanes, s)
    lane_bits = "~(uint64_t)0" if active is None else mask_bits(active, lanes, s.target)
    if (stride := lane_stride(n.array, n.axis, n.step, s)) != "1":
        return f"tp_spreadbits_bool({address}, {stride}, {value}, {lane_bits}, {lanes});"
    if active is None:
        return f"tp_putbits_bool({address}, {value}, {lanes});"
    return f"tp_maskbits_bool({address}, {value}, {lane_bits}, {lanes});"


def _store(n: ir.Store, s: Scope) -> str:
    """The vector store `n` as C, in the active lanes: those of its mask, of the loop's predicate,
    and, in the remainder, before the end of the loop (`_active_mask`).

    ===================  =========  ==============================  ============================
    lanes go along       step       all lanes active                some are not
    ===================  =========  ==============================  ============================
    the unit axis        1          a store of a register; past     ``tp_storemask``
                                    the caches, if ``streamed``
    the unit axis        -1         the lanes reversed, and stored  ``tp_storemaskdown``
    the unit axis        2          ``tp_everyother``: blended      ``tp_scatter``
                                    into whole registers
    any other axis or step          ``tp_spread``: lane by lane     ``tp_scatter``
    ===================  =========  ==============================  ============================

    The headers define these functions for each target: ``tp_storemask`` is one instruction on
    AVX-512, and on AVX2 for lanes of 32 and 64 bits (`avx2.h`); elsewhere it stores lane by lane
    (`vector.h`), and so does ``tp_storemaskdown``, which else reverses the lanes and the mask.
    Lanes of 8 and 16 bits under masks that are lanes have ``tp_scatter`` for both, but for the
    first lanes side by side: ``tp_storepart``. A packed bool array has its own forms
    (`_store_bits`).
    """
    if n.array in s.bits:
        return _store_bits(n, s)
    v, text = _storage_value(n.value, s)
    active = _active_mask(n.mask, v.lanes, s)
    address = element_pointer(n.array, n.index, s)
    step_on_unit_axis = n.step if s.arrays[n.array].unit == n.axis else None
    stride = lane_stride(n.array, n.axis, n.step, s)
    if active:
        has_masked_stores = s.target.masks == "bits" or DTYPES[v.dtype].bits >= 32
        if step_on_unit_axis in (1, -1) and has_masked_stores:
            mask = mask_to_width(active, v.lanes, DTYPES[v.dtype].bits, s.target)
            function = "tp_storemask" if step_on_unit_axis == 1 else "tp_storemaskdown"
            return f"{function}_{v.name}({address}, {text}, {mask});"
        if step_on_unit_axis == 1 and s.vector and active == s.vector.element_mask:
            return f"tp_storepart_{v.name}({address}, {text}, {s.vector.count});"
        bits = mask_bits(active, v.lanes, s.target)
        return f"tp_scatter_{v.name}((char *)({address}), {stride}, {text}, {bits});"
    if step_on_unit_axis == 1 and s.vector and s.vector.streamed == n:
        output = f'"=m"(*({v.name} *)({address}))'
        input_ = f'"{s.target.register}"({strip_parens(text)})'
        return f'__asm__ volatile("{s.target.stream} %1, %0" : {output} : {input_});'
    if step_on_unit_axis == 1:
        return f"*({v.name}_u *)({address}) = {strip_parens(text)};"
    if step_on_unit_axis == -1:
        return f"*({v.name}_u *)({address} - {v.lanes - 1}) = tp_reverse_{v.name}({text});"
    if step_on_unit_axis == 2:
        return f"tp_everyother_{v.name}({address}, {text});"
    return f"tp_spread_{v.name}((char *)({address}), {stride}, {text});"


def store_pair(first: ir.Store, then: ir.Store, s: Scope) -> str:
    """The statement for two stores that fill both halves of pairs (`are_interleaved_stores`)."""
    (v, a), (_, b) = _storage_value(first.value, s), _storage_value(then.value, s)
    active = _active_mask(first.mask, v.lanes, s)
    address = f"(char *)({element_pointer(first.array, first.index, s)})"
    stride = lane_stride(first.array, first.axis, first.step, s)
    if active is None:
        return f"tp_spread2_{v.name}({address}, {stride}, {a}, {b});"
    bits = mask_bits(active, v.lanes, s.target)
    return f"tp_scatter2_{v.name}({address}, {stride}, {a}, {b}, {bits});"


def _append(n: ir.Append, s: Scope) -> str:
    """An append of the active lanes: they are written side by side at the counter (AVX-512: a
    compress store), which advances by their number::

        k += tp_append_f64x8(out + k, value, mask);

    ``tp_append`` may write a whole register, since the buffer of a list has room behind its items;
    ``tp_appendonly``, of an array of the caller (`ir.Append.only`), writes the active lanes alone,
    and so does ``tp_appendwithin``, of a new one, at the end of it (`ir.Append.blank`).
    """
    if s.counts_only:
        return _counted(n, s)
    v, text = _storage_value(n.value, s)
    active = _active_mask(n.mask, v.lanes, s) or f"tp_fill_{mask_type(s.target, v.lanes)}(1)"
    address = element_pointer(n.array, (ir.Var(n.count, INDEX),), s)
    mask = mask_to_width(active, v.lanes, DTYPES[v.dtype].bits, s.target)
    if n.blank:
        left = f"{expr(ir.Dim(n.array, 0), s)} - {s.use(n.count)}"
        args = f"{address}, {text}, {mask}, {left}"
        return f"{s.use(n.count)} += tp_appendwithin_{v.name}({args});"
    function = "tp_appendonly" if n.only else "tp_append"
    return f"{s.use(n.count)} += {function}_{v.name}({address}, {text}, {mask});"


def _counted(n: ir.Append, s: Scope) -> str:
    """What an append adds to its counter, without the store."""
    assert isinstance(n.value.lanes, int)
    active = _active_mask(n.mask, n.value.lanes, s)
    if active is None:
        return f"{s.use(n.count)} += {n.value.lanes};"
    bits = mask_bits(active, n.value.lanes, s.target)
    return f"{s.use(n.count)} += __builtin_popcountll({bits});"


def _check(n: ir.Check, s: Scope) -> str:
    """A check that sets the status if it fails in an active lane."""
    assert s.vector
    assert isinstance(n.cond.lanes, int)
    lanes = n.cond.lanes
    failed = mask_not(expr(n.cond, s), lanes, s.target)
    failed = mask_and((s.vector.active_mask, failed), lanes, s.target) or failed
    return f"if ({any_lane(failed, lanes, s.target)}) {s.failed(n)}"


_ON_STACK = 4096
"""Largest local array in bytes that is put on the stack, which may be small in threads."""


def is_thread_local(n: ir.Local) -> bool:
    """Whether the local array `n` is too large for the stack, and so a thread-local variable, which
    all calls of the kernel in one thread share. `emit_entry` makes such kernels run one at a time.
    """
    return n.length * _row_length(n) * DTYPES[n.dtype].bytes > _ON_STACK


def _row_length(n: ir.Local) -> int:
    """The number of elements in a row of a local array."""
    length = 1 if n.lanes is None else n.lanes
    assert isinstance(length, int)
    return length


def emit_block(body: Iterable[ir.Stmt], *scopes: Scope) -> Iterator[str]:
    """The lines of `body`, for each register that `scopes` describe: each statement is printed once
    a register, but a loop or branch once, with all registers in it.
    """
    remaining = list(body)
    while remaining:
        statement = remaining.pop(0)
        yield from line_comment(statement, scopes[0])
        if not isinstance(statement, (ir.Assign, ir.Check, ir.Prefix, ir.Store, ir.Append)):
            _forget_loads(scopes)
        if (tally := scopes[0].tallies.get(statement)) and not isinstance(statement, ir.While):
            yield _count_run(statement, tally, scopes[0])
        match statement:
            case ir.Store() if remaining and are_interleaved_stores(
                statement, remaining[0], scopes[0].arrays
            ):
                second = remaining.pop(0)
                assert isinstance(second, ir.Store)
                yield from (store_pair(statement, second, s) for s in scopes)
            case ir.If():
                yield from _if(statement, scopes)
            case ir.Loop() | ir.VecLoop() | ir.PredLoop() if can_emit_region(statement, scopes):
                yield from emit_region(statement, scopes[0], emit_block)
            case ir.Loop():
                yield from _counted_loop(statement, scopes)
            case ir.While():
                yield from _while(statement, scopes)
            case _:
                for s in scopes:
                    yield from _statement(statement, s)
        if not isinstance(statement, (ir.Assign, ir.Check, ir.Prefix)):
            _forget_loads(scopes)


def _count_run(n: ir.Stmt, tally: Tally, s: Scope) -> str:
    """The statement before a counted loop that adds its work to the sum (`poll_if_long`)."""
    assert isinstance(n, ir.Loop | ir.VecLoop | ir.PredLoop | ir.Zip | ir.Scan)
    match n.range:
        case ir.Interval(lo, hi):
            pass
        case ir.RangeDesc(lo, hi, step):
            lo, hi = (lo, hi) if step > 0 else (hi, lo)
        case _:
            assert_never(n.range)
    length, first = parenthesized(expr(hi, s)), tally.start or lo
    if not (isinstance(first, ir.Const) and first.value == 0):
        length = f"(int64_t)((uint64_t){length} - (uint64_t){parenthesized(expr(first, s))})"
    return poll_if_long(length, tally, "" if s.stops else s.end_chunk)


def line_comment(n: ir.Node | None, s: Scope) -> Iterator[str]:
    """A C comment with the Python source line of `n`, from which the next lines of C are made; line
    0 if `n` is None. Nothing unless the scope is ``marked``.
    """
    if s.marked:
        line = 0 if n is None else source_line(n)
        yield f"/* line {line} */"


def _forget_loads(scopes: Iterable[Scope]) -> None:
    """Forget which loads are in a C variable: the statement before may have written memory, or the
    next one is in another C block.
    """
    for s in scopes:
        s.loaded.clear()


def _inner_scopes(scopes: Sequence[Scope]) -> list[Scope]:
    """The scopes of one nested C block, one for each of `scopes`."""
    first, *others = scopes
    inner = first.inner()
    return [inner, *(replace(s.inner(), taken=inner.taken) for s in others)]


def _statement(n: ir.Stmt, s: Scope) -> Iterator[str]:
    """The lines of a statement; vector loops are emitted by `c_vector_loops`."""
    match n:
        case ir.VecLoop() | ir.PredLoop():
            yield from vector_loop(n, s, emit_block)
        case ir.Store(value=x) | ir.Append(value=x) | ir.Check(cond=x) if x.lanes != 1:
            yield vector_statement(n, s)
        case ir.Local():
            yield from _local(n, s)
        case ir.Bits():
            _bit_array(n, s)
        case ir.Assign(name, ir.Load() as x) if x in s.loaded:
            s.names[name] = s.loaded[x]
        case ir.Assign(name, ir.Load() as x) if x.lanes != 1 and x.dtype != "bool":
            text = strip_parens(expr(x, s))
            c = s.bind(name)
            yield f"{c_type(x, s.target)} {c} = {text};"
            yield pin_register(c, x, s)
        case ir.Assign(name, value):
            text = strip_parens(expr(value, s))
            c = s.bind(name)
            yield f"const {c_type(value, s.target)} {c} = {text};"
            if name in s.flagging:
                yield force_computed(c, value, s)
        case ir.Store(value=x) | ir.Append(value=x) if (
            (n.mask is not None or n in s.overwriting) and may_raise_flags(x)
        ):
            name = s.fresh("value")
            yield f"const {c_type(x, s.target)} {name} = {strip_parens(expr(x, s))};"
            yield force_computed(name, x, s)
            s.names[name] = name
            yield from _statement(replace(n, value=ir.Var(name, x.dtype)), s)
        case ir.Store(array, index, value, mask) if array in s.bits:
            operands = (
                f"{s.use(array)}, {bit_index(array, index, s)}, {strip_parens(expr(value, s))}"
            )
            yield from _under_mask(mask, [f"tp_putbit_bool({operands});"], s)
        case ir.Store(array, index, value, mask):
            yield from _under_mask(
                mask, [f"{element(array, index, s)} = {strip_parens(expr(value, s))};"], s
            )
        case ir.Prefix():
            yield from emit_prefix(n, s)
        case ir.Append(array, count, value, mask):
            target_element = element(array, (ir.Var(count, INDEX),), s)
            append_lines = [
                *([] if s.counts_only else [f"{target_element} = {strip_parens(expr(value, s))};"]),
                f"{s.use(count)}++;",
            ]
            yield from _under_mask(mask, append_lines, s)
        case ir.Check(cond):
            yield s.unless(n, parenthesized(expr(cond, s)))
        case ir.Break(cond):
            yield f"if {parenthesized(expr(cond, s))} {s.leave};"
        case ir.Return():
            yield "return status;"
        case ir.Zip() | ir.Scan():
            yield from _loop(n, s)
        case ir.If() | ir.Loop() | ir.While():
            yield from emit_block((n,), s)
        case _:
            assert_never(n)


def _local(n: ir.Local, s: Scope) -> Iterator[str]:
    """Declare a local array, in row-major order: on the stack, or thread-local
    (`is_thread_local`).
    """
    kind, c, row_length = DTYPES[n.dtype], s.bind(n.name), _row_length(n)
    s.arrays = {**s.arrays, n.name: n.param}
    s.names[f"{n.name}.s0"] = str(row_length * kind.bytes)
    alignment = f"__attribute__((aligned({max(s.target.bits // 8, kind.bytes)})))"
    if not is_thread_local(n):
        yield f"{kind.c} {c}[{n.length * row_length}] {alignment};"
        return
    storage = s.fresh(f"{c}_room")
    yield f"static _Thread_local {kind.c} {storage}[{n.length * row_length}] {alignment};"
    yield f"{kind.c} *{c} = {storage};"
    yield f'__asm__("" : "+r"({c}));'  # else gcc recomputes the TLS address in loops


def _bit_array(n: ir.Bits, s: Scope) -> None:
    """Bind the name of a packed bool array, whose memory is that of the byte array ``n.array``."""
    p = s.arrays[n.array]
    s.arrays, s.bits = {**s.arrays, n.name: p}, s.bits | {n.name}
    s.names[n.name] = s.use(n.array)
    for k in range(p.rank or 0):
        s.names[f"{n.name}.s{k}"] = s.use(f"{n.array}.s{k}")


def _under_mask(mask: ir.Expr | None, lines: list[str], s: Scope) -> Iterator[str]:
    """`lines`, in a branch on `mask` if there is one."""
    if mask is None:
        yield from lines
        return
    yield f"if {parenthesized(expr(mask, s))} {{"
    yield from lines
    yield "}"


def _if(n: ir.If, scopes: Sequence[Scope]) -> Iterator[str]:
    """A branch, whose condition is the same for all of `scopes`; its yields are C variables that
    both sides assign.
    """
    results = [(y, [s.fresh(y.name) for s in scopes]) for y in n.yields]
    first, then, orelse = scopes[0], _inner_scopes(scopes), _inner_scopes(scopes)
    for y, names in results:
        yield from (f"{c_type(y.then, first.target)} {c};" for c in names)
    yield f"if {parenthesized(expr(n.cond, first))} {{"
    yield from emit_block(n.then, *then)
    for y, names in results:
        yield from (
            f"{c} = {strip_parens(expr(y.then, s))};" for c, s in zip(names, then, strict=True)
        )
    if n.orelse or n.yields:
        yield "} else {"
        yield from emit_block(n.orelse, *orelse)
        for y, names in results:
            pairs = zip(names, orelse, strict=True)
            yield from (f"{c} = {strip_parens(expr(y.orelse, s))};" for c, s in pairs)
    yield "}"
    for k, s in enumerate(scopes):
        s.names.update((y.name, names[k]) for y, names in results)
        yield from force_unread(n.yields, s)


def _counted_loop(n: ir.Loop, scopes: Sequence[Scope]) -> Iterator[str]:
    """A counted loop with its accumulators, which all registers of `scopes` share. If it is a part
    of a parallel search, it ends behind the lowest iteration with a hit of any part (`tp_hit`), and
    notes its own hit there.
    """
    for s in scopes:
        yield from declare_accumulators(n.accs, s)
    has_lanes = len(scopes) == 1 and any(isinstance(x, ir.VecLoop) for x in n.body)
    collapse = row_collapse(n, scopes[0]) if has_lanes else None
    if collapse is not None:
        yield collapse.before
        n = collapse.loop
    inner = _inner_scopes(scopes)
    inner[0].enter_loop(of_blocks=isinstance(n.range, ir.RangeDesc) and n.range.step >= _LONG_BLOCK)
    yield from loop_header(n, scopes[0], inner[0], collapse)
    for s in inner[1:]:
        s.names[n.var], s.leave = inner[0].names[n.var], inner[0].leave
    is_shared, i = n is scopes[0].search, inner[0].names[n.var]
    if is_shared:
        yield f"if ({i} > TP_PEEK(tp_hit)) {inner[0].leave};"
    yield from emit_block(n.body, *inner)
    yield from loop_latch(n, *inner)
    if n.until is not None:
        note = f"tp_note_hit(tp_hit, {i}); " if is_shared else ""
        leave = f"{{ {note}{inner[0].leave}; }}" if note else f"{inner[0].leave};"
        yield f"if {parenthesized(expr(n.until, inner[0]))} {leave}"
    yield from loop_end(n, scopes[0], inner[0])
    for s in scopes:
        yield from force_unread(n.accs, s)


_LONG_BLOCK = 1 << 10
"""Iterations of a block of which there is mostly one (`Scope.enter_loop`)."""


def _while(n: ir.While, scopes: Sequence[Scope]) -> Iterator[str]:
    """A ``while`` loop, which the registers of `scopes` run together as long as the condition holds
    for one of them; the code of the body masks lanes that are done. If it polls, it counts
    iterations down; if it has a tally, its iterations are added after it (`interrupt_polls`).
    """
    for s in scopes:
        yield from declare_accumulators(n.accs, s)
    condition = " || ".join(parenthesized(expr(n.cond, s)) for s in scopes)
    poll, tally = scopes[0].polls.get(n), scopes[0].tallies.get(n)
    if tally is not None:
        counter, before = scopes[0].names[tally.counter], scopes[0].fresh("before")
        yield f"const int64_t {before} = {counter};"
    yield f"while ({condition}) {{"
    for copy in range(1 if poll is None else copies_of_body(n, len(scopes))):
        if copy:
            yield f"if (!({condition})) break;"
        inner = _inner_scopes(scopes)
        for s in inner:
            s.leave, s.in_loop = "break", True
            s.end_chunk = f"{poll.countdown} = 1;" if poll is not None else ""
        yield "{"
        yield from emit_block(n.body, *inner)
        yield from loop_latch(n, *inner)
        yield "}"
    if poll is not None:
        yield from count_down(poll)
    yield "}"
    if tally is not None:
        change = f"__builtin_llabs({counter} - {before})"
        yield poll_if_long(change, tally, "")  # in a kernel with a `while`, checks are exits, too
    for s in scopes:
        yield from force_unread(n.accs, s)


def _loop(n: ir.Zip | ir.Scan, s: Scope) -> Iterator[str]:
    """A zip, as a loop with loads of its streams; or a scan."""
    match n:
        case ir.Zip(var, streams, _, body, accs):
            yield from declare_accumulators(accs, s)
            inner = s.inner()
            yield from loop_header(n, s, inner)
            index = (ir.Var(var, INDEX),)
            reads = [ir.Assign(x.name, ir.Load(x.array, index, x.dtype)) for x in streams]
            yield from emit_block((*reads, *body), inner)
            yield from update_accumulators(accs, inner)
        case ir.Scan(var, _, op, acc, init, value, array):
            running = ir.Var(acc, value.dtype)
            step = ir.Accum(acc, init, ir.Call(op, (running, value), value.dtype))
            yield from declare_accumulators((step,), s)
            inner = s.inner()
            yield from loop_header(n, s, inner)
            yield from update_accumulators((step,), inner)
            yield from emit_block((ir.Store(array, (ir.Var(var, INDEX),), running),), inner)
        case _:
            assert_never(n)
    yield from loop_end(n, s, inner)
    yield from force_unread(getattr(n, "accs", ()), s)
