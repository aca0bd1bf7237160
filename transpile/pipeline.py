"""Compilation pipeline: one function under one call signature, through every stage.

The output of each stage is kept, and each can be run.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from loopir.analysis.arithmetic_intensity import copies_are_cheap
from loopir.analysis.mod_ref import arrays_read
from loopir.fusion import Fusion, fuse_kernel
from loopir.fusion.array_contraction import scalarize_arrays
from loopir.lazy_dataclass import record
from loopir.machine_model import DEFAULT_MACHINE, Machine
from loopir.nodes import Kernel
from loopir.passes.checks.hoist_checks import checks_before_writing
from loopir.passes.pass_list import optimise
from targets.isa.target_registry import Target

from .analysis.call_env import CallEnv
from .call_plan import CHEAP_COPY_BYTES, NO_COPY_LIMIT, Plan
from .diagnostics import Refused
from .expand import Context, expand, expand_only, registered
from .frontend.inline import Inliner, bind_captures, plan_with_captures, refusal_in_source
from .frontend.inline.specialize import substitute_values
from .frontend.language.comprehensions import map_to_generators
from .frontend.name_resolution import Scope
from .frontend.source import Source, read_source
from .lower import lower
from .lower.binding_guards import with_binding_guards
from .lower.lower_function import refuse_ordered_folds
from .options import Options
from .types.value_types import ArgType

__all__ = ["Stages", "compile_stages"]


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
        from targets.legalization.legalize import legalize

        return legalize(self.vector, target)

    def c(self, target: Target, *, marked: bool = False) -> str:
        """The kernel as C for `target`; ``marked`` with comments that say where it comes from."""
        from targets.kernel_selection import emit_translation_unit

        return emit_translation_unit(self.plan.kernel, self.legal(target), target, marked=marked)

    @property
    def plain(self) -> Kernel:
        """The fused kernel in its simplest form, still scalar."""
        from loopir.passes.canonical.canonicalize_loops import canonicalize_loops
        from loopir.passes.canonical.simplify import simplify
        from loopir.passes.memory.promote import promote

        return simplify(promote(simplify(canonicalize_loops(self.plan.kernel))))

    def mlir(self) -> str:
        """The kernel, still scalar, as MLIR."""
        from targets.mlir import emit

        return emit(self.plain, reassociate=self.options.reassociate)


def compile_stages(
    function: Callable[..., Any] | Source,
    types: Mapping[str, ArgType],
    options: Options,
    machine: Machine = DEFAULT_MACHINE,
    *,
    telling: bool = False,
) -> Stages:
    """Every stage before the target's own, with loops cut to fit `machine`.

    ``telling``: as for `lower`. Raises Refused where the function cannot be compiled faithfully.
    """
    source = substitute_values(
        function if isinstance(function, Source) else read_source(function), types
    )
    scope = Scope.of(source.function) if source.function is not None else Scope()
    env = CallEnv(types, scope)
    theirs = registered()
    said = expand_only(theirs, source.tree, env) if theirs else source.tree
    said = map_to_generators(said, scope.resolve)
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
            refuse_ordered_folds(python)
        plan = lower(python, types, inliner.scope, telling=telling)
    except Refused as refused:
        raise refusal_in_source(refused, inliner) from None
    plan = with_binding_guards(plan_with_captures(plan, inliner), called, inliner.scope)
    kernel, gone = scalarize_arrays(plan.kernel, plan.temporaries)
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
    fused = _plan_after_fusion(plan, fusion, vector)
    python = bind_captures(python, plan.homes)
    return Stages(source, types, options, python, plan, fusion, fused, tuple(passes), vector)


def _plan_after_fusion(plan: Plan, fusion: Fusion, vector: Kernel) -> Plan:
    """`plan` for the fused kernel: contracted temporaries are not allocated, and what is read only
    after it was written, in the same iteration, is not read at all; and no copies are made for a
    kernel that asks Python before it writes.
    """
    rewrites = plan.rewrites and not arrays_read(vector.body).isdisjoint(plan.writes)
    snapshot = plan.snapshot and (plan.wordless or not checks_before_writing(vector))
    bindings = tuple(b for b in plan.bindings if b.name not in fusion.contracted)
    several = len(plan.sources) > 1 and bool(plan.writes)
    cheap = plan.told is not None or copies_are_cheap(fusion.kernel, plan.writes)
    copied_up_to = max(plan.copied_up_to, several * (NO_COPY_LIMIT if cheap else CHEAP_COPY_BYTES))
    return replace(
        plan, kernel=fusion.kernel, bindings=bindings, rewrites=rewrites, snapshot=snapshot,
        copied_up_to=copied_up_to,
    )
