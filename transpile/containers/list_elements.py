"""Type inference of list items: which lists of a function have numbers, or arrays, of one type.

`infer_list_items` runs once for a function, before macros fire, and records in ``cx.facts``

- ``number_lists``: lists of numbers of one dtype, or of ints and float64s, that NumPy takes
  (`numpy_list_operands` expands these), or whose items are subscripts (``x[r]`` for each ``r`` of
  such a list is an element);
- ``number_tables``: tables ``[[c] * m for …]`` of such numbers, of which arrays are made
  (`rectangular_lists` expands these calls);
- ``tuple_types``: the dtype of the items of lists of tuples, if NumPy takes the list;
- ``array_lists``: lists of arrays of one dtype and rank of which only one array is made
  (`array_lists` expands these).

Only names that always stand for a list that this function makes, and to which no unknown code adds
items, are considered (`ListEscapes.non_escaping_names`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

import numpy as np

from loopir.dtypes import DTYPES, dtype_name

from ..analysis.alias_analysis import AliasAnalysis
from ..analysis.type_inference.binding_facts import item_fact
from ..analysis.type_inference.tuple_types import appended_items
from ..analysis.type_inference.type_lattice import Fact, int_or_float64
from ..analysis.type_inference.type_probe import Types
from ..frontend.ast_names import binding_pairs, bound_names, names_used
from ..frontend.ast_walk import integer_constant, is_suspending, walk_nodes
from ..frontend.defining_modules import is_numpy_function
from ..frontend.macros.list_kind import list_escapes
from ..frontend.macros.macro_context import Context
from ..numpy.function_table import ARRAY_OF_LIST, FUNCTIONS
from ..types.flat_containers import ArrayList

__all__ = [
    "JOINING", "Visitor", "array_item_types", "infer_list_items", "number_types", "stacked_list",
]

Visitor: TypeAlias = Callable[[ast.AST, Context], None]
Resolve: TypeAlias = Callable[[ast.expr], object | None]

_JOINS = {name: row.joins for name, row in FUNCTIONS.items() if row.joins}
JOINING = frozenset(name for name, join in _JOINS.items() if join.existing)
"""Functions that join arrays along an existing axis; "vstack" does so for arrays of rank 2 and
more.
"""

_STACKING = {name: join.axis for name, join in _JOINS.items() if join.axis is not None}
"""Functions that make one array of a list of arrays, and the axis along which these lie."""

_C_ORDER = frozenset(name for name, join in _JOINS.items() if join.c_order)
"""Functions whose result is in C order if all arrays are."""


def infer_list_items(
    tree: ast.FunctionDef, cx: Context, visit: Callable[[Visitor], object]
) -> None:
    """Infers the types of the items of the lists that `tree` makes, and records them in
    ``cx.facts``; the module's docstring names the tables. `transpile.expand` calls it before macros
    fire.

        w = []                                   number_lists["w"] = {f64}
        for v in x: w.append(v * 2)      →
        s = np.mean(w)

    1. Candidates are lists that do not escape (`ListEscapes.non_escaping_names`), and that are an
       operand of NumPy, or of which NumPy makes one array, or whose items are subscripts: for
       others no macro needs the types.
    2. The facts about all items that are added come from a walk over the function (`_added_facts`).
       Where an item is computed from items of a list, as in ``w.append(w[-1] + 1)``, its type is
       known only in a second walk, with the types of the first; it must then agree.
    3. The types of the items are recorded, if all have one dtype, or are ints and float64s.

    `visit` calls a visitor on each node, with the facts that hold there; no macro has fired yet.
    """
    if not cx.is_builtin("list", "sorted"):
        return
    local_lists = list_escapes(tree, cx).non_escaping_names(lambda e: _displayed(e) is not None)
    tables = _converted_tables(tree, cx)
    names = (local_lists | {*cx.facts.tuple_lists}) - tables
    numbers = {name for name in names if _is_numpy_operand(name, tree, cx.resolve)}
    numbers |= names & _read_for_subscripts(tree) if names else set()
    arrays = {name for name in names if _is_stacked(name, tree, cx.resolve)}
    if not numbers | arrays | tables:
        return
    added = _item_facts(numbers | arrays, tables, visit)
    aliases = AliasAnalysis(tree, cx.resolve) if arrays else None
    for name, rows in added.items():
        facts = {f for row in rows for f in row}
        if name in cx.facts.tuple_lists:
            if (dtype := _dtype_of_tuples(rows)) is not None:
                cx.facts.tuple_types[name] = dtype
        elif name in numbers and (types := array_item_types(facts)):
            cx.facts.number_lists[name] = types
        elif name in tables and (types := array_item_types(facts)):
            cx.facts.number_tables[name] = types
        if name in arrays and aliases is not None:
            array_list = _array_list(name, facts, aliases, tree, cx)
            if array_list is not None:
                cx.facts.array_lists[name] = array_list


def _item_facts(
    lists: set[str], tables: set[str], visit: Callable[[Visitor], object]
) -> dict[str, set[tuple[Fact, ...]]]:
    """As `_added_facts`. Where some items are computed from items of a list, their types are
    inferred again with the types that a first walk has found.
    """
    added = _added_facts(lists, tables, visit, {})
    facts = {name: {f for row in rows for f in row} for name, rows in added.items()}
    assumed = {name: array_item_types({f for f in fs if f.types}) for name, fs in facts.items()}
    if any(assumed[name] and not array_item_types(fs) for name, fs in facts.items()):
        return _added_facts(lists, tables, visit, assumed)
    return added


def _array_list(
    name: str, facts: Collection[Fact], aliases: AliasAnalysis, tree: ast.FunctionDef, cx: Context
) -> ArrayList | None:
    """The layout of the list `name`, whose items have these `facts`, as one list of the elements of
    all arrays. None unless all are arrays of one dtype and rank; the memory order of what is made
    of the list is known (`_may_stack`); and no array changes after it was added, since its elements
    are copied then.
    """
    types = {(f.array.dtype, f.array.rank) if f.array else ("", 0) for f in facts}
    dtype, rank = types.pop() if len(types) == 1 else ("", 0)
    if not rank or not _may_stack(name, facts, tree, cx.resolve):
        return None
    if not _arrays_unchanged(name, tree, aliases):
        return None
    max_lengths = tuple(cx.fresh("most") for _ in range(rank))
    return ArrayList(dtype, rank, cx.fresh(name), cx.fresh("count"), max_lengths)


def _added_facts(
    lists: set[str],
    tables: set[str],
    visit: Callable[[Visitor], object],
    assumed: dict[str, Types],
) -> dict[str, set[tuple[Fact, ...]]]:
    """For each of `lists` the facts about each item that a statement puts into it: one, or of a
    tuple those about its items; for each of `tables` (lists of rows) about the items of its rows.
    `visit` is that of `infer_list_items`. `assumed`: the types that a read of an item of one of
    them has, as far as they are known already.
    """
    found: dict[str, set[tuple[Fact, ...]]] = {name: set() for name in lists | tables}
    of_tables = {name: types for name, types in assumed.items() if name in tables}
    of_lists = {name: types for name, types in assumed.items() if name in lists}

    def collect(node: ast.AST, cx: Context) -> None:
        """Adds the facts about the items that the statement `node` puts into lists and tables."""
        cx.facts.number_lists, cx.facts.number_tables = of_lists, of_tables
        added = [(name, items) for name, items in _added_by(node) if name in lists]
        added += [(name, items) for name, items in _stored_in_table(node) if name in tables]
        for name, items in added:
            for e in items:
                item = e.elt if isinstance(e, ast.ListComp) else e
                parts = item.elts if isinstance(item, ast.Tuple) else [item]
                if isinstance(e, ast.ListComp):
                    each = (ast.ListComp(part, e.generators) for part in parts)
                    found[name].add(tuple(item_fact(cx.facts, part) for part in each))
                else:
                    found[name].add(tuple(map(cx.fact, parts)))

    visit(collect)
    return found


def number_types(facts: Collection[Fact]) -> Types:
    """All types in `facts`, if these are surely scalars of one dtype; else the empty set."""
    types = frozenset(t for f in facts for t in f.types)
    all_scalars = all(f.rank == 0 and f.types for f in facts)
    return types if all_scalars and len({t.dtype for t in types}) == 1 else frozenset()


def array_item_types(facts: Collection[Fact]) -> Types:
    """As `number_types`, also of ints and float64s in one list."""
    types = frozenset(t for f in facts for t in f.types)
    all_scalars = all(f.rank == 0 and f.types for f in facts)
    return types if all_scalars and int_or_float64(types) else number_types(facts)


def _dtype_of_tuples(tuples: Collection[tuple[Fact, ...]]) -> str | None:
    """The dtype of an array of tuples whose items have these facts, whichever of the tuples occur:
    that to which NumPy promotes each of them. None where they differ in it, or an item is not known
    to be a scalar number.
    """
    dtypes = {
        _promoted(f.types for f in facts if with_unsure or len({t.dtype for t in f.types}) == 1)
        for facts in tuples for with_unsure in (True, False)
    }
    all_scalars = all(f.rank == 0 and f.types for facts in tuples for f in facts)
    return dtypes.pop() if all_scalars and len(dtypes) == 1 else None


def _promoted(types: Iterable[Types]) -> str | None:
    """The dtype to which NumPy promotes numbers of all these types; None if there are none, or one
    is no number.
    """
    dtypes = {t.dtype for ts in types for t in ts}
    if not dtypes or not dtypes <= DTYPES.keys():
        return None
    return dtype_name(np.result_type(*(DTYPES[d].numpy for d in dtypes)))


def _displayed(e: ast.expr) -> list[ast.expr] | None:
    """The items of a new list that `e` makes: of a display, or a multiple of one, its items; of a
    comprehension or a call of ``list`` or ``sorted`` a comprehension that yields them. None where
    `e` makes no list.
    """
    match e:
        case ast.List(elts=elts) | ast.BinOp(left=ast.List(elts=elts), op=ast.Mult()):
            return elts
        case ast.ListComp() if not is_suspending(e):
            return [e]
        case ast.Call(func=ast.Name(id="list" | "sorted"), args=[iterable]):
            clause = ast.comprehension(ast.Name("_", ast.Store()), iterable, [], 0)
            return [ast.ListComp(ast.Name("_", ast.Load()), [clause])]
    return None


def _added_by(node: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """For each list into which the statement `node` puts items: its name, and expressions of these
    items; a comprehension among them stands for all items that it yields.
    """
    for to, value in binding_pairs(node):
        match to:
            case ast.Name(id=name):
                yield name, _displayed(value) or []
            case ast.Subscript(value=ast.Name(id=name)):
                yield name, [value]
    match node:
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name)), op=op, value=value):
            yield name, [ast.BinOp(value, op, value)]
        case ast.AugAssign(target=ast.Name(id=name)) | ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))
        ):
            yield name, list(appended_items(node, name))


def _stored_in_table(node: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """For each table (list of rows) into whose rows the statement `node` puts items: its name, and
    expressions of these.
    """
    for to, value in binding_pairs(node):
        if isinstance(to, ast.Name) and (item := _repeated_item(value)) is not None:
            yield to.id, [item]
        if (table := _table_of_item(to)) is not None:
            yield table.id, [value]
    match node:
        case ast.AugAssign(target=ast.Subscript(value=row, slice=place) as to, op=op, value=value):
            if (table := _table_of_item(to)) is not None:
                yield table.id, [ast.BinOp(ast.Subscript(row, place, ast.Load()), op, value)]


def _table_of_item(e: ast.AST) -> ast.Name | None:
    """The name ``t`` of the item ``t[i][j]``; None for other expressions."""
    match e:
        case ast.Subscript(value=ast.Subscript(value=ast.Name() as table, slice=i), slice=j) if (
            not isinstance(i, (ast.Slice, ast.Tuple)) and not isinstance(j, (ast.Slice, ast.Tuple))
        ):
            return table
    return None


def _repeated_item(e: ast.expr) -> ast.Constant | None:
    """The constant c of a table ``[[c] * m for _ in range(n)]``, of which all rows have the length
    m; None for other expressions.
    """
    match e:
        case ast.ListComp(
            elt=row, generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[])]
        ):
            calls = (n.func for n in walk_nodes(row) if isinstance(n, ast.Call))
            same_length = all(isinstance(f, ast.Name) and f.id in ("len", "range") for f in calls)
            reads = (n for n in walk_nodes(row) if isinstance(n, ast.Name) and n.id == name)
            if not same_length or any(isinstance(n.ctx, ast.Load) for n in reads):
                return None
        case _:
            return None
    match row, over:
        case (
            ast.BinOp(left=ast.List(elts=[ast.Constant() as item]), op=ast.Mult())
            | ast.ListComp(
                elt=ast.Constant() as item, generators=[ast.comprehension(iter=ast.Call(), ifs=[])]
            ),
            ast.Call(func=ast.Name(id="range")),
        ):
            return item
    return None


def _converted_tables(tree: ast.FunctionDef, cx: Context) -> set[str]:
    """The names of tables of one constant, ``[[c] * m for …]``, that are an argument of a function
    in `ARRAY_OF_LIST`, and otherwise only read and stored to item by item, arguments of ``len``,
    and returned: so no row gets another name.
    """
    bound = {t.id for n in walk_nodes(*tree.body) for t, e in binding_pairs(n)
             if isinstance(t, ast.Name) and _repeated_item(e) is not None}
    if not bound:
        return set()
    understood: set[ast.expr] = set()
    converted: set[str] = set()
    for n in walk_nodes(*tree.body):
        for to, value in binding_pairs(n):
            if isinstance(to, ast.Name) and _repeated_item(value) is not None:
                understood.add(to)
            if (table := _table_of_item(to)) is not None:
                understood.add(table)
        match n:
            case ast.AugAssign(target=item) | (ast.Subscript(ctx=ast.Load()) as item):
                if (table := _table_of_item(item)) is not None:
                    understood.add(table)
            case ast.Return(value=ast.Tuple(elts=results)):
                understood.update(results)
            case ast.Return(value=ast.Name() as result):
                understood.add(result)
            case ast.Call(func=ast.Name(id="len"), args=[
                ast.Subscript(value=of, slice=ast.Name() | ast.Constant()) | of
            ]):
                understood.add(of)
            case ast.Call(func=func, args=[ast.Name() as table, *_]) if (
                cx.resolve(func) in ARRAY_OF_LIST
            ):
                understood.add(table)
                converted.add(table.id)
    names = (n for n in walk_nodes(tree) if isinstance(n, ast.Name) and n not in understood)
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    return bound & converted - {n.id for n in names} - parameters


def _is_numpy_operand(name: str, tree: ast.FunctionDef, resolve: Resolve) -> bool:
    """Whether the list may be converted to an array: it is an argument of a NumPy function, an
    operand of a binary operator, or the value of a store; or whether one of its items may be an
    operand beside an array, as in ``w[k] * x[k:]``.
    """
    for n in walk_nodes(tree):
        match n:
            case ast.Call(func=func, args=args) if _is_named(name, *args):
                if is_numpy_function(resolve(func)):
                    return True
            case ast.BinOp(left=left, right=right) if _is_named(name, left, right):
                return True
            case ast.BinOp(left=left, right=right) if (
                (_is_item(name, left) and _may_be_array(right))
                or (_is_item(name, right) and _may_be_array(left))
            ):
                return True
            case ast.Assign(targets=[ast.Subscript()], value=value) | ast.AugAssign(
                value=value
            ) if _is_named(name, value):
                return True
    return False


def _read_for_subscripts(tree: ast.FunctionDef) -> set[str]:
    """The names that a subscript depends on: as ``r`` and ``w`` of ``for r in w: s += x[r]``, of
    ``r = w[k]; s += x[r]`` and of ``x[w[k]]``.
    """
    nodes = [*walk_nodes(tree)]
    found = {name for n in nodes if isinstance(n, ast.Subscript) for name in names_used(n.slice)}
    pairs = [pair for n in nodes for pair in binding_pairs(n)]
    pairs += [(n.target, n.iter) for n in nodes if isinstance(n, (ast.For, ast.comprehension))]
    for target, value in pairs:
        if not found.isdisjoint(bound_names(target)):
            found |= names_used(value)
    return found


def _is_item(name: str, e: ast.expr) -> bool:
    """Whether `e` is an item of the list `name`."""
    match e:
        case ast.Subscript(value=ast.Name(id=base), slice=index):
            return base == name and not isinstance(index, ast.Slice)
    return False


def _may_be_array(e: ast.expr) -> bool:
    """Whether `e` may be an array, as far as its form shows: it is no number that is written out,
    and no element or row ``x[i]``.
    """
    match e:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return False
        case ast.Subscript(slice=index):
            return any(isinstance(n, ast.Slice) for n in walk_nodes(index))
        case ast.BinOp(left=left, right=right):
            return _may_be_array(left) or _may_be_array(right)
    return True


def _is_named(name: str, *es: ast.expr) -> bool:
    """Whether one of the expressions is the name itself."""
    return any(isinstance(e, ast.Name) and e.id == name for e in es)


def _is_stacked(name: str, tree: ast.FunctionDef, resolve: Resolve) -> bool:
    """Whether each occurrence of the name is its binding to a display or comprehension, ``append``,
    ``len``, or a call that makes one array of the list (`stacked_list`).
    """
    occurrences = understood = 0
    for n in walk_nodes(tree):
        occurrences += isinstance(n, ast.Name) and n.id == name
        understood += stacked_list(n, resolve)[0] == name
        for target, value in binding_pairs(n):
            understood += isinstance(value, (ast.List, ast.ListComp)) and _is_named(name, target)
        match n:
            case (
                ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver, attr="append")))
                | ast.Call(func=ast.Name(id="len"), args=[receiver])
            ):
                understood += _is_named(name, receiver)
    return occurrences == understood


def _arrays_unchanged(name: str, tree: ast.FunctionDef, aliases: AliasAnalysis) -> bool:
    """Whether no array is written to after it was put into the list."""
    statements = (s for s in walk_nodes(tree) if isinstance(s, ast.stmt))
    return all(
        aliases.is_never_written_after(e.elt if isinstance(e, ast.ListComp) else e, s)
        for s in statements for target, items in _added_by(s) for e in items if target == name
    )


def stacked_list(node: ast.AST, resolve: Resolve) -> tuple[str, str, int]:
    """For a call that makes one array of a list of arrays (``np.array(xs)``, ``np.stack(xs)``): the
    list, the function, and the axis of the result along which the items lie. ``("", "", 0)`` for
    other nodes.
    """
    match node:
        case ast.Call(func=func, args=[ast.Name(id=name)], keywords=keywords):
            function = getattr(resolve(func), "__name__", "")
        case _:
            return "", "", 0
    stacks = function in _STACKING and resolve(func) is getattr(np, function)
    match keywords:
        case [] if stacks:
            return name, function, _STACKING[function]
        case [ast.keyword(arg="axis", value=e)] if stacks and function == "stack":
            axis_value = integer_constant(e, None)
            return (name, function, axis_value) if axis_value in (0, 1) else ("", "", 0)
    return "", "", 0


def _may_stack(name: str, arrays: Collection[Fact], tree: ast.FunctionDef, resolve: Resolve
               ) -> bool:
    """Whether the memory order of all arrays made of the list is known, if its items have these
    facts: the items are vectors, or only ``np.array`` is called, or all items and functions give C
    order.
    """
    functions = {
        function
        for n in walk_nodes(tree)
        for list_name, function, _ in [stacked_list(n, resolve)]
        if list_name == name
    }
    vectors = all(f.rank == 1 for f in arrays)
    c_order = all(f.rank and f.array and f.array.unit == f.rank - 1 for f in arrays)
    return vectors or functions <= {"array", "asarray"} or (c_order and functions <= _C_ORDER)
