"""``vectorize`` and ``guvectorize``: as numba spells them, with types that may be left out.

    @vectorize                                    @guvectorize("(n),(n)->()")
    def clip(v, least): …                         def dot(x, y, result): …; result[0] = s

Types are those of numba: strings (``"float64(float64, float64)"``), or its type objects.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..options import Options
from ..runtime.fuse_decorator import fuse
from .generalized_ufunc import GeneralizedUfunc

__all__ = ["guvectorize", "vectorize"]

_TYPE = re.compile(
    r"boolean|bool_?|u?int(?:8|16|32|64|p|c)|u?intp|float(?:32|64)|complex(?:64|128)"
    r"|[bif][1248]|u[1248]|c8|c16"
)
_NAMES = {"boolean": "bool", "bool_": "bool", "b1": "bool", "i1": "int8", "u1": "uint8"}
_OF_NUMBA = frozenset(("cache", "fastmath", "forceobj", "identity", "nopython"))
"""Options of numba that change nothing here: what they ask for is done, or not needed."""


def vectorize(function_or_types: Any = None, /, **options: Any) -> Any:
    """A function of single elements as a ufunc: ``@vectorize``, ``@vectorize(["f8(f8)"])``.

    Options are those of `fuse`; of numba's, ``target="parallel"`` and ``"cpu"`` are what is done
    anyway. Raises TypeError for other options, ValueError for types that cannot be read.
    """
    if callable(function_or_types) and not _is_type(function_or_types):
        return _elementwise(function_or_types, (), options)
    types = _types(function_or_types)
    return lambda function: _elementwise(function, types, options)


def _elementwise(
    function: Callable[..., Any], types: tuple[tuple[str, ...], ...], options: dict[str, Any]
) -> GeneralizedUfunc:
    """The ufunc of a function of single elements."""
    fused = fuse(**_options(options, "vectorize"))(function)
    inputs = ",".join(["()"] * fused.__code__.co_argcount)
    ordered = tuple((*t[1:], t[0]) for t in types)  # numba puts the result first
    return GeneralizedUfunc(fused, f"{inputs}->()", ordered)


def guvectorize(
    types_or_signature: Any, signature: str | None = None, /, **options: Any
) -> Callable[[Callable[..., Any]], GeneralizedUfunc]:
    """A function that stores its results to its last arguments as a generalized ufunc:
    ``@guvectorize("(n),(n)->()")``, ``@guvectorize([…types…], "(n),(n)->()")``.

    Options and errors as of `vectorize`.
    """
    types: tuple[tuple[str, ...], ...] = ()
    if signature is None:
        signature = types_or_signature
    else:
        types = _types(types_or_signature)
    if not isinstance(signature, str):
        raise TypeError("guvectorize takes a signature, such as '(n),(n)->()'")
    text: str = signature
    return lambda function: GeneralizedUfunc(
        fuse(**_options(options, "guvectorize"))(function), text, types, stores=True)


def _options(options: dict[str, Any], decorator: str) -> dict[str, Any]:
    """Those of `options` that are for `fuse`. ``decorator``: its name, for the message."""
    chosen = {name: value for name, value in options.items() if name not in _OF_NUMBA}
    if chosen.get("target") in ("parallel", "cpu"):
        del chosen["target"]
    known = Options.__dataclass_fields__
    if "writable_args" in chosen:
        raise TypeError(f"{decorator} has no option 'writable_args': store to a further result")
    if wrong := next((name for name in chosen if name not in known), None):
        raise TypeError(f"{decorator} has no option {wrong!r} (options: {', '.join(known)})")
    return chosen


def _is_type(value: object) -> bool:
    """Whether `value` is a signature of numba's, which can be called, too."""
    return type(value).__module__.startswith("numba.")


def _types(given: Any) -> tuple[tuple[str, ...], ...]:
    """The names of dtypes in each of some signatures, in their order."""
    if given is None:
        return ()
    items: Iterable[Any] = given if isinstance(given, (list, tuple)) and not (
        isinstance(given, tuple) and given and not isinstance(given[0], (list, tuple, str))
        and not _is_signature(given[0])
    ) else [given]
    return tuple(_names_in(item) for item in items)


def _is_signature(value: object) -> bool:
    return "(" in str(value) and not str(value).startswith("array(")


def _names_in(item: Any) -> tuple[str, ...]:
    """The names of the dtypes in one signature."""
    names = _TYPE.findall(str(item))
    if not names:
        raise ValueError(f"there are no types in {item!r}")
    return tuple(np.dtype(_NAMES.get(n, n)).name for n in names)
