"""Loop fission: a nest that another loop order serves better is separated from its neighbours."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...analysis.access import accesses
from ...analysis.dependence import dependences
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, bound_names, names_read, rename_names
from ...ir_traversal import map_children, walk
from ...lazy_dataclass import replace
from ...nodes import Assign, If, Interval, Kernel, Loop, Stmt, Store, While, Zip
from ...statement_blocks import backward_slice
from .permute_loops import has_better_order

__all__ = ["fission"]


def fission(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Split a loop around several statements, where one of them is a nest with a better loop order.

    Only where each part can run after all iterations of the part before. `permute_loops` then
    reorders the nest. Before::

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
    if kernel.stops:
        return kernel
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def parted(n: Loop, outside: frozenset[str]) -> tuple[Stmt, ...] | None:
        for at, s in enumerate(n.body):
            alone = replace(n, body=(s,))
            if isinstance(s, Loop) and has_better_order(alone, kernel, outside, reassociate):
                parts = _separable_parts(n, at, kernel, memory)
                if parts is not None:
                    before, after = (tuple(_loop_over(n, p, fresh)) for p in parts)
                    rest = [parted(a, outside) or (a,) for a in after]
                    return (*before, alone, *(x for part in rest for x in part))
        return None

    def visit(n: Any, outside: frozenset[str]) -> Any:
        if isinstance(n, Loop) and _is_plain(n, memory) and (parts := parted(n, outside)):
            return parts
        inside = outside | {n.var} if isinstance(n, Loop) else outside
        return map_children(n, lambda c: visit(c, inside)) if isinstance(n, _ENCLOSING) else n

    return visit(kernel, frozenset())  # type: ignore[no-any-return]  # a Kernel gives a Kernel


_ENCLOSING = (Kernel, Loop, If, While, Zip)
_SUPPORTED = (Assign, Store, Loop, If)


def _is_plain(n: Loop, memory: AliasInfo) -> bool:
    """Whether `n` is a counted loop without accumulators or early exits whose range is invariant.
    """
    inside = [s for b in n.body for s in walk(b) if isinstance(s, Stmt)]
    known = all(isinstance(s, _SUPPORTED) and getattr(s, "until", None) is None for s in inside)
    plain = isinstance(n.range, Interval) and not n.accs and n.until is None
    return plain and known and len(n.body) > 1 and not memory.overlap(
        arrays_read((n.range,)), arrays_written((n,))
    )


def _separable_parts(
    n: Loop, at: int, kernel: Kernel, memory: AliasInfo
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]] | None:
    """The statements before number `at` and those after it, if the loop can be split around it.

    Invariant values that both parts need are computed in both. None where a dependence goes
    backward.
    """
    before, s, after = n.body[:at], n.body[at], n.body[at + 1 :]
    steady = (b for b in before if not memory.overlap(arrays_read((b,)), arrays_written((n,))))
    shared = backward_slice(steady, *after)
    own = bound_names(*before, s) - {a.name for a in shared}
    if bound_names(*before) & names_read(s) or own & names_read(*shared, *after):
        return None
    cuts = [len(accesses((replace(n, body=n.body[:end]),))) for end in (at, at + 1)]
    for d in dependences(n, kernel):
        source, sink = (sum(a.position >= cut for cut in cuts) for a in (d.source, d.sink))
        if source != sink and (d.distance is None or source > sink):
            return None
    rest = [b for b in before if b not in shared]
    first = backward_slice(shared, *rest)
    return tuple(b for b in before if b in rest or b in first), (*shared, *after)


def _loop_over(n: Loop, body: tuple[Stmt, ...], fresh: FreshNames) -> Iterator[Loop]:
    """A loop like `n` over `body`, with fresh names; nothing for an empty body."""
    if body:
        own = sorted({n.var, *(s.name for s in body if isinstance(s, Assign))})
        yield rename_names(replace(n, body=body), {name: fresh.name(name) for name in own})
