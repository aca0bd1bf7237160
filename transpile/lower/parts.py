"""Names of complex numbers → two names each, of floats."""
from __future__ import annotations

import ast
from collections.abc import Mapping

from ..macros.copying import copied
from ..macros.names import used

__all__ = ["PARTS_OF", "PYTHON_PARTS_OF", "WHOLE", "IsComplex", "split"]

PARTS_OF, PYTHON_PARTS_OF, WHOLE = "_parts", "_python_parts", "_complex"
"""What the two values of a number are called in the tree, and the number of two names."""


class IsComplex(Exception):
    """A name has been given a complex number, maybe `python`'s, and is still one name."""

    def __init__(self, name: str, *, python: bool) -> None:
        super().__init__(name)
        self.name, self.python = name, python


def split(tree: ast.FunctionDef, names: Mapping[str, bool]) -> ast.FunctionDef:
    """`tree` with each of `names` as two: ``z = z * z`` is, so to speak,
    ``z_re, z_im = _parts(_complex(z_re, z_im) * _complex(z_re, z_im))``. True stands for those
    that have Python's numbers.
    """
    if not names:
        return tree
    tree = copied(tree)
    given = [a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg) and a.arg in names]
    two = _Split(names, used(tree))
    tree.body = [two.visit(s) for s in tree.body]
    start = [two.assigned(name, ast.Name(name, ast.Load()), tree) for name in given]
    tree.body[:0] = start
    return ast.fix_missing_locations(tree)


class _Split(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, bool], taken: set[str]) -> None:
        self.names = names
        self.parts = {n: (_new(f"{n}_re", taken), _new(f"{n}_im", taken)) for n in names}

    def assigned(self, name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
        targets: list[ast.expr] = [ast.Name(part, ast.Store()) for part in self.parts[name]]
        taken = PYTHON_PARTS_OF if self.names[name] else PARTS_OF
        parts = ast.Call(ast.Name(taken, ast.Load()), [value], [])
        made = ast.Assign([ast.Tuple(targets, ast.Store())], parts)
        return ast.copy_location(made, at)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.parts or not isinstance(node.ctx, ast.Load):
            return node
        parts: list[ast.expr] = [ast.Name(part, ast.Load()) for part in self.parts[node.id]]
        return ast.copy_location(ast.Call(ast.Name(WHOLE, ast.Load()), parts, []), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        match node.targets:
            case [ast.Name(id=name)] if name in self.parts:
                return self.assigned(name, node.value, node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not (isinstance(node.target, ast.Name) and node.target.id in self.parts):
            return self.generic_visit(node)  # type: ignore[return-value]  # a statement
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        plain = ast.copy_location(ast.Assign([node.target], value), node)
        return self.visit_Assign(plain)


def _new(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
