"""Pages that the command prints about itself: codes, targets, operations, the cache."""
from __future__ import annotations

import difflib
import os
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..codes import CODES
from ..report.styled_text import StyledRow, styled_row

if TYPE_CHECKING:
    from targets.isa.target_registry import Target

__all__ = ["cache_rows", "code_list", "code_page", "machine_rows", "op_rows", "target_rows"]

_WIDTH = 88


def code_page(name: str) -> list[StyledRow]:
    """The page that ``transpile --explain CODE`` prints: title, why, help, and two examples, of
    which the first gives the code and the second does not. ``name`` may be in lower case, with
    hyphens. Raises KeyError, with similar names, where there is no such code.
    """
    key = name.strip().upper().replace("-", "_")
    if key not in CODES:
        near = difflib.get_close_matches(key, CODES, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise KeyError(f"{name}: no such code{hint} (transpile --explain lists all)")
    code = CODES[key]
    return [
        styled_row((code.code, "code"), "  ", (code.title, "title")),
        styled_row(),
        *(styled_row(line) for line in textwrap.wrap(code.why, _WIDTH)),
        styled_row(),
        *_help_rows(code.help),
        styled_row(),
        styled_row((f"gives {code.code}", "bad")),
        *(styled_row("    ", line) for line in code.bad.rstrip().splitlines()),
        styled_row(),
        styled_row(("does not", "good")),
        *(styled_row("    ", line) for line in code.good.rstrip().splitlines()),
    ]


def _help_rows(text: str) -> Iterator[StyledRow]:
    """The help of a code, indented by the word ``help``."""
    first, *rest = textwrap.wrap(text, _WIDTH - 6)
    yield styled_row(("help: ", "hint"), first)
    yield from (styled_row("      ", line) for line in rest)


def code_list() -> Iterator[StyledRow]:
    """Every code with its title."""
    width = max(map(len, CODES))
    for code in CODES.values():
        yield styled_row((f"{code.code:<{width}}", "code"), "  ", code.title)


def target_rows() -> Iterator[StyledRow]:
    """Every target: its registers, and whether this machine can run it."""
    from targets.isa.target_registry import TARGETS, best_target, runnable_targets

    runnable = {target.name for target in runnable_targets()}
    width = max(map(len, TARGETS))
    for name, target in TARGETS.items():
        support, style = ("runs here", "good") if name in runnable else ("cross only", "faint")
        default = ", auto" if name == best_target().name else ""
        registers = f"{target.bits:>4}-bit registers" if target.bits else "   one lane at a time"
        yield styled_row(
            (f"{name:<{width}}", "title"), f"  {registers:<22}", (support + default, style)
        )
    yield styled_row()
    yield from _thread_rows()


def machine_rows() -> Iterator[StyledRow]:
    """The machine for which code is made, and where each fact is from: looked up, set by the user,
    measured now or by an earlier process, or a default.
    """
    from targets.build.machine_record import fitted, machine_record, size_in_words
    from targets.isa.target_registry import best_target

    found, target = machine_record(), fitted(best_target())
    width = f"{target.bits}-bit registers" if target.bits else "one lane at a time"
    sizes = ", ".join(f"L{k} {size_in_words(size)}" for k, size in enumerate(target.caches, 1))
    origin = "from the above" if found.caches else "default"
    if os.environ.get("TRANSPILE_MACHINE"):
        origin = "set by TRANSPILE_MACHINE"
    yield _fact("cpu", found.cpu or "no name", "looked up" if found.cpu else "not known")
    yield _fact("target", f"{target.name}: {target.registers} {width}", "looked up")
    core = f"{target.model.pipes} additions a cycle, each takes {target.model.latency}"
    yield _fact("core", core, "default")
    yield from (_fact(f"L{c.level}", str(c), f"looked up, {found.source}") for c in found.caches)
    yield _fact("made for", sizes, origin)
    yield from _speed_rows(target)
    yield from _thread_rows()


def _speed_rows(target: Target) -> Iterator[StyledRow]:
    """How fast one thread moves data."""
    from targets.build.build_errors import BuildError, NoCompiler
    from targets.build.machine_probe import measured_rates

    try:
        rates = measured_rates(target)
    except (NoCompiler, BuildError) as error:
        yield _fact("speed", str(error).partition("\n")[0], "not measured")
        return
    levels = (("L1", rates.l1), ("L2", rates.l2), ("L3", rates.l3), ("memory", rates.memory))
    past = f", past the caches {rates.streamed:.0f}" if rates.streamed else ""
    for what, value in (
        ("reads", ", ".join(f"{level} {rate:.0f}" for level, rate in levels) + " GB/s"),
        ("writes", f"memory {rates.written:.0f}{past} GB/s"),
        ("rows", f"L3, 4 abreast {rates.abreast_4:.0f}, 16 abreast {rates.abreast_16:.0f} GB/s"),
    ):
        yield _fact(what, value, "measured")


def _fact(what: str, value: str, origin: str) -> StyledRow:
    """A line of `machine_rows`."""
    return styled_row((f"{what:<9}", "title"), f"{value:<50}", (f"  {origin}", "faint"))


def _thread_rows() -> Iterator[StyledRow]:
    """How many threads a call may use, and what limits them."""
    from ..thread_limits import threads

    found = threads()
    quota = "no quota" if found.quota is None else f"a quota of {found.quota:g} CPUs"
    cpus = f"{found.cpus} CPUs, {found.affinity} for this process, {quota}"
    if found.env is not None:
        cpus += f", {found.env} by a variable"
    yield styled_row(("threads", "title"), f"  at most {found.limit} in a call ({cpus})")


def op_rows() -> Iterator[StyledRow]:
    """Every operation on every dtype: the form of its code on each target."""
    from loopir.dtypes import DTYPES
    from targets.isa.target_registry import TARGETS
    from targets.op_support import OpForm, op_support_table

    letters = {OpForm.NATIVE: "n", OpForm.EXPANDED: "x", OpForm.LANES: "."}
    lines: dict[str, dict[str, str]] = {}
    for target in TARGETS.values():
        for c in op_support_table(target):
            name = f"cast {c.source}" if c.source else c.op
            line = lines.setdefault(name, {})
            line[c.dtype] = line.get(c.dtype, "") + letters[c.form]
    width, cell_width = max(map(len, lines)), len(TARGETS) + 2
    yield styled_row((f"a letter for each of {', '.join(TARGETS)}:", "title"))
    yield styled_row(
        "n native, x several instructions, . lane by lane; a cast stands under its result"
    )
    yield styled_row()
    yield styled_row((" " * width + "".join(f"  {d:<{cell_width - 2}}" for d in DTYPES), "title"))
    for name, line in lines.items():
        cells = "".join(f"  {line.get(d, ''):<{cell_width - 2}}" for d in DTYPES)
        yield styled_row((f"{name:<{width}}", "place"), cells.rstrip())


def cache_rows() -> Iterator[StyledRow]:
    """Path and size of the cache of compiled kernels."""
    from targets.build.build_kernel import cache_info

    info = cache_info()
    yield styled_row("path     ", (str(info.path), "place"))
    yield styled_row("kernels  ", str(info.objects))
    yield styled_row(
        "size     ", f"{info.bytes / 1024:.0f} KiB of at most {info.limit / 1024:.0f} KiB"
    )
