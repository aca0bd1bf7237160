"""Dask graphs: the results of a `DaskCall` as Dask arrays, with one task a chunk.

    pointwise   `dask.array.blockwise`, which stays symbolic until the graph is run
    offset      `dask.array.overlap.overlap`, with the halo of the chunk axis, then blockwise
    fold        blockwise for the parts, `dask.array.reduction` to combine them in their order
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan, prod
from typing import Any

import numpy as np

from loopir.analysis.decomposition.chunk_axes import FoldOrder

from .block_functions import BlockTask, FoldedAxis, Part, blocks_of
from .chunk_tasks import (
    CandidateTask,
    CombineTask,
    CombineTuples,
    EmptyCall,
    InObject,
    ItemOf,
    JoinTuples,
    Number,
    PickTask,
    SkipTask,
    TrimTask,
    joined_candidates,
    passed_on,
)
from .dask_calls import Cut, DaskCall, ResultAxis

__all__ = ["dask_results"]


def dask_results(call: DaskCall) -> Any:
    """The results of `call`, as Dask arrays: one, or a tuple."""
    folds = [call.folds(k) for k in range(len(call.results))]
    is_place = [any(f.op in ("place", "extremum") for _, f in found) for found in folds]
    found: dict[int, Any] = {}
    ordinary = [k for k, place in enumerate(is_place) if not place]
    if any(folds[k] for k in ordinary):
        found.update(_reductions(call, ordinary))
    elif ordinary:
        found.update(_maps(call, ordinary))
    places = [k for k, place in enumerate(is_place) if place]
    if places:
        found.update(_extrema(call, places))
    results = tuple(found[k] for k in range(len(folds)))
    return results if call.plan.is_tuple else results[0]


def _blockwise(
    call: DaskCall, task: Callable[..., Any], axes: Mapping[int, Sequence[float]], dtype: Any,
    inputs: Sequence[tuple[Any, Sequence[int]]],
) -> Any:
    """`dask.array.blockwise` of `task` over `inputs`, pairs of a Dask array and the symbols of its
    axes. ``axes``: for each symbol of the result the sizes of its chunks.
    """
    import dask.array as da

    known = {s: n for x, symbols in inputs for s, n in zip(symbols, x.chunks, strict=True)}
    return da.blockwise(
        task, tuple(axes), *(part for pair in inputs for part in pair), dtype=dtype,
        meta=np.empty((0,) * len(axes), dtype), concatenate=True, align_arrays=False,
        adjust_chunks={s: tuple(n) for s, n in axes.items() if s in known and n is not known[s]},
        new_axes={s: n[0] if len(n) == 1 else tuple(n) for s, n in axes.items() if s not in known},
        token=_name(call),
    )


def _inputs(call: DaskCall) -> list[tuple[Any, tuple[int, ...]]]:
    """The arrays with their halos, and the symbols of their axes."""
    import dask.array as da

    found = []
    for x, axes in zip(call.arrays, call.axes, strict=True):
        halos = {k: c.halo for k, c in enumerate(axes)}
        if any(h != (0, 0) for h in halos.values()):
            edges = dict.fromkeys(halos, "none")
            x = da.overlap.overlap(x, depth=halos, boundary=edges, allow_rechunk=False)
        found.append((x, tuple(c.symbol for c in axes)))
    return found


def _numbers(cut: Cut, values: Sequence[float]) -> tuple[Any, tuple[int, ...]]:
    """An input that has a number for each chunk along an axis."""
    import dask.array as da

    return da.from_array(np.asarray(values, np.int64), chunks=1), (cut.symbol,)


def _sizes(axes: Sequence[ResultAxis]) -> dict[int, tuple[float, ...]]:
    """The sizes of the chunks of a result, by symbols; of axes that no argument has by others."""
    return {
        -1 - k if axis.cut is None else axis.cut.symbol: axis.sizes for k, axis in enumerate(axes)
    }


def _maps(call: DaskCall, wanted: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """The results `wanted`, of which none is folded over an axis that is cut."""
    task: Any = call.call
    inputs = _inputs(call)
    halos = [c for c in call.cuts if c.halo != (0, 0)]
    if halos:
        at = [next((k, of.index(c)) for k, of in enumerate(call.axes) if c in of) for c in halos]
        task = TrimTask(
            call.call,
            tuple((len(c.sizes), *c.halo, *place) for c, place in zip(halos, at, strict=True)),
            tuple(tuple(next((k for k, axis in enumerate(axes) if axis.cut is c), None)
                        for c in halos) for axes in call.results),
            call.plan.is_tuple,
        )
        inputs += (_numbers(c, range(len(c.sizes))) for c in halos)
    if not call.plan.is_tuple:
        (output,) = call.plan.outputs
        task = task if output.rank else Number(task, output.dtype)
        yield 0, _blockwise(call, task, _sizes(call.results[0]), output.dtype, inputs)
        return
    tuples = _tuples(call, task, inputs)
    for k in wanted:
        dtype = call.plan.outputs[k].dtype
        yield k, _blockwise(call, ItemOf(k, dtype), _sizes(call.results[k]), dtype, [tuples])


def _tuples(
    call: DaskCall, task: Any, inputs: Sequence[tuple[Any, Sequence[int]]]
) -> tuple[Any, tuple[int, ...]]:
    """An input whose chunks are the tuples that `task` gives, one for each chunk of the axes that
    are cut.
    """
    sizes = {c.symbol: (1,) * len(c.sizes) for c in call.cuts if c.is_cut}
    found = _blockwise(call, InObject(task, len(sizes)), sizes, object, inputs)
    return found, tuple(sizes)


def _reductions(call: DaskCall, wanted: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """The results `wanted`, of which some are folded over axes that are cut: the parts that chunks
    give, then their combination.
    """
    import dask.array as da

    folds = {k: call.folds(k) for k in wanted}
    orders = dict(call.orders)
    folded = [c for c in call.cuts if any(c is a for found in folds.values() for a, _ in found)]
    numbers = {c.symbol: n for n, c in enumerate(folded)}
    task: Any = BlockTask(
        call.call,
        tuple(_folded_axis(call, c, orders.get(c.symbol, "unknown")) for c in folded),
        tuple(tuple((k, numbers[c.symbol]) for k, c in enumerate(of) if c.symbol in numbers)
              for of in call.axes),
        tuple(_part(call, k, numbers) if k in wanted else None for k in range(len(call.results))),
        call.plan.is_tuple,
    )
    inputs = _inputs(call)
    starts_at = next((f.starts_at for found in folds.values() for _, f in found if f.starts_at), "")
    if starts_at:
        (cut,) = (c for c in call.cuts if c.is_cut)
        axes = tuple(of.index(cut) if cut in of else None for of in call.axes)
        task = SkipTask(task, call.names.index(starts_at), axes)
        inputs.append(_numbers(cut, range(len(cut.sizes))))
    tuples = [_tuples(call, task, inputs)] if len(wanted) > 1 else []
    groups: dict[tuple[int, ...], list[int]] = {}  # the places of results folded over these axes
    for n, k in enumerate(wanted):
        groups.setdefault(tuple(c.symbol for c, _ in folds[k]), []).append(n)
    for lead, group in groups.items():
        results = [(n, wanted[n]) for n in group]
        if len(group) > 1 and lead:
            yield from _reductions_of_tuples(call, results, lead, *tuples)
            continue
        for n, k in results:
            output = call.plan.outputs[k]
            sizes = {**_part_counts(call, k), **_sizes(call.results[k])}
            item = ItemOf(n, output.dtype) if tuples else task
            partial = _blockwise(call, item, sizes, output.dtype, tuples or inputs)
            if not lead:
                yield k, partial
                continue
            yield k, da.reduction(
                partial, chunk=passed_on, combine=passed_on, aggregate=_combine_task(call, k),
                axis=tuple(range(len(lead))), dtype=output.dtype, concatenate=True, keepdims=False,
                name=_name(call), split_every=_most_joined(call, [k]),
                meta=np.empty((0,) * output.rank, output.dtype),
            )


def _reductions_of_tuples(
    call: DaskCall, results: Sequence[tuple[int, int]], lead: Sequence[int],
    tuples: tuple[Any, tuple[int, ...]],
) -> Iterator[tuple[int, Any]]:
    """`results`, pairs of a place in the `tuples` of parts and the number of a result, which are
    all folded over the axes `lead`: combined by the same tasks.
    """
    import dask.array as da

    array, symbols = tuples
    rest = tuple(s for s in symbols if s not in lead)
    combined = da.reduction(
        array, chunk=passed_on, combine=JoinTuples(len(symbols)),
        aggregate=CombineTuples(tuple((n, _combine_task(call, k)) for n, k in results), len(rest)),
        axis=tuple(k for k, s in enumerate(symbols) if s in lead), dtype=object, concatenate=False,
        keepdims=False, name=_name(call), meta=np.empty((0,) * len(rest), object),
        split_every=_most_joined(call, [k for _, k in results]),
    )
    for n, (_, k) in enumerate(results):
        dtype = call.plan.outputs[k].dtype
        sizes = _sizes(call.results[k])
        yield k, _blockwise(call, ItemOf(n, dtype), sizes, dtype, [(combined, rest)])


def _combine_task(call: DaskCall, k: int) -> CombineTask:
    """What combines the parts of result `k`."""
    folds, orders = call.folds(k), dict(call.orders)
    return CombineTask(
        folds[0][1].op, tuple(orders.get(c.symbol, "unknown") for c, _ in folds),
        call.plan.outputs[k].chosen, _empty_call(call), k if call.plan.is_tuple else None,
    )


def _part_counts(call: DaskCall, k: int) -> dict[int, tuple[float, ...]]:
    """How many parts of result `k` the chunks give, along the axes over which it is folded."""
    orders = dict(call.orders)
    return {
        c.symbol: _parts_of(c, orders.get(c.symbol, "unknown")) for c, _ in call.folds(k)
    }


_FEWEST_JOINED, _MOST_JOINED, _JOINED_BYTES = 4, 256, 1 << 22
"""Limits of `_most_joined`: of chunks, and of the bytes of all their parts."""


def _most_joined(call: DaskCall, results: Sequence[int]) -> int | None:
    """The number of chunks whose parts of these results one task joins, at most; None if the parts
    have unknown sizes: as Dask is configured. A task costs Dask a fraction of a millisecond.
    """
    size = 0.0
    for k in results:
        chunks = [*_part_counts(call, k).values(), *_sizes(call.results[k]).values()]
        size += call.plan.outputs[k].dtype.itemsize * prod(max(n, default=0) for n in chunks)
    if isnan(size):
        return None
    return max(_FEWEST_JOINED, min(_MOST_JOINED, int(_JOINED_BYTES / max(size, 1))))


def _folded_axis(call: DaskCall, cut: Cut, order: FoldOrder) -> FoldedAxis:
    """What a task must know of an axis over which it folds."""
    array = next(k for k, of in enumerate(call.axes) if cut in of)
    halo = cut.axis.before + cut.axis.after if cut.axis else 0
    return FoldedAxis(order, halo, array, call.axes[array].index(cut))


def _part(call: DaskCall, k: int, numbers: Mapping[int, int]) -> Part:
    """What a chunk gives of result `k`."""
    own: list[tuple[int, int] | int] = []
    in_blocks = []
    for n, axis in enumerate(call.results[k]):
        if axis.cut is None:
            own.append(axis.less)
            continue
        array = next(m for m, of in enumerate(call.axes) if axis.cut in of)
        own.append((array, call.axes[array].index(axis.cut)))
        if axis.cut.symbol in numbers:
            in_blocks.append((n, numbers[axis.cut.symbol]))
    folded = tuple(numbers[c.symbol] for c, _ in call.folds(k))
    return Part(call.plan.outputs[k].dtype, folded, tuple(own), tuple(in_blocks))


def _parts_of(cut: Cut, order: FoldOrder) -> tuple[float, ...]:
    """How many parts each chunk along a folded axis gives."""
    terms = [*cut.sizes]
    if cut.axis:
        terms[0] -= cut.axis.before
        terms[-1] -= cut.axis.after
    counts = {n: n if isnan(n) else blocks_of(max(int(n), 0), order) for n in {*terms}}
    return tuple(map(counts.__getitem__, terms))


def _empty_call(call: DaskCall) -> EmptyCall:
    """The call without elements, whose result counts if there are no parts."""
    shapes = (
        tuple(0 if c.is_cut else int(c.length) for c in axes) for axes in call.axes
    )
    dtypes = (x.dtype for x in call.arrays)
    return EmptyCall(call.call, tuple(zip(shapes, dtypes, strict=True)))


def _extrema(call: DaskCall, wanted: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """The results `wanted`: the places of extrema, and these extrema."""
    import dask.array as da

    (cut,) = (c for c in call.cuts if c.is_cut)
    folds = {k: call.folds(k)[0][1] for k in wanted}
    axes = tuple(of.index(cut) if cut in of else None for of in call.axes)
    is_tuple, starts = call.plan.is_tuple, np.cumsum([0, *cut.sizes[:-1]])
    inputs = [*_inputs(call), _numbers(cut, [*starts])]
    sizes = {cut.symbol: (1,) * len(cut.sizes)}
    place, candidates = -1, None
    for k in sorted(wanted, key=lambda k: folds[k].op != "place"):  # an extremum has one place
        if folds[k].op == "place":
            place, starts_at = k, folds[k].starts_at
            search = CandidateTask(
                call.call, place if is_tuple else None, axes,
                call.names.index(starts_at) if starts_at else None,
            )
            candidates = _blockwise(call, search, sizes, object, inputs)
        pick = PickTask(
            call.call, place if is_tuple else None, k if is_tuple else None, axes,
            _empty_call(call),
        )
        dtype = call.plan.outputs[k].dtype
        yield k, da.reduction(
            candidates, chunk=passed_on, combine=joined_candidates, aggregate=pick, axis=(0,),
            dtype=dtype, concatenate=False, keepdims=False, meta=np.empty((), dtype),
            name=_name(call),
        )


def _name(call: DaskCall) -> str:
    """With what the names of the arrays begin."""
    return f"fused-{call.call.function.__name__}"
