"""Arrays of the rows that comprehensions give → arrays that are filled row by row."""
from __future__ import annotations

import ast

from .arguments import function_named
from .comprehensions import waits
from .context import Context
from .filled import Filled, filled
from .firing import fires_on, named
from .names import bound, rename
from .nests import allocated, unless

__all__ = ["array_rows"]

_ROWS = ("array", "asarray", "vstack", "stack", "column_stack")


@fires_on(ast.Call, calls=named(_ROWS))
def array_rows(node: ast.AST, cx: Context) -> ast.expr | None:
    """Rows of one length, that of the first; of none, or of several, NumPy's answer.

        u = np.vstack([X[p] for p in range(n)])
    →
        if max(n, 0) < 1:
            "Python's to answer"
            _a = np.vstack([X[p] for p in range(n)])
        else:
            _p = 0
            _row = X[_p]
            _size = len(_row)
            _a = np.empty((max(n, 0), _size), np.float64)
            for _i in range(max(n, 0)):
                _p = _i
                _row_1 = X[_p]
                if len(_row_1) != _size:
                    raise ValueError
                for _j in range(_size):
                    _a[_i, _j] = _row_1[_j]
        u = _a
    """
    match node:
        case ast.Call(func=func, args=[ast.ListComp() as of], keywords=[]):
            function = function_named(func, cx)
        case _:
            return None
    known = cx.means("len", "range", "ValueError") and not waits(of) and not bound(of)
    if function not in _ROWS or not known or cx.facts.each(of).array is None:
        return None
    name, before = cx.fresh("a"), dict(cx.facts.known)

    def make() -> list[ast.stmt] | None:
        found = filled(of, cx)
        if found is None or found.test or found.width is not None or len(found.axes) > 1:
            return None
        return _rows(name, node, found, function == "column_stack", cx)

    try:
        return cx.made(name, make)
    finally:
        cx.facts.known = before


def _rows(
    name: str, node: ast.Call, found: Filled, aside: bool, cx: Context
) -> list[ast.stmt] | None:
    (row,) = found.items
    of = cx.fact(row).array
    if of is None or of.rank != 1 or len(found.loops) > 1:
        return None
    (loop,), setup = found.loops, cx.take_before()
    size = cx.expr("N", N=cx.fresh("size"))
    text = """
        BINDS
        ROW = FIRST
        SIZE = len(ROW)
    """
    start: dict[str, str | ast.expr] = {loop.variable: ast.Constant(0)}
    binds = [rename(s, start) for s in loop.binds] or [ast.Pass()]
    first = cx.code(text, BINDS=binds, ROW=cx.fresh("row"), FIRST=rename(row, start), SIZE=size)
    shape = [size, loop.length] if aside else [loop.length, size]
    text = """
        for I in range(N):
            BINDS
            ROW = E
            if len(ROW) != SIZE: raise ValueError
            for J in range(SIZE): A[P, Q] = ROW[J]
    """
    i, j = ast.Name(loop.variable, ast.Load()), ast.Name(cx.fresh("j"), ast.Load())
    lines = cx.code(
        text, I=i, N=loop.length, BINDS=loop.binds or [ast.Pass()], ROW=cx.fresh("row"), E=row,
        SIZE=size, J=j, A=name, P=j if aside else i, Q=i if aside else j,
    )
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    made = [s for s in (*first, allocated(name, shape, of.dtype, cx), *lines)]
    checks = [*loop.checks, cx.expr("N < 1", N=loop.length)]
    return [*setup, *unless(checks, original, made, cx)]
