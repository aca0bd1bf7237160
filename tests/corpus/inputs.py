"""Arguments for a function of which only the text is known: kinds guessed from how names are used.

A kind is a letter of what is passed: an array of a rank, an int, a float, a function, …
"""
from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["Kind", "arguments", "kinds", "tree_of"]

Kind = str
"""``a1`` to ``a4``: an array of that rank; ``i`` an int, ``f`` a float, ``b`` a bool, ``n`` None,
``d`` the default, ``t`` a tuple of ints, ``F1``, ``F2``: a function of so many arrays.
"""

_SIZES = {"n", "k", "m", "window", "size", "length", "period", "width", "height", "num", "lag"}


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The function's tree; None where its text is not to be had."""
    try:
        node = ast.parse(inspect.getsource(function)).body[0]
    except (OSError, SyntaxError, IndexError, TypeError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def kinds(
    function: Callable[..., Any], tree: ast.FunctionDef, depth: int = 2
) -> list[tuple[Kind, ...]] | None:
    """For each parameter what it may be, likeliest first; None for one that takes any number."""
    spec = inspect.signature(function)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in spec.parameters.values()):
        return None
    return [_kinds(name, p, function, tree, depth) for name, p in spec.parameters.items()]


def _kinds(
    name: str, parameter: inspect.Parameter, function: Callable[..., Any], tree: ast.FunctionDef,
    depth: int,
) -> tuple[Kind, ...]:
    found = [*_uses(name, tree), *(_passed(name, function, tree, depth) if depth else ())]
    ranks = [k for k in found if k[0] == "a"]
    out: list[Kind] = []
    if parameter.default is not inspect.Parameter.empty:
        out.append("d")
    if ranks:
        out.append(max(ranks))
    out += [k for k in found if k[0] != "a"]
    if not out or out == ["d"]:
        out += ["i"] if name.lower() in _SIZES else ["a1", "f", "i"]
    return tuple(dict.fromkeys([*out, "a1", "i", "f", "a2", "a3", "b", "t", "n"]))


def _uses(name: str, tree: ast.FunctionDef) -> Iterator[Kind]:
    """What the places where `name` stands say of it."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=n), slice=ast.Tuple(elts=parts)) if n == name:
                yield f"a{min(sum(not _new_axis(p) for p in parts), 4) or 1}"
            case ast.Subscript(value=ast.Subscript(value=ast.Name(id=n))) if n == name:
                yield "a2"
            case ast.Subscript(value=ast.Name(id=n)) if n == name:
                yield "a1"
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=n), attr="shape"),
                slice=ast.Constant(value=int(k)),
            ) if n == name:
                yield f"a{k + 1 if k >= 0 else 1}"
            case ast.Assign(
                targets=[ast.Tuple(elts=parts)],
                value=ast.Attribute(value=ast.Name(id=n), attr="shape"),
            ) if n == name:
                yield f"a{len(parts)}"
            case ast.Attribute(value=ast.Name(id=n)) if n == name:
                yield "a1"
            case ast.Call(func=ast.Name(id=n), args=args) if n == name:
                yield f"F{min(len(args), 2)}"
            case ast.Call(func=ast.Name(id="range" | "prange"), args=args) if _names(args, name):
                yield "i"
            case ast.Call(func=ast.Attribute(attr="prange" | "arange"), args=args) if _names(
                args, name
            ):
                yield "i"
            case ast.For(iter=ast.Name(id=n)) if n == name:
                yield "a1"
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=n)]) if n == name:
                yield "a1"
            case ast.Subscript(slice=index) if _names([index], name):
                yield "i"
            case _:
                pass


def _passed(
    name: str, function: Callable[..., Any], tree: ast.FunctionDef, depth: int
) -> Iterator[Kind]:
    """What the helpers want that `name` is handed to."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        helper = function.__globals__.get(node.func.id)
        inner = tree_of(helper) if inspect.isfunction(helper) and helper is not function else None
        if inner is None:
            continue
        for parameter, given in zip(inner.args.args, node.args, strict=False):
            if isinstance(given, ast.Name) and given.id == name:
                yield from _uses(parameter.arg, inner)
                yield from _passed(parameter.arg, helper, inner, depth - 1) if depth > 1 else ()


def _new_axis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, Ellipsis)


def _names(nodes: list[ast.expr], name: str) -> bool:
    """Whether `name` stands in one of them by itself, or in sums: not as what is measured."""
    return any(
        isinstance(node, ast.Name) and node.id == name
        for top in nodes
        for node in _sums(top)
    )


def _sums(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    if isinstance(node, ast.BinOp):
        yield from _sums(node.left)
        yield from _sums(node.right)
    if isinstance(node, ast.Slice):
        for part in (node.lower, node.upper):
            if part is not None:
                yield from _sums(part)
    if isinstance(node, ast.Tuple):
        for part in node.elts:
            yield from _sums(part)


_FUNCTIONS: dict[Kind, tuple[Callable[..., Any], ...]] = {
    "F0": (lambda: 1.0,),
    "F1": (np.sum, np.sqrt, abs),
    "F2": (lambda x, y: np.sum((x - y) ** 2), lambda x, y: x + y),
}


def arguments(
    chosen: tuple[Kind, ...], parameters: list[inspect.Parameter], rng: random.Random, least: int
) -> tuple[Any, ...]:
    """Values of these kinds; arrays share lengths, `least` or more, and mostly dtypes."""
    sizes = [max(rng.choice((0, 1, 2, 3, 5, 8, 17, 33, 40)), least) for _ in "1234"]
    if rng.random() < 0.5:
        sizes = [sizes[0]] * 4
    main = rng.choice(("f8", "f8", "f8", "f8", "f4", "i8", "i4", "u1", "?"))
    numpy = np.random.default_rng(rng.randrange(1 << 30))
    return tuple(
        _value(kind, p, sizes, main, rng, numpy) for kind, p in zip(chosen, parameters, strict=True)
    )


def _value(
    kind: Kind, parameter: inspect.Parameter, sizes: list[int], main: str, rng: random.Random,
    numpy: np.random.Generator,
) -> Any:
    match kind[0]:
        case "a":
            dtype = main if rng.random() < 0.7 else rng.choice(("f8", "i8", "i4", "?"))
            return _array(int(kind[1]), sizes, dtype, rng, numpy)
        case "i":
            return rng.choice((0, 1, 2, 3, 4, 5, 7, sizes[0], max(sizes[0] - 1, 1), -1))
        case "f":
            return rng.choice((0.0, 0.5, 1.0, 2.5, -1.5, 0.1, 10.0, float(rng.random())))
        case "b":
            return rng.random() < 0.5
        case "t":
            return tuple(sizes[: rng.choice((1, 2, 3))])
        case "n":
            return None
        case "F":
            return rng.choice(_FUNCTIONS[kind])
        case _:
            return parameter.default


def _array(
    rank: int, sizes: list[int], dtype: str, rng: random.Random, numpy: np.random.Generator
) -> np.ndarray:
    shape = tuple(min(n, 9) if rank > 2 else n for n in sizes[:rank])
    kind = np.dtype(dtype).kind
    if kind == "b":
        return numpy.random(shape) < 0.5
    if kind in "iu":
        top = rng.choice((2, max(min(shape, default=1), 1), 100))
        return numpy.integers(0, top, shape).astype(dtype)
    out = numpy.standard_normal(shape).astype(dtype)
    flavour = rng.randrange(6)
    if flavour == 0 and out.size:
        out[numpy.random(shape) < 0.1] = np.nan
    if flavour == 1:
        out = np.abs(out)
    if flavour == 2:
        out = np.sort(out, axis=-1) if rank else out
    if flavour == 3:
        out = np.round(out * 3)
    return out
