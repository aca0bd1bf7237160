"""Element types of the lists that a function makes: numbers or arrays of one type."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

import numpy as np

from loopir.dtypes import DTYPES, dtype_name

from ..analysis.alias_analysis import AliasAnalysis
from ..analysis.shape_rules import is_numpy_function
from ..analysis.tuple_types import appended_items
from ..analysis.type_facts import ArrayList, Fact
from ..analysis.type_probe import Types
from ..frontend.ast_names import binding_pairs
from ..frontend.ast_walk import walk_nodes
from ..frontend.int_exprs import integer_constant
from ..frontend.language.comprehensions import is_suspending
from ..frontend.macros.list_kind import list_escapes
from ..frontend.macros.macro_context import Context
from ..numpy.function_table import FUNCTIONS

__all__ = ["JOINING", "infer_list_items", "stacked_list"]

Visitor: TypeAlias = Callable[[ast.AST, Context], None]
Resolve: TypeAlias = Callable[[ast.expr], object | None]

_JOINS = {name: row.joins for name, row in FUNCTIONS.items() if row.joins}
JOINING = frozenset(name for name, join in _JOINS.items() if join.existing)
"""Functions that join arrays along an axis that they have; "vstack" such of several axes."""

_STACKING = {name: join.axis for name, join in _JOINS.items() if join.axis is not None}
"""Functions that give a list of arrays as one array, and which axis counts its items."""

_OF_MATRICES = frozenset(name for name, join in _JOINS.items() if join.c_order)
"""Those of which the order is known, too, if all are in that of C."""


def infer_list_items(
    tree: ast.FunctionDef, cx: Context, visit: Callable[[Visitor], object]
) -> None:
    """Infer the item types of the lists that `tree` makes, and record them in `cx`.

    `visit` calls a visitor on each node with the facts that hold there, before any macro has fired.
    """
    if not cx.means("list", "sorted"):
        return
    own = list_escapes(tree, cx).own_names(lambda e: _displayed(e) is not None)
    names = own | {*cx.facts.tuple_lists}
    numbers = {name for name in names if _taken(name, tree, cx.resolve)}
    arrays = {name for name in names if _is_stacked(name, tree, cx.resolve)}
    if not numbers | arrays:
        return
    found = _facts(numbers | arrays, visit, {})
    told = {name: _numbers({f for f in facts if f.types}) for name, facts in found.items()}
    if any(told[name] and not _numbers(facts) for name, facts in found.items()):
        found = _facts(numbers | arrays, visit, told)  # of items that are made of items
    sharing = AliasAnalysis(tree, cx.resolve) if arrays else None
    for name, facts in found.items():
        if name in cx.facts.tuple_lists:
            if (dtype := _promoted(facts)) is not None:
                cx.facts.tuple_types[name] = dtype
        elif name in numbers and (types := _numbers(facts)):
            cx.facts.number_lists[name] = types
        alike = {(f.array.dtype, f.array.rank) if f.array else ("", 0) for f in facts}
        dtype, rank = alike.pop() if name in arrays and len(alike) == 1 else ("", 0)
        known = rank and _may_stack(name, facts, tree, cx.resolve)
        if known and sharing is not None and _arrays_unchanged(name, tree, sharing):
            most = tuple(cx.fresh("most") for _ in range(rank))
            items, count = cx.fresh(name), cx.fresh("count")
            cx.facts.array_lists[name] = ArrayList(dtype, rank, items, count, most)


def _facts(
    names: Collection[str], visit: Callable[[Visitor], object], told: dict[str, Types]
) -> dict[str, set[Fact]]:
    """What is known of the items of each list, or of the items of these where they are tuples,
    if those that are ``told`` hold numbers of these types.
    """
    found: dict[str, set[Fact]] = {name: set() for name in names}

    def look(node: ast.AST, at: Context) -> None:
        at.facts.number_lists = told
        for name, items in _added_by(node):
            for e in items if name in found else ():
                made = e.elt if isinstance(e, ast.ListComp) else e
                for part in made.elts if isinstance(made, ast.Tuple) else [made]:
                    if isinstance(e, ast.ListComp):
                        found[name].add(at.facts.each(ast.ListComp(part, e.generators)))
                    else:
                        found[name].add(at.fact(part))

    visit(look)
    return found


def _numbers(facts: Collection[Fact]) -> Types:
    """The types of numbers of one dtype; none where there are others."""
    types = frozenset(t for f in facts for t in f.types)
    known = all(f.rank == 0 and f.types for f in facts)
    return types if known and len({t.dtype for t in types}) == 1 else frozenset()


def _promoted(facts: Collection[Fact]) -> str | None:
    """The dtype of an array of such numbers."""
    dtypes = {t.dtype for f in facts for t in f.types}
    if not dtypes <= DTYPES.keys() or not all(f.rank == 0 and f.types for f in facts):
        return None
    return dtype_name(np.result_type(*(DTYPES[d].numpy for d in dtypes))) if dtypes else None


def _displayed(e: ast.expr) -> list[ast.expr] | None:
    """What a display, a comprehension, or a multiple of a display puts into a list."""
    match e:
        case ast.List(elts=elts) | ast.BinOp(left=ast.List(elts=elts), op=ast.Mult()):
            return elts
        case ast.ListComp() if not is_suspending(e):
            return [e]
        case ast.Call(func=ast.Name(id="list" | "sorted"), args=[of]):
            each = ast.comprehension(ast.Name("_", ast.Store()), of, [], 0)
            return [ast.ListComp(ast.Name("_", ast.Load()), [each])]
    return None


def _added_by(node: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """What the statement `node` puts into lists."""
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


def _taken(name: str, tree: ast.FunctionDef, resolve: Resolve) -> bool:
    """Whether NumPy takes the list, or an operation with an array may."""
    for n in walk_nodes(tree):
        match n:
            case ast.Call(func=func, args=args) if _is_named(name, *args):
                if is_numpy_function(resolve(func)):
                    return True
            case ast.BinOp(left=left, right=right) if _is_named(name, left, right):
                return True
            case ast.Assign(targets=[ast.Subscript()], value=value) | ast.AugAssign(
                value=value
            ) if _is_named(name, value):
                return True
    return False


def _is_named(name: str, *es: ast.expr) -> bool:
    return any(isinstance(e, ast.Name) and e.id == name for e in es)


def _is_stacked(name: str, tree: ast.FunctionDef, resolve: Resolve) -> bool:
    """Whether all that is asked of the list is one array of its items, and how many there are."""
    named = known = 0
    for n in walk_nodes(tree):
        named += isinstance(n, ast.Name) and n.id == name
        known += stacked_list(n, resolve)[0] == name
        for to, value in binding_pairs(n):
            known += isinstance(value, (ast.List, ast.ListComp)) and _is_named(name, to)
        match n:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=of, attr="append"))) | ast.Call(
                func=ast.Name(id="len"), args=[of]
            ):
                known += _is_named(name, of)
    return named == known


def _arrays_unchanged(name: str, tree: ast.FunctionDef, sharing: AliasAnalysis) -> bool:
    """Whether none of the arrays in the list is changed from then on."""
    statements = (s for s in walk_nodes(tree) if isinstance(s, ast.stmt))
    return all(
        sharing.stays(e.elt if isinstance(e, ast.ListComp) else e, s)
        for s in statements for to, items in _added_by(s) for e in items if to == name
    )


def stacked_list(node: ast.AST, resolve: Resolve) -> tuple[str, str, int]:
    """For a call that makes one array of a list of arrays (``np.array(xs)``, ``np.stack(xs)``): the
    list, the function, and the axis of the result that counts the items.
    """
    match node:
        case ast.Call(func=func, args=[ast.Name(id=name)], keywords=keywords):
            function = getattr(resolve(func), "__name__", "")
        case _:
            return "", "", 0
    known = function in _STACKING and resolve(func) is getattr(np, function)
    match keywords:
        case [] if known:
            return name, function, _STACKING[function]
        case [ast.keyword(arg="axis", value=e)] if known and function == "stack":
            given = integer_constant(e, None)
            return (name, function, given) if given in (0, 1) else ("", "", 0)
    return "", "", 0


def _may_stack(name: str, arrays: Collection[Fact], tree: ast.FunctionDef, resolve: Resolve
               ) -> bool:
    """Whether what is made of the list is known for arrays of their rank and order."""
    functions = {
        function
        for n in walk_nodes(tree)
        for of, function, _ in [stacked_list(n, resolve)]
        if of == name
    }
    flat = all(f.rank == 1 for f in arrays)
    plain = all(f.rank and f.array and f.array.unit == f.rank - 1 for f in arrays)
    return flat or functions <= {"array", "asarray"} or (plain and functions <= _OF_MATRICES)
