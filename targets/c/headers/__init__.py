"""The C headers and templates of generated kernels: the files of this folder."""
from __future__ import annotations

import os

__all__ = ["read_header", "header_names"]

_HERE = os.path.dirname(__file__)


def read_header(name: str) -> str:
    """The text of a header."""
    with open(os.path.join(_HERE, name), encoding="utf-8") as file:
        return file.read()


def header_names(start: str) -> list[str]:
    """The names of headers that start with `start`, sorted."""
    return sorted(name for name in os.listdir(_HERE) if name.startswith(start))
