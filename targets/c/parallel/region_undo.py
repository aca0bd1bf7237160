"""Parallel loops that are put back where they stop, as C: a chunk saves what it is to overwrite.

    for i in parallel_undo_loop(lo, hi): check(...); out[i] = …      →      beside tp_part_0,

    tp_copy_0(…, first, last, block, back)    copies out[first … last - 1] to a block, or back

If a check fails, the kernel stops, and Python runs the call again. But Python may raise before it
reaches iterations that other threads have run meanwhile. So a chunk saves the elements that it is
going to store. When the region has stopped, the elements of all chunks behind the first one that
has not ended are put back. What the chunks before it have stored stays: Python writes the same
again, as after a run by one thread. So once all chunks before it have ended, a chunk saves
nothing more, and drops what it has saved (`parallel_undo.h`). Chunks are claimed in ascending
order, so that this is soon: with two threads a chunk saves about half of what it stores.
"""
from __future__ import annotations

from collections.abc import Iterator

from loopir import nodes as ir
from loopir.analysis.parallelism import Splittable
from loopir.analysis.undoable_stores import stores_to_undo
from loopir.dtypes import DTYPES
from loopir.status_bits import STATUS

from ..c_expressions import element
from ..c_scope import Scope

__all__ = ["copy_function", "run_with_undo", "saved_bytes", "step_of", "undo_lines"]

_SAVED_BEFORE_RUN = 1 << 13
"""About how many bytes a chunk saves at a time, before it runs the iterations that overwrite them
(`_save_block`): so many stay in the first-level cache."""


def step_of(n: Splittable) -> int:
    """The step of the range of `n`."""
    return n.range.step if isinstance(n.range, ir.RangeDesc) else 1


def _saved_stores(n: Splittable, s: Scope) -> list[ir.Store]:
    """The stores of `n` whose elements are saved, one for each element of an iteration; those of
    the largest elements first, so that all copies are aligned.
    """
    assert s.kernel is not None
    places = {(x.array, x.index): x for x in stores_to_undo(n, s.kernel)}
    return sorted(places.values(), key=lambda x: -DTYPES[s.arrays[x.array].dtype].bytes)


def saved_bytes(n: Splittable, s: Scope) -> int:
    """The number of bytes that are saved for one iteration."""
    return sum(DTYPES[s.arrays[x.array].dtype].bytes for x in _saved_stores(n, s))


def copy_function(n: Splittable, s: Scope) -> list[str]:
    """The body of `tp_copy` for the loop `n`, after the kernel's parameters. `s`: the scope of a
    function for a part, with the loop's variable not yet bound. If an iteration stores an integer
    m[i] and a float out[i]::

        const int64_t tp_count = (tp_last - tp_first + 0) / 1;         iterations: 1 is their step
        int64_t *const tp_kept_0 = (int64_t *)tp_block;                their elements of m, then …
        double *const tp_kept_1 = (double *)(tp_kept_0 + tp_count);    … of out
        if (tp_back)
        for (int64_t i = tp_first, tp_k = 0; tp_k < tp_count; i += 1, tp_k++) {
            m[i] = tp_kept_0[tp_k];
            out[i] = tp_kept_1[tp_k];
        }
        else
        for (int64_t i = tp_first, tp_k = 0; tp_k < tp_count; i += 1, tp_k++) {
            tp_kept_0[tp_k] = m[i];
            tp_kept_1[tp_k] = out[i];
        }

    `_definitions` prints it; `_copy_call` is a call of it.
    """
    inner, step = s.inner(), step_of(n)
    i = inner.bind(n.var)
    lines = [f"const int64_t tp_count = (tp_last - tp_first + {step - 1}) / {step};"]
    saved, before = list[tuple[str, str]](), "tp_block"
    for k, x in enumerate(_saved_stores(n, s)):
        kind = DTYPES[s.arrays[x.array].dtype].c
        lines.append(f"{kind} *const tp_kept_{k} = ({kind} *){before};")
        before = f"(tp_kept_{k} + tp_count)"
        saved.append((f"tp_kept_{k}[tp_k]", element(x.array, x.index, inner)))
    head = f"for (int64_t {i} = tp_first, tp_k = 0; tp_k < tp_count; {i} += {step}, tp_k++) {{"
    lines += ["if (tp_back)", head, *(f"{place} = {kept};" for kept, place in saved), "}"]
    lines += ["else", head, *(f"{kept} = {place};" for kept, place in saved), "}"]
    return lines


def _save_block(n: Splittable, grain: int, s: Scope) -> int:
    """How many iterations a chunk first saves the elements of, and then runs, at a time: whole
    grains, and a multiple of 16 iterations, so that the copies of each array are aligned.
    """
    least = 16 * grain
    return max(_SAVED_BEFORE_RUN // saved_bytes(n, s) * step_of(n) // least, 1) * least


def _copy_call(number: int, n: Splittable, given: str, room: str, s: Scope) -> str:
    """The start of the C call of `tp_copy` for the iterations from ``begin`` to ``end - 1`` (C
    variables), whose copies are in `room`. The caller appends the last argument: 0 to save the
    elements, 1 to put them back.
    """
    place = f"(char *)({room} + 1) + (begin - {room}->first) / {step_of(n)} * {saved_bytes(n, s)}"
    return f"tp_copy_{number}({given}, begin, end, {place}, "


def run_with_undo(
    number: int, n: Splittable, grain: int, whole_range: Iterator[str], s: Scope
) -> Iterator[str]:
    """The body of `tp_run` for a loop that may have to be put back: the lines ``whole_range`` for a
    call with the whole range; else a chunk alternates between saving the elements that a block of
    iterations is going to store, and running the block, which then finds these elements in the
    cache. Once all chunks before it have ended, it saves nothing more. Without memory for the
    copies the region stops, and one thread runs what is left of its range (`undo_lines`).
    """
    given, replay = "arrays, scalars, captured", STATUS["replay"]
    bytes_ = f"((last - first) / {step_of(n)} + 1) * {saved_bytes(n, s)}"
    yield f"struct tp_captured_{number} *const shared = captured;"
    yield from whole_range
    yield "tp_saved *room;"
    yield "int64_t status = 0;"
    yield f"if (!tp_begin_chunk(&shared->tp_undo, first, last, {bytes_}, &room))"
    yield "    return TP_NO_ROOM;"
    yield f"for (int64_t begin = first, end; begin < last && !(status & {replay}); begin = end) {{"
    yield "const int must_save = tp_must_save(&shared->tp_undo, room);"
    save = _save_block(n, grain, s)
    yield f"end = must_save && last - begin > {save} ? begin + {save} : last;"
    yield f"if (must_save) {_copy_call(number, n, given, 'room', s)}0), room->saved = end;"
    yield f"status |= tp_part_{number}({given}, begin, end);"
    yield "}"
    yield f"if (!(status & {replay})) tp_end_chunk(&shared->tp_undo, room, last);"
    yield "return status;"


def undo_lines(
    number: int, n: Splittable, grain: int, captured: str, run: str, given: str,
    ends: tuple[str, str], s: Scope,
) -> Iterator[str]:
    """The call `run` of the region in the body of the kernel, and what follows it:

    - if the region was stopped, the elements that chunks have saved are put back;
    - the memory of the copies is freed;
    - if there was no memory for copies, this thread runs what is left of the range.
    """
    replay, undo = STATUS["replay"], f"{captured}.tp_undo"
    yield f"{undo}.ended = {ends[0]};"
    yield f"int64_t tp_result = {run};"
    yield f"if (tp_result & ({replay} | TP_NO_ROOM))"
    yield f"for (tp_saved *room = {undo}.begun; room; room = room->next)"
    yield "for (int64_t begin = room->first, end; begin < room->saved; begin = end) {"
    save = _save_block(n, grain, s)
    yield f"end = room->saved - begin > {save} ? begin + {save} : room->saved;"
    yield f"{_copy_call(number, n, given, 'room', s)}1);"
    yield "}"
    yield f"tp_free_saved({undo}.begun), tp_free_saved({undo}.spare);"
    yield f"if (tp_result & TP_NO_ROOM && !(tp_result & {replay}))"
    yield f"    tp_result |= tp_part_{number}({given}, {undo}.ended, {ends[1]});"
    yield "status |= tp_result & ~TP_NO_ROOM;"
