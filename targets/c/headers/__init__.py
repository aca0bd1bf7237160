"""The C headers and templates from which kernels are made: the files of this folder."""
from __future__ import annotations

import os

__all__ = ["read_header", "header_names"]

_HERE = os.path.dirname(__file__)


def read_header(name: str) -> str:
    """The text of one."""
    with open(os.path.join(_HERE, name), encoding="utf-8") as file:
        return file.read()


def header_names(start: str) -> list[str]:
    """The names that start so, sorted."""
    return sorted(name for name in os.listdir(_HERE) if name.startswith(start))
