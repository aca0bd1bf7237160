"""Names in Loop IR code: bound names, names read, fresh names, renaming and substitution.

A kernel has scalar names, bound by assignments, loops and yields, and array names, which are
parameters. The functions here are about scalar names; `analysis.mod_ref` is about arrays. Two
blocks, such as both sides of a branch, may bind the same name (`multiply_bound_names`): a kernel as
a whole is not in SSA form.

The queries are memoised in each node, since most nodes survive many passes.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from .ir_traversal import (
    EXPRESSIONS,
    N,
    advanced_accums,
    bottom_up,
    children,
    map_children,
    memoized_per_node,
    walk,
)
from .lazy_dataclass import replace
from .nodes import (
    Accum,
    Append,
    Assign,
    Bits,
    Const,
    Dim,
    Expr,
    If,
    Kernel,
    Load,
    Local,
    Loop,
    Node,
    PredLoop,
    Prefix,
    Scan,
    Store,
    Stream,
    Var,
    VecAccum,
    VecLoop,
    While,
    Yield,
    Zip,
)

__all__ = [
    "FreshNames", "bound_names", "changed_names", "expand_names", "names_read",
    "multiply_bound_names", "own_bindings", "rename_names", "substitute_bounded", "substitute",
    "values_assigned_once",
]


def bound_names(*nodes: Node) -> frozenset[str]:
    """Every name that is bound somewhere in `nodes`, inside of loops and branches, too: assigned,
    yielded by an `If`, accumulated by a loop, or a loop's variable.

        for i in loop(0, n, s=0.0): t = x[i]; s = step(s + t)    →    {i, s, t}
    """
    return _union_of([], [_bound_and_used(n)[0] for n in nodes])


def changed_names(*code: Node) -> frozenset[str]:
    """Every name that may have another value after some of `code` than before it: those that it
    binds, and the counters of loops around it that it advances (`advanced_accums`).

        for j in loop(0, n): append(y, c, x[j])    →    {j, c}
    """
    return bound_names(*code).union(*map(advanced_accums, code))


def own_bindings(s: Node) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """The names that the scalar statement `s` binds in its block, each with the expressions of
    which one gives its value: of a yield those of both sides, of an accumulator the initial value
    and the step. A loop variable, which is bound inside the loop, is left out.
    """
    match s:
        case Assign(name, value):
            yield name, (value,)
        case If(yields=yields):
            yield from ((y.name, (y.then, y.orelse)) for y in yields)
        case Loop(accs=accs) | Zip(accs=accs) | While(accs=accs):
            yield from ((a.name, (a.init, a.step)) for a in accs)


def rename_names(node: N, names: Mapping[str, str]) -> N:
    """`node` with names replaced simultaneously, at their bindings and at their uses."""
    names = {old: new for old, new in names.items() if old != new}
    renamed: N = bottom_up(node, lambda n: _rename(n, names)) if names else node
    return renamed


@memoized_per_node
def _bound_and_used(n: Node) -> tuple[frozenset[str], frozenset[str]]:
    """The names bound in `n`, and those read in it."""
    binds, reads = list[str](), list[str]()
    if not isinstance(n, EXPRESSIONS):
        binds, reads = [*_own_bound_names(n)], [*_own_used_names(n)]
    elif isinstance(n, Var):  # other expressions neither bind nor read a name themselves
        reads.append(n.name)
    deeper_binds, deeper_reads = list[frozenset[str]](), list[frozenset[str]]()
    for c in children(n):
        if type(c) is Var:
            reads.append(c.name)
        elif type(c) is not Const and type(c) is not Dim:
            below = _bound_and_used(c)
            if below[0]:
                deeper_binds.append(below[0])
            if below[1]:
                deeper_reads.append(below[1])
    return _union_of(binds, deeper_binds), _union_of(reads, deeper_reads)


def _union_of(names: list[str], sets: list[frozenset[str]]) -> frozenset[str]:
    """The union of `names` and `sets`."""
    if names:
        return frozenset(names).union(*sets)
    if len(sets) == 1:
        return sets[0]
    return sets[0].union(*sets[1:]) if sets else _NO_NAMES


_NO_NAMES: frozenset[str] = frozenset()


def _own_bound_names(n: Node) -> tuple[str, ...]:
    """The names that the node itself binds."""
    match n:
        case Assign(name=name) | Yield(name=name) | Stream(name=name) | Local(name=name):
            return (name,)
        case Bits(name=name):
            return (name,)
        case Accum(name=name) | VecAccum(name=name):
            return (name,)
        case Scan(var=var, acc=acc):
            return var, acc
        case Prefix(name=name, before=before):
            return (name, before) if before else (name,)
        case Loop(var=var) | Zip(var=var) | VecLoop(var=var) | PredLoop(var=var):
            return (var,)
    return ()


def _own_used_names(n: Node) -> tuple[str, ...]:
    """The name that the node itself reads, if it reads one."""
    match n:
        case Var(name=name) | Append(count=name) | Prefix(acc=name):
            return (name,)
    return ()


_NAME_FIELDS: dict[type, tuple[str, ...]] = {
    Accum: ("name",), Append: ("count", "array"), Assign: ("name",), Bits: ("name", "array"),
    Load: ("array",), Local: ("name",), Loop: ("var",), PredLoop: ("var",),
    Prefix: ("name", "before", "acc"), Scan: ("var", "acc", "array"), Store: ("array",),
    Stream: ("name", "array"), Var: ("name",), VecAccum: ("name",), VecLoop: ("var",),
    Yield: ("name",), Zip: ("var",),
}
"""The fields of nodes that hold names of scalars or arrays."""


def _rename(n: Any, names: Mapping[str, str]) -> Any:
    """The node with its own names and array replaced by `names`."""
    old = ((f, getattr(n, f)) for f in _NAME_FIELDS.get(type(n), ()))
    new = {f: names[name] for f, name in old if name in names}
    return replace(n, **new) if new else n


def names_read(*code: Node | None) -> frozenset[str]:
    """Every scalar name that is read somewhere in `code`, including names that `code` itself binds:
    free names are ``names_read(s) - bound_names(s)``. Arrays are no names: `mod_ref.arrays_read`.
    Parts that are None, such as a loop without ``until``, are skipped.
    """
    if len(code) == 1 and code[0] is not None:
        return _bound_and_used(code[0])[1]
    return _union_of([], [_bound_and_used(part)[1] for part in code if part is not None])


def values_assigned_once(code: Node) -> dict[str, Expr]:
    """The values of the names that `code` assigns, and binds in no other place."""
    again = multiply_bound_names(code)
    assigns = (n for n in walk(code) if isinstance(n, Assign))
    return {n.name: n.value for n in assigns if n.name not in again}


def multiply_bound_names(code: Node) -> frozenset[str]:
    """The names that `code` binds in more than one place. Loop variables are not looked at."""
    return _bound_and_bound_again(code)[1]


@memoized_per_node
def _bound_and_bound_again(n: Node) -> tuple[frozenset[str], frozenset[str]]:
    """The names that `n` binds, without loop variables; and those that it binds in several places.
    """
    once, again = set[str](), set[str]()
    if isinstance(n, (Assign, Yield, Accum, VecAccum, Stream)):
        once.add(n.name)
    for c in children(n):
        if not isinstance(c, EXPRESSIONS):
            below, below_again = _bound_and_bound_again(c)
            again |= below_again | (once & below)
            once |= below
    return frozenset(once), frozenset(again)


class FreshNames:
    """A supply of names that a kernel does not use yet. A pass makes one, and asks it for each name
    that it adds; names that were given are not given again.

        fresh.name("i")     →    "i", or "i_1" if the kernel has an i
        fresh.copy(loop)    →    the loop with all names that it binds renamed, to run beside it

    With ``keep_numbers`` a new name for ``i_3`` is ``i_3_1``; without, the number is replaced by
    the lowest one that is free, as in ``i_1``.
    """

    def __init__(self, kernel: Kernel, *, keep_numbers: bool = False) -> None:
        self._kernel = kernel
        self._names: set[str] | None = None
        self._keep_numbers = keep_numbers

    @property
    def _used(self) -> set[str]:
        """The names in use. They are collected for the first fresh name: most passes need none."""
        if self._names is None:
            kernel = self._kernel
            params = {p.name for p in kernel.params}
            self._names = params | bound_names(kernel) | names_read(kernel)
        return self._names

    def name(self, like: str) -> str:
        """`like` itself if no name is equal, else its base with the lowest number that is free
        (see ``keep_numbers``).
        """
        base = like if self._keep_numbers else re.sub(r"_\d+$", "", like)
        name, number, used = like, 0, self._used
        while name in used:
            number += 1
            name = f"{base}_{number}"
        used.add(name)
        return name

    def names(self, *code: Node) -> dict[str, str]:
        """A fresh name for each name that `code` binds."""
        return {name: self.name(name) for name in sorted(bound_names(*code))}

    def copy(self, n: N) -> N:
        """A copy of `n` in which every bound name is fresh."""
        return rename_names(n, self.names(n))


def substitute(n: N, values: Mapping[str, Expr]) -> N:
    """`n` with each variable in `values` replaced by its expression; `n` itself if `values` is
    empty.
    """
    if not values:
        return n

    def go(x: Any) -> Any:
        """`x` with its variables replaced."""
        if type(x) is Var:
            return values.get(x.name, x)
        if type(x) is Const or type(x) is Dim or _bound_and_used(x)[1].isdisjoint(values):
            return x
        return map_children(x, go)

    done: N = go(n)
    return done


_MAX_NODES = 2000
"""Size limit of an expanded expression: a chain of n names, each used twice in the next, would
expand to 2**n nodes.
"""


def substitute_bounded(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """As `substitute`, but returns `e` unchanged where the result would exceed `_MAX_NODES` nodes.
    """
    budget = _MAX_NODES
    for n in walk(e):
        value = values.get(n.name) if isinstance(n, Var) else None
        budget -= 1 if value is None else sum(1 for _ in islice(walk(value), budget + 1))
        if budget < 0:
            return e
    return substitute(e, values)


def expand_names(e: Expr, values: Mapping[str, Expr]) -> Expr | None:
    """Substitute `values` repeatedly until `e` reads none of their names.

    Returns None where the result would exceed `_MAX_NODES` nodes.
    """
    while definitions := {n: values[n] for n in names_read(e) if n in values}:
        expanded = substitute_bounded(e, definitions)
        if expanded is e:
            return None
        e = expanded
    return e
