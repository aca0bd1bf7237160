"""Macro expansion: Python → core Python. The table of all macros, in order.

Core Python is what lowering takes: ``for`` over a range with a plain name, plain assignment,
``if``, expressions over scalars and array elements, and lists filled by ``append``. It is still
Python, and gives the same answer::

    y = x * 2                              y = _np.empty(x.shape[0])
                                   →       for _i in range(x.shape[0]):
                                               y[_i] = x[_i] * 2

A macro is a function from a node to what replaces it, or None. `expand` (called by
`transpile.pipeline`) works in three steps:

1. Rewrites of the whole function: arguments that are dicts, objects or arrays of records become
   plain names; lists with several meanings are split.
2. Inference over the whole function: which dicts are hash tables, which lists are lists of arrays
   or of lists; loops get one exit (`expand_function`).
3. `MacroDriver` walks over the statements in order and keeps the facts about the local names. The
   first macro of `MACROS` that fires on a node replaces it; the replacement is expanded in turn,
   until no macro fires. What remains unknown, lowering refuses.
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Hashable, Sequence
from types import MappingProxyType

from .analysis.liveness import names_assigned, names_read, upward_exposed
from .analysis.type_inference.flow_facts import analyse_function, record_facts
from .analysis.type_inference.tuple_types import scalarized_tuples
from .containers import (
    array_lists,
    linked_rows,
    list_construction,
    list_methods,
    list_moves,
    numpy_list_operands,
    ragged_lists,
    rectangular_lists,
    zipped_rows,
)
from .containers.appended_rows import appended_rows_to_arrays
from .containers.list_elements import infer_list_items
from .containers.none_lists import none_lists_to_appends
from .containers.split_webs import split_list_webs
from .containers.tables import dict_methods, hash_tables, multimaps, table_iteration
from .containers.tables.dict_scalars import scalarize_dicts
from .containers.tables.table_inference import infer_tables, shared_names
from .containers.tables.table_kinds import TABLE_TYPES, TABLES
from .frontend.ast_names import COMPREHENSIONS, names_used, rename_names
from .frontend.ast_walk import copy_tree, tree_key, walk_nodes
from .frontend.core_nodes import ReplayIf, copy_location, fix_missing_locations
from .frontend.iterators import (
    builtin_folds,
    comprehensions,
    endless_while,
    for_loops,
    iterables,
    itertools_loops,
    while_to_for,
)
from .frontend.language import (
    assignment_forms,
    finally_block,
    gamma_function,
    match_statement,
    scalar_calls,
    try_except,
    tuple_replacement,
    type_tests,
    unroll_constants,
)
from .frontend.language.structure_exits import structure_exits
from .frontend.macros.macro_context import Context, Macro, ViewRule
from .frontend.macros.macro_driver import MacroDriver
from .frontend.macros.macro_index import fires_on
from .frontend.macros.macro_patterns import macro, register, registered
from .frontend.macros.tree_summary import TreeSummary, summarize_tree
from .frontend.specialize.attribute_promotion import AttributeStores, store_at_exits
from .frontend.specialize.object_arguments import MemberReplacer, replace_object_reads
from .numpy import array_attributes, gather_scatter, numpy_errors, shape_ops
from .numpy.creation import (
    allocation_forms,
    array_comprehensions,
    array_creation,
    array_literals,
    concatenate,
)
from .numpy.elementwise import (
    arange_linspace,
    array_assignment,
    bitmask_conversion,
    boolean_indexing,
    elementwise_formulas,
    elementwise_ops,
    nonzero_indices,
    ufunc_out,
)
from .numpy.function_table import ARRAY_OF_LIST
from .numpy.functions import (
    array_identities,
    call_identities,
    function_loops,
    grid_slices,
    view_identities,
)
from .numpy.indexing import basic_indexing, index_canonicalization, ndindex_loops
from .numpy.indexing.structured_arrays import split_fields
from .numpy.reduce import axis_reductions, axis_scans, einsum, matrix_products
from .types.type_env import Env
from .types.value_types import ArrayType, ListType, ObjectType, RecordType, ScalarType

__all__ = [
    "Macro", "expand_only", "expand_function", "expand_try", "MACROS", "Context", "Env", "expand",
    "fires_on", "macro", "register", "registered",
]


def expand_function(
    macros: Sequence[Macro],
    tree: ast.FunctionDef,
    env: Env,
    stored: AttributeStores = MappingProxyType({}),
    written_by_closures: Collection[str] = (),
    members: MemberReplacer | None = None,
) -> ast.FunctionDef:
    """A copy of `tree` with `macros` applied, the earlier ones first; positions are kept. Steps 2
    and 3 of the module's docstring: branches that the types exclude are removed; containers are
    inferred; loops and the function get one exit; all macros are applied; tuples of which only the
    items are used are dropped; and inputs that only macros have read are guarded.

    ``stored``: attributes of arguments that are kept in names, and are stored where the function is
    left. ``written_by_closures``: as for `expand`. ``members``: see `replace_object_reads`.
    """
    inputs, tree, summary = _input_names(tree, env), copy_tree(tree), summarize_tree(tree)
    if summary.has(ast.While) and summary.has(ast.NamedExpr):
        assignment_forms.walrus_in_loop_conditions(tree)
    prologue: dict[Hashable, ast.stmt] = {}
    # types may exclude branches: these are removed before structure_exits makes flags for their
    # breaks and returns
    branching = (
        type_tests.type_test, match_statement.match_statement, try_except.try_statement,
        finally_block.finally_statement,
    )
    early = [m for m in branching if m in macros]
    if early and (type_tests.may_be_type_test(summary, env) or summary.has(ast.Match, ast.Try)):
        early_cx = Context(tree, env, prologue, written_by_closures, VIEW_RULES)
        early_cx.members = members
        tree.body = MacroDriver(early, early_cx).block(tree.body)
    cx = Context(tree, env, prologue, written_by_closures, VIEW_RULES)
    cx.members = members
    if summary.has(ast.List) and summary.has(ast.BinOp) and none_lists_to_appends(tree, cx):
        summary = summarize_tree(tree)
    _infer_containers(tree, summary, cx, env)
    if summary.has_early_exit or summary.has(ast.Try):  # whose raises leave loops
        structure_exits(tree, cx)
    analyse_function(cx.facts, tree)
    tree.body = MacroDriver(macros, cx).block(tree.body)
    if stored:
        store_at_exits(tree, stored)
    if scalarized_tuples(cx.facts):
        tuple_replacement.drop_dead_tuples(tree.body, scalarized_tuples(cx.facts))
    # an input that only decided what the code became must still be checked at each call
    for name in sorted(inputs - names_read(tree.body)):
        cx.guard(ast.Name(name, ast.Load()))
    tree.body[:0] = [*prologue.values(), *_unit_length_guards(cx)]
    return fix_missing_locations(tree)


def _infer_containers(tree: ast.FunctionDef, summary: TreeSummary, cx: Context, env: Env) -> None:
    """Puts into the facts of `cx` which dicts and sets are hash tables, and what the items of lists
    are. May rewrite `tree`.
    """
    if summary.has(*TABLES) or summary.may_call(TABLE_TYPES, cx.resolve):
        infer_tables(tree, cx, lambda visitor: expand_only([visitor], tree, env))
    has_lists = summary.has(ast.List, ast.ListComp) or "append" in summary.methods
    if "append" in summary.methods and summary.may_call(ARRAY_OF_LIST, cx.resolve):
        appended_rows_to_arrays(tree, cx, lambda visitor: expand_only([visitor], tree, env))
    if has_lists:
        ragged_lists.infer_ragged_lists(tree, cx)
    if summary.has(ast.ListComp) and "append" in summary.methods:
        linked_rows.infer_linked_rows(tree, sorted(cx.facts.local_names - shared_names(tree)), cx)
    if has_lists or summary.called & {"list", "sorted"} or cx.facts.tuple_lists:
        infer_list_items(tree, cx, lambda visitor: expand_only([visitor], tree, env))


def _unit_length_guards(cx: Context) -> list[ast.stmt]:
    """A replay guard for each axis whose length was assumed to be 1
    (``facts.assumed_unit_length_axes``), as ``if x.shape[0] != 1``; none that the function has
    already.
    """
    assumed = cx.facts.assumed_unit_length_axes
    if not assumed:
        return []
    axes = ((cx.expr(name), ast.Constant(k)) for name, ks in assumed.items() for k in ks)
    present = [tree_key(s) for s in cx.tree.body]
    tests = (cx.expr("X.shape[K] != 1", X=x, K=k) for x, k in axes)
    guards = [copy_location(ReplayIf(test, [ast.Pass()], []), test) for test in tests]
    return [s for s in guards if tree_key(s) not in present]


def _input_names(tree: ast.FunctionDef, env: Env) -> set[str]:
    """The inputs of `tree`: the parameters that it reads, and the arrays and numbers outside of it.
    `expand_function` guards those that expanded code no longer reads.
    """
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    read = upward_exposed(tree.body)
    scopes = [n for n in walk_nodes(*tree.body) if isinstance(n, (*COMPREHENSIONS, ast.Lambda))]
    in_scopes = {name for n in scopes for name in names_used(n)}
    inputs = {n for n in parameters & read if n not in in_scopes or _is_read(n, tree.body)}
    free = read - in_scopes - names_assigned(tree.body)
    types = {n: env.type(ast.Name(n, ast.Load())) for n in free}
    return inputs | {n for n, ty in types.items() if isinstance(ty, (ArrayType, ScalarType))}


def _is_read(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether `body` reads `name` itself, and not only a name of an inner scope that is spelled the
    same, as in ``[n for n in x]``.
    """
    return "" in upward_exposed([rename_names(s, {name: ""}) for s in body])


def expand_only(macros: Sequence[Macro], tree: ast.FunctionDef, env: Env) -> ast.FunctionDef:
    """A copy of `tree` with `macros` applied, and no other step of `expand_function`."""
    tree = copy_tree(tree)
    prologue: dict[Hashable, ast.stmt] = {}
    body = MacroDriver(macros, Context(tree, env, prologue, view_rules=VIEW_RULES)).block(tree.body)
    tree.body = [*prologue.values(), *body]
    return fix_missing_locations(tree)


def expand_try(
    body: list[ast.stmt], before: Sequence[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """`body`, which runs after `before`, with its ``try`` statements rewritten, as far as
    `try_statement` and `finally_statement` can. The inliner calls it for the body of a callee,
    before `eliminate_return`, which refuses a ``return`` inside of a ``try``.
    """
    if not any(isinstance(n, ast.Try) for n in walk_nodes(*body)):
        return body
    outer, known = cx.expand, dict(cx.facts.known)
    try:
        for s in before:
            record_facts(cx.facts, s)
        driver = MacroDriver([try_except.try_statement, finally_block.finally_statement], cx)
        return driver.block([copy_tree(s) for s in body])
    finally:
        cx.expand, cx.facts.known = outer, known


MACROS: tuple[Macro, ...] = (
    match_statement.match_statement,          # match i: case 0
    try_except.try_statement,                 # try: t = 1 / n
    finally_block.finally_statement,          # try: return x[i] finally: x[i] = 0
    type_tests.type_test,                     # x is None, isinstance(n, int), mode == "same"
    type_tests.class_alias,                   # T = type(x[0])
    multimaps.multimap_update,                # d.setdefault(i, []).append(s), for i, w in d.items()
    # before table_lookup: the d[i] of a multimap is a list, not one value
    multimaps.multimap_read,                  # sum(d[i])
    hash_tables.table_creation,               # d = {}, s = {i, j}, Counter(x)
    dict_methods.table_update,                # d[i] = s, d[i] += 1, s.add(i)
    dict_methods.table_lookup,                # d[i], d.get(i, 0), i in d, len(d)
    table_iteration.table_iteration,          # d.items(), sorted(d), max(d, key=d.get)
    table_iteration.unnamed_table,            # len(set(x))
    array_assignment.branch_of_arrays,        # u = x if s > 0 else y
    # before unpacking_assignment, which would give a list a second name
    list_moves.list_move,                     # a = b, a, b = b, a
    list_moves.list_slice_store,              # l[a:b] = [s] * n
    # before unpacking_assignment, which would give a row a second name
    rectangular_lists.swap_rows,              # M[i], M[j] = M[j], M[i]
    rectangular_lists.copy_rows,              # [row[:] for row in M]
    # before list_comprehension, whose loop over zip(*M) is not compiled
    zipped_rows.columns_of_rows,              # [sum(c) for c in zip(*M)]
    zipped_rows.loop_over_columns,            # for c in zip(*M)
    array_lists.array_list_start,             # u = [x.copy()]
    array_lists.array_list_append,            # u.append(x)
    array_lists.array_list_stack,             # np.array(u)
    array_lists.array_list_length,            # len(u)
    linked_rows.linked_row_update,            # g[i].append(v), for v in g[i]
    linked_rows.linked_row_read,              # len(g[i]), sum(g[i])
    ragged_lists.ragged_list_append,          # w.append([v for v in x])
    ragged_lists.ragged_list_read,            # w[-1], len(w)
    numpy_list_operands.list_argument,        # np.mean(w)
    numpy_list_operands.list_operand,         # x * w
    numpy_list_operands.list_store,           # x[:2] = w
    numpy_list_operands.tuple_list_to_array,  # np.array(w)
    rectangular_lists.table_to_array,         # np.array(M)
    numpy_list_operands.tuple_list_comprehension,  # w = [(v, i) for …]
    list_construction.new_list,               # a = xs[1:], list(range(n)), [s] + xs
    list_construction.list_extend,            # a += [v * 2 for v in x]
    list_methods.list_pop,                    # a.pop(i), del a[i]
    list_methods.list_sort,                   # a.sort(), sorted(x)
    list_methods.list_method,                 # a.reverse(), a.insert(0, s), a.remove(s)
    # before unpacking_assignment, which would read i after the walrus in: n, m = i, (i := 2)
    assignment_forms.named_expression,        # (t := e)
    assignment_forms.chained_assignment,      # a = b = e
    scalar_calls.assert_statement,            # assert x > 0
    tuple_replacement.tuple_assignment,       # t = i, j
    assignment_forms.unpacking_assignment,    # a, b = b, a
    index_canonicalization.unpack_row,        # a, b = X[i]
    assignment_forms.augmented_assignment,    # a[i] += e
    iterables.in_range_test,                  # i in range(n)
    iterables.range_item,                     # range(n)[k]
    scalar_calls.in_constants,                # i in (1, 2)
    list_methods.list_search,                 # s in a, a.count(s), a.index(s)
    scalar_calls.scalar_call,                 # pow(x, y), divmod(i, j), math.gcd(i, j)
    elementwise_formulas.scalar_formula,      # np.round(s, 2), s.clip(0, 1)
    scalar_calls.number_method,               # n.bit_count(), bin(n).count("1"), n.conjugate()
    gamma_function.gamma_call,                # math.lgamma(x), math.gamma(x)
    scalar_calls.scalar_identity,             # math.degrees(x), np.iinfo(np.int64).max
    allocation_forms.allocation_form,         # np.ndarray(n), np.zeros(n, float, "C")
    grid_slices.grid_slices,                  # np.mgrid[0:n, 0:m]
    concatenate.join_by_subscript,            # np.r_[0, x], np.c_[x, y]
    array_attributes.dtype_of_expression,     # np.zeros(n, (x + y).dtype)
    array_attributes.new_array_attribute,     # np.zeros(n).size
    array_attributes.item_size,               # x.nbytes
    array_attributes.array_flag,              # x.flags["C_CONTIGUOUS"]
    array_literals.literal_argument,          # np.max([s, t]), np.convolve(x, [1, 2, 1])
    # before array_assignment and array_literal, which allocate in each iteration
    array_assignment.reuse_array_storage,     # for …: u = u + x
    basic_indexing.unit_slice,                # u = X[:, i:i + 1]
    array_creation.reuse_filled_array,        # for …: u = np.zeros(n)
    array_assignment.array_assignment,        # u = x * 2 + y
    array_literals.array_literal,             # u = np.array([s, t])
    array_literals.cross_product,             # u = np.cross(x, y)
    boolean_indexing.mask_compress,           # u = x[x > s], np.flatnonzero(m)
    nonzero_indices.nonzero_indices,          # i, j = np.nonzero(X)
    boolean_indexing.mask_columns,            # X[:, x > s]
    # before mask_scatter, which counts and copies the values; a common mask needs neither
    boolean_indexing.mask_store,              # x[x > s] = 0
    boolean_indexing.mask_scatter,            # x[x > s] = y
    array_literals.literal_store,             # X[i] = s, t
    array_assignment.array_store,             # X[i] = y
    gather_scatter.ufunc_at,                  # np.add.at(x, k, y)
    array_identities.copyto,                  # np.copyto(x, y)
    array_assignment.array_inplace,           # x += y
    ufunc_out.fill_elements,                  # x.fill(1), np.copyto(x, y, where=m)
    ufunc_out.ufunc_out,                      # np.add(x, y, out=z)
    ndindex_loops.ndindex_loop,               # for i, j in np.ndindex(X.shape), for v in X.flat
    # before for_loop, after which d is no constant
    unroll_constants.decided_range,           # for d in range(-1, 2): if d != 0
    unroll_constants.unroll_constant_loop,    # for d in (-1, 0, 1)
    endless_while.endless_while,              # while True: if i >= n: break
    while_to_for.while_to_for,                # while i < n: …; i += 1
    for_loops.loop_over_changing_list,        # for v in a: a.append(v)
    itertools_loops.product_loops,            # for u, v in product(x, y), combinations(x, 2)
    itertools_loops.compressed_loop,          # for v in itertools.compress(x, m)
    itertools_loops.loop_while,               # for v in itertools.takewhile(test, x)
    for_loops.for_loop,                       # for v in x, enumerate, zip, reversed
    # before minmax_fold, which loops over the items; those of a tuple are known
    tuple_replacement.tuple_fold,             # min(X.shape)
    tuple_replacement.tuple_comparison,       # (i, j) < (k, 0)
    tuple_replacement.starred_tuple,          # range(*t)
    tuple_replacement.tuple_item,             # t[0]
    tuple_replacement.tuple_subscript,        # x[t] += 1
    tuple_replacement.tuple_expression,       # t, t[:1], t + (0,)
    tuple_replacement.constant_tuple,         # MOVES
    index_canonicalization.merge_subscripts,  # x[i][j]
    index_canonicalization.list_index_arrays,  # x[[0, 2]], X[np.ix_(k, k)]
    builtin_folds.sum_fold,                   # sum(e for v in x if c)
    itertools_loops.accumulated_list,         # itertools.accumulate(x)
    builtin_folds.functools_reduce,           # reduce(lambda a, b: a * b, x)
    # before minmax_fold, which would leave a max of two tuples in the loop
    builtin_folds.minmax_by_key,              # min(x, key=lambda v: -v), max((v, i) for …)
    builtin_folds.minmax_fold,                # min(x), max(e for v in x)
    builtin_folds.any_fold,                   # any(e for v in x)
    builtin_folds.all_fold,                   # all(e for v in x)
    view_identities.view_identity,            # np.flip(X, 1), np.asarray(x)
    call_identities.call_identity,            # np.nanmean(x), np.allclose(x, y)
    axis_reductions.reduction_identity,       # np.add.reduce(x), x.sum(dtype=np.float64)
    axis_reductions.array_reduction,          # np.sum(X, axis=0), x.max()
    axis_reductions.derived_reduction,        # np.var(x), np.ptp(x)
    axis_scans.array_scan,                    # np.cumsum(x), np.maximum.accumulate(x)
    axis_scans.array_arg_reduction,           # np.argmin(x), x.argmax()
    matrix_products.matrix_product,           # X @ Y, np.dot(x, y), np.inner(x, y)
    einsum.array_einsum,                      # np.einsum("ij,jk->ik", X, Y)
    function_loops.function_loops,            # np.searchsorted(x, v), np.bincount(k)
    function_loops.function_pair_loops,       # h, e = np.histogram(x)
    ndindex_loops.unravel_index,              # i, j = np.unravel_index(k, X.shape)
    matrix_products.outer_product,            # np.outer(x, y)
    concatenate.concatenate_arrays,           # np.concatenate((x, y)), np.stack
    bitmask_conversion.bitmask_conversion,    # ops.to_bitmask(x > 0), ops.from_bitmask(m, 8)
    shape_ops.shape_operation,                # np.expand_dims(x, 0), X.squeeze(1), np.cumsum(X)
    array_identities.diff_trace,              # np.diff(x), np.trace(X)
    array_literals.array_literal_temporary,   # f(np.array([s, t]))
    boolean_indexing.mask_compress_temporary,  # f(x[x > s])
    array_creation.random_array,              # rng.normal(size=n)
    array_assignment.array_temporary,         # f(x + 1)
    array_comprehensions.stack_comprehension,  # np.vstack([x[i : i + 3] for i in range(n)])
    array_comprehensions.array_comprehension,  # np.array([e for v in x])
    comprehensions.collected_generator,       # list(e for v in x)
    # before ragged_list_comprehension, which would append item by item
    array_comprehensions.rectangular_comprehension,  # [[i * j for j in range(m)] for i in x]
    ragged_lists.ragged_list_comprehension,   # [[i for i in range(j)] for j in range(n)]
    # before list_comprehension, which would append in a loop
    comprehensions.repeated_list,             # [0 for _ in range(n)]
    list_construction.returned_list,          # return a[::-1]
    comprehensions.list_comprehension,        # [e for v in x if c]
    # the last, as it is about what no other macro expands
    numpy_errors.note_type_error,             # np.linspace(0, 1, 2.0), x << 1.0: Python raises
)
"""All macros, each with its module and what it fires on. Of several that could fire on a node, the
first does; where that matters, a comment above its row names the later one that would also fire.
"""

VIEW_RULES: tuple[ViewRule, ...] = (
    elementwise_ops.elementwise_view,         # x * 2 + y, np.sqrt(x)
    basic_indexing.indexed_view,              # x[1:n], X[i], X[:, None], x[k]
    arange_linspace.sequence_view,            # np.arange(n), np.linspace(a, b, n)
)
"""The rules by which `numpy.array_views.view_of` makes a view of an array expression, in the order
tried. The rules call `view_of` for their operands, and `view_of` gets the rules through `Context`:
an import of them in `array_views` would be a cycle.
"""


def expand(
    tree: ast.FunctionDef, env: Env, *others: Macro, written_by_closures: Collection[str] = ()
) -> ast.FunctionDef:
    """A copy of `tree` in core Python, as far as the macros can; what none of them fires on stays,
    and lowering refuses it. This is the pipeline's stage `expand`; the module's docstring has its
    steps.

    `others`: macros that are tried before `MACROS` (the stage passes the inliner, for calls that
    macros uncover). ``written_by_closures``: names of the function that its local functions bind by
    ``nonlocal``; after a call of an unknown function nothing is known of them.
    """
    summary = summarize_tree(tree)
    names = summary.names | {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    types = {type(env.type(ast.Name(name, ast.Load()))) for name in names}
    stored: AttributeStores = {}
    members: MemberReplacer | None = None
    if summary.has_call_without_args or summary.has(ast.Dict):  # dict(), or a display
        tree = scalarize_dicts(tree, env)  # best["at"] → best_at
    if ObjectType in types:
        tree, stored, members = replace_object_reads(tree, env)  # self.n → self_n
    if RecordType in types:
        tree = split_fields(tree, env)  # r["x"][i] → r_x[i]
    if summary.methods or ListType in types or stored:
        last_names: dict[str, str] = {}
        tree = split_list_webs(tree, env, last_names)  # xs = np.array(xs) → _xs = np.array(xs)
        stored = {place: last_names.get(name, name) for place, name in stored.items()}
    if summary.has(ast.List) and summary.has(ast.ListComp):
        tree = rectangular_lists.repeat_constants(tree)  # [[0, 0] for _ in r] → [[0] * 2 …
    if summary.has(ast.List):
        tree = rectangular_lists.row_lists_to_tuples(tree)  # [[1, 2], [3, 4]] → [(1, 2), (3, 4)]
    macros = (*registered(), *others, *MACROS)
    return expand_function(macros, tree, env, stored, written_by_closures, members)
