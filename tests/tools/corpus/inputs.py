"""What may be passed to a function of which only the text is known: kinds, likeliest first.

What its author declared comes first, then what the places say where a name is used.
"""
from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

from .declared import annotated, signature

__all__ = ["Kind", "kinds", "tree_of"]

Kind = str
"""``a1`` to ``a4``: an array of that rank; ``k1`` to ``k4``: of ints that are subscripts; ``m1`` to
``m4``: of bools; ``o1``: of one element; ``i`` an int, ``f`` a float, ``c`` a complex, ``b`` a
bool, ``n`` None, ``d`` the default, ``t`` a tuple of ints, ``u2`` to ``u9`` one of so many floats,
``F0`` to ``F2``: a function of so many arrays, ``s:…`` that text.
"""

_SIZES = re.compile(
    r"^(n|k|m|window|size|length|period|width|height|num|lag|seed|axis|(n|num|max|min)_\w+|\w+_size)$"
)
_SUBSCRIPTS = re.compile(r"(^|_)(ind|indices|idxs?|index|labels?|indptr|rows?|cols?)\d*(_|$)")
_MATRIX = re.compile(r"^[A-Z]$")
_MAKERS = {"zeros", "ones", "empty", "full", "arange", "eye", "prange"}
_OTHERS: tuple[Kind, ...] = ("a1", "i", "f", "a2", "k1", "b", "a3", "t", "n")


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
    spec = inspect.signature(function).parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in spec.values()):
        return None
    marks = function.__globals__.get("__marks__", {}).get(function.__name__, [])
    said = signature(marks) or ()
    firsts = said if len(said) == len(spec) else ("",) * len(spec)
    found = [
        _kinds(name, p, first, function, tree, depth)
        for (name, p), first in zip(spec.items(), firsts, strict=True)
    ]
    beside = any(k[0] in "akmo" for out in found for k in out[:1])
    for name, out in zip(spec, found, strict=True):
        if not {*out} - {"d"}:
            out += _by_name(name, beside)
    return [tuple(dict.fromkeys([*out, *_OTHERS])) for out in found]


def _kinds(
    name: str, parameter: inspect.Parameter, first: Kind, function: Callable[..., Any],
    tree: ast.FunctionDef, depth: int,
) -> list[Kind]:
    """What is declared or seen of one parameter; nothing, or ``d`` alone, where nothing is."""
    found = [*_uses(name, tree), *(_passed(name, function, tree, depth) if depth else ())]
    out: list[Kind] = [first] if first else []
    if parameter.default is not inspect.Parameter.empty:
        out.append("d")
    out += annotated(parameter, ast.get_docstring(tree) or "")
    arrays = [k for k in (*found, *out) if k[0] in "akm"]
    if arrays:
        index = any(k[0] == "k" for k in arrays) or _SUBSCRIPTS.search(name)
        rank = max(*(k[1] for k in arrays), "2" if _MATRIX.match(name) else "1")
        out.append(("k" if index else "a") + rank)
    out += [k for k in found if k[0] not in "akm"]
    return out


def _by_name(name: str, numbers: bool) -> list[Kind]:
    """What a name alone lets one guess; rather a number beside arrays that are subscripted."""
    if _SIZES.match(name):
        return ["i"]
    if _SUBSCRIPTS.search(name):
        return ["k1", "i"]
    if _MATRIX.match(name):
        return ["a2"]
    return ["f", "i", "a1"] if numbers else ["a1", "f", "i"]


def _uses(name: str, tree: ast.FunctionDef) -> Iterator[Kind]:
    """What the places where `name` stands say of it."""
    indices = _indices(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=n), slice=index) if n == name:
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                yield f"a{min(sum(not _new_axis(p) for p in parts), 4) or 1}"
            case ast.Subscript(value=ast.Subscript(value=ast.Name(id=n))) if n == name:
                yield "a2"
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
            case ast.Assign(targets=[ast.Name(id=to)], value=ast.BinOp() as value) if (
                to in indices and name in _factors(value)
            ):
                yield "i"
            case ast.Assign(
                targets=[ast.Tuple(elts=[_, _, *_] as parts)], value=ast.Name(id=n)
            ) if n == name and len(parts) < 10:
                yield f"u{len(parts)}"
            case ast.Attribute(value=ast.Name(id=n), attr=attr) if n == name:
                yield "a2" if attr == "T" else "a1"
            case ast.Call(func=ast.Name(id=n), args=args) if n == name:
                yield f"F{min(len(args), 2)}"
            case ast.Call(func=ast.Name(id="range" | "prange"), args=args) if _named(args, name):
                yield "i"
            case ast.Call(func=ast.Attribute(attr=made), args=[size, *_]) if (
                made in _MAKERS and _named([size], name)
            ):
                yield "i"
            case ast.Call(func=ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=n)])) if (
                n == name
            ):
                yield "f"
            case ast.For(iter=ast.Name(id=n)) if n == name:
                yield "a1"
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=n)]) if n == name:
                yield "a1"
            case ast.Subscript(slice=index) if _named([index], name):
                yield "i"
            case ast.Compare(
                left=ast.Name(id=n), comparators=[ast.Constant(value=str(text))]
            ) if n == name:
                yield f"s:{text}"
            case ast.If(test=ast.Name(id=n)) | ast.IfExp(test=ast.Name(id=n)) if n == name:
                yield "b"
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) if (
                name in _tested(test)
            ):
                yield "f"
            case _:
                pass
        rank = _element(node, name, indices)
        if rank:
            yield f"k{rank}"


def _factors(value: ast.expr) -> set[str]:
    """The names that sums and products are made of."""
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(left=a, right=b):
            return _factors(a) | _factors(b)
    return set()


def _tested(test: ast.expr) -> set[str]:
    """The names that must be numbers for `test` to be true or false."""
    match test:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(left=a, right=b):
            return _tested(a) | _tested(b)
        case ast.UnaryOp(operand=a):
            return _tested(a)
        case ast.BoolOp(values=parts):
            return set().union(*map(_tested, parts))
        case ast.Compare(left=a, ops=ops, comparators=rest) if all(
            isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)) for op in ops
        ):
            return set().union(*map(_tested, (a, *rest)))
    return set()


def _element(node: ast.AST, name: str, indices: set[str]) -> int:
    """The number of axes of `name` where its elements are surely ints, else 0."""
    match node:
        case ast.Assign(targets=[ast.Name(id=to)], value=value) if to in indices:
            return _read(value, name)
        case ast.For(target=ast.Name(id=to), iter=ast.Name(id=n)) if to in indices and n == name:
            return 1
        case ast.BinOp(left=left, op=ast.LShift() | ast.RShift() | ast.BitXor(), right=right):
            return max(_read(left, name), _read(right, name))
        case ast.Subscript(slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            return max((_read(p, name) for p in parts), default=0)
        case ast.Call(func=ast.Name(id="range" | "prange"), args=args):
            return max((_read(p, name) for p in args), default=0)
    return 0


def _read(value: ast.expr, name: str) -> int:
    for part in _sums(value):
        match part:
            case ast.Subscript(value=ast.Name(id=n), slice=index) if n == name:
                return len(index.elts) if isinstance(index, ast.Tuple) else 1
            case ast.Subscript(value=ast.Subscript(value=ast.Name(id=n))) if n == name:
                return 2
    return 0


def _indices(tree: ast.FunctionDef) -> set[str]:
    """The names that are subscripts or ends of ranges by themselves."""
    tops: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            tops.append(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            tops += node.args if node.func.id in ("range", "prange") else []
    return {p.id for top in tops for p in _sums(top) if isinstance(p, ast.Name)}


def _passed(
    name: str, function: Callable[..., Any], tree: ast.FunctionDef, depth: int
) -> Iterator[Kind]:
    """What the helpers want that `name` is handed to."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        helper = _called(node.func, function)
        inner = tree_of(helper) if helper is not None and helper is not function else None
        if helper is None or inner is None:
            continue
        for parameter, given in zip(inner.args.args, node.args, strict=False):
            if isinstance(given, ast.Name) and given.id == name:
                yield from _uses(parameter.arg, inner)
                yield from _passed(parameter.arg, helper, inner, depth - 1) if depth > 1 else ()


def _called(func: ast.expr, function: Callable[..., Any]) -> types.FunctionType | None:
    match func:
        case ast.Name(id=name):
            found = function.__globals__.get(name)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            found = getattr(function.__globals__.get(module), name, None)
        case _:
            found = None
    return found if isinstance(found, types.FunctionType) else None


def _new_axis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, Ellipsis)


def _named(nodes: list[ast.expr], name: str) -> bool:
    """Whether `name` stands in one of them by itself, or in sums: not as what is measured."""
    parts = (part for top in nodes for part in _sums(top))
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _sums(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    match node:
        case ast.BinOp(left=a, right=b):
            parts = [a, b]
        case ast.Slice(lower=low, upper=high):
            parts = [p for p in (low, high) if p is not None]
        case ast.Tuple(elts=parts):
            pass
        case _:
            parts = []
    for part in parts:
        yield from _sums(part)
