"""Garbage collection during imports and compilations: it runs less often, which saves a tenth.

A compilation makes trees of many small objects, and few cycles: reference counts free what it
drops. An import makes classes and functions that stay. By default Python's collector runs after
each 700 new objects, and walks through them again and again.
"""
from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collecting_less_often", "keep_imported"]

YOUNG_OBJECTS = 150_000
"""How many new objects (containers, less those freed) start a collection meanwhile: about 15 MB.
The import of the compiler makes 60,000, all of which stay: a collection of them takes 20 ms."""


@contextmanager
def collecting_less_often() -> Iterator[None]:
    """A context in which the first threshold of the collector is at least `YOUNG_OBJECTS`.

    Such contexts are the import of a public name (``transpile.__getattr__``), the search for a
    variant in the disk cache and its compilation (`Dispatcher._build_variant`), and a report
    (`inspection`). They may contain one another: the outermost sets the threshold, and puts the
    former one back, unless it was changed meanwhile by another thread or by code of the user. A
    collector that is switched off (the first threshold is 0, or ``gc.disable()``) stays so.
    """
    former = gc.get_threshold()
    if not 0 < former[0] < YOUNG_OBJECTS:
        yield
        return
    try:
        gc.set_threshold(YOUNG_OBJECTS, *former[1:])
        yield
    finally:
        if gc.get_threshold() == (YOUNG_OBJECTS, *former[1:]):
            gc.set_threshold(*former)


@functools.cache
def keep_imported() -> None:
    """After the first compilation of a process: moves all objects to the oldest generation. Most of
    the new ones are the compiler's own, which stay. Else the next new object would start a
    collection that looks at each, which takes 20 to 30 ms. Does nothing where the user has frozen
    objects (``gc.freeze``), as they would be looked at again.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
