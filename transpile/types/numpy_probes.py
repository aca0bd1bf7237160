"""Probes of NumPy's arithmetic, which differs between versions and between machines.

They tell about fused multiply-adds, powers, searches, and minima of zeros of both signs.

A package that was built ahead of time has a kernel for the answers that its compilation got
(`asked_probes`), and uses it only where NumPy gives the same ones (`answers`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from types import MappingProxyType

import numpy as np

__all__ = [
    "answers", "answers_elsewhere", "asked_probes", "numpy_fuses_complex_products",
    "numpy_orders_zeros", "numpy_replaces_float_powers", "numpy_searches_by_halves",
    "numpy_squares_by_products", "orders_zeros",
]

_asked: ContextVar[dict[str, bool] | None] = ContextVar("asked probes", default=None)
"""Within `asked_probes`: the answers so far, by the name of the probe."""
_foreign: ContextVar[Mapping[str, bool]] = ContextVar("answers of another NumPy")
"""Within `asked_probes`: the answers that the NumPy of this process does not give."""

_PROBES: dict[str, Callable[[], bool]] = {}
"""The probes by name."""


def _probe(function: Callable[[], bool]) -> Callable[[], bool]:
    """`function`, which is run once, and notes what it answers."""
    answer, name = cache(function), function.__name__

    @wraps(function)
    def ask() -> bool:
        asked = _asked.get()
        if asked is None:
            return answer()
        if name not in asked:
            foreign = _foreign.get().get(name)
            asked[name] = answer() if foreign is None else foreign
        return asked[name]

    _PROBES[function.__name__] = ask
    return ask


@contextmanager
def asked_probes(foreign: Mapping[str, bool] = MappingProxyType({})) -> Iterator[dict[str, bool]]:
    """Gives a dict, to which the answers of the probes are added that are asked within, by name.

    ``foreign``: answers of the NumPy for which is compiled, where it is not that of this process
    (`answers_elsewhere`).
    """
    asked = dict[str, bool]()
    tokens = _asked.set(asked), _foreign.set(foreign)
    try:
        yield asked
    finally:
        _asked.reset(tokens[0])
        _foreign.reset(tokens[1])


def answers_elsewhere(machine: str) -> dict[str, bool]:
    """The answers that NumPy is known to give on this architecture: of the probes which tell the
    architectures apart.
    """
    return {"numpy_orders_zeros": machine == "aarch64"}


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
def numpy_orders_zeros() -> bool:
    """Whether ``np.maximum`` and ``np.minimum`` of float32 and float64 take -0.0 for less than 0.0,
    as the instructions of AArch64 do. Elsewhere they give the second of two zeros.
    """
    zeros = np.array([0.0, -0.0])
    return not np.signbit(np.maximum(zeros, -zeros)).any()


def orders_zeros(dtype: str) -> bool:
    """Whether NumPy's minimum and maximum of this dtype take -0.0 for less than 0.0."""
    return dtype in ("f32", "f64") and numpy_orders_zeros()


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
