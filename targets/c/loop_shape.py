"""Loop shape: rows that lie one behind the other run as one; short loops are unrolled.

    for i in loop(0, n):                     const int64_t most = a_s0 == m * 8 && m > 0 ? … : 1;
        for j in vec(0, m, width=8):    →    for (i = 0; i < n; i += rows) {
            a[i, j:8] = …                        rows = the lesser of most and n - i;
                                                 const int64_t length = m * rows;
                                                 for (j = 0; length - j >= 8; j += 8) …

The strides decide; `adjoining_rows` says which loops may do so. Nothing is printed twice.
"""
from __future__ import annotations

from typing import Any

from loopir import nodes as ir
from loopir.analysis.adjoining_rows import AdjoiningRows, adjoining_rows
from loopir.dtypes import DTYPES, INDEX
from loopir.ir_traversal import bottom_up, contains, walk, walk_statements
from loopir.lazy_dataclass import record, replace

from .c_expressions import expr
from .c_scope import Scope
from .c_text import parenthesized

__all__ = ["RowCollapse", "is_left", "is_unrolled", "row_collapse"]

_MOST_ELEMENTS = 1 << 20
"""Elements that run as one row, at most: between two rows a kernel may poll for signals."""


_MOST_REPEATED, _LONGEST_REPEATED = 1024, 64
"""Elements of an array that is repeated for several rows, and of one row, at most."""


@record(frozen=True, slots=True)
class RowCollapse:
    """A loop whose rows may run as one, and the C names for it."""

    loop: ir.Loop  # with the length of the long row in place of that of a row
    before: str  # the C statement before the loop
    rows: str  # how many rows an iteration runs
    most: str  # the greatest such number
    length: str  # of the long row
    row_length: str  # of a row, as a C expression

    def at_start(self, i: str, end: str) -> str:
        """The C statements at the start of the iteration `i` of a loop that ends at `end`."""
        return (
            f"{self.rows} = {self.most} < {end} - {i} ? {self.most} : {end} - {i}; "
            f"const int64_t {self.length} = {self.row_length} * {self.rows};"
        )


def row_collapse(n: ir.Loop, s: Scope) -> RowCollapse | None:
    """How the rows of `n` may run as one; None if they must not. Names are bound in `s`."""
    adjoining = adjoining_rows(n, s.kernel) if s.kernel is not None else None
    if adjoining is None or any(array in s.bits for array, *_ in adjoining.axes):
        return None
    if any(array in s.bits or s.arrays[array].unit != 0 for array in adjoining.periodic):
        return None
    row_length = parenthesized(expr(adjoining.length, s))
    tests = list[str]()
    for array, axis, along in adjoining.axes:
        p = s.arrays[array]
        size = DTYPES[p.dtype].bytes
        tests.append(f"{s.use(f'{array}.s{axis}')} == {row_length} * {size}")
        if p.unit != along:  # known when the kernel runs: a row may be read backwards
            tests.append(f"{s.use(f'{array}.s{along}')} == {size}")
    name = "length of rows"  # no name of the kernel
    rows, most, length = s.fresh("rows"), s.fresh("most_rows"), s.fresh("length")
    s.names[name] = length
    adjoin = " && ".join([f"{row_length} > 0", *tests])
    assert isinstance(n.range, ir.Interval)
    count = f"({expr(n.range.hi, s)} - {expr(n.range.lo, s)})"
    if adjoining.periodic:
        adjoin += f" && {row_length} <= {_LONGEST_REPEATED}"
        many = f"{_MOST_REPEATED} / {row_length}"
        many = f"({many} < {count} ? {many} : {count})"
    else:
        many = f"{_MOST_ELEMENTS} / {row_length} + 1"
    before = f"const int64_t {most} = {adjoin} ? {many} : 1; int64_t {rows};"
    loop = _with_length(n, adjoining, name, s)
    for array in adjoining.periodic:
        loop, lines = _with_repeated(loop, array, most, row_length, s)
        before += lines
    return RowCollapse(loop, before, rows, most, length, row_length)


def _with_repeated(
    n: ir.Loop, array: str, most: str, row_length: str, s: Scope
) -> tuple[ir.Loop, str]:
    """`n` with another array in place of `array`, which each row reads from its start, and the C
    statements before it: the new one has the elements of `array` again for each of the rows that
    run as one; or it is `array`, if each row runs alone.
    """
    p = s.arrays[array]
    c, storage, repeated = DTYPES[p.dtype].c, s.fresh("repeated"), s.fresh(array)
    name = f"{array} repeated"  # no name of the kernel
    s.names[name], s.arrays = repeated, {**s.arrays, name: replace(p, name=name, written=False)}
    start = s.use(array)
    lines = (
        f" {c} {storage}[{_MOST_REPEATED}]; const {c} *const {repeated} = {most} > 1 ? {storage} :"
        f" {start}; if ({most} > 1) for (int64_t r = 0; r < {most}; r++)"
        f" for (int64_t k = 0; k < {row_length}; k++)"
        f" {storage}[r * {row_length} + k] = {start}[k];"
    )

    def repeat(e: Any) -> Any:
        return replace(e, array=name) if isinstance(e, ir.Load) and e.array == array else e

    return replace(n, body=tuple(bottom_up(b, repeat) for b in n.body)), lines


def _with_length(n: ir.Loop, adjoining: AdjoiningRows, name: str, s: Scope) -> ir.Loop:
    """`n` with the name `name` for the length of a row. Statements of it keep what is known of when
    they poll.
    """
    def rename(e: Any) -> Any:
        return ir.Var(name, INDEX) if e == adjoining.length else e

    new = replace(n, body=tuple(bottom_up(b, rename) for b in n.body))
    pairs: list[tuple[Any, Any]] = list(zip(walk_statements(n), walk_statements(new), strict=True))
    s.polls = {**s.polls, **{q: s.polls[p] for p, q in pairs if p in s.polls}}
    s.tallies = {**s.tallies, **{q: s.tallies[p] for p, q in pairs if p in s.tallies}}
    return new


def is_left(n: ir.Loop | ir.Zip | ir.Scan) -> bool:
    """Whether a statement in a loop may end it."""
    return isinstance(n, ir.Loop) and (n.until is not None or contains(n, ir.Break))


_MOST_UNROLLED = 40  # nodes of a loop that is unrolled
_MOST_IN_LARGE = 16  # the same in a large kernel: a store, say, with a stride


def is_unrolled(n: ir.Loop | ir.Zip | ir.Scan, s: Scope) -> bool:
    """Whether the C compiler is to unroll the loop `n`: it is short, has no loop in it and no way
    out, so that its counter and its condition are a large part of its work.
    """
    if not isinstance(n, ir.Loop) or is_left(n):
        return False
    if any(isinstance(x, ir.LoopLike | ir.If | ir.Check) for b in n.body for x in walk(b)):
        return False
    return sum(1 for _ in walk(n)) <= (_MOST_IN_LARGE if s.is_large else _MOST_UNROLLED)
