"""The ``fuse`` decorator, and the class of the functions that it returns."""
from __future__ import annotations

import functools
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from inspect import Parameter, Signature
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)

from loopir.process.signal_exceptions import failures

from ..frontend.defining_modules import is_python_class
from ..options import OnReject, Options, options_of
from ..types.typeof import has_chunked_argument, is_dask_array, parameter_names
from .dispatcher import Dispatcher
from .kernel_call.stub_functions import Arguments, argument_collector
from .refused.region_records import OutlinedFunction, Stats, total_stats
from .specialization import Specialization

if TYPE_CHECKING:
    from targets.isa.target_registry import TargetName

    from ..chunks.chunk_plan import ChunkPlan
    from ..chunks.chunked_function import AnyCall, ChunkedFunction
    from ..report.loop_report import Report
    from ..report.source_listing import Listing
    from ..types.value_types import ArgType, CallSignature
    from ..ufuncs.generalized_ufunc import GeneralizedUfunc

__all__ = ["AnyFused", "Decorator", "Fused", "fuse", "recorded_functions"]


_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)
_Self = TypeVar("_Self")

_MANY_CALLS = 32
"""How many calls of a region Python must have served before the region's statements may be put
beside its call (`original_in_place`), or in its place (`inline_refused_regions`).
"""


@overload
def fuse(function: Callable[_P, _R], /) -> Fused[_P, _R]: ...
@overload
def fuse(
    *,
    target: TargetName = "auto",
    threads: int | Literal["auto"] = "auto",
    reassociate: bool = True,
    contract: bool = False,
    fast: bool = False,
    portable: bool = False,
    fusion: bool = True,
    allow_control_flow_simple: bool = True,
    allow_broadcast_identity: bool = True,
    on_reject: OnReject = "warn",
    cache: bool = True,
    verify: float = 0.0,
    background: bool = False,
    progress: bool = True,
) -> Decorator: ...
@overload
def fuse(
    function: Callable[_P, _R],
    /,
    *,
    target: TargetName = "auto",
    threads: int | Literal["auto"] = "auto",
    reassociate: bool = True,
    contract: bool = False,
    fast: bool = False,
    portable: bool = False,
    fusion: bool = True,
    allow_control_flow_simple: bool = True,
    allow_broadcast_identity: bool = True,
    on_reject: OnReject = "warn",
    cache: bool = True,
    verify: float = 0.0,
    background: bool = False,
    progress: bool = True,
) -> Fused[_P, _R]: ...
def fuse(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function's loops when it is called: ``@fuse``, or ``@fuse(option=…)``.

    The result is called like the function and returns the same; whatever cannot be compiled runs as
    Python, and ``report`` says why. Options, with their defaults:

    - ``target="auto"``: the name of an instruction set, as ``transpile --targets`` lists them;
      "auto" takes the best that this machine has.
    - ``threads="auto"``: how many threads a kernel may use, at most; "auto": as many as pay. The
      result has the same bits for any number.
    - ``reassociate=True``: float sums may be computed in vector lanes, in another order than the
      loop's. If False, sums whose order is NumPy's stay NumPy's.
    - ``contract=False``: ``a * b + c`` may become one fused multiply-add, rounded once.
    - ``fast=False``: implies ``contract``, and allows math functions an error of up to 4 ULP (so
      far they are the same as without it).
    - ``portable=False``: if True, math functions of numbers have the bits of vectors, too: a result
      then is the same on all machines with AVX2, AVX-512 or NEON, and may differ from Python's.
    - ``fusion=True``: neighbouring loops may be joined to one pass.
    - ``allow_control_flow_simple=True``: also loops whose branches become masks may be joined.
    - ``allow_broadcast_identity=True``: also loops that read one row for all rows may be joined.
    - ``on_reject="warn"``: what the first call of a function that stays Python does besides running
      it: "warn" issues a `FuseWarning`, "raise" raises a `FuseError`, "silent" does nothing. No
      call does of a function whose loops are all compiled, though a statement beside them is not.
    - ``cache=True``: compiled kernels are stored on disk, for later processes.
    - ``verify=0.0``: the share of calls, from 0 to 1, that also run as Python and are compared; a
      difference raises `FuseError`.
    - ``background=False``: if True, Python serves the calls that come while a thread compiles them;
      ``stats`` counts these as ``RUN_BACKGROUND``. A refusal is warned of, or raised, afterwards,
      and ``verify`` compares the calls that are compiled.
    - ``progress=True``: on a terminal, a line on stderr says which function is being compiled if
      that takes more than 2 seconds.

    Raises TypeError for anything but a Python function, for an unknown option and for a value of a
    wrong type, ValueError for any other wrong value.
    """
    chosen = options_of(options)
    if "threadpoolctl" in sys.modules:  # a limit may be set before the first call
        from targets.abi.pool_control import register_controller

        register_controller()
    return _decorated(function, chosen) if function else lambda f: _decorated(f, chosen)


_MOST_RECORDED = 16
"""Of how many functions with one code object `recorded_functions` gives: their arguments and
captured variables stay alive.
"""

_recorded: defaultdict[CodeType, list[AnyFused]] | None = None
"""The functions that were decorated since `recorded_functions` was entered; None: it was not."""


@contextmanager
def recorded_functions() -> Iterator[Mapping[CodeType, list[AnyFused]]]:
    """The functions that are decorated while this context is entered, by their code objects: also
    those that nothing refers to afterwards, as functions inside functions. The command enters it
    while it runs a script (``--run``).
    """
    global _recorded
    before, _recorded = _recorded, defaultdict(list)
    try:
        yield _recorded
    finally:
        _recorded = before


def _decorated(function: Callable[..., Any], options: Options) -> AnyFused:
    """The fused function that `fuse` returns."""
    fused: AnyFused = Fused(function, options)
    if _recorded is not None:
        same_code = _recorded[fused.__wrapped__.__code__]
        if len(same_code) < _MOST_RECORDED:
            same_code.append(fused)
    return fused


fuse.__signature__ = Signature([  # type: ignore[attr-defined]  # for help() and completion
    Parameter("function", Parameter.POSITIONAL_ONLY, default=None),
    *(
        Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
        for f in fields(Options)
    ),
])


class Decorator(Protocol):
    """What ``fuse(option=…)`` returns."""

    def __call__(self, function: Callable[_P, _R], /) -> Fused[_P, _R]:
        """Compile this function's loops when it is called."""


class _ForwardedAttribute:
    """A read-only attribute of the original function, for `inspect`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Fused[..., Any] | None, owner: type) -> Any:
        if instance is None:
            raise AttributeError(self._name)
        return getattr(instance._function, self._name)

    def __set__(self, instance: Fused[..., Any], value: object) -> None:
        raise AttributeError(f"{self._name} of a fused function cannot be set")


class _ForwardedSignature:
    """The original function's signature, on instances only: the class has its own."""

    def __get__(self, instance: Fused[..., Any] | None, owner: type) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return inspect.signature(instance._function)


class Fused(Dispatcher, Generic[_P, _R_co]):
    """A function whose loops are compiled, returned by ``fuse``. ``__wrapped__`` is the original.

    ``Fused[P, R]`` has the parameters and the result of the original.
    """

    __signature__ = _ForwardedSignature()
    __code__, __globals__, __closure__, __defaults__, __kwdefaults__ = (
        _ForwardedAttribute(),
        _ForwardedAttribute(),
        _ForwardedAttribute(),
        _ForwardedAttribute(),
        _ForwardedAttribute(),
    )
    __wrapped__: Any
    __name__: str
    __qualname__: str

    def __new__(cls, function: Callable[_P, _R_co], options: Options) -> Fused[_P, _R_co]:
        """Raises TypeError for anything but a Python function."""
        fused: Fused[_P, _R_co] = super().__new__(cls, _python_function(function), options)
        return fused

    def __init__(self, function: Callable[_P, _R_co], options: Options) -> None:
        super().__init__(_python_function(function), options)
        functools.update_wrapper(self, self._function)
        self._chunked: ChunkedFunction | None = None

    if TYPE_CHECKING:
        def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Fused[_P, _R_co]: ...
    @overload
    def __get__(
        self: Fused[Concatenate[_Self, _Q], _R_co], instance: _Self, owner: type | None = None
    ) -> Callable[_Q, _R_co]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Binds as a method: the instance is the first argument, of which the signature has the
        exact class, so that subclasses have specializations of their own.
        """
        return self if instance is None else MethodType(self, instance)

    def _install(self, call: Callable[..., Any]) -> None:
        """As for each dispatcher; and once a process ``__get__`` becomes a function in C."""
        from targets.abi.inline_cache import native_binding

        super()._install(call)
        if Fused.__get__ is _BINDING and (native := native_binding(Fused)) is not None:
            Fused.__get__ = native  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<fused {self._function!r}>"

    def __copy__(self) -> Fused[_P, _R_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Fused[_P, _R_co]:
        return self

    def __dask_tokenize__(self) -> object:
        from .cache.function_pickling import function_token

        return "fused", function_token(self._function, self), str(self.options)

    def __reduce__(self) -> str | tuple[Any, ...]:
        from pickle import PicklingError

        from ..diagnostics import Refused
        from .cache.function_pickling import function_state, importable

        function = self._function
        if importable(function, self):
            return function.__qualname__
        try:
            return _restore_fused, (function_state(function, self), self.options)
        except Refused as refused:
            raise PicklingError(f"{function.__qualname__} cannot be pickled: {refused}") from None

    # -- Dask arrays

    def _callee_for_chunks(
        self, spec: Specialization, values: Arguments
    ) -> Callable[..., Any]:
        """The function that makes the graph of a call with Dask arrays; the original, which makes
        one of its own, if the call cannot run chunk by chunk.
        """
        from ..chunks.chunk_plan import ChunkPlan
        from ..chunks.chunked_function import results_of
        from ..diagnostics import Refused

        try:
            call = self._chunk_plan(values)
        except Refused as refused:
            spec.rejection = refused.rejection
            self.warnings.warn_of(spec.rejection, spec, self.options)
            return self._replaying_function(spec, spec.rejection.code)
        spec.rejection = None
        assert not isinstance(call, ChunkPlan)
        return lambda *args, **kwargs: results_of(call)

    def _chunk_plan(self, values: Arguments) -> ChunkPlan | AnyCall:
        """How a call with these arguments, Dask arrays among them, runs chunk by chunk; without
        such arrays, how the others could be cut. Raises Refused if it does not.
        """
        from ..chunks.chunked_function import ChunkedFunction
        from ..chunks.dask_calls import stand_ins
        from .cache.function_pickling import reads_data

        if self._chunked is None:
            self._chunked = ChunkedFunction(self)
        arrays = stand_ins(values)
        types = self._signatures.signature_of_call(arrays, self._specializations)
        copied = self._with_present_values if reads_data(self._function) else None
        return self._chunked.call(types, values, copied)

    def _with_present_values(self) -> AnyFused:
        """A copy that goes on reading the values which its names have now. Raises Refused."""
        from .cache.function_pickling import with_present_values

        function = with_present_values(self._function, lambda f, copy: Fused(copy, f.options))
        return Fused(function, self.options)

    # -- inspection

    @property
    def signatures(self) -> tuple[CallSignature, ...]:
        """The types of the arguments of calls so far, in order of first appearance. It prints as
        ``((f64[:], int), (f64[:, :], int))``.
        """
        from ..types.value_types import CallSignature

        shared = [self._shared.types] if self._shared else []
        return tuple(map(CallSignature, (*self._specializations, *shared)))

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

            whole = (t for t in self.signatures if not has_chunked_argument(t))
            reports = [self.report_for(types) for types in whole]
            report = report_all(self._function, self.options, reports)
        return report.in_detail() if verbose else report

    def gufunc(self, signature: str) -> GeneralizedUfunc:
        """This function over the last axes of its arguments, as a generalized ufunc of NumPy with
        that signature: ``dot.gufunc("(n),(n)->()")`` takes arrays of any rank.

        Raises ValueError for a wrong signature, TypeError for one with another number of inputs
        than the function has parameters.
        """
        from ..ufuncs.generalized_ufunc import GeneralizedUfunc

        return GeneralizedUfunc(self, signature)

    def plan(self, *args: Any, **kwargs: Any) -> str:
        """What a call with these arguments, Dask arrays among them, would do with their chunks; of
        other arrays, how they could be cut. The function does not run.
        """
        from ..chunks.chunked_function import describe_plan

        values = argument_collector(self._function)(*args, **kwargs)
        return describe_plan(self, values, partial(self._chunk_plan, values))

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

    @property
    def stats(self) -> Stats:
        """Compiled calls, replays by code, time spent compiling."""
        if self._installed is not None:
            self._installed.count_calls()
        specs = [*self._specializations.values(), *([self._shared] if self._shared else [])]
        return total_stats([spec.stats for spec in specs])

    @property
    def is_refused(self) -> bool:
        """Whether nothing is compiled of any signature that was called so far."""
        specs = [*self._specializations.values()]
        return bool(specs) and all(s.rejection and not s.outlined for s in specs)

    @property
    def prefers_python(self) -> bool:
        """Whether no signature that was called so far is served by machine code: all are refused,
        or Python was measured to be faster.
        """
        specs = [*self._specializations.values()]
        return bool(specs) and all(spec.is_served_by_python for spec in specs)

    @property
    def original_share(self) -> float:
        """Which share of the calls so far Python has served; 0 if that were fewer than
        `_MANY_CALLS`, or if no row of the inline cache sends calls to the original now.
        """
        if self._installed is None or not self._installed.serves_original:
            return 0
        stats = self.stats
        original = sum(stats.replays.values())
        return original / (original + stats.compiled) if original >= _MANY_CALLS else 0

    def outlined_in_all_calls(self) -> OutlinedFunction | None:
        """Of a region: the outlined function that has served all calls so far, adapted to what the
        calls of its own regions have shown; the caller may have its statements in place of the call
        (`outline.inline_refused_regions`). None in these cases:

        - there were calls of several signatures, or one that was ever compiled;
        - the signature is not outlined, or is refused for another reason than its source;
        - rows of the inline cache have forwarded fewer than `_MANY_CALLS` calls.
        """
        specs = [*self._specializations.values()]
        if len(specs) != 1 or self._shared is not None or specs[0].variants:
            return None
        (spec,) = specs
        if spec.outlined is None or spec.refusal is None or not spec.refusal.is_about_source:
            return None
        if spec.python_calls.total < _MANY_CALLS:
            return None
        spec.outlined = self._without_slow_regions(spec)
        return spec.outlined

    @property
    def has_python_bits(self) -> bool:
        """Of a region: whether calls have the bits that Python gives them, for any arguments. False
        for a function that is no region.
        """
        specs = self._specializations.values()
        return self.role.can_be_python and all(s.has_python_bits for s in specs)

    @property
    def calls(self) -> int:
        """How many calls there were, and calls of regions in them."""
        return sum(spec.calls_so_far for spec in self._specializations.values())

    @property
    def is_backing_off(self) -> bool:
        """Whether there were calls, and `Specialization.is_backing_off` for all signatures."""
        specs = [*self._specializations.values()]
        return bool(specs) and all(spec.is_backing_off for spec in specs)

    @property
    def useful_entries(self) -> int:
        """`Specialization.useful_entries` of all signatures."""
        return sum(spec.useful_entries for spec in [*self._specializations.values()])

    def try_kernels_again(self) -> None:
        """End the back-off of all signatures (`Specialization.try_kernels_again`)."""
        for spec in [*self._specializations.values()]:
            spec.try_kernels_again()

    def report_for(self, types: tuple[ArgType, ...]) -> Report:
        """As `report`, for arguments of these types."""
        from .inspection import report

        spec = self._specializations.get(types) or self._shared
        return report(
            self._function, types, self.options, spec, self.region_type, is_region=self.is_region,
            in_python_loop=self.role.is_in_loop and self.role.can_be_python,
        )

    def emit_for(self, stage: str, types: tuple[ArgType, ...]) -> str:
        """As `emit`, for arguments of these types."""
        if stage == "html":
            return self.listing_for(types).page()
        from .inspection import emit

        return emit(stage, self._function, types, self.options, self.region_type)

    def listing_for(self, types: tuple[ArgType, ...]) -> Listing:
        """As `listing`, for arguments of these types."""
        from ..report.source_listing import with_verdicts
        from .inspection import listing

        specialization = self._specializations.get(types)
        shown = listing(self._function, types, self.options, specialization)
        return with_verdicts(shown, self.report_for(types))

    def _types(self, args: Arguments, kwargs: dict[str, Any]) -> tuple[ArgType, ...]:
        """The types of these arguments; of a Dask array that of its chunks."""
        try:
            values = argument_collector(self._function)(*args, **kwargs)
        except failures(TypeError) as error:
            if parameter_names(self._function.__code__)[:1] != ("self",):
                raise
            raise TypeError(f"{error} (pass the object, `self`, as the first one)") from None
        if any(map(is_dask_array, values)):
            from ..chunks.dask_calls import stand_ins

            values = stand_ins(values)
        return self._signatures.signature_of_call(values, self._specializations)


Fused.region_type = Fused

AnyFused: TypeAlias = Fused[..., Any]
"""A fused function with any parameters."""


_BINDING = Fused.__get__
"""What is there until `Fused._install` puts a function in C in its place."""


def _restore_fused(state: Mapping[str, Any], options: Options) -> Fused[..., Any]:
    """The unpickled function, which is also bound to its own name."""
    from .cache.function_pickling import function_from_state

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
    is_wrapped = isinstance(function, (staticmethod, classmethod, property)) or isinstance(
        getattr(function, "__wrapped__", None), (FunctionType, Fused)
    )
    advice = "; put @fuse under it" if is_wrapped else ""
    if isinstance(function, str):
        advice = "; options are keywords, such as target=\"avx2\""
    elif is_python_class(function):
        advice = "; put @fuse on its methods"
    elif isinstance(function, BuiltinFunctionType) or (
        callable(function) and type(function).__module__ == "numpy"
    ):
        advice = "; put @fuse on a function that calls it"
    kind = type(function).__name__
    description = (
        f"the class {function.__name__}" if kind == "type" else f"an object of type {kind}"
    )
    raise TypeError(f"fuse takes a Python function, not {description}{advice}")
