"""Kernel interface of a finished kernel: what a call needs of its plan, and of its parameters.

The classes are in `call_plan`. A process that takes its kernels from the disk cache has their
interfaces from there, and does not import Loop IR.
"""
from __future__ import annotations

from loopir.nodes import Disjoint, Kernel

from ..call_plan import KernelInterface, KernelParameter, Plan

__all__ = ["make_interface"]


def make_interface(
    plan: Plan, kernel: Kernel, exact_up_to: int | None = None,
    exact_arguments: tuple[int, ...] | None = None,
) -> KernelInterface:
    """The interface of `kernel`, the final Loop IR of the kernel of `plan`. The other parameters
    are fields of `KernelInterface`.
    """
    guards = kernel.guards
    return KernelInterface(
        params=tuple(
            KernelParameter(p.name, p.dtype, p.rank, p.unit, p.written, p.steps, p.aligned)
            for p in kernel.params
        ),
        guards=tuple("GUARD_ALIAS" if isinstance(g, Disjoint) else g.code for g in guards),
        in_place=tuple((g.a, g.b) for g in guards if isinstance(g, Disjoint) and g.or_same),
        strict=kernel.strict,
        bindings=plan.bindings,
        returned=plan.returned,
        identity_guards=plan.identity_guards,
        constant_arguments=plan.constant_arguments,
        class_guards=plan.class_guards,
        writes=plan.writes,
        rewrites=plan.rewrites,
        snapshot=plan.snapshot,
        copied_up_to=plan.copied_up_to,
        sources=plan.sources,
        raised_order=plan.raised_order,
        captures=plan.captures,
        overflow_slot=plan.overflow_slot,
        exact_up_to=exact_up_to,
        exact_arguments=exact_arguments,
    )
