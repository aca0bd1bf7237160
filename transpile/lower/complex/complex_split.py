"""Split each complex variable into two variables, its real and its imaginary part."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from loopir.nodes import Const, Var

from ...frontend.ast_names import names_used
from ...frontend.ast_walk import copy_tree
from ...frontend.core_nodes import (
    ComplexNumber,
    ComplexParts,
    copy_location,
    fix_missing_locations,
)
from ...frontend.refusal import refuse
from ...types.typed_values import ComplexPair, Num, cast, constant
from ...types.value_types import COMPLEX
from ..scalars.tagged_unions import lower_real
from ..state.lowering_state import Lowering

__all__ = [
    "NeedsComplexSplit", "lower_complex_number", "split_complex_names", "split_complex_value",
]


class NeedsComplexSplit(Exception):
    """A name has been given a complex number, maybe `python`'s, and is still one name."""

    def __init__(self, name: str, *, python: bool) -> None:
        super().__init__(name)
        self.name, self.python = name, python


def split_complex_names(tree: ast.FunctionDef, names: Mapping[str, bool]) -> ast.FunctionDef:
    """`tree` with each of `names` as two: ``z = z * z`` becomes
    ``z_re, z_im = ComplexParts(ComplexNumber(z_re, z_im) * ComplexNumber(z_re, z_im))``. True
    stands for those that have Python's numbers.
    """
    if not names:
        return tree
    tree = copy_tree(tree)
    given = [a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg) and a.arg in names]
    two = _ComplexSplitter(names, names_used(tree))
    tree.body = [two.visit(s) for s in tree.body]
    start = [two.assigned(name, ast.Name(name, ast.Load()), tree) for name in given]
    tree.body[:0] = start
    return fix_missing_locations(tree)


class _ComplexSplitter(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, bool], taken: set[str]) -> None:
        self.names = names
        self.parts = {
            n: (_fresh_name(f"{n}_re", taken), _fresh_name(f"{n}_im", taken)) for n in names
        }

    def assigned(self, name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
        targets: list[ast.expr] = [ast.Name(part, ast.Store()) for part in self.parts[name]]
        parts = ComplexParts(value, self.names[name])
        return copy_location(ast.Assign([ast.Tuple(targets, ast.Store())], parts), at)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.parts or not isinstance(node.ctx, ast.Load):
            return node
        re, im = (ast.Name(part, ast.Load()) for part in self.parts[node.id])
        return copy_location(ComplexNumber(re, im, node.id), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        match node.targets:
            case [ast.Name(id=name)] if name in self.parts:
                return self.assigned(name, node.value, node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not (isinstance(node.target, ast.Name) and node.target.id in self.parts):
            return self.generic_visit(node)  # type: ignore[return-value]  # a statement
        read = copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = copy_location(ast.BinOp(read, node.op, node.value), node)
        plain = copy_location(ast.Assign([node.target], value), node)
        return self.visit_Assign(plain)


def _fresh_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _is_constant_of(n: Num, *values: str) -> bool:
    """Whether `n` is one of these constants."""
    return isinstance(n.ir, Const) and repr(n.ir.value) in values


def lower_complex_number(ctx: Lowering, node: ComplexNumber) -> Num | ComplexPair:
    """The number that two names stand for."""
    name, re, im = node.re.id, lower_real(ctx, node.re), lower_real(ctx, node.im)
    if not {re.strong, im.strong} <= {None, *COMPLEX}:
        refuse("LOWER_JOIN", f"`{name}` is no part of a complex number", None)
    if im.python_int:
        return replace(re, ir=cast(re.ir, "i64")) if re.python_int else re
    doubtful = name in ctx.b.complex.doubtful and im.ir not in ctx.b.complex.surely_complex
    return ComplexPair(re, im, name not in ctx.b.complex.non_simple, doubtful)


def split_complex_value(
    ctx: Lowering, n: Num | ComplexPair, name: str, node: ast.AST, *, python: bool
) -> tuple[Num, Num]:
    """What the two names of the number `name` stand for. A real one has an int as its other
    part, and must be 0 or 1: these are as good as complex ones of any size. In a name of
    `python`'s numbers it is taken for a complex one.
    """
    re, im = (n.re, n.im) if isinstance(n, ComplexPair) else (n, constant(0))
    simple = re.strong is None and _is_constant_of(re, "0", "1", "0.0", "1.0")
    simple = simple and im.strong is None and _is_constant_of(im, "0", "0.0")
    if isinstance(n, Num) and not simple:
        refuse("LOWER_JOIN", "a name has real values here, and complex ones elsewhere", node)
    if n.weak and not simple:
        ctx.b.complex.non_simple.add(name)
    if n.doubtful if isinstance(n, ComplexPair) else python:
        ctx.b.complex.doubtful.add(name)
    elif isinstance(im.ir, Var):
        ctx.b.complex.surely_complex.add(im.ir)
    if isinstance(n, ComplexPair):
        return re, im
    re = replace(re, ir=cast(re.ir, "f64"), weak="f64" if python else n.weak)
    return re, Num(Const(0.0, "f64"), weak="f64" if python else "i64")
