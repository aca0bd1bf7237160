"""Arrays from comprehensions: loops that fill the array, or lists of lists, without the list.

``np.array([e for v in x])``, ``np.vstack([…])`` of rows, ``[[e for j in range(m)] for i in
x]``.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...analysis.type_facts import INT
from ...frontend.ast_names import bound_names, mentions_none, names_used, rename_names
from ...frontend.ast_walk import copy_tree
from ...frontend.core_nodes import copy_location
from ...frontend.language.comprehensions import all_conditions, is_suspending, with_fresh_variables
from ...frontend.language.for_loops import paired_targets
from ...frontend.language.iterables import Stream, clamped_length, stream_of
from ...frontend.macros.list_kind import is_list_of_lists
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, named
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ScalarType
from ..array_nests import allocate_array, dtype_expr, product_of
from ..call_arguments import numpy_function_name
from ..function_table import FUNCTIONS

__all__ = [
    "Comprehension", "ComprehensionNest", "ComprehensionLoop", "comprehension_nest", "item_types",
    "array_comprehension", "nested_list_comprehension", "zero_of_type", "stack_comprehension",
]

Comprehension: TypeAlias = ast.ListComp | ast.GeneratorExp


class ComprehensionLoop(NamedTuple):
    """``length`` times ``binds``; it is Python's where one of ``checks`` holds."""

    variable: str
    length: ast.expr
    binds: list[ast.stmt]
    checks: tuple[ast.expr, ...]


class ComprehensionNest(NamedTuple):
    """What a comprehension gives: ``items``, by their places in the innermost display.

    ``axes``: the loops of each axis. ``test``: of those that are taken. ``width``: of a display.
    """

    axes: list[list[ComprehensionLoop]]
    test: ast.expr | None
    items: Sequence[ast.expr]
    width: int | None

    @property
    def loops(self) -> list[ComprehensionLoop]:
        return [loop for axis in self.axes for loop in axis]


def comprehension_nest(
    of: Comprehension, cx: Context, outer: Sequence[ComprehensionLoop] = ()
) -> ComprehensionNest | None:
    """The loops and items of a comprehension that becomes an array, inside of the loops `outer`;
    None where it is not known. Facts about the loop variables hold afterwards.
    """
    of = with_fresh_variables(of, cx)
    tests = [test for g in of.generators for test in g.ifs]
    names: dict[str, str | ast.expr] = {}
    loops: list[ComprehensionLoop] = []
    for g in of.generators:
        loop = _clause_loop(g, [*outer, *loops], names if tests else None, cx)
        if loop is None or (tests and len(of.generators) > 1):
            return None
        loops.append(loop)
    elt = rename_names(of.elt, names)
    if tests:
        return ComprehensionNest(
            [loops], rename_names(all_conditions(tests, cx), names), [elt], None
        )
    if isinstance(elt, ast.ListComp) and not is_suspending(elt):
        inner = comprehension_nest(elt, cx, [*outer, *loops])
        known = inner is not None and not inner.test
        return inner._replace(axes=[loops, *inner.axes]) if inner and known else None
    if isinstance(elt, (ast.List, ast.Tuple)):
        return ComprehensionNest([loops], None, elt.elts, len(elt.elts))
    return ComprehensionNest([loops], None, [elt], None)


def _is_independent(node: ast.AST, loops: Sequence[ComprehensionLoop]) -> bool:
    """Whether it has nothing of the variables of `loops`."""
    own = {loop.variable for loop in loops} | bound_names(
        *(s for loop in loops for s in loop.binds)
    )
    return own.isdisjoint(names_used(node))


def _clause_loop(
    g: ast.comprehension,
    outer: Sequence[ComprehensionLoop],
    names: dict[str, str | ast.expr] | None,
    cx: Context,
) -> ComprehensionLoop | None:
    """The loop of a clause. With `names`, these stand for the elements, and nothing binds them."""
    s = _row_stream(g.iter, outer, cx) or stream_of(g.iter, cx, ())
    if s is None or not all(_is_independent(part, outer) for part in (s.length, *s.setup)):
        return None
    index = cx.fresh("i")
    parts = paired_targets(g.target, s.at(ast.Name(index, ast.Load())))
    if parts is None:
        return None
    cx.before(*s.setup)
    cx.facts.known[index] = INT
    binds = [line for t, e in parts for line in cx.code("TARGET = E", TARGET=t, E=e)]
    for line in (*s.setup, *binds):
        cx.facts.record(line)
    if names is not None and all(isinstance(t, ast.Name) for t, _ in parts):
        names |= {t.id: e for t, e in parts if isinstance(t, ast.Name)}
        binds = []
    return ComprehensionLoop(index, clamped_length(s.length, cx), binds, s.checks)


def _row_stream(e: ast.expr, outer: Sequence[ComprehensionLoop], cx: Context) -> Stream | None:
    """What runs along a row, whose length is that of any other."""
    for line in (s for loop in outer for s in loop.binds):
        match e, line:
            case ast.Name(id=name), ast.Assign(
                targets=[ast.Name(id=row)],
                value=ast.Subscript(value=ast.Name() as of, slice=ast.Name()),
            ) if name == row and ((rank := cx.fact(of).rank or 0) > 1 or is_list_of_lists(of, cx)):
                length = cx.expr("X.shape[1]" if rank > 1 else "len(X[0])", X=of)
                checks = () if rank > 1 else (cx.expr("len(X) < 1", X=of),)
                return Stream((), length, lambda i: cx.expr("X[I]", X=e, I=i), checks=checks)
    return None


def item_types(items: Sequence[ast.expr], cx: Context) -> set[ScalarType]:
    """The types of `items`, whose calls may have to be expanded first; empty where they are not
    known.
    """
    found: set[ScalarType] = set()
    for e in items:
        types = cx.fact(e).types
        if not types:
            name = cx.fresh("e")
            for line in cx.code("NAME = E", NAME=name, E=e):
                cx.expanded(line)
            types = cx.facts.of(ast.Name(name, ast.Load())).types
        if not types or not all(isinstance(t, ScalarType) for t in types):
            return set()
        found |= {t for t in types if isinstance(t, ScalarType)}
    return found


_ZERO_ITEMS: dict[str, bool | int | float] = {"i64": 0, "f64": 0.0, "bool": False}
"""What lists in lists may hold, Python's and NumPy's."""

_ARRAY_CONSTRUCTORS: tuple[Any, ...] = (np.array, np.asarray, np.fromiter)


@fires_on(ast.Call, calls=_ARRAY_CONSTRUCTORS)
def array_comprehension(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.array([e for v in x])`` → an array filled by a loop, without a list. NumPy itself is
    called for an empty one, which is an array of floats.

        u = np.array([v * 2 for v in x])
        z = np.array([v for v in x if v > s])
    →
        _a_1 = np.empty(len(x), np.float64)
        for _i in range(len(x)):
            _v = x[_i]
            _a_1[_i] = _v * 2
        u = _a_1
        _a_3 = np.empty(len(x), np.float64)
        _n = 0
        for _i_1 in range(len(x)):
            if x[_i_1] > s:
                _a_3[_n] = x[_i_1]
                _n = _n + 1
        _a_3.resize(_n, refcheck=False)
        z = _a_3
    """
    match node:
        case ast.Call(func=func, args=[ast.ListComp() | ast.GeneratorExp() as taken, *rest]):
            function, taken = cx.resolve(func), _rows_as_lists(taken, cx)
        case _:
            return None
    given = {k.arg: k.value for k in node.keywords} | ({"dtype": rest[0]} if rest else {})
    flat = function is np.fromiter
    known = function in _ARRAY_CONSTRUCTORS and (flat or isinstance(taken, ast.ListComp))
    known = known and not is_suspending(taken) and not bound_names(taken)
    if known and not isinstance(taken.elt, (ast.ListComp, ast.List, ast.Tuple)):
        known = not cx.returned()  # NumPy makes it of a list, empty or not
    if not known or len(rest) > 1 or given.keys() - {"dtype"}:
        return None
    name, asked, before = cx.fresh("a"), given.get("dtype"), dict(cx.facts.known)

    def make() -> list[ast.stmt] | None:
        found = comprehension_nest(taken, cx)
        if found is None or found.width == 0 or (flat and (found.axes[1:] or found.width)):
            return None
        of = (
            _common_dtype(item_types(found.items, cx)) if asked is None else _dtype_given(asked, cx)
        )
        return None if of is None else _filled_array(name, node, found, of, asked is None, cx)

    try:
        return cx.made(name, make)
    finally:
        cx.facts.known = before


def _rows_as_lists(of: Comprehension, cx: Context) -> Comprehension:
    """Lists in the place of arrays made of lists: they are rows of the same numbers."""
    match of.elt:
        case ast.Call(func=func, args=[ast.ListComp() as row], keywords=[]) if (
            cx.resolve(func) is np.array
        ):
            new = copy_tree(of)
            new.elt = _rows_as_lists(row, cx)
            return new
    return of


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp)
@fires_on(ast.ListComp, elt=ast.ListComp)
def nested_list_comprehension(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``[[e for j in …] for i in …]`` → loops that fill lists of one length, with items of one
    type.

        out = [[i * j for j in range(3)] for i in range(n)]
    →
        out = [[0] * 3 for _i_3 in range(max(n, 0))]
        for _i_1 in range(max(n, 0)):
            _i = _i_1
            for _i_2 in range(3):
                _j = _i_2
                out[_i_1][_i_2] = _i * _j
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(elt=ast.ListComp()) as of):
            known = mentions_none(of, [name])
            return cx.whole(lambda: _nested_lists(name, of, cx)) if known else None
        case ast.ListComp(elt=ast.ListComp()):
            name, of = cx.fresh("list"), node
            return cx.made(name, lambda: _nested_lists(name, of, cx))
    return None


def _nested_lists(name: str, of: ast.ListComp, cx: Context) -> list[ast.stmt] | None:
    before = dict(cx.facts.known)
    try:
        found = (
            None
            if is_suspending(of) or bound_names(of) or not cx.means("range")
            else comprehension_nest(of, cx)
        )
        types = item_types(found.items, cx) if found and found.width is None else set()
    finally:
        cx.facts.known = before
    if found is None or len(types) != 1 or not all(t.dtype in _ZERO_ITEMS for t in types):
        return None
    setup, lengths = cx.take_before(), _axis_lengths(found, cx)
    rows = cx.expr("[Z] * N", Z=zero_of_type(types.pop(), cx), N=lengths[-1])
    for n in reversed(lengths[:-1]):
        rows = cx.expr("[ROW for I in range(N)]", ROW=rows, I=cx.fresh("i"), N=n)
    place: ast.expr = ast.Name(name, ast.Load())
    for axis in found.axes:
        place = cx.expr("P[I]", P=place, I=_flat_position(axis, cx))
    assert isinstance(place, ast.Subscript)
    place.ctx = ast.Store()
    body = cx.code("PLACE = E", PLACE=place, E=found.items[0])
    lines = [*cx.code("NAME = E", NAME=name, E=rows), *_loops_around(found, body, cx)]
    (original,) = cx.code("NAME = E", NAME=name, E=of)
    checks = [c for loop in found.loops for c in loop.checks]
    return [*setup, *guarded(checks, original, lines, cx)]


def zero_of_type(of: ScalarType, cx: Context) -> ast.expr:
    """The zero of a type of list items, as an expression."""
    if not of.weak:
        return cx.expr("T(0)", T=dtype_expr(of.dtype, cx))
    return ast.Constant(_ZERO_ITEMS[of.dtype])


def _common_dtype(of: set[ScalarType]) -> str | None:
    """The dtype that all have."""
    names = {t.dtype for t in of}
    return names.pop() if len(names) == 1 else None


def _axis_lengths(found: ComprehensionNest, cx: Context) -> list[ast.expr]:
    return [product_of([loop.length for loop in axis], cx) for axis in found.axes]


def _loops_around(found: ComprehensionNest, body: list[ast.stmt], cx: Context) -> list[ast.stmt]:
    for loop in reversed(found.loops):
        lines = [*loop.binds, *body]
        body = cx.code("for I in range(N): BODY", I=loop.variable, N=loop.length, BODY=lines)
    return body


def _dtype_given(type_: ast.expr, cx: Context) -> str | None:
    made = cx.fact(cx.expr("NP.empty(1, T)", NP=cx.numpy, T=type_)).array
    return None if made is None else made.dtype


def _filled_array(
    name: str, node: ast.Call, found: ComprehensionNest, of: str, inferred: bool, cx: Context
) -> list[ast.stmt]:
    setup = cx.take_before()
    lengths = _axis_lengths(found, cx)
    width = [] if found.width is None else [ast.Constant(found.width)]
    count = cx.fresh("n") if found.test else None
    at = (
        [ast.Name(count, ast.Load())]
        if count
        else [_flat_position(axis, cx) for axis in found.axes]
    )
    body: list[ast.stmt] = []
    for k, e in enumerate(found.items):
        index = [*at, ast.Constant(k)] if width else at
        body += cx.code("X = E", X=_store_target(name, index, cx), E=e)
    if count and found.test:
        text = "if TEST:\n    BODY\n    N = N + 1"
        body = cx.code(text, TEST=found.test, BODY=body, N=count)
    body = _loops_around(found, body, cx)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = [allocate_array(name, [*lengths, *width], of, cx), *body]
    inferred = inferred and of != "f64"
    if count:
        lines[1:1] = cx.code("N = 0", N=count)
        lines += cx.code("NAME.resize(N, refcheck=False)", NAME=name, N=count)
        if inferred:
            lines += guarded([cx.expr("N == 0", N=count)], original, [ast.Pass()], cx)
            inferred = False
    some = lengths if inferred or width else lengths[:-1]
    checks = [c for loop in found.loops for c in loop.checks]
    checks += [cx.expr("N < 1", N=n) for n in some]
    return [*setup, *guarded(checks, original, lines, cx)]


def _flat_position(axis: Sequence[ComprehensionLoop], cx: Context) -> ast.expr:
    """The place along an axis that several loops run along."""
    place: ast.expr = ast.Name(axis[0].variable, ast.Load())
    for loop in axis[1:]:
        inner = ast.Name(loop.variable, ast.Load())
        place = cx.expr("P * N + I", P=place, N=loop.length, I=inner)
    return place


def _store_target(name: str, at: Sequence[ast.expr], cx: Context) -> ast.expr:
    index = at[0] if len(at) == 1 else ast.Tuple([*at], ast.Load())
    return copy_location(ast.Subscript(ast.Name(name, ast.Load()), index, ast.Store()), cx.at)


_ROW_STACKERS = tuple(n for n, row in FUNCTIONS.items() if row.joins and row.joins.rows)


@fires_on(ast.Call, calls=named(_ROW_STACKERS))
def stack_comprehension(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.stack([row for …])`` and its kin → an array filled row by row, of the first row's
    length. NumPy itself is called where there are no rows or their lengths differ.

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
            function = numpy_function_name(func, cx)
        case _:
            return None
    known = cx.means("len", "range", "ValueError") and not is_suspending(of) and not bound_names(of)
    if function not in _ROW_STACKERS or not known or cx.facts.each(of).array is None:
        return None
    name, before = cx.fresh("a"), dict(cx.facts.known)

    def make() -> list[ast.stmt] | None:
        found = comprehension_nest(of, cx)
        if found is None or found.test or found.width is not None or len(found.axes) > 1:
            return None
        return _stack_rows(name, node, found, function == "column_stack", cx)

    try:
        return cx.made(name, make)
    finally:
        cx.facts.known = before


def _stack_rows(
    name: str, node: ast.Call, found: ComprehensionNest, aside: bool, cx: Context
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
    binds = [rename_names(s, start) for s in loop.binds] or [ast.Pass()]
    first = cx.code(
        text, BINDS=binds, ROW=cx.fresh("row"), FIRST=rename_names(row, start), SIZE=size
    )
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
    made = [s for s in (*first, allocate_array(name, shape, of.dtype, cx), *lines)]
    checks = [*loop.checks, cx.expr("N < 1", N=loop.length)]
    return [*setup, *guarded(checks, original, made, cx)]
