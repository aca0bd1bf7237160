"""Characters of strings as numbers: a str of which only characters are read.

    def distance(s, t):                                 s, t: strs
        d = 0
        for i in range(len(s)):
            if s[i] != t[i] and s[i] in "ab": d += ord(t[i]) - 97
    →       if s[i] != t[i] and s[i] in (97, 98): d += t[i] - 97

Each call gets an array of the code points of the characters (`sequence_conversion.shared_array`),
so that one character is one number, whatever it is. Characters are compared, looked up among
constants, and given to ``ord``; a function that does anything else with one, or with the whole
string, is refused. `are_read_by_character` decides, `with_code_points` rewrites.
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from ..ast_walk import NodeTransformer, copy_tree, walk_nodes
from ..core_nodes import copy_location, fix_missing_locations

__all__ = ["are_read_by_character", "characters_of", "with_code_points"]

_EMPTY = -1
"""What stands for ``""`` in comparisons: no character equals it, and all are greater."""

_MOST_CONSTANTS = 16
"""The most characters of a constant in which one is looked up."""

_SCOPES = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef
_COMPARISONS = ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE


def characters_of(tree: ast.AST, strings: Collection[str]) -> frozenset[str]:
    """The names that `tree` binds to characters of the parameters `strings`."""
    return frozenset(_uses_in(tree, strings).characters)


def _uses_in(tree: ast.AST, strings: Collection[str]) -> _Uses:
    """What are characters in `tree`: names are by names that are."""
    uses, known = _Uses(strings), -1
    while known != len(uses.characters) + len(uses.may_be_empty):
        known = len(uses.characters) + len(uses.may_be_empty)
        uses.bind_characters(tree)
    return uses


def are_read_by_character(tree: ast.FunctionDef, strings: Collection[str]) -> bool:
    """Whether all that `tree` does with its parameters `strings`, if these are strs, is to read and
    compare single characters.
    """
    uses = _uses_in(tree, strings)
    own = {id(n) for f in walk_nodes(*tree.body) if isinstance(f, _SCOPES) for n in walk_nodes(f)}
    allowed = uses.allowed(tree) - own
    names = (n for n in walk_nodes(*tree.body) if isinstance(n, ast.Name))
    return all(
        id(n) in allowed for n in names if n.id in uses.strings or n.id in uses.characters
    )


def with_code_points(tree: ast.FunctionDef, strings: Collection[str]) -> ast.FunctionDef:
    """`tree` with numbers for the characters of its parameters `strings`, for which
    `are_read_by_character` holds.
    """
    uses = _uses_in(tree, strings)
    new: ast.FunctionDef = _ToCodePoints(uses).visit(copy_tree(tree))
    if any(isinstance(n, ast.Name) and n.id == "ord" for n in walk_nodes(*tree.body)):
        read = copy_location(ast.Expr(ast.Name("ord", ast.Load())), tree.body[0])
        new.body.insert(0, fix_missing_locations(read))  # so that it is guarded
    return new


class _Uses:
    """The names of strings and of characters of a function; ``may_be_empty``: those of characters
    that may be ``""``.
    """

    def __init__(self, strings: Collection[str]) -> None:
        self.strings = frozenset(strings)
        self.characters: set[str] = set()
        self.may_be_empty: set[str] = set()

    def is_character(self, e: ast.expr, *, constants: bool = True) -> bool:
        """Whether `e` is a character: an item of a string, a name of one, or with ``constants`` a
        constant of one or none.
        """
        match e:
            case ast.Subscript(ast.Name(s), index):
                return s in self.strings and not isinstance(index, ast.Slice)
            case ast.Name(name):
                return name in self.characters
            case ast.Constant(str(text)):
                return constants and len(text) <= 1
        return False

    def bind_characters(self, tree: ast.AST) -> None:
        """Adds the names that `tree` binds to characters."""
        for n in walk_nodes(tree):
            match n:
                case ast.For(target, iterable) | ast.comprehension(target, iterable):
                    self.characters.update(e.id for e, _ in self._items(target, iterable))
                case ast.Assign():
                    for name, value in self.assigned(n):
                        self.characters.add(name.id)
                        if self._may_be_empty(value):
                            self.may_be_empty.add(name.id)

    def assigned(self, n: ast.Assign) -> Iterator[tuple[ast.Name, ast.expr]]:
        """The names to which `n` assigns characters, each with its character."""
        pairs: list[tuple[ast.expr, ast.expr]] = []
        match n:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if (
                len(targets) == len(values)
            ):
                pairs = [*zip(targets, values, strict=True)]
            case ast.Assign([target], value):
                pairs = [(target, value)]
        for target, value in pairs:
            if isinstance(target, ast.Name) and self.is_character(value):
                yield target, value

    def _items(
        self, target: ast.expr, iterable: ast.expr
    ) -> Iterator[tuple[ast.Name, ast.Name]]:
        """The names of `target` that are bound to characters by a loop over `iterable`, each with
        the string that it is of.
        """
        match iterable:
            case (
                (ast.Name() as string) | ast.Subscript(ast.Name() as string, ast.Slice())
            ) if string.id in self.strings and isinstance(target, ast.Name):
                yield target, string
            case ast.Call(ast.Name("reversed"), [inner], []):
                yield from self._items(target, inner)
            case ast.Call(ast.Name("enumerate"), [inner, *_]) if (
                isinstance(target, ast.Tuple) and len(target.elts) == 2
            ):
                yield from self._items(target.elts[1], inner)
            case ast.Call(ast.Name("zip"), parts) if (
                isinstance(target, ast.Tuple) and len(target.elts) == len(parts)
            ):
                for item, part in zip(target.elts, parts, strict=True):
                    yield from self._items(item, part)

    def allowed(self, tree: ast.AST) -> set[int]:
        """The places, by the ids of their nodes, at which a name of a string or character may
        stand: of characters that are compared, and so on.
        """
        found = set[int]()
        for n in walk_nodes(tree):
            match n:
                case ast.For(target, iterable) | ast.comprehension(target, iterable):
                    for name, string in self._items(target, iterable):
                        found |= {id(name), id(string)}
                case ast.Assign():
                    for name, value in self.assigned(n):
                        found |= {id(name), *self._names(value)}
                case ast.Call(ast.Name("len"), [ast.Name(s) as string], []) if s in self.strings:
                    found.add(id(string))
                case _ if (asked := self.asked_for_length(n)) is not None:
                    found.add(id(asked))
                case ast.Call(ast.Name("ord"), [e], []) if (
                    self.is_character(e, constants=False) and not self._may_be_empty(e)
                ):
                    found |= self._names(e)
                case ast.Compare(left, ops, others) if self.compares(left, ops, others):
                    for e in (left, *others):
                        found |= self._names(e)
        return found

    def _may_be_empty(self, e: ast.expr) -> bool:
        """Whether the character `e` may be ``""``, of which ``ord`` raises."""
        is_name = isinstance(e, ast.Name) and e.id in self.may_be_empty
        return is_name or (isinstance(e, ast.Constant) and not e.value)

    def asked_for_length(self, n: ast.AST) -> ast.Name | None:
        """The string of which `n` asks whether it is empty: ``not s``, ``s == ""``, ``if s``."""
        match n:
            case (
                ast.UnaryOp(ast.Not(), ast.Name() as s)
                | ast.Compare(ast.Name() as s, [ast.Eq() | ast.NotEq()], [ast.Constant("")])
                | ast.If(ast.Name() as s) | ast.While(ast.Name() as s) | ast.IfExp(ast.Name() as s)
            ) if s.id in self.strings:
                return s
        return None

    def compares(
        self, left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr]
    ) -> bool:
        """Whether this comparison is one of characters alone."""
        match ops, others:
            case [ast.In() | ast.NotIn()], [ast.Constant(str(text))]:
                is_known = self.is_character(left, constants=False)
                return is_known and 0 < len(text) <= _MOST_CONSTANTS
        operands = [left, *others]
        return (
            all(isinstance(op, _COMPARISONS) for op in ops)
            and all(map(self.is_character, operands))
            and not all(isinstance(e, ast.Constant) for e in operands)
        )

    def _names(self, e: ast.expr) -> set[int]:
        """The ids of the nodes of the character `e` that name it or its string."""
        if isinstance(e, ast.Subscript):
            return {id(e.value)}
        return {id(e)}


class _ToCodePoints(NodeTransformer):
    """Replaces characters by their code points (`with_code_points`)."""

    def __init__(self, uses: _Uses) -> None:
        self._uses = uses

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("ord"), [e], []) if self._uses.is_character(e) and (
                not isinstance(e, ast.Constant) or e.value
            ):
                # a number of its own, so that its name is none of a character (`characters_of`)
                return copy_location(ast.UnaryOp(ast.UAdd(), self._code_point(e)), node)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        characters = {id(e) for name, e in self._uses.assigned(node)}
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        new = [self._code_point(e) if id(e) in characters else self.visit(e) for e in values]
        if isinstance(node.value, ast.Tuple):
            node.value.elts = new
        else:
            node.value = new[0]
        node.targets = [self.visit(target) for target in node.targets]
        return node

    def visit(self, node: ast.AST) -> Any:
        """As `NodeTransformer.visit`, with ``len(s) > 0`` where a string is tested."""
        s = self._uses.asked_for_length(node)
        if s is None:
            return super().visit(node)
        length = ast.Call(ast.Name("len", ast.Load()), [ast.Name(s.id, ast.Load())], [])
        is_empty = isinstance(node, ast.UnaryOp) or (
            isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq)
        )
        test = ast.Compare(length, [ast.Eq() if is_empty else ast.NotEq()], [ast.Constant(0)])
        for part in walk_nodes(test):
            copy_location(part, s)
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            node.test = test
            return self.generic_visit(node)
        return test

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if self._uses.compares(node.left, node.ops, node.comparators):
            node.left = self._code_point(node.left)
            looks_up = isinstance(node.ops[0], (ast.In, ast.NotIn))
            code = self._code_points if looks_up else self._code_point
            node.comparators = [code(e) for e in node.comparators]
            return node
        return self.generic_visit(node)

    def _code_point(self, e: ast.expr) -> ast.expr:
        """The number that stands for the character `e`: its code point, or `_EMPTY` for ``""``."""
        if not isinstance(e, ast.Constant):
            coded: ast.expr = self.visit(e)
            return coded
        assert isinstance(e.value, str)
        return copy_location(ast.Constant(ord(e.value) if e.value else _EMPTY), e)

    def _code_points(self, e: ast.expr) -> ast.expr:
        """The numbers that stand for the characters of the constant `e`, as a tuple."""
        assert isinstance(e, ast.Constant)
        assert isinstance(e.value, str)
        points: list[ast.expr] = [copy_location(ast.Constant(ord(c)), e) for c in e.value]
        return copy_location(ast.Tuple(points, ast.Load()), e)
