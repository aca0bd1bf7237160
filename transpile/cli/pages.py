"""What the command prints about itself: codes, targets, the cache."""
from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator

from ..rejections import CODES
from ..report.rows import Row, row

__all__ = ["cache_rows", "code_list", "code_page", "op_rows", "target_rows"]

_WIDTH = 88


def code_page(name: str) -> list[Row]:
    """The page of a code. Raises KeyError, with the nearest names, where there is none."""
    wanted = name.strip().upper().replace("-", "_")
    if wanted not in CODES:
        near = difflib.get_close_matches(wanted, CODES, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise KeyError(f"{name}: no such code{hint}")
    code = CODES[wanted]
    return [
        row((code.code, "code"), "  ", (code.title, "title")),
        row(),
        *(row(line) for line in textwrap.wrap(code.why, _WIDTH)),
        row(),
        row((f"gives {code.code}", "bad")),
        *(row("    ", line) for line in code.bad.rstrip().splitlines()),
        row(),
        row(("does not", "good")),
        *(row("    ", line) for line in code.good.rstrip().splitlines()),
    ]


def code_list() -> Iterator[Row]:
    """Every code with its title."""
    width = max(map(len, CODES))
    for code in CODES.values():
        yield row((f"{code.code:<{width}}", "code"), "  ", code.title)


def target_rows() -> Iterator[Row]:
    """Every target: its registers, and whether this machine can run it."""
    from targets.host import available, best
    from targets.isa import TARGETS

    here = {target.name for target in available()}
    width = max(map(len, TARGETS))
    for name, target in TARGETS.items():
        runs, style = ("runs here", "good") if name in here else ("cross only", "faint")
        chosen = ", auto" if name == best().name else ""
        registers = f"{target.bits:>4}-bit registers" if target.bits else "   one lane at a time"
        yield row((f"{name:<{width}}", "title"), f"  {registers:<22}", (runs + chosen, style))


def op_rows() -> Iterator[Row]:
    """Every operation on every dtype: what each target makes of it."""
    from loopir.types import DTYPES
    from targets.c.forms import Form, cells
    from targets.isa import TARGETS

    letters = {Form.NATIVE: "n", Form.EXPANDED: "x", Form.LANES: "."}
    lines: dict[str, dict[str, str]] = {}
    for target in TARGETS.values():
        for c in cells(target):
            name = f"cast {c.source}" if c.source else c.op
            line = lines.setdefault(name, {})
            line[c.dtype] = line.get(c.dtype, "") + letters[c.form]
    width, cell = max(map(len, lines)), len(TARGETS) + 2
    yield row((f"a letter for each of {', '.join(TARGETS)}:", "title"))
    yield row("n native, x several instructions, . lane by lane; a cast stands under its result")
    yield row()
    yield row((" " * width + "".join(f"  {d:<{cell - 2}}" for d in DTYPES), "title"))
    for name, line in lines.items():
        shown = "".join(f"  {line.get(d, ''):<{cell - 2}}" for d in DTYPES)
        yield row((f"{name:<{width}}", "place"), shown.rstrip())


def cache_rows() -> Iterator[Row]:
    """Where compiled kernels are kept, and how much there is."""
    from targets.build import cache_info

    info = cache_info()
    yield row("path     ", (str(info.path), "place"))
    yield row("kernels  ", str(info.objects))
    yield row("size     ", f"{info.bytes / 1024:.0f} KiB of at most {info.limit / 1024:.0f} KiB")
