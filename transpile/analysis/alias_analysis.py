"""Alias analysis: which names may refer to arrays that share memory.

Flow-insensitive and unification-based (Steensgaard, POPL 1996): two names that one assignment may
make share an array are in one set. The inference of lists of arrays asks `is_never_written_after`,
since compiled code reads these arrays later than Python; `escape_analysis` builds on this analysis.
In Loop IR, arrays are told apart by the guards of the kernel: ``loopir/analysis/dependence.py``.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..containers.method_table import RESIZING
from ..frontend.ast_names import binding_pairs, bound_names
from ..frontend.ast_walk import child_blocks, walk_nodes
from ..numpy.function_table import function_row, method_row, result_may_be_argument
from ..types.value_types import Key

__all__ = ["NEW_ARRAY", "AliasAnalysis", "Owner", "owners_may_alias"]

_OUTSIDE = ""
"""The representative of all arrays from outside of the function: any two may share memory."""


class Owner(NamedTuple):
    """The array that the value of an expression is, or is a view of: after ``v = x[1:]``, that of
    the name ``x``.
    """

    name: str = ""
    """Its name; empty for an array that the expression makes (`NEW_ARRAY`)."""
    members: tuple[Key, ...] = ()
    """The attributes and subscripts after the name (`access_paths.AccessPath`)."""


NEW_ARRAY = Owner()
"""The owner of an array that a call or an index array makes: ``np.sqrt(x)``, ``x[k]``."""


def owners_may_alias(owner: Owner | None, other: Owner | None) -> bool:
    """Whether arrays with these owners (`Fact.owner`) may share memory, for macros that have facts
    of both.

        x and x      True: ``x[1:]`` and ``x[:-1]``
        x and y      False: ``x[1:]`` and ``y``, of two parameters. The guards of the kernel see to
                     that (`assemble_plan.alias_guards`)
        None and x   True: an owner of None is not known
        None, NEW    False: an array that the expression makes (`NEW_ARRAY`) has no other owner
        NEW and NEW  True, though two new arrays share nothing: they have no names to compare
    """
    return owner == other or (None in (owner, other) and NEW_ARRAY not in (owner, other))


class AliasAnalysis:
    """Which names of `tree` may stand for arrays that share memory, as disjoint sets of names
    (union-find).

        a = x[1:]          {x, a} with all arguments and globals: they may share memory already
        b = a + 1.0        {b}: an operator makes a new array (`is_new`)
        c = g(b)           {b, c}: an unknown function may return its argument

    The order of statements does not count: two names are in one set if any assignment may make them
    share an array. `is_never_written_after` is the question of the inference of lists of arrays;
    `escape_analysis` asks `is_new`.

    No guards are relied on here, so two parameters may share memory. Macros ask `owners_may_alias`,
    by which they do not.

    ``resolve``: what a name or attribute means outside of the function; None: unknown or local.
    """

    def __init__(
        self, tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None]
    ) -> None:
        self._tree, self._resolve = tree, resolve
        self._parents: dict[str, str] = {}  # of the union-find forest
        # All names from outside, and all parameters, are in one set: a caller may pass one array
        # twice, or a global.
        local = bound_names(*tree.body)
        for n in walk_nodes(*tree.body):
            if isinstance(n, ast.Name) and n.id not in local:
                self._union(_OUTSIDE, n.id)
        for a in walk_nodes(tree.args):
            if isinstance(a, ast.arg):
                self._union(_OUTSIDE, a.arg)
        for n in walk_nodes(*tree.body):
            for target, value in _bindings(n):
                for name in [] if self.is_new(value) else _names(value):
                    for bound in _names(target):
                        self._union(bound, name)
        # each node that writes an array in place, with the name by which it does
        self._writes = [(n, name) for n in walk_nodes(*tree.body) for name in self._written_by(n)]

    def is_never_written_after(self, e: ast.expr, at: ast.stmt) -> bool:
        """Whether the array `e`, used by the statement `at`, is never written afterwards. False:
        not proved. `list_elements` asks it, before it keeps a reference in place of a copy.

            row = np.zeros(n)
            row[0] = i                # a write before the use, in the same block
            rows.append(row)          # `at`: True, if the write above is the only one of ``row``

            rows.append(row)          # `at`: False, since the row is written later
            row[0] = i

        True in three cases:

        1. `e` is an expression that makes the array (`is_new`).
        2. Nothing writes the array, or an array that may share its memory.
        3. `e` is a name, and all these writes are made through this name, by statements between the
           array's creation and `at` in the block of `at`.
        """
        if self.is_new(e):
            return True
        sets = {self._find(name) for name in _names(e)}
        writes = [(n, name) for n, name in self._writes if self._find(name) in sets]
        if not writes or not isinstance(e, ast.Name):
            return not writes
        filling = {n for s in self._since_creation(e, at) for n in walk_nodes(s)}
        return all(n in filling and name == e.id for n, name in writes)

    def _since_creation(self, e: ast.Name, at: ast.stmt) -> list[ast.stmt]:
        """The statements between the one that binds `e` to a new array and `at`; none if the last
        binding of `e` in the block of `at` binds it to anything else.
        """
        block = next(b for n in walk_nodes(self._tree) for b in child_blocks(n) if at in b)
        end = block.index(at)
        for k in reversed(range(end)):
            match block[k]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == e.id:
                    return block[k + 1 : end] if self.is_new(value) else []
            if e.id in bound_names(block[k]):
                break
        return []

    def is_new(self, e: ast.expr) -> bool:
        """Whether the value of `e` surely shares no memory with an array that has a name.

            a + b, np.sqrt(a), np.zeros(n)      new: NumPy allocates the result
            a[1:], a.T, a.reshape(2, 3)         not: views
            np.add(a, b, out=c), a.astype(t, copy=False), g(a)     not: may be an argument

        A call is new if its callee is an attribute (``np.f``, ``x.f``) that is a ufunc, or has a
        row in the function table with ``result="new"``; but not with ``out``, ``copy`` or ``**``.
        All other expressions are judged by their form.
        """
        match e:
            case ast.Constant() | ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.JoinedStr():
                return True
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_new(body) and self.is_new(orelse)
            case ast.BoolOp(values=values):
                return all(map(self.is_new, values))
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                return all(map(self.is_new, elts))
            case ast.ListComp(elt=elt):
                return self.is_new(elt)
            case ast.Call(func=ast.Attribute(attr=name) as func, args=args, keywords=keywords):
                function = self._resolve(func)
                may_share = {k.arg for k in keywords} & {"out", "copy", None}
                return not may_share and (
                    isinstance(function, np.ufunc) or _returns_new(name, function, len(args))
                )
        return False

    def _written_by(self, n: ast.AST) -> Iterator[str]:
        """The names whose arrays the node `n` itself, not its operands, may write in place:

            x[i] = v,  del x[i],  x.flat = v,  x += v      x
            g(x, y),  x.sort()                             all arguments, and what has the method;
                                                           not ``rows.append(x)`` and its kin
            np.add(x, y, out=z),  np.add(x, y, z)          z: after the arguments that are only read
        """
        match n:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(
                ctx=ast.Store() | ast.Del()
            ):
                yield from _names(n.value)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.Expr(value=ast.Call(func=func, args=args)):
                resizes = isinstance(func, ast.Attribute) and func.attr in RESIZING
                for e in (func, *args) if not resizes else ():
                    yield from _names(e)
            case ast.Call(func=func, args=args, keywords=keywords):
                function = self._resolve(func)
                read = function.nin if isinstance(function, np.ufunc) else _MAX_INPUTS
                for e in (*args[read:], *(k.value for k in keywords if k.arg == "out")):
                    yield from _names(e)

    def _find(self, name: str) -> str:
        """The representative of the set of `name`."""
        while (parent := self._parents.get(name, name)) != name:
            name = parent
        return name

    def _union(self, a: str, b: str) -> None:
        """Merge the sets of `a` and `b`."""
        self._parents[self._find(b)] = self._find(a)


def _bindings(n: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets that `n` binds, each with the expression whose value, or a part of it, the target
    gets.
    """
    yield from binding_pairs(n)
    match n:
        case ast.NamedExpr(target=target, value=value):
            yield target, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value


def _names(e: ast.AST) -> Iterator[str]:
    """The names in `e`, with repetition."""
    return (n.id for n in walk_nodes(e) if isinstance(n, ast.Name))


_MAX_INPUTS = 3
"""Positional arguments that a call of an unknown function or method only reads; the next may be
``out``.
"""


def _returns_new(name: str, function: object, count: int) -> bool:
    """Whether `function`, or a method `name` where that is None, returns an array that shares no
    memory with its `count` arguments.
    """
    row = method_row(name) if function is None else function_row(function)
    if row is None or row.result != "new":
        return False
    return not result_may_be_argument(name, count + (function is None))
