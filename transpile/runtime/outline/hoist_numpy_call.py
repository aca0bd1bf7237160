"""Hoists a NumPy call that stays Python out of the statement that contains it.

    for i in np.argsort(x):             _tp_value = np.argsort(x)
        s = s + i * x[i]         →      for i in _tp_value:
                                            s = s + i * x[i]

Then the rest of the statement can be in a region (`outline_regions`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from loopir.nodes import Span

from ...frontend.ast_names import fresh_name, names_used
from ...frontend.ast_walk import child_blocks, copy_tree, replace_node, walk_nodes
from ...frontend.core_nodes import copy_location, fix_missing_locations
from ...frontend.defining_modules import is_numpy_function
from ...frontend.source import span_of

__all__ = ["hoist_numpy_call"]

Resolve: TypeAlias = Callable[[ast.expr], object]


def hoist_numpy_call(tree: ast.FunctionDef, resolve: Resolve, blamed: Span) -> ast.FunctionDef:
    """A copy of `tree` in which the NumPy call at `blamed`, which is refused, is assigned to a name
    before its statement, as in the module's docstring. `tree` itself, if what is blamed is no NumPy
    call or is a whole statement, or if the program could see the difference:

    - something with an effect is evaluated before the call in its statement: it would run after it;
    - the call is not evaluated exactly once, as in the test of a ``while``.
    """
    copy = copy_tree(tree)
    for block in (block for n in walk_nodes(copy) for block in child_blocks(n)):
        for k, s in enumerate(block):
            call = next((e for e in _evaluated_first(s, resolve) if span_of(e) == blamed), None)
            is_whole_statement = call is getattr(s, "value", None)
            if (
                isinstance(call, ast.Call)
                and not is_whole_statement
                and is_numpy_function(resolve(call.func))
            ):
                name = fresh_name("_tp_value", names_used(tree))
                value = copy_location(ast.Assign([ast.Name(name, ast.Store())], call), call)
                replace_node(s, call, copy_location(ast.Name(name, ast.Load()), call))
                s.lineno, s.col_offset = blamed.end_line, blamed.end_col  # after the call
                block[k : k + 1] = [fix_missing_locations(value), s]
                return copy
    return tree


def _evaluated_first(s: ast.stmt, resolve: Resolve) -> Iterator[ast.expr]:
    """The expressions in `s` before which only names and constants are evaluated."""
    match s:
        case (
            ast.Assign(value=e)
            | ast.AugAssign(target=ast.Name(), value=e) | ast.Return(value=ast.expr() as e)
            | ast.Expr(value=e) | ast.For(iter=e) | ast.If(test=e)
        ):
            yield from _leading_operands(e, resolve)


def _leading_operands(e: ast.expr, resolve: Resolve) -> Iterator[ast.expr]:
    """`e`, and those of its operands before which nothing with an effect is evaluated."""
    yield e
    for part in _operands_in_order(e):
        yield from _leading_operands(part, resolve)
        if not _has_no_effect(part, resolve):
            return


def _operands_in_order(e: ast.expr) -> Sequence[ast.expr]:
    """The operands that `e` always evaluates, in order."""
    match e:
        case ast.BinOp(left=a, right=b) | ast.Subscript(value=a, slice=b):
            return a, b
        case ast.Compare(left=a, comparators=[b]):
            return a, b
        case ast.UnaryOp(operand=a) | ast.Attribute(value=a) | ast.Starred(value=a):
            return (a,)
        case ast.Call(func=func, args=args, keywords=keywords):
            return func, *args, *(k.value for k in keywords)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return elts
        case ast.ListComp(generators=[first, *_]) | ast.GeneratorExp(generators=[first, *_]):
            return (first.iter,)
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(test=first):
            return (first,)
    return ()


def _has_no_effect(e: ast.expr, resolve: Resolve) -> bool:
    """Whether evaluating `e` has no effect, so that its order does not matter."""
    if isinstance(e, ast.Attribute):
        return resolve(e) is not None
    return isinstance(e, (ast.Name, ast.Constant))
