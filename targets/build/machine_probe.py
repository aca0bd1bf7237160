"""Machine probe: how fast this machine moves data, measured in 50 ms and kept in the disk cache.

``transpile --machine`` shows it. No choice of the compiler depends on it: on a machine that others
share, the same loop is measured twice as fast at one moment as at the next.
"""
from __future__ import annotations

import json
import os
import platform
from dataclasses import fields
from typing import Any

from loopir.lazy_dataclass import record
from loopir.process.digests import hexdigest
from loopir.process.signal_exceptions import failures

from ..isa.target_registry import Target
from .build_errors import BuildError
from .build_kernel import build_object
from .machine_record import machine_record
from .object_cache import PROBE_SUFFIX, publish, read_cached
from .shared_library import open_library

__all__ = ["Rates", "measured_rates", "probe_source"]

BUDGET = 3e6
"""Nanoseconds for each of the eight rates; the buffer is had and filled in the rest of 50 ms."""

BUFFER = 64 << 20
"""Bytes of the buffer: a larger one takes too long to have from the system."""


@record(frozen=True, slots=True, kw_only=True)
class Rates:
    """What `machine_probe.c` measures: bytes a nanosecond (GB/s) of one thread."""

    l1: float
    l2: float
    l3: float
    memory: float
    written: float  # to memory
    streamed: float  # the same past the caches; 0.0: the target has no such instruction
    abreast_4: float  # read from L3, four rows at a time
    abreast_16: float


def measured_rates(target: Target) -> Rates:
    """The rates of this machine by code for `target`: those that an earlier process has measured on
    a machine with this name and these caches, under this kernel; else measured now, and kept.

    Raises NoCompiler and BuildError.
    """
    source = probe_source(target)
    machine = machine_record(), platform.release(), target.full_name, target.caches
    key = hexdigest(repr((*machine, source, BUDGET, BUFFER)).encode())
    if (kept := _decoded(read_cached(key, PROBE_SUFFIX))) is not None:
        return kept
    rates = _measure(build_object(source, target.cflags), target)
    values = [getattr(rates, f.name) for f in fields(Rates)]
    publish(json.dumps(values).encode(), key, PROBE_SUFFIX)
    return rates


def probe_source(target: Target) -> str:
    """The C text of the probe for `target`."""
    lines = [f"#define TP_BYTES {max(target.bits // 8, 8)}"]
    if target.stream:
        lines.append(f'#define TP_STREAM "{target.stream}"')
        lines.append(f'#define TP_REGISTER "{target.register}"')
    with open(os.path.join(os.path.dirname(__file__), "machine_probe.c"), encoding="utf-8") as file:
        return "\n".join((*lines, file.read()))


def _measure(path: str, target: Target) -> Rates:
    """Run the probe, the shared object at `path`. Raises BuildError."""
    import ctypes

    address, number = ctypes.c_void_p, ctypes.c_double
    probe: Any = ctypes.CFUNCTYPE(number, address, ctypes.c_int64, number, address)
    library = open_library(path)
    run = probe(library.address("tp_probe"))
    sizes = (ctypes.c_int64 * 3)(*(min(size, BUFFER) for size in target.caches))
    rates = (ctypes.c_double * len(fields(Rates)))()
    if run(sizes, BUFFER, BUDGET, rates) < 0:
        raise BuildError("there is no memory to measure with", is_fault=True)
    return Rates(**dict(zip((f.name for f in fields(Rates)), rates, strict=True)))


def _decoded(data: bytes | None) -> Rates | None:
    """The rates that `measured_rates` has kept; None if there are none, or not these."""
    try:
        values = [float(x) for x in json.loads(data or b"[]")]
        return Rates(**dict(zip((f.name for f in fields(Rates)), values, strict=True)))
    except failures(ValueError, TypeError):
        return None
