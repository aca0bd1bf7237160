"""``transpile bisect``: finds the first stage, pass or macro that makes a compiled call wrong.

The output of each stage is run on the same arguments and compared with Python: trees as Python,
Loop IR after each pass in the interpreter, C as native code. If the tree after a stage of macros
(``user_macros``, ``expand``) is the first that is wrong, the first wrong macro firing is found by
bisection over the number of firings.
"""
from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection
from dataclasses import replace
from types import CellType, FunctionType
from typing import Any

from loopir.ir_interpreter import run_kernel
from loopir.lazy_dataclass import record
from loopir.nodes import Kernel
from targets.abi.portable_call import complex_as_floats
from targets.build.build_kernel import NoCompiler, build_kernel

from .. import core_functions, knobs, pipeline
from ..call_plan import Plan
from ..diagnostics import Refused
from ..frontend.compile_tree import compile_tree
from ..frontend.inline import bind_captures, plan_with_captures
from ..frontend.macros.macro_trace import MacroFiring, MacroTrace, tracing_macros
from ..lower.kernel_interface import make_interface
from ..options import chosen_target
from ..pipeline import Compilation, NamedStage, named_stages, run_stages
from ..runtime.compiled_variant import Variant
from ..runtime.fuse_decorator import Fused
from ..trace import text_of_form
from ..types.typeof import argument_types, parameter_names
from .call_outcomes import Difference, Replayed, compare, outcome_of, run_in_child
from .failing_call import FailingCall

__all__ = ["Finding", "NotCompiled", "find_difference", "show_finding"]

SECONDS = 60.0
"""How long the program of one stage may run."""

_KERNEL_START = "static __attribute__((noinline)) int64_t tp_body("
"""Where the kernel begins in C text, after what all kernels share."""


class NotCompiled(Exception):
    """The function is refused, so that Python runs it; the message says why."""


@record(frozen=True, slots=True)
class Finding:
    """The first wrong stage."""

    stage: str  # its name; `NAME@N` for a pass
    forms: tuple[str, str]  # of the program before and after it
    difference: Difference  # between its program and Python
    before: str  # the program before the stage, or before the wrong macro firing
    after: str  # the program after it
    firing: MacroFiring | None = None  # the first wrong macro firing, of an expansion
    count: int = 0  # the number of that firing
    total: int = 0  # the number of all firings
    remark: str = ""  # what else is known

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for failures of one sort: the stage without its number, the macro, the kind."""
        macro = "" if self.firing is None else self.firing.macro
        return self.stage.partition("@")[0], macro, self.difference.kind


def find_difference(
    call: FailingCall, *, watch: Collection[str] | None = None, seconds: float = SECONDS
) -> Finding | None:
    """The first stage of `call` that is wrong: the program that it makes gives another result than
    Python, and the program before it did not. None if no stage is wrong.

    The stages are run one after the other, and the program after each of them is run on copies of
    the arguments (`_Search.test`), unless the stage has changed nothing. A stage that raises is
    wrong, too.

    ``watch``: names of stages and passes. If given, only the programs before and after each of
    them are tested, and stages after the last of them are not run. `reduce_call` passes it, to find
    whether a smaller program still fails at the same stage. Raises NotCompiled where the function
    is refused.
    """
    search = _Search(call, seconds)
    # the program before the stage at hand, if it has not been tested, as it is not watched
    untested: tuple[str, Compilation, str] | None = None
    stages = named_stages()
    while watch is not None and stages and stages[-1].stage.name not in watch:
        stages = stages[:-1]
    for named in stages:
        name, stage = named
        is_watched = watch is None or stage.name in watch
        before = search.state
        after, failure = search.run(named)
        if failure is not None:
            return search.finding(named, failure, before, None) if is_watched else None
        assert after is not None
        search.state = after
        if not _may_differ(stage.to_form, before, after):
            continue
        program = stage.to_form, after, name
        if not is_watched:
            untested = program
            continue
        if untested is not None and search.test(*untested) is not None:
            return None  # it was wrong before this stage
        untested = None
        difference = search.test(*program)
        if difference is not None:
            return search.finding(named, difference, before, after)
    return None


def _may_differ(form: str, before: Compilation, after: Compilation) -> bool:
    """Whether a stage whose result has the form `form` has made another program, which can be run.
    """
    if form in (pipeline.PYTHON, pipeline.CORE_PYTHON):
        return after.tree is not before.tree
    if form in (pipeline.LOOP_IR, pipeline.VECTOR_IR):
        return after.kernel is not before.kernel or after.plan is not before.plan
    if form == pipeline.TARGET_IR:
        return after.target_kernel is not before.target_kernel
    return form == pipeline.CALLABLE  # C is run once it is loaded


class _Search:
    """Runs the stages of one call, and the program that each of them makes.

    ``expected``: Python's outcome; ``state``: the result of the last stage, whose name is
    ``previous``; ``exact``: floats must be equal, since nothing is reassociated.
    """

    def __init__(self, call: FailingCall, seconds: float) -> None:
        self.call = call
        self.seconds = seconds
        self.expected = outcome_of(call.function, call.args, seconds)
        self.exact = not call.options.reassociate
        self.settings = knobs.read()
        self.state = self.start()
        self.previous = ""

    def start(self) -> Compilation:
        """The state before the first stage."""
        function, options = self.call.function, self.call.options
        uncached_options = replace(options, on_reject="silent", cache=False)
        code = function.__code__
        types = dict(
            zip(parameter_names(code), argument_types(self.call.args, function), strict=True)
        )
        target = chosen_target(options, self.settings)
        return Compilation(
            function=function, types=types, options=options, machine=target.model, target=target,
            make_callable=lambda _: Fused(function, uncached_options),
        )

    def run(self, named: NamedStage) -> tuple[Compilation | None, Difference | None]:
        """The state after one more stage, or what the stage raises."""
        try:
            state = run_stages(
                self.state, start_after=self.previous, stop_after=named.name,
                skip=self.settings.skip, check=True,
            )
        except Refused as refused:
            rejection = refused.rejection
            raise NotCompiled(f"{rejection.code}: {rejection.message}") from None
        except NoCompiler as error:
            raise NotCompiled(str(error)) from None
        except Exception as error:
            kind = f"raises {type(error).__name__}"
            text = f"raises {type(error).__name__} while it is compiled: {error}"
            return None, Difference(kind, text)
        self.previous = named.name
        return state, None

    def test(self, form: str, state: Compilation, name: str) -> Difference | None:
        """How the program of `state` in `form` differs from Python."""
        if form == pipeline.CALLABLE:
            return self._test_native(state, name)
        outcome = outcome_of(self._executable(form, state), self.call.args, self.seconds)
        return compare(outcome, self.expected, exact=self.exact)

    def _executable(self, form: str, state: Compilation) -> Callable[..., Any]:
        """A function that runs the program of `state` in `form`: as Python, or in the IR
        interpreter.
        """
        match form:
            case pipeline.PYTHON | pipeline.CORE_PYTHON:
                return _python_function(self.call.function, state)
            case pipeline.TARGET_IR:
                return _kernel_function(self.call.function, state.plan, state.target_kernel)
        plan = state.plan if state.python is not None else (
            plan_with_captures(state.plan, state.inlining)
        )
        return _kernel_function(self.call.function, plan, state.kernel)

    def _test_native(self, state: Compilation, name: str) -> Difference | None:
        """How the compiled code of `state` differs from Python. It runs in a process of its own, as
        it may crash.
        """
        call = self.call

        def work() -> Difference | None:
            """The difference of the compiled call, found in the child process."""
            if name == "bind":
                compiled: Callable[..., Any] = state.variant
            else:
                compiled = _variant_function(
                    Variant(call.function, state.interface, state.entry.fast)
                )
            outcome = outcome_of(compiled, call.args, self.seconds)
            return compare(outcome, self.expected, exact=self.exact)

        try:
            difference: Difference | None = run_in_child(work, self.seconds)
        except (RuntimeError, TimeoutError) as error:
            return Difference("crashes", str(error))
        return difference

    def finding(
        self, named: NamedStage, difference: Difference, before: Compilation,
        after: Compilation | None,
    ) -> Finding:
        """The finding about `named`, the first stage that is wrong: of an expansion the macro
        (`_wrong_macro`), of native code the stage to blame (`_wrong_code`). ``before``, ``after``:
        the states before and after it; None: the stage raised.
        """
        name, stage = named
        forms = stage.from_form, stage.to_form
        if name in ("user_macros", "expand") and after is not None:
            return self._wrong_macro(named, difference, before, after)
        if name == "load" and after is not None:
            return self._wrong_code(difference, after)
        if stage.from_form in (pipeline.FUNCTION, pipeline.CALLABLE, pipeline.OBJECT):
            return Finding(name, forms, difference, "", "")
        before_text = text_of_form(stage.from_form, before)
        after_text = "" if after is None else text_of_form(stage.to_form, after)
        return Finding(name, forms, difference, before_text, after_text)

    def _wrong_macro(
        self, named: NamedStage, difference: Difference, before: Compilation, after: Compilation
    ) -> Finding:
        """The finding of a wrong expansion: the first macro firing after which the tree fails in
        the same way, found by bisection over the number of firings. No firing, if it fails before
        any macro has fired, or none fires.
        """
        form = named.stage.to_form

        def expanded(limit: int | None) -> tuple[MacroTrace, Compilation]:
            """The trace and state of the expansion, stopped after `limit` firings (None: not
            stopped).
            """
            names = [n.name for n in named_stages()]
            stage_before = names[names.index(named.name) - 1]
            state = run_stages(self.start(), stop_after=stage_before)  # inlining keeps state
            trace = MacroTrace(limit)
            with tracing_macros(trace):
                expanded_state = run_stages(state, start_after=stage_before, stop_after=named.name)
            return trace, expanded_state

        def fails(limit: int) -> bool:
            """Whether the tree after `limit` firings fails in the same way."""
            try:
                limit_difference = self.test(form, expanded(limit)[1], named.name)
            except Exception:  # half-expanded code that the rest of the stage cannot handle
                return False
            return limit_difference is not None and limit_difference.kind == difference.kind

        trace, _ = expanded(None)
        good, bad = 0, len(trace.firings)
        forms = named.stage.from_form, form
        if bad == 0 or fails(0):
            remark = "wrong before any macro fires: by a rewrite of the whole function"
            old, new = (text_of_form(form, s) for s in (before, after))
            return Finding(named.name, forms, difference, old, new, remark=remark)
        while bad - good > 1:
            middle = (good + bad) // 2
            if fails(middle):
                bad = middle
            else:
                good = middle
        firing = trace.firings[bad - 1]
        old, new = (text_of_form(form, expanded(n)[1]) for n in (bad - 1, bad))
        return Finding(
            named.name, forms, difference, old, new, firing=firing, count=bad,
            total=len(trace.firings),
        )

    def _wrong_code(self, difference: Difference, after: Compilation) -> Finding:
        """The finding where native code is wrong, and the IR that it was made of is not: the
        hand-written kernel, the C compiler or else the C printer.
        """
        assert after.target is not None
        stage, remark = "emit", ""
        forms = pipeline.TARGET_IR, pipeline.C_TEXT
        if after.match is not None and self._agrees(replace(after, match=None)):
            stage, forms = "select_kernel", (pipeline.TARGET_IR, pipeline.TARGET_IR)
            remark = f"the hand-written kernel {after.match.row.name} is wrong, generated C right"
        elif self._agrees(after, "-O0"):
            stage, forms = "build", (pipeline.C_TEXT, pipeline.OBJECT)
            remark = "right with -O0: undefined behaviour in the C, or a bug of the C compiler"
        ir_text = text_of_form(pipeline.TARGET_IR, after)
        _, start, body = after.c_text.partition(_KERNEL_START)
        return Finding(stage, forms, difference, ir_text, start + body, remark=remark)

    def _agrees(self, state: Compilation, *flags: str) -> bool:
        """Whether C made anew of `state`, with these flags besides, gives Python's answer."""
        assert state.target is not None
        target = replace(state.target, cflags=(*state.target.cflags, *flags))
        try:
            state = run_stages(state, start_after="select_kernel", stop_after="emit")
            path = build_kernel(state.c_text, target, cache=False, contract=state.options.fma)
            state = run_stages(replace(state, path=path), start_after="build", stop_after="load")
            return self._test_native(state, "load") is None
        except Exception:  # then it is not known
            return False


def _python_function(function: FunctionType, state: Compilation) -> Callable[..., Any]:
    """The tree of `state` as a Python function, in the names of `function`."""
    captures = () if state.inlining is None else state.inlining.captures.plan_additions()[0]
    tree = bind_captures(state.tree, captures, state.types)
    names = {"_core": core_functions, **function.__globals__}
    names |= inspect.getclosurevars(function).nonlocals
    exec(compile_tree(tree, "core Python"), names)
    function_: Callable[..., Any] = names[tree.name]
    return function_


def _kernel_function(function: FunctionType, plan: Plan, kernel: Kernel) -> Callable[..., Any]:
    """`kernel` in the interpreter, called as compiled code is; it raises Replayed where Python has
    to answer.
    """
    names = [p.name for p in kernel.params]

    def fast(*args: Any) -> int:
        """The status of the kernel in the interpreter."""
        arguments = dict(zip(names, map(complex_as_floats, args), strict=True))
        return run_kernel(kernel, arguments).status

    return _variant_function(Variant(function, make_interface(plan, kernel), fast))


def _variant_function(variant: Variant) -> Callable[..., Any]:
    """The call of `variant`; it raises Replayed where Python has to answer."""

    def replay(_: Variant, code: str, *__: object) -> Any:
        raise Replayed(code)

    variant.attach(replay, CellType(0))
    return variant.call


def show_finding(call: FailingCall, finding: Finding | None) -> str:
    """The finding as text: the stage, the macro, the difference, and a diff of the program."""
    name = call.function.__qualname__
    if finding is None:
        return f"{name}: the output of every stage agrees with Python\n"
    lines = [
        f"{name}: first wrong stage: {finding.stage} ({' -> '.join(finding.forms)})",
        f"  it {finding.difference.text}",
    ]
    firing = finding.firing
    if firing is not None:
        where = f"firing {finding.count} of {finding.total}, line {firing.line}"
        lines.append(f"  first wrong macro: {firing.macro} ({where})")
        lines += [f"    - {line}" for line in firing.before.splitlines()]
        lines += [f"    + {line}" for line in firing.after.splitlines()]
    if finding.remark:
        lines.append(f"  {finding.remark}")
    lines.append("")
    if finding.forms[1] == pipeline.C_TEXT:
        lines += ["before:", finding.before, "after:", finding.after]
    else:
        labels = f"before {finding.stage}", f"after {finding.stage}"
        old, new = finding.before.splitlines(), finding.after.splitlines()
        lines += difflib.unified_diff(old, new, *labels, n=100, lineterm="")
    return "\n".join(lines).rstrip() + "\n"
