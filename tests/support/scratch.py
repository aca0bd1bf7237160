"""Temporary folders for what tests build, removed when the process ends."""
from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

__all__ = ["scratch"]


def scratch(name: str) -> Path:
    """A new folder, whose own name starts with that one."""
    made = tempfile.mkdtemp(prefix=f"{name}-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
