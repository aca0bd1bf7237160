"""Reads the functions and constants of Python files without running them."""
from __future__ import annotations

from .find_modules import module_location
from .static_module import Modules, StaticModule
from .static_values import Unevaluated, WrongOption, makes_record

__all__ = [
    "Modules", "StaticModule", "Unevaluated", "WrongOption", "makes_record", "module_location",
]
