"""Run-time alias checks in MLIR: two arrays share no byte, by address ranges and strides."""
from __future__ import annotations

from collections.abc import Sequence

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record

from .mlir_expressions import MlirBuilder
from .mlir_ops import element_type

__all__ = ["MemoryExtent", "disjoint_check"]


@record(frozen=True, slots=True)
class MemoryExtent:
    """Which bytes an array occupies. The fields are names of MLIR values of type ``index``
    (``empty``: ``i1``).
    """

    first: str
    """The address of the first element."""
    low: str
    """The lowest address; below ``first`` for a negative stride."""
    high: str
    """The address after the last byte."""
    empty: str
    """Whether some length is 0."""
    layout: tuple[str, ...]
    """The length of each axis, then the stride of each axis, in elements."""


def disjoint_check(g: ir.Disjoint, w: MlirBuilder, extents: dict[str, MemoryExtent]) -> str:
    """The guard `g` as MLIR; returns the name of an ``i1`` value that is true where it holds. The
    test is that of ``tp_disjoint`` of the C target (``targets/c/headers/abi.h``), except that it
    recognises fewer interleaved arrays (`_interleaved`). It holds if

    - the address ranges do not overlap: ``a.high <= b.low`` or ``b.high <= a.low``;
    - one of the arrays is empty;
    - they lie in each other's gaps, as two fields of one array of records (`_interleaved`);
    - ``g.or_same``, and they have the same address, lengths and strides.

    `extents` caches the address range of each array. It is computed at the head of the function, so
    that each guard can use it. Called by `emit_mlir` for each Disjoint guard.
    """
    for name in (g.a, g.b):
        if name not in extents:
            with w.at_head():
                extents[name] = _extent(name, w)
    a, b = extents[g.a], extents[g.b]
    found = [_comparison("ule", a.high, b.low, w), _comparison("ule", b.high, a.low, w)]
    found += [a.empty, b.empty]
    found += _interleaved(g, a, b, w)
    if g.or_same and len(a.layout) == len(b.layout):
        pairs = zip((a.first, *a.layout), (b.first, *b.layout), strict=True)
        found.append(_combined("andi", [_comparison("eq", x, y, w) for x, y in pairs], w))
    return _combined("ori", found, w)


def _interleaved(g: ir.Disjoint, a: MemoryExtent, b: MemoryExtent, w: MlirBuilder) -> list[str]:
    """For each leading axis, the condition that the arrays lie in each other's gaps along it
    (`_strides_divide`). ``tp_interleaved`` of abi.h takes the greatest common divisor of the
    strides for the distance of two gaps; here it is a stride of the first array.
    """
    params = [w.arrays[name] for name in (g.a, g.b)]
    if any(p.rank == 1 and p.unit is not None for p in params):
        return []
    axes = min(p.rank or 0 for p in params)
    return [_strides_divide(k, (g.a, a), (g.b, b), w) for k in range(axes)]


def _strides_divide(
    axis: int, a: tuple[str, MemoryExtent], b: tuple[str, MemoryExtent], w: MlirBuilder
) -> str:
    """The condition that the strides of both arrays on the axes up to `axis` are multiples of
    `a`'s stride on `axis`, and that within one such step, what `b` occupies by its remaining axes
    lies in a gap of what `a` does.
    """
    runs, steps = [], []
    for name, e in (a, b):
        size = w.number(DTYPES[w.arrays[name].dtype].bytes)
        lengths, strides = e.layout[: len(e.layout) // 2], e.layout[len(e.layout) // 2 :]
        runs.append(_reach(e.first, lengths[axis + 1 :], strides[axis + 1 :], size, w))
        steps.append([_product(s, size, w) for s in strides[: axis + 1]])
    step = w.let(f"math.absi {steps[0][axis]} : index", "index")
    step = w.let(f"arith.maxsi {step}, {w.number(1)} : index", "index")
    found = [
        _comparison("eq", _remainder(s, step, w), w.number(0), w) for s in (*steps[0], *steps[1])
    ]
    (low, high), (other_low, other_high) = runs
    distance = _remainder(_difference(other_low, low, w), step, w)
    shift = _remainder(_sum(distance, step, w), step, w)
    found.append(_comparison("sge", shift, _difference(high, low, w), w))
    found.append(_comparison("sle", _sum(shift, _difference(other_high, other_low, w), w), step, w))
    return _combined("andi", found, w)


def _reach(
    first: str, lengths: Sequence[str], strides: Sequence[str], size: str, w: MlirBuilder
) -> tuple[str, str]:
    """The lowest address and the end address of an array of this layout; `size` is the element's.
    """
    zero = w.number(0)
    low = high = first
    for length, stride in zip(lengths, strides, strict=True):
        last = _difference(length, w.number(1), w)
        reach = _product(_product(last, stride, w), size, w)
        down = w.let(f"arith.minsi {reach}, {zero} : index", "index")
        up = w.let(f"arith.maxsi {reach}, {zero} : index", "index")
        low, high = _sum(low, down, w), _sum(high, up, w)
    return low, _sum(high, size, w)


def _difference(a: str, b: str, w: MlirBuilder) -> str:
    """``a - b``."""
    return w.let(f"arith.subi {a}, {b} : index", "index")


def _remainder(a: str, b: str, w: MlirBuilder) -> str:
    """``a % b``, with the sign of `a`."""
    return w.let(f"arith.remsi {a}, {b} : index", "index")


def _extent(array: str, w: MlirBuilder) -> MemoryExtent:
    """The memory extent of `array`, from the memref's metadata."""
    p, place = w.arrays[array], w.places[array]
    rank, type_ = p.rank or 0, w.types[place]
    zero, size = w.number(0), w.number(DTYPES[p.dtype].bytes)
    layout = (f"{array}_{x}{k}" for x in "ns" for k in range(rank))
    names = [f"{array}_base", f"{array}_offset", *layout]
    base = f"memref<{element_type(p.dtype)}>"
    values = [w.name(n, "index" if k else base) for k, n in enumerate(names)]
    types = ", ".join([base, *["index"] * (len(values) - 1)])
    w.lines.append(
        f"{', '.join(values)} = memref.extract_strided_metadata {place} : {type_} -> {types}"
    )
    pointer = f'"memref.extract_aligned_pointer_as_index"({place}) : ({type_}) -> index'
    first = _sum(w.let(pointer, "index"), _product(values[1], size, w), w)
    lengths, strides = values[2 : 2 + rank], values[2 + rank :]
    low, high = _reach(first, lengths, strides, size, w)
    empty = [_comparison("eq", n, zero, w) for n in lengths]
    is_empty = (
        _combined("ori", empty, w) if empty else w.first("arith.constant false", "i1", "false")
    )
    return MemoryExtent(first, low, high, is_empty, (*lengths, *strides))


def _sum(a: str, b: str, w: MlirBuilder) -> str:
    """``a + b``."""
    return w.let(f"arith.addi {a}, {b} : index", "index")


def _product(a: str, b: str, w: MlirBuilder) -> str:
    """``a * b``."""
    return w.let(f"arith.muli {a}, {b} : index", "index")


def _comparison(predicate: str, a: str, b: str, w: MlirBuilder) -> str:
    """The comparison of two addresses or lengths with a predicate of ``arith.cmpi``."""
    return w.let(f"arith.cmpi {predicate}, {a}, {b} : index", "i1")


def _combined(operation: str, flags: list[str], w: MlirBuilder) -> str:
    """All `flags` combined with ``andi`` or ``ori``."""
    joined, *rest = flags
    for flag in rest:
        joined = w.let(f"arith.{operation} {joined}, {flag} : i1", "i1")
    return joined
