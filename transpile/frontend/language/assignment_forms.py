"""Annotated, chained, tuple, augmented and named (``:=``) assignment → plain assignments."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..ast_names import bound_names, mentions_none, names_used
from ..ast_walk import walk_nodes
from ..core_nodes import copy_location
from ..macros.firing_conditions import has_walrus
from ..macros.lift_statements import LiftedExpression, lift_statement
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from .comprehensions import is_suspending

__all__ = [
    "annotated_assignment", "augmented_assignment", "chained_assignment", "unpacking_assignment",
    "walrus_in_loop_conditions", "named_expression",
]


@fires_on(ast.AnnAssign)
def annotated_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The annotation of a local variable is never evaluated.

        s: float = 0.0
    →
        s = 0.0
    """
    match node:
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            return cx.code("TARGET = E", TARGET=target, E=value)
    return None


@fires_on(ast.Assign, targets=list)
def chained_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The value is computed once; targets are taken from left to right.

        s = t = x[0] * 2
        u = w = 0.0
    →
        _t = x[0] * 2
        s = _t
        t = _t
        u = 0.0
        w = 0.0
    """
    if not isinstance(node, ast.Assign) or len(node.targets) < 2:
        return None
    value, take = _once(node.value, bound_names(*node.targets), cx)
    plain = (line for t in node.targets for line in cx.code("TARGET = E", TARGET=t, E=value))
    return [*take, *plain]


@fires_on(ast.Assign, targets=(ast.Tuple, ast.List))
def unpacking_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """All values are computed, then the targets are taken from left to right.

        s, t = 0.0, 1.0
        s, t = t, s + t
        m, n = X.shape
        u, w = (2 * v for v in (s, t))
    →
        s = 0.0
        t = 1.0
        _t = t
        _t_1 = s + t
        s = _t
        t = _t_1
        m = X.shape[0]
        n = X.shape[1]
        _list = []
        _x = (s, t)
        for _i in range(len(_x)):
            _v = _x[_i]
            _list.append(2 * _v)
        if len(_list) != 2:
            "Python's to answer"
            u, w = _list
        else:
            u = _list[0]
            w = _list[1]
    """
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
            value=ast.Tuple(elts=values) | ast.List(elts=values),
        ):
            return _paired(targets, values, cx)
        case ast.Assign(
            targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)], value=value
        ) if (items := cx.facts.items(value)) is not None:
            return _paired(targets, items, cx)
        case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=ast.IfExp() as value):
            text = "if C:\n    TARGET = A\nelse:\n    TARGET = B"
            return cx.code(text, TARGET=target, C=value.test, A=value.body, B=value.orelse)
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value) if (
            made := _listed(value, cx)
        ):
            return [copy_location(ast.Assign(node.targets, made), node)]
    return None


def _listed(e: ast.expr, cx: Context) -> ast.ListComp | None:
    """The list of a generator's items, or of those of a tuple or another list of them."""
    called = isinstance(e, ast.Call) and cx.builtin(e) in ("list", "tuple") and len(e.args) == 1
    of = e.args[0] if isinstance(e, ast.Call) and called else e
    if isinstance(of, ast.GeneratorExp) and not is_suspending(of):
        return copy_location(ast.ListComp(of.elt, of.generators), of)
    return of if called and isinstance(of, ast.ListComp) else None


def _paired(
    targets: Sequence[ast.expr], values: Sequence[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    if len(targets) != len(values) or any(isinstance(e, ast.Starred) for e in (*targets, *values)):
        return None
    for k, (t, v) in enumerate(zip(targets, values, strict=True)):
        items = cx.facts.items(v) if isinstance(t, (ast.Tuple, ast.List)) else None
        if isinstance(t, (ast.Tuple, ast.List)) and items and len(t.elts) == len(items):
            targets = [*targets[:k], *t.elts, *targets[k + 1 :]]
            return _paired(targets, [*values[:k], *items, *values[k + 1 :]], cx)
    changed = bound_names(*targets)
    simple = all(isinstance(t, ast.Name) for t in targets) and len(changed) == len(targets)
    if not (simple and all(mentions_none(v, changed) for v in values)):
        taken = [_once(v, changed, cx) for v in values]
        before = [line for _, take in taken for line in take]
        values = [v for v, _ in taken]
    else:
        before = []
    pairs = zip(targets, values, strict=True)
    return before + [line for t, v in pairs for line in cx.code("TARGET = E", TARGET=t, E=v)]


def _once(
    value: ast.expr, changed: set[str], cx: Context
) -> tuple[ast.expr, list[ast.stmt]]:
    """`value`, or a fresh name for it where evaluating it later, or twice, could differ."""
    if isinstance(value, (ast.Constant, ast.Name)) and mentions_none(value, changed):
        return value, []
    name = cx.fresh("t")
    return ast.Name(name, ast.Load()), cx.code("NAME = E", NAME=name, E=value)


@fires_on(ast.AugAssign, target=(ast.Name, ast.Subscript))
def augmented_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Of scalars only: an array is changed in place. Subscripts are evaluated once.

        s += e
        a[i + 1] *= e
        a[k[i]] += e
    →
        s = s + e
        a[i + 1] = a[i + 1] * e
        _i = k[i]
        a[_i] = a[_i] + e
    """
    match node:
        case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
            if cx.fact(ast.Name(name, ast.Load())).rank != 0:
                return None
            before: list[ast.stmt] = []
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            late = names_used(target) & bound_names(
                value
            )  # by a walrus, after the target is evaluated
            if late or cx.fact(target).rank != 0 or not _is_row(target.value):
                return None
            target, before = _with_stable_subscripts(target, cx)
        case _:
            return None
    (line,) = cx.code("TARGET = TARGET + E", TARGET=target, E=value)
    assert isinstance(line, ast.Assign)
    assert isinstance(line.value, ast.BinOp)
    line.value.op = op
    return [*before, line]


def _with_stable_subscripts(
    target: ast.Subscript, cx: Context
) -> tuple[ast.Subscript, list[ast.stmt]]:
    """The target with each subscript that is not mere arithmetic in a fresh name."""
    indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    before: list[ast.stmt] = []
    steady: list[ast.expr] = []
    for index in indices:
        if not _is_plain(index):
            name = cx.fresh("i")
            before += cx.code("NAME = E", NAME=name, E=index)
            index = ast.Name(name, ast.Load())
        steady.append(index)
    if not before:
        return target, []
    several = ast.Tuple(steady, ast.Load()) if len(steady) > 1 else steady[0]
    return ast.Subscript(target.value, several, ast.Store()), before


def _is_plain(e: ast.expr) -> bool:
    """Names, constants and arithmetic on them."""
    match e:
        case ast.Name() | ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_plain(operand)
        case ast.BinOp(left=left, right=right):
            return _is_plain(left) and _is_plain(right)
    return False


def _is_row(e: ast.expr) -> bool:
    """An array, or a row of one, by plain subscripts."""
    match e:
        case ast.Name():
            return True
        case ast.Subscript(value=value, slice=ast.Tuple(elts=indices)):
            return _is_row(value) and all(_is_plain(i) for i in indices)
        case ast.Subscript(value=value, slice=index):
            return _is_row(value) and _is_plain(index)
    return False


def walrus_in_loop_conditions(tree: ast.FunctionDef) -> None:
    """A loop whose condition binds names asks it at the start of its body::

        while (v := x[i]) > 0:
            i += 1
    →
        while True:
            if not (v := x[i]) > 0:
                break
            i += 1
    """
    for loop in walk_nodes(tree):
        if isinstance(loop, ast.While) and not loop.orelse and _binds(loop.test):
            test = loop.test
            stop = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
            for node in (stop, stop.test, stop.body[0]):
                copy_location(node, test)
            loop.test = copy_location(ast.Constant(True), test)
            loop.body = [stop, *loop.body]


def _binds(e: ast.expr) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in walk_nodes(e))


@fires_on(
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.If, ast.Assert, ast.For,
    ast.While, when=has_walrus,
)
def named_expression(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """In Python's order, and only where Python comes to it.

        if (s := x[0] * 2) > 1 and (t := s + 1) < 9:
            s = s + t
    →
        _t = x[0] * 2
        s = _t
        _t_2 = _t > 1
        if _t_2:
            _t_1 = s + 1
            t = _t_1
            _t_2 = _t_1 < 9
        if _t_2:
            s = s + t
    """
    if not isinstance(node, ast.stmt):
        return None

    def bind(e: ast.expr) -> LiftedExpression | None:
        if not isinstance(e, ast.NamedExpr):
            return None
        value = cx.fresh("t")
        lines = cx.code("NAME = E; TARGET = NAME", NAME=value, E=e.value, TARGET=e.target)
        return LiftedExpression(lines, ast.Name(value, ast.Load()))

    return lift_statement(node, cx, bind)
