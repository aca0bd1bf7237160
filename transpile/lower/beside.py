"""Arrays made in one of two branches: one does for both, where they are alike."""
from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from .builder import Builder
from .values import ArrayRef, Value

__all__ = ["is_one_array", "made_beside", "made_since"]


def made_since(b: Builder, before: Set[str], env: Mapping[str, Value]) -> dict[str, ArrayRef]:
    """The arrays in `env` that are not among those made `before`, by their names."""
    new = b.fresh - before
    return {
        name: value for name, value in env.items()
        if isinstance(value, ArrayRef) and value.name in new and not value.places
    }


def made_beside(b: Builder, name: str, like: ArrayRef) -> str | None:
    """An array like the one that is made here, which the branch beside this one has made."""
    for other, of in b.others.items():
        if _label(name) == _label(other) and is_one_array(of, replace(like, name=of.name)):
            b.others = {k: v for k, v in b.others.items() if v.name != of.name}
            return of.name
    return None


def is_one_array(a: Value, c: Value | None) -> bool:
    """Whether an array is the same after both branches, though other things are known of it."""
    if not (isinstance(a, ArrayRef) and isinstance(c, ArrayRef)) or a.places or c.places:
        return False
    same = (a.name, a.dtype, a.unit) == (c.name, c.dtype, c.unit)
    return same and [n.ir for n in a.shape] == [n.ir for n in c.shape]


def _label(name: str) -> str:
    """What two branches call alike: a name of the user's, or any of ours."""
    return "" if name.startswith("_") else name
