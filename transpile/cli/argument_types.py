"""Argument types without a call: from ``--types``, annotations, or inferred from their uses."""
from __future__ import annotations

import ast
import inspect
import re
import shlex
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any

from loopir.lazy_dataclass import record

from ..diagnostics import Refused, counted
from ..frontend.source import read_source
from ..frontend.specialize.value_specialization import string_signature
from ..runtime.specialization import SignatureResolver
from ..types.aggregates import string_constants
from ..types.typeof import parameter_names, type_of
from ..types.value_types import (
    ArgType,
    ArrayType,
    Constant,
    Function,
    ListType,
    ObjectType,
    Opaque,
    ScalarType,
)
from .parameter_uses import ParameterUses
from .static import Unevaluated, makes_record
from .static.annotation_types import (
    SCALARS,
    Uses,
    annotated_type,
    array_of,
    leaves_dtype_open,
    sample_of,
)
from .static.type_texts import is_open_class, is_unknown_object, parse_type, split_at_commas

__all__ = ["ParameterTypes", "given_signature", "infer_signature", "parse_type_spec"]

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@record(frozen=True, slots=True)
class ParameterTypes:
    """The types of a function's parameters, by name, and the names of those that were assumed."""

    types: Mapping[str, ArgType]
    assumed: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    """Those that are objects of some class, which is not known without a call."""
    spec: str | None = None
    """What ``--types`` may say for them; None if that is not known, or there are none."""
    defaulted: tuple[str, ...] = ()
    """Those that a call leaves out: their type is that of the default, or they are not used."""
    ran: bool = False
    """Whether the file has run, and did not call the function."""
    in_notebook: bool = False
    """Whether a magic asks, to which no ``--types`` can be given."""

    @property
    def help(self) -> str:
        """How the types of `objects` can be told."""
        if self.in_notebook:
            return "call it, and look at its report"
        call = "call it in the script" if self.ran else "use --run"
        return f"{call}, or --types {shlex.quote(self.spec)}" if self.spec else call

    @property
    def remark(self) -> str | None:
        """The sentence for the report, None if nothing was assumed."""
        sentences = []
        if self.assumed:
            each = ", ".join(f"{name}: {self.types[name]}" for name in self.assumed)
            told = "annotations or --types" if self.ran else "annotations, --types or --run"
            told = "annotations or a call" if self.in_notebook else told
            sentences.append(f"types assumed, for want of {told}: {each}")
        if self.objects:
            names = ", ".join(f"`{name}`" for name in self.objects)
            sentences.append(f"type unknown: {names}: {self.help}")
        return "; ".join(sentences) or None


def parse_type_spec(text: str) -> tuple[str, list[str]]:
    """``"f(f64[:], f64[:, :], f64)"`` → the function's name and the texts of its types, which
    `given_signature` reads. Raises ValueError.
    """
    match = re.fullmatch(r"\s*([^\W\d][\w.<>]*)\s*\((.*)\)\s*", text, re.DOTALL)
    with suppress(ValueError):
        if match:
            return match[1], split_at_commas(match[2])
    raise ValueError(f"--types {text!r}: want the form 'name(f64[:], int)'")


def given_signature(texts: Sequence[str], function: FunctionType) -> ParameterTypes:
    """The types that ``--types`` gives the parameters of `function`, each as reports print it or as
    an annotation, with or without its name: ``f64[:]``, ``mode: 'sum'`` (`parse_type`). ``int``,
    ``float``, ``complex`` and ``bool`` are Python scalars; ``f64`` or ``float64`` alone is a NumPy
    scalar, ``f64[:, 1]`` an array with one column.

    A parameter that is not given has the type of its default. Raises ValueError.
    """
    names = parameter_names(function.__code__)
    given = _by_parameter(texts, names, function.__qualname__)
    defaults = _types_of_defaults(function)
    if missing := [name for name in names if name not in given and name not in defaults]:
        takes = _arity(names, len(names) - len(defaults))
        said = f"{function.__qualname__} takes {takes}, {len(texts)} given"
        raise ValueError(f"--types: {said} (no type of {', '.join(missing)})")
    annotated = _annotations_of(function, _uses_in(function))
    types: dict[str, ArgType] = {}
    objects = []
    for name in names:
        text = given.get(name)
        if text is None:
            types[name] = defaults[name]
            continue
        try:
            types[name] = parse_type(text, function.__globals__, partial(annotated, name))
        except ValueError as error:
            raise ValueError(f"--types: {function.__qualname__}: {error}") from None
        if is_unknown_object(types[name], text, function.__globals__):
            objects.append(name)
    left_out = tuple(name for name in names if name not in given)
    return ParameterTypes(
        _as_called(types, function), objects=tuple(objects), defaulted=left_out
    )


def _as_called(types: dict[str, ArgType], function: FunctionType) -> dict[str, ArgType]:
    """`types` with those of strs as calls of `function` have them."""
    called = string_signature((*types.values(),), (*types,), function, {})
    return dict(zip(types, called, strict=True))


def _by_parameter(texts: Sequence[str], names: Sequence[str], function: str) -> dict[str, str]:
    """The texts of ``--types`` by parameter: ``x: f64[:]`` is that of ``x``, one without a name
    that of the parameter at its place. Raises ValueError.
    """
    given: dict[str, str] = {}
    if len(texts) > len(names):
        takes = _arity(names, len(names))
        raise ValueError(f"--types: {function} takes {takes}, {len(texts)} given")
    for place, text in enumerate(texts):
        match = re.fullmatch(r"([^\W\d]\w*)\s*:\s*(.+)", text, re.DOTALL)
        name = match[1] if match else names[place]
        if name not in names:
            known = ", ".join(names)
            raise ValueError(f"--types: {function} has no parameter {name} (it has {known})")
        if name in given:
            raise ValueError(f"--types: {function} is given two types of {name}")
        given[name] = match[2] if match else text
    return given


def _arity(names: Sequence[str], least: int) -> str:
    """How many arguments a function takes: ``1 to 4 arguments``."""
    return f"{least} to " * (least < len(names)) + counted(len(names), "argument")


def infer_signature(function: FunctionType, tree: ast.FunctionDef) -> ParameterTypes:
    """A type for each parameter of `function`, whose source is `tree`, for a report without a
    call::

        def f(x, n: int, scale=1.0):                         n: int         by its annotation
            for i in range(n): x[i, 0] *= scale       →      scale: float   by its default
                                                             x: f64[:, :]   by its uses, assumed

    The first of these decides (``--types`` comes before them all: `file_cases`):

    - its annotation; for ``self``, the class; a class of numbers and arrays alone counts, too;
    - the type of its default, if that is a scalar;
    - it is an object that no compiled code takes, in ``objects`` of the result: a ``self`` or
      ``cls`` of unknown class, or used as neither arrays nor numbers are
      (`ParameterUses.is_object`); but None, ``assumed``, if that is its default;
    - its uses in the body: a guess (`_type_by_uses`), ``assumed`` in the result, as are those
      whose annotation leaves the dtype open. A parameter that is not used is in neither list.
    """
    uses = ParameterUses(tree, function.__globals__)
    annotated, defaults = _annotations_of(function, uses), _types_of_defaults(function)
    hints, parameters = _evaluated_hints(function), inspect.signature(function).parameters
    types: dict[str, ArgType] = {}
    assumed, objects = list[str](), list[str]()
    for name in parameter_names(function.__code__):
        is_first = not types and name in ("self", "cls")
        is_variadic = parameters[name].kind in _VARIADIC
        hint = hints.get(name) or (_class_of(function) if is_first and name == "self" else None)
        declared = None if is_variadic else (
            annotated(name, hint) or _telling_default(defaults.get(name))
        )
        is_object = is_first or is_variadic or uses.is_object(name)
        if not uses.has(name):
            pass
        elif declared is None and is_object:
            may_be_none = defaults.get(name) == type_of(None)  # a function, such as ``key=None``
            (assumed if may_be_none else objects).append(name)
            declared = type_of(None) if may_be_none else Opaque("object")
        elif _is_open(hint, declared):
            objects.append(name)
        elif declared is None or leaves_dtype_open(hint, _type_in_string):
            assumed.append(name)
        types[name] = declared or _type_by_uses(name, uses)
    types = _as_called(types, function)
    texts = {name: uses.keyed_type(name) or str(ty) for name, ty in types.items()}
    is_spelled = bool(objects) and all(map(uses.keyed_type, objects))
    spec = f"{function.__qualname__}({', '.join(texts.values())})" if is_spelled else None
    defaulted = tuple(
        name for name, ty in defaults.items() if ty == types[name] or not uses.has(name)
    )
    return ParameterTypes(types, tuple(assumed), tuple(objects), spec, defaulted)


def _is_open(hint: Any, declared: ArgType | None) -> bool:
    """Whether the annotation is a class such as ``dict``, and does not tell the types of items."""
    kind = hint if isinstance(hint, type) else typing.get_origin(hint)
    return isinstance(kind, type) and type(declared) is Opaque and (
        not typing.get_args(hint) and is_open_class(kind)
    )


def _uses_in(function: FunctionType) -> ParameterUses | None:
    """The uses of the parameters of `function`; None if its source cannot be read."""
    try:
        return ParameterUses(read_source(function).tree, function.__globals__)
    except Refused:
        return None


def _annotations_of(
    function: FunctionType, uses: ParameterUses | None
) -> Callable[[str, Any], ArgType | None]:
    """The function that gives the type of a parameter by its name and its annotation, None if that
    tells none. ``uses``: those in the body of `function`, None if they are not known.
    """
    keys = sorted(string_constants(function.__code__))

    def uses_of(name: str) -> Uses:
        if uses is None:
            return Uses(0, has_integers=False, keys=keys)
        return Uses(uses.rank(name), uses.has_integers(name), keys)

    def annotated(name: str, hint: Any) -> ArgType | None:
        ty = annotated_type(hint, uses_of(name), _type_in_string)
        return ty or _record_type(hint, name, uses_of)

    return annotated


def _types_of_defaults(function: FunctionType) -> dict[str, ArgType]:
    """The types of the parameters that a call may leave out, where it does: as a call has them, so
    that they may be values (``axis=0``, ``mode="same"``). Of a default that is not known before the
    file runs the type is that of any object.
    """
    parameters = inspect.signature(function).parameters
    values: dict[str, Any] = {}
    for name in parameter_names(function.__code__):
        match parameters[name].kind:
            case inspect.Parameter.VAR_POSITIONAL:
                values[name] = ()
            case inspect.Parameter.VAR_KEYWORD:
                values[name] = {}
            case _:
                values[name] = parameters[name].default
    types = SignatureResolver(function).exact_signature(tuple(values.values()))
    return {
        name: Opaque("object") if isinstance(value, Unevaluated) else ty
        for (name, value), ty in zip(values.items(), types, strict=True)
        if value is not inspect.Parameter.empty
    }


def _telling_default(ty: ArgType | None) -> ArgType | None:
    """`ty`, the type of a default, if calls that give the argument have the same, as far as is
    known; None of None, and of objects, which stand for some other value.
    """
    match ty:
        case ScalarType() | ArrayType() | ListType() | Function() | Opaque(name="str"):
            return ty
        case Constant(value=value) if value is not None:
            return ty
        case ObjectType(is_tuple=True):
            return ty
    return None


def _evaluated_hints(function: FunctionType) -> dict[str, Any]:
    """The evaluated annotations of `function`, by parameter."""
    hints = function.__annotations__.items()
    return {name: _evaluated_hint(hint, function.__globals__) for name, hint in hints}


def _evaluated_hint(annotation: object, names: dict[str, Any]) -> Any:
    """One evaluated annotation; None where it cannot be evaluated."""
    alone = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(alone, names, include_extras=True)["it"]
    except Exception:
        return None


def _class_of(function: FunctionType) -> Any:
    """The class that a method is defined in; None where it cannot be found."""
    found: Any = SimpleNamespace(**function.__globals__)
    for name in function.__qualname__.split(".")[:-1]:
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None


def _record_type(kind: Any, name: str, uses_of: Callable[[str], Uses]) -> ArgType | None:
    """The type of the parameter `name` whose class is a dataclass or named tuple, all of whose
    fields are numbers or arrays by their annotations; None for any other.
    """
    if not makes_record(kind):
        return None
    values = {}
    try:
        for field, hint in typing.get_type_hints(kind, include_extras=True).items():
            of_field = annotated_type(hint, uses_of(f"{name}.{field}"), _type_in_string)
            values[field] = sample_of(of_field)
        return type_of(kind(**values))
    except Exception:
        return None


def _type_in_string(extra: object) -> ArgType | None:
    """The type that a string in ``Annotated`` spells; None if it is anything else."""
    if not isinstance(extra, str):
        return None
    try:
        return parse_type(extra)
    except ValueError:
        return None


def _type_by_uses(name: str, uses: ParameterUses) -> ArgType:
    """The type of a parameter by its uses: a str, a tuple, an array of f64 or i64, an int, or a
    float.
    """
    if not uses.has(name):
        return Opaque("object")
    if (value := uses.compared_value(name)) is not None:
        return type_of(value)
    if items := uses.items(name):
        return ObjectType(tuple, tuple(enumerate(_type_by_uses(item, uses) for item in items)))
    if uses.rank(name):
        return array_of("i64" if uses.has_integers(name) else "f64", uses.rank(name))
    return SCALARS[int if uses.is_integer(name) else float]
