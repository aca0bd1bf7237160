"""Compilation for one call signature: pipeline, C compiler, loading.

`dispatcher` calls `compile_variant` where `disk_cache` has no stored variant.
"""
from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from types import FunctionType

from loopir.nodes import Disjoint, Kernel
from targets.abi.load_kernel import build_in_background, load_kernel
from targets.build.build_kernel import BuildError, NoCompiler, build_kernel
from targets.isa.target_registry import Target, runnable_targets
from targets.kernel_selection import emit_translation_unit

from .. import knobs
from ..call_plan import (
    Contract,
    KernelParameter,
    Plan,
    complex_params,
    keeps_gil,
    python_scalar_params,
    strided_params,
)
from ..diagnostics import Refused, Rejection
from ..options import Options, chosen_target
from ..pipeline import Stages, compile_stages
from ..types.value_types import ArgType
from . import disk_cache
from .compiled_variant import Variant

__all__ = ["compile_variant", "make_contract", "rejection_of"]

_log = logging.getLogger(__name__)


def make_contract(plan: Plan, kernel: Kernel) -> Contract:
    """The contract between a kernel and its caller: what `plan` and the legal `kernel` agree on."""
    guards = kernel.guards
    return Contract(
        params=tuple(
            KernelParameter(p.name, p.dtype, p.rank, p.unit, p.written, p.steps)
            for p in kernel.params
        ),
        guards=tuple("GUARD_ALIAS" if isinstance(g, Disjoint) else g.code for g in guards),
        in_place=tuple((g.a, g.b) for g in guards if isinstance(g, Disjoint) and g.or_same),
        strict=kernel.strict,
        bindings=plan.bindings,
        returned=plan.returned,
        refs=plan.refs,
        given=plan.given,
        objects=plan.objects,
        writes=plan.writes,
        rewrites=plan.rewrites,
        snapshot=plan.snapshot,
        copied_up_to=plan.copied_up_to,
        sources=plan.sources,
        told=plan.told,
        homes=plan.homes,
        short=plan.short,
    )


def compile_variant(
    function: FunctionType,
    types: Mapping[str, ArgType],
    options: Options,
    settings: knobs.Knobs,
    *,
    telling: bool = False,
) -> Variant:
    """Compile `function` for arguments of these types. The caller attaches the variant to its
    dispatcher.

    ``telling``: the kernel records which operations raised float flags, in Python's order. Raises
    Refused, NoCompiler and BuildError.
    """
    clock = _Clock()
    target = chosen_target(options, settings)
    if telling:
        options = replace(options, reassociate=False, fusion=False)
    stages = compile_stages(function, types, options, target.model, telling=telling)
    if target not in runnable_targets():
        raise BuildError(f"this machine does not run code for {target.name}")
    plan, kernel = stages.plan, stages.legal(target)
    text = emit_translation_unit(plan.kernel, kernel, target)
    clock.lap("stages")
    _print_and_verify(settings, stages, kernel, text, target)
    clock.lap("knobs")
    build_in_background()
    path = build_kernel(text, target, cache=options.cache, contract=options.fma)
    clock.lap("build")
    contract = make_contract(plan, kernel)
    entry = load_kernel(
        path,
        contract,
        weak=python_scalar_params(contract),
        strided=strided_params(contract),
        paired=complex_params(contract),
        alone=keeps_gil(contract),
    )
    fast = entry.fast
    if settings.check:
        from .differential_check import compare_first_call

        fast = compare_first_call(fast, kernel)
    clock.lap("load")
    if "time" in settings.debug:
        clock.tell(stages.source.qualname)
    if options.cache and not telling:
        disk_cache.store_variant(function, types, options, target.full_name, contract, entry)
    return Variant(function, contract, fast, entry=None if settings.check else entry)


def _print_and_verify(
    settings: knobs.Knobs, stages: Stages, kernel: Kernel, text: str, target: Target
) -> None:
    if settings.debug or settings.dump:
        from ..trace import trace

        trace(settings, stages, kernel, text, target)
    if settings.check:
        from .differential_check import verify_stages

        verify_stages(stages, kernel)


class _Clock:
    """The time of each step, in milliseconds."""

    def __init__(self) -> None:
        self._steps: list[str] = []
        self._last = perf_counter()

    def lap(self, step: str) -> None:
        """End a step."""
        now = perf_counter()
        self._steps.append(f"{step} {(now - self._last) * 1e3:.1f} ms")
        self._last = now

    def tell(self, name: str) -> None:
        """Print the steps, for ``TRANSPILE_DEBUG=time``."""
        print(f"# {name}: {', '.join(self._steps)}", file=sys.stderr)


def rejection_of(error: Exception) -> Rejection:
    """The exception that `compile_variant` raised, as a Rejection."""
    match error:
        case Refused():
            return error.rejection
        case NoCompiler():
            return Rejection("BUILD_NO_COMPILER", str(error), help=error.help)
        case BuildError():
            message, _, output = str(error).partition("\n")
            return Rejection("BUILD_FAILED", message.rstrip(":"), note=output or None)
        case RecursionError():
            message = "the function is nested too deeply, or has expressions of too many terms"
            return Rejection("LOWER_UNSUPPORTED", message, help="write it as several statements")
        case _:
            _log.warning("transpile failed", exc_info=error)
            message = f"transpile itself failed: {type(error).__name__}: {error}"
            help = "this is a bug of transpile; please report it with the function"
            return Rejection("BUILD_FAILED", message.partition("\n")[0], help=help)
