"""Table inference: which names stand only for hash tables; the types of their keys and values.

`infer_tables` runs once for a function, before macros fire, and records a `HashTable` for each name
that it accepts; the macros of `dict_methods`, `table_iteration` and `multimaps` then expand all
uses of these names. A name is accepted if

- every binding makes a table of one kind (`table_kinds.table_kind`), and it is no parameter, no
  name of another scope, and not used in a ``try``;
- every occurrence is a use that `table_kinds.table_uses` knows, so that the table does not escape;
- all keys are scalars, or tuples of one length. That they are ints is not tested here but in
  lowering (`lower_calls.lower_dict_key`), which refuses floats, since 1.0 and 1 are one key;
- values that are lists are private to the table (`list_escapes.ListEscapes.values_are_private`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ...analysis.liveness import upward_exposed
from ...analysis.type_inference.tuple_types import items_of_tuple
from ...frontend.ast_names import (
    COMPREHENSIONS,
    bound_names,
    declared_outer,
    mentions_none_of,
    name_bindings,
    names_used,
    values_bound_to,
)
from ...frontend.ast_walk import child_blocks, same_tree, tree_key, walk_nodes
from ...frontend.core_nodes import copy_location, fix_missing_locations, mark_whole_table
from ...frontend.macros.list_kind import list_escapes
from ...frontend.macros.macro_context import Context
from ...types.flat_containers import HashTable, Kind
from ..method_table import METHODS, TableUse
from .table_kinds import (
    grown_while_iterated,
    local_tables,
    table_kind,
    table_uses,
    value_tuple_width,
)

__all__ = [
    "Visitor", "merge_key_defaults", "key_widths", "has_list_values",
    "infer_tables", "new_table", "shared_names",
]

Visitor: TypeAlias = Callable[[ast.AST, Context], None]
"""Called with a node and a context whose facts are those at that node."""


def key_widths(
    names: Collection[str], tree: ast.FunctionDef, visit: Callable[[Visitor], object]
) -> dict[str, set[int]]:
    """For each table in `names` the set of the lengths of its keys: that of a tuple, 0 for a
    scalar. `visit` is that of `infer_tables`; it does not enter comprehensions, in which only keys
    that are written as tuples are found.
    """
    widths: dict[str, set[int]] = {name: set() for name in names}
    visited: set[ast.AST] = set()

    def visitor(node: ast.AST, cx: Context) -> None:
        """Notes the lengths of the keys that `node` looks up, stores or removes."""
        parts = (node, node.target) if isinstance(node, ast.AugAssign) else (node,)
        for part in parts:
            for name, key in _keys_in(part):
                if name in widths:
                    visited.add(key)
                    items = items_of_tuple(cx.facts, key)
                    widths[name].add(0 if items is None else len(items))

    visit(visitor)
    for n in walk_nodes(*tree.body):
        for name, key in _keys_in(n):
            if name in widths and key not in visited and isinstance(key, ast.Tuple):
                widths[name].add(len(key.elts))
        for target, value in name_bindings(n):
            if target.id in widths:
                tuples = (k for k in _first_keys(value) if isinstance(k, ast.Tuple))
                widths[target.id].update(len(k.elts) for k in tuples)
    return widths


def _keys_in(n: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """For a node that looks up, stores or removes a key: the name of the table, and the key."""
    match n:
        case ast.Subscript(ast.Name(id=name), key):
            yield name, key
        case ast.Compare(key, [ast.In() | ast.NotIn()], [ast.Name(id=name)]):
            yield name, key
        case ast.Call(ast.Attribute(ast.Name(id=name), method), [key, *_], []) if (
            method in METHODS and METHODS[method].keyed
        ):
            yield name, key


def _first_keys(e: ast.expr) -> Iterator[ast.expr]:
    """The keys, or their expression in a comprehension, of a table that `e` makes."""
    match e:
        case ast.Dict(keys=keys):
            yield from (k for k in keys if k is not None)
        case ast.Set(elts=elts):
            yield from elts
        case ast.DictComp(key=key):
            yield key
        case ast.SetComp(elt=key) | ast.Call(args=[ast.GeneratorExp(elt=key)]):
            yield key


def merge_key_defaults(block: list[ast.stmt], cx: Context) -> None:
    """Merge, in place, an initialization of a key of a table with the update that is the next
    statement of `block`, so that the key is looked up once::

        if k not in d: d[k] = 0      d[k] += v          →   d[k] = d.get(k, 0) + v
        if k not in d: d[k] = []     d[k].append(v)     →   d.setdefault(k, []).append(v)

    Also of ``d.setdefault(k, 0)`` before the update. Only if ``k`` has no side effects and the same
    value in both, and ``v`` of ``+=`` does not use `d`: it would no longer find the key there.

    A ``pass`` takes the place of the first statement, so that the length of `block` and the
    positions of the pairs do not change while it is iterated over.
    """
    for position, (first, second) in enumerate(pairwise(block)):
        initialized = _initialized_key(first)
        match second:
            case ast.Expr(ast.Call(ast.Attribute(ast.Subscript(
                ast.Name(id=name), key) as at, "append"
            ) as append)) if (
                initialized is not None and name in cx.facts.tables
                and (name, tree_key(key)) == (initialized[0], tree_key(initialized[1]))
                and isinstance(initialized[2], ast.List) and _is_repeatable_key(key, cx)
            ):
                method = ast.Attribute(ast.Name(name, ast.Load()), "setdefault", ast.Load())
                call = ast.Call(method, [initialized[1], initialized[2]], [])
                append.value = copy_location(call, at)
                fix_missing_locations(append)
                block[position : position + 1] = [copy_location(ast.Pass(), first)]
            case ast.AugAssign(ast.Subscript(ast.Name(id=name), key), op, value) if (
                initialized is not None and name in cx.facts.tables
                and (name, tree_key(key)) == (initialized[0], tree_key(initialized[1]))
                and isinstance(initialized[2], ast.Constant) and mentions_none_of(value, [name])
                and _is_repeatable_key(key, cx) and mentions_none_of(key, bound_names(value))
            ):
                get = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "get", ast.Load()),
                               [initialized[1], initialized[2]], [])
                line = ast.Assign([second.target], ast.BinOp(get, op, value))
                fix_missing_locations(copy_location(line, second))
                block[position : position + 2] = [copy_location(ast.Pass(), first), line]


def _is_repeatable_key(key: ast.expr, cx: Context) -> bool:
    """Whether evaluating `key` once instead of twice makes no difference: it calls only builtins
    without side effects.
    """
    calls = (n for n in walk_nodes(key) if isinstance(n, (ast.Call, ast.NamedExpr)))
    return all(cx.builtin(n) in ("abs", "int", "len", "max", "min") for n in calls)


def _initialized_key(s: ast.stmt) -> tuple[str, ast.expr, ast.expr] | None:
    """For a statement that only gives a missing key its first value, a constant or an empty list:
    the name of the table, the key and the value. None for other statements.
    """
    match s:
        case ast.If(
            test=ast.Compare(tested_key, [ast.NotIn()], [ast.Name(id=name)]),
            body=[ast.Assign([ast.Subscript(ast.Name(id=to), key)], (
                ast.Constant() | ast.List(elts=[])) as start)],
            orelse=[],
        ) if name == to and same_tree(tested_key, key):
            return name, key, start
        case ast.Expr(ast.Call(
            ast.Attribute(ast.Name(id=name), "setdefault"), [
                key, (ast.Constant() | ast.List(elts=[])) as start
            ], []
        )):
            return name, key, start
    return None


def has_list_values(name: str, start: ast.expr | None, tree: ast.FunctionDef) -> bool:
    """Whether some value of the table `name`, or that of a missing key (`start`), is a list."""
    if isinstance(start, ast.List):
        return True
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Call(ast.Attribute(ast.Name(id=table), "setdefault"), [_, ast.List()], []):
                if table == name:
                    return True
            case ast.Assign([ast.Subscript(ast.Name(id=table), _)], ast.List()) if table == name:
                return True
    return False


_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""Inner scopes."""


def new_table(
    name: str, kind: Kind, cx: Context, *, is_iterated: bool,
    key_width: int = 0, removes_keys: bool = False, missing_value: ast.expr | None = None,
    has_lists: bool = False, value_width: int = 0,
) -> HashTable:
    """A `HashTable` for `name` with fresh names for its flat lists. `is_iterated`: whether all keys
    are used at once somewhere; `has_lists`: whether its values are lists; `removes_keys`: whether
    keys are removed; the others are fields of the result.
    """
    values = cx.fresh(f"{name}_value") if kind != "set" else ""
    if value_width:
        cx.facts.tuple_lists[values] = value_width
    keys = tuple(cx.fresh(f"{name}_key") for _ in range(max(key_width, 1)))
    original_keys = cx.fresh(f"{name}_shown") if is_iterated else ""
    if is_iterated and key_width:
        cx.facts.tuple_lists[original_keys] = key_width
    return HashTable(
        kind, key_width, keys,
        original_keys=original_keys,
        values=values,
        slots=cx.fresh(f"{name}_slot"),
        is_present=cx.fresh(f"{name}_there") if removes_keys else "",
        present_count=cx.fresh(f"{name}_held") if removes_keys else "",
        missing_value=missing_value,
        first_item=cx.fresh(f"{name}_first") if has_lists else "",
        last_item=cx.fresh(f"{name}_last") if has_lists else "",
        next_item=cx.fresh(f"{name}_after") if has_lists else "",
        value_width=value_width,
    )


def infer_tables(tree: ast.FunctionDef, cx: Context, visit: Callable[[Visitor], object]) -> None:
    """Infers which names of `tree` stand for dicts or sets that become hash tables, and records a
    `HashTable` for each in ``cx.facts.tables``. `transpile.expand` calls it before macros fire.

        d = {}                            cx.facts.tables["d"] = HashTable("dict", keys=("_d_key",),
        for i in range(n):         →          values="_d_value", slots="_d_slot", …)
            d[k[i]] = x[i]

    The module's docstring lists what a name must fulfil (`_uses_of`); besides, all its keys must
    have one length, for there is one list for each item of a key. A name that is left out stays a
    dict or set, which lowering refuses.

    `visit` calls a visitor on each node, with the facts that hold there; no macro has fired yet.
    Changes `tree`: a statement that gives a key its first value is merged with the update that
    follows it (`merge_key_defaults`).
    """
    candidates = {*local_tables(tree, cx)}
    tables: dict[str, _Uses] = {}
    for name in sorted(candidates - shared_names(tree)) if candidates else ():
        if (uses := _uses_of(name, tree, cx)) is not None:
            tables[name] = uses
    if not tables:
        return
    widths = key_widths(tables, tree, visit)
    for name, uses in tables.items():
        if len(widths[name]) < 2:  # else keys of several lengths, for which there is no layout
            for occurrence in uses.whole:
                mark_whole_table(occurrence)
            cx.facts.tables[name] = new_table(
                name, uses.kind, cx, is_iterated=bool(uses.whole),
                key_width=max(widths[name], default=0), removes_keys=uses.removes_keys,
                missing_value=uses.missing_value, has_lists=uses.has_lists,
                value_width=uses.value_width,
            )
    for n in walk_nodes(tree):
        for block in child_blocks(n):
            merge_key_defaults(block, cx)


class _Uses(NamedTuple):
    """How a function uses the table of one name."""

    kind: Kind
    missing_value: ast.expr | None  # of a defaultdict or Counter; None: a missing key raises
    removes_keys: bool  # whether some statement removes a key
    has_lists: bool  # whether the values are lists
    value_width: int  # the length of values that are tuples; 0: they are none
    whole: frozenset[ast.Name]
    """The occurrences of the name where all keys are used at once (`Origin.whole_table`):
    `_uses_in_known_order`."""


def _uses_of(name: str, tree: ast.FunctionDef, cx: Context) -> _Uses | None:
    """How `tree` uses the table `name`; None where the name is not accepted:

    - its bindings make no tables, or tables of several kinds;
    - it is bound or deleted in another way;
    - no key is looked up, stored or removed, and it is not filled when it is made (`_is_filled`);
    - its values are lists, and keys are removed or the lists are not private.
    """
    kind_and_default = _kind_of_bindings(name, tree, cx)
    if kind_and_default is None:
        return None
    kind, missing_value = kind_and_default
    uses = (use for n in walk_nodes(*tree.body) for use in table_uses(n, kind, cx))
    use_of = {table: use for table, use in uses if isinstance(table, ast.Name) and table.id == name}
    occurrences = [n for n in walk_nodes(*tree.body) if isinstance(n, ast.Name) and n.id == name]
    if any(not isinstance(n.ctx, ast.Load) and n not in use_of for n in occurrences):
        return None
    uses_keys = not {"lookup", "store", "remove"}.isdisjoint(use_of.values())
    if not uses_keys and not _is_filled(name, tree):
        return None  # always empty: nothing is gained
    removes_keys = "remove" in use_of.values()
    has_lists = has_list_values(name, missing_value, tree)
    if has_lists:
        may_have_lists = kind == "dict" or isinstance(missing_value, ast.List)
        is_private = list_escapes(tree, cx).values_are_private(name)
        if removes_keys or not may_have_lists or not is_private:
            return None
    value_width = value_tuple_width(name, tree) if kind == "dict" and not has_lists else 0
    whole = frozenset(_uses_in_known_order(name, kind, use_of, tree, cx))
    return _Uses(kind, missing_value, removes_keys, has_lists, value_width, whole)


def _kind_of_bindings(
    name: str, tree: ast.FunctionDef, cx: Context
) -> tuple[Kind, ast.expr | None] | None:
    """The kind of table that every binding of `name` makes, and the value of missing keys
    (`table_kind`). None where one makes no table, or two make different ones.
    """
    bindings = values_bound_to(name, *walk_nodes(*tree.body))
    found: dict[Hashable, tuple[Kind, ast.expr | None]] = {}
    for value in bindings:
        made = table_kind(value, cx)
        if made is None:
            return None
        kind, missing_value = made
        found[kind, None if missing_value is None else tree_key(missing_value)] = made
    return next(iter(found.values())) if len(found) == 1 else None


def _uses_in_known_order(
    name: str, kind: Kind, use_of: Mapping[ast.Name, TableUse], tree: ast.FunctionDef, cx: Context
) -> set[ast.Name]:
    """The uses of all keys of the table `name` at once in which compiled code has Python's order:

    - a sort, always;
    - an iteration, if no key is removed and it is no set;
    - a return, if no key is removed and Python's object shows nothing but its items.

    Not those during which the table grows. ``use_of``: all uses of the name.
    """
    ordered: set[TableUse] = {"any_order"}
    if "remove" not in use_of.values():
        if kind != "set":
            ordered.add("iterate")
        if not _shows_more_than_items(name, tree):
            ordered.add("return")
    loops = walk_nodes(*tree.body)
    growing = {n for loop in loops for n in grown_while_iterated(name, kind, loop, cx)}
    growing |= _grown_while_returned(name, kind, tree, cx)
    return {n for n, use in use_of.items() if use in ordered} - growing


def shared_names(tree: ast.FunctionDef) -> set[str]:
    """Names that cannot be tables: parameters, names that may be read before they are bound, names
    of other scopes, targets of comprehensions, and all names in a ``try``.
    """
    names = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    names |= upward_exposed(tree.body) | declared_outer(tree)
    for n in walk_nodes(*tree.body):
        if isinstance(n, (*_INNER, ast.Try)):
            names |= names_used(n)
        elif isinstance(n, COMPREHENSIONS):
            names |= {name for g in n.generators for name in names_used(g.target)}
    return names


def _grown_while_returned(
    name: str, kind: Kind, tree: ast.FunctionDef, cx: Context
) -> set[ast.Name]:
    """The occurrences of `name` in ``return`` statements that also change the table."""
    returned: set[ast.Name] = set()
    changing = {"store", "remove", *(["lookup"] if kind == "defaultdict" else [])}
    for n in walk_nodes(*tree.body):
        if isinstance(n, ast.Return):
            uses = (use for part in walk_nodes(n) for use in table_uses(part, kind, cx))
            own_uses = {e: use for e, use in uses if isinstance(e, ast.Name) and e.id == name}
            if not changing.isdisjoint(own_uses.values()):
                returned |= own_uses.keys()
    return returned


def _shows_more_than_items(name: str, tree: ast.FunctionDef) -> bool:
    """Whether the table, once returned, shows more than its items: the lambda of a ``defaultdict``,
    or the iteration order of a set that started as a display of more than two items.
    """
    initial = values_bound_to(name, *walk_nodes(*tree.body))
    calls = (a for e in initial if isinstance(e, ast.Call) for a in e.args)
    has_large_set = any(isinstance(e, ast.Set) and len(e.elts) > 2 for e in initial)
    return has_large_set or any(isinstance(a, ast.Lambda) for a in calls)


def _is_filled(name: str, tree: ast.FunctionDef) -> bool:
    """Whether some binding of `name` fills the table: by a comprehension, a display of a set, or a
    call with a positional argument. A display of a dict and ``dict(a=…)`` do not count.
    """
    initial = values_bound_to(name, *walk_nodes(*tree.body))
    return any(not isinstance(e, (ast.Dict, ast.Call)) or getattr(e, "args", ()) for e in initial)
