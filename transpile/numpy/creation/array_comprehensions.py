"""Arrays from comprehensions: loops that fill the array, or lists of lists, without the list.

`comprehension_nest` analyses a comprehension (maybe of comprehensions or displays) as a loop nest
with known trip counts: a `ComprehensionNest`. Four macros store its items by index:
`array_comprehension` (``np.array([e for v in x])``), `comprehension_store` (``y[i] = [e for v in
x]``), `stack_comprehension` (``np.vstack([row for …])``) and `rectangular_comprehension` (``[[e for
j in …] for i in …]``, as lists of one length).
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from loopir.dtypes import DTYPES

from ...analysis.type_inference.binding_facts import bind_each, item_fact
from ...analysis.type_inference.flow_facts import record_facts
from ...analysis.type_inference.type_lattice import INT, int_or_float64
from ...frontend.ast_names import bound_names, mentions_none_of, names_used, rename_names
from ...frontend.ast_walk import copy_tree, is_suspending
from ...frontend.core_nodes import copy_location
from ...frontend.iterators.comprehensions import all_conditions, with_fresh_variables
from ...frontend.iterators.indexed_streams import Stream
from ...frontend.iterators.iterables import clamped_length, paired_targets, stream_of
from ...frontend.macros.list_kind import is_list_of_lists
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...frontend.macros.replay_guards import guarded
from ...random_numbers import array_draw_of
from ...types.effects import is_pure
from ...types.value_types import ScalarType
from ..array_nests import (
    allocate_array,
    dtype_expr,
    product_of,
    replay_if_all_ints,
    store_noting_ints,
)
from ..call_arguments import numpy_function_name
from ..function_table import ARRAY_OF_ITEMS, FUNCTIONS

__all__ = [
    "Comprehension", "ComprehensionNest", "ComprehensionLoop", "comprehension_nest", "item_types",
    "array_comprehension", "comprehension_store", "rectangular_comprehension", "zero_of_type",
    "stack_comprehension",
]

Comprehension: TypeAlias = ast.ListComp | ast.GeneratorExp


class ComprehensionLoop(NamedTuple):
    """The loop of one ``for`` clause of a comprehension."""

    variable: str  # counts from 0
    length: ast.expr  # the trip count
    binds: list[ast.stmt]  # bind the targets of the clause, at the start of an iteration
    checks: tuple[ast.expr, ...]  # conditions under which the call must be replayed


class ComprehensionNest(NamedTuple):
    """A comprehension as a loop nest that computes items."""

    axes: list[list[ComprehensionLoop]]
    """The loops along each axis of the result, outermost first; several clauses are one axis."""
    test: ast.expr | None
    """The condition under which an item is appended; None: always. With a test, there is one axis.
    """
    items: Sequence[ast.expr]
    """The item of an iteration, or the items if it is a display."""
    width: int | None
    """The number of items of the innermost display, a further axis; None: there is none."""

    @property
    def loops(self) -> list[ComprehensionLoop]:
        """All loops, outermost first."""
        return [loop for axis in self.axes for loop in axis]


def comprehension_nest(
    comprehension: Comprehension, cx: Context, outer: Sequence[ComprehensionLoop] = ()
) -> ComprehensionNest | None:
    """The loops and items of a comprehension that becomes an array or lists of one length, inside
    of the loops `outer`.

    Facts about the loop variables are recorded in ``cx.facts.known``, for queries about the items;
    the caller restores them. None where an iterable is not understood, an iterable depends on a
    variable of an outer loop (other than as a row, `_row_stream`), or a condition occurs together
    with several clauses or nested comprehensions.
    """
    comprehension = with_fresh_variables(comprehension, cx)
    tests = [test for g in comprehension.generators for test in g.ifs]
    names: dict[str, str | ast.expr] = {}
    loops: list[ComprehensionLoop] = []
    for g in comprehension.generators:
        loop = _clause_loop(g, [*outer, *loops], names if tests else None, cx)
        if loop is None or (tests and len(comprehension.generators) > 1):
            return None
        loops.append(loop)
    elt = rename_names(comprehension.elt, names)
    if tests:
        return ComprehensionNest(
            [loops], rename_names(all_conditions(tests, cx), names), [elt], None
        )
    if isinstance(elt, ast.ListComp) and not is_suspending(elt):
        inner = comprehension_nest(elt, cx, [*outer, *loops])
        is_filterless = inner is not None and not inner.test
        return inner._replace(axes=[loops, *inner.axes]) if inner and is_filterless else None
    if isinstance(elt, (ast.List, ast.Tuple)):
        return ComprehensionNest([loops], None, elt.elts, len(elt.elts))
    return ComprehensionNest([loops], None, [elt], None)


def _is_independent(node: ast.AST, loops: Sequence[ComprehensionLoop]) -> bool:
    """Whether `node` reads no name that the `loops` bind."""
    loop_names = {loop.variable for loop in loops} | bound_names(
        *(s for loop in loops for s in loop.binds)
    )
    return loop_names.isdisjoint(names_used(node))


def _clause_loop(
    clause: ast.comprehension,
    outer: Sequence[ComprehensionLoop],
    names: dict[str, str | ast.expr] | None,
    cx: Context,
) -> ComprehensionLoop | None:
    """The loop of one clause; None where its iterable is not understood or varies in the loops
    `outer`, before which it is evaluated: it reads their variables, or draws random numbers.

    If `names` is a dict, targets are not bound but entered there, each with the expression that
    replaces it.
    """
    stream = _row_stream(clause.iter, outer, cx) or stream_of(clause.iter, cx, ())
    if stream is None:
        return None
    if not all(_is_independent(part, outer) for part in (stream.length, *stream.setup)):
        return None
    if outer and not is_pure(clause.iter, cx.resolve):
        return None
    index = cx.fresh("i")
    bindings = paired_targets(clause.target, stream.at(ast.Name(index, ast.Load())))
    if bindings is None:
        return None
    cx.before(*stream.setup)
    cx.facts.known[index] = INT
    binds = [line for t, e in bindings for line in cx.code("TARGET = E", TARGET=t, E=e)]
    for line in (*stream.setup, *binds):
        record_facts(cx.facts, line)
    if names is not None and all(isinstance(t, ast.Name) for t, _ in bindings):
        names |= {t.id: e for t, e in bindings if isinstance(t, ast.Name)}
        binds = []
    return ComprehensionLoop(index, clamped_length(stream.length, cx), binds, stream.checks)


def _row_stream(e: ast.expr, outer: Sequence[ComprehensionLoop], cx: Context) -> Stream | None:
    """The stream of ``for … in row``, where an outer loop binds ``row`` to a row of an array or
    list of lists: its length is that of row 0. None for other iterables.
    """
    for line in (s for loop in outer for s in loop.binds):
        match e, line:
            case ast.Name(id=name), ast.Assign(
                targets=[ast.Name(id=row)],
                value=ast.Subscript(value=ast.Name() as rows, slice=ast.Name()),
            ) if name == row and (
                (rank := cx.fact(rows).rank or 0) > 1 or is_list_of_lists(rows, cx)
            ):
                length = cx.expr("X.shape[1]" if rank > 1 else "len(X[0])", X=rows)
                checks = () if rank > 1 else (cx.expr("len(X) < 1", X=rows),)
                return Stream((), length, lambda i: cx.expr("X[I]", X=e, I=i), checks=checks)
    return None


def item_types(items: Sequence[ast.expr], cx: Context) -> set[ScalarType]:
    """The scalar types that `items` may have; empty where one is not surely a scalar. An item whose
    type is not known as written is expanded first.
    """
    types_found: set[ScalarType] = set()
    for e in items:
        types = cx.fact(e).types
        if not types:
            name = cx.fresh("e")
            for line in cx.code("NAME = E", NAME=name, E=e):
                cx.expanded(line)
            types = cx.facts.of(ast.Name(name, ast.Load())).types
        if not types or not all(isinstance(t, ScalarType) for t in types):
            return set()
        types_found |= {t for t in types if isinstance(t, ScalarType)}
    return types_found


_ZERO_ITEMS: dict[str, bool | int | float] = {"i64": 0, "f64": 0.0, "bool": False}
"""By the dtype of items that lists of lists may have: the zero with which they are created."""


@fires_on(ast.Call, calls=ARRAY_OF_ITEMS)
def array_comprehension(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.array([e for v in x])`` → an array filled by a loop, without a list. The call is
    replayed for an empty array of other items than floats, which NumPy makes one of floats; and
    where items may be ints or floats, and all are ints. An array of numbers that is a result of the
    function stays: it is made of the list at the return.

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
        case ast.Call(func=func, args=[ast.ListComp() | ast.GeneratorExp() as argument, *rest]):
            function, comprehension = cx.resolve(func), _rows_as_lists(argument, cx)
        case _:
            return None
    by_keyword = {k.arg: k.value for k in node.keywords} | ({"dtype": rest[0]} if rest else {})
    is_fromiter = function is np.fromiter
    is_list = isinstance(comprehension, ast.ListComp)
    compilable = function in ARRAY_OF_ITEMS and (is_fromiter or is_list)
    compilable = compilable and not is_suspending(comprehension) and not bound_names(comprehension)
    if compilable and not isinstance(comprehension.elt, (ast.ListComp, ast.List, ast.Tuple)):
        compilable = not cx.result_uses()  # a returned array is made of a list: that may be empty
    if not compilable or len(rest) > 1 or by_keyword.keys() - {"dtype"}:
        return None
    name, facts_before = cx.fresh("a"), dict(cx.facts.known)
    dtype_argument = by_keyword.get("dtype")

    def make() -> list[ast.stmt] | None:
        nest = comprehension_nest(comprehension, cx)
        if nest is None or nest.width == 0 or (is_fromiter and (nest.axes[1:] or nest.width)):
            return None
        if dtype_argument is not None:
            dtype = _dtype_given(dtype_argument, cx)
            inferred = None
        else:
            inferred = item_types(nest.items, cx)
            dtype = "f64" if int_or_float64(inferred) else _common_dtype(inferred)
        return None if dtype is None else _filled_array(name, node, nest, dtype, inferred, cx)

    try:
        return cx.bound_name(name, make)
    finally:
        cx.facts.known = facts_before


def _rows_as_lists(comprehension: Comprehension, cx: Context) -> Comprehension:
    """The comprehension with rows ``np.array([…])`` replaced by the lists themselves, which give
    the same array.
    """
    match comprehension.elt:
        case ast.Call(func=func, args=[ast.ListComp() as row], keywords=[]) if (
            cx.resolve(func) is np.array
        ):
            new = copy_tree(comprehension)
            new.elt = _rows_as_lists(row, cx)
            return new
    return comprehension


@fires_on(ast.Assign, targets=ast.Subscript, value=ast.ListComp)
def comprehension_store(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A comprehension of numbers that is stored into an array → an array of the same dtype, which
    a loop fills.

        X[i] = [v * 2 for v in x]
    →
        _a = np.empty(len(x), np.float64)
        for _i in range(len(x)):
            _v = x[_i]
            _a[_i] = _v * 2
        _row = X[i]
        if X.shape[1] != len(x):
            "Python's to answer"
            X[i] = _a
        else:
            for _i_1 in range(X.shape[1]):
                X[i, _i_1] = _a[_i_1]
    """
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.ListComp):
        return None
    (target,), items = node.targets, node.value
    array = cx.fact(target).array
    if array is None or array.dtype not in DTYPES or is_suspending(items) or bound_names(items):
        return None
    if not _has_scalar_items(items, cx):
        return None
    facts_before = dict(cx.facts.known)
    name = cx.fresh("a")

    def make() -> list[ast.stmt] | None:
        nest = comprehension_nest(items, cx)
        if nest is None or nest.width == 0:
            return None
        made = cx.expr("NP.array(E, dtype=T)", NP=cx.numpy, E=items, T=dtype_expr(array.dtype, cx))
        assert isinstance(made, ast.Call)
        return [
            *_filled_array(name, made, nest, array.dtype, None, cx),
            *cx.code("TO = NAME", TO=target, NAME=name),
        ]

    try:
        return cx.with_before(make)
    finally:
        cx.facts.known = facts_before


def _has_scalar_items(comprehension: ast.ListComp, cx: Context) -> bool:
    """Whether the items of a comprehension are scalars, or rows of scalars."""
    with cx.facts.tentatively():
        for g in comprehension.generators:
            bind_each(cx.facts, g.target, g.iter)
        match comprehension.elt:
            case ast.ListComp() as row:
                return _has_scalar_items(row, cx)
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                return all(cx.fact(e).rank == 0 for e in elts)
            case e:
                return cx.fact(e).rank == 0


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp)
@fires_on(ast.ListComp, elt=ast.ListComp)
def rectangular_comprehension(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
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
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.ListComp(elt=ast.ListComp()) as comprehension
        ):
            if not mentions_none_of(comprehension, [name]):
                return None
            return cx.with_before(lambda: _rectangular_lists(name, comprehension, cx))
        case ast.ListComp(elt=ast.ListComp()):
            name, comprehension = cx.fresh("list"), node
            return cx.bound_name(name, lambda: _rectangular_lists(name, comprehension, cx))
    return None


def _rectangular_lists(
    name: str, comprehension: ast.ListComp, cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to lists of lists of zeros of the final lengths, and store each
    item by index. So lowering makes one array with two axes of the rows, where lists that are
    appended to would need a count for each row. `rectangular_comprehension` calls it.

        out = [[i * j for j in range(3)] for i in range(n)]
        →   out = [[0] * 3 for _ in range(n)];  for i …: for j …: out[i][j] = i * j

    None, so that the rows may become ragged (`infer_ragged_lists`), where

    - the comprehension suspends, or binds names by a walrus;
    - it is no nest whose trip counts are known before: rows could have different lengths;
    - its items are no scalars of one type that has a zero (`_ZERO_ITEMS`).
    """
    facts_before = dict(cx.facts.known)
    try:
        is_plain = not is_suspending(comprehension) and not bound_names(comprehension)
        is_known = is_plain and cx.is_builtin("range")
        nest = comprehension_nest(comprehension, cx) if is_known else None
        types = item_types(nest.items, cx) if nest and nest.width is None else set()
    finally:
        cx.facts.known = facts_before
    if nest is None or len(types) != 1 or not all(t.dtype in _ZERO_ITEMS for t in types):
        return None
    setup, lengths = cx.take_before(), _axis_lengths(nest, cx)
    # [[0] * m for _i in range(n)], from the innermost axis outwards
    rows = cx.expr("[Z] * N", Z=zero_of_type(types.pop(), cx), N=lengths[-1])
    for n in reversed(lengths[:-1]):
        rows = cx.expr("[ROW for I in range(N)]", ROW=rows, I=cx.fresh("i"), N=n)
    target: ast.expr = ast.Name(name, ast.Load())
    for axis in nest.axes:  # name[_i][_j]
        target = cx.expr("P[I]", P=target, I=_flat_position(axis, cx))
    assert isinstance(target, ast.Subscript)
    target.ctx = ast.Store()
    body = cx.code("PLACE = E", PLACE=target, E=nest.items[0])
    lines = [*cx.code("NAME = E", NAME=name, E=rows), *_loops_around(nest, body, cx)]
    (original,) = cx.code("NAME = E", NAME=name, E=comprehension)
    checks = [c for loop in nest.loops for c in loop.checks]
    return [*setup, *guarded(checks, original, lines, cx)]


def zero_of_type(ty: ScalarType, cx: Context) -> ast.expr:
    """The zero of a type of list items, as an expression."""
    if not ty.weak:
        return cx.expr("T(0)", T=dtype_expr(ty.dtype, cx))
    return ast.Constant(_ZERO_ITEMS[ty.dtype])


def _common_dtype(types: set[ScalarType]) -> str | None:
    """The dtype of all types; None where they differ or there are none."""
    names = {t.dtype for t in types}
    return names.pop() if len(names) == 1 else None


def _axis_lengths(nest: ComprehensionNest, cx: Context) -> list[ast.expr]:
    """The length of each axis: the product of the trip counts of its loops."""
    return [product_of([loop.length for loop in axis], cx) for axis in nest.axes]


def _loops_around(nest: ComprehensionNest, body: list[ast.stmt], cx: Context) -> list[ast.stmt]:
    """The loops of the nest around `body`."""
    for loop in reversed(nest.loops):
        lines = [*loop.binds, *body]
        body = cx.code("for I in range(N): BODY", I=loop.variable, N=loop.length, BODY=lines)
    return body


def _dtype_given(argument: ast.expr, cx: Context) -> str | None:
    """The dtype that the argument ``dtype`` names; None where it is not known."""
    array = cx.fact(cx.expr("NP.empty(1, T)", NP=cx.numpy, T=argument)).array
    return None if array is None else array.dtype


def _filled_array(
    name: str, node: ast.Call, nest: ComprehensionNest, dtype: str,
    item_types: set[ScalarType] | None, cx: Context,
) -> list[ast.stmt]:
    """Statements that bind `name` to an array of the items of the nest. With a test, the array has
    room for all iterations and is cut to the count.

    `item_types`: if the dtype is that of the items, and not an argument, their types. The call is
    replayed where the result is empty and NumPy would make it one of floats, and where an axis is
    empty around an inner one, whose length NumPy does not see then; and where items may be ints or
    floats, but all are ints.
    """
    setup = cx.take_before()
    lengths = _axis_lengths(nest, cx)
    width = [] if nest.width is None else [ast.Constant(nest.width)]
    count = cx.fresh("n") if nest.test else None
    subscripts = (
        [ast.Name(count, ast.Load())]
        if count
        else [_flat_position(axis, cx) for axis in nest.axes]
    )
    ints = cx.fresh("ints") if int_or_float64(item_types or ()) else None
    body: list[ast.stmt] = []
    for k, e in enumerate(nest.items):
        index = [*subscripts, ast.Constant(k)] if width else subscripts
        body += store_noting_ints(_store_target(name, index, cx), e, ints, cx)
    if count and nest.test:
        text = "if TEST:\n    BODY\n    N = N + 1"
        body = cx.code(text, TEST=nest.test, BODY=body, N=count)
    body = _loops_around(nest, body, cx)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = [allocate_array(name, [*lengths, *width], dtype, cx), *body]
    inferred = item_types is not None and dtype != "f64"
    if count:
        lines[1:1] = cx.code("N = 0", N=count)
        lines += cx.code("NAME.resize(N, refcheck=False)", NAME=name, N=count)
        if inferred:
            lines += guarded([cx.expr("N == 0", N=count)], original, [ast.Pass()], cx)
            inferred = False
    if ints is not None:
        lines[1:1] = cx.code("INTS = True", INTS=ints)
        items = ast.Name(count, ast.Load()) if count else lengths[-1]
        lines += replay_if_all_ints(ints, items, original, [], cx)
    may_not_be_empty = lengths if inferred or width else lengths[:-1]
    checks = [c for loop in nest.loops for c in loop.checks]
    checks += [cx.expr("N < 1", N=n) for n in may_not_be_empty]
    return [*setup, *guarded(checks, original, lines, cx)]


def _flat_position(axis: Sequence[ComprehensionLoop], cx: Context) -> ast.expr:
    """The position along an axis, from the variables of its loops."""
    position: ast.expr = ast.Name(axis[0].variable, ast.Load())
    for loop in axis[1:]:
        inner = ast.Name(loop.variable, ast.Load())
        position = cx.expr("P * N + I", P=position, N=loop.length, I=inner)
    return position


def _store_target(name: str, at: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The target of a store, ``name[at]``."""
    index = at[0] if len(at) == 1 else ast.Tuple([*at], ast.Load())
    return copy_location(ast.Subscript(ast.Name(name, ast.Load()), index, ast.Store()), cx.at)


_ROW_STACKERS = tuple(n for n, row in FUNCTIONS.items() if row.joins and row.joins.rows)
"""Functions that make one array of a comprehension of rows."""


@fires_on(ast.Call, calls=numpy_callees(_ROW_STACKERS))
def stack_comprehension(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.stack([row for …])`` and its kin → an array filled row by row, of the first row's
    length. The call is replayed where there are no rows or their lengths differ.

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
        case ast.Call(func=func, args=[ast.ListComp() as comprehension], keywords=[]):
            function = numpy_function_name(func, cx)
        case _:
            return None
    if function not in _ROW_STACKERS or not cx.is_builtin("len", "range", "ValueError"):
        return None
    if is_suspending(comprehension) or bound_names(comprehension):
        return None
    if item_fact(cx.facts, comprehension).array is None:
        return None
    name, facts_before = cx.fresh("a"), dict(cx.facts.known)

    def make() -> list[ast.stmt] | None:
        nest = comprehension_nest(comprehension, cx)
        if nest is None or nest.test or nest.width is not None or len(nest.axes) > 1:
            return None
        return _stack_rows(name, node, nest, function == "column_stack", cx)

    try:
        return cx.bound_name(name, make)
    finally:
        cx.facts.known = facts_before


def _stack_rows(
    name: str, node: ast.Call, nest: ComprehensionNest, as_columns: bool, cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to an array with one row, or column (`as_columns`), for each
    iteration of a single loop. The first row is evaluated once more before the loop, for its
    length; rows of another length raise. None where a row is not surely a vector, or where its
    evaluation has effects; but rows of random numbers have a length that is known without them.
    """
    (row,) = nest.items
    row_type = cx.fact(row).array
    if row_type is None or row_type.rank != 1 or len(nest.loops) > 1:
        return None
    draw = array_draw_of(row, cx.facts.type_of, cx.resolve) if isinstance(row, ast.Call) else None
    is_drawn = draw is not None and cx.facts.is_invariant(draw.lengths[0]) and _is_independent(
        draw.lengths[0], nest.loops)
    if not is_drawn and not is_pure(row, cx.resolve):
        return None
    (loop,), setup = nest.loops, cx.take_before()
    size = cx.expr("N", N=cx.fresh("size"))
    text = """
        BINDS
        ROW = FIRST
        SIZE = len(ROW)
    """
    first_iteration: dict[str, str | ast.expr] = {loop.variable: ast.Constant(0)}
    binds = [rename_names(s, first_iteration) for s in loop.binds] or [ast.Pass()]
    first = cx.code(
        text, BINDS=binds, ROW=cx.fresh("row"), FIRST=rename_names(row, first_iteration), SIZE=size
    )
    if is_drawn and draw is not None:
        first = cx.code("SIZE = N", SIZE=size, N=draw.lengths[0])
    shape = [size, loop.length] if as_columns else [loop.length, size]
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
        SIZE=size, J=j, A=name, P=j if as_columns else i, Q=i if as_columns else j,
    )
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    statements = [s for s in (*first, allocate_array(name, shape, row_type.dtype, cx), *lines)]
    checks = [*loop.checks, cx.expr("N < 1", N=loop.length)]
    return [*setup, *guarded(checks, original, statements, cx)]
