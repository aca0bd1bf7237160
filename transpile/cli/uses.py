"""How a function's body uses its parameters: as arrays of which rank, as integers, as numbers."""
from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["Uses"]

_ITERATORS = {"enumerate", "zip", "reversed"}
_FOLDS = {"sum", "min", "max", "any", "all"}  # of one argument


class Uses:
    """How a function's body uses its parameters."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        self._ranks: dict[str, int] = {}
        self._integers: set[str] = set()
        self._names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for node in ast.walk(tree):
            for name, rank in _ranks(node):
                self._ranks[name] = max(rank, self._ranks.get(name, 0))
            self._integers.update(_integers(node))

    def has(self, name: str) -> bool:
        """Whether `name` occurs at all."""
        return name in self._names

    def rank(self, name: str) -> int:
        """The number of axes that `name` is used with; 0 where it is used as a scalar."""
        return self._ranks.get(name, 0)

    def is_integer(self, name: str) -> bool:
        """Whether `name` stands in a subscript or bounds a range."""
        return name in self._integers


def _ranks(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Names that `node` uses as arrays, with the number of axes that it shows them to have."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis):
            known = isinstance(axis, ast.Constant) and isinstance(axis.value, int)
            yield name, 1 + (ast.literal_eval(axis) if known else 0)
        case ast.Subscript():
            base, rank = _chain(node)
            if isinstance(base, ast.Name):
                yield base.id, rank
        case ast.Assign(
            targets=[ast.Tuple(elts=parts)],
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
        ):
            yield name, len(parts)
        case ast.For(iter=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)):
            yield name, 1
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            yield name, 1
        case ast.Call(func=ast.Name(id=maker), args=args) if maker in _ITERATORS | _FOLDS:
            if maker in _ITERATORS or len(args) == 1:
                yield from ((arg.id, 1) for arg in args if isinstance(arg, ast.Name))


def _chain(node: ast.expr) -> tuple[ast.expr, int]:
    """What ``x[i][j, k]`` subscripts, and with how many subscripts."""
    if not isinstance(node, ast.Subscript):
        return node, 0
    base, rank = _chain(node.value)
    return base, rank + _axes(node.slice)


def _axes(index: ast.expr) -> int:
    return len(index.elts) if isinstance(index, ast.Tuple) else 1


def _integers(node: ast.AST) -> Iterator[str]:
    """Names that `node` needs to be integers."""
    match node:
        case ast.Subscript(slice=index) if not isinstance(index, ast.Slice):
            yield from _plain_names(index)
        case ast.Call(func=ast.Name(id=user), args=args) if user == "range":
            for arg in args:
                yield from _plain_names(arg)


def _plain_names(node: ast.expr) -> Iterator[str]:
    """Names that stand in an index or bound directly, not inside a call or a subscript of it."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.BinOp(left=left, right=right):
            yield from _plain_names(left)
            yield from _plain_names(right)
        case ast.UnaryOp(operand=operand):
            yield from _plain_names(operand)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _plain_names(part)
