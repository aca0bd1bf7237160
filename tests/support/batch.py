"""Runs the hand-written kernels, and the code generated for what they mean, on many calls.

There is one C program for each target. One process of it makes thousands of calls, natively or
under emulation.
"""
from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any, TypeAlias

import numpy as np
from scratch import scratch

from loopir.dtypes import DTYPES, MAX_RANK
from loopir.nodes import Kernel, Param
from loopir.passes.pass_list import optimise
from targets.build.build_kernel import FLAGS
from targets.build.c_compiler import find_compiler_for
from targets.c.emit_c import emit_body, emit_entry, translation_unit
from targets.handwritten_kernels import (
    kernel_c_source,
    kernel_function_name,
    kernel_library,
    kernel_meaning,
)
from targets.isa.target_registry import TARGETS, Target, runnable_targets
from targets.legalization.legalize import legalize

__all__ = [
    "HALVES", "PAIRS", "PLACES", "WAYS", "Call", "Pairs", "command", "generated", "run_batch",
    "table",
]

Pairs: TypeAlias = tuple[tuple[str, str], ...]

PAIRS: Pairs = tuple((name, dtype) for name, k in kernel_library().items() for dtype in k.dtypes)
"""Each hand-written kernel with each dtype it is written for."""

HALVES: tuple[Pairs, ...] = tuple(
    tuple(
        (name, dtype) for name, k in kernel_library().items()
        for dtype in k.dtypes if len(k.dtypes) == 1 or k.dtypes.index(dtype) % 2 == half
    )
    for half in (0, 1)
)
"""Two parts of the pairs. Each kernel is in both, a dtype in one if the kernel has several."""

WAYS = ("generated", "by hand")

DRIVER = Path(__file__).with_name("batch_driver.c")
_EMULATORS = {
    "neon": ("qemu-aarch64-static",),
    "sse2 by qemu64": ("qemu-x86_64-static", "-cpu", "qemu64"),
    "avx2 by qemu64": ("qemu-x86_64-static", "-cpu", "qemu64"),
}


def _places() -> dict[str, tuple[str, ...]]:
    """Targets of this machine, and emulated ones, each with the words before a program."""
    found: dict[str, tuple[str, ...]] = {t.name: () for t in runnable_targets() if t.bits}
    for place, words in _EMULATORS.items():
        target = TARGETS[place.split()[0]]
        compiler = target.machine == "x86_64" or which("aarch64-linux-gnu-gcc")
        if place not in found and which(words[0]) and compiler:
            found[place] = words
    return found


PLACES = _places()


@dataclass(frozen=True)
class Call:
    """One call of kernel number `pair` of PAIRS. Arrays that are one object are one memory."""

    pair: int
    args: Mapping[str, Any]
    shift: int = 0


@cache
def generated(name: str, dtype: str, target: str) -> Kernel:
    """What is made of a meaning before legalisation."""
    return optimise(kernel_meaning(name, dtype), TARGETS[target].model)


def command(place: str, level: str = "-Og", pairs: Pairs = PAIRS) -> list[str]:
    """The words that run a place's program of these kernels there, compiled at that level."""
    return [*PLACES[place], str(_program(place.split()[0], level, pairs))]


@cache
def _program(target: str, level: str, pairs: Pairs) -> Path:
    """The executable."""
    t = TARGETS[target]
    made = scratch("batch") / target
    flags = [f for f in FLAGS if f not in ("-O2", "-fPIC", "-fvisibility=protected")] + [level]
    words = [*find_compiler_for(t.machine).command, *flags, *t.cflags, "-static", "-x", "c", "-"]
    text = table(t, pairs) + DRIVER.read_text()
    subprocess.run([*words, "-o", made, "-lm"], input=text.encode(), check=True)
    return made


def table(t: Target, pairs: Pairs = PAIRS) -> str:
    """C text of the array `kernels`: the generated ones in the order of `pairs`, then the rest."""
    texts = [text for way in WAYS for text in _functions(way, t, pairs)]
    names = ", ".join(f"tp_kernel_{k}" for k in range(len(texts)))
    ours, by_hand = texts[: len(pairs)], texts[len(pairs) :]
    last = f"static int64_t (*const kernels[])(const tp_array *, const tp_scalar *) = {{{names}}};"
    return "\n".join(
        [translation_unit("\n".join(ours), t), kernel_c_source(pairs, t), *by_hand, last, ""]
    )


_OWN_NAMES = r"\b(tp_body|tp_kernel|tp_(?:part|totals|join|only|rate|run|loop|copy|captured)_\d+)\b"
"""What each kernel defines: with a number, several fit into one translation unit."""


def _functions(way: str, t: Target, pairs: Pairs) -> list[str]:
    """An entry a pair, with its body; each under a name of its own."""
    found = []
    for k, (name, dtype) in enumerate(pairs):
        legal = legalize(generated(name, dtype, t.name), t)
        if way == "generated":
            text = emit_body(legal, t) + emit_entry(legal, t)
            number = k
        else:
            text = emit_entry(legal, t).replace("tp_body(", f"{kernel_function_name(name, dtype)}(")
            number = k + len(pairs)
        found.append(re.sub(_OWN_NAMES, rf"\1_{number}", text))
    return found


def run_batch(
    words: Sequence[str], calls: Sequence[Call], way: str, pairs: Pairs = PAIRS
) -> list[tuple[int, dict[str, Any]]]:
    """The status of each call of a program of `pairs`, and the arrays as it leaves them."""
    blob = b"".join(_packed(c, way, pairs) for c in calls)
    out = subprocess.run(words, input=blob, stdout=subprocess.PIPE, check=True, timeout=200).stdout
    at, results = 0, []
    for call in calls:
        (status,) = struct.unpack_from("<q", out, at)
        at += 8
        left: dict[int, Any] = {}
        for a in _arrays(call).values():
            if id(a) not in left:
                left[id(a)] = np.frombuffer(out, a.dtype, a.size, at).reshape(a.shape).copy()
                at += a.nbytes
        results.append((status, {name: left[id(a)] for name, a in _arrays(call).items()}))
    assert at == len(out)
    return results


def _params(call: Call) -> tuple[Param, ...]:
    return kernel_meaning(*PAIRS[call.pair]).params


def _arrays(call: Call) -> dict[str, Any]:
    return {p.name: call.args[p.name] for p in _params(call) if p.rank is not None}


def _packed(call: Call, way: str, pairs: Pairs) -> bytes:
    """The call as the driver reads it."""
    arrays = list(_arrays(call).values())
    scalars = [p for p in _params(call) if p.rank is None]
    number = pairs.index(PAIRS[call.pair]) + len(pairs) * WAYS.index(way)
    parts = [struct.pack("<3q", number, len(arrays), len(scalars))]
    for k, a in enumerate(arrays):
        first = next(j for j, b in enumerate(arrays) if b is a)
        shift = call.shift * a.itemsize % 64
        dims, strides = (tuple(x) + (0,) * (MAX_RANK - a.ndim) for x in (a.shape, a.strides))
        length = a.nbytes if first == k else -1 - first
        parts.append(struct.pack("<12q", length, shift, *dims, *strides))
        parts.append(a.tobytes() if first == k else b"")
    values = (np.asarray(call.args[p.name], DTYPES[p.dtype].numpy) for p in scalars)
    return b"".join([*parts, *(v.tobytes().ljust(8, b"\0") for v in values)])
