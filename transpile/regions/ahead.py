"""NumPy calls that stay Python are taken out of the statements that they stand in.

    for i in np.argsort(x):             _tp_value = np.argsort(x)
        s = s + i * x[i]         →      for i in _tp_value:
                                            s = s + i * x[i]
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, TypeAlias

from loopir.nodes import Span

from ..below import below, blocks
from ..macros.calls import is_of_numpy
from ..macros.copying import copied
from ..macros.names import used
from ..source import span_of

__all__ = ["taken_ahead"]

Resolve: TypeAlias = Callable[[ast.expr], object]


def taken_ahead(tree: ast.FunctionDef, resolve: Resolve, blamed: Span) -> ast.FunctionDef:
    """`tree` with the call at `blamed` computed ahead of its statement, which is the same where
    nothing runs before it there, and it runs once; `tree` itself where it is none of NumPy's.
    """
    new = copied(tree)
    for block in (block for n in below(new) for block in blocks(n)):
        for k, s in enumerate(block):
            call = next((e for e in _first(s, resolve) if span_of(e) == blamed), None)
            own = call is getattr(s, "value", None)  # nothing else is left of the statement
            if isinstance(call, ast.Call) and not own and is_of_numpy(resolve(call.func)):
                name = _fresh(used(tree))
                value = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], call), call)
                _Put(call, ast.copy_location(ast.Name(name, ast.Load()), call)).visit(s)
                s.lineno, s.col_offset = blamed.end_line, blamed.end_col  # it stands behind it now
                block[k : k + 1] = [ast.fix_missing_locations(value), s]
                return new
    return tree


def _fresh(taken: Container[str]) -> str:
    name = "_tp_value"
    while name in taken:
        name += "_"
    return name


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def _first(s: ast.stmt, resolve: Resolve) -> Iterator[ast.expr]:
    """The expressions in `s` before which only names and constants are evaluated."""
    match s:
        case (
            ast.Assign(value=ast.expr() as e) | ast.AnnAssign(value=ast.expr() as e)
            | ast.AugAssign(target=ast.Name(), value=e) | ast.Return(value=ast.expr() as e)
            | ast.Expr(value=e) | ast.For(iter=e) | ast.If(test=e)
        ):
            yield from _inside(e, resolve)


def _inside(e: ast.expr, resolve: Resolve) -> Iterator[ast.expr]:
    yield e
    for part in _parts(e):
        yield from _inside(part, resolve)
        if not _is_still(part, resolve):
            return


def _parts(e: ast.expr) -> Sequence[ast.expr]:
    """What is evaluated in `e` in any case, in order."""
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


def _is_still(e: ast.expr, resolve: Resolve) -> bool:
    """Whether `e` may as well be evaluated later: it does nothing."""
    if isinstance(e, ast.Attribute):
        return resolve(e) is not None
    return isinstance(e, (ast.Name, ast.Constant))
