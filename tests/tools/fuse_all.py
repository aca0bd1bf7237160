"""``python -m tests.tools.fuse_all package [pytest arguments]``: tests of another package, fused.

Every function of the installed package, except its tests, is fused when its module is imported. A
test that fails then, and passes without ``fuse_all``, shows an answer that is not Python's. Prints
how many functions were answered by machine code, and why others were not::

    python -m tests.tools.fuse_all scipy.signal --pyargs scipy.signal.tests.test_peak_finding
"""
from __future__ import annotations

import sys
from collections import Counter
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, signature
from types import FunctionType, ModuleType
from typing import Any

import pytest

from transpile import Fused, fuse
from transpile.diagnostics import Refused
from transpile.frontend.source import read_source, remember_text

_OTHERS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR

fused: list[Fused] = []


def main(arguments: list[str]) -> int:
    """Runs pytest; its exit status."""
    package, *rest = arguments
    sys.meta_path.insert(0, _Finder(package))
    status = pytest.main(["-p", "no:cacheprovider", *rest])
    compiled = [f for f in fused if f.stats.compiled]
    replays = Counter[str]()
    for f in fused:
        replays.update(f.stats.replays)
    print(f"{len(fused)} functions fused, {len(compiled)} answered by machine code "
          f"({sum(f.stats.compiled for f in compiled)} calls); "
          f"Python had to answer: {dict(replays.most_common())}")
    return int(status)


class _Finder(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        inside = f"{name}.".startswith(f"{self.package}.") and ".tests" not in name
        spec = PathFinder.find_spec(name, path) if inside else None
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return None
        spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, inner: SourceFileLoader) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.inner.exec_module(module)
        classes = [c for c in vars(module).values() if isinstance(c, type)]
        for owner in (module, *(c for c in classes if c.__module__ == module.__name__)):
            for value in [*vars(owner).values()]:
                if type(value) is FunctionType and value.__module__ == module.__name__:
                    _run_fused(value)


def _given(*args: Any, **kwargs: Any) -> Any:
    return "function".__call__(*args, **kwargs)


def _run_fused(function: FunctionType) -> None:
    """What `function` runs from now on is fused; it stays the object that it is."""
    code = function.__code__
    plain = not function.__closure__ and not code.co_flags & _OTHERS and code.co_name != "<lambda>"
    if not plain or hasattr(function, "__signature__"):  # under a second name, it is done
        return
    try:
        source = read_source(function)
    except Refused:
        return
    inner = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    inner.__kwdefaults__, inner.__qualname__ = function.__kwdefaults__, function.__qualname__
    inner.__dict__.update(function.__dict__)
    inner.__module__ = function.__module__
    function.__signature__ = signature(inner)  # type: ignore[attr-defined]
    made: Any = fuse(inner, on_reject="silent")
    constants = (made if c == "function" else c for c in _given.__code__.co_consts)
    function.__code__ = _given.__code__.replace(
        co_consts=tuple(constants), co_name=code.co_name, co_filename=code.co_filename
    )
    remember_text(function, source)  # by which callers inline it
    fused.append(made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
