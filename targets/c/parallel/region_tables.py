"""Parallel loops that add to arrays, as C: each chunk sums into tables of its own (privatization).
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

__all__ = ["LONGEST_TABLE", "with_own_tables"]

LONGEST_TABLE = 2048
"""The most elements of an array to which several threads add, each in a table of its own."""


def with_own_tables(
    tables: dict[str, tuple[str, str]], number: int, captured: Collection[str],
    lengths: Sequence[str], whole_range: Iterator[str],
) -> Iterator[str]:
    """The body of `tp_run` for a loop that adds to the arrays `tables`: a chunk adds to tables of
    its own, on its stack, and then adds these to the arrays, under a lock; a run of the whole range
    adds to the arrays directly. ``captured``: the fields of the struct that the chunk copies, not
    the lock; ``lengths``: declarations of the C variables with the lengths of the arrays;
    ``whole_range``: the lines for a call with the whole range.
    """
    yield f"struct tp_captured_{number} *const shared = captured;"
    yield from lengths
    yield from whole_range
    yield f"struct tp_captured_{number} own = {{{', '.join(f'shared->{c}' for c in captured)}}};"
    for c, (kind, length) in tables.items():
        yield f"{kind} tp_own_{c}[{LONGEST_TABLE}];"
        yield f"__builtin_memset(tp_own_{c}, 0, {length} * sizeof *tp_own_{c});"
        yield f"own.{c} = tp_own_{c};"
    yield f"const int64_t status = tp_part_{number}(arrays, scalars, &own, first, last);"
    yield "while (__atomic_exchange_n(&shared->tp_lock, 1, __ATOMIC_ACQUIRE));"
    for c, (kind, length) in tables.items():
        yield f"for (int64_t k = 0; k < {length}; k++)"
        yield f"    shared->{c}[k] = ({kind})(shared->{c}[k] + tp_own_{c}[k]);"
    yield "__atomic_store_n(&shared->tp_lock, 0, __ATOMIC_RELEASE);"
    yield "return status;"
