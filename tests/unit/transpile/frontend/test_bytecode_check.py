"""Which ``def`` is what a function was compiled from: others differ in jumps or handlers alone."""
from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
from agree import outcome
from for_each import for_each
from written import written

from transpile import fuse
from transpile.frontend.bytecode_check import compiles_to

HEAD = "def f(a, b, c, x):\n"
BODIES = (
    "for v in x:\n    if (a and b) or c:\n        x()\n",
    "for v in x:\n    if a and (b or c):\n        x()\n",
    "while a:\n    if b: continue\n    if c: break\n    x()\n",
    "while a:\n    if b: break\n    if c: continue\n    x()\n",
    "try:\n    a()\n    b()\nexcept ValueError:\n    c()\n",
    "try:\n    a()\nexcept ValueError:\n    c()\nelse:\n    b()\n",
    "a()\ntry:\n    b()\nexcept ValueError:\n    c()\n",
    "with a:\n    b()\n    c()\n",
    "with a:\n    b()\nc()\n",
    "return [v for v in x if (a and b) or c]\n",
    "return [v for v in x if a and (b or c)]\n",
)


def functions_of(module: ModuleType) -> list[FunctionType]:
    """The functions and methods that `module` defines."""
    owners = [module, *(v for v in vars(module).values() if isinstance(v, type))]
    found = (v for owner in owners for v in vars(owner).values())
    return [v for v in found if isinstance(v, FunctionType) and v.__module__ == module.__name__]


@for_each(range(len(BODIES)))
def test_only_its_own_text_is_that_of_a_function(own: int) -> None:
    texts = [HEAD + textwrap.indent(body, "    ") for body in BODIES]
    names: dict[str, FunctionType] = {}
    exec(texts[own], names)
    for k, text in enumerate(texts):
        tree = ast.parse("import os\n" * 300 + text).body[-1]
        assert isinstance(tree, ast.FunctionDef)
        assert compiles_to(tree, names["f"]) == (k == own), (BODIES[own], BODIES[k])


@pytest.mark.parametrize("name", ["argparse", "fractions", "json.decoder", "tokenize"])
def test_nearly_all_functions_of_a_module_are_found(name: str) -> None:
    """All but those that decorators have replaced, and a few whose class was made by hand."""
    found, missed = 0, []
    for f in functions_of(importlib.import_module(name)):
        tree = ast.parse(textwrap.dedent(inspect.getsource(f))).body[0]
        if isinstance(tree, ast.FunctionDef):
            found += 1
            missed += [] if compiles_to(tree, f) else [f.__qualname__]
    assert found > 5
    assert len(missed) <= found // 20, missed


def test_a_file_that_was_edited_before_the_first_call(tmp_path: Path) -> None:
    """The function that was defined runs, not the one that the file has now."""
    text = ("def f(x, a, b, c):\n    s = 0.0\n    for v in x:\n"
            "        if (v > a and v > b) or v > c:\n            s += v\n    return s\n")
    module = written(tmp_path, text)
    assert module.__file__ is not None
    fused, given = fuse(module.f, on_reject="silent"), ([1.0, 2.0, 3.0], 5.0, 0.0, 1.5)
    edited = text.replace("(v > a and v > b) or v > c", "v > a and (v > b or v > c)")
    Path(module.__file__).write_text(edited)
    assert outcome(fused, given).value == outcome(module.f, given).value == 5.0
    assert fused.stats.compiled == 0
