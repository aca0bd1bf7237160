"""A scalar kernel as an MLIR module: a function that gives the status, and those that it calls.

The status is 0, bits of ``ops.STATUS`` that checks brought about, or ``(i + 1) << 8`` where guard i
failed and nothing was done. MLIR cannot ask for the hardware's floating-point flags: those classes
of the status that a kernel is ``strict`` of are not in it.
"""
from __future__ import annotations

from loopir import nodes as ir
from loopir.exhaustive import unhandled
from loopir.passes.halves import halves
from loopir.tree import walk
from loopir.types import INDEX

from .prelude import definitions
from .rows import element_type
from .separation import Extent, apart
from .state import STATE
from .statements import Statements

__all__ = ["emit"]


def emit(kernel: ir.Kernel, *, reassociate: bool = True) -> str:
    """The module of a scalar kernel; its arrays are memrefs with strides.

    Loops whose iterations have no order are ``scf.parallel``: those that fold floats, only with
    `reassociate`.
    """
    kernel = halves(kernel)
    w = Statements(kernel, reassociate)
    params = ", ".join(f"{_param(p, w)}: {_type(p)}" for p in kernel.params)
    [status] = _guarded(0, w, {})
    name = f"func.func @{kernel.name}({params}) -> i64 {{"
    text = _indented([name, *w.head, *w.lines, f"func.return {status} : i64", "}"])
    aliases = {_type(p): f"{_type(p)} = {_memref(p)}\n" for p in w.arrays.values()}
    return "".join(aliases.values()) + text + definitions(text)


def _param(p: ir.Param, w: Statements) -> str:
    value = w.name(p.name, _type(p))
    (w.names if p.rank is None else w.places)[p.name] = value
    return value


def _type(p: ir.Param) -> str:
    """An array's has a name: ``!f64x2u1``, two axes, elements side by side along axis 1."""
    element = element_type(p.dtype)
    if p.rank is None:
        return element
    return f"!{element}x{p.rank}" + (f"u{p.unit}" if p.unit is not None else "")


def _memref(p: ir.Param) -> str:
    assert p.rank is not None
    strides = ", ".join("1" if axis == p.unit else "?" for axis in range(p.rank))
    return f"memref<{'?x' * p.rank}{element_type(p.dtype)}, strided<[{strides}], offset: ?>>"


def _guarded(first: int, w: Statements, extents: dict[str, Extent]) -> list[str]:
    """The status: of the first guard from number `first` on that fails, or of the body.

    A guard that reads memory is not asked before those ahead of it hold.
    """
    guards = w.kernel.guards
    if first == len(guards):
        w.names[STATE] = w.integer(0)
        return w.block(w.kernel.body, lambda: w.state([STATE]), lambda: w.state([STATE]))
    reading = (k for k in range(first + 1, len(guards)) if _reads(guards[k]))
    last = next(reading, len(guards))
    flags = [_holds(g, w, extents) for g in guards[first:last]]
    failed = w.integer(0)
    for k in reversed(range(first, last)):
        code = w.integer((k + 1) << 8)
        failed = w.call("select", (flags[k - first], failed, code), INDEX, INDEX)
    none = w.call("eq", (failed, w.integer(0)), INDEX, "bool")
    return w.choose(none, lambda: _guarded(last, w, extents), lambda: [failed])


def _reads(n: ir.Node) -> bool:
    return any(isinstance(x, ir.Load) for x in walk(n))


def _holds(g: ir.Guard | ir.Disjoint, w: Statements, extents: dict[str, Extent]) -> str:
    match g:
        case ir.Guard(cond):
            return w.value(cond)
        case ir.Disjoint():
            return apart(g, w, extents)
        case _:
            return unhandled(g)


def _indented(lines: list[str]) -> str:
    depth, out = 0, []
    for line in lines:
        depth -= line.startswith("}")
        out.append("  " * (depth - line.startswith("^")) + line)
        depth += line.endswith(("{", "({"))
    return "\n".join(out) + "\n"
