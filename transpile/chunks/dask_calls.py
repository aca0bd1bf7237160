"""Dask calls: whether a call with Dask arrays can run chunk by chunk, and what each chunk needs.

An axis is cut where one of its arrays has several chunks along it, in the arrays as they are:
nothing is rechunked, unless two of them are cut at different places. What `chunk_plan` says of the
axis must then allow that. `dask_graphs` builds the graph of a `DaskCall`.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from itertools import accumulate, pairwise
from math import isnan, prod
from types import FunctionType
from typing import Any

import numpy as np

from loopir.analysis.decomposition.chunk_axes import ChunkAxis, Fold, FoldOrder
from loopir.lazy_dataclass import record

from ..types.typeof import is_dask_array, parameter_names
from .block_functions import BLOCK_ITEMS
from .chunk_plan import ChunkPlan, Output, Sized, not_in_chunks
from .chunk_tasks import FIRST, Call

__all__ = ["Cut", "DaskCall", "LazyNumber", "ResultAxis", "dask_call", "is_lazy", "one_chunk",
           "stand_ins"]

_UNKNOWN = 1 << 40
"""Stands for the length of an axis that Dask does not know."""

_FEW_TERMS = 16
"""Rows with fewer terms than that are no parts of their own: there would be too many."""


_MOST_IN_SOURCE_ORDER = 32
"""A call with that few items adds them in the order of the source."""


def stand_ins(values: Sequence[Any]) -> tuple[Any, ...]:
    """`values` with a small array of the same type in place of each Dask array, for the signature.
    Raises Refused for chunks that are no arrays of NumPy.
    """
    return tuple(_stand_in(v) if is_lazy(v) else v for v in values)


def is_lazy(value: object) -> bool:
    """Whether `value` is an array of Dask, or a `LazyNumber`."""
    return is_dask_array(value) or isinstance(value, LazyNumber)


def one_chunk(value: Any) -> Any:
    """`value`; an array of NumPy as one of Dask."""
    import dask.array as da

    return da.from_array(value, chunks=-1) if isinstance(value, np.ndarray) else value


@record(frozen=True, slots=True)
class LazyNumber:
    """An argument that is a number which Dask computes."""

    array: Any
    """The Dask array without axes that has it."""
    is_weak: bool
    """Whether it is Python's."""


def _stand_in(x: Any) -> Any:
    if isinstance(x, LazyNumber):
        one = np.ones((), x.array.dtype)
        return one.item() if x.is_weak else one[()]
    kind = type(x._meta)
    if kind is not np.ndarray:
        raise not_in_chunks(f"the chunks are of type {kind.__module__}.{kind.__name__}")
    if not x.ndim:  # NumPy computes with it as with a number
        return np.ones((), x.dtype)[()]
    return np.empty([1 if n == 1 else 2 for n in x.shape], x.dtype)


@record(frozen=True, slots=True)
class Cut:
    """A chunk axis of the arguments, with its chunks; or an axis that is one chunk."""

    symbol: int
    """Its index in `dask.array.blockwise`."""
    axis: ChunkAxis | None
    sizes: tuple[float, ...]
    """The sizes of the chunks; NaN where Dask does not know them."""
    length: float
    """The length of the whole."""

    @property
    def is_cut(self) -> bool:
        """Whether there are several chunks."""
        return len(self.sizes) > 1

    @property
    def halo(self) -> tuple[int, int]:
        """How many elements a chunk needs before and after its own."""
        return (self.axis.before, self.axis.after) if self.axis and self.is_cut else (0, 0)

    def folds(self, output: Output) -> tuple[Fold, ...]:
        """The folds over this axis that give a result."""
        folds = self.axis.folds if self.axis else ()
        return tuple(f for f in folds if f.result == output.name)


@record(frozen=True, slots=True)
class ResultAxis:
    """An axis of a result: that of the arguments which it follows, with the number of elements that
    it has less; or, with no such axis, its length.
    """

    cut: Cut | None
    less: int

    @property
    def sizes(self) -> tuple[float, ...]:
        """The sizes of the chunks of the result."""
        if self.cut is None:
            return (self.less,)
        if self.less == 0:
            return self.cut.sizes
        return *self.cut.sizes[:-1], self.cut.sizes[-1] - self.less


@record(frozen=True, slots=True)
class DaskCall:
    """A call with Dask arrays that runs chunk by chunk."""

    call: Call
    plan: ChunkPlan
    arrays: tuple[Any, ...]
    """The Dask arrays, one for each place of `call`."""
    names: tuple[str, ...]
    """The parameters that they are arguments of."""
    axes: tuple[tuple[Cut, ...], ...]
    """The axes of each."""
    results: tuple[tuple[ResultAxis, ...], ...]
    """For each result its axes."""
    orders: tuple[tuple[int, FoldOrder], ...]
    """For each symbol of an axis that is folded, which parts a chunk gives."""
    notes: tuple[str, ...] = ()

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """All axes of the arrays, in the order in which the kernel goes through them."""
        order = {id(axis): k for k, axis in enumerate(self.plan.summary.axes)}
        found = {c.symbol: c for axes in self.axes for c in axes}
        return tuple(sorted(found.values(), key=lambda c: order.get(id(c.axis), len(order))))

    def folds(self, k: int) -> tuple[tuple[Cut, Fold], ...]:
        """The axes over which result `k` is folded, with the folds, if one of them is cut. Over an
        axis that is cut, and that the result has nothing to do with, all chunks give the same: it
        is folded by `FIRST`.
        """
        output = self.plan.outputs[k]
        found = tuple((c, f) for c in self.cuts for f in c.folds(output)[:1])
        known = [*(c for c, _ in found), *(axis.cut for axis in self.results[k])]
        same = Fold(output.name, FIRST, "i64", order="unknown")
        found += tuple((c, same) for c in self.cuts if c.is_cut and c not in known)
        return found if any(c.is_cut for c, _ in found) else ()

    def __str__(self) -> str:
        tasks = prod(len(c.sizes) for c in self.cuts)
        why = ", as there is one chunk" * any(self.axes)
        what = f"{tasks:,} tasks, one a chunk" if tasks > 1 else f"one task{why}"
        lines = [*str(self.plan.summary).splitlines(), what, *self.notes]
        return "\n".join(f"   {line}" for line in lines)


def dask_call(
    fused: Any, plan: ChunkPlan, values: Sequence[Any], namespace: Mapping[str, Any]
) -> DaskCall:
    """How a call of `fused` with these arguments runs chunk by chunk. ``namespace``: the names that
    the function reads from outside. Raises Refused with the reason where it cannot.
    """
    function: FunctionType = fused.__wrapped__
    code = function.__code__
    if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        raise not_in_chunks("the function takes any number of arguments")
    parameters = parameter_names(code)
    given: dict[str, Any] = {
        name: LazyNumber(v, is_weak=False) if is_dask_array(v) and not v.ndim else v
        for name, v in zip(parameters, values, strict=True)
    }
    numbers = {name: v for name, v in given.items() if isinstance(v, LazyNumber)}
    lazy = {name: v for name, v in given.items() if is_dask_array(v)}
    for name, x in lazy.items():
        if 0 in x.shape:
            raise not_in_chunks(f"`{name}` has no elements")
    chunks = _chunks_by_axis(plan, given)
    lazy |= _cut_like(plan, given, chunks) | {name: v.array for name, v in numbers.items()}
    arrays, cuts, is_rechunked = _unified(plan, lazy, chunks)
    for cut in {c.symbol: c for of in cuts.values() for c in of if c.is_cut}.values():
        _check_cut(cut)
    results = _results(plan, cuts, given, namespace)
    found = DaskCall(
        call=Call(
            fused, tuple(None if name in arrays else v for name, v in given.items()),
            tuple(parameters.index(name) for name in arrays),
            tuple(parameters[code.co_argcount :]),
            tuple((parameters.index(name), v.is_weak) for name, v in numbers.items()),
        ),
        plan=plan, arrays=tuple(arrays.values()), names=tuple(arrays),
        axes=tuple(cuts[name] for name in arrays), results=results, orders=(),
    )
    _check_results(found)
    orders, notes = _orders(found)
    if is_rechunked:
        notes.append("the arrays are cut at different places: their chunks are cut further")
    return DaskCall(
        found.call, plan, found.arrays, found.names, found.axes, results, orders, tuple(notes)
    )


def _chunks_by_axis(
    plan: ChunkPlan, given: Mapping[str, Any]
) -> dict[int, tuple[float, ...]]:
    """For each chunk axis that is cut, by its id, the chunks of the first array that is. Raises
    Refused if an axis is cut that must not be, or if arrays have different lengths.
    """
    chunks: dict[int, tuple[float, ...]] = {}
    lengths: dict[int, tuple[str, float]] = {}
    for name, x in given.items():
        if name not in plan.arrays and not is_dask_array(x):
            continue
        for k, axis in enumerate(plan.axes_of(name, getattr(x, "ndim", 0))):
            sizes = x.chunks[k] if is_dask_array(x) else (x.shape[k],)
            is_cut = len(sizes) > 1
            if is_cut and (axis is None or axis.kind in ("whole", "serial")):
                reason = axis.reason if axis and axis.reason else "it is needed as a whole"
                what = f"axis {k} of `{name}` is in {len(sizes)} chunks, and cannot be cut"
                raise not_in_chunks(
                    f"{what}: {reason}", f"rechunk it: `{name}.rechunk({{{k}: -1}})`")
            if axis is None:
                continue
            if id(axis) not in lengths:
                lengths[id(axis)] = name, x.shape[k]
            elif lengths[id(axis)][1] != x.shape[k]:
                other = lengths[id(axis)][0]
                what = f"`{other}` and `{name}`" if other != name else f"axes of `{name}`"
                raise not_in_chunks(f"{what} differ in length, or it is unknown")
            if is_cut:
                chunks.setdefault(id(axis), sizes)
    return chunks


def _cut_like(
    plan: ChunkPlan, given: Mapping[str, Any], chunks: Mapping[int, tuple[float, ...]]
) -> dict[str, Any]:
    """The arrays of NumPy that have an axis that is cut, in chunks like those of the others."""
    import dask.array as da

    found = {}
    for name, x in given.items():
        if isinstance(x, np.ndarray) and name in plan.arrays:
            axes = plan.axes_of(name, x.ndim)
            if any(id(axis) in chunks for axis in axes):
                sizes = tuple(
                    chunks.get(id(axis), (n,)) for axis, n in zip(axes, x.shape, strict=True))
                found[name] = da.from_array(x, chunks=sizes)
    return found


def _unified(
    plan: ChunkPlan, lazy: Mapping[str, Any], chunks: Mapping[int, tuple[float, ...]]
) -> tuple[dict[str, Any], dict[str, tuple[Cut, ...]], bool]:
    """The arrays with the same chunks along each chunk axis, the axes of each, and whether they had
    other chunks before.
    """
    symbols: dict[int, int] = {}
    indices: dict[str, tuple[int, ...]] = {}
    count = 0
    for name, x in lazy.items():
        own = []
        for axis in plan.axes_of(name, x.ndim):
            known = symbols.get(id(axis)) if axis else None
            if known is None:
                known, count = count, count + 1
                if axis:
                    symbols[id(axis)] = known
            own.append(known)
        indices[name] = tuple(own)
    arrays = dict(lazy)
    first: dict[int, tuple[float, ...]] = {}
    differ = any(
        first.setdefault(symbol, sizes) != sizes
        for name, x in lazy.items() for symbol, sizes in zip(indices[name], x.chunks, strict=True)
    )
    if differ:
        edges: dict[int, set[float]] = {}
        for name, x in lazy.items():
            for symbol, sizes in zip(indices[name], x.chunks, strict=True):
                edges.setdefault(symbol, set()).update(accumulate(sizes))
        common = {s: [b - a for a, b in pairwise((0, *sorted(e)))] for s, e in edges.items()}
        arrays = {
            name: x.rechunk({k: tuple(common[s]) for k, s in enumerate(indices[name])})
            for name, x in lazy.items()
        }
    cuts: dict[int, Cut] = {}
    for name, x in arrays.items():
        for symbol, axis, sizes, length in zip(
            indices[name], plan.axes_of(name, x.ndim), x.chunks, x.shape, strict=True
        ):
            cuts.setdefault(symbol, Cut(symbol, axis, sizes, length))
    return arrays, {name: tuple(cuts[s] for s in own) for name, own in indices.items()}, differ


def _check_cut(cut: Cut) -> None:
    """Raises Refused if the chunks along an axis are too short, or not known where they must be."""
    axis = cut.axis
    assert axis is not None
    needed = max(axis.before, axis.after)
    if isnan(cut.length):
        if needed or (axis.least > 1 and axis.kind != "fold") or axis.least > 1:
            raise not_in_chunks("the sizes of the chunks are not known",
                                "call `compute_chunk_sizes()` of the array")
        return
    least = min(cut.sizes)
    if needed and least < needed:
        raise not_in_chunks(f"a chunk of {least} elements is shorter than its halo of {needed}")
    shortest = least + min(axis.before, axis.after)
    may_be_empty = axis.kind == "fold" and axis.least <= 1 and not needed
    if shortest < axis.least and not may_be_empty:
        raise not_in_chunks(f"a chunk of {least} elements is too short: it takes {axis.least}")


def _results(
    plan: ChunkPlan, cuts: Mapping[str, Sequence[Cut]], given: Mapping[str, Any],
    namespace: Mapping[str, Any],
) -> tuple[tuple[ResultAxis, ...], ...]:
    """The axes of each result, from the shapes that the call plan gives them."""
    sized = {
        name: Sized([_UNKNOWN if isnan(c.length) else int(c.length) for c in cuts[name]])
        if name in cuts else value for name, value in given.items()
    }
    shapes = plan.result_shapes(sized, namespace)
    by_axis = {id(c.axis): c for of in cuts.values() for c in of if c.axis is not None}
    found = []
    for output in plan.outputs:
        axes: list[ResultAxis] = []
        for k, axis in enumerate(plan.axes_of(output.name, output.rank)):
            cut, length = by_axis.get(id(axis)), int(shapes[output.name][k])
            is_second = cut is not None and any(a.cut is cut for a in axes)
            if is_second and cut is not None and (cut.is_cut or isnan(cut.length)):
                raise not_in_chunks("two axes of a result go along the same axis of the arguments")
            if cut is None or axis is None or is_second:
                axes.append(ResultAxis(None, length))
                continue
            whole = _UNKNOWN if isnan(cut.length) else int(cut.length)
            less = whole - length
            if cut.is_cut and not (0 <= less <= cut.sizes[-1] or less == 0):
                raise not_in_chunks("a result is longer than the arguments, or much shorter")
            axes.append(ResultAxis(cut, less))
        found.append(tuple(axes))
    return tuple(found)


def _check_results(call: DaskCall) -> None:
    """Raises Refused if the results cannot be computed together."""
    cuts = [c for c in call.cuts if c.is_cut]
    same = [[c for c, f in call.folds(k) if f.op == FIRST] for k in range(len(call.results))]
    if all(same) and cuts:  # a task for each pair of chunks would be many
        raise not_in_chunks("the results are over different axes, of which some are cut")
    for k, output in enumerate(call.plan.outputs):
        folds = call.folds(k)
        over = [c for c, _ in folds]
        own = [axis.cut for axis in call.results[k]]
        for cut in cuts:
            if over and isnan(cut.length) and output.rank:
                raise not_in_chunks("the sizes of the chunks are not known")
            if over and cut in own and cut.halo != (0, 0):
                raise not_in_chunks("a result with a halo is also a fold over another axis")
            if over and 0 in cut.sizes and output.rank:
                raise not_in_chunks("a chunk has no elements")
        if len({f.op for _, f in folds}) > 1:
            raise not_in_chunks("a result is folded over some of the axes that are cut")
        if (
            any(f.op in ("place", "extremum") for _, f in folds)
            and (len(cuts) > 1 or cuts[0].halo != (0, 0) or output.rank
                 or isnan(cuts[0].length))
        ):
            raise not_in_chunks("the place of an extremum is sought along several axes")
    starting = [f.starts_at for k in range(len(call.results)) for _, f in call.folds(k)]
    others = [
        k for k in range(len(call.results))
        if not any(f.op in ("place", "extremum") or f.starts_at for _, f in call.folds(k))
    ]
    if any(starting) and (
        len(cuts) > 1 or any(call.results) or others or len({*starting} - {""}) > 1
    ):
        raise not_in_chunks("a comparison with the first item decides, which may be a NaN")
    ops = [call.folds(k)[0][1].op for k in range(len(call.results)) if call.folds(k)]
    if "extremum" in ops and ops.count("place") != 1:
        raise not_in_chunks("an extremum is returned, and not its place alone")


def _orders(call: DaskCall) -> tuple[tuple[tuple[int, FoldOrder], ...], list[str]]:
    """Which parts a chunk gives along each axis that is folded, and what is to be said of them."""
    orders: dict[int, FoldOrder] = {}
    notes: list[str] = []
    inexact = [
        (c, f) for k in range(len(call.results)) for c, f in call.folds(k) if f.is_inexact
    ]
    for cut, fold in inexact:
        order = fold.order
        rows = [c.length for c, f in inexact if f.result == fold.result and c is not cut]
        if order == "items" and not prod(rows) >= _FEW_TERMS:
            order = "unknown"
        if orders.setdefault(cut.symbol, order) != order:
            orders[cut.symbol] = "unknown"
    if (sums := call.plan.summary.sums) is not None and any(c.is_cut for c in call.cuts):
        smallest = min(prod(min(c.sizes) for c in axes) for axes in call.axes if axes)
        if sums == "unknown" and not any(c.is_cut for c, _ in inexact):
            notes.append("another order of terms than in one array: it depends on the sizes")
        elif smallest <= _MOST_IN_SOURCE_ORDER:
            notes.append(f"another order of terms than in one array: a chunk has {smallest} items")
    for cut in {c.symbol: c for c, _ in inexact if c.is_cut}.values():
        is_shifted = cut.axis is not None and cut.axis.before > 0
        edges = (n for n in cut.sizes[:-1] if n % BLOCK_ITEMS or is_shifted)
        edge = next(edges, None) if orders[cut.symbol] == "blocks" else None
        if edge is not None:
            notes.append(
                f"another order of terms than in one array: chunks of {edge:g} are no multiple of "
                f"{BLOCK_ITEMS:,}")
        elif orders[cut.symbol] == "unknown":
            notes.append("another order of terms than in one array: they are added chunk by chunk")
    return tuple(orders.items()), list(dict.fromkeys(notes))
