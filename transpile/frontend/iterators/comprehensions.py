"""Comprehensions, generators, ``map`` and ``filter`` → loops that append.

The macros `list_comprehension`, `repeated_list` (``[0 for _ in range(n)]``) and
`collected_generator` (``list(v for v in x)``) make lists. Reductions such as ``sum`` call
`nested_loops` for the clauses of a generator, and make no list. `map_to_generators` is a stage of
its own, before calls are inlined: ``map`` and ``filter`` become generator expressions, whose calls
can be inlined.
"""
from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ...analysis.type_inference.tuple_types import unscalarizable_names
from ..ast_names import bound_names, fresh_name, local_names, names_used, rename_names
from ..ast_walk import (
    NodeTransformer,
    contains_walrus,
    copy_tree,
    integer_constant,
    is_none,
    is_suspending,
    walk_nodes,
)
from ..core_nodes import copy_location, fix_missing_locations
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from .itertools_streams import ITERTOOLS

__all__ = [
    "all_conditions", "applied_function", "collected_generator", "is_repeated_rows",
    "list_comprehension", "map_to_generators", "nested_loops", "repeated_list",
    "with_fresh_variables",
]

C = TypeVar("C", bound=ast.ListComp | ast.GeneratorExp)


@fires_on(ast.ListComp)
def list_comprehension(node: ast.AST, cx: Context) -> ast.expr | None:
    """A list comprehension becomes a loop that appends; its variables get fresh names.

        out = [v * 2 for v in x if v > t]
    →
        _list = []
        for _i in range(len(x)):
            _v = x[_i]
            if _v > t:
                _list.append(_v * 2)
        out = _list

    Left alone are comprehensions with ``await``, ``yield`` or ``async for``, and equal rows, ``[[0]
    * m for …]``, which lowering allocates at once (`is_repeated_rows`). A generator that a
    reduction, a loop or a list consumes at once is expanded by the macro for its consumer, with the
    same loops (`nested_loops`).
    """
    if not isinstance(node, ast.ListComp) or is_suspending(node) or is_repeated_rows(node, cx):
        return None
    comprehension = with_fresh_variables(node, cx)
    name = cx.fresh("list")
    append = cx.code("LIST.append(E)", LIST=name, E=comprehension.elt)
    cx.before(*cx.code("LIST = []", LIST=name), *nested_loops(comprehension.generators, append, cx))
    return cx.expr("LIST", LIST=name)


@fires_on(ast.ListComp, elt=ast.Constant)
def repeated_list(node: ast.AST, cx: Context) -> ast.expr | None:
    """A list comprehension over ``range(n)``, without ``if``, whose item is a literal number
    becomes ``[c] * n``: there is then no loop, and the length is known. `n` must be a Python int.

        out = [0 for i in range(n)]
    →
        out = [0] * n
    """
    match node:
        case ast.ListComp(
            elt=ast.Constant(value=bool() | int() | float()) as one,
            generators=[
                ast.comprehension(target=ast.Name(), iter=ast.Call(args=[times]) as over, ifs=[])
            ],
        ) if cx.builtin(over) == "range":
            return cx.expr("[C] * N", C=one, N=times) if cx.fact(times).is_int else None
    return None


def is_repeated_rows(node: ast.expr, cx: Context) -> bool:
    """Whether `node` makes equal rows, each a new list of one repeated scalar: a comprehension such
    as ``[[0] * m for _ in range(n)]``, to any depth; also ``[s] * m``, which is one such row.

    `list_comprehension` leaves these to lowering, which allocates them as one array with an axis
    for each depth. The loop variable must not be read in the row: the rows could differ.
    """
    match node:
        case ast.ListComp(
            elt=row,
            generators=[
                ast.comprehension(
                    target=ast.Name(id=name), iter=ast.Call(args=[_]) as over, ifs=[]
                )
            ],
        ) if cx.builtin(over) == "range":
            names = (n for n in walk_nodes(row) if isinstance(n, ast.Name) and n.id == name)
            is_unread = not any(isinstance(n.ctx, ast.Load) for n in names)
            return is_unread and (is_repeated_rows(row, cx) or repeated_list(row, cx) is not None)
        case ast.BinOp(left=ast.List(elts=[item]), op=ast.Mult()) | ast.BinOp(
            op=ast.Mult(), right=ast.List(elts=[item])
        ):
            return cx.fact(item).rank == 0
    return False


@fires_on(ast.Call, calls=[list, tuple, np.fromiter])
def collected_generator(node: ast.AST, cx: Context) -> ast.expr | None:
    """A generator that ``list``, ``tuple`` or ``np.fromiter`` consumes whole becomes a list
    comprehension; so does ``list`` of an array.

        u = list(v * 2 for v in x)
        w = tuple(v * 2 for v in x)
        z = list(x)
    →
        _list = []
        for _i in range(len(x)):
            _v = x[_i]
            _list.append(_v * 2)
        u = _list
        _list_1 = []
        for _i_1 in range(len(x)):
            _v_1 = x[_i_1]
            _list_1.append(_v_1 * 2)
        w = tuple(_list_1)
        _list_2 = []
        for _i_2 in range(len(x)):
            _v_2 = x[_i_2]
            _list_2.append(_v_2)
        z = _list_2
    """
    match node:
        case ast.Call(func=func, args=[ast.GeneratorExp() as g, *rest]) if not is_suspending(g):
            items = copy_location(ast.ListComp(g.elt, g.generators), g)
            if cx.builtin(node) == "list" and not rest and not node.keywords:
                return items
            if cx.builtin(node) == "tuple" or cx.resolve(func) is np.fromiter:
                call = ast.Call(func, [items, *rest], node.keywords)
                return copy_location(call, node)
        case ast.Call(args=[x], keywords=[]) if cx.builtin(node) == "list" and cx.fact(x).rank:
            return cx.expr("[v for v in X]", X=x)
    return None


def with_fresh_variables(node: C, cx: Context) -> C:
    """`node` with fresh names for its loop variables, so that its clauses can become loops of the
    function. The first iterable is evaluated outside of the comprehension's scope, and stays.
    """
    targets = bound_names(*(g.target for g in node.generators))
    names = {n: cx.fresh(n) for n in sorted(targets)}
    first = node.generators[0].iter
    inner = type(node)(
        rename_names(node.elt, names),
        [
            ast.comprehension(
                target=rename_names(g.target, names),
                iter=rename_names(g.iter, names),
                ifs=[rename_names(c, names) for c in g.ifs],
                is_async=0,
            )
            for g in node.generators
        ],
    )
    cx.facts.scalarizable |= {*names.values()} - unscalarizable_names(inner)
    inner.generators[0].iter = first
    return copy_location(inner, node)


def nested_loops(
    generators: Sequence[ast.comprehension], innermost: list[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """The clauses `generators`, each ``for … if …``, as loops and ``if`` statements around the
    statements `innermost`. Their variables must be fresh (`with_fresh_variables`).
    """
    if not generators:
        return innermost
    g, *rest = generators
    body = nested_loops(rest, innermost, cx)
    if g.ifs:
        body = cx.code("if C: BODY", C=all_conditions(g.ifs, cx), BODY=body)
    if isinstance(g.iter, ast.GeneratorExp) and not is_suspending(g.iter):
        # over a generator: its loops come here, so that no list of its items is made
        inner = with_fresh_variables(g.iter, cx)
        binding = cx.code("TARGET = E", TARGET=g.target, E=inner.elt)
        return nested_loops(inner.generators, [*binding, *body], cx)
    return cx.code("for TARGET in X: BODY", TARGET=g.target, X=g.iter, BODY=body)


def all_conditions(conditions: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The conjunction ``a and b and …`` of `conditions`, of which there is one at least."""
    if len(conditions) == 1:
        return conditions[0]
    return copy_location(ast.BoolOp(ast.And(), list(conditions)), cx.at)


_Resolve = Callable[[ast.expr], object]


def map_to_generators(tree: ast.FunctionDef, resolve: _Resolve) -> ast.FunctionDef:
    """A copy of `tree` without calls of the builtins ``map`` and ``filter``, and of
    ``itertools.starmap``, where what they call is a name or a ``lambda``, and without loops over
    generators; `tree` itself where there is none. ``starmap`` of an iterator whose items have a
    known number of parts, such as ``zip``, is as ``map``. What consumes another iterator of
    `itertools` whole, such as ``list``, gets a generator over it. `resolve` gives the object that a
    free name means.

        s = sum(map(lambda v: v * k, x))
        u = list(filter(good, x))
        for v in (w * 2 for w in x if w > s):
            s = s + v
    →
        s = sum((_v * k for _v in x))
        u = list((_v_1 for _v_1 in x if good(_v_1)))
        for _v_2 in x:
            if _v_2 > s:
                v = _v_2 * 2
                s = s + v
    """
    nodes = [*walk_nodes(*tree.body)]
    callees = (n.func for n in nodes if isinstance(n, ast.Call))
    called = (resolve(f) for f in callees if isinstance(f, (ast.Name, ast.Attribute)))
    functions = map, filter, itertools.starmap, *ITERTOOLS
    has_call = any(any(f is b for b in functions) for f in called)
    has_loop = any(isinstance(n, ast.For) and isinstance(n.iter, ast.GeneratorExp) for n in nodes)
    if not has_call and not has_loop:
        return tree
    new = _MapToGenerators(resolve, names_used(tree)).visit(copy_tree(tree))
    assert isinstance(new, ast.FunctionDef)
    return fix_missing_locations(new)


class _MapToGenerators(NodeTransformer):
    """The transformation of `map_to_generators`. ``resolve``: what a name means; ``taken``: names
    in use.
    """

    def __init__(self, resolve: _Resolve, taken: set[str]) -> None:
        self.resolve, self.taken = resolve, taken
        self.has_zip = resolve(ast.Name("zip", ast.Load())) is zip

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A call of ``map``, ``filter`` or ``starmap`` becomes a generator."""
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Name() | ast.Attribute() as called, args=[function, *iterables],
                keywords=[],
            ) if iterables and not any(isinstance(s, ast.Starred) for s in iterables):
                generator = self._generator(self.resolve(called), function, iterables)
                if generator is not None:
                    return copy_location(generator, node)
        match node:
            case ast.Call(func=consumer, args=[ast.Call(func=maker) as items, *rest]) if (
                any(self.resolve(consumer) is f for f in _CONSUMERS)
                and any(self.resolve(maker) is f for f in ITERTOOLS)
            ):
                v = ast.Name(self._fresh(), ast.Store())
                clause = ast.comprehension(v, items, [], 0)
                item = ast.Name(v.id, ast.Load())
                node.args = [copy_location(ast.GeneratorExp(item, [clause]), items), *rest]
        return node

    def _generator(
        self, called: object, function: ast.expr, iterables: list[ast.expr]
    ) -> ast.GeneratorExp | None:
        """The generator that gives the items of ``map``, ``filter`` or ``starmap``, whichever is
        `called`; None for other calls, and where `function` is another expression than
        `applied_function` takes.
        """
        is_filter, count, source = called is filter, len(iterables), iterables[0]
        if called is itertools.starmap and count == 1:
            count = self._parts_of_items(source)
        elif called is map and count > 1 and self.has_zip:
            source = ast.Call(ast.Name("zip", ast.Load()), iterables, [])
        elif count != 1 or not (is_filter or called is map):
            return None
        items = [ast.Name(self._fresh(), ast.Store()) for _ in range(count)]
        loads: list[ast.expr] = [ast.Name(n.id, ast.Load()) for n in items]
        value = applied_function(function, loads)
        if is_filter and is_none(function):
            value = loads[0]
        if value is None or not items:
            return None
        is_whole = count == 1 and called is not itertools.starmap
        target: ast.expr = items[0] if is_whole else ast.Tuple([*items], ast.Store())
        clause = ast.comprehension(target, source, [value] if is_filter else [], 0)
        return ast.GeneratorExp(loads[0] if is_filter else value, [clause])

    def _parts_of_items(self, e: ast.expr) -> int:
        """How many parts an item of `e` has, if it is a call of ``zip``, ``enumerate`` or a
        function of `itertools`; 0 where that is not known.
        """
        match e:
            case ast.Call(func=func, args=args, keywords=[]) if not any(
                isinstance(a, ast.Starred) for a in args
            ):
                called = self.resolve(func)
            case _:
                return 0
        if called is zip or called is itertools.product:
            return len(args)
        if called is enumerate or called is getattr(itertools, "pairwise", map):
            return 2
        choices = itertools.combinations, itertools.combinations_with_replacement
        if called in (*choices, itertools.permutations) and len(args) == 2:
            return integer_constant(args[1]) or 0
        return 0

    def visit_For(self, node: ast.For) -> ast.stmt:
        """A loop over a generator iterates over the generator's iterable. The generator's variables
        get fresh names; its conditions become ``if`` statements around the body.
        """
        self.generic_visit(node)
        match node.iter:
            case ast.GeneratorExp(elt=value, generators=[ast.comprehension(
                target=target, iter=stream, ifs=tests, is_async=0
            )]) if not contains_walrus(node.iter):
                names: dict[str, str | ast.expr] = {n: self._fresh() for n in bound_names(target)}
                lines = [ast.Assign([node.target], rename_names(value, names)), *node.body]
                for test in reversed(tests):
                    lines = [ast.If(rename_names(test, names), lines, [])]
                node.target, node.iter, node.body = rename_names(target, names), stream, lines
                for n in walk_nodes(*lines):
                    if not hasattr(n, "lineno"):
                        copy_location(n, value)
        return node

    def _fresh(self) -> str:
        """A name that is not in use, from now on in use."""
        name = fresh_name("_v", self.taken)
        self.taken.add(name)
        return name


_CONSUMERS = (list, tuple, sum, min, max, any, all)
"""Functions that take all items of an iterator and keep nothing of it."""


def applied_function(function: ast.expr, arguments: list[ast.expr]) -> ast.expr | None:
    """``function(*arguments)``: a call for a name, the body for a ``lambda`` with as many
    parameters. None for other expressions, and for a ``lambda`` that binds names.
    """
    match function:
        case ast.Name() | ast.Attribute():
            return ast.Call(function, arguments, [])
        case ast.Lambda(args=ast.arguments(
            posonlyargs=first, args=others, vararg=None, kwonlyargs=[], kwarg=None, defaults=[]
        ), body=body) if len(first) + len(others) == len(arguments):
            binders = [n for n in walk_nodes(body) if isinstance(n, (ast.Lambda, ast.NamedExpr))]
            names = (a.arg for a in (*first, *others))
            replacements = dict(zip(names, arguments, strict=True))
            if binders or local_names(function) != replacements.keys():
                return None
            return rename_names(body, replacements)
    return None
