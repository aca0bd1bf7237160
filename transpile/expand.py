"""Macro expansion: Python → core Python. The table of all macros, in order, and the driver.

Core Python is what the compiler takes: ``for`` over a range with a plain name, plain
assignment, ``if``, expressions over scalars and array elements, and lists filled by
``append``. It is still Python, and gives the same answer. The driver applies macros until none
of them has anything to do.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from .analysis.flow_facts import join_environments
from .analysis.liveness import (
    names_assigned,
    names_read,
    upward_exposed,
)
from .analysis.object_arguments import AttributeStores, replace_object_reads, store_at_exits
from .containers.array_lists import (
    array_list_append,
    array_list_length,
    array_list_stack,
    array_list_start,
)
from .containers.dict_scalars import scalarize_dicts
from .containers.hash_tables import table_creation
from .containers.list_construction import list_extend, new_list, returned_list
from .containers.list_elements import infer_list_items
from .containers.list_methods import list_method, list_pop, list_search, list_sort
from .containers.list_moves import list_move
from .containers.list_to_array import (
    list_argument,
    list_operand,
    list_store,
    tuple_list_comprehension,
    tuple_list_to_array,
)
from .containers.multimaps import multimap_read, multimap_update
from .containers.nested_lists import (
    infer_nested_lists,
    nested_list_append,
    nested_list_read,
    ragged_list_comprehension,
)
from .containers.rectangular_lists import columns_of_rows, copy_rows, row_lists_to_tuples, swap_rows
from .containers.split_webs import split_list_webs
from .containers.table_inference import infer_tables
from .containers.table_iteration import table_iteration, unnamed_table
from .containers.table_kinds import TABLE_TYPES, TABLES
from .containers.table_methods import table_lookup, table_update
from .frontend.ast_names import COMPREHENSIONS, names_used, rename_names
from .frontend.ast_walk import copy_tree, tree_key, walk_nodes
from .frontend.core_nodes import ReplayIf, copy_location, fix_missing_locations
from .frontend.language.assignment_forms import (
    annotated_assignment,
    augmented_assignment,
    chained_assignment,
    named_expression,
    unpacking_assignment,
    walrus_in_loop_conditions,
)
from .frontend.language.builtin_folds import (
    all_fold,
    any_fold,
    functools_reduce,
    minmax_by_key,
    minmax_fold,
    sum_fold,
)
from .frontend.language.comprehensions import collected_generator, list_comprehension, repeated_list
from .frontend.language.for_loops import for_loop, loop_over_changing_list
from .frontend.language.gamma_function import gamma_call
from .frontend.language.iterables import in_range_test, named_range
from .frontend.language.match_statement import match_statement
from .frontend.language.scalar_calls import (
    assert_statement,
    in_constants,
    scalar_call,
    scalar_identity,
)
from .frontend.language.structure_exits import structure_exits
from .frontend.language.try_except import try_statement
from .frontend.language.tuple_replacement import (
    constant_tuple,
    drop_dead_tuples,
    starred_tuple,
    tuple_assignment,
    tuple_comparison,
    tuple_expression,
    tuple_fold,
    tuple_item,
)
from .frontend.language.type_tests import class_alias, may_be_type_test, type_test
from .frontend.language.unroll_constants import unroll_constant_loop
from .frontend.language.while_to_for import while_to_for
from .frontend.macros.lift_statements import LiftedExpression, lift_statement
from .frontend.macros.macro_context import Context, ViewRule
from .frontend.macros.macro_index import Firing, fires_on
from .frontend.macros.macro_patterns import pattern_macro
from .frontend.macros.macro_trace import active_trace
from .frontend.macros.tree_contents import contents
from .numpy.creation.array_comprehensions import (
    array_comprehension,
    nested_list_comprehension,
    stack_comprehension,
)
from .numpy.creation.array_creation import random_array, reuse_filled_array
from .numpy.creation.array_literals import (
    array_literal,
    array_literal_temporary,
    cross_product,
    literal_argument,
    literal_store,
)
from .numpy.creation.concatenate import concatenate_arrays
from .numpy.elementwise.arange_linspace import sequence_view
from .numpy.elementwise.array_assignment import (
    array_assignment,
    array_inplace,
    array_store,
    array_temporary,
    branch_of_arrays,
    reuse_array_storage,
)
from .numpy.elementwise.bitmask_conversion import bitmask_conversion
from .numpy.elementwise.boolean_indexing import (
    mask_columns,
    mask_compress,
    mask_compress_temporary,
    mask_scatter,
    mask_store,
    nonzero_indices,
)
from .numpy.elementwise.elementwise_formulas import scalar_formula
from .numpy.elementwise.elementwise_ops import elementwise_view
from .numpy.elementwise.ufunc_out import fill_elements, ufunc_out
from .numpy.functions.array_identities import copyto, diff_trace
from .numpy.functions.call_identities import call_identity
from .numpy.functions.function_loops import function_loops, function_pair_loops
from .numpy.functions.view_identities import view_identity
from .numpy.gather_scatter import ufunc_at
from .numpy.indexing.basic_indexing import indexed_view, unit_slice
from .numpy.indexing.index_canonicalization import list_index_arrays, merge_subscripts, unpack_row
from .numpy.indexing.ndindex_loops import ndindex_loop, unravel_index
from .numpy.indexing.structured_arrays import split_fields
from .numpy.reduce.axis_reductions import array_moment, array_reduction, reduction_identity
from .numpy.reduce.axis_scans import array_arg_reduction, array_scan
from .numpy.reduce.einsum import array_einsum
from .numpy.reduce.matrix_products import matrix_product, outer_product
from .numpy.shape_ops import shape_operation
from .types.type_env import Env
from .types.value_types import ArrayType, ObjectType, RecordType, ScalarType

__all__ = [
    "Macro", "expand_only", "expand_function", "expand_try", "MACROS", "Context", "Env", "expand",
    "fires_on", "macro", "register", "registered",
]

Macro: TypeAlias = Callable[[ast.AST, Context], "list[ast.stmt] | ast.expr | None"]
"""From a statement the statements, or from an expression the expression, that replace it."""


def expand_function(
    macros: Sequence[Macro],
    tree: ast.FunctionDef,
    env: Env,
    stored: AttributeStores = MappingProxyType({}),
    changed: Collection[str] = (),
) -> ast.FunctionDef:
    """A copy of `tree` with `macros` applied, the earlier ones first, and attributes `stored` in
    the end; positions are kept. What local functions bind that are still called is ``changed``.
    """
    given, tree, holds = _input_names(tree, env), copy_tree(tree), contents(tree)
    if holds.has(ast.While) and holds.has(ast.NamedExpr):
        walrus_in_loop_conditions(tree)
    asked: dict[Hashable, ast.stmt] = {}
    # before ways out become flags, for some may be gone
    first = [m for m in (type_test, match_statement, try_statement) if m in macros]
    if first and (may_be_type_test(holds, env) or holds.has(ast.Match, ast.Try)):
        tree.body = _Driver(first, Context(tree, env, asked, changed, VIEW_RULES)).block(tree.body)
    cx = Context(tree, env, asked, changed, VIEW_RULES)
    if holds.has(*TABLES) or holds.may_call(TABLE_TYPES, cx.resolve):
        infer_tables(tree, cx, lambda look: expand_only([look], tree, env))
    lists = holds.has(ast.List, ast.ListComp) or "append" in holds.methods
    if lists:
        infer_nested_lists(tree, cx)
    if lists or holds.called & {"list", "sorted"} or cx.facts.tuple_lists:
        infer_list_items(tree, cx, lambda look: expand_only([look], tree, env))
    if holds.leaving:
        structure_exits(tree, cx)
    cx.facts.learn(tree)
    tree.body = _Driver(macros, cx).block(tree.body)
    if cx.facts.taken_apart:
        drop_dead_tuples(tree.body, cx.facts.taken_apart)
    if stored:
        store_at_exits(tree, stored)
    for name in sorted(given - names_read(tree.body)):  # what was made of it goes by its type
        cx.ask(ast.Name(name, ast.Load()))
    tree.body[:0] = [*asked.values(), *_lengths(cx)]
    return fix_missing_locations(tree)


def _lengths(cx: Context) -> list[ast.stmt]:
    """Leaves to Python the calls where an axis is not of length 1 as it was taken to be."""
    axes = ((cx.expr(name), ast.Constant(k)) for name, ks in cx.facts.ones.items() for k in ks)
    asked = [tree_key(s) for s in cx.tree.body]
    tests = (cx.expr("X.shape[K] != 1", X=x, K=k) for x, k in axes)
    made = [copy_location(ReplayIf(test, [ast.Pass()], []), test) for test in tests]
    return [s for s in made if tree_key(s) not in asked]


def _input_names(tree: ast.FunctionDef, env: Env) -> set[str]:
    """The parameters, and the free arrays and numbers, that `tree` reads."""
    given = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    read = upward_exposed(tree.body)
    within = [n for n in walk_nodes(*tree.body) if isinstance(n, (*COMPREHENSIONS, ast.Lambda))]
    inner = {name for n in within for name in names_used(n)}
    given = {n for n in given & read if n not in inner or _is_read(n, tree.body)}
    types = {n: env.type(ast.Name(n, ast.Load())) for n in read - inner - names_assigned(tree.body)}
    return given | {n for n, ty in types.items() if isinstance(ty, (ArrayType, ScalarType))}


def _is_read(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether `body` reads `name`, which may be another one in an inner scope."""
    return "" in upward_exposed([rename_names(s, {name: ""}) for s in body])


def expand_only(macros: Sequence[Macro], tree: ast.FunctionDef, env: Env) -> ast.FunctionDef:
    """A copy of `tree` with nothing but `macros` applied: its ways out stay what they are."""
    tree = copy_tree(tree)
    asked: dict[Hashable, ast.stmt] = {}
    body = _Driver(macros, Context(tree, env, asked, view_rules=VIEW_RULES)).block(tree.body)
    tree.body = [*asked.values(), *body]
    return fix_missing_locations(tree)


def expand_try(
    body: list[ast.stmt], before: Sequence[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """`body`, which runs behind `before`, with each ``try`` that is known as questions."""
    if not any(isinstance(n, ast.Try) for n in walk_nodes(*body)):
        return body
    outer, known = cx.expand, dict(cx.facts.known)
    try:
        for s in before:
            cx.facts.record(s)
        return _Driver([try_statement], cx).block([copy_tree(s) for s in body])
    finally:
        cx.expand, cx.facts.known = outer, known


_ENDS = ast.Return, ast.Raise, ast.Break, ast.Continue


class _Driver:
    def __init__(self, macros: Sequence[Macro], cx: Context) -> None:
        self.firing = Firing(macros)
        self.cx = cx
        self.trace = active_trace()
        cx.expand = self.block

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            out += self.statement(s)
            if out and isinstance(out[-1], _ENDS):  # of what types decide, the rest is gone
                break
        return out

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        facts = self.cx.facts
        before, names = dict(facts.known), facts.bind_within(s)
        new = self._replaced(s)
        if new is not None:  # what is left binds them in its turn
            for name in names:
                facts.known.pop(name, None)
            facts.known |= {n: before[n] for n in names if n in before}
            return self.block(new)
        self._descend(s)
        return [s]

    def _replaced(self, s: ast.stmt) -> list[ast.stmt] | None:
        self.cx.at = self.cx.within = s
        trace = self.trace
        if trace is not None:
            if trace.exhausted:
                return None
            text = trace.before(s)
        for macro in self.firing.asked(s, self.cx):
            new = macro(s, self.cx)
            if isinstance(new, list):
                if trace is not None:
                    trace.fired(macro, s, text, new)
                return new
        return lift_statement(s, self.cx, self._rewrite)

    def _rewrite(self, e: ast.expr) -> LiftedExpression | None:
        outer, self.cx.at = self.cx.at, e
        trace = self.trace
        if trace is not None:
            if trace.exhausted:
                return None
            text = trace.before(e)
        try:
            for macro in self.firing.asked(e, self.cx):
                new = macro(e, self.cx)
                if isinstance(new, ast.expr):
                    before = self.cx.take_before()
                    if trace is not None:
                        trace.fired(macro, e, text, [*before, new])
                    return LiftedExpression(before, new)
        finally:
            self.cx.at = outer
        return None

    def _descend(self, s: ast.stmt) -> None:
        """Expands the blocks of a compound statement; facts follow the flow."""
        facts = self.cx.facts
        match s:
            case ast.For() | ast.AsyncFor() | ast.While():
                before = dict(facts.known)
                facts.enter(s)
                with facts.turn() as left:
                    s.body = self._inside(s.body)
                facts.known = join_environments(before, facts.known)
                s.orelse = self.block(s.orelse)
                facts.known = join_environments(facts.known, left)
            case ReplayIf():
                s.orelse = self.block(s.orelse)
            case ast.If():
                before = dict(facts.known)
                s.body = self._inside(s.body)
                after, facts.known = facts.known, before
                s.orelse = self._inside(s.orelse)
                facts.known = join_environments(after, facts.known)
            case ast.With() | ast.AsyncWith():
                facts.record(s)
                s.body = self.block(s.body)
            case _:
                facts.record(s)

    def _inside(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`block`, which stands in a loop or branch."""
        self.cx.depth += 1
        out = self.block(block)
        self.cx.depth -= 1
        return out


MACROS: tuple[Macro, ...] = (
    match_statement,            # match i: case 0
    try_statement,              # try: t = 1 / n
    type_test,                  # x is None, isinstance(n, int), mode == "same"
    class_alias,                # T = type(x[0])
    multimap_update,            # d.setdefault(i, []).append(s), for i, w in d.items()
    multimap_read,              # sum(d[i])
    table_creation,             # d = {}, s = {i, j}, Counter(x)
    table_update,               # d[i] = s, d[i] += 1, s.add(i)
    table_lookup,               # d[i], d.get(i, 0), i in d, len(d)
    table_iteration,            # d.items(), sorted(d), max(d, key=d.get)
    unnamed_table,              # len(set(x))
    branch_of_arrays,           # u = x if s > 0 else y
    list_move,                  # a = b, a, b = b, a
    swap_rows,                  # M[i], M[j] = M[j], M[i]
    copy_rows,                  # [row[:] for row in M]
    columns_of_rows,            # [sum(c) for c in zip(*M)]
    array_list_start,           # u = [x.copy()]
    array_list_append,          # u.append(x)
    array_list_stack,           # np.array(u)
    array_list_length,          # len(u)
    nested_list_append,         # w.append([v for v in x])
    nested_list_read,           # w[-1], len(w)
    list_argument,              # np.mean(w)
    list_operand,               # x * w
    list_store,                 # x[:2] = w
    tuple_list_to_array,        # np.array(w)
    tuple_list_comprehension,   # w = [(v, i) for …]
    new_list,                   # a = xs[1:], list(range(n)), [s] + xs
    list_extend,                # a += [v * 2 for v in x]
    list_pop,                   # a.pop(i), del a[i]
    list_sort,                  # a.sort(), sorted(x)
    list_method,                # a.reverse(), a.insert(0, s), a.remove(s)
    named_expression,           # (t := e)
    annotated_assignment,       # s: float = 0.0
    chained_assignment,         # a = b = e
    assert_statement,           # assert x > 0
    tuple_assignment,           # t = i, j
    unpacking_assignment,       # a, b = b, a
    unpack_row,                 # a, b = X[i]
    augmented_assignment,       # a[i] += e
    named_range,                # r = range(n)
    in_range_test,              # i in range(n)
    in_constants,               # i in (1, 2)
    list_search,                # s in a, a.count(s), a.index(s)
    scalar_call,                # pow(x, y), divmod(i, j), math.gcd(i, j)
    scalar_formula,             # np.round(s, 2), s.clip(0, 1)
    gamma_call,                 # math.lgamma(x), math.gamma(x)
    scalar_identity,            # math.degrees(x), np.iinfo(np.int64).max
    literal_argument,           # np.max([s, t]), np.convolve(x, [1, 2, 1])
    reuse_array_storage,        # for …: u = u + x
    unit_slice,                 # u = X[:, i:i + 1]
    reuse_filled_array,         # for …: u = np.zeros(n)
    array_assignment,           # u = x * 2 + y
    array_literal,              # u = np.array([s, t])
    cross_product,              # u = np.cross(x, y)
    mask_compress,              # u = x[x > s], np.flatnonzero(m)
    nonzero_indices,            # i, j = np.nonzero(X)
    mask_columns,               # X[:, x > s]
    mask_store,                 # x[x > s] = 0
    mask_scatter,               # x[x > s] = y
    literal_store,              # X[i] = s, t
    array_store,                # X[i] = y
    ufunc_at,                   # np.add.at(x, k, y)
    copyto,                     # np.copyto(x, y)
    array_inplace,              # x += y
    fill_elements,              # x.fill(1), np.copyto(x, y, where=m)
    ufunc_out,                  # np.add(x, y, out=z)
    ndindex_loop,               # for i, j in np.ndindex(X.shape), for v in X.flat
    unroll_constant_loop,       # for d in (-1, 0, 1)
    while_to_for,               # while i < n: …; i += 1
    loop_over_changing_list,    # for v in a: a.append(v)
    for_loop,                   # for v in x, enumerate, zip, reversed
    tuple_fold,                 # min(X.shape)
    tuple_comparison,           # (i, j) < (k, 0)
    starred_tuple,              # range(*t)
    tuple_item,                 # t[0]
    tuple_expression,           # t, t[:1], t + (0,)
    constant_tuple,             # MOVES
    merge_subscripts,           # x[i][j]
    list_index_arrays,          # x[[0, 2]], X[np.ix_(k, k)]
    sum_fold,                   # sum(e for v in x if c)
    functools_reduce,           # reduce(lambda a, b: a * b, x)
    minmax_by_key,              # min(range(n), key=lambda i: x[i]), max((v, i) for …)
    minmax_fold,                # min(x), max(e for v in x)
    any_fold,                   # any(e for v in x)
    all_fold,                   # all(e for v in x)
    view_identity,              # np.flip(X, 1), np.asarray(x)
    call_identity,              # np.nanmean(x), np.allclose(x, y)
    reduction_identity,         # np.add.reduce(x), x.sum(dtype=np.float64)
    array_reduction,            # np.sum(X, axis=0), x.max()
    array_moment,               # np.var(x), np.ptp(x)
    array_scan,                 # np.cumsum(x), np.maximum.accumulate(x)
    array_arg_reduction,        # np.argmin(x), x.argmax()
    matrix_product,             # X @ Y, np.dot(x, y), np.inner(x, y)
    array_einsum,               # np.einsum("ij,jk->ik", X, Y)
    function_loops,             # np.searchsorted(x, v), np.bincount(k)
    function_pair_loops,        # h, e = np.histogram(x)
    unravel_index,              # i, j = np.unravel_index(k, X.shape)
    outer_product,              # np.outer(x, y)
    concatenate_arrays,         # np.concatenate((x, y)), np.stack
    bitmask_conversion,         # ops.to_bitmask(x > 0), ops.from_bitmask(m, 8)
    shape_operation,            # np.expand_dims(x, 0), X.squeeze(1), np.argmin(X)
    diff_trace,                 # np.diff(x), np.trace(X), np.roll(x, 1)
    array_literal_temporary,    # f(np.array([s, t]))
    mask_compress_temporary,    # f(x[x > s])
    random_array,               # rng.normal(size=n)
    array_temporary,            # f(x + 1)
    stack_comprehension,        # np.vstack([x[i : i + 3] for i in range(n)])
    array_comprehension,        # np.array([e for v in x])
    collected_generator,        # list(e for v in x)
    nested_list_comprehension,  # [[i * j for j in range(m)] for i in x]
    ragged_list_comprehension,  # [[i for i in range(j)] for j in range(n)]
    repeated_list,              # [0 for _ in range(n)]
    returned_list,              # return a[::-1]
    list_comprehension,         # [e for v in x if c]
)

VIEW_RULES: tuple[ViewRule, ...] = (
    elementwise_view,  # x * 2 + y, np.sqrt(x)
    indexed_view,      # x[1:n], X[i], X[:, None], x[k]
    sequence_view,     # np.arange(n), np.linspace(a, b, n)
)
"""What `numpy.array_views.view_of` asks in turn. The rules view their operands by `view_of`, so
`Context` hands them on: an import of them there would be a cycle.
"""

_registered: list[Macro] = []


def expand(
    tree: ast.FunctionDef, env: Env, *others: Macro, changed: Collection[str] = ()
) -> ast.FunctionDef:
    """The function in core Python, as far as the macros know how; `tree` is left as it is.

    `others` are asked before those of this package. ``changed``: names of the function that local
    functions bind, whose calls `others` replace.
    """
    holds = contents(tree)
    given = holds.names | {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    types = {type(env.type(ast.Name(name, ast.Load()))) for name in given}
    stored: AttributeStores = {}
    if holds.bare or holds.has(ast.Dict):
        tree = scalarize_dicts(tree, env)
    if ObjectType in types:
        tree, stored = replace_object_reads(tree, env)
    if RecordType in types:
        tree = split_fields(tree, env)
    if holds.methods:
        tree = split_list_webs(tree, env)
    if holds.has(ast.List):
        tree = row_lists_to_tuples(tree)
    return expand_function((*_registered, *others, *MACROS), tree, env, stored, changed)


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
