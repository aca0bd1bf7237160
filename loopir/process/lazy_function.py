"""Lazy functions: a table names its functions; the module of one is imported at its first call.

The tables of passes and macros have a row for everything that can be compiled, and one function to
compile needs few of them: to import all took longer than to compile a short loop::

    from .loops.fission import fission
    →   fission = lazy_function(__package__, "loops.fission")

``tests/project/test_import_order.py`` takes these names for imports: each must exist, and point to
an earlier layer.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["LazyFunction", "lazy_function"]


class LazyFunction:
    """A function that is imported when it is first called. ``__name__`` is known before.

    Where the import fails, the call raises what the import raised, and the next call tries again.
    """

    __slots__ = "__name__", "_function", "_module"

    def __init__(self, module: str, name: str) -> None:
        self.__name__ = name
        self._module = module
        self._function: Any = None

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        return (self._function or self.__wrapped__)(*args, **named)

    @property
    def __wrapped__(self) -> Any:
        """The function itself; ``inspect.unwrap`` gives it, too."""
        if self._function is None:
            self._function = getattr(import_module(self._module), self.__name__)
        return self._function

    @property
    def is_imported(self) -> bool:
        """Whether its module was imported, for a call or by `__wrapped__`."""
        return self._function is not None

    def __repr__(self) -> str:
        return f"<lazy function {self._module}:{self.__name__}>"


def lazy_function(package: str | None, path: str) -> LazyFunction:
    """The function at `path`, ``module:function``, imported when it is called. The module is one in
    `package`: ``__package__`` where this is called, or another name. A function with the name of
    its module needs no ``:function``.
    """
    module, _, name = path.partition(":")
    return LazyFunction(f"{package}.{module}", name or module.rpartition(".")[2])
