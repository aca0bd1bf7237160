"""Compilation pipeline: the list of all stages, from the source of a function to its callable.

``STAGES`` is the only list: debug output, dumps, checks, bisect and the command go through it.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from loopir.fusion import Fusion, fuse_kernel
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record, replace
from loopir.machine_model import DEFAULT_MACHINE, Machine
from loopir.nodes import Expr, Kernel, PredLoop, VecLoop
from loopir.passes import pass_list
from loopir.passes.pass_list import Pass, run_pass
from loopir.process.lazy_function import lazy_function
from targets.abi.load_kernel import LoadedKernel, build_in_background
from targets.build.build_kernel import build_kernel, wrong_target
from targets.isa.target_registry import Target, runnable_targets, runs_here
from targets.kernel_selection import KernelMatch, emit_translation_unit, match_kernel

from .analysis.call_env import CallEnv
from .call_plan import KernelInterface, Plan, load_interface
from .diagnostics import Refused
from .expand import Context, expand, expand_only, registered, replace_locals
from .frontend import inline
from .frontend.inline.inlining_state import CompileBudget
from .frontend.iterators.comprehensions import map_to_generators
from .frontend.name_resolution import Scope
from .frontend.source import Source, source_to_compile
from .frontend.specialize.value_specialization import substitute_values
from .lower.assemble_plan import with_copies_decided
from .lower.binding_guards import with_binding_guards
from .lower.exact_sizes import ExactSize, exact_size, has_other_bits, with_small_calls
from .lower.kernel_interface import make_interface
from .lower.lists.item_stores import NeedsMixedList
from .lower.lower_function import lower, refuse_ordered_folds
from .options import Options
from .types.value_types import ArgType, with_mixed_list

__all__ = [
    "CALLABLE", "CORE_PYTHON", "C_TEXT", "FUNCTION", "LOOP_IR", "OBJECT", "PORTABLE", "PYTHON",
    "STAGES", "TARGET_IR", "VECTOR_IR", "Compilation", "NamedStage", "Observer", "Stage",
    "compile_stages", "find_stages", "interface_of", "named_stages", "run_stages",
]

# the forms of a program; "vector IR" has vectors of abstract width, "target IR" registers
FUNCTION, PYTHON, CORE_PYTHON = "function", "Python", "core Python"
LOOP_IR, VECTOR_IR, TARGET_IR = "Loop IR", "vector IR", "target IR"
C_TEXT, OBJECT, CALLABLE = "C", "object", "callable"

_INPUTS = (
    "function", "options", "machine", "target", "recording", "fixes_globals", "marked", "may_wait",
    "make_callable", "budget",
)
_UNSET: Any = None  # the value of a field that no stage has set yet

# -- Steps that few functions need, imported when they first run
compile_tree = lazy_function(__package__, "frontend.compile_tree:compile_tree")
fill_in_first_loop = lazy_function("loopir.fusion", "zero_fills:fill_in_first_loop")
scalarize_arrays = lazy_function("loopir.fusion", "array_contraction:scalarize_arrays")
sum_up_elements = lazy_function("loopir.fusion", "zero_fills:sum_up_elements")
verify = lazy_function("loopir", "ir_verifier:verify")


@record(frozen=True, slots=True, kw_only=True)
class Compilation:
    """The state of one compilation: its inputs, and what the stages have made of them so far.

    Inputs: ``function`` (or its source), ``types`` of the parameters, ``options``, ``machine``
    (registers and caches), ``target`` (None: stop before its stages), ``recording`` and
    ``fixes_globals`` (see `lower`), ``marked`` (see `emit_translation_unit`), ``may_wait`` (see
    `load_kernel`), ``make_callable``, which the last stage calls, and the ``budget``, which the
    stages spend.

    Made by stages: ``tree`` is the current Python; ``called`` is the tree after inlining, in which
    free names are still the user's; ``python`` is core Python that can be run, since it first binds
    what inlined functions capture. ``plan`` is the current plan, and ``lowered`` the one before
    fusion. ``kernel`` is the current Loop IR, without registers of a target; ``target_kernel`` has
    them. ``passes`` has the kernel after each pass that changed it.
    """

    function: Callable[..., Any] | Source
    types: Mapping[str, ArgType]
    options: Options
    machine: Machine = DEFAULT_MACHINE
    target: Target | None = None
    recording: bool = False
    fixes_globals: bool = True
    marked: bool = False
    may_wait: bool = True
    make_callable: Callable[[Compilation], Any] | None = None
    budget: CompileBudget = field(default_factory=CompileBudget)

    source: Source = _UNSET
    scope: Scope = _UNSET
    env: CallEnv = _UNSET
    inlining: inline.Inlining = _UNSET
    tree: ast.FunctionDef = _UNSET
    called: ast.FunctionDef = _UNSET
    python: ast.FunctionDef = _UNSET
    lowered: Plan = _UNSET
    plan: Plan = _UNSET
    scalarized: tuple[str, ...] = ()  # the arrays that became scalars
    fusion: Fusion = _UNSET
    passes: tuple[tuple[str, Kernel], ...] = ()
    kernel: Kernel = _UNSET
    target_kernel: Kernel = _UNSET
    match: KernelMatch | None = None  # the hand-written kernel that is used; None: the generated
    c_text: str = _UNSET
    path: str = _UNSET  # of the shared object
    interface: KernelInterface = _UNSET
    entry: LoadedKernel = _UNSET
    variant: Any = _UNSET  # what ``make_callable`` has made

    @property
    def scalar(self) -> Kernel:
        """The kernel as lowered."""
        return self.lowered.kernel

    def legal(self, target: Target) -> Kernel:
        """The kernel in registers of `target`."""
        return self._for_target(target, stop_after="legalize").target_kernel

    def c(self, target: Target, *, marked: bool = False) -> str:
        """The kernel as C for `target`; ``marked`` with comments that say where it comes from."""
        return self._for_target(target, stop_after="emit", marked=marked).c_text

    def _for_target(self, target: Target, *, stop_after: str, marked: bool = False) -> Compilation:
        state = replace(self, target=target, marked=marked)
        return run_stages(state, start_after=PORTABLE, stop_after=stop_after)

    @property
    def plain(self) -> Kernel:
        """The fused kernel in its simplest form, still scalar."""
        kernel = pass_list.simplify(pass_list.canonicalize_loops(self.plan.kernel))
        simple: Kernel = pass_list.simplify(pass_list.promote(kernel))
        return simple

    def mlir(self) -> str:
        """The kernel, still scalar, as MLIR. Raises `targets.mlir.NoMlirForm`."""
        from targets.mlir import emit

        return emit(self.plain, reassociate=self.options.reassociate)


# -- Stages of the front end: from a function to core Python. What each does is said in STAGES.


def _read(s: Compilation) -> Compilation:
    source = source_to_compile(s.function)
    return replace(s, source=source, tree=source.tree)


def _specialize(s: Compilation) -> Compilation:
    source = substitute_values(s.source, s.types)
    scope = Scope.of(source.function) if source.function is not None else Scope()
    return replace(s, source=source, tree=source.tree, scope=scope, env=CallEnv(s.types, scope))


def _expand_user_macros(s: Compilation) -> Compilation:
    macros = registered()
    return replace(s, tree=expand_only(macros, s.tree, s.env)) if macros else s


def _map_to_generators(s: Compilation) -> Compilation:
    return replace(s, tree=map_to_generators(s.tree, s.scope.resolve))


def _inline(s: Compilation) -> Compilation:
    source, given = replace(s.source, tree=s.tree), (registered(), s.options, s.budget)
    inlining = inline.start_inlining(source, s.env, s.scope, s.types, *given)
    try:
        tree = inline.inline_calls(inlining)
    except Refused as refused:
        raise inline.refusal_in_source(refused, inlining) from None
    s.env.scope = inlining.scope
    return replace(s, inlining=inlining, scope=inlining.scope, tree=tree, called=tree)


def _replace_locals(s: Compilation) -> Compilation:
    # `called` keeps the names for the guards
    return replace(s, tree=replace_locals(s.tree, s.scope.resolve))


def _expand(s: Compilation) -> Compilation:
    inlining, env = s.inlining, s.env

    def inline_later(node: ast.AST, cx: Context) -> ast.expr | None:
        value = inline.inline_uncovered(inlining, node, cx)
        env.scope = inlining.scope  # with the names that the inlined function captures
        return value

    tree = expand(s.tree, env, inline_later, written_by_closures=inlining.written_by_closures)
    return replace(s, tree=tree, scope=inlining.scope)


def _check_fold_order(s: Compilation) -> Compilation:
    if not s.options.reassociate:
        refuse_ordered_folds(s.tree)
    return s


# -- Stages from core Python to Loop IR


def _lower(s: Compilation) -> Compilation:
    try:
        given = {"recording": s.recording, "fixes_globals": s.fixes_globals}
        plan = lower(s.tree, s.types, s.inlining.scope, **given)
    except NeedsMixedList as found:  # again from the start: macros ask for the types of items
        inputs, types = {n: getattr(s, n) for n in _INPUTS}, with_mixed_list(s.types, found.name)
        return run_stages(Compilation(**inputs, types=types), stop_after="lower")
    s.budget.spend_kernel(plan.kernel)
    return replace(s, plan=plan, kernel=plan.kernel)


def _capture(s: Compilation) -> Compilation:
    plan = inline.plan_with_captures(s.plan, s.inlining)
    return replace(s, plan=plan, python=inline.bind_captures(s.tree, plan.captures, s.types))


def _guard_bindings(s: Compilation) -> Compilation:
    plan = with_binding_guards(s.plan, s.called, s.inlining.scope)
    return replace(s, plan=plan, lowered=plan)


# -- Stages from Loop IR to Loop IR


def _scalarize(s: Compilation) -> Compilation:
    if not s.plan.temporaries:
        return replace(s, scalarized=())
    kernel, removed = scalarize_arrays(s.kernel, s.plan.temporaries)
    return replace(s, kernel=kernel, plan=s.plan.without_arrays(removed), scalarized=removed)


def _fuse(s: Compilation) -> Compilation:
    lengths = {array: n for array, n, _ in s.plan.zeros} if s.options.fusion else {}
    zeros = {array: n for array, n in lengths.items() if array in s.plan.temporaries}
    if not zeros:
        return _fused(s, s.kernel, lengths)
    kernel, summed = sum_up_elements(s.kernel, zeros, reassociate=s.options.reassociate)
    fused = _fused(s, kernel, lengths)
    return fused if summed.issubset(fused.fusion.contracted) else _fused(s, s.kernel, lengths)


def _fused(s: Compilation, kernel: Kernel, lengths: Mapping[str, Sequence[Expr]]) -> Compilation:
    """`s` after the fusion of loops of `kernel`."""
    kernel, filled = fill_in_first_loop(kernel, lengths) if lengths else (kernel, frozenset())
    fusion = fuse_kernel(
        kernel,
        enabled=s.options.fusion,
        allow_control_flow_simple=s.options.allow_control_flow_simple,
        allow_broadcast_identity=s.options.allow_broadcast_identity,
        temporaries=s.plan.temporaries,
        private=s.plan.fresh_arrays,
        drawn=s.plan.generator_parts,
    )
    plan = s.plan.with_zeros_filled(filled).without_arrays(fusion.contracted)
    plan = replace(plan, kernel=fusion.kernel)
    fusion = replace(fusion, contracted=s.scalarized + fusion.contracted)
    return replace(s, fusion=fusion, kernel=fusion.kernel, plan=plan)


def _apply_pass(step: Pass) -> Callable[[Compilation], Compilation]:
    """The stage function that runs one pass."""
    def run(s: Compilation) -> Compilation:
        o = s.options
        kernel = run_pass(step, s.kernel, s.machine, reassociate=o.reassociate,
                          threads=o.most_threads, private=s.plan.fresh_arrays, blank=s.plan.blank)
        if kernel is s.kernel:
            return s
        return replace(s, kernel=kernel, passes=(*s.passes, (step.name, kernel)))

    return run


def _optimise(s: Compilation) -> Compilation:
    """Of the row ``optimise``, which never runs: `named_stages` has the passes in its place."""
    raise AssertionError("run the rows of named_stages instead")


def _version_small_calls(s: Compilation) -> Compilation:
    """Adds a copy of the kernel for small calls, whose folds have Python's order. Not with
    ``reassociate=False``, where all calls have it, nor where none can (`has_other_bits`).
    """
    if has_other_bits(s.options, s.tree, s.kernel) or not s.options.reassociate:
        return s
    return replace(s, kernel=with_small_calls(s.kernel, s.fusion.kernel, s.plan, s.types))


def _decide_copies(s: Compilation) -> Compilation:
    s.budget.spend_kernel(s.kernel)
    return replace(s, plan=with_copies_decided(s.plan, s.kernel, s.fusion.kernel))


# -- Stages of a target: from Loop IR to a callable


def _target(s: Compilation) -> Target:
    assert s.target is not None
    return s.target


def _legalize(s: Compilation) -> Compilation:
    from targets.legalization.legalize import legalize

    return replace(s, target_kernel=legalize(s.kernel, _target(s)))


def _select_kernel(s: Compilation) -> Compilation:
    return replace(s, match=match_kernel(s.plan.kernel, _target(s)))


def _emit(s: Compilation) -> Compilation:
    given: Any = {"threads": s.options.most_threads, "portable": s.options.portable}
    text = emit_translation_unit(s.target_kernel, _target(s), s.match, marked=s.marked, **given)
    return replace(s, c_text=text)


def _build(s: Compilation) -> Compilation:
    target = _target(s)
    if not runs_here(target):
        raise wrong_target(target.name, [t.name for t in runnable_targets()])
    build_in_background()
    built = build_kernel(s.c_text, target, cache=s.options.cache, contract=s.options.fma)
    return replace(s, path=built)


def interface_of(s: Compilation) -> KernelInterface:
    """What a call of the kernel of `s` needs; `s` has gone through the stage ``emit``."""
    inexact = s.match or has_other_bits(s.options, s.tree, s.kernel)
    exact = ExactSize(-1) if inexact else exact_size(s.kernel, s.plan, s.types)
    return make_interface(s.plan, s.target_kernel, exact.largest, exact.arguments)


def _load(s: Compilation) -> Compilation:
    interface = interface_of(s)
    entry = load_interface(s.path, interface, may_wait=s.may_wait)
    return replace(s, interface=interface, entry=entry)


def _bind(s: Compilation) -> Compilation:
    assert s.make_callable is not None, "the runtime must set make_callable"
    return replace(s, variant=s.make_callable(s))


# -- Checks of what a stage has made (TRANSPILE_CHECK)

def _verify_python(s: Compilation) -> None:
    """Raises what ``compile`` raises for a tree that is no function."""
    compile_tree(s.tree, s.source.path)


def _verify_kernel(s: Compilation) -> None:
    """Raises VerifyError where the kernel is not well-formed."""
    vectors = any(isinstance(n, (VecLoop, PredLoop)) for n in walk(s.kernel))
    verify(s.kernel, "vector" if vectors else "scalar")


def _verify_target_kernel(s: Compilation) -> None:
    verify(s.target_kernel, "legal")


# -- The list


@record(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage: ``run`` makes the next state of a compilation, or returns the same object if it
    changes nothing; ``verify`` raises AssertionError if the state after it is not well-formed;
    ``from_form`` and ``to_form`` are the forms of the program before and after; ``reason``: what it
    does, or why, for listings; ``is_pass``: it may be skipped.
    """

    name: str
    from_form: str
    to_form: str
    reason: str
    run: Callable[[Compilation], Compilation]
    verify: Callable[[Compilation], None] | None = None
    is_pass: bool = False


STAGES: tuple[Stage, ...] = (
    Stage(
        name="source", from_form=FUNCTION, to_form=PYTHON, run=_read, verify=_verify_python,
        reason="finds the text of the function and parses it, with the positions of its file",
    ),
    Stage(
        name="specialize", from_form=PYTHON, to_form=PYTHON, run=_specialize, verify=_verify_python,
        reason="arguments whose values select the code, such as axes, become constants",
    ),
    Stage(
        name="user_macros", from_form=PYTHON, to_form=PYTHON, run=_expand_user_macros,
        verify=_verify_python,
        reason="registered macros see the function as it was written, before calls are inlined",
    ),
    Stage(
        name="map_to_generators", from_form=PYTHON, to_form=PYTHON, run=_map_to_generators,
        verify=_verify_python,
        reason="map and filter become generators, whose calls can be inlined",
    ),
    Stage(
        name="inline", from_form=PYTHON, to_form=PYTHON, run=_inline, verify=_verify_python,
        reason="macros and lowering then see only calls of NumPy, math and builtins",
    ),
    Stage(
        name="replace_locals", from_form=PYTHON, to_form=PYTHON, run=_replace_locals,
        verify=_verify_python,
        reason="a deque that is a queue is a list and the place of its first item, a range bounds",
    ),
    Stage(
        name="expand", from_form=PYTHON, to_form=CORE_PYTHON, run=_expand, verify=_verify_python,
        reason="macros reduce the language to loops over ranges, assignments, if and scalars",
    ),
    Stage(
        name="check_fold_order", from_form=CORE_PYTHON, to_form=CORE_PYTHON, run=_check_fold_order,
        reason="with reassociate=False, refuses folds whose order is not that of a loop",
    ),
    Stage(
        name="lower", from_form=CORE_PYTHON, to_form=LOOP_IR, run=_lower, verify=_verify_kernel,
        reason="makes the kernel, and the plan by which a call binds arguments to its parameters",
    ),
    Stage(
        name="capture", from_form=LOOP_IR, to_form=LOOP_IR, run=_capture,
        reason="the plan reads captures of inlined functions, guards these, warns at their lines",
    ),
    Stage(
        name="guard_bindings", from_form=LOOP_IR, to_form=LOOP_IR, run=_guard_bindings,
        reason="the plan guards that the names which were expanded or inlined mean the same",
    ),
    Stage(
        name="scalarize_arrays", from_form=LOOP_IR, to_form=LOOP_IR, run=_scalarize,
        verify=_verify_kernel,
        reason="temporaries of a few elements become scalars, before fusion sees their loops",
    ),
    Stage(
        name="fuse", from_form=LOOP_IR, to_form=LOOP_IR, run=_fuse, verify=_verify_kernel,
        reason="joins neighbouring loops, forwards stored values, and removes temporary arrays",
    ),
    Stage(  # named_stages puts the rows of PASS_LIST in its place
        name="optimise", from_form=LOOP_IR, to_form=VECTOR_IR, run=_optimise, verify=_verify_kernel,
        reason="the passes of loopir.passes.pass_list, in their order",
    ),
    Stage(
        name="version_small_calls", from_form=VECTOR_IR, to_form=VECTOR_IR,
        run=_version_small_calls, verify=_verify_kernel,
        reason="adds a copy for small calls in Python's order, if the passes have left another",
    ),
    Stage(
        name="decide_copies", from_form=VECTOR_IR, to_form=VECTOR_IR, run=_decide_copies,
        reason="which calls copy what they overwrite; the final kernel tells if it may fail",
    ),
    Stage(
        name="legalize", from_form=VECTOR_IR, to_form=TARGET_IR, run=_legalize,
        verify=_verify_target_kernel,
        reason="vectors get the width of the target's registers, and only operations that it has",
    ),
    Stage(
        name="select_kernel", from_form=TARGET_IR, to_form=TARGET_IR, run=_select_kernel,
        reason="finds a hand-written kernel that means the same and is measured to be faster",
    ),
    Stage(
        name="emit", from_form=TARGET_IR, to_form=C_TEXT, run=_emit,
        reason="prints the kernel as C with intrinsics, and the hand-written one beside it",
    ),
    Stage(
        name="build", from_form=C_TEXT, to_form=OBJECT, run=_build,
        reason="runs the C compiler, or finds the object in the cache",
    ),
    Stage(
        name="load", from_form=OBJECT, to_form=CALLABLE, run=_load,
        reason="opens the object and connects its entry to the call path",
    ),
    Stage(
        name="bind", from_form=CALLABLE, to_form=CALLABLE, run=_bind,
        reason="wraps the kernel so that it takes the arguments of the Python function",
    ),
)
"""All stages, in the order in which `run_stages` runs them. A new stage is a row here, and a
function from one `Compilation` to the next; the row's ``reason`` says what it is for.
"""

PORTABLE = "decide_copies"
"""The last stage that does not depend on the target, but for the sizes in `Machine`."""


class NamedStage(NamedTuple):
    """A stage with its unique name: that of the N-th invocation of a pass ends in ``@N``."""

    name: str
    stage: Stage


def named_stages() -> tuple[NamedStage, ...]:
    """All rows in order, with one for each invocation of a pass."""
    return _named(STAGES, pass_list.PASS_LIST)


@lru_cache(maxsize=4)
def _named(stages: tuple[Stage, ...], passes: tuple[Pass, ...]) -> tuple[NamedStage, ...]:
    """See `named_stages`."""
    def rows() -> Iterator[NamedStage]:
        for stage in stages:
            if stage.name != "optimise":
                yield NamedStage(stage.name, stage)
            else:
                yield from map(NamedStage, pass_list.numbered(passes), _pass_rows(passes))

    return tuple(rows())


def _pass_rows(passes: tuple[Pass, ...]) -> Iterator[Stage]:
    """A stage for each pass; after the first that vectorizes, the form is vector IR."""
    form = LOOP_IR
    for step in passes:
        after = VECTOR_IR if step.vectorizes else form
        yield Stage(
            name=step.name, from_form=form, to_form=after, reason=step.reason,
            run=_apply_pass(step), verify=_verify_kernel, is_pass=True,
        )
        form = after


def find_stages(word: str) -> list[str]:
    """The names in `named_stages` that `word` means: one stage; each invocation of a pass, if it is
    given without ``@N``; all passes, if it is ``optimise``. Raises ValueError for another word.
    """
    found = [n for n, s in named_stages() if word in (n, s.name)]
    if word == "optimise":
        found = [n for n, s in named_stages() if s.is_pass]
    if not found:
        known = dict.fromkeys(s.name for _, s in named_stages())
        raise ValueError(f"no stage {word!r} (known: {', '.join(known)})")
    return found


Observer = Callable[[NamedStage, Compilation, Compilation], None]
"""Called after each stage with the states before and after it."""


@np.errstate(all="ignore")
def run_stages(
    state: Compilation, *, start_after: str = "", stop_after: str = "", skip: Collection[str] = (),
    check: bool = False, observe: Observer | None = None,
) -> Compilation:
    """`state` after the stages that follow `start_after`, up to and with `stop_after`: names of
    `named_stages`; by default all. Passes in `skip` (``NAME`` or ``NAME@N``) are left out.

    ``check`` (under ``TRANSPILE_CHECK``): calls `Stage.verify` on each result, which is the IR
    verifier for forms of Loop IR. ``observe`` is called after each stage, for traces and dumps.
    NumPy's error state is ignored meanwhile: folding constants may overflow. Raises Refused, in the
    words of the source, where the function cannot be compiled faithfully, BuildError, NoCompiler.
    """
    skipped = pass_list.pass_names(skip) if skip else frozenset[str]()
    started = not start_after
    for named in named_stages():
        name, stage = named
        if not started:
            started = name == start_after
            continue
        if name not in skipped:
            before = state
            try:
                state = stage.run(before)
            except Refused as refused:
                if before.inlining is None:
                    raise
                raise inline.refusal_in_source(refused, before.inlining) from None
            if check and stage.verify is not None:
                stage.verify(state)
            if observe is not None:
                observe(named, before, state)
        if name == stop_after:
            break
    return state


def compile_stages(
    function: Callable[..., Any] | Source, types: Mapping[str, ArgType], options: Options,
    machine: Machine = DEFAULT_MACHINE, *, recording: bool = False, stop_after: str = PORTABLE,
    skip: Collection[str] = (), observe: Observer | None = None,
) -> Compilation:
    """The state after every stage before the target's own, with loops cut to fit `machine`; see
    `Compilation` and `run_stages`, which also raises Refused.
    """
    state = Compilation(
        function=function, types=types, options=options, machine=machine, recording=recording
    )
    return run_stages(state, stop_after=stop_after, skip=skip, observe=observe)
