"""Compilation trace: what ``TRANSPILE_DEBUG`` prints and ``TRANSPILE_DUMP`` writes."""
from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from loopir.ir_printer import show
from loopir.nodes import Kernel
from targets.build.build_kernel import BuildError, NoCompiler, assembly
from targets.isa.target_registry import Target

from .frontend.unparse import print_python
from .knobs import Knobs
from .pipeline import Stages

__all__ = ["trace"]

_log = logging.getLogger(__name__)

Text = tuple[str, str, str]
"""A word of TRANSPILE_DEBUG ("" for none), the name of a file, and its text."""


def trace(knobs: Knobs, stages: Stages, legal: Kernel, text: str, target: Target) -> None:
    """Tells of one kernel what the knobs ask for."""
    texts = list(_texts(stages, legal, text, target, asm="asm" in knobs.debug or knobs.dump))
    for word, name, body in texts:
        if word in knobs.debug and body:
            print(f"# {stages.source.qualname}: {name}\n{body}", file=sys.stderr)
    if knobs.dump is not None:
        folder = Path(knobs.dump) / stages.source.qualname / target.name
        try:
            _write(folder, texts)
        except OSError as error:
            _log.warning("TRANSPILE_DUMP: %s cannot be written: %s", folder, error.strerror)


def _texts(
    stages: Stages, legal: Kernel, text: str, target: Target, *, asm: object
) -> Iterator[Text]:
    fusion = stages.fusion
    joined = [f"lines {', '.join(map(str, lines))}: one loop" for lines in fusion.lines]
    reasons = [f"line {r.line}: {r.code}: {r.message}" for r in fusion.rejections]
    yield "fuse", "fusion.txt", "".join(f"{line}\n" for line in joined + reasons)
    yield "", "01-python.py", print_python(stages.python)
    kernels = [("build", stages.scalar), ("fuse", fusion.kernel), *stages.passes, ("legal", legal)]
    before = None
    for number, (name, kernel) in enumerate(kernels, 2):
        if kernel != before:
            yield "ir", f"{number:02}-{name}.ir", show(kernel)
        before = kernel
    yield "c", "kernel.c", text
    if asm:
        with suppress(BuildError, NoCompiler):
            yield "asm", "kernel.s", assembly(text, target, contract=stages.options.fma)


def _write(folder: Path, texts: list[Text]) -> None:
    """Replaces what an earlier compilation left there."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.suffix in (".ir", ".c", ".s", ".py", ".txt"):
            old.unlink()
    for _, name, body in texts:
        (folder / name).write_text(body, encoding="utf-8")
