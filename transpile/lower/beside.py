"""Arrays made in one of two branches: one does for both, where they are alike."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from .builder import Builder
from .values import ArrayRef, Cases, Made, Value

__all__ = ["is_one_array", "made_before", "made_beside", "made_since"]


def made_since(b: Builder, before: Set[str], env: Mapping[str, Value]) -> dict[str, ArrayRef]:
    """The arrays in `env` that are not among those made `before`, by their names."""
    new = b.fresh - before
    return {
        name: value for name, value in env.items()
        if isinstance(value, ArrayRef) and value.name in new and not value.places
    }


def made_beside(b: Builder, name: str, like: ArrayRef) -> str | None:
    """An array like the one that is made here, which the branch beside this one has made."""
    taken = _taken(b)
    for other, of in b.others.items():
        if of.name in taken or _label(name) != _label(other):
            continue
        if is_one_array(of, replace(like, name=of.name)):
            b.others = {k: v for k, v in b.others.items() if v.name != of.name}
            return of.name
    return None


def made_before(b: Builder, call: ast.Call, like: ArrayRef) -> str | None:
    """An array like the one that is made here, for which no name stands any more: one that `call`
    has made on another way to it, or, where a loop changes which arrays its names are, any.
    """
    known = [*b.made.get(call, ())]
    if b.frames and b.forks:
        known += (of for made in b.made.values() for of in made)
    taken = _taken(b) | b.cut | b.roomy
    for of in known:
        if of.name not in taken and is_one_array(of, replace(like, name=of.name)):
            return of.name
    return None


def _taken(b: Builder) -> set[str]:
    """The arrays that names stand for here."""
    return {name for v in b.env.values() for name in _arrays(v)}


def _arrays(v: Value) -> Iterator[str]:
    """The arrays that a name stands for, or whose elements it does."""
    match v:
        case ArrayRef(name):
            yield name
        case Cases(cases):
            yield from (c.value.name for c in cases if isinstance(c.value, ArrayRef))
        case Made(array=ArrayRef(name)):
            yield name
        case tuple():
            for part in v:
                yield from _arrays(part)


def is_one_array(a: Value, c: Value | None) -> bool:
    """Whether an array is the same after both branches, though other things are known of it."""
    if not (isinstance(a, ArrayRef) and isinstance(c, ArrayRef)) or a.places or c.places:
        return False
    same = (a.name, a.dtype, a.unit) == (c.name, c.dtype, c.unit)
    return same and [n.ir for n in a.shape] == [n.ir for n in c.shape]


def _label(name: str) -> str:
    """What two branches call alike: a name of the user's, or any of ours."""
    return "" if name.startswith("_") else name
