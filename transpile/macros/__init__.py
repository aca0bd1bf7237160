"""AST macros: Python → core Python, one line each.

Core Python is what the compiler takes: ``for`` over a range with a plain name, plain assignment,
``if``, expressions over scalars and array elements, and lists filled by ``append``. It is still
Python, and gives the same answer.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from ..below import below
from ..types import ObjectType, RecordType
from .applied import number_told
from .arraylists import array_appended, arrays_counted, arrays_listed, arrays_stacked
from .arrays import array_assigned, array_augmented, array_stored, array_value
from .assignments import annotated, augmented, chained, unpacked
from .attempts import attempted
from .attributes import Stored
from .bitmasks import bitmask
from .branched import array_branched
from .choosing import best_chosen
from .classes import class_named
from .collecting import array_collected, list_nested
from .compared import tuple_compared
from .comprehensions import collected, list_comprehension, list_repeated
from .contents import contents
from .context import Context
from .counted import while_counted
from .deciding import decided
from .dicts import dicts_apart
from .displays import array_crossed, array_displayed, array_spelled, display_stored
from .drawn import array_drawn
from .driver import Macro, expand_with
from .einsum import array_einsum
from .env import Env
from .few import few_walked
from .fields import fields_named
from .filling import array_filled
from .finding import list_found, list_turned
from .firing import fires_on
from .folds import all_fold, any_fold, minmax_fold, sum_fold
from .gamma import number_gamma
from .given import display_given
from .grouped import groups_filled, groups_read
from .holding import array_spread, columns_masked, places_found
from .joining import array_joined
from .listarrays import list_as_array, list_operand, list_stored
from .listing import list_extended, list_made, list_returned
from .listsapart import lists_apart
from .loops import for_loop, list_walked
from .masking import array_chosen, array_cut, array_masked
from .matching import matched
from .moments import array_moment
from .moving import list_moved
from .nestedlists import lists_appended, lists_collected, lists_read
from .numbers import asserted, number_called, number_in
from .numeric import number_said
from .objects import held_named
from .patterns import pattern_macro
from .products import array_outer, array_product
from .ranges import in_range, named_range
from .rebound import array_rebound
from .reduced import array_reduced
from .reducing import list_reduced
from .reductions import array_fold
from .respelled import array_respelled
from .rewriting import array_copied, array_said
from .rowlists import columns_walked, rows_copied, rows_swapped
from .rows import row_unpacked
from .rowtuples import rows_as_tuples
from .running import array_place, array_scan
from .sayings import array_told
from .scattering import array_scattered
from .shaping import array_shaped
from .shifting import list_shifted
from .single import slice_single
from .sorting import list_sorted
from .stacking import array_rows
from .subscripts import lists_indexed, row_element
from .tableasked import table_asked
from .tablechanged import table_changed
from .tablemade import table_made
from .tablewalked import table_given, table_walked
from .tuplelists import tuples_listed, tuples_stacked
from .tuples import (
    tuple_asked,
    tuple_item,
    tuple_known,
    tuple_named,
    tuple_spelled,
    tuple_spliced,
)
from .unravelled import place_unravelled
from .walks import places_walked
from .walrus import walrus
from .worked import array_paired, array_worked
from .written import array_written, elements_written

__all__ = [
    "MACROS", "Context", "Env", "Macro", "expand", "fires_on", "macro", "register", "registered",
]

MACROS: tuple[Macro, ...] = (
    matched,             # match i: case 0
    attempted,           # try: t = 1 / n
    decided,             # x is None, isinstance(n, int), mode == "same"
    class_named,         # T = type(x[0])
    groups_filled,       # d.setdefault(i, []).append(s), for i, w in d.items()
    groups_read,         # sum(d[i])
    table_made,          # d = {}, s = {i, j}, Counter(x)
    table_changed,       # d[i] = s, d[i] += 1, s.add(i)
    table_asked,         # d[i], d.get(i, 0), i in d, len(d)
    table_walked,        # d.items(), sorted(d), max(d, key=d.get)
    table_given,         # len(set(x))
    array_branched,      # u = x if s > 0 else y
    list_moved,          # a = b, a, b = b, a
    rows_swapped,        # M[i], M[j] = M[j], M[i]
    rows_copied,         # [row[:] for row in M]
    columns_walked,      # [sum(c) for c in zip(*M)]
    arrays_listed,       # u = [x.copy()]
    array_appended,      # u.append(x)
    arrays_stacked,      # np.array(u)
    arrays_counted,      # len(u)
    lists_appended,      # w.append([v for v in x])
    lists_read,          # w[-1], len(w)
    list_as_array,       # np.mean(w)
    list_operand,        # x * w
    list_stored,         # x[:2] = w
    tuples_stacked,      # np.array(w)
    tuples_listed,       # w = [(v, i) for …]
    list_made,           # a = xs[1:], list(range(n)), [s] + xs
    list_extended,       # a += [v * 2 for v in x]
    list_shifted,        # a.insert(0, s), a.pop(i), del a[i], a.remove(s)
    list_sorted,         # a.sort(), sorted(x)
    list_turned,         # a.reverse()
    walrus,              # (t := e)
    annotated,           # s: float = 0.0
    chained,             # a = b = e
    asserted,            # assert x > 0
    tuple_named,         # t = i, j
    unpacked,            # a, b = b, a
    row_unpacked,        # a, b = X[i]
    augmented,           # a[i] += e
    named_range,         # r = range(n)
    in_range,            # i in range(n)
    number_in,           # i in (1, 2)
    list_found,          # s in a, a.count(s), a.index(s)
    number_called,       # pow(x, y), divmod(i, j), math.gcd(i, j)
    number_told,         # np.round(s, 2), s.clip(0, 1)
    number_gamma,        # math.lgamma(x), math.gamma(x)
    number_said,         # math.degrees(x), np.iinfo(np.int64).max
    display_given,       # np.max([s, t]), np.convolve(x, [1, 2, 1])
    array_rebound,       # for …: u = u + x
    slice_single,        # u = X[:, i:i + 1]
    array_filled,        # for …: u = np.zeros(n)
    array_assigned,      # u = x * 2 + y
    array_displayed,     # u = np.array([s, t])
    array_crossed,       # u = np.cross(x, y)
    array_chosen,        # u = x[x > s], np.flatnonzero(m)
    places_found,        # i, j = np.nonzero(X)
    columns_masked,      # X[:, x > s]
    array_masked,        # x[x > s] = 0
    array_spread,        # x[x > s] = y
    display_stored,      # X[i] = s, t
    array_stored,        # X[i] = y
    array_scattered,     # np.add.at(x, k, y)
    array_copied,        # np.copyto(x, y)
    array_augmented,     # x += y
    elements_written,    # x.fill(1), np.copyto(x, y, where=m)
    array_written,       # np.add(x, y, out=z)
    places_walked,       # for i, j in np.ndindex(X.shape), for v in X.flat
    few_walked,          # for d in (-1, 0, 1)
    while_counted,       # while i < n: …; i += 1
    list_walked,         # for v in a: a.append(v)
    for_loop,            # for v in x, enumerate, zip, reversed
    tuple_asked,         # min(X.shape)
    tuple_compared,      # (i, j) < (k, 0)
    tuple_spliced,       # range(*t)
    tuple_item,          # t[0]
    tuple_spelled,       # t, t[:1], t + (0,)
    tuple_known,         # MOVES
    row_element,         # x[i][j]
    lists_indexed,       # x[[0, 2]], X[np.ix_(k, k)]
    sum_fold,            # sum(e for v in x if c)
    list_reduced,        # reduce(lambda a, b: a * b, x)
    best_chosen,         # min(range(n), key=lambda i: x[i]), max((v, i) for …)
    minmax_fold,         # min(x), max(e for v in x)
    any_fold,            # any(e for v in x)
    all_fold,            # all(e for v in x)
    array_respelled,     # np.flip(X, 1), np.asarray(x)
    array_told,          # np.nanmean(x), np.allclose(x, y)
    array_reduced,       # np.add.reduce(x), x.sum(dtype=np.float64)
    array_fold,          # np.sum(X, axis=0), x.max()
    array_moment,        # np.var(x), np.ptp(x)
    array_scan,          # np.cumsum(x), np.maximum.accumulate(x)
    array_place,         # np.argmin(x), x.argmax()
    array_product,       # X @ Y, np.dot(x, y), np.inner(x, y)
    array_einsum,        # np.einsum("ij,jk->ik", X, Y)
    array_worked,        # np.searchsorted(x, v), np.bincount(k)
    array_paired,        # h, e = np.histogram(x)
    place_unravelled,    # i, j = np.unravel_index(k, X.shape)
    array_outer,         # np.outer(x, y)
    array_joined,        # np.concatenate((x, y)), np.stack
    bitmask,             # ops.to_bitmask(x > 0), ops.from_bitmask(m, 8)
    array_shaped,        # np.expand_dims(x, 0), X.squeeze(1), np.argmin(X)
    array_said,          # np.diff(x), np.trace(X), np.roll(x, 1)
    array_spelled,       # f(np.array([s, t]))
    array_cut,           # f(x[x > s])
    array_drawn,         # rng.normal(size=n)
    array_value,         # f(x + 1)
    array_rows,          # np.vstack([x[i : i + 3] for i in range(n)])
    array_collected,     # np.array([e for v in x])
    collected,           # list(e for v in x)
    list_nested,         # [[i * j for j in range(m)] for i in x]
    lists_collected,     # [[i for i in range(j)] for j in range(n)]
    list_repeated,       # [0 for _ in range(n)]
    list_returned,       # return a[::-1]
    list_comprehension,  # [e for v in x if c]
)

_registered: list[Macro] = []


def expand(
    tree: ast.FunctionDef, env: Env, *others: Macro, changed: Collection[str] = ()
) -> ast.FunctionDef:
    """The function in core Python, as far as the macros know how; `tree` is left as it is.

    `others` are asked before those of this package. ``changed``: names of the function that local
    functions bind, whose calls `others` replace.
    """
    holds = contents(tree)
    given = holds.names | {a.arg for a in below(tree.args) if isinstance(a, ast.arg)}
    types = {type(env.type(ast.Name(name, ast.Load()))) for name in given}
    stored: Stored = {}
    if holds.bare or holds.has(ast.Dict):
        tree = dicts_apart(tree, env)
    if ObjectType in types:
        tree, stored = held_named(tree, env)
    if RecordType in types:
        tree = fields_named(tree, env)
    if holds.methods:
        tree = lists_apart(tree, env)
    if holds.has(ast.List):
        tree = rows_as_tuples(tree)
    return expand_with((*_registered, *others, *MACROS), tree, env, stored, changed)


def registered() -> tuple[Macro, ...]:
    """The macros that were registered."""
    return (*_registered,)


def register(macro: Macro) -> Macro:
    """Adds a macro of your own, asked before the built-in ones; usable as a decorator.

    It is called with each statement and each expression of a function, and a Context, and returns
    None, or what stands in its place: a list of statements for a statement, an expression for an
    expression (`Context.before` takes statements that must run first). What it returns is expanded
    in turn. It must mean the same in Python. Functions that are compiled already stay as they are.
    With `fires_on` it is called only where it says that it may have something to do::

        @macros.register
        @macros.fires_on(ast.Call)
        def square(node, cx):
            match node:
                case ast.Call(func=ast.Name(id="square"), args=[a]):
                    return cx.expr("A * A", A=a)
    """
    _registered.append(macro)
    return macro


def macro(
    pattern: str | Macro, expansion: str | None = None
) -> Macro | Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Teaches the compiler what a piece of Python means: a pattern, and Python that is the same.

    Names in capitals are holes. The expansion is a function of them that returns one expression, or
    text, which may be a statement where the pattern is one; a hole that stands alone in a block is
    the block. Other names mean what they mean where the macro is written; where they mean anything
    else in a function, it does not apply::

        @macro("scipy.special.expit(A)")
        def expit(A):
            return 1.0 / (1.0 + np.exp(-A))

        macro("for I in pairs(N): BODY", "for I in range(0, N, 2): BODY")

    What stands in a hole is evaluated once, and before what stands right of it. Given a function of
    a node and a Context, it is `register`. Raises ValueError where the two do not fit together.
    """
    if not isinstance(pattern, str):
        return register(pattern)
    if expansion is not None:
        return register(pattern_macro(pattern, expansion, 2))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        register(pattern_macro(pattern, function))
        return function

    return decorate
