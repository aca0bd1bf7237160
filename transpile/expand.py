"""Macro expansion: Python → core Python, by the macros of `macro_table`.

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
from collections import deque
from collections.abc import Callable, Collection, Hashable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from loopir.process.lazy_function import lazy_function

from .analysis.liveness import names_assigned, names_read, upward_exposed
from .analysis.type_inference.flow_facts import analyse_function, record_facts
from .analysis.type_inference.tuple_types import scalarized_tuples
from .containers.tables.table_kinds import TABLE_TYPES, TABLES
from .frontend.ast_names import COMPREHENSIONS, names_used, rename_names
from .frontend.ast_walk import copy_tree, tree_key, walk_nodes
from .frontend.core_nodes import ReplayIf, copy_location, fix_missing_locations
from .frontend.language import assignment_forms, type_tests
from .frontend.macros.macro_context import Context, Macro
from .frontend.macros.macro_driver import MacroDriver
from .frontend.macros.macro_index import fires_on
from .frontend.macros.macro_patterns import macro, register, registered
from .frontend.macros.macro_table import BRANCHING, MACROS, TRIES, VIEW_RULES
from .frontend.macros.tree_summary import TreeSummary, summarize_tree
from .numpy.function_table import ARRAY_OF_LIST
from .types.type_env import Env
from .types.value_types import ArrayType, ListType, ObjectType, RecordType, ScalarType

if TYPE_CHECKING:
    from .frontend.specialize.attribute_promotion import AttributeStores
    from .frontend.specialize.object_arguments import MemberReplacer

__all__ = [
    "Macro", "expand_only", "expand_function", "expand_try", "MACROS", "Context", "Env", "expand",
    "fires_on", "macro", "register", "registered", "replace_locals",
]


# -- Steps that few functions need, each imported when it first runs

appended_rows_to_arrays = lazy_function(
    __package__, "containers.appended_rows:appended_rows_to_arrays"
)
deques_as_lists = lazy_function(__package__, "containers.local_deques:deques_as_lists")
drop_dead_tuples = lazy_function(
    __package__, "frontend.language.tuple_replacement:drop_dead_tuples"
)
infer_linked_rows = lazy_function(__package__, "containers.linked_rows:infer_linked_rows")
infer_list_items = lazy_function(__package__, "containers.list_elements:infer_list_items")
infer_ragged_lists = lazy_function(__package__, "containers.ragged_lists:infer_ragged_lists")
infer_tables = lazy_function(__package__, "containers.tables.table_inference:infer_tables")
none_lists_to_appends = lazy_function(__package__, "containers.none_lists:none_lists_to_appends")
ranges_as_calls = lazy_function(__package__, "frontend.iterators.named_ranges:ranges_as_calls")
repeat_constants = lazy_function(__package__, "containers.rectangular_lists:repeat_constants")
replace_object_reads = lazy_function(
    __package__, "frontend.specialize.object_arguments:replace_object_reads"
)
row_lists_to_tuples = lazy_function(__package__, "containers.rectangular_lists:row_lists_to_tuples")
scalarize_dicts = lazy_function(__package__, "containers.tables.dict_scalars:scalarize_dicts")
shared_names = lazy_function(__package__, "containers.tables.table_inference:shared_names")
split_fields = lazy_function(__package__, "numpy.indexing.structured_arrays:split_fields")
split_list_webs = lazy_function(__package__, "containers.split_webs:split_list_webs")
store_at_exits = lazy_function(
    __package__, "frontend.specialize.attribute_promotion:store_at_exits"
)
structure_exits = lazy_function(__package__, "frontend.language.structure_exits:structure_exits")


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
    early = [m for m in BRANCHING if m in macros]
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
        drop_dead_tuples(tree.body, scalarized_tuples(cx.facts))
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
        infer_ragged_lists(tree, cx)
    if summary.has(ast.ListComp) and "append" in summary.methods:
        infer_linked_rows(tree, sorted(cx.facts.local_names - shared_names(tree)), cx)
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
    present = {tree_key(s) for s in cx.tree.body if isinstance(s, ReplayIf)}
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


def replace_locals(
    tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None]
) -> ast.FunctionDef:
    """`tree` with the local deques that are only queues as lists, and ranges as their bounds. This
    is the pipeline's stage ``replace_locals``; `resolve` tells what a name outside means.
    """
    values = [n.value for n in walk_nodes(tree) if isinstance(n, ast.Assign)]
    made = [resolve(n.func) for n in walk_nodes(*values) if isinstance(n, ast.Call)]
    for maker, replaced in ((deque, deques_as_lists), (range, ranges_as_calls)):
        tree = replaced(tree, resolve) if any(f is maker for f in made) else tree
    return tree


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
        driver = MacroDriver(TRIES, cx)
        return driver.block([copy_tree(s) for s in body])
    finally:
        cx.expand, cx.facts.known = outer, known


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
        tree = repeat_constants(tree)  # [[0, 0] for _ in r] → [[0] * 2 …
    if summary.has(ast.List):
        tree = row_lists_to_tuples(tree)  # [[1, 2], [3, 4]] → [(1, 2), (3, 4)]
    macros = (*registered(), *others, *MACROS)
    return expand_function(macros, tree, env, stored, written_by_closures, members)
