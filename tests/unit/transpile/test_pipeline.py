"""The list of stages: names, forms that fit together, skipping, stopping, observing, checking."""
from __future__ import annotations

import ast
import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from loopir.passes.pass_list import PASS_LIST, pass_names
from targets.isa.target_registry import TARGETS
from transpile import pipeline
from transpile.diagnostics import Refused
from transpile.frontend.macros.macro_trace import MacroTrace, tracing_macros
from transpile.options import Options
from transpile.pipeline import (
    STAGES,
    Compilation,
    compile_stages,
    find_stages,
    named_stages,
    run_stages,
)
from transpile.types.typeof import type_of

TYPES = {"x": type_of(np.ones(3)), "n": type_of(3)}


def total(x: Any, n: int) -> float:
    s = 0.0
    for v in x:
        s += v * n
    return s


def test_each_stage_takes_the_form_that_the_one_before_makes() -> None:
    rows = [stage for _, stage in named_stages()]
    assert rows[0].from_form == pipeline.FUNCTION
    assert rows[-1].to_form == pipeline.CALLABLE
    for before, after in itertools.pairwise(rows):
        assert before.to_form == after.from_form, f"{before.name}, {after.name}"
    assert all(row.reason and row.name for row in (*rows, *STAGES))


def test_names_are_unique_and_passes_are_numbered() -> None:
    names = [name for name, _ in named_stages()]
    assert len({*names}) == len(names)
    passes = [stage.name for _, stage in named_stages() if stage.is_pass]
    assert passes == [step.name for step in PASS_LIST]
    assert {"simplify@1", "simplify@2", "vectorize@1"} <= {*names}


def test_stages_are_found_by_name() -> None:
    assert find_stages("lower") == ["lower"]
    assert find_stages("simplify")[:2] == ["simplify@1", "simplify@2"]
    assert find_stages("simplify@2") == ["simplify@2"]
    assert len(find_stages("optimise")) == len(PASS_LIST)
    with pytest.raises(ValueError, match="no stage 'lowering'"):
        find_stages("lowering")
    assert pass_names(["hoist", "simplify@2"]) == {"hoist@1", "simplify@2"}
    with pytest.raises(ValueError, match="no pass 'lower'"):
        pass_names(["lower"])  # which is a stage that cannot be left out


def test_a_run_can_be_cut_and_continued() -> None:
    whole = compile_stages(total, TYPES, Options())
    start = Compilation(function=total, types=TYPES, options=Options())
    state = run_stages(start, stop_after="lower")
    assert state.python is None
    state = run_stages(state, start_after="lower", stop_after=pipeline.PORTABLE, check=True)
    assert state.kernel == whole.kernel
    assert state.passes == whole.passes
    target = TARGETS["avx2"]
    assert "tp_kernel" in whole.c(target)
    assert whole.legal(target) != whole.kernel


def test_passes_can_be_left_out() -> None:
    names = [name for name, _ in compile_stages(total, TYPES, Options()).passes]
    assert "vectorize" in names
    made = compile_stages(total, TYPES, Options(), skip=["vectorize"])
    assert "vectorize" not in [name for name, _ in made.passes]
    with pytest.raises(ValueError, match="no pass 'vectorise'; did you mean 'vectorize'"):
        compile_stages(total, TYPES, Options(), skip=["vectorise"])


def test_stages_are_observed_in_order() -> None:
    seen: list[str] = []
    compile_stages(total, TYPES, Options(), observe=lambda named, *_: seen.append(named.name))
    names = [name for name, _ in named_stages()]
    assert seen == names[: names.index(pipeline.PORTABLE) + 1]


def test_a_refusal_names_the_line_of_the_source() -> None:
    with pytest.raises(Refused, match="'text'") as refused:
        compile_stages(total, {"x": type_of("text"), "n": TYPES["n"]}, Options())
    span = refused.value.rejection.span
    assert span is not None
    assert span.line == total.__code__.co_firstlineno + 2


def rounded(x: Any, n: int) -> float:
    s = 0.0
    for v in x:
        s += round(v, 6)
    return s


@pytest.mark.parametrize("mode", ["raise", "warn"])
def test_the_error_state_is_the_compilers_own(mode: Any) -> None:
    """A constant of the compiler may overflow: 10**6 is no float16."""
    types = {**TYPES, "x": type_of(np.ones(3, np.float16))}
    with np.errstate(all=mode), warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_stages(rounded, types, Options())


def test_macros_are_traced_and_limited() -> None:
    trace = MacroTrace()
    with tracing_macros(trace):
        compile_stages(total, TYPES, Options())
    assert [f.macro for f in trace.firings] == ["for_loop", "augmented_assignment"]
    assert trace.firings[1].before == "s += v * n"
    assert trace.firings[1].after == "s = s + v * n"
    limited = MacroTrace(limit=1)
    with tracing_macros(limited):
        state = compile_stages(total, TYPES, Options(), stop_after="expand")
    assert [f.macro for f in limited.firings] == ["for_loop"]
    assert "s += v * n" in ast.unparse(state.tree)
