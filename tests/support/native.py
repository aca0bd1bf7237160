"""Builds kernels for real targets and calls them through the bare ABI; for NEON and Windows in a
process of an emulator.
"""
from __future__ import annotations

import ctypes
import struct
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from example_counts import hurried_flags
from scratch import scratch

from loopir.dtypes import DTYPES, MAX_RANK
from loopir.nodes import Kernel, Param
from targets.build.build_errors import NoCompiler
from targets.build.build_kernel import FLAGS, build_object
from targets.build.c_compiler import find_cross_compiler
from targets.build.compile_effort import accepted_flags
from targets.c import emit
from targets.isa.target_registry import TARGETS, Target, runnable_targets
from targets.legalization.legalize import legalize

__all__ = ["RUNNABLE", "as_arrays", "as_scalars", "run_native", "why_no_windows"]

CROSS, QEMU = which("aarch64-linux-gnu-gcc"), which("qemu-aarch64-static") or which("qemu-aarch64")
WINE = which("wine64") or which("wine64", path="/usr/lib/wine")  # where Debian has it
DRIVER = Path(__file__).with_name("kernel_driver.c")


def why_no_windows() -> str:
    """What is missing here to run kernels for Windows; empty if nothing is."""
    try:
        find_cross_compiler(_WINDOWS)
    except NoCompiler as error:
        return str(error)
    return "" if WINE else "no wine64"


_WINDOWS = "x86_64-windows-gnu"


class _Array(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dims", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
    )


def _runnable() -> tuple[str, ...]:
    here = {t.name for t in runnable_targets()}
    emulated = {t.name for t in TARGETS.values() if t.machine == "aarch64" and CROSS and QEMU}
    return tuple(name for name in TARGETS if name in here | emulated)


RUNNABLE: tuple[str, ...] = _runnable()
"""The targets whose code can run here, natively or under qemu."""


def run_native(
    kernel: Kernel, target: str, args: Mapping[str, Any], *, as_users: bool = False,
    windows: bool = False,
) -> int:
    """Runs the kernel, compiled for `target`, on `args` by name; arrays are mutated. Gives the
    ABI's status. `as_users`: with the flags of the users' kernels; else a plain run is in a hurry.
    `windows`: as a program of Windows, under Wine.
    """
    t = TARGETS[target]
    flags = () if as_users else hurried_flags()
    if windows:
        assert WINE
        return _emulate((WINE, _built_for_windows(kernel, t)), kernel, args)
    if t in runnable_targets():
        return _call(_loaded(kernel, t, flags), kernel, args)
    assert QEMU
    return _emulate((QEMU, _cross_built(kernel, t, flags)), kernel, args)


def _split(kernel: Kernel) -> tuple[list[Param], list[Param]]:
    arrays = [p for p in kernel.params if p.rank is not None]
    return arrays, [p for p in kernel.params if p.rank is None]


def _scalar(p: Param, value: Any) -> bytes:
    return np.asarray(value).astype(DTYPES[p.dtype].numpy).tobytes().ljust(8, b"\0")


# -- on this machine


@cache
def _loaded(kernel: Kernel, target: Target, flags: tuple[str, ...]) -> Any:
    source = emit(legalize(kernel, target), target)
    function = ctypes.CDLL(build_object(source, (*target.cflags, *flags))).tp_kernel
    function.restype = ctypes.c_int64
    return function


def _call(function: Any, kernel: Kernel, args: Mapping[str, Any]) -> int:
    return int(function(as_arrays(kernel, args), as_scalars(kernel, args)))


def as_arrays(kernel: Kernel, args: Mapping[str, Any]) -> Any:
    """The arrays among `args` as the ABI has them; they must outlive it."""
    arrays, _ = _split(kernel)
    described = (_Array * (len(arrays) or 1))()
    for d, p in zip(described, arrays, strict=False):
        a = args[p.name]
        d.data = a.ctypes.data
        d.dims[: a.ndim], d.strides[: a.ndim] = a.shape, a.strides
    return described


def as_scalars(kernel: Kernel, args: Mapping[str, Any]) -> Any:
    """The scalars among `args` as the ABI has them."""
    values = b"".join(_scalar(p, args[p.name]) for p in _split(kernel)[1])
    return ctypes.create_string_buffer(values, len(values) or 8)


# -- under emulation: memory travels as blocks, in which arrays that overlap lie together


@cache
def _cross_built(kernel: Kernel, target: Target, more: tuple[str, ...]) -> Path:
    source = emit(legalize(kernel, target), target)
    folder = scratch("neon")
    (folder / "kernel.c").write_text(source)
    flags = [f for f in FLAGS if f not in ("-fPIC", "-fvisibility=protected")]
    files = [folder / "kernel.c", DRIVER, "-o", folder / "run", "-lm"]
    assert CROSS
    subprocess.run([CROSS, *flags, *target.cflags, *more, "-static", *files], check=True)
    return folder / "run"


@cache
def _built_for_windows(kernel: Kernel, target: Target) -> Path:
    folder = scratch("windows")
    (folder / "kernel.c").write_text(emit(legalize(kernel, target), target))
    compiler = find_cross_compiler(_WINDOWS)
    flags = accepted_flags(compiler, (*FLAGS, *target.cflags))
    program = folder / "run.exe"
    words = [*compiler.command, *flags, folder / "kernel.c", DRIVER, "-o", program]
    subprocess.run(words, check=True)
    return program


def _span(a: Any) -> tuple[int, int]:
    """The addresses from an array's lowest byte to behind its highest."""
    reach = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    low = a.ctypes.data + sum(r for r in reach if r < 0)
    high = a.ctypes.data + sum(r for r in reach if r > 0) + a.itemsize
    return (low, high) if a.size else (a.ctypes.data, a.ctypes.data)


def _blocks(arrays: list[Any]) -> list[tuple[int, int]]:
    """The memory that `arrays` span, as ranges that do not touch."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(map(_span, arrays)):
        if merged and low < merged[-1][1]:
            low, high = merged[-1][0], max(high, merged.pop()[1])
        merged.append((low, high))
    return merged


def _emulate(command: tuple[str | Path, ...], kernel: Kernel, args: Mapping[str, Any]) -> int:
    params, scalars = _split(kernel)
    arrays = [args[p.name] for p in params]
    blocks = _blocks(arrays)
    blob = struct.pack("<3q", len(blocks), len(arrays), len(scalars))
    for low, high in blocks:
        blob += struct.pack("<q", high - low) + ctypes.string_at(low, high - low)
    for a in arrays:
        block = max(k for k, (low, _) in enumerate(blocks) if low <= _span(a)[0])
        dims, strides = (tuple(x) + (0,) * (MAX_RANK - a.ndim) for x in (a.shape, a.strides))
        blob += struct.pack("<12q", block, a.ctypes.data - blocks[block][0], *dims, *strides)
    blob += b"".join(_scalar(p, args[p.name]) for p in scalars)
    out = subprocess.run(command, input=blob, stdout=subprocess.PIPE, check=True).stdout
    at = 8
    for low, high in blocks:
        ctypes.memmove(low, out[at : at + high - low], high - low)
        at += high - low
    return int(struct.unpack_from("<q", out)[0])
