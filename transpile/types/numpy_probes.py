"""Probes of NumPy's arithmetic, which differs between versions: fused multiply-adds, powers.

A package that was built ahead of time has a kernel for the answers that its compilation asked for
(`asked_probes`), and uses it only where NumPy gives the same ones (`answers`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps

import numpy as np

__all__ = [
    "answers", "asked_probes", "numpy_fuses_complex_products", "numpy_replaces_float_powers",
    "numpy_searches_by_halves", "numpy_squares_by_products",
]

_asked: ContextVar[set[str] | None] = ContextVar("asked probes", default=None)
"""The names of the probes asked so far, within `asked_probes`."""

_PROBES: dict[str, Callable[[], bool]] = {}
"""The probes by name."""


def _probe(function: Callable[[], bool]) -> Callable[[], bool]:
    """`function`, which is run once, and notes that it was asked."""
    answer = cache(function)

    @wraps(function)
    def ask() -> bool:
        asked = _asked.get()
        if asked is not None:
            asked.add(function.__name__)
        return answer()

    _PROBES[function.__name__] = ask
    return ask


@contextmanager
def asked_probes() -> Iterator[set[str]]:
    """Gives a set, to which the names of the probes are added that are asked within."""
    asked = set[str]()
    token = _asked.set(asked)
    try:
        yield asked
    finally:
        _asked.reset(token)


def answers(names: Iterable[str]) -> dict[str, bool]:
    """What the probes of these names say of the NumPy of this process."""
    return {name: _PROBES[name]() for name in names}


@_probe
def numpy_fuses_complex_products() -> bool:
    """Whether NumPy computes ``a.re * b.re - a.im * b.im`` with a fused multiply-add: two
    roundings, not three.
    """
    return bool((_ROUNDED * _ROUNDED).real[0] == 2**-29 + 2**-60)


@_probe
def numpy_squares_by_products() -> bool:
    """Whether ``np.square(z)`` of a complex array has the bits of ``z * z``."""
    return bool((np.square(_ROUNDED) == _ROUNDED * _ROUNDED).all())


@_probe
def numpy_replaces_float_powers() -> bool:
    """Whether ``x ** 2.0`` of an array is ``np.square(x)``, and ``x ** -1.0`` a reciprocal, as
    before NumPy 2.3. From then on only powers by ints are. It is found by the warning of an
    overflow, which names the ufunc.
    """
    log = _Log()
    with np.errstate(over="log", call=log):
        np.array([1e308]) ** 2.0
    return "square" in log.text


@_probe
def numpy_searches_by_halves() -> bool:
    """Whether ``np.searchsorted`` searches for each key in all of the array, which it halves, as
    from NumPy 2.5 on. Before, it bisects a range that depends on the key before. Only the places in
    an unsorted array tell.
    """
    return int(np.searchsorted([0.0, 0.0, 0.0, 1.0, 0.0], 0.5)) == 3


class _Log:
    """Receives the warnings of ``np.errstate(…="log")``."""

    text = ""

    def write(self, text: str) -> None:
        """Note a warning."""
        self.text += text


_ROUNDED = np.array([1 + 2**-30 + 1j])
"""A complex number whose square has another real part if a fused multiply-add computes it."""
