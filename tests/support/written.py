"""Modules made of generated text, written to files, since the compiler reads source files."""
from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType

__all__ = ["written"]

_number = itertools.count()


def written(folder: Path, text: str) -> ModuleType:
    """The module that `text` is, in a new file of `folder`."""
    path = folder / f"written_{next(_number)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
