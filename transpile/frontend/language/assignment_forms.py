"""Chained, tuple, augmented and named (``:=``) assignment → plain assignments.

All keep Python's order: the right side first, then the targets from left to right. A value that a
target could change is bound to a fresh name before (`_once`).
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...analysis.type_inference.flow_facts import names_changed_by
from ...analysis.type_inference.tuple_types import items_of_tuple
from ..ast_names import bound_names, mentions_none_of, names_used
from ..ast_walk import contains_walrus, is_suspending, subscript_items, walk_nodes
from ..core_nodes import copy_location
from ..macros.firing_conditions import has_walrus
from ..macros.lift_statements import LiftedExpression, lift_statement
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on

__all__ = [
    "augmented_assignment", "chained_assignment", "unpacking_assignment",
    "walrus_in_loop_conditions", "named_expression",
]


@fires_on(ast.Assign, targets=list)
def chained_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The value is computed once, then assigned to the targets from left to right.

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
    value, before = _once(node.value, _changed_by(node.targets, cx), cx)
    lines = (line for t in node.targets for line in cx.code("TARGET = E", TARGET=t, E=value))
    return [*before, *lines]


@fires_on(ast.Assign, targets=(ast.Tuple, ast.List))
def unpacking_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """All values are computed, then assigned to the targets from left to right.

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
            return _assign_pairs(targets, values, cx)
        case ast.Assign(
            targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)], value=value
        ) if (items := items_of_tuple(cx.facts, value)) is not None:
            return _assign_pairs(targets, items, cx)
        case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=ast.IfExp() as value):
            text = "if C:\n    TARGET = A\nelse:\n    TARGET = B"
            return cx.code(text, TARGET=target, C=value.test, A=value.body, B=value.orelse)
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value) if (
            comprehension := _list_comprehension(value, cx)
        ):
            return [copy_location(ast.Assign(node.targets, comprehension), node)]
    return None


def _list_comprehension(e: ast.expr, cx: Context) -> ast.ListComp | None:
    """The list comprehension with the items of `e`, a generator, or ``list`` or ``tuple`` of a
    generator or list comprehension; None for others.
    """
    is_call = isinstance(e, ast.Call) and cx.builtin(e) in ("list", "tuple") and len(e.args) == 1
    items = e.args[0] if isinstance(e, ast.Call) and is_call else e
    if isinstance(items, ast.GeneratorExp) and not is_suspending(items):
        return copy_location(ast.ListComp(items.elt, items.generators), items)
    return items if is_call and isinstance(items, ast.ListComp) else None


def _assign_pairs(
    targets: Sequence[ast.expr], values: Sequence[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    """An assignment of each value to its target, as if all values were computed first. Nested
    targets are unpacked too. None if the numbers differ, or for ``*``.
    """
    if len(targets) != len(values) or any(isinstance(e, ast.Starred) for e in (*targets, *values)):
        return None
    for k, (t, v) in enumerate(zip(targets, values, strict=True)):
        items = items_of_tuple(cx.facts, v) if isinstance(t, (ast.Tuple, ast.List)) else None
        if isinstance(t, (ast.Tuple, ast.List)) and items and len(t.elts) == len(items):
            targets = [*targets[:k], *t.elts, *targets[k + 1 :]]
            return _assign_pairs(targets, [*values[:k], *items, *values[k + 1 :]], cx)
    changed = _changed_by(targets, cx)
    distinct_names = all(isinstance(t, ast.Name) for t in targets) and len(changed) == len(targets)
    before: list[ast.stmt] = []
    if not (distinct_names and all(mentions_none_of(v, changed) for v in values)):
        values_once = [_once(v, changed, cx) for v in values]
        before = [line for _, lines in values_once for line in lines]
        values = [v for v, _ in values_once]
    pairs = zip(targets, values, strict=True)
    return before + [line for t, v in pairs for line in cx.code("TARGET = E", TARGET=t, E=v)]


def _changed_by(targets: Sequence[ast.expr], cx: Context) -> set[str]:
    """The names that an assignment to `targets` may bind, also by calls in their subscripts."""
    return bound_names(*targets) | names_changed_by(cx.facts, targets)


def _once(
    value: ast.expr, changed: set[str], cx: Context
) -> tuple[ast.expr, list[ast.stmt]]:
    """An expression that has the current value of `value` after names in ``changed`` are bound, and
    the statements that it needs before: `value` itself if it is a constant or another name, else a
    fresh name.
    """
    if isinstance(value, (ast.Constant, ast.Name)) and mentions_none_of(value, changed):
        return value, []
    name = cx.fresh("t")
    cx.facts.scalarizable.add(name)  # it is only read as a whole
    return ast.Name(name, ast.Load()), cx.code("NAME = E", NAME=name, E=value)


@fires_on(ast.AugAssign, target=(ast.Name, ast.Subscript))
def augmented_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``+=`` of a scalar becomes an assignment, its subscripts evaluated once. An array is changed
    in place, and so left alone; but the value comes first if it is a call of a function that may be
    inlined, since what Python reads before that is a view of the same memory
    (``x[1:] += f(x)`` becomes ``_value = f(x)`` and ``x[1:] += _value``).

        s += e
        a[i + 1] *= e
        a[k[i]] += e
    →
        s = s + e
        a[i + 1] = a[i + 1] * e
        _i = k[i]
        a[_i] = a[_i] + e

    Left alone, too, is a target that a walrus in the value would change: Python reads the target
    first.
    """
    match node:
        case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
            if cx.fact(ast.Name(name, ast.Load())).rank != 0:
                return None
            before: list[ast.stmt] = []
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=ast.Call() as value) if (
            cx.fact(value).rank is None and _is_view(target, cx)
            and not names_used(target) & bound_names(value)
        ):
            result = ast.Name(cx.fresh("value"), ast.Load())
            update = copy_location(ast.AugAssign(target, op, result), node)
            return [*cx.code("NAME = E", NAME=result, E=value), update]
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            # a walrus in the value would bind the name after Python has read the target
            rebinds = names_used(target) & bound_names(value)
            if rebinds or cx.fact(target).rank != 0 or not _is_row(target.value):
                return None
            target, before = _with_stable_subscripts(target, cx)
        case _:
            return None
    (line,) = cx.code("TARGET = TARGET + E", TARGET=target, E=value)
    assert isinstance(line, ast.Assign)
    assert isinstance(line.value, ast.BinOp)
    line.value.op = op
    return [*before, line]


def _is_view(target: ast.Subscript, cx: Context) -> bool:
    """Whether `target` is a view of an array, by slices and ints that no call can change: no list,
    and no index array, whose items would be copied before the call.
    """
    indices = subscript_items(target)
    array = target.value
    kinds = cx.fact(array).kinds  # empty for a list
    if not isinstance(array, ast.Name) or not cx.fact(array).rank or not kinds:
        return False
    slices = [index for index in indices if isinstance(index, ast.Slice)]
    bounds = (b for s in slices for b in (s.lower, s.upper, s.step) if b is not None)
    ints = (index for index in indices if not isinstance(index, ast.Slice))
    are_ints = all(_is_arithmetic(index) and cx.fact(index).is_integer for index in ints)
    return bool(slices) and are_ints and all(map(_is_arithmetic, bounds))


def _with_stable_subscripts(
    target: ast.Subscript, cx: Context
) -> tuple[ast.Subscript, list[ast.stmt]]:
    """`target`, which is read and then stored, with fresh names for subscripts other than
    arithmetic of names; and the statements that bind these.
    """
    indices = subscript_items(target)
    before: list[ast.stmt] = []
    stable: list[ast.expr] = []
    for index in indices:
        if not _is_arithmetic(index):
            name = cx.fresh("i")
            before += cx.code("NAME = E", NAME=name, E=index)
            index = ast.Name(name, ast.Load())
        stable.append(index)
    if not before:
        return target, []
    subscript = ast.Tuple(stable, ast.Load()) if len(stable) > 1 else stable[0]
    return copy_location(ast.Subscript(target.value, subscript, ast.Store()), target), before


def _is_arithmetic(e: ast.expr) -> bool:
    """Whether `e` is a name, a constant, or arithmetic of these."""
    match e:
        case ast.Name() | ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_arithmetic(operand)
        case ast.BinOp(left=left, right=right):
            return _is_arithmetic(left) and _is_arithmetic(right)
    return False


def _is_row(e: ast.expr) -> bool:
    """Whether `e` is a name, or subscripts one by arithmetic of names: ``X[i]``."""
    match e:
        case ast.Name():
            return True
        case ast.Subscript(value=value, slice=ast.Tuple(elts=indices)):
            return _is_row(value) and all(_is_arithmetic(i) for i in indices)
        case ast.Subscript(value=value, slice=index):
            return _is_row(value) and _is_arithmetic(index)
    return False


def walrus_in_loop_conditions(tree: ast.FunctionDef) -> None:
    """Moves the condition of each ``while`` of `tree` that binds names to the start of its body, in
    place::

        while (v := x[i]) > 0:
            i += 1
    →
        while True:
            if not (v := x[i]) > 0:
                break
            i += 1
    """
    for loop in walk_nodes(tree):
        if isinstance(loop, ast.While) and not loop.orelse and contains_walrus(loop.test):
            test = loop.test
            stop = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
            for node in (stop, stop.test, stop.body[0]):
                copy_location(node, test)
            loop.test = copy_location(ast.Constant(True), test)
            loop.body = [stop, *loop.body]


@fires_on(
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.If, ast.Assert, ast.For,
    ast.While, when=has_walrus,
)
def named_expression(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``:=`` becomes an assignment that runs when Python evaluates the ``:=``: after all that
    Python evaluates before, and only if it is evaluated at all.

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
