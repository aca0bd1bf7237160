"""Knobs: the environment variables that the compiler reads. An unknown name or word is an error.

``TRANSPILE_CACHE``, ``TRANSPILE_CFLAGS``, ``TRANSPILE_MACHINE``, ``TRANSPILE_THREADS`` and ``CC``
are read where they are used, by ``targets.build``, which may not import this package, and
``TRANSPILE_PLATFORM`` by the build hooks; they are listed here so that the list is complete.
``TRANSPILE_CFLAGS``, ``TRANSPILE_MACHINE`` and ``CC`` are part of the keys of the cache,
``TRANSPILE_CACHE`` is its folder. Of the variables that `Knobs` holds, only the target is part of a
key (`Knobs.shapes_code` says what that means for the others).

A new variable is a row of `KNOBS`, a field of `Knobs`, its reader in `_READERS`, and a row of the
table in ``docs/options.md``. ``tests/project/test_pages.py`` compares that table with `KNOBS`
(``test_the_variables_are_those_there_are``). One that changes the generated code
must make `Knobs.shapes_code` true, which keeps it out of the disk cache.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import failures

__all__ = ["KNOBS", "Knob", "Knobs", "SettingError", "read"]


class SettingError(ValueError):
    """An environment variable of the compiler that is unknown, or has an unknown value."""


DEBUG_WORDS = ("macros", "python", "fuse", "ir", "c", "asm", "time")


@record(frozen=True, slots=True, kw_only=True)
class Knob:
    """One variable, for the documentation."""

    name: str
    values: str
    """The values that it can have, in words."""
    does: str
    """What it does: the predicate of a sentence."""


KNOBS: tuple[Knob, ...] = (
    Knob(name="TRANSPILE_TARGET", values="a target's name, or auto",
         does="compiles for this target where the decorator says auto"),
    Knob(name="TRANSPILE_DEBUG", values="some of macros,python,fuse,ir,c,asm,time",
         does="prints stages to stderr, each only where it changed something; time also how "
              "many threads ran each parallel loop"),
    Knob(name="TRANSPILE_DUMP", values="a directory",
         does="writes every stage of every kernel there"),
    Knob(name="TRANSPILE_CHECK", values="0 or 1",
         does="verifies after each pass, and compares each first call with the interpreter"),
    Knob(name="TRANSPILE_SKIP", values="passes, as in hoist,simplify@2",
         does="leaves these passes out, or only their N-th invocation"),
    Knob(name="TRANSPILE_FALLBACK", values="python or error",
         does="with error, a call that would run as Python raises instead"),
    Knob(name="TRANSPILE_SELECT", values="time, compiled or python",
         does="with compiled, compiled code serves calls even where Python is faster; with python, "
              "functions that are first called now run as if they were not decorated"),
    Knob(name="TRANSPILE_CACHE", values="a directory", does="keeps compiled kernels there"),
    Knob(name="TRANSPILE_CFLAGS", values="flags", does="adds flags for the C compiler"),
    Knob(name="TRANSPILE_MACHINE", values="three sizes as 48K,2M,32M, or typical",
         does="are the caches that code is made for; typical: those that a target usually has"),
    Knob(name="TRANSPILE_THREADS", values="a whole number, at least 1",
         does="is the most threads that a call may use; else OMP_NUM_THREADS is"),
    Knob(name="TRANSPILE_PLATFORM", values="a platform, as win_amd64",
         does="is the system for which build hooks make wheels"),
    Knob(name="CC", values="a command", does="is the first C compiler to try"),
)


@record(frozen=True, slots=True)
class Knobs:
    """The values of the variables; each default is for a variable that is not set."""

    target: str = "auto"
    debug: frozenset[str] = frozenset()
    """The words of ``TRANSPILE_DEBUG``."""
    dump: str | None = None
    """The folder to write all stages to; None: they are not written."""
    check: bool = False
    skip: frozenset[str] = frozenset()
    """Passes to leave out, ``NAME`` or ``NAME@N``."""
    fallback_is_error: bool = False
    """Whether a call that would run as Python raises instead."""
    select: str = "time"
    """What serves calls: "time", the faster one of compiled code and Python; "compiled" or "python"
    alone.
    """

    @property
    def shapes_code(self) -> bool:
        """Whether these settings change the generated code in a way that the keys of the disk cache
        do not tell, as ``TRANSPILE_SKIP`` does. A process with such settings stores no kernels
        (`compile_variant`), and takes none from the cache (`find_variant`), since those were
        compiled with other settings. (Where a compilation is watched or checked, `find_variant`
        takes none either, but they are stored.)
        """
        return bool(self.skip)


def _words(value: str) -> frozenset[str]:
    """The words of a list with commas."""
    return frozenset(w for w in (part.strip() for part in value.split(",")) if w)


def _word_set(name: str, value: str, known: tuple[str, ...]) -> frozenset[str]:
    """The words of `value`, a list with commas. Raises SettingError for one that is not `known`."""
    words = _words(value)
    for word in sorted(words - set(known)):
        raise SettingError(f"{name}: unknown word {word!r} (known: {', '.join(known)})")
    return words


def _passes(name: str, value: str) -> frozenset[str]:
    """The words of a list with commas. Raises SettingError for one that names no pass."""
    from loopir.passes.pass_list import pass_names  # only a program that sets it pays for that

    words = _words(value)
    try:
        pass_names(words)
    except failures(ValueError) as error:
        raise SettingError(f"{name}: {error}") from None
    return words


def _check_threads(name: str, value: str) -> None:
    """Raises SettingError if `value` is not a number of threads."""
    if not (value.isascii() and value.isdecimal() and int(value)):
        raise SettingError(f"{name}={value}: must be a whole number, at least 1")


def _check_machine(name: str, value: str) -> None:
    """Raises SettingError if `value` names no cache sizes."""
    from targets.build.machine_record import sizes_in  # only a program that sets it pays for that

    try:
        sizes_in(value)
    except failures(ValueError) as error:
        raise SettingError(f"{name}={value}: {error}") from None


def _one_word(name: str, value: str, known: tuple[str, ...]) -> str:
    """`value`. Raises SettingError if it is not one of the words `known`."""
    if value not in known:
        raise SettingError(f"{name}: unknown word {value!r} (known: {', '.join(known)})")
    return value


_Reader = Callable[[str, str], object]
"""From the name and the value of a variable to the value of the field of `Knobs`."""

_READERS: dict[str, tuple[str, _Reader]] = {
    "TRANSPILE_TARGET": ("target", lambda name, value: value),
    "TRANSPILE_DEBUG": ("debug", lambda name, value: _word_set(name, value, DEBUG_WORDS)),
    "TRANSPILE_DUMP": ("dump", lambda name, value: value),
    "TRANSPILE_CHECK": ("check", lambda name, value: _one_word(name, value, ("0", "1")) == "1"),
    "TRANSPILE_SKIP": ("skip", lambda name, value: _passes(name, value)),
    "TRANSPILE_FALLBACK": (
        "fallback_is_error",
        lambda name, value: _one_word(name, value, ("python", "error")) == "error",
    ),
    "TRANSPILE_SELECT": (
        "select", lambda name, value: _one_word(name, value, ("time", "compiled", "python")),
    ),
}
"""For each variable that this module reads, the field of `Knobs` and its reader."""


def read(environ: Mapping[str, str] | None = None) -> Knobs:
    """The knobs as the environment sets them now; an empty variable counts as not set.

    Raises SettingError for an unknown word, a wrong number, and an unknown variable
    ``TRANSPILE_…``.
    """
    env = os.environ if environ is None else environ
    known = [knob.name for knob in KNOBS]
    for name in env:
        if name.startswith("TRANSPILE_") and name not in known:
            raise SettingError(f"{name}: no such variable (known: {', '.join(known)})")
    if threads := env.get("TRANSPILE_THREADS"):
        _check_threads("TRANSPILE_THREADS", threads)
    if machine := env.get("TRANSPILE_MACHINE"):
        _check_machine("TRANSPILE_MACHINE", machine)
    settings = {
        field: parse(name, env[name])
        for name, (field, parse) in _READERS.items()
        if env.get(name)
    }
    return Knobs(**settings)  # type: ignore[arg-type]  # each reader gives its field's type
