"""Arg-reductions of arrays of several axes whose loops run along rows, and so in vectors.

`search_by_rows` is for ``np.argmin(X)``: the extremum of each row, the last axis, is a fold. The
nest over the rows remembers in which the best one is; only this row is searched for the position.
`search_all_columns` is for ``np.argmin(X, axis=0)``: it goes through row after row, and keeps the
best element of each column, and its place.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from loopir.lazy_dataclass import record

from ...frontend.macros.macro_context import Context
from ..array_nests import allocate_array, loop_nest, row_major_index
from ..array_views import element_at, is_unit_length

__all__ = ["search_all_columns", "search_by_rows"]

_ROWS = 4
"""Rows that one fold goes through together, if their elements are never NaN: then the partial
results in vector lanes are combined a fourth as often."""

_STEPS = {
    (">", "bool"): "M = M or E\n",
    ("<", "bool"): "M = M and E\n",
    ("", "number"): "V = E\nif V {} M:\n    M = V\n",
    ("", "nan"): "if V != V:\n    NAN = True\n",
}


def search_by_rows(
    better: str, shape: Sequence[ast.expr], at: Callable[[Sequence[ast.expr]], ast.expr],
    kind: str, cx: Context,
) -> tuple[list[ast.stmt], ast.expr]:
    """Statements that search an array of `shape`, of two axes or more that may be longer than 1,
    and the name to which they bind the index of the best element in C order.

    better: the comparison of a later element with the best so far, "<" or ">".
    at: the element at subscripts.
    kind: that of the elements' dtype, as in `ELEMENTS`; "f" may be NaN, and the first NaN counts.

    For ``np.argmax(X)`` of floats::

        _best = X[0, 0]
        _row = 0
        _nan = False
        for _i in range(X.shape[0]):
            _m = X[_i, 0]
            for _j in range(X.shape[1]):
                _v = X[_i, _j]
                if _v > _m:
                    _m = _v
                if _v != _v:
                    _nan = True
            if _m > _best:
                _best = _m
                _row = _i
        _at = -1
        if _nan:
            for _i_1 in range(X.shape[0]):
                for _j_1 in range(X.shape[1]):
                    if X[_i_1, _j_1] != X[_i_1, _j_1]:
                        _at = _i_1 * X.shape[1] + _j_1
                    if _at >= 0:
                        break
                if _at >= 0:
                    break
        else:
            for _j_2 in range(X.shape[1]):
                if X[_row, _j_2] == _best:
                    _at = _row * X.shape[1] + _j_2
                if _at >= 0:
                    break
    """
    *outer, rows, columns = (k for k, n in enumerate(shape) if not is_unit_length(n))
    count = 1 if kind == "f" else _ROWS
    best, nan, place = (ast.Name(cx.fresh(n), ast.Load()) for n in ("best", "nan", "at"))
    row = {k: ast.Name(cx.fresh("row"), ast.Load()) for k in (*outer, rows)}
    s = _Search(better, kind, shape, at, (rows, columns), count, best, nan, place, row)
    lines = cx.code("BEST = FIRST", BEST=best, FIRST=s.element({}))
    for name in row.values():
        lines += cx.code("ROW = 0", ROW=name)
    if kind == "f":
        lines += cx.code("NAN = False", NAN=nan)

    def fold(index: Sequence[ast.expr]) -> list[ast.stmt]:
        return _fold_of_rows(s, dict(zip(outer, index, strict=True)), cx)

    lines += loop_nest([shape[k] for k in outer], fold, cx)
    ranges: list[tuple[int, ast.expr, ast.expr]] = [(columns, ast.Constant(0), shape[columns])]
    if count > 1:
        end = cx.expr("min(R + K, N)", R=row[rows], K=ast.Constant(count), N=shape[rows])
        ranges.insert(0, (rows, row[rows], end))
    lines += cx.code("AT = -1", AT=place)
    search = _first_place(s, ranges, {**row}, "E == BEST", cx)
    if kind != "f":
        return [*lines, *search], place
    everywhere = [(k, ast.Constant(0), shape[k]) for k in (*outer, rows, columns)]
    nans = _first_place(s, everywhere, {}, "E != E", cx)
    text = "if NAN:\n    NANS\nelse:\n    SEARCH"
    return [*lines, *cx.code(text, NAN=nan, NANS=nans, SEARCH=search)], place


@record(frozen=True, slots=True)
class _Search:
    """A search by rows: what is searched, and the names that its statements bind."""

    better: str
    kind: str
    shape: Sequence[ast.expr]
    at: Callable[[Sequence[ast.expr]], ast.expr]
    matrix: tuple[int, int]  # the axes of the rows, and of the elements of a row
    count: int  # of rows that one fold goes through together
    best: ast.Name  # the best element
    nan: ast.Name  # whether there is a NaN
    place: ast.Name  # the index of the result, -1 while it is not found
    row: dict[int, ast.Name]  # by the axis, but for the last one: where the best element is

    def element(self, places: dict[int, ast.expr]) -> ast.expr:
        """The element at the subscripts `places`, by the axis; 0 for the others."""
        return self.at([places.get(k, ast.Constant(0)) for k in range(len(self.shape))])


def _fold_of_rows(s: _Search, fixed: dict[int, ast.expr], cx: Context) -> list[ast.stmt]:
    """The loop over the rows of the matrix at the subscripts `fixed`, ``s.count`` at a time."""
    rows, columns = s.matrix
    i, j, m, v = (ast.Name(cx.fresh(n), ast.Load()) for n in ("i", "i", "m", "v"))
    following = [ast.Name(cx.fresh("i"), ast.Load()) for _ in range(1, s.count)]
    names: list[ast.stmt] = []
    for k, name in enumerate(following, 1):  # the last row again, where there is no further one
        text = "ROW = min(I + K, N - 1)"
        names += cx.code(text, ROW=name, I=i, K=ast.Constant(k), N=s.shape[rows])
    fold, keep = list[ast.stmt](), list[ast.stmt]()
    for row in (i, *following):
        e = s.element({**fixed, rows: row, columns: j})
        fold += cx.code(_step(s.better, s.kind), E=e, M=m, V=v, NAN=s.nan)
    for axis, index in (*fixed.items(), (rows, i)):
        keep += cx.code("ROW = I", ROW=s.row[axis], I=index)
    is_extreme = "BEST" if s.better == ">" else "not BEST"  # no element is better than this bool
    leave = f"if {is_extreme}: break" if s.kind == "b" else ""
    text = f"""
        for I in range(0, N, {s.count}):
            NAMES
            M = FIRST
            for J in range(COLUMNS):
                FOLD
            if M {s.better} BEST:
                BEST = M
                KEEP
            {leave}
    """
    return cx.code(
        text, I=i, J=j, N=s.shape[rows], COLUMNS=s.shape[columns], NAMES=names, M=m,
        FIRST=s.element({**fixed, rows: i}), FOLD=fold, BEST=s.best, KEEP=keep,
    )


def _step(better: str, kind: str) -> str:
    """What the fold of a row does with each element."""
    if kind == "b":
        return _STEPS[better, "bool"]
    step = _STEPS["", "number"].format(better)
    return step + _STEPS["", "nan"] if kind == "f" else step


def _first_place(
    s: _Search, ranges: Sequence[tuple[int, ast.expr, ast.expr]], fixed: dict[int, ast.expr],
    test: str, cx: Context,
) -> list[ast.stmt]:
    """A nest over the axes in `ranges` (each with its start and end), which binds ``s.place`` to
    the index of the first element for which `test` holds, and ends there. The subscripts of all
    other axes are `fixed`, or 0.
    """
    names = [ast.Name(cx.fresh("i"), ast.Load()) for _ in ranges]
    places = {**fixed, **{k: i for (k, _, _), i in zip(ranges, names, strict=True)}}
    subscripts = [places.get(k, ast.Constant(0)) for k in range(len(s.shape))]
    index, e = row_major_index(subscripts, s.shape, cx), s.element(places)
    lines = cx.code(f"if {test}:\n    AT = I", E=e, BEST=s.best, AT=s.place, I=index)
    for (_, start, end), i in [*zip(ranges, names, strict=True)][::-1]:
        text = "for I in range(A, B):\n    BODY\n    if AT >= 0:\n        break"
        lines = cx.code(text, I=i, A=start, B=end, BODY=lines, AT=s.place)
    return lines


def search_all_columns(
    better: str, shape: Sequence[ast.expr], axis: int, result: ast.expr, dtype: str,
    at: Callable[[Sequence[ast.expr]], ast.expr], nans: bool, cx: Context,
) -> list[ast.stmt]:
    """Statements that store the places of the best elements along `axis`, which is not the last one
    of `shape`, to the array `result`. `dtype` is that of the elements; `better` and `at` are as in
    `search_by_rows`. With `nans` the first NaN counts.

    For ``np.argmax(X, axis=0)`` of floats::

        _best = np.empty(X.shape[1], np.float64)
        for _i in range(X.shape[1]):
            _best[_i] = X[0, _i]
            _argmax[_i] = 0
        for _k in range(1, X.shape[0]):
            for _i_1 in range(X.shape[1]):
                _v = X[_k, _i_1]
                if _v > _best[_i_1] or (_v != _v and _best[_i_1] == _best[_i_1]):
                    _best[_i_1] = _v
                    _argmax[_i_1] = _k
    """
    before, after = shape[:axis], shape[axis + 1 :]
    best = ast.Name(cx.fresh("best"), ast.Load())
    k, v = (ast.Name(cx.fresh(n), ast.Load()) for n in ("k", "v"))
    test = f"V {better} BEST or (V != V and BEST == BEST)" if nans else f"V {better} BEST"
    step = f"V = E\nif {test}:\n    BEST = V\n    PLACE = K"

    def rows(outer: Sequence[ast.expr]) -> list[ast.stmt]:
        def code(text: str, k: ast.expr, inner: Sequence[ast.expr]) -> list[ast.stmt]:
            place = element_at(result, [*outer, *inner], cx)
            e = at([*outer, k, *inner])
            return cx.code(text, BEST=element_at(best, inner, cx), PLACE=place, K=k, V=v, E=e)

        first = loop_nest(
            after, lambda inner: code("BEST = E\nPLACE = K", ast.Constant(0), inner), cx
        )
        others = loop_nest(after, lambda inner: code(step, k, inner), cx)
        loop = cx.code("for K in range(1, N): ROW", K=k, N=shape[axis], ROW=others)
        return [*first, *loop]

    return [allocate_array(best.id, after, dtype, cx), *loop_nest(before, rows, cx)]
