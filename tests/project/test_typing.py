"""Typing of the public names: mypy and pyright over uses, and overloads that have all options."""
from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from paths import ROOT

from targets.isa.target_registry import TARGETS, TargetName
from transpile import fuse
from transpile.options import Options

USES = ROOT / "tests" / "project" / "typed_uses.py"


def test_mypy_accepts_the_right_uses_and_no_others() -> None:
    words = ["-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", str(USES)]
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    answer = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_pyright_accepts_the_right_uses_and_no_others(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright needs node, and there is none")
    settings = {
        "include": [str(USES)],
        "extraPaths": [str(ROOT)],
        "reportUnnecessaryTypeIgnoreComment": "error",
        "pythonPlatform": "Linux",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "pyright", "--project", tmp_path, "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
        env=os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "0 errors" in answer.stdout


def overloads() -> list[ast.FunctionDef]:
    """The declarations of ``fuse`` before its definition."""
    path = ROOT / "transpile" / "runtime" / "fuse_decorator.py"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    named = [n for n in body if isinstance(n, ast.FunctionDef) and n.name == "fuse"]
    return named[:-1]


def test_overloads_have_every_option() -> None:
    """With its type and default, in the order of the fields."""
    wanted = [(f.name, str(f.type), f.default) for f in fields(Options)]
    plain, *with_options = overloads()
    assert not plain.args.kwonlyargs
    assert len(with_options) == 2
    for each in with_options:
        declared = [
            (arg.arg, ast.unparse(arg.annotation), ast.literal_eval(default))
            for arg, default in zip(each.args.kwonlyargs, each.args.kw_defaults, strict=True)
            if arg.annotation and default
        ]
        assert declared == wanted


def test_signature_and_docstring_have_every_option() -> None:
    parameters = list(inspect.signature(fuse).parameters.values())[1:]
    assert [(p.name, p.default) for p in parameters] == [
        (f.name, f.default) for f in fields(Options)
    ]
    assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    for field in fields(Options):
        default = json.dumps(field.default) if isinstance(field.default, str) else field.default
        assert f"``{field.name}={default}``: " in (fuse.__doc__ or "")


def test_target_names() -> None:
    assert get_args(TargetName) == ("auto", *TARGETS)


def test_no_module_but_the_registry_lists_the_targets() -> None:
    """A new target is added to one file besides its own."""
    registry = ROOT / "targets" / "isa" / "target_registry.py"
    files = [p for d in ("loopir", "targets", "transpile") for p in (ROOT / d).rglob("*.py")]
    lists = [p for p in files if all(re.search(rf"\b{n}\b", p.read_text("utf-8")) for n in TARGETS)]
    assert lists == [registry]
