"""Split each complex variable into two variables, its real and its imaginary part.

The split is a rewrite of the tree, before it is lowered. Only the lowering of an assignment shows
that a variable is complex: it raises NeedsComplexSplit, and the function is lowered again with one
more variable split::

    z = z * z    →    z_re, z_im = ComplexParts(ComplexNumber(z_re, z_im)
                                                * ComplexNumber(z_re, z_im))

``ComplexParts`` and ``ComplexNumber`` are nodes of core Python. Lowering converts between a
`ComplexPair` and two numbers there (`split_complex_value`, `lower_complex_number`). Loops, branches
and unions then see real variables only.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping

from loopir.lazy_dataclass import replace
from loopir.nodes import Const, Var

from ...frontend.ast_names import names_used
from ...frontend.ast_walk import NodeTransformer, copy_tree, walk_nodes
from ...frontend.core_nodes import ComplexNumber, ComplexParts, copy_location, fix_missing_locations
from ...frontend.refusal import refuse
from ...types.typed_values import ComplexPair, Num, cast, constant
from ...types.value_types import COMPLEX
from ..scalars.tagged_unions import lower_real
from ..state.lowering_state import Lowering

__all__ = [
    "NeedsComplexSplit", "lower_complex_number", "split_complex_names", "split_complex_value",
]


class NeedsComplexSplit(Exception):
    """Raised where the variable `name`, which is not split, would get a complex number. ``python``:
    the number is Python's.
    """

    def __init__(self, name: str, *, python: bool) -> None:
        super().__init__(name)
        self.name, self.python = name, python


def split_complex_names(tree: ast.FunctionDef, names: Mapping[str, bool]) -> ast.FunctionDef:
    """A copy of `tree` in which each of `names` is split in two; `tree` itself if there are none.

        z += c           →    z_re, z_im = ComplexParts(ComplexNumber(z_re, z_im) + c)
        return abs(z)         return abs(ComplexNumber(z_re, z_im))

    ``names``: for each variable, whether it holds Python's complex numbers, else NumPy's. A
    parameter that is split is assigned to its two variables at the start of the body. Called by
    `lower_function.lower`, before each attempt, with all complex names found so far
    (`Discoveries.complex_names`).
    """
    if not names:
        return tree
    tree = copy_tree(tree)
    params = [a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg) and a.arg in names]
    splitter = _ComplexSplitter(names, names_used(tree))
    tree.body = [splitter.visit(s) for s in tree.body]
    tree.body[:0] = [
        splitter.split_assignment(name, ast.Name(name, ast.Load()), tree) for name in params
    ]
    return fix_missing_locations(tree)


class _ComplexSplitter(NodeTransformer):
    """Replaces reads of the split variables by ``ComplexNumber`` nodes, and assignments to them by
    assignments to their parts.
    """

    def __init__(self, names: Mapping[str, bool], taken: set[str]) -> None:
        self.names = names
        self.parts = {
            n: (_reserve_name(f"{n}_re", taken), _reserve_name(f"{n}_im", taken)) for n in names
        }

    def split_assignment(self, name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
        """``name_re, name_im = ComplexParts(value)``, with the source position of `at`."""
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
                return self.split_assignment(name, node.value, node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not (isinstance(node.target, ast.Name) and node.target.id in self.parts):
            return self.generic_visit(node)  # type: ignore[return-value]  # a statement
        old_value = copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = copy_location(ast.BinOp(old_value, node.op, node.value), node)
        return self.visit_Assign(copy_location(ast.Assign([node.target], value), node))


def _reserve_name(name: str, taken: set[str]) -> str:
    """`name` with underscores appended until it is not in `taken`, to which it is then added."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _is_constant_of(n: Num, *values: str) -> bool:
    """Whether `n` is a constant whose ``repr`` is one of `values`; so 0.0 is not -0.0."""
    return isinstance(n.ir, Const) and repr(n.ir.value) in values


def lower_complex_number(ctx: Lowering, node: ComplexNumber) -> Num | ComplexPair:
    """The number of the split variable whose two variables `node` names. Where the imaginary part
    is a Python int, that marks a real number (`split_complex_value`), which is returned as a Num.
    Raises Refused where one of the two holds a NumPy scalar of a dtype that no part has.
    """
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
    """The values of the two variables into which `n` is split, when it is assigned to a split
    variable whose real part is called `name`. ``python``: the variable holds Python's numbers.

    A real number is allowed only if it is the Python constant 0 or 1, as in ``z = 0`` before a
    loop: in sums and products these give the same result as the complex 0 or 1, except for its
    type. Its imaginary part is the int 0, which marks it as real; in a variable of Python's numbers
    it is converted to a complex number, which is then ``doubtful``. Raises Refused for other real
    numbers.
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
