"""Copies of arguments: which calls copy the arrays that the kernel writes, by the final kernel."""
from __future__ import annotations

from loopir.analysis.mod_ref import arrays_read
from loopir.analysis.work_estimate import copies_are_cheap
from loopir.lazy_dataclass import replace
from loopir.nodes import Kernel
from loopir.passes.checks.hoist_checks import checks_before_writing

from ..call_plan import CHEAP_COPY_BYTES, NO_COPY_LIMIT, Plan

__all__ = ["with_copies_decided"]


def with_copies_decided(plan: Plan, kernel: Kernel, fused: Kernel) -> Plan:
    """`plan` with three fields decided anew by what is left after all passes: `kernel` is the final
    kernel, `fused` the one before the passes. Which arrays are meant, ``plan.writes``, is decided
    in `assemble_plan`, whose table of cases has these fields, too. `python_wrapper._snapshot` makes
    the condition of a call from them, and `judge_and_restore` puts the copies back.

    - ``rewrites``: False if the kernel reads none of ``plan.writes`` any more, so that Python can
      run on what it has written;
    - ``snapshot``: False if all checks come before the first write (`checks_before_writing`),
      unless a warning has a message that only Python knows;
    - ``copied_up_to``: raised if several operations may warn (``plan.sources``), since only a
      replay shows which of them warns first. It becomes `NO_COPY_LIMIT` if copies cost little
      compared with the work of the kernel (`copies_are_cheap` of `fused`, whose scalar loops show
      the work), and for a recording kernel, which only runs in calls that warn; else
      `CHEAP_COPY_BYTES`. A call obeys it only if the kernel reads what it writes (`_snapshot`).
    """
    rewrites = plan.rewrites and not arrays_read(kernel.body).isdisjoint(plan.writes)
    snapshot = plan.snapshot and (plan.has_unknown_messages or not checks_before_writing(kernel))
    copied_up_to = plan.copied_up_to
    if len(plan.sources) > 1 and plan.writes:
        is_cheap = plan.raised_order is not None or copies_are_cheap(fused, plan.writes)
        copied_up_to = max(copied_up_to, NO_COPY_LIMIT if is_cheap else CHEAP_COPY_BYTES)
    return replace(plan, rewrites=rewrites, snapshot=snapshot, copied_up_to=copied_up_to)
