"""What ``--long`` changes: ten times as many random examples, and kernels compiled with the flags
of users' kernels instead of the quick ones of a plain run.
"""
from __future__ import annotations

import os

__all__ = ["examples", "hurried_flags", "set_factor", "with_flags"]

_factor = 1


def set_factor(factor: int) -> None:
    """Called by conftest.py, before the test modules are imported."""
    global _factor
    _factor = factor


def examples(plain: int) -> int:
    """The number of examples where a plain run draws `plain`."""
    return plain * _factor


def hurried_flags() -> tuple[str, ...]:
    """What a plain run adds to the flags of the C compiler where the test is not about these."""
    return ("-Og",) if _factor == 1 else ()


def with_flags(*flags: str) -> str:
    """A value for ``TRANSPILE_CFLAGS``: what it is already, such as a sanitizer, and `flags`."""
    return " ".join((os.environ.get("TRANSPILE_CFLAGS", ""), *flags))
