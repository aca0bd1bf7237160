"""Parallel loops as C: tables of a chunk's own, what a worker's stack has room for, undo."""
from __future__ import annotations

import ctypes

import pytest

from loopir.ir_parser import parse
from loopir.passes.parallel.parallelize import parallelize
from targets.build.build_kernel import build_object
from targets.c.emit_c import emit
from targets.c.headers import read_header
from targets.isa.target_registry import TARGETS


@pytest.mark.parametrize("tables", [1, 4, 5])
def test_as_many_tables_as_the_stack_of_a_worker_holds(tables: int) -> None:
    names = [f"h{n}" for n in range(tables)]
    text = f"def k(k: i64[::1], {', '.join(f'{h}: mut(i64[::1])' for h in names)}):\n"
    arrays = ["k", *names]
    pairs = [(a, b) for n, a in enumerate(arrays) for b in arrays[n + 1 :]]
    text += "".join(f"    disjoint({a}, {b})\n" for a, b in pairs)
    text += "    for i in loop(0, k.shape[0]):\n"
    text += "".join(f"        {h}[k[i]] = {h}[k[i]] + 1\n" for h in names)
    c = emit(parallelize(parse(text)), TARGETS["sse2"])
    assert c.count("tp_own_h0[2048]") == (tables <= 4)
    assert ("tp_run_loop(&" in c) == (tables <= 4)


UNDO = """
#include <stdint.h>
#include <stdlib.h>
static tp_undo undo;
static tp_saved *rooms[100];
int64_t begin(int64_t k)
{
    return tp_begin_chunk(&undo, 10 * k, 10 * k + 10, 80, &rooms[k]) ? (int64_t)rooms[k] : -1;
}
void end(int64_t k) { tp_end_chunk(&undo, rooms[k], 10 * k + 10); }
int64_t ended(void) { return undo.ended; }
void skip_to(int64_t k) { undo.ended = 10 * k; }
int64_t in_use(int64_t spare)
{
    int64_t count = 0;
    for (tp_saved *saved = spare ? undo.spare : undo.begun; saved; saved = saved->next) count++;
    return count;
}
"""


def undo_functions(most: int) -> ctypes.CDLL:
    """With at most so many bytes saved."""
    head = f"#define TP_MOST_SAVED {most}\n#include <stdint.h>\n"
    text = f"{head}{read_header('parallel_undo.h')}{UNDO}"
    c = ctypes.CDLL(build_object(text, ()))
    for name in ("begin", "ended", "in_use"):
        getattr(c, name).restype = ctypes.c_int64
    return c


def test_what_chunks_save_is_kept_until_those_before_have_ended() -> None:
    """In any order of their ends; then its memory serves others. The lowest one saves nothing."""
    c = undo_functions(1000)
    assert c.begin(0) == 0
    rooms = [c.begin(2), c.begin(1), c.begin(3)]
    assert all(room > 0 for room in rooms)
    assert len({*rooms}) == 3
    for k in (2, 3):
        c.end(k)
        assert (c.ended(), c.in_use(0), c.in_use(1)) == (0, 3, 0)
    c.end(0)
    assert (c.ended(), c.in_use(0), c.in_use(1)) == (10, 3, 0)
    assert c.begin(5) > 0  # a gap: chunk 4 was claimed by a thread that has not begun
    c.end(5)
    c.end(1)
    assert (c.ended(), c.in_use(0), c.in_use(1)) == (40, 1, 3)
    assert c.begin(4) == 0
    assert c.begin(6) in rooms
    c.end(4)
    assert (c.ended(), c.in_use(0), c.in_use(1)) == (60, 1, 3)


def test_chunks_save_a_bounded_amount() -> None:
    """While one chunk does not end, those behind it get so much memory and no more; what they have
    dropped serves the next ones.
    """
    c = undo_functions(500)
    for first in range(0, 90, 9):
        assert c.begin(first) == 0
        assert all(c.begin(first + k) > 0 for k in range(1, 7))
        assert c.begin(first + 7) == c.begin(first + 8) == -1
        for k in range(7):
            c.end(first + k)
        assert (c.ended(), c.in_use(0), c.in_use(1)) == (10 * first + 70, 0, 6)
        c.skip_to(first + 9)
