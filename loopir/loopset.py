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

from collections.abc import Iterator

from .nodes import Kernel, Loop, LoopLike
from .operations import Builder, Operation
from .record import record

__all__ = ["LoopSet", "loop_set", "show_loop_sets"]


@record(frozen=True, slots=True)
class LoopSet:
    """A nest of scalar loops as a graph without cycles; ``loops``: all of them, outermost first."""

    loops: tuple[str, ...]
    operations: tuple[Operation, ...]

    def flops(self, loop: str) -> float:
        """Floating-point work of one iteration of `loop` that is not the same in the next."""
        return sum(o.flops for o in self.operations if loop in o.loops)

    def bytes(self, loop: str) -> int:
        """Bytes that one iteration of `loop` moves, without what the one before moved too."""
        return sum(o.bytes for o in self.operations if loop in o.loops)

    def __str__(self) -> str:
        lines = (f"v{k} = {_text(o)} | {' '.join(o.loops)}" for k, o in enumerate(self.operations))
        return "\n".join(line.rstrip(" |") for line in lines)


def loop_set(loop: Loop, kernel: Kernel) -> LoopSet:
    """`loop` of `kernel` as a LoopSet. Equal loads between two stores are one operation."""
    builder = Builder({p.name: p for p in kernel.params})
    builder.stmt(loop)
    return LoopSet(tuple(builder.order), tuple(builder.operations))


def show_loop_sets(kernel: Kernel) -> str:
    """Each nest of `kernel`: its loops, its operations, the elements it touches and their loops."""
    nests = (s for s in kernel.body if isinstance(s, LoopLike))
    return "\n\n".join("\n".join(_shown(nest, kernel)) for nest in nests)


def _shown(nest: LoopLike, kernel: Kernel) -> Iterator[str]:
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
