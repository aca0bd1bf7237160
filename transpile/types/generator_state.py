"""State of random number generators as arrays that alias the generator's own memory.

Compiled draws read and write the state in place, so that the generator goes on where they stop. A
family is "python" (``random.Random``), "legacy" (``RandomState``, MT19937) or "pcg" (``Generator``,
PCG64). NumPy gives the address of a bit generator's state; a ``random.Random`` has it in the object
itself. Before a family is used, `_layout_verified` checks the memory layout on generators made for
the purpose: where it is not the expected one, the family is not compiled.
"""
from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import cache, lru_cache
from threading import RLock
from typing import Any, TypeAlias

import numpy as np

from loopir.process.signal_exceptions import failures

__all__ = [
    "COPIED_PARTS", "GeneratorState", "uses_fma", "generator_family", "store_pending_gaussian",
    "state_templates", "locked", "state_arrays",
]


class GeneratorState(dict[str, np.ndarray]):
    """The arrays of one generator's state, by the names that the draw functions use for them."""

    of: object = None
    """The objects that own the memory, which this reference keeps alive."""


_Views: TypeAlias = "dict[str, np.ndarray]"

_BIT_GENERATORS = {"legacy": "MT19937", "pcg": "PCG64"}
"""The bit generator, a class of ``numpy.random``, of each of NumPy's families."""

COPIED_PARTS = {"python": ("spare",), "legacy": (), "pcg": ()}
"""For each family, the parts that are copies and no views, and are written back by
`store_pending_gaussian`.
"""

_DRAWING_METHODS = (
    "_randbelow", "choice", "expovariate", "gauss", "getrandbits", "lognormvariate",
    "normalvariate", "randint", "random", "randrange", "uniform",
)
"""Methods of ``random.Random`` that compiled draws stand for, or that these methods call."""

_INSTANCE_ATTRIBUTES = {"gauss_next"}
"""The attributes that a ``random.Random`` has itself, if none of its methods was replaced."""

_ORIGINAL_METHODS = [(name, getattr(random.Random, name)) for name in _DRAWING_METHODS]
"""Methods of ``random.Random`` at import, to recognise a patched class."""

_python_lock = RLock()
"""``random.Random`` has no lock of its own: compiled draws share this one."""


def generator_family(generator: object) -> str | None:
    """The family of `generator`; None if it is none that can be compiled. Two generators of one
    family draw the same numbers from equal states.
    """
    kind, loaded = type(generator), sys.modules.get("numpy.random")
    if kind is random.Random:
        return "python" if _is_plain(generator) and _layout_verified("python") else None
    if loaded is None or kind not in (loaded.RandomState, loaded.Generator):
        return None
    name = "pcg" if kind is loaded.Generator else "legacy"
    is_expected = type(_bit_generator(generator)) is getattr(loaded, _BIT_GENERATORS[name])
    return name if is_expected and _layout_verified(name) else None


def _is_plain(generator: Any) -> bool:
    """Whether no method of `generator` or of ``random.Random`` is overridden or patched."""
    if generator.__dict__.keys() != _INSTANCE_ATTRIBUTES:
        return False
    return all([getattr(random.Random, name) is f for name, f in _ORIGINAL_METHODS])


def state_arrays(name: str, generator: Any) -> GeneratorState:
    """The state of `generator`, of the family `name`, as arrays over its own memory: what a kernel
    writes is the generator's state at once. Generated code calls it at the start of a call.

        state_arrays("pcg", rng)   →   {"words": <4 uint64>, "half": <2 uint32>}

    Raises TypeError if it is not of that family: at this call, the name may mean another generator.
    """
    if generator_family(generator) != name:
        raise TypeError(f"{generator!r} is not of the family {name}")
    owner = None if name == "python" else _bit_generator(generator)
    state = GeneratorState(_views_at(name, id(generator), id(owner)))
    if name == "python":
        state |= _python_copies(generator)
    state.of = generator, owner
    return state


@lru_cache(maxsize=32)
def _views_at(name: str, generator: int, bit_generator: int) -> _Views:
    """The parts of the state that alias the memory of a generator, and of its bit generator, at
    these addresses. They are the same for any generator that is there, as its family has one
    layout (`_layout_verified`), and cost microseconds to make.
    """
    return _VIEWS[name](generator, bit_generator)


def _parts(name: str, generator: Any) -> _Views:
    """All parts of the state of `generator`, new arrays."""
    if name == "python":
        return _python_views(id(generator), 0) | _python_copies(generator)
    return _VIEWS[name](id(generator), id(_bit_generator(generator)))


@cache
def state_templates(name: str) -> Mapping[str, np.ndarray]:
    """Arrays of the same dtypes and shapes as those of a generator of the family `name`."""
    generator = _fresh_generator(name)
    return {part: array.copy() for part, array in _parts(name, generator).items()}


@cache
def uses_fma(name: str) -> bool:
    """Whether NumPy's compiled code of the family uses fused multiply-adds, which round a product
    and a sum once; found by comparing numbers of two generators with one seed.
    """
    if name == "python":
        return False
    uniform, unit = _fresh_generator(name), _fresh_generator(name)
    return any(uniform.uniform(0.1, 0.7) != 0.1 + (0.7 - 0.1) * unit.random() for _ in range(64))


def locked(*generators: Any) -> AbstractContextManager[Any]:
    """A context manager that holds the locks of these generators while a kernel draws, as NumPy's
    methods do while they draw; the wrapper enters it around the kernel
    (`runtime.kernel_call.python_wrapper`).

    All threads acquire several locks in the same order, by address, so that there is no deadlock.
    """
    if len(generators) == 1:
        return _lock_of(generators[0])
    locks = ExitStack()
    for lock in sorted(map(_lock_of, generators), key=id):
        locks.enter_context(lock)
    return locks


def _lock_of(generator: Any) -> AbstractContextManager[Any]:
    """The lock that protects the state of `generator`."""
    if isinstance(generator, random.Random):
        return _python_lock
    lock: AbstractContextManager[Any] = _bit_generator(generator).lock
    return lock


def _bit_generator(generator: Any) -> Any:
    """The bit generator of a ``RandomState`` or ``Generator``."""
    return getattr(generator, "_bit_generator", None) or generator.bit_generator


def _fresh_generator(name: str) -> Any:
    """A generator of the family `name`, always with the same seed."""
    if name == "python":
        return random.Random(1)
    return np.random.RandomState(1) if name == "legacy" else np.random.default_rng(1)


def _python_views(generator: int, _: int) -> _Views:
    """``at`` (the next word) and ``words``, which follow the object header."""
    address = generator + object.__basicsize__
    return {"at": _view(address, np.uint32, 1), "words": _view(address + 4, np.uint32, 624)}


def _python_copies(generator: random.Random) -> _Views:
    """``spare``: whether a second Gaussian is pending, and the Gaussian."""
    spare: float | None = generator.gauss_next  # type: ignore[attr-defined]
    return {"spare": np.array([0.0 if spare is None else 1.0, spare or 0.0])}


def store_pending_gaussian(generator: random.Random, spare: np.ndarray) -> None:
    """Writes the pending second Gaussian back to ``generator.gauss_next``. Generated code calls it
    after a kernel that draws from a ``random.Random`` (``CapturedExpr.write_back``).

    The polar method makes two Gaussians at a time. Python keeps the second as a float object or
    None, which a kernel cannot write: ``spare`` is a copy of it, whether there is one and its
    value. All other state, of all families, is memory that the kernel shares.
    """
    generator.gauss_next = float(spare[1]) if spare[0] else None  # type: ignore[attr-defined]


def _legacy_views(generator: int, bit_generator: int) -> _Views:
    """``words`` and ``at`` of MT19937; ``waits`` and ``spare``: whether a second Gaussian is
    pending, and the Gaussian.
    """
    address = bit_generator + _state_offset("legacy")
    spare = generator + _spare_normal_offset()
    return {
        "words": _view(address, np.uint32, 624), "at": _view(address + 4 * 624, np.uint32, 1),
        "waits": _view(spare - 8, np.int32, 1), "spare": _view(spare, np.float64, 1),
    }


def _pcg_views(_: int, bit_generator: int) -> _Views:
    """``words``: the 128-bit state and increment; ``half``: whether half of a 64-bit draw is left,
    and that half.
    """
    address = bit_generator + _state_offset("pcg")
    (state,) = _view(address, np.uint64, 1)
    return {"words": _view(int(state), np.uint64, 4), "half": _view(address + 8, np.uint32, 2)}


_VIEWS: dict[str, Callable[[int, int], _Views]] = {
    "python": _python_views, "legacy": _legacy_views, "pcg": _pcg_views,
}
"""For each family, the function that gives the parts of a generator's state that alias its memory,
as arrays by name, from the addresses of the generator and its bit generator."""


def _view(address: int, dtype: type, count: int) -> np.ndarray:
    """The `count` elements at that address as an array, which does not keep the memory alive."""
    memory, kind = _memory_type(dtype, count)
    view: np.ndarray = np.frombuffer(memory.from_address(address), kind)
    return view


@cache
def _memory_type(dtype: type, count: int) -> tuple[Any, np.dtype]:
    """The ctypes class of an array of `count` elements of `dtype`, and the dtype for NumPy."""
    import ctypes

    kind = np.dtype(dtype)
    return ctypes.c_char * (kind.itemsize * count), kind


@cache
def _state_offset(name: str) -> int:
    """The offset of the state in the object of a bit generator of the family `name`. It is computed
    once, from the address that NumPy gives, as asking for that takes 17 µs for each new generator;
    `_layout_verified` tests that it is valid for other generators, too.
    """
    bit_generator = _bit_generator(_fresh_generator(name))
    address: int = bit_generator.ctypes.state_address
    return address - id(bit_generator)


@cache
def _spare_normal_offset() -> int:
    """The offset in a ``RandomState`` of the second of two Gaussians, while it is pending."""
    import ctypes

    generator = _fresh_generator("legacy")
    generator.standard_normal()
    pending = np.float64(generator.get_state(legacy=False)["gauss"]).tobytes()
    return ctypes.string_at(id(generator), type(generator).__basicsize__).index(pending)


@cache
def _layout_verified(name: str) -> bool:
    """Whether generators of the family have their state where the views of `_VIEWS` read and write
    it. It is tried once a process, on generators made for the purpose; if not, no draw of the
    family is compiled (`generator_family`).

    - `_state_is_inline`: the addresses lie within the generator object, so that reading them is
      safe.
    - `_state_is_complete`: copying all parts gives another generator the same state, as its public
      method reports it, after 0, 1 and 2 draws: nothing is kept elsewhere.

    Only CPython has objects at their ``id``; big-endian machines have halves in the other order;
    and without the GIL another thread may draw meanwhile.
    """
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or sys.byteorder != "little" or not gil:
        return False
    try:
        return _state_is_inline(name) and all(_state_is_complete(name, count) for count in range(3))
    except (MemoryError, RecursionError, OSError):
        raise  # nothing is known of the layout
    except failures(Exception):  # any other layout: the family is not compiled
        return False


def _state_is_inline(name: str) -> bool:
    """Whether the state is in the memory of the generator object, so that it is safe to read."""
    words = 4 * 625
    if name == "python":
        return random.Random.__basicsize__ >= object.__basicsize__ + words
    generator = _fresh_generator(name)
    bit_generator = _bit_generator(generator)
    start, address = id(bit_generator), bit_generator.ctypes.state_address
    end = start + type(bit_generator).__basicsize__
    if name == "legacy":
        return bool(start <= address <= end - words)
    if not start <= address <= end - 16:
        return False
    (state,) = _view(address, np.uint64, 1)
    return bool(start <= int(state) <= end - 32)


def _state_is_complete(name: str, count: int) -> bool:
    """Whether copying the parts of a generator that has drawn `count` times to another generator
    gives that the same state, as ``get_state`` reports it.
    """
    ours, other = _fresh_generator(name), _fresh_generator(name)
    for _ in range(count):
        ours.random()
        if name == "legacy":
            ours.standard_normal()
        elif name == "pcg":
            ours.integers(7)
    initial, drawn = _reported_state(name, other), _reported_state(name, ours)
    copies = _parts(name, other)
    for part, array in _parts(name, ours).items():
        copies[part][...] = array
    changed = initial != drawn
    return _reported_state(name, other) == drawn and changed is bool(count)


def _reported_state(name: str, generator: Any) -> Any:
    """The state of `generator` as its public method reports it, comparable by ``==``."""
    if name == "python":
        return generator.getstate()
    if name == "pcg":
        return generator.bit_generator.state
    state = generator.get_state()
    return state[0], state[1].tolist(), *state[2:]
