"""Build files: what builds the shared object of a package again from its C files.

A Makefile, a ``meson.build`` and a ``CMakeLists.txt``, for projects that compile it themselves.
All have the same units, each with its own flags.
"""
from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from targets.build.compile_effort import without_gcc_flags

from .fat_library import LINK_FLAGS, Unit
from .kernel_library import library_name
from .platforms import Platform

__all__ = ["build_files"]


def build_files(units: Sequence[Unit], platform: Platform) -> dict[str, str]:
    """The text of each build file, by its name."""
    parts: dict[tuple[str, ...], list[str]] = {}
    for unit in units:
        flags = unit.flags if not platform.triple else without_gcc_flags(unit.flags)
        parts.setdefault(flags, []).append(unit.name)
    return {
        "Makefile": "".join(_makefile(parts, platform)),
        "meson.build": "".join(_meson(parts, platform)),
        "CMakeLists.txt": "".join(_cmake(parts, platform)),
    }


_Parts = Mapping[tuple[str, ...], Sequence[str]]
"""The names of the units that are compiled with the same flags."""


def _makefile(parts: _Parts, platform: Platform) -> Iterator[str]:
    cross = f"python -m ziglang cc -target {platform.triple} -mcpu=baseline"
    command = f'"{cross}"' if platform.triple else "gcc"
    yield f"# Builds the library from the C files beside this one: make CC={command}\n"
    objects = " ".join(f"{name}.o" for names in parts.values() for name in names)
    link = shlex.join(LINK_FLAGS[platform.system])
    yield f"{library_name(platform.system)}: {objects}\n\t$(CC) -o $@ $^ {link}\n"
    for flags, names in parts.items():
        yield f"{' '.join(f'{name}.o' for name in names)}: FLAGS = {shlex.join(flags)}\n"
    yield "%.o: %.c\n\t$(CC) $(FLAGS) -c -o $@ $<\n"


def _libraries(platform: Platform) -> list[str]:
    """The names of the libraries with which the object is linked."""
    flags = LINK_FLAGS[platform.system]
    return [flag.removeprefix("-l") for flag in flags if flag.startswith("-l")]


def _meson(parts: _Parts, platform: Platform) -> Iterator[str]:
    yield "project('kernels', 'c', default_options: ['buildtype=plain', 'b_lundef=false'])\n"
    yield "parts = []\n"
    for k, (flags, names) in enumerate(parts.items()):
        files, words = (", ".join(map(_quoted, w)) for w in ([f"{n}.c" for n in names], flags))
        yield f"parts += static_library('part{k}', {files}, pic: true,\n    c_args: [{words}])\n"
    libraries = ", ".join(f"compiler.find_library({_quoted(n)})" for n in _libraries(platform))
    suffix = PurePath(library_name(platform.system)).suffix.removeprefix(".")
    yield "compiler = meson.get_compiler('c')\n"
    yield f"libraries = [dependency('threads'), {libraries}]\n"
    yield "shared_library('kernels', link_whole: parts, dependencies: libraries,\n"
    yield f"    name_prefix: '', name_suffix: '{suffix}')\n"


def _quoted(word: str) -> str:
    """A string of Meson's."""
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _cmake(parts: _Parts, platform: Platform) -> Iterator[str]:
    yield "cmake_minimum_required(VERSION 3.15)\nproject(kernels C)\n"
    for k, (flags, names) in enumerate(parts.items()):
        yield f"add_library(part{k} OBJECT {' '.join(f'{name}.c' for name in names)})\n"
        words = " ".join(f'"{word}"' for word in flags)
        yield f"target_compile_options(part{k} PRIVATE {words})\n"
    objects = " ".join(f"$<TARGET_OBJECTS:part{k}>" for k in range(len(parts)))
    libraries = " ".join(["Threads::Threads", *_libraries(platform)])
    suffix = PurePath(library_name(platform.system)).suffix
    yield f"add_library(kernels SHARED {objects})\n"
    yield f'set_target_properties(kernels PROPERTIES PREFIX "" SUFFIX "{suffix}")\n'
    yield "find_package(Threads REQUIRED)\n"
    yield f"target_link_libraries(kernels PRIVATE {libraries})\n"
