"""Loop interchange for reductions: column sums become sweeps over contiguous rows.

A column sum loads one element from each row: a stride that is not 1. With the loops interchanged
the inner loop runs along a row, and the sums of all columns are kept in the array to which they are
stored. `_is_legal` and `_pays` decide, and both must hold; `_pays` also tests a part of legality.
`_versioned_on_width` keeps the original nest for short rows. The loops of perfect nests are put in
order by `permute_loops`; a reduction with its start and store is no perfect nest.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...algebra.constant_folding import constant_trip_count, index_const
from ...algebra.index_builder import index_sub
from ...analysis.access import accesses, has_unit_stride
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, names_read, substitute
from ...ir_traversal import declared_params, map_children, walk
from ...lazy_dataclass import record, replace
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
    Stmt,
    Store,
    While,
    Zip,
)
from ...op_table import OPS
from ...statement_blocks import backward_slice

__all__ = ["interchange_reductions"]

_MAX_WEIGHT = 1.0  # limit on the weight of an operation that is recomputed for each row
_MIN_ROW_LENGTH = 12
"""Columns below which a row is too short for a loop. The same for all machines: a fold that is not
interchanged may be vectorised, which changes its bits."""


def interchange_reductions(kernel: Kernel) -> Kernel:
    """Interchange a loop over columns with the reduction down each column: a sweep over the rows,
    which are contiguous. Three loops take the place of the nest: one that stores the initial
    values, the sweep, and one that stores the results, if these are not the sums themselves.

    Every element is folded in its original order, so the bits stay. Before::

        def k(a: f64[:, ::1], out: mut(f64[::1])):
            disjoint(a, out)
            for j in loop(0, a.shape[1]):
                for i in loop(0, a.shape[0], s=0.0):
                    s = step(s + a[i, j])
                out[j] = s / 2.0

    after::

        def k(a: f64[:, ::1], out: mut(f64[::1])):
            disjoint(a, out)
            if a.shape[1] >= 12:
                for j_1 in loop(0, a.shape[1]):
                    out[j_1] = 0.0
                for i_1 in loop(0, a.shape[0]):
                    for j_2 in loop(0, a.shape[1]):
                        out[j_2] = out[j_2] + a[i_1, j_2]
                for j_3 in loop(0, a.shape[1]):
                    out[j_3] = out[j_3] / 2.0
            else:
                for j in loop(0, a.shape[1]):
                    for i in loop(0, a.shape[0], s=0.0):
                        s = step(s + a[i, j])
                    out[j] = s / 2.0
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def visit(n: Any) -> Any:
        """`n` with its reduction nests interchanged; what an earlier run has versioned is left
        alone.
        """
        match n:
            case If(cond, _, (Loop() as narrow,)) if cond == _has_long_rows(narrow):
                return n
            case If() | Loop() | While() | Zip():
                nest = _match_reduction_nest(n) if isinstance(n, Loop) else None
                if nest and _is_legal(nest, memory) and _pays(nest, kernel):
                    return _versioned_on_width(nest, tuple(_interchanged(nest, fresh)))
                return map_children(n, visit)
            case _:
                return n

    return map_children(kernel, visit)


def _has_long_rows(outer: Loop) -> Expr | None:
    """The condition that rows have at least `_MIN_ROW_LENGTH` columns; None if the length is a
    constant.
    """
    if not isinstance(outer.range, Interval) or constant_trip_count(outer.range) is not None:
        return None
    length = index_sub(outer.range.hi, outer.range.lo)
    return Call("ge", (length, index_const(_MIN_ROW_LENGTH)), "bool")


def _versioned_on_width(n: _ReductionNest, rows: tuple[Stmt, ...]) -> Stmt | tuple[Stmt, ...]:
    """`rows`, the interchanged nest, where rows are long, else the original one; a branch where
    that is known at run time only.
    """
    assert isinstance(n.outer.range, Interval)
    has_long_rows, count = _has_long_rows(n.outer), constant_trip_count(n.outer.range)
    if count is not None or has_long_rows is None:
        return rows if (count or 0) >= _MIN_ROW_LENGTH else n.outer
    return If(has_long_rows, rows, (n.outer,), span=n.outer.span)


@record(frozen=True, slots=True)
class _ReductionNest:
    """A loop over columns that reduces each column and stores the results, and does nothing else.
    """

    outer: Loop  # over columns
    inner: Loop  # the reduction down one column
    names: tuple[Assign, ...]  # the assignments in the body of `outer`
    stores: dict[str, Store]  # the store of each accumulator's result, by its name


def _match_reduction_nest(outer: Loop) -> _ReductionNest | None:
    """`outer` as a _ReductionNest: one inner loop, and unmasked stores after it, one for each
    accumulator, which depends on no other accumulator; None if it is not one.
    """
    loops = [s for s in outer.body if isinstance(s, Loop)]
    if len(loops) != 1 or outer.accs or outer.until is not None or loops[0].until is not None:
        return None
    (inner,) = loops
    others = [s for s in (*outer.body, *inner.body) if s is not inner]
    after = outer.body[outer.body.index(inner) + 1 :]
    names = tuple(s for s in outer.body if isinstance(s, Assign))
    stores = [s for s in after if isinstance(s, Store) and s.mask is None]
    if len(others) != len(names) + len(stores) + sum(isinstance(s, Assign) for s in inner.body):
        return None
    by_name: dict[str, Store] = {}
    for store in stores:
        value_names = names_read(store.value, *backward_slice(names, store.value))
        folds = [a for a in inner.accs if a.name in value_names]
        if len(folds) != 1 or folds[0].init.dtype != store.value.dtype:
            return None
        by_name[folds[0].name] = store
    is_complete = len(by_name) == len(stores) == len(inner.accs)
    return _ReductionNest(outer, inner, names, by_name) if is_complete and stores else None


def _is_legal(n: _ReductionNest, memory: AliasInfo) -> bool:
    """Whether the nest may be interchanged. Required:

    - nothing in the nest reads an array of the sums, and no two of these arrays overlap;
    - each column has an element of its own there. Not tested here: `_pays` accepts only stores of
      unit stride in the outer loop;
    - the range of the reduction is the same for all columns;
    - no accumulator depends on another one, and no initial value on an accumulator;
    - an assignment of the outer body that the reduction reads does not depend on the sums. It is
      computed once a column before the interchange, and once an element after it: so it must also
      be cheap (`_MAX_WEIGHT`), or the interchange does not pay.
    """
    arrays = [s.array for s in n.stores.values()]
    if len(set(arrays)) != len(arrays) or memory.overlap(arrays, arrays_read((n.outer,))):
        return False
    if any(memory.overlap((a,), (b for b in arrays if b != a)) for a in arrays):
        return False
    column_names = {n.outer.var, *(s.name for s in n.names)}
    are_intervals = isinstance(n.inner.range, Interval) and isinstance(n.outer.range, Interval)
    if not are_intervals or column_names & names_read(n.inner.range):
        return False
    folds = {a.name for a in n.inner.accs}
    shared = backward_slice(n.names, *_inner_values(n))
    if folds & names_read(*(s.value for s in shared), *(a.init for a in n.inner.accs)):
        return False
    names_per_step = (
        names_read(a.step, *backward_slice(n.inner.body, a.step)) for a in n.inner.accs
    )
    depends_on_other = any(len(folds & names) > 1 for names in names_per_step)
    is_expensive = any(
        isinstance(x, Call) and OPS[x.op].weight > _MAX_WEIGHT for s in shared for x in walk(s)
    )
    return not depends_on_other and not is_expensive


def _inner_values(n: _ReductionNest) -> tuple[Expr, ...]:
    """All values that the inner loop computes."""
    steps = tuple(a.step for a in n.inner.accs)
    return (*steps, *(s.value for s in n.inner.body if isinstance(s, Assign)))


def _pays(n: _ReductionNest, kernel: Kernel) -> bool:
    """Whether the nest walks memory in the wrong direction, so that the two loops should change
    places. `interchange_reductions` asks this of a nest where it is legal.

        for j: for i: s += a[i, j]; out[j] = s        yes: a is contiguous along j
        for i: for j: s += a[i, j]; out[i] = s        no: it is read along j already

    - Along the outer loop, a load of the inner loop and all stores are contiguous. (So each
      iteration of the outer loop stores to elements of its own, which `_is_legal` relies on.)
    - Along the inner loop, no access is contiguous.
    """
    params = declared_params(kernel)
    touched = accesses((n.outer,))
    unit_in_outer = [a for a in touched if has_unit_stride(a, params[a.array], n.outer.var)]
    unit_in_inner = [a for a in touched if has_unit_stride(a, params[a.array], n.inner.var)]
    stores_contiguous = {a.array for a in unit_in_outer if a.is_write} == arrays_written((n.outer,))
    return (
        stores_contiguous
        and not unit_in_inner
        and any(not a.is_write and n.inner.var in a.loops for a in unit_in_outer)
    )


def _interchanged(n: _ReductionNest, fresh: FreshNames) -> Iterable[Stmt]:
    """A loop that stores the initial values, the interchanged loops, and, where the result is not
    the sum itself, a loop that stores the results.
    """
    elements = {a.name: Load(s.array, s.index, a.init.dtype) for a, s in _accums_and_stores(n)}
    yield _store_loop(
        n, [replace(s, value=a.init) for a, s in _accums_and_stores(n)], n.names, fresh
    )
    steps = [replace(s, value=substitute(a.step, elements)) for a, s in _accums_and_stores(n)]
    body = tuple(substitute(s, elements) for s in n.inner.body)
    shared = backward_slice(n.names, *_inner_values(n), *(e for s in steps for e in s.index))
    row = replace(n.outer, body=(*shared, *body, *steps))
    yield fresh.copy(replace(n.inner, body=(row,), accs=()))
    changed = [s for a, s in _accums_and_stores(n) if s.value != a.current]
    final_stores = [replace(s, value=substitute(s.value, elements)) for s in changed]
    if final_stores:
        yield _store_loop(n, final_stores, tuple(substitute(s, elements) for s in n.names), fresh)


def _accums_and_stores(n: _ReductionNest) -> list[tuple[Accum, Store]]:
    """Each accumulator with the store of its result."""
    return [(a, n.stores[a.name]) for a in n.inner.accs]


def _store_loop(
    n: _ReductionNest, stores: list[Store], names: tuple[Assign, ...], fresh: FreshNames
) -> Loop:
    """A loop like the outer one, for `stores` and the assignments that they depend on."""
    before = backward_slice(names, *(e for s in stores for e in (s.value, *s.index)))
    return fresh.copy(replace(n.outer, body=(*before, *stores)))
