"""The analysis view of a loop nest: a LoopSet, operations that depend on loops and on one another.

    for m in loop(0, M):                            v0 = start            | m n
        for n in loop(0, N):                        v1 = load A[m, k]     | m k
            for k in loop(0, K, s=0.0):             v2 = load B[k, n]     | n k
                s = step(s + A[m, k] * B[k, n])  →  v3 = mul(v1, v2)      | m n k
            C[m, n] = s                             v4 = add(v0, v3)      | m n k
                                                    v5 = result(v4)       | m n
                                                    v6 = store C[m, n](v5) | m n
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from math import prod

from .analysis.lengths import ends_named
from .nodes import Kernel, Loop, LoopLike
from .operations import Builder, Operation
from .ops import OPS
from .record import record

__all__ = ["LoopSet", "loop_set", "show_loop_set"]

_TRIPS = 32  # of a loop whose length is known only when it runs
_LANES = 8  # of a vector, where it is to be as good a choice on every machine
_APART = 2.0  # what an element costs that has no neighbours in its vector
_ACROSS = 8.0  # adding up the lanes of a vector


@record(frozen=True, slots=True)
class LoopSet:
    """A nest of scalar loops as a graph without cycles; ``loops``: all of them, outermost first.

    ``trips``: how often those run at most of which that is known.
    """

    loops: tuple[str, ...]
    operations: tuple[Operation, ...]
    trips: Mapping[str, int] = field(default_factory=dict, hash=False)

    def flops(self, loop: str) -> float:
        """Floating-point work of one iteration of `loop` that is not the same in the next."""
        return sum(o.flops for o in self.operations if loop in o.loops)

    def bytes(self, loop: str) -> int:
        """Bytes that one iteration of `loop` moves, without what the one before moved too."""
        return sum(o.bytes for o in self.operations if loop in o.loops)

    def cost(self, lanes: Collection[str]) -> float:
        """Rough time of the nest with vectors along the loops `lanes`, in additions.

        The order of folds hangs on it, so it asks nothing about the machine.
        """
        return sum(self._times(o) * self._price(o, lanes) for o in self.operations)

    def _times(self, o: Operation) -> int:
        """How often `o` runs, moved out of the innermost loops that do not change it."""
        inside = max((o.around.index(v) + 1 for v in o.loops if v in o.around), default=0)
        return prod(self.trips.get(v, _TRIPS) for v in o.around[:inside])

    def _price(self, o: Operation, lanes: Collection[str]) -> float:
        """What `o` costs each time."""
        along = next((v for v in o.around if v in lanes), None)
        weight = OPS[o.op].weight if o.op in OPS else float(o.bytes > 0)
        if o.op == "result":
            folded = {v for p in o.parents for v in self.operations[p].around[-1:]}
            return 0.0 if folded.isdisjoint(lanes) else _ACROSS
        if along is None:
            return weight
        apart = o.ref is not None and along in o.loops and o.ref.unit != along
        return _APART if apart else weight / _LANES

    def __str__(self) -> str:
        lines = (f"v{k} = {_text(o)} | {' '.join(o.loops)}" for k, o in enumerate(self.operations))
        return "\n".join(line.rstrip(" |") for line in lines)


def loop_set(loop: Loop, kernel: Kernel) -> LoopSet:
    """`loop` of `kernel` as a LoopSet. Equal loads between two stores are one operation."""
    builder = Builder({p.name: p for p in kernel.params}, ends_named(kernel))
    builder.stmt(loop)
    return LoopSet(tuple(builder.order), tuple(builder.operations), builder.trips)


def show_loop_set(nest: LoopLike, kernel: Kernel) -> Iterator[str]:
    """A nest of `kernel`: its loops, its operations, the elements it touches and their loops."""
    try:
        found = loop_set(nest, kernel) if isinstance(nest, Loop) else None
    except ValueError:
        found = None  # a loop of another kind within
    if found is None:
        yield "a nest that is no LoopSet: not all of its loops count"
        return
    yield f"loops {' '.join(found.loops)}"
    yield str(found)
    for ref in dict.fromkeys(o.ref for o in found.operations if o.ref):
        moving = dict.fromkeys(v for form in ref.index if form for v in form.variables)
        walked = f"unit stride along {ref.unit}" if ref.unit else "no unit stride"
        opaque = ", computed subscripts" if None in ref.index else ""
        yield f"{ref}: {' '.join(v for v in found.loops if v in moving) or '-'}; {walked}{opaque}"


def _text(o: Operation) -> str:
    used = f"({', '.join(f'v{p}' for p in o.parents)})" if o.parents else ""
    return f"{o.op} {o.ref}{used}" if o.ref else f"{o.op}{used}"
