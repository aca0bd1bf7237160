"""State of random number generators as arrays that alias the generator's own memory.

NumPy tells where a bit generator has its state; a ``random.Random`` holds it in the object itself.
Each family is verified first on a generator made for the purpose: where its layout is not the
expected one, there are no such arrays and draws are left to Python.
"""
from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from threading import RLock
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "COPIED_PARTS", "GeneratorParts", "uses_fma", "generator_family", "keep", "part_templates",
    "locked", "parts",
]


class GeneratorParts(dict[str, np.ndarray]):
    """The arrays of one generator's state, by the names that the draw functions use; ``of`` owns
    the memory and is kept alive.
    """

    of: object = None


_Views: TypeAlias = "dict[str, np.ndarray]"

_BIT_GENERATORS = {"legacy": "MT19937", "pcg": "PCG64"}
COPIED_PARTS = {"python": ("spare",), "legacy": (), "pcg": ()}
"""Parts that are not a generator's memory, and are to be kept in the end."""

_NAMES = (
    "_randbelow", "choice", "expovariate", "gauss", "getrandbits", "lognormvariate",
    "normalvariate", "randint", "random", "randrange", "uniform",
)
_OWN_ATTRIBUTES = {"gauss_next"}
_METHODS = [(name, getattr(random.Random, name)) for name in _NAMES]
_lock = RLock()


def generator_family(generator: object) -> str | None:
    """The family of `generator`: two of one family draw the same numbers from equal states. None
    for one that is not known.
    """
    kind, loaded = type(generator), sys.modules.get("numpy.random")
    if kind is random.Random:
        return "python" if _is_plain(generator) and _layout_verified("python") else None
    if loaded is None or kind not in (loaded.RandomState, loaded.Generator):
        return None
    name = "pcg" if kind is loaded.Generator else "legacy"
    known = type(_bits(generator)) is getattr(loaded, _BIT_GENERATORS[name]) and _layout_verified(
        name
    )
    return name if known else None


def _is_plain(generator: Any) -> bool:
    """Whether its methods are those of ``random.Random``, as they were."""
    kind = random.Random
    if generator.__dict__.keys() != _OWN_ATTRIBUTES:
        return False
    return all([getattr(kind, name) is f for name, f in _METHODS])


def parts(name: str, generator: Any) -> GeneratorParts:
    """The state of `generator` as arrays. Raises TypeError where it is not of the family `name`."""
    if generator_family(generator) != name:
        raise TypeError(f"{generator!r} is not of the family {name}")
    found = GeneratorParts(_PARTS[name](generator))
    found.of = generator, None if name == "python" else _bits(generator)
    return found


@cache
def part_templates(name: str) -> Mapping[str, np.ndarray]:
    """Arrays of the same dtypes and shapes as those of a generator of the family `name`."""
    made = _fresh_generator(name)
    return {part: array.copy() for part, array in _PARTS[name](made).items()}


@cache
def uses_fma(name: str) -> bool:
    """Whether the family's algorithms use fused multiply-adds, as NumPy's compiled code does."""
    if name == "python":
        return False
    drawn, plain = _fresh_generator(name), _fresh_generator(name)
    return any(drawn.uniform(0.1, 0.7) != 0.1 + (0.7 - 0.1) * plain.random() for _ in range(64))


def locked(*generators: Any) -> AbstractContextManager[Any]:
    """A context manager that holds the locks of these generators while numbers are drawn; all
    threads take them in the same order.
    """
    if len(generators) == 1:
        return _lock_of(generators[0])
    held = ExitStack()
    for lock in sorted(map(_lock_of, generators), key=id):
        held.enter_context(lock)
    return held


def _lock_of(generator: Any) -> AbstractContextManager[Any]:
    if isinstance(generator, random.Random):
        return _lock
    held: AbstractContextManager[Any] = _bits(generator).lock
    return held


def _bits(generator: Any) -> Any:
    """NumPy's bit generator."""
    return getattr(generator, "_bit_generator", None) or generator.bit_generator


def _fresh_generator(name: str) -> Any:
    if name == "python":
        return random.Random(1)
    return np.random.RandomState(1) if name == "legacy" else np.random.default_rng(1)


def _python(generator: Any) -> _Views:
    address = id(generator) + object.__basicsize__
    spare = generator.gauss_next
    return {
        "at": _view(address, np.uint32, 1), "words": _view(address + 4, np.uint32, 624),
        "spare": np.array([0.0 if spare is None else 1.0, spare or 0.0]),
    }


def keep(generator: random.Random, spare: np.ndarray) -> None:
    """Write the pending second Gaussian back to `generator.gauss_next`, which is not in the aliased
    memory.
    """
    generator.gauss_next = float(spare[1]) if spare[0] else None  # type: ignore[attr-defined]


def _legacy(generator: Any) -> _Views:
    address, spare = _bits(generator).ctypes.state_address, id(generator) + _spare_normal_offset()
    return {
        "words": _view(address, np.uint32, 624), "at": _view(address + 4 * 624, np.uint32, 1),
        "waits": _view(spare - 8, np.int32, 1), "spare": _view(spare, np.float64, 1),
    }


def _pcg(generator: Any) -> _Views:
    address = _bits(generator).ctypes.state_address
    (state,) = _view(address, np.uint64, 1)
    return {"words": _view(int(state), np.uint64, 4), "half": _view(address + 8, np.uint32, 2)}


_PARTS: dict[str, Callable[[Any], _Views]] = {"python": _python, "legacy": _legacy, "pcg": _pcg}


def _view(address: int, dtype: type, count: int) -> np.ndarray:
    memory, kind = _block(dtype, count)
    view: np.ndarray = np.frombuffer(memory.from_address(address), kind)
    return view


@cache
def _block(dtype: type, count: int) -> tuple[Any, np.dtype]:
    import ctypes

    kind = np.dtype(dtype)
    return ctypes.c_char * (kind.itemsize * count), kind


@cache
def _spare_normal_offset() -> int:
    """The offset in a ``RandomState`` of the second of two Gaussians, while it is pending."""
    import ctypes

    made = _fresh_generator("legacy")
    made.standard_normal()
    wanted = np.float64(made.get_state(legacy=False)["gauss"]).tobytes()
    return ctypes.string_at(id(made), type(made).__basicsize__).index(wanted)


@cache
def _layout_verified(name: str) -> bool:
    """Whether states of the family lie where the views expect them, and agree with ``get_state``.
    """
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or sys.byteorder != "little" or not gil:
        return False
    try:
        return _state_is_inline(name) and all(_state_is_complete(name, count) for count in range(3))
    except Exception:  # whatever it is, such loops stay Python's
        return False


def _state_is_inline(name: str) -> bool:
    """Whether the state lies in the generator itself, so that it may be looked at."""
    words = 4 * 625
    if name == "python":
        return random.Random.__basicsize__ >= object.__basicsize__ + words
    made = _fresh_generator(name)
    bits = _bits(made)
    first, address = id(bits), bits.ctypes.state_address
    end = first + type(bits).__basicsize__
    if name == "legacy":
        return bool(first <= address <= end - words)
    if not first <= address <= end - 16:
        return False
    (state,) = _view(address, np.uint64, 1)
    return bool(first <= int(state) <= end - 32)


def _state_is_complete(name: str, count: int) -> bool:
    """Whether the parts of a generator that has drawn are all that makes another go on like it."""
    ours, other = _fresh_generator(name), _fresh_generator(name)
    for _ in range(count):
        ours.random()
        if name == "legacy":
            ours.standard_normal()
        elif name == "pcg":
            ours.integers(7)
    begun, wanted = _reported_state(name, other), _reported_state(name, ours)
    there = _PARTS[name](other)
    for part, own in _PARTS[name](ours).items():
        there[part][...] = own
    return _reported_state(name, other) == wanted and (begun == wanted) is not bool(count)


def _reported_state(name: str, generator: Any) -> Any:
    """What the generator itself says of its state."""
    if name == "python":
        return generator.getstate()
    if name == "pcg":
        return generator.bit_generator.state
    told = generator.get_state()
    return told[0], told[1].tolist(), *told[2:]
