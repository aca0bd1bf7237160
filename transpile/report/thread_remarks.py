"""Thread remarks of a report: which loops several threads run, from how many elements; why not."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from loopir.analysis.parallelism import parallel_loops
from loopir.analysis.work_estimate import elements_worth
from loopir.nodes import Kernel, LoopLike, Span
from loopir.passes.parallel.parallelize import loops_left_serial
from targets.abi.pool_control import pool_counts
from targets.abi.thread_pool import why_no_pool
from targets.region_costs import COUNTING_FIRST, FIRST_RATE, PAYS_ASLEEP

from ..pipeline import Compilation
from ..thread_limits import threads
from .loop_report import LoopInfo
from .user_terms import UserTerms

__all__ = ["elements_for_threads", "missing_threads", "with_threads"]

InnermostLoops = Callable[[LoopLike], Iterator[LoopLike]]


def elements_for_threads(legal: Kernel, innermost: InnermostLoops) -> Mapping[int, int]:
    """From about how many elements in a call on a second thread pays, by the ``id`` of the loop:
    for each innermost loop of `legal` that several threads may run, or that is in such a loop. The
    numbers are for a first call, before any was measured (`FIRST_RATE`), and a thread that has to
    be woken (`PAYS_ASLEEP`). In calls in quick succession, when the thread is awake, about an
    eighth is enough. ``innermost``: yields the innermost loops in a loop.
    """
    found: dict[int, int] = {}
    for n in parallel_loops(legal):
        for loop in innermost(n):
            passes = COUNTING_FIRST if n.accs else 1.0  # it appends
            found[id(loop)] = elements_worth(n, loop, passes * PAYS_ASLEEP / FIRST_RATE)
    return found


def with_threads(
    loops: Sequence[LoopInfo], stages: Compilation, terms: UserTerms, innermost: InnermostLoops
) -> Iterator[LoopInfo]:
    """`loops` with the most threads that a call may use now, or with the reason why only one thread
    runs them. No reason is given for a search (``until``) that was split off a loop which several
    threads run. ``innermost``: as in `elements_for_threads`.
    """
    reasons: dict[Span, str] = {}
    several = {info.span for info in loops if info.threads_from}
    for outermost, reason in loops_left_serial(stages.kernel, stages.plan.fresh_arrays):
        is_search = getattr(outermost, "until", None) is not None
        for loop in innermost(outermost):
            if loop.span is not None and not (is_search and loop.span in several):
                reasons.setdefault(loop.span, terms.sentence(reason, "an intermediate result"))
    limit, own = threads().limit, stages.options.most_threads
    most = min(limit, own) if own else limit
    for info in loops:
        reason = reasons.get(info.span, "")  # a loop may have become several loops
        elements = 0 if reason else info.threads_from
        most_here = most if elements else 1
        yield replace(info, most_threads=most_here, threads_from=elements, one_thread=reason)


def missing_threads(loops: Sequence[LoopInfo]) -> str:
    """Why there are no threads for `loops`, in words; empty if there are some, or none is needed.
    """
    if all(loop.most_threads < 2 for loop in loops):
        return ""
    if why := why_no_pool():
        return f"one, since the thread pool could not be built: {why}"
    counts = pool_counts()
    if counts is not None and counts.failed and not counts.workers:
        return "one, since no other could be started: a limit of processes or of memory"
    return ""
