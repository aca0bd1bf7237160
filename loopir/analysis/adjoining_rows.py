"""Adjoining rows: nests whose rows may run as one, where they lie one behind the other in memory.

An array of shape (n, 3) has rows of three elements, and a vector loop along them does three
elements at a time. If the array is contiguous, its rows are one row of 3 n elements for whatever
treats all elements alike. (OpenMP: ``collapse``; Allen and Kennedy: loop coalescing.)

Whether they adjoin is known when the kernel runs, by the strides: `adjoining_rows` says what has to
be compared, and `targets.c.loop_shape` prints it.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator

from ..ir_names import bound_names, names_read
from ..ir_traversal import children, walk, walk_statements
from ..lazy_dataclass import record
from ..nodes import (
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Stmt,
    Store,
    Var,
    VecLoop,
)
from .dependence import may_alias
from .loop_reductions import lanes_behind
from .mod_ref import arrays_written

__all__ = ["AdjoiningRows", "adjoining_rows"]

_EXTREMA = frozenset(("max", "min", "maximum", "minimum", "fmax", "fmin"))


@record(frozen=True, slots=True)
class AdjoiningRows:
    """That consecutive iterations of a loop over rows may run as one with a longer row."""

    length: Expr
    """The length of a row: a name or the length of an axis. In the body, all of it is about rows.
    """
    axes: tuple[tuple[str, int, int], ...]
    """Arrays, each with the axis of the rows, whose stride must be the length of a row, and the
    axis along them, whose stride must be an element.
    """
    periodic: tuple[str, ...] = ()
    """Arrays of one axis that each row reads from their start: a longer row needs them repeated."""


def adjoining_rows(loop: Loop, kernel: Kernel) -> AdjoiningRows | None:
    """What must hold for the rows of `loop` to run as one; None if they must not.

        for i in loop(0, n):                       length m; a and b, each with axis 0: the strides
            for j in vec(0, m, width=8):           of both must be m elements
                a[i, j:8] = a[i, j:8] + b[i, j:8]

    The loop is a vector loop along a whole row, and all that it does depends on the row and the
    place in it only by the elements ``[i, j]`` of arrays, and ``[j]`` of arrays that it does not
    write. So each lane does what it did, and reads and writes the same elements; a row may end
    within a vector. An element is written by one lane,
    and read by no other. Of accumulators only maxima and minima are allowed, which go on from row
    to row: the code after the vector loop then completes the one for as many elements as there are,
    such as the search for the sign of a zero.
    """
    lanes = next((s for s in loop.body if isinstance(s, VecLoop)), None)
    if lanes is None or not isinstance(loop.range, Interval) or loop.until is not None:
        return None
    if not isinstance(lanes.range, Interval) or lanes.until is not None or lanes.parallel:
        return None
    length = lanes.range.hi
    if lanes.range.lo != Const(0, "i64") or not isinstance(length, Dim | Var):
        return None
    if names_read(length) & {loop.var, *bound_names(*loop.body)}:
        return None
    if (loop.accs and not _are_extrema(loop, lanes)) or (not loop.accs and len(loop.body) > 1):
        return None
    axes = _axes(loop, lanes)
    others = (s for s in loop.body if s is not lanes)
    if axes is None or not all(_is_about_rows(s, loop, length) for s in others):
        return None
    computed = (*lanes.body, *(acc.step for acc in lanes.accs))
    if any(n == length for part in computed for n in walk(part)):
        return None
    periodic = _periodic(lanes)
    if not _are_independent(loop, {*axes, *periodic}, kernel):
        return None
    return AdjoiningRows(length, tuple((array, *both) for array, both in axes.items()), periodic)


def _are_extrema(loop: Loop, lanes: VecLoop) -> bool:
    """Whether all accumulators of `loop` are maxima and minima that `lanes` goes on with, and
    become what it gives.
    """
    continued = dict[str, str]()
    for acc in lanes.accs:
        match acc.init, acc.step:
            case Var(outer), Call(op, args) if op in _EXTREMA and any(
                isinstance(x, Var) and x.name == acc.name for x in args
            ):
                continued[outer] = acc.name
            case _:
                return False
    given = {acc.name: lanes_behind(acc.step, loop.body) for acc in loop.accs}
    return continued == given and lanes is loop.body[0]


def _axes(loop: Loop, lanes: VecLoop) -> dict[str, tuple[int, int]] | None:
    """The axis of the rows and the one along them of each array that the body of `lanes` accesses
    by ``[i, j]``; None if the variables of the loops occur anywhere else in it, or if it does
    anything but to assign, to check and to store.
    """
    variables = {loop.var, lanes.var}
    axes: dict[str, tuple[int, int]] = {}
    rows = set[Expr]()
    if not all(isinstance(s, Assign | Check | Store) for s in lanes.body):
        return None
    for part in (*lanes.body, *(acc.step for acc in lanes.accs)):
        for n in _accesses_and_names(part):
            if isinstance(n, Var):
                if n.name in variables:
                    return None
                continue
            used = names_read(*n.index) & variables
            if not used and isinstance(n, Load):
                continue  # one element for all rows
            if _is_periodic(n, lanes):
                continue
            axis = _axis_of_rows(n, loop, lanes)
            if axis is None or axes.setdefault(n.array, (axis, n.axis)) != (axis, n.axis):
                return None
            rows.add(n.index[axis])
    return axes if len(rows) == 1 else None  # the same row of all arrays


def _is_periodic(n: Node, lanes: VecLoop) -> bool:
    """Whether `n` loads an array of one axis at the place in the row."""
    if not isinstance(n, Load) or n.step != 1 or n.lanes == 1:
        return False
    return n.index == (Var(lanes.var, "i64"),)


def _periodic(lanes: VecLoop) -> tuple[str, ...]:
    """The arrays that `lanes` loads at the place in the row alone."""
    loads = (n for n in walk(lanes) if isinstance(n, Load))
    return tuple(sorted({n.array for n in loads if _is_periodic(n, lanes)}))


def _accesses_and_names(n: Node) -> Iterator[Load | Store | Var]:
    """The accesses in `n`, and the names outside of subscripts."""
    below: tuple[Node, ...] = children(n)
    if isinstance(n, Load | Store):
        yield n
        below = tuple(x for x in below if not any(x is e for e in n.index))
    elif isinstance(n, Var):
        yield n
    for part in below:
        yield from _accesses_and_names(part)


def _axis_of_rows(n: Load | Store, loop: Loop, lanes: VecLoop) -> int | None:
    """The axis on which `n` has the variable of `loop`, if its lanes run along another one by the
    variable of `lanes`, and its other subscripts have neither; else None.
    """
    if n.step != 1 or getattr(n, "lanes", 0) == 1:
        return None
    rows = [k for k, e in enumerate(n.index) if loop.var in names_read(e)]
    columns = [k for k, e in enumerate(n.index) if lanes.var in names_read(e)]
    if columns != [n.axis] or len(rows) != 1 or rows == columns:
        return None
    row, column = n.index[rows[0]], n.index[n.axis]
    match row:
        case Var() | Call("add", (Var(), Const())) if isinstance(column, Var):
            return rows[0]
        case _:
            return None


def _is_about_rows(s: Stmt, loop: Loop, length: Expr) -> bool:
    """Whether `s`, after the vector loop, is about a row of any length: it loads elements of the
    row, and has `length` and the row only in subscripts and ranges of loops.
    """
    statements = (n for n in walk_statements(s) if isinstance(n, Stmt))
    if not all(isinstance(n, Assign | If | Loop) for n in statements):
        return False
    for n in walk(s):
        if isinstance(n, Loop) and n.range != Interval(Const(0, "i64"), length):
            return False
        if isinstance(n, Dim) and n != length:
            return False
    names = (n for n in _outside(s) if isinstance(n, Var | Dim))
    return all(n != length and getattr(n, "name", "") != loop.var for n in names)


def _outside(n: Node) -> Iterator[Node]:
    """The nodes of `n` that are in no subscript and in no range."""
    if isinstance(n, Interval):
        return
    yield n
    for part in children(n):
        if not (isinstance(n, Load) and any(part is e for e in n.index)):
            yield from _outside(part)


def _are_independent(loop: Loop, arrays: Collection[str], kernel: Kernel) -> bool:
    """Whether no iteration reads what another one writes: of arrays that may be one that is
    written, the loop accesses no element but its own.
    """
    written = arrays_written(loop.body)
    return all(
        n.array in arrays and loop.var in names_read(*n.index)
        for n in walk(loop)
        if isinstance(n, Load) and any(may_alias(kernel, n.array, w) for w in written)
    )
