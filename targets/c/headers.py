"""The C files that kernels are made from; they stand beside this one."""
from __future__ import annotations

import os

__all__ = ["header", "headers"]

_HERE = os.path.dirname(__file__)


def header(name: str) -> str:
    """The text of one."""
    with open(os.path.join(_HERE, name), encoding="utf-8") as file:
        return file.read()


def headers(start: str) -> list[str]:
    """The names that start so, sorted."""
    return sorted(name for name in os.listdir(_HERE) if name.startswith(start))
