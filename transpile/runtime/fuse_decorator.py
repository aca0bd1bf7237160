"""The ``fuse`` decorator, and the class of the functions that it returns."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, overload

from ..options import Options, options_of
from ..types.typeof import parameter_names
from .dispatcher import Dispatcher
from .specialization import Stats, total_stats
from .stub_functions import Arguments, argument_collector

if TYPE_CHECKING:
    from ..report.loop_report import Report
    from ..report.source_listing import Listing
    from ..types.value_types import ArgType

__all__ = ["Fused", "fuse"]


@overload
def fuse(function: Callable[..., Any], /) -> Fused: ...
@overload
def fuse(**options: Any) -> Callable[[Callable[..., Any]], Fused]: ...
def fuse(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> Fused | Callable[[Callable[..., Any]], Fused]:
    """Compile a function's loops when it is called: ``@fuse``, or ``@fuse(option=…)``.

    The options are the fields of `Options`. The result is called like the function and returns the
    same; whatever cannot be compiled runs as Python. Raises TypeError for anything but a Python
    function and for an unknown option, ValueError for an invalid value of an option.
    """
    chosen = options_of(options)
    if function is None:
        return lambda function: Fused(function, chosen)
    return Fused(function, chosen)


class _ForwardedAttribute:
    """A read-only attribute of the original function, for `inspect`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Fused | None, owner: type) -> Any:
        if instance is None:
            raise AttributeError(self._name)
        return getattr(instance._function, self._name)

    def __set__(self, instance: Fused, value: object) -> None:
        raise AttributeError(f"{self._name} of a fused function cannot be set")


class _ForwardedSignature:
    """The original function's signature, on instances only: the class has its own."""

    def __get__(self, instance: Fused | None, owner: type) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return inspect.signature(instance._function)


class Fused(Dispatcher):
    """A function whose loops are compiled, returned by ``fuse``. ``__wrapped__`` is the original.
    """

    __signature__ = _ForwardedSignature()
    __code__, __defaults__, __kwdefaults__ = (
        _ForwardedAttribute(),
        _ForwardedAttribute(),
        _ForwardedAttribute(),
    )
    __wrapped__: Any
    __name__: str
    __qualname__: str

    def __new__(cls, function: Callable[..., Any], options: Options) -> Fused:
        """Raises TypeError for anything but a Python function."""
        fused: Fused = super().__new__(cls, _python_function(function), options)
        return fused

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        super().__init__(_python_function(function), options)
        functools.update_wrapper(self, self._function)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<fused {self._function!r}>"

    def __copy__(self) -> Fused:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Fused:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        from pickle import PicklingError

        from ..diagnostics import Refused
        from .function_pickling import function_state, importable

        function = self._function
        if importable(function, self):
            return function.__qualname__
        try:
            return _restore_fused, (function_state(function, self), self.options)
        except Refused as refused:
            raise PicklingError(f"{function.__qualname__} cannot be pickled: {refused}") from None

    # -- inspection

    @property
    def signatures(self) -> tuple[tuple[ArgType, ...], ...]:
        """The types of the arguments of calls so far, in order of first appearance."""
        return tuple(self._cases)

    @property
    def stats(self) -> Stats:
        """Compiled calls, replays by code, time spent compiling."""
        return total_stats([case.stats for case in self._cases.values()])

    def report(self, *args: Any, verbose: bool | None = None, **kwargs: Any) -> Report:
        """A report on the loops in a call with these arguments; the function does not run.

        Without arguments: on all call signatures so far (`Report.signatures` has one report for
        each); of a function without parameters, on its only one. With `verbose` the text also has
        the guards and what follows from other reasons. Where the function itself has a parameter
        ``verbose``, the keyword is that argument; `Report.in_detail` does the same.
        """
        parameters = parameter_names(self._function.__code__)
        if "verbose" in parameters and verbose is not None:
            kwargs["verbose"], verbose = verbose, None
        if args or kwargs or not parameters:
            report = self.report_for(self._types(args, kwargs))
        else:
            from .inspection import report_all

            reports = [self.report_for(types) for types in self._cases]
            report = report_all(self._function, self.options, reports)
        return report.in_detail() if verbose else report

    def emit(self, stage: str, *args: Any, **kwargs: Any) -> str:
        """The text of a stage (``python``, ``loopir``, ``c``, ``asm``, …) for these arguments.

        Raises FuseError where the function is refused, ValueError for an unknown stage.
        """
        return self.emit_for(stage, self._types(args, kwargs))

    def listing(self, *args: Any, **kwargs: Any) -> Listing:
        """Python next to Loop IR, C and assembly, line by line, for these arguments.

        Raises FuseError where the function is refused.
        """
        return self.listing_for(self._types(args, kwargs))

    def report_for(self, types: tuple[ArgType, ...]) -> Report:
        """As `report`, for arguments of these types."""
        from .inspection import report

        case = self._cases.get(types)
        return report(self._function, types, self.options, case, self.region_type)

    def emit_for(self, stage: str, types: tuple[ArgType, ...]) -> str:
        """As `emit`, for arguments of these types."""
        if stage == "html":
            return self.listing_for(types).page()
        from .inspection import emit

        return emit(stage, self._function, types, self.options, self.region_type)

    def listing_for(self, types: tuple[ArgType, ...]) -> Listing:
        """As `listing`, for arguments of these types."""
        from .inspection import listing

        return listing(self._function, types, self.options, self._cases.get(types))

    def _types(self, args: Arguments, kwargs: dict[str, Any]) -> tuple[ArgType, ...]:
        return self._signatures.of(argument_collector(self._function)(*args, **kwargs))


Fused.region_type = Fused


def _restore_fused(state: Mapping[str, Any], options: Options) -> Fused:
    """The unpickled function, which is also bound to its own name."""
    from .function_pickling import function_from_state

    function = function_from_state(state)
    fused = Fused(function, options)
    function.__globals__.setdefault(function.__name__, fused)
    return fused


def _python_function(function: Callable[..., Any]) -> FunctionType:
    """The Python function that `fuse` was given, or that a fused function wraps. Raises TypeError
    for anything else.
    """
    if isinstance(function, Fused):
        return function._function
    if isinstance(function, FunctionType):
        return function
    is_wrapped = isinstance(function, (staticmethod, classmethod, property))
    advice = "; put @fuse under it" if is_wrapped else ""
    kind = type(function).__name__
    description = (
        f"the class {function.__name__}" if kind == "type" else f"an object of type {kind}"
    )
    raise TypeError(f"fuse takes a Python function, not {description}{advice}")
