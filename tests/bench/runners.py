"""Who runs a case: what `@fuse` and numba compile, NumPy, C, and the hand-written kernels."""
from __future__ import annotations

import ctypes
import functools
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from batch import PAIRS, table
from native import as_arrays, as_scalars

from loopir.dtypes import DTYPES, dtype_name
from targets.build.build_kernel import build_kernel
from targets.handwritten_kernels import kernel_meaning
from targets.isa.target_registry import TARGETS

__all__ = ["Run", "by_hand", "by_numba", "in_c", "limit"]

Run = Callable[[], Any]

_FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC")
_FAST = ("-ffast-math", "-nostartfiles")  # no start file of gcc's that flushes subnormals
_C_TYPES = {
    "float32": "float", "float64": "double", "complex64": "float complex",
    "complex128": "double complex", "bool": "bool",
}
_CALL = "int64_t by_hand(const tp_array *a, const tp_scalar *s) { return kernels[1](a, s); }\n"
_SLACK = 64
"""Elements that a hand-written kernel wants behind those that it appends."""


def by_numba(loop: Callable[..., Any], args: Sequence[Any]) -> Run | None:
    """With its fastmath; None without numba, or where it does not know a function."""
    try:
        from numba.core.errors import NumbaError
    except ImportError:
        return None
    try:
        jitted = _jitted(loop)
        jitted(*args)
    except NumbaError:
        return None
    return lambda: jitted(*args)


@functools.cache
def _jitted(loop: Callable[..., Any]) -> Any:
    import numba

    return numba.njit(fastmath=True)(loop)


@functools.cache
def _library(dtype: str, fast: bool) -> Any:
    """The C loops for elements of `dtype`, by the system's compiler for this machine."""
    kind = {"f": "reals", "c": "complexes"}.get(np.dtype(dtype).kind, "integers")
    source = Path(__file__).with_name(f"{kind}.c")
    words = [os.environ.get("CC", "cc"), *_FLAGS, *(_FAST if fast else ())]
    words += [f"-DT={_C_TYPES.get(dtype, f'{dtype}_t')}"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{dtype}.so")
        subprocess.run([*words, str(source), "-o", str(path), "-lm"], check=True)
        return ctypes.CDLL(str(path))


_FFI = FFI()


def in_c(name: str, dtype: str, arrays: Sequence[np.ndarray], n: int, fast: bool = False) -> Run:
    """The function in C on these arrays; with `fast`, by -ffast-math."""
    address = ctypes.cast(getattr(_library(dtype, fast), name), ctypes.c_void_p).value
    function = _FFI.cast(f"double (*)({'void *, ' * len(arrays)}size_t)", address)
    pointers = [_FFI.from_buffer(a) for a in arrays]
    return lambda: function(*pointers, n)


def limit(name: str, args: Sequence[Any]) -> Run:
    """What must be done at least: to read ("sum"), or read and write ("copy") the largest array."""
    largest = max((a for a in args if isinstance(a, np.ndarray)), key=lambda a: a.nbytes)
    given = [largest] if name == "sum" else [largest, np.zeros_like(largest)]
    return in_c(name, largest.dtype.name, given, largest.size, fast=True)


def by_hand(name: str, loop: Callable[..., Any], args: Sequence[Any], target: str) -> Run | None:
    """The kernel, if there is one for that dtype; its parameters are named as the loop's."""
    given = dict(zip(inspect.signature(loop).parameters, args, strict=True))
    dtype = dtype_name(given["b" if name == "gemm" else "x"].dtype)
    if not dtype or (name, dtype) not in PAIRS:
        return None
    kernel = kernel_meaning(name, dtype)
    made = []
    for p in kernel.params:
        if p.name not in given:
            shape = (len(given["x"]) + _SLACK,) * (p.rank or 0)
            given[p.name] = np.zeros(shape, DTYPES[p.dtype].numpy)
            made.append(given[p.name])
    call = _FFI.cast("int64_t (*)(void *, void *)", _kernel(name, dtype, target))
    arrays, scalars = as_arrays(kernel, given), as_scalars(kernel, given)
    addresses = [_FFI.cast("void *", ctypes.addressof(block)) for block in (arrays, scalars)]

    def run(kept: Any = (given, arrays, scalars)) -> Any:
        status = call(*addresses)
        assert status == 0, status
        return made[0][: int(made[1])] if len(made) == 2 else made[0][()] if made else None

    return run


@functools.cache
def _kernel(name: str, dtype: str, target: str) -> int | None:
    t = TARGETS[target]
    library = ctypes.CDLL(build_kernel(table(t, ((name, dtype),)) + _CALL, t))
    return ctypes.cast(library.by_hand, ctypes.c_void_p).value
