"""Block functions: the results of a fused function for all blocks of a chunk, by one kernel.

    def blocks_of_dot(a0, a1):
        n0 = -(-a0.shape[0] // 4096)
        r0 = np.empty((n0,), np.float64)
        for b0 in range(n0):
            r0[b0] = f(a0[b0 * 4096 : (b0 + 1) * 4096], a1[b0 * 4096 : (b0 + 1) * 4096])
        return r0

It is generated as Python, and fused: the call of ``f`` is inlined, so that a chunk takes one call
of one kernel; and since the loop of a block is in another loop, its sum has the order of a block
however short it is.
"""
from __future__ import annotations

import linecache
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from loopir.analysis.decomposition.chunk_axes import FoldOrder
from loopir.lazy_dataclass import record

from .chunk_tasks import Call

__all__ = ["BLOCK_ITEMS", "BlockTask", "FoldedAxis", "Part", "blocks_of"]

BLOCK_ITEMS = 4096  # as BLOCK_ELEMENTS of `passes.reduce.blocked_summation`


@record(frozen=True, slots=True)
class FoldedAxis:
    """An axis of the arguments over which results are folded."""

    order: FoldOrder
    """In blocks of `BLOCK_ITEMS`, item by item, or (``unknown``) as one block."""
    halo: int
    """How many items a block needs besides its own."""
    array: int
    """The chunk that tells the length, and which of its axes."""
    axis: int


@record(frozen=True, slots=True)
class Part:
    """A result of the blocks of a chunk."""

    dtype: np.dtype[Any]
    folded: tuple[int, ...]
    """The folded axes that are its first ones, with one element a block."""
    own: tuple[tuple[int, int] | int, ...]
    """Its own axes: as long as an axis of a chunk, of which number and axis are given; or of this
    length."""
    in_blocks: tuple[tuple[int, int], ...] = ()
    """Of its own axes those that the blocks go through, each with the folded axis."""


@record(frozen=True, slots=True)
class BlockTask:
    """`call` on the blocks of a chunk."""

    call: Call
    axes: tuple[FoldedAxis, ...]
    slices: tuple[tuple[tuple[int, int], ...], ...]
    """For each chunk: pairs of an axis of its own and a folded axis."""
    parts: tuple[Part | None, ...]
    """For each result of the function what is wanted of it; None: nothing."""
    is_tuple: bool

    def __call__(self, *chunks: Any) -> Any:
        """The wanted parts, in a tuple if there are several."""
        counts = [
            blocks_of(max(int(chunks[a.array].shape[a.axis]) - a.halo, 0), a.order)
            for a in self.axes
        ]
        wanted = [p for p in self.parts if p is not None]
        if 0 in counts:  # only numbers are folded over chunks that may be empty
            made = [np.empty([*_shape(p, counts, chunks)], p.dtype) for p in wanted]
        elif all(a.order == "unknown" for a in self.axes):
            found = self.call(*chunks)
            results = found if self.is_tuple else (found,)
            made = [
                np.asarray(r, p.dtype)[(None,) * len(p.folded)]
                for r, p in zip(results, self.parts, strict=True) if p is not None
            ]
        else:
            found = _block_function(self)(*self.call.with_chunks(chunks))
            made = [*found] if len(wanted) > 1 else [found]
        return tuple(made) if len(made) > 1 else made[0]


def _shape(part: Part, counts: Sequence[int], chunks: Sequence[Any]) -> Iterator[int]:
    """The shape of what chunks give of a result."""
    yield from (counts[k] for k in part.folded)
    yield from (
        n if isinstance(n, int) else chunks[n[0]].shape[n[1]] for n in part.own
    )


def blocks_of(items: int, order: FoldOrder) -> int:
    """How many blocks so many items are."""
    if order == "blocks":
        return -(-items // BLOCK_ITEMS)
    return items if order == "items" else min(items, 1)


_MOST_KEPT = 64
_block_functions: dict[tuple[object, ...], Any] = {}
"""The latest block functions, by what their text depends on and the function that they call."""


def _block_function(task: BlockTask) -> Any:
    """The block function of a task, which takes all arguments by position."""
    call = task.call
    shape = call.places, call.keywords, len(call.arguments)
    key = call.function, shape, task.axes, task.slices, task.parts, task.is_tuple
    if key not in _block_functions:
        if len(_block_functions) >= _MOST_KEPT:
            _block_functions.clear()
        text = "\n".join(_source(task)) + "\n"
        _block_functions[key] = _compiled(text, call.function)
    return _block_functions[key]


def _source(task: BlockTask) -> Iterator[str]:
    """The lines of the block function."""
    call = task.call
    names = [f"a{k}" for k in range(len(call.arguments))]
    arguments = [*names]
    for place, pairs in zip(call.places, task.slices, strict=True):
        if pairs:
            of_axis = dict(pairs)
            cuts = (_block_of(task.axes, of_axis.get(k)) for k in range(max(of_axis) + 1))
            arguments[place] = f"{names[place]}[{', '.join(cuts)}]"
    first = len(names) - len(call.keywords)
    named = (f"{n}={a}" for n, a in zip(call.keywords, arguments[first:], strict=True))
    yield f"def blocks_of_{call.function.__name__}({', '.join(names)}):"
    for k, axis in enumerate(task.axes):
        length = f"{names[call.places[axis.array]]}.shape[{axis.axis}]"
        length = f"({length} - {axis.halo})" if axis.halo else length
        count = {"unknown": "1", "items": length, "blocks": f"-(-{length} // {BLOCK_ITEMS})"}
        yield f"    n{k} = {count[axis.order]}"
    targets = []
    for r, part in enumerate(task.parts):
        if part is None:
            targets.append("_")
            continue
        shape = [f"n{k}" for k in part.folded]
        shape += (
            str(own) if isinstance(own, int)
            else f"{names[call.places[own[0]]]}.shape[{own[1]}]" for own in part.own
        )
        in_blocks = dict(part.in_blocks)
        index = [f"b{k}" for k in part.folded]
        index += (_block_of(task.axes, in_blocks.get(k), halo=False) for k in range(len(part.own)))
        yield f"    r{r} = np.empty(({', '.join(shape)},), np.{part.dtype.name})"
        targets.append(f"r{r}[{', '.join(index)}]")
    for k in range(len(task.axes)):
        yield f"{'    ' * (k + 1)}for b{k} in range(n{k}):"
    left = ", ".join(targets) + "," * (task.is_tuple and len(targets) == 1)
    yield f"{'    ' * (len(task.axes) + 1)}{left} = f({', '.join([*arguments[:first], *named])})"
    wanted = (f"r{r}" for r, part in enumerate(task.parts) if part is not None)
    yield f"    return {', '.join(wanted)}"


def _block_of(axes: Sequence[FoldedAxis], k: int | None, *, halo: bool = True) -> str:
    """The subscript of a block along folded axis `k`; None, or one block: all."""
    if k is None or axes[k].order == "unknown":
        return ":"
    size = BLOCK_ITEMS if axes[k].order == "blocks" else 1
    more = f" + {axes[k].halo}" if halo and axes[k].halo else ""
    return f"b{k} * {size} : (b{k} + 1) * {size}{more}"


def _compiled(text: str, called: Any) -> Any:
    """The function of this text, with `called` as ``f``, fused as `called` is."""
    path = f"<fused blocks {zlib.crc32(text.encode()):08x}>"
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    names: dict[str, Any] = {"np": np, "f": called, "__name__": called.__module__}
    exec(compile(text, path, "exec", dont_inherit=True), names)
    function = next(
        v for v in names.values()
        if isinstance(v, FunctionType) and v.__code__.co_filename == path
    )
    return called.region_type(function, replace(called.options, on_reject="silent"))
