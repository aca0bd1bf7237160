"""Copies of arguments: whether a call copies the arrays that its kernel writes, and which."""
from __future__ import annotations

from dataclasses import replace

from loopir.analysis.arithmetic_intensity import copies_are_cheap
from loopir.analysis.mod_ref import arrays_read
from loopir.nodes import Kernel
from loopir.passes.checks.hoist_checks import checks_before_writing

from ..call_plan import CHEAP_COPY_BYTES, NO_COPY_LIMIT, Plan

__all__ = ["with_copies_decided"]


def with_copies_decided(plan: Plan, kernel: Kernel, fused: Kernel) -> Plan:
    """`plan` with copies as `kernel` needs them, the result of all passes on `fused`.

    No copies are made for a kernel that decides to replay before it writes anything. A kernel that
    reads no array that it writes can run again on what it has written.
    """
    rewrites = plan.rewrites and not arrays_read(kernel.body).isdisjoint(plan.writes)
    snapshot = plan.snapshot and (plan.has_unknown_messages or not checks_before_writing(kernel))
    copied_up_to = plan.copied_up_to
    if len(plan.sources) > 1 and plan.writes:  # only a replay shows which source warns first
        is_cheap = plan.raised_order is not None or copies_are_cheap(fused, plan.writes)
        copied_up_to = max(copied_up_to, NO_COPY_LIMIT if is_cheap else CHEAP_COPY_BYTES)
    return replace(plan, rewrites=rewrites, snapshot=snapshot, copied_up_to=copied_up_to)
