"""Rows that counted loops append, of which one array is made → an array that is stored to.

`appended_rows_to_arrays` runs once for a function, before macros fire. It takes lists of rows whose
numbers of rows and of items are known before the loop that fills them: so there need be neither a
list that grows nor a copy of it. Rows of other lengths are in `ragged_lists`; rows of an array that
are appended whole are in `array_lists`.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ..analysis.type_inference.binding_facts import item_fact
from ..analysis.type_inference.type_lattice import Fact, int_or_float64
from ..frontend.ast_names import COMPREHENSIONS, bound_names, mentions_none_of, names_used
from ..frontend.ast_walk import (
    all_blocks,
    child_blocks,
    exits_of_loop,
    integer_constant,
    is_name,
    is_suspending,
    replace_node,
    walk_nodes,
)
from ..frontend.core_nodes import copy_location
from ..frontend.iterators.comprehensions import with_fresh_variables
from ..frontend.macros.macro_context import Context, subtract_ints
from ..frontend.macros.replay_guards import guarded
from ..numpy.array_nests import allocate_array, replay_if_all_ints, store_noting_ints
from ..numpy.function_table import ARRAY_OF_LIST
from .list_elements import Visitor, array_item_types
from .numpy_list_operands import array_dtype, widened_dtype

__all__ = ["appended_rows_to_arrays"]

_SCOPES = (*COMPREHENSIONS, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LENGTH_FUNCTIONS = ("len", "range", "enumerate")


def appended_rows_to_arrays(
    tree: ast.FunctionDef, cx: Context, visit: Callable[[Visitor], object]
) -> None:
    """Rewrites `tree` in place: a list of rows that one loop appends, of which an array is made,
    becomes that array.

        t = []                                  t = np.empty((n, m))
        for i in range(n):                      for i in range(n):
            row = []
            for j in range(m):           →          for j in range(m):
                row.append(i * j * 0.5)                 t[i, j] = i * j * 0.5
            t.append(row)
        return np.array(t)                      return t

    A row may be a comprehension, too. All of this must hold:

    - the list and the row occur nowhere else (`_filled`, `_row_of`): nothing reads their items;
    - every iteration appends one row, and one item to it, in whichever branch (`_appends_once`);
    - how many iterations the loops have does not depend on the outer loop (`_iteration`), whose
      iterables are ranges and sequences that do not change (`_are_lengths_fixed`);
    - the items are numbers of one dtype, or ints and float64s. (Of other ones, NumPy promotes the
      dtypes of those that occur in a call.)

    Where there is no row or no item, the call is replayed, as NumPy makes an array of floats then;
    and where all items are ints that may be ints or floats.
    `visit` calls a visitor on each node, with the facts that hold there.
    """
    if not cx.is_builtin(*_LENGTH_FUNCTIONS):
        return
    blocks = [tree.body, *(b for s in _statements(tree.body) for b in all_blocks(s))]
    candidates = [c for block in blocks for c in _candidates(block, tree, cx)]
    if not candidates:
        return
    by_name = {c.row or c.name: c for c in candidates}

    def collect(node: ast.AST, here: Context) -> None:
        """Adds the facts about the item that the statement `node` appends."""
        match node:
            case ast.Expr(value=ast.Call(ast.Attribute(ast.Name(id=name), "append"), [e], [])):
                if (c := by_name.get(name)) is not None:
                    if isinstance(e, ast.ListComp) and not c.row:
                        c.facts.add(item_fact(here.facts, e))
                    else:
                        c.facts.add(here.fact(e))
                    c.is_fixed = c.is_fixed and _are_lengths_fixed(c, here)

    visit(collect)
    for c in candidates:
        types = array_item_types(c.facts) if c.is_fixed else frozenset()
        dtype = widened_dtype(array_dtype(types), c.dtype_arguments, cx) if types else None
        if dtype is not None:
            mixed = int_or_float64(types) and not c.dtype_arguments
            _store_by_index(c, dtype, cx.fresh("ints") if mixed else None, cx)


@dataclass(slots=True)
class _Iteration:
    """How a loop counts: `index`, the name of its variable or of one for `enumerate` ("": there is
    none yet), counts from `start` (None: 0), `length` times.
    """

    index: str
    start: ast.expr | None
    length: ast.expr
    of: str = ""  # the name of the sequence that the loop iterates over; "": none


@dataclass(slots=True)
class _Candidate:
    """A list of rows, and what fills and reads it."""

    name: str
    block: list[ast.stmt]
    binding: ast.stmt  # name = []
    loop: ast.For
    append: ast.Expr  # name.append(…)
    conversion: ast.Call  # np.array(name)
    row: str = ""  # the name of the row; "": it is a comprehension
    row_loop: ast.For | None = None  # the loop that appends items to the row
    outer: _Iteration = field(init=False)
    inner: _Iteration = field(init=False)
    matrix: str = ""  # the array whose rows the loops iterate over; "": none
    facts: set[Fact] = field(default_factory=set)  # of the items
    is_fixed: bool = True  # whether no length in `outer` and `inner` can change in the loop

    @property
    def dtype_arguments(self) -> list[ast.expr]:
        return [*self.conversion.args[1:], *(k.value for k in self.conversion.keywords)]


def _candidates(block: list[ast.stmt], tree: ast.FunctionDef, cx: Context) -> Iterator[_Candidate]:
    """The lists of rows that a statement of `block` binds, as far as their form tells."""
    for k, s in enumerate(block):
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])):
                c = _filled(name, s, block, k, tree, cx)
                if c is not None and _row_of(c, tree) and _counts(c, cx):
                    yield c


def _filled(
    name: str, binding: ast.stmt, block: list[ast.stmt], k: int, tree: ast.FunctionDef, cx: Context
) -> _Candidate | None:
    """The list `name`, which ``block[k]`` binds, if a loop behind it appends one row an iteration,
    and then an array is made of it, once, and the name occurs nowhere else.
    """
    users = [s for s in block[k + 1 :] if name in names_used(s)]
    match users:
        case [ast.For(orelse=[]) as loop, after] if not any(child_blocks(after)):
            pass
        case _:
            return None
    appends = [s for s in loop.body if _appended(s, name) is not None]
    conversions = [n for n in walk_nodes(after) if _converts(n, name, cx)]
    if len(appends) != 1 or len(conversions) != 1 or _occurrences(name, tree) != 3:
        return None
    (append,), (conversion,) = appends, conversions
    assert isinstance(append, ast.Expr)
    assert isinstance(conversion, ast.Call)
    if any(isinstance(n, _SCOPES) and name in names_used(n) for n in walk_nodes(after)):
        return None  # an array may be made more than once
    if any(exits_of_loop(loop.body)) or is_suspending(loop):
        return None
    if any(isinstance(n, (ast.Return, *_SCOPES[-4:])) for n in walk_nodes(*loop.body)):
        return None
    return _Candidate(name, block, binding, loop, append, conversion)


def _converts(n: ast.AST, name: str, cx: Context) -> bool:
    """Whether `n` makes an array of the list `name`, with no argument but a dtype."""
    match n:
        case ast.Call(func=func, args=[ast.Name(id=of), *_], keywords=keywords):
            return (
                of == name and cx.resolve(func) in ARRAY_OF_LIST
                and all(k.arg == "dtype" for k in keywords)
            )
    return False


def _occurrences(name: str, tree: ast.FunctionDef) -> int:
    """How many times `name` occurs in `tree`; parameters count twice, so that they are no match."""
    return sum(is_name(n, name) or 2 * (isinstance(n, ast.arg) and n.arg == name)
               for n in walk_nodes(tree))


def _appended(s: ast.stmt, name: str) -> ast.expr | None:
    """The item that the statement `s` appends to the list `name`; None if it does not."""
    match s:
        case ast.Expr(value=ast.Call(ast.Attribute(ast.Name(id=of), "append"), [e], [])):
            return e if of == name and not isinstance(e, ast.Starred) else None
    return None


def _row_of(c: _Candidate, tree: ast.FunctionDef) -> bool:
    """Whether the row that is appended is a comprehension, or a list that one loop before fills,
    whose name occurs nowhere else. Notes in `c` which.
    """
    match _appended(c.append, c.name):
        case ast.ListComp(generators=[ast.comprehension(ifs=[])]) as row:
            return not bound_names(row) and not is_suspending(row)
        case ast.Name(id=name):
            users = [s for s in c.loop.body if name in names_used(s)]
        case _:
            return False
    match users:
        case [
            ast.Assign(targets=[ast.Name(id=bound)], value=ast.List(elts=[])),
            ast.For(orelse=[]) as loop, last,
        ] if bound == name and last is c.append:
            c.row, c.row_loop = name, loop
        case _:
            return False
    appends = [s for s in _statements(loop.body) if _appended(s, name) is not None]
    return (
        _appends_once(loop.body, name) and not any(exits_of_loop(loop.body))
        and _occurrences(name, tree) == len(appends) + 2
    )


def _statements(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of `block` and of all blocks in them, without those of functions."""
    for s in block:
        yield s
        for inner in () if isinstance(s, _SCOPES) else all_blocks(s):
            yield from _statements(inner)


def _appends_once(block: Sequence[ast.stmt], name: str) -> bool:
    """Whether `block` appends exactly one item to the list `name`, whichever branches are taken."""
    users = [s for s in block if name in names_used(s)]
    match users:
        case [ast.If(test=test, body=body, orelse=orelse)]:
            return (
                mentions_none_of(test, [name])
                and _appends_once(body, name) and _appends_once(orelse, name)
            )
        case [s]:
            return _appended(s, name) is not None
    return False


def _counts(c: _Candidate, cx: Context) -> bool:
    """Whether it is known, before the loop of `c`, how many rows and items it appends. Notes it in
    `c`.
    """
    outer = _iteration(c.loop.target, c.loop.iter, c.loop.body, cx)
    if c.row_loop is None:
        (clause,) = _row_comprehension(c).generators
        inner = _iteration(clause.target, clause.iter, (), cx)
    else:
        inner = _iteration(c.row_loop.target, c.row_loop.iter, c.row_loop.body, cx)
    if outer is None or inner is None:
        return False
    row = c.loop.target.elts[1] if isinstance(c.loop.target, ast.Tuple) else c.loop.target
    if outer.of and is_name(row, inner.of):  # for row in X: for v in row
        inner.length = cx.expr("X.shape[1]", X=outer.of)
        c.matrix = outer.of
        if inner.of in bound_names(*c.loop.body):
            return False
    changed = bound_names(c.loop.target, *c.loop.body)
    sizes = [e for e in (outer.start, outer.length, inner.start, inner.length) if e is not None]
    c.outer, c.inner = outer, inner
    return all(mentions_none_of(e, changed) for e in sizes)


def _row_comprehension(c: _Candidate) -> ast.ListComp:
    """The comprehension that is appended as a row."""
    row = _appended(c.append, c.name)
    assert isinstance(row, ast.ListComp)
    return row


def _iteration(
    target: ast.expr, iterable: ast.expr, body: Sequence[ast.stmt], cx: Context
) -> _Iteration | None:
    """How the loop ``for target in iterable: body`` counts; None for other iterables than ranges
    of step 1, names, and `enumerate` of a name, and if the `body` binds the variable again.
    """
    match target, iterable:
        case ast.Name(id=index), ast.Call(args=[*start, end], keywords=[]) if (
            cx.builtin(iterable) == "range" and len(start) < 2 and index not in bound_names(*body)
        ):
            if not all(map(_is_size, (*start, end))):
                return None
            first = start[0] if start else None
            return _Iteration(index, first, subtract_ints(end, first, cx) if first else end)
        case ast.Tuple(elts=[ast.Name(id=index), ast.Name()]), ast.Call(
            args=[ast.Name(id=name) as of], keywords=[]
        ) if cx.builtin(iterable) == "enumerate" and index not in bound_names(*body):
            return _Iteration(index, None, cx.expr("len(X)", X=of), name)
        case _, ast.Name(id=name):
            return _Iteration("", None, cx.expr("len(X)", X=iterable), name)
    return None


def _is_size(e: ast.expr) -> bool:
    """Whether `e` is made of names, ints, lengths and arithmetic: it has no effects."""
    match e:
        case ast.Name() | ast.Constant(value=int()):
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(),
                       right=right):
            return _is_size(left) and _is_size(right)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name() | ast.Subscript(
            value=ast.Name(), slice=ast.Constant(value=int())
        )], keywords=[]):
            return True
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(), attr="shape"), slice=ast.Constant(value=int())
        ) | ast.Attribute(value=ast.Name(), attr="size"):
            return True
    return False


def _are_lengths_fixed(c: _Candidate, here: Context) -> bool:
    """Whether no statement can change the lengths by which `c` counts, as all names in them are
    arrays, lists that are arguments, and numbers. The facts of `here` are those in the loop.
    """
    if c.matrix:
        array = here.fact(ast.Name(c.matrix, ast.Load())).array
        if array is None or array.rank < 2:
            return False
    for e in (c.outer.start, c.outer.length, c.inner.start, c.inner.length):
        for name in (names_used(e) if e is not None else set()) - {*_LENGTH_FUNCTIONS}:
            fact = here.fact(ast.Name(name, ast.Load()))
            is_argument = fact.list_type is not None and name in here.parameters
            if not (fact.array or is_argument or (fact.rank == 0 and fact.types)):
                return False
    return True


def _store_by_index(c: _Candidate, dtype: str, ints: str | None, cx: Context) -> None:
    """Rewrites the statements of `c`, whose array gets the given dtype. ``ints``: as for
    `store_noting_ints`.
    """
    at, cx.at = cx.at, c.loop
    lengths = [c.outer.length, c.inner.length]
    checks = [cx.expr("N < 1", N=n) for n in lengths if (integer_constant(n) or 0) < 1]
    (no_items,) = cx.code("T = NP.array([[]] * N)", T=c.name, NP=cx.numpy, N=lengths[0])
    array = guarded(checks, no_items, [allocate_array(c.name, lengths, dtype, cx)], cx)
    outer = _index_of(c.loop, c.outer, cx)
    if c.row_loop is None:
        row = with_fresh_variables(_row_comprehension(c), cx)
        (clause,) = row.generators
        store = copy_location(ast.Expr(row.elt), row)
        loop = copy_location(ast.For(clause.target, clause.iter, [store], []), row)
        if c.inner.index:
            c.inner.index = next(n.id for n in walk_nodes(clause.target) if isinstance(n, ast.Name))
        c.loop.body = [loop if s is c.append else s for s in c.loop.body]
        place = _place(c, outer, _index_of(loop, c.inner, cx), cx)
        loop.body = store_noting_ints(place, row.elt, ints, cx)
    else:
        place = _place(c, outer, _index_of(c.row_loop, c.inner, cx), cx)
        c.loop.body = [s for s in c.loop.body if s is c.row_loop or c.row not in names_used(s)]
        _replace_appends(c.row_loop.body, c.row, place, ints, cx)
    k = c.block.index(c.loop)
    if ints is not None:
        (all_ints,) = cx.code("T = T.astype(NP.int64)", T=c.name, NP=cx.numpy)
        c.block[k + 1:k + 1] = replay_if_all_ints(ints, lengths[1], all_ints, [], cx)
        array += cx.code("INTS = True", INTS=ints)
    c.block[k:k] = array
    c.block.remove(c.binding)
    (after,) = (s for s in c.block[c.block.index(c.loop) + 1 :] if c.conversion in walk_nodes(s))
    replace_node(after, c.conversion, copy_location(ast.Name(c.name, ast.Load()), c.conversion))
    cx.at = at


def _index_of(loop: ast.For, iteration: _Iteration, cx: Context) -> ast.expr:
    """The number of the iteration, counted from 0; the `loop` over a name becomes one that counts.
    """
    index = ast.Name(iteration.index or cx.fresh("i"), ast.Load())
    if not iteration.index:
        counted = ast.Name(index.id, ast.Store())
        loop.target = copy_location(ast.Tuple([counted, loop.target], ast.Store()), loop)
        loop.iter = cx.expr("enumerate(X)", X=loop.iter)
    return index if iteration.start is None else subtract_ints(index, iteration.start, cx)


def _place(c: _Candidate, i: ast.expr, j: ast.expr, cx: Context) -> ast.expr:
    """The element of the array at the row `i` and column `j`, as a target."""
    place = cx.expr("T[I, J]", T=c.name, I=i, J=j)
    assert isinstance(place, ast.Subscript)
    place.ctx = ast.Store()
    return place


def _replace_appends(
    block: list[ast.stmt], row: str, place: ast.expr, ints: str | None, cx: Context
) -> None:
    """Replaces each append to the list `row` in `block`, and in the branches in it, by a store."""
    for k, s in enumerate(block):
        if (e := _appended(s, row)) is not None:
            stores = store_noting_ints(place, e, ints, cx)
            block[k : k + 1] = [copy_location(line, s) for line in stores]
        elif isinstance(s, ast.If):
            _replace_appends(s.body, row, place, ints, cx)
            _replace_appends(s.orelse, row, place, ints, cx)
