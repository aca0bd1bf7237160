"""Compilation trace: what ``TRANSPILE_DEBUG`` prints and ``TRANSPILE_DUMP`` writes.

An observer of `pipeline.run_stages`. What is shown of a stage depends only on the form of the
program after it, so that a new stage needs no change here.
"""
from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter

from loopir.ir_printer import show
from loopir.process.signal_exceptions import failures
from targets.build.build_kernel import BuildError, NoCompiler, assembly

from . import pipeline
from .frontend.macros.macro_trace import MacroTrace, tracing_macros
from .frontend.unparse import print_python
from .knobs import Knobs
from .pipeline import Compilation, NamedStage, Observer
from .region_trace import trace_regions

__all__ = ["text_of_form", "tracing"]

_log = logging.getLogger(__name__)

_WORDS = {
    pipeline.PYTHON: ("python", ".py"),
    pipeline.CORE_PYTHON: ("python", ".py"),
    pipeline.LOOP_IR: ("ir", ".ir"),
    pipeline.VECTOR_IR: ("ir", ".ir"),
    pipeline.TARGET_IR: ("ir", ".ir"),
    pipeline.C_TEXT: ("c", ".c"),
}
"""For each form that has a text: the word of TRANSPILE_DEBUG that shows it, and the file ending."""


def text_of_form(form: str, state: Compilation) -> str:
    """The program of `state` in one of the forms of `pipeline`. Raises ValueError where it has no
    text.
    """
    match form:
        case pipeline.PYTHON | pipeline.CORE_PYTHON:
            return print_python(state.tree)
        case pipeline.LOOP_IR | pipeline.VECTOR_IR:
            return show(state.kernel)
        case pipeline.TARGET_IR:
            return show(state.target_kernel)
        case pipeline.C_TEXT:
            return state.c_text
        case pipeline.OBJECT:
            return state.path
        case _:
            raise ValueError(f"a program has no text in the form {form!r}")


@contextmanager
def tracing(settings: Knobs) -> Iterator[Observer]:
    """An observer for `run_stages`, which is told of each stage and records its time and text::

        with tracing(settings) as observe:
            state = run_stages(state, observe=observe)

    At the end, also if a stage has raised, it prints to stderr what ``TRANSPILE_DEBUG`` asks for,
    and writes all texts to the folder of ``TRANSPILE_DUMP`` (`_Trace.output`). A stage whose text
    is that of the stage before it is not shown.
    """
    trace = _Trace()
    macros = MacroTrace() if "macros" in settings.debug or settings.dump else None
    try:
        with tracing_macros(macros):
            yield trace.observe
    finally:
        if trace.last is not None:
            trace.output(settings, macros, trace.last)


class _Trace:
    """The record of the stages of one compilation."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str, str]] = []  # word of TRANSPILE_DEBUG, file name, text
        self.times: list[tuple[str, float]] = []  # stage, seconds
        self.last: Compilation | None = None  # the state after the last stage
        self._last_time = perf_counter()
        self._previous = ""

    def observe(self, named: NamedStage, before: Compilation, after: Compilation) -> None:
        """Records the time of one stage, and its result if the text differs from the one before."""
        self.times.append((named.name, perf_counter() - self._last_time))
        self.last = after
        form = named.stage.to_form
        if form in _WORDS and (after is not before or not self.texts):
            text = text_of_form(form, after)
            if text != self._previous:
                word, ending = _WORDS[form]
                number = f"{len(self.texts) + 1:02}-{named.name}"
                self.texts.append((word, "kernel.c" if ending == ".c" else number + ending, text))
            self._previous = text
        self._last_time = perf_counter()

    def output(self, settings: Knobs, macros: MacroTrace | None, state: Compilation) -> None:
        """Prints the texts of TRANSPILE_DEBUG to stderr, and writes all to TRANSPILE_DUMP."""
        if "time" in settings.debug and state.entry is not None:
            trace_regions(state.source.qualname, state.entry.library, state.target_kernel)
        texts = [*self._all_texts(settings, macros, state)]
        name = state.source.qualname
        for word, file, body in texts:
            if word in settings.debug and body:
                print(f"# {name}: {file}\n{body}", file=sys.stderr)
        if settings.dump is not None and state.target is not None:
            folder = Path(settings.dump) / name / state.target.name
            try:
                _write(folder, [(file, body) for _, file, body in texts])
            except failures(OSError) as error:
                _log.warning("TRANSPILE_DUMP: %s cannot be written: %s", folder, error.strerror)

    def _all_texts(
        self, settings: Knobs, macros: MacroTrace | None, state: Compilation
    ) -> Iterator[tuple[str, str, str]]:
        """All texts as (word, file name, text): macros, fusion, stages, assembly and times."""
        if macros is not None:
            yield "macros", "macros.txt", _firings_text(macros)
        if state.fusion is not None:
            yield "fuse", "fusion.txt", _fusion_text(state)
        yield from self.texts
        if state.c_text and state.target and ("asm" in settings.debug or settings.dump):
            with suppress(BuildError, NoCompiler):
                yield "asm", "kernel.s", assembly(
                    state.c_text, state.target, contract=state.options.fma
                )
        yield "time", "time.txt", "".join(
            f"{stage:28}{seconds * 1e3:8.2f} ms\n" for stage, seconds in self.times
        )


def _firings_text(macros: MacroTrace) -> str:
    """The firings in order, each with Python before and after it."""
    return "".join(
        f"{k}: line {f.line}: {f.macro}\n"
        + "".join(f"    - {line}\n" for line in f.before.splitlines())
        + "".join(f"    + {line}\n" for line in f.after.splitlines())
        for k, f in enumerate(macros.firings, 1)
    )


def _fusion_text(state: Compilation) -> str:
    """A line for each loop that joins several, and for each reason why loops were not joined."""
    joined = [f"lines {', '.join(map(str, lines))}: one loop" for lines in state.fusion.lines]
    reasons = [f"line {r.line}: {r.code}: {r.message}" for r in state.fusion.rejections]
    return "".join(f"{line}\n" for line in joined + reasons)


def _write(folder: Path, texts: list[tuple[str, str]]) -> None:
    """Writes ``texts``, (file name, text), to `folder`, whose files of an earlier compilation are
    deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.suffix in (".ir", ".c", ".s", ".py", ".txt"):
            old.unlink()
    for name, body in texts:
        (folder / name).write_text(body, encoding="utf-8")
