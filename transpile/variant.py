"""One compiled form of a function: made for one call signature, and for what its names mean."""
from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from types import CellType, FunctionType
from typing import Any

import numpy as np

from loopir.nodes import Disjoint, Kernel
from targets.build import BuildError, NoCompiler, build
from targets.c import emit
from targets.host import available, best
from targets.isa import TARGETS, Target
from targets.load import load

from . import knobs
from .floats import judge
from .options import Options
from .plan import Argument
from .rejections import Refused, Rejection
from .signature import parameters
from .stages import Stages, compile_stages
from .standin import Values
from .types import ArgType, ScalarType
from .wrapper import Saved, applies, strided, weak, wrapper

__all__ = ["Variant", "chosen_target", "compile_variant", "rejection_of"]

_log = logging.getLogger(__name__)

FLOAT_STATUS = 1 << 8
"""Statuses below it are bits of a kernel that ran; those above number the guard that failed."""


Other = Callable[["Variant", str, Values], Callable[..., Any]]


@dataclass(slots=True, eq=False)
class Variant:
    """A kernel that can be called, and the stages it came through.

    ``call`` stands in for `function`; ``applies()`` tells whether the names that the plan relies on
    still mean what they did. ``kernel`` is the plan's, in registers of ``target``.
    """

    function: FunctionType
    stages: Stages
    target: Target
    kernel: Kernel
    applies: Callable[[], bool]
    call: FunctionType = field(init=False)

    def attach(self, fast: Callable[..., int], other: Other, calls: CellType) -> None:
        """Makes ``call``, of a loaded kernel; `other` and `calls` as `wrapper` has them."""
        self.call = wrapper(
            self.function,
            self.stages.plan,
            self.kernel,
            fast,
            other=lambda code, values: other(self, code, values),
            why=self._why,
            calls=calls,
        )

    def _why(self, status: int, given: tuple[Any, ...], saved: Saved) -> str | None:
        """What a status means: the code of a replay, "" for another signature; None: all is well.

        For a replay, what the kernel has overwritten is put back where there are copies.
        """
        if status < 0:
            return ""
        if status >= FLOAT_STATUS:
            guard = self.kernel.guards[(status >> 8) - 1]
            return "GUARD_ALIAS" if isinstance(guard, Disjoint) else guard.code
        again = bool(saved) or not (self.stages.plan.rewrites or self._in_place(given))
        code = judge(self.stages.plan, self.function, status, again=again)
        for array, copy in saved if code else ():
            array[...] = copy
        return code

    def _in_place(self, given: tuple[Any, ...]) -> bool:
        """Whether an array that is written was also given as another, which may be read."""
        arrays = dict(zip((p.name for p in self.kernel.params), given, strict=True))
        pairs = (g for g in self.kernel.guards if isinstance(g, Disjoint) and g.or_same)
        return any(np.may_share_memory(arrays[g.a], arrays[g.b]) for g in pairs)

    def mismatch(self, given: Sequence[object]) -> str:
        """Why arguments of the right types were turned down."""
        plan = self.stages.plan
        values = dict(zip(parameters(self.function.__code__), given, strict=True))
        arguments = [b for b in plan.bindings if isinstance(b, Argument)]
        for b in arguments:
            value = values[b.name]
            frozen = isinstance(value, np.ndarray) and not value.flags.writeable
            if frozen and b.name in plan.writes:
                return "GUARD_READONLY"
        integers = (values[b.name] for b in arguments if b.type == ScalarType("i64", weak=True))
        if any(isinstance(v, int) and not -(1 << 63) <= v < 1 << 63 for v in integers):
            return "GUARD_INT_RANGE"
        return "GUARD_RAISES"  # where an array was to be made


def chosen_target(options: Options, settings: knobs.Knobs) -> Target:
    """The option's target; for auto what ``TRANSPILE_TARGET`` says, or this machine's best.

    Raises ValueError where the variable does not name a target.
    """
    name = options.target if options.target != "auto" else settings.target
    if name == "auto":
        return best()
    if name not in TARGETS:
        raise ValueError(f"TRANSPILE_TARGET: no target {name!r} (known: {', '.join(TARGETS)})")
    return TARGETS[name]


def compile_variant(
    function: FunctionType,
    types: Mapping[str, ArgType],
    options: Options,
    settings: knobs.Knobs,
) -> tuple[Variant, Callable[..., int]]:
    """Compiles `function` for arguments of these types; what it gives is to be attached.

    Raises Refused, NoCompiler and BuildError.
    """
    clock = Clock()
    stages = compile_stages(function, types, options)
    target = chosen_target(options, settings)
    if target not in available():
        raise BuildError(f"this machine does not run code for {target.name}")
    plan, kernel = stages.plan, stages.legal(target)
    text = emit(kernel, target)
    clock.lap("stages")
    _tell(settings, stages, kernel, text, target)
    clock.lap("knobs")
    path = build(text, target, cache=options.cache)
    clock.lap("build")
    fast = load(path, kernel, weak=weak(plan), strided=strided(plan)).fast
    if settings.check:
        from .check import checked

        fast = checked(fast, kernel)
    clock.lap("load")
    if "time" in settings.debug:
        clock.tell(stages.source.qualname)
    return Variant(function, stages, target, kernel, applies(function, plan)), fast


def _tell(
    settings: knobs.Knobs, stages: Stages, kernel: Kernel, text: str, target: Target
) -> None:
    if settings.debug or settings.dump:
        from .trace import trace

        trace(settings, stages, kernel, text, target)
    if settings.check:
        from .check import verify_stages

        verify_stages(stages, kernel)


class Clock:
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
            help = "pip install ziglang brings a compiler, without root"
            return Rejection("BUILD_NO_COMPILER", str(error), help=help)
        case BuildError():
            message, _, said = str(error).partition("\n")
            return Rejection("BUILD_FAILED", message.rstrip(":"), note=said or None)
        case _:
            _log.warning("transpile failed", exc_info=error)
            message = f"transpile itself failed: {type(error).__name__}: {error}"
            help = "this is a bug of transpile; please report it with the function"
            return Rejection("BUILD_FAILED", message.partition("\n")[0], help=help)
