"""The call that ``transpile bisect`` and ``transpile reduce`` run: a function and its arguments.

The arguments are those of ``--args``, or made for ``--types``; else those of the first call that
the file makes when it runs as a script, or made for the types of its annotations.
"""
from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from types import FunctionType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record, replace

from ..diagnostics import Refused, counted
from ..frontend.source import read_source
from ..options import Options
from ..runtime.dispatcher import Dispatcher
from ..runtime.fuse_decorator import AnyFused, Fused
from ..types.typeof import parameter_names
from ..types.value_types import (
    ELEMENTS,
    ArgType,
    ArrayType,
    Constant,
    ListType,
    ObjectType,
    RecordType,
    ScalarType,
)
from .argument_types import ParameterTypes, given_signature, infer_signature, parse_type_spec
from .file_cases import UnreadableFile, import_file, run_file
from .static.annotation_types import array_of

__all__ = ["FailingCall", "load_calls"]

LENGTHS = {1: (33,), 2: (9, 11), 3: (3, 5, 7)}
"""The shape of arrays that are made, by rank: no multiples of a vector's width."""

_SCALARS: dict[str, Any] = {"i64": 5, "f64": 1.5, "c128": 1.5 + 0.5j, "bool": True}


@record(frozen=True, slots=True)
class FailingCall:
    """A call whose compiled result may be wrong."""

    function: FunctionType  # plain Python
    options: Options  # with which it is compiled
    args: tuple[Any, ...]  # one for each parameter


def load_calls(spec: str, args: str | None = None, types: str | None = None) -> list[FailingCall]:
    """The call of ``FILE::FUNCTION``; or one of each fused function that ``FILE`` calls, in the
    order of their first calls, or of the only fused one. The arguments are, in this order:

    - made for ``types``, written as for ``--types``; the default of a parameter that is left out;
    - ``args``, Python in the names of the file and ``np``: a tuple, or one argument; so too;
    - those of the first call of the function when the file runs as a script;
    - made for its annotations, if it is not called.

    Raises ValueError and UnreadableFile.
    """
    path, _, name = spec.partition("::")
    if args is None and types is None:
        calls, names = _recorded_calls(path)
        if calls and not name:
            # Of functions that are defined again and again the first one.
            of_code = {f.__wrapped__.__code__: f for f in reversed(calls)}
            firsts = [f for f in calls if of_code[f.__wrapped__.__code__] is f]
            return [FailingCall(f.__wrapped__, f.options, calls[f]) for f in firsts]
        function, options = _function(names, name, path)
        for fused, values in calls.items():
            if fused.__wrapped__ is function:
                return [FailingCall(function, options, values)]
        return [FailingCall(function, options, _inferred_arguments(function))]
    names = import_file(path)
    if types is not None:
        function_name, texts = parse_type_spec(types)
        if name not in ("", function_name):
            raise ValueError(f"--types is of {function_name}, and not of {name}")
        function, options = _function(names, name or function_name, path)
        given = given_signature(texts, function)
        return [FailingCall(function, options, _arguments(given, function))]
    function, options = _function(names, name, path)
    try:
        values = eval(str(args), {"np": np, **names})
    except Exception as error:
        raise ValueError(f"--args: {type(error).__name__}: {error}") from None
    values = values if isinstance(values, tuple) else (values,)
    parameters, defaults = parameter_names(function.__code__), _defaults(function)
    left_out = parameters[len(values) :]
    if len(values) > len(parameters) or not defaults.keys() >= {*left_out}:
        takes = f"{function.__name__} takes {counted(len(parameters), 'argument')}"
        raise ValueError(f"--args: {takes}, not {len(values)}")
    return [FailingCall(function, options, (*values, *(defaults[name] for name in left_out)))]


def _function(names: Mapping[str, Any], name: str, path: str) -> tuple[FunctionType, Options]:
    """The function of this name; without a name the only fused one.

    Raises ValueError where there is none.
    """
    if name:
        value: Any = names.get(name.partition(".")[0])
        for part in name.split(".")[1:]:
            value = inspect.getattr_static(value, part, None)
            if isinstance(value, staticmethod):
                value = value.__func__
        candidates = [value]
    else:
        candidates = [*dict.fromkeys(v for v in names.values() if isinstance(v, Fused))]
        if len(candidates) != 1:
            known = ", ".join(f.__qualname__ for f in candidates)
            question = f"which function? Add ::FUNCTION ({known})" if known else (
                "no @fuse function; FILE::FUNCTION takes any"
            )
            raise ValueError(f"{path}: {question}")
    match candidates[0]:
        case Fused() as fused_function:
            return fused_function.__wrapped__, fused_function.options
        case FunctionType() as python_function:
            return python_function, Options()
    raise ValueError(f"{path} has no function {name}")


def _recorded_calls(path: str) -> tuple[dict[AnyFused, tuple[Any, ...]], dict[str, Any]]:
    """Runs the file as a script: the arguments of the first call of each fused function, which runs
    as Python; and the names of the file.
    """
    calls: dict[AnyFused, tuple[Any, ...]] = {}
    with _recording(calls), contextlib.redirect_stdout(sys.stderr):
        names, _ = run_file(path, [])
    return calls, names


@contextlib.contextmanager
def _recording(calls: dict[AnyFused, tuple[Any, ...]]) -> Iterator[None]:
    """Within it, calls of fused functions run as Python, and `calls` gets the arguments of the
    first call of each.
    """

    def call(self: AnyFused, *args: Any, **kwargs: Any) -> Any:
        """Record the arguments, and run the original."""
        function = self.__wrapped__
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        names = parameter_names(function.__code__)
        calls.setdefault(self, deepcopy(tuple(bound.arguments[n] for n in names)))
        return function(*args, **kwargs)

    original_call = Dispatcher.__call__
    Dispatcher.__call__ = call  # type: ignore[method-assign,assignment]  # restored below
    try:
        yield
    finally:
        Dispatcher.__call__ = original_call  # type: ignore[method-assign]


def _inferred_arguments(function: FunctionType) -> tuple[Any, ...]:
    """Arguments of the types that annotations, defaults and uses tell of a function that the file
    does not call. Raises UnreadableFile; ValueError if a type is not known.
    """
    try:
        tree = read_source(function).tree
    except Refused as refused:
        raise UnreadableFile(str(refused)) from None
    signature = replace(infer_signature(function, tree), ran=True)
    if signature.objects:
        said = f"{function.__qualname__} is not called, and the type of {signature.objects[0]} is"
        raise ValueError(f"{said} not known: {signature.help}, or --args")
    return _arguments(signature, function)


def _arguments(signature: ParameterTypes, function: FunctionType) -> tuple[Any, ...]:
    """Arguments of these types, always the same; of the parameters that a call leaves out the
    defaults. Raises ValueError for a type that has none.
    """
    rng, defaults = np.random.default_rng(0), _defaults(function)
    return tuple(
        defaults[name] if name in signature.defaulted else _argument(ty, rng)
        for name, ty in signature.types.items()
    )


def _defaults(function: FunctionType) -> dict[str, Any]:
    """Copies of the values of the parameters that a call may leave out, where it does."""
    parameters = inspect.signature(function).parameters.values()
    values: dict[str, Any] = {
        p.name: deepcopy(p.default) for p in parameters if p.default is not p.empty
    }
    values |= {p.name: () for p in parameters if p.kind is p.VAR_POSITIONAL}
    return values | {p.name: {} for p in parameters if p.kind is p.VAR_KEYWORD}


def _argument(ty: ArgType, rng: np.random.Generator) -> Any:
    """An argument of this type, from the random generator or a constant."""
    match ty:
        case ArrayType(dtype=dtype, rank=rank) if rank in LENGTHS:
            shape = tuple(
                1 if k in ty.unit_length_axes else n for k, n in enumerate(LENGTHS[rank])
            )
            kind = ELEMENTS[dtype].numpy
            if kind.kind == "b":
                return rng.random(shape) < 0.5
            if kind.kind in "iu":
                return rng.integers(0, 9, shape).astype(kind)
            return rng.normal(size=shape).astype(kind)
        case ScalarType(dtype=dtype, weak=True):
            return _SCALARS[dtype]
        case ScalarType(dtype=dtype):
            return ELEMENTS[dtype].numpy.type(3)
        case ListType(kinds=(kind,), memory=None) if ty.is_packed:
            return kind(rng.integers(0, 256, LENGTHS[1][0], dtype=np.uint8).tobytes())
        case ListType(item, kinds, memory=None) if len(kinds) in LENGTHS:
            elements = _argument(array_of(item.dtype, len(kinds)), rng)
            return _nested(elements, kinds, weak=item.weak)
        case Constant(value=value):
            return value
        case ObjectType(kind=kind, parts=parts) if kind is tuple:
            return tuple(_argument(part, rng) for _, part in parts)
        case RecordType(dtype=dtype, rank=rank) if rank in LENGTHS:
            records = np.zeros(LENGTHS[rank], dtype)
            for name, field in ty.fields:
                records[name] = _argument(field, rng)
            return records
    raise ValueError(f"there are no arguments of type {ty} to be had; use --args")


def _nested(array: Any, kinds: Sequence[type], *, weak: bool) -> Any:
    """The elements of `array`, in sequences of these `kinds`, the outer one first; if `weak`, as
    Python's scalars, else as NumPy's.
    """
    if not kinds:
        return array.item() if weak else array
    kind, *inner = kinds
    return kind(_nested(part, inner, weak=weak) for part in array)
