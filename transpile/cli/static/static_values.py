"""Static values: evaluates the expressions at the top of a module that run no code of the user's.

Constants, displays, comprehensions, operators, subscripts and attributes of values of Python's and
NumPy's own types; calls of functions that only compute (`type_probe.may_be_probed`), of some
builtins, and of ``fuse``. All others raise `NotStatic`.
"""
from __future__ import annotations

import ast
import builtins
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import operator
import random
import types
import typing
import weakref
from collections import ChainMap, defaultdict, namedtuple
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from typing import Any

import numpy as np

from ...analysis.type_inference.type_probe import OPERATORS, may_be_probed
from ...expand import macro
from ...frontend.defining_modules import module_of
from ...runtime.fuse_decorator import Fused, fuse

__all__ = [
    "Evaluator", "NotStatic", "Unevaluated", "WrongOption", "is_decorator", "is_mutable",
    "makes_record", "member_of", "own_files", "own_objects", "runs_no_hooks",
]

LIMIT = 1 << 17
"""The largest number of items, bits or iterations of an evaluation."""

ARRAY_LIMIT = 1 << 24
"""The largest number of elements of an array."""


class NotStatic(Exception):
    """The value is known only when the file runs."""


class WrongOption(Exception):
    """``fuse`` refused what it was called with; `line` is that of the call."""

    def __init__(self, error: Exception, line: int) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.line = line


class Unevaluated:
    """The value of a name that is known only when the file runs: `why`, in a few words, and what to
    do about it, `help`.
    """

    def __init__(self, why: str, help: str = "use --run") -> None:
        self.why = why
        self.help = help


own_objects: weakref.WeakSet[Any] = weakref.WeakSet()
"""Classes and modules that were made from files of the user's own; all others are installed."""

own_files: set[str] = set()
"""The file names of the code of these modules."""


_SCALARS: tuple[type, ...] = (
    bool, int, float, complex, str, bytes, type(None), type(...), range, np.generic, np.dtype,
)
_DISPLAYS = (tuple, list, set, frozenset)
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
"""Classes whose objects run no code of the user's (`_is_plain`); those in ``_DISPLAYS``, if their
items do not."""

_VIEWS: tuple[type, ...] = (
    KeysView, ValuesView, ItemsView, slice, zip, enumerate, reversed,
)

_COMPUTING: tuple[Any, ...] = (
    *(abs, all, any, bool, bytes, complex, dict, divmod, enumerate, float, frozenset, int, len),
    *(list, max, min, range, reversed, round, set, slice, sorted, str, sum, tuple, zip),
    *(np.dtype, np.finfo, np.iinfo, np.random.default_rng, np.random.RandomState, random.Random),
    *(namedtuple, typing.NewType, typing.TypeVar, enum.auto, defaultdict),
)
"""Callables that may be called with plain values, besides those that `may_be_probed` knows."""

_DECORATING: tuple[Any, ...] = (
    *(fuse, staticmethod, classmethod, property, dataclasses.dataclass, dataclasses.field),
    *(functools.lru_cache, functools.cache, typing.final, typing.overload),
)
"""Callables that may also be called with functions and classes, which they do not call."""

_DECORATOR_MODULES = {
    "dataclasses", "functools", fuse.__module__, macro.__module__,
}
"""Modules whose decorators with arguments (``@fuse(fast=True)``) give functions of theirs."""

_METHODS = {
    *("astype", "copy", "reshape", "transpose", "sum", "min", "max", "mean", "prod", "ravel"),
    *("flatten", "view", "item", "tolist", "argmin", "argmax", "cumsum", "cumprod", "squeeze"),
    *("standard_normal", "normal", "random", "uniform", "integers", "rand", "randn", "randint"),
    *("index", "count", "keys", "values", "items", "get", "split", "strip", "upper", "lower"),
    *("encode", "startswith", "endswith", "bit_length", "conjugate", "setter"),
}
"""Methods of values of Python's and NumPy's types that may be called."""


def is_decorator(value: Any) -> bool:
    """Whether calling `value` with a function or a class runs no code of the user's own."""
    if any(value is known for known in _DECORATING):
        return True
    made = isinstance(value, types.FunctionType) and "<locals>" in value.__qualname__
    if made and module_of(value) in _DECORATOR_MODULES:
        return True
    owner = getattr(value, "__self__", None) if isinstance(value, _BUILTIN_METHODS) else None
    return isinstance(owner, property)


_BUILTIN_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)


def runs_no_hooks(bases: Iterable[Any], body: Mapping[str, Any]) -> bool:
    """Whether a class of these bases and this body can be made without code of the user's own: of a
    metaclass, ``__init_subclass__``, ``__class_getitem__`` or ``__set_name__``, and of an enum that
    makes its members in its own way.
    """
    own = {"__init_subclass__", "__class_getitem__"}
    is_enum = False
    for base in bases:
        origin = typing.get_origin(base)
        if base is typing.NamedTuple or origin in (typing.Generic, typing.Protocol):
            continue
        if not isinstance(base, type) or not (type(base) is type or _is_library(type(base))):
            return False
        is_enum = is_enum or issubclass(base, enum.Enum)
        if any(own & vars(c).keys() for c in base.__mro__ if not _is_library(c)):
            return False
    if own & body.keys() or any("__set_name__" in dir(type(v)) for v in body.values()
                                if not _is_library(type(v))):
        return False
    if not is_enum:
        return True
    members = [v for v in body.values() if type(v) in own_objects]
    return not members and not {"__init__", "__new__", "_generate_next_value_"} & body.keys()


def is_mutable(value: Any) -> bool:
    """Whether a statement that uses `value` may change its type or those of its items."""
    fixed = (*_SCALARS, tuple, frozenset, types.ModuleType, type, np.ndarray, *_GENERATORS)
    return not isinstance(value, (*fixed, Fused, types.FunctionType, Unevaluated))


def _is_library(kind: type) -> bool:
    """Whether a class is none of the user's own."""
    return kind not in own_objects


def member_of(module: types.ModuleType, name: str) -> Any:
    """``module.name``. Raises NotStatic where it has none that can be read without running code."""
    if name in vars(module):
        return vars(module)[name]
    if module in own_objects or not hasattr(module, name):
        raise NotStatic
    return getattr(module, name)


def _is_plain(value: Any) -> bool:
    """Whether operators and functions run no user code for `value`, nor for its items. Of values
    with very many items it is not known.
    """
    waiting, count = [value], 0
    while waiting:
        item = waiting.pop()
        count += 1
        if type(item) in _DISPLAYS or type(item) is dict:
            count += len(item)
            waiting += itertools.chain(*item.items()) if type(item) is dict else item
        elif not _is_plain_item(item):
            return False
        if count > LIMIT:
            return False
    return True


def _is_plain_item(value: Any) -> bool:
    """As `_is_plain`, of a value without items of its own."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind != "O")
    if isinstance(value, type):
        return _is_library(value)
    fitting = isinstance(value, (*_SCALARS, *_VIEWS, *_GENERATORS, np.finfo, np.iinfo))
    return fitting and _is_library(type(value))


class Evaluator:
    """Evaluates expressions in the names that `find` gives.

    ``find(name)`` raises NotStatic for a name that the module does not bind; ``make_lambda`` makes
    the function of a lambda.
    """

    def __init__(
        self, find: Callable[[str], Any], make_lambda: Callable[[ast.Lambda], Any]
    ) -> None:
        self._find = find
        self._make_lambda = make_lambda
        self._local: ChainMap[str, Any] = ChainMap()  # targets of comprehensions
        self._budget = LIMIT

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression. Raises NotStatic; and what ``fuse`` raises for its options.
        """
        try:
            return self._known(node)
        except (NotStatic, WrongOption):
            raise
        except Exception:
            raise NotStatic from None

    def _known(self, node: ast.expr) -> Any:
        """The value, which is not `Unevaluated`."""
        value = self._value(node)
        if isinstance(value, Unevaluated):
            raise NotStatic
        return value

    def _plain(self, node: ast.expr) -> Any:
        """The value, which is of Python's and NumPy's own types throughout."""
        value = self._known(node)
        if not _is_plain(value):
            raise NotStatic
        return value

    def _value(self, node: ast.expr) -> Any:
        """As `evaluate`, by the kind of `node`; of parts that Python would not run, nothing."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=owner, attr=attr):
                return self._attribute(self._known(owner), attr)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return (tuple if isinstance(node, ast.Tuple) else list)(self._items(parts))
            case ast.Set(elts=parts):
                items = list(self._items(parts))
                if not _is_plain(items):
                    raise NotStatic
                return set(items)
            case ast.Dict(keys=keys, values=values) if None not in keys:
                known = [self._plain(k) for k in keys if k is not None]
                return dict(zip(known, map(self._known, values), strict=True))
            case ast.Subscript(value=owner, slice=index):
                return self._subscript(self._known(owner), index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(e and self._plain(e) for e in (lower, upper, step)))
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp():
                return self._operation(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._plain(test) else orelse)
            case ast.ListComp(elt=item, generators=loops):
                return [self._known(item) for _ in self._turns(loops)]
            case ast.GeneratorExp(elt=item, generators=loops):
                return tuple(self._known(item) for _ in self._turns(loops))
            case ast.DictComp(key=key, value=item, generators=loops):
                return {self._plain(key): self._known(item) for _ in self._turns(loops)}
            case ast.Lambda():
                return self._make_lambda(node)
            case ast.Call():
                return self._call(node)
        raise NotStatic

    def _name(self, name: str) -> Any:
        """What a name means: a target of a comprehension, a name of the module, or a builtin."""
        if name in self._local:
            return self._local[name]
        try:
            return self._find(name)
        except NotStatic:
            if hasattr(builtins, name):
                return getattr(builtins, name)
            raise

    def _items(self, parts: Iterable[ast.expr]) -> Iterator[Any]:
        """The values of items of a display or arguments of a call; ``*x`` gives those of `x`."""
        for part in parts:
            if isinstance(part, ast.Starred):
                yield from self._plain(part.value)
            else:
                yield self._value(part)

    def _attribute(self, owner: Any, attr: str) -> Any:
        """``owner.attr``, where reading it runs no user code."""
        if isinstance(owner, types.ModuleType):
            return member_of(owner, attr)
        if isinstance(owner, enum.Enum) and attr in ("name", "value"):
            return object.__getattribute__(owner, f"_{attr}_")
        if isinstance(owner, type) and (type(owner) is type or _is_library(type(owner))):
            found = next((vars(c)[attr] for c in owner.__mro__ if attr in vars(c)), None)
            if _is_library(type(found)) or not hasattr(type(found), "__get__"):
                return getattr(owner, attr)
        if _is_plain(owner) or isinstance(owner, property):
            return getattr(owner, attr)
        raise NotStatic

    def _subscript(self, owner: Any, index: ast.expr) -> Any:
        """``owner[index]``, of a value or of a type (``list[int]``)."""
        if _is_plain(owner) and not isinstance(owner, type):
            return owner[self._plain(index)]
        home = getattr(owner, "__module__", "") or ""  # of an alias, the module of its class
        if home.partition(".")[0] in ("typing", "numpy", "builtins", "collections"):
            is_annotated = owner is typing.Annotated
            if not is_annotated and any(_is_text(n) for n in ast.walk(index)):
                raise NotStatic  # a reference that typing would evaluate
            return owner[self._known(index)]
        raise NotStatic

    def _operation(self, node: ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp) -> Any:
        """The value of an operator on plain values. Raises NotStatic if it would be huge."""
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, ast.BitOr) and (union := self._union(left, right)) is not None:
                    return union
                a, b = self._plain(left), self._plain(right)
                _check_size(op, a, b)
                return OPERATORS[type(op).__name__](a, b)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._plain(operand)
            case ast.UnaryOp(op=op, operand=operand):
                return OPERATORS[type(op).__name__](self._plain(operand))
            case ast.BoolOp(op=op, values=values):
                is_and = isinstance(op, ast.And)
                value: Any = None
                for part in values:
                    value = self._plain(part)
                    if bool(value) != is_and:
                        return value
                return value
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                name = type(op).__name__
                compare = _COMPARISONS.get(name) or OPERATORS[name]
                if isinstance(op, (ast.Is, ast.IsNot)):
                    return compare(self._known(left), self._known(right))
                return compare(self._plain(left), self._plain(right))
        raise NotStatic

    def _union(self, left: ast.expr, right: ast.expr) -> Any:
        """``float | None`` of types, else None."""
        a, b = self._known(left), self._known(right)
        kinds = (type, types.GenericAlias, types.UnionType)
        if (isinstance(a, kinds) or isinstance(b, kinds)) and not isinstance(a, (dict, set)):
            return a | b
        return None

    def _turns(self, loops: list[ast.comprehension]) -> Iterator[None]:
        """One turn for each binding of the targets of a comprehension."""
        if not loops:
            yield
            return
        loop, *inner = loops
        self._local = self._local.new_child()
        for value in self._plain(loop.iter):
            self._budget -= 1
            if self._budget < 0 or loop.is_async:
                raise NotStatic
            self._bind(loop.target, value)
            if all(self._plain(test) for test in loop.ifs):
                yield from self._turns(inner)
        self._local = self._local.parents

    def _bind(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self._local[name] = value
            case ast.Tuple(elts=parts):
                for part, item in zip(parts, value, strict=True):
                    self._bind(part, item)
            case _:
                raise NotStatic

    def _call(self, node: ast.Call) -> Any:
        """A call of a function that is known to run no user code."""
        callee = self._known(node.func)
        if callee is fuse:
            return self._fuse(node)
        if any(keyword.arg is None for keyword in node.keywords):
            raise NotStatic
        args = list(self._items(node.args))
        named = {k.arg: self._value(k.value) for k in node.keywords if k.arg}
        given = [*args, *named.values()]
        if any(isinstance(value, Unevaluated) for value in given):
            raise NotStatic
        is_method = isinstance(node.func, ast.Attribute) and callable(callee)
        is_pattern = callee is macro and bool(args) and isinstance(args[0], str)
        if (is_decorator(callee) or is_pattern) and not any(type(v) in own_objects for v in given):
            return callee(*args, **named)
        if not all(map(_is_plain, given)):
            raise NotStatic
        if may_be_probed(callee) or any(callee is known for known in _COMPUTING):
            _check_sizes(callee, given)
        elif is_method and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            if not _is_plain(getattr(callee, "__self__", NotStatic())):
                raise NotStatic
            _check_sizes(callee, given)
        elif not makes_record(callee):
            raise NotStatic
        return callee(*args, **named)

    def _fuse(self, node: ast.Call) -> Any:
        """``fuse(…)``; options that are not known have their defaults."""
        options = {}
        for keyword in node.keywords:
            with contextlib.suppress(NotStatic):
                options[keyword.arg or ""] = self._known(keyword.value)
        args = [self._known(arg) for arg in node.args]
        try:
            return fuse(*args, **options)
        except (TypeError, ValueError) as error:
            raise WrongOption(error, node.lineno) from None


def makes_record(kind: Any) -> bool:
    """Whether `kind` is a class of the user's whose ``__init__`` was made by dataclasses or by
    NamedTuple, and which has no special method that was written for it.
    """
    if not isinstance(kind, type) or type(kind) is not type:
        return False
    factories = [f.default_factory for f in getattr(kind, "__dataclass_fields__", {}).values()]
    if not all(f is dataclasses.MISSING or _is_plain(f) for f in factories):
        return False
    own = [c for c in kind.__mro__ if not _is_library(c)]
    special = [v for c in own for name, v in vars(c).items() if name[:2] == name[-2:] == "__"]
    return not any(map(_is_written, special)) and any(
        not _is_written(vars(c).get(name)) and vars(c).get(name) is not None
        for c in own for name in ("__init__", "__new__")
    )


def _is_written(value: Any) -> bool:
    """Whether the member of a class is a method or a descriptor that stands in a file."""
    function = getattr(value, "__func__", value)
    if isinstance(function, types.FunctionType):
        return function.__code__.co_filename in own_files
    return isinstance(value, (property, classmethod, staticmethod)) or not (
        _is_library(type(value))
    )


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _check_size(op: ast.operator, a: Any, b: Any) -> None:
    """Raise NotStatic if ``a op b`` may have more than `LIMIT` bits or items, or, of arrays, more
    than `ARRAY_LIMIT` elements.
    """
    sequences = (tuple, list, str, bytes)
    match op:
        case ast.Pow() if isinstance(a, int) and isinstance(b, int):
            size = a.bit_length() * abs(b)
        case ast.LShift() if isinstance(b, int):
            size = b
        case ast.Mult() if isinstance(a, int) and isinstance(b, int):
            size = a.bit_length() + b.bit_length()
        case ast.Mult() if isinstance(b, int) and isinstance(a, sequences):
            size = len(a) * b
        case ast.Mult() if isinstance(a, int) and isinstance(b, sequences):
            size = len(b) * a
        case ast.Add() if isinstance(a, sequences) and isinstance(b, sequences):
            size = len(a) + len(b)
        case ast.MatMult():
            size = np.size(a) * np.size(b)
        case _ if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            size = math.prod(np.broadcast_shapes(np.shape(a), np.shape(b)))
        case _:
            size = 0
    is_array = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    if size > (ARRAY_LIMIT if is_array else LIMIT):
        raise NotStatic


def _check_sizes(callee: Any, values: Sequence[Any]) -> None:
    """Raise NotStatic if a call of `callee` may give a large result, or take a long time: by the
    product of all sizes of arrays and ranges, and of all numbers, among the arguments.
    """
    if callee in (range, slice):
        return
    arrays = [value.shape for value in values if isinstance(value, np.ndarray)]
    if isinstance(callee, np.ufunc):
        total = float(math.prod(np.broadcast_shapes(*arrays)))
    else:
        total = float(math.prod(max(1, math.prod(shape)) for shape in arrays))
    for value in values:
        parts = value if isinstance(value, (tuple, list)) and len(value) < 8 else (value,)
        for part in parts:
            if isinstance(part, range):
                total *= max(1, len(part))
            elif isinstance(part, (int, np.integer)) or (callee is np.arange):
                total *= max(1.0, abs(float(part)))
    slow = (math.factorial, math.comb, math.perm)
    if not total <= (1 << 10 if any(callee is f for f in slow) else ARRAY_LIMIT):
        raise NotStatic


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "In": lambda a, b: operator.contains(b, a),
    "NotIn": lambda a, b: not operator.contains(b, a),
    "Is": operator.is_,
    "IsNot": operator.is_not,
}
