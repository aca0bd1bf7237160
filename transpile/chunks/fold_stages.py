"""Fold stages: a function that computes with its folds as two functions, one after the other.

    s = 0.0                                   def head(x):             def tail(s, n0):
    for i in range(len(x)): s = s + x[i]  →       s = 0.0                  return s / n0
    return s / len(x)                             for …: s = s + x[i]
                                                  return s

The head is what does not depend on the results of loops, the tail is the rest; its parameters are
what it reads of the head, numbers and arrays, and lengths, which are those of the whole arrays. The
tail may be divided again. Both are core Python, printed, and fused as the function is.
"""
from __future__ import annotations

import ast
import builtins
import linecache
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np

from loopir.lazy_dataclass import record

from .. import core_functions
from ..analysis.liveness import upward_exposed
from ..frontend.ast_names import fresh_name, names_used
from ..frontend.ast_walk import NodeTransformer, copy_tree, replace_node, walk_nodes
from ..frontend.core_nodes import (
    CORE_NAME,
    NUMPY_NAME,
    ReplayIf,
    fix_missing_locations,
    with_plain_nodes,
)
from ..host_nodes import host_source
from ..pipeline import Compilation
from ..types.value_types import ArgType
from .chunk_plan import not_in_chunks, plan_stages

__all__ = ["FoldStages", "Stage", "fold_stages"]


@record(frozen=True, slots=True)
class Stage:
    """One of the functions."""

    fused: Any
    parameters: tuple[str, ...]
    results: tuple[str, ...] = ()
    """The names whose values it returns; empty: what the function returns."""


@record(frozen=True, slots=True)
class FoldStages:
    """A function divided in two or more, or only with its lengths as parameters."""

    lengths: Mapping[str, tuple[str, int]]
    """The lengths that are parameters: of which argument, and which of its axes."""
    guards: tuple[str, ...]
    """Conditions on the lengths, in Python, under which the functions are not right."""
    stages: tuple[Stage, ...]

    def lengths_of(self, given: Mapping[str, Any]) -> dict[str, int]:
        """The lengths that are parameters. Raises Refused where one is unknown, or a guard fails.
        """
        lengths = {name: given[array].shape[k] for name, (array, k) in self.lengths.items()}
        tested = {n for guard in self.guards for n in names_used(ast.parse(guard))}
        sizes = (n for name in tested for n in getattr(given.get(name), "shape", ()))
        if any(map(isnan, (*lengths.values(), *sizes))):
            raise not_in_chunks("the sizes of the chunks are not known",
                                "call `compute_chunk_sizes()` of the array")
        if any(eval(guard, dict(given)) for guard in self.guards):
            raise not_in_chunks("the lengths of the arguments do not fit")
        return {name: int(n) for name, n in lengths.items()}


def fold_stages(called: Any, types: Mapping[str, ArgType]) -> FoldStages | None:
    """`called`, a fused function, as stages for arguments of these types; None if there is nothing
    to divide. Raises Refused where it is not compiled for these types, and where the elements
    decide whether Python must compute a part.
    """
    state = plan_stages(called.__wrapped__, types, called.options)
    tree: ast.FunctionDef = copy_tree(state.tree)
    ranks = {name: rank for name, ty in types.items() if (rank := getattr(ty, "rank", 0))}
    arrays = {name: 0 if name in _bound(tree) else rank for name, rank in ranks.items()}
    guards: list[ast.expr] = []
    _propagate(tree.body, lambda e: _is_test_of_lengths(e, arrays))
    tree.body = [*_without_guards(tree.body, arrays, guards)]
    for n in walk_nodes(tree):
        if isinstance(n, ReplayIf):
            _refuse_tests_of_elements(tree.body)
            return None
    tree = with_plain_nodes(tree)
    _propagate(tree.body, lambda e: _length(e, arrays) is not None)
    taken = names_used(tree)
    tree.body = [x for s in tree.body for x in _distributed(s, arrays, taken)]
    lengths = _Lengths(arrays, taken)
    body = [copy_tree(fix_missing_locations(lengths.visit(s))) for s in tree.body]
    divided = _divided(body, arrays)
    if divided is None and not lengths.found:
        return None
    names = _namespace(called.__wrapped__, state)
    parameters = *types, *(name for name, _ in lengths.found.values())
    stages = tuple(
        _stage(called, lines, results, dict.fromkeys((*parameters, *taken)), names)
        for lines, results, taken in divided or ((body, (), ()),)
    )
    texts = dict.fromkeys(map(ast.unparse, guards))
    return FoldStages(dict(lengths.found.values()), tuple(texts), stages)


# -- lengths


def _length(e: ast.AST, arrays: Mapping[str, int]) -> tuple[str, int] | None:
    """The argument and the axis whose length `e` is; None if it is none. ``arrays``: the ranks of
    those that are arrays; 0: the name is bound again.
    """
    match e:
        case ast.Call(ast.Name("len"), [ast.Name(name)]) if arrays.get(name):
            return name, 0
        case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(int(k))) if (
            arrays.get(name)
        ):
            return name, k % arrays[name]
    return None


def _is_of_lengths(e: ast.AST, arrays: Mapping[str, int]) -> bool:
    """Whether `e` is computed from lengths and constants alone."""
    if _length(e, arrays) is not None or isinstance(e, ast.Constant):
        return True
    match e:
        case ast.Attribute(ast.Name(name), "size"):
            return bool(arrays.get(name))
        case ast.BoolOp(values=parts):
            return all(_is_of_lengths(p, arrays) for p in parts)
        case ast.Compare(left=a, comparators=others):
            return all(_is_of_lengths(p, arrays) for p in (a, *others))
        case ast.BinOp(left=a, right=b):
            return _is_of_lengths(a, arrays) and _is_of_lengths(b, arrays)
        case ast.UnaryOp(operand=a):
            return _is_of_lengths(a, arrays)
    return False


def _without_guards(
    body: Iterable[ast.stmt], arrays: Mapping[str, int], guards: list[ast.expr]
) -> Iterator[ast.stmt]:
    """`body` without guards that depend on lengths alone, whose conditions are added to `guards`.
    """
    for s in body:
        if isinstance(s, ReplayIf) and _is_of_lengths(s.test, arrays):
            guards.append(s.test)
            yield from _without_guards(s.orelse, arrays, guards)
        else:
            yield s


def _is_test_of_lengths(e: ast.expr, arrays: Mapping[str, int]) -> bool:
    return isinstance(e, ast.Compare | ast.BoolOp) and _is_of_lengths(e, arrays)


def _refuse_tests_of_elements(body: Iterable[ast.stmt]) -> None:
    """Raises Refused if a guard tests what loops have computed."""
    computed = set[str]()
    for s in body:
        guards = (n for n in walk_nodes(s) if isinstance(n, ReplayIf))
        for guard in (n for n in guards if not computed.isdisjoint(names_used(n.test))):
            calls = (n for x in guard.body for n in walk_nodes(x) if isinstance(n, ast.Call))
            of = next((f"`{ast.unparse(call)}`" for call in calls), "a value")
            raise not_in_chunks(f"the elements decide whether Python must compute {of}")
        if _has(s, ast.For) or not computed.isdisjoint(_reads(s)):
            computed |= _bound(s) | _stored(s)


def _propagate(body: list[ast.stmt], is_wanted: Callable[[ast.expr], bool]) -> None:
    """Put expressions that are wanted in place of the names that are bound to nothing else."""
    bound = [n.id for s in body for n in walk_nodes(s)
             if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    values = {
        s.targets[0].id: s.value for s in body
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
        and is_wanted(s.value) and bound.count(s.targets[0].id) == 1
    }
    replaced = _Names(values)
    body[:] = [
        replaced.visit(s) for s in body
        if not (isinstance(s, ast.Assign) and s.value in values.values())
    ]


class _Names(NodeTransformer):
    """Puts expressions in place of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self.values.get(node.id)
        return node if found is None else copy_tree(found)


class _Lengths(NodeTransformer):
    """Puts parameters in place of lengths, but for ranges of loops, and shapes of new arrays."""

    def __init__(self, arrays: Mapping[str, int], taken: set[str]) -> None:
        self.arrays, self.taken = arrays, taken
        self.found: dict[Any, tuple[str, tuple[str, int]]] = {}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if (place := _length(node, self.arrays)) is not None:
            if place not in self.found:
                name = fresh_name(f"n_{place[0]}_{place[1]}", self.taken)
                self.taken.add(name)
                self.found[place] = name, place
            return ast.Name(self.found[place][0], ast.Load())
        match node:
            case ast.Call(ast.Name("range")) | ast.Call(ast.Attribute(attr="empty")):
                return node
        return super().generic_visit(node)


# -- nests


def _distributed(
    s: ast.stmt, arrays: Mapping[str, int], taken: set[str]
) -> Iterator[ast.stmt]:
    """A nest that folds, and computes with what the folds give, as two nests; else `s` alone.

        for i in range(m):                        t = np.empty((m,), np.float64)
            a = np.float64(0)                     for i in range(m): a = …; for j …; t[i] = a
            for j in range(n): a = a + x[i, j] →
            y[i] = a / n                          for i in range(m): y[i] = t[i] / n
    """
    loops, body = list[ast.For](), [s]
    while len(body) == 1 and isinstance(body[0], ast.For):
        loops.append(body[0])
        body = body[0].body
    sizes = [n for f in loops if (n := _range_end(f)) is not None]
    read = {n: arrays.get(n, 0) for x in body for n in _reads(x)}
    divided = _divided(body, read) if loops and len(sizes) == len(loops) else None
    if divided is None or len(divided) != 2:
        yield s
        return
    (head, live, _), (tail, _, _) = divided
    head = head[:-1]
    dtypes = [_dtype(name, head, arrays) for name in live]
    changed = {n for x in tail for n in _bound(x) | _stored(x)}
    carried = {n for x in head for n in _reads(x)} & changed
    if None in dtypes or carried or any(map(_stored, head)):
        yield s
        return
    index = ast.Tuple([f.target for f in loops], ast.Load())
    replaced = dict[str, ast.expr]()
    for name, dtype in zip(live, dtypes, strict=True):
        array = fresh_name(f"{name}_parts", taken)
        taken.add(array)
        shape = ", ".join(map(ast.unparse, sizes))
        yield from ast.parse(f"{array} = {NUMPY_NAME}.empty(({shape},), {dtype})").body
        element = f"{array}[{ast.unparse(index).strip('()').rstrip(',')}]"
        head += ast.parse(f"{element} = {name}").body
        replaced[name] = ast.parse(element, mode="eval").body
    names = _Names(replaced)
    yield _nest(loops, head)
    yield _nest(loops, [names.visit(copy_tree(x)) for x in tail])


def _range_end(s: ast.For) -> ast.expr | None:
    """The end of the range of a loop over ``range(end)``; None for another one."""
    match s:
        case ast.For(ast.Name(), ast.Call(ast.Name("range"), [end])):
            return end
    return None


def _nest(loops: Sequence[ast.For], body: list[ast.stmt]) -> ast.stmt:
    """The loops around another body."""
    for f in reversed(loops):
        body = [ast.For(copy_tree(f.target), copy_tree(f.iter), body, [])]
    return fix_missing_locations(body[0])


def _dtype(name: str, body: Sequence[ast.stmt], arrays: Mapping[str, int]) -> str | None:
    """The dtype of the accumulator that `body` starts as a number of NumPy's, in Python; None if
    it does not tell.
    """
    match [s.value for s in body if isinstance(s, ast.Assign) and _bound(s) == {name}]:
        case [ast.Call(ast.Attribute() as kind, [ast.Constant()])]:
            return ast.unparse(kind)
        case [ast.Subscript(ast.Name(array))] if arrays.get(array):
            return f"{array}.dtype"
    return None


# -- the two stages


_Lines: TypeAlias = "tuple[list[ast.stmt], tuple[str, ...], tuple[str, ...]]"
"""The lines of a stage, the names that it returns, and those that it takes of the one before."""


def _divided(
    body: Sequence[ast.stmt], arrays: Mapping[str, int]
) -> tuple[_Lines, ...] | None:
    """The head and the tail; None if one of them would do nothing."""
    head, tail = list[ast.stmt](), list[ast.stmt]()
    folded, late, read_late = set[str](), set[str](), set[str]()
    all_read = {n for s in body for n in _reads(s)}
    for s in body:
        reads, writes, stores = _reads(s), _bound(s) & all_read, _stored(s)
        has_loop = _has(s, ast.For)
        if (
            _leaves(s) or not reads.isdisjoint(folded | late)
            or not (writes | stores).isdisjoint(folded | late | read_late)
        ):
            tail.append(s)
            late |= writes | stores
            read_late |= reads
            continue
        head.append(s)
        if has_loop:
            folded |= writes | _folded_arrays(s)
    if not folded and not any(map(_stored, head)):
        return None
    live = _live(head, tail)
    heads = [*_heads(head, live, arrays)]
    live = tuple(n for _, results, _ in heads for n in results)
    if not live or all(map(_only_passes_on, tail)):
        return None
    copied = [n for n in live if any(n in _stored(s) for s in tail)]  # the tail has its own
    if any(names <= {*live} and not names.isdisjoint(copied) for names in _aliases(head)):
        return None
    copies = [ast.parse(f"{n} = {n}.copy()").body[0] for n in copied]
    again = _repeated(head, tail, heads, live)
    rest = [*copies, *sorted([*again, *tail], key=body.index)]
    rest = _without_unread_arrays(rest, _lengths_of(head, live, arrays), arrays)
    return *heads, (rest, (), live)


def _leaves(s: ast.stmt) -> bool:
    """Whether `s` returns, or raises by what no loop goes through: an error that a loop meets is
    that of a chunk.
    """
    return _has(s, ast.Return) or (_has(s, ast.Raise) and not _has(s, ast.For))


def _has(s: ast.stmt, kind: type[ast.AST]) -> bool:
    return any(isinstance(n, kind) for n in walk_nodes(s))


def _lengths_of(
    head: Sequence[ast.stmt], live: Sequence[str], arrays: Mapping[str, int]
) -> dict[tuple[str, int], str]:
    """The lengths of axes of the arguments that arrays made in the head have, too, as Python."""
    found = dict[tuple[str, int], str]()
    for s in head:
        match s:
            case ast.Assign(
                [ast.Name(name)], ast.Call(ast.Attribute(attr="empty"), [shape, *_])
            ) if name in live:
                sizes = shape.elts if isinstance(shape, ast.Tuple) else [shape]
                places = ((_length(e, arrays), k) for k, e in enumerate(sizes))
                found |= {place: f"{name}.shape[{k}]" for place, k in places if place}
    return found


def _without_unread_arrays(
    lines: Iterable[ast.stmt], lengths: Mapping[tuple[str, int], str], arrays: Mapping[str, int]
) -> list[ast.stmt]:
    """`lines` with these `lengths` in place of those of arguments whose elements they do not read.
    """
    body = [copy_tree(s) for s in lines]  # the head may share statements
    nodes = [n for s in body for n in walk_nodes(s)]
    shapes = [n for n in nodes if _length(n, arrays) is not None]
    reads = [n.id for n in nodes if isinstance(n, ast.Name)]
    read_in_shapes = [n.id for e in shapes for n in walk_nodes(e) if isinstance(n, ast.Name)]
    unread = [name for name in arrays if reads.count(name) == read_in_shapes.count(name)]
    for e in shapes:
        place = _length(e, arrays)
        if place is not None and place in lengths and place[0] in unread:
            new: ast.expr = ast.parse(lengths[place], mode="eval").body
            body = [replace_node(s, e, new) for s in body]
    return body


def _heads(
    head: Sequence[ast.stmt], live: Sequence[str], arrays: Iterable[str]
) -> Iterator[_Lines]:
    """The head as stages that have no values in common, and no arrays of the arguments, `arrays`:
    they may be about other lengths. What is about no array is in none.
    """
    reads = {n for s in head for n in _reads(s)}
    values = {*arrays, *live, *(n for s in head for n in _bound(s) if n in reads)}
    groups: list[tuple[set[str], list[ast.stmt]]] = []
    for s in head:
        names = (_reads(s) | _bound(s) | _stored(s)) & values
        joined = [g for g in groups if not names.isdisjoint(g[0])]
        groups = [g for g in groups if g not in joined]
        lines = [s, *(x for g in joined for x in g[1])]
        groups.append((names.union(*(g[0] for g in joined)), lines))
    for names, lines in groups:
        wanted = tuple(n for n in live if n in names)
        if wanted and not names.isdisjoint(arrays):
            result = ast.Tuple([ast.Name(n, ast.Load()) for n in wanted], ast.Load())
            last = ast.Return(result if len(wanted) > 1 else result.elts[0])
            yield [*sorted(lines, key=head.index), last], wanted, ()


def _live(head: Sequence[ast.stmt], tail: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The names of the head that the tail reads, itself or in what it repeats of the head, and that
    it cannot bind by a repetition of assignments.
    """
    bound = {n for s in head for n in _bound(s)}
    fixed = {n for s in head for n in _stored(s)}
    fixed |= {n for s in head if not isinstance(s, ast.Assign) or len(_bound(s)) != 1
              for n in _bound(s)}
    aliases = [s for s in head if _is_alias(s) and sum(_reads(s) <= _bound(x) for x in head) == 1]
    while more := {
        n for s in head if s not in aliases and not fixed.isdisjoint(_reads(s) & bound)
        for n in _bound(s) if n not in fixed
    }:
        fixed |= more
    live = dict[str, None]()
    wanted = [n for s in tail for n in sorted(_reads(s) & bound)]
    seen = set[str]()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in fixed:
            live[name] = None
        else:
            wanted += [n for s in head if name in _bound(s) for n in sorted(_reads(s) & bound)]
    return tuple(live)


def _repeated(
    head: Sequence[ast.stmt], tail: Sequence[ast.stmt], stages: Sequence[_Lines],
    live: Iterable[str],
) -> list[ast.stmt]:
    """The lines of the head that the tail repeats: those that bind what it reads, and those that
    are in no stage.
    """
    divided = [x for lines, _, _ in stages for x in lines]
    again = [s for s in head if s not in divided]
    wanted = {n for s in (*again, *tail) for n in _reads(s)}.difference(live)
    while more := [s for s in head if s not in again and not wanted.isdisjoint(_bound(s))]:
        again += more
        wanted |= {n for s in more for n in _reads(s)}.difference(live)
    return again


def _is_alias(s: ast.stmt) -> bool:
    return isinstance(s, ast.Assign) and isinstance(s.value, ast.Name)


def _aliases(body: Iterable[ast.stmt]) -> Iterator[set[str]]:
    """The pairs of names that mean one array, or one number."""
    return (_reads(s) | _bound(s) for s in body if _is_alias(s))


def _only_passes_on(s: ast.stmt) -> bool:
    """Whether `s` returns names, or stores one."""
    if isinstance(s, ast.Return) and isinstance(s.value, ast.Tuple):
        return all(isinstance(e, ast.Name) for e in s.value.elts)
    return isinstance(s, ast.Return | ast.Assign) and isinstance(s.value, ast.Name)


def _reads(s: ast.stmt) -> set[str]:
    """The names that `s` reads before it binds them."""
    return {*upward_exposed([s])}


def _bound(s: ast.stmt) -> set[str]:
    return {n.id for n in walk_nodes(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _stored(s: ast.stmt) -> set[str]:
    """The arrays whose elements `s` changes."""
    return {
        n.value.id for n in walk_nodes(s) if isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
    }


def _folded_arrays(s: ast.stmt) -> set[str]:
    """The arrays that `s` changes, but for those with an element for each iteration of its loops.
    """
    variables = {n.target.id for n in walk_nodes(s)
                 if isinstance(n, ast.For) and isinstance(n.target, ast.Name)}
    return {
        n.value.id for n in walk_nodes(s) if isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
        and not variables <= {v.id for v in walk_nodes(n.slice) if isinstance(v, ast.Name)}
    }


# -- functions


def _namespace(function: FunctionType, state: Compilation) -> dict[str, Any]:
    """What the names of core Python mean that are no parameters."""
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        names[name] = cell.cell_contents
    names |= {NUMPY_NAME: np, CORE_NAME: core_functions, "__builtins__": builtins}
    captured = {c.name: eval(host_source(c.expr), dict(names)) for c in state.plan.captures}
    return names | captured


def _stage(
    called: Any, lines: Sequence[ast.stmt], results: tuple[str, ...], parameters: Iterable[str],
    namespace: Mapping[str, Any],
) -> Stage:
    """The function of these lines, fused as `called` is, with those of `parameters` that it reads.
    """
    reads = {n for s in lines for n in _reads(s)}
    own = [p for p in parameters if p in reads]
    kind = "folds" if results else "rest"
    tree = ast.FunctionDef(
        f"{kind}_of_{called.__name__}",
        ast.arguments([], [ast.arg(p) for p in own], None, [], [], None, []), list(lines), [],
    )
    text = f"{ast.unparse(fix_missing_locations(tree))}\n"
    path = f"<fused {kind} {zlib.crc32(text.encode()):08x}>"
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    names = dict(namespace)
    exec(compile(text, path, "exec", dont_inherit=True), names)
    function: FunctionType = names[tree.name]
    fused = called.region_type(function, replace(called.options, on_reject="silent"))
    return Stage(fused, tuple(own), results)
