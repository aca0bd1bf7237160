"""One function run both ways: as Python and compiled, on arguments that it takes."""
from __future__ import annotations

import ast
import builtins
import copy
import inspect
import math
import random
import signal
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from transpile import fuse
from transpile.runtime.fuse_decorator import Fused

from .draws import draws
from .inputs import Kind, kinds, tree_of

__all__ = ["Verdict", "arguments_for", "judged"]

_DRAWS, _SECONDS = 6, 2.0
_SINGLE = 2e-4


class Verdict(NamedTuple):
    """What became of one function.

    ``ran``: Python took arguments that were made for it; ``codes``: what was refused, none where
    every loop compiled; ``wrong``: how an answer differed.
    """

    name: str
    plain: bool
    ran: bool = False
    accepted: bool = False
    regions: int = 0
    vectorized: int = 0
    compiled_calls: int = 0
    codes: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    replays: tuple[str, ...] = ()
    wrong: str | None = None


class _Late(BaseException):
    """Python takes too long."""


class _Outcome(NamedTuple):
    value: Any
    error: tuple[type, str] | None
    left: Any
    warned: frozenset[tuple[type, str]]


def judged(function: Callable[..., Any], name: str, seed: int) -> Verdict:
    """`function` tried with arguments drawn from `seed`, until some fit; then compared on them."""
    tree = tree_of(function)
    if tree is None:
        return Verdict(name, False)
    verdict = Verdict(name, _plain(function, tree, 3))
    drawn = arguments_for(function, name, seed)
    if not drawn:
        return verdict
    fused = fuse(function, on_reject="silent")
    verdict = verdict._replace(ran=True)
    for args in drawn:
        try:
            wanted = _within(_SECONDS, _outcome, function, args)
        except _Late:
            continue
        got = _outcome(fused, args)
        difference = _difference(got, wanted, _tolerance(args)) or _crash(fused, args)
        if difference and not _reordered(function, args, got, wanted) and _settled(function, args):
            return verdict._replace(wrong=f"{_short(difference)} of {_short(repr(args))}")
    report = fused.report(*copy.deepcopy(drawn[0]))
    verdict = verdict._replace(
        accepted=report.accepted, regions=report.regions, vectorized=report.vectorized,
        codes=tuple(dict.fromkeys(r.code for r in report.rejections if _refuses(r.code))),
        messages=tuple(f"{r.code} {r.message}" for r in report.rejections if _refuses(r.code)),
    )
    stats = fused.stats
    return verdict._replace(compiled_calls=stats.compiled, replays=tuple(stats.replays))


def arguments_for(function: Callable[..., Any], name: str, seed: int) -> list[tuple[Any, ...]]:
    """Arguments that the function `name` takes as Python, drawn from `seed`; none if not found."""
    tree = tree_of(function)
    guesses = kinds(function, tree) if tree is not None else None
    if guesses is None:
        return []
    return _draws(function, guesses, random.Random(f"{name} {seed}"))


def _refuses(code: str) -> bool:
    return not code.startswith(("VECTOR_", "FUSE_"))


def _draws(
    function: Callable[..., Any], guesses: list[tuple[Kind, ...]], rng: random.Random
) -> list[tuple[Any, ...]]:
    """Arguments that Python takes, all of the same kinds, and one that it may refuse."""

    def taken(args: tuple[Any, ...]) -> bool:
        try:
            outcome = _within(0.3, _outcome, function, args)
        except _Late:
            return False
        return outcome.error is None and not any(
            issubclass(category, DeprecationWarning) for category, _ in outcome.warned
        )

    parameters = [*inspect.signature(function).parameters.values()]
    return draws(guesses, parameters, rng, taken, _DRAWS)


def _reordered(
    function: Callable[..., Any], args: tuple[Any, ...], got: _Outcome, wanted: _Outcome
) -> bool:
    """Whether the difference comes of the order of a fold, or is not much more than what last bits,
    of arguments or of what NumPy's functions give, do to Python's own answer.
    """
    if _difference(got, wanted, 1e-5, 1e-13) is None:
        ordered = _outcome(fuse(function, on_reject="silent", reassociate=False), args)
        if _difference(ordered, wanted, _tolerance(args)) is None:
            return True
    with _roughly(function):
        rough = _outcome(function, args)
    near = _outcome(function, tuple(map(_next, args)))
    far = _apart(got, wanted)
    return far < math.inf and far <= _MUCH * max(_apart(n, wanted) for n in (near, rough))


_MUCH = 100.0


def _apart(a: _Outcome, b: _Outcome) -> float:
    """The greatest difference of two numbers; infinite where other things differ."""
    if _difference(a, b, least=math.inf) is not None:
        return math.inf
    pairs = zip(_numbers((a.value, a.left)), _numbers((b.value, b.left)), strict=True)
    with np.errstate(all="ignore"):
        gaps = [np.max(np.abs(x - y), initial=0.0, where=x != y) for x, y in pairs]
    return max((math.inf if g != g else float(g) for g in gaps), default=0.0)


def _numbers(value: Any) -> Iterator[np.ndarray]:
    """The floats in `value`."""
    if isinstance(value, (list, tuple)):
        for x in value:
            yield from _numbers(x)
    elif isinstance(value, dict):
        yield from _numbers([*value.values()])
    elif np.asarray(value).dtype.kind in "fc":
        x = np.asarray(value)
        yield np.where(np.isnan(x), 0, x)


_ROUNDED = (
    np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2, np.exp, np.expm1, np.log,
    np.log1p, np.log2, np.log10, np.sinh, np.cosh, np.tanh, np.power, np.cbrt,
)
"""Functions that are right but for the last bit or two."""


class _Rough:
    """NumPy, whose functions are wrong in the last bit."""

    def __getattr__(self, name: str) -> Any:
        of = getattr(np, name)
        if not isinstance(of, np.ufunc) or of not in _ROUNDED:
            return of
        return lambda *a, **k: _next(of(*a, **k))


@contextmanager
def _roughly(function: Callable[..., Any]) -> Iterator[None]:
    """While it runs, `function` and all that it knows by name are given such functions."""
    rough, kept = _Rough(), list[tuple[dict[str, Any], str, Any]]()
    waiting, seen = [function.__globals__], [globals()]
    while waiting:
        names = waiting.pop()
        if any(names is known for known in seen):
            continue
        seen.append(names)
        for name, value in names.items():
            if value is np or (isinstance(value, np.ufunc) and value in _ROUNDED):
                kept.append((names, name, value))
            elif inspect.isfunction(value) and not value.__module__.startswith("numpy"):
                waiting.append(value.__globals__)
    try:
        for names, name, value in kept:
            names[name] = rough if value is np else getattr(rough, value.__name__)
        yield
    finally:
        for names, name, value in kept:
            names[name] = value


def _next(value: Any) -> Any:
    """Floats that differ from these in the last bit."""
    if isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f":
        near = np.nextafter(value, np.inf if isinstance(value, float) else value.dtype.type(np.inf))
        return float(near) if type(value) is float else near
    return value


def _crash(fused: Fused, args: tuple[Any, ...]) -> str | None:
    """What the compiler itself failed of."""
    if "BUILD_FAILED" not in fused.stats.replays:
        return None
    found = (r for r in fused.report(*copy.deepcopy(args)).rejections if r.code == "BUILD_FAILED")
    return next((f"BUILD_FAILED {r.message} {r.note or ''}" for r in found), None)


def _settled(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether Python gives one answer, whatever memory held before."""
    answers = []
    for byte in (0, 0x40, 0xA5):
        [np.full(size, byte, np.uint8) for size in range(1, 1024) for _ in range(8)]
        answers.append(_outcome(function, args))
    return not any(_difference(answer, answers[0]) for answer in answers)


def _within(seconds: float, call: Callable[..., Any], *args: Any) -> Any:
    def late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return call(*args)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> _Outcome:
    own = copy.deepcopy(args)
    value, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.random.seed(7)
        random.seed(7)
        try:
            value = fn(*own)
            if isinstance(value, types.GeneratorType):
                value = [*value]
        except Exception as e:
            error = type(e), str(e)
    return _Outcome(value, error, own, frozenset((w.category, str(w.message)) for w in caught))


def _tolerance(args: tuple[Any, ...]) -> float:
    """How near folds of what is passed leave their results."""
    return _SINGLE if any(getattr(a, "dtype", None) == np.float32 for a in args) else 1e-9


def _difference(
    got: _Outcome, wanted: _Outcome, rtol: float = 1e-9, least: float = 0.0
) -> str | None:
    if got.error != wanted.error:
        return f"raises {got.error}, Python {wanted.error}"
    if wanted.error is None and not _same(got.value, wanted.value, rtol, least):
        return f"gives {got.value!r}, Python {wanted.value!r}"
    if not _same(got.left, wanted.left, rtol, least):
        return f"leaves {got.left!r}, Python {wanted.left!r}"
    if got.warned != wanted.warned:
        return f"warns {sorted(map(str, got.warned))}, Python {sorted(map(str, wanted.warned))}"
    return None


def _same(a: Any, b: Any, rtol: float, least: float) -> bool:
    """The same types and values; floats as near as folds in another order leave them, `least` at
    least.
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(
            _same(x, y, rtol, least) for x, y in zip(a, b, strict=True)
        )
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[k], b[k], rtol, least) for k in a)
    if isinstance(a, (np.ndarray, np.generic)):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return alike and _near(np.asarray(a), np.asarray(b), rtol, least)
    if isinstance(a, (float, complex)):
        return _near(np.asarray(a), np.asarray(b), rtol, least)
    if isinstance(a, (int, str, bool, type(None), slice, range)):
        return bool(a == b)
    return True


def _near(a: np.ndarray, b: np.ndarray, rtol: float, least: float) -> bool:
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b)) if not a.dtype.hasobject else True
    single = a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1) <= 4
    finite = np.abs(b[np.isfinite(b)])
    scale = float(finite.max()) if finite.size else 0.0
    rtol = max(rtol, _SINGLE) if single else rtol
    with np.errstate(all="ignore"):
        atol = max(rtol * min(scale, 1.0), least)
        return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


_ODD = (ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.Try, ast.With, ast.Yield, ast.YieldFrom,
        ast.JoinedStr, ast.ClassDef, ast.Global, ast.Nonlocal)
_ODD_NAMES = {"print", "dict", "set", "str", "getattr", "hasattr", "open"}
_ODD_NUMPY = {"random", "linalg", "fft", "testing", "datetime64", "timedelta64"}


def _plain(function: Callable[..., Any], tree: ast.FunctionDef, depth: int) -> bool:
    """Whether it uses NumPy, scalars and plain helpers alone."""
    for node in _walked(tree):
        if isinstance(node, _ODD):
            return False
        if isinstance(node, ast.Attribute) and node.attr in _ODD_NUMPY:
            return False
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in _ODD_NAMES:
                return False
            value = function.__globals__.get(node.id, getattr(builtins, node.id, None))
            if not _plain_value(value, function, depth):
                return False
    return True


def _walked(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of the tree but annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from _walked(part)


def _plain_value(value: Any, function: Callable[..., Any], depth: int) -> bool:
    if isinstance(value, types.FunctionType):
        inner = tree_of(value) if depth and value is not function else None
        return value is function or (inner is not None and _plain(value, inner, depth - 1))
    if isinstance(value, types.ModuleType):
        return value in (np, math) or value.__name__ in ("numba", "operator", "cmath", "builtins")
    return (
        value is None
        or isinstance(value, (int, float, complex, np.ndarray, np.generic, tuple, np.ufunc, type))
        or inspect.isbuiltin(value)
        or type(value).__module__ in ("numpy", "builtins")
    )


def _short(text: str) -> str:
    return text if len(text) < 400 else f"{text[:300]} … {text[-80:]}"
