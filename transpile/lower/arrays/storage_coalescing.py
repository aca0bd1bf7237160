"""Storage coalescing: arrays of the same shape made in two branches share one allocation."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from ..state.ir_builder import IRBuilder
from ..state.symbol_values import ArrayRef, FinishedList, UnionValue, Value

__all__ = ["arrays_made_since", "reusable_storage", "same_storage", "storage_of_sibling_branch"]


def arrays_made_since(
    b: IRBuilder, before: Set[str], env: Mapping[str, Value]
) -> dict[str, ArrayRef]:
    """The arrays in `env`, by name, that were allocated after those in `before`."""
    new = b.buffers.fresh - before
    return {
        name: value for name, value in env.items()
        if isinstance(value, ArrayRef) and value.name in new and not value.base_index
    }


def storage_of_sibling_branch(b: IRBuilder, name: str, like: ArrayRef) -> str | None:
    """The array of the same type and shape as `like` that the other branch of this ``if`` has
    allocated; None where there is none.
    """
    taken = _live_arrays(b)
    for other, of in b.buffers.of_sibling_branch.items():
        if of.name in taken or _source_name(name) != _source_name(other):
            continue
        if same_storage(of, replace(like, name=of.name)):
            b.buffers.of_sibling_branch = {
                k: v for k, v in b.buffers.of_sibling_branch.items() if v.name != of.name
            }
            return of.name
    return None


def reusable_storage(b: IRBuilder, call: ast.Call, like: ArrayRef) -> str | None:
    """An array of the same type and shape as `like` to which no name refers any more; None where
    there is none.
    """
    known = [*b.buffers.arrays_of_call.get(call, ())]
    if b.path.frames and b.alias_versions:
        known += (of for made in b.buffers.arrays_of_call.values() for of in made)
    taken = _live_arrays(b) | b.buffers.truncated | b.buffers.overallocated
    for of in known:
        if of.name not in taken and same_storage(of, replace(like, name=of.name)):
            return of.name
    return None


def _live_arrays(b: IRBuilder) -> set[str]:
    """The arrays that names stand for here."""
    return {name for v in b.env.values() for name in _arrays_of(v)}


def _arrays_of(v: Value) -> Iterator[str]:
    """The arrays that a name stands for, or whose elements it does."""
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
    """Whether two values are the same array, whatever else is known about it on either path."""
    if not (isinstance(a, ArrayRef) and isinstance(c, ArrayRef)) or a.base_index or c.base_index:
        return False
    same = (a.name, a.dtype, a.unit) == (c.name, c.dtype, c.unit)
    return same and [n.ir for n in a.shape] == [n.ir for n in c.shape]


def _source_name(name: str) -> str:
    """What two branches call alike: a name of the user's, or any of ours."""
    return "" if name.startswith("_") else name
