"""Storage coalescing: arrays of the same shape made in two branches share one allocation.

    if c:                        if c:
        t = np.empty(n)              t = #1          # one array parameter, allocated before the
    else:                   →    else:               # kernel; after the `if`, `t` is that array
        t = np.empty(n)              t = #1          # on both paths

Without it `t` would be one of two arrays after the ``if``, and all that reads it would be lowered
twice. In a loop, an allocation reuses an array of an earlier path to which no name refers any more.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set

from loopir.lazy_dataclass import replace

from ...frontend.ast_walk import walk_nodes
from ..state.ir_builder import IRBuilder
from ..state.symbol_values import ArrayRef, FinishedList, UnionValue, Value

__all__ = [
    "arrays_made_since", "may_use_own_storage", "reusable_storage", "same_storage",
    "storage_of_sibling_branch",
]


def arrays_made_since(
    b: IRBuilder, before: Set[str], env: Mapping[str, Value]
) -> dict[str, ArrayRef]:
    """The arrays in `env`, by Python name, that were allocated after those in `before`. Views are
    left out.
    """
    new = b.buffers.fresh - before
    return {
        name: value for name, value in env.items()
        if isinstance(value, ArrayRef) and value.name in new and not value.base_index
    }


def storage_of_sibling_branch(b: IRBuilder, name: str, like: ArrayRef) -> str | None:
    """The array that the other branch of this ``if``, which is lowered already, has allocated for
    the same name of the source as `name` (all generated names count as the same), if it has the
    type and shape of `like`, and no name refers to it at this place; else None.

    The array that is returned is removed from `BufferState.of_sibling_branch`, so that no second
    allocation of this branch gets it.
    """
    live = _live_arrays(b)
    for other_name, array in b.buffers.of_sibling_branch.items():
        if array.name in live or _source_name(name) != _source_name(other_name):
            continue
        if same_storage(array, replace(like, name=array.name)):
            b.buffers.of_sibling_branch = {
                k: v for k, v in b.buffers.of_sibling_branch.items() if v.name != array.name
            }
            return array.name
    return None


def reusable_storage(b: IRBuilder, call: ast.Call, like: ArrayRef) -> str | None:
    """The array parameter whose memory the allocation `call` can use again; None if it needs a new
    one. ``like`` has the type and shape that are needed. Called by `lower_allocation`, for
    ``np.empty`` alone, whose elements have no values yet.

        for k in range(m):             The body is lowered in rounds, until the arrays that `t` and
            t = np.empty(n)            `old` stand for repeat. The call makes array #1 in the first
            …; old = t                 round; in the round in which no name stands for #1, it is #1
                                       again, so that two arrays suffice

    An array qualifies if

    - this very call has made it, on another path or in an earlier round. In a loop whose statements
      are lowered once for each array that a name may be (`IRBuilder.array_version_depth`), arrays
      that were allocated before the loop qualify as well; not those of another allocation in it,
      which may take its own again in the next round: else they would wander from name to name;
    - no name refers to it;
    - it has the same type and shape (`same_storage`), and is allocated with exactly this shape:
      not in `BufferState.truncated` or `BufferState.overallocated`.
    """
    candidates = [*b.buffers.arrays_of_call.get(call, ())]
    if b.path.frames and b.array_version_depth:
        in_loop = {*walk_nodes(b.path.frames[0].node)}
        candidates += (
            a for other, arrays in b.buffers.arrays_of_call.items() if other not in in_loop
            for a in arrays
        )
    in_use = _arrays_in_use(b)
    for array in candidates:
        if array.name not in in_use and same_storage(array, replace(like, name=array.name)):
            return array.name
    return None


def may_use_own_storage(b: IRBuilder, call: ast.Call) -> bool:
    """Whether the allocation `call` can do with an array of its own: it has made none yet, or one
    of those that it has made is free, as no name refers to it on any path.
    """
    own = b.buffers.arrays_of_call.get(call, ())
    in_use = _arrays_in_use(b)
    return not own or any(array.name not in in_use for array in own)


def _arrays_in_use(b: IRBuilder) -> set[str]:
    """The array parameters that no allocation may take as its storage: those to which a name
    refers, and those that may be allocated with more elements than their shape has.
    """
    return _live_arrays(b) | b.buffers.truncated | b.buffers.overallocated


def _live_arrays(b: IRBuilder) -> set[str]:
    """The array parameters to which some name refers at this place."""
    return {name for v in b.env.values() for name in _arrays_of(v)}


def _arrays_of(v: Value) -> Iterator[str]:
    """The array parameters to which the value `v` refers, as a whole, a view or a part of a tuple.
    """
    match v:
        case ArrayRef(name):
            yield name
        case UnionValue(cases):
            yield from (c.value.name for c in cases if isinstance(c.value, ArrayRef))
        case FinishedList(array=ArrayRef(name)):
            yield name
        case tuple():
            for part in v:
                yield from _arrays_of(part)


def same_storage(a: Value, c: Value | None) -> bool:
    """Whether both values are the same whole array, with the same shape. The linear forms and
    intervals of the lengths may differ: they depend on the path.
    """
    if not (isinstance(a, ArrayRef) and isinstance(c, ArrayRef)) or a.base_index or c.base_index:
        return False
    is_same = (a.name, a.dtype, a.unit) == (c.name, c.dtype, c.unit)
    return is_same and [n.ir for n in a.shape] == [n.ir for n in c.shape]


def _source_name(name: str) -> str:
    """The name by which two branches are compared: `name` in the user's source, "" for generated
    ones.
    """
    return "" if name.startswith("_") else name
