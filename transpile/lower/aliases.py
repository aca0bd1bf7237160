"""The guards that every pair of the function's arrays needs."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loopir.nodes import Append, Const, Disjoint, Expr, Load, Param, Stmt, Store
from loopir.tree import walk

__all__ = ["alias_guards"]


def alias_guards(
    params: Sequence[Param], fresh: set[str], body: Sequence[Stmt], reshaped: Mapping[str, str]
) -> Iterator[Disjoint]:
    """Which arrays must not overlap: each written one and each other, unless the function made one
    of them.

    One array under two names is fine where, within each loop nest, both are only accessed at the
    same elements; but not where one has been read beforehand, to be given another shape.
    """
    early = {*reshaped, *reshaped.values()}
    arrays = [p.name for p in params if p.rank is not None]
    written = {n.array for s in body for n in walk(s) if isinstance(n, (Store, Append))}
    for k, a in enumerate(arrays):
        for c in arrays[k + 1 :]:
            if {a, c} & fresh or not {a, c} & written:
                continue
            same = not {a, c} & early and _same_elements(a, c, body)
            yield Disjoint(a, c, or_same=same)


def _same_elements(a: str, c: str, body: Sequence[Stmt]) -> bool:
    for nest in body:
        maps = {
            (n.array, n.index)
            for n in walk(nest)
            if isinstance(n, (Load, Store)) and n.array in (a, c)
        }
        if any(isinstance(n, Append) and n.array in (a, c) for n in walk(nest)):
            return False
        indices = {index for _, index in maps}
        if {array for array, _ in maps} == {a, c} and any(
            i != j and not _apart(i, j) for i in indices for j in indices
        ):
            return False
    return True


def _apart(i: Sequence[Expr], j: Sequence[Expr]) -> bool:
    """Whether an axis tells two subscripts apart, as that of the parts of complex numbers does."""
    axes = zip(i, j, strict=False)
    return any(isinstance(p, Const) and isinstance(q, Const) and p != q for p, q in axes)
