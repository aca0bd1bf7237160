"""Constant folding of branches, by constant arguments and by tests that enclose the call."""
from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loopir.lazy_dataclass import record

from ..ast_names import bound_names
from ..ast_walk import child_nodes, walk_nodes
from ..core_nodes import copy_location

__all__ = [
    "fold_branches", "constant_of", "literal_source", "rank_key", "LessThan", "renamed_fact",
    "less_than", "drop_excluded_branches",
]

Constants = dict[str, object]

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}
_INTEGER: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}
_SMALL = 1 << 62


class _Unknown(Exception):
    """Raised for an expression whose value is not known before the call."""


def constant_of(e: ast.expr, constants: Constants) -> ast.Constant | None:
    """The value of `e`, if it is a constant or a name in `constants`: None, a string, a bool or a
    small int.
    """
    try:
        value = _value(e, constants)
    except (_Unknown, TypeError, ZeroDivisionError):
        return None
    return copy_location(ast.Constant(value), e) if _is_plain(value) else None


def rank_key(name: str) -> str:
    """The key in the constants under which the rank of the array `name` is kept."""
    return f"{name}.ndim"


def literal_source(value: object) -> ast.expr:
    """The source text of a constant."""
    if isinstance(value, (int, float)) and (value < 0 or math.copysign(1, value) < 0):
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)  # type: ignore[arg-type]  # of the kinds that have one


def _is_plain(value: object) -> bool:
    small = type(value) is int and abs(value) < _SMALL
    return small or value is None or type(value) in (bool, str)


def _value(e: ast.expr, constants: Constants) -> Any:
    match e:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in constants:
            return constants[name]
        case ast.Attribute(attr="ndim", value=ast.Name(id=name)) if rank_key(name) in constants:
            return constants[rank_key(name)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, constants)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, constants)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _INTEGER:
            a, b = _value(left, constants), _value(right, constants)
            if type(a) is type(b) is int:
                return _INTEGER[type(op)](a, b)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            a, b = _value(left, constants), _value(right, constants)
            if not isinstance(op, (ast.Is, ast.IsNot)) or a is None or b is None:
                return _COMPARE[type(op)](a, b)
        case ast.BoolOp(op=op, values=[first, *rest]):
            value = _value(first, constants)
            going = bool(value) is isinstance(op, ast.And)
            return _value(ast.BoolOp(op, rest), constants) if going and rest else value
    raise _Unknown


def fold_branches(block: Sequence[ast.stmt], constants: Constants) -> list[ast.stmt]:
    """`block` with only those branches that can be taken, where `constants` hold at its start; ints
    and bools among them stand in the place of their names.

        if weight is None:
            weight = np.ones(3)
        s = x[0] if mode == "first" else x[-1]
        t = x.sum(axis=k - 1)
    → with weight = None, mode = "first", k = 1
        weight = np.ones(3)
        s = x[0]
        t = x.sum(axis=0)
    """
    return _FoldBranches(dict(constants)).block(block)


class _FoldBranches(ast.NodeTransformer):
    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [out for s in statements for out in self.statement(s)]

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        for e in child_nodes(s):
            if isinstance(e, ast.expr):
                self._forget(*(n.target for n in walk_nodes(e) if isinstance(n, ast.NamedExpr)))
        match s:
            case ast.If(test=test, body=body, orelse=orelse):
                s.test = self.visit(test)
                if (constant := constant_of(s.test, self.constants)) is not None:
                    return self.block(body if constant.value else orelse)
                self._branches(s)
            case ast.For() | ast.While():
                if isinstance(s, ast.For):
                    s.iter = self.visit(s.iter)
                self._forget(s)
                if isinstance(s, ast.While):
                    s.test = self.visit(s.test)
                s.body = self.block(s.body)
                self._forget(s)
                s.orelse = self.block(s.orelse)
                self._forget(s)
            case ast.With() | ast.Try() | ast.FunctionDef() | ast.ClassDef():
                self._forget(s)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value) if (
                new := constant_of(ast.BinOp(ast.Name(name, ast.Load()), op, value), self.constants)
            ):
                return self.statement(copy_location(ast.Assign([target], new), s))
            case _:
                s = self.visit(s)
                self._forget(s)
                match s:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                        constant := constant_of(value, {})
                    ):
                        self.constants[name] = constant.value
        return [s]

    def _branches(self, s: ast.If) -> None:
        before = dict(self.constants)
        s.body = self.block(s.body) or [copy_location(ast.Pass(), s)]
        after, self.constants = self.constants, before
        s.orelse = self.block(s.orelse)
        both = {n: (type(v), v) for n, v in self.constants.items()}
        self.constants = {n: v for n, v in after.items() if both.get(n) == (type(v), v)}

    def _forget(self, *nodes: ast.AST) -> None:
        for name in bound_names(*nodes):
            self.constants.pop(name, None)
            self.constants.pop(rank_key(name), None)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._folded(node) if isinstance(node.ctx, ast.Load) else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return self._folded(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._folded(node)

    def _folded(self, node: ast.expr) -> ast.expr:
        known_names = self.constants.keys()
        names = (
            {n.id for n in walk_nodes(node) if isinstance(n, ast.Name)} if known_names else set()
        )
        constant = constant_of(node, self.constants) if names & known_names else None
        if constant is None or not isinstance(constant.value, int):
            return self.generic_visit(node)  # type: ignore[return-value]  # of an expression
        return copy_location(literal_source(constant.value), node)

    def _comprehension(self, node: Any) -> Any:
        outer = self.constants
        hidden = bound_names(*(g.target for g in node.generators))
        self.constants = {n: v for n, v in outer.items() if n.partition(".")[0] not in hidden}
        node = self.generic_visit(node)
        self.constants = outer
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        constant = constant_of(node.test, self.constants)
        return node if constant is None else node.body if constant.value else node.orelse

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node  # it may be called when its names have other values


@record(frozen=True, slots=True)
class LessThan:
    """The fact ``low < high`` about two expressions, as text, which holds while `names` keep their
    values.
    """

    low: str
    high: str
    names: frozenset[str]


def less_than(test: ast.expr) -> LessThan | None:
    """The fact that a comparison states about two repeatable expressions; None for others."""
    match test:
        case ast.Compare(left=a, ops=[ast.Lt()], comparators=[b]):
            pass
        case ast.Compare(left=b, ops=[ast.Gt()], comparators=[a]):
            pass
        case _:
            return None
    if not (_is_steady(a) and _is_steady(b)):
        return None
    names = frozenset(n.id for n in walk_nodes(test) if isinstance(n, ast.Name))
    return LessThan(ast.unparse(a), ast.unparse(b), names)


def renamed_fact(fact: LessThan, copies: Mapping[str, str | ast.expr]) -> LessThan:
    """The fact with names replaced, by `copies` that were just made of them."""
    low, high = (copies.get(e, e) for e in (fact.low, fact.high))
    if not isinstance(low, str) or not isinstance(high, str):
        return fact
    return LessThan(low, high, fact.names | {low, high})


def _is_steady(e: ast.expr) -> bool:
    """A name, a constant, or a length."""
    match e:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(), attr="shape"), slice=ast.Constant()
        ) | ast.Attribute(value=ast.Name(), attr="size"):
            return True
    return False


def drop_excluded_branches(block: Sequence[ast.stmt], known: Sequence[LessThan]) -> list[ast.stmt]:
    """`block` without branches that are never taken where `known` holds at its start.

        if n < m:
            return f(m, n).T
        s = n + m
    → within ``if m < n``
        s = n + m
    """
    out: list[ast.stmt] = []
    for k, s in enumerate(block):
        asked = less_than(s.test) if isinstance(s, ast.If) else None
        if asked and any((asked.high, asked.low) == (fact.low, fact.high) for fact in known):
            assert isinstance(s, ast.If)
            return [*out, *drop_excluded_branches([*s.orelse, *block[k + 1 :]], known)]
        known = [fact for fact in known if not fact.names & bound_names(s)]
        out.append(s)
    return out
