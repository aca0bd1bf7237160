"""Uses of parameters: what a function's body tells of the types of its parameters.

Subscripts, loops and calls show ranks, bounds of ranges show ints, attributes that no array has
show objects.
"""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import EnumMeta
from types import FunctionType
from typing import Any

import numpy as np

from ..diagnostics import Refused
from ..frontend.defining_modules import module_of
from ..frontend.source import read_source
from ..numpy.function_table import function_row
from ..types.value_types import WrappedFunction

__all__ = ["ParameterUses"]

_ITERATORS = {"enumerate", "zip", "reversed"}
_FOLDS = {"sum", "min", "max", "any", "all"}  # of one argument
_OF_NUMBERS = _ITERATORS | _FOLDS | {
    "abs", "bool", "complex", "divmod", "filter", "float", "int", "len", "list", "map", "pow",
    "range", "round", "sorted", "tuple",
}
"""Builtins whose arguments may be numbers or arrays."""

_NUMPY = ("np", "numpy")
_MODULES = (*_NUMPY, "math", "cmath", "ops")
"""Names in the source that are taken for these modules, as nothing is imported here."""


_MAX_DEPTH = 3
"""How many calls of the user's functions are followed, one inside the other: a bound for recursion.
"""


class ParameterUses:
    """What the body of a function tells of the types of its parameters, by the way it uses them.
    `infer_signature` guesses the types of a function by this, where no call is known::

        for i in range(n): y[i, 0] = x[k[i]]     →    n, i: integers;  y: rank 2;  x, k: rank 1;
                                                      k: its elements are integers

    The tree is read once, here; the methods answer for one name each.
    """

    def __init__(
        self, tree: ast.FunctionDef, globals_: Mapping[str, Any], depth: int = _MAX_DEPTH
    ) -> None:
        """Reads `tree`, the source of a function with these globals. Where it passes a name to
        another function of the user's, ``f(x)``, the uses of that parameter in `f` count for the
        name, too; ``depth`` bounds how deep such calls are followed.
        """
        self._ranks: dict[str, int] = {}  # by name: the most axes that it is used with
        self._integers: set[str] = set()  # names that are subscripts or bounds of ranges
        self._names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        foreign = [used for node in ast.walk(tree) for used in _names_used_as_objects(node)]
        self._objects = {name for name, _ in foreign}
        self._no_dicts = {name for name, attribute in foreign if not hasattr(dict, attribute)}
        self._compared = _compared_values(tree, globals_)
        self._keys = _string_keys(tree)
        self._items = dict(_unpacked_items(tree))
        for node in ast.walk(tree):
            for name, rank in _ranks_shown_by(node):
                self._ranks[name] = max(rank, self._ranks.get(name, 0))
            self._integers.update(_names_used_as_integers(node))
            if depth and isinstance(node, ast.Call):
                self._add_uses_in_callee(node, globals_, depth)
        self._add_uses_of_expressions(tree)
        self._add_uses_of_items(tree)
        self._add_uses_of_updates(tree)
        self._objects |= _only_passed_on(tree, globals_)
        # last: in ``j = k[i]; x[j]`` the array k has integers, since the name j is one
        self._of_integers = set(_arrays_of_integers(tree, self._integers))

    def _add_uses_in_callee(self, call: ast.Call, globals_: Mapping[str, Any], depth: int) -> None:
        """Add what the function that is called, if it is the user's, tells of names passed to it.
        """
        callee = globals_.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if isinstance(callee, WrappedFunction):
            callee = callee.__wrapped__
        passed = [arg for arg in call.args if isinstance(arg, ast.Name)]
        if not passed or not isinstance(callee, FunctionType):
            return
        try:
            tree = read_source(callee).tree
        except Refused:
            return
        uses = ParameterUses(tree, callee.__globals__, depth - 1)
        parameters = [arg.arg for arg in (*tree.args.posonlyargs, *tree.args.args)]
        for arg, parameter in zip(call.args, parameters, strict=False):
            if isinstance(arg, ast.Name):
                self._ranks[arg.id] = max(uses.rank(parameter), self._ranks.get(arg.id, 0))
                if uses.is_integer(parameter):
                    self._integers.add(arg.id)
                if uses.is_object(parameter):
                    self._objects.add(arg.id)

    def _add_uses_of_items(self, tree: ast.FunctionDef) -> None:
        """Add what the uses of items tell of their container: of ``for p in ps: p.mass``, that `ps`
        has objects, of ``for row in x: row[0]``, that `x` has two axes. And what the uses of a
        result tell of the first operand: of ``y = x * 2; y[0]``, that `x` has an axis.
        """
        items = dict(_containers_of_items(tree))
        for _ in items:  # ``for row in rows: for p in row``
            for name, container in items.items():
                if self.rank(name):
                    self._ranks[container] = max(self.rank(name) + 1, self.rank(container))
                if name in self._objects or name in self._compared:
                    self._objects.add(container)
                if name in self._keys:
                    self._keys.setdefault(container, (self._keys[name][0], 1))
        for name, operands in reversed([*_elementwise_results(tree)]):
            if not any(self.rank(operand) >= self.rank(name) for operand in operands):
                self._ranks[operands[0]] = self.rank(name)

    def _add_uses_of_expressions(self, tree: ast.FunctionDef) -> None:
        """Add what folds and methods of expressions tell of the operands: of ``np.sum(G * x + y)``
        and ``(2 * x).sum()``, that the first one, but for globals, has an axis, if none has one.
        """
        own = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} | {*_stores(tree)}
        for call, value in _array_expressions(tree):
            names, rank = [n for n in _operands(value) if n in own], _rank_of_axis(call)
            if names and not any(self.rank(name) >= rank for name in names):
                self._ranks[names[0]] = rank

    def _add_uses_of_updates(self, tree: ast.FunctionDef) -> None:
        """Add what the values of updates tell of the names that are updated: these have as many
        axes. And of a matrix, which names that are added to it, and are updated, have::

            v -= np.mean(m * v, axis=0)         v: rank 1, if m has rank 2
            p += v * dt                         v: rank 2, if p has rank 2
        """
        updates = [
            (n.target.id, n.value) for n in ast.walk(tree)
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        ]
        shown = set[str]()
        for name, value in updates:
            if (rank := self._rank_of_value(value)) > self.rank(name):
                self._ranks[name] = rank
                shown.add(name)
        for name, value in updates:
            for operand in shown.intersection(_operands(value)):
                self._ranks[operand] = max(self.rank(name), self.rank(operand))

    def _rank_of_value(self, e: ast.expr) -> int:
        """The number of axes that an expression has at least, as far as names tell."""
        match e:
            case ast.Name(id=name):
                return self.rank(name)
            case ast.BinOp(left=left, right=right) if not isinstance(e.op, ast.MatMult):
                return max(self._rank_of_value(left), self._rank_of_value(right))
            case ast.UnaryOp(operand=operand):
                return self._rank_of_value(operand)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=attr), args=[of, *_]):
                function = getattr(np, attr, None) if module in _NUMPY else None
                if isinstance(function, np.ufunc):
                    return max(map(self._rank_of_value, e.args))
                if function is not None and any(k.arg == "axis" for k in e.keywords):
                    return max(self._rank_of_value(of) - 1, 0)
        return 0

    def has(self, name: str) -> bool:
        """Whether `name` occurs in the body."""
        return name in self._names

    def rank(self, name: str) -> int:
        """The number of axes that `name`, or ``name.attribute``, is used with; 0 for a scalar."""
        return self._ranks.get(name, 0)

    def has_integers(self, name: str) -> bool:
        """Whether elements of the array `name` are used in subscripts or as bounds of ranges."""
        return name in self._of_integers

    def is_object(self, name: str) -> bool:
        """Whether `name`, or an item of it, is used in a way that no array of numbers and no number
        is: an attribute is read that they do not have, a subscript is a str, it is called, or it is
        passed on, and only to functions that do not take numbers.
        """
        return name in self._objects or name in self._keys

    def compared_value(self, name: str) -> Any:
        """The first str or member of an Enum that `name` is compared with, as a mode is; None if
        there is none.
        """
        return None if name in self._objects else self._compared.get(name)

    def items(self, name: str) -> tuple[str, ...]:
        """The names of the items that `name` is unpacked to, ``a, b = name``; empty if it is not.
        """
        return () if name in self._ranks else self._items.get(name, ())

    def keyed_type(self, name: str) -> str | None:
        """A type, as ``--types`` has it, of a name with subscripts that are strs; None of others::

            r[i]["x"] * r["n"][i]  →  {x: f64, n: f64}[:]      p["rate"]  →  dict[str, float]
        """
        if name not in self._keys or name in self._no_dicts:
            return None
        keys, rank = self._keys[name]
        fields = ", ".join(f"{key if key.isidentifier() else repr(key)}: f64" for key in keys)
        return f"{{{fields}}}[{', '.join(':' * rank)}]" if rank else "dict[str, float]"

    def is_integer(self, name: str) -> bool:
        """Whether `name` is used in a subscript or as a bound of a range."""
        return name in self._integers


def _names_used_as_objects(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The name in `node` that is neither an array of numbers nor a number, nor has such items, with
    the attribute that shows it: ``p.mass``, ``ps[i].mass``, ``p(x)``, ``"x" in p``, ``p + "x"``.
    """
    match node:
        case ast.Attribute(value=value, attr=attribute) if not hasattr(np.ndarray, attribute):
            base, _ = _subscript_chain(value)
        case ast.Call(func=ast.Name() | ast.Subscript() as called):
            base, attribute = _subscript_chain(called)[0], "__call__"
        case ast.Compare(
            left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[base]
        ):
            attribute = "__contains__"
        case (
            ast.BinOp(left=ast.Constant(value=str()), op=ast.Add(), right=base)
            | ast.BinOp(left=base, op=ast.Add(), right=ast.Constant(value=str()))
        ):
            attribute = "__add__"
        case _:
            return
    if isinstance(base, ast.Name):
        yield base.id, attribute


def _compared_values(tree: ast.FunctionDef, globals_: Mapping[str, Any]) -> dict[str, Any]:
    """The first str or member of an Enum that each name is compared with: ``mode == "same"``,
    ``mode in ("same", "full")``, ``match mode: case "same"``, ``mode is Mode.SAME``.
    """
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        compared: list[tuple[ast.expr, ast.expr]] = []
        match node:
            case ast.Compare(
                left=left, ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot()],
                comparators=[right],
            ):
                compared = [(left, right), (right, left)]
            case ast.Compare(
                left=left, ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items)],
            ):
                compared = [(left, item) for item in items]
            case ast.Match(subject=subject, cases=cases):
                parts = (part for case in cases for part in ast.walk(case.pattern))
                compared = [(subject, p.value) for p in parts if isinstance(p, ast.MatchValue)]
        for name, value in compared:
            match name, value:
                case ast.Name(id=of), ast.Constant(value=str(text)):
                    found.setdefault(of, text)
                case ast.Name(id=of), ast.Attribute(value=ast.Name(id=kind), attr=member):
                    enum = globals_.get(kind)
                    if isinstance(enum, EnumMeta) and member in enum.__members__:
                        found.setdefault(of, enum.__members__[member])
    return found


def _string_keys(tree: ast.FunctionDef) -> dict[str, tuple[list[str], int]]:
    """The strs that each name is subscripted with, and by how many other axes besides: of
    ``r[i]["x"] + r["n"][i]``, ``r: (["x", "n"], 1)``.
    """
    found: dict[str, tuple[list[str], int]] = {}
    for node in ast.walk(tree):
        base, axes = node, list[ast.expr]()
        while isinstance(base, ast.Subscript):
            axes += base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
            base = base.value
        keys = [e.value for e in axes if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        if keys and isinstance(base, ast.Name):
            known, rank = found.get(base.id, ([], 0))
            known += [key for key in keys if key not in known]
            found[base.id] = known, max(rank, len(axes) - len(keys))
    return found


def _unpacked_items(tree: ast.FunctionDef) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names that are unpacked, ``a, b = name``, with the names of their items."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=name)):
                items = [part.id for part in parts if isinstance(part, ast.Name)]
                if len(items) == len(parts) and name not in items:
                    yield name, tuple(items)


def _containers_of_items(tree: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Names that are only bound to items of one container, with the name of that: of
    ``for p in ps`` and ``p = ps[i]``, ``(p, ps)``.
    """
    stores = _stores(tree)
    for node in ast.walk(tree):
        match node:
            case (
                ast.For(target=ast.Name(id=name), iter=ast.Name(id=container))
                | ast.comprehension(target=ast.Name(id=name), iter=ast.Name(id=container))
                | ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Subscript(value=ast.Name(id=container)),
                )
                | ast.For(
                    target=ast.Tuple(elts=[_, ast.Name(id=name)]),
                    iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=container)]),
                )
            ) if stores[name] == 1 and name != container:
                yield name, container


def _elementwise_results(tree: ast.FunctionDef) -> Iterator[tuple[str, list[str]]]:
    """Names that are only bound to an expression of operators, with the names of its operands: of
    ``y = 2 * x - z``, ``(y, [x, z])``.
    """
    stores = _stores(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.BinOp() | ast.UnaryOp() as value
            ) if stores[name] == 1 and (operands := [*_operands(value)]):
                yield name, operands


def _stores(tree: ast.FunctionDef) -> Counter[str]:
    """How often each name is bound."""
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return Counter(name.id for name in names if isinstance(name.ctx, ast.Store))


_LISTS = (ast.List, ast.ListComp, ast.Tuple)


def _operands(node: ast.expr) -> Iterator[str]:
    """The names that are operands of an expression of operators, from left to right."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.BinOp(left=left, right=right) if isinstance(left, _LISTS) or (
            isinstance(right, _LISTS)
        ):
            return  # a list, and not element by element
        case ast.BinOp(left=left, right=right, op=op) if not isinstance(op, ast.MatMult):
            yield from _operands(left)
            yield from _operands(right)
        case ast.UnaryOp(operand=operand):
            yield from _operands(operand)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=attr), args=args) if (
            module in _NUMPY and isinstance(getattr(np, attr, None), np.ufunc)
        ):
            for arg in args:
                yield from _operands(arg)


def _array_expressions(tree: ast.FunctionDef) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls of folds and of methods of arrays, with the array: ``np.sum(x * y)``, ``x.mean()``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=attr), args=a):
                row = function_row(getattr(np, attr, None))
                if a and row is not None and (row.rank == "fold" or row.reduction):
                    yield node, a[0]
            case ast.Call(func=ast.Attribute(value=of, attr=attr)) if hasattr(np.ndarray, attr):
                if not hasattr(float, attr):
                    yield node, of


def _ranks_shown_by(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Names that `node` uses as arrays, with the number of axes that this shows."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis):
            is_constant = isinstance(axis, ast.Constant) and isinstance(axis.value, int)
            yield name, 1 + (ast.literal_eval(axis) if is_constant else 0)
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in _ARRAY_ATTRIBUTES:
            yield name, 2 if attr == "T" else 1
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=attr), args=args) if (
            module in _NUMPY
        ):
            names = args[: _array_arguments(getattr(np, attr, None))]
            yield from ((arg.id, _rank_of_axis(node)) for arg in names if isinstance(arg, ast.Name))
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            for operand, rank in ((left, 2), (right, 1)):
                if isinstance(operand, ast.Name):
                    yield operand.id, rank
        case ast.Subscript():
            base, rank = _subscript_chain(node)
            if isinstance(base, (ast.Name, ast.Attribute)):
                yield ast.unparse(base), rank
        case ast.Assign(
            targets=[ast.Tuple(elts=parts)],
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
        ):
            yield name, len(parts)
        case ast.For(target=target, iter=sequence) | ast.comprehension(
            target=target, iter=sequence
        ) if (found := _iterated(sequence)) is not None:
            yield found[0], found[1] + isinstance(target, ast.Tuple)
        case ast.For(
            target=ast.Tuple(elts=[_, ast.Tuple()]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=name)]),
        ):
            yield name, 2
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            yield name, 1
        case ast.Call(func=ast.Name(id=callee), args=args) if callee in _ITERATORS | _FOLDS:
            if callee in _ITERATORS or len(args) == 1:
                yield from filter(None, map(_iterated, args))


def _iterated(sequence: ast.expr) -> tuple[str, int] | None:
    """The name of what is iterated over, and the number of axes that this shows: ``x``, 1;
    ``x[i]``, 2; ``x[1:]``, 1. None for other expressions.
    """
    base, rank = _subscript_chain(sequence, 1)
    return (base.id, rank) if isinstance(base, ast.Name) else None


_ARRAY_ATTRIBUTES = {"T", "dtype", "flat", "ndim", "shape", "size"}
"""Attributes that show that a name is an array, of which ``T`` shows two axes."""


def _array_arguments(function: object) -> int:
    """How many of the first arguments of a function of NumPy's are arrays."""
    row = function_row(function)
    if row is not None and (row.arrays or row.sized):
        return row.arrays
    return int(hasattr(function, "_implementation"))  # it dispatches on arrays


def _rank_of_axis(call: ast.Call) -> int:
    """The rank that a call of a reduction shows by its ``axis``; 1 without one."""
    for keyword in call.keywords:
        if keyword.arg == "axis":
            try:
                axis = ast.literal_eval(keyword.value)
            except ValueError:
                return 1
            axes = axis if isinstance(axis, tuple) else (axis,)
            if axes and all(isinstance(k, int) for k in axes):
                return max([len(axes), *(int(k) + 1 if k >= 0 else -int(k) for k in axes)])
    return 1


def _only_passed_on(tree: ast.FunctionDef, globals_: Mapping[str, Any]) -> set[str]:
    """Names that are only called, or passed to functions that take no numbers
    (`_may_take_numbers`).
    """
    passed = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not _may_take_numbers(node.func, globals_):
            passed |= {id(arg) for arg in (*node.args, *(k.value for k in node.keywords))}
    loads = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return {n.id for n in loads} - {n.id for n in loads if id(n) not in passed}


def _may_take_numbers(callee: ast.expr, globals_: Mapping[str, Any]) -> bool:
    """Whether the function may take numbers or arrays, as far as is known: the user's functions,
    ufuncs, functions of NumPy and of `math`, `_OF_NUMBERS`, and methods of arrays and lists may.
    """
    match callee:
        case ast.Name(id=name) if name in globals_:
            return isinstance(globals_[name], (FunctionType, WrappedFunction, np.ufunc)) or (
                module_of(globals_[name]) in _MODULES
            )
        case ast.Name(id=name):
            return name in _OF_NUMBERS
        case ast.Attribute(value=ast.Name(id=module)) if module in _MODULES:
            return True
        case ast.Attribute():
            return hasattr(np.ndarray, callee.attr) or hasattr(list, callee.attr)
    return True


def _subscript_chain(node: ast.expr, needed: int = 0) -> tuple[ast.expr, int]:
    """The base of ``x[i][j, k]``, and the number of axes that it must have for the result to have
    `needed` ones. ``None`` and ``np.newaxis`` add an axis to the result::

        x[i][j, k]  →  x, 3        x[1:][i]  →  x, 1        x[:, None]  →  x, 1
    """
    if not isinstance(node, ast.Subscript):
        return node, needed
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    new = sum(map(_is_new_axis, indices))
    slices = sum(isinstance(index, ast.Slice) for index in indices)
    wide = sum(isinstance(index, ast.Constant) and index.value is ... for index in indices)
    base_axes = len(indices) - new - wide + max(0, needed - slices - new)
    return _subscript_chain(node.value, base_axes)


def _is_new_axis(index: ast.expr) -> bool:
    """Whether a subscript is ``None`` or ``np.newaxis``."""
    match index:
        case ast.Constant(value=None) | ast.Attribute(attr="newaxis"):
            return True
    return False


_OF_BITS = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)


def _names_used_as_integers(node: ast.AST) -> Iterator[str]:
    """Names that must be integers for `node`: subscripts, bounds, lengths of lists, operands of
    ``<<``, ``&`` and the like, and keys of sets and dicts.
    """
    match node:
        case (
            ast.BinOp(left=ast.List() | ast.Tuple(), op=ast.Mult(), right=length)
            | ast.BinOp(left=length, op=ast.Mult(), right=ast.List() | ast.Tuple())
        ):
            yield from _plain_names(length)
        case (
            ast.BinOp(op=op, left=left, right=right)
            | ast.AugAssign(op=op, target=left, value=right)
        ) if isinstance(op, _OF_BITS):
            yield from _plain_names(left)
            yield from _plain_names(right)
        case ast.Subscript(slice=index):
            yield from _plain_names(index)
        case ast.Call(func=ast.Name(id=user), args=args) if user == "range":
            for arg in args:
                yield from _plain_names(arg)
        case ast.Set(elts=keys) | ast.Dict(keys=keys) | ast.Call(
            func=ast.Attribute(attr="add"), args=[*keys]
        ):
            yield from (key.id for key in keys if isinstance(key, ast.Name))
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=module), attr=attr), args=[length, *_]
        ) if module in _NUMPY and (row := function_row(getattr(np, attr, None))) and row.sized:
            if not row.arrays and attr not in ("linspace", "arange", "array"):
                yield from _plain_names(length)


def _arrays_of_integers(tree: ast.FunctionDef, integers: set[str]) -> Iterator[str]:
    """Arrays whose elements are subscripts, bounds of ranges, or operands of ``<<``, ``&`` and the
    like: directly, as of ``x[k[i]]``, or by a name in `integers`, as of ``j = k[i]`` and
    ``for j in k``.
    """
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(op=op, left=left, right=right) if isinstance(op, _OF_BITS):
                for operand in (left, right):
                    yield from _plain_names(operand)
                    yield from _subscripted(operand)
            case ast.Subscript(slice=index):
                yield from _subscripted(index)
            case ast.Call(func=ast.Name(id="range"), args=args):
                for arg in args:
                    yield from _subscripted(arg)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in integers:
                yield from _subscripted(value)
            case ast.For(target=ast.Name(id=name), iter=sequence) if name in integers:
                yield from (found[0] for found in [_iterated(sequence)] if found)


def _subscripted(node: ast.expr) -> Iterator[str]:
    """The arrays of which `node` is an element, or arithmetic of elements."""
    match node:
        case ast.Subscript(value=ast.Name(id=name)):
            yield name
        case ast.BinOp(left=left, right=right):
            yield from _subscripted(left)
            yield from _subscripted(right)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _subscripted(part)


def _plain_names(node: ast.expr) -> Iterator[str]:
    """Names that are operands of an index or bound, but not inside a call or a nested subscript."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.BinOp(left=left, right=right):
            yield from _plain_names(left)
            yield from _plain_names(right)
        case ast.UnaryOp(operand=operand):
            yield from _plain_names(operand)
        case ast.Slice(lower=lower, upper=upper, step=step):
            for bound in (lower, upper, step):
                if bound is not None:
                    yield from _plain_names(bound)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _plain_names(part)
