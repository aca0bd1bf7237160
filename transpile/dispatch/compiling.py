"""Compiling for one call signature: the stages, the C compiler, loading; or the kept result."""
from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from types import FunctionType

from loopir.nodes import Disjoint, Kernel
from targets.build import BuildError, NoCompiler, build
from targets.host import available
from targets.isa import Target
from targets.load import load, prepare
from targets.select import c_text

from .. import knobs
from ..options import Options, chosen_target
from ..plan import Plan
from ..rejections import Refused, Rejection
from ..stages import Stages, compile_stages
from ..types import ArgType
from . import recipe
from .contract import Contract, Parameter, alone, paired, strided, weak
from .variant import Variant

__all__ = ["compile_variant", "contract_of", "rejection_of"]

_log = logging.getLogger(__name__)


def contract_of(plan: Plan, kernel: Kernel) -> Contract:
    """What `plan` and the legal kernel made of it agree on with their caller."""
    guards = kernel.guards
    return Contract(
        params=tuple(
            Parameter(p.name, p.dtype, p.rank, p.unit, p.written, p.steps) for p in kernel.params
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
    """Compiles `function` for arguments of these types; what it gives is to be attached.

    ``telling``: to tell which operations raise, in Python's order. Raises Refused, NoCompiler and
    BuildError.
    """
    clock = _Clock()
    target = chosen_target(options, settings)
    if telling:
        options = replace(options, reassociate=False, fusion=False)
    stages = compile_stages(function, types, options, target.model, telling=telling)
    if target not in available():
        raise BuildError(f"this machine does not run code for {target.name}")
    plan, kernel = stages.plan, stages.legal(target)
    text = c_text(plan.kernel, kernel, target)
    clock.lap("stages")
    _tell(settings, stages, kernel, text, target)
    clock.lap("knobs")
    prepare()
    path = build(text, target, cache=options.cache, contract=options.fma)
    clock.lap("build")
    contract = contract_of(plan, kernel)
    entry = load(
        path, contract, weak=weak(contract), strided=strided(contract), paired=paired(contract),
        alone=alone(contract),
    )
    fast = entry.fast
    if settings.check:
        from .check import checked

        fast = checked(fast, kernel)
    clock.lap("load")
    if "time" in settings.debug:
        clock.tell(stages.source.qualname)
    if options.cache and not telling:
        recipe.keep(function, types, options, target.full_name, contract, entry)
    return Variant(function, contract, fast, entry=None if settings.check else entry)


def _tell(
    settings: knobs.Knobs, stages: Stages, kernel: Kernel, text: str, target: Target
) -> None:
    if settings.debug or settings.dump:
        from .trace import trace

        trace(settings, stages, kernel, text, target)
    if settings.check:
        from .check import verify_stages

        verify_stages(stages, kernel)


class _Clock:
    """The time each step takes, in milliseconds."""

    def __init__(self) -> None:
        self._steps: list[str] = []
        self._last = perf_counter()

    def lap(self, step: str) -> None:
        """Ends a step."""
        now = perf_counter()
        self._steps.append(f"{step} {(now - self._last) * 1e3:.1f} ms")
        self._last = now

    def tell(self, name: str) -> None:
        """Prints the steps, for ``TRANSPILE_DEBUG=time``."""
        print(f"# {name}: {', '.join(self._steps)}", file=sys.stderr)


def rejection_of(error: Exception) -> Rejection:
    """Why there is no variant: what `compile_variant` raised, as data."""
    match error:
        case Refused():
            return error.rejection
        case NoCompiler():
            return Rejection("BUILD_NO_COMPILER", str(error), help=error.help)
        case BuildError():
            message, _, said = str(error).partition("\n")
            return Rejection("BUILD_FAILED", message.rstrip(":"), note=said or None)
        case RecursionError():
            message = "the function is nested too deeply, or has expressions of too many terms"
            return Rejection("LOWER_UNSUPPORTED", message, help="write it as several statements")
        case _:
            _log.warning("transpile failed", exc_info=error)
            message = f"transpile itself failed: {type(error).__name__}: {error}"
            help = "this is a bug of transpile; please report it with the function"
            return Rejection("BUILD_FAILED", message.partition("\n")[0], help=help)
