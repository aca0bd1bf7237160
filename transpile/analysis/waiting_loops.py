"""Waiting loops: a ``while`` that ends when another thread or a signal handler changes something.

    while flag[0] == 0:        # no iteration changes flag, or a name that the test is computed from
        n += 1

Compiled code may read such a value once, and would then never end. The exits of a loop are its own
test and the tests of branches that leave it. An exit *waits* if no iteration changes anything that
its test is computed from. (A name that each iteration computes anew, such as the `_any` that macros
make of ``while not any(flag)``, stands for the names in its expression.) A loop waits if

- its own test, or that of an ``if`` directly in its body, waits for memory: an item or attribute;
- or all its exits wait, for memory or for global names.

An iteration may change: the objects of which it stores an item or attribute, those that it passes
to a function that may change them, and their views; and names that are computed from their own
value of the iteration before, as counters are.

`names_waited_for` is the question of lowering. The streams of iterators (`indexed_streams`) ask
`changed_names` alone: which objects the body of a ``for`` loop may change.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from types import ModuleType
from typing import TypeGuard

import numpy as np

from ..containers.method_table import is_mutating
from ..core_functions import TYPE_TESTS, key
from ..frontend.ast_names import bound_names, local_names, name_bindings
from ..frontend.ast_walk import all_blocks, walk_nodes
from ..numpy.function_table import function_row, method_row
from ..types.effects import stores_to_out
from .liveness import upward_exposed

__all__ = ["changed_names", "names_waited_for"]

_PURE = (
    abs, all, any, bool, complex, divmod, enumerate, float, int, isinstance, len, max, min, pow,
    range, round, sum, zip, *vars(math).values(), *TYPE_TESTS, key,
)
"""Functions without effects, besides NumPy's (`_changes_no_argument`)."""


def names_waited_for(
    loop: ast.While, function: ast.FunctionDef, resolve: Callable[[ast.expr], object],
    members: Container[str] = (), resized: Collection[str] = (),
) -> list[str]:
    """The names for whose change by a thread or signal handler `loop` waits, sorted; none if it
    does not wait. The lowering of ``while`` asks, and refuses a loop that waits: a kernel might
    never see the change.

        while flag[0] == 0: n += 1           →  ["flag"]: memory, which no iteration changes
        while STOP is False: x[0] += 1       →  ["STOP"]: a global name, which is the only exit
        while flag[0] == 0: flag = g(flag)   →  []

    1. One test that waits for memory is enough, if no other test stands around it: that of the
       ``while``, each operand of the ``and`` or ``or`` with which that begins, and the test of an
       ``if`` directly in the body that leaves the loop.
    2. Else all exits must wait, for memory or for a global name. One exit that reads a global name
       is not enough, as most of these are constants: ``while n < LIMIT and x[n] > 0``. The test of
       ``while True`` is no exit.

    ``resolve``: what a name or dotted name means outside of the function; None: it is local.
    ``members``: local names that stand for attributes and items of objects, which are memory.
    ``resized``: the lists that an iteration resizes. The tree shows only that a variable for the
    length changes, but ``st[-1]`` changes with it.
    """
    sources, carried = _sources(loop), upward_exposed(loop.body)
    changed = _changed(loop, function, resolve, resized, carried)
    local = local_names(function)

    def waited_for(test: ast.expr, *, in_memory: bool) -> set[str]:
        """The names from outside of the loop that `test` is computed from, if the test waits: no
        iteration changes them, and it reads memory or, unless ``in_memory``, a global name. Else
        no names.
        """
        nodes = [*_computed_from(test, sources)]
        names = {n.id for n in nodes if isinstance(n, ast.Name)}
        bound = names & sources.keys()
        if names & changed or any(_is_carried(name, sources, carried) for name in bound):
            return set()
        objects = {n for n in names - bound if not _is_code(resolve(ast.Name(n)))}
        reads_memory = any(
            n.id in members if isinstance(n, ast.Name) else _reads_memory(n) and resolve(n) is None
            for n in nodes
        )
        return objects if reads_memory or not (in_memory or objects <= local) else set()

    operands = [loop.test]  # of ``a and b or c``: a, b and c
    while isinstance(operands[0], ast.BoolOp):
        operands[:1] = operands[0].values
    direct = (s.test for s in loop.body if isinstance(s, ast.If) and _leaves(s, breaks=True))
    for test in (*operands, *direct):
        if names := waited_for(test, in_memory=True):
            return sorted(names)
    exits = [t for t in (loop.test, *_tests_of_exits(loop.body, breaks=True)) if _names_read(t)]
    found = [waited_for(test, in_memory=False) for test in exits]
    return sorted(set().union(*found)) if all(found) else []


_FIXED = ("shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides")
"""Attributes of arrays that no other thread changes."""


def _reads_memory(n: ast.AST) -> TypeGuard[ast.expr]:
    """Whether an expression reads an item or attribute that can change."""
    if isinstance(n, ast.Subscript):
        n = n.value
        return not (isinstance(n, ast.Attribute) and n.attr in _FIXED)
    return isinstance(n, ast.Attribute) and n.attr not in _FIXED


def _is_code(value: object) -> bool:
    """Whether `value` is code: a module, a function, a class, or anything else that can be called.
    """
    return callable(value) or isinstance(value, ModuleType)


def _tests_of_exits(body: Iterable[ast.stmt], *, breaks: bool) -> Iterator[ast.expr]:
    """The tests of the branches in `body`, which is a part of a loop's body, that leave the loop.
    ``breaks``: whether a ``break`` in `body` leaves it, and not a loop inside of it.
    """
    for s in body:
        is_loop = isinstance(s, (ast.For, ast.While))
        if isinstance(s, (ast.If, ast.While)) and _leaves(s, breaks=breaks and not is_loop):
            yield s.test
        for block in all_blocks(s):
            yield from _tests_of_exits(block, breaks=breaks and not is_loop)


def _leaves(s: ast.stmt, *, breaks: bool) -> bool:
    """Whether `s` may leave the loop that it is in: by ``return`` or ``raise``, and, if ``breaks``,
    by ``break``.
    """
    if isinstance(s, (ast.Return, ast.Raise)) or (breaks and isinstance(s, ast.Break)):
        return True
    breaks = breaks and not isinstance(s, (ast.For, ast.While))
    return any(_leaves(inner, breaks=breaks) for block in all_blocks(s) for inner in block)


def _names_read(node: ast.AST) -> set[str]:
    return {n.id for n in walk_nodes(node) if isinstance(n, ast.Name)}


def _sources(loop: ast.While) -> dict[str, list[ast.expr]]:
    """What each name bound in a loop is computed from in an iteration, with the tests that decide
    whether it is bound.
    """
    found: dict[str, list[ast.expr]] = {name: [] for name in bound_names(*loop.body)}

    def add(names: Iterable[str], *values: ast.expr) -> None:
        for name in names:
            found.setdefault(name, []).extend(values)

    def add_items(target: ast.expr, value: ast.expr) -> None:
        """`value` is stored in an item: it counts for an array that an iteration makes anew."""
        if isinstance(target, ast.Subscript) and (root := _root(target)) in found:
            add([root], target.slice, value)

    for n in walk_nodes(loop):
        match n:
            case ast.AugAssign(target=target, value=value):
                add(bound_names(target), target, value)
                add_items(target, value)
            case ast.For(target=target, iter=value) | ast.NamedExpr(target=target, value=value):
                add(bound_names(target), value)
            case ast.Assign(targets=targets, value=value):
                pairs = [*name_bindings(n)]
                add(bound_names(*targets) - {target.id for target, _ in pairs}, value)
                for target, bound_value in pairs:
                    add([target.id], bound_value)
                for target in targets:
                    add_items(target, value)
            case ast.If() | ast.While() if n is not loop:
                add(bound_names(*n.body, *n.orelse), n.test)
    return found


def _computed_from(e: ast.expr, sources: dict[str, list[ast.expr]]) -> Iterator[ast.AST]:
    """The nodes of an expression, and of all that its names are computed from (`_sources`)."""
    seen, waiting = set[str](), [e]
    while waiting:
        for n in walk_nodes(waiting.pop()):
            yield n
            if isinstance(n, ast.Name) and n.id not in seen:
                seen.add(n.id)
                waiting += sources.get(n.id, [])


def _is_carried(
    name: str, sources: dict[str, list[ast.expr]], carried: Container[str]
) -> bool:
    """Whether a name that a loop binds is computed from its value of the iteration before, or in
    an unknown way. ``sources``: what names are computed from (`_sources`); ``carried``: the names
    that an iteration may read before it binds them.

        n += 1                            True
        s = 0; for v in flag: s += v      False: each iteration computes s anew
    """
    if not sources[name]:
        return True
    nodes = (n for value in sources[name] for n in _computed_from(value, sources))
    return name in carried and any(isinstance(n, ast.Name) and n.id == name for n in nodes)


_MAKERS = (np.empty, np.zeros, np.ones, np.full)


def _made_anew(
    loop: ast.While, carried: Container[str], resolve: Callable[[ast.expr], object]
) -> set[str]:
    """The names of arrays that each iteration of `loop` makes anew, and changes by stores to
    items alone. ``carried``: as for `_is_carried`.
    """
    bindings: dict[str, list[ast.expr]] = {}
    for n in walk_nodes(*loop.body):
        for target, value in name_bindings(n):
            bindings.setdefault(target.id, []).append(value)
    made = {
        name for name, values in bindings.items() if name not in carried and all(
            isinstance(e, ast.Call) and any(resolve(e.func) is f for f in _MAKERS) for e in values
        )
    }
    calls = (n for n in walk_nodes(*loop.body) if isinstance(n, ast.Call))
    return made.difference(changed_names(calls, resolve))


def _root(node: ast.expr) -> str | None:
    """The name at the root of a chain of attributes, subscripts and calls: ``x`` of ``x.T[0]``;
    None for other expressions.
    """
    while not isinstance(node, ast.Name):
        match node:
            case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Call(func=inner):
                node = inner
            case _:
                return None
    return node.id


def _changed(
    loop: ast.While, function: ast.FunctionDef, resolve: Callable[[ast.expr], object],
    resized: Collection[str], carried: Container[str],
) -> set[str]:
    """The names of objects that an iteration changes, and of views and other names of them; not of
    arrays that it has made itself (`_made_anew`). ``carried``: as for `_is_carried`.
    """
    def is_object(name: str | None) -> TypeGuard[str]:
        """Whether `name` is no module, such as the ``np`` of ``np.empty(3)``, and no function."""
        return name is not None and not _is_code(resolve(ast.Name(name)))

    changed = {n for n in changed_names([loop], resolve) if is_object(n)}.union(resized)
    changed -= _made_anew(loop, carried, resolve)
    bindings = [pair for n in walk_nodes(*function.body) for pair in name_bindings(n)]
    views = {(to.id, root) for to, value in bindings if is_object(root := _root(value))}
    size = 0
    while len(changed) > size:
        size = len(changed)
        changed |= {name for pair in views if not changed.isdisjoint(pair) for name in pair}
    return changed


def changed_names(
    nodes: Iterable[ast.AST], resolve: Callable[[ast.expr], object]
) -> Iterator[str | None]:
    """The names of the objects that `nodes` may change in place: those of which they store an item
    or attribute, and all names in a call that may change what it is given. None for an object
    without a name.
    """
    for n in walk_nodes(*nodes):
        match n:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store()):
                yield _root(n)
            case ast.Call(func=func) if (
                not _changes_no_argument(func, resolve) or stores_to_out(n, resolve)
            ):
                yield from _names_read(n)


def _changes_no_argument(func: ast.expr, resolve: Callable[[ast.expr], object]) -> bool:
    """Whether a call of `func` surely changes none of its arguments, except an array passed as
    ``out`` (`stores_to_out`).
    """
    callee = resolve(func)
    if any(callee is f for f in _PURE) or isinstance(callee, np.ufunc):
        return True
    name = func.attr if callee is None and isinstance(func, ast.Attribute) else ""
    row = method_row(name) if callee is None else function_row(callee)
    return row is not None and row.pure and not is_mutating(name)
