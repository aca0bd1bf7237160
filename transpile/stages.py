"""One function under one call signature, through every stage; each is kept, and each can be run."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from loopir.analysis.effort import dear_to
from loopir.analysis.memory import loaded
from loopir.machine import COMMON, Machine
from loopir.nodes import Kernel
from loopir.passes.ahead import asks_first
from loopir.passes.pipeline import optimise
from loopir.record import record
from targets.isa import Target

from .decisive import settled
from .fusion import Fusion, fuse_kernel
from .fusion.registers import in_registers
from .inlining import Inliner, joined, told, with_homes
from .lower import lower
from .lower.in_order import keep_order
from .macros import Context, expand, registered
from .macros.driver import expand_only
from .macros.mapped import mapped
from .macros.objects import held_type
from .options import Options
from .plan import ALL_BYTES, FEW_BYTES, Plan
from .rejections import Refused
from .relied import relying
from .scope import Origin, Scope
from .signature import outer_type
from .source import Source, read
from .types import ArgType, Constant, GeneratorType, ListType

__all__ = ["CallEnv", "Stages", "compile_stages"]


@record(frozen=True, slots=True)
class Stages:
    """What each stage made of a function.

    ``python``: core Python, after the macros; ahead of it stands what inlined functions know.
    ``lowered``: the plan as lowered; ``plan``: after fusion. ``passes``: the
    kernel after each pass that changed it. ``vector``: after the last, with abstract width.
    """

    source: Source
    types: Mapping[str, ArgType]
    options: Options
    python: ast.FunctionDef
    lowered: Plan
    fusion: Fusion
    plan: Plan
    passes: tuple[tuple[str, Kernel], ...]
    vector: Kernel

    @property
    def scalar(self) -> Kernel:
        """The kernel as lowered."""
        return self.lowered.kernel

    def legal(self, target: Target) -> Kernel:
        """The kernel in registers of `target`."""
        from targets.legalize import legalize

        return legalize(self.vector, target)

    def c(self, target: Target, *, marked: bool = False) -> str:
        """The kernel as C for `target`; ``marked`` with comments that say where it comes from."""
        from targets.select import c_text

        return c_text(self.plan.kernel, self.legal(target), target, marked=marked)

    @property
    def plain(self) -> Kernel:
        """The fused kernel in its simplest form, still scalar."""
        from loopir.passes.canonical import canonical
        from loopir.passes.promote import promote
        from loopir.passes.simplify import simplify

        return simplify(promote(simplify(canonical(self.plan.kernel))))

    def mlir(self) -> str:
        """The kernel, still scalar, as MLIR."""
        from targets.mlir import emit

        return emit(self.plain, reassociate=self.options.reassociate)


@record(slots=True)
class CallEnv:
    """What macros ask of a call signature."""

    types: Mapping[str, ArgType]
    scope: Scope

    def resolve(self, expr: ast.expr) -> object | None:
        return self.scope.resolve(expr)

    def type(self, expr: ast.expr) -> ArgType | None:
        if isinstance(expr, ast.Name) and expr.id in self.types:
            return self.types[expr.id]
        if (held := held_type(expr, self.types)) is not None:
            return held
        value = self.scope.resolve(expr)
        known = isinstance(value, (int, float, complex, np.generic, np.ndarray))
        if value is None and isinstance(expr, ast.Name):
            known = self.scope.find(expr.id)[0] in (Origin.CLOSURE, Origin.GLOBAL)
        ty = outer_type(value)
        known = known or isinstance(ty, (ListType, GeneratorType))
        return ty if known or (isinstance(ty, Constant) and value is not None) else None


def compile_stages(
    function: Callable[..., Any] | Source,
    types: Mapping[str, ArgType],
    options: Options,
    machine: Machine = COMMON,
    *,
    telling: bool = False,
) -> Stages:
    """Every stage before the target's own, with loops cut to fit `machine`.

    ``telling``: as for `lower`. Raises Refused where the function cannot be compiled faithfully.
    """
    source = settled(function if isinstance(function, Source) else read(function), types)
    scope = Scope.of(source.function) if source.function is not None else Scope()
    env = CallEnv(types, scope)
    theirs = registered()
    said = expand_only(theirs, source.tree, env) if theirs else source.tree
    said = mapped(said, scope.resolve)
    inliner = Inliner(replace(source, tree=said), env, scope, types, theirs, options)
    try:
        called = inliner.whole()
        env.scope = inliner.scope

        def late(node: ast.AST, cx: Context) -> ast.expr | None:
            made = inliner.late(node, cx)
            env.scope = inliner.scope  # of what is known since
            return made

        python = expand(called, env, late, changed=inliner.written)
        if not options.reassociate:
            keep_order(python)
        plan = lower(python, types, inliner.scope, telling=telling)
    except Refused as refused:
        raise told(refused, inliner) from None
    plan = relying(joined(plan, inliner), called, inliner.scope)
    kernel, gone = in_registers(plan.kernel, plan.temporaries)
    fusion = fuse_kernel(
        kernel,
        enabled=options.fusion,
        allow_control_flow_simple=options.allow_control_flow_simple,
        allow_broadcast_identity=options.allow_broadcast_identity,
        temporaries=plan.temporaries,
        private=plan.made,
        drawn=plan.drawn,
    )
    fusion = replace(fusion, contracted=gone + fusion.contracted)
    passes: list[tuple[str, Kernel]] = []
    vector = optimise(
        fusion.kernel,
        machine,
        reassociate=options.reassociate,
        on_pass=lambda name, k: passes.append((name, k)),
    )
    fused = _settled(plan, fusion, vector)
    python = with_homes(python, plan.homes)
    return Stages(source, types, options, python, plan, fusion, fused, tuple(passes), vector)


def _settled(plan: Plan, fusion: Fusion, vector: Kernel) -> Plan:
    """`plan` for the fused kernel: contracted temporaries are not allocated, and what is read only
    after it was written, in the same iteration, is not read at all; and no copies are made for a
    kernel that asks Python before it writes.
    """
    rewrites = plan.rewrites and not loaded(vector.body).isdisjoint(plan.writes)
    snapshot = plan.snapshot and (plan.wordless or not asks_first(vector))
    bindings = tuple(b for b in plan.bindings if b.name not in fusion.contracted)
    several = len(plan.sources) > 1 and bool(plan.writes)
    cheap = plan.told is not None or dear_to(fusion.kernel, plan.writes)
    copied_up_to = max(plan.copied_up_to, several * (ALL_BYTES if cheap else FEW_BYTES))
    return replace(
        plan, kernel=fusion.kernel, bindings=bindings, rewrites=rewrites, snapshot=snapshot,
        copied_up_to=copied_up_to,
    )
