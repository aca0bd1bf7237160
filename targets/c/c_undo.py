"""Undo of parallel loops as C: a chunk saves the elements that it is going to store.

    for i in parallel_undo_loop(lo, hi): check(...); out[i] = …      →      beside `tp_part_0`,

    tp_copy_0(…, first, last, block, back)    copies out[first … last - 1] to a block, or back

A check that fails ends the loop, and Python runs the call again. Until then other threads have run
iterations that Python may not reach, since it raises. So each chunk saves before it runs, and when
the region has stopped all of them are put back: then the arrays are as before the loop. A run of
the whole range by one thread saves nothing: what it has written Python writes again.
"""
from __future__ import annotations

from collections.abc import Iterator

from loopir import nodes as ir
from loopir.analysis.parallelism import Splittable
from loopir.analysis.undoable_stores import stores_to_undo
from loopir.dtypes import DTYPES
from loopir.op_table import STATUS

from .c_expressions import element
from .c_scope import Scope

__all__ = ["copy_function", "fits_in_memory", "run_with_undo", "undo_lines"]

_MOST_SAVED = 1 << 27
"""Bytes that a region may save, as of 16 million floats. Larger loops run serially, so
that no call needs much more memory than the arrays that it was given."""


def _step(n: Splittable) -> int:
    return n.range.step if isinstance(n.range, ir.RangeDesc) else 1


def _targets(n: Splittable, s: Scope) -> list[ir.Store]:
    """The stores, the largest elements first, so that each is aligned; each element once."""
    assert s.kernel is not None
    places = {(x.array, x.index): x for x in stores_to_undo(n, s.kernel)}
    return sorted(places.values(), key=lambda x: -DTYPES[s.arrays[x.array].dtype].bytes)


def _bytes(n: Splittable, s: Scope) -> int:
    """Of what one iteration stores."""
    return sum(DTYPES[s.arrays[x.array].dtype].bytes for x in _targets(n, s))


def fits_in_memory(n: Splittable, lo: str, hi: str, s: Scope) -> str:
    """The test, in C, that the loop from `lo` to `hi` may save all that it stores."""
    return f"({hi} - {lo}) <= {_MOST_SAVED // _bytes(n, s) * _step(n)}"


def copy_function(n: Splittable, s: Scope) -> list[str]:
    """The body of `tp_copy`, but for the parameters of the kernel. `s`: that of a function for a
    part, with the loop's variable not yet bound.
    """
    inner, step = s.inner(), _step(n)
    i = inner.bind(n.var)
    lines = [f"const int64_t tp_count = (tp_last - tp_first + {step - 1}) / {step};"]
    saved, before = list[tuple[str, str]](), "tp_block"
    for k, x in enumerate(_targets(n, s)):
        kind = DTYPES[s.arrays[x.array].dtype].c
        lines.append(f"{kind} *const tp_kept_{k} = ({kind} *){before};")
        before = f"(tp_kept_{k} + tp_count)"
        saved.append((f"tp_kept_{k}[tp_k]", element(x.array, x.index, inner)))
    head = f"for (int64_t {i} = tp_first, tp_k = 0; tp_k < tp_count; {i} += {step}, tp_k++) {{"
    lines += ["if (tp_back)", head, *(f"{place} = {kept};" for kept, place in saved), "}"]
    lines += ["else", head, *(f"{kept} = {place};" for kept, place in saved), "}"]
    return lines


def run_with_undo(number: int, n: Splittable, arguments: str, s: Scope) -> Iterator[str]:
    """The body of `tp_run`: a chunk saves, is noted in the region, and runs. Without memory the
    region stops, and its range is run again by one thread.
    """
    part = f"*status |= tp_part_{number}({arguments}, first, last);"
    place = f"&((struct tp_captured_{number} *)region)->tp_chunks"
    bytes_ = f"((last - first) / {_step(n)} + 1) * {_bytes(n, s)}"
    yield "if (first == region->first && last == region->last) {"
    yield part
    yield "return;"
    yield "}"
    yield f"tp_saved *const saved = tp_room(first, last, {bytes_});"
    yield "if (!saved) {"
    yield "*status |= TP_NO_ROOM;"
    yield "return;"
    yield "}"
    yield f"tp_copy_{number}({arguments}, first, last, (char *)(saved + 1), 0);"
    yield f"tp_note_saved({place}, saved);"
    yield part


def undo_lines(
    number: int, region: str, arguments: str, ends: tuple[str, str]
) -> Iterator[str]:
    """The run of the region in the body of the kernel, and what follows it: all chunks put back if
    it was stopped, their memory freed, the whole range run by this thread if that did not suffice.
    """
    replay = STATUS["replay"]
    yield f"int64_t tp_result = tp_run_region(&{region}.region);"
    yield f"for (tp_saved *saved = {region}.tp_chunks, *next; saved; saved = next) {{"
    yield "next = saved->next;"
    yield f"if (tp_result & ({replay} | TP_NO_ROOM))"
    yield (
        f"    tp_copy_{number}({arguments}, saved->first, saved->last, (char *)(saved + 1), 1);"
    )
    yield "__builtin_free(saved);"
    yield "}"
    yield f"if (tp_result & TP_NO_ROOM && !(tp_result & {replay}))"
    yield f"    tp_result |= tp_part_{number}({arguments}, {ends[0]}, {ends[1]});"
    yield "status |= tp_result & ~TP_NO_ROOM;"
