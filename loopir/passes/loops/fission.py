"""Loop fission: a nest that another loop order serves better is separated from its neighbours.

`permute_loops` reorders perfect nests only. This pass splits the loop around a nest and its
neighbours, if `permute_loops` would then put another loop outermost and no dependence goes backward
(`_separable_parts`).
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...analysis.access import accesses
from ...analysis.dependence import dependences
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, bound_names, names_read, rename_names
from ...ir_traversal import counted_range, map_children, walk_statements
from ...lazy_dataclass import replace
from ...nodes import Assign, If, Kernel, Loop, Stmt, Store, While, Zip
from ...statement_blocks import backward_slice
from .permute_loops import has_better_order

__all__ = ["fission"]


def fission(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Split a loop around several statements, where one of them is a nest with a better loop order
    (`permute_loops.has_better_order`). The nest is then perfect, and `permute_loops` reorders it.

    The loop is split only if each part can run after all iterations of the part before it: no
    iteration of an earlier part may depend on one of a later part (`_separable_parts`). Before::

        def k(a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i in loop(0, c.shape[0]):
                for j in loop(0, c.shape[1]):
                    c[i, j] = 0.0
                for k in loop(0, b.shape[0]):
                    for j_1 in loop(0, c.shape[1]):
                        c[i, j_1] = c[i, j_1] + a[i, k] * b[k, j_1]

    after::

        def k(a: f64[:, ::1], b: f64[:, ::1], c: mut(f64[:, ::1])):
            disjoint(a, c)
            disjoint(b, c)
            for i_1 in loop(0, c.shape[0]):
                for j in loop(0, c.shape[1]):
                    c[i_1, j] = 0.0
            for i in loop(0, c.shape[0]):
                for k in loop(0, b.shape[0]):
                    for j_1 in loop(0, c.shape[1]):
                        c[i, j_1] = c[i, j_1] + a[i, k] * b[k, j_1]
    """
    if kernel.stops:  # stores would come before checks of earlier iterations: see `Kernel`
        return kernel
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def split_loop(n: Loop, outside: frozenset[str]) -> tuple[Stmt, ...] | None:
        """The loops into which `n` is split around its first nest with a better order; None if
        there is none.
        """
        for at, s in enumerate(n.body):
            nest_alone = replace(n, body=(s,))
            if isinstance(s, Loop) and has_better_order(nest_alone, kernel, outside, reassociate):
                parts = _separable_parts(n, at, kernel, memory)
                if parts is not None:
                    before, after = (tuple(_loop_over(n, p, fresh)) for p in parts)
                    after_split = [split_loop(a, outside) or (a,) for a in after]
                    return (*before, nest_alone, *(x for part in after_split for x in part))
        return None

    def visit(n: Any, outside: frozenset[str]) -> Any:
        """`n` with the loops in it split; `outside` has the variables of the loops around it."""
        if isinstance(n, Loop) and _is_plain(n, memory) and (parts := split_loop(n, outside)):
            return parts
        inner_outside = outside | {n.var} if isinstance(n, Loop) else outside
        return (
            map_children(n, lambda c: visit(c, inner_outside)) if isinstance(n, _ENCLOSING) else n
        )

    return visit(kernel, frozenset())  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_ENCLOSING = (Kernel, Loop, If, While, Zip)
_SUPPORTED = (Assign, Store, Loop, If)


def _is_plain(n: Loop, memory: AliasInfo) -> bool:
    """Whether `n` is a loop that may be split: counted, without accumulators, over a range that it
    does not change, with several statements. All statements in it, at any depth, are assignments,
    stores, ifs, and loops that are not left early (`_SUPPORTED`).
    """
    statements = [s for b in n.body for s in walk_statements(b) if isinstance(s, Stmt)]
    has_supported_body = all(
        isinstance(s, _SUPPORTED) and getattr(s, "until", None) is None for s in statements
    )
    is_counted = counted_range(n) is not None and not n.accs
    return is_counted and has_supported_body and len(n.body) > 1 and not memory.overlap(
        arrays_read((n.range,)), arrays_written((n,))
    )


def _separable_parts(
    n: Loop, position: int, kernel: Kernel, memory: AliasInfo
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]] | None:
    """The statements of the loop `n` before and after the one at `position`, if three loops may
    take the place of `n`: over the first, over that one, and over the last; else None.

        `n`      for i: t = x[i]; p[i] = t; NEST; y[i] = t      with NEST at `position`
        result   (t = x[i]; p[i] = t), (t = x[i]; y[i] = t)

    Names: no part may read a name that another binds. But assignments of the first part that the
    last one needs are computed in both, such as ``t``, if nothing that they read changes. Memory:
    no dependence may go backward, from a later part to an earlier one, since all iterations of the
    earlier part then run first.
    """
    before, s, after = n.body[:position], n.body[position], n.body[position + 1 :]
    unchanging = (b for b in before if not memory.overlap(arrays_read((b,)), arrays_written((n,))))
    shared = backward_slice(unchanging, *after)
    private_names = bound_names(*before, s) - {a.name for a in shared}
    if bound_names(*before) & names_read(s) or private_names & names_read(*shared, *after):
        return None
    # the part of an access, 0, 1 or 2: accesses are numbered in the order of the text
    first_of_parts = [
        len(accesses((replace(n, body=n.body[:end]),))) for end in (position, position + 1)
    ]
    for d in dependences(n, kernel):
        source, sink = (
            sum(a.position >= first for first in first_of_parts) for a in (d.source, d.sink)
        )
        if source != sink and (d.distance is None or source > sink):
            return None
    first_only = [b for b in before if b not in shared]
    needed_there = backward_slice(shared, *first_only)
    first = tuple(b for b in before if b in first_only or b in needed_there)
    return first, (*shared, *after)


def _loop_over(n: Loop, body: tuple[Stmt, ...], fresh: FreshNames) -> Iterator[Loop]:
    """A loop like `n` over `body`, with fresh names; nothing for an empty body."""
    if body:
        bound = sorted({n.var, *(s.name for s in body if isinstance(s, Assign))})
        yield rename_names(replace(n, body=body), {name: fresh.name(name) for name in bound})
