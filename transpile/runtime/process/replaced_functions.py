"""Replaced functions: whether a program has put others in place of those that the compiler calls.

Tests replace functions of the standard library while they run::

    with unittest.mock.patch("builtins.open", mock_open(read_data="1")) as opened:
        total(x)                        # the first call, which would compile
    opened.assert_called_once()

A compiler that called them then would be counted, be given what is meant for the program, or fail.
So nothing is compiled while one of them is replaced: Python serves the call, and nothing is
remembered. But what is found in the place of a function again and again, and is no mock, is there
for good, as a library for coroutines may put it: then the compiler calls that.
"""
from __future__ import annotations

import builtins
import functools
import inspect
import io
import linecache
import math
import operator
import os
import re
import sys
import time
import tokenize
from builtins import (  # noqa: UP029 # these stay, if a program replaces them
    all,
    any,
    dict,
    enumerate,
    getattr,
    hasattr,
    map,
    sorted,
    type,
    vars,
)
from operator import is_
from typing import Any, NamedTuple

import numpy as np

__all__ = ["FunctionReplaced", "replaced_function"]


class FunctionReplaced(Exception):
    """Nothing can be compiled now, since the program replaces a function that the compiler calls.
    """


_NAMES = {
    builtins: (
        "abs all any callable chr compile delattr enumerate filter getattr hasattr hash id "
        "isinstance issubclass iter len map max min next open ord pow range repr reversed round "
        "setattr sorted sum zip"
    ),
    functools: "reduce wraps",
    inspect: "getattr_static getblock unwrap",
    io: "open",
    linecache: "checkcache getlines",
    math: "ceil copysign floor gcd isinf isnan log2 prod",
    operator: "add getitem mul or_",
    os: (
        "access close cpu_count fsdecode fsencode fspath fstat getcwd getenv geteuid listdir lseek "
        "lstat makedirs mkdir open pipe read readlink register_at_fork replace rmdir scandir "
        "sched_getaffinity stat unlink urandom utime write"
    ),
    os.path: (
        "abspath basename dirname exists expanduser isabs isdir isfile join normcase normpath "
        "realpath samestat split"
    ),
    re: "compile escape findall fullmatch match search sub",
    time: "monotonic time",
    tokenize: "detect_encoding generate_tokens open",
    np: (
        "all any arange array asarray concatenate empty empty_like flatnonzero frombuffer geterr "
        "issubdtype max min nonzero ones ravel zeros"
    ),
}
"""The functions that a compilation calls, or the standard library for it, of modules that are
loaded with this one. ``time.sleep`` and ``os.getpid`` are left out: a compilation goes well without
the real ones.
"""

_NAMES_LATER = {
    "ast": "literal_eval parse unparse walk",
    "atexit": "register",
    "copy": "copy deepcopy",
    "ctypes": "CFUNCTYPE PYFUNCTYPE addressof cast string_at",
    "dataclasses": "field fields replace",
    "gc": "freeze get_freeze_count get_threshold set_threshold unfreeze",
    "hashlib": "blake2b sha256",
    "importlib": "import_module",
    "json": "dumps loads",
    "logging": "getLogger",
    "platform": "machine uname",
    "select": "poll",
    "shutil": "rmtree which",
    "struct": "calcsize pack unpack",
    "subprocess": "Popen run",
    "tempfile": "gettempdir mkdtemp",
    "textwrap": "dedent indent",
    "threading": "Condition Event Lock RLock Thread current_thread get_ident main_thread",
    "warnings": "catch_warnings simplefilter warn",
}
"""As `_NAMES`, of modules that may be loaded later: only mocks can be told from what was there."""

_MOCKS = "unittest.mock"


class _Functions(NamedTuple):
    """The functions of the modules that are loaded, in three columns of the same length."""

    namespaces: tuple[dict[str, Any], ...]
    names: tuple[str, ...]
    expected: list[Any]
    """What each was when this module was loaded; of modules of `_NAMES_LATER`, what it was last
    that was no mock."""
    later: frozenset[str] = frozenset(_NAMES_LATER)
    """The modules that are not loaded yet."""


def _functions() -> _Functions:
    """Those of `_NAMES`."""
    namespaces = tuple(vars(module) for module, words in _NAMES.items() for _ in words.split())
    names = tuple(name for words in _NAMES.values() for name in words.split())
    return _Functions(namespaces, names, [*map(dict.get, namespaces, names)])


_known = [_functions()]
"""One item, which is replaced as a whole: an exception may come at any step, and other threads."""

_ORIGINALS = (*_known[0].expected,)
"""The functions of `_NAMES`, in their order, as they were when this module was loaded."""


def replaced_function() -> str | None:
    """A function that the compiler calls and that is replaced now, such as ``builtins.open``; None
    if there is none. What wraps the original (``__wrapped__``), as tracing tools do, is no
    replacement. Takes 5 to 15 us.
    """
    functions = _known[0]
    if any(map(sys.modules.__contains__, functions.later)):
        functions = _known[0] = _with_loaded_modules(functions)
    present = [*map(dict.get, functions.namespaces, functions.names)]
    if all(map(is_, present, functions.expected)):
        return None
    for place, now in enumerate(present):
        expected = functions.expected[place]
        if now is expected or getattr(now, "__wrapped__", now) is expected:
            continue
        is_new = place >= len(_ORIGINALS)
        if not _is_mock(now) and (is_new or _is_there_for_good(place, now)):
            functions.expected[place] = now
            continue
        return f"{functions.namespaces[place]['__name__']}.{functions.names[place]}"
    return None


_PATIENCE = 200
"""In how many calls a function has been replaced by the same one until that counts as the original.
"""

_sightings: dict[int, tuple[object, int]] = {}
"""By the place of a function in `_Functions`: what was there instead, and in how many calls."""


def _is_there_for_good(place: int, now: object) -> bool:
    """Whether `now` has been found in this place `_PATIENCE` times in a row, or is the original."""
    if now is _ORIGINALS[place]:
        return True
    before, count = _sightings.get(place, (None, 0))
    count = count + 1 if before is now else 1
    _sightings[place] = now, count
    return count >= _PATIENCE


def _with_loaded_modules(known: _Functions) -> _Functions:
    """`known`, and the functions of those modules that have been loaded meanwhile."""
    namespaces, names, expected = [*known.namespaces], [*known.names], [*known.expected]
    loaded = known.later & {*sys.modules}
    for module in sorted(loaded):
        for name in _NAMES_LATER[module].split():
            present = vars(sys.modules[module]).get(name)
            namespaces.append(vars(sys.modules[module]))
            names.append(name)
            expected.append(None if _is_mock(present) else present)
    return _Functions((*namespaces,), (*names,), expected, known.later - loaded)


def _is_mock(function: object) -> bool:
    """Whether it is a mock, or a function that stands before one (``create_autospec``)."""
    return type(function).__module__ == _MOCKS or hasattr(function, "mock")
