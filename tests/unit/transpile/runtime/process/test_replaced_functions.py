"""While a test replaces functions that the compiler calls, it calls none of them: Python runs."""
from __future__ import annotations

import builtins
import functools
import importlib
import itertools
import subprocess
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec, mock_open, patch

import numpy as np
import pytest
from forked_programs import run_program

from transpile import FuseError, fuse
from transpile.runtime.process import replaced_functions
from transpile.runtime.process.replaced_functions import replaced_function

MODULES = [
    "ast", "atexit", "builtins", "copy", "ctypes", "functools", "gc", "glob", "hashlib",
    "importlib", "inspect", "io", "itertools", "json", "linecache", "logging", "math", "numpy",
    "operator", "os", "os.path", "pickle", "platform", "random", "re", "select", "shutil",
    "signal", "socket", "stat", "struct", "subprocess", "tempfile", "textwrap", "threading", "time",
    "tokenize", "uuid", "warnings",
]
"""Modules whose functions programs may replace."""

NEEDS_FRAME = {"locals", "globals", "vars", "dir", "eval", "exec", "__import__", "__build_class__"}
HARMLESS = {
    # asks for a number that no test depends on
    "os.getpid", "time.sleep", "threading.get_native_id",
    # decorators and constants of modules, used where a module is imported
    "functools.total_ordering", "functools.singledispatch", "functools.lru_cache",
    "functools.cache", "functools.update_wrapper",
    # which show a warning: that of a refusal is for the user
    "warnings.showwarning", "warnings.formatwarning",
    # of the standard library's own modules, on arguments that only they have
    "stat.S_ISDIR", "stat.S_ISLNK", "stat.S_ISREG", "os.waitpid", "sys.audit", "sys.intern",
}


def total(x: Any) -> float:
    s = 0.0
    for v in x:
        s += v
    return s


def read(x: Any, path: str) -> float:
    with open(path) as file:
        s = float(len(file.read()))
    for v in x:
        s += v
    return s


def new(function: Callable[..., Any]) -> Any:
    """That function, decorated anew, and not compiled."""
    copy = types.FunctionType(function.__code__, function.__globals__)
    return fuse(copy, on_reject="silent")


X = np.arange(4.0)

REPLACED = [
    "builtins.open", "builtins.sorted", "os.listdir", "os.path.exists", "os.stat", "time.time",
    "time.monotonic", "subprocess.Popen", "json.loads", "threading.Thread", "numpy.array",
    "re.compile", "warnings.warn",
]


@pytest.mark.parametrize("name", REPLACED)
def test_a_mock_is_not_called_and_nothing_is_remembered(name: str) -> None:
    fused = new(total)
    with patch(name) as mock:
        assert replaced_function() is not None
        answers = [fused(X) for _ in range(3)]
        assert not mock.mock_calls
    assert replaced_function() is None
    assert answers == [6.0] * 3
    assert not fused.stats.compiled
    assert fused(X) == 6.0
    assert fused.stats.compiled == 1


def test_a_mock_replaced_after_the_first_call() -> None:
    fused = new(total)
    assert fused(X) == 6.0
    with patch("time.monotonic", side_effect=AssertionError), patch("os.stat") as stat:
        assert [fused(x) for x in (X, [1.0, 2.0], X)] == [6.0, 3.0, 6.0]
        assert not stat.mock_calls
    assert fused([1.0, 2.0]) == 3.0
    assert fused.stats.compiled >= 2


def test_a_mock_that_the_function_calls_is_called_as_often() -> None:
    fused = new(read)
    with patch("builtins.open", mock_open(read_data="abc")) as opened:
        assert fused(X, "a.txt") == 9.0
        opened.assert_called_once_with("a.txt")


def test_a_function_in_place_of_the_original(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = new(total)
    monkeypatch.setattr("os.listdir", lambda *args: ["a"])
    assert replaced_function() == "os.listdir"
    assert fused(X) == 6.0
    assert not fused.stats.compiled
    monkeypatch.undo()
    assert replaced_function() is None


def test_a_deleted_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.listdir")
    assert replaced_function() == "os.listdir"


def test_a_wrapper_is_no_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.open

    @functools.wraps(original)
    def traced(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs)

    monkeypatch.setattr(builtins, "open", traced)
    assert replaced_function() is None


def test_modules_that_are_loaded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as replaced:
        replaced.setattr(subprocess, "run", lambda: None)  # as gevent does, for good
        assert replaced_function() is None
    assert replaced_function() is None
    monkeypatch.setattr(subprocess, "run", create_autospec(subprocess.run))
    assert replaced_function() == "subprocess.run"


def test_a_mock_is_there_when_its_module_is_seen_first(tmp_path: Path) -> None:
    program = """
import json
from unittest.mock import patch
from transpile.runtime.process.replaced_functions import replaced_function
with patch("json.loads"):
    print(replaced_function())
print(replaced_function())
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    assert run_program(file).stdout.split() == ["json.loads", "None"]


def test_an_exception_at_any_step_leaves_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module is seen for the first time, and each call of a function in that is made to fail."""

    def at_step(frame: Any, event: str, arg: object) -> None:
        steps[0] -= event in ("call", "c_call")
        if steps[0] == 0:
            raise MemoryError

    for step in range(1, 200):
        monkeypatch.setattr(replaced_functions, "_known", [replaced_functions._functions()])
        steps = [step]
        sys.setprofile(at_step)
        try:
            replaced_function()
        except MemoryError:
            pass
        else:
            break
        finally:
            sys.setprofile(None)
        assert replaced_function() is None
        assert len({len(column) for column in replaced_functions._known[0][:3]}) == 1
    assert step > 50


def test_where_python_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = new(total)
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    with patch("os.path.exists"), pytest.raises(FuseError, match="posixpath"):
        fused(X)


def counted_functions(
    calls: Counter[str], names: set[str]
) -> Iterator[tuple[types.ModuleType, str, Any]]:
    """For each function of `MODULES` that `names` does not have, one that counts its calls."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name, value in [*vars(module).items()]:
            full = f"{module_name}.{name}"
            is_class = isinstance(value, (type, types.ModuleType, np.ufunc))
            if name.startswith("_") or name in NEEDS_FRAME or is_class or not callable(value):
                continue
            if full in names | HARMLESS or getattr(value, "__self__", None) is itertools:
                continue

            def counted(
                *args: Any, original: Any = value, full: str = full, **kwargs: Any
            ) -> Any:
                calls[full] += 1
                return original(*args, **kwargs)

            yield module, name, counted


@pytest.mark.parametrize("function", [total, read])
def test_the_table_is_complete(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A first call, and calls of other types, call no function that is not in the table."""
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("abc")
    rest = (tmp_path / "a.txt",) if function is read else ()
    tables = {m.__name__: n for m, n in replaced_functions._NAMES.items()}
    tables = {**tables, **replaced_functions._NAMES_LATER, "os.path": tables["posixpath"]}
    names = {f"{m}.{name}" for m, words in tables.items() for name in words.split()}
    calls: Counter[str] = Counter()
    replacements = [*counted_functions(calls, names)]
    assert len(replacements) > 500
    fused = new(function)
    with monkeypatch.context() as replaced:
        for module, name, counted in replacements:
            replaced.setattr(module, name, counted)
        assert replaced_function() is None
        calls.clear()
        for x in (X, [1.0, 2.0, 3.0], np.ones((3,), np.float32)):
            fused(x, *rest)
        found = Counter(calls)
    assert fused.stats.compiled or function is read  # which is refused
    assert not found


def test_a_function_that_is_replaced_for_good_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """As libraries for coroutines replace some; and the original is known when it is back."""
    fused, clock = new(total), functools.partial(time.time)
    with monkeypatch.context() as m:
        m.setattr(time, "time", lambda: clock())
        for _ in range(replaced_functions._PATIENCE + 2):
            assert fused(X) == 6.0
        assert fused.stats.compiled > 0
    again = new(total)
    assert again(X) == 6.0
    assert again.stats.compiled == 1
