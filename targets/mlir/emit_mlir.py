"""A scalar kernel as an MLIR module: a function that returns the status, and those it calls.

The status is 0, bits of ``STATUS`` from failed checks, or ``(i + 1) << GUARD_SHIFT`` where
guard i failed before anything was written. MLIR cannot read the hardware's floating-point flags, so
the status has no bits of floating-point conditions, not even of those in `Kernel.strict`.
"""
from __future__ import annotations

from loopir import nodes as ir
from loopir.dtypes import INDEX
from loopir.ir_traversal import walk
from loopir.nodes import assert_never
from loopir.passes.canonical.promote_f16 import promote_f16
from loopir.status_bits import GUARD_SHIFT

from .mlir_alias_checks import MemoryExtent, disjoint_check
from .mlir_expressions import MlirBuilder
from .mlir_ops import element_type
from .mlir_prelude import prelude_functions
from .mlir_statements import STATE, emit_block, state_values

__all__ = ["emit"]

def emit(kernel: ir.Kernel, *, reassociate: bool = True) -> str:
    """The MLIR module of a scalar kernel, for ``--emit mlir``. Only tests run MLIR; calls run C.

        for i in loop(0, n):              scf.parallel (%i) = (%zero) to (%n) step (%one) {
            y[i] = x[i] * 2.0      →        %v = memref.load %x[%i] : !f64x1u0 …

    Arrays are memrefs with strides. Loops whose iterations are independent are ``scf.parallel``
    (`mlir_statements.parallel_reductions`), but not in a kernel that stops at a failing check, and
    with reductions of floats only if `reassociate`.
    Raises `NoMlirForm` for an operation that cannot be written in MLIR.
    """
    kernel = promote_f16(kernel)
    w = MlirBuilder(kernel, reassociate)
    params = ", ".join(f"{_param(p, w)}: {_type(p)}" for p in kernel.params)
    [status] = _guarded(0, w, {})
    name = f"func.func @{kernel.name}({params}) -> i64 {{"
    text = _indented([name, *w.head, *w.lines, f"func.return {status} : i64", "}"])
    aliases = {_type(p): f"{_type(p)} = {_memref(p)}\n" for p in w.arrays.values()}
    return "".join(aliases.values()) + text + prelude_functions(text)


def _param(p: ir.Param, w: MlirBuilder) -> str:
    """The value name of the parameter `p`, recorded as a scalar or as an array."""
    value = w.name(p.name, _type(p))
    (w.names if p.rank is None else w.places)[p.name] = value
    return value


def _type(p: ir.Param) -> str:
    """The MLIR type; of an array, an alias: ``!f64x2u1`` has two axes, axis 1 with unit stride."""
    element = element_type(p.dtype)
    if p.rank is None:
        return element
    return f"!{element}x{p.rank}" + (f"u{p.unit}" if p.unit is not None else "")


def _memref(p: ir.Param) -> str:
    """The memref type of the array `p`, with the strides that are known."""
    assert p.rank is not None
    strides = ", ".join("1" if axis == p.unit else "?" for axis in range(p.rank))
    return f"memref<{'?x' * p.rank}{element_type(p.dtype)}, strided<[{strides}], offset: ?>>"


def _guarded(first: int, w: MlirBuilder, extents: dict[str, MemoryExtent]) -> list[str]:
    """The MLIR value of the status: that of the first failing guard from number `first` on, or that
    of the body if all hold.

    A guard that reads memory is evaluated only if the guards before it hold. ``extents``: as for
    `disjoint_check`.
    """
    guards = w.kernel.guards
    if first == len(guards):
        w.names[STATE] = w.integer(0)
        return emit_block(
            w, w.kernel.body, lambda: state_values(w, [STATE]), lambda: state_values(w, [STATE])
        )
    memory_readers = (k for k in range(first + 1, len(guards)) if _reads_memory(guards[k]))
    last = next(memory_readers, len(guards))
    flags = [_guard_value(g, w, extents) for g in guards[first:last]]
    failed = w.integer(0)
    for k in reversed(range(first, last)):
        code = w.integer((k + 1) << GUARD_SHIFT)
        failed = w.call("select", (flags[k - first], failed, code), INDEX, INDEX)
    all_hold = w.call("eq", (failed, w.integer(0)), INDEX, "bool")
    return w.choose(all_hold, lambda: _guarded(last, w, extents), lambda: [failed])


def _reads_memory(n: ir.Node) -> bool:
    """Whether `n` contains a load."""
    return any(isinstance(x, ir.Load) for x in walk(n))


def _guard_value(
    g: ir.Guard | ir.Disjoint, w: MlirBuilder, extents: dict[str, MemoryExtent]
) -> str:
    """The condition that the guard `g` holds."""
    match g:
        case ir.Guard(cond):
            return w.value(cond)
        case ir.Disjoint():
            return disjoint_check(g, w, extents)
        case _:
            return assert_never(g)


def _indented(lines: list[str]) -> str:
    """The lines as text, indented by their braces; block labels are one level less."""
    depth, out = 0, []
    for line in lines:
        depth -= line.startswith("}")
        out.append("  " * (depth - line.startswith("^")) + line)
        depth += line.endswith(("{", "({"))
    return "\n".join(out) + "\n"
